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
from engine.simulation.layout import Layout
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
        self.simulator, self.model, self.plant, self.step = simulator, simulator.model, simulator.plant, simulator._step
        self.nv, self.nu = simulator.model.nv, int(np.size(simulator.parameters[INPUT]))
        self.states = Layout({n: s for n, s in self.plant.states.shapes.items() if n not in OWN})
        self.n = 2 * self.nv + self.states.n

    def away(self, p: Array, q: Array, v: Array, d: Array, e: Any) -> tuple[Array, Array, Array]:
        """Return the parameters, q and v at a length e along a direction d (δq, δv, …, δu)."""
        own = self.plant.parameters.split(p)
        own[INPUT] = own[INPUT] + e * d[len(d) - self.nu :].reshape(np.shape(own[INPUT]))
        return self.plant.parameters.join(own), self.model.manifold.plus(q, e * d[: self.nv]), v + e * d[self.nv : 2 * self.nv]

    def after(self, t: Any, p: Array, q: Array, v: Array, z: Array) -> dict[str, Array]:
        """Return the state after the step that a run from q (nq), v (nv), and states z begins with, by name."""
        x = self.step.layout.join({"q": q, "v": v, "state": z, "memory": self.plant.initial_memories(), "events": np.zeros(0)})
        return self.step.layout.split(self.step.step(t, 0.0, self.simulator.dt, p, self.step.prepared(t, p, x)))

    def along(self, t: Any, p: Array, q: Array, v: Array, d: Array, e: Array) -> Array:
        """Return where the step from q (nq), v (nv) goes along a direction d (n + nu) of the state and u, at e = 0 (1)."""
        plant = self.plant

        def moved(e: Array) -> Array:
            far, q_e, v_e = self.away(p, q, v, d, e[0])
            z, dz = plant.states.split(plant.initial_states()), self.states.split(d[2 * self.nv : self.n])
            a = self.after(t, far, q_e, v_e, plant.states.join({**z, **{n: z[n] + e[0] * y for n, y in dz.items()}}))
            turned = self.model.manifold.minus(ops.stop_gradient(a["q"]), a["q"])
            return np.concatenate([turned, a["v"], self.states.join(plant.states.split(a["state"]))])

        return ops.jacobian(moved, e)[:, 0]

    def flowing(self, t: Any, p: Array, q: Array, v: Array, d: Array, e: Array) -> Array:
        """Return how v̇ (nv) in flight changes along a direction d (2 nv + nu), at e = 0 (1)."""
        plant = self.plant

        def accelerated(e: Array) -> Array:
            far, q_e, v_e = self.away(p, q, v, d, e[0])
            z = plant.initial_states()[: plant.flown]
            return self.step.acceleration(t, q_e, v_e, z, plant.initial_memories(), far)[0]

        return ops.jacobian(accelerated, e)[:, 0]

    def compiled(self, f: Any, inputs: int, results: int) -> Gufunc:
        return shaped(f, f"(),({self.plant.parameters.n}),({self.model.nq}),({self.nv}),({inputs}),(1)->({results})")

    @functools.cached_property
    def steps(self) -> Gufunc:
        return self.compiled(self.along, self.n + self.nu, self.n)

    @functools.cached_property
    def flows(self) -> Gufunc:
        return self.compiled(self.flowing, 2 * self.nv + self.nu, self.nv)

    def matrices(self, f: Gufunc, q: Any, v: Any, u: Any, t: Any) -> tuple[Array, Array]:
        """Return what f gives along all directions, (..., results, inputs), and v (..., nv)."""
        model, plant, size = self.model, self.plant, int(f.program.shapes_in[4][0])
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
        if not np.prod(lead):
            return np.zeros((*lead, int(f.program.shapes_out[0][0]), size)), np.broadcast_to(v, (*lead, model.nv))
        p = plant.parameters.spread(values, lead)
        with np.errstate(all="ignore"):                                        # always a batch: its code alone is made
            found = f.ufunc(at[..., None], p[..., None, :], q[..., None, :], v[..., None, :], np.eye(size), np.zeros(1))
        if not np.isfinite(found).all():
            raise SimulationError("a derivative of the step is not finite; expected a state within what is smooth: not through the normals "
                                  "of two hulls, boxes or cylinders that touch")  # fmt: skip
        return np.swapaxes(np.broadcast_to(found, (*lead, *found.shape[-2:])), -1, -2), v

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
        D, _ = self.matrices(self.steps, q, v, u, t)
        return D[..., : self.n].copy(), D[..., self.n :].copy()

    def continuous(self, q: ArrayLike, v: ArrayLike, u: Any, t: Any) -> tuple[Array, Array]:
        """Return A (..., 2 nv, 2 nv) and B (..., 2 nv, nu) of the motion in flight, with δ̇ = δv − [v, δ]."""
        if self.plant.impulses or self.states.n or self.plant.constraints:
            raise SimulationError("only flight has continuous derivatives; expected neither contacts nor constraints, actuators with "
                                  "states, or losses that are implicit (joint_dynamics='explicit' or None)")  # fmt: skip
        D, v = self.matrices(self.flows, q, v, u, t)
        nv, bracket = self.nv, self.model.manifold.bracket
        rates = -np.stack([np.array([bracket(row, e) for e in np.eye(nv)]).T for row in v.reshape(-1, nv)])
        A, B = np.zeros((*D.shape[:-2], 2 * nv, 2 * nv)), np.zeros((*D.shape[:-2], 2 * nv, self.nu))
        A[..., :nv, :nv], A[..., :nv, nv:] = rates.reshape(*v.shape[:-1], nv, nv), np.eye(nv)
        A[..., nv:, :], B[..., nv:, :] = D[..., : 2 * nv], D[..., 2 * nv :]
        return A, B


def ticking(simulator: Any) -> list[Ticking]:
    """The functions of a simulator that are evaluated at ticks."""
    return [c for c in simulator.plant.acting if isinstance(c, Ticking) and c.called.ticks]


def pushed(t: Any, q: Array, v: Array, u: Array) -> Array:
    """Generalized forces."""
    return u
