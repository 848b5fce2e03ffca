"""Products of matrices, C = A B: an entry is A_i0 B_0j + A_i1 B_1j + …, by fused multiply-adds in this order, in loops.

They are the same bits alone, where columns stand in the lanes of vectors, and in a batch, where samples do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Call, Kernel, is_zero, over_groups
from engine.compiler.graph.vecmath import intrinsic, vector

Array = np.ndarray
#: columns that stand in the lanes of a vector where one sample is multiplied
LANES = 8


class Products(Kernel):
    """C (n, m) of A (n, k) and B (k, m), flattened one after the other."""

    def __init__(self, n: int, k: int, m: int) -> None:
        self.n, self.k, self.m = n, k, m
        super().__init__(n * k + k * m, n * m, f"products_{n}_{k}_{m}")

    def parts(self, given: list[Any]) -> tuple[Array, Array]:
        """Split all inputs into A and B."""
        each = np.empty(len(given), dtype=object)
        each[:] = given
        return each[: self.n * self.k].reshape(self.n, self.k), each[self.n * self.k :].reshape(self.k, self.m)

    def run(self, inputs: list[Any]) -> list[Any]:
        A, B = self.parts(inputs)
        return [sum((a * b for a, b in zip(row, column, strict=True)), 0.0) for row in A for column in B.T]

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        """dC = dA B + A dB."""
        (A, B), (dA, dB) = self.parts(inputs), self.parts(directions)
        parts = [call(self, [*X.ravel(), *Y.ravel()]) for X, Y, d in ((dA, B, dA), (A, dB, dB)) if not all(map(is_zero, d.ravel()))]
        return [sum(c[1:], c[0]) for c in zip(*parts, strict=True)] if parts else [0.0] * (self.n * self.m)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        """Ā = C̄ Bᵀ, B̄ = Aᵀ C̄."""
        (A, B), size, found = self.parts(inputs), self.n * self.k, dict[int, Any]()
        if any(j < size for j in wanted):
            found |= dict(enumerate(call(Products(self.n, self.m, self.k), [*weights, *B.T.ravel()])))
        if any(j >= size for j in wanted):
            found |= dict(enumerate(call(Products(self.k, self.n, self.m), [*A.T.ravel(), *weights]), size))
        return found

    def emit(self, module: Any, name: str) -> None:
        """Write the code in tiles of a few rows and columns, whose sums are in registers; the last tile overlaps the one before where they
        do not come out even."""
        width = module.width
        lanes = width if width > 1 else min(LANES, 1 << (self.m.bit_length() - 1))
        across = 1 if width > 1 else lanes                                     # columns in a vector
        rows, vectors = max(r for r in (1, 2, 4) if r <= self.n), max(v for v in (1, 2) if v * across <= self.m)
        number, block = 8 * width, f"{name}.block"
        module.text.append(self.block(block, width, lanes, rows, vectors))
        at = [f"  %{x} = getelementptr i8, ptr %{base}, i64 %{x}.off" for x, base in (("a", "in.g"), ("b", "b.0"), ("c", "c.0"))]
        module.text.append(over_groups(name, [
            f"  %b.0 = getelementptr i8, ptr %in.g, i64 {number * self.n * self.k}", "  br label %rows",
            "rows:", "  %i = phi i64 [0, %go], [%i.next, %rowed]", f"  %rows.more = icmp slt i64 %i, {self.n}",
            "  br i1 %rows.more, label %row, label %done",
            "row:", f"  %i.at = call i64 @llvm.smin.i64(i64 %i, i64 {self.n - rows})", f"  %a.off = mul i64 %i.at, {number * self.k}",
            f"  %c.row = mul i64 %i.at, {number * self.m}", "  %c.0 = getelementptr i8, ptr %out.g, i64 %c.row", "  br label %columns",
            "columns:", "  %j = phi i64 [0, %row], [%j.next, %column]", f"  %columns.more = icmp slt i64 %j, {self.m}",
            "  br i1 %columns.more, label %column, label %rowed",
            "column:", f"  %j.at = call i64 @llvm.smin.i64(i64 %j, i64 {self.m - vectors * across})", f"  %b.off = mul i64 %j.at, {number}",
            "  %c.off = add i64 %b.off, 0", *at, f"  call void {block}(ptr %a, ptr %b, ptr %c)",
            f"  %j.next = add i64 %j, {vectors * across}", "  br label %columns",
            "rowed:", f"  %i.next = add i64 %i, {rows}", "  br label %rows"]))  # fmt: skip

    def block(self, name: str, width: int, lanes: int, rows: int, vectors: int) -> str:
        """IR of some rows of some columns of C, from where A's rows begin and the columns of B and C."""
        D, fma, number = vector("double", lanes), intrinsic("fma", lanes), 8 * width
        sums = [(r, v) for r in range(rows) for v in range(vectors)]
        lines = [f"define internal void {name}(ptr %a, ptr %b, ptr %c) noinline nounwind {{", "entry:", "  br label %loop", "loop:",
                 "  %l = phi i64 [0, %entry], [%l.next, %next]"]  # fmt: skip
        lines += [f"  %s{r}.{v} = phi {D} [zeroinitializer, %entry], [%n{r}.{v}, %next]" for r, v in sums]
        lines += [f"  %more = icmp slt i64 %l, {self.k}", "  br i1 %more, label %next, label %end", "next:",
                  f"  %a.off = mul i64 %l, {number}", f"  %b.off = mul i64 %l, {number * self.m}",
                  "  %a.l = getelementptr i8, ptr %a, i64 %a.off", "  %b.l = getelementptr i8, ptr %b, i64 %b.off"]  # fmt: skip
        for v in range(vectors):
            lines += [f"  %b.p{v} = getelementptr i8, ptr %b.l, i64 {8 * lanes * v}", f"  %b{v} = load {D}, ptr %b.p{v}, align 8"]
        for r in range(rows):
            lines.append(f"  %a.p{r} = getelementptr i8, ptr %a.l, i64 {number * self.k * r}")
            if width > 1 or lanes == 1:
                lines.append(f"  %a{r} = load {D}, ptr %a.p{r}, align 8")
            else:
                lines += [f"  %a.x{r} = load double, ptr %a.p{r}, align 8", f"  %a.i{r} = insertelement {D} poison, double %a.x{r}, i64 0",
                          f"  %a{r} = shufflevector {D} %a.i{r}, {D} poison, <{lanes} x i32> zeroinitializer"]  # fmt: skip
            lines += [f"  %n{r}.{v} = call {D} {fma}({D} %a{r}, {D} %b{v}, {D} %s{r}.{v})" for v in range(vectors)]
        lines += ["  %l.next = add i64 %l, 1", "  br label %loop", "end:"]
        for r, v in sums:
            lines += [f"  %c{r}.{v} = getelementptr i8, ptr %c, i64 {number * self.m * r + 8 * lanes * v}",
                      f"  store {D} %s{r}.{v}, ptr %c{r}.{v}, align 8"]  # fmt: skip
        return "\n".join([*lines, "  ret void", "}"])
