"""Simulation: a model, an integrator, forces, actuators and a controller, compiled into one loop."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from engine import dynamics, integrate, ops
from engine.checks import nearest
from engine.compiler.gufunc import Gufunc, gufunc
from engine.compiler.trace import Program, TraceError, calling, name_of, trace
from engine.dynamics import GRAVITY
from engine.model import Model, StateError
from engine.simulation.actuators import Drive, Motor
from engine.simulation.checks import (
    checked_array,
    checked_count,
    checked_duration,
    checked_method,
    checked_step,
    checked_tolerance,
    require_countable,
)
from engine.simulation.component import Called, Component, Effect, Force, Law, SimulationError, Situation
from engine.simulation.floating_momentum import MOMENTUM, central_momentum, floats, momentum_rate, require_rigid, with_momentum
from engine.simulation.forces import JointFriction, JointStops
from engine.simulation.parameters import checked_parameters, moving, require_inertial
from engine.simulation.parts import Parts
from engine.simulation.robot import Robot, compile
from engine.simulation.rollout import Diverged, Kernel, bar, blocks, kernel_of, plain_kernel
from engine.simulation.solution import Solution, compiled_attempt, solve
from engine.simulation.storage import Recorder, Recording, aside, require_free
from engine.simulation.trajectory import Trajectory, header_of, marked
from engine.spatial.manifold import product, vector

Array = np.ndarray
#: what a file says of its numbers
CONVENTIONS = ("SI units and radians. Angular first: twists [omega; v], wrenches [moment; force], in the body's own frame. "
               "A floating joint has q = [qw qx qy qz, px py pz] (Hamilton, body to world) and v = [omega; v] of the body in its own axes. "
               "Coordinates follow the tree depth first; see q_entries and v_entries.")  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class State:
    """A robot at one time of a simulation, or a batch of them: what :meth:`Simulator.step` goes on from.

    Attributes
    ----------
    t : s; q (..., nq); v (..., nv); vdot (..., nv); tau (..., nv) : as in a :class:`Trajectory`
    signals : by name
    """

    t: float
    q: Array
    v: Array
    vdot: Array
    tau: Array
    signals: dict[str, Array]
    whole: Array
    steps: int

    def __repr__(self) -> str:
        return f"<state at t = {self.t:g} s: q {self.q.shape}, v {self.v.shape}>"


class Simulator:
    """Steps a model through time: ``Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=fn).run(q0, v0, duration=20.0)``.

    Parameters
    ----------
    dt : step, s
    integrator : name of a method of :mod:`engine.integrate`: "cg4" (order 4), "cf4" and "rkmk4" (order 4, fewer evaluations), "rkmk5",
        "cg3", "implicit_midpoint", … ("dqvi" is for a single free body; see :mod:`engine.integrate.variational` for its limits)
    gravity : m/s² in world axes (3)
    controller : a function of ``t, q, v`` that returns generalized forces tau (nv), or a dictionary of commands: "tau", and one for each
        actuator by its name
    forces : functions of ``t, q, v`` that return generalized forces (nv), wrenches (nlinks, 6) on the links in the links' frames, or
        wrenches {link: (6)}; and components of :mod:`engine.simulation.forces`
    actuators : components of :mod:`engine.simulation.actuators`: motors, thrusters, reaction wheels
    parameters : numbers and arrays by name, which functions may ask for, and which may differ from rollout to rollout without compiling
        anew; "mass.LINK" is a link's mass (its inertia goes with it), "inertia.LINK" its inertia (6×6), "gravity" the gravity
    joint_dynamics : whether the damping, friction, limits and effort of the robot's file hold
    events : functions of ``t, q, v`` that are watched for zeros: see :meth:`run`
    compiled : False runs everything on floats, for functions that cannot be traced: the same lines, a thousand times slower

    Functions are written with NumPy arithmetic and ``engine.ops``. Besides t, q, v they may ask, by the names of their parameters, for
    ``poses``, ``twists``, ``pose(link)``, ``twist(link)``, ``jacobian(link)``, ``model``, ``gravity``, ``states``, and the parameters; in a
    :class:`Law` they may have a continuous state of their own, or be held between ticks. They are traced and compiled into the step, and
    evaluated at every stage. The step and the loop around it are one piece of machine code.
    """

    def __init__(self, model: Model, dt: float = 1e-3, integrator: str = "cg4", gravity: Any = GRAVITY, controller: Any = None,
                 forces: Iterable[Any] = (), actuators: Iterable[Component] = (), parameters: Mapping[str, Any] | None = None,
                 joint_dynamics: bool = True, events: Iterable[Callable[..., Any]] = (), compiled: bool = True) -> None:  # fmt: skip
        self.robot: Robot = compile(model, gravity)
        self.model, self.gravity, self.compiled = model, self.robot.gravity, compiled
        self.dt, self.method = checked_step(dt), checked_method(integrator)
        if self.method.takes == "free body" and [b.kind.name for b in self.model.bodies] != ["floating"]:
            raise SimulationError(f"integrator '{integrator}' is for a single free body; '{model.name}' moves by "
                                  f"{len(self.model.bodies)} joints; expected another, such as cg4")  # fmt: skip
        self.parameters = checked_parameters(model, parameters or {})
        forces, actuators, events = list(forces), list(actuators), list(events)
        self._arguments: dict[str, Any] = {
            "dt": dt, "integrator": integrator, "gravity": gravity, "controller": controller, "forces": forces, "actuators": actuators,
            "parameters": self.parameters, "joint_dynamics": joint_dynamics, "events": events, "compiled": compiled,
        }  # fmt: skip
        for f in (*([controller] if controller is not None else []), *forces):
            if not callable(f) and not isinstance(f, (Component, Law)):
                raise SimulationError(f"a controller or force is {f!r}; expected a function of (t, q, v)")
        for f in actuators:
            if not isinstance(f, Component):
                raise SimulationError(f"an actuator is {f!r}; expected a component of engine.simulation.actuators")
        for f in events:
            if not callable(f):
                raise SimulationError(f"an event is {f!r}; expected a function of (t, q, v)")
        self.controller = None if controller is None else Called(controller, self.parameters)
        self.events = [Called(e, self.parameters) for e in events]
        self._watched = events
        self.components = self._assembled(forces, actuators, joint_dynamics)
        self.armature = np.zeros(model.nv)
        for c in self.components:
            if isinstance(c, Motor):
                self.armature[c.j] += c.armature
        self._floats = floats(model) and self.method.takes != "free body"
        if self._floats:
            for name, x in self.parameters.items():
                require_rigid(name, x)
        memories = {c.name: c.memory.shape for c in self.components if c.memory.size}
        states = {c.name: c.state.shape for c in self.components if c.state.size}
        self._commands = self._command_shapes()
        if self.controller is not None:
            states |= {"controller": self.controller.law.state.shape} if self.controller.law.state.size else {}
            if self.controller.law.period is not None:
                memories |= {"controller tick": (), **{f"controller {n}": s for n, s in self._commands.items()}}
        if self._floats:
            states |= {MOMENTUM: (9,)}
        if self.events:
            memories |= {"event values": (len(self.events),), "stopped": (), "stop time": (), "zeros": (len(self.events),)}
        self._states, self._memories = Parts(states), Parts(memories)
        self._parameters = Parts({n: np.shape(p) for n, p in self.parameters.items()})
        if self.method.takes == "free body" and self._states.n:
            raise SimulationError(f"integrator '{integrator}' is for a body without further states; expected another, such as cg4")
        self._x = Parts({"q": (model.nq,), "v": (model.nv,), "state": (self._states.n,), "memory": (self._memories.n,),
                         "parameters": (self._parameters.n,)})  # fmt: skip
        self._system: Any = None
        if compiled:
            self._step, self._observe = self._programs()
        else:
            self._signals = self._signal_shapes()

    def with_force(self, force: Any, parameters: Mapping[str, Any] | None = None) -> Simulator:
        """The same simulator with one more force, and with the parameters that it asks for."""
        forces, known = [*self._arguments["forces"], force], {**self.parameters, **(parameters or {})}
        return Simulator(self.model, **{**self._arguments, "forces": forces, "parameters": known})

    # ------------------------------------------------------------ what acts

    def _assembled(self, forces: list[Any], actuators: list[Component], joint_dynamics: bool) -> list[Component]:
        """All components, named, and bound to the model."""
        motors = [a for a in actuators if isinstance(a, Motor)]
        found: list[Component] = [*actuators, Drive(motors, joint_dynamics)]
        if joint_dynamics:
            given = [type(f) for f in forces]
            joints = [b.joint for b in self.model.bodies]
            if JointFriction not in given and any(j.damping or j.friction for j in joints):
                found.append(JointFriction())
            if JointStops not in given:
                found.append(JointStops())
        for k, f in enumerate(forces):
            if isinstance(f, Component):
                found.append(f)
            else:
                own = name_of(f)
                found.append(Force(f, own if own not in ("<lambda>", *(c.name for c in found)) else f"force {k + 1}", self.parameters))
        names: set[str] = set()
        for c in found:
            c.bind(self.model, self.dt)
            if not c.name or c.name in names or c.name == "controller":
                raise SimulationError(f"two components are named '{c.name}'; expected unique names (give one name=…)")
            names.add(c.name)
        return [c for c in found if not (isinstance(c, JointStops) and not c.joints)]

    def _command_shapes(self) -> dict[str, tuple[int, ...]]:
        """What the controller returns, by the names of those who take it."""
        if self.controller is None:
            return {}
        model, shapes = self.model, {}

        def probe(t: Any, q: Array, v: Array, z: Array, *p: Any) -> float:
            s = Situation(model, t, q, v, dict(zip(self.parameters, p, strict=True)), self.gravity, self.armature, self._own_states())
            shapes.update({n: np.shape(c) for n, c in self._returned(s, z)[0].items()})
            return 0.0

        z0 = self.controller.law.state
        if self.compiled:
            trace(probe, [(), (model.nq,), (model.nv,), z0.shape, *[np.shape(p) for p in self.parameters.values()]])
        else:
            probe(0.0, model.neutral(), np.zeros(model.nv), z0, *self.parameters.values())
        return shapes

    def _own_states(self) -> dict[str, Array]:
        """The initial states of the components."""
        return {c.name: c.state for c in self.components if c.state.size}

    def _returned(self, s: Situation, z: Array) -> tuple[dict[str, Any], Any]:
        """The controller's commands, checked, and the rate of its state."""
        controller = self.controller
        assert controller is not None
        result, rate = controller(s, z)
        controller.require_finite(s, result)
        commands = dict(result) if isinstance(result, Mapping) else {"tau": result}
        own = [c for c in self.components if c.command is not None and not isinstance(c, Drive)]
        takers = {"tau": (self.model.nv,), **{c.name: c.command for c in own}}
        for name, command in commands.items():
            if name not in takers:
                meant = nearest(str(name), takers)
                raise SimulationError(f"{controller.name} commands '{name}'{meant}; expected some of {', '.join(takers)}")
            commands[name] = np.asarray(command)[()]
            if np.shape(command) != takers[name]:
                raise SimulationError(f"{controller.name} returned shape {np.shape(command)}{'' if name == 'tau' else f' for {name}'}; "
                                      f"expected {takers[name]} for '{self.model.name}'")  # fmt: skip
        return commands, rate

    def _situation(self, t: Any, q: Array, v: Array, z: Array, p: Array) -> Situation:
        """Time and state, with the components' states z and the parameters p as they stand in the whole state."""
        parameters = self._parameters.split(p)
        model, gravity = moving(self.model, self.gravity, parameters)
        return Situation(model, t, q, v, parameters, gravity, self.armature, self._states.split(z))

    def _weighing(self, p: Array) -> Model:
        """The model with the masses and inertias among the parameters."""
        return moving(self.model, self.gravity, self._parameters.split(p))[0]

    def _effects(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array) -> tuple[Situation, dict[str, Effect], Any]:
        """What every component does, and the rate of the controller's state."""
        s, memories = self._situation(t, q, v, z, p), self._memories.split(m)
        commands, rate = self._commanded(s, memories)
        effects = {}
        for c in self.components:
            effects[c.name] = c.act(s, s.states.get(c.name, c.state), memories.get(c.name, c.memory), c.given(commands))
        return s, effects, rate

    def _commanded(self, s: Situation, memories: Mapping[str, Array]) -> tuple[dict[str, Any], Any]:
        """The commands in force, and the rate of the controller's state."""
        if self.controller is None:
            return {}, None
        if self.controller.law.period is not None:
            held = {n: memories[f"controller {n}"] for n in self._commands}
            return held, (self._returned(s, s.states["controller"])[1] if "controller" in s.states else None)
        return self._returned(s, s.states.get("controller", np.zeros(0)))

    def _totals(self, s: Situation, effects: Mapping[str, Effect]) -> tuple[Array, Array | None]:
        """Generalized forces, and wrenches on the links."""
        tau: Any = np.zeros(self.model.nv)
        wrenches: dict[str, Any] = {}
        for e in effects.values():
            if e.tau is not None:
                tau = tau + e.tau
            for link, F in e.wrenches.items():
                wrenches[link] = F if link not in wrenches else wrenches[link] + F
        if not wrenches:
            return tau, None
        return tau, np.array([wrenches.get(link.name, np.zeros(6)) for link in self.model.links])

    def _acceleration(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array) -> tuple[Array, Array]:
        """v̇ (nv), and the rate of the components' states."""
        s, effects, rate = self._effects(t, q, v, z, m, p)
        tau, F = self._totals(s, effects)
        vdot = dynamics.aba(s.model, q, v, tau, s.gravity, F, self.armature if self.armature.any() else None)
        rates = {n: effects[n].rate if n in effects else rate for n in self._states.shapes}
        if self._floats:
            P = self._states.split(z)[MOMENTUM]
            rates[MOMENTUM] = np.concatenate([momentum_rate(s.model, q, tau, s.gravity, F), P[3:6] / dynamics.total_mass(s.model)])
        return vdot, self._states.join(rates)

    # ------------------------------------------------------------ the step

    def _functions(self) -> tuple[Callable[..., Array], Callable[..., Array]]:
        """step(t0, k, dt, x) -> x and observe(t0, k, dt, x) -> record, to be traced or run as they are."""
        model, n = self.model, self._states.n
        acceleration: Callable[..., Any] = self._acceleration
        if self.compiled:  # one function in the machine code, called at every stage
            shapes = [(), (model.nq,), (model.nv,), (n,), (self._memories.n,), (self._parameters.n,)]
            acceleration = calling(trace(acceleration, shapes))
        space = model.manifold if not n else product([model.manifold, vector(n)])

        def plant(m: Array, p: Array) -> integrate.Mechanical:
            """Further states are velocities of coordinates that nobody looks at."""

            def field(t: Any, q: Array, v: Array) -> Array:
                vdot, zdot = acceleration(t, q[: model.nq], v[: model.nv], v[model.nv :], m, p)
                return np.concatenate([vdot, zdot])

            def wrench(t: Any, q: Array, v: Array) -> Array:
                s, effects, _ = self._effects(t, q, v, np.zeros(0), m, p)
                (tau, F), rest = self._totals(s, effects), np.zeros(model.nv)
                return tau - dynamics.rnea(s.model, q, rest, rest, s.gravity, F)

            if self.method.takes != "free body":
                return integrate.Mechanical(space, field)
            active = [c for c in self.components if not isinstance(c, Drive)]
            coasting = self.controller is None and not active and not any(self.gravity) and "gravity" not in self.parameters
            return integrate.Mechanical(space, field, self._weighing(p).bodies[0].inertia,
                                        None if coasting else wrench)  # fmt: skip

        def advanced(t: Any, h: Any, q: Array, v: Array, z: Array, m: Array, p: Array) -> tuple[Array, Array, Array]:
            system = plant(m, p)
            y = np.concatenate([q, np.zeros(n), v, z])
            y = system.space.normalized(integrate.step(self.method, system, t, h, y))
            q, v, z = y[: model.nq], y[model.nq + n : model.nq + n + model.nv], y[model.nq + n + model.nv :]
            if self._floats:
                q, v = with_momentum(self._weighing(p), q, v, self._states.split(z)[MOMENTUM])
            return q, v, z

        def step(t0: Any, k: Any, dt: Any, x: Array) -> Array:
            t, a = t0 + k * dt, self._x.split(x)
            q, v, z, p = a["q"], a["v"], a["state"], a["parameters"]
            m = self._updated(t, dt, q, v, z, a["memory"], p)
            to: tuple[Array, ...] = advanced(t, dt, q, v, z, m, p)
            if self.events:
                to, m = self._stopped(advanced, t, dt, (q, v, z), to, m, p)
            return np.concatenate([*to, m, p])

        def observe(t0: Any, k: Any, dt: Any, x: Array) -> Array:
            t, a = t0 + k * dt, self._x.split(x)
            q, v, z, p = a["q"], a["v"], a["state"], a["parameters"]
            m = self._updated(t, dt, q, v, z, a["memory"], p)
            s, effects, _ = self._effects(t, q, v, z, m, p)
            vdot, _ = acceleration(t, q, v, z, m, p)
            signals = self._observed(s, effects, vdot)
            self._signals = Parts({name: np.shape(y) for name, y in signals.items()})
            return np.concatenate([np.array([t]), x, self._signals.join(signals)])

        self._system = plant
        return step, observe

    def _observed(self, s: Situation, effects: Mapping[str, Effect], vdot: Array) -> dict[str, Any]:
        """What is recorded besides the state: accelerations, the actuators' forces, powers and signals."""
        driven = [effects[c.name].tau for c in self.components if isinstance(c, (Drive, Motor))]
        signals: dict[str, Any] = {"vdot": vdot, "tau": sum(driven[1:], driven[0])}
        for name, e in effects.items():
            signals[f"{name}.power"] = e.power(s)
            signals |= {f"{name}.{n}": y for n, y in e.signals.items()}
        return signals

    def _signal_shapes(self) -> Parts:
        _, observe = self._functions()
        x = self._start(self.model.neutral(), np.zeros(self.model.nv), {})
        observe(0.0, 0.0, self.dt, x)
        return self._signals

    def _updated(self, t: Any, dt: Any, q: Array, v: Array, z: Array, m: Array, p: Array) -> Array:
        """Memories for the step that begins at t: held commands at their ticks, and what the components remember."""
        if not self._memories.n:
            return m
        s, memories = self._situation(t, q, v, z, p), self._memories.split(m)
        if self.controller is not None and (period := self.controller.law.period) is not None:
            tick = t >= memories["controller tick"] - 1e-9 * period
            fresh, _ = self._returned(s, s.states.get("controller", np.zeros(0)))
            for name, command in fresh.items():
                memories[f"controller {name}"] = ops.where(tick, command, memories[f"controller {name}"])
            memories["controller tick"] = ops.where(tick, memories["controller tick"] + period, memories["controller tick"])
        commands, _ = self._commanded(s, memories)
        for c in self.components:
            if c.memory.size:
                memories[c.name] = c.update(s, s.states.get(c.name, c.state), memories[c.name], c.given(commands), dt)
        return self._memories.join(memories)

    def _stopped(self, advanced: Callable[..., Any], t: Any, h: Any, before: tuple[Array, ...], after: tuple[Array, ...], m: Array,
                 p: Array) -> tuple[tuple[Array, ...], Array]:  # fmt: skip
        """The state where the first event function is zero, if one is in this step; from then on it stays."""
        memory = self._memories.split(m)
        values, stopped = memory["event values"], ops.logical_not(ops.equal(memory["stopped"], 0.0))

        def crossed(s: Any, y: tuple[Array, ...]) -> tuple[list[Any], Array]:
            now = self._event_values(t + s, y[0], y[1], y[2], p)
            return [crosses(e, a, b) for e, a, b in zip(self._watched, values, now, strict=True)], now

        def either(conditions: list[Any]) -> Any:
            result: Any = conditions[0]
            for c in conditions[1:]:
                result = ops.logical_or(result, c)
            return result

        found, now = crossed(h, after)
        hit = ops.logical_and(either(found), ops.logical_not(stopped))

        def halve(bracket: Array) -> tuple[Array, Any]:
            low, high = bracket
            middle = 0.5 * (low + high)
            there = either(crossed(middle, advanced(t, middle, *before, m, p))[0])
            bracket = ops.array([ops.where(there, low, middle), ops.where(there, middle, high)])
            return bracket, bracket[1] - bracket[0] <= 1e-13 * h

        bracket, _ = ops.while_loop(halve, ops.array([0.0 * h, 1.0 * h]), 60, done=ops.logical_not(hit))
        at = advanced(t, bracket[1], *before, m, p)
        zeros = ops.array([ops.where(c, 1.0, 0.0) for c in crossed(bracket[1], at)[0]])
        to = tuple(ops.where(stopped, b, ops.where(hit, e, a)) for b, e, a in zip(before, at, after, strict=True))
        memory["event values"] = ops.where(ops.logical_or(stopped, hit), values, now)
        memory["stop time"] = ops.where(hit, t + bracket[1], memory["stop time"])
        memory["zeros"] = ops.where(hit, zeros, memory["zeros"])
        memory["stopped"] = ops.where(hit, 1.0, memory["stopped"])
        return to, self._memories.join(memory)

    def _event_values(self, t: Any, q: Array, v: Array, z: Array, p: Array) -> Array:
        s, values = self._situation(t, q, v, z, p), []
        for e in self.events:
            value = e(s, np.zeros(0))[0]
            if np.shape(value) != ():
                raise SimulationError(f"the event function {e.name} returned shape {np.shape(value)}; expected a number")
            values.append(value)
        return ops.array(values)

    def _programs(self) -> tuple[Program, Program]:
        step, observe = self._functions()
        shapes = [(), (), (), (self._x.n,)]
        return trace(step, shapes), trace(observe, shapes)

    # ------------------------------------------------------------ running

    def values_of(self, parameters: Mapping[str, Any]) -> dict[str, Array]:
        """Values (..., *shape) of some parameters, checked."""
        given = {}
        for name, x in parameters.items():
            if name not in self.parameters:
                raise SimulationError(f"no parameter '{name}'{nearest(name, self.parameters)}; expected some of "
                                      f"{', '.join(self.parameters) or '(none: give parameters to the Simulator)'}")  # fmt: skip
            given[name] = checked_array(f"parameter '{name}'", x)
            shape = np.shape(self.parameters[name])
            if given[name].shape[given[name].ndim - len(shape) :] != shape:
                raise SimulationError(f"parameter '{name}' has shape {given[name].shape}; expected (..., {', '.join(map(str, shape))})")
            require_inertial(name, given[name])
            if self._floats:
                require_rigid(name, given[name])
        return given

    def _start(self, q0: Array, v0: Array, parameters: Mapping[str, Any]) -> Array:
        """The whole state x (..., n) at t = 0."""
        q0, v0 = self.model.normalized(q0), self.model.checked("v0", v0, batched=True)
        given = self.values_of(parameters)
        values = {n: given.get(n, p) for n, p in self.parameters.items()}
        leading = [q0.shape[:-1], v0.shape[:-1], *[np.shape(x)[: np.ndim(x) - np.ndim(self.parameters[n])] for n, x in values.items()]]
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            shapes = f"q0 {q0.shape}, v0 {v0.shape} and parameters"
            raise SimulationError(f"{shapes} do not broadcast; expected equal leading dimensions") from None

        def wide(x: Any, core: tuple[int, ...]) -> Array:
            return np.broadcast_to(x, (*batch, *core)).reshape(*batch, -1)

        states = self._own_states()
        if self.controller is not None and self.controller.law.state.size:
            states["controller"] = self.controller.law.state
        memories = {n: np.zeros(s) for n, s in self._memories.shapes.items()} | {c.name: c.memory for c in self.components if c.memory.size}
        if self._floats:
            states[MOMENTUM] = np.zeros(9)
        parts = [wide(q0, (self.model.nq,)), wide(v0, (self.model.nv,)), wide(self._states.join(states), (self._states.n,)),
                 wide(self._memories.join(memories), (self._memories.n,)),
                 *[wide(values[n], np.shape(p)) for n, p in self.parameters.items()]]  # fmt: skip
        x = np.concatenate(parts, axis=-1)
        if not self._floats and not self.events:
            return x
        return self._prepare(x) if self.compiled else self._prepared(x)

    @functools.cached_property
    def _prepare(self) -> Gufunc:
        return gufunc(self._prepared, f"({self._x.n})->({self._x.n})")

    def _prepared(self, x: Array) -> Array:
        """The whole state with what its q and v make of the momentum and of the event functions."""
        a = self._x.split(x)
        states, memories = self._states.split(a["state"]), self._memories.split(a["memory"])
        if self._floats:
            states[MOMENTUM] = central_momentum(self._weighing(a["parameters"]), a["q"], a["v"])
        if self.events:
            memories["event values"] = self._event_values(0.0, a["q"], a["v"], self._states.join(states), a["parameters"])
        return self._x.join({**a, "state": self._states.join(states), "memory": self._memories.join(memories)})

    def _kernel(self, batch: tuple[int, ...]) -> Kernel:
        if self.compiled:
            return kernel_of(self._step, self._observe, batch)
        if batch:
            raise SimulationError(f"a batch {batch} with compiled=False; expected one rollout")
        return plain_kernel(*(self._placed(f) for f in self._functions()))

    def _placed(self, f: Callable[..., Array]) -> Callable[..., Array]:
        """A step or observation whose errors say where they happened."""

        def placed(t0: float, k: float, dt: float, x: Array) -> Array:
            try:
                return f(t0, k, dt, x)
            except ValueError as error:
                a = self._x.split(x)
                q, v = (np.array2string(y, precision=6, threshold=20) for y in (a["q"], a["v"]))
                raise SimulationError(f"{error}, in the step from t = {t0 + k * dt:.6g} s, q = {q}, v = {v}") from error

        return placed

    def start(self, q0: Array, v0: Array, parameters: Mapping[str, Any] | None = None) -> State:
        """The state at t = 0, for :meth:`step`."""
        return self._at(self._start(q0, v0, parameters or {}), 0, 0)

    def step(self, state: State, steps: int = 1, parameters: Mapping[str, Any] | None = None) -> State:
        """The state a number of steps later; parameters given here hold from now on (velocities go on as they are where a mass changes).

        >>> import engine
        >>> stone = engine.Builder("stone")
        >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        >>> simulator = Simulator(stone.model(floating_base=True), dt=0.01)
        >>> state = simulator.start([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6))
        >>> round(float(simulator.step(state, 100).v[5]), 9)
        -9.81
        """
        return self._at(self._changed(state.whole, parameters) if parameters else state.whole, state.steps, checked_count(steps))

    def _changed(self, x: Array, parameters: Mapping[str, Any]) -> Array:
        """The whole state x (..., n) with other parameters."""
        given, x = self.values_of(parameters), x.copy()
        of_parameters = x[..., self._x.slices["parameters"]]
        for name, value in given.items():
            lead = value.shape[: value.ndim - len(self._parameters.shapes[name])]
            try:
                of_parameters[..., self._parameters.slices[name]] = value.reshape(*lead, -1)
            except ValueError:
                expected = f"none, or those of the state, {x.shape[:-1]}"
                raise SimulationError(f"parameter '{name}' has leading dimensions {lead}; expected {expected}") from None
        if self._floats and any(name.startswith(("mass.", "inertia.")) for name in given):
            state = self._x.slices["state"]
            x[..., state] = (self._prepare(x) if self.compiled else self._prepared(x))[..., state]
        return x

    def _at(self, x: Array, done: int, steps: int) -> State:
        kernel = self._kernel(x.shape[:-1])
        with np.errstate(all="ignore"):
            data = kernel(np.array([float(steps)]), 0.0, float(done), self.dt, x)
        if not np.isfinite(data).all():
            column = int(np.argwhere(~np.isfinite(data))[0][-1])
            stop = Diverged(data[..., :0, :], (done + steps) * self.dt, column)
            raise SimulationError(self._diverged(stop, stop.data, x))
        one = {n: np.take(y, 0, axis=x.ndim - 1) for n, y in self._columns(data).items()}
        q, v, vdot, tau = (one.pop(n) for n in ("q", "v", "vdot", "tau"))
        return State(float(data.flat[0]), q, v, vdot, tau, one, data[..., 0, 1 : 1 + self._x.n], done + steps)

    def run(self, q0: Array, v0: Array, duration: float, record_every: int = 1, progress: bool = False,
            parameters: Mapping[str, Any] | None = None, out: str | Path | None = None, overwrite: bool = False,
            notes: Mapping[str, Any] | None = None) -> Any:  # fmt: skip
        """Simulate from (q0, v0) for ``duration`` seconds and return the states.

        Parameters
        ----------
        q0, v0 : initial state (..., nq) and (..., nv); leading dimensions are a batch of rollouts
        duration : s; a last, shorter step ends it exactly where it is no multiple of dt
        record_every : keep every k-th state (the first and the last are always kept)
        progress : show a bar with the rate and the time left
        parameters : values by name, (..., *shape) for a batch; those of the Simulator by default
        out : an HDF5 file to write the records to while they come, in bounded memory, whole again after a kill at any moment
            (:mod:`engine.simulation.storage`); :meth:`resume` goes on with it, :func:`load_trajectory` reads it. Returned is its path
            instead of a Trajectory
        overwrite : whether ``out`` may exist; notes : further entries of its header, such as a seed

        A run ends where one of the Simulator's event functions is zero, at that time to rounding. An event function with an attribute
        ``direction`` > 0 or < 0 counts only where it rises or falls; one with an attribute ``callback`` has it called with (t, q, v), and
        the run goes on if that returns None, or from (q, v) if it returns those (single rollouts only). An event has a record of its own,
        and a second one at the same time if the callback changed the state. The step in which it is ends where it would have ended: from
        the event to there it is one shorter step. Steps and ``record_every`` go on from there as if there had been no event. In a batch
        every rollout stops by itself and stays as it is; ``trajectory.stopped`` says when.

        Raises
        ------
        StateError : the initial state is not what it should be
        SimulationError : the state stopped being finite (names time and joint; its ``trajectory`` holds the states before, or ``out`` does)
        StorageError : ``out`` cannot be written
        """
        duration, record_every = checked_duration(duration), checked_count(record_every)
        require_countable(duration, self.dt)
        x = self._start(q0, v0, parameters or {})
        size = duration / self.dt / record_every * x.size / self._x.n * (1 + self._x.n + self._signals.n) * 8
        if out is None and size > (there := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
            raise SimulationError(f"{duration:g} s at steps of {self.dt:g} s make {size / 2**30:.3g} GiB of records, and this machine has "
                                  f"{there / 2**30:.3g}; expected a larger record_every, or a file: out='run.h5'")  # fmt: skip
        if out is not None:
            require_free(Path(out), overwrite)                  # said before anything is computed

            def begin() -> Recorder:
                batch, n = x.shape[:-1], self._x.n
                header = self._header(duration, record_every, self._own_parameters(x), notes or {})
                header["x0"] = base64.b64encode(x.astype("<f8").tobytes()).decode()  # for a run that is killed before its first block
                checkpoint = {"x": (*batch, n), "steps": (), "finished": ()} | ({"stopped": batch} if self.events and batch else {})
                return Recorder.create(out, self._stored_columns(batch), batch, header, checkpoint, overwrite)

            return self._record(Path(out), begin, x, duration, record_every, 0, progress)
        found: list[Array] = []
        try:
            with bar(round(duration / self.dt), progress) as advanced:
                for new, done in self._blocks(x, duration, record_every):
                    found.append(new)
                    advanced(done)
        except Diverged as stop:
            data = np.concatenate([*found, stop.data], axis=-2)
            raise SimulationError(self._diverged(stop, data, x), self._trajectory(data, x)) from None
        except SimulationError as error:
            if found := [*found, *[np.array(error.records)] * bool(error.records)]:
                error.trajectory = self._trajectory(np.concatenate(found, axis=-2), x)
            raise
        return self._trajectory(np.concatenate(found, axis=-2), x)

    # ------------------------------------------------------------ on disk

    def resume(self, path: str | Path, duration: float | None = None, progress: bool = False) -> Path:
        """Go on with a run that was recorded by ``run(..., out=path)`` and interrupted: to the bit as if it had not been.

        Parameters
        ----------
        duration : s from the beginning of the run; what it was to last by default

        Raises
        ------
        SimulationError : the file is of another model, or of a simulator that does something else
        StorageError : it is no recording, or damaged
        """
        with Recording.open(path) as recording:
            header, checkpoint, batch = recording.header, recording.checkpoint(), recording.batch
            finished = recording.complete or (bool(checkpoint) and bool(checkpoint["finished"]))
        own = self._header(header.get("duration", 0.0), header.get("record_every", 1), {}, {})
        for what in ("model_hash", "integrator", "dt", "gravity", "program"):
            if header.get(what) != own[what]:
                known = {"model_hash": "another model", "program": "other functions, forces or actuators"}
                text = known.get(what, f"{what} {header.get(what)!r}, not {own[what]!r}")
                raise SimulationError(f"'{path}' was recorded with {text}; expected the simulator that began it")
        longer = duration is not None and checked_duration(duration) > header["duration"]
        if finished and not longer:
            Recorder.resume(path).close(True)
            return Path(path)
        wanted = checked_duration(duration if duration is not None else header["duration"])
        require_countable(wanted, self.dt)
        steps = float(checkpoint["steps"]) if checkpoint else 0.0
        if steps < 0 or (finished and steps % int(header["record_every"])):
            raise SimulationError(f"'{path}' ended by an event, diverged, or ended between records; expected a run that ended on its grid")
        if steps * self.dt >= wanted - 1e-6 * self.dt and checkpoint:
            return Path(path)
        if not checkpoint:
            if "x0" not in header:
                raise SimulationError(f"'{path}' holds no state to go on from; expected a recording of run(out=…)")
            x = np.frombuffer(base64.b64decode(header["x0"]), "<f8").astype(float).reshape(*batch, self._x.n)
            checkpoint = {"x": x, "steps": np.array(0.0)}
        return self._record(Path(path), lambda: Recorder.resume(path, header={"duration": wanted}), checkpoint["x"], wanted,
                            int(header["record_every"]), int(checkpoint["steps"]), progress)  # fmt: skip

    def _record(self, path: Path, begin: Callable[[], Recorder], x: Array, duration: float, record_every: int, start: int,
                progress: bool) -> Path:  # fmt: skip
        """Blocks to disk, which a thread writes while the next ones are computed."""

        def write(found: list[Array], steps: int, finished: bool) -> None:
            """Records, and what a run goes on from: the last of them, after so many steps (−1: there is no going on)."""
            if sum(new.shape[-2] for new in found):
                add(functools.partial(self._stored, found, steps, finished))

        with aside(begin) as add, bar(round(duration / self.dt), progress, start) as advanced:
            held: list[Array] = []
            try:
                for new, done in self._blocks(x, duration, record_every, start):
                    held.append(new)
                    if done >= 0:
                        write(held, done, done * self.dt >= duration - 1e-6 * self.dt)
                        held = []
                    advanced(done)
                write(held, -1, True)
            except Diverged as stop:
                write([*held, stop.data], -1, True)
                text = f"{self._diverged(stop, stop.data, x)} (recorded until then in '{path}')"
                raise SimulationError(text) from None
            except SimulationError as error:
                write([*held, *[np.array(error.records)] * bool(error.records)], -1, True)
                raise SimulationError(f"{error} (recorded until then in '{path}')") from error
        return path

    def _stored_columns(self, batch: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        states = {f"{n}.state": s for n, s in self._states.shapes.items() if n != MOMENTUM}
        zeros = {"events": (len(self.events),)} if self.events and not batch else {}
        return {"t": (), "q": (self.model.nq,), "v": (self.model.nv,), **self._signals.shapes, **states, **zeros}

    def _stored(self, found: list[Array], steps: int, finished: bool) -> tuple[dict[str, Array], dict[str, Any]]:
        """Columns of records (..., T, m), time first, and what a run goes on from after so many steps (−1: there is no going on)."""
        data = np.concatenate(found, axis=-2) if len(found) > 1 else found[0]
        columns = {n: np.moveaxis(a, data.ndim - 2, 0) for n, a in self._columns(data).items()}
        checkpoint: dict[str, Any] = {"x": data[..., -1, 1 : 1 + self._x.n], "steps": float(steps), "finished": float(finished)}
        if self.events and data.ndim == 2:
            columns["events"] = self._memory(data)["zeros"]
        elif self.events:
            checkpoint["stopped"] = self._stop_times(checkpoint["x"])
        return {"t": times(data), **columns}, checkpoint

    def _header(self, duration: float, record_every: int, parameters: Mapping[str, Array], notes: Mapping[str, Any]) -> dict[str, Any]:
        """What a file says of how it came about."""
        program = hashlib.sha256(f"{self._step.key}{self._observe.key}".encode()).hexdigest() if self.compiled else "not compiled"
        return {
            "engine": version("articulated-engine"), "numpy": np.__version__, "llvmlite": version("llvmlite"),
            "python": platform.python_version(),
            "machine": platform.machine(), **header_of(self.model, self.gravity, tuple(self.armature.tolist()), parameters),
            "conventions": CONVENTIONS, "integrator": self.method.name,
            "dt": self.dt, "duration": duration, "record_every": record_every, "program": program,
            "components": [c.name for c in self.components], "event_names": [e.name for e in self.events],
            "parameters": {n: np.asarray(p).tolist() for n, p in self.parameters.items()}, **notes,
        }  # fmt: skip

    def _blocks(self, x: Array, duration: float, record_every: int, start: int = 0) -> Iterator[tuple[Array, int]]:
        """Records a block at a time, and the steps done by its end, −1 where a run could not go on from there as if nothing had been.

        A single rollout ends at its event, or goes on as its callback says.
        """
        kernel = self._kernel(x.shape[:-1])
        if not self.events or x.ndim > 1:
            for new, done in blocks(kernel, x, self.dt, duration, record_every, start):
                yield new, done
                if self.events and self._memory(new[..., -1, :])["stopped"].all():
                    return
            return
        while True:
            stop = None
            for new, done in blocks(kernel, x, self.dt, duration, record_every, start):
                stopped = self._memory(new)["stopped"] > 0
                if not stopped.any():
                    yield new, done
                    continue
                first = int(np.argmax(stopped))
                if first:
                    yield new[:first], -1
                stop = new[first, 1 : 1 + self._x.n].copy()
                break
            if stop is None:
                return
            for _ in range(1000):  # events in one step
                t = float(self._memory(stop, 0)["stop time"])
                found = kernel(np.zeros(1), t, 0.0, self.dt, stop)
                yield found, -1
                if not self._goes_on(t, stop):
                    return
                jump = slice(0, self._x.slices["state"].start)
                if (stop[jump] != found[0, 1:][jump]).any():
                    yield kernel(np.zeros(1), t, 0.0, self.dt, stop), -1
                start = int(np.floor(t / self.dt + 1e-9)) + 1
                whole = start * self.dt <= duration + 1e-6 * self.dt
                end = start * self.dt if whole else duration
                if duration - t <= 1e-12 * self.dt:
                    return
                rest = kernel(np.ones(1), t, 0.0, end - t, stop)
                x = stop = rest[-1, 1 : 1 + self._x.n].copy()
                if not self._memory(stop, 0)["stopped"]:
                    break
            else:
                name = self.events[int(np.argmax(self._memory(stop, 0)["zeros"]))].name
                raise SimulationError(f"{name} has a thousand zeros in a step at t = {t:.6g} s; expected a callback that makes them end")
            over = end >= duration - 1e-6 * self.dt
            if over or start % record_every == 0:
                rest[:, 0] = end
                yield rest, start if whole else -1
            if over:
                return

    def _goes_on(self, t: float, x: Array) -> bool:
        """Ask the callbacks of the events at t, and make of x (n) the state to go on from; whether they all want that."""
        a = self._x.split(x)
        memory, q, v = self._memories.split(a["memory"]), a["q"].copy(), a["v"].copy()
        at = self._event_values(t, q, v, a["state"], a["parameters"])
        zeros, on = np.flatnonzero(memory["zeros"]), True
        for i in zeros:
            callback = getattr(self._watched[i], "callback", None)
            answer = False if callback is None else callback(t, q.copy(), v.copy())
            if answer is False:
                on = False
            elif answer is not None:
                if not isinstance(answer, (tuple, list)) or len(answer) != 2:
                    raise SimulationError(f"the callback of {self.events[i].name} returned {answer!r}; expected None, False or (q, v)")
                q, v = self.model.normalized(answer[0]), self.model.checked("v", answer[1])
        a["q"][:], a["v"][:] = q, v
        if self._floats:
            self._states.split(a["state"])[MOMENTUM][:] = central_momentum(self._weighing(a["parameters"]), q, v)
        fresh = self._event_values(t, q, v, a["state"], a["parameters"])
        for i in zeros:  # still at its zero: it does not count again
            fresh[i] = 0.0 if abs(fresh[i]) <= abs(at[i]) else fresh[i]
        memory["event values"][:] = fresh
        for name in ("stopped", "zeros"):
            a["memory"][self._memories.slices[name]] = 0.0
        return on

    def _memory(self, records: Array, first: int = 1) -> dict[str, Array]:
        """The memories in records (..., m), or in whole states (..., n), which begin at entry 0."""
        return self._memories.split(self._x.split(records[..., first : first + self._x.n])["memory"])

    def _stop_times(self, x: Array) -> Array:
        """When each rollout stopped (...), infinite where it did not, from the whole state x (..., n)."""
        memory = self._memory(x, 0)
        return np.where(memory["stopped"] > 0, memory["stop time"], np.inf)

    def solve(self, q0: Array, v0: Array, duration: float, tolerance: float = 1e-9, events: Iterable[Callable[..., Any]] = (),
              max_step: float = np.inf, parameters: Mapping[str, Any] | None = None) -> Solution:  # fmt: skip
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
        x0 = self._start(q0, v0, parameters or {})
        if x0.ndim != 1:
            raise StateError(f"q0 has shape {np.shape(q0)}; expected ({self.model.nq},): an adaptive run takes one state")
        if self._memories.n:
            raise SimulationError("something is held from step to step (a period, pulses, events of run); expected run, at fixed steps")
        if not self.compiled:
            raise SimulationError("an adaptive run is compiled; expected a Simulator without compiled=False")
        a, nq, nv, n = self._x.split(x0), self.model.nq, self.model.nv, self._states.n
        y0 = np.concatenate([a["q"], np.zeros(n), a["v"], a["state"]])
        advance = compiled_attempt(self.method, self._system(np.zeros(0), a["parameters"]))
        return solve(advance, self.method.order, y0, checked_duration(duration), checked_tolerance(tolerance),
                     lambda y: (y[..., :nq], y[..., nq + n : nq + n + nv]), events, max_step)  # fmt: skip

    # ------------------------------------------------------------ what comes out

    def _diverged(self, stop: Diverged, data: Array, x0: Array) -> str:
        """What stopped being finite, where, and which function of the user's began it."""
        text = f"at t = {stop.t:.6g} s (dt = {self.dt:g} s) "
        column = stop.column - 1
        x = self._x.slices
        names = self.model.entries("q"), self.model.entries("v")
        if column < x["v"].start:
            what = f"the configuration of joint '{names[0][column]}'"
        elif column < x["state"].start:
            what = f"the velocity of joint '{names[1][column - x['v'].start]}'"
        else:
            what = "a state, a force or a signal"
        text = f"{what} is no longer finite {text[:-1]}: "
        if self.method.takes == "free body" and data.shape[-2]:
            turn = float(np.abs(self.dt) * np.linalg.norm(data[..., -1, 1 + self.model.nq : 4 + self.model.nq], axis=-1).max())
            text += f"Newton's method did not converge in a step with h|ω| = {turn:.3g}, even cut into {integrate.SUBSTEPS}; or "
        if blamed := self._blame(data, x0, stop.t):
            return text + blamed
        return text + "the motion diverges; expected a smaller dt or gentler forces"

    def _blame(self, data: Array, x0: Array, t_end: float) -> str:
        """Which of the user's functions returns what is not finite at the last states before the end, if one does."""
        last = data[..., -1, 1 : 1 + self._x.n].reshape(-1, self._x.n) if data.shape[-2] else x0.reshape(-1, self._x.n)
        t_last = float(data.reshape(-1, *data.shape[-2:])[0, -1, 0]) if data.shape[-2] else 0.0
        functions = [*([self.controller] if self.controller else []), *[c.called for c in self.components if isinstance(c, Force)]]
        functions += self.events
        for x in last[:16]:
            a = self._x.split(x)
            for t in np.linspace(t_last, t_end + self.dt, 33):
                s = self._situation(t, a["q"], a["v"], a["state"], a["parameters"])
                for f in functions:
                    try:
                        with np.errstate(all="ignore"):
                            result, _ = f(s, s.states.get("controller", np.zeros(0)))
                        values = result.values() if isinstance(result, Mapping) else [result]
                        if not all(np.isfinite(np.asarray(y, dtype=float)).all() for y in values):
                            return f"{f.name} returns NaN or infinity at t = {t:.6g} s"
                    except (ValueError, TypeError):
                        continue
        return ""

    def _columns(self, data: Array) -> dict[str, Array]:
        """What records (..., T, m) hold, by name (..., T, *shape)."""
        x, signals = self._x.split(data[..., 1 : 1 + self._x.n]), self._signals.split(data[..., 1 + self._x.n :])
        states = {f"{n}.state": y for n, y in self._states.split(x["state"]).items() if n != MOMENTUM}
        return {"q": x["q"], "v": x["v"], **states, **signals}

    def _own_parameters(self, x: Array) -> dict[str, Array]:
        """The parameters (..., *shape) in the whole state x (..., n)."""
        return self._parameters.split(self._x.split(x)["parameters"])

    def _trajectory(self, data: Array, x0: Array) -> Trajectory:
        columns = self._columns(data)
        q, v, tau, vdot = (columns.pop(n) for n in ("q", "v", "tau", "vdot"))
        found = Trajectory(self.model, self.gravity, times(data), q, v, tau, vdot, columns, parameters=self._own_parameters(x0),
                           armature=tuple(self.armature.tolist()))  # fmt: skip
        if not self.events:
            return found
        if data.ndim > 2:
            return dataclasses.replace(found, stopped=self._stop_times(data[..., -1, 1 : 1 + self._x.n]))
        return dataclasses.replace(found, events=marked([e.name for e in self.events], self._memory(data)["zeros"], found.t, q, v))


def times(data: Array) -> Array:
    """The times (T) of records (..., T, m), which a batch shares."""
    return data.reshape(-1, *data.shape[-2:])[0, :, 0] if data.size else data[..., 0].reshape(-1)


def crosses(event: Any, a: Any, b: Any) -> Any:
    """Whether an event function that goes from a to b has a zero that counts."""
    rises, falls = ops.logical_and(a < 0.0, b >= 0.0), ops.logical_and(a > 0.0, b <= 0.0)
    direction = getattr(event, "direction", 0)
    return rises if direction > 0 else falls if direction < 0 else ops.logical_or(rises, falls)


__all__ = ["SimulationError", "Simulator", "TraceError"]
