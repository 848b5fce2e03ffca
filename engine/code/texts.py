"""A function as C99: its source, its header, and a test of both that carries the engine's own results."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from engine.code.elementary import NEGATED, SOFT_FMA, definitions
from engine.code.exported import WRITER, Exported, Value
from engine.code.functions import Writer, unused
from engine.code.memory import ARGUMENT, DESCRIPTOR, DIFFERENT, NO_ROOM, NO_ROW, with_tables
from engine.code.room import grows, needed
from engine.code.translate import decimal
from engine.code.vectors import WIDE
from engine.compiler.graph.operations import LIBRARY

#: doubles of work that a function takes from the stack; one that needs more is lent them
STACK = 512
#: of tables that may have more rows than those that are given, as many times more as there is room for in tests; and rows where none is
SLACK, ROWS = 8, 1000
#: in every text that is written
WRITTEN = f"Written by {WRITER} {version(WRITER)}."
FAILURES = (f"Where it returns more, results hold nothing of use: {NO_ROOM} where memory, or the room for a result, is too small, "
            f"{NO_ROW} where a number is not that of a row, {DIFFERENT} where tables that go together have different numbers of rows. A "
            "result that is a table has room for _room rows, and its number of rows is put at _rows, also where that is more.")  # fmt: skip
#: columns of a comment
WIDTH = 116
PREAMBLE = """#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || __FINITE_MATH_ONLY__ + 0
#error "the results are meant to be the engine's, bit for bit; expected no -ffast-math, nor what is part of it"
#endif
/* 16, 32 and 64 are of processors that have narrower numbers too: doubles are as with 0 */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16 && FLT_EVAL_METHOD != 32 && FLT_EVAL_METHOD != 64
#error "doubles must round as doubles; expected FLT_EVAL_METHOD 0, 16, 32 or 64 (on 32-bit x86: -msse2 -mfpmath=sse)"
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
           f"SOFT_FMA where that rounds twice. {', '.join(LIBRARY)}, and sin and cos beyond 2^46, are the C "
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
    """Return the declaration of a parameter in C; of a table with its number of rows, or with room for so many, and a place for their
    number."""
    if value.columns:
        n, array = value.name, f"double *{'restrict ' if restrict else ''}{value.name}"
        return f"{array}, size_t {n}_room, size_t *{n}_rows" if output else f"const {array}, size_t {n}_rows"
    if not value.shape and not output:
        return f"double {value.name}"
    return f"{'' if output else 'const '}double {value.name}[{'restrict ' if restrict else ''}{value.size}]"


def prototype(e: Exported, work: int, restrict: bool = False) -> str:
    """The function's head."""
    each = [*(declared(a, False, restrict) for a in e.parameters), *(declared(r, True, restrict) for r in e.returned)]
    lent = [f"double work[{'restrict ' if restrict else ''}{e.name.upper()}_WORK]"] * (work > STACK)
    lent += [f"double *{'restrict ' if restrict else ''}memory, size_t memory_size"] * with_tables(e.program)
    return f"int {e.name}({', '.join([*each, *lent]) or 'void'})"


def element(values: list[Value], k: int) -> str:
    """Return number k of arguments or results, as C has it."""
    tables = 0
    for value in values:
        if k < value.size:
            if value.bound is not None:
                return decimal(value.bound)
            return f"in[{tables}]" if value.columns else f"{value.name}[{k}]" if value.shape else value.name
        tables += bool(value.columns)
        k -= value.size
    raise IndexError(k)


def source(e: Exported) -> tuple[str, int]:
    """Return the source, and how many doubles of work the function needs."""
    text, (work,) = sources([e])
    return text, work


