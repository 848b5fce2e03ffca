"""The kinds of exact constraints, as data: what two links, or two joints, may do beside one another.

A constraint of links has a frame on each, and holds some rows of the pose of the one in the other; forces are counted along the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from engine.checks import EngineError, number, numbers, shown
from engine.spatial import se3, so3

Array = np.ndarray
ORIGIN = (0.0, 0.0, 0.0)
Z = (0.0, 0.0, 1.0)
#: rows of a relative pose: turns about x, y, z, and positions along them, in the axes of the first link's frame
ROWS = ("mx", "my", "mz", "fx", "fy", "fz")


class ConstraintError(EngineError):
    """Raised where a constraint makes no sense, does not fit a model, or cannot be closed.

    >>> import engine
    >>> engine.Ball("arm", "arm")
    Traceback (most recent call last):
    ...
    engine.constraints.kinds.ConstraintError: Ball: both links are 'arm'; expected two different ones
    """


@dataclass(frozen=True, eq=False)
class Between:
    """A constraint between two links: a frame on each, whose relative pose is restricted in some rows.

    Attributes
    ----------
    rows : which of :data:`ROWS` are held
    """

    link_a: str
    link_b: str
    rows: ClassVar[Sequence[int]] = ()

    def __post_init__(self) -> None:
        for link in (self.link_a, self.link_b):
            if not isinstance(link, str):
                raise ConstraintError(f"{self.kind}: a link is {shown(link)}; expected its name, or 'world'")
        if self.link_a == self.link_b:
            raise ConstraintError(f"{self.kind}: both links are '{self.link_a}'; expected two different ones")

    @property
    def kind(self) -> str:
        """The kind's name."""
        return type(self).__name__

    @property
    def title(self) -> str:
        """The constraint's name, or that of its kind and its links."""
        return getattr(self, "name", "") or f"{self.kind} of '{self.link_a}' and '{self.link_b}'"

    def frames(self) -> tuple[Array, Array]:
        """Return the poses of its frames in the two links' frames."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AtPoints(Between):
    """A constraint at a point of each link (3), m, in its own frame."""

    point_a: Any = ORIGIN
    point_b: Any = ORIGIN

    def __post_init__(self) -> None:
        super().__post_init__()
        self.frames()

    def frames(self) -> tuple[Array, Array]:
        return se3.pose(np.eye(3), self.point("point_a")), se3.pose(np.eye(3), self.point("point_b"))

    def point(self, which: str) -> Array:
        """Return one of its points, checked."""
        return vector(f"{self.kind}: {which}", getattr(self, which))


@dataclass(frozen=True, eq=False)
class Ball(AtPoints):
    """A ball joint: point_a (3) of link_a and point_b (3) of link_b coincide; both in m, in their links' own frames.

    Its force is that on link_b, N, in link_a's axes (3).

    >>> Ball("world", "rod", point_b=(1.0, 0.0, 0.0)).frames()[1][:3, 3]
    array([1., 0., 0.])
    """

    name: str = ""
    rows = (3, 4, 5)


@dataclass(frozen=True, eq=False)
class Hinge(AtPoints):
    """A hinge: the points coincide, and axis_a (3) in link_a and axis_b (3) in link_b point the same way.

    Its forces are those on link_b (5): moments, N·m, about the x and y axes of a frame on link_a whose z axis is axis_a (link_a's own
    turned the shortest way), and the force, N, along its x, y, z.

    >>> Hinge("a", "b", axis_a=(0.0, 2.0, 0.0), axis_b=(0.0, 1.0, 0.0)).frames()[0][:3, 2]
    array([0., 1., 0.])
    """

    axis_a: Any = Z
    axis_b: Any = Z
    name: str = ""
    rows = (0, 1, 3, 4, 5)

    def axis(self, which: str) -> Array:
        """Return one of its axes, checked, as a unit vector."""
        axis = vector(f"{self.kind}: {which}", getattr(self, which))
        if not (length := float(np.linalg.norm(axis))) > 1e-12:
            raise ConstraintError(f"{self.kind}: {which} is {shown(getattr(self, which))}; expected a direction")
        return axis / length

    def frames(self) -> tuple[Array, Array]:
        Q_a, Q_b = turning(np.array(Z), self.axis("axis_a")), turning(np.array(Z), self.axis("axis_b"))
        return se3.pose(Q_a, self.point("point_a")), se3.pose(Q_b, self.point("point_b"))


@dataclass(frozen=True, eq=False)
class Slider(Hinge):
    """A slider: link_b moves along axis_a only, with axis_b along it, and point_b on the line through point_a.

    Link_b keeps the attitude that takes axis_b to axis_a the shortest way: with equal axes, that of link_a. Its forces are those of a
    :class:`Hinge`'s frame: three moments, and the force along x and y (5).

    >>> Slider("rail", "cart", axis_a=(1.0, 0.0, 0.0), axis_b=(1.0, 0.0, 0.0)).rows
    (0, 1, 2, 3, 4)
    """

    rows = (0, 1, 2, 3, 4)

    def frames(self) -> tuple[Array, Array]:
        a, b = self.axis("axis_a"), self.axis("axis_b")
        Q_a = turning(np.array(Z), a)
        return se3.pose(Q_a, self.point("point_a")), se3.pose(turning(a, b) @ Q_a, self.point("point_b"))


@dataclass(frozen=True, eq=False)
class Weld(Between):
    """A weld: link_b stays at the pose T_AB = pose_ab (4×4) in link_a's frame.

    Its wrench on link_b [m; f] (6), N·m and N, is about that place, in the axes of pose_ab.

    >>> Weld("a", "b").rows
    (0, 1, 2, 3, 4, 5)
    """

    pose_ab: Any = field(default_factory=lambda: np.eye(4))
    name: str = ""
    rows = (0, 1, 2, 3, 4, 5)

    def __post_init__(self) -> None:
        super().__post_init__()
        T = numbers(f"{self.kind}: pose_ab", self.pose_ab, ConstraintError)
        if T.shape != (4, 4) or not se3.distance_to_se3(T) < 1e-6:
            raise ConstraintError(f"{self.kind}: pose_ab is {shown(self.pose_ab)}; expected a pose, 4×4")

    def frames(self) -> tuple[Array, Array]:
        return np.array(self.pose_ab, dtype=float), np.eye(4)


@dataclass(frozen=True, eq=False)
class Distance(AtPoints):
    """A massless rod on ball joints: point_a of link_a and point_b of link_b stay a length (m, above zero) apart.

    Its force, N, pushes the points apart where it is positive (1).

    >>> Distance("a", "b", length=2.0).length
    2.0
    """

    length: float = 1.0
    name: str = ""
    rows = (0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("Distance: length", self.length, "a length in m above zero", above=0.0, error=ConstraintError)


@dataclass(frozen=True, eq=False)
class Coupling:
    """A gear: q_joint1 = ratio · q_joint2 + offset, of two joints with one coordinate each.

    Its force is that on joint1, N·m or N; on joint2 acts −ratio times as much (1).

    >>> Coupling("left", "right", ratio=-1.0).title
    "Coupling of 'left' and 'right'"
    """

    joint1: str
    joint2: str
    ratio: float = 1.0
    offset: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for what in ("ratio", "offset"):
            number(f"Coupling: {what}", getattr(self, what), "a finite number", error=ConstraintError)
        if self.joint1 == self.joint2:
            raise ConstraintError(f"Coupling: both joints are '{self.joint1}'; expected two different ones")

    @property
    def title(self) -> str:
        """The constraint's name, or that of its kind and its joints."""
        return self.name or f"Coupling of '{self.joint1}' and '{self.joint2}'"


