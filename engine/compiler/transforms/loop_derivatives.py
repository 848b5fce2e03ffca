"""Derivatives of while-loops: a loop that carries tangents or adjoints beside its values, in as many passes.

A tangent is carried for each number and direction that may come to depend on each other in some pass: found by the structure alone.
Backward, a loop that carries little is differentiated forward by what it is given, and its Jacobian's transpose takes the adjoints; any
other, and one that carries tables, is gone through from its last pass to its first.

Reference: Griewank & Walther, *Evaluating Derivatives*, 2008, ch. 3 and 15 (of fixed points, for which one step of Newton's method behind
``ops.stop_gradient`` is cheaper: :mod:`engine.compiler.transforms.implicit`).
"""

from __future__ import annotations

import functools
from typing import Any

from engine import ops
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.program import Program, live, table_shape
from engine.compiler.graph.rewrite import RULES, inlined
from engine.compiler.kernels.row_loop import sum_of, zeros_like
from engine.compiler.transforms.autodiff import LOOPS, active, pull, pushed
from engine.compiler.transforms.bodies import columns_of
from engine.compiler.transforms.loop import while_loop
from engine.compiler.transforms.row_derivatives import derivatives
from engine.compiler.transforms.sparse import Sparse, added, combined, divided, value, zero
from engine.compiler.transforms.table import Table

#: numbers of the Jacobian of a loop that is made forward
SMALL = 200
Pattern = tuple[tuple[int, ...], ...]


def loop_tangents(graph: Graph, i: int, tangent: dict[int, Sparse]) -> list[Sparse]:
    """Return the tangents of a loop's results, for those of what it begins with and of what it reads."""
    _, number, _, *given = graph.nodes[i]
    n = len(graph.functions[number].outputs) - 1
    own = [tangent.get(j, {}) if k != n else {} for k, j in enumerate(given)]
    return along(graph, i, own)


def along(graph: Graph, i: int, own: list[Sparse]) -> list[Sparse]:
    """Return the tangents of the results of loop i, for some of each of its operands."""
    _, number, limit, *given = graph.nodes[i]
    f = graph.functions[number]
    n = len(f.outputs) - 1
    ways = sorted({d for t in own for d in t})
    if not ways:
        return [{} for _ in f.outputs]
    program, carried = with_tangents(f, tuple(tuple(ways.index(d) for d in sorted(t)) for t in own))
    begin = [own[k].get(ways[d]) for k, d in carried]
    begin = [nothing(graph, given[k]) if t is None else t for t, (k, _) in zip(begin, carried, strict=True)]
    at = [value(graph, j) for j in given]
    made = graph.call(program, [*at[:n], *begin, at[n], *at[n + 1 :], *(t[d] for t in own[n + 1 :] for d in sorted(t))], "loop", limit)
    found: list[Sparse] = [{} for _ in f.outputs]
    for (k, d), t in zip(carried, made[n:], strict=False):
        found[k][ways[d]] = t
    return found


def nothing(graph: Graph, i: int) -> object:
    """Return a zero tangent: of a table, one of zeros."""
    m = columns_of(graph, i)
    return zeros_like(graph.call, m, value(graph, i)) if m else 0.0


