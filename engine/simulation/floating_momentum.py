"""The momentum of what floats, integrated by itself: nothing inside a robot, however stiff, then changes it.

The momentum about the centre of mass and the centre of mass are states of their own (9), which only forces from outside change; after each
step the base's place and twist are set to agree with them.
Reference: Hairer, Lubich & Wanner, *Geometric Numerical Integration*, §IV.4 (projection onto invariants).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.model import Model
from engine.spatial import inertia, quaternion

Array = np.ndarray
#: the state that holds it
MOMENTUM = "momentum"


def floats(model: Model) -> bool:
    """Whether a model moves freely as a whole, and is made of rigid bodies with mass."""
    first = model.bodies[:1]
    rigid = all(inertia.is_rigid(b.inertia) for b in model.bodies)
    return bool(first) and first[0].kind.name == "floating" and rigid and dynamics.total_mass(model) > 0


def at_home(q: Array) -> Array:
    """q with the base's frame as the world's."""
    return np.concatenate([np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), q[7:]])


def attitude_and_center(model: Model, q: Array) -> tuple[Array, Array]:
    """R of the base, and the centre of mass in the base's frame."""
    return quaternion.to_matrix(q[:4]), dynamics.center_of_mass(model, at_home(q))


def central_momentum(model: Model, q: Array, v: Array) -> Array:
    """[angular momentum about the centre of mass; linear; the centre of mass] in world axes (9)."""
    R, c = attitude_and_center(model, q)
    P = dynamics.momentum(model, at_home(q), v)
    return np.concatenate([R @ (P[:3] - ops.cross(c, P[3:])), R @ P[3:], q[4:7] + R @ c])


def momentum_rate(model: Model, q: Array, tau: Array, gravity: Any, wrenches: Array | None) -> Array:
    """What acts on the whole from outside: [moment about the centre of mass; force] in world axes (6)."""
    rest = np.zeros(model.nv)
    F = tau[:6] - dynamics.rnea(model, q, rest, rest, gravity, wrenches)[:6]
    if not any(np.any(f) if ops.graph_of(f) is None else True for f in F):
        return np.zeros(6)
    R, c = attitude_and_center(model, q)
    return np.concatenate([R @ (F[:3] - ops.cross(c, F[3:])), R @ F[3:]])


def with_momentum(model: Model, q: Array, v: Array, P: Array) -> tuple[Array, Array]:
    """q and v with the base's place and twist such that the whole has the centre of mass and the momentum P, integrated by themselves."""
    R, c = attitude_and_center(model, q)
    p = R.T @ P[3:6]
    wanted = np.concatenate([R.T @ P[:3] + ops.cross(c, p), p])
    off = wanted - dynamics.momentum(model, at_home(q), v)
    V = v[:6] + ops.solve(dynamics.crba(model, q)[:6, :6], off)
    return np.concatenate([q[:4], P[6:] - R @ c, q[7:]]), np.concatenate([V, v[6:]])
