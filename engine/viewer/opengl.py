"""OpenGL's functions, ``gl``, as pyglet gives them: with a display if there is one, and through EGL if not, which is settled here, once."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys

import pyglet


def has_display() -> bool:
    """Whether a window could be opened here."""
    if not sys.platform.startswith("linux"):
        return True
    name = ctypes.util.find_library("X11")
    if name is None:
        return False
    xlib = ctypes.CDLL(name)
    xlib.XOpenDisplay.restype, xlib.XOpenDisplay.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    xlib.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = xlib.XOpenDisplay(None)
    if display:
        xlib.XCloseDisplay(display)
    return bool(display)


if "pyglet.window" not in sys.modules:                                         # it cannot be settled anew
    pyglet.options.shadow_window = False
    pyglet.options.debug_gl = False
    pyglet.options.headless = pyglet.options.headless or not has_display()

from pyglet import gl  # noqa: E402

__all__ = ["gl", "has_display"]
