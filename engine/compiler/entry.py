"""How compiled functions are entered: the inner loop of a NumPy gufunc, and one call on plain arrays.

``batch`` emits ``loop(args, dims, steps, data)``, NumPy's gufunc loop. It takes two groups of W samples at a time, transposes their rows into
lane vectors (any strides; rows that are contiguous go by W×W register transposes), runs the function, and transposes back.
The last, incomplete group repeats its last row in the idle lanes. A result that is not finite raises the floating-point flag
"invalid", which NumPy reports.

``single`` emits ``call(self, args, nargs, kwnames)``, a Python function that takes ordinary float64 arrays of exactly the right
shape straight to the scalar code and hands everything else to ``self``: what NumPy's own dispatch costs would be most of the time.
"""

from __future__ import annotations

import platform

from engine.compiler.llvm import Module
from engine.compiler.trace import Program, size
from engine.compiler.vecmath import literal, splat

#: what compiled code knows of Python: a table filled in when it is loaded
API = ("ndarray", "float64", "PyArray_New", "PyArray_Return", "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem",
       "Py_DecRef")  # fmt: skip
ALL_FLAGS, INVALID = (0x1F if platform.machine() in ("arm64", "aarch64") else 0x3D), 1
GROUPS = 2  # of W samples that a segment serves at once: a long program's code is fetched half as often
HEADER = object.__basicsize__  # the fields of PyArrayObject follow Python's object header
DATA, ND, DIMS, DESCR, FLAGS = (HEADER + k for k in (0, 8, 16, 40, 48))
CARRAY = 0x0101  # C-contiguous and aligned


def batch(program: Program, width: int) -> str:
    """IR text of ``loop`` for a program, on vectors of ``width`` lanes."""
    m = Module(width)
    name, work = m.function(program)
    m.once("transposes", transposes(width))
    shapes = [*program.shapes_in, *program.shapes_out]
    n_args, n_in = len(shapes), len(program.shapes_in)
    n_out = len(program.outputs)
    D = m.D
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:"]
    put = Writer(lines).put

    def element(base: str, k: int, kind: str) -> str:
        return put(f"load {kind}, ptr {put(f'getelementptr {kind}, ptr {base}, i64 {k}')}")

    N = element("%dims", 0, "i64")
    base = [element("%args", k, "ptr") for k in range(n_args)]
    outer = [element("%steps", k, "i64") for k in range(n_args)]
    core, k = [], n_args
    for shape in shapes:
        core.append([element("%steps", k + d, "i64") for d in range(len(shape))])
        k += len(shape)
    contiguous = []
    for shape, strides in zip(shapes, core, strict=True):
        flag, expected = "true", 8
        for n, stride in reversed(list(zip(shape, strides, strict=True))):
            if n != 1:
                flag = put(f"and i1 {flag}, {put(f'icmp eq i64 {stride}, {expected}')}")
            expected *= n
        contiguous.append(flag)
    pad = width  # transposes write whole blocks of columns
    total = m.bytes(GROUPS * (program.n_in + n_out + work) + 2 * pad) + 64
    raw = put(f"call ptr @malloc(i64 {total})")
    above = put(f"add i64 {put(f'ptrtoint ptr {raw} to i64')}, 63")
    address = put(f"and i64 {above}, -64")
    inputs = put(f"inttoptr i64 {address} to ptr")
    results = put(f"getelementptr i8, ptr {inputs}, i64 {m.bytes(GROUPS * program.n_in + pad)}")
    scratch = put(f"getelementptr i8, ptr {results}, i64 {m.bytes(GROUPS * n_out + pad)}")
    zero = splat("double", width, literal(0.0))

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
            if len(shapes[a]) > 3:
                raise ValueError(f"an argument of shape {shapes[a]} has more than three dimensions; expected at most three")
            axes = [(1, "0"), (1, "0"), (1, "0"), *zip(shapes[a], core[a], strict=True)][-3:]
            dims = ", ".join(f"i64 {n}, i64 {s}" for n, s in axes)
            lines.extend([f"  br i1 {contiguous[a]}, label %fast{a}, label %slow{a}", f"fast{a}:",
                          f"  call void @{fast}(ptr {row}, i64 {outer[a]}, i64 {rows}, i64 {n}, ptr {here})", f"  br label %after{a}", f"slow{a}:",
                          f"  call void @{slow}(ptr {row}, i64 {outer[a]}, i64 {rows}, {dims}, ptr {here})", f"  br label %after{a}", f"after{a}:"])
            here = put(f"getelementptr {D}, ptr {here}, i64 {n}")
        return bad

    lines += ["  br label %head", "head:",
              "  %k = phi i64 [0, %entry], [%nextk, %tail]", f"  %bad = phi {D} [{zero}, %entry], [%worst, %tail]",
              f"  %left = sub i64 {N}, %k", "  %more = icmp sgt i64 %left, 0", "  br i1 %more, label %load, label %done",
              "load:", "  %g = phi i64 [0, %head], [%nextg, %loaded]", f"  %room = icmp slt i64 %g, {GROUPS}",
              f"  %firstg = mul i64 %g, {width}", "  %any = icmp slt i64 %firstg, %left", "  %fill = and i1 %room, %any",
              "  br i1 %fill, label %fetch, label %compute", "fetch:"]  # fmt: skip
    transfer("%g", range(n_in), inputs, program.n_in, "pack", "gather")
    lines += ["  br label %loaded", "loaded:", "  %nextg = add i64 %g, 1", "  br label %load", "compute:",
              f"  call void {name}(ptr {inputs}, ptr {results}, ptr {scratch}, i64 %g)", "  br label %store", "store:",
              "  %h = phi i64 [0, %compute], [%nexth, %stored]", f"  %worst = phi {D} [%bad, %compute], [%worse, %stored]",
              "  %full = icmp slt i64 %h, %g", "  br i1 %full, label %put, label %tail", "put:"]  # fmt: skip
    worse = transfer("%h", range(n_in, n_args), results, n_out, "unpack", "scatter", "%worst")
    lines += ["  br label %stored", "stored:", f"  %worse = fadd {D} {worse}, {zero}", "  %nexth = add i64 %h, 1", "  br label %store",
              "tail:", f"  %nextk = add i64 %k, {GROUPS * width}", "  br label %head", "done:", f"  call void @free(ptr {raw})",
              f"  call i32 @feclearexcept(i32 {ALL_FLAGS})", f"  %nan = fcmp uno {D} %bad, {zero}",
              f"  %nans = bitcast <{width} x i1> %nan to i{width}", f"  %invalid = icmp ne i{width} %nans, 0",
              "  br i1 %invalid, label %raise, label %end", "raise:", f"  call i32 @feraiseexcept(i32 {INVALID})", "  br label %end",
              "end:", "  ret void", "}"]  # fmt: skip
    externals = ["declare ptr @malloc(i64)", "declare void @free(ptr)", "declare i32 @feclearexcept(i32)", "declare i32 @feraiseexcept(i32)"]
    return "\n".join([str(m), *externals, *lines])


