"""Pictures and films without a window: the same pixels with a display and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.viewer import film
from engine.viewer.camera import VIEWS, Camera
from engine.viewer.marks import Shown, mark
from engine.viewer.scene import Scene, ViewerError

Array = np.ndarray


def render(source: Any, path: str | Path | None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: str | tuple[float, float] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False) -> Any:  # fmt: skip
    """A picture or a film of robots, drawn off screen; returns the path, or without one the picture (h, w, 3), uint8.

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
    environment, geometry : see :class:`engine.viewer.scene.Scene`

    Raises
    ------
    ViewerError : the path cannot be written (known before anything is drawn), there is no OpenGL, or the motion is not finite
    """
    moving = path is not None and (Path(path).suffix.lower() != ".png" or "%" in Path(path).name or Path(path).is_dir())
    if path is not None:
        film.checked(path, size, fps)
    if not 0 < speed < np.inf:
        raise ViewerError(f"speed is {speed!r}; expected seconds of motion in a second of film, above zero")
    scene = source if isinstance(source, Scene) else Scene(source, environment, geometry)
    times = film_times(scene.span, fps / speed) if moving else [scene.span[1] if t is None else t]
    camera = camera or placed(scene, size, view, None if follow is None else scene.drawing(times[0]).corners())
    if follow is not None:
        scene.carrier(follow)
    frames = pictures(scene, times, camera, size, follow, shown or Shown(), (0 if moving else 4) if samples is None else samples)
    if path is None:
        return next(frames)
    return film.write(path, frames, size, fps, len(times), progress)


def film_times(span: tuple[float, float], rate: float) -> Array:
    """Times of the frames of a film, s: from the first time on, ``rate`` to the second of motion."""
    return span[0] + np.arange(max(int((span[1] - span[0]) * rate + 1e-9) + 1, 1)) / rate


def placed(scene: Scene, size: tuple[int, int], view: str | tuple[float, float] | None = None, points: Any = None) -> Camera:
    """A camera that sees points (n, 3), m; the whole motion by default."""
    camera = Camera()
    if isinstance(view, str):
        if view not in VIEWS:
            raise ViewerError(f"view {view!r} is not known; expected one of {', '.join(VIEWS)}, or (azimuth, elevation)")
        camera.look(view)
    elif view is not None:
        camera.azimuth, camera.elevation = (float(a) for a in view)
    camera.fit(scene.points if points is None else points, size[0] / size[1])
    return camera


def pictures(scene: Scene, times: Any, camera: Camera, size: tuple[int, int], follow: str | None, shown: Shown,
             samples: int) -> Iterator[Array]:  # fmt: skip
    """Pictures (h, w, 3) at times; the camera goes along with a link, if one is named."""
    from engine.viewer.context import open_window

    window = open_window(visible=False, width=16, height=16)
    from engine.viewer.renderer import Renderer

    try:
        renderer = Renderer(samples)
        for t in times:
            if follow is not None:
                camera.along(scene.place(follow, t))
            renderer.draw(mark(scene, t, shown), camera, size)
            yield renderer.pixels()
            window.switch_to()
    finally:
        window.close()


def save(path: str | Path, picture: Array) -> None:
    """Write a picture (h, w, 3), uint8, as PNG."""
    film.write(path, [picture], (picture.shape[1], picture.shape[0]))
