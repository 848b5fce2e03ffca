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
import math
import os
import platform

from engine.compiler.codegen.llvm import Module, put_finite
from engine.compiler.graph.program import COUNTED, Program, Shape, is_table, size
from engine.compiler.kernels.arena import STATE, put_spare
from engine.compiler.kernels.instructions import Writer, exchanged

#: objects and functions of NumPy, and types of Python, that compiled code uses: a table filled in when it is loaded
API = ("ndarray", "float64", "PyArray_New", "PyArray_Scalar", "double", "float", "int")
#: <fenv.h>: all floating-point flags, and the one for invalid operations
ALL_FLAGS, INVALID = (0x1F, 16) if os.name == "nt" else (0x1F, 1) if platform.machine() in ("arm64", "aarch64") else (0x3D, 1)
HEADER = object.__basicsize__  # the fields of PyArrayObject and PyArray_Descr follow Python's object header, and a tuple's size
ITEMS = tuple.__basicsize__  # a tuple's items
DATA, ND, DIMS, DESCR, FLAGS = (HEADER + k for k in (0, 8, 16, 40, 48))
BYTEORDER, TYPE_NUM = HEADER + 10, HEADER + 12
CARRAY, DOUBLE = 0x0101, 12  # C-contiguous and aligned; float64
GROUPS = 4  # of W samples that a segment serves at once: a long program's code is fetched a quarter as often
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
    pad = width  # transposes write whole blocks of columns
    raw, inputs = writer.aligned(m.bytes(GROUPS * (program.n_in + n_out + work) + 2 * pad))
    results = put(f"getelementptr i8, ptr {inputs}, i64 {m.bytes(GROUPS * program.n_in + pad)}")
    scratch = put(f"getelementptr i8, ptr {results}, i64 {m.bytes(GROUPS * n_out + pad)}")
    before = put(f"call i32 @fetestexcept(i32 {INVALID})")  # NumPy may call the loop several times before it looks

    def transfer(group: str, arguments: range, lanes: str, vectors: int, fast: str, slow: str, bad: str = "") -> str:
        """Move one group of rows between the arrays and the lane vectors; the sum of what is not finite."""
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
              "load:", "  %g = phi i64 [0, %head], [%nextg, %loaded]", f"  %room = icmp slt i64 %g, {GROUPS}",
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
              "  br label %store", "tail:", f"  %nextk = add i64 %k, {GROUPS * width}", "  br label %head", "done:",
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


def single(program: Program, strict: bool = False) -> str:
    """IR text of ``call`` for a program: one sample, straight from Python; if ``strict``, inputs must be finite as well."""
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
    ndarray, given, data = writer.arrays(shapes_in)
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
    state = field(arena, 8 * STATE, "i64") if program.tabled else ""
    put_finite(m)
    finite = writer.finite(target, shapes_out)
    if strict:
        finite = put(f"and i1 {finite}, {put(f'call i1 @all_finite(ptr {memory}, i64 {n_in})')}")
    result = writer.returned(target, shapes_out, arrays, result, ndarray, straight, [*drop, *release])
    lines += release
    if state:
        lines += [f"  br i1 {put(f'icmp eq i64 {state}, 0')}, label %right, label %wrong", "wrong:",
                  f"  call void @Py_DecRef(ptr {result})", f"  %state = call ptr @PyLong_FromLongLong(i64 {state})"]  # fmt: skip
        said = writer.answer(2, [*given, "%state"])
        lines += ["  call void @Py_DecRef(ptr %state)", f"  ret ptr {said}", "right:"]
    lines += [f"  br i1 {finite}, label %finish, label %bad", "finish:", f"  ret ptr {result}", "bad:"]
    said = writer.answer(1, [*given, result])
    lines += [f"  call void @Py_DecRef(ptr {result})", f"  ret ptr {said}", "general:"]
    handed = put(f"call ptr @PyObject_Call(ptr {writer.handler(0)}, ptr %args, ptr %kwargs)")
    lines += [f"  ret ptr {handed}", *writer.failures, "}"]
    memory_too = [*EXTERNALS[2:], "declare ptr @PyLong_FromLongLong(i64)", "declare ptr @PyEval_SaveThread()",
                  "declare void @PyEval_RestoreThread(ptr)"]                   # malloc and free the arena has declared
    return "\n".join([str(m), *(memory_too if program.tabled else EXTERNALS), *lines])


