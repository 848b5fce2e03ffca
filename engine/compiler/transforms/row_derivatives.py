"""Forward and reverse derivatives of loops over rows, as loops over rows.

Forward, each table that moves has a table of tangents beside it, a direction each. Backward, rows that were read through numbers are added
to at these numbers, what was added is read there, what is the same for all rows is a sum over them; a table that a loop within the loop
reads is a sum of tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.kernel import Call
from engine.compiler.graph.program import Program, Shape, live, table_shape
from engine.compiler.graph.rewrite import RULES, inlined
from engine.compiler.kernels.row_loop import RowLoop, zeros_like
from engine.compiler.kernels.row_sources_sinks import Sink, Source
from engine.compiler.transforms.autodiff import ADJOINTS, TANGENTS, active, derivatives, given_inputs, pull, push
from engine.compiler.transforms.bodies import columns_of
from engine.compiler.transforms.sparse import Sparse, combined, zero


class Given(NamedTuple):
    """Arguments of a loop."""

    tables: list[Any]
    numbers: list[Any]
    outside: list[Any]
    targets: list[Any]


def given(loop: RowLoop, inputs: list[Any]) -> Given:
    """Arguments of a loop, or their tangents."""
    n, first, last = len(loop.sources), loop.first, loop.first + loop.outside
    return Given(inputs[:n], inputs[n:first], inputs[first:last], inputs[last:])


def results_of(loop: RowLoop) -> list[tuple[Sink, range, range]]:
    """Return, for each sink, the range of the function's results that it takes, and that of the loop's results that it makes."""
    found, f, k = [], 0, 0
    for s in loop.sinks:
        found.append((s, range(f, f + s.results), range(k, k + len(s.shapes))))
        f, k = f + s.results, k + len(s.shapes)
    return found


class Extended:
    """A loop's function, in a graph, with further rows and numbers as inputs, and the loop that is made of it."""

    def __init__(self, loop: RowLoop, call: Call, inputs: list[Any]) -> None:
        self.loop, self.call, self.inputs, self.now, self.graph = loop, call, inputs, given(loop, inputs), Graph(RULES)
        self.x = given_inputs(self.graph, loop.f)
        self.y = [self.graph.index(v) for v in inlined(loop.f, self.graph, self.x)]
        self.sources, self.tables, self.index = list(loop.sources), list(self.now.tables), list(self.now.numbers)
        self.columns, self.numbers = list(range(loop.place)), list(range(loop.place, loop.f.n_in))      # of its inputs
        self.outside = list(self.now.outside)

    def input(self, m: int = 0) -> Expr:
        """Add an input: a number, or a table of m columns."""
        w = self.graph.input(len(self.columns) + len(self.numbers))
        if m:
            self.graph.tables[w.i] = m
        return w

    def rows(self, table: Any, m: int, index: int = -1) -> list[Expr]:
        """Add the m columns of a further table, or of its rows through numbers."""
        self.sources.append(Source("rows" if index < 0 else "through", len(self.columns), m, index))
        self.tables.append(table)
        own = []
        for _ in range(m):
            own.append(self.input())
            self.columns.append(len(self.columns) + len(self.numbers))
        return own

    def number(self, x: Any, m: int = 0) -> Expr:
        """Add a number from outside, or a table of m columns."""
        w = self.input(m)
        self.numbers.append(len(self.columns) + len(self.numbers))
        self.outside.append(x)
        return w

    def made(self, name: str, outputs: list[Any], sinks: Sequence[Sink], targets: list[Any]) -> list[Any]:
        """Return the results of the loop that puts these results in sinks."""
        number = {old: new for new, old in enumerate((*self.columns, *self.numbers))}
        shapes: list[Shape] = [table_shape(self.graph.tables.get(self.graph.input(i).i, 0)) for i in number]
        shapes_out = [table_shape(columns_of(self.graph, self.graph.index(v))) for v in outputs]
        nodes, wanted = live(self.graph.nodes, [self.graph.index(v) for v in outputs])
        nodes = [("input", number[node[1]]) if node[0] == "input" else node for node in nodes]
        f = Program(nodes, wanted, shapes, shapes_out, self.graph.functions, f"{name}_{self.loop.f.name}")
        loop = RowLoop(f, self.sources, len(self.outside), sinks)
        return self.call(loop, [*self.tables, *self.index, *self.outside, *targets])


