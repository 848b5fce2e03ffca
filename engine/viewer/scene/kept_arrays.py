"""Arrays that take long to make of others, kept on disk (:mod:`engine.cache`): who draws a robot again need not make them again."""

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
MAKERS, LIBRARIES = ("lod.py", "lod_check.py", "triangles.py"), ("numpy", "fast_simplification")


@functools.cache
def identity() -> str:
    """Return what all that is kept depends on."""
    texts = hashlib.sha256(b"|".join((Path(__file__).parent / name).read_bytes() for name in MAKERS)).hexdigest()
    return "|".join([texts, *(importlib.metadata.version(name) for name in LIBRARIES)])


def kept(make: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """Return the function with what it returns kept: arrays, which depend on its arguments' bits and on nothing else."""

    @functools.wraps(make)
    def found(*given: Any) -> tuple[Array, ...]:
        digest = hashlib.sha256()
        for x in map(np.asarray, given):
            digest.update(f"{x.dtype.str}{x.shape}".encode())
            digest.update(x.tobytes())
        key = "|".join([make.__name__, identity(), digest.hexdigest()])
        if (data := cache.load(key)) is not None:
            with io.BytesIO(data) as file:
                return tuple(np.load(file, allow_pickle=False) for _ in range(np.load(file).item()))
        arrays, file = make(*given), io.BytesIO()
        for x in (np.array(len(arrays)), *arrays):
            np.save(file, x, allow_pickle=False)
        cache.store(key, file.getvalue())
        return arrays

    return found
