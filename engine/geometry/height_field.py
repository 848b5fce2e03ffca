"""Contact points of a height field and a shape: those of its feet, each measured along the surface's normal below it."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.geometry.contact_points import FAR, Points
from engine.geometry.plane import feet
from engine.geometry.shapes import HeightField, Shape, Sphere
from engine.geometry.vectors import row, unit, with_row

Array = np.ndarray
#: feet of which each is looked at by lines of its own, through which derivatives pass; more of them by a loop
FEET = 8
#: places at which what is round may meet a field, under each of its feet
PLACES = 4
#: cells of a row that are looked at under what is round, at most
ACROSS = 17
#: steps of a walk from plane to plane
STEPS = 12
#: of a distance: a slope along which it is no nearer
LEVEL = 1e-12


def field_points(field: HeightField, shape: Shape, T: Array) -> Points:
    """Return the contact points of a height field and a shape at the pose T (4, 4) in its frame.

    For a point p of the shape's core the surface counts as its tangent plane above or below p, at the height f, with the normal
    n ∝ [−f_x, −f_y, 1]: the gap is n_z (p_z − f). That is exact over what is plane, and else to the surface's curvature times the square
    of how deep p lies; edges and summits between the points are not seen. What is round meets those of all the cells that it may reach in
    which a place is nearer to p than what is about it: within a cell, at an edge or on a summit. Of more than 17 cells across those are
    looked at to which a walk from plane to plane leads.
    Beyond its border the surface goes on as it is there.

    >>> T = np.eye(4)
    >>> T[2, 3] = 2.0
    >>> ball, slope = Sphere(0.1), HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))    # from 0 to 3 on a length of 4
    >>> field_points(slope, ball, T).gap[:1], field_points(slope, ball, T).normal[0] + 0.0
    (array([0.3]), array([-0.6,  0. ,  0.8]))
    """
    _, steep = tangent(*patch(field, T[:3, 3], own_cell(field, T[:3, 3])))
    standing = feet(shape, T, steep)
    if shape.rounding:
        rows = [[*against(field, p, k[1:], shape.rounding), k[0]] for p in standing for k in nearest_cells(field, p, shape.rounding)]
        x = ops.array(rows)
        gap, share = (np.concatenate(y) for y in zip(*(met(foot) for foot in x.reshape(-1, PLACES, 8)), strict=True))
        return Points(x[:, :3], x[:, 3:6], gap, share, np.zeros(len(x)))

    def look(x: Array) -> tuple[Array, Any]:
        """One foot, by the same machine code for all."""
        table, k = x[:-1], x[-1, 0]
        p = row(standing, k)
        return np.array([*with_row(table, k, against(field, p, own_cell(field, p), 0.0)), ops.array([k + 1.0, *[0.0 * k] * 6])]), False

    if len(standing) > FEET:
        found, _ = ops.while_loop(look, np.zeros((len(standing) + 1, 7)) + 0.0 * T[0, 0], len(standing))
        x = found[:-1]
    else:
        x = np.array([against(field, p, own_cell(field, p), 0.0) for p in standing])
    return Points(x[:, :3], x[:, 3:6], x[:, 6], np.ones(len(standing)), np.zeros(len(standing)))


class Facing(NamedTuple):
    """Position of a point p over a cell: the height of p above the cell's tangent plane, that plane's normal (3), whether the foot of p on
    it lies within the cell, the nearest place (3) of the cell, and along x and y whether p is beyond its upper, or lower, ends."""

    height: Any
    normal: Array
    inside: Any
    place: Array
    over: tuple[Any, Any]
    under: tuple[Any, Any]


def facing(field: HeightField, p: Array, k: Array) -> Facing:
    """Return how a point p (3) and the cell of the numbers k (2) lie to each other."""
    heights, x, y = patch(field, p, k)
    place, n = tangent(heights, x, y)
    height = n @ (p - place)
    foot = p - height * n
    over, under = (foot[0] > x.high, foot[1] > y.high), (foot[0] < x.low, foot[1] < y.low)
    inside = ops.logical_not(functools.reduce(ops.logical_or, (*over, *under)))
    edge = ops.array([ops.minimum(ops.maximum(u, to.low), to.high) for u, to in zip(foot[:2], (x, y), strict=True)])
    rise = place[2] - (n[:2] @ (edge - place[:2])) / n[2]
    return Facing(height, n, inside, ops.array([*edge, rise]), over, under)


def against(field: HeightField, p: Array, k: Array, rounding: float) -> Array:
    """Return position (3), normal (3) and gap of a point p (3) of a core and the cell of the numbers k (2)."""
    cell = facing(field, p, k)
    out, off = unit(p - cell.place, cell.normal)
    edge = ops.logical_and(cell.height > 0.0, ops.logical_not(cell.inside)) if rounding else False
    n, gap = ops.where(edge, out, cell.normal), ops.where(edge, off, cell.height) - rounding
    return ops.array([*(p - (rounding + 0.5 * gap) * n), *n, gap])


def nearest_cells(field: HeightField, p: Array, reach: float) -> Array:
    """Return of up to four cells that are nearest to a point p (3) whether there is one, and their numbers along x and y (4, 3).

    They are those within ``reach`` where a place is nearer to p than what is about it; else that with the nearest place of all.
    """
    p = ops.stop_gradient(p)
    own = own_cell(field, p)
    above = facing(field, p, own).height > 0.0
    low, high = own_cell(field, p - reach), own_cell(field, p + reach)
    first = walked(field, p, own)
    most = [min(ACROSS, int(2.0 * reach / step) + 2) for step in field.spacing]
    low = ops.array([ops.maximum(a, ops.minimum(f - (n - 1) // 2, b - (n - 1))) for a, b, f, n in zip(low, high, first, most, strict=True)])
    many = ops.array([ops.minimum(b - a + 1.0, float(n)) for a, b, n in zip(low, high, most, strict=True)])
    seen = functools.reduce(ops.logical_and, [ops.logical_and(a <= f, f < a + n) for a, f, n in zip(low, first, many, strict=True)])

    def look(x: Array) -> tuple[Array, Any]:
        """The next cell: by its distance among those that count, and to the nearest of all."""
        table, (count, *_) = x[:-1], x[-1]
        j = ops.floor(count / many[0])
        k = ops.where(count < 0.0, first, low + ops.array([count - j * many[0], j]))
        far, counts = candidate(field, p, k, above)
        new = ops.array([ops.where(counts, far, FAR), *k])
        rows = []
        for old in table[:-1]:
            nearer = new[0] < old[0]
            rows.append(ops.where(nearer, new, old))
            new = ops.where(nearer, old, new)
        last = ops.where(far < table[-1, 0], ops.array([far, *k]), table[-1])
        return np.array([*rows, last, ops.array([count + 1.0, 0.0 * count, 0.0 * count])]), count + 1.5 > many[0] * many[1]

    none = ops.array([FAR, *first])
    begin = np.array([*[none] * (PLACES + 1), ops.array([ops.where(seen, 0.0, -1.0), 0.0 * p[0], 0.0 * p[0]])])
    found, _ = ops.while_loop(look, begin, most[0] * most[1] + 1)
    there = [x < FAR for x in found[:PLACES, 0]]
    least = ops.where(there[0], found[0], found[PLACES])
    return np.array([ops.array([1.0 + 0.0 * p[0], *least[1:]]), *(ops.array([ops.where(t, 1.0, 0.0), *x[1:]])
                                                                for t, x in zip(there[1:], found[1:PLACES], strict=True))])  # fmt: skip


def candidate(field: HeightField, p: Array, k: Array, above: Any) -> tuple[Any, Any]:
    """Return how far a point p (3) is from a cell, and whether a place there is nearer than all about it: its foot within the cell, or on
    an upper end of the cell, where the next one does not lead nearer. A point under the surface has feet alone."""
    cell = facing(field, p, k)
    w = p - cell.place
    off = ops.norm(w)
    counts: Any = True
    for axis, (over, under) in enumerate(zip(cell.over, cell.under, strict=True)):
        _, n = tangent(*patch(field, cell.place, k + np.eye(2)[axis]))
        leads = w[axis] - w[2] * n[axis] / n[2] > LEVEL * off
        counts = functools.reduce(ops.logical_and, (counts, ops.logical_not(under), ops.logical_not(ops.logical_and(over, leads))))
    faces = ops.equal(ops.where(cell.height > 0.0, 1.0, 0.0), ops.where(above, 1.0, 0.0))
    counts = ops.logical_and(counts, ops.where(cell.inside, faces, above))
    return ops.where(cell.inside, abs(cell.height), off), counts


def walked(field: HeightField, p: Array, own: Array) -> Array:
    """Return the numbers (2) of the cell to which a walk leads from that of a point p (3): each step to its foot on the plane where it
    stands."""

    def step(x: Array) -> tuple[Array, Any]:
        place, n = tangent(*patch(field, x[:2], x[2:]))
        foot = p - (n @ (p - place)) * n
        k = own_cell(field, foot)
        return ops.array([*foot[:2], *k]), ops.logical_and(ops.equal(k[0], x[2]), ops.equal(k[1], x[3]))

    found, _ = ops.while_loop(step, ops.array([*p[:2], *own]), STEPS)
    return found[2:]


def met(foot: Array) -> tuple[Array, Array]:
    """Return of the points (n, 8) of a foot, whose last number is whether there is one, the gaps (n), ``FAR`` where there is none, and as
    how many points each counts: as one together where their normals are the same, each as one where those are at right angles."""
    there = [ops.where(x > 0.5, 1.0, 0.0) for x in foot[:, 7]]
    along = [[ops.maximum(n @ m, 0.0) * t for k, (m, t) in enumerate(zip(foot[:, 3:6], there, strict=True)) if k != i]
             for i, n in enumerate(foot[:, 3:6])]  # fmt: skip
    gaps = [ops.where(t > 0.5, gap, FAR) for gap, t in zip(foot[:, 6], there, strict=True)]
    return ops.array(gaps), ops.array([1.0 / (1.0 + sum(each)) for each in along])


def tangent(heights: Array, x: Along, y: Along) -> tuple[Array, Array]:
    """Return the place (3) on a bilinear cell that is nearest along x and y, and the normal (3) there."""
    f, rise_x, rise_y, twist = heights
    n, _ = unit(ops.array([-(rise_x + twist * y.part) * x.rate, -(rise_y + twist * x.part) * y.rate, 1.0 + 0.0 * f]))
    place = ops.array([x.place, y.place, f + rise_x * x.part + rise_y * y.part + twist * x.part * y.part])
    return place, n


class Along(NamedTuple):
    """Position along x or y of the grid: the number of a cell, how far in it (0 … 1), the rate of that, a place, and the cell's ends."""

    cell: Any
    part: Any
    rate: Any
    place: Any
    low: Any
    high: Any


