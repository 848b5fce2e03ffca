"""Newton's method for the velocities of many bodies after a step, island by island: each has its own line and its own end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact.many.islands import islands
from engine.contact.many.problem import Evaluation, Problem, along, evaluated, lagged, of_pair, twists

Array = np.ndarray
#: of the momentum of a step: what may be left unbalanced
TOLERANCE = 1e-6
#: steps of Newton's method, tries of a length along each, and passes, after which friction goes with the normal impulses of the pass before
STEPS, TRIES, PASSES = 200, 60, 10
#: of friction: a difference at which what was known agrees with what it leads to
AGREES = 1e-3
#: of the momentum of a step: what may be left in a first pass, and of that in each that follows
ROUGH = 1e-2
#: of the momentum of a step: what moves with less before it is at rest, and of it what is left unbalanced there after one step more, so
#: that what is held stands still
REST, FINE = 1e-3, 1e-11
#: of the slope at the beginning of a line: what is left of it where it is long enough; and of its length, what is one point
FLAT, NARROW = 0.1, 1e-12
#: a length that no line has
FAR = 1e30


class Solution(NamedTuple):
    """Velocities V (n, 6) of bodies after a step, the friction (p, 2) with which they were found, and where anything acts (n)."""

    V: Any
    friction: Any
    acts: Any


def velocities_after(x: Problem, before: Any) -> Solution:
    """Return V⁺ (n, 6) = argmin ½ (V − Ṽ)ᵀ M (V − Ṽ) + ℓ(V), from the velocities ``before`` (n, 6) where anything acts, else Ṽ.

    Friction is found with the normal impulses before the step, and with those that this leads to, until both agree, or ``PASSES``; as in
    :mod:`engine.contact.correction`, of which this is the same for many bodies. Where Newton's method does not converge, V is NaN.
    """
    island = islands(x.free, x.pairs)
    body_of_point = ops.rows(lambda p: p[1], ops.gather(x.pairs, of_pair(x)))
    of_point = ops.gather(island, body_of_point)
    scale, speed = ops.rows(lambda s: (s[0], s[1]), summed(island, island, ops.rows(momentum, x.inertia, x.free, before)))
    acts = ops.add_at(ops.rows(lambda i: 0.0 * i, island), of_point, ops.rows(lambda a: ops.where(a > 0.0, 1.0, 0.0), x.acts))
    live = at_island(acts, island)
    V = ops.rows(lambda a, free, V: ops.where(a > 0.0, V, free), live, x.free, before)
    plan = ops.Plan(*ops.block_plan(x.inertia, x.pairs))

    def again(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        V, left = minimum(x, plan, island, scale, z["live"], z["V"], z["friction"], z["most"])
        rubs, changes = lagged(x, V, z["friction"])
        both = ops.add_at(ops.rows(lambda i: np.zeros(2) * i, island), of_point, changes)

        def goes_on(on: Any, both: Array, left: Any, s: Any) -> Any:
            return ops.where(ops.logical_or(both[0] > AGREES**2 * both[1], left > TOLERANCE**2 * s), on, 0.0)

        live = ops.rows(goes_on, z["live"], ops.gather(both, island), left, ops.gather(scale, island))
        friction = ops.rows(lambda on, new, old: ops.where(on > 0.0, new, old), ops.gather(live, body_of_point), rubs, z["friction"])
        most = ops.maximum(ROUGH * z["most"], TOLERANCE)
        return {"V": V, "friction": friction, "known": z["friction"], "live": live, "left": left,
                "most": most}, ops.equal(ops.total(live), 0.0)  # fmt: skip

    none = ops.rows(lambda on: 0.0 * on, live)
    z, _ = ops.while_loop(again, {"V": V, "friction": x.friction, "known": x.friction, "live": live, "left": none, "most": ROUGH}, PASSES)

    def rests(on: Any, left: Any, speed: Any, s: Any) -> Any:
        return ops.where(ops.logical_and(speed < REST * REST * s, left > FINE * FINE * s), on, 0.0)

    still = ops.rows(rests, live, z["left"], *(ops.gather(table, island) for table in (speed, scale)))

    def closer() -> Any:
        return stepped(x, plan, island, still, z["V"], z["known"], evaluated(x, z["V"], z["known"]))

    return Solution(ops.when(ops.total(still) > 0.0, closer, z["V"]), z["known"], live)


def summed(island: Any, like: Any, each: Any) -> Any:
    """Return the sums (n, …) of rows over islands, in the row of each island's lowest body."""
    return ops.add_at(ops.rows(lambda i, y: 0.0 * y, like, each), island, each)


def at_island(table: Any, island: Any) -> Any:
    """Return for each body (n, …) what its island has."""
    return ops.rows(lambda y: y, ops.gather(table, island))


def momentum(M: Array, free: Array, before: Array) -> Array:
    """Return a measure, squared, of a body's momentum in a step, and before it (2)."""
    M = M.reshape(6, 6)
    change = free - before
    return ops.array([free @ (M @ free) + change @ (M @ change), before @ (M @ before)])


