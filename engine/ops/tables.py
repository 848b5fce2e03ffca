"""Functions given by their values at some points."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.checks import EngineError, numbers
from engine.ops.elementwise import clip, graph_of, less, where


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Piecewise linear function through the points (xp, fp), constant beyond the ends, as ``np.interp``.

    At a breakpoint it is fp to the bit, and its derivative that of the piece after it.

    Parameters
    ----------
    x : where (...), traced or not
    xp : breakpoints (n), increasing; known when tracing
    fp : values there (n, ...), known when tracing

    Returns
    -------
    f : (*x's shape, *fp's shape[1:])

    Raises
    ------
    EngineError : a table that is traced, not finite, of other shapes, or whose xp does not increase

    >>> interp(np.array([-1.0, 0.5, 9.0]), [0.0, 1.0, 2.0], [10.0, 20.0, 40.0])
    array([10., 15., 40.])
    >>> interp(1.5, [0.0, 1.0, 2.0], [[0.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    array([0.5, 2. ])
    """
    if graph_of(xp, fp) is not None:
        raise EngineError("interp: xp or fp is traced; expected tables that are known when tracing")
    xp, fp = numbers("interp: xp", xp), numbers("interp: fp", fp)
    if xp.ndim != 1 or not len(xp) or fp.shape[:1] != xp.shape:
        raise EngineError(f"interp: xp has shape {xp.shape} and fp {fp.shape}; expected (n) and (n, ...), n at least 1")
    if not (np.diff(xp) > 0.0).all():
        bad = int(np.argmin(np.diff(xp) > 0.0)) + 1
        raise EngineError(f"interp: xp[{bad}] is not above the one before it; expected increasing numbers")
    trailing = (1,) * (fp.ndim - 1)
    x = np.asarray(clip(x, xp[0], xp[-1]))
    k = np.searchsorted(xp, x, side="right") - 1 if x.dtype != object else None
    x = x.reshape(x.shape + trailing)
    slopes = np.zeros_like(fp)
    slopes[:-1] = np.diff(fp, axis=0) / np.diff(xp).reshape(-1, *trailing)

    def piece(table: np.ndarray, first: int, last: int) -> Any:
        """The entry of a table for the last breakpoint of first…last that x has reached, by bisection."""
        if first == last:
            return table[first]
        middle = (first + last + 1) // 2
        return where(less(x, xp[middle]), piece(table, first, middle - 1), piece(table, middle, last))

    if k is None:
        x_k, f_k, slope = (piece(table, 0, len(xp) - 1) for table in (xp, fp, slopes))
    else:
        x_k, f_k, slope = xp[k].reshape(x.shape), fp[k], slopes[k]
    return np.asarray(f_k + (x - x_k) * slope)[()]
