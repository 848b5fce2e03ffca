"""How far apart the same bodies move when a model has them in another order: ``python -m tests.bench.order``."""

from __future__ import annotations

import numpy as np

import engine
from engine.spatial import inertia, quaternion

Array = np.ndarray


def bodies(others: int) -> dict[str, Array]:
    """Where boxes begin, by name: "a" over the ground, "b" which falls on it obliquely, and others that touch none."""
    states = {"a": np.array([1, 0, 0, 0, 0, 0, 0.12]), "b": np.array([*quaternion.exp([0.1, 0.2, 0.3]), 0.03, 0.02, 0.4])}
    return states | {f"z{i}": np.array([1, 0, 0, 0, 5.0 + i, 0, 0.12 + 0.01 * i]) for i in range(others)}


def differences(others: int, duration: float = 1.0) -> tuple[Array, dict[str, Array]]:
    """Return times (T) and of each body by how much (T) q is another where the bodies come the other way round."""
    box, states, runs = engine.Builder("box"), bodies(others), []
    box.add_link("box", inertia=inertia.box(1.0, (0.2, 0.2, 0.2)), collisions=[engine.Geometry("box", (0.2, 0.2, 0.2))])
    surface = engine.ContactMaterial(stiffness=1e5, dissipation=5.0, friction=0.5)
    for names in (sorted(states), sorted(states, reverse=True)):
        model = engine.combine(**dict.fromkeys(names, box.model(floating_base=True)))
        simulator = engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
        run = simulator.run(np.concatenate([states[name] for name in names]), np.zeros(model.nv), duration)
        runs.append({name: run.q[:, model.q_slice(f"{name}/floating_base")] for name in names})
    return run.t, {name: np.abs(runs[0][name] - runs[1][name]).max(axis=1) for name in states}


if __name__ == "__main__":
    for others, laws in ((0, "laws pair by pair"), (6, "tables")):
        t, off = differences(others)
        for name in (name for name in ("a", "b", "z0") if name in off):
            first = int(np.argmax(off[name] > 0.0))
            told = f"{off[name][first]:.1e} at t = {t[first]:g} s, {off[name].max():.1e} at most" if off[name].any() else "the same bits"
            print(f"{laws}, {name}: {told}")
