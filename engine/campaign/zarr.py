"""Zarr, version 3, as far as campaigns take it: the texts that describe groups and arrays, and the objects that an array is in.

https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html. Objects are gzip's, but stored and not squeezed, as drawn numbers hardly are
smaller: for its CRC-32, by which any reader sees damage.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
META = "zarr.json"
#: NumPy's type -> Zarr's
TYPES = {"<f8": "float64", "<i8": "int64", "|b1": "bool"}
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 0}}]


def group(attributes: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return what describes a group, and with it all its arrays: so that one object is read to open it."""
    within = {"kind": "inline", "must_understand": False, "metadata": dict(arrays)}
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes), "consolidated_metadata": within}


def array(shape: Sequence[int], rows: int, dtype: str, fill: Any, dimensions: Sequence[str]) -> dict[str, Any]:
    """Return what describes an array that is cut along its first dimension, into so many rows; ``fill`` is what is not there."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": [*shape], "data_type": TYPES[dtype], "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [rows, *shape[1:]]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": CODECS, "attributes": {}, "dimension_names": [*dimensions], "storage_transformers": [],
    }  # fmt: skip


def text(x: Any) -> bytes:
    """Return what describes something as bytes."""
    return json.dumps(x, indent=1, ensure_ascii=False).encode()


def key(name: str, at: int, dimensions: int) -> str:
    """Return the name of an array's object.

    >>> key("pose", 3, 2)
    'pose/c/3/0'
    """
    return "/".join([name, "c", str(at), *["0"] * (dimensions - 1)])


def pack_rows(x: Array, rows: int, dtype: str, fill: Any) -> bytes:
    """Return the bytes of an object: some rows, and behind the last of an array what fills it up."""
    whole = np.full((rows, *x.shape[1:]), float(fill) if isinstance(fill, str) else fill, dtype)
    whole[: len(x)] = x
    squeeze = zlib.compressobj(0, zlib.DEFLATED, 31)
    return squeeze.compress(whole.tobytes()) + squeeze.flush()


def unpack_rows(data: bytes, rows: int, dtype: str, rest: Sequence[int]) -> Array:
    """Return all rows (rows, *rest) of an object; ValueError or zlib.error where it holds something else, of which no more is unpacked."""
    size, squeezed = math.prod((rows, *rest)) * np.dtype(dtype).itemsize, zlib.decompressobj(31)
    found = squeezed.decompress(data, size + 1)
    if not squeezed.eof or squeezed.unused_data:
        raise ValueError("there is more than an object")
    return np.frombuffer(found, dtype).reshape(rows, *rest)


def checksum(data: bytes) -> int:
    """Return the CRC-32 of an object's numbers, which stands near its end.

    That of the object itself would say nothing: a CRC of something and its CRC is the same whatever it is.

    >>> a, b = (pack_rows(np.full(3, x), 3, "<f8", "NaN") for x in (1.0, 2.0))
    >>> zlib.crc32(a) == zlib.crc32(b), checksum(a) == zlib.crc32(np.full(3, 1.0)), checksum(a) == checksum(b)
    (True, True, False)
    """
    return int.from_bytes(data[-8:-4], "little")
