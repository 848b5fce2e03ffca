"""Solar radiation pressure on facets, and eclipses."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import Range, number, shown, warn
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.model import Model
from engine.space.ephemeris import ASTRONOMICAL_UNIT, SUN_RADIUS
from engine.space.facets import Facets, require_facets
from engine.space.gravity import EARTH_RADIUS

Array = np.ndarray
LIGHT_SPEED, SOLAR_FLUX = 299792458.0, 1361.0
#: m from the Sun: nothing has flown nearer
NEAREST = 5e9


def lit(a: Any, b: Any, c: Any) -> Any:
    """Return the share of a disc of radius a that another of radius b, whose centre is c away from its own, leaves: all angles, rad.

    1 where c ≥ a + b, 0 where c ≤ b − a, 1 − (b/a)² where c ≤ a − b, and in between, with x = (c² + a² − b²)/2c and y = √(a² − x²)::

        1 − [a² acos(x/a) + b² acos((c − x)/b) − c y]/(π a²)

    Reference: Montenbruck & Gill, *Satellite Orbits*, §3.4.2.

    >>> [round(float(lit(a, b, c)), 12) for a, b, c in ((0.01, 0.01, 0.02), (0.01, 0.02, 0.0), (0.02, 0.01, 0.0))]
    [1.0, 0.0, 0.75]
    """
    d = ops.maximum(c, 1e-12)
    x = ((d - b) * (d + b) + a * a) / (2.0 * d)
    y = ops.sqrt(ops.maximum((a - x) * (a + x), 0.0))
    part = 1.0 - (a * a * ops.arctan2(y, x) + b * b * ops.arctan2(y, d - x) - d * y) / (np.pi * a * a)      # acos loses digits near 1
    inside = ops.where(ops.less(a, b), 0.0, 1.0 - (b / a) ** 2)
    covered = ops.less_equal(c, abs(b - a))
    return ops.where(ops.less_equal(a + b, c), 1.0, ops.where(covered, inside, part))


class Eclipse:
    """Eclipse of the Sun by the planet at the centre of the orbit: umbra, penumbra, and what is annular, of discs.

    Parameters
    ----------
    sun : a function of t, s, that returns its place, m (3), such as :func:`engine.space.sun` makes
    radius : of the planet, m; sun_radius : of the Sun

    >>> behind = Eclipse(lambda t: np.array([1.495978707e11, 0.0, 0.0]))
    >>> float(behind(np.array([-7e6, 0.0, 0.0]), 0.0)), float(behind(np.array([7e6, 0.0, 0.0]), 0.0))
    (0.0, 1.0)
    """

    def __init__(self, sun: Callable[[Any], Any], radius: float = EARTH_RADIUS, sun_radius: float = SUN_RADIUS) -> None:
        if not callable(sun):
            raise SimulationError(f"an eclipse's sun is {shown(sun)}; expected a function of t that returns its place (3), m")
        self.sun = sun
        self.radius, self.sun_radius = (number(f"an eclipse's {n}", x, "m above 0", above=0.0, error=SimulationError)
                                        for n, x in (("radius", radius), ("sun_radius", sun_radius)))  # fmt: skip

    def __call__(self, r: Array, t: Any) -> Any:
        """Return ν, from 0 to 1, at r, m (3), at t, s."""
        away, d = np.asarray(self.sun(t)) - r, ops.norm(r)
        far = ops.norm(away)
        a, b = ops.arcsin(self.sun_radius / far), ops.arcsin(ops.minimum(self.radius / d, 1.0))
        c = ops.arctan2(ops.norm(ops.cross(away, r)), -(away @ r))              # arccos loses its digits where it is small
        return lit(a, b, c)


class SolarPressure(Component):
    """Pressure of the Sun's light on facets: f = −ν P A c [(1 − r_s) ŝ + 2 (r_s c + r_d/3) n̂], c = (n̂·ŝ)₊, at each one's centre.

    ŝ points at the Sun; P = (S/c_light) (AU/d)², at the distance d.

    Parameters
    ----------
    facets : of what it acts on
    sun : a function of t, s, that returns its place about the planet, m (3)
    eclipse : an :class:`Eclipse`; None: there is none
    specular, diffuse : shares r_s and r_d of the light that are mirrored and scattered, one for all, or by link for each facet; the
        parameters "light.specular" and "light.diffuse" are others for all
    flux : S, W/m² at one astronomical unit

    Signals: ``light`` ν at the first link with facets (each is lit as at its own place), and ``force`` (3), N, the sum in world axes.

    Reference: Montenbruck & Gill, *Satellite Orbits*, §3.4 (with scattered light by Lambert's law).

    >>> SolarPressure(Facets({"plate": [((0, 0, 0), (1, 0, 0), 10.0)]}), lambda t: np.array([1.5e11, 0, 0])).name
    'light'
    """

    counts = ("specular", "diffuse")
    units = types.MappingProxyType({"force": "N"})

    def __init__(self, facets: Facets, sun: Callable[[Any], Any], eclipse: Eclipse | None = None,
                 specular: float | Mapping[str, Any] = 0.0, diffuse: float | Mapping[str, Any] = 0.0, flux: float = SOLAR_FLUX,
                 name: str = "light") -> None:  # fmt: skip
        self.facets, self.sun, self.eclipse, self.name = require_facets(name, facets), sun, eclipse, name
        if not callable(sun):
            raise SimulationError(f"{name}: the sun is {shown(sun)}; expected a function of t that returns its place (3), m")
        if eclipse is not None and not callable(eclipse):
            raise SimulationError(f"{name}: the eclipse is {shown(eclipse)}; expected an engine.space.Eclipse, or None")
        self.flux = number(f"{name}: flux", flux, "W/m² from 0", least=0.0, error=SimulationError)
        self.specular, self.diffuse = (facets.values(f"{name}: {what}", x, 0.0)
                                       for what, x in (("specular", specular), ("diffuse", diffuse)))  # fmt: skip
        for link in facets.areas:
            r_s, r_d = self.specular[link], self.diffuse[link]
            if (r_s < 0.0).any() or (r_d < 0.0).any() or (r_s + r_d > 1.0).any():
                most = float((r_s + r_d).max())
                raise SimulationError(f"{name}: shares of '{link}' add up to {most:g}; expected numbers from 0, up to 1 together")

    def require_together(self, own: Mapping[str, Array]) -> None:
        for link, areas in self.facets.areas.items():
            r_s, r_d = (own[what][..., None] if what in own else x[link] for what, x in (("specular", self.specular),
                                                                                      ("diffuse", self.diffuse)))  # fmt: skip
            if (most := float(np.max(r_s + r_d + np.zeros(len(areas))))) > 1.0:
                named = " and ".join(f"'{self.name}.{what}'" for what in own if what in self.counts)
                raise SimulationError(f"shares of '{link}' add up to {most:g} with {named}; expected up to 1 together")

    def range_of(self, what: str, parameters: Mapping[str, Array]) -> Range | None:
        """Return a parameter's range: shares of reflection add up to at most 1. One is bounded beside the other as it is; where both are
        parameters, neither is by itself."""
        if what not in self.counts:
            return Range()
        if all(f"{self.name}.{n}" in parameters for n in self.counts):
            return None
        other = self.diffuse if what == "specular" else self.specular
        return Range(0.0, 1.0 - float(max(x.max() for x in other.values())))

    def bind(self, model: Model, dt: float) -> None:
        self.facets.require_links(model, self.name)
        with contextlib.suppress(SimulationError):                             # of tables that begin later
            if (away := float(np.linalg.norm(np.asarray(self.sun(0.0), dtype=float)))) < NEAREST:
                warn(f"{self.name}: the Sun is {away:.4g} m away at t = 0; expected metres, {ASTRONOMICAL_UNIT:.4g} or so",
                     SimulationWarning)  # fmt: skip

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        r, _ = s.origin
        wrenches, total, shares = {}, np.zeros(3), list[Any]()
        mirrors, scatters = (s.parameters.get(f"{self.name}.{what}") for what in ("specular", "diffuse"))
        for link in self.facets.areas:
            T = s.pose(link)
            R, place = T[:3, :3], r + T[:3, 3]
            to_sun = np.asarray(self.sun(s.t)) - place
            shares.append(1.0 if self.eclipse is None else self.eclipse(place, s.t))
            far = ops.norm(to_sun)
            P = shares[-1] * (self.flux / LIGHT_SPEED) * (ASTRONOMICAL_UNIT / far) ** 2
            sun = R.T @ to_sun / far
            pushes = []
            for p, n, A, r_s, r_d in zip(*self.facets.of(link), self.facets.each(link, self.specular, mirrors),
                                           self.facets.each(link, self.diffuse, scatters), strict=True):
                c = ops.maximum(n @ sun, 0.0)
                f = (-P * A * c) * ((1.0 - r_s) * sun + 2.0 * (r_s * c + r_d / 3.0) * n)
                pushes.append(np.concatenate([ops.cross(p, f), f]))
            wrenches[link] = sum(pushes[1:], pushes[0])
            total = total + R @ wrenches[link][3:]
        return Effect(wrenches=wrenches, signals={"light": shares[0], "force": total})
