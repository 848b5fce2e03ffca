"""Actuators: commands of a controller become forces, with the limits that real ones have.

What is more than they have is clipped, without a warning: it is what real ones do. The signal ``saturated`` of each says when.
An actuator is a :class:`~engine.components.component.Component` with a ``command``; one that drives a joint subclasses :class:`Motor`, so
that its torque counts in a trajectory's ``tau`` and its rotor in the model's armature."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown
from engine.components.component import Component, Context, Effect, SimulationError
from engine.components.forces import WRENCH, one_coordinate, units_at
from engine.model import Model

Array = np.ndarray
#: m/s², by which a specific impulse in seconds is a velocity
STANDARD_GRAVITY = 9.80665


class Motor(Component):
    """A motor with a gear at a joint with one coordinate; its command is the joint torque wanted (the controller's ``tau`` there).

    Parameters
    ----------
    joint : its joint
    gear : turns of the rotor per turn of the joint, n, not zero
    rotor : inertia of the rotor, kg·m², which adds n² times itself to the joint's (the rotor's own spin momentum is left out)
    effort : largest joint torque, N·m; the joint's own limit by default (none, where that is zero)
    no_load_speed : joint speed, rad/s, at which the torque available in the direction of motion is zero: it falls linearly from ``effort``
    efficiency is 1

    Signals: ``torque``, at the joint, and ``saturated``, 1 where it is less than was commanded.

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()  # a wheel of 2 kg·m²; a rotor of 0.01 kg·m² behind a gear of 10 adds 1 kg·m²
    >>> _ = builder.add_link("base"), builder.add_link("wheel", engine.spatial.inertia.from_mass(1.0, [0, 0, 0], 2.0 * np.eye(3)))
    >>> _ = builder.add_joint("axle", "revolute", "base", "wheel")
    >>> motor = engine.simulation.actuators.Motor("axle", gear=10.0, rotor=0.01, effort=6.0)
    >>> driven = engine.Simulator(builder.model(), dt=1e-3, actuators=[motor], controller=lambda t, q, v: np.array([100.0]))
    >>> print(driven.run([0.0], [0.0], 0.1).v[-1].round(6))  # rad/s: its largest torque, 6 N·m/3 kg·m² · 0.1 s
    [0.2]
    """

    command = ()

    def __init__(self, joint: str, gear: float = 1.0, rotor: float = 0.0, effort: float | None = None,
                 no_load_speed: float = np.inf, name: str = "") -> None:  # fmt: skip
        self.joint, self.gear, self.rotor, self.effort, self.no_load_speed = joint, gear, rotor, effort, no_load_speed
        self.name = name or f"motor of {joint}"
        self.efforts = {joint: effort if isinstance(effort, (int, float)) else np.inf}

    def bind(self, model: Model, dt: float) -> None:
        self.i, self.j = one_coordinate(model, self.joint, self.name)
        self.units = dict.fromkeys(("", "torque"), units_at(model, self.joint)[1])
        self.limit = (model.joint(self.joint).limits.effort or np.inf) if self.effort is None else self.effort
        self.bounds = int(self.limit != np.inf)
        self.require_gear()
        number(f"{self.name}: rotor", self.rotor, "zero or more", least=0.0, error=SimulationError)
        for what, x, above in (("effort", self.limit, -np.nextafter(0.0, 1.0)), ("no_load_speed", self.no_load_speed, 0.0)):
            if x != np.inf:
                number(f"{self.name}: {what}", x, "a speed greater than zero" if above == 0.0 else "zero or more", above=above,
                       error=SimulationError)  # fmt: skip
        if np.isfinite(self.no_load_speed) and not np.isfinite(self.limit):
            raise SimulationError(f"{self.name}: a no_load_speed without an effort, from which torque falls; expected effort=…")
        self.steepness = {self.j: self.limit / self.no_load_speed} if np.isfinite(self.no_load_speed) else {}

    def require_gear(self) -> None:
        """Refuse what is no ratio."""
        if not number(f"{self.name}: gear", self.gear, "a finite number other than zero", error=SimulationError):
            raise SimulationError(f"{self.name}: gear is {self.gear!r}; expected a finite number other than zero")

    @property
    def armature(self) -> float:
        """The inertia that the rotor adds to the joint's, n² J."""
        return float(self.gear**2 * self.rotor)

    def given(self, commands: Mapping[str, Any]) -> Any:
        """Return the motor's own command, or else the controller's ``tau`` at its joint."""
        return commands[self.name] if self.name in commands else commands["tau"][self.j] if "tau" in commands else None

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        wanted = 0.0 if command is None else command
        torque, saturated, beyond = wanted, 0.0, np.zeros(0)
        if np.isfinite(self.limit):
            w, end = s.v[self.j] / self.no_load_speed, np.array([self.limit])
            lines = ops.array([-self.limit * (1.0 + w), self.limit * (1.0 - w)])[:, None] if self.steepness else None
            (torque,), beyond = s.bounded(self.name, ops.array([wanted]), -end, end, lines)
            saturated = ops.where(ops.equal(torque, wanted), 0.0, 1.0)
        tau: list[Any] = [0.0] * s.model.nv
        tau[self.j] = torque
        return Effect(tau=ops.array(tau), signals={"torque": torque, "saturated": saturated}, beyond=beyond)


