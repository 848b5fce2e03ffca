"""Robots in MuJoCo's format, MJCF: the tree, and what the file says besides.

The file is untrusted: it is read without document types, entities or network, bounded in size and depth, and nothing malformed is
repaired. Reference: the MuJoCo XML reference, mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from engine.checks import warn
from engine.dynamics.crba import crba
from engine.gc_pause import gc_paused
from engine.io.errors import RobotFileError, RobotFileWarning, short
from engine.io.given import TEXT
from engine.io.mjcf.actuators import Actuators
from engine.io.mjcf.bodies import Bodies, Tree
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Document, Node
from engine.io.mjcf.equality import Equalities
from engine.io.mjcf.masses import box_edges
from engine.io.mjcf.meshes import Meshes
from engine.io.mjcf.schema import examine
from engine.io.mjcf.sensors import sensors
from engine.io.mjcf.settings import Settings, settings_of
from engine.io.mjcf.shapes import Shapes
from engine.io.mjcf.states import initial_configuration, keyframes
from engine.io.mjcf.tendons import Tendons
from engine.io.mjcf.touching import Touching
from engine.io.notes import Notes
from engine.model import Described, Joint, Model, ModelError, Part
from engine.model.file_extras import to_plain
from engine.spatial import inertia, se3

Array = np.ndarray
FLOATING_BASE = "floating_base"
#: where a file begins
START = Node("mujoco", {})


@dataclass(eq=False)
class Source:
    """A file that is being read."""

    document: Document
    root: Node
    settings: Settings
    defaults: Defaults
    notes: Notes
    tree: Tree

    @property
    def file(self) -> str:
        return self.document.file


def load_mjcf(path: str | os.PathLike[str], floating_base: bool = False,
              package_dirs: Iterable[str | os.PathLike[str]] = ()) -> Model:  # fmt: skip
    """Return the :class:`Model` of an MJCF file, with what it says besides the tree in ``model.described``; see :func:`engine.load`."""
    model, notes = read(path, floating_base, package_dirs)
    if said := summed(notes):
        warn(f"{notes.file}: {said}", RobotFileWarning)
    return model


@gc_paused()
def read(path: Any, floating_base: bool, package_dirs: Iterable[str | os.PathLike[str]]) -> tuple[Model, Notes]:
    """Return the model of a file, and all that is to be said of it."""
    document = Document(path, package_dirs)
    root, notes = document.root, Notes()
    notes.file = document.file
    examine(root, notes)
    settings, defaults = settings_of(root), Defaults(root)
    with np.errstate(all="ignore"):
        meshes = Meshes(document, defaults, settings)
        tree = Bodies(defaults, settings, Shapes(root, defaults, settings, meshes, notes), notes).read(root)
        source = Source(document, root, settings, defaults, notes, tree)
        model = model_of(source, floating_base)
        touching = Touching(tree, model, settings, defaults, notes)
        if touching.drop():
            model = model_of(source, floating_base)
            touching = Touching(tree, model, settings, defaults, notes)
        model = with_file_extras(source, model, touching)
    return model, notes


def with_file_extras(source: Source, model: Model, touching: Touching) -> Model:
    """Return the model with what the file says besides its tree."""
    tree, settings, notes, defaults = source.tree, source.settings, source.notes, source.defaults
    tendons = Tendons(defaults, settings, tree.turns, notes)
    reader = Actuators(tree, tendons, settings, notes)
    actuators = reader.read(defaults)
    added = (("damping", reader.damping), ("armature", reader.armature))
    numbers = {f"{what}.{j}": getattr(model.joint(j), what) + x for what, more in added for j, x in more.items()}
    model = model.with_parameters(numbers) if numbers else model
    q = initial_configuration(tree, model)
    model, springs = with_springs(source, model, q)
    measured = sensors(source.root, tree, settings.dt, notes)
    said = Described(
        q, settings.gravity, settings.dt,
        constraints=Equalities(tree, tendons, settings, notes).read(defaults),
        actuators=tuple(reader.damped(actuators, model, q)),
        forces=(*springs, *tendons.forces(), *floating(source), *drag(source)),
        contacts=touching.read(),
        keyframes=keyframes(source.root, tree, model, q, reader.order, notes),
        sensors=measured.listed,
        measured=measured.parts,
    )  # fmt: skip
    return replace(model, described=said)


def with_springs(source: Source, model: Model, q: Array) -> tuple[Model, list[Part]]:
    """Return the springs of joints, and the model with the damping of those that are worked out.

    One with the time constant T and the damping ratio ζ has the stiffness m/(T ζ)² and the damping 2 m/T, with the inertia
    m = 1/(M⁻¹)ⱼⱼ that its joint has in the configuration q.
    """
    turns = source.tree.turns.values()
    inverse = np.linalg.pinv(crba(model, q), hermitian=True) if any(t.auto for t in turns) else np.zeros((0, 0))
    springs, damping = [], {}
    for t in turns:
        if t.spring is None:
            continue
        stiffness, rest = t.spring
        if t.auto:
            time, ratio = t.auto
            j = model.v_slice(t.name).start
            stiffness, damping[f"damping.{t.name}"] = 1.0 / (inverse[j, j] * (time * ratio) ** 2), 2.0 / (inverse[j, j] * time)
        springs.append(Part("JointSpring", {"joint": t.name, "stiffness": stiffness, "rest": rest}))
    return model.with_parameters(damping) if damping and "damper" not in source.settings.off else model, springs


def drag(source: Source) -> list[Part]:
    """Return the force of a fluid, on the boxes that have the bodies' inertias."""
    tree, settings = source.tree, source.settings
    if not (settings.density or settings.viscosity):
        return []
    shaped = [s for shapes in tree.shapes.values() for s in shapes if s.node.text("fluidshape") == "ellipsoid"]
    if shaped:
        source.notes.warn(shaped[0].node, f"fluidshape is 'ellipsoid', of {len(shaped)} geoms: the fluid is felt by boxes instead")
    boxes = {}
    for name, R in tree.axes.items():
        link = tree.links[name]
        if name in tree.moving and link.mass:
            if len(tree.shapes[name]) > 1 and np.diff(inertia.principal_moments(link.inertia)).min() < 1e-9 * link.inertia.max():
                source.notes.note(tree.shapes[name][0].node, f"'{name}' has two equal moments: how its box lies in the fluid is not said")
            boxes[name] = to_plain(box_edges(link.inertia, R)), to_plain(se3.pose(R, inertia.center(link.inertia)))
    return [Part("BoxDrag", {"boxes": boxes, "density": settings.density, "viscosity": settings.viscosity, "wind": settings.wind})]


