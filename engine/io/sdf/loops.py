"""Loop joints and gears, which a tree has no place for, as constraints."""

from __future__ import annotations

import numpy as np

from engine.io.errors import short
from engine.io.notes import Notes
from engine.io.sdf.frames import Frame, body_of, relative
from engine.io.sdf.joints import Hinged
from engine.model import Part
from engine.model.file_extras import to_plain

Array = np.ndarray
CLOSING = {"revolute": "Hinge", "continuous": "Hinge", "prismatic": "Slider", "ball": "Ball", "fixed": "Weld"}
TURNING = ("revolute", "continuous")


def split(joints: list[Hinged]) -> tuple[list[Hinged], list[Hinged]]:
    """Return the joints of which a tree is made, as they come, and those that close loops."""
    above: dict[Frame, Frame] = {}
    tree, closing = [], []
    for joint in joints:
        at: Frame | None = joint.parent
        while at is not None and at is not joint.child:
            at = above.get(at)
        if joint.child in above or at is joint.child:
            closing.append(joint)
        else:
            above[joint.child] = joint.parent
            tree.append(joint)
    return tree, closing


def closed(joint: Hinged, notes: Notes) -> Part:
    """Return the constraint that a joint is which closes a loop.

    Raises
    ------
    RobotFileError : it is of a type that no constraint holds
    """
    if (kind := CLOSING.get(joint.type)) is None:
        raise joint.error(f"the {joint.type} joint closes a loop, which is not done; expected one of {', '.join(CLOSING)}, or a tree")
    ends = {"link_a": joint.parent.name, "link_b": joint.child.name}
    if kind == "Weld":
        return Part(kind, {**ends, "pose_ab": to_plain(relative(joint.parent, joint.child)), "name": joint.name})
    T_PJ, T_CJ = (relative(link, joint.frame) for link in (joint.parent, joint.child))
    values = {**ends, "point_a": to_plain(T_PJ[:3, 3]), "point_b": to_plain(T_CJ[:3, 3])}
    for a in joint.axes:
        values |= {"axis_a": to_plain(T_PJ[:3, :3] @ a.direction), "axis_b": to_plain(T_CJ[:3, :3] @ a.direction)}
        if a.damping or a.friction or a.spring or a.mimic or np.isfinite([a.limits.lower, a.limits.upper]).any():
            notes.warn(joint.frame.node, "it closes a loop, as a constraint; its limits, damping, friction, spring and mimic are left out")
    if kind == "Slider":
        turned = relative(joint.parent, joint.child)[:3, :3] - np.eye(3)
        if np.abs(turned).max() > 1e-12:
            raise joint.error("the prismatic joint closes a loop between links that are turned to one another; expected equal axes")
    return Part(kind, {**values, "name": joint.name})


def geared(gear: Hinged, tree: list[Hinged], notes: Notes) -> Part | None:
    """Return the coupling that a gearbox is of two joints, both on its reference body: θ2 = −ratio θ1; None where it is none."""
    node = gear.frame.node
    said = node.part("gearbox_reference_body")
    body = body_of(gear.frame.scope.found(said, said.words, "a link"))
    ratio = node.number("gearbox_ratio", default=1.0)
    found = []
    for end, axis in zip((gear.parent, gear.child), gear.axes, strict=True):
        about = relative(body, gear.frame)[:3, :3] @ axis.direction
        joint = next((j for j in tree if j.type in TURNING and {j.parent, j.child} == {body, end}), None)
        if joint is None:
            notes.warn(node, f"no revolute joint joins '{short(end.name)}' to '{short(body.name)}', so that the gearbox is left out")
            return None
        way = float(relative(body, joint.frame)[:3, :3] @ joint.axes[0].direction @ about)
        if abs(way) < 1.0 - 1e-9:
            notes.warn(node, f"its axis is not that of joint '{short(joint.name)}', so that the gearbox is left out")
            return None
        found.append((joint.name, np.sign(way) * (1.0 if joint.parent is body else -1.0)))
    (one, sign1), (two, sign2) = found
    if one == two:
        notes.warn(node, f"both of its sides turn by joint '{short(one)}', so that the gearbox is left out")
        return None
    return Part("Coupling", {"joint1": two, "joint2": one, "ratio": float(-ratio * sign1 * sign2), "name": gear.name})
