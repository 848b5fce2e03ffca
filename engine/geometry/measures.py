"""Shapes by their numbers, so that one program serves all shapes of a kind."""

from __future__ import annotations

import numpy as np

from engine.geometry.hulls import HullOfNumbers, numbers_of
from engine.geometry.shapes import Box, Capsule, Cylinder, Hull, Plane, Shape, Sphere

Array = np.ndarray
#: the measures of a shape of each kind, by name, and how many numbers each is
MEASURES: dict[type[Shape], dict[str, int]] = {
    Plane: {}, Sphere: {"radius": 1}, Capsule: {"radius": 1, "length": 1}, Cylinder: {"radius": 1, "length": 1},
    Box: {"size": 3}}  # fmt: skip
#: a hull
CUBE = Hull(tuple((x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)))
#: a kind of shapes: a type, how many numbers a hull has, or a shape that is one of its own
Kind = type[Shape] | int | Shape


def measures(shape: Shape) -> tuple[Kind, Array]:
    """Return the kind of a shape, and the numbers (n) by which :func:`measured` makes one like it.

    >>> kind, x = measures(Box((1.0, 2.0, 3.0)))
    >>> kind.__name__, x, measured(kind, x) == Box((1.0, 2.0, 3.0))
    ('Box', array([1., 2., 3.]), True)
    """
    if isinstance(shape, Hull):
        x = numbers_of(shape)
        return len(x), x
    if (names := MEASURES.get(type(shape))) is None:
        return shape, np.zeros(0)
    return type(shape), np.array([x for name in names for x in np.atleast_1d(getattr(shape, name))], dtype=float)


def measured(kind: Kind, x: Array) -> Shape:
    """Return a shape of a kind with the measures x (n), which may be traced, and are not looked at.

    >>> import numpy as np
    >>> from engine.geometry import Box, measured
    >>> measured(Box, np.array([1.0, 2.0, 3.0])) == Box((1.0, 2.0, 3.0))
    True
    """
    if isinstance(kind, Shape):
        return kind
    if isinstance(kind, int):
        return HullOfNumbers(x)
    shape, at = object.__new__(kind), 0
    for name, n in MEASURES[kind].items():
        object.__setattr__(shape, name, x[at] if n == 1 else tuple(x[at : at + n]))
        at += n
    return shape


def example(kind: Kind) -> Shape:
    """Return a shape of a kind, of about a metre.

    >>> from engine.geometry import Sphere, example
    >>> example(Sphere)
    Sphere(radius=np.float64(1.0))
    """
    if isinstance(kind, int):
        return CUBE
    return kind if isinstance(kind, Shape) else measured(kind, np.ones(sum(MEASURES[kind].values())))


__all__ = ["Kind", "example", "measured", "measures"]
