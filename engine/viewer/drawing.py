"""What is drawn in one picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from engine.viewer.surface import Surface

Array = np.ndarray


@dataclass(eq=False)
class Drawing:
    """What is drawn in one picture: instances of surfaces, lines and labels.

    Attributes
    ----------
    surfaces : the different ones; which (n) : the surface of every instance
    poses (n, 4, 4) : of the instances in the world, with their scales; colors (n, 4) : red, green, blue, opacity, multiplied with the surface's own
    numbers (n) : what picking returns; 0 cannot be picked
    lines : segments (m, 2, 3), m, their colours (m, 4) and widths in pixels (m)
    labels : points (3), texts and colours (4)
    environment : "ground", "space" or "plain"; floor : height of the ground, m; wireframe : whether surfaces are drawn as lines
    """

    surfaces: list[Surface]
    which: Array
    poses: Array
    colors: Array
    numbers: Array
    lines: tuple[Array, Array, Array] = field(default_factory=lambda: (np.zeros((0, 2, 3)), np.zeros((0, 4)), np.zeros(0)))
    labels: list[tuple[Array, str, tuple[float, ...]]] = field(default_factory=list)
    environment: str = "ground"
    floor: float = 0.0
    wireframe: bool = False

    def corners(self) -> Array:
        """The corners of boxes about the instances (8 n, 3), m, world axes."""
        boxes = np.array([box(s) for s in self.surfaces]).reshape(-1, 2, 3)[self.which]
        ends = np.stack([np.where(k, boxes[:, 1], boxes[:, 0]) for k in np.ndindex(2, 2, 2)], axis=1)
        placed = ends @ np.swapaxes(self.poses[:, :3, :3], 1, 2) + self.poses[:, None, :3, 3]
        return placed.reshape(-1, 3)


BOXES: WeakKeyDictionary[Surface, Array] = WeakKeyDictionary()


def box(surface: Surface) -> Array:
    """The lowest and the highest coordinates (2, 3) of a surface, m."""
    if surface not in BOXES:
        BOXES[surface] = np.stack([surface.positions.min(axis=0), surface.positions.max(axis=0)]).astype(float)
    return BOXES[surface]
