"""Batches whose rows are independent, for campaigns: a row that fails is reported by number, and affects no other."""

from __future__ import annotations

import dataclasses
import threading
import warnings

import numpy as np
from numpy.typing import NDArray

from engine.checks import EngineError
from engine.simulation.diagnosis import ended, reasons
from engine.simulation.event_runs import blocks
from engine.simulation.run_loop import Failures, collected
from engine.simulation.simulator import Simulator
from engine.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
#: warnings are caught for a whole process: threads take turns, and a batch spreads over the cores by itself
TURN = threading.RLock()


def rollouts(simulator: Simulator, q0: Array, v0: Array, duration: float, record_every: int,
             parameters: dict[str, Array]) -> tuple[Trajectory | None, list[int], dict[int, str], list[str]]:  # fmt: skip
    """Run the rows of a batch.

    Parameters
    ----------
    q0, v0, parameters : (n, nq), (n, nv) and (n, *shape) by name

    Returns
    -------
    trajectory of the rows that could be started, None where none could; their numbers; why others failed, by number: they could not
    start, or stopped being finite (whom to blame is not looked for: :meth:`Simulator.run` of such a row says it); and what else is noted
    of the whole, in words, where rows are those of the trajectory
    """
    with TURN, warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        rows, why = [*range(len(q0))], dict[int, str]()
        try:
            simulator._unresolved.afresh()
            p, x = simulator.stepper.begin(q0, v0, parameters)
        except EngineError:
            why = unstartable(simulator, q0, v0, parameters, np.arange(len(q0)))
            rows = [k for k in rows if k not in why]
            if not rows:
                return None, rows, why, []
            noted.clear()
            simulator._unresolved.afresh()
            p, x = simulator.stepper.begin(q0[rows], v0[rows], {n: x[rows] for n, x in parameters.items()})
        step, failures = simulator._step, Failures()
        records = collected(blocks(step, p, x, simulator.dt, duration, record_every, 0, failures, at_once=True), lambda done: None)
        found = simulator._step.trajectory(records, p)
    texts = reasons(failures, x.shape[:-1], lambda stop, _: ended(step, stop, False))
    why |= {rows[k]: str(text) for k, text in enumerate([] if texts is None else texts) if text}
    return dataclasses.replace(found, reason=texts), rows, why, [*dict.fromkeys(str(w.message) for w in noted), *found.warnings]


def unstartable(simulator: Simulator, q0: Array, v0: Array, parameters: dict[str, Array], rows: NDArray[np.int_]) -> dict[int, str]:
    """Return why rows cannot be started, by number: what is refused is halved until it is a single one."""
    try:
        simulator.stepper.begin(q0[rows], v0[rows], {n: x[rows] for n, x in parameters.items()})
    except EngineError as error:
        if len(rows) == 1:
            return {int(rows[0]): str(error).replace(" in row 0", "")}
        return {k: text for half in np.array_split(rows, 2) for k, text in unstartable(simulator, q0, v0, parameters, half).items()}
    return {}