@functools.cache
def with_tangents(f: Program, pattern: Pattern) -> tuple[Program, list[tuple[int, int]]]:
    """Return the body of a loop with tangents, of inputs that have some in these directions, and which of what it carries has one, in
    which direction: (carry, tangents, done, read, their tangents) -> (carry, tangents, done)."""
    n, known = len(f.outputs) - 1, pattern
    while True:
        graph, x, more, y = given_tangents(f, known)
        tangent = pushed(graph, x, more, known, y)
        reached = [{*known[k], *(d for d, t in tangent.get(y[k], {}).items() if not zero(t))} for k in range(n)]
        if reached == [set(ways) for ways in known[:n]]:
            break
        known = (*(tuple(sorted(ways)) for ways in reached), *pattern[n:])
    carried, own = [(k, d) for k in range(n) for d in known[k]], divided(more, known)
    passed = [tangent.get(y[k], {}).get(d) for k, d in carried]
    passed = [nothing(graph, y[k]) if t is None else t for t, (k, _) in zip(passed, carried, strict=True)]
    results = [*y[:n], *map(graph.index, passed), y[n]]
    order = [*x[:n], *(t for ts in own[:n] for t in ts), *x[n:], *(t for ts in own[n:] for t in ts)]
    place = {s.i: ("input", k) for k, s in enumerate(order)}
    kept, wanted = live([place.get(i, node) for i, node in enumerate(graph.nodes)], results)
    shapes = [table_shape(columns_of(graph, s.i)) for s in order]
    return Program(kept, wanted, shapes, [*shapes[: n + len(carried)], ()], graph.functions, f"along_{f.name}"), carried


def given_tangents(f: Program, pattern: Pattern) -> tuple[Graph, list[Expr], list[Expr], list[int]]:
    """Return a graph with a body's inputs, their tangents, and its outputs."""
    graph = Graph(RULES)
    x = [Expr(graph, graph.node(("carry", k))) for k in range(f.n_in)]
    ways = [k for k, own in enumerate(pattern) for _ in own]
    more = [Expr(graph, graph.node(("carry", f.n_in + e))) for e in range(len(ways))]
    graph.tables |= {s.i: f.given[k] for s, k in zip([*x, *more], [*range(f.n_in), *ways], strict=True) if f.given[k]}
    return graph, x, more, [graph.index(s) for s in inlined(f, graph, x)]


def loop_adjoints(graph: Graph, i: int, adjoint: dict[int, Sparse], inside: set[int]) -> dict[int, Sparse]:
    """Return the adjoints of what a loop begins with and reads: by its Jacobian, made forward, where that is small; else pass by pass,
    from the last."""
    _, number, _, *given = graph.nodes[i]
    f = graph.functions[number]
    n = len(f.outputs) - 1
    wanted = [k for k, j in enumerate(given) if j in inside and k != n]
    own = [adjoint.get(graph.memo.get(("get", i, k), -1), {}) for k in range(n)]
    found: dict[int, Sparse] = {}

    def add(k: int, more: Sparse) -> None:
        found[given[k]] = added(graph, given[k], found.get(given[k], {}), more)

    if any(f.given) or any(f.made) or n * len(wanted) > SMALL:
        for d in sorted({d for row in own for d in row}):
            for k, a in zip(wanted, backward(graph, i, [row.get(d) for row in own], wanted), strict=True):
                add(k, {d: a})
    elif any(own):
        J = along(graph, i, [{k: 1.0} if k in wanted else {} for k in range(len(given))])
        for k in wanted:
            add(k, combined([(J[r][k], own[r]) for r in range(n) if k in J[r]]))
    return found


