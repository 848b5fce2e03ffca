"""The base of all sensors: sampling, mounting, and errors (noise, bias, scale, limits); random numbers are ``components.law.Noise``."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from engine import ops
from engine.checks import Range, array, nearest, number, numbers, shown
from engine.components.component import Context, SimulationError
from engine.components.law import Called, Law, Noise
from engine.components.makers import Maker
from engine.model import Model
from engine.sensors.felt import only_declared, require_felt
from engine.spatial import se3, so3

Array = np.ndarray
#: units of what adds up over time
SUMS = {"rad/s": "rad", "m/s2": "m/s"}
Own = TypeVar("Own", bound="Sensor")


class Errors:
    """Error model of n numbers x: misalignment M, scale S, bias b, noise, steps and limits::

        y = sat(quant(M (1 + S) x + b + noise))                                                                               (1)

    Parameters
    ----------
    noise : standard deviation of a sample, or where it is a ``density`` (of what is integrated by who reads it) that per √Hz; a number, or
        one for each
    bias : b
    walk : of a density σ_u, per s per √Hz: the bias walks besides, b⁺ = b + σ_u √Δ N₁, and a sample has the mean over its period Δ::

            ½ (b⁺ + b) + √(σ_v²/Δ + σ_u² Δ/12) N₂                                                                             (2)

    scale : S, of each number; misalignment : of three numbers, a rotation vector, rad, M = exp(misalignment)
    quantum : of a step, over which derivatives go as over a slope of one; limit : of |y|
    carries : whether what is rounded off is added to the next sample, as of pulses that are counted: quantum is then of ∫y dt
    common : whether all numbers have each of these in common; noise is drawn for each

    All of these are parameters of the simulation, as "NAME.noise": they may differ from run to run. Those that are None are not there.

    References: Farrenkopf, *Analytic steady-state accuracy solutions for two common spacecraft attitude estimators*, J. Guidance 1 (1978);
    IEEE Std 952, annex C.

    >>> from engine.sensors import Errors
    >>> sorted(Errors("gauge", 3, noise=0.1, bias=[1.0, 2.0, 3.0]).values)
    ['bias', 'noise']
    """

    def __init__(self, name: str, n: int | None, noise: Any = 0.0, bias: Any = 0.0, walk: Any = None, scale: Any = None,
                 misalignment: Any = None, quantum: Any = None, limit: Any = None, density: bool = False,
                 carries: bool = False, common: bool = False) -> None:  # fmt: skip
        self.name, self.shape, self.density = name, () if n is None else (n,), density
        self.carries = carries and quantum is not None
        self.values: dict[str, Array] = {}
        if walk is not None and not density:
            raise SimulationError(f"{name}: what is sampled does not walk; expected walk=None")
        each = () if common else self.shape
        for what, x, size in (("noise", noise, each), ("bias", bias, each), ("walk", walk, each), ("scale", scale, each),
                              ("misalignment", misalignment, (3,)), ("quantum", quantum, each), ("limit", limit, each)):
            if x is None:
                continue
            if not of_numbers(x):
                raise SimulationError(f"{name}: {what} is {shown(x)}; expected numbers")
            a = numbers(f"{name}: {what}", x, SimulationError)
            if a.shape not in ((), size) or not np.isfinite(a).all():
                raise SimulationError(f"{name}: {what} is {shown(x)}; expected a number, or as many as are read {size}")
            require_possible(f"{name}: {what}", what, a, x)
            self.values[what] = np.broadcast_to(a, size).copy()
        if misalignment is not None and n != 3:
            raise SimulationError(f"{name}: a misalignment of what is no vector; expected misalignment=None")

    @property
    def remembers(self) -> int:
        """Number of scalars that the sensor remembers: the biases' random walk, and the remainder that is carried."""
        return int(np.prod(self.shape)) * (("walk" in self.values) + self.carries)

    def read(self, parameters: Mapping[str, Any], x: Any, memory: Array, noise: Noise, period: float) -> tuple[Any, Array]:
        """Return what is read of x, and what it remembers then."""
        own = {what: parameters[f"{self.name}.{what}"] for what in self.values}
        if (shape := array(f"{self.name}: the truth", x, SimulationError).shape) != self.shape:
            said = f"as its Errors say by n={self.shape[0] if self.shape else None}"
            raise SimulationError(f"{self.name}: the truth has the shape {shape}; expected {self.shape}, {said}")
        n = int(np.prod(self.shape))
        if "scale" in own:
            x = (1.0 + own["scale"]) * x
        if "misalignment" in own:
            x = so3.exp(own["misalignment"]) @ x
        deviation = own["noise"] / np.sqrt(period) if self.density else own["noise"]
        walked = memory[:n] if "walk" in own else np.zeros(0)
        if "walk" in own:
            after = walked + np.sqrt(period) * (np.ravel(own["walk"]) * noise(n))
            x = x + (0.5 * (walked + after)).reshape(self.shape)
            deviation = ops.sqrt(own["noise"] ** 2 / period + own["walk"] ** 2 * (period / 12.0))                          # (2)
            walked = after
        y = x + own["bias"] + deviation * self.drawn(deviation, noise, n)                                                 # (1)
        if self.carries:
            y = y + memory[-n:].reshape(self.shape)
            whole = quantised(y, own["quantum"] / period)
            walked, y = np.concatenate([walked, np.ravel(y - whole)]), whole
        elif "quantum" in own:
            y = quantised(y, own["quantum"])
        if "limit" in own:
            y = ops.maximum(ops.minimum(y, own["limit"]), -own["limit"])
        return y, walked

    def drawn(self, deviation: Any, noise: Noise, n: int) -> Array:
        """Return normal numbers of the shape; of a deviation that is nominally zero none are drawn unless a run has another."""
        if self.values["noise"].any() or "walk" in self.values:
            return noise(n).reshape(self.shape)
        still = functools.reduce(ops.logical_and, [ops.equal(x, 0.0) for x in np.ravel(deviation)])
        return np.asarray(ops.when(ops.logical_not(still), noise.later(n), np.zeros(n))).reshape(self.shape)


