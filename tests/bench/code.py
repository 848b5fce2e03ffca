"""Exported C of five robots and four controllers: ``python -m tests.bench.code``: bits over 1e5 random states, also on aarch64 (emulated)
where its compiler is there, and the time of one call.

Times are the best of many rounds, C and the engine in turn in one process: C in a loop of C, the engine's machine code (as a .o, behind
the same entry) in the same loop, and the engine as Python calls it.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.code import export_code
from engine.components.controllers import computed_torque, minimum_jerk
from tests.bench.bits import load
from tests.bench.robots import FILES
from tests.code.programs import Rows, run
from tests.code.robots import controllers
from tests.code.test_processors import AARCH64

STATES, STEPS, ROUNDS, CALLS = 100_000, 2_000, 300, 100


def functions(robot: str) -> dict[str, tuple[Any, str | None]]:
    """What is measured of a robot."""
    flyer = robot == "free_flyer"
    model = engine.load_urdf(engine.example(robot), floating_base=True) if flyer else load(robot)
    compiled, name = engine.compile(model), robot.lower()
    found: dict[str, tuple[Any, str | None]] = {
        f"{name}_{f}": (getattr(compiled, f), None) for f in ("forward_kinematics", "rnea", "aba", "crba")}
    controller = None
    if not flyer and not FILES[robot][1]:
        controller = computed_torque(model, minimum_jerk(model, model.neutral(), model.neutral(), 1.0))
    return found | {f"{name}_step": (engine.Simulator(model, controller=controller), None)}


def measured(rows: Rows, libraries: dict[str, ctypes.CDLL], name: str) -> dict[str, float]:
    """Seconds of one call."""
    given, e = rows.drawn(name, CALLS), rows.of[name]
    one = [np.array(x[0]) for x in given]
    runs = {key: rows.ready(library, name, given)[0] for key, library in libraries.items()}
    best = dict.fromkeys([*libraries, "Python"], np.inf)
    for _ in range(ROUNDS):
        for key, go in runs.items():
            begun = time.perf_counter()
            go()
            best[key] = min(best[key], (time.perf_counter() - begun) / CALLS)
        begun = time.perf_counter()
        for _ in range(CALLS):
            e.compiled(*one)
        best["Python"] = min(best["Python"], (time.perf_counter() - begun) / CALLS)
    return best


def main() -> None:
    warnings.simplefilter("ignore")
    for what in (*FILES, "free_flyer", "controllers"):
        with tempfile.TemporaryDirectory() as folder:
            rows = Rows(Path(folder), controllers() if what == "controllers" else functions(what))
            libraries = {compiler: rows.built(compiler, "-O2", "-march=native") for compiler in ("gcc", "clang")}
            for name in rows.of:
                given = rows.drawn(name, STEPS if name.endswith("step") else STATES)
                expected = rows.expected(name, given)
                for library in libraries.values():
                    rows.compare(name, given, expected, *rows.called(library, name, given))
                if shutil.which(AARCH64[0]) and shutil.which("qemu-aarch64"):
                    rows.compare(name, given, expected, *rows.elsewhere(name, given, AARCH64, "qemu-aarch64"))
                own = Rows(Path(folder) / name, {name: rows.source[name]})
                export_code(own.source[name][0], own.folder / f"{name}.o", part=own.source[name][1])
                own.loop(name)
                file = own.folder / "own.so"
                run(["gcc", "-std=c99", "-O2", "-fPIC", "-shared", f"{name}.o", f"{name}_rows.c", "-o", file, "-lm"], own.folder)
                times = measured(rows, {**libraries, "engine": ctypes.CDLL(str(file))}, name)
                text = ", ".join(f"{k} {1e9 * t:.0f} ns" for k, t in times.items())
                print(f"{name}: {len(given[0])} states, the same bits; {text}", flush=True)


if __name__ == "__main__":
    main()
