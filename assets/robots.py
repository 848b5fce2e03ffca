"""What the scripts beside it share: a robot's links as rows, and its URDF and glTF files from them."""

import json
from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
import trimesh
from solids import ORIGIN, UP, Looks, Numbers, placed
from trimesh import Trimesh

EXAMPLES = Path(__file__).resolve().parents[1] / "engine" / "examples"
#: cosine of the angle between triangles, above which they are one smooth surface
SMOOTH = np.cos(np.radians(50.0))
FLOAT, SHORT, CORNERS, INDICES = 5126, 5123, 34962, 34963  # as glTF calls them
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


class Material(NamedTuple):
    rgb: Numbers  # sRGB
    roughness: float = 0.6
    metallic: float = 0.0


class Shape(NamedTuple):
    """What collides: a "box" (x, y, z), a "cylinder" (radius, length) along its z axis, a "sphere" (radius)."""

    kind: str
    size: Numbers
    at: Numbers = ORIGIN
    rpy: Numbers = UP


class Joint(NamedTuple):
    """A revolute joint."""

    name: str
    axis: Numbers
    limits: Numbers  # rad
    speed: float  # rad/s
    effort: float  # N m
    damping: float  # N m s/rad
    friction: float  # N m


class Link(NamedTuple):
    name: str
    looks: str
    density: float  # kg/m³ of all its solids
    collisions: Sequence[Shape] = ()
    parent: str = ""
    at: Numbers = ORIGIN
    rpy: Numbers = UP
    joint: Joint | None = None  # none: fixed
    turned: Numbers = UP  # its looks


def element(parent: Xml.Element, tag: str, **attributes: str | float | Numbers) -> Xml.Element:
    """A child whose numbers carry nine digits."""
    numbers = {key: np.ravel(value) for key, value in attributes.items() if not isinstance(value, str)}
    texts = {key: " ".join(f"{x if abs(x) > 1e-9 else 0:.9g}" for x in value) for key, value in numbers.items()}
    return Xml.SubElement(parent, tag, attributes | texts)


def write(name: str, materials: dict[str, Material], looks: dict[str, Looks], links: Sequence[Link]) -> None:
    """Write a robot into its folder: meshes of looks, and links, the first of which is the base."""
    folder = EXAMPLES / name
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    robot = Xml.Element("robot", name=name)
    for look, solids in looks.items():
        parts = {material: trimesh.util.concatenate(group) for material, group in solids.items()}
        (folder / "meshes" / f"{look}.glb").write_bytes(glb(parts, materials))
    for row in links:
        body = trimesh.util.concatenate([solid for group in looks[row.looks].values() for solid in group])
        describe(robot, row, placed(body, rpy=row.turned))
    for row in links[1:]:
        connect(robot, row)
    Xml.indent(robot)
    text = Xml.tostring(robot, encoding="unicode")
    (folder / f"{name}.urdf").write_text(f'<?xml version="1.0"?>\n{text}\n', encoding="utf-8")


