"""The C of an FMU: its programs, and model.h, the tables by which core.c knows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.code.compact import compact
from engine.code.exported import WRITER, Exported, Value
from engine.code.memory import NO_ROOM, with_tables
from engine.code.room import enough
from engine.code.texts import STACK, WRITTEN, comment, header, row, sources
from engine.components.component import AWAY
from engine.fmu.programs import ARGUMENTS, FmuPrograms
from engine.fmu.variables import Variable

Array = np.ndarray
HERE = Path(__file__).parent
#: processors of x86-64 that have fused multiply-adds are told of by gcc's own word, whoever calls it
FAST = """#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__FMA__)
#pragma GCC target("avx2,fma")
#endif
"""
#: what an FMU's variable is to C: numbers of its flags, each a bit, and its vectors
FLAGS = ("INPUT", "OWN", "ABOVE", "WHOLE", "FIRST")
#: programs that share what they call, and are one file: what is asked at the start is found in each step, too
SHARED = ("step", "apart")
KINDS = ("TIME", "P", "START", "X", "Y", "DX")


def written(fmu: FmuPrograms, name: str, rows: int) -> tuple[dict[str, str], list[str], int]:
    """Return the files of an FMU's programs, C's functions that call them, and the room that they want, doubles: for tables of so many
    rows."""
    texts: dict[str, str] = {}
    wrappers, most = list[str](), 0
    functions = {what: function(fmu, name, what) for what in fmu.programs}
    works: dict[str, int] = {}
    for group in ([what for what in SHARED if what in functions], *([what] for what in functions if what not in SHARED)):
        if group:
            text, own = sources([functions[what] for what in group])
            texts[f"{name}_{group[0]}.c"] = FAST + compact(text)
            works |= dict(zip(group, own, strict=True))
    for what, e in functions.items():
        program, work = e.program, works[what]
        texts[f"{e.name}.h"] = header(e, work)
        lent = work if work > STACK else 0
        memory = enough(program, rows) if with_tables(program) else 0
        most = max(most, lent + memory)
        passed = [*(a.name for a in e.given if a.passed), "out", *["work"] * bool(lent), *[f"work + {lent}", str(memory)] * bool(memory)]
        each = ", ".join(f"{'const double *' if a.shape else 'double '}{a.name}" for a in e.given if a.bound is None)
        unused = [a.name for a in e.given if a.bound is None and not a.passed]
        silent = "".join(f" (void){a};" for a in (*unused, *["work"] * (not lent + memory)))
        # no FMU is called "do", a word of C's
        wrappers.append(f"static inline int do_{what}({each}, double *out, double *work)\n{{\n   {silent}\n"
                        f"    return {e.name}({', '.join(passed)});\n}}")  # fmt: skip
    return texts, wrappers, most


def function(fmu: FmuPrograms, name: str, what: str) -> Exported:
    """Return one of an FMU's programs as a function of C."""
    program, bound = fmu.programs[what], {"dt": fmu.dt, "e": 0.0}
    given = [Value(a, s, bound=bound.get(a)) for a, s in zip(ARGUMENTS[what], program.shapes_in, strict=True)]
    results = [Value("result", (len(program.outputs),))]
    return Exported(program, f"{name}_{what}", given, results, False, [f"{what} of an FMU"], lambda rng: [])


def model_header(fmu: FmuPrograms, variables: Sequence[Variable], token: str, key: int, wrappers: Sequence[str], work: int, rows: int,
                 texts: Sequence[str]) -> str:  # fmt: skip
    """Return model.h."""
    ends = np.append(fmu.x, 0.0), np.append(fmu.p, 0.0), np.append(fmu.x[: fmu.start], 0.0)
    quaternions = fmu.quaternions if fmu.start else []
    numbers = {"NP": fmu.parameters.n, "NX": len(fmu.x), "NSTART": fmu.start, "NY": sizes(fmu), "NXC": fmu.exchange,
               "NOTES": fmu.notes, "NPLACES": fmu.moving, "STATES_FIRST": fmu.states.start,
               "STATES": fmu.states.stop - fmu.states.start, "NQUATERNIONS": len(quaternions), "NTIMES": len(fmu.times),
               "WORK": work, "NO_ROOM": NO_ROOM, "ROWS": rows,
               "NVARIABLES": len(variables), **{f"HAS_{n.upper()}": int(n in fmu.programs) for n in ARGUMENTS}}  # fmt: skip
    known = ", ".join(f"{{{v.kind}, {' | '.join((*v.flags, *['ABOVE'] * v.range.above)) or 0}, {v.at}, {v.size}, {end(v.range.least)}, "
                      f"{end(v.range.most)}}}" for v in variables)  # fmt: skip
    return "\n".join([
        comment(f"model.h: what core.c is told of {fmu.words}", WRITTEN),
        "#ifndef MODEL_H", "#define MODEL_H", "", "#include <math.h>", "#include <stddef.h>",
        "#include <stdint.h>", "", *(f'#include "{n}"' for n in texts if n.endswith(".h")), "",
        *(f"#define {n} {x}" for n, x in numbers.items()), f"#define DT {fmu.dt!r}", f"#define AWAY {AWAY!r}",
        f'#define TOKEN "{token}"', f"#define KEY {key}ull", "#define WORKED , i->work",
        *(f"#define {n} {row(x)}".replace("\n", " \\\n") for n, x in zip(("X_FIRST", "P_FIRST", "START_FIRST"), ends, strict=True)),
        *(f"#define {n} {{{', '.join(map(str, [*x, 0]))}}}" for n, x in (("QUATERNIONS", quaternions), ("TIMES", fmu.times))), "",
        f"enum {{ {', '.join(KINDS)} }};", f"enum {{ {', '.join(f'{n} = {1 << k}' for k, n in enumerate(FLAGS))} }};",
        "typedef struct {", "    int kind, flags;", "    size_t at, n;", "    double least, most;", "} Variable;",
        f"#define VARIABLES {{{known}, {{0, 0, 0, 0, 0.0, 0.0}}}}", "",
        "#define NAMES {" + ", ".join([*(literal(v.name) for v in variables), "0"]) + "}", *wrappers, "", "#endif", ""])  # fmt: skip


def end(x: float) -> str:
    """Return the end of a range as C writes it.

    >>> end(-float("inf")), end(60.0)
    ('-INFINITY', '60.0')
    """
    return repr(x).replace("inf", "INFINITY")


def literal(text: str) -> str:
    """Return a text of ASCII as C writes it; no question marks, two of which begin trigraphs.

    >>> print(literal("q.'a\\\\'b?'"))
    "q.'a\\\\'b\\?'"
    """
    return '"' + re.sub(r'[\\"?]', lambda c: f"\\{c[0]}", text) + '"'


def sizes(fmu: FmuPrograms) -> int:
    """Return how many numbers the outputs are, but for q and v."""
    return sum(int(np.prod(shape)) for shape in fmu.outputs.values())


def own_sources(version: str) -> dict[str, str]:
    """Return the files that all FMUs have, by name."""
    names = ("core.h", "core.c", "both.h", f"fmi{version[0]}.c")
    return {n: f"/* Written by {WRITER}. */\n" + (HERE / "c" / n).read_text(encoding="utf-8") for n in names}
