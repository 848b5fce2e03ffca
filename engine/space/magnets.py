"""The Earth's magnetic field, as a dipole or by the IGRF's table, and magnetorquers (coils that turn a spacecraft in it)."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, path_of, shown
from engine.components.actuators import require_moving
from engine.components.component import Component, Context, Effect, SimulationError
from engine.model import Model
from engine.space.gravity import EARTH_RADIUS, Harmonics

Array = np.ndarray
#: m, by which the IGRF counts
IGRF_RADIUS = 6371200.0
NANO = 1e-9


class Dipole:
    """A dipole at the planet's centre: B = B₀ (R/r)³ (3 (m̂·r̂) r̂ − m̂), T.

    Parameters
    ----------
    strength : B₀ at the equator, T; axis : m̂ (3); radius : R, m

    >>> Dipole()(np.array([6378137.0, 0.0, 0.0]), 0.0)
    array([0.00e+00, 0.00e+00, 3.12e-05])
    """

    def __init__(self, strength: float = 3.12e-5, axis: Any = (0.0, 0.0, -1.0), radius: float = EARTH_RADIUS) -> None:
        self.strength = number("a dipole's strength", strength, "T", error=SimulationError)
        self.radius = number("a dipole's radius", radius, "m above 0", above=0.0, error=SimulationError)
        self.axis = unit_rows("a dipole's axis", axis)[0]

    def __call__(self, r: Array, t: Any = 0.0) -> Array:
        """Return B, T (3), at r, m (3)."""
        d = ops.norm(r)
        n = r / d
        return self.strength * (self.radius / d) ** 3 * (3.0 * (self.axis @ n) * n - self.axis)


class Igrf:
    """The International Geomagnetic Reference Field: V = a Σ (a/r)^(n+1) (g cos mλ + h sin mλ) P_nm(sin φ), B = −∇V.

    Parameters
    ----------
    table : g and h by degree and order, {(n, m): (g, h)}, nT, with Schmidt's half normalisation, as the IAGA gives them; degree 13 at most
    axes : a function of t that returns the rotation (3×3) from the orbit's axes to the Earth's, such as :meth:`Epoch.rotation`

    Reference: Alken et al., *International Geomagnetic Reference Field: the thirteenth generation*, Earth, Planets and Space 73 (2021).

    >>> field = Igrf({(1, 0): (-30000.0, 0.0)})
    >>> (1e9 * field(np.array([6371200.0, 0.0, 0.0]))).round(6) + 0.0
    array([    0.,     0., 30000.])
    """

    def __init__(self, table: Mapping[tuple[int, int], tuple[float, float]], axes: Callable[[Any], Any] | None = None) -> None:
        cosines, sines = {}, {}
        for (n, m), (g, h) in table.items():
            if not 1 <= n <= 13 or not 0 <= m <= n:
                raise SimulationError(f"the IGRF has no degree and order ({n}, {m}); expected 1 ≤ n ≤ 13, 0 ≤ m ≤ n")
            k = math.sqrt((2.0 - (m == 0)) * math.factorial(n - m) / math.factorial(n + m))
            cosines[n, m], sines[n, m] = NANO * k * g, NANO * k * h
        if not cosines:
            raise SimulationError("the IGRF's table is empty; expected g and h by (n, m), nT")
        self.harmonics = Harmonics(cosines, sines, normalised=False, axes=axes)

    def __call__(self, r: Array, t: Any = 0.0) -> Array:
        """Return B, T (3), at r, m (3), at t, s."""
        return -self.harmonics.acceleration(IGRF_RADIUS**2, IGRF_RADIUS, r, t)

    @classmethod
    def of_file(cls, path: Any, year: float, axes: Callable[[Any], Any] | None = None) -> Igrf:
        """Return the field of a year, such as 2026.5, by the IAGA's file (.shc), linear between its epochs.

        Raises
        ------
        SimulationError : it cannot be read, or the year is not within its epochs
        """
        path = path_of(path, SimulationError)
        try:
            lines = [x.split() for x in path.read_text(encoding="utf-8").splitlines() if x.strip() and not x.startswith("#")]
            epochs = np.array([float(x) for x in lines[1]])
            rows = {(int(x[0]), int(x[1])): np.array([float(y) for y in x[2:]]) for x in lines[2:]}
        except (OSError, UnicodeDecodeError, ValueError, IndexError) as error:
            raise SimulationError(f"'{path}' cannot be read ({error}); expected the IAGA's coefficients as .shc") from None
        if not epochs[0] <= year <= epochs[-1]:
            raise SimulationError(f"the year {year:g} is not in '{path}'; expected one within {epochs[0]:g} … {epochs[-1]:g}")
        found = {key: float(np.interp(year, epochs, x)) for key, x in rows.items()}
        return cls({(n, m): (g, found.get((n, -m), 0.0) if m else 0.0) for (n, m), g in found.items() if m >= 0}, axes)


class Magnetorquers(Component):
    """Coils on a link: its moment is m × B. The command is the dipole moment wanted along each axis (n), A·m².

    Parameters
    ----------
    link : what they are fixed to
    axes : unit vectors in the link's frame (n, 3)
    most : largest dipole moment of one, A·m². A simulation's parameter "magnetorquers.most" is another, for a batch's rows
    field : B(r, t), T (3), of the place in the orbit's axes, m (3): a :class:`Dipole`, an :class:`Igrf`

    Signals: ``dipole`` (n), ``field`` (3), T in the link's axes, ``saturated`` (n).

    >>> Magnetorquers("base", np.eye(3), 10.0).command
    (3,)
    """

    counts = ("most",)
    units = types.MappingProxyType({**dict.fromkeys(("", "most", "dipole"), "A.m2"), "field": "T"})

    def __init__(self, link: str, axes: Any = np.eye(3), most: float = np.inf, field: Any = None, name: str = "magnetorquers") -> None:
        self.link, self.axes, self.name = link, unit_rows(f"{name}: axes", axes), name
        self.most = most if most == np.inf else number(f"{name}: most", most, "A·m² from 0", least=0.0, error=SimulationError)
        self.field = checked_field(name, Dipole() if field is None else field)
        self.command = (len(self.axes),)

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        wanted = np.zeros(len(self.axes)) if command is None else command
        most = self.value(s, "most")
        free = ops.graph_of(most) is None and not np.isfinite(most)
        dipole = wanted if free else ops.minimum(ops.maximum(wanted, -most), most)
        T = s.pose(self.link)
        B = T[:3, :3].T @ np.asarray(self.field(s.origin[0] + T[:3, 3], s.t))
        moment = ops.cross(self.axes.T @ dipole, B)
        return Effect(wrenches={self.link: np.concatenate([moment, np.zeros(3)])},
                      signals={"dipole": dipole, "field": B, "saturated": ops.where(ops.equal(dipole, wanted), 0.0, 1.0)})  # fmt: skip


def checked_field(name: str, field: Any) -> Any:
    """Return a field of magnetism, a function of r and t; refuse what is none."""
    if not callable(field):
        raise SimulationError(f"{name}: the field is {shown(field)}; expected a function of (r, t), such as an engine.space.Dipole")
    return field


def unit_rows(name: str, x: Any) -> Array:
    """Return vectors (n, 3) of length one; refuse what are none."""
    rows = np.atleast_2d(numbers(name, x, SimulationError))
    lengths = np.linalg.norm(rows, axis=-1)
    if rows.ndim != 2 or rows.shape[1] != 3 or not lengths.all():
        raise SimulationError(f"{name} have shape {rows.shape}; expected (n, 3) vectors")
    return rows / lengths[:, None]
