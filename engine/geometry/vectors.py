"""Small vectors, never NaN: unit vectors with a fallback, frames about a normal, a row of a table by a traced number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray
X, Y, Z = np.eye(3)
#: lengths below it have no direction
TINY = 1e-150


def unit(v: Array, otherwise: Array = Z, below: float = TINY) -> tuple[Array, Any]:
    """Return v/|v| (3), or ``otherwise`` where |v| is no more than ``below``, and |v|.

    >>> unit(np.array([0.0, 3.0, 4.0]))[0], unit(np.zeros(3))[0]
    (array([0. , 0.6, 0.8]), array([0., 0., 1.]))
    """
    length = ops.norm(v)
    some = below < length
    return ops.where(some, v / ops.where(some, length, 1.0), otherwise), length


def across(n: Array) -> tuple[Array, Array]:
    """Return unit vectors u and v (3) with u × v = n, for a unit vector n (3).

    Reference: Duff et al., *Building an orthonormal basis, revisited*, JCGT 2017.

    >>> ops.cross(*across(np.array([0.36, 0.48, -0.8]))).round(15)
    array([ 0.36,  0.48, -0.8 ])
    """
    x, y, z = n
    s = ops.where(z < 0.0, -1.0, 1.0)
    a = -1.0 / (s + z)
    b = x * y * a
    return ops.array([1.0 + s * x * x * a, s * b, -s * x]), ops.array([b, s + y * y * a, -y])


def row(table: Sequence[Any], k: Any) -> Any:
    """Return row k of a table, k a traced whole number: the table is passed through once.

    >>> row([[1.0, 2.0], [3.0, 4.0]], 1.0)
    array([3., 4.])
    """
    result = np.asarray(table[0])
    for i, y in enumerate(table[1:], 1):
        result = ops.where(ops.equal(k, float(i)), y, result)
    return result


def with_row(table: Array, k: Any, y: Array) -> Array:
    """Return a table (m, …) whose row k, a traced whole number, is y (…).

    >>> with_row(np.zeros((2, 2)), 1.0, np.array([3.0, 4.0]))
    array([[0., 0.],
           [3., 4.]])
    """
    return np.array([ops.where(ops.equal(k, float(i)), y, old) for i, old in enumerate(table)])
