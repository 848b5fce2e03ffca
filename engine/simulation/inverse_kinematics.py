"""Inverse kinematics: configurations that bring links to where they should be, within the joints' limits."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.compiler.gufunc import Gufunc, gufunc
from engine.model import Model, ModelError, StateError
from engine.spatial import se3, so3

Array = np.ndarray
#: rows of a target's residual, by the shape of its goal: a pose, a rotation, a position
GOALS = {(4, 4): 6, (3, 3): 3, (3,): 3}
#: steps tried from one guess, and in the last approach to the nearest configuration where no guess reaches the targets
TRIES, LAST_TRIES = 200, 100
#: share of ½ |r|² that a step must promise, or the guess is given up
STALLED = 1e-3


@dataclass(frozen=True, eq=False)
class Target:
    """Where a link should be.

    Parameters
    ----------
    link : its name
    goal : in world axes a pose T_WL (4×4), a position (3) in m, or a rotation R_WL (3×3)
    point : the point of the link that goes to the goal's position, in the link's frame (m)
    weights : of the angle (1/rad) and of the distance (1/m), where not all targets can be reached; 0 asks for nothing
    """

    link: str
    goal: Any
    point: Any = (0.0, 0.0, 0.0)
    weights: Any = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Reached:
    """What :func:`inverse_kinematics` found.

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


def inverse_kinematics(model: Model, targets: Any, q0: Any = None, base: str = "free", limits: bool = True, tolerance: float = 1e-9,
                       seeds: int = 50) -> Reached:  # fmt: skip
    """A configuration in which links are where they should be, or the nearest to it that was found.

    It minimises ½ |r|² over the configurations within the limits. A target adds to r its angle and its distance, by its weights w::

        r_R = w_R log(R*ᵀ R)                      rotation vector from goal to link, in the goal's axes                   (1)
        r_p = w_p (p + R c − p*)                  from goal to the link's point c, in world axes                          (2)
        J_R = w_R dexp(−log(R*ᵀ R))⁻¹ J_ω         with the body Jacobian J = [J_ω; J_v] of the link                       (3)
        J_p = w_p R (J_v − [c] J_ω)                                                                                       (4)

    by Levenberg's and Marquardt's damped steps q ← q ⊕ d on the manifold, each the least squares solution within the box of limits::

        d = argmin ½ |J d + r|² + ½ λ |d|²,  lower ≤ q + d ≤ upper,  λ ∝ |r|²                                             (5)

    which converges quadratically to targets that can be reached, at redundant arms too. A guess from which they are not reached is
    followed by another: one close to q0, then random ones within the limits. Where none reaches them, the best is brought to the
    minimum by Newton's method with all of the Hessian; it is a local minimum: the nearest found, not known to be the nearest.

    Parameters
    ----------
    targets : ``{link: goal}``, or :class:`Target` objects, one or several; a goal is a pose T_WL (4×4), the position of the link's
        origin (3) in m, or a rotation R_WL (3×3), all in the world
    q0 : the guess (nq), by default ``model.neutral()``; it is brought within the limits. Joints that move no target stay there
    base : whether the floating joints that hang from the world are "free" or "fixed" at q0; nothing to a robot without
    limits : whether joints of angles and lengths (universal ones' two too) keep within their limits, mimic joints within their own
    tolerance : angle (rad) and distance (m) within which a target is reached
    seeds : how many guesses may follow q0; they are the same at every call

    Raises
    ------
    ModelError : no link of that name; a joint whose limits leave it no configuration
    StateError : a target, guess or option is not what is expected

    References
    ----------
    Sugihara, *Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method*, IEEE Trans. Robotics 2011;
    Yamashita & Fukushima, *On the rate of convergence of the Levenberg–Marquardt method*, 2001; Nocedal & Wright, *Numerical
    Optimization*, §10.3 and §16.5 (active sets).

    Examples
    --------
    Two rods of 1 m in the plane bring their tip to (−1, 1), and no further than 2 m:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import se3
    >>> arm, ahead = Builder(), se3.pose(np.eye(3), np.array([1.0, 0, 0]))
    >>> _ = [arm.add_link(name) for name in ("base", "upper", "fore", "tip")]
    >>> _ = arm.add_joint("shoulder", "revolute", "base", "upper"), arm.add_joint("elbow", "revolute", "upper", "fore", placement=ahead)
    >>> _ = arm.add_joint("end", "fixed", "fore", "tip", placement=ahead)
    >>> model = arm.model()
    >>> solution = inverse_kinematics(model, {"tip": [-1.0, 1.0, 0.0]}, q0=[1.0, 1.0])
    >>> solution.converged, solution.q.round(9)
    (True, array([1.57079633, 1.57079633]))
    >>> solution = inverse_kinematics(model, {"tip": [0.0, 3.0, 0.0]})
    >>> solution.converged, solution.residual.round(9)
    (False, array([[0., 1.]]))
    """
    if not isinstance(model, Model):
        raise StateError(f"inverse_kinematics got a {type(model).__name__}; expected a Model (engine.load_urdf makes one from a file)")
    if base not in ("free", "fixed"):
        raise StateError(f"base is {base!r}; expected 'free' or 'fixed'")
    if isinstance(seeds, bool) or not isinstance(seeds, (int, np.integer)) or seeds < 0:
        raise StateError(f"seeds is {seeds!r}; expected a whole number of guesses from 0")
    if not isinstance(tolerance, (int, float, np.integer, np.floating)) or not 0 < tolerance < np.inf:
        raise StateError(f"tolerance is {tolerance!r}; expected a positive number (rad and m)")
    wanted = _targets(model, targets)
    q = model.normalized(model.neutral() if q0 is None else _unbatched(model, q0))
    problem = _Problem(model, wanted, base == "fixed", bool(limits), float(tolerance))
    return problem.solved(np.clip(q, problem.lower, problem.upper), int(seeds))


