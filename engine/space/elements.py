"""Osculating elements of an orbit: six numbers for a place and a velocity, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checks import number, numbers, shown, warn
from engine.components.component import SimulationError, SimulationWarning

Array = np.ndarray
#: s, the age of the universe; n, rad/s, at the surface of a ball of osmium: √(4/3 π G ρ) of 22590 kg/m³
AGE, DENSE = 4.35e17, 2.51e-3
#: an eccentricity, and an inclination, rad, below which an orbit has no perigee, and no node
FLAT = 1e-11


@dataclass(frozen=True)
class Elements:
    """An ellipse about a planet and a place on it.

    Parameters
    ----------
    a : semi-major axis, m
    e : eccentricity, 0 ≤ e < 1
    i, node, perigee : inclination, right ascension of the ascending node, argument of the perigee, rad
    anomaly : true anomaly, rad

    A circle's perigee is its node, an equatorial orbit's node the x axis: below 1e-11 they are 0, and what follows begins there.

    Raises
    ------
    SimulationError : a is not above zero, e not within 0 … 1, i not within half a turn, or something is no number

    Warns
    -----
    SimulationWarning : an angle is beyond a turn, as degrees are; ``state``: the orbit lies within what pulls so, as of kilometres

    References: Vallado, *Fundamentals of Astrodynamics*, §2.5 and 2.6.

    Examples
    --------
    >>> orbit = Elements(a=7e6, e=0.1, i=0.5, node=1.0, perigee=2.0, anomaly=3.0)
    >>> again = Elements.of(*orbit.state(3.986e14), 3.986e14)
    >>> [float(f"{x:.9g}") for x in (again.a, again.e, again.i, again.node, again.perigee, again.anomaly)]
    [7000000.0, 0.1, 0.5, 1.0, 2.0, 3.0]
    """

    a: float
    e: float = 0.0
    i: float = 0.0
    node: float = 0.0
    perigee: float = 0.0
    anomaly: float = 0.0

    def __post_init__(self) -> None:
        number("a semi-major axis", self.a, "m above 0", above=0.0, error=SimulationError)
        number("an eccentricity", self.e, "a number from 0, below 1", least=0.0, below=1.0, error=SimulationError)
        for what in ("i", "node", "perigee", "anomaly"):
            x = number(f"the element '{what}'", getattr(self, what), "an angle, rad", error=SimulationError)
            if what == "i" and abs(x) > math.pi:
                raise SimulationError(f"the element 'i' is {x:g}; expected an inclination within half a turn, rad: np.radians of degrees")
            if abs(x) > 2.0 * math.pi:
                warn(f"the element '{what}' is {x:g} rad, more than a turn; expected radians: np.radians of degrees", SimulationWarning)

    @classmethod
    def of(cls, position: Any, velocity: Any, mu: float) -> Elements:
        """Return the elements of a place, m (3), and a velocity, m/s (3), about a centre of gravity μ, m³/s².

        >>> from engine.space import Elements
        >>> Elements.of([4.0, 0, 0], [0, 1.0, 0], mu=4.0).a  # m: a circle, v² = μ/r
        4.0
        """
        r, v = (numbers(n, x, SimulationError) for n, x in (("position", position), ("velocity", velocity)))
        if r.shape != (3,) or v.shape != (3,) or not r.any():
            raise SimulationError(f"position and velocity are {shown(r.tolist())} and {shown(v.tolist())}; expected three numbers each")
        d, h = float(np.linalg.norm(r)), np.cross(r, v)
        inverse = 2.0 / d - float(v @ v) / mu
        if inverse <= 0.0 or not h.any():
            raise SimulationError(f"the motion at {shown(r.tolist())} m with {shown(v.tolist())} m/s is no ellipse; expected one")
        W = h / np.linalg.norm(h)
        eccentricity = np.cross(v, h) / mu - r / d
        e = float(np.linalg.norm(eccentricity))
        i = math.atan2(math.hypot(W[0], W[1]), W[2])
        ascending = np.array([-W[1], W[0], 0.0]) if i >= FLAT else np.array([1.0, 0.0, 0.0])
        P = ascending / np.linalg.norm(ascending)
        node = math.atan2(P[1], P[0]) % (2.0 * math.pi)

        def angle(x: Array, start: Array) -> float:
            """Return how far x lies from the start, in the orbit's plane along the motion."""
            return math.atan2(float(np.cross(start, x) @ W), float(start @ x)) % (2.0 * math.pi)

        perigee = angle(eccentricity, P) if e >= FLAT else 0.0
        return cls(1.0 / inverse, e if e >= FLAT else 0.0, i, node, perigee, angle(r, eccentricity if e >= FLAT else P))

    def state(self, mu: float) -> tuple[Array, Array]:
        """Return place, m (3), and velocity, m/s (3), about a centre of gravity μ, m³/s².

        >>> from engine.space import EARTH_MU, Elements
        >>> r, v = Elements.of([7e6, 0, 0], [0, 7546.0, 0], EARTH_MU).state(EARTH_MU)
        >>> r.round(3) + 0.0, v.round(6) + 0.0
        (array([7000000.,       0.,       0.]), array([   0., 7546.,    0.]))
        """
        motion(mu, self.a)
        return self.state_about(mu)

    def state_about(self, mu: float) -> tuple[Array, Array]:
        """Return the same without a warning."""
        c, s = math.cos(self.anomaly), math.sin(self.anomaly)
        p = self.a * (1.0 - self.e) * (1.0 + self.e)
        P, Q = self.axes.T
        k = math.sqrt(mu / p)
        return p / (1.0 + self.e * c) * (c * P + s * Q), k * (-s * P + (self.e + c) * Q)

    @property
    def axes(self) -> Array:
        """The unit vectors P to the perigee, and Q a quarter of a turn on, as columns (3×2).

        >>> from engine.space import Elements
        >>> Elements.of([4.0, 0, 0], [0, 1.2, 0], mu=4.0).axes.round(9) + 0.0  # the perigee is along x
        array([[1., 0.],
               [0., 1.],
               [0., 0.]])
        """
        (cO, sO), (ci, si), (cw, sw) = ((math.cos(x), math.sin(x)) for x in (self.node, self.i, self.perigee))
        return np.array([[cO * cw - sO * sw * ci, -cO * sw - sO * cw * ci],
                         [sO * cw + cO * sw * ci, -sO * sw + cO * cw * ci], [sw * si, cw * si]])  # fmt: skip

    @property
    def eccentric(self) -> float:
        """The eccentric anomaly E, rad, from 0 to 2π.

        >>> from engine.space import Elements
        >>> round(Elements.of([4.0, 0, 0], [0, 1.2, 0], mu=4.0).eccentric, 9)  # at the perigee
        0.0
        """
        c, s = math.cos(self.anomaly), math.sin(self.anomaly)
        return math.atan2(math.sqrt((1.0 - self.e) * (1.0 + self.e)) * s, self.e + c) % (2.0 * math.pi)

    @property
    def mean(self) -> float:
        """The mean anomaly M = E − e sin E, rad.

        >>> from engine.space import Elements
        >>> round(Elements.of([4.0, 0, 0], [0, 1.2, 0], mu=4.0).mean, 9)  # at the perigee
        0.0
        """
        return self.eccentric - self.e * math.sin(self.eccentric)


def motion(mu: Any, a: Any) -> float:
    """Return the mean motion √(μ/a³), rad/s, and warn of one that no orbit has, as of kilometres, or where the two are exchanged."""
    mu, a = (number(what, x, f"{unit} above 0", above=0.0, error=SimulationError) for what, x, unit in (("mu", mu, "m³/s²"), ("a", a, "m")))
    n = math.sqrt(mu / a) / a
    wrong = f"lasts {2.0 * math.pi / n:.3g} s, longer than the universe" if n * AGE < 2.0 * math.pi else ""
    wrong = "lies within whatever pulls so, were it of osmium" if n > DENSE else wrong
    if wrong:
        warn(f"an orbit of a = {a:.4g} m about μ = {mu:.4g} m³/s² {wrong}; expected μ in m³/s², and a in m", SimulationWarning)
    return n
