"""All contacts of a step of bodies with joints as one impulse law: points are rows, what they do to each body is added up, then along
the joints, as composite inertias are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.contact_problem import AGREES
from engine.contact.many.pair_rows import (
    BEFORE,
    GAP,
    LINK_A,
    LINK_B,
    MATERIAL,
    NORMAL,
    PLACE,
    SHARE,
    SIZE,
    TURN,
    TURNING,
    VELOCITY,
    A,
    B,
    PairRows,
)
from engine.contact.many.sticking import found, kept
from engine.contact.momenta import acts_at_middle, change, gained
from engine.contact.newton import Smooth
from engine.contact.pairs import homogeneous, transformed_point
from engine.contact.point_law import HELD, RUNNING, rotated_sticking, unpacked_point, wrench_of
from engine.contact.world_axes import WorldAxes
from engine.dynamics.kinematics import path
from engine.dynamics.momentum_conservation import Tree
from engine.model import Model

Array = np.ndarray


class PointImpulses(NamedTuple):
    """Impulses of the points in a step: g (p, 3), or with couples (p, 6), on the second bodies; their wrenches (p, 6) about the origin of
    places; whether they push (p); their depths (p), of the thinner shape; how fast their springs alone would move bodies apart (p), m/s²;
    and what springs could give back as the step began (p), J, by how bodies have moved in its flight."""

    g: Any
    forces: Any
    pushes: Any
    depth: Any
    throw: Any
    energy: Any


class JointedProblem(Smooth):
    """The impulse law γ(x) of points of contact (p, 27 or more) in a step of h, of velocities x (nv) in ``axes``: a
    :class:`~engine.contact.newton.Law`, and the same as :class:`~engine.contact.contact_problem.ContactProblem`.

    Parameters
    ----------
    points : see :mod:`engine.contact.many.pair_rows`, seen from ``axes.about``
    pairs : what there may be; names : of all points that there may be
    places : what is stuck (n, 8 or 11), with the pairs' numbers: see :mod:`engine.contact.many.sticking`
    initial : T_WB of all bodies before the step, the world's last
    """

    def __init__(self, axes: WorldAxes, points: Any, pairs: PairRows, names: list[str], h: Any, before: Array, free: Array, slow: float,
                 way: float, places: Array, initial: list[Array]) -> None:  # fmt: skip
        self.axes, self.found, self.names, self.h, self.slow, self.way = axes, points, names, h, slow, way
        world = len(axes.poses) - 1
        moves = np.array([np.append(axes.ways.get(i, np.zeros(3)), 1.0 if i in axes.ways else 0.0) for i in range(world + 1)])
        self.poses = np.array([T[:3].ravel() for T in axes.poses])
        begun = np.array([T[:3].ravel() for T in initial])
        self.pairs, wide = pairs, point_law.TURNING if pairs.turns else RUNNING if pairs.runs else HELD

        def begin(p: Array, stuck: Array, alone_a: Array, alone_b: Array, *V: Array) -> tuple[Any, ...]:
            k, d, s, mu, static, w = p[MATERIAL]
            ago = way * h * ops.maximum(alone_a[3], alone_b[3])
            went, normal = ago * p[VELOCITY], point_law.turned_back(p[NORMAL], p[TURN], ago)
            shift = ops.cross(V[3][:3], alone_b[:3]) - ops.cross(V[2][:3], alone_a[:3])
            c = ops.array([k, d, h, s, mu, static, w, slow, way, *((*p[TURNING], p[SIZE]) if pairs.turns else ())])
            twists = V[1] - V[0], V[3] - V[2]
            turn = point_law.turned_on(twists[1][:3], went, shift)
            seen = normal[None], p[None, GAP], p[None, BEFORE], p[None, SHARE]
            made = point_law.point_rows_and_friction(c, (p[PLACE] - went)[None], *seen, turn[None], *twists, stuck)
            acts, meets = (ops.where(x, 1.0, 0.0) for x in (made[-1] > 0.0, ops.maximum(p[A], p[B]) < world - 0.5))
            return point_law.packed_point(c, made[:wide]), made[wide:-1], ops.array([acts, meets])

        def flight(T_a: Array, T_b: Array, P_a: Array, P_b: Array) -> Array:
            before, now = ((A.reshape(3, 4), B.reshape(3, 4)) for A, B in ((P_a, P_b), (T_a, T_b)))
            return point_law.relative_motion(before, now)

        *numbers, self.number = ops.rows(lambda p: tuple(p[:5]), points)
        self.on, self.links = tuple(numbers[:2]), tuple(numbers[2:])
        self.pair = ops.gather(pairs.pair, self.number)
        poses = [ops.gather(self.poses, k) for k in self.on]
        self.rotations = ops.rows(lambda T: T.reshape(3, 4)[:, :3].ravel(), poses[0])
        self.stuck = ops.rows(lambda S, T_a, T_b: seen_from(rotated_sticking(T_a.reshape(3, 4)[:, :3], S), T_b[3::4]),
                              found(places, len(pairs.sizes) - 1, pairs.turns, self.pair), *poses)  # fmt: skip
        if pairs.runs:
            self.stuck = ops.rows(lambda S, p: np.concatenate([S[:10], pairs.running(p), S[10:]]), self.stuck, points)
        alone = [ops.gather(moves, k) for k in self.on]
        self.points, self.friction, flags = ops.rows(begin, points, self.stuck, *alone, *self.twists(before), *self.twists(free))
        #: how pairs move in the flight (p, 6), and how bodies do before the step and at its end (n, 6), of :meth:`WorldAxes.motions`
        self.flight = ops.rows(flight, *poses, *(ops.gather(begun, k) for k in self.on))
        self.before, self.free = (np.array(axes.motions(axes.twists(x))) for x in (before, free))
        acts, meets = ops.total(flags)
        self.acts = acts > 0.0
        #: whether any point is between two bodies that move
        self.crosses: Any = meets > 0.0

    def standing(self) -> JointedProblem:
        """Return the same law where no point is between two bodies that move: what one limb does is nothing to another then."""
        found = copy.copy(self)
        found.crosses = None
        return found

    def twists(self, x: Array) -> tuple[Any, Any]:
        """Return the twists (p, 6) of the points' first and second bodies at x (nv)."""
        V = np.array(self.axes.twists(x))
        return ops.gather(V, self.on[0]), ops.gather(V, self.on[1])

    def on_bodies(self, to_a: Any, to_b: Any, columns: int) -> Array:
        """Return the sums (n + 1, columns) of what points do to their bodies."""
        return np.asarray(ops.add_at(np.zeros((len(self.axes.poses), columns)), self.on, (to_a, to_b)))

    def along(self, x: Array, d: Array, friction: Any) -> Callable[[Any], Array]:
        """Return the function of α that gives the slope (2) of ℓ at x + α d along d (nv), and how that changes."""
        W, D = (ops.rows(lambda V_a, V_b: V_b - V_a, *self.twists(y)) for y in (x, d))

        def at(a: Any) -> Array:
            def of_point(p: Array, f: Array, W: Array, D: Array) -> Array:
                return point_law.slope_and_curvature(*unpacked_point(p), f, W + a * D, D)

            return np.asarray(ops.total(ops.rows(of_point, self.points, friction, W, D)))

        return at

    @property
    def dual(self) -> Any:
        """The dual (p, 3) of :func:`engine.contact.point_law.dual_after` at first."""
        return ops.rows(lambda p: np.zeros(3) * p[0], self.points)

    def dual_after(self, x: Array, d: Array, friction: Any, dual: Any) -> Any:
        """Return the dual (p, 3) after a step d (nv) of Newton's method from x (nv)."""

        def one(p: Array, f: Array, V_a: Array, V_b: Array, D_a: Array, D_b: Array, y: Array) -> Array:
            return point_law.dual_after(unpacked_point(p)[1], f, V_b - V_a, D_b - D_a, y)

        return ops.rows(one, self.points, friction, *self.twists(x), *self.twists(d), dual)

    def pushes(self, x: Array, friction: Any, dual: Any = None) -> Any:
        """Return F (6) and K (21) of the points at x (nv), as :func:`engine.contact.point_law.wrench` has them."""

        def one(p: Array, f: Array, V_a: Array, V_b: Array, *y: Array) -> Array:
            c, row = unpacked_point(p)
            return point_law.wrench(c, row[None], f[None], V_b - V_a, np.array(y) if y else None)

        return ops.rows(one, self.points, friction, *self.twists(x), *([] if dual is None else [dual]))

    def impulse(self, x: Array, friction: Any, dual: Any = None) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv), with a ``dual`` (p, 3) of :func:`engine.contact.point_law.wrench`."""
        pushes = self.pushes(x, friction, dual)
        sums = self.on_bodies(ops.rows(lambda FK: np.concatenate([-FK[:6], FK[6:]]), pushes), pushes, 27)
        G, gamma = self.along_joints(sums[:, 6:]), self.axes.forces([*sums[:, :6]])
        if self.crosses is None:
            return gamma, G
        crossed = ops.when(self.crosses, lambda: self.crossed(pushes), np.zeros(G.shape))
        return gamma, G - crossed

    def along_joints(self, K: Array) -> Array:
        """Return Σ Jᵀ K J (nv, nv) of stiffnesses (n + 1, 21; upper triangles) of bodies: as composite inertias are added up."""
        model, whole = self.axes.model, [*K]
        G: Array = np.zeros((model.nv, model.nv), dtype=K.dtype)
        for i, body in reversed(list(enumerate(model.bodies))):
            own: dict[tuple[int, int], Any] = {}
            for j, column in self.axes.columns[i]:
                push = ops.symmetric(whole[i], 6) @ column                     # what holds a unit of this velocity back
                for k in path(model, i):
                    for m, other in self.axes.columns[k]:
                        if k == i:
                            own[j, m] = own[m, j] = other @ push
                        else:                                                  # twice where it is the same velocity, of joints that mimic
                            x = other @ push
                            G[j, m] = G[j, m] + x
                            G[m, j] = G[m, j] + x
            for jm, x in own.items():
                G[jm] = G[jm] + x
            whole[body.parent] = whole[body.parent] + whole[i]
        return G

    def crossed(self, pushes: Any) -> Array:
        """Return X + Xᵀ (nv, nv), X = Σ J_aᵀ K J_b of points: K J_b is added up on each body a, so that a point costs nv and not nv²."""
        nv, n = self.axes.model.nv, len(self.axes.poses)
        J: Array = np.zeros((n, 6, nv), dtype=np.result_type(*self.axes.poses))
        for i, body in enumerate(self.axes.model.bodies):
            J[i] = J[body.parent] if body.parent >= 0 else 0.0
            for j, column in self.axes.columns[i]:
                J[i, :, j] = J[i, :, j] + column

        def between(FK: Array, a: Any, b: Any) -> tuple[Array, Any]:
            return np.concatenate([FK[6:], [a, b]]), ops.logical_and(ops.largest(FK[6:]) > 0.0, ops.maximum(a, b) < n - 1.5)

        pushed = ops.chosen(*ops.rows(between, pushes, *self.on))              # of many that are near, few
        K, a, b = ops.rows(lambda x: (x[:21], x[21], x[22]), pushed)
        KJ = ops.rows(lambda K, J: (ops.symmetric(K, 6) @ J.reshape(6, nv)).ravel(), K, ops.gather(J.reshape(n, 6 * nv), b))
        on_a = np.asarray(ops.add_at(np.zeros((n, 6 * nv)), a, KJ))
        X = ops.product(J.reshape(6 * n, nv).T, on_a.reshape(6 * n, nv))
        return X + X.T

    def lagged(self, x: Array, friction: Any, falls: Any = None) -> tuple[Any, Any]:
        """Return the friction (p, 2 or 4) of all points that goes with the normal impulses at x (nv), or as much of that as was taken for
        it, where it ``falls`` only; and whether it is what was taken for it, about."""

        def one(p: Array, f: Array, V_a: Array, V_b: Array) -> tuple[Array, Array]:
            c, row = unpacked_point(p)
            *rubs, change, most = point_law.lagged(c, row[None], f[None], V_b - V_a, falls)
            return ops.array(rubs), ops.array([change * change, most * most])

        found, both = ops.rows(one, self.points, friction, *self.twists(x))
        changes, sizes = ops.total(both)
        return found, changes <= AGREES**2 * sizes

    def impulses(self, x: Array, friction: Any) -> tuple[PointImpulses, Array, Array]:
        """Return the impulses of the points; the generalized impulse (nv), on velocities of the model, of what lasts of them; and how pairs
        gave way (places, 8 or 11), with which the next step begins: at x (nv)."""
        h, wide = self.h, 6 if self.pairs.turns else 3

        def one(p: Array, row: Array, f: Array, V_a: Array, V_b: Array) -> tuple[Any, ...]:
            k, *_, w = p[MATERIAL]
            c, own = unpacked_point(row)
            g, lasting = np.split(point_law.impulses(c, own[None], f[None], V_b - V_a), [wide])
            pushes = ops.where(ops.norm(g[:3]) > 0.0, 1.0, 0.0)
            depth = pushes * ops.maximum(-gap_after(row, V_b - V_a), 0.0)
            return g, lasting, wrench_of(p[PLACE], g) / h, pushes, depth / (2.0 * p[SIZE]), p[None, SHARE] * k * w * depth

        g, lasting, forces, pushes, depth, throw = ops.rows(one, self.found, self.points, friction, *self.twists(x))
        lasts = self.axes.force_back(self.axes.forces([*self.on_bodies(ops.rows(lambda F: -F, lasting), lasting, 6)]))
        constants, rows = ops.rows(unpacked_point, self.points)
        moving, ago = np.array(self.axes.motions(self.axes.twists(x))), self.way * h

        def move(p: Array, flight: Array, S: Array, *V: Array) -> tuple[Array, Any]:
            a, b, to_a, to_b = (point_law.seen_at(W, S[6:9]) for W in V)
            k, _, s, *_ = p[MATERIAL]
            begun = p[GAP] + S[point_law.RECESS_SEEN] - p[NORMAL] @ point_law.displacement(flight, p[PLACE] - S[6:9])
            energy = point_law.kept_energy(k, s / k, h, ops.array([begun]), p[None, BEFORE], p[None, SHARE])
            return point_law.motion_after(flight, (to_a, to_b), b - a, ago, h - ago), energy

        changes = (ops.gather(moving - V, k) for V in (self.before, self.free) for k in self.on)
        moves, energy = ops.rows(move, self.found, self.flight, self.stuck, *changes)
        known = self.rotations, self.pairs.sizes, self.stuck, moves, self.pairs.places, self.pairs.turns
        gave = kept(rows, constants, friction, self.pair, self.twists(x), *known)
        return PointImpulses(g, forces, pushes, depth, throw, energy), lasts, gave

    def noted(self, impulses: PointImpulses, carried: Array) -> dict[str, Any]:
        """Return the notes of a step: wrenches, a table (n, 6), on links that are ``carried`` (n, 4) by bodies with these numbers, with
        origins there in their frames, about which they are in world axes; how many points push; how far shapes lie in each other at most,
        of the thinner one, and how springs throw a body, m/s², all that push it."""
        n, F = len(carried), impulses.forces
        on = ops.add_at(np.zeros((n + 1, 6)), self.links, (ops.rows(lambda F: -F, F), F))

        def about_origin(w: Array, link: Array, T: Array) -> Array:
            return np.concatenate([w[:3] - ops.cross(transformed_point(homogeneous(T), link[1:]), w[3:]), w[3:]])

        turned = ops.rows(about_origin, ops.gather(on, np.arange(float(n))), carried, ops.gather(self.poses, carried[:, 0]))
        return {"wrench": ops.table(turned), "count": ops.total(impulses.pushes), "overlap": ops.largest(impulses.depth),
                "throw": ops.largest(self.on_bodies(impulses.throw, impulses.throw, 1)[:-1, 0])}  # fmt: skip

    def seen(self, x: Array, impulses: PointImpulses) -> Any:
        """Return the points that push (p, 13 or 16): both links, place and normal in the world, gap, force (3) on the second, slip, and
        where there are some couple (3)."""

        def one(p: Array, row: Array, g: Array, V_a: Array, V_b: Array) -> tuple[Array, Any]:
            _, own = unpacked_point(row)
            n, _, ut = point_law.normal_and_slip(own, V_b - V_a)
            place, gap = np.split(self.place_and_gap(p, row, V_a, V_b), [3])
            seen = p[LINK_A : LINK_B + 1], place, n, gap, g[:3] / self.h, [ops.norm(point_law.slip(own, ut))], g[3:] / self.h
            return np.concatenate(seen), ops.norm(g[:3]) > 0.0

        return ops.chosen(*ops.rows(one, self.found, self.points, impulses.g, *self.twists(x)))

    def place_and_gap(self, p: Array, row: Array, V_a: Array, V_b: Array) -> Array:
        """Return a point's place in the world, where flight ends, and its gap after the impulses (4), with twists of its bodies."""
        return np.append(p[PLACE] + self.axes.about, gap_after(row, V_b - V_a))

    def forces(self, x: Array, impulses: PointImpulses) -> dict[str, Any]:
        """Return the forces, a table (points, 3), the places where they act and the gaps after them (points, 4), and where there are some
        the couples, of all points that there may be, at x (nv)."""
        h, wide = self.h, 6 if self.pairs.turns else 3

        own = ops.rows(self.place_and_gap, self.found, self.points, *self.twists(x))
        found = ops.add_at(np.zeros((len(self.names), wide)), self.number, impulses.g)
        pushes = ops.table(ops.rows(lambda sign, g: sign * g / h, self.pairs.signs, found))
        noted = {"forces": pushes[:, :3], "places": ops.add_at(np.zeros((len(self.names), 4)), self.number, own)}
        return {**noted, "couples": pushes[:, 3:]} if self.pairs.turns else noted

    def acting(self, x: Array, friction: Any) -> list[tuple[float, str]]:
        """Return the impulses at x (nv) that are not zero, and the names of their points."""
        sizes = np.linalg.norm(self.impulses(x, friction)[0].g[:, :3], axis=1)
        return [(float(size), f"the contact of {self.names[int(k)]}") for size, k in zip(sizes, self.number, strict=True) if size]

    def momentum_changes(self, model: Model, mass: Sequence[Any], trees: tuple[Tree, ...], begun: Array, momenta: Array,
                         impulses: PointImpulses) -> Array:  # fmt: skip
        """:func:`engine.contact.momenta.momentum_changes`, of rows."""
        of, last = {i: k for k, tree in enumerate(trees) for i in tree}, len(trees)
        tree = np.array([float(of.get(i, last)) for i in range(len(model.bodies) + 1)])
        alone = [1.0 if acts_at_middle(tree, False, self.way) else 0.0 for tree in trees]
        P = np.array([*(np.concatenate([p, [m, x], p0]) for p, m, x, p0 in zip(momenta, mass, alone, begun, strict=True)),
                      np.array([*[0.0] * 9, 1.0, *[0.0] * 10])])  # fmt: skip
        ago, c = self.way * self.h, self.axes.about
        on = ops.rows(lambda a, b: (a, b), *(ops.gather(tree, k) for k in self.on))

        def one(p: Array, g: Array, k_a: Any, k_b: Any, P_a: Array, P_b: Array) -> tuple[Array, Array]:
            apart = ops.where(ops.equal(k_a, k_b), 0.0, 1.0)

            def of_tree(P: Array, other: Any, theirs: Array) -> Array:
                meets = other < last - 0.5
                u = gained((P, P[11:], P[9]), (theirs, theirs[11:], ops.where(meets, theirs[9], 0.0)))
                drift = ops.where(ops.logical_or(meets, P[10] > 0.5), ago * (P[3:6] / P[9] - u - p[VELOCITY]), 0.0)
                return apart * change(P, P[9], g[:3], wrench_of(p[PLACE], g)[:3], c + drift, ago)

            return -of_tree(P_a, k_b, P_b), of_tree(P_b, k_a, P_a)

        to_a, to_b = ops.rows(one, self.found, impulses.g, *on, *(ops.gather(P, k) for k in on))
        return np.asarray(ops.add_at(np.zeros((last + 1, 9)), on, (to_a, to_b)))[:last]


def gap_after(row: Array, W: Array) -> Any:
    """Return the gap of a point of a row at the end of the step."""
    c, own = unpacked_point(row)
    return point_law.gap_after(c, own, point_law.normal_and_slip(own, W)[1])


def seen_from(S: Array, place: Array) -> Array:
    """Return the sticking S (7 or 10) with the place (3), from which it is seen, put in after its first six numbers."""
    return np.concatenate([S[:6], place, S[6:]])
