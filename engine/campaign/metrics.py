"""Metrics: what is kept of every run, numbers or truth values, by functions of its trajectory or by the name of a signal."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.campaign.design import CampaignError
from engine.checks import nearest, shown
from engine.simulation import Trajectory
from engine.simulation.surroundings import fingerprint

Array = np.ndarray


def mean(t: Array, x: Array) -> Array:
    """Return the mean over time, by trapezoids: steps may differ."""
    return integral(t, x) / (t[-1] - t[0]) if len(t) > 1 else x[..., 0]


def integral(t: Array, x: Array) -> Array:
    """Return ∫ x dt, by trapezoids."""
    return np.sum(np.ascontiguousarray(0.5 * (x[..., 1:] + x[..., :-1]) * np.diff(t)), axis=-1)


#: reductions of x (..., T) at times t (T), by name
REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "first": lambda t, x: x[..., 0], "final": lambda t, x: x[..., -1], "min": lambda t, x: np.min(x, axis=-1),
    "max": lambda t, x: np.max(x, axis=-1), "mean": mean, "rms": lambda t, x: np.sqrt(mean(t, x * x)), "integral": integral,
}  # fmt: skip
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EXAMPLES = "a function of a trajectory, or such as 'max |tau.elbow|', 'final q.elbow' or 'max |v.elbow| < 2'"
PATTERN = re.compile(r"(\w+) +(\|?)([^|<>]+?)(\|?)(?: *([<>]=?) *(\S+))?")


class Values(NamedTuple):
    """A metric's values (n, *shape) of the rows of a trajectory, NaN where there is none, and why, by row."""

    array: Array
    why: dict[int, str]
    truth: bool


class Reduction:
    """A signal's reduction over time, as it is written: "max |tau.elbow|", and compared with a number a truth value.

    Until the run stopped, where an event stopped it. Trapezoids sum up what the records show.
    """

    def __init__(self, what: str, text: str, columns: Mapping[str, Any]) -> None:
        found = PATTERN.fullmatch(text.strip())
        if found is None or found[1] not in REDUCTIONS or bool(found[2]) != bool(found[4]):
            word = text.split(" ")[0]
            raise CampaignError(f"{what} is '{text}'{nearest(word, REDUCTIONS) if word not in REDUCTIONS else ''}; expected one of "
                                f"{', '.join(REDUCTIONS)}, and a signal: {EXAMPLES}")  # fmt: skip
        self.name, self.reduce, self.absolute, self.bound = found[3].strip(), REDUCTIONS[found[1]], bool(found[2]), None
        if self.name != "t" and self.name not in columns:
            raise CampaignError(f"{what} is '{text}', and there is no signal '{self.name}'{nearest(self.name, columns)}; expected one of "
                                f"t, {', '.join(columns)}")  # fmt: skip
        if found[5]:
            try:
                self.compare, self.bound = COMPARED[found[5]], float(found[6])
            except ValueError:
                raise CampaignError(f"{what} is '{text}', and '{found[6]}' is no number; expected {EXAMPLES}") from None

    def __call__(self, trajectory: Trajectory) -> Array:
        t = trajectory.t
        x = column(trajectory, self.name)
        value = self.reduce(t, np.ascontiguousarray(np.abs(x) if self.absolute else x))
        return value if self.bound is None else self.compare(value, self.bound)


