"""The interface of components: ``Component.act`` takes a ``Context`` (time, state, kinematics) and returns an ``Effect`` (forces).

A component takes a :class:`Context` and returns an :class:`Effect`. It may have a continuous ``state`` of its own, which is integrated
with the robot's, and a ``memory``, which changes once a step, at its beginning. All of it is traced into the step.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine import dynamics, ops
from engine.checks import EngineError, EngineWarning, Range, nearest, numeric, shown
from engine.model import Model

Array = np.ndarray


#: names of what a simulation records, or keeps as states, besides its components' and signals' own
RECORDED = frozenset(("contacts", "constraints", "inertia", "momentum", "defect", "lasting", "stuck", "struck"))


class SimulationError(EngineError):
    """Raised where a simulation cannot start or go on; ``trajectory`` holds what was recorded until then.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> engine.Simulator(arm, dt=-1.0)
    Traceback (most recent call last):
    ...
    engine.components.component.SimulationError: dt is -1.0; expected a step in seconds greater than zero
    """

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
    """A simulation goes on, or went on, in a way that is hardly what was meant.

    >>> import engine, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", engine.SimulationWarning)           # a doubtful run raises what it would warn of
    """


class NotClosed(SimulationError):
    """Raised on floats where a constraint cannot be kept closed."""


class Beyond(SimulationError):
    """Raised on floats where a table is asked for what it does not have; in machine code that is NaN."""


class NotFinite(SimulationError):
    """Raised where a function of the user's returns what is no number.

    ``wild`` says that its arguments had run away already; ``text`` is the error with its time.
    """

    def __init__(self, name: str, t: float, wild: bool, what: str = "NaN or infinity", where: str = "") -> None:
        super().__init__(f"{name} returned {what}{where}")
        self.wild, self.text = wild, f"{name} returns {what} at t = {round(t, 12):.6g} s"          # at 0 s, just inside the first step


@contextlib.contextmanager
def name_in_errors(name: str, traced: bool = False) -> Iterator[None]:
    """Let what is raised by a function of the user's on floats say whose it is; where it is traced, the user's line is in the traceback."""
    try:
        yield
    except Exception as error:
        if traced or isinstance(error, SimulationError):
            raise
        raise SimulationError(f"{name} raised {type(error).__name__}: {error}") from error


#: the part of a step that poses, twists and Jacobians of links are, in profiles
KINEMATICS = "kinematics"
#: an argument beyond it has run away; coordinates and velocities, SI units, beyond which a run has failed
WILD, AWAY = 1e100, 1e30
#: the mode of a limited force that is within its limits what it asks for
AS_IT_IS = 9.0


def clamp(x: Any, low: Any, top: Any) -> Any:
    """Return x, or the end that it is beyond."""
    return ops.minimum(ops.maximum(x, low), top)


class States(dict[str, Any]):
    """Components' own states by their names; SimulationError for a name that has none."""

    def __init__(self, values: Mapping[str, Any], names: list[str], acting: Iterable[str]) -> None:
        super().__init__(values)
        self.names, self.acting = names, acting

    def __missing__(self, name: str) -> Any:
        expected = f"one of {', '.join(self.names)}, the components that have one" if self.names else (
                   f"a component that has one, as a reaction wheel does, and not {', '.join(self.acting)} alone")  # fmt: skip
        raise SimulationError(f"there is no state of {shown(name)}{nearest(str(name), self.names)}; expected {expected}")


class Felt(NamedTuple):
    """Accelerations and forces at the beginning of a step, before what is commanded now: what acts in flight at the state there, with the
    impulses of the step before, where a record has those of the step to come.

    Attributes
    ----------
    vdot : accelerations (nv), with impulses of the step before as forces over it; zero at t = 0 but for what flies then
    tau : what actuators exert in joints (nv)
    loads : wrenches from outside on the links (nlinks, 6), those of contacts among them, in the links' frames; contacts : of those alone
    """

    vdot: Array
    tau: Array
    loads: Array
    contacts: Array


