"""Contact impulses from the velocity, at the points of a pair: Hunt & Crossley's normal impulse and regularised Coulomb friction.

The normal impulse is a function of the velocity after the step, as :mod:`engine.contact.hunt_crossley` has it. Friction is that of a
normal impulse that is known, of the velocity before the step at first, and then of what this leads to: so both are gradients of one convex
function. It is regularised: below a speed v_s a contact sticks, and creeps at less.

All points of a pair are asked at once, by functions that are compiled once for each number of points. They take what holds for the pair,
c (9) of :func:`constants`, and for its points

    rows : (n, 11), σ, the gap, its rate before the step and that of flight, the normal n (3), the place x (3) from c, and how many points
        it counts as; or (n, 14) with ξ/h (3), where that is kept
    friction : (n, 2), μ times the normal impulse that is known, N·s, and the speed that counts as rest, m/s
    W : (6), the twist of the second body relative to the first, in world axes about c

Reference: Castro, Han & Masterjohn, *Irrotational contact fields*, arXiv:2312.03908.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.hunt_crossley import lasts, normal_impulse, weight
from engine.contact.material import STRIBECK
from engine.contact.pairs import Pair
from engine.spatial import so3

Array = np.ndarray
#: of what a normal impulse changes of the velocity: a slip below which friction counts as sticking, so that Newton's method finds it
STIFFEST = 1e-3
#: numbers of a point, and of one with ξ/h
ROW, HELD = 11, 14
UPPER = np.triu_indices(6)


def constants(pair: Pair, h: Any, stiction: float, way: float) -> Array:
    """Return c (9): stiffness, dissipation, h, stiffness times mobility of all points, kinetic and static μ, mobility, the speed that
    counts as rest, and how far impulses go of their ``way``."""
    m = pair.material
    return ops.array([m.stiffness, m.dissipation, h, m.stiffness * pair.mobility * pair.together, m.friction, m.static, pair.mobility,
                      stiction, way])  # fmt: skip


def kept_energy(k: Any, w: Any, h: Any, gap: Array, rate: Array, share: Array) -> Any:
    """Return what steps of h can give back of the energy of springs k with the mobility w, whose gaps (n), of which each counts as a
    ``share``, grow at a rate (n).

    Steps that resolve them, with κ = h² k w up to a half, give back all of it, k δ²/2. Longer ones take a contact apart at the speed δ/h at
    most, by which it is at that: k/κ (δ² − h² u²)/2. In between a part p = 1/(κ + ½) is kept: p k (δ² − (1 − p) h² u²)/2.

    >>> [float(kept_energy(1e5, 1.0, h, np.array([-1e-3]), np.zeros(1), np.ones(1)).round(9)) for h in (1e-4, 1.0)]
    [0.05, 5e-07]
    """
    p = ops.minimum(1.0, 1.0 / (h * h * k * w + 0.5))
    return 0.5 * k * p * sum(part * ops.maximum(ops.minimum(g, 0.0) ** 2 - (1.0 - p) * (h * u) ** 2, 0.0)
                             for g, u, part in zip(gap, rate, share, strict=True))  # fmt: skip


def velocity(W: Array, x: Array) -> Array:
    """Return the velocity (3) of a point x (3) of what moves with the twist W (6) in world axes."""
    return W[3:] + ops.cross(W[:3], x)


def split(row: Array, W: Array) -> tuple[Array, Any, Array]:
    """Return the normal (3), the normal velocity, and the slip (3) of a point."""
    n, u = row[4:7], velocity(W, row[7:10])
    un = n @ u
    return n, un, u - un * n


def shifted(row: Array, ut: Array) -> Array:
    """Return w (3) of a point that slips at uₜ (3)."""
    return ut + row[ROW:] if len(row) > ROW else ut


def pushed(c: Array, row: Array, un: Any) -> tuple[Any, Any]:
    """Return the normal impulse of a point and its slope at a normal velocity."""
    return normal_impulse(c[0] * row[10], c[1], c[2], row[0], c[8], row[1], row[2], row[3], un)


def gap_after(c: Array, row: Array, un: Any) -> Any:
    """Return the gap of a point at the end of the step, to which impulses lead from where flight ends."""
    return row[1] + c[8] * c[2] * (un - row[3])


def rubbing(c: Array, normal: Any, slip2: Any) -> Array:
    """Return what friction there is (2), by a normal impulse and a slip, squared, that are known."""
    kinetic, static, mobility, stiction = c[4:8]
    mu = kinetic + (static - kinetic) * ops.exp(-slip2 / STRIBECK**2)
    return ops.array([mu * normal, ops.maximum(STIFFEST * mobility * mu * normal, stiction)])


def drag(rubs: Any, slow: Any, w: Array) -> tuple[Any, Any]:
    """Return b = μ γ/max(|w|, v_s), and 1/|w|² where it slides, else 0."""
    slip2, slow2 = w @ w, slow * slow
    most = ops.maximum(slip2, slow2)
    return rubs / ops.sqrt(most), ops.where(slip2 > slow2, 1.0 / most, 0.0)


def begun(c: Array, position: Array, normal: Array, gap: Array, before: Array, share: Array, was: Array, flown: Array,
          stuck: Array | None = None) -> Array:  # fmt: skip
    """Return the rows and the friction of points, flattened, and the largest normal impulse where flight leads.

    ``was`` and ``flown`` are the twists before the step and after flight; position and normal are (n, 3), gap, its rate before and share
    (n). With what is ``stuck`` (9): the rotation and the displacement (6) by which the pair gave way, of a place (3) seen from c.
    """
    rows, friction, acts = [], [], []
    for x, n, g, u0, part in zip(position, normal, gap, before, share, strict=True):
        s = weight(c[2] * c[2] * c[3] * (1.0 + c[1] * abs(u0)))                # what loses much is stiff too
        row = np.concatenate([ops.array([s, g, u0, n @ velocity(flown, x)]), n, x, [part]])
        if stuck is not None:
            gave = velocity(stuck[:6], x - stuck[6:])
            row = np.concatenate([row, (gave - (n @ gave) * n) / c[2]])
        ut = split(row, was)[2]
        rows.append(row)
        friction.append(rubbing(c, pushed(c, row, u0)[0], ut @ ut))
        acts.append(pushed(c, row, row[3])[0])
    return np.concatenate([*rows, *friction, [ops.largest(acts)]])


def lagged(c: Array, rows: Array, friction: Array, W: Array) -> Array:
    """Return the friction (n, 2), flattened, that goes with a twist, the largest difference of its impulses from what they were
    taken for, and the largest of them; the speeds go along with the impulses."""
    found = []
    for row in rows:
        _, un, ut = split(row, W)
        found.append(rubbing(c, pushed(c, row, un)[0], ut @ ut))
    rubs = np.array(found)[:, 0]
    return np.concatenate([*found, [ops.largest(rubs - friction[:, 0]), ops.largest(rubs)]])


def impulses(c: Array, rows: Array, friction: Array, W: Array) -> Array:
    """Return the impulses (n, 3) on the second body, flattened, and the wrench (6) of as much of them as lasts: of points that do not open
    within the next step."""
    found: list[Array] = []
    lasting: Any = np.zeros(6)
    for row, (rubs, slow) in zip(rows, friction, strict=True):
        n, un, ut = split(row, W)
        w = shifted(row, ut)
        g = pushed(c, row, un)[0] * n - drag(rubs, slow, w)[0] * w
        found.append(g)
        lasting = lasting + ops.where(lasts(c[2], c[8], row[1], row[3], un), 1.0, 0.0) * np.concatenate([ops.cross(row[7:10], g), g])
    return np.concatenate([*found, lasting])


def wrench(c: Array, rows: Array, friction: Array, W: Array) -> Array:
    """Return F = Σ Cᵀ g (6) and the upper triangle of K = Σ Cᵀ G C (21) of points at x, with u = C W.

    With G = b 1 + (a − b) n nᵀ − b w wᵀ/|w|², the last where it slides, K is a sum of squares of Cᵀ 1, Cᵀ n and Cᵀ w.
    """
    total: Any = np.zeros(27)
    for row, (rubs, slow) in zip(rows, friction, strict=True):
        n, un, ut = split(row, W)
        push, slope = pushed(c, row, un)

        def acting(row: Array = row, rubs: Any = rubs, slow: Any = slow, n: Array = n, ut: Array = ut, push: Any = push,
                   slope: Any = slope) -> Array:  # fmt: skip
            shift = shifted(row, ut)
            b, slides = drag(rubs, slow, shift)
            X = so3.hat(row[7:10])
            m, w = np.concatenate([X @ n, n]), np.concatenate([X @ shift, shift])
            K = b * np.block([[-X @ X, X], [-X, np.eye(3)]]) + (slope - b) * np.outer(m, m) - b * slides * np.outer(w, w)
            return np.concatenate([push * m - b * w, K[UPPER]])

        total = total + ops.when(ops.logical_or(push > 0.0, rubs > 0.0), acting, np.zeros(27))
    return total


def pressed(c: Array, row: Array, slow: Any, W: Array) -> Array:
    """Return the normal impulse of a point, and that times its normal, its place and v_s (8): of several these add up."""
    n, un, _ = split(row, W)
    push = pushed(c, row, un)[0]
    return push * np.concatenate([np.ones(1), n, row[7:10], [slow]])


def gave_way(h: Any, sums: Array, W: Array, stuck: Array) -> Array:
    """Return the rotation about the normal and the displacement along the plane (6) of points that push, by which they gave way at the end
    of a step of h with the twist W, of the place at which they were ``stuck`` (9), with their ``sums`` of :func:`pressed`: zero of none."""
    n, x, place = sums[1:4] / ops.maximum(ops.norm(sums[1:4]), 1e-300), sums[4:7] / ops.maximum(sums[0], 1e-300), stuck[6:]
    u = velocity(W, place + n * (n @ (x - place)))                             # of what is under the place: rolling does not move it
    gave, turn = stuck[3:6] + h * u, n @ (stuck[:3] + h * W[:3])
    return ops.where(sums[0] > 0.0, 1.0, 0.0) * np.concatenate([turn * n, gave - (n @ gave) * n])


def stretched(c: Array, row: Array, slow: Any, W: Array, gave: Array, place: Array) -> Any:
    """Return how far a point gave way, of v_s h, squared, times its normal impulse."""
    n, un, _ = split(row, W)
    moved = velocity(gave, row[7:10] - place)
    along = moved - (n @ moved) * n
    return pushed(c, row, un)[0] * (along @ along) / (c[2] * slow) ** 2


def held(h: Any, gave: Array, sums: Array, stretch: Any, size: Any, place: Array) -> Array:
    """Return what is kept of how a pair gave way (6) by the end of a step of h, as seen from a place (3), where its points have been
    stretched by so much, of :func:`stretched`, in all: of their root mean square v_s h at most; and of the turn about where they push no
    more than that of what is ``size`` (m) from there."""
    push = ops.maximum(sums[0], 1e-300)
    most = h * sums[7] / (size * push)
    turn = ops.minimum(1.0, most / ops.maximum(ops.norm(gave[:3]), 1e-300)) * gave[:3]
    there = gave[3:] + ops.cross(gave[:3] - turn, sums[4:7] / push - place)
    return ops.sqrt(ops.minimum(1.0, sums[0] / ops.maximum(stretch, 1e-300))) * np.concatenate([turn, there])


def ended(c: Array, rows: Array, friction: Array, W: Array, stuck: Array, size: Any) -> Array:
    """Return :func:`impulses` of a pair's points, and what is kept (6) of how it gave way by the end of the step, and before (``stuck``,
    9)."""
    slow = friction[:, 1]
    sums: Any = sum(pressed(c, row, s, W) for row, s in zip(rows, slow, strict=True))
    gave = gave_way(c[2], sums, W, stuck)
    stretch = sum(stretched(c, row, s, W, gave, stuck[6:]) for row, s in zip(rows, slow, strict=True))
    return np.concatenate([impulses(c, rows, friction, W), held(c[2], gave, sums, stretch, size, stuck[6:])])


def turned(R: Array, S: Array) -> Array:
    """Return a rotation and a displacement (6) in other axes."""
    return np.concatenate([R @ S[:3], R @ S[3:]])
