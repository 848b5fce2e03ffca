"""Inverse-dynamics derivatives: ∂τ/∂q and ∂τ/∂v, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.coriolis import ad_star, add
from engine.dynamics.kinematics import GRAVITY, body_wrenches, falling
from engine.dynamics.stages import sum_over_subtrees, swept
from engine.model import Model
from engine.spatial.inertia import is_rigid, transformed, wrench
from engine.spatial.se3 import ad, wrench_to_parent
from engine.spatial.so3 import hat

Array = np.ndarray


def rnea_derivatives(model: Model, q: Array, v: Array, vdot: Array, gravity: Any = GRAVITY,
                     wrenches: Array | None = None) -> tuple[Array, Array]:  # fmt: skip
    """Return ∂τ/∂q and ∂τ/∂v (nv, nv) of :func:`engine.dynamics.rnea.rnea`; ∂τ/∂v̇ is :func:`engine.dynamics.crba.crba`.

    Column j of ∂τ/∂q is the derivative along q ⊕ e_j; wrenches on links turn with their links. All of a tree is seen from one frame, of
    its root if that floats, else the world's. With S_j of joint j and V, A of the body before it (P) and of its own, A_world = [0; −g]::

        Ψ̇_j = ad(V_P) S_j,   Ψ̈_j = ad(A_P) S_j + ad(V_P) Ψ̇_j,   Ṡ_j = ad(V_j) S_j                  (1)
        f_i = I_i A_i − ad(V_i)ᵀ I_i V_i − F_ext,i                                                   (2)
        B_i = ½ (−ad(V_i)ᵀ I_i − I_i ad(V_i) + ad*(I_i V_i))                                         (3)   ad*(P) V = −ad(V)ᵀ P
        I, B, f : summed over all that the joint carries                                             (4)
        ∂τ_i/∂q_j = S_iᵀ (2 B_i Ψ̇_j + I_i Ψ̈_j),   ∂τ_i/∂v_j = S_iᵀ (2 B_i S_j + I_i (Ψ̇_j + Ṡ_j))     (5)   j = i, or before i
        ∂τ_j/∂q_i = S_jᵀ (2 B_i Ψ̇_i + I_i Ψ̈_i − ad(S_i)ᵀ f_i),   ∂τ_j/∂v_i = S_jᵀ (2 B_i S_i + I_i (Ψ̇_i + Ṡ_i))    (6)   j before i

    Parameters, raised errors and units are those of :func:`engine.dynamics.rnea.rnea`.

    Notes
    -----
    O(nv · depth); traceable; inertias may be any symmetric 6×6. A mimic joint adds to the row and column of its source.

    References
    ----------
    Singh, Russell & Wensing, *Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra*, IEEE RA-L 2022;
    Carpentier & Mansard, *Analytical derivatives of rigid body dynamics algorithms*, RSS 2018.

    Examples
    --------
    A 2 kg point on a 3 m rod, 30° above the horizontal, held: τ = m g r cos θ falls by m g r sin θ a radian.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> dq, dv = rnea_derivatives(arm.model(), np.array([np.pi / 6]), np.zeros(1), np.zeros(1))
    >>> dq.round(9), dv.round(9)
    (array([[-29.43]]), array([[0.]]))
    """
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    dq, dv, _ = differentiated(model, q, v, vdot, gravity, wrenches)
    return dq, dv


def differentiated(model: Model, q: Array, v: Array, vdot: Array, gravity: Any, wrenches: Array | None) -> tuple[Array, Array, Array]:
    """Return ∂τ/∂q, ∂τ/∂v and M (nv, nv)."""
    F_ext, seen = body_wrenches(model, wrenches), swept(model, q, v, vdot, falling(gravity))                    # (1)
    I, f, B = list[Any](), list[Any](), list[Any]()
    for i, body in enumerate(model.bodies):
        T, V = seen.T[i], seen.V[i]
        I.append(transformed(T, body.inertia))
        f.append(wrench(I[i], V, seen.A[i]) - wrench_to_parent(T, F_ext[i]))                                    # (2)
        B.append(velocity_part(I[i], V, is_rigid(body.inertia)))                                                # (3)
    I, f, B = (sum_over_subtrees(model, x) for x in (I, f, B))                                                            # (4)
    dq, dv, M = ([[0.0] * model.nv for _ in range(model.nv)] for _ in range(3))
    for k, a in enumerate(model.armature.tolist()):
        M[k][k] = a
    for stage in seen.stages:
        i, S = stage.body, stage.S
        IS, BTS = I[i] @ S, 2.0 * (B[i].T @ S)
        X_q = 2.0 * (B[i] @ stage.Psidot) + I[i] @ stage.Psiddot
        X_v = 2.0 * (B[i] @ S) + I[i] @ (stage.Psidot + stage.Sdot)
        add(dq, stage.rows, stage.rows, S.T @ X_q)                                                              # (5)
        add(dv, stage.rows, stage.rows, S.T @ X_v)
        add(M, stage.rows, stage.rows, S.T @ IS)
        X_q = X_q - np.stack([ad(s).T @ f[i] for s in S.T], axis=1)
        j = stage.before
        while j >= 0:
            other = seen.stages[j]
            add(dq, stage.rows, other.rows, BTS.T @ other.Psidot + IS.T @ other.Psiddot)                        # (5)
            add(dv, stage.rows, other.rows, BTS.T @ other.S + IS.T @ (other.Psidot + other.Sdot))
            add(dq, other.rows, stage.rows, other.S.T @ X_q)                                                    # (6)
            add(dv, other.rows, stage.rows, other.S.T @ X_v)
            add(M, stage.rows, other.rows, block := IS.T @ other.S)
            add(M, other.rows, stage.rows, block.T)
            j = other.before
    shape = model.nv, model.nv
    return np.array(dq).reshape(shape), np.array(dv).reshape(shape), np.array(M).reshape(shape)


def velocity_part(I: Array, V: Array, rigid: bool) -> Array:
    """Return B (6, 6) of (3) for an inertia I and a twist V; of a rigid one, with the moment h = m c and p = m v − h × ω::

        B = [[[ω] (Ī − ½ tr Ī) − [h] [v], 0], [−[p], 0]]
    """
    P = I @ V
    if not rigid:
        return 0.5 * (ad_star(P) - ad(V).T @ I - I @ ad(V))
    zero, J = np.zeros((3, 3)), I[:3, :3] - 0.5 * np.trace(I[:3, :3]) * np.eye(3)
    return np.block([[hat(V[:3]) @ J - I[:3, 3:] @ hat(V[3:]), zero], [-hat(P[3:]), zero]])
