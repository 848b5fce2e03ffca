"""Orbital frames: RTN and LVLH, with their angular velocity; and attitudes that point by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops

Array = np.ndarray


def rtn(r: Array, v: Array) -> Array:
    """Return the axes R = r̂, T = N × R, N = ĥ as columns (3×3) of a place r, m (3), and a velocity v, m/s (3), about a planet.

    >>> rtn(np.array([7e6, 0.0, 0.0]), np.array([0.0, 7500.0, 0.0]))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    R, h = r / ops.norm(r), ops.cross(r, v)
    N = h / ops.norm(h)
    return np.stack([R, ops.cross(N, R), N], axis=-1)


def lvlh(r: Array, v: Array) -> Array:
    """Return the axes x = T, y = −N, z = −R of the local vertical and horizontal as columns (3×3): z points at the planet.

    >>> lvlh(np.array([7e6, 0.0, 0.0]), np.array([0.0, 7500.0, 0.0])) + 0.0
    array([[ 0.,  0., -1.],
           [ 1.,  0.,  0.],
           [ 0., -1.,  0.]])
    """
    A = rtn(r, v)
    return np.stack([A[:, 1], -A[:, 2], -A[:, 0]], axis=-1)


def turning(r: Array, v: Array, a: Array) -> Array:
    """Return how fast RTN and LVLH turn (3), rad/s, in the axes of r: ω = (h/r²) N + (r a_N/h) R, with the acceleration a, m/s² (3), of the
    whole field.

    >>> turning(np.array([7e6, 0.0, 0.0]), np.array([0.0, 7000.0, 0.0]), np.array([-8.1, 0.0, 0.0]))
    array([0.   , 0.   , 0.001])
    """
    h, A, r2 = ops.cross(r, v), rtn(r, v), r @ r
    size = ops.norm(h)
    return size / r2 * A[:, 2] + ops.sqrt(r2) * (A[:, 2] @ a) / size * A[:, 0]


def relative_state(r_O: Any, v_O: Any, rho: Any, rhodot: Any) -> tuple[Array, Array]:
    """Return a place (3), m, and a velocity (3), m/s, relative to an orbit r_O, v_O in its turning RTN axes, on floats, as
    :func:`clohessy_wiltshire` has them.

    >>> x, u = relative_state([7e6, 0.0, 0.0], [0.0, 7000.0, 0.0], [100.0, 0.0, 0.0], [0.0, 0.1, 0.0])
    >>> x, u + 0.0                                                               # it goes round with the orbit, 0.001 rad/s
    (array([100.,   0.,   0.]), array([0., 0., 0.]))
    """
    r, v, x, u = (np.asarray(y, dtype=float) for y in (r_O, v_O, rho, rhodot))
    A, w = rtn(r, v), np.cross(r, v) / (r @ r)
    return A.T @ x, A.T @ (u - np.cross(w, x))
