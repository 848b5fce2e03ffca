"""LLVM IR of loops over rows: with rows in the lanes of vectors, or one by one where samples are in the lanes."""

from __future__ import annotations

import itertools
from typing import Any

from engine.compiler.graph.kernel import for_one, over_groups
from engine.compiler.graph.vecmath import literal, splat
from engine.compiler.kernels.arena import DESCRIPTOR, DIFFERENT, NO_ROW, SIZE, TableWriter, put_arena
from engine.compiler.kernels.row_reads import Reader
from engine.compiler.kernels.row_sources_sinks import Sink
from engine.compiler.kernels.row_vectors import FEW, rows_of, side_by_side, standing, stood, stride, unpacking
from engine.ops.tables import PARTS

#: groups of W rows that go together through a function, whose code is fetched as much less often
GROUPS = 4
#: bytes that vectors begin at a multiple of
ALIGNED = 64


def smallest(w: TableWriter, counts: list[str]) -> tuple[str, str]:
    """Return the least of some counts, and whether they are equal."""
    n, same = counts[0], "true"
    for c in counts[1:]:
        same = w.put(f"and i1 {same}, {w.put(f'icmp eq i64 {c}, {counts[0]}')}")
        n = w.put(f"call i64 @llvm.smin.i64(i64 {n}, i64 {c})")
    return n, same


def folded(w: TableWriter, x: list[str], D: str) -> str:
    """Return the sum of partial sums, the second half added to the first."""
    while len(x) > 1:
        half = len(x) // 2
        x = [w.put(f"fadd {D} {a}, {b}") for a, b in zip(x[:half], x[half:], strict=True)]
    return x[0]


def samples_in_lanes(loop: Any, module: Any, name: str) -> int:
    """Write a loop within lanes: a sum over rows that all lanes read, a few of them at a time through the function. The kernel's work is
    what the function is given, then its results, and its own work, for each of these rows, and the parts of the sum."""
    f, work = module.function(loop.f)
    w, D, one = TableWriter([]), module.D, module.bytes(1)
    put, m = w.put, sum(s.columns for s in loop.sinks)
    s_in, s_out, s_work = loop.f.n_in * one, m * one, work * one
    stage = w.byte("%work", one) if loop.tabled else "%work"                   # behind the address of the arena
    y, lent, parts = (w.byte(stage, GROUPS * k) for k in (s_in, s_in + s_out, s_in + s_out + s_work))
    for g in range(GROUPS if loop.tabled else 0):
        w.keep(w.element("%work", 0, "ptr"), w.byte(lent, g * s_work), 0, "ptr")
    tables = [w.element("%in.g", k * module.width, "ptr") for k in range(len(loop.sources))]
    n, same = smallest(w, [w.element(t, 0) for t in tables])
    starts, outside = [w.element(t, 1, "ptr") for t in tables], w.byte("%in.g", loop.first * one)
    for g in range(GROUPS if loop.outside else 0):
        to = w.byte(stage, g * s_in + loop.place * one)
        w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {outside}, i64 {loop.outside * one}, i1 false)")
    w.lines += [f"  call void @llvm.memset.p0.i64(ptr {parts}, i8 0, i64 {PARTS * s_out}, i1 false)", "  br label %head", "head:",
                "  %r = phi i64 [0, %go], [%r.next, %summed]", f"  %r.left = sub i64 {n}, %r",
                f"  %now = call i64 @llvm.smin.i64(i64 %r.left, i64 {GROUPS})", "  %r.more = icmp sgt i64 %now, 0",
                "  br i1 %r.more, label %fill, label %fold", "fill:", "  %k = phi i64 [0, %head], [%k.next, %fill]",
                "  %row = add i64 %r, %k"]  # fmt: skip
    to = w.byte(stage, w.product("%k", s_in))
    for s, start in zip(loop.sources, starts, strict=True):
        at = w.byte(start, w.product("%row", 8 * s.columns))
        for c in range(s.columns):
            x = put("sitofp i64 %row to double") if s.how == "numbers" else put(f"load double, ptr {w.byte(at, 8 * c)}")
            w.lines.append(f"  store {D} {w.spread(x, module.width)}, ptr {w.byte(to, (s.place + c) * one)}")
    w.lines += ["  %k.next = add i64 %k, 1", "  %k.more = icmp slt i64 %k.next, %now", "  br i1 %k.more, label %fill, label %each", "each:",
                f"  call void {f}(ptr {stage}, ptr {y}, ptr {lent}, i64 %now, i64 {s_in}, i64 {s_out}, i64 {s_work})", "  br label %sum",
                "sum:", "  %j = phi i64 [0, %each], [%j.next, %sum]", "  %sum.row = add i64 %r, %j"]  # fmt: skip
    part, own = w.byte(parts, w.product(put(f"and i64 %sum.row, {PARTS - 1}"), s_out)), w.byte(y, w.product("%j", s_out))
    for c in range(m):
        at = w.byte(part, c * one)
        a, b = put(f"load {D}, ptr {at}"), put(f"load {D}, ptr {w.byte(own, c * one)}")
        w.lines.append(f"  store {D} {put(f'fadd {D} {a}, {b}')}, ptr {at}")
    w.lines += ["  %j.next = add i64 %j, 1", "  %j.more = icmp slt i64 %j.next, %now", "  br i1 %j.more, label %sum, label %summed",
                "summed:", "  %r.next = add i64 %r, %now", "  br label %head", "fold:"]  # fmt: skip
    nan = splat("double", module.width, literal(float("nan")))
    for c in range(m):
        each = [put(f"load {D}, ptr {w.byte(parts, (p * m + c) * one)}") for p in range(PARTS)]
        w.lines.append(f"  store {D} {put(f'select i1 {same}, {D} {folded(w, each, D)}, {D} {nan}')}, ptr {w.byte('%out.g', c * one)}")
    module.text.append(over_groups(name, [*w.lines, "  br label %done"]))
    return GROUPS * (loop.f.n_in + m + work) + PARTS * m + loop.tabled


