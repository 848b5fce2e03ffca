"""One vocabulary for floats and traced scalars.

Every function takes Python floats, NumPy arrays of any shape, and traced scalars or object arrays of them, so that an
equation written with it runs as it stands and compiles too. ``+ − * / **``, ``@``, slicing and ``np.block`` need no help.

>>> float(where(2.0 > 1.0, cos(0.0), 5.0))
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: the closed set of operations: what each means on floats
NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "fma": lambda a, b, c: a * b + c, "min": np.minimum, "max": np.maximum,
    "sqrt": np.sqrt, "abs": np.abs, "floor": np.floor, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "pow": np.power,
    "lt": np.less, "le": np.less_equal, "eq": np.equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "select": np.where,
}  # fmt: skip


def _lifted(op: str, operands: int) -> Callable[..., Any]:
    """``NUMPY[op]`` that records a node wherever an element is traced (has a graph ``g``)."""
    function = NUMPY[op]

    def one(*xs: Any) -> Any:
        for x in xs:
            if hasattr(x, "g"):
                return x.g.make(op, *xs)
        return function(*xs)

    each = np.frompyfunc(one, operands, 1)

    def lifted(*xs: Any) -> Any:
        arrays = [np.asarray(x) for x in xs]
        if any(a.dtype == object for a in arrays):
            return each(*arrays)
        return function(*arrays)[()]

    lifted.__name__, lifted.__doc__ = op, f"``{getattr(function, '__name__', op)}``, elementwise."
    return lifted


sqrt, absolute, floor = _lifted("sqrt", 1), _lifted("abs", 1), _lifted("floor", 1)
sin, cos, tan = _lifted("sin", 1), _lifted("cos", 1), _lifted("tan", 1)
arcsin, arccos, arctan, arctan2 = _lifted("asin", 1), _lifted("acos", 1), _lifted("atan", 1), _lifted("atan2", 2)
exp, log, tanh, power = _lifted("exp", 1), _lifted("log", 1), _lifted("tanh", 1), _lifted("pow", 2)
minimum, maximum = _lifted("min", 2), _lifted("max", 2)
less, less_equal, equal = _lifted("lt", 2), _lifted("le", 2), _lifted("eq", 2)
logical_and, logical_or, logical_not = _lifted("and", 2), _lifted("or", 2), _lifted("not", 1)
where = _lifted("select", 3)


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
    n = len(A)
    x = [b[i] for i in range(n)]
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    reciprocal: list[Any] = [0.0] * n
    for j in range(n):
        W = [A[i, j] for i in range(j + 1)]                                    # W_i = L_ji D_i, once row i is cleared
        for i in range(j):
            for k in range(i):
                W[i] = W[i] - L[i][k] * W[k]
        for i in range(j):
            L[j][i] = W[i] * reciprocal[i]
        d = W[j]
        for i in range(j):
            d = d - L[j][i] * W[i]                                             # D_j = A_jj − Σ L_ji² D_i
        reciprocal[j] = 1.0 / d
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i][k] * x[k]                                       # L y = b
    x = [x[i] * reciprocal[i] for i in range(n)]                               # D z = y
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]                                       # Lᵀ x = z
    return np.array(x)
