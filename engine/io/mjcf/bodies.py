"""The tree: bodies become links, their joints a chain of links without mass, sites links that are fixed."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.frames import arranged, unrolled
from engine.io.mjcf.joints import Turn, checked_alone, turn
from engine.io.mjcf.masses import body_inertia, principal_axes, total
from engine.io.mjcf.orientation import pose, to_z
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.shapes import Shape, Shapes
from engine.io.notes import Notes
from engine.model import Geometry, Joint, Link, ModelError
from engine.spatial import inertia, se3

Array = np.ndarray
WORLD = "world"
#: the link that carries the shapes of the world: not the world itself, as contacts mean the ground by that name
STATIC = "static"
#: what a body may hold that makes the motion another, and is not read
UNREAD = {"flexcomp": "a soft body", "composite": "a composite", "attach": "another model", "plugin": "a plugin"}


@dataclass(eq=False)
class Tree:
    """Links and joints made of a file's bodies.

    Attributes
    ----------
    links, joints : ours; turns : the file's joints by name
    shapes : of each link that has some; planes : each with its pose in the world (4, 4)
    frames : where each link stands in the world as the file has it (4, 4)
    sites : the link of each site; mounts : (link, pose) of each, before it has a link
    above : for each body the body that it lies in; weights : (gravcomp, element) of links; axes : (3, 3) of the moments of links
    """

    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    shapes: dict[str, list[Shape]] = field(default_factory=dict)
    planes: list[tuple[Shape, Array]] = field(default_factory=list)
    frames: dict[str, Array] = field(default_factory=dict)
    sites: dict[str, str] = field(default_factory=dict)
    mounts: list[tuple[Node, str, Array]] = field(default_factory=list)
    above: dict[str, str] = field(default_factory=dict)
    moving: set[str] = field(default_factory=set)
    weights: dict[str, tuple[float, Node]] = field(default_factory=dict)
    axes: dict[str, Array] = field(default_factory=dict)


class Bodies:
    """Reads the bodies of a file into a tree."""

    def __init__(self, defaults: Defaults, settings: Settings, shapes: Shapes, notes: Notes) -> None:
        self.defaults, self.settings, self.shapes, self.notes = defaults, settings, shapes, notes
        self.tree = Tree()
        self.count = 0
        self.named: dict[tuple[str, str], int] = {}

    def read(self, root: Node) -> Tree:
        """Return the tree of all <worldbody>s."""
        tree = self.tree
        tree.links[WORLD], tree.frames[WORLD] = Link(WORLD), np.eye(4)
        static: list[Shape] = []
        count = [0]
        for world in root.all("worldbody"):
            world = unrolled(world, self.settings, count)
            for node, T, childclass in arranged(world, self.settings, world.text("childclass")):
                if node.tag == "geom":
                    static.append(self.geom(node, T, childclass, False))
                elif node.tag in ("joint", "freejoint", "inertial"):
                    raise node.error(f"the world has a <{node.tag}>; expected it in a body")
                else:
                    self.part(node, T, childclass, WORLD)
        self.bounded()
        if solid := self.grounded(static, np.eye(4)):
            name = self.free(STATIC, tree.links)
            self.add(Link(name, visuals=geometries(solid), collisions=colliding_shapes(solid)), WORLD, np.eye(4))
            tree.shapes[name] = solid
        for node, link, T in tree.mounts:
            name = self.free(node.text("name"), tree.links, "site of ")
            tree.sites[node.text("name")] = name
            self.add(Link(name), link, T)
        if self.settings.settotalmass > 0.0:
            mass = total(tree.links.values())
            if not mass > 0.0:
                raise root.error("settotalmass is given, and nothing has a mass; expected some")
            scale = self.settings.settotalmass / mass
            tree.links = {n: replace(link, inertia=link.inertia * scale) for n, link in tree.links.items()}
        return tree

    # ------------------------------------------------------------ names

    def unique(self, node: Node, what: str, name: str) -> str:
        """Return a name that the file gives, which nothing else of its kind has."""
        if (what, name) in self.named:
            raise node.error(f"the name is taken by the {what} in line {self.named[what, name]}; expected unique names")
        self.named[what, name] = node.line
        return name

    def free(self, name: str, taken: Container[str], prefix: str = "") -> str:
        """Return a name, or where it is taken one with a prefix, and bars after it as long as that is too."""
        if name in taken and prefix:
            name = prefix + name
        while name in taken:
            name += "_"
        return name

    # ------------------------------------------------------------ bodies

    def part(self, node: Node, T: Array, childclass: str, parent: str) -> None:
        """Take in what lies in a body, but for its joints, shapes and inertia."""
        if node.tag == "body":
            self.body(node, T, childclass, parent)
        elif node.tag == "site":
            node = self.defaults.merged(node, childclass)
            if name := node.text("name"):
                self.unique(node, "site", name)
                self.tree.mounts.append((node, parent, T @ site_pose(node, self.settings)))
        elif node.tag in UNREAD:
            self.notes.warn(node, f"{UNREAD[node.tag]} is not read")

    def body(self, node: Node, T: Array, childclass: str, parent: str) -> None:
        """Add a body, and all that lies in it."""
        tree = self.tree
        self.count += 1
        name = node.text("name") or self.free(f"body {self.count}", tree.links)
        if name == WORLD:
            raise node.error("a body is named 'world', which is the name of the world; expected another")
        self.unique(node, "body", name)
        name = self.free(name, tree.links)
        childclass = node.text("childclass") or childclass
        T = T @ pose(node, self.settings)
        parts = [*arranged(node, self.settings, childclass)]
        turns = [self.turn(j, F, c, name) for j, F, c in parts if j.tag in ("joint", "freejoint")]
        checked_alone(turns, parent == WORLD)
        self.add(Link(name), parent, T, turns)
        tree.above[name] = parent
        if node.flag("mocap"):
            if turns or parent != WORLD:
                raise node.error("a mocap body moves by joints, or lies in another body; expected it fixed to the world")
            self.notes.note(node, "a mocap body stays where it is written")
        shapes = [self.geom(g, F, c, self.settings.inertiafromgeom != "false") for g, F, c in parts if g.tag == "geom"]
        inertial = next((i for i, _, _ in parts if i.tag == "inertial"), None)
        G = body_inertia(inertial, shapes, self.settings)
        tree.axes[name] = principal_axes(inertial, shapes, self.settings)
        if name not in tree.moving:
            shapes = self.grounded(shapes, tree.frames[name])
        elif plane := next((s for s in shapes if s.kind in ("plane", "hfield")), None):
            raise plane.node.error(f"a {plane.kind} moves; expected it on a body that stands still")
        try:
            tree.links[name] = Link(name, G, geometries(shapes), colliding_shapes(shapes))
        except ModelError as problem:
            raise node.error(str(problem)) from None
        tree.shapes[name] = shapes
        if (share := node.number("gravcomp", 0.0)) and "passive" not in self.settings.off:
            tree.weights[name] = share, node
        for child, F, c in parts:
            if child.tag not in ("joint", "freejoint", "geom", "inertial"):
                self.part(child, F, c, name)

    def turn(self, node: Node, T: Array, childclass: str, body: str) -> Turn:
        """Return a joint of a body."""
        node = self.defaults.merged(node, childclass) if node.tag == "joint" else node
        name = node.text("name") or self.free(f"joint of {body}", self.tree.turns)
        self.unique(node, "joint", name)
        found = turn(node, name, T, self.settings, self.notes)
        self.tree.turns[name] = found
        return found

    def geom(self, node: Node, T: Array, childclass: str, weighs: bool) -> Shape:
        """Return a shape of a body, in a frame at T (4, 4)."""
        node = self.defaults.merged(node, childclass)
        if name := node.text("name"):
            self.unique(node, "geom", name)
        return place_shape(self.shapes.shape(node, weighs), T)

    def add(self, link: Link, parent: str, T: Array, turns: Iterable[Turn] = ()) -> None:
        """Add a link to another at the pose T (4, 4), by a chain of joints, and a fixed one where none ends at its frame."""
        tree = self.tree
        tree.frames[link.name] = tree.frames[parent] @ T
        if parent in tree.moving:
            tree.moving.add(link.name)
        turns, at = [*turns], np.zeros(3)
        for k, t in enumerate(turns):
            last = k == len(turns) - 1 and not t.anchor.any()
            child = link.name if last else self.free(f"{link.name}/{t.name}", tree.links)
            if t.kind == "floating":
                placement = np.eye(4)
            else:
                placement = T @ se3.pose(np.eye(3), t.anchor - at) @ t.start
            self.join(t.name, t.kind, parent, child, placement, t)
            tree.moving |= {child, link.name}
            if not last:
                tree.links[child] = Link(child)
                tree.frames[child] = tree.frames[link.name] @ se3.pose(np.eye(3), t.anchor)
            parent, T, at = child, np.eye(4), t.anchor
        if not turns or turns[-1].anchor.any():
            self.join(self.free(f"{link.name} fixed", tree.joints), "fixed", parent, link.name,
                      T @ se3.pose(np.eye(3), -at))  # fmt: skip
        tree.links[link.name] = link

    def join(self, name: str, kind: str, parent: str, child: str, placement: Array, t: Turn | None = None) -> None:
        """Add a joint."""
        try:
            if t is None:
                self.tree.joints[name] = Joint(name, kind, parent, child, placement)
            else:
                self.tree.joints[name] = Joint(name, kind, parent, child, placement, t.axis, limits=t.limits, damping=t.damping,
                                               friction=t.friction, armature=t.armature)  # fmt: skip
        except ModelError as problem:
            assert t is not None
            raise t.node.error(str(problem)) from None

    def grounded(self, shapes: list[Shape], T: Array) -> list[Shape]:
        """Return the shapes of what stands still at T (4, 4) in the world without its planes, which are put down."""
        self.tree.planes += [(s, T @ s.T) for s in shapes if s.kind == "plane"]
        return [s for s in shapes if s.kind not in ("plane", "hfield")]

    def bounded(self) -> None:
        """Say that a body moves without mass, which MuJoCo refuses."""
        tree = self.tree
        carried = {above for body, above in tree.above.items() if tree.links[body].mass}
        for body in reversed(tree.above):                                       # a body comes after that which it lies in
            if body in carried:
                carried.add(tree.above[body])
        moves = {tree.joints[t.name].child: t for t in reversed(tree.turns.values())}
        for body in tree.above:
            if body in moves and not tree.links[body].mass and body not in carried:
                self.notes.note(moves[body].node, f"it moves '{short(body)}', which has no mass; expected some (or geoms, or boundmass)")


def site_pose(node: Node, settings: Settings) -> Array:
    """Return the pose (4, 4) of a site in its body."""
    if "fromto" not in node.attributes:
        return pose(node, settings)
    ends = np.array(node.numbers("fromto", 6))
    along = ends[:3] - ends[3:]
    if not (length := float(np.linalg.norm(along))) > 1e-12:
        raise node.error("<site> fromto has the length zero; expected two different points")
    return se3.pose(to_z(along / length), (ends[:3] + ends[3:]) / 2.0)


def place_shape(shape: Shape, T: Array) -> Shape:
    """Return a shape that is read in a frame of its body at T (4, 4)."""
    if np.array_equal(T, np.eye(4)):
        return shape
    g = shape.geometry
    return replace(shape, T=T @ shape.T, inertia=inertia.transformed(T, shape.inertia),
                   geometry=g and replace(g, placement=T @ g.placement))  # fmt: skip


def geometries(shapes: Iterable[Shape]) -> tuple[Geometry, ...]:
    """Return what is drawn: as MuJoCo has it, the groups 0, 1 and 2; where nothing else is there, all."""
    made = [(s.group, s.geometry) for s in shapes if s.geometry is not None]
    return tuple(g for group, g in made if group <= 2) or tuple(g for _, g in made)


def colliding_shapes(shapes: Iterable[Shape]) -> tuple[Geometry, ...]:
    """Return what touches."""
    return tuple(s.geometry for s in shapes if s.geometry is not None and s.touches)
