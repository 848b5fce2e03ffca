"""Pictures and films without a window: the same pixels with a display and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from engine.checks import number, path_of
from engine.checks import shown as shown_as
from engine.viewer.draw.context import open_window
from engine.viewer.draw.renderer import Renderer
from engine.viewer.files.film import checked, write
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import mark
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.shown import Shown

Array = np.ndarray
#: height of a picture, px, from which on text and lines grow with it
TALL = 900


@overload
def render(source: Any, path: None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: str | tuple[float, float] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False) -> NDArray[np.uint8]: ...  # fmt: skip
@overload
def render(source: Any, path: str | Path, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: str | tuple[float, float] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False) -> Path: ...  # fmt: skip
def render(source: Any, path: str | Path | None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: str | tuple[float, float] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False) -> NDArray[np.uint8] | Path:  # fmt: skip
    """Draw a picture or a film of robots, off screen; return the path, or without one the picture (h, w, 3), uint8.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are drawn together), an actor, a list of them, or a scene
    path : "name.png" for a picture, "name.mp4", "name.gif" or "frames/%04d.png" for a film of the whole motion
    t : the time of a picture, s; the last by default
    size : (width, height), pixels
    fps : of a film; speed : seconds of motion in a second of film
    view : "front", "back", "left", "right", "top", "bottom", or (azimuth, elevation) of the camera, rad, seen from the robot
    camera : a camera of your own, instead of one that shows the whole motion
    follow : a link that the camera goes along with
    shown : what is drawn besides the robots: frames, arrows, trails, …
    samples : of a pixel: 4 smooth the edges (pictures), 0 do it afterwards, three times as fast (films)
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`

    Raises
    ------
    ViewerError : the path cannot be written (known before anything is drawn), there is no OpenGL, or the motion is not finite
    """
    file = None if path is None else path_of(path, ViewerError)
    moving = file is not None and (file.suffix.lower() != ".png" or "%" in file.name or file.is_dir())
    if path is not None:
        checked(path, size, fps)
    elif not (isinstance(size, (tuple, list)) and len(size) == 2 and all(isinstance(n, (int, np.integer)) and n > 0 for n in size)):
        raise ViewerError(f"size is {shown_as(size)}; expected (width, height), whole numbers of pixels above zero")
    if t is not None:
        t = number("t", t, "a time of the motion, s", error=ViewerError)
    if camera is not None and not isinstance(camera, Camera):
        raise ViewerError(f"camera is {shown_as(camera)}; expected a Camera, or view={shown_as(camera)} for one of {', '.join(VIEWS)}")
    if shown is not None and not isinstance(shown, Shown):
        raise ViewerError(f"shown is {shown_as(shown)}; expected a Shown, such as Shown(centers=True)")
    number("speed", speed, "seconds of motion in a second of film, above zero", above=0, error=ViewerError)
    scene = source if isinstance(source, Scene) else Scene(source, environment, geometry)
    times = film_times(scene.span, fps / speed) if moving else [scene.span[1] if t is None else t]
    camera = camera or scene.camera(size, view, None if follow is None else times[0], follow)
    frames = pictures(scene, times, camera, size, follow, shown or Shown(), (0 if moving else 4) if samples is None else samples)
    if path is None:
        return next(frames)
    return write(path, frames, size, fps, len(times), progress)


def film_times(span: tuple[float, float], rate: float) -> Array:
    """Return the times of the frames of a film, s: from the first time on, ``rate`` to the second of motion."""
    return span[0] + np.arange(max(int((span[1] - span[0]) * rate + 1e-9) + 1, 1)) / rate


def pictures(scene: Scene, times: Any, camera: Camera, size: tuple[int, int], follow: str | None, shown: Shown,
             samples: int) -> Iterator[Array]:  # fmt: skip
    """Draw pictures (h, w, 3) at times, one after another; the camera goes along with a link, if one is named."""
    window = open_window(visible=False, width=16, height=16)
    try:
        renderer = Renderer(samples, max(1.0, size[1] / TALL), creases=True)
        for t in times:
            if follow is not None:
                camera.along(scene.place(follow, t))
            renderer.draw(mark(scene, t, shown), camera, size)
            yield renderer.pixels()
            window.switch_to()
    finally:
        window.close()
