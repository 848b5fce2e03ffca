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

from engine.dynamics.kinematics import forward_kinematics
from engine.dynamics.regressor import NUMBER
from engine.identification.equations import triangle
from engine.identification.errors import IdentificationError
from engine.identification.unknowns import Unknowns

Array = np.ndarray
#: the least eigenvalue of J J₀⁻¹: below it a J is taken to be at the end of what bodies can have
LEAST = 1e-9
#: of the least moment of a prior that is no body's, or a point: of its largest
THIN = 1e-3
#: m: the size of a prior that is a point
POINT = 0.01
#: by how much μ goes down in a step, where it ends, and how many steps there may be
DOWN, END, STEPS = 0.1, 1e-30, 500
#: of what the prior is off: where the least squares are met
MET = 1e-12
#: of the least squares, in their own units: what rounding may take from a solution that bodies can have
ROUNDED = 1e-7
#: the share of a number's largest effect, instead of a prior of zero
NOTHING = 1e-6


class Blocks(NamedTuple):
    """J J₀⁻¹ of K blocks as a function of the unknowns: 1 + Σ (x_j − x₀_j) M_j in the axes of J₀'s Cholesky factor.

    Attributes
    ----------
    names : (K); which : unknowns j of each (K, 10); M : (K, 10, 4, 4), zero where it has fewer, and beyond the 1×1 of a number
    """

    names: tuple[str, ...]
    which: Array
    M: Array

    @classmethod
    def of(cls, each: list[tuple[str, list[int], Array]]) -> Blocks:
        """Return blocks of (name, unknowns (k), M (k, d, d))."""
        which, M = np.zeros((len(each), NUMBER), dtype=int), np.zeros((len(each), NUMBER, 4, 4))
        for b, (_, own, m) in enumerate(each):
            which[b, : len(own)], M[b, : len(own), : m.shape[1], : m.shape[1]] = own, m
        return cls(tuple(name for name, _, _ in each), which, M)

    def own(self, b: int) -> list[int]:
        """Return the unknowns of a block."""
        found: list[int] = self.which[b, self.M[b].any(axis=(1, 2))].tolist()
        return found

    def values(self, u: Array) -> Array:
        """Return J J₀⁻¹ (K, 4, 4) of x − x₀ = u (n)."""
        return np.eye(4) + np.einsum("bi,biac->bac", u[self.which], self.M)

    def least(self, u: Array) -> Array:
        """Return the least eigenvalue of each (K)."""
        found: Array = np.linalg.eigvalsh(self.values(u))[:, 0]
        return found


class Found(NamedTuple):
    """x (n), whether it is the least squares' own, which blocks are at the end of what bodies can have, and whether x is the best of that
    or only near it."""

    x: Array
    physical: bool
    ends: list[str]
    done: bool = True


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


def prior(unknowns: Unknowns, scale: Array) -> tuple[Array, Blocks]:
    """Return x₀ (n), the model's own numbers, moved to where bodies can be, and the blocks about it.

    Parameters
    ----------
    scale : the size of each unknown that would explain all that was measured (n), for numbers that are zero in the model
    """
    x0, each = unknowns.values.copy(), []
    for link, which in unknowns.of_links.items():
        own = slice(NUMBER * (n := unknowns.model.link_index(link)), NUMBER * (n + 1))
        pi, E = unknowns.inertial[own], unknowns.E[own][:, which]
        body = inside(pi)
        if len(which) == NUMBER:
            x0[which] = E.T @ body
        elif not np.array_equal(body, pi):
            raise IdentificationError(f"the inertia of '{link}' in the model is no body's with a volume, and some of it is known; expected "
                                      f"'inertia.{link}', or another model")  # fmt: skip
        each.append((link, which, seen_from(pseudo_inertia(body), E)))
    for j in unknowns.numbers:
        x0[j] = max(x0[j], NOTHING * scale[j], np.finfo(float).tiny ** 0.5)
        each.append((unknowns.names[j], [j], np.array([[[1.0 / x0[j]]]])))
    return x0, Blocks.of(each)


