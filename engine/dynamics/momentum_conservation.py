"""Conservation of momentum: floating trees carry it as a state of its own, which nothing inside a robot, however stiff, changes.

Of each tree that floats, the momentum about its centre of mass and the centre of mass are states (9), which only forces from outside
change; after each step the root's place and twist are set to agree with them: the projection of :func:`engine.integrate.conserving`.
Trees that constraints join, whose forces change the momentum of each and not that of all, are one: its states are of the whole, which is
moved as one rigid body, so that what joins the trees holds as before. Those that grips join are one while they are closed.
Reference: Hairer, Lubich & Wanner, *Geometric Numerical Integration*, §IV.4 (projection onto invariants).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.model import Model
from engine.ops.linear import is_nonzero as is_there
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
#: the bodies of a tree, its root first, or those of several trees that are one
Tree = tuple[int, ...]
#: of the size of a momentum: an error that rounding makes
ROUNDING = 1e-13


def floating_trees(model: Model) -> tuple[Tree, ...]:
    """Return the trees whose root moves freely in the world, and which are made of rigid bodies with mass."""

    def floats(tree: Tree) -> bool:
        G = [model.bodies[i].inertia for i in tree]
        root = model.bodies[tree[0]]
        return (root.kind.floats and not model.armature[root.v].any()               # armature there is momentum that no body has
                and all(map(inertia.is_rigid, G)) and sum(map(inertia.mass, G)) > 0)  # fmt: skip

    return tuple(tree for tree in model.trees if floats(tree))


def joined_trees(model: Model, trees: tuple[Tree, ...], joined: Iterable[tuple[int, int]]) -> tuple[Tree, ...]:
    """Return floating trees, those that constraints join as one; what is joined to the world, or to what does not float, is none.

    Parameters
    ----------
    joined : pairs of bodies that constraints join, −1 the world
    """
    root = {i: tree[0] for tree in model.trees for i in tree}
    part = {r: r for r in (-1, *model.roots)}                                  # of each root the first of those that it is one with
    for i, j in joined:
        a, b = sorted(part[root.get(k, -1)] for k in (i, j))
        part = {r: a if p == b else p for r, p in part.items()}
    floating = {tree[0] for tree in trees}
    wholes = [[tree for tree in model.trees if part[tree[0]] == p] for p in dict.fromkeys(part.values()) if p >= 0]
    return tuple(sum(whole, ()) for whole in wholes if all(tree[0] in floating for tree in whole))


def shift_inertia(T: Array, I: Array, h: Array, m: Any, l: Array, f: Array) -> tuple[Array, Array, Array, Array]:
    """Return inertia, first moment, and momentum [l; f], of a mass m, seen from the frame in which their own has the pose T."""
    R, p = se3.rotation(T), se3.position(T)
    h, l, f = R @ h, R @ l, R @ f
    w = h + 0.5 * m * p
    shift = 2.0 * (w @ p) * np.eye(3) - np.outer(w, p) - np.outer(p, w)        # −[p] [h] − [h] [p] − m [p]²
    return inertia.mirrored(inertia.rotated(R, I) + shift), h + m * p, l + ops.cross(p, f), f


def composite(model: Model, tree: Tree, q: Array, v: Array) -> tuple[Array, Array, Any, Array, Array, Array]:
    """Return, of a whole tree in its root's axes: I (3×3) about the centre of mass, that centre c (3) from the root's origin, the mass m,
    the momentum [l about c; f] that is due to the joints' motion alone, with the root at rest, and how large that motion is.

    The last is [Σ |l_i|², Σ |f_i|²] (2) over what each joint moves, as the joint alone moves it: it is zero at rest only.

    From the leaves on, by sums of rigid bodies' inertias: a third of the operations that composite 6×6 matrices and twists take.
    """
    bodies = {i: model.bodies[i] for i in tree}
    I, h, m = ({i: part(b.inertia) for i, b in bodies.items()} for part in (lambda G: G[:3, :3], inertia.first_moment, inertia.mass))
    l: dict[int, Any] = {i: np.zeros(3) for i in tree}
    f: dict[int, Any] = {i: np.zeros(3) for i in tree}
    size: Any = np.zeros(2)
    for i in reversed(tree[1:]):
        body, p = bodies[i], bodies[i].parent
        V = body.subspace(q) @ v[body.v]
        own_l, own_f = I[i] @ V[:3] + ops.cross(h[i], V[3:]), m[i] * V[3:] + ops.cross(V[:3], h[i])
        carried, size = (I[i], h[i], m[i], l[i] + own_l, f[i] + own_f), size + ops.array([own_l @ own_l, own_f @ own_f])
        for T in (body.joint_pose(q), body.placement):                         # one by one: each has zeros that their product has not
            I_p, h_p, l_p, f_p = shift_inertia(T, *carried)
            carried = I_p, h_p, m[i], l_p, f_p
        I[p], h[p], m[p], l[p], f[p] = I[p] + I_p, h[p] + h_p, m[p] + m[i], l[p] + l_p, f[p] + f_p
    r = tree[0]
    c = h[r] / m[r]
    return I[r] - (h[r] @ c) * np.eye(3) + np.outer(h[r], c), c, m[r], l[r] - ops.cross(c, f[r]), f[r], size


def mass(model: Model, tree: Tree) -> Any:
    """Return the mass of a whole tree, added up as :func:`composite` does, to the last bit: one number of a program, not two."""
    m = {i: inertia.mass(model.bodies[i].inertia) for i in tree}
    parents = {i: model.bodies[i].parent for i in tree}
    for i, p in reversed(parents.items()):
        if p in m:
            m[p] = m[p] + m[i]
    return sum(m[i] for i, p in parents.items() if p not in m)


def root_pose(model: Model, tree: Tree, q: Array) -> tuple[Array, Array]:
    """Return R and p of a tree's root in the world."""
    T = model.bodies[tree[0]].placement
    x = q[model.bodies[tree[0]].q]
    R = quaternion.to_matrix(x[:4])
    if (np.eye(4) == T).all():
        return R, x[4:]
    return se3.rotation(T) @ R, se3.position(T) + se3.rotation(T) @ x[4:]


