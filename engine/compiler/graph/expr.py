"""Traced scalars: hash-consed nodes of a small closed set of operations.

A :class:`Graph` holds nodes, as :mod:`engine.compiler.graph.operations` describes them. An :class:`Expr` is a handle on a node that behaves
as a Python number, so vectors and matrices are ordinary NumPy arrays of dtype ``object``. Constants stay Python floats until they meet a
traced scalar, which makes folding free.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.compiler import debug
from engine.compiler.graph import chains
from engine.compiler.graph.notes import Noted
from engine.compiler.graph.operations import (
    ARITY,
    BINARY,
    BOOLEAN,
    COMMUTATIVE,
    CONDITIONAL,
    OPERATIONS,
    PERHAPS_TRUTHS,
    RECORDED,
    UNARY,
    Node,
    is_truth,
)
from engine.compiler.graph.refusals import TraceError, is_ours, refuse, unknown
from engine.ops.elementwise import USERS, floor_mod
from engine.ops.elementwise import elementwise as lifted


class Graph:
    """Hash-consed nodes in topological order: equal expressions are one node.

    >>> g = Graph()
    >>> x, y = g.input(0), g.input(1)
    >>> (x + y).i == (y + x).i
    True
    """

    recorded = RECORDED  # NumPy's function -> the operation that it means

    def __init__(self, rules: Mapping[str, Callable[..., Any]] | None = None, parts: bool = False) -> None:
        self.rules = rules or {}  # operation -> function of the operands that returns something simpler, or None
        self.parts = parts  # whether parts that are named become functions of their own: engine.compiler.transforms.parts
        lines = debug.level() == 3
        self.nodes: list[Node] = Noted(lines=lines) if parts or lines else []
        self.memo: dict[Node, int] = {}
        self.truths: set[int] = set()  # the nodes that are truth values
        self.functions: list[Any] = []  # the programs that "call" nodes name
        self.tables: dict[int, int] = {}  # inputs and carries that are handles of tables -> how many columns these have
        self.refused: TraceError | None = None  # the first refusal, which the traced function or a library may catch
        self.floats = False  # whether a traced value was to be a float
        self.chains: dict[chains.Place, Any] = {}  # comparisons that go on: a < x < b
        self.in_rows = False  # whether the function of a row is being traced, which lanes of vectors run together
        self.idle: Any = None  # in a loop there, whether this lane's has ended; None outside

    def refuse(self, what: str, instead: str, known: bool = False, whole: bool = False) -> TraceError:
        """Return the error for something untraceable that is being done right now; it is remembered."""
        error = refuse(what, instead, known, whole)
        self.refused = self.refused or error
        return error

    def part(self, name: str) -> contextlib.AbstractContextManager[None]:
        """:func:`engine.ops.part` of traced values."""
        return self.nodes.within(name) if isinstance(self.nodes, Noted) else contextlib.nullcontext()

    def node(self, key: Node) -> int:
        """Index of the node ``key``, made if it is new."""
        i = self.memo.get(key)
        if i is None:
            i = self.memo[key] = len(self.nodes)
            self.nodes.append(key)
            if key[0] in PERHAPS_TRUTHS and is_truth(key, self.truths):
                self.truths.add(i)
        return i

    def index(self, x: Any) -> int:
        """Index of a traced scalar, or of the constant that a number is."""
        if type(x) is float and x and x == x:
            return self.node(("const", x))
        if type(x) is Expr:
            if x.g is not self:
                raise self.refuse("a traced value of another function", "pass it in as an argument")
            return x.i
        if isinstance(x, (bool, np.bool_)):
            return self.node(("const", bool(x), "truth"))  # True and 1.0 are equal keys, and so are False, 0.0 and -0.0
        if not isinstance(x, SCALAR):
            if hasattr(x, "by_rows"):
                raise self.refuse("a table in place of a number", "expected one of its numbers, engine.ops.gather(table, k), or their "
                                  "sum, engine.ops.total(table)")  # fmt: skip
            raise self.refuse(f"{type(x).__name__} {x!r} among traced values", "expected numbers")
        x = float(x)
        return self.node(("const", x if x == x else math.nan) if x else ("const", x, repr(x)))  # NaN is one key only as one object

    def make(self, op: str, *operands: Any) -> Any:
        """``op`` of traced scalars and numbers, simplified by the rules or as it stands."""
        truths = self.truths
        if op in BINARY:                                        # nearly always of numbers
            a, b = operands
            ta, tb = type(a), type(b)
            if not ((a.i in truths if ta is Expr else ta in TRUTHS) or (b.i in truths if tb is Expr else tb in TRUTHS)):
                if op in self.rules and (result := self.rules[op](a, b)) is not None:
                    return result
                i = a.i if ta is Expr and a.g is self else self.index(a)
                j = b.i if tb is Expr and b.g is self else self.index(b)
                key: Node = (op, j, i) if i > j and op in COMMUTATIVE else (op, i, j)
                k = self.memo.get(key)
                return Expr(self, self.node(key) if k is None else k)
        elif op in UNARY and type(a := operands[0]) is Expr and a.g is self and a.i not in truths:
            if op in self.rules and (result := self.rules[op](a)) is not None:
                return result
            return Expr(self, self.node((op, a.i)))
        return self.made(op, operands)

    def made(self, op: str, operands: Sequence[Any]) -> Any:
        """:meth:`make` of any operation, also on truth values."""
        if self.truths and op in AMONG_TRUTHS and all(map(self.holds_truth, operands)):
            if op == "add":
                raise self.refuse("a sum of truth values, which NumPy makes `or` of two and a count of an array",
                                  "use a | b, or 1.0 * a + 1.0 * b")  # fmt: skip
            op = AMONG_TRUTHS[op]
        rule = self.rules.get(op)
        if rule is not None:
            result = rule(*operands)
            if result is not None:
                if type(result) is float or not self.holds_truth(result):
                    return result
                chosen = op in BOOLEAN or (op == "select" and all(map(self.holds_truth, operands[1:])))
                return result if chosen else self.as_number(result)
        index = [*map(self.index, operands)]
        if op in CONDITIONAL or (self.truths and not self.truths.isdisjoint(index)):
            index = self.matched(op, index)
        if op in COMMUTATIVE and index[0] > index[1]:
            index.reverse()
        return Expr(self, self.node((op, *index)))

    def holds_truth(self, x: Any) -> bool:
        """Return whether a traced scalar, or a number, is a truth value."""
        return x.i in self.truths if type(x) is Expr else type(x) in TRUTHS

    def as_number(self, x: Any) -> Any:
        """Return a truth value as a number."""
        return Expr(self, self.number(x.i)) if type(x) is Expr else float(x)

    def matched(self, op: str, index: list[int]) -> list[int]:
        """Convert operands to the kinds that the operation takes, where booleans and numbers meet."""
        takes = OPERATIONS[op].takes
        mixed = not self.truths.issuperset(i for i, kind in zip(index, takes, strict=True) if kind == "s")
        return [self.truth(i) if kind == "t" else self.number(i) if kind == "x" or mixed else i
                for i, kind in zip(index, takes, strict=True)]  # fmt: skip

    def number(self, i: int) -> int:
        """A node as a number: true is 1, false 0."""
        return self.node(("select", i, self.index(1.0), self.index(0.0))) if i in self.truths else i

    def truth(self, i: int) -> int:
        """A node as a truth value: what is not 0 is true."""
        return i if i in self.truths else self.node(("not", self.node(("eq", *sorted((i, self.index(0.0)))))))

    def forget(self, start: int) -> dict[Node, int]:
        """Remove nodes from ``start`` on from the table of known expressions, and return them: equal ones are made anew."""
        return {node: i for node in self.nodes[start:] if (i := self.memo.pop(node, None)) is not None}

    @contextlib.contextmanager
    def forgotten(self, start: int) -> Iterator[None]:
        """Context in which expressions from ``start`` on are made anew; afterwards those made within are."""
        known, end = self.forget(start), len(self.nodes)
        try:
            yield
        finally:
            self.forget(end)
            self.memo.update(known)

    def input(self, k: int) -> Expr:
        return Expr(self, self.node(("input", k)))

    def call(self, program: Any, operands: Sequence[Any], op: str = "call", *fields: Any) -> list[Expr]:
        """Return the outputs of ``program`` on scalars, as one node that is not inlined; a call passes on only the inputs that are read."""
        if op == "call":
            program, read = program.read
            operands = [operands[k] for k in read]
        if program not in self.functions:
            self.functions.append(program)
        c = self.node((op, self.functions.index(program), *fields, *[self.number(self.index(x)) for x in operands]))
        return [Expr(self, self.node(("get", c, k))) for k in range(len(program.outputs))]


class Expr:
    """A traced scalar. Arithmetic on it records nodes; it has no value until the program runs."""

    __slots__ = ("g", "i")
    otherwise: Callable[..., Any]  # of NumPy's functions, those that are no operation: engine.compiler.frontend.arrays

    def __init__(self, g: Graph, i: int) -> None:
        self.g, self.i = g, i

    # -- arithmetic, all through the rewrite table
    def __add__(a, b): return a.g.make("add", a, b) if type(b) in NUMBERS else binary("add", a, b)
    def __radd__(a, b): return a.g.make("add", b, a) if type(b) is float else binary("add", b, a)
    def __sub__(a, b): return a.g.make("sub", a, b) if type(b) in NUMBERS else binary("sub", a, b)
    def __rsub__(a, b): return a.g.make("sub", b, a) if type(b) is float else binary("sub", b, a)
    def __mul__(a, b): return a.g.make("mul", a, b) if type(b) in NUMBERS else binary("mul", a, b)
    def __rmul__(a, b): return a.g.make("mul", b, a) if type(b) is float else binary("mul", b, a)
    def __truediv__(a, b): return binary("div", a, b)
    def __rtruediv__(a, b): return binary("div", b, a)
    def __mod__(a, b): return divided(ops.mod, a, b)
    def __rmod__(a, b): return divided(ops.mod, b, a)
    def __floordiv__(a, b): return divided(lambda x, y: floor_mod(x, y)[0], a, b)
    def __rfloordiv__(a, b): return divided(lambda x, y: floor_mod(x, y)[0], b, a)
    def __pow__(a, b): return binary("pow", a, b)
    def __rpow__(a, b): return binary("pow", b, a)
    def __neg__(a): return a.g.make("neg", a)
    def __pos__(a): return a
    def __abs__(a): return a.g.make("abs", a)
    def __lt__(a, b): return compared("lt", a, b)
    def __le__(a, b): return compared("le", a, b)
    def __gt__(a, b): return compared("lt", b, a)
    def __ge__(a, b): return compared("le", b, a)
    def __eq__(a, b): return compared("eq", a, b)
    def __ne__(a, b): return NotImplemented if (same := binary("eq", a, b)) is NotImplemented else ops.logical_not(same)
    def __and__(a, b): return binary("and", a, b)
    def __rand__(a, b): return binary("and", b, a)
    def __or__(a, b): return binary("or", a, b)
    def __ror__(a, b): return binary("or", b, a)
    def __invert__(a): return a.g.make("not", a)

    def __hash__(self):
        if USERS.graph is not None and not is_ours(sys._getframe(1)):
            raise self.g.refuse("a lookup by a traced value", "look up by structure; engine.ops.interp looks up tables")
        return object.__hash__(self)

    def conjugate(a): return a
    def item(a): return a
    def copy(a): return a
    real = property(lambda a: a)
    imag = property(lambda a: 0.0)

    def known(self) -> Any:
        """The constant that the scalar is, or itself."""
        op, *rest = self.g.nodes[self.i]
        return rest[0] if op == "const" else self

    # -- what NumPy and Python ask of a number and a traced one cannot give
    def __bool__(self):
        if (x := self.known()) is not self:
            return bool(x)
        if self.i in self.g.truths and chains.begun(self.g.chains, self):
            return True
        raise self.g.refuse("a decision on a traced value (`if`, `while`, `and`, `or`, `not`)",
                            "use engine.ops.where(condition, a, b), and & | ~ between conditions", known=True)  # fmt: skip

    def __float__(self):
        if (x := self.known()) is not self:
            return float(x)
        self.g.floats = True
        raise self.g.refuse("turning a traced value into a float (by a function of another library, or of math's that a variable holds, or "
                            "writing into an array that is made elsewhere)",
                            "use np.sin and friends, and arrays that the function makes itself, or copies by np.array")  # fmt: skip

    def __int__(self):
        if (x := self.known()) is not self:
            return int(x)
        raise self.g.refuse("turning a traced value into an integer", "loop and index over structure, never over values", whole=True)

    __index__ = __int__

    def __round__(self, digits=None):
        raise self.g.refuse("rounding a traced value", "use np.round(x)")

    def __format__(self, spec):
        raise self.g.refuse("a traced value as text", "it has no number while it is traced; format with compiled=False, or after the run")

    def __iter__(self):
        raise self.g.refuse("iterating over a traced scalar", "it is one number")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """np.sin(x), np.float64(2) * x, array + x: the operation itself, or once more with the scalar as a 0-d object array."""
        if ufunc in MIRRORED:
            ufunc, inputs = MIRRORED[ufunc], inputs[::-1]
        if ufunc is np.not_equal:
            return ops.logical_not(self.__array_ufunc__(np.equal, method, *inputs, **kwargs))
        op = UFUNCS.get(ufunc) if method == "__call__" and not kwargs else None
        if op is not None and all(isinstance(x, SCALAR) for x in inputs):
            return self.g.make(op, *inputs)
        return LIFTED[op](*map(box, inputs)) if op else self.otherwise(ufunc, method, inputs, kwargs.pop("out", None), kwargs)

    def __repr__(self):
        return f"<traced {self.g.nodes[self.i][0]} #{self.i}, no number yet>"


numbers.Real.register(Expr)
#: what numbers nearly always are
NUMBERS = (Expr, float)


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


def compared(op: str, a: Any, b: Any) -> Any:
    """A comparison, together with those before it in a chain."""
    result = binary(op, a, b)
    known = (a if type(a) is Expr else b).g.chains
    return result & chains.joined(known, 2) if known and result is not NotImplemented else result


def divided(f: Callable[..., Any], a: Any, b: Any) -> Any:
    """``a % b`` or ``a // b`` of numbers and arrays."""
    return f(a, b) if all(isinstance(x, (*SCALAR, np.ndarray)) for x in (a, b)) else NotImplemented


