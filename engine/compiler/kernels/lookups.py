"""Look-ups: the interval of sorted breakpoints that a number lies in, and rows of a constant table by their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Lanes, copied

Array = np.ndarray


class Search(Lanes):
    """The number of the last of increasing breakpoints that x has reached; of the first, if none."""

    def __init__(self, breakpoints: Array) -> None:
        self.breakpoints = breakpoints
        super().__init__(1, 1, "search", breakpoints)

    @property
    def held(self) -> tuple[Array, ...]:
        return (self.breakpoints,)

    def run(self, inputs: list[Any]) -> list[Any]:
        return [np.maximum(np.searchsorted(self.breakpoints, inputs[0], side="right") - 1.0, 0.0)]

    def each(self, module: Any) -> str:
        """Write the binary search of one lane."""
        return f"""  br label %half
half:
  %k = phi i64 [0, %lane], [%k.next, %go.on]
  %n = phi i64 [{len(self.breakpoints)}, %lane], [%n.next, %go.on]
  %wide = icmp sgt i64 %n, 1
  br i1 %wide, label %go.on, label %there
go.on:
  %h = lshr i64 %n, 1
  %middle = add i64 %k, %h
  %b.p = getelementptr double, ptr {self.table(module)}, i64 %middle
  %b = load double, ptr %b.p
  %reached = fcmp oge double %x, %b
  %k.next = select i1 %reached, i64 %middle, i64 %k
  %n.next = sub i64 %n, %h
  br label %half
there:
  %found.k = sitofp i64 %k to double
  store double %found.k, ptr %to
  br label %found"""


class Rows(Lanes):
    """Row k of a table (n, m); the first or the last, if k lies outside."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        super().__init__(1, rows.shape[1], f"rows_{rows.shape[1]}", rows)

    @property
    def held(self) -> tuple[Array, ...]:
        return (self.rows,)

    def run(self, inputs: list[Any]) -> list[Any]:
        k = np.clip(np.nan_to_num(inputs[0]), 0, len(self.rows) - 1).astype(int)
        return list(np.moveaxis(self.rows[k], -1, 0))

    def each(self, module: Any) -> str:
        n, m = self.rows.shape
        return f"""  %whole = call i64 @llvm.fptosi.sat.i64.f64(double %x)
  %positive = call i64 @llvm.smax.i64(i64 %whole, i64 0)
  %row = call i64 @llvm.smin.i64(i64 %positive, i64 {n - 1})
  %first = mul i64 %row, {m}
  %row.p = getelementptr double, ptr {self.table(module)}, i64 %first
  br label %columns
{copied(module, m, "%row.p", "lane")}"""
