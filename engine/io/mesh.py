"""The triangles of a shape, read when someone asks for them."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from engine import cache
from engine.checks import shown, warn
from engine.interrupts import held
from engine.io.dae import TURNS, collada_meshes, up_axis_of
from engine.io.errors import RobotFileError, RobotFileWarning, short
from engine.io.paths import Finder
from engine.io.prepared import MOST_TRIANGLES, prepared, weighed
from engine.io.unchanged import looked_at, while_unchanged
from engine.io.whole_trimesh import trimesh
from engine.io.xml import bytes_of
from engine.model import Geometry

if TYPE_CHECKING:
    from trimesh import Trimesh

Array = np.ndarray
FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")
MAX_BYTES = 2**30
#: m from the origin, beyond which single precision, in which meshes are drawn, has no squares
FARTHEST = 1e18
#: odd numbers of 64 bits without a pattern
MIXING = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


def load_mesh(geometry: Geometry) -> Trimesh:
    """Return the triangles of a shape in its own frame, in metres, as a ``trimesh.Trimesh`` of the caller's own.

    A mesh's file is read once, and again when it has changed; a scene of several is joined to one, equal vertices too; the scale and a
    COLLADA file's unit are applied, its up axis where ``geometry.up_axis`` says so. What the file says of its looks is left to
    :func:`engine.render`.

    Raises
    ------
    RobotFileError : the file is not there, lies outside of the robot's folders, or holds no triangles or unsound ones

    Warns
    -----
    RobotFileWarning : it is a COLLADA file whose axis that points up is another than z, and nobody said whether to turn it

    >>> import engine
    >>> engine.load_mesh(engine.Geometry("box", (1.0, 2.0, 3.0))).volume.round(9)
    np.float64(6.0)
    """
    if not isinstance(geometry, Geometry):
        raise RobotFileError(f"load_mesh got {shown(geometry)}; expected a link's shape, or Geometry('mesh', (1, 1, 1), mesh=Path('…'))")
    if geometry.kind == "mesh":
        path = file_of(geometry)
        points, faces = triangles(path)
        if tilted(geometry):
            warn(f"{path}: {untold(up_axis_of(path))}", RobotFileWarning)
        points = points @ turn_of(geometry).T
        size = np.array(geometry.size)
        faces = faces[:, ::-1] if np.prod(np.sign(size)) < 0 else faces
    elif geometry.heights is not None:
        path, size, (points, faces) = "", np.ones(3), grid(geometry.heights, geometry.size)
    else:
        path, (points, faces, size) = "", primitive(geometry)
    with np.errstate(all="ignore"):
        points = points * size
    if not (np.abs(points) <= FARTHEST).all():
        raise RobotFileError(f"a {geometry.kind} of the size {geometry.size} reaches beyond {FARTHEST:g} m; expected a smaller one", path)
    return trimesh().Trimesh(points, faces.copy(), process=False)


def primitive(geometry: Geometry) -> tuple[Array, Array, Array]:
    """Return vertices (n, 3) and faces (m, 3) of a simple shape of about size 1, and what scales it (3)."""
    creation = trimesh().creation
    size = np.array(geometry.size)
    if geometry.kind == "capsule":
        largest = max(*size, 1e-300)
        unit, scale = creation.capsule(size[1] / largest, size[0] / largest), np.full(3, largest)
        return unit.vertices - unit.bounds.mean(axis=0), unit.faces, scale
    if geometry.kind == "box":
        unit, scale = creation.box(), size
    elif geometry.kind == "sphere":
        unit, scale = creation.icosphere(), size[[0, 0, 0]]
    elif geometry.kind == "ellipsoid":
        unit, scale = creation.icosphere(), size
    else:
        unit, scale = creation.cylinder(1.0, 1.0), size[[0, 0, 1]]
    return unit.vertices, unit.faces, scale


def grid(heights: Array, size: tuple[float, ...]) -> tuple[Array, Array]:
    """Return vertices (n, 3) and faces (m, 3), seen from above, of a surface over a rectangle of size (x, y) about the origin."""
    ny, nx = heights.shape
    y, x = np.meshgrid(*(np.linspace(-0.5 * s, 0.5 * s, n) for s, n in zip(size[::-1], (ny, nx), strict=True)), indexing="ij")
    corner = (nx * np.arange(ny - 1)[:, None] + np.arange(nx - 1)).reshape(-1, 1)
    faces = np.concatenate([corner + [0, 1, nx + 1], corner + [0, nx + 1, nx]])
    return np.stack([x, y, heights], axis=-1).reshape(-1, 3), faces


def file_of(geometry: Geometry) -> str:
    """Return the path of a mesh's file, behind links."""
    if geometry.mesh is None:
        raise RobotFileError(geometry.fault or f"the {geometry.kind} '{geometry.name}' has no file; expected Geometry.mesh to be a path")
    return str(geometry.mesh.resolve())


