"""The interface of a campaign's storage: its manifest, its chunks put and read, and which are there and whole.

What differs from one to the other is in :mod:`engine.campaign.folder` (HDF5) and :mod:`engine.campaign.hierarchy` (Zarr).
"""

from __future__ import annotations

import abc
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.campaign.design import CampaignError
from engine.campaign.keep import numbers_within, times, words_numbers
from engine.campaign.manifest import digest_of, flat, text_of
from engine.campaign.places import Disk, Objects
from engine.checks import warn
from engine.recording import StorageError
from engine.recording.own_data import SLASH
from engine.simulation.surroundings import changed

Array = np.ndarray
ANEW = "expected it whole: run the campaign there again, and it is made anew"
#: a chunk's, in names: of six figures, or of as many as it takes
NUMBER = r"[0-9]{6}|[1-9][0-9]{6,15}"
DAMAGED = "is damaged: its bytes are not as their checksum says"
#: what is known by a fingerprint, which says nothing, in words
MADE = {"program": "what acts (a function, or what it reads)", "functions": "what plain Python does", "model_hash": "the model"}


class Storage(abc.ABC):
    """Storage of a campaign's runs, chunk by chunk.

    Attributes
    ----------
    place : where its files or objects are
    path : of the place, absolute, so that workers find it
    manifest : what it says: "campaign" (what was run), "runs", "chunk", "metrics", …; empty where nothing was begun
    digest : of the manifest, by which its chunks are known
    kind, sign : what it is called, and by what it is known, for messages
    begins : the name of what its manifest is in
    marks : what chunks are known by: a pattern of names, with the chunk's number as a group
    """

    kind: str
    sign: str
    begins: str
    marks: re.Pattern[str]

    def __init__(self, place: Disk | Objects) -> None:
        self.place, self.path = place, place.path
        self._open()

    def _open(self) -> None:
        """Take the manifest that is there."""
        self._text = self._read()
        self.manifest: dict[str, Any] = self._manifest_in(self._text) if self._text is not None else {}
        self.digest = digest_of(self.manifest)

    def _read(self) -> bytes | None:
        """Return what the manifest is in, None where nothing was begun."""
        try:
            return self.place.get(self.begins)
        except FileNotFoundError:
            return None

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
        text = text_of(manifest)
        self._begin(text)
        self._open()
        if self.digest != json.loads(text)["digest"]:
            raise self._taken()

    def warn_unsigned(self) -> None:
        """Warn of a campaign whose manifest has no digest yet, so that less is known of it."""
        if self.unsigned:
            warn(f"'{self.where(self.begins)}' is of an earlier version, and has no digest: whether it was changed since, and whether the "
                 "chunks beside it are its own, cannot be checked; expected that nobody put others there")  # fmt: skip

    @property
    def unsigned(self) -> bool:
        """True if the manifest is of a version without digests."""
        return bool(self.manifest) and "digest" not in self.manifest

    def require_own(self) -> None:
        """Refuse a place where another campaign was begun meanwhile, or that was deleted: what is written there would be among its runs."""
        if (text := self._read()) != self._text and (text is None or digest_of(self._manifest_in(text)) != self.digest):
            raise self._taken(deleted=text is None)

    def going_on(self) -> str:
        """Return what to say of going on here, of a campaign that ended early; "" where the place is not its own any more."""
        try:
            text = self._read()
            done = sum(not fault for fault in self.faults(thorough=False).values())
        except StorageError:                                                   # it cannot be asked any more
            return "; running it again goes on from what is whole there"
        if text != self._text:
            try:
                self.require_own()
            except (CampaignError, StorageError):                              # of another campaign, deleted, or edited
                return ""
        return f"; {done} of {self.chunks} chunks are whole in '{self.path}', and running it again goes on from there"

    def _taken(self, deleted: bool = False) -> CampaignError:
        what = "was deleted" if deleted else "was begun by another campaign"
        return CampaignError(f"'{self.path}' {what} while this one ran; expected a {self.kind} of its own")

    def require(self, words: Mapping[str, Any]) -> None:
        """Refuse another campaign than the one that began it; say what differs."""
        there, words = self.manifest["campaign"], json.loads(json.dumps(words))
        old, new = flat(there), flat(words)
        known = [f"{what} is another" for name, what in MADE.items() if old.pop(name, None) != new.pop(name, None)]
        differs = changed(old, new) + known
        before, now = ([*x["scatter"]] for x in (there, words))
        if not differs and there["design"] != "random" and before != now:       # whose points are drawn in that order
            differs = [f"the order of scatter is {', '.join(now)}, and was {', '.join(before)}"]
        if differs:
            more = f", and {len(differs) - 3} more" if len(differs) > 3 else ""
            raise CampaignError(f"'{self.path}' is of another campaign: {'; '.join(differs[:3])}{more}; expected the campaign that began "
                                f"it, or another {self.kind}")  # fmt: skip

    @property
    def chunks(self) -> int:
        """Number of chunks that the campaign has when it is complete."""
        return int(-(-self.manifest["runs"] // self.manifest["chunk"]))

    def span(self, k: int) -> tuple[int, int]:
        """Return the first run of a chunk, and how many it has."""
        first = k * self.manifest["chunk"]
        return first, min(self.manifest["chunk"], self.manifest["runs"] - first)

    @functools.cached_property
    def kept(self) -> Array | range:
        """The numbers of the runs that are kept."""
        return words_numbers(self.manifest["campaign"]["keep"]["runs"])

    @functools.cached_property
    def t(self) -> Array:
        """Times (T) of what is kept, s."""
        said = self.manifest["campaign"]
        if not said["keep"]["columns"]:
            return np.zeros(0)
        return times(said["dt"], said["duration"], said["record_every"])[:: said["keep"]["every"]]

    def shapes(self, k: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of a chunk's arrays, by name."""
        first, count = self.span(k)
        m, kept = self.manifest, len(numbers_within(self.kept, first, count))
        return {
            **{f"drawn/{inside(n)}": (count, *s) for n, s in m["drawn"].items()},
            **{f"metrics/{n}": (count, *x["shape"]) for n, x in m["metrics"].items()},
            **{f"kept/{inside(n)}": (kept, len(self.t), *s) for n, s in m["campaign"]["keep"]["columns"].items()},
        }  # fmt: skip

    def numbered(self, names: Iterable[str]) -> list[int]:
        """Return which chunks names of files or objects speak of."""
        found = (int(match[1]) for name in names if (match := self.marks.fullmatch(name)))
        return sorted(k for k in found if k < self.chunks)

    def strange(self, k: int, said: Mapping[str, Any]) -> str:
        """Return what is wrong with what is said of a chunk that is of another campaign, or of other runs; "" where nothing is."""
        first, count = self.span(k)
        if (digest := said.get("digest")) != self.digest and (digest or not self.unsigned):
            return "is of another campaign" if digest else "does not say of which campaign it is"
        if (said["first"], said["count"]) != (first, count):
            return f"is of runs {said['first']} … {said['first'] + said['count'] - 1}, not {first} … {first + count - 1}"
        return ""

    def write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a chunk there, whole, in place of what may be there; CampaignError where the place is another campaign's by now."""
        self.require_own()
        self._write(k, arrays, said)

    def there(self) -> list[int]:
        """Return which chunks are there, at a glance; StorageError where one is damaged."""
        faults = self.faults(thorough=False)
        if wrong := next(filter(None, faults.values()), None):
            raise StorageError(f"{wrong}; {ANEW}")
        return sorted(faults)

    # ------------------------------------------------------------ of each its own

    @abc.abstractmethod
    def _manifest_in(self, data: bytes) -> dict[str, Any]:
        """Return the manifest in what it is in, or nothing."""

    @abc.abstractmethod
    def _begin(self, text: str) -> None:
        """Put the text of a manifest there."""

    @abc.abstractmethod
    def _left(self, name: str) -> bool:
        """Return whether this name is a leftover of an interrupted creation, which does not keep a campaign from beginning here."""

    @abc.abstractmethod
    def _write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a chunk there, whole, in place of what may be there."""

    @abc.abstractmethod
    def faults(self, thorough: bool = True) -> dict[int, str]:
        """Return of the chunks that are there what is wrong with them, "" where they are whole: by every byte, or at a glance."""

    @abc.abstractmethod
    def read(self, k: int, name: str, rows: slice = slice(None)) -> Array:
        """Return rows of one of a chunk's arrays; StorageError where they are not as they were written, by this campaign."""

    @abc.abstractmethod
    def messages(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"; StorageError as of :meth:`read`."""


def inside(name: str) -> str:
    """Return a quantity's name as a storage has it, where '/' would be a group."""
    return name.replace("/", SLASH)


def are_messages(x: Any, first: int, count: int) -> bool:
    """Return whether x is what is said of runs first … first + count − 1.

    >>> are_messages({"why": {"3": "it fell"}, "notes": []}, 0, 4), are_messages({"why": {"4": "it fell"}, "notes": []}, 0, 4)
    (True, False)
    """
    if not (isinstance(x, dict) and isinstance(x.get("why"), dict) and isinstance(x.get("notes"), list)):
        return False
    named = all(i.isascii() and i.isdigit() and len(i) < 20 and first <= int(i) < first + count for i in x["why"])
    return named and all(isinstance(text, str) for text in (*x["why"].values(), *x["notes"]))


def wrong_size(size: int, expected: int) -> str:
    """Return what is wrong with something of so many bytes, "" where nothing is.

    >>> wrong_size(3, 5)
    'is cut short (3 of 5 bytes)'
    """
    return f"is cut short ({size} of {expected} bytes)" if size < expected else "has bytes behind its end" if size > expected else ""
