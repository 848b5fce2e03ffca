"""The ground: where its origin lies, how far it is seen, how large its squares are, and where shadows may fall on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.draw.cells import touched
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing, about
from engine.viewer.scene.light import GROUNDS, Light

Array = np.ndarray
CELLS = 32                                  # along each side of the rectangle that shadows lie in


def near_origin(drawing: Drawing, camera: Camera) -> tuple[Drawing, Camera]:
    """Return both as seen from near the camera's target, where single precision is enough; lines of the ground stay where they are."""
    origin = camera.target.astype(float)
    if drawing.environment in GROUNDS:
        side = 10.0 * square(drawing)
        origin[:2] = side * np.round(origin[:2] / side)
    floor = None if camera.floor is None else camera.floor - origin[2]
    return about(drawing, origin), replace(camera, target=camera.target - origin, floor=floor)


def square(drawing: Drawing) -> float:
    """Return the side of a square of the ground's grid, m."""
    return float(10.0 ** np.floor(np.log10(max(drawing.extent[1], 1e-6))))


def far(drawing: Drawing, camera: Camera) -> float:
    """Return how far the ground is seen, m."""
    return 14.0 * max(drawing.extent[1], 0.5 * camera.distance)


def shaded(centres: Array, boxes: Array, light: Light, floor: float, soft: float) -> tuple[Array, Array, Array]:
    """Return a rectangle of the ground under boxes and in their shadows, its middle (2), and from there to the middles of two of its sides
    (2, 2), m, and which of its cells these shadows touch; of centres (n, 3) and half edges as columns (n, 3, 3), m, world axes, and how far
    the shadow from above is blurred, m."""
    if not len(centres):
        return np.zeros(2), 1e-6 * np.eye(2), np.zeros((1, 1), bool)
    level = float(np.linalg.norm(light.key[:2]))
    x, y = -light.key[:2] / level
    slope = level / max(light.key[2], 0.05)
    low, high = [], []
    for down, margin in (([[x, y, 0.0], [-y, x, 0.0]], soft), ([[x, y, slope], [-y, x, 0.0]], 0.2 * soft)):      # from above, from the key
        at, reach = (centres - [0.0, 0.0, floor]) @ np.transpose(down), np.abs(np.array(down) @ boxes).sum(axis=2) + margin
        low.append(at - reach)
        high.append(at + reach)
    first, last = np.concatenate(low).min(axis=0), np.concatenate(high).max(axis=0)
    span = np.maximum(last - first, 1e-6)
    cells = touched((np.concatenate(low) - first) / span, (np.concatenate(high) - first) / span, (CELLS, CELLS))
    axes = np.array([[x, y], [-y, x]])
    return (first + 0.5 * span) @ axes, 0.5 * span[:, None] * axes, cells
