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


class ImpulseResult(NamedTuple):
    """What impulses leave of a step.

    Attributes
    ----------
    v : v⁺ (nv)
    changes : what contacts change of the trees' momenta (trees, 9)
    stuck : how pairs gave way since they stick (pairs, 6); a table (places, 7), where points are rows
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
        self.trees, self.held = len(conserved) if contacts else 0, contacts.held if contacts else (0, 6)
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

    def after(self, model: Model, h: Any, q0: Array, before: Array, q: Array, free: Array, momenta: Array, stuck: Array,
              limited: LimitedForces | None, jacobian: Callable[[], Array] | None, inertia: Callable[[], Array],
              mass: Callable[[], Sequence[Any]]) -> ImpulseResult:  # fmt: skip
        """Return v⁺ and what goes with it, of a step of h from q0 (nq), ``before`` (nv) and what is ``stuck`` (pairs, 6), whose flight ends
        at q, ``free`` and with the ``momenta`` (trees, 9); ``limited`` is what stiff forces with limits do beside what of
        them ``inertia()`` (nv, nv) has, which impulses meet; ``jacobian()`` (n, nv) is of the constraints that hold, and ``mass()`` of the
        trees."""
        rubbing = self.rubbing | frozenset(limited.rows if limited else ())
        joints = self.joints.step(h, before, q, free, self.way, limited) if self.joints else None
        if joints is None and limited is not None:
            joints = JointStepLaws([], np.inf, free, limited)

        def noted(v: Array, own: Mapping[str, Any], pushes: Callable[[], Array]) -> dict[str, Any]:
            """What is noted of impulses after which there is v (nv)."""
            rubs = joints.parts(v) if joints else {}
            losses = {name: np.append(f / h, (f / h) @ (0.5 * (before + v))) for name, f in rubs.items()}
            resist = {"resist": pushes() / h} if self.constrained else {}
            return {**self.nothing(free).notes, "change": (v - free) / h, **own, **losses, **resist}

        nothing = self.nothing(free)

        def rub() -> ImpulseResult:
            """What joints' laws alone leave."""
            assert joints is not None
            law = joints
            v, friction = velocity_after(inertia(), law, before, free, jacobian and jacobian())
            return nothing._replace(v=v, lasting=law.lasting(v) / h, notes=noted(v, {}, lambda: law.impulse(v, friction)[0]))

        if self.contacts is None:
            assert joints is not None
            return ops.when(joints.acts, rub, nothing)
        contacts = self.contacts
        with ops.part("broad phase", q):
            found = contacts.broad_phase(q, free, h)
        near = functools.reduce(ops.logical_or, found.near, False)

        def push() -> ImpulseResult:
            with ops.part("narrow phase", q):
                touching = contacts.step(h, q0, before, q, free, found, stuck, rubbing, self.way)
            axes = touching.axes
            law = sum_laws(joints, touching)

            def corrected() -> ImpulseResult:
                flown = axes.seen(free)
                J = np.array([axes.force(row) for row in jacobian()]) if jacobian else None
                x, friction = solve_velocity(axes.inertia(inertia()), joints, touching, axes.seen(before), flown, J)
                rubs, v = friction if joints is None else friction[-1], axes.back(x)
                impulses, lasting, gave = touching.impulses(x, rubs)
                changes = contacts.momentum_changes(mass(), self.conserved, momenta, touching, flown, impulses)
                lasting = lasting if joints is None else lasting + joints.lasting(v)
                notes = noted(v, contacts.noted(touching, impulses), lambda: axes.force_back(law.impulse(x, friction)[0]))
                return ImpulseResult(v, changes, gave, lasting / h, notes)

            return ops.when(law.acts, corrected, nothing)

        after = ops.when(near, push, nothing)
        return after if joints is None else ops.when(ops.logical_and(joints.acts, ops.logical_not(near)), rub, after)

    def points(self, model: Model, h: Any, q0: Array, before: Array, q: Array, free: Array, v: Array, stuck: Array) -> Any:
        """Return the points (p, 13 or 16) that push in a step whose impulses leave v (nv): see
        :func:`~engine.simulation.contact_table.table_of`."""
        contacts = self.contacts
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

    def complete(self, model: Model, h: Any, q: Array, free: Array, momenta: Array, left: ImpulseResult,
                 held: Callable[[Array, Array], tuple[Array, Array]],
                 turned: Callable[[Array, Array], Array],
                 kept: Callable[[Array, Array, Array], tuple[Array, ...]]) -> tuple[Array, ...]:  # fmt: skip
        """Return q (nq), v (nv) and momenta (trees, 9) at the end of a step of h.

        ``held(q, v)`` puts both on constraints; ``turned(P, q)`` is what the momenta P are where impulses lead to q, and ``kept(q, v, P)``
        sets q and v to them.
        """
        v, momenta = left.v, momenta + left.changes if self.trees else momenta

        def settle(q_moved: Array, v: Array) -> Array:
            x, v = held(q_moved, v)
            x, v, P, _ = kept(x, v, turned(momenta, x))
            return np.concatenate([x, v, P.ravel()])

        with ops.part("correction", q):
            end = corrected(model, h, q, free, v, settle, np.concatenate([q, v, momenta.ravel()]), self.way)
        x, v, P = np.split(end, [model.nq, model.nq + model.nv])
        return x, v, P.reshape(momenta.shape)

    def observed(self, notes: Mapping[str, Array], h: Any, q: Array, v: Array) -> dict[str, Any]:
        """Return signals of the impulses of a step of h from q (nq) and v (nv), of which this was noted."""
        signals: dict[str, Any] = {}
        for name in self.joints.step(h, v, q, v, self.way).names if self.joints else ():
            signals |= {f"{name}.force": notes[name][:-1], f"{name}.power": notes[name][-1]}
        if self.contacts:
            signals |= self.contacts.observed(q, v, notes, h)
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
