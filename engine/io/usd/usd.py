"""Robots in Universal Scene Description (USD), by its physics.

A link is a rigid body; its frame has the body's axes, and its origin in the joint by which it hangs, so that of a body whose joint lies in
its origin both are one. Reference: the schema UsdPhysics, openusd.org.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.checks import require_packages, warn
from engine.io.errors import RobotFileError, RobotFileWarning
from engine.io.notes import Notes
from engine.io.usd import extras
from engine.io.usd.bodies import Body
from engine.io.usd.joints import Hung, Tie, standing_at, ties_of, trees_of
from engine.io.usd.shapes import TURNS
from engine.io.usd.stage import Stage, Whose, first_of, listening, value
from engine.model import Builder, Described, Geometry, Model, ModelError, Part
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
WORLD = extras.WORLD
#: m, or rad at 1 m: how far the poses of two bodies may be from those that their joint lets them have
APART = 1e-4


def load_usd(path: str | os.PathLike[str], floating_base: bool = False) -> Model:
    """Return the :class:`Model` of a stage of USD: its rigid bodies, revolute, prismatic, spherical, fixed and such generic joints.

    Masses and lengths are in the stage's units, angles in degrees, and y may point up. A mass of zero is one not said: it is that of
    the shapes, by their density or their material's, 1000 kg/m³ if that is not said either. A body that a joint ties to the world stands,
    and so does what is kinematic. Of several trees what nothing ties to the world floats; of one alone with ``floating_base``. Joints are
    at zero where their frames meet; ``described.q`` has them where the bodies are. Drives, gravity, joints that close loops, what may touch
    and its friction are in ``model.described``, for :func:`engine.simulator_of`; shapes that no body carries are links that stand.

    Raises
    ------
    RobotFileError : the file is no stage, or has no bodies, a joint of another kind, numbers that cannot be; usd-core is missing

    Warns
    -----
    RobotFileWarning : what is left out, each kind with a name
    """
    found, stage = read(path, floating_base)
    for what, names in stage.left_out.items():
        own = [*dict.fromkeys(names)]
        more = f" and {len(own) - 1} more (engine.check tells of each)" if len(own) > 1 else ""
        warn(f"{stage.file} leaves out {what}: {own[0]}{more}", RobotFileWarning)
    return found


def read(path: str | os.PathLike[str], floating_base: bool = False) -> tuple[Model, Stage]:
    """Return the model of a stage, and that, which knows what is left out."""
    require_packages(f"{os.fsdecode(path)}: USD", "usd", "pxr", error=RobotFileError)
    file = os.fsdecode(path)
    if not os.path.isfile(file):
        raise RobotFileError("there is no such file; expected a stage of USD", file)
    with listening() as heard:
        found, stage = built(file, floating_base)
    for text in heard:
        if not any(composed in text for composed in stage.uncomposed):
            stage.leave("what OpenUSD warns of", first_of([text], file)[1])
    return found, stage


def built(file: str, floating_base: bool) -> tuple[Model, Stage]:
    """Return the model of a stage's file, and the stage."""
    stage = Stage(file)
    bodies = {str(p.GetPath()): Body(stage, p) for p in stage.prims() if stage.is_body(p)}
    if not bodies:
        lacks = "".join(f", without {what}: {names[0]}" for what, names in stage.left_out.items())
        raise RobotFileError(f"it has no rigid bodies (PhysicsRigidBodyAPI){lacks}; expected a mechanism of USD physics", file)
    ties = ties_of(stage, bodies)
    trees, closing = trees_of(stage, bodies, ties)
    try:
        found = Built(stage, bodies, trees, floating_base).whole(ties, closing)
    except ModelError as problem:
        raise RobotFileError(str(problem), file) from None
    stage.unread()
    return found, stage


