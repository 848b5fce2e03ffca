"""Contact points of two capsules: where they cross, and beside it, so that parallel ones rest on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.geometry.contact_points import FAR, Points, points_of
from engine.geometry.shapes import Capsule
from engine.geometry.vectors import X, Z, unit

Array = np.ndarray
#: m of depth, of both radii: what capsules that just touch count as, so that parallel ones do so along their length
TOUCHING = 1e-9
#: of the shorter segment: how far beside the crossing points begin to carry, and from where on they carry all
BEGINS, ENDS = 0.1, 2.0


def capsule_points(a: Capsule, b: Capsule, T: Array) -> Points:
    """Return the contact points of two capsules, B at the pose T (4, 4) in A's frame: the nearest, and two on either side of it, at
    half the width of the patch in which they overlap, or at the ends of the stretch over which they lie side by side.

    With segments z Z, |z| ≤ h_a, and p + w e, |w| ≤ h_b, where c = e_z, the lines are nearest at z = (p_z − c p·e)/(1 − c²) (Ericson,
    *Real-Time Collision Detection*, §5.1.9). Beside it the gap −δ along the normal n grows by (k z)²/2 R, with R = r_a + r_b and the
    sine k = |e·(Z × n)| of the angle at which they cross, so that the patch's half width is √(2 R δ)/k.

    >>> T = np.eye(4)
    >>> T[0, 3] = 3.0
    >>> capsule_points(Capsule(1.0, 2.0), Capsule(1.0, 4.0), T)
    Points(position=array([[ 1.5,  0. ,  0. ],
           [ 1.5,  0. , -1. ],
           [ 1.5,  0. ,  1. ]]), normal=array([[1., 0., 0.],
           [1., 0., 0.],
           [1., 0., 0.]]), gap=array([1., 1., 1.]), share=array([0., 1., 1.]), corner=array([0., 0., 0.]))
    """
    p, e, h_a, h_b = T[:3, 3], T[:3, 2], 0.5 * a.length, 0.5 * b.length
    c, sine2, R, short = e[2], e[0] * e[0] + e[1] * e[1], a.radius + b.radius, ops.minimum(h_a, h_b)   # 1 − c²
    reach = abs(c) * h_b
    begin, end = ops.clip(p[2] - reach, -h_a, h_a), ops.clip(p[2] + reach, -h_a, h_a)

    square, _ = unit(ops.array([e[1], -e[0], 0.0 * c]), X, 1e-12)              # to both

    def on_b(z: Any) -> Any:
        """Return the place w on B's segment that is nearest to z on A's."""
        return ops.clip(c * z - p @ e, -h_b, h_b)

    def point(z: Any) -> tuple[Array, Array, Any]:
        """Return the contact point at z on A's segment."""
        return between(a, b, z * Z, p + on_b(z) * e, square)

    crossing = ops.clip((p[2] - c * (p @ e)) / ops.maximum(sine2, 1e-30), -h_a, h_a)
    z = ops.clip(p[2] + c * on_b(crossing), -h_a, h_a)
    x, n, gap = point(z)
    k = abs(e[1] * n[0] - e[0] * n[1])                                         # |e·(Z × n)|
    half = 0.5 * ops.sqrt(2.0 * R * (ops.maximum(-gap, 0.0) + TOUCHING * R)) / ops.maximum(k, 1e-30)
    first, second = ops.maximum(z - half, begin), ops.minimum(z + half, end)
    spread = ops.clip((half / short - BEGINS) / (ENDS - BEGINS), 0.0, 1.0)
    count = 1.0 + ops.maximum(second - first, 0.0) / (2.0 * short)             # from one, where they cross, to two
    sides = [(y, m, ops.where(spread > 0.0, g, FAR)) for y, m, g in map(point, (first, second))]
    return points_of([(x, n, gap), *sides], [(1.0 - spread) * count, *[0.5 * spread * count] * 2])


def between(a: Capsule, b: Capsule, x: Array, y: Array, otherwise: Array) -> tuple[Array, Array, Any]:
    """Return the contact point of balls about points (3) of two segments, and the normal ``otherwise`` where they are one."""
    n, far = unit(y - x, otherwise, 1e-12)
    return 0.5 * (x + y + (a.radius - b.radius) * n), n, far - a.radius - b.radius
