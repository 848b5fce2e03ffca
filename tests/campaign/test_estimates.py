"""Estimates against SciPy's and NumPy's, however the values come in."""

import numpy as np
import pytest
from scipy import stats

from engine.campaign.estimates import Running, wilson


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.003, 0.5, 0.9, 1.0])
def test_wilson_is_scipys(n, share):
    k = round(share * n)
    found = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert np.allclose(wilson(k, n), found, rtol=1e-12, atol=1e-14)


def test_wilson_of_nothing_is_everything():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("pieces", [1, 7, 100])
def test_moments_are_numpys(pieces):
    x = np.random.default_rng(0).normal(1e6, 1.0, 50_000)                     # a large mean: sums of squares would lose the rest
    with_gaps = np.insert(x, [0, 10, 49_999], np.nan)
    running = Running(False)
    for part in np.array_split(with_gaps, pieces):
        running.add(part)
    found = running.estimate()
    assert found.runs == 50_000 and abs(found.mean - x.mean()) < 1e-8 and abs(found.deviation - x.std(ddof=1)) < 1e-8
    assert abs(found.width - 2 * stats.t(49_999).ppf(0.975) * x.std(ddof=1) / np.sqrt(50_000)) < 1e-7
    for p, q in found.quantiles.items():                                       # of a part of the values: within their own spread
        assert abs(stats.norm(1e6, 1.0).cdf(q) - p) < 5 * np.sqrt(p * (1 - p) / len(running.sample))
    assert len(running.sample) <= 1 << 14


def test_the_interval_covers_the_mean_nineteen_times_of_twenty():
    rng, hits = np.random.default_rng(1), 0
    for _ in range(1000):
        running = Running(False)
        running.add(rng.uniform(size=100))
        low, high = running.estimate().interval
        hits += low < 0.5 < high
    assert abs(hits / 1000 - 0.95) < 5 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize("n", [2, 3, 10, 100])
def test_the_interval_of_few_values_is_students(n):
    x = np.random.default_rng(n).normal(size=n)
    running = Running(False)
    running.add(x)
    expected = stats.t(n - 1, x.mean(), stats.sem(x)).interval(0.95)
    assert np.allclose(running.estimate().interval, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[np.inf] * 4, [1.0, 2.0, np.inf, 3.0], [np.inf, 1.0, 2.0, 3.0], [-np.inf, 0.0, 1.0, 2.0]])
def test_infinite_values_have_an_infinite_mean_and_no_deviation(values):
    for pieces in (1, 2, 4):
        running = Running(False)
        for part in np.array_split(np.array(values), pieces):
            running.add(part)
        found = running.estimate()
        assert found.mean == np.sum(values) and np.isnan(found.deviation) and found.runs == 4 and str(found)


def test_what_is_said():
    running = Running(True)
    running.add(np.array([1.0, 1, 1, 0, np.nan]))
    assert str(running.estimate()) == "75 % (30.06 … 95.44) of 4; 1 of 5 failed"
    running = Running(False)
    running.add(np.array([1.0, 2.0, 3.0]))
    assert str(running.estimate()).startswith("2 ± 2.5, 5 % below 1.1") and "failed" not in str(running.estimate())
    assert Running(False).estimate().quantiles == {} and Running(True).estimate().interval == (0.0, 1.0)
