"""Slosh: a liquid's first lateral mode as a pendulum, or a mass on springs, in a robot that is built by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, one_of, warn
from engine.components.assembly import LIQUID, SPRUNG
from engine.components.component import Context, Effect, SimulationError, SimulationWarning
from engine.components.forces import JointSpring
from engine.model import Builder, Link, Model
from engine.space.tank import Tank, inertia_about_origin
from engine.spatial import inertia, se3

Array = np.ndarray
#: the first zero of J₁'
XI = 1.8411837813406593
#: of a sphere of radius R filled to h: h/R, λ = ω² R/a, m₁/m (Ritz's method with 36 solid harmonics; half full it is McIver's 1.5602; the
#: last drops slide in the bowl as a mass on a pendulum R)
SPHERE = ((0.0, 1.0, 1.0), (0.25, 1.092381, 0.912006), (0.5, 1.207717, 0.813719), (0.75, 1.356965, 0.703523), (1.0, 1.560157, 0.579693),
          (1.25, 1.85913, 0.44078), (1.5, 2.3622, 0.28693), (1.75, 3.500, 0.1249))  # fmt: skip
#: Bond number ρ a R²/σ below which a liquid's surface is its tension's and not the acceleration's
LEAST_BOND = 10.0
#: of its capacity: what a tank's liquid swings with at least, so that an empty one has a pendulum that moves
LEAST_FUEL = 1e-6
KINDS = ("pendulum", "spring")


@dataclass(frozen=True)
class Slosh:
    """A liquid that swings: m₁, kg, at z₁, m, on a pendulum of length l from a hinge at z₁ + l, and m₀ fixed at z₀.

    Heights are over the tank's centre, along its z axis. ``joints`` are the names of what was added to a robot, and ``springs`` the forces
    that belong to them, for a simulator's ``forces``. Of what drains, ``tank`` goes among its ``actuators``.

    >>> from engine.space import Slosh
    >>> round(Slosh(m1=2.0, length=0.5, z1=0.0, m0=1.0, z0=0.0).frequency(2.0), 6)  # rad/s: √(a/l)
    2.0
    """

    m1: float
    length: float
    z1: float
    m0: float
    z0: float
    joints: tuple[str, ...] = ()
    springs: tuple[JointSpring, ...] = ()
    liquid: SloshingTank | None = None

    @property
    def tank(self) -> SloshingTank:
        """The tank whose liquid swings and drains, for a simulator's ``actuators``."""
        if self.liquid is None:
            raise SimulationError("this slosh has no tank that drains: a cylinder's pendulum hangs from a hinge that sinks with the level; "
                                  "expected add_slosh of a sphere, or with kind='spring'")  # fmt: skip
        return self.liquid

    def frequency(self, acceleration: float) -> float:
        """Return ω = √(a/l), rad/s, under an acceleration along the tank's axis, m/s²."""
        return math.sqrt(acceleration / self.length)


def slosh_of(tank: Tank) -> Slosh:
    """Return the first lateral mode of a tank's liquid, as it is filled at first.

    Of a cylinder of radius R filled to h, with ξ the first zero of J₁' and T = tanh(ξ h/R): ω² = (a ξ/R) T, l = R/(ξ T),
    m₁ = 2 R T/(ξ (ξ² − 1) h) m, at h − (2 R/ξ) tanh(ξ h/2R) over the bottom. Of a sphere hinge and m₀ are at the centre, through which all
    pressure goes, and l = R/λ.

    Raises
    ------
    SimulationError : the tank is "uniform", or empty, or a sphere filled beyond what is known, 1.75 R

    References: Abramson, *The Dynamic Behavior of Liquids in Moving Containers*, NASA SP-106, ch. 6; McIver, *Sloshing frequencies for
    cylindrical and spherical containers filled to an arbitrary depth*, J. Fluid Mech. 201 (1989).

    >>> found = slosh_of(Tank("base", 100.0, shape="cylinder", radius=0.5, density=100.0 / (np.pi * 0.25 * 0.25)))
    >>> round(found.m1, 9), round(found.length, 9)
    (66.010846709, 0.373964342)
    """
    m, R = tank.fuel, tank.radius
    if tank.shape == "uniform" or not m > 0.0:
        raise SimulationError(f"'{tank.name}' is {tank.shape} and holds {m:g} kg; expected a sphere or a cylinder with a liquid")
    share = 1.0 + float(tank.level(m)) / R
    if tank.shape == "sphere" and share > SPHERE[-1][0]:
        raise SimulationError(f"'{tank.name}' is filled to {share:.3g} of its radius; expected up to {SPHERE[-1][0]:g}, where its slosh is "
                              "known")  # fmt: skip
    m1, length, z1, m0, z0 = map(float, first_mode(tank, m))
    return Slosh(m1, length, z1, m0, z0)


