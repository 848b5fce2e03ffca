"""Things in a scene that no robot has: points, arrows, meshes, frames and targets, which stand still or go along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import number, numbers, path_of, shown
from engine.io import RobotFileError
from engine.model import Builder, Geometry, Model
from engine.spatial import quaternion
from engine.viewer.scene.actor import Actor, Part
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.sources import Still
from engine.viewer.scene.surface import Surface, sphere, surfaces
from engine.viewer.scene.symbols import Symbols, placed
from engine.viewer.scene.triangles import smoothed, welded

Array = np.ndarray
Color = tuple[float, float, float, float]
#: what goes along with a link, or as a function of time, s, says, which returns a pose (4, 4)
Moving = str | Callable[[float], Any] | None
#: colours of what has none of its own
POINT, ARROW, MESH, GOAL = (0.95, 0.55, 0.10), (0.90, 0.15, 0.42), (0.72, 0.74, 0.77), (0.20, 0.72, 0.95)
SLOPE = (0.52, 0.53, 0.55)


class Thing(Actor):
    """A shape in a scene that is no robot's. Its frame stands still, or moves with ``carrier``'s.

    Parameters
    ----------
    source : where its frame is
    shapes : what is drawn, in that frame
    """

    def __init__(self, source: Still, shapes: tuple[Part, ...], name: str) -> None:
        self._shapes = shapes
        super().__init__(source, name=name)

    def shapes(self, geometry: str) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        return self._shapes, ()


class Attached(Still):
    """A frame that goes along with a link of an actor, or where a function of time says."""

    free = False

    def __init__(self, model: Model, pose: Array, carrier: Callable[[float], Array], times: Callable[[Array], Array]) -> None:
        super().__init__(model, coordinates(pose[None]))
        self.pose, self.carrier, self.carried = pose, carrier, times
        self.q = self.state(0.0)[0]

    @property
    def instances(self) -> int:
        return len(self.q)

    def state(self, t: float) -> tuple[Array, Array]:
        q = coordinates(self.carrier(t) @ self.pose)
        return q, np.zeros((len(q), 6))

    def configurations(self, times: Array) -> Array:
        return coordinates(self.carried(times) @ self.pose)


def coordinates(T: Array) -> Array:
    """Return coordinates (..., 7) of a floating body at poses (..., 4, 4)."""
    return np.concatenate([quaternion.from_matrix(T[..., :3, :3]), T[..., :3, 3]], axis=-1)


def thing(name: str, shapes: tuple[Part, ...], moving: Moving, pose: Array, carriers: Callable[[str], Actor]) -> Thing:
    """Return a thing at a pose (4, 4) in the world, or relative to what it goes along with; ``carriers`` finds links."""
    if moving is None:
        return resting(name, shapes, pose)
    model = alone(name)
    if callable(moving):
        def at(t: float) -> Array:
            return pose_of(moving(t), f"moving at t = {t:g} s")[None]

        return Thing(Attached(model, pose, at, lambda times: np.stack([at(float(t))[0] for t in times])[None]), shapes, name)
    if not isinstance(moving, str):
        raise ViewerError(f"moving is {shown(moving)}; expected a link's name, or a function of time that returns a pose")
    actor = carriers(moving)
    link = actor.model.link_index(moving)
    return Thing(Attached(model, pose, lambda t: actor.poses(t)[:, link],
                          lambda times: actor.source.links(actor.source.configurations(times))[..., link, :, :]), shapes, name)  # fmt: skip


def resting(name: str, shapes: tuple[Part, ...], pose: Array) -> Thing:
    """Return a thing that stands still at a pose (4, 4)."""
    return Thing(Still(alone(name), coordinates(pose[None])), shapes, name)


def alone(name: str) -> Model:
    """Return a model of one link that floats."""
    builder = Builder(name)
    builder.add_link(name)
    return builder.model(floating_base=True)


def pose_of(x: Any, what: str) -> Array:
    """Return a pose (4, 4); of a point (3) one without a turn."""
    a = numbers(what, x, ViewerError)
    if a.shape == (3,):
        return placed(np.eye(3)[None], a[None], [1.0, 1.0, 1.0])[0]
    if a.shape != (4, 4) or np.abs(a[:3, :3] @ a[:3, :3].T - np.eye(3)).max() > 1e-6 or np.linalg.det(a[:3, :3]) < 0:
        raise ViewerError(f"{what} is {shown(x)}; expected a point (3), m, or a pose (4, 4)")
    return a


def upright(T: Array) -> bool:
    """Return whether the z axis of a pose (4, 4) points straight up."""
    return bool(T[2, 2] > 1.0 - 1e-12)


def slope(T: Array, middle: Array, radius: float) -> Thing:
    """Return the ground that has a pose T (4, 4), tilted, as a square under a sphere (its middle (3), its radius, m)."""
    side, x = 12.0 * radius, T[:3, :3].T @ (middle - T[:3, 3])
    beneath = placed(T[None, :3, :3], (T[:3, :3] @ [x[0], x[1], 0.0] + T[:3, 3])[None], [1.0, 1.0, 1.0])[0]
    shapes = surfaces(Geometry("heightfield", (side, side), heights=np.zeros((2, 2))))
    return resting("ground", tuple(Part(of_color(surface, (*SLOPE, 1.0)), 0, scale) for surface, scale in shapes), beneath)


# ---------------------------------------------------------------- shapes


def points(x: Any, size: float, color: Color) -> tuple[Part, ...]:
    """Return balls of a radius, m, at points (n, 3), m."""
    ball = of_color(sphere()[0].surface, color)
    return tuple(Part(ball, 0, T) for T in placed(np.eye(3)[None], rows("points", x), [size] * 3))


def arrows(x: Any, size: float, color: Color) -> tuple[Part, ...]:
    """Return arrows with shafts of a radius, m; x is their tails and vectors, (n, 3) each, m."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ViewerError(f"arrows are {shown(x)}; expected (tails, vectors), (n, 3) each, m")
    tails, vectors = rows("tails of arrows", x[0]), rows("vectors of arrows", x[1])
    if len(tails) != len(vectors):
        raise ViewerError(f"arrows have {len(tails)} tails and {len(vectors)} vectors; expected as many of both")
    symbols = Symbols()
    symbols.arrows(tails, vectors, color, size)
    return of_symbols(symbols)


