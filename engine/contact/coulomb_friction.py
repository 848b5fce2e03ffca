"""Coulomb's friction of a contact point, regularised: the friction factor of sliding, and torsional and rolling couples.

The friction cone and stick of a point that slides: :mod:`engine.contact.point_law`.

By a normal impulse γ that is known, and lengths c (torsional) and r (rolling), with the turning ω of the second body relative to the first,
and Θ by which the pair turned since it sticks::

    w = ω + Θ/h,   w_n = (n·w) n,   w_t = w − w_n                                  (1)
    τ = −c γ w_n/max(|w_n|, ω_s) − r γ w_t/max(|w_t|, ω_s)                         (2)

Both are gradients of convex functions, as friction is: −∂τ/∂ω is symmetric and positive semidefinite. The speed ω_s that counts as rest is
that of a surface which is as far from the axis as half of the shape's thickness.

Reference: Leine & van de Wouw, *Stability and convergence of mechanical systems with unilateral constraints*, Springer 2008, ch. 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray
#: of what a normal impulse changes of the velocity: a slip below which friction counts as sticking, so that Newton's method finds it
STIFFEST = 1e-3
#: places of constants c (12): of mobility, the speed that counts as rest, the torsional and rolling lengths, m, and half of a thickness, m
MOBILITY, STICTION, TORSION, ROLLING, SIZE = 6, 7, 9, 10, 11


def regularised_friction(rubs: Any, slow: Any, w: Array) -> tuple[Any, Any]:
    """Return the factor b = μ γ/max(|w|, v_s) of regularised friction −b w at a slip w (3), and 1/|w|² where it slides, else 0."""
    slip2, slow2 = w @ w, slow * slow
    most = ops.maximum(slip2, slow2)
    return rubs / ops.sqrt(most), ops.where(slip2 > slow2, 1.0 / most, 0.0)


def couple_friction(c: Array, normal: Any) -> Array:
    """Return the friction (2) of a point's couples: the normal impulse γ, known, and the speed of turning ω_s counted as rest."""
    most, size = ops.maximum(c[TORSION], c[ROLLING]), c[SIZE]
    return ops.array([normal, ops.maximum(STIFFEST * c[MOBILITY] / (size * size) * most * normal, c[STICTION] / size)])


def couple(c: Array, n: Array, turns: Array, friction: Array) -> tuple[Array, Array]:
    """Return the couple τ (3) of (2), and −∂τ/∂ω (3, 3), from the normal n (3), w (3), and :func:`couple_friction` (2).

    >>> c = np.array([0.0] * 9 + [0.02, 0.01, 1.0])
    >>> couple(c, np.array([0.0, 0.0, 1.0]), np.array([0.0, 3.0, 2.0]), np.array([5.0, 1e-3]))[0]
    array([-0.  , -0.05, -0.1 ])
    """
    normal, slow = friction
    along = n @ turns
    rolls = turns - along * n
    spin, spins = regularised_friction(c[TORSION] * normal, slow, along * n)
    roll, rolling = regularised_friction(c[ROLLING] * normal, slow, rolls)
    held = ops.where(spins > 0.0, 0.0, spin)
    return -spin * along * n - roll * rolls, roll * (np.eye(3) - rolling * np.outer(rolls, rolls)) + (held - roll) * np.outer(n, n)


def turning_after(n: Array, gave: Array, most: Any) -> Array:
    """Return the turning Θ (3) at the end of a step, of what it would be if all of it stayed: about the normal n (3) and across it ω_s h
    at ``most``."""
    along = n @ gave
    rolls = gave - along * n
    across = ops.minimum(1.0, most / ops.sqrt(ops.maximum(rolls @ rolls, 1e-300)))
    return ops.clip(along, -most, most) * n + across * rolls
