"""Targets of inverse kinematics: where links should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.model import Model, StateError

Array = np.ndarray
#: what a target asks, 0 for an angle and 1 for a distance, by the shape of its goal: a pose, a rotation, a position
ASKED = {(4, 4): (0, 1), (3, 3): (0,), (3,): (1,)}


@dataclass(frozen=True, eq=False)
class Target:
    """Where a link should be.

    Parameters
    ----------
    link : its name
    goal : in world axes a pose T_WL (4×4), a position (3) in m, or a rotation R_WL (3×3)
    point : the point of the link that goes to the goal's position, in the link's frame (m)
    weights : of the angle (1/rad) and of the distance (1/m), where not all targets can be reached; 0 asks for nothing
    """

    link: str
    goal: Any
    point: Any = (0.0, 0.0, 0.0)
    weights: Any = (1.0, 1.0)

    @property
    def pose(self) -> Array:
        """The goal as 4×4, with the identity's entries for what it does not ask."""
        T = np.eye(4)
        columns = slice(3, 4) if self.goal.ndim == 1 else slice(0, self.goal.shape[1])
        T[:3, columns] = self.goal[:3].reshape(3, -1)
        return T


def checked_targets(model: Model, targets: Any) -> list[Target]:
    """Return the targets with checked arrays; rotations are made orthogonal to rounding."""
    if isinstance(targets, Target):
        targets = [targets]
    elif isinstance(targets, Mapping):
        targets = [Target(link, goal) for link, goal in targets.items()]
    elif not isinstance(targets, Iterable) or isinstance(targets, (str, np.ndarray)):
        raise StateError(f"targets is {targets!r}; expected {{link: goal}} or Target(link, goal) objects")
    result = [checked_target(model, target, k) for k, target in enumerate(targets)]
    if not result:
        raise StateError("there are no targets; expected at least one link and where it should be")
    return result


def checked_target(model: Model, target: Any, k: int) -> Target:
    """Return the k-th target with checked arrays."""
    if not isinstance(target, Target):
        raise StateError(f"targets[{k}] is {target!r}; expected Target(link, goal)")
    model.link_index(target.link)
    here = f"the target of link '{target.link}'"
    goal = checked_array(here, target.goal, "a pose (4, 4), a position (3,) or a rotation (3, 3)", *ASKED)
    if goal.ndim == 2:
        R = goal[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
            raise StateError(f"{here} is no {'pose' if len(goal) == 4 else 'rotation'}; expected an orthogonal, right-handed matrix")
        if len(goal) == 4 and (goal[3] != [0, 0, 0, 1]).any():
            raise StateError(f"{here} is no pose: its last row is {goal[3].tolist()}; expected 0 0 0 1")
        for _ in range(2):                                                               # Newton's iteration to the polar factor
            R = 1.5 * R - 0.5 * R @ (R.T @ R)
        goal[:3, :3] = R
    point = checked_array(f"the point of {here}", target.point, "three numbers (m, in the link's frame)", (3,))
    weights = checked_array(f"the weights of {here}", target.weights, "two numbers, of the angle and of the distance", (2,))
    if (weights < 0).any() or not weights[[*ASKED[goal.shape]]].any():
        raise StateError(f"the weights of {here} are {weights.tolist()}; expected none below zero, and one above for what it asks")
    return Target(target.link, goal, point, weights)


def checked_array(what: str, x: Any, expected: str, *shapes: tuple[int, ...]) -> Array:
    """Return x as finite float64 of one of the shapes."""
    try:
        given = np.asarray(x)
    except (TypeError, ValueError):
        given = np.array(None)
    if given.dtype.kind not in "fiu":
        raise StateError(f"{what} is {x!r}; expected {expected}")
    a = given.astype(float)
    if a.shape not in shapes:
        raise StateError(f"{what} has shape {a.shape}; expected {expected}")
    if not (np.abs(a) <= 1e9).all():
        raise StateError(f"{what} holds {a.flat[int(np.argmax(~(np.abs(a) <= 1e9)))]}; expected finite numbers, of 1e9 at most")
    return a
