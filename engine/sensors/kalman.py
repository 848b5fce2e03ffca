"""The measurement update of Kalman's filter, of errors and their covariance."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.checks import warn
from engine.components.component import NotFinite, SimulationWarning

Array = np.ndarray
#: what a filter says that has lost it
LOST = "a P that is no longer positive (expected more noise in it, or deviations that are nearer to equal)"


def measurement_update(P: Array, H: Array, R: Array, z: Array,
                       late: tuple[Array, Array] | None = None) -> tuple[Array, Array, Any, Array]:  # fmt: skip
    """Return the correction K z (n), P (n, n) after it, by Joseph's form, zᵀ S⁻¹ z, and S (m, m), of an innovation z (m) with
    z = H ε + noise, whose covariance is R (m, m): K = P Hᵀ S⁻¹, S = H P Hᵀ + R.

    Of a sample that is ``late`` z = H (ε − w) + noise, w being what has disturbed ε since: given are U = cov(ε, H w) (n, m) and
    W = cov(H w) (m, m). Then, exactly,

        S = H P Hᵀ − H U − Uᵀ Hᵀ + W + R,   K = (P Hᵀ − U) S⁻¹,   L = 1 − K H
        P ← L P Lᵀ + L U Kᵀ + K Uᵀ Lᵀ + K (R + W) Kᵀ = (L P + K Uᵀ) Lᵀ + (L U + K (R + W)) Kᵀ

    Reference: Bar-Shalom, Li & Kirubarajan, *Estimation with Applications to Tracking and Navigation*, §5.2; Bar-Shalom, *Update with
    out-of-sequence measurements in tracking: exact solution*, IEEE Trans. Aerosp. Electron. Syst. 38 (2002).

    >>> d, P, square, S = measurement_update(np.eye(1), np.eye(1), np.eye(1), np.array([2.0]))
    >>> d.tolist(), P.tolist(), float(square)
    ([1.0], [[0.5]], 2.0)
    """
    HP = ops.product(H, P)
    S = ops.product(HP, H.T) + R
    if late is not None:
        U, W = late
        HU = ops.product(H, U)
        HP, S, R = HP - U.T, S - HU - HU.T + W, R + W
    K = ops.solve(S, HP).T
    L = np.eye(len(P)) - ops.product(K, H)
    X, Y = ops.product(L, P), K @ R
    if late is not None:
        X, Y = X + ops.product(K, U.T), Y + ops.product(L, U)
    after = ops.product(X, L.T) + ops.product(Y, K.T)
    return K @ z, after, z @ ops.solve(S, z), S


def tell_of_uneven_ticks(name: str, period: float, dt: float) -> None:
    """Warn of a filter that takes its period for the time between its ticks, which are at the steps of dt that reach them.

    >>> tell_of_uneven_ticks("filter", 0.1, 0.025)
    """
    if abs(period / dt - round(period / dt)) > 1e-6:
        warn(f"'{name}' is asked every {period:g} s, which is no multiple of dt = {dt:g} s: the step that reaches a tick is up to {dt:g} s "
             f"late, and the filter takes {period:g} s for what has passed; expected a dt that divides it", SimulationWarning)


def kept_positive(name: str, t: Any, least: Any) -> Any:
    """Return 1, by the least of a covariance's variances; where that is not above zero NaN, so that nothing goes on from there, and on
    floats an error that says so.

    >>> float(kept_positive("filter", 0.0, 1e-9))
    1.0
    """
    if ops.graph_of(least) is None and not least > 0.0:
        raise NotFinite(name, float(t), wild=False, what=LOST)
    return ops.where(least > 0.0, 1.0, np.nan)


def kept_definite(name: str, t: Any, P: Array) -> Any:
    """Require a whole covariance P (n, n) to be positive definite, by its :func:`margins`; the error names the first entry that is not
    above zero.

    >>> float(kept_definite("filter", 0.0, np.array([[1.0, 0.9], [0.9, 1.0]])))
    1.0
    """
    least = ops.shared(least_margin, P)
    if ops.graph_of(P) is None and not least > 0.0:
        entry = next(ij for ij, x in margins(P).items() if not x > 0.0)
        raise NotFinite(name, float(t), wild=False, what=LOST.replace("positive", f"positive, first in its entry {[*entry]}", 1))
    return ops.where(least > 0.0, 1.0, np.nan)


def least_margin(P: Array) -> Any:
    """Return the least of :func:`margins`."""
    return functools.reduce(ops.minimum, margins(P).values())


def margins(P: Array) -> dict[tuple[int, int], Any]:
    """Return numbers by entries of a symmetric P (n, n), one of which is zero or less where P is not positive semidefinite to rounding.

    They are of its factors L D Lᵀ, d = P_ii − Σ L_ik² d_k, of which none may be below −τ P_ii. No column is divided by a d_k below τ P_kk,
    and what is left of P_jk there is at most √(2 τ P_jj P_kk). Dividing by more, rounding u moves a pivot by up to 2 n u/√τ of P_jj: so
    τ is (2 n u)^(2/3).

    Reference: Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §10.1 and §10.3.

    >>> [ij for ij, x in margins(np.array([[1.0, 2.0], [2.0, 1.0]])).items() if x <= 0.0]
    [(1, 1)]
    """
    n = len(P)
    tau = (2.0 * n * np.finfo(float).eps) ** (2.0 / 3.0)
    rest, found = np.array(P), dict[tuple[int, int], Any]()
    for k in range(n):
        found[k, k] = ops.minimum(P[k, k], rest[k, k] + tau * P[k, k])
        kept = ops.less(tau * P[k, k], rest[k, k])
        scale = ops.where(kept, 1.0 / ops.where(kept, rest[k, k], 1.0), 0.0)
        for j in range(k + 1, n):
            found[j, k] = ops.where(kept, 1.0, 2.0 * tau * P[j, j] * P[k, k] - rest[j, k] ** 2)
            for i in range(k + 1, j + 1):
                rest[j, i] = rest[j, i] - scale * rest[j, k] * rest[i, k]
    return found
