"""Narrow phase of many shapes: for each two kinds of shapes a loop over their pairs, and one table of all points that may push."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.contact.many.near import near_pairs
from engine.contact.pairs import flat_points, homogeneous, narrow_phase_of_kinds, points_of_kinds
from engine.ops import floats, procedure
from engine.spatial import se3

Array = np.ndarray
#: numbers of a point that narrow phases find: place, normal, gap, its rate before, how much it counts, and how fast its place goes then and
#: its normal turns
FOUND = 15
#: those rates in a row of a table, whose first number is the pair
VELOCITY, TURN = slice(10, 13), slice(13, 16)


class Shapes(NamedTuple):
    """Tables of all shapes that may touch, and of what may not.

    Attributes
    ----------
    outlines : (n, 28 or 30): the body (−1: the world), T_BS (3×4), centre (3) and half sizes (3) of a box around it in its frame, the
        radius of a ball about that centre, kind, number among its kind; stiffness, dissipation, μ, static μ, mobility; and
        half of how thick it is; and where some shape has them, torsional and rolling friction
    kinds : for each kind (n, 15 + m): T_BS (3×4), the centre (3) in the body's frame, and the measures (m)
    start, others, grounds : see :func:`~engine.contact.many.near.near_pairs`
    """

    outlines: Any
    kinds: tuple[Any, ...]
    start: Any
    others: Any
    grounds: Any


#: columns of outlines
BODY, POSE, CENTER, HALF, RADIUS, KIND, NUMBER, MATERIAL = 0, slice(1, 13), slice(13, 16), slice(16, 19), 19, 20, 21, slice(22, 26)
MOBILITY, SIZE, TURNING = 26, 27, slice(28, 30)
#: columns without the last
OUTLINE = 28


class Bodies(NamedTuple):
    """Tables of the bodies that move.

    Attributes
    ----------
    poses : (n, 12), T_WB (3×4) where flight ends
    initial : (n, 15), R_WB (3×3) and the twist (6) in the body's frame at the beginning of the step
    reach : (n, 2), speeds of the origin and of turning, m/s and rad/s, above those that there are in the step
    """

    poses: Any
    initial: Any
    reach: Any


class Manifolds(NamedTuple):
    """Tables of pairs that touch, or nearly, and of their points.

    Attributes
    ----------
    pairs : (m, 5), the bodies of both, the second twice where the first stands still; whether the first moves; and the two shapes
    points : (p, 17), the pair; place (3) from the second body's origin, and normal (3), in world axes; gap, its rate before, as how many
        it counts; how fast its place goes then (3) and its normal turns (3); and in how many points shapes of these kinds meet where all
        are flat
    """

    pairs: Any
    points: Any


def touching(shapes: Shapes, kinds: Sequence[geometry.Kind], h: Any, bodies: Bodies) -> Manifolds:
    """Return the manifolds of all shapes that touch, or may within a step of h.

    Parameters
    ----------
    kinds : the kinds of shapes, as :func:`engine.geometry.measures` has them, in the order of the shapes' tables
    """
    carriers = ops.rows(lambda s: ops.maximum(s[BODY], 0.0), shapes.outlines)
    far = ops.rows(lambda s, r: way(h, s, r), shapes.outlines, ops.gather(bodies.reach, carriers))
    boxes = ops.rows(box, shapes.outlines, ops.gather(bodies.poses, carriers), far)
    with ops.part("broad phase", h):
        near = near_pairs(boxes, shapes.start, shapes.others, shapes.grounds, float(len(kinds)))
    found = Manifolds(np.zeros((0, 5)), np.zeros((0, FOUND + 2)))
    for k, one in enumerate(kinds):
        for j, two in enumerate(kinds):
            if two is geometry.Plane or isinstance(two, geometry.HeightField):
                continue
            code = float(k * len(kinds) + j)
            pairs = ops.chosen(near, ops.rows(lambda p, code=code: ops.equal(p[2], code), near))
            found = added(found, shapes, (k, j), (one, two), pairs, bodies, far)
    return found


def way(h: Any, s: Array, speeds: Array) -> Any:
    """Return how far a shape with an outline may go within a step of h, and as far again, by the speeds (2) of its body."""
    lever = ops.norm(s[POSE].reshape(3, 4)[:, 3]) + ops.norm(s[CENTER]) + s[RADIUS]
    return ops.where(s[BODY] < 0.0, 0.0, 2.0 * h * (speeds[0] + speeds[1] * lever))


def box(s: Array, T: Array, far: Any) -> Array:
    """Return centre and half sizes of a box along the world's axes around a shape with an outline, by so much larger; body and kind."""
    T_WS = ops.where(s[BODY] < 0.0, np.eye(4), homogeneous(T)) @ homogeneous(s[POSE])
    half = ops.minimum(abs(T_WS[:3, :3]) @ s[HALF], s[RADIUS]) + far
    return np.concatenate([T_WS[:3, :3] @ s[CENTER] + T_WS[:3, 3], half, s[[BODY, KIND]]])


