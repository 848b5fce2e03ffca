"""OpenGL contexts: a window's context on a desktop, EGL's where there is no display."""

from __future__ import annotations

from ctypes import c_char_p, cast
from typing import Any

import engine.viewer.draw.opengl as gl
from engine.checks import require_packages
from engine.interrupts import held
from engine.viewer.scene.errors import ViewerError

VERSION = (3, 3)
ADVICE = "expected OpenGL 3.3 or newer; on Debian and Ubuntu 'apt install libgl1-mesa-dri libegl1' draws without a graphics card"


def open_window(visible: bool, **options: Any) -> Any:
    """Open a ``pyglet.window.Window`` and make its context current; an invisible one draws off screen, by EGL where there is no display.

    Raises
    ------
    ViewerError : pyglet is not installed, there is no OpenGL, it is too old, or (for a visible window) there is no display
    """
    require_packages("OpenGL", "viewer", "pyglet", error=ViewerError)
    import pyglet

    gl.settle()
    if visible and pyglet.options.headless:
        raise ViewerError("there is no display to open a window on; expected one in DISPLAY (xvfb-run makes one), "
                          "or engine.render(…, 'out.png')")  # fmt: skip
    try:
        made: Any = gl.Config                                    # the platform's, which is settled when it is loaded
    except ImportError as e:
        raise ViewerError(f"no OpenGL library is found here ({e}); {ADVICE}") from None
    try:
        with held():                                             # its displays catch whatever comes while they try extensions
            import pyglet.window

        config = made(double_buffer=True, major_version=VERSION[0], minor_version=VERSION[1], forward_compatible=True)
        window = pyglet.window.Window(visible=visible, config=config, **options)
    except Exception as e:  # whatever drivers and loaders raise, ImportError of a missing library among them
        said = str(e).partition("\n")[0] or type(e).__name__
        raise ViewerError(f"no OpenGL {VERSION[0]}.{VERSION[1]} context can be made here ({said}); {ADVICE}") from None
    window.switch_to()
    found = window.context.get_info()
    if not found.have_version(*VERSION):
        version = found.get_version_string()
        window.close()
        raise ViewerError(f"the driver's OpenGL is {version}; {ADVICE}")
    return window


def graphics() -> str:
    """Return what draws here, and its version of OpenGL.

    Raises
    ------
    ViewerError : nothing does (:func:`open_window`)
    """
    window = open_window(False, width=16, height=16)
    renderer, version = ((cast(gl.glGetString(name), c_char_p).value or b"").decode() for name in (gl.GL_RENDERER, gl.GL_VERSION))
    window.close()
    return f"{version}, drawn by {renderer}"
