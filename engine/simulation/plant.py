"""The plant: a model and all that acts on it, as one vector field that is integrated and one record that is observed.

Functions take the time t, the configuration q (nq), the velocity v (nv), the components' states z, their memories m and the parameters p,
each of them one vector; a :class:`~engine.components.layout.Layout` says what lies where.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import warn
from engine.components.actuators import Drive, Motor
from engine.components.component import AS_IT_IS, Component, Context, Felt, SimulationError, SimulationWarning, States
from engine.components.controller import Controller
from engine.components.effect import observes
from engine.components.forces import CentralGravity, JointStops
from engine.components.frame import Frame, require_falling
from engine.components.layout import Layout
from engine.components.makers import Maker
from engine.contact import ContactLaws
from engine.dynamics.modal_momentum import Bend, bends_of, central_momentum, masses, momentum_rates, with_momenta
from engine.dynamics.momentum_conservation import Tree, add_moved, append_stored, floating_trees, joined_trees
from engine.geometry import Plane
from engine.integrate import FreeBody, Mechanical, Stiff, System
from engine.model import Model
from engine.simulation.acting import Acting
from engine.simulation.assessment import Look
from engine.simulation.constraints import Constraints
from engine.simulation.impulses import Impulses
from engine.simulation.own_states import DEFECT, LASTING, MOMENTUM, OWN, STUCK
from engine.simulation.parameters import Read, with_parameters
from engine.simulation.stiffness import Stiffness
from engine.simulation.variable_mass import add_masses, between_links, body_of_link, drained, modal, moved_by, with_drains, without_inner

Array = np.ndarray
#: the memory of what is noted of the impulses of the step before, where somebody feels it
STRUCK = "struck"


class Plant(Acting):
    """A model with its components and its controller, bound to it.

    Parameters
    ----------
    parameters : nominal values by name
    conserved : the trees whose momentum is a state of its own (see :mod:`engine.dynamics.momentum_conservation`)
    compiled : whether a law that ticks is asked on symbols for what it holds, or on numbers
    impulses : what acts by impulses after a step's flight
    constraints : what holds exactly, in flight and after it
    makers : of signals, in their order
    meeting : the shape of what is kept of how bodies that meet by tables gave way since they stick

    Attributes
    ----------
    states, memories, parameters : what z, m and p hold
    read : names of the parameters that something has read until now
    kind : of system that it is: a FreeBody where it is a single body that floats and has no states, else Mechanical
    """

    def __init__(self, model: Model, gravity: tuple[float, ...], components: list[Component], controller: Controller | None,
                 parameters: Mapping[str, Array], conserved: tuple[Tree, ...], compiled: bool,
                 impulses: Impulses | None = None, constraints: Constraints | None = None,
                 makers: Sequence[Maker] = (), meeting: tuple[int, int] = (0, 7)) -> None:  # fmt: skip
        self.model, self.gravity, self.components, self.controller, self.conserved = model, gravity, components, controller, conserved
        self.impulses, self.constraints = impulses, constraints
        self.stiffness: Stiffness | None = None                                # of what is found to be stiff
        self.look: Look | None = None                                          # at the slopes by which that was found
        uniform = np.asarray(parameters.get("gravity", gravity)).tolist()
        if any(uniform) and any(isinstance(c, CentralGravity) for c in components):
            warn(f"'{model.name}' has a CentralGravity besides the uniform gravity {tuple(uniform)}, and both act; "
                 "expected gravity=(0, 0, 0)", SimulationWarning)  # fmt: skip
        self.pulls = [c for c in components if type(c).pull_at is not Component.pull_at]
        self.frame = next((c for c in components if isinstance(c, Frame)), None)
        if self.frame is not None:
            require_falling(model, gravity, parameters, components, self.ground is not None)
        self.values, self.read = dict(parameters), set[str]()
        self.parameters = Layout({n: np.shape(p) for n, p in parameters.items()})
        self.makers = [*makers]
        self.acting = [*makers, *([] if controller is None else [controller]), *components]
        if controller is not None:
            controller.serve(components, model)
        self.states = Layout({c.name: c.state.shape for c in self.acting if c.state.size}
                             | ({MOMENTUM: (len(conserved), 9), DEFECT: (len(conserved), 4)} if conserved else {}))  # fmt: skip
        alone = [b.kind.floats for b in model.bodies] == [True] and not self.states.n and constraints is None
        self.kind: type[System] = FreeBody if alone else Mechanical
        self.carriers = [c for c in components if type(c).bodies is not Component.bodies]
        self.carried = Layout({c.name: c.state.shape for c in self.carriers})
        self.bending = [c for c in self.carriers if not c.rigid]
        self.cargo = np.array([k for c in self.carriers for k in range(self.states.n)[self.states.slices[c.name]]], dtype=int)
        lasting = {} if impulses is None or alone else {LASTING: (model.nv,)}
        held = meeting if impulses is None else impulses.held
        self.states = Layout({**self.states.shapes, **lasting, **({STUCK: held} if held[0] else {})})
        self.hold(compiled)
        struck = {STRUCK: (impulses.notes.n,)} if impulses is not None and self.feeling.n else {}
        self.memories = Layout({c.name: c.memory.shape for c in self.acting if c.memory.size} | struck)
        self.observing = [c for c in self.acting if observes(c)]
        if impulses is not None and (own := [c.name for c in self.observing if c.state.size]):
            raise SimulationError(f"'{own[0]}' integrates what it observes in flight, which impulses of contacts, stops or friction "
                                  "interrupt; expected no contacts and joint_dynamics='explicit' or None, or one that samples")  # fmt: skip

    @property
    def contacts(self) -> ContactLaws | None:
        """The laws of contacts, if there are any."""
        return self.impulses.contacts if self.impulses else None

    @functools.cached_property
    def ground(self) -> Array | None:
        """The pose (4, 4) of the ground that there are contacts with, whose z axis is its normal."""
        planes = [pair.a.pose for pair in self.contacts.pairs if isinstance(pair.a.shape, Plane)] if self.contacts else []
        return planes[0] if planes else None

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of what signals have an entry for each of, the points of contacts, and of what they number, such as phases."""
        own = {f"{c.name}.{part}": x for c in self.makers for part, x in c.called.law.labels.items()}
        return own | ({"contacts": tuple(self.contacts.names)} if self.contacts else {})

    def initial_states(self) -> Array:
        """Return z at first; momenta are zero until q and v are known."""
        own = {n: np.zeros(shape) for n, shape in self.states.shapes.items() if n in OWN}
        return self.states.join(own | {c.name: c.state for c in self.acting if c.state.size})

    def initial_memories(self) -> Array:
        """Return m at first."""
        zeros = {n: np.zeros(shape) for n, shape in self.memories.shapes.items()}
        return self.memories.join(zeros | {c.name: c.memory for c in self.acting if c.memory.size})

    def remembering(self, m: Array, notes: Array) -> Array:
        """Return memories with what is noted of a step's impulses, where somebody feels it at the next."""
        return m if STRUCK not in self.memories.shapes else np.concatenate([m[: self.memories.slices[STRUCK].start], notes])

    def model_at(self, p: Array) -> Model:
        """Return the model with what parameters p say of it, and what states add to bodies: as at first, where p is not :meth:`laden`."""
        model = with_parameters(self.model, self.gravity, self.parameters.split(p))[0]
        if not self.carriers:
            return model
        return add_masses(model, self.carriers, self.carried.split(self.laid(p)))

    def laid(self, p: Array) -> Array:
        """Return the states behind parameters p that are :meth:`laden`; those at first, if they are not."""
        return p[self.parameters.n :] if len(p) > self.parameters.n else self.initial_states()[self.cargo]

    def laden(self, p: Array, z: Array) -> Array:
        """Return the parameters p with those of the states z behind them on which bodies' inertias depend, if any does."""
        return np.concatenate([p[: self.parameters.n], z[self.cargo]]) if self.carriers else p

    @property
    def given(self) -> int:
        """Number of scalars that :meth:`laden` returns."""
        return self.parameters.n + len(self.cargo)

    # ------------------------------------------------------------ what acts

    def context(self, t: Any, q: Array, v: Array, z: Array, p: Array, modes: Mapping[str, Array] | None = None) -> Context:
        """Return time and state as components see them."""
        parameters = self.parameters.split(p)
        model, gravity = with_parameters(self.model, self.gravity, parameters)
        states = States(self.states.split(z), [n for n in self.states.shapes if n not in OWN], [c.name for c in self.components])
        model = add_masses(model, self.carriers, states)
        bends = modal(self.bending, states)
        s = Context(model, t, q, v, Read(parameters, self.read), gravity, states, modes, self.frame, bends)
        s.pulls, s.ground = self.pulls, self.ground
        return s

    def in_flight(self, t: Any, q: Array, v: Array, z: Array, p: Array, modes: Mapping[str, Array] | None = None) -> Context:
        """Return time and state as components see them, of the states z that are flown: what lasts is no component's."""
        return self.context(t, q, v, np.concatenate([z, np.zeros(self.states.n - len(z))]), p, modes)

    # ------------------------------------------------------------ the field

    @property
    def bounds(self) -> Layout:
        """The modes of forces that are stiff and have limits."""
        return Layout({}) if self.stiffness is None else self.stiffness.bounds

    def acceleration(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, *given: Array) -> tuple[Array, ...]:
        """Return v̇ (nv) under a force (nv) that lasts, if one may, ż but for the notes at the end of z, whose rates are zero, and the
        forces of constraints where there are any; last ``given`` are the modes of limited forces, where there are any."""
        lasting = given[0] if self.lasts else None
        if self.frame is not None and self.conserved:                          # a field that falls off is asked where the momenta lead
            q, v = self.carried_by_momenta(q, v, z, m, p)
        s = self.in_flight(t, q, v, z, p, self.within(given[-1]) if self.bounds.n else None)
        effects = self.effects(s, m)
        tau, F = self.loads(effects)
        forces: list[Array] = []
        moving = tau if lasting is None else tau + lasting
        if self.constraints is None:
            with ops.part("forward dynamics", q, v):
                vdot = dynamics.aba(s.model, q, v, moving, s.gravity, F)
        else:
            with ops.part("forward dynamics with constraints", q, v):
                vdot, *forces = self.constraints.accelerations(s, moving, F, self.memories.split(m))
        rates = {n: effects[n].rate for n in self.states.shapes if n not in OWN}
        rates |= {c.name: self.seen(c, s, m, vdot)[0] for c in self.observing if c.state.size}
        if self.conserved:
            with ops.part("momentum", q, v):
                drains, bends = drained(s, self.carriers, rates), self.bends(z)
                outside = self.external(s, tau, with_drains(s, self.loads(without_inner(effects))[1], drains))
                own = momentum_rates(s.model, self.conserved, q, outside, s.states[MOMENTUM], bends)
                rates[MOMENTUM] = np.array([rate + moved_by(s, tree, drains, P) for rate, tree, P
                                            in zip(own, self.conserved, s.states[MOMENTUM], strict=True)])  # fmt: skip
        return vdot, np.concatenate([np.zeros(0), *(np.ravel(rate) for rate in rates.values())]), *forces

    def seen(self, c: Component, s: Context, m: Array, vdot: Array) -> tuple[Any, Mapping[str, Any]]:
        """Return the rate of a component that observes, and its signals."""
        return c.observe(s, s.states.get(c.name, c.state), self.memories.split(m).get(c.name, c.memory), vdot)

    def external(self, s: Context, tau: Array, F: Array | None) -> Array:
        """Return the generalized forces (nv) of all loads and of the weight, at rest."""
        rest = np.zeros(self.model.nv)
        return tau - dynamics.rnea(s.model, s.q, rest, rest, s.gravity, F)

    def within(self, modes: Array) -> dict[str, Array]:
        """Return the modes of limited forces that are to be within their limits, whatever they ask for on the way."""
        return self.bounds.split(ops.where(ops.equal(modes, 0.0), AS_IT_IS, modes))

    def excess(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array) -> Array:
        """Return what limited forces ask for beyond their limits, as a generalized force (nv), where the end of a step leaves them within:
        one that comes back, or jumps, asks for many times as much on the way. Where the inertia of a stage, which is another than that of
        the slopes, met it, what is left of both would throw the joints that are at their limits."""
        whole: Array = np.zeros(self.model.nv)
        for sign, own in ((1.0, self.bounds.split(modes)), (-1.0, self.within(modes))):
            s = self.in_flight(t, q, v, z, p, own)
            whole = whole + sign * sum((e.force(s) for e in self.effects(s, m).values()), np.zeros(self.model.nv))
        return whole

    def beyond(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array) -> Array:
        """Return which of the stiff forces that have limits are beyond these: see :meth:`Context.bounded`."""
        modes = self.bounds.split(np.full(self.bounds.n, AS_IT_IS))
        effects = self.effects(self.in_flight(t, q, v, z, p, modes), m)
        return self.bounds.join({name: effects[name].beyond for name in self.bounds.shapes})

    def system(self, by: Any, m: Array, p: Array, modes: Sequence[Array], lasting: Array | None = None) -> Mechanical:
        """Return what an integrator steps, with memories m and parameters p held, under a force (nv) that lasts; ``by`` has the function
        :meth:`acceleration`, or a call of it, and the slopes of what is stiff. The note of that force is no part of its states."""
        model, n, notes = self.model, self.flown, 4 * len(self.conserved)
        given = (*(() if lasting is None else (lasting,)), *modes)

        def field(t: Any, q: Array, w: Array) -> Array:
            return np.concatenate([*by.acceleration(t, q, w[: model.nv], w[model.nv :], m, p, *given)[:2], np.zeros(notes)])

        def wrench(t: Any, q: Array, v: Array) -> Array:
            s = self.context(t, q, v, np.zeros(0), p)
            return self.external(s, *self.loads(self.effects(s, m)))

        def beyond(t: Any, x: Array) -> Array:
            return np.asarray(by.excess(t, *by.flown(x), m, p, *modes))

        excess = beyond if self.bounds.n else None
        if self.kind is not FreeBody:
            return Mechanical(model.manifold, field, n, notes, self.stiff(by, m, p, modes), excess)
        active = [c for c in self.components if not isinstance(c, Drive)]
        coasting = self.controller is None and not active and not any(self.gravity) and "gravity" not in self.parameters.shapes
        body = with_parameters(model, self.gravity, self.parameters.split(p))[0].bodies[0]
        return FreeBody(model.manifold, field, body.inertia, None if coasting else wrench, self.stiff(by, m, p, modes), excess)

    def stiff(self, by: Any, m: Array, p: Array, modes: Sequence[Array]) -> Stiff | None:
        """Return what a linearly implicit method asks of the system, if something is stiff."""
        if self.stiffness is None:
            return None
        jacobian = None if self.constraints is None else lambda q: self.jacobian(q, m)
        roots = {j for tree in self.conserved for j in range(self.model.bodies[tree[0]].v.start, self.model.bodies[tree[0]].v.stop)}
        pushed = functools.partial(self.pushed, p) if roots & {*self.stiffness.moving.tolist()} else None
        return self.stiffness.stiff(lambda t, x, s: by.factored(t, x, s, m, p, modes), jacobian, pushed)

    def pushed(self, p: Array, q: Array, loads: Array, z: Array, s: Any) -> Array:
        """Return the change of z, in which momenta change as generalized ``loads`` (nv) say besides, and centres of mass with them by s."""
        at, model, z = self.states.slices[MOMENTUM], self.model_at(self.laden(p, z)), z.copy()
        rows = z[at].reshape(-1, 9)
        rates = functools.partial(momentum_rates, model, self.conserved, q, loads, bends=self.bends(z))
        z[at] = np.ravel(rows + rates(s * (rows + rates(np.zeros(rows.shape)))))
        return z

    # ------------------------------------------------------------ what acts after flight

    @property
    def lasts(self) -> int:
        """Number of scalars of z, behind the states in flight, that hold the force of impulses carried from step to step."""
        return self.model.nv if LASTING in self.states.shapes else 0

    @property
    def sticks(self) -> int:
        """Number of scalars at the end of z, behind that force, that hold the sticking contacts' memory."""
        return math.prod(self.states.shapes.get(STUCK, (0,)))

    @property
    def flown(self) -> int:
        """Number of scalars of z that are states in flight."""
        return self.states.n - self.lasts - self.sticks

    @functools.cached_property
    def limited(self) -> bool:
        """True if stops hold joints within their limits."""
        joints = self.impulses.joints.coordinates if self.impulses and self.impulses.joints else []
        return any(isinstance(c, JointStops) for c in self.components) or any(np.isfinite([c.low, c.high]).any() for c in joints)

    @property
    def holding(self) -> list[Component]:
        """The components that may hold angular momentum which is no part of the trees' own."""
        return [c for c in self.components if type(c).holds is not Component.holds and not c.keeps]

    def stored(self, q: Array, z: Array, p: Array) -> Array | None:
        """Return of the trees' momenta (trees, 9) what is no body's and no mode's, but components' that keep it with their links."""
        keeping = [c for c in self.components if c.keeps]
        if not keeping:
            return None
        s, found = self.in_flight(0.0, q, np.zeros(self.model.nv), z, p), [np.zeros(9) for _ in self.conserved]
        for c in keeping:
            own, body = np.concatenate([c.holds(s, s.states[c.name]), np.zeros(6)]), body_of_link(self.model, c.link)
            found = [x + own if body in tree else x for tree, x in zip(self.conserved, found, strict=True)]
        return np.array(found).reshape(-1, 9)

    def turned(self, P: Array, q: Array, to: Array, z: Array, p: Array) -> Array:
        """Return the momenta P (trees, 9) after something turned the trees from q (nq) to another configuration at once: they take the
        difference of the angular momenta that components hold on them."""
        changes = list(P)
        at, after = (self.context(0.0, x, np.zeros(self.model.nv), z, p) for x in (q, to))
        for c in self.holding:
            body, state = self.model.carrier[self.model.link_index(c.link)][0], at.states[c.name]
            difference = np.concatenate([c.holds(after, state) - c.holds(at, state), np.zeros(6)])
            changes = [own - difference if body in tree else own for tree, own in zip(self.conserved, changes, strict=True)]
        return np.array(changes).reshape(P.shape)

    # ------------------------------------------------------------ momentum

    def projection(self, by: Any, m: Array, p: Array) -> Callable[[Array], Array]:
        """Return the map of x = (q, v, z), after a step, to where constraints hold, and what floats has the momentum that z says;
        ``by.kept`` is :meth:`kept`."""
        nq, nv = self.model.nq, self.model.nv

        def project(x: Array) -> Array:
            with ops.part("projection", x):
                now, z = self.laden(p, x[nq + nv :]), self.states.split(x[nq + nv :])
                q, v = self.held(self.model_at(now), x[:nq], x[nq : nq + nv], m)
                if not self.conserved:
                    return np.concatenate([q, v, x[nq + nv :]])
                q, v, P, moved = by.kept(q, v, x[nq + nv :], m, now, z[MOMENTUM])
                sums = np.array([add_moved(*row) for row in zip(z[DEFECT], moved, strict=True)])
                return np.concatenate([q, v, self.states.join({**z, MOMENTUM: P, DEFECT: sums})])

        return project

    def bends(self, z: Array) -> dict[int, Bend]:
        """Return of the bodies that bend what their modes hide and carry in the states z."""
        return bends_of(self.model, modal(self.bending, self.carried.split(z[self.cargo]))) if self.bending else {}

    def masses(self, p: Array) -> list[Any]:
        """Return the masses of the trees whose momentum is a state, with parameters p, as :meth:`laden`."""
        bends = bends_of(self.model, modal(self.bending, self.carried.split(self.laid(p)))) if self.bending else {}
        return masses(self.model_at(p), self.conserved, bends)

    def kept(self, q: Array, v: Array, z: Array, m: Array, p: Array, P: Array) -> tuple[Array, Array, Array, Array]:
        """Return q and v with the momenta P (trees, 9), P as it is then, and what that moved (trees, 4), with grips as they are."""
        joins = () if self.constraints is None else self.constraints.joins(self.conserved, self.memories.split(m))
        stored = self.stored(q, z, p)
        q, v, P, moved = with_momenta(self.model_at(p), self.conserved, q, v, P if stored is None else P - stored, joins, self.bends(z))
        if stored is not None:
            P, moved = P + stored, np.array([append_stored(*row) for row in zip(moved, stored, strict=True)])
        return q, v, P, moved

    def carried_by_momenta(self, q: Array, v: Array, z: Array, m: Array, p: Array) -> tuple[Array, Array]:
        """Return q and v with the centres of mass of the momenta in z, and their velocities. Trees turn as they do: by its momentum a
        slender body that turns across its axis would spin about that by the least error of a stage's attitude."""
        turns, led = self.momenta(q, v, z, p)[:, :3], z[self.states.slices[MOMENTUM]].reshape(-1, 9)[:, 3:]
        return self.kept(q, v, z, m, self.laden(p, z), np.concatenate([turns, led], axis=1))[:2]

    def held(self, model: Model, q: Array, v: Array, m: Array) -> tuple[Array, Array]:
        """Return q and v on the constraints."""
        return (q, v) if self.constraints is None else self.constraints.projected(model, q, v, self.memories.split(m))

    def jacobian(self, q: Array, m: Array) -> Array:
        """Return J (n, nv) of what constraints hold at q (nq): of none, no row."""
        return np.zeros((0, self.model.nv)) if self.constraints is None else self.constraints.loops.jacobian(q, self.memories.split(m))

    def settled(self, model: Model, q: Array, v: Array, m: Array) -> tuple[Array, Array]:
        """Return q and v, where impulses lead, on the constraints: by whole trees first."""
        if self.constraints is None:
            return q, v
        return self.held(model, *self.constraints.moved_whole(model, q, v, self.memories.split(m), bool(self.conserved)), m)

    def struck(self, s: Context, before: Array, m: Array) -> Array:
        """Return v (nv) after the impulses of grips that close now; ``before`` and m are the components' memories before and after."""
        if self.constraints is None:
            return s.v
        return self.constraints.struck(s.model, s.q, s.v, self.memories.split(before), self.memories.split(m))

    @property
    def free(self) -> dict[Tree, int]:
        """The trees whose momentum is no state, though nothing changes it, or weight alone, and how much of it stays then: all six
        entries, or the three of the angular momentum about the centre of mass."""
        if self.conserved or self.contacts or not between_links(self.model, self.components):
            return {}
        weighs, trees = any(self.gravity) or "gravity" in self.parameters.shapes, floating_trees(self.model)
        trees = trees if self.constraints is None else joined_trees(self.model, trees, self.constraints.loops.joined())
        return dict.fromkeys(trees, 3 if weighs else 6)

    def momenta(self, q: Array, v: Array, z: Array, p: Array) -> Array:
        """Return the momenta (trees, 9) of what floats at q and v."""
        model, bends, stored = self.model_at(self.laden(p, z)), self.bends(z), self.stored(q, z, p)
        momenta = np.array([central_momentum(model, tree, q, v, bends) for tree in self.conserved])
        return momenta if stored is None else momenta + stored

    def with_momenta(self, q: Array, v: Array, z: Array, p: Array) -> Array:
        """Return z with the momenta of what floats at q and v."""
        return self.states.join({**self.states.split(z), MOMENTUM: self.momenta(q, v, z, p)}) if self.conserved else z

    # ------------------------------------------------------------ what is felt and recorded

    def feels(self, s: Context, m: Array, vdot: Array, held: Any) -> Felt:
        """Return what is felt at the beginning of a step, of accelerations (nv), memories m until then, and what constraints exert."""
        effects = self.effects(s, m)
        driven = [e for c in self.components if (e := effects[c.name].tau) is not None and (isinstance(c, Drive) or c.command is not None)]
        loads, touch = self.loads(effects)[1], np.zeros((len(self.model.links), 6))
        if self.contacts is not None and STRUCK in self.memories.shapes and self.impulses is not None:
            noted = self.impulses.notes.split(self.memories.split(m)[STRUCK])
            F = self.contacts.link_wrenches(noted)
            touch = np.array([np.concatenate([T[:3, :3].T @ f[:3], T[:3, :3].T @ f[3:]]) for T, f in zip(s.poses, F, strict=True)])
        return Felt(vdot, sum(driven[1:], driven[0]), held + (touch if loads is None else loads + touch), touch)

    def observed(self, s: Context, m: Array, vdot: Array, rubbed: Mapping[str, Any], push: Array | None,
                 forces: Sequence[Array] = ()) -> dict[str, Any]:  # fmt: skip
        """Return what is recorded besides the state: accelerations v̇, the actuators' forces, powers and signals, with those after flight,
        and the constraints' ``forces``, in flight and against what pushes besides."""
        effects = self.effects(s, m)
        driven = [effects[c.name].tau for c in self.components if isinstance(c, (Drive, Motor))]
        signals: dict[str, Any] = {"vdot": vdot, "tau": sum(driven[1:], driven[0])}
        for c in self.components:
            e = effects[c.name]
            if s.q.dtype != object:
                e.require_finite(c.name, s, observed=True)
            signals[f"{c.name}.power"] = e.power(s)
            signals |= {f"{c.name}.{n}": y for n, y in e.signals.items()}
        signals |= {f"inertia.{n}": s.model.link(n).inertia for c in self.carriers for n in c.bodies(s.states[c.name], None)}
        for c in self.observing:
            signals |= {f"{c.name}.{n}": y for n, y in self.seen(c, s, m, vdot)[1].items()}
        for maker in self.makers:
            signals |= maker.recorded(s.signals[maker.name])
        for name, y in rubbed.items():
            signals[name] = signals[name] + y if name in signals else y
        if self.constraints is not None:
            signals |= self.constraints.observed(s, forces[0], push, self.memories.split(m))
        return signals
