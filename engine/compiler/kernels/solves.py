"""Triangular solves with many right sides, L D Lᵀ X = B with a factored matrix: one loop over the columns of B."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Call, Kernel, over_groups
from engine.compiler.graph.vecmath import intrinsic, vector
from engine.compiler.kernels.instructions import Writer

#: columns that stand in the lanes of a vector where one sample is solved
LANES = 8


class Solves(Kernel):
    """x (n, m) of L D Lᵀ x = b: of the entries of L below its diagonal, which are one (of row i those in columns ``pattern[i]``), of 1/D
    (n), and of b (n, m)."""

    def __init__(self, pattern: tuple[tuple[int, ...], ...], m: int) -> None:
        self.pattern, self.n, self.m = pattern, len(pattern), m
        self.entries = [(i, k) for i, row in enumerate(pattern) for k in row]
        n_in = len(self.entries) + self.n * (1 + m)
        super().__init__(n_in, self.n * m, f"solves_{self.n}_{m}", np.array(self.entries, dtype=float))

    def parts(self, given: list[Any]) -> tuple[list[Any], list[Any], np.ndarray]:
        """Split all inputs into L, 1/D and b (n, m)."""
        e, n = len(self.entries), self.n
        b = np.empty(n * self.m, dtype=object)
        b[:] = given[e + n :]
        return given[:e], given[e : e + n], b.reshape(n, self.m)

    def run(self, inputs: list[Any]) -> list[Any]:
        L, reciprocal, b = self.parts(inputs)
        y = [list(row) for row in b]
        for (i, k), f in zip(self.entries, L, strict=True):
            y[i] = [a - f * c for a, c in zip(y[i], y[k], strict=True)]
        y = [[a * r for a in row] for row, r in zip(y, reciprocal, strict=True)]
        for (i, k), f in reversed([*zip(self.entries, L, strict=True)]):
            y[k] = [a - f * c for a, c in zip(y[k], y[i], strict=True)]
        return [a for row in y for a in row]

    # ------------------------------------------------------------ derivatives

    def again(self, call: Call, inputs: list[Any], b: np.ndarray) -> np.ndarray:
        """Return A⁻¹ b (n, m) of another b, with the same factors."""
        x = np.empty(b.size, dtype=object)
        x[:] = call(self, [*inputs[: -b.size], *b.ravel()])
        return x.reshape(b.shape)

    def times(self, L: list[Any], x: np.ndarray) -> np.ndarray:
        """Return L x (n, m)."""
        y = x.copy()
        for (i, k), f in zip(self.entries, L, strict=True):
            y[i] = y[i] + f * x[k]
        return y

    def transposed(self, L: list[Any], x: np.ndarray) -> np.ndarray:
        """Return Lᵀ x (n, m)."""
        y = x.copy()
        for (i, k), f in zip(self.entries, L, strict=True):
            y[k] = y[k] + f * x[i]
        return y

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        """dx = A⁻¹ (db − dL y + L D c) with y = D Lᵀ x, and c = d(1/D) y − dLᵀ x."""
        (L, r, b), (dL, dr, db) = self.parts(inputs), self.parts(directions)
        if all(isinstance(z, float) and z == 0.0 for z in (*dL, *dr)):
            return list(self.again(call, inputs, db).ravel())
        D, x = 1.0 / np.array(r, dtype=object)[:, None], self.again(call, inputs, b)
        y = D * self.transposed(L, x)
        c = np.array(dr, dtype=object)[:, None] * y - (self.transposed(dL, x) - x)
        return list(self.again(call, inputs, db - (self.times(dL, y) - y) + self.times(L, D * c)).ravel())

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        """b̄ = A⁻¹ x̄; of an entry of L, −b̄_i·y_k − μ_k·x_i, and of one of 1/D, μ_k·y_k, with μ = D Lᵀ b̄ and y = D Lᵀ x."""
        (L, r, b), (_, _, weight) = self.parts(inputs), self.parts([*inputs[: -self.n * self.m], *weights])
        e, back = len(self.entries), self.again(call, inputs, weight)
        found: dict[int, Any] = {e + self.n + k: a for k, a in enumerate(back.ravel())}
        if wanted & set(range(e + self.n)):
            D, x = 1.0 / np.array(r, dtype=object)[:, None], self.again(call, inputs, b)
            y, mu = D * self.transposed(L, x), D * self.transposed(L, back)
            found |= {j: -(back[i] @ y[k]) - mu[k] @ x[i] for j, (i, k) in enumerate(self.entries)}
            found |= {e + k: mu[k] @ y[k] for k in range(self.n)}
        return found

    # ------------------------------------------------------------ machine code

    def emit(self, module: Any, name: str) -> None:
        """Write the code in blocks of columns: of one sample these are in lanes, of a batch samples are."""
        width = module.width
        lanes = width if width > 1 else min(LANES, 1 << (self.m.bit_length() - 1))
        across = 1 if width > 1 else lanes                                     # columns in a vector
        vectors = max(v for v in (1, 2, 4) if v * across <= self.m and (width > 1 or v <= 2))
        step = vectors * across
        own = f"{name}.some"
        module.text.append(self.some(own, width, lanes, vectors))
        at = [f"  %{x}.c = getelementptr i8, ptr %{x}.g, i64 %at.off" for x in ("in", "out")]
        module.text.append(over_groups(name, [
            "  br label %columns", "columns:", "  %c = phi i64 [0, %go], [%c.next, %some]", f"  %c.more = icmp slt i64 %c, {self.m}",
            "  br i1 %c.more, label %some, label %done", "some:", f"  %at = call i64 @llvm.smin.i64(i64 %c, i64 {self.m - step})",
            f"  %at.off = mul i64 %at, {8 * width}", *at, f"  call void {own}(ptr %in.g, ptr %in.c, ptr %out.c)",
            f"  %c.next = add i64 %c, {step}", "  br label %columns"]))  # fmt: skip

    def some(self, name: str, width: int, lanes: int, vectors: int) -> str:
        """Return IR for some columns: forward substitution, each row of y where x will be, division, and back substitution."""
        D, row = vector("double", lanes), 8 * width * self.m
        writer = Writer([f"define internal void {name}(ptr %l, ptr %b, ptr %x) noinline nounwind {{"])
        lines, put = writer.lines, writer.put

        def read(base: str, i: int, j: int) -> str:
            return put(f"load {D}, ptr {put(f'getelementptr i8, ptr {base}, i64 {i * row + j * 8 * lanes}')}, align 8")

        def number(j: int) -> str:
            """Input j, in all lanes where these are columns."""
            at = put(f"getelementptr i8, ptr %l, i64 {8 * width * j}")
            if width > 1 or lanes == 1:
                return put(f"load {D}, ptr {at}, align 8")
            one = put(f"insertelement {D} poison, double {put(f'load double, ptr {at}, align 8')}, i64 0")
            return put(f"shufflevector {D} {one}, {D} poison, <{lanes} x i32> zeroinitializer")

        def less(rows: list[str], j: int, i: int) -> list[str]:
            """Rows less entry j of L times row i of x."""
            f = put(f"fneg {D} {number(j)}")
            return [put(f"call {D} {intrinsic('fma', lanes)}({D} {f}, {D} {read('%x', i, v)}, {D} {a})") for v, a in enumerate(rows)]

        def write(i: int, rows: list[str]) -> None:
            for v, a in enumerate(rows):
                lines.append(f"  store {D} {a}, ptr {put(f'getelementptr i8, ptr %x, i64 {i * row + v * 8 * lanes}')}, align 8")

        e, offset = len(self.entries), len(self.entries) + self.n
        begin = put(f"getelementptr i8, ptr %b, i64 {8 * width * offset}")
        of = {pair: j for j, pair in enumerate(self.entries)}
        for i in range(self.n):
            y = [read(begin, i, v) for v in range(vectors)]
            for k in self.pattern[i]:
                y = less(y, of[i, k], k)
            write(i, y)
        for i in reversed(range(self.n)):
            r = number(e + i)
            x = [put(f"fmul {D} {read('%x', i, v)}, {r}") for v in range(vectors)]
            for k in range(i + 1, self.n):
                if i in self.pattern[k]:
                    x = less(x, of[k, i], k)
            write(i, x)
        return "\n".join([*lines, "  ret void", "}"])
