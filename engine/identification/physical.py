"""Physically consistent parameters: the nearest to a least-squares solution, and where that leaves a choice, to the initial ones.

A link's ten numbers are a body's where the 4×4 pseudo-inertia J = [[½ tr(I) 1 − I, h], [hᵀ, m]] is positive definite; masses, damping,
friction and armature are not below zero. Both are J ≻ 0, of 4×4 and 1×1 blocks that are linear in the unknowns. Of

    ½ ‖A x − b‖² + μ Σ d(J, J₀),   d = tr(J J₀⁻¹) − log det(J J₀⁻¹) − dim                            (1)

the second term is the entropic divergence, a metric in which neither axes nor units matter: it is infinite where a J is none of a body's,
and strictly convex. So for every μ there is one minimum, found by Newton's method, and as μ goes to zero it goes to the
least squares that bodies can have, and among several of them to the nearest to J₀. (By log-Cholesky J = L Lᵀ the same numbers are free of
bounds, but the problem is no longer convex.)

Numbers from zero end at zero itself, by an active set: where (1) without some of them has their multipliers Aᵀ (A x − b) from zero, it is
the minimum with them. The set begins as that of the non-negative least squares with bodies of any kind. A number that the rows tell by
itself begins there, whatever it was thought to be; one that they do not, and that was thought to be zero, is zero until it is needed.

References: Wensing, Kim & Slotine, *Linear matrix inequalities for physically consistent inertial parameter identification*, RA-L 2018;
Lee, Wensing & Park, *Geometric robot dynamic identification: a convex programming approach*, T-RO 2020 (the metric); Rucker & Wensing,
*Smooth parameterization of rigid-body inertia*, RA-L 2022 (log-Cholesky); Boyd & Vandenberghe, *Convex Optimization*, §11 (the path);
Lawson & Hanson, *Solving Least Squares Problems*, §23 (the active set).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.dynamics.regressor import NUMBER
from engine.identification.equations import triangle
from engine.identification.unknowns import Unknowns

Array = np.ndarray
#: the least eigenvalue of J J₀⁻¹: below it a J is taken to be at the end of what bodies can have
LEAST = 1e-9
#: of the least moment of a prior that is no body's, or a point: of its largest
THIN = 1e-3
#: m: the size of a prior that is a point
POINT = 0.01
#: by how much μ goes down in a step, where it ends, and how many steps there may be
DOWN, END, STEPS = 0.1, 1e-30, 100
#: of what explains all that was measured: a multiplier below minus that says that a number is not zero
NEEDED = 1e-9
#: of what the prior is off: where the least squares are met
MET = 1e-12
#: of the parts of the least squares: what rounding may take from a solution that bodies can have, and what is as good as met before
ROUNDED, SAME = 1e-7, 1e-14
#: of the directions that the rows do not show: a number that has less of them is known by itself
HIDDEN = 1e-8


class Blocks(NamedTuple):
    """J J₀⁻¹ of K blocks as a function of the unknowns: 1 + Σ (x_j − x₀_j) M_j in the axes of J₀'s Cholesky factor.

    Attributes
    ----------
    names : (K); which : unknowns j of each (K, 10); M : (K, 10, 4, 4), zero where it has fewer, and beyond the 1×1 of a number
    numbers : which unknown each is that is a number, by name
    """

    names: tuple[str, ...]
    which: Array
    M: Array
    numbers: dict[str, int]

    @classmethod
    def of(cls, each: list[tuple[str, list[int], Array]]) -> Blocks:
        """Return blocks of (name, unknowns (k), M (k, d, d))."""
        which, M = np.zeros((len(each), NUMBER), dtype=int), np.zeros((len(each), NUMBER, 4, 4))
        for b, (_, own, m) in enumerate(each):
            which[b, : len(own)], M[b, : len(own), : m.shape[1], : m.shape[1]] = own, m
        return cls(tuple(name for name, _, _ in each), which, M, {name: own[0] for name, own, m in each if m.shape[1] == 1})

    def own(self, b: int) -> list[int]:
        """Return the unknowns of a block."""
        found: list[int] = self.which[b, self.M[b].any(axis=(1, 2))].tolist()
        return found

    def about(self, used: list[int], x0: Array) -> Blocks:
        """Return the blocks of some of the unknowns x (n), in their order, those of numbers about x₀."""
        at, each = {j: i for i, j in enumerate(used)}, []
        for b, name in enumerate(self.names):
            if name not in self.numbers:
                own = self.own(b)
                each.append((name, [at[j] for j in own], self.M[b, : len(own)]))
            elif (j := self.numbers[name]) in at:
                each.append((name, [at[j]], np.array([[[1.0 / x0[j]]]])))
        return Blocks.of(each)

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
    """Return x₀ (n), the model's own numbers, inertias moved to where bodies can be, and the blocks about it.

    Parameters
    ----------
    scale : the size of each unknown that would explain all that was measured (n), the unit of numbers that are zero in the model
    """
    x0, each = unknowns.values.copy(), []
    for link, which in unknowns.of_links.items():
        own = slice(NUMBER * (n := unknowns.model.link_index(link)), NUMBER * (n + 1))
        E = unknowns.E[own][:, which]
        body = inside(unknowns.inertial[own])
        x0[which] = E.T @ body
        each.append((link, which, seen_from(pseudo_inertia(body), E)))
    each += [(unknowns.names[j], [j], np.array([[[1.0 / (x0[j] or scale[j] or 1.0)]]])) for j in unknowns.numbers]
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


def nearest(A: Array, b: Array, x0: Array, blocks: Blocks) -> Found:
    """Return the minimum of (1) as μ goes to zero, x (n), whatever numbers from zero were thought to be that the rows tell.

    Parameters
    ----------
    A (r, n), b (r) : the least squares, whose rows are independent
    x0, blocks : of :func:`prior`
    """
    size, lengths = float(np.linalg.norm(b - A @ x0)), np.linalg.norm(A, axis=0)
    whole = max(size, float(lengths @ np.abs(x0)), float(np.linalg.norm(A @ scales(blocks, len(x0)), axis=0).max()))
    if size <= SAME * whole:
        return Found(x0, True, [])
    x, done = x0.copy(), False
    start, near = starting_point(A, b, x0, blocks), list[str]()
    for _ in range(2 * len(blocks.numbers) + 2):                               # each finds better numbers, but for rounding
        zero = [j for j in blocks.numbers.values() if not start[j] > 0.0]
        used = [j for j in range(len(x0)) if j not in zero]
        part = blocks.about(used, start)
        x[zero] = 0.0
        x[used], near, done = without_bounds(A[:, used], b, start[used], part)
        ended = [blocks.numbers[name] for name in near if name in blocks.numbers]
        slopes = A.T @ (A @ x - b)
        needed = min(zero, key=lambda j: slopes[j] / lengths[j], default=-1) if not ended else -1
        if ended:
            start[ended] = 0.0
        elif needed >= 0 and slopes[needed] < -NEEDED * lengths[needed] * size:
            start[needed] = -slopes[needed] / lengths[needed] ** 2
        else:
            break
    at_zero = [name for name, j in blocks.numbers.items() if x[j] == 0.0 and slopes[j] > NEEDED * lengths[j] * size]
    return Found(x, float(np.linalg.norm(A @ x - b)) < ROUNDED * whole, near + at_zero, done)


def starting_point(A: Array, b: Array, x0: Array, blocks: Blocks) -> Array:
    """Return x₀ (n) with the numbers that A x = b (r) tells by itself as of the non-negative least squares of all, others free."""
    from scipy.optimize import nnls

    S, start = scales(blocks, len(x0)), x0.copy()
    hidden = np.linalg.svd(A @ S)[2][len(A) :]
    told = [j for j in blocks.numbers.values() if np.linalg.norm(hidden[:, j]) < HIDDEN]
    if told:
        U, s, _ = np.linalg.svd(np.delete(A @ S, told, axis=1))
        rest = U[:, int((s > HIDDEN * s.max(initial=0.0)).sum()) :].T
        unit = S[told, told]
        start[told] = unit * nnls(rest @ A[:, told] * unit, rest @ b)[0]
        start[told] *= start[told] * np.linalg.norm(A[:, told], axis=0) > NEEDED * np.linalg.norm(b)
    return start


def without_bounds(A: Array, b: Array, x0: Array, blocks: Blocks) -> tuple[Array, list[str], bool]:
    """Return the minimum of (1) as μ goes to zero, x (n), the blocks that end there with less than their multipliers, and whether it was
    found as near as can be."""
    S = scales(blocks, len(x0))
    A, b = A @ S, b - A @ x0
    b = A @ np.linalg.lstsq(A, b, rcond=None)[0]
    if not (size := float(np.linalg.norm(b))):
        return x0, [], True
    if len(A) >= A.shape[1] and blocks.least(S @ (only := np.linalg.lstsq(A, b, rcond=None)[0])).min() > 0.5 * LEAST:
        return x0 + S @ only, [], True                                         # there is no choice, and no need of one
    turned = [(name, own, np.einsum("jac,ji->iac", blocks.M[k, : len(own)], S[np.ix_(own, own)])[:, :d, :d])
              for k, name in enumerate(blocks.names) if (own := blocks.own(k)) and (d := 1 if name in blocks.numbers else 4)]  # fmt: skip
    blocks, A, b = Blocks.of(turned), A / size, b / size
    u, mu, done = path(A, b, blocks)
    exact = u + np.linalg.lstsq(A, b - A @ u, rcond=None)[0]
    if blocks.least(exact).min() > 0.5 * LEAST:
        return x0 + S @ exact, [], True
    near = [name for name, least in zip(blocks.names, blocks.least(u), strict=True) if least < np.sqrt(max(mu, LEAST * LEAST))]
    return x0 + S @ u, near, done


def path(A: Array, b: Array, blocks: Blocks) -> tuple[Array, float, bool]:
    """Return the minimum of (1) for the least μ that there is use in, u (n), by primal-dual steps towards smaller and smaller ones; that μ,
    and whether they came there."""
    u, Z = np.zeros(A.shape[1]), np.tile(np.eye(4), (len(blocks.names), 1, 1))
    for _ in range(STEPS):
        X = blocks.values(u)
        mu = float(np.einsum("bac,bac->", X, Z)) / (4 * len(X))
        if np.linalg.eigvalsh(X)[:, 0].min() < LEAST or mu < END or np.linalg.norm(A @ u - b) < MET:
            return centred(A, b, u, blocks, mu), mu, True
        (free, back), T = step(A, b, u, blocks, Z)
        W, inverse, to = np.swapaxes(T, 1, 2) @ T, np.linalg.inv(X), 0.0
        for _ in range(2):                                                     # how far it goes towards zero says how far to aim
            dX = blocks.values(p := free + to * back) - np.eye(4)
            dZ = to * inverse - Z - W @ dX @ W
            t = min(1.0, 0.95 * within(X, dX), 0.95 * within(Z, dZ))
            to = max(1.0 - t, DOWN) ** 2 * mu
        u, Z = u + t * p, Z + 0.5 * t * (dZ + np.swapaxes(dZ, 1, 2))
    return u, mu, False


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
