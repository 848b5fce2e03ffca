"""Forward kinematics: where every body and link is, and how it moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.model import Model, StateError
from engine.spatial.se3 import twist_to_child, wrench_to_parent

Array = np.ndarray
GRAVITY = (0.0, 0.0, -9.81)


def body_poses(model: Model, q: Array) -> list[Array]:
    """T_WB of every body: T_WB = T_WP T_PB(q)."""
    T: list[Array] = []
    for body in model.bodies:
        T_PB = body.pose(q)
        T.append(T[body.parent] @ T_PB if body.parent >= 0 else T_PB)
    return T


def body_twists(model: Model, q: Array, v: Array) -> list[Array]:
    """V of every body in its own frame: V_B = Ad(T_PB)⁻¹ V_P + S v."""
    V: list[Array] = []
    for body in model.bodies:
        V_J = body.subspace(q) @ v[body.v]
        V.append(twist_to_child(body.pose(q), V[body.parent]) + V_J if body.parent >= 0 else V_J)
    return V


def forward_kinematics(model: Model, q: Array) -> Array:
    """Poses T_WL of all links in the world, (nlinks, 4, 4), in the order of ``model.links``."""
    q = model.checked("q", q)
    T = body_poses(model, q)
    return np.array([T[body] @ T_BL if body >= 0 else T_BL for body, T_BL in model.carrier])


def twists(model: Model, q: Array, v: Array) -> Array:
    """Body twists [ω; v] of all links, each in its own frame, (nlinks, 6)."""
    q, v = model.checked("q", q), model.checked("v", v)
    V = body_twists(model, q, v)
    return np.array([twist_to_child(T_BL, V[body]) if body >= 0 else np.zeros(6) for body, T_BL in model.carrier])


def body_wrenches(model: Model, wrenches: Array | None) -> list[Any]:
    """The external wrench on each body, in its frame, from those on the links in theirs."""
    F: list[Any] = [np.zeros(6) for _ in model.bodies]
    if wrenches is None:
        return F
    W = np.asarray(wrenches)
    if W.dtype.kind not in "fiubO":
        raise StateError(f"wrenches holds {W.dtype}; expected real numbers")
    if W.shape != (len(model.links), 6):
        raise StateError(f"wrenches has shape {W.shape}; expected ({len(model.links)}, 6), one per link of '{model.name}'")
    if W.dtype != object and not np.isfinite(W).all():
        link = int(np.argwhere(~np.isfinite(W))[0][0])
        raise StateError(f"wrenches[{link}] (link '{model.links[link].name}') is {W[link].tolist()}; expected finite numbers")
    for (body, T_BL), wrench in zip(model.carrier, W, strict=True):
        if body >= 0:
            F[body] = F[body] + wrench_to_parent(T_BL, wrench)
    return F


def checked_gravity(gravity: Any) -> Array:
    """Gravity as three numbers; traced ones pass."""
    g = np.asarray(gravity)
    if g.shape != (3,) or g.dtype.kind not in "fiubO" or (g.dtype != object and not np.isfinite(g).all()):
        raise StateError(f"gravity is {gravity!r}; expected three finite numbers, m/s² in world axes, such as (0, 0, -9.81)")
    return g
