"""Camera scripts of films: shots one after another, from outside, along with a link, or from one, eased, with captions and slow motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.checks import number, numbers, shown
from engine.spatial import so3
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene

Array = np.ndarray
#: of a link's size: how far what a camera follows it with sees, by default
AROUND = 3.0
#: times as far as without a caption, and of a picture's height, how much higher what is seen whole stands with one
ROOM, ABOVE = 1.07, 0.03


@dataclass(frozen=True)
class Follow:
    """A camera that goes along with a link.

    Parameters
    ----------
    link : its name
    view : one of the views along axes, or (azimuth, elevation) of the camera, rad
    radius : m, of a sphere about the link's origin that fills the picture; by default three times the link's size
    turns : rad/s, by which it goes round meanwhile

    >>> Follow("gripper", view="left", radius=0.5).radius
    0.5
    """

    link: str
    view: str | tuple[float, float] | None = None
    radius: float | None = None
    turns: float = 0.0

    def camera(self, scene: Scene, t: float, since: float, size: tuple[int, int]) -> Camera:
        """Return it at a time, s, of a shot that began at another, for a picture of (width, height) pixels."""
        place, actor = scene.place(self.link, t), scene.carrier(self.link)
        camera = scene.camera(size, self.view, scene.span[0])
        if scene.sky is not None:
            camera.frame = scene.upright(t, place)
        radius = self.radius if self.radius is not None else AROUND * actor.size_of(self.link)
        camera.fit(place + radius * np.concatenate([np.eye(3), -np.eye(3)]), size[0] / size[1])
        camera.target, camera.azimuth = place, camera.azimuth + self.turns * (t - since)
        return camera


@dataclass(frozen=True)
class Onboard:
    """A camera on a link: where it stands and looks in the link's frame.

    Parameters
    ----------
    link : its name
    eye : where it stands (3), m, link axes
    toward, up : directions (3) in which it looks, and which is up in the picture, link axes
    fov : angle of view from bottom to top, rad

    >>> Onboard("bus", eye=(0.0, 0.0, 1.0), toward=(1.0, 0.0, 0.2)).fov
    1.0
    """

    link: str
    eye: Any = (0.0, 0.0, 0.0)
    toward: Any = (1.0, 0.0, 0.0)
    up: Any = (0.0, 0.0, 1.0)
    fov: float = 1.0

    def camera(self, scene: Scene, t: float, since: float, size: tuple[int, int]) -> Camera:
        """Return it at a time, s."""
        actor = scene.carrier(self.link)
        T = actor.poses(t)[0, actor.model.link_index(self.link)]
        eye, toward, up = (numbers(what, x, ViewerError) for what, x in (("eye", self.eye), ("toward", self.toward), ("up", self.up)))
        if not all(x.shape == (3,) for x in (eye, toward, up)) or not np.linalg.norm(np.cross(toward, up)) > 0.0:
            raise ViewerError(f"a camera on '{self.link}' looks toward {shown(self.toward)} with {shown(self.up)} up; expected two "
                              "directions (3) that differ, and a place (3)")  # fmt: skip
        x = toward / np.linalg.norm(toward)
        y = np.cross(up, x) / np.linalg.norm(np.cross(up, x))
        reach = max(scene.extent[1], 1e-6) if scene.sky is None else 10.0 * actor.size_of(self.link)
        frame = T[:3, :3] @ np.column_stack([-x, -y, np.cross(x, y)])           # it stands on −x of where it looks
        far = 0.25 * reach
        return Camera(T[:3, :3] @ (eye + far * x) + T[:3, 3], far, 0.0, 0.0, self.fov, radius=0.05 * reach, frame=frame)


View = str | tuple[float, float] | Camera | Follow | Onboard


@dataclass(frozen=True)
class Shot:
    """A shot of a film, ``(t, view)`` or ``(t, view, caption)`` where that is enough.

    Parameters
    ----------
    t : the time of the motion at which it begins, s
    view : "overview", a view along an axis, (azimuth, elevation), a :class:`engine.viewer.Camera`, a :class:`Follow` or :class:`Onboard`
    caption : a line of text meanwhile
    speed : times of the film's own: 0.1 is slow motion
    ease : seconds of film in which the camera moves there from the shot before; 0 is a cut
    inset : another view, small in the upper right corner

    >>> Shot(4.0, "front", "contact", speed=0.1).ease
    1.0
    """

    t: float
    view: View = "overview"
    caption: str = ""
    speed: float = 1.0
    ease: float = 1.0
    inset: View | None = None


class Script:
    """Shots of a scene: which times a film shows, and where its cameras are; ``marks`` are points (n, 3), m, that overviews see besides;
    ``panels`` (left, top, width, height, pixels) they keep clear of.

    Raises
    ------
    ViewerError : there are none, they are no shots, out of order, or begin outside of the motion
    ModelError : there is no such link
    """

    def __init__(self, scene: Scene, shots: Sequence[Any], size: tuple[int, int], rate: float, speed: float,
                 marks: Array | None = None, panels: Sequence[tuple[float, float, float, float]] = ()) -> None:  # fmt: skip
        self.scene, self.size, self.rate, self.marks, self.panels = scene, size, rate, marks, panels
        if not isinstance(shots, (list, tuple)):
            raise ViewerError(f"shots is {shown(shots)}; expected a list such as [(0, 'overview')]")
        self.shots = [shot_of(x) for x in shots]
        if not self.shots:
            raise ViewerError("shots is empty; expected shots such as (0, 'overview'), or no shots")
        start, end = scene.span
        #: whether captions stand below the picture: what goes along sees too little of its robot to be clear of them
        self.below = any(s.caption and isinstance(s.view, (Follow, Onboard)) for s in self.shots)
        times = [s.t for s in self.shots]
        if times != sorted(set(times)):
            raise ViewerError(f"shots begin at {', '.join(f'{t:g}' for t in times)} s; expected each later than the one before")
        if not start <= times[0] + 1e-9 or not times[-1] < end:
            raise ViewerError(f"shots begin at {times[0]:g} … {times[-1]:g} s, and the motion lasts from {start:g} to {end:g} s; "
                              "expected times within")  # fmt: skip
        for shot in self.shots:
            for view in (shot.view, shot.inset):
                if view is not None:
                    self.seen(view, start, start, size, "")                    # what is wrong is said before the film begins
        self.times: list[float] = []                                           # of frames, s
        self.which: list[int] = []                                             # their shots
        self.since: list[float] = []                                           # s of film since these began
        t, k, began = start, 0, 0
        while t <= end + 1e-9:
            while k + 1 < len(self.shots) and t >= self.shots[k + 1].t - 1e-9:
                k, began = k + 1, len(self.times)
            self.times.append(min(t, end))
            self.which.append(k)
            self.since.append((len(self.times) - 1 - began) / rate)
            t += speed * self.shots[k].speed / rate

    def seen(self, view: View, t: float, since: float, size: tuple[int, int], caption: str) -> Camera:
        """Return the camera of a view at a time, s, of a shot that began at another; what is seen whole is clear of a caption."""
        if isinstance(view, (Follow, Onboard)):
            return view.camera(self.scene, t, since, size)
        if isinstance(view, Camera):
            return view
        camera = self.scene.camera(size, None if view == "overview" else view, marks=self.marks)
        if caption and not self.below:
            camera.distance *= ROOM
            camera.pan(0.0, -ABOVE)
        if size == self.size:
            camera.keep_clear(self.scene.points.reshape(-1, 8, 3), size, self.panels)
        return camera

    def camera(self, frame: int) -> Camera:
        """Return the camera of a frame."""
        k, t = self.which[frame], self.times[frame]
        shot = self.shots[k]
        now = self.seen(shot.view, t, shot.t, self.size, shot.caption)
        if k == 0 or self.since[frame] >= shot.ease:
            return now
        s = self.since[frame] / shot.ease
        before = self.shots[k - 1]
        return between(self.seen(before.view, t, before.t, self.size, before.caption), now, s * s * s * (10.0 + s * (6.0 * s - 15.0)))

    def inset(self, frame: int, size: tuple[int, int]) -> Camera | None:
        """Return the camera of the small picture in a frame's, of (width, height) pixels, if there is one."""
        shot = self.shots[self.which[frame]]
        return None if shot.inset is None else self.seen(shot.inset, self.times[frame], shot.t, size, "")


