"""A shard: what one chunk of runs came to, an HDF5 file whose bytes depend on nothing else, under a checksum.

HDF5 leaves the first 512 bytes of a file to others; they hold one line of JSON: the file's size, the CRC-32 of the bytes behind them, of
which runs they are, and the digest of the campaign's manifest. Plain h5py opens a shard: ``drawn/NAME``, ``metrics/NAME`` (run, …),
``kept/NAME`` (run, time, …), ``kept_runs``, and ``said``, a text of JSON: why runs failed, by number, and what is noted of all.
"""

from __future__ import annotations

import io
import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.campaign.storage import DAMAGED, wrong_size
from engine.recording import StorageError
from engine.recording.own_data import dataset, group_of, read_records

Array = np.ndarray
Shape = tuple[int, ...]
HEAD = 512
KIND = "campaign shard"


def pack_shard(first: int, count: int, digest: str, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> bytes:
    """Return the bytes of a shard of runs first … first + count − 1 of the campaign with that digest."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=HEAD) as file:
        text = json.dumps(said, sort_keys=True).encode()
        for name, x in {**arrays, "said": np.frombuffer(text, dtype=np.uint8)}.items():
            file.create_dataset(name, data=x, track_times=False)
    data = buffer.getvalue()
    head = {"kind": KIND, "first": first, "count": count, "size": len(data), "crc32": zlib.crc32(data[HEAD:]), "digest": digest}
    return json.dumps(head).encode().ljust(HEAD - 1) + b"\n" + data[HEAD:]


def fault(file: BinaryIO, head: Mapping[str, Any], thorough: bool = True) -> str:
    """Return what is wrong with the bytes behind a shard's head, "" where nothing is: by their number alone, or ``thorough`` by each."""
    if wrong := wrong_size(os.fstat(file.fileno()).st_size, head["size"]):
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
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return head if good else None


def fetch(path: Path, file: BinaryIO, name: str, shape: Shape | None, rows: slice = slice(None)) -> Array:
    """Return rows of an array of numbers, or of a text's bytes (of any length: no shape); StorageError where the shard has it otherwise."""
    import h5py

    *groups, last = name.split("/")
    try:
        with h5py.File(file, "r") as hdf5:
            at = hdf5.id
            for group in groups:
                at = group_of(path, at, group)
            data = dataset(path, at, last)
            kind = data.dtype, len(data.shape) if shape is None else data.shape
            expected = (np.dtype("<u1"), 1) if shape is None else (np.dtype("<f8"), shape)
            if kind != expected or math.prod(data.shape) * data.dtype.itemsize > os.fstat(file.fileno()).st_size:
                raise StorageError(f"'{path}' holds '{name}' as {data.shape} of {data.dtype}; expected it as the campaign wrote it")
            return read_records(data, rows.start, rows.stop, rows.step)
    except (StorageError, MemoryError):
        raise
    except Exception as error:                                                 # whatever HDF5 and h5py raise at a file that is not theirs
        raise StorageError(f"'{path}' cannot be read ({' '.join(str(error).split())}); expected a shard of a campaign") from None
