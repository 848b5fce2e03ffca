"""Numbers that bodies can have: the nearest to a least-squares solution, and where that leaves a choice, to what was thought before.

A link's ten numbers are a body's where the 4×4 pseudo-inertia J = [[½ tr(I) 1 − I, h], [hᵀ, m]] is positive definite; masses, damping,
friction and armature are not below zero. Both are J ≻ 0, of 4×4 and 1×1 blocks that are linear in the unknowns. Of

    ½ ‖A x − b‖² + μ Σ d(J, J₀),   d = tr(J J₀⁻¹) − log det(J J₀⁻¹) − dim                            (1)

the second term is the entropic divergence, a metric in which neither axes nor units matter: it is infinite where a J is none of a body's,
and strictly convex. So for every μ there is one minimum, found by Newton's method from anywhere, and as μ goes to zero it goes to the
least squares that bodies can have, and among several of them to the nearest to J₀. (By log-Cholesky J = L Lᵀ the same numbers are free of
bounds, but the problem is no longer convex.)

References: Wensing, Kim & Slotine, *Linear matrix inequalities for physically consistent inertial parameter identification*, RA-L 2018;
Lee, Wensing & Park, *Geometric robot dynamic identification: a convex programming approach*, T-RO 2020 (the metric); Rucker & Wensing,
*Smooth parameterization of rigid-body inertia*, RA-L 2022 (log-Cholesky); Boyd & Vandenberghe, *Convex Optimization*, §11 (the path).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.dynamics.regressor import NUMBER
from engine.identification.errors import IdentificationError
from engine.identification.unknowns import Unknowns

Array = np.ndarray
#: the least eigenvalue of J J₀⁻¹: below it a J is taken to be at the end of what bodies can have
LEAST = 1e-9
#: of the least moment of a prior that is no body's, or a point: of its largest
THIN = 1e-3
#: m: the size of a prior that is a point
POINT = 0.01
#: by how much μ goes down, and where it ends
DOWN, END = 0.1, 1e-32
#: of the least squares, in their own units: what rounding may take from a solution that bodies can have
ROUNDED = 1e-7
#: the share of a number's largest effect, instead of a prior of zero
NOTHING = 1e-6


class Block(NamedTuple):
    """J J₀⁻¹ as a function of the unknowns: 1 + Σ (x_j − x₀_j) M_j in the axes of J₀'s Cholesky factor, M (k, d, d) of unknowns j (k)."""

    name: str
    which: list[int]
    M: Array


class Found(NamedTuple):
    """x (n), whether it is the least squares' own, and which blocks are at the end of what bodies can have."""

    x: Array
    physical: bool
    ends: list[str]


def pseudo_inertia(pi: Array) -> Array:
    """Return J (4×4) of a link's ten parameters.

    >>> pseudo_inertia(np.array([2.0, 0, 0, 0, 2, 0, 2, 0, 0, 2])).diagonal()
    array([1., 1., 1., 2.])
    """
    m, h, (xx, xy, yy, xz, yz, zz) = pi[0], pi[1:4], pi[4:]
    half = 0.5 * (xx + yy + zz)
    return np.array([[half - xx, -xy, -xz, h[0]], [-xy, half - yy, -yz, h[1]], [-xz, -yz, half - zz, h[2]], [*h, m]])


def ten(J: Array) -> Array:
    """Return the ten parameters of a link with the pseudo-inertia J (4×4)."""
    S, t = J[:3, :3], np.trace(J[:3, :3])
    return np.array([J[3, 3], *J[:3, 3], t - S[0, 0], -S[0, 1], t - S[1, 1], -S[0, 2], -S[1, 2], t - S[2, 2]])


def inside(pi: Array) -> Array:
    """Return the parameters (10) of a body near to those of what is none, or a point or a rod: its moments raised where they must be."""
    m, c = pi[0], pi[1:4] / pi[0]
    J = pseudo_inertia(pi)
    moments, axes = np.linalg.eigh(J[:3, :3] - m * np.outer(c, c))
    least = THIN * moments[-1] if moments[-1] > 1e-12 * m * POINT**2 else m * POINT**2
    if moments[0] > least * LEAST ** 0.5:                                       # a body, however thin
        return pi
    J[:3, :3] = (axes * np.maximum(moments, least)) @ axes.T + m * np.outer(c, c)
    return ten(J)


