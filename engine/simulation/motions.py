"""Prescribed joints: position, rate and acceleration at a time, differentiated from a function of time."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import calling, name_of, pure, trace
from engine.components.component import Component, Context, Effect, SimulationError
from engine.constraints import Led, Prescribed

Array = np.ndarray
#: what is left of a place and a velocity that are off, from step to step, as poles of both
LEFT = 0.5
#: of what is off at the beginning of a step of h, φ and φ̇, the acceleration −(a φ/h² + b φ̇/h) within it has these poles
PLACE = (1.0 - LEFT) ** 2
RATE = 2.0 - 2.0 * LEFT - 0.5 * PLACE


class Motion(Component):
    """A prescribed motion, which remembers the acceleration that takes back what is off at the beginning of a step.

    Parameters
    ----------
    parameters : of the simulation, which its function may ask for by name
    """

    def __init__(self, led: Led, parameters: Mapping[str, Array]) -> None:
        self.name, self.led, self.fn, self.memory = led.constraint.title, led, led.constraint.motion, np.zeros(1)
        self.asked = asked(led.constraint, parameters)
        program = trace(self.told, [(1,), *(np.shape(parameters[n]) for n in self.asked)])
        self.program = calling(program, lambda *given: interpret(program, *given))

    def told(self, t: Array, *own: Any) -> Array:
        """Return x, ẋ, ẍ (3) at t (1)."""

        def place(t: Array) -> Array:
            x = pure(self.fn)(t[0], **dict(zip(self.asked, own, strict=True)))
            if np.shape(x) not in ((), (1,)):
                raise SimulationError(f"{self.name}: its function returned shape {np.shape(x)}; expected a number")
            return ops.array([np.reshape(x, -1)[0]])

        def rate(t: Array) -> Array:
            return ops.jacobian(place, t)[0]

        return np.concatenate([place(t), rate(t), ops.jacobian(rate, t)[0]])

    def at(self, s: Context) -> Array:
        """Return x, ẋ, ẍ (3) at a time."""
        return np.asarray(self.program(ops.array([s.t]), *(s.parameters[n] for n in self.asked)))

    def now(self, s: Context, memory: Array) -> Array:
        """Return x, ẋ, ẍ (3) at a time, with what it takes back."""
        return self.at(s) + np.append(np.zeros(2), memory)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        return Effect()

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        held = {self.led.key: self.at(s)}
        return -(PLACE / dt * self.led.residual(s.q, held) + RATE * self.led.rate(s.v, held)) / dt


def asked(told: Prescribed, parameters: Mapping[str, Array]) -> list[str]:
    """Return the names of the parameters that a motion asks for, besides the time."""
    try:
        _, *others = inspect.signature(told.motion).parameters.values()
    except (TypeError, ValueError):
        raise SimulationError(f"{told.title}: its motion {name_of(told.motion)} takes no time; expected a function of it, and of "
                              "parameters") from None  # fmt: skip
    names = [p.name for p in others if p.default is p.empty or p.name in parameters]
    for name in names:
        if name not in parameters:
            raise SimulationError(f"{told.title}: its motion asks for '{name}'{nearest(name, parameters)}; expected parameters of the "
                                  f"simulation: {', '.join(parameters) or 'it has none'}")  # fmt: skip
    return names
