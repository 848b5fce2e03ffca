"""Dense layers: a row of y is y_i = b_i + W_i0 x_0 + W_i1 x_1 + …, by fused multiply-adds in this order.

They are the same bits alone, where rows stand in the lanes of vectors, and in a batch, where samples do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Call, Kernel, is_zero, over_groups
from engine.compiler.graph.vecmath import intrinsic, vector

Array = np.ndarray
#: rows of W whose numbers stand together
ROWS = 8


class Dense(Kernel):
    """y = W x + b: of x (m) with W (n, m) and b (n) known; or of x, W and b, flattened one after the other."""

    def __init__(self, W: Array | tuple[int, int], b: Array | None = None) -> None:
        self.n, self.m = W if isinstance(W, tuple) else W.shape
        self.W, self.b = None if isinstance(W, tuple) else W, b
        data = () if self.W is None else (W, b)
        super().__init__(self.m + (self.n * self.m + self.n if self.W is None else 0), self.n, f"dense_{self.n}_{self.m}", *data)

    def run(self, inputs: list[Any]) -> list[Any]:
        given = np.array(np.broadcast_arrays(*inputs))
        if self.W is not None and self.b is not None:
            return list(np.tensordot(self.W, given, 1) + self.b.reshape(-1, *[1] * (given.ndim - 1)))
        x, W, b = np.split(given, [self.m, self.m + self.n * self.m])
        return list(np.einsum("ij...,j...->i...", W.reshape(self.n, self.m, *W.shape[1:]), x) + b)

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        if self.W is not None:
            return call(Dense(self.W, np.zeros(self.n)), directions)
        (x, W, _), (dx, dW, db) = self.parts(inputs), self.parts(directions)
        along = call(self, [*dx, *W, *db])
        return along if all(map(is_zero, dW)) else [a + b for a, b in zip(along, call(self, [*x, *dW, *[0.0] * self.n]), strict=True)]

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        n, m = self.n, self.m
        if self.W is not None:
            return dict(enumerate(call(Dense(np.ascontiguousarray(self.W.T), np.zeros(m)), weights)))
        x, W, _ = self.parts(inputs)
        turned = [W[i * m + j] for j in range(m) for i in range(n)]
        found = dict(enumerate(call(Dense((m, n)), [*weights, *turned, *[0.0] * m]))) if wanted & set(range(m)) else {}
        entries = {m + i * m + j: (i, j) for i in range(n) for j in range(m)}
        found |= {k: weights[i] * x[j] for k, (i, j) in entries.items() if k in wanted}
        return found | {m + n * m + i: a for i, a in enumerate(weights)}

    def parts(self, given: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Split all inputs into x, W and b."""
        return given[: self.m], given[self.m : self.m + self.n * self.m], given[self.m + self.n * self.m :]

    def emit(self, module: Any, name: str) -> None:
        if self.W is None:
            self.emit_given(module, name)
        elif module.width == 1:
            self.emit_alone(module, name)
        else:
            self.emit_batch(module, name)

    @property
    def held(self) -> tuple[Array, ...]:
        """W, in blocks of rows whose numbers of a column stand together, and b."""
        if self.W is None:
            return ()
        blocks = -(-self.n // ROWS)
        W, b = np.zeros((blocks * ROWS, self.m)), np.zeros(blocks * ROWS)
        W[: self.n], b[: self.n] = self.W, self.b
        return W.reshape(blocks, ROWS, self.m).transpose(0, 2, 1), b

    def emit_batch(self, module: Any, name: str) -> None:
        """Write the code of a batch, samples in lanes: some rows of some groups at a time."""
        w, b = self.table(module), self.table(module, 1)
        together = ROWS if module.registers() > 16 else ROWS // 2              # rows, of two groups: as many sums as registers hold
        lines = ["  %two = icmp sgt i64 %left, 1", "  br i1 %two, label %pair, label %one"]
        for label, count in (("pair", 2), ("one", 1)):
            lines += [f"{label}:"]
            for i in range(0, self.n, together):
                rows = min(together, self.n - i)
                f = module.once(f"@dense.{rows}.{count}", rows_of_groups(module.width, rows, count))
                block, k = divmod(i, ROWS)
                lines.append(f"  call void {f}(ptr getelementptr (double, ptr {w}, i64 {block * ROWS * self.m + k}), "
                             f"ptr getelementptr (double, ptr {b}, i64 {i}), ptr %in.g, i64 %in.s, ptr %out.g, i64 %out.s, "
                             f"i64 {i * module.width}, i64 {self.m})")  # fmt: skip
            lines.append("  br label %some")
        lines += ["some:", "  %taken = phi i64 [2, %pair], [1, %one]", "  br label %done"]
        module.text.append(over_groups(name, lines, taken="%taken"))

    def emit_alone(self, module: Any, name: str) -> None:
        """Write the code of one sample, rows in lanes, four blocks of them at a time."""
        w, b = self.table(module), self.table(module, 1)
        lines = list[str]()
        whole, rest = divmod(self.n, ROWS)
        starts = [(k, min(4, whole - k)) for k in range(0, whole, 4)] + ([(whole, 0)] if rest else [])
        for k, blocks in starts:
            f = module.once(f"@dense.alone.{max(blocks, 1)}", blocks_of_rows(max(blocks, 1)))
            lines.append(f"  %to{k} = getelementptr double, ptr %out.g, i64 {k * ROWS}")
            to = f"%to{k}" if blocks else "%rest"
            lines.append(f"  call void {f}(ptr getelementptr (double, ptr {w}, i64 {k * ROWS * self.m}), "
                         f"ptr getelementptr (double, ptr {b}, i64 {k * ROWS}), ptr %in.g, ptr {to}, i64 {self.m})")  # fmt: skip
        if rest:
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %to{whole}, ptr %rest, i64 {8 * rest}, i1 false)")
        lines.append("  br label %done")
        module.text.append(over_groups(name, lines, f"  %rest = alloca [{ROWS} x double], align 64\n"))

    def emit_given(self, module: Any, name: str) -> None:
        """Write the code for W and b among the inputs, row by row."""
        D, size = module.D, module.bytes(1)
        module.text.append(over_groups(name, [f"""  %w = getelementptr i8, ptr %in.g, i64 {self.m * size}
  %b = getelementptr i8, ptr %w, i64 {self.n * self.m * size}
  br label %rows
rows:
  %i = phi i64 [0, %go], [%i.next, %stored]
  %rows.more = icmp slt i64 %i, {self.n}
  br i1 %rows.more, label %row, label %done
row:
  %b.i = getelementptr {D}, ptr %b, i64 %i
  %first = load {D}, ptr %b.i
  %from = mul i64 %i, {self.m}
  br label %columns
columns:
  %j = phi i64 [0, %row], [%j.next, %column]
  %sum = phi {D} [%first, %row], [%sum.next, %column]
  %columns.more = icmp slt i64 %j, {self.m}
  br i1 %columns.more, label %column, label %stored
column:
  %k = add i64 %from, %j
  %w.k = getelementptr {D}, ptr %w, i64 %k
  %x.j = getelementptr {D}, ptr %in.g, i64 %j
  %w.v = load {D}, ptr %w.k
  %x.v = load {D}, ptr %x.j
  %sum.next = call {D} {intrinsic("fma", module.width)}({D} %w.v, {D} %x.v, {D} %sum)
  %j.next = add i64 %j, 1
  br label %columns
stored:
  %y.i = getelementptr {D}, ptr %out.g, i64 %i
  store {D} %sum, ptr %y.i
  %i.next = add i64 %i, 1
  br label %rows"""]))


