"""The correction of a step: the velocity that rubbing and touching leave of a free flight's, and where that leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law, minimum
from engine.model import Model

Array = np.ndarray


#: passes, after which friction goes with the normal impulses of the pass before
PASSES = 10


def velocity_after(M: Array, law: Law, before: Array, free: Array) -> Array:
    """Return v⁺ (nv) after the impulses of a step from the velocity ``before`` (nv), whose flight ends at ``free`` (nv), with the inertia M
    there.

    Friction is found with the normal impulses of ``before``, and with those that this leads to, until they agree. NaN where Newton's method
    does not converge. Derivatives are those of what both agree on.
    """
    n = len(before)

    def unbalanced(v: Array) -> Array:
        """M (v − ṽ) − γ(v), with friction by what is normal at v."""
        law.know(known)
        law.know(law.lagged(v)[0])
        return M @ (v - free) - law.impulse(v)[0]

    if not len(law.known):
        known = law.known
        after, found = minimum(M, free, law, before)
        return ops.where(found, 1.0, np.nan) * ops.implicit(unbalanced, after)

    def again(z: Array) -> tuple[Array, Any]:
        law.know(z[n:-1])
        after, found = minimum(M, free, law, z[:n])
        known, agrees = law.lagged(after)
        failed = ops.logical_not(found)
        return np.concatenate([after, known, [ops.where(failed, 1.0, 0.0)]]), ops.logical_or(agrees, failed)

    z, _ = ops.while_loop(again, np.concatenate([before, law.known, [0.0]]), PASSES)
    known = z[n:-1]
    after = ops.implicit(unbalanced, z[:n])
    law.know(known)
    law.know(ops.implicit(lambda friction: friction - law.lagged(after)[0], known))
    return ops.where(z[-1] > 0.5, np.nan, 1.0) * after


def corrected(model: Model, h: Any, q: Array, free: Array, after: Array, settle: Callable[[Array, Array], Array], still: Array) -> Array:
    """Return ``settle(q, v)`` of q (nq) and v (nv) at the end of a step of h whose flight ends at q and ``free`` (nv), and whose impulses
    leave ``after`` (nv).

    The impulses act evenly over the step, so that q goes on by half of what they change of v, times h. Where nothing changes, it is
    ``still``, to the bit.
    """
    return ops.when(ops.largest(after - free) > 0.0, lambda: settle(model.manifold.plus(q, 0.5 * h * (after - free)), after), still)
