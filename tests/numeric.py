"""What tests of equations share: angles to look at, derivatives, and plain = interpreted = compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import gufunc
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import trace, verify

PI = np.pi
#: 4 ulp: what two results of order 1 may differ by that are each right to two roundings; nothing that goes through a library (BLAS, the
#: C library, NumPy's vectors) or through several operations is asked for less, since other processors round in other places
ROUNDED = 4 * 2.0**-52
#: where series meet closed forms (1), where angles are small, and where a rotation vector turns over (π)
ANGLES = [0.0, 1e-12, 1e-9, 1e-4, 0.5, 0.9999, 1.0001, 2.0, 3.1, PI - 1e-9, PI]
AXES = [np.array(a) for a in ([1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, -1.0], [0.36, 0.48, 0.8], [-0.6, 0, 0.8], [-0.64, -0.6, -0.48])]


def derivative(f: Callable[[float], Any], h: float = 1 / 64) -> Any:
    """f′(0) by central differences of order 8: right to some 1e-13 for f of order and frequency 1."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(weights, 1)) / h


def close(actual: Any, expected: Any, tolerance: float = 1e-14, rows: int = 0) -> None:
    """Assert equality within a tolerance relative to the largest entry; of each row, if the first axis counts ``rows``.

    The tolerance is 0, for what is exact, or ``ROUNDED`` at least.
    """
    assert tolerance == 0.0 or tolerance >= ROUNDED, f"a tolerance of {tolerance:g} holds on one machine and not on another"
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape
    flat = expected.reshape(rows or 1, -1)
    scale = np.abs(flat).max(axis=1, initial=0.0, keepdims=True)
    error = np.abs(actual.reshape(flat.shape) - flat)
    bad = np.argwhere(~(error <= tolerance * scale))
    if len(bad):
        row, column = bad[0]
        where = tuple(int(i) for i in np.unravel_index(row * flat.shape[1] + column, expected.shape))
        raise AssertionError(f"{list(where)} is {actual[where]!r}; expected {expected[where]!r} within {tolerance * scale[row, 0]:.2g}, "
                             f"off by {error[row, column]:.2g} ({len(bad)} such entries)")  # fmt: skip


def check_lives(fn: Callable[..., Any], *samples: Any, tolerance: float = 1e-14) -> None:
    """Plain, interpreted and compiled ``fn`` agree on every row of ``samples``, and compiled calls of any batch to the bit.

    Batches of 1, 7, 9 and all rows, contiguous, strided and reversed; rows are repeated until there are ten.
    """
    given, n = len(samples[0]), max(10, len(samples[0]))
    samples = tuple(np.resize(s, (n, *np.shape(s)[1:])) for s in samples)
    shapes = [s.shape[1:] for s in samples]
    program = trace(fn, shapes)
    verify(program)
    outputs = len(program.shapes_out)
    sizes = [f"({','.join(map(str, s))})" for s in (*shapes, *program.shapes_out)]
    compiled = gufunc(fn, ",".join(sizes[: len(shapes)]) + "->" + ",".join(sizes[len(shapes) :]))

    def listed(results: Any) -> tuple[Any, ...]:
        return tuple(np.array(r) for r in results) if outputs > 1 else (np.array(results),)

    def stacked(f: Callable[..., Any]) -> list[np.ndarray]:
        each = [listed(f(*row)) for row in zip(*(s[:given] for s in samples), strict=True)]
        return [np.resize(np.stack(rows), (n, *rows[0].shape)) for rows in zip(*each, strict=True)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain, single = stacked(fn), stacked(compiled)
        for p, i, c in zip(plain, listed(interpret(program, *samples)), single, strict=True):
            close(i, p, tolerance, n)
            close(c, p, tolerance, n)
        apart = [strided(s) for s in samples]
        for view in (slice(0, 1), slice(0, 7), slice(0, 9), slice(None), slice(None, None, -1)):
            for inputs in (samples, apart):
                for result, one in zip(listed(compiled(*[s[view] for s in inputs])), single, strict=True):
                    np.testing.assert_array_equal(result, one[view])


def strided(a: np.ndarray) -> np.ndarray:
    """The same numbers with gaps of NaN between rows and between columns."""
    wide = np.full((2 * len(a), *a.shape[1:-1], *(2 * k for k in a.shape[1:][-1:])), np.nan)
    view = wide[::2, ..., ::2] if a.ndim > 1 else wide[::2]
    view[...] = a
    return view
