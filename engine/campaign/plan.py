"""Plan of a campaign, checked: the part of it that travels to workers, and that a folder's manifest describes."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine.campaign.design import DESIGNS, RUNS, CampaignError
from engine.campaign.keep import Keep, times
from engine.campaign.metrics import Metric
from engine.campaign.scatter import Scatter
from engine.checks import one_of, require_importable, shown, whole
from engine.simulation import Simulator, Trajectory
from engine.simulation.checks import checked_count, checked_duration

Array = np.ndarray
#: of what a run's header says, what makes its bits
IDENTITY = ("engine", "numpy", "llvmlite", "python", "machine", "model_name", "model_hash", "integrator", "dt", "gravity", "program",
            "functions", "parameters")  # fmt: skip
#: a seed has the bits of Philox's key
SEEDS = 2**128


class Plan:
    """A campaign's plan: the arguments of :class:`engine.Campaign`, checked.

    Attributes
    ----------
    runs : how many
    scatter, metrics, keep : what each begins with, and what is kept of it
    record_bytes : what the records of one run take
    bytes : what all that is written takes at least
    """

    def __init__(self, simulator: Simulator, q0: ArrayLike, v0: ArrayLike, duration: float, runs: int | None, seed: int,
                 scatter: Mapping[str, Any], design: str, metrics: Mapping[str, Any] | None, keep: Any,
                 record_every: int) -> None:  # fmt: skip
        self._arguments = (simulator, q0, v0, duration, runs, seed, scatter, design, metrics, keep, record_every)
        if not isinstance(simulator, Simulator):
            raise CampaignError(f"a campaign is of {shown(simulator)}; expected an engine.Simulator")
        if not simulator.compiled:
            raise CampaignError("the simulator has compiled=False, and runs one at a time; expected one that is compiled")
        simulator.watch.require_stops("a campaign")
        self.simulator, self.duration, self.record_every = simulator, checked_duration(duration, simulator.dt), checked_count(record_every)
        q0, v0 = simulator.model.normalized(q0), simulator.model.checked("v0", v0)
        if q0.ndim > 1:
            raise CampaignError(f"q0 has shape {q0.shape}; expected ({simulator.model.nq},): what differs from run to run is the scatter")
        expected = f"a whole number from 0, below {SEEDS}"
        self.seed = whole("seed", seed, expected, error=CampaignError)
        if self.seed >= SEEDS:
            raise CampaignError(f"seed is {seed}; expected {expected}")
        self.design = one_of("design", design, DESIGNS, CampaignError)
        runs = None if runs is None else whole("runs", runs, "how many, a whole number from 1", 1, CampaignError)
        self.scatter = Scatter(simulator, q0, v0, scatter, self.design, self.seed, runs)
        self.runs, self.q0, self.v0 = self.scatter.runs, q0, v0
        if self.runs > RUNS:
            raise CampaignError(f"runs is {shown(self.runs)}; expected at most {RUNS}")
        if metrics is not None and not isinstance(metrics, Mapping):
            raise CampaignError(f"metrics is {shown(metrics)}; expected metrics by name, such as {{'swing': 'max |q.elbow|'}}")
        columns: Mapping[str, Any] = self.columns() if any(isinstance(x, str) for x in (metrics or {}).values()) else {}
        self.metrics = [Metric(name, x, columns) for name, x in (metrics or {}).items()]
        if both := {m.name for m in self.metrics} & {*self.scatter.targets, *("run", "run_kept", "failed", "reason", "t")}:
            raise CampaignError(f"a metric is named '{min(both)}', as what is scattered or said of every run; expected another name")
        self.keep = Keep(keep, simulator, self.duration, self.record_every, self.runs)
        if both := {m.name for m in self.metrics} & {*self.keep.shapes}:
            raise CampaignError(f"a metric is named '{min(both)}', as a column that is kept; expected another name")
        self.record_bytes = 8 * simulator.stepper.record.n * len(times(simulator.dt, self.duration, self.record_every))
        drawn = sum(math.prod(d.shape) for d in self.scatter.draws.values())
        self.bytes = 8 * self.runs * (drawn + len(self.metrics)) + self.keep.bytes

    def __reduce__(self) -> Any:
        for m in self.metrics:
            require_importable(f"metrics['{m.name}']", m.given)
        return type(self), self._arguments

    def columns(self) -> dict[str, Array]:
        """Return the columns that a trajectory has, by name: of the state at t = 0."""
        stepper = self.simulator.stepper
        return stepper.seen(*stepper.begin(self.q0, self.v0)).columns()

    @functools.cached_property
    def words(self) -> dict[str, Any]:
        """Description for the manifest: all that the results' bits depend on except the chunks."""
        from scipy import __version__ as scipy

        known = self.simulator.stepper.header(self.duration, self.record_every)
        return {
            "runs": self.runs, "seed": self.seed, "design": self.design, "duration": self.duration, "record_every": self.record_every,
            "scatter": self.scatter.words, "metrics": {m.name: m.words for m in self.metrics}, "keep": self.keep.words,
            "q0": self.q0.tolist(), "v0": self.v0.tolist(), "scipy": scipy, **{name: known[name] for name in IDENTITY},
        }  # fmt: skip

    def rerun(self, i: int, record_every: int = 1) -> Trajectory:
        """Return the whole trajectory of a run, by its number."""
        i = whole("a run", i, f"its number, from 0 to {self.runs - 1}", error=CampaignError)
        if i >= self.runs:
            raise CampaignError(f"there is no run {i}; expected one from 0 to {self.runs - 1}")
        start = self.scatter.start(i, 1)
        found = self.simulator.run(start.q0, start.v0, self.duration, record_every, parameters=start.parameters)
        return found.rollout(0)

    def chunk_of(self, seconds: float, memory: float, workers: int) -> int:
        """Return how many runs make a chunk of about a second, where one takes so many seconds; and four a worker at least."""
        most = max(1, int(memory / self.record_bytes))
        return max(1, min(math.ceil(1.0 / max(seconds, 1e-5)), most, -(-self.runs // (4 * workers))))