def sources(each: list[Exported]) -> tuple[str, list[int]]:
    """Return the source of functions that share what they call, and how many doubles of work each needs."""
    writer = Writer(each[0].name)
    written = [own_function(writer, e) for e in each]
    own_functions, mains = definitions(writer.helpers), [text for text, _ in written]
    soft = [SOFT_FMA] * any("fma(" in t for t in (*own_functions, *writer.text, *mains))
    signs = [NEGATED] * any("negated(" in t for t in (*writer.text, *mains))
    if not signs and any("negated(" in t for t in own_functions):              # of vectors, where they are numbers
        signs = [f"#ifndef WIDE\n{NEGATED}\n#endif"]
    wide = [WIDE] * any("#ifdef WIDE" in t for t in own_functions)
    moving = ["#include <string.h>"] * any(with_tables(e.program) for e in each)
    heads = "\n".join(f'#include "{e.name}.h"' for e in each)
    said = [text for e in each for text in (f"{e.name}.c: {e.summary[0]}", *e.summary[1:])]
    return "\n\n".join([comment(*said, *COMPILE), heads, PREAMBLE, *moving, *wide, *soft, *signs, *own_functions, *writer.text,
                        *mains]) + "\n", [work for _, work in written]  # fmt: skip


def own_function(writer: Writer, e: Exported) -> tuple[str, int]:
    """Return a function as C calls it, and how many doubles of work it needs; its parts and callees go to a writer."""
    numbers = [[x for x in each if not x.columns] for each in (e.parameters, e.returned)]
    tables_in, tables_out = e.tables, [r for r in e.returned if r.columns]
    given = [*(declared(a, False, True) for a in numbers[0]), *["const double *restrict in"] * bool(tables_in),
             *(declared(r, True, True) for r in numbers[1]), *["double *restrict out"] * bool(tables_out)]  # fmt: skip
    passed = [*(a.name for a in numbers[0]), *["in"] * bool(tables_in), *(r.name for r in numbers[1]), *["out"] * bool(tables_out)]
    lines, work = writer.body(e.program, e.name, ", ".join(given), ", ".join(passed), lambda k: element(e.given, k),
                              lambda k: result(e.results, k))  # fmt: skip
    checks = [check(x, False) for x in (e.parameters if e.strict else ())] + [check(x, True) for x in numbers[1]]
    room = [f"    double work[{work}];"] * (0 < work <= STACK)
    end = "    return bad;"
    if with_tables(e.program):
        room += given_tables(tables_in, len(tables_out)) + unused(lines, ["in"] * bool(tables_in))
        checks += [f"    bad |= table_result({ARGUMENT}, out[{k}], {r.columns}, {r.name}, {r.name}_room, {r.name}_rows);"
                   for k, r in enumerate(tables_out)]  # fmt: skip
        end = f"    return {ARGUMENT}->state ? {ARGUMENT}->state : bad;"
        writer.helpers |= {"table_given", *["table_result"] * bool(tables_out)}
    body = room + unused([*room, *lines, *checks], [x.name for x in (*e.parameters, *e.returned)])
    head = prototype(e, work, True)
    return "\n".join([head, "{", *body, *lines, "    int bad = 0;", *checks, end, "}"]), work


def check(x: Value, output: bool) -> str:
    """Return statements that note whether an argument or a result is not finite."""
    if not x.shape and not output:
        return f"    bad |= !isfinite({x.name});"
    counter = f"size_t i = 0; i < {x.name}_rows * {x.columns}" if x.columns else f"int i = 0; i < {x.size}"
    return f"    for ({counter}; ++i)\n        bad |= !isfinite({x.name}[i]);"


def given_tables(tables: list[Value], results: int) -> list[str]:
    """Return statements that make tables of the arguments; the first of all is an empty one, in place of those for which there is no room.
    """
    counts = [f"in[{len(tables)}]"] * bool(tables) + [f"out[{results}]"] * bool(results)
    return [*[f"    double {', '.join(counts)};"] * bool(counts), f"    struct arena {ARGUMENT}[1] = {{{{memory, 0, memory_size, 0}}}};",
            f"    if (memory_size < {DESCRIPTOR})", f"        return {NO_ROOM};", f"    table_given({ARGUMENT}, 0, memory);",
            *(f"    in[{k}] = table_given({ARGUMENT}, {a.name}_rows, {a.name});" for k, a in enumerate(tables))]  # fmt: skip


def result(results: list[Value], k: int) -> str:
    """Result k: results of C are arrays, of one entry where they are numbers."""
    tables = 0
    for value in results:
        if k < value.size:
            return f"out[{tables}]" if value.columns else f"{value.name}[{k}]"
        tables += bool(value.columns)
        k -= value.size
    raise IndexError(k)