class Thrusters(Component):
    """Thrusters on a link; the command is the thrust wanted of each (n), N.

    Parameters
    ----------
    link : what they are fixed to
    positions, directions : in the link's frame, (n, 3); a direction is that of the force on the link
    most, least : largest and smallest thrust, N: a command below ``least`` is none. A parameter "thrusters.most" is another largest one
        (without ``pulse``)
    pulse : shortest time that one is on or off, s: thrusters are then on, with ``most``, or off; they switch at the beginning of a step,
        on where the command is at least half of ``most``
    tank : an :class:`engine.space.Tank` on the same link, among the actuators after it, which drains by thrust/(g₀ isp); as its pressure
        falls the thrust does, and as it empties, over its last two steps' worth, to zero
    isp : specific impulse, s
    plume : an :class:`engine.space.Plume` among the actuators after it, which is told the thrusts

    Signals: ``thrust`` (n), and ``saturated`` (n).

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("craft", engine.spatial.inertia.sphere(4.0, 0.5))
    >>> jet = engine.simulation.actuators.Thrusters("craft", [[0, 0, 0]], [[1.0, 0, 0]], most=2.0)
    >>> free = builder.model(floating_base=True)
    >>> burn = lambda t, q, v: {"thrusters": np.array([2.0])}
    >>> flown = engine.Simulator(free, dt=1e-2, gravity=(0, 0, 0), actuators=[jet], controller=burn)
    >>> print(flown.run(free.neutral(), np.zeros(6), 1.0).v[-1, 3].round(9))  # m/s: 2 N/4 kg · 1 s
    0.5
    """

    counts = ("most",)
    units = types.MappingProxyType(dict.fromkeys(("", "most", "thrust"), "N"))

    def __init__(self, link: str, positions: Any, directions: Any, most: float, least: float = 0.0, pulse: float | None = None,
                 name: str = "thrusters", tank: Any = None, isp: float | None = None, plume: Any = None) -> None:  # fmt: skip
        self.link, self.most, self.least, self.pulse, self.name = link, most, least, pulse, name
        self.plume = plume
        self.tank, self.exhaust = tank, 0.0 if isp is None else STANDARD_GRAVITY * number(f"{name}: isp", isp, "s", error=SimulationError)
        if (tank is None) != (isp is None) or self.exhaust < 0.0 or (tank is not None and not self.exhaust):
            raise SimulationError(f"{name}: tank is {shown(tank)} and isp {isp!r}; expected a Tank and seconds above 0, or neither")
        self.positions, self.directions = np.atleast_2d(np.array(positions, dtype=float)), np.atleast_2d(np.array(directions, dtype=float))
        n = len(self.positions)
        if self.positions.shape != (n, 3) or self.directions.shape != (n, 3):
            shapes = f"positions have shape {self.positions.shape}, directions {self.directions.shape}"
            raise SimulationError(f"{name}: {shapes}; expected (n, 3)")
        lengths = np.linalg.norm(self.directions, axis=1)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise SimulationError(f"{name}: a direction has length {lengths.min():g}; expected vectors")
        self.directions = self.directions / lengths[:, None]
        self.command = (n,)
        self.memory = np.zeros(2 * n if pulse else 0)  # thrust of each, and the time from which it may switch
        self.times = tuple(range(n, len(self.memory)))

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)
        if not np.isfinite(self.positions).all():
            raise SimulationError(f"{self.name}: a position holds NaN or infinity; expected finite numbers")
        numbers = all(isinstance(x, (int, float, np.floating, np.integer)) for x in (self.least, self.most))
        if not numbers or not 0 <= self.least <= self.most or not np.isfinite(self.most):
            raise SimulationError(f"{self.name}: thrust from {self.least!r} to {self.most!r} N; expected 0 ≤ least ≤ most")
        self.shortest = 2.0 * dt
        if self.tank is not None and self.tank.link != self.link:
            raise SimulationError(f"{self.name}: they are on '{self.link}', and their tank on '{self.tank.link}'; expected one link")
        if self.pulse is not None and not self.pulse > 0:
            raise SimulationError(f"{self.name}: pulse is {self.pulse!r}; expected seconds greater than zero")

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        if not self.pulse or command is None:
            return memory
        n = len(self.positions)
        thrust, free = memory[:n], memory[n:]
        wanted = ops.where(ops.less_equal(0.5 * self.most, command), self.most, 0.0)
        switches = ops.logical_and(ops.less_equal(free - 1e-9 * self.pulse, s.t), ops.logical_not(ops.equal(wanted, thrust)))
        return np.concatenate([ops.where(switches, wanted, thrust), ops.where(switches, s.t + self.pulse, free)])

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        n, limit = len(self.positions), self.value(s, "most")
        wanted = np.zeros(n) if command is None else command
        if self.pulse:
            thrust = memory[:n]
        else:
            thrust = ops.where(ops.less(wanted, self.least), 0.0, ops.minimum(ops.maximum(wanted, 0.0), limit))
        flows: dict[str, Any] = {}
        if self.tank is not None:
            if self.tank.name not in s.states:
                raise SimulationError(f"'{self.name}' draw from '{self.tank.name}', which is not there; expected it among the actuators")
            fuel, most = s.states[self.tank.name][0], sum(thrust) / self.exhaust
            pressure = self.tank.pressure_ratio(s)
            share = fuel / (self.shortest * ops.maximum(most * pressure, 1e-300))       # of what is wanted, that there is
            thrust = thrust * (pressure * ops.minimum(ops.maximum(share, 0.0), 1.0))
            flows[self.tank.name] = self.drawn(thrust)
        if self.plume is not None:
            flows[self.plume.name] = thrust
        arms = np.array([np.concatenate([np.cross(p, d), d]) for p, d in zip(self.positions, self.directions, strict=True)])
        saturated = ops.where(ops.equal(thrust, wanted), 0.0, 1.0)
        return Effect(wrenches={self.link: arms.T @ thrust}, signals={"thrust": thrust, "saturated": saturated}, flows=flows)

    def drawn(self, thrust: Array) -> Array:
        """Return of thrusts (n) what a tank is asked for (16): Σ ṁ, Σ ṁ r, Σ ṁ r rᵀ (its xx, xy, xz, yy, yz, zz), Σ r × T, Σ T."""
        flow, p, d = thrust / self.exhaust, self.positions, self.directions
        squares = np.array([p[:, i] * p[:, j] for i in range(3) for j in range(i, 3)])
        return np.concatenate([[sum(flow)], p.T @ flow, squares @ flow, np.cross(p, d).T @ thrust, d.T @ thrust])


