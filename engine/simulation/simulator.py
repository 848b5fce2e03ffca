"""The simulator: a model, an integrator, forces, actuators and a controller, compiled into one loop."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.checks import Fixed, memory, path_of, truth, warn, whole
from engine.compiled.robot import Robot, robot_of
from engine.compiler import Program
from engine.components.assembly import assemble, require_acting, with_rotors
from engine.components.component import Component, Interrupted, SimulationError, SimulationWarning
from engine.components.controller import Controller
from engine.components.first_values import with_seeds
from engine.components.frame import Frame
from engine.components.joint_dynamics import mode_of, plan_joint_dynamics
from engine.components.law import Law, Ticking
from engine.components.makers import makers_of
from engine.constraints import Constraint, Prescribed
from engine.contact.many import RowLaws
from engine.dynamics import GRAVITY
from engine.dynamics.momentum_conservation import floating_trees, joined_trees
from engine.integrate import FreeBody, Solution, method_named
from engine.integrate.event import Event
from engine.model import Model
from engine.progress import progress_bar
from engine.simulation.adaptive import run_adaptive
from engine.simulation.assessment import flight
from engine.simulation.checks import checked_count, checked_duration, checked_max_step, checked_step, checked_tolerance, require_list
from engine.simulation.constraints import Constraints
from engine.simulation.contacts import MANY_PAIRS, Contacts, PairByPair
from engine.simulation.diagnosis import ended, failed, failed_as_a_whole, warn_of
from engine.simulation.event_runs import blocks
from engine.simulation.events import Watch
from engine.simulation.impulses import Impulses
from engine.simulation.linearization import Linearization
from engine.simulation.meeting import bound, of_own_steps
from engine.simulation.overlaps import Overlaps
from engine.simulation.parameters import checked_parameters, checked_values, own, require_known, require_read, require_rigid
from engine.simulation.plant import Plant
from engine.simulation.profile import Profile, profiled
from engine.simulation.run_file import record, resume
from engine.simulation.run_loop import Diverged, Failures, collected
from engine.simulation.state import State, require_state
from engine.simulation.step import Step
from engine.simulation.stepper import Stepper
from engine.simulation.surroundings import Kept, as_taken, require_found_again, surroundings
from engine.simulation.trajectory import Trajectory
from engine.simulation.unresolved import Unresolved
from engine.simulation.variable_mass import require_own
from engine.simulation.wires import Diagram, describe_simulator, diagram

Array = NDArray[np.float64]
#: what acts on a robot: a function of what it asks for, or a component
Acting = Callable[..., Any] | Component | Law


class Simulator(Fixed):
    """Steps a model through time: ``Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=fn).run(q0, v0, duration=20.0)``.

    Parameters
    ----------
    dt : step, s
    integrator : name of a method of :mod:`engine.integrate`: "cg4" (order 4), "rkmk4" (with fewer evaluations), "rkmk5", "dqvi" (of a
        single free body), … Of one that is named a warning says where "ros34pw2" flies in its place; None: "cg4", unless something is stiff
    gravity : m/s² in world axes (3)
    controller : a function of ``t, q, v`` that returns generalized forces tau (nv), or a dictionary of commands: "tau", and one for each
        actuator by its name
    forces : functions of ``t, q, v`` that return generalized forces (nv), wrenches (nlinks, 6) on the links in the links' frames, or
        wrenches {link: (6)}; and components of :mod:`engine.components.forces`
    actuators : components of :mod:`engine.components.actuators`: motors, thrusters, reaction wheels
    parameters : numbers and arrays by name, which functions may ask for, and which may differ from rollout to rollout without compiling
        anew. "gravity" counts instead of the gravity, and names of :meth:`engine.Model.with_parameters` instead of the model's numbers:
        "mass.LINK", "center.LINK", "inertia.LINK", "placement.JOINT", "displacement.JOINT", "damping.JOINT", "friction.JOINT",
        "armature.JOINT"; "contact_friction.LINK", contact_static_friction, …torsional_friction, …rolling_friction, …stiffness, …dissipation
        for those of a link's surface, or the ground's, "world" (what sticks rubs no less than what slides); by impulses, if not explicit
    joint_dynamics : how the damping, friction, efforts and limits of the robot's file hold. "auto": damping in flight; stiff stops and dry
        friction as impulses after it (:mod:`engine.contact`): under a share r of its friction a joint creeps at r times 5e-7 rad/s or m/s,
        and its own effort pushes it into a stop by a hundredth of its range at most. Where dampers, springs, servos or laws are too fast
        for dt, the flight is that of "ros34pw2" (:mod:`engine.simulation.stiffness`). "implicit": that anyway, stops as impulses, and speed
        limits, which the others do not hold. "explicit": all in flight as it is, friction smoothed over 1e-3 rad/s or m/s. None: nothing.
        True is "auto", False None. ``print(simulator)`` says what was chosen
    events : functions of ``t, q, v`` that are watched for zeros, or :class:`~engine.integrate.Event`: see :meth:`run`
    constraints : what holds exactly: :class:`engine.Hinge`, Ball, Weld, Slider, Distance, Coupling, Prescribed, and Grip, which closes on
        command. Forces act in flight, with the method's order; "constraints.force", "constraints.error" and "constraints.power" are kept
    conserve_momentum : whether each step ends with the projection of every floating tree onto its momentum, which only loads from outside
        change; without it momentum drifts with the method's order, and that of a body on a floating joint within a tree anyway
    sensors : of :mod:`engine.sensors`, or functions; laws : functions, or :class:`Law`. What they return is a signal: others ask for it by
        its name among their arguments, and it is recorded. They are asked in the order of what they read, each at its own period, phase
        and delay; besides those of other functions they may have any of t, q and v, or none. ``print(simulator)`` lists them
    frame : what carries the world's origin, such as a :class:`engine.space.ReferenceOrbit`: q, v are relative to it, and gravity is what
        differs from its own; beside a uniform gravity, or a ground, it is an error. compiled : False: on floats, a thousand times slower

    Functions are written with NumPy arithmetic and ``engine.ops``. Besides t, q, v they may ask, by the names of their parameters, for
    ``poses``, ``twists``, ``pose(link)``, ``twist(link)``, ``jacobian(link)``, ``model``, ``gravity``, ``states``, and the parameters; in a
    :class:`Law` they may have a continuous state of their own, or be held between ticks. They are traced and compiled into the step, and
    evaluated at every stage. The step and the loop around it are one piece of machine code. A function is called twice when it is traced,
    and must return the same; what it reads besides its arguments (a gain, an attribute) holds as it was then, and a change is an error, at
    the next run or within a tenth of a second of steps: what shall change belongs among the parameters.

    >>> import engine
    >>> stone = engine.load('<mujoco><worldbody><body name="stone"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>')
    >>> Simulator(stone, gravity=(0, 0, -10)).run([1.0, 0, 0, 0, 0, 0, 0], [0.0] * 6, 1.0).q[-1, 6].round(9)
    np.float64(-5.0)
    """

    def __init__(self, model: Model, dt: float = 1e-3, integrator: str | None = None, gravity: ArrayLike = GRAVITY,
                 controller: Acting | None = None, forces: Iterable[Acting] = (), actuators: Iterable[Component] = (),
                 parameters: Mapping[str, ArrayLike] | None = None, joint_dynamics: str | bool | None = "auto",
                 contacts: Contacts | None = None, events: Iterable[Callable[..., Any] | Event] = (), conserve_momentum: bool = True,
                 compiled: bool = True, constraints: Iterable[Constraint] = (), frame: Frame | None = None, sensors: Iterable[Any] = (),
                 laws: Iterable[Callable[..., Any] | Law] = ()) -> None:  # fmt: skip
        self.robot: Robot = robot_of(model, gravity)
        if not model.nv:
            raise SimulationError(f"nothing of '{model.name}' moves; expected a model with joints, or floating_base=True")
        self.model, self.gravity, self.compiled = model, self.robot.gravity, truth("compiled", compiled, SimulationError)
        self.dt, self.method = checked_step(dt), method_named("cg4" if integrator is None else integrator, SimulationError)
        forces, actuators, constraints, sensors, laws = (require_list(*g) for g in (
            ("forces", forces), ("actuators", actuators), ("constraints", constraints), ("sensors", sensors), ("laws", laws)))  # fmt: skip
        brought = with_seeds(parameters or {}, [controller, *forces, *sensors, *laws])
        self.parameters = types.MappingProxyType(checked_parameters(model, brought))
        self._arguments: dict[str, Any] = {
            "dt": dt, "integrator": integrator, "gravity": gravity, "controller": controller, "forces": forces, "actuators": actuators,
            "parameters": dict(self.parameters), "joint_dynamics": joint_dynamics, "contacts": contacts, "constraints": constraints,
            "conserve_momentum": conserve_momentum, "compiled": compiled, "frame": frame, "sensors": sensors, "laws": laws,
        }  # fmt: skip
        require_acting(controller, forces, actuators)
        makers, mode = makers_of(sensors, laws, self.parameters), mode_of(joint_dynamics)
        joints = plan_joint_dynamics(model, self.dt, self.method, mode, forces, self.parameters, actuators)
        exact = Constraints(model, constraints, self.parameters) if constraints else None
        inside = [*joints.components, *([*exact.grippers, *exact.motions] if exact else ())]
        self.components = assemble(model, self.dt, forces, actuators, inside, mode is not None, self.parameters, frame, makers)
        require_own((*self.components, *makers), self.parameters, self.parameters)
        self.armature = (driven := with_rotors(model, self.components)).armature
        keeps = truth("conserve_momentum", conserve_momentum, SimulationError) and self.method.takes is not FreeBody
        self.conserved = floating_trees(driven) if keeps else ()
        self.conserved = joined_trees(driven, self.conserved, exact.loops.joined(grips=False)) if exact else self.conserved
        require_rigid(model, self.conserved, self.parameters)
        self.watch = Watch(events, self.parameters, [c.name for c in makers])
        self._arguments["events"] = self.watch.events
        touch, many, kinds = bound(contacts, driven, self.method, self._arguments, type(self))
        require_known(self.parameters, exact, self.watch.rebounds, touch or many)
        if (control := None if controller is None else Controller(controller, self.parameters, [c.name for c in makers])) is not None:
            control.bind(model, self.dt)
        impulses = Impulses(joints.laws, touch, self.conserved, model.nv, bool(constraints)) if joints.laws or touch else None
        self.plant = Plant(driven, self.gravity, self.components, control, self.parameters, self.conserved, compiled, impulses, exact,
                           makers, *(() if many is None else (many.held,)))  # fmt: skip
        self.method, self.plant.stiffness = flight(self.plant, self.method, self.dt, None if kinds else mode, compiled, bool(integrator))
        self.joint_dynamics = joints.words(self.plant.stiffness)
        self._unresolved = Unresolved(self.plant, self.method, self.dt, compiled)
        if not issubclass(self.plant.kind, self.method.takes):
            moves = f"moves by {n} joints" if (n := len(model.bodies)) > 1 else "has constraints" if exact else "has further states"
            raise SimulationError(f"integrator '{integrator}' is for a single free body; '{model.name}' {moves}; "
                                  "expected another, such as cg4")  # fmt: skip
        self._step = Step(self.plant, self.method, self.watch, self.dt, compiled, kinds, meeting=many)
        self._process = self._step.process
        self._step.trace()
        self._process.record  # noqa: B018                      (traced now: what cannot be compiled is said here)
        kept = Kept(self._read, lambda: Step(self.plant, self.method, self.watch, self.dt, True).process.keys,
                    self._process.keys if compiled else None, "a parameter for what changes from run to run, or a new Simulator",
                    tuple(f"{c.name}: " for c in self._given if type(c).__module__.startswith("engine.components.")))  # fmt: skip
        overlaps = None if touch is None else Overlaps(touch, self.plant.parameters)
        self.stepper = Stepper(self._step, self.values_of, kept, overlaps)
        if compiled or all(type(c).__module__.startswith("engine.") for c in self.components):  # on floats another might read one later
            require_read(model, self.parameters, {*self.plant.read, *(n for c in self.watch.called for n in c.extra)})
        self._made = True

    def _read(self) -> dict[str, Any]:
        """Return what the functions and components of machine code read besides their arguments, now."""
        asked = as_taken([*(c.called for c in self.plant.acting if isinstance(c, Ticking)), *self.watch.called])
        motions = [(c.title, c.motion) for c in self._arguments["constraints"] if isinstance(c, Prescribed)]
        own = [*((f.name, f.law.fn) for f in asked), *motions, *((c.name, c) for c in self._given)]
        return surroundings(own) if self.compiled else {}

    @property
    def _given(self) -> list[Component]:
        """The components that it was made with, of which it has copies."""
        a = self._arguments
        return [c for c in (*a["actuators"], *a["forces"], a["frame"], *a["sensors"]) if isinstance(c, Component)]

    def with_force(self, force: Any, parameters: Mapping[str, Any] | None = None) -> Simulator:
        """Return the same simulator with one more force, and with the parameters that it asks for."""
        forces, known = [*self._arguments["forces"], force], {**self.parameters, **(parameters or {})}
        return Simulator(self.model, **{**self._arguments, "forces": forces, "parameters": known})

    def __reduce__(self) -> Any:
        require_found_again(self.model.name, self._arguments)
        return functools.partial(type(self), **self._arguments), (self.model,)

    def __repr__(self) -> str:
        return describe_simulator(self)

    def __copy__(self, memo: Any = None) -> Simulator:
        return self                                             # a state is what changes, and no part of it

    __deepcopy__ = __copy__

    @property
    def limited(self) -> bool:
        """True if stops hold the joints within their limits."""
        return self.plant.limited

    @property
    def events(self) -> list[Any]:
        """The event functions."""
        return self.watch.called

    @property
    def programs(self) -> dict[str, Program]:
        """The compiled programs: "step" and "observe" (a record); ``print`` shows their texts, and of what they call."""
        return self._step.programs

    # ------------------------------------------------------------ states

    def values_of(self, parameters: Mapping[str, Any]) -> dict[str, Array]:
        """Return values (..., *shape) of some parameters, checked."""
        given = checked_values(self.parameters, parameters, self.plant.makers)
        require_own((*self.components, *self.plant.makers), {**self.parameters, **given}, self.parameters)
        require_rigid(self.model, self.conserved, given)
        self._unresolved.warn_of(given)
        return given

    def start(self, q0: ArrayLike, v0: ArrayLike, parameters: Mapping[str, Any] | None = None) -> State:
        """Return the state at t = 0, for :meth:`step`. Events stop it where they stop a run."""
        self.watch.require_stops("step by step it")
        return State.after(self._step, 0, 0.0, 0, *self.stepper.begin(q0, v0, parameters))

    def step(self, state: State, steps: int = 1, parameters: Mapping[str, Any] | None = None) -> State:
        """Return the state a number of steps later; parameters given here hold from now on; those by which a
        component begins, as "tank.fuel", are refused.

        Where a mass changes, velocities go on as they are.

        >>> import engine
        >>> stone = engine.Builder("stone")
        >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        >>> simulator = Simulator(stone.model(floating_base=True), dt=0.01)
        >>> state = simulator.start([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6))
        >>> round(float(simulator.step(state, 100).v[5]), 9)
        -9.81
        """
        self.stepper.require_unchanged(0.1)
        (x, begun, done), p = require_state(state).resumed(self._step), state.origin.parameters
        if parameters:
            self.stepper.require_later(parameters)
            given, p = self.values_of(parameters), p.copy()
            for name, value in given.items():
                lead = value.shape[: value.ndim - np.ndim(self.parameters[name])]
                try:
                    p[..., self.plant.parameters.slices[name]] = value.reshape(*lead, -1)
                except ValueError:
                    raise SimulationError(f"parameter '{name}' has leading dimensions {lead}; expected none, or those of the state, "
                                          f"{x.shape[:-1]}") from None  # fmt: skip
            if self.conserved and any(own(name) for name in given):
                x, z = x.copy(), self._step.layout.slices["state"]
                x[..., z] = self._step.prepare(p, x, state.t)[..., z]
        count = whole("steps", steps, "a whole number of steps from 1", least=1, error=SimulationError)
        return State.after(self._step, count, begun, done, p, x)

    # ------------------------------------------------------------ running

    @overload
    def run(self, q0: ArrayLike, v0: ArrayLike, duration: float, record_every: int = 1, progress: bool = False,
            parameters: Mapping[str, Any] | None = None, out: None = None, overwrite: bool = False,
            notes: Mapping[str, Any] | None = None) -> Trajectory: ...  # fmt: skip
    @overload
    def run(self, q0: ArrayLike, v0: ArrayLike, duration: float, record_every: int = 1, progress: bool = False,
            parameters: Mapping[str, Any] | None = None, *, out: str | Path, overwrite: bool = False,
            notes: Mapping[str, Any] | None = None) -> Path: ...  # fmt: skip
    def run(self, q0: ArrayLike, v0: ArrayLike, duration: float, record_every: int = 1, progress: bool = False,
            parameters: Mapping[str, Any] | None = None, out: str | Path | None = None, overwrite: bool = False,
            notes: Mapping[str, Any] | None = None) -> Trajectory | Path:  # fmt: skip
        """Simulate from (q0, v0) for ``duration`` seconds and return the states.

        Parameters
        ----------
        q0, v0 : initial state (..., nq) and (..., nv); leading dimensions are a batch of rollouts
        duration : s; a last, shorter step ends it exactly where it is no multiple of dt
        record_every : keep every k-th state (the first and the last are always kept)
        progress : show a bar with the rate and the time left
        parameters : values by name, (..., *shape) for a batch; those of the Simulator by default
        out : an HDF5 file to write the records to while they come, in bounded memory, whole again after a kill at any moment
            (:mod:`engine.recording`); :meth:`resume` goes on with it, :func:`load_trajectory` reads it. Returned is its path
            instead of a Trajectory
        overwrite : whether ``out`` may exist; notes : further entries of its header, such as a seed

        A run ends where one of the Simulator's event functions is zero, at that time to rounding. An event function with an attribute
        ``direction`` > 0 or < 0 counts only where it rises or falls; one with an attribute ``callback`` has it called with (t, q, v), and
        the run goes on if that returns None, or from (q, v) if it returns those (single rollouts only). An
        :class:`~engine.integrate.Event` says the same by its ``direction`` and ``action``. Sampled signals have their zeros at ticks. An
        event has a record of its own, and a second one at the same time if the callback changed the state. After it a shorter step (with
        ticks of what has no period) completes the interrupted one, so that later ones and ``record_every`` stay on the grid. Two zeros of a
        function within one step are not seen. In a batch every rollout stops by itself and stays so; ``trajectory.stopped`` says when. One
        that stops being finite is NaN from there on, while others go on; ``trajectory.failed`` and ``.reason`` say which, and why.

        Raises
        ------
        StateError : the initial state is not what it should be
        SimulationError : the state of a single rollout stopped being finite (names time and joint), or plain Python raised; its
            ``trajectory`` holds the states before, or ``out`` does, as of KeyboardInterrupt where Ctrl-C comes while plain Python runs
        StorageError : ``out`` cannot be written
        """
        duration, record_every = checked_duration(duration, self.dt), checked_count(record_every)
        p, x = self.stepper.begin(q0, v0, parameters)
        if out is not None:
            return record(self._step, path_of(out, SimulationError), p, x, duration, record_every, progress, overwrite, notes or {})
        size = duration / self.dt / record_every * x.size / self._process.n * self._process.record.n * 8
        if size > (there := memory()):
            raise SimulationError(f"{duration:g} s at steps of {self.dt:g} s make {size / 2**30:.3g} GiB of records, and this machine has "
                                  f"{there / 2**30:.3g}; expected a larger record_every, or a file: out='run.h5'")  # fmt: skip
        failures: Failures = {}
        try:
            with progress_bar("simulating", "steps", round(duration / self.dt), progress) as advanced:
                data = collected(blocks(self._step, p, x, self.dt, duration, record_every, 0, failures, at_once=True), advanced)
        except Diverged as stop:
            text = ended(self._step, stop)
            raise SimulationError(text, dataclasses.replace(self._step.trajectory(stop.data, p), reason=text)) from None
        except (SimulationError, Interrupted) as error:
            if error.records:
                found, error.records = self._step.trajectory(np.concatenate(error.records, axis=-2), p), []
                error.trajectory = dataclasses.replace(found, reason=failed_as_a_whole(self._step, failures, x.shape[:-1], str(error)))
            raise
        found = self._step.trajectory(data, p)
        for text in found.warnings:
            warn(text, SimulationWarning)
        why = failed(self._step, failures, x.shape[:-1])
        warn_of(failures, why, f"'{self.model.name}'")
        return dataclasses.replace(found, reason=why)

    def resume(self, path: str | Path, duration: float | None = None, progress: bool = False) -> Path:
        """Go on with a run that was recorded by ``run(..., out=path)`` and interrupted: to the bit as if it had not been.

        What is compiled is known by its program. What runs as plain Python (laws with ``python=True``, the actions of events, and every
        function where ``compiled=False``) is known by a fingerprint, taken when the simulator is made: of its code and constants, defaults,
        the values that it encloses, and the globals that it names (:func:`engine.simulation.surroundings.fingerprint` says more). What such
        a function remembers by itself, or reads from elsewhere, is not recorded.

        Parameters
        ----------
        duration : s from the beginning of the run; what it was to last by default

        Raises
        ------
        SimulationError : the file is of another model, or of a simulator that does something else
        StorageError : it is no recording, or damaged
        """
        self.stepper.require_unchanged()
        return resume(self._step, path_of(path, SimulationError), duration, progress)

    def solve(self, q0: ArrayLike, v0: ArrayLike, duration: float, tolerance: float = 1e-9, events: Iterable[Any] = (),
              max_step: float = np.inf, parameters: Mapping[str, Any] | None = None) -> Solution:  # fmt: skip
        """Return the motion with steps that choose their own size: ``q, v = solution(t)`` at any time t.

        Parameters
        ----------
        q0, v0 : initial state (nq) and (nv)
        tolerance : estimated error of a step, in rad and, relative to 1 + |x|, in the rest; dt is not used. Contacts are followed too
        events : functions ``g(t, q, v)`` whose zeros are located, or :class:`~engine.integrate.Event` without callbacks; as in SciPy, one's
            ``terminal`` ends the motion, and ``direction`` takes zeros where it rises or falls. Of two in a step none is seen: ``max_step``

        Raises
        ------
        SolutionError : no step is small enough; its ``solution`` holds what was found
        SimulationError : something is held from step to step: periods, pulses, grips, Prescribed joints, the simulator's own events

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
        if self._solving is not self:
            return self._solving.solve(q0, v0, duration, tolerance, events, max_step, parameters)
        self._step.require_one_program()
        p, x = self.stepper.begin(q0, v0, parameters)
        return run_adaptive(self._step, p, x, checked_duration(duration), checked_tolerance(tolerance), events, checked_max_step(max_step))

    def diagram(self) -> Diagram:
        """Return a picture (SVG) of sensors, laws (another colour: those that remember), controller and forces, joined by the signals that
        they read; ``save(path)`` writes it. SimulationError where there are no signals."""
        return diagram(self.plant.acting)

    def profile(self, q0: ArrayLike, v0: ArrayLike, duration: float, record_every: int = 1,
                parameters: Mapping[str, Any] | None = None) -> Profile:  # fmt: skip
        """Return where a step's time goes by part, s, in a run from (q0, v0): :class:`~engine.simulation.profile.Profile` shows one."""
        p, x = self.stepper.begin(q0, v0, parameters)
        return profiled(self._step, p, x, checked_duration(duration, self.dt), checked_count(record_every))

    def linearize(self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float | Array = 0.0) -> tuple[Array, Array]:
        """Return A (..., n, n) and B (..., n, nu) of a step about a state: x⁺ + A δx + B δu with δx = (δq, δv, δz), along q ⊕ δq.

        It is exact, of the step that a run from q, v begins with (actuators, controller, contacts, loops in it); of friction in contacts,
        of what passes converge to, of which steps end within 1e-3. z are states of actuators and controllers, and the bristles of
        :class:`~engine.components.lugre.LuGre`, as they begin; laws tick. Readings in quanta count as if they had none.

        Parameters
        ----------
        q, v, t : states (..., nq) and (..., nv), and their times; a batch is one call, as a trajectory's states are
        u : of the simulation's parameter "u" (..., *shape), its value by default; where there is none, generalized forces (..., nv) besides
            all others, zero by default

        Raises
        ------
        SimulationError : events, a controller in plain Python, a state where the step has no derivative
        """
        return self.linearization.discrete(q, v, u, t)

    def linearize_continuous(self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float | Array = 0.0) -> tuple[Array, Array]:
        """Return A (..., 2 nv, 2 nv) and B (..., 2 nv, nu) of the motion: δẋ = A δx + B δu, as :meth:`linearize` of ever shorter steps."""
        return self.linearization.continuous(q, v, u, t)

    @functools.cached_property
    def linearization(self) -> Linearization:
        """The derivatives of its step, compiled when they are first asked for."""
        meeting = self._step.meeting
        return Linearization(self._paired() if meeting is not None and meeting.many <= MANY_PAIRS else self.by_pairs)

    @functools.cached_property
    def by_pairs(self) -> Simulator:
        """Return the simulator with a law for each pair of shapes that may touch, which has derivatives, and code in all formats: itself,
        but where these are so many that they are rows of tables."""
        return self._paired() if isinstance(self.plant.contacts, RowLaws) else self

    def _paired(self) -> Simulator:
        """Return the same with a law for each pair of shapes that may touch."""
        contacts = PairByPair(**vars(self._arguments["contacts"]))
        return Simulator(self.model, **{**self._arguments, "contacts": contacts})

    @functools.cached_property
    def _solving(self) -> Simulator:
        """The simulator whose steps choose their own size, often itself: :func:`~engine.simulation.meeting.of_own_steps`."""
        found: Simulator = of_own_steps(self)
        return found
