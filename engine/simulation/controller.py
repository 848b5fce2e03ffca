"""The controller as a component: a function of the user's whose effect is commands, continuous or held between ticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest
from engine.model import Model
from engine.simulation.component import Called, Component, Context, Effect, SimulationError
from engine.simulation.layout import Layout

Array = np.ndarray


class Controller(Component):
    """Calls the user's function, and gives its result as commands: "tau" to the joints, and one by name to each actuator.

    A law with a period keeps its commands, and the time of its next tick, in memory.
    """

    name = "controller"

    def __init__(self, fn: Any, parameters: Mapping[str, Any]) -> None:
        self.called = Called(fn, parameters)
        self.state, self.period = self.called.law.state, self.called.law.period
        self.takers: dict[str, tuple[int, ...]] = {}
        self.held = Layout({})

    def bind(self, model: Model, dt: float) -> None:
        if self.period is not None and self.period < dt * (1.0 - 1e-9):
            raise SimulationError(f"Law period {self.period:g} s of {self.called.name} is shorter than dt {dt:g} s; expected dt or more")

    def serve(self, components: list[Component], model: Model) -> None:
        """Take note of who takes commands, and of which shapes."""
        own = {c.name: c.command for c in components if c.command is not None and c.name != "drive"}
        self.model, self.takers = model, {"tau": (model.nv,), **own}
        self.called.require_made_for(model, components)

    def hold(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Make room for commands of these shapes, which a law with a period holds."""
        self.held = Layout({"tick": (), **shapes})
        self.memory = np.zeros(self.held.n)

    def commands(self, s: Context, state: Array) -> tuple[dict[str, Any], Any]:
        """Return the user's commands now, checked, and the rate of the law's own state."""
        result, rate = self.called(s, state)
        self.called.require_finite(s, result)
        found = {}
        for name, command in (result.items() if isinstance(result, Mapping) else [("tau", result)]):
            if name not in self.takers:
                meant = nearest(str(name), self.takers)
                raise SimulationError(f"{self.called.name} commands '{name}'{meant}; expected some of {', '.join(self.takers)}")
            if np.shape(command) != self.takers[name]:
                what = "" if name == "tau" else f" for {name}"
                raise SimulationError(f"{self.called.name} returned shape {np.shape(command)}{what}; "
                                      f"expected {self.takers[name]} for '{self.model.name}'")  # fmt: skip
            found[name] = np.asarray(command)[()]
        return found, rate

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        if self.period is None:
            commands, rate = self.commands(s, state)
            return Effect(commands=commands, rate=rate)
        held = self.held.split(memory)
        del held["tick"]
        return Effect(commands=held, rate=self.commands(s, state)[1] if state.size else None)

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        if self.period is None:
            return memory
        held = self.held.split(memory)
        tick = s.t >= held["tick"] - 1e-9 * self.period
        fresh = {**self.commands(s, state)[0], "tick": held["tick"] + self.period}
        return self.held.join({name: ops.where(tick, fresh[name], x) for name, x in held.items()})