def signature_of(make: Any) -> inspect.Signature:
    """Return what a class takes whose maker this is: all but the first.

    >>> signature_of(lambda self, link, noise=0.0: None)
    <Signature (link, noise=0.0)>
    """
    own = inspect.signature(make)
    return own.replace(parameters=[*own.parameters.values()][1:], return_annotation=inspect.Signature.empty)


class Sensor(Maker):
    """Something that samples: what it reads is a signal by its name, and the truth of that sample is recorded beside it as "NAME.true";
    with a walk the bias too, as "NAME.true.bias": where it is at the end of the sample. No function gets these. Before its first sample it
    reads zeros, and where that is no value of its own, of attitudes and directions, one that is.

    Parameters
    ----------
    name : of the signal; functions ask for it by this
    period : s between samples, dt or more; None: one at every step
    latency : s after a sample is due, from which on it is read; phase : s, when the first one is due
    errors : of its parts, by their names ("" of one that has none)

    Noise is drawn by the parameters "noise.seed" and "noise.run", the name, and the sample's number: a rollout has the same alone and in
    any batch. Subclasses write :meth:`true`.

    >>> import engine
    >>> gauge = engine.sensors.Encoder("hip", noise=1e-3, period=0.01)
    >>> isinstance(gauge, engine.sensors.Sensor), gauge.name, gauge.parameters
    (True, 'encoder', {'encoder.noise': array(0.001), 'encoder.bias': array(0.)})
    """

    #: whether it draws noise
    noisy = True
    #: whether a robot's file describes it, whose names are its own, and of which not all may be of use
    of_file = False
    #: what is read of its parts before there is a sample, where that is not zero
    first: Mapping[str, Array] = types.MappingProxyType({})
    #: FMI's units of what it reads, by parts; of attitudes and directions, which have none, errors are turns
    measures: Mapping[str, str] = types.MappingProxyType({})
    #: arguments that are errors of a part, as dictionaries
    of_parts: Sequence[str] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Say which arguments it takes, and not those of ``__new__``."""
        super().__init_subclass__(**options)
        cls.__signature__ = signature_of(cls.__init__)  # type: ignore[attr-defined]

    def __new__(cls: type[Own], *args: Any, **named: Any) -> Own:
        """Refuse arguments of names that it has not."""
        require_arguments(cls.__name__, cls.__init__, named, cls.of_parts)
        return super().__new__(cls)

    def __init__(self, name: str, period: float | None, latency: float, phase: float, errors: Mapping[str, Errors],
                 memory: Any = ()) -> None:  # fmt: skip
        self.name, self.errors = name, dict(errors)
        latency, phase = (number(f"{name}: the {what}", x, "seconds from 0", least=0.0, error=SimulationError)
                          for what, x in (("latency", latency), ("phase", phase)))  # fmt: skip
        self.parameters = {f"{e.name}.{what}": x for e in errors.values() for what, x in e.values.items()}
        walked = sum(e.remembers for e in errors.values())
        law = Law(asks_nothing, period=period, delay=latency, memory=np.concatenate([np.zeros(walked), memory]), phase=phase, name=name)
        self.called, self.reads = bare(law), ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "called": self.called.law}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "called": bare(state["called"])})

    def bind(self, model: Model, dt: float) -> None:
        require_felt(self.name, self.feels)
        super().bind(model, dt)

    @property
    def feels(self) -> Sequence[str]:
        """The parts of ``s.felt`` that :meth:`true` reads: some of :class:`~engine.components.component.Felt`'s."""
        return ()

    def at_first(self) -> dict[str, Array]:
        return {f"now.{own}": x for n, x in self.first.items() for own in (n, f"true.{n}")}

    @property
    def units(self) -> Mapping[str, str]:  # type: ignore[override]
        """FMI's units of its parts, of their truth, and of their errors, but for densities, whose units it has no words for.

        >>> from engine.sensors import IMU
        >>> imu = IMU("base", rate={"misalignment": (0.0, 0.0, 1e-3)})
        >>> imu.units["true.force"], imu.units["rate.bias"], imu.units["rate.misalignment"]
        ('m/s2', 'rad/s', 'rad')
        """
        found = {own: unit for part, unit in self.measures.items() for own in (part, f"true.{part}".rstrip("."))}
        for part, e in self.errors.items():
            unit = self.measures.get(part, "") or ("rad" if part in self.first else "")
            for what in ("bias", "quantum", "limit", *["noise"] * (not e.density), "misalignment"):
                known = {"misalignment": "rad", "quantum": SUMS.get(unit, unit) if e.carries else unit}
                found[f"{e.name}.{what}"[len(self.name) + 1 :]] = known.get(what, unit)
            found[f"true.{part}.bias".replace("..", ".")] = unit
        return found

    @property
    def mounted(self) -> tuple[str, str, Array]:
        """The sensor's kind, by the engine's class that it is, or is derived from, the link that it is on, "" of none, and its pose (4, 4)
        there."""
        own = next(c for c in type(self).__mro__ if c.__module__.startswith("engine.sensors."))
        return own.__name__, "", np.eye(4)

    def require_parameter(self, what: str, x: Array, shape: tuple[int, ...]) -> None:
        if f"{self.name}.{what}" in self.parameters:
            require_possible(f"parameter '{self.name}.{what}'", what.rpartition(".")[2], x)

    def lacks(self, parameter: str) -> str:
        for part, e in self.errors.items():
            for what in OF_VECTORS:
                if parameter == f"{e.name}.{what}" and what not in e.values:
                    mine = f"{part}={{'{what}': …}}" if part in self.of_parts else f"{what}=…"
                    return f"{type(self).__name__} '{self.name}' has no {what} that it would replace; expected {mine} of that, at first"
        return ""

    def possible(self, what: str, x: Array) -> Any:
        known = f"{self.name}.{what}" in self.parameters
        return may_be(what.rpartition(".")[2], x) if known else True

    def range_of(self, what: str, parameters: Mapping[str, Array]) -> Range | None:
        last = what.rpartition(".")[2]
        return Range(0.0, above=last in ABOVE) if f"{self.name}.{what}" in self.parameters and last in (*FROM, *ABOVE) else Range()

    def true(self, s: Context) -> dict[str, Any]:
        """Return what it would read without errors, by parts."""
        raise SimulationError(f"{type(self).__name__} '{self.name}' has no true; expected a method true(s) that returns what it reads "
                              "without errors, by parts: {'': …}")  # fmt: skip

    def sampled(self, s: Context, state: Array, memory: Array) -> tuple[dict[str, Any], Array]:
        """Return the true values at this sample, and the sensor's memory after it, but for the biases' random walk."""
        return self.true(s), memory

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        """Return what is read of the truth, by parts, and how biases have walked."""
        found, after = dict(true), []
        for part, e in self.errors.items():
            own, walked = walked[: e.remembers], walked[e.remembers :]
            if part not in true:
                besides = f"that besides {', '.join(map(repr, true))}" if true else "it"
                raise SimulationError(f"the truth of '{self.name}' has no part '{part}', of which it has Errors; expected {besides}")
            found[part], own = e.read(s.parameters, true[part], own, noise, self.period)
            after.append(own)
        return found, np.concatenate([np.zeros(0), *after])

    def biases(self, s: Context, walked: Array) -> dict[str, Any]:
        """Return the biases that walk as they are after a sample, by the parts in which they are recorded, of how far they have walked."""
        found = {}
        for part, e in self.errors.items():
            if "walk" in e.values:
                n = int(np.prod(e.shape))
                found[f"true.{part}.bias" if part else "true.bias"] = s.parameters[f"{e.name}.bias"] + walked[:n].reshape(e.shape)
            walked = walked[e.remembers :]
        return found

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        walks = sum(e.remembers for e in self.errors.values())
        with only_declared(s, self.name, self.feels):
            true, more = self.sampled(s, state, memory[walks:])
        if not isinstance(true, Mapping):
            raise SimulationError(f"the truth of '{self.name}' is {shown(true)}; expected a dictionary of its parts, such as {{'': …}}")
        noise = Noise(s.parameters["noise.seed"], s.parameters["noise.run"], self.called.stream, count)
        read, walked = self.read(s, true, memory[:walks], noise)
        parts = {**read, **{f"true.{n}" if n else "true": x for n, x in true.items() if n in self.errors}}
        parts |= self.biases(s, walked)
        self.called.require_finite(s, parts)
        return {n: np.asarray(x)[()] for n, x in parts.items()}, None, np.concatenate([walked, more])


