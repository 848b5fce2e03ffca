"""A control system, compiled: what ``engine.compile`` returns of a rigid body or of general dynamics."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import integrate, ops
from engine.compiler import autodiff
from engine.compiler.gufunc import Gufunc, rollout_ufunc, signature_of
from engine.compiler.trace import Program, calling, name_of, trace
from engine.integrate import Mechanical, Method, System
from engine.model import StateError
from engine.rigid_body import BodyError, ControlSystem, RigidBody
from engine.rigid_body.diagnostics import kinetic_energy, world_momentum
from engine.simulation.checks import checked_count, checked_duration, checked_method, checked_step, checked_tolerance
from engine.simulation.component import SimulationError
from engine.simulation.rollout import Diverged, kernel_of, plain_kernel, rollout
from engine.simulation.solution import Solution, compiled_attempt, solve
from engine.spatial import se3

Array = np.ndarray


class Function(Gufunc):
    """A compiled function of a system's state: what comes in and what goes out must be finite."""

    strict = True

    def __init__(self, system: ControlSystem, fn: Callable[..., Any], arguments: str, **sizes_of: int) -> None:
        shapes = {"x": (system.state.n,), "x0": (system.state.n,), "u": (system.controls,), "delta": (system.state.ne,)}
        shapes |= {name: (n,) for name, n in sizes_of.items()}
        names = arguments.split()
        program = trace(fn, [shapes.get(name, ()) for name in names])
        program.name = f"{system.name}.{name_of(fn)}"
        super().__init__(program, signature_of(program), names)

    def _not_finite(self, *args: Any) -> Any:
        """Name what came in that is not finite, or else say that what comes out is not."""
        for name, x in zip(self.arguments, args, strict=False):
            if len(bad := np.argwhere(~np.isfinite(x))):
                where = tuple(int(i) for i in bad[0])
                place = f"{name}[{', '.join(map(str, where))}]" if where else name
                raise StateError(f"{self.name}: {place} is {np.asarray(x)[where]}; expected a finite number")
        raise StateError(f"{self.name}: the result is not finite; expected a state at which the system's functions are")


