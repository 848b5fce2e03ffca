"""Newton's method for the convex problem of a step: v⁺ = argmin ½ (v − ṽ)ᵀ M (v − ṽ) + ℓ(v), with impulses γ = −∂ℓ/∂v.

Where constraints hold, among the v with J (v − ṽ) = 0: their impulses Jᵀ λ are part of every step of the method.
Its line search: :mod:`engine.contact.line_search`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from engine import ops
from engine.checks import EngineError
from engine.constraints import Schur
from engine.contact import line_search
from engine.contact.line_search import FLAT, NARROW
from engine.dynamics.crba import solve_from_leaves

Array = np.ndarray
#: evaluations of the law: steps of Newton, and tries of a length along each
STEPS = 1000
#: tries of the pieces of dry friction that a step of Newton leads to: random ones of thirty rows take six, seldom more than ten
TRIES = 20
#: of the largest change of a velocity: a step of Newton that is the last but for rounding
LAST = 1e-9
#: of that, what is left where the last step is foreseen
NEARER = 1e-2
#: where contacts are many: steps of Newton's method, changes of friction before it rises no more, and before it stays what it is
FEW_STEPS, CHANGES, FALLS = 200, 20, 120


class Unsolved(EngineError):
    """Raised on floats where Newton's method does not find the impulses of a step; ``overrun`` where what it is to balance is no number."""

    overrun = False


class Law(Protocol):
    """A convex ℓ(v): friction, damping, springs that push."""

    slow: float  # a speed below which nothing matters

    @property
    def acts(self) -> Any:
        """True if there is an impulse at the velocity after flight: γ(ṽ) ≠ 0."""

    def impulse(self, v: Array, friction: Any) -> tuple[Array, Array]:
        """Return γ (nv) = −∂ℓ/∂v and G (nv, nv) = ∂²ℓ/∂v², positive semidefinite, with a friction."""

    def pieces(self, v: Array) -> Array:
        """Return on which piece of its dry friction each row is (rows) at v (nv): −1 and 1 where it slides, 0 where it rests."""

    def dry(self, v: Array, pieces: Array) -> tuple[Array, Array]:
        """Return the impulses (nv) of dry friction at v (nv), and their slopes −∂γ/∂v (nv), if its rows stay on such pieces."""

    @property
    def friction(self) -> Any:
        """The friction (n) that is lagged, as it is at first: that of the normal impulses before the step; or none. A table, or a tuple of
        several, where the law is of rows, or of several laws."""

    def lagged(self, v: Array, friction: Any) -> tuple[Any, Any]:
        """Return the friction of the normal impulses at v (nv), with the friction taken for it, and whether both agree."""

    def acting(self, v: Array, friction: Any) -> list[tuple[float, str]]:
        """Return the impulses that act at v (nv), on floats: each its size, N·s or N·m·s, and its name."""


class Smooth:
    """A law without dry friction in pieces: that of contacts is smooth across their slip."""

    def pieces(self, v: Array) -> Array:
        """Return an empty array: this law has no row of dry friction that sticks or slides in pieces."""
        return np.zeros(0)

    def dry(self, v: Array, pieces: Array) -> tuple[Array, Array]:
        """Return zeros (nv)."""
        return np.zeros(len(v)), np.zeros(len(v))


