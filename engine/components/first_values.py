"""Default values of the parameters that functions and sensors bring along: seeds of their noise, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.checks import shown
from engine.components.component import Component, SimulationError
from engine.components.law import SEEDS, asks_noise

Array = np.ndarray


def with_seeds(parameters: Mapping[str, Any], functions: list[Any]) -> dict[str, Any]:
    """Return the parameters of a simulation, those of noise if one of its functions asks for it, and those of its sensors."""
    if not isinstance(parameters, Mapping):
        raise SimulationError(f"parameters is {shown(parameters)}; expected a dictionary of numbers and arrays by name")
    sensors = [f for f in functions if isinstance(f, Component)]
    own = {n: x for f in sensors for n, x in getattr(f, "parameters", {}).items()}
    parameters = {n: spread(x, own[n]) if n in own else x for n, x in parameters.items()}
    noisy = any(map(asks_noise, functions)) or any(getattr(f, "noisy", False) for f in sensors)
    return {**(dict.fromkeys(SEEDS, 0.0) if noisy else {}), **own, **parameters}


def spread(x: Any, like: Array) -> Any:
    """Return one number as many times as another value has them, as a sensor's constructor takes it; else x as it is."""
    return np.full(like.shape, x) if isinstance(x, (int, float, np.number)) and like.shape else x
