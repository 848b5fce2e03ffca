"""What contacts change of the momenta of floating trees, which are states of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.contact_laws import Touching
from engine.dynamics.momentum_conservation import Tree
from engine.model import Model
from engine.spatial import inertia

Array = np.ndarray


def momentum_changes(model: Model, trees: tuple[Tree, ...], momenta: Array, law: Touching, x: Array) -> Array:
    """Return what the impulses of contacts, with the velocities x (nv) in its axes after them, change of the trees' momenta (trees, 9).

    An impulse f acts on both trees at one place x, and at the middle of the step, when the centre of mass was at c − h/2 p/m: on a tree, of
    the mass m, that goes on by h/2 f/m::

        p ← p + f,   l ← l + (x − c) × f + h/2 (p/m − p̄) × f,   c ← c + h/2 f/m                (1)

    p̄ is a velocity common to both trees: their mean, or where the other is the world, the tree's own. So the sum of all momenta, angular
    ones about any point among them, stays to rounding.
    """
    changes: list[Any] = [np.zeros(9) for _ in trees]
    of = {i: k for k, tree in enumerate(trees) for i in tree}
    mass = [sum(inertia.mass(model.bodies[i].inertia) for i in tree) for tree in trees]
    for t, impulses in zip(law.found, law.impulses(x), strict=True):
        a, b = of.get(t.pair.a.body), of.get(t.pair.b.body)
        if a == b:
            continue
        f, l = sum(impulses), sum(ops.cross(y, g) for y, g in zip(t.position, impulses, strict=True))
        for k, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            if k is None:
                continue
            velocity = momenta[k][3:6] / mass[k]
            drift = np.zeros(3) if other is None else 0.25 * law.h * (velocity - momenta[other][3:6] / mass[other])
            turn = l + ops.cross(law.axes.about - momenta[k][6:] + drift, f)
            changes[k] = changes[k] + sign * np.concatenate([turn, f, 0.5 * law.h / mass[k] * f])   # (1)
    return np.array(changes).reshape(len(trees), 9)
