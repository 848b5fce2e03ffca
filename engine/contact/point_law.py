"""Contact impulses from the velocity, at the points of a pair: Hunt & Crossley's normal impulse and the regularised friction cone.

The normal impulse is a function of the velocity after the step, as :mod:`engine.contact.hunt_crossley` has it. Friction is that of a
normal impulse that is known, of the velocity before the step at first, and then of what this leads to: so both are gradients of one convex
function. It is regularised: below a speed v_s a contact sticks, and creeps at less.

All points of a pair are asked at once, by functions that are compiled once for each number of points. They take what holds for the pair,
c (9) of :func:`constants`, and for its points

    rows : (n, 14), σ, the gap, its rate before the step and that of flight, the normal n (3), the place x (3) from c, how many points
        it counts as, and the velocity (3) of :func:`turned_on`; or (n, 18) with ξ/h (3) and the recess, m, where these are kept; or
        (n, 21) with the velocity (3) at which the second's surface runs along the plane relative to that of the first, where one does
        as belts do; or (n, 24) with Θ/h (3) of :mod:`engine.contact.coulomb_friction`
    friction : (n, 2), μ times the normal impulse that is known, N·s, and the speed that counts as rest, m/s; or (n, 4) with that impulse,
        and the speed of turning that counts as rest, rad/s
    W : (6), the twist of the second body relative to the first, in world axes about c

Of pairs with torsional or rolling friction c has 12 numbers, rows 24, and points act by impulses and couples (n, 6).

Surfaces that begin in each other press on each other behind a *recess*, by which each of the pair's gaps is larger; it closes at
:data:`PARTING`, and the bodies part no faster than that, about.

Reference: Castro, Han & Masterjohn, *Irrotational contact fields*, arXiv:2312.03908.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.coulomb_friction import STIFFEST, couple, couple_friction, regularised_friction, turning_after
from engine.contact.hunt_crossley import lasts, normal_impulse, weight
from engine.contact.material import STRIBECK
from engine.contact.pairs import Pair
from engine.spatial import so3

Array = np.ndarray
#: numbers of a point, of one with ξ/h and the recess, of one of surfaces that run, and of one with Θ/h; and the constants of a pair
#: without couples
ROW, HELD, RUNNING, TURNING, CONSTANTS = 14, 18, 21, 24, 9
#: place of the recess in what is kept of a pair, and in what is ``stuck`` of it, seen from its place
RECESS, RECESS_SEEN = 6, 9
#: m/s, at which the recess of surfaces that begin in each other closes
PARTING = 0.1
UPPER = np.triu_indices(6)


def constants(pair: Pair, h: Any, stiction: float, way: float) -> Array:
    """Return c (9): stiffness, dissipation, h, stiffness times mobility of all points, kinetic and static μ, mobility, the speed that
    counts as rest, and how far impulses go of their ``way``; or (12) with torsional and rolling friction and the size of the pair, m."""
    m = pair.material
    turning = (*m.turning, pair.size) if pair.turns else ()
    return ops.array([m.stiffness, m.dissipation, h, m.stiffness * pair.mobility * pair.together, m.friction, m.static, pair.mobility,
                      stiction, way, *turning])  # fmt: skip


def turns(c: Array) -> bool:
    """Return whether a pair with the constants c (9 or 12) has couples, of torsional and rolling friction."""
    return len(c) > CONSTANTS


def packed_point(c: Array, row: Array) -> Array:
    """Return one vector of a point's constants c (9 or 12) and its row."""
    return np.concatenate([c[:CONSTANTS], row, c[CONSTANTS:]])


def unpacked_point(p: Array) -> tuple[Array, Array]:
    """Return the constants c (9 or 12) and the row of a point from one vector: the inverse of :func:`packed_point`."""
    end = CONSTANTS + TURNING
    return (p[:CONSTANTS], p[CONSTANTS:]) if len(p) <= end else (np.concatenate([p[:CONSTANTS], p[end:]]), p[CONSTANTS:end])


def wrench_of(x: Array, g: Array) -> Array:
    """Return the wrench (6), about the origin, of an impulse g (3) at x (3), or of one with a couple (6)."""
    moment = ops.cross(x, g[:3])
    return np.concatenate([moment + g[3:] if len(g) > 3 else moment, g[:3]])


