"""The measurement update of Kalman's filter, of errors and their covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.components.component import NotFinite

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
        P ← L P Lᵀ + L U Kᵀ + K Uᵀ Lᵀ + K (R + W) Kᵀ

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
    left = np.eye(len(P)) - ops.product(K, H)
    after = ops.product(ops.product(left, P), left.T) + K @ R @ K.T
    if late is not None:
        both = ops.product(ops.product(left, U), K.T)
        after = after + both + both.T
    return K @ z, after, z @ ops.solve(S, z), S


def kept_positive(name: str, t: Any, least: Any) -> Any:
    """Return 1, by the least of a covariance's variances; where that is not above zero NaN, so that nothing goes on from there, and on
    floats an error that says so.

    >>> float(kept_positive("filter", 0.0, 1e-9))
    1.0
    """
    if ops.graph_of(least) is None and not least > 0.0:
        raise NotFinite(name, float(t), wild=False, what=LOST)
    return ops.where(least > 0.0, 1.0, np.nan)
