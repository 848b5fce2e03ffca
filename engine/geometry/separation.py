"""Signed distance of two convex shapes: the greatest of all separations s(n) between two parallel planes, one on either shape.

For a unit vector n, s(n) = min n·b − max n·a over the points a of A and b of B. Its greatest value is the distance where the shapes are
apart, and less the depth, the shortest way out, where they overlap. Both are found in one way. The points b − a make a convex set, and
s(n) is how far the origin lies below the plane on it that faces n. From a direction n, B is moved along n by t so that the shapes are
apart. The direction n' to the nearest point of the set is then at least as good::

    s(n') = |v| − t n·n' ≥ s(n),   n' = v/|v|,   v the point nearest to the origin of {b + t n − a}                (1)

for |v| ≥ s(n) + t. It is n itself only where no direction about it is better. Apart, t is nought and one search is all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.gjk import nearest
from engine.geometry.shapes import Shape
from engine.geometry.vectors import X, row, unit

Array = np.ndarray
#: searches from a direction on
SEARCHES = 64
#: of the shapes' size: how far apart they are moved for a search
APART = 1e-2
#: turns of the normal below it are no change
SAME = 1e-11
#: directions all about, for shapes that are not made of a few faces
LATTICE = 24


class Separation(NamedTuple):
    """Signed distance of two shapes A and B, in A's frame.

    Attributes
    ----------
    gap : the signed distance, m; negative where they overlap
    normal : unit vector (3) from A to B
    a, b : the points (3) of A and B that are nearest to each other, or deepest in each other; b − a = gap n
    """

    gap: Any
    normal: Array
    a: Array
    b: Array


def separation(a: Shape, b: Shape, T: Array) -> Separation:
    """Return the signed distance of two convex shapes, B at the pose T (4, 4) in A's frame, in A's frame.

    >>> from engine.geometry import Box
    >>> T = np.eye(4)
    >>> T[:3, 3] = 0.2, 0.3, 1.5
    >>> s = separation(Box((2.0, 2.0, 2.0)), Box((1.0, 1.0, 1.2)), T)
    >>> float(s.gap.round(12)), s.normal
    (-0.1, array([0., 0., 1.]))
    """
    R, p = T[:3, :3], T[:3, 3]
    size = min(a.bounding_radius, b.bounding_radius)
    far = 100.0 * (a.bounding_radius + b.bounding_radius)
    apart = APART * size

    def supports(n: Array) -> tuple[Array, Array]:
        """The point b − a that is farthest towards n, and a."""
        at = a.core(-n)
        return p + R @ b.core(n @ R) - at, at

    n, s = first(a, b, R, p, supports, apart)

    def search(x: Array) -> tuple[Array, Any]:
        n, s = x[0], x[1, 0]
        t = ops.where(s < apart, apart - s, 0.0)

        def moved(d: Array) -> tuple[Array, Array]:
            c, at = supports(d)
            return c + t * n, at

        v, at = nearest(moved, n, far + t)
        after, length = unit(v, n)
        better = length - t * (n @ after)                                      # (1)
        turned = after - n
        same = turned @ turned < SAME * SAME                                   # by rounding alone: a face's normal stays to the bit
        kept = ops.where(same, np.array([n, s * X]), np.array([after, better * X]))
        return np.array([*kept, at]), ops.logical_or(same, ops.equal(t, 0.0))

    x, _ = ops.while_loop(search, np.array([n, s * X, 0.0 * n]), SEARCHES)
    n, s, at = x[0], x[1, 0] - a.rounding - b.rounding, x[2] + a.rounding * x[0]
    return Separation(s, n, at, at + s * n)


def first(a: Shape, b: Shape, R: Array, p: Array, supports: Any, apart: float) -> tuple[Array, Any]:
    """Return the best n (3), and s(n), of some directions: from center to center, and if the shapes are not apart by that, the normals of
    both, and those of planes along an edge of each, or others all about. For boxes and segments they are all that count."""
    ahead, _ = unit(p + R @ b.center - a.center, X)
    table = [*a.normals, *(R @ b.normals.T).T]
    if a.edges is not None and b.edges is not None:
        table += [unit(ops.cross(i, R @ j), ahead, 1e-7)[0] for i in a.edges for j in b.edges]
    else:
        table += [*lattice(LATTICE)]
    if a.symmetric and b.symmetric:
        table = [ops.where(n @ p < 0.0, -n, n) for n in table]
    else:
        table += [-n for n in table]
    table = [ahead, *table]

    def look(x: Array) -> tuple[Array, Any]:
        best, s, k = x[:3], x[3], x[4]
        n = row(table, k)
        here = supports(-n)[0] @ n
        better = s + 1e-9 * apart < here
        return ops.array([*ops.where(better, n, best), ops.where(better, here, s), k + 1.0]), here > apart

    x, _ = ops.while_loop(look, ops.array([*ahead, -1e9, 0.0]), len(table))
    return x[:3], x[3]


def lattice(n: int) -> Array:
    """Return n directions (n, 3) that lie evenly about a half-sphere, on a spiral."""
    k = np.arange(n)
    z, angle = 1.0 - (k + 0.5) / n, k * np.pi * (3.0 - np.sqrt(5.0))
    rho = np.sqrt(1.0 - z * z)
    return np.stack([rho * np.cos(angle), rho * np.sin(angle), z], axis=-1)
