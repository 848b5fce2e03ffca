"""Tracing: run a NumPy-style function once on symbols and keep the straight-line program it performs."""

from __future__ import annotations

import functools
import hashlib
import math
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.compiler.expr import ARITY, BOOLEAN, SCALAR, Expr, Graph, Node, TraceError, located, refuse
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
    names : of the results, where the function returned a dictionary
    """

    names: tuple[str, ...] = ()

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
        """Number of arithmetic operations, calls included, and loops as if they ran once."""
        own = sum(n[0] in ARITY and n[0] != "neg" for n in self.nodes)
        return own + sum(self.functions[n[1]].count() for n in self.nodes if n[0] in ("call", "loop"))


def size(shape: Shape) -> int:
    return math.prod(shape)


def trace(fn: Callable[..., Any], shapes: Sequence[Shape], fold: bool = True) -> Program:
    """Return the program of ``fn`` called on arrays of the given shapes (``()`` is a scalar); of a dictionary it keeps the names.

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
        with np.errstate(all="ignore"):  # rules compare constants, NaN too; what is not finite shows when the program runs
            results = fn(*arguments)
    except TraceError:
        raise
    except Exception as error:
        if (refusal := explained(error, graph)) is None:
            raise
        raise refusal from error
    names = tuple(results) if isinstance(results, Mapping) else ()
    results = tuple(results.values()) if isinstance(results, Mapping) else results if isinstance(results, tuple) else (results,)
    arrays = [np.asarray(r, dtype=object) for r in results]
    scalars = [x for r in arrays for x in r.ravel()]
    for x in scalars:
        if not isinstance(x, SCALAR) or (isinstance(x, Expr) and x.g is not graph):
            what = "a traced value of another function" if isinstance(x, Expr) else f"{type(x).__name__} {x!r}"
            raise TraceError(f"{place_of(fn)}{name_of(fn)} returned {what}; expected numbers, or arrays of them")
    nodes, outputs = live(graph.nodes, [graph.index(x) for x in scalars])
    program = Program(nodes, outputs, [tuple(s) for s in shapes], [r.shape for r in arrays], graph.functions, name_of(fn))
    program.names = names
    return program


def calling(program: Program) -> Callable[..., Any]:
    """A function on traced arrays that records a call of ``program``: compiled once, however often it is called."""

    def called(*arrays: Any) -> Any:
        given = [np.asarray(a, dtype=object) for a in arrays]
        if [a.shape for a in given] != program.shapes_in:
            raise refuse(f"{program.name} of shapes {[a.shape for a in given]}", f"expected {program.shapes_in}")
        scalars = [x for a in given for x in a.ravel()]
        graph = next((x.g for x in scalars if isinstance(x, Expr)), None)
        if graph is None:
            raise refuse(f"a call of {program.name} without traced values", "call the function itself")
        flat = np.array(graph.call(program, scalars), dtype=object)
        ends = np.cumsum([size(s) for s in program.shapes_out])
        results = [part.reshape(s)[()] for part, s in zip(np.split(flat, ends[:-1]), program.shapes_out, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    return called


def name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def place_of(fn: Callable[..., Any]) -> str:
    code = getattr(fn, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


def operands(node: Node) -> Sequence[int]:
    """Indices of the nodes that a node reads."""
    op = node[0]
    if op in ARITY:
        return node[1:]
    return node[2:] if op == "call" else node[3:] if op == "loop" else node[1:2] if op == "get" else ()


def renumbered(node: Node, new: Sequence[int] | dict[int, int]) -> Node:
    """The node with its operands renumbered."""
    op = node[0]
    if op in ARITY:
        return (op, *[new[i] for i in node[1:]])
    if op == "call":
        return (op, node[1], *[new[i] for i in node[2:]])
    if op == "loop":
        return (op, node[1], node[2], *[new[i] for i in node[3:]])
    return (op, new[node[1]], node[2]) if op == "get" else node


def live(nodes: list[Node], outputs: list[int]) -> tuple[list[Node], list[int]]:
    """The nodes that the outputs need, renumbered in their order."""
    needed = set(outputs)
    for i in reversed(range(len(nodes))):
        if i in needed:
            needed.update(operands(nodes[i]))
    kept, new = sorted(needed), [0] * len(nodes)
    for k, i in enumerate(kept):
        new[i] = k
    return [renumbered(nodes[i], new) for i in kept], [new[i] for i in outputs]


def explained(error: Exception, graph: Graph) -> TraceError | None:
    """What NumPy and Python say when they meet traced values, in the terms of this engine; None if the error is about something else."""
    text = str(error)
    frames = list(traceback.walk_tb(error.__traceback__))[::-1]
    function = re.search(r"no callable (\w+) method|object has no attribute '(\w+)'", text)
    name = next(filter(None, function.groups())) if function else ""
    if isinstance(getattr(np, name, None), np.ufunc):
        known = f"use engine.ops.{name}" if hasattr(ops, name) else "engine.ops has those that can"
        return located(frames, f"np.{name} of an array with traced values", known)
    if isinstance(error, IndexError) and graph.refused:
        return graph.refused
    if not isinstance(error, (TypeError, AttributeError)):
        return None
    if "output from dtype('O')" in text:
        return located(frames, "writing traced values into a float array", "make a new array, as in a = a + b or np.array([...])")
    if any(sign in text for sign in ("Expr", "dtype('O')", "array type object", "not supported for the input types")):
        return located(frames, f"this operation ({text})", "see engine.ops for those that can")
    return None


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
        elif op in ("call", "loop"):
            assert len(reads) == program.functions[args[0]].n_in, f"node {i} calls with {len(reads)} arguments"
            assert all(kinds[j] == "float" for j in reads), f"node {i} passes what is no number"
        elif op == "get":
            callee = program.nodes[args[0]]
            assert callee[0] in ("call", "loop") and 0 <= args[1] < len(program.functions[callee[1]].outputs), f"node {i} gets nothing"
        else:
            assert op in ARITY and len(args) == ARITY[op], f"node {i} has an unknown op or arity: {program.nodes[i]}"
            wanted = ["bool"] * len(args) if op in ("and", "or", "not") else ["float"] * len(args)
            if op == "select":
                wanted = ["bool", *[kinds[args[1]]] * 2]
            assert [kinds[j] for j in args] == wanted, f"node {i} mixes truth values and numbers: {program.nodes[i]}"
        boolean = op in BOOLEAN or (op == "const" and isinstance(args[0], bool)) or (op == "select" and kinds[args[1]] == "bool")
        kinds.append("bool" if boolean else "tuple" if op in ("call", "loop") else "float")
    for k, i in enumerate(program.outputs):
        assert 0 <= i < len(kinds) and kinds[i] != "tuple", f"result {k} is node {i}, no scalar"
    wanted_outputs = sum(size(s) for s in program.shapes_out)
    assert len(program.outputs) == wanted_outputs, f"{len(program.outputs)} results for {wanted_outputs} scalars"
    for f in program.functions:
        verify(f)


__all__ = ["Program", "TraceError", "calling", "live", "operands", "refuse", "renumbered", "size", "trace", "verify"]
