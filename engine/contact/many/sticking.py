"""How pairs gave way since they stick (see :mod:`engine.contact.point_law`), where points are rows: kept in some places for pairs that
press, each with its number, in their order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.many.manifolds import KIND, SIZE, Touching
from engine.ops import floats, procedure

Array = np.ndarray
#: pairs that may stick at once; further ones, by their numbers, creep as if they had just begun to
PLACES = 64
#: of tables of free bodies, for each shape: each of equal balls, as close as can be, touches twelve, each of a heap four to eight
EACH = 6
#: shapes that numbers of their pairs tell apart
SHAPES = 2.0**21


class Held(NamedTuple):
    """What is held of the pairs that touch in a step.

    Attributes
    ----------
    number : (m), ascending; size : (m), half of how thick the thinner shape is, m
    rotation : (m, 9), of the first bodies; stuck : (m, 9), as :func:`engine.contact.point_law.begun` has it, from the second bodies' origins
    """

    number: Any
    size: Any
    rotation: Any
    stuck: Any


@procedure
def first_of(of: Any, pairs: Any) -> Any:
    """Return the row, from 1 on, of the first point of each pair; zero of those that have none."""
    first = floats(len(pairs))
    for k in range(len(of)):
        if first[int(of[k])] == 0.0:
            first[int(of[k])] = k + 1
    return first


def found(stuck: Array, pairs: int, of: Any) -> Any:
    """Return what is stuck (p, 6) of points whose pairs, from 1 to ``pairs``, are given, of places (n, 7) with the numbers of pairs, which
    are zero where there is none."""
    at = ops.add_at(np.zeros(pairs + 1), stuck[:, 0], np.arange(1.0, len(stuck) + 1.0))
    return ops.gather(np.concatenate([np.zeros((1, 6)), stuck[:, 1:]]), ops.gather(at, of))


def kept(points: Any, constants: Any, friction: Any, of: Any, twists: tuple[Any, Any], rotations: Any, sizes: Any, was: Any,
         places: int) -> Array:  # fmt: skip
    """Return what is stuck (places, 7) at the end of a step.

    Parameters
    ----------
    points, constants, friction : rows (p, 14), c (p, 9), and friction (p, 2) of the points; of : their pairs' numbers, from 1 on
    twists : of their first and second bodies (p, 6)
    rotations : of their first bodies (p, 9)
    sizes : of all pairs, m (pairs + 1), by their numbers
    was : what was stuck (p, 9), with the place
    """
    pairs = len(sizes)
    pressed = ops.rows(lambda c, row, f, V_a, V_b: point_law.pressed(c, row, f[1], V_b - V_a), constants, points, friction, *twists)
    sums = ops.gather(ops.add_at(np.zeros((pairs, 8)), of, pressed), of)       # of each point its pair's
    gave = ops.rows(lambda c, s, V_a, V_b, w: point_law.gave_way(c[2], s, V_b - V_a, w), constants, sums, *twists, was)
    stretches = ops.rows(lambda c, row, f, V_a, V_b, g, w: point_law.stretched(c, row, f[1], V_b - V_a, g, w[6:]), constants, points,
                         friction, *twists, gave, was)  # fmt: skip
    stretch = ops.gather(ops.add_at(np.zeros(pairs), of, stretches), of)
    first = ops.gather(first_of(of, sizes), of)

    def one(k: Any, f: Any, number: Any, c: Array, g: Array, s: Array, y: Any, size: Any, w: Array, R: Array) -> tuple[Array, Any]:
        S = point_law.turned(R.reshape(3, 3).T, point_law.held(c[2], g, s, y, size, w[6:]))
        return np.concatenate([[number], S]), ops.logical_and(ops.equal(k + 1.0, f), s[0] > 0.0)

    rows, own = ops.rows(one, ops.row_numbers(points), first, of, constants, gave, sums, stretch, ops.gather(sizes, of), was, rotations)
    return np.asarray(ops.gather(np.concatenate([ops.chosen(rows, own), np.zeros((places, 7))]), np.arange(float(places))))


@procedure
def matched(number: Any, places: Any) -> Any:
    """Return what is stuck (m, 6) of pairs with an ascending number (m), of places (n, 7) whose numbers come first and ascend as well.

    >>> matched(np.array([2.0, 5.0]), np.array([[1.0, *[9.0] * 6], [5.0, *[8.0] * 6], np.zeros(7)]))[:, 0]
    array([0., 8.])
    """
    gave = floats(len(number), 6)
    j = 0
    for k in range(len(number)):
        while j < len(places):
            if places[j, 0] >= number[k]:
                break
            j += 1
        if j < len(places):
            if places[j, 0] == number[k]:
                for c in range(6):
                    gave[k, c] = places[j, 1 + c]
    return gave


def holding(found: Touching, outlines: Any, poses: Any, places: Any) -> Held:
    """Return what is held of what touches, of shapes with ``outlines`` on bodies at ``poses`` (n, 12), by what is stuck (k, 7)."""
    one, two = (ops.gather(outlines, ops.rows(lambda p, k=k: p[k], found.pairs)) for k in (3, 4))

    def of(p: Array, a: Array, b: Array, T: Array) -> tuple[Any, Any, Array]:
        kinds = a[KIND] * 64.0 + b[KIND]
        rotation = ops.where(p[2] > 0.5, T.reshape(3, 4)[:, :3].ravel(), np.eye(3).ravel())
        return (kinds * SHAPES + p[3]) * SHAPES + p[4] + 1.0, ops.minimum(a[SIZE], b[SIZE]), rotation

    number, size, rotation = ops.rows(of, found.pairs, one, two, ops.gather(poses, ops.rows(lambda p: p[0], found.pairs)))
    stuck = ops.rows(lambda R, S: np.concatenate([point_law.turned(R.reshape(3, 3), S), np.zeros(3)]), rotation, matched(number, places))
    return Held(number, size, rotation, stuck)


def kept_by(h: Any, points: Any, friction: Any, of: Any, twists: Any, holds: Held, places: int) -> Any:
    """Return what is stuck (k, 7), in so many places at most, at the end of a step of h with the ``twists`` (m, 6) of the pairs.

    Parameters
    ----------
    points : (p, 24), the pair (which is ``of``), the constants (9) and the row (14) of each; friction : (p, 2)
    """
    at = ops.gather(twists, of)
    pressed = ops.rows(lambda p, f, W: point_law.pressed(p[1:10], p[10:], f[1], W), points, friction, at)
    sums = ops.add_at(ops.rows(lambda W: np.zeros(8), twists), of, pressed)
    gave = ops.rows(lambda s, W, S: point_law.gave_way(h, s, W, S), sums, twists, holds.stuck)
    stretches = ops.rows(lambda p, f, W, g: point_law.stretched(p[1:10], p[10:], f[1], W, g, np.zeros(3)), points, friction, at,
                         ops.gather(gave, of))  # fmt: skip
    stretch = ops.add_at(ops.rows(lambda W: 0.0, twists), of, stretches)

    def one(number: Any, g: Array, s: Array, y: Any, size: Any, R: Array) -> tuple[Array, Any]:
        return np.concatenate([[number], point_law.turned(R.reshape(3, 3).T, point_law.held(h, g, s, y, size, np.zeros(3)))]), s[0] > 0.0

    rows = ops.chosen(*ops.rows(one, holds.number, gave, sums, stretch, holds.size, holds.rotation))
    return ops.chosen(rows, ops.rows(lambda k: k < float(places), ops.row_numbers(rows)))
