"""``RowLoop``: a program run on each row of tables, with W rows in the lanes of vectors.

Inputs: for each source a table; tables of numbers of rows; numbers (and tables) from outside, the same for all rows; for each sink that
adds to a table, that table. Results: for each sink a table, or the numbers of a sum. Rows are taken W at a time, several times W where the
function is one of numbers alone; what is missing of the last ones is the last row again, and what comes of that is dropped. What a sum or a
table is added up from comes in the order of rows, so that bits do not depend on W.

Within another loop, whose rows stand in the lanes already, rows of a table that all lanes read are taken one by one.
Its LLVM IR: :mod:`engine.compiler.kernels.row_loop_code`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError
from engine.compiler.graph.interpreter import run as run_program
from engine.compiler.graph.kernel import Call, Kernel
from engine.compiler.graph.operations import Node
from engine.compiler.graph.program import COUNTED, Program
from engine.compiler.kernels.row_loop_code import RowsInLanes, samples_in_lanes
from engine.compiler.kernels.row_sources_sinks import Sink, Source
from engine.ops.tables import common_count, indices_of_rows

Array = np.ndarray


class RowLoop(Kernel):
    """``f`` of each row of the sources, and of so many numbers from outside, whose results go to the sinks."""

    where = ""  # the user's line, as errors begin

    def __init__(self, f: Program, sources: Sequence[Source], outside: int, sinks: Sequence[Sink]) -> None:
        self.f, self.sources, self.outside, self.sinks = f, tuple(sources), outside, tuple(sinks)
        self.place = f.n_in - outside                                          # of what comes from outside, among f's inputs
        self.indices = 1 + max((s.index for s in self.sources), default=-1)
        read = [*(s.shape for s in self.sources), *[(COUNTED, 1)] * self.indices]
        captured = f.shapes_in[self.place :]
        targets = [(COUNTED, s.columns) for s in self.sinks if s.adds]
        made = [shape for s in self.sinks for shape in s.shapes]
        super().__init__(len(read) + outside + len(targets), len(made), "row_loop")
        self.shapes_in, self.shapes_out = [*read, *captured, *targets], made
        self.first = len(read)                                                 # of what comes from outside, among the inputs
        self.spec = [*map(astuple, self.sources), *map(astuple, self.sinks)]
        self.name = f"rows of {f.name}"
        self.digest = hashlib.sha256(repr(("row_loop", self.spec, outside, f.key)).encode()).hexdigest()

    @property
    def frame(self) -> Any:
        """The part of the key that is not of the row's function."""
        return "row_loop", self.spec, self.outside

    @property
    def tabled(self) -> bool:  # type: ignore[override]
        """True if the loop allocates memory, or reads rows by their numbers."""
        return self.f.tabled or self.takes or any(s.how == "through" for s in self.sources)

    @property
    def takes(self) -> bool:
        """True if the loop allocates memory."""
        return self.f.takes or any(s.how != "sum" for s in self.sinks)

    @property
    def single(self) -> bool:
        """True if the loop cannot run within lanes, as a sum over rows can."""
        return self.f.single or self.takes or any(s.how == "through" for s in self.sources)

    @property
    def within(self) -> tuple[Program, ...]:
        """The program of a row."""
        return (self.f,)

    def count(self) -> int:
        """Operations of one row."""
        return self.f.count()

    # ------------------------------------------------------------ on floats

    def run(self, inputs: list[Any]) -> list[Any]:
        """Run all rows at once on floats, or one after another where there are tables from outside."""
        try:
            return self.results_of(inputs)
        except (IndexError, EngineError) as error:
            raise type(error)(f"{self.where}{error}" if str(error).startswith(("row", "tables of")) else str(error)) from None

    def results_of(self, inputs: list[Any]) -> list[Any]:
        n, index = self.rows(inputs), inputs[len(self.sources) : self.first]
        given: list[Any] = [None] * self.f.n_in
        for s, x in zip(self.sources, inputs, strict=False):
            if s.how == "through":
                x = x[indices_of_rows(index[s.index][:, 0], len(x))]
            given[s.place : s.place + s.columns] = [np.arange(float(n))] if s.how == "numbers" else list(x.T)
        given[self.place :] = inputs[self.first : self.first + self.outside]
        with np.errstate(all="ignore"):
            results = self.results(given, n)
        targets = iter(inputs[self.first + self.outside :])
        made: list[Any] = []
        for sink in self.sinks:
            own, results = results[: sink.results], results[sink.results :]
            made += sunk(sink, own, next(targets) if sink.adds else None)
        return made

    def rows(self, inputs: list[Any]) -> int:
        """Return the loop's number of rows, on floats."""
        return common_count([len(inputs[k if s.index < 0 else len(self.sources) + s.index]) for k, s in enumerate(self.sources)])

    def results(self, given: list[Any], n: int) -> list[Any]:
        """The function's results (n) each, or n tables."""
        if any(m for m in self.f.given):
            each = [run_program(self.f, [x[r] for x in given[: self.place]] + given[self.place :]) for r in range(n)]
            return [[y[k] for y in each] if m else np.array([float(y[k]) for y in each]) for k, m in enumerate(self.f.made)]
        return [np.broadcast_to(np.asarray(y, dtype=float), (n,)) for y in run_program(self.f, given)]

    # ------------------------------------------------------------ machine code

    def emit(self, module: Any, name: str) -> int:
        """Write its IR into a module; how much work it needs."""
        return samples_in_lanes(self, module, name) if module.width > 1 else RowsInLanes(self, module, name).emit()


def sunk(s: Sink, results: list[Any], target: Any) -> list[Any]:
    """Return a sink's results of a function's results, (n) each or tables, on floats."""
    if s.how == "tables":
        return [sum(results[0], target)]
    y: Array = np.stack(results, axis=-1)
    if s.how == "sum":
        return list(ops.total(y))
    if s.how == "chosen":
        return [y[y[:, 0] != 0.0, 1:]]
    if target is None:
        return [y]
    own = y.reshape(len(y), s.several, s.columns + 1)
    return [ops.add_at(target, tuple(own[:, k, 0] for k in range(s.several)), tuple(own[:, k, 1:] for k in range(s.several)))]


def rows_alike(tables: int, m: int, nodes: list[Node], outputs: list[int]) -> RowLoop:
    """A loop over tables of m columns each, by nodes whose first are the columns, one table's after another's."""
    n = tables * m
    f = Program([*(("input", k) for k in range(n)), *nodes], outputs, [()] * n, [()] * len(outputs), (), "row")
    return RowLoop(f, [Source("rows", j * m, m) for j in range(tables)], 0, [Sink("rows", len(outputs))])


def zeros_like(call: Call, m: int, table: Any, columns: int = 0) -> Any:
    """A table of zeros, of as many rows as another of m columns, and as many columns, or ``columns``."""
    return call(rows_alike(1, m, [("const", 0.0, "0.0")], [m] * (columns or m)), [table])[0]


def sum_of(call: Call, m: int, a: Any, b: Any) -> Any:
    """The sum of two tables of m columns."""
    return call(rows_alike(2, m, [("add", k, m + k) for k in range(m)], [*range(2 * m, 3 * m)]), [a, b])[0]
