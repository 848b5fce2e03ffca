"""Derivatives of loops over rows: loops too, of a function's tangents, or of the adjoints of what it reads.

Forward, each table that moves has a table of tangents beside it, a direction each. Backward, rows that were read through numbers are added
to at these numbers, what was added is read there, what is the same for all rows is a sum over them; a table that a loop within the loop
reads is a sum of tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.compiler.autodiff import (
    ADJOINTS,
    TABLES,
    TANGENTS,
    Sparse,
    active,
    combined,
    derivatives,
    given_inputs,
    pull,
    pushed_through,
    zero,
)
from engine.compiler.bodies import columns_of
from engine.compiler.expr import Expr, Graph
from engine.compiler.kernels import Call
from engine.compiler.program import Program, Shape, live, table_shape
from engine.compiler.rewrite import RULES, inlined
from engine.compiler.row_ends import Sink, Source
from engine.compiler.row_loop import RowLoop


class Given(NamedTuple):
    """What a loop is given."""

    tables: list[Any]
    numbers: list[Any]
    outside: list[Any]
    targets: list[Any]


def given(loop: RowLoop, inputs: list[Any]) -> Given:
    """What a loop is given, or its tangents."""
    n, first, last = len(loop.sources), loop.first, loop.first + loop.outside
    return Given(inputs[:n], inputs[n:first], inputs[first:last], inputs[last:])


def each_row(call: Call, m: int, tables: list[Any], make: Any, outside: tuple[Any, ...] = ()) -> Any:
    """A table of m columns, made of rows of tables of m columns each, and of numbers."""
    graph, k = Graph(RULES), m * len(tables)
    x = [graph.input(j) for j in range(k + len(outside))]
    y = make(*(x[j * m : (j + 1) * m] for j in range(len(tables))), *x[k:])
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in y])
    f = Program(nodes, outputs, [()] * len(x), [()] * m, graph.functions, "row")
    return call(RowLoop(f, [Source("rows", j * m, m) for j in range(len(tables))], len(outside), [Sink("rows", m)]), [*tables, *outside])[0]


def zeros_like(call: Call, m: int, table: Any) -> Any:
    """A table of zeros, of as many rows as another."""
    return each_row(call, m, [table], lambda x: [0.0] * m)


def sum_of(call: Call, m: int, a: Any, b: Any) -> Any:
    """The sum of two tables."""
    return each_row(call, m, [a, b], lambda x, y: [p + q for p, q in zip(x, y, strict=True)])


def results_of(loop: RowLoop) -> list[tuple[Sink, range, range]]:
    """Of each sink, which of the function's results it takes, and which of the loop's it makes."""
    found, f, k = [], 0, 0
    for s in loop.sinks:
        found.append((s, range(f, f + s.results), range(k, k + len(s.shapes))))
        f, k = f + s.results, k + len(s.shapes)
    return found


# ------------------------------------------------------------ forward


def tangents(loop: RowLoop, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
    """The tangents of what a loop makes, along a direction: a loop of the function's."""
    now, along = given(loop, inputs), given(loop, directions)
    pattern: list[tuple[int, ...]] = [()] * loop.f.n_in
    for s, d in zip(loop.sources, along.tables, strict=True):
        if s.how != "numbers" and not zero(d):
            pattern[s.place : s.place + s.columns] = [(0,)] * s.columns
    for j, d in enumerate(along.outside):
        if not zero(d):
            pattern[loop.place + j] = (0,)
    pushed, entries = pushed_through(loop.f, tuple(pattern))
    graph = Graph(RULES)
    x = given_inputs(graph, pushed)
    own, moved = inlined(loop.f, graph, x[: loop.f.n_in]), dict(zip((k for k, _ in entries), inlined(pushed, graph, x), strict=True))
    y = [moved.get(k, 0.0) for k in range(len(own))]
    for sink, taken, _ in results_of(loop):                                    # numbers of rows and truths do not move
        for j in range(sink.several if sink.how in ("added", "chosen") else 0):
            y[taken[j * (sink.columns + 1)]] = own[taken[j * (sink.columns + 1)]]
    more = [(s, t) for s, t in zip(loop.sources, along.tables, strict=True) if s.how != "numbers" and not zero(t)]
    # inputs of the new function: columns of sources, of their tangents, what is outside, and its tangents
    of, k = list(range(loop.place)), loop.place
    sources = list(loop.sources)
    place = {j: loop.f.n_in + i for i, j in enumerate(j for j, ways in enumerate(pattern) if ways)}
    for s, _ in more:
        sources.append(Source(s.how, k, s.columns, s.index))
        of += [place[s.place + c] for c in range(s.columns)]
        k += s.columns
    outside = [*range(loop.outside)]
    moving = [j for j in outside if pattern[loop.place + j]]
    of += [*(loop.place + j for j in outside), *(place[loop.place + j] for j in moving)]
    f = Program(*renumbered(graph, y, of), [pushed.shapes_in[i] for i in of], loop.f.shapes_out, graph.functions, f"along_{loop.f.name}")
    targets = []
    for t, d, sink in zip(now.targets, along.targets, [s for s in loop.sinks if s.adds], strict=True):
        targets.append(zeros_like(call, sink.columns, t) if zero(d) else d)
    made = RowLoop(f, sources, loop.outside + len(moving), loop.sinks)
    return call(made, [*now.tables, *(t for _, t in more), *now.numbers, *now.outside, *(along.outside[j] for j in moving), *targets])


