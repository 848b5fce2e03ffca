"""Geoms: what a body looks like and touches with, and the mass that each of them has."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from engine.checks import EngineError
from engine.io.errors import RobotFileError, short
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.meshes import Mesh, Meshes
from engine.io.mjcf.orientation import pose, to_z
from engine.io.mjcf.settings import Settings
from engine.io.notes import ROUGHEST, Notes
from engine.model import Geometry, Material, ModelError
from engine.spatial import inertia, se3

Array = np.ndarray
KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
#: numbers in the size of a kind
SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
DENSITY = 1000.0
FRICTION = (1.0, 0.005, 0.0001)
#: a mass that counts, kg
LEAST = 1e-15
#: of the layer that stands for an ellipsoid's surface, m
THIN = 1e-6
Color = tuple[float, float, float, float]
WHITE = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """A geom on its body: its pose (4, 4), G (6, 6) of its mass in the body's frame, what is drawn of it, what it may touch, and how it
    rubs, by friction, and where a contact's condim says so by torsional and rolling friction, m; ``paired``: whether a <pair> names it."""

    node: Node
    kind: str
    T: Array
    inertia: Array
    geometry: Geometry | None
    group: int
    contype: int
    conaffinity: int
    friction: float
    turning: tuple[float, float]
    condim: int
    priority: int
    paired: bool

    @property
    def touches(self) -> bool:
        """True if the geom may touch anything."""
        return bool(self.contype or self.conaffinity or self.paired)


