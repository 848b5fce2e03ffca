"""Entries to compiled functions: the inner loop of a NumPy gufunc, and one call on plain arrays.

``batch`` emits ``loop(args, dims, steps, data)``, NumPy's gufunc loop. It takes two groups of W samples at a time, transposes their
rows into lane vectors (any strides; rows that are contiguous go by W×W register transposes), runs the function, and transposes back.
The last, incomplete group repeats its last row in the idle lanes. A result that is not finite raises the floating-point flag
"invalid", which NumPy reports; what idle lanes or branches not taken raised is cleared.

``single`` emits ``call(self, args, kwargs)``, a Python function that takes ordinary float64 arrays of exactly the right
shape, and where one number is asked for also a float or an int, straight to the scalar code, and hands everything else to ``self``:
what NumPy's own dispatch costs would be most of the time.
"""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Sequence

from engine.compiler.codegen.call_writer import API, DATA, DOUBLE, CallWriter, Equal
from engine.compiler.codegen.llvm import Module, put_finite
from engine.compiler.graph.program import Program, is_table, size
from engine.compiler.kernels.arena import STATE, put_spare
from engine.compiler.kernels.instructions import Writer, exchanged

#: <fenv.h>: all floating-point flags, and the one for invalid operations
ALL_FLAGS, INVALID = (0x1F, 16) if os.name == "nt" else (0x1F, 1) if platform.machine() in ("arm64", "aarch64") else (0x3D, 1)
GROUPS = 4  # of W > 1 samples that a segment serves at once: a long program's code is fetched a quarter as often
STACK = 65536  # bytes that a single call takes from the stack; what needs more is taken from the heap


