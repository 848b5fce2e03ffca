"""Rays and many triangles: a balanced tree of boxes, and a walk down it that misses no edge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.ops import floats, ints, procedure

Array = np.ndarray
#: triangles in a leaf, at most; levels that a tree may have
LEAF, DEEP = 4, 64
#: where a ray enters a box that it does not
NEVER = float("inf")
#: what a box's far side is put off by, so that no rounding lets a ray miss what it holds
WIDER = 1.0 + 4.0 * 2.0**-52


class Triangles(NamedTuple):
    """Triangles for rays, in a binary tree of boxes: node 1 is all of them, node k has the children 2 k and 2 k + 1.

    Leaf k of m = 2ᴰ, node m + k, has the triangles from (k n) // m up to ((k + 1) n) // m.

    Attributes
    ----------
    corners : of the triangles (n, 9), m
    boxes : of the nodes (2 m, 6), their least and their greatest coordinates; row 0 is nobody's

    >>> import numpy as np
    >>> from engine.geometry import triangles_of
    >>> triangles_of(np.eye(3), np.array([[0, 1, 2]])).corners.shape
    (1, 9)
    """

    corners: Array
    boxes: Array


def triangles_of(vertices: Array, faces: Array) -> Triangles:
    """Return triangles (m, 3) between vertices (n, 3), m, as rays meet them: at each level halved along a node's longest side.

    >>> tree = triangles_of(np.eye(3), np.array([[0, 1, 2]]))
    >>> tree.corners.shape, tree.boxes[1]
    ((1, 9), array([0., 0., 0., 1., 1., 1.]))
    """
    corners = np.asarray(vertices, dtype=float)[np.asarray(faces)]
    n = len(corners)
    depth = max(0, int(np.ceil(np.log2(n / LEAF))))
    for level in range(depth):
        ends = np.arange(2**level + 1) * n // 2**level
        middle = corners.mean(axis=1)
        side = np.maximum.reduceat(middle, ends[:-1]) - np.minimum.reduceat(middle, ends[:-1])
        node = np.repeat(np.arange(2**level), np.diff(ends))
        along = middle[np.arange(n), side.argmax(axis=1)[node]]
        corners = corners[np.lexsort((along, node))]
    boxes = np.zeros((2 * 2**depth, 6))
    starts = np.arange(2**depth) * n // 2**depth
    boxes[2**depth :, :3] = np.minimum.reduceat(corners.min(axis=1), starts)
    boxes[2**depth :, 3:] = np.maximum.reduceat(corners.max(axis=1), starts)
    for k in range(2**depth - 1, 0, -1):
        boxes[k, :3] = np.minimum(boxes[2 * k, :3], boxes[2 * k + 1, :3])
        boxes[k, 3:] = np.maximum(boxes[2 * k, 3:], boxes[2 * k + 1, 3:])
    return Triangles(corners.reshape(n, 9), boxes)


def slope(u: Any) -> float:
    """Return 1/u, or of a direction u that does not move a number so large that it leaves no box, and enters none."""
    return 1.0 / u if abs(u) > 1e-300 else 1e300


def entered(boxes: Any, k: Any, o: Any, a: Any, b: Any, c: Any, least: Any, most: Any) -> float:
    """Return where a ray from o (3), of slopes a, b, c, enters box k between two t; infinity where it does not."""
    x, y, z = (boxes[k, 0] - o[0]) * a, (boxes[k, 1] - o[1]) * b, (boxes[k, 2] - o[2]) * c
    u, v, w = (boxes[k, 3] - o[0]) * a, (boxes[k, 4] - o[1]) * b, (boxes[k, 5] - o[2]) * c
    near = max(max(min(x, u), min(y, v)), max(min(z, w), least))
    far = min(min(max(x, u), max(y, v)), min(max(z, w), most)) * WIDER
    return near if near <= far else NEVER


def met(corners: Any, i: Any, o: Any, kx: Any, ky: Any, kz: Any, sx: Any, sy: Any, sz: Any, least: Any, most: Any) -> float:
    """Return where a ray from o (3), sheared by (sx, sy, sz) to go along axis kz, meets triangle i between two t; else the second."""
    az, bz, cz = corners[i, kz] - o[kz], corners[i, 3 + kz] - o[kz], corners[i, 6 + kz] - o[kz]
    ax, ay = corners[i, kx] - o[kx] - sx * az, corners[i, ky] - o[ky] - sy * az
    bx, by = corners[i, 3 + kx] - o[kx] - sx * bz, corners[i, 3 + ky] - o[ky] - sy * bz
    cx, cy = corners[i, 6 + kx] - o[kx] - sx * cz, corners[i, 6 + ky] - o[ky] - sy * cz
    u = cx * by - cy * bx
    v = ax * cy - ay * cx
    w = bx * ay - by * ax
    if (u < 0.0 or v < 0.0 or w < 0.0) and (u > 0.0 or v > 0.0 or w > 0.0):
        return most
    whole = u + v + w
    if whole == 0.0:
        return most
    t = (u * az + v * bz + w * cz) * sz / whole
    return t if least <= t and t < most else most


@procedure
def through(d: Any, x: Any, y: Any, z: Any, least: Any, most: Any, corners: Any, boxes: Any) -> Any:
    """Return the smallest t (n) ≥ ``least`` at which rays from (x, y, z) along d (n, 3) meet a triangle, where that is below ``most`` (n),
    which they return else.

    A ray is sheared so that it goes along an axis; the signs of three areas then say whether it passes within. Two triangles' common edge
    has the same area in both but for its sign, so that no ray slips between them: Woop, Benthin and Wald, *Watertight ray/triangle
    intersection*, JCGT 2013.

    >>> tree = triangles_of(2.0 * np.eye(3), np.array([[0, 1, 2]]))
    >>> through(np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.0]]), 0.0, 0.0, 0.0, 0.0, np.full(2, 9.0), *tree).round(12)
    array([0.66666667, 9.        ])
    """
    found, o = floats(len(d)), floats(3)
    o[0], o[1], o[2] = x, y, z
    node, enters = ints(DEEP), floats(DEEP)
    n, leaves = len(corners), len(boxes) // 2
    for r in range(len(d)):
        a, b, c = slope(d[r, 0]), slope(d[r, 1]), slope(d[r, 2])
        kz = 0
        if abs(d[r, 1]) > abs(d[r, kz]):
            kz = 1
        if abs(d[r, 2]) > abs(d[r, kz]):
            kz = 2
        kx, ky = (kz + 1) % 3, (kz + 2) % 3
        sz = 1.0 / d[r, kz]
        sx, sy = d[r, kx] * sz, d[r, ky] * sz
        best = most[r]
        node[0], enters[0], top = 1, entered(boxes, 1, o, a, b, c, least, best), 1
        while top > 0:
            top -= 1
            k = node[top]
            if enters[top] > best or enters[top] == NEVER:
                continue
            if k >= leaves:
                for i in range((k - leaves) * n // leaves, (k - leaves + 1) * n // leaves):
                    best = met(corners, i, o, kx, ky, kz, sx, sy, sz, least, best)
                continue
            left, right = entered(boxes, 2 * k, o, a, b, c, least, best), entered(boxes, 2 * k + 1, o, a, b, c, least, best)
            if left <= right:
                node[top], enters[top], node[top + 1], enters[top + 1] = 2 * k + 1, right, 2 * k, left
            else:
                node[top], enters[top], node[top + 1], enters[top + 1] = 2 * k, left, 2 * k + 1, right
            top += 2
        found[r] = best
    return found


__all__ = ["Triangles", "through", "triangles_of"]
