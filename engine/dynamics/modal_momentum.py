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
from engine.dynamics.gripped_momentum import Join, joined
from engine.dynamics.gripped_momentum import with_momenta as of_rigid_trees
from engine.dynamics.momentum_conservation import Tree, moved_rigidly, parted, root_pose, slip
from engine.dynamics.momentum_conservation import with_momentum as rigid_with
from engine.model import Model
from engine.spatial import inertia, se3, so3

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


def masses(model: Model, trees: Sequence[Tree], bends: Mapping[int, Bend]) -> list[Any]:
    """Return the masses of trees."""
    mass = [inertia.mass(b.inertia) + inertia.mass(bends[i].hidden) if i in bends else inertia.mass(b.inertia)
            for i, b in enumerate(model.bodies)]  # fmt: skip
    return [sum(mass[i] for i in tree) for tree in trees]


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
    if len(parts := parted(model, tree)) > 1:
        return together(model, parts, q, v, bends).momentum
    (R, p), whole = root_pose(model, tree, q), composite(model, tree, q, v, bends)
    P = whole.inertia @ v[model.bodies[tree[0]].v] + whole.carried
    return np.concatenate([turned(R, about(P, whole.centre)), p + R @ whole.centre])


def momentum_rate(model: Model, tree: Tree, q: Array, loads: Array, P: Array, bends: Mapping[int, Bend]) -> Array:
    """Return the rate (9) of a tree's momentum state P (9) under generalized forces ``loads`` (nv) from outside."""
    if not bends.keys() & {*tree}:
        return momentum_conservation.momentum_rate(model, tree, q, loads, P)
    if len(parts := parted(model, tree)) > 1:
        one = together(model, parts, q, np.zeros(model.nv), bends)
        poses, roots = ([f(part) for part in parts] for f in (lambda part: root_pose(model, part, q), lambda part: model.bodies[part[0]].v))
        wrenches = [about(turned(R, loads[v]), one.centre - p) for (R, p), v in zip(poses, roots, strict=True)]
        return np.concatenate([sum(wrenches[1:], wrenches[0]), P[3:6] / one.mass])
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


class Joined(NamedTuple):
    """A tree, or several as one, in world axes: A (6×6) about its centre of mass, of which a common twist there changes the momentum; the
    centre (3), the mass, the momentum (9), and the size of what that is a sum of, angular and linear, squared."""

    inertia: Array
    centre: Array
    mass: Any
    momentum: Array
    turns: Any
    shifts: Any


def alone(model: Model, tree: Tree, q: Array, v: Array, bends: Mapping[int, Bend]) -> Joined:
    """Return a tree by itself."""
    (R, p), whole, V = root_pose(model, tree, q), composite(model, tree, q, v, bends), v[model.bodies[tree[0]].v]
    parts = [turned(R, about(F, whole.centre)) for F in (whole.inertia @ V, whole.carried)]
    X, turn = moving(whole.centre), np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    turns, shifts = (sum(F[k] @ F[k] for F in parts) for k in (slice(0, 3), slice(3, 6)))
    centre = p + R @ whole.centre
    return Joined(turn @ X.T @ whole.inertia @ X @ turn.T, centre, whole.mass, np.concatenate([parts[0] + parts[1], centre]), turns, shifts)


def moving(c: Array) -> Array:
    """Return X (6×6): the twist about the origin of what turns and moves about a point c (3) is X times that, [ω; u + c × ω]."""
    return np.block([[np.eye(3), np.zeros((3, 3))], [so3.hat(c), np.eye(3)]])