TRUTHS = (bool, np.bool_)
#: what NumPy makes of operations on truth values alone; of a sum the operands do not tell
AMONG_TRUTHS = {"max": "or", "mul": "and", "min": "and", "add": ""}
SCALAR: Any = (Expr, float, int, np.floating, np.integer, np.bool_)
#: elementwise, for arrays too: NumPy's own object loops would call bool(), or find no method on a float
LIFTED = {op: lifted(OPERATIONS[op].numpy, op, n) for op, n in ARITY.items()}
MIRRORED: dict[Any, Any] = {np.greater: np.less, np.greater_equal: np.less_equal}
UFUNCS = {f: op for f, op in RECORDED.items() if isinstance(f, np.ufunc)}


def method(op: str) -> Callable[..., Any]:
    """A method of traced scalars."""
    return lambda a, *others: a.g.make(op, a, *others)


for _ufunc, _op in UFUNCS.items():  # NumPy calls these by name on the elements of an object array: x.sin(), x.arctan2(y)
    setattr(Expr, _ufunc.__name__, method(_op))


def refusal(name: str) -> Callable[..., Any]:
    """A method of traced scalars that refuses what NumPy calls by this name."""

    def refused(x: Expr, *others: Any) -> Any:
        raise x.g.refuse(*unknown(name))

    return refused


for _name, _ufunc in vars(np).items():
    if isinstance(_ufunc, np.ufunc) and not hasattr(Expr, _name):
        setattr(Expr, _name, refusal(_name))
