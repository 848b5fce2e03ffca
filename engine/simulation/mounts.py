"""Which sensors a motion was recorded with, and where they are: what logs for other tools say of their signals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.components.makers import Maker
from engine.recording import Recording, StorageError
from engine.spatial import so3

Array = np.ndarray


class Mount(NamedTuple):
    """A sensor: its kind, the link that it is on, "" where it is on none, and its pose (4, 4) in that link's frame."""

    kind: str
    link: str
    pose: Array


def mounts_of(makers: Iterable[Maker]) -> dict[str, Mount]:
    """Return the sensors among what makes signals, by name."""
    return {maker.name: Mount(*maker.mounted) for maker in makers if maker.mounted is not None}


def as_data(mounts: Mapping[str, Mount]) -> dict[str, Any]:
    """Return sensors as plain data, for the header of a file."""
    return {n: {"kind": m.kind, "link": m.link, "pose": m.pose.tolist()} for n, m in mounts.items()}


def mounts_in(recording: Recording, links: Iterable[str]) -> dict[str, Mount]:
    """Return the sensors in a file, of a robot with these links; none of a file that names none.

    Raises
    ------
    StorageError : one is on a link that there is not, or has no pose
    """
    said, found = recording.header.get("sensors", {}), {}
    known = {"", *links}
    for name, x in said.items() if isinstance(said, dict) else [("", said)]:
        try:
            found[name] = Mount(str(x["kind"]), str(x["link"]), pose := np.array(x["pose"], dtype=float))
            good = x["link"] in known and pose.shape == (4, 4) and so3.are_rotations(pose[:3, :3]) and np.isfinite(pose).all()
        except (TypeError, KeyError, ValueError, OverflowError):
            good = False
        if not good:
            raise StorageError(f"header['sensors'] of '{recording.path}' says of '{name!s:.40}' {x!r:.80}; expected its kind, a link of "
                               "the robot and its pose there, 4 × 4 numbers")  # fmt: skip
    return found
