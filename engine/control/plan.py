"""Plans over a horizon, and the search for them: iterations of a linear-quadratic regulator from an initial motion."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import number, shown, whole
from engine.compiler.gufunc import Gufunc, shaped
from engine.control.horizon import ControlError, Horizon, require_names, scanned
from engine.ops.box_qp import box_qp

Array = np.ndarray
#: lengths of the step that are tried at once
LENGTHS = 0.5 ** np.arange(8.0)
#: the least weight of δu besides none, and one from which on nothing more is tried
WEAK, STRONG = 1e-6, 1e10
#: of the growth of that weight
GROWTH = 2.0
#: beyond all limits
FAR = 1e300
#: by how much controls beside stationary ones move the state, rad, m, rad/s, m/s
PUSH = 0.1
#: numbers of a knot, n + nu, to which the way back is one program
SMALL = 64


@dataclass(frozen=True, eq=False)
class Plan:
    """Controls of least cost over a horizon, and the motion under them.

    Called with t, q, v (..., nq), (..., nv) it returns u + K [q ⊖ q_k; v − v_k] of the step that t is in, within the limits: a controller
    in plain Python, ``engine.Law(plan, period=plan.dt, python=True)``.

    Attributes
    ----------
    t : times (N + 1), s; q, v : the motion (N + 1, nq), (N + 1, nv); u : controls (N, *shape)
    costs : the sum of all costs after each iteration, from that of the motion at first on, which without u has gaps between its steps
    converged : whether an iteration is expected to lower the cost by less than the tolerance
    stationary : whether no iteration lowered the cost from the beginning on: so it is at a minimum, and at a saddle or a maximum too
    iterations, tolerance : with which it was sought

    >>> import engine
    >>> rail = engine.Builder()
    >>> _ = rail.add_link("world"), rail.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=[1, 0, 0])
    >>> cart = engine.Simulator(rail.model(), dt=0.1)
    >>> plan = engine.ilqr(cart, [0.0], [1.0], lambda t, q, v, u: u, lambda t, q, v: 0.0 * v, steps=10)  # effort alone costs
    >>> print(plan.converged, plan.u.shape, plan.q[-1].round(6))  # so nothing is done: 1 m/s for 1 s
    True (10, 1) [1.]
    """

    problem: Problem = field(repr=False)
    t: Array
    motion: Motion = field(repr=False)
    costs: Array
    converged: bool
    stationary: bool
    iterations: int
    tolerance: float
    parameters: Mapping[str, Any] = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    p: Array = field(repr=False)

    @functools.cached_property
    def q(self) -> Array:
        return self.motion.x[:, : self.problem.horizon.model.nq]

    @functools.cached_property
    def v(self) -> Array:
        return self.motion.x[:, (nq := self.problem.horizon.model.nq) : nq + self.problem.horizon.nv]

    @functools.cached_property
    def u(self) -> Array:
        return self.motion.u.reshape(len(self.motion.u), *self.problem.horizon.shape)

    @functools.cached_property
    def K(self) -> Array:
        """Gains (N, nu, 2 nv) of the regulator about the motion, zero for inputs that are at their limits; found when first asked for."""
        return self.problem.gains(self)

    def __repr__(self) -> str:
        how = "found" if self.converged else "not converged"
        return (f"<plan of '{self.problem.horizon.model.name}': {len(self.u)} steps of {self.dt:g} s, cost {self.cost:.6g}, "
                f"{how} after {len(self.costs) - 1} iterations>")  # fmt: skip

    @property
    def cost(self) -> float:
        """The sum of all costs."""
        return float(self.costs[-1])

    @property
    def dt(self) -> float:
        """A step, s."""
        return self.problem.horizon.simulator.dt

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the controls (..., *shape) at a state."""
        if ops.graph_of(t, q, v) is not None:
            raise ControlError("a plan is a controller in plain Python; expected engine.Law(plan, period=plan.dt, python=True)")
        k = int(np.clip(np.floor((number("t", t, "a time, s", error=ControlError) - self.t[0]) / self.dt + 1e-9), 0, len(self.u) - 1))
        horizon = self.problem.horizon
        q, v = horizon.model.normalized(q), horizon.model.checked("v", v, batched=True)
        away = np.concatenate([horizon.model.manifold.minus(np.broadcast_to(self.q[k], q.shape), q), v - self.v[k]], axis=-1)
        u = np.clip(self.motion.u[k] + away @ self.K[k].T, self.problem.low, self.problem.high)
        return np.reshape(u, (*u.shape[:-1], *horizon.shape))

    def again(self, q: ArrayLike, v: ArrayLike, t: float | None = None, parameters: Mapping[str, ArrayLike] | None = None,
              iterations: int | None = None, tolerance: float | None = None) -> Plan:  # fmt: skip
        """Return the plan from another state and time on, sought from this one's controls at those times: nothing compiles anew.

        With a few iterations at each tick it is a controller that looks ahead (model predictive control): t is later by a step or more, the
        last controls stay. ``parameters``, ``iterations`` and ``tolerance`` that are not given are as they were. It goes down from these
        controls alone, converged or not, without a warning: of controls at a saddle it makes no others, as :func:`ilqr` does.
        """
        require_names(parameters or {})
        iterations, tolerance = self.iterations if iterations is None else iterations, self.tolerance if tolerance is None else tolerance
        t = self.t[0] if t is None else number("t", t, "a time, s", error=ControlError)
        k = np.clip(np.round((t - self.t[0]) / self.dt).astype(int) + np.arange(len(self.u)), 0, len(self.u) - 1)
        return self.problem.solve(q, v, self.u[k], t, {**self.parameters, **(parameters or {})}, iterations, tolerance)


