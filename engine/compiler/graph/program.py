"""Straight-line programs on scalars: what tracing makes, and what is interpreted or compiled."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from engine.compiler.graph import listing
from engine.compiler.graph.notes import carried
from engine.compiler.graph.operations import ARITY, CALLS, OPERATIONS, Node, is_truth, operands, renumbered

Shape = tuple[int, ...]
#: in place of a shape's first number: as many rows as there are when the program runs, a table; among scalars it is one, a handle
COUNTED = -1
Value = TypeVar("Value")


class once(Generic[Value]):
    """A property that is made when it is first asked for: a cached one without the lock that Python 3.11's holds, which a process forked
    meanwhile never gets."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __get__(self, x: Any, owner: Any = None) -> Value:
        if x is None:
            return self  # type: ignore[return-value]
        found: Value = x.__dict__.setdefault(self.make.__name__, self.make(x))
        return found


class Program:
    """A straight-line program on scalars.

    Parameters
    ----------
    nodes : nodes in topological order, the last of each chain an output
    outputs : index of the node of every output scalar, arrays raveled in C order one after the other
    shapes_in, shapes_out : shape of each argument and of each result
    functions : programs that ``call`` nodes refer to by number
    name : what it does, in a word; no part of what it is: of equal programs the first one's name is kept
    names : of the results, of a function that returned a dictionary of them
    arguments : names of the arguments, as far as they are known
    seconds : that tracing took, but for what it calls, where ``ENGINE_DEBUG`` is set

    ``str(program)`` is its text, an operation a line; where ``ENGINE_DEBUG`` is 3 while a function is traced, with the lines that made
    them: the user's, and the engine's.

    >>> from engine.compiler import trace
    >>> print(trace(lambda x, y: x @ y + 1.0, [(2,), (2,)]))
    <lambda>(x (2), y (2)): 4 operations
        %4 = mul x[0], y[0]
        %5 = mul x[1], y[1]
        %6 = add %4, %5
        %8 = add %6, 1.0
        return: %8
    """

    names: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    seconds = 0.0
    native = False  # whether it has no nodes: engine.compiler.graph.kernel

    def __init__(self, nodes: list[Node], outputs: list[int], shapes_in: list[Shape], shapes_out: list[Shape],
                 functions: Sequence[Program] = (), name: str = "function") -> None:  # fmt: skip
        self.nodes, self.outputs, self.functions, self.name = nodes, outputs, tuple(functions), name
        self.shapes_in, self.shapes_out = shapes_in, shapes_out
        self.n_in = sum(size(s) for s in shapes_in)

    @once
    def key(self) -> str:
        """SHA-256 of everything the program computes: the same key, the same results."""
        h = hashlib.sha256(repr((self.nodes, self.outputs, self.shapes_in, self.shapes_out)).encode())
        for f in self.functions:
            h.update(f.key.encode())
        return h.hexdigest()

    @property
    def frame(self) -> Any:
        """The part of the key that is neither nodes nor called functions: outputs and shapes."""
        return self.outputs, self.shapes_in, self.shapes_out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @once
    def tabled(self) -> bool:
        """True if tables are used within: its work then begins with the address of the arena that gives them memory."""
        return any(f.tabled for f in self.functions)

    @once
    def takes(self) -> bool:
        """True if memory of the arena is allocated: otherwise only the arena's state may change."""
        return any(f.takes for f in self.functions)

    @once
    def single(self) -> bool:
        """True if the program runs one sample at a time, and one row: its tables cannot be in lanes of vectors."""
        return any(f.single for f in self.functions)

    @once
    def given(self) -> list[int]:
        """Columns of the table that each input scalar is a handle of; 0 for a number."""
        return columns(self.shapes_in)

    @once
    def made(self) -> list[int]:
        """Columns of the table that each output scalar is a handle of; 0 for a number."""
        return columns(self.shapes_out)

    @once
    def read(self) -> tuple[Program, list[int]]:
        """The program without inputs that it does not read, and the numbers of those that it reads, which alone are passed on by calls."""
        kept = sorted({node[1] for node in self.nodes if node[0] == "input"})
        if self.native or type(self) is not Program or len(kept) == self.n_in:
            return self, [*range(self.n_in)]
        place = {k: j for j, k in enumerate(kept)}
        nodes = [("input", place[node[1]]) if node[0] == "input" else node for node in self.nodes]
        short = Program(carried(self.nodes, nodes, enumerate(range(len(nodes)))), self.outputs, [table_shape(self.given[k]) for k in kept],
                        self.shapes_out, self.functions, self.name)  # fmt: skip
        labels = listing.inputs(self, listing.labels(self))
        short.names, short.arguments, short.seconds = self.names, tuple(labels[k] for k in kept), self.seconds
        return short, kept

    @property
    def tables(self) -> dict[str, np.ndarray]:
        """Tables of numbers that its code reads from memory, by their names there: of kernels."""
        return {}

    @property
    def within(self) -> tuple[Program, ...]:
        """The programs that it calls or repeats."""
        return self.functions

    def __str__(self) -> str:
        return listing.text(self)

    def __repr__(self) -> str:
        return f"<program {self.name}: {len(self.nodes)} nodes, {len(self.functions)} functions>"

    def count(self) -> int:
        """Number of arithmetic operations, calls included, and loops as if they ran once."""
        return self.operations

    @once
    def operations(self) -> int:
        """The result of :meth:`count`, kept: where each of n functions calls the next one twice, there are 2ⁿ paths to walk."""
        own = sum(n[0] in ARITY and n[0] != "neg" for n in self.nodes)
        return own + sum(self.functions[n[1]].count() for n in self.nodes if n[0] in CALLS)


