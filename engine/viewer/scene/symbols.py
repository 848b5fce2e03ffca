"""Shapes of marks: arrows, arcs, frames, balls and lines."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.surface import Surface, revolved, sphere

Array = np.ndarray
RED, GREEN, BLUE = (0.86, 0.13, 0.12, 1.0), (0.13, 0.62, 0.18, 1.0), (0.10, 0.33, 0.90, 1.0)
#: lengths and radii of arrows' heads, in radii of their shafts
LONG, BROAD = 6.5, 2.6
#: of arcs, rad: the widest, the arrow's head, and what their shafts differ by, which their heads hide
WIDEST, HEAD, STEP = 5.0, 0.5, 0.2


def norms(x: Array) -> Array:
    """Return the lengths of vectors (..., 3)."""
    return np.linalg.norm(x, axis=-1)


def chain(points: Array) -> Array:
    """Return the segments (n − 1, 2, 3) between points (n, 3), one after another."""
    return np.stack([points[:-1], points[1:]], axis=1)


class Symbols:
    """Surfaces, lines and labels, as they come together."""

    def __init__(self) -> None:
        self.labels: list[tuple[Array, str, tuple[float, float, float, float]]] = []
        self.legend: list[tuple[str, tuple[float, float, float, float]]] = []
        self.placed_surfaces: list[tuple[Surface, Array, Array]] = []
        self._lines: list[tuple[Array, Array, Array]] = []

    def place(self, surface: Surface, poses: Array, color: Any) -> None:
        """Add instances of a surface: poses with their scales (n, 4, 4), a colour (4) or one for each (n, 4)."""
        if len(poses):
            self.placed_surfaces.append((surface, poses, np.broadcast_to(color, (len(poses), 4))))

    def lines(self, segments: Array, colors: Any, width: float) -> None:
        """Add segments (m, 2, 3) in colours (4) or (m, 4), of a width in pixels."""
        self._lines.append((segments, np.broadcast_to(colors, (len(segments), 4)), np.full(len(segments), width)))

    def arrows(self, tails: Array, vectors: Array, color: Any, breadth: float) -> None:
        """Add arrows from points (n, 3) along vectors (n, 3), m, with shafts of a radius in m, in a colour (4) or one for each (n, 4).

        Heads are all of one size, but those of arrows that are not much longer than a head.
        """
        length = norms(vectors)
        there = length > 1e-6 * breadth
        tails, length = tails[there], length[there]
        R = turned(vectors[there] / length[:, None])
        small = np.minimum(1.0, length / (1.4 * LONG * breadth))
        head = LONG * breadth * small
        tint = np.broadcast_to(color, (len(there), 4))[there]
        self.place(stick(), placed(R, tails, [breadth * small, breadth * small, length - head]), tint)
        ends = tails + R[:, :, 2] * (length - head)[:, None]
        self.place(cone(), placed(R, ends, [BROAD * breadth * small, BROAD * breadth * small, head]), tint)

    def arcs(self, T: Array, turns: Array, radius: float, color: Any) -> None:
        """Add arrows that go round vectors (n, 3) in the frames T (n, 4, 4), counter-clockwise, on circles of a radius in m.

        The length of a vector, from 0 to 1, is the part that its arrow spans of the widest.
        """
        part = norms(turns)
        there = part > 1e-3
        T, z, angle = T[there], turns[there] / part[there, None], WIDEST * part[there]
        R = T[:, :3, :3] @ turned(z)
        small = np.minimum(1.0, angle / HEAD)
        shaft = np.maximum(angle - HEAD, 0.0)
        steps = np.ceil(shaft / STEP).astype(int)
        for k in np.unique(steps[steps > 0]):
            at = steps == k
            self.place(arc(int(k)), placed(R[at], T[at, :3, 3], [radius] * 3), color)
        base, tip = (np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1) for a in (shaft, angle))
        along = (R @ (tip - base)[:, :, None])[..., 0]
        feet = (R @ base[:, :, None])[..., 0] * radius + T[:, :3, 3]
        length = radius * norms(along)
        self.place(cone(), placed(turned(along / norms(along)[:, None]), feet, [0.17 * radius * small] * 2 + [length]), color)

    def frames(self, T: Array, length: float, thin: float = 0.04) -> None:
        """Add the axes of frames (n, 4, 4), of a length in m, with shafts of a radius of so much of that."""
        vectors = length * np.swapaxes(T[:, :3, :3], 1, 2)
        self.arrows(np.repeat(T[:, :3, 3], 3, axis=0), vectors.reshape(-1, 3), np.tile([RED, GREEN, BLUE], (len(T), 1)), thin * length)

    def balls(self, points: Array, radii: Array) -> None:
        """Add marks of centres of mass at points (n, 3), of radii (n), m."""
        self.place(quartered(), placed(np.eye(3)[None], points, [radii] * 3), (1.0, 1.0, 1.0, 1.0))

    def center_lines(self, points: Array, along: Array, half: float, color: Any) -> None:
        """Add dash-dotted lines through points (n, 3) along unit vectors (n, 3), ``half`` m to either side, with a dash in the middle."""
        dash = np.array([[-0.30, 0.30], [0.45, 0.55]]) / 4.0                # in periods of 1, four of them on either side
        ends = (np.arange(-4, 5)[:, None, None] / 4.0 + dash).reshape(-1, 2)
        ends = ends[(ends > -1.0).all(axis=1) & (ends < 1.0).all(axis=1)] * half
        segments = points[:, None, None] + ends[:, :, None] * along[:, None, None]
        self.lines(segments.reshape(-1, 2, 3), color, 2.0)

    def onto(self, drawing: Drawing) -> Drawing:
        """Return the drawing with the marks; they cannot be picked."""
        surfaces = {s: k for k, s in enumerate(drawing.surfaces)}
        which = [np.full(len(poses), surfaces.setdefault(surface, len(surfaces))) for surface, poses, _ in self.placed_surfaces]
        marked = sum(map(len, which))
        a, b, c = (np.concatenate(x) for x in zip(drawing.lines, *self._lines, strict=True))
        return replace(
            drawing,
            surfaces=list(surfaces),
            which=np.concatenate([drawing.which, *which]).astype(int),
            poses=np.concatenate([drawing.poses, *(poses for _, poses, _ in self.placed_surfaces)]),
            colors=np.concatenate([drawing.colors, *(colors for _, _, colors in self.placed_surfaces)]),
            numbers=np.concatenate([drawing.numbers, np.zeros(marked, drawing.numbers.dtype)]),
            lines=(a, b, c),
            labels=[*drawing.labels, *self.labels],
            legend=[*dict.fromkeys([*drawing.legend, *self.legend])],
        )


def placed(R: Array, points: Array, scales: Any) -> Array:
    """Return poses (n, 4, 4) of rotations (n, 3, 3) and points (n, 3), with three scales, each one number or (n)."""
    T = np.zeros((len(points), 4, 4))
    T[:, :3, :3] = R * np.stack(np.broadcast_arrays(*scales, np.zeros(len(points)))[:3], axis=1)[:, None]
    T[:, :3, 3], T[:, 3, 3] = points, 1.0
    return T


def turned(z: Array) -> Array:
    """Return rotations (n, 3, 3) whose third columns are unit vectors (n, 3).

    Reference: Duff et al., *Building an orthonormal basis, revisited*, J. Comput. Graph. Tech. 6 (2017).
    """
    a, b, c = z.T
    sign = np.copysign(1.0, c)
    d = -1.0 / (sign + c)
    e = a * b * d
    return np.stack([1.0 + sign * a * a * d, e, a, sign * e, sign + b * b * d, b, -sign * a, -b, c], axis=1).reshape(-1, 3, 3)


# ---------------------------------------------------------------- shapes


@lru_cache(maxsize=1)
def stick() -> Surface:
    """Return a cylinder of radius 1 from 0 to 1 along z."""
    profile = np.array([[0, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 1]], dtype=float)
    normals = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    return white(revolved("stick", profile, normals)[0].surface)


@lru_cache(maxsize=1)
def cone() -> Surface:
    """Return a cone with a base of radius 1 at 0 and its tip at 1 along z; it is lit as one 2.5 times as long as broad."""
    slope = np.array([2.5, 1.0]) / np.hypot(2.5, 1.0)
    profile = np.array([[0, 0], [1, 0], [1, 0], [0, 1]], dtype=float)
    return white(revolved("cone", profile, np.array([[0, -1], [0, -1], [slope[0], 0.4 * slope[0]], [slope[0], 0.4 * slope[0]]]))[0].surface)


@lru_cache(maxsize=64)
def arc(steps: int) -> Surface:
    """Return a bent rod of radius 0.065 on the circle of radius 1 about z, from x on by some steps of STEP."""
    turn = np.linspace(0.0, STEP * steps, 2 * steps + 1)[:, None]
    around = np.linspace(0.0, 2 * np.pi, 17)[None]
    out = np.stack(np.broadcast_arrays(np.cos(turn), np.sin(turn), 0.0 * turn), axis=2)
    normals = np.cos(around)[..., None] * out + np.sin(around)[..., None] * np.array([0.0, 0.0, 1.0])
    points = out + 0.065 * normals
    n, m = points.shape[:2]
    a = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).reshape(-1, 1)
    sides = np.concatenate([np.hstack([a, a + m, a + m + 1]), np.hstack([a, a + m + 1, a + 1])])
    cap = n * m + np.stack([np.zeros(m - 2, int), np.arange(1, m - 1), np.arange(2, m)], axis=1)
    return white(Surface(
        np.concatenate([points.reshape(-1, 3), points[0]]).astype(np.float32),
        np.concatenate([normals.reshape(-1, 3), np.broadcast_to([0.0, -1.0, 0.0], points[0].shape)]).astype(np.float32),
        np.concatenate([sides, cap]).astype(np.uint32),
        name="arc",
    ))  # fmt: skip


@lru_cache(maxsize=1)
def quartered() -> Surface:
    """Return a ball of radius 1 whose eighths are black and gold by turns: the mark of a centre of mass."""
    n = 12
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)], dtype=float)
    index = {(int(i), int(j)): k for k, (i, j, _) in enumerate(grid)}
    up = [(index[i, j], index[i + 1, j], index[i, j + 1]) for i in range(n) for j in range(n - i)]
    down = [(index[i + 1, j], index[i + 1, j + 1], index[i, j + 1]) for i in range(n - 1) for j in range(n - 1 - i)]
    points = np.sin(0.5 * np.pi * grid / n)                                # more even on the ball than the plane's own
    points /= norms(points)[:, None]
    faces = np.array(up + down)
    eighths, triangles, colors = [], [], []
    for k, signs in enumerate(np.ndindex(2, 2, 2)):
        sign = 1.0 - 2.0 * np.array(signs)
        eighths.append(points * sign)
        triangles.append((faces if sign.prod() > 0 else faces[:, ::-1]) + k * len(points))
        colors.append(np.tile([250, 186, 30, 255] if sign.prod() > 0 else [22, 22, 24, 255], (len(points), 1)))
    positions = np.concatenate(eighths).astype(np.float32)
    return white(Surface(positions, positions, np.concatenate(triangles).astype(np.uint32), colors=np.concatenate(colors).astype(np.uint8)))


@lru_cache(maxsize=1)
def dot() -> Surface:
    """Return a ball of radius 1 of eight triangles, of which thousands are drawn."""
    ends = np.concatenate([np.eye(3), -np.eye(3)]).astype(np.float32)
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return white(Surface(ends, ends, np.array(faces, dtype=np.uint32), name="dot", closed=True))


def shapes() -> list[Surface]:
    """Return all shapes that marks have."""
    return [stick(), cone(), quartered(), dot(), sphere()[0].surface, *(arc(k) for k in range(1, int(np.ceil((WIDEST - HEAD) / STEP)) + 1))]


def white(surface: Surface) -> Surface:
    """Return a surface that takes its instances' colours."""
    return replace(surface, color=(1.0, 1.0, 1.0, 1.0), roughness=0.5, uv=None)
