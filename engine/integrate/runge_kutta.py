"""Classical Runge–Kutta methods, on the coordinates as if they were vectors.

The coordinates of a point are numbers with the rate ẋ = F(t, x) = ``space.rate(x, ξ(t, x))``, quaternions four like any others; straight
steps leave the manifold, and |·|, quaternions made unit ones, brings them back::

    k_i = h F(t + c_i h, x_i),   x_i = |x + Σ_j a_ij k_j|,   x⁺ = |x + Σ_i b_i k_i|

So do most simulators. The order is the tableau's, without exponentials; but a step knows nothing of the manifold: parameters of attitude
must not come to their singularity within one, and where bodies turn by much in a step the methods on the group miss by less.
References: Kutta, *Zeitschrift für Mathematik und Physik* 46 (1901); Ralston, *Runge–Kutta methods with minimum error bounds*,
Mathematics of Computation 16 (1962).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.integrate.method import Method, register
from engine.integrate.munthe_kaas import Butcher
from engine.spatial.manifold import Manifold

Array = np.ndarray


@dataclass(frozen=True)
class InCoordinates(Butcher):
    """An explicit Runge–Kutta method whose u are differences of coordinates."""

    def moved(self, space: Manifold, x: Array, u: Array) -> Array:
        """Return x + u, with unit quaternions."""
        return space.normalized(x + u)

    def landed(self, space: Manifold, x: Array, u: Array) -> Array:
        """Return x + u, with unit quaternions, and with other parameters of attitude on the side of their jump where ⊕ has them."""
        return space.plus(self.moved(space, x, u), np.zeros(space.nv))

    def slope(self, space: Manifold, x: Array, u: Array | None, velocity: Array) -> Array:
        """Return ẋ."""
        return space.rate(x, velocity)


RK4 = register(Method("rk4", 4, InCoordinates(
    a=((), (1 / 2,), (0, 1 / 2), (0, 0, 1)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
), 4, 0, "Kutta 1901"))  # fmt: skip

RALSTON2 = register(Method("ralston2", 2, InCoordinates(
    a=((), (2 / 3,)),
    b=(1 / 4, 3 / 4),
), 2, 0, "Ralston 1962"))  # fmt: skip

RALSTON3 = register(Method("ralston3", 3, InCoordinates(
    a=((), (1 / 2,), (0, 3 / 4)),
    b=(2 / 9, 1 / 3, 4 / 9),
), 3, 0, "Ralston 1962"))  # fmt: skip
