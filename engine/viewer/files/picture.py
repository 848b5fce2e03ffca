"""Pictures and films without a window: the same pixels with a display and without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from engine.checks import number, path_of
from engine.checks import shown as shown_as
from engine.viewer.display.facts import Facts, decimals
from engine.viewer.display.hud import Hud
from engine.viewer.display.readings import Readings
from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.panes import Panes, places
from engine.viewer.draw.renderer import Renderer
from engine.viewer.files.film import checked, require_size, write
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import mark
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown

Array = np.ndarray
View = str | tuple[float, float]
#: height of a picture, px, from which on text and lines grow with it
TALL = 900


@overload
def render(source: Any, path: None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str] = ()) -> NDArray[np.uint8]: ...  # fmt: skip
@overload
def render(source: Any, path: str | Path, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str] = ()) -> Path: ...  # fmt: skip
def render(source: Any, path: str | Path | None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str] = ()) -> NDArray[np.uint8] | Path:  # fmt: skip
    """Draw a picture or a film of robots, off screen; return the path, or without one the picture (h, w, 3), uint8.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are drawn together), an actor, a list of them, or a scene
    path : "name.png" for a picture, "name.mp4", "name.gif" or "frames/%04d.png" for a film of the whole motion
    t : the time of a picture, s; the last by default
    size : (width, height), pixels
    fps : of a film; speed : seconds of motion in a second of film
    view : "front", "back", "left", "right", "top", "bottom", or (azimuth, elevation) of the camera, rad, seen from the robot; a list of
        them is drawn side by side
    camera : a camera of your own, instead of one that shows the whole motion
    follow : a link that the camera goes along with
    shown : what is drawn besides the robots: frames, arrows, trails, …
    samples : of a pixel: 4 smooth the edges (pictures), 0 do it afterwards, three times as fast (films)
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`
    caption : a line of text at the bottom; clock : whether the time is shown, s
    signals : names of what is plotted at the side: signals of the motion, or entries of q, v or tau, such as "q.elbow"

    Raises
    ------
    ViewerError : the path cannot be written (known before anything is drawn), there is no OpenGL, or the motion is not finite
    """
    file = None if path is None else path_of(path, ViewerError)
    moving = file is not None and (file.suffix.lower() != ".png" or "%" in file.name or file.is_dir())
    if path is not None:
        checked(path, size, fps)
    else:
        require_size(size)
    if t is not None:
        t = number("t", t, "a time of the motion, s", error=ViewerError)
    if camera is not None and not isinstance(camera, Camera):
        raise ViewerError(f"camera is {shown_as(camera)}; expected a Camera, or view={shown_as(camera)} for one of {', '.join(VIEWS)}")
    if shown is not None and not isinstance(shown, Shown):
        raise ViewerError(f"shown is {shown_as(shown)}; expected a Shown, such as Shown(centers=True)")
    number("speed", speed, "seconds of motion in a second of film, above zero", above=0, error=ViewerError)
    scene = source if isinstance(source, Scene) else Scene(source, environment, geometry)
    times = film_times(scene.span, fps / speed) if moving else [scene.span[1] if t is None else t]
    views: list[View | None] = [*view] if isinstance(view, list) and view else [None if isinstance(view, list) else view]
    if camera is not None and len(views) > 1:
        raise ViewerError(f"camera and {len(views)} views are given; expected one of them")
    cells, begun = places(len(views), size), None if follow is None else times[0]
    cameras = [camera] if camera else [scene.camera((w, h), v, begun, follow) for v, (_, _, w, h) in zip(views, cells, strict=True)]
    told = Told(scene, caption, clock, signals)
    frames = pictures(scene, times, cameras, size, follow, shown or Shown(), (0 if moving else 4) if samples is None else samples, told)
    if path is None:
        return next(frames)
    return write(path, frames, size, fps, len(times), progress)


def film_times(span: tuple[float, float], rate: float) -> Array:
    """Return the times of the frames of a film, s: from the first time on, ``rate`` to the second of motion."""
    return span[0] + np.arange(max(int((span[1] - span[0]) * rate + 1e-9) + 1, 1)) / rate


class Told:
    """Tells over a picture what is asked for: a caption, the time, and plots of signals."""

    def __init__(self, scene: Scene, caption: str, clock: bool, signals: Sequence[str]) -> None:
        self.caption, self.clock, self.signals = caption, clock, signals
        self.readings = Readings(scene.actors[0], 0, signals)
        self.digits = decimals(scene.span[1] - scene.span[0])

    def draw(self, canvas: Canvas, size: tuple[float, float], t: float) -> None:
        """Draw on a canvas of (width, height) px what holds at a time, s."""
        lines = [("time", f"{t:.{self.digits}f} s")] if self.clock else []
        Hud().draw(canvas, size, Facts(lines=lines, t=t, plots=self.readings.plots(t)[: len(self.signals)], caption=self.caption))


def pictures(scene: Scene, times: Any, cameras: Sequence[Camera], size: tuple[int, int], follow: str | None, shown: Shown, samples: int,
             told: Told) -> Iterator[Array]:  # fmt: skip
    """Draw pictures (h, w, 3) at times, one after another; the cameras go along with a link, if one is named."""
    window = open_window(visible=False, width=16, height=16)
    try:
        panes = Panes(Renderer(samples, scale := max(1.0, size[1] / TALL), creases=True))
        for t in times:
            if follow is not None:
                for camera in cameras:
                    camera.along(scene.place(follow, t))
            panes.draw(mark(scene, t, shown), cameras, size)
            canvas = Canvas(scale)
            told.draw(canvas, (size[0] / scale, size[1] / scale), t)
            panes.overlay(canvas)
            yield panes.pixels()
            window.switch_to()
    finally:
        window.close()
