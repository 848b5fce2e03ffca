"""COLLADA files: their triangles and materials, as far as pycollada reads them."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from engine.checks import require_packages
from engine.io.errors import RobotFileError, short
from engine.io.prepared import MOST_PARTS, MOST_TRIANGLES
from engine.io.unchanged import while_unchanged
from engine.io.xml import root_of

Array = np.ndarray
#: what turns a file whose axis that points up is another than z, so that it does
TURNS = {"Y_UP": np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]]), "X_UP": np.array([[0, -1.0, 0], [0, 0, -1.0], [1.0, 0, 0]])}
#: bytes of a file's beginning, in which its axis is named
HEAD = 1 << 16
#: the exponent of Phong's highlight where a file says none, as of an .mtl
MATT = 1.0
PRIMITIVES = ("triangles", "tristrips", "trifans", "polylist", "polygons", "lines", "linestrips")


class Material(NamedTuple):
    """A material: colour and opacity in [0, 1], a picture, and Phong's exponent."""

    name: str
    color: tuple[float, float, float, float]
    image: Any
    shininess: float


class Looks(NamedTuple):
    """Colouring of a mesh: "texture" by a material and by uv (n, 2), "vertex" by colours (n, 4), or not at all."""

    kind: str | None
    uv: Array | None
    material: Material | None
    vertex_colors: Array | None


class ColladaMesh(NamedTuple):
    """Triangles (m, 3) of vertices (n, 3) with normals (n, 3), as trimesh's meshes have them, whose import takes as long as ten files."""

    vertices: Array
    faces: Array
    normals: Array | None
    visual: Looks


@while_unchanged(4096)
def up_axis_of(path: str) -> str:
    """Return what a file says points up, "X_UP", "Y_UP" or "Z_UP"; Z_UP where it says nothing, or cannot be read."""
    try:
        with open(path, "rb") as file:
            named = re.search(rb"<(?:\w+:)?up_axis>\s*([XYZ]_UP)\s*<", file.read(HEAD))
    except OSError:
        named = None
    return named[1].decode() if named else "Z_UP"


def collada_meshes(data: bytes, named: Any) -> tuple[list[ColladaMesh], float]:
    """Return the triangles of every geometry in a file's scene, a mesh for each material, in the scene's frame; and the file's unit, m.

    References to nowhere are added to ``named.faults``; what names a material that cannot be read is a mesh without one.
    """
    from collada.polylist import BoundPolylist
    from collada.triangleset import BoundTriangleSet

    document = read_document(data, named)
    unit = 1.0 if document.assetInfo.unitmeter is None else float(document.assetInfo.unitmeter)
    if not 0 < unit < np.inf:
        raise RobotFileError(f"the mesh's unit is {unit:g} m; expected a positive number")
    materials: dict[int, Material] = {}
    meshes: list[ColladaMesh] = []
    count = 0
    for shape in document.scene.objects("geometry") if document.scene is not None else ():
        for primitive in shape.primitives():
            if isinstance(primitive, BoundPolylist):
                if primitive.nvertices != len(primitive.index):
                    raise RobotFileError(f"the mesh has polygons of {primitive.nvertices} corners, and {len(primitive.index)} corners")
                primitive = primitive.triangleset()
            if isinstance(primitive, BoundTriangleSet) and primitive.vertex is not None and len(primitive):
                if primitive.index.min() < 0:
                    raise RobotFileError("the mesh has triangles at vertices that are not there; expected a surface")
                if (count := count + len(primitive)) > MOST_TRIANGLES:
                    raise RobotFileError(f"the mesh holds over {MOST_TRIANGLES} triangles; expected no more")
                effect = primitive.material and primitive.material.effect
                if effect and id(effect) not in materials:
                    materials[id(effect)] = material_of(effect, str(primitive.material.name or primitive.material.id), named)
                meshes.append(mesh_of(primitive, materials[id(effect)] if effect else None))
    return meshes, unit


def read_document(data: bytes, named: Any) -> Any:
    """Return pycollada's document of a file that is XML and of bounded size, without bindings to materials that it does not have.

    pycollada would leave out what is bound to such a material, read archives and document types, and take the file's word for sizes.
    """
    root = root_of(data, "", "a whole .dae file", huge=True)
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    check_polygons(root, space)
    check_instances(root, space)
    document = load_collada(root)
    held = sum(g.find(f"{space}mesh") is not None for g in root.iterfind(f"{space}library_geometries/{space}geometry"))
    if len(document.geometries) < held:
        raise RobotFileError(f"a geometry of the mesh cannot be read ({short(str(document.errors[0]))}); expected a whole .dae file")
    if document.errors:
        named.faults[""] = f"something that it names is not in it ({short(str(document.errors[0]))})"
    known = {f"#{m.id}" for m in document.materials}
    bound = [b for b in root.iter(f"{space}instance_material") if b.get("target") not in known]
    for binding in bound:
        binding.getparent().remove(binding)
    return load_collada(root) if bound else document


