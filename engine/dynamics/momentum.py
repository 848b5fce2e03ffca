"""Spatial momentum and the centre of mass of the whole mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.each_tree import each_tree, sums
from engine.dynamics.kinematics import Motion, body_motion, body_poses
from engine.model import Model, StateError
from engine.spatial.inertia import first_moment, mass
from engine.spatial.se3 import pose, twist_to_child, wrench_to_parent

Array = np.ndarray


@each_tree(sums)
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


def centroidal_momentum(model: Model, q: Array, v: Array) -> Array:
    """Return the momentum [angular about the centre of mass; linear] of all that moves, in world axes (6), N·m·s and N·s.

    Far from the world's origin, and fast, it is as exact as near it: a tree's angular momentum has the rounding of its own size and
    turning, where :func:`momentum` has that of its orbit. It is the centroidal momentum matrix times v (of bodies with added mass, of v as
    seen from the centre of mass). Raises StateError where nothing that moves has mass.

    Examples
    --------
    A dumbbell that turns at 2 rad/s and flies past: the flight is no part of its angular momentum.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> dumbbell = Builder()
    >>> _ = dumbbell.add_link("bar", inertia=inertia.from_mass(3.0, np.zeros(3), np.diag([0.1, 0.5, 0.5])))
    >>> model = dumbbell.model(floating_base=True)
    >>> q, v = np.array([1.0, 0, 0, 0, 7e6, 0, 0]), np.array([0, 0, 2.0, 0, 7.5e3, 0])
    >>> centroidal_momentum(model, q, v)
    array([0.00e+00, 0.00e+00, 1.00e+00, 0.00e+00, 2.25e+04, 0.00e+00])
    """
    T, V, cdot = from_center(model, model.checked("q", q), model.checked("v", v))
    angular: Any = np.zeros(3)
    linear: Any = np.zeros(3)
    for i, body in enumerate(model.bodies):
        G, R = body.inertia, T[i][:3, :3]
        angular = angular + wrench_to_parent(T[i], G @ V[i])[:3]
        linear = linear + R @ (G @ (V[i] + _straight(R, cdot)))[3:]
    return np.concatenate([angular, linear])


def from_center(model: Model, q: Array, v: Array) -> tuple[list[Array], list[Array], Array]:
    """Return T_CB and V_B of every body as they are seen from the centre of mass c, by axes parallel to the world's that move along with
    it, and its velocity ċ (3) in the world.

    What is large and common to all, where the first floating body is and how fast, is taken off before anything is added up, so that it
    leaves no rounding behind.
    """
    motion, bodies = Motion(model, q, v), model.bodies
    first = next((i for i in model.roots if bodies[i].kind.floats), -1)
    origin, u = np.zeros(3), np.zeros(3)
    if first >= 0:
        origin, u = motion.T[first][:3, 3], motion.T[first][:3, :3] @ v[bodies[first].v][3:]
    T: list[Any] = [None] * len(bodies) + [pose(np.eye(3), -origin)]
    V: list[Any] = [None] * len(bodies) + [np.concatenate([np.zeros(3), -u])]
    moment: Any = np.zeros(3)
    flow: Any = np.zeros(3)
    for i, body in enumerate(bodies):
        if i == first:                                                          # which is at the origin, and at rest, to the last bit
            T[i], V[i] = pose(motion.T[i][:3, :3], np.zeros(3)), np.concatenate([v[body.v][:3], np.zeros(3)])
        else:
            T[i] = T[body.parent] @ motion.T[i]
            V[i] = twist_to_child(motion.T[i], V[body.parent]) + motion.S[i] @ v[body.v]
        R, m, h = T[i][:3, :3], mass(body.inertia), first_moment(body.inertia)
        moment = moment + R @ h + m * T[i][:3, 3]
        flow = flow + R @ (m * V[i][3:] + ops.cross(V[i][:3], h))
    total = moving_mass(model)
    c, cdot = moment / total, flow / total
    seen = [pose(T[i][:3, :3], T[i][:3, 3] - c) for i in range(len(bodies))]
    return seen, [V[i] - _straight(T[i][:3, :3], cdot) for i in range(len(bodies))], u + cdot


def _straight(R: Array, u: Array) -> Array:
    """Return the twist of a body, turned by R, that moves with the velocity u (3) in the world."""
    return np.concatenate([np.zeros(3), R.T @ u])


def center_of_mass(model: Model, q: Array) -> Array:
    """Return the centre of mass of all moving bodies in the world (3): c = Σ (R h + m p) / Σ m; links welded to the world are left out.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> center_of_mass(arm.model(), np.zeros(1)) + 0.0
    array([3., 0., 0.])
    """
    q, total = model.checked("q", q), moving_mass(model)
    moment: Any = np.zeros(3)
    T_W = body_poses(model, q)
    for i, body in enumerate(model.bodies):
        moment = moment + T_W[i][:3, :3] @ first_moment(body.inertia) + mass(body.inertia) * T_W[i][:3, 3]
    return moment / total


def total_mass(model: Model) -> Any:
    """Return Σ m of all that moves, kg.

    Links that are welded to the world stand and are left out, here as in the centre of mass, the momentum and the energies: the base of an
    arm that does not float, too. The mass of all links is ``sum(link.mass for link in model.links)``.

    Examples
    --------
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(5.0, 0.1)), arm.add_link("rod", inertia=inertia.sphere(2.0, 0.1))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod")
    >>> float(total_mass(arm.model())), float(total_mass(arm.model(floating_base=True)))
    (2.0, 7.0)
    """
    return sum(mass(body.inertia) for body in model.bodies)


def moving_mass(model: Model) -> Any:
    """Return :func:`total_mass`, which is not zero."""
    total = total_mass(model)
    if isinstance(total, (int, float)) and total <= 0:
        floating = "" if model.nv else ", or a base that floats, as load_urdf(..., floating_base=True) makes"
        raise StateError(f"'{model.name}' moves no mass; expected a model with mass for its centre of mass{floating}")
    return total
