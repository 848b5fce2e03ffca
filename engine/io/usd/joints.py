"""Joints of USD: what each ties, and the trees that they make of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.usd.bodies import Body
from engine.io.usd.stage import Stage, quaternion_of, value
from engine.model import Limits
from engine.spatial import quaternion, se3, so3

Array = np.ndarray
AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
KINDS = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsSphericalJoint": "spherical",
         "PhysicsFixedJoint": "fixed"}  # fmt: skip
#: degrees of freedom of a generic joint, and what it is when these are free and the others locked
TRANS, ROT = ("transX", "transY", "transZ"), ("rotX", "rotY", "rotZ")
GENERIC: dict[tuple[str, ...], str] = {(): "fixed", ROT: "spherical", **{(f,): "prismatic" for f in TRANS},
                                       **{(f,): "revolute" for f in ROT}}  # fmt: skip


class Tie(NamedTuple):
    """A joint between two bodies, the first of which, or of the world, may be "": its frame on each, and its axis in that frame.

    ``closes`` says that it is to close a loop, where there is one; ``collide`` that what it ties may touch; ``drive`` by which name it is
    driven.
    """

    name: str
    kind: str
    ends: tuple[str, str]
    frames: tuple[Array, Array]
    axis: Array
    limits: Limits
    prim: Any
    closes: bool
    collide: bool
    drive: str


class Hung(NamedTuple):
    """A body of a tree: the joint by which it hangs, None of a root, and whether that is turned around."""

    body: str
    tie: Tie | None
    turned: bool


def ties_of(stage: Stage, bodies: dict[str, Body]) -> list[Tie]:
    """Return the joints that hold."""
    found = []
    for prim in stage.prims():
        if prim.IsA(stage.Physics.Joint) and value(stage.Physics.Joint(prim).GetJointEnabledAttr(), True):
            tie = tie_of(stage, prim, bodies)
            if tie is not None:
                found.append(tie)
    return found


def tie_of(stage: Stage, prim: Any, bodies: dict[str, Body]) -> Tie | None:
    """Return a joint as data; None of one that leaves all free."""
    joint, kind, drive = stage.Physics.Joint(prim), KINDS.get(str(prim.GetTypeName())), ""
    axis = AXES[str(value(prim.GetAttribute("physics:axis"), "X"))] if kind in ("revolute", "prismatic") else AXES["Z"]
    low, high = (float(value(prim.GetAttribute(f"physics:{end}Limit"), sign * np.inf)) for end, sign in (("lower", -1), ("upper", 1)))
    if str(prim.GetTypeName()) == "PhysicsJoint":
        free = {f: span for f in (*TRANS, *ROT) if (span := span_of(stage, prim, f)) is not None}
        if len(free) == 6:
            stage.leave("joints that hold nothing", prim.GetPath())
            return None
        kind = GENERIC.get(tuple(free))
        if kind in ("revolute", "prismatic"):
            drive = next(iter(free))
            axis, (low, high) = AXES[drive[-1]], free[drive]
        if kind is None:
            what = f"joint {prim.GetPath()} leaves {', '.join(free)} free"
            raise RobotFileError(f"{what}; expected none, one, or {', '.join(ROT)}", stage.file)
    if kind is None:
        raise RobotFileError(f"joint {prim.GetPath()} is a {prim.GetTypeName()}; expected one of {', '.join(KINDS)}", stage.file)
    ends, frames = [], []
    for relation, position, rotation in ((joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
                                         (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr())):  # fmt: skip
        end, frame = end_of(stage, bodies, relation.GetTargets(), value(position, (0.0, 0.0, 0.0)), value(rotation, None))
        ends.append(end)
        frames.append(frame)
    if not any(ends) or ends[0] == ends[1]:
        what = f"joint {prim.GetPath()} ties nothing to something else"
        raise RobotFileError(f"{what}; expected two bodies, or one and the world", stage.file)
    unit = np.pi / 180.0 if kind == "revolute" else stage.length
    drive = drive or {"revolute": "angular", "prismatic": "linear"}.get(kind, "")
    one = kind in ("revolute", "prismatic")
    most = float(value(prim.GetAttribute(f"drive:{drive}:physics:maxForce"), np.inf)) if drive else np.inf
    fastest = stage.added(prim, "physxJoint:maxJointVelocity", np.inf)
    limits = Limits(low * unit, high * unit, fastest * unit if 0.0 <= fastest < 1e30 else np.inf,
                    most * stage.mass * stage.length ** (2 if kind == "revolute" else 1) if most < 1e30 else np.inf)  # fmt: skip
    if low > high and one:
        what = f"joint {prim.GetPath()} has a lower limit of {low:g}, above its upper one of {high:g}"
        raise RobotFileError(f"{what}; expected the least first", stage.file)
    if np.isfinite(value(joint.GetBreakForceAttr(), np.inf)) or np.isfinite(value(joint.GetBreakTorqueAttr(), np.inf)):
        stage.leave("that joints break", prim.GetPath())
    closes, collide = (bool(value(a, False)) for a in (joint.GetExcludeFromArticulationAttr(), joint.GetCollisionEnabledAttr()))
    return Tie(prim.GetName(), kind, (ends[0], ends[1]), (frames[0], frames[1]), axis, limits if one else Limits(), prim, closes, collide,
               drive)


def span_of(stage: Stage, prim: Any, freedom: str) -> tuple[float, float] | None:
    """Return the limits of a generic joint's degree of freedom, None where it is locked."""
    if not prim.HasAPI(stage.Physics.LimitAPI, freedom):
        return -np.inf, np.inf
    api = stage.Physics.LimitAPI(prim, freedom)
    low, high = float(value(api.GetLowAttr(), -np.inf)), float(value(api.GetHighAttr(), np.inf))
    return None if low > high or low == high == 0.0 else (low, high)


