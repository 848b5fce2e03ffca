"""The implicit midpoint rule on the group, with Cayley's map in place of the exponential."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.integrate.method import Method, register
from engine.integrate.system import Mechanical

Array = np.ndarray


def implicit_midpoint(system: Mechanical, t: Any, h: Any, x: Array) -> Array:
    """The velocity u at the middle of the step, by Newton's method, and the step along it::

        q⁺ = q · cay(h u)                                                            (1)
        u = w + (h/2) K(t + h/2, q ⊕ ½ (q⁺ ⊖ q), u)                                  (2)
        w⁺ = 2 u − w                                                                 (3)

    (in (1), of u = (v, z) the velocity counts).

    The middle of q and q⁺ is that of both ways, so that a step of −h undoes one of h; q · cay(h u/2) is not.

    For a free rigid body of any inertia this keeps the energy, and with the Cayley map of dual quaternions the momentum in the world,
    to rounding: Π⁺ = Ad(cay(h u))ᵀ Π. Where Newton's method does not converge, the new state is NaN.
    Reference: Hairer, Lubich & Wanner, *Geometric Numerical Integration*, §VII.5 (in the algebra's dual).
    """
    (q, w), space = system.split(x), system.configuration

    def residual(u: Array) -> Array:
        middle = space.plus(q, 0.5 * space.minus(q, space.cayley(q, h * system.velocity(u))))                              # (1)
        return u - w - (0.5 * h) * system.acceleration(t + 0.5 * h, middle, u)                                             # (2)

    u, converged = ops.root(residual, w)
    after = np.concatenate([space.cayley(q, h * system.velocity(u)), 2.0 * u - w])                                         # (3)
    return ops.where(converged, after, np.nan)


IMPLICIT_MIDPOINT = register(Method(
    "implicit_midpoint", 2, implicit_midpoint, 1, 3, "Hairer, Lubich & Wanner 2006", takes=Mechanical, implicit=True, reversible=True,
    conserves=("energy", "momentum")))  # fmt: skip
