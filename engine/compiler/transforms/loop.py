"""While-loops and branches on traced values: a body traced once, run by machine code until every lane is done.

A ``loop`` node holds the body as a program ``(carry, done, captured) -> (carry, done)``. What the body reads from outside, and whatever
it computes that does not change from pass to pass, is captured: computed once, before the loop. A loop of one pass at most is a condition:
it keeps all that it computes within, where it is not taken nothing is computed, and derivatives pass through it. A lane that is done
keeps its carry, so its result does not depend on how long the others take. Tables are carried as their handles.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.program import Shape, columns, is_table, of_rows, size
from engine.compiler.transforms.bodies import extracted, scope_of
from engine.compiler.transforms.parts import body_in_parts
from engine.compiler.transforms.table import Table, as_table, given, shape_of
from engine.ops.structure import alike, structure


def while_loop(graph: Graph, advance: Callable[[Any], tuple[Any, Any]], x: Any, limit: int, finished: Any) -> tuple[Any, Any]:
    """``x, done = advance(x)`` until done, at most ``limit`` times, as one node of the graph."""
    leaves, built = structure(x)
    parts = [given(graph, leaf, isinstance(leaf, Table)) for leaf in leaves]
    shapes, start = [shape for _, shape in parts], len(graph.nodes)
    carry, done = carried(graph, start, shapes), done_before(graph, start)
    with idle_where(graph, done):
        after, now = advance(built(arrays(graph, carry, shapes)))
    word = "branch" if limit == 1 else "loop"
    if isinstance(now, Table) or np.shape(now) != ():
        raise graph.refuse(f"a {word} that says by {said(shape_of(now))} whether it is done",
                           "expected one truth, such as engine.ops.total(…) == 0.0")  # fmt: skip
    ended = like(graph, x, after)
    if any(map(becomes_table, leaves, ended)):
        graph.forget(start)
        return while_loop(graph, advance, built(as_ended(graph, leaves, ended)), limit, finished)
    final = closed(graph, start, [*carry, done], parts, ended, now, int(limit), finished, scope_of(advance))
    return built(arrays(graph, final, shapes)), ops.logical_not(ops.equal(final[-1], 0.0))


def branch(graph: Graph, fn: Callable[[], Any], otherwise: Any, otherwise_holds: Any) -> Any:
    """``fn()``, or ``otherwise`` where that holds, as one node of the graph: a loop of one pass at most, which reads nothing it carries."""
    start, (leaves, built) = len(graph.nodes), structure(otherwise)
    done = done_before(graph, start)
    with idle_where(graph, done):
        ended = like(graph, otherwise, fn())
    parts = [given(graph, leaf, isinstance(leaf, Table)) for leaf in as_ended(graph, leaves, ended)]
    shapes = [shape for _, shape in parts]
    final = closed(graph, start, [*carried(graph, start, shapes), done], parts, ended, True, 1, otherwise_holds, scope_of(fn))
    return built(arrays(graph, final, shapes))


def carried(graph: Graph, start: int, shapes: list[Shape]) -> list[Expr]:
    """Return the inputs of a body whose nodes begin at ``start``: numbers of arrays, and handles of tables."""
    wide = columns(shapes)
    carry = [Expr(graph, graph.node(("carry", start, k))) for k in range(len(wide))]
    graph.tables.update({x.i: m for x, m in zip(carry, wide, strict=True) if m})
    return carry


def done_before(graph: Graph, start: int) -> Expr:
    """Return, as a number, whether the loop had ended before this pass of a body whose nodes begin at ``start``."""
    return Expr(graph, graph.node(("carry", start, -1)))


@contextlib.contextmanager
def idle_where(graph: Graph, done: Expr) -> Iterator[None]:
    """Context in which lanes whose loop is ``done`` are idle: in a loop over rows others may go on."""
    outer = graph.idle
    if graph.in_rows:
        holds = ops.logical_not(ops.equal(done, 0.0))
        graph.idle = holds if outer is None else ops.logical_or(outer, holds)
    try:
        yield
    finally:
        graph.idle = outer


def like(graph: Graph, x: Any, after: Any) -> list[Any]:
    """Return a body's results in the structure of its initial values."""
    try:
        return alike(x, after)
    except EngineError as error:
        what, expected = str(error).split("; ")
        raise graph.refuse(what, expected) from None


