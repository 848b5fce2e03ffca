"""Stiff forces with limits of effort in the impulses' problem of a step: each velocity's is what it asks for, cut to what it may be.

Of a stiff force f that asks for a at the end ṽ of a flight, the inertia A that impulses meet has ρ, which is R = h (D + h K) where the
flight has it within its limits, and 0 where it is at one. What it does besides, where impulses lead to v, is::

    j(v) = h [cut(a − (R/h) (v − ṽ)) − cut(a)] + ρ (v − ṽ)                                                (1)

zero where it is within its limits before and after. With the slope of a motor's lines, along which limits fall with the speed, s = h D::

    cut(x) between low and high,   high = clip(up − (s/h) (v − ṽ), 0, top),   low = clip(down − (s/h) (v − ṽ), bottom, 0)       (2)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops

Array = np.ndarray


class ForceLimits(NamedTuple):
    """Limits of one velocity's stiff forces at a flight's end ``flown``: the numbers of (1) and (2), N or N·m, and s, R and ρ in kg or
    kg·m². Without lines ``up`` and ``none_above`` are ``top``, ``down`` and ``none_below`` the ``bottom``."""

    flown: Any
    asked: Any
    bottom: Any
    top: Any
    down: Any
    up: Any
    none_below: Any
    none_above: Any
    line: Any
    resists: Any
    met: Any


def cut(c: ForceLimits, h: Any, change: Any) -> tuple[Any, Any]:
    """Return the force (2) where the velocity is by ``change`` another than at the flight's end, and −∂(h f)/∂v."""
    asked, along = c.asked - (c.resists / h) * change, (c.line / h) * change
    high = ops.clip(c.up - along, c.none_above, c.top)
    low = ops.clip(c.down - along, c.bottom, c.none_below)
    above, below = ops.less(high, asked), ops.less(asked, low)
    falls_above = ops.logical_and(ops.less(c.none_above, c.up - along), ops.less(c.up - along, c.top))
    falls_below = ops.logical_and(ops.less(c.bottom, c.down - along), ops.less(c.down - along, c.none_below))
    on_line = ops.logical_or(ops.logical_and(above, falls_above), ops.logical_and(below, falls_below))
    slope = ops.where(on_line, c.line, ops.where(ops.logical_or(above, below), 0.0, c.resists))
    return ops.where(above, high, ops.where(below, low, asked)), slope


class LimitedForces:
    """The impulses (1) of some velocities' forces in a step of h.

    Parameters
    ----------
    on : which velocities
    numbers : (11, velocities) what :class:`ForceLimits` has of each

    A servo of 100 N·s/m on a carriage of 1 kg that is stopped at 1 m/s asks for 100 N, and has 30:

    >>> numbers = np.array([1.0, 0.0, -30.0, 30.0, -30.0, 30.0, -30.0, 30.0, 0.0, 0.1, 0.1])[:, None]
    >>> law = LimitedForces([0], numbers, 1e-3)
    >>> float(np.round(law.impulse(0, 0.0)[0], 12))                # N·s: 0.03 of its own, less the 0.1 that the inertia has
    -0.07
    """

    def __init__(self, on: list[int], numbers: Array, h: Any) -> None:
        self.rows, self.h = {j: ForceLimits(*c) for j, c in zip(on, numbers.T, strict=True)}, h

    def impulse(self, j: int, v: Any) -> tuple[Any, Any]:
        """Return j and −∂j/∂v of one velocity where it is v."""
        c, h = self.rows[j], self.h
        (f, slope), (begun, _) = cut(c, h, v - c.flown), cut(c, h, 0.0)
        within = ops.logical_and(ops.equal(slope, c.met), ops.equal(begun, c.asked))
        return ops.where(within, 0.0, h * (f - begun) + c.met * (v - c.flown)), slope - c.met
