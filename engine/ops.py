"""One vocabulary for floats and traced scalars.

Every function takes Python floats, NumPy arrays of any shape, and traced scalars or object arrays of them, so that an
equation written with it runs as it stands and compiles too. ``+ − * / **``, ``@``, slicing and ``np.block`` need no help.

>>> float(where(2.0 > 1.0, cos(0.0), 5.0))
1.0
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.checks import EngineError, numbers

#: below this x the Stumpff functions, and what is made of them, are power series, exact to rounding with nine terms
SERIES_BELOW = 1.0


def series(x: Any, coefficients: list[float]) -> Any:
    """Σ c_k xᵏ by Horner's rule."""
    result = coefficients[-1] + 0.0 * x
    for c in coefficients[-2::-1]:
        result = result * x + c
    return result


def alternating(first: int) -> list[float]:
    """(−1)ᵏ / (2k + first)! for k = 0…8: the series of the Stumpff function c_first."""
    return [(-1) ** k / math.factorial(2 * k + first) for k in range(9)]


def c2_of_floats(x: Any) -> Any:
    """Stumpff function c2."""
    small = np.less(x, SERIES_BELOW)
    s = np.sqrt(np.where(small, 1.0, x))
    half = np.sin(0.5 * s) / s
    return np.where(small, series(np.where(small, x, 0.0), alternating(2)), 2.0 * half * half)[()]  # 1 − cos s = 2 sin² s/2


def c3_of_floats(x: Any) -> Any:
    """Stumpff function c3."""
    small = np.less(x, SERIES_BELOW)
    safe = np.where(small, 1.0, x)
    s = np.sqrt(safe)
    return np.where(small, series(np.where(small, x, 0.0), alternating(3)), (1.0 - np.sin(s) / s) / safe)[()]


def same_floats(x: Any) -> Any:
    """The same numbers."""
    return np.positive(x)


def elementwise(function: Callable[..., Any], name: str = "", operands: int = 1) -> Callable[..., Any]:
    """``function`` of NumPy, or one like it of that ``name``, which is recorded wherever an element is traced (has a graph ``g``)."""
    operands, name = getattr(function, "nin", operands), name or function.__name__

    def one(*xs: Any) -> Any:
        for x in xs:
            if hasattr(x, "g"):
                return x.g.make(x.g.recorded[function], *xs)
        result = function(*xs)
        return result[()] if isinstance(result, np.ndarray) else result

    each = np.frompyfunc(one, operands, 1)

    def lifted(*xs: Any) -> Any:
        arrays = [np.asarray(x) for x in xs]
        if any(a.dtype == object for a in arrays):
            return each(*arrays)
        return function(*arrays)[()]

    lifted.__name__, lifted.__doc__ = name, f"``{name}``, elementwise."
    return lifted


sqrt, absolute, floor = elementwise(np.sqrt), elementwise(np.absolute), elementwise(np.floor)
sin, cos, tan = elementwise(np.sin), elementwise(np.cos), elementwise(np.tan)
arcsin, arccos, arctan, arctan2 = elementwise(np.arcsin), elementwise(np.arccos), elementwise(np.arctan), elementwise(np.arctan2)
exp, log, tanh, power = elementwise(np.exp), elementwise(np.log), elementwise(np.tanh), elementwise(np.power)
minimum, maximum = elementwise(np.minimum), elementwise(np.maximum)
less, less_equal, equal = elementwise(np.less), elementwise(np.less_equal), elementwise(np.equal)
logical_and, logical_or, logical_not = elementwise(np.logical_and), elementwise(np.logical_or), elementwise(np.logical_not)
where = elementwise(np.where, operands=3)
c2, c3 = elementwise(c2_of_floats, "c2"), elementwise(c3_of_floats, "c3")
stop_gradient = elementwise(same_floats, "stop_gradient")
stop_gradient.__doc__ = "The same numbers, as constants: derivatives do not pass."


def stumpff(x: Any) -> tuple[Any, Any, Any, Any]:
    """Stumpff functions c_k(x) = Σ (−x)ʲ/(2j + k)!, k = 0…3, of x ≥ 0: with s = √x they are cos s, sin s/s, (1 − cos s)/s², (s − sin s)/s³.

    Smooth, with all derivatives, through x = 0. Exponentials of rotations are made of them.

    >>> [float(c) for c in stumpff(0.0)]
    [1.0, 1.0, 0.5, 0.16666666666666666]
    """
    C2, C3 = c2(x), c3(x)
    return 1.0 - x * C2, 1.0 - x * C3, C2, C3


