"""C of vectors of two and four doubles: the processor's, where the compiler may use AVX and FMA, elsewhere as many doubles."""

from __future__ import annotations

#: lanes -> the type in C, and what the processor's instructions begin with
TYPE = {2: "lanes2", 4: "lanes4"}
INTRINSIC = {2: "_mm", 4: "_mm256"}
#: operation -> what it takes: vectors (x, y, z), numbers, a place, a lane
TAKES = {"add": "xy", "sub": "xy", "mul": "xy", "div": "xy", "fma": "xyz", "sqrt": "x", "neg": "x", "negated": "x", "pack": "",
         "lane": "xk", "load": "p", "store": "px"}  # fmt: skip
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
#: functions by their names in C -> their operations and lanes
FUNCTIONS = {f"{op}{n}": (op, n) for op in TAKES for n in TYPE}
WIDE = """#if defined(__GNUC__) && defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>
#define WIDE 1
#endif"""


def type_of(n: int) -> str:
    """C of the type of a vector."""
    return f"#ifdef WIDE\ntypedef __m{128 * n // 2}d {TYPE[n]};\n#else\ntypedef struct {{ double x[{n}]; }} {TYPE[n]};\n#endif"


def function(op: str, n: int) -> str:
    """C of an operation on vectors.

    >>> print(function("sqrt", 2))
    static inline lanes2 sqrt2(lanes2 x)
    {
    #ifdef WIDE
        return _mm_sqrt_pd(x);
    #else
        return (lanes2){{sqrt(x.x[0]), sqrt(x.x[1])}};
    #endif
    }
    """
    of = {**dict.fromkeys("xyz", TYPE[n]), "k": "int", "p": "double *" if op == "store" else "const double *"}
    numbers = [f"x{k}" for k in range(n)]
    given = ", ".join([f"{of[a]} {a}".replace("* ", "*") for a in TAKES[op]] or [f"double {x}" for x in numbers])
    kind = {"lane": "double", "store": "void"}.get(op, TYPE[n])
    wide, plain = texts(op, n, numbers)
    return "\n".join([f"static inline {kind} {op}{n}({given})", "{", "#ifdef WIDE", f"    {wide};", "#else",
                      *(f"    {line};" for line in plain), "#endif", "}"])  # fmt: skip


def texts(op: str, n: int, numbers: list[str]) -> tuple[str, list[str]]:
    """Statements of an operation on n lanes, of the processor's vectors, and of as many doubles."""
    operands = [a for a in TAKES[op] if a in "xyz"]
    each = [[f"{a}.x[{k}]" for a in operands] for k in range(n)]
    if op == "store":
        return f"{INTRINSIC[n]}_storeu_pd(p, x)", [f"p[{k}] = x.x[{k}]" for k in range(n)]
    if op == "lane":
        return "return x[k]", ["return x.x[k]"]
    if op in OPERATORS:
        wide, parts = f"x {OPERATORS[op]} y", [f" {OPERATORS[op]} ".join(row) for row in each]
    elif op in ("fma", "sqrt"):
        wide = f"{INTRINSIC[n]}_{'fmadd' if op == 'fma' else 'sqrt'}_pd({', '.join(operands)})"
        parts = [f"{op}({', '.join(row)})" for row in each]
    elif op == "neg":
        wide, parts = "-x", [f"-x.x[{k}]" for k in range(n)]
    elif op == "negated":
        prefix = INTRINSIC[n]
        wide, parts = f"{prefix}_xor_pd(x, {prefix}_set1_pd(-0.0))", [f"negated(x.x[{k}])" for k in range(n)]
    elif op == "load":
        wide, parts = f"{INTRINSIC[n]}_loadu_pd(p)", [f"p[{k}]" for k in range(n)]
    else:
        wide, parts = f"({TYPE[n]}){{{', '.join(numbers)}}}", numbers
    return f"return {wide}", [f"return ({TYPE[n]}){{{{{', '.join(parts)}}}}}"]