def rows_of_groups(width: int, rows: int, groups: int) -> str:
    """IR of some rows of y for some groups of samples: sums in registers, a number of W at a time on all samples."""
    D = vector("double", width)
    sums = [(r, g) for r in range(rows) for g in range(groups)]
    lines = [f"define internal void @dense.{rows}.{groups}(ptr %w, ptr %b, ptr %in, i64 %in.s, ptr %out, i64 %out.s, i64 %first, i64 %m) "
             "noinline nounwind {", "entry:"]  # fmt: skip
    for g in range(groups):
        lines += [f"  %in.off{g} = mul i64 %in.s, {g}", f"  %in{g} = getelementptr i8, ptr %in, i64 %in.off{g}"]
        lines += [f"  %out.off{g} = mul i64 %out.s, {g}", f"  %out.{g} = getelementptr i8, ptr %out, i64 %out.off{g}",
                  f"  %out{g} = getelementptr double, ptr %out.{g}, i64 %first"]  # fmt: skip
    for r in range(rows):
        lines += [f"  %b.p{r} = getelementptr double, ptr %b, i64 {r}", f"  %b{r} = load double, ptr %b.p{r}",
                  *spread(width, f"%b{r}", f"%s{r}")]  # fmt: skip
    lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j.next, %next]"]
    lines += [f"  %a{r}.{g} = phi {D} [%s{r}, %entry], [%n{r}.{g}, %next]" for r, g in sums]
    lines += ["  %more = icmp slt i64 %j, %m", "  br i1 %more, label %next, label %end", "next:", f"  %w.j = mul i64 %j, {ROWS}"]
    for g in range(groups):
        lines += [f"  %x.p{g} = getelementptr {D}, ptr %in{g}, i64 %j", f"  %x{g} = load {D}, ptr %x.p{g}"]
    for r in range(rows):
        lines += [f"  %w.k{r} = add i64 %w.j, {r}", f"  %w.p{r} = getelementptr double, ptr %w, i64 %w.k{r}",
                  f"  %w{r} = load double, ptr %w.p{r}", *spread(width, f"%w{r}", f"%v{r}")]  # fmt: skip
        lines += [f"  %n{r}.{g} = call {D} {intrinsic('fma', width)}({D} %v{r}, {D} %x{g}, {D} %a{r}.{g})" for g in range(groups)]
    lines += ["  %j.next = add i64 %j, 1", "  br label %loop", "end:"]
    for r, g in sums:
        lines += [f"  %y{r}.{g} = getelementptr {D}, ptr %out{g}, i64 {r}", f"  store {D} %a{r}.{g}, ptr %y{r}.{g}"]
    return "\n".join([*lines, "  ret void", "}"])