def batch(program: Program, width: int, strict: bool = False) -> str:
    """IR text of ``loop`` for a program, on vectors of ``width`` lanes; if ``strict``, inputs must be finite as well."""
    m = Module(width)
    name, work = m.function(program)
    m.once("transposes", transposes(width))
    shapes = [*program.shapes_in, *program.shapes_out]
    n_args, n_in = len(shapes), len(program.shapes_in)
    n_out = len(program.outputs)
    D = f"<{width} x double>"
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:"]
    writer = Writer(lines)
    put = writer.put
    N = writer.element("%dims", 0, "i64")
    base = [writer.element("%args", k, "ptr") for k in range(n_args)]
    outer = [writer.element("%steps", k, "i64") for k in range(n_args)]
    core, k = [], n_args
    for shape in shapes:
        core.append([writer.element("%steps", k + d, "i64") for d in range(len(shape))])
        k += len(shape)
    contiguous = [writer.contiguous(shape, strides) for shape, strides in zip(shapes, core, strict=True)]
    groups = GROUPS if width > 1 else 1
    pad = width  # transposes write whole blocks of columns
    raw, inputs = writer.aligned(m.bytes(groups * (program.n_in + n_out + work) + 2 * pad))
    results = put(f"getelementptr i8, ptr {inputs}, i64 {m.bytes(groups * program.n_in + pad)}")
    scratch = put(f"getelementptr i8, ptr {results}, i64 {m.bytes(groups * n_out + pad)}")
    before = put(f"call i32 @fetestexcept(i32 {INVALID})")  # NumPy may call the loop several times before it looks

    def transfer(group: str, arguments: range, lanes: str, vectors: int, fast: str, slow: str, bad: str = "") -> str:
        """Move one group of rows between the arrays and the lane vectors; return the sum of x − x, which is not zero where a number is not
        finite."""
        first = put(f"mul i64 {group}, {width}")
        left = put(f"sub i64 %left, {first}")
        rows = put(f"select i1 {put(f'icmp slt i64 {left}, {width}')}, i64 {left}, i64 {width}")
        k = put(f"add i64 %k, {first}")
        here = put(f"getelementptr {D}, ptr {lanes}, i64 {put(f'mul i64 {group}, {vectors}')}")
        for a in arguments:
            n = size(shapes[a])
            row = put(f"getelementptr i8, ptr {base[a]}, i64 {put(f'mul i64 {k}, {outer[a]}')}")
            if bad:
                bad = put(f"call {D} @finite(ptr {here}, i64 {n}, {D} {bad})")
            axes = [(1, "0"), (1, "0"), (1, "0"), *zip(shapes[a], core[a], strict=True)][-3:]
            dims = ", ".join(f"i64 {n}, i64 {s}" for n, s in axes)
            moved = f"ptr {row}, i64 {outer[a]}, i64 {rows}"
            lines.extend([f"  br i1 {contiguous[a]}, label %fast{a}, label %slow{a}",
                          f"fast{a}:", f"  call void @{fast}({moved}, i64 {n}, ptr {here})", f"  br label %after{a}",
                          f"slow{a}:", f"  call void @{slow}({moved}, {dims}, ptr {here})", f"  br label %after{a}",
                          f"after{a}:"])  # fmt: skip
            here = put(f"getelementptr {D}, ptr {here}, i64 {n}")
        return bad

    lines += ["  br label %head", "head:",
              "  %k = phi i64 [0, %entry], [%nextk, %tail]", f"  %bad = phi {D} [zeroinitializer, %entry], [%worst, %tail]",
              f"  %left = sub i64 {N}, %k", "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done",
              "load:", "  %g = phi i64 [0, %head], [%nextg, %loaded]", f"  %room = icmp slt i64 %g, {groups}",
              f"  %firstg = mul i64 %g, {width}", "  %any = icmp slt i64 %firstg, %left", "  %fill = and i1 %room, %any",
              "  br i1 %fill, label %fetch, label %compute", "fetch:"]  # fmt: skip
    transfer("%g", range(n_in), inputs, program.n_in, "pack", "gather")
    between = ", ".join(f"i64 {m.bytes(n)}" for n in (program.n_in, n_out, work))
    lines += ["  br label %loaded", "loaded:", "  %nextg = add i64 %g, 1", "  br label %load", "compute:",
              f"  call void {name}(ptr {inputs}, ptr {results}, ptr {scratch}, i64 %g, {between})", "  br label %store", "store:",
              "  %h = phi i64 [0, %compute], [%nexth, %stored]", f"  %worst = phi {D} [%bad, %compute], [%worse, %stored]",
              "  %full = icmp slt i64 %h, %g", "  br i1 %full, label %put, label %tail", "put:"]  # fmt: skip
    worst = "%worst"
    if strict:
        given = put(f"getelementptr {D}, ptr {inputs}, i64 {put(f'mul i64 %h, {program.n_in}')}")
        worst = put(f"call {D} @finite(ptr {given}, i64 {program.n_in}, {D} %worst)")
    worse = transfer("%h", range(n_in, n_args), results, n_out, "unpack", "scatter", worst)
    lines += ["  br label %stored", "stored:", f"  %worse = fadd {D} {worse}, zeroinitializer", "  %nexth = add i64 %h, 1",
              "  br label %store", "tail:", f"  %nextk = add i64 %k, {groups * width}", "  br label %head", "done:",
              f"  call void @free(ptr {raw})", f"  call i32 @feclearexcept(i32 {ALL_FLAGS})",
              f"  %nan = fcmp uno {D} %bad, zeroinitializer", f"  %nans = bitcast <{width} x i1> %nan to i{width}",
              f"  %new = icmp ne i{width} %nans, 0", f"  %old = icmp ne i32 {before}, 0",
              "  %invalid = or i1 %new, %old", "  br i1 %invalid, label %raise, label %end", "raise:",
              f"  call i32 @feraiseexcept(i32 {INVALID})", "  br label %end", "end:", "  ret void", "}"]  # fmt: skip
    externals = ["declare ptr @malloc(i64)", "declare void @free(ptr)",
                 *(f"declare i32 @{f}(i32)" for f in ("fetestexcept", "feclearexcept", "feraiseexcept"))]  # fmt: skip
    return "\n".join([str(m), *externals, *lines])