def mesh(x: Any, size: float, color: Color | None) -> tuple[Part, ...]:
    """Return a mesh that is ``size`` times as large as written: a file's path, or vertices (n, 3), m, and triangles (m, 3)."""
    if isinstance(x, (str, Path)):
        try:
            found = surfaces(Geometry("mesh", (size,) * 3, mesh=path_of(x, ViewerError)))
        except RobotFileError as e:
            raise ViewerError(str(e)) from None
        return tuple(Part(of_color(surface, color) if color else surface, 0, scale) for surface, scale in found)
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ViewerError(f"a mesh is {shown(x)}; expected a file's path, or (vertices (n, 3), triangles (m, 3))")
    vertices, faces = rows("vertices of a mesh", x[0]), np.asarray(x[1])
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or not len(faces):
        raise ViewerError(f"triangles of a mesh have shape {faces.shape} of {faces.dtype}; expected (m, 3) numbers of vertices, m > 0")
    if not 0 <= faces.min() <= faces.max() < len(vertices):
        raise ViewerError(f"triangles of a mesh name vertices {faces.min()} … {faces.max()}; expected 0 … {len(vertices) - 1}")
    normals = smoothed(vertices, faces, welded(vertices)[faces])
    corners = np.arange(faces.size, dtype=np.uint32).reshape(-1, 3)
    surface = Surface(vertices[faces].reshape(-1, 3).astype(np.float32), normals.reshape(-1, 3).astype(np.float32), corners,
                      color or (*MESH, 1.0), name="mesh")  # fmt: skip
    return (Part(surface, 0, np.diag([size, size, size, 1.0])),)


def frame(size: float) -> tuple[Part, ...]:
    """Return axes of a length, m: x red, y green, z blue."""
    symbols = Symbols()
    symbols.frames(np.eye(4)[None], size)
    return of_symbols(symbols)


def target(size: float, color: Color) -> tuple[Part, ...]:
    """Return the mark of a place to go to, of a radius, m: three rings about axes, and a dot in the middle."""
    symbols = Symbols()
    for axis in np.eye(3):
        symbols.arcs(np.eye(4)[None], axis[None], size, color)
    dot = points(np.zeros((1, 3)), 0.12 * size, color)
    return *of_symbols(symbols, color), *dot, *frame(0.7 * size)


def of_symbols(symbols: Symbols, color: Color | None = None) -> tuple[Part, ...]:
    """Return symbols' surfaces, each in its colour."""
    return tuple(Part(of_color(surface, color or tuple(c)), 0, T) for surface, poses, colors in symbols.placed_surfaces
                 for T, c in zip(poses, colors.tolist(), strict=True))  # fmt: skip


@lru_cache(maxsize=256)
def of_color(surface: Surface, color: Color) -> Surface:
    """Return a surface in a colour."""
    return replace(surface, color=color)


def rows(what: str, x: Any) -> Array:
    """Return points or vectors (n, 3); of one alone (1, 3)."""
    a = np.atleast_2d(numbers(what, x, ViewerError))
    if a.ndim != 2 or a.shape[1] != 3:
        raise ViewerError(f"{what} have shape {np.shape(x)}; expected (n, 3), m")
    return a


def colored(color: Any, default: tuple[float, float, float]) -> Color:
    """Return red, green, blue and opacity of a colour (3) or (4)."""
    a = numbers("color", default if color is None else color, ViewerError)
    if a.shape not in ((3,), (4,)) or a.min() < 0.0 or a.max() > 1.0:
        raise ViewerError(f"color is {shown(color)}; expected red, green, blue, or those and opacity, from 0 to 1")
    r, g, b, o = (*a.tolist(), 1.0)[:4]
    return r, g, b, o


#: what can be added: how it is made of what is given, a size and a colour; and both where none is given, the size in the scene's
KINDS: dict[str, tuple[Callable[[Any, float, Color], tuple[Part, ...]], float, tuple[float, float, float]]] = {
    "points": (points, 0.008, POINT),
    "arrows": (arrows, 0.006, ARROW),
    "frame": (lambda x, size, color: frame(size), 0.15, POINT),
    "target": (lambda x, size, color: target(size, color), 0.06, GOAL),
}


def made(kind: str, x: Any, size: float | None, color: Any, extent: float) -> tuple[tuple[Part, ...], Array]:
    """Return what is drawn of a thing, and its pose (4, 4), in a scene of an extent, m."""
    if size is not None:
        size = number("size", size, "a length above zero, m, or of a mesh a factor", above=0.0, error=ViewerError)
    if kind == "mesh":
        return mesh(x, 1.0 if size is None else size, None if color is None else colored(color, MESH)), np.eye(4)
    make, part, own = KINDS[kind]
    posed = pose_of(x, kind) if kind in ("frame", "target") else np.eye(4)
    return make(x, part * extent if size is None else size, colored(color, own)), posed
