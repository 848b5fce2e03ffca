"""The step of a simulator about a state, as matrices: directions stand in the rows of one batch, and each is differentiated exactly."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import numbers
from engine.compiler.gufunc import Gufunc, shaped
from engine.components.component import Component, SimulationError
from engine.components.law import Ticking
from engine.components.layout import Layout
from engine.simulation.own_states import LASTING, OWN, STUCK

Array = np.ndarray
#: the parameter by which B is taken, or the forces that stand for it
INPUT = "u"


class Linearization:
    """The derivatives of a simulator's step, and of its accelerations in flight, compiled when they are first asked for.

    Parameters
    ----------
    simulator : with a parameter "u", or without one: then u are generalized forces (nv) besides all others
    """

    def __init__(self, simulator: Any) -> None:
        simulator.stepper.require_one_program()
        if simulator.watch or simulator.stepper.asked:
            what = "events" if simulator.watch else "a controller in plain Python"
            raise SimulationError(f"a simulator with {what} cannot be linearized; expected one without")
        for c in ticking(simulator):
            if c.called.law.memory.size or c.waits:
                raise SimulationError(f"{c.called.name} has a {'memory' if c.called.law.memory.size else 'delay'}, which A does not know; "
                                      "expected laws without")  # fmt: skip
        for c in simulator.plant.acting:
            if c.memory.size and not isinstance(c, Ticking) and type(c).goes_on is Component.goes_on:
                raise SimulationError(f"{c.name} has a memory, which A does not know; expected components without")
        self.given = simulator
        if INPUT not in simulator.parameters:
            simulator = simulator.with_force(pushed, {INPUT: np.zeros(simulator.model.nv)})
        self.simulator, self.model, self.plant, self.step = simulator, simulator.model, simulator.plant, simulator._step
        self.nv, self.nu = simulator.model.nv, int(np.size(simulator.parameters[INPUT]))
        self.telling = [c for c in self.plant.acting if type(c).goes_on is not Component.goes_on]
        s = self.plant.context(0.0, self.model.neutral(), np.zeros(self.nv), self.plant.initial_states(),
                               self.plant.parameters.join(self.plant.values))  # fmt: skip
        self.first = {f"{c.name}.memory": np.asarray(c.goes_on(s, c.memory)) for c in self.telling}
        shapes = self.plant.states.shapes
        own = {n: shape for n, shape in shapes.items() if n not in OWN}        # momenta follow from q and v
        self.states = Layout(own | {n: x.shape for n, x in self.first.items()} | {n: shapes[n] for n in (LASTING, STUCK) if n in shapes})
        self.shown = 2 * self.nv + self.states.n - self.plant.lasts - self.plant.sticks
        self.n, self.size = 2 * self.nv + self.states.n, self.model.nq + self.nv + self.states.n

    # ------------------------------------- whole states x = (q, v, z), z of actuators, controllers, what components tell, and what lasts

    def begun(self, q: Array, v: Array) -> Array:
        """Return x (..., size) as a run begins with q (..., nq) and v (..., nv), on the constraints."""
        lead = q.shape[:-1]
        a = self.step.layout.split(self.step.closed(self.step.begun(q, v, lead)))
        return np.concatenate([a["q"], a["v"], self.states.spread(self.plant.states.split(a["state"]) | self.first, lead)], axis=-1)

    def at_times(self, x: Array, t: Array) -> Array:
        """Return x (..., size) with the state that a frame that carries the world's origin has at times (...)."""
        frame, n = self.plant.frame, self.model.nq + self.nv
        if frame is not None and frame.state.size:
            x = x.copy()
            x[..., n:][..., self.states.slices[frame.name]] = frame.at(t)
        return x

    def parts(self, x: Array) -> tuple[Array, Array, Array]:
        """Return q, v, and all of the plant's states. Traceable."""
        q, v, z = np.split(x, [self.model.nq, self.model.nq + self.nv])
        known = self.plant.states.split(self.plant.initial_states())
        return q, v, self.plant.states.join({**known, **self.states.split(z)})

    def memory(self, t: Any, p: Array, x: Array) -> Array:
        """Return the memories with which a step from x begins at t. Traceable."""
        memories = self.plant.initial_memories()
        if not self.telling:
            return memories
        (q, v, z), told = self.parts(x), self.states.split(x[self.model.nq + self.nv :])
        s = self.plant.context(t, q, v, z, p)
        own = {c.name: c.recalled(s, told[f"{c.name}.memory"]) for c in self.telling}
        return self.plant.memories.join(self.plant.memories.split(memories) | own)

    def plus(self, x: Array, d: Array) -> Array:
        """Return x ⊕ δ (size), with δ (n) of q, v and z."""
        nq, nv = self.model.nq, self.nv
        return np.concatenate([self.model.manifold.plus(x[..., :nq], d[..., :nv]), x[..., nq:] + d[..., nv:]], axis=-1)

    def minus(self, x: Array, to: Array) -> Array:
        """Return the δ (n) that leads from x to another."""
        nq = self.model.nq
        return np.concatenate([self.model.manifold.minus(x[..., :nq], to[..., :nq]), to[..., nq:] - x[..., nq:]], axis=-1)

    def pushed(self, p: Array, du: Array) -> Array:
        """Return the parameters with another u: du (nu) more."""
        own = self.plant.parameters.split(p)
        return self.plant.parameters.join({**own, INPUT: own[INPUT] + du.reshape(np.shape(own[INPUT]))})

    def after(self, t: Any, p: Array, x: Array) -> Array:
        """Return x after a step. Traceable."""
        q, v, z = self.parts(x)
        y = self.step.layout.join({"q": q, "v": v, "state": z, "memory": self.memory(t, p, x), "events": np.zeros(0)})
        a = self.step.layout.split(self.step.step(t, 0.0, self.simulator.dt, p, self.step.prepared(t, p, y)))
        s, memories = self.plant.context(t + self.simulator.dt, a["q"], a["v"], a["state"], p), self.plant.memories.split(a["memory"])
        told = {f"{c.name}.memory": c.goes_on(s, memories[c.name]) for c in self.telling}
        return np.concatenate([a["q"], a["v"], self.states.join(self.plant.states.split(a["state"]) | told)])

    def closed(self, x: Array) -> Array:
        """Return x with q and v on the constraints, as a run begins. Traceable."""
        if self.plant.constraints is None:
            return x
        nq, nv, memories = self.model.nq, self.nv, self.plant.memories.split(self.plant.initial_memories())
        return np.concatenate([*self.plant.constraints.projected(self.model, x[:nq], x[nq : nq + nv], memories), x[nq + nv :]])

    def along(self, t: Any, p: Array, x: Array, d: Array, e: Array) -> Array:
        """Return where the step from x goes along a direction d (n + nu) of the state and u, at e = 0 (1)."""

        def moved(e: Array) -> Array:
            to = self.after(t, self.pushed(p, e[0] * d[self.n :]), self.plus(x, e[0] * d[: self.n]))
            return self.minus(ops.stop_gradient(to), to)

        return ops.jacobian(moved, e)[:, 0]

    def flowing(self, t: Any, p: Array, x: Array, d: Array, e: Array) -> Array:
        """Return how v̇ (nv) in flight changes along a direction d (n + nu), at e = 0 (1)."""

        def accelerated(e: Array) -> Array:
            q, v, z = self.parts(self.plus(x, e[0] * d[: self.n]))
            own = self.pushed(p, e[0] * d[self.n :])
            flown, m = z[: self.plant.flown], self.memory(t, own, self.plus(x, e[0] * d[: self.n]))
            return self.step.acceleration(t, q, v, flown, m, own, *self.step.limits.at_an_instant)[0]

        return ops.jacobian(accelerated, e)[:, 0]

    def compiled(self, f: Any, results: int) -> Gufunc:
        return shaped(f, f"(),({self.plant.parameters.n}),({self.size}),({self.n + self.nu}),(1)->({results})")

    @functools.cached_property
    def steps(self) -> Gufunc:
        return self.compiled(self.along, self.n)

    @functools.cached_property
    def flows(self) -> Gufunc:
        return self.compiled(self.flowing, self.nv)

    def matrices(self, f: Gufunc, q: Any, v: Any, u: Any, t: Any) -> tuple[Array, Array, Array]:
        """Return what f gives along q, v and shown states (..., results, shown), and along u (..., results, nu), and v (..., nv)."""
        model, plant = self.model, self.plant
        for simulator in (self.given, self.simulator):
            simulator.stepper.require_unchanged()
        q, v = model.normalized(q), model.checked("v", v, batched=True)
        values = dict(plant.values)
        if u is not None:
            shape = np.shape(values[INPUT])
            u = numbers("u", u, SimulationError)
            if u.shape[u.ndim - len(shape) :] != shape or not np.isfinite(u).all():
                raise SimulationError(f"u has shape {u.shape}; expected (..., {', '.join(map(str, shape))}), finite")
            values[INPUT] = u
        rows = np.shape(values[INPUT])[: np.ndim(values[INPUT]) - np.ndim(plant.values[INPUT])]
        at = numbers("t", t, SimulationError)
        try:
            lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], rows, at.shape)
        except ValueError:
            shapes = f"q {q.shape}, v {v.shape}, u {np.shape(values[INPUT])} and t {at.shape}"
            raise SimulationError(f"{shapes} do not broadcast; expected equal leading dimensions") from None
        ways, results = np.delete(np.eye(self.n + self.nu), np.s_[self.shown : self.n], axis=0), int(f.program.shapes_out[0][0])
        if not np.prod(lead):
            return np.zeros((*lead, results, self.shown)), np.zeros((*lead, results, self.nu)), np.broadcast_to(v, (*lead, model.nv))
        p, x = plant.parameters.spread(values, lead), self.begun(*(np.broadcast_to(y, (*lead, y.shape[-1])) for y in (q, v)))
        x = self.at_times(x, np.broadcast_to(at, lead))
        with np.errstate(all="ignore"):                                        # always a batch: its code alone is made
            found = (f if f.counted else f.ufunc)(at[..., None], p[..., None, :], x[..., None, :], ways, np.zeros(1))
        if not np.isfinite(found).all():
            raise SimulationError("a derivative of the step is not finite; expected a state within what is smooth: not through the normals "
                                  "of two hulls, boxes or cylinders that touch")  # fmt: skip
        D = np.swapaxes(np.broadcast_to(found, (*lead, *found.shape[-2:])), -1, -2)
        return D[..., : self.shown], D[..., self.shown :], v

    def discrete(self, q: ArrayLike, v: ArrayLike, u: Any, t: Any) -> tuple[Array, Array]:
        """Return A (..., n, n) and B (..., n, nu) of a step.

        >>> import engine
        >>> rail = engine.Builder("rail")
        >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
        >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
        >>> A, B = Linearization(engine.Simulator(rail.model(), dt=0.1)).discrete([0.0], [0.0], None, 0.0)
        >>> A.round(12), B.round(12)
        (array([[1. , 0.1],
               [0. , 1. ]]), array([[0.0025],
               [0.05  ]]))
        """
        A, B, _ = self.matrices(self.steps, q, v, u, t)
        return A[..., : self.shown, :].copy(), B[..., : self.shown, :].copy()

    def continuous(self, q: ArrayLike, v: ArrayLike, u: Any, t: Any) -> tuple[Array, Array]:
        """Return A (..., 2 nv, 2 nv) and B (..., 2 nv, nu) of the motion in flight, with δ̇ = δv − [v, δ]."""
        if self.plant.impulses or self.states.n or self.plant.constraints:
            raise SimulationError("only flight has continuous derivatives; expected neither contacts nor constraints, actuators with "
                                  "states, or losses that are implicit (joint_dynamics='explicit' or None)")  # fmt: skip
        along, by, v = self.matrices(self.flows, q, v, u, t)
        nv, bracket = self.nv, self.model.manifold.bracket
        rates = -np.stack([np.array([bracket(row, e) for e in np.eye(nv)]).T for row in v.reshape(-1, nv)])
        A, B = np.zeros((*along.shape[:-2], 2 * nv, 2 * nv)), np.zeros((*along.shape[:-2], 2 * nv, self.nu))
        A[..., :nv, :nv], A[..., :nv, nv:] = rates.reshape(*v.shape[:-1], nv, nv), np.eye(nv)
        A[..., nv:, :], B[..., nv:, :] = along, by
        return A, B


def ticking(simulator: Any) -> list[Ticking]:
    """The functions of a simulator that are evaluated at ticks."""
    return [c for c in simulator.plant.acting if isinstance(c, Ticking) and c.called.ticks]


def pushed(t: Any, q: Array, v: Array, u: Array) -> Array:
    """Generalized forces."""
    return u
