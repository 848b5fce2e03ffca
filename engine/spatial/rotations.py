"""Attitude parametrisations: unit quaternions, Rodrigues parameters (plain and modified), rotation vectors, in one table.

Every row of :data:`ATTITUDES` describes the same rotations, body → world, by ``n`` numbers p. For a rotation by θ about the unit vector n:

| name | p | singular at | from_quaternion gives |
|---|---|---|---|
| quaternion | [cos θ/2, sin(θ/2) n], q and −q alike | nowhere | q as it stands |
| mrp | tan(θ/4) n | θ = 2π, where p is infinite | abs(p) ≤ 1; it jumps at θ = π |
| rodrigues | tan(θ/2) n | θ = π, where p is infinite | all of them |
| rotation_vector | θ n | θ = 2π, where the rate is infinite | abs(p) ≤ π; it jumps at θ = π |

A small rotation is an **error** δ = tan(θ/2) n (3, no unit) on the body's side: p · cay(2δ) is the rotation p, then δ in body axes, so
that δ ≈ ½ ω dt and ṗ = ½ E(p) ω. With E = ∂(p · cay(2δ))/∂δ at δ = 0, the error Jacobian, and c = Eᵀ b for a constant b (n):

- the Hessian of b·(p · cay(2δ)) at δ = 0 is symmetric, H(p, b); RobotDynamics.jl's ``∇errstate_jacobian!``;
- the derivative of E(p · cay(2δ))ᵀ b at δ = 0 is H + [c]: the order of errors matters, δ then ε is (δ + ε + δ × ε)/(1 − δ·ε).

All functions take batches ``(..., n)`` of floats, or unbatched traced arrays. Angles are in radians.
References: Shuster, *A survey of attitude representations*, J. Astronautical Sciences 41, 1993; Jackson, Tracy & Manchester, *Planning with
attitude*, IEEE RA-L 6, 2021.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import shaped
from engine.ops.elementwise import SERIES_BELOW, series
from engine.spatial import quaternion, so3
from engine.spatial.manifold import ROTATION, Manifold

Array = np.ndarray
ONE = np.eye(3)


@dataclass(frozen=True)
class Attitude:
    """A way to write rotations as ``n`` numbers p; a row of :data:`ATTITUDES`.

    >>> mrp = ATTITUDES["mrp"]
    >>> p = mrp.cayley_plus(mrp.neutral(), np.array([0.0, 0.0, 1.0]))          # a quarter turn: tan 22.5° about z
    >>> p.round(4), mrp.to_matrix(p).round(12)[0]
    (array([0.    , 0.    , 0.4142]), array([ 0., -1.,  0.]))
    """

    name: str
    n: int
    neutral: Callable[[], Array]                         # p of no rotation, (n)
    to_quaternion: Callable[[Array], Array]              # unit quaternion (..., 4)
    from_quaternion: Callable[[Array], Array]            # p (..., n) of a unit quaternion (..., 4)
    error_jacobian: Callable[[Array], Array]             # E(p), (..., n, 3)
    error_hessian: Callable[[Array, Array], Array]       # H(p, b), (..., 3, 3)
    normalized: Callable[[Array], Array]                 # quaternion: q/|q|; the others are p as it stands

    @functools.cached_property
    def manifold(self) -> Manifold:
        """Return the rotations in these parameters, with ⊕ by the exponential."""
        if self.name == "quaternion":
            return ROTATION

        def through(move: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
            return lambda p, d: self.from_quaternion(move(self.to_quaternion(p), d))

        return Manifold(f"SO(3) by {self.name}", self.n, 3, self.neutral, through(ROTATION.plus),
                        lambda p0, p1: ROTATION.minus(self.to_quaternion(p0), self.to_quaternion(p1)), through(ROTATION.cayley),
                        ROTATION.bracket, ROTATION.dexp_inv, self.rate, self.normalized, self.random,
                        origin=(_manifold_of, (self.name,)))  # fmt: skip

    def rate(self, p: Array, w: ArrayLike) -> Array:
        """Return ṗ = ½ E(p) ω (..., n), 1/s, for the angular velocity ω (..., 3), rad/s in body axes. A quaternion's length is kept.

        >>> ATTITUDES["mrp"].rate(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0]))
        array([0., 0., 1.])
        """
        w = shaped("w", w, 3)
        return 0.5 * np.matvec(self.error_jacobian(p), w)

    def error_jacobian_rate(self, p: Array, b: ArrayLike) -> Array:
        """Return ∂/∂δ E(p · cay(2δ))ᵀ b at δ = 0 for a constant b (..., n), shape (..., 3, 3): H(p, b) + [E(p)ᵀ b].

        >>> rodrigues = ATTITUDES["rodrigues"]
        >>> rodrigues.error_jacobian_rate(np.zeros(3), np.array([0.0, 0.0, 1.0]))[0]
        array([ 0., -1.,  0.])
        """
        b = shaped("b", b, self.n)
        return self.error_hessian(p, b) + so3.hat(pulled_back(self.error_jacobian(p), b))

    def error_projection(self, p: Array) -> Array:
        """Return ∂(p1 ⊖ p)/∂p1 at p1 = p, (3, n), for the error ⊖ of :meth:`cayley_minus`: an inverse of E(p) from the left; unbatched."""
        E = self.error_jacobian(p)
        return E.T if self.n == 4 else inverse(E)

    def to_matrix(self, p: Array) -> Array:
        """Return R(p), body → world, shape (..., 3, 3)."""
        return quaternion.to_matrix(self.to_quaternion(p))

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        """Return p of rotations uniform over SO(3), shape (*shape, n)."""
        return self.from_quaternion(quaternion.random(rng, shape))

    def cayley_plus(self, p: Array, delta: ArrayLike) -> Array:
        """Return p · cay(2δ) (..., n): the rotation p, then the error δ = tan(θ/2) n (..., 3) in body axes."""
        delta = shaped("delta", delta, 3)
        return self.from_quaternion(quaternion.product(self.to_quaternion(p), rodrigues_to_quaternion(delta)))

    def cayley_minus(self, p0: Array, p1: Array) -> Array:
        """Return the error δ (..., 3) from p0 to p1, cayley_plus(p0, δ) = p1; infinite where they are half a turn apart.

        >>> vector = ATTITUDES["rotation_vector"]
        >>> vector.cayley_minus(vector.neutral(), np.array([0.0, 0.0, np.pi / 2])).round(12)
        array([0., 0., 1.])
        """
        return rodrigues_from_quaternion(quaternion.product(quaternion.conjugate(self.to_quaternion(p0)), self.to_quaternion(p1)))


def _manifold_of(name: str) -> Manifold:
    """Return the rotations in the parameters of that name."""
    return ATTITUDES[name].manifold


# ---------------------------------------------------------------- what the rows share


def pulled_back(E: Array, b: Array) -> Array:
    """Return Eᵀ b, shape (..., 3).

    >>> import numpy as np
    >>> from engine.spatial import rotations
    >>> rotations.pulled_back(np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]]), np.array([5.0, 6.0, 7.0]))
    array([0., 5., 0.])
    """
    return np.matvec(np.swapaxes(E, -1, -2), b)


def inverse(E: Array) -> Array:
    """Return the inverse of a 3×3 matrix by cofactors.

    >>> import numpy as np
    >>> from engine.spatial import rotations
    >>> rotations.inverse(np.diag([1.0, 2.0, 4.0])) + 0.0
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.5 , 0.  ],
           [0.  , 0.  , 0.25]])
    """
    (a, b, c), (d, e, f), (g, h, i) = E
    adjugate = [[e * i - f * h, c * h - b * i, b * f - c * e],
                [f * g - d * i, a * i - c * g, c * d - a * f],
                [d * h - e * g, b * g - a * h, a * e - b * d]]  # fmt: skip
    determinant = a * adjugate[0][0] + b * adjugate[1][0] + c * adjugate[2][0]
    return np.array([[x / determinant for x in row] for row in adjugate])


def outer(a: Array, b: Array) -> Array:
    """Return a bᵀ, shape (..., 3, 3).

    >>> import numpy as np
    >>> from engine.spatial import rotations
    >>> rotations.outer(np.array([1.0, 2.0, 0.0]), np.array([3.0, 0.0, 0.0]))
    array([[3., 0., 0.],
           [6., 0., 0.],
           [0., 0., 0.]])
    """
    return a[..., :, None] * b[..., None, :]


def times(a: Any, M: Array) -> Array:
    """Return a M for a scalar (...) and a matrix (..., 3, 3).

    >>> import numpy as np
    >>> from engine.spatial import rotations
    >>> rotations.times(2.0, np.eye(3))
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    return np.asarray(a)[..., None, None] * M


