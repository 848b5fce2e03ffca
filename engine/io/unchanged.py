"""What is read from a file, kept for as long as that is the same file."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Value = TypeVar("Value")
#: ns in which a file may be written twice without a difference in its times, amply: a younger one is known by its bytes
YOUNG = 2_000_000_000


def while_unchanged(maxsize: int) -> Callable[[Callable[Given, Value]], Callable[Given, Value]]:
    """Cache what a function reads of the file whose path is its first argument, of so many files, until the file changes.

    One that cannot be read is not kept. ``cache_clear()`` forgets all, as of functools.lru_cache.
    """

    def caching(read: Callable[Given, Value]) -> Callable[Given, Value]:
        @functools.lru_cache(maxsize)
        def kept(state: tuple[Any, ...], *args: Any, **named: Any) -> Value:
            return read(*args, **named)

        @functools.wraps(read)
        def found(*args: Given.args, **named: Given.kwargs) -> Value:
            try:
                state = state_of(str(args[0]))
            except OSError:
                return read(*args, **named)
            return kept(state, *args, **named)                                  # type: ignore[arg-type]

        found.cache_clear = kept.cache_clear                                   # type: ignore[attr-defined]
        return found

    return caching


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
