"""Ctrl-C: held back where it must find nothing half done, and kept where a library would swallow it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def held(at_once: bool = False) -> Iterator[None]:
    """Hold Ctrl-C back until the end; in the main thread, the only one that it reaches.

    ``at_once`` lets it come when it does, and again in the end, should somebody have caught it in between.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []

    def on_interrupt(number: int, frame: Any) -> None:
        came.append(number)
        if at_once:
            before(number, frame)

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
