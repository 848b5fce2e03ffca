"""The central body of an orbit: a planet's name by its gravitational parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.checks import shown, warn
from engine.model import StateError

Array = np.ndarray
#: μ of what messages name as centres, m³/s² (the Earth's of WGS 84)
CENTERS = {"EARTH": 3.986004418e14, "SUN": 1.32712440018e20, "MOON": 4.9028e12, "MARS": 4.2828e13, "VENUS": 3.2486e14,
           "JUPITER": 1.26687e17}  # fmt: skip
#: by what part μ of an orbit may be off: by Jupiter's J2, at its poles, of all these the most, it is 4 %
OFF = 0.05


def require_line(what: str, text: Any) -> None:
    """Refuse what is no text for a line of a message.

    >>> require_line("center", "EARTH")
    """
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise StateError(f"{what} is {shown(text)}; expected a name on one line")


def pull_of(r: Array, v: Array) -> float | None:
    """Return μ, m³/s², of the centre about which something at r (T, 3), m, moves at v (T, 3), m/s; None where these do not show it.

    Of two states of an orbit both have the same h = r × v, and the same vector of eccentricity e = v × h/μ − r̂. So::

        (v₂ − v₁) × h = μ (r̂₂ − r̂₁)

    They are those of the first two records, between which what else pulls turns e the least.
    Reference: Vallado, *Fundamentals of Astrodynamics*, §2.3.

    >>> round(pull_of(np.array([[7e6, 0, 0], [0, 7e6, 0]]), np.array([[0, 7.5e3, 0], [-7.5e3, 0, 0]])) / 1e12)
    394
    """
    if len(r) < 2:
        return None
    h = np.cross(r[0], v[0])
    turned = r[1] / np.linalg.norm(r[1]) - r[0] / np.linalg.norm(r[0])
    change = np.cross(v[1] - v[0], h)
    least = float(turned @ turned)
    return float(change @ turned) / least if least > 0.0 else None


def center_of(r: Array, v: Array, given: Any = None) -> str:
    """Return what a message calls the centre of an orbit r (T, 3), m, v (T, 3), m/s, relative to it: the name ``given``, where that is not
    of a planet that pulls otherwise, or by default the one that pulls so.

    >>> center_of(np.array([[3.8e6, 0, 0], [0, 3.8e6, 0]]), np.array([[0, 3357.0, 0], [-3357.0, 0, 0]]))
    'MARS'

    Raises
    ------
    StateError : the name is none, or another's; none is given, and the orbit is about nothing known, or does not show about what it is
    """
    if given is not None:
        require_line("center", given)
    if np.ndim(r) != 2:
        raise StateError("a message is of one flight, and this is a batch; expected one of it, such as trajectory.rollout(0)")
    mu, name = pull_of(r, v), None if given is None else given.strip().upper()
    if name is not None and (mu is None or name not in CENTERS):
        return name
    if mu is None:
        raise StateError("one state does not show about what it flies; expected a second one, or the center's name, such as EARTH")
    found = next((n for n, known in CENTERS.items() if abs(mu - known) <= OFF * known), None)
    if name is not None and found != name:
        raise StateError(f"center is '{name}', whose μ is {CENTERS[name]:.6g} m³/s², and this orbit's is {mu:.6g}; expected "
                         f"{found or 'the name of what it is about'}")  # fmt: skip
    if found is None:
        raise StateError(f"this orbit is about something of μ = {mu:.6g} m³/s², which is neither of {', '.join(CENTERS)}; expected "
                         "its name as the center")  # fmt: skip
    return found


def orbit_of(name: str, signals: Mapping[str, Array]) -> list[Array]:
    """Return where the world's origin flies and how fast, (T, 3) each; nothing of a flight without an orbit, of whose axes it warns."""
    found = [signals[n] for n in ("frame.origin", "frame.velocity") if n in signals]
    if not found:
        warn(f"'{name}' flew without frame=, and its message says that the world's axes are those of ICRF; expected a flight in an "
             "engine.space.ReferenceOrbit, or a world whose axes are these")  # fmt: skip
    return found
