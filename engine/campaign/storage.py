"""What is asked of where runs are put: a campaign's manifest, to put a chunk there, to say which are there and whole, and to read of one.

What differs from one to the other is in :mod:`engine.campaign.folder` (HDF5) and :mod:`engine.campaign.hierarchy` (Zarr).
"""

from __future__ import annotations

import abc
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.campaign.design import CampaignError
from engine.campaign.places import Disk, Objects
from engine.recording import StorageError
from engine.simulation.surroundings import changed

Array = np.ndarray
FORMAT = 1
ANEW = "expected it whole: run the campaign there again, and it is made anew"
DAMAGED = "is damaged: its bytes are not as their checksum says"


class Storage(abc.ABC):
    """Where a campaign's runs are, chunk by chunk.

    Attributes
    ----------
    place : where its files or objects are
    path : of the place, absolute, so that workers find it
    manifest : what it says: "campaign" (what was run), "runs", "chunk", "metrics", …; empty where nothing was begun
    kind, sign : what it is called, and by what it is known, for messages
    """

    kind: str
    sign: str

    def __init__(self, place: Disk | Objects) -> None:
        self.place, self.path = place, place.path
        self.manifest: dict[str, Any] = self._manifest()

    def where(self, name: str) -> str:
        """Return the path of a file or an object."""
        return f"{self.path}/{name}"

    def require_free(self, size: int) -> None:
        """Refuse a place that is neither new nor empty, or has no room for so many bytes."""
        if any(not self._left(name) for name, _ in self.place.listed()):
            raise StorageError(f"'{self.path}' is there, and is no campaign's {self.kind}; expected a new one, an empty one, or a "
                               "campaign's")  # fmt: skip
        self.place.require_room(size)

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest of a new campaign."""
        text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False)
        self._begin(text)
        self.manifest = json.loads(text)

    def require(self, words: Mapping[str, Any]) -> None:
        """Refuse another campaign than the one that began it; say what differs."""
        there = flat(self.manifest.get("campaign", {}))
        if differs := changed(there, flat(json.loads(json.dumps(words)))):
            more = f", and {len(differs) - 3} more" if len(differs) > 3 else ""
            raise CampaignError(f"'{self.path}' is of another campaign: {'; '.join(differs[:3])}{more}; expected the campaign that began "
                                f"it, or another {self.kind}")  # fmt: skip

    @property
    def chunks(self) -> int:
        """How many there are to be."""
        return int(-(-self.manifest["runs"] // self.manifest["chunk"]))

    def span(self, k: int) -> tuple[int, int]:
        """Return the first run of a chunk, and how many it has."""
        first = k * self.manifest["chunk"]
        return first, min(self.manifest["chunk"], self.manifest["runs"] - first)

    def there(self) -> list[int]:
        """Return which chunks are there, at a glance; StorageError where one is damaged."""
        faults = self.faults(thorough=False)
        if wrong := next(filter(None, faults.values()), None):
            raise StorageError(f"{wrong}; {ANEW}")
        return sorted(faults)

    # ------------------------------------------------------------ of each its own

    @abc.abstractmethod
    def _manifest(self) -> dict[str, Any]:
        """Return the manifest that is there, or nothing."""

    @abc.abstractmethod
    def _begin(self, text: str) -> None:
        """Put the text of a manifest there."""

    @abc.abstractmethod
    def _left(self, name: str) -> bool:
        """Return whether a file or an object is what a beginning that was killed has left."""

    @abc.abstractmethod
    def write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a chunk there, whole, in place of what may be there."""

    @abc.abstractmethod
    def faults(self, thorough: bool = True) -> dict[int, str]:
        """Return of the chunks that are there what is wrong with them, "" where they are whole: by every byte, or at a glance."""

    @abc.abstractmethod
    def require_whole(self, k: int) -> None:
        """Make sure, once, that a chunk is there, and that whatever is read of it is as it was written."""

    @abc.abstractmethod
    def read(self, k: int, name: str, rows: slice = slice(None)) -> Array:
        """Return rows of one of a chunk's arrays."""

    @abc.abstractmethod
    def said(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"."""


def inside(name: str) -> str:
    """Return a quantity's name as a storage has it, where '/' would be a group."""
    return name.replace("/", "∕")


def manifest_of(text: str | bytes, path: Path | str) -> dict[str, Any]:
    """Return a manifest; StorageError where it is none."""
    try:
        found = json.loads(text)
        good = found["format"] == FORMAT and found["runs"] >= 1 and found["chunk"] >= 1 and isinstance(found["campaign"], dict)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise StorageError(f"'{path}' is no manifest of a campaign, or damaged; expected the text that the campaign wrote")
    return found


def wrong_size(size: int, expected: int) -> str:
    """Return what is wrong with something of so many bytes, "" where nothing is.

    >>> wrong_size(3, 5)
    'is cut short (3 of 5 bytes)'
    """
    return f"is cut short ({size} of {expected} bytes)" if size < expected else "has bytes behind its end" if size > expected else ""


def wrong_runs(found: Mapping[str, int], first: int, count: int) -> str:
    """Return what is wrong with what is of other runs than it should be, "" where nothing is."""
    if (found["first"], found["count"]) == (first, count):
        return ""
    return f"is of runs {found['first']} … {found['first'] + found['count'] - 1}, not {first} … {first + count - 1}"


def flat(x: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a nest of dictionaries, by "name.name"."""
    if not isinstance(x, Mapping):
        return {path: x}
    return {n: y for name, part in x.items() for n, y in flat(part, f"{path}.{name}" if path else str(name)).items()}
