"""The tree of a model as MJCF: bodies, joints, shapes and sites, as elements that say more when they are asked to."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.mesh import triangles
from engine.io.mjcf.bodies import WORLD
from engine.io.mjcf.joints import motion
from engine.io.written import body_of, mesh_of, row
from engine.model import Geometry, Joint, Link, Model
from engine.spatial import quaternion, se3

Array = np.ndarray
KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball", "floating": "free"}
#: kinds of joints with one coordinate, which may stand elsewhere than at zero as they are written
SINGLE = ("revolute", "continuous", "prismatic")
#: of shapes that are drawn alone, touch alone, or both
DRAWN, TOUCHED = {"group": "2", "contype": "0", "conaffinity": "0"}, {"group": "3"}
SITE_OF = "site of "


class Tree:
    """Writes the bodies of one model, as they are in the configuration q that its file describes.

    Attributes
    ----------
    bodies, sites : the element of each link that becomes one, "world" among the bodies
    joints : the element of each joint under its own name, in the file's order; order : of all joints that move
    geoms : what each link touches with; shapes : the same by the ids of shapes
    axes : (3, 3) along which moments of inertia are to be written, of links
    """

    def __init__(self, model: Model, file: str, lost: list[str], asset: Any, world: Any, named: Container[str], axes: dict[str, Array]
                 ) -> None:  # fmt: skip
        self.model, self.file, self.lost, self.asset, self.world = model, file, lost, asset, world
        self.named, self.axes = named, axes
        self.q = model.initial()
        self.links = {link.name: link for link in model.links}
        self.below: dict[str, list[Joint]] = {}
        for joint in model.joints:
            self.below.setdefault(joint.parent, []).append(joint)
        self.meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self.names: set[str] = set()
        self.bodies: dict[str, Any] = {}
        self.sites: dict[str, Any] = {}
        self.joints: dict[str, Any] = {}
        self.order: list[Joint] = []
        self.geoms: dict[str, list[Any]] = {}
        self.shapes: dict[int, Any] = {}

    def write(self) -> None:
        """Write all bodies: those of a link called world into the world, any other root as a body."""
        root, above = self.model.links[0], {joint.child for joint in self.model.joints}
        if WORLD in above:
            raise RobotFileError(f"link '{WORLD}' hangs on a joint, and MJCF's body of that name is the world itself; expected it with "
                                 "another name (networkx.relabel_nodes of the model's graph)", self.file)  # fmt: skip
        if root.name == WORLD and root.inertia.any():
            self.lost.append(f"the inertia of link '{WORLD}'")
        self.bodies[WORLD] = self.world
        if root.name == WORLD:
            self.inside(self.world, root)
        elif self.model.joints and not self.model.joints[0].parent:
            self.body(self.world, self.model.joints[0])
        else:
            self.body(self.world, Joint("root", "fixed", "", root.name))
        for joint in self.order:
            at = self.model.q_slice(joint.name)
            if joint.kind not in (*SINGLE, "floating") and not np.array_equal(self.q[at], self.model.neutral()[at]):
                self.lost.append(f"the configuration described of joint '{joint.name}'")

    def at(self, joint: Joint) -> float:
        """Return the coordinate at which a joint stands as it is written."""
        return float(self.q[self.model.q_slice(joint.name)][0]) if joint.kind in SINGLE and joint.mimic is None else 0.0

    def pose(self, joint: Joint) -> Array:
        """Return where a joint has its child's frame in its parent's (4, 4), as they are written."""
        if joint.kind == "floating":
            x = self.q[self.model.q_slice(joint.name)]
            return joint.placement @ se3.pose(quaternion.to_matrix(x[:4]), x[4:])
        return joint.placement @ motion(joint.kind, joint.axis, self.at(joint))

    def body(self, parent: Any, joint: Joint) -> None:
        """Write the link that a joint carries, with the joints of links before it that are nothing but frames."""
        from lxml import etree

        chain, T = [joint], self.pose(joint)
        while (following := self.next(chain[-1])) is not None:
            chain.append(following)
            T = T @ self.pose(following)
        link, anchor = self.links[chain[-1].child], np.zeros(3)
        e = etree.SubElement(parent, "body", name=link.name, **pose_attributes(T))
        written: list[dict[str, str]] = []
        for k in reversed(range(len(chain))):
            written += reversed(self.moving(chain[k], anchor))
            anchor = anchor - self.pose(chain[k])[:3, 3]
        for attributes in reversed(written):
            self.joints[attributes["name"]] = etree.SubElement(e, "joint", **attributes)
        self.order += [j for j in chain if j.kind != "fixed"]
        self.inside(e, link)

    def next(self, joint: Joint) -> Joint | None:
        """Return the joint after a link that is nothing but a frame between it and one before, or None."""
        below = self.below.get(joint.child, [])
        plain = len(below) == 1 and not carries(self.links[joint.child]) and joint.child not in self.named
        if not plain or "floating" in (joint.kind, below[0].kind) or joint.kind == "fixed":
            return None
        start = motion(below[0].kind, below[0].axis, -self.at(below[0]))
        return below[0] if np.array_equal(below[0].placement[:3, :3], start[:3, :3]) else None

    def moving(self, joint: Joint, anchor: Any) -> list[dict[str, str]]:
        """Return the attributes of what a joint becomes."""
        if joint.kind == "fixed":
            return []
        if joint.mimic is not None:
            raise RobotFileError(f"joint '{joint.name}' mimics '{joint.mimic.source}', which MJCF has not; expected none that does",
                                 self.file)  # fmt: skip
        if joint.kind == "universal":
            axes = [(f"{joint.name}_{k}", "hinge", a) for k, a in ((1, joint.axis), (2, joint.axis2))]
        elif joint.kind in KINDS:
            axes = [(joint.name, KINDS[joint.kind], joint.axis)]
        else:
            raise RobotFileError(f"joint '{joint.name}' is {joint.kind}, which MJCF has not; expected one of {', '.join(KINDS)}", self.file)
        if joint.kind == "floating" and self.links.get(joint.parent, Link(WORLD)).name != WORLD:
            raise RobotFileError(f"joint '{joint.name}' floats within the tree, which MJCF has not; expected it at the world", self.file)
        limits = joint.limits
        if np.isfinite(limits.velocity):
            self.lost.append("limits of speed")
        if np.isfinite([limits.acceleration, limits.deceleration, limits.jerk]).any():
            self.lost.append("limits of acceleration and jerk")
        found = []
        for name, kind, axis in axes:
            attributes = {"name": name, "type": kind, "damping": row(joint.damping), "frictionloss": row(joint.friction),
                          "armature": row(joint.armature)}  # fmt: skip
            if kind in ("hinge", "slide"):
                attributes |= {"axis": row(axis)} | ({"ref": row(ref)} if (ref := self.at(joint)) else {})
                if np.isfinite([limits.lower, limits.upper]).all() and limits.lower < limits.upper:
                    attributes |= {"range": row((limits.lower, limits.upper)), "limited": "true"}
                elif np.isfinite([limits.lower, limits.upper]).any():
                    self.lost.append("limits at one end")
                if np.isfinite(limits.effort) and limits.effort > 0.0:
                    attributes |= {"actuatorfrcrange": row((-limits.effort, limits.effort)), "actuatorfrclimited": "true"}
            if kind != "free" and np.any(anchor):
                attributes |= {"pos": row(anchor)}
            found.append(attributes)
        return found

    def inside(self, e: Any, link: Link) -> None:
        """Write what a link has: its mass, its shapes, and what hangs on it."""
        from lxml import etree

        self.bodies[link.name] = e
        if link.inertia.any() and link.name != WORLD:
            mass, center, I = body_of(link, self.file)
            R = self.axes.get(link.name)
            if R is None:
                moments = {"fullinertia": row([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])}
            else:
                moments = {"diaginertia": row(np.diag(R.T @ I @ R)), "quat": row(quaternion.from_matrix(R))}
            etree.SubElement(e, "inertial", mass=row(mass), pos=row(center), **moments)
        both = {id(g) for g in link.visuals} & {id(g) for g in link.collisions}
        shapes = [(g, {} if id(g) in both else DRAWN) for g in link.visuals]
        shapes += [(g, TOUCHED) for g in link.collisions if id(g) not in both]
        for g, attributes in shapes:
            if (geom := self.shape(e, g, attributes)) is not None and attributes is not DRAWN:
                self.geoms.setdefault(link.name, []).append(geom)
                self.shapes[id(g)] = geom
        for joint in self.below.get(link.name, []):
            if self.frame(joint):
                self.sites[joint.child] = self.site(e, joint.child, joint.placement)
            else:
                self.body(e, joint)

    def frame(self, joint: Joint) -> bool:
        """Return whether a joint's child link is a frame alone, which becomes a site."""
        name = joint.child
        return joint.kind == "fixed" and not carries(self.links[name]) and not self.below.get(name) and name not in self.named

    def site(self, e: Any, name: str, T: Array) -> Any:
        """Write a site, and return it; the reader says "site of" before the name of one that is called as a body is."""
        from lxml import etree

        taken = {site.get("name") for site in self.sites.values()}
        own = name.removeprefix(SITE_OF)
        own = own if own in self.links and own not in taken else name
        while own in taken:
            own += "_"
        return etree.SubElement(e, "site", name=own, **pose_attributes(T))

    def shape(self, e: Any, g: Geometry, attributes: dict[str, str]) -> Any:
        """Write a shape, and return it, or None where MJCF has it not."""
        from lxml import etree

        if g.kind == "heightfield" or min(map(abs, g.size)) == 0.0:
            self.lost.append("height fields" if g.kind == "heightfield" else "shapes without extent")
            return None
        name = g.name
        while name in self.names:                                               # as two robots may call theirs the same
            name += "_"
        self.names |= {name} - {""}
        named = {"name": name} if name else {}
        if g.material is not None and g.material.texture is not None:
            self.lost.append("textures")
        look = {"rgba": row(g.material.color)} if g.material is not None and g.material.color is not None else {}
        geom = etree.SubElement(e, "geom", type=g.kind, **pose_attributes(g.placement), **named, **look, **attributes)
        if g.kind == "mesh":
            geom.set("mesh", self.mesh(g))
        elif g.kind in ("capsule", "cylinder"):
            geom.set("size", row((g.size[0], g.size[1] / 2.0)))
        else:
            geom.set("size", row(np.array(g.size) / (2.0 if g.kind == "box" else 1.0)))
        return geom

    def mesh(self, g: Geometry) -> str:
        """Return the name of a mesh among the file's assets."""
        from lxml import etree

        key = mesh_of(g, self.file), g.size
        if key not in self.meshes:
            self.meshes[key] = f"{Path(key[0]).stem}_{len(self.meshes)}"
            asset = etree.SubElement(self.asset, "mesh", name=self.meshes[key], scale=row(g.size))
            if g.mesh is not None and g.mesh.suffix.lower() == ".ply":                              # which MuJoCo does not read
                points, faces = triangles(str(g.mesh.resolve()))
                asset.set("vertex", row(points.ravel()))
                asset.set("face", " ".join(map(str, faces.ravel())))
            else:
                asset.set("file", key[0])
        return self.meshes[key]


def carries(link: Link) -> bool:
    """Return whether a link has an inertia or shapes."""
    return bool(link.inertia.any() or link.visuals or link.collisions)


def pose_attributes(T: Array) -> dict[str, str]:
    """Return a pose (4, 4) as attributes."""
    return {"pos": row(T[:3, 3]), "quat": row(quaternion.from_matrix(T[:3, :3]))}


def section(root: Any, tag: str) -> Any:
    """Return the section of a file that has a name, new where it is not there."""
    from lxml import etree

    found = root.find(tag)
    return etree.SubElement(root, tag) if found is None else found
