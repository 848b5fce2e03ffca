"""Shapes: what a <visual> or <collision> is of, where it is, and what it looks like."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.io.errors import short
from engine.io.notes import Notes
from engine.io.sdf.document import Document, Node
from engine.io.sdf.frames import Frame, relative
from engine.io.sdf.poses import pose_of
from engine.model import Geometry, Material, ModelError
from engine.spatial import se3, so3

Array = np.ndarray
#: shape: what its size is in, as (tag, how many numbers)
SHAPES = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": (("radius", 1), ("length", 1)),
          "capsule": (("radius", 1), ("length", 1)), "ellipsoid": (("radii", 3),), "plane": (), "mesh": ()}  # fmt: skip
FLAT = np.zeros((2, 2))
Z = np.array([0.0, 0.0, 1.0])


class Shapes:
    """Reads the shapes of links."""

    def __init__(self, document: Document, notes: Notes) -> None:
        self.document, self.notes = document, notes

    def of(self, link: Frame, tag: str) -> tuple[Geometry, ...]:
        """Return the shapes of a link that are of one tag; those that are not read are noted."""
        return tuple(g for node in link.node.all(tag) if (g := self.shape(link, node)) is not None)

    def shape(self, link: Frame, node: Node) -> Geometry | None:
        """Return the shape of a <visual> or <collision>, or None where it is none that is read."""
        geometry = node.part("geometry")
        shape = next(geometry.all(*SHAPES), None)
        if shape is None:
            what = next((child.tag for child in geometry.children), "")
            if what and what != "empty":
                (self.notes.warn if node.tag == "collision" else self.notes.note)(
                    geometry, f"a {node.tag} is a <{short(what)}>, which is not read; it is left out")
            return None
        T = pose_in_link(link, node)
        more: dict[str, Any] = {}
        if shape.tag == "mesh":
            kind, size = "mesh", self.scale(shape)
            more = self.mesh(shape, node)
        elif shape.tag == "plane":
            kind, size, T = "heightfield", self.level(shape), T @ se3.pose(facing(shape), np.zeros(3))
            more = {"heights": FLAT}
        else:
            kind, size = shape.tag, [x for tag, count in SHAPES[shape.tag] for x in shape.part(tag).numbers(count)]
        try:
            return Geometry(kind, tuple(size), T, material=self.material(node), name=node.name, up_axis=False, **more)
        except ModelError as problem:
            raise shape.error(str(problem)) from None

    def mesh(self, shape: Node, node: Node) -> dict[str, Any]:
        """Return where a mesh lies, and what is wrong where it is not there."""
        uri = shape.part("uri")
        found = self.document.finder(uri).find(uri.words)
        if found.fault:
            (self.notes.warn if node.tag == "collision" else self.notes.note)(uri, f"mesh '{short(uri.words)}' {found.fault}")
        if (sub := shape.first("submesh")) is not None and node.tag == "collision":
            self.notes.warn(sub, f"only the submesh '{short(sub.text('name'))}' of a mesh is meant, and the whole of it is taken")
        return {"mesh": found.path, "uri": uri.words, "fault": found.fault and str(uri.error(f"mesh '{short(uri.words)}' {found.fault}"))}

    def scale(self, shape: Node) -> list[float]:
        scale = shape.first("scale")
        return [1.0, 1.0, 1.0] if scale is None else scale.numbers(3)

    def level(self, shape: Node) -> list[float]:
        size = shape.first("size")
        return [1.0, 1.0] if size is None else size.numbers(2)

    def material(self, node: Node) -> Material | None:
        """Return the look of a shape: what it scatters, or else its ambient colour, and a picture."""
        opacity = 1.0 - node.number("transparency", default=0.0)
        m = node.first("material")
        if m is None:
            return None if opacity == 1.0 else Material(color=(0.7, 0.7, 0.7, opacity))
        said = m.first("diffuse") or m.first("ambient")
        color = None
        if said is not None:
            numbers = said.read() or []
            r, g, b, a = said.numbers(4) if len(numbers) != 3 else [*said.numbers(3), 1.0]
            color = (r, g, b, a * opacity)
        picture = m.first("pbr", "metal", "albedo_map") or m.first("pbr", "specular", "albedo_map")
        file = None if picture is None else self.document.finder(picture).find(picture.words)
        fault = ""
        if file is not None and file.fault and picture is not None:
            self.notes.note(picture, why := f"the picture '{short(picture.words)}' {file.fault}")
            fault = str(picture.error(why))
        return Material("", color, file and file.path, fault)


def pose_in_link(link: Frame, node: Node) -> Array:
    """Return the pose of what lies in a link, in its frame (4, 4)."""
    T, base = pose_of(node)
    if not base:
        return T
    return relative(link, link.scope.found(node.part("pose"), base)) @ T


def facing(plane: Node) -> Array:
    """Return the rotation (3, 3) that takes z to a plane's normal the shortest way."""
    normal = plane.first("normal")
    n = Z if normal is None else np.array(normal.numbers(3))
    if not (length := float(np.linalg.norm(n))) > 1e-9:
        raise plane.error(f"the plane's <normal> is '{short(plane.text('normal'))}'; expected a direction")
    axis, c = np.cross(Z, n / length), float(n[2] / length)
    if (s := float(np.linalg.norm(axis))) < 1e-12:
        return np.eye(3) if c > 0.0 else np.diag([1.0, -1.0, -1.0])
    return np.asarray(so3.about(axis / s, float(np.arctan2(s, c))))
