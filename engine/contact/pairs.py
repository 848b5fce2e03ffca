"""Which shapes may touch: a static list of pairs, and where they are to each other in a configuration."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from engine import geometry, ops
from engine.contact.material import ContactMaterial
from engine.dynamics.kinematics import body_poses
from engine.geometry import Shape
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray


class Placed(NamedTuple):
    """A shape on a body of the model (−1: the world).

    Attributes
    ----------
    pose : T_BS of the shape in the body's frame
    center, radius : of a sphere around it, in the body's frame; the radius of a half-space is infinite
    """

    link: str
    body: int
    shape: Shape
    pose: Array

    @property
    def center(self) -> Array:
        return self.pose[:3, :3] @ self.shape.center + self.pose[:3, 3]


class Pair(NamedTuple):
    """Two shapes that may touch; forces are on the second.

    Attributes
    ----------
    dofs : the velocities that move one relative to the other
    mobility : w, the velocity that a unit impulse on both leaves them with, about
    """

    name: str
    a: Placed
    b: Placed
    points: int
    dofs: tuple[int, ...]
    material: ContactMaterial
    mobility: float

    @property
    def size(self) -> float:
        """Half of how thick the thinner of the two shapes is, m, about."""
        return min(thickness(s.shape) for s in (self.a, self.b) if not isinstance(s.shape, geometry.Plane)) / 2.0


def thickness(shape: Shape) -> float:
    """Return the least width of a shape, m, in directions along and between its axes."""
    directions = [np.array(d) for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)]
    return float(min((shape.support(d) - shape.support(-d)) @ d / np.linalg.norm(d) for d in directions))


class Touch(NamedTuple):
    """Where a pair is in a configuration, in the frame of the first shape's body A.

    Attributes
    ----------
    near : whether the spheres around both may meet; where not, all is zero, but for the gap, which is that of the spheres
    position, normal : (n, 3) midway between the surfaces, out of the first
    gap : (n), m, below zero where they overlap
    jacobian : (6, dofs), the twist of the second relative to the first, about A's origin
    before : (n), the rate of the gap at the beginning of the step, m/s
    pose : T_WA
    """

    pair: Pair
    near: Any
    position: Array
    normal: Array
    gap: Array
    jacobian: Array
    before: Array
    pose: Array


def path(model: Model, body: int) -> list[int]:
    """Return the bodies from one up to its root."""
    found = []
    while body >= 0:
        found.append(body)
        body = model.bodies[body].parent
    return found


def between(model: Model, a: int, b: int) -> tuple[list[int], list[int]]:
    """Return the bodies from a, and from b, up to below the first that carries both."""
    above_a, above_b = path(model, a), path(model, b)
    return [i for i in above_a if i not in above_b], [i for i in above_b if i not in above_a]


def relative_motion(model: Model, q: Array, a: int, b: int) -> tuple[Array, dict[int, Array]]:
    """Return T_AB of body b in a, and the columns (6) of Ad(T_AB) J_B − J_A by their velocities.

    Only the joints between the two count, so that nothing is lost far from the origin.
    """
    up, down = between(model, a, b)
    columns: dict[int, Array] = {}
    T = np.eye(4)

    def add(i: int, sign: float) -> None:
        body = model.bodies[i]
        S = body.subspace(q)
        for k, j in enumerate(range(body.v.start, body.v.stop)):
            column = sign * se3.twist_to_parent(T, S[:, k])
            columns[j] = columns[j] + column if j in columns else column

    for i in up:
        add(i, -1.0)
        T = T @ se3.inv(model.bodies[i].pose(q))
    for i in reversed(down):
        T = T @ model.bodies[i].pose(q)
        add(i, 1.0)
    return T, columns


class Nearness(NamedTuple):
    """How far the spheres around both shapes of every pair are apart (pairs), and whether they may meet; the bodies' poses, the world's
    last."""

    apart: list[Any]
    near: list[Any]
    poses: list[Array]


def nearness(model: Model, pairs: list[Pair], q: Array, reach: list[Any]) -> Nearness:
    """Return which pairs may meet at q (nq): their spheres are no farther apart than ``reach``, a length for each body, the world last."""
    T_W = body_poses(model, q)
    apart = [spheres_apart(pair, T_W) for pair in pairs]
    near = [x <= reach[pair.a.body] + reach[pair.b.body] for pair, x in zip(pairs, apart, strict=True)]
    return Nearness(apart, near, T_W)


def touch(model: Model, pair: Pair, q0: Array, v0: Array, q: Array, apart: Any, near: Any, pose: Array) -> Touch:
    """Return where a pair is at q (nq), after a step from q0 and v0; ``pose`` is the first body's."""
    a, b, n = pair.a, pair.b, pair.points

    def look() -> Array:
        T, columns = relative_motion(model, q, a.body, b.body)
        p = geometry.points(a.shape, b.shape, se3.inv(a.pose) @ T @ b.pose)
        R, o = a.pose[:3, :3], a.pose[:3, 3]
        position, normal = [R @ x + o for x in p.position], [R @ x for x in p.normal]
        T0, columns0 = relative_motion(model, q0, a.body, b.body)
        V0 = sum(columns0[j] * v0[j] for j in pair.dofs)
        moved = (T - T0)[:3, :3] @ b.center + (T - T0)[:3, 3]   # a rolling ball touches with another point than before
        before = [x @ (V0[3:] + ops.cross(V0[:3], y - moved)) for x, y in zip(normal, position, strict=True)]
        return np.concatenate([*position, *normal, p.gap, before, *[columns[j] for j in pair.dofs]])

    nowhere = np.concatenate([np.zeros(3 * n), np.tile([0.0, 0.0, 1.0], n)])
    far = np.concatenate([nowhere, np.array([apart] * n), np.zeros(n), np.zeros(6 * len(pair.dofs))])
    position, normal, gap, before, J = np.split(ops.when(near, look, far), [3 * n, 6 * n, 7 * n, 8 * n])
    return Touch(pair, near, position.reshape(n, 3), normal.reshape(n, 3), gap, J.reshape(-1, 6).T, before, pose)


def spheres_apart(pair: Pair, T_W: list[Array]) -> Any:
    """Return how far the spheres around both shapes are apart."""
    a, b = pair.a, pair.b
    centers = [se3.rotation(T_W[s.body]) @ s.center + se3.position(T_W[s.body]) for s in (a, b)]
    d = centers[1] - centers[0]
    if isinstance(a.shape, geometry.Plane):                               # a half-space: the sphere's height above it
        return (se3.rotation(T_W[a.body]) @ a.pose[:3, 2]) @ d - b.shape.bounding_radius
    return ops.norm(d) - a.shape.bounding_radius - b.shape.bounding_radius


def number_of_points(a: Shape, b: Shape) -> int:
    """Return in how many points two shapes touch."""
    return len(geometry.points(a, b, np.eye(4)).gap)
