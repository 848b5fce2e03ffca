"""NumPy's functions of whole arrays on traced values (sort, median, interp, solve, …), without branches on values."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import array, asarray, eye, zeros  # as they are when nothing is lent

from engine import ops
from engine.compiler.frontend.arrays import FUNCTIONS, as_numbers, boxed, reduced, refuse, wrapped
from engine.compiler.frontend.elementary import UFUNCS, is_nan, rint, within
from engine.ops.linear import is_nonzero

Array = np.ndarray
NONE = np._NoValue
#: entries of a matrix that is known: a product of so many with a vector is one node
LARGE = 1024


def where(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise refuse("np.where of one argument, an array whose length depends on values", "use np.where(condition, a, b)")
    return ops.where(boxed(condition), *map(boxed, branches))


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **others: Any) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    a = boxed(a) if low is None else ops.maximum(boxed(a), boxed(low))
    a = a if high is None else ops.minimum(a, boxed(high))
    if out is not None:
        out[...] = a
    return a if out is None else out


def reduction(ufunc: np.ufunc, whole: Callable[[Any], Any] = lambda x: x) -> Callable[..., Any]:
    """A function that repeats another of two along axes, all by default."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NONE,
               where: Any = True, **others: Any) -> Any:  # fmt: skip
        if where is not True and where is not NONE:
            raise refuse("a sum or an extremum with where=", "use np.where(condition, a, 0.0) within it")
        if dtype is not None and out is None and not isinstance(dtype, (type, np.dtype, str)):  # max(x, axis, out, keepdims), by place
            dtype, out = None, dtype
        result = reduced(ufunc, whole(boxed(a)), axis, bool(keepdims is not NONE and keepdims), initial)
        if out is not None:
            out[...] = result
        return result if out is None else out

    return reduce


def rows(a: Any, axis: Any) -> Array:
    """An array with one axis, or all as one, as the first."""
    a = boxed(a)
    return a.reshape(-1) if axis is None else np.moveaxis(a, axis, 0)


