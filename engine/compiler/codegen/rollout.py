"""LLVM IR of a rollout, the loop that repeats a step in machine code, with a record every so many steps.

The gufunc ``rollout(counts, t0, k, dt, p, x) -> records`` has the signature ``(r),(),(),(),(p),(n)->(r,m)``. Record j is taken after
``counts[j]`` more steps; ``step(t0, k, dt, p, x) -> x`` advances, ``observe(t0, k, dt, p, x) -> record`` looks. The parameters p stay as
they are. k counts steps, so that time is t0 + k dt without adding up rounding errors. Each lane is a rollout of its own; all share
``counts``; where something makes tables, there is one lane. Where steps have inputs w, a row for each record, it is ``rollout(counts, t0,
k, dt, p, x, w)`` with (r,w), and both functions take them between p and x. What of x a step seldom changes (``llvm.remembered``) stands in
the step's work, and is copied to where x is for records alone.

A step may also return notes, after x, which ``observe`` then takes after x: those of the step that begins where it looks. That step is the
next one, or is lost where the scan ends.

A count of −n is n steps without a look after them, and without notes: the record is what a record has of x as it is, and zeros. All counts
of a call are such, or none.

Where one rollout makes many records, what a look reads of their states waits on a shelf (:mod:`engine.compiler.codegen.shelf`), and is
looked at together, one in each lane, by the code of a batch, whose address ``@many`` has then
(:func:`engine.compiler.scan.look_at_many`); until it is there, each is looked at by itself.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence

from engine.compiler.codegen.counters import OUTSIDE, Counters
from engine.compiler.codegen.entry import ALL_FLAGS, GROUPS, strided
from engine.compiler.codegen.llvm import Held, Module
from engine.compiler.codegen.shelf import SHELF, Shelf, copies, given, shelved
from engine.compiler.graph.program import Program, live
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels.arena import STATE, put_spare
from engine.compiler.kernels.instructions import Writer


def rollout(step: Program, observe: Program, width: int, inputs: int = 0, counters: Counters | None = None) -> str:
    """Return IR of the gufunc loop; ``counters``, where given, count the calls in it, and the whole. Labels of blocks on the right::

        for row in rows, so many groups of them at once:     # rows, load
            load t0, k, dt, p and x of the row
            for j in range(R):                               # records, count
                load w[j], where there are inputs
                for i in range(abs(counts[j])):              # advance, again, endagain
                    x = step(t0, k, dt, p, w, x); k = k + 1
                if counts[j] < 0:
                    records[j] = x among zeros               # bare
                else:
                    records[j] = observe(t0, k, dt, p, w, x) # noted, written
    """
    return Rollout(step, observe, width, inputs, counters).text()


def once(step: Program, n: int, kept: int) -> tuple[Program, int]:
    """Drop notes of a step that also stand side by side in its state x (n): return the step, and where they are in its work, of which
    ``kept`` come first."""
    own, notes = step.outputs[:n], step.outputs[n:]
    there = next((k for k in range(n - len(notes) + 1) if own[k : k + len(notes)] == notes), n)
    if there == n or not notes:
        return step, kept + n
    short = Program(*live(step.nodes, own), step.shapes_in, [(n,)], step.functions, step.name)
    return short, kept + there


def next_rows(N: str, groups: int, width: int) -> list[str]:
    """Begin a loop over N rows, so many at a time."""
    return ["  br label %rows", "rows:", "  %row = phi i64 [0, %entry], [%nextrow, %endrow]", f"  %left = sub i64 {N}, %row",
            "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done", "load:",
            f"  %full = icmp sgt i64 %left, {groups * width}", f"  %taken = select i1 %full, i64 {groups * width}, i64 %left",
            f"  %up = add i64 %taken, {width - 1}", f"  %groups = sdiv i64 %up, {width}"]  # fmt: skip


class GroupWriter(Writer):
    """Writes instructions, some of them repeated for every group of ``width`` rows."""

    def __init__(self, lines: list[str], width: int) -> None:
        super().__init__(lines)
        self.width, self.D = width, vector("double", width)
        self.names = (f"groups{k}" for k in itertools.count())
        self.block = "load"  # the label of the block that is being written

    @contextlib.contextmanager
    def each_group(self) -> Iterator[tuple[str, str, str]]:
        """Repeat what is written within for each group: gives the group's number, its first row, and its number of rows."""
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
        """End a loop's body: count, and go back; after the loop comes another block."""
        self.lines += [f"  br label %{end}", f"{end}:", f"  {count}", f"  br label %{back}", f"{after}:"]
        self.block = after

    def begun(self, count: str) -> tuple[str, str, str]:
        """Return the steps already taken of a record's so many, and the pointers that the next one reads and writes: the first step was
        taken for the notes of the record before."""
        taken = self.put(f"and i1 {self.put('icmp sgt i64 %j, 0')}, {self.put(f'icmp sgt i64 {count}, 0')}")
        return (self.put(f"zext i1 {taken} to i64"), self.put(f"select i1 {taken}, ptr %other, ptr %now"),
                self.put(f"select i1 {taken}, ptr %now, ptr %other"))  # fmt: skip

    def at_once(self, base: str, outer: str, step: str, column: str, vectors: str, n: int) -> tuple[str, str, str]:
        """Return the pointer where the n numbers of record %j are written, the bytes between groups, and how many are left to scatter: a
        single lane writes in place if columns stand side by side there, else vectors do."""
        own = vectors, str(8 * self.width * n), str(n)
        if self.width > 1:
            return own
        place = self.byte(self.byte(base, self.put(f"mul i64 %row, {outer}")), self.put(f"mul i64 %j, {step}"))
        beside, there = self.put(f"icmp eq i64 {column}, 8"), (place, outer, "0")
        where, apart, left = (self.put(f"select i1 {beside}, {kind} {x}, {kind} {y}")
                              for kind, x, y in zip(("ptr", "i64", "i64"), there, own, strict=True))  # fmt: skip
        return where, apart, left

    def count_on(self, block: str, state: int, notes: int = 0, at: tuple[int, int] = (0, 0)) -> None:
        """Advance the step's number from %at to %away after a step, which ends a ``block``, and copy so many bytes of notes."""
        self.block = block
        with self.each_group() as (g, _, _):
            now = self.put(f"load {self.D}, ptr {self.vector_of('%at', g, state, 1)}")
            one_more = self.put(f"fadd {self.D} {now}, {splat('double', self.width, literal(1.0))}")
            self.lines.append(f"  store {self.D} {one_more}, ptr {self.vector_of('%away', g, state, 1)}")
            if notes:
                self.copied(self.vector_of("%at", g, state, at[1]), self.vector_of("%away", g, state, at[0]), notes)

    def put_back(self, held: Sequence[Held], done: str, own: tuple[str, int], state: int) -> None:
        """Load the values that a step holds in its ``own`` work from the state x, unless steps that are ``done`` have left them there."""
        if not held:
            return
        fresh = self.put(f"icmp eq i64 {done}, 0")
        with self.each_group() as (g, _, _):
            for h in held:
                to, x = self.vector_of(own[0], g, own[1], h.place), self.vector_of("%now", g, state, h.given)
                self.copied(to, self.put(f"select i1 {fresh}, ptr {x}, ptr {to}"), 8 * self.width * h.size)

    def put_down(self, held: Sequence[Held], own: tuple[str, int], state: int) -> None:
        """Store the values that a step holds in its own work to the state x."""
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
        """Return the pointer to vector k of a group, among groups of ``size`` vectors."""
        here = self.put(f"mul i64 {group}, {size}")
        return self.put(f"getelementptr {self.D}, ptr {pointer}, i64 {self.put(f'add i64 {here}, {k}')}")


