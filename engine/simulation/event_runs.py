"""Runs with events: a single rollout stops at a zero, or goes on as the event's action says; a batch stops row by row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.components.component import SimulationError
from engine.simulation.run_loop import Failures, steps_in
from engine.simulation.step import Step

Array = np.ndarray
#: events in one step, after which a run gives up
MOST = 1000
#: of 1 + |q|: a change of an event function's value that is no rounding
CHANGE = 1e-13


def blocks(step: Step, p: Array, x: Array, dt: float, duration: float, record_every: int, start: int = 0,
           failures: Failures | None = None, at_once: bool = False) -> Iterator[tuple[Array, int]]:  # fmt: skip
    """Yield records a block at a time, and the steps done by its end, −1 where a run could not go on from there as if nothing had been.

    In a batch every rollout stops by itself and stays as it is. After an event of a single rollout a shorter step completes the interrupted
    one, so that later steps stay on the grid.
    """
    run, n = step.process, step.layout.n
    if x.ndim > 1:
        step.watch.require_stops("a batch")
    if not step.watch or x.ndim > 1:
        for new, done in run.blocks(p, x, dt, duration, record_every, start, failures, at_once):
            yield new, done
            if step.watch and (step.watched(new[..., -1, 1 : 1 + n])["stopped"] != 0.0).all():       # NaN, of one that failed: an end too
                return
        return
    stop = None
    while True:
        for new, done in run.blocks(p, x, dt, duration, record_every, start):
            stopped = step.watched(new[..., 1 : 1 + n])["stopped"] > 0
            if stopped.any():
                first = int(np.argmax(stopped))
                stop = new[first, 1 : 1 + n]
                if first:
                    yield new[:first], -1
                break
            yield new, done
        else:
            return
        for _ in range(MOST):
            t = float(step.watched(stop)["time"])
            start = int(np.floor(t / dt + 1e-9)) + 1
            whole = start * dt <= duration + 1e-6 * dt
            end = start * dt if whole else duration
            over = duration - t <= 1e-12 * dt
            rest = dt if over else end - t
            try:
                onward = state_after_events(step, t, p, stop)
            except BaseException:
                yield run.look(t, dt, p, stop), -1
                raise
            if onward is None:
                yield run.look(t, dt, p, stop), -1
                return
            on = run.look(t, rest, p, onward)
            jumps = (onward[step.places] != stop[step.places]).any()
            at = run.look(t, dt, p, stop) if jumps else on.copy()
            at[:, 1 : 1 + n] = stop                                            # which says what has its zero here
            yield at, -1
            if jumps:
                yield on, -1
            if over:
                return
            x = stop = run.advance(np.ones(1), t, 0.0, rest, p, onward)[-1, 1 : 1 + n].copy()
            if not step.watched(stop)["stopped"]:
                break
        else:
            name = step.watch.names[int(np.argmax(step.watched(stop)["zeros"]))]
            raise SimulationError(f"{name} has a thousand zeros in a step at t = {t:.6g} s; expected a callback that makes them end")
        over = end >= duration - 1e-6 * dt
        if over or start % record_every == 0:
            short = steps_in(duration, dt) == (start, True)                    # the step from here is the last, shorter one
            yield run.look(end, duration - end if short else dt, p, x), start if whole and not short else -1
        if over:
            return


def state_after_events(step: Step, t: float, p: Array, x: Array) -> Array | None:
    """Return the whole state (n) to go on from after the events at t and x, or None where one of them ends the run."""
    a, plant, watch = step.layout.split(x), step.plant, step.watch
    memory = watch.memory.split(a["events"])
    wanted = watch.act(plant.model, t, a["q"], a["v"], memory["zeros"], plant.jacobian(a["q"], a["memory"]))
    if wanted is None:
        return None
    q, v = wanted
    z = plant.with_momenta(q, v, a["state"], p)
    at, values = (values_at(step, t, p, a["memory"], *s) for s in ((a["q"], a["v"], a["state"]), (q, v, z)))
    for i in np.flatnonzero(memory["zeros"]):                                  # still at its zero: it does not count again
        leapt = watch.called[i].reads and values[i] * memory["values"][i] < 0.0       # a sample has, that is held: it is beyond
        values[i] = 0.0 if abs(values[i]) <= abs(at[i]) and not leapt else values[i]
    if not np.array_equal(v, a["v"]):                                          # on which side it goes on, however short it stays there
        values = np.where((values == 0.0) & (memory["zeros"] > 0), onward(step, t, p, a["memory"], q, v, z), values)
    events = watch.memory.join({**memory, "values": values, "stopped": 0.0, "zeros": np.zeros(len(values))})
    return step.layout.join({**a, "q": q, "v": v, "state": z, "events": events})


def values_at(step: Step, t: float, p: Array, m: Array, q: Array, v: Array, z: Array) -> Array:
    """Return the event functions' values (n) at a time and a state, with memories m, which hold what they hear."""
    return step.watch.values(step.plant.hearing(step.plant.context(t, q, v, z, p), m))


def onward(step: Step, t: float, p: Array, m: Array, q: Array, v: Array, z: Array) -> Array:
    """Return how the event functions' values (n) change at first from q on at v: over as short a time as shows it."""
    now = values_at(step, t, p, m, q, v, z)
    change = np.zeros(len(now))
    for part in (1e-8, 1e-6, 1e-4, 1e-2, 1.0):
        soon = values_at(step, t, p, m, step.plant.model.manifold.plus(q, part * step.dt * v), v, z)
        change = np.where(change == 0.0, np.where(np.abs(soon - now) > CHANGE * (1.0 + np.abs(q).max()), soon - now, 0.0), change)
    return change
