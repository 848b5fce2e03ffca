"""Names of a bridge's topics, and which are taken in this process."""

from __future__ import annotations

import threading
from collections.abc import Hashable

from engine.checks import EngineError, EngineWarning

_LOCK = threading.Lock()
_TAKEN: set[Hashable] = set()


class BridgeError(EngineError):
    """A bridge cannot be made; the text says what is wrong, and what was expected.

    >>> import engine
    >>> engine.bridge("arm", "dds")
    Traceback (most recent call last):
    ...
    engine.bridges.names.BridgeError: bridge got 'arm'; expected an engine.Live
    """


class BridgeWarning(EngineWarning):
    """A bridge is made, or goes on, though something is not as it was asked for: its rate is not met, or a wrench has no frame.

    >>> issubclass(BridgeWarning, UserWarning)
    True
    """


def take(what: Hashable, words: str, other: str) -> None:
    """Take a name for a bridge; BridgeError where another bridge has it, which could have had an ``other`` one."""
    with _LOCK:
        if what in _TAKEN:
            raise BridgeError(f"another bridge has {words}; expected another {other}, or that one closed")
        _TAKEN.add(what)


def leave(what: Hashable) -> None:
    """Let a name go."""
    with _LOCK:
        _TAKEN.discard(what)
