"""A pair of shapes that may touch, and its geometry in a configuration: broad phase, then contact points, normals and gaps."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.contact import rolling
from engine.contact.material import ContactMaterial
from engine.dynamics.kinematics import body_poses
from engine.geometry import Shape
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray
#: m: where shapes are apart
FAR = 3e2, 1e2, 2e2


class Placed(NamedTuple):
    """A shape on a body of the model (−1: the world).

    Attributes
    ----------
    pose : T_BS of the shape in the body's frame
    part : its own name, as :attr:`~engine.model.Link.shapes` has it
    own : whether it has a material of its own, and not that of its link
    runs : the velocity (3) of its surface along itself, in the body's axes; None where it has none
    center : of a sphere around it, in the body's frame

    >>> import numpy as np
    >>> from engine.contact import Placed
    >>> from engine.geometry import Sphere
    >>> Placed("foot", 0, Sphere(0.1), np.eye(4), part="toe").surfaces
    ('foot', 'toe')
    """

    link: str
    body: int
    shape: Shape
    pose: Array
    part: str = ""
    own: bool = False
    runs: Array | None = None

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Names by which parameters set its surface: its link's, if it has the material of that, and its own, which counts more."""
        return (*(() if self.own else (self.link,)), *((self.part,) if self.part else ()))

    @property
    def center(self) -> Array:
        return self.pose[:3, :3] @ self.shape.center + self.pose[:3, 3]

    def on(self, model: Model, nominal: Model) -> Placed:
        """Return the shape where its link is on the body of a model with other placements than the ``nominal`` one."""
        if self.link not in (link.name for link in model.links):               # the ground
            return self
        (_, T), (_, T_nominal) = (m.carrier[m.link_index(self.link)] for m in (model, nominal))
        same = T.dtype != object and not (T - T_nominal).any()
        if same:
            return self
        moved = T @ se3.inv(T_nominal)
        runs = None if self.runs is None else se3.rotation(moved) @ self.runs
        return self._replace(pose=T @ (se3.inv(T_nominal) @ self.pose), runs=runs)


class Pair(NamedTuple):
    """Two shapes that may touch; forces are on the second.

    Attributes
    ----------
    surfaces : what each is made of
    mobility : w, the velocity that a unit impulse on both leaves them with, about
    combine : how their frictions combine; own : the material of the one on the other, if it is of its own
    turns : whether there is torsional or rolling friction, however large
    """

    name: str
    a: Placed
    b: Placed
    points: int
    surfaces: tuple[ContactMaterial, ContactMaterial]
    mobility: float
    combine: str = "harmonic"
    own: ContactMaterial | None = None
    turns: bool = False

    @property
    def material(self) -> ContactMaterial:
        """Material of the contact of both surfaces."""
        return self.surfaces[0].with_surface(self.surfaces[1], self.combine) if self.own is None else self.own

    def of(self, model: Model, nominal: Model, values: Mapping[str, Any]) -> Pair:
        """Return the pair on a model with other numbers than the ``nominal`` one, of surfaces with parameters in place of their numbers."""
        one, other = self.surfaces
        return self._replace(a=self.a.on(model, nominal), b=self.b.on(model, nominal),
                             surfaces=(one.of(self.a.surfaces, values), other.of(self.b.surfaces, values)))  # fmt: skip

    @property
    def runs(self) -> bool:
        """True if the surface of one of them runs as a belt does."""
        return self.a.runs is not None or self.b.runs is not None

    def running(self, poses: list[Array]) -> Array:
        """Return the velocity (3) at which the second's surface runs relative to that of the first, in world axes, with bodies at T_WB."""
        one, other = (np.zeros(3) if s.runs is None else se3.rotation(poses[s.body]) @ s.runs for s in (self.a, self.b))
        return other - one

    @property
    def together(self) -> int:
        """Number of points, four at most, in which the shapes meet if both are flat there."""
        return flat_points(*(geometry.measures(s.shape)[0] for s in (self.a, self.b)))

    @property
    def size(self) -> float:
        """Half of the thickness of the thinner shape, m, about."""
        return min(thickness(s.shape) for s in (self.a, self.b) if not isinstance(s.shape, geometry.GROUNDS)) / 2.0


@functools.lru_cache(maxsize=4096)
def thickness(shape: Shape) -> float:
    """Return the least width of a shape, m, in directions along and between its axes."""
    directions = [np.array(d) for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)]
    return float(min((shape.support(d) - shape.support(-d)) @ d / np.linalg.norm(d) for d in directions))


