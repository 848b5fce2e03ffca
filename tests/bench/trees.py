"""Many trees that nothing joins, as one model: to the first step, and a step of each, against MuJoCo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.bench.timing import in_turn

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

DT, STEPS = 1e-3, 200
#: CPU seconds to the first step, and µs a step of each, at most
FIRST, QUADRUPED, BOX = 1.0, 0.6, 0.1


def forest(kind: str, n: int) -> Any:
    """So many quadrupeds, or boxes of different masses, as one model."""
    import engine
    from engine.examples import example
    from engine.spatial import inertia

    if kind == "quadrupeds":
        model = engine.load(example("quadruped"), floating_base=True)
        return engine.combine(**{f"robot{k}": model for k in range(n)})
    rng, boxes = np.random.default_rng(0), {}
    for k in range(n):
        builder = engine.Builder("box")
        builder.add_link("box", inertia=inertia.box(float(rng.uniform(1, 2)), (0.1, 0.2, 0.3)))
        boxes[f"box{k}"] = builder.model(floating_base=True)
    return engine.combine(**boxes)


def first(kind: str, n: int) -> float:
    """CPU seconds from a model to the end of its first step, in this process."""
    import engine

    model = forest(kind, n)
    begun = time.process_time()
    simulator = engine.Simulator(model, dt=DT, integrator="semi_implicit_euler")
    simulator.step(simulator.start(model.neutral(), np.zeros(model.nv)))
    return time.process_time() - begun


def peer(model: Any) -> Any:
    """The same in MuJoCo, without contacts."""
    import mujoco

    from engine.io import save_mjcf

    with tempfile.TemporaryDirectory() as folder:
        spec = mujoco.MjSpec.from_file(str(save_mjcf(model, f"{folder}/trees.xml")))
    for shape in (*spec.geoms, *spec.meshes):                                  # which weigh nothing here
        spec.delete(shape)
    spec.option.timestep = DT
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return spec.compile()


def trees(table: Table) -> None:
    """To the first step in a process of its own with nothing cached, and steps in turn with MuJoCo's."""
    import mujoco

    import engine

    for kind, sizes, most in (("quadrupeds", (1, 4, 16, 64), QUADRUPED), ("boxes", (10, 100, 1000), BOX)):
        for n in sizes:
            with tempfile.TemporaryDirectory() as cache:
                code = f"from tests.bench.trees import first; print(first({kind!r}, {n}))"
                own = {**os.environ, "ENGINE_CACHE": cache}
                done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
            taken = json.loads(done.stdout.splitlines()[-1])
            table.add("trees", f"{n} {kind}, to the first step", taken, "s of CPU", f"<= {FIRST:g}", taken <= FIRST)
            model = forest(kind, n)
            simulator = engine.Simulator(model, dt=DT, integrator="semi_implicit_euler")
            state = simulator.start(model.neutral(), np.zeros(model.nv))
            m = peer(model)
            data = mujoco.MjData(m)
            ours, theirs = in_turn(lambda: simulator.step(state, STEPS), lambda: mujoco.mj_step(m, data, STEPS), rounds=5)
            each = ours / STEPS / n * 1e6
            table.add("trees", f"{n} {kind}, a step of each", each, "us", f"<= {most:g}" if n == sizes[-1] else "",
                      each <= most if n == sizes[-1] else None, mujoco_us=theirs / STEPS / n * 1e6)  # fmt: skip
