"""Elements that only arrange others: frames, and replicated groups. Bodies are read without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.io.mjcf.document import MOST, Node
from engine.io.mjcf.orientation import euler, pose
from engine.io.mjcf.settings import Settings
from engine.spatial import quaternion

Array = np.ndarray
#: what has a name of its own, which each repetition ends by its number
NAMED = frozenset(("body", "joint", "freejoint", "geom", "site", "camera", "light", "frame"))
ZERO = (0.0, 0.0, 0.0)

Placed = tuple[Node, Array, str]


def arranged(node: Node, settings: Settings, childclass: str, T: Array | None = None) -> Iterator[Placed]:
    """Yield the elements in a body, through frames: each with the pose (4, 4) it stands in, and its class's name."""
    T = np.eye(4) if T is None else T
    for child in node.children:
        if child.tag == "frame":
            yield from arranged(child, settings, child.text("childclass") or childclass, T @ pose(child, settings))
        else:
            yield child, T, childclass


def unrolled(node: Node, settings: Settings, count: list[int]) -> Node:
    """Return an element with frames in place of what it repeats; ``count`` [n] is how many elements there are by then."""
    children: list[Node] = []
    for child in node.children:
        child = unrolled(child, settings, count)
        children += repeated(child, settings, count) if child.tag == "replicate" else [child]
    return replace(node, children=children)


def repeated(node: Node, settings: Settings, count: list[int]) -> list[Node]:
    """Return the frames of what is repeated: the k-th is turned by k times the angles, and stands off from the one before, in its axes."""
    times = node.whole("count", 0)
    if not 0 <= times <= MOST:
        raise node.error(f"<replicate> count is {times}; expected from 0 to {MOST}")
    count[0] += times * sum(1 for _ in below(node))
    if count[0] > MOST:
        raise node.error(f"it makes more than {MOST} elements; expected fewer")
    angles, offset = np.array(node.numbers("euler", 3, ZERO)), np.array(node.numbers("offset", 3, ZERO))
    found, p, width = [], np.zeros(3), len(str(max(times - 1, 0)))
    for k in range(times):
        R = euler((k * angles).tolist(), settings)
        attributes = {"pos": " ".join(map(repr, p.tolist())), "quat": " ".join(map(repr, quaternion.from_matrix(R).tolist()))}
        children = [numbered(child, f"{node.text('sep')}{k:0{width}}") for child in node.children]
        found.append(Node("frame", attributes if k else {}, children, node.line, node.file))
        p = p + R @ offset
    return found


def below(node: Node) -> Iterator[Node]:
    """Yield all elements in an element."""
    for child in node.children:
        yield child
        yield from below(child)


def numbered(node: Node, ending: str) -> Node:
    """Return an element with an ending to its name, and those of all that it holds."""
    attributes = dict(node.attributes)
    if node.tag in NAMED and attributes.get("name"):
        attributes["name"] += ending
    return replace(node, attributes=attributes, children=[numbered(child, ending) for child in node.children])
