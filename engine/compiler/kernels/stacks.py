"""Kernels between tables and numbers: stacks, unstacks and constants; and on whole tables: concatenations, slices and reshapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Call, Kernel, for_one, is_zero, over_groups
from engine.compiler.graph.program import COUNTED, Shape
from engine.compiler.kernels.arena import DESCRIPTOR, TableWriter, put_arena
from engine.compiler.kernels.row_loop import zeros_like
from engine.ops.tables import common_count

Array = np.ndarray


class Constants(Kernel):
    """A table of rows (n, m) that are known: it lies in the machine code's own memory."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        super().__init__(0, 1, f"constants_{rows.shape[1]}", rows)
        self.shapes_out = [(COUNTED, rows.shape[1])]

    @property
    def held(self) -> tuple[Array, ...]:
        return (self.rows,)

    def run(self, inputs: list[Any]) -> list[Any]:
        return [self.rows]

    def emit(self, module: Any, name: str) -> None:
        rows = self.table(module)
        d = module.once(f"{rows}.rows", f"{rows}.rows = internal constant {{ i64, ptr }} {{ i64 {len(self.rows)}, ptr {rows} }}, align 64")
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
        common_count([len(inputs[0]), self.n])
        return list(inputs[0].ravel())

    def emit(self, module: Any, name: str) -> None:
        """Write the code, the same in all lanes."""
        w, D, n = TableWriter([]), module.D, self.n * self.m
        d = w.element("%in.g", 0, "ptr")
        data, good = w.element(d, 1, "ptr"), w.put(f"icmp eq i64 {w.element(d, 0)}, {self.n}")
        w.lines += [f"  br i1 {good}, label %copy, label %short", "copy:"]
        if module.width == 1:
            w.lines += [f"  call void @llvm.memcpy.p0.p0.i64(ptr %out.g, ptr {data}, i64 {module.bytes(n)}, i1 false)", "  br label %done"]
        else:
            w.lines += ["  br label %head", "head:", "  %k = phi i64 [0, %copy], [%k.next, %one]", f"  %k.more = icmp slt i64 %k, {n}",
                        "  br i1 %k.more, label %one, label %done", "one:"]  # fmt: skip
            x = w.put(f"load double, ptr {w.put(f'getelementptr double, ptr {data}, i64 %k')}")
            w.lines.append(f"  store {D} {w.spread(x, module.width)}, ptr {w.put(f'getelementptr {D}, ptr %out.g, i64 %k')}")
            w.lines += ["  %k.next = add i64 %k, 1", "  br label %head"]
        w.lines += ["short:",
                    f"  call void @llvm.memset.p0.i64(ptr %out.g, i8 -1, i64 {module.bytes(n)}, i1 false)", "  br label %done"]  # fmt: skip
        module.text.append(over_groups(name, w.lines))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] * len(self.outputs) if is_zero(directions[0]) else call(self, directions)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        return {0: call(Stack(self.n, self.m), weights)[0]}


class Concatenated(Kernel):
    """A table of the rows of k tables of m columns, one table below the other."""

    tabled = True

    def __init__(self, k: int, m: int) -> None:
        self.k, self.m = k, m
        super().__init__(k, 1, f"concatenated_{k}_{m}")
        self.shapes_in, self.shapes_out = [(COUNTED, m)] * k, [(COUNTED, m)]

    def run(self, inputs: list[Any]) -> list[Any]:
        return [np.concatenate(inputs)]

    def emit(self, module: Any, name: str) -> None:
        put_arena(module)
        w = TableWriter([])
        given = [w.element("%in", k, "ptr") for k in range(self.k)]
        counts = [w.element(d, 0) for d in given]
        total = counts[0]
        for n in counts[1:]:
            total = w.put(f"add i64 {total}, {n}")
        bytes_ = w.product(total, 8 * self.m, DESCRIPTOR + 64)
        memory = w.put(f"call ptr @take(ptr {w.element('%work', 0, 'ptr')}, i64 {bytes_})")
        w.lines += [f"  br i1 {w.put(f'icmp ne ptr {memory}, null')}, label %good, label %bad", "bad:"]
        w.keep("@table.none", "%out", 0, "ptr")
        w.lines += ["  ret void", "good:"]
        to = w.described(memory, total)
        for d, n in zip(given, counts, strict=True):
            size = w.product(n, 8 * self.m)
            w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {w.element(d, 1, 'ptr')}, i64 {size}, i1 false)")
            to = w.put(f"getelementptr i8, ptr {to}, i64 {size}")
        w.keep(memory, "%out", 0, "ptr")
        module.text.append(for_one(name, w.lines))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        if all(map(is_zero, directions)):
            return [0.0]
        return call(self, [zeros_like(call, self.m, x) if is_zero(d) else d for x, d in zip(inputs, directions, strict=True)])

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        return {k: call(Part(self.k, self.m, k), [weights[0], *inputs])[0] for k in wanted}


