"""The closed set of operations: one row each, with all that the compiler knows of it. Users call them by their names in ``engine.ops``.

A node of a program is a tuple ``(operation, *fields, *operands)``; operands are numbers of earlier nodes. Elementwise operations have no
fields. The others are structure: ``input k``, ``const x`` (0.0 and truth values say in a further field which they are), ``call f args``
and ``loop f limit args`` of the program's function f, ``root f args``, which is as many of the args as f has results, ``get c k``, which is
result k of the call, loop or root c, and ``carry loop k``, which stands for what a loop's body is given while that body is traced. Of
vectors there are ``pack`` of numbers, ``consts x y…`` and ``lane k v``, which :mod:`engine.compiler.codegen.lanes` makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.graph.lowering import Libm, Lowering, extremum, half, instruction, lanes, llvm, negated, on_truths, select, unchanged
from engine.ops.elementwise import c2_of_floats, c3_of_floats, same_floats, stumpff_next

Node = tuple[Any, ...]
END = sys.maxsize


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes
    ----------
    kinds : "operands>result", a letter each: x is a number, t a truth value, s either, but the same in all places; "" for structure
    numpy : what it means on floats
    lower : what it becomes in LLVM IR, see :mod:`engine.compiler.graph.lowering`
    partials : derivatives of y = f(operands) by each operand, from (y, *operands); None where they are zero
    chooses : for operations that return one of their last two operands, the condition under which that is the first
    commutative : whether the operands may change places
    operands : where in a node its operands begin and end
    """

    name: str
    kinds: str = ""
    numpy: Any = None
    lower: Lowering | Any = None
    partials: Callable[..., tuple[Any, ...]] | None = None
    chooses: Callable[..., Any] | None = None
    commutative: bool = False
    operands: tuple[int, int] = (1, END)

    @property
    def takes(self) -> str:
        """The kinds of the operands."""
        return self.kinds.split(">")[0]


def fma_of_floats(a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded twice."""
    return a * b + c


def power_partials(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """∂aᵇ/∂a = b aᵇ⁻¹ and ∂aᵇ/∂b = aᵇ log a, taken as 0 at a = 0."""
    return b * ops.power(a, b - 1.0), ops.where(a == 0.0, 0.0, y * ops.log(ops.where(a == 0.0, 1.0, a)))


def c2_partials(y: Any, x: Any) -> tuple[Any]:
    """c2' = c4 − c3/2."""
    return (stumpff_next(x)[0] - 0.5 * ops.c3(x),)


def c3_partials(y: Any, x: Any) -> tuple[Any]:
    """c3' = (3 c5 − c4)/2."""
    return (1.5 * stumpff_next(x)[1] - 0.5 * stumpff_next(x)[0],)


ROWS = (
    # arithmetic
    Operation("add", "xx>x", np.add, instruction("fadd"), lambda y, a, b: (1.0, 1.0), commutative=True),
    Operation("sub", "xx>x", np.subtract, instruction("fsub"), lambda y, a, b: (1.0, -1.0)),
    Operation("mul", "xx>x", np.multiply, instruction("fmul"), lambda y, a, b: (b, a), commutative=True),
    Operation("div", "xx>x", np.divide, instruction("fdiv"), lambda y, a, b: (1.0 / b, -y / b)),
    Operation("neg", "x>x", np.negative, instruction("fneg"), lambda y, a: (-1.0,)),
    Operation("fma", "xxx>x", fma_of_floats, llvm("fma"), lambda y, a, b, c: (b, a, 1.0)),
    Operation("stop_gradient", "x>x", same_floats, unchanged),
    # functions
    Operation("sqrt", "x>x", np.sqrt, llvm("sqrt"), lambda y, a: (0.5 / ops.maximum(y, 1e-162),)),
    Operation("abs", "x>x", np.absolute, llvm("fabs"), lambda y, a: (ops.where(a < 0.0, -1.0, 1.0),)),
    Operation("floor", "x>x", np.floor, llvm("floor")),
    Operation("sin", "x>x", np.sin, half("sincos", 0), lambda y, a: (ops.cos(a),)),
    Operation("cos", "x>x", np.cos, half("sincos", 1), lambda y, a: (-ops.sin(a),)),
    Operation("tan", "x>x", np.tan, Libm("tan"), lambda y, a: (1.0 + y * y,)),
    Operation("asin", "x>x", np.arcsin, Libm("asin"), lambda y, a: (1.0 / ops.sqrt(1.0 - a * a),)),
    Operation("acos", "x>x", np.arccos, Libm("acos"), lambda y, a: (-1.0 / ops.sqrt(1.0 - a * a),)),
    Operation("atan", "x>x", np.arctan, Libm("atan"), lambda y, a: (1.0 / (1.0 + a * a),)),
    Operation("atan2", "xx>x", np.arctan2, Libm("atan2"), lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b))),
    Operation("exp", "x>x", np.exp, lanes("exp"), lambda y, a: (y,)),
    Operation("log", "x>x", np.log, lanes("log"), lambda y, a: (1.0 / a,)),
    Operation("tanh", "x>x", np.tanh, lanes("tanh"), lambda y, a: (1.0 - y * y,)),
    Operation("pow", "xx>x", np.power, Libm("pow"), power_partials),
    Operation("fmod", "xx>x", np.fmod, Libm("fmod"), lambda y, a, b: (1.0, -ops.sign(a / b) * ops.floor(ops.absolute(a / b)))),
    Operation("c2", "x>x", c2_of_floats, half("stumpff", 0), c2_partials),
    Operation("c3", "x>x", c3_of_floats, half("stumpff", 1), c3_partials),
    # choices
    Operation("min", "xx>x", np.minimum, extremum("olt"), chooses=lambda a, b: ops.less_equal(a, b), commutative=True),
    Operation("max", "xx>x", np.maximum, extremum("ogt"), chooses=lambda a, b: ops.less_equal(b, a), commutative=True),
    Operation("select", "tss>s", np.where, select, chooses=lambda c, a, b: c),
    # comparisons and logic
    Operation("lt", "xx>t", np.less, instruction("fcmp olt")),
    Operation("le", "xx>t", np.less_equal, instruction("fcmp ole")),
    Operation("eq", "xx>t", np.equal, instruction("fcmp oeq"), commutative=True),
    Operation("and", "tt>t", np.logical_and, on_truths("and"), commutative=True),
    Operation("or", "tt>t", np.logical_or, on_truths("or"), commutative=True),
    Operation("not", "t>t", np.logical_not, negated),
    # structure
    Operation("input", operands=(END, END)),
    Operation("const", operands=(END, END)),
    Operation("carry", operands=(END, END)),
    Operation("call", operands=(2, END)),
    Operation("loop", operands=(3, END)),
    Operation("root", operands=(2, END)),
    Operation("get", operands=(1, 2)),
    Operation("pack"),
    Operation("lane", operands=(2, END)),
    Operation("consts", operands=(END, END)),
)