# ---------------------------------------------------------------- what comes in


def _unbatched(model: Model, q0: Any) -> Array:
    try:
        return model.checked("q0", q0)
    except ValueError as error:
        if isinstance(error, StateError):
            raise
        raise StateError(f"q0 is not rectangular; expected ({model.nq},) numbers for '{model.name}'") from None


def _numbers(x: Any, what: str, expected: str, shapes: Iterable[tuple[int, ...]]) -> Array:
    """x as finite float64 of one of the shapes."""
    try:
        given = np.asarray(x)
    except (TypeError, ValueError):
        given = np.array(None)
    if given.dtype.kind not in "fiu":
        raise StateError(f"{what} is {x!r}; expected {expected}")
    a = given.astype(float)
    if a.shape not in tuple(shapes):
        raise StateError(f"{what} has shape {a.shape}; expected {expected}")
    if not (np.abs(a) <= 1e9).all():
        raise StateError(f"{what} holds {a.flat[int(np.argmax(~(np.abs(a) <= 1e9)))]}; expected finite numbers, of 1e9 at most")
    return a


def _targets(model: Model, targets: Any) -> list[Target]:
    """The targets with checked arrays: rotations are made orthogonal to rounding."""
    if isinstance(targets, Target):
        targets = [targets]
    elif isinstance(targets, Mapping):
        targets = [Target(link, goal) for link, goal in targets.items()]
    elif not isinstance(targets, Iterable) or isinstance(targets, (str, np.ndarray)):
        raise StateError(f"targets is {targets!r}; expected {{link: goal}} or Target(link, goal) objects")
    result = []
    for k, target in enumerate(targets):
        if not isinstance(target, Target):
            raise StateError(f"targets[{k}] is {target!r}; expected Target(link, goal)")
        model.link_index(target.link)
        here = f"the target of link '{target.link}'"
        goal = _numbers(target.goal, here, "a pose (4, 4), a position (3,) or a rotation (3, 3)", GOALS)
        if goal.ndim == 2:
            R = goal[:3, :3]
            if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
                raise StateError(f"{here} is no {'pose' if len(goal) == 4 else 'rotation'}; expected an orthogonal, right-handed matrix")
            if goal.shape == (4, 4) and (goal[3] != [0, 0, 0, 1]).any():
                raise StateError(f"{here} is no pose: its last row is {goal[3].tolist()}; expected 0 0 0 1")
            for _ in range(2):                                                           # Newton's iteration to the polar factor
                R = 1.5 * R - 0.5 * R @ (R.T @ R)
            goal[:3, :3] = R
        point = _numbers(target.point, f"the point of {here}", "three numbers (m, in the link's frame)", [(3,)])
        weights = _numbers(target.weights, f"the weights of {here}", "two numbers, of the angle and of the distance", [(2,)])
        asked = weights[{(4, 4): slice(0, 2), (3, 3): slice(0, 1), (3,): slice(1, 2)}[goal.shape]]
        if (weights < 0).any() or not asked.any():
            raise StateError(f"the weights of {here} are {weights.tolist()}; expected none below zero, and one above for what it asks")
        result.append(Target(target.link, goal, point, weights))
    if not result:
        raise StateError("there are no targets; expected at least one link and where it should be")
    return result