def described(value: Value) -> list[str]:
    """Return the comment lines of an argument or a result: its meaning, and that of its entries."""
    sizes = (f"{value.name}_rows", *value.shape[1:]) if value.columns else value.shape
    shape = f" ({', '.join(map(str, sizes))})" if sizes else ""
    lines = [f"  {value.name}{shape}{': ' if value.text else ''}{value.text}"]
    for start, what, entries in value.parts:
        lines.append(f"      from [{start}] on: {' '.join(filter(None, (what, ', '.join(entries))))}")
    return lines


def header(e: Exported, work: int, more: str = "") -> str:
    """The header."""
    upper = e.name.upper()
    tabled = with_tables(e.program)
    returns = ["Arrays are in C order and must not overlap. It returns 0, or 1 where a result"
               + (" or an argument" if e.strict else "") + " is not finite.", *[FAILURES] * tabled,
               "It allocates nothing and keeps nothing: calls may go on side by side.", WRITTEN]  # fmt: skip
    lent = [f"  work ({work}): room of the caller's, {upper}_WORK doubles, of which nothing is kept"] * (work > STACK)
    if tabled:
        most = f"{upper}_MEMORY are enough"
        if needed(e.program).each:
            arrays = ", nor an array of a procedure," if grows(e.program) else ""
            most = f"{upper}_MEMORY(n) are enough where no table{arrays} has more than n rows"
            most += "" if e.tables else f", which is {upper}_ROWS as a rule"
        lent.append(f"  memory (memory_size): doubles of the caller's for tables, of which nothing is kept; {most}")
    given = [x for a in e.parameters for x in described(a)] + lent
    told = [f"{e.name}: {e.summary[0]}", *e.summary[1:], *([more] if more else []), *(["given", *given] if given else []),
            "returned", *(x for r in e.returned for x in described(r)), *returns]  # fmt: skip
    first = [f"/* {n} at first */\n#define {upper}_INITIAL_{n.upper()} " + row(a).replace("\n", " \\\n") for n, a in e.initial.items()]
    return "\n".join([comment(*told), f"#ifndef {upper}_H", f"#define {upper}_H", "", *["#include <stddef.h>", ""] * tabled,
                      f"#define {upper}_WORK {work if work > STACK else 0}", *[memory_of(e)] * tabled, *first,
                      "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
                      f"{prototype(e, work)};", "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])  # fmt: skip


def memory_of(e: Exported) -> str:
    """Return the macros of the doubles of memory that suffice, for tables of at most so many rows."""
    upper, (own, each) = e.name.upper(), needed(e.program)
    own += DESCRIPTOR * (1 + len(e.tables))
    if not each:
        return f"#define {upper}_MEMORY {own}"
    as_a_rule = [] if e.tables else [f"#define {upper}_ROWS {e.rows or ROWS}"]
    return "\n".join([*as_a_rule, f"#define {upper}_MEMORY(rows) ({own} + {each} * (size_t)(rows))"])


def row(x: np.ndarray) -> str:
    """Numbers, as C begins an array with them; one of its own where there are none."""
    each = [decimal(float(y)) for y in x] or ["0.0"]
    return "{" + ",\n     ".join(", ".join(each[k : k + 6]) for k in range(0, len(each), 6)) + "}"


def rows(x: list[np.ndarray]) -> str:
    """Rows of numbers."""
    return "{\n    " + ",\n    ".join(map(row, x)) + "\n}"


def selftest(e: Exported, work: int) -> str:
    """Return a program that compares results with the engine's: it prints ok, or which entry differs and by how many units in the last
    place."""
    samples = e.samples()
    (x, at, rows_in), (y, starts, rows_out) = (padded([s[k] for s in samples], of) for k, of in enumerate((e.parameters, e.returned)))
    bad = [int(not (np.isfinite(b).all() and (not e.strict or np.isfinite(a).all()))) if found else NO_ROW
           for a, b, (_, found) in zip(x, y, samples, strict=True)]  # fmt: skip
    passed, tables, made = list[str](), 0, 0
    for value, k in zip(e.parameters, at, strict=False):
        passed.append(f"given[k] + {k}" if value.shape else f"given[k][{k}]")
        if value.columns:
            passed.append(f"rows[k][{tables}]")
            tables += 1
    for value, k, end in zip(e.returned, starts, starts[1:], strict=False):
        passed.append(f"found + {k}")
        if value.columns:
            passed.append(f"{(end - k) // value.columns}, &made[{made}]")
            made += 1
    passed += ["work"] * (work > STACK) + ["memory", "sizeof memory / sizeof *memory"] * with_tables(e.program)
    most = f"{e.name.upper()}_MEMORY"
    if with_tables(e.program) and needed(e.program).each:
        most += f"({max(map(max, rows_in)) * (SLACK if grows(e.program) else 1)})" if tables else f"({e.name.upper()}_ROWS)"
    return "\n".join([
        comment(f"{e.name}_test.c: {e.name} compared with the results that the engine has recorded. {WRITTEN}"),
        f'#include "{e.name}.h"', "",
        "#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", "",
        f"enum {{ SAMPLES = {len(samples)}, RESULTS = {len(y[0])} }};", "",
        f"static const double given[SAMPLES][{max(len(x[0]), 1)}] = {rows(x)};",
        f"static const double expected[SAMPLES][{max(len(y[0]), 1)}] = {rows(y)};",
        f"static const int bad[SAMPLES] = {{{', '.join(map(str, bad))}}};", *counts("rows", rows_in), *counts("made_rows", rows_out),
        "static const struct { const char *name; int first; } results[] = {",
        *(f'    {{"{r.name}", {start}}},' for r, start in zip(e.returned, starts, strict=False)), "};",
        *([f"static double work[{e.name.upper()}_WORK];"] if work > STACK else []),
        *([f"static double memory[{most}];"] if with_tables(e.program) else []), *[f"static size_t made[{made}];"] * bool(made), "",
        TEST_HEAD, *[CLEAN] * bool(made),
        f"        const int status = {e.name}({', '.join(passed)});", *[TEST_ROWS.replace("MADE", str(made))] * bool(made),
        TEST_TAIL.replace("NAME", e.name)])  # fmt: skip


def padded(samples: list[list[np.ndarray]], of: list[Value]) -> tuple[list[np.ndarray], list[int], list[list[int]]]:
    """Samples of arguments or results, flat, tables with room for as many rows as they have in any sample; where each begins; and how
    many rows tables have, a list a sample."""
    room = [max((len(s[k]) for s in samples if s), default=0) if value.columns else value.size for k, value in enumerate(of)]
    each = [s or [np.zeros(0)] * len(of) for s in samples]
    flat = [np.concatenate([np.zeros(0), *(np.append(a, np.zeros(n - len(a))) for a, n in zip(s, room, strict=True))]) for s in each]
    rows = [[len(a) // value.columns for a, value in zip(s, of, strict=True) if value.columns] for s in each]
    return flat, [int(k) for k in np.cumsum([0, *room])], rows


def counts(name: str, each: list[list[int]]) -> list[str]:
    """C of numbers of rows, those of a sample together, if there are tables."""
    texts = ", ".join("{" + ", ".join(map(str, x)) + "}" for x in each)
    return [f"static const size_t {name}[SAMPLES][{len(each[0])}] = {{{texts}}};"] if each[0] else []


CLEAN = """        for (int i = 0; i < RESULTS; ++i)
            found[i] = 0.0;"""
TEST_ROWS = """        for (int i = 0; i < MADE && status < 2; ++i)
            if (made[i] != made_rows[k][i]) {
                printf("sample %d: a table of %d rows; expected %d\\n", k, (int)made[i], (int)made_rows[k][i]);
                ++wrong;
            }"""


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
TEST_TAIL = """        if (bad[k] < 2 ? status != bad[k] : status < bad[k]) {
            printf("sample %d: returned %d; expected %d\\n", k, status, bad[k]);
            ++wrong;
        }
        for (int i = 0; i < RESULTS && bad[k] < 2; ++i) {
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