def kept_energy(k: Any, w: Any, h: Any, gap: Array, rate: Array, share: Array) -> Any:
    """Return the energy that steps of h can give back of springs k with the mobility w, whose gaps (n), of which each counts as a
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
    """Return the velocity (3) of a body's point x (3), from the body's twist W (6) in world axes."""
    return W[3:] + ops.cross(W[:3], x)


def turned_on(turn: Array, went: Array, shift: Array) -> Array:
    """Return how much faster (3) a pair's second body goes at a place, relative to the first, at the end of a step than by the arms that it
    had when impulses acted: the place ``went`` on since then (3), the bodies turn at ω_b − ω_a = ``turn`` (3), and ``shift`` (3) is
    ω_b × d_b − ω_a × d_a of the ways d that centres of mass went, where arms are from these.

    A table that turns at 2 rad/s has carried a box 1 mm along y, and its velocity there points 2 mm/s to the centre of the circle:

    >>> turned_on(np.array([0.0, 0.0, -2.0]), np.array([0.0, 1e-3, 0.0]), np.zeros(3))
    array([ 0.002, -0.   ,  0.   ])
    """
    return ops.cross(turn, went) - shift


def turned_back(n: Array, rate: Array, ago: Any) -> Array:
    """Return a normal n (3) as it was some time ``ago``, s, from when it turns at ``rate`` (3)."""
    was = n - ago * rate
    return was / ops.norm(was)


def normal_and_slip(row: Array, W: Array) -> tuple[Array, Any, Array]:
    """Return the normal (3), the normal velocity, and the slip (3) of a point, at the twist W (6)."""
    n, u = row[4:7], velocity(W, row[7:10]) + row[11:14]
    un = n @ u
    return n, un, u - un * n


def shifted(row: Array, ut: Array) -> Array:
    """Return the slip w = uₜ + ξ/h (3) that friction acts against, at a point where the bodies slip at uₜ (3)."""
    return slip(row, ut) + row[ROW : HELD - 1] if len(row) > ROW else ut


def shifted_turning(row: Array, W: Array) -> Array:
    """Return the turning w = ω + Θ/h (3) that a point's couples act against: (1) of :mod:`engine.contact.coulomb_friction`."""
    return W[:3] + row[RUNNING:]


def slip(row: Array, ut: Array) -> Array:
    """Return the slip (3) of the surfaces at a point where the bodies slip at uₜ (3)."""
    return ut + row[HELD:RUNNING] if len(row) > HELD else ut


def normal_impulse_and_slope(c: Array, row: Array, un: Any) -> tuple[Any, Any]:
    """Return the normal impulse of a point at the normal velocity ``un``, and its slope there."""
    return normal_impulse(c[0] * row[10], c[1], c[2], row[0], c[8], row[1], row[2], row[3], un)


def gap_after(c: Array, row: Array, un: Any) -> Any:
    """Return the gap of a point at the end of the step, to which impulses lead from where flight ends."""
    return row[1] - recess(row) + c[8] * c[2] * (un - row[3])


def recess(row: Array) -> Any:
    """Return how far behind its surfaces a point presses, m."""
    return row[HELD - 1] if len(row) > ROW else 0.0


def recess_after(recess: Any, h: Any) -> Any:
    """Return a recess, m, after a step of h: it closes at :data:`PARTING`."""
    return ops.maximum(recess - PARTING * h, 0.0)


def point_friction(c: Array, normal: Any, slip2: Any) -> Array:
    """Return a point's ``friction`` (2 or 4) from a normal impulse and the square of a slip, which are known."""
    kinetic, static, mobility, stiction = c[4:8]
    mu = kinetic + (static - kinetic) * ops.exp(-slip2 / STRIBECK**2)
    rubs = ops.array([mu * normal, ops.maximum(STIFFEST * mobility * mu * normal, stiction)])
    return np.concatenate([rubs, couple_friction(c, normal)]) if turns(c) else rubs


