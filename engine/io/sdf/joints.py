"""Joints: between which links, where, about which axes, and what acts in them.

SDF places a joint's frame in its child, and the engine's child has the joint's frame. Where the two differ in a way that matters, a
massless link stands between them, with the joint's name (which is a frame's in SDF, too): link frames stay those of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import tau
from typing import Any

import numpy as np

from engine.io.errors import RobotFileError, short
from engine.io.notes import Notes
from engine.io.sdf.document import Node
from engine.io.sdf.frames import LEVEL, WORLD, Frame, body_of, relative
from engine.model import Joint, Limits, Link, Mimic, ModelError, Part

Array = np.ndarray
#: the types of joints: what they are here
KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "screw": "screw", "ball": "spherical",
         "universal": "universal", "revolute2": "revolute", "fixed": "fixed", "gearbox": ""}  # fmt: skip
AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2, "gearbox": 2}
#: a distance from a joint's axis that is none, for each metre that it is away
BESIDE = 1e-12


@dataclass(eq=False)
class Axis:
    """An axis of a joint: the direction in the joint's frame, and all that is said of the motion along it."""

    node: Node
    direction: Array
    limits: Limits
    damping: float
    friction: float
    spring: tuple[float, float] | None
    mimic: Mimic | None


@dataclass(eq=False)
class Hinged:
    """A joint of a file: its frame, the links it is between, its type and its axes."""

    frame: Frame
    parent: Frame
    child: Frame
    type: str
    axes: list[Axis]
    pitch: float = 0.0
    damping: float = 0.0

    @property
    def name(self) -> str:
        return self.frame.name

    def error(self, reason: str) -> RobotFileError:
        return self.frame.node.error(reason)


@dataclass
class Parts:
    """Joints and links of the engine, and springs, that a file's joints are made into."""

    joints: list[Joint] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    springs: list[Part] = field(default_factory=list)


