"""Simulation: a model, an integrator, forces and a controller, compiled into one loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine import dynamics, integrate
from engine.compiler.trace import Program, TraceError, calling, name_of, trace
from engine.dynamics import GRAVITY
from engine.model import Model, StateError, nearest
from engine.simulation.robot import Robot, compile
from engine.simulation.rollout import Diverged, rollout
from engine.simulation.solution import Solution, compiled_attempt, solve
from engine.simulation.trajectory import Trajectory

Array = np.ndarray


class SimulationError(ValueError):
    """A simulation cannot start or go on; ``trajectory`` holds what was recorded until then."""

    def __init__(self, message: str, trajectory: Trajectory | None = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class Simulator:
    """Steps a model through time: ``Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=fn).run(q0, v0, duration=20.0)``.

    Parameters
    ----------
    dt : step, s
    integrator : name of a method of :mod:`engine.integrate`: "cg4" (order 4), "cf4" and "rkmk4" (order 4, fewer evaluations), "rkmk5",
        "cg3", "implicit_midpoint", … ("dqvi" is for a single free body; see :mod:`engine.integrate.variational` for its limits)
    gravity : m/s² in world axes (3)
    controller : ``tau = controller(t, q, v)``, generalized forces (nv); none leaves the joints free
    forces : functions ``f(t, q, v)`` of generalized forces (nv), or of wrenches (nlinks, 6) on the links, in the links' frames

    Controller and forces are written with NumPy arithmetic and ``engine.ops``; they are traced and compiled into the step, and are
    evaluated at every stage. The step and the loop around it are one piece of machine code.
    """

    def __init__(self, model: Model, dt: float = 1e-3, integrator: str = "cg4", gravity: Any = GRAVITY,
                 controller: Callable[..., Any] | None = None, forces: Iterable[Callable[..., Any]] = ()) -> None:  # fmt: skip
        self.robot: Robot = compile(model, gravity)
        self.model, self.gravity = model, self.robot.gravity
        self.dt, self.method = checked_step(dt), checked_method(integrator)
        if self.method.takes == "free body" and [b.kind.name for b in self.model.bodies] != ["floating"]:
            raise SimulationError(f"integrator '{integrator}' is for a single free body; '{model.name}' moves by "
                                  f"{len(self.model.bodies)} joints; expected another, such as cg4")  # fmt: skip
        self.controller, self.forces = controller, tuple(forces)
        for f in (*([controller] if controller is not None else []), *self.forces):
            if not callable(f):
                raise SimulationError(f"a controller or force is {f!r}; expected a function of (t, q, v)")
        self._step, self._observe = self._programs()

    # ------------------------------------------------------------ the step, traced

    def _programs(self) -> tuple[Program, Program]:
        """step(t0, k, dt, x) -> x and observe(t0, k, dt, x) -> t, x, tau, with x = (q, v)."""
        model = self.model

        def control(t: Any, q: Array, v: Array) -> Array:
            return np.zeros(model.nv) if self.controller is None else self._called(self.controller, (t, q, v), [(model.nv,)])

        def loads(t: Any, q: Array, v: Array) -> tuple[Array, Array | None]:
            """Generalized forces, and wrenches on the links."""
            wrench = (len(model.links), 6)
            tau, F = control(t, q, v), None
            for force in self.forces:
                f = self._called(force, (t, q, v), [(model.nv,), wrench])
                if f.shape == wrench:
                    F = f if F is None else F + f
                else:
                    tau = tau + f
            return tau, F

        def acceleration(t: Any, q: Array, v: Array) -> Array:
            tau, F = loads(t, q, v)
            return dynamics.aba(model, q, v, tau, self.gravity, F)

        def wrench(t: Any, q: Array, v: Array) -> Array:
            """On a single free body, its weight included."""
            (tau, F), rest = loads(t, q, v), np.zeros(model.nv)
            return tau - dynamics.rnea(model, q, rest, rest, self.gravity, F)

        coasting = self.controller is None and not self.forces and not any(self.gravity)
        inertia = model.bodies[0].inertia if self.method.takes == "free body" else None
        field = calling(trace(acceleration, [(), (model.nq,), (model.nv,)]))  # one function in the machine code, called at every stage
        self._system = system = integrate.Mechanical(model.manifold, field, inertia, None if coasting else wrench)

        def step(t0: Any, k: Any, dt: Any, x: Array) -> Array:
            return system.space.normalized(integrate.step(self.method, system, t0 + k * dt, dt, x))

        def observe(t0: Any, k: Any, dt: Any, x: Array) -> tuple[Any, ...]:
            t = t0 + k * dt
            return t, x, control(t, *system.split(x))

        shapes = [(), (), (), (model.nq + model.nv,)]
        return trace(step, shapes), trace(observe, shapes)

    def _called(self, fn: Callable[..., Any], arguments: tuple[Any, ...], shapes: list[tuple[int, ...]]) -> Array:
        """What a user's function returns, checked."""
        try:
            inspect.signature(fn).bind(*arguments)
        except TypeError:
            raise SimulationError(f"{name_of(fn)} takes {inspect.signature(fn)}; expected a function of (t, q, v)") from None
        except ValueError:  # a builtin without a signature: the call will tell
            pass
        result = np.asarray(fn(*arguments))
        if result.shape not in shapes:
            wanted = " or ".join(map(str, shapes))
            raise SimulationError(f"{name_of(fn)} returned shape {result.shape}; expected {wanted} for '{self.model.name}'")
        return result

    # ------------------------------------------------------------ running

    def run(self, q0: Array, v0: Array, duration: float, record_every: int = 1, progress: bool = False) -> Trajectory:
        """Simulate from (q0, v0) for ``duration`` seconds and return the states.

        Parameters
        ----------
        q0, v0 : initial state (..., nq) and (..., nv); leading dimensions are a batch of rollouts
        duration : s; a last, shorter step ends it exactly where it is no multiple of dt
        record_every : keep every k-th state (the first and the last are always kept)
        progress : show a bar with the rate and the time left

        Raises
        ------
        StateError : the initial state is not what it should be
        SimulationError : the state stopped being finite (names time and joint; its ``trajectory`` holds the states before)
        """
        q0 = self.model.normalized(q0)
        v0 = self.model.checked("v0", v0, batched=True)
        duration, record_every = checked_duration(duration), checked_count(record_every)
        batch = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
        x = np.concatenate([np.broadcast_to(q0, (*batch, self.model.nq)), np.broadcast_to(v0, (*batch, self.model.nv))], axis=-1)
        try:
            return self._trajectory(rollout(self._step, self._observe, x, self.dt, duration, record_every, progress))
        except Diverged as stop:
            raise SimulationError(self._diverged(stop), self._trajectory(stop.data)) from None

    def solve(self, q0: Array, v0: Array, duration: float, tolerance: float = 1e-9, events: Iterable[Callable[..., Any]] = (),
              max_step: float = np.inf) -> Solution:  # fmt: skip
        """The motion with steps that choose their own size: ``q, v = solution(t)`` at any time t.

        Parameters
        ----------
        q0, v0 : initial state (nq) and (nv)
        tolerance : estimated error of a step, in rad and, relative to 1 + |x|, in the rest; dt is not used
        events : functions ``g(t, q, v)`` (plain Python, not compiled) whose zeros are located; as in SciPy, ``g.terminal = True`` ends the
            motion there, and ``g.direction`` > 0 or < 0 takes only zeros where g rises or falls. Two zeros within one step are not seen:
            give ``max_step``

        Raises
        ------
        SolutionError : no step is small enough; its ``solution`` holds what was found

        Examples
        --------
        A stone let fall from 4.905 m reaches the ground after a second:

        >>> import engine
        >>> stone = engine.Builder("stone")
        >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        >>> simulator = Simulator(stone.model(floating_base=True))
        >>> solution = simulator.solve([1.0, 0, 0, 0, 0, 0, 4.905], np.zeros(6), 2.0, events=[lambda t, q, v: q[6]])
        >>> round(solution.events[0].t, 12)
        1.0
        """
        q0, v0 = self.model.normalized(q0), self.model.checked("v0", v0)
        if q0.ndim != 1:
            raise StateError(f"q0 has shape {q0.shape}; expected ({self.model.nq},): an adaptive run takes one state")
        nq = self.model.nq
        advance = compiled_attempt(self.method, self._system)
        return solve(advance, self.method.order, np.concatenate([q0, v0]), checked_duration(duration), checked_tolerance(tolerance),
                     lambda y: (y[..., :nq], y[..., nq:]), events, max_step)  # fmt: skip

    def _diverged(self, stop: Diverged) -> str:
        """What stopped being finite, where, and which function of the user's began it."""
        names = ["time", *self.model.entries("q"), *self.model.entries("v"), *self.model.entries("v")]
        nq, nv = self.model.nq, self.model.nv
        what = "configuration" if stop.column <= nq else "velocity" if stop.column <= nq + nv else "controller's force"
        text = f"the {what} of joint '{names[stop.column]}' is no longer finite at t = {stop.t:.6g} s (dt = {self.dt:g} s): "
        if self.method.takes == "free body" and stop.data.shape[-2]:
            turn = float(np.abs(self.dt) * np.linalg.norm(stop.data[..., -1, 1 + nq : 4 + nq], axis=-1).max())
            text += f"Newton's method did not converge in a step with h|ω| = {turn:.3g}, even cut into {integrate.SUBSTEPS}; or "
        return text + "the motion diverges or a function of yours returned NaN; expected a smaller dt or gentler forces"

    def _trajectory(self, data: Array) -> Trajectory:
        nq, nv = self.model.nq, self.model.nv
        t = data.reshape(-1, *data.shape[-2:])[0][:, 0] if data.size else data[..., 0]
        q, v, tau = np.split(data[..., 1:], [nq, nq + nv], axis=-1)
        return Trajectory(self.model, self.gravity, t, q, v, tau)


