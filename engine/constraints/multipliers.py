"""Lagrange multipliers: the forces λ that exact constraints exert.

With J v̇ + J̇ v = 0 beside the equations of motion, and Λ = J M⁻¹ Jᵀ::

    M v̇ + b = τ + Jᵀ λ,   Λ λ = −(J M⁻¹ (τ − b) + J̇ v)                              (1)

Where loops are redundant Λ is singular, and λ not unique. The proximal iteration needs no decision on ranks: begun at zero, a turn leaves
μ/(e + μ) of the error for each eigenvalue e of Λ. What does nothing (e = 0) it does not bound, where r is off by rounding; that is taken
away where λ is shown, with a larger μ, so that λ is the smallest of all::

    λ ← (Λ + μ)⁻¹ (r + μ λ)                                                          (2)
    λ ← λ − (μ (Λ + μ)⁻¹)³ λ                                                         (3)

References: Featherstone, *Rigid Body Dynamics Algorithms*, ch. 8; Carpentier, Budhiraja & Mansard, *Proximal and sparse resolution of
constrained dynamic equations*, RSS 2021.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.constraints.kinds import Constraint
from engine.constraints.loops import Held, Loops
from engine.dynamics import GRAVITY, crba, rnea
from engine.dynamics.aba import bodies_of_rows, require_inertia
from engine.model import Model
from engine.ops.linear import is_nonzero

Array = np.ndarray
#: μ, of the largest entry on the diagonal of Λ: so small that a mechanism passes through postures in which all is in line
PROXIMAL = 1e-13
#: turns of the iteration
TURNS = 2
#: the same where forces are shown: eigenvalues that are smaller count as none
CUT = 1e-8
#: a pivot of Λ, of the largest entry on its diagonal in the same unit, below which loops are redundant, or nearly so
WEAK = 1e-3


class Schur:
    """Λ = J M⁻¹ Jᵀ, factored: M = L D Lᵀ numbered from the leaves, where a tree's zeros stay, Y = L⁻¹ Jᵀ and Λ = Yᵀ D⁻¹ Y.

    Attributes
    ----------
    inertia : M (nv, nv), or given as its factors
    J : (n, nv); units : of its rows

    >>> import numpy as np
    >>> from engine.constraints import Schur
    >>> Schur(np.array([[2.0]]), np.array([[1.0]])).solve(np.array([3.0])).round(9)  # Λ = 1/2 kg
    array([6.])
    """

    def __init__(self, M: Array | ops.LDL, J: Array, units: Sequence[str] = ()) -> None:
        self.J, self.units = J, units or ("",) * len(J)
        self.inertia = M if isinstance(M, ops.LDL) else ops.LDL(M[::-1, ::-1])
        self.Y = self.inertia.forward(J.T[::-1])
        n, D = len(J), self.inertia.reciprocal
        columns = [{k: y for k, y in enumerate(self.Y[:, i]) if is_nonzero(y)} for i in range(n)]
        upper = [[dot(columns[i], columns[j], D) if i <= j else 0.0 for j in range(n)] for i in range(n)]
        size = ops.largest([upper[i][i] for i in range(n)])
        self.mu = PROXIMAL * ops.where(size > 0.0, size, 1.0)
        self.L = np.array(upper).reshape(n, n)
        self.cut = CUT / PROXIMAL * self.mu
        self.proximal = ops.LDL(plus_diagonal(self.L, self.mu))

    def solve(self, r: Array) -> Array:
        """Return a λ (n) with Λ λ = r."""
        multipliers = self.proximal.solve(r)
        for _ in range(TURNS - 1):
            multipliers = self.proximal.solve(r + self.mu * multipliers)                                    # (2)
        return multipliers

    def smallest(self, multipliers: Array) -> Array:
        """Return the smallest of the λ (n) that do the same: without what does nothing."""
        idle = multipliers
        for _ in range(3):
            idle = self.larger.solve(self.cut * idle)                                                       # (3)
        return multipliers - idle

    @functools.cached_property
    def weak(self) -> Any:
        """True if loops are redundant, or nearly, in whatever units: motions that J does not allow then follow from small differences."""
        diagonal, weak = np.diag(self.L), False
        sizes = {unit: ops.largest([e for e, u in zip(diagonal, self.units, strict=True) if u == unit]) for unit in self.units}
        for e, reciprocal, unit in zip(diagonal, self.proximal.reciprocal, self.units, strict=True):
            small = ops.logical_and(e > 0.0, reciprocal * (WEAK * sizes[unit]) > 1.0)  # but for a row of zeros, as an open grip's
            weak = ops.logical_or(weak, small)
        return weak

    @functools.cached_property
    def larger(self) -> ops.LDL:
        """Λ + μ with a larger μ."""
        return ops.LDL(plus_diagonal(self.L, self.cut))

    def motion(self, multipliers: Array) -> Array:
        """Return M⁻¹ Jᵀ λ (nv)."""
        return self.inertia.backward(self.inertia.reciprocal * (self.Y @ multipliers))[::-1]

    def accelerations(self, force: Array, bias: Array) -> tuple[Array, Array]:
        """Return v̇ (nv) and a λ (n) of M v̇ = force + Jᵀ λ, J v̇ + bias = 0."""
        y = self.inertia.reciprocal * self.inertia.forward(force[::-1])
        multipliers = self.solve(-(self.Y.T @ y + bias))                                                    # (1)
        return self.inertia.backward(y)[::-1] + self.motion(multipliers), multipliers

    def without(self, v: Array) -> Array:
        """Return the velocity nearest to v (nv) in the metric of M that the constraints allow: v − M⁻¹ Jᵀ Λ⁻¹ J v."""
        return v - self.motion(self.solve(self.J @ v))

    def gentle(self, r: Array) -> Array:
        """Return a λ (n) with Λ λ = r but for what is hardly told apart from rounding."""
        multipliers = self.larger.solve(r)
        return self.larger.solve(r + self.cut * multipliers)


def dot(a: dict[int, Any], b: dict[int, Any], D: Array) -> Any:
    """Return Σ a_k D_k b_k of two columns with entries here and there."""
    return sum((y * (D[k] * b[k]) for k, y in a.items() if k in b), 0.0)


def plus_diagonal(A: Array, mu: Any) -> Array:
    """Return A + μ 1, with A's zeros."""
    result = np.array(A, dtype=object if ops.graph_of(A[:1, :1], mu) is not None else A.dtype)
    for i in range(len(A)):
        result[i, i] = A[i, i] + mu
    return result