def stumpff_next(x: Any) -> tuple[Any, Any]:
    """c4 and c5: the derivatives are c_k' = (k c_{k+2} − c_{k+1})/2."""
    small = less(x, SERIES_BELOW)
    safe = where(small, 1.0, x)
    return (where(small, series(x, alternating(4)), (0.5 - c2(x)) / safe),
            where(small, series(x, alternating(5)), (1 / 6 - c3(x)) / safe))  # fmt: skip


def array(rows: Any) -> np.ndarray:
    """Array from nested lists of scalars; scalars may be batches ``(...)``, which come first: ``(..., rows, columns)``.

    >>> array([[1.0, 0.0], [np.zeros(5), np.ones(5)]]).shape
    (5, 2, 2)
    """
    if not isinstance(rows, (list, tuple)):
        return np.asarray(rows)
    depth = 1
    inner = rows[0]
    while isinstance(inner, (list, tuple)):
        depth, inner = depth + 1, inner[0]

    def flat(x: Any) -> list[Any]:
        return [z for y in x for z in flat(y)] if isinstance(x, (list, tuple)) else [x]

    def shape(x: Any) -> tuple[int, ...]:
        return (len(x), *shape(x[0])) if isinstance(x, (list, tuple)) else ()

    scalars = [np.asarray(x) for x in flat(rows)]
    batch = np.broadcast_shapes(*[x.shape for x in scalars])
    if batch:
        return np.stack([np.broadcast_to(x, batch) for x in scalars], axis=-1).reshape(batch + shape(rows))
    return np.array([x[()] for x in scalars]).reshape(shape(rows))


def graph_of(*xs: Any) -> Any:
    """The graph of the traced values among ``xs``, or None."""
    return next((y.g for x in xs if (a := np.asarray(x)).dtype == object for y in a.flat if hasattr(y, "g")), None)


def while_loop(advance: Callable[[Any], tuple[Any, Any]], x: Any, limit: int, done: Any = False) -> tuple[Any, Any]:
    """``x, done = advance(x)`` until ``done``, at most ``limit`` times; returns the last x, and whether it was done.

    Traced, it is one loop in the machine code, in which every sample of a batch stops by itself. Derivatives do not pass through a
    loop of several passes (they are NaN): where they are wanted, use :func:`root`.

    >>> x, done = while_loop(lambda x: (0.5 * (x + 2.0 / x), absolute(x * x - 2.0) < 1e-8), 1.0, 20)
    >>> bool(done), round(float(x), 12)
    (True, 1.414213562373)
    """
    x = np.asarray(x)[()]
    for _ in range(limit):
        if graph_of(done) is None and np.all(done):
            break
        if (graph := graph_of(x, done)) is None:
            after, now = advance(x)
            graph = graph_of(after, now)                                       # what it reads from outside may be traced
        if graph is not None:
            return graph.while_loop(advance, x, limit, done)
        x, done = where(done, x, after), logical_or(done, now)
    return x, done


def when(condition: Any, fn: Callable[[], Any], otherwise: Any) -> Any:
    """``fn()`` where a truth holds, else ``otherwise``, an array of the same shape.

    Unlike :func:`where`, it does not compute what is not wanted: traced, it is a branch in the machine code. Derivatives pass.

    >>> when(False, lambda: sqrt(np.array([-1.0, 4.0])), np.zeros(2))
    array([0., 0.])
    """
    if isinstance(condition, (bool, np.bool_)):
        return fn() if condition else np.array(otherwise)
    return while_loop(lambda _: (fn(), True), otherwise, 1, logical_not(condition))[0]