def read_stage(path: str | os.PathLike[str], floating_base: bool = False) -> tuple[Model, Notes]:
    """Return the model of a stage, and all that is left out."""
    found, stage = read(path, floating_base)
    notes = Notes()
    for what, names in stage.left_out.items():
        for name in dict.fromkeys(names):
            notes.warn(Whose(name), f"it leaves out {what}")
    return found, notes


class Built:
    """A model of trees of bodies that is being made.

    Attributes
    ----------
    names, joints : of links and joints, by the paths of their prims
    shifts : of each body the pose of its own frame in its link's (4, 4)
    """

    def __init__(self, stage: Stage, bodies: dict[str, Body], trees: Sequence[Sequence[Hung]], floating_base: bool) -> None:
        self.stage, self.bodies, self.trees = stage, bodies, trees
        default = stage.stage.GetDefaultPrim().GetName() if stage.stage.HasDefaultPrim() else ""
        self.builder = Builder(default or os.path.splitext(os.path.basename(stage.file))[0])
        self.names, self.joints, self.shifts = dict[str, str](), dict[str, str](), dict[str, Array]()
        self.standing, self.ground = stood(stage)
        base = trees[0][0].tie
        if floating_base and len(trees) == 1 and base is not None:
            raise RobotFileError(f"joint {base.name} ties it to the world; expected floating_base=False", stage.file)
        if len(trees) == 1 and base is None and not floating_base and not bodies[trees[0][0].body].stands:
            stage.leave("that nothing ties it to the world, where it stands now (floating_base=True lets it float)", trees[0][0].body)
        self.floats = floating_base or len(trees) > 1
        self.alone = floating_base and len(trees) == 1 and not self.standing
        self.at: list[tuple[str, Array]] = []
        if not self.alone:
            self.builder.add_link(WORLD)
        for tree in trees:
            for hung in tree:
                self.add(hung)
        for body in self.standing:
            self.names[body.path] = name = unique(body.prim.GetName(), body.path, [*self.names.values(), WORLD])
            self.builder.add_link(name, np.zeros((6, 6)), body.visuals, body.collisions)
            self.builder.add_joint(f"{name}_stands", "fixed", WORLD, name, body.pose)

    def add(self, hung: Hung) -> None:
        """Add a body and its joint."""
        path, tie, turned = hung
        body, builder = self.bodies[path], self.builder
        self.names[path] = name = unique(body.prim.GetName(), path, [*self.names.values(), WORLD])
        on_parent, on_child = (np.eye(4), np.eye(4)) if tie is None else tie.frames[::-1] if turned else tie.frames
        self.shifts[path] = back = se3.inv(se3.pose(np.eye(3), on_child[:3, 3]))
        builder.add_link(name, inertia.transformed(back, body.inertia) if body.inertia.any() else body.inertia,
                         [place_shape(g, back) for g in body.visuals], [place_shape(g, back) for g in body.collisions])  # fmt: skip
        if tie is None:
            self.root(body, name)
            return
        parent = tie.ends[1] if turned else tie.ends[0]
        R = on_child[:3, :3]
        placement = (self.shifts[parent] if parent else np.eye(4)) @ on_parent @ se3.pose(R.T, np.zeros(3))
        axis = R @ tie.axis * (-1.0 if turned else 1.0)
        free = tie.kind == "revolute" and not np.isfinite([tie.limits.lower, tie.limits.upper]).any()
        key = str(tie.prim.GetPath())
        self.joints[key] = joint = unique(tie.name, key, [j.name for _, _, j in builder.graph.edges.data("joint")])
        armature = self.stage.added(tie.prim, "physxJoint:armature", 0.0) if tie.drive else 0.0
        scale = self.stage.mass * (self.stage.length**2 if tie.kind == "revolute" else 1.0)
        builder.add_joint(joint, "continuous" if free else tie.kind, self.names[parent] if parent else WORLD, name, placement, axis,
                          limits=tie.limits, armature=float(armature) * scale)  # fmt: skip
        if tie.kind == "spherical" and any(value(tie.prim.GetAttribute(f"physics:coneAngle{k}Limit"), -1.0) >= 0.0 for k in (0, 1)):
            self.stage.leave("limits of spherical joints", tie.prim.GetPath())
        T = (se3.inv(self.bodies[parent].pose @ on_parent) if parent else se3.inv(on_parent)) @ body.pose @ on_child
        q, rest = standing_at(tie._replace(axis=tie.axis * (-1.0 if turned else 1.0)), T)
        if rest > APART:
            self.stage.leave("that bodies lie apart from where their joints hold them", tie.prim.GetPath())
        if tie.kind == "spherical":                                            # in the link's axes, not the joint's frame
            q = quaternion.from_matrix(R @ quaternion.to_matrix(q) @ R.T)
        if len(q):
            self.at.append((joint, q))

    def root(self, body: Body, name: str) -> None:
        """Let a body stand or float that hangs on no other."""
        if self.alone:
            return
        if body.stands or not self.floats:
            self.builder.add_joint(f"{name}_stands", "fixed", WORLD, name, body.pose)
            return
        self.builder.add_joint(f"{name}_floats", "floating", WORLD, name)
        self.at.append((f"{name}_floats", pose_of(body)))

    def whole(self, ties: Sequence[Tie], closing: Iterable[Tie]) -> Model:
        """Return the model, with what is said besides."""
        model = self.builder.model(floating_base=self.alone)
        q = model.neutral()
        for joint, x in self.at:
            q[model.q_slice(joint)] = x
        if self.alone:
            q[:7] = pose_of(self.bodies[self.trees[0][0].body])
        stage = self.stage
        held = {str(h.tie.prim.GetPath()): h for tree in self.trees for h in tree if h.tie}
        drives = (extras.drive_of(stage, t, self.joints[key]) for t in ties if (key := str(t.prim.GetPath())) in held)
        constraints = tuple(extras.closed(stage, t, self.names, self.shifts) for t in closing)
        carried = ((self.bodies[h.body], k) for k, tree in enumerate(self.trees) for h in tree)
        solids = [extras.Solid(self.names[b.path], b, k, b.stands) for b, k in (*carried, *((b, -1) for b in self.standing))]
        touching = extras.contacts_of(stage, model, solids, ties, self.ground)
        actuators: tuple[Part, ...] = tuple(d for d in drives if d is not None)
        return replace(model, described=Described(q, extras.gravity_of(stage), None, constraints, actuators, contacts=touching))