def schur(model: Model, loops: Loops, q: Array, held: Held) -> Schur:
    """Return Λ at q; StateError where a joint moves no mass.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, schur
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> schur(model, loops, np.zeros(2), {}).solve(np.array([4.0])).round(6)  # Λ = 1/1 + 1/3
    array([3.])
    """
    M = crba(model, q)
    require_inertia(M[::-1, ::-1], np.abs(M).max(initial=0.0) if M.dtype != object else 0.0, bodies_of_rows(model)[::-1])
    return Schur(M, loops.jacobian(q, held), loops.units)


def accelerations(model: Model, loops: Loops, q: Array, v: Array, tau: Array, gravity: Any, wrenches: Array | None,
                  held: Held) -> tuple[Array, Array, Schur]:  # fmt: skip
    """Return v̇ (nv), a λ (n) and Λ under forces tau (nv) and wrenches (nlinks, 6), with grips as they are ``held``."""
    force, solver = tau - rnea(model, q, v, np.zeros(model.nv), gravity, wrenches), schur(model, loops, q, held)
    return *solver.accelerations(force, loops.bias(q, v, held)), solver


def constrained_dynamics(model: Model, constraints: Sequence[Constraint], q: Array, v: Array, tau: Array, gravity: Any = GRAVITY,
                         wrenches: Array | None = None) -> tuple[Array, Array]:  # fmt: skip
    """Return the accelerations and the constraints' forces that joint forces make (forward dynamics with loops).

    M(q) v̇ + C(q, v) v + g(q) = tau + Σ Jᵀ F + J_cᵀ λ, with J_c v̇ + J̇_c v = 0. Grips count as open. The loops are taken as they are, closed
    or not. Traceable; parameters and raised errors are those of :func:`engine.dynamics.aba`.

    Parameters
    ----------
    constraints : of :mod:`engine.constraints`

    Returns
    -------
    vdot : accelerations (nv)
    forces : λ (n), the smallest where loops are redundant; each kind says what of

    Examples
    --------
    Two 1 kg blocks on parallel rails are one: 2 N on the first accelerates both with 1 m/s², and 1 N of it passes on to the second.

    >>> from engine.constraints import Coupling
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> cart = Builder()
    >>> _ = cart.add_link("rail"), cart.add_link("a", inertia.sphere(1.0, 0.1)), cart.add_link("b", inertia.sphere(1.0, 0.1))
    >>> _ = cart.add_joint("j", "prismatic", "rail", "a", axis=[1, 0, 0]), cart.add_joint("k", "prismatic", "rail", "b", axis=[1, 0, 0])
    >>> vdot, force = constrained_dynamics(cart.model(), [Coupling("k", "j")], np.zeros(2), np.zeros(2), np.array([2.0, 0.0]))
    >>> vdot.round(9), force.round(9)
    (array([1., 1.]), array([1.]))
    """
    q, v, tau = model.checked("q", q), model.checked("v", v), model.checked("tau", tau)
    loops = Loops(model, constraints)
    vdot, multipliers, solver = accelerations(model, loops, q, v, tau, gravity, wrenches, loops.open())
    return vdot, solver.smallest(multipliers)