@dataclass(frozen=True, eq=False)
class Prescribed:
    """A joint with one coordinate that moves as told, whatever that takes: q = motion(t), in rad or m, and what it carries pushes as if it
    had no end of inertia.

    ``motion`` is a function of the time, s, and of parameters of the simulation by their names, which is differentiated twice; where it
    jumps, it is caught up with within some steps. A run begins where it is, and as fast. Its force is what drives the joint, N·m or N (1),
    and "constraints.power" has what it brings.

    >>> Prescribed("table", lambda t: 0.01 * np.sin(20.0 * t)).title
    'motion of table'
    """

    joint: str
    motion: Callable[..., Any]
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str):
            raise ConstraintError(f"Prescribed: the joint is {shown(self.joint)}; expected its name")
        if not callable(self.motion):
            raise ConstraintError(f"{self.title}: its motion is {shown(self.motion)}; expected a function of the time")

    @property
    def title(self) -> str:
        """The constraint's name, or that of its joint."""
        return self.name or f"motion of {self.joint}"


@dataclass(frozen=True, eq=False)
class Grip(Between):
    """A weld that closes at the links' relative pose of the moment while the controller commands {name: 1.0}, and lets go at 0.0.

    It closes and opens at the beginning of a step. What moves against one another as it closes is stopped by an impulse, which keeps the
    momentum. Its wrench on link_b [m; f] (6), N·m and N, is about link_b's origin, in link_b's axes as they were when it closed, which
    turn with link_a.

    >>> Grip("servicer/gripper", "target/handle").title
    'grip'
    """

    name: str = "grip"
    rows = (0, 1, 2, 3, 4, 5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name or not isinstance(self.name, str):
            raise ConstraintError(f"Grip: its name is {self.name!r}; expected a text, by which it is commanded")

    def frames(self) -> tuple[Array, Array]:
        return np.eye(4), np.eye(4)


Constraint = Between | Coupling | Prescribed


def vector(what: str, x: Any) -> Array:
    """Return x as three finite numbers."""
    found = numbers(what, x, ConstraintError)
    if found.shape != (3,):
        raise ConstraintError(f"{what} is {shown(x)}; expected three numbers")
    return found


def turning(a: Array, b: Array) -> Array:
    """Return the rotation that takes the unit vector a to b the shortest way: 1 + [w] + [w]²/(1 + a·b), w = a × b.

    >>> turning(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])) @ np.array([0.0, 0.0, 1.0])
    array([0., 1., 0.])
    """
    if 1.0 + a @ b < 1e-12:                                     # half a turn about any axis that is normal to them
        n = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return 2.0 * np.outer(n, n) / (n @ n) - np.eye(3)
    W = so3.hat(np.cross(a, b))
    rotation: Array = np.eye(3) + W + W @ W / (1.0 + a @ b)
    return rotation
