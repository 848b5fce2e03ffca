"""Elementary functions in LLVM IR: sine and cosine of whole vectors, everything else lane by lane from the C library.

``near`` reduces its argument by multiples of π/2 held in three doubles (Cody and Waite, exact to rounding with fused
multiply-adds for |x| < 2⁴⁶) and evaluates the minimax polynomials of fdlibm's kernels on [−π/4, π/4]: errors below 1.5 ulp.
Larger arguments go to the C library (``far``), in a branch that is never taken in practice. Every operation is an IEEE one, so a
lane's result does not depend on the others or on their number.
"""

from __future__ import annotations

import struct

from engine.ops.elementwise import SERIES_BELOW, alternating

#: fdlibm's k_sin.c and k_cos.c: sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²)
SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
       -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)  # fmt: skip
COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
       2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)  # fmt: skip
#: π/2 in three doubles
PIO2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
TWO_OVER_PI = 0.6366197723675814
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer, held in the low bits
LARGE = float(2**46)


def literal(x: float) -> str:
    """A double as LLVM writes it, bit for bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def vector(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"<{width} x {scalar}>"


def splat(scalar: str, width: int, value: str) -> str:
    """A constant in every lane, as an operand without its type."""
    return value if width == 1 else f"splat ({scalar} {value})"


def intrinsic(name: str, width: int) -> str:
    return f"@llvm.{name}.{'' if width == 1 else f'v{width}'}f64"


def near(width: int) -> str:
    """Definition of ``@near(x) -> {sin, cos}`` for |x| < LARGE, inlined where it is called."""
    D, I, B = (vector(t, width) for t in ("double", "i64", "i1"))
    lines = [f"define internal {{{D}, {D}}} @near{width}({D} %x) alwaysinline {{"]

    def d(x: float) -> str:
        return splat("double", width, literal(x))

    def i(x: int) -> str:
        return splat("i64", width, str(x))

    def put(name: str, text: str) -> str:
        lines.append(f"  %{name} = {text}")
        return f"%{name}"

    def fma(name: str, a: str, b: str, c: str) -> str:
        return put(name, f"call {D} {intrinsic('fma', width)}({D} {a}, {D} {b}, {D} {c})")

    shifted = fma("shifted", "%x", d(TWO_OVER_PI), d(ROUND))
    k = put("k", f"fsub {D} {shifted}, {d(ROUND)}")
    minus_k = put("minus_k", f"fneg {D} {k}")
    r = "%x"
    for j, part in enumerate(PIO2):
        r = fma(f"r{j}", minus_k, d(part), r)
    z = put("z", f"fmul {D} {r}, {r}")
    s, c = d(SIN[0]), d(COS[0])
    for j in range(1, 6):
        s, c = fma(f"s{j}", s, z, d(SIN[j])), fma(f"c{j}", c, z, d(COS[j]))
    s = fma("s", put("rz", f"fmul {D} {r}, {z}"), s, r)                        # r + r³ S
    c = fma("c", z, fma("c6", c, z, d(-0.5)), d(1.0))                          # 1 + z (z C − 1/2)
    n = put("n", f"bitcast {D} {shifted} to {I}")                              # the quadrant, in the low two bits
    odd = put("odd", f"trunc {I} {n} to {B}")
    for out, a, b, quadrant in (("sin", c, s, n), ("cos", s, c, put("n1", f"add {I} {n}, {i(1)}"))):
        value = put(f"{out}0", f"select {B} {odd}, {D} {a}, {D} {b}")
        sign = put(f"{out}s", f"shl {I} {put(f'{out}b', f'and {I} {quadrant}, {i(2)}')}, {i(62)}")
        bits = put(f"{out}i", f"xor {I} {put(f'{out}v', f'bitcast {D} {value} to {I}')}, {sign}")
        put(out, f"bitcast {I} {bits} to {D}")
    put("both0", f"insertvalue {{{D}, {D}}} undef, {D} %sin, 0")
    put("both", f"insertvalue {{{D}, {D}}} %both0, {D} %cos, 1")
    return "\n".join([*lines, f"  ret {{{D}, {D}}} %both", "}"])


def large(width: int) -> str:
    """Instructions for ``%large``, the lanes of ``%x`` that are beyond :func:`near`."""
    D = vector("double", width)
    return f"""  %size = call {D} {intrinsic("fabs", width)}({D} %x)
  %large = fcmp ogt {D} %size, {splat("double", width, literal(LARGE))}"""


def some(width: int, mask: str) -> str:
    """Instruction's right-hand side: is any lane of ``mask`` true?"""
    return f"icmp ne {vector('i1', width)} {mask}, 0" if width == 1 else f"call i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1> {mask})"


