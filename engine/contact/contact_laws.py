"""Contacts as impulses over a step: at each point a spring that pushes and loses, and Coulomb's friction.

The normal impulse is a function of the velocity after the step, as :mod:`engine.contact.hunt_crossley` has it. Friction is that of a
normal impulse that is known, of the velocity before the step at first, and then of what this leads to: so both are gradients of one convex
function. It is regularised: below a speed v_s a contact sticks, and creeps at less.

Reference: Castro, Han & Masterjohn, *Irrotational contact fields*, arXiv:2312.03908.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import lasts, normal_impulse, weight
from engine.contact.material import STRIBECK
from engine.contact.pairs import Began, Nearness, Pair, Touch, nearness, touch
from engine.contact.world_axes import WorldAxes
from engine.dynamics.kinematics import body_motion, body_poses, path
from engine.geometry import Plane
from engine.model import Model
from engine.spatial import se3, so3

Array = np.ndarray
#: of what a normal impulse changes of the velocity: a slip below which friction counts as sticking, so that Newton's method finds it
STIFFEST = 1e-3
UPPER = np.triu_indices(6)


class Point(NamedTuple):
    """What one point of a pair obeys in a step: see :func:`impulse` and :func:`wrench`.

    Attributes
    ----------
    spring : what :func:`~engine.contact.hunt_crossley.normal_impulse` takes besides u
    normal : n (3)
    friction : μ times the normal impulse that is known, N·s, and the speed that counts as rest, m/s
    """

    spring: Array
    normal: Array
    friction: Array


def surface(pair: Pair, stiction: float) -> Array:
    """Return what a pair's friction is made of: kinetic and static μ, w, and the speed that counts as rest."""
    m = pair.material
    return np.array([m.friction, m.static, pair.mobility, stiction])


def pushed(spring: Array, u: Any) -> Any:
    """Return the normal impulse at the normal velocity u."""
    k, d, h, s, gap, before, free = spring
    return normal_impulse(k, d, h, s, gap, before, free, u)[0]


def rubbing(surface: Array, normal: Any, slip2: Any) -> Array:
    """Return what friction there is, μ γ, and the speed that counts as rest, by a normal impulse and a slip, squared, that are known."""
    kinetic, static, mobility, stiction = surface
    mu = kinetic + (static - kinetic) * ops.exp(-slip2 / STRIBECK**2)
    return ops.array([mu * normal, ops.maximum(STIFFEST * mobility * mu * normal, stiction)])


def velocity(W: Array, x: Array) -> Array:
    """Return the velocity (3) of a point x (3) of what moves with the twist W (6) in world axes."""
    return W[3:] + ops.cross(W[:3], x)


def begun(spring: Array, surface: Array, n: Array, x: Array, was: Array, flown: Array) -> Array:
    """Return n·u after flight, the friction (2) that goes with what was before, and the normal impulse at the end of flight."""
    u0, free = velocity(was, x), n @ velocity(flown, x)
    k, d, h, s, gap, before, _ = spring
    spring = ops.array([k, d, h, s, gap, before, free])
    slip = u0 - (n @ u0) * n
    return ops.array([free, *rubbing(surface, pushed(spring, before), slip @ slip), pushed(spring, free)])


def lagged(spring: Array, surface: Array, n: Array, x: Array, W: Array) -> Array:
    """Return the friction (2) that goes with a twist."""
    u = velocity(W, x)
    slip = u - (n @ u) * n
    return rubbing(surface, pushed(spring, n @ u), slip @ slip)


def impulse(spring: Array, friction: Array, n: Array, x: Array, W: Array) -> Array:
    """Return g (3) at a twist, and as much of it as lasts: g or, where the contact opens within the next step, zero."""
    u, (rubs, slow) = velocity(W, x), friction
    un, (_, _, h, _, gap, _, free) = n @ u, spring
    ut = u - un * n
    g = pushed(spring, un) * n - drag(rubs, slow, ut)[0] * ut
    return np.concatenate([g, ops.where(lasts(h, gap, free, un), 1.0, 0.0) * g])


def drag(rubs: Any, slow: Any, ut: Array) -> tuple[Any, Any]:
    """Return b = μ γ/max(|uₜ|, v_s), and 1/|uₜ|² where it slides, else 0."""
    slip2, slow2 = ut @ ut, slow * slow
    most = ops.maximum(slip2, slow2)
    return rubs / ops.sqrt(most), ops.where(slip2 > slow2, 1.0 / most, 0.0)