def point_rows_and_friction(c: Array, position: Array, normal: Array, gap: Array, before: Array, share: Array,
                            turns_on: Array, was: Array, flown: Array, stuck: Array | None = None) -> Array:  # fmt: skip
    """Return the rows and the friction of points, flattened, and the largest normal impulse at the velocity after flight.

    ``was`` and ``flown`` are the twists before the step and after flight; position, normal and :func:`turned_on` are (n, 3), gap, its
    rate before and share (n). Pairs that may stick have ``stuck`` (10): the rotation and the displacement (6) by which the pair gave way,
    of a place (3) seen from c, and the recess; or (13) with the velocity at which the second's surface runs relative to that of the
    first; or (16) with the turning Θ of the pair.
    """
    rows, friction, acts = [], [], []
    for x, n, g, u0, part, turn in zip(position, normal, gap, before, share, turns_on, strict=True):
        s = weight(c[2] * c[2] * c[3] * (1.0 + c[1] * abs(u0)))                # what loses much is stiff too
        g = g if stuck is None else g + stuck[RECESS_SEEN]
        row = np.concatenate([ops.array([s, g, u0, n @ (velocity(flown, x) + turn)]), n, x, [part], turn])
        if stuck is not None:
            gave = velocity(stuck[:6], x - stuck[6:9])
            row = np.concatenate([row, (gave - (n @ gave) * n) / c[2], [stuck[RECESS_SEEN]]])
            if len(stuck) > 10:
                row = np.concatenate([row, stuck[10:13] - (n @ stuck[10:13]) * n])
            if turns(c):
                row = np.concatenate([row, stuck[13:] / c[2]])
        ut = slip(row, normal_and_slip(row, was)[2])
        rows.append(row)
        friction.append(point_friction(c, normal_impulse_and_slope(c, row, u0)[0], ut @ ut))
        acts.append(normal_impulse_and_slope(c, row, row[3])[0])
    return np.concatenate([*rows, *friction, [ops.largest(acts)]])


def lagged(c: Array, rows: Array, friction: Array, W: Array, falls: Any = None) -> Array:
    """Return the friction (n, 2 or 4), flattened, of the normal impulses at a twist W, no more than was assumed where it ``falls`` only;
    the largest difference of its impulses from those assumed, and the largest of them; the speeds go along with the impulses."""
    found = []
    for row, taken in zip(rows, friction, strict=True):
        _, un, ut = normal_and_slip(row, W)
        ut = slip(row, ut)
        rubs = point_friction(c, normal_impulse_and_slope(c, row, un)[0], ut @ ut)
        if falls is not None:
            rubs = np.where(np.arange(len(rubs)) % 2, rubs, ops.minimum(rubs, ops.where(falls, taken, np.inf)))
        found.append(rubs)
    rubs, known = np.array(found)[:, ::2].ravel(), friction[:, ::2].ravel()
    return np.concatenate([*found, [ops.largest(rubs - known), ops.largest(rubs)]])


def impulses(c: Array, rows: Array, friction: Array, W: Array) -> Array:
    """Return the impulses (n, 3), or with couples (n, 6), on the second body, flattened, and the wrench (6) of as much of them as lasts: of
    points that do not open within the next step."""
    found: list[Array] = []
    lasting: Any = np.zeros(6)
    for row, (rubs, slow, *turning) in zip(rows, friction, strict=True):
        n, un, ut = normal_and_slip(row, W)
        w = shifted(row, ut)
        g = normal_impulse_and_slope(c, row, un)[0] * n - regularised_friction(rubs, slow, w)[0] * w
        if turns(c):
            g = np.concatenate([g, couple(c, n, shifted_turning(row, W), np.array(turning))[0]])
        found.append(g)
        lasting = lasting + ops.where(lasts(c[2], c[8], row[1], row[3], un), 1.0, 0.0) * wrench_of(row[7:10], g)
    return np.concatenate([*found, lasting])


def wrench(c: Array, rows: Array, friction: Array, W: Array, dual: Array | None = None) -> Array:
    """Return F = Σ Cᵀ g (6) and the upper triangle of K = Σ Cᵀ G C (21) of points at x, with u = C W.

    With G = b 1 + (a − b) n nᵀ − b w wᵀ/|w|², the last where it slides, K is a sum of squares of Cᵀ 1, Cᵀ n and Cᵀ w; couples add to
    what is of moments and of turning. With ``dual`` (n, 3), y of :func:`dual_after`, that last is −b (y wᵀ + w yᵀ)/(2 |w|).
    """
    total: Any = np.zeros(27)
    for row, (rubs, slow, *turning), y in zip(rows, friction, [None] * len(rows) if dual is None else dual, strict=True):
        n, un, ut = normal_and_slip(row, W)
        push, slope = normal_impulse_and_slope(c, row, un)

        def acting(row: Array = row, rubs: Any = rubs, slow: Any = slow, n: Array = n, ut: Array = ut, push: Any = push,
                   slope: Any = slope, turning: list[Any] = turning, y: Any = y) -> Array:  # fmt: skip
            shift = shifted(row, ut)
            b, slides = regularised_friction(rubs, slow, shift)
            X = so3.hat(row[7:10])
            m, w = np.concatenate([X @ n, n]), np.concatenate([X @ shift, shift])
            K = b * np.block([[-X @ X, X], [-X, np.eye(3)]]) + (slope - b) * np.outer(m, m)
            if y is None:
                K = K - b * slides * np.outer(w, w)
            else:
                turn = 0.5 * b * ops.sqrt(slides) * np.outer(np.concatenate([X @ y, y]), w)
                K = K - (turn + turn.T)
            F = push * m - b * w
            if turns(c):
                tau, held = couple(c, n, shifted_turning(row, W), np.array(turning))
                F, K[:3, :3] = np.concatenate([F[:3] + tau, F[3:]]), K[:3, :3] + held
            return np.concatenate([F, K[UPPER]])

        rubs = turning[0] if turns(c) else rubs                                # a surface may turn against friction that slides without
        total = total + ops.when(ops.logical_or(push > 0.0, rubs > 0.0), acting, np.zeros(27))
    return total


