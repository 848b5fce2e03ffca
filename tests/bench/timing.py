"""Timing two functions in turn: their speeds drift together, so the ratio of the medians holds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(f: Callable[[], object], calls: int) -> float:
    begun = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - begun) / calls


def calls_for(f: Callable[[], object], target: float = 0.01) -> int:
    """How many calls take about ``target`` seconds."""
    calls = 1
    while (taken := seconds(f, calls) * calls) < target / 4:
        calls *= 4
    return max(1, round(calls * target / taken))


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 21) -> tuple[float, float]:
    """Median seconds per call of each, from alternating runs of about 10 ms."""
    n, m = calls_for(ours), calls_for(theirs)
    pairs = [(seconds(ours, n), seconds(theirs, m)) for _ in range(rounds)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def median(f: Callable[[], object], rounds: int = 11) -> float:
    n = calls_for(f)
    return statistics.median(seconds(f, n) for _ in range(rounds))