def wrench(spring: Array, friction: Array, n: Array, x: Array, W: Array) -> Array:
    """Return F = Cᵀ g (6) and the upper triangle of K = Cᵀ G C (21) of a point at x (3), with u = C W; zeros where nothing acts.

    With G = b 1 + (a − b) n nᵀ − b uₜ uₜᵀ/|uₜ|², the last where it slides, K is a sum of squares of Cᵀ 1, Cᵀ n and Cᵀ uₜ.
    """
    u, (rubs, slow) = velocity(W, x), friction
    un = n @ u
    k, d, h, s, gap, before, free = spring
    push, slope = normal_impulse(k, d, h, s, gap, before, free, un)

    def acting() -> Array:
        ut = u - un * n
        b, slides = drag(rubs, slow, ut)
        X = so3.hat(x)
        m, w = np.concatenate([X @ n, n]), np.concatenate([X @ ut, ut])
        K = b * np.block([[-X @ X, X], [-X, np.eye(3)]]) + (slope - b) * np.outer(m, m) - b * slides * np.outer(w, w)
        return np.concatenate([push * m - b * w, K[UPPER]])

    return ops.when(ops.logical_or(push > 0.0, rubs > 0.0), acting, np.zeros(27))


class ContactLaws:
    """The laws of pairs in one step.

    Parameters
    ----------
    stiction : the speed that counts as rest, m/s
    """

    def __init__(self, model: Model, pairs: list[Pair], stiction: float) -> None:
        self.model, self.pairs, self.stiction = model, pairs, stiction

    @property
    def names(self) -> list[str]:
        """The points' names."""
        return [f"{p.name}.{k}" if p.points > 1 else p.name for p in self.pairs for k in range(p.points)]

    @property
    def sizes(self) -> Array:
        """Of each point (points) half of how thick the thinner of its two shapes is, m."""
        return np.array([p.size for p in self.pairs for _ in range(p.points)])

    def step(self, h: Any, q0: Array, v0: Array, q: Array, free: Array, found: Nearness, keep: frozenset[int] = frozenset()) -> Touching:
        """Return the laws of a step of h from q0 (nq) and v0 (nv), whose flight ends at q (nq) and ``free`` (nv), for those pairs that have
        been found near there; velocities in ``keep`` stay what they are (:class:`~engine.contact.world_axes.WorldAxes`)."""
        axes = WorldAxes(self.model, q, found.poses, se3.position(found.poses[self.pairs[0].b.body]), keep)
        return Touching(axes, self.touches(q0, v0, found, axes.about), h, axes.seen(v0), axes.seen(free), self.stiction)

    def touches(self, q0: Array, v0: Array, found: Nearness, about: Array) -> list[Touch]:
        """Return where the pairs are, seen from a point (3), after a step from q0 and v0."""
        began = Began(body_poses(self.model, q0), body_motion(self.model, q0, v0).V)
        return [touch(pair, apart, near, found.poses, about, began)
                for pair, apart, near in zip(self.pairs, found.apart, found.near, strict=True)]  # fmt: skip

    def nearness(self, q: Array, v: Array, h: Any) -> Nearness:
        """Return which pairs are at q (nq) close enough to have met within h at v (nv)."""
        return nearness(self.model, self.pairs, q, self.reach(v, h))

    def distant(self, q: Array, v: Array, h: Any) -> Any:
        """Return whether all that may meet belongs to trees that float, and is within h at v (nv) from q (nq) too far apart to have met,
        whatever the joints do: for most of a flight this is known without the poses of the bodies."""
        if self.bounds is None:
            return False
        T_W, ways, near, bodies = {-1: np.eye(4)}, {-1: self.bounds[-1]}, False, self.model.bodies
        for r in self.bounds.keys() - {-1}:
            slides = sum(abs(b.ratio * q[b.q][0] + b.offset) + h * abs(b.ratio * v[b.v][0]) for b in (bodies[i] for i in self.sliding[r]))
            far, V = self.bounds[r] + slides, v[bodies[r].v]
            T_W[r], ways[r] = bodies[r].pose(q), far + h * (ops.norm(V[3:]) + far * ops.norm(V[:3]))
        for a, b, plane in self.meetings:
            d = se3.position(T_W[b]) - se3.position(T_W[a])
            apart = ops.norm(d) - ways[a] if plane is None else plane[:3, 2] @ (d - plane[:3, 3])
            near = ops.logical_or(near, apart <= ways[b])
        return ops.logical_not(near)

    @functools.cached_property
    def bounds(self) -> dict[int, float] | None:
        """How far from its root's origin a shape of each floating tree can be, but for what its joints slide, and from the world's one that
        stands still (−1); None where one that may touch does not float, or has other joints that translate."""
        bodies, far = self.model.bodies, [0.0] * (len(self.model.bodies) + 1)
        for shape in (s for pair in self.pairs for s in (pair.a, pair.b) if not isinstance(s.shape, Plane)):
            far[shape.body] = max(far[shape.body], float(np.linalg.norm(shape.center)) + shape.shape.bounding_radius)
        for i, body in reversed(list(enumerate(bodies))):
            if body.parent >= 0 and far[i]:
                far[body.parent] = max(far[body.parent], far[i] + float(np.linalg.norm(body.placement[:3, 3])))
        roots = {r for a, b, _ in self.meetings for r in (a, b)} - {-1}
        turning = all(i in self.sliding[r] or not bodies[i].subspace(self.model.neutral())[3:].any()
                      for r in roots for tree in self.model.trees if tree[0] == r for i in tree[1:])  # fmt: skip
        return {-1: far[-1]} | {r: far[r] for r in sorted(roots)} if turning and all(bodies[r].kind.floats for r in roots) else None

    @functools.cached_property
    def sliding(self) -> dict[int, list[int]]:
        """The prismatic joints' bodies of each tree, by its root."""
        return {tree[0]: [i for i in tree if self.model.bodies[i].joint.kind == "prismatic"] for tree in self.model.trees}

    @functools.cached_property
    def meetings(self) -> list[tuple[int, int, Array | None]]:
        """The roots of trees that may meet, and T_WG where the first is a half-space; what does not move has −1."""
        root = {-1: -1} | {i: tree[0] for tree in self.model.trees for i in tree}
        found = {(root[p.a.body], root[p.b.body], isinstance(p.a.shape, Plane)): p.a.pose for p in self.pairs}
        return [(a, b, pose if plane else None) for (a, b, plane), pose in found.items()]

    def reach(self, v: Array, h: Any) -> list[Any]:
        """Return about how far each body moves within h at v (nv), the world last."""
        reach: list[Any] = [0.0] * (len(self.model.bodies) + 1)
        for i, body in enumerate(self.model.bodies):
            reach[i] = reach[body.parent] + h * sum(lever * abs(v[j]) for j, lever in self.levers[i])
        return reach

    def passing(self, q: Array, v: Array, h: Any) -> Any:
        """Return whether shapes that may have met before q (nq) move so far within h at v (nv) that one may have passed through another."""
        reach = self.reach(v, h)
        found = nearness(self.model, self.pairs, q, reach)
        return functools.reduce(ops.logical_or, [
            ops.logical_and(near, pair.size < reach[pair.a.body] + reach[pair.b.body])
            for pair, near in zip(self.pairs, found.near, strict=True) if not isinstance(pair.a.shape, Plane)], False)  # fmt: skip

    @functools.cached_property
    def levers(self) -> list[list[tuple[int, float]]]:
        """How far each velocity of a body moves what it carries, about: by how far that reaches, or by 1 where it does not turn."""
        far = [0.0] * (len(self.model.bodies) + 1)
        for shape in (s for pair in self.pairs for s in (pair.a, pair.b) if s.body >= 0):
            far[shape.body] = max(far[shape.body], float(np.linalg.norm(shape.center)) + shape.shape.bounding_radius)
        for i, body in reversed(list(enumerate(self.model.bodies))):
            far[body.parent] = max(far[body.parent], far[i] + float(np.linalg.norm(body.placement[:3, 3])))
        S = [body.subspace(self.model.neutral()) for body in self.model.bodies]
        return [[(j, far[i] if S[i][:3, k].any() else 1.0) for k, j in enumerate(range(body.v.start, body.v.stop))]
                for i, body in enumerate(self.model.bodies)]  # fmt: skip

    def gaps(self, q: Array) -> Array:
        """Return the gaps (points) at q (nq), of pairs whose spheres overlap, and the spheres' distance of others."""
        found = nearness(self.model, self.pairs, q, [0.0] * (len(self.model.bodies) + 1))
        return np.concatenate([t.gap for t in self.touches(q, np.zeros(self.model.nv), found, np.zeros(3))])

    def observed(self, q: Array, v: Array, forces: Array, h: Any) -> dict[str, Any]:
        """Return what is recorded of a state: the forces given, places (points, 3), gaps and slips (points), the springs' energy."""
        found = self.nearness(q, v, h)
        axes = WorldAxes(self.model, q, found.poses, np.zeros(3))
        V, at, gap, slip, energy = axes.twists(axes.seen(v)), [], [], [], 0.0
        for t in self.touches(q, v, found, axes.about):
            at += list(t.position)
            gap += list(t.gap)
            energy = energy + 0.5 * t.pair.material.stiffness * sum(ops.minimum(g, 0.0) ** 2 for g in t.gap)
            slip += list(ops.when(t.near, lambda t=t: slips(t, V), np.zeros(len(t.gap))))  # type: ignore[misc]
        return {"contacts.force": forces, "contacts.position": np.array(at), "contacts.gap": np.array(gap),
                "contacts.slip": np.array(slip), "contacts.energy": energy}  # fmt: skip


