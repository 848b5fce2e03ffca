"""The engine's own elementary functions in C, from the text that LLVM gets of them: every constant and every step is the same."""

from __future__ import annotations

import re

from engine.code import memory, vectors
from engine.code.translate import FUNCTIONS, TYPES, Expressions, decimal
from engine.compiler.graph import exponentials, vecmath

#: what others are made of: bits of doubles, and two numbers together
PAIR = """typedef struct { double a, b; } pair;"""
BITS = """static uint64_t bits_of(double x)
{
    union { double x; uint64_t n; } u;
    u.x = x;
    return u.n;
}"""
NUMBER = """static double number_of(uint64_t n)
{
    union { double x; uint64_t n; } u;
    u.n = n;
    return u.x;
}"""
WHOLE = """/* a whole number of a double; the nearest that there is where it is beyond these, 0 of NaN */
static uint64_t whole(double x)
{
    if (!(x > -9223372036854775808.0))
        return isnan(x) ? 0 : (uint64_t)INT64_MIN;
    return x < 9223372036854775808.0 ? (uint64_t)(int64_t)x : (uint64_t)INT64_MAX;
}"""
#: whole numbers where doubles might lie, and their bits
WHOLE_AT = """static int64_t whole_at(const double *at)
{
    int64_t n;
    memcpy(&n, at, sizeof n);
    return n;
}"""
PUT_WHOLE = """static void put_whole(double *at, int64_t n)
{
    memcpy(at, &n, sizeof n);
}"""
BITS_IN = """static int64_t bits_in(uint64_t n)
{
    int64_t count = 0;
    for (; n; n &= n - 1)
        ++count;
    return count;
}"""
LOWEST_BIT = """static int64_t lowest_bit(uint64_t n)
{
    int64_t k = 0;
    if (!n)
        return 64;
    for (; !(n & 1); n >>= 1)
        ++k;
    return k;
}"""
SINCOS = f"""/* sine and cosine; the C library's where x is beyond 2^46 */
static pair sincos_of(double x)
{{
    if (fabs(x) > {decimal(vecmath.LARGE)})
        return (pair){{sin(x), cos(x)}};
    return sincos_near(x);
}}"""
#: where the processor has no fma and the C library rounds it twice, as newlib does
SOFT_FMA = """#if defined(SOFT_FMA) || (defined(__NEWLIB__) && !defined(__FP_FAST_FMA))
/* x + y and what it loses */
static double sum(double x, double y, double *lost)
{
    const double s = x + y, z = s - x;
    *lost = (x - (s - z)) + (y - z);
    return s;
}

/* a b + c, rounded once (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008) */
static double soft_fma(double a, double b, double c)
{
    const double p = a * b, u = 134217729.0 * a, v = 134217729.0 * b, ah = u - (u - a), bh = v - (v - b), al = a - ah, bl = b - bh;
    const double product_lost = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    union { double x; uint64_t n; } odd;
    double sum_lost, last, rest, y;
    y = sum(p, sum(c, product_lost, &sum_lost), &last);
    odd.x = sum(sum_lost, last, &rest);
    if (rest != 0.0 && !(odd.n & 1))
        odd.n += (rest > 0.0) == (odd.x > 0.0) ? 1 : UINT64_MAX;
    y += odd.x;
    return y != 0.0 && isfinite(y) ? y : p + c;
}
#define fma soft_fma
#endif"""
#: the sign of a fused multiply-add changed by its bit: of -fma(a, b, c), gcc makes what is +0 where that is -0
NEGATED = """/* -x of an x that fma gave, also where it is zero */
static double negated(double x)
{
    union { double of; uint64_t bits; } y;
    y.of = x;
    y.bits ^= (uint64_t)1 << 63;
    return y.of;
}"""
ANGLES = """/* sines and cosines of n angles, of which eight are turned at a time: n is a multiple */
static void angles_of(const double *restrict x, double *restrict s, double *restrict c, int n)
{
    int far = 0;
    for (int i = 0; i < n; i += 8)
        for (int j = 0; j < 8; ++j) {
            const pair both = sincos_near(x[i + j]);
            s[i + j] = both.a;
            c[i + j] = both.b;
        }
    for (int i = 0; i < n; ++i)
        far |= fabs(x[i]) > LARGE;
    for (int i = 0; far && i < n; ++i)
        if (fabs(x[i]) > LARGE) {
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }
}""".replace("LARGE", decimal(vecmath.LARGE))
#: name in C -> what it needs
NEEDS = {"pair": (), "bits_of": (), "number_of": (), "sincos_near": ("pair", "bits_of", "number_of"), "sincos_of": ("sincos_near",),
         "stumpff_far": ("sincos_of",), "stumpff_of": ("stumpff_far",), "exp_of": ("bits_of", "number_of"),
         "log_of": ("bits_of", "number_of"), "tanh_of": ("bits_of", "number_of"), "angles_of": ("sincos_near",),
         **dict.fromkeys(("whole", "whole_at", "put_whole", "bits_in", "lowest_bit"), ()),
         **dict.fromkeys(vectors.TYPE.values(), ()), **memory.NEEDS,
         **{name: (vectors.TYPE[n],) for name, (_, n) in vectors.FUNCTIONS.items()}}  # fmt: skip


