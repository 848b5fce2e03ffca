"""Changes of floating trees' momenta by contact impulses, for ``conserve_momentum``, where momenta are states of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.contact.contact_problem import ContactProblem, Patch
from engine.contact.pairs import GROUNDS, placed
from engine.contact.point_law import velocity, wrench_of
from engine.dynamics.momentum_conservation import Tree
from engine.geometry import Shape

Array = np.ndarray
#: of a plane, m
FLAT = 1e9


def momentum_changes(mass: Sequence[Any], trees: tuple[Tree, ...], momenta: Array, law: ContactProblem, free: Array,
                     impulses: list[Array]) -> Array:  # fmt: skip
    """Return what the impulses of contacts (n, 3 or 6) of every pair change of the momenta (trees, 9) of trees of some ``mass`` each, with
    the velocities ``free`` (nv), in the law's axes, before them.

    An impulse f acts on both trees at one place, and at the middle of the step (a = h/2), or where the law has it at once, at its beginning
    (a = h): when x was at x − a ẋ and the centre of mass at c − a p/m. A tree of the mass m then goes on by a f/m::

        p ← p + f,   l ← l + (x − c + a (p/m − ẋ)) × f,   c ← c + a f/m                    (1)

    So the sum of all momenta, angular ones about any point among them, stays to rounding. Where the other is the world, ẋ is p/m, as if
    all happened at once.
    """
    changes: list[Any] = [np.zeros(9) for _ in trees]
    ago = law.way * law.h
    of = {i: k for k, tree in enumerate(trees) for i in tree}
    V = law.axes.twists(free)
    for t, g in zip(law.patches, impulses, strict=True):
        a, b = of.get(t.pair.a.body), of.get(t.pair.b.body)
        if a == b:
            continue
        path = path_velocity(t, law, V)
        f, l = sum(g[:, :3]), sum(wrench_of(y, g_k)[:3] for y, g_k in zip(t.position, g, strict=True))
        for k, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            if k is None:
                continue
            drift = np.zeros(3) if other is None else ago * (momenta[k][3:6] / mass[k] - path)
            changes[k] = changes[k] + sign * change(momenta[k], mass[k], f, l, law.axes.about, drift, ago)
    return np.array(changes).reshape(len(trees), 9)


def change(P: Array, m: Any, f: Any, l: Any, about: Array, drift: Any, ago: Any) -> Array:
    """Return what an impulse f (3), with the moment l (3) ``about`` a point (3), changes of the momentum P (9) of a tree of the mass m:
    (1)."""
    return np.concatenate([l + ops.cross(about - P[6:9] + drift, f), f, ago / m * f])


def path_velocity(t: Patch, law: ContactProblem, V: list[Any]) -> Array:
    """Return the velocity ẋ (3) of the place where two shapes of a patch touch."""
    a, b = t.pair.a, t.pair.b
    v_a, v_b = (velocity(V[s.body], placed(law.axes.poses[s.body], s.center)) for s in (a, b))
    return place_velocity(roundness(a.shape), roundness(b.shape), v_a, v_b)


def place_velocity(R_a: Any, R_b: Any, v_a: Array, v_b: Array) -> Array:
    """Return the velocity ẋ (3) of the place where two shapes touch whose centres move at v (3), for balls of the radii R."""
    return np.asarray((R_b * v_a + R_a * v_b) / (R_a + R_b))


def roundness(shape: Shape) -> float:
    """Return about which radius a shape has where it is touched, m: flat ones a very large one."""
    if shape.rounding:
        return shape.rounding
    return FLAT if isinstance(shape, GROUNDS) else 1e3 * shape.bounding_radius
