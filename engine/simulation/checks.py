"""What steps, durations and counts of simulations must be, in one sentence where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import integrate
from engine.checks import nearest
from engine.simulation.component import SimulationError

Array = np.ndarray


def checked_array(what: str, x: Any) -> Array:
    """Finite numbers, as an array of floats."""
    try:
        a = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise SimulationError(f"{what} is {x!r}; expected numbers") from None
    if not np.isfinite(a).all():
        raise SimulationError(f"{what} holds NaN or infinity; expected finite numbers")
    return a


def checked_step(dt: Any) -> float:
    """A step, s, greater than zero."""
    if isinstance(dt, bool) or not isinstance(dt, (int, float, np.floating, np.integer)) or not np.isfinite(dt) or dt <= 0:
        raise SimulationError(f"dt is {dt!r}; expected a step in seconds greater than zero")
    return float(dt)


def checked_duration(duration: Any) -> float:
    """A duration, s, greater than zero."""
    whole = isinstance(duration, (int, float, np.floating, np.integer)) and not isinstance(duration, bool)
    if not whole or not np.isfinite(duration) or duration <= 0:
        raise SimulationError(f"duration is {duration!r}; expected seconds greater than zero")
    return float(duration)


def require_countable(duration: float, dt: float) -> None:
    """Refuse more steps than floats can count."""
    if duration / dt > 2.0**53:
        raise SimulationError(f"duration is {duration:g} s, {duration / dt:.3g} steps of {dt:g} s; expected fewer than 2⁵³")


def checked_tolerance(tolerance: Any) -> float:
    """An error per step between 1e-15 and 1."""
    if not isinstance(tolerance, (float, np.floating)) or not 1e-15 <= tolerance < 1:
        raise SimulationError(f"tolerance is {tolerance!r}; expected an error per step between 1e-15 and 1, such as 1e-9")
    return float(tolerance)


def checked_count(record_every: Any) -> int:
    """A whole number of steps from 1."""
    if isinstance(record_every, bool) or not isinstance(record_every, (int, np.integer)) or record_every < 1:
        raise SimulationError(f"record_every is {record_every!r}; expected a whole number of steps from 1")
    return int(record_every)


def checked_method(name: Any) -> integrate.Method:
    """The integrator of that name."""
    if name not in integrate.METHODS:
        meant, known = nearest(str(name), integrate.METHODS), ", ".join(integrate.METHODS)
        raise SimulationError(f"no integrator '{name}'{meant}; expected one of {known}")
    return integrate.METHODS[name]