def definition(name: str) -> str:
    """C of one of the functions."""
    known = {"pair": PAIR, "bits_of": BITS, "number_of": NUMBER, "sincos_of": SINCOS, "angles_of": ANGLES,
             "whole": WHOLE, "whole_at": WHOLE_AT, "put_whole": PUT_WHOLE, "bits_in": BITS_IN, "lowest_bit": LOWEST_BIT, **memory.TEXTS,
             **{kind: vectors.type_of(n) for n, kind in vectors.TYPE.items()}}  # fmt: skip
    if name in known:
        return known[name]
    if name in vectors.FUNCTIONS:
        return vectors.function(*vectors.FUNCTIONS[name])
    if name.endswith("_of") and name != "stumpff_of":
        return translated(getattr(exponentials, name.removesuffix("_of"))(1))
    whole = vecmath.near(1) if name == "sincos_near" else vecmath.stumpff(1)
    own = {c: n for n, c in FUNCTIONS.items()}[name]
    (text,) = (t for t in re.split(r"(?<=\n\})\n", whole) if f" @{own}(" in t.splitlines()[0])
    return translated(text)


def definitions(names: set[str]) -> list[str]:
    """Definitions of functions and of all that they need, in order."""
    found: dict[str, None] = {}

    def need(name: str) -> None:
        for other in NEEDS[name]:
            need(other)
        found.setdefault(name)

    for name in sorted(names):
        need(name)
    return [definition(name) for name in found]


def translated(text: str) -> str:
    """C of a function in LLVM IR: each instruction a statement, each block a label."""
    head, *lines = text.splitlines()
    kind, name, given = re.match(r"define internal (.+?) @(\S+?)\((.*)\) ", head).groups()  # type: ignore[union-attr]
    arguments = re.findall(r"(double|\{double, double\}) %(\w+)", given)
    e = Expressions({f"%{x}": x for _, x in arguments})
    phis = {x: re.findall(r"\[(%\w+), %(\w+)\]", line) for line in lines for x in re.findall(r"%(\w+) = phi", line)}
    out = [f"    {TYPES[kind]} {x};" for x in phis]
    block = "entry"

    def go(to: str) -> str:
        return "".join(f"{x} = {e.of[v]}; " for x, ways in phis.items() for v, b in ways if b == block and starts[to] == x) + f"goto {to};"

    starts = {label: (re.findall(r"%(\w+) = phi", lines[k + 1]) or [""])[0] for k, line in enumerate(lines)
              for label in re.findall(r"^(\w+):$", line)}  # fmt: skip
    for line in lines[:-1]:
        if label := re.fullmatch(r"(\w+):", line):
            block = label[1]
            out += [f"{block}:;"] if block != "entry" else []
        elif jump := re.fullmatch(r"  br (?:i1 (\S+), label %(\w+), label|label) %(\w+)", line):
            condition, first, last = jump.groups()
            if condition:
                out.append(f"    if ({e.of[condition]}) {{ {go(first)} }}")
            out.append(f"    {go(last)}")
        elif result := re.fullmatch(r"  ret .+? (%\w+)", line):
            out.append(f"    return {e.of[result[1]]};")
        else:
            name_there, instruction = re.fullmatch(r"  %([\w.]+) = (.*)", line).groups()  # type: ignore[union-attr]
            e.of[f"%{name_there}"] = x = name_there.replace(".", "_")
            if not instruction.startswith("phi"):
                c, of = e.expression(instruction)
                if of in ("half", "{double, double}") and not instruction.startswith("call"):
                    e.of[f"%{name_there}"] = c
                else:
                    out.append(f"    const {TYPES[of]} {x} = {c};")
    given_c = ", ".join(f"{TYPES[k]} {x}" for k, x in arguments)
    return "\n".join([f"static {TYPES[kind]} {FUNCTIONS[name]}({given_c})", "{", *out, "}"])