def shot_of(x: Any) -> Shot:
    """Return a shot that is given as one, or as (t, view) or (t, view, caption)."""
    shot = x if isinstance(x, Shot) else Shot(*x) if isinstance(x, tuple) and 2 <= len(x) <= 3 else None
    if shot is None:
        raise ViewerError(f"a shot is {shown(x)}; expected (t, view), (t, view, caption) or an engine.Shot(…)")
    if not isinstance(shot.caption, str):
        raise ViewerError(f"the caption of a shot is {shown(shot.caption)}; expected a text")
    for view in (shot.view, shot.inset):
        if isinstance(view, str) and view not in (*VIEWS, "overview"):
            raise ViewerError(f"a shot's view is {view!r}; expected 'overview', {', '.join(VIEWS)}, (azimuth, elevation), a Camera, "
                              "Follow or Onboard")  # fmt: skip
    number("t of a shot", shot.t, "a time of the motion, s", error=ViewerError)
    number("speed of a shot", shot.speed, "times of the film's own, above zero", above=0.0, error=ViewerError)
    number("ease of a shot", shot.ease, "seconds of film, zero or more", least=0.0, error=ViewerError)
    return shot


def between(a: Camera, b: Camera, s: float) -> Camera:
    """Return the camera a share s of the way from one to another: distances by their ratio, angles the shorter way.

    >>> between(Camera(distance=1.0, azimuth=3.0), Camera(distance=4.0, azimuth=-3.0), 0.5).distance
    2.0
    """
    turn = (b.azimuth - a.azimuth + np.pi) % (2.0 * np.pi) - np.pi
    w = (b.distance / a.distance) ** s
    # what is in the middle moves by as much of the picture at any time
    along = s if abs(np.log(b.distance / a.distance)) < 1e-3 else (w - 1.0) / (b.distance / a.distance - 1.0)
    frame = a.frame @ so3.exp(s * so3.log(a.frame.T @ b.frame))
    floors = [c.floor for c in (a, b) if c.floor is not None]
    return replace(a, target=a.target + along * (b.target - a.target), distance=a.distance * w, azimuth=a.azimuth + s * turn,
                   elevation=(1.0 - s) * a.elevation + s * b.elevation, fov=(1.0 - s) * a.fov + s * b.fov,
                   radius=max(a.radius, b.radius), floor=floors[0] if floors else None, frame=frame, anchor=None)  # fmt: skip
