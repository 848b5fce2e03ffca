"""Random numbers as a function of whole numbers: the same in any batch, in any order, on any machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import asarray

from engine.checks import EngineError
from engine.ops.elementwise import USERS, cos, graph_of, log, sin, sqrt

Array = np.ndarray
#: counts must be whole numbers that floats tell apart
MOST = 2.0**53


def uniform(n: int, seed: Any = 0, stream: Any = 0, call: Any = 0, count: Any = 0, run: Any = 0) -> Any:
    """n uniform numbers in [0, 1), a function of the whole numbers given, below 2⁵³, traced or not.

    Those of NumPy's ``Generator(Philox(key=seed + (stream << 64), counter=[0, call, count, run])).random(n)``.

    Raises
    ------
    EngineError : an n that is no count; numbers that are not whole, negative, or too large

    >>> uniform(2, seed=7, run=3)
    array([0.27019622, 0.8760002 ])
    """
    given = [asarray(x)[()] for x in (seed, stream, call, count, run)]
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise EngineError(f"uniform: n is {n!r}; expected how many numbers, zero or more")
    for name, x in zip(("seed", "stream", "call", "count", "run"), given, strict=True):
        if graph_of(x) is None and not (0 <= float(x) < MOST and float(x) == int(x)):
            raise EngineError(f"uniform: {name} is {x}; expected a whole number from 0, below 2^53")
    if (graph := graph_of(*given)) is not None:
        return USERS.made(np.array(graph.call(graph.kernel("uniform", int(n)), given), dtype=object)) if n else np.zeros(0)
    return philox(n, *map(int, given))


def philox(n: int, seed: int, stream: int, call: int, count: int, run: int) -> Array:
    """Return the numbers of :func:`uniform`, by NumPy."""
    return np.random.Generator(np.random.Philox(key=seed + (stream << 64), counter=[0, call, count, run])).random(n)


def normal(n: int, seed: Any = 0, stream: Any = 0, call: Any = 0, count: Any = 0, run: Any = 0) -> Any:
    """n normal numbers, of mean 0 and deviation 1, of pairs of those of :func:`uniform` (Box and Muller): r cos φ and r sin φ.

    >>> normal(2, seed=7, run=3).shape
    (2,)
    """
    u = asarray(uniform(2 * -(-n // 2), seed, stream, call, count, run))
    r, phi = sqrt(-2.0 * log(1.0 - u[0::2])), 2.0 * np.pi * u[1::2]
    return USERS.made(np.stack([asarray(r * cos(phi)), asarray(r * sin(phi))], axis=-1).reshape(-1)[:n])
