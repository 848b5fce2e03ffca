"""Impulses of all points by the bodies' velocities, with their Jacobian, and along a line: loops over points, then over pairs.

Velocities V (n, 6) are the bodies' twists in world axes, each about its own origin, so that what lies far from the world's origin costs no
digits. Of a pair, r goes from the origin of A to that of B, about which are the pair's twist W and wrench F::

    W = V_b − S V_a,   S (ω, v) = (ω, v + ω × r),   F_b = F,   F_a = −Sᵀ F                                      (1)
    H_bb = K,   H_ab = −Sᵀ K,   H_aa = Sᵀ K S,   K = −∂F/∂W                                                      (2)

Impulses act at one place x of both bodies, a = c h before flight ends, when x was at x − a ẋ and a centre of mass at c − a p/m. So their
arms there are::

    x − c_b + d_b,   x − c_a + d_a,   d = a (p/m − ẋ)                                                            (3)

and r is longer by d_a − d_b. By these arms are momenta changed, and velocities: so what impulses take from the bodies' energy is what
the problem says of it, however far bodies go in a step. Both velocities in d are those before the flight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.many.manifolds import FOUND, MATERIAL, MOBILITY, OUTLINE, SIZE, TURN, TURNING, VELOCITY, Manifolds
from engine.contact.many.sticking import Held, holding, kept_by, number_of
from engine.contact.material import on_each_other, turning_of_two
from engine.contact.point_law import packed_point, unpacked_point
from engine.spatial import so3

Array = np.ndarray
#: columns of a pair
A, B, MOVES, OFFSET = 0, 1, 2, slice(3, 6)


class Problem(NamedTuple):
    """Tables of all contacts of a step.

    Attributes
    ----------
    inertia : (n, 36), M of each body about its origin, in world axes, row by row
    before, free : (n, 6), the velocities before the step, and where its flight ends
    pairs : (m, 6), the bodies of both, the second twice where the first stands still; whether the first moves; and r (3)
    points : (p, 28), the pair, the constants (9) and the row (18) of :mod:`engine.contact.point_law`; or (p, 37): its ``packed_point``
    friction : (p, 2 or 4), that of the normal impulses before the step
    acts : (p), the normal impulse where flight leads
    held : what is held of the pairs; turns : whether they have torsional or rolling friction
    """

    inertia: Any
    before: Any
    free: Any
    pairs: Any
    points: Any
    friction: Any
    acts: Any
    held: Held
    turns: bool


def problem(found: Manifolds, stuck: Any, outlines: Any, begun: Any, poses: Any, inertia: Any, before: Any, free: Any, drift: Any,
            h: Any, stiction: Any, combine: str, way: float, turns: bool) -> Problem:  # fmt: skip
    """Return the problem of what touches in a step of h, by what is ``stuck`` (k, 8 or 11), with the velocities (n, 6) before it and where
    its flight ends, in axes of the world as bodies stand then, ``drift`` (n, 3), those of centres of mass before it, and poses (n, 12) that
    had ``begun`` it."""
    one, two = (ops.gather(outlines, ops.rows(lambda p, k=k: p[k], found.pairs)) for k in (3, 4))
    ways = ops.rows(lambda u: way * h * u, drift)                              # a p/m

    def between(p: Array, T_a: Array, T_b: Array, way_a: Array, way_b: Array) -> Array:
        return np.concatenate([p[:3], p[MOVES] * ((T_b - T_a)[[3, 7, 11]] + way_a - way_b)])      # (3)

    pairs = ops.rows(between, found.pairs, *ends(found.pairs, poses), *ends(found.pairs, ways))

    def own(p: Array, x: Any, y: Any) -> tuple[Any, ...]:
        surface = [*on_each_other(x[MATERIAL], y[MATERIAL], combine), x[MOBILITY] + y[MOBILITY]]
        turning = [*turning_of_two(x[TURNING], y[TURNING], combine), ops.minimum(x[SIZE], y[SIZE])] if len(x) > OUTLINE else []
        return ops.array([*surface, *turning]), number_of(x, y, p), ops.minimum(x[SIZE], y[SIZE])

    surfaces, number, size = ops.rows(own, found.pairs, one, two)
    held = holding(found.pairs, number, size, begun, poses, ends(pairs, ways)[1], stuck, turns)
    of = ops.rows(lambda x: x[0], found.points)

    def of_point(x: Array, surface: Array, stuck: Array, way_b: Array, was: Array, flown: Array,
                 shift: Array) -> tuple[Array, Array, Any]:
        k, d, mu, static, w, *turning = surface
        c = ops.array([k, d, h, k * w * x[FOUND + 1], mu, static, w, stiction, way, *turning])
        rubs, went = 4 if turning else 2, way * h * x[VELOCITY]
        normal = point_law.turned_back(x[4:7], x[TURN], way * h)
        seen = normal[None], x[None, 7], x[None, 8], x[None, 9], point_law.turned_on(flown[:3], went, shift)[None]
        row = point_law.point_rows_and_friction(c, (x[1:4] + way_b - went)[None], *seen, was, flown, stuck)
        return np.concatenate([x[:1], packed_point(c, row[: -rubs - 1])]), row[-rubs - 1 : -1], row[-1]

    shifts = ops.rows(shift_of, pairs, *ends(pairs, ways), *ends(pairs, free))
    given = surfaces, held.stuck, ends(pairs, ways)[1], *(twists(pairs, V) for V in (before, free)), shifts
    points, friction, acts = ops.rows(of_point, found.points, *(ops.gather(x, of) for x in given))
    return Problem(inertia, before, free, pairs, points, friction, acts, held, turns)


def twists(pairs: Any, V: Any) -> Any:
    """Return the twists W (m, 6) of the pairs: (1)."""
    return ops.rows(lambda p, V_a, V_b: V_b - p[MOVES] * point_law.seen_at(V_a, p[OFFSET]), pairs, *ends(pairs, V))


def shift_of(p: Array, way_a: Array, way_b: Array, V_a: Array, V_b: Array) -> Array:
    """Return ω_b × d_b − ω_a × d_a (3) of a pair whose centres of mass went on by d: see :func:`engine.contact.point_law.turned_on`."""
    return ops.cross(V_b[:3], way_b) - p[MOVES] * ops.cross(V_a[:3], way_a)


def ends(pairs: Any, V: Any) -> list[Any]:
    """Return the rows of both bodies of the pairs."""
    return [ops.gather(V, ops.rows(lambda p, k=k: p[k], pairs)) for k in (A, B)]


def of_pair(x: Problem) -> Any:
    """Return, for each contact point, the number of its pair."""
    return ops.rows(lambda p: p[0], x.points)


class Evaluation(NamedTuple):
    """The gradient M (V − Ṽ) − γ (n, 6), the blocks (n, 36) on the diagonal of its Jacobian, and those of pairs (m, 36)."""

    gradient: Any
    diagonal: Any
    blocks: Any


def evaluated(x: Problem, V: Any, friction: Any, dual: Any) -> Evaluation:
    """Return the gradient M (V − Ṽ) − γ of the step's cost and its Jacobian at the twists V (n, 6), with each point's lagged friction
    (p, 2 or 4) and its ``dual`` (p, 3) of :func:`engine.contact.point_law.wrench`."""
    of = of_pair(x)

    def pushing(p: Array, f: Array, W: Array, y: Array) -> Array:
        c, row = unpacked_point(p[1:])
        return point_law.wrench(c, row[None], f[None], W, y[None])

    pushes = ops.rows(pushing, x.points, friction, ops.gather(twists(x.pairs, V), of), dual)
    sums = ops.add_at(ops.rows(lambda p: np.zeros(27), x.pairs), of, pushes)

    def divided(p: Array, sum: Array) -> tuple[Array, ...]:
        K = ops.symmetric(sum[6:], 6)
        S = np.block([[np.eye(3), np.zeros((3, 3))], [-so3.hat(p[OFFSET]), np.eye(3)]])
        SK = p[MOVES] * (S.T @ K)                                              # (2)
        return p[MOVES] * (S.T @ sum[:6]), -sum[:6], (SK @ S).ravel(), K.ravel(), -SK.ravel()

    to_a, to_b, of_a, of_b, blocks = ops.rows(divided, x.pairs, sums)
    at = tuple(ops.rows(lambda p, k=k: p[k], x.pairs) for k in (A, B))
    change = ops.rows(lambda M, v, f: M.reshape(6, 6) @ (v - f), x.inertia, V, x.free)
    return Evaluation(ops.add_at(change, at, (to_a, to_b)), ops.add_at(x.inertia, at, (of_a, of_b)), blocks)


def dual_after(x: Problem, V: Any, d: Any, friction: Any, dual: Any) -> Any:
    """Return the points' :func:`engine.contact.point_law.dual_after` a step d (n, 6) of Newton's method from V (n, 6)."""

    def one(p: Array, f: Array, W: Array, D: Array, y: Array) -> Array:
        return point_law.dual_after(unpacked_point(p[1:])[1], f, W, D, y)

    return ops.rows(one, x.points, friction, *(ops.gather(twists(x.pairs, U), of_pair(x)) for U in (V, d)), dual)


def along(x: Problem, W: Any, D: Any, friction: Any, alpha: Any) -> Any:
    """Return for each point (p, 2) its part of the slope of the objective and of the slope's change, at α (m) of each pair along D from W,
    twists (m, 6) of the pairs."""
    of = of_pair(x)

    def part(p: Array, f: Array, W: Array, D: Array, a: Any) -> Array:
        c, row = unpacked_point(p[1:])
        return point_law.slope_and_curvature(c, row, f, W + a * D, D)

    return ops.rows(part, x.points, friction, *(ops.gather(table, of) for table in (W, D, alpha)))


def lagged(x: Problem, V: Any, friction: Any, falls: Any) -> tuple[Any, Any]:
    """Return the friction (p, 2 or 4) that goes with V (n, 6), or as much of that as was taken for it, where it ``falls`` only; and (p, 2)
    how far its impulses are from what they were taken for, and what they are, squared."""

    def one(p: Array, f: Array, W: Array) -> tuple[Array, Array]:
        c, row = unpacked_point(p[1:])
        *rubs, change, most = point_law.lagged(c, row[None], f[None], W, falls)
        return np.array(rubs), ops.array([change * change, most * most])

    return ops.rows(one, x.points, friction, ops.gather(twists(x.pairs, V), of_pair(x)))


def impulses(x: Problem, V: Any, friction: Any, acts: Any, h: Any, ago: Any, places: Any) -> tuple[Any, Any]:
    """Return the impulses (p, 3), or with couples (p, 6), of all points on their second bodies, in world axes, at V (n, 6), where anything
    ``acts`` (n) on these; and what is stuck (k, 8 or 11), in so many places at most, by the end of the step of h, of which they act so
    long ``ago``."""
    wide = 6 if x.turns else 3

    def one(p: Array, f: Array, W: Array, S: Array, on: Any) -> tuple[Array, Array]:
        c, row = unpacked_point(p[1:])
        g = ops.where(on > 0.0, point_law.impulses(c, row[None], f[None], W)[:wide], 0.0)
        return g, point_law.normal_impulse_moments(c, row, f, W, S[6:9])

    of = of_pair(x)
    known = ops.gather(twists(x.pairs, V), of), ops.gather(x.held.stuck, of)
    g, pressed = ops.rows(one, x.points, friction, *known, ops.gather(ends(x.pairs, acts)[1], of))
    changed, pushed = (ends(x.pairs, ops.rows(lambda after, before: after - before, V, U)) for U in (x.before, x.free))
    return g, kept_by(h, pressed, of, changed, pushed, x.held, places, x.turns, ago)