def minimum(M: Array, free: Array, law: Law, friction: Any, start: Array, J: Array | None = None) -> tuple[Array, Any]:
    """Return v⁺ (nv), and whether it was found, for the inertia M (nv, nv), the velocity ṽ = ``free`` (nv) of flight, a law with a
    friction, and the Jacobian J (n, nv) of what constraints hold; J (start − ṽ) = 0.

    Every line is searched on its slope, which grows along it, so that each step goes down; where the law is smooth the last steps converge
    quadratically. The narrow wells of dry friction, in which a line would end at one after the other, are part of each step as they are:
    :func:`direction`. Traceable: in a batch every sample stops by itself.

    Reference: Castro et al., *An unconstrained convex formulation of compliant contact*, IEEE T-RO 2022, §IV.

    A block of 2 kg at 1 mm/s on which 3 N rub for a millisecond stops:

    >>> from engine.contact.joint_laws import JointCoordinate, JointLaws
    >>> slide = JointCoordinate("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5, 0.5)
    >>> free = np.array([1e-3])
    >>> law = JointLaws([slide], 1e-5, lambda c: 0.0, 0.0).step(1e-3, free, np.zeros(1), free)
    >>> v, found = minimum(np.array([[2.0]]), free, law, law.friction, free)
    >>> bool(found), bool(0.0 < v[0] < 1e-5)
    (True, True)
    """
    n = len(start)

    def advance(z: Array) -> tuple[Array, Any]:
        v, d, held, (first, a, low, high, halve) = z[:n], z[n : 2 * n], z[2 * n : -5], z[-5:]
        with ops.part("impulses: laws", v):
            impulse, G = law.impulse(v, friction)
        H, residual = M + G, M @ (v - free) - impulse
        residual = residual if J is None else residual - held
        slope = residual @ d                                    # of the line along d, a of which has been gone
        flat = ops.logical_or(abs(slope) <= FLAT * abs(first), high - low <= NARROW)

        def onward() -> Array:
            """The next line, along Newton's direction."""
            with ops.part("impulses: Newton's steps", v):
                d, push = direction(H, residual, v, v - free, law, J)
            small = ops.largest(d) <= LAST * ops.largest(v - free) + 1e-4 * law.slow
            first = (residual if J is None else residual - push) @ d
            return np.concatenate([v + d, d, held + push, [first, 1.0, 0.0, 2.0, 0.0, ops.where(small, 1.0, 0.0)]])

        def along() -> Array:
            """Another length on the same line: by its slope and curvature, or halfway, as the well of dry friction is narrow."""
            lower, upper = ops.where(slope < 0.0, a, low), ops.where(slope < 0.0, high, a)
            newton = a - slope / ops.maximum(d @ (H @ d), 1e-300)
            usable = ops.logical_and(halve < 0.5, ops.logical_and(lower < newton, newton < upper))
            to = ops.where(usable, newton, 0.5 * (lower + upper))
            return np.concatenate([v + (to - a) * d, d, held, [first, to, lower, upper, 1.0 - halve, 0.0]])

        z = ops.when(flat, onward, ops.when(ops.logical_not(flat), along, np.zeros(2 * n + len(held) + 6)))
        return z[:-1], z[-1] > 0.5

    at_rest = np.zeros(n if J is None else 2 * n)               # no direction yet, and no impulse of the constraints
    z, found = ops.while_loop(advance, np.concatenate([start, at_rest, [0.0, 1.0, 0.0, 2.0, 0.0]]), STEPS)
    return z[:n], found


