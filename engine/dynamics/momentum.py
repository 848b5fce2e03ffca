"""Spatial momentum and the centre of mass of the whole mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.kinematics import body_motion, body_poses
from engine.model import Model, StateError
from engine.spatial.inertia import first_moment, mass
from engine.spatial.se3 import wrench_to_parent

Array = np.ndarray


def momentum(model: Model, q: Array, v: Array) -> Array:
    """Return the spatial momentum [angular about the world's origin; linear] in world axes, (6): P = Σ Ad(T_WB)⁻ᵀ G V.

    Constant where no external force acts: ``Ṗ = Σ F_ext + weight``, whatever the joints do. The spin of rotors (``model.armature``) is
    not counted: armature has no axis that it spins about.

    Examples
    --------
    A 2 kg point 3 m along x moving at 3 m/s along y:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> momentum(arm.model(), np.zeros(1), np.ones(1))
    array([ 0.,  0., 18.,  0.,  6.,  0.])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    motion = body_motion(model, q, v)
    T, V = motion.T, motion.V
    P: list[Any] = [*[body.inertia @ V[i] for i, body in enumerate(model.bodies)], np.zeros(6)]
    for i, body in reversed(list(enumerate(model.bodies))):
        P[body.parent] = P[body.parent] + wrench_to_parent(T[i], P[i])
    return P[-1]


def center_of_mass(model: Model, q: Array) -> Array:
    """Return the centre of mass of all moving bodies in the world (3): c = Σ (R h + m p) / Σ m."""
    q, total = model.checked("q", q), moving_mass(model)
    moment: Any = np.zeros(3)
    T_W = body_poses(model, q)
    for i, body in enumerate(model.bodies):
        moment = moment + T_W[i][:3, :3] @ first_moment(body.inertia) + mass(body.inertia) * T_W[i][:3, 3]
    return moment / total


def total_mass(model: Model) -> Any:
    """Return Σ m of all moving bodies, kg."""
    return sum(mass(body.inertia) for body in model.bodies)


def moving_mass(model: Model) -> Any:
    """Return :func:`total_mass`, which is not zero."""
    total = total_mass(model)
    if isinstance(total, (int, float)) and total <= 0:
        floating = "" if model.nv else ", or a base that floats, as load_urdf(..., floating_base=True) makes"
        raise StateError(f"'{model.name}' moves no mass; expected a model with mass for its centre of mass{floating}")
    return total
