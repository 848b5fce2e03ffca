"""A window to look at robots, play what they did, and take hold of what they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.viewer.display.facts import Facts
from engine.viewer.display.hud import Hud
from engine.viewer.display.readings import Readings
from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.renderer import Renderer
from engine.viewer.files.film import write
from engine.viewer.scene.drawing import Drawing
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import banded, mark
from engine.viewer.scene.scene import ENVIRONMENTS, Actor, Scene
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.sources import Played, Running
from engine.viewer.window.grip import Grip
from engine.viewer.window.keys import KEYS, OURS, help_rows
from engine.viewer.window.playback import Playback

Array = np.ndarray
#: pixels that the mouse may move within a click
STILL = 4
#: rad for a pixel; s between two clicks of a double click
TURN, DOUBLE = 0.006, 0.35
#: s that a message stays
TOAST = 2.5
#: rad/s that the arrow keys turn the camera by, where other keys belong to a pilot
SWEEP = 1.5


class Viewer:
    """A window on a scene. :func:`view` opens one and waits until it is closed; a program may draw frames of it by itself.

    Parameters
    ----------
    source : a model, a trajectory, a :class:`Live` simulation, an actor, a list of them, or a scene
    size : (width, height), pixels
    keys : a pilot: called in every frame with the names of the keys that are held, and of the one pressed since the last frame (or None);
        all keys are then the pilot's but H, Tab, Escape and the arrows, which turn the camera; H shows what its ``keys`` say, if it has
        some: meanings by keys' names
    view, environment, geometry, follow : as of :func:`engine.render`
    shown : what is shown besides the robots, a :class:`Shown`
    signals : names of what is read and plotted besides: signals of the motion, or entries of q, v or tau, such as "q.elbow"
    title : of the window

    Raises
    ------
    ViewerError : there is no display or no OpenGL, or nothing to show
    """

    def __init__(self, source: Any, size: tuple[int, int] = (1280, 800), keys: Callable[[frozenset[str], str | None], Any] | None = None,
                 view: str | tuple[float, float] | None = None, environment: str | None = None, geometry: str = "visual",
                 follow: str | None = None, shown: Shown | None = None, signals: Sequence[str] = (),
                 title: str | None = None) -> None:  # fmt: skip
        self.scene = source if isinstance(source, Scene) else Scene(source, environment, geometry)
        self.camera = self.scene.camera(size, view, follow=follow)
        self.playback = Playback(self.scene.span, loop=True)
        self.playback.playing = self.scene.span[1] > self.scene.span[0]
        running = [(a, a.source) for a in self.scene.actors if isinstance(a.source, Running)]
        self.live = running[0][1].live if running else None
        self._running = [(actor, source) for actor, source in running if source.live is self.live]
        self.pilot, self.shown, self.followed = keys, shown or Shown(), follow
        self.picked: tuple[Actor, int, str] | None = None
        self._particulars: Readings | None = None
        self.toast, self.helping, self.display = "", False, True
        name = title or ", ".join(dict.fromkeys(a.model.name for a in self.scene.actors))
        self.window = open_window(True, width=size[0], height=size[1], caption=name, resizable=True)
        self.renderer, self.hud = Renderer(scale=self.window.get_framebuffer_size()[0] / size[0]), Hud()
        self.renderer.foot = 64.0                                              # the timeline's
        self.readings = Readings(self.scene.actors[0], 0, signals)
        self.window.push_handlers(self)
        self.closed = False
        self._geometry, self._held = geometry, set[str]()
        self._pressed: str | None = None
        self._moved, self._clicked, self._scrubbing = 0.0, -np.inf, False
        self._grip: Grip | None = None
        self._mouse: tuple[float, float] | None = None
        self._now, self._period, self._toasted = time.perf_counter(), 1 / 60, -np.inf

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
        self._clock(elapsed)
        drawing = self.drawing()
        self._follow()
        width, height = size = self.window.get_framebuffer_size()
        if min(width, height) < 8:
            return
        target = self.renderer.draw(drawing, self.camera, size)
        self.renderer.overlay(self._canvas(size))
        target.copy_to(0)
        self.window.flip()

    def _canvas(self, size: tuple[int, int]) -> Canvas:
        """Return the canvas that lies flat on the picture."""
        scale = size[0] / self.window.get_size()[0]
        canvas = Canvas(scale)
        if self.display or self.helping:
            self.hud.draw(canvas, (size[0] / scale, size[1] / scale), self.facts())
        return canvas

    def facts(self) -> Facts:
        """Return what the display says."""
        live, t = self.live, self.t
        running = live is not None and not self._looking_back
        lines = [*self.readings.lines(t), ("", ""), ("pictures", f"{1 / self._period:.0f} /s")]
        if live is not None:
            lines.append(("rate", f"{live.rate:.2f} of real time"))
        card = None if self.picked is None or self._particulars is None else self._particulars.card(self.picked[2], t)
        events = self.scene.actors[0].source.events
        rows = help_rows(self.pilot) if self.helping else ()
        return Facts(
            title=self.window.caption, lines=lines, span=self.playback.span, t=t, speed=self.playback.speed * self.playback.direction,
            playing=not live.paused if running and live is not None else self.playback.playing, loop=self.playback.loop, live=running,
            events=[(e.t, e.name) for e in events], plots=self.readings.plots(t), card=card, help=rows,
            toast=self.toast if time.perf_counter() - self._toasted < TOAST else "", error=(live.error or "") if live is not None else "",
            mouse=self._mouse,
        )  # fmt: skip

    @property
    def t(self) -> float:
        """The time that is shown, s."""
        return float(self.live.state.t) if self.live is not None and not self._looking_back else self.playback.t

    def drawing(self) -> Drawing:
        """Return the drawing that is shown now."""
        drawing = mark(self.scene, self.t, self.shown, self.picked)
        pulled = None if self._grip is None else self._grip.band(self.t)
        return drawing if pulled is None else banded(drawing, *pulled)

    def picture(self) -> Array:
        """Return the picture that is shown (h, w, 3), uint8, with the display."""
        return self.renderer.pixels()

    def close(self) -> None:
        """Close the window, and end a live simulation."""
        if not self.closed or self.window.context is not None:
            self.closed = True
            self.window.switch_to()
            self.renderer.delete()
            self.window.close()
        if self.live is not None:
            self.live.close()

    def _clock(self, elapsed: float) -> None:
        if self.live is None:
            self.playback.advance(elapsed)
        elif not self._looking_back:
            self.playback.span = (0.0, self.t)
            self.playback.t = self.t

    @property
    def _looking_back(self) -> bool:
        """Whether what is shown of a live simulation is over."""
        return any(actor.source is not source for actor, source in self._running)

    def _fly(self, elapsed: float) -> None:
        if self.pilot is None:
            return
        right = ("RIGHT" in self._held) - ("LEFT" in self._held)
        up = ("UP" in self._held) - ("DOWN" in self._held)
        self.camera.orbit(-SWEEP * elapsed * right, -SWEEP * elapsed * up)
        pressed, self._pressed = self._pressed, None
        self.pilot(frozenset(self._held), pressed)

    def _follow(self) -> None:
        if self.followed is not None:
            self.camera.along(self.scene.place(self.followed, self.t))

    # ------------------------------------------------------------ what keys and buttons do

    def toggle(self) -> None:
        if self.live is None:
            self.playback.toggle()
        elif self._looking_back or self.live.paused:
            self._back_to_now()
            self.live.resume()
        else:
            self.live.pause()

    def step(self, count: int, records: bool = False) -> None:
        if self.live is not None and not self._looking_back and count > 0:
            self.live.step(count)
        else:
            source = self.scene.actors[0].source
            self.playback.step(count, source.trajectory.t if records and isinstance(source, Played) else None)

    def faster(self) -> None:
        self.playback.faster()
        self._pace()

    def slower(self) -> None:
        self.playback.slower()
        self._pace()

    def _pace(self) -> None:
        if self.live is not None:
            self.live.speed = self.playback.speed
        self.say(f"{self.playback.speed:g}×")

    def reverse(self) -> None:
        self.playback.reverse()

    def loop(self) -> None:
        self.playback.loop = not self.playback.loop
        self.say("begins again at the end" if self.playback.loop else "stops at the end")

    def reset(self) -> None:
        """Start a live simulation again from its first state."""
        if self.live is not None:
            self._back_to_now()
            self.live.reset()

    def scrub(self, t: float) -> None:
        """Show a time, s; of a live simulation the recent past, while it stands still."""
        if self.live is not None and not self._looking_back:
            self.live.pause()
            past = Played(self.live.history)
            for actor, _ in self._running:
                actor.source = past
            self.playback.span = past.span
        self.playback.scrub(t)

    def scrub_to(self, part: float) -> None:
        start, end = self.playback.span
        self.scrub(start + part * (end - start))

    def _back_to_now(self) -> None:
        for actor, source in self._running:
            actor.source = source

    def fit(self) -> None:
        size = self.window.get_size()
        self.camera.fit(self.scene.drawing(self.t).corners(), size[0] / size[1])
        self.camera.anchor = None

    def look(self, view: str) -> None:
        self.camera.look(view)

    def go_along(self) -> None:
        self.followed = self.picked[2] if self.picked is not None and self.followed != self.picked[2] else None
        self.camera.anchor = None
        self.say(f"goes along with {self.followed}" if self.followed else "stands still")

    def switch(self, what: str) -> None:
        changed: dict[str, Any] = {what: not getattr(self.shown, what)}
        self.shown = replace(self.shown, **changed)

    def trail(self) -> None:
        if self.picked is None:
            self.say("click a link first, then L shows its trail")
            return
        link = self.picked[2]
        trails = self.shown.trails
        self.shown = replace(self.shown, trails=tuple(x for x in trails if x != link) if link in trails else (*trails, link))

    def shapes(self) -> None:
        """Show the other shapes, visual or collision."""
        other = "collision" if self._geometry == "visual" else "visual"
        try:
            self.scene.reshape(other)
        except ViewerError as e:
            self.say(str(e))
            return
        self._geometry = other
        self.say(f"{other} shapes")

    def surroundings(self) -> None:
        self.scene.environment = ENVIRONMENTS[(ENVIRONMENTS.index(self.scene.environment) + 1) % len(ENVIRONMENTS)]

    def save(self, path: str | Path | None = None) -> Path:
        """Write the picture, without the display, as PNG; return its path."""
        if path is None:
            free = (Path(f"{self.scene.actors[0].model.name}-{k:03d}.png") for k in range(1000))
            path = next(p for p in free if not p.exists())
        size = self.window.get_framebuffer_size()
        self.renderer.draw(self.drawing(), self.camera, size)
        write(path, [self.renderer.pixels()], size)
        self.say(f"saved {path}")
        return Path(path)

    def switch_display(self) -> None:
        self.display = not self.display

    def help(self) -> None:
        self.helping = not self.helping

    def escape(self) -> None:
        if self.helping:
            self.helping = False
        elif self.picked is not None:
            self.picked = None
        else:
            self.closed = True

    def say(self, text: str) -> None:
        """Show a text for a moment."""
        self.toast, self._toasted = text, time.perf_counter()

    # ------------------------------------------------------------ the keyboard and the mouse, as pyglet tells of them

    def on_key_press(self, symbol: int, modifiers: int) -> bool:
        from pyglet.window import key

        name = key.symbol_string(symbol)
        self._held.add(name)
        if self.pilot is not None and name not in OURS:
            self._pressed = name
            return True
        if name in KEYS:
            _, method, given = KEYS[name]
            if method == "step" and modifiers & key.MOD_SHIFT:
                self.step(given[0], records=True)
            else:
                getattr(self, method)(*given)
        return True

    def on_key_release(self, symbol: int, modifiers: int) -> None:
        from pyglet.window import key

        self._held.discard(key.symbol_string(symbol))

    def on_deactivate(self) -> None:
        self._held.clear()                                      # keys let go elsewhere are not told of

    def on_mouse_press(self, x: int, y: int, button: int, modifiers: int) -> None:
        from pyglet.window import key, mouse

        self._moved = 0.0
        action = self.hud.hit(x, self.window.get_size()[1] - 1 - y) if self.display else None
        if action is not None:
            self._scrubbing, self._moved = action[0] == "scrub", np.inf
            if action[0] != "panel":
                getattr(self, action[0])(*action[1:])
        elif button == mouse.LEFT and modifiers & key.MOD_CTRL:
            self._take_hold(*self._point(x, y))

    def on_mouse_drag(self, x: int, y: int, dx: int, dy: int, buttons: int, modifiers: int) -> None:
        from pyglet.window import key, mouse

        self._moved += abs(dx) + abs(dy)
        if self._scrubbing:
            self.scrub(self.hud.scrub(x)[1])
        elif self._grip is not None:
            self._drag(*self._point(x, y), dx, dy)
        elif self._moved == np.inf:
            return
        elif buttons & (mouse.RIGHT | mouse.MIDDLE) or modifiers & key.MOD_SHIFT:
            height = self.window.get_size()[1]
            self.camera.pan(-dx / height, -dy / height)
        elif buttons & mouse.LEFT:
            self.camera.orbit(TURN * dx, TURN * dy)

    def on_mouse_release(self, x: int, y: int, button: int, modifiers: int) -> None:
        from pyglet.window import mouse

        if self._grip is not None and self.live is not None:
            self.live.release()
        if self._moved <= STILL and self._grip is None and button == mouse.LEFT:
            self._click(*self._point(x, y))
        self._grip, self._scrubbing = None, False

    def on_mouse_motion(self, x: int, y: int, dx: int, dy: int) -> None:
        self._mouse = (x, self.window.get_size()[1] - 1 - y)

    def on_mouse_leave(self, x: int, y: int) -> None:
        self._mouse = None

    def on_mouse_scroll(self, x: int, y: int, scroll_x: float, scroll_y: float) -> None:
        self.camera.dolly(0.88**scroll_y)

    def on_close(self) -> bool:
        self.closed = True
        return True

    def _point(self, x: int, y: int) -> tuple[int, int]:
        """Return pixels of the framebuffer from the upper left corner."""
        (w, h), (width, height) = self.window.get_size(), self.window.get_framebuffer_size()
        return int(np.clip(x * width / w, 0, width - 1)), int(np.clip((h - 1 - y) * height / h, 0, height - 1))

    def pick(self, x: int, y: int) -> tuple[Actor, int, str, Array] | None:
        """Return the actor, its instance, the link and the point (3), m, at a pixel from the upper left corner."""
        self.window.switch_to()
        number, point = self.renderer.pick(self.scene.drawing(self.t), self.camera, x, y, self.window.get_framebuffer_size())
        if not number:
            return None
        actor, instance, part = self.scene.found(number)
        return actor, instance, actor.model.links[part.link].name, point

    def _choose(self, found: tuple[Actor, int, str, Array] | None) -> None:
        self.picked = None if found is None else found[:3]
        self._particulars = None if found is None else Readings(*found[:2])

    def _click(self, x: int, y: int) -> None:
        found = self.pick(x, y)
        now = time.perf_counter()
        self._choose(found)
        if found is not None and now - self._clicked < DOUBLE:
            self.camera.target = found[3]
        self._clicked = now

    # ------------------------------------------------------------ taking hold of links

    def _take_hold(self, x: int, y: int) -> None:
        found = self.pick(x, y)
        if found is None:
            return
        self._choose(found)
        self._grip = Grip(*found, self.t)

    def _drag(self, x: int, y: int, dx: int, dy: int) -> None:
        assert self._grip is not None
        try:
            self._grip.drag(self.camera, self.window.get_framebuffer_size(), (x, y), (dx, dy))
        except ValueError as e:                                # a link that cannot move
            self.say(str(e))
