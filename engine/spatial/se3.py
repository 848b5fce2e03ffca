"""Rigid motions SE(3): poses T (4×4), twists V = [ω; v], wrenches F = [m; f], rotation first everywhere.

``T_AB`` is the pose of frame B in frame A: ``p_A = T_AB p_B``, ``V_A = Ad(T_AB) V_B``, ``F_B = Ad(T_AB)ᵀ F_A``, power = F·V.
Batches ``(..., 4, 4)`` and ``(..., 6)`` of floats, or unbatched traced arrays.
References: Lynch & Park, *Modern Robotics*, §3.3 and ch. 8; Featherstone, *Rigid Body Dynamics Algorithms*, ch. 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import EngineError, shaped
from engine.ops.elementwise import stumpff_next
from engine.spatial import so3

Array = np.ndarray


def pose(R: ArrayLike, p: ArrayLike) -> Array:
    """Return T from a rotation matrix (..., 3, 3) and a position (..., 3).

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> se3.pose(np.eye(3), [1.0, 2.0, 3.0])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    R, p = shaped("R", R, 3, 3), shaped("p", p, 3)
    if R.dtype == p.dtype == float and (R.ndim, p.ndim) == (2, 1):             # the same numbers at once: files have many poses
        T = np.empty((4, 4))
        T[:3, :3], T[:3, 3], T[3] = R, p, 0.0 * p[0]
        T[3, 3] += 1.0
        return T
    o = 0.0 * p[..., 0]
    rows = [[*(R[..., i, j] for j in range(3)), p[..., i]] for i in range(3)]
    return ops.array([*rows, [o, o, o, o + 1.0]])