class Joints:
    """Reads joints, and makes them into the engine's."""

    def __init__(self, frames: list[Frame], notes: Notes) -> None:
        self.notes = notes
        self.taken = {f.name for f in frames if f.kind != "joint"}
        self.joints = [self.read(f) for f in frames if f.kind == "joint"]
        self.led = {a.mimic.source.removesuffix(f"{LEVEL}axis2") for j in self.joints for a in j.axes if a.mimic}

    # ------------------------------------------------------------ what is written

    def read(self, frame: Frame) -> Hinged:
        """Return what an element says."""
        node, scope = frame.node, frame.scope
        kind = node.choice("type", KINDS)
        parent, child = (body_of(scope.found(e, e.words, "a link, or a frame on one")) for e in map(node.part, ("parent", "child")))
        if child.kind != "link":
            raise node.error("the child is the world; expected a link")
        if parent is child:
            raise node.error(f"parent and child are both on the link '{child.name}'; expected two different ones")
        if scope.static or kind == "fixed":
            if kind != "fixed":
                self.notes.note(node, "it is in a static model, and does not move")
            return Hinged(frame, parent, child, "fixed", [])
        damping = self.ball(node) if kind == "ball" else 0.0
        axes = [self.axis(frame, tag) for tag in ("axis", "axis2")[:AXES.get(kind, 0)]]
        return Hinged(frame, parent, child, kind, axes, pitch_of(node) if kind == "screw" else 0.0, damping)

    def ball(self, node: Node) -> float:
        """Return the damping of a ball joint, about any axis."""
        held = [n for n in (node.first("axis", "limit"), node.first("axis", "dynamics")) if n is not None]
        bounds = [n.bound(which, default=np.inf) for n in held for which in ("lower", "upper")]
        if np.isfinite(bounds).any() or any(n.number(which, default=0.0) for n in held for which in ("friction", "spring_stiffness")):
            self.notes.warn(node, "the limits, friction and spring of a ball joint are not held")
        return self.loss(node, "axis", "damping")

    def axis(self, frame: Frame, tag: str) -> Axis:
        """Return an axis of a joint."""
        node = frame.node
        a = node.part(tag)
        xyz = a.first("xyz")
        direction = np.array([0.0, 0.0, 1.0] if xyz is None else xyz.numbers(3))
        length = float(np.linalg.norm(direction))
        if not 1e-9 < length < np.inf:
            raise a.error(f"<{tag}> is '{short(a.text('xyz'))}'; expected a direction")
        base: Frame = frame
        if node.version < (1, 7):
            if a.flag("use_parent_model_frame", default=node.version < (1, 5)):
                base = frame.scope.own
        elif xyz is not None and xyz.attributes.get("expressed_in"):
            base = frame.scope.found(xyz, xyz.attributes["expressed_in"])
        if base is not frame:
            direction = relative(frame, base)[:3, :3] @ direction
        bounds = limits(a)
        if node.attributes["type"] == "continuous":
            bounds = replace(bounds, lower=-np.inf, upper=np.inf)       # whatever it says: it turns without end
        stiffness = self.loss(node, tag, "spring_stiffness")
        spring = (stiffness, a.number("dynamics", "spring_reference", default=0.0)) if stiffness else None
        return Axis(a, direction / length, bounds, self.loss(node, tag, "damping"), self.loss(node, tag, "friction"), spring,
                    self.mimic(frame, a))  # fmt: skip

    def loss(self, node: Node, axis: str, what: str) -> float:
        """Return a number of an axis' dynamics, zero or more: one below is noted, and left out."""
        x = node.number(axis, "dynamics", what, default=0.0)
        if x < 0.0:
            self.notes.warn(node, f"<{what}> is {x:g}; expected zero or more, and it is left out")
        return max(x, 0.0)

    def mimic(self, frame: Frame, a: Node) -> Mimic | None:
        """Return what an axis follows: q = multiplier (q_leader − reference) + offset."""
        if (m := a.first("mimic")) is None:
            return None
        leader = frame.scope.find(m.required("joint"))
        if leader is None or leader.kind != "joint":
            raise m.error(f"<mimic> names '{short(m.required('joint'))}', which is no joint of the model; expected one")
        source = leader.name + (f"{LEVEL}axis2" if m.choice("axis", ("axis", "axis2"), "axis") == "axis2" else "")
        ratio, offset, reference = (m.number(n, default=float(n == "multiplier")) for n in ("multiplier", "offset", "reference"))
        return Mimic(source, ratio, offset - ratio * reference)

    # ------------------------------------------------------------ what is made

    def make(self, joint: Hinged, parts: Parts) -> None:
        """Add the joints and links that a joint is made into."""
        J, P, C = joint.frame, joint.parent, joint.child
        kind, name = KINDS[joint.type], joint.name
        try:
            if kind in ("fixed", "prismatic"):                          # wherever along its axes the joint's frame is, the motion is one
                turn = relative(C, J)[:3, :3]
                axis = joint.axes[0] if joint.axes else None
                more = {} if axis is None else moves(axis, turn)
                parts.joints.append(Joint(name, kind, P.name, C.name, relative(P, C), **more))
            elif kind == "spherical":
                self.hang(parts, joint, Joint(name, kind, P.name, C.name, relative(P, J), damping=joint.damping),
                          not np.array_equal(relative(J, C), np.eye(4)))  # fmt: skip
            elif joint.type == "universal" and self.as_one(joint):
                one, two = joint.axes
                self.hang(parts, joint, Joint(name, kind, P.name, C.name, relative(P, J), axis2=two.direction, **moves(one)),
                          not np.array_equal(relative(J, C), np.eye(4)))  # fmt: skip
            elif len(joint.axes) == 2:
                self.two(parts, joint)
            else:
                self.about(parts, joint, name, P.name, relative(P, J), joint.axes[0], kind)
        except ModelError as problem:
            raise joint.error(str(problem)) from None
        springs = zip((name, f"{name}{LEVEL}axis2"), joint.axes, strict=False)
        parts.springs += [Part("JointSpring", {"joint": n, "stiffness": a.spring[0], "rest": a.spring[1]}) for n, a in springs if a.spring]

    def as_one(self, joint: Hinged) -> bool:
        """Return whether both axes of a universal joint have the same limits and losses, and neither has a spring, follows, or is followed.
        """
        one, two = joint.axes
        same = (one.limits, one.damping, one.friction) == (two.limits, two.damping, two.friction)
        return same and not (one.spring or two.spring or one.mimic or two.mimic or joint.name in self.led)

    def two(self, parts: Parts, joint: Hinged) -> None:
        """Add two revolute joints: about the first axis, which stays in the parent, and about the second, which stays in the child."""
        one, two = joint.axes
        between = self.between(parts, joint.name)
        parts.joints.append(Joint(joint.name, "revolute", joint.parent.name, between, relative(joint.parent, joint.frame), **moves(one)))
        self.about(parts, joint, f"{joint.name}{LEVEL}axis2", between, np.eye(4), two, "revolute")

    def about(self, parts: Parts, joint: Hinged, name: str, parent: str, T_PJ: Array, axis: Axis, kind: str) -> None:
        """Add a joint about an axis: right above the child where the axis goes through its origin."""
        T_JC = relative(joint.frame, joint.child)
        p = T_JC[:3, 3]
        if np.linalg.norm(p - axis.direction * (axis.direction @ p)) <= BESIDE * (1.0 + np.linalg.norm(p)):
            T_PC = T_JC if np.array_equal(T_PJ, np.eye(4)) else T_PJ @ T_JC
            T_PC = relative(joint.parent, joint.child) if parent == joint.parent.name else T_PC
            parts.joints.append(Joint(name, kind, parent, joint.child.name, T_PC, pitch=joint.pitch, **moves(axis, T_JC[:3, :3].T)))
        else:
            self.hang(parts, joint, Joint(name, kind, parent, joint.child.name, T_PJ, pitch=joint.pitch, **moves(axis)), True)

    def hang(self, parts: Parts, joint: Hinged, made: Joint, apart: bool) -> None:
        """Add a joint; where its frame is apart from its child's, with a link in between."""
        if not apart:
            parts.joints.append(made)
            return
        between = self.between(parts, made.name)
        parts.joints.append(replace(made, child=between))
        parts.joints.append(Joint(f"{made.name}{LEVEL}child", "fixed", between, joint.child.name, relative(joint.frame, joint.child)))

    def between(self, parts: Parts, name: str) -> str:
        """Add a link without mass, and return its name."""
        while name in self.taken or name == WORLD:
            name += f"{LEVEL}joint"
        self.taken.add(name)
        parts.links.append(Link(name))
        return name


