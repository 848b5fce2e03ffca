"""A rigid body's state, whatever its attitude parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import numbers
from engine.model import StateError
from engine.rigid_body.lie_state import LieState, reals
from engine.spatial import quaternion, so3

Array = NDArray[np.float64]
LAYOUT = LieState("quaternion", 3, 3, 3)


class RigidBodyState:
    """Position, orientation and velocities of a rigid body; ``s + δ`` and ``s1 − s0`` move it by, and give, an error δ (12).

    Parameters
    ----------
    position : of the body's origin in the world, m (3)
    orientation : unit quaternion body → world (4), or a rotation matrix (3×3); it is normalised
    linear_velocity : of the origin in world axes, m/s (3)
    angular_velocity : in body axes, rad/s (3)

    An error is [δ, Δp, Δω, Δv], with δ = tan(θ/2) n of the rotation between, on the body's side: ``s + δ`` is
    :meth:`LieState.cayley_plus`, and ``s1 − s0`` is cayley_minus(s0, s1), and raises StateError at half a turn.

    Examples
    --------
    >>> s = RigidBodyState(position=[1.0, 0, 0])
    >>> s == RigidBodyState([1.0, 0, 0], [-1.0, 0, 0, 0])
    True
    >>> (s - RigidBodyState())[3:6]
    array([1., 0., 0.])
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, position: Any = (0, 0, 0), orientation: Any = (1, 0, 0, 0), linear_velocity: Any = (0, 0, 0),
                 angular_velocity: Any = (0, 0, 0)) -> None:  # fmt: skip
        names = ("orientation", "position", "angular_velocity", "linear_velocity")
        given = (orientation, position, angular_velocity, linear_velocity)
        parts = [reals(f"RigidBodyState: {name}", part) for name, part in zip(names, given, strict=True)]
        if parts[0].shape == (3, 3):
            parts[0] = quaternion_of("RigidBodyState", parts[0])
        for name, part, size in zip(names, parts, (4, 3, 3, 3), strict=True):
            if part.shape != (size,):
                raise StateError(f"RigidBodyState: {name} has shape {part.shape}; expected ({size},)")
        self.vector = LAYOUT.checked("RigidBodyState", np.concatenate(parts))

    @classmethod
    def from_vector(cls, x: Any) -> RigidBodyState:
        """Return the state of [quaternion, position, angular velocity, linear velocity] (13)."""
        x = LAYOUT.checked("x", x)
        if x.shape != (13,):
            raise StateError(f"x has shape {x.shape}; expected (13,)")
        return cls(x[4:7], x[:4], x[10:], x[7:10])

    @classmethod
    def random(cls, rng: np.random.Generator) -> RigidBodyState:
        """Return a state with a uniform orientation, and the rest from the standard normal distribution."""
        return cls.from_vector(LAYOUT.random(rng))

    @property
    def orientation(self) -> Array:
        """Unit quaternion body → world (4)."""
        return self.vector[:4]

    @property
    def position(self) -> Array:
        """Position of the origin in the world, m (3)."""
        return self.vector[4:7]

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity in body axes, rad/s (3)."""
        return self.vector[7:10]

    @property
    def linear_velocity(self) -> Array:
        """Velocity of the origin in world axes, m/s (3)."""
        return self.vector[10:]

    def normalized(self) -> RigidBodyState:
        """Return the same state, with a unit quaternion."""
        return self.from_vector(self.vector)

    def __add__(self, delta: Any) -> RigidBodyState:
        d = numbers("an error of a RigidBodyState", delta, StateError)
        if d.shape != (12,):
            raise StateError(f"an error of a RigidBodyState has shape {d.shape}; expected (12,)")
        return self.from_vector(LAYOUT.cayley_plus(self.vector, d))

    def __sub__(self, other: RigidBodyState) -> Array:
        if not isinstance(other, RigidBodyState):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            delta = LAYOUT.cayley_minus(other.vector, self.vector)
        if not np.isfinite(delta).all():
            raise StateError("two orientations are half a turn apart, where tan(θ/2) is infinite; expected less between them")
        return delta

    def isclose(self, other: RigidBodyState, tolerance: float = 1e-9) -> bool:
        """Return whether all entries agree to the tolerance, the quaternion up to its sign."""
        sign = 1.0 if self.orientation @ other.orientation >= 0 else -1.0
        mine, theirs = self.vector, np.concatenate([sign * other.orientation, other.vector[4:]])
        return bool(np.abs(mine - theirs).max() <= tolerance)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RigidBodyState) and self.isclose(other, 0.0)

    def __repr__(self) -> str:
        parts = [f"{n}={np.array2string(getattr(self, n), precision=6, separator=', ')}"
                 for n in ("position", "orientation", "linear_velocity", "angular_velocity")]  # fmt: skip
        return f"RigidBodyState({', '.join(parts)})"


def quaternion_of(owner: str, R: Array) -> Array:
    """Return unit quaternions (..., 4) of rotation matrices (..., 3, 3); raise StateError if one is no rotation."""
    if not so3.are_rotations(R):
        raise StateError(f"{owner}: orientation is no rotation matrix; expected R Rᵀ = 1 and det R = 1")
    return quaternion.from_matrix(R)
