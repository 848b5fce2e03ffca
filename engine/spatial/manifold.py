"""Configuration manifolds: groups of motions with their ⊕ and ⊖, and products of them.

A point q has ``nq`` coordinates, and its velocity v ``nv`` entries in the point's own (body) axes: q moves along a constant v to
q ⊕ t v = q · exp(t v). Integrators and models know nothing else of a configuration. All functions take batches ``(..., nq)`` and
``(..., nv)`` of floats, or unbatched traced arrays, and unit quaternions.

References: Iserles, Munthe-Kaas, Nørsett & Zanna, *Lie-group methods*, Acta Numerica 2000; Solà, Deray & Atchuthan, *A micro Lie
theory for state estimation in robotics*, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.spatial import quaternion, se3, so3

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Manifold:
    """A group, by what can be done on it.

    Attributes
    ----------
    neutral() : the identity (nq)
    plus(q, d) : q ⊕ d = q · exp(d), (nq)
    minus(q0, q1) : q1 ⊖ q0 (nv), from q0 to q1: the shortest d with q0 ⊕ d = q1
    cayley(q, d) : q · cay(d), (nq), which agrees with q ⊕ d to the second order in d, without sines and cosines; for a rotation by θ
        about n, d is 2 tan(θ/2) n
    bracket(a, b) : Lie bracket of two velocities, (nv)
    dexp_inv(d, v) : the rate ḋ = dexp(−d)⁻¹ v (nv) at which d changes where q0 ⊕ d moves with the velocity v in its own axes, q0 at rest
        (left-trivialised: exp(d)⁻¹ d/dt exp(d) = dexp(−d) ḋ, with dexp the left Jacobian, as in so3 and se3)
    rate(q, v) : q̇ (nq), the rate of the coordinates where q moves with the velocity v
    normalized(q) : q with unit quaternions
    random(rng) : a point; attitudes are uniform, the rest of order one
    factors : what a product is made of: (manifold, where its coordinates lie in q, where its velocities lie in v)
    origin : where pickle finds it: its name in this module, or (function, arguments) that make it again

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> plane = manifold.vector(2)
    >>> plane.plus(np.zeros(2), np.ones(2)), manifold.ROTATION.nq, manifold.ROTATION.nv
    (array([1., 1.]), 4, 3)
    """

    name: str
    nq: int
    nv: int
    neutral: Callable[[], Array]
    plus: Callable[[Array, Array], Array]
    minus: Callable[[Array, Array], Array]
    cayley: Callable[[Array, Array], Array]
    bracket: Callable[[Array, Array], Array]
    dexp_inv: Callable[[Array, Array], Array]
    rate: Callable[[Array, Array], Array]
    normalized: Callable[[Array], Array]
    random: Callable[[np.random.Generator], Array]
    attitude: bool = False  # q begins with a unit quaternion
    factors: tuple[tuple[Manifold, slice, slice], ...] = ()
    origin: str | tuple[Callable[..., Manifold], tuple[Any, ...]] = ""

    def __reduce__(self) -> Any:
        return self.origin

    @property
    def parts(self) -> tuple[tuple[Manifold, slice, slice], ...]:
        """Return its factors; of one that is no product, itself."""
        return self.factors or ((self, slice(0, self.nq), slice(0, self.nv)),)

    @property
    def flat(self) -> bool:
        """Return whether it is a vector space."""
        return self.name == f"R{self.nv}"

    def __repr__(self) -> str:
        return f"<manifold {self.name}, nq {self.nq}, nv {self.nv}>"


# ---------------------------------------------------------------- vectors


def vector(n: int) -> Manifold:
    """Return Rⁿ under addition.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.vector(2).plus(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    array([1.5, 2. ])
    """
    return Manifold(f"R{n}", n, n, lambda: np.zeros(n), lambda q, d: q + d, lambda q0, q1: q1 - q0, lambda q, d: q + d,
                    lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape)),
                    lambda d, v: np.broadcast_to(v, np.broadcast_shapes(d.shape, v.shape)),
                    lambda q, v: np.broadcast_to(v, np.broadcast_shapes(q.shape, v.shape)), lambda q: q,
                    lambda rng: rng.standard_normal(n), origin=(vector, (n,)))  # fmt: skip


# ---------------------------------------------------------------- rotations: q the unit quaternion body → world, v = ω in the body


def rotation_plus(q: Array, d: Array) -> Array:
    """Return q ⊗ exp(d).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.rotation_plus(np.array([1.0, 0, 0, 0]), np.array([np.pi, 0, 0])).round(6)
    array([0., 1., 0., 0.])
    """
    return quaternion.product(q, quaternion.exp(d))


def rotation_minus(q0: Array, q1: Array) -> Array:
    """Return log(q0* ⊗ q1).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.rotation_minus(np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])).round(6)  # π about x
    array([3.141593, 0.      , 0.      ])
    """
    return quaternion.log(quaternion.product(quaternion.conjugate(q0), q1))


def rotation_cayley(q: Array, d: Array) -> Array:
    """Return q ⊗ cay(d) = q ⊗ [1, d/2]/√(1 + d²/4).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.rotation_cayley(np.array([1.0, 0, 0, 0]), np.array([2.0, 0, 0])).round(6)  # 2 tan(θ/2) = 2: a quarter turn
    array([0.707107, 0.707107, 0.      , 0.      ])
    """
    r = 1.0 / ops.sqrt(1.0 + 0.25 * np.vecdot(d, d))
    return quaternion.product(q, ops.array([r, *(0.5 * r * d[..., i] for i in range(3))]))


def rotation_dexp_inv(d: Array, v: Array) -> Array:
    """Return dexp(−d)⁻¹ ω.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.rotation_dexp_inv(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return np.matvec(so3.dexp_inv(-d), v)


ROTATION = Manifold("SO(3)", 4, 3, quaternion.identity, rotation_plus, rotation_minus, rotation_cayley, ops.cross,
                    rotation_dexp_inv, quaternion.rate, quaternion.normalize, quaternion.random, attitude=True,
                    origin="ROTATION")  # fmt: skip

# ---------------------------------------------------------------- rigid motions: q = [quaternion, p], v = [ω, v] in the body


def compose_motion(q: Array, r: Array, p: Array) -> Array:
    """Return [r, p_q + R(q) p]: the motion q followed by one to the position p, with r the attitude after both.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.compose_motion(np.array([1.0, 0, 0, 0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), np.array([0, 2.0, 0]))
    array([1., 0., 0., 0., 1., 2., 0.])
    """
    return np.concatenate([r, q[..., 4:] + quaternion.rotate(q[..., :4], p)], axis=-1)


def motion_plus(q: Array, d: Array) -> Array:
    """Return T exp([d]).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_plus(np.array([1.0, 0, 0, 0, 1, 0, 0]), np.array([0, 0, 0, 0, 2.0, 0]))
    array([1., 0., 0., 0., 1., 2., 0.])
    """
    w, v = d[..., :3], d[..., 3:]
    B, C = so3.doubled(np.vecdot(w, w))
    u = ops.cross(w, v)
    n = ops.cross(w, u)
    p = ops.array([v[..., i] + B * u[..., i] + C * n[..., i] for i in range(3)])                   # dexp(ω) v
    return compose_motion(q, rotation_plus(q[..., :4], w), p)


def motion_minus(q0: Array, q1: Array) -> Array:
    """Return log(T0⁻¹ T1).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_minus(np.array([1.0, 0, 0, 0, 1, 0, 0]), np.array([1.0, 0, 0, 0, 1, 2, 0])) + 0.0
    array([0., 0., 0., 0., 2., 0.])
    """
    w = rotation_minus(q0[..., :4], q1[..., :4])
    p = quaternion.rotate(quaternion.conjugate(q0[..., :4]), q1[..., 4:] - q0[..., 4:])
    return np.concatenate([w, np.matvec(so3.dexp_inv(w), p)], axis=-1)


def motion_cayley(q: Array, d: Array) -> Array:
    """Return T · cay(d) with Cayley's map of dual quaternions, for which Ad(cay d) = (1 − ½ ad d)⁻¹ (1 + ½ ad d).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_cayley(np.array([1.0, 0, 0, 0, 1, 0, 0]), np.array([0, 0, 0, 0, 2.0, 0]))
    array([1., 0., 0., 0., 1., 2., 0.])
    """
    w, v = d[..., :3], d[..., 3:]
    s = 1.0 / (1.0 + 0.25 * np.vecdot(w, w))
    u = ops.cross(w, v)
    p = ops.array([s * (v[..., i] + 0.5 * u[..., i]) for i in range(3)])
    return compose_motion(q, rotation_cayley(q[..., :4], w), p)


def motion_bracket(a: Array, b: Array) -> Array:
    """Return ad(a) b.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_bracket(np.array([0, 0, 1.0, 0, 0, 0]), np.array([0, 0, 0, 1.0, 0, 0])) + 0.0
    array([0., 0., 0., 0., 1., 0.])
    """
    (wa, va), (wb, vb) = ((x[..., :3], x[..., 3:]) for x in (a, b))
    return np.concatenate([ops.cross(wa, wb), ops.cross(va, wb) + ops.cross(wa, vb)], axis=-1)


def motion_dexp_inv(d: Array, v: Array) -> Array:
    """Return dexp(−d)⁻¹ V.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_dexp_inv(np.zeros(6), np.arange(6.0))
    array([0., 1., 2., 3., 4., 5.])
    """
    return np.matvec(se3.dexp_inv(-d), v)


def motion_rate(q: Array, v: Array) -> Array:
    """Return [½ q ⊗ [0; ω], R(q) v].

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_rate(np.array([1.0, 0, 0, 0, 0, 0, 0]), np.array([0, 0, 2.0, 1.0, 0, 0])) + 0.0
    array([0., 0., 0., 1., 1., 0., 0.])
    """
    return np.concatenate([quaternion.rate(q[..., :4], v[..., :3]), quaternion.rotate(q[..., :4], v[..., 3:])], axis=-1)


def motion_normalized(q: Array) -> Array:
    """Return q with a unit quaternion.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.motion_normalized(np.array([2.0, 0, 0, 0, 1, 2, 3]))
    array([1., 0., 0., 0., 1., 2., 3.])
    """
    return np.concatenate([quaternion.normalize(q[..., :4]), q[..., 4:]], axis=-1)


MOTION = Manifold("SE(3)", 7, 6, lambda: np.append(quaternion.identity(), np.zeros(3)), motion_plus, motion_minus, motion_cayley,
                  motion_bracket, motion_dexp_inv, motion_rate, motion_normalized,
                  lambda rng: np.append(quaternion.random(rng), rng.uniform(-1, 1, 3)), attitude=True, origin="MOTION")  # fmt: skip

# ---------------------------------------------------------------- motions of a plane: q = [x y θ], v = [vx vy ω] in the body


def plane_moved(q: Array, dx: Array, dy: Array, turn: Array) -> Array:
    """Return [x, y] + R(θ) [dx, dy], θ + turn.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_moved(np.array([1.0, 0, np.pi / 2]), 2.0, 0.0, 0.5).round(4)  # forwards is along y
    array([1.    , 2.    , 2.0708])
    """
    c, s = ops.cos(q[..., 2] * 1.0), ops.sin(q[..., 2] * 1.0)
    return ops.array([q[..., 0] + c * dx - s * dy, q[..., 1] + s * dx + c * dy, q[..., 2] + turn])


def plane_plus(q: Array, d: Array) -> Array:
    """Return q · exp(d) of SE(2).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_plus(np.zeros(3), np.array([np.pi, 0, np.pi])).round(4) + 0.0  # half a circle of radius 1 m
    array([0.    , 2.    , 3.1416])
    """
    vx, vy, w = (d[..., i] for i in range(3))
    A, B, _ = so3.coefficients(w * w)
    return plane_moved(q, A * vx - w * B * vy, w * B * vx + A * vy, w)                             # ∫ R(w t) (vx, vy) dt


def plane_minus(q0: Array, q1: Array) -> Array:
    """Return the d with q0 · exp(d) = q1; angles are not wrapped, and where they differ by 2π, 4π, … there is none.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_minus(np.zeros(3), np.array([0, 2.0, np.pi])).round(4) + 0.0
    array([3.1416, 0.    , 3.1416])
    """
    d = q1 - q0
    c, s = ops.cos(q0[..., 2] * 1.0), ops.sin(q0[..., 2] * 1.0)
    w = d[..., 2]
    dx, dy = c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0]
    A, B, _ = so3.coefficients(w * w)
    k = 1.0 / (A * A + w * w * B * B)                                                              # of [[A, −wB], [wB, A]]
    return ops.array([k * (A * dx + w * B * dy), k * (A * dy - w * B * dx), w * 1.0])


