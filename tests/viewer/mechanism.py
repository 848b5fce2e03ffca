"""A small mechanism that flies, turns, slides and spins, and its motion, which is known in closed form."""

from __future__ import annotations

import numpy as np

from engine.model import Builder, Geometry, Limits, Material, Model
from engine.simulation import Trajectory
from engine.spatial import inertia, se3, so3

RED, GREEN, BLUE, GLASS = (0.9, 0.05, 0.05, 1.0), (0.05, 0.8, 0.1, 1.0), (0.1, 0.2, 0.9, 1.0), (0.5, 0.5, 0.5, 0.4)
#: of the base (ω, v), the arm (rad/s), the slider (m/s) and the wheel (rad/s)
SPEEDS = np.array([0.3, -0.2, 0.5, 0.1, 0.05, 0.02, 1.0, 0.1, 9.0])


def mechanism(name: str = "mechanism") -> Model:
    """A floating box with an arm that turns, a slider on it, a wheel, and a fin that is welded on."""
    tilted = se3.pose(so3.exp(np.array([0.2, 0.4, -0.3])), np.array([0.05, 0.0, 0.02]))
    shapes = {
        "base": [Geometry("box", (0.4, 0.3, 0.2), material=Material("blue", BLUE))],
        "arm": [Geometry("cylinder", (0.04, 0.5), tilted, material=Material("green", GREEN))],
        "tip": [Geometry("box", (0.06, 0.05, 0.04), material=Material("red", RED))],
        "wheel": [Geometry("sphere", (0.08,), material=Material("glass", GLASS)), Geometry("box", (0.2, 0.02, 0.02))],
        "fin": [Geometry("box", (0.01, 0.1, 0.2))],
    }
    builder = Builder(name)
    for link, visuals in shapes.items():
        builder.add_link(link, inertia=inertia.box(1.0, np.array([0.2, 0.2, 0.2])), visuals=tuple(visuals))
    for kind, parent, child, at, axis in [
        ("revolute", "base", "arm", [0.25, 0.0, 0.1], [0, 1, 0]),
        ("prismatic", "arm", "tip", [0.0, 0.0, 0.3], [0, 0, 1]),
        ("continuous", "base", "wheel", [-0.3, 0.0, 0.0], [1, 0, 0]),
        ("fixed", "base", "fin", [0.0, 0.2, 0.1], [0, 0, 1]),
    ]:
        placement = se3.pose(so3.exp(np.array([0.1, 0.2, 0.3])), np.array(at))
        builder.add_joint(f"{child}_joint", kind, parent, child, placement=placement, axis=np.array(axis, dtype=float))
    return builder.model(floating_base=True)


def motion(model: Model, first: float = 0.0, last: float = 1.0, scales: tuple[float, ...] | None = None) -> Trajectory:
    """The mechanism at constant speeds from its neutral configuration; a batch, where there are scales of the speeds."""
    t = np.linspace(first, last, 41)
    v = np.multiply.outer(1.0 if scales is None else np.array(scales), SPEEDS)
    q = model.integrate(np.broadcast_to(model.neutral(), (*v.shape[:-1], len(t), model.nq)), v[..., None, :] * (t - first)[:, None])
    v = np.broadcast_to(v[..., None, :], (*q.shape[:-1], model.nv))
    return Trajectory(model, (0.0, 0.0, -9.81), t, q, v, np.zeros_like(v), np.zeros_like(v))


def arm() -> Model:
    """Six hinges in a row, the last three of which meet in a point: every pose of the hand can be reached."""
    builder = Builder("arm")
    builder.add_link("stand", visuals=(Geometry("cylinder", (0.08, 0.1)),))
    parent = "stand"
    hinges = [([0.0, 0.0, 0.1], [0, 0, 1]), ([0.0, 0.0, 0.2], [0, 1, 0]), ([0.0, 0.0, 0.5], [0, 1, 0]), ([0.0, 0.0, 0.4], [0, 0, 1]),
              ([0.0, 0.0, 0.0], [0, 1, 0]), ([0.0, 0.0, 0.0], [0, 0, 1])]  # fmt: skip
    for k, (at, axis) in enumerate(hinges):
        child, long = f"link{k}", [0.1, 0.5, 0.4, 0.05, 0.05, 0.1][k]
        shape = Geometry("box", (0.08, 0.08, long), se3.pose(np.eye(3), np.array([0.0, 0.0, 0.5 * long])))
        builder.add_link(child, inertia=inertia.box(1.0, np.array([0.1, 0.1, long])), visuals=(shape,))
        builder.add_joint(f"hinge{k}", "revolute", parent, child, placement=se3.pose(np.eye(3), np.array(at)),
                          axis=np.array(axis, dtype=float))  # fmt: skip
        parent = child
    return builder.model()


def stone() -> Model:
    """A red box that floats, and a fin on it."""
    builder = Builder("stone")
    builder.add_link("box", inertia=inertia.box(2.0, np.array([0.4, 0.4, 0.4])),
                     visuals=(Geometry("box", (0.4, 0.4, 0.4), material=Material("red", RED)),))  # fmt: skip
    builder.add_link("fin", inertia=inertia.box(0.1, np.array([0.1, 0.1, 0.1])), visuals=(Geometry("box", (0.05, 0.05, 0.5)),))
    builder.add_joint("hinge", "revolute", "box", "fin", axis=np.array([0.0, 0.0, 1.0]), limits=Limits(lower=-2.0, upper=2.0))
    return builder.model(floating_base=True)
