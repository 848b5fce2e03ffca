"""Traced scalars: hash-consed nodes of a small closed set of operations.

A node is a tuple ``(op, *operands)`` in a :class:`Graph`; operands of arithmetic are indices of earlier nodes.
An :class:`Expr` is a handle on a node that behaves as a Python number, so vectors and matrices are ordinary NumPy
arrays of dtype ``object``. Constants stay Python floats until they meet a traced scalar, which makes folding free.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops

#: op -> number of operands that are nodes. ``input k``, ``const x``, ``call f args`` and ``get c k`` hold other things.
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "fma": 3, "min": 2, "max": 2}
FUNCTIONS = {
    "sqrt": 1, "abs": 1, "floor": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1,
    "exp": 1, "log": 1, "tanh": 1, "atan2": 2, "pow": 2,
}  # fmt: skip
COMPARISONS = {"lt": 2, "le": 2, "eq": 2}
LOGIC = {"and": 2, "or": 2, "not": 1}
ARITY = {**ARITHMETIC, **FUNCTIONS, **COMPARISONS, **LOGIC, "select": 3}
BOOLEAN = {*COMPARISONS, *LOGIC}
COMMUTATIVE = {"add", "mul", "min", "max", "eq", "and", "or"}

Node = tuple[Any, ...]


class TraceError(ValueError):
    """A function did something with a traced value that a straight-line program cannot do."""


class Graph:
    """Hash-consed nodes in topological order: equal expressions are one node.

    >>> g = Graph()
    >>> x, y = g.input(0), g.input(1)
    >>> (x + y).i == (y + x).i
    True
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.memo: dict[Node, int] = {}
        self.functions: list[Any] = []  # the programs that "call" nodes name

    def node(self, *key: Any) -> int:
        """Index of the node ``key``, made if it is new."""
        i = self.memo.get(key)
        if i is None:
            i = self.memo[key] = len(self.nodes)
            self.nodes.append(key)
        return i

    def index(self, x: Any) -> int:
        """Index of a traced scalar, or of the constant that a number is."""
        if type(x) is Expr:
            if x.g is not self:
                raise refuse("a traced value of another function", "pass it in as an argument")
            return x.i
        x = x if type(x) is bool else float(x)
        return self.node("const", x) if x else self.node("const", x, repr(x))  # 0.0, -0.0 and False are equal keys

    def make(self, op: str, *operands: Any) -> Any:
        """``op`` of traced scalars and numbers, as it stands; :class:`engine.compiler.rewrite.Folding` simplifies first."""
        index = [self.index(x) for x in operands]
        if len(index) == 2 and op in COMMUTATIVE and index[0] > index[1]:
            index.reverse()
        return Expr(self, self.node(op, *index))

    def input(self, k: int) -> Expr:
        return Expr(self, self.node("input", k))

    def call(self, program: Any, operands: Sequence[Any]) -> list[Expr]:
        """Outputs of ``program`` on scalars, kept as a call: compiled once, not inlined."""
        if program not in self.functions:
            self.functions.append(program)
        c = self.node("call", self.functions.index(program), *[self.index(x) for x in operands])
        return [Expr(self, self.node("get", c, k)) for k in range(len(program.outputs))]


def refuse(what: str, instead: str) -> TraceError:
    """The error for something untraceable, placed at the user's line: the innermost frame outside this engine and NumPy."""
    frame, place = sys._getframe(2), ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("engine.compiler", "engine.ops", "numpy")):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}: "
            break
        frame = frame.f_back  # type: ignore[assignment]
    return TraceError(f"{place}{what} cannot be compiled: {instead}")


