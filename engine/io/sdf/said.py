"""What an SDF file says besides the tree: as plain data, of which a simulation makes what acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


class Part(NamedTuple):
    """Something that acts: the name of its class ("Hinge", "JointSpring", …), and the arguments that this is made with."""

    kind: str
    values: Mapping[str, Any]


class Said(NamedTuple):
    """What a file says besides links and joints.

    Attributes
    ----------
    q : the configuration in which the file has the robot (nq)
    gravity : m/s² (3), and dt, s; None: nothing is said
    constraints : what holds exactly: Ball, Hinge, Slider, Weld, Coupling
    forces : springs in joints, and what holds links against gravity
    contacts : a part "Contacts", or None
    """

    q: Array
    gravity: tuple[float, float, float] | None = None
    dt: float | None = None
    constraints: tuple[Part, ...] = ()
    forces: tuple[Part, ...] = ()
    contacts: Part | None = None


def plain(x: Any) -> Any:
    """Return an array as tuples of numbers."""
    return tuple(plain(y) for y in x) if np.ndim(x) else float(x)
