"""Targets of inverse kinematics: where links should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checks import nearest, shown
from engine.model import Model, StateError

Array = np.ndarray
#: kind of goal -> its shape, and what it asks: 0 for an angle, 1 for a distance
KINDS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "pose": ((4, 4), (0, 1)), "rotation": ((3, 3), (0,)), "position": ((3,), (1,)),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Target:
    """A target of a link.

    Parameters
    ----------
    link : its name
    goal : in world axes a pose T_WL (..., 4, 4), a rotation R_WL (..., 3, 3), or a position (..., 3) in m; leading dimensions are a batch
    point : the point of the link that goes to the goal's position, in the link's frame (m)
    weights : of the angle (1/rad) and of the distance (1/m), where not all targets can be reached; 0 asks for nothing
    kind : "pose", "rotation" or "position"; by default what the goal's shape says, of which (..., 3, 3) is a rotation

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> target = Target("flange", [0.3, 0.2, 0.5], point=(0.0, 0.0, 0.1))              # of a point 0.1 m ahead of it
    >>> bool(engine.inverse_kinematics(arm, [target]).converged)
    True
    """

    link: str
    goal: Any
    point: Any = (0.0, 0.0, 0.0)
    weights: Any = (1.0, 1.0)
    kind: str | None = None

    @property
    def asks(self) -> tuple[int, ...]:
        """Kinds of a target's residuals: 0 for an angle, 1 for a distance."""
        return KINDS[str(self.kind)][1]

    @property
    def pose(self) -> Array:
        """The goal of a checked target as (..., 4, 4), with the identity's entries for what it does not ask."""
        T = np.broadcast_to(np.eye(4), (*self.batch, 4, 4)).copy()
        if self.kind == "position":
            T[..., :3, 3] = self.goal
        else:
            rows = self.goal.shape[-1]
            T[..., :rows, :rows] = self.goal
        return T

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions of a checked target's goal."""
        return tuple(self.goal.shape[: self.goal.ndim - len(KINDS[str(self.kind)][0])])


def checked_targets(model: Model, targets: Any) -> list[Target]:
    """Return the targets with checked arrays; rotations are made orthogonal to rounding."""
    if isinstance(targets, Target):
        targets = [targets]
    elif isinstance(targets, Mapping):
        targets = [Target(link, goal) for link, goal in targets.items()]
    elif not isinstance(targets, Iterable) or isinstance(targets, (str, np.ndarray)):
        raise StateError(f"targets is {shown(targets)}; expected {{link: goal}}, as {{'{model.links[-1].name}': [0.3, 0.2, 0.5]}}, or "
                         "engine.Target(link, goal), one or a list of them")  # fmt: skip
    result = [checked_target(model, target, k) for k, target in enumerate(targets)]
    if not result:
        raise StateError("there are no targets; expected at least one link and where it should be")
    return result


def checked_target(model: Model, target: Any, k: int) -> Target:
    """Return the k-th target with checked arrays, and the kind that it is."""
    if not isinstance(target, Target):
        raise StateError(f"targets[{k}] is {shown(target)}; expected engine.Target(link, goal), or a dictionary {{link: goal}} for all")
    model.link_index(target.link)
    here = f"the target of link '{target.link}'"
    if target.kind is not None and target.kind not in KINDS:
        meant = nearest(str(target.kind), KINDS)
        raise StateError(f"the kind of {here} is {shown(target.kind)}{meant}; expected one of {', '.join(KINDS)}")
    kinds = [target.kind] if target.kind else [*KINDS]
    goal, kind = checked_array(here, target.goal, "a pose (..., 4, 4), a rotation (..., 3, 3) or a position (..., 3)", True,
                               {kind: KINDS[kind][0] for kind in kinds})  # fmt: skip
    if kind != "position":
        orthogonalize(here, goal, kind, target.kind is None)
    point, _ = checked_array(f"the point of {here}", target.point, "three numbers (m, in the link's frame)", False, {"": (3,)})
    weights, _ = checked_array(f"the weights of {here}", target.weights, "two numbers, of the angle and of the distance", False, {"": (2,)})
    if (weights < 0).any() or not weights[[*KINDS[kind][1]]].any():
        raise StateError(f"the weights of {here} are {weights.tolist()}; expected none below zero, and one above for what it asks")
    return Target(target.link, goal, point, weights, kind)


def orthogonalize(here: str, goal: Array, kind: str, guessed: bool) -> None:
    """Make the rotations of goals (..., 3, 3) or (..., 4, 4) orthogonal to rounding, in place; refuse what is none."""
    R = goal[..., :3, :3]
    skew = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-2, -1), initial=0.0)
    if len(bad := np.argwhere((skew > 1e-6) | (np.linalg.det(R) < 0))):
        hint = "; for positions: Target(link, goal, kind='position')" if kind == "rotation" and guessed else ""
        raise StateError(f"{here}{row_of(bad[0])} is no {kind}; expected an orthogonal, right-handed matrix{hint}")
    if kind == "pose" and len(bad := np.argwhere((goal[..., 3, :] != [0, 0, 0, 1]).any(axis=-1))):
        last = goal[..., 3, :][tuple(bad[0])].tolist()
        raise StateError(f"{here}{row_of(bad[0])} is no pose: its last row is {last}; expected 0 0 0 1")
    for _ in range(2):                                                                   # Newton's iteration to the polar factor
        R = 1.5 * R - 0.5 * R @ (np.swapaxes(R, -1, -2) @ R)
    goal[..., :3, :3] = R


def row_of(where: Array) -> str:
    """Return which row of a batch something is in, in words; nothing if there is no batch."""
    return f", in row {where.tolist() if len(where) > 1 else where[0]}," if len(where) else ""


def checked_array(what: str, x: Any, expected: str, batched: bool, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Array, str]:
    """Return x as new finite float64, and the name of the first shape that its last dimensions (all, if not ``batched``) have."""
    try:
        given = np.asarray(x)
    except (TypeError, ValueError):
        given = np.array(None)
    if given.dtype.kind not in "fiu":
        raise StateError(f"{what} is {shown(x)}; expected {expected}")
    a = given.astype(float)
    names = [name for name, shape in shapes.items() if a.shape[a.ndim - len(shape) if batched else 0 :] == shape and a.ndim >= len(shape)]
    if not names:
        raise StateError(f"{what} has shape {a.shape}; expected {expected}")
    if len(bad := np.argwhere(~(np.abs(a) <= 1e9))):
        row = row_of(bad[0][: a.ndim - len(shapes[names[0]])])
        raise StateError(f"{what}{row} holds {a[tuple(bad[0])]}; expected finite numbers, of 1e9 at most")
    return a, names[0]
