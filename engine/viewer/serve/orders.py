"""Orders that a browser gives: a closed table of them, against which every message is held."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.checks import nearest, number, numbers, shown, whole
from engine.viewer.scene.errors import ViewerError

Array = np.ndarray
#: the longest message, bytes, name, characters, and vector; the most steps at once
MESSAGE, NAME, VECTOR, STEPS = 4096, 200, 64, 10_000


def name(what: str, x: Any) -> str:
    """Return a name."""
    if not isinstance(x, str) or not 0 < len(x) <= NAME:
        raise ViewerError(f"{what} is {shown(x)}; expected a name")
    return x


def finite(what: str, x: Any) -> float:
    """Return a number."""
    return number(what, x, "a finite number", error=ViewerError)


def pace(what: str, x: Any) -> float:
    """Return a speed."""
    return number(what, x, "simulated seconds in a second, from 0.001 to 1000", least=1e-3, most=1e3, error=ViewerError)


def count(what: str, x: Any) -> int:
    """Return a number of steps."""
    if (steps := whole(what, x, f"a whole number from 1 to {STEPS}", 1, ViewerError)) > STEPS:
        raise ViewerError(f"{what} is {steps}; expected a whole number from 1 to {STEPS}")
    return steps


def index(what: str, x: Any) -> int:
    """Return a number of an actor."""
    return whole(what, x, "a whole number from 0", 0, ViewerError)


def values(what: str, x: Any) -> Array:
    """Return a number, or a list of at most ``VECTOR`` numbers, of an order, checked."""
    return numbers(what, x if isinstance(x, list) and len(x) <= VECTOR else finite(what, x), ViewerError)


def point(what: str, x: Any) -> Array:
    """Return a point (3), m."""
    if not isinstance(x, list) or len(x) != 3:
        raise ViewerError(f"{what} is {shown(x)}; expected three numbers")
    return np.array([finite(what, a) for a in x])


#: order -> its fields, and what each has to be
ORDERS: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    "watch": {}, "seen": {}, "pause": {}, "resume": {}, "reset": {}, "release": {},
    "step": {"steps": count}, "speed": {"value": pace},
    "set": {"name": name, "value": values},
    "pull": {"link": name, "point": point, "target": point},
    "turn": {"actor": index, "joint": name, "value": finite},
    "show": {"name": name},
}  # fmt: skip


def order_of(message: str | bytes) -> tuple[str, dict[str, Any]]:
    """Return an order and its fields out of a message, such as ``{"order": "step", "steps": 1}``.

    Raises
    ------
    ViewerError : it is none of the table's
    """
    try:
        told = json.loads(message) if isinstance(message, str) else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise ViewerError(f"the message is {shown(message)}; expected JSON such as {{\"order\": \"pause\"}}")
    order = told.pop("order", None)
    if not isinstance(order, str) or order not in ORDERS:
        near = nearest(order, ORDERS) if isinstance(order, str) else ""
        raise ViewerError(f"order {shown(order)} is not known{near}; expected one of {', '.join(ORDERS)}")
    fields = ORDERS[order]
    if {*told} != {*fields}:
        raise ViewerError(f"order '{order}' has {shown([*told])}; expected {', '.join(fields) or 'nothing'} with it")
    return order, {field: check(f"{field} of '{order}'", told[field]) for field, check in fields.items()}
