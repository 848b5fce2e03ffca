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
from engine.simulation.component import SimulationError
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
#: the state that holds it
MOMENTUM = "momentum"


def floats(model: Model) -> bool:
    """Whether a model moves freely as a whole, and is made of rigid bodies with mass."""
    first = model.bodies[:1]
    rigid = all(inertia.is_rigid(b.inertia) for b in model.bodies)
    return bool(first) and first[0].kind.name == "floating" and rigid and dynamics.total_mass(model) > 0


def require_rigid(name: str, G: Array) -> None:
    """Refuse a parameter of inertias (..., 6, 6) that no rigid body has: what floats is taken for a sum of rigid bodies."""
    if not name.startswith("inertia."):
        return
    rigid = [inertia.is_rigid(g) for g in G.reshape(-1, 6, 6)]
    if not all(rigid):
        raise SimulationError(f"parameter '{name}' is no rigid body's inertia; expected [[I, [h]], [−[h], m 1]] of a model that floats")


def moved(T: Array, I: Array, h: Array, m: Any, l: Array, f: Array) -> tuple[Array, Array, Array, Array]:
    """Inertia, first moment, and momentum [l; f], of a mass m, seen from the frame in which their own has the pose T."""
    R, p = se3.rotation(T), se3.position(T)
    h, l, f = R @ h, R @ l, R @ f
    w = h + 0.5 * m * p
    shift = 2.0 * (w @ p) * np.eye(3) - np.outer(w, p) - np.outer(p, w)        # −[p] [h] − [h] [p] − m [p]²
    return inertia.mirrored(inertia.rotated(R, I) + shift), h + m * p, l + ops.cross(p, f), f


def whole(model: Model, q: Array, v: Array) -> tuple[Array, Array, Any, Array, Array]:
    """Of all bodies, in the base's axes: inertia about the centre of mass I (3×3), that centre c (3) from the base's origin, mass m, and
    the momentum [l about c; f] that is due to the joints' motion alone, with the base at rest.

    From the leaves on, by sums of rigid bodies' inertias: a third of the operations that composite 6×6 matrices and twists take.
    """
    bodies = model.bodies
    I, h, m = ([part(b.inertia) for b in bodies] for part in (lambda G: G[:3, :3], inertia.first_moment, inertia.mass))
    l: list[Any] = [np.zeros(3) for _ in bodies]
    f: list[Any] = [np.zeros(3) for _ in bodies]
    for i, body in reversed(list(enumerate(bodies[1:], 1))):
        p, V = body.parent, body.subspace(q) @ v[body.v]
        carried = I[i], h[i], m[i], l[i] + I[i] @ V[:3] + ops.cross(h[i], V[3:]), f[i] + m[i] * V[3:] + ops.cross(V[:3], h[i])
        for T in (body.joint_pose(q), body.placement):                         # one by one: each has zeros that their product has not
            I_p, h_p, l_p, f_p = moved(T, *carried)
            carried = I_p, h_p, m[i], l_p, f_p
        I[p], h[p], m[p], l[p], f[p] = I[p] + I_p, h[p] + h_p, m[p] + m[i], l[p] + l_p, f[p] + f_p
    c = h[0] / m[0]
    return I[0] - (h[0] @ c) * np.eye(3) + np.outer(h[0], c), c, m[0], l[0] - ops.cross(c, f[0]), f[0]


def central_momentum(model: Model, q: Array, v: Array) -> Array:
    """[angular momentum about the centre of mass; linear; the centre of mass] in world axes (9)."""
    R, (I, c, m, l, f) = quaternion.to_matrix(q[:4]), whole(model, q, v)
    return np.concatenate([R @ (I @ v[:3] + l), R @ (m * (v[3:6] + ops.cross(v[:3], c)) + f), q[4:7] + R @ c])


def momentum_rate(model: Model, q: Array, tau: Array, gravity: Any, wrenches: Array | None) -> Array:
    """What acts on the whole from outside: [moment about the centre of mass; force] in world axes (6)."""
    rest = np.zeros(model.nv)
    F = tau[:6] - dynamics.rnea(model, q, rest, rest, gravity, wrenches)[:6]
    if not any(np.any(f) if ops.graph_of(f) is None else True for f in F):
        return np.zeros(6)
    R, c = quaternion.to_matrix(q[:4]), whole(model, q, rest)[1]
    return np.concatenate([R @ (F[:3] - ops.cross(c, F[3:])), R @ F[3:]])


def with_momentum(model: Model, q: Array, v: Array, P: Array) -> tuple[Array, Array]:
    """q and v with the base's place and twist such that the whole has the centre of mass and the momentum P, integrated by themselves."""
    R, (I, c, m, l, f) = quaternion.to_matrix(q[:4]), whole(model, q, v)
    w = ops.solve(I, R.T @ P[:3] - l)
    V = (R.T @ P[3:6] - f) / m - ops.cross(w, c)
    return np.concatenate([q[:4], P[6:] - R @ c, q[7:]]), np.concatenate([w, V, v[6:]])
