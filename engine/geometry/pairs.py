"""The table of pairs: which function knows the contact points of which two shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine.checks import shaped
from engine.geometry.box_separation import box_separation
from engine.geometry.clipping import convex_points
from engine.geometry.contact_points import Points, least
from engine.geometry.height_field import field_points
from engine.geometry.plane import plane_points
from engine.geometry.point import sphere_points
from engine.geometry.segments import capsule_points
from engine.geometry.separation import Separation, separation
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Hull, Plane, Shape, Sphere
from engine.spatial import se3

Array = np.ndarray
#: the kinds, in the order in which a pair of them stands in the table
ORDER = (Plane, HeightField, Hull, Cylinder, Box, Ellipsoid, Capsule, Sphere)
SOLIDS = ORDER[2:]
#: the kinds of A and B -> their contact points
POINTS: dict[tuple[type, type], Callable[[Any, Any, Array], Points]] = {
    **{(Plane, kind): plane_points for kind in SOLIDS},
    **{(HeightField, kind): field_points for kind in SOLIDS},
    **{(a, b): convex_points for k, a in enumerate(SOLIDS) for b in SOLIDS[k:]},
    **{(kind, Sphere): sphere_points for kind in (Cylinder, Box, Ellipsoid, Capsule, Sphere)},
    (Capsule, Capsule): capsule_points,
}  # fmt: skip


def kind(shape: Shape) -> type:
    """Return the type by which a shape stands in the table."""
    return Hull if isinstance(shape, Hull) else type(shape)


def points(a: Shape, b: Shape, T_AB: ArrayLike) -> Points:
    """Return the contact points of two shapes, B at the pose T_AB (4, 4) in A's frame, in A's frame; traceable.

    How many there are depends on the kinds of the shapes alone; those that are not used have the gap ``FAR``.

    Raises
    ------
    GeometryError : two kinds that never touch, as two planes
    EngineError : a pose of another shape

    >>> T = np.eye(4)
    >>> T[2, 3] = 0.9
    >>> points(Plane(), Sphere(1.0), T).gap.round(12), points(Sphere(1.0), Plane(), T).normal + 0.0
    (array([-0.1]), array([[ 0.,  0., -1.]]))
    """
    T = shaped("T_AB", T_AB, 4, 4)
    if (found := POINTS.get((kind(a), kind(b)))) is not None:
        return found(a, b, T)
    if (found := POINTS.get((kind(b), kind(a)))) is not None:
        return found(b, a, se3.inv(T)).seen_from(T)
    raise GeometryError(f"points: {type(a).__name__} and {type(b).__name__} is no pair that can touch; expected shapes, of which at most "
                        "one is a Plane or a HeightField")  # fmt: skip


def touching_points(a: Shape, b: Shape, T_AB: Array, far: Any) -> Points:
    """Return :func:`points`; of shapes that are more than ``far`` apart, m, some that are farther apart than that; and of boxes without
    looking for what is nearest where they are apart, so that no branch is taken.

    >>> import numpy as np
    >>> from engine.geometry import Plane, Sphere, touching_points
    >>> T = np.eye(4)
    >>> T[2, 3] = 0.9
    >>> touching_points(Plane(), Sphere(1.0), T, far=0.5).gap.round(12)
    array([-0.1])
    """
    if (kind(b), kind(a)) in POINTS and kind(a) is not kind(b):
        return touching_points(b, a, se3.inv(T_AB), far).seen_from(T_AB)
    convex = POINTS.get((kind(a), kind(b))) is convex_points
    if not convex:
        return points(a, b, T_AB)
    apart = box_separation(a, b, T_AB) if isinstance(a, Box) and isinstance(b, Box) else separation(a, b, T_AB, False, far)
    return convex_points(a, b, T_AB, apart)


def distance(a: Shape, b: Shape, T_AB: ArrayLike) -> Separation:
    """Return the signed distance of two shapes, B at the pose T_AB (4, 4) in A's frame, with the nearest points, in A's frame; traceable.

    It is less the depth where they overlap: how far B must go along the normal to be free. Raised errors are those of :func:`points`.

    >>> T = np.eye(4)
    >>> T[:3, 3] = 2.0, 3.0, 0.0
    >>> d = distance(Box((2.0, 2.0, 2.0)), Box((2.0, 2.0, 2.0)), T)
    >>> float(d.gap), d.normal
    (1.0, array([0., 1., 0.]))
    """
    T = shaped("T_AB", T_AB, 4, 4)
    if POINTS.get((kind(a), kind(b)), POINTS.get((kind(b), kind(a)))) is convex_points:
        return separation(a, b, T)
    x, n, gap = least(points(a, b, T))
    return Separation(gap, n, x - 0.5 * gap * n, x + 0.5 * gap * n)
