"""Planets where they are: what a run flies about, how it turns, and where the Sun stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from engine.checks import numbers, shown
from engine.space import ephemeris
from engine.spatial.manifold import hermite
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.heavens import DIP
from engine.viewer.scene.light import SPACE, Light
from engine.viewer.scene.sources import Played, Running, Source

Array = np.ndarray
Vector = tuple[float, float, float]
#: of the light that a planet gives back
SHINE = (0.30, 0.36, 0.46)


@dataclass(frozen=True)
class Body:
    """A planet: radius, m; what it pulls with, μ, m³/s²; how quickly it turns about z, rad/s; and its looks: linear colours of the air, of
    soil and desert, and shares of water and clouds."""

    radius: float
    mu: float
    rate: float
    air: Vector
    soil: Vector
    desert: Vector
    wet: tuple[float, float]


BODIES = {
    "earth": Body(6378137.0, 3.986004418e14, 7.292115e-5, (0.16, 0.36, 0.80), (0.045, 0.070, 0.030), (0.30, 0.22, 0.13), (1.0, 1.0)),
    "mars": Body(3396190.0, 4.282837e13, 7.088218e-5, (0.10, 0.07, 0.05), (0.20, 0.085, 0.04), (0.42, 0.20, 0.10), (0.0, 0.0)),
    "moon": Body(1737400.0, 4.9028e12, 2.661699e-6, (0.0, 0.0, 0.0), (0.07, 0.07, 0.07), (0.17, 0.165, 0.16), (0.0, 0.0)),
}


@dataclass(frozen=True, eq=False)
class Globe:
    """A planet at a time: where its middle is in the world (3), m, its axes (3, 3), to which world axes turn, and the unit vector to the
    Sun (3); without a place it is a backdrop that goes along with the eye."""

    body: Body
    center: Array | None
    axes: Array
    sun: Array

    def seen_from(self, eye: Array) -> tuple[Array, float]:
        """Return the unit vector (3) from an eye (3), m, to its middle, and how far away that is, in radii."""
        if self.center is None:
            return np.array([0.0, 0.0, -1.0]), 1.0 / float(np.cos(DIP))
        away = self.center - eye
        distance = float(np.linalg.norm(away))
        return away / max(distance, 1e-9), max(distance / self.body.radius, 1.0 + 1e-6)

    def hides(self, eye: Array, points: Array) -> Array:
        """Return which points (n, 3), m, it hides from an eye (3), m."""
        if self.center is None:
            return np.zeros(len(points), bool)
        ray, away = points - eye, self.center - eye
        along = np.clip(ray @ away / np.maximum((ray**2).sum(axis=1), 1e-9), 0.0, 1.0)
        return np.linalg.norm(along[:, None] * ray - away, axis=1) < 0.999 * self.body.radius

    def light(self, place: Array) -> Light:
        """Return the light at a place (3), m: the Sun's, dimmed by the planet's shadow, and what the day's side gives back."""
        if self.center is None:
            return SPACE
        p = place - self.center
        down, radius = -p / max(float(np.linalg.norm(p)), 1e-9), self.body.radius
        behind = float(np.linalg.norm(p - (p @ self.sun) * self.sun)) / radius if p @ self.sun < 0.0 else np.inf
        lit = float(np.clip((behind - 0.995) / 0.01, 0.0, 1.0))
        day = max(float(-down @ self.sun), 0.0) * min((radius / max(float(np.linalg.norm(p)), radius)) ** 2, 1.0)
        return replace(SPACE, key=self.sun, key_color=scaled(lit, SPACE.key_color), fill=down, fill_color=scaled(0.15 + day, SHINE))


def scaled(k: float, color: Vector) -> Vector:
    """Return a colour k times as bright."""
    r, g, b = color
    return k * r, k * g, k * b


def under(east: float, north: float) -> Array:
    """Return the axes (3, 3) of a planet whose place so far east and north, rad, lies straight under who looks down, with east along x."""
    (a, b), (c, d) = (np.cos([east, north]), np.sin([east, north]))
    return np.column_stack([[-c, a, 0.0], [-d * a, -d * c, b], [b * a, b * c, d]])


BACKDROP = Globe(BODIES["earth"], None, under(0.35, 0.55), SPACE.key)


