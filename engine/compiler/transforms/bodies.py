"""Closure conversion of loop bodies: the body as a program of its own, and what it captures from outside.

What a body reads from outside, and whatever it computes that does not change from pass to pass, is captured: computed once, before the
loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.notes import carried
from engine.compiler.graph.operations import CALLS, COMMUTATIVE, Node, operands, renumbered
from engine.compiler.graph.program import Program, live, size, table_shape
from engine.compiler.kernels.loop_fusion import fused_loops


def subroutine(graph: Graph, fn: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> tuple[Program, list[int], tuple[int, ...]]:
    """Trace ``fn`` of arrays of some shapes as a program (arguments, captured) -> result; return it, the captured nodes, and the result's
    shape."""
    start, given = len(graph.nodes), list[Expr]()
    arguments = []
    for shape in shapes:
        fresh = [Expr(graph, graph.node(("carry", start, len(given) + k))) for k in range(size(shape))]
        arguments.append(np.array(fresh, dtype=object).reshape(shape)[()])
        given += fresh
    result = np.asarray(fn(*arguments), dtype=object)
    outputs = [graph.number(graph.index(y)) for y in result.ravel()]
    return *extracted(graph, start, given, outputs, False, scope_of(fn)), result.shape


def scope_of(fn: Any) -> str:
    """Return a short name of a function: its own, after that of the function around it.

    >>> def minimum():
    ...     def advance(x): ...
    ...     return scope_of(advance), scope_of(lambda x: x)
    >>> minimum()
    ('minimum.advance', 'minimum')
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    parts = getattr(fn, "__qualname__", type(fn).__name__).split(".")
    return ".".join([p for p in parts if p not in ("<locals>", "<lambda>")][-2:]) or "lambda"


def columns_of(graph: Graph, i: int) -> int:
    """Return the columns of the table that a node is a handle of; 0 for a number."""
    op, *args = graph.nodes[i]
    if op == "get":
        return graph.functions[graph.nodes[args[0]][1]].made[args[1]]
    return columns_of(graph, args[1]) if op == "select" else graph.tables.get(i, 0)


def extracted(graph: Graph, start: int, carry: list[Expr], outputs: list[int], once: bool, name: str) -> tuple[Program, list[int]]:
    """The program, of that name, of the nodes that depend on ``carry``, or of all from ``start`` on where it runs only ``once``, and the
    nodes outside that it reads, in the order in which it reads them.

    It does not depend on what the graph held before: the same body, traced again, is the same program.
    """
    inside = {i for i in range(start, len(graph.nodes)) if graph.nodes[i][0] != "const"} if once else {c.i for c in carry}
    for i in () if once else range(start, len(graph.nodes)):
        if not inside.isdisjoint(operands(graph.nodes[i])):
            inside.add(i)
    needed = set(outputs)
    for i in range(len(graph.nodes) - 1, start - 1, -1):
        if i in needed and i in inside:
            needed.update(operands(graph.nodes[i]))
    nodes: list[Node] = []
    new: dict[int, int] = {}
    captured: list[int] = []
    functions: list[Program] = []

    def put(*node: Any) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def read(i: int) -> None:
        """Make a node from outside known within."""
        if graph.nodes[i][0] == "const":
            new[i] = put(*graph.nodes[i])
            return
        new[i] = put("input", len(carry) + len(captured))
        captured.append(graph.number(i))  # arguments are numbers, and tables
        if i in graph.truths:
            new[i] = put("not", put("eq", new[i], put("const", 0.0, "0.0")))

    for k, c in enumerate(carry):
        new[c.i] = put("input", k)
    for i in sorted(needed & inside - new.keys()):
        node = graph.nodes[i]
        for j in operands(node):
            if j not in new:
                read(j)
        if node[0] in CALLS:
            f = graph.functions[node[1]]
            if f not in functions:
                functions.append(f)
            node = (node[0], functions.index(f), *node[2:])
        node = renumbered(node, new)
        if node[0] in COMMUTATIVE and node[1] > node[2]:
            node = (node[0], node[2], node[1])
        new[i] = len(nodes)
        nodes.append(node)
    for i in outputs:
        if i not in new:
            read(i)
    nodes = carried(graph.nodes, nodes, new.items())
    kept, wanted, functions = fused_loops(*live(nodes, [new[i] for i in outputs]), functions)
    shapes_in, shapes_out = ([table_shape(columns_of(graph, i)) for i in which] for which in ([*(c.i for c in carry), *captured], outputs))
    program = Program(kept, wanted, shapes_in, shapes_out, functions, name)
    program.arguments = (*(f"x{k}" for k in range(len(carry))), *(f"outside{k}" for k in range(len(captured))))
    return program, captured
