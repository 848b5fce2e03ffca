"""Adaptive step size: an estimate of a step's error in the tangent space, and the next step it asks for.

A method with an embedded second solution takes the difference of the two as its error. Any other takes a step h and two of h/2, whose
difference is 2^p − 1 times the error of the two; the error is taken off (local extrapolation), on the group. Where impulses act after
a step it is of order p = 2. The error is measured entry by entry in the tangent space at the new state, against weights of 1 for angles,
1 + |p| for positions and 1 + |v| for vectors.

Reference: Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, §II.4; Söderlind, *Digital filters in adaptive
time-stepping*, ACM TOMS 29 (2003), for the PI controller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ops
from engine.checks import EngineError
from engine.integrate.event import Crossing, Event
from engine.integrate.method import Method, settled
from engine.integrate.system import System
from engine.spatial.manifold import MOTION, Manifold

Array = NDArray[np.float64]
#: ``advance(t, h, y)`` -> y⁺, error: a compiled :func:`attempt`
Advance = Callable[[Any, Any, Array], tuple[Array, Any]]
#: the order of a step with impulses
IMPULSIVE = 2
#: the parts of a state y that a user sees, such as (q, v)
Parts = Callable[[Array], tuple[Array, ...]]


def attempt(method: Method, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Any]:
    """Return the state after h, and its estimated error in units of the weights. Traceable.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, attempt
    >>> from engine.spatial.manifold import vector
    >>> x, error = attempt(METHODS["rk4"], System(vector(1), lambda t, x: -x), 0.0, 0.1, np.ones(1))
    >>> x.round(6), bool(error < 1e-6)
    (array([0.904837]), True)
    """
    space = system.space
    if method.embedded is not None and method.complete is None:
        after, error = method.embedded(system, t, h, x)
    else:
        whole, first = stepped(method, system, t, h, x)
        middle, second = stepped(method, system, t, 0.5 * h, x)
        halves, third = stepped(method, system, t + 0.5 * h, 0.5 * h, middle)
        acts = functools.reduce(ops.logical_or, (first, second, third))
        error = space.minus(whole, halves) * ops.where(acts, 1.0 / (2**IMPULSIVE - 1), 1.0 / (2**method.order - 1))
        after = space.plus(halves, error)
    after = settled(method, system, after)
    return after, ops.largest((error / weights(space, after))[: len(error) - system.notes])


def stepped(method: Method, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Any]:
    """Return the state after one step, and whether impulses changed it."""
    if method.complete is None:
        return method.advance(system, t, h, x), False
    flown = settled(method, system, method.advance(system, t, h, x))
    after, _ = method.complete(t, h, x, flown)
    return after, ops.largest(after - flown) > 0.0


def weights(space: Manifold, x: Array) -> Array:
    """Return what an error of each velocity's entry is measured against (nv)."""
    parts: list[Any] = []
    for m, i, j in space.parts:
        if m is MOTION:
            far = 1.0 + ops.norm(x[i][4:])
            parts += [1.0, 1.0, 1.0, far, far, far]
        elif m.flat:
            parts += [1.0 + ops.absolute(y) for y in x[i]]
        else:
            parts += [1.0] * (j.stop - j.start)
    return np.array(parts)


def factor(order: int, error: float, before: float, tolerance: float) -> float:
    """Return the next step over this one, from the errors of this step and of the one before: the error per step is to be the tolerance."""
    now, then = max(error / tolerance, 1e-10), max(before / tolerance, 1e-10)
    return float(np.clip(0.9 * now ** (-0.7 / (order + 1)) * then ** (0.4 / (order + 1)), 0.2, 5.0))


class SolutionError(EngineError):
    """Raised where an adaptive integration cannot go on; ``solution`` holds what was found until then."""

    def __init__(self, message: str, solution: Solution | None = None) -> None:
        super().__init__(message)
        self.solution = solution


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

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
    >>> solution = engine.Simulator(builder.model(), dt=1e-2).solve([0.0], [0.0], 1.0, tolerance=1e-9)
    >>> q, v = solution(0.5)
    >>> print(q.round(6), v.round(6))  # −g t²/2 and −g t
    [-1.22625] [-4.905]
    """

    advance: Advance
    parts: Parts
    t: Array
    y: Array
    events: list[Crossing] = field(default_factory=list)
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


def solve(advance: Advance, order: int, y0: Array, duration: float, tolerance: float, parts: Parts, events: Iterable[Any] = (),
          max_step: float = np.inf) -> Solution:  # fmt: skip
    """Return the motion from (0, y0) by steps whose estimated errors are the tolerance at most; events end it, or are noted."""
    watched = [Event.of(e, stops=False) for e in events]
    for e in watched:
        if callable(e.action):
            raise SolutionError(f"the event function {e.name} has a callback; expected one without (only runs at fixed steps call it)")
    y = np.array(y0, dtype=float)
    solution = Solution(advance, parts, np.zeros(1), y[None])
    times, states = [0.0], [y]
    t, h, before = 0.0, min(1e-3 * duration, max_step), tolerance
    values = [value(e, t, parts(y)) for e in watched]

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
        now = [value(e, end, parts(after)) for e in watched]
        crossed = [i for i, (e, a, b) in enumerate(zip(watched, values, now, strict=True)) if e.crosses(a, b)]
        for s, i in sorted((zero(advance, watched[i], parts, t, y, h), i) for i in crossed):
            at = advance(np.float64(t), np.float64(s), y)[0] if s < h else after
            solution.events.append(Crossing(i, watched[i].name, end if s >= h else t + s, parts(at)))
            if watched[i].action == "stop":
                times.append(t + s)
                states.append(at)
                return kept()
        times.append(end)
        states.append(after)
        h *= factor(order, float(error), before, tolerance)
        t, y, before, values = end, after, float(error), now
    return kept()


def value(event: Event, t: float, state: Sequence[Array]) -> float:
    """Return an event function's value at a state, checked."""
    found = np.asarray(event.function(t, *state), dtype=float)
    if found.shape != () or np.isnan(found):
        what = "NaN" if found.shape == () else f"shape {found.shape}"
        raise SolutionError(f"the event function {event.name} returned {what} at t = {t:.6g} s; expected a number")
    return float(found)


def zero(advance: Advance, event: Event, parts: Parts, t: float, y: Array, h: float) -> float:
    """Return where in the step (0, h] the event function is zero."""
    from scipy.optimize import brentq

    def at(s: float) -> float:
        return value(event, t + s, parts(y if s == 0.0 else advance(np.float64(t), np.float64(s), y)[0]))

    return float(brentq(at, 0.0, h, xtol=1e-14 * max(1.0, abs(t)), rtol=8.9e-16))
