"""Robots in Universal Scene Description (USD), by its physics.

A link is a rigid body; its frame has the body's axes, and its origin in the joint by which it hangs, so that of a body whose joint lies in
its origin both are one. Reference: the schema UsdPhysics, openusd.org.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.checks import require_packages
from engine.io.errors import RobotFileError, RobotFileWarning
from engine.io.usd.bodies import Body
from engine.io.usd.stage import Stage, quaternion_of, value
from engine.model import Builder, Geometry, Limits, Model, ModelError
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
KINDS = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsSphericalJoint": "spherical",
         "PhysicsFixedJoint": "fixed"}  # fmt: skip
WORLD = "world"


class Tie(NamedTuple):
    """A joint between two bodies, the first of which, or of the world, may be "": its frame on each, and its axis in that frame."""

    name: str
    kind: str
    ends: tuple[str, str]
    frames: tuple[Array, Array]
    axis: Array
    limits: Limits
    prim: Any


def load_usd(path: str | os.PathLike[str], floating_base: bool = False) -> Model:
    """Return the :class:`Model` of a stage of USD with one mechanism: its rigid bodies, revolute, prismatic, spherical and fixed joints.

    Masses and lengths are in the stage's units, angles in degrees, and y may point up. A mass of zero is one not said: it is that of
    the shapes, by their density, 1000 kg/m³ if that is not said either. A body that a joint ties to the world stands; else the root is
    the body that hangs on no other, and floats with ``floating_base``. Joints are at zero where their frames meet.

    Raises
    ------
    RobotFileError : the file is no stage, or has no bodies, several mechanisms, a loop, a joint of another kind; usd-core is missing

    Warns
    -----
    RobotFileWarning : what is left out: meshes, drives, limits of spherical joints
    """
    require_packages(f"{os.fsdecode(path)}: USD", "usd", "pxr", error=RobotFileError)
    file = os.fsdecode(path)
    if not os.path.isfile(file):
        raise RobotFileError("there is no such file; expected a stage of USD", file)
    stage = Stage(file)
    bodies = {str(p.GetPath()): Body(stage, p) for p in stage.prims() if stage.is_body(p)}
    if not bodies:
        raise RobotFileError("it has no rigid bodies (PhysicsRigidBodyAPI); expected a mechanism of USD physics", file)
    ties = [tie_of(stage, p, bodies) for p in stage.prims() if p.IsA(stage.Physics.Joint) and enabled(stage, p)]
    order = hung(file, bodies, ties)
    warn_of(file, bodies, ties)
    try:
        return built(stage, bodies, order, floating_base)
    except ModelError as problem:
        raise RobotFileError(str(problem), file) from None


def enabled(stage: Stage, prim: Any) -> bool:
    """Return whether a joint holds."""
    return bool(value(stage.Physics.Joint(prim).GetJointEnabledAttr(), True))


# ---------------------------------------------------------------- joints


def tie_of(stage: Stage, prim: Any, bodies: dict[str, Body]) -> Tie:
    """Return a joint as data."""
    joint, kind = stage.Physics.Joint(prim), KINDS.get(str(prim.GetTypeName()))
    if kind is None:
        raise RobotFileError(f"joint {prim.GetPath()} is a {prim.GetTypeName()}; expected one of {', '.join(KINDS)}", stage.file)
    ends, frames = [], []
    for relation, position, rotation in ((joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
                                         (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr())):  # fmt: skip
        targets = relation.GetTargets()
        end = body_above(stage, targets[0], bodies) if targets else ""
        p = np.array(value(position, (0.0, 0.0, 0.0)), dtype=float)
        R = quaternion.to_matrix(quaternion_of(value(rotation, None))) if value(rotation, None) is not None else np.eye(3)
        if targets and str(targets[0]) != end:                                 # a frame within the body, or one that stands
            own, scale = stage.pose(stage.stage.GetPrimAtPath(targets[0]))
            within = own if not end else se3.inv(bodies[end].pose) @ own
            frames.append(within @ se3.pose(R, p * scale * stage.length))
        elif end:
            frames.append(se3.pose(R, bodies[end].place(p)))
        else:
            frames.append(se3.pose(stage.upright @ R, stage.upright @ p * stage.length))
        ends.append(end)
    if not any(ends) or ends[0] == ends[1]:
        what = f"joint {prim.GetPath()} ties nothing to something else"
        raise RobotFileError(f"{what}; expected two bodies, or one and the world", stage.file)
    axis = AXES[str(value(prim.GetAttribute("physics:axis"), "X"))] if kind in ("revolute", "prismatic") else AXES["Z"]
    low, high = (float(value(prim.GetAttribute(f"physics:{end}Limit"), sign * np.inf)) for end, sign in (("lower", -1), ("upper", 1)))
    unit = np.pi / 180.0 if kind == "revolute" else stage.length
    limits = Limits(low * unit, high * unit) if kind in ("revolute", "prismatic") else Limits()
    return Tie(prim.GetName(), kind, (ends[0], ends[1]), (frames[0], frames[1]), axis, limits, prim)


def body_above(stage: Stage, path: Any, bodies: dict[str, Body]) -> str:
    """Return the path of the body that carries a prim, or "" where that stands."""
    prim = stage.stage.GetPrimAtPath(path)
    if not prim:
        raise RobotFileError(f"a joint names {path}, which is not there; expected a prim", stage.file)
    while prim and str(prim.GetPath()) not in bodies:
        prim = prim.GetParent()
    return str(prim.GetPath()) if prim else ""


def hung(file: str, bodies: dict[str, Body], ties: Sequence[Tie]) -> list[tuple[str, Tie | None, bool]]:
    """Return the bodies from the root on, each with the joint by which it hangs, and whether that is turned around."""
    tied = [t for t in ties if not all(t.ends)]
    if len(tied) > 1:
        raise RobotFileError(f"joints {tied[0].name} and {tied[1].name} both tie it to the world; expected one that does", file)
    below = {t.ends[1] for t in ties if all(t.ends)}
    roots = [b for b in bodies if b not in below] or [*bodies]
    root = next(e for e in tied[0].ends if e) if tied else roots[0]
    order: list[tuple[str, Tie | None, bool]] = [(root, tied[0] if tied else None, bool(tied) and not tied[0].ends[1])]
    left = [t for t in ties if all(t.ends)]
    for body, *_ in order:                                                     # which grows while it is gone through
        for t in [t for t in left if body in t.ends]:
            left.remove(t)
            other = t.ends[t.ends[0] == body]
            if other in [b for b, *_ in order]:
                raise RobotFileError(f"joint {t.name} closes a loop; expected a tree, and engine.Weld and the like for the rest", file)
            order.append((other, t, t.ends[0] != body))
    if len(order) < len(bodies):
        lonely = next(b for b in bodies if b not in [o for o, *_ in order])
        raise RobotFileError(f"nothing ties {lonely} to {root}; expected one mechanism", file)
    return order


# ---------------------------------------------------------------- the model


def built(stage: Stage, bodies: dict[str, Body], order: Sequence[tuple[str, Tie | None, bool]], floating_base: bool) -> Model:
    """Return the model of a tree of bodies."""
    named = stage.stage.GetDefaultPrim().GetName() if stage.stage.HasDefaultPrim() else os.path.splitext(os.path.basename(stage.file))[0]
    builder, names, shifts = Builder(named), dict[str, str](), dict[str, Array]()
    base = order[0][1]
    if floating_base and base is not None:
        raise RobotFileError(f"joint {base.name} ties it to the world; expected floating_base=False", stage.file)
    if base is not None or not floating_base:
        builder.add_link(WORLD)
    for path, tie, turned in order:
        body, at = bodies[path], np.zeros(3)
        names[path] = unique(body.prim.GetName(), path, [*names.values(), WORLD])
        if tie is not None:
            on_parent, on_child = tie.frames[::-1] if turned else tie.frames
            at = on_child[:3, 3]
        shifts[path] = shift = se3.pose(np.eye(3), at)
        back = se3.inv(shift)
        builder.add_link(names[path], inertia.transformed(back, body.inertia) if body.inertia.any() else body.inertia,
                         [moved(g, back) for g in body.visuals], [moved(g, back) for g in body.collisions])  # fmt: skip
        if tie is None:
            if not floating_base:
                builder.add_joint(f"{names[path]}_stands", "fixed", WORLD, names[path], body.pose)
            continue
        parent = tie.ends[1] if turned else tie.ends[0]
        R = on_child[:3, :3]
        placement = (se3.inv(shifts[parent]) if parent else np.eye(4)) @ on_parent @ se3.pose(R.T, np.zeros(3))
        axis = R @ tie.axis * (-1.0 if turned else 1.0)
        free = tie.kind == "revolute" and not np.isfinite([tie.limits.lower, tie.limits.upper]).any()
        builder.add_joint(unique(tie.name, str(tie.prim.GetPath()), [j.name for _, _, j in builder.graph.edges.data("joint")]),
                          "continuous" if free else tie.kind, names[parent] if parent else WORLD, names[path], placement, axis,
                          limits=tie.limits)  # fmt: skip
    return builder.model(floating_base=floating_base)


def unique(name: str, path: str, taken: Sequence[str]) -> str:
    """Return a prim's name, or, where that is taken, its whole path."""
    return name if name not in taken else path.strip("/").replace("/", "_")


def moved(shape: Geometry, T: Array) -> Geometry:
    """Return a shape elsewhere."""
    return Geometry(shape.kind, shape.size, T @ shape.placement)


def warn_of(file: str, bodies: dict[str, Body], ties: Sequence[Tie]) -> None:
    """Warn of what is left out."""
    unread = [x for b in bodies.values() for x in b.unread]
    driven = [t.name for t in ties if any("DriveAPI" in s for s in t.prim.GetAppliedSchemas())]
    cones = [t.name for t in ties if t.kind == "spherical" and any(
        value(t.prim.GetAttribute(f"physics:coneAngle{k}Limit"), -1.0) >= 0.0 for k in (0, 1))]  # fmt: skip
    for what, names in (("shapes that are not read", unread), ("drives of joints", driven), ("limits of spherical joints", cones)):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            warnings.warn(f"{file} leaves out {what}: {names[0]}{more}", RobotFileWarning, stacklevel=4)