def prior(unknowns: Unknowns, scale: Array) -> tuple[Array, list[Block]]:
    """Return x₀ (n), the model's own numbers, moved to where bodies can be, and the blocks about it.

    Parameters
    ----------
    scale : the size of each unknown that would explain all that was measured (n), for numbers that are zero in the model
    """
    x0, blocks = unknowns.values.copy(), list[Block]()
    for link, which in unknowns.of_links.items():
        own = slice(NUMBER * (n := unknowns.model.link_index(link)), NUMBER * (n + 1))
        pi, E = unknowns.inertial[own], unknowns.E[own][:, which]
        body = inside(pi)
        if len(which) == NUMBER:
            x0[which] = E.T @ body
        elif not np.array_equal(body, pi):
            raise IdentificationError(f"the inertia of '{link}' in the model is no body's with a volume, and some of it is known; expected "
                                      f"'inertia.{link}', or another model")  # fmt: skip
        L = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(body)))
        blocks.append(Block(link, which, np.array([L @ pseudo_inertia(e) @ L.T for e in E.T])))
    for j in unknowns.numbers:
        x0[j] = max(x0[j], NOTHING * scale[j], np.finfo(float).tiny ** 0.5)
        blocks.append(Block(unknowns.names[j], [j], np.array([[[1.0 / x0[j]]]])))
    return x0, blocks


def scales(blocks: list[Block], n: int) -> Array:
    """Return S (n, n), for which x = x₀ + S u has blocks that change by as much as u, |u| = |J J₀⁻¹ − 1|."""
    S = np.zeros((n, n))
    for block in blocks:
        R = np.linalg.qr(block.M.reshape(len(block.which), -1).T, mode="r")
        S[np.ix_(block.which, block.which)] = np.linalg.inv(R)
    return S


def nearest(A: Array, b: Array, x0: Array, blocks: list[Block]) -> Found:
    """Return the minimum of (1) as μ goes to zero, x (n).

    Parameters
    ----------
    A (r, n), b (r) : the least squares, whose rows are independent
    x0, blocks : of :func:`prior`
    """
    S = scales(blocks, len(x0))
    A, b = A @ S, b - A @ x0
    moved = [block._replace(M=np.einsum("jab,ji->iab", block.M, S[np.ix_(block.which, block.which)])) for block in blocks]
    size = float(np.linalg.norm(b))
    if not size:
        return Found(x0, True, [])
    A, b, u, mu = A / size, b / size, np.zeros(len(x0)), 1.0
    while mu > END:
        u = centred(A, b, u, moved, mu)
        ends = [block.name for block, J in zip(moved, values(moved, u), strict=True) if np.linalg.eigvalsh(J)[0] < LEAST]
        if ends or np.linalg.norm(A @ u - b) < 1e-13:
            break
        mu *= DOWN
    step = np.linalg.lstsq(A, b - A @ u, rcond=None)[0]
    if all(np.linalg.eigvalsh(J)[0] > LEAST / 2 for J in values(moved, u + step)):
        return Found(x0 + S @ (u + step), True, [])
    near = [block.name for block, J in zip(moved, values(moved, u), strict=True) if np.linalg.eigvalsh(J)[0] < LEAST**0.5]
    fit = float(np.linalg.norm(A @ u - b)) / max(1.0, float(np.linalg.norm(A @ (np.linalg.pinv(S) @ x0))))
    return Found(x0 + S @ u, fit < ROUNDED, near)


def values(blocks: list[Block], u: Array) -> list[Array]:
    """Return J J₀⁻¹ of each block."""
    return [np.eye(block.M.shape[-1]) + np.tensordot(u[block.which], block.M, 1) for block in blocks]


def centred(A: Array, b: Array, u: Array, blocks: list[Block], mu: float) -> Array:
    """Return the minimum of (1) for one μ, by Newton's method: each step p minimises, with J J₀⁻¹ = L Lᵀ of every block::

        ‖A (u + p) − b‖² + μ Σ ‖L⁻¹ (Σ p_j M_j) L⁻ᵀ + Lᵀ L − 1‖²                                       (2)
    """
    for _ in range(60):
        rows, rest, root = [A], [b - A @ u], np.sqrt(mu)
        for block, J in zip(blocks, values(blocks, u), strict=True):
            L = np.linalg.cholesky(J)
            inverse = np.linalg.inv(L)
            G = np.zeros((J.size, len(u)))
            G[:, block.which] = (inverse @ block.M @ inverse.T).reshape(len(block.which), -1).T
            rows, rest = [*rows, root * G], [*rest, root * (np.eye(len(J)) - L.T @ L).ravel()]
        Q, R = np.linalg.qr(np.concatenate(rows))
        p = np.linalg.solve(R, Q.T @ np.concatenate(rest))                                                     # (2)
        decrement = float(np.linalg.norm(R @ p)) / root
        t = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)               # damped: it cannot leave what bodies can have
        while t > 1e-9 and any(np.linalg.eigvalsh(J)[0] <= 0.0 for J in values(blocks, u + t * p)):
            t *= 0.5
        u = u + t * p
        if decrement < 1e-6:
            break
    return u
