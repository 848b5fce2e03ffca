"""Inverse kinematics by hand: a robot at rest turned so that a link comes to where a hand pulls it."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.model import Model
from engine.spatial import so3

Array = np.ndarray
#: steps of a reach, and what a joint's motion costs beside what is left to go (of the robot's size squared)
STEPS, DAMPING = 12, 1e-4
#: how far a step goes, at most, of the robot's size: what is far is not reached in one, and may never be
FARTHEST = 0.1
#: how far a joint goes in a step, at most, rad or m: near stretched arms a little of the way takes much of a turn
WIDEST = 0.3


def reach(robot: Any, q: Array, link: str, local: Array, goal: Array, turned: Array | None, size: float) -> Array:
    """Return a configuration (nq) near q, within the joints' limits, in which a point of a link is as near to a goal as joints let it.

    Damped least squares, ΔV = Jᵀ (J Jᵀ + λ² 1)⁻¹ e; a floating base stays where it is, if it is not what is pulled.

    Parameters
    ----------
    robot : compiled kinematics
    local (3) : the point in the link's frame, m; goal (3) : where it should be, world axes, m
    turned (3, 3) : the attitude that the link should have; None for any
    size : of the robot, m, for which a turn of one radian counts

    Reference: Wampler, *Manipulator inverse kinematic solutions based on vector formulations and damped least-squares methods*, 1986.
    """
    model: Model = robot.model
    i, own = model.link_index(link), movable(model, link)
    for _ in range(STEPS):
        T, J = robot.forward_kinematics(q)[i], robot.jacobian(q, link)
        R = T[:3, :3]
        J = R @ np.stack([J[:3], J[3:] - np.cross(local, J[:3], axisb=0, axisc=0)])            # of the point, world axes
        e = goal - T[:3, 3] - R @ local
        if turned is None:
            A = J[1][:, own]
        else:
            A, e = np.concatenate([size * J[0], J[1]])[:, own], np.concatenate([size * so3.log(turned @ R.T), e])
        if not A.any() or np.linalg.norm(e) < 1e-9 * size:
            break
        e *= min(1.0, FARTHEST * size / float(np.linalg.norm(e)))
        change = np.zeros(model.nv)
        change[own] = A.T @ np.linalg.solve(A @ A.T + DAMPING * size * size * np.eye(len(e)), e)
        change *= min(1.0, WIDEST / float(np.abs(change).max()))
        q = model.within_limits(model.integrate(q, change))
    return q


def movable(model: Model, link: str) -> Array:
    """Return which velocities (k) move a link that is pulled: those of joints between it and the root, but for a floating base."""
    body = model.carrier[model.link_index(link)][0]
    chain = []
    while body >= 0:
        chain.append(model.bodies[body])
        body = chain[-1].parent
    joints = [b for b in chain if not b.kind.floats] or chain
    return np.array(sorted({k for b in joints for k in range(b.v.start, b.v.stop)}), dtype=int)
