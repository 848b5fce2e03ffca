"""Closed solids that the robots of engine/examples are made of. All are made along their own z axis, then placed."""

from collections.abc import Sequence

import numpy as np
import trimesh
from scipy.interpolate import PchipInterpolator
from trimesh import Trimesh

PI, SIGNS = np.pi, (-1, 1)
Numbers = Sequence[float]
Looks = dict[str, list[Trimesh]]  # the solids of each material

ORIGIN = (0.0, 0.0, 0.0)
UP, FRONT, LEFT, BACK = (0, 0, 0), (0, PI / 2, 0), (-PI / 2, 0, 0), (0, -PI / 2, 0)  # z turned to z, x, y, -x
RIGHT, DOWN = (PI / 2, 0, 0), (PI, 0, 0)
#: m: what is rounded by more than these has as many pieces more
FINE = 0.0045, 0.011, 0.02


def placed(mesh: Trimesh, at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    """Turn a solid, made along its own z axis, by roll, pitch and yaw; then move it."""
    return mesh.apply_transform(trimesh.transformations.euler_matrix(*rpy)).apply_translation(at)


def sheet(x: float, y: float, deep: float, at: Numbers = ORIGIN) -> Trimesh:
    """A rectangle that is seen from above: of few triangles, a pyramid upside down."""
    corners = [(i * x / 2, j * y / 2, 0) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    sides = [(4, (k + 1) % 4, k) for k in range(4)]
    return placed(Trimesh([*corners, (0, 0, -deep)], [(0, 1, 2), (0, 2, 3), *sides]), at)


# ---------------------------------------------------------------- with bevels


def lathe(profile: Sequence[Numbers], at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    """Turn (radius, height) about the axis; the profile runs counterclockwise, from axis to axis or closed."""
    sides = 4 * round(2 + 12 * max(r for r, _ in profile) ** 0.5)
    return placed(trimesh.creation.revolve(profile, sections=sides), at, rpy)


def drum(r: float, low: float, high: float, at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    """A cylinder with bevelled rims."""
    b = min(r, high - low) / 8
    return lathe([(0, low), (r - b, low), (r, low + b), (r, high - b), (r - b, high), (0, high)], at, rpy)


def cone(r: float, top: float, low: float, high: float, at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    return lathe([(0, low), (r, low), (top, high), (0, high)], at, rpy)


def tube(inner: float, r: float, low: float, high: float, at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    return lathe([(inner, low), (r, low), (r, high), (inner, high), (inner, low)], at, rpy)


def block(size: Numbers, at: Numbers = ORIGIN, rpy: Numbers = UP) -> Trimesh:
    """A box with bevelled edges: four eight-cornered rings, one above the other, between two lids."""
    x, y, z = np.asarray(size) / 2
    b = min(x, y, z) / 5
    corners = [(1, -1, 1), (1, -1, 0), (1, 1, 0), (1, 1, 1), (-1, 1, 1), (-1, 1, 0), (-1, -1, 0), (-1, -1, 1)]
    rings = [(b, -z), (0, b - z), (0, z - b), (b, z)]  # inset and height
    points = [(i * (x - inset - b * cut), j * (y - inset - b * (1 - cut)), h) for inset, h in rings for i, j, cut in corners]
    quads = [(k + i, k + (i + 1) % 8, k + 8 + (i + 1) % 8, k + 8 + i) for k in (0, 8, 16) for i in range(8)]
    walls = [face for p, q, r, s in quads for face in ((p, q, r), (p, r, s))]
    lids = [face for i in range(1, 7) for face in ((0, i + 1, i), (24, 24 + i, 25 + i))]
    return placed(Trimesh(points, walls + lids), at, rpy)


# ---------------------------------------------------------------- with rounded edges


def loft(rings: Numbers, at: Numbers = ORIGIN, rpy: Numbers = UP, closed: bool = False) -> Trimesh:
    """Join rings of points (k, n, 3), one after the other, between two lids; or the last to the first."""
    points = np.asarray(rings, dtype=float)
    k, n, _ = points.shape
    first = np.arange(k if closed else k - 1)[:, None] * n + np.arange(n)
    after = np.arange(k if closed else k - 1)[:, None] * n + (np.arange(n) + 1) % n
    above = np.array([first, after, after + n, first + n]).reshape(4, -1) % (k * n)
    faces = [*above[[0, 1, 2]].T, *above[[0, 2, 3]].T]
    if not closed:
        lids, i = points.mean(axis=1)[[0, -1]], np.arange(n)
        after, last = (i + 1) % n, (k - 1) * n
        faces += [*np.stack([after, i, 0 * i + k * n], axis=1), *np.stack([i + last, after + last, 0 * i + k * n + 1], axis=1)]
        points = np.concatenate([points.reshape(-1, 3), lids])
    mesh = Trimesh(points.reshape(-1, 3), faces)
    mesh.update_faces(mesh.nondegenerate_faces())
    mesh.remove_unreferenced_vertices()
    if mesh.volume < 0:
        mesh.invert()
    return placed(mesh, at, rpy)


def rounded(corners: Sequence[Numbers], pieces: int = 4) -> np.ndarray:
    """A line through corners (x, y) or (x, y, radius), those with a radius rounded, in fewer pieces where it is small."""
    points = [np.array(corners[0][:2], dtype=float)]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        p = np.array(corner[:2], dtype=float)
        if len(corner) < 3:
            points.append(p)
            continue
        u, w = (np.array(other[:2]) - p for other in (before, after))
        u, w = u / np.linalg.norm(u), w / np.linalg.norm(w)
        half = np.arccos(np.clip(u @ w, -1, 1)) / 2
        middle = p + (u + w) / np.linalg.norm(u + w) * corner[2] / np.sin(half)
        a, b = (p + s * corner[2] / np.tan(half) - middle for s in (u, w))
        turn, n = PI - 2 * half, min(pieces, 1 + sum(corner[2] > limit for limit in FINE))
        points += [middle + (np.sin((1 - s) * turn) * a + np.sin(s * turn) * b) / np.sin(turn) for s in np.linspace(0, 1, n + 1)]
    return np.array([*points, corners[-1][:2]])


def spun(corners: Sequence[Numbers], at: Numbers = ORIGIN, rpy: Numbers = UP, sides: int = 32, pieces: int = 3) -> Trimesh:
    """Turn a line through corners (radius, height) or (radius, height, rounding) about the axis; closed, where it ends as it begins."""
    line, a = rounded(corners, pieces), 2 * PI * np.arange(sides) / sides
    closed = bool(np.allclose(line[0], line[-1]))
    rings = [np.stack([r * np.cos(a), r * np.sin(a), 0 * a + z], axis=1) for r, z in (line[:-1] if closed else line)]
    return loft(rings, at, rpy, closed)


def disc(r: float, low: float, high: float, rim: float, at: Numbers = ORIGIN, rpy: Numbers = UP, sides: int = 32) -> Trimesh:
    """A cylinder with rounded rims."""
    return spun([(0, low), (r, low, rim), (r, high, rim), (0, high)], at, rpy, sides, pieces=3)


def shaped(keys: Sequence[Numbers], rims: Numbers = (0, 0), at: Numbers = ORIGIN, rpy: Numbers = UP, steps: int = 10,
           pieces: int = 6) -> Trimesh:  # fmt: skip
    """Rounded rectangles, one above the other, that change smoothly between keys: (height, x from, x to, y from, y to, corners' radius).

    Its lower and its upper end are rounded by the rims, m.
    """
    heights, sizes = np.array([key[0] for key in keys]), np.array([key[1:] for key in keys])
    (low, high), a = heights[[0, -1]], np.linspace(0, PI / 2, pieces + 1)
    between = np.unique([*np.linspace(low, high, steps + 1), *heights])
    between = between[(between > low + 1.02 * rims[0]) & (between < high - 1.02 * rims[1])]
    s = np.linspace(0, PI / 2, 4)
    ends = [np.stack([end + sign * rim * (1 - np.sin(s)), rim * (1 - np.cos(s))], axis=1)[:: -sign] if rim else [(end, 0)]
            for end, sign, rim in ((low, 1, rims[0]), (high, -1, rims[1]))]  # fmt: skip
    rows = np.array([*ends[0], *[(z, 0) for z in between], *ends[1]])  # height, inset
    rings = []
    for (z, inset), size in zip(rows, PchipInterpolator(heights, sizes)(rows[:, 0]), strict=True):
        left, right, front, back, r = size - inset * np.array([-1, 1, -1, 1, 1])
        r = np.clip(r, 1e-4, min(right - left, back - front) / 2 - 1e-5)
        middles = (right - r, back - r), (left + r, back - r), (left + r, front + r), (right - r, front + r)
        turns = [a + k * PI / 2 for k in range(4)]
        arcs = [np.stack([x + r * np.cos(b), y + r * np.sin(b), 0 * b + z], axis=1) for (x, y), b in zip(middles, turns, strict=True)]
        rings.append(np.concatenate(arcs))
    return loft(rings, at, rpy)


def plate(circles: Sequence[Numbers], low: float, high: float, rim: float, at: Numbers = ORIGIN, rpy: Numbers = UP, sides: int = 48,
          pieces: int = 2) -> Trimesh:  # fmt: skip
    """The convex hull of circles (x, y, radius), as a plate with rounded rims."""
    x, y, r = np.asarray(circles, dtype=float).T
    a = 2 * PI * np.arange(sides) / sides + 1e-3  # no direction is that of a side
    widest = (np.outer(np.cos(a), x) + np.outer(np.sin(a), y) + r).argmax(axis=1)
    rings = []
    for inset, z in rounded([(1, low), (0, low, rim), (0, high, rim), (1, high)], pieces)[1:-1]:
        s = r[widest] - inset
        rings.append(np.stack([x[widest] + s * np.cos(a), y[widest] + s * np.sin(a), 0 * a + z], axis=1))
    return loft(rings, at, rpy)


def box(size: Numbers, r: float, rim: float, at: Numbers = ORIGIN, rpy: Numbers = UP, sides: int = 32) -> Trimesh:
    """A box, its upright edges rounded by r, the others by the rim."""
    x, y, z = np.asarray(size) / 2
    return plate([(i * (x - r), j * (y - r), r) for i in SIGNS for j in SIGNS], -z, z, rim, at, rpy, sides)
