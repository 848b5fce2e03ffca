"""Folding: the rewrites applied as nodes are made, one rule a line.

Structural zeros and ones are most of a robot's 6×6 matrices; with these rules a matrix product costs only what is not
known beforehand. The rules are identities of the real numbers. What they give up of IEEE arithmetic:

- ``0·x → 0`` and ``0/x → 0`` even where x is NaN, infinite or zero; ``x − x → 0``, ``x/x → 1`` and ``x·(c/x) → c`` likewise;
- the sign of a zero result (``x + 0 → x``, ``−(x − y) → y − x``);
- the last bits of ``xⁿ → x·x·…``, some n/2 ulp, and that of ``x·(c/x) → c``; ``x^½ → √x`` is NaN at −∞.

All others are exact in floating point too. What folds to a number goes on by NumPy's arithmetic, not Python's: 1/(x − x) is infinite.
Multiply-adds are fused later: :mod:`engine.compiler.codegen.schedule`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp
from typing import Any

import numpy as np

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.operations import CALLS, OPERATIONS, operands
from engine.compiler.graph.program import Program


def node(x: Any) -> Any:
    """(op, operands…) of a traced scalar, or a node that matches nothing."""
    return x.g.nodes[x.i] if type(x) is Expr else ("number",)


def same(a: Any, b: Any) -> bool:
    return type(a) is Expr and type(b) is Expr and a.i == b.i and a.g is b.g


def truth(x: Any) -> bool:
    return x.i in x.g.truths if type(x) is Expr else isinstance(x, (bool, np.bool_))


def negated(x: Any) -> Any:
    """y where x is recorded as −y, else None."""
    if type(x) is Expr:
        n = x.g.nodes[x.i]
        if n[0] == "neg":
            return Expr(x.g, n[1])
    return None


def add(a: Any, b: Any) -> Any:
    if type(a) is not Expr:
        a, b = b, a
    if type(b) is not Expr:
        return a if b == 0 else None                                           # x + 0 → x
    n, m = a.g.nodes[a.i], b.g.nodes[b.i]
    if m[0] == "neg": return a - Expr(b.g, m[1])                               # x + (−y) → x − y
    if n[0] == "neg": return b - Expr(a.g, n[1])                               # (−x) + y → y − x
    return None


def sub(a: Any, b: Any) -> Any:
    if same(a, b): return 0.0                                                  # x − x → 0
    if type(b) is not Expr and b == 0: return a                                # x − 0 → x
    if type(a) is not Expr and a == 0: return -b                               # 0 − x → −x
    if (y := negated(b)) is not None: return a + y                             # x − (−y) → x + y
    if (x := negated(a)) is not None: return -(x + b)                          # (−x) − y → −(x + y)
    return None


def mul(a: Any, b: Any) -> Any:
    if type(a) is not Expr:
        a, b = b, a
    if type(b) is not Expr:
        if b == 0: return 0.0                                                  # x·0 → 0
        if b == 1: return a                                                    # x·1 → x
        if b < 0: return -(a * -float(b))                                      # x·(−c) → −(x·c); NumPy's whole numbers wrap around
        if (x := negated(a)) is not None: return -(x * b)                      # (−x)·c → −(x·c)
        return None
    g, n, m = a.g, a.g.nodes[a.i], b.g.nodes[b.i]
    if n[0] == "neg": return -(Expr(g, n[1]) * b)                              # (−x)·y → −(x·y)
    if m[0] == "neg": return -(a * Expr(b.g, m[1]))                            # x·(−y) → −(x·y)
    if m[0] == "div" and m[2] == a.i and g is b.g: return operand(b, 1)        # x·(c/x) → c
    if n[0] == "div" and n[2] == b.i and g is b.g: return operand(a, 1)        # (c/x)·x → c
    return None


def div(a: Any, b: Any) -> Any:
    if same(a, b): return 1.0                                                  # x / x → 1
    if type(b) is not Expr:
        if b == 1: return a                                                    # x / 1 → x
        if abs(frexp(b)[0]) == 0.5 and abs(b) > 1e-300: return a * (1.0 / b)   # x / 2ᵏ → x·2⁻ᵏ, exact
    elif type(a) is not Expr and a == 0: return 0.0                            # 0 / x → 0
    if (x := negated(a)) is not None: return -(x / b)                          # (−x) / y → −(x / y)
    if (y := negated(b)) is not None: return -(a / y)                          # x / (−y) → −(x / y)
    return None


def neg(a: Any) -> Any:
    if (x := negated(a)) is not None: return x                                 # −(−x) → x
    n = node(a)
    if n[0] == "sub":                                                          # −(x − y) → y − x
        return operand(a, 2) - operand(a, 1)
    return None


def sin(a: Any) -> Any:
    if (x := negated(a)) is not None: return -x.sin()                          # sin(−x) → −sin x
    return None


def cos(a: Any) -> Any:
    if (x := negated(a)) is not None: return x.cos()                           # cos(−x) → cos x
    return None


def absolute(a: Any) -> Any:
    if (x := negated(a)) is not None: return abs(x)                            # |−x| → |x|
    return None


def power(a: Any, b: Any) -> Any:
    if type(b) is Expr: return None
    b = float(b)
    if b == 0.5: return a.sqrt()                                               # x^½ → √x
    if abs(b) <= 64 and b == int(b):                                           # xⁿ → x·x·…
        if b < 0:
            return 1.0 / power(a, -b)
        result = 1.0
        for bit in bin(int(b))[2:]:
            result = result * result
            if bit == "1":
                result = result * a
        return result
    return None


def select(c: Any, a: Any, b: Any) -> Any:
    if type(c) is not Expr: return a if c else b                               # the condition is known
    if same(a, b): return a                                                    # both branches are one
    if type(a) is not Expr and type(b) is not Expr and a == b: return a
    return None


def both(a: Any, b: Any) -> Any:
    if not (truth(a) and truth(b)): return None
    for x, y in ((a, b), (b, a)):
        if type(x) is not Expr: return y if x else False                       # true ∧ y → y, false ∧ y → false
    return a if same(a, b) else None                                           # x ∧ x → x


def either(a: Any, b: Any) -> Any:
    if not (truth(a) and truth(b)): return None
    for x, y in ((a, b), (b, a)):
        if type(x) is not Expr: return True if x else y                        # true ∨ y → true, false ∨ y → y
    return a if same(a, b) else None                                           # x ∨ x → x


def minmax(a: Any, b: Any) -> Any:
    return a if same(a, b) else None                                           # min(x, x) → x


@np.errstate(all="ignore")
def folded(op: str, *x: Any) -> Any:
    """Return an operation on constants, as NumPy has it: 1/0 is infinite."""
    return OPERATIONS[op].numpy(*(y if isinstance(y, (bool, np.bool_)) else np.float64(y) for y in x))[()]


def operand(x: Expr, k: int) -> Any:
    """Operand k of a recorded node: a number if it is constant."""
    i = x.g.nodes[x.i][k]
    n = x.g.nodes[i]
    return n[1] if n[0] == "const" else Expr(x.g, i)


#: operation -> function of its operands that returns something simpler, or None
RULES: dict[str, Callable[..., Any]] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "sin": sin, "cos": cos, "abs": absolute, "pow": power,
    "select": select, "and": both, "or": either, "min": minmax, "max": minmax,
}  # fmt: skip


def inlined(program: Program, graph: Graph, x: list[Any]) -> list[Any]:
    """Return the outputs of a program on traced scalars of a graph, its nodes made anew there."""
    made: list[Any] = []
    for op, *args in program.nodes:
        if op == "input":
            made.append(x[args[0]])
        elif op == "const":
            made.append(args[0])
        elif op in CALLS:
            given = operands((op, *args))
            fields = args[1 : len(args) - len(given)]
            made.append(graph.call(program.functions[args[0]], [made[i] for i in given], op, *fields))
        elif op == "get":
            made.append(made[args[0]][args[1]])
        else:
            xs = [made[i] for i in args]
            made.append(graph.make(op, *xs) if any(isinstance(x, Expr) for x in xs) else folded(op, *xs))
    return [made[i] for i in program.outputs]
