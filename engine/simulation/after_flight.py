"""The second half of a step: impulses of joints and contacts at the end of free flight, and q and v that they lead to."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.components.component import Context
from engine.contact import AT_ONCE, EVENLY, Unsolved
from engine.contact.limited_forces import LimitedForces
from engine.contact.many import RowLaws
from engine.dynamics.crba import solve_from_leaves
from engine.dynamics.modal_momentum import momentum_rates
from engine.integrate.method import Complete
from engine.model import Model
from engine.simulation.impulses import Flight, ImpulseResult, Impulses, Resistance
from engine.simulation.own_states import LASTING, MOMENTUM, STUCK
from engine.simulation.plant import Plant

Array = np.ndarray


def picklable_copy(plant: Plant, without: Sequence[str] = ()) -> Plant:
    """Return a copy of a plant as data, without what it makes functions of, such as slopes, and without some of its attributes."""
    plain = copy.copy(plant)
    if plant.stiffness is not None:
        plain.stiffness = copy.copy(plant.stiffness)
        plain.stiffness.plant = plain
        for own in ("derivatives", "begun", "inertia"):
            del plain.stiffness.__dict__[own]
    for own in ("look", *without):
        del plain.__dict__[own]
    return plain


def without_acting(plant: Plant) -> Plant:
    """Return a copy of a plant of which nothing that acts in flight is known: what asks it for that fails."""
    bare = picklable_copy(plant, ("acting", "components", "controller"))
    bare.read = set()
    return bare


class AfterFlight:
    """The end of a step: impulses of joints and contacts, consistent with constraints and with stiff forces.

    ``by`` has the functions :meth:`Plant.acceleration`, :meth:`after` and :meth:`yielding`, or calls of them, and what resists.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant, self.way = plant, AT_ONCE if plant.stiffness is not None else EVENLY

    def impulses(self, model: Model, values: Mapping[str, Any]) -> Impulses:
        """Return the plant's impulses, with parameters in place of their numbers."""
        assert self.plant.impulses is not None
        return self.plant.impulses.of(model, values, self.way)

    def met(self, model: Model, q: Array, p: Array, resistance: Sequence[Array]) -> Array:
        """Return the inertia (nv, nv) that impulses meet at q: M, with what resists of what is stiff."""
        with ops.part("mass matrix", q):
            return dynamics.crba(model, q) if self.plant.stiffness is None else self.plant.stiffness.met(q, p, *resistance)

    def meeting(self, q0: Array, q: Array) -> Array:
        """Return where the inertia that impulses meet is looked at, and what constraints hold, in a step from q0 whose flight ends at q:
        beside what is stiff where the flight has its own, so that what lasts is taken off and found anew as one."""
        return q0 if self.way == AT_ONCE else q

    def after(self, h: Any, q0: Array, before: Array, q: Array, free: Array, begun: Array, momenta: Array, stuck: Any,
              m: Array, p: Array, *stiff: Array) -> tuple[Any, ...]:  # fmt: skip
        """Return the arrays and tables of what impulses leave of a step's flight, one after another: see :meth:`Impulses.after`."""
        plant, resistance = self.plant, stiff[:1]
        limited = LimitedForces(plant.stiffness.moving.tolist(), stiff[1], h) if plant.stiffness is not None and stiff[1:] else None
        model = plant.model_at(p)
        impulses = self.impulses(model, plant.parameters.split(p))
        at = self.meeting(q0, q)
        jacobian = None if plant.constraints is None else lambda: plant.jacobian(at, m)
        try:
            met = Resistance(lambda: self.met(model, at, p, resistance), jacobian, lambda: plant.masses(p), limited)
            left = impulses.after(Flight(h, q0, before, q, free, begun, momenta, stuck), met)
            return tuple(ops.structure(left)[0])
        except Unsolved as error:
            if plant.constraints is None:
                raise
            unsolved = Unsolved(f"{error} ({plant.constraints})")
            unsolved.overrun = error.overrun
            raise unsolved from None

    def relieving(self, by: Any, m: Array, p: Array, modes: Sequence[Array]) -> Callable[..., Callable[[Array, Array], Array]]:
        """Return, of x = (q, v, z), z but for the force (nv) that lasts, before a flight of h, the map of that after it to where it would
        be without the force."""
        plant, way = self.plant, self.way
        nq, nv = plant.model.nq, plant.model.nv

        def relieving(t: Any, h: Any, before: Array) -> Callable[[Array, Array], Array]:
            return functools.partial(relieved, h, before[:nq], by.resistance(t, h, before, m, p, modes))

        def relieved(h: Any, q0: Array, resistance: tuple[Array, ...], x: Array, force: Array) -> Array:
            q, v, z = x[:nq], x[nq : nq + nv], plant.states.split(np.concatenate([x[nq + nv :], force, np.zeros(plant.sticks)]))
            now = plant.laden(p, x[nq + nv :])
            model = plant.model_at(now)
            with ops.part("carried impulses", q):
                a = by.yielding(self.meeting(q0, q), force, m, p, *resistance)
            to, v = model.manifold.plus(q, (-way * h * h) * a), v - h * a
            if plant.conserved:
                if plant.constraints is not None:
                    to, v = plant.constraints.moved_whole(model, to, v, plant.memories.split(m), True)
                P = plant.turned(self.set_back(model, h, q, z[MOMENTUM], force, plant.states.join(z)), q, to, plant.states.join(z), p)
                to, v, z[MOMENTUM], _ = by.kept(to, v, plant.states.join(z), m, now, P)      # here: the projection counts errors
            return np.concatenate([to, v, plant.states.join(z)[: plant.flown]])

        return relieving

    def set_back(self, model: Model, h: Any, q: Array, P: Array, force: Array, z: Array) -> Array:
        """Return momenta P (trees, 9), in whose flight of h a force (nv) that lasts has no part, with centres where :meth:`relieving`
        has a flight without it end: where impulses act evenly they are there. Angular momenta about centres stay, as all a tree may touch
        is the world, whose place of contact goes along with it; where trees may touch each other, their sum about any other point."""
        if self.way == EVENLY:
            return P
        rates = functools.partial(momentum_rates, model, self.plant.conserved, q, bends=self.plant.bends(z))
        shifts = (EVENLY - self.way) * h * h * rates(np.zeros(model.nv), rates(force, np.zeros(P.shape)))[:, 6:]
        turned = ops.cross(P[:, 3:6], shifts) if self.trees_meet else np.zeros(shifts.shape)
        return P + np.concatenate([turned, np.zeros(shifts.shape), shifts], axis=1)

    @functools.cached_property
    def trees_meet(self) -> bool:
        """True if contacts may pass momentum from one floating tree to another."""
        of = {i: k for k, tree in enumerate(self.plant.conserved) for i in tree}
        pairs = self.plant.contacts.pairs if self.plant.contacts else []
        return any(len({of.get(s.body, -1) for s in (pair.a, pair.b)} - {-1}) > 1 for pair in pairs)

    def yielding(self, q: Array, force: Array, m: Array, p: Array, *resistance: Array) -> Array:
        """Return M⁻¹ (f + Jᵀ λ) (nv): how the model at rest yields to a generalized force alone, where constraints hold with theirs."""
        plant = self.plant
        model = plant.model_at(p)
        if plant.constraints is not None:
            return plant.constraints.response(self.met(model, q, p, resistance), q, force, plant.memories.split(m))[0]
        if plant.stiffness is not None:
            return solve_from_leaves(self.met(model, q, p, resistance), force)
        return dynamics.aba(model, q, np.zeros(model.nv), force, (0.0, 0.0, 0.0), None)

    def completion(self, by: Any, m: Array, p: Array, modes: Sequence[Array], keeps: bool) -> Complete:
        """Return the map of x = (q, v, z) before a step of h and after its flight to where impulses lead, with their notes, which ``keeps``
        what gave way where friction holds: its spring gives it back in a step, which has to be as long as the one before."""
        plant = self.plant
        model, nq, nv = plant.model_at(p), plant.model.nq, plant.model.nv
        impulses = self.impulses(model, plant.parameters.split(p))

        def complete(t: Any, h: Any, x: Array, flown: Array) -> tuple[Array, Array]:
            q, free = flown[:nq], flown[nq : nq + nv]
            idle = flown[: len(flown) - plant.lasts - plant.sticks], impulses.nothing(free)
            with ops.part("broad phase", x):
                passed = impulses.pass_by(h, x[nq : nq + nv], q, free)
            if modes and plant.lasts:                                          # forces may come off their limits with what lasted
                lasting = plant.states.split(flown[nq + nv :])[LASTING]
                passed = ops.logical_and(passed, ops.logical_not(ops.largest(lasting) > 0.0))
            y, left = ops.when(ops.logical_not(passed), lambda: meet(t, h, x, flown), idle)
            lasting = left.lasting if plant.lasts else np.zeros(0)
            if plant.sticks and plant.contacts is not None:
                stuck = left.stuck if keeps else plant.contacts.unpressed(left.stuck, 0.0)
                lasting = np.concatenate([lasting, ops.sized(stuck, impulses.held[0]).ravel()])
            return np.concatenate([y, lasting]), impulses.joined(left.notes)

        def meet(t: Any, h: Any, x: Array, flown: Array) -> tuple[Array, ImpulseResult]:
            flight, states = self.flight(h, x, flown), flown[nq + nv :]
            stiff, now = self.stiff(by, t, h, x, flown, m, p, modes), plant.laden(p, states)
            model = plant.model_at(now)                                        # bodies as they are at the end of the flight
            with ops.part("impulses", flight.q):
                left = impulses.built(by.after(*flight, m, now, *stiff))

            def settle(q: Array, v: Array, P: Array) -> tuple[Array, Array, Array]:
                q, v = plant.settled(model, q, v, m)
                q, v, P, _ = by.kept(q, v, states, m, now, plant.turned(P, flight.q, q, states, p))
                return q, v, P

            q, v, P = impulses.complete(model, flight, left, settle)
            z = plant.states.split(states)
            z = z | ({MOMENTUM: P} if MOMENTUM in z else {})
            return np.concatenate([q, v, plant.states.join(z)[: plant.flown]]), left

        return complete

    def flight(self, h: Any, x: Array, flown: Array) -> Flight:
        """Return the flight of a step of h from x = (q, v, z) to where it is ``flown``."""
        nq, nv = self.plant.model.nq, self.plant.model.nv
        z0, z = (self.plant.states.split(y[nq + nv :]) for y in (x, flown))
        begun, momenta = (y.get(MOMENTUM, np.zeros((0, 9))) for y in (z0, z))
        return Flight(h, x[:nq], x[nq : nq + nv], flown[:nq], flown[nq : nq + nv], begun, momenta, self.stuck(z))

    def stuck(self, z: Mapping[str, Array]) -> Any:
        """Return how pairs gave way since they stick, of states z; as a table, where points are rows."""
        stuck = z.get(STUCK, np.zeros((0, 7)))
        return ops.table(stuck) if isinstance(self.plant.contacts, RowLaws) else stuck

    def stiff(self, by: Any, t: Any, h: Any, x: Array, flown: Array, m: Array, p: Array, modes: Sequence[Array]) -> tuple[Array, ...]:
        """Return what impulses meet of stiff forces, and of their limits, if there are any, in a step of h from t and x = (q, v, z), of
        which ``flown`` is after the flight, without the force that lasts: limits are as they are with it, where it ends by itself."""
        plant, resistance = self.plant, by.resistance(t, h, x, m, p, modes)
        if not modes:
            return tuple(resistance)
        model, nq, nv = plant.model_at(p), plant.model.nq, plant.model.nv
        q, free, z = flown[:nq], flown[nq : nq + nv], flown[nq + nv :]
        if plant.lasts:
            lasting = plant.states.split(z)[LASTING]
            a = by.yielding(self.meeting(x[:nq], q), lasting, m, p, *resistance)
            q, free = model.manifold.plus(q, (self.way * h * h) * a), free + h * a
        flight = np.concatenate([q, free, z[: plant.flown]])
        return (*resistance, by.limited(t, h, x[: len(flight)], flight, m, p, *modes))

    def points(self, by: Any, t: Any, h: Any, x: Array, flown: Array, m: Array, p: Array, modes: Sequence[Array]) -> Any:
        """Return the points (p, 13 or 16) that push in a step of h from t and x = (q, v, z), whose flight ends at ``flown``: see
        :meth:`Impulses.points`."""
        plant, flight = self.plant, self.flight(h, x, flown)
        now = plant.laden(p, flown[plant.model.nq + plant.model.nv :])
        impulses = self.impulses(plant.model_at(now), plant.parameters.split(p))
        found = by.after(*flight, m, now, *self.stiff(by, t, h, x, flown, m, p, modes))
        return impulses.points(flight, impulses.built(found).v)

    def passing(self, h: Any, x: Array, p: Array) -> Any:
        """Return whether shapes may have passed through each other in a step of h that ends at x = (q, v, z)."""
        plant = self.plant
        if plant.impulses is None or plant.contacts is None:
            return False
        values, nq, nv = plant.parameters.split(p), plant.model.nq, plant.model.nv
        model = plant.model_at(p)
        return self.impulses(model, values).passing(x[:nq], x[nq : nq + nv], h)

    def recorded_force(self, s: Context) -> Array:
        """Return the carried force (nv) under which the v̇ of free flight is recorded, to which the impulses of its step are added: zero, as
        these have it anew; beside stiff forces the force itself, which :meth:`resisted` then takes off as they yield to it."""
        return s.states[LASTING] if self.plant.stiffness is not None else np.zeros(self.plant.lasts)

    def resisted(self, by: Any, s: Context, h: Any, m: Array, vdot: Array, notes: Array,
                 p: Array) -> tuple[Array, dict[str, Any], Array | None]:  # fmt: skip
        """Return v̇ (nv) of flight, under :meth:`recorded_force`, with what acts after it in a step of h that begins now, which leaves
        these notes; what is recorded of that; and the generalized force (nv) besides flight's where constraints pass it on."""
        plant = self.plant
        if plant.impulses is None:
            return vdot, {}, None
        noted = plant.impulses.notes.split(notes)
        signals = self.impulses(s.model, s.parameters).observed(noted, h, s.q, s.v, self.stuck(s.states))
        vdot, push = vdot + noted["change"], noted["resist"] if plant.constraints is not None else None
        if plant.stiffness is None or not plant.lasts:
            return vdot, signals, push
        lasting, x = s.states[LASTING], np.concatenate([s.q, s.v, plant.states.join(s.states)])
        resistance = by.resistance(s.t, h, x, m, p, by.limits.at_an_instant)
        return vdot - by.yielding(s.q, lasting, m, p, *resistance), signals, None if push is None else push - lasting
