"""Munthe-Kaas methods: Runge–Kutta in the Lie algebra, x = x0 ⊕ u, where ξ becomes u̇ = dexp(−u)⁻¹ ξ.

Reference: Munthe-Kaas, *High order Runge–Kutta methods on manifolds*, Appl. Numer. Math. 29 (1999); Munthe-Kaas & Owren, *Phil. Trans.
R. Soc. A* 357 (1999) for the commutators of order four, here in the left-trivialised form (their signs are those of the right one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.integrate.method import Method, register
from engine.integrate.system import System, during
from engine.spatial.manifold import Manifold

Array = np.ndarray


def rkmk4(system: System, t: Any, h: Any, x: Array) -> Array:
    """Classical Runge–Kutta with the two commutators that order four takes.

    ::

        k1 = h ξ(t, x)
        k2 = h ξ(t + h/2, x ⊕ k1/2)
        k3 = h ξ(t + h/2, x ⊕ (k2/2 + [k1, k2]/8))
        k4 = h ξ(t + h, x ⊕ k3)
        x⁺ = x ⊕ ((k1 + 2 k2 + 2 k3 + k4)/6 + [k1, k4]/12)
    """
    plus, bracket = system.space.plus, system.space.bracket
    k1 = h * system.field(during(t, 0.0, h), x)
    k2 = h * system.field(t + 0.5 * h, plus(x, 0.5 * k1))
    k3 = h * system.field(t + 0.5 * h, plus(x, 0.5 * k2 + 0.125 * bracket(k1, k2)))
    k4 = h * system.field(during(t, 1.0, h), plus(x, k3))
    return plus(x, (k1 + 2.0 * k2 + 2.0 * k3 + k4) * (1 / 6) + bracket(k1, k4) * (1 / 12))


RKMK4 = register(Method("rkmk4", 4, rkmk4, 4, 4, "Munthe-Kaas & Owren 1999"))


@dataclass(frozen=True)
class Butcher:
    """An explicit Runge–Kutta method of any order in the algebra, with the exact dexp⁻¹, and an embedded one for the error."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    error: tuple[float, ...] = ()  # b less the weights of the embedded method

    def moved(self, space: Manifold, x: Array, u: Array) -> Array:
        """Return the point at u from x: x ⊕ u."""
        return space.plus(x, u)

    def landed(self, space: Manifold, x: Array, u: Array) -> Array:
        """Return the point at u from x where the step ends."""
        return self.moved(space, x, u)

    def slope(self, space: Manifold, x: Array, u: Array | None, velocity: Array) -> Array:
        """Return the rate of u where the point x, at u from the step's first, moves with a velocity: u̇ = dexp(−u)⁻¹ ξ."""
        return velocity if u is None else space.dexp_inv(u, velocity)

    def stages(self, system: System, t: Any, h: Any, x: Array, weights: tuple[float, ...]) -> list[Array]:
        """k_i = h u̇(t + c_i h, x_i) with x_i at u_i = Σ_j a_ij k_j from x, as many as the weights need."""
        k: list[Array] = []
        for a_i in self.a[: max(i for i, w in enumerate(weights, 1) if w)]:
            u = weighted(a_i, k) if k else None
            x_i = x if u is None else self.moved(system.space, x, u)
            k.append(h * self.slope(system.space, x_i, u, system.field(during(t, sum(a_i), h), x_i)))
        return k

    def __call__(self, system: System, t: Any, h: Any, x: Array) -> Array:
        return self.landed(system.space, x, weighted(self.b, self.stages(system, t, h, x, self.b)))

    def embedded(self, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Array]:
        """The new state, and the difference of the two methods."""
        k = self.stages(system, t, h, x, self.error)
        return self.landed(system.space, x, weighted(self.b, k)), weighted(self.error, k)


def weighted(weights: tuple[float, ...], k: list[Array]) -> Array:
    terms = [w * k_j for w, k_j in zip(weights, k, strict=False) if w]
    return sum(terms[1:], terms[0])


DORMAND_PRINCE = Butcher(
    a=((),
       (1 / 5,),
       (3 / 40, 9 / 40),
       (44 / 45, -56 / 15, 32 / 9),
       (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
       (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
       (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
    b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
    error=(71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)  # fmt: skip

RKMK5 = register(Method("rkmk5", 5, DORMAND_PRINCE, 6, 6, "Dormand & Prince 1980, Munthe-Kaas 1999", embedded=DORMAND_PRINCE.embedded))
