"""Robots in Gazebo's format, SDF: the tree, and what the file says besides.

The file is untrusted: it is read without document types, entities or network, bounded in size and depth, and nothing malformed is
repaired. Reference: the SDFormat specification, sdformat.org/spec.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from engine import dynamics
from engine.calls import call_checked
from engine.checks import nearest, warn
from engine.io.errors import RobotFileError, RobotFileWarning, short
from engine.io.notes import Notes
from engine.io.sdf.contacts import contacts
from engine.io.sdf.document import Document, Node
from engine.io.sdf.frames import LEVEL, WORLD, Frame, Scope, body_of, depth, frames, pose_in_base, relative, world
from engine.io.sdf.includes import expanded
from engine.io.sdf.joints import Joints, Parts
from engine.io.sdf.links import Links
from engine.io.sdf.loops import closed, geared, split
from engine.io.sdf.schema import examine
from engine.io.sdf.sensors import sensors
from engine.model import Described, Joint, Link, Model, ModelError, Part
from engine.model.file_extras import to_plain
from engine.spatial import inertia, quaternion

Array = np.ndarray
#: m/s², of worlds that say nothing; and of models by themselves, which have none of their own
GRAVITY, USUAL = (0.0, 0.0, -9.8), to_plain(dynamics.GRAVITY)
FLOATING_BASE = "floating_base"
#: where a file begins
START = Node("sdf", {})


@call_checked
def load_sdf(path: str | os.PathLike[str], model: str | None = None, package_dirs: Iterable[str | os.PathLike[str]] = ()
             ) -> Model:  # fmt: skip
    """Return the :class:`Model` of an SDF file.

    Parameters
    ----------
    path : the .sdf file; or its text itself, a str that begins with ``<``
    model : the name of one model of a world; by default all of them are read as one. The names in each are then after its own,
        "arm::elbow", as those in nested models always are
    package_dirs : folders in which models that are included and meshes may lie, or folders of those; besides the file's own, and those in
        GZ_SIM_RESOURCE_PATH and SDF_PATH

    Raises
    ------
    RobotFileError : the file cannot be read, is no SDF, or describes no mechanism

    Warns
    -----
    RobotFileWarning : something in it is not read; :func:`engine.check` tells of all

    Notes
    -----
    A tree of links that no joint ties to the world floats, unless its model is static. A joint whose frame is apart from its child's has
    a massless link of its name in between, so that all link frames are the file's; a <frame> is a massless link, too. Joints "revolute2"
    are two, "name" and "name::axis2"; so are universal ones whose axes differ in limits or losses.

    Examples
    --------
    >>> load_sdf('<sdf version="1.9"><model name="stone"><link name="stone"/></model></sdf>')
    <model 'stone': 1 links, 1 joints, nq 7, nv 6>
    """
    found, notes = read(path, model, package_dirs)
    if said := summed(notes):
        warn(f"{notes.file}: {said}", RobotFileWarning)
    return found


def read(path: Any, model: str | None = None, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> tuple[Model, Notes]:
    """Return the model of a file, with what it says besides the tree, and all that is to be said of it."""
    document, notes = Document(path, package_dirs), Notes()
    notes.file = document.file
    root = expanded(document, document.root)
    place, models = choose_models(root, model)
    examine(root if model is None else models[0], notes)
    with np.errstate(all="ignore"):             # absurd numbers overflow, and are refused by what they make
        source = Source(document, notes, world(place, models))
        found = source.model(place.name if len(models) > 1 else models[0].name)
        return replace(found, described=source.said(found)), notes


def choose_models(root: Node, name: str | None) -> tuple[Node, list[Node]]:
    """Return the world of a file (or its <sdf> element), and the models to read."""
    worlds = [*root.all("world")]
    place = worlds[0] if worlds else root
    models = [n for p in (worlds or [root]) for n in p.all("model")]
    names = ", ".join(f"'{short(n.name)}'" for n in models[:10]) + (", …" if len(models) > 10 else "")
    if not models:
        raise place.error("there is no <model>; expected one")
    if name is not None:
        if not (named := [n for n in models if n.name == name]):
            near = nearest(str(name), [n.name for n in models])
            raise place.error(f"model={short(repr(name))} is not there{near}; expected one of {names}")
        return named[0].parent or place, named[:1]
    if len(worlds) > 1 or (not worlds and len(models) > 1):
        raise place.error(f"there are several {'worlds' if len(worlds) > 1 else 'models'}; expected model= with one of {names}")
    return place, models


@dataclass
class Root:
    """A link with nothing above it: whether it floats, or stands where it is."""

    link: Frame
    floats: bool


class Source:
    """A file that is being made into a model."""

    def __init__(self, document: Document, notes: Notes, scope: Scope) -> None:
        self.notes, self.scope, self.file = notes, scope, document.file
        self.frames = [*frames(scope)]
        self.links = [f for f in self.frames if f.kind == "link"]
        for frame in self.frames:
            depth(frame), pose_in_base(frame)                   # every frame is somewhere, whether something asks for it or not
        self.reader, self.joints = Links(document, notes), Joints(self.frames, notes)
        self.tree, self.closing = split([j for j in self.joints.joints if j.type != "gearbox"])
        held = {j.child for j in self.tree}
        self.roots = [Root(f, not f.scope.static) for f in self.links if f not in held]
        self.parts, self.floating = Parts(), dict[str, Frame]()

    # ------------------------------------------------------------ the tree

    def model(self, name: str) -> Model:
        """Return the links and joints as a model."""
        own = [self.reader.link(f) for f in self.links]
        if not own:
            raise self.scope.node.error("there is no <link>; expected one")
        for joint in self.tree:
            self.joints.make(joint, self.parts)
        grounded = any(j.parent is self.scope.own for j in self.tree)
        alone = not grounded and len(self.roots) == 1 and self.roots[0].floats
        hung = [] if alone else [self.hung(r) for r in self.roots]
        named = [f for f in self.frames if f.kind == "frame" and not (alone and body_of(f) is self.scope.own)]
        for f in self.frames if alone else ():
            if f.kind == "frame" and f not in named:
                self.notes.note(f.node, "it is attached to the world, which nothing else is, and is left out")
        links = [*([] if alone else [Link(WORLD)]), *own, *self.parts.links, *(Link(f.name) for f in named)]
        joints = [*hung, *self.parts.joints, *(Joint(f.name, "fixed", (b := body_of(f)).name, f.name, relative(b, f)) for f in named)]
        graph = nx.DiGraph(name=name)
        graph.add_nodes_from((link.name, {"link": link}) for link in links)
        graph.add_edges_from((j.parent, j.child, {"joint": j}) for j in joints)
        try:
            model = Model.from_graph(graph, floating_base=alone)
        except ModelError as problem:
            raise RobotFileError(str(problem), self.file) from None
        if alone:
            self.floating = {model.joints[0].name: self.roots[0].link}
        return model

    def hung(self, root: Root) -> Joint:
        """Return the joint by which a link with nothing above it is in the world."""
        name = f"{root.link.name}{LEVEL}{FLOATING_BASE if root.floats else WORLD}"
        if root.floats:
            self.floating[name] = root.link
            return Joint(name, "floating", WORLD, root.link.name)
        return Joint(name, "fixed", WORLD, root.link.name, relative(self.scope.own, root.link))

    # ------------------------------------------------------------ what else is said

    def said(self, model: Model) -> Described:
        """Return what the file says besides the tree."""
        place = self.scope.node if self.scope.node.tag == "world" else None
        gravity, dt = USUAL, None
        if place is not None:
            gravity = GRAVITY
            if (g := place.first("gravity")) is not None:
                x, y, z = g.numbers(3)
                gravity = (x, y, z)
            physics = [*place.all("physics")]
            if len(physics) > 1:
                self.notes.note(physics[1], "there are several <physics>; the first that says default=\"true\" counts, or the first")
            at = next((p for p in physics if p.truth(p.attributes.get("default", "false"))), physics[0] if physics else None)
            dt = None if at is None else step_of(at)
        gears = [geared(j, self.tree, self.notes) for j in self.joints.joints if j.type == "gearbox"]
        constraints = (*(closed(j, self.notes) for j in self.closing), *(g for g in gears if g is not None))
        q = model.neutral()
        for name, link in self.floating.items():
            T = relative(self.scope.own, link)
            q[model.q_slice(name)] = [*quaternion.from_matrix(T[:3, :3]), *T[:3, 3]]
        forces = (*self.parts.springs, *self.weightless(model, gravity))
        touching = contacts(model, self.links, self.tree + self.closing, self.notes)
        measured = tuple(sensors(self.links, self.tree))
        return Described(q, gravity if place is not None else None, dt, constraints, forces=forces, contacts=touching, measured=measured)

    def weightless(self, model: Model, gravity: tuple[float, float, float]) -> list[Part]:
        """Return the forces that hold links against gravity which say that they have none, at their centres of mass."""
        found = []
        for frame in self.links:
            link = model.link(frame.name)
            if not frame.node.flag("gravity", default=True) and link.mass and not frame.scope.static and any(gravity):
                force, point = -link.mass * np.array(gravity), inertia.center(link.inertia)
                name = f"buoyancy of {frame.name}"
                found.append(Part("PointForce", {"link": frame.name, "force": to_plain(force), "point": to_plain(point), "name": name}))
        return found


def step_of(physics: Node) -> float | None:
    """Return the time step that a <physics> says, or None."""
    if (step := physics.first("max_step_size")) is None:
        return None
    if not (dt := step.numbers(1)[0]) > 0.0:
        raise step.error(f"<max_step_size> is {dt:g} s; expected a time above zero")
    return dt


def summed(notes: Notes) -> str:
    """Return one sentence about what is not read, or not as it is meant, or ''."""
    told = list(dict.fromkeys(f"{n.node.place} (line {n.node.line}): {n.message}"
                              for severity in ("warning", "note") for n in notes if n.severity == severity))  # fmt: skip
    if not told:
        return ""
    more = f"; and {len(told) - 4} more" if len(told) > 4 else ""
    return f"{'; '.join(t if len(t) < 300 else short(t) for t in told[:4])}{more} (engine.check tells of each)"
