"""A flight for ROS logs, as plain arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from engine.checks import shown
from engine.recording import StorageError

Array = np.ndarray
#: s, beyond which ROS has no stamps
LATEST = 2.0**31
#: how ROS calls the frame in which a robot is
WORLD = "world"
#: by how much a unit quaternion's length may differ from one
UNIT = 1e-6
#: names of topics and frames of one robot of several: parts with / after each
PREFIX = re.compile(r"([A-Za-z_][A-Za-z0-9_]*/)*")


class Stamp(NamedTuple):
    """Times as ROS has them."""

    sec: Array
    nanosec: Array


class Inertial(NamedTuple):
    """Readings of a gyro, an accelerometer or both, in the axes of a frame: rates (T, 3), rad/s, and specific force (T, 3), m/s²; None for
    a sensor that is missing.

    >>> import numpy as np
    >>> from engine.logs import Inertial
    >>> Inertial("imu", rate=np.zeros((2, 3))).force is None  # no accelerometer
    True
    """

    frame: str
    rate: Array | None = None
    force: Array | None = None


class Wrench(NamedTuple):
    """A force (T, 3), N, and a moment (T, 3), N·m, about the origin of a frame, in its axes.

    >>> import numpy as np
    >>> from engine.logs import Wrench
    >>> Wrench("wrist", np.array([[0, 0, -5.0]]), np.zeros((1, 3))).force[0]
    array([ 0.,  0., -5.])
    """

    frame: str
    force: Array
    moment: Array


class Distances(NamedTuple):
    """Ranges of rays (T, m, n), m, ``far`` where they meet nothing nearer: n rays at azimuths (n), rad, from x about z, in each of m rows
    at elevations (m) from the plane of x and y of a frame; None of both: one ray, along x.

    >>> import numpy as np
    >>> from engine.logs import Distances
    >>> Distances("lidar", np.full((2, 1, 3), 4.0), 0.1, 9.0, np.array([-0.5, 0.0, 0.5]), np.zeros(1)).distance.shape
    (2, 1, 3)
    """

    frame: str
    distance: Array
    near: float
    far: float
    azimuths: Array | None = None
    elevations: Array | None = None


class Field(NamedTuple):
    """A magnetic field (T, 3), T, in the axes of a frame.

    >>> import numpy as np
    >>> from engine.logs import Field
    >>> Field("compass", np.array([[2e-5, 0, -4e-5]])).frame
    'compass'
    """

    frame: str
    field: Array


class OfJoints(NamedTuple):
    """Readings of sensors of joints (n), (T, n): ``what`` is "position", "velocity" or "effort".

    >>> import numpy as np
    >>> from engine.logs import OfJoints
    >>> OfJoints(["hip", "knee"], "position", np.zeros((5, 2))).what
    'position'
    """

    joints: Sequence[str]
    what: str
    read: Array


@dataclass(frozen=True)
class Flight:
    """A flight of one robot.

    Attributes
    ----------
    t : s (T), never falling
    joints : names (n) of those with one coordinate; position, velocity, effort : theirs (T, n), rad or m, per s, N·m or N
    links : names (m) of links, and of sensors' frames; places (T, m, 3), m, and turns (T, m, 4), unit quaternions, scalar first, of them
        in the world
    description : the robot as URDF, or ""
    world : what the frame of the places is called, as no link
    outcome : how it ended, by names, in words
    inertial, wrenches, distances, fields, of_joints : what sensors read, by their names
    samples : of those that do not sample at every state, by name: of each sample which state holds it first, when it was taken, and when it
        came, s, no later than that state; of others each state is one
    prefix : of topics, and of all frames but the world: "arm1/"

    Raises
    ------
    StorageError : arrays do not belong together, times fall, or are none of ROS's, quaternions are no unit ones, two frames have one name

    >>> Flight(np.zeros(1), ["hip"], *np.zeros((3, 1, 2)), [], np.zeros((1, 0, 3)), np.zeros((1, 0, 4)))
    Traceback (most recent call last):
    ...
    engine.recording.journaled_file.StorageError: position of a flight has shape (1, 2); expected (1, 1)
    """

    t: Array
    joints: Sequence[str]
    position: Array
    velocity: Array
    effort: Array
    links: Sequence[str]
    places: Array
    turns: Array
    description: str = ""
    world: str = WORLD
    outcome: Mapping[str, str] = field(default_factory=dict)
    inertial: Mapping[str, Inertial] = field(default_factory=dict)
    wrenches: Mapping[str, Wrench] = field(default_factory=dict)
    prefix: str = ""
    distances: Mapping[str, Distances] = field(default_factory=dict)
    fields: Mapping[str, Field] = field(default_factory=dict)
    of_joints: Mapping[str, OfJoints] = field(default_factory=dict)
    samples: Mapping[str, tuple[Array, Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.t):
            raise StorageError("the trajectory has no states, of which a log says nothing; expected one at least")
        if not (self.t >= 0.0).all() or not (self.t < LATEST).all():
            raise StorageError(f"times from {self.t[0]:g} to {self.t[-1]:g} s; expected them from 0, below 2^31 s, as ROS stamps them")
        if (np.diff(self.t) < 0.0).any():
            k = int(np.argmax(np.diff(self.t) < 0.0))
            raise StorageError(f"times fall from {self.t[k]:g} to {self.t[k + 1]:g} s; expected each at the one before, or after it")
        for name, (x, shape) in self.arrays().items():
            if x is not None and np.shape(x) != shape:
                raise StorageError(f"{name} of a flight has shape {np.shape(x)}; expected {shape}")
        lengths = np.linalg.norm(self.turns, axis=-1)
        if (np.abs(lengths[np.isfinite(lengths)] - 1.0) > UNIT).any():         # those that are not finite are said as they are
            raise StorageError("turns of a flight are no unit quaternions; expected |q| = 1")
        for what, names in (("joints", self.joints), ("frames", [self.world, *self.links])):
            if len({*names}) < len(names):
                twice = next(n for k, n in enumerate(names) if n in names[:k])
                raise StorageError(f"{what} of a flight have the name '{twice}' twice; expected each once")
        for frame in (x.frame for each in (self.inertial, self.wrenches, self.distances, self.fields) for x in each.values()):
            if frame not in ("", self.world, *self.links):
                raise StorageError(f"a sensor of a flight is in the frame '{frame}', which there is not; expected a link's")
        require_prefix(self.prefix, StorageError)

    def arrays(self) -> dict[str, tuple[Array | None, tuple[int, ...]]]:
        """Return its arrays by name, each with the shape that it is to have."""
        T, n, m = len(self.t), len(self.joints), len(self.links)
        shapes = {"t": (T,), **dict.fromkeys(("position", "velocity", "effort"), (T, n)), "places": (T, m, 3), "turns": (T, m, 4)}
        read = {f"{what} of '{name}'": x for each in (self.inertial, self.wrenches, self.fields) for name, one in each.items()
                for what, x in one._asdict().items() if what != "frame"}  # fmt: skip
        sized: dict[str, tuple[Array | None, tuple[int, ...]]] = {}
        sized |= {f"what is read by '{name}'": (x.read, (T, len(x.joints))) for name, x in self.of_joints.items()}
        sized |= {f"distance of '{name}'": (x.distance, (T, rows(x.elevations), rows(x.azimuths))) for name, x in self.distances.items()}
        return {name: (getattr(self, name), shape) for name, shape in shapes.items()} | {n: (x, (T, 3)) for n, x in read.items()} | sized

    def framed(self, name: str) -> str:
        """Return a frame's name as others hear it: with the prefix, which the world, that robots share, has not."""
        return name if name in ("", self.world) else f"{self.prefix}{name}"


