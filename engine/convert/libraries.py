"""Joint conventions of other libraries: how their coordinates and velocities differ from ours, a table of kinds for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import shaped
from engine.spatial import quaternion, so3

Array = np.ndarray
#: entries of our velocity, and whether the library has them in the axes of the parent, not of the child
Block = tuple[slice, bool]


# ---------------------------------------------------------------- quaternions, and other coordinates


def wxyz_to_xyzw(q: ArrayLike) -> Array:
    """Return [qx, qy, qz, qw] (..., 4) of quaternions [qw, qx, qy, qz] (..., 4), scalar first as in this engine, MuJoCo and Drake.

    >>> wxyz_to_xyzw([1.0, 0.0, 0.0, 0.0])
    array([0., 0., 0., 1.])
    """
    return shaped("q", q, 4)[..., [1, 2, 3, 0]]


def xyzw_to_wxyz(q: ArrayLike) -> Array:
    """Return [qw, qx, qy, qz] (..., 4) of quaternions [qx, qy, qz, qw] (..., 4), scalar last as in Pinocchio, ROS and SciPy.

    >>> xyzw_to_wxyz([0.0, 0.0, 0.0, 1.0])
    array([1., 0., 0., 0.])
    """
    return shaped("q", q, 4)[..., [3, 0, 1, 2]]


def same(q: Array) -> Array:
    """Return q as it stands."""
    return q


def circle(q: Array) -> Array:
    """Return [cos, sin] of the last entry, in its place."""
    return ops.array([*(q[..., i] for i in range(q.shape[-1] - 1)), ops.cos(q[..., -1] * 1.0), ops.sin(q[..., -1] * 1.0)])


def angle(q: Array) -> Array:
    """Return the angle, from −π to π, of the last two entries [cos, sin], in their place."""
    return ops.array([*(q[..., i] for i in range(q.shape[-1] - 2)), ops.arctan2(q[..., -1] * 1.0, q[..., -2] * 1.0)])


def roll_pitch_yaw(q: Array) -> Array:
    """Return roll, pitch and yaw of a unit quaternion."""
    return so3.to_rpy(quaternion.to_matrix(quaternion.normalize(q)))


def of_roll_pitch_yaw(q: Array) -> Array:
    """Return the unit quaternion of roll, pitch and yaw."""
    return quaternion.from_matrix(so3.from_rpy(q))


# ---------------------------------------------------------------- the libraries


@dataclass(frozen=True)
class JointConvention:
    """Convention of a library for a kind of joint: its coordinates, to them and back, and its velocities, as blocks of ours."""

    nq: int
    blocks: tuple[Block, ...]
    to: Callable[[Array], Array] = same
    back: Callable[[Array], Array] = same
    on_world: bool = False                                                      # its coordinates are the world's, whatever it hangs on
    parts: tuple[str, ...] = ()                                                 # several joints there, by the ends of their names


def permuted(*which: int) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return functions that put entries into another order, and back."""
    back = [which.index(i) for i in range(len(which))]
    return lambda q: q[..., list(which)], lambda q: q[..., back]


ANGULAR, LINEAR = slice(0, 3), slice(3, 6)
LINE = JointConvention(1, ((slice(0, 1), False),))
LINES = dict.fromkeys(("revolute", "continuous", "prismatic"), LINE)
UNIVERSAL = JointConvention(2, ((slice(0, 2), False),))
IN_PLANE: tuple[Block, ...] = (slice(0, 2), True), (slice(2, 3), False)
XYZW, POSE_XYZW, POSE_WXYZ = permuted(1, 2, 3, 0), permuted(4, 5, 6, 1, 2, 3, 0), permuted(4, 5, 6, 0, 1, 2, 3)


@dataclass(frozen=True)
class Library:
    """A library by its kinds of joints."""

    name: str
    joints: Mapping[str, JointConvention]
    sorted: bool = False                                                        # whether its reader takes children by their joints' names
    world: str | None = None                                                    # what it lists before all joints


PINOCCHIO = Library("Pinocchio", {
    **LINES, "screw": LINE, "universal": UNIVERSAL, "continuous": JointConvention(2, LINE.blocks, circle, angle),
    "planar": JointConvention(4, ((slice(0, 3), False),), circle, angle),
    "spherical": JointConvention(4, ((slice(0, 3), False),), *XYZW),
    "floating": JointConvention(7, ((LINEAR, False), (ANGULAR, False)), *POSE_XYZW),
}, sorted=True, world="universe")  # fmt: skip
MUJOCO = Library("MuJoCo", {
    **LINES, "planar": JointConvention(3, IN_PLANE, parts=("_TX", "_TY", "_RZ")), "spherical": JointConvention(4, ((slice(0, 3), False),)),
    "floating": JointConvention(7, ((LINEAR, True), (ANGULAR, False)), *POSE_WXYZ, on_world=True),
})  # fmt: skip
DRAKE = Library("Drake", {
    **LINES, "screw": LINE, "universal": UNIVERSAL, "planar": JointConvention(3, IN_PLANE),
    "spherical": JointConvention(3, ((slice(0, 3), True),), roll_pitch_yaw, of_roll_pitch_yaw),
    "floating": JointConvention(7, ((ANGULAR, True), (LINEAR, True))),
})  # fmt: skip
ROS = Library("ROS", {
    **LINES, "screw": LINE, "floating": JointConvention(7, ((LINEAR, False), (ANGULAR, False)), *POSE_XYZW, on_world=True),
})  # fmt: skip
