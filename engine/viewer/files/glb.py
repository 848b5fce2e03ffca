"""Binary glTF 2.0: meshes shared between nodes, a node for every link, and the motion as an animation."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.spatial import quaternion
from engine.viewer.files.motion import Motion, origin_of, sample_times, sampled
from engine.viewer.scene.actor import Actor, Part
from engine.viewer.scene.drawing import measure
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.surface import Surface

Array = np.ndarray
Color = tuple[float, ...]
FLOAT, UINT32, UINT16 = 5126, 5125, 5123
VERTICES, INDICES = 34962, 34963
#: glTF's up is y; ours is z: a turn of −90° about x, scalar last
UPRIGHT = (-(0.5**0.5), 0.0, 0.0, 0.5**0.5)


def glb(scene: Scene, fps: float) -> bytes:
    """Return the scene as a binary glTF file: for every actor a node, in it one for every instance, in these the links as a tree.

    Surfaces hang on nodes of their own below their link, which carry their scale. The animation starts at zero. Of a motion far from the
    world's origin all positions are seen from its middle, to the metre, which stands as ``origin`` in the actors' ``extras``: no node has
    it as its translation, because readers with matrices in single precision, such as Blender, would tear the robot.

    Raises
    ------
    ViewerError : there are too many poses, or the file would be too large
    """
    times, origin, file = sample_times(scene, fps), origin_of(scene), File()
    for actor in scene.actors:
        file.add_actor(actor, sampled(actor, times, origin), times - times[0], origin)
    return file.data()


class File:
    """A glTF file as it grows: the JSON document, and the binary chunk that its accessors point into."""

    def __init__(self) -> None:
        self.binary = bytearray()
        self.kept: dict[Any, int] = {}
        self.document: dict[str, Any] = {"asset": {"version": "2.0", "generator": "articulated-engine"}, "scene": 0,
                                         "scenes": [{"nodes": []}]}  # fmt: skip

    def add(self, what: str, **entry: Any) -> int:
        """Add an entry to one of the document's lists; return its index."""
        entries = self.document.setdefault(what, [])
        entries.append(entry)
        return len(entries) - 1

    def once(self, key: Any, make: Callable[[], int]) -> int:
        """Return what ``make`` returned for the first equal key, so that things are shared."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def view(self, data: bytes, **entry: Any) -> int:
        """Add a buffer view of bytes of their own."""
        self.binary += bytes(-len(self.binary) % 4)
        start = len(self.binary)
        self.binary += data
        return self.add("bufferViews", buffer=0, byteOffset=start, byteLength=len(data), **entry)

    def accessor(self, x: Array, target: int | None = None, bounds: bool = False, **entry: Any) -> int:
        """Add an accessor of an array (n) or (n, components)."""
        kind = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}[1 if x.ndim == 1 else x.shape[1]]
        component = {"f": FLOAT, "H": UINT16, "I": UINT32}[x.dtype.char]
        limits = {"min": np.atleast_1d(x.min(axis=0)).tolist(), "max": np.atleast_1d(x.max(axis=0)).tolist()} if bounds else {}
        view = self.view(np.ascontiguousarray(x).tobytes(), **({"target": target} if target else {}))
        return self.add("accessors", bufferView=view, componentType=component, count=len(x), type=kind, **limits, **entry)

    # ------------------------------------------------------------ surfaces

    def mesh(self, surface: Surface, color: Color) -> int:
        """Return the mesh of a surface in a colour; the same surface in another colour shares its buffers."""
        return self.once((id(surface), color), lambda: self.new_mesh(surface, color))

    def new_mesh(self, surface: Surface, color: Color) -> int:
        """Add a mesh of one primitive."""
        positions, faces, attributes = self.geometry(surface)
        material = self.once((color, surface.metallic, surface.roughness, id(surface.texture), see_through(surface, color)),
                             lambda: self.material(surface, color))  # fmt: skip
        primitive = {"attributes": {"POSITION": positions, **attributes}, "indices": faces, "material": material}
        return self.add("meshes", primitives=[primitive], **({"name": surface.name} if surface.name else {}))

    def geometry(self, surface: Surface) -> tuple[int, int, dict[str, int]]:
        """Return accessors of a surface's positions, faces, and other attributes; surfaces of other materials may share them."""

        def kept(what: str, source: Array, make: Callable[[Array], Array], target: int = VERTICES, **more: Any) -> int:
            return self.once((id(source), what), lambda: self.accessor(make(source), target, **more))

        number = np.uint16 if len(surface.positions) < 0xFFFF else np.uint32
        faces = kept("faces", surface.faces, lambda f: f.reshape(-1).astype(number), INDICES)
        attributes = {"NORMAL": kept("normals", surface.normals, unit)}
        if surface.uv is not None and surface.texture is not None:
            attributes["TEXCOORD_0"] = kept("uv", surface.uv, downward)
        if surface.colors is not None:
            attributes["COLOR_0"] = kept("colors", surface.colors, linear_colors, normalized=True)
        return kept("positions", surface.positions, np.float32, bounds=True), faces, attributes

    def material(self, surface: Surface, color: Color) -> int:
        """Add a physically based material, in linear colours."""
        pbr: dict[str, Any] = {"baseColorFactor": [*linear(np.array(color[:3])).tolist(), color[3]],
                               "metallicFactor": surface.metallic, "roughnessFactor": surface.roughness}  # fmt: skip
        if surface.texture is not None and surface.uv is not None:
            texture = surface.texture
            pbr["baseColorTexture"] = {"index": self.once(id(texture), lambda: self.texture(texture))}
        return self.add("materials", pbrMetallicRoughness=pbr, **({"alphaMode": "BLEND"} if see_through(surface, color) else {}))

    def texture(self, image: Array) -> int:
        """Add a texture of an image (h, w, 4)."""
        return self.add("textures", source=self.add("images", bufferView=self.view(png(image)), mimeType="image/png"))

    # ------------------------------------------------------------ nodes

    def add_actor(self, actor: Actor, motion: Motion, times: Array, origin: Array) -> None:
        """Add the nodes of an actor, and their channels in the animation; its motion is seen from an origin (3), m."""
        instances = range(motion.positions.shape[1])
        name = actor.model.name
        children = [self.instance(actor, motion, times, i, name if len(instances) == 1 else f"{name} {i}") for i in instances]
        extras = {"extras": {"origin": origin.tolist()}} if origin.any() else {}
        self.document["scenes"][0]["nodes"].append(self.add("nodes", name=name, rotation=list(UPRIGHT), children=children, **extras))

    def instance(self, actor: Actor, motion: Motion, times: Array, i: int, name: str) -> int:
        """Add the nodes of one instance; return the index of the one that holds them all."""
        top = self.add("nodes", name=name, children=[])
        links = []
        for k, link in enumerate(actor.model.links):
            p, r = motion.positions[:, i, k], np.roll(motion.rotations[:, i, k], -1, axis=-1)
            node = self.add("nodes", name=link.name, translation=p[0].tolist(), rotation=r[0].tolist())
            links.append(node)
            above = links[motion.parents[k]] if motion.parents[k] >= 0 else top
            self.document["nodes"][above].setdefault("children", []).append(node)
            if motion.moves[k]:
                self.channel(node, "translation", times, p)
            if motion.turns[k]:
                self.channel(node, "rotation", times, r)
        for part in actor.parts:
            node = self.add("nodes", mesh=self.mesh(part.surface, tinted(actor, part)), **placed(part))
            self.document["nodes"][links[part.link]].setdefault("children", []).append(node)
        return top

    def channel(self, node: int, path: str, times: Array, values: Array) -> None:
        """Add a channel to the only animation."""
        if "animations" not in self.document:
            self.add("animations", name="motion", channels=[], samplers=[])
        animation = self.document["animations"][0]
        clock = self.once("times", lambda: self.accessor(times.astype(np.float32), bounds=True))
        animation["samplers"].append({"input": clock, "output": self.accessor(values.astype(np.float32)), "interpolation": "LINEAR"})
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": {"node": node, "path": path}})

    # ------------------------------------------------------------ the file

    def data(self) -> bytes:
        """Return the file's bytes: a header, the JSON chunk, the binary chunk."""
        self.binary += bytes(-len(self.binary) % 4)
        self.document["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.document, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        sizes = [12 + 8 + len(text) + 8 + len(self.binary), len(text), len(self.binary)]
        if sizes[0] >= 2**32:
            raise ViewerError(f"the file would have {sizes[0] / 2**30:.1f} GiB; expected less than 4: fewer instances, a lower fps")
        header, json_head, bin_head = b"glTF" + words(2, sizes[0]), words(sizes[1]) + b"JSON", words(sizes[2]) + b"BIN\0"
        return b"".join([header, json_head, text, bin_head, bytes(self.binary)])


def words(*numbers: int) -> bytes:
    """Return numbers as little-endian 32-bit words."""
    return np.array(numbers, dtype="<u4").tobytes()


def placed(part: Part) -> dict[str, list[float]]:
    """Return a part's placement as translation, rotation and scale."""
    A = part.placement[:3, :3]
    scale = np.linalg.norm(A, axis=0)
    r = quaternion.from_matrix(A / scale)
    return {"translation": part.placement[:3, 3].tolist(), "rotation": np.roll(r, -1).tolist(), "scale": scale.tolist()}


def tinted(actor: Actor, part: Part) -> Color:
    """Return the colour of a part, under that of its actor."""
    return tuple(a * b for a, b in zip(actor.color, part.surface.color, strict=True))


def see_through(surface: Surface, color: Color) -> bool:
    """Return whether anything of the surface is not opaque."""
    return color[3] * measure(surface).opacity < 1.0


def downward(uv: Array) -> Array:
    """Return texture coordinates (n, 2) from the upper left corner, of those from the lower left."""
    return (uv * [1, -1] + [0, 1]).astype(np.float32)


def linear(srgb: Array) -> Array:
    """Return linear light of sRGB values in [0, 1]."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def linear_colors(colors: Array) -> Array:
    """Return linear colours (n, 4) uint16 of sRGB ones, uint8; opacity is linear as it is."""
    x = colors / 255.0
    return np.rint(np.column_stack([linear(x[:, :3]), x[:, 3]]) * 65535).astype(np.uint16)


def unit(normals: Array) -> Array:
    """Return unit vectors (n, 3), float32; upward ones where there was no direction."""
    n = normals.astype(float)
    length = np.linalg.norm(n, axis=1, keepdims=True)
    return np.where(length > 0, n / np.where(length > 0, length, 1.0), [0.0, 0.0, 1.0]).astype(np.float32)


def png(image: Array) -> bytes:
    """Return a PNG file of an image (h, w, 4) uint8."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, "png")
    return buffer.getvalue()
