"""Links and joints: the data a kinematic tree is made of."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.checks import nearest, number, path_of, shown
from engine.model.errors import ModelError
from engine.model.joint_types import KINDS, Kind, Limits

Array = NDArray[np.float64]
#: characters that no XML file can hold
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
ONE = np.eye(3)
#: one of read-only classes
Own = TypeVar("Own", bound="ReadOnly")
#: numbers in the size of a shape
SIZES = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1, "ellipsoid": 3, "heightfield": 2, "mesh": 3}


def require_name(what: str, name: Any) -> None:
    """Refuse what is no name of a link or a joint: files and recordings hold none that is empty, or has control characters."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {what} is named {name!r}; expected a text")
    if not name.isprintable() and CONTROL.search(name):
        raise ModelError(f"a {what} is named {name!r}; expected a text without control characters")


def frozen(x: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return a read-only float array of the given shape, all finite."""
    try:
        if np.iscomplexobj(x):
            raise TypeError
        a = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {x!r}; expected an array of {shape} numbers") from None
    if a.shape != shape:
        raise ModelError(f"{what} has shape {a.shape}; expected {shape}")
    if not np.isfinite(a).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
        raise ModelError(f"{what}[{', '.join(map(str, first))}] is {a[first]}; expected finite numbers")
    a.flags.writeable = False
    return a


def frozen_pose(T: Any, what: str) -> Array:
    """Return a pose (4, 4) as a read-only array; refuse what is no rigid motion."""
    T = frozen(T, (4, 4), what)
    R, (x, y, z, last) = T[:3, :3], T.tolist()
    turned = x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) + x[2] * (y[0] * z[1] - y[1] * z[0])     # its det
    if np.abs(R @ R.T - ONE).max() > 1e-9 or turned < 0.0 or last != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError(f"{what} is no pose; expected a rotation, a position and the last row 0 0 0 1")
    return T


class ReadOnly:
    """Base of classes whose arrays are read-only, also after pickle, which drops that."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for x in state.values():
            if isinstance(x, np.ndarray):
                x.flags.writeable = False

    def called(self: Own, **names: Any) -> Own:
        """Return the same with other texts and what holds them: its numbers are not checked, nor copied, again.

        >>> Link("base").called(name="arm/base").name
        'arm/base'
        """
        require_name(type(self).__name__.lower(), names["name"])
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **names)
        return made


@dataclass(frozen=True, eq=False)
class Material:
    """A surface's look: colour as red, green, blue, opacity in [0, 1], and a texture file; ``fault`` says why it has none.

    >>> Material("orange", (0.93, 0.50, 0.12, 1.0)).color
    (0.93, 0.5, 0.12, 1.0)
    """

    name: str = ""
    color: tuple[float, float, float, float] | None = None
    texture: Path | None = None
    fault: str = ""


