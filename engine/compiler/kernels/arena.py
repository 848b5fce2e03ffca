"""Memory of tables while a program runs: descriptors, and the arena that rows are taken from, in LLVM IR.

A descriptor is two words: how many rows there are, and where the first begins; rows follow one another, as NumPy has them. An arena hands
out memory one piece after another and takes it back all at once. Where there is none left it asks for more, at least twice as much as
before; if that fails, or more is wanted than it may have, what was asked for is an empty table, and the state of the arena says so.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler import native_code
from engine.compiler.graph.vecmath import literal
from engine.compiler.kernels.instructions import Writer

#: words of an arena: where its free memory begins and ends; its last chunk, whose first two words are the chunk before and its size; its
#: state; what it has asked for in all
TOP, END, CHUNK, STATE, TAKEN = range(5)
SIZE = 64
#: states, added up: no memory; a number that is not that of a row; tables of different numbers of rows
NO_MEMORY, NO_ROW, DIFFERENT = 1, 2, 4
#: bytes of a descriptor, and before the rows of a table, which begin at a multiple of 64 as the memory does
DESCRIPTOR = 64
#: numbers that a loop passes on, from so many on at once
TOGETHER = 16
#: bytes of the first chunk, and most that one program may take in all, where it is not known how much memory there is
FIRST, MOST = 1 << 16, 1 << 36


@functools.cache
def most() -> int:
    """Bytes that the tables of one program may take in all: half of this machine's memory, as what is beyond it ends the process."""
    with contextlib.suppress(AttributeError, ValueError, OSError):             # where the system does not say
        return max(FIRST, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    return MOST


native_code.FILLED |= {"arena.most": most, "rows.arena.most": most}
TEXT = f"""@table.none = internal global [2 x i64] zeroinitializer, align 64

define internal ptr @take(ptr %arena, i64 %bytes) alwaysinline nounwind {{
  %more = add i64 %bytes, 63
  %whole = and i64 %more, -64
  %top = load i64, ptr %arena
  %new = add i64 %top, %whole
  %end.p = getelementptr i64, ptr %arena, i64 {END}
  %end = load i64, ptr %end.p
  %fits = icmp ule i64 %new, %end
  br i1 %fits, label %here, label %elsewhere
here:
  store i64 %new, ptr %arena
  %p = inttoptr i64 %top to ptr
  ret ptr %p
elsewhere:
  %q = call ptr @take.more(ptr %arena, i64 %whole)
  ret ptr %q
}}

define internal ptr @take.more(ptr %arena, i64 %bytes) noinline nounwind {{
entry:
  %chunk.p = getelementptr i64, ptr %arena, i64 {CHUNK}
  %taken.p = getelementptr i64, ptr %arena, i64 {TAKEN}
  %state.p = getelementptr i64, ptr %arena, i64 {STATE}
  %old = load ptr, ptr %chunk.p
  %taken = load i64, ptr %taken.p
  %twice = shl i64 %taken, 1
  %least = call i64 @llvm.umax.i64(i64 %twice, i64 {FIRST})
  %rows = call i64 @llvm.umax.i64(i64 %least, i64 %bytes)
  %size = add i64 %rows, 128
  %all = add i64 %taken, %size
  %most = load i64, ptr @arena.most
  %bounded = icmp ule i64 %all, %most
  br i1 %bounded, label %ask, label %none
ask:
  %raw = call ptr @malloc(i64 %size)
  %got = icmp ne ptr %raw, null
  br i1 %got, label %some, label %none
some:
  store ptr %old, ptr %raw
  %size.p = getelementptr i64, ptr %raw, i64 1
  store i64 %size, ptr %size.p
  store ptr %raw, ptr %chunk.p
  store i64 %all, ptr %taken.p
  %address = ptrtoint ptr %raw to i64
  %after = add i64 %address, 79
  %first = and i64 %after, -64
  %top = add i64 %first, %bytes
  %last = add i64 %address, %size
  store i64 %top, ptr %arena
  %end.p = getelementptr i64, ptr %arena, i64 {END}
  store i64 %last, ptr %end.p
  %p = inttoptr i64 %first to ptr
  ret ptr %p
none:
  %state = load i64, ptr %state.p
  %marked = or i64 %state, {NO_MEMORY}
  store i64 %marked, ptr %state.p
  ret ptr null
}}

define internal void @arena.free(ptr %arena) noinline nounwind {{
entry:
  %chunk.p = getelementptr i64, ptr %arena, i64 {CHUNK}
  %first = load ptr, ptr %chunk.p
  br label %head
head:
  %chunk = phi ptr [%first, %entry], [%before, %one]
  %more = icmp ne ptr %chunk, null
  br i1 %more, label %one, label %end
one:
  %before = load ptr, ptr %chunk
  call void @free(ptr %chunk)
  br label %head
end:
  call void @llvm.memset.p0.i64(ptr %arena, i8 0, i64 {SIZE}, i1 false)
  ret void
}}

define internal void @arena.begin(ptr %arena) alwaysinline nounwind {{
entry:
  %chunk.p = getelementptr i64, ptr %arena, i64 {CHUNK}
  %chunk = load ptr, ptr %chunk.p
  %some = icmp ne ptr %chunk, null
  br i1 %some, label %kept, label %end
kept:
  %before = load ptr, ptr %chunk
  %whole = icmp eq ptr %before, null
  br i1 %whole, label %again, label %new
again:
  %address = ptrtoint ptr %chunk to i64
  %after = add i64 %address, 79
  %top = and i64 %after, -64
  store i64 %top, ptr %arena
  br label %end
new:
  call void @arena.joined(ptr %arena)
  br label %end
end:
  %state.p = getelementptr i64, ptr %arena, i64 {STATE}
  store i64 0, ptr %state.p
  ret void
}}

define internal void @arena.joined(ptr %arena) noinline nounwind {{
  %taken.p = getelementptr i64, ptr %arena, i64 {TAKEN}
  %taken = load i64, ptr %taken.p
  call void @arena.free(ptr %arena)
  %p = call ptr @take.more(ptr %arena, i64 %taken)
  %q = ptrtoint ptr %p to i64
  store i64 %q, ptr %arena
  ret void
}}"""


SPARE = f"""define internal ptr @arena.lent(ptr %place) noinline nounwind {{
  %spare = atomicrmw xchg ptr %place, i64 0 seq_cst
  %some = icmp ne i64 %spare, 0
  br i1 %some, label %kept, label %new
kept:
  %p = inttoptr i64 %spare to ptr
  call void @arena.begin(ptr %p)
  ret ptr %p
new:
  %q = call ptr @malloc(i64 {SIZE})
  %got = icmp ne ptr %q, null
  br i1 %got, label %zero, label %end
zero:
  call void @llvm.memset.p0.i64(ptr %q, i8 0, i64 {SIZE}, i1 false)
  br label %end
end:
  ret ptr %q
}}

define internal void @arena.back(ptr %place, ptr %arena) noinline nounwind {{
  %address = ptrtoint ptr %arena to i64
  %other = atomicrmw xchg ptr %place, i64 %address seq_cst
  %some = icmp ne i64 %other, 0
  br i1 %some, label %one, label %end
one:
  %p = inttoptr i64 %other to ptr
  call void @arena.free(ptr %p)
  call void @free(ptr %p)
  br label %end
end:
  ret void
}}"""


def looping(name: str, body: str, columns: Sequence[int], way: str) -> str:
    """Return IR of ``loop(in, out, work, limit)``, which repeats a body that makes tables. It takes memory by turns from two arenas of its
    own, and copies tables that the body passes on and did not make (of ``columns``; 0 is a number)."""
    w, n = TableWriter([]), len(columns)

    def copies(whence: str, to: str, copy: str, other: str) -> None:
        """Tables, and numbers: a few one by one, as they were written, since what is read at once waits until all of it lies in memory."""
        if n > TOGETHER:
            w.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {whence}, i64 {8 * n}, i1 false)")
        for k, m in enumerate(columns):
            if m:
                table = w.put(f"call ptr @table.{copy}(ptr {other}, ptr {w.element(whence, k, 'ptr')}, i64 {8 * m})")
                w.keep(table, to, k, "ptr")
            elif n <= TOGETHER:
                w.keep(w.element(whence, k), to, k)

    w.lines += [f"  %flag = getelementptr double, ptr %in, i64 {n - 1}", "  %outer = load ptr, ptr %work",
                *(f"  %lent{k} = call ptr @arena.lent(ptr {name}.spare{k})" for k in (0, 1)), "  br label %head", "head:",
                f"  %i = phi i64 [0, %entry], [%next, %{'on' if way else 'passed'}]",
                "  %limit.now = " + ("phi i64 [%limit, %entry], [%limit.next, %on]" if way else "add i64 %limit, 0"),
                "  %done = load double, ptr %flag", "  %open = fcmp une double %done, 1.0",
                "  %more = icmp slt i64 %i, %limit.now", "  %wanted = and i1 %open, %more",
                f"  %state.p = getelementptr i64, ptr %outer, i64 {STATE}", "  %state = load i64, ptr %state.p",
                f"  %lacking = and i64 %state, {NO_MEMORY}", "  %room = icmp eq i64 %lacking, 0",        # without, it would never end
                "  %go = and i1 %wanted, %room", "  br i1 %go, label %again, label %end", "again:",
                "  %turn = trunc i64 %i to i1", "  %own = select i1 %turn, ptr %lent1, ptr %lent0",
                "  call void @arena.begin(ptr %own)", "  store ptr %own, ptr %work",
                f"  call void {body}(ptr %in, ptr %out, ptr %work, i64 1, i64 0, i64 0, i64 0)"]  # fmt: skip
    copies("%out", "%in", "own", "%own")
    w.pass_on("%own", "%outer")
    w.begin("passed")
    w.lines += ["  %next = add i64 %i, 1", way or "  br label %head", "end:"]
    copies("%in", "%out", "copy", "%outer")
    w.lines += ["  store ptr %outer, ptr %work",
                *(f"  call void @arena.back(ptr {name}.spare{k}, ptr %lent{k})" for k in (0, 1))]
    return "\n".join([f"define internal void {name}(ptr %in, ptr %out, ptr %work, i64 %limit) noinline nounwind {{", "entry:", *w.lines,
                      "  ret void", "}"])  # fmt: skip


