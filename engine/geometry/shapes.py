"""Shapes, each in a frame of its own: what they measure, and their farthest points."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, number, numbers, shown
from engine.geometry.vectors import X, Z, unit

Array = np.ndarray
#: the most vertices that a hull may have: machine code looks at each of them
MOST_VERTICES = 64
#: of a hull's faces, the largest, that are asked first
NORMALS = 8


class GeometryError(EngineError):
    """A shape has a measure that no shape has, or a pair of shapes cannot be looked at; the text says which and what was expected."""


class Shape:
    """Base of the shapes: each is a frozen dataclass of its measures, in metres.

    A convex shape is its ``core`` grown by ``rounding`` on all sides: a sphere's core is a point, a capsule's a segment; others are their
    own core.

    >>> from engine.geometry import Capsule, Shape
    >>> isinstance(Capsule(0.5, 2.0), Shape), Capsule(0.5, 2.0).rounding
    (True, 0.5)
    """

    #: whether it is its own mirror image in the origin
    symmetric = True

    @property
    def rounding(self) -> float:
        """Radius, m, by which the core is grown."""
        return 0.0

    @property
    def center(self) -> Array:
        """Center (3) of a sphere about the shape, m."""
        return np.zeros(3)

    @property
    def bounding_radius(self) -> Any:
        """Radius of a sphere about the shape and this center, m."""
        return np.inf

    def core(self, d: Array) -> Array:
        """Return the point (3) of the core that is farthest in the direction d (3), of any length."""
        raise NotImplementedError

    def support(self, d: Array) -> Array:
        """Return the point (3) that is farthest in the direction d (3), of any length: the support mapping.

        >>> Capsule(0.5, 2.0).support(np.array([0.0, 0.0, 3.0]))
        array([0. , 0. , 1.5])
        """
        return self.core(d) + self.rounding * unit(d)[0] if self.rounding else self.core(d)

    @property
    def normals(self) -> Array:
        """Directions (m, 3) in which the shape is flat, or thin."""
        return np.zeros((0, 3))

    @property
    def edges(self) -> Array | None:
        """Directions (m, 3) of the core's edges, where its faces and edges are few."""
        return None


def length(shape: Shape, name: str) -> float:
    """Return a measure of a shape, which must be greater than zero."""
    x = getattr(shape, name)
    return number(f"{type(shape).__name__}: {name}", x, "a length in metres greater than zero", above=0.0, error=GeometryError)


def lengths(shape: Shape, name: str) -> tuple[float, float, float]:
    """Return three measures of a shape, which must be greater than zero."""
    x = numbers(f"{type(shape).__name__}: {name}", getattr(shape, name), GeometryError)
    if x.shape != (3,) or not (x > 0.0).all():
        what = f"{type(shape).__name__}: {name} is {shown(getattr(shape, name))}"
        raise GeometryError(f"{what}; expected three lengths in metres greater than zero")
    return float(x[0]), float(x[1]), float(x[2])


@dataclass(frozen=True)
class Round(Shape):
    """A shape that is its core grown by a radius: all points of a ball that moves through the core."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length(self, "radius"))

    @property
    def rounding(self) -> float:
        """Radius, m, by which the core is grown."""
        return self.radius


@dataclass(frozen=True)
class Sphere(Round):
    """A ball of a radius about the origin.

    >>> Sphere(-1.0)
    Traceback (most recent call last):
        ...
    engine.geometry.shapes.GeometryError: Sphere: radius is -1.0; expected a length in metres greater than zero
    """

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere about the shape and its center, m."""
        return self.radius

    def core(self, d: Array) -> Array:
        """Return the origin."""
        return np.zeros(3)

    @property
    def edges(self) -> Array | None:
        """None: the core is a point."""
        return np.zeros((0, 3))


@dataclass(frozen=True)
class Capsule(Round):
    """All within a radius of a segment of a length, along z and about the origin.

    >>> Capsule(0.5, 2.0).bounding_radius
    1.5
    """

    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length", length(self, "length"))

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere about the shape and its center, m."""
        return 0.5 * self.length + self.radius

    def core(self, d: Array) -> Array:
        """Return an end of the segment."""
        return ops.where(d[2] < 0.0, -0.5, 0.5) * self.length * Z

    @property
    def edges(self) -> Array | None:
        """The segment's direction."""
        return Z[None]


