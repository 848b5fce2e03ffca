"""Time: the epoch at which a run begins, in the scales of astronomy, and how the Earth lies and turns then."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, one_of, require_packages, shown, warn
from engine.components.component import SimulationError, SimulationWarning

Array = np.ndarray
#: rad/s, by which the Earth's rotation angle grows (IERS Conventions 2010, eq. 5.15)
EARTH_RATE = 7.292115146706979e-5
SCALES = ("utc", "tai", "tt", "ut1")
WRITTEN = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}(?:\.\d*)?))?)?Z?")
DAY = 86400.0


class Epoch:
    """The time of t = 0, from which a run counts seconds of the SI: no leap second falls into one.

    Parameters
    ----------
    text : "2026-11-24T12:00:00", or a day alone; 23:59:60 where a leap second was
    scale : "utc", "tai", "tt" or "ut1"
    dut1 : UT1 − UTC, s, as the IERS gives it
    polar : the pole's coordinates x_p, y_p, rad

    Raises
    ------
    SimulationError : the text is no time, or a leap second that never was
    EngineError : pyerfa is not installed: ``pip install ".[space]"``

    Reference: IERS Conventions (2010), §5.4; the routines are of ERFA, by IAU 2006/2000A.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("erfa")
    >>> epoch = Epoch("2026-11-24T12:00:00")
    >>> round(epoch.tt_minus_utc, 6), round(epoch.era, 12)
    (69.184, 4.243170066169)
    """

    def __init__(self, text: str, scale: str = "utc", dut1: float = 0.0, polar: Any = (0.0, 0.0)) -> None:
        require_packages("an Epoch", "space", "erfa")
        self.text, self.scale = text, one_of("an epoch's scale", scale, SCALES, SimulationError)
        self.dut1 = number("dut1", dut1, "UT1 − UTC within ±1 s", least=-1.0, below=1.0, error=SimulationError)
        self.polar = numbers("polar", polar, SimulationError)
        if self.polar.shape != (2,):
            raise SimulationError(f"polar is {shown(self.polar.tolist())}; expected x_p and y_p, rad")
        found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise SimulationError(f"an epoch is {shown(text)}; expected a time such as '2026-11-24T12:00:00'")
        year, month, day, hour, minute = (int(x or 0) for x in found.groups()[:5])
        import erfa

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                given = erfa.dtf2d(scale.upper(), year, month, day, hour, minute, float(found[6] or 0.0))
            except Exception as error:
                raise SimulationError(f"an epoch is '{text}', which is no time ({error}); expected one that there is") from None
        if any("after end of day" in str(w.message) for w in said):
            raise SimulationError(f"an epoch is '{text}' ({scale.upper()}), where no leap second was; expected a time that there was")
        if any("dubious" in str(w.message) for w in said):
            warn(f"the epoch '{text}' lies where leap seconds are not known; expected one up to a few years from now", SimulationWarning)
        self.utc, self.ut1, self.tt = self._scales(*given)

    def _scales(self, a: Any, b: Any) -> tuple[tuple[float, float], ...]:
        """Return UTC, UT1 and TT as Julian dates in two parts, of one in its scale."""
        import erfa

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.scale in ("utc", "ut1"):
                utc = (a, b) if self.scale == "utc" else erfa.ut1utc(a, b, self.dut1)
                tai = erfa.utctai(*utc)
            else:
                tai = (a, b) if self.scale == "tai" else erfa.tttai(a, b)
                utc = erfa.taiutc(*tai)
            return tuple((float(x), float(y)) for x, y in (utc, erfa.utcut1(*utc, self.dut1), erfa.taitt(*tai)))

    def __repr__(self) -> str:
        return f"Epoch({self.text!r}, scale={self.scale!r})"

    def __reduce__(self) -> Any:
        return type(self), (self.text, self.scale, self.dut1, self.polar)

    @property
    def tt_minus_utc(self) -> float:
        """TT − UTC, s."""
        (a, b), (c, d) = self.tt, self.utc
        return ((a - c) + (b - d)) * DAY

    @property
    def era(self) -> float:
        """The Earth's rotation angle, rad."""
        import erfa

        return float(erfa.era00(*self.ut1))

    @property
    def gmst(self) -> float:
        """Greenwich mean sidereal time (IAU 2006), rad."""
        import erfa

        return float(erfa.gmst06(*self.ut1, *self.tt))

    @property
    def gast(self) -> float:
        """Greenwich apparent sidereal time (IAU 2006/2000A), rad."""
        import erfa

        return float(erfa.gst06a(*self.ut1, *self.tt))

    @functools.cached_property
    def celestial(self) -> tuple[Array, Array]:
        """Q (3×3), from the celestial axes (GCRS) to those of the pole of date, and the pole's own W."""
        import erfa

        x, y, s = erfa.xys06a(*self.tt)
        return np.array(erfa.c2ixys(x, y, s)), np.array(erfa.pom00(*self.polar, erfa.sp00(*self.tt)))

    def rotation(self, t: Any) -> Array:
        """Return the rotation W R₃(θ₀ + ω_E t) Q (3×3), from the celestial axes (GCRS) to the Earth's (ITRS), t seconds after the epoch.

        Traceable. Q is that of the epoch, which costs 7e-7 rad a day.
        """
        Q, W = self.celestial
        c, s = ops.cos(self.era + EARTH_RATE * t), ops.sin(self.era + EARTH_RATE * t)
        return W @ (ops.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ Q)

    def to_earth(self, r: Any, t: Any = 0.0) -> Array:
        """Return a place (3), m, of the celestial axes (GCRS) in the Earth's (ITRS)."""
        return self.rotation(t) @ np.asarray(r)
