"""Ahead-of-time compilation (``warm``): a first run's programs on disk, for images of machines and workers of clusters."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from engine import cache
from engine.checks import EngineError, warn, whole
from engine.components.component import SimulationError
from engine.model import Model
from engine.simulation.from_file import simulator_of
from engine.simulation.simulator import Simulator


def warm(what: Model | Simulator, rows: int = 1, **arguments: Any) -> Simulator:
    """Return a simulator whose machine code is made, and kept for every later process of this user that makes the same one.

    A later process finds by what it is made of all that is the engine's own, and traces only functions of yours. The cache
    (``ENGINE_CACHE``) knows processors apart: warm it on the kind of machine that is to find it. Where this process could not keep what it
    made, :class:`engine.cache.CacheWarning` says why.

    Parameters
    ----------
    what : a simulator, or the model of one: of a file that describes more than its tree, by :func:`simulator_of`
    rows : of a batch: from 2 on the code of batches is made too
    arguments : of the simulator, where a model is given

    Raises
    ------
    SimulationError : rows is no whole number from 1; arguments beside a simulator; and what :class:`Simulator` raises

    Examples
    --------
    >>> import engine
    >>> model = engine.load(engine.example("seven_joint_arm"))
    >>> warm(model, dt=0.01, joint_dynamics=None)
    <simulator of 'seven_joint_arm': cg4, dt = 0.01 s; joints: ideal>
    """
    rows = whole("rows", rows, "a whole number from 1", least=1, error=SimulationError)
    if isinstance(what, Simulator) and arguments:
        raise SimulationError(f"warm got a simulator and '{next(iter(arguments))}'; expected a model with arguments, or a simulator")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cache.CacheWarning)                    # which is said in the end, and each time
        simulator = what if isinstance(what, Simulator) else (Simulator if what.described is None else simulator_of)(what, **arguments)
        with warnings.catch_warnings(), contextlib.suppress(EngineError):      # wherever it is: nothing of the motion is looked at
            warnings.simplefilter("ignore")
            simulator.step(simulator.start(simulator.model.initial(), np.zeros(simulator.model.nv)))
        simulator.stepper.compile(rows)
    if cache.missed:
        warn(f"not all that this process made of '{simulator.model.name}' is kept: {cache.missed[-1]}", cache.CacheWarning)
    return simulator