class Expr:
    """A traced scalar. Arithmetic on it records nodes; it has no value until the program runs."""

    __slots__ = ("g", "i")
    __hash__ = object.__hash__

    def __init__(self, g: Graph, i: int) -> None:
        self.g, self.i = g, i

    # -- arithmetic, all through the rewrite table
    def __add__(a, b): return binary("add", a, b)
    def __radd__(a, b): return binary("add", b, a)
    def __sub__(a, b): return binary("sub", a, b)
    def __rsub__(a, b): return binary("sub", b, a)
    def __mul__(a, b): return binary("mul", a, b)
    def __rmul__(a, b): return binary("mul", b, a)
    def __truediv__(a, b): return binary("div", a, b)
    def __rtruediv__(a, b): return binary("div", b, a)
    def __pow__(a, b): return binary("pow", a, b)
    def __rpow__(a, b): return binary("pow", b, a)
    def __neg__(a): return a.g.make("neg", a)
    def __pos__(a): return a
    def __abs__(a): return a.g.make("abs", a)
    def __lt__(a, b): return binary("lt", a, b)
    def __le__(a, b): return binary("le", a, b)
    def __gt__(a, b): return binary("lt", b, a)
    def __ge__(a, b): return binary("le", b, a)
    def __eq__(a, b): return binary("eq", a, b)
    def __ne__(a, b): return a.g.make("not", binary("eq", a, b))
    def __and__(a, b): return binary("and", a, b)
    def __rand__(a, b): return binary("and", b, a)
    def __or__(a, b): return binary("or", a, b)
    def __ror__(a, b): return binary("or", b, a)
    def __invert__(a): return a.g.make("not", a)

    # -- functions: NumPy calls these by name on the elements of an object array
    def sqrt(a): return a.g.make("sqrt", a)
    def floor(a): return a.g.make("floor", a)
    def sin(a): return a.g.make("sin", a)
    def cos(a): return a.g.make("cos", a)
    def tan(a): return a.g.make("tan", a)
    def arcsin(a): return a.g.make("asin", a)
    def arccos(a): return a.g.make("acos", a)
    def arctan(a): return a.g.make("atan", a)
    def exp(a): return a.g.make("exp", a)
    def log(a): return a.g.make("log", a)
    def tanh(a): return a.g.make("tanh", a)
    def arctan2(a, b): return binary("atan2", a, b)
    def conjugate(a): return a

    # -- what NumPy and Python ask of a number and a traced one cannot give
    def __bool__(self):
        raise refuse("a decision on a traced value (`if`, `and`, `or`, `min`, `<` on an array)",
                     "use engine.ops.where(condition, a, b), ops.minimum or ops.less")  # fmt: skip

    def __float__(self):
        raise refuse("turning a traced value into a float (math.sin, float(), writing into a float array)",
                     "use engine.ops.sin and friends, and build arrays from lists with np.array([...])")  # fmt: skip

    def __int__(self):
        raise refuse("turning a traced value into an integer", "loop and index over the model's structure, never over values")

    __index__ = __int__

    def __iter__(self):
        raise refuse("iterating over a traced scalar", "it is one number")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """np.sin(x), np.float64(2) * x, array + x: once more with the scalar as a 0-d object array."""
        boxed = [box(x) for x in inputs]
        op = next((op for op, f in ops.NUMPY.items() if f is ufunc), None)
        if op in LIFTED and method == "__call__":
            return LIFTED[op](*boxed)
        return getattr(ufunc, method)(*boxed, **kwargs)

    def __repr__(self):
        return f"<traced {self.g.nodes[self.i][0]} #{self.i}>"


def box(x: Any) -> Any:
    """A traced scalar as a 0-d array, which NumPy does not hand back to it."""
    if type(x) is not Expr:
        return x
    a = np.empty((), dtype=object)
    a[()] = x
    return a


def binary(op: str, a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if (ta is Expr or ta is float) and (tb is Expr or tb is float):  # nearly always
        return (a if ta is Expr else b).g.make(op, a, b)
    if ta is np.ndarray or tb is np.ndarray:
        return LIFTED[op](box(a), box(b))
    if isinstance(a, SCALAR) and isinstance(b, SCALAR):
        return (a if ta is Expr else b).g.make(op, a, b)
    return NotImplemented


SCALAR = (Expr, float, int, np.floating, np.integer, np.bool_)
#: functions for which NumPy's own object loops would call bool(), or find no method on a float
LIFTED = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": ops.power, "lt": ops.less, "le": ops.less_equal,
    "eq": ops.equal, "and": ops.logical_and, "or": ops.logical_or, "not": ops.logical_not,
    "min": ops.minimum, "max": ops.maximum, "abs": ops.absolute, "atan2": ops.arctan2,
}  # fmt: skip
