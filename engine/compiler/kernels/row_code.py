"""Loops over rows in LLVM IR: with rows in the lanes of vectors, or one by one within lanes."""

from __future__ import annotations

import itertools
from typing import Any

from engine import ops
from engine.compiler.graph.kernel import for_one, over_groups
from engine.compiler.graph.vecmath import literal, splat
from engine.compiler.kernels.arena import DESCRIPTOR, DIFFERENT, NO_ROW, SIZE, TableWriter, put_arena
from engine.compiler.kernels.instructions import exchanged
from engine.compiler.kernels.row_ends import Sink

#: groups of W rows that go together through a function, whose code is fetched as much less often
GROUPS = 4
#: bytes that vectors begin at a multiple of
ALIGNED = 64


def smallest(w: TableWriter, counts: list[str]) -> tuple[str, str]:
    """The least of some counts, and whether they are the same."""
    n, same = counts[0], "true"
    for c in counts[1:]:
        same = w.put(f"and i1 {same}, {w.put(f'icmp eq i64 {c}, {counts[0]}')}")
        n = w.put(f"call i64 @llvm.smin.i64(i64 {n}, i64 {c})")
    return n, same


def folded(w: TableWriter, x: list[str], D: str) -> str:
    """The sum of partial ones, the second half to the first."""
    while len(x) > 1:
        half = len(x) // 2
        x = [w.put(f"fadd {D} {a}, {b}") for a, b in zip(x[:half], x[half:], strict=True)]
    return x[0]


def within(loop: Any, module: Any, name: str) -> int:
    """Write a loop within lanes: a sum over rows that all lanes read, a few of them at a time through the function. The kernel's work is
    what the function is given, then its results, and its own work, for each of these rows, and the parts of the sum."""
    f, work = module.function(loop.f)
    w, D, one = TableWriter([]), module.D, module.bytes(1)
    put, m = w.put, sum(s.columns for s in loop.sinks)
    s_in, s_out, s_work = loop.f.n_in * one, m * one, work * one
    y, lent, parts = (w.byte("%work", GROUPS * k) for k in (s_in, s_in + s_out, s_in + s_out + s_work))
    tables = [w.element("%in.g", k * module.width, "ptr") for k in range(len(loop.sources))]
    n, same = smallest(w, [w.element(t, 0) for t in tables])
    starts, outside = [w.element(t, 1, "ptr") for t in tables], w.byte("%in.g", loop.first * one)
    for g in range(GROUPS if loop.outside else 0):
        to = w.byte("%work", g * s_in + loop.place * one)
        w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {outside}, i64 {loop.outside * one}, i1 false)")
    w.lines += [f"  call void @llvm.memset.p0.i64(ptr {parts}, i8 0, i64 {ops.PARTS * s_out}, i1 false)", "  br label %head", "head:",
                "  %r = phi i64 [0, %go], [%r.next, %summed]", f"  %r.left = sub i64 {n}, %r",
                f"  %now = call i64 @llvm.smin.i64(i64 %r.left, i64 {GROUPS})", "  %r.more = icmp sgt i64 %now, 0",
                "  br i1 %r.more, label %fill, label %fold", "fill:", "  %k = phi i64 [0, %head], [%k.next, %fill]",
                "  %row = add i64 %r, %k"]  # fmt: skip
    to = w.byte("%work", w.product("%k", s_in))
    for s, start in zip(loop.sources, starts, strict=True):
        at = w.byte(start, w.product("%row", 8 * s.columns))
        for c in range(s.columns):
            x = put("sitofp i64 %row to double") if s.how == "numbers" else put(f"load double, ptr {w.byte(at, 8 * c)}")
            w.lines.append(f"  store {D} {w.spread(x, module.width)}, ptr {w.byte(to, (s.place + c) * one)}")
    w.lines += ["  %k.next = add i64 %k, 1", "  %k.more = icmp slt i64 %k.next, %now", "  br i1 %k.more, label %fill, label %each", "each:",
                f"  call void {f}(ptr %work, ptr {y}, ptr {lent}, i64 %now, i64 {s_in}, i64 {s_out}, i64 {s_work})", "  br label %sum",
                "sum:", "  %j = phi i64 [0, %each], [%j.next, %sum]", "  %sum.row = add i64 %r, %j"]  # fmt: skip
    part, own = w.byte(parts, w.product(put(f"and i64 %sum.row, {ops.PARTS - 1}"), s_out)), w.byte(y, w.product("%j", s_out))
    for c in range(m):
        at = w.byte(part, c * one)
        a, b = put(f"load {D}, ptr {at}"), put(f"load {D}, ptr {w.byte(own, c * one)}")
        w.lines.append(f"  store {D} {put(f'fadd {D} {a}, {b}')}, ptr {at}")
    w.lines += ["  %j.next = add i64 %j, 1", "  %j.more = icmp slt i64 %j.next, %now", "  br i1 %j.more, label %sum, label %summed",
                "summed:", "  %r.next = add i64 %r, %now", "  br label %head", "fold:"]  # fmt: skip
    nan = splat("double", module.width, literal(float("nan")))
    for c in range(m):
        each = [put(f"load {D}, ptr {w.byte(parts, (p * m + c) * one)}") for p in range(ops.PARTS)]
        w.lines.append(f"  store {D} {put(f'select i1 {same}, {D} {folded(w, each, D)}, {D} {nan}')}, ptr {w.byte('%out.g', c * one)}")
    module.text.append(over_groups(name, [*w.lines, "  br label %done"]))
    return GROUPS * (loop.f.n_in + m + work) + ops.PARTS * m