def transposes(width: int) -> str:
    """Definitions of pack, unpack (contiguous rows), gather, scatter (any strides) and finite."""
    W, D, M = width, f"<{width} x double>", f"<{width} x i1>"
    lanes = ", ".join(f"i64 {lane}" for lane in range(W))
    text = []
    for pack in (True, False):
        lines = [f"define internal void @{'pack' if pack else 'unpack'}(ptr %base, i64 %outer, i64 %rows, i64 %n, ptr %lanes) {{",
                 "entry:", "  %last = sub i64 %rows, 1"]  # fmt: skip
        put = Writer(lines).put
        rows, alive = [], []
        for lane in range(W):
            inside = put(f"icmp slt i64 {lane}, %rows")
            index = put(f"select i1 {inside}, i64 {lane}, i64 %last")
            rows.append(put(f"getelementptr i8, ptr %base, i64 {put(f'mul i64 {index}, %outer')}"))
            if not pack:
                first = put(f"insertelement {M} undef, i1 {inside}, i64 0")
                alive.append(put(f"shufflevector {M} {first}, {M} undef, <{W} x i32> zeroinitializer"))
        lines += ["  br label %head", "head:", "  %j = phi i64 [0, %entry], [%next, %body]", "  %left = sub i64 %n, %j",
                  "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %body, label %done", "body:"]  # fmt: skip
        first = put(f"insertelement <{W} x i64> undef, i64 %left, i64 0")
        all_left = put(f"shufflevector <{W} x i64> {first}, <{W} x i64> undef, <{W} x i32> zeroinitializer")
        columns = put(f"icmp slt <{W} x i64> <{lanes}>, {all_left}")
        block = [put(f"getelementptr {D}, ptr %lanes, i64 {put(f'add i64 %j, {c}')}") for c in range(W)]
        cells = [put(f"getelementptr double, ptr {r}, i64 %j") for r in rows]
        if pack:
            v = [put(f"call {D} @llvm.masked.load.v{W}f64.p0(ptr {c}, i32 8, {M} {columns}, {D} zeroinitializer)") for c in cells]
        else:
            v = [put(f"load {D}, ptr {b}") for b in block]
        v = exchanged(put, v)
        for lane in range(W):
            if pack:
                lines.append(f"  store {D} {v[lane]}, ptr {block[lane]}")
            else:
                mask = put(f"and {M} {columns}, {alive[lane]}")
                lines.append(f"  call void @llvm.masked.store.v{W}f64.p0({D} {v[lane]}, ptr {cells[lane]}, i32 8, {M} {mask})")
        text.append("\n".join([*lines, f"  %next = add i64 %j, {W}", "  br label %head", "done:", "  ret void", "}"]))
    for gather in (True, False):
        text.append(strided(width, gather))
    text.append(f"""define internal {D} @finite(ptr %lanes, i64 %n, {D} %so_far) {{
entry:
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %body]
  %sum = phi {D} [%so_far, %entry], [%worse, %body]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %body, label %done
body:
  %p = getelementptr {D}, ptr %lanes, i64 %j
  %x = load {D}, ptr %p
  %zero = fsub {D} %x, %x
  %worse = fadd {D} %sum, %zero
  %next = add i64 %j, 1
  br label %head
done:
  ret {D} %sum
}}""")
    return "\n".join(text)


