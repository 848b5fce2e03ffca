"""Ray casting: the shapes of a model that rays may meet, and the distance at which they do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.checks import warn
from engine.components.component import SimulationWarning
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, GeometryError, Plane, Shape, Sphere
from engine.geometry.rays import ray, span
from engine.geometry.triangles import Triangles, through, triangles_of
from engine.io import RobotFileError, load_mesh
from engine.io.upright import tell, upright
from engine.model import Geometry, Model
from engine.spatial import se3

Array = np.ndarray
#: shapes in closed form, made of a size
CLOSED: dict[str, Any] = {"sphere": lambda r: Sphere(r), "box": lambda *size: Box(size), "cylinder": lambda r, h: Cylinder(r, h),
                          "capsule": lambda r, h: Capsule(r, h), "ellipsoid": lambda *radii: Ellipsoid(radii)}  # fmt: skip


class RayTarget(NamedTuple):
    """A shape on a link, by its number, and its pose (4, 4) there."""

    link: int
    pose: Array
    shape: Shape | Triangles


def ray_targets(model: Model, without: Collection[str] = ()) -> list[RayTarget]:
    """Return what rays may meet of a model but of some links: visual shapes, or what it touches with where no link has any.

    Simple shapes are met in closed form; meshes, and height fields as two triangles a cell, by their triangles. What is wholly transparent
    is not there.

    Warns
    -----
    SimulationWarning : a mesh that cannot be read, which is not seen
    """
    collisions = not any(link.visuals for link in model.links)
    tell(model, collisions)
    found, lost = [], []
    for k, link in enumerate(model.links):
        for g in () if link.name in without else upright(model, link, collisions):
            if g.material is not None and g.material.color is not None and g.material.color[3] == 0.0:
                continue
            try:
                found.append(RayTarget(k, g.placement, shape_of(g)))
            except RobotFileError as problem:
                lost.append(f"link '{link.name}': {problem}")
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        warn(f"a mesh of '{model.name}' is not seen by its sensors: {lost[0]}{more}", SimulationWarning)
    return found


def shape_of(g: Geometry) -> Shape | Triangles:
    """Return a link's shape as rays meet it."""
    if g.kind in CLOSED:
        try:
            shape: Shape = CLOSED[g.kind](*g.size)
            return shape
        except GeometryError:                                                  # flat, or thin as a line
            pass
    mesh = load_mesh(g)
    return triangles_of(mesh.vertices, mesh.faces)


def cast_rays(targets: Sequence[RayTarget], poses: Array, ground: Array | None, T: Array, d: Any, least: float, most: float) -> Any:
    """Return how far, in lengths of d, rays from the origin of a frame are to what they meet first, ``most`` where that is nothing.

    Parameters
    ----------
    poses : of the links (nlinks, 4, 4); ground : pose (4, 4) of a half-space that is there besides, or None
    T : of the frame in which the rays are given (4, 4), world axes
    d : directions (n, 3) in that frame, floats, or a traced table
    least, most : between which something is met

    Returns
    -------
    (n), on floats and traced ones alike
    """
    shapes = [*((s.shape, poses[s.link] @ s.pose) for s in targets), *([] if ground is None else [(Plane(), ground)])]
    own = [(shape, se3.inv(pose) @ T) for shape, pose in shapes]
    convex = [(shape, G) for shape, G in own if isinstance(shape, Shape)]

    def nearest(u: Any) -> Any:
        t = most + 0.0 * u[0]
        for shape, G in convex:
            t = ops.minimum(t, ray(shape, G[:3, 3], rotate(G, u), least))
        return t

    graph = ops.graph_of(T, poses, d)
    t = nearest(np.asarray(d).T) if graph is None else graph.rows(nearest, (d,))
    meshes = [(shape, G) for shape, G in own if isinstance(shape, Triangles)]
    for shape, G in meshes:
        t = through(rotate_all(graph, G, d), *G[:3, 3], least, t, *shape)
    return t if graph is None or not meshes else graph.rows(lambda u, x: x, (d, t))   # as many as rays, which a procedure does not say


def shapes_around(targets: Sequence[RayTarget], poses: Array, T: Array, d: Array, near: float) -> list[int]:
    """Return the links, by their numbers, within a simple shape of which all rays d (n, 3) of a frame T begin, ``near`` along them.

    Links' poses are (nlinks, 4, 4), floats.
    """
    found = []
    for s in targets:
        if isinstance(s.shape, Shape):
            G = se3.inv(poses[s.link] @ s.pose) @ T
            enters, leaves = span(s.shape, G[:3, 3], rotate(G, d.T))
            found += [s.link] if ((enters < near) & (near < leaves)).all() else []
    return found


def rotate(G: Array, u: Sequence[Any]) -> list[Any]:
    """Return R u, components first."""
    return [G[i, 0] * u[0] + G[i, 1] * u[1] + G[i, 2] * u[2] for i in range(3)]


def rotate_all(graph: Any, G: Array, d: Any) -> Any:
    """Return directions (n, 3) in another frame."""
    return np.stack(rotate(G, np.asarray(d).T), axis=1) if graph is None else graph.rows(lambda u: ops.array(rotate(G, u)), (d,))


__all__ = ["RayTarget", "cast_rays", "ray_targets", "shapes_around"]
