"""Contact points of two convex shapes: the corners of what their faces have in common, seen along the normal."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.box_separation import box_separation
from engine.geometry.contact_points import FAR, Points, points_of
from engine.geometry.faces import Face, face
from engine.geometry.separation import Separation, separation
from engine.geometry.shapes import Box, Cylinder, Hull, Shape
from engine.geometry.vectors import across

Array = np.ndarray
#: of the shapes' size: what counts as one place
SAME = 1e-9
#: of the shapes' size: the depth that shapes which just touch count as
TOUCHING = 1e-9
#: of a cylinder's radius: the depth in another beyond which the strip along its side that counts as flat grows no wider
WIDEST = 1e-3


def convex_points(a: Shape, b: Shape, T: Array, near: Separation | None = None) -> Points:
    """Return the contact points of two convex shapes, B at the pose T (4, 4) in A's frame, which are ``near`` so, if that is known.

    Along the normal n of least overlap, the faces of both are polygons in a plane. Their common part is a polygon too, each side of which
    lies on a side of one of the two; there is a point for every side of either, where that common side begins. Its gap is that between the
    planes of the faces. If the least of the gaps is not the shapes' signed distance, as where corners or curved sides meet, a point is that
    of :func:`separation`: one that is not used otherwise, or the one with the widest gap. How many points each counts as is found of a
    stored energy by :func:`kept_by_all`. With a cylinder that is a point of its own, the last, which counts as what the others are short
    of one::

        1 − Σ s_i (g_i/g)₊                                                      (1)

    of shares s_i, one at most, with the gaps g_i, and g the least: what is pressed in at one place is pressed as by one point, whatever
    corners are there, and forces do not jump where corners come and go.

    >>> from engine.geometry import Box
    >>> T = np.eye(4)
    >>> T[2, 3] = 1.4
    >>> points = convex_points(Box((2.0, 2.0, 2.0)), Box((1.0, 1.0, 1.0)), T)
    >>> points.gap[4:].round(9)                                                # the first four are those of the larger box's sides
    array([-0.1, -0.1, -0.1, -0.1])
    >>> points.corner[4:]                                                      # corners of B
    array([-1., -1., -1., -1.])
    """
    R, p = T[:3, :3], T[:3, 3]
    near = near or nearest(a, b, T)
    n, gap = near.normal, near.gap
    size = ops.minimum(a.bounding_radius, b.bounding_radius)
    depth = ops.maximum(-gap, TOUCHING * size)
    strips: list[Any] = [0.0, 0.0]
    if isinstance(a, Cylinder) and isinstance(b, Cylinder):
        strips = [0.5 * ops.sqrt(s.radius * ops.minimum(depth, WIDEST * s.radius)) for s in (a, b)]
    one, two = face(a, n, depth, strips[0]), face(b, -(n @ R), depth, strips[1]).placed(R, p).reversed()
    u, v = across(n)
    of_a, of_b = (np.stack([f.corners @ u, f.corners @ v], axis=-1) for f in (one, two))
    top, bottom = near.a @ n, near.b @ n                                       # no point of A lies above, none of B below
    points, owners = [], []
    sides_a, sides_b = common(of_a, of_b, size, SAME), common(of_b, of_a, size, -SAME)
    for k, side in enumerate(sides_a):
        at = along(one, k, side.begin)
        low, high = at @ n + a.rounding, ops.maximum(height(two, n, at) - b.rounding, bottom)
        points.append((at + (a.rounding + 0.5 * (high - low)) * n, n, ops.where(side.there, high - low, FAR)))
        owners.append(owner(a, side))
    for k, side in enumerate(sides_b):
        at = along(two, k, side.begin)
        low, high = ops.minimum(height(one, n, at) + a.rounding, top), at @ n - b.rounding
        points.append((at - (b.rounding + 0.5 * (high - low)) * n, n, ops.where(side.there, high - low, FAR)))
        owners.append(-owner(b, side))
    middle = 0.5 * (near.a + near.b)
    if not points:
        return points_of([(middle, n, gap)])
    most = ops.minimum(one.counts, two.counts)
    counts, count = shares(sides_a, sides_b, of_a, of_b, most)
    gaps = [g for _, _, g in points]
    deep = [ops.clip(1.0 - (g - gap) / depth, 0.0, 1.0) for g in gaps]
    deepest, widest = (functools.reduce(f, gaps) for f in (ops.minimum, ops.maximum))
    own = gap + 1e-8 * size < deepest
    if isinstance(a, Cylinder) or isinstance(b, Cylinder):
        counts = [ops.minimum(s, 1.0) for s in counts]
        rest = ops.maximum(1.0 - sum(s * d for s, d in zip(counts, deep, strict=True)), 0.0)      # (1)
        last = middle, n, ops.where(ops.logical_or(own, rest > 0.0), gap, FAR)
        return points_of([*points, last], [*counts, rest], [*owners, 0.0])
    t, alone = kept_by_all(sum(s * d * d for s, d in zip(counts, deep, strict=True)), ops.maximum(count / most, 2.0 - count))
    tip = only_corner(a, one) - only_corner(b, two)
    first, at, rows, parts, corners = True, ops.where(own, widest, deepest), [], [], []
    for (x, _, g), s, d, corner in zip(points, counts, deep, owners, strict=True):
        here = ops.logical_and(first, ops.equal(g, at))
        new, first = ops.logical_and(here, own), ops.logical_and(first, ops.logical_not(here))
        rows.append((ops.where(new, middle, x), n, ops.where(new, gap, g)))
        parts.append(ops.where(here, alone + t * s * d, t * s))                # what pushes there goes along
        corners.append(ops.where(new, tip, corner))
    return points_of(rows, parts, corners)


def owner(shape: Shape, side: Side) -> Any:
    """Return 1 where a side of a shape's face begins with a corner of it, and 0 where another's cuts it, or what looks like a corner is
    round."""
    return ops.where(side.cut < 0.0, 1.0, 0.0) if isinstance(shape, (Box, Hull)) else 0.0


def only_corner(shape: Shape, f: Face) -> Any:
    """Return 1 where the face of a hull is a single corner, else 0."""
    return ops.where(ops.equal(np.sum(abs(f.corners - np.roll(f.corners, 1, axis=0))), 0.0), 1.0, 0.0) if isinstance(shape, Hull) else 0.0


def kept_by_all(energy: Any, least: Any) -> tuple[Any, Any]:
    """Return by what the shares s_i of corners are to be multiplied, and what the deepest point counts as besides, so that forces are those
    of a stored energy.

    Alone the deepest point stores k g²/2, and all corners together e = Σ s_i (g_i/g)₊² of that. Shapes store the greater of both, E = 1 or
    e, whatever corners come and go far from where they are pressed in; and between ``least`` = l and 2 − l, smoothly::

        E = 1 + (e − l)²/(4 (1 − l))                                           (2)
        t = dE/de = (e − l)/(2 (1 − l)),   E − e t = (1 − t) (1 + (1 − l) t)   (3)

    of which ∂E/∂g_i makes t s_i points of every corner, and (3) more of the deepest.

    >>> [[float(x) for x in kept_by_all(e, 0.5)] for e in (0.25, 1.0, 2.0)]    # the deepest alone, both, and the corners
    [[0.0, 1.0], [0.5, 0.625], [1.0, 0.0]]
    """
    t = ops.clip((energy - least) / ops.maximum(2.0 - 2.0 * least, SAME), 0.0, 1.0)
    return t, (1.0 - t) * (1.0 + (1.0 - least) * t)                            # (3)


def nearest(a: Shape, b: Shape, T: Array) -> Separation:
    """Return the signed distance of two convex shapes; of boxes that overlap by their axes."""
    if not (isinstance(a, Box) and isinstance(b, Box)):
        return separation(a, b, T, meet=False)
    near = box_separation(a, b, T)
    exact = ops.when(near.gap > 0.0, lambda: flat(separation(a, b, T, meet=False)), flat(near))
    return Separation(exact[0], exact[1:4], exact[4:7], exact[7:])


def flat(s: Separation) -> Array:
    """Return gap, normal and points, one after another (10)."""
    return np.concatenate([[s.gap], s.normal, s.a, s.b])


def shares(sides_a: list[Side], sides_b: list[Side], of_a: Array, of_b: Array, most: Any) -> tuple[list[Any], Any]:
    """Return how many points each corner of a common part counts as, and all together: by the lengths l of the sides beside it, the one
    that begins there and the one that ends there, (l_k + l_j)/2 of all; together 1 + (n − 1) P/P_full, with the part's perimeter P over
    that of the smaller face, and n = 2 for edges and 4 for faces, ``most``.
    """
    weights = []
    for sides, others in ((sides_a, sides_b), (sides_b, sides_a)):
        for k, side in enumerate(sides):
            cut = sum(ops.where(ops.equal(side.cut, float(j)), other.length, 0.0) for j, other in enumerate(others))
            before = side.length if len(sides) == 2 else ops.where(side.cut < 0.0, sides[k - 1].length, cut)
            weights.append(ops.where(side.there, 0.5 * (side.length + before), 0.0))
    full = [sum(ops.norm(c - d) for c, d in zip(face, np.roll(face, -1, axis=0), strict=True)) for face in (of_a, of_b) if len(face) > 1]
    total = sum(weights)
    count = 1.0 + (most - 1.0) * ops.minimum(total / ops.maximum(functools.reduce(ops.minimum, full), 1e-300), 1.0)
    return [count * w / ops.maximum(total, 1e-300) for w in weights], count


class Side(NamedTuple):
    """Part of a polygon's side that lies within another polygon: where along the side it begins, from 0 to 1, whether there is any, how
    long it is, m, and the number of the other's side that cuts it where it begins, −1 where it begins with the side."""

    begin: Any
    there: Any
    length: Any
    cut: Any