def turn_of(geometry: Geometry) -> Array:
    """Return what turns the points in a mesh's file (3, 3), before it is scaled: a COLLADA file's up axis to z, where that is asked for."""
    return TURNS.get(up_axis_of(file_of(geometry)), np.eye(3)) if geometry.up_axis and is_collada(geometry) else np.eye(3)


def tilted(geometry: Geometry) -> bool:
    """Return whether a shape is a COLLADA file whose up axis is not z, with no ``up_axis`` given."""
    return geometry.up_axis is None and is_collada(geometry) and up_axis_of(file_of(geometry)) in TURNS


def off_joints(geometry: Geometry, places: Array, turned: bool) -> float:
    """Return how far places of joints (n, 3), m, in the frame of a mesh's link, are off a box about it, all together, m."""
    points = load_mesh(replace(geometry, up_axis=turned)).vertices @ geometry.placement[:3, :3].T + geometry.placement[:3, 3]
    beyond = np.maximum(np.maximum(points.min(axis=0) - places, places - points.max(axis=0)), 0.0)
    return float(np.linalg.norm(beyond, axis=1).sum())


def is_collada(geometry: Geometry) -> bool:
    return geometry.mesh is not None and suffix(str(geometry.mesh)) == ".dae"


def untold(axis: str) -> str:
    """Return what is said of a COLLADA file with an up axis other than z, of which nothing says whether to turn it."""
    return (f"its <up_axis> is {axis}, and it is taken as it is written, as RViz takes it; where the robot is torn apart "
            "load_urdf(…, up_axis=True) turns it, and where it is not up_axis=False says so")  # fmt: skip


@while_unchanged(512)
def triangles(path: str) -> tuple[Array, Array]:
    """Return vertices (n, 3), m, all different, and triangles (m, 3) of a file; read-only."""
    points, faces, count = [], [], 0
    for mesh, T in read(path).meshes:
        points.append(transform_points(mesh.vertices, T))
        faces.append(np.asarray(mesh.faces)[:, :: -1 if np.linalg.det(T[:3, :3]) < 0 else 1] + count)
        count += len(points[-1])
    rows, corners, used = np.concatenate(points) + 0.0, np.concatenate(faces), np.zeros(count, dtype=bool)
    used[corners] = True
    if not used.all():
        rows, corners = rows[used], (np.cumsum(used) - 1)[corners]
    first, place = different(rows)
    result = rows[first], place[corners]
    for x in result:
        x.flags.writeable = False
    return result


