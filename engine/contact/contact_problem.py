"""All contacts of one step as one impulse law γ(v), with its Jacobian, which :mod:`engine.contact.newton` solves with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.coulomb_friction import SIZE
from engine.contact.newton import Smooth
from engine.contact.pairs import BroadPhase, InitialMotion, Pair, narrow_phase
from engine.contact.point_law import HELD, RUNNING, TURNING
from engine.contact.world_axes import WorldAxes
from engine.spatial import se3

Array = np.ndarray
#: of the largest friction: a difference at which what was known agrees with what it leads to
AGREES = 1e-3
#: pairs of bodies that are asked one by one whether anything of them is near; of more, blocks of so many are asked first
BLOCK = 8


class Patch(NamedTuple):
    """The contact points of one pair in a step: c (9 or 12), rows (n, 18, 21 or 24) and what is stuck (10, 13 or 16) of
    :mod:`engine.contact.point_law`; how the second body moves as seen from the first in a step's ``flight`` (6); and the places'
    velocities ẋ (n, 3) before the step; zeros where it is not near. Rows are of places as they were ``ago``, s."""

    pair: Pair
    near: Any
    constants: Array
    rows: Array
    stuck: Array
    flight: Array
    velocities: Array
    ago: Any

    @property
    def position(self) -> Array:
        """The points' places (n, 3) from c, in world axes, where flight ends."""
        return self.rows[:, 7:10] + self.ago * self.velocities

    @property
    def rubs(self) -> int:
        """Numbers of the friction of each point."""
        return 4 if self.pair.turns else 2