class CompiledSystem:
    """Compiled dynamics of a :class:`~engine.rigid_body.RigidBody` or of :class:`~engine.rigid_body.Dynamics`, with exact derivatives.

    Every function is traced and compiled when it is first used, broadcasts over leading dimensions, and raises ``StateError`` where a
    result would not be finite. n, ne and m are the numbers of entries of states, errors and controls.

    Attributes
    ----------
    dynamics(x, u, t) -> ẋ (..., n)
    discrete_dynamics(x, u, t, dt) -> x⁺ (..., n), by the system's own integrator; :meth:`discrete` has it by others
    jacobians(x, u, t) -> A (..., n, n), B (..., n, m): of dynamics, in coordinates
    error_jacobians(x, u, t) -> A (..., ne, ne), B (..., ne, m): of the error's rate, δ̇ = A δ + B ν for state_plus(x, δ), u + ν
    discrete_jacobians(x, u, t, dt), discrete_error_jacobians(x, u, t, dt) -> the same of a step: δ⁺ = A δ + B ν
    state_plus(x, delta) -> LieState.cayley_plus(x, δ); state_diff(x, x0) -> LieState.cayley_minus(x0, x), the error δ from x0 to x
    """

    def __init__(self, system: ControlSystem) -> None:
        system.check()
        self.system, self.state, self.controls = system, system.state, int(system.controls)
        self._discrete: dict[tuple[str, str], Function] = {}

    # ------------------------------------------------------------ functions

    @functools.cached_property
    def dynamics(self) -> Gufunc:
        return Function(self.system, self.system.rate, "x u t")

    @functools.cached_property
    def state_plus(self) -> Gufunc:
        return Function(self.system, self.system.state_plus, "x delta")

    @functools.cached_property
    def state_diff(self) -> Gufunc:
        return Function(self.system, self.system.state_diff, "x x0")

    @functools.cached_property
    def jacobians(self) -> Gufunc:
        def jacobians(x: Array, u: Array, t: Any) -> tuple[Array, Array]:
            return by_state_and_control(self.system.rate(x, u, t), x, u)

        return Function(self.system, jacobians, "x u t")

    @functools.cached_property
    def error_jacobians(self) -> Gufunc:
        def error_jacobians(x: Array, u: Array, t: Any) -> tuple[Array, Array]:
            """δ̇ = E⁺ ((A E − Ė) δ + B ν), with ẋ = f along which E(x) changes."""
            xdot = self.system.rate(x, u, t)
            A, B = by_state_and_control(xdot, x, u)
            E, projection = self.state.error_jacobian(x), self.state.error_projection(x)
            Edot = derivative(E, x) @ xdot
            return projection @ (A @ E - Edot), projection @ B

        return Function(self.system, error_jacobians, "x u t")

    def discrete(self, integrator: str | None = None) -> Gufunc:
        """discrete_dynamics(x, u, t, dt) -> x⁺ by a method of that name."""

        def discrete_dynamics(x: Array, u: Array, t: Any, dt: Any) -> Array:
            return self.system.discrete_dynamics(x, u, t, dt, integrator)

        return self._stepped(discrete_dynamics, integrator)

    @property
    def discrete_dynamics(self) -> Gufunc:
        return self.discrete()

    def discrete_jacobians(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> tuple[Array, Array]:
        """A (..., n, n) and B (..., n, m) of a step, in coordinates."""

        def discrete_jacobians(x: Array, u: Array, t: Any, dt: Any) -> tuple[Array, Array]:
            return by_state_and_control(self.system.discrete_dynamics(x, u, t, dt, integrator), x, u)

        return self._stepped(discrete_jacobians, integrator)(x, u, t, dt)

    def discrete_error_jacobians(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> tuple[Array, Array]:
        """A (..., ne, ne) and B (..., ne, m) of a step, in errors: δ⁺ = A δ + B ν."""

        def discrete_error_jacobians(x: Array, u: Array, t: Any, dt: Any) -> tuple[Array, Array]:
            after = self.system.discrete_dynamics(x, u, t, dt, integrator)
            A, B = by_state_and_control(after, x, u)
            projection = self.state.error_projection(after)
            return projection @ A @ self.state.error_jacobian(x), projection @ B

        return self._stepped(discrete_error_jacobians, integrator)(x, u, t, dt)

    def _stepped(self, fn: Callable[..., Any], integrator: str | None) -> Function:
        key = fn.__name__, self.system.method(integrator).name
        if key not in self._discrete:
            self._discrete[key] = Function(self.system, fn, "x u t dt")
        return self._discrete[key]

    def closed_loop(self, controller: Callable[..., Any]) -> tuple[Gufunc, Gufunc]:
        """ẋ(x, t) = f(x, u(x, t), t) under a controller u(x, t), and ∂ẋ/∂x = A + B ∂u/∂x, chained by differentiating through it."""

        def closed(x: Array, t: Any) -> Array:
            return self.system.rate(x, self._control(controller, x, t), t)

        def closed_jacobian(x: Array, t: Any) -> Array:
            return derivative(closed(x, t), x)

        return Function(self.system, closed, "x t"), Function(self.system, closed_jacobian, "x t")

    def _control(self, controller: Callable[..., Any], x: Array, t: Any) -> Array:
        """What a controller returns, checked."""
        if not callable(controller):
            raise SimulationError(f"controller is {controller!r}; expected a function of (x, t)")
        try:
            inspect.signature(controller).bind(x, t)
        except TypeError:
            raise SimulationError(f"{name_of(controller)} takes {inspect.signature(controller)}; expected a function of (x, t)") from None
        except ValueError:  # a builtin without a signature: the call will tell
            pass
        u = np.asarray(controller(x, t))
        if u.shape != (self.controls,):
            raise SimulationError(f"{name_of(controller)} returned shape {u.shape}; expected ({self.controls},) for {self.system.name}")
        return u

    # ------------------------------------------------------------ sparsity

    def sparsity(self) -> tuple[Array, Array]:
        """Where A (n, n) and B (n, m) of :attr:`jacobians` are not zero by structure."""
        A, B = autodiff.sparsity(self.jacobians.program)
        return A, B

    def wrench_sparsity(self) -> Array:
        """Boolean (2, 5): which of the force F and the moment M depend on position, orientation, linear and angular velocity, and u.

        ::

            [[∂F/∂r ∂F/∂q ∂F/∂v ∂F/∂ω ∂F/∂u],
             [∂M/∂r ∂M/∂q ∂M/∂v ∂M/∂ω ∂M/∂u]]

        F is in world axes and M in body axes as the body gives them; of a body with a ``wrench`` both are in body axes.
        """
        body = self.system
        if not isinstance(body, RigidBody):
            raise StateError(f"{body.name} has no wrench; expected a RigidBody")

        def parts(x: Array, u: Array, t: Any) -> Array:
            if body.overrides("wrench"):
                W = body._returned("wrench", 6, x, u, t)
                W = np.concatenate([W[3:], W[:3]])
            else:
                W = np.concatenate([body._returned("forces", 3, x, u, t), body._returned("moments", 3, x, u, t)])
            return np.concatenate(by_state_and_control(W, x, u), axis=1)

        dense = autodiff.sparsity(trace(parts, [(self.state.n,), (self.controls,), ()]))[0]
        i = body.indices
        columns = [i.position, i.orientation, i.linear_velocity, i.angular_velocity, slice(self.state.n, None)]
        return np.array([[dense[rows, c].any() for c in columns] for rows in (slice(0, 3), slice(3, 6))])

    # ------------------------------------------------------------ simulation

    def simulate(self, x0: Array, duration: float, dt: float = 1e-3, controller: Callable[..., Any] | None = None,
                 integrator: str | None = None, record_every: int = 1, progress: bool = False,
                 compiled: bool = True) -> StateTrajectory:  # fmt: skip
        """The motion from x0 under a controller u(x, t), evaluated at every stage of the integrator, or under the system's own.

        Parameters
        ----------
        x0 : initial state (..., n); leading dimensions are a batch
        duration, dt : s; a last, shorter step ends a duration that is no multiple of dt
        record_every : keep every k-th state (the first and the last are always kept)
        compiled : run machine code; False runs the same lines on floats, step by step, for functions that cannot be traced (no batches)

        Raises
        ------
        StateError : the initial state is not what it should be
        TraceError : one of the functions cannot be compiled; the text names the line
        SimulationError : the state stopped being finite; its ``trajectory`` holds the states before
        """
        dt, duration, record_every = checked_step(dt), checked_duration(duration), checked_count(record_every)
        method = checked_method(integrator or self.system.integrator)
        x0 = self.state.checked("x0", x0)
        control = self._controlled(controller)
        run = self._compiled_run if compiled else self._plain_run
        try:
            data = run(x0, duration, dt, control, method, record_every, progress)
        except Diverged as stop:
            why = self._blame(stop, x0, controller, dt, method, record_every, compiled)
            text = f"{self.system.name}: the state is no longer finite at t = {stop.t:.6g} s (dt = {dt:g} s): {why}"
            raise SimulationError(text, self._trajectory(stop.data)) from None
        return self._trajectory(data)

    def solve(self, x0: Array, duration: float, tolerance: float = 1e-9, controller: Callable[..., Any] | None = None,
              events: Iterable[Callable[..., Any]] = (), integrator: str | None = None, max_step: float = np.inf) -> Solution:  # fmt: skip
        """The motion with steps that choose their own size: ``x = solution(t)`` at any time t.

        Events are functions ``g(t, x)``; the rest is as for :meth:`engine.simulation.Simulator.solve`.
        """
        method = checked_method(integrator or self.system.integrator)
        x0 = self.state.checked("x0", x0)
        if x0.ndim != 1:
            raise StateError(f"x0 has shape {x0.shape}; expected ({self.state.n},): an adaptive run takes one state")
        system, there, back = self._integrated(self._controlled(controller), method)
        convert = Function(self.system, back, "y", y=system.space.nq)
        return solve(compiled_attempt(method, traced_once(system)), method.order, there(x0), checked_duration(duration),
                     checked_tolerance(tolerance), lambda y: (convert(y),), events, max_step)  # fmt: skip

    def _controlled(self, controller: Callable[..., Any] | None) -> Callable[..., Any]:
        """The controller u(x, t), the system's own, or none, checked where it is called."""
        controller = getattr(self.system, "controller", None) if controller is None else controller
        if controller is None:
            return lambda x, t: np.zeros(self.controls)
        return lambda x, t: self._control(controller, x, t)

    def _integrated(self, control: Callable[..., Any], method: Method,
                    body: ControlSystem | None = None) -> tuple[System, Callable[[Array], Array], Callable[[Array], Array]]:  # fmt: skip
        """What is stepped, and the ways from a state x to its own states and back."""
        body = self.system if body is None else body
        if isinstance(body, RigidBody):
            body.require(method.takes)
            motion = body.system(control)
            return motion, lambda x: np.concatenate(body.to_motion(x)), lambda y: body.from_motion(*motion.split(y))
        if method.takes != "field":
            raise StateError(f"integrator '{method.name}' is for mechanical systems, which {self.system.name} is not; expected another")

        def field(t: Any, x: Array) -> Array:
            return body.velocity(x, control(x, t), t)  # type: ignore[attr-defined]

        return System(self.state.manifold, field), lambda x: x, lambda y: y

    def _functions(self, control: Callable[..., Any], method: Method, traced: bool) -> tuple[Any, Any, Callable[[Array], Array], int]:
        """step(t0, k, dt, y) -> y and observe(t0, k, dt, y) -> record, the way to the states y that are stepped, and their size."""
        system, there, back = self._integrated(control, method)
        stepped = traced_once(system) if traced else system

        def step(t0: Any, k: Any, dt: Any, y: Array) -> Array:
            return system.space.normalized(integrate.step(method, stepped, t0 + k * dt, dt, y))

        def observe(t0: Any, k: Any, dt: Any, y: Array) -> Array:
            t, x = t0 + k * dt, back(y)
            return np.concatenate([np.array([t]), y, x, control(x, t)])

        return step, observe, there, system.space.nq

    def _programs(self, control: Callable[..., Any], method: Method) -> tuple[Program, Program, Callable[[Array], Array]]:
        step, observe, there, n = self._functions(control, method, traced=True)
        shapes = [(), (), (), (n,)]
        return trace(step, shapes), trace(observe, shapes), there

    def _compiled_run(self, x0: Array, duration: float, dt: float, control: Callable[..., Any], method: Method, every: int,
                      progress: bool) -> Array:  # fmt: skip
        step, observe, there = self._programs(control, method)
        y0 = np.array([there(x) for x in x0.reshape(-1, self.state.n)]).reshape(*x0.shape[:-1], len(step.outputs))
        return rollout(kernel_of(step, observe, y0.shape[:-1]), y0, dt, duration, every, progress)

    def _plain_run(self, x0: Array, duration: float, dt: float, control: Callable[..., Any], method: Method, every: int,
                   progress: bool) -> Array:  # fmt: skip
        if x0.ndim != 1:
            raise StateError(f"x0 has shape {x0.shape}; expected ({self.state.n},): uncompiled runs take one state")
        step, observe, there, _ = self._functions(control, method, traced=False)
        return rollout(plain_kernel(step, observe), there(x0), dt, duration, every, progress)

    def _blame(self, stop: Diverged, x0: Array, controller: Any, dt: float, method: Method, every: int, compiled: bool) -> str:
        """Why a motion ended: the steps since its last record are taken again, on floats and with an eye on the user's functions."""
        system = watched(self.system)
        controller = getattr(self.system, "controller", None) if controller is None else controller
        seen = watch(name_of(controller), controller) if controller else None
        motion, there, back = self._integrated(self._controlled(seen), method, system)
        kernel = rollout_ufunc(*self._programs(self._controlled(controller), method)[:2], 1) if compiled else None
        batch, n, turn = x0.shape[:-1], motion.space.nq, 0.0
        last = stop.data.reshape(*batch, -1, stop.data.shape[-1])[..., -1:, : 1 + n]  # the time, and what is stepped
        for k in np.ndindex(batch):
            t, y = (float(last[k][0, 0]), last[k][0, 1:]) if last[k].size else (0.0, there(x0[k]))
            steps = every
            with np.errstate(all="ignore"):
                if kernel is not None:  # as far as it goes well
                    records = kernel(np.ones(every), t, 0.0, dt, y)[:, : 1 + n]
                    good = int(np.append(np.isfinite(records).all(axis=1), False).argmin())
                    t, y = (t, y) if good == 0 else (float(records[good - 1, 0]), records[good - 1, 1:])
                    steps = 1
                turn = max(turn, dt * float(np.linalg.norm(y[7:10]))) if isinstance(self.system, RigidBody) else 0.0
                where = f", in rollout {list(k)}" if batch else ""
                try:
                    self._controlled(seen)(back(y), t)
                    for i in range(steps):
                        y = motion.space.normalized(integrate.step(method, motion, t + i * dt, dt, y))
                        self._controlled(seen)(back(y), t + (i + 1) * dt)
                except (NotFinite, BodyError) as found:
                    return f"{found}{where}"
        if method.implicit:
            return f"Newton's method did not converge in a step with h|ω| = {turn:.3g}; expected a smaller dt or gentler forces"
        return "the motion diverges; expected a smaller dt or gentler forces"

    def _trajectory(self, data: Array) -> StateTrajectory:
        n, m = self.state.n, self.controls
        t = data.reshape(-1, *data.shape[-2:])[0][:, 0] if data.size else data[..., 0]
        end = data.shape[-1] - m
        return StateTrajectory(self.system, t, data[..., end - n : end], data[..., end:])

    def __repr__(self) -> str:
        return f"<compiled {self.system!r}>"


class NotFinite(Exception):
    """A function of the user's returns what is no number."""


def watch(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of (..., t) that raises :class:`NotFinite` where it returns what is not finite, of numbers that had not run away, or a
    mass that is none."""

    @functools.wraps(fn)
    def watching(*given: Any, **named: Any) -> Any:
        result, args = fn(*given, **named), (*given, *named.values())
        if all((np.abs(np.asarray(a, dtype=float)) < 1e100).all() for a in args):
            if not np.isfinite(np.asarray(result, dtype=float)).all():
                raise NotFinite(f"{name} returns NaN or infinity at t = {float(named.get('t', args[-1])):.6g} s")
            if name.endswith(".mass") and np.asarray(result) <= 0.0:
                raise NotFinite(f"{name} returns {float(result):.6g} kg at t = {float(named.get('t', args[-1])):.6g} s")
        return result

    return watching


def watched(system: ControlSystem) -> ControlSystem:
    """A copy of the system, with an eye on the functions that are the user's."""
    own = copy.copy(system)
    for name in ("forces", "moments", "wrench", "mass", "inertia") if isinstance(system, RigidBody) else ("dynamics",):
        fn = getattr(own, name, None)
        if callable(fn) and getattr(fn, "__func__", fn) is not getattr(RigidBody, name):
            setattr(own, name, watch(f"{system.name}.{name}", fn))
    return own


def traced_once(system: System) -> System:
    """The system with its field as one function in the machine code, called at every stage."""
    if isinstance(system, Mechanical):
        nq, nv = system.configuration.nq, system.configuration.nv
        field = calling(trace(system.acceleration, [(), (nq,), (nv,)]))
        return Mechanical(system.configuration, field, system.inertia, system.wrench)
    return System(system.space, calling(trace(system.field, [(), (system.space.nq,)])))


def derivative(y: Array, x: Array) -> Array:
    """∂y/∂x of traced arrays, (*y.shape, *x.shape)."""
    graph = ops.graph_of(x)
    return np.zeros((*np.shape(y), *np.shape(x))) if graph is None else graph.jacobian(y, x)


def by_state_and_control(y: Array, x: Array, u: Array) -> tuple[Array, Array]:
    """∂y/∂x and ∂y/∂u of traced vectors, in one walk."""
    J = derivative(y, np.concatenate([x, u]))
    return J[:, : len(x)], J[:, len(x) :]


@dataclass(frozen=True, eq=False, repr=False)
class StateTrajectory:
    """Recorded states of a control system: times t (T), states x (..., T, n), controls u (..., T, m)."""

    system: ControlSystem
    t: Array
    x: Array
    u: Array

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s" if len(self) else "no time"
        batch = f", {self.x.shape[:-2]} rollouts" if self.x.ndim > 2 else ""
        return f"<trajectory of {self.system.name}: {len(self)} states, {span}{batch}>"

    def poses(self) -> Array:
        """Poses of a rigid body (..., T, 4, 4)."""
        body = self._body()
        return se3.pose(body.rotation(self.x), body.position(self.x))

    def twists(self) -> Array:
        """Body twists of a rigid body (..., T, 6)."""
        body = self._body()
        v = body.linear_velocity(self.x)
        if body.velocity_frame == "world":
            v = np.matvec(np.swapaxes(body.rotation(self.x), -1, -2), v)
        return np.concatenate([body.angular_velocity(self.x), v], axis=-1)

    def kinetic_energy(self) -> Array:
        """Of a rigid body, J (..., T)."""
        return kinetic_energy(self._inertia(), self.twists())

    def momentum(self) -> Array:
        """Of a rigid body: [angular about the world's origin; linear] in world axes (..., T, 6)."""
        return world_momentum(self.poses(), self._inertia(), self.twists())

    def _inertia(self) -> Array:
        """G (6×6), or one for each state where it depends on it."""
        body = self._body()
        if not callable(body.inertia) and not callable(body.mass):
            return body.spatial_inertia(body.neutral(), np.zeros(body.controls), 0.0)
        t = np.broadcast_to(self.t, self.x.shape[:-1])
        rows = zip(self.x.reshape(-1, self.x.shape[-1]), self.u.reshape(-1, self.u.shape[-1]), t.ravel(), strict=True)
        return np.array([body.spatial_inertia(*row) for row in rows]).reshape(*self.x.shape[:-1], 6, 6)

    def _body(self) -> RigidBody:
        if not isinstance(self.system, RigidBody):
            raise StateError(f"{self.system.name} is no rigid body; expected one")
        return self.system
