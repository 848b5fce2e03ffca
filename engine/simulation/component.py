"""Components: all that acts on a robot in a simulation, of one form.

A component takes a :class:`Context` and returns an :class:`Effect`. It may have a continuous ``state`` of its own, which is integrated
with the robot's, and a ``memory``, which changes once a step, at its beginning. All of it is traced into the step.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine import dynamics
from engine.checks import EngineError, EngineWarning, in_order, nearest, numeric, shown
from engine.compiler.trace import name_of, pure
from engine.model import Model

Array = np.ndarray


class SimulationError(EngineError):
    """Raised where a simulation cannot start or go on; ``trajectory`` holds what was recorded until then."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.records: list[Array] = []  # blocks (T, m) until then


class SimulationWarning(EngineWarning):
    """A simulation goes on, or went on, in a way that is hardly what was meant."""


class NotFinite(SimulationError):
    """Raised where a function of the user's returns what is no number.

    ``wild`` says that its arguments had run away already; ``text`` is the error with its time.
    """

    def __init__(self, name: str, t: float, wild: bool, what: str = "NaN or infinity") -> None:
        super().__init__(f"{name} returned {what}")
        self.wild, self.text = wild, f"{name} returns {what} at t = {t:.6g} s"


class Unsolved(SimulationError):
    """Raised on floats where the problem of a step's impulses has no solution that is found."""


#: an argument beyond it has run away
WILD = 1e100


class Context:
    """Time and state of a robot, and what follows from them, computed when it is asked for.

    Attributes
    ----------
    model : with the masses and inertias among the parameters, and the armature of its motors
    t, s; q (nq); v (nv)
    poses : T_WL of all links (nlinks, 4, 4); twists : V_L (nlinks, 6), in the links' own frames
    pose(link), twist(link) : of one
    jacobian(link) : its body Jacobian (6, nv)
    gravity (3); armature (nv) : what motors' rotors add to the joints' inertia
    parameters : by name; states : the components' own, by their names
    """

    def __init__(self, model: Model, t: Any, q: Array, v: Array, parameters: Mapping[str, Any], gravity: Any,
                 states: Mapping[str, Any]) -> None:  # fmt: skip
        self.model, self.t, self.q, self.v, self.parameters, self.gravity = model, t, q, v, parameters, gravity
        self.armature, self.states = model.armature, states
        self._jacobians: dict[str, Array] = {}

    @functools.cached_property
    def poses(self) -> Array:
        return dynamics.forward_kinematics(self.model, self.q)

    @functools.cached_property
    def twists(self) -> Array:
        return dynamics.twists(self.model, self.q, self.v)

    def pose(self, link: str) -> Array:
        return self.poses[self.model.link_index(link)]

    def twist(self, link: str) -> Array:
        return self.twists[self.model.link_index(link)]

    def jacobian(self, link: str) -> Array:
        if link not in self._jacobians:
            self._jacobians[link] = dynamics.jacobian(self.model, self.q, link)
        return self._jacobians[link]


@dataclass
class Effect:
    """The effect of a component on a robot.

    Attributes
    ----------
    tau : generalized forces (nv), or None
    wrenches : by link, [moment; force] in the link's frame about its origin (6)
    rate : of the component's own state
    signals : what is to be recorded, by name; "energy" (J) counts as potential energy in :meth:`Trajectory.energy`, "angular_momentum"
        (3, world axes) in :meth:`Trajectory.momentum`
    commands : to components, by their names: a controller's effect
    """

    tau: Any = None
    wrenches: dict[str, Any] = field(default_factory=dict)
    rate: Any = None
    signals: dict[str, Any] = field(default_factory=dict)
    commands: dict[str, Any] = field(default_factory=dict)

    def power(self, s: Context) -> Any:
        """Return the power at which it does work on the robot, W."""
        total: Any = 0.0
        if self.tau is not None:
            total = total + self.tau @ s.v
        for link, F in self.wrenches.items():
            total = total + F @ s.twist(link)
        return total


