"""Contact points: where two shapes touch or nearly do, and how far they are apart there.

They are found by the functions in the table of :mod:`engine.geometry.pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops

Array = np.ndarray
#: the gap of a point that is not used, m
FAR = 1e3


class Points(NamedTuple):
    """Contact points of two shapes A and B, in A's frame; a point that is not used has the gap ``FAR``.

    Attributes
    ----------
    position : (n, 3), m, midway between the two surfaces
    normal : (n, 3), unit vectors from A to B
    gap : (n), signed distances, m; negative where the shapes overlap
    share : (n), how many points each counts as: all together from one, where shapes meet in a point, to two, along all of an edge, and
        four, on all of a face, so that what carries does not jump where points come, go, or fall together
    corner : (n), 1 where the place is a corner of A, −1 where it is one of B, and else 0

    >>> import numpy as np
    >>> from engine.geometry import Sphere, points
    >>> beside = np.eye(4)
    >>> beside[0, 3] = 2.5
    >>> found = points(Sphere(1.0), Sphere(1.0), beside)
    >>> found.gap, found.position, found.normal  # half a metre apart, midway, along x
    (array([0.5]), array([[1.25, 0.  , 0.  ]]), array([[1., 0., 0.]]))
    """

    position: Array
    normal: Array
    gap: Array
    share: Array
    corner: Array

    def seen_from(self, T: Array) -> Points:
        """Return the points of B and A, in B's frame, of those of A and B: T is T_BA."""
        return Points(self.position @ T[:3, :3].T + T[:3, 3], -(self.normal @ T[:3, :3].T), self.gap, self.share, -self.corner)


def points_of(rows: Sequence[tuple[Array, Array, Any]], shares: Sequence[Any] = (), corners: Sequence[Any] = ()) -> Points:
    """Return the points of (position, normal, gap) each; each counts as one unless ``shares`` say more, and is no corner unless
    ``corners`` say whose it is."""
    position, normal, gap = zip(*rows, strict=True)
    counts, corner = (ops.array(list(some) or [default] * len(rows)) for some, default in ((shares, 1.0), (corners, 0.0)))
    return Points(np.stack(position), np.stack(normal), ops.array(list(gap)), counts, corner)


def least(points: Points) -> tuple[Array, Array, Any]:
    """Return the position (3), normal (3) and gap of the first of the points with the least gap."""
    x, n, gap = points.position[0], points.normal[0], points.gap[0]
    for i in range(1, len(points.gap)):
        nearer = points.gap[i] < gap
        x, n = ops.where(nearer, points.position[i], x), ops.where(nearer, points.normal[i], n)
        gap = ops.where(nearer, points.gap[i], gap)
    return x, n, gap
