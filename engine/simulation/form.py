"""Layout of a simulator's records, states and parameters, as plain data that states and trajectories keep."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from engine.components.layout import Layout
from engine.dynamics.momentum_conservation import defect
from engine.simulation.own_states import DEFECT, OWN

Array = np.ndarray
#: what must be the same where a simulator goes on from a state of another: as it says so
SHARED = ("entries", "states", "memories", "parameters")


@dataclasses.dataclass(frozen=True)
class Form:
    """Layout of the records, states and parameters of a simulator.

    Attributes
    ----------
    model : its name; entries : names of q's
    record, whole, states, memories, parameters : layouts of a record, of the whole state x in it, and of what a state consists of besides q
        and v, by the components' names
    events : names of the event functions
    frame : what the frame that carries the world's origin is made of, None without one
    """

    model: str
    entries: tuple[str, ...]
    record: Layout
    whole: Layout
    states: Layout
    memories: Layout
    parameters: Layout
    events: tuple[str, ...]
    frame: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        more = ", ".join(n for x in (self.states, self.memories, self.parameters) for n in x.shapes if n not in OWN)
        return f"'{self.model}'" + (f" with {more}" if more else "")

    def fits(self, other: Form) -> bool:
        """Return whether a state of this form is one of another: all but the events are the same."""
        return all(getattr(self, name) == getattr(other, name) for name in SHARED)

    def columns(self, records: Array) -> dict[str, Array]:
        """Return what records (..., T, m) hold besides the time, by name (..., T, *shape)."""
        signals: dict[str, Any] = self.record.split(records)
        x = self.whole.split(signals.pop("x"))
        states = {f"{n}.state": y for n, y in self.states.split(x["state"]).items() if n not in OWN}
        if DEFECT in self.states.shapes:
            states[DEFECT] = defect(self.states.split(x["state"])[DEFECT]).max(axis=-1)
        del signals["t"]
        return {"q": x["q"], "v": x["v"], **states, **signals}
