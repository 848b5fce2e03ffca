"""Pictures and films without a window: the same pixels with a display and without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from engine.checks import number, one_of, path_of, whole
from engine.checks import shown as shown_as
from engine.viewer.display.facts import BARS, PLACES, Facts, decimals
from engine.viewer.display.hud import Hud, plots_in
from engine.viewer.display.readings import Readings
from engine.viewer.display.style import GAP, TEXT
from engine.viewer.draw.canvas import Box, Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.panes import Panes, Place, keep_clear, places
from engine.viewer.draw.renderer import Renderer
from engine.viewer.draw.wording import INDENT
from engine.viewer.files.film import STILLS, checked, require_size, write
from engine.viewer.scene.camera import VIEWS, Camera
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.light import GROUNDS
from engine.viewer.scene.marks import mark, reach
from engine.viewer.scene.scene import Scene, scene_of
from engine.viewer.scene.shots import Script
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.within import tell_within

Array = np.ndarray
View = str | tuple[float, float]
#: heights of a picture, px, from which on text and lines grow with it, and below which they shrink, to what can just be read
TALL, LOW, READABLE = 600, 480, 0.75
#: of a picture's sides, those of a small one in it
INSET, RIM = 0.3, (1.0, 1.0, 1.0, 0.55)
#: pixels of a view among several, at least; of a film that is small, at most
LEAST, SMALL = 16, 640 * 400
#: what captions stand on below a picture
STRIP = (0.02, 0.02, 0.025, 1.0)
#: a film's speed, below which it is said as a fraction
SLOW = 0.1


@overload
def render(source: Any, path: None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str | Sequence[str]] = (), shots: Sequence[Any] = (),
           bars: Sequence[str] = (), plots: str = "right") -> NDArray[np.uint8]: ...  # fmt: skip
@overload
def render(source: Any, path: str | Path, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str | Sequence[str]] = (), shots: Sequence[Any] = (),
           bars: Sequence[str] = (), plots: str = "right") -> Path: ...  # fmt: skip
def render(source: Any, path: str | Path | None = None, t: float | None = None, size: tuple[int, int] = (1280, 720), fps: float = 30.0,
           speed: float = 1.0, view: View | list[View] | None = None, camera: Camera | None = None, follow: str | None = None,
           environment: str | Path | None = None, geometry: str = "visual", shown: Shown | None = None, samples: int | None = None,
           progress: bool = False, caption: str = "", clock: bool = False,
           signals: Sequence[str | Sequence[str]] = (), shots: Sequence[Any] = (),
           bars: Sequence[str] = (), plots: str = "right") -> NDArray[np.uint8] | Path:  # fmt: skip
    """Draw a picture or a film of robots, off screen; return the path, or without one the picture (h, w, 3), uint8.

    Parameters
    ----------
    source : a model, a trajectory (of a batch all rollouts are drawn together), an actor, a list of them, or a scene
    path : "name.png" (or .jpg, .webp) for a picture, "name.mp4", "name.gif" or "frames/%04d.png" for a film of the whole motion
    t : the time of a picture, s; the last by default
    size : (width, height), pixels
    fps : of a film; speed : seconds of motion in a second of film
    view : "front", "back", "left", "right", "top", "bottom", or (azimuth, elevation) of the camera, rad, seen from the robot; a list of
        them is drawn side by side
    camera : a camera of your own, instead of one that shows the whole motion
    follow : a link that the camera goes along with
    shown : what is drawn besides the robots: frames, arrows, trails, …
    samples : of a pixel: 4 smooth the edges (pictures, and films of up to 640 × 400 pixels), 0 do it afterwards, three times as fast
        (larger films)
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`
    caption : a line of text at the bottom, instead of the name of the phase that a motion is in (:class:`engine.Phases`)
    clock : whether the time is shown, s; in a film that is not in real time it is, with its speed
    shots : of a film, a script for its camera: (t, view), (t, view, caption) or :class:`engine.Shot`, one after another; captions stand
        below its picture if one is of a view that goes along with a link
    signals : names of what is plotted at the side: signals of the motion, or entries of q, v or tau, such as "q.elbow"; several in a
        tuple are curves of one plot, and events are lines
    plots : where these are: "right", "left", "lower right" or "lower left"
    bars : "energy" (kinetic, potential) and "momentum" (angular, of the base and the rest), side by side

    Raises
    ------
    ViewerError : the path cannot be written (known before anything is drawn), there is no OpenGL, or the motion is not finite

    >>> import engine
    >>> engine.render(engine.load_urdf(engine.example("free_flyer")), size=(64, 48), samples=0).shape
    (48, 64, 3)
    """
    file = None if path is None else path_of(path, ViewerError)
    moving = file is not None and (file.suffix.lower() not in STILLS or "%" in file.name or file.is_dir())
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
    if samples is not None and whole("samples", samples, "a whole number from 0 to 16", 0, ViewerError) > 16:
        raise ViewerError(f"samples is {samples}; expected a whole number from 0 to 16")
    if not isinstance(caption, str):
        raise ViewerError(f"caption is {shown_as(caption)}; expected a text")
    number("speed", speed, "seconds of motion in a second of film, above zero", above=0, error=ViewerError)
    scene = scene_of(source, environment, geometry)
    times = film_times(scene.span, fps / speed) if moving else [moment(scene, t)]
    if moving and t is not None:
        raise ViewerError(f"t is given for '{path}', a film of the whole motion; expected a picture ({', '.join(STILLS)}), or no t")
    marks = reach(scene, shown) if shown and follow is None and not camera else None
    cameras = [own(camera, scene)] if camera else seen_from(scene, view, size, None if follow is None else times[0], follow, marks,
                                                               None if moving else times[0])  # fmt: skip
    told = Told(scene, caption, clock, signals, size, len(cameras), speed if moving else 1.0, bars, plots)
    panels, bodies = told.panels(size, times[0]), scene.points.reshape(-1, 8, 3)
    if camera is None and follow is None:
        keep_clear(cameras, size, bodies, panels)
    if shots and (not moving or camera or view is not None or follow is not None):
        beside = "a camera, a view or follow" if moving else "a single picture"
        raise ViewerError(f"shots are given beside {beside}; expected a film (.mp4, .gif) whose camera they say all of")
    script = Script(scene, shots, size, fps, speed, marks, panels) if shots else None
    if script is not None:
        times = np.array(script.times)
        if script.below:
            script.size = size[0], size[1] - told.strip([shot.caption for shot in script.shots], size, times[0])
    if camera and view is not None:
        raise ViewerError("camera and view are both given; expected one of them")
    told.clock |= moving and (speed != 1.0 or (script is not None and any(s.speed != 1.0 for s in script.shots)))
    frames = pictures(scene, times, cameras, size, follow, shown or Shown(), usual(moving, size) if samples is None else samples, told,
                      script)  # fmt: skip
    if path is None:
        return next(frames)
    return write(path, frames, size, fps, len(times), progress)


def usual(moving: bool, size: tuple[int, int]) -> int:
    """Return the samples of a pixel where nobody says how many: in a small film what is thin flickers without them.

    >>> usual(True, (1280, 720)), usual(True, (640, 360)), usual(False, (1280, 720))
    (0, 4, 4)
    """
    return 0 if moving and size[0] * size[1] > SMALL else 4


def own(camera: Camera, scene: Scene) -> Camera:
    """Return a camera of the user's that sees as much of the scene's ground and of what moves as one of the scene's does."""
    middle, radius = scene.extent
    reach = float(np.linalg.norm(middle - camera.target)) + radius
    return replace(camera, radius=max(camera.radius, min(reach, 1e3 * camera.distance)),
                   floor=scene.floor if scene.environment in GROUNDS and camera.floor is None else camera.floor)  # fmt: skip


def moment(scene: Scene, t: float | None) -> float:
    """Return the time of a picture, s: the last one, if none is asked for."""
    start, end = scene.span
    if t is not None and end > start and not start <= t <= end:
        raise ViewerError(f"t is {t:g} s, and the motion lasts from {start:g} to {end:g} s; expected a time within")
    return end if t is None else t


def seen_from(scene: Scene, view: View | list[View] | None, size: tuple[int, int], t: float | None, follow: str | None,
              marks: Array | None = None, when: float | None = None) -> list[Camera]:  # fmt: skip
    """Return a camera for each view, in a picture of (width, height) pixels."""
    views: list[View | None] = [*view] if isinstance(view, list) else [view]
    cells = places(len(views), size) if views else []
    if not views or min(min(w, h) for _, _, w, h in cells) < LEAST:
        raise ViewerError(f"{len(views)} views in {size[0]}×{size[1]} pixels; expected at least one, of {LEAST} pixels or more each way")
    return [scene.camera((w, h), v, t, follow, marks, when) for v, (_, _, w, h) in zip(views, cells, strict=True)]


def film_times(span: tuple[float, float], rate: float) -> Array:
    """Return the times of the frames of a film, s: from the first time on, ``rate`` to the second of motion."""
    return span[0] + np.arange(max(int((span[1] - span[0]) * rate + 1e-9) + 1, 1)) / rate


def text_scale(height: int) -> float:
    """Return how many pixels of a picture of a height a pixel of text takes.

    >>> [text_scale(height) for height in (1200, 720, 600, 240)]
    [2.0, 1.2, 1.0, 0.75]
    """
    return max(height / TALL, min(1.0, height / LOW), READABLE)


class Told:
    """Tells over a picture what is asked for: a caption, the time, and plots of signals."""

    def __init__(self, scene: Scene, caption: str, clock: bool, signals: Sequence[str | Sequence[str]], size: tuple[int, int],
                 views: int = 1, speed: float = 1.0, bars: Sequence[str] = (), plots: str = "right") -> None:  # fmt: skip
        left, _, wide, _ = places(views, size)[-1]
        self.within = (left / text_scale(size[1]), wide / text_scale(size[1])) if views > 1 else None
        self.pace, self.speed = pace(speed), speed
        self.caption, self.clock, self.signals = caption, clock, signals
        self.where = one_of("plots", plots, PLACES, ViewerError)
        self.bars = [one_of("bars", kind, BARS, ViewerError) for kind in bars]
        self.readings = Readings(scene.actors[0], 0, signals)
        if len(signals) > (room := plots_in(size[1] / text_scale(size[1]))):
            raise ViewerError(f"{len(signals)} signals are to be plotted in a picture of {size[1]} pixels' height; expected at most {room}")
        self.alone = scene.robots < 2
        self.title = self.readings.title if signals and not self.alone else ""      # whose the plots are
        self.hud = Hud()
        self.digits = decimals(scene.span[1] - scene.span[0])

    def panels(self, size: tuple[int, int], t: float) -> list[Box]:
        """Return what lies over a picture of (width, height) pixels at its sides: left, top, width, height, pixels."""
        scale = text_scale(size[1])
        self.draw(Canvas(scale), (size[0] / scale, size[1] / scale), t, ())
        return self.hud.panels(scale)

    def strip(self, captions: Sequence[str], size: tuple[int, int], t: float) -> int:
        """Return how many pixels of a picture of (width, height) pixels captions take at its bottom."""
        scale, top = text_scale(size[1]), float(size[1])
        for self.caption in captions:
            self.panels(size, t)
            top = min(top, scale * self.hud.boxes.get("toast", (0.0, top))[1])
        return int(size[1] - top + scale * GAP)

    def draw(self, canvas: Canvas, size: tuple[float, float], t: float, legend: Sequence[tuple[str, Any]]) -> float:
        """Draw on a canvas of (width, height) px what holds at a time, s; return how far above the bottom a legend is seen whole, px."""
        phase = self.readings.phase(t) if self.alone else ""
        lines = [(f"time {self.pace}".strip(), f"{t:.{self.digits}f} s")] if self.clock else []
        self.hud.draw(canvas, size, Facts(self.title, lines, t=t, plots=self.readings.grouped(t), where=self.where,
                                          bars=self.readings.bars(self.bars, t) if self.bars else (), caption=self.caption or phase,
                                          within=self.within))  # fmt: skip
        left, top, *_ = self.hud.boxes.get("toast", (size[0], size[1], 0.0, 0.0))
        reach = max((INDENT + canvas.width(text, TEXT) for text, _ in legend), default=0.0)
        if self.signals and self.where == "lower left":
            return size[1] - self.hud.boxes["plots"][1]
        return size[1] - top if reach + GAP > left else 0.0


def pace(speed: float) -> str:
    """Return how fast a film goes, in words, if not in real time.

    >>> pace(8.0), pace(0.25), pace(1 / 800), pace(1e3), pace(1.0)
    ('×8', '×0.25', '×1/800', '×1000', '')
    """
    if abs(speed - 1.0) < 1e-9:
        return ""
    return f"×{said(speed)}" if speed >= SLOW else f"×1/{said(1.0 / speed)}"


def said(times: float) -> str:
    """Return a number of times, of three digits at least."""
    return f"{times:.3g}" if times < 999.5 else f"{times:.0f}"


def staged(script: Script, frame: int, size: tuple[int, int]) -> tuple[list[Camera], list[Place]]:
    """Return the cameras of a frame, and where they are seen in a picture of (width, height) pixels."""
    w, h = int(INSET * size[0]), int(INSET * size[1])
    small, gap = script.inset(frame, (w, h)), int(0.02 * size[1])
    if small is None:
        return [script.camera(frame)], [(0, 0, *script.size)] if script.size != size else []
    return [script.camera(frame), small], [(0, 0, *script.size), (size[0] - w - gap, gap, w, h)]


def pictures(scene: Scene, times: Any, cameras: Sequence[Camera], size: tuple[int, int], follow: str | None, shown: Shown, samples: int,
             told: Told, script: Script | None = None) -> Iterator[Array]:  # fmt: skip
    """Draw pictures (h, w, 3) at times, one after another; the cameras go along with a link, if one is named, or are a script's."""
    window = open_window(visible=False, width=16, height=16)
    try:
        panes = Panes(renderer := Renderer(samples, scale := text_scale(size[1]), occlusion=True))
        told_of: set[str] = set()
        looked = {0} if script is None else {0, *np.flatnonzero(np.diff([*script.which, -1])).tolist()}     # ends of shots: eased into
        for frame, t in enumerate(times):
            cells: list[Place] = []
            if script is not None:
                cameras, cells = staged(script, frame, size)
                told.caption = script.shots[script.which[frame]].caption
                told.pace = pace(script.shots[script.which[frame]].speed * told.speed)
            if follow is not None:
                for camera in cameras:
                    scene.go_along(camera, follow, t)
            drawing, canvas = mark(scene, t, shown), Canvas(scale)
            if frame in looked:
                for camera in cameras:
                    tell_within(scene, drawing, camera.eye, t, told_of)
            strip = 0.0 if script is None else (size[1] - script.size[1]) / scale
            canvas.rect(0.0, size[1] / scale - strip, size[0] / scale, strip, STRIP)
            renderer.foot = max(told.draw(canvas, (size[0] / scale, size[1] / scale), t, drawing.legend) - strip, 0.0)
            panes.draw(drawing, cameras, size, cells)
            for x, y, w, h in cells[1:]:
                canvas.rect(x / scale - 1.0, y / scale - 1.0, w / scale + 2.0, h / scale + 2.0, RIM, 3.0, outline=1.5)
            panes.overlay(canvas)
            yield panes.pixels()
            window.switch_to()
    finally:
        window.close()
