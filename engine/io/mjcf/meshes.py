"""Meshes: their triangles, of files or of numbers in the text, and the mass that they enclose in MuJoCo's four ways.

MuJoCo moves a mesh to its centre of mass and its principal axes, and the shapes of it the other way, so that what a file says of a shape is
said of the mesh as it is written, and nothing of that is seen here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from engine.io.errors import short
from engine.io.mesh import FORMATS, kept_mesh, triangles
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Document, Node
from engine.io.mjcf.orientation import read_quaternion
from engine.io.mjcf.settings import Settings
from engine.io.whole_trimesh import trimesh
from engine.io.xml import bytes_of
from engine.model import Geometry
from engine.spatial import inertia, se3

Array = np.ndarray
WAYS = ("convex", "exact", "legacy", "shell")
MAX_BYTES = 2**30
#: a face of more than three corners in an OBJ file
CORNERED = re.compile(rb"^[ \t]*f(?:[ \t]+[^\s#]+){4}", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh of a file: where it lies (None: in the text), why not, and how it is scaled and turned."""

    node: Node
    path: Path | None
    uri: str
    fault: str
    scale: tuple[float, float, float]
    origin: Array
    R: Array

    @cached_property
    def surface(self) -> tuple[Array, Array]:
        """Vertices (n, 3), m, and triangles (m, 3).

        Raises
        ------
        RobotFileError : there is no such file, or no such surface in it
        """
        points, faces = self.written()
        with np.errstate(all="ignore"):
            points = (points - self.origin) @ self.R * np.array(self.scale)
        if not np.isfinite(points).all():
            raise self.node.error("the mesh has vertices that are not finite; expected numbers of ordinary size")
        return points, faces[:, ::-1] if np.prod(np.sign(self.scale)) < 0 else faces

    def written(self) -> tuple[Array, Array]:
        """Return vertices and triangles as they are written; where no triangles are given, those of the convex hull."""
        node = self.node
        if "vertex" in node.attributes:
            points = np.array(node.numbers("vertex", (12, 30_000_000)))
            if len(points) % 3:
                raise node.error(f"<mesh> vertex has {len(points)} numbers; expected three for each point")
            points = points.astype(np.float32).astype(float).reshape(-1, 3)
            faces = np.array(node.numbers("face", (3, 90_000_000), ()))
            if not len(faces):
                return hull(node, points)
            if len(faces) % 3 or (faces != np.round(faces)).any() or faces.min() < 0 or faces.max() >= len(points):
                raise node.error(f"<mesh> face has numbers that name no corners; expected three from 0 to {len(points) - 1} for each")
            return points, faces.astype(np.int64).reshape(-1, 3)
        if self.path is None:
            raise node.error(self.fault)
        if self.path.suffix.lower() == ".msh":
            return binary(node, str(self.path))
        points, faces = triangles(str(self.path.resolve()))
        return points.astype(np.float32).astype(float), faces                   # as MuJoCo keeps them

    @cached_property
    def cornered(self) -> bool:
        """True if the mesh is an OBJ file with faces of more than three corners, which MuJoCo triangulates in its own way."""
        return self.path is not None and self.path.suffix.lower() == ".obj" and bool(CORNERED.search(bytes_of(str(self.path), MAX_BYTES,
                                                                                                              "a mesh")))  # fmt: skip

    def geometry(self, T: Array, name: str) -> Geometry | None:
        """Return a shape of the mesh at a pose, of a file that is made where none has it in a way that is read; None where none can be."""
        if "builtin" in self.node.attributes:
            return None
        turned_unevenly = not np.array_equal(self.R, np.eye(3)) and len({*map(abs, self.scale)}) > 1
        written = "vertex" in self.node.attributes
        if written or (self.path is not None and (turned_unevenly or self.path.suffix.lower() not in FORMATS)):
            file = kept_mesh(*self.surface)
            return None if file is None else Geometry("mesh", (1.0, 1.0, 1.0), T, file, None, name, up_axis=False)
        if turned_unevenly:
            return None
        back = se3.pose(np.diag(np.sign(self.scale)) @ self.R.T @ np.diag(np.sign(self.scale)), np.zeros(3))
        if self.origin.any() or not np.array_equal(self.R, np.eye(3)):
            back[:3, 3] = -np.array(self.scale) * (self.R.T @ self.origin)
        return Geometry("mesh", self.scale, T @ back, self.path, None, name, self.uri, self.fault and str(self.node.error(self.fault)),
                        up_axis=False)  # fmt: skip

    @cached_property
    def solid(self) -> tuple[float, Array]:
        """The mesh's volume, m³ (of a shell its area, m²), and G (6, 6) of the density 1, about its origin as it is written."""
        way = self.node.choice("inertia", WAYS, "legacy")
        points, faces = hull(self.node, self.surface[0]) if way == "convex" else self.surface
        volume, center, tensor = enclosed(points[faces], way)
        if not volume > 1e-15:
            raise self.node.error(f"the mesh has the volume {volume:.3g} m³; expected a surface that encloses one (or inertia=\"shell\")")
        return volume, inertia.from_mass(volume, center, tensor)