def fixed(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory whose arrays cannot be written to: other metrics, and what is kept, have the same."""
    def held(x: Array) -> Array:
        x = x.view()
        x.flags.writeable = False
        return x

    parameters = {n: held(np.asarray(x)) for n, x in trajectory.parameters.items()}
    return trajectory.mapped(lambda _, x, lead: held(x), held(trajectory.t), parameters=parameters)


def column(trajectory: Trajectory, name: str) -> Array:
    """Return one of a trajectory's columns (..., T), or the times: without making all the others."""
    if name == "t":
        return np.broadcast_to(trajectory.t, trajectory.q.shape[:-1])
    kind, _, label = name.partition(".")
    if kind in ("q", "v", "tau", "vdot"):
        return getattr(trajectory, kind)[..., trajectory.model.labels(kind).index(label)]
    signal, _, places = name.removesuffix("]").partition("[")
    if signal not in trajectory.signals:
        return trajectory.columns()[name]                                      # a parameter
    at: Any = (..., *map(int, filter(None, places.split(","))))
    return trajectory.signals[signal][at]


class Metric:
    """A metric by its name: a function of one run's trajectory, or with an attribute ``batched = True`` of all those of a batch."""

    def __init__(self, name: str, given: Any, columns: Mapping[str, Any]) -> None:
        what = f"metrics['{name}']"
        if not isinstance(name, str) or not name or "/" in name:
            raise CampaignError(f"a metric is named {shown(name)}; expected a text without '/'")
        if not callable(given) and not isinstance(given, str):
            raise CampaignError(f"{what} is {shown(given)}; expected {EXAMPLES}")
        self.name, self.given = name, given
        self.function: Any = Reduction(what, given, columns) if isinstance(given, str) else given
        self.batched = isinstance(given, str) or bool(getattr(given, "batched", False))

    @property
    def words(self) -> Any:
        """Description for the manifest: the metric's text, or a function's fingerprint."""
        return self.given if isinstance(self.given, str) else f"function {fingerprint(self.given)[:16]}"

    def values(self, trajectory: Trajectory, good: Array, shape: tuple[int, ...] | None = None) -> Values:
        """Return the values of those rows of a batch that did not fail; ``shape`` is the one that they must have, if it is known."""
        rows = np.flatnonzero(good)
        if not len(rows):
            return Values(np.full((len(good), *(shape or ())), np.nan), {}, False)
        if self.batched and (trajectory.stopped is None or not isinstance(self.function, Reduction)):
            of_good = trajectory if good.all() else trajectory.rollout(rows)
            whole = self._called(of_good, len(rows))
            if isinstance(whole, str):                                         # of one of them: each as a batch of one
                each = ((k, self._called(of_good.rollout([i]), 1)) for i, k in enumerate(rows.tolist()))
                found = {k: x if isinstance(x, str) else x[0] for k, x in each}
            elif whole.dtype.kind in "biuf" and shape in (None, whole.shape[1:]):
                return self._placed(len(good), rows, whole)
            else:
                found = dict(zip(rows.tolist(), whole, strict=True))
        else:
            found = {k: self._called(trajectory.rollout(k)) for k in rows.tolist()}
        return self._checked(len(good), found, shape)

    def _placed(self, n: int, rows: Array, whole: Array) -> Values:
        """Return the values (n, *shape) of numbers (rows, *shape)."""
        values = np.full((n, *whole.shape[1:]), np.nan)
        values[rows] = whole
        bad = rows[np.isnan(values[rows]).reshape(len(rows), -1).any(axis=1)]
        return Values(values, {int(k): f"metric '{self.name}' is NaN" for k in bad}, whole.dtype == bool)

    def _called(self, trajectory: Trajectory, rows: int | None = None) -> Array | str:
        """Return what the function makes of a trajectory, or of a batch of so many rows, or how it failed."""
        try:
            found = np.asarray(self.function(fixed(trajectory)))
        except Exception as error:                                             # the user's own function: whatever it raises is the run's
            return f"metric '{self.name}' raised {type(error).__name__}: {' '.join(str(error).split())}"
        if rows is not None and found.shape[:1] != (rows,):
            return f"metric '{self.name}' has shape {found.shape} of {rows} runs; expected ({rows}, …), as it is batched"
        return found

    def _checked(self, n: int, found: dict[int, Array | str], shape: tuple[int, ...] | None) -> Values:
        """Return the values (n, *shape) that are numbers of one shape, and why others are not."""
        arrays = {k: np.asarray(x) for k, x in found.items() if not isinstance(x, str)}
        why = {k: x for k, x in found.items() if isinstance(x, str)}
        shape = next((x.shape for x in arrays.values()), ()) if shape is None else shape
        values = np.full((n, *shape), np.nan)
        for k, x in arrays.items():
            if x.dtype.kind not in "biuf" or x.shape != shape:
                held = f"of shape {x.shape}" if x.dtype.kind in "biuf" else shown(x.tolist())
                why[k] = f"metric '{self.name}' is {held}; expected a number or a truth value, or arrays of one shape, here {shape}"
                continue
            values[k] = x
            if np.isnan(values[k]).any():
                why[k] = f"metric '{self.name}' is NaN"
        return Values(values, why, bool(arrays) and all(x.dtype == bool for x in arrays.values()))
