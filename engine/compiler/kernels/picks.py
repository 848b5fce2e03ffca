"""A row of a table by its number: a load, alone or in the lanes of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Call, Kernel, is_zero, over_groups
from engine.compiler.graph.program import COUNTED, Program
from engine.compiler.graph.vecmath import literal, splat
from engine.compiler.kernels.arena import NO_ROW, TableWriter
from engine.compiler.kernels.row_loop import RowLoop, zeros_like
from engine.compiler.kernels.row_sources_sinks import Sink, Source
from engine.compiler.kernels.stacks import Stack
from engine.ops.tables import indices_of_rows

#: the number of a row that nobody asks for, of a lane whose loop has ended: one that nobody computes by chance
IDLE = -float(np.finfo(float).max)


class Pick(Kernel):
    """The m columns of the row of a table with a number; NaN where there is no such row, which the arena's state then says.

    ``in_lanes`` says that lanes whose loop has ended ask for IDLE: such a one may stand in the function of a row.
    """

    tabled, takes = True, False                                                # for the state alone
    where = ""  # the user's line, as errors begin

    def __init__(self, m: int, in_lanes: bool) -> None:
        self.m, self.in_lanes = m, in_lanes
        super().__init__(2, m, f"pick_{m}{'_in_lanes' * in_lanes}")
        self.shapes_in = [(COUNTED, m), ()]

    @property
    def single(self) -> bool:
        """True if the kernel has no code for several samples in lanes."""
        return not self.in_lanes

    def run(self, inputs: list[Any]) -> list[Any]:
        rows, k = inputs[0], np.asarray(inputs[1], dtype=float)
        idle = k == IDLE
        if idle.all():
            return [np.full(k.shape, np.nan)[()]] * self.m
        try:
            found = rows[indices_of_rows(np.where(idle, k[~idle].flat[0], k), len(rows))]
        except IndexError as error:
            raise IndexError(f"{self.where}{error}") from None
        return [np.where(idle, np.nan, found[..., c])[()] for c in range(self.m)]

    def emit(self, module: Any, name: str) -> None:
        """Write the code: one load where all lanes ask for the same row, else lane after lane."""
        w, W = TableWriter([]), module.width
        x = w.element("%in.g", W, "double")
        if W == 1:
            self.look(w, "", "%in.g", x, "done", W)
            module.text.append(over_groups(name, w.lines))
            return
        same = "true"
        for at, kind in (("%in.g", "i64"), (w.byte("%in.g", 8 * W), "double")):
            V = f"<{W} x {kind}>"
            v = w.put(f"load {V}, ptr {at}")
            first = w.spread(w.put(f"extractelement {V} {v}, i64 0"), W, kind)
            equal = w.put(f"{'icmp eq' if kind == 'i64' else 'fcmp oeq'} {V} {v}, {first}")
            bits = w.put(f"bitcast <{W} x i1> {equal} to i{W}")
            same = w.put(f"and i1 {same}, {w.put(f'icmp eq i{W} {bits}, -1')}")
        w.lines += [f"  br i1 {same}, label %all, label %each", "all:"]
        self.look(w, "all", "%in.g", x, "done", W)
        w.lines += ["each:", "  br label %lane", "lane:", "  %l = phi i64 [0, %each], [%l.next, %looked]"]
        at = w.byte("%in.g", w.product("%l", 8))
        self.look(w, "one", at, w.element(at, W, "double"), "looked", W, w.byte("%out.g", w.product("%l", 8)))
        w.lines += ["looked:", "  %l.next = add i64 %l, 1", f"  %l.more = icmp slt i64 %l.next, {W}",
                    "  br i1 %l.more, label %lane, label %done"]  # fmt: skip
        module.text.append(over_groups(name, w.lines))

    def look(self, w: TableWriter, label: str, handle: str, x: str, done: str, W: int, lane: str = "") -> None:
        """Read the row of number x, in all lanes, or in the one whose results begin at ``lane``."""
        put, d = w.put, w.element(handle, 0, "ptr")
        n = w.element(d, 0)
        top = put(f"sitofp i64 {n} to double")
        inside = put(f"and i1 {put(f'fcmp oge double {x}, {literal(0.0)}')}, {put(f'fcmp olt double {x}, {top}')}")
        w.lines += [f"  br i1 {inside}, label %{label}inside, label %{label}none", f"{label}inside:"]
        i = put(f"fptosi double {x} to i64")
        whole = put(f"fcmp oeq double {put(f'sitofp i64 {i} to double')}, {x}")
        w.lines += [f"  br i1 {whole}, label %{label}row, label %{label}none", f"{label}row:"]
        row = w.byte(w.element(d, 1, "ptr"), w.product(i, 8 * self.m))
        self.stored(w, [put(f"load double, ptr {w.byte(row, 8 * c)}") for c in range(self.m)], W, lane)
        w.lines += [f"  br label %{done}", f"{label}none:"]
        self.stored(w, [literal(float("nan"))] * self.m, W, lane)
        w.mark(w.element("%work", 0, "ptr"), NO_ROW, put(f"fcmp une double {x}, {literal(IDLE)}"))
        w.lines.append(f"  br label %{done}")

    @staticmethod
    def stored(w: TableWriter, values: list[str], W: int, lane: str) -> None:
        """Store the columns, in all lanes or in one."""
        for c, value in enumerate(values):
            if lane:
                w.lines.append(f"  store double {value}, ptr {w.byte(lane, 8 * W * c)}")
            else:
                D = f"<{W} x double>" if W > 1 else "double"
                w.lines.append(f"  store {D} {w.spread(value, W)}, ptr {w.byte('%out.g', 8 * W * c)}")

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] * self.m if is_zero(directions[0]) else call(self, [directions[0], inputs[1]])

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        if 0 not in wanted or all(map(is_zero, weights)):
            return {}
        m = self.m
        both = Program([("input", k) for k in range(m + 1)], [*range(m + 1)], [()] * (m + 1), [()] * (m + 1), (), "row")
        add = RowLoop(both, [Source("rows", 0, 1), Source("rows", 1, m)], 0, [Sink("added", m)])
        place, row = call(Stack(1, 1), [inputs[1]])[0], call(Stack(1, m), weights)[0]
        return {0: call(add, [place, row, zeros_like(call, m, inputs[0])])[0]}


class Inline(TableWriter):
    """Instructions of a pick that stands where it is called, numbered as the ``body`` there numbers its own: the ``handle`` of a table and
    the number ``x`` of a row, in W lanes; the arena is %arena."""

    def __init__(self, body: Any) -> None:
        super().__init__(body.lines)
        self.body, self.module, self.W = body, body.module, body.module.width

    def put(self, text: str) -> str:
        name: str = self.body.put(text)
        self.count = self.body.count
        return name

    def columns(self, m: int, handle: str, x: str) -> list[str]:
        """The row's columns: where all lanes ask for the same, one row is read."""
        put, W = self.put, self.W
        if W == 1:
            return self.one(m, put(f"bitcast double {handle} to i64"), x)
        D, I = f"<{W} x double>", f"<{W} x i64>"
        h = put(f"bitcast {D} {handle} to {I}")
        h0, x0 = put(f"extractelement {I} {h}, i64 0"), put(f"extractelement {D} {x}, i64 0")
        equal = [put(f"icmp eq {I} {h}, {self.spread(h0, W, 'i64')}"), put(f"fcmp oeq {D} {x}, {self.spread(x0, W)}")]
        both = put(f"bitcast <{W} x i1> {put(f'and <{W} x i1> {equal[0]}, {equal[1]}')} to i{W}")
        equally = put(f"icmp eq i{W} {both}, -1")
        k = f"pick{self.count}"
        self.lines += [f"  br i1 {equally}, label %{k}.same, label %{k}.apart", f"{k}.same:"]
        same, after_same = [self.spread(y, W) for y in self.one(m, h0, x0)], self.block
        self.lines += [f"  br label %{k}.both", f"{k}.apart:"]
        apart, after_apart = self.each(m, h, x), self.block
        self.lines += [f"  br label %{k}.both", f"{k}.both:"]
        return [put(f"phi {D} [{a}, %{after_same}], [{b}, %{after_apart}]") for a, b in zip(same, apart, strict=True)]

    def one(self, m: int, h: str, x: str) -> list[str]:
        """One row: where there is none, a row of NaN."""
        put, nan = self.put, f"double {literal(float('nan'))}"
        none = self.module.once(f"@pick.none{m}", f"@pick.none{m} = internal constant [{m} x double] [{', '.join([nan] * m)}]")
        d = put(f"inttoptr i64 {h} to ptr")
        n, data = put(f"load i64, ptr {d}"), put(f"load ptr, ptr {put(f'getelementptr i64, ptr {d}, i64 1')}")
        i, good = self.whole(x, n, 1)
        at = put(f"getelementptr i8, ptr {data}, i64 {put(f'mul i64 {i}, {8 * m}')}")
        row = put(f"select i1 {good}, ptr {at}, ptr {none}")
        found = [put(f"load double, ptr {put(f'getelementptr double, ptr {row}, i64 {c}')}") for c in range(m)]
        wrong = put(f"and i1 {put(f'xor i1 {good}, true')}, {put(f'fcmp une double {x}, {literal(IDLE)}')}")
        self.mark("%arena", NO_ROW, wrong)
        return found

    def each(self, m: int, h: str, x: str) -> list[str]:
        """A row in each lane."""
        put, W = self.put, self.W
        D, B, I, P = (f"<{W} x {kind}>" for kind in ("double", "i1", "i64", "ptr"))

        def read(kind: str, at: str, mask: str, otherwise: str) -> str:
            short = {"i64": "i64", "double": "f64"}[kind]
            return put(f"call <{W} x {kind}> @llvm.masked.gather.v{W}{short}.v{W}p0({P} {at}, i32 8, {B} {mask}, "
                       f"<{W} x {kind}> {otherwise})")  # fmt: skip

        every = splat("i1", W, "true")
        d = put(f"inttoptr {I} {h} to {P}")
        n, data = (read("i64", at, every, "zeroinitializer") for at in (d, put(f"getelementptr i8, {P} {d}, i64 8")))
        i, good = self.whole(x, n, W)
        off = put(f"mul {I} {i}, {splat('i64', W, str(8 * m))}")
        at = put(f"inttoptr {I} {put(f'add {I} {data}, {off}')} to {P}")
        nan = splat("double", W, literal(float("nan")))
        found = [read("double", put(f"getelementptr i8, {P} {at}, i64 {8 * c}"), good, nan) for c in range(m)]
        asked = put(f"fcmp une {D} {x}, {splat('double', W, literal(IDLE))}")
        wrong = put(f"and {B} {put(f'xor {B} {good}, {every}')}, {asked}")
        self.mark("%arena", NO_ROW, put(f"icmp ne i{W} {put(f'bitcast {B} {wrong} to i{W}')}, 0"))
        return found

    def whole(self, x: str, n: str, W: int) -> tuple[str, str]:
        """Return row numbers as integers, zero where they are out of range; and whether they are in range."""
        put = self.put
        D, B, I = (f"<{W} x {kind}>" if W > 1 else kind for kind in ("double", "i1", "i64"))
        zero = "zeroinitializer" if W > 1 else "0.0"
        above = put(f"fcmp oge {D} {x}, {zero}")
        below = put(f"fcmp olt {D} {x}, {put(f'sitofp {I} {n} to {D}')}")
        inside = put(f"and {B} {above}, {below}")
        i = put(f"fptosi {D} {put(f'select {B} {inside}, {D} {x}, {D} {zero}')} to {I}")
        back = put(f"sitofp {I} {i} to {D}")
        return i, put(f"and {B} {inside}, {put(f'fcmp oeq {D} {back}, {x}')}")