def every(width: int, mask: str) -> str:
    """Instruction's right-hand side: are all lanes of ``mask`` true?"""
    return f"call i1 @llvm.vector.reduce.and.v{width}i1(<{width} x i1> {mask})"


def blend(width: int) -> str:
    """Definition of ``@blend(to, from, mask, n)``: n vectors of numbers are those ``from`` elsewhere in the lanes whose ``mask`` is not."""
    D, B = vector("double", width), vector("i1", width)
    return f"""define internal void @blend(ptr %to, ptr %from, {B} %mask, i64 %n) noinline nounwind {{
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %one, label %end
one:
  %p = getelementptr {D}, ptr %to, i64 %k
  %q = getelementptr {D}, ptr %from, i64 %k
  %new = load {D}, ptr %p
  %old = load {D}, ptr %q
  %x = select {B} %mask, {D} %new, {D} %old
  store {D} %x, ptr %p
  %next = add i64 %k, 1
  br label %head
end:
  ret void
}}"""


def sincos(width: int) -> str:
    """Definition of ``@sincos(x) -> {sin, cos}``, inlined where it is called."""
    D = vector("double", width)
    pair = f"{{{D}, {D}}}"
    return f"""define internal {pair} @sincos({D} %x) alwaysinline {{
entry:
  %near = call {pair} @near{width}({D} %x)
{large(width)}
  %any = {some(width, "%large")}
  br i1 %any, label %distant, label %done
distant:
  %far = call {pair} @sincos.far({D} %x, {pair} %near)
  br label %done
done:
  %both = phi {pair} [%near, %entry], [%far, %distant]
  ret {pair} %both
}}
define internal {pair} @sincos.far({D} %x, {pair} %near) noinline cold {{
  %memory = alloca [3 x {D}]
  %s = getelementptr {D}, ptr %memory, i64 1
  %c = getelementptr {D}, ptr %memory, i64 2
  store {D} %x, ptr %memory
  store {pair} %near, ptr %s
  call void @far(ptr %memory, ptr %s, ptr %c, i64 {width})
  %both = load {pair}, ptr %s
  ret {pair} %both
}}"""


def stumpff(width: int) -> str:
    """Definition of ``@stumpff(x) -> {c2, c3}``: power series below 1, and what is beyond in a branch that is seldom taken."""
    D, B = vector("double", width), vector("i1", width)
    pair = f"{{{D}, {D}}}"
    lines = [f"define internal {pair} @stumpff({D} %x) alwaysinline {{", "entry:"]

    def d(x: float) -> str:
        return splat("double", width, literal(x))

    def put(name: str, text: str) -> str:
        lines.append(f"  %{name} = {text}")
        return f"%{name}"

    def paired(name: str, a: str, b: str) -> str:
        first = put(f"{name}0", f"insertvalue {pair} undef, {D} {a}, 0")
        return put(name, f"insertvalue {pair} {first}, {D} {b}, 1")

    results = []
    for c in (2, 3):
        coefficients = alternating(c)
        value = d(coefficients[-1])
        for k in range(7, -1, -1):
            value = put(f"c{c}.{k}", f"call {D} {intrinsic('fma', width)}({D} {value}, {D} %x, {D} {d(coefficients[k])})")
        results.append(value)
    paired("near", *results)
    lines += [f"  %small = fcmp olt {D} %x, {d(SERIES_BELOW)}", f"  %large = xor {B} %small, {splat('i1', width, '1')}",
              f"  %any = {some(width, '%large')}", "  br i1 %any, label %distant, label %done", "distant:",
              f"  %far = call {pair} @stumpff.far({D} %x, {pair} %near)", "  br label %done", "done:",
              f"  %both = phi {pair} [%near, %entry], [%far, %distant]", f"  ret {pair} %both", "}",
              f"define internal {pair} @stumpff.far({D} %x, {pair} %near) noinline cold {{"]  # fmt: skip
    put("small", f"fcmp olt {D} %x, {d(SERIES_BELOW)}")
    safe = put("safe", f"select {B} %small, {D} {d(1.0)}, {D} %x")
    s = put("s", f"call {D} {intrinsic('sqrt', width)}({D} {safe})")
    whole = put("whole", f"call {pair} @sincos({D} {s})")
    half = put("half", f"call {pair} @sincos({D} {put('h', f'fmul {D} {s}, {d(0.5)}')})")
    sines = [put(f"sin{k}", f"extractvalue {pair} {v}, 0") for k, v in enumerate((half, whole))]
    ratios = [put(f"ratio{k}", f"fdiv {D} {v}, {s}") for k, v in enumerate(sines)]
    c2 = put("c2", f"fmul {D} {put('twice', f'fmul {D} {ratios[0]}, {d(2.0)}')}, {ratios[0]}")
    c3 = put("c3", f"fdiv {D} {put('rest', f'fsub {D} {d(1.0)}, {ratios[1]}')}, {safe}")
    chosen = [put(f"chosen{k}", f"select {B} %small, {D} {put(f'n{k}', f'extractvalue {pair} %near, {k}')}, {D} {c}")
              for k, c in enumerate((c2, c3))]  # fmt: skip
    both = paired("both", *chosen)
    return "\n".join([*lines, f"  ret {pair} {both}", "}"])


