"""Campaigns: one simulation, run as often as it takes to know what scatter does to it. Scatter, run, resume, load, rerun."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from engine.campaign.chunk import first_look, next_good, require_alone
from engine.campaign.design import CampaignError
from engine.campaign.executors import outcomes, workers_of
from engine.campaign.loaded import Runs
from engine.campaign.places import gib
from engine.campaign.plan import Plan
from engine.campaign.storage import Storage
from engine.campaign.tally import Tally, checked_stop
from engine.campaign.target import storage_of
from engine.checks import memory, warn, whole
from engine.progress import progress_bar
from engine.recording import StorageError
from engine.simulation import Simulator, Trajectory
from engine.simulation.rollouts import rollouts

#: bytes of records that a chunk has at most where its size is not given: it takes a few times that
MEMORY = 64 << 20
#: runs that are looked at first: for the shapes of metrics, and for how long one takes
LOOK = 16
#: s of a run, from which on it is looked twice
SLOW = 0.01


class Campaign:
    """Many runs of a simulator, which differ in what is scattered: ``campaign.run("out/folder")`` runs them, or those that are missing.

    Run i depends on the seed and on i alone: it is the same bits in any chunk, on any number of workers, in any order, and by itself
    (:meth:`rerun`). A run that fails is a row with a reason: it could not start, stopped being finite, or a metric raised or is NaN.
    NaN are all metrics of a run that did not start or stay finite, else only the metric that failed: the run's others are what they are.

    Parameters
    ----------
    simulator : compiled; what is scattered of the robot is among its ``parameters``
    q0, v0, duration : as :meth:`engine.Simulator.run` takes them; the initial state without scatter
    runs : how many (of a grid: none)
    seed : what is drawn is Philox's, by seed, run and the quantity's name: one more quantity changes no other's
    scatter : by name what is drawn: by frozen distributions of scipy.stats, of vectors also ``scipy.stats.multivariate_normal(mean, cov)``:

        ==================================  ============================================================================================
        a parameter's name, "name[0,1]"     its value, or one of its entries
        "q0.JOINT", "v0.JOINT"              its coordinates, its velocities; of a floating joint q0 is the position (3) in world axes, and
                                            v0 the twist (6); also by entries, "q0.floating_base.x", and halves, "v0.floating_base.w"
        "attitude.JOINT"                    of floating and spherical joints: "uniform" on the group, or rotation vectors (3), rad, that
                                            turn q0's attitude in its own axes
        ==================================  ============================================================================================

    design : "random", independent draws; "sobol" or "latin_hypercube", which fill the space evenly (scipy.stats.qmc; all points are drawn
        at once, in memory); "grid", the full product of the values that ``scatter`` then has instead of distributions
    metrics : by name what is kept of every run: "REDUCTION SIGNAL" with first, final, min, max, mean, rms or integral (over time, by
        trapezoids), and a column of :meth:`engine.Trajectory.columns` or t, as in "max \\|tau.elbow\\|", compared with a number where a
        truth value is wanted, "final q.elbow < 0.1"; or a function of the run's trajectory, which it cannot change, that returns a number,
        a truth value, or an array. A function with an attribute ``batched = True`` gets the trajectory of several runs (run, T, …) and
        returns a row for each, by itself; where events stop runs, T is that of the longest
    record_every : metrics see every k-th state, the first and the last. Looking takes time: at every tenth state of a servicer with a
        seven-joint arm a seventh of what its steps take, at every one three quarters (``python -m tests.bench --only campaigns``)
    keep : what is kept besides: None, columns, or {"columns": ["q", "v"], "rate": records per second, "runs": how many of the first, a
        range, or their numbers}
    chunk : runs that are one call of machine code, and one file: about a second of work, if it is not given

    Raises
    ------
    CampaignError : something is not what it should be

    Examples
    --------
    Stones thrown up at 10 ± 1 m/s are back after 2 v/g: the share that needs more than 2.1 s is that of v > 10.3 m/s, 38 %.

    >>> import tempfile, engine, scipy.stats
    >>> stone = engine.Builder("stone")
    >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    >>> simulator = engine.Simulator(stone.model(floating_base=True), dt=0.1)
    >>> campaign = Campaign(simulator, [1.0, 0, 0, 0, 0, 0, 0], [0.0] * 6, duration=2.1, runs=1000, seed=7,
    ...                     scatter={"v0.floating_base.vz": scipy.stats.norm(10.0, 1.0)},
    ...                     metrics={"up": "final q.floating_base.z > 0", "high": "max q.floating_base.z"})
    >>> runs = campaign.run(tempfile.mkdtemp())
    >>> low, high = runs.estimates()["up"].interval
    >>> low < 0.382 < high
    True
    >>> bool(campaign.rerun(3).q[-1, 6] > 0) == bool(runs("up")[3])
    True
    """

    def __init__(self, simulator: Simulator, q0: ArrayLike, v0: ArrayLike, duration: float, runs: int | None = None, seed: int = 0,
                 scatter: Mapping[str, Any] | None = None, design: str = "random", metrics: Mapping[str, Any] | None = None,
                 keep: Any = None, chunk: int | None = None, record_every: int = 1) -> None:  # fmt: skip
        self.plan = Plan(simulator, q0, v0, duration, runs, seed, scatter or {}, design, metrics, keep, record_every)
        self.chunk = None if chunk is None else whole("chunk", chunk, "how many runs, a whole number from 1", 1, CampaignError)
        n = self.plan.runs
        there = memory()
        if (size := self.plan.record_bytes * min(self.chunk or 1, n)) > there:
            raise CampaignError(f"a chunk of {min(self.chunk or 1, n)} runs makes {gib(size)} of records, and this machine has "
                                f"{gib(there)}; expected a smaller chunk, or a larger record_every")  # fmt: skip
        if design in ("sobol", "latin_hypercube") and (size := 8 * n * sum(self.plan.scatter.sizes.values())) > there:
            raise CampaignError(f"{n} runs by design='{design}', drawn all at once, take {gib(size)} of memory, and this machine has "
                                f"{gib(there)}; expected fewer, or design='random'")  # fmt: skip
        if design == "sobol" and n & (n - 1):
            warn(f"{n} runs by design='sobol', whose points fill the space evenly by powers of two; expected such as "
                 f"{2 ** round(math.log2(n))}")  # fmt: skip

    def __repr__(self) -> str:
        plan = self.plan
        return f"<campaign of {plan.runs} runs of '{plan.simulator.model.name}': {', '.join(plan.scatter.draws)}; {plan.design}>"

    def rerun(self, i: int, record_every: int = 1) -> Trajectory:
        """Return the trajectory of run i in full: the same bits as in the campaign. Of one that failed its ``reason`` says whom to blame.

        Raises
        ------
        CampaignError : there is no such run
        SimulationError : it could not start
        """
        return self.plan.rerun(i, record_every)

    def run(self, out: str | Path, executor: Any = None, progress: bool = False, stop: Mapping[str, float] | None = None) -> Runs:
        """Run what is missing in a folder or a store, and return what is there.

        Parameters
        ----------
        out : a folder, new or empty, or this campaign's own: it is gone on with, and what is damaged, or another campaign's, is made anew,
            with a warning. In it are HDF5 files; where it ends in ".zarr", and at a URL such as "s3://bucket/name" (also gs://, az://,
            file:// and memory://; with the extra "cloud"), a hierarchy of Zarr 3, which ``xarray.open_zarr`` opens. Credentials and
            AWS_ENDPOINT_URL are the environment's
        executor : who runs the chunks: None is this process, on all its cores; an executor of concurrent.futures, or a
            dask.distributed.Client, whose processes use as many threads as they were given, else one (the threads of a process take turns).
            They share the folder. What goes to them is pickled: functions that a module has by their names (Dask takes others too)
        progress : show a bar with the rate, the time left, and the estimates so far
        stop : by metrics' names how narrow a 95 % interval is enough (Wilson's of truth values, else of the mean): when all are, by the
            runs in order, no more are begun

        Raises
        ------
        CampaignError : the folder is of another campaign, or becomes it meanwhile; a metric has no value of any of the first runs, or, as a
            controller in plain Python, depends on something besides its run (one is taken twice); the workers are gone
        StorageError : nothing can be written there, or it is not the engine's; what was written is whole
        """
        plan, folder, workers = self.plan, storage_of(out), workers_of(executor)
        self._begin(folder, workers)
        wanted = checked_stop(stop, folder.manifest["metrics"])
        faults = folder.faults()
        if wrong := [*filter(None, faults.values())]:
            warn(f"{len(wrong)} of {folder.chunks} chunks in '{folder.path}' are not as this campaign wrote them, and are made anew: "
                 f"{'; '.join(wrong[:3])}{f', and {len(wrong) - 3} more' if len(wrong) > 3 else ''}; expected nobody else to write "
                 "there")  # fmt: skip
        there = {k for k, fault in faults.items() if not fault}
        todo = [k for k in range(folder.chunks) if k not in there]
        finished = sum(folder.span(k)[1] for k in there)
        tally = Tally(folder, there, wanted)
        found = outcomes(executor, plan, folder, todo if not tally.enough else [])
        try:
            with contextlib.closing(found), progress_bar("campaign", "runs", plan.runs, progress, finished, 1) as advanced:
                for outcome in found:
                    finished += outcome.runs
                    tally.add(outcome)
                    advanced(finished, tally.text if progress else "")
                    if tally.enough:
                        break
        except (CampaignError, StorageError) as error:
            raise type(error)(f"{error}{folder.going_on()}") from None
        folder.place.tidy()
        tally.complain(plan.runs)
        return Runs(folder)

    def _begin(self, folder: Storage, workers: int) -> None:
        """Begin a folder, or make sure that it is this campaign's own."""
        plan = self.plan
        if folder.manifest:
            folder.require(plan.words)
            folder.warn_unsigned()
            if self.chunk not in (None, folder.manifest["chunk"]):
                there = folder.manifest["chunk"]
                raise CampaignError(f"chunk is {self.chunk}, and '{folder.path}' has chunks of {there}; expected none, or that")
            return
        folder.require_free(plan.bytes)
        count = min(LOOK, plan.runs)
        start = plan.scatter.start(0, count)
        rollouts(plan.simulator, start.q0, start.v0, plan.simulator.dt, 1, start.parameters)      # compiled, before time is taken
        begun = time.perf_counter()
        look = first_look(plan, 0, count)
        seconds = (time.perf_counter() - begun) / count
        if self.chunk is None and seconds > SLOW:                              # of which metrics may have compiled a part, once
            begun = time.perf_counter()
            first_look(plan, 0, count)
            seconds = min(seconds, (time.perf_counter() - begun) / count)
        if not look.good and count < plan.runs:
            look = next_good(plan, count)
        require_alone(plan, look)
        folder.begin({
            "runs": plan.runs, "chunk": self.chunk or plan.chunk_of(seconds, MEMORY, workers),
            "metrics": {n: {"shape": list(x.array.shape[1:]), "truth": x.truth} for n, x in look.values.items()},
            "drawn": {n: list(d.shape) for n, d in plan.scatter.draws.items()}, "campaign": plan.words,
        })  # fmt: skip
