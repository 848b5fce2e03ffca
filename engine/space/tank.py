"""Tanks: propellant that is part of a link's inertia, and flows out of it while thrusters burn."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import Range, number, numbers, one_of, shown
from engine.components.actuators import require_moving
from engine.components.assembly import LIQUID
from engine.components.component import Component, Context, Effect, SimulationError
from engine.components.forces import MOMENTUM
from engine.model import Model
from engine.spatial import inertia, se3, so3

Array = np.ndarray
SHAPES = ("uniform", "sphere", "cylinder")
#: where Σ ṁ r rᵀ has its xx, xy, xz, yy, yz, zz
PLACES = ((0, 1, 2), (1, 3, 4), (2, 4, 5))


class Tank(Component):
    """Propellant in a link: its mass is a state, and thrusters with ``tank=`` draw from it.

    The link's own inertia is the dry one. With the flow ṁ_j out of a nozzle at r_j, the propellant's first moment h and inertia I about the
    link's origin, p_r = ḣ + Σ ṁ_j r_j, and l_r = Σ ṁ_j r_t × r_j (a straight pipe from the tank's centre r_t), steady flow adds to thrusts
    the jet damping::

        force −2 ω × p_r − ḧ,   moment −[İ ω + Σ ṁ_j r_j × (ω × r_j) + ω × l_r]                                                (1)

    (ḧ = (Σ ṁ)² dz/dm along the tank's axis, as a level falls),
    and what has left takes along ∫ Σ ṁ_j (v_j − v_e d_j): momentum of the robot, of the flow inside it, R [l_r; p_r], and of that is the
    same for ever. (When thrusters ignite, p_r has no time in which it came to be: that impulse is left out.)

    Parameters
    ----------
    link : that it is part of
    capacity : the most that it holds, kg
    fuel : at first, kg; by default it is full. A simulation's parameter "tank.fuel" is another, for a batch's rows
    shape : where propellant is. "uniform": it shrinks where it is, with the squared radii of ``gyration`` about the tank's centre;
        "sphere", of the volume of the capacity; "cylinder", of a ``radius`` along z: it lies at the bottom, at −z, with a level surface
    placement : of the tank's centre in the link's frame: a place (3), or a pose (4, 4)
    density : kg/m³
    radius : of a cylinder, m
    gyration : of "uniform", I/m about the centre along the tank's axes (3), m²
    pressure, gas : of a blow-down, Pa and m³ at first: thrusts fall as p = p₀ V₀/(V₀ + used/ρ), at one temperature

    State: the propellant, kg, and what has left: its angular momentum about the world's origin (3) and its linear one (3), world axes.
    Signals: ``fuel``, ``flow`` Σ ṁ, kg/s, ``pressure``, and ``momentum`` (6), world axes: what with the robot's own
    (:meth:`Trajectory.momentum`) is kept.

    Raises
    ------
    SimulationError : it does not fit its link, or the propellant the tank; the link has no dry mass

    Reference: Thomson, *Introduction to Space Dynamics*, §7.9 (variable mass).

    Examples
    --------
    A tonne of which a fifth burns at 220 s gains Tsiolkovsky's velocity:

    >>> import engine
    >>> rocket = engine.Builder("rocket")
    >>> _ = rocket.add_link("hull", inertia=engine.spatial.inertia.sphere(800.0, 1.0))
    >>> tank = Tank("hull", capacity=200.0)
    >>> jet = engine.space.Thrusters("hull", [[0, 0, -1]], [[0, 0, 1]], most=400.0, tank=tank, isp=220.0)
    >>> simulator = engine.Simulator(rocket.model(floating_base=True), dt=0.5, gravity=(0, 0, 0), actuators=[jet, tank],
    ...                              controller=lambda t, q, v: {"thrusters": np.array([400.0])})
    >>> flight = simulator.run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), duration=1200.0, record_every=100)
    >>> round(float(flight.v[-1, 5] / (220.0 * 9.80665 * np.log(1000.0 / 800.0))), 9), float(flight("tank.fuel")[-1]) < 1e-9
    (1.0, True)
    """

    command = (16,)
    units = types.MappingProxyType({"fuel": "kg", "flow": "kg/s", "pressure": "Pa", "momentum": MOMENTUM})

    def __init__(self, link: str, capacity: float, fuel: float | None = None, shape: str = "uniform", placement: Any = (0.0, 0.0, 0.0),
                 density: float = 1000.0, radius: float | None = None, gyration: Any = (0.0, 0.0, 0.0), pressure: float | None = None,
                 gas: float | None = None, name: str = "tank") -> None:  # fmt: skip
        if not isinstance(link, str) or not link:
            raise SimulationError(f"{name}: link is {shown(link)}; expected the name of the link that it is part of")
        self.link, self.name = link, name
        self.shape = one_of(f"{name}: shape", shape, SHAPES, SimulationError)
        self.capacity, self.density = (number(f"{name}: {n}", x, "a number above 0", above=0.0, error=SimulationError)
                                       for n, x in (("capacity", capacity), ("density", density)))  # fmt: skip
        self.fuel = number(f"{name}: fuel", self.capacity if fuel is None else fuel, "kg from 0", least=0.0, error=SimulationError)
        if self.fuel > self.capacity:
            raise SimulationError(f"{name}: fuel is {self.fuel:g} kg, and {self.capacity:g} kg fit in; expected no more than that")
        place = numbers(f"{name}: placement", placement, SimulationError)
        if place.shape not in ((3,), (4, 4)):
            raise SimulationError(f"{name}: placement has shape {place.shape}; expected a place (3), or a pose (4, 4)")
        self.placement = se3.pose(np.eye(3), place) if place.shape == (3,) else place
        self.gyration = numbers(f"{name}: gyration", gyration, SimulationError)
        if self.gyration.shape != (3,) or (self.gyration < 0.0).any():
            raise SimulationError(f"{name}: gyration is {shown(self.gyration.tolist())}; expected three numbers from 0, m²")
        if (radius is None) != (self.shape != "cylinder"):
            raise SimulationError(f"{name}: radius is {radius!r} of a shape '{shape}'; expected one of a cylinder, and of nothing else")
        volume = self.capacity / self.density
        self.radius = (3.0 * volume / (4.0 * math.pi)) ** (1.0 / 3.0)
        if radius is not None:
            self.radius = number(f"{name}: radius", radius, "m above 0", above=0.0, error=SimulationError)
        self.length = volume / (math.pi * self.radius**2)                      # of a cylinder
        if (pressure is None) != (gas is None):
            raise SimulationError(f"{name}: pressure is {pressure!r} and gas {gas!r}; expected both, or neither")
        self.pressure, self.gas = (None if x is None else number(f"{name}: {n}", x, "a number above 0", above=0.0, error=SimulationError)
                                   for n, x in (("pressure", pressure), ("gas", gas)))  # fmt: skip
        self.state = np.concatenate([[self.fuel], np.zeros(6)])

    def begun(self, s: Context) -> Array:
        return ops.array([self.value(s, "fuel"), *np.zeros(6)])

    def require_parameter(self, what: str, x: Array, shape: tuple[int, ...]) -> None:
        if what == "fuel" and (shape or not ((x >= 0.0) & (x <= self.capacity)).all()):
            given = f"has shape {shape}" if shape else f"is {x[~((x >= 0.0) & (x <= self.capacity))][0]:g} kg"
            raise SimulationError(f"parameter '{self.name}.fuel' {given}, and {self.capacity:g} kg fit in; expected a number from 0 to "
                                  "that")  # fmt: skip

    def possible(self, what: str, x: Array) -> Any:
        return ops.logical_and(ops.less_equal(0.0, x[()]), ops.less_equal(x[()], self.capacity)) if what == "fuel" else True

    def range_of(self, what: str, parameters: Mapping[str, Array]) -> Range | None:
        return Range(0.0, self.capacity) if what == "fuel" else Range()

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)
        if not model.link(self.link).mass > 0.0:
            raise SimulationError(f"{self.name}: link '{self.link}' has no mass; expected the dry mass that is left without fuel")
        liquids = [data[LIQUID] for *_, data in model.graph.edges.data() if LIQUID in data]
        if type(self) is Tank and any(name == self.name and link == self.link for name, _, link in liquids):
            raise SimulationError(f"{self.name}: its liquid is part of the robot already, as add_slosh has added it; expected the tank of "
                                  "what that returned, slosh.tank, among the actuators, or none")  # fmt: skip

    # ------------------------------------------------------------ where propellant is

    def level(self, fuel: Any) -> Any:
        """Return how high the surface is over the tank's centre, along its z axis, m."""
        share = ops.minimum(ops.maximum(fuel / self.capacity, 0.0), 1.0)
        if self.shape == "cylinder":
            return self.length * (share - 0.5)
        return 2.0 * self.radius * ops.cos((ops.arccos(1.0 - 2.0 * share) + 4.0 * math.pi) / 3.0)      # x³ − 3 x + 4 share − 2 = 0

    def moments(self, fuel: Any) -> tuple[Any, Any, Any]:
        """Return of propellant, in the tank's axes about its centre, its first moment along z, and its inertia across and along."""
        k, rho, R, z = self.gyration, self.density, self.radius, self.level(fuel)
        if self.shape == "uniform":
            return 0.0 * fuel, fuel * k[0], fuel * k[2]
        if self.shape == "cylinder":
            a2, low = R * R, -0.5 * self.length
            height = z - low
            return fuel * 0.5 * (z + low), fuel * (a2 / 4.0 + height * height / 12.0 + (0.5 * (z + low)) ** 2), fuel * a2 / 2.0
        A = math.pi * rho                                                      # slices of the radius² a² = R² − z²
        h = A * ((R * z) ** 2 / 2.0 - z**4 / 4.0 - R**4 / 4.0)
        along = A / 2.0 * (R**4 * z - 2.0 / 3.0 * R * R * z**3 + z**5 / 5.0 + 8.0 / 15.0 * R**5)
        square = A * (R * R * z**3 / 3.0 - z**5 / 5.0 + 2.0 / 15.0 * R**5)     # ∫ z² dm
        return h, along / 2.0 + square, along

    def inertia_of(self, fuel: Any) -> Array:
        """Return the inertia (6×6) of propellant, kg, about the link's origin, in its axes."""
        h, across, along = self.moments(fuel)
        second = across if self.shape != "uniform" else fuel * self.gyration[1]
        return inertia_about_origin(self.placement, fuel, ops.array([0.0 * fuel, 0.0 * fuel, h]), ops.array([across, second, along]))

    def slice_of(self, fuel: Any) -> Array:
        """Return the inertia (6×6) of a kilogram of what leaves next, or comes last: at the surface."""
        k = self.gyration
        if self.shape == "uniform":
            return inertia_about_origin(self.placement, 1.0, np.zeros(3), k)
        z = self.level(fuel)
        a2 = self.radius**2 - (z * z if self.shape == "sphere" else 0.0)
        across = a2 / 4.0 + z * z
        return inertia_about_origin(self.placement, 1.0, ops.array([0.0 * z, 0.0 * z, z]), ops.array([across, across, 0.5 * a2 + 0.0 * z]))

    def rising(self, fuel: Any) -> Any:
        """Return dz/dm of the surface, m/kg: infinite where a sphere is full or empty, and there taken as if it were a tenth wide."""
        if self.shape == "uniform":
            return 0.0
        z = self.level(fuel)
        a2 = self.radius**2 if self.shape == "cylinder" else ops.maximum(self.radius**2 - z * z, 1e-2 * self.radius**2)
        return 1.0 / (math.pi * self.density * a2)

    def bodies(self, state: Array, rate: Any) -> Mapping[str, tuple[Array, Any]]:
        return {self.link: (self.inertia_of(state[0]), None if rate is None else rate[0] * self.slice_of(state[0]))}

    # ------------------------------------------------------------ what flows

    def pressure_ratio(self, s: Context) -> Any:
        """Return the pressure relative to what it was at first."""
        used = self.value(s, "fuel") - s.states[self.name][0]
        return 1.0 if self.gas is None else self.gas / (self.gas + used / self.density)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        flow = np.zeros(16) if command is None else command
        mdot, first, moment, force = flow[0], flow[1:4], flow[10:13], flow[13:]
        square = np.array([[flow[4 + PLACES[i][j]] for j in range(3)] for i in range(3)])
        leaving = (np.trace(square)) * np.eye(3) - square                      # Σ ṁ r × (ω × r) = this times ω
        G = -mdot * self.slice_of(state[0])
        T, V = s.pose(self.link), s.twist(self.link)
        (R, p), w, v = (T[:3, :3], T[:3, 3]), V[:3], V[3:]
        p_r = inertia.first_moment(G) + first
        l_r = ops.cross(self.placement[:3, 3], first)
        damping = -(G[:3, :3] @ w + leaving @ w + ops.cross(w, l_r))
        falling = mdot * mdot * self.rising(state[0]) * self.placement[:3, 2]
        linear = mdot * v + ops.cross(w, first) - force                        # what leaves, in the link's axes about its origin
        angular = ops.cross(first, v) + leaving @ w - moment
        left = ops.array([*(R @ angular + ops.cross(p, R @ linear)), *(R @ linear)])
        inside = np.concatenate([R @ l_r + ops.cross(p, R @ p_r), R @ p_r])
        signals = {"fuel": state[0], "flow": mdot, "momentum": state[1:] + inside}
        if self.pressure is not None:
            signals["pressure"] = self.pressure * self.pressure_ratio(s)
        return Effect(wrenches={self.link: np.concatenate([damping, -2.0 * ops.cross(w, p_r) - falling])},
                      rate=ops.array([-mdot, *left]), signals=signals)  # fmt: skip


def inertia_about_origin(T: Array, m: Any, h: Array, I: Array) -> Array:
    """Return the inertia (6×6) about a link's origin of a mass m with first moment h (3) and principal moments I (3) about the origin of a
    frame that has the pose T in the link's."""
    R, p = T[:3, :3], T[:3, 3]
    own = R @ (I[:, None] * np.eye(3)) @ R.T
    turned = R @ h
    w = turned + 0.5 * m * p
    tensor = own + 2.0 * (w @ p) * np.eye(3) - np.outer(w, p) - np.outer(p, w)
    H = so3.hat(turned + m * p)
    return np.block([[tensor, H], [-H, m * np.eye(3)]])
