"""Newton's method for the velocities of many bodies after a step, island by island: each has its own line and its own end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import line_search
from engine.contact.contact_problem import AGREES
from engine.contact.many.islands import islands
from engine.contact.many.problem import Evaluation, Problem, along, dual_after, evaluated, lagged, of_pair, twists
from engine.contact.newton import CHANGES, FALLS, FEW_STEPS

Array = np.ndarray
#: of the momentum of a step, at least that of what moves at the speed that counts as rest: what may be left unbalanced
TOLERANCE = 1e-6
#: of the momentum of a step: what moves with less before it is at rest, and of it what is left unbalanced there after one step more, so
#: that what is held stands still
REST, FINE = 1e-3, 1e-11


class Solution(NamedTuple):
    """Velocities V (n, 6) of bodies after a step, the friction (p, 2) that goes with them, and where anything acts (n)."""

    V: Any
    friction: Any
    acts: Any


def velocities_after(x: Problem, before: Any, slow: float) -> Solution:
    """Return V⁺ (n, 6) = argmin ½ (V − Ṽ)ᵀ M (V − Ṽ) + ℓ(V), from the velocities ``before`` (n, 6) where anything acts, else Ṽ;
    ``slow`` is the speed that counts as rest, m/s.

    Friction is found with the normal impulses before the step, and with those to which each step of Newton's method leads, until both
    agree; where these do not by then, it only falls from ``CHANGES`` on, so that it is Coulomb's at most. Where Newton's method does not
    converge, V is NaN.
    """
    island = islands(x.free, x.pairs)
    body_of_point = ops.rows(lambda p: p[1], ops.gather(x.pairs, of_pair(x)))
    of_point = ops.gather(island, body_of_point)
    measures = ops.rows(lambda M, free, before: momentum(M, free, before, slow), x.inertia, x.free, before)
    scale, speed = ops.rows(lambda s: (s[0], s[1]), summed(island, island, measures))
    acts = ops.add_at(ops.rows(lambda i: 0.0 * i, island), of_point, ops.rows(lambda a: ops.where(a > 0.0, 1.0, 0.0), x.acts))
    live = at_island(acts, island)
    V = ops.rows(lambda a, free, V: ops.where(a > 0.0, V, free), live, x.free, before)
    plan = ops.Plan(*ops.block_plan(x.inertia, x.pairs))

    def step(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        V = z["V"]
        rubs, changes = lagged(x, V, z["friction"], z["steps"] >= CHANGES)
        both = ops.add_at(ops.rows(lambda i: np.zeros(2) * i, island), of_point, changes)
        may = ops.where(z["steps"] < FALLS, 1.0, 0.0)
        differs = ops.rows(lambda on, both: ops.where(both[0] > AGREES**2 * both[1], may * on, 0.0), z["live"], ops.gather(both, island))
        changed = ops.gather(differs, body_of_point)
        friction = ops.rows(lambda new, rubs, old: ops.where(new > 0.0, rubs, old), changed, rubs, z["friction"])
        found = evaluated(x, V, friction, z["dual"])
        left = at_island(summed(island, island, ops.rows(weighed, x.inertia, found.gradient)), island)

        def goes_on(on: Any, differs: Any, left: Any, s: Any) -> Any:
            return ops.where(ops.logical_or(differs > 0.0, left > TOLERANCE**2 * s), on, 0.0)

        live = ops.rows(goes_on, z["live"], differs, left, ops.gather(scale, island))
        go = ops.total(live) > 0.0
        moved, dual = ops.when(go, lambda: stepped(x, plan, island, live, V, friction, z["dual"], found), (V, z["dual"]))
        after = {"V": moved, "friction": friction, "dual": dual, "live": live, "left": left, "steps": z["steps"] + 1.0}
        return after, ops.logical_not(go)

    none = {"dual": ops.rows(lambda p: np.zeros(3) * p[0], x.points), "left": ops.rows(lambda on: 0.0 * on, live)}
    begin = {"V": V, "friction": x.friction, "live": live, **none, "steps": 0.0}
    z, found = ops.while_loop(step, begin, FEW_STEPS)
    V, friction, dual = z["V"], z["friction"], z["dual"]

    def rests(on: Any, left: Any, speed: Any, s: Any) -> Any:
        return ops.where(ops.logical_and(speed < REST * REST * s, left > FINE * FINE * s), on, 0.0)

    still = ops.rows(rests, live, z["left"], *(ops.gather(table, island) for table in (speed, scale)))

    def closer() -> Any:
        return stepped(x, plan, island, still, V, friction, dual, evaluated(x, V, friction, dual))[0]

    V = ops.when(ops.total(still) > 0.0, closer, V)
    V = ops.rows(lambda V, on: ops.where(ops.logical_or(found, ops.equal(on, 0.0)), 1.0, np.nan) * V, V, z["live"])
    return Solution(V, lagged(x, V, friction, True)[0], live)


def summed(island: Any, like: Any, each: Any) -> Any:
    """Return the sums (n, …) of rows over islands, in the row of each island's lowest body."""
    return ops.add_at(ops.rows(lambda i, y: 0.0 * y, like, each), island, each)


def at_island(table: Any, island: Any) -> Any:
    """Return for each body (n, …) what its island has."""
    return ops.rows(lambda y: y, ops.gather(table, island))


def momentum(M: Array, free: Array, before: Array, slow: float) -> Array:
    """Return a measure, squared, of a body's momentum in a step, with that of a ``slow`` speed, and before it (2)."""
    M = M.reshape(6, 6)
    change = free - before
    return ops.array([free @ (M @ free) + change @ (M @ change) + slow * slow * M[5, 5], before @ (M @ before)])


def stepped(x: Problem, plan: ops.Plan, island: Any, live: Any, V: Any, friction: Any, dual: Any, found: Evaluation) -> tuple[Any, Any]:
    """Return V (n, 6) and the dual (p, 3) after a step of Newton's method from where the problem is evaluated, in islands of ``live``
    bodies (n)."""
    C, L = ops.block_cholesky(found.diagonal, x.pairs, found.blocks, plan.place, plan.start, plan.row)
    y = ops.block_solve(plan.order, plan.start, plan.row, C, L, found.gradient)
    d = ops.rows(lambda y, on: ops.where(on > 0.0, -y, 0.0), y, live)
    alpha = line(x, island, V, d, found.gradient, friction, live)
    return ops.rows(lambda V, d, a: V + a * d, V, d, alpha), dual_after(x, V, d, friction, dual)


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
        s = ops.rows(lambda s, first, now: line_search.tried(s, first[0], now[0], now[1]), s, first, now)
        return {"lines": s}, ops.equal(ops.total(ops.rows(lambda s: s[4], s)), 0.0)

    begin = ops.rows(lambda on: line_search.begun(ops.where(on > 0.0, 1.0, 0.0)), live)
    z, _ = ops.while_loop(try_again, {"lines": begin}, line_search.TRIES)
    return at_island(ops.rows(lambda s: s[0], z["lines"]), island)