def zero() -> Array:
    """Return [0, 0, 0].

    >>> from engine.spatial import rotations
    >>> rotations.zero()
    array([0., 0., 0.])
    """
    return np.zeros(3)


def unchanged(p: Array) -> Array:
    """Return p as it stands.

    >>> import numpy as np
    >>> from engine.spatial import rotations
    >>> rotations.unchanged(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return p


# ---------------------------------------------------------------- unit quaternions


def quaternion_jacobian(q: ArrayLike) -> Array:
    """Return the last three columns of L(q), q ⊗ x = L(q) x.

    >>> from engine.spatial import rotations
    >>> rotations.quaternion_jacobian([1.0, 0, 0, 0]) + 0.0
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    q = shaped("q", q, 4)
    w, x, y, z = (q[..., i] for i in range(4))
    return ops.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def quaternion_hessian(q: ArrayLike, b: ArrayLike) -> Array:
    """Return −(q·b) 1.

    >>> from engine.spatial import rotations
    >>> rotations.quaternion_hessian([1.0, 0, 0, 0], [2.0, 0, 0, 0]) + 0.0
    array([[-2.,  0.,  0.],
           [ 0., -2.,  0.],
           [ 0.,  0., -2.]])
    """
    q, b = shaped("q", q, 4), shaped("b", b, 4)
    return times(-np.vecdot(q, b), ONE)


