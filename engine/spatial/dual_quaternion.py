"""Unit dual quaternions Q = [q | d], shape (..., 8): poses in eight numbers, q + ε d with ε² = 0.

q is the rotation's unit quaternion, Hamilton, scalar first, and d = ½ [0; p] ⊗ q with the position p, in metres; so q·d = 0.
Q and −Q are one pose. Q_AB moves as T_AB does: Q_AC = Q_AB ⊗ Q_BC. Twists are V = [ω; v], rotation first, in body axes: the dual
vector ω + ε v. A function of a dual number is f(a + ε b) = f(a) + ε f′(a) b: :func:`exp` and :func:`cayley` are quaternions' so extended.
Batches ``(..., 8)`` of floats, or unbatched traced arrays; Q is of unit length, but for :func:`normalize`.
References: Study, *Geometrie der Dynamen*, 1903; Kenwright, *A beginner's guide to dual-quaternions*, WSCG 2012; Selig, *Cayley maps for
SE(3)*, IFToMM 2007.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import EngineError, shaped
from engine.spatial import quaternion, se3, so3

Array = np.ndarray


def joined(q: ArrayLike, d: ArrayLike) -> Array:
    """Return [q | d], shape (..., 8), from two batches (..., 4).

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.joined([1.0, 0, 0, 0], [0, 0.5, 0, 0])
    array([1. , 0. , 0. , 0. , 0. , 0.5, 0. , 0. ])
    """
    q, d = shaped("q", q, 4), shaped("d", d, 4)
    return ops.array([*(q[..., i] for i in range(4)), *(d[..., i] for i in range(4))])


def pure(x: ArrayLike) -> Array:
    """Return [0; x], shape (..., 4).

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.pure([1.0, 2.0, 3.0])
    array([0., 1., 2., 3.])
    """
    x = shaped("x", x, 3)
    return ops.array([0.0 * x[..., 0], x[..., 0], x[..., 1], x[..., 2]])


def identity() -> Array:
    """Return [1, 0, 0, 0 | 0, 0, 0, 0].

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.identity()
    array([1., 0., 0., 0., 0., 0., 0., 0.])
    """
    return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def product(P: ArrayLike, Q: ArrayLike) -> Array:
    """Return P ⊗ Q, the motion Q followed by P: [p ⊗ q | p ⊗ d_Q + d_P ⊗ q].

    >>> shift = from_pose_parts(quaternion.identity(), np.array([2.0, 0.0, 0.0]))
    >>> position(product(shift, shift))
    array([4., 0., 0.])
    """
    P, Q = shaped("P", P, 8), shaped("Q", Q, 8)
    p, q = rotation(P), rotation(Q)
    return joined(quaternion.product(p, q), quaternion.product(p, dual(Q)) + quaternion.product(dual(P), q))


def conjugate(Q: ArrayLike) -> Array:
    """Return Q* = [q* | d*], the inverse of a unit dual quaternion.

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.conjugate([1.0, 0, 0, 0, 0, 0.5, 0, 0]) + 0.0  # of 1 m along x: of 1 m back
    array([ 1. ,  0. ,  0. ,  0. ,  0. , -0.5,  0. ,  0. ])
    """
    return joined(quaternion.conjugate(rotation(Q)), quaternion.conjugate(dual(Q)))


def transpose(Q: ArrayLike) -> Array:
    """Return the dual transpose [d | q] (..., 8): the parts change places. It moves a factor across the dot product of eight numbers::

        (P ⊗ Q)·R = Q·(P* ⊗ Rᵀ)ᵀ = P·(Rᵀ ⊗ Q*)ᵀ

    >>> transpose(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
    array([5., 6., 7., 8., 1., 2., 3., 4.])
    """
    return joined(dual(Q), rotation(Q))


def normalize(Q: ArrayLike) -> Array:
    """Return Q / |Q|, with q of unit length and d orthogonal to it, shape (..., 8); |Q| = |q| + ε q·d/|q|. A q of zero gives NaN.

    >>> normalize(np.array([2.0, 0.0, 0.0, 0.0, 6.0, 4.0, 0.0, 0.0]))
    array([1., 0., 0., 0., 0., 2., 0., 0.])
    """
    r = 1.0 / ops.norm(rotation(Q))
    q, d = (ops.array([x[..., i] * r for i in range(4)]) for x in (rotation(Q), dual(Q)))
    along = np.vecdot(q, d)
    return joined(q, ops.array([d[..., i] - along * q[..., i] for i in range(4)]))


# ---------------------------------------------------------------- poses


def from_pose_parts(q: ArrayLike, p: ArrayLike) -> Array:
    """Return Q (..., 8) from a unit quaternion (..., 4) and a position (..., 3) in metres: d = ½ [0; p] ⊗ q.

    >>> from_pose_parts(np.array([0.0, 0.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([ 0.,  0.,  0.,  1.,  0.,  0., -1.,  0.])
    """
    q, p = shaped("q", q, 4), shaped("p", p, 3)
    return joined(q, 0.5 * quaternion.product(pure(p), q))


def rotation(Q: ArrayLike) -> Array:
    """Return q, the real part, shape (..., 4).

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.rotation([1.0, 0, 0, 0, 0, 0.5, 0, 0])
    array([1., 0., 0., 0.])
    """
    Q = shaped("Q", Q, 8)
    return Q[..., :4]


def dual(Q: ArrayLike) -> Array:
    """Return d, the dual part, shape (..., 4).

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.dual([1.0, 0, 0, 0, 0, 0.5, 0, 0])
    array([0. , 0.5, 0. , 0. ])
    """
    Q = shaped("Q", Q, 8)
    return Q[..., 4:]


def position(Q: ArrayLike) -> Array:
    """Return p = 2 vec(d ⊗ q*), shape (..., 3), in metres.

    >>> position(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0]))
    array([2., 0., 0.])
    """
    return 2.0 * quaternion.product(dual(Q), quaternion.conjugate(rotation(Q)))[..., 1:]


def to_matrix(Q: ArrayLike) -> Array:
    """Return T(Q), shape (..., 4, 4).

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.to_matrix([1.0, 0, 0, 0, 0, 0.5, 0, 0])[:3, 3]  # m: twice the dual part
    array([1., 0., 0.])
    """
    return se3.pose(quaternion.to_matrix(rotation(Q)), position(Q))


def from_matrix(T: ArrayLike) -> Array:
    """Return the unit dual quaternion (..., 8) of a pose (..., 4, 4), with qw ≥ 0.

    >>> import numpy as np
    >>> from engine.spatial import dual_quaternion, se3
    >>> dual_quaternion.from_matrix(se3.pose(np.eye(3), [1.0, 0, 0])) + 0.0
    array([1. , 0. , 0. , 0. , 0. , 0.5, 0. , 0. ])
    """
    return from_pose_parts(quaternion.from_matrix(se3.rotation(T)), se3.position(T))


def transform(Q: ArrayLike, x: ArrayLike) -> Array:
    """Return R(q) x + p (..., 3), the point x (..., 3) of the child frame seen from the parent's: x_A = T_AB x_B.

    >>> transform(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    array([1., 0., 0.])
    """
    return quaternion.rotate(rotation(Q), x) + position(Q)


# ---------------------------------------------------------------- twists


def exp(V: ArrayLike) -> Array:
    """Return Q (..., 8) of the motion by the constant body twist V = [ω; v] (..., 6) in unit time, se3.exp: exp(½ (ω + ε v)).

    With the Stumpff functions c_k of θ²/4, c1′ = ½ (c3 − c2), and the dual square θ² + 2 ε ω·v:
    q = [c0, ½ c1 ω] and d = [−¼ c1 ω·v, ½ c1 v + ⅛ (c3 − c2) (ω·v) ω].

    >>> position(exp(np.array([0.0, 0.0, np.pi, 0.0, np.pi, 1.0]))).round(12)[::2]
    array([-2.,  1.])
    """
    V = shaped("V", V, 6)
    w, v = V[..., :3], V[..., 3:]
    pitch = np.vecdot(w, v)
    c0, c1, c2, c3 = ops.stumpff(0.25 * np.vecdot(w, w))
    S, k = 0.5 * c1, 0.125 * (c3 - c2) * pitch
    q = [c0, *(S * w[..., i] for i in range(3))]
    d = [-0.5 * S * pitch, *(S * v[..., i] + k * w[..., i] for i in range(3))]
    return ops.array([*q, *d])


def log(Q: ArrayLike) -> Array:
    """Return the twist V = [ω; v] (..., 6) with exp(V) = ±Q and |ω| ≤ π: ω = log q, v = dexp⁻¹(ω) p.

    >>> from engine.spatial import dual_quaternion
    >>> dual_quaternion.log([1.0, 0, 0, 0, 0, 0.5, 0, 0])  # 1 m along x
    array([0., 0., 0., 1., 0., 0.])
    """
    w = quaternion.log(rotation(Q))
    return np.concatenate([w, np.matvec(so3.dexp_inv(w), position(Q))], axis=-1)


class Screw(NamedTuple):
    """A motion as one screw (Chasles): a turn about a line, and a shift along it.

    >>> from engine.spatial import dual_quaternion
    >>> screw = dual_quaternion.to_screw([1.0, 0, 0, 0, 0, 0.5, 0, 0])  # 1 m along x, without a turn
    >>> print(screw.angle, screw.shift, screw.axis)
    0.0 1.0 [1. 0. 0.]
    """

    angle: Array                                         # θ, rad (...)
    axis: Array                                          # l, the line's direction, a unit vector (..., 3)
    shift: Array                                         # d, along the line, m (...)
    moment: Array                                        # m = c × l, m (..., 3), of any point c of the line


def to_screw(Q: ArrayLike) -> Screw:
    """Return the screw (θ, l, d, m) of a motion: ±Q = cos ½(θ + ε d) + sin ½(θ + ε d) (l + ε m), with 0 ≤ θ ≤ π.

    A motion that does not turn is a shift d ≥ 0 along l, with m = 0; the identity's l is [0, 0, 1]. The line passes through l × m.
    Of V = log(Q) = [ω; v]: θ = abs(ω), l = ω/θ, d = l·v and m = (l × v) × l/θ.

    >>> s = to_screw(from_pose_parts(np.array([0.0, 0.0, 0.0, 1.0]), np.array([2.0, 0.0, 3.0])))   # half a turn about a line at x = 1
    >>> float(s.angle), s.axis, float(s.shift), np.cross(s.axis, s.moment).round(12) + 0.0
    (3.141592653589793, array([0., 0., 1.]), 3.0, array([1., 0., 0.]))

    Reference: Daniilidis, *Hand-eye calibration using dual quaternions*, International Journal of Robotics Research 18, 1999.
    """
    V = log(Q)
    w, v = V[..., :3], V[..., 3:]
    angle = ops.norm(w)
    turns = angle > 0.0
    a = [ops.where(turns, w[..., i], v[..., i]) for i in range(3)]
    n = ops.norm(ops.array(a))
    moves = n > 0.0
    l = ops.array([ops.where(moves, x / ops.where(moves, n, 1.0), e) for x, e in zip(a, (0.0, 0.0, 1.0), strict=True)])
    d = np.vecdot(l, v)
    across = ops.cross(ops.cross(l, v), l)
    m = [ops.where(turns, across[..., i] / ops.where(turns, angle, 1.0), 0.0) for i in range(3)]
    return Screw(angle, l, d, ops.array(m))


def from_screw(angle: ArrayLike, axis: ArrayLike, shift: ArrayLike = 0.0, moment: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return Q (..., 8) of a turn by θ (...), rad, about the line of an axis l and a moment m = c × l (..., 3), and a shift d (...) along
    it, in metres: exp([θ l; θ m + d l]). Raise EngineError where l is no unit vector, or m is not across it.

    >>> c = np.array([1.0, 0.0, 0.0])                                          # a point of the line
    >>> position(from_screw(np.pi, [0, 0, 1], 3.0, np.cross(c, [0, 0, 1]))).round(12) + 0.0
    array([2., 0., 3.])
    """
    angle, l, shift, m = shaped("angle", angle), shaped("axis", axis, 3), shaped("shift", shift), shaped("moment", moment, 3)
    if l.dtype != object and not (np.abs(np.vecdot(l, l) - 1.0) <= 1e-6).all():
        raise EngineError(f"axis has length {np.linalg.norm(l, axis=-1)}; expected a unit vector")
    if l.dtype != object and m.dtype != object and not (np.abs(np.vecdot(l, m)) <= 1e-6 * (1.0 + np.abs(m).sum(axis=-1))).all():
        raise EngineError(f"moment · axis is {np.vecdot(l, m)}; expected 0: the moment is c × axis, with a point c of the line")
    w = [angle * l[..., i] for i in range(3)]
    return exp(ops.array([*w, *(angle * m[..., i] + shift * l[..., i] for i in range(3))]))


def sclerp(Q0: ArrayLike, Q1: ArrayLike, s: Any) -> Array:
    """Return the screw linear interpolation Q0 ⊗ exp(s log(Q0* ⊗ Q1)) (..., 8): from Q0 at s = 0 to Q1 (or −Q1) at s = 1.

    The motion is one screw, at an even rate and by the shorter way round; frames other than the parent's and child's see the same motion.
    At half a turn between them both ways are as short, and log's choice is taken. s (...) may lie outside of 0 … 1.

    Reference: Kavan et al., *Skinning with dual quaternions*, I3D 2007; Shoemake's slerp, of dual numbers.

    >>> half = from_pose_parts(quaternion.exp(np.array([0.0, 0.0, np.pi / 2])), np.array([2.0, 0.0, 0.0]))
    >>> position(sclerp(identity(), half, 0.5)).round(12)                      # about (1, 1): a quarter turn's half
    array([ 1.        , -0.41421356,  0.        ])
    """
    Q0, s = shaped("Q0", Q0, 8), shaped("s", s)
    V = log(product(conjugate(Q0), Q1))
    return product(Q0, exp(s[..., None] * V))


def cayley(V: ArrayLike) -> Array:
    """Return Q (..., 8) of the dual Cayley map of V = [ω; v] (..., 6): (1 + ½ (ω + ε v))/|…|. Ad(Q) = (1 − ½ ad V)⁻¹ (1 + ½ ad V).

    The length is s + ε ω·v/(4 s) with s² = 1 + ¼ ω·ω. A rotation of θ has |ω| = 2 tan θ/2; half a turn is not reached.

    >>> cayley(np.array([0.0, 0.0, 1.5, 0.0, 0.0, 2.5]))
    array([ 0.8 ,  0.  ,  0.  ,  0.6 , -0.48,  0.  ,  0.  ,  0.64])
    """
    V = shaped("V", V, 6)
    w, v = V[..., :3], V[..., 3:]
    r = 1.0 / ops.sqrt(1.0 + 0.25 * np.vecdot(w, w))                           # 1/s
    k = 0.25 * np.vecdot(w, v) * r * r * r                                     # 1/(s + ε ω·v/(4 s)) = r − ε k
    q = [r, *(0.5 * r * w[..., i] for i in range(3))]
    d = [-k, *(0.5 * (r * v[..., i] - k * w[..., i]) for i in range(3))]
    return ops.array([*q, *d])


def rate(Q: ArrayLike, V: ArrayLike) -> Array:
    """Return Q̇ = ½ Q ⊗ [0, ω | 0, v] (..., 8) for the body twist V = [ω; v] (..., 6), rad/s and m/s.

    >>> rate(identity(), np.array([0.0, 0.0, 2.0, 4.0, 0.0, 0.0]))
    array([0., 0., 0., 1., 0., 2., 0., 0.])
    """
    Q, V = shaped("Q", Q, 8), shaped("V", V, 6)
    return 0.5 * product(Q, joined(pure(V[..., :3]), pure(V[..., 3:])))
