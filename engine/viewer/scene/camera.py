"""A camera that turns about a point, as in the programs people know: orbit, pan, dolly, fit, views along the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.checks import number, numbers, shown
from engine.viewer.scene.errors import ViewerError

Array = np.ndarray
#: azimuth and elevation, rad, of the views along the axes: the camera stands on that side
VIEWS = {"front": (0.0, 0.0), "back": (np.pi, 0.0), "left": (0.5 * np.pi, 0.0), "right": (-0.5 * np.pi, 0.0),
         "top": (-0.5 * np.pi, 0.5 * np.pi), "bottom": (-0.5 * np.pi, -0.5 * np.pi)}  # fmt: skip


#: how often it is looked whether a camera has been moved far enough; of a picture's width, what a panel along its bottom has at least
CLEARED, BROAD = 4, 0.6


@dataclass(eq=False)
class Camera:
    """Looks from ``distance`` along a direction to ``target``; the z axis of its frame, by default the world's, is up.

    Attributes
    ----------
    target (3) : the point in the middle of the picture, m, world axes
    distance : m; azimuth, elevation : where the camera stands, seen from the target, rad (azimuth 0 is on the x axis)
    fov : angle of view from bottom to top, rad
    radius : of what is looked at, m; floor : height of the ground, m, or None: both set the near and far planes
    anchor : where the point was that it goes along with (3), or None
    frame : axes (3, 3) in which azimuth and elevation are counted, as columns, world axes

    >>> Camera(distance=3.0, azimuth=0.0, elevation=0.0).eye
    array([3., 0., 0.])
    """

    target: Array = field(default_factory=lambda: np.zeros(3))
    distance: float = 3.0
    azimuth: float = 0.7
    elevation: float = 0.35
    fov: float = 0.65
    radius: float = 1.0
    floor: float | None = None
    anchor: Array | None = None
    frame: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        self.target = numbers("target", self.target, ViewerError)
        if self.target.shape != (3,) or not np.isfinite(self.target).all():
            raise ViewerError(f"the target of a camera is {shown(self.target.tolist())}; expected a point (3), m")
        number("distance", self.distance, "m above zero", above=0.0, error=ViewerError)
        for what in ("azimuth", "elevation"):
            number(what, getattr(self, what), "an angle, rad", error=ViewerError)
        if abs(self.elevation) > 0.5 * np.pi + 1e-9:
            raise ViewerError(f"elevation is {self.elevation:g} rad; expected −π/2 (from below) to π/2 (from above): are these degrees?")
        number("fov", self.fov, "an angle of view between 0 and π, rad", above=0.0, below=np.pi, error=ViewerError)

    @property
    def axes(self) -> Array:
        """Right, up and back as columns (3, 3), world axes."""
        ca, sa, ce, se = np.cos(self.azimuth), np.sin(self.azimuth), np.cos(self.elevation), np.sin(self.elevation)
        return self.frame @ np.array([[-sa, -se * ca, ce * ca], [ca, -se * sa, ce * sa], [0.0, ce, se]])

    @property
    def eye(self) -> Array:
        """The place where it stands (3), m."""
        return self.target + self.distance * self.axes[:, 2]

    @property
    def planes(self) -> tuple[float, float]:
        """Distances of the near and the far plane, m."""
        near = self.distance - 3.0 * self.radius
        if self.floor is not None and (height := self.eye[2] - self.floor) > 0.0:
            near = min(near, 0.6 * height)                                     # no ground is nearer in any corner of a picture
        return max(near, 0.02 * min(self.distance, self.radius)), self.distance + max(60.0 * self.radius, 16.0 * self.distance)

    def view(self) -> Array:
        """Return the matrix (4, 4) from the world to the camera: x to the right, y up, −z forward."""
        R = self.axes.T
        return np.vstack([np.column_stack([R, -R @ self.eye]), [0.0, 0.0, 0.0, 1.0]])

    def projection(self, aspect: float) -> Array:
        """Return the matrix (4, 4) from the camera to clip coordinates, for a picture of width/height ``aspect``."""
        f, (n, m) = 1.0 / np.tan(0.5 * self.fov), self.planes
        return np.array([[f / aspect, 0, 0, 0], [0, f, 0, 0], [0, 0, (m + n) / (n - m), 2 * m * n / (n - m)], [0, 0, -1.0, 0]])

    def matrix(self, aspect: float) -> Array:
        """Return the matrix (4, 4) from the world to clip coordinates."""
        return self.projection(aspect) @ self.view()

    def rays(self, aspect: float) -> Array:
        """Return the matrix (4, 4) from clip coordinates to directions in the world."""
        up = np.tan(0.5 * self.fov)
        rays = np.zeros((4, 4))
        rays[:3, [0, 1, 2]] = self.axes * [up * aspect, up, 0.0]
        rays[:3, 3] = -self.axes[:, 2]
        return rays

    def project(self, points: Any, size: tuple[int, int]) -> Array:
        """Return pixels (n, 2) of points (n, 3), from the upper left corner; NaN behind the camera."""
        points = np.atleast_2d(points)
        clip = np.column_stack([points, np.ones(len(points))]) @ self.matrix(size[0] / size[1]).T
        w = np.where(clip[:, 3] > 0, clip[:, 3], np.nan)[:, None]
        return (clip[:, :2] / w * [0.5, -0.5] + 0.5) * size

    def ray(self, x: Any, y: Any, size: tuple[int, int]) -> tuple[Array, Array]:
        """Return origin (3) and unit directions (..., 3) of the lines of sight through pixels x, y (...), from the upper left corner."""
        slope = np.tan(0.5 * self.fov)
        across = (2 * np.asarray(x) / size[0] - 1) * slope * size[0] / size[1]
        d = np.stack(np.broadcast_arrays(across, (1 - 2 * np.asarray(y) / size[1]) * slope, -1.0), axis=-1) @ self.axes.T
        return self.eye, d / np.linalg.norm(d, axis=-1, keepdims=True)

    # ------------------------------------------------------------ moving it

    def orbit(self, right: float, up: float) -> None:
        """Turn about the target by angles, rad."""
        self.azimuth -= right
        self.elevation = float(np.clip(self.elevation - up, -0.5 * np.pi, 0.5 * np.pi))

    def pan(self, right: float, up: float) -> None:
        """Move camera and target sideways and up, in fractions of the picture's height at the target."""
        height = 2.0 * self.distance * np.tan(0.5 * self.fov)
        self.target = self.target + self.axes[:, :2] @ np.array([right, up]) * height

    def along(self, point: Array, frame: Array | None = None) -> None:
        """Move as a point (3), m, has since it was last told of, and turn about it as a frame (3, 3) has; not at all, where there is no
        anchor yet."""
        if self.anchor is not None:
            away = self.target - self.anchor
            self.target = point + (away if frame is None else frame @ self.frame.T @ away)
        self.anchor, self.frame = point, self.frame if frame is None else frame

    def dolly(self, factor: float) -> None:
        """Multiply the distance."""
        self.distance = float(np.clip(self.distance * factor, 0.05 * self.radius, 200.0 * self.radius))

    def look(self, view: str) -> None:
        """Look along an axis: one of VIEWS."""
        self.azimuth, self.elevation = VIEWS[view]

    def fit(self, points: Any, aspect: float = 1.5, margin: float = 1.1) -> None:
        """Show all points (n, 3), m, without turning."""
        points = np.asarray(points, float).reshape(-1, 3)
        low, high = points.min(axis=0), points.max(axis=0)
        self.radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-9)
        slope = np.tan(0.5 * self.fov) / margin
        seen = (points - 0.5 * (low + high)) @ self.axes
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        for _ in range(4):                            # the middle of the picture is not that of the points: those in front look larger
            back = (seen - middle)[:, 2] + np.abs((seen - middle)[:, :2] / [slope * aspect, slope]).max(axis=1)
            distance = max(float(back.max()), 2.2 * self.radius)
            flat = (seen - middle)[:, :2] / (distance - (seen - middle)[:, 2])[:, None]
            middle[:2] += 0.5 * distance * (flat.min(axis=0) + flat.max(axis=0))
        self.target, self.distance = 0.5 * (low + high) + self.axes @ middle, distance

    def keep_clear(self, bodies: Array, size: tuple[int, int], panels: Sequence[tuple[float, float, float, float]]) -> None:
        """Move aside, and back as far as that takes, until no body lies under a panel at a side of a picture or along its bottom.

        Parameters
        ----------
        bodies (n, k, 3) : points about each of them, m; size : (width, height), pixels; panels : left, top, width, height, pixels
        """
        w, h = size
        middle, gap = 0.5 * np.array(size), 0.02 * h
        for _ in range(CLEARED):
            at = self.project(bodies.reshape(-1, 3), size).reshape(*bodies.shape[:2], 2)
            if not at.size or not np.isfinite(at).all():
                return
            low, high = at.min(axis=1), at.max(axis=1)
            under = [p for p in panels if ((low < (p[0] + p[2], p[1] + p[3])) & (high > p[:2])).all(axis=1).any()]
            if not under:
                return
            feet = [p for p in under if p[2] > BROAD * w]                       # along the bottom
            sides = [p for p in under if p[2] <= BROAD * w]
            left = max((x + wide + gap for x, _, wide, _ in sides if x + 0.5 * wide < middle[0]), default=gap)
            right = min((x - gap for x, _, wide, _ in sides if x + 0.5 * wide >= middle[0]), default=w - gap)
            below = max((y + tall + gap for _, y, _, tall in sides), default=gap)
            above = min((y - gap for _, y, *_ in feet), default=h - gap)
            ends = np.array([low.min(axis=0), high.max(axis=0)])
            rooms = np.array([[(left, gap), (right, above)], [(gap, below), (w - gap, above)]])  # beside them, and below them
            times = (np.ptp(ends, axis=0) / np.maximum(np.ptp(rooms, axis=1), 1.0)).max(axis=1)
            room, smaller = rooms[times.argmin()], max(float(times.min()), 1.0)
            ends = middle + (ends - middle) / smaller
            right_and_down = np.maximum(room[0] - ends[0], 0.0) + np.minimum(room[1] - ends[1], 0.0)
            self.distance *= smaller
            self.pan(-right_and_down[0] / h, right_and_down[1] / h)