@dataclass(frozen=True)
class Box(Shape):
    """A box of full lengths x, y, z about the origin.

    >>> Box((1.0, 2.0, 4.0)).support(np.array([1.0, -1.0, 0.1]))
    array([ 0.5, -1. ,  2. ])
    """

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", lengths(self, "size"))

    @property
    def half(self) -> Array:
        """Half the lengths (3), m."""
        return 0.5 * np.array(self.size)

    @property
    def bounding_radius(self) -> Any:
        """Radius of the sphere about the shape and its center, m."""
        return ops.norm(self.half)

    @property
    def vertices(self) -> Array:
        """Its corners (8, 3), m."""
        return self.half * np.array([[x, y, z] for z in (-1.0, 1.0) for y in (-1.0, 1.0) for x in (-1.0, 1.0)])

    def core(self, d: Array) -> Array:
        """Return a corner."""
        return ops.where(ops.less(d, 0.0), -1.0, 1.0) * self.half

    @property
    def normals(self) -> Array:
        """Normals of its faces."""
        return np.eye(3)

    @property
    def edges(self) -> Array | None:
        """Along x, y and z."""
        return np.eye(3)


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder of a radius and a length along z, about the origin.

    >>> Cylinder(0.5, 2.0).support(np.array([3.0, 4.0, -1.0]))
    array([ 0.3,  0.4, -1. ])
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length(self, "radius"))
        object.__setattr__(self, "length", length(self, "length"))

    @property
    def bounding_radius(self) -> Any:
        """Radius of the sphere about the shape and its center, m."""
        return ops.norm(ops.array([self.radius, 0.5 * self.length]))

    def core(self, d: Array) -> Array:
        """Return a point of a rim."""
        across, _ = unit(ops.array([d[0], d[1], 0.0 * d[2]]), X)
        return self.radius * across + ops.where(d[2] < 0.0, -0.5, 0.5) * self.length * Z

    @property
    def normals(self) -> Array:
        """Normals of its ends."""
        return Z[None]


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid of three radii along x, y, z, about the origin.

    >>> Ellipsoid((1.0, 2.0, 3.0)).support(np.array([0.0, 2.0, 0.0]))
    array([0., 2., 0.])
    """

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", lengths(self, "radii"))

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere about the shape and its center, m."""
        return max(self.radii)

    def core(self, d: Array) -> Array:
        """Return r ∘ (r ∘ d)/|r ∘ d|."""
        r = np.array(self.radii)
        return r * unit(r * d)[0]

    @property
    def normals(self) -> Array:
        """At the ends of its axes."""
        return np.eye(3)


