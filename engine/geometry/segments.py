"""Contact points of two capsules: two, so that parallel ones rest on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.geometry.contact_points import Points, points_of
from engine.geometry.shapes import Capsule
from engine.geometry.vectors import X, Z, unit

Array = np.ndarray
#: sine of the angle below which segments count as parallel: over a length l it changes the gap between their ends by (angle × l)² at most
PARALLEL = 3e-5


def capsule_points(a: Capsule, b: Capsule, T: Array) -> Points:
    """Return the contact points of two capsules, B at the pose T (4, 4) in A's frame: the nearest, and the end farthest from it of the
    stretch over which they lie side by side.

    With segments z Z, |z| ≤ h_a, and p + w e, |w| ≤ h_b, where c = e_z, the lines are nearest at z = (p_z − c p·e)/(1 − c²) (Ericson,
    *Real-Time Collision Detection*, §5.1.9); of parallel ones both ends count.

    >>> T = np.eye(4)
    >>> T[0, 3] = 3.0
    >>> capsule_points(Capsule(1.0, 2.0), Capsule(1.0, 4.0), T)
    Points(position=array([[ 1.5,  0. , -1. ],
           [ 1.5,  0. ,  1. ]]), normal=array([[1., 0., 0.],
           [1., 0., 0.]]), gap=array([1., 1.]), share=array([1., 1.]))
    """
    p, e, h_a, h_b = T[:3, 3], T[:3, 2], 0.5 * a.length, 0.5 * b.length
    c, sine2 = e[2], e[0] * e[0] + e[1] * e[1]                                 # 1 − c²
    reach = abs(c) * h_b
    begin, end = ops.clip(p[2] - reach, -h_a, h_a), ops.clip(p[2] + reach, -h_a, h_a)

    def beside(z: Any) -> tuple[Any, Any]:
        """The nearest place w on B's segment, and back from there on A's."""
        w = ops.clip(c * z - p @ e, -h_b, h_b)
        return w, ops.clip(p[2] + c * w, -h_a, h_a)

    crossing = ops.clip((p[2] - c * (p @ e)) / ops.maximum(sine2, 1e-30), -h_a, h_a)
    _, nearest = beside(crossing)
    first = ops.where(sine2 < PARALLEL * PARALLEL, begin, nearest)
    second = ops.where(abs(first - begin) < abs(end - first), end, begin)
    square, _ = unit(ops.array([e[1], -e[0], 0.0 * c]), X, 1e-12)              # to both
    share = 0.5 + abs(first - second) / (4.0 * ops.minimum(h_a, h_b))                  # from a half each, where they cross, to one
    return points_of([between(a, b, z * Z, p + beside(z)[0] * e, square) for z in (first, second)], [share, share])


def between(a: Capsule, b: Capsule, x: Array, y: Array, otherwise: Array) -> tuple[Array, Array, Any]:
    """Return the contact point of balls about points (3) of two segments, and the normal ``otherwise`` where they are one."""
    n, far = unit(y - x, otherwise, 1e-12)
    return 0.5 * (x + y + (a.radius - b.radius) * n), n, far - a.radius - b.radius
