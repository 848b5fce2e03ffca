"""Conservation of the momentum of trees with links that bend by their modes.

Such a link moves as a body of the inertia G − L M⁻¹ Lᵀ, which is no rigid one's, and its modes carry the momentum b = L M⁻¹ π besides (see
:class:`engine.space.FlexibleBody`). A tree's momentum is then A V + B, of its root's twist V, a whole matrix A (6×6), and B of joints and
modes; its centre of mass is that of the true inertia. What is kept, and how, is said in :mod:`engine.dynamics.momentum_conservation`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.dynamics import gripped_momentum, momentum_conservation
from engine.dynamics.gripped_momentum import Join, Kind
from engine.dynamics.momentum_conservation import (
    Tree,
    Whole,
    corrected,
    moved_rigidly,
    radius_of_gyration,
    root_pose,
    slip,
    split_tree,
    united,
)
from engine.model import Model
from engine.spatial import inertia, se3

Array = np.ndarray


class Bend(NamedTuple):
    """Modal inertia and momentum of a body about its origin, in its axes: the true inertia minus the one with which it moves (6×6), and the
    momentum (6) of its modes."""

    hidden: Array
    carried: Array


class Composite(NamedTuple):
    """A tree about its root's origin, in its axes: A (6×6) and B (6) of its momentum A V + B, the centre of mass (3), and the mass."""

    inertia: Array
    carried: Array
    centre: Array
    mass: Any


def bends_of(model: Model, links: Mapping[str, Bend]) -> dict[int, Bend]:
    """Return by bodies what is given by links."""
    found: dict[int, Bend] = {}
    for link, (hidden, carried) in links.items():
        i, T = model.carrier[model.link_index(link)]
        own = Bend(inertia.transformed(T, hidden), se3.wrench_to_parent(T, carried))
        found[i] = Bend(found[i].hidden + own.hidden, found[i].carried + own.carried) if i in found else own
    return found