def split_tree(model: Model, tree: Tree) -> list[Tree]:
    """Return the trees that one consists of."""
    starts = [k for k, i in enumerate(tree) if model.bodies[i].parent < 0]
    return [tree[i:j] for i, j in zip(starts, [*starts[1:], len(tree)], strict=True)]


def central_momentum(model: Model, tree: Tree, q: Array, v: Array) -> Array:
    """Return [angular momentum about the centre of mass; linear; the centre of mass] of a tree in world axes (9)."""
    if len(parts := split_tree(model, tree)) > 1:
        return join_trees(model, parts, q, v).momentum
    (R, p), (I, c, m, l, f, _) = root_pose(model, tree, q), composite(model, tree, q, v)
    V = v[model.bodies[tree[0]].v]
    return np.concatenate([R @ (I @ V[:3] + l), R @ (m * (V[3:] + ops.cross(V[:3], c)) + f), p + R @ c])


def momentum_rate(model: Model, tree: Tree, q: Array, loads: Array, P: Array) -> Array:
    """Return the rate (9) of a tree's momentum state P (9) under generalized forces ``loads`` (nv), weight and wrenches among them."""
    if len(parts := split_tree(model, tree)) > 1:
        whole = join_trees(model, parts, q, np.zeros(model.nv))
        forces = [(R @ F[:3], R @ F[3:], p - whole.centre) for (R, p), F in
                  ((root_pose(model, part, q), loads[model.bodies[part[0]].v]) for part in parts)]  # fmt: skip
        moment, force = sum(m + ops.cross(r, f) for m, f, r in forces), sum(f for _, f, _ in forces)
        return np.concatenate([moment, force, P[3:6] / whole.mass])
    F = loads[model.bodies[tree[0]].v]
    velocity = P[3:6] / mass(model, tree)
    if not any(map(is_there, F)):
        return np.concatenate([np.zeros(6), velocity])
    R, c = root_pose(model, tree, q)[0], composite(model, tree, q, np.zeros(model.nv))[1]
    return np.concatenate([R @ (F[:3] - ops.cross(c, F[3:])), R @ F[3:], velocity])


def slip(error: Any, size: Any) -> Any:
    """Return an error, given squared, or zero where it is rounding of something of that size, squared."""
    return ops.sqrt(ops.where(error > ROUNDING * ROUNDING * size, error, 0.0))


