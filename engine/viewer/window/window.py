"""A window to look at robots, play what they did, and take hold of what they do."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import EngineError, one_of
from engine.io import load_urdf
from engine.simulation import Live, load_trajectory
from engine.viewer.display.facts import PLACES, Facts, figure
from engine.viewer.display.hud import Hud
from engine.viewer.display.readings import Readings
from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.panes import Panes, Place, places, show_all
from engine.viewer.draw.renderer import Renderer
from engine.viewer.files.film import require_size, write
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import banded, mark, measured, without
from engine.viewer.scene.orbit_marks import said_of_none
from engine.viewer.scene.scene import ENVIRONMENTS, Scene, scene_of
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.sources import Still
from engine.viewer.window.clock import Clock
from engine.viewer.window.gizmo import Gizmo
from engine.viewer.window.greeting import greet
from engine.viewer.window.grip import Grip
from engine.viewer.window.hands import Hands
from engine.viewer.window.keys import help_rows
from engine.viewer.window.playback import Playback
from engine.viewer.window.recording import Recording
from engine.viewer.window.tabs import Tabs

Array = np.ndarray
Pixel = tuple[int, int]
#: s that a message stays
TOAST = 2.5
#: rad/s that the arrow keys turn the camera by, where other keys belong to a pilot
SWEEP = 1.5
#: what is beside the first of four views
BESIDE = ("front", "left", "top")
RECORDED = (".h5", ".hdf5")


class Viewer:
    """A window on a scene. :func:`view` opens one and waits until it is closed; a program may draw frames of it by itself.

    Parameters
    ----------
    source : a model, a trajectory, a :class:`Live` simulation, an actor, a list of them, or a scene
    size : (width, height), pixels; title : of the window
    keys : a pilot: called in every frame with the names of the keys that are held, and of the one pressed since the last frame (or None);
        all keys are then the pilot's but H, Tab, Escape and the arrows, which turn the camera; H shows its ``keys``, meanings by names
    view, environment, geometry, follow : as of :func:`engine.render`
    shown : what is shown besides the robots, a :class:`Shown`
    signals, plots : names of what is read and plotted besides, and where plots stand, as of :func:`engine.render`

    Raises
    ------
    ViewerError : there is no display or no OpenGL, or nothing to show

    >>> Viewer(engine.load("robot.urdf"), size=(1280, 800)).run()                   # doctest: +SKIP
    """

    def __init__(self, source: Any, size: tuple[int, int] = (1280, 800), keys: Callable[[frozenset[str], str | None], Any] | None = None,
                 view: str | tuple[float, float] | None = None, environment: str | None = None, geometry: str = "visual",
                 follow: str | None = None, shown: Shown | None = None, signals: Sequence[str | Sequence[str]] = (),
                 title: str | None = None, plots: str = "right") -> None:  # fmt: skip
        require_size(size)
        scene = scene_of(source, environment, geometry)
        camera, readings, self.signals = scene.camera(size, view, follow=follow), Readings(scene.actors[0], 0, signals), signals
        self.where = one_of("plots", plots, PLACES, ViewerError)
        self.pilot, self.geometry, self.followed, self.shown = keys, geometry, follow, shown or Shown()
        self.title, self.toast, self.helping, self.display, self.closed = title, "", False, True, False
        self.window = open_window(True, width=size[0], height=size[1], caption=title or named(scene), resizable=True, file_drops=True)
        greet(self.window)
        self.renderer, self.hud = Renderer(scale=self.window.get_framebuffer_size()[0] / size[0]), Hud()
        self.renderer.foot = 64.0                                              # the timeline's
        self.panes, self.tabs, self.hands = Panes(self.renderer), Tabs(self), Hands(self)
        self.recording: Recording | None = None
        self._now, self._period, self._toasted = time.perf_counter(), 1 / 60, -np.inf
        self._begin(scene, camera, readings)
        self.window.push_handlers(self.hands)

    def _begin(self, scene: Scene, camera: Camera, readings: Readings) -> None:
        """Show a scene from its beginning."""
        self.scene, self.cameras, self.readings, self.clock = scene, [camera], readings, Clock(scene)
        self.picked: tuple[Actor, int, str] | None = None
        self.measuring, self.measured = False, list[tuple[Actor, int, int, Array]]()
        self.grip: Grip | None = None

    @property
    def camera(self) -> Camera:
        """The camera of the window, or of the first of several views."""
        return self.cameras[0]

    @property
    def playback(self) -> Playback:
        """The clock of a motion."""
        return self.clock.playback

    @property
    def live(self) -> Live | None:
        """The simulation that runs, if one does."""
        return self.clock.live

    @property
    def t(self) -> float:
        """The time that is shown, s."""
        return self.clock.t

    # ------------------------------------------------------------ frames

    def run(self) -> None:
        """Draw frames until the window is closed."""
        self.say("H shows the keys")
        try:
            while not self.closed:
                started = time.perf_counter()
                self.frame()
                time.sleep(max(0.0, 1 / 60 - (time.perf_counter() - started)))
        finally:
            self.close()

    def frame(self) -> None:
        """Take what the keyboard and the mouse did, and draw one picture."""
        now = time.perf_counter()
        elapsed, self._now = now - self._now, now
        self._period += 0.1 * (elapsed - self._period)
        self.window.switch_to()
        self.window.dispatch_events()
        if self.closed:
            return
        self._fly(elapsed)
        self.clock.advance(elapsed)
        drawing = self.drawing()
        if self.followed is not None:
            for camera in self.cameras:
                self.scene.go_along(camera, self.followed, self.t)
        width, height = size = self.window.get_framebuffer_size()
        if min(width, height) < 8 * len(self.cameras):
            return
        self.panes.draw(drawing, self.cameras, size)
        if self.recording is not None:
            self.recording.follow()
            if self.recording.due > 0:
                self.recording.add(self.panes.pixels())
            if self.recording.error:
                self.record()
        self.panes.overlay(self._canvas(size))
        self.panes.picture.copy_to(0)
        self.window.flip()

    def _canvas(self, size: Pixel) -> Canvas:
        """Return the canvas that lies flat on the picture."""
        scale = size[0] / self.window.get_size()[0]
        canvas = Canvas(scale)
        if self.display or self.helping:
            self.hud.draw(canvas, (size[0] / scale, size[1] / scale), self.facts())
        return canvas

    def facts(self) -> Facts:
        """Return what the display says."""
        live, clock, t = self.live, self.clock, self.t
        alone = len(self.cameras) == 1                                          # beside others there is no room
        lines = [*self.readings.lines(t), ("", ""), ("pictures", f"{1 / self._period:.0f} /s")] if alone else []
        lines += [("rate", f"{live.rate:.2f} of real time")] if live is not None else []
        lines += [("records", self.recording.path.name)] if self.recording is not None else []
        if len(self.measured) == 2:
            ends = [self._placed(*spot) for spot in self.measured]
            lines.append(("measured", f"{figure(float(np.linalg.norm(ends[1] - ends[0])))} m"))
        card = None if self.picked is None else self.readings.card(self.picked[2], t)
        return Facts(
            title=(self.title or self.readings.title) if alone else "", lines=lines, span=clock.playback.span, t=t, playing=clock.playing,
            speed=clock.playback.speed * clock.playback.direction, loop=clock.playback.loop, live=clock.runs,
            plots=self.readings.grouped(t, standard=True) if alone else (), where=self.where, events=self.readings.events,
            help=help_rows(self.pilot) if self.helping else (), card=card, panel=self.tabs.panel(self.hands.typed),
            toast=self.toast if time.perf_counter() - self._toasted < TOAST else "",
            error=(live.error or "") if live is not None else "", mouse=self.hands.mouse,
        )  # fmt: skip

    def drawing(self) -> Drawing:
        """Return the drawing that is shown now."""
        drawing = mark(self.scene, self.t, self.shown, self.picked)
        if (gizmo := self._gizmo(self.camera)) is not None:
            drawing = gizmo.onto(drawing, None if self.grip is None or self.grip.hold is None else self.grip.hold[0])
        if self.measured:
            drawing = measured(drawing, [self._placed(*spot) for spot in self.measured])
        pulled = None if self.grip is None else self.grip.band(self.t)
        return drawing if pulled is None else banded(drawing, *pulled)

    def picture(self) -> Array:
        """Return the picture that is shown (h, w, 3), uint8, with the display."""
        return self.panes.pixels()

    def close(self) -> None:
        """Close the window, and end a recording and a live simulation."""
        if not self.closed or self.window.context is not None:
            self.closed = True
            if self.recording is not None:
                self.record()
            self.window.switch_to()
            self.panes.delete()
            self.renderer.delete()
            self.window.close()
        if self.live is not None:
            self.live.close()

    def _fly(self, elapsed: float) -> None:
        if self.pilot is None:
            return
        held = self.hands.held
        right, up = ("RIGHT" in held) - ("LEFT" in held), ("UP" in held) - ("DOWN" in held)
        self.camera.orbit(-SWEEP * elapsed * right, -SWEEP * elapsed * up)
        pressed, self.hands.pressed = self.hands.pressed, None
        self.pilot(frozenset(held), pressed)

    # ------------------------------------------------------------ views

    def _places(self) -> list[Place]:
        """Return where the views are, px of the framebuffer."""
        return places(len(self.cameras), self.window.get_framebuffer_size())

    def seeing(self, at: Pixel) -> tuple[Camera, Pixel, Pixel]:
        """Return the camera whose view a pixel lies in, the pixel in that view, and the view's size."""
        for camera, (x, y, w, h) in zip(self.cameras, self._places(), strict=True):
            if x <= at[0] < x + w and y <= at[1] < y + h:
                return camera, (at[0] - x, at[1] - y), (w, h)
        return self.camera, at, self._places()[0][2:]

    def fit(self) -> None:
        """Show everything, clear of the display."""
        bodies, size = self.scene.drawing(self.t).corners().reshape(-1, 8, 3), self.window.get_framebuffer_size()
        panels = self.hud.panels(self._canvas(size).scale) if self.display else []
        show_all(self.cameras, size, bodies, panels)

    def look(self, view: str) -> None:
        """Look along an axis."""
        self.camera.look(view)

    def four_views(self) -> None:
        """Show the robot from the front, the left and above too, or no more."""
        beside = [replace(self.camera, target=self.camera.target.copy()) for _ in BESIDE] if len(self.cameras) == 1 else []
        for camera, view in zip(beside, BESIDE, strict=False):
            camera.look(view)
        self.cameras = [self.camera, *beside]
        self.fit()

    def go_along(self) -> None:
        """Let the camera go along with the picked link, or no more."""
        if self.picked is None and self.followed is None:
            return self.say("click a link first, then V goes along with it")
        self.followed = self.picked[2] if self.picked is not None and self.followed != self.picked[2] else None
        for camera in self.cameras:
            camera.anchor = None
        self.say(f"goes along with {self.followed}" if self.followed else "stands still")

    def fullscreen(self) -> None:
        """Fill the whole screen, or no more."""
        self.window.set_fullscreen(not self.window.fullscreen)

    # ------------------------------------------------------------ what is shown

    def switch(self, what: str) -> None:
        """Show marks of a kind, or no more."""
        self.shown = replace(self.shown, **dict[str, Any]({what: not getattr(self.shown, what)}))
        self.say(said_of_none(self.scene, self.shown))

    def trail(self) -> None:
        """Show the trail of the picked link, or no more."""
        if self.picked is None:
            return self.say("click a link first, then L shows its trail")
        link, trails = self.picked[2], self.shown.trails
        self.shown = replace(self.shown, trails=tuple(x for x in trails if x != link) if link in trails else (*trails, link))

    def shapes(self) -> None:
        """Show the other shapes, visual or collision."""
        other = "collision" if self.geometry == "visual" else "visual"
        try:
            self.scene.reshape(other)
        except ViewerError as e:
            return self.say(str(e))
        self.geometry = other
        self.say(f"{other} shapes")

    def surroundings(self) -> None:
        """Show the next surroundings."""
        self.scene.environment = ENVIRONMENTS[(ENVIRONMENTS.index(self.scene.environment) + 1) % len(ENVIRONMENTS)]

    def switch_display(self) -> None:
        """Show the display, or no more."""
        self.display = not self.display

    def help(self) -> None:
        """Show the keys, or no more."""
        self.helping = not self.helping

    def escape(self) -> None:
        """Let go of what is shown or picked last; then close."""
        if self.helping:
            self.helping = False
        elif self.measuring or self.measured:
            self.measuring, self.measured = False, []
        elif self.picked is not None:
            self.picked = None
        else:
            self.closed = True

    def say(self, text: str) -> None:
        """Show a text for a moment."""
        self.toast, self._toasted = text, time.perf_counter()

    # ------------------------------------------------------------ files

    def save(self, path: str | Path | None = None) -> Path:
        """Write the picture, without the display, as PNG; return its path."""
        path = self._free(".png") if path is None else path
        size = self.window.get_framebuffer_size()
        self.panes.draw(self.drawing(), self.cameras, size)
        write(path, [self.panes.pixels()], size)
        self.say(f"saved {path}")
        return Path(path)

    def record(self) -> None:
        """Begin a film, and of a simulation that runs the run itself; or end both and write them."""
        if self.recording is None:
            self.recording = Recording(self._free(".mp4", ".h5"), self.window.get_framebuffer_size(), self.live)
            return self.say(f"records {self.recording.path}")
        ended, self.recording = self.recording, None
        written = ", ".join(map(str, ended.end()))
        self.say("; ".join(x for x in (ended.error, f"saved {written}" if written else "") if x))

    def _free(self, *suffixes: str) -> Path:
        """Return a path for a file, named after the robot, that is not there with any of the suffixes; it has the first one."""
        tried = (Path(f"{self.scene.actors[0].model.name}-{k:03d}") for k in itertools.count())
        return next(p for p in tried if not any(p.with_suffix(x).exists() for x in suffixes)).with_suffix(suffixes[0])

    def open(self, paths: Sequence[str | Path]) -> None:
        """Show robots (.urdf) and recordings (.h5, .hdf5) instead; what cannot be read is said."""
        try:
            sources = [load_trajectory(p) if Path(p).suffix.lower() in RECORDED else load_urdf(p) for p in paths]
            scene = Scene(sources, None, self.geometry)
            readings = Readings(scene.actors[0])
        except EngineError as e:
            return self.say(str(e))
        if self.live is not None:
            self.live.close()
        self.followed, self.shown, self.title = None, Shown(), None
        self._begin(scene, scene.camera(self.window.get_size()), readings)
        self.window.set_caption(named(scene))

    # ------------------------------------------------------------ links

    def pick(self, at: Pixel) -> tuple[Actor, int, str, Array] | None:
        """Return the actor, its instance, the link and the point (3), m, at a pixel from the upper left corner."""
        self.window.switch_to()
        camera, (x, y), size = self.seeing(at)
        drawing = without(self.scene.drawing(self.t), self.scene, self.shown.hidden)
        number, point = self.renderer.pick(drawing, camera, x, y, size)
        if not number:
            return None
        actor, instance, part = self.scene.found(number)
        return actor, instance, actor.model.links[part.link].name, point

    def choose(self, actor: Actor, instance: int, link: str) -> None:
        """Pick a link."""
        self.picked = actor, instance, link
        if (actor, instance) != (self.readings.actor, self.readings.instance):
            same = actor.source.moves and actor.model is self.readings.actor.model
            self.readings = Readings(actor, instance, self.signals if same else ())

    def click(self, at: Pixel, double: bool) -> None:
        """Pick the link at a pixel, or measure from there; look at it, where it is clicked on twice."""
        found = self.pick(at)
        if self.measuring and found is None:
            self.say("there is nothing to measure from")
        elif self.measuring and found is not None:
            actor, instance, link, point = found
            i = actor.model.link_index(link)
            T = actor.poses(self.t)[instance, i]
            self.measured.append((actor, instance, i, T[:3, :3].T @ (point - T[:3, 3])))
            self.measuring = len(self.measured) < 2
            self.say("click on another point" if self.measuring else "")
        elif found is None:
            self.picked = None
        else:
            self.choose(*found[:3])
            if double:
                self.seeing(at)[0].target = found[3]

    def measure(self) -> None:
        """Measure between the next two points that are clicked on; or take away what was measured."""
        self.measuring, self.measured = not (self.measuring or self.measured), []
        if self.measuring:
            self.say("click on two points")

    def _placed(self, actor: Actor, instance: int, link: int, local: Array) -> Array:
        """Return where a point (3) of a link is now, m."""
        T = actor.poses(self.t)[instance, link]
        return T[:3, :3] @ local + T[:3, 3]

    def _gizmo(self, camera: Camera) -> Gizmo | None:
        """Return the handles at the picked link of a robot at rest."""
        if self.picked is None or self.measuring:
            return None
        actor, instance, link = self.picked
        if not (isinstance(actor.source, Still) and actor.source.free):
            return None
        return Gizmo(actor.poses(self.t)[instance, actor.model.link_index(link)], camera, self.camera)

    def take_hold(self, at: Pixel, free: bool) -> None:
        """Take hold of the handle at a pixel, or with ``free`` of the link there."""
        camera, own, size = self.seeing(at)
        gizmo = self._gizmo(camera)
        handle = None if gizmo is None or free else gizmo.hit(own, size)
        if handle is not None and gizmo is not None and self.picked is not None:
            self.grip = Grip(*self.picked, gizmo.T[:3, 3], self.t, camera, size, gizmo, gizmo.holding(handle, own, size))
        elif free and (found := self.pick(at)) is not None:
            self.choose(*found[:3])
            self.grip = Grip(*found, self.t, camera, size)

    def drag(self, at: Pixel) -> None:
        """Move what is held to a pixel."""
        if self.grip is not None:
            cell = next(p for c, p in zip(self.cameras, self._places(), strict=True) if c is self.grip.camera)
            try:
                self.grip.drag((at[0] - cell[0], at[1] - cell[1]))
            except EngineError as e:                           # a link that cannot move
                self.say(str(e))

    def let_go(self) -> None:
        """Hold nothing any more."""
        if self.grip is not None and self.live is not None:
            self.live.release()
        self.grip = None


def named(scene: Scene) -> str:
    """Return the names of a scene's robots."""
    return ", ".join(dict.fromkeys(a.model.name for a in scene.actors))