# ---------------------------------------------------------------- the equations, traced


@dataclass(frozen=True)
class _Task:
    """What is asked of a model, without numbers: links and the shapes of their goals, and the velocities that may change."""

    model: Model
    asked: tuple[tuple[str, tuple[int, ...]], ...]
    moving: tuple[int, ...]

    def plus(self, q: Array, d: Array) -> Array:
        """q ⊕ d for a step of the velocities ``moving``; what floats goes straight first and turns then, so that no far way is bent."""
        straight, turn = np.zeros((2, self.model.nv), dtype=np.asarray(d).dtype)
        for i, x in zip(self.moving, d, strict=True):
            (straight if i in _straight_ways(self.model) else turn)[i] = x
        plus = self.model.manifold.plus
        return self.model.manifold.normalized(plus(plus(q, straight), turn))

    def residual(self, q: Array, goals: Array, points: Array) -> tuple[Array, Array]:
        """r (m) with weights of 1, and its Jacobian (m, n)."""
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
        """The least and the largest step within the limits: infinite where there is none, and where coordinates do not add."""
        low: list[Any] = [-np.inf] * len(self.moving)
        high: list[Any] = [np.inf] * len(self.moving)
        for i, k in _places(self.model, self.moving):
            low[k], high[k] = lower[i] - q[i], upper[i] - q[i]
        return np.array(low), np.array(high)

    def descent(self, q: Array, goals: Array, points: Array, w: Array, lower: Array, upper: Array, tolerance: Any) -> tuple[Any, ...]:
        """From a guess within the limits to where the targets are reached or (5) leads no further: q, r, 1 if reached, steps tried."""
        nq, n = self.model.nq, len(self.moving)

        def advance(x: Array) -> tuple[Array, Any]:
            q, mu, steps = x[:nq], x[nq], x[nq + 1]
            e, J_e = self.residual(q, goals, points)
            r, J = w * e, w[:, None] * J_e
            cost, g, H = 0.5 * (r @ r), J.T @ r, J.T @ J
            size = sum((H[i, i] for i in range(n)), 0.0) / n
            damping = mu * ops.minimum(2.0 * cost, size) + 1e-13 * size + 1e-300
            d = bounded(H + damping * np.eye(n), g, *self.room(q, lower, upper))         # (5)
            expected = -(g @ d + 0.5 * (d @ H @ d))
            after = ops.minimum(ops.maximum(self.plus(q, d), lower), upper)
            r_after = w * self.residual(after, goals, points)[0]
            gain = cost - 0.5 * (r_after @ r_after)
            done = ops.logical_or(_reached(e, w, tolerance), expected <= STALLED * cost)
            better = ops.logical_and(ops.logical_not(done), gain > 1e-3 * expected)
            mu = mu * ops.where(gain > 0.75 * expected, 1 / 3, ops.where(gain > 0.25 * expected, 1.0, 3.0))
            return np.concatenate([ops.where(better, after, q), [mu, steps + ops.where(done, 0.0, 1.0)]]), done

        if n:
            x, _ = ops.while_loop(advance, np.concatenate([q, [0.1, 0.0]]), TRIES)
            q, steps = x[:nq], x[nq + 1]
        else:
            steps = 0.0 * tolerance
        r = self.residual(q, goals, points)[0]
        return q, r, ops.where(_reached(r, w, tolerance), 1.0, 0.0), steps

    def slope(self, q: Array, d: Array, goals: Array, points: Array, w: Array) -> tuple[Array, Array, Array]:
        """At q ⊕ d: the configuration, r, and the gradient of ½ |w r|²."""
        q = self.plus(q, d)
        r, J = self.residual(q, goals, points)
        return q, r, J.T @ (w * w * r)


