"""Tracing: run a NumPy-style function once on symbols and keep the straight-line program it performs."""

from __future__ import annotations

import functools
import hashlib
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.expr import ARITY, BOOLEAN, Expr, Graph, Node, TraceError, refuse
from engine.compiler.rewrite import Folding

Shape = tuple[int, ...]


class Program:
    """A straight-line program on scalars.

    Parameters
    ----------
    nodes : nodes in topological order, the last of each chain an output
    outputs : index of the node of every output scalar, arrays raveled in C order one after the other
    shapes_in, shapes_out : shape of each argument and of each result
    functions : programs that ``call`` nodes refer to by number
    """

    def __init__(self, nodes: list[Node], outputs: list[int], shapes_in: list[Shape], shapes_out: list[Shape],
                 functions: Sequence[Program] = (), name: str = "function") -> None:  # fmt: skip
        self.nodes, self.outputs, self.functions, self.name = nodes, outputs, tuple(functions), name
        self.shapes_in, self.shapes_out = shapes_in, shapes_out
        self.n_in = sum(size(s) for s in shapes_in)

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of everything the program computes: the same key, the same results."""
        h = hashlib.sha256(repr((self.nodes, self.outputs, self.shapes_in, self.shapes_out)).encode())
        for f in self.functions:
            h.update(f.key.encode())
        return h.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def count(self) -> int:
        """Number of arithmetic operations, calls included."""
        own = sum(n[0] in ARITY and n[0] != "neg" for n in self.nodes)
        return own + sum(self.functions[n[1]].count() for n in self.nodes if n[0] == "call")


def size(shape: Shape) -> int:
    return int(np.prod(shape, dtype=int))


def trace(fn: Callable[..., Any], shapes: Sequence[Shape], fold: bool = True) -> Program:
    """The program of ``fn`` called on arrays of the given shapes (``()`` is a scalar).

    >>> p = trace(lambda x, y: x @ y, [(3,), (3,)])
    >>> p.count(), p.shapes_out
    (5, [()])
    """
    graph: Graph = Folding() if fold else Graph()
    arguments, k = [], 0
    for shape in shapes:
        flat = [graph.input(k + j) for j in range(size(shape))]
        k += len(flat)
        arguments.append(np.array(flat, dtype=object).reshape(shape) if shape else flat[0])
    try:
        results = fn(*arguments)
    except TraceError:
        raise
    except Exception as error:
        raise explained(fn, error) from error
    results = results if isinstance(results, tuple) else (results,)
    arrays = [np.asarray(r, dtype=object) for r in results]
    for r in arrays:
        for x in r.ravel():
            if not isinstance(x, (Expr, float, int, np.floating, np.integer, np.bool_)):
                raise TraceError(f"{name_of(fn)} returned {type(x).__name__} {x!r}; expected numbers")
    outputs = [graph.index(x) for r in arrays for x in r.ravel()]
    nodes, outputs = live(graph.nodes, outputs)
    return Program(nodes, outputs, [tuple(s) for s in shapes], [r.shape for r in arrays], graph.functions, name_of(fn))


def calling(program: Program) -> Callable[..., Any]:
    """A function on traced arrays that records a call of ``program``: compiled once, however often it is called."""

    def called(*arrays: Any) -> Any:
        scalars = [x for a in arrays for x in np.asarray(a, dtype=object).ravel()]
        graph = next(x.g for x in scalars if isinstance(x, Expr))
        flat = np.array(graph.call(program, scalars), dtype=object)
        ends = np.cumsum([size(s) for s in program.shapes_out])
        results = [part.reshape(s) for part, s in zip(np.split(flat, ends[:-1]), program.shapes_out, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    return called


def name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def operands(node: Node) -> Sequence[int]:
    """Indices of the nodes that a node reads."""
    op = node[0]
    if op in ARITY:
        return node[1:]
    return node[2:] if op == "call" else node[1:2] if op == "get" else ()


def renumbered(node: Node, new: dict[int, int]) -> Node:
    """The node with its operands renumbered."""
    op = node[0]
    if op in ARITY:
        return (op, *[new[i] for i in node[1:]])
    if op == "call":
        return (op, node[1], *[new[i] for i in node[2:]])
    return (op, new[node[1]], node[2]) if op == "get" else node


def live(nodes: list[Node], outputs: list[int]) -> tuple[list[Node], list[int]]:
    """The nodes that the outputs need, renumbered in their order."""
    needed, stack = set(), list(outputs)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack += operands(nodes[i])
    new = {i: k for k, i in enumerate(sorted(needed))}
    return [renumbered(nodes[i], new) for i in sorted(needed)], [new[i] for i in outputs]


def explained(fn: Callable[..., Any], error: Exception) -> Exception:
    """What went wrong inside a traced function, at the user's line."""
    frames = traceback.extract_tb(error.__traceback__)
    text = str(error)
    outside = [f for f in frames if "/numpy/" not in f.filename and "/engine/compiler/" not in f.filename]
    place = f"{outside[-1].filename}:{outside[-1].lineno}: " if outside else ""
    if any("linalg" in f.filename for f in frames) or "linalg" in (outside[-1].line or "" if outside else ""):
        return TraceError(f"{place}np.linalg on a traced array cannot be compiled: use engine.ops.solve, ops.inv or ops.norm")
    if "no callable" in text and "method" in text:
        return TraceError(f"{place}a NumPy function on a traced array cannot be compiled ({text}): use the function of engine.ops")
    if isinstance(error, TypeError) and ("Expr" in text or "dtype('O')" in text):
        return TraceError(f"{place}{text}: this operation has no traced form; see engine.ops for those that have")
    return error


def verify(program: Program) -> None:
    """Raise if a program is not well formed; apart from the rewriter, so that neither hides the other's faults."""
    kinds: list[str] = []
    for i, (op, *args) in enumerate(program.nodes):
        reads = operands(program.nodes[i])
        assert all(0 <= j < i for j in reads), f"node {i} reads a later one: {program.nodes[i]}"
        if op == "input":
            assert 0 <= args[0] < program.n_in, f"node {i} reads input {args[0]} of {program.n_in}"
        elif op == "const":
            assert isinstance(args[0], (float, bool)), f"node {i} is no number"
        elif op == "call":
            assert len(reads) == program.functions[args[0]].n_in, f"node {i} calls with {len(reads)} arguments"
        elif op == "get":
            callee = program.nodes[args[0]]
            assert callee[0] == "call" and 0 <= args[1] < len(program.functions[callee[1]].outputs), f"node {i} gets nothing"
        else:
            assert op in ARITY and len(args) == ARITY[op], f"node {i} has an unknown op or arity: {program.nodes[i]}"
            wanted = ["bool"] * len(args) if op in ("and", "or", "not") else ["float"] * len(args)
            if op == "select":
                wanted = ["bool", *[kinds[args[1]]] * 2]
            assert [kinds[j] for j in args] == wanted, f"node {i} mixes truth values and numbers: {program.nodes[i]}"
        boolean = op in BOOLEAN or (op == "const" and isinstance(args[0], bool)) or (op == "select" and kinds[args[1]] == "bool")
        kinds.append("bool" if boolean else "tuple" if op == "call" else "float")
    assert all(0 <= i < len(kinds) and kinds[i] != "tuple" for i in program.outputs)
    assert len(program.outputs) == sum(size(s) for s in program.shapes_out)
    for f in program.functions:
        verify(f)


__all__ = ["Program", "TraceError", "calling", "live", "operands", "refuse", "renumbered", "size", "trace", "verify"]
