"""Jacobians: the twist of a link, or of a point of it, per unit of the model's velocities, and how that changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.checks import one_of, shown
from engine.dynamics.kinematics import body_motion, body_poses, vector
from engine.model import Model, StateError
from engine.spatial.se3 import ad, pose, rotation, twist_to_child, twist_to_parent

Array = np.ndarray
FRAMES = ("body", "world", "world_aligned")
ORIGIN = (0.0, 0.0, 0.0)


def jacobian(model: Model, q: Array, link: str, frame: str = "body", point: Any = ORIGIN) -> Array:
    """Return the Jacobian J(q) (6, nv) of a link: its twist [ω; v] is J v, in the axes and about the point that ``frame`` says.

    A column of the body Jacobian is the joint's motion subspace carried to the link, for every joint above it; F is the frame seen from::

        J_i = Ad(T_Li) S_i,   J ← Ad(T_FL) J                                                  (1)

    Parameters
    ----------
    q : configuration (nq)
    link : the link's name
    frame :
        - "body": the link's axes, at the point (Pinocchio's LOCAL)
        - "world": the world's axes, about the world's origin: the spatial Jacobian, whatever the point (WORLD)
        - "world_aligned": the world's axes, at the point: v is the point's velocity (LOCAL_WORLD_ALIGNED)
    point : p (3) in the link's frame, m

    Raises
    ------
    ModelError : no such link
    StateError : a shape or value that is not what is expected, or a point together with "world"

    Examples
    --------
    The tip of a 2 m rod on a pivot about z moves along its own y axis; where the rod has turned by a quarter, that is the world's −x:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> q, tip = np.array([np.pi / 2]), (2.0, 0.0, 0.0)
    >>> jacobian(arm.model(), q, "rod", point=tip)[:, 0], jacobian(arm.model(), q, "rod", "world_aligned", tip)[:, 0].round(12)
    (array([0., 0., 1., 0., 2., 0.]), array([ 0.,  0.,  1., -2.,  0.,  0.]))
    """
    q, p = model.checked("q", q), checked_point(frame, point)
    J = assemble_columns(model, {i: X_S for i, _, X_S in above(model, q, *model.carrier[model.link_index(link)])})
    return _seen_from(model, q, link, frame, p, J)


def jacobian_dot(model: Model, q: Array, v: Array, link: str, frame: str = "body", point: Any = ORIGIN) -> Array:
    """Return the rate J̇(q, v) (6, nv) of :func:`jacobian`, so that d/dt (J v) = J v̇ + J̇ v.

    With V_F the twist, as the link's frame has it, of the link as seen from F: 0 of "body", V_L of "world", and of "world_aligned", whose
    axes do not turn, [ω; p × ω]::

        J̇_i = ad(Ad(T_Li) V_i − V_L) J_i + Ad(T_Li) Ṡ_i,   J̇ ← Ad(T_FL) (J̇ + ad(V_F) J)      (1)

    Parameters and raised errors are those of :func:`jacobian`; v is the velocity (nv).

    Examples
    --------
    The tip of a 2 m rod that turns at 3 rad/s is drawn inwards with 2·3² m/s²: J̇ v, in the world's axes.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> v = np.array([3.0])
    >>> jacobian_dot(arm.model(), np.zeros(1), v, "rod", "world_aligned", (2.0, 0.0, 0.0)) @ v
    array([  0.,   0.,   0., -18.,   0.,   0.])
    """
    q, v, p = model.checked("q", q), model.checked("v", v), checked_point(frame, point)
    V = body_motion(model, q, v).V
    body, T_BL = model.carrier[model.link_index(link)]
    V_L = twist_to_child(T_BL, V[body])
    J, Jdot = {}, {}
    for i, T_iL, J_i in above(model, q, body, T_BL):
        J[i], Jdot[i] = J_i, ad(twist_to_child(T_iL, V[i]) - V_L) @ J_i + move_columns(T_iL, model.bodies[i].subspace_rate(q, v))    # (1)
    rates = assemble_columns(model, Jdot)
    if frame != "body":
        V_F = V_L if frame == "world" else np.concatenate([V_L[:3], ops.cross(p, V_L[:3])])
        rates = rates + ad(V_F) @ assemble_columns(model, J)
    return _seen_from(model, q, link, frame, p, rates)


def jacobian_derivative(model: Model, q: Array, link: str, frame: str = "body", point: Any = ORIGIN) -> Array:
    """Return ∂J/∂q (6, nv, nv) of :func:`jacobian`, whose parameters and errors it has: [:, :, j] is its derivative along q ⊕ e_j.

    That is its rate where joint j alone moves, at one::

        ∂J/∂q_j = J̇(q, e_j)                                                                   (1)

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> jacobian_derivative(arm.model(), np.zeros(1), "rod", "world_aligned", (2.0, 0.0, 0.0))[:, 0, 0]
    array([ 0.,  0.,  0., -2.,  0.,  0.])
    """
    rates = [jacobian_dot(model, q, e, link, frame, point) for e in np.eye(model.nv)]                           # (1)
    return np.stack(rates, axis=-1) if rates else np.zeros((6, 0, 0))


def checked_point(frame: str, point: Any) -> Array:
    """Return a point as three numbers, traced ones too; refuse a frame that is none, and a point where the frame has one of its own."""
    one_of("frame", frame, FRAMES, StateError)
    p = vector("point", point, 3, "three finite numbers, m in the link's frame")
    if frame == "world" and (p.dtype == object or p.any()):
        raise StateError(f"point is {shown(point)}, but the frame 'world' is about the world's origin; expected 'world_aligned', or none")
    return p


def _seen_from(model: Model, q: Array, link: str, frame: str, p: Array, J: Array) -> Array:
    """Return Ad(T_FL) J (6, nv) of a matrix of twists in the link's frame L."""
    if not J.size or (frame == "body" and p.dtype != object and not p.any()):
        return J
    T = np.eye(4)
    if frame != "body":
        body, T_BL = model.carrier[model.link_index(link)]
        T = body_poses(model, q)[body] @ T_BL
    if frame != "world":
        R = rotation(T)
        T = pose(R, -(R @ p))
    return np.stack([twist_to_parent(T, x) for x in J.T], axis=1)


def above(model: Model, q: Array, i: int, T: Array, top: int = -1) -> list[tuple[int, Array, Array]]:
    """Return i, T_iL and Ad(T_Li) S_i of every body i from the one that carries a frame L, where it has the pose T, to below ``top``."""
    path = []
    while i != top:
        body = model.bodies[i]
        path.append((i, T, move_columns(T, body.subspace(q))))
        T = body.pose(q) @ T
        i = body.parent
    return path


def move_columns(T: Array, S: Array) -> Array:
    """Return Ad(T)⁻¹ S, column by column."""
    return np.stack([twist_to_child(T, S[:, k]) for k in range(S.shape[1])], axis=1)


def assemble_columns(model: Model, columns: dict[int, Array], rows: int = 6) -> Array:
    """Return the matrix (rows, nv) of the bodies' columns; those of a mimic joint add to its source's."""
    J: list[Any] = [np.zeros(rows)] * model.nv
    for i, X_S in columns.items():
        for k, column in zip(range(model.bodies[i].v.start, model.bodies[i].v.stop), X_S.T, strict=True):
            J[k] = J[k] + column
    return np.stack(J, axis=1) if J else np.zeros((rows, 0))
