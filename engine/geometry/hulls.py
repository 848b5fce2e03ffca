"""Convex hulls of any number of points, as few vertices as machine code likes to look at."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine.checks import numbers
from engine.geometry.shapes import MOST_VERTICES, NORMALS, GeometryError, Hull

Array = np.ndarray


def hull_of(points: ArrayLike) -> tuple[Hull, float]:
    """Return the convex hull of points (n, 3), m, and how far, in m, the point that is left out the most lies beyond its faces.

    It is exact, and nothing is lost, up to 64 vertices. Of more, those are kept that were farthest outside of the hull of those before
    them, so that it lies within the exact one.

    Raises
    ------
    GeometryError : points that are not (n, 3) finite numbers, or lie in a plane

    >>> hull, lost = hull_of([[x, y, z] for x in (0, 1, 2) for y in (0, 1, 2) for z in (0, 1, 2)])
    >>> len(hull.vertices), lost
    (8, 0.0)
    """
    from scipy.spatial import ConvexHull, QhullError

    x = numbers("hull_of: points", points, GeometryError)
    if x.ndim != 2 or x.shape[1] != 3 or len(x) < 4:
        raise GeometryError(f"hull_of: points has shape {x.shape}; expected (n, 3), n at least 4")
    try:
        x = x[np.sort(ConvexHull(x).vertices)]
    except QhullError:
        raise GeometryError("hull_of: points lie in a plane; expected points that enclose a volume") from None
    if len(x) <= MOST_VERTICES:
        return Hull(tuple(map(tuple, x))), 0.0
    kept = first_four(x)
    while len(kept) < MOST_VERTICES:
        kept.append(int(np.argmax(outside(ConvexHull(x[kept]).equations, x)[0])))
    sticks = outside(ConvexHull(x[kept]).equations, x)[0]
    return Hull(tuple(map(tuple, x[kept]))), float(sticks.max())


def first_four(x: Array) -> list[int]:
    """Return four of the points (n, 3) that are far apart: each the farthest from the point, line and plane of those before it."""
    i = int(np.argmax(x[:, 0]))
    j = int(np.argmax(np.linalg.norm(x - x[i], axis=1)))
    k = int(np.argmax(np.linalg.norm(np.cross(x - x[i], x[j] - x[i]), axis=1)))
    return [i, j, k, int(np.argmax(np.abs((x - x[i]) @ np.cross(x[j] - x[i], x[k] - x[i]))))]


def outside(planes: Array, x: Array) -> tuple[Array, Array]:
    """Return how far points (n, 3) lie beyond the farthest of some planes (m, 4), and the normals of those."""
    far = x @ planes[:, :3].T + planes[:, 3]
    worst = far.argmax(axis=1)
    return far[np.arange(len(x)), worst], planes[worst, :3]


class HullOfNumbers(Hull):
    """A hull whose measures are given as :func:`numbers_of` has them, traced ones too: hulls of as many numbers are one program.

    >>> x = numbers_of(Hull(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))))
    >>> HullOfNumbers(x).support(np.array([0.0, 0.1, 2.0])), len(x)
    (array([0., 0., 1.]), 76)
    """

    def __init__(self, x: Array) -> None:
        n = len(x) - 4 - 3 * NORMALS
        self.__dict__.update(vertices=x[:n].reshape(-1, 3), numbers=x[n:])

    @property
    def center(self) -> Array:
        """Center (3) of a sphere about the shape, m."""
        return self.__dict__["numbers"][:3]

    @property
    def bounding_radius(self) -> Any:
        """Radius of that sphere, m."""
        return self.__dict__["numbers"][3]

    @property
    def normals(self) -> Array:
        """Normals of its largest faces."""
        return self.__dict__["numbers"][4:].reshape(-1, 3)


@functools.lru_cache(maxsize=4096)
def numbers_of(hull: Hull) -> Array:
    """Return a hull's vertices, a power of two of them, the last one repeated, its center, its radius, and normals (n).

    >>> from engine.geometry import Hull, HullOfNumbers, numbers_of
    >>> numbers = numbers_of(Hull(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))))
    >>> HullOfNumbers(numbers).support([0.0, 0.1, 2.0])
    array([0., 0., 1.])
    """
    v, m = np.array(hull.vertices), np.asarray(hull.normals)
    many = next(k for k in (16, 32, MOST_VERTICES) if len(v) <= k)
    v, m = (np.concatenate([x, np.repeat(x[-1:], n - len(x), axis=0)]) for x, n in ((v, many), (m, NORMALS)))
    return np.concatenate([v.ravel(), hull.center, [hull.bounding_radius], m.ravel()])
