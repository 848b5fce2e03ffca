"""Reads of a loop over rows, in groups of W: rows one after another, or by their numbers, a vector a column."""

from __future__ import annotations

from typing import Any

from engine.compiler.kernels.arena import TableWriter
from engine.compiler.kernels.row_sources_sinks import Source
from engine.compiler.kernels.row_vectors import FEW, columns_of, gathered, packing


class Reader:
    """Writes the reads of a group of rows from ``%from`` on, of which ``%last`` is the last and ``n`` how many there are.

    The function of a row stands in the loop where it is ``short``, and is given values; else it is called, and what it is given stands in
    memory, the stage.
    """

    n = ""

    def __init__(self, loop: Any, module: Any) -> None:
        self.loop, self.module, self.wide, self.w = loop, module, module.rows(loop.f), TableWriter([])
        self.W, self.D, self.short = self.wide.width, self.wide.D, self.wide.is_short(loop.f)

    def read(self, reads: list[str], through: list[tuple[str, ...]], base: str, arena: str) -> list[str]:
        """Read a group's rows, a vector a column: each as a value, or "" where it is stored in the stage at ``base`` for a call."""
        w, W = self.w, self.W
        if W == 1:
            return self.read_whole(reads, through, base, arena)
        whole = w.put(f"icmp sge i64 {w.put(f'sub i64 {self.n}, %from')}, {W}")
        w.lines += [f"  br i1 {whole}, label %whole, label %fewer", "whole:"]
        some = self.read_whole(reads, through, base, arena)
        block = w.block
        w.lines += ["  br label %read", "fewer:"]
        others = self.read_rest(reads, through, base, arena)
        last = w.block
        w.begin("read")
        return [w.put(f"phi {self.D} [{a}, %{block}], [{b}, %{last}]") if a else "" for a, b in zip(some, others, strict=True)]

    def read_whole(self, reads: list[str], through: list[tuple[str, ...]], base: str, arena: str) -> list[str]:
        """Read a group of W rows, one after another or by their numbers."""
        w, W, D = self.w, self.W, self.D
        numbers = [w.put(f"load {D}, ptr {w.byte(x, w.product('%from', 8))}, align 8") for x, _, _ in through]
        side = [w.side_by_side(x, starts, W) if W > 1 else ("", "") for x, (_, _, starts) in zip(numbers, through, strict=True)]
        found = [""] * self.loop.place
        for s, data in zip(self.loop.sources, reads, strict=True):
            def places(s: Source = s) -> str:
                return w.row_places(numbers[s.index], through[s.index][1], W, arena)

            if s.how == "numbers":
                own = [w.put(f"sitofp {w.lanes(W)} {w.upward('%from', W)} to {D}")]
            elif s.columns > FEW:
                own = self.called(s, data, places() if s.how == "through" else w.upward("%from", W), base)
            elif s.how == "rows":
                own = self.beside(s, data, "%from")
            elif W == 1:
                own = gathered(w, W, s.columns, places(), data)
            else:
                k, (first, together) = w.count, side[s.index]
                w.lines += [f"  br i1 {together}, label %side{k}, label %apart{k}", f"side{k}:"]
                near = self.beside(s, data, first)
                w.lines += [f"  br label %both{k}", f"apart{k}:"]
                far = gathered(w, W, s.columns, places(), data)
                block = w.block
                w.begin(f"both{k}")
                own = [w.put(f"phi {D} [{a}, %side{k}], [{b}, %{block}]") for a, b in zip(near, far, strict=True)]
            found[s.place : s.place + s.columns] = own
        return found

    def read_rest(self, reads: list[str], through: list[tuple[str, ...]], base: str, arena: str) -> list[str]:
        """Read the last rows, fewer than W; idle lanes repeat the last."""
        w, W = self.w, self.W
        I = w.lanes(W)
        rows = w.put(f"call {I} @llvm.smin.v{W}i64({I} {w.upward('%from', W)}, {I} {w.spread('%last', W, 'i64')})")
        places = [w.row_places(w.numbers(x, "%from", "%last", W), top, W, arena) for x, top, _ in through]
        found = [""] * self.loop.place
        for s, data in zip(self.loop.sources, reads, strict=True):
            if s.how == "numbers":                                             # idle lanes ask for no rows that are not there
                own = [w.put(f"sitofp {I} {rows} to {self.D}")]
            else:
                own = self.called(s, data, places[s.index] if s.how == "through" else rows, base)
                if s.columns <= FEW and not self.short:
                    own = [self.column(w.byte(base, self.wide.bytes(s.place)), c) for c in range(s.columns)]
            found[s.place : s.place + s.columns] = own
        return found

    def beside(self, s: Source, data: str, first: str) -> list[str]:
        """The columns of W rows that stand side by side."""
        w, at = self.w, self.w.byte(data, self.w.product(first, 8 * s.columns))
        return columns_of(w.put, [w.put(f"load {self.D}, ptr {w.byte(at, 8 * self.W * c)}, align 8") for c in range(s.columns)], self.W)

    def called(self, s: Source, data: str, places: str, base: str) -> list[str]:
        """The columns of rows of these numbers, by a function that packs them in the stage."""
        w, to = self.w, self.w.byte(base, self.wide.bytes(s.place))
        own = self.module.named(self.wide, self.wide.once(f"@rows.pack.{s.columns}", packing(self.W, s.columns)))
        w.lines.append(f"  call void {own}({w.lanes(self.W)} {places}, ptr {data}, ptr {to})")
        return [self.column(to, c) for c in range(s.columns)] if self.short else [""] * s.columns

    def column(self, base: str, c: int) -> str:
        """A vector that stands in the stage."""
        return self.w.put(f"load {self.D}, ptr {self.w.byte(base, self.wide.bytes(c))}")
