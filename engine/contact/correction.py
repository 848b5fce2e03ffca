"""The correction of a step: where a free flight ends, and the impulses that rubbing and touching give over the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law, minimum
from engine.dynamics.crba import crba
from engine.model import Model

Array = np.ndarray


def corrected(model: Model, law: Law, h: Any, before: Array, q: Array, v: Array,
              settle: Callable[[Array, Array], tuple[Array, Array]]) -> tuple[Array, Array]:  # fmt: skip
    """Return q (nq) and v (nv) at the end of a step of h whose flight from the velocity ``before`` (nv) ends at q and v.

    The impulses act evenly over the step, so that q goes on by half of what they change of v, times h. Where none acts, q and v are what
    they were, to the bit; elsewhere ``settle(q, v)`` puts them onto invariants. NaN where Newton's method does not converge.
    """
    acts, _ = law.impulse(v)
    idle = ops.largest(acts) <= 0.0

    def correct(x: Array) -> tuple[Array, Any]:
        where = x[: model.nq]                                   # from the loop's own state, so that nothing is done where nothing acts
        after, found = minimum(crba(model, where), v, law, before)
        good = ops.where(found, 1.0, np.nan)
        return np.concatenate(settle(model.manifold.plus(where, 0.5 * h * (after - v)), good * after)), True

    x, _ = ops.while_loop(correct, np.concatenate([q, v]), 1, idle)
    return x[: model.nq], x[model.nq :]