class RowsInLanes(Reader):
    """Writes the loop of one sample, with rows in the lanes.

    What is staged lies in the work: inputs of some groups of W rows as vectors, then results, then the function's own work, then for each
    sum its parts, and for each sink whose rows go one by one room for W of them.
    """

    def __init__(self, loop: Any, module: Any, name: str) -> None:
        if loop.tabled:
            put_arena(module)
        super().__init__(loop, module)
        self.name, wide = name, self.wide
        self.late = self.short and any(s.how == "added" for s in loop.sinks)
        f, work = ("", 0) if self.short else wide.function(loop.f)
        self.f = module.named(wide, f)
        self.groups = 1 if wide is module or self.short else GROUPS            # loops of one sample are for one group each
        self.s_in, self.s_out, self.s_work = (wide.bytes(k) for k in (loop.f.n_in, len(loop.f.outputs), work))
        self.size = self.groups * (self.s_in + self.s_out + self.s_work)
        self.made = [*itertools.accumulate((len(s.shapes) for s in loop.sinks), initial=0)]     # where results of sinks begin
        self.own: list[int] = []                                               # and their parts of the work
        for s in loop.sinks:
            self.own.append(self.size)
            apart = self.W * s.several * (stride(self.W, s.columns) + 1)
            room = {"sum": PARTS * s.columns, "chosen": self.W * (s.results + 1), "added": apart}
            self.size += (8 * room.get(s.how, 0) + ALIGNED - 1) // ALIGNED * ALIGNED

    def emit(self) -> int:
        """Write the loop; return the size of its work."""
        w, put, loop, W = self.w, self.w.put, self.loop, self.W
        arena = w.element("%work", 0, "ptr") if loop.tabled else "null"
        start = put(f"add i64 {put('ptrtoint ptr %work to i64')}, {8 + ALIGNED - 1}")
        stage = put(f"inttoptr i64 {put(f'and i64 {start}, {-ALIGNED}')} to ptr")
        out, lent = (w.byte(stage, self.groups * k) for k in (self.s_in, self.s_in + self.s_out))
        reads, through, n = self.counted(arena)
        self.n = n
        sinks = self.prepared(arena, n, stage)
        outside = self.from_outside(stage, lent, arena)
        w.lines += [f"  %final.w = sub i64 {n}, {W}", "  %final = call i64 @llvm.smax.i64(i64 %final.w, i64 0)"]
        self.lanes = out
        if self.late:
            again = self.computed_ahead(reads, through, stage, outside, arena)
            w.lines += ["  %some = icmp sgt i64 %alive, 0", "  br i1 %some, label %behind, label %done", "behind:"]
        else:
            w.lines += ["  br label %head", "head:", f"  %r = phi i64 [0, %{w.block}], [%r.next, %done]", f"  %more = icmp slt i64 %r, {n}",
                        f"  %last = sub i64 {n}, 1", "  br i1 %more, label %load, label %end", "load:"]  # fmt: skip
            again = (self.computed(reads, through, stage, outside, arena) if self.short else
                     self.staged(reads, through, stage, out, lent, arena))  # fmt: skip
            w.lines += [f"  %rest = sub i64 {n}, %row", f"  %alive = call i64 @llvm.smin.i64(i64 %rest, i64 {W})"]
        c = 0                                                                  # the first of a sink's columns
        for k, (s, at) in enumerate(zip(loop.sinks, sinks, strict=True)):
            self.sink(k, s, c, at, arena)
            c += s.results
        w.lines += [*again, f"  %r.next = add i64 %r, {self.groups * W}"]
        w.lines += ["  br i1 %more, label %head, label %end" if self.late else "  br label %head", "end:"]
        if loop.f.takes:
            w.lines.append("  call void @arena.free(ptr %own)")
        self.finish(sinks)
        self.module.text.append(for_one(self.name, w.lines))
        return 1 + ALIGNED // 8 + self.size // 8

    def computed(self, reads: list[str], through: list[tuple[str, ...]], stage: str, outside: list[str], arena: str) -> list[str]:
        """Write the inlined function of a group of rows; return the lines that follow its sinks."""
        w = self.w
        self.begin("%from", "%r")
        lines, self.results = self.wide.straight(self.loop.f, self.read(reads, through, stage, arena) + outside, self.module)
        w.lines += [*lines, *([] if self.late else ["  %row = add i64 %from, 0"])]
        return ["  br label %done", "done:"]

    def computed_ahead(self, reads: list[str], through: list[tuple[str, ...]], stage: str, outside: list[str], arena: str) -> list[str]:
        """Write the inlined function of the next group before the sinks of the group before, so that neither waits for the other; return
        the lines that follow the sinks."""
        w, D, n, before = self.w, self.D, self.n, self.w.block
        w.lines += ["  br label %head", "head:"]
        head = len(w.lines)
        w.lines += [f"  %more = icmp slt i64 %r, {n}", f"  %last = sub i64 {n}, 1", "  br i1 %more, label %load, label %none", "load:"]
        again = self.computed(reads, through, stage, outside, arena)
        block, results = w.block, self.results
        w.lines += ["  br label %ahead", "none:", "  br label %ahead", "ahead:"]
        nothing = splat("double", self.W, literal(0.0))
        ahead = [w.put(f"phi {D} [{x}, %{block}], [{nothing}, %none]") for x in results]
        w.lines += [f"  %from.next = phi i64 [%from, %{block}], [{n}, %none]", f"  %rest = sub i64 {n}, %from.next",
                    f"  %alive.next = call i64 @llvm.smin.i64(i64 %rest, i64 {self.W})"]  # fmt: skip
        self.results = [f"%late{j}" for j in range(len(results))]
        waiting = [("%r", "i64", "0", "%r.next"), ("%row", "i64", "0", "%from.next"), ("%alive", "i64", "0", "%alive.next"),
                   *((x, D, nothing, y) for x, y in zip(self.results, ahead, strict=True))]  # fmt: skip
        w.lines[head:head] = [f"  {x} = phi {kind} [{begin}, %{before}], [{after}, %done]" for x, kind, begin, after in waiting]
        return again

    def staged(self, reads: list[str], through: list[tuple[str, ...]], stage: str, out: str, lent: str, arena: str) -> list[str]:
        """Write the calls of the function for some groups of rows; return the lines that follow the sinks of a group."""
        w, W, loop = self.w, self.W, self.loop
        w.lines += [f"  %left = sub i64 {self.n}, %r", f"  %left.up = add i64 %left, {W - 1}", f"  %all = sdiv i64 %left.up, {W}",
                    f"  %now = call i64 @llvm.smin.i64(i64 %all, i64 {self.groups})", "  br label %pack", "pack:",
                    "  %g = phi i64 [0, %load], [%g.next, %packed]", f"  %g.w = mul i64 %g, {W}",
                    "  %from.r = add i64 %r, %g.w"]  # fmt: skip
        self.begin("%from", "%from.r")
        base = w.byte(stage, w.product("%g", self.s_in))
        for j, x in enumerate(self.read(reads, through, base, arena)):
            if x:
                w.lines.append(f"  store {self.D} {x}, ptr {w.byte(base, self.wide.bytes(j))}")
        w.lines += ["  br label %packed", "packed:", "  %g.next = add i64 %g, 1", "  %g.more = icmp slt i64 %g.next, %now",
                    "  br i1 %g.more, label %pack, label %each", "each:",
                    *(["  call void @arena.begin(ptr %own)"] if loop.f.takes else []),
                    f"  call void {self.f}(ptr {stage}, ptr {out}, ptr {lent}, i64 %now, i64 {self.s_in}, i64 {self.s_out}, "
                    f"i64 {self.s_work})"]  # fmt: skip
        if loop.f.takes:
            w.pass_on("%own", arena)
        w.begin("computed")
        w.lines += ["  br label %unpack", "unpack:", "  %h = phi i64 [0, %computed], [%h.next, %unpacked]", f"  %h.w = mul i64 %h, {W}",
                    "  %row.r = add i64 %r, %h.w"]  # fmt: skip
        self.begin("%row", "%row.r")
        self.lanes = w.byte(out, w.product("%h", self.s_out))
        return ["  br label %unpacked", "unpacked:", "  %h.next = add i64 %h, 1",
            "  %h.more = icmp slt i64 %h.next, %now", "  br i1 %h.more, label %unpack, label %done", "done:"]  # fmt: skip

    def begin(self, group: str, row: str) -> None:
        """Write where a group begins: the last group is moved back to end at the last row, which repeats rows, where results are rows
        alone."""
        again = self.W > 1 and all(s.how == "rows" for s in self.loop.sinks)
        self.w.lines.append(f"  {group} = call i64 @llvm.smin.i64(i64 {row}, i64 %final)" if again else f"  {group} = add i64 {row}, 0")

    # ------------------------------------------------------------ before the loop

    def counted(self, arena: str) -> tuple[list[str], list[tuple[str, ...]], str]:
        """Return the first address of each source's rows, the tables of row numbers with the rows that they number, and the loop's count.
        """
        w, loop = self.w, self.loop
        tables = [w.element("%in", k, "ptr") for k in range(loop.first)]
        begin, rows = [w.element(d, 1, "ptr") for d in tables], [w.element(d, 0) for d in tables]
        first = len(loop.sources)
        n, same = smallest(w, [rows[k] for k, s in enumerate(loop.sources) if s.how != "through"] + rows[first:])
        self.same = same
        if loop.first > 1 and loop.tabled:
            w.mark(arena, DIFFERENT, w.put(f"xor i1 {same}, true"))
        through: list[tuple[str, ...]] = []
        for k in range(loop.indices):                                          # of an empty table there are no rows
            least, _ = smallest(w, [x for x, s in zip(rows, loop.sources, strict=False) if s.index == k])
            empty = w.put(f"icmp slt i64 {least}, 1")
            w.mark(arena, NO_ROW, w.put(f"and i1 {empty}, {w.put(f'icmp sgt i64 {n}, 0')}"))
            n = w.put(f"select i1 {empty}, i64 0, i64 {n}")
            starts = w.put(f"call i64 @llvm.smax.i64(i64 {w.put(f'sub i64 {least}, {self.W - 1}')}, i64 0)")
            through.append((begin[first + k], w.top(least, self.W), starts))
        return begin[:first], through, n

    def prepared(self, arena: str, n: str, stage: str) -> list[tuple[str, ...]]:
        """Allocate the sinks' results; return where the rows of each begin, and what else it needs while rows come."""
        w, W, targets = self.w, self.W, self.loop.first + self.loop.outside
        found: list[tuple[str, ...]] = []
        for k, s in enumerate(self.loop.sinks):
            own = w.byte(stage, self.own[k])
            if s.how == "sum":
                w.lines.append(f"  call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {8 * PARTS * s.columns}, i1 false)")
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
            starts = w.put(f"call i64 @llvm.smax.i64(i64 {w.put(f'sub i64 {rows}, {W - 1}')}, i64 0)")
            found.append((data, w.top(rows, W), own, starts) if s.how == "added" else (data, memory, rows, own))
        return found

    def from_outside(self, stage: str, lent: str, arena: str) -> list[str]:
        """Spread the values that all rows share over the lanes; for a function that is called, store them before each group."""
        w, loop = self.w, self.loop
        values = [w.spread(w.element("%in", loop.first + j, "double"), self.W) for j in range(loop.outside)]
        if self.short:
            if loop.f.tabled:
                w.lines.append(f"  %arena = getelementptr i8, ptr {arena}, i64 0")
            w.lines.append(f"  %constants = getelementptr i8, ptr {self.module.named(self.wide, '@constants')}, i64 0")
            return values
        for j, v in enumerate(values):
            for g in range(self.groups):
                w.lines.append(f"  store {self.D} {v}, ptr {w.byte(stage, g * self.s_in + (loop.place + j) * self.W * 8)}")
        for g in range(self.groups if loop.f.tabled and not loop.f.takes else 0):
            w.keep(arena, w.byte(lent, g * self.s_work), 0, "ptr")
        if loop.f.takes:                                                       # tables of a row are no more at the next
            w.lines += [f"  %own = alloca [{SIZE} x i8], align 8", f"  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 {SIZE}, i1 false)"]
            w.keep("%own", lent, 0, "ptr")
        return []

    # ------------------------------------------------------------ behind it

    def result(self, c: int) -> str:
        """Return a column of a group's results."""
        return self.results[c] if self.short else self.column(self.lanes, c)

    def staged_results(self, c: int, n: int) -> str:
        """Return the address of n columns of a group's results from column c on, stored if they were in registers."""
        to = self.w.byte(self.lanes, self.wide.bytes(c))
        for j in range(n if self.short else 0):
            self.w.lines.append(f"  store {self.D} {self.results[c + j]}, ptr {self.w.byte(to, self.wide.bytes(j))}")
        return to

    def sink(self, k: int, s: Sink, c: int, at: tuple[str, ...], arena: str) -> None:
        """Write the code that puts a group's results, from column c on, in sink k."""
        w, W = self.w, self.W
        if s.how == "sum":
            return self.summed(s, c, at[0])
        if s.how == "tables":
            return self.add_table(s, w.element(self.lanes, c, "ptr"), at, arena)
        if s.how == "added":
            return self.add_rows(k, s, c, at, arena)
        if s.how == "chosen":
            return self.choose(k, s, c, at)
        to = w.byte(at[0], w.product("%row", 8 * s.columns))
        if s.columns <= FEW:
            return side_by_side(w, W, [self.result(c + j) for j in range(s.columns)], to)
        unpack = self.module.named(self.wide, self.wide.once(f"@rows.unpack.{s.results}", unpacking(W, s.results)))
        w.lines.append(f"  call void {unpack}(ptr {self.staged_results(c, s.columns)}, ptr {to})")
        return None

    def choose(self, k: int, s: Sink, c: int, at: tuple[str, ...]) -> None:
        """Append those rows of a group whose condition holds."""
        w, (data, memory, _, own) = self.w, at
        unpack = self.module.named(self.wide, self.wide.once(f"@rows.unpack.{s.results}", unpacking(self.W, s.results)))
        w.lines += [f"  call void {unpack}(ptr {self.staged_results(c, s.results)}, ptr {own})",
                    f"  br label %one{k}.head", f"one{k}.head:", f"  %l{k} = phi i64 [0, %{w.block}], [%l{k}.next, %one{k}]",
                    f"  %l{k}.more = icmp slt i64 %l{k}, %alive", f"  br i1 %l{k}.more, label %one{k}, label %after{k}",
                    f"one{k}:"]  # fmt: skip
        row, count = w.byte(own, w.product(f"%l{k}", 8 * s.results)), w.element(memory, 0)
        to = w.byte(data, w.product(count, 8 * s.columns))
        w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {w.byte(row, 8)}, i64 {8 * s.columns}, i1 false)")
        truth = w.put(f"fcmp une double {w.put(f'load double, ptr {row}')}, {literal(0.0)}")
        w.keep(w.put(f"add i64 {count}, {w.put(f'zext i1 {truth} to i64')}"), memory, 0)
        w.lines += [f"  %l{k}.next = add i64 %l{k}, 1", f"  br label %one{k}.head", f"after{k}:"]

    def add_rows(self, k: int, s: Sink, c: int, at: tuple[str, ...], arena: str) -> None:
        """Add a group's rows to those of their numbers: all at once where these are successive, else one row after another."""
        w, W, (data, top, own, starts) = self.w, self.W, at
        if alike := W > 1 and s.columns <= FEW and s.several <= 2:
            self.add_beside(k, s, c, data, starts)
        apart, I = stride(W, s.columns), w.lanes(W)
        size = 8 * W * (apart + 1)
        for j in range(s.several):
            first, to = c + j * (s.columns + 1), w.byte(own, j * size + 8 * W)
            x = w.put(f"select {w.below('%alive', W)}, {self.D} {self.result(first)}, {self.D} {splat('double', W, literal(0.0))}")
            place = w.put(f"mul {I} {w.row_places(x, top, W, arena)}, {splat('i64', W, str(8 * s.columns))}")
            w.lines.append(f"  store {I} {place}, ptr {w.byte(own, j * size)}, align 8")
            if s.columns <= FEW:
                stood(w, W, [self.result(first + 1 + i) for i in range(s.columns)], to, apart)
            else:
                stand = self.module.named(self.wide, self.wide.once(f"@rows.stand.{s.columns}", standing(W, s.columns)))
                w.lines.append(f"  call void {stand}(ptr {self.staged_results(first + 1, s.columns)}, ptr {to})")
        for lane in range(W):
            if lane:
                w.lines += [f"  br i1 {w.put(f'icmp sgt i64 %alive, {lane}')}, label %row{k}.{lane}, label %after{k}", f"row{k}.{lane}:"]
            for j in range(s.several):
                to = w.byte(data, w.element(w.byte(own, j * size), lane))
                w.add_row(to, w.byte(own, j * size + 8 * (W + lane * apart)), s.columns)
        w.begin(f"after{k}")
        if alike:
            w.begin(f"added{k}")

    def add_beside(self, k: int, s: Sink, c: int, data: str, starts: str) -> None:
        """A group's rows to those of their numbers at once, where these follow one another, and go on at the label ``added``; else at
        ``alone``. Of two that overlap, a row of the later numbers' comes first where both are added to it, as an earlier row's."""
        w, W, m = self.w, self.W, s.columns
        begin = [c + j * (m + 1) for j in range(s.several)]
        side = [w.side_by_side(self.result(b), starts, W) for b in begin]
        together = w.put(f"icmp eq i64 %alive, {W}")
        for _, own in side:
            together = w.put(f"and i1 {together}, {own}")
        w.lines += [f"  br i1 {together}, label %beside{k}, label %alone{k}", f"beside{k}:"]
        rows = [rows_of(w.put, [self.result(b + 1 + i) for i in range(m)], W) for b in begin]
        to = [w.byte(data, w.product(first, 8 * m)) for first, _ in side]
        if s.several == 2:
            later = w.put(f"icmp sgt i64 {side[1][0]}, {side[0][0]}")
            w.lines += [f"  br i1 {later}, label %second{k}, label %first{k}", f"second{k}:"]
            w.add_vectors(to[1], rows[1], W)
            w.add_vectors(to[0], rows[0], W)
            w.lines += [f"  br label %added{k}", f"first{k}:"]
        for place, vectors in zip(to, rows, strict=True):
            w.add_vectors(place, vectors, W)
        w.lines += [f"  br label %added{k}", f"alone{k}:"]

    def add_table(self, s: Sink, table: str, at: tuple[str, ...], arena: str) -> None:
        """Add a table that a row returns to another."""
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

    def summed(self, s: Sink, first: int, parts: str) -> None:
        """Add a group's results to the partial sums: row k to the one numbered k modulo eight."""
        w, W, D = self.w, self.W, self.D
        place = w.product(w.put(f"and i64 %row, {PARTS - 1}"), 8)
        mask = w.below("%alive", W)
        for c in range(s.columns):
            at = w.byte(w.byte(parts, 8 * PARTS * c), place)
            x = w.put(f"load {D}, ptr {at}, align 8")
            y = w.put(f"select {mask}, {D} {self.result(first + c)}, {D} {splat('double', W, literal(0.0))}")
            w.lines.append(f"  store {D} {w.put(f'fadd {D} {x}, {y}')}, ptr {at}, align 8")

    # ------------------------------------------------------------ after it

    def finish(self, sinks: list[tuple[str, ...]]) -> None:
        """Write the totals of the partial sums."""
        w = self.w
        for s, at, begin in zip(self.loop.sinks, sinks, self.made, strict=False):
            for c in range(s.columns if s.how == "sum" else 0):
                parts = [w.put(f"load double, ptr {w.byte(at[0], 8 * (PARTS * c + p))}") for p in range(PARTS)]
                y = w.put(f"select i1 {self.same}, double {folded(w, parts, 'double')}, double {literal(float('nan'))}")
                w.keep(y, "%out", begin + c, "double")