def shared(fn: Callable[..., Any], *arguments: Any) -> Any:
    """``fn(*arguments)``; traced, it is compiled once, and called wherever the same function is shared again.

    The function depends on its arguments alone, and stays alive.

    >>> float(shared(np.dot, np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    graph = graph_of(*arguments)
    return fn(*arguments) if graph is None else graph.shared(fn, arguments)


def jacobian(fn: Callable[[Any], Any], x: Any) -> np.ndarray:
    """∂fn/∂x of a vector function at x (n): exact on traced values that are independent of each other, on floats by central differences
    (to about 1e-10 of fn's size: enough for :func:`root`)."""
    if (graph := graph_of(x)) is not None:
        return graph.jacobian(fn(x), x)
    h = 6e-6 * (1.0 + np.abs(x))
    return np.stack([(fn(x + h[i] * e) - fn(x - h[i] * e)) / (2.0 * h[i]) for i, e in enumerate(np.eye(len(x)))], axis=-1)


def root(residual: Callable[[Any], Any], x: Any, derivative: Callable[[Any], Any] | None = None, tolerance: float = 1e-8,
         limit: int = 12) -> tuple[Any, Any]:  # fmt: skip
    """x (n) with ``residual(x) = 0`` near the guess x, by Newton's method; returns x, and whether it converged.

    A step of relative size ``tolerance`` or less is the last but one: the last makes it as exact as the residual, and carries the
    derivatives of x, exact by the implicit function theorem (first derivatives: of a derivative it counts as constant).

    Parameters
    ----------
    derivative : ∂residual/∂x (n×n); by default that of :func:`jacobian`

    >>> x, converged = root(lambda x: x * x - array([2.0, 9.0]), array([1.0, 1.0]))
    >>> bool(converged), x.round(12)
    (True, array([1.41421356, 3.        ]))
    """
    A = derivative or (lambda x: jacobian(residual, x))

    def advance(x: Any) -> tuple[Any, Any]:
        d = lu_solve(A(x), residual(x))
        return x - d, largest(d) <= maximum(tolerance * largest(x), 1e-60)     # a root at 0 is approached without end

    x, converged = while_loop(advance, x, limit)
    x = stop_gradient(x)
    return x - lu_solve(A(x), residual(x)), converged


def largest(x: Any) -> Any:
    """max |x_i| of a vector."""
    result: Any = 0.0
    for y in x:
        result = maximum(result, absolute(y))
    return result


def lu_solve(A: Any, b: Any) -> np.ndarray:
    """x (n) of A x = b (n) by LU decomposition, unrolled and without pivoting: for an A in which the diagonal or a positive definite
    part prevails, as in the small implicit steps of integrators.

    >>> lu_solve(np.array([[4.0, 2.0], [-2.0, 3.0]]), np.array([8.0, 4.0]))
    array([1., 2.])
    """
    n = len(A)
    rows = [[*(A[i, j] for j in range(n)), b[i]] for i in range(n)]
    for k in range(n):
        reciprocal = 1.0 / rows[k][k]
        for i in range(k + 1, n):
            factor = rows[i][k] * reciprocal
            rows[i] = [rows[i][j] - factor * rows[k][j] if j > k else 0.0 for j in range(n + 1)]
    x: list[Any] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = rows[i][n]
        for j in range(i + 1, n):
            x[i] = x[i] - rows[i][j] * x[j]
        x[i] = x[i] / rows[i][i]
    return np.array(x)


def sign(x: Any) -> Any:
    """−1, 0 or 1, as x is negative, zero or positive; its derivative is 0.

    >>> sign(np.array([-2.0, 0.0, 3.0]))
    array([-1.,  0.,  1.])
    """
    return where(less(x, 0.0), -1.0, where(less(0.0, x), 1.0, stop_gradient(x)))  # 0 of either sign, and NaN, are their own


def clip(x: Any, low: Any, high: Any) -> Any:
    """x held between ``low`` and ``high``; its derivative by x is 0 beyond them.

    >>> clip(np.array([-2.0, 0.5, 3.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    return minimum(maximum(x, low), high)


def hypot(a: Any, b: Any) -> Any:
    """(a² + b²)^½, without overflow between; its derivatives at (0, 0) are 0.

    >>> float(hypot(3.0, 4.0))
    5.0
    """
    longer = stop_gradient(maximum(absolute(a), absolute(b)))
    scale = where(logical_and(less(0.0, longer), less(longer, np.inf)), longer, 1.0)
    a, b = a / scale, b / scale
    return scale * sqrt(a * a + b * b)


def mod(x: Any, y: Any) -> Any:
    """x − y ⌊x/y⌋: the remainder with the sign of y, as ``%`` gives it, to rounding of x. Traced values have ``%`` itself too.

    >>> mod(np.array([-1.0, 7.5]), 2.0)
    array([1. , 1.5])
    """
    r = x - y * floor(x / y)
    return where(less(r * sign(y), 0.0), r + y, r)                             # x/y was rounded up to a whole number


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


def poisoned(sound: Sequence[Any], results: Any) -> Any:
    """Return the results with NaN for one number, not zero by structure, where a traced truth is false: machine code cannot raise."""
    if not sound:
        return results
    arrays = [np.array(r, dtype=object) for r in (results if isinstance(results, tuple) else (results,))]
    places = [(a.reshape(-1), k) for a in arrays for k in range(a.size)]
    if places:
        a, k = next(((a, k) for a, k in places if hasattr(a[k], "g") or a[k]), places[0])
        a[k] = where(functools.reduce(logical_and, sound), a[k], np.nan)
    return tuple(arrays) if isinstance(results, tuple) else arrays[0]


def norm(x: Any) -> Any:
    """Euclidean length over the last axis: (x·x)^½."""
    return sqrt(np.vecdot(x, x))


def cross(a: Any, b: Any) -> np.ndarray:
    """a × b over the last axis. (NumPy's own does not take traced arrays before version 2.3.)

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    (ax, ay, az), (bx, by, bz) = ([x[..., i] for i in range(3)] for x in (np.asarray(a), np.asarray(b)))
    return array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def solve(A: Any, b: Any) -> np.ndarray:
    """x of A x = b for a symmetric positive definite A (n×n, upper triangle read) and b (n) or (n×m), by LDLᵀ.

    Unrolled over n, without pivoting: for the small matrices of joints and bases, traced or not.

    >>> solve(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([8.0, 8.0]))
    array([1., 2.])
    """
    return LDL(A).solve(b)


class LDL:
    """A = L D Lᵀ of a symmetric positive definite A (n×n, upper triangle read); what is zero by structure costs nothing.

    Attributes
    ----------
    rows : of the unit lower triangular factor, {column: entry} below its diagonal; columns : where its columns have entries
    reciprocal : 1/D (n)

    >>> A = LDL(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> A.forward(np.array([8.0, 8.0])), A.solve(np.array([8.0, 8.0]))
    (array([8., 4.]), array([1., 2.]))
    """

    def __init__(self, A: Any) -> None:
        n = len(A)
        rows: list[dict[int, Any]] = [{} for _ in range(n)]
        columns: list[list[int]] = [[] for _ in range(n)]
        reciprocal: list[Any] = [0.0] * n
        for j in range(n):
            W = {i: A[i, j] for i in range(j) if there(A[i, j])}               # W_i = L_ji D_i, once row i is cleared
            d = A[j, j]
            for i in range(j):
                if i in W:
                    for k in columns[i]:
                        W[k] = W.get(k, 0.0) - rows[k][i] * W[i]
            for i in sorted(W):
                rows[j][i] = W[i] * reciprocal[i]
                columns[i].append(j)
            for i, factor in rows[j].items():
                d = d - factor * W[i]                                          # D_j = A_jj − Σ L_ji² D_i
            reciprocal[j] = 1.0 / d
        self.rows, self.columns, self.reciprocal = rows, columns, np.array(reciprocal)

    def forward(self, b: Any) -> np.ndarray:
        """y of L y = b, (n) or (n×m)."""
        y = [b[i] for i in range(len(self.rows))]
        for i, row in enumerate(self.rows):
            for k, factor in row.items():
                y[i] = y[i] - factor * y[k]
        return np.array(y)

    def backward(self, z: Any) -> np.ndarray:
        """x of Lᵀ x = z, (n) or (n×m)."""
        x = [z[i] for i in range(len(self.rows))]
        for i in reversed(range(len(x))):
            for k in self.columns[i]:
                x[i] = x[i] - self.rows[k][i] * x[k]
        return np.array(x)

    def solve(self, b: Any) -> np.ndarray:
        """x of A x = b, (n) or (n×m)."""
        y = self.forward(b)
        return self.backward([y[i] * r for i, r in enumerate(self.reciprocal)])


def there(x: Any) -> bool:
    """Whether a number is not zero, or is traced: what is zero by structure is not there."""
    return hasattr(x, "g") or x != 0.0