def strided(width: int, gather: bool) -> str:
    """Definition of gather or scatter: a three-dimensional core of any strides, and lanes, as four nested loops."""
    move = ("  %x = load double, ptr %memory\n  store double %x, ptr %lane" if gather
            else "  %x = load double, ptr %lane\n  store double %x, ptr %memory")  # fmt: skip
    bound = str(width) if gather else "%rows"
    core = ", ".join(f"i64 %n{d}, i64 %s{d}" for d in range(3))
    heads, tails = [], []
    for d, (before, o, k) in enumerate((("entry", "0", "0"), ("body0", "%o0", "%k0"), ("body1", "%o1", "%k1"))):
        inner = f"%k{d + 1}" if d < 2 else "%knext"                             # how many numbers are done
        heads.append(f"""  br label %head{d}
head{d}:
  %i{d} = phi i64 [0, %{before}], [%inext{d}, %tail{d}]
  %o{d} = phi i64 [{o}, %{before}], [%onext{d}, %tail{d}]
  %k{d} = phi i64 [{k}, %{before}], [{inner}, %tail{d}]
  %more{d} = icmp slt i64 %i{d}, %n{d}
  br i1 %more{d}, label %body{d}, label %{"done" if d == 0 else f"tail{d - 1}"}
body{d}:""")
        tails.append(f"""tail{d}:
  %inext{d} = add i64 %i{d}, 1
  %onext{d} = add i64 %o{d}, %s{d}
  br label %head{d}""")
    loops, ends = "\n".join(heads), "\n".join(reversed(tails))
    return f"""define internal void @{"gather" if gather else "scatter"}(ptr %base, i64 %outer, i64 %rows, {core}, ptr %lanes) {{
entry:
  %last = sub i64 %rows, 1
{loops}
  %at = getelementptr i8, ptr %base, i64 %o2
  %kw = mul i64 %k2, {width}
  %to = getelementptr double, ptr %lanes, i64 %kw
  %knext = add i64 %k2, 1
  br label %lanehead
lanehead:
  %l = phi i64 [0, %body2], [%lnext, %lanebody]
  %lmore = icmp slt i64 %l, {bound}
  br i1 %lmore, label %lanebody, label %tail2
lanebody:
  %inside = icmp slt i64 %l, %rows
  %row = select i1 %inside, i64 %l, i64 %last
  %ro = mul i64 %row, %outer
  %memory = getelementptr i8, ptr %at, i64 %ro
  %lane = getelementptr double, ptr %to, i64 %l
{move}
  %lnext = add i64 %l, 1
  br label %lanehead
{ends}
done:
  ret void
}}"""


#: what a single call takes from C's library and Python
EXTERNALS = ["declare ptr @malloc(i64)", "declare void @free(ptr)", "declare ptr @PyObject_Call(ptr, ptr, ptr)",
             "declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)", "declare ptr @PyTuple_New(i64)",
             "declare i32 @PyTuple_SetItem(ptr, i64, ptr)", "declare ptr @PyTuple_GetItem(ptr, i64)",
             "declare void @Py_DecRef(ptr)", "declare ptr @PyErr_NoMemory()",
             "declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)"]  # fmt: skip


