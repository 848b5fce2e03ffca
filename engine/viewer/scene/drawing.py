"""A drawing: all that is drawn in one picture."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from engine.viewer.scene.planets import Globe
from engine.viewer.scene.surface import Surface
from engine.viewer.scene.surroundings import Surroundings

Array = np.ndarray


@dataclass(eq=False)
class Drawing:
    """All that is drawn in one picture: instances of surfaces, lines and labels.

    Attributes
    ----------
    surfaces : the different ones; which (n) : the surface of every instance
    poses (n, 4, 4) : of the instances in the world, with their scales
    colors (n, 4) : red, green, blue, opacity, multiplied with the surface's own
    numbers (n) : what picking returns; 0 cannot be picked
    lines : segments (m, 2, 3), m, their colours (m, 4) and widths in pixels (m)
    labels : points (3), texts and colours (4)
    legend : texts and colours (4): what arrows mean
    environment : "ground", "space" or "plain"; floor : height of the ground, m
    around : the light from all around, which is seen behind the ground, or None
    extent : middle (3) and radius of a sphere about the whole motion, m
    wireframe : whether surfaces are drawn as lines
    globe : the planet that is there, or None; beacons : places (3), radii, m, and names of robots, which are marked where they are too
        small to be seen
    """

    surfaces: list[Surface]
    which: Array
    poses: Array
    colors: Array
    numbers: Array
    lines: tuple[Array, Array, Array] = field(default_factory=lambda: (np.zeros((0, 2, 3)), np.zeros((0, 4)), np.zeros(0)))
    labels: list[tuple[Array, str, tuple[float, float, float, float]]] = field(default_factory=list)
    legend: list[tuple[str, tuple[float, float, float, float]]] = field(default_factory=list)
    environment: str = "ground"
    around: Surroundings | None = None
    floor: float = 0.0
    extent: tuple[Array, float] = (np.zeros(3), 1.0)
    wireframe: bool = False
    globe: Globe | None = None
    beacons: list[tuple[Array, float, str]] = field(default_factory=list)

    def corners(self) -> Array:
        """Return the corners of boxes about the instances (8 n, 3), m, world axes."""
        boxes = np.array([measure(s).box for s in self.surfaces]).reshape(-1, 2, 3)[self.which]
        ends = np.stack([np.where(k, boxes[:, 1], boxes[:, 0]) for k in np.ndindex(2, 2, 2)], axis=1)
        placed = ends @ np.swapaxes(self.poses[:, :3, :3], 1, 2) + self.poses[:, None, :3, 3]
        return placed.reshape(-1, 3)


def about(drawing: Drawing, origin: Array) -> Drawing:
    """Return the drawing with its places seen from an origin (3), so that they are small numbers where it is near."""
    poses, (segments, colors, widths) = drawing.poses.copy(), drawing.lines
    poses[:, :3, 3] -= origin
    middle, radius = drawing.extent
    globe, center = drawing.globe, None if drawing.globe is None else drawing.globe.center
    if globe is not None and center is not None:
        globe = replace(globe, center=center - origin)
    return replace(drawing, poses=poses, lines=(segments - origin, colors, widths), floor=drawing.floor - origin[2],
                   labels=[(p - origin, text, color) for p, text, color in drawing.labels], extent=(middle - origin, radius), globe=globe,
                   beacons=[(p - origin, radius, name) for p, radius, name in drawing.beacons])  # fmt: skip


@dataclass(frozen=True, eq=False)
class Measure:
    """Measures of a surface: the lowest and the highest coordinates (2, 3), m, and the least opacity of its vertices and its texture."""

    box: Array
    opacity: float


MEASURES: WeakKeyDictionary[Surface, Measure] = WeakKeyDictionary()


def measure(surface: Surface) -> Measure:
    """Return the measure of a surface, remembered as long as the surface is there."""
    if surface not in MEASURES:
        alphas = [x[..., 3].min() / 255.0 for x in (surface.colors, surface.texture) if x is not None]
        ends = np.stack([surface.positions.min(axis=0), surface.positions.max(axis=0)]).astype(float)
        MEASURES[surface] = Measure(ends, float(min([1.0, *alphas])))
    return MEASURES[surface]
