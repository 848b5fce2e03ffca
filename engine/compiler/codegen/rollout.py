"""A scan: a step repeated in machine code, with a record taken now and then.

The gufunc ``rollout(counts, t0, k, dt, p, x) -> records`` has the signature ``(r),(),(),(),(p),(n)->(r,m)``. Record j is taken after
``counts[j]`` more steps; ``step(t0, k, dt, p, x) -> x`` advances, ``observe(t0, k, dt, p, x) -> record`` looks. The parameters p stay as
they are. k counts steps, so that time is t0 + k dt without adding up rounding errors. Each lane is a rollout of its own; all share
``counts``; where something makes tables, there is one lane. Where steps have inputs w, a row for each record, it is ``rollout(counts, t0,
k, dt, p, x, w)`` with (r,w), and both functions take them between p and x.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from engine.compiler.codegen.counters import OUTSIDE, Counters
from engine.compiler.codegen.entry import ALL_FLAGS, GROUPS, strided
from engine.compiler.codegen.llvm import Module
from engine.compiler.graph.program import Program
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels.arena import put_spare
from engine.compiler.kernels.instructions import Writer


def rollout(step: Program, observe: Program, width: int, inputs: int = 0, counters: Counters | None = None) -> str:
    """IR text of the gufunc loop; where ``counters`` are given, they count what is called, and the whole."""
    n, n_record = len(step.outputs), len(observe.outputs)
    kept = step.n_in - n                                        # t0, k, dt, the parameters and inputs, which lie before x
    n_p, last = kept - 3 - inputs, 7 if inputs else 6           # parameters, and the argument that the records are
    m = Module(width, counters)
    begun, ended = ([], []) if counters is None else counters.whole()
    f_step, work_step = m.function(step)
    f_observe, work_observe = m.function(observe)
    D, tabled = vector("double", width), step.tabled or observe.tabled
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
    state, work = kept + n, max(work_step, work_observe)
    raw, first = writer.aligned(m.bytes(groups * (2 * state + n_record + work) + 1))
    second = put(f"getelementptr {D}, ptr {first}, i64 {groups * state}")
    record = put(f"getelementptr {D}, ptr {second}, i64 {groups * state}")
    scratch = put(f"getelementptr {D}, ptr {record}, i64 {groups * n_record}")
    arena = put("call ptr @arena.lent()") if tabled else ""
    begin = [f"  call void @arena.begin(ptr {arena})", f"  store ptr {arena}, ptr {scratch}"]
    lines += ["  br label %rows", "rows:", "  %row = phi i64 [0, %entry], [%nextrow, %endrow]", f"  %left = sub i64 {N}, %row",
              "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done", "load:",
              f"  %full = icmp sgt i64 %left, {groups * width}", f"  %taken = select i1 %full, i64 {groups * width}, i64 %left",
              f"  %up = add i64 %taken, {width - 1}", f"  %groups = sdiv i64 %up, {width}"]  # fmt: skip
    with each_group() as (g, i, lanes):
        for argument, at, size, stride in ((1, 0, 1, "0"), (2, 1, 1, "0"), (3, 2, 1, "0"), (4, 3, n_p, step_p), (5, kept, n, step_x)):
            row = put(f"getelementptr i8, ptr {base[argument]}, i64 {put(f'mul i64 {i}, {outer[argument]}')}")
            for buffer in (first, second) if size and argument < 5 else (first,):
                writer.moved("gather", row, outer[argument], lanes, size, stride, vector_of(buffer, g, state, at))
    counts = put(f"getelementptr i8, ptr {base[0]}, i64 {put(f'mul i64 %row, {outer[0]}')}")
    lines += ["  br label %records", "records:", f"  %j = phi i64 [0, %{writer.block}], [%nextj, %endlook]",
              f"  %now = phi ptr [{first}, %{writer.block}], [%at, %endlook]",
              f"  %other = phi ptr [{second}, %{writer.block}], [%away, %endlook]",
              f"  %morej = icmp slt i64 %j, {R}", "  br i1 %morej, label %count, label %endrow", "count:"]  # fmt: skip
    writer.block = "count"
    counts_j = put(f"getelementptr i8, ptr {counts}, i64 {put(f'mul i64 %j, {step_counts}')}")
    counted = put(f"load double, ptr {counts_j}")
    count = put(f"fptosi double {counted} to i64")
    if inputs:
        seen = any(node[0] == "input" and 3 + n_p <= node[1] < kept for node in observe.nodes)
        seldom = str(inputs) if seen else put(f"select i1 {put(f'icmp sgt i64 {count}, 1')}, i64 {inputs}, i64 0")   # one step reads one
        with each_group() as (g, i, lanes):
            from_w = put(f"getelementptr i8, ptr {base[6]}, i64 {put(f'mul i64 {i}, {outer[6]}')}")
            from_w = put(f"getelementptr i8, ptr {from_w}, i64 {put(f'mul i64 %j, {step_w[0]}')}")
            for buffer, many in (("%now", str(inputs)), ("%other", seldom)):
                writer.moved("gather", from_w, outer[6], lanes, many, step_w[1], vector_of(buffer, g, state, 3 + n_p))
    lines += ["  br label %advance", "advance:", f"  %i = phi i64 [0, %{writer.block}], [%nexti, %endagain]",
              f"  %at = phi ptr [%now, %{writer.block}], [%away, %endagain]",
              f"  %away = phi ptr [%other, %{writer.block}], [%at, %endagain]",
              f"  %morei = icmp slt i64 %i, {count}", "  br i1 %morei, label %again, label %look", "again:"]  # fmt: skip
    strides = f"i64 {m.bytes(state)}, i64 {m.bytes(state)}, i64 {m.bytes(work)}"
    to = f"ptr {put(f'getelementptr {D}, ptr %away, i64 {kept}')}, ptr {scratch}"
    lines += [*begin * step.tabled, *m.counted(OUTSIDE, step, f"  call void {f_step}(ptr %at, {to}, i64 %groups, {strides})")]
    writer.block = "again"
    with each_group() as (g, _, _):
        now = put(f"load {D}, ptr {vector_of('%at', g, state, 1)}")
        one_more = put(f"fadd {D} {now}, {splat('double', width, literal(1.0))}")
        lines.append(f"  store {D} {one_more}, ptr {vector_of('%away', g, state, 1)}")
    strides = f"i64 {m.bytes(state)}, i64 {m.bytes(n_record)}, i64 {m.bytes(work)}"
    lines += ["  br label %endagain", "endagain:", "  %nexti = add i64 %i, 1", "  br label %advance", "look:", *begin * observe.tabled,
              *m.counted(OUTSIDE, observe, f"  call void {f_observe}(ptr %at, ptr {record}, ptr {scratch}, i64 %groups, {strides})")]
    writer.block = "look"
    with each_group() as (g, i, lanes):
        where = put(f"getelementptr i8, ptr {base[last]}, i64 {put(f'mul i64 {i}, {outer[last]}')}")
        where = put(f"getelementptr i8, ptr {where}, i64 {put(f'mul i64 %j, {step_record}')}")
        writer.moved("scatter", where, outer[last], lanes, n_record, step_column, vector_of(record, g, n_record, 0))
    lines += ["  br label %endlook", "endlook:", "  %nextj = add i64 %j, 1", "  br label %records",
              "endrow:", f"  %nextrow = add i64 %row, {groups * width}", "  br label %rows",
              "done:", *ended, *[f"  call void @arena.back(ptr {arena})"] * tabled, f"  call void @free(ptr {raw})",
              f"  call i32 @feclearexcept(i32 {ALL_FLAGS})", "  ret void", "}"]  # fmt: skip
    memory = ["declare ptr @malloc(i64)", "declare void @free(ptr)"] * (not tabled)                            # an arena has them
    return "\n".join([str(m), *memory, "declare i32 @feclearexcept(i32)", *lines])


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

    def moved(self, how: str, memory: str, outer: str, lanes: str, n: int | str, stride: str, vectors: str) -> None:
        """Gather, or scatter, vectors of n numbers between memory and lanes."""
        self.lines.append(f"  call void @{how}(ptr {memory}, i64 {outer}, i64 {lanes}, i64 1, i64 0, i64 1, i64 0, i64 {n}, i64 {stride}, "
                          f"ptr {vectors})")  # fmt: skip

    def vector_of(self, pointer: str, group: str, size: int, k: int) -> str:
        """Where vector k of a group lies, among groups of ``size`` vectors."""
        here = self.put(f"mul i64 {group}, {size}")
        return self.put(f"getelementptr {self.D}, ptr {pointer}, i64 {self.put(f'add i64 {here}, {k}')}")