def arg_extremum(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The number of the first entry along an axis that is better than all before it."""

    def found(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        best, place = None, 0.0
        for k, x in enumerate(rows(a, axis)):
            is_better = better(x, best) if k else True
            best, place = ops.where(is_better, x, best) if k else x, ops.where(is_better, float(k), place)
        return np.expand_dims(place, axis) if keepdims is True and axis is not None else place

    return found


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """``np.sort`` by exchange of neighbours (bubble sort): n(n − 1)/2 exchanges."""
    x = list(rows(a, axis))
    for last in range(len(x) - 1, 0, -1):
        for k in range(last):
            x[k], x[k + 1] = ops.minimum(x[k], x[k + 1]), ops.maximum(x[k], x[k + 1])
    return array(x, dtype=object) if axis is None else np.moveaxis(array(x, dtype=object), 0, axis)


def median(a: Any, axis: Any = None, **others: Any) -> Any:
    x = sort(rows(a, axis), 0)
    return 0.5 * (x[(len(x) - 1) // 2] + x[len(x) // 2])


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **others: Any) -> Any:
    total = reduced(np.add, boxed(a), axis, bool(keepdims is not NONE and keepdims))
    return total / (np.size(a) // max(np.size(total), 1))


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **others: Any) -> Any:
    off = as_numbers(boxed(a)) - mean(a, axis, keepdims=True)
    total = reduced(np.add, off * off, axis, bool(keepdims is not NONE and keepdims))
    return total / (np.size(a) // max(np.size(total), 1) - ddof)


def std(a: Any, *args: Any, **options: Any) -> Any:
    return ops.sqrt(var(a, *args, **options))


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    scale = 10.0**decimals
    return rint(boxed(a) * scale) / scale


def select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    result = boxed(default)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = ops.where(boxed(condition), boxed(choice), result)
    return result


def piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **named: Any) -> Any:
    """The last function, where there is one more than conditions, holds where no condition does; the last condition that does decides."""
    conditions, functions = list(conditions), list(functions)
    values = [f(wrapped(boxed(x)), *args, **named) if callable(f) else f for f in functions]
    result = boxed(values.pop()) if len(values) == len(conditions) + 1 else 0.0 * boxed(x)
    for condition, y in zip(conditions, values, strict=True):
        result = ops.where(boxed(condition), boxed(y), result)
    return result


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    x, most = boxed(x), np.finfo(float).max
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    x = ops.where(UFUNCS[np.isnan](x), nan, x)
    return ops.where(ops.equal(x, np.inf), high, ops.where(ops.equal(x, -np.inf), low, x))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    a, b = boxed(a), boxed(b)
    near = within(a, b, atol + rtol * ops.absolute(b))
    return ops.logical_or(near, ops.logical_and(is_nan(a), is_nan(b))) if equal_nan else near


def allclose(a: Any, b: Any, *args: Any, **options: Any) -> Any:
    return reduced(np.logical_and, isclose(a, b, *args, **options), None)


def sinc(x: Any) -> Any:
    y = np.pi * ops.where(ops.equal(boxed(x), 0.0), 1e-20, boxed(x))
    return ops.sin(y) / y


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise refuse("np.interp with a period", "repeat the table, and use np.interp(x % period, xp, fp)")
    xp, fp, x = asarray(known_table("xp", xp), float), asarray(known_table("fp", fp), float), boxed(x)
    y = ops.interp(x, xp, fp)
    y = y if left is None else ops.where(ops.less(x, float(xp[0])), left, y)
    return y if right is None else ops.where(ops.less(float(xp[-1]), x), right, y)


def known_table(name: str, table: Any) -> Array:
    table = boxed(table)
    if table.dtype == object:
        raise refuse(f"np.interp with {name} that is traced", "expected a table that is known when the function is traced")
    return asarray(table)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """NaN is beyond all, as NumPy sorts it."""
    table, v = known_table("a", a), boxed(v)
    if sorter is not None or table.ndim != 1 or not (np.diff(table) >= 0.0).all():
        raise refuse("np.searchsorted in a table that does not ascend, or with a sorter", "sort the table beforehand")
    short = ops.less_equal if side == "left" else ops.less
    return sum((ops.where(short(v, float(x)), 0.0, 1.0) for x in table), ops.where(ops.equal(v, v), 0.0, 0.0))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    table, side = known_table("bins", bins), "left" if right else "right"
    if len(table) > 1 and (np.diff(table) <= 0.0).all():
        return len(table) - searchsorted(table[::-1], x, side=side)
    return searchsorted(table, x, side=side)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Entries of a table that is known, by numbers; NaN beyond its ends, where NumPy raises."""
    table, k = known_table("a", a), boxed(indices)
    table = table.reshape(-1) if axis is None else np.moveaxis(table, axis, 0)
    if out is not None or mode != "raise":
        raise refuse("np.take with out or mode", "use np.take(table, k), or np.clip(k, 0, n - 1)")
    n, rows = len(table), table.reshape(len(table), -1).astype(float)
    k = ops.where(ops.less(k, 0.0), k + n, k)
    inside = ops.logical_and(ops.less_equal(0.0, k), ops.less(k, float(n)))
    found = ops.where(asarray(inside)[..., None], ops.row(ops.floor(k), np.arange(float(n)), rows), np.nan)
    found = found.reshape(*np.shape(k), *table.shape[1:])[()]
    return found if axis in (None, 0) else np.moveaxis(found, range(np.ndim(k)), range(axis, axis + np.ndim(k)))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **others: Any) -> Any:
    parts = max(num - 1 if endpoint else num, 1)
    return np.stack([asarray(start + (stop - start) * (k / parts)) for k in range(num)])