class Component:
    """A force, an actuator or a controller: something that acts on a robot. Subclasses write ``act``, and ``update`` if they have a memory.

    Attributes
    ----------
    name : unique in a simulation: signals are recorded as "name.signal", commands given as ``{"name": …}``
    state : initial continuous state (n); memory : initial memory (m)
    command : shape of the command that it takes from the controller, or None
    """

    name: str = ""
    state: Array = np.zeros(0)
    memory: Array = np.zeros(0)
    command: tuple[int, ...] | None = None

    def bind(self, model: Model, dt: float) -> None:
        """Prepare for a robot before the first step; SimulationError if this does not fit it."""

    def given(self, commands: Mapping[str, Any]) -> Any:
        """Return its own among the controller's commands, or None."""
        return commands.get(self.name)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        """Return what it does; ``command`` is None where the controller gives none."""
        raise NotImplementedError

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        """Return the memory for the step of dt that begins now."""
        return memory


#: what functions of the user's may ask for by parameter name, besides t, q, v and the simulation's parameters
OFFERED = ("model", "poses", "twists", "pose", "twist", "jacobian", "gravity", "armature", "states", "state")


class Law:
    """A control law or force with a continuous state of its own, or that is held between ticks.

    Parameters
    ----------
    fn : function of ``t, q, v`` and what else it asks for by name: ``poses``, ``twists`` (of all links), ``pose(link)``, ``twist(link)``,
        ``jacobian(link)``, ``model``, ``gravity``, ``states`` (the components' own, by name), ``state``, and the simulation's parameters
    state : initial value of its own continuous state (n); it then takes ``state`` and returns (result, rate of the state)
    period : s, dt or more; at t = 0, period, 2·period, …, at the beginning of the step that reaches it, its *result* is evaluated, and held
        in between. Its ``state`` is not: its rate is evaluated, and integrated continuously, at every stage of every step. A memory that
        changes at ticks only is that of a :class:`Component`, which ``update`` returns once a step

    >>> integral = Law(lambda t, q, v, state: (-state, q), state=[0.0])
    """

    def __init__(self, fn: Callable[..., Any], state: Any = (), period: float | None = None) -> None:
        if not callable(fn):
            raise SimulationError(f"a Law got {fn!r}; expected a function of (t, q, v)")
        if period is not None and (not isinstance(period, (int, float, np.floating)) or not np.isfinite(period) or period <= 0):
            raise SimulationError(f"{name_of(fn)}: the period is {period!r}; expected seconds greater than zero")
        self.fn, self.period = fn, period
        self.state = np.array(state, dtype=float)
        if self.state.ndim != 1 or not np.isfinite(self.state).all():
            raise SimulationError(f"{name_of(fn)}: the state is {state!r}; expected a vector of finite numbers")

    @property
    def __name__(self) -> str:
        return name_of(self.fn)


