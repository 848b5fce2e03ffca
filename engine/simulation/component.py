"""Components: all that acts on a robot in a simulation, of one form.

A component takes a :class:`Context` and returns an :class:`Effect`. It may have a continuous ``state`` of its own, which is integrated
with the robot's, and a ``memory``, which changes once a step, at its beginning. All of it is traced into the step.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine import dynamics
from engine.checks import EngineError, EngineWarning, nearest, shown
from engine.model import Model

Array = np.ndarray


class SimulationError(EngineError):
    """Raised where a simulation cannot start or go on; ``trajectory`` holds what was recorded until then."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.records: list[Array] = []  # blocks (..., T, m) until then
        self.steps = -1                 # that had been done at the last of them; −1 where it is not on the grid


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a function in plain Python ran; it holds what a SimulationError does."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.trajectory: Any = None
        self.records: list[Array] = []
        self.steps = -1


class SimulationWarning(EngineWarning):
    """A simulation goes on, or went on, in a way that is hardly what was meant."""


class NotClosed(SimulationError):
    """Raised on floats where a constraint cannot be kept closed."""


class NotFinite(SimulationError):
    """Raised where a function of the user's returns what is no number.

    ``wild`` says that its arguments had run away already; ``text`` is the error with its time.
    """

    def __init__(self, name: str, t: float, wild: bool, what: str = "NaN or infinity", where: str = "") -> None:
        super().__init__(f"{name} returned {what}{where}")
        self.wild, self.text = wild, f"{name} returns {what} at t = {t:.6g} s"


@contextlib.contextmanager
def named(name: str, traced: bool = False) -> Iterator[None]:
    """Let what is raised by a function of the user's on floats say whose it is; where it is traced, the user's line is in the traceback."""
    try:
        yield
    except Exception as error:
        if traced or isinstance(error, SimulationError):
            raise
        raise SimulationError(f"{name} raised {type(error).__name__}: {error}") from error


#: an argument beyond it has run away
WILD = 1e100


class States(dict[str, Any]):
    """Components' own states by their names; SimulationError for a name that has none."""

    def __init__(self, values: Mapping[str, Any], names: list[str]) -> None:
        super().__init__(values)
        self.names = names

    def __missing__(self, name: str) -> Any:
        expected = f"one of {', '.join(self.names)}" if self.names else "a component that has one, as a reaction wheel does"
        raise SimulationError(f"there is no state of {shown(name)}{nearest(str(name), self.names)}; expected {expected}")


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

    def require_finite(self, name: str, s: Context, observed: bool = False) -> None:
        """Raise NotFinite where the component of that name does, or where it is observed says, what is no number; on floats."""
        said = {f"NaN or infinity as its signal '{n}'": [x] for n, x in self.signals.items()} if observed else {}
        for what, parts in ({"NaN or infinity": [self.tau, self.rate, *self.wrenches.values()]} | said).items():
            if not all(np.isfinite(np.asarray(x, dtype=float)).all() for x in parts if x is not None):
                raise NotFinite(name, float(s.t), wild=not (np.abs(np.append(s.q, s.v)) <= WILD).all(), what=what)

    def power(self, s: Context) -> Any:
        """Return the power at which it does work on the robot, W."""
        total: Any = 0.0
        if self.tau is not None:
            total = total + self.tau @ s.v
        for link, F in self.wrenches.items():
            total = total + F @ s.twist(link)
        return total


class Nothing:
    """What components have as ``state`` and ``memory`` that set none: zeros (0). An array of the class's would fill help() with NumPy's."""

    def __get__(self, component: Any, owner: type) -> Any:
        return self if component is None else np.zeros(0)

    def __repr__(self) -> str:
        return "zeros (0)"


class Component:
    """A force, an actuator or a controller: something that acts on a robot. Subclasses write ``act``, and ``update`` if they have a memory.

    Attributes
    ----------
    name : unique in a simulation: signals are recorded as "name.signal", commands given as ``{"name": …}``
    state : initial continuous state (n); memory : initial memory (m)
    command : shape of the command that it takes from the controller, or None
    """

    name: str = ""
    state: Array = Nothing()  # type: ignore[assignment]
    memory: Array = Nothing()  # type: ignore[assignment]
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
