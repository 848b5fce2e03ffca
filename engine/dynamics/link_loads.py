"""Accelerations of links, and the load through a link's joint: what accelerometers and force–torque sensors measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dynamics.kinematics import GRAVITY, falling, forward_kinematics, link_wrenches
from engine.dynamics.rnea import accelerated
from engine.model import Model
from engine.spatial import se3
from engine.spatial.inertia import wrench
from engine.spatial.se3 import twist_to_child, wrench_to_parent

Array = np.ndarray


def accelerations(model: Model, q: Array, v: Array, vdot: Array, gravity: Any = (0.0, 0.0, 0.0)) -> Array:
    """Return V̇_L, the rates of the twists [ω; v] of all links, each in its own frame, (nlinks, 6).

    The acceleration of a link's origin, in its axes, is V̇[3:] + ω × v. With ``gravity`` (3) it is that of what does not fall: −g at rest.

    Parameters
    ----------
    q, v, vdot : configuration (nq), velocity (nv) and acceleration (nv)

    Raises
    ------
    StateError : a shape or value that is not what is expected

    References
    ----------
    Lynch & Park, *Modern Robotics*, §8.3.

    Examples
    --------
    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> accelerations(arm, np.zeros(7), np.zeros(7), np.zeros(7), (0.0, 0.0, -9.81))[0]
    array([0.  , 0.  , 0.  , 0.  , 0.  , 9.81])
    """
    return link_motions(model, q, v, vdot, gravity)[1]


def link_motions(model: Model, q: Array, v: Array, vdot: Array, gravity: Any) -> tuple[Array, Array]:
    """Return the twists of all links, and their rates, (nlinks, 6) each."""
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    motion, Vdot, _ = accelerated(model, q, v, vdot, falling(gravity), [np.zeros(6)] * (len(model.bodies) + 1))
    return tuple(np.array([twist_to_child(T_BL, V[body]) for body, T_BL in model.carrier]) for V in (motion.V, Vdot))  # type: ignore[return-value]


def transmitted_wrench(model: Model, q: Array, v: Array, vdot: Array, link: str, gravity: Any = GRAVITY,
                       wrenches: Array | None = None) -> Array:  # fmt: skip
    """Return the wrench [moment; force] (6) on a link by what carries it, through its joint, in the link's frame about its origin.

    Of the link and all that it carries, on welds as on joints, it is what their motion takes beside what acts from outside::

        F = Σ Ad(T_L)⁻ᵀ (G_L V̇_L − ad(V_L)ᵀ G_L V_L − F_ext,L)

    Parameters
    ----------
    q, v, vdot, gravity, wrenches : as :func:`rnea` takes them; what constraints exert belongs among the wrenches

    Raises
    ------
    StateError : a shape or value that is not what is expected
    ModelError : there is no such link

    References
    ----------
    Featherstone, *Rigid Body Dynamics Algorithms*, §5.3.

    Examples
    --------
    A 2 kg point on a 3 m horizontal rod is held by 2·9.81·3 N·m and 2·9.81 N:

    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> transmitted_wrench(arm.model(), np.zeros(1), np.zeros(1), np.zeros(1), "rod").round(9) + 0.0
    array([  0.  , -58.86,   0.  ,   0.  ,   0.  ,  19.62])
    """
    model.link_index(link)
    V, Vdot = link_motions(model, q, v, vdot, gravity)
    outside = np.zeros((len(model.links), 6)) if wrenches is None else link_wrenches(model, wrenches)
    T, total = forward_kinematics(model, q), np.zeros(6)
    own = se3.inv(T[model.link_index(link)])
    for name in links_carried_by(model, link):
        k = model.link_index(name)
        G = model.links[k].inertia
        F = wrench(G, V[k], Vdot[k]) - outside[k]
        total = total + (F if name == link else wrench_to_parent(own @ T[k], F))
    return total


def links_carried_by(model: Model, link: str) -> list[str]:
    """Return a link and all that hangs on it, by joints and welds."""
    found = [link]
    for joint in model.joints:                                                 # parents come before their children
        if joint.parent in found and joint.child not in found:
            found.append(joint.child)
    return found
