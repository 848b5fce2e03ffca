"""A row of a table by its number: a load, alone or in the lanes of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.compiler.graph.kernel import Call, Kernel, is_zero, over_groups
from engine.compiler.graph.program import COUNTED, Program
from engine.compiler.graph.vecmath import literal
from engine.compiler.kernels.arena import NO_ROW, STATE, TableWriter
from engine.compiler.kernels.row_ends import Sink, Source
from engine.compiler.kernels.row_loop import RowLoop, zeros_like
from engine.compiler.kernels.stacks import Stack

#: the number of a row that nobody asks for, of a lane whose loop has ended
IDLE = -np.inf


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
    def single(self) -> bool:  # type: ignore[override]
        """Whether it is for one sample alone."""
        return not self.in_lanes

    def run(self, inputs: list[Any]) -> list[Any]:
        rows, k = inputs[0], np.asarray(inputs[1], dtype=float)
        idle = k == IDLE
        if idle.all():
            return [np.full(k.shape, np.nan)[()]] * self.m
        try:
            found = rows[ops.whole(np.where(idle, k[~idle].flat[0], k), len(rows))]
        except IndexError as error:
            raise IndexError(f"{self.where}{error}") from None
        return [np.where(idle, np.nan, found[..., c])[()] for c in range(self.m)]

    def emit(self, module: Any, name: str) -> None:
        """Of lanes that ask for the same the one row, else one lane after another."""
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
        """The row of number x, in all lanes, or in that whose results begin at ``lane``."""
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
        w.lines += [f"  br i1 {put(f'fcmp oeq double {x}, {literal(IDLE)}')}, label %{done}, label %{label}wrong", f"{label}wrong:"]
        state = put(f"getelementptr i64, ptr {w.element('%work', 0, 'ptr')}, i64 {STATE}")
        now = put(f"load i64, ptr {state}")
        w.lines += [f"  store i64 {put(f'or i64 {now}, {NO_ROW}')}, ptr {state}", f"  br label %{done}"]

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