def put_looping(module: Any, name: str, body: str, columns: Sequence[int], way: str) -> str:
    """Add :func:`looping`, whose arenas stay from call to call, and return its name."""
    for k in (0, 1):
        put_spare(module, f"{name}.spare{k}")
    return str(module.once(name, looping(name, body, columns, way)))


def put_spare(module: Any, place: str = "@arena.spare") -> None:
    """Add ``arena.lent(place)`` and ``arena.back(place, arena)``: a call borrows the arena that was returned at its place of the program,
    with its memory."""
    put_arena(module)
    module.once("@arena.lent", SPARE)
    module.once(place, f"{place} = internal global i64 0, align 8")


COPY = f"""define internal ptr @table.copy(ptr %arena, ptr %d, i64 %row) noinline nounwind {{
  %n = load i64, ptr %d
  %rows.p = getelementptr i64, ptr %d, i64 1
  %rows = load ptr, ptr %rows.p
  %bytes = mul i64 %n, %row
  %room = add i64 %bytes, {DESCRIPTOR + 64 + 64}
  %p = call ptr @take(ptr %arena, i64 %room)
  %got = icmp ne ptr %p, null
  br i1 %got, label %good, label %bad
bad:
  ret ptr @table.none
good:
  %to = getelementptr i8, ptr %p, i64 {DESCRIPTOR}
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %rows, i64 %bytes, i1 false)
  store i64 %n, ptr %p
  %to.p = getelementptr i64, ptr %p, i64 1
  store ptr %to, ptr %to.p
  ret ptr %p
}}"""