def load_collada(root: Any) -> Any:
    """Return pycollada's document of an element; what it cannot read is in its ``errors``."""
    require_packages("a COLLADA file", "viewer", "collada", error=RobotFileError)
    import collada

    text = BytesIO()
    root.getroottree().write(text, encoding="utf-8")
    return collada.Collada(BytesIO(text.getvalue()), ignore=[collada.common.DaeError])


def check_polygons(root: Any, space: str) -> None:
    """Refuse polygons with more corners than there are, or with a single one, which pycollada takes for a part of the one before."""
    for polygons in root.iter(f"{space}polylist"):
        counts = np.array((polygons.findtext(f"{space}vcount") or "").split(), dtype=np.int64)
        if counts.sum() > len(polygons.findtext(f"{space}p") or "") or ((counts < 2) & (counts != 0)).any():
            raise RobotFileError("the mesh has polygons with more corners than it holds, or with one; expected three and more of each")


def check_instances(root: Any, space: str) -> None:
    """Refuse a scene of very many instances, which a short file can make by nodes that hold nodes."""
    shapes = {f"#{g.get('id')}": sum(len(g.findall(f"{space}mesh/{space}{p}")) for p in PRIMITIVES) for g in root.iter(f"{space}geometry")}
    nodes = {f"#{n.get('id')}": n for n in root.iter(f"{space}node")}
    counts: dict[Any, int] = {}

    def count(node: Any) -> int:
        if node not in counts:
            counts[node] = 0                    # of a node that holds itself
            inside = [shapes.get(e.get("url"), 1) for e in node.iterfind(f"{space}instance_geometry")]
            named = [nodes[e.get("url")] for e in node.iterfind(f"{space}instance_node") if e.get("url") in nodes]
            counts[node] = 1 + sum(inside) + sum(map(count, [*node.iterfind(f"{space}node"), *named]))
        return counts[node]

    most = max((sum(map(count, scene.iterfind(f"{space}node"))) for scene in root.iter(f"{space}visual_scene")), default=0)
    if most > MOST_PARTS:
        raise RobotFileError(f"the mesh has {most} nodes and primitives; expected at most {MOST_PARTS}")


def mesh_of(primitive: Any, material: Material | None) -> ColladaMesh:
    """Return a mesh with three vertices for every triangle."""
    uv = colors = None
    if len(primitive.texcoordset):
        uv = primitive.texcoordset[0][primitive.texcoord_indexset[0]].reshape(3 * len(primitive), -1)[:, :2]
    for offset, _, _, _, source in primitive.original.sources.get("COLOR", [])[:1] if material is None else ():
        colors = color_bytes(source.data[primitive.index[:, :, offset]].reshape(3 * len(primitive), -1))
    kind = "texture" if material is not None or (uv is not None and colors is None) else "vertex" if colors is not None else None
    vertices = primitive.vertex[primitive.vertex_index].reshape(-1, 3).astype(float)
    normals = None if primitive.normal is None else primitive.normal[primitive.normal_index].reshape(-1, 3).astype(float)
    known = normals if normals is not None and normals.shape == vertices.shape else None
    return ColladaMesh(vertices, np.arange(len(vertices)).reshape(-1, 3), known, Looks(kind, uv, material, colors))


def color_bytes(colors: Array) -> Array:
    """Return colours (n, 3 or 4) in [0, 1] as red, green, blue, opacity (n, 4), uint8; what is not finite is zero.

    >>> color_bytes(np.array([[0.0, 0.5, 2.0]])).tolist()
    [[0, 128, 255, 255]]
    """
    if colors.shape[1] not in (3, 4):
        raise RobotFileError(f"the mesh's colours have {colors.shape[1]} numbers; expected three or four")
    found = np.full((len(colors), 4), 255, np.uint8)
    found[:, : colors.shape[1]] = np.clip(255.0 * np.where(np.isfinite(colors), colors, 0.0), 0.0, 255.0).round()
    return found


def material_of(effect: Any, name: str, named: Any) -> Material:
    """Return a material, as of an .mtl: diffuse colour or picture, opacity and shininess."""
    image = named.picture(effect.diffuse.sampler.surface.image.path) if hasattr(effect.diffuse, "sampler") else None
    color = next((c for c in (effect.diffuse, effect.emission) if isinstance(c, (tuple, list)) and len(c) >= 3), (1.0, 1.0, 1.0))
    red, green, blue = (float(c) for c in np.clip(np.array(color[:3], float), 0, 1)) if image is None else (1.0, 1.0, 1.0)
    shininess = effect.shininess if isinstance(effect.shininess, (int, float)) else MATT
    return Material(name, (red, green, blue, opacity_of(effect)), image, shininess)


def opacity_of(effect: Any) -> float:
    """Return the opacity; an effect that would not be seen at all is opaque, as its writer took the scale the other way round."""
    color, factor = effect.transparent, effect.transparency
    if not isinstance(color, (tuple, list)) or not isinstance(factor, (int, float)):
        return 1.0
    if effect.opaque_mode == "RGB_ZERO":
        opacity = 1.0 - float(np.dot([0.212671, 0.715160, 0.072169], color[:3])) * factor
    else:
        opacity = float(color[3]) * factor
    return float(np.clip(opacity, 0.0, 1.0)) or 1.0
