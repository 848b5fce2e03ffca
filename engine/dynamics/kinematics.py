"""Forward kinematics: where every body and link is, and how it moves.

Lists with an entry per body end with the world's, as its index is −1: a root body needs no case of its own. ``T_W[−1] = 1``,
``V[−1] = 0``, ``V̇[−1] = [0; −g]``; what sums towards the roots (forces, inertias, momentum) ends up in the world's entry, in its axes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import numpy as np

from engine.checks import array, shown, warn
from engine.dynamics.each_tree import each_tree, links
from engine.model import Body, Model, StateError
from engine.spatial.se3 import twist_to_child, wrench_to_parent

Array = np.ndarray
P = ParamSpec("P")
GRAVITY = (0.0, 0.0, -9.81)


def within_range(f: Callable[P, Array]) -> Callable[P, Array]:
    """Let a function return NaN or infinity with one warning, or as ``np.errstate(invalid=...)`` says, as compiled functions do.

    What overflows on the way is no news.
    """

    @functools.wraps(f)
    def checked(*args: P.args, **named: P.kwargs) -> Array:
        with np.errstate(all="ignore"):
            result = f(*args, **named)
        how = np.geterr()["invalid"]
        if how != "ignore" and result.dtype != object and not np.isfinite(result).all():
            text = f"{f.__name__} returned NaN or infinity"
            if how == "raise":
                raise FloatingPointError(text)
            warn(text, RuntimeWarning)
        return result

    return checked


def body_poses(model: Model, q: Array) -> list[Array]:
    """Return T_WB of every body, and last the world's: T_WB = T_WP T_PB(q)."""
    T_W: list[Any] = [None] * len(model.bodies) + [np.eye(4)]
    for i, body in enumerate(model.bodies):
        T_W[i] = T_W[body.parent] @ body.pose(q)
    return T_W


def path(model: Model, i: int, top: int = -1) -> list[int]:
    """Return the bodies from i up, to below ``top``: by default to its root."""
    found = []
    while i != top:
        found.append(i)
        i = model.bodies[i].parent
    return found


class Motion:
    """Twists of all bodies, found in one sweep from the roots on: V_B = Ad(T_PB)⁻¹ V_P + S v.

    Attributes
    ----------
    T, T_J : T_PB, poses of the bodies in their parents, and those in their joints' frames
    S : motion subspaces, 6×nv
    V_J : S v, twists relative to the parents, in the bodies' frames
    V : twists in the bodies' frames, the world's last
    """

    def __init__(self, model: Model, q: Array, v: Array) -> None:
        self.model, self.v = model, v
        poses = [body.poses(q) for body in model.bodies]
        self.T: list[Any] = [T for T, _ in poses]
        self.T_J: list[Any] = [T_J for _, T_J in poses]
        self.S: list[Any] = [body.subspace(q) for body in model.bodies]
        self.V_J: list[Any] = [None] * len(model.bodies)
        self.V: list[Any] = [None] * len(model.bodies) + [np.zeros(6)]

    def sweep(self) -> Iterator[tuple[int, Body]]:
        """Yield every body and its index as soon as its twist is known; used at once, it is still in a register of the compiled program."""
        for i, body in enumerate(self.model.bodies):
            self.V_J[i] = self.S[i] @ self.v[body.v]
            self.V[i] = twist_to_child(self.T[i], self.V[body.parent]) + self.V_J[i]
            yield i, body


def body_motion(model: Model, q: Array, v: Array) -> Motion:
    """Return how every body moves, the sweep done."""
    motion = Motion(model, q, v)
    for _ in motion.sweep():
        pass
    return motion


@each_tree(links)
def forward_kinematics(model: Model, q: Array) -> Array:
    """Return the poses T_WL of all links in the world, (nlinks, 4, 4), in the order of ``model.links``.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> forward_kinematics(arm.model(), np.array([np.pi / 2]))[1, :3, 0].round(9) + 0.0     # the rod points up
    array([0., 0., 1.])
    """
    q = model.checked("q", q)
    T_W = body_poses(model, q)
    return np.array([T_W[body] @ T_BL for body, T_BL in model.carrier])


@each_tree(links)
def twists(model: Model, q: Array, v: Array) -> Array:
    """Return the body twists [ω; v] of all links, each in its own frame, (nlinks, 6).

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> twists(arm.model(), np.zeros(1), np.array([2.0]))[1] + 0.0
    array([ 0., -2.,  0.,  0.,  0.,  0.])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    V = body_motion(model, q, v).V
    return np.array([twist_to_child(T_BL, V[body]) for body, T_BL in model.carrier])


def body_wrenches(model: Model, wrenches: Array | None) -> list[Any]:
    """Return the external wrench on each body, and on the world, in its frame, from those on the links in theirs."""
    F: list[Any] = [np.zeros(6) for _ in range(len(model.bodies) + 1)]
    if wrenches is None:
        return F
    for (body, T_BL), wrench in zip(model.carrier, link_wrenches(model, wrenches), strict=True):
        F[body] = F[body] + wrench_to_parent(T_BL, wrench)
    return F


def link_wrenches(model: Model, wrenches: Any) -> Array:
    """Return the external wrenches on the links, checked: (nlinks, 6)."""
    W = array("wrenches", wrenches, StateError)
    if W.shape != (len(model.links), 6):
        raise StateError(f"wrenches has shape {W.shape}; expected ({len(model.links)}, 6), one per link of '{model.name}'")
    if W.dtype != object and not np.isfinite(W).all():
        link = int(np.argwhere(~np.isfinite(W))[0][0])
        raise StateError(f"wrenches[{link}] (link '{model.links[link].name}') is {W[link].tolist()}; expected finite numbers")
    return W


def falling(gravity: Any) -> Array:
    """Return the world's acceleration V̇ = [0; −g], by which gravity enters: all falls as if the world rose."""
    return np.concatenate([np.zeros(3), -checked_gravity(gravity)])


def checked_gravity(gravity: Any) -> Array:
    """Return gravity as three numbers; traced ones pass."""
    return vector("gravity", gravity, 3, "three finite numbers, m/s² in world axes, such as (0, 0, -9.81)")


def vector(name: str, x: Any, n: int, expected: str) -> Array:
    """Return x as n numbers, all finite; traced ones pass."""
    try:
        a = np.asarray(x)
    except ValueError:                                                          # ragged
        a = np.zeros(())
    if a.shape != (n,) or a.dtype.kind not in "fiubO" or (a.dtype != object and not np.isfinite(a).all()):
        raise StateError(f"{name} is {shown(x)}; expected {expected}")
    return a