class ContactProblem(Smooth):
    """The impulse law γ(x) of all contacts in a step of h, of velocities x (nv) in ``axes``: a :class:`~engine.contact.newton.Law`.

    Parameters
    ----------
    before, free : the velocities (nv), in those axes, before the step and after its flight
    slow : the speed that counts as rest, m/s
    way : how far impulses go of theirs within the step: c of :func:`~engine.contact.hunt_crossley.normal_impulse`
    stuck : how the pairs gave way since they stick (pairs, 7 or 10), see :func:`~engine.contact.point_law.sticking_after`, in axes of their
        first bodies
    """

    def __init__(self, axes: WorldAxes, pairs: list[Pair], found: BroadPhase, initial: InitialMotion, h: Any, before: Array, free: Array,
                 slow: float, way: float, stuck: Array) -> None:  # fmt: skip
        self.axes, self.h, self.slow, self.way = axes, h, slow, way
        self.patches: list[Patch] = []
        rubs: list[Array] = []
        self.acts: Any = False
        was, flown = axes.twists(before), axes.twists(free)
        #: motions of all bodies (6) before the step and after its flight: :meth:`~engine.contact.world_axes.WorldAxes.motions`
        self.before, self.free = axes.motions(was), axes.motions(flown)
        for pair, near, gave in zip(pairs, found.near, stuck, strict=True):
            c, n, place = point_law.constants(pair, h, slow, way), pair.points, se3.position(found.poses[pair.b.body]) - axes.about
            sticking = point_law.rotated_sticking(se3.rotation(found.poses[pair.a.body]), gave if pair.turns else gave[:7])
            given = np.concatenate([sticking[:6], place, sticking[6:7]])
            given, wide = (np.append(given, pair.running(found.poses)), RUNNING) if pair.runs or pair.turns else (given, HELD)
            given, wide = (np.append(given, sticking[7:]), TURNING) if pair.turns else (given, wide)
            rest, ago = resting(c, slow), way * h if {pair.a.body, pair.b.body} & axes.ways.keys() else 0.0

            def begin(pair: Pair = pair, c: Array = c, given: Array = given, ago: Any = ago) -> Array:
                place, normal, *seen, moves = narrow_phase(pair, found.poses, axes.about, initial)
                u, turns = moves[:, :3], moves[:, 3:]
                place, normal = place - ago * u, np.array([point_law.turned_back(*n, ago) for n in zip(normal, turns, strict=True)])
                W, turn = (relative(pair, was), relative(pair, flown)), turned_on(pair, axes, flown, ago * u)
                made = ops.shared(point_law.point_rows_and_friction, c, place, normal, *seen, turn, *W, given)
                return np.concatenate([made, u.ravel(), flown_apart(pair, initial, found.poses)])

            nothing = np.array([*[0.0] * (wide * n), *rest * n, 0.0, *[0.0] * (3 * n + 6)])
            ends = np.cumsum([wide * n, len(rest) * n, 1, 3 * n])
            rows, friction, (push,), velocities, flight = np.split(ops.when(near, begin, nothing), ends)
            self.patches.append(Patch(pair, near, c, rows.reshape(n, wide), given, flight, velocities.reshape(n, 3), ago))
            rubs.append(friction)
            self.acts = ops.logical_or(self.acts, push > 0.0)
        #: friction (2 or 4) of every point, by the normal impulses before the step
        self.friction = np.concatenate(rubs)
        #: pairs of bodies, with their pairs of shapes
        self.bodies: dict[tuple[int, int], list[int]] = {}
        for k, p in enumerate(self.patches):
            self.bodies.setdefault((p.pair.a.body, p.pair.b.body), []).append(k)

    def of_patches(self, friction: Array) -> list[Array]:
        """Return the friction (n, 2 or 4) of the points of each patch."""
        ends = np.cumsum([p.rubs * p.pair.points for p in self.patches])[:-1]
        return [f.reshape(-1, p.rubs) for p, f in zip(self.patches, np.split(friction, ends), strict=True)]

    def asked(self, kernel: Callable[..., Array], p: Patch, f: Array, V: list[Any], nothing: Array) -> Array:
        """Return a function of :mod:`engine.contact.point_law` at a patch with its friction, or ``nothing`` where the patch is not near."""
        return ops.when(p.near, lambda: ops.shared(kernel, p.constants, p.rows, f, relative(p.pair, V)), nothing)

    def lagged(self, x: Array, friction: Array) -> tuple[Array, Any]:
        """Return the friction (2 or 4) of every point that goes with the normal impulses at x (nv), and whether it is what was taken for
        it, about."""
        V, found = self.axes.twists(x), []
        changes: Any = 0.0
        largest: Any = 0.0
        for p, f in zip(self.patches, self.of_patches(friction), strict=True):
            *now, change, most = self.asked(point_law.lagged, p, f, V, np.array([*resting(p.constants, self.slow) * len(f), 0.0, 0.0]))
            found += now
            changes, largest = ops.maximum(changes, change), ops.maximum(largest, most)
        return ops.array(found), changes <= AGREES * largest

    def impulses(self, x: Array, friction: Array) -> tuple[list[Array], Array, Array]:
        """Return the impulses (n, 3), or with couples (n, 6), of every pair's points, on the second, in world axes; the generalized impulse
        (nv), on velocities of the model, of what lasts of them; and how the pairs gave way (pairs, 7 or 10), with which the next step
        begins: at x (nv), with a friction (2 or 4) of every point."""
        V, found, gave = self.axes.twists(x), [], []
        pushed, changes = ([now - then for now, then in zip(self.axes.motions(V), U, strict=True)] for U in (self.free, self.before))
        F: list[Any] = [np.zeros(6)] * len(V)
        ago = self.way * self.h
        for p, f in zip(self.patches, self.of_patches(friction), strict=True):

            def end(p: Patch = p, f: Array = f) -> Array:
                at = p.stuck[6:9]
                to_a, to_b = (point_law.seen_at(pushed[s.body], at) for s in (p.pair.a, p.pair.b))
                M = point_law.motion_after(p.flight, (to_a, to_b), point_law.seen_at(relative(p.pair, changes), at), ago, self.h - ago)
                return ops.shared(point_law.impulses_and_sticking, p.constants, p.rows, f, relative(p.pair, V), M, p.stuck, p.pair.size)

            wide, kept = (6, 10) if p.pair.turns else (3, 7)
            g, lasting, S = np.split(ops.when(p.near, end, np.zeros(wide * len(f) + 6 + kept)), [wide * len(f), wide * len(f) + 6])
            a, b = p.pair.a.body, p.pair.b.body
            F[a], F[b] = F[a] - lasting, F[b] + lasting
            found.append(g.reshape(-1, wide))
            gave.append(point_law.rotated_sticking(se3.rotation(self.axes.poses[a]).T, S))
        if any(p.pair.turns for p in self.patches):
            gave = [np.append(S, np.zeros(10 - len(S))) for S in gave]
        return found, self.axes.force_back(self.axes.forces(F)), np.array(gave)

    def seen(self, x: Array, impulses: list[Array]) -> Any:
        """Return the points that push (p, 13 or 16), as :meth:`engine.contact.many.jointed.JointedProblem.seen` has them."""
        names, V, found = [link.name for link in self.axes.model.links], self.axes.twists(x), []
        couples = np.zeros(3 if any(p.pair.turns for p in self.patches) else 0)
        for p, places, impulse in zip(self.patches, self.places(x), impulses, strict=True):
            links = np.array([float(names.index(s.link) if s.link in names else len(names)) for s in (p.pair.a, p.pair.b)])
            W, runs = relative(p.pair, V), p.pair.running(self.axes.poses) if p.pair.runs else np.zeros(3)
            for row, place, g in zip(p.rows, places, impulse, strict=True):
                n, _, ut = point_law.normal_and_slip(row, W)
                slip = ut + runs - (n @ runs) * n
                own = links, place[:3], n, place[3:], g[:3] / self.h, [ops.norm(slip)]
                found.append(np.concatenate([*own, g[3:] / self.h if len(g) > 3 else couples]))
        points = ops.table(np.array(found))
        return ops.chosen(points, ops.rows(lambda y: ops.norm(y[9:12]) > 0.0, points))

    def places(self, x: Array) -> list[Array]:
        """Return the places in the world, where flight ends, and the gaps after the impulses (n, 4) of every pair's points at x (nv)."""
        V, found = self.axes.twists(x), []
        for p in self.patches:
            gaps = [point_law.gap_after(p.constants, row, point_law.normal_and_slip(row, relative(p.pair, V))[1]) for row in p.rows]
            found.append(np.column_stack([p.position + self.axes.about, ops.array(gaps)]))
        return found

    # ------------------------------------------------------------ what Newton's method asks

    def acting(self, x: Array, friction: Array) -> list[tuple[float, str]]:
        """Return the impulses at x (nv) that are not zero, and the names of their pairs."""
        sizes = [float(np.linalg.norm(g[:, :3].sum(axis=0))) for g in self.impulses(x, friction)[0]]
        return [(size, f"the contact of {p.pair.name}") for size, p in zip(sizes, self.patches, strict=True) if size]

    def impulse(self, x: Array, friction: Array) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        V, nv = self.axes.twists(x), len(x)
        forces, stiffness = self.parts(list(self.bodies), V, self.of_patches(friction))
        F: list[Any] = [forces.get(i, np.zeros(6)) for i in range(len(V) - 1)] + [np.zeros(6)]
        G = np.zeros((nv, nv), dtype=object if x.dtype == object else float)
        for (i, j), g in stiffness.items():
            G[i, j] = G[j, i] = g
        return self.axes.forces(F), G

    def parts(self, bodies: list[tuple[int, int]], V: list[Any],
              rubs: list[Array]) -> tuple[dict[int, Any], dict[tuple[int, int], Any]]:  # fmt: skip
        """Return the wrenches (6) on bodies, in world axes about c, and the entries of G, by pairs of bodies; with twists V of all bodies
        and the friction (n, 2) of all patches."""
        blocks = [[pair] for pair in bodies]
        while len(blocks) > BLOCK:
            blocks = [[pair for block in blocks[k : k + BLOCK] for pair in block] for k in range(0, len(blocks), BLOCK)]
        F: dict[int, Any] = {}
        G: dict[tuple[int, int], Any] = {}
        for block in blocks:
            moved = sorted({i for pair in block for i in pair} - {-1})
            entries = sorted({entry for pair in block for entry in self.entries(*pair)})

            def own(block: list[tuple[int, int]] = block, moved: list[int] = moved, entries: list[tuple[int, int]] = entries) -> Array:
                f, g = self.pair_of_bodies(*block[0], V, rubs) if len(block) == 1 else self.parts(block, V, rubs)
                return np.concatenate([*(f[i] for i in moved), [g[entry] for entry in entries]])

            near = functools.reduce(ops.logical_or, [self.patches[k].near for pair in block for k in self.bodies[pair]])
            found = ops.when(near, own, np.zeros(6 * len(moved) + len(entries)))
            for i, f in zip(moved, found[: 6 * len(moved)].reshape(-1, 6), strict=True):
                F[i] = F[i] + f if i in F else f
            for entry, g in zip(entries, found[6 * len(moved) :], strict=True):
                G[entry] = G[entry] + g if entry in G else g
        return F, G

    def entries(self, a: int, b: int) -> list[tuple[int, int]]:
        """Return where in the upper triangle of G a pair of bodies adds something."""
        dofs = sorted({j for _, i in self.axes.between(a, b) for j, _ in self.axes.columns[i]})
        return [(i, j) for i in dofs for j in dofs if i <= j]

    def pair_of_bodies(self, a: int, b: int, V: list[Any],
                       rubs: list[Array]) -> tuple[dict[int, Any], dict[tuple[int, int], Any]]:  # fmt: skip
        """Return the wrenches on two bodies, and the entries of Jᵀ K J with J (6, nv) of the second relative to the first."""
        total: Any = np.zeros(27)
        for p, f in ((self.patches[k], rubs[k]) for k in self.bodies[a, b]):
            total = total + self.asked(point_law.wrench, p, f, V, np.zeros(27))
        K = ops.symmetric(total[6:], 6)
        J = self.axes.relative(a, b)
        KJ = {j: K @ column for j, column in J.items()}
        return {a: -total[:6], b: total[:6]}, {(i, j): J[i] @ KJ[j] for i, j in self.entries(a, b)}


