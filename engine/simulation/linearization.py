"""The step of a simulator about a state, as matrices: directions stand in the rows of one batch, and each is differentiated exactly."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import numbers
from engine.compiler.gufunc import Gufunc, shaped
from engine.simulation.asked import Asked
from engine.simulation.component import SimulationError
from engine.simulation.law import Ticking
from engine.simulation.plant import OWN

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
        if simulator.watch or isinstance(simulator._process, Asked):
            what = "events" if simulator.watch else "a controller in plain Python"
            raise SimulationError(f"a simulator with {what} cannot be linearized; expected one without")
        for c in ticking(simulator):
            if c.called.law.memory.size or c.waits:
                raise SimulationError(f"{c.called.name} has a {'memory' if c.called.law.memory.size else 'delay'}, which A does not know; "
                                      "expected laws without")  # fmt: skip
        if INPUT not in simulator.parameters:
            simulator = simulator.with_force(pushed, {INPUT: np.zeros(simulator.model.nv)})
        self.simulator, self.plant, self.step = simulator, simulator.plant, simulator._step
        self.nv, self.nu = simulator.model.nv, int(np.size(simulator.parameters[INPUT]))
        self.states = {n: s for n, s in self.plant.states.shapes.items() if n not in OWN}
        self.n = 2 * self.nv + sum(int(np.prod(s)) for s in self.states.values())

    def along(self, t: Any, p: Array, q: Array, v: Array, d: Array, e: Array) -> Array:
        """Return where the step from q (nq), v (nv) goes along a direction d (n + nu) of the state and u, at e = 0 (1)."""
        model, layout, plant = self.simulator.model, self.step.layout, self.plant
        minus, plus, initial = model.manifold.minus, model.manifold.plus, plant.states.split(plant.initial_states())

        def moved(e: Array) -> Array:
            own = plant.parameters.split(p)
            own[INPUT] = own[INPUT] + e[0] * d[self.n :].reshape(np.shape(own[INPUT]))
            far, z, at = plant.parameters.join(own), dict(initial), 2 * self.nv
            for name, shape in self.states.items():
                size = int(np.prod(shape))
                z[name], at = z[name] + e[0] * d[at : at + size].reshape(shape), at + size
            x = layout.join({"q": plus(q, e[0] * d[: self.nv]), "v": v + e[0] * d[self.nv : 2 * self.nv], "state": plant.states.join(z),
                             "memory": plant.initial_memories(), "events": np.zeros(0)})  # fmt: skip
            a = layout.split(self.step.step(t, 0.0, self.simulator.dt, far, self.step.prepared(t, far, x)))
            after = plant.states.split(a["state"])
            return np.concatenate([minus(ops.stop_gradient(a["q"]), a["q"]), a["v"], *(np.ravel(after[n]) for n in self.states)])

        return ops.jacobian(moved, e)[:, 0]

    def flowing(self, t: Any, p: Array, q: Array, v: Array, d: Array, e: Array) -> Array:
        """Return how v̇ (nv) in flight changes along a direction d (2 nv + nu), at e = 0 (1)."""
        plant, plus = self.plant, self.simulator.model.manifold.plus

        def accelerated(e: Array) -> Array:
            own = plant.parameters.split(p)
            own[INPUT] = own[INPUT] + e[0] * d[2 * self.nv :].reshape(np.shape(own[INPUT]))
            far, z, m = plant.parameters.join(own), plant.initial_states(), plant.initial_memories()
            q_e, v_e = plus(q, e[0] * d[: self.nv]), v + e[0] * d[self.nv : 2 * self.nv]
            return self.step.acceleration(t, q_e, v_e, z[: plant.flown], m, far)[0]

        return ops.jacobian(accelerated, e)[:, 0]

    def compiled(self, f: Any, inputs: int, results: int) -> Gufunc:
        model, p = self.simulator.model, self.plant.parameters.n
        return shaped(f, f"(),({p}),({model.nq}),({model.nv}),({inputs}),(1)->({results})")

    @functools.cached_property
    def steps(self) -> Gufunc:
        return self.compiled(self.along, self.n + self.nu, self.n)

    @functools.cached_property
    def flows(self) -> Gufunc:
        return self.compiled(self.flowing, 2 * self.nv + self.nu, self.nv)

    def of(self, f: Gufunc, q: Any, v: Any, u: Any, t: Any) -> tuple[Array, Array]:
        """Return what f gives along all directions, (..., results, inputs), and v (..., nv)."""
        model, plant, size = self.simulator.model, self.plant, int(f.program.shapes_in[4][0])
        q, v = model.normalized(q), model.checked("v", v, batched=True)
        values = dict(plant.values)
        if u is not None:
            shape = np.shape(values[INPUT])
            u = numbers("u", u, SimulationError)
            if u.shape[u.ndim - len(shape) :] != shape or not np.isfinite(u).all():
                raise SimulationError(f"u has shape {u.shape}; expected (..., {', '.join(map(str, shape))}), finite")
            values[INPUT] = u
        given = {n: np.shape(x)[: np.ndim(x) - np.ndim(plant.values[n])] for n, x in values.items()}
        at = numbers("t", t, SimulationError)
        try:
            lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], given[INPUT], at.shape)
        except ValueError:
            shapes = f"q {q.shape}, v {v.shape}, u {np.shape(values[INPUT])} and t {at.shape}"
            raise SimulationError(f"{shapes} do not broadcast; expected equal leading dimensions") from None
        if not np.prod(lead):
            return np.zeros((*lead, int(f.program.shapes_out[0][0]), size)), np.broadcast_to(v, (*lead, model.nv))
        p = plant.parameters.spread(values, lead)
        with np.errstate(all="ignore"):                                        # always a batch: its code alone is made
            found = f.ufunc(at[..., None], p[..., None, :], q[..., None, :], v[..., None, :], np.eye(size), np.zeros(1))
        if not np.isfinite(found).all():
            raise SimulationError("a derivative of the step is not finite; expected a state within what is smooth: not through the normals "
                                  "of two hulls, boxes or cylinders that touch")  # fmt: skip
        return np.swapaxes(np.broadcast_to(found, (*lead, *found.shape[-2:])), -1, -2), v


def ticking(simulator: Any) -> list[Ticking]:
    """The functions of a simulator that are evaluated at ticks."""
    return [c for c in simulator.plant.acting if isinstance(c, Ticking) and c.called.ticks]


def pushed(t: Any, q: Array, v: Array, u: Array) -> Array:
    """Generalized forces."""
    return u


def discrete(of: Linearization, q: ArrayLike, v: ArrayLike, u: Any, t: Any) -> tuple[Array, Array]:
    """Return A (..., n, n) and B (..., n, nu) of a step.

    >>> import engine
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> A, B = discrete(Linearization(engine.Simulator(rail.model(), dt=0.1)), [0.0], [0.0], None, 0.0)
    >>> A.round(12), B.round(12)
    (array([[1. , 0.1],
           [0. , 1. ]]), array([[0.0025],
           [0.05  ]]))
    """
    D, _ = of.of(of.steps, q, v, u, t)
    return D[..., : of.n].copy(), D[..., of.n :].copy()


def continuous(of: Linearization, q: ArrayLike, v: ArrayLike, u: Any, t: Any) -> tuple[Array, Array]:
    """Return A (..., 2 nv, 2 nv) and B (..., 2 nv, nu) of the motion in flight, with δ̇ = δv − [v, δ]."""
    if of.plant.impulses or of.states or of.plant.constraints:
        raise SimulationError("only flight has continuous derivatives; expected neither contacts nor constraints, actuators with states, "
                              "or losses that are implicit (joint_dynamics='explicit' or None)")  # fmt: skip
    D, v = of.of(of.flows, q, v, u, t)
    nv, bracket = of.nv, of.simulator.model.manifold.bracket
    rates = -np.stack([np.array([bracket(row, e) for e in np.eye(nv)]).T for row in v.reshape(-1, nv)])
    A, B = np.zeros((*D.shape[:-2], 2 * nv, 2 * nv)), np.zeros((*D.shape[:-2], 2 * nv, of.nu))
    A[..., :nv, :nv], A[..., :nv, nv:] = rates.reshape(*v.shape[:-1], nv, nv), np.eye(nv)
    A[..., nv:, :], B[..., nv:, :] = D[..., : 2 * nv], D[..., 2 * nv :]
    return A, B