def single(program: Program, strict: bool = False, equal: Sequence[Equal] = ()) -> str:
    """IR text of ``call`` for a program: one sample, straight from Python; if ``strict``, inputs must be finite as well; tables have
    ``equal`` numbers of rows, or a handler says so."""
    m = Module(1)
    name, work = m.function(program)
    if program.tabled:
        put_spare(m)
    shapes_in, shapes_out = program.shapes_in, program.shapes_out
    n_in, n_out = program.n_in, len(program.outputs)
    need = (n_in + n_out + work) * 8 + 8
    lines = [f"@api = global [{len(API)} x ptr] zeroinitializer",
             "define ptr @call(ptr %self, ptr %args, ptr %kwargs) {", "entry:"]  # fmt: skip
    writer = CallWriter(lines)
    put, guard, field, byte = writer.put, writer.guard, writer.field, writer.byte
    memory = put(f"alloca i8, i64 {need}, align 64") if need <= STACK else ""
    ndarray, given, data = writer.arrays(shapes_in, equal)
    # what is returned: an array, or a tuple that owns what is put into it; scalars are made in the end
    several = len(shapes_out) > 1
    result = guard(put(f"call ptr @PyTuple_New(i64 {len(shapes_out)})")) if several else ""
    drop = [f"  call void @Py_DecRef(ptr {result})"] if several else []
    arrays = []
    for k, shape in enumerate(shapes_out):
        if is_table(shape):                                                    # made when it is known how many rows there are
            arrays.append("")
            continue
        m.text.append(f"@dims{k} = internal constant [{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]")
        if shape:
            new = f"ptr {ndarray}, i32 {len(shape)}, ptr @dims{k}, i32 {DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null"
            arrays.append(guard(put(f"call ptr {writer.api('PyArray_New')}({new})"), *drop))
            if several:
                put(f"call i32 @PyTuple_SetItem(ptr {result}, i64 {k}, ptr {arrays[k]})")
            else:
                result, drop = arrays[k], [f"  call void @Py_DecRef(ptr {arrays[k]})"]
        else:
            arrays.append("")
    release = [] if memory else ["  call void @free(ptr %memory)"]
    if not memory:
        lines.append(f"  %memory = call ptr @malloc(i64 {need})")
        memory = guard("%memory", *drop, "  call ptr @PyErr_NoMemory()")
    sizes = [size(s) for s in shapes_in]
    for pointer, n, here in zip(data, sizes, itertools.accumulate(sizes, initial=0), strict=False):
        writer.copy(byte(memory, here * 8), pointer, n)
    if program.tabled:
        arena = guard(put("call ptr @arena.lent(ptr @arena.spare)"), *drop, *release, "  call ptr @PyErr_NoMemory()")
        release.append(f"  call void @arena.back(ptr @arena.spare, ptr {arena})")
        lines.append(f"  store ptr {arena}, ptr {byte(memory, (n_in + n_out) * 8)}")
    straight = not several and bool(arrays[0])  # one array: computed in place
    target = field(arrays[0], DATA, "ptr") if straight else byte(memory, n_in * 8)
    apart = put("call ptr @PyEval_SaveThread()") if program.tabled else ""      # tables may be long: others may run meanwhile
    lines.append(f"  call void {name}(ptr {memory}, ptr {target}, ptr {byte(memory, (n_in + n_out) * 8)}, i64 1, i64 0, i64 0, i64 0)")
    lines += [f"  call void @PyEval_RestoreThread(ptr {apart})"] * program.tabled
    state = field(arena, 8 * STATE, "i64") if program.tabled else "0"
    state = writer.promised(state, equal, target, shapes_out)
    put_finite(m)
    finite = writer.finite(target, shapes_out)
    if strict:
        finite = put(f"and i1 {finite}, {put(f'call i1 @all_finite(ptr {memory}, i64 {n_in})')}")
    result = writer.returned(target, shapes_out, arrays, result, ndarray, straight, [*drop, *release])
    lines += release
    if state != "0":
        lines += [f"  br i1 {put(f'icmp eq i64 {state}, 0')}, label %right, label %wrong", "wrong:",
                  f"  call void @Py_DecRef(ptr {result})", f"  %state = call ptr @PyLong_FromLongLong(i64 {state})"]  # fmt: skip
        said = writer.answer(2, [*given, "%state"])
        lines += ["  call void @Py_DecRef(ptr %state)", f"  ret ptr {said}", "right:"]
    lines += [f"  br i1 {finite}, label %finish, label %bad", "finish:", f"  ret ptr {result}", "bad:"]
    said = writer.answer(1, [*given, result])
    lines += [f"  call void @Py_DecRef(ptr {result})", f"  ret ptr {said}", "general:"]
    handed = put(f"call ptr @PyObject_Call(ptr {writer.handler(0)}, ptr %args, ptr %kwargs)")
    lines += [f"  ret ptr {handed}", *writer.failures, "}"]
    tabled = ["declare ptr @PyEval_SaveThread()", "declare void @PyEval_RestoreThread(ptr)"] if program.tabled else EXTERNALS[:2]
    saying = ["declare ptr @PyLong_FromLongLong(i64)"] * (state != "0")
    return "\n".join([str(m), *EXTERNALS[2:], *tabled, *saying, *lines])             # malloc and free the arena has declared
