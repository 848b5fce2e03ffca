"""Consistency of a run's filters: the normalised squares of their innovations, of each and of their mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

Array = np.ndarray
#: −log of a chance that nobody meets
UNLIKELY = 25.0
#: a sample counts in the mean as far as chance goes once in e⁴: a few that are off, such as when something lets go, are no mistake
USUAL = 4.0
#: a filter that is off by half of what it says, or less, is said to be: deviations half as large have squares of a quarter
TIMID = 0.25
ADVICE = ("expected the sensors' noise or more in it, sensors on one link in the same axes, a shorter period, a Gyro that is integrating, "
          "a beginning within its deviation, or what it takes for true nearer to what moves")


def beyond(n: Array, x: float) -> Array:
    """Return what χ² of n numbers is beyond with a chance of less than exp(−x).

    Reference: Laurent & Massart, *Adaptive estimation of a quadratic functional by model selection*, Ann. Statist. 28 (2000), lemma 1.

    >>> beyond(np.array([3.0]), 25.0).round(1).tolist()
    [70.3]
    """
    return n + 2.0 * np.sqrt(n * x) + 2.0 * x


def below(n: Array, x: float) -> Array:
    """Return what χ² of n numbers is below with a chance of less than exp(−x); of few it is nothing, which none is below.

    Reference: Laurent & Massart, as :func:`beyond`.

    >>> below(np.array([3.0, 400.0]), 25.0).tolist()
    [0.0, 200.0]
    """
    return np.maximum(n - 2.0 * np.sqrt(n * x), 0.0)


class Known(NamedTuple):
    """Filters that :class:`Innovations` watches: the size of each innovation (n), and the time, s, by which there must have been one."""

    sizes: tuple[int, ...]
    due: float


class Innovations:
    """Innovations of a filter, from record to record: normalised squares (..., T, n), and numbers of updates (..., T), if it gives them."""

    def __init__(self, name: str, known: Known) -> None:
        self.name, self.sizes, self.due = name, np.array(known.sizes, dtype=float), known.due
        self.most = beyond(self.sizes, UNLIKELY)
        self.begun = np.zeros(len(self.sizes))                                 # how many there were before the last block
        self.before: Array | None = None                                       # what the last record says, by which new ones are known
        self.count, self.total, self.clipped = (np.zeros(len(self.sizes)) for _ in range(3))
        self.path: tuple[Array, Array, Array] = (self.count[None],) * 3        # these at each record of the last block
        self.seen, self.wrong = 0, np.zeros(1)                                 # records, and those beyond chance, in each row
        self.none: Array | None = None                                         # rows without an update until the time that is kept
        self.until = 0.0

    def add(self, t: Array, nis: Array, updates: Array | None) -> None:
        """Count those that are new in records."""
        told = nis if updates is None else updates[..., None]
        first = np.zeros_like(told[..., :1, :]) if self.before is None else self.before
        new = np.diff(told, axis=-2, prepend=first)
        new = (new != 0.0 if updates is None else new > 0.0) & np.isfinite(nis)
        x = np.where(new, nis, 0.0)
        self.before, self.begun = told[..., -1:, :], self.count
        until = (self.count, new), (self.total, x), (self.clipped, np.minimum(x, beyond(self.sizes, USUAL)))
        self.path = count, total, clipped = tuple(before[..., None, :] + np.cumsum(y, axis=-2) for before, y in until)
        self.count, self.total, self.clipped = count[..., -1, :], total[..., -1, :], clipped[..., -1, :]
        if updates is not None:
            self.none, self.until = updates[..., -1] == 0.0, float(t[-1])      # of one that is NaN the run tells

    def each(self, nis: Array, few: int, share: float) -> tuple[Array, Array]:
        """Return where innovations (..., T) are beyond chance, and how far the worst is: if a ``few`` are, and a share of all records until
        some time, so that a long run tells what is wrong at first as a short one does."""
        worst = (nis / self.most).max(axis=-1, initial=0.0)
        wrong = worst > 1.0
        many = self.wrong + np.cumsum(wrong, axis=-1)
        told = many >= np.maximum(few, share * (self.seen + 1.0 + np.arange(wrong.shape[-1])))
        self.seen, self.wrong = self.seen + wrong.shape[-1], many[..., -1:]
        return wrong & (np.cumsum(told[..., ::-1], axis=-1)[..., ::-1] > 0), worst     # those until the last such time

    def mean(self) -> Array:
        """Return how far the sums of all until now are beyond chance, (...): more than 1 they are in one of 10¹⁰ runs."""
        return self.far(self.count, self.clipped)

    def far(self, count: Array, clipped: Array) -> Array:
        """Return how far sums (..., n) of so many are beyond chance, (...)."""
        return np.asarray((clipped / beyond(self.sizes * np.maximum(count, 1.0), UNLIKELY)).max(axis=-1, initial=0.0))

    def means(self) -> Array:
        """Return how far the sums are beyond chance at the records (..., T) of the last block: of all until its end, and until there were
        8, 64, 512, … of them, so that a long run tells what a short one does. So few times are no more than chance is allowed."""
        count, _, clipped = self.path
        begun = np.broadcast_to(self.begun[..., None, :], count[..., :1, :].shape)
        stage = np.floor(np.log2(np.maximum(np.concatenate([begun, count], axis=-2), 1.0)) / 3.0)
        looked = (np.diff(stage, axis=-2) > 0.0).any(axis=-1)
        looked[..., -1] = True
        return np.where(looked, self.far(count, clipped), 0.0)

    def timid(self) -> Array:
        """Return how far the sums of all until now are below a quarter of what they should be and below chance, (...): more than 1 they are
        of a filter that says by far too much."""
        n = self.sizes * np.maximum(self.count, 1.0)
        least = np.minimum(below(n, UNLIKELY), TIMID * n)
        return np.asarray((least / np.maximum(self.total, 1e-9)).max(axis=-1, initial=0.0))

    def of_one(self, nis: Array) -> str:
        """Return what is wrong with innovations (n) in words."""
        i = int(np.argmax(nis / self.most))
        return (f"'{self.name}' does not know how far it is off: the normalised square of its innovation is {nis[i]:.3g}, which of "
                f"{self.sizes[i]:g} numbers is beyond {self.most[i]:.3g} once in 10¹⁰ samples; {ADVICE}")  # fmt: skip

    def of_mean(self, k: tuple[int, ...]) -> str:
        """Return what is wrong with the mean at a record of the last block in words."""
        counts, total, clipped = (x[k] for x in self.path)
        n = self.sizes * np.maximum(counts, 1.0)
        i = int(np.argmax(clipped / beyond(n, UNLIKELY)))
        count = counts[i]
        return (f"'{self.name}' does not know how far it is off: the normalised squares of its {count:g} innovations are "
                f"{total[i] / count:.3g} in the mean, which of {self.sizes[i]:g} numbers each is beyond "
                f"{beyond(n, UNLIKELY)[i] / count:.3g} in one of 10¹⁰ runs; {ADVICE}")  # fmt: skip

    def of_timid(self, row: tuple[int, ...]) -> str:
        """Return what is wrong with a row that is timid in words."""
        n = self.sizes * np.maximum(self.count[row], 1.0)
        i = int(np.argmax(np.minimum(below(n, UNLIKELY), TIMID * n) / np.maximum(self.total[row], 1e-9)))
        count = self.count[row][i]
        return (f"'{self.name}' takes itself to be at least twice as far off as it is: the normalised squares of its {count:g} innovations "
                f"are {self.total[row][i] / count:.3g} in the mean, which of {self.sizes[i]:g} numbers each is below "
                f"{below(n, UNLIKELY)[i] / count:.3g} in one of 10¹⁰ runs; expected less noise in it, as its sensors have")  # fmt: skip

    def of_none(self, reads: str = "star tracker") -> str:
        """Return that there was no update in some rows until now, if there should have been; "" else."""
        if self.none is None or not self.none.any() or self.until <= self.due:
            return ""
        row = f" in rollout {[int(i) for i in np.argwhere(self.none)[0]]}" if self.none.ndim else ""
        return (f"'{self.name}' has had no update until t = {self.until:.6g} s{row}: no sample of its {reads} was valid, recent enough for "
                "'latest', and within its gate; expected one that sees, a larger gate, or an estimate nearer to what is true at first "
                f"({int(self.none.sum())} rollouts)")  # fmt: skip


def of_columns(found: Mapping[str, Innovations], t: Array, columns: Mapping[str, Array], lead: tuple[int, ...]) -> dict[str, Array]:
    """Add a block of records (\\*lead, …) to each filter's; return their normalised squares."""
    squares = {}
    for name, own in found.items():
        squares[name] = np.asarray(columns[f"{name}.nis"], dtype=float).reshape(*lead, len(own.sizes))
        updates = columns.get(f"{name}.updates")
        own.add(t, squares[name], None if updates is None else np.asarray(updates, dtype=float).reshape(lead))
    return squares
