"""A control system, compiled: what ``engine.compile`` returns of a rigid body or of general dynamics."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ops
from engine.checks import Fixed, warn
from engine.compiled.function import Function, compiled_attempt, units
from engine.compiler.gufunc import Gufunc
from engine.compiler.transforms import jacobians
from engine.compiler.transforms.trace import Shape, calling, name_of, pure, trace
from engine.components.component import Interrupted, NotFinite, SimulationError, SimulationWarning, name_in_errors
from engine.dynamics.momentum_conservation import defect
from engine.integrate import FreeBody, Mechanical, Method, Solution, SolutionError, System, method_named, settled_step, solve
from engine.model import StateError
from engine.progress import progress_bar
from engine.rigid_body import BodyError, ControlSystem, LieState, RigidBody, RigidBodyState
from engine.rigid_body.momentum import NOTES, PLAIN
from engine.simulation.body_trajectory import BodyTrajectory, StateTrajectory
from engine.simulation.checks import checked_count, checked_duration, checked_max_step, checked_step, checked_tolerance
from engine.simulation.diagnosis import blame, changed, reasons, sentence, warn_of, watch, watched
from engine.simulation.run_loop import Diverged, Failures, Process, collected, times
from engine.simulation.run_warnings import RunWarnings
from engine.simulation.surroundings import Kept, surroundings

Array = NDArray[np.float64]


Motion = TypeVar("Motion", BodyTrajectory, StateTrajectory)
Made = TypeVar("Made")


class SystemFunction(Function):
    """A compiled function of a control system's state."""

    def __init__(self, state: LieState, *made_of: Any) -> None:
        self.state = state
        super().__init__(*made_of)

    def checked(self, name: str, x: Any, shape: Shape) -> Array:
        """An argument as floats, or traced; a RigidBodyState as the system's own x."""
        return super().checked(name, self.state.vector(x) if name in ("x", "x0") else x, shape)

    def failure(self, given: Sequence[Array], result: Any) -> str:
        for name, x in zip(self.arguments, given, strict=True):
            if name in ("x", "x0"):
                self.state.checked(name, x)
        return "the result is not finite; expected a state at which the system's functions are, and its mass and inertia positive"


