"""COLLADA files: their triangles and materials, as far as pycollada reads them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

Array = np.ndarray


def collada_meshes(file: Any, named: Any) -> tuple[list[Any], float]:
    """Return the triangles of every geometry in a file's scene, a mesh for each material, in the scene's frame; and the file's unit, m.

    References to nowhere are added to ``named.faults``; what names a material that cannot be read is a mesh without one.
    """
    from collada.polylist import BoundPolylist
    from collada.triangleset import BoundTriangleSet

    document = read_document(file, named)
    materials: dict[int, Any] = {}
    meshes = []
    for shape in document.scene.objects("geometry") if document.scene is not None else ():
        for primitive in shape.primitives():
            primitive = primitive.triangleset() if isinstance(primitive, BoundPolylist) else primitive
            if isinstance(primitive, BoundTriangleSet) and primitive.vertex is not None and len(primitive):
                effect = primitive.material and primitive.material.effect
                if effect and id(effect) not in materials:
                    materials[id(effect)] = material_of(effect, str(primitive.material.name or primitive.material.id), named)
                meshes.append(mesh_of(primitive, materials[id(effect)] if effect else None))
    unit = document.assetInfo.unitmeter
    return meshes, 1.0 if unit is None else float(unit)


def read_document(file: Any, named: Any) -> Any:
    """Return the document; where it binds materials that it does not have, without them, for pycollada leaves out what is bound so."""
    import collada

    document = collada.Collada(file, ignore=[collada.common.DaeError])
    if document.errors:
        named.faults[""] = f"something that it names is not in it ({document.errors[0]})"
    known = {f"#{m.id}" for m in document.materials}
    root = document.xmlnode.getroot()
    bound = [(parent, child) for parent in root.iter() for child in parent
             if str(child.tag).endswith("}instance_material") and child.get("target") not in known]  # fmt: skip
    if not bound:
        return document
    for parent, child in bound:
        parent.remove(child)
    text = BytesIO()
    document.xmlnode.write(text)
    return collada.Collada(BytesIO(text.getvalue()), ignore=[collada.common.DaeError])


def mesh_of(primitive: Any, material: Any) -> Any:
    """Return a trimesh mesh with three vertices for every triangle."""
    import trimesh

    uv = colors = None
    if len(primitive.texcoordset):
        uv = primitive.texcoordset[0][primitive.texcoord_indexset[0]].reshape(-1, 2)
    for offset, _, _, _, source in primitive.original.sources.get("COLOR", [])[:1] if material is None else ():
        colors = source.data[primitive.index[:, :, offset]].reshape(3 * len(primitive), -1)
    textured = material is not None or (uv is not None and colors is None)
    visual = trimesh.visual.TextureVisuals(uv=uv, material=material) if textured else None
    normals = None if primitive.normal is None else primitive.normal[primitive.normal_index].reshape(-1, 3)
    vertices = primitive.vertex[primitive.vertex_index].reshape(-1, 3)
    return trimesh.Trimesh(vertices, np.arange(len(vertices)).reshape(-1, 3), vertex_normals=normals, vertex_colors=colors, visual=visual,
                           process=False)  # fmt: skip


def material_of(effect: Any, name: str, named: Any) -> Any:
    """Return a trimesh material, as of an .mtl: diffuse colour or picture, opacity and shininess."""
    from trimesh.visual.material import SimpleMaterial

    image = named.picture(effect.diffuse.sampler.surface.image.path) if hasattr(effect.diffuse, "sampler") else None
    color = next((c for c in (effect.diffuse, effect.emission) if isinstance(c, (tuple, list)) and len(c) >= 3), (1.0, 1.0, 1.0))
    kd = [float(c) for c in np.clip(np.array(color[:3], float), 0, 1)] if image is None else [1.0, 1.0, 1.0]
    shininess = effect.shininess if isinstance(effect.shininess, (int, float)) else None
    return SimpleMaterial(image=image, diffuse=kd, glossiness=shininess, name=name, kd=kd, d=[opacity_of(effect)])


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
