"""Kepler's ellipse from a state, in closed form, with a mean motion of more digits than one number has."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown
from engine.components.component import SimulationError
from engine.ops.flow import poisoned

Array = np.ndarray
#: bits of a half: products of a half with whole seconds up to 2^26 s, two years, are exact
HALF = 26
#: eccentricities up to which one step of the fourth order (Danby's), or two, finds the anomaly
ROUND = 0.05, 0.3


class Ellipse:
    """The motion about a centre of gravity μ, m³/s², that goes through a place r₀, m (3), with a velocity v₀, m/s (3), at t = 0.

    With c = 1 − r₀/a, s = r₀·v₀/√(μa), and the eccentric anomaly E counted from there::

        E − c sin E + s (1 − cos E) = M = n t,   k = 2 sin²(E/2),   D = 1 − c cos E + s sin E                         (1)
        r = (1 − a k/r₀) **r₀** + ((r₀/a) sin E + s k)/n **v₀**,   v = −(n a/(r₀ D)) sin E **r₀** + (1 − k/D) **v₀**  (2)

    What n t has beyond its last bit, and the residual of (1) at the E that is found, go into r as v/n times their sum: the place is right
    to the rounding of (2), at any number of turns.

    Raises
    ------
    SimulationError : r₀ or v₀ is no vector, or the motion is none of an ellipse (a is not above zero)

    References: Battin, *An Introduction to the Mathematics and Methods of Astrodynamics*, §4.3; Danby, *The solution of Kepler's equation*,
    Celestial Mechanics 40 (1987).

    Examples
    --------
    >>> ellipse = Ellipse(1.0, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    >>> r, v = ellipse(np.pi / 2)
    >>> np.round(r, 15) + 0.0, np.round(v, 15) + 0.0
    (array([0., 1., 0.]), array([-1.,  0.,  0.]))
    """

    def __init__(self, mu: float, position: Any, velocity: Any) -> None:
        self.mu = number("mu", mu, "m³/s² above 0", above=0.0, error=SimulationError)
        self.position, self.velocity = (numbers(n, x, SimulationError) for n, x in (("position", position), ("velocity", velocity)))
        for what, x in (("position", self.position), ("velocity", self.velocity)):
            if x.shape != (3,) or not np.isfinite(x).all():
                raise SimulationError(f"an orbit's {what} is {shown(x.tolist())}; expected three finite numbers")
        with localcontext() as context:
            context.prec = 60
            exact = Decimal(self.mu)
            r, v = ([Decimal(float(x)) for x in y] for y in (self.position, self.velocity))
            r0 = sum((x * x for x in r), Decimal(0)).sqrt()
            inverse = 2 / r0 - sum((x * x for x in v), Decimal(0)) / exact if r0 else Decimal(0)
            if inverse <= 0:
                raise SimulationError(f"an orbit through {shown(self.position.tolist())} m at {shown(self.velocity.tolist())} m/s is no "
                                      "ellipse; expected a speed below √(2μ/r)")  # fmt: skip
            a = 1 / inverse
            n = (exact / a).sqrt() / a
            self.halves = halves(Fraction(n))
            self.n, self.a, self.r0 = float(n), float(a), float(r0)
            self.c = float(1 - r0 / a)
            self.s = float(sum((x * y for x, y in zip(r, v, strict=True)), Decimal(0)) / (exact * a).sqrt())

    @property
    def period(self) -> float:
        """Period of a revolution, s."""
        return 2.0 * math.pi / self.n

    def anomaly(self, t: Any) -> tuple[Any, Any, Any, Any]:
        """Return the eccentric anomaly E of (1), its residual in M, sin E and cos E."""
        c, s, (n1, n2, n3) = self.c, self.s, self.halves
        whole = ops.floor(t)
        most, more = n1 * whole, n1 * (t - whole) + (n2 * t + n3 * t)          # the first is exact
        M = most + more
        beyond = more - (M - most)

        def missed(E: Any, sine: Any, cosine: Any) -> Any:
            return (E - M) - c * sine + s * (1.0 - cosine)

        def residual(E: Any) -> Any:
            return missed(E, ops.sin(E), ops.cos(E))

        def slope(E: Any) -> Any:
            return (1.0 - c * ops.cos(E) + s * ops.sin(E)).reshape(1, 1)

        of_M = ops.sin(M), ops.cos(M)
        guess = M + c * of_M[0] - s * (1.0 - of_M[1])
        if (e := math.hypot(c, s)) < ROUND[-1]:                                # what these miss is about e (e²/2)⁴, and goes into r
            near = turned_on(guess - M, *of_M)
            for k in range(1 if e < ROUND[0] else 2):
                sine, cosine = (ops.sin(guess), ops.cos(guess)) if k else near
                over = 1.0 / (1.0 - c * cosine + s * sine)                     # of the slope, with which all is relative
                f, f2 = (guess - M - c * sine + s * (1.0 - cosine)) * over, (c * sine + s * cosine) * over
                d = -f * (1.0 + 0.5 * f * f2)
                x = d * (0.5 * f2 + d * (over - 1.0) * (1 / 6))
                guess = guess - f * (1.0 - x * (1.0 - x))
            of_E = turned_on(guess - M, *of_M) if e < ROUND[0] else (ops.sin(guess), ops.cos(guess))
            return guess, beyond - missed(guess, *of_E), *of_E
        E, found = ops.root(residual, ops.array([guess]), slope, limit=40)
        E = poisoned([] if ops.graph_of(found) is None else [found], E)
        return E[0], beyond - residual(E)[0], ops.sin(E[0]), ops.cos(E[0])

    def __call__(self, t: Any) -> tuple[Array, Array]:
        """Return r, m (3), and v, m/s (3), at t, s."""
        (_, more, sine, cosine), n, a, r0 = self.anomaly(t), self.n, self.a, self.r0
        k, over = 1.0 - cosine, 1.0 / (1.0 - self.c * cosine + self.s * sine)  # what cos E rounds is of r's last bit
        r = (1.0 - (a / r0) * k) * self.position + ((r0 / a) * sine + self.s * k) * (self.velocity / n)
        v = (-(n * a / r0) * sine * over) * self.position + (1.0 - k * over) * self.velocity
        return r + v * (more * (1.0 / n)), v


def turned_on(d: Any, sine: Any, cosine: Any) -> tuple[Any, Any]:
    """Return sin and cos of an angle that is d more than that of a ``sine`` and ``cosine``, to rounding where |d| is below 0.1.

    >>> S, C = turned_on(0.1, math.sin(2.0), math.cos(2.0))
    >>> abs(S - math.sin(2.1)) < 1e-15, abs(C - math.cos(2.1)) < 1e-15
    (True, True)
    """
    x = d * d
    S = d * (1.0 - x * (1 / 6 - x * (1 / 120 - x * (1 / 5040 - x * (1 / 362880)))))
    C = 1.0 - x * (0.5 - x * (1 / 24 - x * (1 / 720 - x * (1 / 40320))))
    return sine * C + cosine * S, cosine * C - sine * S


def halves(n: Fraction) -> tuple[float, float, float]:
    """Return three numbers whose sum is n to some 105 bits, of which the first has no more than 26, and so has the second.

    >>> [x.hex() for x in halves(Fraction(1, 3))]
    ['0x1.5555550000000p-2', '0x1.5555550000000p-28', '0x1.5555555555555p-54']
    """
    found = []
    for _ in range(2):
        unit = Fraction(2) ** (math.frexp(n)[1] - HALF)
        part = n // unit * unit
        found.append(float(part))
        n -= part
    return found[0], found[1], float(n)
