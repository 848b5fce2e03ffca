"""Ephemerides of the Sun and the Moon: polynomials that are fitted before a run, and read as one of a table's rows in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from engine import ops
from engine.checks import number, shown, whole
from engine.components.component import Beyond, SimulationError
from engine.io.centers import CENTERS
from engine.space.epoch import DAY, Epoch

Array = np.ndarray
ASTRONOMICAL_UNIT = 149597870700.0
SUN_MU, SUN_RADIUS, MOON_MU = CENTERS["SUN"], 695700000.0, CENTERS["MOON"]


class Ephemeris:
    """A place as a function of t, s: polynomials of Chebyshev's, one after another, through what a function says.

    Parameters
    ----------
    place : a function of t, s, that returns a place (3), m: it is asked before a run, on floats
    duration : s from t = 0 for which it is wanted; a fiftieth of a piece more on both sides is there; beyond, it is NaN in machine code,
        and on floats an error
    piece, degree : of a polynomial, s, and its degree

    Called with t, traced or not, it returns the place (3), m, and :meth:`velocity` m/s.

    Examples
    --------
    >>> circle = Ephemeris(lambda t: 1e8 * np.array([np.cos(1e-6 * t), np.sin(1e-6 * t), 0.0]), duration=1e6)
    >>> bool(np.abs(circle(5e5) - 1e8 * np.array([np.cos(0.5), np.sin(0.5), 0.0])).max() < 1e-6)
    True
    """

    def __init__(self, place: Callable[[float], Any], duration: float, piece: float = 4.0 * DAY, degree: int = 13) -> None:
        duration = number("duration", duration, "s above 0", above=0.0, error=SimulationError)
        self.piece = number("piece", piece, "s above 0", above=0.0, error=SimulationError)
        degree = whole("degree", degree, "a whole number from 1", least=1, error=SimulationError)
        margin = 0.02 * self.piece
        n = max(1, int(np.ceil((duration + 2.0 * margin) / self.piece)))
        self.starts = -margin + self.piece * np.arange(n)
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        rows = []
        for start in self.starts:
            said = np.array([np.asarray(place(start + 0.5 * self.piece * (1.0 + x)), dtype=float) for x in nodes])
            if said.shape != (degree + 1, 3) or not np.isfinite(said).all():
                raise SimulationError(f"an ephemeris' function returned {shown(said[0].tolist())}; expected a place, three numbers, m")
            rows.append(chebyshev.chebfit(nodes, said, degree))
        self.rows = np.array(rows)                                             # (pieces, degree + 1, 3)

    def _read(self, t: Any, rows: Array) -> Array:
        """Return the sum of polynomials (pieces, n, 3) at t, by Clenshaw's recurrence."""
        flat = np.concatenate([self.starts[:, None], rows.reshape(len(rows), -1)], axis=1)
        found = ops.row(t, self.starts, flat)
        x, c = 2.0 * (t - found[0]) / self.piece - 1.0, found[1:].reshape(-1, 3)
        b: Any = np.zeros(3)
        b1: Any = np.zeros(3)
        for k in range(len(c) - 1, 0, -1):
            b, b1 = c[k] + 2.0 * x * b - b1, b
        if ops.graph_of(t) is None and not self.starts[0] <= t <= self.starts[-1] + self.piece:
            raise Beyond(f"an ephemeris is asked for {float(t):.6g} s; expected a duration that reaches so far")
        inside = ops.logical_and(ops.less_equal(self.starts[0], t), ops.less_equal(t, self.starts[-1] + self.piece))
        return ops.where(inside, c[0] + x * b - b1, np.nan)

    def __call__(self, t: Any) -> Array:
        return self._read(t, self.rows)

    def velocity(self, t: Any) -> Array:
        """Return its velocity, m/s (3)."""
        slopes = np.array([chebyshev.chebder(row) for row in self.rows]) * (2.0 / self.piece)
        return self._read(t, slopes)


def require_epoch(epoch: Any) -> Epoch:
    """Return an epoch; refuse what is none."""
    if not isinstance(epoch, Epoch):
        raise SimulationError(f"epoch is {shown(epoch)}; expected an engine.space.Epoch('2026-03-01T00:00:00')")
    return epoch


def sun(epoch: Epoch, duration: float) -> Ephemeris:
    """Return where the Sun is from the Earth, m in the celestial axes (GCRS), for ``duration`` s from an epoch: ERFA's epv00, to 7 mm.

    >>> from engine.space import Epoch
    >>> (sun(Epoch("2026-03-20T14:46:00"), 1.0)(0.0) / ASTRONOMICAL_UNIT).round(1) + 0.0                   # at the equinox
    array([1., 0., 0.])
    """
    import erfa

    a, b = require_epoch(epoch).tt
    return Ephemeris(lambda t: -ASTRONOMICAL_UNIT * np.asarray(erfa.epv00(a, b + t / DAY)[0]["p"]), duration)


def moon(epoch: Epoch, duration: float) -> Ephemeris:
    """Return where the Moon is from the Earth, m in the celestial axes (GCRS), for ``duration`` s from an epoch: ERFA's moon98, to 0.3 mm
    of it.

    >>> from engine.space import Epoch
    >>> bool(3.56e8 < np.linalg.norm(moon(Epoch("2026-03-20T14:46:00"), 1.0)(0.0)) < 4.07e8)
    True
    """
    import erfa

    a, b = require_epoch(epoch).tt
    return Ephemeris(lambda t: ASTRONOMICAL_UNIT * np.asarray(erfa.moon98(a, b + t / DAY)["p"]), duration)
