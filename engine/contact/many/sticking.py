"""How pairs gave way since they stick (see :mod:`engine.contact.point_law`), where points are rows: kept in some places for pairs that
press, each with its number."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.ops import floats, procedure

Array = np.ndarray
#: pairs that may stick at once; further ones, by their numbers, creep as if they had just begun to
PLACES = 64


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
    was : what was stuck (p, 9), with the place; or (p, 12)
    """
    pairs = len(sizes)
    pressed = ops.rows(lambda c, row, f, V_a, V_b: point_law.pressed(c, row, f[1], V_b - V_a), constants, points, friction, *twists)
    sums = ops.gather(ops.add_at(np.zeros((pairs, 8)), of, pressed), of)       # of each point its pair's
    gave = ops.rows(lambda c, s, V_a, V_b, w: point_law.gave_way(c, s, V_b - V_a, w), constants, sums, *twists, was)
    stretches = ops.rows(lambda c, row, f, V_a, V_b, g, w: point_law.stretched(c, row, f[1], V_b - V_a, g, w[6:9]), constants, points,
                         friction, *twists, gave, was)  # fmt: skip
    stretch = ops.gather(ops.add_at(np.zeros(pairs), of, stretches), of)
    first = ops.gather(first_of(of, sizes), of)

    def one(k: Any, f: Any, number: Any, c: Array, g: Array, s: Array, y: Any, size: Any, R: Array) -> tuple[Array, Any]:
        S = point_law.turned(R.reshape(3, 3).T, point_law.held(c, g, s, y, size))
        return np.concatenate([[number], S]), ops.logical_and(ops.equal(k + 1.0, f), s[0] > 0.0)

    rows, own = ops.rows(one, ops.row_numbers(points), first, of, constants, gave, sums, stretch, ops.gather(sizes, of), rotations)
    return np.asarray(ops.gather(np.concatenate([ops.chosen(rows, own), np.zeros((places, 7))]), np.arange(float(places))))