class CallWriter(Writer):
    """Instructions of a function that Python calls: ``%self`` holds the handlers, ``%args`` the arguments."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines)
        self.number = itertools.count()
        self.failures: list[str] = []  # blocks at the end: what is left to do when memory runs out

    def api(self, which: str) -> str:
        """Load NumPy's address of that name from the table ``@api``."""
        return self.put(f"load ptr, ptr getelementptr ([{len(API)} x ptr], ptr @api, i64 0, i64 {API.index(which)})")

    def handler(self, k: int) -> str:
        """Handler k: ``Gufunc._general`` or ``Gufunc._not_finite``."""
        return self.put(f"call ptr @PyTuple_GetItem(ptr %self, i64 {k})")

    def field(self, base: str, offset: int, kind: str) -> str:
        """A field of a C structure."""
        return self.put(f"load {kind}, ptr {self.byte(base, offset)}")

    def copy(self, to: str, source: str, n: int) -> None:
        """Copy n doubles."""
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {n * 8}, i1 false)")

    def answer(self, handler: int, arguments: list[str]) -> str:
        """What a handler says to some objects."""
        shown = ", ".join(f"ptr {x}" for x in [*arguments, "null"])
        return self.put(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {self.handler(handler)}, {shown})")

    def returned(self, target: str, shapes: list[Shape], arrays: list[str], result: str, ndarray: str, straight: bool,
                 cleanup: list[str]) -> str:  # fmt: skip
        """The results at ``target`` as objects: the only one, or in a tuple that is there."""
        here = 0
        for k, shape in enumerate(shapes):
            source = self.byte(target, here * 8)
            here += size(shape)
            if shape and not is_table(shape):
                if not straight:
                    self.copy(self.field(arrays[k], DATA, "ptr"), source, size(shape))
                continue
            if shape:
                made = self.rows(source, shape, ndarray, *cleanup)
            else:
                make, float64 = self.api("PyArray_Scalar"), self.api("float64")
                made = self.guard(self.put(f"call ptr {make}(ptr {source}, ptr {float64}, ptr null)"), *cleanup)
            if len(shapes) > 1:
                self.put(f"call i32 @PyTuple_SetItem(ptr {result}, i64 {k}, ptr {made})")
            else:
                result = made
        return result

    def finite(self, target: str, shapes: list[Shape]) -> str:
        """Whether all results are finite, tables' rows too."""
        if not any(map(is_table, shapes)):
            return self.put(f"call i1 @all_finite(ptr {target}, i64 {sum(map(size, shapes))})")
        good, here = "true", 0
        for shape in shapes:
            x, n = self.byte(target, 8 * here), str(size(shape))
            if is_table(shape):
                d = self.field(x, 0, "ptr")
                x, n = self.field(d, 8, "ptr"), self.put(f"mul i64 {self.field(d, 0, 'i64')}, {math.prod(shape[1:])}")
            good = self.put(f"and i1 {good}, {self.put(f'call i1 @all_finite(ptr {x}, i64 {n})')}")
            here += size(shape)
        return good

    def rows(self, source: str, shape: Shape, ndarray: str, *cleanup: str) -> str:
        """A new array of the rows of a table, by its handle at ``source``."""
        d, dims = self.field(source, 0, "ptr"), self.put(f"alloca [{len(shape)} x i64]")
        n = self.field(d, 0, "i64")
        for k, x in enumerate((n, *shape[1:])):
            self.lines.append(f"  store i64 {x}, ptr {self.byte(dims, 8 * k)}")
        new = f"ptr {ndarray}, i32 {len(shape)}, ptr {dims}, i32 {DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null"
        made = self.guard(self.put(f"call ptr {self.api('PyArray_New')}({new})"), *cleanup)
        bytes_ = self.put(f"mul i64 {n}, {8 * math.prod(shape[1:])}")
        to, rows = self.field(made, DATA, "ptr"), self.field(d, 8, "ptr")
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {rows}, i64 {bytes_}, i1 false)")
        return made

    def require(self, condition: str, otherwise: str = "general") -> None:
        """Go on if the condition holds, else at the label ``otherwise``."""
        here = f"ok{next(self.number)}"
        self.lines.extend([f"  br i1 {condition}, label %{here}, label %{otherwise}", f"{here}:"])

    def guard(self, pointer: str, *cleanup: str) -> str:
        """A pointer that is null ends the call, after ``cleanup``."""
        failed = f"failed{next(self.number)}"
        self.require(self.put(f"icmp ne ptr {pointer}, null"), failed)
        self.failures.extend([f"{failed}:", *cleanup, "  ret ptr null"])
        return pointer

    def arrays(self, shapes: list[Shape]) -> tuple[str, list[str], list[str]]:
        """``numpy.ndarray``, the arguments, and their data; what is not an array of float64 of its shape in C order, nor a number where
        one is asked for, goes to the handler."""
        places = [self.put("alloca double") if not shape else "" for shape in shapes]
        self.require(self.put("icmp eq ptr %kwargs, null"))
        self.require(self.put(f"icmp eq i64 {self.field('%args', HEADER, 'i64')}, {len(shapes)}"))
        ndarray = self.api("ndarray")
        given, data = [], []
        for a, shape in enumerate(shapes):
            x = self.field("%args", ITEMS + 8 * a, "ptr")
            given.append(x)
            kind = self.field(x, HEADER - 8, "ptr")
            if not shape:
                self.number_to(places[a], x, kind, f"array{a}", f"done{a}")
            self.require(self.put(f"icmp eq ptr {kind}, {ndarray}"))
            self.require(self.put(f"icmp eq i32 {self.field(x, ND, 'i32')}, {len(shape)}"))
            descr, dims = self.field(x, DESCR, "ptr"), self.field(x, DIMS, "ptr")
            flags = self.put(f"and i32 {self.field(x, FLAGS, 'i32')}, {CARRAY}")
            type_num, order = self.field(descr, TYPE_NUM, "i32"), self.field(descr, BYTEORDER, "i8")
            tests = [f"i32 {flags}, {CARRAY}", f"i32 {type_num}, {DOUBLE}", f"i8 {order}, {ord('=')}"]
            tests += [f"i64 {self.field(dims, 8 * d, 'i64')}, {n}" for d, n in enumerate(shape) if n != COUNTED]
            good = "true"
            for test in tests:
                good = self.put(f"and i1 {good}, {self.put(f'icmp eq {test}')}")
            self.require(good)
            data.append(self.field(x, DATA, "ptr"))
            if is_table(shape):                                                # what is passed on is its descriptor's address
                address, d = self.put("alloca ptr"), self.put("alloca [2 x i64]")
                self.lines += [f"  store i64 {self.field(dims, 0, 'i64')}, ptr {d}", f"  store ptr {data[a]}, ptr {self.byte(d, 8)}",
                               f"  store ptr {d}, ptr {address}"]  # fmt: skip
                data[a] = address
            if not shape:
                value = self.put(f"load double, ptr {data[a]}")
                self.lines.extend([f"  store double {value}, ptr {places[a]}", f"  br label %done{a}", f"done{a}:"])
                data[a] = places[a]
        return ndarray, given, data

    def number_to(self, place: str, x: str, kind: str, otherwise: str, done: str) -> None:
        """Store a float, or an int of 64 bits, at a place, and go on at the label ``done``; what is neither is looked at ``otherwise``."""
        is_double, is_float, whole = (self.put(f"icmp eq ptr {kind}, {self.api(name)}") for name in ("double", "float", "int"))
        real = self.put(f"or i1 {is_double}, {is_float}")
        self.lines.extend([f"  br i1 {real}, label %{done}float, label %{done}other", f"{done}float:"])
        value = self.field(x, HEADER, "double")
        self.lines.extend([f"  store double {value}, ptr {place}", f"  br label %{done}", f"{done}other:",
                           f"  br i1 {whole}, label %{done}int, label %{otherwise}", f"{done}int:"])  # fmt: skip
        found = self.put(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {x}, ptr {place})")              # the flag, for a moment
        self.require(self.put(f"icmp eq i32 {self.put(f'load i32, ptr {place}')}, 0"))
        value = self.put(f"sitofp i64 {found} to double")
        self.lines.extend([f"  store double {value}, ptr {place}", f"  br label %{done}", f"{otherwise}:"])