def composite(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Composite:
    """Return a tree as one, of joints' velocities in v; the root's has no part in it."""
    A = {i: model.bodies[i].inertia for i in tree}
    true = {i: A[i] + bends[i].hidden if i in bends else A[i] for i in tree}
    h, m = ({i: part(G) for i, G in true.items()} for part in (inertia.first_moment, inertia.mass))
    B: dict[int, Any] = {i: bends[i].carried if i in bends else np.zeros(6) for i in tree}
    for i in reversed(tree[1:]):
        body, p = model.bodies[i], model.bodies[i].parent
        T = body.placement @ body.joint_pose(q)
        A[p], B[p] = A[p] + inertia.transformed(T, A[i]), B[p] + se3.wrench_to_parent(T, B[i] + A[i] @ (body.subspace(q) @ v[body.v]))
        h[p], m[p] = h[p] + T[:3, :3] @ h[i] + m[i] * T[:3, 3], m[p] + m[i]
    r = tree[0]
    return Composite(A[r], B[r], h[r] / m[r], m[r])


def masses(model: Model, trees: Sequence[Tree], bends: Mapping[int, Bend]) -> list[Any]:
    """Return the masses of trees."""
    return [momentum_conservation.mass(model, tree) + sum(inertia.mass(bends[i].hidden) for i in tree if i in bends) for tree in trees]


def shift_momentum(F: Array, c: Array) -> Array:
    """Return a momentum or wrench (6) about another point c (3)."""
    return np.concatenate([F[:3] - ops.cross(c, F[3:]), F[3:]])


def rotate_momentum(R: Array, F: Array) -> Array:
    """Return a momentum or wrench (6) in other axes."""
    return np.concatenate([R @ F[:3], R @ F[3:]])


def central_momentum(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Array:
    """Return [angular momentum about the centre of mass; linear; the centre of mass] of a tree in world axes (9)."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.central_momentum(model, tree, q, v)
    if len(parts := split_tree(model, tree)) > 1:
        return join_trees(model, parts, q, v, bends).momentum
    (R, p), whole = root_pose(model, tree, q), composite(model, tree, q, v, bends)
    P = whole.inertia @ v[model.bodies[tree[0]].v] + whole.carried
    return np.concatenate([rotate_momentum(R, shift_momentum(P, whole.centre)), p + R @ whole.centre])


def momentum_rate(model: Model, tree: Tree, q: Array, loads: Array, P: Array, bends: Mapping[int, Bend]) -> Array:
    """Return the rate (9) of a tree's momentum state P (9) under generalized forces ``loads`` (nv) from outside."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.momentum_rate(model, tree, q, loads, P)
    if len(parts := split_tree(model, tree)) > 1:
        one = join_trees(model, parts, q, np.zeros(model.nv), bends)
        poses, roots = ([f(part) for part in parts] for f in (lambda part: root_pose(model, part, q), lambda part: model.bodies[part[0]].v))
        wrenches = [shift_momentum(rotate_momentum(R, loads[v]), one.centre - p) for (R, p), v in zip(poses, roots, strict=True)]
        return np.concatenate([sum(wrenches[1:], wrenches[0]), P[3:6] / one.mass])
    R, _ = root_pose(model, tree, q)
    whole = composite(model, tree, q, np.zeros(model.nv), bends)
    return np.concatenate([rotate_momentum(R, shift_momentum(loads[model.bodies[tree[0]].v], whole.centre)), P[3:6] / whole.mass])


def momentum_rates(model: Model, trees: Sequence[Tree], q: Array, loads: Array, P: Array, bends: Mapping[int, Bend]) -> Array:
    """Return :func:`momentum_rate` of trees (trees, 9)."""
    rates = [momentum_rate(model, tree, q, loads, own, bends) for tree, own in zip(trees, P, strict=True)]
    return np.array(rates).reshape(len(trees), 9)


def with_momentum(model: Model, tree: Tree, q: Array, v: Array, P: Array, bends: Mapping[int, Bend]) -> tuple[Array, Array, Array]:
    """Return q and v with the root's place and twist such that a tree has the momentum and the centre of mass P (9), and what that moved
    (4), as :func:`engine.dynamics.momentum_conservation.with_momentum` says."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.with_momentum(model, tree, q, v, P)
    if len(parts := split_tree(model, tree)) > 1:
        one = join_trees(model, parts, q, v, bends)
        V, shift, moved = motion_to(one, P)
        return *moved_rigidly(model, parts, q, v, one.centre, V, shift), moved
    root, whole = model.bodies[tree[0]], composite(model, tree, q, v, bends)
    (R, _), c = root_pose(model, tree, q), whole.centre
    wanted = shift_momentum(rotate_momentum(R.T, P[:6]), -c)
    own = whole.inertia @ v[root.v]
    error, sums = shift_momentum(own + whole.carried - wanted, c), (shift_momentum(own, c), shift_momentum(whole.carried, c))
    turn, swing = (sum(x[k] @ x[k] for x in sums) for k in (slice(0, 3), slice(3, 6)))
    gyration = radius_of_gyration(whole.inertia[:3, :3], whole.mass)
    moved = ops.array([slip(error[:3] @ error[:3], turn + gyration * swing), turn, slip(error[3:] @ error[3:], swing), swing])
    p = P[6:] - R @ c
    if root.placement.dtype == object or not (np.eye(4) == root.placement).all():
        p = se3.rotation(root.placement).T @ (p - se3.position(root.placement))
    q = np.concatenate([q[: root.q.start + 4], p, q[root.q.stop :]])
    V = ops.solve(whole.inertia, wanted - whole.carried)
    return q, np.concatenate([v[: root.v.start], V, v[root.v.stop :]]), moved


def alone(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Whole:
    """Return a tree by itself: of its inertia a common twist about the centre of mass changes the momentum."""
    (R, p), own, V = root_pose(model, tree, q), composite(model, tree, q, v, bends), v[model.bodies[tree[0]].v]
    parts = [rotate_momentum(R, shift_momentum(F, own.centre)) for F in (own.inertia @ V, own.carried)]
    turns, shifts = (sum(F[k] @ F[k] for F in parts) for k in (slice(0, 3), slice(3, 6)))
    A, centre = inertia.transformed(se3.pose(R, -(R @ own.centre)), own.inertia), p + R @ own.centre
    return Whole(A, centre, own.mass, np.concatenate([parts[0] + parts[1], centre]), turns, shifts)


def with_body(A: Array, own: Array, _: Any, d: Array) -> Array:
    """Return an inertia (6×6) with that of a body at d (3) from where it is about."""
    return A + inertia.transformed(se3.pose(np.eye(3), d), own)


def join_trees(model: Model, parts: Sequence[Tree], q: Array, v: Array, bends: Mapping[int, Bend]) -> Whole:
    """Return several trees as one."""
    return united([alone(model, part, q, v, bends) for part in parts], with_body)


def motion_to(whole: Whole, P: Array) -> tuple[Array, Array, Array]:
    """Return the twist A⁻¹ ΔP (6) about its centre, and the shift (3), by which a whole has the momentum and the centre of mass P (9), and
    what that moves (4)."""
    wrong = P - whole.momentum
    return ops.solve(whole.inertia, wrong[:6]), wrong[6:], corrected(whole, wrong)


def change_of(own: Whole, whole: Whole, V: Array) -> Array:
    """Return how the momentum (6) of a part of a whole changes where that is moved by V = [ω; u] (6)."""
    return own.inertia @ np.concatenate([V[:3], V[3:] + ops.cross(V[:3], own.centre - whole.centre)])


def with_momenta(model: Model, trees: Sequence[Tree], q: Array, v: Array, P: Array, joins: Sequence[Join],
                 bends: Mapping[int, Bend]) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return what :func:`engine.dynamics.gripped_momentum.with_momenta` does, of trees some of which have links that bend."""
    bending = Kind(functools.partial(with_momentum, bends=bends), functools.partial(join_trees, bends=bends),
                   functools.partial(united, with_body=with_body), motion_to, change_of)  # fmt: skip
    return gripped_momentum.with_momenta(model, trees, q, v, P, joins, bending if bends else Kind())
