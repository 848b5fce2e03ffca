"""Crouch–Grossman methods: Runge–Kutta on a manifold by products of exponentials.

For ``q̇ = q·v`` (v the body velocity) and ``v̇ = K(t, q, v)``, with ⊕ the manifold's motion along a constant velocity::

    q_i = q ⊕ h a_i1 v_1 ⊕ h a_i2 v_2 ⊕ …,   v_i = v + h Σ_j a_ij K_j,   K_i = K(t + c_i h, q_i, v_i)      (1)
    q⁺ = q ⊕ h b_1 v_1 ⊕ … ⊕ h b_s v_s,      v⁺ = v + h Σ_i b_i K_i                                          (2)

The factors stand left to right in the order of the stages: reversed, the order drops to two.
References: Crouch & Grossman, *J. Nonlinear Sci.* 3 (1993); Jackiewicz, Marthinsen & Owren, *Appl. Numer. Math.* 34 (2000) for the
fourth-order coefficients; Park et al., IROS 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.integrate.tableau import Tableau, register

Array = np.ndarray

CG3 = register(Tableau(
    "cg3", 3,
    a=((), (3 / 4,), (119 / 216, 17 / 108)),
    b=(13 / 51, -2 / 3, 24 / 17),
    source="Crouch & Grossman 1993",
))  # fmt: skip

CG4 = register(Tableau(
    "cg4", 4,
    a=((),
       (0.8177227988124852,),
       (0.3199876375476427, 0.0659864263556022),
       (0.9214417194464946, 0.4997857776773573, -1.0969984448371582),
       (0.3552358559023322, 0.2390958372307326, 1.3918565724203246, -1.1092979392113465)),
    b=(0.1370831520630755, -0.0183698531564020, 0.7397813985370780, -0.1907142565505889, 0.3322195591068374),
    source="Jackiewicz, Marthinsen & Owren 2000",
))  # fmt: skip


def step(method: Tableau, field: Callable[..., Array], plus: Callable[[Array, Array], Array],
         t: Any, h: Any, q: Array, v: Array) -> tuple[Array, Array]:  # fmt: skip
    """One step of size h from (t, q, v): the new q and v.

    ``field(t, q, v)`` is v̇ and ``plus(q, d)`` is q ⊕ d. Traceable.

    >>> q, v = step(CG4, lambda t, q, v: -q, lambda q, d: q + d, 0.0, 0.1, np.array([1.0]), np.array([0.0]))
    >>> bool(abs(q[0] - np.cos(0.1)) < 1e-7)
    True
    """
    velocities: list[Array] = []
    slopes: list[Array] = []

    def moved(weights: tuple[float, ...]) -> tuple[Array, Array]:
        to, at = q, v
        for w, v_j, K_j in zip(weights, velocities, slopes, strict=True):
            to, at = plus(to, (h * w) * v_j), at + (h * w) * K_j
        return to, at

    for a_i, c_i in zip(method.a, method.c, strict=True):
        q_i, v_i = moved(a_i)                                                    # (1)
        slopes.append(field(t + c_i * h, q_i, v_i))
        velocities.append(v_i)
    return moved(method.b)                                                       # (2)
