"""The air of the upper atmosphere: its density by height, and a force of drag on facets."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers
from engine.components.component import Beyond, Component, Context, Effect, SimulationError
from engine.model import Model
from engine.space.epoch import EARTH_RATE
from engine.space.facets import Facets, require_facets
from engine.space.gravity import EARTH_RADIUS

Array = np.ndarray
#: from a height on, km: the density there, kg/m³, and the height in which it falls to a part in e, km (Vallado, table 8-4)
STANDARD = (
    (0, 1.225, 7.249), (25, 3.899e-2, 6.349), (30, 1.774e-2, 6.682), (40, 3.972e-3, 7.554), (50, 1.057e-3, 8.382), (60, 3.206e-4, 7.714),
    (70, 8.770e-5, 6.549), (80, 1.905e-5, 5.799), (90, 3.396e-6, 5.382), (100, 5.297e-7, 5.877), (110, 9.661e-8, 7.263),
    (120, 2.438e-8, 9.473), (130, 8.484e-9, 12.636), (140, 3.845e-9, 16.149), (150, 2.070e-9, 22.523), (180, 5.464e-10, 29.740),
    (200, 2.789e-10, 37.105), (250, 7.248e-11, 45.546), (300, 2.418e-11, 53.628), (350, 9.518e-12, 53.298), (400, 3.725e-12, 58.515),
    (450, 1.585e-12, 60.828), (500, 6.967e-13, 63.822), (600, 1.454e-13, 71.835), (700, 3.614e-14, 88.667), (800, 1.170e-14, 124.64),
    (900, 5.245e-15, 181.05), (1000, 3.019e-15, 268.00),
)  # fmt: skip


class Atmosphere:
    """Density by height over a sphere, and a wind that turns with the planet.

    Parameters
    ----------
    table : rows (height h₀, m; density there, kg/m³; scale height H, m), by rising heights, ρ = ρ₀ exp(−(h − h₀)/H) from h₀ on; an infinite
        H is a density that does not fall. By default the standard atmosphere's, from 0 to 1000 km and beyond
    times : where given, s (n), the table is one of logarithms instead: ``table`` is (heights (m), m; log ρ (n, m)), linear between
    radius : of the sphere, m
    rate : at which the air turns about z, rad/s; 0: it stands

    Raises
    ------
    SimulationError : the table is none

    Examples
    --------
    >>> round(1e12 * float(Atmosphere().density(400e3)), 9)
    3.725
    """

    def __init__(self, table: Any = None, times: Any = None, radius: float = EARTH_RADIUS, rate: float = EARTH_RATE) -> None:
        self.radius = number("an atmosphere's radius", radius, "m above 0", above=0.0, error=SimulationError)
        self.rate = number("an atmosphere's rate", rate, "rad/s", error=SimulationError)
        self.times = None if times is None else numbers("an atmosphere's times", times, SimulationError)
        if self.times is not None:
            heights, logs = table
            self.heights, self.logs = numbers("heights", heights, SimulationError), numbers("log densities", logs, SimulationError)
            if self.logs.shape != (len(self.times), len(self.heights)):
                raise SimulationError(f"log densities have shape {self.logs.shape}; expected ({len(self.times)}, {len(self.heights)}), by "
                                      "times and heights")  # fmt: skip
            return
        given = [(1e3 * h, rho, 1e3 * H) for h, rho, H in STANDARD] if table is None else list(table)
        rows = np.array(given, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 3 or np.isnan(rows).any() or not (np.diff(rows[:, 0]) > 0.0).all():
            raise SimulationError("an atmosphere's table is not one of (height, density, scale height); expected rows by rising heights")
        if (rows[:, 1] < 0.0).any() or (rows[:, 2] <= 0.0).any():
            raise SimulationError("an atmosphere's table has a density below 0 or a scale height that is not above; expected none")
        self.heights, self.rows = rows[:, 0], np.stack([rows[:, 0], rows[:, 1], 1.0 / rows[:, 2]], axis=1)

    def density(self, h: Any, t: Any = 0.0) -> Any:
        """Return ρ, kg/m³, at a height, m, at t, s; below the table NaN.

        Raises
        ------
        Beyond : on floats, below the table
        """
        below = ops.less(h, self.heights[0])
        if ops.graph_of(h) is None and np.any(below):
            raise Beyond(f"the air is asked for at {float(h):.6g} m; expected heights from {self.heights[0]:g} m, its table's")
        if self.times is not None:
            found = ops.exp(ops.interp2(t, h, self.times, self.heights, self.logs))
        else:
            h0, rho, per = ops.row(h, self.heights, self.rows)
            found = rho * ops.exp(-(h - h0) * per)
        return ops.where(below, np.nan, found)


class Drag(Component):
    """Drag of the upper air on facets: f = −½ ρ C_D A (n̂·û)₊ |u|² û at each one's centre.

    u is the velocity of the centre relative to the air, with the orbit's and less what turns with the planet, ω_E × r; û its direction.

    Parameters
    ----------
    facets : of what it acts on
    atmosphere : an :class:`Atmosphere`, asked at the place of each link; by default the standard one
    cd : C_D, one for all, or by link for each facet. A simulation's parameter "drag.cd" is another for all

    Signals: ``density``, kg/m³, at the first link with facets (each is pushed by that at its own place), and ``force`` (3), N, the sum in
    world axes.

    References: Vallado, *Fundamentals of Astrodynamics*, §8.6.2.

    >>> Drag(Facets({"plate": [((0, 0, 0), (1, 0, 0), 10.0)]}), Atmosphere(), cd=2.2).name
    'drag'
    """

    counts = ("cd",)
    units = types.MappingProxyType({"density": "kg/m3", "force": "N"})

    def __init__(self, facets: Facets, atmosphere: Atmosphere | None = None, cd: float | Mapping[str, Any] = 2.2,
                 name: str = "drag") -> None:  # fmt: skip
        self.facets, self.air, self.name = require_facets(name, facets), Atmosphere() if atmosphere is None else atmosphere, name
        if not isinstance(self.air, Atmosphere):
            raise SimulationError(f"{name}: the atmosphere is {atmosphere!r}; expected an engine.space.Atmosphere")
        self.cd = facets.values(f"{name}: cd", cd)
        if any((x < 0.0).any() for x in self.cd.values()):
            raise SimulationError(f"{name}: cd is {cd!r}; expected numbers from 0")

    def bind(self, model: Model, dt: float) -> None:
        self.facets.require_links(model, self.name)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        (r, v), spin = s.origin, np.array([0.0, 0.0, self.air.rate])
        wrenches, total, one, densities = {}, np.zeros(3), s.parameters.get(f"{self.name}.cd"), []
        for link in self.facets.areas:
            T, V = s.pose(link), s.twist(link)
            rho = self.air.density(ops.norm(r + T[:3, 3]) - self.air.radius, s.t)
            densities.append(rho)
            R = T[:3, :3]
            pushes = []
            for p, n, A, cd in zip(*self.facets.of(link), self.facets.each(link, self.cd, one), strict=True):
                air = R.T @ (v - ops.cross(spin, r + T[:3, 3] + R @ p))
                u = V[3:] + ops.cross(V[:3], p) + air
                f = (-0.5 * rho * cd * A * ops.maximum(n @ u, 0.0)) * u        # (n̂·û)₊ |u|² û
                pushes.append(np.concatenate([ops.cross(p, f), f]))
            wrenches[link] = sum(pushes[1:], pushes[0])
            total = total + R @ wrenches[link][3:]
        return Effect(wrenches=wrenches, signals={"density": densities[0], "force": total})

