"""What a robot does, estimated from its sensors: an error-state Kalman filter by the derivatives of a simulator's own step and sensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, numbers, shown
from engine.compiler.graph.interp import interpret
from engine.compiler.graph.program import Program
from engine.compiler.transforms.trace import calling, trace
from engine.components.law import Law, Noise
from engine.control.horizon import ControlError
from engine.sensors import Camera, Sensor
from engine.sensors.kalman import kept_definite, measurement_update
from engine.simulation import Simulator, Trajectory
from engine.spatial import quaternion

Array = np.ndarray


class Estimator(Law):
    """An estimate of q, v, states of components and parameters, as a law that remembers: what :func:`engine.estimator` returns.

    Signal: ``q`` (nq), ``v`` (nv), ``states`` (those of components, if there are), ``parameters`` (k), their ``P`` (N, N) of the errors
    δ = (δq, δv, δz, δθ) with N = 2 nv + nz + k, and ``nis`` (sensors): νᵀ S⁻¹ ν of each one's last sample.
    """

    fn: Filter

    @property
    def before(self) -> dict[str, tuple[int, ...]]:  # type: ignore[override]
        """The inputs, which are to be what has acted since the tick before."""
        return {n: np.shape(self.fn.values[of]) for of, n in self.fn.inputs.items()}

    def nees(self, run: Trajectory, parameters: Mapping[str, Any] | None = None) -> Array:
        """Return δᵀ P⁻¹ δ (..., T) of a run's q and v, with parameters by name where they are estimated: of a consistent filter its mean is
        2 nv and their number.

        Raises
        ------
        ControlError : the run has no such signal
        """
        s, own, model = run.signals, self.fn, self.fn.linear.model
        if f"{self.name}.P" not in s:
            raise ControlError(f"the run has no signal '{self.name}.P'; expected one of a simulator with this estimator among its laws")
        rows = [*range(2 * model.nv)]
        e = np.concatenate([model.manifold.minus(s[f"{self.name}.q"], run.q), run.v - s[f"{self.name}.v"]], axis=-1)
        for name, x in (parameters or {}).items():
            at = own.theta.slices[name]
            true = np.asarray(x, dtype=float)[..., None, :] if np.ndim(x) else np.reshape(x, 1)
            e = np.concatenate([e, true - s[f"{self.name}.parameters"][..., at]], axis=-1)
            rows += range(own.n + at.start, own.n + at.stop)
        P = s[f"{self.name}.P"][..., rows, :][..., rows]
        return np.asarray(np.sum(e * np.linalg.solve(P, e[..., None])[..., 0], axis=-1))


def estimator(simulator: Simulator, sensors: Iterable[Sensor], q: Any = None, v: Any = None, deviation: Any = 0.1, process: Any = 0.0,
              inputs: Mapping[str, str] | None = None, parameters: Mapping[str, tuple[float, float]] | None = None,
              name: str = "estimate", **others: Any) -> Estimator:  # fmt: skip
    """Return an error-state Kalman filter of what a simulator moves, for ``Simulator(…, sensors=…, laws=[…])`` of the same robot.

    With x = (q, v, z) on its manifold and θ the parameters that are estimated, the step f of ``simulator``, which lasts a period of the
    filter, and what sensors read, h::

        x̂⁺ = f(x̂, θ̂, u),   A = ∂f/∂(δx, δθ),   P⁺ = A P Aᵀ + Q                                                                (1)
        ν = y ⊖ h(x̂, θ̂),   H = ∂h/∂(δx, δθ),   S = H P Hᵀ + R,   K = P Hᵀ S⁻¹                                               (2)
        x̂ ← x̂ ⊕ δx,   θ̂ ← θ̂ + δθ,   (δx, δθ) = K ν,   P = (1 − K H) P (1 − K H)ᵀ + K R Kᵀ                                      (3)

    A and H are exact: those of the very step and sensors that are simulated. Attitudes are compared by the turn between them.

    Parameters
    ----------
    simulator : what the filter takes for true, compiled, with neither contacts nor laws that remember; its dt is the filter's period
    sensors : those of the simulation that it reads, by their names, without latency: of positions and velocities (those that feel forces
        are refused). Their noise, quanta and walks make R
    q, v : the estimate at first, the neutral configuration at rest by default; deviation : of its errors (2 nv), or a number for all
    process : density of what v̇ does besides, rad/s² or m/s² per √Hz: a number, or (nv)
    inputs : the simulator's parameters that signals of the simulation are, by name, such as {"u": "command"}: as they were until a tick;
        what commands may read the estimate in turn
    parameters : those that are estimated, of the simulator or of a sensor, by name (deviation at first, and of its walk per √s): such as
        {"gyro.bias": (0.01, 1e-6), "mass.load": (0.5, 0.0)}, from their values there
    name : of its signal

    Raises
    ------
    ControlError : an argument that it does not take; a simulator that has no derivative; a sensor without noise, or one that cannot be
        predicted; a parameter there is not

    References: Solà, *Quaternion kinematics for the error-state Kalman filter*, 2017; Bar-Shalom, Li & Kirubarajan, *Estimation with
    Applications to Tracking and Navigation*, §5.4 (NEES, NIS).

    Examples
    --------
    >>> import engine
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> gauge = engine.sensors.Encoder("slide", noise=0.01)
    >>> found = estimator(engine.Simulator(rail.model(), dt=0.01), [gauge], process=1.0)
    >>> simulator = engine.Simulator(rail.model(), dt=0.01, sensors=[gauge], laws=[found])
    >>> run = simulator.run([0.05], [0.2], 1.0)
    >>> bool(abs(run.signals["estimate.v"][-1, 0] - 0.2) < 0.2)
    True
    """
    for other in others:
        known = [*inspect.signature(estimator).parameters][:-1]
        raise ControlError(f"estimator takes no '{other}'{nearest(other, known)}; expected some of {', '.join(known)}")
    if not isinstance(simulator, Simulator):
        raise ControlError(f"estimator: simulator is {shown(simulator)}; expected an engine.Simulator of what is estimated")
    if not isinstance(sensors, Iterable) or isinstance(sensors, str):
        raise ControlError(f"{name}: sensors are {shown(sensors)}; expected a list of them, such as [engine.sensors.Encoder(…)]")
    step = Filter(simulator, list(sensors), process, dict(inputs or {}), dict(parameters or {}), name)
    return Estimator(step, period=simulator.dt, memory=step.begun(q, v, deviation), name=name)


class Filter:
    """What an :class:`Estimator` does at a tick, as a function of its signals and its memory."""

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
        self.theta = type(simulator.stepper.layout)({n: np.shape(self.values[n]) for n in parameters})
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
        names = dict.fromkeys(["t", *(c.name for c in sensors), *inputs.values(), "memory"])
        self.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def require_sensor(self, c: Any, simulator: Simulator) -> None:
        """Refuse what is not predicted from a state."""
        if not isinstance(c, Sensor) or isinstance(c, Camera) or c.feels or c.state.size:
            raise ControlError(f"{self.__name__}: {getattr(c, 'name', shown(c))} is not predicted from positions and velocities; expected "
                               "sensors such as Gyro, StarTracker, Encoder, GPS, RelativePose")  # fmt: skip
        if c.called.law.delay:
            raise ControlError(f"{self.__name__}: '{c.name}' is read {c.called.law.delay:g} s late, and it is compared with what is now; "
                               "expected latency=0")  # fmt: skip
        c.bind(simulator.model, self.period if c.called.law.period is None else min(self.period, c.called.law.period))

    def require_signals(self, laws: Mapping[str, Law]) -> None:
        """Refuse sensors of a simulation that sample at other times than those of the filter by their names."""
        for c in self.sensors:
            for what, asked in (("latency", "delay"), ("period", "period"), ("phase", "phase")):
                own, theirs = getattr(c.called.law, asked), getattr(laws[c.name], asked)
                if own != theirs:
                    raise ControlError(f"{self.__name__}: '{c.name}' of the simulation has {what}={theirs}, and that of the filter {own}; "
                                       "expected the same sensor in both")  # fmt: skip

    def begun(self, q: Any, v: Any, deviation: Any) -> Array:
        """Return what is remembered at first."""
        model = self.simulator.model
        q = model.neutral() if q is None else model.normalized(q)
        x = self.linear.begun(q, np.zeros(model.nv) if v is None else model.checked("v", v))
        spread = numbers(f"{self.__name__}: deviation", deviation, ControlError) * np.ones(2 * model.nv)
        if spread.shape != (2 * model.nv,) or not (spread > 0.0).all():
            raise ControlError(f"{self.__name__}: deviation is {shown(deviation)}; expected a number above 0, or {2 * model.nv} of them")
        P = np.zeros(self.N)
        P[: 2 * model.nv] = spread**2
        for n, at in self.theta.slices.items():
            P[self.n + at.start : self.n + at.stop] = self.spread[n][0] ** 2
        theta = self.theta.join({n: self.values[n] for n in self.theta.shapes})
        due = [c.called.law.phase for c in self.sensors]
        return np.concatenate([x, theta, np.diag(P)[np.triu_indices(self.N)], due, np.zeros(len(self.sensors)), [0.0]])

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
    def input_sizes(self) -> list[int]:
        """How many numbers each input is."""
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
        """For each sensor ν, H and a validity, of t, inputs, θ, x, an error of zero, and what is read."""
        return [callable_on_floats(trace(functools.partial(self.look, c), [*self.shapes, (size_of(c),)])) for c in self.sensors]

    def look(self, c: Sensor, t: Any, given: Array, theta: Array, x: Array, d: Array, y: Array) -> tuple[Array, Array]:
        """Return ν and H of a sensor."""

        def read(d: Array) -> dict[str, Any]:
            values = self.parameters(given, theta + d[self.n :])
            q, v, z = self.linear.parts(self.linear.plus(x, d[: self.n]))
            plant = self.linear.plant
            s = plant.context(t, q, v, z, plant.parameters.join({n: values.get(n, y) for n, y in plant.values.items()}))
            s.parameters = values
            return c.read(s, c.true(s), np.zeros(sum(e.remembers for e in c.errors.values())), SILENT)[0]

        def apart(to: Array, d: Array) -> Array:
            found, k, parts = read(d), 0, []
            for part in c.errors:
                m = 4 if part == "q" else int(np.size(found[part]))
                seen, k = to[k : k + m], k + m
                parts.append(turn(found[part], seen) if part == "q" else seen - np.ravel(found[part]))
            return np.concatenate(parts)

        def around(d: Array) -> Array:
            return apart(ops.stop_gradient(np.concatenate([np.ravel(read(d)[part]) for part in c.errors])), d)

        return apart(y, d), -ops.jacobian(around, d)

    # ------------------------------------------------------------ a tick

    @property
    def innovations(self) -> tuple[int, ...]:
        """How many numbers each sample's innovation has, of which ``nis`` is the normalised square."""
        return tuple(len(R) for R in self.R)

    def __call__(self, t: Any, memory: Array, **signals: Any) -> tuple[dict[str, Any], Array]:
        ends = np.cumsum([self.linear.size, self.theta.n, self.N * (self.N + 1) // 2, len(self.sensors), len(self.sensors)])
        x, theta, upper, due, nis, (begun,) = np.split(memory, ends)
        given, none = np.concatenate([np.zeros(0), *(np.ravel(signals[n]) for n in self.inputs.values())]), np.zeros(self.N)
        P = ops.symmetric(upper, self.N)
        ahead, A = self.predicted(t - self.period, given, theta, x, none)
        A = np.concatenate([A, np.eye(self.N)[self.n :]])
        on = ops.less(0.5, begun)
        x, P = ops.where(on, ahead, x), ops.where(on, ops.product(ops.product(A, P), A.T) + self.Q, P)
        dues, squares = [*due], [*nis]
        for k, c in enumerate(self.sensors):
            reading = signals[c.name]
            y = np.concatenate([np.ravel(part_of(reading, part)) for part in c.errors])
            if len(y) != size_of(c):
                raise ControlError(f"{self.__name__}: '{c.name}' of the simulation reads {len(y)} numbers, and that of the filter "
                                   f"{size_of(c)}; expected the same sensor in both")  # fmt: skip
            fresh, dues[k] = self.fresh(c, t, reading, dues[k])

            def corrected(k: int = k, y: Array = y, x: Array = x, theta: Array = theta, P: Array = P) -> Array:
                return self.corrected(k, t, given, theta, x, P, y)

            same = np.concatenate([x, theta, P[np.triu_indices(self.N)], [squares[k]]])
            found = ops.when(fresh, corrected, same)
            x, theta, upper, (squares[k],) = np.split(found, [*ends[:3]])
            P = ops.symmetric(upper, self.N)
        q, v, _ = self.linear.parts(x)
        said = {"q": q, "v": v, "P": P, "nis": ops.array(squares)}
        said |= {"parameters": theta} if self.theta.n else {}
        return said, np.concatenate([x, theta, P[np.triu_indices(self.N)], dues, squares, [1.0]])

    def fresh(self, c: Sensor, t: Any, reading: Any, due: Any) -> tuple[Any, Any]:
        """Return whether a sample is new and valid, and from when on the next one is."""
        if isinstance(reading, Mapping) and "time" in reading:
            new = ops.less_equal(due - 1e-9, reading["time"])
            after = ops.where(new, reading["time"] + 0.5 * c.period, due)
            return (ops.logical_and(new, reading["valid"] > 0.5) if "valid" in reading else new), after
        new = ops.less_equal(due - 1e-9 * self.period, t)
        return new, ops.where(new, due + max(c.period, self.period), due)

    def corrected(self, k: int, t: Any, given: Array, theta: Array, x: Array, P: Array, y: Array) -> Array:
        """Return x, θ, P's upper triangle, and νᵀ S⁻¹ ν after a sample: (2), (3)."""
        nu, H = self.looks[k](t, given, theta, x, np.zeros(self.N), y)
        d, after, square, _ = measurement_update(P, H, np.diag(self.R[k]), nu)
        sound = kept_definite(self.__name__, t, after)
        x = self.linear.plus(x, sound * d[: self.n])
        return np.concatenate([x, theta + d[self.n :], after[np.triu_indices(self.N)], [square]])


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


def part_of(reading: Any, part: str) -> Any:
    """Return a part of what is read."""
    return reading[part] if part else reading


def turn(q: Array, to: Array) -> Array:
    """Return the rotation vector (3) from one attitude to another, the short way."""
    e = quaternion.product(quaternion.conjugate(q), to)
    return quaternion.log(ops.where(e[0] < 0.0, -e, e))