def dual_after(row: Array, friction: Array, W: Array, D: Array, y: Array) -> Array:
    """Return y (3) of a point after a step D (6) of Newton's method from W: the direction of its friction −μ γ y, at most 1 long.

    Where it slides y = w/|w|, which is solved as |w| y = w, for y as well: |w| dy + (w·dw) y/|w| = w + dw − |w| y. From y = 0 on the
    slope of friction is positive in all directions at first, and steps do not overshoot the narrow wells where points begin to stick.

    Reference: Chan, Golub & Mulet, *A nonlinear primal-dual method for total variation-based image restoration*, SIAM J. Sci. Comput.
    20(6), 1999, §4.
    """
    n, _, ut = normal_and_slip(row, W)
    w, du = shifted(row, ut), velocity(D, row[7:10])
    dw, size = du - (n @ du) * n, ops.sqrt(ops.maximum(w @ w, friction[1] * friction[1]))
    _, slides = regularised_friction(friction[0], friction[1], w)
    then = (w + dw) / size - slides * (w @ dw) * y
    return then / ops.sqrt(ops.maximum(then @ then, 1.0))


def slope_and_curvature(c: Array, row: Array, friction: Array, W: Array, D: Array) -> Array:
    """Return a point's part (2) of the cost's slope along D (6) at a twist W, and of its curvature: −F·D and D·K D of :func:`wrench`."""
    n, un, ut = normal_and_slip(row, W)
    push, slope = normal_impulse_and_slope(c, row, un)
    w = shifted(row, ut)
    b, slides = regularised_friction(friction[0], friction[1], w)
    du = velocity(D, row[7:10])
    dn, turn = n @ du, w @ du
    found = ops.array([b * turn - push * dn, b * (du @ du - dn * dn) + slope * dn * dn - b * slides * turn * turn])
    if not turns(c):
        return found
    tau, held = couple(c, n, shifted_turning(row, W), friction[2:])
    return found + ops.array([-(tau @ D[:3]), D[:3] @ (held @ D[:3])])


def normal_impulse_moments(c: Array, row: Array, friction: Array, W: Array, place: Array) -> Array:
    """Return the normal impulse of a point times 1, its normal, its place, v_s, and the square of its distance from the line along the
    normal through a ``place`` (3): (9), or (10) with ω_s of couples. The moments of several points add up."""
    n, un, _ = normal_and_slip(row, W)
    r = row[7:10] - place
    push, along = normal_impulse_and_slope(c, row, un)[0], n @ r
    return push * np.concatenate([np.ones(1), n, row[7:10], ops.array([friction[1], r @ r - along * along, *friction[3:]])])


def relative_motion(before: tuple[Array, Array], now: tuple[Array, Array]) -> Array:
    """Return how a body B has moved as seen from A (6), of what both poses (3×4) were ``before`` and are ``now``: its rotation and the
    displacement of its origin, in world axes.

    What a table carries has not moved:

    >>> still, turned = np.eye(3), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> table, box = ([np.column_stack([R, R @ x]) for R in (still, turned)] for x in ([0.0, 0.0, 0.0], [2.0, 0.0, 0.0]))
    >>> relative_motion((table[0], box[0]), (table[1], box[1]))
    array([0., 0., 0., 0., 0., 0.])
    """
    (P_a, P_b), (T_a, T_b) = before, now
    Q_a, Q_b = T_a[:, :3] @ P_a[:, :3].T, T_b[:, :3] @ P_b[:, :3].T
    R = Q_b @ Q_a.T
    s = 0.5 * ops.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])      # sin θ about the axis
    return np.concatenate([(1.0 + s @ s / 6.0) * s, (T_b - T_a)[:, 3] - Q_a @ (P_b - P_a)[:, 3]])


