"""What a component does in a state, held against what it says of itself."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine.compiler.transforms.trace import pure
from engine.components.component import Component, Context, Effect, SimulationError, named

Array = np.ndarray


def observes(c: Component) -> bool:
    """Whether a component looks at accelerations."""
    return type(c).observe is not Component.observe


def effect(c: Component, s: Context, state: Array, memory: Array, command: Any) -> Effect:
    """Return what a component does; where it is traced, one of the user's must do the same when it is called again."""
    traced = s.q.dtype == object

    @functools.wraps(c.act)
    def acting(q: Array) -> Effect:
        with named(c.name, traced):
            does = c.act(s, state, memory, command)
            if not isinstance(does, Effect):
                raise SimulationError(f"act of {c.name!r} returned {type(does).__name__}; expected an engine.simulation.Effect")
            does.require_numbers(c.name)
            does.require_shapes(c.name, s, np.zeros(0) if observes(c) else c.state)
            return does

    found: Effect = acting(s.q) if type(c).__module__.startswith("engine.") else pure(acting)(s.q)
    if not traced:
        found.require_finite(c.name, s)
    return found