def with_momentum(model: Model, tree: Tree, q: Array, v: Array, P: Array) -> tuple[Array, Array, Array]:
    """Return q and v with the root's place and twist such that a tree has the momentum and the centre of mass P (9), and what that moved.

    The last is [|ΔL|, L², |Δp|, p²] (4): the errors of the angular momentum about the centre of mass and of the linear momentum where they
    are more than rounding, each beside the size, squared, of what it is a sum of, the root's share and what each joint moves (of the
    latter, |p| times the radius of gyration counts as angular too).
    """
    if len(parts := split_tree(model, tree)) > 1:
        return moved_together(model, parts, q, v, P)
    root, whole = model.bodies[tree[0]], composite(model, tree, q, v)
    R, _ = root_pose(model, tree, q)
    V, moved = root_twist(R, v[root.v], whole, P)
    p = P[6:] - R @ whole[1]
    if root.placement.dtype == object or not (np.eye(4) == root.placement).all():
        p = se3.rotation(root.placement).T @ (p - se3.position(root.placement))
    q = np.concatenate([q[: root.q.start + 4], p, q[root.q.stop :]])
    return q, np.concatenate([v[: root.v.start], V, v[root.v.stop :]]), moved


def root_twist(R: Array, V: Array, whole: tuple[Any, ...], P: Array) -> tuple[Array, Array]:
    """Return the twist (6) of a tree's root at the attitude R that has the momentum P (9), and what that moved of V (6), as
    :func:`with_momentum` says; the ``whole`` tree is as :func:`composite` has it."""
    I, c, m, l, f, _ = whole
    own, wanted = I @ V[:3], R.T @ P[:3] - l                                   # of the root's turn, about the centre of mass
    through, through_wanted = m * (V[3:] + ops.cross(V[:3], c)), R.T @ P[3:6] - f
    (L, size), gyration = sizes(V, whole), radius_of_gyration(I, m)
    angular, linear = own - wanted, through - through_wanted
    moved = ops.array([slip(angular @ angular, L + gyration * size), L, slip(linear @ linear, size), size])
    w = ops.solve(I, wanted)
    return np.concatenate([w, through_wanted / m - ops.cross(w, c)]), moved


def radius_of_gyration(I: Array, m: Any) -> Any:
    """Return the radius of gyration, squared, m²."""
    return 0.5 * np.trace(I) / m