class Touching:
    """The laws of a step, of velocities x (nv) in ``axes``: a :class:`~engine.contact.newton.Law`."""

    def __init__(self, axes: WorldAxes, found: list[Touch], h: Any, before: Array, free: Array, slow: float) -> None:
        self.axes, self.found, self.h, self.slow = axes, found, h, slow
        self.points: list[list[Point]] = []
        self.acting: list[Any] = []
        was, flown = axes.twists(before), axes.twists(free)
        for t in found:
            pair, m, n = t.pair, t.pair.material, t.pair.points
            stiff = h * h * m.stiffness * pair.mobility * min(n, 4)
            at = [weight(stiff * (1.0 + m.dissipation * abs(u0))) for u0 in t.before]   # what loses much is stiff too
            springs = [ops.array([m.stiffness, m.dissipation, h, at[k], t.gap[k], t.before[k], 0.0]) for k in range(n)]

            def begin(t: Touch = t, springs: list[Array] = springs) -> Array:
                W, rows = (relative(t, was), relative(t, flown)), []
                for spring, normal, x in zip(springs, t.normal, t.position, strict=True):
                    rows.append(ops.shared(begun, spring, surface(t.pair, slow), normal, x, *W))
                return np.concatenate([*rows, [ops.largest([row[3] for row in rows])]])

            *rows, acts = ops.when(t.near, begin, np.array([*[0.0, 0.0, slow, 0.0] * n, 0.0]))
            self.acting.append(acts > 0.0)
            self.points.append([Point(ops.array([*springs[k][:6], rows[4 * k]]), t.normal[k], ops.array(rows[4 * k + 1 : 4 * k + 3]))
                                for k in range(n)])  # fmt: skip
        #: pairs of bodies, with their pairs of shapes
        self.bodies: dict[tuple[int, int], list[int]] = {}
        for k, t in enumerate(found):
            self.bodies.setdefault((t.pair.a.body, t.pair.b.body), []).append(k)

    @property
    def known(self) -> Array:
        """The friction (2) of every point."""
        return np.concatenate([p.friction for points in self.points for p in points])

    def know(self, known: Array) -> None:
        """Take the friction (2) of every point as known."""
        left = iter(known.reshape(-1, 2))
        self.points = [[p._replace(friction=next(left)) for p in points] for points in self.points]

    def lagged(self, x: Array) -> Array:
        """Return the friction (2) of every point that goes with the normal impulses at x (nv)."""
        V, found = self.axes.twists(x), []
        for t, points in zip(self.found, self.points, strict=True):
            def look(t: Touch = t, points: list[Point] = points) -> Array:
                W = relative(t, V)
                return np.concatenate([ops.shared(lagged, p.spring, surface(t.pair, self.slow), p.normal, x, W)
                                       for p, x in zip(points, t.position, strict=True)])  # fmt: skip

            found.append(ops.when(t.near, look, np.array([0.0, self.slow] * len(points))))
        return np.concatenate(found)

    @property
    def acts(self) -> Any:
        """Whether anything pushes where flight leads."""
        return functools.reduce(ops.logical_or, self.acting, False)

    def impulse(self, x: Array) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        V, nv = self.axes.twists(x), len(x)
        F: list[Any] = [np.zeros(6)] * len(V)
        G = np.zeros((nv, nv), dtype=object if x.dtype == object else float)
        for (a, b), pairs in self.bodies.items():
            f, K = self.wrenches(pairs, V)
            F[a], F[b] = F[a] - f, F[b] + f
            self.add(G, a, b, K, [self.found[k].near for k in pairs])
        return self.axes.forces(F), G

    def wrenches(self, pairs: list[int], V: list[Any]) -> tuple[Array, Array]:
        """Return the wrench (6) on the second of two bodies, in world axes about c, and its stiffness K (6, 6), by pairs of shapes."""
        total: Any = np.zeros(27)
        for k in pairs:
            t, points = self.found[k], self.points[k]

            def own(t: Touch = t, points: list[Point] = points) -> Array:
                some: Any = np.zeros(27)
                for p, x in zip(points, t.position, strict=True):
                    some = some + ops.shared(wrench, p.spring, p.friction, p.normal, x, relative(t, V))
                return some

            total = total + ops.when(t.near, own, np.zeros(27))
        K = np.empty((6, 6), dtype=total.dtype)
        K[UPPER], K.T[UPPER] = total[6:], total[6:]
        return total[:6], K

    def add(self, G: Array, a: int, b: int, K: Array, near: list[Any]) -> None:
        """Add Jᵀ K J to G, with J (6, nv) of the second body relative to the first."""
        above_a, above_b = path(self.axes.model, a), path(self.axes.model, b)
        J: dict[int, Array] = {}
        for sign, own, other in ((-1.0, above_a, above_b), (1.0, above_b, above_a)):
            for i in (i for i in own if i not in other):
                for j, column in self.axes.columns[i]:
                    J[j] = J[j] + sign * column if j in J else sign * column
        dofs = sorted(J)
        pairs = [(i, j) for i in dofs for j in dofs if i <= j]

        def product() -> Array:
            KJ = {j: K @ J[j] for j in dofs}
            return np.array([J[i] @ KJ[j] for i, j in pairs])

        for (i, j), g in zip(pairs, ops.when(functools.reduce(ops.logical_or, near), product, np.zeros(len(pairs))), strict=True):
            G[i, j] = G[i, j] + g
            if i != j:
                G[j, i] = G[j, i] + g

    def impulses(self, x: Array) -> list[Array]:
        """Return the impulses (n, 6) of every pair's points, on the second, in world axes, and what of them lasts."""
        V, found = self.axes.twists(x), []
        for t, points in zip(self.found, self.points, strict=True):
            def look(t: Touch = t, points: list[Point] = points) -> Array:
                W = relative(t, V)
                return np.concatenate([ops.shared(impulse, p.spring, p.friction, p.normal, x, W)
                                       for p, x in zip(points, t.position, strict=True)])  # fmt: skip

            found.append(ops.when(t.near, look, np.zeros(6 * len(points))).reshape(-1, 6))
        return found

    def lasting(self, impulses: list[Array]) -> Array:
        """Return the generalized impulse (nv), on velocities of the model, of what lasts of impulses."""
        F: list[Any] = [np.zeros(6)] * (len(self.axes.model.bodies) + 1)
        for t, some in zip(self.found, impulses, strict=True):
            a, b, g = t.pair.a.body, t.pair.b.body, some[:, 3:]
            f = np.concatenate([sum(ops.cross(x, y) for x, y in zip(t.position, g, strict=True)), sum(g)])
            F[a], F[b] = F[a] - f, F[b] + f
        return self.axes.force_back(self.axes.forces(F))


def relative(t: Touch, V: list[Any]) -> Array:
    """Return the twist (6) of the second of a pair relative to the first, in world axes."""
    return V[t.pair.b.body] - V[t.pair.a.body]


def slips(t: Touch, V: list[Any]) -> Array:
    """Return how fast the points (n) of a pair slide."""
    U = [velocity(relative(t, V), x) for x in t.position]
    return np.array([ops.norm(u - (n @ u) * n) for n, u in zip(t.normal, U, strict=True)])
