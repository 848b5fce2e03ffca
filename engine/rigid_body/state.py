"""A rigid body's state, whatever its attitude parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.checks import numbers
from engine.model import StateError
from engine.rigid_body.lie_state import LieState, reals
from engine.spatial import quaternion, so3
from engine.spatial.rotations import ATTITUDES, Attitude

Array = NDArray[np.float64]
LAYOUT = LieState("quaternion", 3, 3, 3)


class Indices(NamedTuple):
    """Slices of a rigid body's state x, and of its controls in [x, u].

    >>> import numpy as np
    >>> import engine
    >>> engine.RigidBody(mass=2.0, inertia=np.eye(3)).indices.position
    slice(4, 7, None)
    """

    orientation: slice
    position: slice
    angular_velocity: slice
    linear_velocity: slice
    controls: slice


class RigidBodyState:
    """Position, orientation and velocities of a rigid body, or of a batch; an array of 13 numbers that has names.

    ``np.asarray(s)``, or ``s.vector``, is [quaternion, position, angular velocity, linear velocity] (..., 13), and ``s[k]`` an entry of it:
    a RigidBodyState again where all 13 are left, so that ``s[k]`` of a batch is its k-th state. A
    :class:`~engine.rigid_body.RigidBody`, and what is compiled of it, take states, and lists of them, and write them in their own attitude
    parameters and axes. ``s + δ`` and ``s1 − s0`` move it by, and give, an error δ (..., 12).

    Parameters
    ----------
    position : of the body's origin in the world, m (..., 3)
    orientation : unit quaternion body → world (..., 4), or a rotation matrix (..., 3, 3); it is normalised
    linear_velocity : of the origin in world axes, m/s (..., 3)
    angular_velocity : in body axes, rad/s (..., 3)

    An error is [δ, Δp, Δω, Δv], with δ = tan(θ/2) n of the rotation between, on the body's side: ``s + δ`` is
    :meth:`LieState.cayley_plus`, and ``s1 − s0`` is cayley_minus(s0, s1), and raises StateError at half a turn.

    Examples
    --------
    >>> s = RigidBodyState(position=[1.0, 0, 0])
    >>> s == RigidBodyState([1.0, 0, 0], [-1.0, 0, 0, 0])
    True
    >>> (s - RigidBodyState())[3:6]
    array([1., 0., 0.])
    >>> row = RigidBodyState(position=[[1.0, 0, 0], [2.0, 0, 0]])
    >>> row.shape, row[1].position, row[:, 4]
    ((2, 13), array([2., 0., 0.]), array([1., 2.]))
    """

    __hash__ = None  # type: ignore[assignment]
    #: ``array + s`` is not the sum of numbers: the state's own + and − are asked, or it is refused
    __array_ufunc__ = None

    def __init__(self, position: Any = (0, 0, 0), orientation: Any = (1, 0, 0, 0), linear_velocity: Any = (0, 0, 0),
                 angular_velocity: Any = (0, 0, 0)) -> None:  # fmt: skip
        names = ("orientation", "position", "angular_velocity", "linear_velocity")
        given = (orientation, position, angular_velocity, linear_velocity)
        parts = [reals(f"RigidBodyState: {name}", part) for name, part in zip(names, given, strict=True)]
        if parts[0].shape[-2:] == (3, 3):
            parts[0] = quaternion_of("RigidBodyState", parts[0])
        for name, part, size in zip(names, parts, (4, 3, 3, 3), strict=True):
            if part.shape[-1:] != (size,):
                raise StateError(f"RigidBodyState: {name} has shape {part.shape}; expected (..., {size})")
        self.vector = LAYOUT.checked("RigidBodyState", np.concatenate(same_batch("the parts of a RigidBodyState", parts), axis=-1))

    @classmethod
    def from_vector(cls, x: Any) -> RigidBodyState:
        """Return the state of [quaternion, position, angular velocity, linear velocity] (..., 13).

        >>> import engine
        >>> engine.RigidBodyState.from_vector([1.0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0]).position
        array([1., 2., 3.])
        """
        x = LAYOUT.checked("x", x)
        return cls(x[..., 4:7], x[..., :4], x[..., 10:], x[..., 7:10])

    @classmethod
    def random(cls, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> RigidBodyState:
        """Return a state, or a batch of a shape, with a uniform orientation, and the rest from the standard normal distribution.

        >>> import numpy as np
        >>> import engine
        >>> engine.RigidBodyState.random(np.random.default_rng(0), (5,)).shape
        (5, 13)
        """
        return cls.from_vector(np.array([LAYOUT.random(rng) for _ in np.ndindex(shape)]).reshape(*shape, LAYOUT.n))

    # ------------------------------------------------------------ as an array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.vector, dtype=dtype, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., 13).

        >>> import engine
        >>> engine.RigidBodyState().shape
        (13,)
        """
        return self.vector.shape

    def __len__(self) -> int:
        return len(self.vector)

    def __getitem__(self, index: Any) -> Any:
        entries = np.broadcast_to(np.arange(LAYOUT.n), self.shape)[index]      # which of the 13 numbers are asked for
        found = self.vector[index]
        whole = entries.shape[-1:] == (LAYOUT.n,) and (entries == np.arange(LAYOUT.n)).all()
        return self.from_vector(found) if whole else found

    # ------------------------------------------------------------ by name

    @property
    def orientation(self) -> Array:
        """Unit quaternion body → world (..., 4).

        >>> import engine
        >>> engine.RigidBodyState(orientation=[0, 1.0, 0, 0]).orientation
        array([0., 1., 0., 0.])
        """
        return self.vector[..., :4]

    @property
    def position(self) -> Array:
        """Position of the origin in the world, m (..., 3).

        >>> import engine
        >>> engine.RigidBodyState(position=[1.0, 2.0, 3.0]).position
        array([1., 2., 3.])
        """
        return self.vector[..., 4:7]

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity in body axes, rad/s (..., 3).

        >>> import engine
        >>> engine.RigidBodyState(angular_velocity=[0, 0, 2.0]).angular_velocity
        array([0., 0., 2.])
        """
        return self.vector[..., 7:10]

    @property
    def linear_velocity(self) -> Array:
        """Velocity of the origin in world axes, m/s (..., 3).

        >>> import engine
        >>> engine.RigidBodyState(linear_velocity=[3.0, 0, 0]).linear_velocity
        array([3., 0., 0.])
        """
        return self.vector[..., 10:]

    def normalized(self) -> RigidBodyState:
        """Return the same state, with a unit quaternion.

        >>> import engine
        >>> engine.RigidBodyState().normalized().orientation
        array([1., 0., 0., 0.])
        """
        return self.from_vector(self.vector)

    def __add__(self, delta: Any) -> RigidBodyState:
        d = numbers("an error of a RigidBodyState", delta, StateError)
        if d.shape[-1:] != (LAYOUT.ne,):
            raise StateError(f"an error of a RigidBodyState has shape {d.shape}; expected (..., 12)")
        x, d = same_batch("a RigidBodyState and its error", [self.vector, d])
        return self.from_vector(LAYOUT.cayley_plus(x, d))

    def __sub__(self, other: RigidBodyState) -> Array:
        if not isinstance(other, RigidBodyState):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            delta = LAYOUT.cayley_minus(*same_batch("two RigidBodyStates", [other.vector, self.vector]))
        if not np.isfinite(delta).all():
            raise StateError("two orientations are half a turn apart, where tan(θ/2) is infinite; expected less between them")
        return delta

    def isclose(self, other: RigidBodyState, tolerance: float = 1e-9) -> bool:
        """Return whether all entries, of all states of a batch, agree to the tolerance, each quaternion up to its sign.

        >>> import engine
        >>> engine.RigidBodyState().isclose(engine.RigidBodyState(orientation=[-1.0, 0, 0, 0]))  # q and −q are one rotation
        True
        """
        mine, theirs = same_batch("two RigidBodyStates", [self.vector, other.vector])
        sign = np.where(np.vecdot(mine[..., :4], theirs[..., :4]) >= 0, 1.0, -1.0)[..., None]
        theirs = np.concatenate([sign * theirs[..., :4], theirs[..., 4:]], axis=-1)
        return bool((np.abs(mine - theirs) <= tolerance).all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RigidBodyState) and self.shape == other.shape and self.isclose(other, 0.0)

    def __repr__(self) -> str:
        parts = [f"{n}={np.array2string(getattr(self, n), precision=6, separator=', ')}"
                 for n in ("position", "orientation", "linear_velocity", "angular_velocity")]  # fmt: skip
        return f"RigidBodyState({', '.join(parts)})"


class BodyLayout(LieState):
    """The layout of a rigid body's x = [attitude, position, angular velocity, linear velocity], and how a RigidBodyState is written in it.

    >>> s = RigidBodyState(orientation=[0.0, 0, 0, 1.0], linear_velocity=[2.0, 0, 0])
    >>> x = BodyLayout("mrp", "body").vector(s)
    >>> x[:3], x[9:] + 0.0
    (array([0., 0., 1.]), array([-2.,  0.,  0.]))
    """

    def __init__(self, attitude: str, velocity_frame: str) -> None:
        super().__init__(attitude, 3, 3, 3)
        self.velocity_frame = velocity_frame

    def __reduce__(self) -> Any:
        return type(self), (self.parts[0], self.velocity_frame)

    def __repr__(self) -> str:
        return f"BodyLayout({self.parts[0]!r}, {self.velocity_frame!r})"

    def vector(self, x: Any) -> Any:
        """Return a RigidBodyState, or lists of them, as states x (..., n) in these parameters and axes; all else as it stands."""
        if not are_states(x):
            return x
        s = x if isinstance(x, RigidBodyState) else RigidBodyState.from_vector(x)
        p, v = parameters_of("RigidBodyState", ATTITUDES[self.parts[0]], s.orientation), s.linear_velocity
        if self.velocity_frame == "body":
            v = np.matvec(np.swapaxes(quaternion.to_matrix(s.orientation), -1, -2), v)
        return np.concatenate([p, s.position, s.angular_velocity, v], axis=-1)


def are_states(x: Any) -> bool:
    """Return whether x is a RigidBodyState, or lists or tuples of them; raise StateError for a list of such and others.

    >>> are_states(RigidBodyState()), are_states([RigidBodyState()] * 2), are_states(np.zeros(13))
    (True, True, False)
    """
    if not isinstance(x, (list, tuple)):
        return isinstance(x, RigidBodyState)
    found = [are_states(one) for one in x]
    if any(found) and not all(found):
        raise StateError(f"the states hold RigidBodyState and {type(x[found.index(False)]).__name__}; expected all of one kind")
    return any(found)


def same_batch(what: str, parts: list[Array]) -> list[Array]:
    """Return arrays (..., n) of several n with the same leading dimensions."""
    try:
        shape = np.broadcast_shapes(*[a.shape[:-1] for a in parts])
    except ValueError:
        shapes = ", ".join(str(a.shape) for a in parts)
        raise StateError(f"{what} have shapes {shapes}; expected batches that broadcast") from None
    return [np.broadcast_to(a, (*shape, a.shape[-1])) for a in parts]


def quaternion_of(owner: str, R: Array) -> Array:
    """Return unit quaternions (..., 4) of rotation matrices (..., 3, 3); raise StateError if one is no rotation."""
    if not so3.are_rotations(R):
        raise StateError(f"{owner}: orientation is no rotation matrix; expected R Rᵀ = 1 and det R = 1")
    return quaternion.from_matrix(R)


def parameters_of(owner: str, attitude: Attitude, q: Array) -> Array:
    """Return attitude parameters (..., n) of unit quaternions (..., 4); raise StateError for half a turn where that has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = attitude.from_quaternion(q)
    if p.dtype != object and not np.isfinite(p).all():
        raise StateError(f"{owner}: orientation is half a turn, which has no {attitude.name} parameters; expected less")
    return p