class made(Generic[Made]):
    """A function that is compiled when it is first asked for, and refused once what it was made of has changed."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __get__(self, system: Any, owner: Any = None) -> Made:
        if system is None:
            return self  # type: ignore[return-value]
        system._require_unchanged()
        if self.make.__name__ not in system._functions:
            system._functions[self.make.__name__] = self.make(system)
        found: Made = system._functions[self.make.__name__]
        return found


class CompiledSystem(Fixed, Generic[Motion]):
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

    >>> import engine, numpy as np
    >>> class Cart(engine.Dynamics):
    ...     state, controls = engine.LieState(2), 1
    ...     def dynamics(self, x, u, t):
    ...         return np.array([x[1], u[0] / 2.0])
    >>> cart = engine.compile(Cart())
    >>> cart.dynamics([0.0, 3.0], [4.0], 0.0)
    array([3., 2.])
    >>> A, B = cart.jacobians([0.0, 3.0], [4.0], 0.0)
    >>> A.tolist(), B.tolist()
    ([[0.0, 1.0], [0.0, 0.0]], [[0.0], [0.5]])
    """

    def __init__(self, system: ControlSystem) -> None:
        system.check()
        self.system, self.state, self.controls = system, system.state, int(system.controls)
        self._functions: dict[Any, Any] = {}
        self._made = True

    @functools.cached_property
    def _kept(self) -> Kept:
        """Guard of the values that the machine code was traced with, made when a function is first asked for."""
        dynamics = self._functions["dynamics"] = self._rate()
        return Kept(lambda: surroundings([(self.system.name, self.system)]), lambda: self._rate().program.key, dynamics.program.key,
                    "a control or a state for what changes, or engine.compile anew")  # fmt: skip

    def _require_unchanged(self) -> None:
        """Refuse to go on with machine code where what it was made of has changed since; this is looked at ten times a second."""
        self._kept.require_unchanged(0.1)

    def __getstate__(self) -> dict[str, Any]:
        if self._functions:
            self._kept.require_unchanged()                                     # another process finds the code by its key
        return {name: x for name, x in vars(self).items() if name != "_kept"}

    # ------------------------------------------------------------ functions

    @property
    def _checked(self) -> ControlSystem:
        """The system as it is traced: its functions of the user's must return the same when they are called again."""
        return changed(self.system, lambda name, fn: pure(fn))

    def _function(self, fn: Callable[..., Any], arguments: str) -> Function:
        """Return a function of arguments by name, x, x0, u, delta, t and dt, compiled."""
        shapes = {"x": (self.state.n,), "x0": (self.state.n,), "u": (self.controls,), "delta": (self.state.ne,)}
        names = arguments.split()
        return SystemFunction(self.state, self._sound(fn, names), names, [shapes.get(n, ()) for n in names],
                              f"{self.system.name}.{name_of(fn)}")  # fmt: skip

    def _sound(self, fn: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
        """Return a function of arguments by name that is not finite where a quaternion is no unit one, or the system is none."""

        def traced(*given: Any) -> Any:
            x = dict(zip(names, given, strict=True))
            sound = [unit for name in ("x", "x0") if name in x for unit in units(self.state.manifold, x[name])]
            return ops.poisoned(sound + (self._checked.sound(x["x"], x["u"], x["t"]) if "t" in x else []), fn(*given))

        return traced

    def _rate(self) -> Function:
        return self._function(self._checked.rate, "x u t")

    @made
    def dynamics(self) -> Gufunc:
        return self._rate()

    @made
    def state_plus(self) -> Gufunc:
        return self._function(self.system.state_plus, "x delta")

    @made
    def state_diff(self) -> Gufunc:
        return self._function(self.system.state_diff, "x x0")

    @made
    def jacobians(self) -> Gufunc:
        def jacobians(x: Array, u: Array, t: Any) -> tuple[Array, Array]:
            return by_state_and_control(self._checked.rate(x, u, t), x, u)

        return self._function(jacobians, "x u t")

    @made
    def error_jacobians(self) -> Gufunc:
        def error_jacobians(x: Array, u: Array, t: Any) -> tuple[Array, Array]:
            """δ̇ = E⁺ ((A E − Ė) δ + B ν), with ẋ = f along which E(x) changes."""
            xdot = self._checked.rate(x, u, t)
            A, B = by_state_and_control(xdot, x, u)
            E, projection = self.state.error_jacobian(x), self.state.error_projection(x)
            Edot = derivative(E, x) @ xdot
            return projection @ (A @ E - Edot), projection @ B

        return self._function(error_jacobians, "x u t")

    def discrete(self, integrator: str | None = None) -> Gufunc:
        """Return discrete_dynamics(x, u, t, dt) -> x⁺ by a method of that name."""

        def discrete_dynamics(x: Array, u: Array, t: Any, dt: Any) -> Array:
            return self._checked.discrete_dynamics(x, u, t, dt, integrator)

        return self._stepped(discrete_dynamics, integrator)

    @property
    def discrete_dynamics(self) -> Gufunc:
        return self.discrete()

    def discrete_jacobians(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> tuple[Array, Array]:
        """Return A (..., n, n) and B (..., n, m) of a step, in coordinates."""

        def discrete_jacobians(x: Array, u: Array, t: Any, dt: Any) -> tuple[Array, Array]:
            return by_state_and_control(self._checked.discrete_dynamics(x, u, t, dt, integrator), x, u)

        return self._stepped(discrete_jacobians, integrator)(x, u, t, dt)

    def discrete_error_jacobians(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> tuple[Array, Array]:
        """Return A (..., ne, ne) and B (..., ne, m) of a step, in errors: δ⁺ = A δ + B ν."""

        def discrete_error_jacobians(x: Array, u: Array, t: Any, dt: Any) -> tuple[Array, Array]:
            after = self._checked.discrete_dynamics(x, u, t, dt, integrator)
            A, B = by_state_and_control(after, x, u)
            projection = self.state.error_projection(after)
            return projection @ A @ self.state.error_jacobian(x), projection @ B

        return self._stepped(discrete_error_jacobians, integrator)(x, u, t, dt)

    def _stepped(self, fn: Callable[..., Any], integrator: str | None) -> Function:
        key = fn.__name__, self.system.method(integrator).name
        self._require_unchanged()
        if key not in self._functions:
            self._functions[key] = self._function(fn, "x u t dt")
        found: Function = self._functions[key]
        return found

    def _control(self, controller: Callable[..., Any], x: Array, t: Any) -> Array:
        """Return what a controller does, checked."""
        if not callable(controller):
            raise SimulationError(f"controller is {controller!r}; expected a function of (x, t)")
        try:
            inspect.signature(controller).bind(x, t)
        except TypeError:
            raise SimulationError(f"{name_of(controller)} takes {inspect.signature(controller)}; expected a function of (x, t)") from None
        except ValueError:  # a builtin without a signature: the call will tell
            pass
        with name_in_errors(name_of(controller), x.dtype == object):
            u = np.asarray(pure(controller)(x, t))
        if u.shape != (self.controls,):
            raise SimulationError(f"{name_of(controller)} returned shape {u.shape}; expected ({self.controls},) for {self.system.name}")
        return u

    # ------------------------------------------------------------ sparsity

    def sparsity(self) -> tuple[Array, Array]:
        """Return where A (n, n) and B (n, m) of :attr:`jacobians` are not zero by structure."""
        A, B = jacobians.sparsity(self.jacobians.program)
        return A, B

    def wrench_sparsity(self) -> Array:
        """Return whether force F and moment M depend on position, orientation, linear and angular velocity, and u: (2, 5) booleans.

        ::

            [[∂F/∂r ∂F/∂q ∂F/∂v ∂F/∂ω ∂F/∂u],
             [∂M/∂r ∂M/∂q ∂M/∂v ∂M/∂ω ∂M/∂u]]

        F is in world axes and M in body axes as the body gives them; of a body with a ``wrench`` both are in body axes.
        """
        body = self._checked
        if not isinstance(body, RigidBody):
            raise StateError(f"{body.name} has no wrench; expected a RigidBody")

        def parts(x: Array, u: Array, t: Any) -> Array:
            if body.overrides("wrench"):
                W = body.returned("wrench", 6, x, u, t)
                W = np.concatenate([W[3:], W[:3]])
            else:
                W = np.concatenate([body.returned("forces", 3, x, u, t), body.returned("moments", 3, x, u, t)])
            return np.concatenate(by_state_and_control(W, x, u), axis=1)

        dense = jacobians.sparsity(trace(parts, [(self.state.n,), (self.controls,), ()]))[0]
        i = body.indices
        columns = [i.position, i.orientation, i.linear_velocity, i.angular_velocity, i.controls]
        return np.array([[dense[rows, c].any() for c in columns] for rows in (slice(0, 3), slice(3, 6))])

    # ------------------------------------------------------------ simulation

    def simulate(self, x0: ArrayLike | RigidBodyState, duration: float, dt: float = 1e-3, controller: Callable[..., Any] | None = None,
                 integrator: str | None = None, record_every: int = 1, progress: bool = False,
                 compiled: bool = True) -> Motion:  # fmt: skip
        """Return the motion from x0 under a controller u(x, t), evaluated at every stage of the integrator, or under the system's own.

        Of a rigid body it is a :class:`BodyTrajectory`, of other systems a :class:`StateTrajectory`.

        Parameters
        ----------
        x0 : initial state (..., n), or a RigidBodyState; leading dimensions are a batch
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
        method, x0 = method_named(integrator or self.system.integrator, SimulationError), self.state.checked("x0", x0)
        if not compiled and x0.ndim != 1:
            raise StateError(f"x0 has shape {x0.shape}; expected ({self.state.n},): uncompiled runs take one state")
        if compiled:
            self._require_unchanged()
        system = self._checked if compiled else changed(self.system, lambda name, fn: name_in_errors(f"{self.system.name}.{name}")(fn))
        process, there = self._process(system, self._controlled(controller), method, compiled)
        y0 = np.array([there(x) for x in x0.reshape(-1, self.state.n)]).reshape(*x0.shape[:-1], process.n)
        none, failures = np.zeros(0), Failures()

        def ended(stop: Diverged, blamed: bool = True) -> str:
            plain, _ = self._process(watched(self.system), self._watched(controller), method, compiled=False)
            turns = (slice(7, 10),) if isinstance(self.system, RigidBody) else ()
            found = blame(process, plain, stop) if blamed else None
            return f"{self.system.name}: {sentence(stop, dt, method, turns, lambda record: 'the state', found)}"

        try:
            with progress_bar("simulating", "steps", round(duration / dt), progress) as advanced:
                data = collected(process.blocks(none, y0, dt, duration, record_every, failures=failures, at_once=True), advanced)
        except Diverged as stop:
            text = ended(stop)
            raise SimulationError(text, self._trajectory(stop.data, process, method, dt, text)) from None
        except (SimulationError, Interrupted) as error:
            if error.records:
                error.trajectory, error.records = self._trajectory(np.concatenate(error.records), process, method, dt, str(error)), []
            raise
        why = reasons(failures, x0.shape[:-1], ended)
        warn_of(failures, why, self.system.name)
        run = self._trajectory(data, process, method, dt, why)
        for text in run.warnings if isinstance(run, BodyTrajectory) else ():
            warn(text, SimulationWarning)
        return run

    def solve(self, x0: ArrayLike | RigidBodyState, duration: float, tolerance: float = 1e-9, controller: Callable[..., Any] | None = None,
              events: Iterable[Any] = (), integrator: str | None = None, max_step: float = np.inf) -> Solution:  # fmt: skip
        """Return the motion with steps that choose their own size: ``x = solution(t)`` at any time t.

        Events are functions ``g(t, x)``; the rest is as for :meth:`engine.simulation.Simulator.solve`.
        """
        self._require_unchanged()
        method = method_named(integrator or self.system.integrator, SimulationError)
        x0 = self.state.checked("x0", x0)
        if x0.ndim != 1:
            raise StateError(f"x0 has shape {x0.shape}; expected ({self.state.n},): an adaptive run takes one state")
        method, system, there, back = integrated(self._checked, self._controlled(controller), method)
        convert = Function(back, ["y"], [(system.space.nq,)], f"{self.system.name}.state")
        duration, tolerance = checked_duration(duration), checked_tolerance(tolerance)
        try:
            return solve(compiled_attempt(method, traced_once(system)), method.order, there(x0), duration, tolerance,
                         functools.partial(alone, convert), events, checked_max_step(max_step))  # fmt: skip
        except SolutionError as error:
            if error.solution is not None and (why := self._ahead(controller, error.solution, duration)):
                raise SolutionError(f"{self.system.name}: no step is small enough at t = {error.solution.t[-1]:.6g} s: {why}",
                                    error.solution) from None  # fmt: skip
            raise

    def _ahead(self, controller: Callable[..., Any] | None, found: Solution, duration: float) -> str:
        """Return what one of the user's functions does a little later than a solution's end, at its last state; "" where it is nothing."""
        control, t, (x,) = self._watched(controller), found.t[-1], found.parts(found.y[-1])
        for ahead in np.geomspace(1e-13, 1e-6, 8) * duration:
            try:
                with np.errstate(all="ignore"):
                    watched(self.system).rate(x, control(x, t + ahead), t + ahead)
            except NotFinite as error:
                return error.text
            except BodyError as error:
                return str(error)
            except Exception:                                                  # by the user's code, on floats
                break
        return ""

    def _watched(self, controller: Callable[..., Any] | None) -> Callable[..., Any]:
        """Return the controller u(x, t), the system's own, or none, that raises NotFinite where it returns what is not finite."""
        own = getattr(self.system, "controller", None) if controller is None else controller
        return self._controlled(watch(name_of(own), own) if own else None)

    def _controlled(self, controller: Callable[..., Any] | None) -> Callable[..., Any]:
        """Return the controller u(x, t), the system's own, or none, checked where it is called."""
        controller = getattr(self.system, "controller", None) if controller is None else controller
        if controller is None:
            return lambda x, t: np.zeros(self.controls)
        return lambda x, t: self._control(controller, x, t)

    def _process(self, system: ControlSystem, control: Callable[..., Any], method: Method,
                 compiled: bool) -> tuple[Process, Callable[[Array], Array]]:  # fmt: skip
        """Return what a run repeats, and the way from a state x to the state y that is stepped."""
        method, motion, there, back = integrated(system, control, method)
        stepped = traced_once(motion) if compiled else motion

        def step(t0: Any, k: Any, dt: Any, p: Array, y: Array) -> Array:
            return settled_step(method, stepped, t0 + k * dt, dt, y)

        def observe(t0: Any, k: Any, dt: Any, p: Array, y: Array) -> dict[str, Any]:
            t, x = t0 + k * dt, back(y)
            return {"t": t, "y": y, "x": x, "u": control(x, t)}

        return Process(step, observe, compiled, (np.zeros(0), there(self.state.neutral()))), there

    def _trajectory(self, data: Array, process: Process, method: Method, dt: float, reason: Array | str | None) -> Any:
        found, t, body = process.record.split(data), times(data), self.system
        if not isinstance(body, RigidBody):
            return StateTrajectory(body, t, found["x"], found["u"], reason)
        errors = defect(found["y"][..., -NOTES:]) if found["y"].shape[-1] > PLAIN else None
        run = BodyTrajectory.of(body, t, found["x"], found["u"], reason, errors)
        wholly = method.takes is FreeBody or (errors is not None and not callable(body.inertia))
        run_warnings = RunWarnings(run.model, False, dt)
        run_warnings.add_body(t, run.v, errors, None if wholly else method.order)
        return run.with_warnings(run_warnings.texts)

    def __repr__(self) -> str:
        return f"<compiled {self.system!r}>"


def integrated(system: ControlSystem, control: Callable[..., Any],
               method: Method) -> tuple[Method, System, Callable[[Array], Array], Callable[[Array], Array]]:  # fmt: skip
    """Return how a method steps a system and what it steps, and the ways from a state x to its own states y and back."""
    if isinstance(system, RigidBody):
        return *system.stepped(method, control), lambda y: system.from_motion(y[:7], y[7:13])
    if method.takes is not System:
        raise StateError(f"integrator '{method.name}' is for mechanical systems, which {system.name} is not; expected another")
    field = lambda t, x: system.velocity(x, control(x, t), t)  # type: ignore[attr-defined]
    return method, System(system.state.manifold, field), lambda x: x, lambda y: y


def alone(convert: Function, y: Array) -> tuple[Array]:
    """Return the state of y as the one part that it has."""
    return (convert(y),)


def traced_once(system: System) -> System:
    """Return the system with its field as one function in the machine code, called at every stage."""
    if not isinstance(system, Mechanical):
        return System(system.space, calling(trace(system.field, [(), (system.space.nq,)])))
    nq, nw = system.configuration.nq, system.configuration.nv + system.states
    field = calling(trace(system.acceleration, [(), (nq,), (nw,)]))
    if isinstance(system, FreeBody):
        return FreeBody(system.configuration, field, system.inertia, system.wrench)
    return Mechanical(system.configuration, field, system.states, system.notes)


def derivative(y: Array, x: Array) -> Array:
    """Return ∂y/∂x of traced arrays, (*y.shape, *x.shape)."""
    graph = ops.graph_of(x)
    return np.zeros((*np.shape(y), *np.shape(x))) if graph is None else graph.jacobian(y, x)


def by_state_and_control(y: Array, x: Array, u: Array) -> tuple[Array, Array]:
    """Return ∂y/∂x and ∂y/∂u of traced vectors, in one walk."""
    J = derivative(y, np.concatenate([x, u]))
    return J[:, : len(x)], J[:, len(x) :]
