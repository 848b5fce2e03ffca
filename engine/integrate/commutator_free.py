"""Commutator-free methods: Runge–Kutta on a manifold by products of exponentials of combinations of the stages' velocities.

For ẋ = x·ξ(t, x), with ⊕ the motion along a constant velocity::

    x_i = x ⊕ h Σ_k a_i1k ξ_k ⊕ h Σ_k a_i2k ξ_k ⊕ …,   ξ_i = ξ(t + c_i h, x_i),   c_i = Σ_jk a_ijk        (1)
    x⁺ = x ⊕ h Σ_k b_1k ξ_k ⊕ h Σ_k b_2k ξ_k ⊕ …                                                          (2)

The factors stand left to right as written: reversed, the order drops to two. Crouch–Grossman methods are those with one velocity in each
factor. References: Celledoni, Marthinsen & Owren, *Commutator-free Lie group methods*, FGCS 19 (2003); Owren, *J. Phys. A* 39 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.integrate.method import Method, register
from engine.integrate.system import System, during

Array = np.ndarray
Factors = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Tableau:
    """Weights of an explicit method: for each stage, and for the result, its factors; for each factor, the weights of ξ_1, ξ_2, …"""

    a: tuple[Factors, ...]
    b: Factors

    @property
    def c(self) -> tuple[float, ...]:
        """Stage times c_i = Σ_jk a_ijk."""
        return tuple(sum(sum(factor) for factor in stage) for stage in self.a)

    @property
    def exponentials(self) -> int:
        """Exponentials in a step; a product that begins as another does goes on from there."""
        starts = {stage[:k] for stage in (*self.a, self.b) for k in range(1, len(stage) + 1)}
        return len({s for s in starts if any(s[-1])})

    def __call__(self, system: System, t: Any, h: Any, x: Array) -> Array:
        velocities: list[Array] = []

        def moved(factors: Factors) -> Array:
            to = x
            for weights in factors:
                terms = [(h * w) * velocity for w, velocity in zip(weights, velocities, strict=False) if w]
                if terms:
                    to = system.space.plus(to, sum(terms[1:], terms[0]))
            return to

        for factors, c in zip(self.a, self.c, strict=True):
            velocities.append(system.field(during(t, c, h), moved(factors)))                                      # (1)
        return moved(self.b)                                                                                # (2)


def method(name: str, order: int, tableau: Tableau, source: str) -> Method:
    """The method of a tableau, registered."""
    return register(Method(name, order, tableau, len(tableau.a), tableau.exponentials, source))


CF4 = method("cf4", 4, Tableau(
    a=((),
       ((1 / 2,),),
       ((0, 1 / 2),),
       ((1 / 2,), (-1 / 2, 0, 1))),
    b=((3 / 12, 2 / 12, 2 / 12, -1 / 12), (-1 / 12, 2 / 12, 2 / 12, 3 / 12)),
), "Celledoni, Marthinsen & Owren 2003")  # fmt: skip