def plane_cayley(q: Array, d: Array) -> Array:
    """Return q · cay(d) of SE(2).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_cayley(np.zeros(3), np.array([1.0, 2.0, 0.0]))
    array([1., 2., 0.])
    """
    vx, vy, w = (d[..., i] for i in range(3))
    s = 1.0 / (1.0 + 0.25 * w * w)
    return plane_moved(q, s * (vx - 0.5 * w * vy), s * (vy + 0.5 * w * vx), 2.0 * ops.arctan(0.5 * w))


def spatial_of(d: Array) -> Array:
    """Return the twist [0 0 ω, vx vy 0] of a planar velocity.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.spatial_of(np.array([1.0, 2.0, 3.0]))
    array([0., 0., 3., 1., 2., 0.])
    """
    o = 0.0 * d[..., 0]
    return ops.array([o, o, d[..., 2], d[..., 0], d[..., 1], o])


def plane_bracket(a: Array, b: Array) -> Array:
    """Return the bracket of the spatial twists.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_bracket(np.array([0, 0, 1.0]), np.array([1.0, 0, 0])) + 0.0
    array([0., 1., 0.])
    """
    c = motion_bracket(spatial_of(a), spatial_of(b))
    return ops.array([c[..., 3], c[..., 4], c[..., 2]])


