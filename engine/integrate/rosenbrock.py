"""Linearly implicit (Rosenbrock) methods for stiff systems: every stage is solved with the stiff part J of the field, taken once a step.

In the chart x ⊕ u at the step's start, where u̇ = F(t, u) (:class:`~engine.integrate.munthe_kaas.Butcher`) and J is any matrix::

    k_i = F(t + α_i h, Σ_j α_ij h k_j) + h J Σ_j γ_ij k_j + γ_i h ∂F/∂t,   u⁺ = h Σ_i b_i k_i            (1)

A W-method keeps its order whatever J is; what J has of the stiff part decides how it damps. With s = γ h and g_i = Σ_{j<i} γ_ij k_j, a
stage takes one solution with 1 − s J and no product with J::

    k_i = (1 − s J)⁻¹ (F_i + g_i/γ + γ_i h ∂F/∂t) − g_i/γ                                                (2)

Reference: Hairer & Wanner, *Solving Ordinary Differential Equations II*, §IV.7; Rang & Angermann, *New Rosenbrock W-methods of order 3 for
partial differential algebraic equations of index 1*, BIT 45 (2005), for the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.integrate.method import Method, register
from engine.integrate.munthe_kaas import weighted
from engine.integrate.system import System, during

Array = np.ndarray


@dataclass(frozen=True)
class Rosenbrock:
    """A linearly implicit method with s stages.

    Attributes
    ----------
    a : α_ij, strictly lower triangular; c : γ_ij, likewise; diagonal : γ
    b : weights; error : b less the weights of the embedded method
    """

    a: tuple[tuple[float, ...], ...]
    c: tuple[tuple[float, ...], ...]
    diagonal: float
    b: tuple[float, ...]
    error: tuple[float, ...]

    def stages(self, system: System, t: Any, h: Any, x: Array) -> list[Array]:
        """Return h k_i (nv)."""
        space, k = system.space, list[Array]()
        solve = None if system.stiff is None else system.stiff(during(t, 0.0, h), x, self.diagonal * h)
        for a_i, c_i in zip(self.a, self.c, strict=True):
            u = weighted(a_i, k) if k else None
            x_i = x if u is None else space.plus(x, u)
            velocity = system.field(during(t, sum(a_i), h), x_i)
            F = h * (velocity if u is None else space.dexp_inv(u, velocity))
            if solve is None:
                k.append(F)
                continue
            g = weighted(c_i, k) * (1.0 / self.diagonal) if k else 0.0 * F
            loads = [] if system.excess is None else [h * system.excess(during(t, sum(a_i), h), x_i)]
            k.append(solve(F + g, (self.diagonal + sum(c_i)) * h * h, *loads) - g)                                              # (2)
        return k

    def __call__(self, system: System, t: Any, h: Any, x: Array) -> Array:
        return system.space.plus(x, weighted(self.b, self.stages(system, t, h, x)))

    def embedded(self, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Array]:
        """The new state, and the difference of the two methods."""
        k = self.stages(system, t, h, x)
        return system.space.plus(x, weighted(self.b, k)), weighted(self.error, k)


W3 = Rosenbrock(
    a=((),
       (0.87173304301691801,),
       (0.84457060015369423, -0.11299064236484185),
       (0.0, 0.0, 1.0)),
    c=((),
       (-0.87173304301691801,),
       (-0.90338057013044082, 0.054180672388095326),
       (0.24212380706095346, -1.2232505839045147, 0.54526025533510214)),
    diagonal=0.43586652150845900,
    b=(0.24212380706095346, -1.2232505839045147, 1.5452602553351020, 0.43586652150845900),
    error=(0.24212380706095346 - 0.37810903145819369, -1.2232505839045147 + 0.096042292212423178, 1.0452602553351020,
           0.43586652150845900 - 0.21793326075422950),
)  # fmt: skip

ROS34PW2 = register(Method("ros34pw2", 3, W3, 4, 4, "Rang & Angermann 2005", embedded=W3.embedded, stiff=True))
