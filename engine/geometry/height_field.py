"""Contact points of a height field and a shape: those of its feet, each measured along the surface's normal below it."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.geometry.contact_points import Points
from engine.geometry.plane import feet
from engine.geometry.shapes import HeightField, Shape
from engine.geometry.vectors import row, unit, with_row

Array = np.ndarray


def field_points(field: HeightField, shape: Shape, T: Array) -> Points:
    """Return the contact points of a height field and a shape at the pose T (4, 4) in its frame.

    For a point p of the shape's core the surface z = f(x, y) counts as its tangent plane above or below p, with the normal
    n ∝ [−f_x, −f_y, 1]: the gap is n_z (p_z − f) − rounding. That is exact over what is plane, and else to the surface's curvature
    times the square of the gap, or of how deep it lies; edges and summits between the points are not seen.

    >>> T = np.eye(4)
    >>> T[2, 3] = 2.0
    >>> from engine.geometry import Sphere
    >>> ball, slope = Sphere(0.1), HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))    # from 0 to 3 on a length of 4
    >>> field_points(slope, ball, T).gap, field_points(slope, ball, T).normal + 0.0
    (array([0.3]), array([[-0.6,  0. ,  0.8]]))
    """
    steep, _ = normal_of(field, T[:3, 3])
    standing = feet(shape, T, steep)

    def look(x: Array) -> tuple[Array, Any]:
        """One foot, by the same machine code for all."""
        table, k = x[:-1], x[-1, 0]
        p = row(standing, k)
        n, f = normal_of(field, p)
        gap = n[2] * (p[2] - f) - shape.rounding
        at = p - (shape.rounding + 0.5 * gap) * n
        return np.array([*with_row(table, k, ops.array([*at, *n, gap])), ops.array([k + 1.0, *[0.0 * k] * 6])]), False

    x, _ = ops.while_loop(look, np.zeros((len(standing) + 1, 7)) + 0.0 * T[0, 0], len(standing))
    return Points(x[:-1, :3], x[:-1, 3:6], x[:-1, 6], np.ones(len(x) - 1))


def normal_of(field: HeightField, p: Array) -> tuple[Array, Any]:
    """Return the surface's unit normal (3), and its height f, above or below a point (3)."""
    f, f_x, f_y = surface(field, p[0], p[1])
    return unit(ops.array([-f_x, -f_y, 0.0 * f + 1.0]))[0], f


def surface(field: HeightField, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return f, ∂f/∂x and ∂f/∂y at x, y (m) of Σ h_ij φ_i(y) φ_j(x), with hat functions φ that are 1 at their own node, 0 at the next."""
    h = np.array(field.heights)
    (ny, nx), (width, depth) = h.shape, field.size
    X, dX = hats(x, nx, width)
    Y, dY = hats(y, ny, depth)
    along = h @ X
    return Y @ along, Y @ (h @ dX), dY @ along


def hats(x: Any, n: int, width: float) -> tuple[Array, Array]:
    """Return the n hat functions (n) over −width/2 … width/2 at x, and their derivatives; beyond they are those at the border."""
    step = width / (n - 1)
    u = ops.clip(x / step + 0.5 * (n - 1), 0.0, n - 1.0)
    cell = ops.minimum(ops.floor(u), n - 2.0)
    t = u - cell
    inside = ops.where(ops.logical_and(-0.5 * width <= x, x <= 0.5 * width), 1.0 / step, 0.0)
    here = [ops.equal(cell, float(k)) for k in range(n - 1)]
    below = [ops.where(on, 1.0 - t, 0.0) for on in here]
    above = [ops.where(on, t, 0.0) for on in here]
    slope = [ops.where(on, inside, 0.0) for on in here]
    return (ops.array([*below, 0.0 * t]) + ops.array([0.0 * t, *above]), ops.array([0.0 * t, *slope]) - ops.array([*slope, 0.0 * t]))
