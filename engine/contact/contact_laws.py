"""Contacts as impulses over a step: at each point a spring that pushes and loses, and Coulomb's friction.

The normal impulse is a function of the velocity after the step, as :mod:`engine.contact.hunt_crossley` has it. Friction is that of a
normal impulse that is known, of the velocity before the step at first, and then of what this leads to: so both are gradients of one convex
function. It is regularised: below a speed v_s a contact sticks, and creeps at less.

Reference: Castro, Han & Masterjohn, *Irrotational contact fields*, arXiv:2312.03908.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import normal_impulse, weight
from engine.contact.material import STRIBECK
from engine.contact.pairs import Nearness, Pair, Touch, nearness, touch
from engine.model import Model
from engine.spatial import so3

Array = np.ndarray
#: of what a normal impulse changes of the velocity: a slip below which friction counts as sticking, so that Newton's method finds it
STIFFEST = 1e-3


class Point:
    """The law of one point of a pair in a step of h: impulses g (3) and G = −∂g/∂u (3×3) of its velocity u (3) after the step.

    Attributes
    ----------
    normal : n (3); before, free : n·u before the step and after flight
    rubs, slow : μ times the normal impulse that is known, N·s, and the speed that counts as rest, m/s
    """

    def __init__(self, pair: Pair, h: Any, normal: Array, gap: Any, before: Any, free: Any, stiction: float) -> None:
        self.pair, self.h, self.normal, self.gap, self.before, self.free, self.stiction = pair, h, normal, gap, before, free, stiction
        self.rubs: Any = 0.0
        self.slow: Any = stiction

    def push(self, u: Any) -> tuple[Any, Any]:
        """Return the normal impulse and its slope at the normal velocity u."""
        m, h = self.pair.material, self.h
        s = weight(h * h * m.stiffness * self.pair.mobility * min(self.pair.points, 4))
        return normal_impulse(m.stiffness, m.dissipation, h, s, self.gap, self.before, self.free, u)

    def rub(self, normal: Any, slip2: Any) -> None:
        """Take what friction there is from a normal impulse and a slip, squared, that are known."""
        m = self.pair.material
        mu: Any = m.friction
        if m.static > m.friction:
            mu = m.friction + (m.static - m.friction) * ops.exp(-slip2 / STRIBECK**2)
        self.rubs = mu * normal
        self.slow = ops.maximum(STIFFEST * self.pair.mobility * self.rubs, self.stiction)

    def impulse(self, u: Array) -> tuple[Array, Array]:
        """Return g (3) and G (3×3)."""
        n = self.normal
        un = n @ u
        ut = u - un * n
        push, slope = self.push(un)
        slip2, slow2 = ut @ ut, self.slow * self.slow
        slides = slip2 > slow2
        drag = self.rubs / ops.sqrt(ops.maximum(slip2, slow2))
        along = ops.where(slides, 1.0 / ops.maximum(slip2, slow2), 0.0)
        nn = np.outer(n, n)
        return push * n - drag * ut, slope * nn + drag * (np.eye(3) - nn - along * np.outer(ut, ut))


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

    def step(self, h: Any, q0: Array, v0: Array, q: Array, free: Array, found: Nearness) -> Touching:
        """Return the laws of a step of h from q0 (nq) and v0 (nv), whose flight ends at q (nq) and ``free`` (nv), for those pairs that have
        been found near there."""
        return Touching(self.touches(q0, v0, q, found), h, v0, free, self.stiction)

    def touches(self, q0: Array, v0: Array, q: Array, found: Nearness) -> list[Touch]:
        """Return where the pairs are at q (nq), after a step from q0 and v0."""
        return [touch(self.model, pair, q0, v0, q, apart, near, found.poses[pair.a.body])
                for pair, apart, near in zip(self.pairs, found.apart, found.near, strict=True)]  # fmt: skip

    def nearness(self, q: Array, v: Array, h: Any) -> Nearness:
        """Return which pairs are at q (nq) close enough to have met within h at v (nv)."""
        reach: list[Any] = [0.0] * (len(self.model.bodies) + 1)
        for i, body in enumerate(self.model.bodies):
            reach[i] = reach[body.parent] + h * sum(lever * abs(v[j]) for j, lever in self.levers[i])
        return nearness(self.model, self.pairs, q, reach)

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
        found, rest = nearness(self.model, self.pairs, q, [0.0] * (len(self.model.bodies) + 1)), np.zeros(self.model.nv)
        return np.concatenate([t.gap for t in self.touches(q, rest, q, found)])

    def observed(self, q: Array, v: Array, forces: Array, h: Any) -> dict[str, Any]:
        """Return what is recorded of a state: gaps and slips (points), the forces given, and the springs' energy."""
        gap, slip, energy = [], [], 0.0
        for t in self.touches(q, v, q, self.nearness(q, v, h)):
            gap += list(t.gap)
            energy = energy + 0.5 * t.pair.material.stiffness * sum(ops.minimum(g, 0.0) ** 2 for g in t.gap)
            slip += [ops.sqrt(ops.maximum(u @ u - (n @ u) ** 2, 0.0)) for n, u in zip(t.normal, velocities(t, twist(t, v)), strict=True)]
        return {"contacts.force": forces, "contacts.gap": np.array(gap), "contacts.slip": np.array(slip), "contacts.energy": energy}