def backward(graph: Graph, i: int, weights: list[Any], wanted: list[int]) -> list[Any]:
    """Return the adjoints of some operands of loop i, for weights (or None) of what it carries: of pass after pass from the last, each
    begun with what all before it, done again, lead to: no memory grows with their number, but time with its square."""
    _, number, limit, *given = graph.nodes[i]
    f = graph.functions[number]
    n, at = len(f.outputs) - 1, [leaf(graph, j) for j in given]
    read, program = at[n + 1 :], pulled(f)

    def advance(state: tuple[tuple[Any, ...], Any]) -> tuple[tuple[tuple[Any, ...], Any], Any]:
        y, k = state
        made = graph.call(f, [*map(scalar, y), 0.0, *map(scalar, read)])
        return (tuple(like(graph, a, b) for a, b in zip(y, made, strict=False)), k + 1.0), ops.logical_not(ops.equal(made[n], 0.0))

    start = tuple(at[:n]), 0.0
    (_, passes), _ = while_loop(graph, advance, start, limit, ops.logical_not(ops.equal(at[n], 0.0)))

    def back(state: tuple[tuple[Any, ...], tuple[Any, ...], Any]) -> tuple[tuple[tuple[Any, ...], tuple[Any, ...], Any], Any]:
        a, of_read, done = state
        before = passes - 1.0 - done

        def again(s: tuple[tuple[Any, ...], Any]) -> tuple[tuple[tuple[Any, ...], Any], Any]:
            s, _ = advance(s)
            return s, s[1] >= before

        (y, _), _ = while_loop(graph, again, start, limit, before <= 0.0)
        made = graph.call(program, [*map(scalar, y), *map(scalar, read), *map(scalar, a)])
        earlier = tuple(like(graph, x, t) for x, t in zip(a, made, strict=False))
        total = tuple(like(graph, x, plus(graph, x, t)) for x, t in zip(of_read, made[n:], strict=True))
        return (earlier, total, done + 1.0), done + 1.0 >= passes

    begin = tuple(like(graph, x, nothing(graph, j) if w is None else w) for x, j, w in zip(at, given, weights, strict=False))
    zeros = tuple(like(graph, x, nothing(graph, j)) for x, j in zip(read, given[n + 1 :], strict=True))
    (first, of_read, _), _ = while_loop(graph, back, (begin, zeros, 0.0), limit, passes <= 0.0)
    return [scalar(first[k] if k < n else of_read[k - n - 1]) for k in wanted]


@functools.cache
def pulled(f: Program) -> Program:
    """Return the adjoints of what a body carries and reads, for those of what it returns: (carry, read, adjoints) -> (those of carry, of
    read)."""
    n, graph = len(f.outputs) - 1, Graph(RULES)
    kinds = [*f.given[:n], *f.given[n + 1 :]]
    x: list[Any] = [graph.input(k) for k in range(len(kinds) + n)]
    graph.tables |= {s.i: m for s, m in zip(x, [*kinds, *f.given[:n]], strict=True) if m}
    inputs, weights = x[: len(kinds)], x[len(kinds) :]
    y = [graph.index(s) for s in inlined(f, graph, [*inputs[:n], 0.0, *inputs[n:]])]
    adjoint: dict[int, Sparse] = {}
    for k, w in zip(y, weights, strict=False):
        adjoint[k] = added(graph, k, adjoint.get(k, {}), {0: w})
    arguments = [s.i for s in inputs]
    pull(graph, active(graph, y[:n], arguments), arguments, adjoint)
    found = [adjoint.get(s.i, {}).get(0) for s in inputs]
    results = [graph.index(nothing(graph, s.i) if a is None else a) for a, s in zip(found, inputs, strict=True)]
    nodes, outputs = live(graph.nodes, results)
    shapes = [table_shape(m) for m in kinds]
    return Program(nodes, outputs, [*shapes, *shapes[:n]], shapes, graph.functions, f"back_{f.name}")


def leaf(graph: Graph, i: int) -> Any:
    """Return a node as a number, or as a table."""
    m, x = columns_of(graph, i), value(graph, i)
    return Table(graph, x, (m,)) if m else x


def scalar(x: Any) -> Any:
    """Return a number, or a table's handle."""
    return x.handle if isinstance(x, Table) else x


def like(graph: Graph, x: Any, y: Any) -> Any:
    """Return a handle as a table, where something like it is one."""
    return Table(graph, y, x.row) if isinstance(x, Table) else y


def plus(graph: Graph, x: Any, y: Any) -> Any:
    """Return the sum of a number or table and a number or handle."""
    return sum_of(graph.call, x.row[0], x.handle, y) if isinstance(x, Table) else x + y


LOOPS |= {"tangents": loop_tangents, "adjoints": loop_adjoints}

__all__ = ["derivatives", "loop_adjoints", "loop_tangents"]
