"""Centroidal momentum matrix: momentum as linear in the velocities, about the world's origin and about the centre of mass, and its rate.

The momentum itself is :func:`engine.dynamics.momentum.centroidal_momentum`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.dynamics.crba import composite
from engine.dynamics.kinematics import body_motion, body_poses
from engine.dynamics.momentum import center_of_mass, moving_mass, total_mass
from engine.dynamics.stages import sum_over_subtrees, swept
from engine.model import Model
from engine.spatial.inertia import first_moment, mass, transformed
from engine.spatial.se3 import ad, wrench_to_parent
from engine.spatial.so3 import hat

Array = np.ndarray


def momentum_matrix(model: Model, q: Array) -> Array:
    """Return the momentum matrix A(q) (6, nv): the spatial momentum [angular about the world's origin; linear] in world axes is P = A v.

    A column is the momentum of all that its joint carries, moving with the joint::

        Gc_i = G_i + Σ_children Ad(T_c)⁻ᵀ Gc_c Ad(T_c)⁻¹                                      (1)
        A_i = Ad(T_Wi)⁻ᵀ Gc_i S_i                                                             (2)

    References
    ----------
    Orin, Goswami & Lee, *Centroidal dynamics of a humanoid robot*, Autonomous Robots 2013.

    Examples
    --------
    A 2 kg point 3 m along x on a pivot about z: at 1 rad/s it moves with 3 m/s along y.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> momentum_matrix(arm.model(), np.zeros(1))[:, 0]
    array([ 0.,  0., 18.,  0.,  6.,  0.])
    """
    q = model.checked("q", q)
    Gc = composite(model, q, [body.inertia for body in model.bodies])                                           # (1)
    return in_world(model, q, [Gc[i] @ body.subspace(q) for i, body in enumerate(model.bodies)])                # (2)


def momentum_matrix_dot(model: Model, q: Array, v: Array) -> Array:
    """Return the rate Ȧ(q, v) (6, nv) of the momentum matrix, so that Ṗ = A v̇ + Ȧ v: the forces from outside and the weight, as one wrench.

    As seen from axes at rest (but written in the body's), S changes by Ψ and G by Ġ::

        Ψ_i = Ṡ_i + ad(V_i) S_i,   Ġ_i = −G_i ad(V_i) − ad(V_i)ᵀ G_i                          (1)
        Ȧ_i = Ad(T_Wi)⁻ᵀ (Gc_i Ψ_i + Ġc_i S_i),   Gc, Ġc composite as in momentum_matrix      (2)

    Examples
    --------
    The point of :func:`momentum_matrix` at 1 rad/s is turned towards −x:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> momentum_matrix_dot(arm.model(), np.zeros(1), np.ones(1))[:, 0]
    array([ 0.,  0.,  0., -6.,  0.,  0.])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    motion = body_motion(model, q, v)
    S, V = motion.S, motion.V
    Psi = subspace_rates(model, q, v, S, V)                                                                     # (1)
    Gc = composite(model, q, [body.inertia for body in model.bodies], motion.T_J)
    Gcdot = composite(model, q, inertia_rates(model, V), motion.T_J)
    W = [Gc[i] @ Psi[i] + Gcdot[i] @ S[i] for i in range(len(model.bodies))]
    return in_world(model, q, W)                                                                                # (2)


def momentum_derivatives(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Return ∂P/∂q and ∂P/∂v (6, nv) of :func:`engine.dynamics.momentum.momentum`, along q ⊕ e_j; the second is the momentum matrix.

    What a joint carries, of inertia I_j and momentum P_j, is turned by it, and changes its velocity by Ψ̇_j::

        ∂P/∂q_j = I_j Ψ̇_j − ad(S_j)ᵀ P_j,   ∂P/∂v_j = I_j S_j                                 (1)

    Examples
    --------
    The point of :func:`momentum_matrix` at 1 rad/s: its 6 kg m/s along y turn towards −x.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> momentum_derivatives(arm.model(), np.zeros(1), np.ones(1))[0][:, 0] + 0.0
    array([ 0.,  0.,  0., -6.,  0.,  0.])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    seen = swept(model, q, v, np.zeros(model.nv), np.zeros(6))
    own = [transformed(T, body.inertia) for body, T in zip(model.bodies, seen.T, strict=False)]
    I, P = sum_over_subtrees(model, own), sum_over_subtrees(model, [G @ V for G, V in zip(own, seen.V, strict=False)])
    dq, dv = ([np.zeros(6)] * model.nv for _ in range(2))
    for stage in seen.stages:
        i = stage.body
        for k, psidot, s in zip(stage.rows, stage.Psidot.T, stage.S.T, strict=True):
            dq[k] = dq[k] + wrench_to_parent(seen.frames[i], I[i] @ psidot - ad(s).T @ P[i])                    # (1)
            dv[k] = dv[k] + wrench_to_parent(seen.frames[i], I[i] @ s)
    return (np.stack(dq, axis=1), np.stack(dv, axis=1)) if dq else (np.zeros((6, 0)), np.zeros((6, 0)))


def centroidal_momentum_matrix(model: Model, q: Array) -> Array:
    """Return the centroidal momentum matrix (6, nv): momentum [angular about the centre of mass c; linear] in world axes, per unit of v.

    Its angular rows are A_ω − [c] A_v. Raises StateError where nothing that moves has mass.

    Examples
    --------
    A point has no angular momentum about itself:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> centroidal_momentum_matrix(arm.model(), np.zeros(1))[:, 0]
    array([0., 0., 0., 0., 6., 0.])
    """
    A, c = momentum_matrix(model, q), center_of_mass(model, q)
    return np.concatenate([A[:3] - hat(c) @ A[3:], A[3:]])


def centroidal_momentum_matrix_dot(model: Model, q: Array, v: Array) -> Array:
    """Return the rate (6, nv) of the centroidal momentum matrix: its angular rows are Ȧ_ω − [c] Ȧ_v − [ċ] A_v.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> centroidal_momentum_matrix_dot(arm.model(), np.zeros(1), np.ones(1))[:, 0]
    array([ 0.,  0.,  0., -6.,  0.,  0.])
    """
    A, Adot, c = momentum_matrix(model, q), momentum_matrix_dot(model, q, v), center_of_mass(model, q)
    moment: Any = np.zeros(3)                                                  # Σ m ċ: linear momentum, were there no added mass
    T_W, V = body_poses(model, q), body_motion(model, q, v).V
    for i, body in enumerate(model.bodies):
        moment = moment + T_W[i][:3, :3] @ (hat(V[i][:3]) @ first_moment(body.inertia) + mass(body.inertia) * V[i][3:])
    cdot = moment / total_mass(model)
    return np.concatenate([Adot[:3] - hat(c) @ Adot[3:] - hat(cdot) @ A[3:], Adot[3:]])


def center_of_mass_jacobian(model: Model, q: Array) -> Array:
    """Return the Jacobian J_c(q) (3, nv) of the centre of mass: ċ = J_c v, m/s in world axes.

    It is the linear part of the momentum matrix over the mass (of a body with added mass, that of its weight alone). Raises StateError
    where nothing that moves has mass.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> center_of_mass_jacobian(arm.model(), np.zeros(1))[:, 0]
    array([0., 3., 0.])
    """
    heavy = weighing(model)
    return momentum_matrix(heavy, q)[3:] / moving_mass(model)


def center_of_mass_jacobian_dot(model: Model, q: Array, v: Array) -> Array:
    """Return the rate J̇_c(q, v) (3, nv), so that c̈ = J_c v̇ + J̇_c v.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, 0, 1])
    >>> center_of_mass_jacobian_dot(arm.model(), np.zeros(1), np.array([2.0]))[:, 0]
    array([-6.,  0.,  0.])
    """
    heavy = weighing(model)
    return momentum_matrix_dot(heavy, q, v)[3:] / moving_mass(model)


def weighing(model: Model) -> Model:
    """Return the model with bodies of which only mass and first moment are left, [[0, [h]], [−[h], m 1]]: their momentum is Σ m ċ."""

    def points(G: Array) -> Array:
        H = hat(first_moment(G))
        return np.block([[np.zeros((3, 3)), H], [H.T, mass(G) * np.eye(3)]])

    return replace(model, bodies=tuple(replace(b, inertia=points(b.inertia)) for b in model.bodies))


# ---------------------------------------------------------------- sweeps shared with the Coriolis matrix


def subspace_rates(model: Model, q: Array, v: Array, S: list[Array], V: list[Array]) -> list[Any]:
    """Return Ψ = Ṡ + ad(V) S of every body: how its motion subspace changes as seen from axes at rest, written in its own."""
    return [ad(V[i]) @ S[i] + body.subspace_rate(q, v) for i, body in enumerate(model.bodies)]


def inertia_rates(model: Model, V: list[Array]) -> list[Any]:
    """Return Ġ = −G ad(V) − ad(V)ᵀ G of every body: how its inertia changes as seen from axes at rest, written in its own."""
    X = [body.inertia @ ad(V[i]) for i, body in enumerate(model.bodies)]
    return [-(x + x.T) for x in X]


def in_world(model: Model, q: Array, W: list[Array]) -> Array:
    """Return the 6×nv matrix of the bodies' wrenches W (6×their nv), seen from the world; those of a mimic joint add to its source's."""
    A: list[Any] = [np.zeros(6)] * model.nv
    T_W = body_poses(model, q)
    for i, body in enumerate(model.bodies):
        for k, column in zip(range(body.v.start, body.v.stop), W[i].T, strict=True):
            A[k] = A[k] + wrench_to_parent(T_W[i], column)
    return np.stack(A, axis=1) if A else np.zeros((6, 0))
