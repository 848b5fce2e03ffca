"""Contact impulses from the velocity, with friction by the same step's normal impulse: both are the gradient of one convex function.

With the normal impulse N of :mod:`engine.contact.hunt_crossley`, which falls with the velocity at which a contact opens, and the slip u_t::

    γ_n = N(z),   z = u_n − μ (φ(|u_t|) − φ₀),   γ_t = −μ γ_n φ'(|u_t|) u_t/|u_t|                                (1)

where φ is the slip, with a parabola in place of its tip, below a speed v_s at which a contact counts as at rest. So friction is bounded by
μ γ_n, and what it takes from the normal impulse (a sliding contact would float on its slip) is given back by the φ₀ of the slip before the
step: a motion that slides on evenly is the exact one. The Hessian is symmetric and positive semidefinite::

    G = −N'(z) m mᵀ + μ γ_n ∂(φ' u_t/|u_t|)/∂u_t,   m = n − μ φ' u_t/|u_t|                                       (2)

Of the points of a pair they take what :mod:`engine.contact.point_law` says, but for

    friction : (n, 3), μ, v_s and φ₀

Reference: Castro, Han & Masterjohn, *Irrotational contact fields*, arXiv:2312.03908, of which this is the "similar" one, but for φ₀.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import weight
from engine.contact.material import STRIBECK
from engine.contact.point_law import UPPER, pushed, split, velocity
from engine.spatial import so3

Array = np.ndarray
#: of what a normal impulse changes of the velocity: a slip below which friction counts as sticking, so that Newton's method finds it
STIFFEST = 1e-2
#: of friction's upper parabola in the Hessian where much is left to do: a line is then not stopped by each well of sticking on its way
UPPERMOST = 0.3


def begun(c: Array, position: Array, normal: Array, gap: Any, before: Any, share: Any, was: Array,
          flown: Array) -> tuple[Array, Array, Any]:  # fmt: skip
    """Return the row (11) and the friction (3) of a point, and the normal impulse where flight leads, by the twists (6) ``was`` before the
    step and ``flown``."""
    s = weight(c[2] * c[2] * c[3] * (1.0 + c[1] * abs(before)))
    row = np.concatenate([ops.array([s, gap, before, normal @ velocity(flown, position)]), normal, position, [share]])
    ut = split(row, was)[2]
    slip2 = ut @ ut
    ahead = pushed(c, row, row[3])[0]
    mu = c[4] + (c[5] - c[4]) * ops.exp(-slip2 / STRIBECK**2)
    slow = ops.maximum(STIFFEST * c[6] * mu * ops.maximum(pushed(c, row, before)[0], ahead), c[7])
    friction = ops.array([mu, slow, smoothed(ops.sqrt(slip2), slow)])
    return row, friction, ops.maximum(ahead, at(c, row, friction, flown)[2])


def smoothed(slip: Any, slow: Any) -> Any:
    """Return φ of a slip."""
    return ops.where(slip < slow, 0.5 * slip * slip / slow, slip - 0.5 * slow)


def at(c: Array, row: Array, f: Array, W: Array) -> tuple[Array, Array, Any, Any, Any, Array, Any]:
    """Return at a twist W: n (3), m (3), γ_n, −N'(z), b = μ γ_n/max(|u_t|, v_s), u_t (3), and 1/|u_t|² where it slides, else 0."""
    n, un, ut = split(row, W)
    slip2, slow2 = ut @ ut, f[1] * f[1]
    longest = ops.maximum(slip2, slow2)
    inverse = 1.0 / ops.sqrt(longest)
    slides = slip2 > slow2
    phi = ops.where(slides, longest * inverse - 0.5 * f[1], 0.5 * slip2 * inverse)
    push, slope = pushed(c, row, un - f[0] * (phi - f[2]))                     # (1)
    return n, n - f[0] * inverse * ut, push, slope, f[0] * push * inverse, ut, ops.where(slides, inverse * inverse, 0.0)


def wrench(c: Array, row: Array, f: Array, W: Array, upper: Any) -> Array:
    """Return F = Cᵀ γ (6) and the upper triangle of K = Cᵀ G C (21) of a point at x, with u = C W; ``upper`` is how much there is of the
    parabola above friction where it slides."""
    n, m, push, slope, b, ut, slides = at(c, row, f, W)
    X = so3.hat(row[7:10])
    a, w, l = (np.concatenate([X @ y, y]) for y in (m, ut, n))
    across = np.block([[-X @ X, X], [-X, np.eye(3)]]) - np.outer(l, l) - (1.0 - upper) * slides * np.outer(w, w)
    K = b * across + slope * np.outer(a, a)                                    # (2)
    return np.concatenate([push * l - b * w, K[UPPER]])


def along(c: Array, row: Array, f: Array, W: Array, d: Array) -> Array:
    """Return the slope of the cost along a change d (6) of the twist W, and its own slope."""
    n, m, push, slope, b, ut, slides = at(c, row, f, W)
    du = velocity(d, row[7:10])
    dn, dm, turn = n @ du, m @ du, ut @ du
    return ops.array([b * turn - push * dn, slope * dm * dm + b * (du @ du - dn * dn) - b * slides * turn * turn])


def impulse(c: Array, row: Array, f: Array, W: Array) -> Array:
    """Return the impulse (3) on the second body, in world axes."""
    n, _, push, _, b, ut, _ = at(c, row, f, W)
    return push * n - b * ut


def slipping(c: Array, row: Array, f: Array, W: Array) -> tuple[Array, Array]:
    """Return the friction (3) with the slip at W, and (2) by how much that changes the normal impulse, and what it was, squared."""
    _, un, ut = split(row, W)
    push, then = at(c, row, f, W)[2], pushed(c, row, un)[0]                    # φ − φ₀ is nought then
    return ops.array([f[0], f[1], smoothed(ops.norm(ut), f[1])]), ops.array([(then - push) ** 2, push * push])
