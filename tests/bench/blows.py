"""Energy of elastic blows without friction, which rounding and steps alone should change: ``python -m tests.bench.blows [DT]``."""

from __future__ import annotations

import sys
import warnings

import numpy as np

import engine
from engine.spatial import inertia, quaternion

Array = np.ndarray
#: Of shapes that meet: size, and principal moments of inertia of 1 kg about the middle
SHAPES = {"box": (0.2, 0.3, 0.1), "cylinder": (0.1, 0.2), "capsule": (0.06, 0.2), "disk": (0.12, 0.05)}
PAIRS = (("box", "box"), ("cylinder", "box"), ("cylinder", "cylinder"), ("disk", "cylinder"), ("capsule", "box"), ("capsule", "cylinder"))


def body(name: str, mass: float) -> engine.RobotModel:
    """Return a free body of one shape."""
    kind, size = "cylinder" if name == "disk" else name, SHAPES[name]
    moments = inertia.box(mass, size) if kind == "box" else getattr(inertia, kind)(mass, *size)
    builder = engine.Builder(name)
    builder.add_link(name, inertia=moments, collisions=[engine.Geometry(kind, size)])
    return builder.model(floating_base=True)


def changes(one: str, other: str, dt: float, count: int = 200, seed: int = 3) -> Array:
    """Return by which part of it kinetic energy has grown in blows at random of 1 kg and 2 kg, where they are apart again after 0.6 s."""
    surface = engine.ContactMaterial(stiffness=1e5, dissipation=0.0, friction=0.0)
    model = engine.combine(a=body(one, 1.0), b=body(other, 2.0))
    rng, states, velocities = np.random.default_rng(seed), [], []
    for _ in range(count):
        u = rng.normal(size=3)
        u /= np.linalg.norm(u)
        speed = rng.uniform(0.5, 2.0)
        turned = [quaternion.exp(rng.normal(size=3) * 2.0) for _ in range(2)]
        places = u * 0.25 + rng.normal(size=3) * 0.03, -u * 0.25
        states.append(np.concatenate([turned[0], places[0], turned[1], places[1]]))
        heading = [quaternion.to_matrix(q).T @ v for q, v in zip(turned, (-u * speed, u * speed * 0.3), strict=True)]
        velocities.append(np.concatenate([rng.normal(size=3) * 2.0, heading[0], rng.normal(size=3) * 2.0, heading[1]]))
    simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), contacts=engine.Contacts(None, material=surface))
    energies = simulator.run(np.array(states), np.array(velocities), 0.6, record_every=round(0.05 / dt)).kinetic_energy()
    apart = np.isclose(energies[:, -1], energies[:, -2], rtol=1e-9)
    return energies[apart, -1] / energies[apart, 0] - 1.0


if __name__ == "__main__":
    warnings.simplefilter("ignore", engine.SimulationWarning)  # some are deep: the springs are soft
    dt = float(sys.argv[1]) if len(sys.argv) > 1 else 2.5e-4
    for one, other in PAIRS:
        grown = changes(one, other, dt)
        rms = np.sqrt(np.mean(grown**2))
        print(f"{one} on {other}, {len(grown)} blows: {grown.min():+.1%} to {grown.max():+.1%}, {rms:.1%} in the root mean square")
