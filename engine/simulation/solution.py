"""Adaptive integration: steps that meet a tolerance, states at any time between, and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.compiler.gufunc import Gufunc
from engine.compiler.trace import name_of, trace
from engine.integrate import Method, System
from engine.integrate.adaptive import attempt, factor

Array = np.ndarray


class SolutionError(EngineError):
    """An adaptive integration cannot go on; ``solution`` holds what was found until then."""

    def __init__(self, message: str, solution: Solution | None = None) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass
class Event:
    """A zero of one of the functions that were watched: its number among them, the time, and the state's parts there."""

    function: int
    t: float
    state: tuple[Array, ...]


@dataclass(repr=False)
class Solution:
    """A motion known at every time: ``solution(t)`` takes times (...) and returns the state's parts (..., size) there.

    Between the steps it is a shorter step of the same method from the step before: of the method's own order, and on the manifold.

    Attributes
    ----------
    t : times of the steps (K), s
    y : the states there (K, n), as they are integrated
    events : zeros of the watched functions, in order of time
    rejected : steps that were tried and were too large
    """

    advance: Gufunc
    parts: Callable[[Array], tuple[Array, ...]]
    t: Array
    y: Array
    events: list[Event] = field(default_factory=list)
    rejected: int = 0

    def __call__(self, t: Any) -> Any:
        t = np.asarray(t, dtype=float)
        low, high = sorted((self.t[0], self.t[-1]))
        if t.size and not (np.isfinite(t).all() and low <= t.min() and t.max() <= high):
            outside = t.ravel()[np.argmax(~((t.ravel() >= low) & (t.ravel() <= high)))]
            raise SolutionError(f"the solution is asked for at t = {outside:g} s; expected times from {low:g} to {high:g} s")
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, max(len(self.t) - 2, 0))
        y, _ = self.advance(self.t[k], t - self.t[k], self.y[k])
        y = np.where((t == self.t[k])[..., None], self.y[k], y)  # the steps themselves, to the bit
        last = min(len(self.t) - 1, 1) + k
        y = np.where((t == self.t[last])[..., None], self.y[last], y)
        found = self.parts(y)
        return found[0] if len(found) == 1 else found

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"<solution: {len(self) - 1} steps, {self.t[0]:g} … {self.t[-1]:g} s, {len(self.events)} events, {self.rejected} rejected>"


def compiled_attempt(method: Method, system: System) -> Gufunc:
    """``(t, h, y) -> y⁺, error``."""
    n = system.space.nq
    program = trace(lambda t, h, y: attempt(method, system, t, h, y), [(), (), (n,)])
    program.name = f"step of {method.name}"
    return Gufunc(program, f"(),(),({n})->({n}),()", ["t", "h", "y"])


def solve(advance: Gufunc, order: int, y0: Array, duration: float, tolerance: float, parts: Callable[[Array], tuple[Array, ...]],
          events: Iterable[Callable[..., Any]] = (), max_step: float = np.inf) -> Solution:  # fmt: skip
    """Steps from (0, y0) whose estimated errors are the tolerance at most."""
    watched = list(events)
    y = np.array(y0, dtype=float)
    solution = Solution(advance, parts, np.zeros(1), y[None])
    times, states = [0.0], [y]
    t, h, before = 0.0, min(1e-3 * duration, max_step), tolerance
    values = [sign_value(g, t, parts(y)) for g in watched]

    def kept() -> Solution:
        solution.t, solution.y = np.array(times), np.array(states)
        return solution

    while t < duration:
        h = min(h, max_step)
        if t + h >= duration or t + 1.01 * h >= duration:
            h = duration - t
        with np.errstate(all="ignore"):
            after, error = advance(np.float64(t), np.float64(h), y)
        if not np.isfinite(error) or not np.isfinite(after).all():
            error = np.inf
        if error > tolerance:
            solution.rejected += 1
            h *= min(0.9, factor(order, error, before, tolerance)) if np.isfinite(error) else 0.2
            if t + 0.1 * h <= t or h < 1e-13 * duration:
                why = "is not finite" if np.isinf(error) else f"has an error of {error:.3g}"
                raise SolutionError(f"at t = {t:.6g} s even a step of {h:.3g} s {why}; expected a smoother motion, or a tolerance above "
                                    f"{tolerance:g}", kept())  # fmt: skip
            continue
        end = duration if h == duration - t else t + h
        stop = None
        after_values = [sign_value(g, end, parts(after)) for g in watched]
        crossings = []
        for i, (g, a, b) in enumerate(zip(watched, values, after_values, strict=True)):
            wanted = getattr(g, "direction", 0)
            if (a < 0 <= b and wanted >= 0) or (a > 0 >= b and wanted <= 0):
                crossings.append((zero(advance, g, parts, t, y, h), i))
        for s, i in sorted(crossings):
            at = advance(np.float64(t), np.float64(s), y)[0] if s < h else after
            solution.events.append(Event(i, end if s >= h else t + s, parts(at)))
            if getattr(watched[i], "terminal", False):
                stop = at, t + s
                break
        if stop is not None:
            after, end = stop
        times.append(end)
        states.append(after)
        if stop is not None:
            break
        h *= factor(order, float(error), before, tolerance)
        t, y, before, values = end, after, float(error), after_values
    return kept()


def sign_value(g: Callable[..., Any], t: float, state: Sequence[Array]) -> float:
    """An event function's value, checked."""
    value = np.asarray(g(t, *state), dtype=float)
    if value.shape != () or np.isnan(value):
        what = "NaN" if value.shape == () else f"shape {value.shape}"
        raise SolutionError(f"the event function {name_of(g)} returned {what} at t = {t:.6g} s; expected a number")
    return float(value)


def zero(advance: Gufunc, g: Callable[..., Any], parts: Callable[[Array], tuple[Array, ...]], t: float, y: Array, h: float) -> float:
    """Where in the step (0, h] the event function is zero."""
    from scipy.optimize import brentq

    def value(s: float) -> float:
        return sign_value(g, t + s, parts(y if s == 0.0 else advance(np.float64(t), np.float64(s), y)[0]))

    return float(brentq(value, 0.0, h, xtol=1e-14 * max(1.0, abs(t)), rtol=8.9e-16))
