"""Rays: how far along one a convex shape begins, in closed form; components come first, so that many rays are one expression."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, GeometryError, Hull, Plane, Shape, Sphere

Array = np.ndarray
#: from where to where along a ray something is; nothing where the first is greater
Span = tuple[Any, Any]
NOWHERE, EVERYWHERE = (np.inf, -np.inf), (-np.inf, np.inf)


def ray(shape: Shape, p: Sequence[Any], d: Sequence[Any], least: Any = 0.0) -> Any:
    """Return the smallest t ≥ ``least`` at which p + t d is on the surface of a shape, infinity where none is.

    A surface is seen from both sides: from within, a ray ends where it leaves the shape.

    Parameters
    ----------
    shape : a convex one
    p, d : the ray's origin, m, and direction, in the shape's frame: three components each, numbers or arrays (n), traced or not. The
        direction may have any length above zero, in which t is counted

    Raises
    ------
    GeometryError : a shape that is not convex

    >>> float(ray(Sphere(1.0), (0.0, 0.0, 3.0), (0.0, 0.0, -1.0))), float(ray(Sphere(1.0), (0.0, 0.0, 0.0), (0.0, 0.0, -2.0)))
    (2.0, 0.5)
    """
    enters, leaves = span(shape, p, d)
    ahead = ops.where(least <= enters, enters, ops.where(least <= leaves, leaves, np.inf))
    return ops.where(enters <= leaves, ahead, np.inf)


def span(shape: Shape, p: Sequence[Any], d: Sequence[Any]) -> Span:
    """Return between which t the line p + t d is in a convex shape, of which :func:`ray` says more: nowhere where the first is greater.

    >>> [float(t) for t in span(Sphere(1.0), (0.0, 0.0, 3.0), (0.0, 0.0, -1.0))]
    [2.0, 4.0]
    """
    if isinstance(shape, Plane):
        return below(p[2], d[2])
    if isinstance(shape, Sphere):
        return within(p, d, shape.radius)
    if isinstance(shape, Ellipsoid):
        x, u = ([a / r for a, r in zip(v, shape.radii, strict=True)] for v in (p, d))
        return within(x, u, 1.0)
    if isinstance(shape, Box):
        return both(*(between(x, u, h) for x, u, h in zip(p, d, shape.half, strict=True)))
    if isinstance(shape, Cylinder):
        return both(within(p[:2], d[:2], shape.radius), between(p[2], d[2], 0.5 * shape.length))
    if isinstance(shape, Capsule):
        h = 0.5 * shape.length
        side = both(within(p[:2], d[:2], shape.radius), between(p[2], d[2], h))
        return either(side, *(within((p[0], p[1], p[2] - z), d, shape.radius) for z in (-h, h)))
    if isinstance(shape, Hull):
        faces = ((dot(n, p) + n[3], dot(n, d)) for n in faces_of(shape))
        return both(*(below(*face) for face in faces))
    raise GeometryError(f"a ray is to meet a {type(shape).__name__}; expected a convex shape, or triangles")


def below(height: Any, rise: Any) -> Span:
    """Return where height + t rise ≤ 0."""
    level = ops.equal(rise, 0.0)
    t = -height / ops.where(level, 1.0, rise)
    out = ops.logical_and(level, height > 0.0)
    return ops.where(rise < 0.0, t, ops.where(out, np.inf, -np.inf)), ops.where(rise > 0.0, t, np.inf)


def between(x: Any, u: Any, half: Any) -> Span:
    """Return where |x + t u| ≤ half."""
    return both(below(x - half, u), below(-x - half, -u))


def within(p: Sequence[Any], d: Sequence[Any], radius: Any) -> Span:
    """Return where |p + t d| ≤ radius: a t² + 2 b t + c ≤ 0.

    The discriminant is that of the line's point next to the middle, which loses no digits far away, and the roots are b's own way:
    Haines et al., *Precision improvements for ray/sphere intersection*, Ray Tracing Gems (2019).
    """
    a, b, c = dot(d, d), dot(p, d), dot(p, p) - radius * radius
    still = ops.equal(a, 0.0)
    a = ops.where(still, 1.0, a)
    beside = [x - (b / a) * u for x, u in zip(p, d, strict=True)]
    room = radius * radius - dot(beside, beside)
    missed = ops.logical_or(room < 0.0, still)
    root = ops.sqrt(a * ops.where(missed, 0.0, room))
    s = -b - ops.where(b < 0.0, -root, root)
    far, near = s / a, c / ops.where(ops.equal(s, 0.0), 1.0, s)
    inside = ops.logical_and(still, c <= 0.0)
    first, last = ops.where(inside, -np.inf, np.inf), ops.where(inside, np.inf, -np.inf)
    return ops.where(missed, first, ops.minimum(near, far)), ops.where(missed, last, ops.maximum(near, far))


def both(*spans: Span) -> Span:
    """Return the intersection of some spans of a ray: where it enters the last, and where it leaves the first."""
    enters, leaves = zip(*spans, strict=True)
    return functools.reduce(ops.maximum, enters), functools.reduce(ops.minimum, leaves)


def either(*spans: Span) -> Span:
    """Return the union of some spans of a ray, which together are one."""
    there = [ops.less_equal(*s) for s in spans]
    enters = [ops.where(k, s[0], np.inf) for k, s in zip(there, spans, strict=True)]
    leaves = [ops.where(k, s[1], -np.inf) for k, s in zip(there, spans, strict=True)]
    return functools.reduce(ops.minimum, enters), functools.reduce(ops.maximum, leaves)


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the sum of products of the components that b has."""
    return functools.reduce(lambda x, y: x + y, [x * y for x, y in zip(a, b, strict=False)])


@functools.lru_cache(maxsize=4096)
def faces_of(hull: Hull) -> Array:
    """Return the planes (m, 4) of a hull's faces, n·x + offset ≤ 0 within, each once."""
    from scipy.spatial import ConvexHull

    found: list[Array] = []
    for plane in ConvexHull(np.array(hull.vertices)).equations:
        if not any(np.abs(plane - other).max() <= 1e-12 * (1.0 + abs(plane[3])) for other in found):
            found.append(plane)
    return np.array(found)


__all__ = ["ray", "span"]
