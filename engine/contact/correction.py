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


def velocity_after(model: Model, law: Law, before: Array, q: Array, free: Array,
                   inertia: Callable[[Array], Array] | None = None) -> Array:  # fmt: skip
    """Return v⁺ (nv) after the impulses of a step from the velocity ``before`` (nv), whose flight ends at q (nq) and ``free`` (nv).

    Where none acts it is ``free``, to the bit, at the cost of asking. NaN where Newton's method does not converge.
    ``inertia(q)`` is the model's by default.
    """
    acts, _ = law.impulse(free)

    def push() -> Array:
        after, found = minimum(crba(model, q) if inertia is None else inertia(q), free, law, before)
        return ops.where(found, 1.0, np.nan) * after

    return ops.when(ops.largest(acts) > 0.0, push, free)


def corrected(model: Model, h: Any, q: Array, free: Array, after: Array,
              settle: Callable[[Array, Array], tuple[Array, Array]]) -> tuple[Array, Array]:  # fmt: skip
    """Return q (nq) and v (nv) at the end of a step of h whose flight ends at q and ``free`` (nv), and whose impulses leave ``after`` (nv).

    The impulses act evenly over the step, so that q goes on by half of what they change of v, times h; ``settle(q, v)`` puts both onto
    invariants. Where nothing changes, q stays to the bit.
    """

    def go_on() -> Array:
        return np.concatenate(settle(model.manifold.plus(q, 0.5 * h * (after - free)), after))

    x = ops.when(ops.largest(after - free) > 0.0, go_on, np.concatenate([q, after]))
    return x[: model.nq], x[model.nq :]