def damped(damping: float, growth: float, best: int) -> tuple[float, float]:
    """Return the weight of δu of the next iteration, and by how much it grows: ever faster while steps are short, or none is good."""
    if best == 0:
        growth = min(1.0 / GROWTH, growth / GROWTH)
        return (damping * growth if damping * growth > WEAK else 0.0), growth
    if best == 1:
        return damping, 1.0
    growth = max(GROWTH, growth * GROWTH)
    return max(WEAK, damping * growth), growth


class Motion(NamedTuple):
    """States (N + 1, size), controls (N, nu), and by how much each step's end is beyond the next state: (N, n)."""

    x: Array
    u: Array
    gaps: Array


class Problem:
    """A horizon with limits of its inputs, whose least cost is sought again and again."""

    def __init__(self, horizon: Horizon, steps: int, limits: Any) -> None:
        self.horizon, self.steps = horizon, steps
        self.low, self.high = np.full(horizon.nu, -np.inf), np.full(horizon.nu, np.inf)
        if limits is not None:
            if not isinstance(limits, (tuple, list, np.ndarray)) or len(limits) != 2:
                raise ControlError(f"limits is {shown(limits)}; expected two, the lowest and the highest u")
            self.low, self.high = (np.array(np.broadcast_to(self.limit(x), horizon.shape)).reshape(-1) for x in limits)
            if not (self.low <= self.high).all() or (np.isinf(self.low) & (self.low == self.high)).any():
                raise ControlError(f"limits are {self.low.tolist()} and {self.high.tolist()}; expected the lowest u not above the highest")

    def limit(self, x: Any) -> Array:
        try:
            a = np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise ControlError(f"limits hold {shown(x)}; expected numbers") from None
        if a.shape not in ((), self.horizon.shape) or np.isnan(a).any():
            raise ControlError(f"limits have shape {a.shape}; expected {self.horizon.shape}, or a number")
        return a

    # ------------------------------------------------------------ from the end back

    def back(self, P: Array, s: Array, D: Array, g: Array, H: Array, gap: Array, low: Array, high: Array, damping: Any,
             boxed: Callable[..., Array]) -> tuple[Any, ...]:  # fmt: skip
        """Return P, s, κ, K of a step, and by how much it changes the cost, to first order in α. Traceable."""
        n = self.horizon.n
        Q, r = H + ops.product(D.T, ops.product(P, D)), g + D.T @ (s + P @ gap)
        Q_ux, Q_uu, Q_u = Q[n:, :n], Q[n:, n:], r[n:]
        strong = Q_uu + damping * np.eye(len(Q_u))
        kappa = boxed(strong, Q_u, low, high)                                                               # (1)
        free = ops.where(ops.logical_or(ops.less_equal(kappa, low), ops.less_equal(high, kappa)), 0.0, 1.0)
        K = ops.solve(strong * np.outer(free, free) + np.diag(1.0 - free), -free[:, None] * Q_ux)
        W = Q_ux - damping * K                                                  # as Q_uu κ + Q_u is −damping κ where κ is free
        P, s = Q[:n, :n] + ops.product(W.T, K), r[:n] + W.T @ kappa                                                         # (2)
        return 0.5 * (P + P.T), s, kappa, K, Q_u @ kappa

    @functools.cached_property
    def limited(self) -> bool:
        return bool(np.isfinite([self.low, self.high]).any())

    @functools.cached_property
    def boxed(self) -> Gufunc:
        m = self.horizon.nu
        return shaped(box_qp, f"({m},{m}),({m}),({m}),({m})->({m})")

    @functools.cached_property
    def backward(self) -> Any:
        """The way back as one scan: of [P, s, κ, K, the change], with inputs [D, g, H, gap, lowest and highest κ]."""
        n, m = self.horizon.n, self.horizon.nu
        solve = box_qp if self.limited else lambda Q, r, low, high: ops.solve(Q, -r)

        def step(t0: Any, k: Any, dt: Any, p: Array, w: Array, x: Array) -> Array:
            P, s, change = x[: n * n].reshape(n, n), x[n * n : n * n + n], x[-1]
            D, g, H, gap, low, high = np.split(w, np.cumsum([n * (n + m), n + m, (n + m) ** 2, n, m]))
            P, s, kappa, K, own = self.back(P, s, D.reshape(n, n + m), g, H.reshape(n + m, n + m), gap, low, high, p[0], solve)
            return np.concatenate([P.reshape(-1), s, kappa, K.reshape(-1), np.array([change + own])])

        return scanned(step, 1, n * n + n + m + m * n + 1, n * (n + m) + (n + m) + (n + m) ** 2 + n + 2 * m, False)

    def regulated(self, D: Array, g: Array, H: Array, gaps: Array, room: tuple[Array, Array],
                  damping: float) -> tuple[Array, Array, Array, float]:  # fmt: skip
        """Return κ (N, nu), K (N, nu, n), s (N, n), and the change of cost to first order in α."""
        n, m = self.horizon.n, self.horizon.nu
        P, last, N = H[-1, :n, :n], g[-1, :n], len(D)
        if n + m <= SMALL:
            w = np.concatenate([D.reshape(N, -1), g[:-1], H[:-1].reshape(N, -1), gaps, *room], axis=-1)[::-1]
            x = np.concatenate([P.reshape(-1), last, np.zeros(m + m * n + 1)])
            found = self.backward(np.ones(N), 0.0, 0.0, 1.0, np.array([damping]), x, w)
            _, s, kappa, K, change = np.split(found[::-1], np.cumsum([n * n, n, m, m * n]), axis=-1)
            return kappa, K.reshape(N, m, n), s, float(change[0, 0])
        kappa, K, s, total = np.zeros((N, m)), np.zeros((N, m, n)), np.zeros((N, n)), 0.0
        solve = self.boxed if self.limited else lambda Q, r, low, high: np.linalg.solve(Q, -r)
        for k in reversed(range(N)):
            P, last, kappa[k], K[k], own = self.back(P, last, D[k], g[k], H[k], gaps[k], room[0][k], room[1][k], damping, solve)
            s[k], total = last, total + own
        return kappa, K, s, total

    # ------------------------------------------------------------ forward

    @functools.cached_property
    def forward(self) -> Any:
        """The way forward as one scan, a length α in each row: of [x, cost, u], with inputs [u, κ, K, x, gap]."""
        h = self.horizon
        size, n, m = h.linear.size, h.n, h.nu

        def step(t0: Any, k: Any, dt: Any, p: Array, w: Array, y: Array) -> Array:
            t, (alpha, far), x, cost = t0 + k * dt, p[:2], y[:size], y[size]
            u, kappa, K, x_k, gap = np.split(w, np.cumsum([m, m, m * n, size]))
            u = u + alpha * kappa + K.reshape(m, n) @ h.linear.minus(x_k, x)
            u = ops.clip(u, self.low - far, self.high + far) if self.limited else u
            own = h.with_input(p[2:], u)
            to = h.linear.plus(h.stepped(t, own, x), (alpha - 1.0) * gap)
            return np.concatenate([to, np.array([cost + h.cost(0, t, own, x)]), u])

        return scanned(step, 2 + h.layout.n, size + 1 + m, 2 * m + m * n + size + n, True)

    def scan(self, t: Any, p: Array, lengths: Array, far: float, x: Array, w: Array) -> list[Array]:
        """Return x, costs until then (…, 1) and u after each step, (a, N, …): of lengths α (a), and inputs w (N, …) or (a, N, …), within
        limits that are so far beyond their own."""
        h = self.horizon
        y = np.concatenate([x, np.zeros((*x.shape[:-1], 1 + h.nu))], axis=-1)
        given = np.array([np.concatenate([[alpha, far], p]) for alpha in lengths])
        found = self.forward(np.ones(w.shape[-2]), t, 0.0, h.simulator.dt, given, np.broadcast_to(y, (len(lengths), y.shape[-1])), w)
        return np.split(found, [h.linear.size, h.linear.size + 1], axis=-1)

    def flown(self, t: float, p: Array, motion: Motion, kappa: Array, K: Array, lengths: Array,
              far: float = 0.0) -> tuple[Array, list[Motion]]:  # fmt: skip
        """Return the costs (a), and the motions under u + α κ + K δx with what is left of the gaps, for each length α."""
        h, (x, u, gaps) = self.horizon, motion
        w = np.concatenate([u, kappa, K.reshape(len(u), -1), x[:-1], gaps], axis=-1)
        to, cost, to_u = self.scan(t, p, lengths, far, x[0], w)
        end = h.costs[1].ufunc(t + len(u) * h.simulator.dt, p, to[:, -1])
        found = [Motion(np.concatenate([x[:1], a]), b, (1.0 - alpha) * gaps) for a, b, alpha in zip(to, to_u, lengths, strict=True)]
        return cost[:, -1, 0] + end, found

    def standing(self, times: Array, p: Array, x: Array, u: Array) -> Motion:
        """Return what stays at a state, with the gaps that the steps from there leave."""
        h, N = self.horizon, len(u)
        stays = np.broadcast_to(x, (N + 1, len(x)))
        w = np.concatenate([u, np.zeros((N, h.nu + h.nu * h.n)), stays[:-1], np.zeros((N, h.n))], axis=-1)
        to, *_ = self.scan(times[:-1], p, np.ones(N), FAR, x, w[:, None, :])
        return Motion(stays, u, h.linear.minus(stays[1:], to[:, 0]))

    # ------------------------------------------------------------ the search

    @property
    def none(self) -> tuple[Array, Array]:
        """κ and K of no change."""
        return np.zeros((self.steps, self.horizon.nu)), np.zeros((self.steps, self.horizon.nu, self.horizon.n))

    def first(self, u: Any, q: Array) -> Array:
        """Return controls at first (N, nu), within the limits: those given, or what holds q."""
        h = self.horizon
        return np.clip(h.inputs(h.holding(q) if u is None else u, self.steps), self.low, self.high)

    def pushed(self, plan: Plan) -> Array:
        """Return controls (N, *shape) beside a plan's, within the limits: its regulator's under noise, the same at every call, that moves
        the state by about :data:`PUSH` in each direction in which an input moves it."""
        h, u = self.horizon, plan.motion.u
        with np.errstate(all="ignore"):
            B = h.dynamics(plan.t[:-1], h.rows(plan.values, u), plan.motion.x[:-1])[:, :, h.n :]
            reach = np.sqrt(len(u)) * np.abs(B).max(axis=(0, 1))
            size = np.where(reach > 0.0, PUSH / np.where(reach > 0.0, reach, 1.0), 0.0)
            noise = size * np.random.default_rng(0).standard_normal(u.shape)
            _, (found,) = self.flown(plan.t[0], plan.p, plan.motion, noise, self.regulator(plan), np.ones(1))
        return found.u.reshape(len(u), *h.shape)

    def cost_at_first(self, plan: Plan) -> float:
        """Return what the motion from a plan's state costs under the controls at first; infinite where it has no end."""
        begun = plan.motion._replace(u=self.first(None, plan.q[0]), gaps=np.zeros_like(plan.motion.gaps))
        with np.errstate(all="ignore"):
            cost, _ = self.flown(plan.t[0], plan.p, begun, *self.none, np.zeros(1))
        return float(cost[0]) if np.isfinite(cost[0]) else np.inf

    def gains(self, plan: Plan) -> Array:
        """Return the gains of a plan (N, nu, 2 nv)."""
        return self.regulator(plan)[:, :, : 2 * self.horizon.nv]

    def regulator(self, plan: Plan) -> Array:
        """Return the gains of a plan, of all of the state (N, nu, n)."""
        h, motion = self.horizon, plan.motion
        with np.errstate(all="ignore"):
            D, g, H = self.expanded(plan.t, h.rows(plan.values, motion.u), plan.p, motion)
            _, K, *_ = self.regulated(D, g, H, motion.gaps, (self.low - motion.u, self.high - motion.u), 0.0)
        return K

    def solve(self, q: Any, v: Any, u: Any, t: float, parameters: Mapping[str, Any], iterations: int, tolerance: float) -> Plan:
        """Return the plan from a state on."""
        h, N = self.horizon, self.steps
        h.require_unchanged()
        x, values, t = h.state(q, v), h.parameters(parameters), number("t", t, "a time, s", error=ControlError)
        given, first = u is not None, self.first(u, x[: h.model.nq])
        whole("iterations", iterations, "a whole number from 0", 0, ControlError)
        tolerance = number("tolerance", tolerance, "a number from zero", least=0.0, error=ControlError)
        p, times = h.layout.join(values), t + h.simulator.dt * np.arange(N + 1)
        with np.errstate(all="ignore"):
            motion = Motion(np.broadcast_to(x, (N + 1, len(x))), first, np.zeros((N, h.n)))
            motion = motion if given else self.standing(times, p, x, first)
            search = Search(self, times, p, values, motion, tolerance)
            for _ in range(iterations):
                if search.goes_on:
                    search.improve()
            motion = search.motion
            if motion.gaps.any():
                motion = self.flown(t, p, motion, *self.none, np.ones(1))[1][0]
        stationary = iterations > 0 and not search.moved
        return Plan(self, times, motion, np.array(search.costs), search.converged, stationary, iterations, tolerance, parameters, values, p)

    def expanded(self, times: Array, rows: Array, p: Array, motion: Motion) -> tuple[Array, Array, Array]:
        """Return derivatives of the steps (N, n, n + nu), and gradients and Hessians of the costs (N + 1, …)."""
        h, x = self.horizon, motion.x
        D = h.dynamics(times[:-1], rows, x[:-1])
        _, g, H = h.expansion(0, times[:-1], rows, x[:-1])
        _, g_N, H_N = h.expansion(1, times[-1:], p, x[-1:])
        for what, a in (("steps", D), ("costs", g), ("costs", H), ("final cost", g_N), ("final cost", H_N)):
            if not np.isfinite(a).all():
                k = int(np.argwhere(~np.isfinite(a))[0][0])
                raise ControlError(f"the derivatives of the {what} are not finite at step {k}; expected what is smooth there")
        return D, np.concatenate([g, g_N]), np.concatenate([H, H_N])

    def require_finite(self, cost: float, motion: Motion, t: float) -> None:
        """Refuse controls at first under which the motion, or its cost, is not finite."""
        good = np.isfinite(motion.x).all(axis=-1)
        if not good.all():
            at = t + self.horizon.simulator.dt * int(np.argmin(good))
            raise ControlError(f"under the controls at first the motion is not finite at t = {at:g} s; expected others, as u=...")
        if not np.isfinite(cost):
            raise ControlError("the cost of the motion under the controls at first is not finite; expected a finite one")