class Mounted(Sensor):
    """A sensor on a link: at a place (3), m, in the link's frame, or with a pose T_LS (4, 4) of its own axes there."""

    def mount(self, link: str, placement: Any) -> None:
        """Take note of where it is."""
        self.link, self.placement = link, placement_pose(self.name, placement)

    @property
    def mounted(self) -> tuple[str, str, Array]:
        return super().mounted[0], self.link, self.placement

    def bind(self, model: Model, dt: float) -> None:
        if "placement" not in vars(self):
            raise SimulationError(f"{self.name} is on no link; expected self.mount(link, placement) in its __init__")
        model.link_index(self.link)
        super().bind(model, dt)

    def pose(self, s: Context) -> Array:
        """Return T_WS (4, 4)."""
        return np.asarray(s.pose(self.link) @ self.placement)

    def twist(self, s: Context) -> Array:
        """Return its twist (6), in its own axes."""
        return se3.twist_to_child(self.placement, s.twist(self.link))

    def place(self, s: Context) -> tuple[Array, Array]:
        """Return its place and velocity (3) from where the world's origin is counted, in world axes."""
        T, V = self.pose(s), self.twist(s)
        r, v = T[:3, 3], T[:3, :3] @ V[3:]
        if s.frame is None:
            return r, v
        r_O, v_O = s.origin
        return r_O + r, v_O + v