@dataclass(frozen=True, eq=False)
class Geometry(ReadOnly):
    """A shape carried by a link: ``kind`` is box, cylinder, capsule, sphere, ellipsoid, heightfield or mesh.

    ``size`` is (x, y, z) for a box, (radius, length) for a cylinder or a capsule, (radius,) for a sphere, the radii along x, y, z of an
    ellipsoid, the lengths (x, y) of a height field, and the scale (x, y, z) of a mesh, in metres, none of them negative but a scale's;
    ``placement`` is its pose in the link's frame. A height field is solid ground under ``heights`` (ny, nx), m, on a grid about its
    origin, row 0 at the least y, column 0 at the least x, bilinear between, and level for ever beyond its border; shapes meet it with
    their corners, or what lies lowest, and summits between those are not seen. URDF knows neither it nor ellipsoids. A mesh's file is
    read when someone asks for it (``engine.io``): ``uri`` is its name as written, ``mesh`` where it lies (a path, or its text), and where
    it was not found ``fault`` says why. ``up_axis`` says whether a COLLADA file is turned so that its axis that points up is z; None:
    a robot's joints decide where it is drawn or touched (``engine.io.upright``), and who reads it alone has it as written, with a warning.

    >>> Geometry("cylinder", (0.1, 0.5)).size
    (0.1, 0.5)
    """

    kind: str
    size: tuple[float, ...]
    placement: Array = field(default_factory=lambda: np.eye(4))
    mesh: Path | None = None
    material: Material | None = None
    name: str = ""
    uri: str = ""
    fault: str = ""
    heights: Array | None = None
    up_axis: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in SIZES:
            raise ModelError(f"a shape is of the kind {self.kind!r}{nearest(str(self.kind), SIZES)}; expected one of {', '.join(SIZES)}")
        try:
            size = tuple(map(float, self.size))
        except (TypeError, ValueError):
            size = ()
        if len(size) != SIZES[self.kind] or not all(map(isfinite, size)):
            raise ModelError(f"the size of a {self.kind} is {self.size!r}; expected a tuple of {SIZES[self.kind]} finite numbers")
        if self.kind != "mesh" and min(size) < 0.0:
            raise ModelError(f"the size of a {self.kind} is {self.size!r}; expected numbers from zero")
        object.__setattr__(self, "size", size)
        if (self.heights is None) == (self.kind == "heightfield"):
            raise ModelError(f"the heights of a {self.kind} are {'missing' if self.heights is None else 'given'}; expected them of a "
                             "heightfield, and of no other shape")  # fmt: skip
        if self.heights is not None:
            shape = np.shape(self.heights)
            if len(shape) != 2 or min(shape) < 2 or min(size) <= 0.0:
                raise ModelError(f"a heightfield has the size {size} and heights of the shape {shape}; expected lengths above zero, and "
                                 "heights (ny, nx), each at least 2")  # fmt: skip
            object.__setattr__(self, "heights", frozen(self.heights, shape, "the heights of a heightfield"))
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"the placement of a {self.kind}"))
        if self.mesh is not None:
            object.__setattr__(self, "mesh", path_of(self.mesh, ModelError))


