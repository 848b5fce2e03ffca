"""Motion as files keep it: the poses of links relative to the links that carry them, sampled at even times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.checks import number
from engine.model import Model
from engine.spatial import quaternion, se3
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene

Array = np.ndarray
MAX_POSES = 5_000_000                                                        # of links, of one actor: half a gigabyte at work
#: radii of a motion, by which it is away from the world's origin before single precision is seen
AWAY = 1e3
STILL = 1e-7                                                                  # m and quaternion entries: nothing to see in float32


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """An actor's links at the times of :func:`sample_times`, each relative to its parent link (the root link: to an origin in the world).

    Relative poses make a turning joint a turn alone, which linear interpolation of quaternions follows along the arc.

    Attributes
    ----------
    parents : for each link its parent's index, −1 for the root and for what is not carried; parents come before their children
    positions (T, instances, nlinks, 3) : m
    rotations (T, instances, nlinks, 4) : unit quaternions, scalar first, without jumps of sign in time
    moves, turns (nlinks) : whether the position and the rotation change at all, in any instance
    """

    parents: tuple[int, ...]
    positions: Array
    rotations: Array
    moves: Array
    turns: Array


def sample_times(scene: Scene, fps: float) -> Array:
    """Return even times (T), s, over the scene's span, 1/fps apart or a little less so that the last one is met; of a scene at rest one."""
    number("fps", fps, "samples per second, up to 1000", above=0, most=1000, error=ViewerError)
    first, last = scene.span
    steps = int(np.ceil((last - first) * float(fps) - 1e-9))
    for actor in scene.actors:
        poses = (steps + 1) * actor.instances * len(actor.model.links)
        if poses > MAX_POSES:
            raise ViewerError(f"'{actor.model.name}' has {poses} poses of links ({actor.instances} × {last - first:g} s × {fps:g}/s); "
                              f"expected up to {MAX_POSES}: a lower fps, a part of the trajectory, or fewer rollouts")  # fmt: skip
    return np.linspace(first, last, steps + 1)


def origin_of(scene: Scene) -> Array:
    """Return where positions in single precision are seen from (3), m: the middle of a motion far away, to the metre, else the world's."""
    middle, radius = scene.extent
    return np.round(middle) if np.linalg.norm(middle) > AWAY * radius else np.zeros(3)


def sampled(actor: Actor, times: Array, origin: Array | None = None) -> Motion:
    """Return the motion of an actor at times (T), s; before its first time it is at its first state, after its last at its last.

    What floats is not carried by the world's link: seen from an ``origin`` (3), m, near it, the world's may be far away.

    Raises
    ------
    ViewerError : the trajectory holds numbers that are not finite
    """
    poses = actor.source.links(actor.source.configurations(times))
    if origin is not None:
        poses = poses - np.pad(origin[:, None], ((0, 1), (3, 0)))
    parents = parent_links(actor.model)
    local = np.array(poses)
    for i, parent in enumerate(parents):
        if parent >= 0:
            local[:, :, i] = se3.inv(poses[:, :, parent]) @ poses[:, :, i]
    positions = np.moveaxis(local[..., :3, 3], 1, 0)
    rotations = continuous(np.moveaxis(quaternion.from_matrix(local[..., :3, :3]), 1, 0))
    moves = np.abs(positions - positions[:1]).max(axis=(0, 1, 3)) > STILL
    turns = np.abs(rotations - rotations[:1]).max(axis=(0, 1, 3)) > STILL
    return Motion(parents, positions, rotations, moves, turns)


def parent_links(model: Model) -> tuple[int, ...]:
    """Return for each link the index of the link that carries it, −1 for the root and for what floats."""
    above = {j.child: j.parent for j in model.joints if j.parent and not j.type.floats}
    index = {link.name: i for i, link in enumerate(model.links)}
    return tuple(index[above[link.name]] if link.name in above else -1 for link in model.links)


def continuous(q: Array) -> Array:
    """Return quaternions (T, ..., 4), each with the sign that is nearer to the one before it, so that they can be interpolated."""
    across = (q[1:] * q[:-1]).sum(axis=-1) < 0.0
    sign = np.where(np.cumsum(across, axis=0) % 2, -1.0, 1.0)
    return np.concatenate([q[:1], q[1:] * sign[..., None]])
