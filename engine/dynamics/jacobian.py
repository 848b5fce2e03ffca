"""Jacobians: the twist of a link per unit of the model's velocities, and how that changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.kinematics import body_motion, body_poses
from engine.model import Model
from engine.spatial.se3 import Ad, ad, twist_to_child

Array = np.ndarray


def jacobian(model: Model, q: Array, link: str) -> Array:
    """Return the body Jacobian J (6, nv) of a link: its twist [ω; v] in its own frame is ``V_link = J v``.

    A column is the joint's motion subspace carried to the link, J_i = Ad(T_Li) S_i, for every joint above the link.

    Examples
    --------
    The tip of a 2 m rod on a pivot about z moves along its own y axis:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import se3
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_link("tip")
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> _ = arm.add_joint("end", "fixed", "rod", "tip", placement=se3.pose(np.eye(3), np.array([2.0, 0, 0])))
    >>> jacobian(arm.model(), np.zeros(1), "tip")[:, 0]
    array([0., 0., 1., 0., 2., 0.])
    """
    q = model.checked("q", q)
    return _assembled(model, {i: X_S for i, _, X_S in _above(model, q, link)})


def spatial_jacobian(model: Model, q: Array, link: str) -> Array:
    """Return the spatial Jacobian (6, nv): the link's twist in world axes about the world's origin is Ad(T_WL) J v."""
    q = model.checked("q", q)
    body, T_BL = model.carrier[model.link_index(link)]
    return Ad(body_poses(model, q)[body] @ T_BL) @ jacobian(model, q, link)


def jacobian_dot(model: Model, q: Array, v: Array, link: str) -> Array:
    """Return the rate J̇ (6, nv) of the body Jacobian, so that V̇_link = J v̇ + J̇ v.

    d/dt Ad(T_Li) = −ad(V_L − Ad(T_Li) V_i) Ad(T_Li), hence J̇_i = ad(Ad(T_Li) V_i − V_L) J_i + Ad(T_Li) Ṡ_i.
    """
    q, v = model.checked("q", q), model.checked("v", v)
    V = body_motion(model, q, v).V
    body, T_BL = model.carrier[model.link_index(link)]
    V_L = twist_to_child(T_BL, V[body])
    columns = {}
    for i, T_iL, J_i in _above(model, q, link):
        columns[i] = ad(twist_to_child(T_iL, V[i]) - V_L) @ J_i + _carried(T_iL, model.bodies[i].subspace_rate(q, v))
    return _assembled(model, columns)


def _above(model: Model, q: Array, link: str) -> list[tuple[int, Array, Array]]:
    """Return i, T_iL and Ad(T_Li) S_i of every body i from the link to the root."""
    i, T = model.carrier[model.link_index(link)]
    path = []
    while i >= 0:
        body = model.bodies[i]
        path.append((i, T, _carried(T, body.subspace(q))))
        T = body.pose(q) @ T
        i = body.parent
    return path


def _carried(T: Array, S: Array) -> Array:
    """Return Ad(T)⁻¹ S, column by column."""
    return np.stack([twist_to_child(T, S[:, k]) for k in range(S.shape[1])], axis=1)


def _assembled(model: Model, columns: dict[int, Array]) -> Array:
    """Return the 6×nv matrix of the bodies' columns; those of a mimic joint add to its source's."""
    J: list[Any] = [np.zeros(6)] * model.nv
    for i, X_S in columns.items():
        for k, column in zip(range(model.bodies[i].v.start, model.bodies[i].v.stop), X_S.T, strict=True):
            J[k] = J[k] + column
    return np.stack(J, axis=1) if J else np.zeros((6, 0))