def checked_step(dt: Any) -> float:
    """A step, s, greater than zero."""
    if isinstance(dt, bool) or not isinstance(dt, (int, float, np.floating, np.integer)) or not np.isfinite(dt) or dt <= 0:
        raise SimulationError(f"dt is {dt!r}; expected a step in seconds greater than zero")
    return float(dt)


def checked_duration(duration: Any) -> float:
    """A duration, s, greater than zero."""
    whole = isinstance(duration, (int, float, np.floating, np.integer)) and not isinstance(duration, bool)
    if not whole or not np.isfinite(duration) or duration <= 0:
        raise SimulationError(f"duration is {duration!r}; expected seconds greater than zero")
    return float(duration)


def checked_tolerance(tolerance: Any) -> float:
    """An error per step between 1e-15 and 1."""
    if not isinstance(tolerance, (float, np.floating)) or not 1e-15 <= tolerance < 1:
        raise SimulationError(f"tolerance is {tolerance!r}; expected an error per step between 1e-15 and 1, such as 1e-9")
    return float(tolerance)


def checked_count(record_every: Any) -> int:
    """A whole number of steps from 1."""
    if isinstance(record_every, bool) or not isinstance(record_every, (int, np.integer)) or record_every < 1:
        raise SimulationError(f"record_every is {record_every!r}; expected a whole number of steps from 1")
    return int(record_every)


def checked_method(name: Any) -> integrate.Method:
    """The integrator of that name."""
    if name not in integrate.METHODS:
        meant, known = nearest(str(name), integrate.METHODS), ", ".join(integrate.METHODS)
        raise SimulationError(f"no integrator '{name}'{meant}; expected one of {known}")
    return integrate.METHODS[name]


__all__ = ["SimulationError", "Simulator", "TraceError"]