def balanced(M: Array, free: Array, law: Any, start: Array, J: Array | None = None) -> tuple[Array, Any, Any]:
    """Return :func:`minimum` of a law of rows, that of contacts or with that of joints, with the friction for which it is one, which goes
    with it.

    Evaluations cost much there, and points little. So lines are searched on the points' own slopes; the direction of sliding friction is
    found beside v, as its dual (:func:`~engine.contact.point_law.dual_after`); friction is that of the normal impulses to which each step
    leads, until both agree, and where these do not by then, it only falls from ``CHANGES`` on, so that it is Coulomb's at most; and the
    last step is not taken: when a step d has left r of the residual, the next one would be r d, about, as steps converge quadratically.
    """
    n, over = len(start), 1.0 / np.diag(M)
    none = np.zeros(0 if J is None else n)
    begin = {"v": start, "friction": law.friction, "dual": law.dual, "held": none, "size": 1.0, "far": line_search.FAR, "steps": 0.0}

    def advance(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        v = z["v"]
        rubs, agrees = law.lagged(v, z["friction"], z["steps"] >= CHANGES)
        agrees = ops.logical_or(agrees, z["steps"] >= FALLS)
        friction = ops.when(ops.logical_not(agrees), lambda: rubs, z["friction"])
        with ops.part("impulses: laws", v):
            impulse, G = law.impulse(v, friction, z["dual"])
        residual = M @ (v - free) - impulse
        residual = residual if J is None else residual - z["held"]
        size = residual @ (over * residual)
        slow = LAST * ops.largest(v - free) + 1e-4 * law.slow
        found = ops.logical_and(agrees, z["far"] * z["far"] * size <= (NEARER * slow) ** 2 * z["size"])

        def onward() -> tuple[Array, Any, Array, Any]:
            with ops.part("impulses: Newton's steps", v):
                d, push = direction(M + G, residual, v, v - free, law, J)
            a = searched(M, law.along(v, d, friction), (residual if J is None else residual - push) @ d, v - free, d)
            return v + a * d, law.dual_after(v, d, friction, z["dual"]), z["held"] + push, ops.largest(a * d)

        v, dual, held, far = ops.when(ops.logical_not(found), onward, (v, z["dual"], z["held"], z["far"]))
        return {"v": v, "friction": friction, "dual": dual, "held": held, "size": size, "far": far, "steps": z["steps"] + 1.0}, found

    z, found = ops.while_loop(advance, begin, FEW_STEPS)
    return z["v"], z["friction"], found


def searched(M: Array, along: Any, first: Any, change: Array, d: Array) -> Any:
    """Return how far to go along d (nv) from v − ṽ = ``change`` (nv), where the slope of the cost is ``first``; ``along`` is the law's part
    (2) of that and of its change at a length."""
    Md = M @ d
    own, bend = Md @ change, Md @ d

    def again(s: Array) -> tuple[Array, Any]:
        with ops.part("impulses: lengths", s):
            law = along(s[0])
        s = line_search.tried(s, first, own + s[0] * bend + law[0], bend + law[1])
        return s, s[4] < 0.5

    s, _ = ops.while_loop(again, line_search.begun(1.0), line_search.TRIES)
    return s[0]


def direction(H: Array, residual: Array, v: Array, change: Array, law: Law, J: Array | None) -> tuple[Array, Array]:
    """Return :func:`newton_step` with dry friction as it is, in pieces: the minimum of what is smooth as a parabola, and of that.

    It is found by taking every row on the piece to which the last try leads, but through rest by a try of its own. Where these do not
    settle, it is the step on the pieces at v.

    Reference: Qi & Sun, *A nonsmooth version of Newton's method*, Mathematical Programming 58 (1993).
    """
    pieces = law.pieces(v)
    if not len(pieces):
        return newton_step(H, residual, change, J)
    pushes, slopes = law.dry(v, pieces)
    none = {"d": np.zeros(len(v)), "push": np.zeros(0 if J is None else len(v))}

    def again(x: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        push, slope = law.dry(v, x["pieces"])
        d, held = newton_step(H + np.diag(slope - slopes), residual + pushes - push, change, J)
        then = law.pieces(v + d)
        at_v = {name: ops.where(x["begins"] > 0.5, y, x["at v"][name]) for name, y in (("d", d), ("push", held))}
        onto = ops.where(ops.less(then * x["pieces"], 0.0), 0.0, then)
        return {"pieces": onto, "d": d, "push": held, "at v": at_v, "begins": 0.0}, ops.largest(then - x["pieces"]) <= 0.0

    x, settled = ops.while_loop(again, {"pieces": pieces, **none, "at v": none, "begins": 1.0}, TRIES)
    return tuple(ops.where(settled, x[name], x["at v"][name]) for name in ("d", "push"))


def newton_step(H: Array, residual: Array, change: Array, J: Array | None) -> tuple[Array, Array]:
    """Return d (nv) of H d = −residual + Jᵀ λ, J (change + d) = 0: what Newton's method adds to v, which is v − ṽ = ``change`` (nv) by now,
    and Jᵀ λ (nv, or none without constraints)."""
    if J is not None:
        d, multipliers = Schur(H, J).accelerations(-residual, J @ change)
        return d, J.T @ multipliers
    return -solve_from_leaves(H, residual), np.zeros(0)
