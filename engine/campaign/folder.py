"""A campaign on disk: a folder with a manifest and a shard (HDF5) for each chunk, each put there whole."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.campaign import shard
from engine.campaign.manifest import manifest_of
from engine.campaign.places import Disk
from engine.campaign.storage import ANEW, NUMBER, Storage, are_messages
from engine.recording import StorageError

Array = np.ndarray
MANIFEST = "campaign.json"


class Folder(Storage):
    """A campaign's folder."""

    kind, sign, begins = "folder", MANIFEST, MANIFEST
    marks = re.compile(rf"shard-({NUMBER})\.h5")

    def __init__(self, path: str | Path) -> None:
        self._whole: dict[int, bytes] = {}                                     # the heads of shards of which every byte was looked at
        super().__init__(Disk(path))

    def _manifest_in(self, data: bytes) -> dict[str, Any]:
        return manifest_of(data, self.where(MANIFEST))

    def _begin(self, text: str) -> None:
        self.place.put(MANIFEST, text.encode())

    def _left(self, name: str) -> bool:
        return False

    def shard(self, k: int) -> Path:
        """Return the path of a shard."""
        return Path(self.path, f"shard-{k:06d}.h5")

    def _write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        self.place.put(self.shard(k).name, shard.pack_shard(*self.span(k), self.digest, arrays, said), self.require_own)

    def faults(self, thorough: bool = True) -> dict[int, str]:
        """Return of the shards that are there what is wrong with them, "" where they are whole."""
        there = self.numbered(name for name, _ in self.place.listed())
        return {k: fault for k in there if (fault := self.fault(k, thorough)) is not None}

    def fault(self, k: int, thorough: bool = True) -> str | None:
        """Return what is wrong with a shard, "" where it is whole, None where there is none."""
        try:
            with self.shard(k).open("rb") as file:
                fault = self._fault(k, file, thorough)
        except FileNotFoundError:
            return None
        except OSError as error:
            fault = f"cannot be read ({error.strerror or error})"
        return fault and f"'{self.shard(k)}' {fault}"

    def _fault(self, k: int, file: BinaryIO, thorough: bool) -> str:
        """Return what is wrong with an open shard; of one that was seen to be whole its head alone is looked at."""
        text = file.read(shard.HEAD)
        if self._whole.get(k) == text:
            return ""
        head = shard.head_of(text)
        if head is None:
            return "is no shard, or damaged in its first bytes"
        fault = self.strange(k, head) or shard.fault(file, head, thorough)
        if thorough and not fault:
            self._whole[k] = text
        return fault

    @contextlib.contextmanager
    def _opened(self, k: int) -> Iterator[BinaryIO]:
        """Open a shard, every byte of which is as it was written."""
        path = self.shard(k)
        try:
            with path.open("rb") as file:
                if fault := self._fault(k, file, True):
                    raise StorageError(f"'{path}' {fault}; {ANEW}")
                yield file
        except FileNotFoundError:
            raise StorageError(f"'{path}' was there, and is not any more; {ANEW}") from None
        except OSError as error:
            raise StorageError(f"'{path}' cannot be read ({error.strerror or error}); {ANEW}") from None

    def read(self, k: int, name: str, rows: slice = slice(None)) -> Array:
        """Return rows of one of a shard's arrays."""
        with self._opened(k) as file:
            return shard.fetch(self.shard(k), file, name, self.shapes(k)[name], rows)

    def messages(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"."""
        with self._opened(k) as file:
            text = shard.fetch(self.shard(k), file, "said", None)
        try:
            found = json.loads(text.tobytes())
        except (ValueError, RecursionError):
            found = None
        if not are_messages(found, *self.span(k)):
            raise StorageError(f"'{self.shard(k)}' says nothing of its runs, or of others; {ANEW}")
        return found
