"""A function as C99: its source, its header, and a test of both that carries the engine's own results."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from engine.code.elementary import SOFT_FMA, needed
from engine.code.exported import WRITER, Exported, Value
from engine.code.functions import Writer, unused
from engine.code.translate import decimal
from engine.code.vectors import WIDE

#: doubles of work that a function takes from the stack; one that needs more is lent them
STACK = 512
#: in every text that is written
WRITTEN = f"Written by {WRITER} {version(WRITER)}."
#: columns of a comment
WIDTH = 116
PREAMBLE = """#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || __FINITE_MATH_ONLY__ + 0
#error "the results are meant to be the engine's, bit for bit; expected no -ffast-math, nor what is part of it"
#endif
#if FLT_EVAL_METHOD != 0
#error "doubles must round as doubles; expected FLT_EVAL_METHOD 0 (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#endif
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif"""
COMPILE = ("Results are the engine's, bit for bit: every operation rounds once, and fma() must round once too. Where the processor has "
           "such an instruction, let the compiler know (x86-64: -mfma or -march=native), or each is a call of the C library; define "
           "SOFT_FMA where that rounds twice. tan, asin, acos, atan, atan2, pow, fmod, and sin and cos beyond 2^46, are the C "
           "library's. -ffp-contract=fast and -ffast-math change results.", WRITTEN)  # fmt: skip


def comment(*paragraphs: str) -> str:
    """Paragraphs as a comment of C."""
    lines = []
    for text in paragraphs:
        indent = len(text) - len(text.lstrip())
        line = " " * indent
        for word in text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").split():
            if len(line) + len(word) > WIDTH and line.strip():
                lines.append(line.rstrip())
                line = " " * (indent + 2)
            line += word + " "
        lines.append(line.rstrip())
    return "/* " + "\n * ".join(lines).replace("\\", "/") + "\n */"


def declared(value: Value, output: bool, restrict: bool = False) -> str:
    """A parameter of C."""
    if not value.shape and not output:
        return f"double {value.name}"
    return f"{'' if output else 'const '}double {value.name}[{'restrict ' if restrict else ''}{value.size}]"


def prototype(e: Exported, work: int, restrict: bool = False) -> str:
    """The function's head."""
    each = [*(declared(a, False, restrict) for a in e.parameters), *(declared(r, True, restrict) for r in e.returned)]
    lent = [f"double work[{'restrict ' if restrict else ''}{e.name.upper()}_WORK]"] * (work > STACK)
    return f"int {e.name}({', '.join([*each, *lent]) or 'void'})"


def element(values: list[Value], k: int) -> str:
    """Number k of arguments or results, as C has it."""
    for value in values:
        if k < value.size:
            if value.bound is not None:
                return decimal(value.bound)
            return f"{value.name}[{k}]" if value.shape else value.name
        k -= value.size
    raise IndexError(k)


def source(e: Exported) -> tuple[str, int]:
    """The source, and how many doubles of work the function needs."""
    writer, own = Writer(e.name), [*e.parameters, *e.returned]
    given = ", ".join([*(declared(a, False, True) for a in e.parameters), *(declared(r, True, True) for r in e.returned)])
    lines, work = writer.body(e.program, e.name, given, ", ".join(x.name for x in own), lambda k: element(e.given, k),
                              lambda k: result(e.results, k))  # fmt: skip
    checks = [f"    for (int i = 0; i < {x.size}; ++i)\n        bad |= !isfinite({x.name}[i]);" if x.shape or x in e.returned else
              f"    bad |= !isfinite({x.name});" for x in (*(e.parameters if e.strict else ()), *e.returned)]  # fmt: skip
    room = [f"    double work[{work}];"] * (0 < work <= STACK)
    body = room + unused([*lines, *checks], [x.name for x in own])
    head = prototype(e, work, True)
    own_functions = needed(writer.helpers)
    soft = [SOFT_FMA] * any("fma(" in t for t in (*own_functions, *writer.text, *lines))
    wide = [WIDE] * any("#ifdef WIDE" in t for t in own_functions)
    parts = [comment(f"{e.name}.c: {e.summary[0]}", *e.summary[1:], *COMPILE), f'#include "{e.name}.h"', PREAMBLE, *wide, *soft,
             *own_functions, *writer.text,
             "\n".join([head, "{", *body, *lines, "    int bad = 0;", *checks, "    return bad;", "}"])]  # fmt: skip
    return "\n\n".join(parts) + "\n", work


def result(results: list[Value], k: int) -> str:
    """Result k: results of C are arrays, of one entry where they are numbers."""
    for value in results:
        if k < value.size:
            return f"{value.name}[{k}]"
        k -= value.size
    raise IndexError(k)


def described(value: Value) -> list[str]:
    """What an argument or a result is, and what its entries are."""
    shape = f" ({', '.join(map(str, value.shape))})" if value.shape else ""
    lines = [f"  {value.name}{shape}{': ' if value.text else ''}{value.text}"]
    for start, what, entries in value.parts:
        lines.append(f"      from [{start}] on: {' '.join(filter(None, (what, ', '.join(entries))))}")
    return lines


