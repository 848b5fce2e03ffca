"""The Coriolis matrix, without derivatives of the inertia matrix, and Christoffel's symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.crba import composite
from engine.dynamics.kinematics import body_motion
from engine.dynamics.momentum_matrix import inertia_rates, subspace_rates
from engine.model import Model
from engine.spatial.se3 import wrench_to_parent
from engine.spatial.so3 import hat

Array = np.ndarray


def coriolis(model: Model, q: Array, v: Array) -> Array:
    """Return the Coriolis matrix C(q, v) (nv, nv), for which M v̇ + C v + g = tau, Ṁ = C + Cᵀ, and so Ṁ − 2C is skew.

    It is Σ Jᵀ (G J̇ + B J) with B V = −ad(V)ᵀ G V and B skew, summed by composite sweeps, all in body frames::

        Ψ_i = Ṡ_i + ad(V_i) S_i,   Ġ_i = −G_i ad(V_i) − ad(V_i)ᵀ G_i,   P_i = G_i V_i         (1)
        Gc, Ġc, Pc : G, Ġ and P of all that a body carries                                    (2)
        Bc_i = ½ (Ġc_i + ad*(Pc_i))                                                           (3)   ad*(P) V = −ad(V)ᵀ P
        F = Gc_i Ψ_i + Bc_i S_i,   K = Gc_i S_i,   N = Bc_iᵀ S_i,   C_ii = S_iᵀ F             (4)
        F, K, N ← Ad(T)⁻ᵀ F, K, N                                                             (5)
        C_ji = S_jᵀ F,   C_ij = Kᵀ Ψ_j + Nᵀ S_j   for each ancestor j                         (6)

    Parameters
    ----------
    q, v : configuration (nq) and velocity (nv), in the order of NOTATION.md

    Raises
    ------
    StateError : a shape or value that is not what is expected

    Notes
    -----
    O(nv · depth); traceable; inertias may be any symmetric 6×6; a mimic joint adds to the row and column of its source. Of all matrices
    with this C v and Ṁ = C + Cᵀ it is the one of the connection without torsion: C(v) w − C(w) v = M [v, w], with the brackets of
    ``model.manifold``. Those of coordinates are zero, and C is then made of Christoffel's symbols.

    References
    ----------
    Echeandia & Wensing, *Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems*, Journal of
    Computational and Nonlinear Dynamics 2021, alg. 1.

    Examples
    --------
    A 2 kg bead 3 m out on a spoke that turns with 1 rad/s, sliding outwards with 4 m/s: M = diag(m r², m), and
    C = [[m r ṙ, m r ω], [−m r ω, 0]].

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> wheel = Builder()
    >>> _ = wheel.add_link("hub"), wheel.add_link("spoke"), wheel.add_link("bead", inertia=inertia.sphere(2.0, 0.0))
    >>> _ = wheel.add_joint("turn", "revolute", "hub", "spoke"), wheel.add_joint("slide", "prismatic", "spoke", "bead", axis=[1, 0, 0])
    >>> coriolis(wheel.model(), np.array([0.0, 3.0]), np.array([1.0, 4.0]))
    array([[24.,  6.],
           [-6.,  0.]])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    motion = body_motion(model, q, v)
    T, S, V = motion.T, motion.S, motion.V
    Psi = subspace_rates(model, q, v, S, V)                                                                     # (1)
    Gc = composite(model, q, [body.inertia for body in model.bodies], motion.T_J)                               # (2)
    Gcdot = composite(model, q, inertia_rates(model, V), motion.T_J)
    Pc: list[Any] = [*[body.inertia @ V[i] for i, body in enumerate(model.bodies)], np.zeros(6)]
    C: list[list[Any]] = [[0.0] * model.nv for _ in range(model.nv)]
    rows = [range(body.v.start, body.v.stop) for body in model.bodies]
    for i, body in reversed(list(enumerate(model.bodies))):
        Bc = 0.5 * (Gcdot[i] + ad_star(Pc[i]))                                                                  # (3)
        F, K, N = Gc[i] @ Psi[i] + Bc @ S[i], Gc[i] @ S[i], Bc.T @ S[i]                                         # (4)
        add(C, rows[i], rows[i], S[i].T @ F)
        j = i
        while (p := model.bodies[j].parent) >= 0:
            F, K, N = (np.stack([wrench_to_parent(T[j], x) for x in X.T], axis=1) for X in (F, K, N))                  # (5)
            add(C, rows[p], rows[i], S[p].T @ F)                                                                # (6)
            add(C, rows[i], rows[p], K.T @ Psi[p] + N.T @ S[p])
            j = p
        Pc[body.parent] = Pc[body.parent] + wrench_to_parent(T[i], Pc[i])                                       # (2)
    return np.array(C).reshape(model.nv, model.nv)


def christoffel(model: Model, q: Array) -> Array:
    """Return Christoffel's symbols of the first kind, Γ(q) (nv, nv, nv): C_ij(q, v) = Σ_k Γ_ijk v_k.

    With D_k the derivative along q ⊕ e_k, and [,]_ijk = e_i · M [e_k, e_j] the bracket of velocities (``model.manifold``)::

        Γ_ijk = ½ (D_k M_ij + D_j M_ik − D_i M_jk + [,]_ijk − [,]_jik − [,]_kij)

    Of joints whose velocities are the rates of coordinates the brackets are zero, and Γ_ijk = Γ_ikj are Christoffel's symbols. Body
    twists (of floating, spherical and planar joints) have brackets: there these are the coefficients of the same connection in the
    frame of body velocities, Γ_ijk − Γ_ikj = [,]_ijk, and the forces C v take only the part symmetric in j and k.

    Notes
    -----
    nv Coriolis matrices: O(nv² · depth); traceable.

    Examples
    --------
    A 2 kg bead 3 m out on a spoke: m r, and a centrifugal −m r.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> wheel = Builder()
    >>> _ = wheel.add_link("hub"), wheel.add_link("spoke"), wheel.add_link("bead", inertia=inertia.sphere(2.0, 0.0))
    >>> _ = wheel.add_joint("turn", "revolute", "hub", "spoke"), wheel.add_joint("slide", "prismatic", "spoke", "bead", axis=[1, 0, 0])
    >>> Gamma = christoffel(wheel.model(), np.array([0.0, 3.0]))
    >>> [float(Gamma[ijk]) for ijk in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1))]
    [6.0, 6.0, -6.0, 0.0]
    """
    columns = [coriolis(model, q, e) for e in np.eye(model.nv)]
    return np.stack(columns, axis=-1) if columns else np.zeros((0, 0, 0))


def add(matrix: list[list[Any]], rows: range, columns: range, block: Array) -> None:
    """Add a block to a matrix; the rows and columns of mimics are their sources'."""
    for a, line in zip(rows, block, strict=True):
        for b, value in zip(columns, line, strict=True):
            matrix[a][b] = matrix[a][b] + value


def ad_star(P: Array) -> Array:
    """Return the skew 6×6 matrix of a momentum P = [L; p] with ad_star(P) V = −ad(V)ᵀ P: −[[[L], [p]], [[p], 0]].

    >>> ad_star(np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])) @ np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # 2 kg m/s along x, turned left
    array([0., 0., 0., 0., 2., 0.])
    """
    L, p = hat(P[:3]), hat(P[3:])
    return -np.block([[L, p], [p, np.zeros_like(p, dtype=float)]])
