"""The page that is alive in a notebook: the kernel's own connection carries what a socket carries elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from typing import Any

from engine.checks import require_packages, whole
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import scene_of
from engine.viewer.scene.shown import Shown
from engine.viewer.serve.stage import PAGE, Stage
from engine.viewer.serve.watcher import Watcher
from engine.viewer.window.view import begun


class Widget:
    """Robots in a notebook, alive, where this is the last line of a cell: what :func:`engine.serve` shows, without a server.

    What moves is shown while cells run; what hands do there waits until they are done.

    >>> import engine
    >>> engine.Widget(engine.load_urdf(engine.example("free_flyer")))          # doctest: +SKIP

    Parameters
    ----------
    source, q0, v0, environment, geometry, fps, shown, signals, plots : as those of :func:`engine.serve`
    height : of the frame, pixels

    Attributes
    ----------
    live : the simulation that is seen and steered, or None

    Raises
    ------
    ViewerError : anywidget is not installed, there is nothing to see, or there is no such signal or place
    """

    def __init__(self, source: Any, q0: Any = None, v0: Any = None, environment: str | None = None, geometry: str = "visual",
                 fps: float = 30.0, height: int = 480, shown: Shown | None = None, signals: Sequence[str | Sequence[str]] = (),
                 plots: str = "right") -> None:  # fmt: skip
        height = whole("height", height, "a number of pixels from 1", 1, ViewerError)
        make = frame_class()
        source, self._begins = begun(source, q0, v0)
        try:
            stage = Stage(scene_of(source, environment, geometry), fps, shown, signals, plots)
            self._frame = make(page=stage.page(), height=height)
        except BaseException:
            if self._begins is not None:
                self._begins.close()
            raise
        self.live = stage.live
        self._waits = self._begins is not None                                 # for somebody to see it
        self._loop = asyncio.new_event_loop()
        self._watcher = Watcher(self, stage, there=False)
        self._showing = self._loop.create_task(self._watcher.show())
        self._thread = threading.Thread(target=self._run, name="widget", daemon=True)
        self._thread.start()
        self._frame.on_msg(self._ordered)

    def __repr__(self) -> str:
        return f"<widget of '{self._watcher.stage.scene.actors[0].model.name}'>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._frame._repr_mimebundle_(**options)

    def close(self) -> None:
        """Show nothing more, and end a simulation that was begun for this; what was given goes on."""
        with contextlib.suppress(RuntimeError):                                # its loop has ended before
            self._loop.call_soon_threadsafe(self._showing.cancel)
        self._thread.join()
        self._watcher.leave()
        if self._begins is not None:
            self._begins.close()

    async def send(self, data: str | bytes) -> None:
        """Send a text, or bytes, to the page."""
        if isinstance(data, str):
            self._frame.send(data)
        else:
            self._frame.send("", [data])

    def _ordered(self, frame: Any, message: Any, buffers: Any) -> None:
        if self._waits and self.live is not None:
            self._waits = False
            self.live.resume()
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._watcher.obey(message), self._loop)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._showing)
        self._loop.close()


def frame_class() -> Any:
    """Return the class of widgets that hold a page.

    Raises
    ------
    ViewerError : anywidget is not installed
    """
    require_packages("a widget", "web", "anywidget", "websockets", error=ViewerError)
    import anywidget
    import traitlets

    class Frame(anywidget.AnyWidget):
        _esm = (PAGE / "widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    return Frame
