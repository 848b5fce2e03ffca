"""Targets as least squares within the joints' limits, on closed loops: the residual, the descent from a guess, and the guesses."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.compiler.gufunc import Gufunc, shaped
from engine.constraints import Constraint, ConstraintError, Grip, Loops, farthest, gap_text
from engine.dynamics.kinematics import path
from engine.inverse_kinematics.result import IKResult
from engine.inverse_kinematics.targets import KINDS, Target
from engine.model import Model, ModelError
from engine.ops.box_qp import box_qp
from engine.spatial import se3, so3

Array = np.ndarray
#: steps tried from one guess, and in the last approach to the nearest configuration where no guess reaches the targets
TRIES, LAST_TRIES = 200, 100
#: share of ½ |r|² that a step must promise, or the guess is given up
STALLED = 1e-3
#: m and rad: φ of a closed loop, at most; and 1 − cos of the angle between what should be in line, which φ does not tell from half a turn
CLOSED, TURNED = 1e-11, 0.1
#: of the largest: singular values of J that are smaller count as none; and how much stiffer than f a step is across the loops
RANK, ACROSS = 1e-7, 1e6


# ---------------------------------------------------------------- the equations, traced


@dataclass(frozen=True)
class Task:
    """A least-squares problem without its numbers: links and the kinds of their goals, the velocities that may change, and loops."""

    model: Model
    asked: tuple[tuple[str, str], ...]
    moving: tuple[int, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def loops(self) -> Loops:
        """The constraints, on the model."""
        return loops_of(self.model, self.constraints)

    def plus(self, q: Array, d: Array) -> Array:
        """Return q ⊕ d for a step of the velocities ``moving``: translations first, then rotations, so that no far way is bent."""
        step = np.zeros(self.model.nv, dtype=np.asarray(d).dtype)
        step[list(self.moving)] = d
        linear = [unit == "m" for b in self.model.bodies if not b.mimics for unit in b.kind.units]
        plus = self.model.manifold.plus
        return self.model.manifold.normalized(plus(plus(q, np.where(linear, step, 0.0)), np.where(linear, 0.0, step)))

    def residual(self, q: Array, goals: Array, points: Array) -> tuple[Array, Array]:
        """Return r (m) with weights of 1, the loops' φ below the targets' own, and its Jacobian (m, n)."""
        T_WL = dynamics.forward_kinematics(self.model, q)
        r, J_r = [], []
        for (link, kind), T, c in zip(self.asked, goals, points, strict=True):
            T_L, J = T_WL[self.model.link_index(link)], dynamics.jacobian(self.model, q, link)[:, list(self.moving)]
            R = se3.rotation(T_L)
            if kind != "position":
                w = so3.log(se3.rotation(T).T @ R)
                r.append(w)                                                              # (1)
                J_r.append(so3.dexp_inv(-w) @ J[:3])                                     # (3)
            if kind != "rotation":
                r.append(se3.position(T_L) + R @ c - se3.position(T))                    # (2)
                J_r.append(R @ (J[3:] - so3.hat(c) @ J[:3]))                             # (4)
        return np.concatenate([*r, self.loops.residual(q, {})]), np.concatenate([*J_r, self.across(q)])

    def across(self, q: Array) -> Array:
        """Return the Jacobian of φ (l, n)."""
        return self.loops.jacobian(q, {})[:, list(self.moving)]

    def reached(self, q: Array, r: Array, w: Array, tolerance: Any) -> Any:
        """Return whether every angle and every distance that is asked for, three rows of r each, is within the tolerance, and all loops are
        closed."""
        end = len(r) - self.loops.n
        result = ops.logical_and(ops.largest(r[end:]) <= CLOSED, self.loops.turned(q) <= TURNED)
        for k in range(0, end, 3):
            result = ops.logical_and(result, ops.where(w[k] > 0.0, r[k : k + 3] @ r[k : k + 3], 0.0) <= tolerance * tolerance)
        return result

    def room(self, q: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the least and the largest step within the limits: infinite where there is none, and where coordinates do not add."""
        low: list[Any] = [-np.inf] * len(self.moving)
        high: list[Any] = [np.inf] * len(self.moving)
        for i, k in bounded_velocities(self.model, self.moving):
            low[k], high[k] = lower[i] - q[i], upper[i] - q[i]
        return np.array(low), np.array(high)

    def descent(self, q: Array, goals: Array, points: Array, w: Array, lower: Array, upper: Array, tolerance: Any) -> tuple[Any, ...]:
        """Go from a guess within the limits to where the targets are reached or (5) leads no further: q, r, 1 if reached, steps tried."""
        nq, n = self.model.nq, len(self.moving)

        def advance(x: Array) -> tuple[Array, Any]:
            q, mu, steps = x[:nq], x[nq], x[nq + 1]
            e, J_e = self.residual(q, goals, points)
            r, J = w * e, w[:, None] * J_e
            cost, g, H = 0.5 * (r @ r), J.T @ r, J.T @ J
            size = sum((H[i, i] for i in range(n)), 0.0) / n
            damping = mu * ops.minimum(2.0 * cost, size) + 1e-13 * size + 1e-300
            d = box_qp(H + damping * np.eye(n), g, *self.room(q, lower, upper))          # (5)
            expected = -(g @ d + 0.5 * (d @ H @ d))
            after = ops.minimum(ops.maximum(self.plus(q, d), lower), upper)
            r_after = w * self.residual(after, goals, points)[0]
            gain = cost - 0.5 * (r_after @ r_after)
            arrived, stalled = self.reached(q, e, w, tolerance), expected <= STALLED * cost
            done = ops.logical_or(arrived, stalled)
            better = ops.logical_and(ops.logical_not(stalled if self.loops.n else done), gain > 1e-3 * expected)  # loops to rounding
            mu = mu * ops.where(gain > 0.75 * expected, 1 / 3, ops.where(gain > 0.25 * expected, 1.0, 3.0))
            return np.concatenate([ops.where(better, after, q), [mu, steps + ops.where(done, 0.0, 1.0)]]), done

        if n:
            x, _ = ops.while_loop(advance, np.concatenate([q, [0.1, 0.0]]), TRIES)
            q, steps = x[:nq], x[nq + 1]
        else:
            steps = 0.0 * tolerance
        r = self.residual(q, goals, points)[0]
        return q, r, ops.where(self.reached(q, r, w, tolerance), 1.0, 0.0), steps

    def slope(self, q: Array, d: Array, goals: Array, points: Array, w: Array, multipliers: Array) -> tuple[Array, Array, Array]:
        """Return q ⊕ d, and there r and the gradient of ½ |w r|² + y·φ, y the multipliers (l)."""
        q = self.plus(q, d)
        r, J = self.residual(q, goals, points)
        return q, r, J.T @ (w * w * r + np.concatenate([np.zeros(len(w) - len(multipliers)), multipliers]))


