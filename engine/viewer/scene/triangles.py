"""Triangles as files hold them, made fit to be drawn: corners joined, wound one way, smooth where they should be; and made fewer.

A mesh is points (n, 3) and faces (m, 3), which index them. A half-edge ``3 f + k`` leads from corner k of face f to the next; the same
number is the corner's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
#: parts of a mesh's size within which points are one
GRAIN = 2**20
#: the cosine of the angle between two triangles above which the edge they share is sharp
CREASE = float(np.cos(np.radians(40.0)))


def ranked(key: Array) -> tuple[Array, Array]:
    """Return where in numbers (n) one of each value is, in their order, and the rank of every one (n): np.unique, but quicker."""
    order = np.argsort(key)
    new = np.diff(key[order], prepend=key[order[0]] - 1) != 0
    rank = np.empty(len(key), dtype=np.int64)
    rank[order] = np.cumsum(new) - 1
    return order[new], rank


def distinct(*columns: Array) -> tuple[Array, Array]:
    """Return where one of each of the rows is that differ in any column of whole numbers (n), and which of them every row is (n)."""
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        if size * (int(np.ptp(column)) + 1) >= 2**63:
            key, column = (ranked(x)[1] for x in (key, column))
            size = int(key.max()) + 1
        span = int(np.ptp(column)) + 1
        key = key * span + (column - column.min())
        size *= span
    return ranked(key)


def packed(x: Array, low: Any, step: float, bits: int = 21) -> Array:
    """Return rows of three numbers (n, 3), in steps from the lowest, as one whole number each (n)."""
    cell = np.round((x - low) / step).astype(np.int64)
    return (cell[:, 0] << 2 * bits) | (cell[:, 1] << bits) | cell[:, 2]


def welded(points: Array) -> Array:
    """Return for every point (n) which place it is at: a number for those that are one to within a millionth of the mesh."""
    low = points.min(axis=0)
    size = float((points.max(axis=0) - low).max()) or 1.0
    return ranked(packed(points, low, size / (GRAIN - 1)))[1]


def crossed(points: Array, faces: Array) -> Array:
    """Return the normals of the triangles (m, 3), twice their areas long."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def area_of(points: Array, faces: Array) -> float:
    """Return the area of all triangles together, m²."""
    return 0.5 * float(np.linalg.norm(crossed(points, faces), axis=1).sum())


def shared_edges(places: Array) -> tuple[Array, Array, Array]:
    """Return pairs of half-edges (e), (e) between the same two places; and which faces (m) have edges with as many one way as back."""
    a = places.reshape(-1)
    b = places[:, [1, 2, 0]].reshape(-1)
    key = np.minimum(a, b) * (int(a.max()) + 1) + np.maximum(a, b)
    order = np.argsort(key)
    same = key[order[1:]] == key[order[:-1]]
    edge = np.concatenate([[0], np.cumsum(~same)])
    excess = np.bincount(edge, np.where(a < b, 1.0, -1.0)[order])
    balanced = np.empty(len(a), dtype=bool)
    balanced[order] = excess[edge] == 0
    return order[:-1][same], order[1:][same], np.all(balanced.reshape(-1, 3), axis=1)


def components(i: Array, j: Array, n: int) -> tuple[int, Array]:
    """Return how many parts the graph of n nodes with links i – j has, and which one every node is in (n), by their first nodes.

    Each part's least node so far is hooked to the least one that a link leads to, until no link leads to another part.
    Reference: Shiloach and Vishkin, *An O(log n) parallel connectivity algorithm*, J. Algorithms 3 (1982).

    >>> count, part = components(np.array([3, 4]), np.array([1, 0]), 5)
    >>> count, part.tolist()
    (3, [0, 1, 2, 1, 0])
    """
    first = np.arange(n)
    while len(i):
        a, b = first[i], first[j]
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
        while (onward := first[first]).tobytes() != first.tobytes():
            first = onward
        apart = first[i] != first[j]
        i, j = i[apart], j[apart]
    found, part = np.unique(first, return_inverse=True)
    return len(found), part


def inside_out(points: Array, faces: Array, places: Array) -> tuple[Array, bool]:
    """Return which triangles (m) belong to a closed part whose volume is negative as it is wound; and whether all is closed."""
    h, g, balanced = shared_edges(places)
    count, part = components(h // 3, g // 3, len(faces))
    open_faces = np.bincount(part, ~balanced, count)
    a, b, c = (points[faces[:, k]] - points[faces[0, 0]] for k in range(3))
    volume = np.bincount(part, np.einsum("ij,ij->i", a, np.cross(b, c)), count)
    return ((open_faces == 0) & (volume < 0))[part], bool(balanced.mean() > 0.98)


def corner_normals(points: Array, faces: Array, places: Array, given: Array) -> Array:
    """Return normals of corners (m, 3, 3): those given for the points (n, 3), NaN where there are none, if they are of use; else smoothed
    ones.

    They say nothing where they point to the back of their triangle, and all of them nothing if that is so in many places, or if they only
    repeat what the triangles say, as after a conversion from a format that has no others.
    """
    given = unit(given)[faces]
    agreement = np.einsum("ijk,ik->ij", given, unit(crossed(points, faces)))
    sound = agreement > 0
    if sound.mean() < 0.9 or agreement[sound].min() > 1 - 1e-4:
        return smoothed(points, faces, places)
    if sound.all():
        return given
    return np.where(sound[:, :, None], given, smoothed(points, faces, places))


def smoothed(points: Array, faces: Array, places: Array) -> Array:
    """Return normals of corners (m, 3, 3): the mean, weighted by angle and area, of the faces around a place that no sharp edge separates.
    By area, too, so that what is flat stays flat beside the narrow faces of its rounded edges.

    Where it leans from a face as far as over a sharp edge, as at a cone's tip, that face has its own.
    """
    normals = unit(across := crossed(points, faces))
    h, g, _ = shared_edges(places)
    soft = np.einsum("ij,ij->i", normals[h // 3], normals[g // 3]) > CREASE
    h, g = h[soft], g[soft]
    after_h, after_g = (e - e % 3 + (e + 1) % 3 for e in (h, g))
    place = places.reshape(-1)
    opposed = place[h] == place[after_g]                        # triangles that are wound against each other share nothing
    i, j = np.concatenate([h[opposed], after_h[opposed]]), np.concatenate([after_g[opposed], g[opposed]])
    count, group = components(i, j, place.size)
    weight = (angles(points, faces) * np.linalg.norm(across, axis=1, keepdims=True)).reshape(-1)
    each = np.repeat(normals, 3, axis=0) * weight[:, None]
    total = np.stack([np.bincount(group, each[:, k], count) for k in range(3)], axis=1)
    mean = unit(total)[group].reshape(-1, 3, 3)
    leans = np.einsum("ijk,ik->ij", mean, normals) < CREASE
    return np.where(leans[:, :, None], normals[:, None], mean)


def angles(points: Array, faces: Array) -> Array:
    """Return the triangles' angles (m, 3), rad."""
    ahead = points[faces[:, [1, 2, 0]]] - points[faces]
    behind = points[faces[:, [2, 0, 1]]] - points[faces]
    return np.arctan2(np.linalg.norm(crossed(points, faces), axis=1)[:, None], np.einsum("ijk,ijk->ij", ahead, behind))


def unit(x: Array) -> Array:
    """Return vectors (..., 3) made of length one; those of none stay as they are."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(length > 0, length, 1.0)
