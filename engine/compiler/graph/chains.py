"""Chained comparisons of traced values, a < x < b, which Python splits by a jump: both are taken, and joined by ``and``.

Python's answer is a jump between two comparisons that stand at one place of the text. There the first is kept, counts as true for the
moment, and is joined with the one that follows.
"""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType, FrameType
from typing import Any

#: a frame, and the place of a comparison in its text
Place = tuple[int, Any]


@functools.lru_cache(maxsize=256)
def comparisons(code: CodeType) -> tuple[dict[int, Any], dict[Any, int]]:
    """Return the places in the text of a function's instructions, by their offset, and the last comparison of each place."""
    if sys.version_info < (3, 11):
        return {}, {}
    places = {2 * k: place for k, place in enumerate(code.co_positions()) if None not in place}
    last = {places.get(i.offset): i.offset for i in dis.get_instructions(code) if i.opname == "COMPARE_OP"}
    return places, last


def place_of(frame: FrameType) -> Place:
    """The place that a frame is at."""
    return id(frame), comparisons(frame.f_code)[0].get(frame.f_lasti)


def goes_on(frame: FrameType) -> bool:
    """Return whether a frame is within a chained comparison (a < b < c) that is not at its last operator."""
    places, last = comparisons(frame.f_code)
    place = places.get(frame.f_lasti)
    return place is not None and last.get(place, -1) > frame.f_lasti


def begun(chains: dict[Place, Any], truth: Any) -> bool:
    """Keep the condition of a comparison in the caller's caller that a chain continues; return whether one does."""
    frame = sys._getframe(2)
    if not goes_on(frame):
        return False
    chains[place_of(frame)] = truth
    return True


def joined(chains: dict[Place, Any], depth: int) -> Any:
    """Return the conjunction of the chained comparisons before this one, in the function ``depth`` above, and forget it; or true."""
    return chains.pop(place_of(sys._getframe(depth + 1)), True)
