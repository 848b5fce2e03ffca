"""Loops as C has them, over tables: what is neither a formula nor the same for all rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ops.elementwise import graph_of

Array = np.ndarray


def procedure(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A procedure of tables (n) or (n, m) and numbers, to a table or a tuple of tables that it makes; traced, its lines are machine code.

    Its lines are a small part of Python: ``for k in range(…)``, ``while``, ``if``, ``break``, ``continue``; arithmetic, of which ``//`` and
    ``%`` are of whole numbers from 0; comparisons, ``and``, ``or``, ``not``; ``int``, ``float``, ``abs``, ``len``, ``min`` and ``max`` of
    two, ``sqrt``, ``floor``; entries of arrays by whole numbers; arrays of zeros by :func:`floats` and :func:`ints`; other functions of
    such lines, which change arrays or return a number. What is given stays as it is. Every operation rounds by itself, so that machine code
    gives the bits that Python gives; but it does not look whether an entry is there, nor count numbers below zero from the end: try it on
    floats first. It has no derivatives.

    >>> @procedure
    ... def running(x):
    ...     y = floats(len(x))
    ...     total = 0.0
    ...     for k in range(len(x)):
    ...         total += x[k]
    ...         y[k] = total
    ...     return y
    >>> running(np.array([1.0, 2.0, 4.0]))
    array([1., 3., 7.])
    """

    @functools.wraps(fn)
    def called(*arguments: Any) -> Any:
        if (graph := graph_of(*arguments)) is not None:
            return graph.procedure(fn, arguments)
        return fn(*(np.asarray(x, dtype=float) if np.ndim(x) else float(x) for x in arguments))

    return called


def floats(n: int, columns: int = 0) -> Array:
    """Zeros (n), or (n, columns): an array of a :func:`procedure`."""
    return np.zeros((n, columns) if columns else n)


def ints(n: int) -> Array:
    """Whole numbers (n), zeros: an array of a :func:`procedure`."""
    return np.zeros(n, dtype=np.int64)


def bit_count(x: int) -> int:
    """How many ones a whole number from 0 has, written by twos, in a :func:`procedure`."""
    return int(x).bit_count()


def lowest_bit(x: int) -> int:
    """Which is the lowest one of a whole number from 1, written by twos, in a :func:`procedure`.

    >>> bit_count(12), lowest_bit(12)
    (2, 2)
    """
    return (int(x) & -int(x)).bit_length() - 1


__all__ = ["bit_count", "floats", "ints", "lowest_bit", "procedure"]
