"""``RowLaws``, all contacts of a model where they are many: the same laws as of its pairs one by one, of whatever is near, as rows."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.contact.contact_laws import ContactLaws, placed_as
from engine.contact.hunt_crossley import EVENLY
from engine.contact.many.jointed import JointedProblem
from engine.contact.many.pair_rows import BEFORE, GAP, MATERIAL, NORMAL, PLACE, POINT, SHARE, A, B, Near, PairRows
from engine.contact.many.sticking import found, in_places
from engine.contact.point_law import RECESS, kept_energy, recess_after, velocity
from engine.contact.world_axes import WorldAxes
from engine.dynamics.kinematics import body_motion, body_poses
from engine.dynamics.momentum_conservation import Tree
from engine.geometry import GROUNDS

Array = np.ndarray
#: points that there may be, of more of which none has a place of its own in records
MANY_POINTS = 400


class RowLaws(ContactLaws):
    """All contacts of a model, of which those that are near are rows of tables."""

    @functools.cached_property
    def rows(self) -> PairRows:
        """The pairs, with mobilities of this model."""
        return PairRows(self.pairs_here, self.model)

    @property
    def dense(self) -> bool:
        """True if they are so few that each possible point has its own place in records."""
        return sum(pair.points for pair in self.pairs) <= MANY_POINTS

    @property
    def notes(self) -> dict[str, tuple[int, ...]]:
        own = dict.fromkeys(("count", "overlap", "throw", *(() if self.dense else ("energy",))), ())
        return {**(super().notes if self.dense else {}), "wrench": (len(self.model.links), 6), **own}

    def noted(self, law: Any, x: Array, impulses: Any) -> dict[str, Any]:
        carried = np.array([[float(b % (len(self.model.bodies) + 1)), *T_BL[:3, 3]] for b, T_BL in self.model.carrier])
        own = law.forces(x, impulses) if self.dense else {"energy": ops.total(impulses.energy)}
        return {**own, **law.noted(impulses, carried)}

    def broad_phase(self, q: Array, v: Array, h: Any) -> Near:  # type: ignore[override]
        return self.rows.near(body_poses(self.model, q), self.ways(q, v, h))

    def ways(self, q: Array, v: Array, h: Any) -> list[Any]:
        """Return how far each body's shapes move within h at q (nq) and v (nv), at most, the world last: in a long chain, whose joints turn
        against each other, much less than the sum of what each joint moves."""
        V = body_motion(self.model, q, v).V
        return [*(h * (ops.norm(V_i[3:]) + far * ops.norm(V_i[:3])) for V_i, far in zip(V, self.radii, strict=False)), 0.0]

    @functools.cached_property
    def radii(self) -> list[Any]:
        """Distance from each body's origin to the farthest point of its own shapes, m."""
        far: list[Any] = [0.0] * len(self.model.bodies)
        for s in (s for pair in self.pairs for s in (pair.a, pair.b) if s.body >= 0 and not isinstance(s.shape, GROUNDS)):
            far[s.body] = ops.maximum(far[s.body], ops.norm(s.center) + s.shape.bounding_radius)
        return far

    @property
    def held(self) -> tuple[int, int]:
        return self.rows.places, 11 if self.turns else 8

    def recessed(self, depth: Array) -> Array:
        return in_places(self.held, np.arange(1.0, len(depth) + 1.0), depth)

    def unpressed(self, stuck: Any, h: Any) -> Any:
        last = np.zeros(3 if self.turns else 0)

        def closing(S: Array) -> Array:
            recess = recess_after(S[1 + RECESS], h)
            return np.concatenate([ops.where(recess > 0.0, S[:1], 0.0), np.zeros(RECESS), [recess], last])

        return ops.table(ops.gather(ops.rows(closing, stuck), np.arange(float(self.held[0]))))

    def step(self, h: Any, q0: Array, v0: Array, q: Array, free: Array, found: Any, stuck: Array, keep: frozenset[int] = frozenset(),
             way: float = EVENLY) -> Any:  # fmt: skip
        initial = self.initial_motion(q0, v0)
        axes = self.axes(q, found.poses, initial, way, h, keep)
        points = self.rows.narrow_phase(found, axes.about, initial)
        return JointedProblem(axes, points, self.rows, self.names, h, axes.seen(v0), axes.seen(free), self.stiction, way, stuck,
                              initial.poses)

    def momentum_changes(self, mass: Sequence[Any], trees: tuple[Tree, ...], begun: Array, momenta: Array, law: Any,
                         impulses: Any) -> Array:  # fmt: skip
        return np.asarray(law.momentum_changes(self.model, mass, trees, begun, momenta, impulses))

    def found(self, q: Array, v: Array, h: Any) -> tuple[Any, Any]:
        """Return the points (p, 32) at q (nq) and v (nv), in world axes, and for each that there may be its row, below one of those that
        are not there, and how far what is around its shapes is apart (points, 2)."""
        near = self.rows.near(body_poses(self.model, q), self.ways(q, v, h), every=True)
        points = self.rows.narrow_phase(near, np.zeros(3), self.initial_motion(q, v), every=True)
        n = self.rows.points
        rows = ops.add_at(np.zeros(n), points[:, POINT], ops.rows(lambda k: k + 1.0, ops.row_numbers(points)))
        apart = ops.gather(near.apart, self.rows.of_point)
        return points, ops.rows(lambda k, d: ops.array([k, d]), rows, apart)

    def spread(self, seen: Any, columns: Any, missing: Array) -> Array:
        """Return columns (p, m) of points for all that there may be (points, m), with what those have that are missing, beside the gap."""
        own = ops.gather(np.concatenate([np.zeros((1, len(missing))), columns]), seen[:, 0])
        return np.asarray(ops.rows(lambda s, y: ops.where(s[0] > 0.5, y, np.append(s[1:], missing[1:])), seen, own))

    def gaps(self, q: Array) -> Array:
        points, seen = self.found(q, np.zeros(self.model.nv), 0.0)
        return self.spread(seen, points[:, GAP:BEFORE], np.zeros(1))[:, 0]

    def link_wrenches(self, noted: Mapping[str, Array]) -> Array:
        return noted["wrench"]

    def observed(self, q: Array, v: Array, noted: Mapping[str, Array], h: Any, stuck: Any) -> dict[str, Any]:
        signals = {f"contacts.{name}": noted[name] for name in ("wrench", "count", "overlap", "throw")}
        if not self.dense:                                                     # of what is far nothing is said
            return {**signals, "contacts.energy": noted["energy"]}
        points, seen = self.found(q, v, h)
        axes = WorldAxes(self.model, q, body_poses(self.model, q), np.zeros(3))
        V = np.array(axes.twists(axes.seen(v)))

        gave = found(stuck, len(self.pairs), self.turns, ops.gather(self.rows.pair, points[:, POINT]))

        def one(p: Array, S: Array, V_a: Array, V_b: Array) -> tuple[Array, Any]:
            u, n, (k, _, s, *_) = velocity(V_b - V_a, p[PLACE]), p[NORMAL], p[MATERIAL]
            u = u + self.rows.running(p) if self.rows.runs else u
            energy = kept_energy(k, s / k, h, p[None, GAP] + S[RECESS], p[None, BEFORE], p[None, SHARE])
            return np.concatenate([p[None, GAP], p[PLACE], [ops.norm(u - (n @ u) * n)]]), energy

        own, energy = ops.rows(one, points, gave, *(ops.gather(V, points[:, k]) for k in (A, B)))
        table = self.spread(seen, own, np.zeros(5))
        where = ops.rows(lambda f, place, x: placed_as(f, place, ops.array([*x[1:4], x[0]])), noted["forces"], noted["places"], table)
        couples = {"contacts.couple": noted["couples"]} if self.turns else {}
        return {"contacts.force": noted["forces"], **couples, "contacts.position": where[:, :3], "contacts.gap": where[:, 3],
                "contacts.slip": table[:, 4], **signals, "contacts.energy": ops.total(energy)}  # fmt: skip
