"""Checks of a run's arguments: steps, durations, counts, tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.checks import number, whole
from engine.components.component import SimulationError


def checked_step(dt: Any) -> float:
    """Return a step, s, greater than zero."""
    return number("dt", dt, "a step in seconds greater than zero", above=0.0, error=SimulationError)


def checked_duration(duration: Any, dt: float | None = None) -> float:
    """Return a duration, s, greater than zero; with dt, of no more steps than floats can count."""
    found = number("duration", duration, "seconds greater than zero", above=0.0, error=SimulationError)
    if dt is not None and found / dt > 2.0**53:
        raise SimulationError(f"duration is {found:g} s, {found / dt:.3g} steps of {dt:g} s; expected fewer than 2⁵³")
    return found


def checked_tolerance(tolerance: Any) -> float:
    """Return an error per step between 1e-15 and 1."""
    expected = "an error per step between 1e-15 and 1, such as 1e-9"
    return number("tolerance", tolerance, expected, least=1e-15, below=1.0, error=SimulationError)


def checked_max_step(max_step: Any) -> float:
    """Return the largest step, s, greater than zero; infinite where there is none."""
    if isinstance(max_step, (float, np.floating)) and max_step == np.inf:
        return np.inf
    return number("max_step", max_step, "seconds greater than zero", above=0.0, error=SimulationError)


def checked_count(record_every: Any) -> int:
    """Return a whole number of steps from 1."""
    return whole("record_every", record_every, "a whole number of steps from 1", least=1, error=SimulationError)


def require_list(what: str, given: Any) -> list[Any]:
    """Return a list of forces, of actuators or of other things that are given together."""
    if isinstance(given, Iterable) and not isinstance(given, (str, Mapping)):
        return list(given)
    raise SimulationError(f"{what} is {given!r}; expected a list of them")
