"""Recording from the window: a film of what it shows, and, of a live simulation, the trajectory itself."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Full, Queue
from typing import Any

import numpy as np

from engine.simulation import Live, Trajectory
from engine.viewer.files.film import write

Array = np.ndarray
#: pictures of a film in a second; pictures that wait to be written, at most
RATE, WAITING = 30.0, 30
#: states that may have come while it is asked how many there are
NEAR = 16


class Recording:
    """A film that is written in a thread while pictures come, at the pace they come in.

    Parameters
    ----------
    path : of the film, "name.mp4"
    size : (width, height) of the pictures
    live : a simulation whose run is written too, beside the film, when it ends: every state that it handed over; where it began again in
        between, each run as a file of its own

    Attributes
    ----------
    error : why the film ended early, or ""
    """

    def __init__(self, path: Path, size: tuple[int, int], live: Live | None) -> None:
        self.path, self.size, self.live, self.error = path, size, live, ""
        self.runs = [] if live is None else [Run(live)]
        self._begun, self._count = time.perf_counter(), 0
        self._queue: Queue[Array | None] = Queue(WAITING)
        self._thread = threading.Thread(target=self._write, name=f"film {path.name}", daemon=True)
        self._thread.start()

    @property
    def due(self) -> int:
        """Number of pictures that the film lacks now."""
        return int((time.perf_counter() - self._begun) * RATE) + 1 - self._count

    def follow(self) -> None:
        """Take the states that the simulation has handed over since it was last asked."""
        if self.live is not None and not self.runs[-1].follow():
            self.runs.append(Run(self.live))                    # it began again

    def add(self, picture: Array) -> None:
        """Add a picture (h, w, 3), as often as the time since the last one says; a picture of another size ends the film."""
        if picture.shape[:2] != self.size[::-1]:
            self.error = self.error or "the window has another size: the film ended"
        for _ in range(self.due if not self.error else 0):
            self._put(picture)
            self._count += 1

    def end(self) -> list[Path]:
        """Finish the film, and write the runs; return the paths of what was written."""
        self.follow()
        self._put(None)
        self._thread.join()
        written = [self.path] if self._count and self.path.exists() else []
        for k, run in enumerate(self.runs):
            path = self.path.with_suffix(".h5") if k == 0 else self.path.with_name(f"{self.path.stem}-run{k + 1}.h5")
            written.append(run.trajectory().save(path, overwrite=True))
        return written

    def _put(self, picture: Array | None) -> None:
        """Hand a picture to the thread, as long as there is one."""
        while self._thread.is_alive():
            with contextlib.suppress(Full):
                self._queue.put(picture, timeout=0.1)
                return

    def _write(self) -> None:
        try:
            write(self.path, self._frames(), self.size, RATE)
        except Exception as error:  # in a thread of its own: it is told at the window
            self.error = self.error or (str(error) if self._count else "no picture came: there is no film")

    def _frames(self) -> Iterator[Array]:
        while (picture := self._queue.get()) is not None:
            yield picture


class Run:
    """The states of a simulation from now on, until it begins again."""

    def __init__(self, live: Live) -> None:
        self.live, self.trace = live, live.trace
        self.seen = self.trace.appended
        self.pieces: list[Trajectory] = [self.trace.trajectory(live.parameters, last=1)]

    def follow(self) -> bool:
        """Take what is new; return whether it is still the same run."""
        if new := self.trace.appended - self.seen:
            self.seen += new
            last = self.trace.trajectory(self.live.parameters, last=new + NEAR)
            self.pieces.append(last[last.t > self.pieces[-1].t[-1]])
        return self.live.trace is self.trace

    def trajectory(self) -> Trajectory:
        """Return all states so far."""
        whole: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in self.pieces]) for name in ("t", "q", "v", "tau", "vdot")}
        signals = {name: np.concatenate([p.signals[name] for p in self.pieces]) for name in self.pieces[0].signals}
        return replace(self.pieces[-1], **whole, signals=signals)
