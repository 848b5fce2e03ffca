"""A shard: what one chunk of runs came to, an HDF5 file whose bytes depend on nothing else, under a checksum.

HDF5 leaves the first 512 bytes of a file to others; they hold one line of JSON: the file's size, the CRC-32 of the bytes behind them, and
of which runs they are. Plain h5py opens a shard: ``drawn/NAME``, ``metrics/NAME`` (run, …), ``kept/NAME`` (run, time, …), ``kept_runs``,
and ``said``, a text of JSON: why runs failed, by number, and what is noted of all.
"""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.campaign.storage import DAMAGED, wrong_runs, wrong_size
from engine.recording import StorageError

Array = np.ndarray
HEAD = 512
KIND = "campaign shard"


def packed(first: int, count: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> bytes:
    """Return the bytes of a shard of runs first … first + count − 1."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=HEAD) as file:
        text = json.dumps(said, sort_keys=True).encode()
        for name, x in {**arrays, "said": np.frombuffer(text, dtype=np.uint8)}.items():
            file.create_dataset(name, data=x, track_times=False)
    data = buffer.getvalue()
    head = {"kind": KIND, "first": first, "count": count, "size": len(data), "crc32": zlib.crc32(data[HEAD:])}
    return json.dumps(head).encode().ljust(HEAD - 1) + b"\n" + data[HEAD:]


def fault(path: Path, first: int, count: int, thorough: bool = True) -> str:
    """Return what is wrong with a shard, "" where it is whole: by its head and size alone, or ``thorough`` by every byte.

    Raises FileNotFoundError where there is none.
    """
    with path.open("rb") as file:
        head, size = head_of(file.read(HEAD)), os.fstat(file.fileno()).st_size
        if head is None:
            return "is no shard, or damaged in its first bytes"
        if wrong := wrong_size(size, head["size"]) or wrong_runs(head, first, count):
            return wrong
        sum_ = 0
        while thorough and (piece := file.read(1 << 20)):
            sum_ = zlib.crc32(piece, sum_)
        return DAMAGED if thorough and sum_ != head["crc32"] else ""


def head_of(data: bytes) -> dict[str, Any] | None:
    """Return what a shard's first bytes say, or None where they are no shard's."""
    try:
        head = json.loads(data)
        good = head["kind"] == KIND and all(isinstance(head[n], int) for n in ("first", "count", "size", "crc32"))
    except (ValueError, KeyError, TypeError):
        return None
    return head if good else None


def fetch(path: Path, read: Callable[[Any], Any]) -> Any:
    """Return what ``read(file)`` reads of a shard; StorageError where HDF5 cannot."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return read(file)
    except (OSError, KeyError) as error:
        raise StorageError(f"'{path}' cannot be read ({error}); expected a shard of a campaign") from None
