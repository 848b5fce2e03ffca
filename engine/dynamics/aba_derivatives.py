"""Forward-dynamics derivatives: ∂v̇/∂q, ∂v̇/∂v and the inverse of the inertia matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.aba import aba, bodies_of_rows, require_inertia
from engine.dynamics.crba import crba
from engine.dynamics.kinematics import GRAVITY
from engine.dynamics.rnea_derivatives import differentiated
from engine.model import Model

Array = np.ndarray


def aba_derivatives(model: Model, q: Array, v: Array, tau: Array, gravity: Any = GRAVITY,
                    wrenches: Array | None = None) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ (nv, nv) of :func:`engine.dynamics.aba.aba`, along q ⊕ e_j::

        ∂v̇/∂τ = M⁻¹,   ∂v̇/∂q = −M⁻¹ ∂τ/∂q,   ∂v̇/∂v = −M⁻¹ ∂τ/∂v     of rnea where v̇ is that of aba        (1)

    Parameters, raised errors and units are those of :func:`engine.dynamics.aba.aba`; wrenches on links turn with their links.

    References
    ----------
    Carpentier & Mansard, *Analytical derivatives of rigid body dynamics algorithms*, RSS 2018.

    Examples
    --------
    A 2 kg point on a 3 m rod, 30° above the horizontal: v̇ = (τ − m g r cos θ)/(m r²).

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> dq, dv, dtau = aba_derivatives(arm.model(), np.array([np.pi / 6]), np.zeros(1), np.zeros(1))
    >>> dq.round(9), dv.round(9) + 0.0, dtau.round(9)
    (array([[1.635]]), array([[0.]]), array([[0.05555556]]))
    """
    vdot = aba(model, q, v, tau, gravity, wrenches)
    dq, dv, M = differentiated(model, q, v, vdot, gravity, wrenches)
    found = solve_inertia(model, M, np.concatenate([-dq, -dv, np.eye(model.nv)], axis=1))                              # (1)
    return found[:, : model.nv], found[:, model.nv : 2 * model.nv], found[:, 2 * model.nv :]


def minv(model: Model, q: Array) -> Array:
    """Return M⁻¹(q) (nv, nv), the inverse of :func:`engine.dynamics.crba.crba`: ∂v̇/∂τ.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> minv(arm.model(), np.zeros(1)).round(9)                                  # 1/(2 kg · 9 m²)
    array([[0.05555556]])
    """
    return solve_inertia(model, crba(model, q), np.eye(model.nv))


def solve_inertia(model: Model, M: Array, b: Array) -> Array:
    """Return M⁻¹ b, from the leaves on: so elimination keeps the tree's zeros (Featherstone, §6.4)."""
    if not len(M):
        return b
    M = M[::-1, ::-1]
    require_inertia(M, np.abs(M).max(initial=0.0) if M.dtype != object else 0.0, bodies_of_rows(model)[::-1])
    return ops.solve(M, b[::-1])[::-1]