class Touch(NamedTuple):
    """Contact points of a pair after a step's flight, in world axes from a point c.

    Attributes
    ----------
    near : whether the spheres around both may meet; where not, all is zero, but for the gap, which is that of the spheres
    position, normal : (n, 3) midway between the surfaces, out of the first
    gap : (n), m, below zero where they overlap
    before : (n), the rate of the gap at the beginning of the step, m/s
    share : (n), how many points each counts as
    """

    pair: Pair
    near: Any
    position: Array
    normal: Array
    gap: Array
    before: Array
    share: Array


class BroadPhase(NamedTuple):
    """Result of the broad phase: the distance between the bounding spheres of every pair, and whether they may meet; the bodies' poses,
    the world's last."""

    apart: list[Any]
    near: list[Any]
    poses: list[Array]


def broad_phase(model: Model, pairs: list[Pair], q: Array, reach: list[Any]) -> BroadPhase:
    """Broad phase: return which pairs may meet at q (nq): their spheres are no farther apart than ``reach``, a length for each body,
    the world last."""
    T_W = body_poses(model, q)
    apart = [spheres_apart(pair, T_W) for pair in pairs]
    near = [x <= reach[pair.a.body] + reach[pair.b.body] for pair, x in zip(pairs, apart, strict=True)]
    return BroadPhase(apart, near, T_W)


def transformed_point(T: Array, x: Array) -> Array:
    """Return R x + p (3), the point x (3) transformed by the pose T (4, 4)."""
    return se3.rotation(T) @ x + se3.position(T)


class InitialMotion(NamedTuple):
    """Motion of the bodies at the beginning of a step: their poses, and their twists in their own frames, the world's last."""

    poses: list[Array]
    twists: list[Array]


def touch(pair: Pair, apart: Any, near: Any, poses: list[Array], about: Array, initial: InitialMotion) -> Touch:
    """Return the contact points of a pair with the bodies at T_WB (``poses``), seen from a point (3) in the world: those of the narrow
    phase, or zeros if the pair is not near."""
    n = pair.points
    nowhere = np.concatenate([np.zeros(3 * n), np.tile([0.0, 0.0, 1.0], n), np.array([apart] * n), np.zeros(2 * n)])
    found = ops.when(near, lambda: np.concatenate([x.ravel() for x in narrow_phase(pair, poses, about, initial)[:-1]]), nowhere)
    position, normal, gap, before, share = np.split(found, [3 * n, 6 * n, 7 * n, 8 * n])
    return Touch(pair, near, position.reshape(n, 3), normal.reshape(n, 3), gap, before, share)


def narrow_phase(pair: Pair, poses: list[Array], about: Array, initial: InitialMotion) -> tuple[Array, ...]:
    """Narrow phase: return position and normal (n, 3), gap, its rate before, and share (n) of a pair's contact points, as in
    :class:`Touch`, and how fast their places go and their normals turn before (n, 6).

    One program serves equal pairs of shapes, and all hulls of as many vertices.
    """
    T_0, V_0 = initial
    places = [np.concatenate([poses[k][:3].ravel(), se3.rotation(T_0[k]).ravel(), V_0[k], s.pose[:3].ravel(), s.center])
              for s in (pair.a, pair.b) for k in [s.body]]  # fmt: skip
    shapes = [s.shape for s in (pair.a, pair.b)]
    given = [geometry.numbers_of(shape) for shape in shapes if isinstance(shape, geometry.Hull)]
    return ops.shared(narrow_phase_of_kinds(kind(shapes[0]), kind(shapes[1])), *places, about, *given)


