"""Targets as least squares within the joints' limits: the residual, the descent from a guess, and the guesses."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.compiler.gufunc import Gufunc, shaped
from engine.inverse_kinematics.box_qp import box_qp
from engine.inverse_kinematics.result import IKResult
from engine.inverse_kinematics.targets import KINDS, Target
from engine.model import Model, ModelError
from engine.spatial import se3, so3

Array = np.ndarray
#: steps tried from one guess, and in the last approach to the nearest configuration where no guess reaches the targets
TRIES, LAST_TRIES = 200, 100
#: share of ½ |r|² that a step must promise, or the guess is given up
STALLED = 1e-3


# ---------------------------------------------------------------- the equations, traced


@dataclass(frozen=True)
class Task:
    """A least-squares problem without its numbers: links and the kinds of their goals, and the velocities that may change."""

    model: Model
    asked: tuple[tuple[str, str], ...]
    moving: tuple[int, ...]

    def plus(self, q: Array, d: Array) -> Array:
        """Return q ⊕ d for a step of the velocities ``moving``: translations first, then rotations, so that no far way is bent."""
        step = np.zeros(self.model.nv, dtype=np.asarray(d).dtype)
        step[list(self.moving)] = d
        linear = [unit == "m" for b in self.model.bodies if not b.mimics for unit in b.kind.units]
        plus = self.model.manifold.plus
        return self.model.manifold.normalized(plus(plus(q, np.where(linear, step, 0.0)), np.where(linear, 0.0, step)))

    def residual(self, q: Array, goals: Array, points: Array) -> tuple[Array, Array]:
        """Return r (m) with weights of 1, and its Jacobian (m, n)."""
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
        return np.concatenate(r), np.concatenate(J_r)

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
            done = ops.logical_or(reached(e, w, tolerance), expected <= STALLED * cost)
            better = ops.logical_and(ops.logical_not(done), gain > 1e-3 * expected)
            mu = mu * ops.where(gain > 0.75 * expected, 1 / 3, ops.where(gain > 0.25 * expected, 1.0, 3.0))
            return np.concatenate([ops.where(better, after, q), [mu, steps + ops.where(done, 0.0, 1.0)]]), done

        if n:
            x, _ = ops.while_loop(advance, np.concatenate([q, [0.1, 0.0]]), TRIES)
            q, steps = x[:nq], x[nq + 1]
        else:
            steps = 0.0 * tolerance
        r = self.residual(q, goals, points)[0]
        return q, r, ops.where(reached(r, w, tolerance), 1.0, 0.0), steps

    def slope(self, q: Array, d: Array, goals: Array, points: Array, w: Array) -> tuple[Array, Array, Array]:
        """Return q ⊕ d, and there r and the gradient of ½ |w r|²."""
        q = self.plus(q, d)
        r, J = self.residual(q, goals, points)
        return q, r, J.T @ (w * w * r)


def reached(r: Array, w: Array, tolerance: Any) -> Any:
    """Return whether every angle and every distance that is asked for, three rows of r each, is within the tolerance."""
    result: Any = True
    for k in range(0, len(r), 3):
        result = ops.logical_and(result, ops.where(w[k] > 0.0, r[k : k + 3] @ r[k : k + 3], 0.0) <= tolerance * tolerance)
    return result


@functools.lru_cache(maxsize=128)
def compiled(task: Task, name: str) -> Gufunc:
    """Return ``task.descent``, ``task.slope`` or :func:`box_qp` of as many variables as machine code."""
    nq, n, k, m = task.model.nq, len(task.moving), len(task.asked), sum(3 * len(KINDS[kind][1]) for _, kind in task.asked)
    if name == "descent":
        return shaped(task.descent, f"({nq}),({k},4,4),({k},3),({m}),({nq}),({nq}),()->({nq}),({m}),(),()")
    if name == "box_qp":
        return shaped(box_qp, f"({n},{n}),({n}),({n}),({n})->({n})")
    return shaped(task.slope, f"({nq}),({n}),({k},4,4),({k},3),({m})->({nq}),({m}),({n})")


class Problem:
    """A task with its numbers, and the search for the solution of every row of a batch, from one guess after another."""

    def __init__(self, model: Model, targets: list[Target], held: bool, limits: bool, tolerance: float) -> None:
        """Take checked targets; ``held``: whether floating joints on the world stay."""
        self.model, self.tolerance, self.limits = model, np.array(tolerance), limits
        self.links = tuple(t.link for t in targets)
        self.moving = moving_velocities(model, self.links, held)
        self.lower, self.upper = joint_box(model) if limits else (np.full(model.nq, -np.inf), np.full(model.nq, np.inf))
        self.task = Task(model, tuple((t.link, str(t.kind)) for t in targets), self.moving)
        self.points = np.array([t.point for t in targets])
        #: of every three rows of r: the target, 0 for its angle or 1 for its distance, and the weight
        self.parts = [(k, i, t.weights[i]) for k, t in enumerate(targets) for i in t.asks]
        self.weights = np.repeat([weight for *_, weight in self.parts], 3)

    def solved(self, q0: Array, goals: Array, batch: tuple[int, ...], seeds: int) -> IKResult:
        """Return the end of the first guess's descent that reaches the goals (N, k, 4, 4), or the minimum next to the best of all.

        Each of the N rows, from its q0 (N, nq), has the guesses that it would have alone.
        """
        count = len(q0)
        q, r, least = q0.copy(), np.zeros((count, len(self.weights))), np.full(count, np.inf)
        iterations, guesses, converged = np.zeros(count, dtype=int), np.ones(count, dtype=int), np.zeros(count, dtype=bool)
        rng, left = np.random.default_rng(0), np.arange(count)
        for k in range(1 + seeds * bool(self.moving)):
            guess = q0[left] if k == 0 else self.nearby(q0[left], rng) if k == 1 else self.anywhere(q0[left], rng)
            found, r_found, arrived, steps = self.descent(guess, goals[left], alone=not batch)
            iterations[left] += steps
            guesses[left] = k + 1
            cost = self.cost(r_found)
            better = arrived | (cost < least[left])
            rows = left[better]
            q[rows], r[rows], least[rows] = found[better], r_found[better], cost[better]
            converged[left], left = arrived, left[~arrived]
            if not left.size:
                break
        if left.size:
            q[left], r[left], steps = self.settled(q[left], goals[left])
            iterations[left] += steps
            converged[left] = [bool(reached(e, self.weights, self.tolerance)) for e in r[left]]
        residual = np.zeros((count, len(self.links), 2))
        for (target, part, weight), e in zip(self.parts, np.moveaxis(r.reshape(count, len(self.parts), 3), 1, 0), strict=True):
            residual[:, target, part] = np.sqrt(np.vecdot(e, e)) if weight > 0 else 0.0
        limits = self.at_limits(q)
        reasons = ["" if done else self.reason(e, names) for done, e, names in zip(converged, residual, limits, strict=True)]
        result = IKResult(q, converged, residual, iterations, guesses, of_objects(limits), of_objects(reasons))
        if not batch:
            return result[0]
        return IKResult(*(x.reshape(*batch, *x.shape[1:]) for x in vars(result).values()))

    def descent(self, q: Array, goals: Array, alone: bool) -> tuple[Array, Array, Array, Array]:
        """Return :meth:`Task.descent` of rows of guesses and goals: q, r, whether the goals are reached, and steps tried."""
        function, given = compiled(self.task, "descent"), (self.points, self.weights, self.lower, self.upper, self.tolerance)
        if alone:
            q, r, arrived, steps = (np.asarray(x)[None] for x in function(q[0], goals[0], *given))
        else:
            q, r, arrived, steps = function(q, goals, *given)
        return q, r, arrived > 0.5, steps.astype(int)

    def cost(self, r: Array) -> Array:
        """Return ½ |w r|² of every row."""
        return 0.5 * np.sum((self.weights * r) ** 2, axis=-1)

    def settled(self, q: Array, goals: Array) -> tuple[Array, Array, Array]:
        """Return the local minimum next to every row of q, by Newton's method with all of the Hessian, r there, and the steps tried."""
        n, slope = len(self.moving), compiled(self.task, "slope")

        def at(q: Array, d: Array, goals: Array) -> tuple[Array, Array, Array]:
            q, r, g = slope(q, d, goals, self.points, self.weights)
            return np.clip(q, self.lower, self.upper), r, g

        q, r, g = at(q, np.zeros((len(q), n)), goals)
        steps, left, h = np.zeros(len(q), dtype=int), np.arange(len(q) if n else 0), 1e-5 * np.eye(n)
        while left.size:
            ends = [at(q[left, None], sign * h, goals[left, None])[2] for sign in (1, -1)]
            d = self.newton(q[left], g[left], (ends[0] - ends[1]) / 2e-5)
            waiting, last = np.arange(len(left)), np.zeros(len(left), dtype=bool)
            while waiting.size:
                rows = left[waiting]
                steps[rows] += 1
                after, r_after, g_after = at(q[rows], d[waiting], goals[rows])
                last[waiting] = (np.abs(d[waiting]).max(axis=1) < 1e-10) | (steps[rows] >= LAST_TRIES)
                good = last[waiting] | (self.cost(r_after) <= self.cost(r[rows]) * (1.0 + 1e-14))
                q[rows[good]], r[rows[good]], g[rows[good]] = after[good], r_after[good], g_after[good]
                waiting = waiting[~good]
                d[waiting] *= 0.25
            left = left[~last]
        return q, r, steps

    def newton(self, q: Array, g: Array, H: Array) -> Array:
        """Return the step downhill of every row, by its gradient g and ∂g/∂d, whose skew part is the bracket's; within the limits."""
        low, high = np.full(g.shape, -np.inf), np.full(g.shape, np.inf)
        for i, k in bounded_velocities(self.model, self.moving):
            low[:, k], high[:, k] = self.lower[i] - q[:, i], self.upper[i] - q[:, i]
        kept = ((low < 0) | (g <= 0)) & ((high > 0) | (g >= 0))                          # the others are pressed against their limits
        H = np.where(kept[:, :, None] & kept[:, None, :], 0.5 * (H + np.swapaxes(H, 1, 2)), 0.0)
        values, vectors = np.linalg.eigh(H)
        sizes, largest = np.abs(values), np.abs(values).max(axis=1, keepdims=True) + 1e-300
        sizes = np.where(sizes < 1e-7 * largest, largest, sizes)                         # downhill; along what is flat, hardly
        with np.errstate(all="ignore"):                                                  # the way to a bound may be infinitely long
            return compiled(self.task, "box_qp")((vectors * sizes[:, None, :]) @ np.swapaxes(vectors, 1, 2), g, low, high)

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

    def reason(self, residual: Array, limits: tuple[str, ...]) -> str:
        """Return what is left (k, 2) of targets that are not reached, in words."""
        texts = []
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
def moving_velocities(model: Model, links: tuple[str, ...], held: bool) -> tuple[int, ...]:
    """Return the velocities that move one of the links, without those of floating joints on the world where these are held."""
    found: set[int] = set()
    for link in links:
        i, _ = model.carrier[model.link_index(link)]
        while i >= 0:
            body = model.bodies[i]
            if not (held and body.parent < 0 and body.kind.floats):
                found.update(range(body.v.start, body.v.stop))
            i = body.parent
    return tuple(sorted(found))


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
