"""Poses: positions, and orientations in the five ways that MJCF has for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.io.mjcf.document import Node
from engine.io.mjcf.settings import Settings
from engine.spatial import quaternion, se3, so3

Array = np.ndarray
WAYS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ZERO = (0.0, 0.0, 0.0)


def pose(node: Node, settings: Settings) -> Array:
    """Return T (4, 4) of an element's ``pos`` and orientation."""
    return se3.pose(rotation(node, settings), np.array(node.numbers("pos", 3, ZERO)))


def rotation(node: Node, settings: Settings) -> Array:
    """Return R (3, 3) of an element's orientation, which it gives in one way at most."""
    ways = [way for way in WAYS if way in node.attributes]
    if len(ways) > 1:
        raise node.error(f"<{node.tag}> has {' and '.join(ways)}; expected one orientation")
    if not ways:
        return np.eye(3)
    if ways == ["quat"]:
        return read_quaternion(node, node.numbers("quat", 4))
    if ways == ["axisangle"]:
        *axis, angle = node.numbers("axisangle", 4)
        return so3.about(unit(node, "axisangle", axis), angle * settings.radians)
    if ways == ["euler"]:
        return euler(node.numbers("euler", 3), settings)
    if ways == ["zaxis"]:
        return to_z(unit(node, "zaxis", node.numbers("zaxis", 3)))
    numbers = node.numbers("xyaxes", 6)
    x = unit(node, "xyaxes", numbers[:3])
    y = np.array(numbers[3:])
    y = unit(node, "xyaxes", y - (x @ y) * x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def read_quaternion(node: Node, numbers: Sequence[float], what: str = "quat") -> Array:
    """Return R (3, 3) of a quaternion [w, x, y, z] of any length above zero."""
    q = np.array(numbers)
    if not (length := float(np.linalg.norm(q))) > 1e-15:
        raise node.error(f"<{node.tag}> {what} is zero; expected a quaternion w x y z")
    return np.asarray(quaternion.to_matrix(q / length))


def unit(node: Node, what: str, vector: Array | Sequence[float]) -> Array:
    """Return a direction (3) of the length 1."""
    x = np.array(vector, dtype=float)
    if not (length := float(np.linalg.norm(x))) > 1e-12:
        raise node.error(f"<{node.tag}> {what} is '{node.text(what)}'; expected a direction")
    return x / length


def euler(angles: Sequence[float], settings: Settings) -> Array:
    """Return R (3, 3) of three turns one after the other: about axes that turn along (x, y, z), or stand still (X, Y, Z)."""
    R = np.eye(3)
    for letter, angle in zip(settings.eulerseq, angles, strict=True):
        turn = so3.about(np.eye(3)["xyz".index(letter.lower())], angle * settings.radians)
        R = R @ turn if letter.islower() else turn @ R
    return R


def to_z(direction: Array) -> Array:
    """Return the smallest rotation (3, 3) that takes the z axis to a unit vector.

    >>> to_z(np.array([1.0, 0.0, 0.0])).round(9) @ [0.0, 0.0, 1.0]
    array([1., 0., 0.])
    """
    axis = np.array([-direction[1], direction[0], 0.0])
    sine = float(np.linalg.norm(axis))
    axis = axis / sine if sine > 1e-10 else np.array([1.0, 0.0, 0.0])
    return np.asarray(so3.about(axis, float(np.arctan2(sine, direction[2]))))
