"""Fields of gravity: a point mass, zonals, tables of spherical harmonics, third bodies; and differences of them that keep digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown, warn
from engine.components.component import SimulationError, SimulationWarning
from engine.io.centers import CENTERS

Array = np.ndarray
#: the Earth's μ, m³/s², radius, m, and J2 (WGS 84, EGM 96)
EARTH_MU, EARTH_RADIUS, EARTH_J2 = CENTERS["EARTH"], 6378137.0, 1.08262668e-3

#: of a radius: what poles may be nearer to the centre
FLATTENED = 0.01


def difference(mu: Any, r: Array, rho: Array) -> Array:
    """Return −μ ((r + ρ)/|r + ρ|³ − r/r³), m/s² (3), without the digits that the subtraction loses where ρ is small (3), m.

    With q = ρ·(ρ + 2r)/r², w = (1 + q)^1.5 and F = q (3 + 3q + q²)/(1 + w) it is −μ/(r³ w) (ρ − F r).
    Reference: Battin, *An Introduction to the Mathematics and Methods of Astrodynamics*, §8.4.

    >>> r, rho = np.array([7e6, 0.0, 0.0]), np.array([1e-6, 0.0, 0.0])
    >>> round(float(difference(3.986e14, r, rho)[0]) / (2 * 3.986e14 / 7e6**3 * 1e-6), 9)
    1.0
    """
    r2 = r @ r
    q = rho @ (rho + 2.0 * r) / r2
    w = (1.0 + q) * ops.sqrt(1.0 + q)
    r3w = r2 * ops.sqrt(r2) * w
    both = 1.0 / (r3w * (1.0 + w))                                             # one division for two
    F = q * (3.0 + q * (3.0 + q)) * (both * r3w)
    return (-mu * (both * (1.0 + w))) * (rho - F * r)


@dataclass(frozen=True)
class ThirdBody:
    """A distant mass that pulls: μ, m³/s², and ``ephemeris``, a function of t, s, that returns its place from the centre of gravity, m (3).

    >>> moon = ThirdBody(4.9028e12, lambda t: np.array([384400e3, 0.0, 0.0]))
    >>> round(1e6 * float(moon.acceleration(np.array([42164000.0, 0.0, 0.0]), 0.0)[0]), 9)
    8.679301039
    """

    mu: float
    ephemeris: Callable[[Any], Any]

    def __post_init__(self) -> None:
        number("a third body's mu", self.mu, "m³/s² above 0", above=0.0, error=SimulationError)
        if not callable(self.ephemeris):
            raise SimulationError(f"a third body's ephemeris is {shown(self.ephemeris)}; expected a function of t, to its place (3), m")

    def place(self, t: Any) -> Array:
        """Return where it is, m (3)."""
        s = np.asarray(self.ephemeris(t))
        if s.shape != (3,):
            raise SimulationError(f"a third body's ephemeris returned shape {s.shape}; expected (3,), its place in m")
        return s

    def acceleration(self, r: Array, t: Any) -> Array:
        """Return its tidal acceleration at r (3), m: its pull there less that at the centre, μ ((s − r)/|s − r|³ − s/s³), m/s² (3)."""
        return difference(self.mu, -self.place(t), r)

    def potential(self, r: Array, t: Any) -> Any:
        """Return its U at r (3), m²/s², whose gradient :meth:`acceleration` is."""
        s = self.place(t)
        d, s2 = s - r, s @ s
        return self.mu * (1.0 / ops.sqrt(d @ d) - (s @ r) / (s2 * ops.sqrt(s2)))


@dataclass(frozen=True)
class Harmonics:
    """A table of spherical harmonics, but for the point mass, in the axes of the planet.

    Parameters
    ----------
    cosines, sines : C and S by degree and order, {(n, m): number}
    normalised : whether they are fully normalised, as in files: C = C̄ √((2 − δ_0m)(2n+1)(n−m)!/(n+m)!)
    axes : a function of t that returns the rotation (3×3) from the orbit's axes to the planet's, such as :meth:`Epoch.rotation`; None: the
        planet's are the orbit's

    References: Cunningham, *Celestial Mechanics* 2 (1970); Montenbruck & Gill, *Satellite Orbits*, §3.2.

    >>> J2 = Harmonics({(2, 0): -1.08262668e-3}, normalised=False)
    >>> J2.acceleration(3.986004418e14, 6378137.0, np.array([4e6, -3e6, 4.6e6]), 0.0).round(15)
    array([ 0.00940076, -0.00705057, -0.00592386])
    """

    cosines: Mapping[tuple[int, int], float]
    sines: Mapping[tuple[int, int], float] | None = None
    normalised: bool = True
    axes: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.axes is not None and not callable(self.axes):
            raise SimulationError(f"the axes of harmonics are {shown(self.axes)}; expected a function of t that returns a rotation (3, 3)")
        for which in (self.cosines, self.sines or {}):
            for key, x in which.items():
                if not (isinstance(key, tuple) and len(key) == 2 and 0 <= key[1] <= key[0] and key[0] > 0):
                    raise SimulationError(f"a harmonic is of degree and order {shown(key)}; expected (n, m) with 0 ≤ m ≤ n, n from 1")
                number(f"harmonic {key}", x, "a finite number", error=SimulationError)

    @property
    def terms(self) -> dict[tuple[int, int], tuple[float, float]]:
        """C and S, not normalised, by (n, m), of those that are not zero."""
        sines = self.sines or {}
        found = {}
        for n, m in dict.fromkeys([*self.cosines, *sines]):
            k = math.sqrt((2.0 - (m == 0)) * (2 * n + 1) * math.factorial(n - m) / math.factorial(n + m)) if self.normalised else 1.0
            C, S = k * self.cosines.get((n, m), 0.0), k * sines.get((n, m), 0.0)
            if C or S:
                found[n, m] = C, S
        return found

    def turned(self, t: Any) -> Any:
        """Return the rotation (3×3) to the planet's axes."""
        return np.eye(3) if self.axes is None else np.asarray(self.axes(t))

    def acceleration(self, mu: float, radius: float, r: Array, t: Any) -> Array:
        """Return the harmonics' acceleration at r (3), m, in the orbit's axes, m/s² (3), about a centre of that μ, m³/s², and radius, m."""
        Q, terms = self.turned(t), self.terms
        V, W = solids(radius, Q @ r, 1 + max((n for n, _ in terms), default=0))
        x: Any = 0.0
        y: Any = 0.0
        z: Any = 0.0
        for (n, m), (C, S) in terms.items():
            up = V[n + 1, m + 1], W[n + 1, m + 1]
            if m == 0:
                x, y = x - C * up[0], y - C * up[1]
            else:
                down, f = (V[n + 1, m - 1], W[n + 1, m - 1]), 0.5 * (n - m + 2) * (n - m + 1)
                x = x - 0.5 * (C * up[0] + S * up[1]) + f * (C * down[0] + S * down[1])
                y = y - 0.5 * (C * up[1] - S * up[0]) + f * (S * down[0] - C * down[1])
            z = z - (n - m + 1) * (C * V[n + 1, m] + S * W[n + 1, m])
        return Q.T @ (mu / (radius * radius) * ops.array([x, y, z]))

    def potential(self, mu: float, radius: float, r: Array, t: Any) -> Any:
        """Return the harmonics' part of the potential U at r (3), m²/s²."""
        V, W = solids(radius, self.turned(t) @ r, max((n for n, _ in self.terms), default=0))
        return mu / radius * sum(C * V[n, m] + S * W[n, m] for (n, m), (C, S) in self.terms.items())