class Touching:
    """The laws of a step: a :class:`~engine.contact.newton.Law`."""

    def __init__(self, found: list[Touch], h: Any, before: Array, free: Array, slow: float) -> None:
        self.found, self.h, self.slow, self.nv = found, h, slow, len(free)
        self.free = free
        self.points: list[list[Point]] = []
        for t in found:
            flown = velocities(t, twist(t, free))
            self.points.append([Point(t.pair, h, n, gap, u0, n @ u, slow)
                                for n, gap, u0, u in zip(t.normal, t.gap, t.before, flown, strict=True)])  # fmt: skip
            for point, u in zip(self.points[-1], velocities(t, twist(t, before)), strict=True):
                un = point.normal @ u
                point.rub(point.push(point.before)[0], u @ u - un * un)

    def lag(self, v: Array) -> bool:
        """Take the friction that goes with the normal impulses at v (nv)."""
        for t, points in zip(self.found, self.points, strict=True):
            for point, u in zip(points, velocities(t, twist(t, v)), strict=True):
                un = point.normal @ u
                point.rub(point.push(un)[0], u @ u - un * un)
        return True

    @property
    def acts(self) -> Any:
        """Whether anything pushes where flight leads."""
        return ops.largest(np.array([p.push(p.free)[0] for points in self.points for p in points])) > 0.0

    def impulse(self, v: Array) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        total, G = [0.0] * self.nv, np.zeros((self.nv, self.nv), dtype=object if v.dtype == object else float)
        for t, points in zip(self.found, self.points, strict=True):
            g, H = self.contribution(t, points, v)
            dofs = t.pair.dofs
            for a, i in enumerate(dofs):
                total[i] = total[i] + g[a]
                for b, j in enumerate(dofs):
                    G[i, j] = G[i, j] + H[a, b]
        return ops.array(total), G

    def contribution(self, t: Touch, points: list[Point], v: Array) -> tuple[Array, Array]:
        """Return γ and G of one pair, for the velocities that move it: F = Σ Cᵀ g, K = Σ Cᵀ G C, with u = C V; then Jᵀ F and Jᵀ K J."""
        n = len(t.pair.dofs)
        upper = np.triu_indices(n)

        def push() -> Array:
            F, K = np.zeros(6), np.zeros((6, 6))
            V = twist(t, v)
            for p, x, u in zip(points, t.position, velocities(t, V), strict=True):
                g, G = p.impulse(u)
                C = np.concatenate([-so3.hat(x), np.eye(3)], axis=1)
                F, K = F + C.T @ g, K + C.T @ G @ C
            return np.concatenate([t.jacobian.T @ F, (t.jacobian.T @ K @ t.jacobian)[upper]])

        found = ops.when(t.near, push, np.zeros(n + len(upper[0])))
        H = np.empty((n, n), dtype=found.dtype)
        H[upper], H.T[upper] = found[n:], found[n:]
        return found[:n], H

    def along(self, v: Array, d: Array) -> Callable[[Any], tuple[Any, Any]]:
        """Return the function of α that gives γ·d and dᵀ G d at v + α d."""
        lines = [(velocities(t, twist(t, v)), velocities(t, twist(t, d))) for t in self.found]

        def at(a: Any) -> tuple[Any, Any]:
            total = ops.array([0.0, 0.0])
            for t, points, (u, du) in zip(self.found, self.points, lines, strict=True):
                def slopes(points: list[Point] = points, u: Array = u, du: Array = du) -> Array:
                    found: Any = np.zeros(2)
                    for p, x, dx in zip(points, u, du, strict=True):
                        g, G = p.impulse(x + a * dx)
                        found = found + ops.array([g @ dx, dx @ (G @ dx)])
                    return found

                total = total + ops.when(t.near, slopes, np.zeros(2))
            return total[0], total[1]

        return at

    def forces(self, v: Array) -> Array:
        """Return the points' impulses (points, 3) on the second of each pair, in world axes."""
        rows = []
        for t, points in zip(self.found, self.points, strict=True):
            rows += [t.pose[:3, :3] @ p.impulse(u)[0] for p, u in zip(points, velocities(t, twist(t, v)), strict=True)]
        return np.array(rows)


def twist(t: Touch, v: Array) -> Array:
    """Return the twist (6) of the second of a pair relative to the first."""
    return t.jacobian @ v[list(t.pair.dofs)]


def velocities(t: Touch, V: Array) -> Array:
    """Return the velocities (n, 3) of the points of a pair."""
    return np.array([V[3:] + ops.cross(V[:3], x) for x in t.position])