def product(whole: Callable[..., Any]) -> Callable[..., Any]:
    """np.dot or np.matmul; of a large matrix that is known and a vector, a dense layer."""

    def of_two(a: Any, b: Any) -> Any:
        a, b = boxed(a), boxed(b)
        if np.ndim(a) == 2 and np.ndim(b) == 1 and a.dtype != object and a.size >= LARGE and len(b) == a.shape[1]:
            return ops.dense(a, b)
        if np.ndim(a) == 1 and np.ndim(b) == 2 and b.dtype != object and b.size >= LARGE and len(a) == b.shape[0]:
            return ops.dense(np.ascontiguousarray(b.T), a)
        return whole(a, b)

    return of_two


# ------------------------------------------------------------ linear algebra


def matrices(solved: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one matrix (n, n), and of what goes with it, on stacks (..., n, n)."""

    @functools.wraps(solved)
    def stacked(a: Any, *others: Any) -> Any:
        a = boxed(a)
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise np.linalg.LinAlgError(f"an array of shape {a.shape}; expected square matrices (..., n, n)")
        if a.ndim == 2:
            return solved(a, *others)
        if others:
            raise refuse("a stack of linear systems", "solve them one by one")
        found = [solved(m) for m in a.reshape(-1, *a.shape[-2:])]
        return array(found, dtype=object).reshape(a.shape[:-2] + np.shape(found[0]))

    return stacked


def eliminated(a: Any, b: Any) -> tuple[list[list[Any]], Any]:
    """The rows of [a, b] in upper triangular form, the largest pivot of each column first, and the determinant of a."""
    n, table = len(a), [[*x, *y] for x, y in zip(a, b, strict=True)]
    determinant: Any = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            swap = ops.less(ops.absolute(table[k][k]), ops.absolute(table[i][k]))
            pairs = [(ops.where(swap, y, x), ops.where(swap, x, y)) for x, y in zip(table[k], table[i], strict=True)]
            table[k], table[i] = [x for x, _ in pairs], [y for _, y in pairs]
            determinant = determinant * ops.where(swap, -1.0, 1.0)
        determinant = determinant * table[k][k]
        for i in range(k + 1, n):
            factor = UFUNCS[np.divide](table[i][k], table[k][k]) if is_nonzero(table[i][k]) else 0.0
            table[i] = [0.0 if j == k else y - factor * x for j, (x, y) in enumerate(zip(table[k], table[i], strict=True))]
    return table, determinant


def solve(a: Any, b: Any) -> Any:
    """x of a x = b by Gauss's elimination with pivoting, unrolled over n."""
    a, b = boxed(a), boxed(b)
    n, columns = len(a), b.reshape(len(b), -1)
    if len(b) != n:
        raise ValueError(f"solve: a matrix of shape {a.shape} and a right side of shape {b.shape}; expected as many rows")
    table, _ = eliminated(a, columns)
    x: list[Any] = [None] * n
    for i in reversed(range(n)):
        rest = [sum((table[i][j] * x[j][m] for j in range(i + 1, n)), 0.0) for m in range(columns.shape[1])]
        x[i] = [(table[i][n + m] - r) / table[i][i] for m, r in enumerate(rest)]
    return array(x, dtype=object).reshape(b.shape)


def inv(a: Any) -> Any:
    return solve(a, eye(len(a)))


def det(a: Any) -> Any:
    return eliminated(a, zeros((len(a), 0)))[1]


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """The lower triangular L of a = L Lᵀ."""
    L = zeros(a.shape, dtype=object)
    for i, j in itertools.product(range(len(a)), repeat=2):
        if j <= i:
            rest = a[i, j] - sum((L[i, k] * L[j, k] for k in range(j)), 0.0)
            L[i, j] = ops.sqrt(rest) if i == j else rest / L[j, j]
    L = np.where(np.tri(len(a), dtype=bool), L, 0.0)
    return L.T if upper else L


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``: of vectors any order; of matrices Frobenius's, and the largest sums of columns and rows."""
    x = boxed(x)
    if axis is None and (x.ndim == 1 or ord is None):
        x, axis = x.reshape(-1), 0
    size = ops.absolute(x)
    if isinstance(axis, int) or (axis is not None and len(axis) == 1):
        if ord in (np.inf, -np.inf):
            return reduced(np.maximum if ord > 0 else np.minimum, size, axis, keepdims)
        if ord == 0:
            return reduced(np.add, ops.where(ops.equal(size, 0.0), 0.0, 1.0), axis, keepdims)
        if ord in (None, 2):
            return ops.sqrt(reduced(np.add, x * x, axis, keepdims))
        total = reduced(np.add, size if ord == 1 else ops.power(size, float(ord)), axis, keepdims)
        return total if ord == 1 else ops.power(total, 1.0 / ord)
    if axis is None and x.ndim == 2 and ord in ("fro", 1, np.inf):
        if ord == "fro":
            return ops.sqrt(reduced(np.add, x * x, None, False))
        return reduced(np.maximum, reduced(np.add, size, 0 if ord == 1 else 1), None)
    raise refuse(f"np.linalg.norm of order {ord!r} of an array of shape {x.shape}", "of matrices 'fro', 1 and np.inf are known")


def unknown_of(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **options: Any) -> Any:
        raise refuse(f"np.linalg.{name} of traced values", "use np.linalg.solve, inv, det, cholesky or norm")

    return refused


FUNCTIONS |= {
    np.where: where, np.clip: clip, np.max: reduction(np.maximum), np.min: reduction(np.minimum), np.amax: reduction(np.maximum),
    np.amin: reduction(np.minimum), np.nanmax: reduction(np.fmax), np.nanmin: reduction(np.fmin), np.any: reduction(np.logical_or),
    np.all: reduction(np.logical_and), np.sum: reduction(np.add), np.prod: reduction(np.multiply),
    np.count_nonzero: reduction(np.add, lambda x: ops.where(ops.equal(as_numbers(x), 0.0), 0.0, 1.0)),
    np.ptp: lambda a, *args, **options: reduction(np.maximum)(a, *args, **options) - reduction(np.minimum)(a, *args, **options),
    np.argmax: arg_extremum(lambda x, best: ops.less(best, x)), np.argmin: arg_extremum(ops.less), np.sort: sort, np.median: median,
    np.mean: mean, np.var: var, np.std: std, np.around: around, np.round: around, np.select: select, np.piecewise: piecewise,
    np.nan_to_num: nan_to_num, np.isclose: isclose, np.allclose: allclose, np.sinc: sinc, np.interp: interp,
    np.array_equal: lambda a, b, **options: reduced(np.logical_and, ops.equal(boxed(a), boxed(b)), None),
    np.take: take, np.linspace: linspace, np.dot: product(np.dot._implementation), np.matmul: product(np.matmul),  # type: ignore[attr-defined]
     np.searchsorted: searchsorted, np.digitize: digitize, np.fix: UFUNCS[np.trunc],
    np.zeros_like: lambda a, *args, **options: zeros(np.shape(a)).astype(object),
    np.ones_like: lambda a, *args, **options: np.ones(np.shape(a)).astype(object),
    np.linalg.solve: matrices(solve), np.linalg.inv: matrices(inv), np.linalg.det: matrices(det), np.linalg.cholesky: matrices(cholesky),
    np.linalg.norm: norm, np.linalg.matrix_power: np.linalg.matrix_power._implementation,  # type: ignore[attr-defined]
    **{getattr(np.linalg, name): unknown_of(name) for name in (
        "eig", "eigh", "eigvals", "eigvalsh", "svd", "qr", "pinv", "lstsq", "matrix_rank", "slogdet", "cond", "tensorsolve", "tensorinv")},
}  # fmt: skip
