"""Newton's method for the convex problem of a step: v⁺ = argmin ½ (v − ṽ)ᵀ M (v − ṽ) + ℓ(v), with impulses γ = −∂ℓ/∂v."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from engine import ops

Array = np.ndarray
#: steps of Newton, and tries of a length along each
STEPS, TRIES = 100, 100
#: of the slope at the beginning of a line: what is left of it where it is long enough
FLAT = 0.1
#: of the largest change of a velocity: a step of Newton that is the last but for rounding
LAST = 1e-9


class Law(Protocol):
    """A convex ℓ(v): friction, damping, springs that push."""

    slow: float  # a speed below which nothing matters

    @property
    def acts(self) -> Any:
        """Whether there is an impulse where flight leads: γ(ṽ) ≠ 0."""

    def impulse(self, v: Array) -> tuple[Array, Array]:
        """Return γ (nv) = −∂ℓ/∂v and G (nv, nv) = ∂²ℓ/∂v², positive semidefinite."""

    def along(self, v: Array, d: Array) -> Callable[[Any], tuple[Any, Any]]:
        """Return the function of α that gives γ·d and dᵀ G d at v + α d."""

    def lag(self, v: Array) -> bool:
        """Take what the law knows of v⁺ beforehand (the normal impulse of friction) from v; False where there is nothing of that kind."""


def minimum(M: Array, free: Array, law: Law, start: Array) -> tuple[Array, Any]:
    """Return v⁺ (nv), and whether it was found, for the inertia M (nv, nv) and the velocity ṽ = ``free`` (nv) of flight.

    Every line is searched on its slope, which grows along it, so that each step goes down; where the law is smooth the last steps converge
    quadratically. Traceable: in a batch every sample stops by itself.

    Reference: Castro et al., *An unconstrained convex formulation of compliant contact*, IEEE T-RO 2022, §IV.

    A block of 2 kg at 1 mm/s on which 3 N rub for a millisecond stops:

    >>> from engine.contact.joint_laws import JointLaws, Row
    >>> row = Row("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5)
    >>> free = np.array([1e-3])
    >>> v, found = minimum(np.array([[2.0]]), free, JointLaws([row], 1e-5, [0.0], 0.0).step(1e-3, free, np.zeros(1), free), free)
    >>> bool(found), bool(0.0 < v[0] < 1e-5)
    (True, True)
    """
    leaves_first = slice(None, None, -1)                        # in this order elimination keeps the tree's zeros

    def advance(v: Array) -> tuple[Array, Any]:
        impulse, G = law.impulse(v)
        residual = M @ (v - free) - impulse
        d = -ops.solve((M + G)[leaves_first, leaves_first], residual[leaves_first])[leaves_first]
        small = ops.largest(d) <= LAST * ops.largest(v - free) + 1e-4 * law.slow    # of the whole step: a line's length may be short
        return v + length(M, v - free, d, residual @ d, law.along(v, d)) * d, small

    return ops.while_loop(advance, start, STEPS)


def length(M: Array, v: Array, d: Array, first: Any, along: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Return α where the slope along d from v, of ½ (v + α d)ᵀ M (v + α d) + ℓ, is about zero beside the ``first``: 1 where it is there."""
    Md = M @ d
    slope0, curvature0 = v @ Md, d @ Md

    def narrow(z: Array) -> tuple[Array, Any]:
        a, low, high, halve = z                                 # every other try halves the bracket: dry friction's well is narrow
        power, curvature = along(a)
        slope = slope0 + a * curvature0 - power
        low, high = ops.where(slope < 0.0, a, low), ops.where(slope < 0.0, high, a)
        newton = a - slope / ops.maximum(curvature0 + curvature, 1e-300)
        usable = ops.logical_and(halve < 0.5, ops.logical_and(low < newton, newton < high))
        good = abs(slope) <= FLAT * abs(first)
        return ops.array([ops.where(good, a, ops.where(usable, newton, 0.5 * (low + high))), low, high, 1.0 - halve]), good

    z, _ = ops.while_loop(narrow, np.array([1.0, 0.0, 2.0, 0.0]), TRIES)
    return z[0]
