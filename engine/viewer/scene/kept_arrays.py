"""Arrays that take long to make of others, or of a file, kept on disk (:mod:`engine.cache`): who draws a robot again need not make them
again."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine import cache

Array = np.ndarray
#: what the arrays depend on, besides what they are made of: the texts that make them, and their libraries
MAKERS = (*(f"viewer/scene/{name}.py" for name in ("lod", "lod_check", "triangles", "surface", "materials")),
          *(f"io/{name}.py" for name in ("mesh", "dae", "prepared", "xml")))  # fmt: skip
LIBRARIES = "numpy", "fast_simplification", "trimesh", "pycollada", "lxml"


@functools.cache
def identity() -> str:
    """Return what all that is kept depends on."""
    texts = hashlib.sha256(b"|".join((Path(__file__).parents[2] / name).read_bytes() for name in MAKERS)).hexdigest()
    return "|".join([texts, *map(version, LIBRARIES)])


def version(library: str) -> str:
    """Return a library's version, or nothing where it is not installed."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def key_of(name: str, *given: Any) -> str:
    """Return the key of what a function of this name makes of arrays, or of what are made arrays."""
    digest = hashlib.sha256()
    for x in map(np.asarray, given):
        digest.update(f"{x.dtype.str}{x.shape}".encode())
        digest.update(x.tobytes())
    return "|".join([name, identity(), digest.hexdigest()])


def load(key: str) -> tuple[Array, ...] | None:
    """Return the arrays that are kept for a key, or None."""
    if (data := cache.load(key)) is None:
        return None
    with io.BytesIO(data) as file:
        return tuple(np.load(file, allow_pickle=False) for _ in range(np.load(file).item()))


def store(key: str, arrays: tuple[Array, ...]) -> None:
    """Keep arrays for a key."""
    file = io.BytesIO()
    for x in (np.array(len(arrays)), *arrays):
        np.save(file, x, allow_pickle=False)
    cache.store(key, file.getvalue())


def kept(make: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """Return the function with what it returns kept: arrays, which depend on its arguments' bits and on nothing else."""

    @functools.wraps(make)
    def found(*given: Any) -> tuple[Array, ...]:
        key = key_of(make.__name__, *given)
        if (arrays := load(key)) is None:
            store(key, arrays := make(*given))
        return arrays

    return found


def joined(rows: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return rows of arrays as an array for each column, and how long the arrays are (rows, columns).

    >>> *columns, lengths = joined([(np.array([1.0, 2.0]), np.array([3])), (np.array([4.0]), np.array([5, 6]))])
    >>> [x.tolist() for x in columns], lengths.tolist()
    ([[1.0, 2.0, 4.0], [3, 5, 6]], [[2, 1], [1, 2]])
    """
    return *(np.concatenate(column) for column in zip(*rows, strict=True)), np.array([[len(x) for x in row] for row in rows])


def parted(arrays: tuple[Array, ...]) -> list[tuple[Array, ...]]:
    """Return the rows that :func:`joined` made these arrays of."""
    *columns, lengths = arrays
    ends = np.cumsum(lengths, axis=0)[:-1].T
    return list(zip(*(np.split(column, at) for column, at in zip(columns, ends, strict=True)), strict=True))
