"""A campaign on disk: a folder with a manifest and a shard (HDF5) for each chunk, each put there whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.campaign import shard
from engine.campaign.places import Disk
from engine.campaign.storage import ANEW, Storage, manifest_of
from engine.recording import StorageError

Array = np.ndarray
MANIFEST = "campaign.json"


class Folder(Storage):
    """A campaign's folder."""

    kind, sign = "folder", MANIFEST

    def __init__(self, path: str | Path) -> None:
        super().__init__(Disk(path))
        self._whole: set[int] = set()

    def _manifest(self) -> dict[str, Any]:
        try:
            return manifest_of(self.place.get(MANIFEST), self.where(MANIFEST))
        except FileNotFoundError:
            return {}

    def _begin(self, text: str) -> None:
        self.place.put(MANIFEST, text.encode())

    def _left(self, name: str) -> bool:
        return False

    def shard(self, k: int) -> Path:
        """Return the path of a shard."""
        return Path(self.path, f"shard-{k:06d}.h5")

    def write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a shard there, whole, in place of what may be there."""
        self.place.put(self.shard(k).name, shard.packed(*self.span(k), arrays, said))

    def faults(self, thorough: bool = True) -> dict[int, str]:
        """Return of the shards that are there what is wrong with them, "" where they are whole."""
        return {k: fault for k in range(self.chunks) if (fault := self.fault(k, thorough)) is not None}

    def fault(self, k: int, thorough: bool = True) -> str | None:
        """Return what is wrong with a shard, "" where it is whole, None where there is none."""
        try:
            fault = shard.fault(self.shard(k), *self.span(k), thorough)
        except FileNotFoundError:
            return None
        except OSError as error:
            fault = f"cannot be read ({error.strerror or error})"
        return fault and f"'{self.shard(k)}' {fault}"

    def require_whole(self, k: int) -> None:
        """Make sure, once, that every byte of a shard is as it was written."""
        if k in self._whole:
            return
        if fault := self.fault(k):
            raise StorageError(f"{fault}; {ANEW}")
        if fault is None:
            raise StorageError(f"'{self.shard(k)}' was there, and is not any more; {ANEW}")
        self._whole.add(k)

    def read(self, k: int, name: str, rows: slice = slice(None)) -> Array:
        """Return rows of one of a shard's arrays."""
        return shard.fetch(self.shard(k), lambda file: file[name][rows])

    def said(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"."""
        return json.loads(self.read(k, "said").tobytes())