def known(constraint: Constraint) -> Constraint:
    """Return an equal constraint: the same object for all that are equal, so that what was compiled of it is found again."""
    kind: Any = type(constraint)
    return rebuild(kind, *(frozen(getattr(constraint, field.name)) for field in dataclasses.fields(constraint)))


@functools.lru_cache(maxsize=1024)
def rebuild(kind: Any, *values: Any) -> Any:
    """Return kind(*values): the same object again."""
    return kind(*values)


def frozen(x: Any) -> Any:
    """Return arrays and lists as tuples, and all else as it is."""
    return tuple(map(frozen, x)) if isinstance(x, (list, tuple, np.ndarray)) else x


@functools.lru_cache(maxsize=128)
def loops_of(model: Model, constraints: tuple[Constraint, ...]) -> Loops:
    """Return constraints on a model; ConstraintError where one does not fit, or is a grip."""
    for c in constraints:
        if isinstance(c, Grip):
            raise ConstraintError(f"constraints holds the grip '{c.name}', which closes where its links are; expected a loop, such as "
                                  f"engine.Weld('{c.link_a}', '{c.link_b}', pose_ab)")  # fmt: skip
    return Loops(model, constraints)


@functools.lru_cache(maxsize=128)
def compiled(task: Task, name: str) -> Gufunc:
    """Return ``task.descent``, ``task.slope``, ``task.across`` or :func:`box_qp` of as many variables as machine code."""
    nq, n, k, loops = task.model.nq, len(task.moving), len(task.asked), task.loops.n
    m = sum(3 * len(KINDS[kind][1]) for _, kind in task.asked) + loops
    if name == "descent":
        return shaped(task.descent, f"({nq}),({k},4,4),({k},3),({m}),({nq}),({nq}),()->({nq}),({m}),(),()")
    if name == "box_qp":
        return shaped(box_qp, f"({n},{n}),({n}),({n}),({n})->({n})")
    if name == "across":
        return shaped(task.across, f"({nq})->({loops},{n})")
    return shaped(task.slope, f"({nq}),({n}),({k},4,4),({k},3),({m}),({loops})->({nq}),({m}),({n})")