def first_mode(tank: Tank, fuel: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return m₁, l, z₁, m₀ and z₀ of a sphere or a cylinder with some propellant, as :class:`Slosh` has them."""
    m, R = ops.maximum(fuel, LEAST_FUEL * tank.capacity), tank.radius
    z = tank.level(m)
    if tank.shape == "cylinder":
        low = -0.5 * tank.length
        h = z - low
        T = ops.tanh(XI * h / R)
        m1, length = m * 2.0 * R * T / (XI * (XI * XI - 1.0) * h), R / (XI * T)
        z1 = h - 2.0 * R / XI * ops.tanh(XI * h / (2.0 * R))
        return m1, length, z1 + low, fuel - m1, (m * h / 2.0 - m1 * z1) / (m - m1) + low
    from scipy.interpolate import PchipInterpolator

    rows = np.array(SPHERE)
    eigenvalue, part = ops.spline(PchipInterpolator(rows[:, 0], rows[:, 1:]))(1.0 + z / R)
    return m * part, R / eigenvalue, -R / eigenvalue, fuel - m * part, 0.0 * fuel


def add_slosh(builder: Builder, tank: Tank, kind: str = "pendulum", damping: float = 0.0, acceleration: float | None = None,
              tension: float = 0.0728) -> Slosh:  # fmt: skip
    """Add a tank's liquid to a robot that is being built: m₀ to its link, and m₁ on a pendulum (a universal joint) or springs.

    The liquid is that of the tank's ``fuel``, for a whole run, unless the :class:`SloshingTank` that is ``tank`` of what is returned is
    among a simulator's actuators (``tank`` itself there would be propellant besides). Masses are points, as a liquid without friction does
    not turn with its tank.

    Parameters
    ----------
    tank : a sphere or a cylinder, whose z axis points up: against the liquid's weight
    kind : "pendulum", whose frequency follows the acceleration, and which without one swings round, to where its joint turns nothing
        (at 90°); "spring", which has that of one ``acceleration`` for ever: its springs go
        among a simulator's ``forces``
    damping : ζ of the mode: a damper in the joint, 2 ζ m₁ l² √(a/l) (of springs 2 ζ m₁ ω), so that it takes energy and no momentum
    acceleration : a along z, m/s², for the damping, and the springs
    tension : of the surface, N/m: where ρ a R²/σ is below 10 the liquid does not lie as is assumed, and it is warned

    Returns
    -------
    slosh : with the joints' names and the springs

    Raises
    ------
    SimulationError : the link is not there; damping or springs without an acceleration; what :func:`slosh_of` refuses

    Examples
    --------
    >>> import engine
    >>> builder = engine.Builder("stage")
    >>> _ = builder.add_link("base", inertia=engine.spatial.inertia.sphere(500.0, 1.0))
    >>> tank = Tank("base", 100.0, 50.0, shape="sphere")
    >>> slosh = add_slosh(builder, tank, damping=0.01, acceleration=0.1)
    >>> builder.model(floating_base=True).nv, round(float(slosh.frequency(0.1)), 6)
    (8, 0.736092)
    """
    if tank.link not in builder.graph:
        raise SimulationError(f"'{tank.name}' is part of the link '{tank.link}', which is not there; expected add_link first")
    one_of("kind", kind, KINDS, SimulationError)
    damping = number("damping", damping, "a number from 0", least=0.0, error=SimulationError)
    if acceleration is None and (damping or kind == "spring"):
        raise SimulationError(f"slosh of '{tank.name}' with {'springs' if kind == 'spring' else 'damping'} and without an acceleration; "
                              "expected acceleration=…, m/s²")  # fmt: skip
    a = 0.0 if acceleration is None else number("acceleration", acceleration, "m/s² above 0", above=0.0, error=SimulationError)
    found = slosh_of(tank)
    if acceleration is not None and (bond := tank.density * a * tank.radius**2 / tension) < LEAST_BOND:
        warn(f"the liquid of '{tank.name}' has the Bond number {bond:.2g} at {a:g} m/s²: its surface is not level; expected one above "
             f"{LEAST_BOND:g}", SimulationWarning)  # fmt: skip
    add_mass(builder, tank.link, inertia.transformed(tank.placement, point(found.m0, (0.0, 0.0, found.z0))))
    bob, w = f"slosh of {tank.name}", math.sqrt(a / found.length)
    if kind == "pendulum":
        builder.add_link(bob, point(found.m1, (0.0, 0.0, -found.length)))
        builder.add_joint(f"{bob} joint", "universal", tank.link, bob, at(tank, found.z1 + found.length), axis=(1.0, 0.0, 0.0),
                          axis2=(0.0, 1.0, 0.0), damping=2.0 * damping * found.m1 * found.length**2 * w)  # fmt: skip
        builder.graph.edges[tank.link, bob][LIQUID] = (tank.name, tank.radius, tank.link)
        liquid = SloshingTank(tank, found, (f"{bob} joint",), bob, damping, a) if tank.shape == "sphere" else None
        return Slosh(**{**vars(found), "joints": (f"{bob} joint",), "liquid": liquid})
    builder.add_link(f"{bob} x")
    builder.add_link(bob, point(found.m1, (0.0, 0.0, 0.0)))
    joints = (f"{bob} x joint", f"{bob} y joint")
    builder.add_joint(joints[0], "prismatic", tank.link, f"{bob} x", at(tank, found.z1), axis=(1.0, 0.0, 0.0))
    builder.add_joint(joints[1], "prismatic", f"{bob} x", bob, axis=(0.0, 1.0, 0.0))
    for parent, child in ((tank.link, f"{bob} x"), (f"{bob} x", bob)):
        builder.graph.edges[parent, child][SPRUNG] = "add_slosh"
    builder.graph.edges[f"{bob} x", bob][LIQUID] = tank.name, tank.radius, tank.link
    springs = tuple(JointSpring(j, found.m1 * w * w, damping=2.0 * damping * found.m1 * w) for j in joints)
    return Slosh(**{**vars(found), "joints": joints, "springs": springs, "liquid": SloshingTank(tank, found, joints, bob, damping, a)})


class SloshingTank(Tank):
    """A tank whose liquid swings, as :func:`add_slosh` has added it to a robot, and drains: m₁, its pendulum and m₀ are those of what is
    left, and with them springs and dampers.

    A flow ṁ is one of m₀ and m₁ together, m₀ the share that m₁ does not give: what m₁ loses it leaves with its own velocity, and it joins
    what is fixed, which feels the difference. So momentum with what flows and has left is kept, as of a :class:`Tank`, whose state and
    signals it has. The robot's own inertia is that with the propellant at first; an empty tank swings with a millionth of its capacity.

    >>> import engine
    >>> builder = engine.Builder("stage")
    >>> _ = builder.add_link("base", engine.spatial.inertia.sphere(500.0, 1.0))
    >>> tank = engine.space.Tank("base", 100.0, 50.0, shape="sphere")
    >>> slosh = engine.space.add_slosh(builder, tank, damping=0.01, acceleration=0.1)
    >>> type(slosh.tank).__name__, builder.model(floating_base=True).nv  # a pendulum that swings in two directions
    ('SloshingTank', 8)
    """

    def __init__(self, tank: Tank, slosh: Slosh, joints: tuple[str, ...], bob: str, damping: float, acceleration: float) -> None:
        vars(self).update(vars(tank))
        self.joints, self.bob, self.zeta, self.acceleration = joints, bob, damping, acceleration
        self.swings = len(joints) == 1
        self.hinge = slosh.z1 + slosh.length if self.swings else slosh.z1

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        for name in (self.bob, *self.joints):
            if name not in {*(link.name for link in model.links), *(j.name for j in model.joints)}:
                raise SimulationError(f"{self.name}: '{model.name}' has no '{name}'; expected the robot that add_slosh added it to")
        self.at_q = [k for j in self.joints for k in range(model.nq)[model.q_slice(j)]]
        self.at_v = [k for j in self.joints for k in range(model.nv)[model.v_slice(j)]]

    def masses(self, fuel: Any) -> Array:
        """Return of the fixed mass and the swinging one, about the link's origin along the tank's axis and about the swinging link's,
        masses, first and second moments (2, 3)."""
        m1, _, z1, m0, z0 = first_mode(self, fuel)
        d = z1 - self.hinge
        return ops.array([[m0, m0 * z0, m0 * z0 * z0], [m1, m1 * d, m1 * d * d]])

    def fixed(self, m: Array) -> Array:
        """Return of mass, first and second moment (3) along the tank's axis the inertia (6×6) about the link's origin."""
        return inertia_about_origin(self.placement, m[0], ops.array([0.0 * m[1], 0.0 * m[1], m[1]]), ops.array([m[2], m[2], 0.0 * m[2]]))

    def swinging(self, m: Array) -> Array:
        """Return the same of the swinging link about its own origin."""
        return inertia_about_origin(np.eye(4), m[0], ops.array([0.0 * m[1], 0.0 * m[1], m[1]]), ops.array([m[2], m[2], 0.0 * m[2]]))

    def slopes(self, fuel: Any) -> Array:
        """Return the derivatives of :meth:`masses` by the propellant (2, 3)."""
        return ops.jacobian(lambda x: self.masses(x[0]).reshape(6), ops.array([fuel])).reshape(2, 3)

    def along(self, m: Array) -> Array:
        """Return of both masses' moments (2, 3) those of their sum along the tank's axis about its centre (3), where nothing swings."""
        (m0, h0, s0), (m1, d1, s1) = m
        z = self.hinge
        return ops.array([m0 + m1, h0 + d1 + z * m1, s0 + s1 + 2.0 * z * d1 + z * z * m1])

    def slice_of(self, fuel: Any) -> Array:
        return self.fixed(self.along(self.slopes(fuel)))

    def rising(self, fuel: Any) -> Any:
        return ops.jacobian(lambda x: self.along(self.slopes(x[0]))[1:2], ops.array([fuel]))[0, 0]

    def bodies(self, state: Array, rate: Any) -> Mapping[str, tuple[Array, Any]]:
        (more, swing), (own, bob) = self.masses(state[0]) - self.masses(self.fuel), self.slopes(state[0])
        rates = (None, None) if rate is None else (rate[0] * self.fixed(own), rate[0] * self.swinging(bob))
        return {self.link: (self.fixed(more), rates[0]), self.bob: (self.swinging(swing), rates[1])}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        does = super().act(s, state, memory, command)
        lost = -does.signals["flow"] * self.slopes(state[0])[1]                # of m₁'s moments
        T, there = se3.inv(s.pose(self.link)) @ s.pose(self.bob), self.placement @ se3.pose(np.eye(3), [0.0, 0.0, self.hinge])
        leaves, R, p = self.swinging(lost) @ s.twist(self.bob), T[:3, :3], T[:3, 3]
        f = R @ leaves[3:]
        arrives = inertia.transformed(there, self.swinging(lost)) @ s.twist(self.link)
        does.wrenches[self.link] = does.wrenches[self.link] + arrives - np.concatenate([R @ leaves[:3] + ops.cross(p, f), f])
        spring, damper = (x - y for x, y in zip(self.laws(state[0]), self.laws(self.fuel), strict=True))
        tau: list[Any] = [0.0] * s.model.nv
        for i, j in zip(self.at_q, self.at_v, strict=True):
            tau[j] = -spring * s.q[i] - damper * s.v[j]
        x = s.q[np.array(self.at_q)]
        does.tau, does.signals = ops.array(tau), {**does.signals, "energy": 0.5 * spring * (x @ x)}
        return does

    def laws(self, fuel: Any) -> tuple[Any, Any]:
        """Return the stiffness and the damping of a joint: of a pendulum, which thrust makes stiff, the latter alone."""
        m1, length, *_ = first_mode(self, fuel)
        w = ops.sqrt(self.acceleration / length)
        return (0.0 * w, 2.0 * self.zeta * m1 * length**2 * w) if self.swings else (m1 * w * w, 2.0 * self.zeta * m1 * w)


def point(m: float, place: Any) -> Array:
    """Return the inertia (6×6) of a mass in a place."""
    return inertia.from_mass(m, np.array(place), np.zeros((3, 3)))


def at(tank: Tank, z: float) -> Array:
    """Return the pose of a height in a tank in its link's frame."""
    return np.asarray(tank.placement @ se3.pose(np.eye(3), [0.0, 0.0, z]))


def add_mass(builder: Builder, link: str, G: Array) -> None:
    """Add an inertia (6×6) about its origin to a link of a robot that is being built."""
    node: dict[str, Any] = builder.graph.nodes[link]
    old = node["link"]
    node["link"] = Link(old.name, old.inertia + G, old.visuals, old.collisions)