def stood(stage: Stage) -> tuple[list[Body], tuple[Any, Array] | None]:
    """Return what touches and no body carries, and the ground: a plane, and its pose with z along its normal."""
    found, ground = list[Body](), None
    for prim in stage.standing():
        if not prim.IsA(stage.Geom.Gprim) or not stage.collides(prim):
            continue
        if prim.IsA(stage.Geom.Plane):
            if ground is not None:
                stage.leave("planes but the first", prim.GetPath())
                continue
            turn = TURNS[str(value(stage.Geom.Plane(prim).GetAxisAttr(), "Z"))]
            ground = prim, stage.pose(prim)[0] @ se3.pose(turn, np.zeros(3))
        elif (body := Body(stage, prim, moves=False)).collisions:
            found.append(body)
    return found, ground


def pose_of(body: Body) -> Array:
    """Return where a body is, as a quaternion and a place (7)."""
    return np.concatenate([quaternion.normalize(quaternion.from_matrix(body.pose[:3, :3])), body.pose[:3, 3]])


def unique(name: str, path: str, taken: Sequence[str]) -> str:
    """Return a prim's name, or, where that is taken, its whole path."""
    return name if name not in taken else path.strip("/").replace("/", "_")


def place_shape(shape: Geometry, T: Array) -> Geometry:
    """Return a shape elsewhere."""
    return replace(shape, placement=T @ shape.placement)
