"""The impulse laws of a plant, of joint friction, stops and contacts, collected for the one velocity problem after a step's flight."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.components.layout import Layout
from engine.contact import EVENLY, ContactLaws, JointLaws, Law, SumLaw, corrected, velocity_after
from engine.contact.joint_laws import JointStepLaws
from engine.contact.limited_forces import LimitedForces
from engine.contact.many import JointedProblem
from engine.dynamics.momentum_conservation import Tree
from engine.model import Model
from engine.simulation.parameters import own as stands

Array = np.ndarray
#: what joints' impulses are of
RUBS = "friction", "stops"
#: rad²: how far bodies turn in a step, times how far impulses turn them in it, up to which the next flight takes forces along
CARRIED = 1e-5


class Flight(NamedTuple):
    """A step's flight, at the end of which impulses act.

    Attributes
    ----------
    h : the step, s
    q0, before : q (nq) and v (nv) at its beginning
    q, free : q (nq) and v (nv) at its end
    begun, momenta : of the trees whose momentum is a state of its own (trees, 9), at its beginning and at its end
    stuck : how pairs gave way since they stick (pairs, 7 or 10), at its beginning; a table (places, 8 or 11), where points are rows
    """

    h: Any
    q0: Array
    before: Array
    q: Array
    free: Array
    begun: Array
    momenta: Array
    stuck: Any


class Resistance(NamedTuple):
    """Inertia and constraints that impulses meet, made where they are asked for, as often nothing acts.

    Attributes
    ----------
    inertia : M, with what stiff forces add to it (nv, nv)
    jacobian : of the constraints that hold (n, nv), if there are any
    masses : of the trees
    limited : what stiff forces with limits do beside what ``inertia`` has of them
    """

    inertia: Callable[[], Array]
    jacobian: Callable[[], Array] | None
    masses: Callable[[], Sequence[Any]]
    limited: LimitedForces | None


class ImpulseResult(NamedTuple):
    """Result of a step's impulses.

    Attributes
    ----------
    v : v⁺ (nv)
    changes : what contacts change of the trees' momenta (trees, 9)
    stuck : how pairs gave way since they stick (pairs, 7 or 10); a table (places, 8 or 11), where points are rows
    lasting : the generalized force (nv) of all that lasts: the flight of the next step takes it along, so that what depends on velocities
        there, such as motors that damp, sees those of what is held; :meth:`AfterFlight.relieving` takes it off again
    notes : what is noted, by name: see :attr:`Impulses.notes`; what there may be many of as tables, where points are rows
    """

    v: Array
    changes: Array
    stuck: Any
    lasting: Array
    notes: dict[str, Any]


class Impulses:
    """The laws of a plant's joints and contacts.

    Parameters
    ----------
    conserved : the trees whose momentum is a state of its own
    nv : velocities of the model
    constrained : whether constraints hold, which resist what acts
    way : how far impulses go of theirs within a step: EVENLY, or AT_ONCE beside what is stiff

    Attributes
    ----------
    notes : the layout of what is noted of a step's impulses, for the record: what they "change" of v̇ (nv), what contacts note, the forces
        (nv) and the powers of joints' "friction" and "stops", and the force (nv) of all that acts where constraints "resist" it
    """

    def __init__(self, joints: JointLaws | None, contacts: ContactLaws | None, conserved: tuple[Tree, ...], nv: int, constrained: bool,
                 way: float = EVENLY) -> None:  # fmt: skip
        self.joints, self.contacts, self.conserved, self.way = joints, contacts, conserved, way
        self.nv, self.constrained = nv, constrained
        self.trees, self.held = len(conserved) if contacts else 0, contacts.held if contacts else (0, 7)
        self.rubbing = frozenset(c.j for c in joints.coordinates) if joints else frozenset()
        self.notes = Layout({"change": (nv,), **(contacts.notes if contacts else {}), **dict.fromkeys(RUBS, (nv + 1,) if joints else (0,)),
                             "resist": (nv,) if constrained else (0,)})  # fmt: skip

    def of(self, model: Model, values: Mapping[str, Any], way: float) -> Impulses:
        """Return the same that go so far of their ``way``, of a model with other numbers, with parameters in place of those of joints'
        losses and surfaces."""
        if not any(map(stands, values)):
            return Impulses(self.joints, self.contacts, self.conserved, self.nv, self.constrained, way)
        joints, contacts = self.joints and self.joints.of(model, values), self.contacts and self.contacts.of(model, values)
        return Impulses(joints, contacts, self.conserved, self.nv, self.constrained, way)

    def after(self, flight: Flight, met: Resistance) -> ImpulseResult:
        """Return v⁺ and what goes with it at the end of a step's flight, of all laws that act there."""
        joints, nothing = self.joint_laws(flight, met.limited), self.nothing(flight.free)

        def of_joints() -> ImpulseResult:
            assert joints is not None
            return self.after_joints(flight, met, joints)

        def of_contacts() -> ImpulseResult:
            return self.after_contacts(flight, met, joints, found)

        if self.contacts is None:
            assert joints is not None
            return ops.when(joints.acts, of_joints, nothing)
        with ops.part("broad phase", flight.q):
            found = self.contacts.broad_phase(flight.q, flight.free, flight.h)
        near = functools.reduce(ops.logical_or, found.near, False)
        after = ops.when(near, of_contacts, nothing)
        return after if joints is None else ops.when(ops.logical_and(joints.acts, ops.logical_not(near)), of_joints, after)

    def joint_laws(self, flight: Flight, limited: LimitedForces | None) -> JointStepLaws | None:
        """Return the laws of joints, and of limited forces, in a step; None where there are neither."""
        if self.joints:
            return self.joints.step(flight.h, flight.before, flight.q, flight.free, self.way, limited)
        return None if limited is None else JointStepLaws([], np.inf, flight.free, limited)

    def after_joints(self, flight: Flight, met: Resistance, joints: JointStepLaws) -> ImpulseResult:
        """Return what joints' laws alone leave."""
        v, friction = velocity_after(met.inertia(), joints, flight.before, flight.free, met.jacobian and met.jacobian())
        lasting = joints.lasting(v) / flight.h
        notes = self.note(flight, joints, v, {}, lambda: joints.impulse(v, friction)[0])
        return self.nothing(flight.free)._replace(v=v, lasting=lasting, notes=notes)

    def after_contacts(self, flight: Flight, met: Resistance, joints: JointStepLaws | None, found: Any) -> ImpulseResult:
        """Return what joints' laws and contacts leave together, of pairs whose broad phase has ``found`` them near."""
        h, contacts = flight.h, self.contacts
        assert contacts is not None
        keep = self.rubbing | frozenset(met.limited.rows if met.limited else ())
        with ops.part("narrow phase", flight.q):
            touching = contacts.step(h, flight.q0, flight.before, flight.q, flight.free, found, flight.stuck, keep, self.way)
        axes, law = touching.axes, sum_laws(joints, touching)
        idle = self.nothing(flight.free)._replace(stuck=contacts.unpressed(flight.stuck, h))

        def solve() -> ImpulseResult:
            free = axes.seen(flight.free)
            J = np.array([axes.force(row) for row in met.jacobian()]) if met.jacobian else None
            x, friction = solve_velocity(axes.inertia(met.inertia()), joints, touching, axes.seen(flight.before), free, J)
            rubs, v = friction if joints is None else friction[-1], axes.back(x)
            impulses, lasting, gave = touching.impulses(x, rubs)
            changes = contacts.momentum_changes(met.masses(), self.conserved, flight.begun, flight.momenta, touching, impulses)
            lasting = lasting if joints is None else lasting + joints.lasting(v)
            own = contacts.noted(touching, x, impulses)
            notes = self.note(flight, joints, v, own, lambda: axes.force_back(law.impulse(x, friction)[0]))
            return ImpulseResult(v, changes, gave, self.carried(lasting / h, flight, v), notes)

        return ops.when(law.acts, solve, idle)

    def carried(self, force: Array, flight: Flight, v: Array) -> Array:
        """Return what the next flight takes along of a generalized force (nv) that lasts from a step with the velocities v (nv) at its end:
        nothing where bodies turn so far within a step, and by the force, that it meets another inertia at the flight's end than in it."""
        assert self.contacts is not None
        turn, change = (flight.h * ops.largest(x[self.contacts.turning_rates]) for x in (v, v - flight.free))
        return ops.where(turn * change < CARRIED, force, 0.0)

    def note(self, flight: Flight, joints: JointStepLaws | None, v: Array, contacts: Mapping[str, Any],
             impulse: Callable[[], Array]) -> dict[str, Any]:  # fmt: skip
        """Return the notes of impulses that leave v (nv), with those of ``contacts``, and with the whole ``impulse`` (nv) where constraints
        resist."""
        h, before, free = flight.h, flight.before, flight.free
        rubs = joints.parts(v) if joints else {}
        losses = {name: np.append(f / h, (f / h) @ (0.5 * (before + v))) for name, f in rubs.items()}
        resist = {"resist": impulse() / h} if self.constrained else {}
        return {**self.nothing(free).notes, "change": (v - free) / h, **contacts, **losses, **resist}

    def points(self, flight: Flight, v: Array) -> Any:
        """Return the points (p, 13 or 16) that push in a step whose impulses leave v (nv): see
        :func:`~engine.simulation.contact_table.table_of`."""
        contacts, (h, q0, before, q, free, _, _, stuck) = self.contacts, flight
        assert contacts is not None
        law = contacts.step(h, q0, before, q, free, contacts.broad_phase(q, free, h), stuck, self.rubbing, self.way)
        x = law.axes.seen(v)
        return law.seen(x, law.impulses(x, law.lagged(x, law.friction)[0])[0])

    def pass_by(self, h: Any, before: Array, q: Array, free: Array) -> Any:
        """Return whether it is plain from q (nq) and v = ``free`` (nv), where the flight of a step of h ends, that nothing acts."""
        if self.contacts is None:
            return False
        rubs = self.joints.step(h, before, q, free, self.way).acts if self.joints else False
        return ops.logical_and(self.contacts.distant(q, free, h), ops.logical_not(rubs))

    def passing(self, q: Array, v: Array, h: Any) -> Any:
        """Return whether shapes may have passed through each other within h at v (nv) before q (nq)."""
        return self.contacts.passing(q, v, h) if self.contacts else False

    def nothing(self, v: Array) -> ImpulseResult:
        """Return what is left where nothing acts, and v (nv) is as it was."""
        notes = {name: np.zeros(shape) for name, shape in self.notes.shapes.items()}
        return ImpulseResult(v, np.zeros((self.trees, 9)), np.zeros(self.held), np.zeros(self.nv), notes)

    def built(self, leaves: Sequence[Any]) -> ImpulseResult:
        """Return what is left, of its arrays and tables one after another."""
        v, changes, stuck, lasting, *notes = leaves
        return ImpulseResult(v, changes, stuck, lasting, dict(zip(self.notes.shapes, notes, strict=True)))

    def joined(self, notes: Mapping[str, Any]) -> Array:
        """Return what is noted as one vector."""
        shapes = self.notes.shapes
        return self.notes.join({name: ops.sized(x, shapes[name][0]) if len(shapes[name]) > 1 else x for name, x in notes.items()})

    def complete(self, model: Model, flight: Flight, left: ImpulseResult,
                 settle: Callable[[Array, Array, Array], tuple[Array, Array, Array]]) -> tuple[Array, ...]:  # fmt: skip
        """Return q (nq), v (nv) and momenta (trees, 9) at the end of a step, to which its impulses lead; ``settle(q, v, P)`` makes the
        three agree with constraints and with each other."""
        momenta, q = flight.momenta + left.changes if self.trees else flight.momenta, flight.q

        def settled(q_moved: Array, v: Array) -> Array:
            x, v, P = settle(q_moved, v, momenta)
            return np.concatenate([x, v, P.ravel()])

        with ops.part("correction", q):
            unmoved = np.concatenate([q, left.v, momenta.ravel()])
            end = corrected(model, flight.h, q, flight.free, left.v, settled, unmoved, self.way)
        x, v, P = np.split(end, [model.nq, model.nq + model.nv])
        return x, v, P.reshape(momenta.shape)

    def observed(self, notes: Mapping[str, Array], h: Any, q: Array, v: Array, stuck: Any) -> dict[str, Any]:
        """Return, by signal name, the joint forces, powers and contacts of a step's impulses, from the ``notes`` that the step kept, and
        what is ``stuck`` at its beginning."""
        signals: dict[str, Any] = {}
        for name in self.joints.step(h, v, q, v, self.way).names if self.joints else ():
            signals |= {f"{name}.force": notes[name][:-1], f"{name}.power": notes[name][-1]}
        if self.contacts:
            signals |= self.contacts.observed(q, v, notes, h, stuck)
        return signals


def sum_laws(joints: Law | None, touching: Law) -> Law:
    """Return the law of joints, if they have one, and of contacts."""
    return touching if joints is None else SumLaw([joints, touching])


def solve_velocity(M: Array, joints: Law | None, touching: Any, before: Array, free: Array, J: Array | None) -> tuple[Array, Any]:
    """Return :func:`~engine.contact.velocity_after` by both laws: where points are rows, and none is between bodies that move, with the
    zeros of M."""

    def by(touching: Law) -> tuple[Array, Any]:
        return velocity_after(M, sum_laws(joints, touching), before, free, J)

    if not isinstance(touching, JointedProblem):
        return by(touching)
    standing = ops.when(ops.logical_not(touching.crosses), lambda: by(touching.standing()), (before, sum_laws(joints, touching).friction))
    return ops.when(touching.crosses, lambda: by(touching), standing)
