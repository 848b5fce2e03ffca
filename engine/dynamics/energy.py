"""Kinetic and potential energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.each_tree import each_tree, sums
from engine.dynamics.kinematics import GRAVITY, body_motion, body_poses, checked_gravity
from engine.dynamics.momentum import from_center
from engine.dynamics.momentum_matrix import momentum_matrix, weighing
from engine.dynamics.stages import sum_over_subtrees, swept
from engine.model import Model
from engine.spatial.inertia import first_moment, mass, transformed

Array = np.ndarray


@each_tree(sums)
def energy(model: Model, q: Array, v: Array, gravity: Any = GRAVITY) -> tuple[Any, Any]:
    """Return the kinetic energy K = ½ Σ Vᵀ G V + ½ Σ a v² (a: ``model.armature``) and the potential energy U = −Σ m g·c in uniform
    gravity, zero at the world's origin (J).

    Both are of what moves. Links that are welded to the world have no kinetic energy, and a constant potential energy, which is left out.
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


def centroidal_kinetic_energy(model: Model, q: Array, v: Array) -> Any:
    """Return the kinetic energy as it is seen from the centre of mass, J: of all turning, and of what moves against it.

    By König's theorem that is K − ½ m ċ², found without this difference, so that it is exact at an orbit's speed too. Rotors count as in
    :func:`energy`. Raises StateError where nothing that moves has mass.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> stone = Builder()
    >>> _ = stone.add_link("stone", inertia=inertia.from_mass(3.0, np.zeros(3), 0.5 * np.eye(3)))
    >>> q, v = np.array([1.0, 0, 0, 0, 7e6, 0, 0]), np.array([0, 0, 2.0, 0, 7.5e3, 0])
    >>> float(centroidal_kinetic_energy(stone.model(floating_base=True), q, v))
    1.0
    """
    q, v = model.checked("q", q), model.checked("v", v)
    K: Any = 0.5 * sum(model.armature * v * v)
    for body, V in zip(model.bodies, from_center(model, q, v)[1], strict=True):
        K = K + 0.5 * (V @ (body.inertia @ V))
    return K


def energy_derivatives(model: Model, q: Array, v: Array, gravity: Any = GRAVITY) -> tuple[Array, Array, Array]:
    """Return ∂K/∂q, ∂K/∂v and ∂U/∂q (nv) of :func:`energy`, along q ⊕ e_j, with P the momentum of all that a joint carries::

        ∂K/∂q_j = Ψ̇_jᵀ P_j,   ∂K/∂v_j = S_jᵀ P_j + a_j v_j,   ∂U/∂q_j = −g · m ∂c/∂q_j        (1)

    Ψ̇ and S are those of :class:`engine.dynamics.stages.Stage`.

    Examples
    --------
    A 2 kg bead 3 m out on a spoke that turns at 1 rad/s gains K = ½ m r² ω² by m r ω² a metre:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> wheel = Builder()
    >>> _ = wheel.add_link("hub"), wheel.add_link("spoke"), wheel.add_link("bead", inertia=inertia.sphere(2.0, 0.0))
    >>> _ = wheel.add_joint("turn", "revolute", "hub", "spoke"), wheel.add_joint("slide", "prismatic", "spoke", "bead", axis=[1, 0, 0])
    >>> energy_derivatives(wheel.model(), np.array([0.0, 3.0]), np.array([1.0, 4.0]))[:2]
    (array([0., 6.]), array([18.,  8.]))
    """
    q, v = model.checked("q", q), model.checked("v", v)
    seen = swept(model, q, v, np.zeros(model.nv), np.zeros(6))
    P = sum_over_subtrees(model, [transformed(T, body.inertia) @ V for body, T, V in zip(model.bodies, seen.T, seen.V, strict=False)])
    dq, dv = [0.0] * model.nv, list(model.armature * v)
    for stage in seen.stages:
        for k, psidot, s in zip(stage.rows, stage.Psidot.T, stage.S.T, strict=True):
            dq[k], dv[k] = dq[k] + psidot @ P[stage.body], dv[k] + s @ P[stage.body]                            # (1)
    return np.array(dq), np.array(dv), -(checked_gravity(gravity) @ momentum_matrix(weighing(model), q)[3:])
