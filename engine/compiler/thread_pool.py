"""The thread pool that large batches are spread over.

A batch is cut into parts by :meth:`engine.compiler.gufunc.Gufunc._run`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from engine.compiler.graph.refusals import ArgumentError

_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(n: int) -> None:
    """Let large batches use ``n`` threads (at first: all cores). Results are the same bits for any number.

    >>> import engine
    >>> before = engine.get_threads()
    >>> engine.set_threads(2)
    >>> engine.get_threads()
    2
    >>> engine.set_threads(before)
    """
    global _threads
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ArgumentError(f"set_threads got {n!r}; expected a whole number of threads from 1")
    _threads = int(n)


def get_threads() -> int:
    """Return how many threads large batches use.

    >>> import engine
    >>> engine.get_threads() >= 1
    True
    """
    return _threads


@functools.lru_cache(maxsize=1)
def pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads; a forked process makes its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="engine")


def spread(f: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
    """Return f of every set of arguments, on the threads, or here where no thread can be started, as at the end of Python."""
    each = list(zip(*arguments, strict=True))
    try:
        parts = [pool(_threads, os.getpid()).submit(f, *one) for one in each]
    except RuntimeError:
        return [f(*one) for one in each]
    return [part.result() for part in parts]