def minimum(x: Problem, plan: ops.Plan, island: Any, scale: Any, live: Any, V: Any, friction: Any,
            most: Any) -> tuple[Any, Any]:  # fmt: skip
    """Return the V (n, 6) of least cost with a friction (p, 2), in islands of ``live`` bodies (n); and what is unbalanced there (n),
    squared, no more than ``most`` of the momentum of the step."""

    def step(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        V = z["V"]
        found = evaluated(x, V, friction)
        unbalanced = at_island(summed(island, island, ops.rows(weighed, x.inertia, found.gradient)), island)
        live = ops.rows(lambda on, g2, s: ops.where(g2 > most * most * s, on, 0.0), z["live"], unbalanced, ops.gather(scale, island))
        go = ops.total(live) > 0.0

        moved = ops.when(go, lambda: stepped(x, plan, island, live, V, friction, found), V)
        return {"V": moved, "live": live, "left": unbalanced}, ops.logical_not(go)

    none = ops.rows(lambda on: 0.0 * on, live)
    z, found = ops.while_loop(step, {"V": V, "live": live, "left": none}, STEPS)
    V = ops.rows(lambda V, on: ops.where(ops.logical_or(found, ops.equal(on, 0.0)), 1.0, np.nan) * V, z["V"], z["live"])
    return V, z["left"]


def stepped(x: Problem, plan: ops.Plan, island: Any, live: Any, V: Any, friction: Any, found: Evaluation) -> Any:
    """Return V (n, 6) after a step of Newton's method from where the problem is evaluated, in islands of ``live`` bodies (n)."""
    C, L = ops.block_cholesky(found.diagonal, x.pairs, found.blocks, plan.place, plan.start, plan.row)
    y = ops.block_solve(plan.order, plan.start, plan.row, C, L, found.gradient)
    d = ops.rows(lambda y, on: ops.where(on > 0.0, -y, 0.0), y, live)
    alpha = line(x, island, V, d, found.gradient, friction, live)
    return ops.rows(lambda V, d, a: V + a * d, V, d, alpha)


def weighed(M: Array, g: Array) -> Any:
    """Return g² / diag M, summed."""
    return (g * g) @ (1.0 / M[::7])


def line(x: Problem, island: Any, V: Any, d: Any, gradient: Any, friction: Any, live: Any) -> Any:
    """Return for each body (n) how far to go along d (n, 6): to where the slope of its island's cost is a tenth of that at V at most."""
    W, D = twists(x.pairs, V), twists(x.pairs, d)
    of = ops.rows(lambda p: p[1], x.pairs)                                     # a body of each pair
    of_point = ops.gather(island, ops.gather(of, of_pair(x)))

    def own(M: Array, g: Array, d: Array, v: Array, f: Array) -> Array:
        """The slope at the beginning, what of it is the bodies' own, and how that changes."""
        Md = M.reshape(6, 6) @ d
        return ops.array([g @ d, Md @ (v - f), Md @ d])

    first = summed(island, island, ops.rows(own, x.inertia, gradient, d, V, x.free))

    def try_again(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        s = z["lines"]
        alpha = ops.rows(lambda s: s[0], s)
        base = ops.rows(lambda f, a: ops.array([f[1] + a * f[2], f[2]]), first, alpha)
        parts = along(x, W, D, friction, ops.gather(ops.gather(alpha, island), of))
        now = ops.add_at(base, of_point, parts)
        s = ops.rows(tried, s, first, now)
        return {"lines": s}, ops.equal(ops.total(ops.rows(lambda s: s[4], s)), 0.0)

    begin = ops.rows(lambda on: ops.array([1.0, 0.0, FAR, 0.0, ops.where(on > 0.0, 1.0, 0.0)]), live)
    z, _ = ops.while_loop(try_again, {"lines": begin}, TRIES)
    return at_island(ops.rows(lambda s: s[0], z["lines"]), island)


def tried(s: Array, first: Array, now: Array) -> Array:
    """Return the next length α on an island's line, between two ends, by the slope and its change there, or halfway; and whether it
    is still searched."""
    a, low, high, halve, open_ = s
    slope, bend = now
    done = ops.logical_or(abs(slope) <= FLAT * abs(first[0]), high - low <= NARROW)
    low, high = ops.where(slope < 0.0, a, low), ops.where(slope < 0.0, high, a)
    newton = a - slope / ops.maximum(bend, 1e-300)
    usable = ops.logical_and(halve < 0.5, ops.logical_and(low < newton, newton < high))
    bounded = high < 0.5 * FAR
    to = ops.where(usable, newton, ops.where(bounded, 0.5 * (low + high), 2.0 * a))
    stays = ops.logical_or(done, open_ < 0.5)
    new = ops.array([to, low, high, ops.where(bounded, 1.0 - halve, 0.0), 1.0])
    return ops.where(stays, ops.array([a, s[1], s[2], halve, 0.0]), new)