def rows(angles: Array | None) -> int:
    """Return how many angles there are; one of a single ray."""
    return 1 if angles is None else len(angles)


def require_prefix(prefix: str, error: type[Exception]) -> str:
    """Return a prefix of topics and frames, as ROS 2 has them.

    >>> require_prefix("arm1/", ValueError)
    'arm1/'
    """
    if not isinstance(prefix, str) or not PREFIX.fullmatch(prefix):
        raise error(f"prefix is {shown(prefix)}; expected letters, digits and _, with / after each part, such as 'arm1/'")
    return prefix


def topics_of(names: Sequence[str]) -> dict[str, str]:
    """Return for each signal's name one that may be a part of a topic, each once.

    >>> topics_of(["wrist.left", "wrist_left", "2nd"])
    {'wrist.left': 'wrist_left', 'wrist_left': 'wrist_left_2', '2nd': '_2nd'}
    """
    found: dict[str, str] = {}
    for name in names:
        own = base = re.sub(r"^(?=\d|$)|[^A-Za-z0-9_]", "_", name)
        k = 2
        while own in found.values():
            own, k = f"{base}_{k}", k + 1
        found[name] = own
    return found


def nanoseconds(t: Array) -> Array:
    """Return times in whole nanoseconds.

    >>> nanoseconds(np.array([1.25, 3.0000000004]))
    array([1250000000, 3000000000])
    """
    return np.rint(t * 1e9).astype(np.int64)


def stamp(t: Array) -> Stamp:
    """Return times as ROS has them.

    >>> stamp(np.array([1.25, 3.0000000004]))
    Stamp(sec=array([1, 3]), nanosec=array([250000000,         0]))
    """
    return Stamp(*divmod(nanoseconds(t), 10**9))
