"""Faces: the flat part of a convex shape that faces a direction, as a polygon of a fixed number of corners."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Shape, Sphere
from engine.geometry.vectors import TINY, X, Y, Z, across, row, unit, with_row

Array = np.ndarray
#: of a cylinder's radius: half the width of the strip along its side that counts as flat
STRIP = 1e-3
#: corners of a hull's face, and the tangent of the angle by which they may lean back from it
CORNERS, LEAN = 6, 0.05


class Face(NamedTuple):
    """A polygon about the farthest point in a direction; of two corners it is a segment, of one a point.

    Attributes
    ----------
    corners : (k, 3), m, counter-clockwise as seen from outside; several may be one
    normal : (3), of its plane, of any length; a segment's and a point's is the direction, square to the segment
    counts : as how many points all of it carries: a face four, an edge two, and so a strip along a round side
    """

    corners: Array
    normal: Array
    counts: Any

    def placed(self, R: Array, p: Array) -> Face:
        """Return the face in the frame in which its own has the rotation R and the position p."""
        return Face(self.corners @ R.T + p, R @ self.normal, self.counts)

    def reversed(self) -> Face:
        """Return the face with its corners clockwise."""
        return self._replace(corners=self.corners[::-1])


def face(shape: Shape, d: Array, depth: Any = 0.0, strip: Any = 0.0) -> Face:
    """Return the face of a shape's core that faces the unit vector d (3), ``depth`` m in another: all that is farthest in this direction
    lies on it. Along a cylinder's side what counts as flat is half as wide as ``strip``, m, or ``STRIP``, if that is more.

    >>> face(Box((2.0, 2.0, 2.0)), np.array([0.0, 0.6, 0.8])).corners[:, 2]
    array([1., 1., 1., 1.])
    """
    if isinstance(shape, Box):
        return box_face(shape.half, d)
    if isinstance(shape, Cylinder):
        return cylinder_face(shape, d, depth, ops.maximum(strip, STRIP * shape.radius))
    if isinstance(shape, Hull):
        return hull_face(shape, d)
    if isinstance(shape, Capsule):
        return Face(0.5 * shape.length * np.array([-Z, Z]), d - d[2] * Z, 2.0)
    assert isinstance(shape, (Ellipsoid, Sphere))
    return Face(shape.core(d)[None], d, 1.0)


def box_face(half: Array, d: Array) -> Face:
    """Return the side of a box, of half the lengths (3), whose normal is nearest to d."""
    size, sides = abs(d), np.diag(half)
    x, y = ops.logical_and(size[1] <= size[0], size[2] <= size[0]), size[2] <= size[1]

    def choose(first: Array, second: Array, third: Array) -> Array:
        return ops.where(x, first, ops.where(y, second, third))

    normal = choose(*np.eye(3))
    sign = ops.where(d @ normal < 0.0, -1.0, 1.0)
    out, u, v = sign * choose(*sides), sign * choose(sides[1], sides[2], sides[0]), choose(sides[2], sides[0], sides[1])
    return Face(np.array([out + u + v, out - u + v, out - u - v, out + u - v]), normal, 4.0)


def cylinder_face(shape: Cylinder, d: Array, depth: Any, strip: Any) -> Face:
    """Return a square in the end that d meets more than the side, which turns with the cylinder, and whose corners are drawn to the
    farthest point of the rim as the end tilts by the depth; or a narrow strip along the side."""
    r, h = shape.radius, 0.5 * shape.length
    out, radial = unit(ops.array([d[0], d[1], 0.0 * d[2]]), X, 1e-12)
    side, sign = ops.cross(Z, out), ops.where(d[2] < 0.0, -1.0, 1.0)
    tilts = ops.minimum(r * radial / ops.maximum(depth, TINY), 1.0)
    legs = [unit(c + tilts * ops.clip(np.sqrt(2.0) * (c @ out), 0.0, 1.0) * (out - c))[0] for c in (X, sign * Y, -X, -sign * Y)]
    end = [sign * h * Z + r * leg for leg in legs]
    sides = [r * out + s * strip * side + t * h * Z for s, t in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))]
    lies = abs(d[2]) < radial
    return Face(ops.where(lies, np.array(sides), np.array(end)), ops.where(lies, out, Z), ops.where(lies, 2.0, 4.0))


def hull_face(shape: Hull, d: Array) -> Face:
    """Return the farthest vertices in directions that lean from d to all sides; their plane's normal is Σ c_i × c_{i+1}, if it is one."""
    u, v = across(d)
    turns = 0.3 + 2.0 * np.pi * np.arange(CORNERS) / CORNERS
    lean = LEAN * np.stack([np.cos(turns), np.sin(turns)], axis=-1)

    def corner(x: Array) -> tuple[Array, bool]:
        k = x[-1, 0]
        a, b = row([*lean], k)
        return np.array([*with_row(x[:-1], k, shape.core(d + a * u + b * v)), ops.array([k + 1.0, 0.0 * k, 0.0 * k])]), False

    x, _ = ops.while_loop(corner, np.zeros((CORNERS + 1, 3)) + 0.0 * d, CORNERS)
    c = x[:-1] - x[0]
    square = np.sum([ops.cross(c[i], c[i + 1]) for i in range(1, CORNERS - 1)], axis=0)
    normal, _ = unit(square, d, 1e-6 * shape.bounding_radius**2)
    return Face(x[:-1], ops.where(normal @ d > 0.5, normal, d), 4.0)
