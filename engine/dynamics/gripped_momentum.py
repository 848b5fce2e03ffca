"""Conservation of the momentum of floating trees that grips join and let go: each keeps its own while its grips are open, and those that
closed ones join keep that of all, moved as one rigid body.

What is conserved stays a state of each tree (:mod:`engine.dynamics.momentum_conservation`); of trees that are joined the sum counts, and
each state is what its tree has then. So a tree that is let go keeps the momentum with which it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.dynamics.momentum_conservation import Tree, Whole, join_trees, motion_to, moved_rigidly, split_tree, united, with_momentum
from engine.model import Model

Array = np.ndarray


class Join(NamedTuple):
    """A grip: the two trees that it joins, by their places in a list, −1 what keeps no momentum; and whether it is closed (1 or 0)."""

    first: int
    second: int
    closed: Any


def joined_trees(n: int, joins: Sequence[Join]) -> Array:
    """Return which of n trees and what stands, the last, are one (n + 1, n + 1): 1 or 0.

    >>> joined_trees(3, [Join(0, 1, 1.0), Join(1, -1, 0.0), Join(2, -1, 1.0)]).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    found = np.eye(n + 1)
    for a, b, closed in joins:
        link = closed * np.outer(found[a], found[b])
        found = ops.maximum(found, ops.maximum(link, link.T))
    return found


def change_of(own: Whole, whole: Whole, V: Array) -> Array:
    """Return how the momentum (6) of a part of a whole changes where that is moved by V = [ω; u] (6)."""
    return np.concatenate([own.inertia @ V[:3], own.mass * (V[3:] + ops.cross(V[:3], own.centre - whole.centre))])


class Kind(NamedTuple):
    """Equations of one kind of trees: of rigid links, or of such that bend (:mod:`engine.dynamics.modal_momentum`)."""

    with_momentum: Callable[[Model, Tree, Array, Array, Array], tuple[Array, Array, Array]] = with_momentum
    join_trees: Callable[[Model, list[Tree], Array, Array], Whole] = join_trees
    united: Callable[[Sequence[Whole]], Whole] = united
    motion_to: Callable[[Whole, Array], tuple[Array, Array, Array]] = motion_to
    change_of: Callable[[Whole, Whole, Array], Array] = change_of


def with_momenta(model: Model, trees: Sequence[Tree], q: Array, v: Array, P: Array, joins: Sequence[Join] = (),
                 by: Kind = Kind()) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return q and v with the roots' places and twists such that trees have the momenta and the centres of mass P (trees, 9), those that
    grips join the sum of theirs; P as it is then; and what that moved (trees, 4), as :func:`with_momentum` says.

    What a closed grip holds to the world, or to what keeps no momentum, has what it has.
    """
    gripped = sorted({k for a, b, _ in joins for k in (a, b)} - {-1})
    moved: list[Any] = [None] * len(trees)
    for k, tree in enumerate(trees):
        if k not in gripped:
            q, v, moved[k] = by.with_momentum(model, tree, q, v, P[k])
    if not gripped:
        return q, v, P, np.array(moved).reshape(len(trees), 4)
    now, one = list(P), joined_trees(len(trees), joins)
    alone = [by.join_trees(model, split_tree(model, trees[k]), q, v) for k in gripped]
    wanted = [own._replace(momentum=P[k]) for k, own in zip(gripped, alone, strict=True)]
    for k, own in zip(gripped, alone, strict=True):
        shares, floats = one[k][gripped], 1.0 - one[k][-1]
        whole = by.united([share_of(part, share) for part, share in zip(alone, shares, strict=True)])
        target = by.united([share_of(part, share) for part, share in zip(wanted, shares, strict=True)]).momentum
        V, shift, found = (floats * x for x in by.motion_to(whole, target))
        q, v = moved_rigidly(model, split_tree(model, trees[k]), q, v, whole.centre, V, shift)
        then = own.momentum + np.concatenate([by.change_of(own, whole, V), shift])
        single = ops.logical_and(sum(shares) < 1.5, floats > 0.5)
        now[k], moved[k] = np.array([ops.where(single, x, y) for x, y in zip(P[k], then, strict=True)]), found
    return q, v, np.array(now), np.array(moved)


def share_of(part: Whole, share: Any) -> Whole:
    """Return a body of which a share counts: 1, or 0 for none."""
    P = part.momentum
    return part._replace(inertia=share * part.inertia, mass=share * part.mass, momentum=np.concatenate([share * P[:6], P[6:]]),
                         turns=share * part.turns, shifts=share * part.shifts)  # fmt: skip
