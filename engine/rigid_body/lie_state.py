"""Mixed states: rotations and vectors side by side in one vector x."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest
from engine.model import StateError
from engine.spatial import manifold
from engine.spatial.manifold import Manifold
from engine.spatial.rotations import ATTITUDES, Attitude

Array = np.ndarray
#: a quaternion this far from unit length is an error; a nearer one is normalised
UNIT_WITHIN = 1e-3


@functools.cache
def attitude_manifold(name: str) -> Manifold:
    """The rotations in one of the parametrisations of :mod:`engine.spatial.rotations`, ⊕ by the exponential."""
    if name == "quaternion":
        return manifold.ROTATION
    a = ATTITUDES[name]

    def through(move: Any) -> Any:
        return lambda p, d: a.from_quaternion(move(a.to_quaternion(p), d))

    return Manifold(f"SO(3) by {name}", a.n, 3, a.neutral, through(manifold.rotation_plus),
                    lambda p0, p1: manifold.rotation_minus(a.to_quaternion(p0), a.to_quaternion(p1)), through(manifold.rotation_cayley),
                    manifold.ROTATION.bracket, manifold.ROTATION.rate, a.normalized, a.random)  # fmt: skip


class LieState:
    """The layout of a state of several rotations and vectors: ``LieState("quaternion", 3, 6)``.

    Parameters
    ----------
    parts : in order, a number for a vector of that size, or for a rotation the name of its parametrisation: "quaternion", "mrp",
        "rodrigues", "rotation_vector"

    Attributes
    ----------
    n, ne : numbers of entries of a state x and of an error δ
    x, e : for each part its slice of x and of δ
    manifold : ⊕ and ⊖ by exponentials, and what integrators use; a velocity ξ (ne) has the body's ω for each rotation

    The error δ (ne) of a state is δ = tan(θ/2) n on the body's side for each rotation, and the difference for each vector.

    Examples
    --------
    >>> s = LieState("quaternion", 3, "mrp", 6)
    >>> s.n, s.ne, s.x[2]
    (16, 15, slice(7, 10, None))
    """

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.attitudes: list[Attitude | None] = []
        self.x, self.e = [], []
        self.n = self.ne = 0
        for part in parts:
            if isinstance(part, str):
                if part not in ATTITUDES:
                    raise StateError(f"no attitude '{part}'{nearest(part, ATTITUDES)}; expected one of {', '.join(ATTITUDES)}")
                attitude, n, ne = ATTITUDES[part], ATTITUDES[part].n, 3
            elif isinstance(part, (int, np.integer)) and not isinstance(part, bool) and part > 0:
                attitude, n, ne = None, int(part), int(part)
            else:
                raise StateError(f"a part of a state is {part!r}; expected the size of a vector, or the name of an attitude's parameters")
            self.attitudes.append(attitude)
            self.x.append(slice(self.n, self.n + n))
            self.e.append(slice(self.ne, self.ne + ne))
            self.n, self.ne = self.n + n, self.ne + ne
        if not parts:
            raise StateError("a state has no parts; expected at least one vector or rotation")
        self.manifold = manifold.product([attitude_manifold(p) if isinstance(p, str) else manifold.vector(int(p)) for p in parts])

    def neutral(self) -> Array:
        """The state of no rotation and zero vectors (n)."""
        return np.concatenate([a.neutral() if a else np.zeros(i.stop - i.start) for a, i in zip(self.attitudes, self.x, strict=True)])

    def random(self, rng: np.random.Generator) -> Array:
        """A state (n) of uniform rotations, and vectors from the standard normal distribution."""
        return np.concatenate([a.random(rng) if a else rng.standard_normal(i.stop - i.start)
                               for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def normalized(self, x: Array) -> Array:
        """x with unit quaternions."""
        return np.concatenate([a.normalized(x[..., i]) if a else x[..., i] for a, i in zip(self.attitudes, self.x, strict=True)], axis=-1)

    def rate(self, x: Array, velocity: Array) -> Array:
        """ẋ (..., n) of the velocity ξ (..., ne)."""
        parts = [a.rate(x[..., i], velocity[..., j]) if a else velocity[..., j]
                 for a, i, j in zip(self.attitudes, self.x, self.e, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def plus(self, x: Array, delta: Array) -> Array:
        """x ⊕ δ, (..., n)."""
        parts = [a.plus(x[..., i], delta[..., j]) if a else x[..., i] + delta[..., j]
                 for a, i, j in zip(self.attitudes, self.x, self.e, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def minus(self, x1: Array, x0: Array) -> Array:
        """x1 ⊖ x0: the δ (..., ne) with x0 ⊕ δ = x1."""
        parts = [a.minus(x1[..., i], x0[..., i]) if a else x1[..., i] - x0[..., i]
                 for a, i in zip(self.attitudes, self.x, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def error_jacobian(self, x: Array) -> Array:
        """E = ∂(x ⊕ δ)/∂δ at δ = 0, (n, ne)."""
        return self._blocks([a.error_jacobian(x[i]) if a else np.eye(i.stop - i.start)
                             for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def error_jacobian_rate(self, x: Array, b: Array) -> Array:
        """∂/∂δ E(x ⊕ δ)ᵀ b at δ = 0 for a constant b (n), (ne, ne)."""
        return self._blocks([a.error_jacobian_rate(x[i], b[i]) if a else np.zeros((i.stop - i.start,) * 2)
                             for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def error_projection(self, x: Array) -> Array:
        """∂(y ⊖ x)/∂y at y = x, (ne, n): an inverse of E from the left; Eᵀ for quaternions."""
        blocks = []
        for a, i in zip(self.attitudes, self.x, strict=True):
            E = a.error_jacobian(x[i]) if a else np.eye(i.stop - i.start)
            blocks.append(E.T if a and a.name == "quaternion" else inverse(E) if a else E)
        return self._blocks(blocks)

    @staticmethod
    def _blocks(blocks: list[Array]) -> Array:
        rows = [np.concatenate([b if i == j else np.zeros((len(a), b.shape[1])) for j, b in enumerate(blocks)], axis=1)
                for i, a in enumerate(blocks)]  # fmt: skip
        return np.concatenate(rows)

    def checked(self, name: str, x: Any) -> Array:
        """x (..., n) as finite floats with unit quaternions: normalised, unless one is further than 1e-3 from unit length."""
        a = reals(name, x)
        if a.shape[-1:] != (self.n,):
            raise StateError(f"{name} has shape {a.shape}; expected (..., {self.n}): {self.described()}")
        if a.dtype == object:  # traced
            return a
        if not np.isfinite(a).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
            raise StateError(f"{name}[{', '.join(map(str, where))}] is {a[where]}; expected a finite number")
        for attitude, i in zip(self.attitudes, self.x, strict=True):
            if attitude and attitude.name == "quaternion":
                length = np.linalg.norm(a[..., i], axis=-1).ravel()
                worst = length[np.argmax(np.abs(length - 1.0))] if length.size else 1.0
                if abs(worst - 1.0) > UNIT_WITHIN:
                    place = f"{name}[..., {i.start}:{i.stop}]"
                    raise StateError(f"{place} is a quaternion of length {worst:.6g}; expected a unit one, [qw qx qy qz]")
        return self.normalized(a)

    def described(self) -> str:
        """The parts in words."""
        return " + ".join(f"{p} ({ATTITUDES[p].n})" if isinstance(p, str) else f"R{p}" for p in self.parts)

    def __repr__(self) -> str:
        return f"LieState({', '.join(map(repr, self.parts))})"


def reals(name: str, x: Any) -> Array:
    """x as an array of floats, or of traced values."""
    try:
        a = np.asarray(x)
    except ValueError:
        raise StateError(f"{name} is not rectangular; expected an array of real numbers") from None
    if a.dtype.kind in "fiub":
        return a.astype(float)
    if a.dtype == object and ops.graph_of(a) is not None:
        return a
    raise StateError(f"{name} holds {type(x).__name__ if a.dtype == object and not a.ndim else a.dtype}; expected real numbers")


def inverse(E: Array) -> Array:
    """Inverse of a 3×3 matrix by cofactors."""
    (a, b, c), (d, e, f), (g, h, i) = E
    adjugate = [[e * i - f * h, c * h - b * i, b * f - c * e],
                [f * g - d * i, a * i - c * g, c * d - a * f],
                [d * h - e * g, b * g - a * h, a * e - b * d]]  # fmt: skip
    determinant = a * adjugate[0][0] + b * adjugate[1][0] + c * adjugate[2][0]
    return np.array([[x / determinant for x in row] for row in adjugate])


