"""Effective mass of a point of a link: the mean of its operational-space inertia over all directions."""

from __future__ import annotations

import numpy as np

from engine.dynamics.crba import crba
from engine.dynamics.jacobian import jacobian
from engine.model import Model

Array = np.ndarray


def effective_mass(model: Model, q: Array, link: str, point: Array) -> float:
    """Return the mass m, kg, that a point (3) of a link sets against a pull, at rest, in the mean over all directions: 3/m = tr(J M⁻¹ Jᵀ).

    It is infinite where the point cannot move. On floats only. Reference: Khatib 1987 (the operational-space inertia of a point).

    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> stone = Builder()
    >>> _ = stone.add_link("stone", inertia=inertia.sphere(2.0, 1.0))
    >>> model = stone.model(floating_base=True)
    >>> round(effective_mass(model, model.neutral(), "stone", np.zeros(3)), 12)
    2.0
    """
    J = jacobian(model, q, link, point=point)[3:]
    mobility = float(np.trace(J @ np.linalg.solve(crba(model, q), J.T)))
    return 3.0 / mobility if mobility > 0 else np.inf