class ReactionWheels(Component):
    """Reaction wheels on a link; the command is the torque wanted on the link along each axis (n), N·m.

    A wheel's momentum h along its axis a is a state of its own: the torque τ on the link is taken from it, ḣ = −τ, and turning the link
    turns h, so the link feels the moment Σ a τ − ω × Σ a h. The link's inertia is to be without the wheels' axial inertias. The momentum of
    link and wheels together is constant.

    Rotors that are out of balance shake the link by a force U_s Ω² and a moment U_d Ω² that turn with each, at Ω = h/J. That is a load from
    outside: what it shakes is not taken from the wheels' momentum, nor from the body's. Who wants it exactly gives the robot a wheel as a
    link, with its centre and products of inertia, and steps below 0.1/Ω.

    Parameters
    ----------
    link : what they are fixed to
    axes : directions in the link's frame (n, 3), of any length
    torque : largest torque of a wheel, N·m
    momentum : largest momentum of a wheel, N·m·s: in that sense its torque falls to zero as it fills, over the last two steps' worth of it
    initial : momenta at first (n)
    static, dynamic : U_s, kg·m, and U_d, kg·m²; numbers, or one for each
    inertia : J of a rotor about its axis, kg·m², a number or one for each: by it momenta are speeds, as imbalance wants
    positions : of the wheels in the link's frame, m (n, 3), at which they shake

    Their state is h (n), and where there is imbalance the wheels' angles (n) behind it. Signals: ``torque`` (n), ``momentum`` (n),
    ``saturated`` (n), and ``angular_momentum`` (3), the wheels' together in world axes; with an inertia ``speed`` (n), rad/s, h/J − a·ω:
    against the link, as a tachometer reads it; and with imbalance ``shake`` (6), [moment; force] in the link's axes about its origin.

    Reference: Markley & Crassidis, *Fundamentals of Spacecraft Attitude Determination and Control*, §4.8.

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("craft", engine.spatial.inertia.from_mass(4.0, [0, 0, 0], 5.0 * np.eye(3)))
    >>> wheels = engine.simulation.actuators.ReactionWheels("craft")
    >>> free, torque = builder.model(floating_base=True), lambda t, q, v: {"wheels": np.array([0.0, 0.0, 0.5])}
    >>> craft = engine.Simulator(free, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels], controller=torque)
    >>> turned = craft.run(free.neutral(), np.zeros(6), 1.0)
    >>> print(turned.v[-1, 2].round(9), turned.momentum()[-1, 2].round(9))  # 0.5 N·m/5 kg·m² · 1 s in rad/s, and in all none
    0.1 0.0
    """

    keeps = True
    units = types.MappingProxyType({"": "N.m", "torque": "N.m", "speed": "rad/s", "momentum": "N.m.s", "angular_momentum": "N.m.s",
                                    "shake": WRENCH})  # fmt: skip

    def __init__(self, link: str, axes: Any = np.eye(3), torque: float = np.inf, momentum: float = np.inf, initial: Any = None,
                 name: str = "wheels", static: Any = 0.0, dynamic: Any = 0.0, inertia: Any = None,
                 positions: Any = (0.0, 0.0, 0.0)) -> None:  # fmt: skip
        self.link, self.torque, self.momentum, self.name = link, torque, momentum, name
        self.axes = np.atleast_2d(np.array(axes, dtype=float))
        n = len(self.axes)
        lengths = np.linalg.norm(self.axes, axis=-1)
        if self.axes.shape != (n, 3) or not np.isfinite(lengths).all() or not lengths.all():
            raise SimulationError(f"{name}: axes have shape {self.axes.shape}; expected (n, 3) vectors")
        self.axes = self.axes / lengths[:, None]
        self.command = (n,)
        self.state = np.zeros(n) if initial is None else np.array(initial, dtype=float)
        if self.state.shape != (n,):
            raise SimulationError(f"{name}: initial has shape {self.state.shape}; expected ({n},), a momentum for each wheel")
        self.static, self.dynamic, self.positions = (self.each(what, x, shape) for what, x, shape in (
            ("static", static, (n,)), ("dynamic", dynamic, (n,)), ("positions", positions, (n, 3))))  # fmt: skip
        if (self.static < 0.0).any() or (self.dynamic < 0.0).any():
            raise SimulationError(f"{name}: static is {static!r} and dynamic {dynamic!r}; expected numbers from 0")
        self.shakes = bool(self.static.any() or self.dynamic.any())
        if self.shakes and inertia is None:
            raise SimulationError(f"{name}: inertia is None; expected a rotor's beside static or dynamic, by which its momentum is a speed")
        self.inertia = None if inertia is None else self.each("inertia", inertia, (n,))
        if self.inertia is not None and not ((self.inertia > 0.0) & np.isfinite(self.inertia)).all():
            raise SimulationError(f"{name}: inertia is {inertia!r}; expected kg·m² above 0")
        if self.shakes:
            across = np.array([np.cross(a, np.eye(3)[np.argmin(np.abs(a))]) for a in self.axes])
            self.first = across / np.linalg.norm(across, axis=1)[:, None]
            self.second = np.cross(self.axes, self.first)
            self.state = np.concatenate([self.state, np.zeros(n)])

    def each(self, what: str, x: Any, shape: tuple[int, ...]) -> Array:
        """Return numbers of a shape, of one for all or one for each."""
        x = numbers(f"{self.name}: {what}", x, SimulationError)
        if x.shape not in ((), shape, shape[1:]):
            raise SimulationError(f"{self.name}: {what} has shape {x.shape}; expected {shape}, or one for all")
        return np.broadcast_to(x, shape)

    def momenta(self, state: Array) -> Array:
        """Return h (n) of their state."""
        return state[: len(self.axes)]

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)
        self.time = 2.0 * dt
        for what in ("torque", "momentum"):
            if (x := getattr(self, what)) != np.inf:
                number(f"{self.name}: {what}", x, "a number greater than zero", above=0.0, error=SimulationError)
        if not (np.isfinite(h := self.momenta(self.state)) & (np.abs(h) <= self.momentum)).all():
            raise SimulationError(f"{self.name}: initial is {h.tolist()}; expected momenta within ±{self.momentum:g}")

    def holds(self, s: Context, state: Array) -> Array:
        """Return the wheels' angular momentum (3) together, in world axes."""
        return s.pose(self.link)[:3, :3] @ (self.axes.T @ self.momenta(state))

    def shake(self, speed: Array, angles: Array) -> Array:
        """Return what rotors out of balance do at speeds Ω and angles (n): [moment; force] on the link (6)."""
        total: Any = np.zeros(6)
        for k, (e1, e2, p) in enumerate(zip(self.first, self.second, self.positions, strict=True)):
            way = speed[k] * speed[k] * (ops.cos(angles[k]) * e1 + ops.sin(angles[k]) * e2)
            f = self.static[k] * way
            total = total + np.concatenate([self.dynamic[k] * way + ops.cross(p, f), f])
        return total

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        whole, state = state, self.momenta(state)
        wanted = np.zeros(len(self.axes)) if command is None else command
        torque = ops.minimum(ops.maximum(wanted, -self.torque), self.torque) if np.isfinite(self.torque) else wanted
        if np.isfinite(self.momentum):  # ḣ = −τ must not lead beyond ±momentum within a step, at any of its stages
            most, least = (self.momentum + state) / self.time, (state - self.momentum) / self.time
            torque = ops.minimum(ops.maximum(torque, ops.minimum(least, 0.0)), ops.maximum(most, 0.0))
        h = self.axes.T @ state
        moment = np.concatenate([self.axes.T @ torque - ops.cross(s.twist(self.link)[:3], h), np.zeros(3)])
        saturated = ops.where(ops.equal(torque, wanted), 0.0, 1.0)
        does = Effect(wrenches={self.link: moment}, inner={self.link: moment}, rate=-torque,
                      signals={"torque": torque, "momentum": state, "saturated": saturated,
                               "angular_momentum": self.holds(s, state)})  # fmt: skip
        if self.inertia is not None:
            does.signals["speed"] = state / self.inertia - self.axes @ s.twist(self.link)[:3]
        if self.shakes:
            speed = state / self.inertia
            shake = self.shake(speed, whole[len(state) :])
            does.wrenches[self.link] = moment + shake
            does.rate = np.concatenate([-torque, speed])
            does.signals["shake"] = shake
        return does


