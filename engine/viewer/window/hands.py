"""The keyboard and the mouse, as pyglet tells of them: what they ask of the window."""

from __future__ import annotations

import time
from operator import attrgetter
from typing import Any

import numpy as np

from engine.viewer.window.keys import KEYS, OURS

#: pixels that the mouse may move within a click
STILL = 4
#: rad for a pixel; s between two clicks of a double click
TURN, DOUBLE = 0.006, 0.35


class Hands:
    """Keyboard and mouse at a window.

    Parameters
    ----------
    viewer : the window, an :class:`engine.viewer.window.window.Viewer`

    Attributes
    ----------
    held, pressed : names of the keys that are held, and of the one pressed last that is a pilot's
    mouse : where the pointer is, px from the upper left corner, or None
    typed : the row of the side panel that a text is typed into, and the text, or None
    """

    def __init__(self, viewer: Any) -> None:
        self.viewer = viewer
        self.held = set[str]()
        self.pressed: str | None = None
        self.mouse: tuple[float, float] | None = None
        self.typed: tuple[str, str] | None = None
        self._set: Any = None
        self._moved, self._clicked = 0.0, -np.inf
        self._scrubbing, self._sliding = False, ""

    # ------------------------------------------------------------ the keyboard

    def on_key_press(self, symbol: int, modifiers: int) -> bool:
        from pyglet.window import key

        viewer, name = self.viewer, key.symbol_string(symbol)
        self.held.add(name)
        if self.typed is not None:
            self._edit(name)
        elif viewer.pilot is not None and name not in OURS:
            self.pressed = name
        elif name in KEYS:
            _, method, given = KEYS[name]
            if method == "clock.step":
                given = (*given, bool(modifiers & key.MOD_SHIFT))
            self._say(attrgetter(method)(viewer)(*given))
        return True

    def on_key_release(self, symbol: int, modifiers: int) -> None:
        from pyglet.window import key

        self.held.discard(key.symbol_string(symbol))

    def on_deactivate(self) -> None:
        self.held.clear()                                       # keys let go elsewhere are not told of

    def on_text(self, text: str) -> None:
        if self.typed is not None and text.isprintable():
            self._type(self.typed[1] + text)

    def _edit(self, name: str) -> None:
        """Do what a key does to a text: take a letter away, take it as it is, or leave it."""
        assert self.typed is not None
        row, text = self.typed
        if name == "BACKSPACE":
            self._type(text[:-1])
        elif name in ("RETURN", "ENTER", "NUM_ENTER", "TAB"):
            self.typed = None
            self.viewer.tabs.take(row, text, self._set)
        elif name == "ESCAPE":
            self.typed = None

    def _type(self, text: str) -> None:
        assert self.typed is not None
        self.typed = self.typed[0], text
        self.viewer.tabs.typing(*self.typed, self._set)

    # ------------------------------------------------------------ the mouse

    def on_mouse_press(self, x: int, y: int, button: int, modifiers: int) -> None:
        from pyglet.window import key, mouse

        self._moved = 0.0
        if self.typed is not None:                              # what was typed counts, wherever the mouse goes on
            self._edit("RETURN")
        viewer, at = self.viewer, (x, self.viewer.window.get_size()[1] - 1 - y)
        action = viewer.hud.hit(*at) if viewer.display else None
        if action is not None:
            self._moved = np.inf
            self._ask(action, at[0])
        elif button == mouse.LEFT:
            viewer.take_hold(self._point(x, y), free=bool(modifiers & key.MOD_CTRL))

    def _ask(self, action: tuple[Any, ...], x: float) -> None:
        """Do what a place of the display asks for."""
        viewer, (kind, *given) = self.viewer, action
        if kind == "do":
            given[0]()
        elif kind == "slide":
            self._sliding = given[0]
            viewer.hud.panel.slide(self._sliding, x)
        elif kind == "type":
            self.typed, self._set = (given[0], given[1]), given[2]
        elif kind == "tab":
            viewer.tabs.turn(given[0])
        elif kind == "help":
            viewer.help()
        elif kind != "panel":
            self._scrubbing = kind == "scrub"
            self._say(getattr(viewer.clock, kind)(*given))

    def _say(self, told: str | None) -> None:
        if told:
            self.viewer.say(told)

    def on_mouse_drag(self, x: int, y: int, dx: int, dy: int, buttons: int, modifiers: int) -> None:
        from pyglet.window import key, mouse

        viewer = self.viewer
        self._moved += abs(dx) + abs(dy)
        self.on_mouse_motion(x, y, dx, dy)
        if self._scrubbing:
            viewer.clock.scrub(viewer.hud.scrub(x)[1])
        elif self._sliding:
            viewer.hud.panel.slide(self._sliding, x)
        elif viewer.grip is not None:
            viewer.drag(self._point(x, y))
        elif self._moved == np.inf:
            return
        elif buttons & (mouse.RIGHT | mouse.MIDDLE) or modifiers & key.MOD_SHIFT:
            camera, _, (_, height) = viewer.seeing(self._point(x, y))
            pixel = viewer.window.get_framebuffer_size()[1] / viewer.window.get_size()[1] / height
            camera.pan(-dx * pixel, -dy * pixel)
        elif buttons & mouse.LEFT:
            viewer.seeing(self._point(x, y))[0].orbit(TURN * dx, TURN * dy)

    def on_mouse_release(self, x: int, y: int, button: int, modifiers: int) -> None:
        from pyglet.window import mouse

        if self._moved <= STILL and button == mouse.LEFT and self.viewer.grip is None:
            now = time.perf_counter()
            self.viewer.click(self._point(x, y), double=now - self._clicked < DOUBLE)
            self._clicked = now
        self.viewer.let_go()
        self._scrubbing, self._sliding = False, ""

    def on_mouse_motion(self, x: int, y: int, dx: int, dy: int) -> None:
        self.mouse = (x, self.viewer.window.get_size()[1] - 1 - y)

    def on_mouse_leave(self, x: int, y: int) -> None:
        self.mouse = None

    def on_mouse_scroll(self, x: int, y: int, scroll_x: float, scroll_y: float) -> None:
        viewer = self.viewer
        if viewer.helping:
            viewer.hud.further -= int(np.sign(scroll_y)) * 3
        elif not (viewer.display and viewer.hud.panel.wheel(x, viewer.window.get_size()[1] - 1 - y, scroll_y)):
            viewer.seeing(self._point(x, y))[0].dolly(0.88**scroll_y)

    def on_file_drop(self, x: int, y: int, paths: list[str]) -> None:
        self.viewer.open(paths)

    def on_close(self) -> bool:
        self.viewer.closed = True
        return True

    def _point(self, x: int, y: int) -> tuple[int, int]:
        """Return pixels of the framebuffer from the upper left corner."""
        window = self.viewer.window
        (w, h), (width, height) = window.get_size(), window.get_framebuffer_size()
        return int(np.clip(x * width / w, 0, width - 1)), int(np.clip((h - 1 - y) * height / h, 0, height - 1))