def _reached(r: Array, w: Array, tolerance: Any) -> Any:
    """Whether every angle and every distance that is asked for, three rows of r each, is within the tolerance."""
    result: Any = True
    for k in range(0, len(r), 3):
        asked = w[k] > 0.0
        result = ops.logical_and(result, ops.where(asked, r[k : k + 3] @ r[k : k + 3], 0.0) <= tolerance * tolerance)
    return result


@functools.lru_cache(maxsize=128)
def _compiled(task: _Task, name: str) -> Gufunc:
    """``task.descent`` or ``task.slope`` as machine code."""
    nq, n, k, m = task.model.nq, len(task.moving), len(task.asked), sum(GOALS[shape] for _, shape in task.asked)
    if name == "descent":
        return gufunc(task.descent, f"({nq}),({k},4,4),({k},3),({m}),({nq}),({nq}),()->({nq}),({m}),(),()")
    return gufunc(task.slope, f"({nq}),({n}),({k},4,4),({k},3),({m})->({nq}),({m}),({n})")


# ---------------------------------------------------------------- guesses


class _Problem:
    """A task with its numbers, and how to get there."""

    def __init__(self, model: Model, targets: list[Target], held: bool, limits: bool, tolerance: float) -> None:
        self.model, self.tolerance, self.limits = model, np.array(tolerance), limits
        self.moving = _moving(model, tuple(t.link for t in targets), held)
        self.lower, self.upper = _box(model) if limits else (np.full(model.nq, -np.inf), np.full(model.nq, np.inf))
        self.task = _Task(model, tuple((t.link, t.goal.shape) for t in targets), self.moving)
        self.goals = np.array([_as_pose(t.goal) for t in targets])
        self.points = np.array([t.point for t in targets])
        #: of every three rows of r: the target, 0 for its angle or 1 for its distance, and the weight
        self.parts = [(k, i, t.weights[i]) for k, t in enumerate(targets) for i in (0, 1) if t.goal.shape != ((3,), (3, 3))[i]]
        self.weights = np.repeat([weight for *_, weight in self.parts], 3)

    def solved(self, q0: Array, seeds: int) -> Reached:
        """The first guess's end that reaches the targets, or the minimum next to the best of all."""
        descent = _compiled(self.task, "descent")
        rng, least, best, iterations = None, np.inf, q0, 0
        for k in range(1 + seeds * bool(self.moving)):
            rng = np.random.default_rng(0) if k == 1 else rng
            guess = q0 if rng is None else self.nearby(q0, rng) if k == 1 else self.anywhere(q0, rng)
            q, r, reached, steps = descent(guess, self.goals, self.points, self.weights, self.lower, self.upper, self.tolerance)
            iterations += int(steps)
            if converged := bool(reached):
                break
            if (cost := self.cost(r)) < least:
                least, best = cost, q
        else:
            q, r, steps = self.settled(best)
            iterations, converged = iterations + steps, bool(_reached(r, self.weights, self.tolerance))
        residual = np.zeros((len(self.goals), 2))
        for (target, part, weight), e in zip(self.parts, r.reshape(-1, 3), strict=True):
            residual[target, part] = np.sqrt(e @ e) if weight > 0 else 0.0
        q = np.array(q)
        return Reached(q, converged, residual, iterations, k + 1, self.at_limits(q))

    def cost(self, r: Array) -> float:
        """½ |w r|²."""
        return 0.5 * float(np.sum((self.weights * r) ** 2))

    def settled(self, q: Array) -> tuple[Array, Array, int]:
        """The local minimum next to q, by Newton's method with all of the Hessian, and r there; the steps tried."""
        n, slope = len(self.moving), _compiled(self.task, "slope")

        def at(q: Array, d: Array) -> tuple[Array, Array, Array]:
            q, r, g = slope(q, d, self.goals, self.points, self.weights)
            return np.clip(q, self.lower, self.upper), r, g

        q, r, g = at(q, np.zeros(n))
        steps = 0
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
                d = bounded((vectors * sizes) @ vectors.T, g, low, high)
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
        """A guess close by: off a singular one, such as a straight arm."""
        return np.clip(self.task.plus(q, 0.1 * rng.standard_normal(len(self.moving))), self.lower, self.upper)

    def anywhere(self, q: Array, rng: np.random.Generator) -> Array:
        """A guess within the limits (within half a turn, or a metre, of what they allow); what floats keeps its position."""
        q = q.copy()
        for b in self.model.bodies:
            own = q[b.q]
            if b.mimics or b.v.start not in self.moving:
                continue
            if _straight(b):
                low, high = self.lower[b.q], self.upper[b.q]
                reach = 1.0 if b.kind.name == "prismatic" else np.pi
                low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * reach, own - reach))
                high = np.where(np.isfinite(high), high, low + 2 * reach)
                q[b.q] = rng.uniform(low, high)
            else:
                drawn, place = b.kind.random(b.joint, rng), slice(4, None) if b.kind.manifold.attitude else slice(0, 2)
                drawn[place] = own[place]
                q[b.q] = drawn
        return q

    def at_limits(self, q: Array) -> tuple[str, ...]:
        """Joints that move the targets and lie at a limit."""
        names, place, ratio, offset, lower, upper = _limited(self.model, self.moving)
        own = ratio * q[place] + offset
        near = (np.abs(own - lower) < 1e-12) | (np.abs(own - upper) < 1e-12)
        return tuple(dict.fromkeys(names[i] for i in np.flatnonzero(near))) if self.limits else ()