def weighed(robot: Xml.Element, name: str, body: Trimesh, mass: float) -> Xml.Element:
    """A link of a name with the inertia of a body, which has its density; the mass as it is to be written."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.moment_inertia
    link = element(robot, "link", name=name)
    inertial = element(link, "inertial")
    element(inertial, "origin", xyz=body.center_mass, rpy="0 0 0")
    element(inertial, "mass", value=mass)
    element(inertial, "inertia", ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)
    return link


def describe(robot: Xml.Element, row: Link, body: Trimesh) -> None:
    """A link: its inertia, its looks, what collides."""
    body.density = row.density
    link = weighed(robot, row.name, body, body.mass)
    visual = element(link, "visual")
    element(visual, "origin", xyz=ORIGIN, rpy=row.turned)
    element(element(visual, "geometry"), "mesh", filename=f"meshes/{row.looks}.glb")
    for shape in row.collisions:
        collision = element(link, "collision")
        element(collision, "origin", xyz=shape.at, rpy=shape.rpy)
        sizes = {"box": {"size": shape.size}, "sphere": {"radius": shape.size[0]}}
        cylinder = {"radius": shape.size[0], "length": shape.size[-1]}
        element(element(collision, "geometry"), shape.kind, **sizes.get(shape.kind, cylinder))


def connect(robot: Xml.Element, row: Link) -> None:
    """The joint to a link."""
    joint = row.joint
    e = element(robot, "joint", name=joint.name if joint else f"{row.name}_mount", type="revolute" if joint else "fixed")
    element(e, "origin", xyz=row.at, rpy=row.rpy)
    element(e, "parent", link=row.parent)
    element(e, "child", link=row.name)
    if joint:
        element(e, "axis", xyz=joint.axis)
        element(e, "limit", lower=joint.limits[0], upper=joint.limits[1], velocity=joint.speed, effort=joint.effort)
        element(e, "dynamics", damping=joint.damping, friction=joint.friction)


# ---------------------------------------------------------------- glTF


def glb(parts: dict[str, Trimesh], materials: dict[str, Material]) -> bytes:
    """A binary glTF file of one mesh, a primitive for each material; the same bytes on every run."""
    data, views, accessors, primitives = b"", [], [], []
    for k, mesh in enumerate(parts.values()):
        points, normals, faces = shaded(mesh)
        low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        for x, target, kind, more in ((points, CORNERS, "VEC3", {"min": low, "max": high}), (normals, CORNERS, "VEC3", {}),
                                      (faces.reshape(-1), INDICES, "SCALAR", {})):  # fmt: skip
            views.append({"buffer": 0, "byteOffset": len(data), "byteLength": x.nbytes, "target": target})
            number = SHORT if target == INDICES else FLOAT
            accessors.append({"bufferView": len(views) - 1, "componentType": number, "count": len(x), "type": kind, **more})
            data += x.tobytes() + bytes(-x.nbytes % 4)
        primitives.append({"attributes": {"POSITION": 3 * k, "NORMAL": 3 * k + 1}, "indices": 3 * k + 2, "material": k})
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": primitives}],
        "materials": [{"name": name, "pbrMetallicRoughness": look(materials[name])} for name in parts],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    head = pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
    return head + pack("<I4s", len(text), b"JSON") + text + pack("<I4s", len(data), b"BIN\0") + data


def look(material: Material) -> dict[str, object]:
    """A material of glTF, whose colours are linear."""
    linear = [round(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4, 5) for c in material.rgb]
    return {"baseColorFactor": [*linear, 1], "metallicFactor": material.metallic, "roughnessFactor": material.roughness}


def shaded(mesh: Trimesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and normals (n, 3), and triangles (m, 3): a point for every normal.

    A normal is the mean, weighted by area, of the triangles around a point that lie smoothly beside each other: what is flat looks flat.
    """
    flat, corner = mesh.face_normals, mesh.faces.reshape(-1)
    order = np.argsort(corner, kind="stable")  # corners at one point are beside each other
    count = np.bincount(corner)
    begin, each = np.repeat(np.cumsum(count) - count, count), np.repeat(count, count)
    one = np.repeat(np.arange(corner.size), each)
    other = np.arange(one.size) - np.repeat(np.cumsum(each) - each, each) + np.repeat(begin, each)
    one, face, beside = order[one], order[one] // 3, order[other] // 3
    weight = mesh.area_faces[beside] * (np.einsum("ij,ij->i", flat[face], flat[beside]) > SMOOTH)
    normals = np.stack([np.bincount(one, weight * flat[beside, k], corner.size) for k in range(3)], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    rows = np.hstack([mesh.vertices[corner].round(6), normals.round(3)]) + 0.0
    rows, faces = np.unique(rows, axis=0, return_inverse=True)
    return rows[:, :3].astype("<f4"), rows[:, 3:].astype("<f4"), faces.reshape(-1, 3).astype("<u2")
