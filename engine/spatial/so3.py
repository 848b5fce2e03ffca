"""Rotations SO(3): 3×3 matrices R, rotation vectors ω = θ n, and the maps between them.

All functions take batches ``(..., 3)`` and ``(..., 3, 3)`` of floats, or unbatched traced arrays. Angles are in radians.
References: Lynch & Park, *Modern Robotics*, §3.2; Iserles et al., *Lie-group methods*, Acta Numerica 2000, §B (dexp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import EngineError, array, shaped, shown
from engine.ops.elementwise import SERIES_BELOW, series
from engine.spatial import quaternion

Array = np.ndarray


def hat(w: ArrayLike) -> Array:
    """Return [ω] with [ω] x = ω × x, shape (..., 3, 3).

    >>> hat(np.array([1.0, 2.0, 3.0])) @ np.array([1.0, 0.0, 0.0])
    array([ 0.,  3., -2.])
    """
    w = shaped("w", w, 3)
    return ops.array(_hat_rows(*(w.tolist() if type(w) is np.ndarray and w.ndim == 1 else (w[..., 0], w[..., 1], w[..., 2]))))


def _hat_rows(x: Any, y: Any, z: Any) -> list[list[Any]]:
    """Return the rows of [ω]."""
    o = 0.0 * x
    return [[o, -z, y], [z, o, -x], [-y, x, o]]


def vee(W: ArrayLike) -> Array:
    """Return ω of a skew matrix [ω] (its skew part, if it is not quite skew), shape (..., 3).

    >>> from engine.spatial import so3
    >>> so3.vee([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    array([1., 2., 3.])
    """
    W = shaped("W", W, 3, 3)
    half = [W[..., 2, 1] - W[..., 1, 2], W[..., 0, 2] - W[..., 2, 0], W[..., 1, 0] - W[..., 0, 1]]
    return 0.5 * ops.array(half)


def coefficients(theta2: Any) -> tuple[Any, Any, Any]:
    """Return A = sin θ/θ, B = (1 − cos θ)/θ², C = (θ − sin θ)/θ³ as smooth functions of θ², accurate from 0 on.

    >>> [float(x) for x in coefficients(0.0)]
    [1.0, 0.5, 0.16666666666666666]
    """
    return ops.stumpff(theta2)[1:]


def doubled(theta2: Any) -> tuple[Any, Any]:
    """Return B and C from the Stumpff functions of θ²/4, which :func:`quaternion.exp` of the same rotation has made already.

    >>> from engine.spatial import so3
    >>> [float(x) for x in so3.doubled(0.0)]
    [0.5, 0.16666666666666666]
    """
    c0, c1, c2, c3 = ops.stumpff(0.25 * theta2)
    return 0.5 * c1 * c1, 0.25 * (c2 + c0 * c3)


def inverse_coefficient(theta2: Any) -> Any:
    """Return D = (1 − (θ/2) cot(θ/2))/θ² of the inverse dexp, accurate from 0 to θ → 2π (where it is singular).

    >>> bool(inverse_coefficient(0.0) == 1 / 12)
    True
    """
    small = theta2 < SERIES_BELOW
    safe = ops.where(small, 1.0, theta2)
    half = 0.5 * ops.sqrt(safe)
    closed = (1.0 - half * ops.cos(half) / ops.sin(half)) / safe
    return ops.where(small, series(theta2, BERNOULLI), closed)


#: of |D θ²|, which is θ over its distance from a singular one: there are no more than eight steps of floats between
LOST = 0.125 / np.finfo(float).eps
#: |B₂ₖ|/(2k)! for k = 1, 2, …
BERNOULLI = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
             3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000]  # fmt: skip


def exp(w: ArrayLike) -> Array:
    """Return the rotation by the vector ω: 1 + A [ω] + B [ω]², shape (..., 3, 3).

    >>> exp(np.array([0.0, 0.0, np.pi / 2])).round(12) @ np.array([1.0, 0.0, 0.0])
    array([0., 1., 0.])
    """
    w = shaped("w", w, 3)
    A, B, _ = coefficients(np.vecdot(w, w))
    return quadratic(w, A, B)


def quadratic(w: ArrayLike, a: Any, b: Any) -> Array:
    """Return 1 + a [ω] + b [ω]², with [ω]² = ω ωᵀ − θ² 1.

    >>> from engine.spatial import so3
    >>> so3.quadratic([0.0, 0.0, 2.0], 1.0, 0.0)
    array([[ 1., -2.,  0.],
           [ 2.,  1.,  0.],
           [ 0.,  0.,  1.]])
    """
    w = shaped("w", w, 3)
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    xx, yy, zz, xy, yz, zx = b * x * x, b * y * y, b * z * z, b * x * y, b * y * z, b * z * x
    ax, ay, az = a * x, a * y, a * z
    return ops.array([[1.0 - (yy + zz), xy - az, zx + ay],
                      [xy + az, 1.0 - (zz + xx), yz - ax],
                      [zx - ay, yz + ax, 1.0 - (xx + yy)]])  # fmt: skip


def about(axis: Array, angle: Any) -> Array:
    """Return the rotation by an angle about a unit axis: n nᵀ + cos θ (1 − n nᵀ) + sin θ [n] (structural zeros of n fold away).

    >>> about(np.array([0.0, 0.0, 1.0]), 0.0)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    n = array("axis", axis)
    if n.shape != (3,) or (n.dtype != object and not abs(n @ n - 1.0) < 1e-6):
        raise EngineError(f"axis is {shown(axis)}; expected a unit vector (3)")
    s, c = ops.sin(angle), ops.cos(angle)
    n = n.tolist()                                                             # scalars of Python's: the same bits, in less time
    N = [[x * y for y in n] for x in n]
    P = [[1.0 * (i == j) - N[i][j] for j in range(3)] for i in range(3)]
    K = _hat_rows(*n)
    return ops.array([[N[i][j] + c * P[i][j] + s * K[i][j] for j in range(3)] for i in range(3)])


def from_rpy(rpy: ArrayLike) -> Array:
    """Return the rotation (..., 3, 3) of roll, pitch and yaw (..., 3), rad, as URDF has them: R = R_z(yaw) R_y(pitch) R_x(roll).

    About fixed axes that is roll about x, then pitch about y, then yaw about z; about the body's own it is yaw, pitch, roll.

    >>> from_rpy([0.0, 0.0, np.pi / 2]).round(12) @ np.array([1.0, 0.0, 0.0])
    array([0., 1., 0.])
    """
    rpy = shaped("rpy", rpy, 3)
    (sr, sp, sy), (cr, cp, cy) = ([f(rpy[..., i] * 1.0) for i in range(3)] for f in (ops.sin, ops.cos))
    return ops.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                      [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                      [-sp, cp * sr, cp * cr]])  # fmt: skip


def to_rpy(R: ArrayLike) -> Array:
    """Return roll, pitch and yaw (..., 3), rad, of a rotation (..., 3, 3), |pitch| ≤ π/2: what :func:`from_rpy` makes it of.

    At gimbal lock, pitch = ±π/2 (to 1e-15), roll and yaw turn about one line: yaw is then 0, and roll all of the turn. Near it the two
    are as uncertain as the rotation's rounding over cos(pitch), but what they make together is exact. (Turned by yaw back, y and z of
    the body lie at the angle roll: that holds at gimbal lock too, where atan2(R₃₂, R₃₃) does not.)

    >>> to_rpy(from_rpy([0.1, -0.2, 3.0])).round(12)
    array([ 0.1, -0.2,  3. ])
    >>> to_rpy(from_rpy([0.1, np.pi / 2, 0.3])).round(12)
    array([-0.2       ,  1.57079633,  0.        ])
    """
    R = shaped("R", R, 3, 3)
    level = ops.norm(R[..., :2, 0])                                            # cos(pitch)
    locked = level < 1e-15
    yaw = ops.where(locked, 0.0, ops.arctan2(R[..., 1, 0] * 1.0, ops.where(locked, 1.0, R[..., 0, 0])))
    s, c = ops.sin(yaw), ops.cos(yaw)
    roll = ops.arctan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    return ops.array([roll, ops.arctan2(-R[..., 2, 0], level), yaw])


def log(R: ArrayLike) -> Array:
    """Return the rotation vector ω with exp(ω) = R and |ω| ≤ π, accurate from 0 through π; shape (..., 3).

    Raises
    ------
    EngineError : R is no rotation, by :func:`require_rotations`

    >>> from engine.spatial import so3
    >>> so3.log([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6)  # a quarter turn about z
    array([0.      , 0.      , 1.570796])
    """
    R = shaped("R", R, 3, 3)
    require_rotations("R", R)
    return quaternion.log(quaternion.from_matrix(R))


def dexp(w: ArrayLike) -> Array:
    """Return the left Jacobian: d exp(ω) exp(ω)⁻¹ = [dexp(ω) dω], 1 + B [ω] + C [ω]². The right one is dexp(−ω).

    >>> import numpy as np
    >>> from engine.spatial import so3
    >>> so3.dexp([0.0, 0.0, np.pi]).round(6) + 0.0  # sin θ/θ = 0 and (1 − cos θ)/θ = 2/π
    array([[ 0.     , -0.63662,  0.     ],
           [ 0.63662,  0.     ,  0.     ],
           [ 0.     ,  0.     ,  1.     ]])
    """
    w = shaped("w", w, 3)
    _, B, C = coefficients(np.vecdot(w, w))
    return quadratic(w, B, C)


def dexp_inv(w: ArrayLike) -> Array:
    """Return the inverse left Jacobian: 1 − ½ [ω] + D [ω]²; singular at |ω| = 2π, 4π, …

    Raises
    ------
    EngineError : |ω| is a singular one, to its last bits

    >>> from engine.spatial import so3
    >>> w = [0.1, 0.2, 0.3]
    >>> (so3.dexp_inv(w) @ so3.dexp(w)).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    w = shaped("w", w, 3)
    theta2 = np.vecdot(w, w)
    D = inverse_coefficient(theta2)
    if w.dtype != object and (lost := np.asarray(theta2 * abs(D)) > LOST).any():
        raise EngineError(f"dexp has no inverse where |w| is {np.sqrt(np.asarray(theta2)[lost][0]):g}; expected it away from 2π, 4π, …")
    return quadratic(w, -0.5 + 0.0 * D, D)


def require_rotations(what: str, R: Array) -> None:
    """Refuse floats (..., 3, 3) whose R Rᵀ is off 1 by more than 0.01, or with a negative determinant; NaN and traced arrays pass.

    >>> import numpy as np
    >>> from engine.spatial import so3
    >>> so3.require_rotations("R", np.zeros((3, 3)))
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: R is no rotation matrix: R Rᵀ differs from the identity by up to 1; expected at most 0.01
    """
    if R.dtype == object or not R.size:
        return
    with np.errstate(all="ignore"):                                            # of what is NaN or infinite
        off, turned = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), np.linalg.det(R)
    if (off > 1e-2).any():
        most = np.nanmax(off)
        raise EngineError(f"{what} is no rotation matrix: R Rᵀ differs from the identity by up to {most:.3g}; expected at most 0.01")
    if (turned < 0.0).any():
        raise EngineError(f"{what} is a reflection: its determinant is negative; expected a rotation matrix")


def are_rotations(R: ArrayLike) -> bool:
    """Return whether all matrices (..., 3, 3) are rotations.

    >>> import numpy as np
    >>> from engine.spatial import so3
    >>> so3.are_rotations(np.eye(3)), so3.are_rotations(2.0 * np.eye(3))
    (True, False)
    """
    R = shaped("R", R, 3, 3)
    return bool(np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-6) and (np.linalg.det(R) > 0).all())