class Part(Kernel):
    """Slice of a concatenation: of a table of the rows of k tables of m columns, which are given too, the rows of one of them."""

    tabled = True

    def __init__(self, k: int, m: int, which: int) -> None:
        self.k, self.m, self.which = k, m, which
        super().__init__(1 + k, 1, f"part_{k}_{m}_{which}")
        self.shapes_in, self.shapes_out = [(COUNTED, m)] * (1 + k), [(COUNTED, m)]

    def run(self, inputs: list[Any]) -> list[Any]:
        first = sum(map(len, inputs[1 : 1 + self.which]))
        return [inputs[0][first : first + len(inputs[1 + self.which])]]

    def emit(self, module: Any, name: str) -> None:
        w = TableWriter([])
        counts = [w.element(w.element("%in", 1 + k, "ptr"), 0) for k in range(self.which + 1)]
        first = "0"
        for n in counts[:-1]:
            first = w.put(f"add i64 {first}, {n}")
        rows = w.byte(w.element(w.element("%in", 0, "ptr"), 1, "ptr"), w.product(first, 8 * self.m))
        module.text.append(for_one(name, elsewhere(module, w, counts[-1], rows)))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] if is_zero(directions[0]) else call(self, [directions[0], *inputs[1:]])

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        others = [weights[0] if k == self.which else zeros_like(call, self.m, x) for k, x in enumerate(inputs[1:])]
        return {0: call(Concatenated(self.k, self.m), others)[0]} if 0 in wanted else {}


class Cut(Kernel):
    """A table reshaped in place: each row of m n numbers cut into n of m; or, ``joined``, the other way round."""

    tabled = True

    def __init__(self, m: int, n: int, joined: bool = False) -> None:
        self.m, self.n, self.joined = m, n, joined
        super().__init__(1, 1, f"{'joined' if joined else 'cut'}_{m}_{n}")
        whole, parts = list[Shape]([(COUNTED, m * n)]), list[Shape]([(COUNTED, m)])
        self.shapes_in, self.shapes_out = (parts, whole) if joined else (whole, parts)

    def run(self, inputs: list[Any]) -> list[Any]:
        return [inputs[0].reshape(-1, self.m * self.n if self.joined else self.m)]

    def emit(self, module: Any, name: str) -> None:
        w = TableWriter([])
        d = w.element("%in", 0, "ptr")
        n = w.element(d, 0)
        count = w.put(f"sdiv i64 {n}, {self.n}") if self.joined else w.product(n, self.n)
        module.text.append(for_one(name, elsewhere(module, w, count, w.element(d, 1, "ptr"))))

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        return [0.0] if is_zero(directions[0]) else call(self, directions)

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        return {0: call(Cut(self.m, self.n, not self.joined), weights)[0]}


def elsewhere(module: Any, w: TableWriter, count: str, rows: str) -> list[str]:
    """Return the instructions that return a table of so many rows in another's memory."""
    put_arena(module)
    memory = w.put(f"call ptr @take(ptr {w.element('%work', 0, 'ptr')}, i64 {DESCRIPTOR})")
    w.lines += [f"  br i1 {w.put(f'icmp ne ptr {memory}, null')}, label %good, label %bad", "bad:"]
    w.keep("@table.none", "%out", 0, "ptr")
    w.lines += ["  ret void", "good:"]
    w.keep(count, memory, 0)
    w.keep(rows, memory, 1, "ptr")
    w.keep(memory, "%out", 0, "ptr")
    return w.lines
