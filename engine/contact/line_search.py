"""Line search for Newton's method: the length along a line at which a convex cost's slope is zero, by bracketed Newton steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray
#: tries of a length; of the slope at the beginning, what is left of it where a line is long enough; and of its length, what is one point
TRIES, FLAT, NARROW = 60, 0.5, 1e-12
#: a length that no line has
FAR = 1e30


def begun(open_: Any) -> Array:
    """Return a line (5) of which nothing is known, with its first length; ``open_`` is 1 where it is to be searched, else 0."""
    return ops.array([1.0, 0.0, FAR, 0.0, open_])


def tried(s: Array, first: Any, slope: Any, bend: Any) -> Array:
    """Return a line s (5) after its length was tried, where the slope, which was ``first`` at its beginning, and its change are known: the
    next length α, by these or halfway between two ends; the ends; whether it is halfway next; and whether it is still searched.

    Of (α − 3)²/2 the slope is −3 at the beginning; it is that at 1 to go 2 farther, and there it is flat:

    >>> once = tried(begun(1.0), -3.0, -2.0, 1.0)
    >>> float(once[0]), float(tried(once, -3.0, 0.0, 1.0)[4])
    (3.0, 0.0)
    """
    a, low, high, halve, open_ = s
    done = ops.logical_or(abs(slope) <= FLAT * abs(first), high - low <= NARROW)
    low, high = ops.where(slope < 0.0, a, low), ops.where(slope < 0.0, high, a)
    newton = a - slope / ops.maximum(bend, 1e-300)
    usable = ops.logical_and(halve < 0.5, ops.logical_and(low < newton, newton < high))
    bounded = high < 0.5 * FAR
    to = ops.where(usable, newton, ops.where(bounded, 0.5 * (low + high), 2.0 * a))
    stays = ops.logical_or(done, open_ < 0.5)
    new = ops.array([to, low, high, ops.where(bounded, 1.0 - halve, 0.0), 1.0])
    return ops.where(stays, ops.array([a, s[1], s[2], halve, 0.0]), new)
