"""Models as MJCF files, MuJoCo's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.mjcf.bodies import WORLD
from engine.io.written import body_of, mesh_of, row, said_of, save
from engine.model import Geometry, Joint, Link, Model
from engine.spatial import quaternion

KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball", "floating": "free"}
#: of shapes that are drawn alone, touch alone, or both
DRAWN, TOUCHED = {"group": "2", "contype": "0", "conaffinity": "0"}, {"group": "3"}


def save_mjcf(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model as an MJCF file, and return its path.

    Positions, axes, masses, limits, damping and armature are read back to the bit; orientations, which are written as quaternions, and
    inertias, which are written about the centre of mass, to rounding. Links that are fixed and carry nothing become sites; a root that is
    not called "world" becomes a body of it. Of what another file described besides the tree, gravity and dt are written.

    Raises
    ------
    RobotFileError : a joint of a kind that MJCF has not, or that mimics another; an inertia of no rigid body; the file cannot be written

    Warns
    -----
    RobotFileWarning : what is left out: height fields, textures, limits of speed, acceleration and jerk, and what another file described
        besides the tree, with the configuration in which it had the robot
    """
    return save(model, path, mjcf_of)


def mjcf_of(model: Model, file: str, lost: list[str]) -> Any:
    """Return the <mujoco> of a model."""
    from lxml import etree

    root = etree.Element("mujoco", model=model.name)
    etree.SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    if (said := model.described) is not None:
        option = {"gravity": row(said.gravity)} if said.gravity is not None else {}
        option |= {"timestep": row(said.dt)} if said.dt is not None else {}
        etree.SubElement(root, "option", **option)
        lost += said_of(model)
    Writer(model, file, lost, etree.SubElement(root, "asset"), etree.SubElement(root, "worldbody")).write()
    return root


class Writer:
    """Writes the bodies of one model."""

    def __init__(self, model: Model, file: str, lost: list[str], asset: Any, world: Any) -> None:
        self.model, self.file, self.lost, self.asset, self.world = model, file, lost, asset, world
        self.links = {link.name: link for link in model.links}
        self.below: dict[str, list[Joint]] = {}
        for joint in model.joints:
            self.below.setdefault(joint.parent, []).append(joint)
        self.meshes: dict[tuple[str, tuple[float, ...]], str] = {}

    def write(self) -> None:
        """Write all bodies: those of a link called world into the world, any other root as a body."""
        root = self.model.links[0]
        if root.name == WORLD:
            self.inside(self.world, root)
        elif self.model.joints and not self.model.joints[0].parent:
            self.body(self.world, self.model.joints[0])
        else:
            self.body(self.world, Joint("root", "fixed", "", root.name))

    def body(self, parent: Any, joint: Joint) -> None:
        """Write the link that a joint carries, with the joints of links before it that are nothing but frames."""
        from lxml import etree

        chain, T = [joint], joint.placement
        while (following := self.next(chain[-1])) is not None:
            chain.append(following)
            T = T @ following.placement
        link, anchor = self.links[chain[-1].child], np.zeros(3)
        e = etree.SubElement(parent, "body", name=link.name, pos=row(T[:3, 3]), quat=row(quaternion.from_matrix(T[:3, :3])))
        written: list[dict[str, str]] = []
        for k in reversed(range(len(chain))):
            written += reversed(self.joints(chain[k], anchor))
            anchor = anchor - chain[k].placement[:3, 3]
        for attributes in reversed(written):
            etree.SubElement(e, "joint", **attributes)
        self.inside(e, link)

    def next(self, joint: Joint) -> Joint | None:
        """Return the joint after a link that is nothing but a frame between it and one before, or None."""
        below = self.below.get(joint.child, [])
        plain = len(below) == 1 and not carries(self.links[joint.child]) and joint.kind != "fixed"
        return below[0] if plain and np.array_equal(below[0].placement[:3, :3], np.eye(3)) and below[0].kind != "floating" else None

    def joints(self, joint: Joint, anchor: Any) -> list[dict[str, str]]:
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
                attributes |= {"axis": row(axis)}
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

        if link.inertia.any() and link.name != WORLD:
            mass, center, I = body_of(link, self.file)
            tensor = row([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
            etree.SubElement(e, "inertial", mass=row(mass), pos=row(center), fullinertia=tensor)
        both = {id(g) for g in link.visuals} & {id(g) for g in link.collisions}
        for g in link.visuals:
            self.shape(e, g, {} if id(g) in both else DRAWN)
        for g in link.collisions:
            if id(g) not in both:
                self.shape(e, g, TOUCHED)
        for joint in self.below.get(link.name, []):
            child = self.links[joint.child]
            if joint.kind == "fixed" and not carries(child) and child.name not in self.below:
                T = joint.placement
                etree.SubElement(e, "site", name=child.name, pos=row(T[:3, 3]), quat=row(quaternion.from_matrix(T[:3, :3])))
            else:
                self.body(e, joint)

    def shape(self, e: Any, g: Geometry, attributes: dict[str, str]) -> None:
        """Write a shape."""
        from lxml import etree

        if g.kind == "heightfield" or min(map(abs, g.size)) == 0.0:
            self.lost.append("height fields" if g.kind == "heightfield" else "shapes without extent")
            return
        named = {"name": g.name} if g.name else {}
        T = g.placement
        if g.material is not None and g.material.texture is not None:
            self.lost.append("textures")
        look = {"rgba": row(g.material.color)} if g.material is not None and g.material.color is not None else {}
        geom = etree.SubElement(e, "geom", type=g.kind, pos=row(T[:3, 3]), quat=row(quaternion.from_matrix(T[:3, :3])), **named, **look,
                                **attributes)  # fmt: skip
        if g.kind == "mesh":
            geom.set("mesh", self.mesh(g))
        elif g.kind in ("capsule", "cylinder"):
            geom.set("size", row((g.size[0], g.size[1] / 2.0)))
        else:
            geom.set("size", row(np.array(g.size) / (2.0 if g.kind == "box" else 1.0)))

    def mesh(self, g: Geometry) -> str:
        """Return the name of a mesh among the file's assets."""
        from lxml import etree

        key = mesh_of(g, self.file), g.size
        if key not in self.meshes:
            self.meshes[key] = f"{Path(key[0]).stem}_{len(self.meshes)}"
            etree.SubElement(self.asset, "mesh", name=self.meshes[key], file=key[0], scale=row(g.size))
        return self.meshes[key]


def carries(link: Link) -> bool:
    """Whether a link is more than a frame."""
    return bool(link.inertia.any() or link.visuals or link.collisions)