def resting(c: Array, slow: float) -> list[Any]:
    """Return the friction (2 or 4) of a point of constants c that does not push."""
    return [0.0, slow, 0.0, slow / c[SIZE]] if point_law.turns(c) else [0.0, slow]


def turned_on(pair: Pair, axes: WorldAxes, V: list[Any], went: Array) -> Array:
    """Return :func:`~engine.contact.point_law.turned_on` (n, 3) of a pair's points, which ``went`` on (n, 3), at the bodies' twists V."""
    shift_a, shift_b = (ops.cross(V[s.body][:3], axes.ways.get(s.body, np.zeros(3))) for s in (pair.a, pair.b))
    return np.array([point_law.turned_on(relative(pair, V)[:3], way, shift_b - shift_a) for way in went])


def flown_apart(pair: Pair, initial: InitialMotion, now: list[Array]) -> Array:
    """Return :func:`~engine.contact.point_law.relative_motion` (6) of a pair, by the poses of all bodies."""
    a, b = pair.a.body, pair.b.body
    then, at_end = ((poses[a][:3], poses[b][:3]) for poses in (initial.poses, now))
    return point_law.relative_motion(then, at_end)


def relative(pair: Pair, V: list[Any]) -> Array:
    """Return the twist (6) of the second of a pair relative to the first, in world axes."""
    return V[pair.b.body] - V[pair.a.body]
