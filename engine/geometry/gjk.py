"""The Gilbert–Johnson–Keerthi algorithm: the point of a convex set that is nearest to the origin, from the set's support mapping alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray
#: passes
PASSES = 100


def nearest(support: Callable[[Array], tuple[Array, Array]], d: Array, far: Any, exact: Any,
            enough: Any = np.inf) -> tuple[Array, Array, Any]:  # fmt: skip
    """Return the point v (3) nearest to the origin of a convex set that does not hold it, what was said of v, and min c·v/|v| of the set.

    The set's point c farthest towards −v ends the search where v·(v − c) is no more than ``exact`` of v·v: all of the set lies beyond it.
    Else the simplex grows by c, and shrinks to the least that holds its point nearest to the origin, which always holds c.

    Parameters
    ----------
    support : the farthest point c (3) of the set in a direction (3), and a note of it (3); notes mix as their points do
    d : direction (3) from the origin towards the set, such that all of it lies beyond the plane through the origin
    far : a distance in that direction from which every point of the set is nearer to the origin on the way there, m
    exact : the relative error at which to end, of the squared distance
    enough : a distance at which to end, where the set is known to lie farther away, m

    References
    ----------
    Gilbert, Johnson, Keerthi, *A fast procedure for computing the distance between complex objects*, IEEE J. Robot. Autom. 1988.

    >>> corner = np.array([1.0, 2.0, 2.0])
    >>> nearest(lambda d: (corner + np.where(d < 0.0, 0.0, 1.0), np.zeros(3)), np.array([0.0, 0.0, 1.0]), 100.0, 1e-15)[0]
    array([1., 2., 2.])
    """
    beyond = far * d                                                           # a point that is there until others are
    start = np.array([beyond, 0.0 * d, *[beyond, 0.0 * d] * 3, 0.0 * d])       # v, its note, three points, each with its note, min c·v

    def advance(x: Array) -> tuple[Array, Any]:
        v = x[0]
        c, c_note = support(-v)
        found = ops.logical_or(v @ (v - c) <= exact * (v @ v), v @ c > enough * ops.norm(v))
        new = reduced(c, c_note, [(x[k], x[k + 1]) for k in (2, 4, 6)])
        stuck = v @ v <= new[0] @ new[0]
        end = ops.logical_or(found, stuck)
        least = ops.where(end, v @ c, -1e9)                                    # of a v that is not the last it says nothing
        return np.array([*ops.where(end, x[:8], new), ops.array([least, 0.0 * least, 0.0 * least])]), end

    x, _ = ops.while_loop(advance, start, PASSES)
    return x[0], x[1], x[8, 0] / ops.norm(x[0])


def reduced(c: Array, note: Array, others: list[tuple[Array, Array]]) -> Array:
    """Return v, its note, and three points with theirs, of which v is a mean (8, 3): nearest to the origin on edges and faces at c.

    On the face c + λ d_i + μ d_j with N = d_i × d_j it is v = N (N·c)/N², λ = −(c × d_j)·N/N², μ = (c × d_i)·N/N²: of narrow faces this
    is as exact as their corners are.
    """
    d = [y - c for y, _ in others]
    round_c = [ops.cross(c, d_i) for d_i in d]
    found = []                                                                 # |v|², λ, μ, v, and what λ and μ are shares of
    for d_i, y_i in zip(d, others, strict=True):                               # the edge c + λ d_i
        one = ops.clip(-(c @ d_i) / ops.maximum(d_i @ d_i, 1e-300), 0.0, 1.0)
        v = c + one * d_i
        found.append((v @ v, one, 0.0, v, y_i, (c, note)))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        N = ops.cross(d[i], d[j])
        square = N @ N
        sound = 1e-20 * (d[i] @ d[i]) * (d[j] @ d[j]) < square
        inverse = 1.0 / ops.where(sound, square, 1.0)
        one, two, v = -(round_c[j] @ N) * inverse, (round_c[i] @ N) * inverse, (N @ c) * inverse * N
        within = functools.reduce(ops.logical_and, (one > 0.0, two > 0.0, one + two < 1.0, sound))
        found.append((ops.where(within, v @ v, np.inf), one, two, v, others[i], others[j]))
    best = found[0]
    for other in found[1:]:
        nearer = other[0] < best[0]
        best = tuple(ops.where(nearer, np.array(new), np.array(old)) for new, old in zip(other, best, strict=True))
    _, one, two, v, y_i, y_j = best
    return np.array([v, note + one * (y_i[1] - note) + two * (y_j[1] - note), c, note, *y_i, *y_j])
