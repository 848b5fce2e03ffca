"""Conservation of the momentum of trees with links that bend by their modes.

Such a link moves as a body of the inertia G − L M⁻¹ Lᵀ, which is no rigid one's, and its modes carry the momentum b = L M⁻¹ π besides (see
:class:`engine.space.FlexibleBody`). A tree's momentum is then A V + B, of its root's twist V, a whole matrix A (6×6), and B of joints and
modes; its centre of mass is that of the true inertia. What is kept, and how, is said in :mod:`engine.dynamics.momentum_conservation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.dynamics import momentum_conservation
from engine.dynamics.gripped_momentum import Join
from engine.dynamics.gripped_momentum import with_momenta as of_rigid_trees
from engine.dynamics.momentum_conservation import Tree, root_pose, slip
from engine.model import Model
from engine.spatial import inertia, se3

Array = np.ndarray


class Bend(NamedTuple):
    """Of a body about its origin, in its axes: what its true inertia has more than that with which it moves (6×6), and the momentum (6)
    that its modes carry."""

    hidden: Array
    carried: Array


class Whole(NamedTuple):
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


def composite(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Whole:
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
    return Whole(A[r], B[r], h[r] / m[r], m[r])


def about(F: Array, c: Array) -> Array:
    """Return a momentum or wrench (6) about another point c (3)."""
    return np.concatenate([F[:3] - ops.cross(c, F[3:]), F[3:]])


def turned(R: Array, F: Array) -> Array:
    """Return a momentum or wrench (6) in other axes."""
    return np.concatenate([R @ F[:3], R @ F[3:]])


def central_momentum(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Array:
    """Return [angular momentum about the centre of mass; linear; the centre of mass] of a tree in world axes (9)."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.central_momentum(model, tree, q, v)
    (R, p), whole = root_pose(model, tree, q), composite(model, tree, q, v, bends)
    P = whole.inertia @ v[model.bodies[tree[0]].v] + whole.carried
    return np.concatenate([turned(R, about(P, whole.centre)), p + R @ whole.centre])


def momentum_rate(model: Model, tree: Tree, q: Array, loads: Array, P: Array, bends: Mapping[int, Bend]) -> Array:
    """Return the rate (9) of a tree's momentum state P (9) under generalized forces ``loads`` (nv) from outside."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.momentum_rate(model, tree, q, loads, P)
    R, _ = root_pose(model, tree, q)
    whole = composite(model, tree, q, np.zeros(model.nv), bends)
    return np.concatenate([turned(R, about(loads[model.bodies[tree[0]].v], whole.centre)), P[3:6] / whole.mass])


def momentum_rates(model: Model, trees: Sequence[Tree], q: Array, loads: Array, P: Array, bends: Mapping[int, Bend]) -> Array:
    """Return :func:`momentum_rate` of trees (trees, 9)."""
    rates = [momentum_rate(model, tree, q, loads, own, bends) for tree, own in zip(trees, P, strict=True)]
    return np.array(rates).reshape(len(trees), 9)


def with_momentum(model: Model, tree: Tree, q: Array, v: Array, P: Array, bends: Mapping[int, Bend]) -> tuple[Array, Array, Array]:
    """Return q and v with the root's place and twist such that a tree has the momentum and the centre of mass P (9), and what that moved
    (4), as :func:`engine.dynamics.momentum_conservation.with_momentum` says."""
    root, whole = model.bodies[tree[0]], composite(model, tree, q, v, bends)
    (R, _), c = root_pose(model, tree, q), whole.centre
    wanted = about(turned(R.T, P[:6]), -c)
    own = whole.inertia @ v[root.v]
    error, parts = about(own + whole.carried - wanted, c), (about(own, c), about(whole.carried, c))
    turn, shift = (sum(x[k] @ x[k] for x in parts) for k in (slice(0, 3), slice(3, 6)))
    gyration = 0.5 * np.trace(whole.inertia[:3, :3]) / whole.mass
    moved = ops.array([slip(error[:3] @ error[:3], turn + gyration * shift), turn, slip(error[3:] @ error[3:], shift), shift])
    p = P[6:] - R @ c
    if root.placement.dtype == object or not (np.eye(4) == root.placement).all():
        p = se3.rotation(root.placement).T @ (p - se3.position(root.placement))
    q = np.concatenate([q[: root.q.start + 4], p, q[root.q.stop :]])
    V = ops.solve(whole.inertia, wanted - whole.carried)
    return q, np.concatenate([v[: root.v.start], V, v[root.v.stop :]]), moved


def with_momenta(model: Model, trees: Sequence[Tree], q: Array, v: Array, P: Array, joins: Sequence[Join],
                 bends: Mapping[int, Bend]) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return q and v with the roots' places and twists such that trees have the momenta and the centres of mass P (trees, 9), P as it is
    then, and what that moved (trees, 4): :func:`engine.dynamics.gripped_momentum.with_momenta`. Nothing joins trees where any bends."""
    if not bends:
        return of_rigid_trees(model, trees, q, v, P, joins)
    moved: list[Any] = [None] * len(trees)
    for k, tree in enumerate(trees):
        if bends.keys() & {*tree}:
            q, v, moved[k] = with_momentum(model, tree, q, v, P[k], bends)
        else:
            q, v, moved[k] = momentum_conservation.with_momentum(model, tree, q, v, P[k])
    return q, v, P, np.array(moved)
