"""Slosh: a liquid's first lateral mode as a pendulum, or a mass on springs, in a robot that is built by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checks import number, one_of, warn
from engine.components.component import SimulationError, SimulationWarning
from engine.components.forces import JointSpring
from engine.model import Builder, Link
from engine.space.tank import Tank
from engine.spatial import inertia, se3

Array = np.ndarray
#: the first zero of J₁'
XI = 1.8411837813406593
#: of a sphere of radius R filled to h: h/R, λ = ω² R/a, m₁/m (Ritz's method with 36 solid harmonics; half full it is McIver's 1.5602)
SPHERE = ((0.25, 1.092381, 0.912006), (0.5, 1.207717, 0.813719), (0.75, 1.356965, 0.703523), (1.0, 1.560157, 0.579693),
          (1.25, 1.85913, 0.44078), (1.5, 2.3622, 0.28693), (1.75, 3.500, 0.1249))  # fmt: skip
#: Bond number ρ a R²/σ below which a liquid's surface is its tension's and not the acceleration's
LEAST_BOND = 10.0
KINDS = ("pendulum", "spring")


@dataclass(frozen=True)
class Slosh:
    """A liquid that swings: m₁, kg, at z₁, m, on a pendulum of length l from a hinge at z₁ + l, and m₀ fixed at z₀.

    Heights are over the tank's centre, along its z axis. ``joints`` are the names of what was added to a robot, and ``springs`` the forces
    that belong to them, for a simulator's ``forces``.
    """

    m1: float
    length: float
    z1: float
    m0: float
    z0: float
    joints: tuple[str, ...] = ()
    springs: tuple[JointSpring, ...] = ()

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
    SimulationError : the tank is "uniform", or empty, or a sphere filled beyond what is known, h from 0.25 R to 1.75 R

    References: Abramson, *The Dynamic Behavior of Liquids in Moving Containers*, NASA SP-106, ch. 6; McIver, *Sloshing frequencies for
    cylindrical and spherical containers filled to an arbitrary depth*, J. Fluid Mech. 201 (1989).

    >>> found = slosh_of(Tank("base", 100.0, shape="cylinder", radius=0.5, density=100.0 / (np.pi * 0.25 * 0.25)))
    >>> round(found.m1, 9), round(found.length, 9)
    (66.010846709, 0.373964342)
    """
    m, R = tank.fuel, tank.radius
    if tank.shape == "uniform" or not m > 0.0:
        raise SimulationError(f"'{tank.name}' is {tank.shape} and holds {m:g} kg; expected a sphere or a cylinder with a liquid")
    z = float(tank.level(m))
    if tank.shape == "cylinder":
        low = -0.5 * tank.length
        h = z - low
        T = math.tanh(XI * h / R)
        m1, length = m * 2.0 * R * T / (XI * (XI * XI - 1.0) * h), R / (XI * T)
        z1 = h - 2.0 * R / XI * math.tanh(XI * h / (2.0 * R))
        m0 = m - m1
        return Slosh(m1, length, z1 + low, m0, (m * h / 2.0 - m1 * z1) / m0 + low)
    rows = np.array(SPHERE)
    share = 1.0 + z / R
    if not rows[0, 0] <= share <= rows[-1, 0]:
        known = f"{rows[0, 0]:g} to {rows[-1, 0]:g}"
        raise SimulationError(f"'{tank.name}' is filled to {share:.3g} of its radius; expected from {known}, where its slosh is known")
    from scipy.interpolate import PchipInterpolator

    eigenvalue, part = PchipInterpolator(rows[:, 0], rows[:, 1:])(share)
    length = R / float(eigenvalue)
    return Slosh(m * float(part), length, -length, m * (1.0 - float(part)), 0.0)


def add_slosh(builder: Builder, tank: Tank, kind: str = "pendulum", damping: float = 0.0, acceleration: float | None = None,
              tension: float = 0.0728) -> Slosh:  # fmt: skip
    """Add a tank's liquid to a robot that is being built: m₀ to its link, and m₁ on a pendulum (a universal joint) or springs.

    The liquid is that of the tank's ``fuel``, for a whole run: it does not drain (a Tank among a simulator's actuators is propellant of its
    own). Masses are points, as a liquid without friction does not turn with its tank.

    Parameters
    ----------
    tank : a sphere or a cylinder, whose z axis points up: against the liquid's weight
    kind : "pendulum", whose frequency follows the acceleration; "spring", which has that of one ``acceleration`` for ever: its springs go
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
        return Slosh(**{**vars(found), "joints": (f"{bob} joint",)})
    builder.add_link(f"{bob} x")
    builder.add_link(bob, point(found.m1, (0.0, 0.0, 0.0)))
    joints = (f"{bob} x joint", f"{bob} y joint")
    builder.add_joint(joints[0], "prismatic", tank.link, f"{bob} x", at(tank, found.z1), axis=(1.0, 0.0, 0.0))
    builder.add_joint(joints[1], "prismatic", f"{bob} x", bob, axis=(0.0, 1.0, 0.0))
    springs = tuple(JointSpring(j, found.m1 * w * w, damping=2.0 * damping * found.m1 * w) for j in joints)
    return Slosh(**{**vars(found), "joints": joints, "springs": springs})


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
