"""Changes of floating trees' momenta by contact impulses, for ``conserve_momentum``, where momenta are states of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.contact.contact_problem import ContactProblem
from engine.contact.hunt_crossley import EVENLY
from engine.contact.point_law import wrench_of
from engine.dynamics.momentum_conservation import Tree
from engine.spatial import inertia, se3

Array = np.ndarray


def momentum_changes(mass: Sequence[Any], trees: tuple[Tree, ...], begun: Array, momenta: Array, law: ContactProblem,
                     impulses: list[Array]) -> Array:  # fmt: skip
    """Return the changes of the momenta (trees, 9) by the impulses of contacts (n, 3 or 6) of every pair; the momenta had ``begun`` the
    step as they were then, of trees of some ``mass`` each.

    An impulse f acts on both trees at one place, and at the middle of the step (a = h/2), or where the law has it at once, at its beginning
    (a = h): when x was at x − a ẋ and the centre of mass at c − a p/m. A tree of the mass m then goes on by a f/m::

        p ← p + f,   l ← l + (x − c + a (p/m − ẋ)) × f,   c ← c + a f/m                    (1)

    So the sum of all momenta, angular ones about any point among them, stays to rounding. Both velocities are those before the flight, so
    that what rests in each other's hold stays so: p/m is that after it but for :func:`gained`, which both trees have in common. Where the
    world acts on a tree of several bodies, or at once, ẋ is p/m, as if all happened at the end of the flight.
    """
    changes: list[Any] = [np.zeros(9) for _ in trees]
    ago = law.way * law.h
    of = {i: k for k, tree in enumerate(trees) for i in tree}
    for t, g in zip(law.patches, impulses, strict=True):
        a, b = of.get(t.pair.a.body), of.get(t.pair.b.body)
        if a == b:
            continue
        f, at_end = sum(g[:, :3]), sum(wrench_of(y, g_k)[:3] for y, g_k in zip(t.position, g, strict=True))
        at_middle = sum(wrench_of(y - ago * u, g_k)[:3] for y, u, g_k in zip(t.position, t.velocities, g, strict=True))
        for k, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            if k is None:
                continue
            middle = acts_at_middle(trees[k], other is not None, law.way)
            both = [(momenta[i], begun[i], mass[i]) for i in (k, other) if i is not None]
            l, drift = (at_middle, ago * (momenta[k][3:6] / mass[k] - gained(*both))) if middle else (at_end, np.zeros(3))
            changes[k] = changes[k] + sign * change(momenta[k], mass[k], f, l, law.axes.about + drift, ago)
    return np.array(changes).reshape(len(trees), 9)


def centre_velocity(G: Array, T: Array, V: Array) -> Array:
    """Return the velocity (3), in the world, of the centre of mass of a body with the inertia G, at T_WB, with the twist V in its frame."""
    return se3.rotation(T) @ (V[3:] + ops.cross(V[:3], inertia.center(G)))


def gained(*trees: tuple[Array, Array, Any]) -> Array:
    """Return the velocity (3) that the common centre of mass of trees gains in a flight, of their momenta (9) after and before it and their
    masses: what passes between them then, as by a grip, has no part in it."""
    return np.asarray(sum(P[3:6] - P0[3:6] for P, P0, _ in trees) / sum(m for *_, m in trees))


def acts_at_middle(tree: Tree, meets: bool, way: float) -> bool:
    """Return whether impulses act on a tree by its arms in the middle of the step: if it ``meets`` another tree, or is a single body on
    which the world acts evenly."""
    return meets or (len(tree) == 1 and way == EVENLY)


def change(P: Array, m: Any, f: Any, l: Any, about: Array, ago: Any) -> Array:
    """Return the change of the momentum P (9) of a tree of the mass m by an impulse f (3) with the moment l (3) ``about`` a point (3):
    (1)."""
    return np.concatenate([l + ops.cross(about - P[6:9], f), f, ago / m * f])
