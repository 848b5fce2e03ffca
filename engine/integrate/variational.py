"""DQVI, the variational integrator of a rigid body on unit dual quaternions.

The discrete Lagrangian is the kinetic energy of the body twist ξ that the step's own motion F has, and half of the wrench at either end.
With x = h ξ/2 = (f, d), f0 = √(1 − f·f), d0 = −f·d/f0, the step's motion is the unit dual quaternion F = [f0, f | d0, d], and with
(m, n) = G ξ and the momentum Π = G V::

    f0 m + f × m + d0 n + d × n = Π_ang + (h/2) W_ang                                                       (1)
    f0 n + f × n = Π_lin + (h/2) W_lin
    Q⁺ = Q ⊗ F                                                                                              (2)
    Π⁺ = Ad(F)ᵀ (Π + (h/2) W) + (h/2) W⁺                                                                    (3)

(3) is the mirror image of (1), (f0 m − f × m + d0 n − d × n ; f0 n − f × n) + (h/2) W⁺, in a form that keeps a free body's momentum
whatever the rounding of ξ.

Newton's method solves (1) for ξ, with the exact matrix A G + (h/2) D::

    A = [[f0 + [f], d0 + [d]], [0, f0 + [f]]]
    D = [[−m fᵀ/f0 − [m] + n (d0 f/f0² − d/f0)ᵀ, −n fᵀ/f0 − [n]], [−n fᵀ/f0 − [n], 0]]

It takes any symmetric positive definite G and any reference point; a start from a momentum is one from the velocity G⁻¹ Π
(``engine.dynamics.velocity_from_momentum``, of a momentum in the world). A free body keeps its momentum in the world to rounding, and its
energy within bounds that do not grow. Two limits:

- **h|ω|.** Newton's method needs a step that turns by little: it converges for h|ω| and h|v| over the body's size up to 0.4, mostly to 0.6.
  A step that does not converge is taken as 2, 4, … 64 shorter ones; where these fail too, the new state is NaN. For long steps (1) has
  other roots, beyond a fold where the determinant of Newton's matrix is zero: what takes more than a few passes, or ends where the
  determinant is less than half of det G, its value for h = 0, counts as not converged.
- **Fast flight.** The method is not invariant under Galilei's transformations: a large velocity along a spin axis costs accuracy. Describe
  an orbiting body in a frame that moves with the orbit.

References: Manchester & Peck, *Quaternion variational integrators for spacecraft dynamics*, JGCD 39 (2016), for the attitude; Xu & Chen for
the dual quaternions; the equations above are derived anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.integrate.method import Method, register
from engine.integrate.system import FreeBody
from engine.spatial import dual_quaternion, quaternion, so3

Array = np.ndarray
#: a step may be cut into this many
SUBSTEPS = 64
#: of Newton's method; it takes three or four where h|ω| ≤ 0.4
PASSES = 5


def motion(x: Array) -> tuple[Any, Array, Any, Array]:
    """f0, f, d0, d of the unit dual quaternion F with the vector parts x = (f, d)."""
    f, d = x[:3], x[3:]
    f0 = ops.sqrt(1.0 - f @ f)
    return f0, f, -(f @ d) / f0, d


def determinant(A: Array) -> Any:
    """Return a determinant by Gaussian elimination without pivoting."""
    rows, result = [list(row) for row in A], 1.0
    while rows:
        (pivot, *first), *below = rows
        rows = [[x - row[0] / pivot * y for x, y in zip(row[1:], first, strict=True)] for row in below]
        result = result * pivot
    return result


def attempt(system: FreeBody, t: Any, h: Any, q: Array, v: Array) -> tuple[Array, Array, Any]:
    """q and v after one step, and whether Newton's method converged."""
    G = system.inertia

    def kicked(P: Array, t: Any, q: Array, v: Array) -> Array:
        return P if system.wrench is None else P + (0.5 * h) * system.wrench(t, q, v)

    wanted = kicked(G @ v, t, q, v)

    def residual(xi: Array) -> Array:
        (f0, f, d0, d), P = motion((0.5 * h) * xi), G @ xi
        m, n = P[:3], P[3:]
        return np.concatenate([f0 * m + ops.cross(f, m) + d0 * n + ops.cross(d, n), f0 * n + ops.cross(f, n)]) - wanted    # (1)

    def derivative(xi: Array) -> Array:
        (f0, f, d0, d), P = motion((0.5 * h) * xi), G @ xi
        m, n, one, r = P[:3], P[3:], np.eye(3), 1.0 / f0
        turned = f0 * one + so3.hat(f)
        A = np.block([[turned, d0 * one + so3.hat(d)], [0.0 * one, turned]])
        lower = -np.outer(n, r * f) - so3.hat(n)
        upper = -np.outer(m, r * f) - so3.hat(m) + np.outer(n, (d0 * r * r) * f - r * d)
        return A @ G + (0.5 * h) * np.block([[upper, lower], [lower, 0.0 * one]])

    xi, converged = ops.root(residual, v, derivative, limit=PASSES)
    converged = ops.logical_and(converged, 0.5 * determinant(G) < determinant(derivative(xi)))
    f0, f, d0, d = motion((0.5 * h) * xi)
    turn, p = np.array([f0, *f]), dual_quaternion.position(np.array([f0, *f, d0, *d]))
    to = np.concatenate([quaternion.product(q[:4], turn), q[4:] + quaternion.rotate(q[:4], p)])                            # (2)
    back, m, n = quaternion.conjugate(turn), wanted[:3], wanted[3:]
    P = np.concatenate([quaternion.rotate(back, m - ops.cross(p, n)), quaternion.rotate(back, n)])                         # (3)
    if system.wrench is None:
        V = ops.solve(G, P)
        return to, V + ops.solve(G, P - G @ V), converged  # corrected, so that G V has no bias from P
    V, settled = ops.root(lambda V: G @ V - kicked(P, t + h, to, V), ops.solve(G, kicked(P, t + h, to, v)))
    return to, V, ops.logical_and(converged, settled)


def dqvi(system: FreeBody, t: Any, h: Any, x: Array) -> Array:
    """Take one step, or where it does not converge as many shorter ones as it takes."""
    q, v = system.split(x)
    q1, v1, converged = attempt(system, t, h, q, v)

    def whole(done: Any) -> Any:
        return ops.absolute(done) >= ops.absolute(h) * (1.0 - 1e-12)

    def onward(state: Array) -> tuple[Array, Any]:
        """Advance by a substep where it converges, else halve it; state = (q, v, time done, substep)."""
        (q, v), done, s = system.split(state[:13]), state[13], state[14]
        to, V, good = attempt(system, t + done, s, q, v)
        after = np.concatenate([to, V, ops.array([done + s, s])])
        state = ops.where(good, after, np.concatenate([q, v, ops.array([done, 0.5 * s])]))
        return state, ops.logical_or(whole(state[13]), ops.absolute(state[14]) < ops.absolute(h) / SUBSTEPS)

    start = np.concatenate([q, v, ops.array([0.0 * h, 0.5 * h])])
    state, _ = ops.while_loop(onward, start, 2 * SUBSTEPS, done=converged)
    return ops.where(converged, np.concatenate([q1, v1]), ops.where(whole(state[13]), state[:13], np.nan))


DQVI = register(Method(
    "dqvi", 2, dqvi, 3, 1, "Manchester & Peck 2016, on dual quaternions", takes=FreeBody, implicit=True, reversible=True,
    conserves=("momentum",), symplectic=True))  # fmt: skip
