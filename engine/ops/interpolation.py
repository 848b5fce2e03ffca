"""Functions given by numbers: interpolation in tables, and splines. Traced, each is a few nodes, however many numbers it has.

Rows of tables, and what gathers and adds to them: :mod:`engine.ops.tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import asarray

from engine.checks import EngineError, numbers
from engine.ops.elementwise import USERS, clip, graph_of, less_equal, logical_and, where

Array = np.ndarray


def breakpoints(what: str, x: Any) -> Array:
    """Return increasing numbers (n), or refuse them."""
    if graph_of(x) is not None:
        raise EngineError(f"{what} is traced; expected tables that are known when tracing")
    x = numbers(what, x)
    if x.ndim != 1 or not len(x):
        raise EngineError(f"{what} has shape {x.shape}; expected (n), n at least 1")
    if not (np.diff(x) > 0.0).all():
        bad = int(np.argmin(np.diff(x) > 0.0)) + 1
        raise EngineError(f"{what}[{bad}] is not above the one before it; expected increasing numbers")
    return x


def values(what: str, f: Any, shape: tuple[int, ...]) -> Array:
    """Return numbers (*shape, ...), or refuse them."""
    if graph_of(f) is not None:
        raise EngineError(f"{what} is traced; expected tables that are known when tracing")
    f = numbers(what, f)
    if f.shape[: len(shape)] != shape:
        raise EngineError(f"{what} has shape {f.shape}; expected ({', '.join(map(str, shape))}, ...)")
    return f


def row(x: Any, points: Array, rows: Array) -> Array:
    """Return of rows (n, m) the one of the last of the points (n) that x has reached, (*x's shape, m).

    >>> import numpy as np
    >>> from engine import ops
    >>> ops.row(1.5, np.array([0.0, 1.0, 2.0]), np.array([[10.0], [11.0], [12.0]]))
    array([11.])
    """
    x = asarray(x)
    if x.dtype != object:
        return rows[np.maximum(np.searchsorted(points, x, side="right") - 1, 0)]
    graph = graph_of(x)
    if graph is None:
        return row(x.astype(float), points, rows).astype(object)
    search, read = graph.kernel("search", points), graph.kernel("rows", rows)
    found = [graph.call(read, graph.call(search, [y])) for y in x.flat]
    return np.array(found, dtype=object).reshape(*x.shape, rows.shape[1])


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Piecewise linear function through the points (xp, fp), constant beyond the ends, as ``np.interp``.

    At a breakpoint it is fp to the bit, and its derivative that of the piece after it. The breakpoint is found by halves: a table of 10⁵
    costs seventeen comparisons.

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
    xp = breakpoints("interp: xp", xp)
    fp = values("interp: fp", fp, xp.shape)
    columns, trailing = fp.reshape(len(fp), -1), fp.shape[1:]
    slopes = np.zeros_like(columns)
    slopes[:-1] = np.diff(columns, axis=0) / np.diff(xp)[:, None]
    x, m = asarray(clip(x, xp[0], xp[-1])), columns.shape[1]
    found = row(x, xp, np.concatenate([xp[:, None], columns, slopes], axis=1))
    x_k, f_k, slope = found[..., :1], found[..., 1 : 1 + m], found[..., 1 + m :]
    return USERS.made((f_k + (x[..., None] - x_k) * slope).reshape(x.shape + trailing)[()])


def interp2(x: Any, y: Any, xp: Any, yp: Any, fp: Any) -> Any:
    """Piecewise bilinear function on a grid, constant beyond its edges.

    Parameters
    ----------
    x, y : where, numbers, traced or not
    xp, yp : breakpoints (n), (m), increasing, at least two each; known when tracing
    fp : values there (n, m), known when tracing

    Raises
    ------
    EngineError : as for :func:`interp`

    >>> float(interp2(0.5, 1.5, [0.0, 1.0], [0.0, 1.0, 2.0], [[0.0, 0.0, 2.0], [1.0, 2.0, 3.0]]))
    1.75
    """
    xp, yp = breakpoints("interp2: xp", xp), breakpoints("interp2: yp", yp)
    if min(len(xp), len(yp)) < 2:
        raise EngineError(f"interp2: xp and yp have {len(xp)} and {len(yp)} breakpoints; expected at least two each")
    fp = values("interp2: fp", fp, (len(xp), len(yp)))
    x, y = clip(x, xp[0], xp[-1]), clip(y, yp[0], yp[-1])
    cells = [np.stack([p[:-1], 1.0 / np.diff(p), np.arange(len(p) - 1.0)], axis=1) for p in (xp, yp)]
    (x_i, per_x, i), (y_j, per_y, j) = row(x, xp[:-1], cells[0]), row(y, yp[:-1], cells[1])
    corners = np.stack([fp[:-1, :-1], fp[1:, :-1], fp[:-1, 1:], fp[1:, 1:]], axis=-1).reshape(-1, 4)
    a, b, c, d = row(i * (len(yp) - 1.0) + j, np.arange(float(len(corners))), corners)
    s, t = (x - x_i) * per_x, (y - y_j) * per_y
    return (a + s * (b - a)) + t * ((c + s * (d - c)) - (a + s * (b - a)))


def spline(curve: Any) -> Callable[[Any], Any]:
    """A spline of ``scipy.interpolate`` as a function that compiles: x (...) to (*x's shape, *the curve's values' shape).

    Beyond its ends it goes on as its first and last pieces do, or not at all, as the curve does (NaN).

    Parameters
    ----------
    curve : a ``CubicSpline``, ``PchipInterpolator``, ``Akima1DInterpolator``, ``PPoly``, or a ``BSpline`` (as ``make_interp_spline``
        gives them), along its first axis

    Raises
    ------
    EngineError : anything else; a periodic curve; coefficients that are not finite

    >>> from scipy.interpolate import CubicSpline
    >>> f = spline(CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0]))
    >>> round(float(f(1.5)), 12)
    3.375
    """
    from scipy.interpolate import BSpline, PPoly

    pieces = of_powers(curve) if isinstance(curve, BSpline) else curve
    if not isinstance(pieces, PPoly):
        raise EngineError(f"spline got a {type(curve).__name__}; expected a spline of scipy.interpolate, such as a CubicSpline")
    if pieces.extrapolate == "periodic" or getattr(pieces, "axis", 0) != 0:
        raise EngineError("spline got a curve that is periodic, or not along its first axis; expected one along axis 0")
    x, c = breakpoints("spline: its breakpoints", pieces.x[np.append(np.diff(pieces.x) > 0.0, True)]), pieces.c
    c = values("spline: its coefficients", c[:, np.diff(pieces.x) > 0.0], (c.shape[0], len(x) - 1))
    degree, trailing = len(c), c.shape[2:]
    rows = np.concatenate([x[:-1, None], np.moveaxis(c, 1, 0).reshape(len(x) - 1, -1)], axis=1)

    def f(at: Any) -> Any:
        at = asarray(at)
        found = row(at, x[:-1], rows)
        s, y = at[..., None] - found[..., :1], found[..., 1:].reshape(*at.shape, degree, -1)
        result = y[..., 0, :]
        for k in range(1, degree):
            result = result * s + y[..., k, :]
        if not pieces.extrapolate:
            inside = logical_and(less_equal(x[0], at), less_equal(at, x[-1]))
            result = where(asarray(inside)[..., None], result, np.nan)
        return USERS.made(result.reshape(at.shape + trailing)[()])

    return f


def of_powers(curve: Any) -> Any:
    """Return a ``BSpline`` as a ``PPoly``: Taylor's polynomials at the breakpoints, Σ s⁽ʲ⁾(x_i)/j! (x − x_i)ʲ."""
    from scipy.interpolate import PPoly

    k = curve.k
    x = np.unique(curve.t[k : len(curve.t) - k])
    rates = [(curve.derivative(j) if j else curve)(x[:-1]) / math.factorial(j) for j in range(k, -1, -1)]
    return PPoly(np.array(rates), x, extrapolate=curve.extrapolate, axis=curve.axis)