class NotFelt:
    """Stands for what is felt where a component that is no sensor reads it: each part is an error that says who feels it."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        if part == "vdot" and not self._name:
            raise SimulationError("accelerations follow from what acts, and are known at ticks only; expected a law with a period")
        if part.startswith("_") or part not in Felt._fields:
            raise AttributeError(f"s.felt has no '{part}'; expected one of {', '.join(Felt._fields)}")
        raise SimulationError(f"'{self._name}' reads s.felt.{part}, which sensors alone feel; "
                              f"expected it to read the signal of a sensor with feels = ({part!r},)")  # fmt: skip


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
    parameters : by name; states : the components' own, by their names. Accelerations are not here: they follow from what components do
    modes : how limited forces act during a step that is implicit, by components' names: see :meth:`bounded`
    frame : the :class:`~engine.components.frame.Frame` that carries the world's origin, where it moves
    ground : pose (4, 4) of the ground that the simulation has contacts with, whose z axis is its normal; None without one
    bends : by link, what :meth:`Component.modal` says of those that bend
    signals : what has been said until now of those that make signals, by their names and parts; before : what was said before this tick, of
        those that are read so
    felt : what a sensor feels at the beginning of a step, as it declares; vdot (nv) : accelerations of that
    pulls : the components that pull at all that falls, which :meth:`gravity_at` adds up
    """

    def __init__(self, model: Model, t: Any, q: Array, v: Array, parameters: Mapping[str, Any], gravity: Any,
                 states: Mapping[str, Any], modes: Mapping[str, Any] | None = None, frame: Any = None,
                 bends: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        self.model, self.t, self.q, self.v, self.parameters, self.gravity = model, t, q, v, parameters, gravity
        self.armature, self.states, self.modes, self.frame = model.armature, states, modes or {}, frame
        self.bends = bends or {}
        self.signals: dict[str, Mapping[str, Any]] = {}
        self.before: dict[str, Mapping[str, Any]] = {}
        self.felt: Felt | NotFelt = NotFelt()
        self.ground: Array | None = None
        self.pulls: Sequence[Component] = ()
        self._jacobians: dict[str, Array] = {}

    def weighs(self, link: str) -> Array:
        """Return the inertia (6×6) about a link's origin by which it weighs: of one that bends more than that by which it moves."""
        G = self.model.link(link).inertia
        return G + self.bends[link].hidden if link in self.bends else G

    def bounded(self, name: str, x: Array, low: Array, top: Array, lines: Array | None = None) -> tuple[Array, Array]:
        """Return the forces x (n) of a component within low and top (n), and where they are beyond: 1 above, −1 below, else 0.

        Where ``lines`` (2, n) are given, along which both ends fall to zero with a speed in their own direction, what is beyond is at its
        end (±1), on the line (±2), or at zero (±3).

        Where modes are given they say which forces are at their ends, and which are x, whatever x is (0): in a step that is implicit it is
        the end of the step that decides; or that it is x that does (AS_IT_IS).
        """
        (down, up), none = (low, top) if lines is None else lines, 0.0 * x
        highest, least = (top, low) if lines is None else (clamp(up, none, top), clamp(down, low, none))
        above, below = (1.0, -1.0) if lines is None else (ops.where(ops.less(top, up), 1.0, ops.where(ops.less(up, none), 3.0, 2.0)),
                                                          ops.where(ops.less(down, low), -1.0, ops.where(ops.less(none, down), -3.0, -2.0)))
        beyond = ops.where(ops.less(highest, x), above, ops.where(ops.less(x, least), below, 0.0))
        within = clamp(x, least, highest)
        if name not in self.modes:
            return within, beyond
        mode, said = self.modes[name], x
        for k, (lower, upper) in enumerate([(low, top)] if lines is None else [(low, top), (down, up), (none, none)]):
            said = ops.where(ops.less(k + 0.5, mode), upper, ops.where(ops.less(mode, -k - 0.5), lower, said))
        return ops.where(ops.less(AS_IT_IS - 0.5, mode), within, said), beyond

    @property
    def vdot(self) -> Array:
        """Accelerations (nv) at the beginning of a step, before what is commanded then."""
        return np.asarray(self.felt.vdot)

    def gravity_at(self, place: Array) -> Array:
        """Return the acceleration (3), world axes, of what falls freely at a place (3), relative to the world's origin."""
        g: Any = np.asarray(self.gravity)
        for c in self.pulls:
            g = g + c.pull_at(self, self.states.get(c.name, c.state), place)
        return np.asarray(g)

    @functools.cached_property
    def origin(self) -> tuple[Array, Array]:
        """Position (3), m, and velocity (3), m/s, of the world's origin, in the axes of the frame that carries it."""
        if self.frame is None:
            raise SimulationError("nothing says where the world's origin is; expected a simulator with frame=…, such as a ReferenceOrbit")
        return self.frame.place(self.t, self.states.get(self.frame.name, self.frame.state))

    @functools.cached_property
    def poses(self) -> Array:
        with ops.part(KINEMATICS, self.q):
            return dynamics.forward_kinematics(self.model, self.q)

    @functools.cached_property
    def twists(self) -> Array:
        with ops.part(KINEMATICS, self.q):
            return dynamics.twists(self.model, self.q, self.v)

    def pose(self, link: str) -> Array:
        return self.poses[self.model.link_index(link)]

    def twist(self, link: str) -> Array:
        return self.twists[self.model.link_index(link)]

    def jacobian(self, link: str) -> Array:
        if link not in self._jacobians:
            with ops.part(KINEMATICS, self.q):
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
    commands : to components, by their names, that come after it and have no memory: a controller's effect, which goes to all of them
    flows : the same, of which what several components give to one adds up: what thrusters draw from a tank
    beyond : of its limited forces (as many as its ``bounds``), where they are: see :meth:`Context.bounded`
    inner : by link, what of its wrenches a link and its modes, or what it stores, do to one another: no momentum of both changes by it
    """

    tau: Any = None
    wrenches: dict[str, Any] = field(default_factory=dict)
    rate: Any = None
    signals: dict[str, Any] = field(default_factory=dict)
    commands: dict[str, Any] = field(default_factory=dict)
    flows: dict[str, Any] = field(default_factory=dict)
    beyond: Any = ()
    inner: dict[str, Any] = field(default_factory=dict)

    def require_finite(self, name: str, s: Context, observed: bool = False) -> None:
        """Raise NotFinite where the component of that name does, or where it is observed says, what is no number; on floats."""
        said = {f"NaN or infinity as its signal '{n}'": [x] for n, x in self.signals.items()} if observed else {}
        for what, parts in ({"NaN or infinity": [self.tau, self.rate, *self.wrenches.values()]} | said).items():
            if not all(np.isfinite(np.asarray(x, dtype=float)).all() for x in parts if x is not None):
                raise NotFinite(name, float(s.t), wild=not (np.abs(np.append(s.q, s.v)) <= WILD).all(), what=what)

    def require_numbers(self, name: str) -> None:
        """Refuse what the component of that name returned that is no number."""
        for what, parts in (("wrenches", self.wrenches), ("signals", self.signals), ("commands", self.commands)):
            if not isinstance(parts, Mapping):
                raise SimulationError(f"act of '{name}' returned {shown(parts)} as its {what}; expected a dictionary")
        acts = {"tau": self.tau, "rate": self.rate, **{f"wrench on '{link}'": F for link, F in self.wrenches.items()}}
        said = {f"{what} '{n}'": x for what, parts in (("signal", self.signals), ("command", self.commands)) for n, x in parts.items()}
        for what, x in ({n: x for n, x in acts.items() if x is not None} | said).items():
            try:
                good = numeric(np.asarray(x))
            except ValueError:                                                 # of lists that are no array
                good = False
            if not good:
                raise SimulationError(f"act of '{name}' returned {shown(x)} as its {what}; expected numbers")

    def require_shapes(self, name: str, s: Context, state: Array) -> None:
        """Refuse what the component of that name, whose state (n) is given, returned in other shapes than it acts in."""
        for what, x, shape in (("tau", self.tau, s.v.shape), *((f"wrench on '{link}'", F, (6,)) for link, F in self.wrenches.items())):
            if x is not None and np.shape(x) != shape:
                raise SimulationError(f"act of '{name}' returned a {what} of shape {np.shape(x)}; expected {shape}")
        n = 0 if self.rate is None else np.size(self.rate)
        if n != state.size:
            raise SimulationError(f"act of '{name}' returned a rate of {n} numbers; expected {state.size}, one for each of its state")

    def force(self, s: Context) -> Array:
        """Return its generalized force (nv), of the wrenches too."""
        tau: Any = np.zeros(s.model.nv) if self.tau is None else np.asarray(self.tau)
        for link, F in self.wrenches.items():
            tau = tau + s.jacobian(link).T @ np.asarray(F)
        return np.asarray(tau)

    def power(self, s: Context) -> Any:
        """Return the power at which it does work on the robot, W."""
        total: Any = 0.0
        if self.tau is not None:
            total = total + self.tau @ s.v
        for link, F in self.wrenches.items():
            total = total + F @ s.twist(link)
        return total


class Nothing:
    """Default ``state`` and ``memory`` of components: zeros (0). An array of the class's would fill help() with NumPy's."""

    def __get__(self, component: Any, owner: type) -> Any:
        return self if component is None else np.zeros(0)

    def __repr__(self) -> str:
        return "zeros (0)"


class Component:
    """A force, an actuator or a controller: something that acts on a robot. Subclasses write ``act``, and ``update`` if they have a memory.

    Attributes
    ----------
    name : unique in a simulation: signals are recorded as "name.signal", commands given as ``{"name": …}``
    link : what it is fixed to, where that is one link; rigid : whether what it adds to links leaves them rigid bodies
    keeps : whether all that changes what it :meth:`holds` is its effects' ``inner``, so that the momentum of link and store is one
    state : initial continuous state (n); memory : initial memory (m)
    times : which numbers of the memory are times, s, at first that of the start
    command : shape of the command that it takes from the controller, or None; aims : whether that is where it is to go, so that none is to
        go to zero; bounds : how many of its forces have limits
    steepness : how steeply a limit falls with a velocity, by the velocity's number, N·m·s/rad (N·s/m)
    efforts : by joint, the most that it may exert there, N·m or N
    counts : of its numbers those from 0 that parameters "name.what" may replace
    units : FMI's units of its command or its own signal, "", and of its parts and parameters; of several numbers one for all, or for each
    """

    name: str = ""
    link: str = ""
    rigid: bool = True
    keeps: bool = False
    state: Array = Nothing()  # type: ignore[assignment]
    memory: Array = Nothing()  # type: ignore[assignment]
    times: tuple[int, ...] = ()
    command: tuple[int, ...] | None = None
    units: Mapping[str, str | tuple[str, ...]] = types.MappingProxyType({})
    aims: bool = False
    bounds: int = 0
    steepness: Mapping[int, float] = types.MappingProxyType({})
    efforts: Mapping[str, float] = types.MappingProxyType({})
    counts: tuple[str, ...] = ()

    def bind(self, model: Model, dt: float) -> None:
        """Prepare for a robot before the first step; SimulationError if this does not fit it."""

    def given(self, commands: Mapping[str, Any]) -> Any:
        """Return its own among the controller's commands, or None."""
        return commands.get(self.name)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        """Return what it does; ``command`` is None where the controller gives none."""
        raise NotImplementedError

    def holds(self, s: Context, state: Array) -> Any:
        """Return the angular momentum (3), in world axes, that it stores on its ``link`` besides the bodies'; None: it stores none."""
        return None

    def begun(self, s: Context) -> Array:
        """Return its own state (n) at the beginning of a run, of what the robot does then."""
        return self.state

    def require_parameter(self, what: str, x: Array, shape: tuple[int, ...]) -> None:
        """Refuse values x (..., *shape) of the parameter "name.what" that it cannot have."""
        if what in self.counts and (shape or (x < 0.0).any()):
            given = f"has shape {shape}" if shape else f"is {x.min():g}"
            raise SimulationError(f"parameter '{self.name}.{what}' {given}; expected a number from 0")

    def lacks(self, parameter: str) -> str:
        """Return why it has no parameter of this name that it could have, "" of any other name."""
        return ""

    def possible(self, what: str, x: Array) -> Any:
        """Return whether x (*shape) is a value of the parameter "name.what" that :meth:`require_parameter` takes. Traceable."""
        return ops.less_equal(0.0, x[()]) if what in self.counts else True

    def range_of(self, what: str, parameters: Mapping[str, Array]) -> Range | None:
        """Return the range of each number of the parameter "name.what", beside others; None where they have none each, as a matrix."""
        if what in self.counts:
            return Range(0.0)
        return Range() if type(self).require_parameter is Component.require_parameter else None

    def require_together(self, own: Mapping[str, Array]) -> None:
        """Refuse values (...) of its parameters, by "what", that are possible one by one and not together; rows broadcast."""

    def goes_on(self, s: Context, memory: Array) -> Any:
        """Return the numbers (k) by which its memory goes on from s, where a step begins, for derivatives of steps; None: none do."""
        return None

    def recalled(self, s: Context, numbers: Array) -> Array:
        """Return the memory with which a step begins at s that is known by numbers (k): see :meth:`goes_on`."""
        raise NotImplementedError

    def value(self, s: Context, what: str) -> Any:
        """Return a number of its own: a simulation's parameter "name.what", where there is one, or else its attribute of that name."""
        return s.parameters.get(f"{self.name}.{what}", getattr(self, what))

    def bodies(self, state: Array, rate: Any) -> Mapping[str, tuple[Array, Any]]:
        """Return by link the inertia G (6×6) about the link's origin, in its axes, that it adds in its own state (n), and Ġ at that rate
        (n) of it; where that is None Ġ is not asked for."""
        return {}

    def modal(self, state: Array) -> Mapping[str, Any]:
        """Return by link the :class:`~engine.dynamics.modal_momentum.Bend` of its modes in its own state (n), where it bends."""
        return {}

    def observe(self, s: Context, state: Array, memory: Array, vdot: Array) -> tuple[Any, Mapping[str, Any]]:
        """Return the rate of its own state (n), where that depends on accelerations (nv), and signals that do: asked after all forces are
        known. Its :meth:`act` then returns no rate."""
        return None, {}

    def pull_at(self, s: Context, state: Array, place: Array) -> Any:
        """Return the acceleration (3), world axes, that it gives to all that falls at a place (3): who falls feels no load."""
        return np.zeros(3)

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        """Return the memory for the step of dt that begins now: what :meth:`act` gets all through that step, and where its beginning is
        recorded."""
        return memory
