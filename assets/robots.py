"""What the scripts beside it share: a robot's links as rows, and its URDF and glTF files from them."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
import trimesh
from PIL import Image
from solids import ORIGIN, UP, Looks, Numbers, placed
from trimesh import Trimesh

EXAMPLES = Path(__file__).resolve().parents[1] / "engine" / "examples"
#: cosine of the angle between triangles, above which they are one smooth surface
SMOOTH = np.cos(np.radians(50.0))
FLOAT, SHORT, CORNERS, INDICES = 5126, 5123, 34962, 34963  # as glTF calls them
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


class Tile(NamedTuple):
    """Cells with gaps between them, as a picture: what is finer than a pixel is then a mean of both, and does not break up into dots."""

    pitch: Numbers  # m, from one cell to the next, along x and y
    gap: float  # m
    rgb: Numbers  # of the gaps, sRGB


class Material(NamedTuple):
    rgb: Numbers  # sRGB
    roughness: float = 0.6
    metallic: float = 0.0
    tile: Tile | None = None


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


def write(name: str, materials: dict[str, Material], looks: dict[str, Looks], links: Sequence[Link],
          drawn: dict[str, Looks] | None = None) -> None:  # fmt: skip
    """Write a robot into its folder: meshes of looks, of some of which other solids are drawn than weigh, and links, the base first."""
    folder = EXAMPLES / name
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    robot = Xml.Element("robot", name=name)
    for look, solids in looks.items():
        (folder / "meshes" / f"{look}.glb").write_bytes(glb(solids | (drawn or {}).get(look, {}), materials))
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


def glb(solids: Looks, materials: dict[str, Material]) -> bytes:
    """A binary glTF file of one mesh, a primitive for each material; the same bytes on every run."""
    data, views, accessors, primitives, pictures = b"", [], [], [], []
    for k, (name, group) in enumerate(solids.items()):
        tile = materials[name].tile
        points, normals, uv, faces = shaded(trimesh.util.concatenate(group), None if tile is None else corners(group, tile))
        low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        columns = {"POSITION": (points, "VEC3", {"min": low, "max": high}), "NORMAL": (normals, "VEC3", {})}
        columns |= {} if tile is None else {"TEXCOORD_0": (uv, "VEC2", {})}
        indices = {"indices": (faces.reshape(-1), "SCALAR", {})}
        numbers = {}
        for column, (x, kind, more) in (columns | indices).items():
            target = INDICES if column == "indices" else CORNERS
            views.append({"buffer": 0, "byteOffset": len(data), "byteLength": x.nbytes, "target": target})
            number = SHORT if target == INDICES else FLOAT
            numbers[column] = len(accessors)
            accessors.append({"bufferView": len(views) - 1, "componentType": number, "count": len(x), "type": kind, **more})
            data += x.tobytes() + bytes(-x.nbytes % 4)
        primitives.append({"attributes": {c: numbers[c] for c in columns}, "indices": numbers["indices"], "material": k})
    for name in solids:
        if (tile := materials[name].tile) is not None:
            picture = cell(materials[name].rgb, tile)
            pictures.append({"bufferView": len(views), "mimeType": "image/png"})
            views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(picture)})
            data += picture + bytes(-len(picture) % 4)
    tiled = [name for name in solids if materials[name].tile is not None]
    textures = {"textures": [{"source": k} for k in range(len(tiled))], "images": pictures} if tiled else {}
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": primitives}],
        "materials": [{"name": name, "pbrMetallicRoughness": look(materials[name], tiled.index(name) if name in tiled else None)}
                      for name in solids],
        **textures,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    head = pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
    return head + pack("<I4s", len(text), b"JSON") + text + pack("<I4s", len(data), b"BIN\0") + data


def look(material: Material, texture: int | None) -> dict[str, object]:
    """A material of glTF, whose colours are linear; those of a texture are its own."""
    linear = [round(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4, 5) for c in material.rgb]
    color = {"baseColorFactor": [*linear, 1]} if texture is None else {"baseColorTexture": {"index": texture}}
    return {**color, "metallicFactor": material.metallic, "roughnessFactor": material.roughness}


def corners(solids: Sequence[Trimesh], tile: Tile) -> np.ndarray:
    """Places (n, 2) in the picture of a tile, which each solid begins anew."""
    return np.concatenate([(solid.vertices - solid.bounds[0])[:, :2] / np.asarray(tile.pitch) for solid in solids])


def cell(rgb: Numbers, tile: Tile) -> bytes:
    """A picture of one cell with half the gap around it, 2 mm to the pixel, as PNG."""
    size, gap = [round(500 * x) for x in tile.pitch], round(250 * tile.gap)
    pixels = np.tile(np.round(255 * np.asarray(tile.rgb)).astype(np.uint8), (size[1], size[0], 1))
    pixels[gap : size[1] - gap, gap : size[0] - gap] = np.round(255 * np.asarray(rgb))
    written = BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return written.getvalue()


def shaded(mesh: Trimesh, uv: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points and normals (n, 3), places in a picture (n, 2), and triangles (m, 3): a point for every normal.

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
    uv = np.zeros((len(mesh.vertices), 0)) if uv is None else uv
    rows = np.hstack([mesh.vertices[corner].round(6), normals.round(3), uv[corner].round(6)]) + 0.0
    rows, faces = np.unique(rows, axis=0, return_inverse=True)
    return rows[:, :3].astype("<f4"), rows[:, 3:6].astype("<f4"), rows[:, 6:].astype("<f4"), faces.reshape(-1, 3).astype("<u2")
