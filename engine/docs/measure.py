"""Measure what the pages quote: ``python -m engine.docs.measure``. Methods are timed in turn, in one process; ratios are of the least."""

from __future__ import annotations

import time
import warnings

import numpy as np

import engine

METHODS = ("cg4", "cf4", "rkmk4", "rkmk5", "cg3", "rk4", "ralston2", "semi_implicit_euler", "implicit_midpoint")


def integrators(rounds: int = 40) -> None:
    """Print, of 10 s of the free flyer's free flight in steps of 10 ms, what a step takes, and how far off the end is."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q, v = model.random(np.random.default_rng(0))

    def simulator(name: str, dt: float) -> engine.Simulator:
        return engine.Simulator(model, dt, name, gravity=(0, 0, 0), joint_dynamics=None)

    runs = {name: simulator(name, 1e-2) for name in METHODS}
    exact = simulator("rkmk5", 1e-3).run(q, 0.3 * v, 10.0, record_every=10_000).q[-1]
    ends = {name: run.run(q, 0.3 * v, 10.0, record_every=1000) for name, run in runs.items()}
    least = dict.fromkeys(METHODS, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run.run(q, 0.3 * v, 10.0, record_every=1000)
            least[name] = min(least[name], time.perf_counter() - began)
    print("method               time of a step   error, rad or m   energy")
    for name, end in ends.items():
        kinetic, potential = end.energy()
        energy = kinetic + potential
        error = np.abs(model.difference(exact, end.q[-1])).max()
        print(f"{name:20} {least[name] / least['cg4']:14.2f} {error:17.0e} {energy[-1] / energy[0] - 1:8.0e}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", engine.SimulationWarning)                  # that methods of low order are off is what is measured
    integrators()
