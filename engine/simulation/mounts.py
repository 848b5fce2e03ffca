"""Mounting of the sensors that a motion was recorded with: what logs for other tools say of their signals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from engine.components.law import NOW
from engine.components.makers import Maker
from engine.recording import Recording, StorageError
from engine.spatial import so3

Array = np.ndarray
#: what else is known of sensors, by its name: how many numbers it is, None of any number; of texts "joints" and "of"
ABOUT = {"direction": 3, "near": 0, "far": 0, "azimuths": None, "elevations": None, "period": 0, "latency": 0, "phase": 0}
#: of these, s, of which a period is no less than any
TIMES = ("period", "latency", "phase")
#: what an "of" may be
QUANTITIES = ("position", "velocity", "effort")


class Mount(NamedTuple):
    """A sensor: its kind, the link that it is on, "" where it is on none, its pose (4, 4) in that link's frame, and what else says what
    its numbers are: which ``joints`` it reads, in which ``direction`` it looks, …; of one that does not sample at every step, or is read
    later, its ``period``, ``latency`` and ``phase``, s"""

    kind: str
    link: str
    pose: Array
    about: Mapping[str, Any] = MappingProxyType({})


def mounts_of(makers: Iterable[Maker]) -> dict[str, Mount]:
    """Return the sensors among what makes signals, by name."""
    return {maker.name: Mount(*maker.mounted, {**maker.about, **times_of(maker)}) for maker in makers if maker.mounted is not None}


def times_of(maker: Maker) -> dict[str, float]:
    """Return when a sensor samples, and how much later that is read, s; nothing of one that samples at every step and is read at once."""
    law = maker.called.law
    if law.period is None and not law.delay:
        return {}
    return {"period": float(maker.period), "latency": law.delay, "phase": law.phase}


class Samples(NamedTuple):
    """The samples that a motion's records hold: in which ``records`` (n) each is the first time, when it was ``taken`` (n), and when it
    ``came`` (n), s."""

    records: Array
    taken: Array
    came: Array


def samples_of(mount: Mount, t: Array) -> Samples | None:
    """Return the samples of a sensor that records at times t (T) hold: of those between two records the last alone. None of a sensor that
    samples at every step. The first record's may be of before it.

    >>> samples_of(Mount("Gyro", "", np.eye(4), {"period": 0.2, "latency": 0.1, "phase": 0.0}), np.linspace(0.0, 0.5, 6))
    Samples(records=array([1, 3, 5]), taken=array([0. , 0.2, 0.4]), came=array([0.1, 0.3, 0.5]))
    """
    if "period" not in mount.about:
        return None
    period, latency, phase = (float(mount.about.get(n, 0.0)) for n in TIMES)
    last = np.floor((t - phase - latency) / period + NOW).astype(int)
    records = np.flatnonzero((last >= 0) & (np.diff(last, prepend=-1) > 0))
    taken = phase + period * last[records]
    return Samples(records, taken, np.clip(taken + latency, t[0], t[records]))


def as_data(mounts: Mapping[str, Mount]) -> dict[str, Any]:
    """Return sensors as plain data, for the header of a file."""
    return {n: {"kind": m.kind, "link": m.link, "pose": m.pose.tolist(), **({"about": dict(m.about)} if m.about else {})}
            for n, m in mounts.items()}  # fmt: skip


def is_about(x: Any) -> bool:
    """Return whether x is a description of a sensor as :attr:`Mount.about` may be: ABOUT's numbers, names of joints, and a quantity.

    >>> is_about({"joints": ["hip"], "of": "effort"}), is_about({"near": [0.0]})
    (True, False)
    """
    if not isinstance(x, dict):
        return False
    texts = {"joints": lambda y: isinstance(y, list) and all(isinstance(n, str) for n in y), "of": lambda y: y in QUANTITIES}
    for name, y in x.items():
        if name in texts:
            good = texts[name](y)
        else:
            numbers = np.asarray(y, dtype=float)
            n = ABOUT[name]
            good = bool(np.isfinite(numbers).all()) and numbers.shape == (() if n == 0 else (len(y),)) and (not n or len(y) == n)
            good = good and (name not in TIMES or bool(numbers > 0.0 if name == "period" else numbers >= 0.0))
        if not good:
            return False
    return True


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
            about = x.get("about", {})
            found[name] = Mount(str(x["kind"]), str(x["link"]), pose := np.array(x["pose"], dtype=float), about)
            good = x["link"] in known and pose.shape == (4, 4) and so3.are_rotations(pose[:3, :3]) and np.isfinite(pose).all()
            good = good and is_about(about)
        except (AttributeError, TypeError, KeyError, ValueError, OverflowError):
            good = False
        if not good:
            raise StorageError(f"header['sensors'] of '{recording.path}' says of '{name!s:.40}' {x!r:.80}; expected its kind, a link of "
                               "the robot and its pose there, 4 × 4 numbers, and of what it reads")  # fmt: skip
    return found
