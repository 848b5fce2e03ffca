"""Separation of two boxes by their fifteen axes, without a branch: the normals of their faces, and of planes along an edge of each.

Contact points of two boxes, as of all convex shapes, are made from this by :mod:`engine.geometry.clipping`; which function serves which
pair is the table in :mod:`engine.geometry.pairs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.geometry.separation import Separation
from engine.geometry.shapes import Box

Array = np.ndarray
#: of the boxes' size: what an axis must be better than those before it, so that a face's normal stays where an edge's is as good
BETTER = 1e-12
#: sine, squared, of the angle between two edges below which they count as parallel
PARALLEL = 1e-12


def box_separation(a: Box, b: Box, T: Array) -> Separation:
    """Return the greatest separation of two boxes along the normals n of a plane on a face of either or along an edge of each, B at the
    pose T (4, 4) in A's frame::

        s(n) = |n·p| − Σ α_i |n_i| − Σ β_j |n·R e_j|                                                            (1)

    Where they overlap it is their signed distance; where they are apart it is no more than that, and less where corners are nearest.
    The points are those of the face's axis or the two edges that are nearest to each other.

    Reference: Gottschalk, Lin & Manocha, *OBBTree*, SIGGRAPH 1996.

    >>> T = np.eye(4)
    >>> T[:3, 3] = 0.2, 0.3, 1.5
    >>> s = box_separation(Box((2.0, 2.0, 2.0)), Box((1.0, 1.0, 1.2)), T)
    >>> float(s.gap.round(12)), s.normal, s.b
    (-0.1, array([0., 0., 1.]), array([0.7, 0.8, 0.9]))
    """
    R, p = T[:3, :3], T[:3, 3]
    alpha, beta, E = a.half, b.half, np.eye(3)
    size = ops.minimum(a.bounding_radius, b.bounding_radius)
    A = abs(R)
    best: Any = -1e9 * size
    n, of_b, i_edge, j_edge = E[2], 0.0, -1.0, -1.0

    def better(s: Any, axis: Array, along: Any, *which: Any) -> Any:
        """Keep an axis, turned towards B, if it is the best until now: p lies so far along it."""
        nonlocal best, n, of_b, i_edge, j_edge
        wins = best + BETTER * size < s
        best = ops.where(wins, s, best)
        n = ops.where(wins, ops.where(along < 0.0, -1.0, 1.0) * axis, n)
        of_b, i_edge, j_edge = (ops.where(wins, x, y) for x, y in zip(which, (of_b, i_edge, j_edge), strict=True))

    for i in range(3):                                                         # (1)
        better(abs(p[i]) - alpha[i] - A[i] @ beta, E[i], p[i], 0.0, -1.0, -1.0)
    for j in range(3):
        along = p @ R[:, j]
        better(abs(along) - beta[j] - alpha @ A[:, j], R[:, j], along, 1.0, -1.0, -1.0)
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            square = 1.0 - R[i, j] * R[i, j]
            crosses = square > PARALLEL
            shorter = 1.0 / ops.sqrt(ops.where(crosses, square, 1.0))
            along = p[i2] * R[i1, j] - p[i1] * R[i2, j]
            s = (abs(along) - alpha[i1] * A[i2, j] - alpha[i2] * A[i1, j] - beta[j1] * A[i, j2] - beta[j2] * A[i, j1]) * shorter
            better(ops.where(crosses, s, -1e9 * size), shorter * ops.cross(E[i], R[:, j]), along, 0.0, float(i), float(j))
    m = -(n @ R)
    corner_a, corner_b = a.core(n), p + R @ b.core(m)
    x, y = ops.where(of_b > 0.5, corner_a, corner_b - best * n), ops.where(of_b > 0.5, corner_a + best * n, corner_b)
    at_a, at_b = nearest_of_edges(a, b, T, n, m, i_edge, j_edge)
    on_edges = i_edge > -0.5
    return Separation(best, n, ops.where(on_edges, at_a, x), ops.where(on_edges, at_b, y))


def nearest_of_edges(a: Box, b: Box, T: Array, n: Array, m: Array, i: Any, j: Any) -> tuple[Array, Array]:
    """Return the points (3) at which the lines of edge i of A, and edge j of B, that are farthest along n in A's frame and m in B's, are
    nearest to each other."""
    R, p, E = T[:3, :3], T[:3, 3], np.eye(3)
    d = sum(ops.where(ops.equal(i, float(k)), 1.0, 0.0) * E[k] for k in range(3))
    e = sum(ops.where(ops.equal(j, float(k)), 1.0, 0.0) * E[k] for k in range(3))
    x, y, f = a.core(n) * (1.0 - d), p + R @ (b.core(m) * (1.0 - e)), R @ e
    r, c = y - x, d @ f
    sine2 = ops.maximum(1.0 - c * c, PARALLEL)
    return x + (r @ d - c * (r @ f)) / sine2 * d, y + (c * (r @ d) - r @ f) / sine2 * f
