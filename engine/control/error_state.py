"""One tick of the error-state Kalman filter of :func:`engine.estimator`, by the derivatives of a simulator's own step and sensors."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.checks import nearest, numbers, shown
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.program import Program
from engine.compiler.transforms.trace import calling, trace
from engine.components.assembly import bind_named
from engine.components.law import Law, Noise
from engine.components.layout import Layout
from engine.control.horizon import ControlError
from engine.sensors import Camera, Sensor
from engine.sensors.kalman import kept_definite, measurement_update, tell_of_uneven_ticks
from engine.simulation import Simulator
from engine.spatial import quaternion

Array = np.ndarray


class Filter:
    """One tick of an :class:`Estimator`, as a function of its signals and its memory."""

    def __init__(self, simulator: Simulator, sensors: list[Any], process: Any, inputs: dict[str, str],
                 parameters: dict[str, tuple[float, float]], name: str) -> None:  # fmt: skip
        self.simulator, self.sensors, self.inputs, self.__name__ = simulator, sensors, inputs, name
        self.period, nv = simulator.dt, simulator.model.nv
        if simulator.plant.lasts:
            raise ControlError(f"{name}: '{simulator.model.name}' has contacts, stops or friction as impulses, which last; expected none, "
                               "and joint_dynamics='explicit' or None")  # fmt: skip
        self.linear = simulator.linearization
        known = {n: x for c in sensors for n, x in getattr(c, "parameters", {}).items()}
        for c in sensors:
            self.require_sensor(c, simulator)
        for n in inputs:
            if n not in simulator.parameters:
                raise ControlError(f"{name}: the simulator has no parameter '{n}'{nearest(n, simulator.parameters)}, which is an input")
        for n in parameters:
            if n not in known and n not in simulator.parameters:
                raise ControlError(f"{name}: nothing has a parameter '{n}'{nearest(n, [*known, *simulator.parameters])}; expected one of "
                                   "the simulator or its sensors")  # fmt: skip
        self.values = {**{n: np.asarray(x, float) for n, x in known.items()}, **simulator.parameters}
        self.theta = Layout({n: np.shape(self.values[n]) for n in parameters})
        self.spread = {n: (float(a), float(b)) for n, (a, b) in parameters.items()}
        self.n, self.N = self.linear.n, self.linear.n + self.theta.n
        a = numbers(f"{name}: process", process, ControlError) * np.ones(nv)
        if a.shape != (nv,) or not (a >= 0.0).all():
            raise ControlError(f"{name}: process is {shown(process)}; expected a number from 0, or {nv} of them")
        h, Q = self.period, np.zeros((self.N, self.N))
        for i in range(nv):
            Q[np.ix_([i, nv + i], [i, nv + i])] = a[i] ** 2 * np.array([[h**3 / 3.0, h * h / 2.0], [h * h / 2.0, h]])
        for n, at in self.theta.slices.items():
            Q[range(self.n + at.start, self.n + at.stop), range(self.n + at.start, self.n + at.stop)] = self.spread[n][1] ** 2 * h
        self.Q, self.R = Q, [noise_of(c, h) for c in sensors]
        self.visits = [visit for k, c in enumerate(sensors) for visit in visits_of(k, c, h)]
        self.layout = Layout({"x": (self.linear.size,), "theta": (self.theta.n,), "P": (self.M * (self.M + 1) // 2,),
                              "expected": (sum(size_of(sensors[visit.sensor]) for visit in self.visits if visit.late),),
                              "taken": (len(self.visits),), "arrived": (len(self.visits),), "nis": (len(sensors),),
                              "begun": ()})  # fmt: skip
        names = dict.fromkeys(["t", *(c.name for c in sensors), *inputs.values(), "memory"])
        self.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def require_sensor(self, c: Any, simulator: Simulator) -> None:
        """Refuse what is not predicted from a state."""
        if not isinstance(c, Sensor) or isinstance(c, Camera) or c.feels or c.state.size:
            raise ControlError(f"{self.__name__}: {getattr(c, 'name', shown(c))} is not predicted from positions and velocities; expected "
                               "sensors such as Gyro, StarTracker, Encoder, GPS, RelativePose")  # fmt: skip
        bind_named(c, simulator.model, self.period if c.called.law.period is None else min(self.period, c.called.law.period))

    def require_signals(self, laws: Mapping[str, Law]) -> None:
        """Refuse sensors of a simulation that sample at other times than those of the filter by their names."""
        for c in self.sensors:
            for what, asked in (("latency", "delay"), ("period", "period"), ("phase", "phase")):
                own, theirs = getattr(c.called.law, asked), getattr(laws[c.name], asked)
                if own != theirs:
                    raise ControlError(f"{self.__name__}: '{c.name}' of the simulation has {what}={theirs}, and that of the filter {own}; "
                                       "expected the same sensor in both")  # fmt: skip

    def require_step(self, dt: float) -> None:
        """Refuse sensors of which samples are taken between the filter's ticks, by the dt of a simulation."""
        h = self.period
        tell_of_uneven_ticks(self.__name__, h, dt)
        if dt > h * (1.0 - 1e-6):                                              # all that samples does so at its ticks
            return
        for c in self.sensors:
            law = c.called.law
            period = law.period or dt
            apart = [("phase", law.phase, h), ("period", period, h) if period > h else ("period", h, period)]
            apart += [("latency", law.delay, h)] if period < h * (1.0 - 1e-6) else []
            for what, x, of in apart:
                if abs(x / of - round(x / of)) > 1e-6:
                    raise ControlError(f"{self.__name__}: '{c.name}' samples every {period:g} s from {law.phase:g} s on, with "
                                       f"{law.delay:g} s of latency, and so between the filter's ticks, every {h:g} s; expected a {what} "
                                       "of it at which the filter is asked too")  # fmt: skip

    def begun(self, q: Any, v: Any, deviation: Any) -> Array:
        """Return what is remembered at first."""
        model = self.simulator.model
        q = model.neutral() if q is None else model.normalized(q)
        x = self.linear.begun(q, np.zeros(model.nv) if v is None else model.checked("v", v))
        spread = numbers(f"{self.__name__}: deviation", deviation, ControlError) * np.ones(2 * model.nv)
        if spread.shape != (2 * model.nv,) or not (spread > 0.0).all():
            raise ControlError(f"{self.__name__}: deviation is {shown(deviation)}; expected a number above 0, or {2 * model.nv} of them")
        P = np.zeros(self.M)
        P[: 2 * model.nv] = spread**2
        for n, at in self.theta.slices.items():
            P[self.n + at.start : self.n + at.stop] = self.spread[n][0] ** 2
        theta = self.theta.join({n: self.values[n] for n in self.theta.shapes})
        nothing = [y for visit in self.visits if visit.late for y in nothing_of(self.sensors[visit.sensor])]
        known = {"x": x, "theta": theta, "P": np.diag(P)[np.triu_indices(self.M)], "expected": nothing}
        return self.layout.join({n: known.get(n, np.zeros(shape)) for n, shape in self.layout.shapes.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {n: x for n, x in vars(self).items() if n not in ("predicted", "looks", "linear")} | {"linear": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "linear": state["simulator"].linearization})

    # ------------------------------------------------------------ the step and what sensors read, with their derivatives

    def parameters(self, given: Array, theta: Array) -> dict[str, Any]:
        """Return the values of all parameters."""
        known = dict(zip(self.inputs, np.split(given, np.cumsum(self.input_sizes)[:-1]), strict=True)) if self.inputs else {}
        known = {n: np.reshape(x, np.shape(self.values[n])) for n, x in known.items()}
        return {**self.values, **known, **self.theta.split(theta)}

    @property
    def M(self) -> int:
        """Dimension of the error state, with the errors of delayed samples' predictions."""
        return self.N + sum(len(self.R[visit.sensor]) for visit in self.visits if visit.late)

    @property
    def input_sizes(self) -> list[int]:
        """Size of each input."""
        return [int(np.size(self.values[n])) for n in self.inputs]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of t, inputs, θ, x and an error."""
        return [(), (sum(self.input_sizes),), (self.theta.n,), (self.linear.size,), (self.N,)]

    @functools.cached_property
    def predicted(self) -> Callable[..., Any]:
        """x⁺ and A of a step, of t, inputs, θ, x and an error of zero."""

        def step(t: Any, given: Array, theta: Array, x: Array, d: Array) -> tuple[Array, Array]:
            def to(d: Array) -> Array:
                values = self.parameters(given, theta + d[self.n :])
                return self.linear.after(t, self.linear.plant.parameters.join({**self.linear.plant.values, **values}),
                                         self.linear.plus(x, d[: self.n]))  # fmt: skip

            def error(d: Array) -> Array:
                after = to(d)
                return self.linear.minus(ops.stop_gradient(after), after)

            return to(d), ops.jacobian(error, d)

        return callable_on_floats(trace(step, self.shapes))

    @functools.cached_property
    def looks(self) -> list[Callable[..., Any]]:
        """Predicted reading of each sensor, and H, as functions of t, inputs, θ, x and an error of zero."""
        return [callable_on_floats(trace(functools.partial(self.look, c), self.shapes)) for c in self.sensors]

    def look(self, c: Sensor, t: Any, given: Array, theta: Array, x: Array, d: Array) -> tuple[Array, Array]:
        """Return what a sensor is expected to read, and H."""

        def read(d: Array) -> Array:
            values = self.parameters(given, theta + d[self.n :])
            q, v, z = self.linear.parts(self.linear.plus(x, d[: self.n]))
            plant = self.linear.plant
            s = plant.context(t, q, v, z, plant.parameters.join({n: values.get(n, y) for n, y in plant.values.items()}))
            s.parameters = values
            found, _ = c.read(s, c.true(s), np.zeros(sum(e.remembers for e in c.errors.values())), SILENT)
            return np.concatenate([np.ravel(found[part]) for part in c.errors])

        return read(d), ops.jacobian(lambda d: innovation(c, ops.stop_gradient(read(d)), read(d)), d)

    # ------------------------------------------------------------ a tick

    @property
    def innovations(self) -> tuple[int, ...]:
        """Size of each sample's innovation, of which ``nis`` is the normalised square."""
        return tuple(len(R) for R in self.R)

    def __call__(self, t: Any, memory: Array, **signals: Any) -> tuple[dict[str, Any], Array]:
        own = self.layout.split(memory)
        given = np.concatenate([np.zeros(0), *(np.ravel(signals[n]) for n in self.inputs.values())])
        now = self.predict(t, given, own)
        counts = Counts([*own["nis"]], [*own["taken"]], [*own["arrived"]])
        for k, visit in enumerate(self.visits):
            now = self.arrive(k, t, given, now, counts, signals[self.sensors[visit.sensor].name])
        for k, visit in enumerate(self.visits):
            now = self.sample(k, t, given, now, counts) if visit.late else now
        q, v, _ = self.linear.parts(now.x)
        said = {"q": q, "v": v, "P": now.P[: self.N, : self.N], "nis": ops.array(counts.nis)}
        said |= {"parameters": now.theta} if self.theta.n else {}
        after = {**now._asdict(), "P": now.P[np.triu_indices(self.M)], **counts._asdict(), "begun": 1.0}
        return said, self.layout.join({n: ops.array(x) if isinstance(x, list) else x for n, x in after.items()})

    def predict(self, t: Any, given: Array, own: dict[str, Any]) -> Estimate:
        """Return the estimate a step after what is remembered, or that of the beginning: (1)."""
        x, theta, P = own["x"], own["theta"], ops.symmetric(own["P"], self.M)
        ahead, A = self.predicted(t - self.period, given, theta, x, np.zeros(self.N))
        on = ops.less(0.5, own["begun"])
        return Estimate(ops.where(on, ahead, x), theta, ops.where(on, self.passed(A, P), P), own["expected"])

    def arrive(self, k: int, t: Any, given: Array, now: Estimate, counts: Counts, reading: Any) -> Estimate:
        """Return the estimate with a visit's sample, where one has arrived: (2), (3)."""
        visit, c = self.visits[k], self.sensors[self.visits[k].sensor]
        come = self.come(visit, t, counts.taken[k], counts.arrived[k])
        counts.arrived[k] = counts.arrived[k] + ops.where(come, 1.0, 0.0)
        fresh = self.fresh(visit, reading, counts.arrived[k], come)
        y = self.reading(c, reading)
        unchanged = np.concatenate([now.x, now.theta, now.expected, now.P[np.triu_indices(self.M)], [counts.nis[visit.sensor]]])
        found = ops.when(fresh, lambda: self.corrected(k, t, given, now.theta, now.x, now.expected, now.P, y), unchanged)
        ends = np.cumsum([self.linear.size, self.theta.n, len(now.expected), self.M * (self.M + 1) // 2])
        x, theta, expected, triangle, (counts.nis[visit.sensor],) = np.split(found, ends)
        return Estimate(x, theta, ops.symmetric(triangle, self.M), expected)

    def sample(self, k: int, t: Any, given: Array, now: Estimate, counts: Counts) -> Estimate:
        """Return the estimate with what a visit's sample of now will read, where one is taken that arrives later: (4)."""
        goes = self.due(self.visits[k], t, counts.taken[k], 0.0)
        counts.taken[k] = counts.taken[k] + ops.where(goes, 1.0, 0.0)
        unchanged, n = np.concatenate([now.expected, now.P[np.triu_indices(self.M)]]), len(now.expected)
        found = ops.when(goes, lambda: self.foreseen(k, t, given, now.theta, now.x, now.expected, now.P), unchanged)
        return now._replace(expected=found[:n], P=ops.symmetric(found[n:], self.M))

    def passed(self, A: Array, P: Array) -> Array:
        """Return P (M, M) a step on, of which what is expected of samples on their way stays: (1)."""
        N, A = self.N, np.concatenate([A, np.eye(self.N)[self.n :]])
        both = ops.product(A, P[:N, N:]) if self.M > N else P[:N, N:]
        return np.block([[ops.product(ops.product(A, P[:N, :N]), A.T) + self.Q, both], [both.T, P[N:, N:]]])

    def due(self, visit: Visit, t: Any, count: Any, later: float) -> Any:
        """Return whether it is time for a visit's sample of a number, or to get it so much later."""
        return ops.less_equal(visit.first + later - 1e-6 * self.period + visit.period * count, t)

    def come(self, visit: Visit, t: Any, taken: Any, arrived: Any) -> Any:
        """Return whether a visit's sample should be there."""
        on_time = self.due(visit, t, arrived, visit.latency)
        return ops.logical_and(on_time, ops.less(arrived, taken)) if visit.late else on_time

    def fresh(self, visit: Visit, reading: Any, arrived: Any, come: Any) -> Any:
        """Return whether it is, and valid, by what is read, which may say its time."""
        if isinstance(reading, Mapping) and "time" in reading:
            since = visit.first - 1e-6 * self.period + visit.period * (arrived - 1.0)
            come = ops.logical_and(come, ops.less_equal(since, reading["time"]))
        return ops.logical_and(come, reading["valid"] > 0.5) if isinstance(reading, Mapping) and "valid" in reading else come

    def reading(self, c: Sensor, reading: Any) -> Array:
        """Return what is read of a sensor as a vector."""
        y = np.concatenate([np.ravel(part_of(reading, part)) for part in c.errors])
        if len(y) != size_of(c):
            raise ControlError(f"{self.__name__}: '{c.name}' of the simulation reads {len(y)} numbers, and that of the filter "
                               f"{size_of(c)}; expected the same sensor in both")  # fmt: skip
        return y

    def places(self, k: int) -> tuple[slice, slice]:
        """Return where a late visit's sample is among what is expected, and among errors."""
        late = [self.visits[i].sensor for i in range(k) if self.visits[i].late]
        at, row, i = sum(size_of(self.sensors[j]) for j in late), self.N + sum(len(self.R[j]) for j in late), self.visits[k].sensor
        return slice(at, at + size_of(self.sensors[i])), slice(row, row + len(self.R[i]))

    def corrected(self, k: int, t: Any, given: Array, theta: Array, x: Array, expected: Array, P: Array, y: Array) -> Array:
        """Return x, θ, what is expected, P's upper triangle, and νᵀ S⁻¹ ν after a visit's sample: (2), (3)."""
        i, late = self.visits[k].sensor, self.visits[k].late
        at, rows = self.places(k)
        look, H = (expected[at], np.eye(self.M)[rows]) if late else self.looks[i](t, given, theta, x, np.zeros(self.N))
        H = np.concatenate([H, np.zeros((len(H), self.M - H.shape[1]))], axis=1)
        d, after, square, _ = measurement_update(P, H, np.diag(self.R[i]), innovation(self.sensors[i], look, y))
        d = kept_definite(self.__name__, t, after[: self.N, : self.N]) * d
        for j, other in enumerate(self.visits):
            if other.late:
                at, rows = self.places(j)
                moved = turn_attitudes(self.sensors[other.sensor], expected[at], d[rows])
                expected = np.concatenate([expected[: at.start], moved, expected[at.stop :]])
        x = self.linear.plus(x, d[: self.n])
        return np.concatenate([x, theta + d[self.n : self.N], expected, after[np.triu_indices(self.M)], [square]])

    def foreseen(self, k: int, t: Any, given: Array, theta: Array, x: Array, expected: Array, P: Array) -> Array:
        """Return what is expected and P's upper triangle, with what a visit's sample of now will read: (4)."""
        (at, rows), (look, H) = self.places(k), self.looks[self.visits[k].sensor](t, given, theta, x, np.zeros(self.N))
        T = np.array(np.eye(self.M), dtype=object)
        T[rows] = 0.0
        T[rows, : self.N] = H
        P = np.asarray(T @ P @ T.T, dtype=P.dtype)
        return np.concatenate([expected[: at.start], look, expected[at.stop :], P[np.triu_indices(self.M)]])


class Estimate(NamedTuple):
    """The filter's estimate: x, parameters θ, the errors' covariance P (M, M), and what is expected of samples on their way."""

    x: Array
    theta: Array
    P: Array
    expected: Array


class Counts(NamedTuple):
    """The filter's counts: νᵀ S⁻¹ ν of each sensor's last sample; samples taken, and arrived, of each visit."""

    nis: list[Any]
    taken: list[Any]
    arrived: list[Any]


class Visit(NamedTuple):
    """Samples of a sensor of which at most one at a time is on its way: every ``period`` from ``first`` on, ``latency`` later there, s."""

    sensor: int
    first: float
    period: float
    latency: float

    @property
    def late(self) -> bool:
        """True if the samples are of the past when they are read."""
        return self.latency > 0.0


def visits_of(k: int, c: Sensor, h: float) -> list[Visit]:
    """Return the visits of a sensor, the k-th, to a filter that is asked every h, s: as many as samples may be on their way.

    >>> from engine.sensors import GPS
    >>> visits_of(0, GPS("bus", period=0.5, latency=0.8), 0.1)
    [Visit(sensor=0, first=0.0, period=1.0, latency=0.8), Visit(sensor=0, first=0.5, period=1.0, latency=0.8)]
    """
    law = c.called.law
    period = max(law.period or h, h)
    n = max(math.ceil(law.delay / period - 1e-6), 1)
    return [Visit(k, law.phase + i * period, n * period, law.delay) for i in range(n)]


def callable_on_floats(program: Program) -> Callable[..., Any]:
    """Return a function that calls a program where it is traced, and else runs it."""
    return calling(program, functools.partial(interpret, program))


class Silent(Noise):
    """Noise that is none."""

    def __init__(self) -> None:
        super().__init__(0.0, 0.0, 0, 0.0)

    def __call__(self, n: int) -> Any:
        return np.zeros(n)

    def later(self, n: int) -> Callable[[], Any]:
        return lambda: np.zeros(n)


SILENT = Silent()


def noise_of(c: Sensor, period: float) -> Array:
    """Return the variances (m) of a sample of a sensor, whose attitudes count by three.

    >>> from engine.sensors import Encoder
    >>> noise_of(Encoder("hip", noise=0.1), 0.01)
    array([0.01])
    """
    found, h = [], c.called.law.period or period
    for e in c.errors.values():
        own = e.values
        s = own["noise"] ** 2 / h + own.get("walk", 0.0) ** 2 * h / 12.0 if e.density else own["noise"] ** 2
        found.append(np.ravel(s + own.get("quantum", 0.0) ** 2 / 12.0))
    R = np.concatenate(found)
    if not (R > 0.0).all():
        raise ControlError(f"'{c.name}' has no noise, by which it would be weighed; expected noise above 0")
    return R


def size_of(c: Sensor) -> int:
    """Return how many numbers are read of a sensor, of attitudes four."""
    return sum(4 if part == "q" else int(np.prod(e.shape)) for part, e in c.errors.items())


def innovation(c: Sensor, expected: Array, y: Array) -> Array:
    """Return y ⊖ expected, of what a sensor reads: attitudes by the turn from one to the other."""
    both = zip(c.errors, split_reading(c, expected), split_reading(c, y), strict=True)
    return np.concatenate([turn(a, b) if part == "q" else b - a for part, a, b in both])


def turn_attitudes(c: Sensor, expected: Array, d: Array) -> Array:
    """Return expected ⊕ d (m), attitudes turned by three of them."""
    found = []
    for part, a in zip(c.errors, split_reading(c, expected), strict=True):
        own, d = (d[:3], d[3:]) if part == "q" else (d[: len(a)], d[len(a) :])
        found.append(quaternion.normalize(quaternion.product(a, quaternion.exp(own))) if part == "q" else a + own)
    return np.concatenate(found)


def split_reading(c: Sensor, y: Array) -> list[Array]:
    """Return what is read of a sensor by its parts."""
    return np.split(y, np.cumsum([4 if part == "q" else int(np.prod(e.shape)) for part, e in c.errors.items()])[:-1])


def nothing_of(c: Sensor) -> list[float]:
    """Return zeros of what is read of a sensor, and unit quaternions."""
    return [float(part == "q" and i == 0) for part, e in c.errors.items() for i in range(4 if part == "q" else int(np.prod(e.shape)))]


def part_of(reading: Any, part: str) -> Any:
    """Return a part of what is read."""
    return reading[part] if part else reading


def turn(q: Array, to: Array) -> Array:
    """Return the rotation vector (3) from one attitude to another, the short way."""
    e = quaternion.product(quaternion.conjugate(q), to)
    return quaternion.log(ops.where(e[0] < 0.0, -e, e))
