"""A motion with steps that choose their own size, of the flight that a simulator's step has."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from engine.compiled.function import compiled_attempt, split_state
from engine.components.component import SimulationError
from engine.integrate import IMPULSIVE, Solution, solve
from engine.model import StateError
from engine.simulation.plant import STRUCK
from engine.simulation.step import Step

Array = np.ndarray


def run_adaptive(step: Step, p: Array, x: Array, duration: float, tolerance: float, events: Iterable[Any], max_step: float) -> Solution:
    """Return the motion from a state x (n) with parameters p.

    Raises
    ------
    StateError : a batch of states
    SimulationError : something is :func:`held` from step to step, or runs on floats
    """
    model, plant = step.plant.model, step.plant
    if x.ndim != 1:
        raise StateError(f"q0 has shape {(*x.shape[:-1], model.nq)}; expected ({model.nq},): an adaptive run takes one state")
    if names := held(step):
        raise SimulationError(f"held from step to step: {', '.join(names)}; expected run, at fixed steps")
    if not step.compiled:
        raise SimulationError("an adaptive run is compiled; expected a Simulator without compiled=False")
    p = plant.laden(p, x[step.layout.slices["state"]])
    method, system = step.system(np.zeros(0), p, step.limits.at_an_instant, even=False)
    order = method.order if method.complete is None else min(method.order, IMPULSIVE)
    advance = compiled_attempt(method, system, functools.partial(step.impulsive.passing, p=p))
    return solve(advance, order, x, duration, tolerance, functools.partial(split_state, model.nq, model.nv), events, max_step)


def held(step: Step) -> list[str]:
    """Return the names of what remembers something from step to step, or is watched for zeros: laws, sensors and thrusters with periods,
    grips, prescribed joints, whose acceleration back to their place is held for a step, and events."""
    felt = {STRUCK: "what is felt of contacts"}
    return [felt.get(name, f"'{name}'") for name in step.plant.memories.shapes] + [f"event '{name}'" for name in step.watch.names]
