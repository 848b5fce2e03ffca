"""Names of a bridge's topics, and which are taken in this process."""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable

from engine.checks import EngineError, shown

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


def require_prefix(prefix: str) -> str:
    """Return a prefix of topics, as ROS 2 has them.

    >>> require_prefix("arm1/")
    'arm1/'
    """
    if not isinstance(prefix, str) or not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*/)*", prefix):
        raise BridgeError(f"prefix is {shown(prefix)}; expected letters, digits and _, with / after each part, such as 'arm1/'")
    return prefix


def topic_of(signal: str) -> str:
    """Return a signal's name as a part of a topic.

    >>> topic_of("contacts.wrench")
    'contacts_wrench'
    """
    return re.sub(r"\W", "_", signal)


def take(what: Hashable, words: str) -> None:
    """Take a name for a bridge; BridgeError where another has it."""
    with _LOCK:
        if what in _TAKEN:
            raise BridgeError(f"another bridge has {words}; expected another prefix, or that one closed")
        _TAKEN.add(what)


def leave(what: Hashable) -> None:
    """Let a name go."""
    with _LOCK:
        _TAKEN.discard(what)
