"""Pause Python's garbage collector while many objects are made that stay (no collector of records: ``simulation.run_loop``)."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Let Python's collector rest while many small things are made, nearly all to be kept: it would look through them again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