class Sky:
    """A planet and the Sun where they are, as the surroundings of a scene: ``engine.Scene(flight, environment=engine.Sky(epoch=…))``.

    A run with ``frame=engine.space.ReferenceOrbit(…)`` flies about the planet's middle, at −r_O(t) in its world; other runs about
    ``center``, by default the world's origin. A scene of a run about the Earth has such a sky by itself, without an epoch.

    Parameters
    ----------
    epoch : an :class:`engine.space.Epoch` of t = 0: the world's axes are the celestial ones (GCRS), the Earth turns as it does, and the
        Sun is where it is then. Without one the prime meridian is on the x axis at t = 0, and the Sun stands still in ``sun``
    planet : "earth", "mars" or "moon", whose looks without an epoch are alike at any time but turn at their rates
    center : of the planet in the world (3), m
    sun : direction to the Sun (3), world axes, without an epoch

    Raises
    ------
    ViewerError : there is no such planet, an epoch is none or of another planet than the Earth, or a direction is none

    >>> Sky(planet="mars").globe(0.0, None).body.radius
    3396190.0
    """

    def __init__(self, epoch: Any = None, planet: str = "earth", center: Any = (0.0, 0.0, 0.0), sun: Any = None) -> None:
        if planet not in BODIES:
            raise ViewerError(f"planet {planet!r} is not known; expected one of {', '.join(BODIES)}")
        if epoch is not None and not callable(getattr(epoch, "rotation", None)):
            raise ViewerError(f"epoch is {shown(epoch)}; expected an engine.space.Epoch('2026-11-24T12:00:00')")
        if epoch is not None and (planet != "earth" or sun is not None):
            other = "sun" if sun is not None else repr(planet)
            raise ViewerError(f"an epoch says where the Sun is and how the Earth lies, and {other} is given beside it; "
                              "expected one of them")  # fmt: skip
        self.epoch, self.body, self.center = epoch, BODIES[planet], numbers("center", center, ViewerError)
        self.sun = SPACE.key if sun is None else numbers("sun", sun, ViewerError)
        if self.center.shape != (3,) or self.sun.shape != (3,) or not np.linalg.norm(self.sun) > 0.0:
            raise ViewerError(f"center and sun are {shown(center)} and {shown(sun)}; "
                              "expected a place (3), m, and a direction (3), not zero")
        self.sun = self.sun / np.linalg.norm(self.sun)
        self._ephemeris: Any = None

    def globe(self, t: float, source: Source | None) -> Globe:
        """Return the planet at a time, s, about which a source flies."""
        place = origin(source, t) if source is not None else None
        return Globe(self.body, self.center if place is None else -place[0], self.axes(t), self.toward_sun(t))

    def axes(self, t: float) -> Array:
        """Return the rotation (3, 3) from the world's axes to the planet's at a time, s."""
        if self.epoch is not None:
            return np.asarray(self.epoch.rotation(t), float)
        c, s = np.cos(self.body.rate * t), np.sin(self.body.rate * t)
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    def toward_sun(self, t: float) -> Array:
        """Return the unit vector (3) to the Sun at a time, s, world axes."""
        if self.epoch is None:
            return self.sun
        if self._ephemeris is None or not np.isfinite(self._ephemeris(t)).all():
            self._ephemeris = ephemeris.sun(self.epoch, max(2.0 * t, 86400.0))
        place = np.asarray(self._ephemeris(t), float)
        return place / np.linalg.norm(place)


def origin(source: Source, t: float) -> tuple[Array, Array] | None:
    """Return where the world's origin is about the planet's middle at a time, s, (3), m, and its velocity, m/s (3); None where it stands
    still: of records in between by Hermite's polynomial."""
    if source.frame is not None:
        return cast(tuple[Array, Array], source.frame.place(t, np.zeros(0)))       # on its ellipse
    if isinstance(source, Running):
        signals = source.live.state.signals
        return (signals["frame.origin"], signals["frame.velocity"]) if "frame.origin" in signals else None
    if not isinstance(source, Played) or "frame.origin" not in source.trajectory.signals:
        return None
    flight = source.trajectory
    r, v = (flight.signals[f"frame.{what}"].reshape(-1, len(flight), 3)[0] for what in ("origin", "velocity"))
    if len(flight) == 1:
        return r[0], v[0]
    k = int(np.clip(np.searchsorted(flight.t, t, side="right") - 1, 0, len(flight) - 2))
    h = max(float(flight.t[k + 1] - flight.t[k]), 1e-12)
    s = float(np.clip((t - flight.t[k]) / h, 0.0, 1.0))
    return hermite(np.array([s]), np.array([h]), r[k], r[k + 1], v[k], v[k + 1])[0], (1.0 - s) * v[k] + s * v[k + 1]


def orbits(source: Source) -> bool:
    """Return whether a source flies about the Earth as it is: with an orbit as its frame, or beyond it about the world's origin, pulled by
    what records an energy."""
    if source.frame is not None:
        return True
    if not source.moves or any(source.gravity):
        return False
    if origin(source, source.span[0]) is not None:
        return True
    if not isinstance(source, Played) or not any(name.endswith(".energy") for name in source.trajectory.signals):
        return False
    roots = [b for b in source.model.bodies if b.kind.floats]
    places = [source.trajectory.q[..., b.q][..., 4:7] for b in roots]
    return bool(places) and float(min(np.linalg.norm(p, axis=-1).min() for p in places)) > BODIES["earth"].radius
