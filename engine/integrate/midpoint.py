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

        u = v + (h/2) K(t + h/2, q · cay(h u/2), u)                                  (1)
        q⁺ = q · cay(h u),   v⁺ = 2 u − v                                            (2)

    For a free rigid body of any inertia this keeps the energy, and with the Cayley map of dual quaternions the momentum in the world,
    to rounding: Π⁺ = Ad(cay(h u))ᵀ Π. Where Newton's method does not converge, the new state is NaN.
    Reference: Hairer, Lubich & Wanner, *Geometric Numerical Integration*, §VII.5 (in the algebra's dual).
    """
    q, v = system.split(x)

    def residual(u: Array) -> Array:
        return u - v - (0.5 * h) * system.acceleration(t + 0.5 * h, system.configuration.cayley(q, (0.5 * h) * u), u)      # (1)

    u, converged = ops.root(residual, v)
    after = np.concatenate([system.configuration.cayley(q, h * u), 2.0 * u - v])                                           # (2)
    return ops.where(converged, after, np.nan)


IMPLICIT_MIDPOINT = register(Method(
    "implicit_midpoint", 2, implicit_midpoint, 1, 2, "Hairer, Lubich & Wanner 2006", takes="mechanical", implicit=True, reversible=True,
    conserves=("energy", "momentum")))  # fmt: skip
