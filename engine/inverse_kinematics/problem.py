"""Targets as least squares within the joints' limits: the residual, the descent from a guess, and the guesses."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.compiler.gufunc import Gufunc, shaped
from engine.inverse_kinematics.box_qp import box_qp
from engine.inverse_kinematics.targets import ASKED, Target
from engine.model import Model, ModelError
from engine.spatial import se3, so3

Array = np.ndarray
#: steps tried from one guess, and in the last approach to the nearest configuration where no guess reaches the targets
TRIES, LAST_TRIES = 200, 100
#: share of ½ |r|² that a step must promise, or the guess is given up
STALLED = 1e-3


@dataclass(frozen=True, eq=False)
class IKResult:
    """A configuration that :func:`inverse_kinematics` found.

    Attributes
    ----------
    q : the configuration (nq)
    converged : whether every angle and distance is within the tolerance
    residual : per target, in their order, the angle (rad) and the distance (m) that are left (0 where none was asked for)
    iterations : steps tried, over all guesses
    guesses : how many guesses were tried; 1 if q0 was good enough
    limits : names of the joints, among those that move the targets, that lie at one of their limits
    """

    q: Array
    converged: bool
    residual: Array
    iterations: int
    guesses: int
    limits: tuple[str, ...]


# ---------------------------------------------------------------- the equations, traced


@dataclass(frozen=True)
class Task:
    """A least-squares problem without its numbers: links and the shapes of their goals, and the velocities that may change."""

    model: Model
    asked: tuple[tuple[str, tuple[int, ...]], ...]
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
        for (link, shape), T, c in zip(self.asked, goals, points, strict=True):
            T_L, J = T_WL[self.model.link_index(link)], dynamics.jacobian(self.model, q, link)[:, list(self.moving)]
            R = se3.rotation(T_L)
            if shape != (3,):
                w = so3.log(se3.rotation(T).T @ R)
                r.append(w)                                                              # (1)
                J_r.append(so3.dexp_inv(-w) @ J[:3])                                     # (3)
            if shape != (3, 3):
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
    """Return ``task.descent`` or ``task.slope`` as machine code."""
    nq, n, k, m = task.model.nq, len(task.moving), len(task.asked), sum(3 * len(ASKED[shape]) for _, shape in task.asked)
    if name == "descent":
        return shaped(task.descent, f"({nq}),({k},4,4),({k},3),({m}),({nq}),({nq}),()->({nq}),({m}),(),()")
    return shaped(task.slope, f"({nq}),({n}),({k},4,4),({k},3),({m})->({nq}),({m}),({n})")


class Problem:
    """A task with its numbers, and the search for its solution from one guess after another."""

    def __init__(self, model: Model, targets: list[Target], held: bool, limits: bool, tolerance: float) -> None:
        """Take checked targets; ``held``: whether floating joints on the world stay."""
        self.model, self.tolerance, self.limits = model, np.array(tolerance), limits
        self.moving = moving_velocities(model, tuple(t.link for t in targets), held)
        self.lower, self.upper = joint_box(model) if limits else (np.full(model.nq, -np.inf), np.full(model.nq, np.inf))
        self.task = Task(model, tuple((t.link, t.goal.shape) for t in targets), self.moving)
        self.goals = np.array([t.pose for t in targets])
        self.points = np.array([t.point for t in targets])
        #: of every three rows of r: the target, 0 for its angle or 1 for its distance, and the weight
        self.parts = [(k, i, t.weights[i]) for k, t in enumerate(targets) for i in ASKED[t.goal.shape]]
        self.weights = np.repeat([weight for *_, weight in self.parts], 3)

    def solved(self, q0: Array, seeds: int) -> IKResult:
        """Return the end of the first guess's descent that reaches the targets, or the minimum next to the best of all."""
        descent = compiled(self.task, "descent")
        rng, least, best, iterations = None, np.inf, q0, 0
        for k in range(1 + seeds * bool(self.moving)):
            rng = np.random.default_rng(0) if k == 1 else rng
            guess = q0 if rng is None else self.nearby(q0, rng) if k == 1 else self.anywhere(q0, rng)
            q, r, arrived, steps = descent(guess, self.goals, self.points, self.weights, self.lower, self.upper, self.tolerance)
            iterations += int(steps)
            if converged := bool(arrived):
                break
            if (cost := self.cost(r)) < least:
                least, best = cost, q
        else:
            q, r, steps = self.settled(best)
            iterations, converged = iterations + steps, bool(reached(r, self.weights, self.tolerance))
        residual = np.zeros((len(self.goals), 2))
        for (target, part, weight), e in zip(self.parts, r.reshape(-1, 3), strict=True):
            residual[target, part] = np.sqrt(e @ e) if weight > 0 else 0.0
        return IKResult(np.array(q), converged, residual, iterations, k + 1, self.at_limits(q))

    def cost(self, r: Array) -> float:
        """Return ½ |w r|²."""
        return 0.5 * float(np.sum((self.weights * r) ** 2))

    def settled(self, q: Array) -> tuple[Array, Array, int]:
        """Return the local minimum next to q, by Newton's method with all of the Hessian, r there, and the steps tried."""
        n, slope = len(self.moving), compiled(self.task, "slope")

        def at(q: Array, d: Array) -> tuple[Array, Array, Array]:
            q, r, g = slope(q, d, self.goals, self.points, self.weights)
            return np.clip(q, self.lower, self.upper), r, g

        (q, r, g), steps = at(q, np.zeros(n)), 0
        while n and steps < LAST_TRIES:
            h = 1e-5 * np.eye(n)
            H = np.array([(at(q, x)[2] - at(q, -x)[2]) / 2e-5 for x in h])               # ∂g/∂d; its skew part is the bracket's
            low, high = self.task.room(q, self.lower, self.upper)
            kept = ((low < 0) | (g <= 0)) & ((high > 0) | (g >= 0))                       # the others are pressed against their limits
            H = np.where(np.outer(kept, kept), 0.5 * (H + H.T), 0.0)
            values, vectors = np.linalg.eigh(H)
            sizes, largest = np.abs(values), np.abs(values).max() + 1e-300
            sizes = np.where(sizes < 1e-7 * largest, largest, sizes)                     # downhill; along what is flat, hardly
            with np.errstate(over="ignore"):                                             # the way to a bound may be infinitely long
                d = box_qp((vectors * sizes) @ vectors.T, g, low, high)
            while True:
                steps += 1
                after, r_after, g_after = at(q, d)
                if self.cost(r_after) <= self.cost(r) * (1.0 + 1e-14) or np.abs(d).max() < 1e-10 or steps >= LAST_TRIES:
                    break
                d = 0.25 * d
            q, r, g = after, r_after, g_after
            if np.abs(d).max() < 1e-10:
                break
        return q, r, steps

    def nearby(self, q: Array, rng: np.random.Generator) -> Array:
        """Return a guess close by: off a singular one, such as a straight arm."""
        return np.clip(self.task.plus(q, 0.1 * rng.standard_normal(len(self.moving))), self.lower, self.upper)

    def anywhere(self, q: Array, rng: np.random.Generator) -> Array:
        """Return a random guess within the limits, or half a turn or a metre from q; floating and planar joints keep their positions."""
        q = q.copy()
        for b in self.model.bodies:
            own = q[b.q]
            if b.mimics or b.v.start not in self.moving:
                continue
            if b.kind.adds:
                low, high = self.lower[b.q], self.upper[b.q]
                reach = 1.0 if b.kind.units[0] == "m" else np.pi
                low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * reach, own - reach))
                high = np.where(np.isfinite(high), high, low + 2 * reach)
                q[b.q] = rng.uniform(low, high)
            else:
                position = np.isin(b.kind.q_names, ("x", "y", "z"))
                q[b.q] = np.where(position, own, b.kind.random(b.joint, rng))
        return q

    def at_limits(self, q: Array) -> tuple[str, ...]:
        """Return the names of the joints that move the targets and lie at a limit."""
        bodies = [b for b in self.model.bodies if self.limits and b.kind.adds and b.v.start in self.moving]
        ends = [(b.joint.name, x, b.joint.limits) for b in bodies for x in (b.ratio * q[b.q] + b.offset).tolist()]
        return tuple(dict.fromkeys(name for name, x, end in ends if abs(x - end.lower) < 1e-12 or abs(x - end.upper) < 1e-12))


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
