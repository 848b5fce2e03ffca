"""Text on a picture: names where things are, a legend of what arrows mean, and marks of robots too small to be seen."""

from __future__ import annotations

import numpy as np

from engine.viewer.draw.canvas import Canvas, Color
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.light import DARK

Array = np.ndarray
TEXT, LINE = 12.0, 15.0                     # sizes of labels and how far apart their lines are, px
INDENT = 31.0                               # where the legend's texts begin, px
MOVES = (0.0, 15.0, -15.0, 30.0, -30.0, 45.0, -45.0, 60.0, -60.0)               # by which a label may be moved, px
FAR = 20.0                                  # by which it is moved so that a line says where it belongs, px
TINY, RING = 3.0, 6.0                       # radius below which a robot is marked, and of its mark, px
SHADE = 0.02, 0.03, 0.05, 0.55              # behind what is written
BRIGHT, INK, AMBER = (1.0, 1.0, 1.0, 1.0), (0.1, 0.1, 0.1, 1.0), (1.0, 0.72, 0.25, 1.0)


def draw(canvas: Canvas, drawing: Drawing, camera: Camera, size: tuple[int, int], foot: float) -> None:
    """Write on a canvas over a picture of (width, height) device pixels; the legend lies a height above its bottom, px."""
    dark = drawing.environment in DARK or drawing.around is not None
    legend(canvas, drawing, (size[0] / canvas.scale, size[1] / canvas.scale - foot), dark)
    labels = drawing.labels + beacons(canvas, drawing, camera, size)
    places = camera.project(np.array([p for p, _, _ in labels]).reshape(-1, 3), size) / canvas.scale
    depths = [(p - camera.eye) @ camera.axes[:, 2] for p, _, _ in labels]
    inside = [k for k in np.argsort(depths)[::-1] if np.isfinite(places[k]).all()]               # the nearest first
    wide = np.array([canvas.width(labels[k][1], TEXT) for k in inside])
    for k, moved in zip(inside, apart(places[inside], wide), strict=True):
        if moved is not None:
            _, text, color = labels[k]
            side = canvas.width(text, TEXT) + 8.0                              # white on white is not read
            if abs(moved) > FAR:
                canvas.line(np.array([places[k], places[k] + [0.0, moved - 4.0]]), (*SHADE[:3], 0.8), 1.0)
            canvas.rect(places[k][0] - 0.5 * side, places[k][1] + moved - 11.5, side, LINE, SHADE, 4.0)
            canvas.text(places[k][0], places[k][1] + moved, text, color, TEXT, "center", halo=True)


def legend(canvas: Canvas, drawing: Drawing, corner: tuple[float, float], dark: bool) -> None:
    """Write what arrows mean, upwards from the lower left of a picture whose lower right corner is given, px."""
    for k, (text, color) in enumerate(reversed(drawing.legend)):
        y = corner[1] - 14.0 - 17.0 * k
        text = canvas.elided(text, corner[0] - 1.3 * INDENT, TEXT)
        if dark:                                                               # whatever bright is behind
            canvas.rect(12.0, y - 13.0, canvas.width(text, TEXT) + INDENT - 4.0, 17.0, SHADE, 5.0)
        canvas.disc(20.0, y - 4.0, 4.0, color)
        canvas.text(INDENT, y, text, BRIGHT if dark else INK, TEXT, halo=dark)


def beacons(canvas: Canvas, drawing: Drawing, camera: Camera, size: tuple[int, int]) -> list[tuple[Array, str, Color]]:
    """Draw a ring about each robot that is too small to be seen; return labels with their names."""
    if not drawing.beacons:
        return []
    points, radii = np.array([p for p, _, _ in drawing.beacons]), np.array([r for _, r, _ in drawing.beacons])
    places, depth = camera.project(points, size), (camera.eye - points) @ camera.axes[:, 2]
    pixels = radii * 0.5 * size[1] / np.tan(0.5 * camera.fov) / np.maximum(depth, 1e-9)
    hidden = np.zeros(len(points), bool) if drawing.globe is None else drawing.globe.hides(camera.eye, points)
    names: list[tuple[Array, str, Color]] = []
    for k in np.flatnonzero((pixels < TINY * canvas.scale) & np.isfinite(places).all(axis=1)):
        (x, y), name = places[k] / canvas.scale, drawing.beacons[k][2]
        color: Color = (*AMBER[:3], 0.35 if hidden[k] else 1.0)
        canvas.disc(x, y, RING, color, outline=1.5)
        canvas.disc(x, y, 1.7, color)
        if name:                                                               # beside the ring
            right = camera.axes[:, 0] * (2.0 * depth[k] * np.tan(0.5 * camera.fov) / size[1] * canvas.scale)
            up = camera.axes[:, 1] / np.linalg.norm(camera.axes[:, 1]) * np.linalg.norm(right)
            names.append((points[k] + right * (RING + 6.0 + 0.5 * canvas.width(name, TEXT)) - 4.0 * up, name, color))
    return names


def apart(places: Array, widths: Array) -> list[float | None]:
    """Return how far labels at places (n, 2), so wide (n), px, are moved down, so that none lies on one before it; None where that takes
    them too far away.

    >>> apart(np.array([[0.0, 0.0], [5.0, 3.0], [200.0, 0.0]]), np.array([40.0, 40.0, 40.0]))
    [0.0, 15.0, 0.0]
    """
    put: list[tuple[float, float, float]] = []
    moves: list[float | None] = []
    for (x, y), w in zip(places, widths, strict=True):
        free = (m for m in MOVES if all(abs(x - a) > 0.5 * (w + b) or abs(y + m - c) >= LINE for a, b, c in put))
        moves.append(move := next(free, None))
        if move is not None:
            put.append((x, w, y + move))
    return moves