def renumbered(graph: Graph, y: list[Any], of: list[int]) -> tuple[list[Any], list[int]]:
    """Nodes and outputs of a graph whose inputs are numbered anew: the first is what was input of[0]."""
    number = {old: new for new, old in enumerate(of)}
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in y])
    return [("input", number[node[1]]) if node[0] == "input" else node for node in nodes], outputs


# ------------------------------------------------------------ backward


def adjoints(loop: RowLoop, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
    """The adjoints of what a loop is given, for weights of what it makes."""
    now, graph = given(loop, inputs), Graph(RULES)
    x = given_inputs(graph, loop.f)
    y = [graph.index(v) for v in inlined(loop.f, graph, x)]
    # the weights of the function's results are further inputs: of tables, or the same for all rows
    tables, index, numbers, found = list[tuple[str, int, Any, int]](), list(now.numbers), list[Any](), dict[int, Any]()
    adjoint: dict[int, Sparse] = {}
    fresh: list[tuple[Expr, int, int]] = []                                    # input, which table or number it is of, and its column

    def weighted(results: range, columns: int, kind: int, which: int) -> None:
        for c, k in enumerate(results):
            w = graph.input(loop.f.n_in + len(fresh))
            fresh.append((w, which if kind == TABLE else -1 - which, c))
            adjoint[y[k]] = combined([(1.0, adjoint.get(y[k], {})), (1.0, {0: w})])

    TABLE, NUMBER = 0, 1
    targets = iter(range(loop.first + loop.outside, loop.n_in))
    for s, taken, made in results_of(loop):
        own = [weights[k] for k in made]
        if s.how in ("added", "tables"):
            target = next(targets)
            if not zero(own[0]):
                found[target] = own[0]
        if all(map(zero, own)):
            continue
        if s.how == "rows":
            tables.append(("rows", s.columns, own[0], -1))
            weighted(taken, s.columns, TABLE, len(tables) - 1)
        elif s.how == "sum":
            for c, w in enumerate(own):
                numbers.append(w)
                weighted(range(taken[c], taken[c] + 1), 1, NUMBER, len(numbers) - 1)
        elif s.how == "added":
            for j in range(s.several):
                first = taken[j * (s.columns + 1)]
                index.append(call(part_of(loop, [first]), part_inputs(loop, inputs))[0])
                tables.append(("through", s.columns, own[0], len(index) - 1))
                weighted(range(first + 1, first + 1 + s.columns), s.columns, TABLE, len(tables) - 1)
        elif s.how == "chosen":
            tables.append(("rows", s.columns, spread_out(loop, call, inputs, taken, s.columns, own[0]), -1))
            weighted(taken[1:], s.columns, TABLE, len(tables) - 1)
        else:
            numbers.append(own[0])
            w = graph.input(loop.f.n_in + len(fresh))
            graph.tables[w.i] = s.columns
            fresh.append((w, -len(numbers), 0))
            adjoint[y[taken[0]]] = {0: w}
    arguments = [v.i for v in x]
    pull(graph, active(graph, sorted({*y}), arguments), arguments, adjoint)
    return found | backward(loop, call, now, wanted, graph, arguments, adjoint, fresh, tables, index, numbers)


def backward(loop: RowLoop, call: Call, now: Given, wanted: set[int], graph: Graph, arguments: list[int], adjoint: dict[int, Sparse],
             fresh: list[tuple[Expr, int, int]], tables: list[tuple[str, int, Any, int]], index: list[Any],
             numbers: list[Any]) -> dict[int, Any]:  # fmt: skip
    """The loop that makes the adjoints, and what comes of it."""
    sinks, outputs, targets, into = list[Sink](), list[Any](), list[Any](), list[int]()

    def result(k: int) -> Any:
        return adjoint.get(arguments[k], {}).get(0, 0.0)

    for t, s in enumerate(loop.sources):
        own = [result(s.place + c) for c in range(s.columns)]
        if t not in wanted or s.how == "numbers" or all(map(zero, own)):
            continue
        if s.how == "rows":
            sinks.append(Sink("rows", s.columns))
            outputs += own
        else:
            sinks.append(Sink("added", s.columns))
            outputs += [None, *own]                                            # the number, which is read too
            targets.append(zeros_like(call, s.columns, now.tables[t]))
        into.append(t)
    for j in range(loop.outside):
        own = result(loop.place + j)
        if loop.first + j not in wanted or zero(own):
            continue
        m = loop.f.given[loop.place + j]
        sinks.append(Sink("tables", m) if m else Sink("sum", 1))
        outputs.append(own)
        if m:
            targets.append(zeros_like(call, m, now.outside[j]))
        into.append(loop.first + j)
    if not sinks:
        return {}
    sources, of, k = list(loop.sources), list(range(loop.place)), loop.place
    for t, (how, m, _, i) in enumerate(tables):
        sources.append(Source(how, k, m, i))
        of += [w.g.nodes[w.i][1] for w, which, _ in fresh if which == t]
        k += m
    through = iter(s for s in loop.sources if s.how == "through" and loop.sources.index(s) in into)
    places: dict[int, int] = {}
    for position, y in enumerate(outputs):
        if y is None:                                                          # numbers of rows as rows of a table of their own
            i = next(through).index
            if i not in places:
                w = graph.input(10**9 + i)
                sources.append(Source("rows", k, 1))
                of.append(10**9 + i)
                places[i] = w.i
                k += 1
            outputs[position] = Expr(graph, places[i])
    of += [*range(loop.place, loop.f.n_in), *(w.g.nodes[w.i][1] for w, which, _ in fresh if which < 0)]
    shapes: list[Shape] = [table_shape(graph.tables.get(graph.node(("input", i)), 0)) for i in of]
    made_shapes = [table_shape(columns_of(graph, graph.index(y))) for y in outputs]
    f = Program(*renumbered(graph, outputs, of), shapes, made_shapes, graph.functions, f"back_{loop.f.name}")
    back = RowLoop(f, sources, loop.outside + len(numbers), sinks)
    given_tables = [*now.tables, *(t for _, _, t, _ in tables), *(index[i] for i in places)]
    made = iter(call(back, [*given_tables, *index, *now.outside, *numbers, *targets]))
    return {i: next(made) for i in into}


def part_of(loop: RowLoop, results: list[int]) -> RowLoop:
    """The loop that makes a table of some of the function's results."""
    nodes, outputs = live(loop.f.nodes, [loop.f.outputs[k] for k in results])
    f = Program(nodes, outputs, loop.f.shapes_in, [()] * len(results), loop.f.functions, loop.f.name)
    return RowLoop(f, loop.sources, loop.outside, [Sink("rows", len(results))])


def part_inputs(loop: RowLoop, inputs: list[Any]) -> list[Any]:
    """What that is given."""
    return inputs[: loop.first + loop.outside]


def spread_out(loop: RowLoop, call: Call, inputs: list[Any], taken: range, m: int, weight: Any) -> Any:
    """Rows that were chosen, each where it was before; zero elsewhere."""
    truth = call(part_of(loop, [taken[0]]), part_inputs(loop, inputs))[0]
    copy = Program([("input", 0), ("input", 1)], [0, 1], [()] * 2, [()] * 2, (), "row")
    where = call(RowLoop(copy, [Source("rows", 0, 1), Source("numbers", 1, 1)], 0, [Sink("chosen", 1)]), [truth, truth])[0]
    none = call(RowLoop(Program([("const", 0.0, "0.0")], [0] * m, [()], [()] * m, (), "row"), [Source("rows", 0, 1)], 0,
                        [Sink("rows", m)]), [truth])[0]  # fmt: skip
    same = Program([("input", k) for k in range(m + 1)], [*range(m + 1)], [()] * (m + 1), [()] * (m + 1), (), "row")
    return call(RowLoop(same, [Source("rows", 0, 1), Source("rows", 1, m)], 0, [Sink("added", m)]), [where, weight, none])[0]


TANGENTS[RowLoop], ADJOINTS[RowLoop], TABLES["sum"] = tangents, adjoints, sum_of

__all__ = ["derivatives", "zeros_like"]  # those of all programs, now that loops over rows have theirs