class Writer:
    """Numbered instructions at the end of a list of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.count = lines, 0

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"


def transposes(width: int) -> str:
    """Definitions of pack, unpack (contiguous rows), gather, scatter (any strides) and finite."""
    W, D, M = width, f"<{width} x double>", f"<{width} x i1>"
    lanes = ", ".join(f"i64 {lane}" for lane in range(W))
    text = [f"declare {D} @llvm.masked.load.v{W}f64.p0(ptr, i32, {M}, {D})", f"declare void @llvm.masked.store.v{W}f64.p0({D}, ptr, i32, {M})"]
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
        columns = put(f"icmp slt <{W} x i64> <{lanes}>, {put(f'shufflevector <{W} x i64> {first}, <{W} x i64> undef, <{W} x i32> zeroinitializer')}")
        block = [put(f"getelementptr {D}, ptr %lanes, i64 {put(f'add i64 %j, {c}')}") for c in range(W)]
        cells = [put(f"getelementptr double, ptr {r}, i64 %j") for r in rows]
        if pack:
            v = [put(f"call {D} @llvm.masked.load.v{W}f64.p0(ptr {c}, i32 8, {M} {columns}, {D} zeroinitializer)") for c in cells]
        else:
            v = [put(f"load {D}, ptr {b}") for b in block]
        distance = W // 2
        while distance:  # exchange blocks between lanes that differ in one bit of their number
            for i in range(W):
                if not i & distance:
                    low = [lane if not lane & distance else W + lane - distance for lane in range(W)]
                    high = [lane + distance if not lane & distance else W + lane for lane in range(W)]
                    a, b = v[i], v[i + distance]
                    for k, mask in ((i, low), (i + distance, high)):
                        v[k] = put(f"shufflevector {D} {a}, {D} {b}, <{W} x i32> <{', '.join(f'i32 {x}' for x in mask)}>")
            distance //= 2
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
    return f"""define internal void @{"gather" if gather else "scatter"}(ptr %base, i64 %outer, i64 %rows, i64 %n0, i64 %s0, i64 %n1, i64 %s1, i64 %n2, i64 %s2, ptr %lanes) {{
entry:
  %last = sub i64 %rows, 1
  %n12 = mul i64 %n1, %n2
  %n = mul i64 %n0, %n12
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %after]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %column, label %done
column:
  %i0 = udiv i64 %j, %n12
  %r0 = urem i64 %j, %n12
  %i1 = udiv i64 %r0, %n2
  %i2 = urem i64 %r0, %n2
  %o0 = mul i64 %i0, %s0
  %o1 = mul i64 %i1, %s1
  %o2 = mul i64 %i2, %s2
  %o01 = add i64 %o0, %o1
  %o = add i64 %o01, %o2
  br label %lanehead
lanehead:
  %l = phi i64 [0, %column], [%lnext, %lanebody]
  %lmore = icmp slt i64 %l, {bound}
  br i1 %lmore, label %lanebody, label %after
lanebody:
  %inside = icmp slt i64 %l, %rows
  %row = select i1 %inside, i64 %l, i64 %last
  %ro = mul i64 %row, %outer
  %off = add i64 %ro, %o
  %memory = getelementptr i8, ptr %base, i64 %off
  %jl = mul i64 %j, {width}
  %jll = add i64 %jl, %l
  %lane = getelementptr double, ptr %lanes, i64 %jll
{move}
  %lnext = add i64 %l, 1
  br label %lanehead
after:
  %next = add i64 %j, 1
  br label %head
done:
  ret void
}}"""


def single(program: Program) -> str:
    """IR text of ``call`` for a program: one sample, straight from Python."""
    m = Module(1)
    name, work = m.function(program)
    n_in, n_out = program.n_in, len(program.outputs)
    lines = [f"@api = global [{len(API)} x ptr] zeroinitializer",
             "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {", "entry:"]  # fmt: skip
    put, blocks = Writer(lines).put, [0]

    def api(which: str) -> str:
        return put(f"load ptr, ptr getelementptr ([{len(API)} x ptr], ptr @api, i64 0, i64 {API.index(which)})")

    def require(condition: str) -> None:
        blocks[0] += 1
        lines.extend([f"  br i1 {condition}, label %ok{blocks[0]}, label %general", f"ok{blocks[0]}:"])

    def field(base: str, offset: int, kind: str) -> str:
        return put(f"load {kind}, ptr {put(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def handler(k: int) -> str:
        return put(f"call ptr {api('PyTuple_GetItem')}(ptr %self, i64 {k})")

    require(put("icmp eq ptr %kwnames, null"))
    require(put(f"icmp eq i64 %nargs, {len(program.shapes_in)}"))
    ndarray, float64 = api("ndarray"), api("float64")
    data = []
    for a, shape in enumerate(program.shapes_in):
        x = put(f"load ptr, ptr {put(f'getelementptr ptr, ptr %args, i64 {a}')}")
        require(put(f"icmp eq ptr {field(x, HEADER - 8, 'ptr')}, {ndarray}"))
        require(put(f"icmp eq i32 {field(x, ND, 'i32')}, {len(shape)}"))
        good = put(f"icmp eq ptr {field(x, DESCR, 'ptr')}, {float64}")
        flags = put(f"and i32 {field(x, FLAGS, 'i32')}, {CARRAY}")
        good = put(f"and i1 {good}, {put(f'icmp eq i32 {flags}, {CARRAY}')}")
        dims = field(x, DIMS, "ptr")
        for d, n in enumerate(shape):
            extent = field(dims, 8 * d, "i64")
            good = put(f"and i1 {good}, {put(f'icmp eq i64 {extent}, {n}')}")
        require(good)
        data.append((field(x, DATA, "ptr"), size(shape)))
    need = (n_in + n_out + work) * 8 + 8
    if need <= 65536:
        memory = put(f"alloca i8, i64 {need}, align 64")
    else:
        memory = put(f"call ptr @malloc(i64 {need})")
    here = 0
    for pointer, n in data:
        lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {put(f'getelementptr i8, ptr {memory}, i64 {here * 8}')}, ptr {pointer}, i64 {n * 8}, i1 false)")
        here += n
    out = put(f"getelementptr i8, ptr {memory}, i64 {n_in * 8}")
    scratch = put(f"getelementptr i8, ptr {memory}, i64 {(n_in + n_out) * 8}")
    arrays = []
    for k, shape in enumerate(program.shapes_out):
        dims_text = ", ".join(f"i64 {n}" for n in shape) or "i64 0"
        m.text.append(f"@dims{k} = internal constant [{max(len(shape), 1)} x i64] [{dims_text}]")
        arrays.append(put(f"call ptr {api('PyArray_New')}(ptr {ndarray}, i32 {len(shape)}, ptr @dims{k}, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)"))
        blocks[0] += 1
        lines += [f"  %made{k} = icmp ne ptr {arrays[-1]}, null", f"  br i1 %made{k}, label %ok{blocks[0]}, label %nomemory", f"ok{blocks[0]}:"]
    direct = len(arrays) == 1
    target = field(arrays[0], DATA, "ptr") if direct else out
    lines.append(f"  call void {name}(ptr {memory}, ptr {target}, ptr {scratch}, i64 1)")
    put_finite(m)
    good = put(f"call i1 @all_finite(ptr {target}, i64 {n_out})")
    here = 0
    for array, shape in zip(arrays, program.shapes_out, strict=True):
        if not direct:
            source = put(f"getelementptr i8, ptr {out}, i64 {here * 8}")
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {field(array, DATA, 'ptr')}, ptr {source}, i64 {size(shape) * 8}, i1 false)")
            here += size(shape)
    if need > 65536:
        lines.append(f"  call void @free(ptr {memory})")
    returned = [put(f"call ptr {api('PyArray_Return')}(ptr {a})") if shape == () else a for a, shape in zip(arrays, program.shapes_out, strict=True)]
    result = returned[0]
    if not direct:
        result = put(f"call ptr {api('PyTuple_New')}(i64 {len(returned)})")
        set_item = api("PyTuple_SetItem")
        for k, r in enumerate(returned):
            put(f"call i32 {set_item}(ptr {result}, i64 {k}, ptr {r})")
    lines += [f"  br i1 {good}, label %finish, label %bad", "finish:", f"  ret ptr {result}", "bad:"]
    count = len(program.shapes_in)
    packed = put(f"alloca ptr, i64 {count + 1}")
    for k in range(count):
        x = put(f"load ptr, ptr {put(f'getelementptr ptr, ptr %args, i64 {k}')}")
        lines.append(f"  store ptr {x}, ptr {put(f'getelementptr ptr, ptr {packed}, i64 {k}')}")
    lines.append(f"  store ptr {result}, ptr {put(f'getelementptr ptr, ptr {packed}, i64 {count}')}")
    said = put(f"call ptr {api('PyObject_Vectorcall')}(ptr {handler(1)}, ptr {packed}, i64 {count + 1}, ptr null)")
    lines += [f"  call void {api('Py_DecRef')}(ptr {result})", f"  ret ptr {said}", "nomemory:", "  ret ptr null", "general:"]
    handed = put(f"call ptr {api('PyObject_Vectorcall')}(ptr {handler(0)}, ptr %args, i64 %nargs, ptr %kwnames)")
    lines += [f"  ret ptr {handed}", "}"]
    externals = ["declare ptr @malloc(i64)", "declare void @free(ptr)", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    return "\n".join([str(m), *externals, *lines])


def put_finite(m: Module) -> None:
    """Add ``all_finite(x, n)``: Σ (x − x) is zero unless some x is not finite."""
    m.once("@all_finite", """define internal i1 @all_finite(ptr %x, i64 %n) {
entry:
  %blocks = and i64 %n, -8
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %body]
  %sum = phi <8 x double> [zeroinitializer, %entry], [%worse, %body]
  %more = icmp slt i64 %j, %blocks
  br i1 %more, label %body, label %reduce
body:
  %p = getelementptr double, ptr %x, i64 %j
  %v = load <8 x double>, ptr %p, align 8
  %zero = fsub <8 x double> %v, %v
  %worse = fadd <8 x double> %sum, %zero
  %next = add i64 %j, 8
  br label %head
reduce:
  %nan = fcmp uno <8 x double> %sum, zeroinitializer
  %nans = bitcast <8 x i1> %nan to i8
  %first = icmp ne i8 %nans, 0
  br label %rest
rest:
  %k = phi i64 [%blocks, %reduce], [%knext, %one]
  %bad = phi i1 [%first, %reduce], [%badnext, %one]
  %left = icmp slt i64 %k, %n
  br i1 %left, label %one, label %done
one:
  %q = getelementptr double, ptr %x, i64 %k
  %y = load double, ptr %q, align 8
  %d = fsub double %y, %y
  %isnan = fcmp uno double %d, 0.0
  %badnext = or i1 %bad, %isnan
  %knext = add i64 %k, 1
  br label %rest
done:
  %good = xor i1 %bad, true
  ret i1 %good
}""")


