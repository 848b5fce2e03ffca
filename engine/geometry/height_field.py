"""Contact points of a height field and a shape: those of its feet, each measured along the surface's normal below it."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.contact_points import FAR, Points
from engine.geometry.plane import feet
from engine.geometry.shapes import HeightField, Shape
from engine.geometry.vectors import row, unit, with_row

Array = np.ndarray
#: feet of which each is looked at by lines of its own, through which derivatives pass; more of them by a loop
FEET = 8


def field_points(field: HeightField, shape: Shape, T: Array) -> Points:
    """Return the contact points of a height field and a shape at the pose T (4, 4) in its frame.

    For a point p of the shape's core the surface counts as its tangent plane above or below p, at the height f, with the normal
    n ∝ [−f_x, −f_y, 1]: the gap is n_z (p_z − f). That is exact over what is plane, and else to the surface's curvature times the square
    of how deep p lies; edges and summits between the points are not seen. What is round meets the cell under its middle, at its edge where
    the plane's nearest point lies beyond, and the cells beside it where those of their planes lie within, as in a furrow.
    Beyond its border the surface goes on as it is there.

    >>> T = np.eye(4)
    >>> T[2, 3] = 2.0
    >>> from engine.geometry import Sphere
    >>> ball, slope = Sphere(0.1), HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))    # from 0 to 3 on a length of 4
    >>> field_points(slope, ball, T).gap[:1], field_points(slope, ball, T).normal[0] + 0.0
    (array([0.3]), array([-0.6,  0. ,  0.8]))
    """
    _, _, steep = tangent(*cells_of(field, T[:3, 3], np.zeros(2)))
    cells = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)) if shape.rounding else ((0.0, 0.0),)
    standing = [ops.array([*p, *aside]) for p in feet(shape, T, steep) for aside in cells]

    def look(x: Array) -> tuple[Array, Any]:
        """One foot and one cell, by the same machine code for all."""
        table, k = x[:-1], x[-1, 0]
        p = row(standing, k)
        return np.array([*with_row(table, k, against(field, p[:3], p[3:], shape.rounding)), ops.array([k + 1.0, *[0.0 * k] * 7])]), False

    if len(standing) > FEET:
        found, _ = ops.while_loop(look, np.zeros((len(standing) + 1, 8)) + 0.0 * T[0, 0], len(standing))
        x = found[:-1]
    else:
        x = np.array([against(field, p[:3], p[3:], shape.rounding) for p in standing])
    points = [met(foot) for foot in x.reshape(-1, len(cells), 8)]
    return Points(x[:, :3], x[:, 3:6], *(np.concatenate(y) for y in zip(*points, strict=True)))


def against(field: HeightField, p: Array, aside: Array, rounding: float) -> Array:
    """Return position (3), normal (3) and gap of a point p (3) of a core and a cell, and whether the nearest point of its plane lies in it.

    ``aside`` (2) says whether it is p's own cell, along x and y, or the nearest one beside it.
    """
    place, (u, v), n = tangent(*cells_of(field, p, aside))
    height = n @ (p - place)
    foot = p - height * n
    inside = ops.logical_and(*(ops.logical_and(low <= x, x <= high) for x, (low, high) in zip(foot[:2], (u, v), strict=True)))
    edge = ops.array([ops.minimum(ops.maximum(x, low), high) for x, (low, high) in zip(foot[:2], (u, v), strict=True)])
    rise = place[2] - (n[:2] @ (edge - place[:2])) / n[2]
    out, off = unit(p - ops.array([*edge, rise]), n)
    over = ops.logical_and(height > 0.0, ops.logical_not(inside)) if rounding else False
    n, gap = ops.where(over, out, n), ops.where(over, off, height) - rounding
    return ops.array([*(p - (rounding + 0.5 * gap) * n), *n, gap, ops.where(inside, 1.0, 0.0)])


def met(foot: Array) -> tuple[Array, Array]:
    """Return of the points (n, 8) of a foot and its cells the gaps (n), ``FAR`` where it does not meet them, and as how many points each
    counts: as one together where their normals are the same, each as one where those are at right angles."""
    own, *others = (within > 0.5 for within in foot[:, 7])
    alone = ops.logical_not(functools.reduce(ops.logical_or, others, False))
    there = [ops.where(x, 1.0, 0.0) for x in (ops.logical_or(own, alone), *others)]
    along = [[ops.maximum(n @ m, 0.0) * t for k, (m, t) in enumerate(zip(foot[:, 3:6], there, strict=True)) if k != i]
             for i, n in enumerate(foot[:, 3:6])]  # fmt: skip
    gaps = [ops.where(t > 0.5, gap, FAR) for gap, t in zip(foot[:, 6], there, strict=True)]
    return ops.array(gaps), ops.array([1.0 / (1.0 + sum(each)) for each in along])


def tangent(heights: Array, x: Along, y: Along) -> tuple[Array, tuple[tuple[Any, Any], tuple[Any, Any]], Array]:
    """Return the place (3) on a bilinear cell that is nearest along x and y, the cell's ends along both, and the normal (3) there."""
    f, rise_x, rise_y, twist = heights
    n, _ = unit(ops.array([-(rise_x + twist * y.part) * x.rate, -(rise_y + twist * x.part) * y.rate, 1.0 + 0.0 * f]))
    place = ops.array([x.place, y.place, f + rise_x * x.part + rise_y * y.part + twist * x.part * y.part])
    return place, ((x.low, x.high), (y.low, y.high)), n


