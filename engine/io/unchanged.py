"""A cache in memory of files that were read, valid while they and the files they name are unchanged on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Value = TypeVar("Value")
#: ns in which a file may be written twice without a difference in its times, amply: a younger one is known by its bytes
YOUNG = 2_000_000_000


class Reading(threading.local):
    """Stack of the files that a thread is reading, outermost first: for each the states of the other files that it has used."""

    def __init__(self) -> None:
        self.named: list[dict[str, tuple[Any, ...]]] = []


READING = Reading()


def while_unchanged(maxsize: int) -> Callable[[Callable[Given, Value]], Callable[Given, Value]]:
    """Cache what a function reads of the file whose path is its first argument, of so many files, until the file changes, or another at
    which the function looked (:func:`looked_at`).

    One that cannot be read is not kept. ``cache_clear()`` forgets all, as of functools.lru_cache.
    """

    def caching(read: Callable[Given, Value]) -> Callable[Given, Value]:
        @functools.lru_cache(maxsize)
        def place(state: tuple[Any, ...], *args: Any, **named: Any) -> list[tuple[Value, dict[str, tuple[Any, ...]]]]:
            return []

        @functools.wraps(read)
        def found(*args: Given.args, **named: Given.kwargs) -> Value:
            try:
                state = state_of(str(args[0]))
            except OSError:
                return read(*args, **named)
            held = place(state, *args, **named)                                # type: ignore[arg-type]
            if not held or any(state_or_none(path) != then for path, then in held[0][1].items()):
                READING.named.append({})
                try:
                    value = read(*args, **named)
                finally:
                    others = READING.named.pop()
                held[:] = [(value, others)]
            value, others = held[0]
            if READING.named:                                                  # who asks depends on them, too
                READING.named[-1].update(others)
                READING.named[-1].setdefault(str(args[0]), state)
            return value

        found.cache_clear = place.cache_clear                                  # type: ignore[attr-defined]
        return found

    return caching


def looked_at(path: str) -> None:
    """Note, before it is read, that what is being read depends on another file, or on that it is not there."""
    if READING.named:
        READING.named[-1].setdefault(path, state_or_none(path))


def state_or_none(path: str) -> tuple[Any, ...]:
    """Return what differs when a file has changed (:func:`state_of`); nothing of one that is not there."""
    try:
        return state_of(path)
    except OSError:
        return ()


def state_of(path: str) -> tuple[Any, ...]:
    """Return what differs when a file has changed: its number, size and times, of which nobody sets the last, and a digest of a young one.

    Raises
    ------
    OSError : there is no such file, or it is a pipe or a folder, of which nothing is known before it is read
    """
    seen = os.stat(path)
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(f"{path}: this is no regular file")
    young = abs(time.time_ns() - seen.st_ctime_ns) < YOUNG or abs(time.time_ns() - seen.st_mtime_ns) < YOUNG
    digest = hashlib.sha256(Path(path).read_bytes()).digest() if young else b""
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, digest