OWN = f"""define internal ptr @table.own(ptr %arena, ptr %d, i64 %row) alwaysinline nounwind {{
  %chunk.p = getelementptr i64, ptr %arena, i64 {CHUNK}
  %first = load i64, ptr %chunk.p
  %top = load i64, ptr %arena
  %rows.p = getelementptr i64, ptr %d, i64 1
  %rows = load i64, ptr %rows.p
  %here = ptrtoint ptr %d to i64
  %size = sub i64 %top, %first
  %d.at = sub i64 %here, %first
  %rows.at = sub i64 %rows, %first
  %d.in = icmp ult i64 %d.at, %size
  %rows.in = icmp ult i64 %rows.at, %size
  %in = and i1 %d.in, %rows.in
  br i1 %in, label %own, label %other
own:
  ret ptr %d
other:
  %copy = call ptr @table.copy(ptr %arena, ptr %d, i64 %row)
  ret ptr %copy
}}"""


def put_arena(module: Any) -> None:
    """Add ``take(arena, bytes)``, ``arena.begin``, which merges the pieces taken before, and ``arena.free``."""
    module.once("@malloc", "declare ptr @malloc(i64)\ndeclare void @free(ptr)")
    module.once("@take", f"@arena.most = {module.constants_are} i64 {MOST}\n{TEXT}\n{COPY}\n{OWN}")