def seen_from(J: Array, E: Array) -> Array:
    """Return the pseudo-inertias (k, 4, 4) of the parameters in columns of E (10, k), in the axes of the Cholesky factor of J."""
    inverse = np.linalg.inv(np.linalg.cholesky(J))
    return np.array([inverse @ pseudo_inertia(e) @ inverse.T for e in E.T])


def scales(blocks: Blocks, n: int) -> Array:
    """Return S (n, n), for which x = x₀ + S u has blocks that change by as much as u, |u| = |J J₀⁻¹ − 1|."""
    S = np.zeros((n, n))
    for b in range(len(blocks.names)):
        own = blocks.own(b)
        R = np.linalg.qr(blocks.M[b, : len(own)].reshape(len(own), -1).T, mode="r")
        S[np.ix_(own, own)] = np.linalg.inv(R)
    return S


def of_the_whole(unknowns: Unknowns) -> tuple[Array, float]:
    """Return S of :func:`scales` as if each link's inertia were that of all that moves, at the neutral configuration, the mass likewise;
    and the size of the robot, m."""
    model, S = unknowns.model, np.zeros((len(unknowns.names),) * 2)
    T = forward_kinematics(model, model.neutral())
    moving = [k for k, (i, _) in enumerate(model.carrier) if i >= 0]
    J = sum(T[k] @ pseudo_inertia(unknowns.inertial[NUMBER * k : NUMBER * (k + 1)]) @ T[k].T for k in moving)
    for link, which in unknowns.of_links.items():
        at = np.linalg.inv(T[n := model.link_index(link)])
        own = pseudo_inertia(inside(ten(at @ J @ at.T)))
        S += scales(Blocks.of([(link, which, seen_from(own, unknowns.E[NUMBER * n : NUMBER * (n + 1), which]))]), len(S))
    S[unknowns.numbers, unknowns.numbers] = J[3, 3]
    c = J[:3, 3] / J[3, 3]
    return S, max(float(np.sqrt(max(np.trace(J[:3, :3]) / J[3, 3] - c @ c, 0.0))), POINT)


def nearest(A: Array, b: Array, x0: Array, blocks: Blocks) -> Found:
    """Return the minimum of (1) as μ goes to zero, x (n).

    Parameters
    ----------
    A (r, n), b (r) : the least squares, whose rows are independent
    x0, blocks : of :func:`prior`
    """
    S = scales(blocks, len(x0))
    A, b = A @ S, b - A @ x0
    size = float(np.linalg.norm(b))
    if not size:
        return Found(x0, True, [])
    turned = [np.einsum("jac,ji->iac", blocks.M[k, : len(own)], S[np.ix_(own, own)])
              for k in range(len(blocks.names)) if (own := blocks.own(k))]  # fmt: skip
    blocks = Blocks.of([(name, blocks.own(k), M) for k, (name, M) in enumerate(zip(blocks.names, turned, strict=True))])
    A, b = A / size, b / size
    u, done = path(A, b, blocks)
    exact = u + np.linalg.lstsq(A, b - A @ u, rcond=None)[0]
    if blocks.least(exact).min() > 0.5 * LEAST:
        return Found(x0 + S @ exact, True, [])
    near = [name for name, least in zip(blocks.names, blocks.least(u), strict=True) if least < LEAST**0.5]
    fit = float(np.linalg.norm(A @ u - b)) / max(1.0, float(np.linalg.norm(A @ np.linalg.solve(S, x0))))
    return Found(x0 + S @ u, fit < ROUNDED, near, done)


