"""A campaign on disk: a folder with a manifest and a shard for each chunk, each put there whole.

All that is asked of a storage: its manifest, to put a shard there, to say which are there and whole, and to read of one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.campaign import shard
from engine.campaign.design import CampaignError
from engine.checks import path_of, writing
from engine.recording import StorageError
from engine.simulation.surroundings import changed

Array = np.ndarray
MANIFEST = "campaign.json"
FORMAT = 1
PARTIAL = ".partial"
ANEW = "expected it whole: run the campaign into this folder again, and it is made anew"


class Folder:
    """A campaign's folder.

    Attributes
    ----------
    path : absolute, so that workers find it
    manifest : what it says: "campaign" (what was run), "runs", "chunk", "metrics", …; empty where nothing was begun
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.abspath(path_of(path, StorageError)))
        self.manifest: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            self.manifest = manifest_in(self.path / MANIFEST)

    def require_free(self, size: int) -> None:
        """Refuse a folder that is neither new nor empty, or on a disk that has no room for so many bytes."""
        if self.path.exists() and (not self.path.is_dir() or any(not name.endswith(PARTIAL) for name in os.listdir(self.path))):
            raise StorageError(f"'{self.path}' is there, and is no campaign's folder; expected a new one, an empty one, or a campaign's")

        disk = next(p for p in (self.path, *self.path.parents) if p.exists())
        if size > (free := shutil.disk_usage(disk).free):
            raise CampaignError(f"the campaign takes {gib(size)} ({size} bytes), and the disk of '{self.path}' has {gib(free)} free "
                                f"({free} bytes); expected fewer runs, or that less of them is kept")  # fmt: skip

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest of a new campaign."""
        text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False)
        self._put(MANIFEST, text.encode())
        self.manifest = json.loads(text)

    def require(self, words: Mapping[str, Any]) -> None:
        """Refuse another campaign than the one that began the folder; say what differs."""
        there = flat(self.manifest.get("campaign", {}))
        if differs := changed(there, flat(json.loads(json.dumps(words)))):
            more = f", and {len(differs) - 3} more" if len(differs) > 3 else ""
            raise CampaignError(f"'{self.path}' is of another campaign: {'; '.join(differs[:3])}{more}; expected the campaign that began "
                                "it, or another folder")  # fmt: skip

    # ------------------------------------------------------------ shards

    @property
    def chunks(self) -> int:
        """How many there are to be."""
        return int(-(-self.manifest["runs"] // self.manifest["chunk"]))

    def span(self, k: int) -> tuple[int, int]:
        """Return the first run of a chunk, and how many it has."""
        first = k * self.manifest["chunk"]
        return first, min(self.manifest["chunk"], self.manifest["runs"] - first)

    def place(self, k: int) -> Path:
        """Return the path of a shard."""
        return self.path / f"shard-{k:06d}.h5"

    def write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a shard there, whole, in place of what may be there."""
        self._put(self.place(k).name, shard.packed(*self.span(k), arrays, said))

    def fault(self, k: int, thorough: bool = True) -> str | None:
        """Return what is wrong with a shard, "" where it is whole, None where there is none."""
        try:
            return shard.fault(self.place(k), *self.span(k), thorough)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be read ({error.strerror or error})"

    def require_whole(self, k: int, thorough: bool = True) -> bool:
        """Return whether a shard is there; StorageError where it is damaged."""
        if fault := self.fault(k, thorough):
            raise StorageError(f"'{self.place(k)}' {fault}; {ANEW}")
        return fault is not None

    def read(self, k: int, name: str, rows: Any = ...) -> Array:
        """Return rows of one of a shard's arrays."""
        return shard.fetch(self.place(k), lambda file: file[name][rows])

    def said(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"."""
        return json.loads(self.read(k, "said").tobytes())

    def tidy(self) -> None:
        """Delete what killed workers have begun to write: once all shards are there."""
        for path in self.path.glob(f".*{PARTIAL}"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _put(self, name: str, data: bytes) -> None:
        """Write a file all at once: under a name of its own, then renamed."""
        path = self.path / name
        new = path.with_name(f".{name}-{os.urandom(6).hex()}{PARTIAL}")
        try:
            with writing(path, StorageError, begun=False):
                self.path.mkdir(parents=True, exist_ok=True)
                new.write_bytes(data)
                with contextlib.suppress(*([FileNotFoundError] if path.exists() else [])):       # another has put it there, and tidied up
                    new.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise


def gib(size: int) -> str:
    """Return a number of bytes as text.

    >>> gib(3 << 29)
    '1.5 GiB'
    """
    return f"{size / 2**30:.3g} GiB"


def inside(name: str) -> str:
    """Return a quantity's name as a shard has it, where '/' would be a group."""
    return name.replace("/", "∕")


def manifest_in(path: Path) -> dict[str, Any]:
    """Return a manifest; StorageError where it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        good = found["format"] == FORMAT and found["runs"] >= 1 and found["chunk"] >= 1 and isinstance(found["campaign"], dict)
    except (ValueError, KeyError, TypeError):
        good = False
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise FileNotFoundError(path) from None
        raise StorageError(f"'{path}' cannot be read ({error.strerror or error}); expected the manifest of a campaign") from None
    if not good:
        raise StorageError(f"'{path}' is no manifest of a campaign, or damaged; expected the text that the campaign wrote")
    return found


def flat(x: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a nest of dictionaries, by "name.name"."""
    if not isinstance(x, Mapping):
        return {path: x}
    return {n: y for name, part in x.items() for n, y in flat(part, f"{path}.{name}" if path else str(name)).items()}
