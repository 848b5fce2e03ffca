"""The runs that a campaign has put somewhere, read where they are wanted: as an xarray Dataset, as arrays, in estimates and in a plot."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.campaign.design import CampaignError
from engine.campaign.estimates import Estimate, Running
from engine.campaign.keep import numbers_within
from engine.campaign.lazily import dataset
from engine.campaign.plan import Plan
from engine.campaign.plot import figure
from engine.campaign.storage import Storage, inside
from engine.campaign.target import storage_of
from engine.checks import beside, nearest, path_of, shown, warn, writing
from engine.logs import matched, matlab_names, write_mat, write_parquet
from engine.recording import StorageError
from engine.simulation import Trajectory
from engine.simulation.columns import entries

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

Array = np.ndarray
#: variables of a .mat that are no columns
OWN = ("run", "model", "reason", "kept", "kept_names", "column_names")


class Column:
    """An array (run, …) that lies in pieces, chunk by chunk, and is read from those that are asked for.

    Attributes
    ----------
    name : in a chunk
    numbers : of the runs, increasing
    """

    def __init__(self, runs: Runs, name: str, numbers: Array, shape: tuple[int, ...], dtype: Any = float) -> None:
        self.runs, self.name, self.numbers = runs, name, numbers
        self.shape, self.dtype = (len(numbers), *shape), np.dtype(dtype)

    def read(self, rows: Array, rest: tuple[Any, ...] = ()) -> Array:
        """Return some rows, by their places among ``numbers``, and of each the part ``rest``."""
        wanted, size, part = self.numbers[rows], self.runs.folder.manifest["chunk"], (slice(None), *rest)
        chunks = np.unique(wanted // size).tolist()
        parts = self.runs.folder.place.each(lambda k: self._of(k, wanted[wanted // size == k], part), chunks)
        if not parts:
            return np.zeros((0, *self.shape[1:]), self.dtype)[part]
        order = np.argsort(wanted // size, kind="stable")
        found = np.concatenate(parts)
        back = np.empty(len(order), dtype=int)
        back[order] = np.arange(len(order))
        return found[back]

    def _of(self, k: int, numbers: Array, part: tuple[Any, ...]) -> Array:
        """Return a chunk's part: rows of these runs, in their order."""
        first, count = self.runs.folder.span(k)
        held = np.arange(first, first + count)
        if self.name.startswith("kept/"):
            held = held[np.isin(held, self.numbers)]
        at = np.searchsorted(held, numbers)
        if self.name in ("failed", "reason"):
            why = {int(i): text for i, text in self.runs.folder.messages(k)["why"].items()}
            texts = [why.get(int(i), "") for i in numbers]
            return np.array([text != "" for text in texts]) if self.name == "failed" else np.array(texts, dtype=object)
        low, high = (int(at.min()), int(at.max()) + 1) if len(at) else (0, 0)
        data = self.runs.folder.read(k, self.name, slice(low, high))
        return data[at - low][part]