def own_cell(field: HeightField, p: Array) -> Array:
    """Return the numbers (2) along x and y of the cell over or under which a point is; −1 and n − 1 are beyond the border."""
    found = []
    for x, n, width in zip(p[:2], field.grid.shape[::-1], field.size, strict=True):
        step, half = width / (n - 1), 0.5 * width
        k = ops.minimum(ops.maximum(ops.floor(x / step + 0.5 * (n - 1)), 0.0), n - 2.0)
        found.append(ops.where(x < -half, -1.0, ops.where(x > half, n - 1.0, k)))
    return ops.array(found)


def patch(field: HeightField, p: Array, k: Array) -> tuple[Array, Along, Along]:
    """Return the heights (4) of the cell of the numbers k (2), as a field's table has them, and where it is nearest to p along x, y."""
    x, y = (along(*given) for given in zip(p[:2], field.grid.shape[::-1], field.size, k, strict=True))
    return ops.row(y.cell * (field.grid.shape[1] - 1.0) + x.cell, *field.cells), x, y


def along(x: Any, n: int, width: float, k: Any) -> Along:
    """Return, along one axis of a grid of n nodes over −width/2 … width/2, the point of cell k that is nearest to x, and where in the cell
    it lies; cells beyond the border are level and endless."""
    step = width / (n - 1)
    cell = ops.minimum(ops.maximum(k, 0.0), n - 2.0)
    within = ops.equal(cell, k)
    low = ops.where(k < 0.0, -np.inf, (k - 0.5 * (n - 1)) * step)
    high = ops.where(k > n - 1.5, np.inf, (k + 1.0 - 0.5 * (n - 1)) * step)
    place = ops.minimum(ops.maximum(x, low), high)
    part = ops.clip(place / step + 0.5 * (n - 1) - cell, 0.0, 1.0)
    return Along(cell, part, ops.where(within, 1.0 / step, 0.0), place, low, high)


