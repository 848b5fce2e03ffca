"""A gizmo: handles at a link of a robot at rest, three arrows to shift it along and three arcs to turn it about."""

from __future__ import annotations

import numpy as np

from engine.spatial import so3
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.symbols import BLUE, GREEN, RED, Symbols

Array = np.ndarray
#: of the distance to the camera: how long the arrows are; radius of the arcs, of the arrows' length; where arrows begin
LENGTH, RADIUS, BEGIN = 0.14, 0.62, 0.25
#: px that a pointer may be beside a handle
NEAR = 9.0
COLORS = RED, GREEN, BLUE
#: corners of an arc, which spans a quarter of a turn between two axes
ARC = np.linspace(0.0, 0.5 * np.pi, 17)


class Gizmo:
    """Handles about the frame T (4, 4) of a link, along the axes of the world: 0, 1, 2 shift along x, y, z, and 3, 4, 5 turn about them.

    They are as large as ``first``, the first view's camera, sees well, and held as ``camera`` sees them.
    """

    def __init__(self, T: Array, camera: Camera, first: Camera) -> None:
        self.T, self.camera = T, camera
        self.length = LENGTH * float((first.eye - T[:3, 3]) @ first.axes[:, 2])

    def lines(self) -> list[Array]:
        """Return the handles as lines of points (n, 3), m."""
        p, found = self.T[:3, 3], []
        for k in range(3):
            found.append(p + self.length * np.linspace(BEGIN, 1.0, 9)[:, None] * np.eye(3)[k])
        for k in range(3):
            a, b = np.roll(np.eye(3), -k, axis=0)[1:]
            found.append(p + RADIUS * self.length * (np.cos(ARC)[:, None] * a + np.sin(ARC)[:, None] * b))
        return found

    def onto(self, drawing: Drawing, held: int | None) -> Drawing:
        """Return the drawing with the handles; the one that is held is bright."""
        symbols = Symbols()
        for k, points in enumerate(self.lines()):
            color = (1.0, 0.85, 0.2, 1.0) if k == held else COLORS[k % 3]
            if k < 3:
                symbols.arrows(points[:1], points[-1:] - points[:1], color, 0.018 * self.length)
            else:
                symbols.lines(np.stack([points[:-1], points[1:]], axis=1), color, 4.0)
        return symbols.onto(drawing)

    def hit(self, at: tuple[float, float], size: tuple[int, int]) -> int | None:
        """Return the handle at a pixel of a picture of (width, height)."""
        away = [np.nanmin([np.inf, *np.linalg.norm(self.camera.project(line, size) - at, axis=1)]) for line in self.lines()]
        return int(np.argmin(away)) if min(away) <= NEAR else None

    def measure(self, handle: int, at: tuple[float, float], size: tuple[int, int]) -> float | None:
        """Return how far along its axis, m, or about it, rad, a pixel is; None where that cannot be told."""
        eye, ray = self.camera.ray(*at, size)
        axis, p = np.eye(3)[handle % 3], self.T[:3, 3]
        if handle < 3:                                                         # where the axis is nearest to the line of sight
            n = ray - (ray @ axis) * axis
            away = float(n @ n)
            return None if away < 1e-6 else float(axis @ (eye - p) - (axis @ ray) * (n @ (eye - p)) / away)
        a, b = np.roll(np.eye(3), -(handle % 3), axis=0)[1:]
        down = float(ray @ axis)
        if abs(down) < 1e-3:
            return None
        u = eye + ray * float((p - eye) @ axis / down) - p
        return float(np.arctan2(u @ b, u @ a))

    def holding(self, handle: int, at: tuple[float, float], size: tuple[int, int]) -> tuple[int, float] | None:
        """Return a handle, and where it was taken hold of; None where that cannot be told."""
        begun = self.measure(handle, at, size)
        return None if begun is None else (handle, begun)

    def moved(self, handle: int, by: float) -> Array:
        """Return the frame (4, 4) shifted or turned."""
        T, axis = self.T.copy(), np.eye(3)[handle % 3]
        if handle < 3:
            T[:3, 3] += by * axis
        else:
            T[:3, :3] = so3.exp(by * axis) @ T[:3, :3]
        return T