def path(A: Array, b: Array, blocks: Blocks) -> tuple[Array, bool]:
    """Return the minimum of (1) for the least μ that there is use in, u (n), by primal-dual steps towards smaller and smaller ones; and
    whether they came there."""
    u, Z = np.zeros(A.shape[1]), np.tile(np.eye(4), (len(blocks.names), 1, 1))
    for _ in range(STEPS):
        X = blocks.values(u)
        mu = float(np.einsum("bac,bac->", X, Z)) / (4 * len(X))
        if np.linalg.eigvalsh(X)[:, 0].min() < LEAST or mu < END or np.linalg.norm(A @ u - b) < MET:
            return centred(A, b, u, blocks, mu), True
        (free, back), T = step(A, b, u, blocks, Z)
        W, inverse, to = np.swapaxes(T, 1, 2) @ T, np.linalg.inv(X), 0.0
        for _ in range(2):                                                     # how far it goes towards zero says how far to aim
            dX = blocks.values(p := free + to * back) - np.eye(4)
            dZ = to * inverse - Z - W @ dX @ W
            t = min(1.0, 0.95 * within(X, dX), 0.95 * within(Z, dZ))
            to = max(1.0 - t, DOWN) ** 2 * mu
        u, Z = u + t * p, Z + 0.5 * t * (dZ + np.swapaxes(dZ, 1, 2))
    return u, False


def within(X: Array, dX: Array) -> float:
    """Return how far X (K, 4, 4) stays positive definite along dX."""
    inverse = np.linalg.inv(np.linalg.cholesky(X))
    least = float(np.linalg.eigvalsh(inverse @ dX @ np.swapaxes(inverse, 1, 2)).min())
    return np.inf if least >= 0.0 else -1.0 / least


def centred(A: Array, b: Array, u: Array, blocks: Blocks, mu: float) -> Array:
    """Return the minimum of (1) for one μ, from near by, as near as rounding lets."""
    for _ in range(20):
        X = blocks.values(u)
        (free, back), _ = step(A, b, u, blocks, mu * np.linalg.inv(X))
        p = free + mu * back
        t = min(1.0, 0.9 * within(X, blocks.values(p) - np.eye(4)))
        if t < 1.0 or objective(A, b, u + p, blocks, mu) >= objective(A, b, u, blocks, mu):
            break
        u = u + p
    return u


def step(A: Array, b: Array, u: Array, blocks: Blocks, Z: Array) -> tuple[Array, Array]:
    """Return Nesterov & Todd's step p = p₀ + μ p₁ (2, n) from X = J J₀⁻¹ and its dual Z (K, 4, 4) towards X Z = μ, where (1) is least,
    and T (K, 4, 4)::

        [Aᵀ A + Gᵀ G] p = Aᵀ (b − A u) + μ M* (X⁻¹ − 1),   G p = T (Σ p_j M_j) Tᵀ                        (2)
        T = D^¼ Vᵀ L⁻¹,   X = L Lᵀ,   Lᵀ Z L = V D Vᵀ                                                    (3)

    as least squares, whose condition is the root of that of the normal equations. With Z = μ X⁻¹ it is Newton's step for (1).
    """
    K, n, L = len(blocks.names), len(u), np.linalg.cholesky(blocks.values(u))
    D, V = np.linalg.eigh(np.swapaxes(L, 1, 2) @ Z @ L)
    root = np.maximum(D, np.finfo(float).tiny)[:, :, None] ** 0.25
    T = root * (np.swapaxes(V, 1, 2) @ np.linalg.inv(L))                                                       # (3)
    back = L @ V / np.swapaxes(root, 1, 2)
    seen, G = T[:, None] @ blocks.M @ np.swapaxes(T, 1, 2)[:, None], np.zeros((K, 16, n + 2))
    for k in range(NUMBER):
        G[np.arange(K), :, blocks.which[:, k]] += seen[:, k].reshape(K, 16)
    G[:, :, n + 1] = (np.eye(4) / root**2 - np.swapaxes(back, 1, 2) @ back).reshape(K, 16)
    R = triangle(np.concatenate([np.column_stack([A, b - A @ u, 0.0 * b]), G.reshape(-1, n + 2)]))
    return np.linalg.solve(R[:n, :n], R[:n, n:]).T, T                                                          # (2)


def objective(A: Array, b: Array, u: Array, blocks: Blocks, mu: float) -> float:
    """Return (1) over μ; infinite where a J is not positive definite."""
    x = np.linalg.eigvalsh(blocks.values(u))
    return 0.5 * float(((A @ u - b) ** 2).sum()) / mu + float((x - np.log(x)).sum()) if x.min() > 0.0 else np.inf