def asks_nothing() -> float:
    """Stand in for a law's function, of which a sensor has none."""
    return 0.0


def bare(law: Law) -> Called:
    """Return a law that is bound, and held between ticks."""
    asked = Called(Law(asks_nothing, name=law.name), {}, by_name=True)
    asked.law, asked.ticks, asked.taken = law, True, dict(vars(law))
    return asked


def placement_pose(name: str, placement: Any) -> Array:
    """Return the pose (4, 4) of a sensor on its link: of None that of the link, of a place (3) with the link's axes."""
    if placement is None:
        return np.eye(4)
    a = numbers(f"{name}: placement", placement, SimulationError)
    if a.shape == (3,) and np.isfinite(a).all():
        return se3.pose(np.eye(3), a)
    if a.shape != (4, 4) or not so3.are_rotations(a[:3, :3]) or a[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise SimulationError(f"{name}: placement is {shown(placement)}; expected a place (3), m, or a pose (4, 4) in the link's frame")
    return a


def quantised(y: Any, quantum: Any) -> Any:
    """Return y in whole quanta. A floor's derivative is zero, and that of what is read over many steps is one: this has the latter.

    >>> float(quantised(0.26, 0.1)).__round__(12)
    0.3
    """
    return ops.stop_gradient(ops.floor(y / quantum + 0.5) * quantum) + (y - ops.stop_gradient(y))


def of_numbers(x: Any) -> bool:
    """Return whether a value is a number, or holds numbers alone: neither booleans nor texts, of which NumPy would make numbers.

    >>> of_numbers([1, 2.0]), of_numbers(True), of_numbers("1e-4"), of_numbers([1.0, "2"])
    (True, False, False, False)
    """
    if isinstance(x, (list, tuple)):
        return all(map(of_numbers, x))
    return np.asarray(x).dtype.kind in "iuf"


def require_possible(name: str, what: str, a: Array, given: Any = None) -> None:
    """Refuse numbers of an error that it cannot have."""
    if not may_be(what, a):
        least = "from 0" if what in FROM else "above 0"
        raise SimulationError(f"{name} is {shown(a.tolist() if given is None else given)}; expected numbers {least}")


def may_be(what: str, a: Array) -> Any:
    """Return whether an error may have such numbers. Traceable.

    >>> bool(may_be("noise", np.zeros(3))), bool(may_be("quantum", np.zeros(3))), bool(may_be("bias", -np.ones(3)))
    (True, False, True)
    """
    if what not in (*FROM, *ABOVE):
        return True
    above = ops.less_equal if what in FROM else ops.less
    return functools.reduce(ops.logical_and, [above(0.0, x) for x in np.ravel(a)])


def require_arguments(name: str, make: Any, given: Mapping[str, Any], parts: Sequence[str] = ()) -> None:
    """Refuse arguments by names that a maker of sensors does not take; errors of one that has them by ``parts`` belong in these.

    >>> require_arguments("Gyro", lambda self, link, noise: None, {"nosie": 1e-4})
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: Gyro takes no 'nosie' (did you mean 'noise'?); expected some of link, noise
    """
    takes = [*inspect.signature(make).parameters.values()][1:]
    known = [p.name for p in takes]
    for what in given:
        if what in known or any(p.kind is p.VAR_KEYWORD for p in takes):
            continue
        if parts and (own := next((n for n in OF_VECTORS if n == what or nearest(what, [n], 0.7)), None)):
            each = " or ".join(f"{part}={{'{own}': …}}" for part in parts)
            raise SimulationError(f"{name} takes no '{what}': errors are of its parts; expected {each}")
        raise SimulationError(f"{name} takes no '{what}'{nearest(what, known)}; expected some of {', '.join(known)}")


def with_options(name: str, given: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return errors by name, as a dictionary that a sensor of several parts takes for one of them."""
    if given is not None and not isinstance(given, Mapping):
        raise SimulationError(f"{name} is {shown(given)}; expected errors by name, such as {{'noise': {shown(given)}}}")
    found = dict(given or {})
    for what in found:
        if what not in known:
            raise SimulationError(f"{name} has no error '{what}'{nearest(str(what), known)}; expected some of {', '.join(known)}")
    return found


def direction(name: str, x: Any) -> Array:
    """Return a unit vector (3)."""
    a = numbers(name, x, SimulationError)
    if a.shape != (3,) or not np.linalg.norm(a) > 0.0:
        raise SimulationError(f"{name} is {shown(x)}; expected three numbers, not all zero")
    return a / np.linalg.norm(a)


def angle(name: str, x: Any) -> float:
    """Return an angle between 0 and π, rad."""
    return number(name, x, "an angle from 0 to π, rad", least=0.0, below=np.nextafter(np.pi, 4.0), error=SimulationError)


#: errors that are from 0, and above it
FROM, ABOVE = ("noise", "walk"), ("quantum", "limit")
#: errors that a vector may have
OF_VECTORS = ("noise", "bias", "walk", "scale", "misalignment", "quantum", "limit")
OF_SAMPLES = tuple(n for n in OF_VECTORS if n != "walk")