def angles(width: int) -> str:
    """Definition of ``@angles(x, s, c, n)``: sines and cosines of n numbers in memory, n a multiple of ``width``.

    Together they cost less than one by one: a single sample's angles fill vectors too, and large ones are looked for once.
    """
    D, B = vector("double", width), vector("i1", width)
    return f"""define internal void @angles(ptr noalias %xs, ptr noalias %ss, ptr noalias %cs, i64 %n) noinline {{
entry:
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %body]
  %far = phi {B} [zeroinitializer, %entry], [%farther, %body]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %body, label %last
body:
  %px = getelementptr double, ptr %xs, i64 %j
  %ps = getelementptr double, ptr %ss, i64 %j
  %pc = getelementptr double, ptr %cs, i64 %j
  %x = load {D}, ptr %px, align 8
  %both = call {{{D}, {D}}} @near{width}({D} %x)
  %s = extractvalue {{{D}, {D}}} %both, 0
  %c = extractvalue {{{D}, {D}}} %both, 1
  store {D} %s, ptr %ps, align 8
  store {D} %c, ptr %pc, align 8
{large(width)}
  %farther = or {B} %far, %large
  %next = add i64 %j, {width}
  br label %head
last:
  %any = {some(width, "%far")}
  br i1 %any, label %distant, label %done
distant:
  call void @far(ptr %xs, ptr %ss, ptr %cs, i64 %n)
  br label %done
done:
  ret void
}}"""


#: Definition of ``@far(x, s, c, n)``: the C library's sines and cosines of those of n numbers that are large.
FAR = f"""declare double @sin(double)
declare double @cos(double)
define internal void @far(ptr %xs, ptr %ss, ptr %cs, i64 %n) noinline cold {{
entry:
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %after]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %body, label %done
body:
  %px = getelementptr double, ptr %xs, i64 %j
  %x = load double, ptr %px
{large(1)}
  br i1 %large, label %replace, label %after
replace:
  %ps = getelementptr double, ptr %ss, i64 %j
  %pc = getelementptr double, ptr %cs, i64 %j
  %s = call double @sin(double %x)
  %c = call double @cos(double %x)
  store double %s, ptr %ps
  store double %c, ptr %pc
  br label %after
after:
  %next = add i64 %j, 1
  br label %head
done:
  ret void
}}"""


def lanewise(name: str, arity: int, width: int) -> str:
    """Definition of ``@lanes.name``: the C library's ``name`` on each lane."""
    D = vector("double", width)
    lines = [f"define internal {D} @lanes.{name}({', '.join(f'{D} %x{k}' for k in range(arity))}) noinline {{"]
    result = "undef"
    for lane in range(width):
        args = []
        for k in range(arity):
            lines.append(f"  %x{k}.{lane} = extractelement {D} %x{k}, i64 {lane}")
            args.append(f"double %x{k}.{lane}")
        lines.append(f"  %y{lane} = call double @{name}({', '.join(args)})")
        lines.append(f"  %r{lane} = insertelement {D} {result}, double %y{lane}, i64 {lane}")
        result = f"%r{lane}"
    return "\n".join([*lines, f"  ret {D} {result}", "}"])


def library(width: int) -> str:
    """Definitions of all functions here."""
    return "\n".join([FAR, near(width), sincos(width), stumpff(width), angles(width)])
