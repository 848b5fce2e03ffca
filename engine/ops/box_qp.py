"""Least squares within bounds: a convex quadratic programme in a box, by a primal active set.

Reference: Nocedal & Wright, *Numerical Optimization*, §16.5.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray


def box_qp(H: Array, g: Array, low: Array, high: Array) -> Array:
    """Return argmin ½ dᵀ H d + gᵀ d within low ≤ d ≤ high (n), which hold 0, for positive definite H (n×n). Traceable.

    From d = 0, the free entries go towards their minimum until the first meets a bound and is held there; at the minimum the held
    entry that is pulled inwards most is let go.

    >>> box_qp(np.eye(2), np.array([-3.0, 1.0]), np.array([-9.0, -9.0]), np.array([2.0, 9.0]))
    array([ 2., -1.])
    """
    n = len(g)

    def advance(x: Array) -> tuple[Array, Any]:
        d, held = x[:n], ops.less(0.5, x[n:])
        free = ops.where(held, 0.0, 1.0)
        A = H * np.outer(free, free) + np.diag(1.0 - free)
        s = ops.solve(A, -free * (H @ d + g))                                            # to the minimum of the free entries
        wall = ops.where(ops.less(0.0, s), high, low)
        share = ops.where(ops.equal(s, 0.0), np.inf, (wall - d) / ops.where(ops.equal(s, 0.0), 1.0, s))
        first = functools.reduce(ops.minimum, share)
        met = ops.logical_and(ops.less_equal(share, first), first < 1.0)
        d = ops.where(met, wall, d + ops.minimum(first, 1.0) * s)
        pull = -(H @ d + g)
        inwards = ops.where(ops.equal(d, low), pull, -pull)
        inwards = ops.where(ops.logical_and(held, ops.logical_and(ops.less(low, high), first >= 1.0)), inwards, 0.0)
        most = -functools.reduce(ops.minimum, -inwards)
        let_go = ops.logical_and(ops.less(0.0, inwards), ops.less_equal(most, inwards))
        held = ops.logical_and(ops.logical_or(held, met), ops.logical_not(let_go))
        return np.concatenate([d, ops.where(held, 1.0, 0.0)]), ops.logical_and(first >= 1.0, most <= 0.0)

    x, _ = ops.while_loop(advance, np.zeros(2 * n), 10 * n)
    return x[:n]
