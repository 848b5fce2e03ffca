"""The measurement update of Kalman's filter, of errors and their covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray


def measurement_update(P: Array, H: Array, R: Array, z: Array) -> tuple[Array, Array, Any]:
    """Return the correction K z (n), P (n, n) after it, by Joseph's form, and zᵀ S⁻¹ z, of an innovation z (m) with z = H ε + noise, whose
    covariance is R (m, m): K = P Hᵀ S⁻¹, S = H P Hᵀ + R.

    Reference: Bar-Shalom, Li & Kirubarajan, *Estimation with Applications to Tracking and Navigation*, §5.2.

    >>> d, P, square = measurement_update(np.eye(1), np.eye(1), np.eye(1), np.array([2.0]))
    >>> d.tolist(), P.tolist(), float(square)
    ([1.0], [[0.5]], 2.0)
    """
    HP = ops.product(H, P)
    S = ops.product(HP, H.T) + R
    K = ops.solve(S, HP).T
    left = np.eye(len(P)) - ops.product(K, H)
    return K @ z, ops.product(ops.product(left, P), left.T) + K @ R @ K.T, z @ ops.solve(S, z)