# ---------------------------------------------------------------- modified Rodrigues parameters p = tan(θ/4) n


def mrp_to_quaternion(p: ArrayLike) -> Array:
    """Return [1 − p², 2 p]/(1 + p²).

    >>> from engine.spatial import rotations
    >>> rotations.mrp_to_quaternion([1.0, 0, 0])  # tan(θ/4) = 1: half a turn about x
    array([0., 1., 0., 0.])
    """
    p = shaped("p", p, 3)
    p2 = np.vecdot(p, p)
    r = 1.0 / (1.0 + p2)
    return ops.array([(1.0 - p2) * r, *(2.0 * p[..., i] * r for i in range(3))])


def mrp_from_quaternion(q: ArrayLike) -> Array:
    """Return [qx, qy, qz]/(1 + qw), of q or −q, whichever has qw ≥ 0.

    >>> from engine.spatial import rotations
    >>> rotations.mrp_from_quaternion([0.0, 1.0, 0.0, 0.0])
    array([1., 0., 0.])
    """
    q = shaped("q", q, 4)
    sign = ops.where(ops.less(q[..., 0], 0.0), -1.0, 1.0)
    scale = sign / (1.0 + sign * q[..., 0])
    return ops.array([scale * q[..., 1 + i] for i in range(3)])


def mrp_jacobian(p: ArrayLike) -> Array:
    """Return ½ ((1 − p²) 1 + 2 [p] + 2 p pᵀ).

    >>> from engine.spatial import rotations
    >>> rotations.mrp_jacobian([0.0, 0, 0])
    array([[0.5, 0. , 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 0.5]])
    """
    p = shaped("p", p, 3)
    return times(0.5 - 0.5 * np.vecdot(p, p), ONE) + so3.hat(p) + outer(p, p)


def mrp_hessian(p: ArrayLike, b: ArrayLike) -> Array:
    """Return p cᵀ + c pᵀ − (p·c) 1, c = Eᵀ b.

    >>> from engine.spatial import rotations
    >>> rotations.mrp_hessian([1.0, 0, 0], [2.0, 0, 0]) + 0.0  # c = [2, 0, 0]
    array([[ 2.,  0.,  0.],
           [ 0., -2.,  0.],
           [ 0.,  0., -2.]])
    """
    p, b = shaped("p", p, 3), shaped("b", b, 3)
    c = pulled_back(mrp_jacobian(p), b)
    return outer(p, c) + outer(c, p) - times(np.vecdot(p, c), ONE)


# ---------------------------------------------------------------- Rodrigues parameters g = tan(θ/2) n


def rodrigues_to_quaternion(g: ArrayLike) -> Array:
    """Return the unit quaternion (..., 4) of g (..., 3), [1, g]/√(1 + g·g) = cay(2g); qw > 0.

    >>> rodrigues_to_quaternion(np.array([0.0, 0.75, 0.0]))
    array([0.8, 0. , 0.6, 0. ])
    """
    g = shaped("g", g, 3)
    r = 1.0 / ops.sqrt(1.0 + np.vecdot(g, g))
    return ops.array([r, g[..., 0] * r, g[..., 1] * r, g[..., 2] * r])