class TableWriter(Writer):
    """Instructions on descriptors and arenas."""

    def keep(self, x: str, base: str, k: int, kind: str = "i64") -> None:
        """Store word k of memory."""
        self.lines.append(f"  store {kind} {x}, ptr {self.put(f'getelementptr i64, ptr {base}, i64 {k}')}")

    def described(self, memory: str, count: str) -> str:
        """Write the descriptor of a table, which stands before its rows in a piece of memory; return where these begin."""
        rows = self.put(f"getelementptr i8, ptr {memory}, i64 {DESCRIPTOR}")
        self.keep(count, memory, 0)
        self.keep(rows, memory, 1, "ptr")
        return rows

    @property
    def block(self) -> str:
        """The label of the block that is being written."""
        return next((line[:-1] for line in reversed(self.lines) if line.endswith(":")), "entry")

    def mark(self, arena: str, state: int | str, truth: str) -> None:
        """Add a flag to the arena's state where a condition holds: in a branch, as it rarely does, lest all wait for the store."""
        k = self.count
        self.lines += [f"  br i1 {truth}, label %mark{k}, label %marked{k}", f"mark{k}:"]
        place = self.put(f"getelementptr i64, ptr {arena}, i64 {STATE}")
        now = self.put(f"load i64, ptr {place}")
        self.lines.append(f"  store i64 {self.put(f'or i64 {now}, {state}')}, ptr {place}")
        self.begin(f"marked{k}")

    def spread(self, x: str, width: int, kind: str = "double") -> str:
        """Splat a number over all lanes."""
        if width == 1:
            return x
        D = f"<{width} x {kind}>"
        one = self.put(f"insertelement {D} poison, {kind} {x}, i64 0")
        return self.put(f"shufflevector {D} {one}, {D} poison, <{width} x i32> zeroinitializer")

    def pass_on(self, arena: str, to: str) -> None:
        """Add an arena's flags to those of another."""
        state = self.element(arena, STATE)
        self.mark(to, state, self.put(f"icmp ne i64 {state}, 0"))

    def below(self, n: str, width: int) -> str:
        """Return a mask of the first n lanes, with its type."""
        if width == 1:
            return f"i1 {self.put(f'icmp slt i64 0, {n}')}"
        lanes = ", ".join(f"i64 {lane}" for lane in range(width))
        all_n = self.spread(n, width, "i64")
        return f"<{width} x i1> {self.put(f'icmp slt <{width} x i64> <{lanes}>, {all_n}')}"

    def numbers(self, data: str, first: str, last: str, width: int) -> str:
        """Load W numbers that stand side by side, from the one numbered ``first`` on; lanes beyond the last repeat it."""
        at = self.byte(data, self.product(first, 8))
        if width == 1:
            return self.put(f"load double, ptr {at}")
        n = self.put(f"add i64 {self.put(f'sub i64 {last}, {first}')}, 1")
        D, end = f"<{width} x double>", self.put(f"load double, ptr {self.byte(data, self.product(last, 8))}")
        condition, others = self.below(n, width), self.spread(end, width)
        return self.put(f"call {D} @llvm.masked.load.v{width}f64.p0(ptr {at}, i32 8, {condition}, {D} {others})")

    def top(self, rows: str, width: int) -> str:
        """Return a number of rows as a double in all lanes, at most 2³¹."""
        most = self.put(f"call i64 @llvm.smin.i64(i64 {rows}, i64 {2**31})")
        return self.spread(self.put(f"sitofp i64 {most} to double"), width)

    def row_places(self, x: str, top: str, width: int, arena: str) -> str:
        """Return W row numbers as integers, of so many rows (:meth:`top`): one out of range becomes the first, and marks the arena's state.
        """
        D, B, I = (f"<{width} x {t}>" if width > 1 else t for t in ("double", "i1", "i32"))
        zero = "zeroinitializer" if width > 1 else "0.0"
        inside = self.put(f"and {B} {self.put(f'fcmp oge {D} {x}, {zero}')}, {self.put(f'fcmp olt {D} {x}, {top}')}")
        i = self.put(f"fptosi {D} {self.put(f'select {B} {inside}, {D} {x}, {D} {zero}')} to {I}")
        back = self.put(f"sitofp {I} {i} to {D}")
        good = self.put(f"and {B} {inside}, {self.put(f'fcmp oeq {D} {back}, {x}')}")
        bits = self.put(f"bitcast {B} {good} to i{width}") if width > 1 else good
        self.mark(arena, NO_ROW, self.put(f"icmp ne i{width} {bits}, -1"))
        return self.put(f"sext {I} {i} to {self.lanes(width)}")

    @staticmethod
    def lanes(width: int) -> str:
        """The type of a whole number in each lane."""
        return f"<{width} x i64>" if width > 1 else "i64"

    def each_lane(self, x: str, width: int) -> list[str]:
        """Extract the integers of a vector's lanes."""
        return [self.put(f"extractelement {self.lanes(width)} {x}, i64 {lane}") for lane in range(width)] if width > 1 else [x]

    def upward(self, first: str, width: int) -> str:
        """Return successive integers in lanes, from the first."""
        steps = ", ".join(f"i64 {lane}" for lane in range(width))
        return self.put(f"add {self.lanes(width)} {self.spread(first, width, 'i64')}, <{steps}>") if width > 1 else first

    def side_by_side(self, x: str, starts: str, width: int) -> tuple[str, str]:
        """The first of numbers in lanes as a whole one, and whether they follow one another from there on, where there are so many rows
        that they may start at: a number below 2⁵² is a whole one if adding that leaves it as it is, and its bits then count it."""
        D = f"<{width} x double>"
        given = self.put(f"extractelement {D} {x}, i64 0")
        moved = self.put(f"fadd double {given}, {literal(2.0**52)}")
        first = self.put(f"sub i64 {self.put(f'bitcast double {moved} to i64')}, {np.float64(2.0**52).view(np.int64)}")
        whole = self.spread(self.put(f"fsub double {moved}, {literal(2.0**52)}"), width)
        steps = ", ".join(f"double {float(lane)}" for lane in range(width))
        same = self.put(f"fcmp oeq {D} {x}, {self.put(f'fadd {D} {whole}, <{steps}>')}")
        all_same = self.put(f"icmp eq i{width} {self.put(f'bitcast <{width} x i1> {same} to i{width}')}, -1")
        return first, self.put(f"and i1 {self.put(f'icmp ult i64 {first}, {starts}')}, {all_same}")

    def add_row(self, to: str, row: str, columns: int) -> None:
        """Add a row to another, as many columns at a time as there are lanes."""
        c = 0
        while c < columns:
            n = next(n for n in (8, 4, 2, 1) if n <= min(columns - c, native_code.width()))
            D, a = f"<{n} x double>", self.byte(to, 8 * c)
            x, y = self.put(f"load {D}, ptr {a}, align 8"), self.put(f"load {D}, ptr {self.byte(row, 8 * c)}, align 8")
            self.lines.append(f"  store {D} {self.put(f'fadd {D} {x}, {y}')}, ptr {a}, align 8")
            c += n

    def add_vectors(self, to: str, vectors: Sequence[str], width: int) -> None:
        """Add vectors to what stands one after another in memory."""
        for k, y in enumerate(vectors):
            D, a = f"<{width} x double>", self.byte(to, 8 * width * k)
            x = self.put(f"load {D}, ptr {a}, align 8")
            self.lines.append(f"  store {D} {self.put(f'fadd {D} {x}, {y}')}, ptr {a}, align 8")

    def product(self, a: str, b: int | str, more: int = 0) -> str:
        """a b + more, whole numbers."""
        ab = self.put(f"mul i64 {a}, {b}")
        return self.put(f"add i64 {ab}, {more}") if more else ab

    def begin(self, label: str) -> None:
        """Go on in a new block."""
        self.lines += [f"  br label %{label}", f"{label}:"]
