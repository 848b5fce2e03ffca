"""Estimates of a metric from the runs so far: mean, spread, quantiles, and intervals that hold the truth nineteen times of twenty."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Array = np.ndarray
#: quantile of the standard normal distribution at 0.975
Z = 1.959963984540054
#: shares of the values that are below the quantiles
SHARES = (0.05, 0.5, 0.95)
#: values that quantiles are taken of
SAMPLE = 1 << 14


class Estimate(NamedTuple):
    """Estimate of a metric from the ``runs`` that have a value; ``failed`` have none, and count neither as true nor as false.

    Of a truth value the mean is the share, and the interval Wilson's; else it is mean ± t σ/√n, by Student's t of n − 1.
    The intervals are those of independent draws: of other designs they are mostly too wide.

    >>> from engine.campaign import Estimate
    >>> Estimate(runs=4, mean=0.5, deviation=0.2, interval=(0.3, 0.7), quantiles={}, truth=False)
    Estimate(runs=4, mean=0.5, deviation=0.2, interval=(0.3, 0.7), quantiles={}, truth=False, failed=0)
    """

    runs: int
    mean: float
    deviation: float
    interval: tuple[float, float]
    quantiles: dict[float, float]
    truth: bool
    failed: int = 0

    @property
    def width(self) -> float:
        """The interval's width."""
        return self.interval[1] - self.interval[0]

    def __str__(self) -> str:
        low, high = self.interval
        left_out = f" of {self.runs}; {self.failed} of {self.runs + self.failed} failed" if self.failed else ""
        if self.truth:
            return f"{100 * self.mean:.4g} % ({100 * low:.4g} … {100 * high:.4g}){left_out}"
        below = "".join(f", {100 * p:g} % below {x:.4g}" for p, x in self.quantiles.items())
        return f"{self.mean:.4g} ± {0.5 * self.width:.2g}{below}{left_out}"


def wilson(successes: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (E. B. Wilson, *Probable inference*, J. Am. Stat. Assoc. 22, 1927, 209–212).

    >>> [round(x, 4) for x in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    if not count:
        return 0.0, 1.0
    p, z2 = successes / count, Z * Z
    middle = (p + z2 / (2 * count)) / (1 + z2 / count)
    half = Z / (1 + z2 / count) * math.sqrt(p * (1 - p) / count + z2 / (4 * count * count))
    return (0.0 if successes == 0 else middle - half), (1.0 if successes == count else middle + half)


class Running:
    """A metric's moments, and every 2ᵏ-th of its values for quantiles, in memory that does not grow.

    Moments are joined as T. F. Chan, G. H. Golub & R. J. LeVeque, *Updating formulae and a pairwise algorithm*, 1979.
    """

    def __init__(self, truth: bool) -> None:
        self.truth, self.count, self.mean, self.squares = truth, 0, 0.0, 0.0
        self.sample, self.stride, self.seen, self.failed = np.zeros(0), 1, 0, 0

    def add(self, values: Array) -> None:
        """Take in the values of further runs; NaN is none."""
        x = values[~np.isnan(values)]
        self.failed += len(values) - len(x)
        if not len(x):
            return
        with np.errstate(invalid="ignore"):                                    # of infinite values the deviation is NaN
            n, m, d = len(x), float(np.mean(x)), float(np.mean(x)) - self.mean
            self.count += n
            self.mean += d * n / self.count if math.isfinite(d) else m
            self.squares += float(np.sum((x - m) ** 2)) + d * d * n * (self.count - n) / self.count
        self.sample = np.concatenate([self.sample, x[(-self.seen) % self.stride :: self.stride]])
        self.seen += n
        while len(self.sample) > SAMPLE:
            self.sample, self.stride = self.sample[::2], 2 * self.stride

    def estimate(self) -> Estimate:
        """Return what is known so far."""
        from scipy.special import stdtrit

        n = self.count
        deviation = math.sqrt(self.squares / (n - 1)) if n > 1 else math.nan
        if self.truth:
            return Estimate(n, self.mean if n else math.nan, deviation, wilson(round(self.mean * n), n), {}, True, self.failed)
        half = float(stdtrit(n - 1, 0.975)) * deviation / math.sqrt(n) if n > 1 else math.inf
        with np.errstate(invalid="ignore"):                                    # between infinite values
            found = np.quantile(self.sample, SHARES) if n else ()
        quantiles = dict(zip(SHARES, map(float, found), strict=False))
        return Estimate(n, self.mean if n else math.nan, deviation, (self.mean - half, self.mean + half), quantiles, False, self.failed)
