"""Links: their inertia, as it is written or by the density of what collides, and their shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.io.errors import RobotFileError, short
from engine.io.mesh import load_mesh
from engine.io.notes import Notes
from engine.io.sdf.document import Document, Node
from engine.io.sdf.frames import Frame
from engine.io.sdf.shapes import Shapes, pose_in_link
from engine.model import Geometry, Link
from engine.spatial import inertia

Array = np.ndarray
#: kg/m³ of what collides where nothing is said, as the specification has it
WATER = 1000.0
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
#: solids by the kinds of shapes: G about the centre, of the size and the density
SOLIDS: dict[str, Callable[[Any, float], Array]] = {
    "box": lambda size, d: inertia.box(size=size, density=d),
    "sphere": lambda size, d: inertia.sphere(radius=size[0], density=d),
    "cylinder": lambda size, d: inertia.cylinder(radius=size[0], length=size[1], density=d),
    "capsule": lambda size, d: inertia.capsule(radius=size[0], length=size[1], density=d),
    "ellipsoid": lambda size, d: inertia.ellipsoid(semiaxes=size, density=d),
}  # fmt: skip


class Links:
    """Reads links."""

    def __init__(self, document: Document, notes: Notes) -> None:
        self.notes, self.shapes = notes, Shapes(document, notes)

    def link(self, frame: Frame) -> Link:
        """Return a link, by its name with those of the models it is in."""
        visuals, collisions = (self.shapes.of(frame, tag) for tag in ("visual", "collision"))
        try:
            link = Link(frame.name, self.inertia(frame), visuals, collisions)
        except RobotFileError:
            raise
        except EngineError as problem:
            raise frame.node.error(str(problem)) from None
        for fault in inertia.faults(link.inertia):
            self.notes.warn(frame.node.first("inertial") or frame.node, f"{fault}; no rigid body has such an inertia")
        return link

    def inertia(self, frame: Frame) -> Array:
        """Return G about the link's origin; 1 kg with unit moments where no <inertial> is, as the specification has it."""
        node = frame.node.first("inertial")
        if node is None:
            return inertia.from_mass(1.0, np.zeros(3), np.eye(3))
        if node.truth(node.attributes.get("auto", "false")):
            return self.solid(frame, node)
        mass = node.number("mass", default=1.0)
        if mass < 0.0:
            raise node.error(f"mass is {mass:g} kg; expected zero or more")
        moments = node.first("inertia")
        xx, xy, xz, yy, yz, zz = ((1.0, 0.0, 0.0, 1.0, 0.0, 1.0) if moments is None else
                                  (moments.number(e, default=float(e[1] == e[2])) for e in ENTRIES))  # fmt: skip
        T = pose_in_link(frame, node)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        turned = not np.array_equal(T[:3, :3], np.eye(3))
        return inertia.from_mass(mass, T[:3, 3], inertia.rotated(T[:3, :3], I) if turned else I)

    def solid(self, frame: Frame, node: Node) -> Array:
        """Return the sum of what collides, filled with its density; where a mass is said, scaled to it."""
        if frame.node.version < (1, 11):
            self.notes.warn(node, "auto=\"true\" is of SDF 1.11, and is followed in an older file")
        usual = node.positive("density", default=WATER)
        G = np.zeros((6, 6))
        for part in frame.node.all("collision"):
            shape = self.shapes.shape(frame, part)
            if shape is not None:
                G = G + self.filled(part, shape, part.positive("density", default=usual))
        if not G[5, 5] > 0.0:
            raise node.error("auto=\"true\" finds no collision with a volume; expected a box, sphere, cylinder, capsule, ellipsoid or mesh")
        if node.first("mass") is not None:
            G = G * (node.positive("mass", default=0.0) / G[5, 5])
        return G

    def filled(self, node: Node, shape: Geometry, density: float) -> Array:
        """Return G of a shape filled with a density, about the link's origin."""
        if shape.kind == "heightfield":
            return np.zeros((6, 6))
        try:
            G = inertia.from_mesh(load_mesh(shape), density) if shape.kind == "mesh" else SOLIDS[shape.kind](shape.size, density)
        except RobotFileError as problem:
            raise node.error(f"its mesh is asked for its volume: {short(problem.reason)}") from None
        except EngineError as problem:
            raise node.error(str(problem)) from None
        return np.asarray(inertia.transformed(shape.placement, G))