def _as_pose(goal: Array) -> Array:
    """A goal as 4×4, with zeros for what it does not ask."""
    T = np.eye(4)
    T[:3, slice(3, 4) if goal.ndim == 1 else slice(0, goal.shape[1])] = goal[:3, None] if goal.ndim == 1 else goal[:3]
    return T


def _straight(body: Any) -> bool:
    """Whether the joint's coordinates are numbers that add, so that limits are bounds on them."""
    return body.kind.manifold.flat


@functools.lru_cache(maxsize=128)
def _moving(model: Model, links: tuple[str, ...], held: bool) -> tuple[int, ...]:
    """The velocities that move one of the links; not those of a base that is held."""
    found: set[int] = set()
    for link in links:
        i, _ = model.carrier[model.link_index(link)]
        while i >= 0:
            body = model.bodies[i]
            if not (held and body.parent < 0 and body.kind.name == "floating"):
                found.update(range(body.v.start, body.v.stop))
            i = body.parent
    return tuple(sorted(found))


@functools.lru_cache(maxsize=128)
def _places(model: Model, moving: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Coordinates that are numbers and change: the place in q of each, and the place of its rate in a step of ``moving``."""
    pairs = [(b.q.start + i, b.v.start + i) for b in model.bodies if not b.mimics and _straight(b) for i in range(b.kind.nv)]
    return tuple((i, moving.index(k)) for i, k in pairs if k in moving)


@functools.lru_cache(maxsize=128)
def _straight_ways(model: Model) -> frozenset[int]:
    """The linear velocities of floating and planar joints."""
    linear = {"floating": range(3, 6), "planar": range(2)}
    return frozenset(b.v.start + i for b in model.bodies for i in linear.get(b.kind.name, ()))


@functools.lru_cache(maxsize=128)
def _limited(model: Model, moving: tuple[int, ...]) -> tuple[Any, ...]:
    """Of every coordinate that is a number and changes, mimics' too: the joint's name, place in q, ratio, offset, lower and upper limit."""
    rows = [(b.joint.name, b.q.start + i, b.ratio, b.offset, b.joint.limits.lower, b.joint.limits.upper)
            for b in model.bodies if _straight(b) and b.v.start in moving for i in range(b.kind.nv)]  # fmt: skip
    names = [row[0] for row in rows]
    return names, np.array([row[1] for row in rows], dtype=int), *np.array([row[2:] for row in rows]).reshape(-1, 4).T


@functools.lru_cache(maxsize=128)
def _box(model: Model) -> tuple[Array, Array]:
    """Bounds on q (nq) that keep every joint of numbers, mimic joints too, within its limits."""
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for b in model.bodies:
        if not _straight(b):
            continue
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


# ---------------------------------------------------------------- least squares in a box


def bounded(H: Array, g: Array, low: Array, high: Array) -> Array:
    """argmin ½ dᵀ H d + gᵀ d within low ≤ d ≤ high, which hold 0, for positive definite H (n×n): by a primal active set.

    From d = 0, the free entries go towards their minimum until the first meets a bound and is held there; at the minimum the held
    entry that is pulled inwards most is let go.

    >>> bounded(np.eye(2), np.array([-3.0, 1.0]), np.array([-9.0, -9.0]), np.array([2.0, 9.0]))
    array([ 2., -1.])
    """
    n = len(g)

    def advance(x: Array) -> tuple[Array, Any]:
        d, held = x[:n], ops.less(0.5, x[n:])
        free = ops.where(held, 0.0, 1.0)
        A = H * np.outer(free, free) + np.diag(1.0 - free)
        s = ops.solve(A, -free * (H @ d + g))                                            # to the minimum of the free entries
        wall = ops.where(ops.less(0.0, s), high, low)
        share = ops.where(ops.equal(s, 0.0), np.inf, (wall - d) / ops.where(ops.equal(s, 0.0), 1.0, s))
        first = _least(share)
        met = ops.logical_and(ops.less_equal(share, first), first < 1.0)
        d = ops.where(met, wall, d + ops.minimum(first, 1.0) * s)
        pull = -(H @ d + g)
        inwards = ops.where(ops.equal(d, low), pull, -pull)
        inwards = ops.where(ops.logical_and(held, ops.logical_and(ops.less(low, high), first >= 1.0)), inwards, 0.0)
        most = -_least(-inwards)
        let_go = ops.logical_and(ops.less(0.0, inwards), ops.less_equal(most, inwards))
        held = ops.logical_and(ops.logical_or(held, met), ops.logical_not(let_go))
        return np.concatenate([d, ops.where(held, 1.0, 0.0)]), ops.logical_and(first >= 1.0, most <= 0.0)

    x, _ = ops.while_loop(advance, np.zeros(2 * n), 10 * n)
    return x[:n]


def _least(x: Array) -> Any:
    """The least entry."""
    result = x[0]
    for y in x[1:]:
        result = ops.minimum(result, y)
    return result