class Across:
    """A loop with rows in the lanes, for one sample: its instructions.

    What is staged lies in the work: inputs of some groups of W rows as vectors, then results, then the function's own work, then for each
    sum its parts, and for each sink whose rows go one by one room for W of them.
    """

    def __init__(self, loop: Any, module: Any, name: str) -> None:
        if loop.tabled:
            put_arena(module)
        self.loop, self.module, self.name, self.wide = loop, module, name, (wide := module.rows(loop.f))
        f, work = wide.function(loop.f)
        self.f = module.named(wide, f)
        self.W, self.D = wide.width, wide.D
        self.groups = 1 if wide is module else GROUPS                          # loops of one sample are for one group each
        self.s_in, self.s_out, self.s_work = (wide.bytes(k) for k in (loop.f.n_in, len(loop.f.outputs), work))
        self.w = TableWriter([])
        self.size = self.groups * (self.s_in + self.s_out + self.s_work)
        self.made = [*itertools.accumulate((len(s.shapes) for s in loop.sinks), initial=0)]     # where results of sinks begin
        self.own: list[int] = []                                               # and their parts of the work
        for s in loop.sinks:
            self.own.append(self.size)
            rows = ops.PARTS if s.how == "sum" else self.W if s.how in ("added", "chosen") else 0
            self.size += (8 * rows * s.results + 8 * self.W * (1 + s.several) + ALIGNED - 1) // ALIGNED * ALIGNED

    def emit(self) -> int:
        """Write it; how many numbers of work it needs."""
        w, put, loop, W = self.w, self.w.put, self.loop, self.W
        arena = w.element("%work", 0, "ptr") if loop.tabled else "null"
        start = put(f"add i64 {put('ptrtoint ptr %work to i64')}, {8 + ALIGNED - 1}")
        stage = put(f"inttoptr i64 {put(f'and i64 {start}, {-ALIGNED}')} to ptr")
        out, lent = (w.byte(stage, self.groups * k) for k in (self.s_in, self.s_in + self.s_out))
        reads, through, n = self.counted(arena)
        sinks = self.prepared(arena, n, stage)
        self.from_outside(stage, lent, arena)
        w.lines += ["  br label %head", "head:", f"  %r = phi i64 [0, %{w.block}], [%r.next, %done]", f"  %more = icmp slt i64 %r, {n}",
                    "  br i1 %more, label %load, label %end", "load:", f"  %left = sub i64 {n}, %r", f"  %left.up = add i64 %left, {W - 1}",
                    f"  %all = sdiv i64 %left.up, {W}", f"  %now = call i64 @llvm.smin.i64(i64 %all, i64 {self.groups})",
                    f"  %last = sub i64 {n}, 1", "  br label %pack", "pack:", "  %g = phi i64 [0, %load], [%g.next, %packed]",
                    f"  %g.w = mul i64 %g, {W}", "  %from = add i64 %r, %g.w"]  # fmt: skip
        self.pack(reads, through, w.byte(stage, w.product("%g", self.s_in)), arena)
        w.lines += ["  br label %packed", "packed:", "  %g.next = add i64 %g, 1", "  %g.more = icmp slt i64 %g.next, %now",
                    "  br i1 %g.more, label %pack, label %each", "each:",
                    *(["  call void @arena.begin(ptr %own)"] if loop.f.tabled else []),
                    f"  call void {self.f}(ptr {stage}, ptr {out}, ptr {lent}, i64 %now, i64 {self.s_in}, i64 {self.s_out}, "
                    f"i64 {self.s_work})"]  # fmt: skip
        if loop.f.tabled:
            w.pass_on("%own", arena)
        w.begin("computed")
        w.lines += ["  br label %unpack", "unpack:", "  %h = phi i64 [0, %computed], [%h.next, %unpacked]", f"  %h.w = mul i64 %h, {W}",
                    "  %row = add i64 %r, %h.w", f"  %rest = sub i64 {n}, %row",
                    f"  %alive = call i64 @llvm.smin.i64(i64 %rest, i64 {W})"]  # fmt: skip
        lanes = w.byte(out, w.product("%h", self.s_out))
        for k, (s, at) in enumerate(zip(loop.sinks, sinks, strict=True)):
            self.sink(k, s, lanes, at, arena)
            lanes = w.byte(lanes, self.wide.bytes(s.results))
        w.lines += ["  br label %unpacked", "unpacked:", "  %h.next = add i64 %h, 1", "  %h.more = icmp slt i64 %h.next, %now",
                    "  br i1 %h.more, label %unpack, label %done", "done:", f"  %r.next = add i64 %r, {self.groups * W}",
                    "  br label %head", "end:"]  # fmt: skip
        if loop.f.tabled:
            w.lines.append("  call void @arena.free(ptr %own)")
        self.finish(sinks)
        self.module.text.append(for_one(self.name, w.lines))
        return 1 + ALIGNED // 8 + self.size // 8

    # ------------------------------------------------------------ before the loop

    def counted(self, arena: str) -> tuple[list[str], list[tuple[str, str]], str]:
        """Where the rows of each source begin, the numbers of others and of how many rows these are, and how many rows there are."""
        w, loop = self.w, self.loop
        tables = [w.element("%in", k, "ptr") for k in range(loop.first)]
        begin, rows = [w.element(d, 1, "ptr") for d in tables], [w.element(d, 0) for d in tables]
        first = len(loop.sources)
        n, same = smallest(w, [rows[k] for k, s in enumerate(loop.sources) if s.how != "through"] + rows[first:])
        self.same = same
        if loop.first > 1 and loop.tabled:
            w.mark(arena, DIFFERENT, w.put(f"xor i1 {same}, true"))
        through = []
        for k in range(loop.indices):                                          # of an empty table there are no rows
            least, _ = smallest(w, [x for x, s in zip(rows, loop.sources, strict=False) if s.index == k])
            empty = w.put(f"icmp slt i64 {least}, 1")
            w.mark(arena, NO_ROW, w.put(f"and i1 {empty}, {w.put(f'icmp sgt i64 {n}, 0')}"))
            n = w.put(f"select i1 {empty}, i64 0, i64 {n}")
            through.append((begin[first + k], least))
        return begin[:first], through, n

    def prepared(self, arena: str, n: str, stage: str) -> list[tuple[str, ...]]:
        """Memory of what sinks make: of each where its rows begin, and what else is asked of it while rows come."""
        w, W, targets = self.w, self.W, self.loop.first + self.loop.outside
        found: list[tuple[str, ...]] = []
        for k, s in enumerate(self.loop.sinks):
            own = w.byte(stage, self.own[k])
            if s.how == "sum":
                w.lines.append(f"  call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {8 * ops.PARTS * s.columns}, i1 false)")
                found.append((own,))
                continue
            target = w.element("%in", targets, "ptr") if s.adds else ""
            targets += bool(target)
            rows = w.element(target, 0) if target else n
            whole = w.put(f"and i64 {w.put(f'add i64 {rows}, {2 * W - 1}')}, {-W}")
            memory = w.put(f"call ptr @take(ptr {arena}, i64 {w.product(whole, 8 * s.columns, DESCRIPTOR + 64)})")
            good = w.put(f"icmp ne ptr {memory}, null")
            w.lines += [f"  br i1 {good}, label %good{k}, label %bad{k}", f"bad{k}:"]
            for j in range(self.made[-1]):
                w.keep("@table.none", "%out", j, "ptr")
            w.lines += ["  ret void", f"good{k}:"]
            data = w.described(memory, rows)
            w.keep(memory, "%out", self.made[k], "ptr")
            if target:
                w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {data}, ptr {w.element(target, 1, 'ptr')}, "
                               f"i64 {w.product(rows, 8 * s.columns)}, i1 false)")  # fmt: skip
            if s.how == "chosen":
                w.keep("0", memory, 0)
            found.append((data, memory, rows, own))
        return found

    def from_outside(self, stage: str, lent: str, arena: str) -> None:
        """What is the same for all rows, in all lanes."""
        w, loop = self.w, self.loop
        for j in range(loop.outside):
            v = w.spread(w.element("%in", loop.first + j, "double"), self.W)
            for g in range(self.groups):
                w.lines.append(f"  store {self.D} {v}, ptr {w.byte(stage, g * self.s_in + (loop.place + j) * self.W * 8)}")
        if loop.f.tabled:                                                      # tables of a row are no more at the next
            w.lines += [f"  %own = alloca [{SIZE} x i8], align 8", f"  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 {SIZE}, i1 false)"]
            w.keep("%own", lent, 0, "ptr")

    # ------------------------------------------------------------ in it

    def pack(self, reads: list[str], through: list[tuple[str, str]], base: str, arena: str) -> None:
        """A group's rows into vectors."""
        w, W = self.w, self.W
        places = []
        for numbers, rows in through:
            places.append(w.row_numbers(w.numbers(numbers, "%from", "%last", W), rows, W, arena))
        for s, data in zip(self.loop.sources, reads, strict=True):
            to = w.byte(base, s.place * W * 8)
            if s.how == "numbers":
                for lane in range(W):
                    r = w.put(f"add i64 %from, {lane}")
                    w.lines.append(f"  store double {w.put(f'sitofp i64 {r} to double')}, ptr {w.byte(to, 8 * lane)}")
                continue
            if s.how == "rows" and s.columns == 1:                             # they stand side by side
                w.lines.append(f"  store {self.D} {w.numbers(data, '%from', '%last', W)}, ptr {to}")
                continue
            own = self.module.named(self.wide, self.wide.once(f"@rows.pack.{s.columns}", packing(W, s.columns)))
            if s.how == "rows":
                k = [w.put(f"call i64 @llvm.smin.i64(i64 {w.put(f'add i64 %from, {lane}')}, i64 %last)") for lane in range(W)]
            else:
                k = places[s.index]
            w.lines.append(f"  call void {own}({', '.join(f'i64 {x}' for x in k)}, ptr {data}, ptr {to})")

    def sink(self, k: int, s: Sink, lanes: str, at: tuple[str, ...], arena: str) -> None:
        """What becomes of a group's results."""
        w, W = self.w, self.W
        if s.how == "sum":
            return self.summed(s, lanes, at[0])
        if s.how == "tables":
            return self.add_table(s, w.element(lanes, 0, "ptr"), at, arena)
        unpack = self.module.named(self.wide, self.wide.once(f"@rows.unpack.{s.results}", unpacking(W, s.results)))
        if s.how == "rows":
            to = w.byte(at[0], w.product("%row", 8 * s.columns))
            w.lines.append(f"  call void {unpack}(ptr {lanes}, ptr {to})")
            return None
        data, memory, rows, own = at
        if s.how == "added":
            for j in range(s.several):
                x = w.put(f"load {self.D}, ptr {w.byte(lanes, j * (s.columns + 1) * W * 8)}")
                x = w.put(f"select {w.below('%alive', W)}, {self.D} {x}, {self.D} {splat('double', W, literal(0.0))}")
                for lane, i in enumerate(w.row_numbers(x, rows, W, arena)):
                    w.keep(i, own, W * j + lane)
        rows_of = w.byte(own, 8 * W * s.several)
        w.lines += [f"  call void {unpack}(ptr {lanes}, ptr {rows_of})", f"  br label %one{k}.head", f"one{k}.head:",
                    f"  %l{k} = phi i64 [0, %{w.block}], [%l{k}.next, %one{k}]", f"  %l{k}.more = icmp slt i64 %l{k}, %alive",
                    f"  br i1 %l{k}.more, label %one{k}, label %after{k}", f"one{k}:"]  # fmt: skip
        row = w.byte(rows_of, w.product(f"%l{k}", 8 * s.results))
        if s.how == "chosen":
            count = w.element(memory, 0)
            to = w.byte(data, w.product(count, 8 * s.columns))
            w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {w.byte(row, 8)}, i64 {8 * s.columns}, i1 false)")
            truth = w.put(f"fcmp une double {w.put(f'load double, ptr {row}')}, {literal(0.0)}")
            w.keep(w.put(f"add i64 {count}, {w.put(f'zext i1 {truth} to i64')}"), memory, 0)
        for j in range(s.several if s.how == "added" else 0):
            i = w.put(f"load i64, ptr {w.byte(own, w.product(w.put(f'add i64 %l{k}, {W * j}'), 8))}")
            w.add_row(w.byte(data, w.product(i, 8 * s.columns)), w.byte(row, 8 * (j * (s.columns + 1) + 1)), s.columns)
        w.lines += [f"  %l{k}.next = add i64 %l{k}, 1", f"  br label %one{k}.head", f"after{k}:"]
        return None

    def add_table(self, s: Sink, table: str, at: tuple[str, ...], arena: str) -> None:
        """A table of the row's added to another."""
        w, (data, _, rows, _), k = self.w, at, self.w.count
        other = w.put(f"icmp ne i64 {w.element(table, 0)}, {rows}")
        w.mark(arena, DIFFERENT, other)
        n, begin = w.put(f"select i1 {other}, i64 0, i64 {w.product(rows, s.columns)}"), w.element(table, 1, "ptr")
        w.lines += [f"  br label %all{k}", f"all{k}:", f"  %a{k} = phi i64 [0, %{w.block}], [%a{k}.next, %some{k}]",
                    f"  %a{k}.more = icmp slt i64 %a{k}, {n}", f"  br i1 %a{k}.more, label %some{k}, label %summed{k}",
                    f"some{k}:"]  # fmt: skip
        place = w.product(f"%a{k}", 8)
        w.add_row(w.byte(data, place), w.byte(begin, place), 1)
        w.lines += [f"  %a{k}.next = add i64 %a{k}, 1", f"  br label %all{k}", f"summed{k}:"]

    def summed(self, s: Sink, lanes: str, parts: str) -> None:
        """A group's results to the parts of a sum: row k to the part numbered k modulo eight."""
        w, W, D = self.w, self.W, self.D
        place = w.product(w.put(f"and i64 %row, {ops.PARTS - 1}"), 8)
        mask = w.below("%alive", W)
        for c in range(s.columns):
            at = w.byte(w.byte(parts, 8 * ops.PARTS * c), place)
            x, y = w.put(f"load {D}, ptr {at}, align 8"), w.put(f"load {D}, ptr {w.byte(lanes, c * W * 8)}")
            y = w.put(f"select {mask}, {D} {y}, {D} {splat('double', W, literal(0.0))}")
            w.lines.append(f"  store {D} {w.put(f'fadd {D} {x}, {y}')}, ptr {at}, align 8")

    # ------------------------------------------------------------ after it

    def finish(self, sinks: list[tuple[str, ...]]) -> None:
        """The sums."""
        w = self.w
        for s, at, begin in zip(self.loop.sinks, sinks, self.made, strict=False):
            for c in range(s.columns if s.how == "sum" else 0):
                parts = [w.put(f"load double, ptr {w.byte(at[0], 8 * (ops.PARTS * c + p))}") for p in range(ops.PARTS)]
                y = w.put(f"select i1 {self.same}, double {folded(w, parts, 'double')}, double {literal(float('nan'))}")
                w.keep(y, "%out", begin + c, "double")