# ------------------------------------------------------------ forward


def tangents(loop: RowLoop, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
    """Return the tangents of a loop's results along a direction, by a loop of the function's."""
    more, along = Extended(loop, call, inputs), given(loop, directions)
    tangent: dict[int, Sparse] = {}
    for s, d in zip(loop.sources, along.tables, strict=True):
        if s.how != "numbers" and not zero(d):
            own = more.x[s.place : s.place + s.columns]
            tangent |= {x.i: {0: t} for x, t in zip(own, more.rows(d, s.columns, s.index), strict=True)}
    for x, m, d in zip(more.x[loop.place :], loop.f.given[loop.place :], along.outside, strict=True):
        if not zero(d):
            tangent[x.i] = {0: more.number(d, m)}
    push(more.graph, active(more.graph, sorted({*more.y}), list(tangent)), tangent)
    y = [tangent.get(i, {}).get(0, 0.0) for i in more.y]
    for sink, taken, _ in results_of(loop):                                    # numbers of rows and truths do not move
        for k in taken[:: sink.columns + 1] if sink.how in ("added", "chosen") else ():
            y[k] = Expr(more.graph, more.y[k])
    adding = [s for s in loop.sinks if s.adds]
    targets = [zeros_like(call, s.columns, t) if zero(d) else d for s, t, d in zip(adding, more.now.targets, along.targets, strict=True)]
    return more.made("along", y, loop.sinks, targets)


# ------------------------------------------------------------ backward


class Backward(Extended):
    """Builds the loop that computes the adjoints of another's arguments."""

    def __init__(self, loop: RowLoop, call: Call, inputs: list[Any]) -> None:
        super().__init__(loop, call, inputs)
        self.adjoint: dict[int, Sparse] = {}

    def part(self, result: int) -> Any:
        """Return one of the function's results of each row, as a table."""
        loop = self.loop
        f = Program(*live(loop.f.nodes, [loop.f.outputs[result]]), loop.f.shapes_in, [()], loop.f.functions, loop.f.name)
        return self.call(RowLoop(f, loop.sources, loop.outside, [Sink("rows", 1)]), self.inputs[: loop.first + loop.outside])[0]

    def weigh(self, s: Sink, taken: range, own: list[Any]) -> None:
        """Seed the function's results that a sink takes with the adjoints of what it makes."""
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

    def found(self, wanted: set[int]) -> dict[int, Any]:
        """Return the adjoints of the tables and numbers that are wanted."""
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
        return dict(zip(into, self.made("back", outputs, sinks, targets), strict=True))


def adjoints(loop: RowLoop, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
    """Return the adjoints of a loop's arguments, for those of its results."""
    back, targets, found = Backward(loop, call, inputs), iter(range(loop.first + loop.outside, loop.n_in)), dict[int, Any]()
    for s, taken, made in results_of(loop):
        own, target = [weights[k] for k in made], next(targets) if s.adds else -1
        if not all(map(zero, own)):
            back.weigh(s, taken, own)
            found |= {target: own[0]} if s.adds else {}
    return found | back.found(wanted)


def spread_out(call: Call, truth: Any, m: int, weight: Any) -> Any:
    """Return rows that were chosen by a condition, each where it was before; zero elsewhere."""
    none = zeros_like(call, 1, truth, m)
    both = Program([("input", 0), ("input", 1)], [0, 1], [()] * 2, [()] * 2, (), "row")
    where = call(RowLoop(both, [Source("rows", 0, 1), Source("numbers", 1, 1)], 0, [Sink("chosen", 1)]), [truth, truth])[0]
    same = Program([("input", k) for k in range(m + 1)], [*range(m + 1)], [()] * (m + 1), [()] * (m + 1), (), "row")
    return call(RowLoop(same, [Source("rows", 0, 1), Source("rows", 1, m)], 0, [Sink("added", m)]), [where, weight, none])[0]


TANGENTS[RowLoop], ADJOINTS[RowLoop] = tangents, adjoints

__all__ = ["derivatives"]  # those of all programs, now that loops over rows have theirs
