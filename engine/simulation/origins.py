"""States beside a frame that carries the world's origin: its own state at other times, and of states of other frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components.component import SimulationError
from engine.simulation.form import Form

Array = np.ndarray
#: of places and velocities about a planet: as far as origins may be apart that are taken to be one
SAME = 1e-5


def at_time(plant: Any, z: Array, t: Any) -> Array:
    """Return components' states z (..., n) at times (...), s: with the frame's own of then."""
    frame = plant.frame
    if frame is None or not frame.state.size:
        return z
    z = z.copy()
    z[..., plant.states.slices[frame.name]] = frame.at(np.asarray(t, dtype=float))
    return z


def carried_over(plant: Any, z: Array, form: Form, record: Array) -> Array:
    """Return components' states z (..., n) of a record (..., m) by a form, as they are of a plant with another frame: relative to the same
    origin. SimulationError where its frame's is elsewhere."""
    frame, t = plant.frame, record.item(0)
    if frame is None or form.frame is None:
        has, wants = ("a frame", "none") if frame is None else ("no frame", "one")
        raise SimulationError(f"the state is of a simulator with {has}, and this one has {wants}: places are relative to another origin; "
                              "expected a state of this one, as start gives it")  # fmt: skip
    signals = form.record.split(record)
    r, v = (signals[f"{frame.name}.{what}"] for what in ("origin", "velocity"))
    there = frame.place(t, frame.at(np.asarray(t)))
    far, fast = (np.linalg.norm(x - own, axis=-1) for x, own in zip((r, v), there, strict=True))
    if (far > SAME * np.linalg.norm(there[0])).any() or (fast > SAME * np.linalg.norm(there[1])).any():
        raise SimulationError(f"the state is relative to an origin that is {np.nanmax(far):.3g} m from where this simulator's frame has "
                              f"its own at t = {t:g} s; expected a state of it, or of one that rectified took it from")  # fmt: skip
    z = z.copy()
    if frame.state.size:
        z[..., plant.states.slices[frame.name]] = frame.through(t, r, v)
    return z
