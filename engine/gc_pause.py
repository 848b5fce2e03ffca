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


def grown_old() -> None:
    """Make whatever there is one of the collector's oldest things, without a look at it: modules stay, and to find that out takes a tenth
    of their import."""
    if not gc.get_freeze_count():                                              # else somebody has frozen things, and they stay so
        gc.freeze()
        gc.unfreeze()