class Rollout(GroupWriter):
    """Writes the rollout's loop, from its beginning to its end.

    Attributes
    ----------
    kept : t0, k, dt, the parameters and inputs, which lie before x
    n, notes, n_record : numbers of x, of notes, and of a record
    last : the argument that the records are
    shelf : what waits of states that are looked at together, where they may be
    held : what of x stands in the step's work, which begins with it and which observing leaves alone
    groups : of rows at once: one where a group is one sample
    state, work : vectors of a group's state (t0, k, dt, p, w, x, notes), and of the functions' work
    """

    def __init__(self, step: Program, observe: Program, width: int, inputs: int, counters: Counters | None) -> None:
        begun, self.ended = ([], []) if counters is None else counters.whole()
        super().__init__(["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:", *begun], width)
        self.notes = observe.n_in - step.n_in
        self.n, self.n_record, self.inputs = len(step.outputs) - self.notes, len(observe.outputs), inputs
        self.kept = step.n_in - self.n
        self.n_p, self.last = self.kept - 3 - inputs, 7 if inputs else 6
        self.m, self.tabled = Module(width, counters), step.tabled or observe.tabled
        self.step, self.noted = (step, self.kept + self.n) if counters else once(step, self.n, self.kept)
        self.observe = observe
        self.f_step, work_step = self.m.function(self.step, again=None if self.tabled else self.kept)
        self.f_observe, work_observe = self.m.function(observe)
        self.held = self.m.held.get(self.f_step, [])
        self.beside = sum(h.size for h in self.held)
        self.groups = 1 if self.tabled or width == 1 else GROUPS
        self.shelf = shelved(observe) if width == 1 and not observe.tabled and counters is None else None
        self.state, self.work = self.kept + self.n + self.notes, max(work_step, self.beside + work_observe)
        if self.tabled:
            put_spare(self.m)
        self.m.text += [strided(width, gather=True), strided(width, gather=False)]

    def text(self) -> str:
        """The IR text of the module."""
        self.read_arguments()
        self.lend_memory()
        self.lines += next_rows(self.N, self.groups, self.width)
        self.load_rows()
        self.begin_records()
        self.load_inputs()
        self.take_steps()
        self.begin_record()
        self.note()
        if self.shelf:
            self.shelve(self.shelf)
        self.look()
        self.record()
        self.goes_on("endlook", "%nextj = add i64 %j, 1", "records", "endrow")
        self.close()
        own = ["declare ptr @malloc(i64)", "declare void @free(ptr)"] * (not self.tabled)        # an arena has them
        many = ["@many = global ptr null"] * bool(self.shelf)
        return "\n".join([str(self.m), *own, *many, "declare i32 @feclearexcept(i32)", *self.lines])

    def read_arguments(self) -> None:
        """Read the gufunc's arguments: rows N, records R, where each argument begins, and its strides from row to row and within."""
        element, last = self.element, self.last
        self.N, self.R = element("%dims", 0, "i64"), element("%dims", 1, "i64")
        self.base = [element("%args", k, "ptr") for k in range(last + 1)]
        self.outer = [element("%steps", k, "i64") for k in range(last + 1)]
        inner = [element("%steps", last + k, "i64") for k in range(1, 2 * last - 6)]
        self.step_counts, self.step_p, self.step_x, *self.step_w, self.step_record, self.step_column = inner

    def lend_memory(self) -> None:
        """Allocate memory of all groups: two states, between which steps go back and forth, records, the functions' work, and an arena of
        tables."""
        put, groups, D = self.put, self.groups, self.D
        self.raw, self.first = self.aligned(self.m.bytes(groups * (2 * self.state + self.n_record + self.work) + 1))
        self.second = put(f"getelementptr {D}, ptr {self.first}, i64 {groups * self.state}")
        self.records = put(f"getelementptr {D}, ptr {self.second}, i64 {groups * self.state}")
        self.scratch = put(f"getelementptr {D}, ptr {self.records}, i64 {groups * self.n_record}")
        self.arena = put("call ptr @arena.lent(ptr @arena.spare)") if self.tabled else ""
        if self.shelf:
            waits = "and i1", put(f"icmp ne ptr {put('load ptr, ptr @many')}, null"), put(f"icmp sge i64 {self.R}, {SHELF}")
            together = put(f"{waits[0]} {waits[1]}, {waits[2]}")
            self.waits = put(f"and i1 {together}, {put(f'icmp eq i64 {self.step_column}, 8')}")
            self.aside = put(f"call ptr @malloc(i64 {put(f'select i1 {self.waits}, i64 {SHELF * self.m.bytes(self.shelf.waits)}, i64 0')})")
            parts = len(self.shelf.made)
            self.given = [put(f"alloca [{n} x i64]") for n in (1 + parts, 2 + parts, 2 + 2 * parts)]       # arguments, sizes, strides

    def load_rows(self) -> None:
        """Load t0, k, dt and p of the rows into both states, and x into the first."""
        put = self.put
        arguments = ((1, 0, 1, "0"), (2, 1, 1, "0"), (3, 2, 1, "0"), (4, 3, self.n_p, self.step_p), (5, self.kept, self.n, self.step_x))
        with self.each_group() as (g, i, lanes):
            for argument, at, size, stride in arguments:
                row = put(f"getelementptr i8, ptr {self.base[argument]}, i64 {put(f'mul i64 {i}, {self.outer[argument]}')}")
                for buffer in (self.first, self.second) if size and argument < 5 else (self.first,):
                    self.moved("gather", row, self.outer[argument], lanes, size, stride, self.vector_of(buffer, g, self.state, at))

    def begin_records(self) -> None:
        """Begin the loop over records: j, and the state now and the other."""
        counts = self.byte(self.base[0], self.put(f"mul i64 %row, {self.outer[0]}"))
        self.lines += ["  br label %records", "records:", f"  %j = phi i64 [0, %{self.block}], [%nextj, %endlook]",
                       f"  %now = phi ptr [{self.first}, %{self.block}], [%at, %endlook]",
                       f"  %other = phi ptr [{self.second}, %{self.block}], [%away, %endlook]",
                       f"  %morej = icmp slt i64 %j, {self.R}", "  br i1 %morej, label %count, label %endrow", "count:"]  # fmt: skip
        self.block = "count"
        count = self.byte(counts, self.put(f"mul i64 %j, {self.step_counts}"))
        self.signed = self.put(f"fptosi double {self.put('load double, ptr ' + count)} to i64")
        self.bare = self.put(f"icmp slt i64 {self.signed}, 0")
        self.steps = self.put(f"select i1 {self.bare}, i64 {self.put(f'sub i64 0, {self.signed}')}, i64 {self.signed}")

    def load_inputs(self) -> None:
        """Load w[j] into both states: only the one that a single step reads, unless records read it as well."""
        if not self.inputs:
            return
        put, n, first = self.put, str(self.inputs), 3 + self.n_p
        seen = any(node[0] == "input" and first <= node[1] < self.kept for node in self.observe.nodes)
        seldom = n if seen else put(f"select i1 {put(f'icmp sgt i64 {self.steps}, 1')}, i64 {n}, i64 0")
        with self.each_group() as (g, i, lanes):
            row = self.byte(self.base[6], put(f"mul i64 {i}, {self.outer[6]}"))
            from_w = self.byte(row, put(f"mul i64 %j, {self.step_w[0]}"))
            for buffer, many in (("%now", n), ("%other", seldom)):
                self.moved("gather", from_w, self.outer[6], lanes, many, self.step_w[1], self.vector_of(buffer, g, self.state, first))

    def take_steps(self) -> None:
        """Write the loop over the steps to a record, from %at to %away and back."""
        own = self.scratch, self.work
        done, begun_at, begun_to = self.begun(self.signed) if self.notes else ("0", "%now", "%other")
        self.put_back(self.held, done, own, self.state)
        self.lines += ["  br label %advance", "advance:", f"  %i = phi i64 [{done}, %{self.block}], [%nexti, %endagain]",
                       f"  %at = phi ptr [{begun_at}, %{self.block}], [%away, %endagain]",
                       f"  %away = phi ptr [{begun_to}, %{self.block}], [%at, %endagain]",
                       f"  %to = getelementptr {self.D}, ptr %away, i64 {self.kept}",
                       f"  %morei = icmp slt i64 %i, {self.steps}", "  br i1 %morei, label %again, label %look", "again:"]  # fmt: skip
        self.take_step()
        self.count_on("again", self.state)
        self.goes_on("endagain", "%nexti = add i64 %i, 1", "advance", "look")
        self.put_down(self.held, own, self.state)

    def take_step(self) -> None:
        """Write a step from %at to %away."""
        strides = ", ".join(f"i64 {self.m.bytes(size)}" for size in (self.state, self.state, self.work))
        self.called(self.step, f"  call void {self.f_step}(ptr %at, ptr %to, ptr {self.scratch}, i64 %groups, {strides})", "%to")

    def begin_record(self) -> None:
        """Find out where record j is written, and write the one that is not looked for."""
        base, outer, n = self.base[self.last], self.outer[self.last], self.n_record
        self.place = self.at_once(base, outer, self.step_record, self.step_column, self.records, n)
        where, stride, _ = self.place
        self.lines += [f"  br i1 {self.bare}, label %bare, label %noted", "bare:"]
        self.block, first, size = "bare", self.kept, 8 * self.width
        there = given(self.observe)
        x = copies(there, {k for k, i in enumerate(there) if not first <= i < first + self.n})
        with self.each_group() as (g, _, _):
            here = self.byte(where, self.put(f"mul i64 {g}, {stride}"))
            self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {here}, i8 0, i64 {size * n}, i1 false)")
            for i, k, many in x:
                self.copied(self.byte(here, size * k), self.vector_of("%at", g, self.state, i), size * many)
        self.lines += ["  br label %written", "noted:"]
        self.block = "noted"

    def note(self) -> None:
        """Take one more step, which begins at the record, where it has notes of it."""
        if self.notes:
            self.take_step()
            self.count_on(self.block, self.state, self.m.bytes(self.notes), (self.noted, self.kept + self.n))

    def shelve(self, shelf: Shelf) -> None:
        """Copy what record j has of the state %at, and put aside what a look reads of it, where many records are wanted; look at all that
        wait once the shelf is full, or at the last one."""
        put, own = self.put, self.m.bytes(shelf.waits)
        self.lines += [f"  br i1 {self.waits}, label %aside, label %alone", "aside:"]
        place = put(f"urem i64 %j, {SHELF}")
        row = self.byte(self.base[self.last], put(f"mul i64 %row, {self.outer[self.last]}"))
        here = self.byte(row, put(f"mul i64 %j, {self.step_record}"))
        for to, runs in ((here, shelf.copied), (self.byte(self.aside, put(f"mul i64 {place}, {own}")), shelf.read)):
            for first, k, many in runs:
                self.copied(self.byte(to, 8 * k), self.byte("%at", 8 * first), 8 * many)
        there = put(f"add i64 {place}, 1")
        last = put(f"icmp eq i64 {put('add i64 %j, 1')}, {self.R}")
        full = put(f"or i1 {last}, {put(f'icmp eq i64 {there}, {SHELF}')}")
        self.lines += [f"  br i1 {full}, label %together, label %endlook", "together:"]
        begin = self.byte(row, put(f"mul i64 {put(f'sub i64 %j, {place}')}, {self.step_record}"))
        results = [(self.byte(begin, 8 * k), n) for _, k, n in shelf.made]
        arguments = [f"ptr {x}" for x in (self.aside, *(to for to, _ in results))]
        sizes = [f"i64 {n}" for n in (there, shelf.waits, *(n for _, n in results))]
        strides = [f"i64 {x}" for x in (own, *(self.step_record for _ in results), *(8 for _ in (0, *results)))]
        for memory, numbers in zip(self.given, (arguments, sizes, strides), strict=True):
            for k, x in enumerate(numbers):
                self.lines.append(f"  store {x}, ptr {self.byte(memory, 8 * k)}")
        look, given = put("load ptr, ptr @many"), ", ".join(f"ptr {given}" for given in self.given)
        self.lines += [f"  call void {look}({given}, ptr null)", "  br label %endlook", "alone:"]
        self.block = "alone"

    def look(self) -> None:
        """Write record j of the state %at as it is seen."""
        where, stride, _ = self.place
        beside = self.put(f"getelementptr {self.D}, ptr {self.scratch}, i64 {self.beside}")
        places = ", ".join(f"ptr {p}" for p in ("%at", where, beside))
        sizes = f"i64 {self.m.bytes(self.state)}, i64 {stride}, i64 {self.m.bytes(self.work)}"
        call = f"  call void {self.f_observe}({places}, i64 %groups, {sizes})"
        self.called(self.observe, call, self.byte(where, 8 * min(1, self.n_record - 1)))
        self.lines += ["  br label %written", "written:"]
        self.block = "written"

    def record(self) -> None:
        """Scatter record j, where it was not written in place."""
        put, base, outer, n, (_, _, left) = self.put, self.base[self.last], self.outer[self.last], self.n_record, self.place
        with self.each_group() as (g, i, lanes):
            where = self.byte(self.byte(base, put(f"mul i64 {i}, {outer}")), put(f"mul i64 %j, {self.step_record}"))
            self.moved("scatter", where, outer, lanes, left, self.step_column, self.vector_of(self.records, g, n, 0))

    def close(self) -> None:
        """End the loop over rows, and the function."""
        back = [f"  call void @arena.back(ptr @arena.spare, ptr {self.arena})"] * self.tabled
        back += [f"  call void @free(ptr {self.aside})"] if self.shelf else []
        self.lines += [f"  %nextrow = add i64 %row, {self.groups * self.width}", "  br label %rows", "done:", *self.ended, *back,
                       f"  call void @free(ptr {self.raw})", f"  call i32 @feclearexcept(i32 {ALL_FLAGS})", "  ret void", "}"]  # fmt: skip

    def called(self, program: Program, call: str, mark: str) -> None:
        """Call a program, one with tables in memory of its own: where one fails, as by a row number out of range, the number at ``mark``
        becomes NaN, which ends a simulation."""
        counted = self.m.counted(OUTSIDE, program, call)
        if not program.tabled:
            self.lines += counted
            return
        self.lines += [f"  call void @arena.begin(ptr {self.arena})", f"  store ptr {self.arena}, ptr {self.scratch}", *counted]
        right = self.put(f"icmp eq i64 {self.put(f'load i64, ptr {self.byte(self.arena, 8 * STATE)}')}, 0")
        kept = self.put(f"load double, ptr {mark}")
        self.lines.append(f"  store double {self.put(f'select i1 {right}, double {kept}, double {literal(math.nan)}')}, ptr {mark}")
