"""The triangles of a shape, read when someone asks for them."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np

from engine.io.urdf import RobotFileError, short
from engine.model import Geometry

FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb")
MAX_BYTES = 2**30


def load_mesh(geometry: Geometry) -> Any:
    """The triangles of a shape in its own frame, in metres, as a ``trimesh.Trimesh`` of the caller's own.

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
    if geometry.mesh is None:
        raise RobotFileError(geometry.fault or f"the {geometry.kind} '{geometry.name}' has no file; expected Geometry.mesh to be a path")
    mesh = triangles(str(geometry.mesh.resolve())).copy()
    if tuple(geometry.size) != (1.0, 1.0, 1.0):
        mesh.apply_transform(np.diag([*geometry.size, 1.0]))
    return mesh


@lru_cache(maxsize=512)
def triangles(path: str) -> Any:
    """The triangles of a file, in its unit made metres."""
    import trimesh

    check_file(path)
    try:
        scene = trimesh.load_scene(path)
        mesh = scene.to_mesh()
        if path.lower().endswith(".dae") and scene.units:
            mesh.apply_scale(trimesh.units.unit_conversion(scene.units, "meters"))
        count, finite = len(mesh.faces), bool(np.isfinite(mesh.vertices).all())
    except Exception as e:  # whatever the many readers raise at a file that is not theirs
        if isinstance(e, ImportError) and e.name == "collada":
            raise RobotFileError("COLLADA files need the package 'pycollada'; expected it to be installed", path) from None
        said = short(f"{type(e).__name__}: {e}")
        raise RobotFileError(f"the mesh cannot be read ({said}); expected a whole {suffix(path)} file", path) from None
    if not count or not finite:
        raise RobotFileError(f"the mesh holds {'no triangles' if finite else 'vertices that are not finite'}; expected a surface", path)
    return mesh


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