def moves(axis: Axis, R_CJ: Array | None = None) -> dict[str, Any]:
    """Return what a joint has of an axis, whose direction is turned into another frame."""
    direction = axis.direction if R_CJ is None else R_CJ @ axis.direction
    return {"axis": direction, "limits": axis.limits, "damping": axis.damping, "friction": axis.friction, "mimic": axis.mimic}


def limits(axis: Node) -> Limits:
    """Return the limits of an axis; a velocity or an effort below zero says that there are none."""
    lower, upper = axis.bound("limit", "lower", default=-np.inf), axis.bound("limit", "upper", default=np.inf)
    if lower > upper or lower == np.inf or upper == -np.inf:
        raise axis.part("limit").error(f"the lower limit {lower:g} exceeds the upper one, {upper:g}; expected a range")
    velocity, effort = (axis.bound("limit", which, default=np.inf) for which in ("velocity", "effort"))
    return Limits(lower, upper, *(x if x >= 0.0 else np.inf for x in (velocity, effort)))


def pitch_of(node: Node) -> float:
    """Return the pitch of a screw, m/rad, right-handed where it is positive.

    It is written as screw_thread_pitch, m in a turn; or, before 1.10, as thread_pitch = −2π/screw_thread_pitch.
    """
    if node.first("screw_thread_pitch") is not None:
        return node.number("screw_thread_pitch", default=1.0) / tau
    if (old := node.first("thread_pitch")) is None:
        return 1.0 / tau
    if (turns := old.numbers(1)[0]) == 0.0:
        raise old.error("<thread_pitch> is 0; expected radians in a metre")
    return -1.0 / turns
