"""Warnings of what explicit steps do not resolve: fast states of components, perigees, forces that parameter values make stiff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import warn
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import trace
from engine.components.component import SimulationWarning
from engine.components.law import Ticking
from engine.integrate import Mechanical, Method
from engine.simulation.assessment import RESOLVED, rate, samples, stiffness_words
from engine.spatial.manifold import vector

Array = np.ndarray
#: m, of an orbit's origin after three turns
OFF = 1.0
#: times the largest value of a parameter until now: beyond it forces are looked at again
LARGER = 2.0


def warn_of_fast_states(plant: Any, method: Method, dt: float, compiled: bool) -> None:
    """Warn of components whose own states, by ∂ż/∂z as they begin at the neutral configuration, are faster than steps of dt follow."""
    own = [c for c in plant.acting if c.state.size and c not in plant.observing]
    if not own or method.implicit:
        return
    z, m, p = plant.initial_states()[: plant.flown], plant.initial_memories(), plant.parameters.join(plant.values)
    q, v = plant.model.neutral(), np.zeros(plant.model.nv)

    def slopes(q: Array, v: Array, z: Array, m: Array, p: Array) -> Array:
        def rates(z: Array) -> Array:
            effects = plant.effects(plant.in_flight(0.0, q, v, z, p), m)
            return np.concatenate([np.ravel(effects[c.name].rate) for c in own])

        return ops.jacobian(rates, z)

    given = q, v, z, m, p
    with np.errstate(all="ignore"):
        J = interpret(trace(slopes, [x.shape for x in given]), *given) if compiled else slopes(*given)
    begin = 0
    for c in own:
        block = np.nan_to_num(J[begin : begin + c.state.size, plant.states.slices[c.name]], posinf=0.0, neginf=0.0)
        begin += c.state.size
        if dt * (fastest := float(np.abs(np.linalg.eigvals(block)).max())) > RESOLVED:
            name = c.called.name if isinstance(c, Ticking) else f"'{c.name}'"
            warn(f"the state of {name} changes at {fastest:.3g}/s, which explicit steps of {dt:g} s do not follow; expected a dt of "
                 f"{RESOLVED / fastest:.2g} s or less, or a slower filter", SimulationWarning)  # fmt: skip


def warn_of_long_steps(plant: Any, method: Method, dt: float) -> None:
    """Warn where the origin that a frame carries falls so fast, as at a perigee, that steps of dt do not follow."""
    if plant.frame is None or method.implicit:
        return

    def advance(acceleration: Any, t: float, h: float, y: Array) -> Array:
        return np.asarray(method.advance(Mechanical(vector(3), acceleration), t, h, y))

    if (off := plant.frame.missed(advance, method.order, dt)) > OFF:
        wanted = dt * (OFF / off) ** (1.0 / method.order)
        warn(f"steps of {dt:g} s by '{method.name}' leave the origin of the orbit of '{plant.model.name}' about {off:.2g} m off after "
             f"three turns, by what they miss at the perigee; expected a dt of {wanted:.2g} s or less", SimulationWarning)  # fmt: skip


class Unresolved:
    """Says where explicit steps do not resolve states of components, and what given parameters make of forces.

    Parameters are looked at once where one is beyond LARGER times its largest value until then, nominal at first.
    """

    def __init__(self, plant: Any, method: Method, dt: float, compiled: bool) -> None:
        self.plant, self.method, self.dt = plant, method, dt
        self.afresh()
        plant.look = plant.look if plant.values else None                      # nothing else will ask it
        warn_of_fast_states(plant, method, dt, compiled)
        warn_of_long_steps(plant, method, dt)

    def afresh(self) -> None:
        """Forget the values seen in earlier runs, so that warnings of parameters depend on those of this run alone."""
        self.largest = {name: np.abs(x) for name, x in self.plant.values.items()}

    def warn_of(self, given: Mapping[str, Array]) -> None:
        """Warn where forces under parameters (..., *shape) by name are stiff that are explicit."""
        for name, x in given.items():
            rows = x.reshape(-1, *np.shape(self.largest[name]))
            if self.plant.look is None or self.method.implicit or not (np.abs(rows) > LARGER * self.largest[name]).any():
                continue
            self.largest[name] = np.maximum(self.largest[name], np.abs(rows).max(axis=0))
            worst = np.abs(rows).reshape(len(rows), -1).max(axis=1).argmax()
            if text := self.stiff(self.plant.parameters.join({**self.plant.values, name: rows[worst]})):
                warn(f"'{self.plant.model.name}' is stiff with parameter '{name}' of up to {np.abs(rows).max():.6g} ({text}), and its "
                     f"flight is explicit there, by its nominal value; expected a nominal value as large, or joint_dynamics='implicit'",
                     SimulationWarning)  # fmt: skip

    def stiff(self, p: Array) -> str:
        """Return what is stiff with parameters p and explicit, in words; "" where nothing is."""
        plant, look = self.plant, self.plant.look
        n, moving = len(look.moving), look.moving
        implicit = plant.stiffness.names if plant.stiffness is not None else frozenset()
        left = [k for k, name in enumerate(look.names) if name not in implicit]
        q, model = np.array(samples(plant.model)[0]), plant.model_at(p)
        slopes = look.slopes(q, np.zeros((len(q), plant.model.nv)), p)[:, left]
        K, D = (-slopes[..., part].sum(axis=1) for part in (slice(n), slice(n, -1)))
        W = [np.linalg.pinv(dynamics.crba(model, x), hermitian=True)[np.ix_(moving, moving)] for x in q]
        whole = float(np.median([rate(*x) for x in zip(W, K, D, strict=True)]))
        names = [look.names[k] for i, k in enumerate(left) if slopes[:, i, :, :-1].any()]
        return stiffness_words(plant.model, self.dt, whole, names, moving, W, K, D) if self.dt * whole > RESOLVED else ""
