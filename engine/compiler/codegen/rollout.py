"""LLVM IR of a rollout, the loop that repeats a step in machine code, with a record every so many steps.

The gufunc ``rollout(counts, t0, k, dt, p, x) -> records`` has the signature ``(r),(),(),(),(p),(n)->(r,m)``. Record j is taken after
``counts[j]`` more steps; ``step(t0, k, dt, p, x) -> x`` advances, ``observe(t0, k, dt, p, x) -> record`` looks. The parameters p stay as
they are. k counts steps, so that time is t0 + k dt without adding up rounding errors. Each lane is a rollout of its own; all share
``counts``; where something makes tables, there is one lane. Where steps have inputs w, a row for each record, it is ``rollout(counts, t0,
k, dt, p, x, w)`` with (r,w), and both functions take them between p and x. What of x a step seldom changes (``llvm.remembered``) stands in
the step's work, and is copied to where x is for records alone.

A step may also return notes, after x, which ``observe`` then takes after x: those of the step that begins where it looks. That step is the
next one, or is lost where the scan ends.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Sequence

from engine.compiler.codegen.counters import OUTSIDE, Counters
from engine.compiler.codegen.entry import ALL_FLAGS, GROUPS, strided
from engine.compiler.codegen.llvm import Held, Module
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels.arena import STATE, put_spare
from engine.compiler.kernels.instructions import Writer


def rollout(step: Program, observe: Program, width: int, inputs: int = 0, counters: Counters | None = None) -> str:
    """IR text of the gufunc loop; where ``counters`` are given, they count what is called, and the whole."""
    notes = observe.n_in - step.n_in
    n, n_record = len(step.outputs) - notes, len(observe.outputs)
    kept = step.n_in - n                                        # t0, k, dt, the parameters and inputs, which lie before x
    n_p, last = kept - 3 - inputs, 7 if inputs else 6           # parameters, and the argument that the records are
    m = Module(width, counters)
    begun, ended = ([], []) if counters is None else counters.whole()
    D, tabled = vector("double", width), step.tabled or observe.tabled
    step, noted = (step, kept + n) if counters else once(step, n, kept)
    f_step, work_step = m.function(step, again=None if tabled else kept)
    f_observe, work_observe = m.function(observe)
    held = m.held.get(f_step, [])
    beside = sum(h.size for h in held)                          # the step's work begins with it, which observing leaves alone
    groups = 1 if tabled else GROUPS                            # at once: tables are those of one sample
    if tabled:
        put_spare(m)
    m.text += [strided(width, gather=True), strided(width, gather=False)]
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:", *begun]
    writer = GroupWriter(lines, width)
    put, element, each_group, vector_of = writer.put, writer.element, writer.each_group, writer.vector_of
    N, R = element("%dims", 0, "i64"), element("%dims", 1, "i64")
    base = [element("%args", k, "ptr") for k in range(last + 1)]
    outer = [element("%steps", k, "i64") for k in range(last + 1)]
    step_counts, step_p, step_x, *step_w, step_record, step_column = (element("%steps", last + k, "i64") for k in range(1, 2 * last - 6))
    state, work = kept + n + notes, max(work_step, beside + work_observe)
    raw, first = writer.aligned(m.bytes(groups * (2 * state + n_record + work) + 1))
    second = put(f"getelementptr {D}, ptr {first}, i64 {groups * state}")
    record = put(f"getelementptr {D}, ptr {second}, i64 {groups * state}")
    scratch = put(f"getelementptr {D}, ptr {record}, i64 {groups * n_record}")
    arena = put("call ptr @arena.lent(ptr @arena.spare)") if tabled else ""
    called = functools.partial(writer.called, m, arena, scratch)
    lines += next_rows(N, groups, width)
    with each_group() as (g, i, lanes):
        for argument, at, size, stride in ((1, 0, 1, "0"), (2, 1, 1, "0"), (3, 2, 1, "0"), (4, 3, n_p, step_p), (5, kept, n, step_x)):
            row = put(f"getelementptr i8, ptr {base[argument]}, i64 {put(f'mul i64 {i}, {outer[argument]}')}")
            for buffer in (first, second) if size and argument < 5 else (first,):
                writer.moved("gather", row, outer[argument], lanes, size, stride, vector_of(buffer, g, state, at))
    counts = writer.byte(base[0], put(f"mul i64 %row, {outer[0]}"))
    lines += ["  br label %records", "records:", f"  %j = phi i64 [0, %{writer.block}], [%nextj, %endlook]",
              f"  %now = phi ptr [{first}, %{writer.block}], [%at, %endlook]",
              f"  %other = phi ptr [{second}, %{writer.block}], [%away, %endlook]",
              f"  %morej = icmp slt i64 %j, {R}", "  br i1 %morej, label %count, label %endrow", "count:"]  # fmt: skip
    writer.block = "count"
    count = put(f"fptosi double {put('load double, ptr ' + writer.byte(counts, put(f'mul i64 %j, {step_counts}')))} to i64")
    if inputs:
        seen = any(node[0] == "input" and 3 + n_p <= node[1] < kept for node in observe.nodes)
        seldom = str(inputs) if seen else put(f"select i1 {put(f'icmp sgt i64 {count}, 1')}, i64 {inputs}, i64 0")   # one step reads one
        with each_group() as (g, i, lanes):
            from_w = writer.byte(writer.byte(base[6], put(f"mul i64 {i}, {outer[6]}")), put(f"mul i64 %j, {step_w[0]}"))
            for buffer, many in (("%now", str(inputs)), ("%other", seldom)):
                writer.moved("gather", from_w, outer[6], lanes, many, step_w[1], vector_of(buffer, g, state, 3 + n_p))
    done, begun_at, begun_to = writer.begun(count) if notes else ("0", "%now", "%other")
    writer.put_back(held, done, (scratch, work), state)
    lines += ["  br label %advance", "advance:", f"  %i = phi i64 [{done}, %{writer.block}], [%nexti, %endagain]",
              f"  %at = phi ptr [{begun_at}, %{writer.block}], [%away, %endagain]",
              f"  %away = phi ptr [{begun_to}, %{writer.block}], [%at, %endagain]",
              f"  %to = getelementptr {D}, ptr %away, i64 {kept}",
              f"  %morei = icmp slt i64 %i, {count}", "  br i1 %morei, label %again, label %look", "again:"]  # fmt: skip
    strides = ", ".join(f"i64 {m.bytes(size)}" for size in (state, state, work))
    call = f"  call void {f_step}(ptr %at, ptr %to, ptr {scratch}, i64 %groups, {strides})"
    called(step, call, "%to")
    writer.count_on("again", state)
    writer.goes_on("endagain", "%nexti = add i64 %i, 1", "advance", "look")
    writer.put_down(held, (scratch, work), state)
    if notes:
        called(step, call, "%to")
        writer.count_on(writer.block, state, m.bytes(notes), (noted, kept + n))
    where, stride, left = writer.at_once(base[last], outer[last], step_record, step_column, record, n_record)
    places = ", ".join(f"ptr {p}" for p in ("%at", where, put(f"getelementptr {D}, ptr {scratch}, i64 {beside}")))
    call = f"  call void {f_observe}({places}, i64 %groups, i64 {m.bytes(state)}, i64 {stride}, i64 {m.bytes(work)})"
    called(observe, call, writer.byte(where, 8 * min(1, n_record - 1)))
    with each_group() as (g, i, lanes):
        where = writer.byte(writer.byte(base[last], put(f"mul i64 {i}, {outer[last]}")), put(f"mul i64 %j, {step_record}"))
        writer.moved("scatter", where, outer[last], lanes, left, step_column, vector_of(record, g, n_record, 0))
    writer.goes_on("endlook", "%nextj = add i64 %j, 1", "records", "endrow")
    lines += [f"  %nextrow = add i64 %row, {groups * width}", "  br label %rows",
              "done:", *ended, *[f"  call void @arena.back(ptr @arena.spare, ptr {arena})"] * tabled, f"  call void @free(ptr {raw})",
              f"  call i32 @feclearexcept(i32 {ALL_FLAGS})", "  ret void", "}"]  # fmt: skip
    return "\n".join([str(m), *["declare ptr @malloc(i64)", "declare void @free(ptr)"] * (not tabled),         # an arena has them
                      "declare i32 @feclearexcept(i32)", *lines])


def once(step: Program, n: int, kept: int) -> tuple[Program, int]:
    """A step without notes that are in x (n) as well, as it remembers them; and where they are, or by themselves."""
    own, notes = step.outputs[:n], step.outputs[n:]
    there = next((k for k in range(n - len(notes) + 1) if own[k : k + len(notes)] == notes), n)
    if there == n or not notes:
        return step, kept + n
    short = Program(*live(step.nodes, own), step.shapes_in, [(n,)], step.functions, step.name)
    return short, kept + there


def next_rows(N: str, groups: int, width: int) -> list[str]:
    """The beginning of a loop over N rows, so many at a time."""
    return ["  br label %rows", "rows:", "  %row = phi i64 [0, %entry], [%nextrow, %endrow]", f"  %left = sub i64 {N}, %row",
            "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done", "load:",
            f"  %full = icmp sgt i64 %left, {groups * width}", f"  %taken = select i1 %full, i64 {groups * width}, i64 %left",
            f"  %up = add i64 %taken, {width - 1}", f"  %groups = sdiv i64 %up, {width}"]  # fmt: skip


class GroupWriter(Writer):
    """Instructions, some of them repeated for every group of ``width`` rows."""

    def __init__(self, lines: list[str], width: int) -> None:
        super().__init__(lines)
        self.width, self.D = width, vector("double", width)
        self.names = (f"groups{k}" for k in itertools.count())
        self.block = "load"  # the label of the block that is being written

    @contextlib.contextmanager
    def each_group(self) -> Iterator[tuple[str, str, str]]:
        """A loop over the groups around what is written within: gives a group's number, its first row, and how many rows it has."""
        name, put = next(self.names), self.put
        self.lines.extend([f"  br label %{name}", f"{name}:", f"  %g{name} = phi i64 [0, %{self.block}], [%n{name}, %{name}]"])
        done = put(f"mul i64 %g{name}, {self.width}")
        rest = put(f"sub i64 %left, {done}")
        first = put(f"add i64 %row, {done}")
        yield f"%g{name}", first, put(f"select i1 {put(f'icmp slt i64 {rest}, {self.width}')}, i64 {rest}, i64 {self.width}")
        self.lines.extend([f"  %n{name} = add i64 %g{name}, 1", f"  %m{name} = icmp slt i64 %n{name}, %groups",
                           f"  br i1 %m{name}, label %{name}, label %after{name}", f"after{name}:"])  # fmt: skip
        self.block = f"after{name}"

    def goes_on(self, end: str, count: str, back: str, after: str) -> None:
        """The end of a loop's body: count, and go back; after the loop comes another block."""
        self.lines += [f"  br label %{end}", f"{end}:", f"  {count}", f"  br label %{back}", f"{after}:"]
        self.block = after

    def called(self, m: Module, arena: str, scratch: str, program: Program, call: str, mark: str) -> None:
        """Call a program, one with tables in memory of its own: where one goes wrong, as by a number that is no row's, the number at
        ``mark`` becomes NaN, which ends a simulation."""
        if not program.tabled:
            self.lines += m.counted(OUTSIDE, program, call)
            return
        self.lines += [f"  call void @arena.begin(ptr {arena})", f"  store ptr {arena}, ptr {scratch}", *m.counted(OUTSIDE, program, call)]
        right = self.put(f"icmp eq i64 {self.put(f'load i64, ptr {self.byte(arena, 8 * STATE)}')}, 0")
        kept = self.put(f"load double, ptr {mark}")
        self.lines.append(f"  store double {self.put(f'select i1 {right}, double {kept}, double {literal(math.nan)}')}, ptr {mark}")

    def begun(self, count: str) -> tuple[str, str, str]:
        """How many steps have been taken to a record's, of so many, and where from and where to the next one goes: the first was taken for
        the notes of the record before."""
        taken = self.put(f"and i1 {self.put('icmp sgt i64 %j, 0')}, {self.put(f'icmp sgt i64 {count}, 0')}")
        return (self.put(f"zext i1 {taken} to i64"), self.put(f"select i1 {taken}, ptr %other, ptr %now"),
                self.put(f"select i1 {taken}, ptr %now, ptr %other"))  # fmt: skip

    def at_once(self, base: str, outer: str, step: str, column: str, vectors: str, n: int) -> tuple[str, str, str]:
        """Where the n numbers of record %j are made, how many bytes apart in groups, and how many are left to scatter: of one lane where
        they stay, if columns stand side by side there, else as vectors."""
        own = vectors, str(8 * self.width * n), str(n)
        if self.width > 1:
            return own
        place = self.byte(self.byte(base, self.put(f"mul i64 %row, {outer}")), self.put(f"mul i64 %j, {step}"))
        beside, there = self.put(f"icmp eq i64 {column}, 8"), (place, outer, "0")
        where, apart, left = (self.put(f"select i1 {beside}, {kind} {x}, {kind} {y}")
                              for kind, x, y in zip(("ptr", "i64", "i64"), there, own, strict=True))  # fmt: skip
        return where, apart, left

    def count_on(self, block: str, state: int, notes: int = 0, at: tuple[int, int] = (0, 0)) -> None:
        """After a step from %at to %away, which end a ``block``: k + 1 there, and so many bytes of notes here, from vector to vector."""
        self.block = block
        with self.each_group() as (g, _, _):
            now = self.put(f"load {self.D}, ptr {self.vector_of('%at', g, state, 1)}")
            one_more = self.put(f"fadd {self.D} {now}, {splat('double', self.width, literal(1.0))}")
            self.lines.append(f"  store {self.D} {one_more}, ptr {self.vector_of('%away', g, state, 1)}")
            if notes:
                self.copied(self.vector_of("%at", g, state, at[1]), self.vector_of("%away", g, state, at[0]), notes)

    def put_back(self, held: Sequence[Held], done: str, own: tuple[str, int], state: int) -> None:
        """What a step has in its ``own`` work, from where x is, unless so many steps that are ``done`` have put it there."""
        if not held:
            return
        fresh = self.put(f"icmp eq i64 {done}, 0")
        with self.each_group() as (g, _, _):
            for h in held:
                to, x = self.vector_of(own[0], g, own[1], h.place), self.vector_of("%now", g, state, h.given)
                self.copied(to, self.put(f"select i1 {fresh}, ptr {x}, ptr {to}"), 8 * self.width * h.size)

    def put_down(self, held: Sequence[Held], own: tuple[str, int], state: int) -> None:
        """The same from there to where x is."""
        if not held:
            return
        with self.each_group() as (g, _, _):
            for h in held:
                x = self.vector_of("%at", g, state, h.given)
                self.copied(x, self.vector_of(own[0], g, own[1], h.place), 8 * self.width * h.size)

    def copied(self, to: str, where: str, size: int) -> None:
        """Copy so many bytes."""
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {where}, i64 {size}, i1 false)")

    def moved(self, how: str, memory: str, outer: str, lanes: str, n: int | str, stride: str, vectors: str) -> None:
        """Gather, or scatter, vectors of n numbers between memory and lanes."""
        self.lines.append(f"  call void @{how}(ptr {memory}, i64 {outer}, i64 {lanes}, i64 1, i64 0, i64 1, i64 0, i64 {n}, i64 {stride}, "
                          f"ptr {vectors})")  # fmt: skip

    def vector_of(self, pointer: str, group: str, size: int, k: int) -> str:
        """Where vector k of a group lies, among groups of ``size`` vectors."""
        here = self.put(f"mul i64 {group}, {size}")
        return self.put(f"getelementptr {self.D}, ptr {pointer}, i64 {self.put(f'add i64 {here}, {k}')}")
