"""Recording what a window shows: a film of it, and of a simulation that runs the run itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import numpy as np

from engine.simulation import Live
from engine.viewer.files.film import write

Array = np.ndarray
#: pictures of a film in a second; pictures that wait to be written, at most
RATE, WAITING = 30.0, 30


class Recording:
    """A film that is written in a thread while pictures come, at the pace they come in.

    Parameters
    ----------
    path : of the film, "name.mp4"
    size : (width, height) of the pictures
    live : a simulation whose run is written too, beside the film, when it ends
    """

    def __init__(self, path: Path, size: tuple[int, int], live: Live | None) -> None:
        self.path, self.size, self.live = path, size, live
        self.since = None if live is None else float(live.state.t)
        self.error = ""
        self._begun, self._count = time.perf_counter(), 0
        self._queue: Queue[Array | None] = Queue(WAITING)
        self._thread = threading.Thread(target=self._write, name=f"film {path.name}", daemon=True)
        self._thread.start()

    @property
    def due(self) -> int:
        """How many pictures the film lacks now."""
        return int((time.perf_counter() - self._begun) * RATE) + 1 - self._count

    def add(self, picture: Array) -> None:
        """Add a picture (h, w, 3), as often as the time since the last one says; a picture of another size is an error."""
        if picture.shape[:2] != self.size[::-1]:
            self.error = self.error or "the window has another size: the film ends"
        for _ in range(self.due if not self.error else 0):
            self._queue.put(picture)
            self._count += 1

    def end(self) -> list[Path]:
        """Finish the film, and write the run; return the paths."""
        self._queue.put(None)
        self._thread.join()
        written = [self.path] if self._count and self.path.exists() else []
        if self.live is not None and self.since is not None:
            run = self.live.history
            begun = run[(run.t >= self.since) if run.t[-1] > self.since else slice(None)]
            written.append(begun.save(self.path.with_suffix(".h5"), overwrite=True))
        return written

    def _write(self) -> None:
        try:
            write(self.path, self._frames(), self.size, RATE)
        except Exception as error:  # in a thread of its own: it is told at the window
            self.error = str(error)
            while self._queue.get() is not None:                # whoever puts does not wait for ever
                pass

    def _frames(self) -> Iterator[Array]:
        while (picture := self._queue.get()) is not None:
            yield picture