@dataclass(frozen=True, eq=False, repr=False)
class Link(ReadOnly):
    """A rigid link: its name, its spatial inertia G (6×6, about the link's origin) and what it looks like.

    >>> Link("tool").mass
    0.0
    """

    name: str
    inertia: Array = field(default_factory=lambda: np.zeros((6, 6)))
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()

    def __post_init__(self) -> None:
        require_name("link", self.name)
        if isinstance(self.inertia, np.ndarray) and self.inertia.dtype.hasobject:       # traced: a parameter of a simulation
            return
        G = frozen(self.inertia, (6, 6), f"link '{self.name}': inertia")
        if np.abs(G - G.T).max() > 1e-9 * np.abs(G).max():
            raise ModelError(f"link '{self.name}': inertia is not symmetric (by up to {np.abs(G - G.T).max():.3g})")
        if G[5, 5] < 0:
            raise ModelError(f"link '{self.name}': mass is {G[5, 5]:g} kg; expected zero or more")
        object.__setattr__(self, "inertia", G)

    def __repr__(self) -> str:
        return f"Link('{self.name}', {self.mass:.6g} kg)"

    @property
    def shapes(self) -> tuple[str, ...]:
        """The names of its collision shapes: "link/shape", by a shape's own name, or where that is none by its number among them.

        >>> Link("foot", collisions=(Geometry("sphere", (0.1,), name="heel"), Geometry("sphere", (0.1,)))).shapes
        ('foot/heel', 'foot/1')
        """
        often = Counter(g.name for g in self.collisions)
        plain = {n for n, times in often.items() if n and times == 1 and "/" not in n and not n.isdigit()}
        return tuple(f"{self.name}/{g.name if g.name in plain else k}" for k, g in enumerate(self.collisions))

    @property
    def mass(self) -> Any:
        """m (kg): a float, or traced where it is a parameter of a simulation."""
        m = self.inertia[5, 5]
        return m if self.inertia.dtype.hasobject else float(m)


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = ratio · q_source + offset.

    >>> Mimic("left_finger", ratio=-1.0).source
    'left_finger'
    """

    source: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Joint(ReadOnly):
    """A joint from link ``parent`` to link ``child``.

    Parameters
    ----------
    kind : one of ``KINDS``: revolute, continuous, prismatic, screw, fixed, universal, planar, spherical, floating
    placement : T_PJ, pose of the joint frame (the child's frame at q neutral) in the parent's frame, 4×4
    axis, axis2 : directions in the joint frame, normalised here; ``axis2`` is the universal joint's second
    pitch : metres per radian of a screw
    damping, friction : N·m·s/rad and N·m (N·s/m and N), per velocity of the joint
    armature : inertia of the motor's rotor as the joint feels it, per velocity of the joint: kg·m² (kg), zero or more; it counts in the
        joint-space inertia alone, and is no part of the links

    >>> Joint("elbow", "revolute", "upper", "fore", axis=(0, 2, 0), damping=0.1).axis
    array([0., 1., 0.])
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    axis2: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    pitch: float = 0.0
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    armature: float = 0.0

    def __post_init__(self) -> None:
        here = f"joint '{self.name}'"
        require_name("joint", self.name)
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ModelError(f"{here}: kind is {self.kind!r}{nearest(str(self.kind), KINDS)}; expected one of {', '.join(KINDS)}")
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"{here}: placement"))
        for which in ("axis", "axis2"):
            a = frozen(getattr(self, which), (3,), f"{here}: {which}")
            length = float(np.linalg.norm(a))
            if length < 1e-9:
                raise ModelError(f"{here}: {which} is {a.tolist()}; expected a direction")
            object.__setattr__(self, which, frozen(a if abs(length - 1) < 1e-15 else a / length, (3,), which))
        if self.kind == "universal" and np.linalg.norm(np.cross(self.axis, self.axis2)) < 1e-6:
            raise ModelError(f"{here}: axis and axis2 are parallel; expected two directions")
        for which in ("pitch", "damping", "friction"):
            number(f"{here}: {which}", getattr(self, which), "a finite number", error=ModelError)
        number(f"{here}: armature", self.armature, "a finite number, zero or more", least=0.0, error=ModelError)
        for which, kind in (("limits", Limits), ("mimic", Mimic | None)):
            if not isinstance(getattr(self, which), kind):
                raise ModelError(f"{here}: {which} is {getattr(self, which)!r}; expected {which.capitalize()}(...)")
        for which, x in vars(self.limits).items():
            if type(x) is not float and (isinstance(x, bool) or not isinstance(x, (float, int, np.floating, np.integer))):
                raise ModelError(f"{here}: {which} of its limits is {shown(x)}; expected a number, infinite where there is no limit")
            if x != x:
                raise ModelError(f"{here}: its limits hold NaN ({self.limits}); expected numbers")
        if (low := self.limits.lower) > (high := self.limits.upper):
            raise ModelError(f"{here}: the lower limit {low:g} exceeds the upper one, {high:g}; expected a range")
        if low == np.inf or high == -np.inf:
            raise ModelError(f"{here}: both limits are {low:g}; expected a range, -inf … inf for none")
        if self.mimic is not None and self.type.nv > 1:
            raise ModelError(f"{here}: a {self.kind} joint cannot mimic '{self.mimic.source}'; expected a joint with one coordinate")
        if self.mimic is not None:
            number(f"{here}: the ratio of its mimic", self.mimic.ratio, "a finite number", error=ModelError)
            number(f"{here}: the offset of its mimic", self.mimic.offset, "a finite number", error=ModelError)

    def __repr__(self) -> str:
        return f"Joint('{self.name}', {self.kind}, '{self.parent}' → '{self.child}')"

    @property
    def type(self) -> Kind:
        """The row of ``KINDS`` that says what the joint does."""
        return KINDS[self.kind]