def closed(graph: Graph, start: int, carry: list[Expr], begun: list[tuple[list[Any], Shape]], ended: list[Any], now: Any, limit: int,
           finished: Any, name: str) -> list[Expr]:  # fmt: skip
    """Make the node of a loop whose body begins at ``start``. The body is given ``carry``, the carried values and whether the loop is done,
    which begin as ``begun``; it returns what has ``ended``, and whether it is done ``now``."""
    n, shapes, first = len(carry) - 1, [shape for _, shape in begun], [graph.index(y) for own, _ in begun for y in own]
    done = ops.logical_not(ops.equal(carry[n], 0.0))
    results = [given(graph, leaf, as_rows) for leaf, as_rows in as_begun(ended, shapes)]
    for (_, ends), begins in zip(results, shapes, strict=True):
        if ends != begins:
            raise graph.refuse(f"a {'branch' if limit == 1 else 'loop'} that begins with {said(begins)} and returns {said(ends)}",
                               "expected the same shape: begin with an array of it, or a number for each")  # fmt: skip
    each = ((shape, c, y) for (own, shape), old in zip(results, divided(carry, shapes), strict=True) for c, y in zip(old, own, strict=True))
    flat = [y if is_table(shape) else ops.where(done, c, y) for shape, c, y in each]    # one sample's loop has ended when it is done
    outputs = [graph.index(r) for r in (*flat, ops.logical_or(done, now))]
    if limit == 1:                                              # what is within is not found again, from outside or the next time
        graph.forget(start)
    body, captured = extracted(graph, start, carry, outputs, limit == 1, name)
    body = body_in_parts(graph, body)
    begin = [Expr(graph, i) for i in (*map(graph.number, first), *captured)]
    return graph.call(body, [*begin[:n], ops.where(finished, 1.0, 0.0), *begin[n:]], "loop", limit)


def as_ended(graph: Graph, leaves: list[Any], ended: list[Any]) -> list[Any]:
    """Return a loop's initial values, as tables where its body returns tables of such rows."""
    return [as_table(graph, x) if becomes_table(x, y) else x for x, y in zip(leaves, ended, strict=True)]


def as_begun(leaves: list[Any], shapes: list[Shape]) -> list[tuple[Any, bool]]:
    """Return a body's results, and whether each is a table: one of a known number of rows is, if the loop began with a table."""
    begun = [*shapes, *[()] * len(leaves)]
    counted = [isinstance(x, Table) and x.count is None for x in leaves]
    return [(x, c or (is_table(s) and row_of(x) == s[1:])) for x, c, s in zip(leaves, counted, begun, strict=False)]


def becomes_table(begun: Any, ended: Any) -> bool:
    """Return whether a loop begins with an array of a known number of rows, and goes on with a table of such rows."""
    return not isinstance(begun, Table) and isinstance(ended, Table) and ended.count is None and row_of(begun) == ended.row


def row_of(x: Any) -> tuple[int, ...] | None:
    """Return the shape of a row of a table or an array; () of a number."""
    return x.row if isinstance(x, Table) else np.shape(x)[1:] if np.ndim(x) else None


def divided(scalars: list[Expr], shapes: list[Shape]) -> list[list[Expr]]:
    """Divide scalars among shapes."""
    rest = iter(scalars)
    return [[next(rest) for _ in range(size(s))] for s in shapes]


def arrays(graph: Graph, scalars: list[Expr], shapes: list[Shape]) -> list[Any]:
    """Return scalars as arrays and tables."""
    found: list[Any] = []
    for own, shape in zip(divided(scalars, shapes), shapes, strict=True):
        if is_table(shape):
            found.append(Table(graph, own[0], shape[1:]))
        else:
            found.append(np.array(own, dtype=object).reshape(shape)[()])
    return found


def said(shape: Shape) -> str:
    """Return a shape in words."""
    if is_table(shape):
        return f"a table {of_rows(shape[1:])}"
    return f"an array of the shape {shape}" if shape else "one number"