class Drive(Component):
    """The joints' own limits: the controller's ``tau``, clipped to the effort that the robot's file allows, where it gives one.

    An effort of zero counts as not given. Signal: ``saturated`` (nv), 1 where it was clipped; printing a trajectory tells which joints
    are at their limits, from when on, and in how many records.

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0], limits=engine.Limits(effort=3.0))
    >>> pushed = engine.Simulator(builder.model(), dt=1e-2, controller=lambda t, q, v: np.array([50.0]))
    >>> run = pushed.run([0.0], [0.0], 1.0)
    >>> print(run.v[-1].round(9), run.signals["drive.saturated"][0])  # m/s: the limit, 3 N/2 kg · 1 s
    [1.5] [1.]
    >>> run
    <trajectory of 'robot': 101 states, 0 … 1 s; at the effort limit: rail (from 0 s, 100 % of records)>
    """

    name = "drive"

    def __init__(self, motors: Sequence[Motor] = (), limited: bool = True) -> None:
        self.motors, self.limited = motors, limited

    def bind(self, model: Model, dt: float) -> None:
        self.command = (model.nv,)
        self.limit = np.full(model.nv, np.inf)
        if self.limited:
            for b in model.bodies:
                if not b.mimics and b.kind.nv == 1 and b.joint.limits.effort > 0:
                    self.limit[b.v] = b.joint.limits.effort
        self.driven = np.ones(model.nv)
        self.driven[[m.j for m in self.motors]] = 0.0
        self.limit[[m.j for m in self.motors]] = np.inf
        self.bounds = int(np.isfinite(self.limit).sum())

    def given(self, commands: Mapping[str, Any]) -> Any:
        """The controller's ``tau``, or None."""
        return commands.get("tau")

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        if command is None:
            return Effect(tau=np.zeros(s.model.nv), signals={"saturated": np.zeros(s.model.nv)})
        command = ops.array(list(command))
        own, within = np.flatnonzero(np.isfinite(self.limit)), command[np.isfinite(self.limit)]
        bounded, beyond = s.bounded(self.name, within, -self.limit[own], self.limit[own])
        tau, saturated = list(command * self.driven), [0.0] * s.model.nv
        for j, x, y in zip(own, within, bounded, strict=True):
            tau[j], saturated[j] = y, ops.where(ops.equal(x, y), 0.0, 1.0)
        return Effect(tau=ops.array(tau), signals={"saturated": ops.array(saturated)}, beyond=beyond)


def require_moving(model: Model, link: str, name: str) -> None:
    """Refuse a link that does not move.

    >>> import engine
    >>> from engine.components.actuators import require_moving
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> require_moving(arm, arm.links[-1].name, "jet")  # says nothing: it moves
    """
    if model.carrier[model.link_index(link)][0] < 0:
        raise SimulationError(f"{name}: link '{link}' does not move; expected one that does")