def rodrigues_from_quaternion(q: ArrayLike) -> Array:
    """Return g (..., 3) of a quaternion (..., 4) of any length: [qx, qy, qz]/qw, infinite at half a turn (qw = 0).

    >>> rodrigues_from_quaternion(np.array([0.8, 0.0, 0.6, 0.0]))
    array([0.  , 0.75, 0.  ])
    """
    q = shaped("q", q, 4)
    return ops.array([q[..., 1 + i] / q[..., 0] for i in range(3)])


def rodrigues_jacobian(g: ArrayLike) -> Array:
    """Return 1 + [g] + g gᵀ.

    >>> from engine.spatial import rotations
    >>> rotations.rodrigues_jacobian([1.0, 0, 0]) + 0.0
    array([[ 2.,  0.,  0.],
           [ 0.,  1., -1.],
           [ 0.,  1.,  1.]])
    """
    g = shaped("g", g, 3)
    return ONE + so3.hat(g) + outer(g, g)


def rodrigues_hessian(g: ArrayLike, b: ArrayLike) -> Array:
    """Return g cᵀ + c gᵀ, c = Eᵀ b.

    >>> from engine.spatial import rotations
    >>> rotations.rodrigues_hessian([1.0, 0, 0], [2.0, 0, 0]) + 0.0  # c = [4, 0, 0]
    array([[8., 0., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    g, b = shaped("g", g, 3), shaped("b", b, 3)
    c = pulled_back(rodrigues_jacobian(g), b)
    return outer(g, c) + outer(c, g)


# ---------------------------------------------------------------- rotation vectors φ = θ n


def vector_jacobian(phi: ArrayLike) -> Array:
    """Return 2 dexp(−φ)⁻¹ = 2 (1 + ½ [φ] + D [φ]²).

    >>> from engine.spatial import rotations
    >>> rotations.vector_jacobian([0.0, 0, 0]) + 0.0
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    phi = shaped("phi", phi, 3)
    return 2.0 * so3.dexp_inv(-phi)


def vector_hessian(phi: ArrayLike, b: ArrayLike) -> Array:
    """Return 2 D (φ cᵀ + c φᵀ) + (φ·c) (4 D′ φ φᵀ − (½ − 2 D + 2 θ² D²) 1), c = Eᵀ b; D(θ²) is so3.inverse_coefficient, D′ = dD/dθ².

    >>> from engine.spatial import rotations
    >>> rotations.vector_hessian([0.0, 0, 0], [1.0, 0, 0]) + 0.0
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    phi, b = shaped("phi", phi, 3), shaped("b", b, 3)
    c = pulled_back(vector_jacobian(phi), b)
    theta2, along = np.vecdot(phi, phi), np.vecdot(phi, c)
    D = so3.inverse_coefficient(theta2)
    across = 0.5 - 2.0 * D + 2.0 * theta2 * D * D
    H = times(2.0 * D, outer(phi, c) + outer(c, phi))
    return H + times(along * 4.0 * inverse_slope(theta2, D), outer(phi, phi)) - times(along * across, ONE)


def inverse_slope(theta2: Any, D: Any) -> Any:
    """Return D′ = dD/dθ² = (¼ − 3 D + θ² D²)/(2 θ²), which is the differential equation of the cotangent; a series below θ² = 1.

    >>> bool(inverse_slope(0.0, so3.inverse_coefficient(0.0)) == 1 / 720)
    True
    """
    small = theta2 < SERIES_BELOW
    closed = (0.25 - 3.0 * D + theta2 * D * D) / ops.where(small, 1.0, 2.0 * theta2)
    return ops.where(small, series(theta2, [k * b for k, b in enumerate(so3.BERNOULLI)][1:]), closed)


#: the parametrisations by name
ATTITUDES: dict[str, Attitude] = {
    row.name: row
    for row in (
        Attitude("quaternion", 4, quaternion.identity, quaternion.normalize, unchanged, quaternion_jacobian, quaternion_hessian,
                 quaternion.normalize),
        Attitude("mrp", 3, zero, mrp_to_quaternion, mrp_from_quaternion, mrp_jacobian, mrp_hessian, unchanged),
        Attitude("rodrigues", 3, zero, rodrigues_to_quaternion, rodrigues_from_quaternion, rodrigues_jacobian, rodrigues_hessian,
                 unchanged),
        Attitude("rotation_vector", 3, zero, quaternion.exp, quaternion.log, vector_jacobian, vector_hessian, unchanged),
    )
}  # fmt: skip
