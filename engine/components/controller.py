"""The controller as a component: calls the user's function or ``Law``, and hands its result to joints and actuators as commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, warn
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.components.law import Called, Ticking
from engine.model import Model

Array = np.ndarray


class Controller(Ticking):
    """Calls the user's function, and gives its result as commands: "tau" to the joints, and one by name to each actuator."""

    name = "controller"

    def __init__(self, fn: Any, parameters: Mapping[str, Any], signals: Collection[str] = ()) -> None:
        self.called = Called(fn, parameters, signals)
        self.state = self.called.law.state
        self.takers: dict[str, tuple[int, ...]] = {}
        self.aiming: list[str] = []                                            # actuators whose command is where they are to go

    def serve(self, components: list[Component], model: Model) -> None:
        """Take note of who takes commands, and of which shapes."""
        own = {c.name: c.command for c in components if c.command is not None and c.name != "drive"}
        self.model, self.takers, self.aiming = model, {"tau": (model.nv,), **own}, [c.name for c in components if c.aims]
        self.called.require_made_for(model, components)

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        """Return the user's commands now, checked, the rate of the law's own state, and its memory."""
        result, rate, memory = self.called(s, state, memory, count)
        self.called.require_finite(s, result)
        found = {}
        for name, command in (result.items() if isinstance(result, Mapping) else [("tau", result)]):
            if name not in self.takers:
                meant = nearest(str(name), self.takers)
                if name in (own := [*map(str, self.model.labels("v"))]):
                    raise SimulationError(f"{self.called.name} commands '{name}', a joint; expected some of {', '.join(self.takers)}, of "
                                          f"which tau is of all joints ({self.model.nv}), this one at {own.index(name)}")  # fmt: skip
                raise SimulationError(f"{self.called.name} commands '{name}'{meant}; expected some of {', '.join(self.takers)}")
            if np.shape(command) != self.takers[name]:
                what = "" if name == "tau" else f" for {name}"
                raise SimulationError(f"{self.called.name} returned shape {np.shape(command)}{what}; "
                                      f"expected {self.takers[name]} for '{self.model.name}'")  # fmt: skip
            command = np.asarray(command)[()]
            # an infinite one would end at the limits of what it drives, and nobody would know
            found[name] = ops.where(ops.less(ops.absolute(command), np.inf), command, np.nan)
        self.tell_of_forgotten(found)
        return found, rate, memory

    def tell_of_forgotten(self, found: Mapping[str, Any]) -> None:
        """Warn, once, of actuators that are told to go to zero as nobody commands them, where others like them are commanded."""
        forgotten = [name for name in self.aiming if name not in found]
        if forgotten and len(forgotten) < len(self.aiming):
            some = ", ".join(map(repr, forgotten[:3])) + (", …" if forgotten[3:] else "")
            warn(f"{self.called.name} commands {len(self.aiming) - len(forgotten)} of {len(self.aiming)} servos of '{self.model.name}': "
                 f"{some} go to zero; expected a command for each", SimulationWarning)  # fmt: skip
            self.aiming = []

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        commands, rate, beyond = self.now(s, state, memory)
        return Effect(commands=commands, rate=rate, beyond=beyond)