class Shapes:
    """Reads the geoms of a file."""

    def __init__(self, root: Node, defaults: Defaults, settings: Settings, meshes: Meshes, notes: Notes) -> None:
        self.settings, self.meshes, self.notes = settings, meshes, notes
        self.paired = {pair.text(f"geom{k}") for pair in defaults.merged_all("contact", "pair") for k in (1, 2)} - {""}
        self.materials = {node.text("name"): Material(node.text("name"), self.color(node, WHITE))
                          for node in defaults.merged_all("asset", "material")}  # fmt: skip

    def shape(self, node: Node, weighs: bool) -> Shape:
        """Return a geom; ``weighs`` says whether its mass is asked for."""
        kind = node.choice("type", KINDS, "sphere")
        fitted = kind not in ("mesh", "sdf") and "mesh" in node.attributes
        mesh = self.meshes.of(node) if "mesh" in node.attributes or kind in ("mesh", "sdf") else None
        T, size = self.place(node, kind, fitted)
        if fitted:
            self.notes.warn(node, f"a {kind} is to be fitted to a mesh, which is not done: it has neither shape nor mass")
        group = node.whole("group", 0)
        counts = weighs and not fitted and self.settings.groups[0] <= group <= self.settings.groups[1]
        G = inertia.transformed(T, self.finite(node, kind, size, mesh)) if counts else np.zeros((6, 6))
        geometry = None if fitted else self.geometry(node, kind, size, mesh, T)
        slides, *turning = roughness(node, (1, 3), FRICTION)
        return Shape(node, kind, T, G, geometry, group, node.whole("contype", 1), node.whole("conaffinity", 1),
                     slides, (turning[0], turning[1]), node.whole("condim", 3), node.whole("priority", 0),
                     node.text("name") in self.paired)  # fmt: skip

    def place(self, node: Node, kind: str, fitted: bool) -> tuple[Array, list[float]]:
        """Return the pose of a geom in its body, and its size as MuJoCo has it: radii and half lengths."""
        count = SIZES.get(kind, 0)
        size = node.numbers("size", (1, 3), ()) if kind not in ("mesh", "sdf", "hfield") else []
        if "fromto" in node.attributes and count > 1:
            ends = np.array(node.numbers("fromto", 6))
            along = ends[:3] - ends[3:]
            length = float(np.linalg.norm(along))
            if not length > 1e-12:
                raise node.error("<geom> fromto has the length zero; expected two different points")
            if not size:
                raise node.error("<geom> has a fromto without size; expected a radius")
            half = length / 2.0
            size = [size[0], half] if count == 2 else [size[0], size[0], half]
            return se3.pose(to_z(along / length), (ends[:3] + ends[3:]) / 2.0), size
        if "fromto" in node.attributes:
            raise node.error(f"<geom> is a {kind}, and has a fromto; expected one of {', '.join(k for k, n in SIZES.items() if n > 1)}")
        if not fitted and (len(size) < count or (count and min(size[:count]) <= 0.0)):
            said = f"size is '{short(node.text('size'))}'" if size else "has no size"
            raise node.error(f"<geom> {said}; expected {count} number{'s' * (count > 1)} above zero for a {kind}")
        return pose(node, self.settings), size[:count]

    # ------------------------------------------------------------ mass

    def finite(self, node: Node, kind: str, size: list[float], mesh: Mesh | None) -> Array:
        """Return :meth:`mass`; refuse what is not finite."""
        try:
            G = self.mass(node, kind, size, mesh)
        except RobotFileError:
            raise
        except (EngineError, OverflowError):
            G = np.full((6, 6), np.nan)
        if not np.isfinite(G).all():
            raise node.error(f"the {kind} of the size '{short(node.text('size'))}' has no finite inertia; expected one of ordinary size")
        return G

    def mass(self, node: Node, kind: str, size: list[float], mesh: Mesh | None) -> Array:
        """Return G (6, 6) of a geom about its own origin, of its mass or its density."""
        mass, density = node.number("mass", -1.0) if "mass" in node.attributes else None, node.number("density", DENSITY)
        for what, x in (("mass", mass or 0.0), ("density", density)):
            if x < 0.0:
                raise node.error(f"<geom> {what} is {x:g}; expected zero or more")
        if kind in ("plane", "hfield") or mass == 0.0 or (mass is None and density == 0.0):
            return np.zeros((6, 6))
        volume, G = mesh.solid if mesh is not None else (shell if node.flag("shellinertia") else solid)(kind, (*size,))
        if mesh is not None and mesh.cornered:
            self.notes.note(node, f"the mesh '{short(node.text('mesh'))}' has faces of more than three corners, which are split from their "
                                  "first one, in MuJoCo along the shorter diagonal: its mass and inertia differ from MuJoCo's as far "
                                  "as they are not flat")  # fmt: skip
        if mesh is not None and kind == "sdf":
            self.notes.warn(node, "a signed distance field has the mass of its mesh here")
        scale = density if mass is None else mass / volume
        return G * scale if volume * scale >= LEAST else np.zeros((6, 6))

    # ------------------------------------------------------------ looks

    def geometry(self, node: Node, kind: str, size: list[float], mesh: Mesh | None, T: Array) -> Geometry | None:
        """Return what is drawn and touched of a geom, or None."""
        name, material = node.text("name"), self.material(node)
        try:
            if mesh is not None:
                made = mesh.geometry(T, name)
                if made is None:
                    touched = node.whole("contype", 1) or node.whole("conaffinity", 1)
                    say = self.notes.warn if touched else self.notes.note
                    say(node, f"the mesh '{short(node.text('mesh'))}' lies in no file that is drawn, and none is made; its mass counts, "
                              "its shape is neither drawn nor touched")  # fmt: skip
                return None if made is None else Geometry(made.kind, made.size, made.placement, made.mesh, material, name, made.uri,
                                                          made.fault, up_axis=made.up_axis)  # fmt: skip
            if kind == "sphere":
                return Geometry("sphere", (size[0],), T, material=material, name=name)
            if kind in ("capsule", "cylinder"):
                return Geometry(kind, (size[0], 2.0 * size[1]), T, material=material, name=name)
            if kind == "ellipsoid":
                return Geometry("ellipsoid", tuple(size), T, material=material, name=name)
            if kind == "box":
                return Geometry("box", tuple(2.0 * x for x in size), T, material=material, name=name)
        except ModelError as problem:
            raise node.error(str(problem)) from None
        if kind == "hfield":
            self.notes.warn(node, "a height field is not read; what would touch it falls through")
        return None

    def material(self, node: Node) -> Material | None:
        """Return the look of a geom: its own colour, or that of its material."""
        named = self.materials.get(node.text("material"), Material(node.text("material")) if "material" in node.attributes else None)
        if (color := self.color(node)) is None:
            return named
        return Material(named.name if named else "", color)

    def color(self, node: Node, usual: Color | None = None) -> Color | None:
        """Return an element's rgba; of one that is no colour, which stops no robot from moving, the usual one."""
        if "rgba" not in node.attributes:
            return usual
        try:
            r, g, b, a = node.numbers("rgba", 4)
        except RobotFileError as problem:
            self.notes.note(node, f"{problem.reason}: it has the usual colour")
            return usual
        return r, g, b, a