def displacement(moved: Array, r: Array) -> Array:
    """Return how far (3) a point of a body B, now r (3) from its origin, has moved with it as seen from A: by :func:`relative_motion` (6),
    to the third order of the rotation.

    >>> displacement(np.array([0.0, 0.0, 0.01, 1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0])).round(9).tolist()
    [0.98, 0.0001, 0.0]
    """
    turns = ops.cross(moved[:3], r)
    return moved[3:] + turns - 0.5 * ops.cross(moved[:3], turns)


def motion_after(flight: Array, pushed: tuple[Array, Array], changes: Array, ago: Any, left: Any) -> Array:
    """Return M (6) of :func:`sticking_after` from the motion of a pair in its ``flight``, from how impulses have ``pushed`` both bodies, so
    long ``ago``, and from how the relative twist ``changes`` (6) in the step, all about the place.

    It is how far B is moved as seen from A, but as if the velocity at the end had held in the time that was ``left`` before impulses acted
    as well: so what sticks comes to rest within few steps.
    """
    to_a, to_b = (ago * np.concatenate([V[:3], V[3:] + 0.5 * ago * ops.cross(V[:3], V[3:])]) for V in pushed)
    return flight + to_b - to_a + left * changes


def seen_at(W: Array, place: Array) -> Array:
    """Return a twist W (6) about a place (3)."""
    return np.concatenate([W[:3], velocity(W, place)])


def sticking_after(h: Any, sums: Array, M: Array, stuck: Array, size: Any) -> Array:
    """Return by how much a pair of shapes has given way while it sticks, at the end of a step of h in which the second has moved by M (6)
    relative to the first, at the place of ``stuck`` (10, 13 or 16): the rotation about the normal and the displacement along the plane
    (6), and the recess (7); and of pairs with couples Θ (10).

    M is of where bodies are, and not of their velocities: what turns with its support does not creep by what is left of an arc above its
    tangents.

    With the ``sums`` of :func:`normal_impulse_moments`; zero of none that push. Points are stretched by v_s h at most, in their root mean
    square, and the turn about where they push is no more than that of what is ``size`` (m) from there.
    """
    push, place = ops.maximum(sums[0], 1e-300), stuck[6:9]
    n, r, slow = sums[1:4] / ops.maximum(ops.norm(sums[1:4]), 1e-300), sums[4:7] / push - place, sums[7] / push
    under = n * (n @ r)                                                        # what is there moves, and rolling does not move it
    way = velocity(M, under - 0.5 * ops.cross(M[:3], under))                   # (1 − exp −θ) x + d, to the second order
    way = way + h * stuck[10:13] if len(stuck) > 10 else way
    gave, turn = stuck[3:6] + way, n @ (stuck[:3] + M[:3])
    gave, lever = gave - (n @ gave) * n, ops.cross(n, r)
    stretch = gave @ gave + 2.0 * turn * (gave @ lever) + turn * turn * (sums[8] / push)
    least = ops.minimum(1.0, h * slow / ops.sqrt(ops.maximum(stretch, 1e-300)))
    held = turn * ops.minimum(1.0, h * slow / ops.maximum(size * abs(turn), 1e-300))
    kept = ops.where(sums[0] > 0.0, least, 0.0) * np.concatenate([held * n, gave + (turn - held) * lever])
    kept = np.append(kept, recess_after(stuck[RECESS_SEEN], h))
    if len(stuck) <= 13:
        return kept
    return np.concatenate([kept, ops.where(sums[0] > 0.0, turning_after(n, stuck[13:] + M[:3], h * sums[9] / push), 0.0)])


def impulses_and_sticking(c: Array, rows: Array, friction: Array, W: Array, M: Array, stuck: Array, size: Any) -> Array:
    """Return :func:`impulses` of a pair's points, and its :func:`sticking_after` (7 or 10) the step, in which it moves by M; ``stuck``
    (10, 13 or 16) is before."""
    sums: Any = sum(normal_impulse_moments(c, row, f, W, stuck[6:9]) for row, f in zip(rows, friction, strict=True))
    return np.concatenate([impulses(c, rows, friction, W), sticking_after(c[2], sums, M, stuck, size)])


def rotated_sticking(R: Array, S: Array) -> Array:
    """Return the sticking of a pair in other axes R (3, 3): its rotation, displacement and recess (7), or with Θ (10)."""
    return np.concatenate([R @ S[:3], R @ S[3:6], S[6:7], *([R @ S[7:]] if len(S) > 7 else [])])
