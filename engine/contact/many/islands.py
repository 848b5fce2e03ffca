"""Islands: bodies that touch each other, however indirectly; what happens in one is nothing to another."""

from __future__ import annotations

from typing import Any

from engine.ops import floats, ints, procedure


def root(parent: Any, i: Any) -> int:
    """The body with the lowest number of those that are known to be joined with body i."""
    k = i
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@procedure
def islands(bodies: Any, pairs: Any) -> Any:
    """Return the island (n) of each of the ``bodies``, the lowest number of a body in it, where ``pairs`` (m, …) of them touch.

    >>> import numpy as np
    >>> islands(np.zeros((5, 6)), np.array([[3.0, 1.0], [1.0, 4.0]]))
    array([0., 1., 2., 1., 1.])
    """
    n = len(bodies)
    parent = ints(n)
    for i in range(n):
        parent[i] = i
    for k in range(len(pairs)):
        a, b = root(parent, int(pairs[k, 0])), root(parent, int(pairs[k, 1]))
        parent[max(a, b)] = min(a, b)
    found = floats(n)
    for i in range(n):
        found[i] = root(parent, i)
    return found


__all__ = ["islands"]