class Called:
    """A function of the user's, called by what its parameters are named; its own state and hold are those of a :class:`Law`."""

    def __init__(self, fn: Any, parameters: Mapping[str, Any]) -> None:
        self.law = fn if isinstance(fn, Law) else Law(fn)
        self.fn, self.name = pure(self.law.fn), name_of(self.law.fn)
        if isinstance(self.law.fn, type):
            raise SimulationError(f"{self.name} is a class; expected one of its instances, {self.name}(…)")
        in_order(self.name, self.fn, ("t", "q", "v"), SimulationError)
        try:
            signature = inspect.signature(self.fn)
        except (TypeError, ValueError):  # a builtin without a signature
            self.extra: list[str] = []
            return
        known = [*OFFERED, *parameters]
        names = list(signature.parameters.values())
        positional = [p for p in names if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        starred = any(p.kind is p.VAR_POSITIONAL for p in names)
        if len(positional) < 3 and not starred:
            raise SimulationError(f"{self.name} takes {signature}; expected a function of (t, q, v)")
        self.extra = [p.name for p in positional[3:] if p.default is p.empty or p.name in known]
        for name in self.extra:
            if name not in known:
                raise SimulationError(f"{self.name} asks for '{name}'{nearest(name, known)}; expected some of {', '.join(known)}")
        if len(self.law.state) and "state" not in self.extra:
            raise SimulationError(f"{self.name} has a state of its own and takes {signature}; expected a parameter named state")

    def __call__(self, s: Context, state: Array) -> tuple[Any, Any]:
        """Return the result, and the rate of its own state."""
        extra = {n: s.parameters[n] if n in s.parameters else state if n == "state" else getattr(s, n) for n in self.extra}
        try:
            result = self.fn(s.t, s.q, s.v, **extra)
        except Exception as error:
            if s.q.dtype == object or isinstance(error, SimulationError):  # traced: the user's line is in the traceback
                raise
            raise SimulationError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if not len(self.law.state):
            return result, None
        if not isinstance(result, tuple) or len(result) != 2 or np.shape(result[1]) != self.law.state.shape:
            shape = self.law.state.shape
            raise SimulationError(f"{self.name} returned {type(result).__name__}; expected (result, rate of its state {shape})")
        return result[0], np.asarray(result[1])

    def require_made_for(self, model: Model, components: list[Component]) -> None:
        """Let a ready function refuse a model, or components, other than those that it was made for."""
        if (require := getattr(self.law.fn, "require_made_for", None)) is not None:
            require(model, components)

    def require_finite(self, s: Context, result: Any) -> None:
        """Refuse what is no number, and NaN and infinity where there are numbers; machine code shows them in the records."""
        for x in result.values() if isinstance(result, Mapping) else [result]:
            try:
                good = numeric(a := np.asarray(x))
            except ValueError:                                                 # ragged
                good = False
            if not good:
                raise SimulationError(f"{self.name} returned {shown(x)}; expected numbers")
            if s.q.dtype != object and a.dtype != object and not np.isfinite(a).all():
                raise NotFinite(self.name, float(s.t), wild=not (np.abs(np.append(s.q, s.v)) <= WILD).all())


class Force(Component):
    """A force of the user's: generalized forces (nv), wrenches (nlinks, 6), or wrenches by link {link: (6)}."""

    def __init__(self, fn: Any, name: str, parameters: Mapping[str, Any]) -> None:
        self.called, self.name = Called(fn, parameters), name
        self.state = self.called.law.state
        if self.called.law.period is not None:
            raise SimulationError(f"{self.called.name} is a force with a period; expected one for a controller")

    def bind(self, model: Model, dt: float) -> None:
        self.called.require_made_for(model, [])

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        result, rate = self.called(s, state)
        self.called.require_finite(s, result)
        model = s.model
        if isinstance(result, Mapping):
            wrenches = {}
            for link, F in result.items():
                model.link_index(link)
                wrenches[link] = np.asarray(F)
                if wrenches[link].shape != (6,):
                    raise SimulationError(f"{self.called.name} returned shape {wrenches[link].shape} for link '{link}'; expected (6,)")
            return Effect(wrenches=wrenches, rate=rate)
        f = np.asarray(result)
        if f.shape == (len(model.links), 6):
            return Effect(wrenches={link.name: F for link, F in zip(model.links, f, strict=True)}, rate=rate)
        if f.shape != (model.nv,):
            wanted = f"({model.nv},) or ({len(model.links)}, 6)"
            raise SimulationError(f"{self.called.name} returned shape {f.shape}; expected {wanted} for '{model.name}'")
        return Effect(tau=f, rate=rate)


class Made:
    """A function that another function has made: it is called like it, and pickled by what it was made of."""

    def __init__(self, fn: Callable[..., Any], again: Callable[[], Made]) -> None:
        self.fn, self.again = fn, again
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.fn(*args, **named)

    def __reduce__(self) -> Any:
        return self.again, ()


def remade(make: Callable[..., Callable[..., Any]]) -> Callable[..., Any]:
    """Let the functions that ``make`` returns be pickled: they are made again of the same arguments."""

    @functools.wraps(make)
    def making(*args: Any, **named: Any) -> Made:
        return Made(make(*args, **named), functools.partial(making, *args, **named))

    return making
