"""``ContactLaws``, all contacts of a model: its pairs, tests of whether any is near, the laws of one step, and what is recorded."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import geometry, ops
from engine.contact.contact_problem import ContactProblem, relative
from engine.contact.hunt_crossley import EVENLY
from engine.contact.mobility import changes_inertia, with_mobilities
from engine.contact.momenta import acts_at_middle, centre_velocity, momentum_changes
from engine.contact.pairs import BroadPhase, InitialMotion, Pair, Touch, broad_phase, spheres_apart, touch, transformed_point
from engine.contact.point_law import RECESS, kept_energy, recess_after, velocity, wrench_of
from engine.contact.world_axes import WorldAxes
from engine.dynamics.kinematics import body_motion, body_poses
from engine.dynamics.momentum_conservation import Tree, floating_trees
from engine.geometry import GROUNDS
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray


class ContactLaws:
    """All contacts of a model: its pairs of shapes, and their impulse laws in one step (:meth:`step`).

    Parameters
    ----------
    stiction : the speed that counts as rest, m/s
    heavier : whether the model has other inertias than those that the pairs' mobilities are of
    floating : the trees that float, where the model's own numbers, traced, do not tell
    """

    def __init__(self, model: Model, pairs: list[Pair], stiction: float, heavier: bool = False,
                 floating: Sequence[Tree] | None = None) -> None:  # fmt: skip
        self.model, self.pairs, self.stiction, self.heavier = model, pairs, stiction, heavier
        self.floating = floating_trees(model) if floating is None else floating

    def of(self, model: Model, values: Mapping[str, Any]) -> ContactLaws:
        """Return the laws of a model with other numbers, with parameters in place of those of surfaces."""
        return type(self)(model, [pair.of(model, self.model, values) for pair in self.pairs], self.stiction, changes_inertia(values),
                          self.floating)  # fmt: skip

    @property
    def pairs_here(self) -> list[Pair]:
        """The pairs, with mobilities of this model."""
        return with_mobilities(self.model, self.pairs) if self.heavier else self.pairs

    @property
    def surfaces(self) -> set[str]:
        """The names of surfaces that may touch, of links and shapes, the ground's "world"; without pairs with a material of their own."""
        return {name for pair in self.pairs if pair.own is None for s in (pair.a, pair.b) for name in s.surfaces}

    @property
    def turning(self) -> set[str]:
        """Names of the surfaces in pairs with torsional or rolling friction."""
        return {name for pair in self.pairs if pair.turns and pair.own is None for s in (pair.a, pair.b) for name in s.surfaces}

    @property
    def names(self) -> list[str]:
        """The points' names."""
        return [f"{p.name}.{k}" if p.points > 1 else p.name for p in self.pairs for k in range(p.points)]

    @property
    def sizes(self) -> Array:
        """Half the thickness of the thinner shape at each point (points), m."""
        return np.array([p.size for p in self.pairs for _ in range(p.points)])

    @property
    def held(self) -> tuple[int, int]:
        """Shape of the memory of sticking: by how much pairs gave way since they stick, see
        :func:`~engine.contact.point_law.sticking_after`."""
        return len(self.pairs), 10 if self.turns else 7

    def recessed(self, depth: Array) -> Array:
        """Return the memory of sticking at a start from which pairs press behind recesses so deep (pairs), m."""
        kept = np.zeros(self.held)
        kept[:, RECESS] = depth
        return kept

    def unpressed(self, stuck: Array, h: Any) -> Array:
        """Return the memory of sticking after a step of h in which nothing pushes: recesses close on, and nothing else is kept."""
        recess = recess_after(stuck[:, RECESS], h)
        kept: Array = np.zeros(stuck.shape, dtype=recess.dtype)
        kept[:, RECESS] = recess
        return kept

    @property
    def turns(self) -> bool:
        """True if a pair has torsional or rolling friction."""
        return any(pair.turns for pair in self.pairs)

    def step(self, h: Any, q0: Array, v0: Array, q: Array, free: Array, found: BroadPhase, stuck: Array, keep: frozenset[int] = frozenset(),
             way: float = EVENLY) -> ContactProblem:  # fmt: skip
        """Return the laws of a step of h from q0 (nq), v0 (nv) and what is ``stuck`` (pairs, 7 or 10), whose flight ends at q (nq) and
        ``free`` (nv), for those pairs that have been found near there; velocities in ``keep`` stay what they are
        (:class:`~engine.contact.world_axes.WorldAxes`), and impulses go so far of their ``way`` (c of
        :func:`~engine.contact.hunt_crossley.normal_impulse`)."""
        initial = self.initial_motion(q0, v0)
        axes = self.axes(q, found.poses, initial, way, h, keep)
        return ContactProblem(axes, self.pairs_here, found, initial, h, axes.seen(v0), axes.seen(free), self.stiction, way, stuck)

    def axes(self, q: Array, poses: list[Array], initial: InitialMotion, way: float, h: Any, keep: frozenset[int]) -> WorldAxes:
        """Return the axes of a step's problem; in those of single bodies that float, arms are those of the middle of the step."""
        free = [tree[0] for tree in self.floating if acts_at_middle(tree, False, way)]
        ways = {i: way * h * centre_velocity(self.model.bodies[i].inertia, initial.poses[i], initial.twists[i]) for i in free}
        return WorldAxes(self.model, q, poses, se3.position(poses[self.pairs[0].b.body]), keep, ways)

    @property
    def notes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what is noted of a step's impulses, for :meth:`observed`, by name: the "forces" (points, 3), "places" and gaps
        (points, 4), the wrenches (links, 6) on those ``touched``, and where there are some the "couples"."""
        points = sum(pair.points for pair in self.pairs)
        own: dict[str, tuple[int, ...]] = {"forces": (points, 3), "places": (points, 4), "wrench": (len(self.touched), 6)}
        return {**own, "couples": (points, 3)} if self.turns else own

    @functools.cached_property
    def touched(self) -> list[int]:
        """The numbers of the links that may be touched."""
        names = {s.link for pair in self.pairs for s in (pair.a, pair.b)}
        return [i for i, link in enumerate(self.model.links) if link.name in names]

    def noted(self, law: ContactProblem, x: Array, impulses: list[Array]) -> dict[str, Array]:
        """Return what is noted of a law's impulses at x (nv): where they act, and what they do to links, is of where the step's flight
        ends."""
        forces = [g / law.h for g in impulses]
        own = {"forces": np.concatenate([f[:, :3] for f in forces]), "places": np.concatenate(law.places(x)),
               "wrench": self.wrenches(law, forces)}  # fmt: skip
        if not self.turns:
            return own
        return {**own, "couples": np.concatenate([f[:, 3:] if f.shape[1] > 3 else np.zeros(f.shape) for f in forces])}

    def wrenches(self, law: ContactProblem, forces: list[Array]) -> Array:
        """Return the wrenches (links, 6) of each pair's forces (n, 3), or with couples (n, 6), on the links ``touched``, about their
        origins."""
        F: dict[str, Any] = {self.model.links[i].name: np.zeros(6) for i in self.touched}
        for p, f in zip(law.patches, forces, strict=True):
            for s, sign in ((p.pair.a, -1.0), (p.pair.b, 1.0)):
                if s.link not in F:
                    continue
                body, T_BL = self.model.carrier[self.model.link_index(s.link)]
                arms = p.position - (transformed_point(law.axes.poses[body], T_BL[:3, 3]) - law.axes.about)
                for x, g in zip(arms, f, strict=True):
                    F[s.link] = F[s.link] + sign * wrench_of(x, g)
        return np.array([*F.values()])

    def momentum_changes(self, mass: Sequence[Any], trees: tuple[Tree, ...], begun: Array, momenta: Array, law: ContactProblem,
                         impulses: list[Array]) -> Array:  # fmt: skip
        """:func:`~engine.contact.momenta.momentum_changes` by impulses of a law."""
        return momentum_changes(mass, trees, begun, momenta, law, impulses)

    def initial_motion(self, q0: Array, v0: Array) -> InitialMotion:
        """Return the motion of the bodies at the beginning of a step."""
        return InitialMotion(body_poses(self.model, q0), body_motion(self.model, q0, v0).V)

    def touches(self, q0: Array, v0: Array, found: BroadPhase, about: Array) -> list[Touch]:
        """Return where the pairs are, seen from a point (3), after a step from q0 and v0."""
        initial = self.initial_motion(q0, v0)
        return [touch(pair, apart, near, found.poses, about, initial)
                for pair, apart, near in zip(self.pairs, found.apart, found.near, strict=True)]  # fmt: skip

    def broad_phase(self, q: Array, v: Array, h: Any) -> BroadPhase:
        """Return which pairs are at q (nq) close enough to have met within h at v (nv)."""
        return broad_phase(self.model, self.pairs, q, self.reach(v, h))

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
    def bounds(self) -> dict[int, Any] | None:
        """Radius about its root's origin within which each floating tree's shapes stay, but for what its joints slide, and about the
        world's origin for what stands still (−1); None where one that may touch does not float, or has other joints that translate."""
        bodies, far = self.model.bodies, self.extents
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
        """The roots of trees that may meet, and T_WG of a half-space where one holds all of the first; what does not move has −1."""
        root = {-1: -1} | {i: tree[0] for tree in self.model.trees for i in tree}
        found = {(root[p.a.body], root[p.b.body], p.a.shape if isinstance(p.a.shape, GROUNDS) else None): p.a.pose for p in self.pairs}
        return [(a, b, None if shape is None else pose @ se3.pose(np.eye(3), [0.0, 0.0, shape.summit]))
                for (a, b, shape), pose in found.items()]  # fmt: skip

    def reach(self, v: Array, h: Any) -> list[Any]:
        """Return about how far each body moves within h at v (nv), the world last."""
        reach: list[Any] = [0.0] * (len(self.model.bodies) + 1)
        for i, body in enumerate(self.model.bodies):
            reach[i] = reach[body.parent] + h * sum(lever * abs(v[j]) for j, lever in self.levers[i])
        return reach

    def passing(self, q: Array, v: Array, h: Any) -> Any:
        """Return whether shapes that may have met before q (nq) move so far, relative to each other, within h at v (nv) that one may have
        passed through another."""
        root, T_W, still = {i: tree[0] for tree in self.model.trees for i in tree}, body_poses(self.model, q), v.copy()
        drift: dict[int, Any] = {}                                             # of what floats, in world axes
        for i in (i for i in self.model.roots if self.model.bodies[i].kind.floats):
            own = self.model.bodies[i].v
            drift[i], still[own.start + 3 : own.stop] = se3.rotation(T_W[i]) @ v[own][3:], 0.0
        reach, passes = self.reach(still, h), False
        for pair in (pair for pair in self.pairs if not isinstance(pair.a.shape, GROUNDS)):
            a, b = (drift.get(root.get(s.body, -1), np.zeros(3)) for s in (pair.a, pair.b))
            way = reach[pair.a.body] + reach[pair.b.body] + h * ops.norm(b - a)
            passes = ops.logical_or(passes, ops.logical_and(spheres_apart(pair, T_W) <= way, pair.size < way))
        return passes

    @functools.cached_property
    def levers(self) -> list[list[tuple[int, Any]]]:
        """Lever arm of each velocity of a body, about: the reach of what it carries, or 1 where it does not turn."""
        far, S = self.extents, [body.subspace(self.model.neutral()) for body in self.model.bodies]
        return [[(j, far[i] if S[i][:3, k].any() else 1.0) for k, j in enumerate(range(body.v.start, body.v.stop))]
                for i, body in enumerate(self.model.bodies)]  # fmt: skip

    @functools.cached_property
    def turning_rates(self) -> list[int]:
        """The numbers of the velocities that are angular."""
        q = self.model.neutral()
        return [body.v.start + k for body in self.model.bodies for k, axis in enumerate(body.subspace(q)[:3].T) if axis.any()]

    @functools.cached_property
    def extents(self) -> list[Any]:
        """Radius about its origin within which all shapes that each body carries stay, but for what joints slide; that of what stands still
        is last."""
        far: list[Any] = [0.0] * (len(self.model.bodies) + 1)
        for s in (s for pair in self.pairs for s in (pair.a, pair.b) if not isinstance(s.shape, GROUNDS)):
            far[s.body] = ops.maximum(far[s.body], ops.norm(s.center) + s.shape.bounding_radius)
        for i, body in reversed(list(enumerate(self.model.bodies))):
            if body.parent >= 0:
                far[body.parent] = ops.maximum(far[body.parent], far[i] + ops.norm(body.placement[:3, 3]))
        return far

    def seen(self, q: Array, v: Array, within: Any = 0.0) -> list[Touch]:
        """Return where the pairs are at q (nq), in world axes, and how fast their gaps grow at v (nv); ``within``, m, is by how much the
        spheres around each of two may be larger that they are looked at."""
        found = broad_phase(self.model, self.pairs, q, [within] * (len(self.model.bodies) + 1))
        return self.touches(q, v, found, np.zeros(3))

    def gaps(self, q: Array) -> Array:
        """Return the gaps (points) at q (nq), of pairs whose spheres overlap, and the spheres' distance of others."""
        return np.concatenate([t.gap for t in self.seen(q, np.zeros(self.model.nv))])

    def observed(self, q: Array, v: Array, noted: Mapping[str, Array], h: Any, stuck: Array) -> dict[str, Any]:
        """Return the signals recorded of a state with what is ``stuck`` (pairs, 7 or 10): the forces that were noted, places (points, 3),
        gaps and slips (points), and the springs' energy that steps of h can give back."""
        found = self.broad_phase(q, v, h)
        axes = WorldAxes(self.model, q, found.poses, np.zeros(3))
        V, at, slip, energy = axes.twists(axes.seen(v)), [], [], 0.0
        for t, pair, gave in zip(self.touches(q, v, found, axes.about), self.pairs_here, stuck, strict=True):
            at += [np.append(x, gap) for x, gap in zip(t.position, t.gap, strict=True)]
            k, gap = pair.material.stiffness, t.gap + gave[RECESS]
            energy = energy + kept_energy(k, pair.mobility * pair.together, h, gap, t.before, t.share)
            slip += list(ops.when(t.near, lambda t=t: slips(t, V, found.poses), np.zeros(len(t.gap))))  # type: ignore[misc]
        where = np.array([placed_as(*point) for point in zip(noted["forces"], noted["places"], at, strict=True)])
        return {"contacts.force": noted["forces"], **({"contacts.couple": noted["couples"]} if self.turns else {}),
                "contacts.position": where[:, :3], "contacts.gap": where[:, 3], "contacts.slip": np.array(slip),
                "contacts.energy": energy}  # fmt: skip

    def link_wrenches(self, noted: Mapping[str, Array]) -> Array:
        """Return the wrenches [moment; force] (nlinks, 6) on the links that were noted, in world axes about the links' origins where the
        step's flight ended."""
        F = np.zeros((len(self.model.links), 6), dtype=noted["wrench"].dtype)
        F[self.touched] = noted["wrench"]
        return F


def placed_as(force: Array, noted: Array, now: Array) -> Array:
    """Return place and gap (4) of a point that are recorded beside its force (3): the place where that acts, as ``noted``, if there is a
    force; and the gap of the state ``now``, unless the point comes with the step, and is none yet."""
    acts = force @ force > 0.0
    comes = ops.logical_and(acts, now[3] > 0.5 * geometry.FAR)
    return np.append(ops.where(acts, noted[:3], now[:3]), ops.where(comes, noted[3], now[3]))


def slips(t: Touch, V: list[Any], poses: list[Array]) -> Array:
    """Return how fast the points (n) of a pair, whose bodies are at T_WB, slide."""
    U = [velocity(relative(t.pair, V), x) for x in t.position]
    U = [u + t.pair.running(poses) for u in U] if t.pair.runs else U
    return np.array([ops.norm(u - (n @ u) * n) for n, u in zip(t.normal, U, strict=True)])
