"""Kernels that stack numbers into a table, and read a table's rows back as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.compiler.graph.kernel import Call, Kernel, for_one, is_zero, over_groups, table
from engine.compiler.graph.program import COUNTED
from engine.compiler.kernels.arena import DESCRIPTOR, TableWriter, put_arena

Array = np.ndarray


class Constants(Kernel):
    """A table of rows (n, m) that are known: it lies in the machine code's own memory."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        super().__init__(0, 1, f"constants_{rows.shape[1]}", rows)
        self.shapes_out = [(COUNTED, rows.shape[1])]

    def run(self, inputs: list[Any]) -> list[Any]:
        return [self.rows]

    def emit(self, module: Any, name: str) -> None:
        rows, n = table(module, self.rows), len(self.rows)
        d = f"{rows}.rows{n}"                                                  # the same numbers may be as many rows as there are divisors
        module.once(d, f"{d} = internal constant {{ i64, ptr }} {{ i64 {n}, ptr {rows} }}, align 64")
        stores = [f"  store ptr {d}, ptr {at}" for at in ("%out.g", *(f"%lane{k}" for k in range(1, module.width)))]
        lanes = [f"  %lane{k} = getelementptr i64, ptr %out.g, i64 {k}" for k in range(1, module.width)]
        module.text.append(over_groups(name, [*lanes, *stores, "  br label %done"]))


class Stack(Kernel):
    """A table of n rows of m numbers each."""

    tabled = True

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        super().__init__(n * m, 1, f"stack_{n}_{m}")
        self.shapes_out = [(COUNTED, m)]

    def run(self, inputs: list[Any]) -> list[Any]:
        return [np.array([float(x) for x in inputs]).reshape(self.n, self.m)]

    def emit(self, module: Any, name: str) -> None:
        put_arena(module)
        w, size = TableWriter([]), 8 * self.n * self.m
        memory = w.put(f"call ptr @take(ptr {w.element('%work', 0, 'ptr')}, i64 {size + DESCRIPTOR + 64})")
        w.lines += [f"  br i1 {w.put(f'icmp ne ptr {memory}, null')}, label %good, label %bad", "bad:"]
        w.keep("@table.none", "%out", 0, "ptr")
        w.lines += ["  ret void", "good:"]
        w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {w.described(memory, str(self.n))}, ptr %in, i64 {size}, i1 false)")
        w.keep(memory, "%out", 0, "ptr")
        module.text.append(for_one(name, w.lines))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] if all(map(is_zero, directions)) else call(self, directions)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        return dict(enumerate(call(Unstack(self.n, self.m), weights)))


class Unstack(Kernel):
    """The numbers of a table of n rows of m numbers; NaN if it has another number of rows."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        super().__init__(1, n * m, f"unstack_{n}_{m}")
        self.shapes_in = [(COUNTED, m)]

    def run(self, inputs: list[Any]) -> list[Any]:
        ops.common([len(inputs[0]), self.n])
        return list(inputs[0].ravel())

    def emit(self, module: Any, name: str) -> None:
        """The same in all lanes."""
        w, D, n = TableWriter([]), module.D, self.n * self.m
        d = w.element("%in.g", 0, "ptr")
        data, good = w.element(d, 1, "ptr"), w.put(f"icmp eq i64 {w.element(d, 0)}, {self.n}")
        w.lines += [f"  br i1 {good}, label %copy, label %short", "copy:", "  br label %head", "head:",
                    "  %k = phi i64 [0, %copy], [%k.next, %one]", f"  %k.more = icmp slt i64 %k, {n}",
                    "  br i1 %k.more, label %one, label %done", "one:"]  # fmt: skip
        x = w.put(f"load double, ptr {w.put(f'getelementptr double, ptr {data}, i64 %k')}")
        w.lines.append(f"  store {D} {w.spread(x, module.width)}, ptr {w.put(f'getelementptr {D}, ptr %out.g, i64 %k')}")
        w.lines += ["  %k.next = add i64 %k, 1", "  br label %head", "short:",
                    f"  call void @llvm.memset.p0.i64(ptr %out.g, i8 -1, i64 {module.bytes(n)}, i1 false)", "  br label %done"]  # fmt: skip
        module.text.append(over_groups(name, w.lines))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] * len(self.outputs) if is_zero(directions[0]) else call(self, directions)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        return {0: call(Stack(self.n, self.m), weights)[0]}