class Along(NamedTuple):
    """Where something is along x or y: the number of a cell, how far in it (0 … 1), the rate of that, a place, and the cell's ends."""

    cell: Any
    part: Any
    rate: Any
    place: Any
    low: Any
    high: Any


def cells_of(field: HeightField, p: Array, aside: Array) -> tuple[Array, Along, Along]:
    """Return the heights (4) of a point's cell, or of the nearest one beside it, as a field's table has them, and where p is along x, y."""
    x, y = (along(*given) for given in zip(p[:2], field.grid.shape[::-1], field.size, aside, strict=True))
    return ops.row(y.cell * (field.grid.shape[1] - 1.0) + x.cell, *field.cells), x, y


def along(x: Any, n: int, width: float, aside: Any) -> Along:
    """Return where x is among n nodes over −width/2 … width/2, or next to it in the nearest cell beside; nowhere where there is none.

    Beyond the border the cell is level and without end.
    """
    step, half = width / (n - 1), 0.5 * width
    u = ops.clip(x / step + 0.5 * (n - 1), 0.0, n - 1.0)
    own = ops.minimum(ops.floor(u), n - 2.0)
    k = own + aside * ops.where(u - own < 0.5, -1.0, 1.0)
    there, inside = ops.logical_and(k >= 0.0, k <= n - 2.0), ops.logical_and(-half <= x, x <= half)
    k = ops.clip(k, 0.0, n - 2.0)
    part = ops.clip(u - k, 0.0, 1.0)
    low, high = ((k + end - 0.5 * (n - 1)) * step for end in (0.0, 1.0))
    beside = ops.where(there, low, half), ops.where(there, high, -half)
    under = ops.where(inside, low, ops.where(x > half, half, -np.inf)), ops.where(inside, high, ops.where(x > half, np.inf, -half))
    low, high = (ops.where(aside > 0.0, *ends) for ends in zip(beside, under, strict=True))
    return Along(k, part, ops.where(inside, 1.0 / step, 0.0), ops.where(aside > 0.0, (k + part - 0.5 * (n - 1)) * step, x), low, high)


def clearance(field: HeightField, p: Array) -> Any:
    """Return a distance (m) than which a point (3) is no nearer to what lies under the surface.

    That is (p_z − f)/√(1 + s²) with the field's steepness s, and the height above its summit.

    >>> slope = HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))
    >>> round(float(clearance(slope, np.array([0.0, 0.0, 2.0]))), 12)
    0.4
    """
    (_, _, f), _, _ = tangent(*cells_of(field, p, np.zeros(2)))
    return ops.maximum((p[2] - f) / np.sqrt(1.0 + field.steepness**2), p[2] - field.summit)