def sizes(V: Array, whole: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return L² and p², the sizes of what a tree's momenta are sums of (:func:`with_momentum`), whose root has the twist V (6)."""
    I, c, m, _, _, (turns, shifts) = whole
    own, swing = I @ V[:3], ops.cross(V[:3], c)
    return own @ own + turns + radius_of_gyration(I, m) * shifts, m * m * (V[3:] @ V[3:] + swing @ swing) + shifts


def append_stored(moved: Array, stored: Array) -> Array:
    """Return what was moved (4), as :func:`with_momentum` says, beside a momentum (9) that wheels store, which sums are of too."""
    dl, L, dp, p = moved
    size = L + stored[:3] @ stored[:3]
    return ops.array([slip(dl * dl, size), size, dp, p])


def add_moved(sums: Array, moved: Array) -> Array:
    """Return what the steps have moved until now (4), ``sums``, with what one more has: sums of the errors, and the largest sizes."""
    (angular, turn, linear, drift), (dl, l, dp, p) = sums, moved
    return ops.array([angular + dl, ops.maximum(turn, l), linear + dp, ops.maximum(drift, p)])


def defect(sums: Array) -> Array:
    """Return what the steps' errors (..., 4) of the angular momentum about the centre of mass add up to (...), relative to the largest.

    Those of the linear momentum do not count: a tree that flies faster moves the same within itself, and all that steps miss of a momentum
    that is the same in the world is how far the frame turns in which they see it, which the projection takes off to rounding.
    """
    sizes = np.sqrt(sums[..., 1])
    return np.divide(sums[..., 0], sizes, out=np.zeros(sizes.shape), where=sizes != 0.0)


# ---------------------------------------------------------------- trees that are one


class Whole(NamedTuple):
    """Several trees as one rigid body, in world axes: its inertia (3×3; 6×6 where links bend) about its centre of mass (3), its mass, its
    momentum (9) as :func:`central_momentum` has it, and the size of what that is a sum of, angular and linear, squared."""

    inertia: Array
    centre: Array
    mass: Any
    momentum: Array
    turns: Any
    shifts: Any


def join_trees(model: Model, parts: list[Tree], q: Array, v: Array) -> Whole:
    """Return several trees as one."""
    alone = []
    for part in parts:
        P, found = central_momentum(model, part, q, v), composite(model, part, q, v)
        I = inertia.mirrored(inertia.rotated(root_pose(model, part, q)[0], found[0]))
        alone.append(Whole(I, P[6:], found[2], P, *sizes(v[model.bodies[part[0]].v], found)))
    return united(alone)


def common_turn(model: Model, tree: Tree, q: Array, v: Array) -> float:
    """Return how fast a whole tree would turn, rad/s, if all that its angular momentum is a sum of had one direction."""
    whole = join_trees(model, split_tree(model, tree), q, v)
    return float(np.sqrt(whole.turns) / (np.trace(whole.inertia) / 3.0))


def with_body(I: Array, own: Array, m: Any, d: Array) -> Array:
    """Return an inertia (3×3) with that of a body at d (3) from where it is about: I + I_k + m (d·d 1 − d dᵀ)."""
    return I + own + m * ((d @ d) * np.eye(3) - np.outer(d, d))


def united(parts: Sequence[Whole], with_body: Callable[[Array, Array, Any, Array], Array] = with_body) -> Whole:
    """Return bodies as one: their inertias by ``with_body``, L = Σ l + d × p, with d from the centre of mass to a body's own."""
    mass, force = sum(part.mass for part in parts), sum(part.momentum[3:6] for part in parts)
    centre = sum(part.mass * part.momentum[6:] for part in parts) / mass
    I, L, turns, shifts = np.zeros(parts[0].inertia.shape), np.zeros(3), 0.0, 0.0
    for own, _, m, P, turn, slide in parts:
        d = P[6:] - centre
        orbit = ops.cross(d, P[3:6])
        I = with_body(I, own, m, d)
        L, turns, shifts = L + P[:3] + orbit, turns + turn + orbit @ orbit, shifts + slide
    return Whole(I, centre, mass, np.concatenate([L, force, centre]), turns, shifts)


def motion_to(whole: Whole, P: Array) -> tuple[Array, Array, Array]:
    """Return the twist [ω = I⁻¹ ΔL; u = Δp/m] (6) about its centre, and the shift (3), by which a whole has the momentum and the centre of
    mass P (9), and what that moves (4), as :func:`with_momentum` says."""
    wrong = P - whole.momentum
    return np.concatenate([ops.solve(whole.inertia, wrong[:3]), wrong[3:6] / whole.mass]), wrong[6:], corrected(whole, wrong)


def corrected(whole: Whole, wrong: Array) -> Array:
    """Return what a correction of the momentum of a whole moves (4), as :func:`with_momentum` says; ``wrong`` (9) is by how much."""
    angular, linear = wrong[:3], wrong[3:6]
    size = whole.turns + radius_of_gyration(whole.inertia[:3, :3], whole.mass) * whole.shifts
    return ops.array([slip(angular @ angular, size), whole.turns, slip(linear @ linear, whole.shifts), whole.shifts])


def moved_rigidly(model: Model, parts: list[Tree], q: Array, v: Array, about: Array, V: Array, shift: Array) -> tuple[Array, Array]:
    """Return q and v with trees moved as one rigid body, by V = [ω; u] (6): each root's twist grows by Rᵀ [ω; u + ω × (p − c)]."""
    new_q, new_v, w, u = q.copy(), v.copy(), V[:3], V[3:]
    for part in parts:
        root, (R, p) = model.bodies[part[0]], root_pose(model, part, q)
        new_v[root.v] = v[root.v] + np.concatenate([R.T @ w, R.T @ (u + ops.cross(w, p - about))])
        new_q[root.q.start + 4 : root.q.stop] = q[root.q.start + 4 : root.q.stop] + se3.rotation(root.placement).T @ shift
    return new_q, new_v


def moved_together(model: Model, parts: list[Tree], q: Array, v: Array, P: Array) -> tuple[Array, Array, Array]:
    """Return q and v of several trees, moved as one rigid body, with the momentum and the centre of mass P (9), and what that moved (4),
    as :func:`with_momentum` does of one."""
    whole = join_trees(model, parts, q, v)
    V, shift, moved = motion_to(whole, P)
    return *moved_rigidly(model, parts, q, v, whole.centre, V, shift), moved