def united(parts: Sequence[Joined]) -> Joined:
    """Return several as one: A = Σ Xᵀ A X, L = Σ l + d × p, with d from the centre of mass to a part's own."""
    mass, force = sum(part.mass for part in parts), sum(part.momentum[3:6] for part in parts)
    centre = sum(part.mass * part.momentum[6:] for part in parts) / mass
    A, L, turns, shifts = np.zeros((6, 6)), np.zeros(3), 0.0, 0.0
    for own, _, _, P, turn, slide in parts:
        d = P[6:] - centre
        X, orbit = moving(-d), ops.cross(d, P[3:6])
        A, L = A + X.T @ own @ X, L + P[:3] + orbit
        turns, shifts = turns + turn + orbit @ orbit, shifts + slide
    return Joined(A, centre, mass, np.concatenate([L, force, centre]), turns, shifts)


def together(model: Model, parts: Sequence[Tree], q: Array, v: Array, bends: Mapping[int, Bend]) -> Joined:
    """Return several trees as one."""
    return united([alone(model, part, q, v, bends) for part in parts])


def shared(part: Joined, share: Any) -> Joined:
    """Return one of which a share counts: 1, or 0 for none."""
    P = part.momentum
    return part._replace(inertia=share * part.inertia, mass=share * part.mass, momentum=np.concatenate([share * P[:6], P[6:]]),
                         turns=share * part.turns, shifts=share * part.shifts)  # fmt: skip


def motion_to(whole: Joined, P: Array) -> tuple[Array, Array, Array]:
    """Return the twist (6) about its centre, A⁻¹ ΔP, and the shift (3) by which a whole has the momentum and the centre of mass P (9), and
    what that moves (4), as :func:`engine.dynamics.momentum_conservation.with_momentum` says."""
    wrong = P - whole.momentum
    size = whole.turns + 0.5 * np.trace(whole.inertia[:3, :3]) / whole.mass * whole.shifts
    angular, linear = wrong[:3], wrong[3:6]
    moved = ops.array([slip(angular @ angular, size), whole.turns, slip(linear @ linear, whole.shifts), whole.shifts])
    return ops.solve(whole.inertia, wrong[:6]), wrong[6:], moved


def with_momenta(model: Model, trees: Sequence[Tree], q: Array, v: Array, P: Array, joins: Sequence[Join],
                 bends: Mapping[int, Bend]) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return q and v with the roots' places and twists such that trees have the momenta and the centres of mass P (trees, 9), P as it is
    then, and what that moved (trees, 4): :func:`engine.dynamics.gripped_momentum.with_momenta`, which is that of rigid bodies' trees."""
    if not bends:
        return of_rigid_trees(model, trees, q, v, P, joins)
    own = [together(model, parted(model, tree), q, v, bends) for tree in trees]
    wanted, one = [part._replace(momentum=p) for part, p in zip(own, P, strict=True)], joined(len(trees), joins)
    gripped, now, moved = sorted({k for a, b, _ in joins for k in (a, b)} - {-1}), list(P), list[Any]()
    for k, tree in enumerate(trees):
        if k not in gripped and len(parted(model, tree)) == 1:
            found = with_momentum(model, tree, q, v, P[k], bends) if bends.keys() & {*tree} else rigid_with(model, tree, q, v, P[k])
            q, v = found[:2]
            moved.append(found[2])
            continue
        within = gripped if k in gripped else [k]
        shares, floats = one[k][within], 1.0 - one[k][-1]
        whole, target = (united([shared(parts[i], share) for i, share in zip(within, shares, strict=True)]) for parts in (own, wanted))
        V, shift, sizes = (floats * x for x in motion_to(whole, target.momentum))
        q, v = moved_rigidly(model, parted(model, tree), q, v, whole.centre, V[:3], V[3:], shift)
        then = own[k].momentum + np.concatenate([own[k].inertia @ (moving(whole.centre - own[k].centre) @ V), shift])
        single = ops.logical_and(sum(shares) < 1.5, floats > 0.5)
        now[k] = np.array([ops.where(single, x, y) for x, y in zip(P[k], then, strict=True)])
        moved.append(sizes)
    return q, v, np.array(now), np.array(moved).reshape(len(trees), 4)