@functools.cache
def narrow_phase_of_kinds(*kinds: Any, near: bool = False) -> Callable[..., tuple[Array, ...]]:
    """Return the narrow phase of two kinds of shapes, a function: of both bodies' T_WB (3×4), R_WB and twist before the step, shape's T_BS
    (3×4) and centre, of the point to see it from, and of the measures of shapes that are known by their kind alone; where only what is
    ``near`` counts, of how far that is, m, before these. It returns position, normal, gap, its rate before, share, and how fast (6) each
    place goes and its normal turns at the beginning of the step: :mod:`engine.contact.rolling`."""

    def motion(place: Array, c: Array, y: Array) -> tuple[Array, Array]:
        """Return the velocity (3), at the beginning of the step, of the shape's point that was then where y (3) is now, as seen from the
        shape's centre c, and its angular velocity (3)."""
        R, V, center = place[12:21].reshape(3, 3), place[21:27], place[39:]    # so that a rolling ball is asked where it touched then
        w = R @ V[:3]
        return R @ V[3:] + ops.cross(w, R @ center) + ops.cross(w, y - c), w

    def points(a: Array, b: Array, about: Array, *given: Array) -> tuple[Array, ...]:
        far, given = (given[:1], given[1:]) if near else ((), given)
        left, (T_a, T_b) = iter(given), (homogeneous(x[:12]) @ homogeneous(x[27:39]) for x in (a, b))
        one, two = (k if isinstance(k, Shape) else geometry.measured(k, next(left)) for k in kinds)
        p = geometry.touching_points(one, two, se3.inv(T_a) @ T_b, *far) if near else geometry.points(one, two, se3.inv(T_a) @ T_b)
        R, o = se3.rotation(T_a), se3.position(T_a)
        places, normals = [R @ x + o for x in p.position], [R @ x for x in p.normal]
        centers, rates, velocities = [transformed_point(homogeneous(x[:12]), x[39:]) for x in (a, b)], [], []
        for n, y, gap, corner in zip(normals, places, p.gap, p.corner, strict=True):
            (v_a, w_a), (v_b, w_b) = (motion(x, c, y) for x, c in zip((a, b), centers, strict=True))
            corners = ops.maximum(corner, 0.0), ops.maximum(-corner, 0.0)
            surfaces = rolling.surface(one, R, n, corners[0]), rolling.surface(two, se3.rotation(T_b), -n, corners[1])
            rates.append(n @ (v_b - v_a))
            moves = n, gap, surfaces, (v_a, v_b), (w_a, w_b)
            velocities.append(np.concatenate([rolling.place_velocity(*moves), rolling.normal_rate(*moves)]))
        return np.array([y - about for y in places]), np.array(normals), p.gap, ops.array(rates), p.share, np.array(velocities)

    return points


def homogeneous(T: Array) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose from its upper three rows (12)."""
    return np.vstack([T.reshape(3, 4), [[0.0, 0.0, 0.0, 1.0]]])


def kind(shape: Shape) -> Shape | int:
    """Return for which shapes a program of contact points is compiled: for this one, or for all hulls of as many numbers."""
    return len(geometry.numbers_of(shape)) if isinstance(shape, geometry.Hull) else shape


def spheres_apart(pair: Pair, T_W: list[Array]) -> Any:
    """Return the distance, m, between the bounding spheres of both shapes."""
    a, b = pair.a, pair.b
    centers = [transformed_point(T_W[s.body], s.center) for s in (a, b)]
    d = centers[1] - centers[0]
    if isinstance(a.shape, geometry.HeightField):
        return geometry.clearance(a.shape, se3.inv(T_W[a.body] @ a.pose)[:3] @ np.append(centers[1], 1.0)) - b.shape.bounding_radius
    if isinstance(a.shape, geometry.Plane):                               # a half-space: the sphere's height above it
        return (se3.rotation(T_W[a.body]) @ a.pose[:3, 2]) @ d - b.shape.bounding_radius
    return ops.norm(d) - a.shape.bounding_radius - b.shape.bounding_radius


def number_of_points(a: Shape, b: Shape) -> int:
    """Return the number of contact points of two shapes, which their kinds decide.

    >>> from engine.contact import number_of_points
    >>> from engine.geometry import Box, Plane, Sphere
    >>> number_of_points(Plane(), Sphere(1.0)), number_of_points(Plane(), Box((1.0, 1.0, 1.0)))
    (1, 8)
    """
    one, other = (geometry.measures(shape)[0] for shape in (a, b))
    return points_of_kinds(one, other)  # type: ignore[arg-type]


@functools.cache
def points_of_kinds(one: Any, other: Any) -> int:
    """Return the number of contact points of shapes of two kinds."""
    a, b = map(geometry.example, (one, other))
    apart = np.eye(4)
    apart[:3, 3] = FAR                                                         # where they are found soonest
    return len(geometry.points(a, b, apart).gap)


def flat_points(one: Any, other: Any) -> int:
    """Return the number of points, four at most, in which shapes of two kinds meet if both are flat there."""
    n, (a, b) = points_of_kinds(one, other), map(geometry.example, (one, other))
    if isinstance(a, geometry.Capsule) and isinstance(b, geometry.Capsule):
        return 2                                                               # the ends of what lies side by side
    return min(n // 4 if isinstance(a, geometry.HeightField) and b.rounding else n, 4)
