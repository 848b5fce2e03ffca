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


def each_row(call: Call, m: int, tables: list[Any], make: Any, made: int = 0) -> Any:
    """A table of as many columns, or ``made``, of rows of tables of m columns each."""
    graph = Graph(RULES)
    x = [graph.input(j) for j in range(m * len(tables))]
    nodes, outputs = live(graph.nodes, [graph.index(v) for v in make(*(x[j * m : (j + 1) * m] for j in range(len(tables))))])
    f = Program(nodes, outputs, [()] * len(x), [()] * (made or m), graph.functions, "row")
    return call(RowLoop(f, [Source("rows", j * m, m) for j in range(len(tables))], 0, [Sink("rows", made or m)]), tables)[0]


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


class Backward:
    """The loop that makes the adjoints of what another is given, as it grows: its function is that one's, with further rows and numbers."""

    def __init__(self, loop: RowLoop, call: Call, inputs: list[Any]) -> None:
        self.loop, self.call, self.inputs, self.now, self.graph = loop, call, inputs, given(loop, inputs), Graph(RULES)
        self.x = given_inputs(self.graph, loop.f)
        self.y = [self.graph.index(v) for v in inlined(loop.f, self.graph, self.x)]
        self.sources, self.tables, self.index = list(loop.sources), list(self.now.tables), list(self.now.numbers)
        self.columns, self.numbers = list(range(loop.place)), list(range(loop.place, loop.f.n_in))      # of its inputs
        self.outside, self.adjoint = list(self.now.outside), dict[int, Sparse]()

    def input(self, m: int = 0) -> Expr:
        """A further input: a number, or a table of m columns."""
        w = self.graph.input(len(self.columns) + len(self.numbers))
        if m:
            self.graph.tables[w.i] = m
        return w

    def rows(self, table: Any, m: int, index: int = -1) -> list[Expr]:
        """The m columns of a further table, or of its rows through numbers."""
        self.sources.append(Source("rows" if index < 0 else "through", len(self.columns), m, index))
        self.tables.append(table)
        own = []
        for _ in range(m):
            own.append(self.input())
            self.columns.append(len(self.columns) + len(self.numbers))
        return own

    def number(self, x: Any, m: int = 0) -> Expr:
        """A further number from outside, or a table of m columns."""
        w = self.input(m)
        self.numbers.append(len(self.columns) + len(self.numbers))
        self.outside.append(x)
        return w

    def part(self, result: int) -> Any:
        """One of the function's results of each row, as a table."""
        loop = self.loop
        f = Program(*live(loop.f.nodes, [loop.f.outputs[result]]), loop.f.shapes_in, [()], loop.f.functions, loop.f.name)
        return self.call(RowLoop(f, loop.sources, loop.outside, [Sink("rows", 1)]), self.inputs[: loop.first + loop.outside])[0]

    def weigh(self, s: Sink, taken: range, own: list[Any]) -> None:
        """Give the function's results that a sink takes the weights of what it makes."""
        first = taken[0]
        if s.how == "rows":
            weights = self.rows(own[0], s.columns)
        elif s.how == "sum":
            weights = [self.number(w) for w in own]
        elif s.how == "chosen":
            first, weights = first + 1, self.rows(spread_out(self.call, self.part(first), s.columns, own[0]), s.columns)
        elif s.how == "tables":
            weights = [self.number(own[0], s.columns)]
        else:                                                                  # what was added is read where it was added
            for k in range(first, taken[-1] + 1, s.columns + 1):
                self.index.append(self.part(k))
                self.add(k + 1, self.rows(own[0], s.columns, len(self.index) - 1))
            return
        self.add(first, weights)

    def add(self, first: int, weights: list[Expr]) -> None:
        """Add weights to the adjoints of results, from the first on."""
        for k, w in enumerate(weights, first):
            self.adjoint[self.y[k]] = combined([(1.0, self.adjoint.get(self.y[k], {})), (1.0, {0: w})])

    def made(self, wanted: set[int]) -> dict[int, Any]:
        """The adjoints of the tables and numbers that are wanted."""
        loop, arguments = self.loop, [v.i for v in self.x]
        pull(self.graph, active(self.graph, sorted({*self.y}), arguments), arguments, self.adjoint)
        found = [self.adjoint.get(i, {}).get(0, 0.0) for i in arguments]
        sinks, outputs, targets, into = list[Sink](), list[Any](), list[Any](), list[int]()
        numbers: dict[int, Expr] = {}                                          # of rows, as rows of a table of their own
        for t, s in enumerate(loop.sources):
            own = found[s.place : s.place + s.columns]
            if t not in wanted or s.how == "numbers" or all(map(zero, own)):
                continue
            if s.how == "through":
                if s.index not in numbers:
                    numbers[s.index] = self.rows(self.now.numbers[s.index], 1)[0]
                outputs.append(numbers[s.index])
                targets.append(zeros_like(self.call, s.columns, self.now.tables[t]))
            sinks.append(Sink("added" if s.how == "through" else "rows", s.columns))
            outputs += own
            into.append(t)
        for j, w in enumerate(found[loop.place :]):
            if loop.first + j in wanted and not zero(w):
                m = loop.f.given[loop.place + j]
                targets += [zeros_like(self.call, m, self.now.outside[j])] if m else []
                sinks.append(Sink("tables", m) if m else Sink("sum", 1))
                outputs.append(w)
                into.append(loop.first + j)
        if not sinks:
            return {}
        of = [*self.columns, *self.numbers]
        shapes: list[Shape] = [table_shape(self.graph.tables.get(self.graph.node(("input", i)), 0)) for i in of]
        shapes_out = [table_shape(columns_of(self.graph, self.graph.index(v))) for v in outputs]
        f = Program(*renumbered(self.graph, outputs, of), shapes, shapes_out, self.graph.functions, f"back_{loop.f.name}")
        back = RowLoop(f, self.sources, len(self.outside), sinks)
        return dict(zip(into, self.call(back, [*self.tables, *self.index, *self.outside, *targets]), strict=True))


def adjoints(loop: RowLoop, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
    """The adjoints of what a loop is given, for weights of what it makes."""
    back, targets, found = Backward(loop, call, inputs), iter(range(loop.first + loop.outside, loop.n_in)), dict[int, Any]()
    for s, taken, made in results_of(loop):
        own, target = [weights[k] for k in made], next(targets) if s.adds else -1
        if not all(map(zero, own)):
            back.weigh(s, taken, own)
            found |= {target: own[0]} if s.adds else {}
    return found | back.made(wanted)


def spread_out(call: Call, truth: Any, m: int, weight: Any) -> Any:
    """Rows that were chosen by a truth, each where it was before; zero elsewhere."""
    none = each_row(call, 1, [truth], lambda x: [0.0] * m, made=m)
    both = Program([("input", 0), ("input", 1)], [0, 1], [()] * 2, [()] * 2, (), "row")
    where = call(RowLoop(both, [Source("rows", 0, 1), Source("numbers", 1, 1)], 0, [Sink("chosen", 1)]), [truth, truth])[0]
    same = Program([("input", k) for k in range(m + 1)], [*range(m + 1)], [()] * (m + 1), [()] * (m + 1), (), "row")
    return call(RowLoop(same, [Source("rows", 0, 1), Source("rows", 1, m)], 0, [Sink("added", m)]), [where, weight, none])[0]


TANGENTS[RowLoop], ADJOINTS[RowLoop], TABLES["sum"] = tangents, adjoints, sum_of

__all__ = ["derivatives", "zeros_like"]  # those of all programs, now that loops over rows have theirs
