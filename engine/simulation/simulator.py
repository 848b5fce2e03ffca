"""Simulation: a model, an integrator, forces and a controller, compiled into one loop."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from engine import dynamics, integrate
from engine.compiler import machine
from engine.compiler.gufunc import rollout_ufunc
from engine.compiler.trace import Program, TraceError, calling, name_of, trace
from engine.dynamics import GRAVITY
from engine.model import Model, nearest
from engine.simulation.robot import Robot, compile
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
    integrator : name of a method of :mod:`engine.integrate`: "cg4" (order 4, five evaluations a step) or "cg3"
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
        if not isinstance(dt, (int, float, np.floating)) or not np.isfinite(dt) or dt <= 0:
            raise SimulationError(f"dt is {dt!r}; expected a step in seconds greater than zero")
        if integrator not in integrate.METHODS:
            meant = nearest(str(integrator), integrate.METHODS)
            raise SimulationError(f"no integrator '{integrator}'{meant}; expected one of {', '.join(integrate.METHODS)}")
        self.dt, self.method = float(dt), integrate.METHODS[integrator]
        self.controller, self.forces = controller, tuple(forces)
        for f in (*([controller] if controller is not None else []), *self.forces):
            if not callable(f):
                raise SimulationError(f"a controller or force is {f!r}; expected a function of (t, q, v)")
        self._step, self._observe = self._programs()

    # ------------------------------------------------------------ the step, traced

    def _programs(self) -> tuple[Program, Program]:
        """step(t0, k, dt, q, v) -> q, v and observe(t0, k, dt, q, v) -> t, q, v, tau."""
        model = self.model
        wrench = (len(model.links), 6)

        def control(t: Any, q: Array, v: Array) -> Array:
            return np.zeros(model.nv) if self.controller is None else self._called(self.controller, (t, q, v), [(model.nv,)])

        def acceleration(t: Any, q: Array, v: Array) -> Array:
            tau, F = control(t, q, v), None
            for force in self.forces:
                f = self._called(force, (t, q, v), [(model.nv,), wrench])
                if f.shape == wrench:
                    F = f if F is None else F + f
                else:
                    tau = tau + f
            return dynamics.aba(model, q, v, tau, self.gravity, F)

        state = [(), (model.nq,), (model.nv,)]
        field = calling(trace(acceleration, state))  # one function in the machine code, called at every stage

        def step(t0: Any, k: Any, dt: Any, q: Array, v: Array) -> tuple[Array, Array]:
            q, v = integrate.step(self.method, field, model.plus, t0 + k * dt, dt, q, v)
            return model.normalized(q), v

        def observe(t0: Any, k: Any, dt: Any, q: Array, v: Array) -> tuple[Any, ...]:
            t = t0 + k * dt
            return t, q, v, control(t, q, v)

        shapes = [(), (), *state]
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
        if not isinstance(duration, (int, float, np.floating)) or not np.isfinite(duration) or duration <= 0:
            raise SimulationError(f"duration is {duration!r}; expected seconds greater than zero")
        if isinstance(record_every, bool) or not isinstance(record_every, (int, np.integer)) or record_every < 1:
            raise SimulationError(f"record_every is {record_every!r}; expected a whole number of steps from 1")
        steps = duration / self.dt
        whole = round(steps) if abs(steps - round(steps)) < 1e-6 else int(steps)
        batch = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
        x = np.concatenate([np.broadcast_to(q0, (*batch, self.model.nq)), np.broadcast_to(v0, (*batch, self.model.nv))], axis=-1)
        records: list[Array] = []
        counts = [0] + [record_every] * (whole // record_every) + ([whole % record_every] if whole % record_every else [])
        with _bar(whole, progress) as advance:
            for part in self._parts(np.array(counts, dtype=float)):
                done = sum(len(r) for r in records)
                k = float(sum(counts[:done]))
                x = self._advance(records, part, 0.0, k, self.dt, x)
                advance(int(part.sum()))
            if steps > whole + 1e-6:
                self._advance(records, np.ones(1), whole * self.dt, 0.0, duration - whole * self.dt, x)
        return self._trajectory(records)

    def _parts(self, counts: Array) -> Iterator[Array]:
        """The counts in pieces of about a tenth of a second of work, measured as they go."""
        start, length = 0, 16
        while start < len(counts):
            begun = time.perf_counter()
            yield counts[start : start + length]
            start += length
            length = max(1, min(100_000, int(length * np.clip(0.1 / max(time.perf_counter() - begun, 1e-6), 0.25, 8.0))))

    def _advance(self, records: list[Array], counts: Array, t0: float, k: float, dt: float, x: Array) -> Array:
        """Append the records after the given numbers of steps; returns the last state."""
        kernel = rollout_ufunc(self._step, self._observe, 1 if x.ndim == 1 else machine.width())
        with np.errstate(all="ignore"):
            new = kernel(counts, t0, k, dt, x)
        time_first = np.moveaxis(new, -2, 0)
        finite = np.isfinite(time_first).all(axis=tuple(range(1, time_first.ndim)))
        if not finite.all():
            bad = int(np.argmin(finite))
            records.append(time_first[:bad])
            column = int(np.argwhere(~np.isfinite(time_first[bad]))[0][-1])
            raise SimulationError(self._diverged(t0 + (k + counts[: bad + 1].sum()) * dt, column), self._trajectory(records))
        records.append(time_first)
        n = self.model.nq + self.model.nv
        return time_first[-1][..., 1 : 1 + n]

    def _diverged(self, t: float, column: int) -> str:
        names = ["time", *self.model.entries("q"), *self.model.entries("v"), *self.model.entries("v")]
        nq, nv = self.model.nq, self.model.nv
        what = "configuration" if column <= nq else "velocity" if column <= nq + nv else "controller's force"
        return (f"the {what} of joint '{names[column]}' is no longer finite at t = {t:.6g} s (dt = {self.dt:g} s): the motion diverges or "
                f"a function of yours returned NaN; expected a smaller dt or gentler forces")  # fmt: skip

    def _trajectory(self, records: list[Array]) -> Trajectory:
        width = 1 + self.model.nq + 2 * self.model.nv
        data = np.moveaxis(np.concatenate(records), 0, -2) if records else np.zeros((0, width))
        nq, nv = self.model.nq, self.model.nv
        t = data.reshape(-1, *data.shape[-2:])[0][:, 0] if data.size else data[..., 0]
        q, v, tau = np.split(data[..., 1:], [nq, nq + nv], axis=-1)
        return Trajectory(self.model, self.gravity, t, q, v, tau)


@contextlib.contextmanager
def _bar(steps: int, shown: bool) -> Iterator[Callable[[int], None]]:
    if not shown:
        yield lambda n: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    count = TextColumn("{task.completed}/{task.total} steps, {task.fields[rate]:,.0f}/s")
    columns = (TextColumn("simulating"), BarColumn(), count, TimeRemainingColumn())
    begun = time.perf_counter()
    with Progress(*columns) as bar:
        task = bar.add_task("", total=steps, rate=0.0)

        def advance(n: int) -> None:
            bar.advance(task, n)
            bar.update(task, rate=bar.tasks[0].completed / max(time.perf_counter() - begun, 1e-9))

        yield advance


__all__ = ["SimulationError", "Simulator", "TraceError"]