def solids(radius: float, r: Array, degree: int) -> tuple[dict[tuple[int, int], Any], dict[tuple[int, int], Any]]:
    """Return Cunningham's V_nm and W_nm, (R/r)^(n+1) P_nm(sin φ) cos mλ and sin mλ, up to a degree, at r (3)."""
    r2 = r @ r
    (x, y, z), k = radius / r2 * r, radius * radius / r2
    V: dict[tuple[int, int], Any] = {(0, 0): radius / ops.sqrt(r2)}
    W: dict[tuple[int, int], Any] = {(0, 0): 0.0}
    for m in range(degree + 1):
        if m:
            v, w = V[m - 1, m - 1], W[m - 1, m - 1]
            V[m, m], W[m, m] = (2 * m - 1) * (x * v - y * w), (2 * m - 1) * (x * w + y * v)
        for n in range(m + 1, degree + 1):
            for U in (V, W):
                before = (n + m - 1) * k * U[n - 2, m] if n > m + 1 else 0.0
                U[n, m] = ((2 * n - 1) * z * U[n - 1, m] - before) / (n - m)
    return V, W


class GravityField:
    """A field of gravity: the acceleration ∇U of a mass at r, m, in axes that do not turn, about a centre of gravity in free fall.

    Parameters
    ----------
    mu : μ, m³/s²
    radius : equatorial, R, m, by which harmonics are counted: the Earth's, where it is about the Earth
    zonals : J_n by degree, {2: 1.08262668e-3}, about ``pole``
    harmonics : a :class:`Harmonics` table beside them, or instead
    third_bodies : of :class:`ThirdBody`: what they pull more than at the centre
    gradient : whether links feel, by their size, the moment of the field's gradient, and what it adds to the force (of zonals the moment
        alone: their share of the force is a part in 1e16 of the weight); "moment": without the force, as many programs have it; with it, a
        cylinder of 12 m is 0.4 mm farther after eight hours
    pole : the axis of the zonals (3)

    Of zonals U = μ/r (1 − Σ J_n (R/r)ⁿ P_n(s)), and a_n = μ J_n Rⁿ/r^(n+2) (P'_(n+1) r̂ − P'_n k̂) with s = k̂·r̂.
    Reference: Vallado, *Fundamentals of Astrodynamics*, §8.6.

    >>> field = GravityField(zonals={2: EARTH_J2})
    >>> field.perturbation(np.array([4e6, -3e6, 4.6e6])).round(15)
    array([ 0.00940076, -0.00705057, -0.00592386])
    """

    def __init__(self, mu: float = EARTH_MU, radius: float | None = None, zonals: Mapping[int, float] | None = None,
                 harmonics: Harmonics | None = None, third_bodies: Sequence[ThirdBody] = (),
                 gradient: bool | str = True, pole: Any = (0.0, 0.0, 1.0)) -> None:  # fmt: skip
        self.mu = number("mu", mu, "m³/s² above 0", above=0.0, error=SimulationError)
        if any(abs(self.mu * 1e9 - known) < 0.01 * known for known in CENTERS.values()):
            raise SimulationError(f"mu is {mu:g} m³/s²; expected {self.mu * 1e9:g}: it looks like km³/s²")
        if radius is None and (zonals or harmonics is not None) and abs(self.mu - EARTH_MU) > 0.01 * EARTH_MU:
            raise SimulationError(f"harmonics of mu = {mu:g} m³/s², which is not the Earth's, without a radius; expected that by which "
                                  "they are counted, radius=…")  # fmt: skip
        self.radius = number("radius", EARTH_RADIUS if radius is None else radius, "m above 0", above=0.0, error=SimulationError)
        if zonals is not None and not isinstance(zonals, Mapping):
            raise SimulationError(f"zonals are {shown(zonals)}; expected J by degree, {{2: 1.08262668e-3}}")
        if not isinstance(third_bodies, Iterable) or isinstance(third_bodies, str):
            raise SimulationError(f"third_bodies is {shown(third_bodies)}; expected a list, [ThirdBody(mu, ephemeris)]")
        self.zonals, self.harmonics = dict(zonals or {}), harmonics
        self.third_bodies, self.gradient = tuple(third_bodies), gradient
        if not isinstance(gradient, bool) and gradient != "moment":
            raise SimulationError(f"gradient is {shown(gradient)}; expected True, False or 'moment'")
        for n, J in self.zonals.items():
            if not isinstance(n, (int, np.integer)) or n < 2:
                raise SimulationError(f"a zonal harmonic is of degree {shown(n)}; expected a whole number from 2, as J2 is")
            number(f"J{n}", J, "a finite number", error=SimulationError)
            if abs(J) > 0.5:
                raise SimulationError(f"J{n} is {J:g}; expected that of a body that is nearly round, such as {EARTH_J2:g}")
        if self.zonals.get(2, 0.0) < 0.0 and abs(self.mu - EARTH_MU) < 0.01 * EARTH_MU:
            warn(f"J2 is {self.zonals[2]:g}; expected {EARTH_J2:g}, as the Earth is wider than high: C20 has the other sign",
                 SimulationWarning)  # fmt: skip
        if harmonics is not None and not isinstance(harmonics, Harmonics):
            raise SimulationError(f"harmonics is {shown(harmonics)}; expected an engine.space.Harmonics, or None")
        if harmonics is not None and (twice := [n for n, m in harmonics.terms if m == 0 and n in self.zonals]):
            raise SimulationError(f"J{twice[0]} is among the zonals and in the table of harmonics; expected it in one of them")
        for body in self.third_bodies:
            if not isinstance(body, ThirdBody):
                raise SimulationError(f"a third body is {shown(body)}; expected an engine.space.ThirdBody(mu, ephemeris)")
        pole = numbers("pole", pole, SimulationError)
        if pole.shape != (3,) or not np.linalg.norm(pole) > 0.0:
            raise SimulationError(f"pole is {shown(pole.tolist())}; expected a vector (3)")
        self.pole = pole / np.linalg.norm(pole)

    def legendre(self, s: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return P_n(s), P'_n and P''_n up to one degree above the zonals'."""
        top = max(self.zonals, default=0) + 1
        P, D, DD = [1.0, s], [0.0, 1.0], [0.0, 0.0]
        for n in range(1, top):
            P.append(((2 * n + 1) * s * P[n] - n * P[n - 1]) / (n + 1))
            D.append(D[n - 1] + (2 * n + 1) * P[n])
            DD.append(DD[n - 1] + (2 * n + 1) * D[n])
        return P, D, DD

    def potential(self, r: Array, t: Any = 0.0) -> Any:
        """Return U at r (3), m, at t, s: positive, m²/s².

        >>> import numpy as np
        >>> from engine.space import EARTH_MU, GravityField
        >>> print((GravityField().potential(np.array([7e6, 0, 0])) / (EARTH_MU / 7e6)).round(9))  # of μ/r
        1.0
        """
        d = ops.sqrt(r @ r)
        P, _, _ = self.legendre(self.pole @ r / d)
        U = self.mu / d * (1.0 - sum(J * (self.radius / d) ** n * P[n] for n, J in self.zonals.items()))
        if self.harmonics is not None:
            U = U + self.harmonics.potential(self.mu, self.radius, r, t)
        return U + sum(body.potential(r, t) for body in self.third_bodies)

    def acceleration(self, r: Array, t: Any = 0.0) -> Array:
        """Return ∇U at r (3), m, at t, s: m/s² (3).

        >>> import numpy as np
        >>> from engine.space import GravityField
        >>> print(GravityField().acceleration(np.array([6378137.0, 0, 0])).round(2) + 0.0)  # m/s²: −μ/r²
        [-9.8  0.   0. ]
        """
        r2 = r @ r
        return -self.mu / (r2 * ops.sqrt(r2)) * r + self.perturbation(r, t)

    @property
    def surface(self) -> float:
        """Radius within which no orbit leads, m: the planet's but for its flattening; 0 where it is not known, of a μ that is not the
        Earth's beside the Earth's radius."""
        known = self.radius != EARTH_RADIUS or abs(self.mu / EARTH_MU - 1.0) < 1e-2
        return (1.0 - FLATTENED) * self.radius if known else 0.0

    @property
    def bare(self) -> bool:
        """True if the field is a point mass's alone.

        >>> from engine.space import GravityField
        >>> GravityField().bare
        True
        """
        return not self.zonals and self.harmonics is None and not self.third_bodies

    def perturbation(self, r: Array, t: Any = 0.0) -> Array:
        """Return :meth:`acceleration` but for the point mass's, m/s² (3).

        >>> import numpy as np
        >>> from engine.space import GravityField
        >>> print(GravityField().perturbation(np.array([7e6, 0, 0])))  # a point mass has none
        [0. 0. 0.]
        """
        a: Any = np.zeros(3)
        if self.zonals:
            r2 = r @ r
            d = ops.sqrt(r2)
            n_r = r / d
            _, D, _ = self.legendre(self.pole @ n_r)
            for n, J in self.zonals.items():
                a = a + self.mu * J * (self.radius / d) ** n / r2 * (D[n + 1] * n_r - D[n] * self.pole)
        if self.harmonics is not None:
            a = a + self.harmonics.acceleration(self.mu, self.radius, r, t)
        return a + sum((body.acceleration(r, t) for body in self.third_bodies), np.zeros(3))

    def difference(self, r: Array, rho: Array, t: Any = 0.0) -> Array:
        """Return the field's acceleration at r + ρ less that at r, m/s² (3); it keeps its digits where ρ (3), m, is small.

        >>> import numpy as np
        >>> from engine.space import GravityField
        >>> r, beside = np.array([7e6, 0, 0]), np.array([1.0, 0, 0])
        >>> print(GravityField().difference(r, beside)[0].round(9))  # 1/s² · m: 2 μ/r³
        2.324e-06
        """
        return difference(self.mu, r, rho) + self.perturbation(r + rho, t) - self.perturbation(r, t)

    def tensor(self, r: Array) -> Array:
        """Return the zonals' share of Γ = ∇∇U at r (3), 1/s² (3×3)."""
        r2 = r @ r
        d = ops.sqrt(r2)
        n_r, k = r / d, self.pole
        s = k @ n_r
        _, D, DD = self.legendre(s)
        found: Any = np.zeros((3, 3))
        for n, J in self.zonals.items():
            a, turn = D[n + 1] * n_r - D[n] * k, DD[n + 1] * n_r - DD[n] * k
            own = np.outer(turn, k - s * n_r) - (n + 2) * np.outer(a, n_r) + D[n + 1] * (np.eye(3) - np.outer(n_r, n_r))
            found = found + self.mu * J * (self.radius / d) ** n / (r2 * d) * own
        return found
