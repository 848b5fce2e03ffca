"""What only arranges other elements: frames, and groups that are repeated. Bodies are read without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.io.mjcf.document import MOST, Node
from engine.io.mjcf.orientation import euler, pose
from engine.io.mjcf.settings import Settings
from engine.spatial import se3

Array = np.ndarray
#: what has a name of its own, which each repetition ends by its number
NAMED = frozenset(("body", "joint", "freejoint", "geom", "site", "camera", "light", "frame"))

Placed = tuple[Node, Array, str]


def arranged(node: Node, settings: Settings, childclass: str, T: Array | None = None, count: list[int] | None = None) -> Iterator[Placed]:
    """Yield the elements in a body, through frames and repetitions: each with the pose (4, 4) it stands in, and its class's name."""
    T, count = np.eye(4) if T is None else T, [0] if count is None else count
    for child in node.children:
        count[0] += 1
        if count[0] > MOST:
            raise node.error(f"it holds more than {MOST} elements; expected fewer")
        if child.tag == "frame":
            yield from arranged(child, settings, child.text("childclass") or childclass, T @ pose(child, settings), count)
        elif child.tag == "replicate":
            yield from repeated(child, settings, childclass, T, count)
        else:
            yield child, T, childclass


def repeated(node: Node, settings: Settings, childclass: str, T: Array, count: list[int]) -> Iterator[Placed]:
    """Yield what is repeated: each time moved by the offset, in axes that have turned along, and then turned."""
    times = node.whole("count", 0)
    if not 0 <= times <= MOST:
        raise node.error(f"<replicate> count is {times}; expected from 0 to {MOST}")
    turn = euler(node.numbers("euler", 3, (0.0, 0.0, 0.0)), settings)
    offset, R, p = np.array(node.numbers("offset", 3, (0.0, 0.0, 0.0))), np.eye(3), np.zeros(3)
    width = len(str(max(times - 1, 0)))
    for k in range(times):
        yield from arranged(numbered(node, f"{node.text('sep')}{k:0{width}}"), settings, childclass, T @ se3.pose(R, p), count)
        p = p + R @ offset
        R = R @ turn


def numbered(node: Node, ending: str) -> Node:
    """Return an element whose parts' names have an ending."""
    def one(child: Node) -> Node:
        attributes = dict(child.attributes)
        if child.tag in NAMED and attributes.get("name"):
            attributes["name"] += ending
        return replace(child, attributes=attributes, children=[one(c) for c in child.children])

    return replace(node, children=[one(c) for c in node.children])
