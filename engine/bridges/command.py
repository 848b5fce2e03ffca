"""Commands in a peer's messages, checked: values, or why it is no command."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from engine.bridges.names import BridgeError
from engine.checks import nearest, shown

Array = np.ndarray
#: what of a message of joints a parameter may take
FIELDS = ("position", "velocity", "effort")
#: what else a message may have, which nobody reads
UNREAD = ("header", "timestamp")
#: letters of a name that are shown
LETTERS = 40


def command_of(message: Any, joints: Collection[str], asked: Collection[str],
               robot: str = "the robot") -> tuple[list[str], dict[str, Array]]:  # fmt: skip
    """Return the joints that a message names, and numbers of them, finite ones, by those of ``asked`` that it has.

    Raises
    ------
    BridgeError : it is no command of these joints, in words that tell nothing of it but names, kinds and numbers

    >>> command_of({"name": ["elbow"], "effort": [1.5]}, ["shoulder", "elbow"], ["effort"])
    (['elbow'], {'effort': array([1.5])})
    >>> command_of({"name": ["elbow"], "effort": 4}, ["shoulder", "elbow"], ["effort"])
    Traceback (most recent call last):
    ...
    engine.bridges.names.BridgeError: a command has a number as effort; expected a list of finite numbers, one for each of 1 joints
    """
    expected = "expected names of joints, and a number for each"
    if not isinstance(message, Mapping):
        raise BridgeError(f"a command is {kind(message)}; {expected}")
    names = message.get("name")
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise BridgeError(f"a command has {kind(names)} as name; {expected}")
    for n in message:
        if n not in ("name", *FIELDS, *UNREAD):
            raise BridgeError(f"a command has '{str(n)[:LETTERS]}'{nearest(str(n)[:LETTERS], FIELDS)}; expected name, and of "
                              f"{', '.join(FIELDS)} what is set")  # fmt: skip
    for k, n in enumerate(names):
        if n not in joints:
            raise BridgeError(f"a command names '{n[:LETTERS]}'{nearest(n[:LETTERS], joints)}; expected joints of '{robot}' with one "
                              "coordinate")  # fmt: skip
        if n in names[:k]:
            raise BridgeError(f"a command names '{n[:LETTERS]}' twice; expected each joint once")
    found = {which: x for which in asked if (x := numbers_of(which, message.get(which, ()), len(names))) is not None}
    if not found:
        some = f"expected {' or '.join(dict.fromkeys(asked))}, a number for each joint" if asked else "the bridge takes no commands"
        raise BridgeError(f"a command sets nothing; {some}")
    return list(names), found


def numbers_of(which: str, values: Any, count: int) -> Array | None:
    """Return the numbers of so many joints, or None where there is nothing."""
    if isinstance(values, (list, tuple)) and not values:
        return None
    expected = f"expected a list of finite numbers, one for each of {count} joints"
    if not isinstance(values, (list, tuple)):
        raise BridgeError(f"a command has {kind(values)} as {which}; {expected}")
    for x in values:
        if not is_number(x):
            raise BridgeError(f"a command has {shown(x) if isinstance(x, float) else kind(x)} among its {which}; {expected}")
    if len(values) != count:
        raise BridgeError(f"a command has {len(values)} numbers as {which}; {expected}")
    return np.array(values, dtype=float)


def is_number(x: Any) -> bool:
    """Return whether x is a number that a float holds, and finite.

    >>> is_number(1), is_number(True), is_number("3.5"), is_number(10**400), is_number(math.nan)
    (True, False, False, False, False)
    """
    try:
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)
    except OverflowError:
        return False


def kind(x: Any) -> str:
    """Return what a value is, in words, and nothing of what it says.

    >>> kind([1]), kind(10**400), kind(True), kind(None)
    ('a list', 'a number beyond floats', 'a truth value', 'nothing')
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return "a number" if is_number(x) else "a number beyond floats"
    words = {bool: "a truth value", float: "a number", str: "a text", list: "a list", tuple: "a list", dict: "an object",
             type(None): "nothing"}  # fmt: skip
    return words.get(type(x), "something else")