def roughness(node: Node, counts: tuple[int, int], usual: Sequence[float]) -> list[float]:
    """Return the coefficients of friction of a geom (3) or a pair (5), of which those that are not said are the ``usual`` ones."""
    said = node.numbers("friction", counts, usual)
    found = [*said, *usual[len(said) :]]
    for friction in found:
        if not 0.0 <= friction <= ROUGHEST:
            raise node.error(f"<{node.tag}> friction is {friction:g}; expected from zero to {ROUGHEST:g}")
    return found


@functools.lru_cache(maxsize=1024)
def solid(kind: str, size: tuple[float, ...]) -> tuple[float, Array]:
    """Return the volume, m³, and G (6, 6) of the density 1, of a shape full of it."""
    if kind == "sphere":
        G = inertia.sphere(radius=size[0], density=1.0)
    elif kind == "capsule":
        G = inertia.capsule(radius=size[0], length=2.0 * size[1], density=1.0)
    elif kind == "cylinder":
        G = inertia.cylinder(radius=size[0], length=2.0 * size[1], density=1.0)
    elif kind == "ellipsoid":
        G = inertia.ellipsoid(semiaxes=size, density=1.0)
    else:
        G = inertia.box(size=[2.0 * x for x in size], density=1.0)
    return float(inertia.mass(G)), G


@functools.lru_cache(maxsize=1024)
def shell(kind: str, size: tuple[float, ...]) -> tuple[float, Array]:
    """Return the area, m², and G (6, 6) of the density 1, kg/m², of a shape's surface.

    An ellipsoid's area is Thomsen's (within 1.1 %), its tensor that of a layer of THIN all around it, both as in MuJoCo.
    """
    if kind == "sphere":
        area, moments = 4.0 * pi * size[0] ** 2, np.full(3, 2.0 / 3.0 * size[0] ** 2)
    elif kind == "box":
        x, y, z = (2.0 * s for s in size)
        sides = 2.0 * np.array([y * z, x * z, x * y])
        area = float(sides.sum())
        squares = np.array([[s * s / (4.0 if i == k else 12.0) for i, s in enumerate((x, y, z))] for k in range(3)])
        second = sides @ squares / area
        moments = second.sum() - second
    elif kind in ("cylinder", "capsule"):
        r, h = size[0], 2.0 * size[1]
        side = 2.0 * pi * r * h
        ends = 2.0 * pi * r * r * (1.0 if kind == "cylinder" else 2.0)
        area = side + ends
        if kind == "cylinder":
            around, across = side * r * r + ends * r * r / 2.0, side * (r * r / 2.0 + h * h / 12.0) + ends * (r * r / 4.0 + h * h / 4.0)
        else:
            around, across = side * r * r + ends * 2.0 / 3.0 * r * r, side * (r * r / 2.0 + h * h / 12.0) + ends * (
                2.0 / 3.0 * r * r + h * h / 4.0 + h * r / 2.0)  # fmt: skip
        moments = np.array([across, across, around]) / area
    else:
        a, b, c = size
        p = 1.6075
        area = 4.0 * pi * (((a * b) ** p + (a * c) ** p + (b * c) ** p) / 3.0) ** (1.0 / p)
        inner, outer = np.array(size), np.array(size) + THIN
        full, hollow = outer.prod(), inner.prod()
        moments = (full * (outer @ outer - outer**2) - hollow * (inner @ inner - inner**2)) / (full - hollow) / 5.0
    return area, inertia.from_mass(area, np.zeros(3), area * np.diag(moments))
