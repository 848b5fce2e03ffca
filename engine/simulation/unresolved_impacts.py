"""Warnings of elastic impacts that steps do not resolve: how long they last, and where records show that there was one."""

from __future__ import annotations

import numpy as np

from engine.contact import ContactLaws
from engine.geometry import FAR

Array = np.ndarray
#: s/m: a dissipation of next to nothing
ELASTIC = 0.01
#: steps of a blow, of fewer of which some hundredths of its speed are lost; of one that is resolved; m/s: slower ones are none
STEPS, RESOLVED, FALL = 10.0, 20.0, 0.05


def blows_of(laws: ContactLaws) -> Array:
    """Return how long a blow at each point lasts, π √(m/k) with 1/m the mobility, s; infinite where surfaces lose more than ELASTIC."""
    each = [(pair.material, pair.mobility, pair.points) for pair in laws.pairs]
    return np.concatenate([np.full(n, np.pi / np.sqrt(m.stiffness * w) if m.dissipation <= ELASTIC and w > 0.0 else np.inf)
                           for m, w, n in each])  # fmt: skip


def speeds_of_blows(t: Array, gap: Array, dt: float, lasts: Array) -> Array:
    """Return the speeds (..., T, points) at which points of gaps (..., T, points) meet that were apart before, or part within an interval
    of records, of those whose blow ``lasts`` (points) fewer than STEPS steps of dt; else zero.

    >>> t = 1e-3 * np.arange(4)
    >>> speeds_of_blows(t, np.array([[2e-3], [1e-3], [0.0], [5e-4]]), 1e-3, np.array([1e-4])).ravel().round(9)
    array([0., 0., 1., 0.])
    """
    found = np.zeros(gap.shape)
    short = np.flatnonzero(lasts < STEPS * dt)
    if len(t) < 2 or not len(short):
        return found
    g, step = gap[..., short], np.diff(t)[:, None]
    speed = -np.diff(g, axis=-2) / step
    apart = (g[..., :-1, :] > 0.0) & (g[..., :-1, :] < FAR) & (speed > FALL)
    meets = apart & (g[..., 1:, :] <= 0.0)
    ahead = 2.0 * g[..., 1:-1, :] < speed[..., :-1, :] * step[1:]              # it would be there by the middle of the next interval
    meets[..., :-1, :] |= apart[..., :-1, :] & ahead & (speed[..., 1:, :] < -0.3 * speed[..., :-1, :])
    found[..., 1:, short] = np.where(meets, speed, 0.0)
    return found


def describe_blow(name: str, speed: float, lasts: float, dt: float) -> str:
    """Return what is said of a blow at a point of this name that lasts so long, in steps of dt."""
    return (f"'{name}' meet at {speed:.3g} m/s in a blow of about {lasts:.2g} s, {lasts / dt:.2g} steps, in which surfaces that lose "
            f"nothing lose up to four fifths of its energy; expected a dt of {lasts / RESOLVED:.2g} s or less, a softer material, or a "
            "dissipation of what is to be lost")  # fmt: skip


def of_tables(speed: float) -> str:
    """Return the warning of an impact too short for the step, where contact points are in tables and have no names."""
    return (f"shapes meet at {speed:.3g} m/s in a blow of fewer than {STEPS:.0f} steps, in which surfaces that lose nothing lose up to "
            "four fifths of its energy; expected a smaller dt, a softer material, or a dissipation of what is to be lost")  # fmt: skip
