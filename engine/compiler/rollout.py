"""A scan: a step repeated in machine code, with a record taken now and then.

The gufunc ``rollout(counts, t0, k, dt, x) -> records`` has the signature ``(r),(),(),(),(n)->(r,m)``. Record j is taken after
``counts[j]`` more steps; ``step(t0, k, dt, x) -> x`` advances, ``observe(t0, k, dt, x) -> record`` looks. k counts steps, so that
time is t0 + k dt without adding up rounding errors. Each lane is a rollout of its own; all share ``counts``.
"""

from __future__ import annotations

from engine.compiler.entry import ALL_FLAGS, Writer, strided
from engine.compiler.llvm import Module
from engine.compiler.trace import Program
from engine.compiler.vecmath import literal, splat, vector


def rollout(step: Program, observe: Program, width: int) -> str:
    """IR text of the gufunc loop."""
    n, n_record = len(step.outputs), len(observe.outputs)
    m = Module(width)
    f_step, work_step = m.function(step)
    f_observe, work_observe = m.function(observe)
    D = vector("double", width)
    m.text += [strided(width, gather=True), strided(width, gather=False)]
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:"]
    put = Writer(lines).put

    def element(base: str, k: int, kind: str) -> str:
        return put(f"load {kind}, ptr {put(f'getelementptr {kind}, ptr {base}, i64 {k}')}")

    N, R = element("%dims", 0, "i64"), element("%dims", 1, "i64")
    base = [element("%args", k, "ptr") for k in range(6)]
    outer = [element("%steps", k, "i64") for k in range(6)]
    step_counts, step_x, step_record, step_column = (element("%steps", 6 + k, "i64") for k in range(4))
    state = n + 3
    raw = put(f"call ptr @malloc(i64 {(2 * state + n_record + max(work_step, work_observe) + 1) * width * 8 + 64})")
    above = put(f"add i64 {put(f'ptrtoint ptr {raw} to i64')}, 63")
    first = put(f"inttoptr i64 {put(f'and i64 {above}, -64')} to ptr")
    second = put(f"getelementptr {D}, ptr {first}, i64 {state}")
    record = put(f"getelementptr {D}, ptr {first}, i64 {2 * state}")
    scratch = put(f"getelementptr {D}, ptr {record}, i64 {n_record}")
    lines += ["  br label %rows", "rows:", "  %row = phi i64 [0, %entry], [%nextrow, %endrow]", f"  %left = sub i64 {N}, %row",
              "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done", "load:",
              f"  %few = icmp slt i64 %left, {width}", f"  %lanes = select i1 %few, i64 %left, i64 {width}"]  # fmt: skip
    row = [put(f"getelementptr i8, ptr {b}, i64 {put(f'mul i64 %row, {o}')}") for b, o in zip(base, outer, strict=True)]

    def core(n: int, stride: str) -> str:
        return f"i64 1, i64 0, i64 1, i64 0, i64 {n}, i64 {stride}"

    for buffer in (first, second):
        for k in range(3):
            to = put(f"getelementptr {D}, ptr {buffer}, i64 {k}")
            lines.append(f"  call void @gather(ptr {row[1 + k]}, i64 {outer[1 + k]}, i64 %lanes, {core(1, '0')}, ptr {to})")
    x = put(f"getelementptr {D}, ptr {first}, i64 3")
    lines.append(f"  call void @gather(ptr {row[4]}, i64 {outer[4]}, i64 %lanes, {core(n, step_x)}, ptr {x})")
    lines += ["  br label %records", "records:", "  %j = phi i64 [0, %load], [%nextj, %look]",
              f"  %now = phi ptr [{first}, %load], [%at, %look]", f"  %other = phi ptr [{second}, %load], [%away, %look]",
              f"  %morej = icmp slt i64 %j, {R}", "  br i1 %morej, label %count, label %endrow", "count:"]  # fmt: skip
    counts_j = put(f"getelementptr i8, ptr {row[0]}, i64 {put(f'mul i64 %j, {step_counts}')}")
    counted = put(f"load double, ptr {counts_j}")
    count = put(f"fptosi double {counted} to i64")
    lines += ["  br label %advance", "advance:", "  %i = phi i64 [0, %count], [%nexti, %again]",
              "  %at = phi ptr [%now, %count], [%away, %again]", "  %away = phi ptr [%other, %count], [%at, %again]",
              f"  %morei = icmp slt i64 %i, {count}", "  br i1 %morei, label %again, label %look", "again:"]  # fmt: skip
    lines.append(f"  call void {f_step}(ptr %at, ptr {put(f'getelementptr {D}, ptr %away, i64 3')}, ptr {scratch}, i64 1)")
    k_here, k_there = put(f"getelementptr {D}, ptr %at, i64 1"), put(f"getelementptr {D}, ptr %away, i64 1")
    one_more = put(f"fadd {D} {put(f'load {D}, ptr {k_here}')}, {splat('double', width, literal(1.0))}")
    lines += [f"  store {D} {one_more}, ptr {k_there}", "  %nexti = add i64 %i, 1", "  br label %advance", "look:",
              f"  call void {f_observe}(ptr %at, ptr {record}, ptr {scratch}, i64 1)"]  # fmt: skip
    where = put(f"getelementptr i8, ptr {row[5]}, i64 {put(f'mul i64 %j, {step_record}')}")
    lines += [f"  call void @scatter(ptr {where}, i64 {outer[5]}, i64 %lanes, {core(n_record, step_column)}, ptr {record})",
              "  %nextj = add i64 %j, 1", "  br label %records", "endrow:", f"  %nextrow = add i64 %row, {width}", "  br label %rows",
              "done:", f"  call void @free(ptr {raw})", f"  call i32 @feclearexcept(i32 {ALL_FLAGS})", "  ret void", "}"]  # fmt: skip
    externals = ["declare ptr @malloc(i64)", "declare void @free(ptr)", "declare i32 @feclearexcept(i32)"]
    return "\n".join([str(m), *externals, *lines])
