"""A component's effect in a state, checked against what the component promises."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import nearest
from engine.compiler.transforms.trace import pure
from engine.components.actuators import Drive
from engine.components.component import Component, Context, Effect, SimulationError, name_in_errors

Array = np.ndarray


def observes(c: Component) -> bool:
    """Return whether a component measures accelerations: its class overrides ``observe``."""
    return type(c).observe is not Component.observe


def effect(c: Component, s: Context, state: Array, memory: Array, command: Any) -> Effect:
    """Return what a component does; where it is traced, one of the user's must do the same when it is called again."""
    traced = s.q.dtype == object

    @functools.wraps(c.act)
    def acting(q: Array) -> Effect:
        with name_in_errors(c.name, traced):
            does = c.act(s, state, memory, command)
            if not isinstance(does, Effect):
                raise SimulationError(f"act of {c.name!r} returned {type(does).__name__}; expected an engine.simulation.Effect")
            does.require_numbers(c.name)
            if does.inner and c.rigid and not c.keeps:
                raise SimulationError(f"act of {c.name!r} returned inner wrenches, and keeps no momentum; expected keeps = True and holds")
            does.require_shapes(c.name, s, np.zeros(0) if observes(c) else c.state)
            return does

    found: Effect = acting(s.q) if type(c).__module__.startswith("engine.") else pure(acting)(s.q)
    if not traced:
        found.require_finite(c.name, s)
    return found


def require_taken(c: Component, commands: Mapping[str, Any], acting: Sequence[Component]) -> None:
    """Refuse a component's commands to what takes none: what comes before it has acted, and memories take the controller's alone."""
    if not commands:
        return
    after = acting[acting.index(c) + 1 :]
    takers = ["tau" if isinstance(x, Drive) else x.name for x in after if x.command is not None and not x.memory.size]
    for name in commands:
        if name not in takers:
            if name in [x.name for x in acting[: acting.index(c)] if x.command is not None and not isinstance(x, Drive)]:
                raise SimulationError(f"'{c.name}' commands '{name}', which acts before it; expected '{name}' after '{c.name}' in the list")
            expected = f"some of {', '.join(takers)}, which take commands and come after it" if takers else "a controller that does"
            raise SimulationError(f"'{c.name}' commands '{name}'{nearest(str(name), takers)}; expected {expected}")
