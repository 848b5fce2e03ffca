"""Materials: what the meshes of a file say of how they look."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from engine.io.dae import Material
from engine.io.errors import short
from engine.io.mesh import suffix

Array = np.ndarray
Color = tuple[float, float, float, float]
WHITE: Color = (1.0, 1.0, 1.0, 1.0)
ROUGHNESS = 0.6
#: pixels along a side, above which a texture is made smaller
LARGEST_TEXTURE = 8192


class Look(NamedTuple):
    """A material as a file has it; no colour where it says nothing."""

    color: Color | None = None
    image: Any = None
    metallic: float = 0.0
    roughness: float = ROUGHNESS
    opaque: bool = False
    colored: bool = False
    name: str = ""


def look_of(mesh: Any, path: str) -> tuple[Look, Array | None, Array | None]:
    """Return a mesh's look, uv (n, 2) and colours (of n vertices or m faces, 4), or None; glTF's linear colours are made sRGB."""
    visual, gltf = mesh.visual, suffix(path) in (".glb", ".gltf")
    if visual.kind in ("vertex", "face"):
        own = np.asarray(visual.vertex_colors if visual.kind == "vertex" else visual.face_colors)
        return Look(WHITE, colored=True), None, srgb_bytes(own) if gltf else own
    if visual.kind != "texture":
        return Look(), None, None
    m, uv = visual.material, visual.uv
    if m is None:
        return Look(), uv, None
    if isinstance(m, Material):
        return Look(m.color, m.image, 0.0, roughness(m.shininess), name=m.name), uv, None
    name = str(m.name or "")
    if hasattr(m, "diffuse"):                                       # of an .mtl, where 'Tr' means what its writer thinks
        if "_name" not in vars(m):                                  # trimesh's stand-in for one that is not there
            return Look(), uv, None
        red, green, blue = (fraction(c) for c in m.kwargs.get("kd", WHITE[:3]))
        opacity = fraction(*m.kwargs.get("d", [1.0])[:1])
        return Look((red, green, blue, opacity), m.image, 0.0, roughness(m.glossiness), name=name), uv, None
    red, green, blue, opacity = WHITE if m.baseColorFactor is None else (float(c) / 255 for c in m.baseColorFactor)
    red, green, blue = (float(srgb(c)) for c in (red, green, blue))
    opaque = m.alphaMode in (None, "OPAQUE")
    metal, rough = (1.0 if x is None else float(x) for x in (m.metallicFactor, m.roughnessFactor))
    if (grain := pixels(m.metallicRoughnessTexture, True, path)) is not None:       # one number for all of the surface: the mean
        rough, metal = grain[..., 1:3].mean(axis=(0, 1)) / 255 * [rough, metal]
    linear = visual.vertex_attributes.data.get("color")
    colors = None if linear is None else srgb_bytes(linear)
    look = Look((red, green, blue, 1.0 if opaque else opacity), m.baseColorTexture, metal, rough, opaque, colors is not None, name)
    return look, uv, colors


def srgb(linear: Any) -> Any:
    """Return the sRGB values in [0, 1] of linear ones."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)


def srgb_bytes(linear: Array) -> Array:
    """Return the sRGB colours (n, 4), uint8, of linear ones (n, 3 or 4), floats or whole numbers; opacity stays as it is."""
    full = np.iinfo(linear.dtype).max if linear.dtype.kind in "iu" else 1.0
    colors = np.ones((len(linear), 4))
    colors[:, : linear.shape[1]] = linear / full
    colors[:, :3] = srgb(colors[:, :3])
    return np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)


def fraction(x: Any = 1.0) -> float:
    """Return a number as some files write it, in [0, 1]."""
    try:
        return float(np.clip(np.nan_to_num(float(x)), 0.0, 1.0))
    except (TypeError, ValueError):
        return 1.0


def roughness(shininess: Any) -> float:
    """Return the roughness r whose highlight is as wide as Phong's of exponent n: r⁴ = 2 / (n + 2); ROUGHNESS where there is none."""
    try:
        n = float(shininess)
    except (TypeError, ValueError):
        return ROUGHNESS
    return float(np.clip((2.0 / (n + 2.0)) ** 0.25, 0.2, 1.0)) if n > 1e-6 else ROUGHNESS


def pixels(image: Any, opaque: bool, path: str) -> Array | None:
    """Return the pixels (h, w, 4) of a picture, made smaller where it is very large; warn of what cannot be read."""
    if image is None:
        return None
    try:
        image = image.convert("RGB" if opaque else "RGBA").convert("RGBA")
        image.thumbnail((LARGEST_TEXTURE, LARGEST_TEXTURE))
    except Exception as e:  # whatever the many formats raise
        said = short(f"{type(e).__name__}: {e}")
        warnings.warn(f"{path}: a texture cannot be read ({said}); expected a whole picture; the mesh is drawn without it", stacklevel=2)
        return None
    return np.asarray(image)
