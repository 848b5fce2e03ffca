"""Signed distance of two convex shapes: the greatest of all separations s(n) between two parallel planes, one on either shape.

For a unit vector n, s(n) = min n·b − max n·a over the points a of A and b of B. Its greatest value is the distance where the shapes are
apart, and less the depth, the shortest way out, where they overlap. Both are found in one way. The points b − a make a convex set, and
s(n) is how far the origin lies outside the plane on it that faces n. From a direction n, B is moved along n by t so that the shapes are
apart, and the direction n' to the nearest point of the set is at least as good::

    s(n') = c·n' − t n·n' ≥ s(n),   n' = v/|v|,   v = c the point nearest to the origin of {b + t n − a}           (1)

for |v| ≥ s(n) + t. (Of a v that is not quite found, c is the point of the set that is least far along it.) It is n itself only where no
direction about it is better. Apart, t is nought, and one search is all. Where they overlap there may be several such directions, and
searches begin all about: but none within an angle φ of n is better than the point c of the set allows that is farthest against n, for
s(m) ≤ m·c::

    s(m) ≤ s(n) cos φ + |c − s(n) n| sin φ                                                                       (2)

About round shapes the turns from n to n' become shorter by a ratio r each; after two of them the next search begins where they lead
(Aitken)::

    n' + r/(1 − r) (n' − n)                                                                                      (3)
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.gjk import nearest
from engine.geometry.shapes import Shape
from engine.geometry.vectors import X, row, unit

Array = np.ndarray
#: searches from a direction on
SEARCHES = 100
#: relative tolerances of the first searches, and of the last
ROUGH, EXACT = 1e-5, 1e-13
#: cosine of the angle between two normals below which a search from one is one from the other
KNOWN = np.cos(0.01)
#: of the shapes' size: how far apart they are moved for a search, unless they are clear of each other by so much
APART, CLEAR = 1e-2, 1e-4
#: turns of the normal below it are no change
SAME = 1e-11
#: directions all about, for shapes that are not made of a few faces
LATTICE, REACH = 32, 0.372


class Separation(NamedTuple):
    """Signed distance of two shapes A and B, in A's frame.

    Attributes
    ----------
    gap : the signed distance, m; negative where they overlap
    normal : unit vector (3) from A to B
    a, b : the points (3) of A and B that are nearest to each other, or deepest in each other; b − a = gap n

    >>> import numpy as np
    >>> from engine.geometry import Box, distance
    >>> beside = np.eye(4)
    >>> beside[0, 3] = 3.0
    >>> found = distance(Box((2.0, 2.0, 2.0)), Box((2.0, 2.0, 2.0)), beside)
    >>> float(found.gap), found.normal
    (1.0, array([1., 0., 0.]))
    """

    gap: Any
    normal: Array
    a: Array
    b: Array


def separation(a: Shape, b: Shape, T: Array, meet: bool = True, far: Any = np.inf) -> Separation:
    """Return the signed distance of two convex shapes, B at the pose T (4, 4) in A's frame, in A's frame.

    Where they overlap and a face's normal is the answer, the points need to ``meet`` only if that is wanted. Of shapes that are more than
    ``far`` apart, m, some separation beyond that is found, no more than their distance.

    It is exact to rounding between boxes, capsules and spheres, overlapping or not, and of all shapes that are apart, where round to some
    1e-9. Of others that overlap, the way out is one than which none about it is shorter; deep in each other, in two poses of ten thousand
    at most, there is one elsewhere, shorter by 0.5 % at most (of 1e5 poses of every two shapes in ``tests.geometry.pairs``, against
    ``coal_distance`` and ``mujoco_distance`` there).

    >>> from engine.geometry import Box
    >>> T = np.eye(4)
    >>> T[:3, 3] = 0.2, 0.3, 1.5
    >>> s = separation(Box((2.0, 2.0, 2.0)), Box((1.0, 1.0, 1.2)), T)
    >>> float(s.gap.round(12)), s.normal
    (-0.1, array([0., 0., 1.]))
    """
    R, p = T[:3, :3], T[:3, 3]
    size, reach = ops.minimum(a.bounding_radius, b.bounding_radius), ops.norm(p) + extent(a) + extent(b)
    directions, about, flat = starts(a, b, R, p)
    known_all = a.edges is not None and b.edges is not None
    enough = far + a.rounding + b.rounding

    def supports(n: Array) -> tuple[Array, Array]:
        """The point b − a that is farthest towards n, and a."""
        at = a.core(-n)
        return p + R @ b.core(n @ R) - at, at

    def search(x: Array) -> tuple[Array, Any]:
        """From n, a, s(n), the direction m that is next and the last turn, to better ones; beside the best there are."""
        (n, at, m, turn, best), (s, s_best, exact) = x[:15].reshape(5, 3), x[15:]
        lag = s - reach * ops.norm(m - n)                                      # no more than s(m)
        m_is_n = ops.equal(lag, s)
        t = ops.where(lag < CLEAR * size, APART * size - lag, 0.0)

        def moved(d: Array) -> tuple[Array, Array]:
            c, at = supports(d)
            return c + t * m, at

        apart = ops.equal(t, 0.0)                                              # where one search is all
        exact = ops.where(apart, EXACT, exact)
        v, at_v, least = nearest(moved, m, 10.0 * reach * reach / (lag + t), exact, ops.where(apart, enough, np.inf))
        after, _ = unit(v, m)
        better = least - t * (m @ after)                                       # (1)
        change, before = after - m, turn @ turn
        same, up = change @ change < SAME * SAME, ops.logical_or(apart, better - s > 0.01 * EXACT * size)
        known = ops.logical_and(after @ best > KNOWN, better <= s_best)        # on the way to the best there is
        slow = ops.logical_and(better - s < 0.1 * exact * size, ops.logical_or(change @ change < exact, m_is_n))
        ratio = ops.where(before > 0.0, ops.clip(change @ turn / ops.where(before > 0.0, before, 1.0), 0.0, 0.95), 0.0)
        further, _ = unit(after + ratio / (1.0 - ratio) * change)                                                           # (3)
        kept = ops.logical_and(up, ops.logical_not(same))                      # where it is the same, a face's normal stays to the bit
        n, at, s = ops.where(kept, after, n), ops.where(ops.logical_or(up, m_is_n), at_v, at), ops.where(kept, better, s)
        turn = ops.where(ops.logical_and(up, ops.equal(before, 0.0)), change, 0.0)
        new = ops.array([*n, *at, *ops.where(up, further, n), *turn, *best, s, s_best, exact])
        return new, functools.reduce(ops.logical_or, (same, apart, slow, known, better > enough))

    def look(x: Array) -> tuple[Array, Any]:
        """One direction: it is searched from if there may be a better one about it; and at last, exactly, the best there is."""
        best, s_best, k, skew = x[:3], x[6], x[7], x[8]
        last = k > len(directions) - 0.5
        n, angle = ops.where(last, best, row(directions, k)), row(about, k)
        c, at = supports(-n)
        s = c @ n
        most = s * ops.cos(angle) + ops.norm(c - s * n) * ops.sin(angle)       # (2)
        more = ops.where(k > flat + 0.5, EXACT, -EXACT) * size                 # of directions as good as each other a face's normal is best
        hopeless = ops.logical_and(most <= s_best + more, ops.logical_not(last))
        begin = ops.array([*n, *at, *n, *np.zeros(3), *ops.where(last, 0.0, best), s, s_best, ops.where(last, EXACT, ROUGH)])
        met = ops.logical_and(s_best <= 0.0, ops.logical_not(ops.logical_and(last, skew > 0.5)))
        settled = ops.logical_or(hopeless, met) if known_all and not meet else hopeless    # where they overlap, one of these is the answer
        found, _ = ops.while_loop(search, begin, SEARCHES, ops.logical_or(settled, s > enough))
        better = ops.logical_or(last, ops.logical_and(s_best + more < found[15], ops.logical_not(hopeless)))
        new = ops.where(better, ops.array([*found[:6], found[15]]), x[:7])
        skew = ops.where(ops.logical_and(better, ops.logical_not(last)), ops.where(k > flat + 0.5, 1.0, 0.0), skew)
        done = ops.logical_or(new[6] > enough, ops.logical_and(new[6] > 0.0, found[17] <= EXACT))
        k = ops.where(new[6] > 0.0, ops.maximum(k + 1.0, len(directions)), k + 1.0)
        return ops.array([*new, k, skew]), ops.logical_or(last, done)

    x, _ = ops.while_loop(look, ops.array([*np.zeros(6), -1e9, 0.0 * p[0], 0.0]), len(directions) + 1)
    n, s = x[:3], x[6] - a.rounding - b.rounding
    at = x[3:6] + a.rounding * n
    return Separation(s, n, at, at + s * n)


def extent(shape: Shape) -> Any:
    """Return how far a shape reaches from its origin, m."""
    return shape.bounding_radius + ops.norm(shape.center)


def starts(a: Shape, b: Shape, R: Array, p: Array) -> tuple[list[Array], list[float], int]:
    """Return directions (3) to search from, how far about each, rad, there may be others, and which is the last of the faces' normals.

    From center to center, and the normals of both; and of planes along an edge of each, which for boxes and segments are then all that
    count, or others all about.
    """
    ahead, _ = unit(p + R @ b.center - a.center, X)
    normals, others = [*a.normals, *(R @ b.normals.T).T], [*lattice(LATTICE)]
    if exact := a.edges is not None and b.edges is not None:
        others = [unit(ops.cross(i, R @ j), ahead, 1e-7)[0] for i in a.edges for j in b.edges]
    if a.symmetric and b.symmetric:
        normals, others = ([ops.where(n @ p < 0.0, -n, n) for n in some] for some in (normals, others))  # s(n) = n·p − …, of −n the same …
    else:
        normals, others = ([m for n in some for m in (n, -n)] for some in (normals, others))
    first = 1 + len(normals)
    return [ahead, *normals, *others], [0.0] * first + [0.0 if exact else REACH] * len(others), first - 1


def lattice(n: int) -> Array:
    """Return n directions (n, 3) that lie evenly about a half-sphere, on a spiral."""
    k = np.arange(n)
    z, angle = 1.0 - (k + 0.5) / n, k * np.pi * (3.0 - np.sqrt(5.0))
    rho = np.sqrt(1.0 - z * z)
    return np.stack([rho * np.cos(angle), rho * np.sin(angle), z], axis=-1)
