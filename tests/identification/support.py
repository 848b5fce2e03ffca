"""What the tests of identification share: models that are another's but for their numbers, and motions."""

from __future__ import annotations

import numpy as np

import engine
from engine.identification.physical import inside, pseudo_inertia, ten
from engine.identification.unknowns import Unknowns, unknowns_of
from engine.spatial import inertia

Array = np.ndarray


def arm(damping: float = 0.4, friction: float = 0.3, armature: float = 0.05) -> engine.Model:
    """A base that turns, a shoulder, a slide on it, and an elbow that another joint follows."""
    b = engine.Builder("arm")
    b.add_link("base")
    for k, (kind, axis) in enumerate([("revolute", "z"), ("revolute", "y"), ("prismatic", "x"), ("revolute", "y")]):
        T = np.eye(4)
        T[:3, 3] = [0.0, 0.1, 0.2] if k else [0.0, 0.0, 0.0]
        b.add_link(f"l{k}", inertia=inertia.transformed(turned(k), inertia.box(3.0 - 0.5 * k, [0.2, 0.3, 0.1 + 0.1 * k])))
        below = f"l{k - 1}" if k else "base"
        b.add_joint(f"j{k}", kind, below, f"l{k}", placement=T, axis=np.eye(3)["xyz".index(axis)], damping=damping * k,
                    friction=friction * (k != 2), armature=armature * k)  # fmt: skip
    b.add_link("follower", inertia=inertia.box(0.5, [0.1, 0.1, 0.2]))
    b.add_joint("j4", "revolute", "l3", "follower", axis=[0, 1, 0], placement=turned(1), mimic=engine.Mimic("j3", -0.5, 0.1),
                damping=0.2, friction=friction / 3.0)  # fmt: skip
    return b.model()


def turned(k: int) -> Array:
    """A pose that is not special."""
    return engine.spatial.se3.pose(engine.spatial.so3.exp(np.array([0.1, 0.2 * k, -0.3])), np.array([0.1, 0.02 * k, 0.05]))


def other(model: engine.Model, unknown, seed: int = 0, by: str = "torques", size: float = 0.2) -> tuple[engine.Model, Unknowns]:
    """The model with other numbers in place of the unknown ones, such as bodies have; and the unknowns of the true one."""
    rng, true = np.random.default_rng(seed), unknowns_of(model, unknown, by)
    x = true.values.copy()
    for link, which in true.of_links.items():
        if len(which) == 10:
            L = np.eye(4) + size * rng.standard_normal((4, 4)) * [[1, 1, 1, 0.1]] * np.array([[1, 1, 1, 0]] * 3 + [[0, 0, 0, 1]]).clip(0.1)
            x[which] = ten(L @ pseudo_inertia(inside(x[which])) @ L.T)
        assert link
    for j in true.numbers:
        x[j] *= rng.uniform(0.5, 1.5)
    return true.put_in(x), true


def motion(model: engine.Model, count: int, seed: int = 1, noise: float = 0.0) -> dict[str, Array]:
    """States of no order, and what forces they take, the joints' losses among them, with noise."""
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng)[0] for _ in range(count)])
    v, vdot = 2.0 * rng.standard_normal((2, count, model.nv))
    return {"q": q, "v": v, "vdot": vdot, "tau": taken(model, q, v, vdot) + noise * rng.standard_normal(v.shape)}


def taken(model: engine.Model, q: Array, v: Array, vdot: Array, gravity=(0.0, 0.0, -9.81)) -> Array:
    """The forces that a motion takes, by RNEA and by the losses of each joint."""
    tau = engine.compile(model, gravity).rnea(q, v, vdot)
    for b in model.bodies:
        u = b.ratio * v[:, b.v]
        tau[:, b.v] += b.ratio * (b.joint.damping * u + b.joint.friction * np.sign(u))
    return tau