def floating(source: Source) -> list[Part]:
    """Return the forces that hold bodies against a share of gravity, at their centres of mass."""
    found = []
    for name, (share, _) in source.tree.weights.items():
        link = source.tree.links[name]
        if link.mass and name in source.tree.moving and any(source.settings.gravity):
            force = -share * link.mass * np.array(source.settings.gravity)
            found.append(Part("PointForce", {"link": name, "force": to_plain(force), "point": to_plain(inertia.center(link.inertia)),
                                             "name": f"buoyancy of {name}"}))  # fmt: skip
    return found


def model_of(source: Source, floating_base: bool) -> Model:
    """Return the links and joints of a tree as a model."""
    tree, root = source.tree, source.root
    joints = list(tree.joints.values())
    if floating_base:
        joints = floated(source, joints)
    graph = nx.DiGraph(name=root.text("model") or ("" if source.file == TEXT else Path(source.file).stem))
    graph.add_nodes_from((link.name, {"link": link}) for link in tree.links.values())
    graph.add_edges_from((j.parent, j.child, {"joint": j}) for j in joints)
    try:
        return Model.from_graph(graph)
    except ModelError as problem:
        raise RobotFileError(str(problem), source.file) from None


def floated(source: Source, joints: list[Joint]) -> list[Joint]:
    """Return joints of which the one body of the world floats, whether it does in the file or not."""
    bodies = [b for b, above in source.tree.above.items() if above == "world"]
    if len(bodies) != 1:
        raise RobotFileError(f"floating_base=True, and the world has {len(bodies)} bodies; expected one, to float", source.file)
    first = next(j for j in joints if j.parent == "world")
    if first.kind == "floating":
        return joints
    if first.kind != "fixed":
        raise RobotFileError(f"floating_base=True, and '{bodies[0]}' moves by joint '{first.name}'; expected it fixed to the world, or "
                             "by a <freejoint>", source.file)  # fmt: skip
    name = FLOATING_BASE
    while any(j.name == name for j in joints):
        name += "_"
    source.tree.moving.add(bodies[0])
    return [replace(j, name=name, kind="floating", placement=np.eye(4)) if j is first else j for j in joints]


def summed(notes: Notes) -> str:
    """Return one sentence about what makes the motion another than MuJoCo's, or ''."""
    told = list(dict.fromkeys(f"{n.node.place} (line {n.node.line}): {n.message}" for n in notes if n.severity == "warning"))
    if not told:
        return ""
    more = f"; and {len(told) - 4} more" if len(told) > 4 else ""
    return f"{'; '.join(short(t) if len(t) > 300 else t for t in told[:4])}{more} (engine.check tells of each)"
