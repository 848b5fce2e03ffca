"""Kinetic and potential energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.kinematics import GRAVITY, body_motion, body_poses, checked_gravity
from engine.model import Model
from engine.spatial.inertia import first_moment, mass

Array = np.ndarray


def energy(model: Model, q: Array, v: Array, gravity: Any = GRAVITY) -> tuple[Any, Any]:
    """Return the kinetic energy K = ½ Σ Vᵀ G V + ½ Σ a v² (a: ``model.armature``) and the potential energy U = −Σ m g·c in uniform
    gravity, zero at the world's origin (J).

    Weight acts on the mass G[5, 5] at its centre. (The algorithms take gravity as an acceleration of the base, G·g: for a body with added
    mass, whose G is not a rigid body's, add its buoyancy and weight as external wrenches in zero gravity.)

    Examples
    --------
    A 2 kg point 3 m along x, turning about z at 1 rad/s: K = ½·2·3² = 9 J.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> [float(e) for e in energy(arm.model(), np.zeros(1), np.ones(1))]
    [9.0, 0.0]
    """
    q, v = model.checked("q", q), model.checked("v", v)
    g = checked_gravity(gravity)
    K: Any = 0.5 * sum(model.armature * v * v)
    U: Any = 0.0
    T_W, V = body_poses(model, q), body_motion(model, q, v).V
    for i, body in enumerate(model.bodies):
        K = K + 0.5 * (V[i] @ (body.inertia @ V[i]))
        U = U - g @ (T_W[i][:3, :3] @ first_moment(body.inertia) + mass(body.inertia) * T_W[i][:3, 3])
    return K, U
