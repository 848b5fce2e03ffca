"""Inverse dynamics with loops: the smallest torques of some joints that make a motion, and the forces of the loops then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.checks import shown
from engine.constraints.kinds import Constraint, ConstraintError
from engine.constraints.loops import Loops
from engine.dynamics import GRAVITY, rnea
from engine.model import Model

Array = np.ndarray
#: of the largest singular value: smaller ones are rounding
RANK = 1e-9
#: of a motion's accelerations, and of its forces, that may be left over
LEFT = 1e-7


class Actuation(NamedTuple):
    """The actuated joints of a mechanism with loops.

    Attributes
    ----------
    tau : forces of the joints (nv), zero but for those that are driven
    forces : the constraints' λ (n), the smallest
    free : in how many ways the driven joints may work against each other through the loops, without moving anything
    """

    tau: Array
    forces: Array
    free: int


def constrained_inverse_dynamics(model: Model, constraints: Sequence[Constraint], q: Any, v: Any, vdot: Any, joints: Sequence[str],
                                 gravity: Any = GRAVITY, wrenches: Array | None = None) -> Actuation:  # fmt: skip
    """Return the forces of the named joints that make a motion which the constraints allow (inverse dynamics with loops).

    With N a basis of the motions that J allows, and B the columns of the driven joints, Nᵀ B u = Nᵀ (M v̇ + b): of all u the smallest. On
    floats; parameters are those of :func:`engine.dynamics.rnea.rnea`.

    Raises
    ------
    ConstraintError : v̇ is not what the constraints allow, or the joints cannot make it

    Examples
    --------
    Two motors of a gear share what one of them would do alone: 4 N·m on 2 kg m², half of it each, and they may strain it in one way.

    >>> from engine.constraints import Coupling
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> gear = Builder()
    >>> _ = gear.add_link("frame"), [gear.add_link(n, inertia.from_mass(1.0, np.zeros(3), np.eye(3))) for n in "ab"]
    >>> _ = [gear.add_joint(n, "revolute", "frame", n) for n in "ab"]
    >>> found = constrained_inverse_dynamics(gear.model(), [Coupling("a", "b")], np.zeros(2), np.zeros(2), [2.0, 2.0], ["a", "b"])
    >>> found.tau.round(9), found.forces.round(9) + 0.0, found.free
    (array([2., 2.]), array([0.]), 1)
    """
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    if isinstance(joints, str) or not all(isinstance(j, str) for j in joints):
        raise ConstraintError(f"joints is {shown(joints)}; expected a list of names")
    loops = Loops(model, constraints)
    held = loops.open()
    J, wanted = loops.jacobian(q, held), -loops.bias(q, v, held)
    off = np.abs(J @ vdot - wanted).max(initial=0.0)
    if off > LEFT * (1.0 + np.abs(vdot).max(initial=0.0) + np.abs(wanted).max(initial=0.0)):
        raise ConstraintError(f"vdot opens the constraints, by {off:.3g} m/s² or rad/s²; expected J v̇ = −J̇ v")
    driven = sorted({k for j in joints for k in range(model.v_slice(j).start, model.v_slice(j).stop)})
    load = rnea(model, q, v, vdot, gravity, wrenches)
    N = allowed_motions(J)
    B = N.T[:, driven]
    u = np.linalg.pinv(B, rcond=RANK) @ (N.T @ load) if driven else np.zeros(0)
    if (left := np.abs(B @ u - N.T @ load).max(initial=0.0)) > LEFT * (1.0 + np.abs(load).max(initial=0.0)):
        raise ConstraintError(f"the joints {', '.join(joints) or '(none)'} cannot make this motion: {left:.3g} N·m or N are left over; "
                              "expected joints that drive every freedom that the loops leave")  # fmt: skip
    tau = np.zeros(model.nv)
    tau[driven] = u
    free = len(driven) - (int(np.linalg.matrix_rank(B, tol=RANK)) if B.size else 0)
    return Actuation(tau, np.linalg.pinv(J.T, rcond=RANK) @ (load - tau), free)


def allowed_motions(J: Array) -> Array:
    """Return an orthonormal basis (nv, k) of the velocities with J v = 0."""
    if not len(J):
        return np.eye(J.shape[1])
    _, sizes, Vt = np.linalg.svd(J)
    rank = int((sizes > RANK * max(sizes.max(initial=0.0), 1e-300)).sum())
    return Vt[rank:].T