def carried(T: Array, s: Array) -> Array:
    """Return the centre (3) of a shape with an outline on a body at T (3×4, flattened), in the world."""
    return (homogeneous(T) @ homogeneous(s[POSE]) @ np.append(s[CENTER], 1.0))[:3]


def added(found: Manifolds, shapes: Shapes, at: tuple[int, int], kinds: tuple[Any, Any], pairs: Any, bodies: Bodies,
          far: Any) -> Manifolds:  # fmt: skip
    """Return the manifolds together with the points of pairs of shapes (n, 3) of two kinds, numbers ``at`` of all."""
    n = points_of_kinds(*kinds)
    meet = narrow_phase_of_kinds(*kinds, near=True)
    outlines = [ops.gather(shapes.outlines, ops.rows(lambda p, k=k: p[k], pairs)) for k in (0, 1)]
    own = [ops.gather(shapes.kinds[k], ops.rows(lambda s: s[NUMBER], s)) for k, s in zip(at, outlines, strict=True)]
    on = [ops.rows(lambda s: ops.maximum(s[BODY], 0.0), s) for s in outlines]
    still = ops.rows(lambda s: s[BODY] < 0.0, outlines[0])
    margin = ops.rows(lambda x, y: x + y, *(ops.gather(far, ops.rows(lambda p, k=k: p[k], pairs)) for k in (0, 1)))

    def of_pair(still: Any, far: Any, a: Array, T_a: Array, b_a: Array, b: Array, T_b: Array, b_b: Array) -> Array:
        T_a, b_a = ops.where(still, np.eye(4)[:3].ravel(), T_a), ops.where(still, np.r_[np.eye(3).ravel(), np.zeros(6)], b_a)
        places = [np.concatenate([T, initial, s[:15]]) for s, T, initial in ((a, T_a, b_a), (b, T_b, b_b))]
        given = [s[15:] for s, kind in zip((a, b), kinds, strict=True) if not isinstance(kind, geometry.Shape)]
        x, normal, gap, before, share, u = meet(*places, se3.position(homogeneous(T_b)), far, *given)
        return np.column_stack([x, normal, gap, before, share, u]).ravel()

    tables = [x for s, i in zip(own, on, strict=True) for x in (s, ops.gather(bodies.poses, i), ops.gather(bodies.initial, i))]
    manifolds = ops.rows(of_pair, still, margin, *tables)
    ends = ops.rows(lambda p, still, a, b: ops.array([ops.where(still, b, a), b, ops.where(still, 0.0, 1.0), p[0], p[1]]),
                    pairs, still, *on)  # fmt: skip
    return Manifolds(*collected(found.pairs, found.points, ends, manifolds, margin, float(n), float(flat_points(*kinds))))


@procedure
def collected(pairs: Any, points: Any, more: Any, manifolds: Any, margin: Any, many: Any, flat: Any) -> Any:
    """Return the tables of :class:`Manifolds` with those of more pairs that have points nearer than a ``margin``."""
    each = int(many)
    m, p = len(pairs), len(points)
    for k in range(len(more)):
        here = 0
        for j in range(each):
            if manifolds[k, FOUND * j + 6] < margin[k]:
                here += 1
        p += here
        m += 1 if here > 0 else 0
    all_pairs, all_points = floats(m, 5), floats(p, 17)
    for k in range(len(pairs)):
        for c in range(5):
            all_pairs[k, c] = pairs[k, c]
    for k in range(len(points)):
        for c in range(17):
            all_points[k, c] = points[k, c]
    m, p = len(pairs), len(points)
    for k in range(len(more)):
        here = 0
        for j in range(each):
            if manifolds[k, FOUND * j + 6] < margin[k]:
                all_points[p, 0] = m
                for c in range(FOUND):
                    all_points[p, 1 + c] = manifolds[k, FOUND * j + c]
                all_points[p, 16] = flat
                here += 1
                p += 1
        if here > 0:
            for c in range(5):
                all_pairs[m, c] = more[k, c]
            m += 1
    return all_pairs, all_points
