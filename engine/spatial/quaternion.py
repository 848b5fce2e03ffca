"""Unit quaternions q = [qw, qx, qy, qz]: Hamilton, scalar first, body → world.

Batches ``(..., 4)`` of floats, or unbatched traced arrays. q and −q are one rotation.
Reference: Solà, *Quaternion kinematics for the error-state Kalman filter*, 2017, §1–4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import shaped

Array = np.ndarray


def identity() -> Array:
    """Return [1, 0, 0, 0].

    >>> from engine.spatial import quaternion
    >>> quaternion.identity()
    array([1., 0., 0., 0.])
    """
    return np.array([1.0, 0.0, 0.0, 0.0])


def product(p: ArrayLike, q: ArrayLike) -> Array:
    """Return p ⊗ q, the rotation q followed by p.

    >>> product(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 0.0]))
    array([0., 0., 0., 1.])
    """
    p, q = shaped("p", p, 4), shaped("q", q, 4)
    pw, px, py, pz = (p[..., i] for i in range(4))
    qw, qx, qy, qz = (q[..., i] for i in range(4))
    return ops.array([pw * qw - px * qx - py * qy - pz * qz,
                      pw * qx + px * qw + py * qz - pz * qy,
                      pw * qy - px * qz + py * qw + pz * qx,
                      pw * qz + px * qy - py * qx + pz * qw])  # fmt: skip


def conjugate(q: ArrayLike) -> Array:
    """Return q* = [qw, −qx, −qy, −qz], the inverse of a unit quaternion.

    >>> from engine.spatial import quaternion
    >>> quaternion.conjugate([0.6, 0.8, 0.0, 0.0]) + 0.0
    array([ 0.6, -0.8,  0. ,  0. ])
    """
    q = shaped("q", q, 4)
    return ops.array([q[..., 0], -q[..., 1], -q[..., 2], -q[..., 3]])


def normalize(q: ArrayLike) -> Array:
    """Return q / |q|.

    >>> from engine.spatial import quaternion
    >>> quaternion.normalize([3.0, 4.0, 0.0, 0.0])
    array([0.6, 0.8, 0. , 0. ])
    """
    q = shaped("q", q, 4)
    return q * np.asarray(1.0 / ops.norm(q))[..., None]


def is_unit(q: ArrayLike) -> Any:
    """Return whether |q| is 1 within 2 % (...): one rounded to a digit passes, one of another order or kind hardly does. Traceable.

    >>> bool(is_unit(np.array([0.7, 0.0, 0.7, 0.0]))), bool(is_unit(np.array([1.0, 1.0, 0.0, 0.0])))
    (True, False)
    """
    q = shaped("q", q, 4)
    with np.errstate(over="ignore"):
        return ops.absolute(np.vecdot(q, q) - 1.0) < 0.04


def to_matrix(q: ArrayLike) -> Array:
    """Return R(q), shape (..., 3, 3), for unit q.

    >>> to_matrix(np.array([0.0, 0.0, 0.0, 1.0])).diagonal()
    array([-1., -1.,  1.])
    """
    q = shaped("q", q, 4)
    w, x, y, z = (q[..., i] for i in range(4))
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    xx, yy, zz, xy, yz, zx = x * x2, y * y2, z * z2, x * y2, y * z2, z * x2
    wx, wy, wz = w * x2, w * y2, w * z2
    return ops.array([[1.0 - (yy + zz), xy - wz, zx + wy],
                      [xy + wz, 1.0 - (zz + xx), yz - wx],
                      [zx - wy, yz + wx, 1.0 - (xx + yy)]])  # fmt: skip


def from_matrix(R: ArrayLike) -> Array:
    """Return the unit quaternion of a rotation matrix, with qw ≥ 0.

    4 q qᵀ is linear in R; its column with the largest diagonal entry is q times a number that is never small.

    >>> from engine.spatial import quaternion
    >>> quaternion.from_matrix([[1, 0, 0], [0, -1, 0], [0, 0, -1]]) + 0.0  # half a turn about x
    array([0., 1., 0., 0.])
    """
    R = shaped("R", R, 3, 3)
    r = [[R[..., i, j] for j in range(3)] for i in range(3)]
    d = [1.0 + r[0][0] + r[1][1] + r[2][2], 1.0 + r[0][0] - r[1][1] - r[2][2],
         1.0 - r[0][0] + r[1][1] - r[2][2], 1.0 - r[0][0] - r[1][1] + r[2][2]]  # fmt: skip
    wx, wy, wz = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    xy, yz, zx = r[0][1] + r[1][0], r[1][2] + r[2][1], r[2][0] + r[0][2]
    columns = [[d[0], wx, wy, wz], [wx, d[1], xy, zx], [wy, xy, d[2], yz], [wz, zx, yz, d[3]]]
    best, largest = columns[0], d[0]
    for column, size in zip(columns[1:], d[1:], strict=True):
        larger = largest < size
        best = [ops.where(larger, c, b) for c, b in zip(column, best, strict=True)]
        largest = ops.where(larger, size, largest)
    sign = ops.where(best[0] < 0.0, -1.0, 1.0)
    return normalize(ops.array([sign * b for b in best]))


def half_angle(theta2: Any) -> tuple[Any, Any]:
    """Return cos(θ/2) and sin(θ/2)/θ as smooth functions of θ².

    >>> [float(x) for x in half_angle(0.0)]
    [1.0, 0.5]
    """
    c0, c1, _, _ = ops.stumpff(0.25 * theta2)
    return c0, 0.5 * c1


def exp(w: ArrayLike) -> Array:
    """Return the unit quaternion of the rotation vector ω: [cos θ/2, sin(θ/2) n].

    >>> exp(np.array([0.0, 0.0, 0.0]))
    array([1., 0., 0., 0.])
    """
    w = shaped("w", w, 3)
    c, s = half_angle(np.vecdot(w, w))
    return ops.array([c, s * w[..., 0], s * w[..., 1], s * w[..., 2]])


def log(q: ArrayLike) -> Array:
    """Return the rotation vector ω, |ω| ≤ π, of a unit quaternion: 2 atan2(|v|, w) v/|v|.

    >>> from engine.spatial import quaternion
    >>> quaternion.log([0.0, 1.0, 0.0, 0.0]).round(6)  # π about x
    array([3.141593, 0.      , 0.      ])
    """
    q = shaped("q", q, 4)
    sign = ops.where(q[..., 0] * 1.0 < 0.0, -1.0, 1.0)                        # q and −q are one rotation: the shorter way
    w, v = sign * q[..., 0], q[..., 1:]
    v2 = np.vecdot(v, v)
    small = v2 < 1e-8
    n = ops.sqrt(ops.where(small, 1.0, v2))
    ratio = v2 / ops.where(small, w * w, 1.0)                                 # tan² θ/2
    scale = ops.where(small, 2.0 / ops.where(small, w, 1.0) * (1.0 - ratio * (1 / 3 - ratio * (1 / 5 - ratio / 7))),
                      2.0 * ops.arctan2(n, w) / n) * sign  # fmt: skip
    return ops.array([scale * v[..., i] for i in range(3)])


def rotate(q: ArrayLike, x: ArrayLike) -> Array:
    """Return R(q) x = x + 2 w u × x + 2 u × (u × x), with q = [w, u].

    >>> rotate(np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    array([-1., -2.,  3.])
    """
    q, x = shaped("q", q, 4), shaped("x", x, 3)
    u = q[..., 1:]
    t = 2.0 * ops.cross(u, x)
    r = ops.cross(u, t)
    return ops.array([x[..., i] + q[..., 0] * t[..., i] + r[..., i] for i in range(3)])


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
    """Return rotations uniform over SO(3), shape (*shape, 4).

    >>> import numpy as np
    >>> from engine.spatial import quaternion
    >>> q = quaternion.random(np.random.default_rng(0), (1000,))
    >>> q.shape, bool(np.allclose(np.linalg.norm(q, axis=-1), 1.0))
    ((1000, 4), True)
    """
    q = rng.standard_normal((*shape, 4))
    return normalize(q)


def rate(q: ArrayLike, w: ArrayLike) -> Array:
    """Return q̇ = ½ q ⊗ [0; ω] for a body-frame angular velocity ω.

    >>> from engine.spatial import quaternion
    >>> quaternion.rate([1.0, 0, 0, 0], [0, 0, 2.0]) + 0.0
    array([0., 0., 0., 1.])
    """
    q, w = shaped("q", q, 4), shaped("w", w, 3)
    zero: Any = 0.0 * w[..., 0]
    return 0.5 * product(q, ops.array([zero, w[..., 0], w[..., 1], w[..., 2]]))
