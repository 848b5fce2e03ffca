"""Shapes of USD: simple ones, and meshes, whose triangles are kept on disk: those of other formats lie in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.io.errors import RobotFileError
from engine.io.mesh import kept_mesh, load_mesh
from engine.io.usd.stage import Stage, value
from engine.io.whole_trimesh import trimesh
from engine.model import Geometry
from engine.spatial import inertia, se3, so3

Array = np.ndarray
#: what turns z to an axis
TURNS = {"X": so3.exp(np.array([0.0, np.pi / 2, 0.0])), "Y": so3.exp(np.array([-np.pi / 2, 0.0, 0.0])), "Z": np.eye(3)}
#: how a mesh stands for itself where it touches, as the engine's convex parts do not
OTHERS = ("boundingCube", "boundingSphere")


def shape_of(stage: Stage, prim: Any, base: Array) -> Geometry | None:
    """Return a shape in the frame of a base (4, 4); None of a kind that is not read, or one that its scale makes another."""
    G, length = stage.Geom, stage.length
    pose, scale = stage.pose(prim)
    at, name = se3.inv(base) @ pose, str(prim.GetName())
    even = np.ptp(scale) < 1e-6 * scale.max()
    if prim.IsA(G.Cube):
        size = scale * float(value(G.Cube(prim).GetSizeAttr(), 2.0)) * length
        return Geometry("box", tuple(size.tolist()), at, name=name)
    if prim.IsA(G.Sphere):
        radii = scale * value(G.Sphere(prim).GetRadiusAttr(), 1.0) * length
        kind, size = ("sphere", radii[:1]) if even else ("ellipsoid", radii)
        return Geometry(kind, tuple(size.tolist()), at, name=name)
    if prim.IsA(G.Mesh):
        return mesh(stage, prim, at, scale)
    for kind in ("Cylinder", "Capsule"):
        if prim.IsA(getattr(G, kind)):
            own = getattr(G, kind)(prim)
            axis = str(value(own.GetAxisAttr(), "Z"))
            along, across = scale["XYZ".index(axis)], np.delete(scale, "XYZ".index(axis))
            if not even and (kind == "Capsule" or np.ptp(across) >= 1e-6 * across.max()):
                return None                                                    # ends are no half spheres, or a section no circle
            radius, height = (float(s * value(a, d)) * length
                              for s, a, d in ((across[0], own.GetRadiusAttr(), 0.5), (along, own.GetHeightAttr(), 1.0)))  # fmt: skip
            return Geometry(kind.lower(), (radius, height), at @ se3.pose(TURNS[axis], np.zeros(3)), name=name)
    return None


def unread(stage: Stage, prim: Any) -> str:
    """Return of what kind a shape is that is not read, and where, and whether its scale is why."""
    kind, scale = str(prim.GetTypeName()), ", ".join(f"{x:.6g}" for x in stage.pose(prim)[1])
    more = f", which its scale ({scale}) makes none" if kind in ("Cylinder", "Capsule") else ""
    return f"{kind} {prim.GetPath()}{more}"


def mesh(stage: Stage, prim: Any, at: Array, scale: Array) -> Geometry | None:
    """Return a mesh, of which a file is made."""
    own = stage.Geom.Mesh(prim)
    points = np.array(value(own.GetPointsAttr(), ()), dtype=float).reshape(-1, 3) * scale * stage.length
    faces = triangles(stage, prim, len(points))
    if not len(faces):
        stage.leave("meshes without faces", prim.GetPath())
        return None
    way = str(value(stage.Physics.MeshCollisionAPI(prim).GetApproximationAttr(), "none"))
    if stage.collides(prim) and way in OTHERS:
        stage.leave(f"that a mesh is touched as its {way}", prim.GetPath())
    file = kept_mesh(points, faces)
    if file is None:
        stage.leave("meshes, as there is no folder of a cache to keep them in (ENGINE_CACHE)", prim.GetPath())
        return None
    return Geometry("mesh", (1.0, 1.0, 1.0), at, file, name=str(prim.GetName()), up_axis=False)


def triangles(stage: Stage, prim: Any, n: int) -> Array:
    """Return the triangles (m, 3) of a mesh's faces, as fans, turned outwards, of corners below n.

    Raises
    ------
    RobotFileError : its numbers name no corners
    """
    own = stage.Geom.Mesh(prim)
    counts, corners = (np.array(value(a, ()), dtype=np.int64) for a in (own.GetFaceVertexCountsAttr(), own.GetFaceVertexIndicesAttr()))
    if counts.sum() != len(corners) or (counts < 0).any() or (len(corners) and not 0 <= corners.min() <= corners.max() < n):
        raise RobotFileError(f"mesh {prim.GetPath()} has faces at points that are not there; expected {counts.sum()} numbers below {n}",
                             stage.file)  # fmt: skip
    first = np.concatenate([[0], np.cumsum(counts)])[:-1]
    if len(holes := np.array(value(own.GetHoleIndicesAttr(), ()), dtype=np.int64)):
        there = ~np.isin(np.arange(len(counts)), holes)
        counts, first = counts[there], first[there]
    fans = np.maximum(counts - 2, 0)
    face = np.repeat(np.arange(len(counts)), fans)
    k = np.arange(len(face)) - np.repeat(np.cumsum(fans) - fans, fans)
    found = np.stack([corners[first[face]], corners[first[face] + k + 1], corners[first[face] + k + 2]], axis=-1) if len(face) else face
    return found[:, ::-1] if str(value(own.GetOrientationAttr(), "rightHanded")) == "leftHanded" and len(face) else found


def encloses(shape: Geometry) -> bool:
    """Return whether a shape, or its hull, encloses a volume."""
    try:
        return bool(solid(shape, 1.0)[5, 5] > 0.0)
    except EngineError:
        return False


def solid(shape: Geometry, density: float, hull: bool = False) -> Array:
    """Return a shape's inertia (6, 6) about its own origin; of a mesh that is open, or is to be its hull, that of the hull.

    Raises
    ------
    EngineError : a mesh encloses nothing
    """
    if shape.kind == "mesh":
        own = load_mesh(shape)
        own.merge_vertices()
        with np.errstate(invalid="ignore", divide="ignore"):                   # of a flat one, which is refused
            whole = own if own.is_watertight and own.volume > 0 and not hull else trimesh().convex.convex_hull(own)
            return inertia.from_mesh(whole, density)
    if shape.kind == "box":
        return inertia.box(size=shape.size, density=density)
    if shape.kind == "ellipsoid":
        return inertia.ellipsoid(semiaxes=shape.size, density=density)
    if shape.kind == "sphere":
        return inertia.sphere(radius=shape.size[0], density=density)
    make = inertia.cylinder if shape.kind == "cylinder" else inertia.capsule
    return make(radius=shape.size[0], length=shape.size[1], density=density)
