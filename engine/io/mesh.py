"""The triangles of a shape, read when someone asks for them."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from engine.io.dae import collada_meshes
from engine.io.errors import RobotFileError, short
from engine.io.paths import Finder
from engine.model import Geometry

if TYPE_CHECKING:
    from trimesh import Trimesh

Array = np.ndarray
FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")
MAX_BYTES = 2**30


def load_mesh(geometry: Geometry) -> Trimesh:
    """Return the triangles of a shape in its own frame, in metres, as a ``trimesh.Trimesh`` of the caller's own.

    A mesh's file is read once for each path; a scene of several is joined to one; the scale and a COLLADA file's unit are
    applied, its up axis is not (nor is it by ROS's viewers).

    Raises
    ------
    RobotFileError : the file is not there, lies outside of the robot's folders, or holds no triangles
    """
    from trimesh import creation

    if geometry.kind == "box":
        return creation.box(geometry.size)
    if geometry.kind == "sphere":
        return creation.icosphere(subdivisions=3, radius=geometry.size[0])
    if geometry.kind == "cylinder":
        return creation.cylinder(geometry.size[0], geometry.size[1])
    if geometry.kind == "capsule":
        capsule = creation.capsule(geometry.size[1], geometry.size[0])
        return capsule.apply_translation(-capsule.bounds.mean(axis=0))
    mesh = triangles(file_of(geometry)).copy()
    if tuple(geometry.size) != (1.0, 1.0, 1.0):
        mesh.apply_transform(np.diag([*geometry.size, 1.0]))
    return mesh


def file_of(geometry: Geometry) -> str:
    """Return the path of a mesh's file, behind links."""
    if geometry.mesh is None:
        raise RobotFileError(geometry.fault or f"the {geometry.kind} '{geometry.name}' has no file; expected Geometry.mesh to be a path")
    return str(geometry.mesh.resolve())


@lru_cache(maxsize=512)
def triangles(path: str) -> Any:
    """Return the triangles of a file as one mesh, equal vertices merged, in metres."""
    from trimesh.util import concatenate

    return concatenate([mesh.process().copy().apply_transform(placement) for mesh, placement in read(path).meshes])


class Contents(NamedTuple):
    """Return a file's contents: (mesh as written, its placement (4, 4) in the file's frame, metres) for each, and files it names."""

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
            if file is None or file.stat().st_size > MAX_BYTES:
                self.faults[name] = f"'{short(name)}' {found.fault or f'is larger than {MAX_BYTES >> 20} MiB'}"
                raise OSError(name)
            self.data[name] = file.read_bytes()
            if suffix(name) not in (".mtl", ".bin"):
                self.picture(name)
        return self.data[name]

    def picture(self, name: str) -> Any:
        """Return a picture as a ``PIL.Image.Image``, or None."""
        from PIL import Image

        try:
            return Image.open(BytesIO(self.get(name)))
        except OSError as e:
            self.faults.setdefault(name, f"'{short(name)}' cannot be read as a picture ({short(str(e))})")
        return None

    __getitem__ = get


def read(path: str) -> Contents:
    """Return what a file holds. What is wrong with what it looks like stops nothing: see :class:`Named`.

    Raises
    ------
    RobotFileError : there is no such file, it is not one to be read, or it holds no triangles or unsound ones
    """
    check_file(path)
    named = Named(path)
    try:
        with warnings.catch_warnings(), open(path, "rb") as file:
            warnings.simplefilter("ignore")                    # what the many readers think of their libraries is not the caller's matter
            meshes = placed(file, suffix(path), named)
        finite = all(np.isfinite(m.vertices[m.faces]).all() and np.isfinite(T).all() for m, T in meshes)
    except Exception as e:  # whatever the many readers raise at a file that is not theirs
        if isinstance(e, ImportError) and e.name == "collada":
            raise RobotFileError("COLLADA files need the package 'pycollada'; expected it to be installed", path) from None
        lacking = "; ".join(named.faults.values()) if isinstance(e, OSError) else ""
        said = lacking or short(f"{type(e).__name__}: {e}")
        raise RobotFileError(f"the mesh cannot be read ({said}); expected a whole {suffix(path)} file", path) from None
    if not meshes or not finite:
        raise RobotFileError(f"the mesh holds {'vertices that are not finite' if meshes else 'no triangles'}; expected a surface", path)
    return Contents(meshes, named)


def placed(file: Any, kind: str, named: Named) -> list[tuple[Any, Array]]:
    """Return the trimesh meshes in a file, their vertices as they are written, each with its placement (4, 4)."""
    import trimesh

    if kind == ".dae":
        meshes, unit = collada_meshes(file, named)
        return [(mesh, np.diag([unit, unit, unit, 1.0])) for mesh in meshes]
    scene: Any = trimesh.load_scene(file, file_type=kind[1:], resolver=named, process=False)  # type: ignore[arg-type]
    found = [(scene.geometry[name], T) for T, name in (scene.graph[node] for node in scene.graph.nodes_geometry)]
    return [(mesh, T) for mesh, T in found if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces)]


def check_file(path: str) -> None:
    """Refuse what no reader should see: other formats, giants, and XML with a document type or in a ZIP archive."""
    if suffix(path) not in FORMATS:
        raise RobotFileError(f"the mesh's format is not known; expected one of {', '.join(FORMATS)}", path)
    if not os.path.isfile(path):
        raise RobotFileError("there is no such file; expected a mesh", path)
    if os.path.getsize(path) > MAX_BYTES:
        raise RobotFileError(f"the mesh is larger than {MAX_BYTES >> 20} MiB; expected a smaller one", path)
    if suffix(path) == ".dae":
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(b"PK") or b"<!DOCTYPE" in data.replace(b"\0", b""):
            raise RobotFileError("the mesh is an archive or declares a document type, which is not read; expected plain COLLADA", path)


def suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()
