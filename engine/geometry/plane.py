"""Contact points of a half-space z ≤ 0 and a shape: its lowest points."""

from __future__ import annotations

import functools

import numpy as np

from engine import ops
from engine.geometry.contact_points import FAR, Points, points_of
from engine.geometry.faces import face
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Plane, Shape, Sphere
from engine.geometry.vectors import Z, unit

Array = np.ndarray


def plane_points(plane: Plane, shape: Shape, T: Array) -> Points:
    """Return the contact points of a plane and a shape at the pose T (4, 4) in its frame: of its :func:`feet` p, with gap p_z − rounding.

    >>> T = np.eye(4)
    >>> T[2, 3] = 1.5
    >>> plane_points(Plane(), Sphere(1.0), T)
    Points(position=array([[0.  , 0.  , 0.25]]), normal=array([[0., 0., 1.]]), gap=array([0.5]), share=array([1.]), corner=array([0.]))
    """
    if isinstance(shape, Hull):
        return hull_points(shape, T)
    gaps = [(p, p[2] - shape.rounding) for p in feet(shape, T, Z)]
    return points_of([(ops.array([p[0], p[1], 0.5 * gap]), Z, gap) for p, gap in gaps])


def hull_points(hull: Hull, T: Array) -> Points:
    """Return the contact points of a plane and a hull: the corners of the face that looks down, each vertex once."""
    corners = face(hull, -T[2, :3]).corners
    rows = []
    for k, v in enumerate(corners):
        again = [functools.reduce(ops.logical_and, [ops.equal(x, y) for x, y in zip(v, w, strict=True)]) for w in corners[:k]]
        p = T[:3, :3] @ v + T[:3, 3]
        gap = ops.where(functools.reduce(ops.logical_or, again, False), FAR, p[2])
        rows.append((ops.array([p[0], p[1], ops.where(gap < FAR, 0.5 * p[2], 0.0)]), Z, gap))
    return points_of(rows)


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
    """Return the lowest points of both rims, and three more of the lower rim, a quarter of a turn apart: all on which it stands upright."""
    axis, rise = R[:, 2], R[:, 2] @ up
    end = ops.where(rise < 0.0, 0.5, -0.5) * shape.length * axis               # the center of the lower end
    down, _ = unit(rise * axis - up, R[:, 0], 1e-12)
    side = ops.cross(axis, down)
    return [p + end + shape.radius * down, p - end + shape.radius * down, *(p + end + shape.radius * leg for leg in (side, -down, -side))]