class Problem:
    """A task with its numbers, and the search for the solution of every row of a batch, from one guess after another."""

    def __init__(self, model: Model, targets: list[Target], held: bool, limits: bool, tolerance: float,
                 constraints: tuple[Constraint, ...] = ()) -> None:  # fmt: skip
        """Take checked targets; ``held``: whether floating joints on the world stay."""
        self.model, self.tolerance, self.limits = model, np.array(tolerance), limits
        self.links = tuple(t.link for t in targets)
        constraints = tuple(map(known, constraints))
        self.loops = loops_of(model, constraints)
        self.moving = moving_velocities(model, self.links, held, constraints)
        self.lower, self.upper = joint_box(model) if limits else (np.full(model.nq, -np.inf), np.full(model.nq, np.inf))
        self.task = Task(model, tuple((t.link, str(t.kind)) for t in targets), self.moving, constraints)
        self.points = np.array([t.point for t in targets])
        #: of every three rows of r: the target, 0 for its angle or 1 for its distance, and the weight
        self.parts = [(k, i, t.weights[i]) for k, t in enumerate(targets) for i in t.asks]
        asked = np.repeat([weight for *_, weight in self.parts], 3)
        #: of r: what is asked, and the loops as if they were targets; the targets alone; the loops alone
        self.weights, self.own, self.closing = (np.append(w * asked, np.full(self.loops.n, c)) for w, c in ((1, 1.0), (1, 0.0), (0, 1.0)))

    def solved(self, q0: Array, goals: Array, batch: tuple[int, ...], seeds: int) -> IKResult:
        """Return the end of the first guess's descent that reaches the goals (N, k, 4, 4), or the minimum next to the best of all.

        Each of the N rows, from its q0 (N, nq), has the guesses that it would have alone.
        """
        count = len(q0)
        q, r, least = q0.copy(), np.zeros((count, len(self.weights))), np.full(count, np.inf)
        iterations, guesses = np.zeros(count, dtype=int), np.ones(count, dtype=int)
        converged, closed = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        rng, left = np.random.default_rng(0), np.arange(count)
        for k in range(1 + seeds * bool(self.moving)):
            guess = q0[left] if k == 0 else self.nearby(q0[left], rng) if k == 1 else self.anywhere(q0[left], rng)
            found, r_found, arrived, steps = self.descent(guess, goals[left], self.weights)
            found, r_found, shut, more = self.shut(found, r_found, arrived, guess, goals[left])
            iterations[left] += steps + more
            guesses[left] = k + 1
            cost = np.where(shut, self.cost(r_found, self.own), self.cost(r_found, self.closing))
            better = arrived | (shut & ~closed[left]) | ((shut == closed[left]) & (cost < least[left]))
            rows = left[better]
            q[rows], r[rows], least[rows], closed[rows] = found[better], r_found[better], cost[better], shut[better]
            converged[left], left = arrived, left[~arrived]
            if not left.size:
                break
        left = left[closed[left]]
        if left.size:
            q[left], r[left], steps = self.settled(q[left], goals[left])
            iterations[left] += steps
            converged[left] = [bool(self.task.reached(*row, self.weights, self.tolerance)) for row in zip(q[left], r[left], strict=True)]
        return self.result(q, r, converged, iterations, guesses, batch)

    def result(self, q: Array, r: Array, converged: Array, iterations: Array, guesses: Array, batch: tuple[int, ...]) -> IKResult:
        """Return what was found of every row, with what is left of its targets, in numbers and in words."""
        residual = np.zeros((len(q), len(self.links), 2))
        for i, (target, part, weight) in enumerate(self.parts):
            e = r[:, 3 * i : 3 * i + 3]
            residual[:, target, part] = np.sqrt(np.vecdot(e, e)) if weight > 0 else 0.0
        limits = self.at_limits(q)
        reasons = ["" if done else self.reason(*row) for done, *row in zip(converged, q, residual, limits, strict=True)]
        result = IKResult(q, converged, residual, iterations, guesses, of_objects(limits), of_objects(reasons))
        if not batch:
            return result[0]
        return IKResult(*(x.reshape(*batch, *x.shape[1:]) for x in vars(result).values()))

    def descent(self, q: Array, goals: Array, weights: Array, *limits: Array) -> tuple[Array, Array, Array, Array]:
        """Return :meth:`Task.descent` of rows of guesses and goals: q, r, whether what is weighted is reached, and steps tried."""
        function, (low, high) = compiled(self.task, "descent"), limits or (self.lower, self.upper)
        if len(q) == 1:
            found = function(q[0], goals[0], self.points, weights, low.reshape(-1), high.reshape(-1), self.tolerance)
            q, r, arrived, steps = (np.asarray(x)[None] for x in found)
        else:
            q, r, arrived, steps = function(q, goals, self.points, weights, low, high, self.tolerance)
        return q, r, arrived > 0.5, steps.astype(int)

    def shut(self, q: Array, r: Array, closed: Array, guess: Array, goals: Array) -> tuple[Array, Array, Array, Array]:
        """Return rows of q and r with all loops closed, from those in which they are not ``closed`` yet, or else from the guess, by the
        nearest way; whether they could be, and steps tried."""
        steps = np.zeros(len(q), dtype=int)
        if not self.loops.n:
            return q, r, np.ones(len(q), dtype=bool), steps
        q, r, closed = q.copy(), r.copy(), closed.copy()
        for start in (q, guess):
            if (rows := np.flatnonzero(~closed)).size:
                q[rows], r[rows], closed[rows], tried = self.descent(start[rows], goals[rows], self.closing)
                steps[rows] += tried
        return q, r, closed, steps

    def shut_at_limits(self, q: Array, goals: Array) -> tuple[Array, Array]:
        """Return rows of q with all loops closed, and whether they could be: what is at a limit stays there, if loops close so."""
        low, high = np.where(q == self.upper, self.upper, self.lower), np.where(q == self.lower, self.lower, self.upper)
        on, _, closed, _ = self.descent(q, goals, self.closing, low, high)
        if (rows := np.flatnonzero(~closed)).size:
            on[rows], _, closed[rows], _ = self.descent(q[rows], goals[rows], self.closing)
        return on, closed

    def cost(self, r: Array, weights: Array) -> Array:
        """Return ½ |w r|² of every row."""
        return 0.5 * np.sum((weights * r) ** 2, axis=-1)

    def settled(self, q: Array, goals: Array) -> tuple[Array, Array, Array]:
        """Return the local minimum next to every row of q, by Newton's method with all of the Hessian along the loops, which are closed,
        r there, and the steps tried."""
        n, loops, slope = len(self.moving), self.loops.n, compiled(self.task, "slope")

        def at(q: Array, d: Array, goals: Array, multipliers: Array) -> tuple[Array, Array, Array]:
            q, r, g = slope(q, d, goals, self.points, self.own, multipliers)
            return np.clip(q, self.lower, self.upper), r, g

        q, r, g = at(q, np.zeros((len(q), n)), goals, np.zeros(loops))
        steps, left, h = np.zeros(len(q), dtype=int), np.arange(len(q) if n else 0), 1e-5 * np.eye(n)
        while left.size:
            J = compiled(self.task, "across")(q[left])
            multipliers = self.multipliers(q[left], g[left], J)
            ends = [at(q[left, None], sign * h, goals[left, None], multipliers[:, None])[2] for sign in (1, -1)]
            g_left = g[left] + (multipliers[:, None] @ J)[:, 0]
            d = self.newton(q[left], g_left, (ends[0] - ends[1]) / 2e-5, J)
            waiting, last = np.arange(len(left)), np.zeros(len(left), dtype=bool)
            while waiting.size:
                rows = left[waiting]
                steps[rows] += 1
                after, r_after, g_after = at(q[rows], d[waiting], goals[rows], np.zeros(loops))
                closed = np.ones(len(rows), dtype=bool)
                if loops:
                    after, closed = self.shut_at_limits(after, goals[rows])
                    after, r_after, g_after = at(after, np.zeros((len(rows), n)), goals[rows], np.zeros(loops))
                last[waiting] = (np.abs(d[waiting]).max(axis=1) < 1e-10) | (steps[rows] >= LAST_TRIES)
                good = closed & (last[waiting] | (self.cost(r_after, self.own) <= self.cost(r[rows], self.own) * (1.0 + 1e-14)))
                q[rows[good]], r[rows[good]], g[rows[good]] = after[good], r_after[good], g_after[good]
                waiting = waiting[~(good | last[waiting])]
                d[waiting] *= 0.25
            left = left[~last]
        return q, r, steps

    def room(self, q: Array) -> tuple[Array, Array]:
        """Return :meth:`Task.room` of every row."""
        low, high = np.full((len(q), len(self.moving)), -np.inf), np.full((len(q), len(self.moving)), np.inf)
        for i, k in bounded_velocities(self.model, self.moving):
            low[:, k], high[:, k] = self.lower[i] - q[:, i], self.upper[i] - q[:, i]
        return low, high

    def multipliers(self, q: Array, g: Array, J: Array) -> Array:
        """Return y (l) of every row: with Jᵀ y, what limits do not take of g is the least."""
        if not self.loops.n:
            return np.zeros((len(q), 0))
        low, high = self.room(q)
        stiff = 1e10 / (np.sum(J * J, axis=(1, 2)) + 1e-300)
        H = np.eye(g.shape[1]) + stiff[:, None, None] * (np.swapaxes(J, 1, 2) @ J)
        d = compiled(self.task, "box_qp")(H, g, np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0))
        return stiff[:, None] * (J @ d[:, :, None])[:, :, 0]

    def newton(self, q: Array, g: Array, H: Array, J: Array) -> Array:
        """Return the step downhill of every row along the loops, by its gradient g and ∂g/∂d, whose skew part is the bracket's; within the
        limits."""
        low, high = self.room(q)
        kept = ((low < 0) | (g <= 0)) & ((high > 0) | (g >= 0))                          # the others are pressed against their limits
        J = J * kept[:, None, :]
        along = kept[:, :, None] * np.eye(g.shape[1]) - np.linalg.pinv(J, rtol=RANK) @ J
        values, vectors = np.linalg.eigh(0.5 * along @ (H + np.swapaxes(H, 1, 2)) @ along)
        sizes, largest = np.abs(values), np.abs(values).max(axis=1, keepdims=True) + 1e-300
        sizes = np.where(sizes < 1e-7 * largest, largest, sizes)                         # downhill; along what is flat, hardly
        H = (vectors * sizes[:, None, :]) @ np.swapaxes(vectors, 1, 2) + ACROSS * largest[:, None] * (np.eye(g.shape[1]) - along)
        with np.errstate(all="ignore"):                                                  # the way to a bound may be infinitely long
            return compiled(self.task, "box_qp")(H, g, low, high)

    def nearby(self, q: Array, rng: np.random.Generator) -> Array:
        """Return guesses close by: off a singular one, such as a straight arm."""
        d = 0.1 * rng.standard_normal(len(self.moving))
        return np.clip(self.task.plus(q, d), self.lower, self.upper)

    def anywhere(self, q: Array, rng: np.random.Generator) -> Array:
        """Return random guesses within the limits, or half a turn or a metre from q; floating and planar joints keep their positions."""
        i, reach = ranges(self.model, self.moving)
        low, high, own, guess = self.lower[i], self.upper[i], q[:, i], q.copy()
        low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * reach, own - reach))
        high = np.where(np.isfinite(high), high, low + 2 * reach)
        guess[:, i] = low + (high - low) * rng.random(len(i))
        for b in self.model.bodies:
            if b.v.start in self.moving and not (b.mimics or b.kind.adds):
                guess[:, b.q] = np.where(np.isin(b.kind.q_names, ("x", "y", "z")), q[:, b.q], b.kind.random(b.joint, rng))
        return guess

    def at_limits(self, q: Array) -> list[tuple[str, ...]]:
        """Return for every row the names of the joints that move the targets and lie at a limit."""
        names, i, ratio, offset, lower, upper = ends(self.model, self.moving)
        x = ratio * q[:, i] + offset
        there = (np.abs(x - lower) < 1e-12) | (np.abs(x - upper) < 1e-12)
        return [tuple(dict.fromkeys(names[k] for k in np.flatnonzero(row))) if self.limits else () for row in there]

    def reason(self, q: Array, residual: Array, limits: tuple[str, ...]) -> str:
        """Return which loop is open, and what is left (k, 2) of targets that are not reached, in words."""
        loop, *gap = farthest(self.loops, q)
        texts = [f"{loop} is open by {gap_text(*gap)}"] if sum(gap) > 2.0 * CLOSED else []
        for link, (angle, distance) in zip(self.links, residual, strict=True):
            off = [f"{x:.3g} {unit}" for x, unit in ((distance, "m"), (angle, "rad")) if x > self.tolerance]
            texts += [f"link '{link}' is {' and '.join(off)} off"] if off else []
        held = f", with {', '.join(limits)} at {'its limit' if len(limits) == 1 else 'their limits'}" if limits else ""
        return f"{'; '.join(texts)} at the nearest that was found{held}"


