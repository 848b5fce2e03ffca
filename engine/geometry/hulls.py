"""Convex hulls of any number of points, as few vertices as machine code likes to look at."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine.checks import numbers
from engine.geometry.gjk import nearest
from engine.geometry.shapes import MOST_VERTICES, GeometryError, Hull

Array = np.ndarray


def hull_of(points: ArrayLike) -> tuple[Hull, float]:
    """Return the convex hull of points (n, 3), m, and how far, in m, the point that is left out the most lies outside it.

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
    hull = Hull(tuple(map(tuple, x[kept])))
    sticks, normals = outside(ConvexHull(x[kept]).equations, x)
    return hull, max((distance(hull, p, n, s) for p, n, s in zip(x, normals, sticks, strict=True) if s > 1e-12 * np.ptp(x)), default=0.0)


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


def distance(hull: Hull, p: Array, n: Array, beyond: float) -> float:
    """Return the distance of a point from a hull, from which a plane of normal n separates it by so much."""
    reach = 2.0 * hull.bounding_radius + float(np.linalg.norm(p - hull.center))
    v, *_ = nearest(lambda d: (hull.core(d) - p, np.zeros(3)), -n, 10.0 * reach * reach / beyond, 1e-12)
    return float(np.linalg.norm(v))
