"""The C of an FMU: the machine's programs, and model.h, the tables by which core.c knows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.code.exported import WRITER, Exported, Value
from engine.code.functions import ExportError
from engine.code.memory import with_tables
from engine.code.texts import STACK, WRITTEN, comment, header, row, source
from engine.components.component import AWAY
from engine.fmu.machine import ARGUMENTS, Machine
from engine.fmu.variables import Variable

Array = np.ndarray
HERE = Path(__file__).parent
#: processors of x86-64 that have fused multiply-adds are told of by gcc's own word, whoever calls it
FAST = """#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__FMA__)
#pragma GCC target("avx2,fma")
#endif
"""
#: what an FMU's variable is to C: numbers of its flags, each a bit, and its vectors
FLAGS = ("INPUT", "OWN", "POSITIVE", "NOT_NEGATIVE", "WHOLE")
KINDS = ("TIME", "P", "START", "X", "Y", "DX")


def written(machine: Machine, name: str) -> tuple[dict[str, str], list[str], int]:
    """Return the files of a machine's programs, C's functions that call them, and the room that they want, doubles."""
    texts: dict[str, str] = {}
    wrappers, most = list[str](), 0
    for what, program in machine.programs.items():
        if with_tables(program):
            raise ExportError(f"'{machine.model.name}' works with tables, for which an FMU has no memory; expected arrays, or fewer bodies")
        bound = {"dt": machine.dt, "e": 0.0}
        given = [Value(a, s, bound=bound.get(a)) for a, s in zip(ARGUMENTS[what], program.shapes_in, strict=True)]
        results = [Value("result", (len(program.outputs),))]
        e = Exported(program, f"{name}_{what}", given, results, False, [f"{what} of an FMU"], lambda rng: [])
        text, work = source(e)
        texts |= {f"{e.name}.c": FAST + text, f"{e.name}.h": header(e, work)}
        most = max(most, work)
        passed = [*(a.name for a in e.given if a.passed), "out", *(["work"] if work > STACK else [])]
        each = ", ".join(f"{'const double *' if a.shape else 'double '}{a.name}" for a in e.given if a.bound is None)
        unused = [a.name for a in e.given if a.bound is None and not a.passed]
        silent = "".join(f" (void){a};" for a in (*unused, *([] if work > STACK else ["work"])))
        wrappers.append(f"static inline int m_{what}({each}, double *out, double *work)\n{{\n   {silent}\n"
                        f"    return {e.name}({', '.join(passed)});\n}}")  # fmt: skip
    return texts, wrappers, most


def model_header(machine: Machine, variables: Sequence[Variable], token: str, key: int, wrappers: Sequence[str], work: int,
                 texts: Sequence[str]) -> str:  # fmt: skip
    """Return model.h."""
    ends = np.append(machine.x, 0.0), np.append(machine.p, 0.0), np.append(machine.x[: machine.start], 0.0)
    quaternions = machine.quaternions if machine.start else []
    numbers = {"NP": machine.parameters.n, "NX": len(machine.x), "NSTART": machine.start, "NY": sizes(machine), "NXC": machine.exchange,
               "NOTES": machine.notes, "NPLACES": machine.moving, "STATES_FIRST": machine.states.start,
               "STATES": machine.states.stop - machine.states.start, "NQUATERNIONS": len(quaternions), "NTIMES": len(machine.times),
               "WORK": work,
               "NVARIABLES": len(variables), **{f"HAS_{n.upper()}": int(n in machine.programs) for n in ARGUMENTS}}  # fmt: skip
    rows = ", ".join(f"{{{v.kind}, {' | '.join(v.flags) or 0}, {v.at}, {v.size}}}" for v in variables)
    return "\n".join([
        comment(f"model.h: what core.c is told of {machine.words}", WRITTEN),
        "#ifndef MODEL_H", "#define MODEL_H", "", "#include <stddef.h>",
        "#include <stdint.h>", "", *(f'#include "{n}"' for n in texts if n.endswith(".h")), "",
        *(f"#define {n} {x}" for n, x in numbers.items()), f"#define DT {machine.dt!r}", f"#define AWAY {AWAY!r}",
        f'#define TOKEN "{token}"', f"#define KEY {key}ull", "#define WORKED , i->work",
        *(f"#define {n} {row(x)}".replace("\n", " \\\n") for n, x in zip(("X_FIRST", "P_FIRST", "START_FIRST"), ends, strict=True)),
        *(f"#define {n} {{{', '.join(map(str, [*x, 0]))}}}" for n, x in (("QUATERNIONS", quaternions), ("TIMES", machine.times))), "",
        f"enum {{ {', '.join(KINDS)} }};", f"enum {{ {', '.join(f'{n} = {1 << k}' for k, n in enumerate(FLAGS))} }};",
        "typedef struct {", "    int kind, flags;", "    size_t at, n;", "} Variable;", f"#define VARIABLES {{{rows}, {{0, 0, 0, 0}}}}", "",
        *wrappers, "", "#endif", ""])  # fmt: skip


def sizes(machine: Machine) -> int:
    """Return how many numbers the outputs are, but for q and v."""
    return sum(int(np.prod(shape)) for shape in machine.outputs.values())


def own_sources(version: str) -> dict[str, str]:
    """Return the files that all FMUs have, by name."""
    names = ("core.h", "core.c", "both.h", f"fmi{version[0]}.c")
    return {n: f"/* Written by {WRITER}. */\n" + (HERE / "c" / n).read_text(encoding="utf-8") for n in names}
