"""Signed distance of a point from a convex shape, in closed form: contact points of anything and a sphere."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.geometry.contact_points import Points, points_of
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from engine.geometry.vectors import TINY, X, Z, unit

Array = np.ndarray


def sphere_points(shape: Shape, ball: Sphere, T: Array) -> Points:
    """Return the contact point of a shape and a sphere whose center is at T (4, 4) in its frame.

    >>> T = np.eye(4)
    >>> T[0, 3] = 3.0
    >>> sphere_points(Box((2.0, 2.0, 2.0)), Sphere(1.0), T)
    Points(position=array([[1.5, 0. , 0. ]]), normal=array([[1., 0., 0.]]), gap=array([1.]), share=array([1.]), corner=array([0.]))
    """
    p = T[:3, 3]
    n, far = from_surface(shape, p)
    gap = far - ball.radius
    return points_of([(p - (far - 0.5 * gap) * n, n, gap)])


def from_surface(shape: Shape, p: Array) -> tuple[Array, Any]:
    """Return the outward normal n (3) at the nearest point of a surface, p − δ n, and the signed distance δ of p (3), negative inside."""
    if isinstance(shape, Sphere):
        n, far = unit(p)
        return n, far - shape.radius
    if isinstance(shape, Capsule):
        h = 0.5 * shape.length
        n, far = unit(p - ops.clip(p[2], -h, h) * Z, X)
        return n, far - shape.radius
    if isinstance(shape, Box):
        return from_box(p, shape.half, np.eye(3))
    if isinstance(shape, Cylinder):
        out, radius = unit(ops.array([p[0], p[1], 0.0 * p[2]]), X)
        return from_box(ops.array([radius, p[2]]), np.array([shape.radius, 0.5 * shape.length]), np.array([out, Z]))
    assert isinstance(shape, Ellipsoid)
    return from_ellipsoid(p, np.array(shape.radii))


def from_box(x: Array, half: Array, axes: Array) -> tuple[Array, Any]:
    """Return n (3) and δ for coordinates x (m) along orthonormal axes (m, 3), of the box |x_i| ≤ half_i.

    Outside, δ n = Σ sgn(x_i) max(|x_i| − half_i, 0) e_i; inside, the nearest face counts.
    """
    q = abs(x) - half
    signed = [ops.where(x_i < 0.0, -1.0, 1.0) * e for x_i, e in zip(x, axes, strict=True)]
    inside, n = q[0], signed[0]
    for q_i, e in zip(q[1:], signed[1:], strict=True):
        n, inside = ops.where(inside < q_i, e, n), ops.maximum(inside, q_i)
    beyond = ops.maximum(q, 0.0)
    outside = ops.norm(beyond)
    is_outside = outside > TINY
    away = sum(b * e for b, e in zip(beyond / ops.where(is_outside, outside, 1.0), signed, strict=True))
    return ops.where(is_outside, away, n), ops.where(is_outside, outside, inside)


def from_ellipsoid(p: Array, r: Array) -> tuple[Array, Any]:
    """Return n (3) and δ for the ellipsoid of radii r (3): the nearest point is y_i = r_i² |p_i| / (s + Δ_i), with Δ_i = r_i² − r_min².

    Here s ≥ 0 is the root of Σ (r_i |p_i| / (s + Δ_i))² = 1, found by Newton's method from below, where no term exceeds 1; the sum is
    convex, so that every step stays below. A point on the plane in which the least radius is nought counts as next to it.

    Reference: Eberly, *Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid*, Geometric Tools, 2013.
    """
    k = int(np.argmin(r))
    delta = r * r - r[k] * r[k]
    a = ops.maximum(abs(p), 1e-100 * r[k] * np.eye(3)[k])
    s = functools.reduce(ops.maximum, r * a - delta)

    def newton(s: Any) -> tuple[Any, Any]:
        z = r * a / (s + delta)
        step = 0.5 * (z @ z - 1.0) / ops.maximum(z @ (z / (s + delta)), TINY)
        return s + step, abs(step) <= 1e-15 * s

    s, _ = ops.while_loop(newton, s, 64)
    y = ops.where(ops.less(p, 0.0), -1.0, 1.0) * (r * r * a / (s + delta))
    n, _ = unit(y / (r * r))
    return n, (p - y) @ n