def plane_dexp_inv(d: Array, v: Array) -> Array:
    """Return dexp(−d)⁻¹ v of the spatial twists.

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_dexp_inv(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    r = motion_dexp_inv(spatial_of(d), spatial_of(v))
    return ops.array([r[..., 3], r[..., 4], r[..., 2]])


def plane_rate(q: Array, v: Array) -> Array:
    """Return [R(θ) (vx, vy), ω].

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> manifold.plane_rate(np.array([0, 0, np.pi / 2]), np.array([1.0, 0, 0.5])).round(6)
    array([0. , 1. , 0.5])
    """
    c, s = ops.cos(q[..., 2] * 1.0), ops.sin(q[..., 2] * 1.0)
    return ops.array([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]])


PLANE = Manifold("SE(2)", 3, 3, lambda: np.zeros(3), plane_plus, plane_minus, plane_cayley, plane_bracket, plane_dexp_inv,
                 plane_rate, lambda q: q, lambda rng: np.append(rng.uniform(-1, 1, 2), rng.uniform(-np.pi, np.pi)),
                 origin="PLANE")  # fmt: skip


# ---------------------------------------------------------------- curves


def hermite(s: Array, h: Array, y0: Array, y1: Array, d0: Array, d1: Array) -> Array:
    """Return the cubic with values y0, y1 (..., K, n) and rates d0, d1 at the ends of steps h (K), at s in [0, 1] (K).

    >>> import numpy as np
    >>> from engine.spatial import manifold
    >>> zero, one = np.zeros((1, 1)), np.ones((1, 1))
    >>> manifold.hermite(np.array([0.5]), np.ones(1), zero, one, zero, zero)  # from rest to rest: half the way
    array([[0.5]])
    """
    s, h = s[:, None], h[:, None]
    return y0 + s * s * (3 - 2 * s) * (y1 - y0) + h * s * (1 - s) * ((1 - s) * d0 - s * d1)


# ---------------------------------------------------------------- products


def product(manifolds: Sequence[Manifold]) -> Manifold:
    """Return several manifolds side by side: coordinates and velocities in their order; vectors that follow each other are one.

    >>> m = product([ROTATION, vector(2), vector(1)])
    >>> m.nq, m.nv, [f.name for f, _, _ in m.factors]
    (7, 6, ['SO(3)', 'R3'])
    """
    merged: list[Manifold] = []
    for m in manifolds:
        for f, _, _ in m.parts:
            if f.flat and merged and merged[-1].flat:
                merged[-1] = vector(merged[-1].nv + f.nv)
            elif f.nq:
                merged.append(f)
    if not merged:
        return vector(0)
    nq = nv = 0
    factors: list[tuple[Manifold, slice, slice]] = []
    for m in merged:
        factors.append((m, slice(nq, nq + m.nq), slice(nv, nv + m.nv)))
        nq, nv = nq + m.nq, nv + m.nv

    def joined(parts: list[Array]) -> Array:
        if all(p.ndim == 1 for p in parts):                                    # nearly always
            return np.concatenate(parts)
        batch = np.broadcast_shapes(*[p.shape[:-1] for p in parts])
        return np.concatenate([np.broadcast_to(p, batch + p.shape[-1:]) for p in parts], axis=-1)

    def plus(q: Array, d: Array) -> Array:
        return joined([m.plus(q[..., i], d[..., j]) for m, i, j in factors])

    def minus(q0: Array, q1: Array) -> Array:
        return joined([m.minus(q0[..., i], q1[..., i]) for m, i, _ in factors])

    def cayley(q: Array, d: Array) -> Array:
        return joined([m.cayley(q[..., i], d[..., j]) for m, i, j in factors])

    def bracket(a: Array, b: Array) -> Array:
        return joined([m.bracket(a[..., j], b[..., j]) for m, _, j in factors])

    def dexp_inv(d: Array, v: Array) -> Array:
        return joined([m.dexp_inv(d[..., j], v[..., j]) for m, _, j in factors])

    def rate(q: Array, v: Array) -> Array:
        return joined([m.rate(q[..., i], v[..., j]) for m, i, j in factors])

    def normalized(q: Array) -> Array:
        return joined([m.normalized(q[..., i]) for m, i, _ in factors])

    return Manifold(" × ".join(m.name for m in merged), nq, nv, lambda: joined([m.neutral() for m, _, _ in factors]),
                    plus, minus, cayley, bracket, dexp_inv, rate, normalized, lambda rng: joined([m.random(rng) for m, _, _ in factors]),
                    factors=tuple(factors), origin=(product, (merged,)))  # fmt: skip
