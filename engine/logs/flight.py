"""What a log of ROS says of a flight, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from engine.recording import StorageError

Array = np.ndarray
#: s, beyond which ROS has no stamps
LATEST = 2.0**31
#: how ROS calls the frame in which a robot is
WORLD = "world"


class Stamp(NamedTuple):
    """A time as ROS has it."""

    sec: int
    nanosec: int


@dataclass(frozen=True)
class Flight:
    """A flight of one robot.

    Attributes
    ----------
    t : s (T), never falling
    joints : names (n) of those with one coordinate; position, velocity, effort : theirs (T, n), rad or m, per s, N·m or N
    links : names (m); places (T, m, 3), m, and turns (T, m, 4), unit quaternions, scalar first, of them in the world
    description : the robot as URDF, or ""
    world : what the frame of the places is called, as no link
    outcome : how it ended, by names, in words
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

    def __post_init__(self) -> None:
        if not len(self.t):
            raise StorageError("the trajectory has no states, of which a log says nothing; expected one at least")
        if not (self.t >= 0.0).all() or not (self.t < LATEST).all():
            raise StorageError(f"times from {self.t[0]:g} to {self.t[-1]:g} s; expected them from 0, below 2^31 s, as ROS stamps them")


def nanoseconds(t: float) -> int:
    """Return a time in nanoseconds.

    >>> nanoseconds(1.25)
    1250000000
    """
    return round(t * 1e9)


def stamp(t: float) -> Stamp:
    """Return a time as ROS has it.

    >>> stamp(3.0000000004)
    Stamp(sec=3, nanosec=0)
    """
    return Stamp(*divmod(nanoseconds(t), 10**9))
