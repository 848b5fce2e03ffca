"""Forces that components exert: joint friction, stops and springs, a force at a point of a link, central gravity.

Dry friction of joints, and stops that are stiff for the step, act as impulses instead (:mod:`engine.contact.joint_laws`), unless the user
gives them as components or asks for "explicit" ones: :func:`engine.components.joint_dynamics.plan_joint_dynamics` decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import number, numbers
from engine.components.component import Component, Context, Effect, SimulationError
from engine.contact import JointCoordinate, joint_coordinates, with_mobilities
from engine.dynamics.friction import dry_friction
from engine.model import Model
from engine.spatial import inertia
from engine.spatial.se3 import inv

Array = np.ndarray
#: FMI's units of a force, by what it moves in
FORCES = {"rad": "N.m", "m": "N"}
#: those of wrenches, and of momenta, [angular; linear]
WRENCH, MOMENTUM = ("N.m",) * 3 + ("N",) * 3, ("N.m.s",) * 3 + ("N.s",) * 3
#: speed, rad/s or m/s, at which smoothed Coulomb friction has 1/√2 of its force
SLOW = 1e-3
#: a stop takes about π times so long, s, and dissipates so much, s/rad or s/m
STOP_TIME, DISSIPATION = 5e-3, 1.0


class JointFriction(Component):
    """Damping and Coulomb friction of the joints, as the robot's file gives them: τ = −D v − f v/√(v² + v_s²).

    The second term is Coulomb's −f sign(v), smoothed over speeds of about ``slow`` v_s: a joint at rest under a load below f creeps.

    Parameters
    ----------
    damping, friction : per velocity (nv); those of the model's joints by default

    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
    >>> rub = engine.simulation.forces.JointFriction(damping=[0.0], friction=[3.0])
    >>> slow = engine.Simulator(builder.model(), dt=1e-3, forces=[rub], joint_dynamics=False)
    >>> print(slow.run([0.0], [2.0], 1.0).v[-1].round(4))  # m/s: 2 − 3 N/2 kg · 1 s
    [0.5]
    """

    def __init__(self, damping: Any = None, friction: Any = None, slow: float = SLOW, name: str = "friction") -> None:
        self.damping, self.friction, self.slow, self.name = damping, friction, slow, name

    def bind(self, model: Model, dt: float) -> None:
        own = {"damping": np.diag(dynamics.damping_matrix(model)), "friction": sum(dry_friction(model).values(), np.zeros(model.nv))}
        given = {"damping": self.damping, "friction": self.friction}
        checked = {n: checked_vector(model, f"{self.name}: {n}", x) if x is not None else own[n] for n, x in given.items()}
        self.losses = {n: checked[n] for n, x in given.items() if x is not None}
        number(f"{self.name}: slow", self.slow, "a number above 0", above=0.0, error=SimulationError)
        self.units = {"force": units_of_forces(model)}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        tau = dynamics.friction_forces(s.model, s.v, self.slow, **self.losses)
        return Effect(tau=tau, signals={"force": tau})


class JointStops(Component):
    """Ends of the joints' ranges: a spring that pushes back beyond a limit, harder on the way in (Hunt & Crossley).

    With the depth δ beyond the limit, τ = −k δ (1 + χ δ̇), never pulling. The stiffness is k = 1/(w T²), where w is the speed a unit impulse
    gives the joint at the neutral configuration, so that a stop takes about the time πT; steps must be well below T.

    Parameters
    ----------
    time : T, s
    dissipation : χ, s/rad or s/m
    joints : names of those that end; by default all with limits

    Reference: Hunt & Crossley, *Coefficient of restitution interpreted as damping in vibroimpact*, J. Appl. Mech. 42 (1975).

    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0], limits=engine.Limits(upper=0.5))
    >>> stops = engine.simulation.forces.JointStops(time=0.01, dissipation=0.0)
    >>> run = engine.Simulator(builder.model(), dt=1e-4, forces=[stops], joint_dynamics=False).run([0.0], [1.0], 1.0)
    >>> print(run.v[-1].round(3))  # m/s: it is back, as fast as it came
    [-1.]
    """

    def __init__(self, time: float = STOP_TIME, dissipation: float = DISSIPATION, joints: Iterable[str] | None = None,
                 name: str = "stops") -> None:  # fmt: skip
        self.time, self.dissipation, self.only, self.name = time, dissipation, joints, name

    def bind(self, model: Model, dt: float) -> None:
        number(f"{self.name}: time", self.time, "a number above 0", above=0.0, error=SimulationError)
        number(f"{self.name}: dissipation", self.dissipation, "0 or more", least=0.0, error=SimulationError)
        only = {b.joint.name for b in model.bodies} if self.only is None else {model.joint(name).name for name in self.only}
        self.ends = [r for r in joint_coordinates(model) if r.joint in only and np.isfinite([r.low, r.high]).any()]
        self.units = {"force": units_of_forces(model)}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        tau: list[Any] = [0.0] * s.model.nv
        for r in with_mobilities(s.model, self.ends, s.parameters):
            k = stop_stiffness(r, self.time)
            x, u = r.ratio * s.q[r.i] + r.offset, r.ratio * s.v[r.j]
            for end, sign in ((r.high, 1.0), (r.low, -1.0)):
                if np.isfinite(end):
                    depth = ops.maximum(sign * (x - end), 0.0)
                    tau[r.j] = tau[r.j] - r.ratio * sign * k * depth * ops.maximum(1.0 + self.dissipation * sign * u, 0.0)
        return Effect(tau=ops.array(tau), signals={"force": ops.array(tau)})


def stop_stiffness(r: JointCoordinate, time: float = STOP_TIME) -> Any:
    """Return the stiffness of a joint's stops, N·m/rad or N/m, with which they take about π times so long, s.

    >>> import engine
    >>> from engine.components.forces import stop_stiffness
    >>> from engine.contact import joint_coordinates
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0], limits=engine.Limits(upper=0.5))
    >>> round(stop_stiffness(joint_coordinates(builder.model())[0], time=0.01))  # N/m: m/T²
    20000
    """
    return 1.0 / (r.mobility * time * time)


class JointSpring(Component):
    """A spring and damper in a joint with one coordinate: τ = −k (q − rest) − d v, in N·m/rad and N·m·s/rad (N/m, N·s/m).

    A simulation's parameters "name.stiffness", "name.damping" and "name.rest" are others, for a batch's rows.

    Signal: ``energy``, k (q − rest)²/2, J.

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
    >>> spring = engine.simulation.forces.JointSpring("rail", stiffness=8.0)
    >>> swing = engine.Simulator(builder.model(), dt=1e-3, forces=[spring])
    >>> print(swing.run([0.1], [0.0], 1.0).q[-1].round(6), (0.1 * np.cos(2.0)).round(6))  # m: ω = √(8 N/m / 2 kg) = 2/s
    [-0.041615] -0.041615
    """

    counts = ("stiffness", "damping")

    def __init__(self, joint: str, stiffness: float, rest: float = 0.0, damping: float = 0.0, name: str = "") -> None:
        self.joint, self.stiffness, self.rest, self.damping, self.name = joint, stiffness, rest, damping, name or f"spring of {joint}"

    def bind(self, model: Model, dt: float) -> None:
        self.i, self.j = one_coordinate(model, self.joint, self.name)
        number(f"{self.name}: rest", self.rest, "a finite number", error=SimulationError)
        for what in ("stiffness", "damping"):
            number(f"{self.name}: {what}", getattr(self, what), "zero or more", least=0.0, error=SimulationError)
        moves, force = units_at(model, self.joint)
        self.units = {"stiffness": f"{force}/{moves}", "damping": f"{force}.s/{moves}", "rest": moves}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        tau: list[Any] = [0.0] * s.model.nv
        k, d, rest = (self.value(s, what) for what in ("stiffness", "damping", "rest"))
        stretch = s.q[self.i] - rest
        tau[self.j] = -k * stretch - d * s.v[self.j]
        return Effect(tau=ops.array(tau), signals={"energy": 0.5 * k * stretch * stretch})


class PointForce(Component):
    """A constant force and moment on a link at an offset point.

    Parameters
    ----------
    force, moment : (3), N and N·m
    point : where the force acts, in the link's frame, m (3)
    axes : of force and moment, "world" or "link"

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("ball", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> free, push = builder.model(floating_base=True), engine.simulation.forces.PointForce("ball", force=(6.0, 0, 0))
    >>> run = engine.Simulator(free, dt=1e-2, gravity=(0, 0, 0), forces=[push]).run(free.neutral(), np.zeros(6), 1.0)
    >>> print(run.v[-1, 3].round(9))  # m/s: F/m · t = 6 N/2 kg · 1 s
    3.0
    """

    def __init__(self, link: str, force: Any = (0, 0, 0), moment: Any = (0, 0, 0), point: Any = (0, 0, 0), axes: str = "world",
                 name: str = "") -> None:  # fmt: skip
        self.link, self.axes, self.name = link, axes, name or f"force on {link}"
        given = {"force": force, "moment": moment, "point": point}
        self.force, self.moment, self.point = (numbers(f"{self.name}: {what}", x, SimulationError) for what, x in given.items())

    def bind(self, model: Model, dt: float) -> None:
        model.link_index(self.link)
        if self.axes not in ("world", "link"):
            raise SimulationError(f"{self.name}: axes is {self.axes!r}; expected 'world' or 'link'")
        for what in ("force", "moment", "point"):
            x = getattr(self, what)
            if x.shape != (3,) or not np.isfinite(x).all():
                raise SimulationError(f"{self.name}: {what} is {x.tolist()}; expected three finite numbers")

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        f, m = self.force, self.moment
        if self.axes == "world":
            Rt = s.pose(self.link)[:3, :3].T
            f, m = Rt @ f, Rt @ m
        return Effect(wrenches={self.link: np.concatenate([m + ops.cross(self.point, f), f])})


class CentralGravity(Component):
    """Gravity of a distant centre, −μ r/r³ at every body, with the moment that its gradient makes; use it with ``gravity=(0, 0, 0)``.

    To the second order in size over distance, about a body's centre of mass at r with r̂ = r/r and its moments I there::

        f = −m μ/r² r̂ + 3 μ/(2 r⁴) ((5 r̂ᵀ I r̂ − tr I) r̂ − 2 I r̂),   m = 3 μ/r³ r̂ × I r̂

    Signal: ``energy``, Σ −m μ/r − μ/(2 r³) (tr I − 3 r̂ᵀ I r̂), J, whose derivatives they are: energy and angular momentum are kept.

    Parameters
    ----------
    mu : μ, m³/s² (the Earth's by default)
    center : of attraction in the world, m (3)

    Notes
    -----
    Far from the centre positions lose digits, 1e-9 m at 7000 km. Reference: Hughes, *Spacecraft Attitude Dynamics*, §8.1.

    >>> import numpy as np
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> stone, sun = builder.model(floating_base=True), engine.simulation.forces.CentralGravity(mu=4.0)
    >>> circle = engine.Simulator(stone, dt=1e-2, gravity=(0, 0, 0), forces=[sun])  # radius 4 m, speed √(μ/r) = 1 m/s
    >>> run = circle.run([1, 0, 0, 0, 4.0, 0, 0], [0, 0, 0, 0, 1.0, 0], 1.0)
    >>> print(np.linalg.norm(run.q[-1, 4:]).round(4))
    4.0
    """

    def __init__(self, mu: float = 3.986004418e14, center: Any = (0, 0, 0), name: str = "gravity") -> None:
        self.mu, self.center, self.name = mu, numbers(f"{name}: center", center, SimulationError), name

    def bind(self, model: Model, dt: float) -> None:
        number(f"{self.name}: mu", self.mu, "a number above 0", above=0.0, error=SimulationError)
        if self.center.shape != (3,) or not np.isfinite(self.center).all():
            raise SimulationError(f"{self.name}: center is {self.center.tolist()}; expected three finite numbers")

    def pull_at(self, s: Context, state: Array, place: Array) -> Array:
        r = place - self.center
        r2 = r @ r
        return -self.mu / (r2 * ops.sqrt(r2)) * r

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        wrenches = {}
        energy: Any = 0.0
        for link, T in zip(s.model.links, s.poses, strict=True):
            m = link.mass
            if ops.graph_of(m) is None and not m:                              # a mass among the parameters is none of these
                continue
            c = inertia.center(link.inertia)
            I = link.inertia[:3, :3] + m * (np.outer(c, c) - c @ c * np.eye(3))    # about the centre of mass
            r = inv(T)[:3, :3] @ (T[:3, 3] - self.center) + c
            r2 = r @ r
            n, g = r / ops.sqrt(r2), self.mu / r2
            In, tr, k = I @ n, np.trace(I), g / ops.sqrt(r2)
            f = -m * g * n + (1.5 * g / r2) * ((5.0 * (n @ In) - tr) * n - 2.0 * In)
            moment = 3.0 * k * ops.cross(n, In) + ops.cross(c, f)
            wrenches[link.name] = np.concatenate([moment, f])
            energy = energy - m * g * ops.sqrt(r2) - 0.5 * k * (tr - 3.0 * (n @ In))
        return Effect(wrenches=wrenches, signals={"energy": energy})


def checked_vector(model: Model, what: str, x: Any) -> Array:
    """Return a number for each velocity (nv), zero or more; one number stands for all.

    >>> import engine
    >>> from engine.components.forces import checked_vector
    >>> checked_vector(engine.load(engine.example("seven_joint_arm")), "damping", 0.5)
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    a = np.array(x, dtype=float) * np.ones(model.nv) if np.ndim(x) == 0 else np.array(x, dtype=float)
    if a.shape != (model.nv,) or not np.isfinite(a).all() or (a < 0).any():
        raise SimulationError(f"{what} is {x!r}; expected a number, or {model.nv} of them, zero or more")
    return a


def units_at(model: Model, joint: str) -> tuple[str, str]:
    """Return FMI's units of the motion of a joint with one coordinate, and of the force along it.

    >>> import engine
    >>> from engine.components.forces import units_at
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> units_at(arm, arm.bodies[0].joint.name)
    ('rad', 'N.m')
    """
    (moves,) = model.joint(joint).type.units
    return moves, FORCES[moves]


def units_of_forces(model: Model) -> tuple[str, ...]:
    """Return FMI's units of a generalized force (nv).

    >>> import engine
    >>> from engine.components.forces import units_of_forces
    >>> units_of_forces(engine.load(engine.example("seven_joint_arm")))[:2]
    ('N.m', 'N.m')
    """
    return tuple(FORCES[moves] for b in model.bodies if not b.mimics for moves in b.kind.units)


def one_coordinate(model: Model, joint: str, name: str) -> tuple[int, int]:
    """Return the indices of a joint's coordinate and velocity, of which it must have one each.

    >>> import engine
    >>> from engine.components.forces import one_coordinate
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> one_coordinate(arm, arm.bodies[2].joint.name, "spring")
    (2, 2)
    """
    q, v = model.q_slice(joint), model.v_slice(joint)
    if q.stop - q.start != 1 or v.stop - v.start != 1 or model.joint(joint).mimic is not None:
        raise SimulationError(f"{name}: joint '{joint}' is {model.joint(joint).kind}; expected one with one coordinate of its own")
    return q.start, v.start