def along(f: Face, k: int, t: Any) -> Array:
    """Return the point (3) on side k of a face, at t of its length."""
    return f.corners[k] + t * (f.corners[(k + 1) % len(f.corners)] - f.corners[k])


def height(f: Face, n: Array, at: Array) -> Any:
    """Return how far along n the plane of a face lies, above or below a point (3)."""
    slope = f.normal @ n
    return at @ n + (f.normal @ (f.corners[0] - at)) / ops.where(abs(slope) < 1e-9, 1.0, slope)


def common(one: Array, two: Array, size: float, slack: float) -> list[Side]:
    """Return for every side of a polygon (k, 2) its part in another (m, 2).

    Both are convex, their corners counter-clockwise. With a ``slack`` it is so much of a ``size``, m, larger. Without area it holds
    nothing.
    """
    if len(two) < 3:
        return []
    sides = np.roll(two, -1, axis=0) - two
    area = sum(wedge(two[i] - two[0], sides[i]) for i in range(1, len(two)))
    inside = [[wedge(e, x - c) for x in one] for c, e in zip(two, sides, strict=True)]   # g at the corners: within all g ≥ 0
    wide = [ops.norm(e) for e in sides]
    starts = []
    for k, x in enumerate(one):
        e = one[(k + 1) % len(one)] - x
        begin, end, there, long, cut = 0.0, 1.0, 1e-9 * size * size < area, ops.norm(e), -1.0
        for j, (g, width) in enumerate(zip(inside, wide, strict=True)):        # g + t h ≥ 0 at x + t e
            here, h = g[k] + slack * size * width, g[(k + 1) % len(one)] - g[k]
            crosses = 1e-12 * size * size < abs(h)
            t = -here / ops.where(crosses, h, 1.0)
            enters = ops.where(ops.logical_and(crosses, h > 0.0), t, 0.0)
            cut = ops.where(enters > begin, float(j), cut)
            begin = ops.maximum(begin, enters)
            end = ops.minimum(end, ops.where(ops.logical_and(crosses, h < 0.0), t, 1.0))
            there = ops.logical_and(there, ops.logical_or(crosses, here >= 0.0))
        there = ops.logical_and(there, abs(slack) * size < (end - begin) * long)
        starts.append(Side(ops.where(there, begin, 0.0), there, ops.where(there, (end - begin) * long, 0.0), cut))
    return starts


def wedge(a: Array, b: Array) -> Any:
    """Return a × b in the plane."""
    return a[0] * b[1] - a[1] * b[0]