def overlooked(field: HeightField, shape: Shape) -> bool:
    """Return whether summits of a field may lie between the places of a shape at which it is looked for.

    >>> from engine.geometry import Box
    >>> fine = HeightField(((0.0, 0.0), (0.0, 0.0)), (0.1, 0.1))
    >>> overlooked(fine, Sphere(0.2)), overlooked(fine, Box((0.2, 0.2, 0.2)))
    (False, True)
    """
    if isinstance(shape, Sphere):
        return any(int(2.0 * shape.radius / step) + 2 > ACROSS for step in field.spacing)
    return 2.0 * float(shape.bounding_radius) > min(field.spacing)


def clearance(field: HeightField, p: Array) -> Any:
    """Return a distance (m) than which a point (3) is no nearer to what lies under the surface.

    That is (p_z − f)/√(1 + s²) with the field's steepness s, and the height above its summit.

    >>> slope = HeightField(((0.0, 3.0), (0.0, 3.0)), (4.0, 4.0))
    >>> round(float(clearance(slope, np.array([0.0, 0.0, 2.0]))), 12)
    0.4
    """
    (_, _, f), _ = tangent(*patch(field, p, own_cell(field, p)))
    return ops.maximum((p[2] - f) / np.sqrt(1.0 + field.steepness**2), p[2] - field.summit)
