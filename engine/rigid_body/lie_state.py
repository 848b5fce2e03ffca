"""Mixed states: rotations and vectors side by side in one vector x."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ops
from engine.checks import nearest, whole
from engine.model import StateError
from engine.spatial import manifold
from engine.spatial.rotations import ATTITUDES, Attitude

Array = NDArray[np.float64]
#: a quaternion this far from unit length is an error; a nearer one is normalised
UNIT_WITHIN = 1e-3


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
    manifold : ⊕, ⊖ and the rest of what integrators use; a velocity ξ (ne) has the body's ω for each rotation

    The error δ (ne) between two states is δ = tan(θ/2) n on the body's side for each rotation, and the difference for each vector; see
    :meth:`cayley_plus` and :meth:`cayley_minus`.

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
            else:
                expected = "the size of a vector, or the name of an attitude's parameters"
                attitude, n = None, whole("a part of a state", part, expected, least=1, error=StateError)
                ne = n
            self.attitudes.append(attitude)
            self.x.append(slice(self.n, self.n + n))
            self.e.append(slice(self.ne, self.ne + ne))
            self.n, self.ne = self.n + n, self.ne + ne
        if not parts:
            raise StateError("a state has no parts; expected at least one vector or rotation")
        self.manifold = manifold.product([a.manifold if a else manifold.vector(int(p)) for a, p in zip(self.attitudes, parts, strict=True)])

    def __reduce__(self) -> Any:
        return type(self), self.parts

    def neutral(self) -> Array:
        """Return the state of no rotation and zero vectors (n).

        >>> import engine
        >>> engine.LieState("quaternion", 3).neutral()
        array([1., 0., 0., 0., 0., 0., 0.])
        """
        return np.concatenate([a.neutral() if a else np.zeros(i.stop - i.start) for a, i in zip(self.attitudes, self.x, strict=True)])

    def random(self, rng: np.random.Generator) -> Array:
        """Return a state (n) of uniform rotations, and vectors from the standard normal distribution.

        >>> import numpy as np
        >>> import engine
        >>> engine.LieState("quaternion", 3).random(np.random.default_rng(0)).shape
        (7,)
        """
        return np.concatenate([a.random(rng) if a else rng.standard_normal(i.stop - i.start)
                               for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def normalized(self, x: Array) -> Array:
        """Return x with unit quaternions.

        >>> import numpy as np
        >>> import engine
        >>> engine.LieState("quaternion", 3).normalized(np.array([2.0, 0, 0, 0, 1, 2, 3]))
        array([1., 0., 0., 0., 1., 2., 3.])
        """
        return np.concatenate([a.normalized(x[..., i]) if a else x[..., i] for a, i in zip(self.attitudes, self.x, strict=True)], axis=-1)

    def rate(self, x: Array, velocity: Array) -> Array:
        """Return ẋ (..., n) of the velocity ξ (..., ne).

        >>> import numpy as np
        >>> import engine
        >>> state = engine.LieState("quaternion", 3)
        >>> state.rate(state.neutral(), np.array([0, 0, 2.0, 1, 0, 0])) + 0.0  # ½ q ⊗ [0; ω], and the vector's own rate
        array([0., 0., 0., 1., 1., 0., 0.])
        """
        parts = [a.rate(x[..., i], velocity[..., j]) if a else velocity[..., j]
                 for a, i, j in zip(self.attitudes, self.x, self.e, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def cayley_plus(self, x: Array, delta: Array) -> Array:
        """Return the state (..., n) that lies the error δ (..., ne) from x: p · cay(2δ) for each rotation, x + δ for each vector.

        >>> import numpy as np
        >>> import engine
        >>> state = engine.LieState("quaternion", 3)
        >>> state.cayley_plus(state.neutral(), np.array([1.0, 0, 0, 5, 0, 0])).round(6)  # tan(θ/2) = 1: a quarter turn about x
        array([0.707107, 0.707107, 0.      , 0.      , 5.      , 0.      ,
               0.      ])
        """
        parts = [a.cayley_plus(x[..., i], delta[..., j]) if a else x[..., i] + delta[..., j]
                 for a, i, j in zip(self.attitudes, self.x, self.e, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def cayley_minus(self, x0: Array, x1: Array) -> Array:
        """Return the error δ (..., ne) from x0 to x1, cayley_plus(x0, δ) = x1; infinite where two rotations are half a turn apart.

        >>> import numpy as np
        >>> import engine
        >>> state, d = engine.LieState("quaternion", 3), np.array([1.0, 0, 0, 5, 0, 0])
        >>> state.cayley_minus(state.neutral(), state.cayley_plus(state.neutral(), d)).round(9) + 0.0
        array([1., 0., 0., 5., 0., 0.])
        """
        parts = [a.cayley_minus(x0[..., i], x1[..., i]) if a else x1[..., i] - x0[..., i]
                 for a, i in zip(self.attitudes, self.x, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=-1)

    def error_jacobian(self, x: Array) -> Array:
        """Return E = ∂ cayley_plus(x, δ)/∂δ at δ = 0, (n, ne).

        >>> import engine
        >>> state = engine.LieState("quaternion", 3)
        >>> state.error_jacobian(state.neutral()).shape
        (7, 6)
        """
        return self._blocks([a.error_jacobian(x[i]) if a else np.eye(i.stop - i.start)
                             for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def error_jacobian_rate(self, x: Array, b: Array) -> Array:
        """Return ∂/∂δ E(cayley_plus(x, δ))ᵀ b at δ = 0 for a constant b (n), (ne, ne)."""
        return self._blocks([a.error_jacobian_rate(x[i], b[i]) if a else np.zeros((i.stop - i.start,) * 2)
                             for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    def error_projection(self, x: Array) -> Array:
        """Return ∂ cayley_minus(x, y)/∂y at y = x, (ne, n): an inverse of E from the left; Eᵀ for quaternions.

        >>> import numpy as np
        >>> import engine
        >>> state = engine.LieState("quaternion", 3)
        >>> x = state.neutral()
        >>> np.allclose(state.error_projection(x) @ state.error_jacobian(x), np.eye(6))
        True
        """
        return self._blocks([a.error_projection(x[i]) if a else np.eye(i.stop - i.start)
                             for a, i in zip(self.attitudes, self.x, strict=True)])  # fmt: skip

    @staticmethod
    def _blocks(blocks: list[Array]) -> Array:
        rows = [np.concatenate([b if i == j else np.zeros((len(a), b.shape[1])) for j, b in enumerate(blocks)], axis=1)
                for i, a in enumerate(blocks)]  # fmt: skip
        return np.concatenate(rows)

    def vector(self, x: Any) -> Any:
        """Return a state that is given otherwise than as x (..., n), such as a RigidBodyState of a body, as that; all else as it stands."""
        return x

    def checked(self, name: str, x: Any) -> Array:
        """Return x (..., n) as finite floats with its quaternions normalised; raise StateError for one over 1e-3 from unit length.

        >>> import engine
        >>> engine.LieState("quaternion", 3).checked("x", [1, 0, 0, 0, 1, 2, 3])
        array([1., 0., 0., 0., 1., 2., 3.])
        """
        a = reals(name, self.vector(x))
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
        """Return the parts in words.

        >>> import engine
        >>> engine.LieState("quaternion", 3).described()
        'quaternion (4) + R3'
        """
        return " + ".join(f"{p} ({ATTITUDES[p].n})" if isinstance(p, str) else f"R{p}" for p in self.parts)

    def __repr__(self) -> str:
        return f"LieState({', '.join(map(repr, self.parts))})"


def reals(name: str, x: Any) -> Array:
    """Return x as an array of floats, or of traced values; raise StateError where it is neither."""
    try:
        a = np.asarray(x)
    except ValueError:
        raise StateError(f"{name} is not rectangular; expected an array of real numbers") from None
    if a.dtype.kind in "fiub":
        return a.astype(float)
    if a.dtype == object and ops.graph_of(a) is not None:
        return a
    raise StateError(f"{name} holds {type(x).__name__ if a.dtype == object and not a.ndim else a.dtype}; expected real numbers")
