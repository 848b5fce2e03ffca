"""Contact points of a half-space z ≤ 0 and a shape: its lowest points."""

from __future__ import annotations

import numpy as np

from engine import ops
from engine.geometry.contact_points import Points, points_of
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Plane, Shape, Sphere
from engine.geometry.vectors import Z, unit

Array = np.ndarray


def plane_points(plane: Plane, shape: Shape, T: Array) -> Points:
    """Return the contact points of a plane and a shape at the pose T (4, 4) in its frame: of its :func:`feet` p, with gap p_z − rounding.

    >>> T = np.eye(4)
    >>> T[2, 3] = 1.5
    >>> plane_points(Plane(), Sphere(1.0), T)
    Points(position=array([[0.  , 0.  , 0.25]]), normal=array([[0., 0., 1.]]), gap=array([0.5]))
    """
    gaps = [(p, p[2] - shape.rounding) for p in feet(shape, T, Z)]
    return points_of([(ops.array([p[0], p[1], 0.5 * gap]), Z, gap) for p, gap in gaps])


def feet(shape: Shape, T: Array, up: Array) -> list[Array]:
    """Return the points (3) of a shape's core at the pose T (4, 4) on which it may stand, the lowest along ``up`` (3) among them."""
    R, p = T[:3, :3], T[:3, 3]
    if isinstance(shape, Sphere):
        return [p]
    if isinstance(shape, Capsule):
        return [p + s * 0.5 * shape.length * R[:, 2] for s in (-1.0, 1.0)]
    if isinstance(shape, (Box, Hull)):
        return [p + R @ v for v in np.array(shape.vertices)]
    if isinstance(shape, Cylinder):
        return cylinder_feet(shape, R, p, up)
    assert isinstance(shape, Ellipsoid)
    return [p + R @ shape.support(-(up @ R))]


def cylinder_feet(shape: Cylinder, R: Array, p: Array, up: Array) -> list[Array]:
    """Return the lowest points of both rims, and two of the lower rim, a third of a turn to the sides."""
    axis, rise = R[:, 2], R[:, 2] @ up
    end = ops.where(rise < 0.0, 0.5, -0.5) * shape.length * axis               # the center of the lower end
    down, _ = unit(rise * axis - up, R[:, 0], 1e-12)
    side = ops.cross(axis, down)
    legs = [-0.5 * down + s * np.sqrt(0.75) * side for s in (-1.0, 1.0)]
    return [p + end + shape.radius * down, p - end + shape.radius * down, *(p + end + shape.radius * leg for leg in legs)]


