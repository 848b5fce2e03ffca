"""The choice of what is kept of trajectories: which columns, how often, of which runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.campaign.design import CampaignError
from engine.checks import nearest, number, shown, whole
from engine.simulation import Simulator, Trajectory

Array = np.ndarray
EXPECTED = "None, names of columns, or {'columns': ['q'], 'rate': 10.0, 'runs': 100}"


class Keep:
    """Columns (run, time) of some runs: NaN from where a run failed, or an event stopped it.

    Attributes
    ----------
    shapes : of a record of each column, by name
    every : of the records, one in so many
    numbers : of the runs, increasing; a range where they are one, however many
    t : times (T), s
    """

    def __init__(self, given: Any, simulator: Simulator, duration: float, record_every: int, runs: int) -> None:
        if given is None:
            given = {"columns": []}
        if not isinstance(given, Mapping):
            given = {"columns": given}
        for name in given:
            if name not in ("columns", "rate", "runs"):
                raise CampaignError(f"keep has '{name}'{nearest(str(name), ('columns', 'rate', 'runs'))}; expected {EXPECTED}")
        stepper = simulator.stepper
        known = {"q": stepper.layout.shapes["q"], "v": stepper.layout.shapes["v"],
                 **{n: s for n, s in stepper.record.shapes.items() if n not in ("t", "x")}}  # fmt: skip
        columns = given.get("columns", ["q", "v"])
        columns = [columns] if isinstance(columns, str) else columns
        if not isinstance(columns, (list, tuple)):
            raise CampaignError(f"keep['columns'] is {shown(columns)}; expected {EXPECTED}")
        for name in columns:
            if name not in known:
                raise CampaignError(f"keep names the column '{name}'{nearest(str(name), known)}; expected some of {', '.join(known)}")
        self.shapes: dict[str, tuple[int, ...]] = {str(name): tuple(known[name]) for name in columns}
        self.every = every_of(given.get("rate"), simulator.dt * record_every)
        self.numbers = numbers_of(given.get("runs"), runs) if columns else range(0)
        self.t = times(simulator.dt, duration, record_every)[:: self.every] if columns else np.zeros(0)

    @property
    def words(self) -> dict[str, Any]:
        """Description for the manifest: columns, stride and runs (the first, the step and how many where they are a range)."""
        n = self.numbers
        if not isinstance(n, range) and (np.diff(n) == (step := int(n[1] - n[0]) if len(n) > 1 else 1)).all():
            n = range(int(n[0]), int(n[-1]) + 1, step)
        runs: Any = [int(i) for i in n] if not isinstance(n, range) or not n else {
            "first": n[0], "step": n.step if len(n) > 1 else 1, "count": len(n)}  # fmt: skip
        return {"columns": {name: list(s) for name, s in self.shapes.items()}, "every": self.every, "runs": runs}

    def rows(self, first: int, count: int) -> Array:
        """Return which of the runs first … first + count − 1 are kept, by their numbers."""
        return numbers_within(self.numbers, first, count)

    @property
    def bytes(self) -> int:
        """Number of bytes that the kept columns of all runs take."""
        return 8 * len(self.numbers) * len(self.t) * sum(map(math.prod, self.shapes.values()))

    def of(self, trajectory: Trajectory, rows: Array) -> dict[str, Array]:
        """Return the columns (n, T, *shape) of some rows of a batch."""
        found = {}
        for name, shape in self.shapes.items():
            x = getattr(trajectory, name) if name in ("q", "v", "tau", "vdot") else trajectory.signals[name]
            new = np.full((len(rows), len(self.t), *shape), np.nan)
            new[:, : len(trajectory.t[:: self.every])] = x[rows, :: self.every]
            if trajectory.stopped is not None:
                new[self.t[None, :] > trajectory.stopped[rows, None]] = np.nan
            found[name] = new
        return found


def words_numbers(words: Any) -> Array | range:
    """Return the numbers of the runs that a manifest says are kept."""
    if isinstance(words, list):
        return np.array(words, dtype=int)
    return range(words["first"], words["first"] + words["step"] * words["count"], words["step"])


def numbers_within(n: Array | range, first: int, count: int) -> Array:
    """Return those of some increasing numbers that are among first … first + count − 1.

    >>> numbers_within(range(1, 100, 5), 10, 10)
    array([11, 16])
    """
    if isinstance(n, range):
        a, b = (max(0, -(-(i - n.start) // n.step)) for i in (first, first + count))
        return np.array(n[a:b], dtype=int)
    a, b = np.searchsorted(n, [first, first + count])
    return n[a:b]


def times(dt: float, duration: float, record_every: int) -> Array:
    """Return the times (T) of a run's records, as :meth:`engine.simulation.run_loop.Process.blocks` has them."""
    steps = duration / dt
    whole_steps = round(steps) if abs(steps - round(steps)) < 1e-6 and steps >= 0.5 else int(steps)
    shorter = steps > whole_steps + 1e-6 or not whole_steps
    last = whole_steps // record_every if shorter else -(-whole_steps // record_every)
    t = np.minimum(np.arange(last + 1) * record_every, whole_steps) * dt
    return np.append(t, duration) if shorter else t


def every_of(rate: Any, interval: float) -> int:
    """Return which of the records, ``interval`` s apart, make a rate, 1/s; None is all of them."""
    if rate is None:
        return 1
    every = 1.0 / (number("keep['rate']", rate, "records per second, above zero", above=0, error=CampaignError) * interval)
    if every < 1 - 1e-9 or abs(every - round(every)) > 1e-6 * every:
        raise CampaignError(f"keep['rate'] is {rate:g} per second, and records are {interval:g} s apart; expected {1 / interval:g} divided "
                            "by a whole number")  # fmt: skip
    return round(every)


def numbers_of(given: Any, runs: int) -> Array | range:
    """Return the numbers of runs: all, the first so many, a range or slice, or those that are listed."""
    what = "how many of the first, a range, or their numbers"
    if given is None:
        return range(runs)
    if isinstance(given, slice):
        found: Any = range(runs)[given]
    elif isinstance(given, range):
        found = given
    elif np.ndim(given) == 0:
        if (count := whole("keep['runs']", given, what, 1, CampaignError)) > runs:
            raise CampaignError(f"keep['runs'] is {count}, and there are {runs} runs; expected {what}")
        found = range(count)
    else:
        found = np.unique(given)
    if isinstance(found, range):
        found = found[:: -1 if found.step < 0 else 1]
        good = len(found) > 0 and found[0] >= 0 and found[-1] < runs
    else:
        good = found.dtype.kind in "iu" and found.size > 0 and found[0] >= 0 and found[-1] < runs
    if not good:
        raise CampaignError(f"keep['runs'] is {shown(given)}; expected numbers from 0 to {runs - 1}")
    return found
