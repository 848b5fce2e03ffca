"""To the end of the first run, in processes of their own, with an empty cache and with a full one.

What is timed is CPU time of a process from its start, in turn with the import of scipy.optimize and matplotlib.pyplot, which is what they
are divided by: so machines and their load matter little. Modules' bytecode is there, as after any first start. ``python -m
tests.bench.start NAME …`` measures some of the cases alone.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

#: what all are divided by
REFERENCE = "import scipy.optimize, matplotlib.pyplot"
#: processes of each kind, in turn
ROUNDS = 3


def ended() -> None:
    """Say how much CPU time this process has taken."""
    print(f"\n{time.process_time()!r}")


def ran(model: Any, q: Any = None, simulator: Any = None, **more: Any) -> None:
    """Simulate a model for ten steps, from its neutral configuration by default."""
    import numpy as np

    import engine

    simulator = engine.Simulator(model, dt=1e-3, **more) if simulator is None else simulator
    simulator.run(model.neutral() if q is None else q, np.zeros(model.nv), 0.01)
    ended()


def of_file(name: str, heavier: float = 0.0) -> Any:
    """A benchmark robot; one of its links may be heavier (kg)."""
    import engine

    if name in ("free_flyer", "seven_joint_arm", "quadruped"):
        path, floating = engine.example(name), name != "seven_joint_arm"
    else:
        from tests.bench.robots import file

        path, floating = file(name)
    model = engine.load_urdf(path, floating_base=floating)
    link = max(model.links, key=lambda x: x.mass)
    return model.with_parameters({f"mass.{link.name}": link.mass + heavier}) if heavier else model


def robot(name: str, heavier: float = 0.0) -> None:
    """A robot in its smooth motion, as a user's first script has it."""
    ran(of_file(name, heavier))


def controlled(name: str, gain: float = 20.0) -> None:
    """The same with a controller of its joints."""
    import numpy as np

    model = of_file(name)
    ran(model, controller=lambda t, q, v: np.concatenate([np.zeros(6), -gain * q[7:] - 2.0 * v[6:]]))


def standing(name: str) -> None:
    """A quadruped on its feet, held by a controller."""
    import numpy as np

    import engine

    model = of_file(name)
    feet = [link.name for link in model.links if link.name.endswith("_foot")]
    assert len(feet) == 4, feet
    q = model.neutral()
    q[6], q[7:] = 0.35, np.tile([0.0, 0.8, -1.6], 4)

    def hold(t: Any, now: Any, v: Any) -> Any:
        return np.concatenate([np.zeros(6), 60.0 * (q[7:] - now[7:]) - 2.0 * v[6:]])

    surface = engine.ContactMaterial(friction=0.8)
    contacts = engine.Contacts(engine.HalfSpace(material=surface), [("world", foot) for foot in feet], surface)
    ran(model, q, contacts=contacts, controller=hold)


def all_pairs(name: str) -> None:
    """A quadruped of which all links may touch each other and the ground."""
    import numpy as np

    import engine

    model = of_file(name)
    q = model.neutral()
    q[6], q[7:] = 0.6, np.tile([0.0, 0.8, -1.6], 4)
    ran(model, q, contacts=engine.Contacts(engine.HalfSpace()))


def boxes(n: int) -> None:
    """Boxes in stacks on a ground, by tables."""
    import numpy as np

    from tests.bench.scenes import Scene, stacks

    scene = Scene("", "box", *stacks(n))
    simulator = scene.simulator()
    simulator.step(simulator.start(scene.q0, np.zeros(6 * n)))
    ended()


#: an octahedron, as a mesh's file has it
OCTAHEDRON = ("".join(f"v {s * 0.1 * (k == 0)} {s * 0.1 * (k == 1)} {s * 0.1 * (k == 2)}\n" for k in range(3) for s in (1, -1))
              + "f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n")  # fmt: skip


def kinds(n: int) -> None:
    """Two bodies of each of the first kinds of shapes, side by side over a ground, by tables."""
    import numpy as np

    import engine
    from engine.spatial import inertia

    with tempfile.TemporaryDirectory() as folder:
        mesh = Path(folder) / "octahedron.obj"
        mesh.write_text(OCTAHEDRON)
        shapes = [engine.Geometry("box", (0.2, 0.15, 0.1)), engine.Geometry("sphere", (0.1,)), engine.Geometry("cylinder", (0.08, 0.2)),
                  engine.Geometry("capsule", (0.05, 0.2)), engine.Geometry("ellipsoid", (0.1, 0.07, 0.05)),
                  engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=mesh)]  # fmt: skip
        bodies, q = {}, []
        for k, shape in enumerate([*shapes[:n], *shapes[:n]]):
            builder = engine.Builder("body")
            builder.add_link("body", inertia=inertia.sphere(1.0, 0.1), collisions=[shape])
            bodies[f"body{k}"] = builder.model(floating_base=True)
            q += [1.0, 0.0, 0.0, 0.0, 0.4 * k, 0.0, 0.2]
        model = engine.combine(**bodies)
        simulator = engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace()))
    simulator.step(simulator.start(q, np.zeros(model.nv)))
    ended()


