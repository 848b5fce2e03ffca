"""Compiled steps and costs over a horizon: the functions that optimal control and gradients are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, nearest, numbers, shown
from engine.compiler import native_code
from engine.compiler.gufunc import Gufunc, shaped
from engine.compiler.scan import rollout_ufunc
from engine.compiler.transforms.trace import trace
from engine.components.law import Called
from engine.components.layout import Layout
from engine.dynamics import rnea
from engine.simulation import Simulator
from engine.simulation.linearization import INPUT, ticking
from engine.simulation.parameters import real
from engine.simulation.surroundings import changed, surroundings

Array = np.ndarray


class ControlError(EngineError):
    """A controller cannot be designed; the text says why, and what was expected.

    >>> import engine
    >>> engine.lqr("arm", [0.0], [0.0])
    Traceback (most recent call last):
    ...
    engine.control.horizon.ControlError: lqr got a str; expected a Simulator
    """


class Horizon:
    """Steps of a simulator under inputs u, what each costs, and what stands at the end: ½ r·r of residuals r, or a number.

    Parameters
    ----------
    running, final : functions of t, q, v, and what else they ask for by name ("u", poses, the simulation's parameters), as controllers do
    parameters : those by name that the simulation does not have, for these functions alone (*shape), are added; others are not looked at

    Attributes
    ----------
    layout : of all parameters p: the simulation's, and then these
    """

    def __init__(self, simulator: Simulator, running: Callable[..., Any] | None, final: Callable[..., Any] | None,
                 parameters: Mapping[str, Any]) -> None:  # fmt: skip
        if not isinstance(simulator, Simulator):
            raise ControlError(f"the simulator is {shown(simulator)}; expected an engine.Simulator")
        require_names(parameters)
        self.linear, self.forced = simulator.linearization, INPUT not in simulator.parameters
        self.simulator, self.model, self.plant = self.linear.simulator, self.linear.model, self.linear.plant
        for c in ticking(self.simulator):
            if abs(c.period - simulator.dt) > 1e-9 * simulator.dt:
                raise ControlError(f"{c.called.name} is held for {c.period:g} s, and a step lasts {simulator.dt:g} s; expected a simulator "
                                   "whose dt is that period")  # fmt: skip
            if "noise" in c.called.extra:
                raise ControlError(f"{c.called.name} asks for noise, which each step would draw anew; expected laws without")
        self.nv, self.nu, self.n = self.linear.nv, self.linear.nu, self.linear.n
        self.shape = np.shape(self.simulator.parameters[INPUT])
        self.own = {n: real(n, x) for n, x in parameters.items() if n not in self.simulator.parameters}
        self.layout = Layout({**self.plant.parameters.shapes, **{n: x.shape for n, x in self.own.items()}})
        self.functions = [None if f is None else self.called(f) for f in (running, final)]
        if (end := self.functions[1]) is not None and INPUT in end.extra:
            raise ControlError(f"{end.name} asks for u, and none acts at the end; expected a function of t, q, v")
        self.kept = surroundings([(f.name, f.law.fn) for f in self.functions if f is not None])
        asked = {n for f in self.functions if f is not None for n in f.extra}
        for n in self.own:
            if n not in asked:
                meant = nearest(n, self.simulator.parameters)
                raise ControlError(f"no cost asks for the parameter '{n}', and the simulation has none{meant}; expected one of its, or one "
                                   "that a cost asks for")  # fmt: skip

    def called(self, f: Callable[..., Any]) -> Called:
        if not callable(f):
            raise ControlError(f"a cost is {shown(f)}; expected a function of t, q, v that returns residuals")
        found = Called(f, {**self.simulator.parameters, **self.own})
        if found.ticks or found.law.state.size:
            raise ControlError(f"{found.name} has a memory, a state or noise; expected a function of t, q, v")
        return found

    # ------------------------------------------------------------ equations

    def residuals(self, k: int, t: Any, p: Array, x: Array) -> Array:
        """Return r (m) of a state on the way (k = 0), or at the end (k = 1); of a cost that is a number, that number, without an axis."""
        f = self.functions[k]
        if f is None:
            return np.zeros(0)
        s = self.plant.context(t, *self.linear.parts(x), self.flown(p))
        s.parameters = {**s.parameters, **self.layout.split(p)}
        given = f(s, np.zeros(0))[0]
        try:
            r = np.asarray(given)
        except ValueError:
            raise ControlError(f"{f.name} returned {shown(given)}; expected residuals r, a vector of numbers") from None
        f.require_finite(s, r)
        return r if r.ndim == 0 else r.reshape(-1)

    def cost(self, k: int, t: Any, p: Array, x: Array) -> Any:
        """Return what a state costs."""
        r = self.residuals(k, t, p, x)
        return r[()] if r.ndim == 0 else 0.5 * (r @ r)

    def moved(self, p: Array, x: Array, e: Array) -> tuple[Array, Array]:
        """Return parameters and a state that are (δx, δu) further."""
        far = self.linear.pushed(self.flown(p), e[self.n :])
        return np.concatenate([far, p[len(far) :]]), self.linear.plus(x, e[: self.n])

    def flown(self, p: Array) -> Array:
        """Return the parameters (...) of the steps, which come first among p (...)."""
        return p[..., : self.plant.parameters.n]

    def with_input(self, p: Array, u: Array) -> Array:
        """Return the parameter vector p with the control input replaced by u (nu). Traceable."""
        return self.layout.join({**self.layout.split(p), INPUT: u.reshape(self.shape)})

    def stepped(self, t: Any, p: Array, x: Array) -> Array:
        """Return x after a step."""
        return self.linear.after(t, self.flown(p), x)

    def expanded(self, k: int, t: Any, p: Array, x: Array, e: Array) -> Array:
        """Return ½ r·r, Jᵀ r and Jᵀ J at e = 0, one after the other, of r along (δx, δu) = e."""

        def r_of(e: Array) -> Array:
            r = self.residuals(k, t, *self.moved(p, x, e))
            if r.ndim == 0:
                f = self.functions[k]
                raise ControlError(f"{f.name if f else ''} returned a number; expected residuals r, a vector, which cost ½ r·r")
            return r

        r = r_of(e)
        J = ops.jacobian(r_of, e) if len(r) else np.zeros((0, len(e)))
        return np.concatenate([np.array([0.5 * (r @ r) if len(r) else 0.0]), J.T @ r + 0.0 * e, (J.T @ J + 0.0).reshape(-1)])

    # ------------------------------------------------------------ machine code

    @functools.cached_property
    def sizes(self) -> str:
        return f"(),({self.layout.n}),({self.linear.size})"

    @functools.cached_property
    def expansions(self) -> tuple[Gufunc, Gufunc]:
        """:meth:`expanded` on the way and at the end."""
        n = self.n + self.nu
        signature = f"{self.sizes},({n})->({1 + n + n * n})"
        way = shaped(functools.partial(self.expanded, 0), signature)
        return way, shaped(functools.partial(self.expanded, 1), signature)

    @functools.cached_property
    def costs(self) -> tuple[Gufunc, Gufunc]:
        """:meth:`cost` on the way and at the end."""
        signature = f"{self.sizes}->()"
        return shaped(functools.partial(self.cost, 0), signature), shaped(functools.partial(self.cost, 1), signature)

    def expansion(self, k: int, t: Array, p: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return costs (...), their gradients (..., n + nu) and Hessians (..., n + nu, n + nu)."""
        n = self.n + self.nu
        found = self.expansions[k].ufunc(t, p, x, np.zeros(n))
        return found[..., 0], found[..., 1 : 1 + n], found[..., 1 + n :].reshape(*found.shape[:-1], n, n)

    def dynamics(self, t: Array, p: Array, x: Array) -> Array:
        """Return the steps' derivatives [A, B] (..., n, n + nu)."""
        given = t[..., None], self.flown(p)[..., None, :], x[..., None, :]
        found = self.linear.steps.ufunc(*given, np.eye(self.n + self.nu), np.zeros(1))
        return np.swapaxes(found, -1, -2)

    # ------------------------------------------------------------ what comes in

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Array]:
        """Return values (..., *shape) of all parameters."""
        require_names(given)
        if INPUT in given:
            raise ControlError("u is among the parameters; expected it as u=...")
        known = self.simulator.parameters
        found = known | self.simulator.values_of({n: x for n, x in given.items() if n not in self.own})
        found |= self.own | {n: real(n, x) for n, x in given.items() if n in self.own}
        for name, x in found.items():
            if np.shape(x)[max(np.ndim(x) - len(shape := self.layout.shapes[name]), 0) :] != shape:
                raise ControlError(f"parameter '{name}' has shape {np.shape(x)}; expected {shape}")
        return found

    def rows(self, values: Mapping[str, Array], u: Array) -> Array:
        """Return the parameters p (N, ...) of steps with inputs u (N, nu)."""
        return self.layout.spread({**values, INPUT: u.reshape(-1, *self.shape)}, (len(u),))

    def holding(self, q: Array) -> Array:
        """Return the inputs that are tried first: the forces that hold q, or where u is a parameter its value."""
        model, zero = self.model, np.zeros(self.nv)
        return rnea(model, q, zero, zero, self.simulator.gravity) if self.forced else np.asarray(self.simulator.parameters[INPUT])

    def inputs(self, u: Any, steps: int) -> Array:
        """Return inputs (steps, nu) from what is given: one for all, or for each."""
        a = numbers("u", u, ControlError)
        if a.shape not in (self.shape, (steps, *self.shape)) or not np.isfinite(a).all():
            raise ControlError(f"u has shape {a.shape}; expected {(steps, *self.shape)}, or {self.shape} for all steps, finite")
        return np.broadcast_to(a, (steps, *self.shape)).reshape(steps, self.nu).copy()

    def require_unchanged(self) -> None:
        """Refuse to go on where something has changed that the steps or the costs read besides their arguments."""
        self.simulator.stepper.require_unchanged()
        now = surroundings([(f.name, f.law.fn) for f in self.functions if f is not None])
        for what in changed(self.kept, now):
            raise ControlError(f"{what} when it was compiled, which machine code goes on with; expected a parameter for what changes")

    def state(self, q: Any, v: Any) -> Array:
        """Return one state x, checked."""
        q, v = self.model.normalized(q), self.model.checked("v", v, batched=True)
        if q.ndim > 1 or v.ndim > 1:
            raise ControlError(f"q and v have shapes {q.shape} and {v.shape}; expected one state, ({self.model.nq},) and ({self.nv},)")
        return self.linear.begun(q, v)


def require_names(parameters: Any) -> None:
    """Refuse what holds no values by names."""
    if not isinstance(parameters, Mapping):
        raise ControlError(f"parameters is {shown(parameters)}; expected values by name")


def scanned(step: Callable[..., Array], p: int, x: int, w: int, batch: bool) -> Any:
    """Return a scan ``(counts, t0, k, dt, p, x, w) -> x after each step`` of a step with inputs w."""
    shapes = [(), (), (), (p,), (w,), (x,)]
    look = trace(lambda t0, k, dt, p, w, x: x, shapes)
    return rollout_ufunc(trace(step, shapes), look, native_code.width() if batch else 1, w)