class Runs:
    """The runs of a campaign that are there: all, or as many as there were when it was interrupted.

    ``runs("miss")`` is an array of what is scattered, of a metric, or of what was kept; ``runs.dataset`` all of it, read when it is used.

    Attributes
    ----------
    numbers : of the runs that are there
    t : times (T) of what was kept, s

    >>> import engine, scipy.stats, tempfile
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> campaign = engine.Campaign(engine.Simulator(arm), arm.neutral(), [0.0] * 7, duration=0.01, runs=4, seed=7,
    ...                            scatter={"v0.shoulder_yaw": scipy.stats.norm(0.5, 0.1)},
    ...                            metrics={"speed": lambda run: abs(run.v[-1, 0])})
    >>> folder = tempfile.mkdtemp()
    >>> _ = campaign.run(folder)
    >>> runs = engine.load_campaign(folder)
    >>> len(runs), runs.numbers, runs("speed").shape
    (4, array([0, 1, 2, 3]), (4,))
    """

    def __init__(self, folder: Storage) -> None:
        self.folder, m = folder, folder.manifest
        there = folder.there()
        spans = [np.arange(first, first + count) for first, count in map(folder.span, there)]
        self.numbers: Array = np.concatenate([np.zeros(0, dtype=int), *spans])
        said = m["campaign"]
        kept = [numbers_within(folder.kept, first, count) for first, count in map(folder.span, there)]
        numbers, self.t = np.concatenate([np.zeros(0, dtype=int), *kept]), folder.t
        self.columns: dict[str, Column] = {
            **{n: Column(self, f"drawn/{inside(n)}", self.numbers, tuple(s)) for n, s in m["drawn"].items()},
            **{n: Column(self, f"metrics/{n}", self.numbers, tuple(x["shape"])) for n, x in m["metrics"].items()},
            "failed": Column(self, "failed", self.numbers, (), bool), "reason": Column(self, "reason", self.numbers, (), object),
        }  # fmt: skip
        self.kept = {n: Column(self, f"kept/{inside(n)}", numbers, (len(self.t), *s)) for n, s in said["keep"]["columns"].items()}

    def __repr__(self) -> str:
        m = self.folder.manifest
        try:
            failed = f"; {self._failures} of {len(self)} failed" if self._failures else ""
        except StorageError as error:                                          # whoever shows it wants to see what there is
            failed = f"; {error}"
        return (f"<{len(self)} of {m['runs']} runs of '{m['campaign']['model_name']}' in '{self.folder.path}': "
                f"{', '.join(m['metrics'])}{failed}>")  # fmt: skip

    def __len__(self) -> int:
        return len(self.numbers)

    def __call__(self, name: str) -> Array:
        """Return an array (run, …) by its name; what was kept, of the runs of which it was."""
        known = {**self.kept, **self.columns}
        if name not in known:
            raise CampaignError(f"there is no '{name}'{nearest(name, known)}; expected one of {', '.join(known)}")
        return known[name].read(np.arange(len(known[name].numbers)))

    @functools.cached_property
    def _failures(self) -> int:
        """Number of runs that failed."""
        return sum(len(self.folder.messages(k)["why"]) for k in np.unique(self.numbers // self.folder.manifest["chunk"]).tolist())

    @property
    def complete(self) -> bool:
        """True if no run is missing."""
        return len(self) == self.folder.manifest["runs"]

    @property
    def failed(self) -> Array:
        """True for each run that failed (run)."""
        return self("failed")

    @property
    def reason(self) -> Array:
        """Why runs failed, in words (run), "" where they did not."""
        return self("reason")

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings noted of runs that did not fail, each once, with the first run of its chunk that it was noted of."""
        size, said = self.folder.manifest["chunk"], dict[str, None]()
        for k in np.unique(self.numbers // size).tolist():
            said |= dict.fromkeys(self.folder.messages(k)["notes"])
        return tuple(said)

    @functools.cached_property
    def dataset(self) -> xr.Dataset:
        """Everything as one xarray Dataset with dimensions run and t (run_kept and t where only some runs were kept), read when used."""
        m = self.folder.manifest
        said = {"model": m["campaign"]["model_name"], "seed": m["campaign"]["seed"], "design": m["campaign"]["design"]}
        return dataset(self.columns, self.kept, self.numbers, self.t, said)

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write a row for each run, what is scattered, its metrics, and whether and why it failed, as ".parquet" or MATLAB's ".mat";
        return the path. What was kept over time is a structure "kept" of ".mat", with its runs and times, and not in ".parquet".

        Raises
        ------
        CampaignError : another ending; StorageError : the path exists or cannot be written, a package is missing
        """
        path = path_of(path, CampaignError)
        if path.suffix.lower() not in (".mat", ".parquet"):
            raise CampaignError(f"'{path}' ends in '{path.suffix}'; expected .parquet or .mat, of a table of runs")
        if path.exists() and not overwrite:
            raise StorageError(f"'{path}' exists; expected a new path, or overwrite=True")
        found = {n: self(n) for n in self.columns if n != "reason"}
        if self.kept and path.suffix.lower() == ".parquet":
            warn(f"'{path.name}' has a row for each run, and not what was kept over time ({', '.join(self.kept)}); that is in a .mat, and "
                 "in runs.dataset")  # fmt: skip
        waiting, name = beside(path), self.folder.manifest["campaign"]["model_name"]
        try:
            with writing(waiting, StorageError):
                if path.suffix.lower() == ".mat":
                    own = {n: x for n, x in matlab_names([*OWN, *found]).items() if n in found}
                    arrays = {x: found[n] for n, x in own.items()}
                    write_mat(waiting, {"run": self.numbers, **arrays}, {"kept": self._kept()},
                              {"model": name, "reason": self.reason, **matched({"column": own})})
                else:
                    each = {own: y for n, x in found.items() for own, y in entries(n, x, 1).items()}
                    write_parquet(waiting, {"run": self.numbers, **each, "reason": self.reason}, {"model": name})
            with writing(path, StorageError, begun=False):
                waiting.replace(path)
        except StorageError as error:
            raise StorageError(str(error).replace(str(waiting), str(path))) from error
        finally:
            waiting.unlink(missing_ok=True)
        return path

    def _kept(self) -> dict[str, Array]:
        """Return what was kept over time (run, T, …), with its runs and times."""
        return {} if not self.kept else {"run": next(iter(self.kept.values())).numbers, "t": self.t, **{n: self(n) for n in self.kept}}

    def estimates(self) -> dict[str, Estimate]:
        """Return mean, deviation, 95 % interval and quantiles of every metric that is one number; of truth values share and Wilson's."""
        found = {}
        for name, m in self.folder.manifest["metrics"].items():
            if not m["shape"]:
                running = Running(m["truth"])
                running.add(self(name))
                found[name] = running.estimate()
        return found

    def rerun(self, i: int, campaign: Any, record_every: int = 1) -> Trajectory:
        """Return the whole trajectory of a run, by the campaign that these are of; CampaignError where it is another."""
        plan = getattr(campaign, "plan", None)
        if not isinstance(plan, Plan):
            raise CampaignError(f"rerun got {shown(campaign)} as the campaign; expected the engine.Campaign that these runs are of")
        self.folder.require(plan.words)
        return plan.rerun(i, record_every)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Return a matplotlib figure of the metrics over what is scattered; with ``path`` it is written too."""
        drawn = {n: self(n) for n, s in self.folder.manifest["drawn"].items()}
        metrics = {n: self(n) for n, m in self.folder.manifest["metrics"].items() if not m["shape"]}
        return figure(drawn, metrics, {n: str(x) for n, x in self.estimates().items()}, self.failed, path)


def load_campaign(path: str | Path) -> Runs:
    """Return the runs that :meth:`engine.Campaign.run` wrote to a folder or a URL, also while it writes, or after it was killed.

    Raises
    ------
    StorageError : it is no campaign's, or a part of it is damaged, or another campaign's, or it cannot be reached

    >>> import engine, scipy.stats, tempfile
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> campaign = engine.Campaign(engine.Simulator(arm), arm.neutral(), [0.0] * 7, duration=0.01, runs=4, seed=7,
    ...                            scatter={"v0.shoulder_yaw": scipy.stats.norm(0.5, 0.1)},
    ...                            metrics={"speed": lambda run: abs(run.v[-1, 0])})
    >>> folder = tempfile.mkdtemp()
    >>> _ = campaign.run(folder)
    >>> len(engine.load_campaign(folder)), len(campaign.run(folder))             # the second time nothing is missing
    (4, 4)
    """
    try:
        folder = storage_of(path)
        if not folder.manifest:
            raise StorageError(f"'{folder.path}' is no {folder.kind} of a campaign (it has no {folder.sign}); expected one that "
                               "Campaign.run wrote")  # fmt: skip
        folder.warn_unsigned()
        return Runs(folder)
    except MemoryError:
        raise StorageError(f"'{path}' says that it has more runs, or longer ones, than fit into memory; expected those of a campaign that "
                           "was run") from None  # fmt: skip