def packing(W: int, n: int) -> str:
    """IR of ``pack(k…, data, lanes)``: the W rows of these numbers, of n columns, as n vectors."""
    w = TableWriter([])
    put, D, M = w.put, f"<{W} x double>" if W > 1 else "double", f"<{W} x i1>"
    p = [w.byte("%data", w.product(f"%k{lane}", 8 * n)) for lane in range(W)]
    for c in range(0, n, W):
        own = min(W, n - c)
        if W == 1 or own <= W // 4:
            for j in range(c, c + own):
                v = "poison"
                for lane in range(W):
                    x = put(f"load double, ptr {w.byte(p[lane], 8 * j)}")
                    v = put(f"insertelement {D} {v}, double {x}, i64 {lane}") if W > 1 else x
                w.lines.append(f"  store {D} {v}, ptr {w.byte('%lanes', j * W * 8)}")
            continue
        q = [w.byte(x, 8 * c) for x in p]
        mask = f"<{', '.join(f'i1 {str(j < own).lower()}' for j in range(W))}>"
        rows = [put(f"load {D}, ptr {x}, align 8" if own == W else
                    f"call {D} @llvm.masked.load.v{W}f64.p0(ptr {x}, i32 8, {M} {mask}, {D} zeroinitializer)") for x in q]  # fmt: skip
        for j, x in enumerate(exchanged(put, rows)[:own]):
            w.lines.append(f"  store {D} {x}, ptr {w.byte('%lanes', (c + j) * W * 8)}")
    numbers = ", ".join(f"i64 %k{lane}" for lane in range(W))
    return "\n".join([f"define internal void @rows.pack.{n}({numbers}, ptr %data, ptr %lanes) noinline nounwind {{", *w.lines,
                      "  ret void", "}"])  # fmt: skip