@dataclass(frozen=True)
class Hull(Shape):
    """The convex hull of at most 64 points (n, 3), which are all its vertices; :func:`~engine.geometry.hull_of` makes one of any points.

    >>> Hull(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))).support(np.array([0.0, 0.1, 2.0]))
    array([0., 0., 1.])
    """

    vertices: tuple[tuple[float, float, float], ...]

    symmetric = False

    def __post_init__(self) -> None:
        v = numbers("Hull: vertices", self.vertices, GeometryError)
        if v.ndim != 2 or v.shape[1] != 3 or not 4 <= len(v) <= MOST_VERTICES:
            raise GeometryError(f"Hull: vertices has shape {v.shape}; expected (n, 3), n from 4 to {MOST_VERTICES} (hull_of takes more)")
        spread = np.linalg.svd(v - v.mean(axis=0), compute_uv=False)
        if not spread[2] > 1e-9 * spread[0]:
            raise GeometryError("Hull: vertices lie in a plane; expected points that enclose a volume")
        object.__setattr__(self, "vertices", tuple(map(tuple, v.tolist())))

    @property
    def center(self) -> Array:
        """Mean (3) of the least and the greatest coordinates, m."""
        v = np.array(self.vertices)
        return 0.5 * (v.min(axis=0) + v.max(axis=0))

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere about the shape and its center, m."""
        return float(np.linalg.norm(np.array(self.vertices) - self.center, axis=1).max())

    def core(self, d: Array) -> Array:
        """Return a vertex, the first of those that are equally far."""
        best, point = -np.inf, np.array(self.vertices[0])
        for v in np.array(self.vertices):
            far = v @ d
            further = best < far
            best, point = ops.where(further, far, best), ops.where(further, v, point)
        return point

    @property
    def normals(self) -> Array:
        """Normals of its largest faces, a few, of two opposite ones once."""
        from scipy.spatial import ConvexHull

        hull = ConvexHull(np.array(self.vertices))
        corners = hull.points[hull.simplices]
        areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        found: list[tuple[float, Array]] = []
        for n in hull.equations[:, :3]:
            alike = np.abs(hull.equations[:, :3] @ n) > 1.0 - 1e-12
            if not any(abs(n @ m) > 1.0 - 1e-12 for _, m in found):
                found.append((float(areas[alike].sum()), n))
        return np.array([n for _, n in sorted(found, key=lambda x: -x[0])[:NORMALS]])


@dataclass(frozen=True)
class Plane(Shape):
    """All below a plane: z ≤ 0.

    >>> import numpy as np
    >>> from engine.geometry import Plane, Sphere, points
    >>> from engine.spatial import se3
    >>> above = se3.pose(np.eye(3), np.array([0, 0, 1.5]))
    >>> points(Plane(), Sphere(1.0), above).gap  # m
    array([0.5])
    """

    @property
    def summit(self) -> float:
        """The greatest height, m."""
        return 0.0


@dataclass(frozen=True)
class HeightField(Shape):
    """All below a surface z = f(x, y) over a rectangle of size (x, y) about the origin, bilinear between heights (ny, nx) on a grid.

    Row 0 of the heights lies at the least y, column 0 at the least x. Beyond the rectangle it goes on as at its border.

    >>> HeightField(((0.0, 0.0), (1.0, 1.0)), (4.0, 2.0)).bounding_radius.__round__(3)
    2.291
    """

    heights: tuple[tuple[float, ...], ...]
    size: tuple[float, float]

    def __post_init__(self) -> None:
        heights, size = numbers("HeightField: heights", self.heights, GeometryError), numbers("HeightField: size", self.size, GeometryError)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise GeometryError(f"HeightField: heights has shape {heights.shape}; expected (ny, nx), each at least 2")
        if size.shape != (2,) or not (size > 0.0).all():
            raise GeometryError(f"HeightField: size is {shown(self.size)}; expected two lengths in metres greater than zero")
        object.__setattr__(self, "heights", tuple(map(tuple, heights.tolist())))
        object.__setattr__(self, "size", (float(size[0]), float(size[1])))

    @functools.cached_property
    def grid(self) -> Array:
        """The heights (ny, nx), m."""
        return np.array(self.heights)

    @property
    def center(self) -> Array:
        """Center (3) of the surface's bounding box, m."""
        return np.array([0.0, 0.0, 0.5 * (self.grid.min() + self.grid.max())])

    @property
    def summit(self) -> float:
        """The greatest height, m."""
        return float(self.grid.max())

    @property
    def spacing(self) -> tuple[float, float]:
        """Lengths of a cell along x and y, m."""
        ny, nx = self.grid.shape
        return self.size[0] / (nx - 1), self.size[1] / (ny - 1)

    @functools.cached_property
    def steepness(self) -> float:
        """No slope is greater: the steepest edges along x and along y, of any cells, together."""
        return float(np.hypot(*(np.abs(np.diff(self.grid, axis=k)).max() / d for k, d in zip((1, 0), self.spacing, strict=True))))

    @functools.cached_property
    def cells(self) -> tuple[Array, Array]:
        """Numbers of the cells (n), and of each f, and by how much it rises along x, along y, and along y from one x to the next (n, 4)."""
        h = self.grid
        f, rise_x, rise_y = h[:-1, :-1], np.diff(h, axis=1), np.diff(h, axis=0)
        rows = np.stack([f, rise_x[:-1], rise_y[:, :-1], np.diff(rise_x, axis=0)], axis=-1).reshape(-1, 4)
        return np.arange(float(len(rows))), rows

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere about the surface, m."""
        return float(np.linalg.norm([0.5 * self.size[0], 0.5 * self.size[1], 0.5 * np.ptp(self.grid)]))



#: shapes without end
GROUNDS = (Plane, HeightField)
