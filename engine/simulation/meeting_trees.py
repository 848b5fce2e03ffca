"""Models of free bodies that nothing but contacts joins: one step for all of them, whose flights, pairs and points are rows of tables."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.compiler.gufunc import shaped
from engine.compiler.thread_pool import get_threads, spread
from engine.compiler.trace_cache import kept
from engine.compiler.transforms.trace import Program, calling, trace
from engine.components.layout import Layout
from engine.contact import EVENLY, point_law
from engine.contact.many import Bodies, Shapes, impulses, momentum_changes, problem, touching, twists, velocities_after
from engine.contact.many.sticking import EACH
from engine.contact.momenta import centre_velocity
from engine.simulation.independent_trees import IndependentTrees, Kind
from engine.simulation.many_contacts import ManyContacts
from engine.simulation.own_states import MOMENTUM, sticking_places
from engine.simulation.plant import Plant
from engine.simulation.run_loop import Kernel, Process
from engine.simulation.unresolved_impacts import ELASTIC, STEPS
from engine.spatial import se3

Array = np.ndarray
#: columns of what is recorded of a point: shapes, place, normal, gap, force, slip, what steps can give back of its spring's energy, and
#: the speed of an elastic blow that begins there; and beside couples, these
POINT, ENERGY, BLOW, TURNING = 15, 13, 14, 18
#: where parts of what is seen of a body begin
ENDS = (0, 12, 27, 39, 41, 77, 83, 89, 92, 102)
#: s, or m and rad: a step in which nothing moves to speak of
INSTANT = 1e-6
#: steps that a loop may take
MOST = 2**53


class Notes(NamedTuple):
    """Data of a step for its record: rates of change (n, 6) by impulses and wrenches (n, 6) of the bodies, and points (p, 14 or 17)."""

    changes: Any
    wrenches: Any
    points: Any


class MeetingTrees(IndependentTrees):
    """A process of free bodies in contact: their flights are those of the processes of their kinds.

    Parameters
    ----------
    contacts : the contacts, as tables
    """

    def __init__(self, process: Process, layout: Layout, plant: Plant, kinds: Sequence[Kind], contacts: ManyContacts) -> None:
        super().__init__(process, layout, plant, kinds)
        number = {plant.model.bodies[i].v.start: i for i in range(len(plant.model.bodies))}
        self.bodies = np.array([number[int(v[0])] for kind in kinds for v in kind.trees.v])
        self.links = [plant.model.link_index(plant.model.bodies[i].joint.child) for i in self.bodies]
        self.contacts = contacts.in_order(self.bodies)
        G = np.array([body.inertia.ravel() for body in (plant.model.bodies[i] for i in self.bodies)])
        ends = np.cumsum([len(kind.trees.names) for kind in kinds])[:-1]
        self.inertias = np.split(G, ends)

    @functools.cached_property
    def keys(self) -> list[str]:
        """Key of the program, and the number of trees of each kind."""
        return [self.advanced.program.key, *(str(len(kind.trees.names)) for kind in self.kinds)]

    @functools.cached_property
    def record(self) -> Layout:
        """The layout of a record: as of trees that nothing joins; the wrench on each link, how many points push, how far shapes lie in each
        other, of the thinner one, and the speed of elastic blows that begin and are not resolved: see
        :mod:`~engine.simulation.unresolved_impacts`."""
        return Layout({**super().record.shapes, "contacts.wrench": (len(self.plant.model.links), 6), "contacts.count": (),
                       "contacts.overlap": (), "contacts.energy": (), "contacts.blow": ()})  # fmt: skip

    @functools.cached_property
    def alone(self) -> IndependentTrees:
        """The same bodies as independent trees, as if nothing touched."""
        return IndependentTrees(self, self.layout, self.plant, self.kinds)

    def write(self, record: Array, notes: Notes) -> None:
        """Put the notes of a step into the record (m) of the state where it begins."""
        at = self.record.slices
        change = np.zeros(self.plant.model.nv)
        change[np.concatenate([kind.trees.v for kind in self.kinds])] = notes.changes
        record[at["vdot"]] += change
        record[at["contacts.wrench"]].reshape(-1, 6)[self.links] = notes.wrenches
        record[at["contacts.count"]] = len(pushing(notes.points))
        record[at["contacts.energy"]] = notes.points[:, ENERGY].sum()
        record[at["contacts.blow"]] = pushing(notes.points)[:, BLOW].max(initial=0.0)
        record[at["contacts.overlap"]] = self.contacts.overlaps(notes.points).max(initial=0.0)

    # ------------------------------------------------------------ a step, traced

    def step_of(self, t0: Any, k: Any, dt: Any, p: list[Any], x: list[Any], stuck: Any, G: list[Any],
                shapes: Shapes) -> tuple[list[Any], Any, Callable[[], Notes]]:  # fmt: skip
        """Return the states (n, m) of each kind after the k-th step of dt from t0, with parameters (n, np) and inertias (n, 36); what is
        stuck (c, 8 or 11), of what was; and what notes the step."""

        def fly(kind: Kind, p: Array, x: Array) -> Any:
            step, n = kind.step.process.programs[0], kind.step.plant.parameters.n
            return calling(step)(t0, k, dt, p if n else np.zeros(0), x)

        with ops.part("flight", k):
            flown = [ops.rows(functools.partial(fly, kind), *given) for kind, *given in zip(self.kinds, p, x, strict=True)]
        parts = [ops.rows(functools.partial(seen, kind.step.plant), *given) for kind, *given in zip(self.kinds, x, flown, G, strict=True)]
        bodies = np.concatenate(parts)
        poses, initial, begun, reach, M, before, free, drift, momenta = (ops.rows(lambda y, a=a, b=b: y[a:b], bodies)
                                                                         for a, b in itertools.pairwise(ENDS))  # fmt: skip
        with ops.part("narrow phase", k):
            found = touching(shapes, self.contacts.kinds, dt, Bodies(poses, initial, reach))
        with ops.part("impulses: laws", k):
            met = problem(found, stuck, shapes.outlines, begun, poses, M, before, free, drift, dt, self.contacts.stiction,
                          self.contacts.combine, EVENLY, self.contacts.turns)  # fmt: skip
        with ops.part("impulses", k):
            V, friction, acts = velocities_after(met, before, self.contacts.stiction)
            push, stuck = impulses(met, V, friction, acts, dt, EVENLY * dt, EACH * shapes.outlines.shape[0])
        with ops.part("correction", k):
            changes = momentum_changes(met, poses, momenta, push, EVENLY * dt)
        begin, after = 0.0, []
        for kind, values, given in zip(self.kinds, p, flown, strict=True):
            own = [ops.gather(table, ops.rows(lambda i, n=begin: i + n, ops.row_numbers(given))) for table in (V, free, changes)]
            after.append(ops.rows(functools.partial(complete_body, kind.step.plant, dt), values, given, *own))
            begin = begin + ops.total(ops.rows(lambda x: 1.0 + 0.0 * x[0], given))
        return after, stuck, lambda: self.noted(met, found, poses, V, push, dt)

    def noted(self, met: Any, found: Any, poses: Any, V: Any, push: Any, dt: Any) -> Notes:
        """Return what is noted of a step."""
        change = ops.rows(lambda T, V, free: turned_back(T, V - free) / dt, poses, V, met.free)
        of = ops.rows(lambda p: p[0], met.points)
        pairs = ops.gather(found.pairs, of)
        force = ops.rows(lambda p, g: point_law.wrench_of(p[17:20], g) / dt, met.points, push)

        def on_a(p: Array, F: Array) -> Array:
            return -p[2] * np.concatenate([F[:3] + ops.cross(p[3:6], F[3:]), F[3:]])

        to_a = ops.rows(on_a, ops.gather(met.pairs, of), force)
        at = tuple(ops.rows(lambda p, k=k: p[k], pairs) for k in (0, 1))
        wrenches = ops.add_at(ops.rows(lambda V: 0.0 * V, V), at, (to_a, force))

        def point(pair: Array, found: Array, p: Array, T: Array, F: Array, W: Array, *g: Array) -> Array:
            _, opens, slip = point_law.normal_and_slip(p[10:], W)
            gap = point_law.gap_after(p[1:10], p[10:], opens)
            begun, rate = p[11:12] - 0.5 * dt * (p[12:13] + p[13:14]), p[12:13]
            energy = point_law.kept_energy(p[1], p[4] / p[1], dt, begun, rate, p[20:21])
            short = ops.logical_and(p[2] <= ELASTIC, p[1] * p[7] * (STEPS * dt / np.pi) ** 2 > 1.0)
            blow = ops.where(ops.logical_and(short, begun[0] > 0.0), -p[12], 0.0)
            own = pair[3:5], found[1:4] + T[[3, 7, 11]], p[14:17], [gap], F[3:], [ops.norm(slip), energy, blow]
            return np.concatenate([*own, *(x[3:] / dt for x in g)])

        at_b, W = (ops.gather(table, i) for table, i in ((poses, at[1]), (twists(met.pairs, V), of)))
        points = ops.rows(point, pairs, found.points, met.points, at_b, force, W, *([push] if self.contacts.turns else []))
        return Notes(change, wrenches, points)

    @functools.cached_property
    def advanced(self) -> Any:
        """The machine code of so many steps: states of all kinds, what is stuck, and the notes of the last one where ``noted`` is 1. Where
        nothing acts on any tree but what is the engine's own, its program is kept."""
        flights, x = [kind.step.key for kind in self.kinds], self.contacts
        if not all(flights):
            return shaped(*self.stepping)
        inputs = flights, x.kinds, x.stiction, x.combine, x.turns, [table.shape[1:] for table in x.flat]
        return kept("contacts of free bodies", inputs, lambda: shaped(*self.stepping))

    @functools.cached_property
    def stepping(self) -> tuple[Callable[..., Any], str]:
        """Return the step as a function, and its signature."""
        kinds, letters = len(self.kinds), (f"n{k}" for k in itertools.count())
        own = [(next(letters), kind.step.plant.parameters.n, kind.step.layout.n) for kind in self.kinds]
        given = [f"({c},{n})" if n else f"({c})" for c, n, _ in own] + [f"({c},{n})" for c, _, n in own] + [f"({c},36)" for c, *_ in own]
        tables = [f"({next(letters)}{','.join(['', *map(str, x.shape[1:])])})" for x in self.contacts.flat]
        outs = [f"({c},{n})" for c, _, n in own] + [f"({next(letters)},{m})" for m in (self.contacts.held[1], 6, 6, self.columns)]

        def run(count: Any, noted: Any, t0: Any, k: Any, dt: Any, *rest: Any) -> tuple[Any, ...]:
            p, x, G = (list(rest[i * kinds : (i + 1) * kinds]) for i in range(3))
            stuck, *flat = rest[3 * kinds :]
            shapes = self.contacts.of(flat)
            still = np.concatenate([ops.rows(lambda G: np.zeros(6) + 0.0 * G[0], g) for g in G])
            nothing = Notes(still, still, np.zeros((0, self.columns)))

            def advance(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
                after, stuck, notes = self.step_of(t0, z["k"], dt, p, list(z["x"]), z["stuck"], G, shapes)
                last = z["k"] + 1.5 > k + count
                seen = ops.when(ops.logical_and(last, noted > 0.5), lambda: tuple(notes()), z["notes"])
                return {"x": tuple(after), "stuck": stuck, "k": z["k"] + 1.0, "notes": seen}, last

            z, _ = ops.while_loop(advance, {"x": tuple(x), "stuck": stuck, "k": k, "notes": tuple(nothing)}, MOST, count < 0.5)
            return (*z["x"], z["stuck"], *z["notes"])

        return run, f"(),(),(),(),(),{','.join([*given, f'({next(letters)},{self.contacts.held[1]})', *tables])}->{','.join(outs)}"

    def for_profile(self, parts: bool) -> tuple[Program, Program]:
        """A step, and what of it a profile reads, with functions for their ``parts`` or without."""
        program = trace(self.stepping[0], self.advanced.program.shapes_in, parts=True) if parts else self.advanced.program
        shapes = [(), (), (), (self.plant.parameters.n,), (self.layout.n,)]

        def step(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Array:
            return self.called(0.0, t0, k, dt, p, x, program)[0]

        def observe(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
            return {"t": t0 + k * dt, "x": x}

        return trace(step, shapes), trace(observe, shapes, named=True)

    def called(self, noted: float, t0: Any, k: Any, dt: Any, p: Array, x: Array, program: Program | None = None) -> tuple[Array, Notes]:
        """Return the state x (n) after the k-th step of dt from t0, and its notes, if it is ``noted``, by :attr:`advanced` or another
        program. Traceable."""
        own, stuck = [places.taken(x) for places in self.states], x[self.stuck].reshape(self.contacts.held)
        sticking = ops.chosen(stuck, ops.rows(lambda row: row[0] > 0.0, stuck))
        given = [1.0, noted, t0, k, dt, *self.given(p), *own, *self.inertias, sticking, *self.contacts.flat]
        *found, sticks, changes, wrenches, points = calling(program or self.advanced.program)(*given)
        after = x.copy()
        after[self.stuck] = so_many(np.concatenate([sticks, np.zeros(stuck.shape)]), len(stuck)).ravel()
        for places, rows in zip(self.states, found, strict=True):
            places.put(after, so_many(rows, places.n))
        return after, Notes(changes, wrenches, points)

    @functools.cached_property
    def whole_programs(self) -> tuple[Program, Program]:
        """Return two programs for all trees together, one step and the observation at its start, as functions of (t0, k, dt, p, x)."""
        n, nv = len(self.bodies), self.plant.model.nv

        def step(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Array:
            return self.called(0.0, t0, k, dt, p, x)[0]

        def observe(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Array]:
            notes = self.called(1.0, t0, k, dt, p, x)[1]
            vdot = np.zeros(nv, dtype=object)
            for kind, places, velocities, given in zip(self.kinds, self.states, self.velocities, self.given(p), strict=True):
                look = kind.step.process.programs[1]

                def own(p: Any, x: Array, kind: Kind = kind, look: Program = look) -> Any:
                    seen = calling(look)(t0, k, dt, p if kind.step.plant.parameters.n else np.zeros(0), x)
                    return seen[look.names.index("vdot")]

                velocities.put(vdot, so_many(ops.rows(own, given, places.taken(x)), places.n))
            change, wrench = np.zeros(nv, dtype=object), np.zeros((len(self.plant.model.links), 6), dtype=object)
            change[np.concatenate([kind.trees.v for kind in self.kinds])] = so_many(notes.changes, n)
            wrench[self.links] = so_many(notes.wrenches, n)
            return {"vdot": vdot + change, "contacts.wrench": wrench}

        shapes = [(), (), (), (self.plant.parameters.n,), (self.layout.n,)]
        return trace(step, shapes), trace(observe, shapes, named=True)

    # ------------------------------------------------------------ running

    def kernel(self, batch: tuple[int, ...]) -> Kernel:
        """Return the function that runs a batch, each rollout by itself, on the threads that there are."""
        looks = IndependentTrees.kernel(self.alone, ())

        def one(counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            given = self.given(p)
            data, done, ahead = [], k, None
            for signed in counts:
                count = abs(signed)
                if count > 0 and ahead is not None:
                    x, done, count = ahead, done + 1.0, count - 1.0            # that step was taken for the record before
                if count > 0:
                    x, _ = self.moved(count, t0, done, dt, given, x, noted=0.0)
                    done += count
                row = np.zeros(self.record.n)
                data.append(row)
                if signed < 0:
                    row[self.record.slices["x"]] = x
                    continue
                ahead, notes = self.moved(1.0, t0, done, dt, given, x)
                row[: self.alone.record.n] = looks(np.zeros(1), t0, done, dt, p, x)[0]
                self.write(row, notes)
            return np.array(data)

        def run(counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            p, x = (np.broadcast_to(a, (*batch, a.shape[-1])).reshape(math.prod(batch), a.shape[-1]) for a in (p, x))
            each = functools.partial(one, counts, t0, k, dt)
            return np.array(spread(each, p, x) if get_threads() > 1 else list(map(each, p, x))).reshape(*batch, len(counts), self.record.n)

        return run if batch else one

    def points_of(self, t: Array, x: Array, p: Array, dt: float) -> list[Array]:
        """Return the points of contact (n, 13 or 16) in the steps of dt that begin at times (T) in states x (T, n)."""
        given = self.given(p)
        each = [pushing(self.moved(1.0, at, 0.0, dt, given, row)[1].points) for at, row in zip(t, x, strict=True)]
        return [np.delete(points, [ENERGY, BLOW], axis=1) for points in each]

    def apart(self, p: Array, x: Array, dt: float) -> Array:
        """Return states x (..., n) at the start, from where shapes in each other part slowly, as
        :class:`~engine.simulation.overlaps.Overlaps` has it.

        Raises
        ------
        ContactError : names the deepest pair, with its depth
        """
        p, x = np.broadcast_to(p, (*x.shape[:-1], p.shape[-1])), x.copy()
        for i in np.ndindex(x.shape[:-1]):
            speed = np.abs(x[i][self.layout.slices["v"]]).max()
            points = self.moved(1.0, 0.0, 0.0, min(dt, INSTANT / max(1.0, speed)), self.given(p[i]), x[i])[1].points
            where = f" of rollout {list(i)}" if i else ""
            x[i][self.stuck] = self.contacts.recessed(points[:, :2].astype(int), -points[:, 8], where).ravel()
        return x

    def given(self, p: Array) -> list[Array]:
        """Return the parameters (n, np) of each kind's trees."""
        return [self.parameters(kind, p) if kind.step.plant.parameters.n else np.zeros(len(kind.trees.names)) for kind in self.kinds]

    def moved(self, count: float, t0: float, k: float, dt: float, p: list[Array], x: Array, noted: float = 1.0) -> tuple[Array, Notes]:
        """Return the state x (n) so many steps later, and the notes of the last of them where it is ``noted``."""
        n = len(self.kinds)
        own, stuck = [places.taken(x) for places in self.states], x[self.stuck].reshape(self.contacts.held)
        sticking = stuck[: np.count_nonzero(stuck[:, 0])]
        with np.errstate(invalid="ignore"):                                    # what is not finite is found by who asked for it
            *found, stuck, changes, wrenches, points = self.advanced(count, noted, t0, k, dt, *p, *own, *self.inertias, sticking,
                                                                     *self.contacts.flat)  # fmt: skip
        x = x.copy()
        for places, rows in zip(self.states, found[:n], strict=True):
            places.put(x, rows)
        x[self.stuck] = 0.0
        x[self.stuck][: stuck.size] = stuck.ravel()
        return x, Notes(changes, wrenches, points)

    @property
    def columns(self) -> int:
        """Numbers that are recorded of a point."""
        return TURNING if self.contacts.turns else POINT

    @functools.cached_property
    def stuck(self) -> slice:
        """Slice of the sticking contacts' memory in the whole state."""
        return sticking_places(self.layout, self.plant.states)


def so_many(rows: Any, n: int) -> Array:
    """Return a table of n rows as an array."""
    return np.asarray(ops.gather(rows, np.arange(float(n))))


def pushing(points: Array) -> Array:
    """Return those of points (p, 15 or 18) that push."""
    return points[np.linalg.norm(points[:, 9:12], axis=1) > 0.0]


def seen(plant: Plant, x: Array, flown: Array, G: Array) -> Array:
    """Return what contacts ask of a free body with states x before its flight and after it (102): see
    :class:`~engine.contact.many.Bodies`, after ``initial`` with the pose (3×4) before; M (36) and velocities before and after (6), about
    its origin in world axes as it stands after; the velocity (3) of its centre of mass before; momentum, and mass."""
    model = plant.model
    T0, T = (model.bodies[0].pose(y[: model.nq]) for y in (x, flown))
    v0, v = (y[model.nq : model.nq + 6] for y in (x, flown))
    R = se3.rotation(T)
    X = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    G = G.reshape(6, 6)
    z = plant.states.split(flown[model.nq + 6 : model.nq + 6 + plant.states.n])
    P = z[MOMENTUM][0] if MOMENTUM in z else np.zeros(9)
    speeds = ops.array([ops.norm(v[3:]), ops.norm(v[:3])])
    drift = centre_velocity(G, T0, v0)
    begun = se3.rotation(T0).ravel(), v0, T0[:3].ravel()
    return np.concatenate([T[:3].ravel(), *begun, speeds, (X @ G @ X.T).ravel(), X @ v0, X @ v, drift, P, G[5:, 5]])


def complete_body(plant: Plant, h: Any, p: Array, flown: Array, V: Array, free: Array, change: Array) -> Array:
    """Return the state of a free body with parameters p after a step of h whose flight ends at ``flown`` and ``free`` (6), and whose
    impulses leave V (6), in world axes, and ``change`` its momentum (9)."""
    given, n = p if plant.parameters.n else np.zeros(0), plant.model.nq
    model = plant.model_at(given)
    q, v, z = flown[:n], flown[n : n + 6], plant.states.split(flown[n + 6 : n + 6 + plant.states.n])
    after = v + turned_back(model.bodies[0].pose(q)[:3].ravel(), V - free)

    def settle(q: Array, v: Array) -> Array:
        if MOMENTUM not in z:                                                  # what the impulses leave, in the axes that they turn
            return np.concatenate([q, turned_back(model.bodies[0].pose(q)[:3].ravel(), V), plant.states.join(z)])
        q, v, P, _ = plant.kept(q, v, plant.states.join(z), np.zeros(0), given, z[MOMENTUM] + change[None])
        return np.concatenate([q, v, plant.states.join({**z, MOMENTUM: P})])

    pushed = ops.largest(np.concatenate([after - v, change])) > 0.0
    end = ops.when(pushed, lambda: settle(model.manifold.plus(q, EVENLY * h * (after - v)), after), flown[: n + 6 + plant.states.n])
    return np.concatenate([end, flown[n + 6 + plant.states.n :]])


def turned_back(T: Array, V: Array) -> Array:
    """Return a twist (6) in world axes in those of a body at T (3×4, flattened)."""
    R = T.reshape(3, 4)[:, :3]
    return np.concatenate([R.T @ V[:3], R.T @ V[3:]])
