"""Small vectors and matrices, unrolled: what is zero by structure costs nothing. Dense layers, as one node each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import asarray

from engine.checks import EngineError, numbers
from engine.ops.elementwise import USERS, absolute, array, graph_of, maximum, sqrt
from engine.ops.procedure import floats, procedure
from engine.ops.tables import gather

#: operations of a system with many right sides, or of a product, from which it is a loop in machine code
MANY = 2000


def norm(x: Any) -> Any:
    """Euclidean length over the last axis: (x·x)^½.

    >>> import numpy as np
    >>> from engine import ops
    >>> float(ops.norm(np.array([3.0, 4.0])))
    5.0
    """
    return sqrt(np.vecdot(x, x))


def cross(a: Any, b: Any) -> np.ndarray:
    """a × b over the last axis. (NumPy's own does not take traced arrays before version 2.3.)

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    a, b = np.asarray(a), np.asarray(b)
    if type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 1:             # nearly always: their numbers, without arrays of each
        (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    else:
        (ax, ay, az), (bx, by, bz) = ([x[..., i] for i in range(3)] for x in (a, b))
    return array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def symmetric(upper: np.ndarray, n: int) -> np.ndarray:
    """The symmetric matrix (n, n) of an upper triangle (n (n + 1)/2), row by row, as np.triu_indices(n) has it.

    >>> symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    X, at = np.empty((n, n), dtype=upper.dtype), np.triu_indices(n)
    X[at], X.T[at] = upper, upper
    return X


def largest(x: Any) -> Any:
    """max |x_i| of a vector, or of a table (n) of as many numbers as there are; 0 of none.

    >>> import numpy as np
    >>> from engine import ops
    >>> float(ops.largest(np.array([1.0, -3.0])))
    3.0
    """
    if hasattr(x, "by_rows"):
        return gather(largest_of_table(x), 0)
    result: Any = 0.0
    for y in x:
        result = maximum(result, absolute(y))
    return result


@procedure
def largest_of_table(x: Any) -> Any:
    """max |x_i| of a table (n), as a table of one number."""
    found = floats(1)
    for i in range(len(x)):
        found[0] = max(found[0], abs(x[i]))
    return found


def lu_solve(A: Any, b: Any) -> np.ndarray:
    """x of A x = b, (n) or (n×m), by LU decomposition, unrolled and without pivoting: for an A (n×n) in which the diagonal or a positive
    definite part prevails, as in the small implicit steps of integrators.

    >>> lu_solve(np.array([[4.0, 2.0], [-2.0, 3.0]]), np.array([8.0, 4.0]))
    array([1., 2.])
    """
    return LU(A).solve(b)


def solve(A: Any, b: Any) -> np.ndarray:
    """x of A x = b for a symmetric positive definite A (n×n, upper triangle read) and b (n) or (n×m), by LDLᵀ.

    Unrolled over n, without pivoting: for the small matrices of joints and bases, traced or not.

    >>> solve(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([8.0, 8.0]))
    array([1., 2.])
    """
    return LDL(A).solve(b)


def dense(W: Any, x: Any, b: Any = None) -> Any:
    """A dense layer W x + b: one node, however large W is.

    Parameters
    ----------
    W : (n, m); of known numbers, or traced, such as parameters
    x : (m)
    b : (n), or nothing

    Raises
    ------
    EngineError : shapes that do not match; numbers that are not finite

    >>> dense([[1.0, 2.0], [3.0, 4.0]], np.array([1.0, -1.0]), [0.5, 0.5])
    array([-0.5, -0.5])
    """
    n, m = np.shape(W) if np.ndim(W) == 2 else (0, 0)
    b = np.zeros(n) if b is None else b
    if np.ndim(W) != 2 or np.shape(x) != (m,) or np.shape(b) != (n,):
        raise EngineError(f"dense: W has shape {np.shape(W)}, x {np.shape(x)} and b {np.shape(b)}; expected (n, m), (m) and (n)")
    graph = graph_of(W, x, b)
    given = [asarray(a) if graph_of(a) is not None else numbers(f"dense: {name}", a) for name, a in (("W", W), ("b", b))]
    if graph is None:
        return given[0] @ numbers("dense: x", x) + given[1]
    W, b = given
    if graph_of(W, b) is None:
        return USERS.made(np.array(graph.call(graph.kernel("dense", W, b), list(asarray(x))), dtype=object))
    return USERS.made(np.array(graph.call(graph.kernel("dense", (n, m)), [*asarray(x), *W.ravel(), *b]), dtype=object))


def product(A: Any, B: Any) -> np.ndarray:
    """A B (n×m) of matrices (n×k) and (k×m) that are full: on traced values one loop, not its sums unrolled.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    A, B = np.asarray(A), np.asarray(B)
    if A.size * B.shape[1] <= MANY or (graph := graph_of(A, B)) is None:
        return A @ B
    kernel = graph.kernel("products", *A.shape, B.shape[1])
    return np.array(graph.call(kernel, [*A.ravel(), *B.ravel()]), dtype=object).reshape(len(A), B.shape[1])


class LU:
    """A = L U of an A (n×n) in which the diagonal or a positive definite part prevails, unrolled and without pivoting.

    Attributes
    ----------
    factors : (n, n), L below the diagonal, whose own are ones, and U

    >>> LU(np.array([[4.0, 2.0], [-2.0, 3.0]])).factors
    array([[ 4. ,  2. ],
           [-0.5,  4. ]])
    """

    def __init__(self, A: Any) -> None:
        n, rows = len(A), [list(row) for row in A]
        for k in range(n):
            reciprocal = 1.0 / rows[k][k]
            for i in range(k + 1, n):
                rows[i][k] = factor = rows[i][k] * reciprocal
                if is_nonzero(factor):
                    rows[i][k + 1 :] = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
        self.factors = np.array(rows).reshape(n, n)

    @property
    def numbers(self) -> tuple[np.ndarray]:
        """Arrays that make the factorization again by :meth:`of`."""
        return (self.factors,)

    @classmethod
    def of(cls, factors: np.ndarray) -> LU:
        """Return the factorisation that has these factors."""
        found = cls.__new__(cls)
        found.factors = factors
        return found

    def solve(self, b: Any) -> np.ndarray:
        """x of A x = b, (n) or (n×m)."""
        x = list(np.asarray(b))
        for i, row in enumerate(self.factors):
            for k in range(i):
                if is_nonzero(row[k]):
                    x[i] = x[i] - row[k] * x[k]
        for i, row in reversed(list(enumerate(self.factors))):
            for k in range(i + 1, len(x)):
                if is_nonzero(row[k]):
                    x[i] = x[i] - row[k] * x[k]
            x[i] = x[i] / row[i]
        return np.array(x).reshape(np.shape(b))


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
            W = {i: A[i, j] for i in range(j) if is_nonzero(A[i, j])}               # W_i = L_ji D_i, once row i is cleared
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

    @property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Arrays that make the factorization again by :meth:`of`: L (n, n) without the ones of its diagonal, and 1/D (n)."""
        n = len(self.rows)
        return np.array([[row.get(k, 0.0) for k in range(n)] for row in self.rows]).reshape(n, n), self.reciprocal

    @classmethod
    def of(cls, lower: np.ndarray, reciprocal: np.ndarray) -> LDL:
        """Return the factorisation that has these factors."""
        found, n = cls.__new__(cls), len(reciprocal)
        found.rows = [{k: lower[i, k] for k in range(i) if is_nonzero(lower[i, k])} for i in range(n)]
        found.columns = [[i for i in range(n) if k in found.rows[i]] for k in range(n)]
        found.reciprocal = reciprocal
        return found

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
        b = np.asarray(b)
        if b.ndim == 2 and sum(map(len, self.rows)) * b.shape[1] > MANY and (graph := graph_of(self.reciprocal, b)) is not None:
            entries = (f for row in self.rows for f in row.values())
            kernel = graph.kernel("solves", tuple(map(tuple, self.rows)), b.shape[1])
            return np.array(graph.call(kernel, [*entries, *self.reciprocal, *b.ravel()]), dtype=object).reshape(b.shape)
        y = self.forward(b)
        return self.backward([y[i] * r for i, r in enumerate(self.reciprocal)])


def is_nonzero(x: Any) -> bool:
    """Return whether a number is not the constant zero: it is traced, or not equal to zero."""
    return hasattr(x, "g") or x != 0.0