def is_table(shape: Shape) -> bool:
    """Return whether a shape is that of a table."""
    return shape[:1] == (COUNTED,)


def table_shape(m: int) -> Shape:
    """Return a scalar's shape: (COUNTED, m) if it is a handle of a table of m columns, () if it is a number (m = 0)."""
    return (COUNTED, m) if m else ()


def of_rows(row: Sequence[int]) -> str:
    """Return the shape of a table of such rows in words.

    >>> of_rows((3,)), of_rows(())
    ('(n, 3)', '(n)')
    """
    return f"({', '.join(['n', *map(str, row)])})"


def size(shape: Shape) -> int:
    """Return the number of scalars of a shape; a table is one handle."""
    return 1 if is_table(shape) else math.prod(shape)


def columns(shapes: Sequence[Shape]) -> list[int]:
    """Return, for each scalar of some shapes, the columns of the table that it is a handle of; 0 for a number."""
    return [n for s in shapes for n in ([math.prod(s[1:])] if is_table(s) else [0] * size(s))]


def result(program: Program, k: int) -> Program:
    """Return the program of the k-th result alone."""
    begin = sum(map(size, program.shapes_out[:k]))
    nodes, outputs = live(program.nodes, program.outputs[begin : begin + size(program.shapes_out[k])])
    return Program(nodes, outputs, program.shapes_in, [program.shapes_out[k]], program.functions, program.name)


def truth_values(nodes: Sequence[Node]) -> set[int]:
    """Return the nodes that are boolean."""
    found: set[int] = set()
    for i, node in enumerate(nodes):
        if is_truth(node, found):
            found.add(i)
    return found


def live(nodes: list[Node], outputs: list[int]) -> tuple[list[Node], list[int]]:
    """Return the nodes that the outputs need, renumbered in their order."""
    new = [-1] * len(nodes)                                                    # 0 is wanted
    for i in outputs:
        new[i] = 0
    for i in reversed(range(len(nodes))):
        if not new[i]:
            for j in operands(nodes[i]):
                new[j] = 0
    if -1 not in new:                                                          # all are needed
        return carried(nodes, [*nodes], enumerate(range(len(nodes)))), outputs
    kept: list[Node] = []
    for i, node in enumerate(nodes):
        if not new[i]:
            new[i] = len(kept)
            kept.append(renumbered(node, new))
    return carried(nodes, kept, enumerate(new)), [new[i] for i in outputs]


def verify(program: Program) -> None:
    """Raise if a program is not well formed; apart from the rewriter, so that neither hides the other's faults.

    >>> import engine
    >>> from engine.compiler import verify
    >>> verify(engine.gufunc(lambda x: x * x, "()->()").program)  # says nothing: it is well formed
    """
    kinds: list[str] = []  # "x" of a number, "t" of a truth value, "m3" of a table of three columns, "tuple" of a call
    truths = truth_values(program.nodes)
    for i, node in enumerate(program.nodes):
        op, *args = node
        assert op in OPERATIONS and len(args) == ARITY.get(op, len(args)), f"node {i} has an unknown op or arity: {node}"
        reads = operands(node)
        assert all(0 <= j < i for j in reads), f"node {i} reads a later one: {node}"
        if op == "input":
            assert 0 <= args[0] < program.n_in, f"node {i} reads input {args[0]} of {program.n_in}"
        elif op == "const":
            assert isinstance(args[0], (float, bool)), f"node {i} is no number"
        elif op in CALLS:
            assert len(reads) == program.functions[args[0]].n_in, f"node {i} calls with {len(reads)} arguments"
            passed, wanted = [kinds[j] for j in reads], [kind_of(m) for m in program.functions[args[0]].given]
            assert passed == wanted, f"node {i} passes {' '.join(passed)}; expected {' '.join(wanted)}"
        elif op == "get":
            callee = program.nodes[args[0]]
            assert callee[0] in CALLS and 0 <= args[1] < len(program.functions[callee[1]].outputs), f"node {i} gets nothing"
        else:
            given = [kinds[j] for j in args]
            wanted = [given[-1] if kind == "s" else kind for kind in OPERATIONS[op].takes]
            assert given == wanted, f"node {i} mixes truth values, numbers and tables: {node}"
        kinds.append("tuple" if op in CALLS else "t" if i in truths else kind_of(table_columns(program, node, kinds)))
    assert len(program.outputs) == len(program.made), f"{len(program.outputs)} results for {len(program.made)} scalars"
    for k, (i, m) in enumerate(zip(program.outputs, program.made, strict=True)):
        assert 0 <= i < len(kinds) and kinds[i] in ((kind_of(m),) if m else ("x", "t")), f"result {k} is node {i}, no {kind_of(m)}"
    for f in program.functions:
        if not f.native:
            verify(f)


def kind_of(m: int) -> str:
    """Return the kind of a handle of a table of m columns, or of a number."""
    return f"m{m}" if m else "x"


def table_columns(program: Program, node: Node, kinds: Sequence[str]) -> int:
    """Return the columns of the table that a node is a handle of; 0 for a number."""
    if node[0] == "input":
        return program.given[node[1]]
    if node[0] == "get":
        return program.functions[program.nodes[node[1]][1]].made[node[2]]
    return int(kinds[node[2]][1:] or 0) if node[0] == "select" else 0