def readme() -> None:
    """The README's first example."""
    import re

    blocks = re.findall(r"```python\n(.*?)```", Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8"), re.S)
    exec(compile(blocks[0], "README.md", "exec"), {})
    ended()


def imported() -> None:
    """The import alone."""
    import engine  # noqa: F401

    ended()


#: what is run, and the most of the reference's time that it may take with an empty cache and with a full one
CASES: dict[str, tuple[str, float | None, float | None]] = {
    "import engine": ("imported()", None, 0.5),
    "free flyer": ("robot('free_flyer')", 1.8, 0.8),
    "seven-joint arm": ("robot('seven_joint_arm')", 1.5, 0.8),
    "UR5": ("robot('UR5')", 1.5, 0.8),
    "Panda": ("robot('Panda')", 1.5, 0.8),
    "Go1": ("robot('Go1')", 2.0, 0.8),
    "Go1 on its feet": ("standing('Go1')", 3.0, 1.0),
    "G1": ("robot('G1')", 4.0, 0.9),
    "TALOS": ("robot('TALOS')", 4.0, 0.9),
    "quadruped, all pairs of links": ("all_pairs('quadruped')", None, None),
    "25 boxes, stacked": ("boxes(25)", None, None),
    "bodies of five kinds": ("kinds(5)", None, None),
    "bodies of six kinds": ("kinds(6)", None, None),
    "the README's first example": ("readme()", None, None),
}
#: what is changed where all else is cached, before and after, and how much of the reference's time that may add
CHANGES = {
    "a gain of a controller": ("controlled('Go1')", "controlled('Go1', 21.0)", 0.1),
    "a mass": ("robot('Go1')", "robot('Go1', 0.1)", 0.2),
}


def seconds(code: str, cache: str = "0") -> float:
    """CPU time of a process until the code says that it has ended."""
    environment = {**os.environ, "ENGINE_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def own(call: str) -> str:
    """The code of a process that runs a case."""
    return f"from tests.bench.start import *; {call}"


def reference() -> float:
    return seconds(f"{REFERENCE}; import time; print(time.process_time())")


def measure(table: Table, name: str) -> None:
    """One case, cold and warm, in turn with the reference."""
    call, *limits = CASES[name]
    cold, warm, known = [], [], [reference()]
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            if limits != [None, 0.5]:
                cold.append(seconds(own(call), cache))
            known.append(reference())
            warm.append(seconds(own(call), cache))
            known.append(reference())
    base = statistics.median(known)
    for what, times, limit in (("nothing cached", cold, limits[0]), ("cached", warm, limits[1])):
        if times:
            t = statistics.median(times)
            table.add("start", f"{name}, {what}", t / base, "x reference", f"<= {limit}" * (limit is not None),
                      None if limit is None else t / base <= limit, s=t, reference_s=base)  # fmt: skip


def change(table: Table, name: str) -> None:
    """What a change takes besides what is cached."""
    before, after, limit = CHANGES[name]
    known, same, changed = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            seconds(own(before), cache)
            same.append(seconds(own(before), cache))
            known.append(reference())
            changed.append(seconds(own(after), cache))
    t, base = statistics.median(changed) - statistics.median(same), statistics.median(known)
    table.add("start", f"{name} changed, all else cached", t / base, "x reference", f"<= +{limit}", t / base <= limit, s=t,
              reference_s=base)  # fmt: skip


#: µs of CPU: of machine code alone for one step, of one step, of a run until it begins to step, and of a whole run of one step
OVERHEAD = """
import numpy as np, time, statistics
import engine
model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0))
q, v = model.neutral(), np.zeros(model.nv)
state = simulator.start(q, v)
p, x = simulator.stepper.begin(q, v)
kernel, one = simulator._process.kernel(()), -np.ones(1)                       # as step has it: without a look
def median(f, calls):
    taken = []
    for _ in range(15):
        begun = time.process_time()
        for _ in range(calls):
            f()
        taken.append((time.process_time() - begun) / calls)
    return 1e6 * statistics.median(taken)
class Stepping(Exception):
    pass
def stops(*arguments):
    raise Stepping
def to_first():
    simulator._process.__dict__["_alone"] = stops
    try:
        simulator.run(q, v, 1e-3)
    except Stepping:
        simulator._process.__dict__["_alone"] = kernel
code = lambda: kernel(one, 0.0, 0.0, 1e-3, p, x)
step, run = lambda: simulator.step(state), lambda: simulator.run(q, v, 1e-3)
timed = (code, 2000), (step, 500), (to_first, 200), (run, 20)
rounds = [[median(f, n) for f, n in timed] for _ in range(3)]
print(*(statistics.median(r[k] for r in rounds) for k in range(4)))
"""


def overhead(table: Table) -> None:
    """What a step takes besides machine code, and a run before it, of a free flyer."""
    environment = {k: x for k, x in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", OVERHEAD], env=environment, capture_output=True, text=True, check=True)
    code, step, before, run = map(float, done.stdout.split())
    table.add("start", "free flyer, step(1) beside its machine code", step - code, "us", "<= 10", step - code <= 10.0, code_us=code)
    table.add("start", "free flyer, a run before its first step", before, "us", "<= 100", before <= 100.0, whole_us=run)


def measured(table: Table, names: Sequence[str], changes: Sequence[str]) -> None:
    from tests.bench.robots import Missing

    attempts: list[tuple[Callable[[Table, str], None], str]] = [*((measure, n) for n in names), *((change, n) for n in changes)]
    for attempt, name in attempts:
        try:
            attempt(table, name)
        except (Missing, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            table.lack("start", f"{name}: {said.strip().splitlines()[-1]}")


def start(table: Table) -> None:
    """From a process's start to the end of its first run; what a change takes, and what a step and a run take besides machine code."""
    overhead(table)
    measured(table, [*CASES], [*CHANGES])


if __name__ == "__main__":
    from tests.bench.__main__ import Table as Figures

    os.environ.setdefault("ENGINE_CACHE", tempfile.mkdtemp())
    chosen = sys.argv[1:] or ["overhead", *CASES, *CHANGES]
    figures = Figures()
    if "overhead" in chosen:
        overhead(figures)
    measured(figures, [n for n in chosen if n in CASES], [n for n in chosen if n in CHANGES])
