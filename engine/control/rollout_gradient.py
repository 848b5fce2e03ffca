"""Gradients through whole rollouts, by the adjoint of a simulator's step, from the end back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import number, numbers, warn, whole
from engine.compiler.gufunc import shaped
from engine.control.horizon import ControlError, Horizon, scanned
from engine.simulation import SimulationWarning, Simulator
from engine.simulation.linearization import INPUT

Array = np.ndarray
#: steps whose states are kept at a time; of what lies before, those at every so manyth, from which the others are found again
KEPT = 1024


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """Cost of rollouts, and its gradient.

    Attributes
    ----------
    cost : (...); q, v : of the state at first (..., nv), along q ⊕ δ and v; u : of the inputs (..., N, *shape)
    parameters : of each parameter of the simulation by name (..., *shape), "u" apart

    >>> import engine
    >>> rail = engine.Builder()
    >>> _ = rail.add_link("world"), rail.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=[1, 0, 0])
    >>> cart = engine.Simulator(rail.model(), dt=0.01)
    >>> found = engine.rollout_gradient(cart, [0.0], [3.0], final=lambda t, q, v: q[0], steps=100)
    >>> print(found.cost.round(9), found.v.round(9))  # m: v t; and by the speed at first, t
    3.0 [1.]
    """

    adjoint: Adjoint = field(repr=False)
    cost: Array
    q: Array
    v: Array
    u: Array
    parameters: Mapping[str, Array]

    def again(self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float = 0.0,
              parameters: Mapping[str, ArrayLike] | None = None) -> RolloutGradient:  # fmt: skip
        """Return the same of other rollouts over as many steps: nothing compiles anew."""
        return self.adjoint.gradient(q, v, u, self.u.shape[self.cost.ndim], t, parameters or {})


def rollout_gradient(simulator: Simulator, q: ArrayLike, v: ArrayLike, running: Callable[..., Any] | None = None,
                     final: Callable[..., Any] | None = None, *, steps: int, u: ArrayLike | None = None, t: float = 0.0,
                     parameters: Mapping[str, ArrayLike] | None = None) -> RolloutGradient:  # fmt: skip
    """Return J = Σ running(t_k, q_k, v_k) + final(t_N, q_N, v_N) over steps of a simulator, and its gradient.

    With λ_N = ∂final, and back over the steps x⁺ = F(x, u, p)::

        [λ_k, ∂J/∂u_k] = ∂(running + λ_{k+1} · F) / ∂[x, u],     ∂J/∂p = Σ_k ∂(running + λ_{k+1} · F) / ∂p

    exactly, in two passes of machine code however many inputs there are; through contacts of what their iterations converge to, which
    stop at a thousandth of friction (:meth:`Simulator.linearize`). States of 1024 steps are kept at a time; of longer rollouts the others
    are found again.

    Parameters
    ----------
    q, v : states at first (..., nq) and (..., nv): the rows of a batch run in the lanes of one program
    running, final : functions of ``t, q, v`` that return a number, or residuals r, which cost ½ r·r; they may ask for ``u``, ``pose`` and
        the like, and the simulation's parameters, as controllers do
    steps : N; t : when it begins, s
    u : of the simulation's parameter "u" (*shape) for all steps, or (..., N, *shape), its value by default; where there is none,
        generalized forces (nv) besides all others, none by default
    parameters : values of the simulation's others (..., *shape), and of those that these functions alone ask for (*shape), the same for all
        rows

    Raises
    ------
    ControlError : what is no cost; a gradient that is not finite
    SimulationError : what cannot be linearized

    Notes
    -----
    The steps are those of a run. A row that is not finite is NaN, with a warning; a single rollout is an error. For many calls, as an
    optimizer makes them, ``found.again(q, v, u)`` is of another rollout of the same, and compiles nothing.

    Examples
    --------
    A mass of 2 kg slides at 3 m/s. Where it is after a second changes by that second for each m/s:

    >>> import engine
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> cart = engine.Simulator(rail.model(), dt=0.01)
    >>> found = rollout_gradient(cart, [0.0], [3.0], final=lambda t, q, v: q[0], steps=100)
    >>> float(found.cost.round(9)), found.q.round(9), found.v.round(9), found.u[0].round(9)
    (3.0, array([1.]), array([1.]), array([0.004975]))
    """
    if running is None and final is None:
        raise ControlError("rollout_gradient got no cost; expected running, final, or both")
    N = whole("steps", steps, "a whole number from 1", 1, ControlError)
    horizon = Horizon(simulator, running, final, parameters or {})
    return Adjoint(horizon).gradient(q, v, u, N, t, parameters or {})


class Adjoint:
    """A horizon's costs and steps, forward and back."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon, self.shapes = horizon, horizon.layout
        self.scans: dict[tuple[str, bool], Any] = {}

    def scan(self, way: str, batch: bool) -> Any:
        """The way "forward" or "backward" as a scan, made when first asked for."""
        if (way, batch) not in self.scans:
            self.scans[way, batch] = getattr(self, way)(batch)
        return self.scans[way, batch]

    def forward(self, batch: bool) -> Any:
        """The way forward as a scan: of [x, cost], with inputs u."""
        h = self.horizon

        def step(t0: Any, k: Any, dt: Any, p: Array, w: Array, y: Array) -> Array:
            t, own, x = t0 + k * dt, h.with_input(p, w), y[:-1]
            return np.concatenate([h.stepped(t, own, x), np.array([y[-1] + h.cost(0, t, own, x)])])

        return scanned(step, self.shapes.n, h.linear.size + 1, h.nu, batch)

    def backward(self, batch: bool) -> Any:
        """The way back as a scan: of [λ, ∂J/∂p, ∂J/∂u], with inputs [t, x, u]."""
        h, n, size = self.horizon, self.horizon.n, self.horizon.linear.size

        def step(t0: Any, k: Any, dt: Any, p: Array, w: Array, y: Array) -> Array:
            t, x, own = w[0], w[1 : 1 + size], h.with_input(p[n:], w[1 + size :])
            slopes = self.slopes(0, t, own, x, p[:n], y[:n])
            du = np.asarray(self.shapes.split(slopes[n:])[INPUT]).reshape(-1)
            return np.concatenate([slopes[:n], y[n : n + self.shapes.n] + slopes[n:], du])

        return scanned(step, n + self.shapes.n, n + self.shapes.n + h.nu, 1 + size + h.nu, batch)

    def slopes(self, k: int, t: Any, p: Array, x: Array, still: Array, weights: Array | None = None) -> Array:
        """Return how a cost, with weights (n) of where the step goes, changes along δx and p (n + np), at δx = ``still``, which is zero
        (n). Traceable."""
        h, n = self.horizon, self.horizon.n

        def weighed(d: Array) -> Array:
            own, x_e = d[n:], h.linear.plus(x, d[:n])
            total = h.cost(k, t, own, x_e)
            if weights is not None:
                to = h.stepped(t, own, x_e)
                total = total + weights @ h.linear.minus(ops.stop_gradient(to), to)
            return ops.array([total])

        return ops.jacobian(weighed, np.concatenate([still, p]))[0]

    @functools.cached_property
    def ending(self) -> Any:
        """The end's own slopes and cost, (n + np + 1)."""
        h = self.horizon

        def end(t: Any, p: Array, x: Array, still: Array) -> Array:
            return np.concatenate([self.slopes(1, t, p, x, still), np.array([h.cost(1, t, p, x)])])

        return shaped(end, f"{h.sizes},({h.n})->({h.n + self.shapes.n + 1})")

    @functools.cached_property
    def closing(self) -> Any:
        """Adjoint λ (n) of a start that is projected on the constraints first."""
        linear = self.horizon.linear

        def back(x: Array, still: Array, weights: Array) -> Array:
            def weighed(d: Array) -> Array:
                to = linear.closed(linear.plus(x, d))
                return ops.array([weights @ linear.minus(ops.stop_gradient(to), to)])

            return ops.jacobian(weighed, still)[0]

        return shaped(back, f"({linear.size}),({linear.n}),({linear.n})->({linear.n})")

    def gradient(self, q: Any, v: Any, u: Any, N: int, t: Any, parameters: Mapping[str, Any]) -> RolloutGradient:
        """Return costs and gradients of a batch."""
        h, n, size, dt = self.horizon, self.horizon.n, self.horizon.linear.size, self.horizon.simulator.dt
        t = number("t", t, "a time, s", error=ControlError)
        x, values, u, lead = self.checked(q, v, u, N, parameters)
        p, batch, ones = self.shapes.spread(values, (len(x),)), bool(lead), np.ones(min(N, KEPT))
        forward, backward = self.scan("forward", batch), self.scan("backward", batch)

        def one(x: Array) -> Array:
            return x if batch else x[0]

        y, begins = np.concatenate([x, np.zeros((len(x), 1))], axis=-1), []
        with np.errstate(all="ignore"):
            for k in range(0, N, KEPT):
                begins.append(y)
                found = forward(ones[: N - k], t, float(k), dt, one(p), one(y), one(u[:, k : k + KEPT])).reshape(len(x), -1, size + 1)
                y = found[:, -1]
            end = self.ending.ufunc(t + N * dt, p, y[:, :-1], np.zeros(n))
            cost, du = y[:, -1] + end[:, -1], np.zeros((len(x), N, h.nu))
            back = np.concatenate([end[:, :-1], np.zeros((len(x), h.nu))], axis=-1)
            still = np.concatenate([np.zeros((len(x), n)), p], axis=-1)
            for k, begin in reversed([*zip(range(0, N, KEPT), begins, strict=True)]):
                if k + KEPT < N:
                    found = forward(ones, t, float(k), dt, one(p), one(begin), one(u[:, k : k + KEPT])).reshape(len(x), -1, size + 1)
                at = np.concatenate([begin[:, None, :-1], found[:, :-1, :-1]], axis=1)
                times = np.broadcast_to((t + (k + np.arange(at.shape[1])) * dt)[:, None], (*at.shape[:2], 1))
                w = np.concatenate([times, at, u[:, k : k + KEPT]], axis=-1)[:, ::-1]
                seen = backward(ones[: at.shape[1]], 0.0, 0.0, dt, one(still), one(back), one(w)).reshape(len(x), at.shape[1], -1)
                back, du[:, k : k + KEPT] = seen[:, -1], seen[:, ::-1, n + self.shapes.n :]
            if h.plant.constraints is not None:
                back[:, :n] = self.closing.ufunc(x, np.zeros(n), back[:, :n])
        self.require_finite(np.isfinite(cost) & np.isfinite(back).all(axis=-1) & np.isfinite(du).all(axis=(-2, -1)), batch)
        along = {k: np.reshape(a, (*lead, *self.shapes.shapes[k])) for k, a in self.shapes.split(back[:, n : n + self.shapes.n]).items()}
        del along[INPUT]
        return RolloutGradient(self, cost.reshape(lead), back[:, : h.nv].reshape(*lead, h.nv),
                               back[:, h.nv : 2 * h.nv].reshape(*lead, h.nv), du.reshape(*lead, N, *h.shape), along)  # fmt: skip

    def require_finite(self, good: Array, batch: bool) -> None:
        """Warn of rows that are not finite; refuse a single one."""
        if good.all():
            return
        if not batch:
            raise ControlError("the gradient is not finite; expected a motion within what is smooth")
        rows = np.flatnonzero(~good)
        few = ", ".join(map(str, rows[:5].tolist())) + ", …" * (len(rows) > 5)
        warn(f"the gradients of {len(rows)} of {len(good)} rows are not finite ({few}); expected motions within what is smooth",
             SimulationWarning)  # fmt: skip

    def checked(self, q: Any, v: Any, u: Any, N: int, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return x (R, size), parameters by name (R, *shape), u (R, N, nu), and the leading dimensions."""
        h, model = self.horizon, self.horizon.model
        h.require_unchanged()
        q, v = model.normalized(q), model.checked("v", v, batched=True)
        values, shapes = h.parameters(parameters), self.shapes.shapes
        a = numbers("u", values[INPUT] if u is None else u, ControlError)
        if a.shape == h.shape:
            a = np.broadcast_to(a, (N, *h.shape))
        if a.shape[a.ndim - 1 - len(h.shape) :] != (N, *h.shape) or not np.isfinite(a).all():
            raise ControlError(f"u has shape {a.shape}; expected {h.shape}, or (..., {', '.join(map(str, (N, *h.shape)))}), finite")
        leads = [q.shape[:-1], v.shape[:-1], a.shape[: a.ndim - 1 - len(h.shape)],
                 *(np.shape(x)[: np.ndim(x) - len(shapes[k])] for k, x in values.items() if k != INPUT)]  # fmt: skip
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            given = f"q {q.shape}, v {v.shape}, u {a.shape} and parameters"
            raise ControlError(f"{given} do not broadcast; expected equal leading dimensions") from None
        R = math.prod(lead)
        if not R:
            raise ControlError("the batch has no rows; expected one at least")
        q, v = (np.broadcast_to(x, (*lead, x.shape[-1])).reshape(R, -1) for x in (q, v))
        a = np.broadcast_to(a, (*lead, N, *h.shape)).reshape(R, N, h.nu)
        spread = {k: np.broadcast_to(x, (*lead, *shapes[k])).reshape(R, *shapes[k]) for k, x in values.items()}
        return h.linear.begun(q, v), spread, a, lead