def of_objects(items: list[Any]) -> Array:
    """Return an array (N) of N objects, such as tuples."""
    found = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        found[k] = item
    return found


# ---------------------------------------------------------------- velocities that move, and limits


@functools.lru_cache(maxsize=128)
def moving_velocities(model: Model, links: tuple[str, ...], held: bool, constraints: tuple[Constraint, ...] = ()) -> tuple[int, ...]:
    """Return the velocities that move one of the links or loops, without those of floating joints on the world where these are held."""
    movers = {i for link in links for i in path(model, model.carrier[model.link_index(link)][0])} | loops_of(model, constraints).moved()
    bodies = [b for b in (model.bodies[i] for i in movers) if not (held and b.parent < 0 and b.kind.floats)]
    return tuple(sorted({k for b in bodies for k in range(b.v.start, b.v.stop)}))


@functools.lru_cache(maxsize=128)
def bounded_velocities(model: Model, moving: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return, of every coordinate that adds and changes, its place in q and that of its rate in a step of ``moving``."""
    pairs = [(b.q.start + i, b.v.start + i) for b in model.bodies if not b.mimics and b.kind.adds for i in range(b.kind.nv)]
    return tuple((i, moving.index(k)) for i, k in pairs if k in moving)


@functools.lru_cache(maxsize=128)
def ranges(model: Model, moving: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the places in q of the coordinates that add and change, and how far a guess may be from one without limits, rad or m."""
    found = [(b.q.start + k, 1.0 if unit == "m" else np.pi) for b in model.bodies if not b.mimics and b.kind.adds and b.v.start in moving
             for k, unit in enumerate(b.kind.units)]  # fmt: skip
    return np.array([i for i, _ in found], dtype=int), np.array([reach for _, reach in found])


@functools.lru_cache(maxsize=128)
def ends(model: Model, moving: tuple[int, ...]) -> tuple[list[str], Array, Array, Array, Array, Array]:
    """Return of all coordinates that add and change, those of mimic joints too, x = ratio q_i + offset: joint, i, ratio, offset, limits."""
    bodies = [(b, k) for b in model.bodies if b.kind.adds and b.v.start in moving for k in range(b.kind.nq)]
    numbers = np.array([(b.q.start + k, b.ratio, b.offset, b.joint.limits.lower, b.joint.limits.upper) for b, k in bodies]).reshape(-1, 5)
    return [b.joint.name for b, _ in bodies], numbers[:, 0].astype(int), *numbers[:, 1:].T


@functools.lru_cache(maxsize=128)
def joint_box(model: Model) -> tuple[Array, Array]:
    """Return bounds on q (nq) that keep every joint whose coordinates add, mimic joints too, within its limits."""
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for b in (b for b in model.bodies if b.kind.adds):
        low, high = b.joint.limits.lower, b.joint.limits.upper
        if b.mimics and b.ratio == 0:
            low, high = (-np.inf, np.inf) if low <= b.offset <= high else (np.inf, -np.inf)
        elif b.mimics:
            low, high = sorted(((low - b.offset) / b.ratio, (high - b.offset) / b.ratio))
        lower[b.q], upper[b.q] = np.maximum(lower[b.q], low), np.minimum(upper[b.q], high)
        if (lower[b.q] > upper[b.q]).any():
            raise ModelError(f"joint '{b.joint.name}': its limits, with those of the joints that it mimics or that mimic it, "
                             f"leave no configuration; expected lower ≤ upper, or limits=False")  # fmt: skip
    return lower, upper