OPERATIONS = {row.name: row for row in ROWS}
#: of elementwise operations, the number of operands
ARITY = {row.name: len(row.takes) for row in ROWS if row.kinds}
#: operations on two numbers, and those on one that make a number
BINARY = {row.name for row in ROWS if row.takes == "xx"}
UNARY = {row.name for row in ROWS if row.kinds == "x>x"}
COMMUTATIVE = {row.name for row in ROWS if row.commutative}
BOOLEAN = {row.name for row in ROWS if row.kinds.endswith(">t")}
#: operations whose result may be a truth value
PERHAPS_TRUTHS = BOOLEAN | {"select", "const"}
#: operations that take truth values
CONDITIONAL = {row.name for row in ROWS if "t" in row.takes}
#: NumPy's function -> the operation that records it
RECORDED = {row.numpy: row.name for row in ROWS if row.kinds}
#: operations with a program of their own, whose results lie in memory
CALLS = {"call", "loop", "root"}
#: functions of the C library that operations are
LIBRARY = tuple(row.lower.name for row in ROWS if isinstance(row.lower, Libm))
OPERANDS = {row.name: slice(*row.operands) for row in ROWS}


def operands(node: Node) -> Node:
    """Numbers of the nodes that a node reads."""
    return node[OPERANDS[node[0]]]


def renumbered(node: Node, new: Any) -> Node:
    """The node with its operands renumbered."""
    if (n := ARITY.get(node[0])) is not None:  # nearly always
        if n == 2:
            return node[0], new[node[1]], new[node[2]]
        return (node[0], new[node[1]]) if n == 1 else (node[0], new[node[1]], new[node[2]], new[node[3]])
    part = OPERANDS[node[0]]
    return (*node[: part.start], *[new[i] for i in node[part]], *node[part.stop :])


def is_truth(node: Node, truths: Container[int]) -> bool:
    """Return whether a node is boolean, a scalar or a vector, given which of the nodes before it are."""
    op = node[0]
    if op in ("const", "consts"):
        return isinstance(node[1], bool)
    return op in BOOLEAN or (op in ("select", "lane") and node[2] in truths) or (op == "pack" and node[1] in truths)