def kept_mesh(points: Array, faces: Array) -> Path | None:
    """Return the file of a surface of vertices (n, 3), m, and triangles (m, 3), or None where :mod:`engine.cache` can keep none.

    It goes as what is compiled does, those used longest ago first.
    """
    head = (f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\nproperty double x\nproperty double y\nproperty double z\n"
            f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n")  # fmt: skip
    rows = np.zeros(len(faces), dtype=[("n", "u1"), ("at", "<i4", (3,))])
    rows["n"], rows["at"] = 3, faces
    return cache.file(head.encode() + points.astype("<f8").tobytes() + rows.tobytes(), ".ply")


def transform_points(points: Array, T: Array) -> Array:
    """Return points (n, 3) in the frame that T (4, 4) is a pose in, scales and shears with it."""
    return np.asarray(points) if np.array_equal(T, np.eye(4)) else points @ T[:3, :3].T + T[:3, 3]


def different(rows: Array) -> tuple[Array, Array]:
    """Return where one of each of the different rows (n, 3) lies, and which of them every row is (n).

    >>> different(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]))[1].tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    bits = rows.view(np.uint64)
    key = ((bits ^ bits >> np.uint64(32)) * MIXING).sum(axis=1)             # of equal rows equal, and hardly ever of others
    order = np.argsort(key)
    new = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    if (new & (key[order[1:]] == key[order[:-1]])).any():
        order = np.lexsort(rows.T)
        new = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    rank = np.concatenate([[0], np.cumsum(new)])
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = rank
    return order[np.concatenate([[True], new])], place


class Contents(NamedTuple):
    """A file's contents: (mesh as written, its placement (4, 4) in the file's frame, metres) for each, and files it names."""

    meshes: list[tuple[Any, Array]]
    named: Named


class Named:
    """The files that a mesh names, as trimesh's readers ask for them: materials, buffers and textures.

    They are looked for from the mesh's folder, and may lie where a robot file's may (:mod:`engine.io.paths`); what is not there is looked
    for by its bare name beside the mesh. ``data`` holds what was read, ``faults`` says by name what is wrong.
    """

    def __init__(self, path: str) -> None:
        self.finder = Finder(path)
        self.data: dict[str, bytes] = {}
        self.faults: dict[str, str] = {}

    def get(self, name: str) -> bytes:
        """Return what a file holds; OSError where it may not be read."""
        if name not in self.data:
            path = unquote(name.strip().replace("\\", "/"))
            found, beside = self.finder.find(path), self.finder.find(os.path.basename(path))
            file = found.path or beside.path
            looked_at(str(file or os.path.join(os.path.dirname(self.finder.file), path)))
            try:
                if file is None:
                    raise RobotFileError(found.fault)
                self.data[name] = bytes_of(str(file), MAX_BYTES, "a smaller one")
            except RobotFileError as problem:
                self.faults[name] = f"'{short(name)}' {problem.reason}"
                raise OSError(name) from None
            if suffix(name) not in (".mtl", ".bin"):
                self.picture(name)
        return self.data[name]

    def picture(self, name: str) -> Any:
        """Return a picture as a ``PIL.Image.Image``, or None."""
        from PIL import Image

        try:
            return Image.open(BytesIO(self.get(name)))
        except Exception as e:  # whatever its many formats raise
            self.faults.setdefault(name, f"'{short(name)}' cannot be read as a picture ({short(str(e))})")
        return None

    __getitem__ = get


def read(path: str) -> Contents:
    """Return what a file holds. What is wrong with what it looks like stops nothing: see :class:`Named`.

    Raises
    ------
    RobotFileError : there is no such file, it is not one to be read, it holds no triangles or unsound ones, or too many for the memory

    Warns
    -----
    RobotFileWarning : it takes very much memory
    """
    kind = suffix(path)
    if kind not in FORMATS:
        raise RobotFileError(f"the mesh's format is not known; expected one of {', '.join(FORMATS)}", path)
    data, named = bytes_of(path, MAX_BYTES, "a mesh"), Named(path)
    logging.getLogger("trimesh").addHandler(logging.NullHandler())          # what it logs is not printed, unless the caller says so
    try:
        with quietly():
            ready = prepared(data, kind, named)
        if said := weighed(data, kind):
            warn(f"{path}: {said}", RobotFileWarning)
        with quietly():
            meshes = placed_meshes(ready, kind, named)
            check_sound(meshes)
    except RobotFileWarning:
        raise
    except RobotFileError as problem:
        raise RobotFileError(problem.reason, path) from None
    except Exception as e:  # whatever the many readers raise at a file that is not theirs
        if isinstance(e, ImportError) and e.name == "collada":
            raise RobotFileError("COLLADA files need the package 'pycollada'; expected it to be installed", path) from None
        lacking = "; ".join(named.faults.values()) if isinstance(e, OSError) else ""
        said = lacking or short(f"{type(e).__name__}: {e}")
        raise RobotFileError(f"the mesh cannot be read ({said}); expected a whole {kind} file", path) from None
    return Contents(meshes, named)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Leave out what the many readers think of their libraries, which is not the caller's matter, but not that a text was read in part."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "string or file could not be read to its end")
        yield


@held(at_once=True)
def placed_meshes(data: bytes, kind: str, named: Named) -> list[tuple[Any, Array]]:
    """Return the meshes in a file (trimesh's, or COLLADA's), their vertices as they are written, each with its placement (4, 4)."""
    if kind == ".dae":
        meshes, unit = collada_meshes(data, named)
        return [(mesh, np.diag([unit, unit, unit, 1.0])) for mesh in meshes]
    scene: Any = trimesh().load_scene(BytesIO(data), file_type=kind[1:], resolver=named, process=False)
    found = [(scene.geometry[name], T) for T, name in (scene.graph[node] for node in scene.graph.nodes_geometry)]
    return [(mesh, T) for mesh, T in found if isinstance(mesh, trimesh().Trimesh) and len(mesh.faces)]


def check_sound(meshes: list[tuple[Any, Array]]) -> None:
    """Refuse meshes that are no surface: without triangles or with too many, with vertices that are not there, not finite or far away."""
    if not meshes:
        raise RobotFileError("the mesh holds no triangles; expected a surface")
    if (count := sum(len(mesh.faces) for mesh, _ in meshes)) > MOST_TRIANGLES:
        raise RobotFileError(f"the mesh holds {count} triangles; expected at most {MOST_TRIANGLES}")
    for mesh, T in meshes:
        points, faces = mesh.vertices, mesh.faces
        if points.ndim != 2 or points.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
            raise RobotFileError(f"the mesh has vertices {points.shape} and faces {faces.shape}; expected three numbers of each")
        if faces.min() < 0 or faces.max() >= len(points):
            raise RobotFileError("the mesh has triangles at vertices that are not there; expected a surface")
        used = np.zeros(len(points), dtype=bool)
        used[faces] = True
        reach = np.abs(transform_points(points, T)).max(axis=1, where=used[:, None], initial=0.0)
        if not np.isfinite(reach).all():
            raise RobotFileError("the mesh holds vertices that are not finite; expected a surface")
        if reach.max() > FARTHEST:
            raise RobotFileError(f"the mesh reaches {reach.max():.3g} m from its origin; expected at most {FARTHEST:g} m")


def suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()
