"""Joint losses: viscous damping, and Coulomb's friction made smooth."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.checks import number
from engine.model import Model, StateError
from engine.model.body import reflected
from engine.ops.linear import is_nonzero

Array = np.ndarray


def damping_matrix(model: Model) -> Array:
    """Return the damping D, diagonal (nv, nv): the joints' viscous forces are −D v (N·m·s/rad and N·s/m, from ``Joint.damping``).

    Each velocity of a joint is damped alike. A mimic joint moves with ratio · v of its source, and adds ratio² · damping to it.

    Examples
    --------
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod")
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", damping=0.5)
    >>> damping_matrix(arm.model())
    array([[0.5]])
    """
    return np.diag(reflected(model.bodies, model.nv, "damping"))


def friction_forces(model: Model, v: Array, smoothing: float, damping: Array | None = None, friction: Array | None = None) -> Array:
    """Return the forces of the joints' losses (nv), −D v − f_c v/√(v² + s²), to be added to tau.

    A stand-in for Coulomb's −f_c sign(v): within the ``smoothing`` s of rest it is viscous, f_c/s per unit of speed, so that a joint
    under a constant load below f_c creeps instead of sticking. An explicit integrator needs steps shorter than that: dt < M s/f_c.

    Parameters
    ----------
    v : velocity (nv)
    smoothing : s, the speed (rad/s and m/s, greater than zero) at which 1/√2 of the friction ``Joint.friction`` (N·m and N) is there
    damping, friction : per velocity (nv), instead of those of the model's joints

    Notes
    -----
    Traceable. A mimic joint slips at ratio · v of its source, and its loss is felt there: −ratio f_c u/√(u² + s²) with u = ratio v.

    Raises
    ------
    StateError : a shape or value that is not what is expected

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod")
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", damping=0.5, friction=2.0)
    >>> friction_forces(arm.model(), np.array([1.0]), smoothing=1e-9)
    array([-2.5])
    """
    v = model.checked("v", v)
    s = number("smoothing", smoothing, "a speed greater than zero, such as 1e-3 (rad/s and m/s)", above=0.0, error=StateError)
    tau = -(np.diag(damping_matrix(model)) if damping is None else model.checked("damping", damping)) * v
    for ratio, f in dry_friction(model).items() if friction is None else ((1.0, model.checked("friction", friction)),):
        if any(map(is_nonzero, f)):
            u = ratio * v
            tau = tau - ratio * f * (u / ops.sqrt(u * u + s**2))
    return tau


def dry_friction(model: Model) -> dict[float, Array]:
    """Return the joints' Coulomb friction by the speed at which they slip: for each |ratio| of joints to entries of v, 1 of ordinary ones,
    their friction in total for each entry (nv)."""
    found: dict[float, list[Any]] = {}
    for body in model.bodies:
        total = found.setdefault(abs(body.ratio), [0.0] * model.nv)
        for k in range(body.v.start, body.v.stop):
            total[k] = total[k] + body.joint.friction
    return {ratio: np.array(total) for ratio, total in found.items()}