def enclosed(corners: Array, way: str) -> tuple[float, Array, Array]:
    """Return the volume, its centre (3), and the tensor (3, 3) about that, of triangles (m, 3, 3) and the density 1.

    Each triangle makes a tetrahedron with a point: the surface's own centre, then that of what is enclosed. They count as they turn
    ("exact", "convex"), or each of them in full ("legacy"); a shell is made of the triangles themselves.
    """
    middle = corners.mean(axis=1)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2.0
    area = np.linalg.norm(normal, axis=1)
    start = area @ middle / max(float(area.sum()), 1e-300)

    def shares(about: Array) -> Array:
        volumes = np.vecdot(middle - about, normal) / 3.0
        return area if way == "shell" else np.abs(volumes) if way == "legacy" else volumes

    share = shares(start)
    volume = float(share.sum())
    if not volume > 0.0:
        return volume, np.zeros(3), np.zeros((3, 3))
    center = share @ (middle if way == "shell" else 0.75 * middle + 0.25 * start) / volume
    share, D = shares(center), corners - center
    volume = float(share.sum())                                                 # as MuJoCo has it: open ones, another than before
    total = D.sum(axis=1)
    outer = np.einsum("f,fki,fkj->ij", share, D, D) + np.einsum("f,fi,fj->ij", share, total, total)
    P = outer / (12.0 if way == "shell" else 20.0)
    return volume, center, np.trace(P) * np.eye(3) - P


def hull(node: Node, points: Array) -> tuple[Array, Array]:
    """Return the vertices and triangles of the convex hull of points, all turned outwards."""
    try:
        found = trimesh().convex.convex_hull(points)
    except Exception as problem:  # whatever qhull says of flat ones
        raise node.error(f"the mesh has no convex hull ({short(type(problem).__name__)}); expected points that span a volume") from None
    return np.asarray(found.vertices), np.asarray(found.faces)


def binary(node: Node, path: str) -> tuple[Array, Array]:
    """Return vertices and triangles of MuJoCo's own format, .msh: four counts, then vertices, normals, and so on, then triangles."""
    data = bytes_of(path, MAX_BYTES, "a mesh")
    head = np.frombuffer(data[:16], dtype="<i4")
    if len(head) == 4 and (head >= 0).all():
        points, normals, textures, faces = map(int, head)
        if len(data) == 16 + 12 * points + 12 * normals + 8 * textures + 12 * faces and points and faces:
            vertices = np.frombuffer(data, "<f4", 3 * points, 16).reshape(-1, 3).astype(float)
            corners = np.frombuffer(data, "<i4", 3 * faces, len(data) - 12 * faces).reshape(-1, 3).astype(np.int64)
            if corners.min() >= 0 and corners.max() < points and np.isfinite(vertices).all():
                return vertices, corners
    raise node.error(f"the mesh '{short(os.path.basename(path))}' is no whole .msh file; expected one")


class Meshes:
    """The meshes of a file, by their names."""

    def __init__(self, document: Document, defaults: Defaults, settings: Settings) -> None:
        self.document, self.settings = document, settings
        self.named: dict[str, Mesh] = {}
        for node in defaults.merged_all("asset", "mesh"):
            mesh = self.read(node)
            name = node.text("name") or Path(mesh.uri).stem
            if not name:
                raise node.error("<mesh> has neither name nor file; expected one of them")
            if name in self.named:
                raise node.error(f"the name is taken by the mesh in line {self.named[name].node.line}; expected unique names")
            self.named[name] = replace(mesh, node=node.with_attributes(name=name))

    def read(self, node: Node) -> Mesh:
        """Return a mesh; its file is looked for, and read when someone asks for it."""
        path, fault, uri = None, "", node.text("file")
        if uri:
            uri = os.path.basename(uri.replace("\\", "/")) if self.settings.strippath else uri
            found = self.found(node, uri, self.settings.meshdir)
            path, fault = found
        elif "vertex" not in node.attributes:
            fault = "the mesh is made by MuJoCo (builtin, or a plugin), which is not read; expected a file, or vertices"
        x, y, z = node.numbers("scale", 3, (1.0, 1.0, 1.0))
        return Mesh(node, path, uri, fault, (x, y, z), np.array(node.numbers("refpos", 3, (0.0, 0.0, 0.0))),
                    read_quaternion(node, node.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0)), "refquat"))  # fmt: skip

    def found(self, node: Node, uri: str, folder: str) -> tuple[Path | None, str]:
        """Return where a file lies, or what is wrong: in the compiler's folder, beside the file, or beside one that is included."""
        fault = ""
        for base in dict.fromkeys((folder, os.path.join(os.path.dirname(os.path.abspath(node.file)), folder))):
            found = self.document.finder.find(os.path.join(base, uri))
            if found.path:
                return found.path, ""
            fault = fault or f"the file '{short(uri)}' {found.fault}"
        return None, fault

    def of(self, node: Node) -> Mesh:
        """Return the mesh that a shape names."""
        if (name := node.required("mesh")) not in self.named:
            raise node.error(f"the mesh '{short(name)}' is not there; expected one of the file's <asset>")
        return self.named[name]


