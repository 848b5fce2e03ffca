"""Check a decimated surface against its original, by the depths at which both are met from six sides."""

from __future__ import annotations

import numpy as np

from engine.viewer.scene.triangles import crossed

Array = np.ndarray
#: cells along a side of a map of depths; points that are spread over a surface for its maps
CELLS, POINTS = 32, 8000
#: of a surface's size, by which depths differ where something is gone, or stands out: a cell and a little
STEP = 0.04
#: of two numbers that no fraction is near to (Roberts' sequence in the plane), so that points spread evenly
PLASTIC = 0.7548776662466927, 0.5698402909980532


def spread(points: Array, faces: Array) -> Array:
    """Return POINTS points (n, 3) on faces (m, 3), evenly by area."""
    k = np.arange(POINTS) + 0.5
    area = np.cumsum(np.linalg.norm(crossed(points, faces), axis=1))
    which = np.minimum(np.searchsorted(area, k / POINTS * area[-1]), len(faces) - 1)
    u, v = np.modf(k * PLASTIC[0])[0], np.modf(k * PLASTIC[1])[0]
    over = u + v > 1.0                                          # the other half of a parallelogram
    u[over], v[over] = 1.0 - u[over], 1.0 - v[over]
    a, b, c = (points[faces[which, i]] for i in range(3))
    return a + u[:, None] * (b - a) + v[:, None] * (c - a)


def depths(points: Array, low: Array, size: float) -> Array:
    """Return how far points (n, 3) are met, of a size, from either end of each axis: maps (6, CELLS, CELLS), infinite where none is."""
    at = (points - low) / size
    cell = np.clip((CELLS * at).astype(int), 0, CELLS - 1)
    maps = np.full((6, CELLS, CELLS), np.inf)
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        for k, far in ((2 * axis, at[:, axis]), (2 * axis + 1, 1.0 - at[:, axis])):
            np.minimum.at(maps[k], (cell[:, i], cell[:, j]), far)
    return maps


def lost(maps: Array, others: Array) -> float:
    """Return the share of the cells where something is met in which others, in cells beside them too, meet nothing near it."""
    wide = np.pad(others, ((0, 0), (1, 1), (1, 1)), constant_values=np.inf)
    beside = np.stack([wide[:, i : i + CELLS, j : j + CELLS] for i in range(3) for j in range(3)])
    nearest, farthest = beside.min(axis=0), np.where(np.isfinite(beside), beside, -np.inf).max(axis=0)
    there = np.isfinite(maps)
    gone = there & ~((nearest - STEP <= maps) & (maps <= farthest + STEP))
    return float(gone.sum() / max(there.sum(), 1))


def torn(points: Array, faces: Array, p: Array, f: Array) -> float:
    """Return the larger share of what a surface loses, and of what is new, in a stand-in of it.

    >>> corners, sides = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), np.array([[0, 1, 2], [1, 3, 2]])
    >>> torn(corners, sides, corners, sides), torn(corners, sides, corners, sides[:1]) > 0.3
    (0.0, True)
    """
    low, size = points.min(axis=0), 1.0001 * float(np.ptp(points, axis=0).max())
    ours, theirs = (depths(spread(*x), low, size) for x in ((points, faces), (p, f)))
    return max(lost(ours, theirs), lost(theirs, ours))