def rotation(T: ArrayLike) -> Array:
    """Return R of a pose, shape (..., 3, 3).

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> se3.rotation(se3.pose(np.eye(3), [1.0, 2.0, 3.0]))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    T = shaped("T", T, 4, 4)
    return T[..., :3, :3]


def position(T: ArrayLike) -> Array:
    """Return p of a pose, shape (..., 3).

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> se3.position(se3.pose(np.eye(3), [1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    T = shaped("T", T, 4, 4)
    return T[..., :3, 3]


def inv(T: ArrayLike) -> Array:
    """Return T⁻¹ = [Rᵀ, −Rᵀ p].

    >>> inv(pose(np.eye(3), np.array([1.0, 2.0, 3.0])))[:3, 3]
    array([-1., -2., -3.])
    """
    Rt = np.swapaxes(rotation(T), -1, -2)
    return pose(Rt, -np.matvec(Rt, position(T)))


def hat(V: ArrayLike) -> Array:
    """Return [V] = [[[ω], v], [0, 0]], shape (..., 4, 4).

    >>> from engine.spatial import se3
    >>> se3.hat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    array([[ 0., -3.,  2.,  4.],
           [ 3.,  0., -1.,  5.],
           [-2.,  1.,  0.,  6.],
           [ 0.,  0.,  0.,  0.]])
    """
    V = shaped("V", V, 6)
    W = so3.hat(V[..., :3])
    o = 0.0 * V[..., 0]
    rows = [[*(W[..., i, j] for j in range(3)), V[..., 3 + i]] for i in range(3)]
    return ops.array([*rows, [o, o, o, o]])


def vee(M: ArrayLike) -> Array:
    """Return V of [V], shape (..., 6).

    >>> from engine.spatial import se3
    >>> se3.vee(se3.hat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    array([1., 2., 3., 4., 5., 6.])
    """
    M = shaped("M", M, 4, 4)
    return np.concatenate([so3.vee(M[..., :3, :3]), M[..., :3, 3]], axis=-1)


def Ad(T: ArrayLike) -> Array:
    """Return Ad(T) = [[R, 0], [[p] R, R]], shape (..., 6, 6).

    >>> Ad(pose(np.eye(3), np.array([1.0, 0.0, 0.0]))) @ np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    R = rotation(T)
    return np.block([[R, np.zeros_like(R, dtype=float)], [so3.hat(position(T)) @ R, R]])


def ad(V: ArrayLike) -> Array:
    """Return ad(V) = [[[ω], 0], [[v], [ω]]], shape (..., 6, 6); ad(V) W = [V, W] is the Lie bracket.

    >>> from engine.spatial import se3
    >>> turn, shift = [0, 0, 1.0, 0, 0, 0], [0, 0, 0, 1.0, 0, 0]
    >>> se3.ad(turn) @ shift + 0.0  # about z, along x: the bracket is along y
    array([0., 0., 0., 0., 1., 0.])
    """
    V = shaped("V", V, 6)
    W, v = so3.hat(V[..., :3]), so3.hat(V[..., 3:])
    return np.block([[W, np.zeros_like(W, dtype=float)], [v, W]])


def twist_to_child(T_PC: ArrayLike, V_P: ArrayLike) -> Array:
    """Return Ad(T_PC)⁻¹ V_P = [Rᵀ ω; Rᵀ (v + ω × p)]: a twist given in the parent's frame, in the child's.

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> T = se3.pose(np.eye(3), [1.0, 0, 0])
    >>> se3.twist_to_child(T, [0, 0, 2.0, 0, 0, 0]) + 0.0  # 1 m out, a turn of 2 rad/s about z moves it with 2 m/s along y
    array([0., 0., 2., 0., 2., 0.])
    """
    T_PC, V_P = shaped("T_PC", T_PC, 4, 4), shaped("V_P", V_P, 6)
    Rt, w = np.swapaxes(rotation(T_PC), -1, -2), V_P[..., :3]
    return np.concatenate([np.matvec(Rt, w), np.matvec(Rt, V_P[..., 3:] + ops.cross(w, position(T_PC)))], axis=-1)


def twist_to_parent(T_PC: ArrayLike, V_C: ArrayLike) -> Array:
    """Return Ad(T_PC) V_C = [R ω; R v + p × R ω]: a twist given in the child's frame, in the parent's.

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> T = se3.pose(np.eye(3), [1.0, 0, 0])
    >>> se3.twist_to_parent(T, [0, 0, 2.0, 0, 2.0, 0]) + 0.0  # the parent's origin rests
    array([0., 0., 2., 0., 0., 0.])
    """
    T_PC, V_C = shaped("T_PC", T_PC, 4, 4), shaped("V_C", V_C, 6)
    w = np.matvec(rotation(T_PC), V_C[..., :3])
    return np.concatenate([w, np.matvec(rotation(T_PC), V_C[..., 3:]) + ops.cross(position(T_PC), w)], axis=-1)


def wrench_to_parent(T_PC: ArrayLike, F_C: ArrayLike) -> Array:
    """Return Ad(T_PC)⁻ᵀ F_C = [R m + p × R f; R f]: a wrench (or momentum) given in the child's frame, in the parent's.

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> T = se3.pose(np.eye(3), [1.0, 0, 0])
    >>> se3.wrench_to_parent(T, [0, 0, 0, 0, 0, 3.0]) + 0.0  # 3 N upwards, 1 m out along x
    array([ 0., -3.,  0.,  0.,  0.,  3.])
    """
    T_PC, F_C = shaped("T_PC", T_PC, 4, 4), shaped("F_C", F_C, 6)
    f = np.matvec(rotation(T_PC), F_C[..., 3:])
    return np.concatenate([np.matvec(rotation(T_PC), F_C[..., :3]) + ops.cross(position(T_PC), f), f], axis=-1)


def exp(V: ArrayLike) -> Array:
    """Return the pose reached by the constant body twist V in unit time: [exp ω, dexp(ω) v].

    >>> exp(np.array([0.0, 0.0, np.pi, 0.0, np.pi, 0.0])).round(12)[:2, 3]
    array([-2.,  0.])
    """
    V = shaped("V", V, 6)
    w, v = V[..., :3], V[..., 3:]
    A, B, C = so3.coefficients(np.vecdot(w, w))
    u = ops.cross(w, v)
    n = ops.cross(w, u)
    p = [v[..., i] + B * u[..., i] + C * n[..., i] for i in range(3)]                    # dexp(ω) v
    return pose(so3.quadratic(w, A, B), ops.array(p))


def log(T: ArrayLike) -> Array:
    """Return the twist V with exp(V) = T and |ω| ≤ π, shape (..., 6).

    Raises
    ------
    EngineError : the rotation of T is none, by :func:`engine.spatial.so3.require_rotations`, or the last row is not 0 0 0 1, to 0.01

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> se3.log(se3.pose(np.eye(3), [1.0, 2.0, 3.0]))
    array([0., 0., 0., 1., 2., 3.])
    """
    T = shaped("T", T, 4, 4)
    if T.dtype != object:
        so3.require_rotations("the rotation of T", T[..., :3, :3])
        if (np.abs(T[..., 3, :] - [0.0, 0.0, 0.0, 1.0]) > 1e-2).any():
            raise EngineError("the last row of T is not 0 0 0 1; expected a pose")
    w = so3.log(rotation(T))
    return np.concatenate([w, np.matvec(so3.dexp_inv(w), position(T))], axis=-1)


def dexp(V: ArrayLike) -> Array:
    """Return the left Jacobian of exp, 6×6: d exp(V) exp(V)⁻¹ = [dexp(V) dV]. The right one is dexp(−V).

    [[J, 0], [Q, J]] with J = so3.dexp(ω) and Barfoot's Q(ω, v); Barfoot, *State Estimation for Robotics*, eq. (7.86).

    >>> from engine.spatial import se3
    >>> se3.dexp([0, 0, 0, 0, 0, 2.0])[3:, :3]  # without a turn: ½ [v]
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    V = shaped("V", V, 6)
    w = V[..., :3]
    J = so3.dexp(w)
    return np.block([[J, np.zeros_like(J, dtype=float)], [_Q(V), J]])


def dexp_inv(V: ArrayLike) -> Array:
    """Return the inverse left Jacobian of exp: [[J⁻¹, 0], [−J⁻¹ Q J⁻¹, J⁻¹]]; singular at |ω| = 2π.

    >>> from engine.spatial import se3
    >>> V = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
    >>> bool(abs(se3.dexp_inv(V) @ se3.dexp(V) - [[i == k for k in range(6)] for i in range(6)]).max() < 1e-12)
    True
    """
    V = shaped("V", V, 6)
    Ji = so3.dexp_inv(V[..., :3])
    return np.block([[Ji, np.zeros_like(Ji, dtype=float)], [-(Ji @ _Q(V) @ Ji), Ji]])


def _Q(V: Array) -> Array:
    """Return ½ Y + C (WY + YW + WYW) + E (WWY + YWW − 3 WYW) + F (WYWW + WWYW), with W = [ω] and Y = [v]."""
    w = V[..., :3]
    theta2 = np.vecdot(w, w)
    C = ops.c3(theta2)
    E, c5 = stumpff_next(theta2)                                                     # (θ² + 2 cos θ − 2)/(2θ⁴)
    F = 0.5 * (E - 3.0 * c5)                                                             # (2θ − 3 sin θ + θ cos θ)/(2θ⁵)
    C, E, F = (np.asarray(x)[..., None, None] for x in (C, E, F))
    W, Y = so3.hat(w), so3.hat(V[..., 3:])
    WY, YW = W @ Y, Y @ W
    WYW = WY @ W
    return 0.5 * Y + C * (WY + YW + WYW) + E * (W @ WY + YW @ W - 3.0 * WYW) + F * (WYW @ W + W @ WYW)


def determinant(T: ArrayLike) -> Array:
    """Return det R (...) of 4×4 matrices: 1 of a pose.

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> float(se3.determinant(np.eye(4)))
    1.0
    """
    T = shaped("T", T, 4, 4)
    return np.linalg.det(T[..., :3, :3])


def distance_to_se3(T: ArrayLike) -> Array:
    """Return the Frobenius distance of a 4×4 matrix from the nearest pose (...).

    It is that of the upper left block from the nearest rotation, and of the last row from [0 0 0 1].

    >>> distance_to_se3(np.diag([2.0, 1.0, 1.0, 1.0]))
    np.float64(1.0)
    """
    T = shaped("T", T, 4, 4)
    U, s, Vt = np.linalg.svd(T[..., :3, :3])
    reflects = np.linalg.det(U @ Vt) < 0
    s = np.concatenate([s[..., :2], np.where(reflects, -1.0, 1.0)[..., None] * s[..., 2:]], axis=-1)
    last = T[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    return np.sqrt(((s - 1.0) ** 2).sum(axis=-1) + np.vecdot(last, last))


def point_paths(T: ArrayLike, points: ArrayLike) -> Array:
    """Return the world positions (..., k, 3) of points (k, 3) that are fixed in the body, of poses (..., 4, 4): the traces they leave.

    >>> import numpy as np
    >>> from engine.spatial import se3
    >>> se3.point_paths(se3.pose(np.eye(3), [0, 0, 5.0]), [[1.0, 0, 0], [0, 1.0, 0]])
    array([[1., 0., 5.],
           [0., 1., 5.]])
    """
    T, points = shaped("T", T, 4, 4), shaped("points", points, 3)
    return np.asarray(points) @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
