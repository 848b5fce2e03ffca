"""Articulated-body algorithm (forward dynamics): the motion that joint forces make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.crba import crba, solve_from_leaves
from engine.dynamics.each_tree import each_tree, velocities
from engine.dynamics.kinematics import GRAVITY, Motion, body_wrenches, falling, within_range
from engine.dynamics.rnea import rnea
from engine.model import Body, Model, StateError
from engine.model.parameters import with_numbers
from engine.spatial.inertia import mirrored, wrench
from engine.spatial.se3 import ad, twist_to_child, wrench_to_parent

Array = np.ndarray


@each_tree(velocities)
@within_range
def aba(model: Model, q: Array, v: Array, tau: Array, gravity: Any = GRAVITY, wrenches: Array | None = None,
        armature: Array | None = None) -> Array:  # fmt: skip
    """Return the accelerations that forces make (forward dynamics): v̇ with M(q) v̇ + C(q, v) v + g(q) = tau + Σ Jᵀ F.

    Three sweeps over the bodies, all in body frames::

        V_i = Ad(T_i)⁻¹ V_p + S_i v_i,   c_i = ad(V_i) S_i v_i + Ṡ_i v_i                      (1)
        IA_i = G_i,   pA_i = −ad(V_i)ᵀ G_i V_i − F_ext,i                                      (2)
        U = IA_i S_i,   D = S_iᵀ U + diag(a_i),   u = τ_i − S_iᵀ pA_i                         (3)   a: the joints' armature
        Ia = IA_i − U D⁻¹ Uᵀ,   pa = pA_i + Ia c_i + U D⁻¹ u                                  (4)
        IA_p ← IA_p + Ad(T_i)⁻ᵀ Ia Ad(T_i)⁻¹,   pA_p ← pA_p + Ad(T_i)⁻ᵀ pa                    (5)
        V̇' = Ad(T_i)⁻¹ V̇_p + c_i,   v̇_i = D⁻¹ (u − Uᵀ V̇'),   V̇_i = V̇' + S_i v̇_i              (6)   V̇_world = [0; −g]

    A floating joint has S = 1; without armature it carries no inertia, and passes on its own force alone::

        D = U = IA_i:   D⁻¹ Uᵀ = 1,   Ia = 0,   pa = τ_i                                      (7)

    Without armature any joint resists nothing along its own axes, and passes its own force on there, which are known entries of Ia and pa
    where S is made of coordinate axes::

        Ia S = 0,   Sᵀ pa = τ_i                                                               (8)

    Parameters, raised errors and units are those of :func:`engine.dynamics.rnea.rnea`; ``tau`` has shape (nv), and
    holds all that acts in the joints: their own ``damping`` and ``friction`` act only if they are in it (a simulation adds them). An
    ``armature`` (nv) given here stands for ``model.armature``.

    Returns
    -------
    vdot : accelerations (nv)

    Notes
    -----
    O(nlinks); traceable; singular where the joint-space inertia is (a joint that moves no mass). Mimic joints couple bodies across
    the tree; a model with any solves M v̇ = tau − bias instead (:func:`coupled`).

    References
    ----------
    Featherstone, *Rigid Body Dynamics Algorithms*, §7.3.

    Examples
    --------
    A 2 kg point at the end of a massless 3 m rod falls, when let go from the horizontal, with g/3:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> aba(arm.model(), np.zeros(1), np.zeros(1), np.zeros(1)).round(9)
    array([-3.27])
    """
    q, v, tau = model.checked("q", q), model.checked("v", v), model.checked("tau", tau)
    if armature is not None:
        model = with_numbers(model, armature=model.checked("armature", armature))
    if any(body.mimics for body in model.bodies):
        return coupled(model, q, v, tau, gravity, wrenches)
    F_ext = body_wrenches(model, wrenches)
    motion = Motion(model, q, v)
    T, S, V_J, V = motion.T, motion.S, motion.V_J, motion.V
    n = len(model.bodies)
    c: list[Any] = [None] * n
    IA: list[Any] = [*[body.inertia for body in model.bodies], np.zeros((6, 6))]
    pA: list[Any] = [None] * n + [np.zeros(6)]
    Dinv_U: list[Any] = [None] * n
    Dinv_u: list[Any] = [None] * n
    for i, body in motion.sweep():                                                                              # (1)
        c[i] = ad(V[i]) @ V_J[i] + body.subspace_rate(q, v) @ v[body.v]
        pA[i] = wrench(body.inertia, V[i], np.zeros(6)) - F_ext[i]                                              # (2)
    for i, body in reversed(list(enumerate(model.bodies))):
        p, a = body.parent, model.armature[body.v]
        U = IA[i] @ S[i]                                                                                        # (3)
        D = S[i].T @ U + np.diag(a)
        require_inertia(D, np.abs(IA[i]).max() if D.dtype != object else 0.0, [body] * body.kind.nv)
        u = tau[body.v] - S[i].T @ pA[i]
        Dinv_u[i] = ops.solve(D, u)
        if body.kind.floats and a.dtype != object and not a.any():
            Dinv_U[i], Ia, pa = np.eye(6), np.zeros((6, 6)), tau[body.v]                                        # (7)
        else:
            Dinv_U[i] = ops.solve(D, U.T)
            Ia = mirrored(IA[i] - U @ Dinv_U[i])                                                                # (4)
            along = axes(S[i]) if a.dtype != object and not a.any() else []
            Ia[along], Ia[:, along] = 0.0, 0.0                                                                  # (8)
            pa = pA[i] + Ia @ c[i] + U @ Dinv_u[i]
            pa[along] = S[i][along] @ tau[body.v]
        IA[p] = IA[p] + body.inertia_in_parent(motion.T_J[i], Ia)                                              # (5)
        pA[p] = pA[p] + wrench_to_parent(T[i], pa)
    Vdot: list[Any] = [None] * n + [falling(gravity)]
    vdot: list[Any] = []
    for i, body in enumerate(model.bodies):
        carried = twist_to_child(T[i], Vdot[body.parent]) + c[i]                                                # (6)
        vdot.append(Dinv_u[i] - Dinv_U[i] @ carried)
        Vdot[i] = carried + S[i] @ vdot[i]
    return np.concatenate([np.zeros(0), *vdot])


def axes(S: Array) -> list[int]:
    """Return which rows of a known subspace S (6, n) are its n coordinate axes, up to signs; none where it has others.

    >>> axes(np.array([[0.0, 0, 0, 0, 0, -1.0]]).T), axes(np.array([[0.6, 0.8, 0, 0, 0, 0]]).T)
    ([5], [])
    """
    rows: list[int] = [] if S.dtype == object else np.flatnonzero(S.any(axis=1)).tolist()
    A = np.abs(S[rows])                                                        # of axes a permutation
    return rows if np.array_equal(A @ A.T, np.eye(S.shape[1])) else []


def require_inertia(D: Array, scale: float, bodies: Sequence[Body]) -> None:
    """Refuse a joint whose motion no mass resists: its pivot in LDLᵀ is zero, or what rounding leaves of zero.

    ``scale`` is an inertia that D was made of, ``bodies`` has the body of each row. Of a traced D only what is known is looked at.
    """
    known = D.dtype != object
    A = np.array(D)
    for j, body in enumerate(bodies):
        if isinstance(A[j, j], (int, float)) and A[j, j] <= max(1e-15 * scale, 1e-14 * D[j, j]):
            mass = body.inertia[5, 5]
            some = isinstance(mass, (int, float)) and mass > 0.0
            what = f"{mass:g} kg without inertia along its motion" if some else "no mass"
            raise StateError(f"joint '{body.joint.name}' moves {what}: the joint-space inertia is singular, so forward dynamics has no "
                             f"answer; expected a link with inertia at or after the joint")  # fmt: skip
        if known:
            A = A - np.outer(A[:, j], A[j]) / A[j, j]


def bodies_of_rows(model: Model) -> list[Body]:
    """Return the body of each entry of v, which is that of its joint; mimics have none."""
    return [body for body in model.bodies if not body.mimics for _ in range(body.kind.nv)]


def coupled(model: Model, q: Array, v: Array, tau: Array, gravity: Any, wrenches: Array | None) -> Array:
    """Return v̇ of M v̇ = tau − bias, factored as LDLᵀ with the tree's zeros (Featherstone, §6.4–6.5)."""
    bias = rnea(model, q, v, np.zeros(model.nv), gravity, wrenches)
    M = crba(model, q)
    require_inertia(M[::-1, ::-1], np.abs(M).max(initial=0.0) if M.dtype != object else 0.0, bodies_of_rows(model)[::-1])
    return solve_from_leaves(M, tau - bias)
