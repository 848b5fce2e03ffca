"""Losses in the joints: damping, and Coulomb's friction made smooth."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.model import Model, StateError

Array = np.ndarray


def damping_matrix(model: Model) -> Array:
    """Damping D, diagonal (nv, nv): the joints' viscous forces are −D v (N·m·s/rad and N·s/m, from ``Joint.damping``).

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
    d = np.zeros(model.nv)
    for body in model.bodies:
        d[body.v] += body.ratio**2 * body.joint.damping
    return np.diag(d)


def friction_forces(model: Model, v: Array, smoothing: float) -> Array:
    """Forces of the joints' losses (nv), −D v − f_c tanh(v/smoothing), to be added to tau.

    A stand-in for Coulomb's −f_c sign(v): within ``smoothing`` of rest it is viscous, f_c/smoothing per unit of speed, so that a joint
    under a constant load creeps instead of sticking. An explicit integrator needs steps shorter than that: dt < M smoothing/f_c.

    Parameters
    ----------
    v : velocity (nv)
    smoothing : speed (rad/s and m/s, greater than zero) at which three quarters of the friction ``Joint.friction`` (N·m and N) is there

    Notes
    -----
    Traceable. A mimic joint slips at ratio · v of its source, and its loss is felt there: −ratio f_c tanh(ratio v/smoothing).

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
    >>> friction_forces(arm.model(), np.array([1.0]), smoothing=1e-3)
    array([-2.5])
    """
    v = model.checked("v", v)
    if not isinstance(smoothing, (int, float, np.integer, np.floating)) or not 0 < smoothing < np.inf:
        raise StateError(f"smoothing is {smoothing!r}; expected a speed greater than zero, such as 1e-3 (rad/s and m/s)")
    forces: list[Any] = list(-(damping_matrix(model) @ v))
    for body in model.bodies:
        for k in range(body.v.start, body.v.stop):
            forces[k] = forces[k] - body.ratio * body.joint.friction * ops.tanh(body.ratio * v[k] / smoothing)
    return np.array(forces)
