"""OpenGL's functions and constants, which pyglet loads when the first of them is used: ``import engine.viewer.draw.opengl as gl``.

With a display they are the desktop's, without one EGL's; this is settled here, once.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from typing import Any


def __getattr__(name: str) -> Any:
    """Return a function or constant of OpenGL, and keep it here."""
    if not name.startswith(("gl", "GL", "Config")):
        raise AttributeError(f"OpenGL has no '{name}'")
    settle()
    from pyglet import gl

    found = globals()[name] = getattr(gl, name)
    return found


def settle() -> None:
    """Set pyglet's options, unless a window is open or could be: they cannot be settled anew."""
    import pyglet

    if "pyglet.window" not in sys.modules:
        pyglet.options.shadow_window = False
        pyglet.options.debug_gl = False
        pyglet.options.headless = pyglet.options.headless or not has_display()


def has_display() -> bool:
    """Return whether a window could be opened here."""
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