def end_of(stage: Stage, bodies: dict[str, Body], targets: Sequence[Any], position: Any, rotation: Any) -> tuple[str, Array]:
    """Return which body a joint ties, "" of the world, and its frame on that."""
    end = body_above(stage, targets[0], bodies) if targets else ""
    p = np.array(position, dtype=float)
    R = quaternion.to_matrix(quaternion_of(rotation)) if rotation is not None else np.eye(3)
    if targets and str(targets[0]) != end:                                     # a frame within the body, or one that stands
        own, scale = stage.pose(stage.stage.GetPrimAtPath(targets[0]))
        return end, (own if not end else se3.inv(bodies[end].pose) @ own) @ se3.pose(R, p * scale * stage.length)
    if end:
        return end, se3.pose(R, bodies[end].place(p))
    return end, se3.pose(stage.upright @ R, stage.upright @ p * stage.length)


def body_above(stage: Stage, path: Any, bodies: dict[str, Body]) -> str:
    """Return the path of the body that carries a prim, or "" where that stands."""
    prim = stage.stage.GetPrimAtPath(path)
    if not prim:
        raise RobotFileError(f"a joint names {path}, which is not there; expected a prim", stage.file)
    while prim and str(prim.GetPath()) not in bodies:
        prim = prim.GetParent()
    return str(prim.GetPath()) if prim else ""


def trees_of(stage: Stage, bodies: dict[str, Body], ties: Sequence[Tie]) -> tuple[list[list[Hung]], list[Tie]]:
    """Return the bodies of each tree from its root on, and the joints that close loops.

    The root is what a joint ties to the world, else what stands, the root of an articulation, or what hangs on no other.
    """
    part = {b: b for b in ("", *bodies)}

    def of(body: str) -> str:
        while part[body] != body:
            body = part[body]
        return body

    used, closing = list[Tie](), list[Tie]()
    for t in sorted(ties, key=lambda t: t.closes):
        a, b = map(of, t.ends)
        (closing if a == b else used).append(t)
        part[a] = b
    below = {t.ends[1] for t in used if t.ends[0]}
    tied = {next(filter(None, t.ends)): t for t in used if not all(t.ends)}
    named = [b for b, body in bodies.items() if body.prim.HasAPI(stage.Physics.ArticulationRootAPI)]
    trees, seen = list[list[Hung]](), set[str]()
    for root in [*tied, *(b for b in bodies if bodies[b].stands), *named, *(b for b in bodies if b not in below), *bodies]:
        if root in seen:
            continue
        tree = [Hung(root, tie := tied.get(root), tie is not None and not tie.ends[1])]
        seen.add(root)
        for body, *_ in tree:                                                  # which grows while it is gone through
            for t in (t for t in used if body in t.ends and all(t.ends)):
                if (other := t.ends[t.ends[0] == body]) not in seen:
                    tree.append(Hung(other, t, t.ends[0] != body))
                    seen.add(other)
        trees.append(tree)
    return trees, closing


def standing_at(tie: Tie, T: Array) -> tuple[Array, float]:
    """Return where a joint is, its coordinates, when its frame on the child has the pose T (4, 4) in that on the parent, and by how much
    that is none of its poses, m or rad at 1 m."""
    R, p = T[:3, :3], T[:3, 3]
    if tie.kind == "revolute":
        angle = float(tie.axis @ so3.log(R))
        rest = np.abs(so3.about(tie.axis, angle) - R).max() + np.abs(p).max()
        return np.array([angle]), float(rest)
    if tie.kind == "prismatic":
        return np.array([tie.axis @ p]), float(np.abs(R - np.eye(3)).max() + np.abs(p - tie.axis * (tie.axis @ p)).max())
    if tie.kind == "spherical":
        return quaternion.normalize(quaternion.from_matrix(R)), float(np.abs(p).max())
    return np.zeros(0), float(np.abs(R - np.eye(3)).max() + np.abs(p).max())