class Search:
    """The iterations from a motion on.

    Attributes
    ----------
    costs : of the motions, the first one's too; far : by how much limits are wider, until there is a motion without gaps
    damping, growth : the weight of δu, and by how much it grows; hides : whether it was that alone that kept a step short
    goes_on : whether another iteration may lower the cost; moved : whether one did that was expected to
    """

    def __init__(self, problem: Problem, times: Array, p: Array, values: Mapping[str, Array], motion: Motion, tolerance: float) -> None:
        self.problem, self.times, self.p, self.values, self.tolerance = problem, times, p, values, tolerance
        self.damping, self.growth, self.converged, self.goes_on, self.looked = 0.0, 1.0, False, True, 0
        self.far, self.moved = FAR if motion.gaps.any() else 0.0, False
        cost, (self.motion,) = problem.flown(times[0], p, motion, *problem.none, np.zeros(1), self.far)
        problem.require_finite(cost[0], self.motion, times[0])
        self.costs = [float(cost[0])]

    def improve(self) -> None:
        """Take the best step along one direction, if one is good; or damp the next more."""
        problem, t, p, motion = self.problem, self.times[0], self.p, self.motion
        D, g, H = problem.expanded(self.times, problem.horizon.rows(self.values, motion.u), p, motion)
        room = np.minimum(problem.low - self.far - motion.u, 0.0), np.maximum(problem.high + self.far - motion.u, 0.0)

        def direction() -> tuple[Array, Array, float, bool]:
            kappa, K, s, change = problem.regulated(D, g, H, motion.gaps, room, self.damping)
            gap = float(np.abs(s).max() * np.abs(motion.gaps).sum())           # weighed by what they cost
            return kappa, K, gap, bool(gap - change <= self.tolerance * abs(self.costs[-1]))

        kappa, K, gap, slight = direction()
        small = slight and not self.far
        if small and self.damping and self.looked < len(self.costs):           # much damping makes every step small
            self.damping, self.growth, self.looked = 0.0, 1.0, len(self.costs)
            kappa, K, gap, small = direction()
        tried, motions = problem.flown(t, p, motion, kappa, K, LENGTHS, self.far)
        merit = np.where(np.isfinite(tried), tried, np.inf) + (1.0 - LENGTHS) * gap
        best = int(np.argmin(merit))
        good = bool(merit[best] < self.costs[-1] + gap)
        if good:
            self.motion = motions[best]
            self.costs.append(float(tried[best]))
        self.converged, self.moved = small and not self.damping, self.moved or (good and not slight)
        self.goes_on = not small and (good or self.damping <= STRONG)
        self.damping, self.growth = damped(self.damping, self.growth, best if good else len(LENGTHS))
        if self.far and (not self.motion.gaps.any() or (slight and not good)):  # limits hold now that there is a motion, but for rounding
            self.far, (cost, (self.motion,)) = 0.0, problem.flown(t, p, self.motion, problem.none[0], K, np.ones(1))
            self.costs[-1] = float(cost[0])
