"""The ground: where its origin lies, how far it is seen, how large its squares are, and where shadows may fall on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing, about
from engine.viewer.scene.light import GROUNDS, Light

Array = np.ndarray


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


def shaded(drawing: Drawing, light: Light) -> tuple[Array, Array]:
    """Return the rectangle of the ground under instances and in their shadows, with a margin: its middle (2), and from there to the middles
    of two of its sides (2, 2), m."""
    along = -light.key[:2] / np.linalg.norm(light.key[:2])
    axes = np.array([along, [-along[1], along[0]]])
    points = drawing.corners() if len(drawing.which) else drawing.extent[0][None]
    drop = np.maximum(points[:, 2] - drawing.floor, 0.0)[:, None] * light.key[:2] / max(light.key[2], 0.05)
    spread = np.concatenate([points[:, :2], points[:, :2] - drop]) @ axes.T
    low, high = spread.min(axis=0), spread.max(axis=0)
    margin = max(0.12 * float((high - low).max()), 1e-6)
    return 0.5 * (low + high) @ axes, (0.5 * (high - low) + margin)[:, None] * axes
