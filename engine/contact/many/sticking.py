"""Memory of sticking where points are rows: by how much pairs gave way since they stick (see :mod:`engine.contact.point_law`), in some
places for pairs that press or have a recess, each with its number, in their order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.many.manifolds import KIND
from engine.contact.material import ContactError
from engine.ops import floats, procedure

Array = np.ndarray
#: pairs that may stick at once, or of more than half as many shapes so many for each: a ground and a neighbour; further ones, by their
#: numbers, creep as if they had just begun to
PLACES, OF_SHAPE = 64, 2
#: of tables of free bodies, for each shape: each of equal balls, as close as can be, touches twelve, each of a heap four to eight
EACH = 6
#: kinds and shapes that numbers of their pairs tell apart
KINDS, SHAPES = 64.0, 2.0**21


def places_of(pairs: int, shapes: int) -> int:
    """Return the number of pairs that may stick at once, of so many, of so many shapes.

    >>> places_of(20, 9), places_of(1000, 20), places_of(1000, 100)
    (20, 64, 200)
    """
    return min(pairs, max(PLACES, OF_SHAPE * shapes))


class Held(NamedTuple):
    """Memory of sticking of the pairs that touch in a step, in world axes.

    Attributes
    ----------
    number : (m), ascending
    size : (m), half of how thick the thinner shape is, m
    rotation : (m, 9), of the first bodies
    stuck : (m, 10 or 16), as :func:`engine.contact.point_law.point_rows_and_friction` has it, from the second bodies' origins
    apart : (m, 4), whether the first bodies move, and the second bodies' origins seen from theirs
    flight : (m, 6), how they move in the flight
    """

    number: Any
    size: Any
    rotation: Any
    stuck: Any
    apart: Any
    flight: Any


@procedure
def first_of(of: Any, pairs: Any) -> Any:
    """Return the row, from 1 on, of the first point of each pair; zero of those that have none."""
    first = floats(len(pairs))
    for k in range(len(of)):
        if first[int(of[k])] == 0.0:
            first[int(of[k])] = k + 1
    return first


def found(stuck: Any, pairs: int, turns: bool, of: Any) -> Any:
    """Return the sticking (p, 7 or 10) of points whose pairs, from 1 to ``pairs``, are given, from places (n, 8 or 11) with the numbers of
    pairs, which are zero in empty ones."""
    at = ops.add_at(np.zeros(pairs + 1), *ops.rows(lambda S, k: (S[0], k + 1.0), stuck, ops.row_numbers(stuck)))
    return of_places(stuck, 11 if turns else 8, ops.gather(at, of))


def of_places(stuck: Any, wide: int, at: Any) -> Any:
    """Return the sticking (p, 7 or 10) in places (n, 8 or 11), which are ``wide``, by their numbers from 1 on (p); zeros by 0."""
    return ops.gather(np.concatenate([np.zeros((1, wide - 1)), ops.rows(lambda S: S[1:], stuck)]), at)


def kept(points: Any, constants: Any, friction: Any, of: Any, twists: tuple[Any, Any], rotations: Any, sizes: Any, was: Any,
         moves: Any, places: int, turns: bool) -> Any:  # fmt: skip
    """Return the memory of sticking at the end of a step, a table (``places``, 8), or where pairs have couples (``places``, 11).

    Parameters
    ----------
    points, constants, friction : rows, c, and friction of the points; of : their pairs' numbers, from 1 on
    twists : of their first and second bodies (p, 6)
    rotations : of their first bodies (p, 9)
    sizes : of all pairs, m (pairs + 1), by their numbers
    was : what was stuck (p, 10), with the place; or (p, 13 or 16)
    moves : by how much pairs move in the step (p, 6), as :func:`engine.contact.point_law.sticking_after` has it
    """
    moments = ops.rows(lambda c, row, f, V_a, V_b, w: point_law.normal_impulse_moments(c, row, f, V_b - V_a, w[6:9]),
                       constants, points, friction, *twists, was)  # fmt: skip
    first = ops.gather(first_of(of, sizes), of)
    sums = ops.add_at(ops.rows(lambda f: np.zeros(10 if turns else 9), first), ops.rows(lambda f: f - 1.0, first), moments)

    def one(k: Any, f: Any, number: Any, c: Array, s: Array, M: Array, w: Array, size: Any, R: Array) -> tuple[Array, Any]:
        own = place(c[2], number, s, M, w, size, R)
        return own, ops.logical_and(ops.equal(k + 1.0, f), keeps_place(s, own))

    rows, own = ops.rows(one, ops.row_numbers(points), first, of, constants, sums, moves, was, ops.gather(sizes, of), rotations)
    none = np.zeros((places, 11 if turns else 8))
    return ops.table(ops.gather(np.concatenate([ops.chosen(rows, own), none]), np.arange(float(places))))


def place(h: Any, number: Any, sums: Array, M: Array, was: Array, size: Any, R: Array) -> Array:
    """Return a place (8 or 11): the number of a pair, and how it gave way in the axes R (9) of its first body, by
    :func:`engine.contact.point_law.sticking_after`."""
    return np.concatenate([[number], point_law.rotated_sticking(R.reshape(3, 3).T, point_law.sticking_after(h, sums, M, was, size))])


def keeps_place(sums: Array, place: Array) -> Any:
    """Return whether a pair with the ``sums`` of its moments presses, or its place (8 or 11) has a recess."""
    return ops.logical_or(sums[0] > 0.0, place[1 + point_law.RECESS] > 0.0)


def in_places(held: tuple[int, int], number: Array, recess: Array) -> Array:
    """Return the memory, of the shape ``held``, of pairs with an ascending number (m) and a recess (m), m.

    >>> in_places((2, 8), np.array([3.0, 5.0, 6.0]), np.array([0.02, 0.0, 0.01]))[:, [0, 7]]
    array([[3.  , 0.02],
           [6.  , 0.01]])

    Raises
    ------
    ContactError : more pairs have a recess than there are places, and springs would throw the rest
    """
    kept, rows = np.zeros(held), np.flatnonzero(recess > 0.0)
    if len(rows) > held[0]:
        raise ContactError(f"{len(rows)} pairs of shapes overlap at the start so that springs would throw them apart; expected at most "
                           f"{held[0]} of these, or shapes that touch at most")  # fmt: skip
    kept[: len(rows), 0], kept[: len(rows), 1 + point_law.RECESS] = number[rows], recess[rows]
    return kept


@procedure
def matched(number: Any, places: Any) -> Any:
    """Return of pairs with an ascending number (m) which place has theirs, from 1 on, or 0 (m), of places' numbers (n), which ascend as
    well, before zeros.

    >>> matched(np.array([2.0, 5.0]), np.array([1.0, 5.0, 0.0]))
    array([0., 2.])
    """
    at = floats(len(number))
    j = 0
    for k in range(len(number)):
        while j < len(places) and places[j] < number[k]:
            j += 1
        if j < len(places) and places[j] == number[k]:
            at[k] = float(j + 1)
    return at


def number_of(a: Array, b: Array, p: Array) -> Any:
    """Return the number of a pair of shapes p (5) with outlines a and b, which ascends as :class:`~engine.contact.many.manifolds.Manifolds`
    has pairs."""
    return ((KINDS * a[KIND] + b[KIND]) * SHAPES + p[3]) * SHAPES + p[4] + 1.0


def holding(pairs: Any, number: Any, size: Any, before: Any, poses: Any, origins: Any, places: Any, turns: bool) -> Held:
    """Return the sticking of ``pairs`` (m, 5) on bodies at ``poses`` (n, 12), and ``before`` the step, with numbers and sizes (m), from its
    places (k, 8 or 11), with the second bodies' origins (m, 3) as points' places are seen."""

    def of(p: Array, P_a: Array, P_b: Array, T_a: Array, T_b: Array, origin: Array, S: Array) -> tuple[Array, ...]:
        before, now = ((ops.where(p[2] > 0.5, T.reshape(3, 4), np.eye(4)[:3]), U.reshape(3, 4)) for T, U in ((P_a, P_b), (T_a, T_b)))
        R = now[0][:, :3]
        gave, runs = point_law.rotated_sticking(R, S), np.zeros(3 if turns else 0)       # no surface that runs
        apart, flight = np.append(p[2], (now[1] - now[0])[:, 3]), point_law.relative_motion(before, now)
        return R.ravel(), np.concatenate([gave[:6], origin, gave[6:7], runs, gave[7:]]), apart, flight

    gave = of_places(places, 11 if turns else 8, matched(number, ops.rows(lambda S: S[0], places)))
    ends = [ops.gather(T, ops.rows(lambda p, k=k: p[k], pairs)) for T in (before, poses) for k in (0, 1)]
    return Held(number, size, *ops.rows(of, pairs, *ends, origins, gave))


def kept_by(h: Any, pressed: Any, of: Any, changed: Any, pushed: Any, holds: Held, places: Any, turns: bool, ago: Any) -> Any:
    """Return the memory of sticking (k, 8 or 11), of so many places at most, at the end of a step of h, of how the twists of both bodies of
    the pairs (m, 6) ``changed`` in it, and by what impulses ``pushed`` them, so long ``ago``, and with the points'
    :func:`engine.contact.point_law.normal_impulse_moments` (p, 9 or 10), which are ``of`` these pairs (p)."""
    sums = ops.add_at(ops.rows(lambda k: np.zeros(10 if turns else 9), holds.number), of, pressed)

    def one(number: Any, s: Array, V_a: Array, V_b: Array, to_a: Array, to_b: Array, S: Array, r: Array, flight: Array, size: Any,
            R: Array) -> tuple[Array, Any]:  # fmt: skip
        V_a, to_a = (r[0] * point_law.seen_at(V, r[1:]) for V in (V_a, to_a))
        M = point_law.motion_after(flight, (to_a, to_b), V_b - V_a, ago, h - ago)
        own = place(h, number, s, M, S, size, R)
        return own, keeps_place(s, own)

    known = holds.stuck, holds.apart, holds.flight, holds.size, holds.rotation
    rows = ops.chosen(*ops.rows(one, holds.number, sums, *changed, *pushed, *known))
    return ops.chosen(rows, ops.rows(lambda k: k < places, ops.row_numbers(rows)))
