"""FMUs against the simulators that they are of: how large, and what a call for each step costs beside a step of a run."""

from __future__ import annotations

import ctypes
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import engine
    from tests.bench.__main__ import Table

Array = np.ndarray
STEPS, ROUNDS = 300, 41
#: an importer's loop
CALLS = """int calls(int (*step)(void *, double, double, int), void *one, double dt, long first, long n)
{
    int bad = 0;
    for (long k = first; k < first + n; ++k)
        bad |= step(one, k * dt, dt, 1);
    return bad;
}
"""


def fmus(table: Table) -> None:
    """A flyer with an arm, steered by torques, and a quadruped on its feet, all of whose links may touch."""
    import engine
    from tests.fmu.robots import whole_quadruped

    engine.set_threads(1)
    standing = whole_quadruped()
    q = standing.model.initial()
    q[6] += 0.55
    landed = standing.run(q, np.zeros(standing.model.nv), 0.2, record_every=200)
    one(table, "a quadruped, all links", standing, landed.q[-1], landed.v[-1], 1.1, STEPS)
    flyer = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    flies = engine.Simulator(flyer, dt=2e-3, gravity=(0, 0, 0), parameters={"torque": np.full(flyer.nv - 6, 0.01)},
                             controller=lambda t, q, v, torque: np.concatenate([np.zeros(6), torque]))  # fmt: skip
    one(table, "a flyer", flies, flies.model.initial(), np.zeros(flies.model.nv), 1.2, 10 * STEPS)


def one(table: Table, name: str, made: engine.Simulator, q: Array, v: Array, most: float, steps: int) -> None:
    """One simulator: both from the same state, in turn."""
    import engine
    from tests.code.programs import run
    from tests.fmu.instances import Instance

    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        path = engine.export_fmu(made, at / "one.fmu", q0=q, v0=v)
        (at / "calls.c").write_text(CALLS)
        run(["cc", "-O2", "-shared", "-fPIC", "calls.c", "-o", "calls.so"], at)
        calls = ctypes.CDLL(str(at / "calls.so")).calls
        calls.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_long, ctypes.c_long]
        f = Instance(path).begin()
        step: Any = ctypes.cast(f.fmu.dll.fmi2DoStep, ctypes.c_void_p)
        start = f.saved()

        def theirs(steps: int) -> None:
            f.restore(start)
            assert calls(step, f.fmu.component, made.dt, 0, steps) == 0

        def ours(steps: int) -> None:
            made.run(q, v, steps * made.dt, record_every=steps)

        times = [(a_step(ours, steps), a_step(theirs, steps)) for _ in range(ROUNDS)][1:]
        end = made.run(q, v, steps * made.dt, record_every=steps)
        assert (f.get("q") == end.q[-1]).all()
        ratio = statistics.median(b / a for a, b in times)
        a, b = (statistics.median(x) * 1e6 for x in zip(*times, strict=True))
        table.add("fmus", f"{name}: a call for each step", ratio, "x a run's step", f"<= {most}", ratio <= most, run_us=a, fmu_us=b)
        size = path.stat().st_size / 1e6
        table.add("fmus", f"{name}: its size", size, "MB", "< 1", size < 1.0)
        f.close()


def a_step(f: Any, most: int) -> float:
    """Seconds of the processor for a step, without what a run costs of itself."""
    times = []
    for steps in (1, most):
        begun = time.process_time()
        f(steps)
        times.append(time.process_time() - begun)
    return (times[1] - times[0]) / (most - 1)