def spread(width: int, scalar: str, name: str) -> list[str]:
    """IR of a number on all lanes."""
    D = vector("double", width)
    return [f"  {name}.i = insertelement {D} poison, double {scalar}, i64 0",
            f"  {name} = shufflevector {D} {name}.i, {D} poison, <{width} x i32> zeroinitializer"]  # fmt: skip


def blocks_of_rows(blocks: int) -> str:
    """IR of some blocks of rows of y for one sample, the rows of a block in lanes."""
    D = vector("double", ROWS)
    lines = [f"define internal void @dense.alone.{blocks}(ptr %w, ptr %b, ptr %x, ptr %y, i64 %m) noinline nounwind {{", "entry:",
             f"  %size = mul i64 %m, {8 * ROWS}"]  # fmt: skip
    for k in range(blocks):
        lines += [f"  %b.p{k} = getelementptr {D}, ptr %b, i64 {k}", f"  %b{k} = load {D}, ptr %b.p{k}, align 8",
                  f"  %w.off{k} = mul i64 %size, {k}", f"  %w{k} = getelementptr i8, ptr %w, i64 %w.off{k}"]  # fmt: skip
    lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j.next, %next]"]
    lines += [f"  %a{k} = phi {D} [%b{k}, %entry], [%n{k}, %next]" for k in range(blocks)]
    lines += ["  %more = icmp slt i64 %j, %m", "  br i1 %more, label %next, label %end", "next:",
              "  %x.p = getelementptr double, ptr %x, i64 %j", "  %x.j = load double, ptr %x.p", *spread(ROWS, "%x.j", "%v")]  # fmt: skip
    for k in range(blocks):
        lines += [f"  %w.p{k} = getelementptr {D}, ptr %w{k}, i64 %j", f"  %w.v{k} = load {D}, ptr %w.p{k}, align 8",
                  f"  %n{k} = call {D} {intrinsic('fma', ROWS)}({D} %w.v{k}, {D} %v, {D} %a{k})"]  # fmt: skip
    lines += ["  %j.next = add i64 %j, 1", "  br label %loop", "end:"]
    for k in range(blocks):
        lines += [f"  %y{k} = getelementptr {D}, ptr %y, i64 {k}", f"  store {D} %a{k}, ptr %y{k}, align 8"]
    return "\n".join([*lines, "  ret void", "}"])