def unpacking(W: int, m: int) -> str:
    """IR of ``unpack(lanes, to)``: m vectors as W rows one after another; what is written beyond a row is overwritten by the next, and
    behind the last there is room."""
    w, D = TableWriter([]), f"<{W} x double>" if W > 1 else "double"
    if W > 1 and m <= W // 4:
        v = [w.put(f"load {D}, ptr {w.byte('%lanes', c * W * 8)}") for c in range(m)]
        for lane in range(W if m > 1 else 0):
            for c in range(m):
                x = w.put(f"extractelement {D} {v[c]}, i64 {lane}")
                w.lines.append(f"  store double {x}, ptr {w.byte('%to', 8 * (lane * m + c))}")
        if m == 1:
            w.lines.append(f"  store {D} {v[0]}, ptr %to, align 8")
    blocks = []
    for c in range(0, m if W == 1 or m > W // 4 else 0, W):
        v = [w.put(f"load {D}, ptr {w.byte('%lanes', (c + j) * W * 8)}") if c + j < m else "zeroinitializer" for j in range(W)]
        blocks.append(exchanged(w.put, v) if W > 1 else v)
    for lane in range(W if blocks else 0):
        for b, rows in enumerate(blocks):
            w.lines.append(f"  store {D} {rows[lane]}, ptr {w.byte('%to', 8 * (lane * m + b * W))}, align 8")
    return "\n".join([f"define internal void @rows.unpack.{m}(ptr %lanes, ptr %to) noinline nounwind {{", *w.lines, "  ret void", "}"])
