"""What is kept of trajectories: which columns, how often, of which runs."""

from __future__ import annotations

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
    numbers : of the runs
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
        step = simulator._step
        known = {"q": step.layout.shapes["q"], "v": step.layout.shapes["v"],
                 **{n: s for n, s in step.process.record.shapes.items() if n not in ("t", "x")}}  # fmt: skip
        columns = given.get("columns", ["q", "v"])
        columns = [columns] if isinstance(columns, str) else columns
        if not isinstance(columns, (list, tuple)):
            raise CampaignError(f"keep['columns'] is {shown(columns)}; expected {EXPECTED}")
        for name in columns:
            if name not in known:
                raise CampaignError(f"keep names the column '{name}'{nearest(str(name), known)}; expected some of {', '.join(known)}")
        self.shapes: dict[str, tuple[int, ...]] = {str(name): tuple(known[name]) for name in columns}
        self.every = every_of(given.get("rate"), simulator.dt * record_every)
        self.numbers = numbers_of(given.get("runs"), runs) if columns else np.zeros(0, dtype=int)
        self.t = times(simulator.dt, duration, record_every)[:: self.every] if columns else np.zeros(0)

    @property
    def words(self) -> dict[str, Any]:
        """What it is, for the manifest: of the runs each, or the first, the step and how many where they are a range."""
        n = self.numbers
        step = int(n[1] - n[0]) if len(n) > 1 else 1
        even = len(n) > 0 and bool((np.diff(n) == step).all())
        runs: Any = {"first": int(n[0]), "step": step, "count": len(n)} if even else n.tolist()
        return {"columns": {name: list(s) for name, s in self.shapes.items()}, "every": self.every, "runs": runs}

    def rows(self, first: int, count: int) -> Array:
        """Return which of the runs first … first + count − 1 are kept, by their numbers."""
        a, b = np.searchsorted(self.numbers, [first, first + count])
        return self.numbers[a:b]

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


def words_numbers(words: Any) -> Array:
    """Return the numbers of the runs that a manifest says are kept."""
    return np.array(words, dtype=int) if isinstance(words, list) else words["first"] + words["step"] * np.arange(words["count"])


def times(dt: float, duration: float, record_every: int) -> Array:
    """Return the times (T) of a run's records, as :meth:`engine.simulation.run.Process.blocks` has them."""
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


def numbers_of(given: Any, runs: int) -> Array:
    """Return the numbers of runs: all, the first so many, a range or slice, or those that are listed."""
    if given is None:
        return np.arange(runs)
    if isinstance(given, (slice, range)):
        found = np.arange(runs)[given] if isinstance(given, slice) else np.array(given, dtype=int)
    elif np.ndim(given) == 0:
        found = np.arange(min(whole("keep['runs']", given, "how many of the first, a range, or their numbers", 1, CampaignError), runs))
    else:
        found = np.unique(given)
    if found.dtype.kind not in "iu" or not found.size or found.min() < 0 or found.max() >= runs:
        raise CampaignError(f"keep['runs'] is {shown(given)}; expected numbers from 0 to {runs - 1}")
    return np.unique(found)
