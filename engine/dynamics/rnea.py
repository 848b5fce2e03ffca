"""Recursive Newton–Euler algorithm (inverse dynamics): the joint forces of a motion; with v̇ = 0 the bias, at rest gravity compensation."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.each_tree import each_tree, velocities
from engine.dynamics.kinematics import GRAVITY, Motion, body_wrenches, falling, within_range
from engine.model import Model
from engine.spatial.inertia import wrench
from engine.spatial.se3 import ad, twist_to_child, wrench_to_parent

Array = np.ndarray


@each_tree(velocities)
@within_range
def rnea(model: Model, q: Array, v: Array, vdot: Array, gravity: Any = GRAVITY, wrenches: Array | None = None) -> Array:
    """Return the forces of a motion (inverse dynamics): tau = M(q) v̇ + C(q, v) v + g(q) − Σ Jᵀ F.

    Two sweeps over the bodies, all in body frames::

        V_i = Ad(T_i)⁻¹ V_p + S_i v_i                                             (1)
        V̇_i = Ad(T_i)⁻¹ V̇_p + S_i v̇_i + Ṡ_i v_i + ad(V_i) S_i v_i               (2)   V̇_world = [0; −g]
        F_i = G_i V̇_i − ad(V_i)ᵀ G_i V_i − F_ext,i                                (3)
        τ_i = S_iᵀ F_i + a_i v̇_i,   F_p ← F_p + Ad(T_i)⁻ᵀ F_i                      (4)   a: the joints' armature

    Parameters
    ----------
    q, v, vdot : configuration (nq), velocity (nv) and acceleration (nv), in the order of NOTATION.md; SI units, radians
    gravity : acceleration in world axes (3), m/s²
    wrenches : [moment; force] acting **on** each link, in the link's frame about its origin (nlinks, 6), or None

    Returns
    -------
    tau : generalized forces (nv). The joints' own ``damping`` and ``friction`` are not in them: a drive has to overcome them besides, by
        ``damping_matrix(model) @ v`` and what :func:`engine.dynamics.friction_forces` says

    Raises
    ------
    StateError : a shape or value that is not what is expected

    Notes
    -----
    O(nlinks); traceable; no singularity.

    References
    ----------
    Lynch & Park, *Modern Robotics*, §8.3; Featherstone, *Rigid Body Dynamics Algorithms*, §5.3.

    Examples
    --------
    A 2 kg point on a 3 m horizontal rod holds 2·9.81·3 N·m:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> rnea(arm.model(), np.zeros(1), np.zeros(1), np.zeros(1)).round(9)
    array([58.86])
    """
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    motion, _, F = accelerated(model, q, v, vdot, falling(gravity), body_wrenches(model, wrenches))
    T, S = motion.T, motion.S
    tau = list(model.armature * vdot)
    for i, body in reversed(list(enumerate(model.bodies))):
        for k, t in zip(range(body.v.start, body.v.stop), S[i].T @ F[i], strict=True):
            tau[k] = tau[k] + t                                                                                 # (4)
        F[body.parent] = F[body.parent] + wrench_to_parent(T[i], F[i])
    return np.array(tau)


def accelerated(model: Model, q: Array, v: Array, vdot: Array, world: Array, F_ext: list[Any]) -> tuple[Motion, list[Any], list[Any]]:
    """Return how bodies move, their V̇ and the wrenches F that this takes beside those from outside, each last the world's: (1) to (3)."""
    motion = Motion(model, q, v)
    T, S, V_J, V = motion.T, motion.S, motion.V_J, motion.V
    Vdot: list[Any] = [None] * len(model.bodies) + [world]
    F: list[Any] = [None] * len(model.bodies) + [np.zeros(6)]
    for i, body in motion.sweep():                                                                              # (1)
        Vdot_P, Sdot = Vdot[body.parent], body.subspace_rate(q, v)
        Vdot[i] = twist_to_child(T[i], Vdot_P) + S[i] @ vdot[body.v] + ad(V[i]) @ V_J[i] + Sdot @ v[body.v]     # (2)
        F[i] = wrench(body.inertia, V[i], Vdot[i]) - F_ext[i]                                                   # (3)
    return motion, Vdot, F


def bias(model: Model, q: Array, v: Array, gravity: Any = GRAVITY, wrenches: Array | None = None) -> Array:
    """Return the forces at zero acceleration, C(q, v) v + g(q) − Σ Jᵀ F: :func:`rnea` with v̇ = 0; shape (nv).

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> bias(arm.model(), np.zeros(1), np.zeros(1)).round(9)
    array([58.86])
    """
    return rnea(model, q, v, np.zeros(model.nv), gravity, wrenches)


def gravity_forces(model: Model, q: Array, gravity: Any = GRAVITY) -> Array:
    """Return g(q), the forces that hold the mechanism still: :func:`rnea` at rest; shape (nv).

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> gravity_forces(arm.model(), np.array([np.pi / 2])).round(9) + 0.0
    array([0.])
    """
    return rnea(model, q, np.zeros(model.nv), np.zeros(model.nv), gravity)
