"""Columns of numbers with names: what of a trajectory goes into tables and texts, such as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from engine.checks import listed, nearest, shown
from engine.model import StateError

Array = NDArray[np.float64]


class Signals(dict[str, Array]):
    """Signals by their names; StateError for a name that none has.

    >>> Signals({"wheels.speed": np.zeros(3)})["wheel.speed"]
    Traceback (most recent call last):
    ...
    engine.model.errors.StateError: no signal 'wheel.speed' (did you mean 'wheels.speed'?); expected one of wheels.speed
    """

    def __missing__(self, name: str) -> Array:
        raise self.lacks(name)

    def lacks(self, name: str, columns: Iterable[str] = ()) -> StateError:
        """Return the error of a name that no signal has, and none of the columns."""
        expected = f"{listed('one of', self, 'none, as nothing makes any')}{', or of columns()' if columns else ''}"
        return StateError(f"no signal {shown(name)}{nearest(str(name), self) or nearest(str(name), columns)}; expected {expected}")


def not_finite(x: Array, reason: Array | str | None) -> NDArray[np.bool_]:
    """Return which rollouts (...) of states (..., T, n) stopped being finite."""
    found: Any = ~np.isfinite(x[..., -1:, :]).all(axis=(-2, -1)) | (x.ndim == 2 and bool(reason))
    return found


def entries(name: str, x: Array, lead: int) -> dict[str, Array]:
    """Return the entries of an array by names of their own, such as "wheels.torque[0]"; ``lead`` dimensions come before them."""
    flat = x.reshape(*x.shape[:lead], math.prod(x.shape[lead:]))
    labels = [name + (f"[{','.join(map(str, i))}]" if i else "") for i in np.ndindex(*x.shape[lead:])]
    return {label: flat[..., k] for k, label in enumerate(labels)}


def spells(t: Array, x: Array, names: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return how long the numbers (T) of something stayed what they were at times (T): (name, from, to), s, one after another.

    >>> spells(np.arange(4.0), np.array([0.0, 0.0, 1.0, 0.0]), ["go", "rest"])
    [('go', 0.0, 2.0), ('rest', 2.0, 3.0), ('go', 3.0, 3.0)]
    """
    begins = [0, *(np.flatnonzero(np.diff(x)) + 1)] if len(t) else []
    ends = [*begins[1:], len(t) - 1]
    return [(names[round(float(x[a]))], float(t[a]), float(t[b])) for a, b in zip(begins, ends, strict=False)]


def write_columns(file: TextIO, columns: Mapping[str, Array], names: bool = True) -> None:
    """Write columns (T) of numbers as comma-separated values, to their last bit; with ``names`` a line of these first."""
    writer = csv.writer(file)
    if names:
        writer.writerow(columns)
    writer.writerows([repr(float(x)) for x in row] for row in np.column_stack([*columns.values()]))


def describe_run(name: str, t: Array, x: Array, joints: Sequence[str] = (), saturated: Array | None = None) -> str:
    """Return a line about a trajectory of states x (..., T, n) at times t (T), and of records (..., T, nv) at joints' limits of effort.

    >>> describe_run("'arm'", np.array([0.0, 0.1, 0.2]), np.zeros((3, 2)), ["shoulder", "elbow"], np.array([[0, 0], [0, 1], [0, 1]]))
    "<trajectory of 'arm': 3 states, 0 … 0.2 s; at the effort limit: elbow (from 0.1 s, 67 % of records)>"
    """
    span = f"{t[0]:g} … {t[-1]:g} s" if len(t) else "no time"
    batch = f", {x.shape[:-2]} rollouts" if x.ndim > 2 else ""
    limited = []
    if saturated is not None and saturated.any():
        rows = saturated.reshape(-1, *saturated.shape[-2:]) > 0.0                # rollouts, records, entries of v
        for j in np.flatnonzero(rows.any(axis=(0, 1))).tolist():
            first = t[rows[..., j].any(axis=0).argmax()]
            limited.append(f"{joints[j]} (from {first:.3g} s, {100.0 * rows[..., j].mean():.0f} % of records)")
    more = f" and {len(limited) - 3} more" if len(limited) > 3 else ""
    said = f"; at the effort limit: {', '.join(limited[:3])}{more}" if limited else ""
    return f"<trajectory of {name}: {len(t)} states, {span}{batch}{said}>"