def header(e: Exported, work: int, more: str = "") -> str:
    """The header."""
    upper = e.name.upper()
    returns = ["Arrays are in C order and must not overlap. It returns 0, or 1 where a result"
               + (" or an argument" if e.strict else "") + " is not finite.",
               "It allocates nothing and keeps nothing: calls may go on side by side.", WRITTEN]  # fmt: skip
    lent = [f"  work ({work}): room of the caller's, {upper}_WORK doubles, of which nothing is kept"] * (work > STACK)
    given = [x for a in e.parameters for x in described(a)] + lent
    told = [f"{e.name}: {e.summary[0]}", *e.summary[1:], *([more] if more else []), *(["given", *given] if given else []),
            "returned", *(x for r in e.returned for x in described(r)), *returns]  # fmt: skip
    first = [f"/* {n} at first */\n#define {upper}_INITIAL_{n.upper()} " + row(a).replace("\n", " \\\n") for n, a in e.initial.items()]
    return "\n".join([comment(*told), f"#ifndef {upper}_H", f"#define {upper}_H", "",
                      f"#define {upper}_WORK {work if work > STACK else 0}", *first, "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
                      f"{prototype(e, work)};", "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])  # fmt: skip


def row(x: np.ndarray) -> str:
    """Numbers, as C begins an array with them; one of its own where there are none."""
    each = [decimal(float(y)) for y in x] or ["0.0"]
    return "{" + ",\n     ".join(", ".join(each[k : k + 6]) for k in range(0, len(each), 6)) + "}"


def rows(x: list[np.ndarray]) -> str:
    """Rows of numbers."""
    return "{\n    " + ",\n    ".join(map(row, x)) + "\n}"


def selftest(e: Exported, work: int) -> str:
    """A program that compares results with the engine's: it prints ok, or which entry differs and by how many units in the last place."""
    samples = e.samples()
    x, y = ([np.concatenate([np.zeros(0), *sample[k]]) for sample in samples] for k in (0, 1))
    fine = [np.isfinite(b).all() and (not e.strict or np.isfinite(a).all()) for a, b in zip(x, y, strict=True)]
    passed, k = list[str](), 0
    for value in e.parameters:
        passed.append(f"given[k] + {k}" if value.shape else f"given[k][{k}]")
        k += value.size
    starts = [int(k) for k in np.cumsum([0, *(r.size for r in e.returned)])]
    passed += [*(f"found + {start}" for start in starts[:-1]), *(["work"] if work > STACK else [])]
    return "\n".join([
        comment(f"{e.name}_test.c: {e.name} compared with the results that the engine has recorded. {WRITTEN}"),
        f'#include "{e.name}.h"', "",
        "#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", "",
        f"enum {{ SAMPLES = {len(samples)}, RESULTS = {len(y[0])} }};", "",
        f"static const double given[SAMPLES][{max(len(x[0]), 1)}] = {rows(x)};",
        f"static const double expected[SAMPLES][{max(len(y[0]), 1)}] = {rows(y)};",
        f"static const int bad[SAMPLES] = {{{', '.join(str(int(not good)) for good in fine)}}};",
        "static const struct { const char *name; int first; } results[] = {",
        *(f'    {{"{r.name}", {start}}},' for r, start in zip(e.returned, starts, strict=False)), "};",
        *([f"static double work[{e.name.upper()}_WORK];"] if work > STACK else []), "", TEST_HEAD,
        f"        const int status = {e.name}({', '.join(passed)});", TEST_TAIL.replace("NAME", e.name)])  # fmt: skip


TEST_HEAD = """/* doubles as whole numbers in their order */
static int64_t ordered(double x)
{
    union { double x; int64_t n; } u;
    u.x = x;
    return u.n < 0 ? INT64_MIN - u.n : u.n;
}

static double apart(int64_t x, int64_t y)
{
    return x > y ? (double)((uint64_t)x - (uint64_t)y) : (double)((uint64_t)y - (uint64_t)x);
}

int main(void)
{
    static double found[RESULTS + 1];
    int wrong = 0;
    (void)given;
    for (int k = 0; k < SAMPLES; ++k) {"""
TEST_TAIL = """        if (status != bad[k]) {
            printf("sample %d: returned %d; expected %d\\n", k, status, bad[k]);
            ++wrong;
        }
        for (int i = 0; i < RESULTS; ++i) {
            const double x = found[i], y = expected[k][i];
            int r = (int)(sizeof results / sizeof *results) - 1;
            if (x == y || (isnan(x) && isnan(y)))
                continue;
            while (results[r].first > i)
                --r;
            printf("sample %d: %s[%d] is %.17g; expected %.17g, %.0f units in the last place\\n", k, results[r].name,
                   i - results[r].first, x, y, apart(ordered(x), ordered(y)));
            ++wrong;
        }
    }
    if (!wrong)
        printf("ok: NAME, %d samples, bit for bit\\n", (int)SAMPLES);
    return wrong != 0;
}
"""
