"""The correction of a step: the velocity that rubbing and touching leave of a free flight's, and where that leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law, minimum
from engine.dynamics.crba import crba
from engine.model import Model

Array = np.ndarray


def velocity_after(model: Model, law: Law, before: Array, q: Array, free: Array) -> Array:
    """Return v⁺ (nv) after the impulses of a step from the velocity ``before`` (nv), whose flight ends at q (nq) and ``free`` (nv).

    Where none acts it is ``free``, to the bit, at the cost of asking. NaN where Newton's method does not converge.
    """
    acts, _ = law.impulse(free)

    def push(x: Array) -> tuple[Array, Any]:
        where = x[: model.nq]                                   # from the loop's own state, so that nothing is done where nothing acts
        after, found = minimum(crba(model, where), free, law, before)
        return np.concatenate([where, ops.where(found, 1.0, np.nan) * after]), True

    x, _ = ops.while_loop(push, np.concatenate([q, free]), 1, ops.largest(acts) <= 0.0)
    return x[model.nq :]


def corrected(model: Model, h: Any, q: Array, free: Array, after: Array,
              settle: Callable[[Array, Array], tuple[Array, Array]]) -> tuple[Array, Array]:  # fmt: skip
    """Return q (nq) and v (nv) at the end of a step of h whose flight ends at q and ``free`` (nv), and whose impulses leave ``after`` (nv).

    The impulses act evenly over the step, so that q goes on by half of what they change of v, times h; ``settle(q, v)`` puts both onto
    invariants. Where nothing changes, q stays to the bit.
    """

    def go_on(x: Array) -> tuple[Array, Any]:
        where, v = x[: model.nq], x[model.nq :]
        return np.concatenate(settle(model.manifold.plus(where, 0.5 * h * (v - free)), v)), True

    x, _ = ops.while_loop(go_on, np.concatenate([q, after]), 1, ops.largest(after - free) <= 0.0)
    return x[: model.nq], x[model.nq :]
