"""Models as URDF files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.urdf import BOUNDS
from engine.io.written import body_of, mesh_of, row, said_of, save, seen_from
from engine.model import Geometry, Joint, Link, Model
from engine.spatial import so3

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


def save_urdf(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model as a URDF file, and return its path; a floating base is what :func:`load_urdf` is asked for.

    Positions, axes, masses, limits and damping are read back to the bit; orientations, which URDF has as roll, pitch and yaw, and inertias,
    which it has about the centre of mass, to rounding. Meshes are named by their paths from the file's folder.

    Raises
    ------
    RobotFileError : a joint of a kind that URDF has not, an inertia of no rigid body, or the file cannot be written

    Warns
    -----
    RobotFileWarning : what is left out: armature, ellipsoids and height fields, and what another file described besides the tree

    >>> import engine, tempfile
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> path = engine.save_urdf(arm, tempfile.mkdtemp() + "/arm.urdf")
    >>> engine.load(path).nq == arm.nq
    True
    """
    return save(model, path, urdf_of)


def urdf_text(model: Model) -> str:
    """Return a model as the text of a URDF file, without what :func:`save_urdf` would say that it leaves out; meshes and textures that
    were found by where they are, as file:///…"""
    from lxml import etree

    file = "robot.urdf"
    shapes = [g for link in model.links for g in (*link.visuals, *link.collisions)]
    files = [*(g.mesh for g in shapes), *(g.material.texture for g in shapes if g.material is not None)]
    places = {seen_from(file, x): x.absolute().as_uri() for x in files if x is not None}
    root = urdf_of(model, file, [])
    for e in root.iter("mesh", "texture"):
        e.set("filename", places.get(e.get("filename"), e.get("filename")))
    return etree.tostring(root, encoding="unicode")


def urdf_of(model: Model, file: str, lost: list[str]) -> Any:
    """Return the <robot> of a model."""
    from lxml import etree

    root = etree.Element("robot", name=model.name)
    lost += said_of(model)
    for link in model.links:
        link_of(root, link, file, lost)
    for joint in model.joints:
        if joint.parent:
            joint_of(root, joint, file)
    if model.armature.any():
        lost.append("armature")
    return root


def link_of(root: Any, link: Link, file: str, lost: list[str]) -> None:
    from lxml import etree

    e = etree.SubElement(root, "link", name=link.name)
    if link.inertia.any():
        mass, center, I = body_of(link, file)
        inertial = etree.SubElement(e, "inertial")
        etree.SubElement(inertial, "origin", xyz=row(center))
        etree.SubElement(inertial, "mass", value=row(mass))
        entries = {f"i{'xyz'[i]}{'xyz'[j]}": row(I[i, j]) for i in range(3) for j in range(i, 3)}
        etree.SubElement(inertial, "inertia", **entries)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for g in shapes:
            if g.kind != "mesh" and g.kind not in SHAPES:
                lost.append(f"{g.kind}s")
                continue
            shape_of(e, tag, g, file)


def shape_of(link: Any, tag: str, g: Geometry, file: str) -> None:
    from lxml import etree

    e = etree.SubElement(link, tag, **({"name": g.name} if g.name else {}))
    origin_of(e, g.placement)
    shape = etree.SubElement(etree.SubElement(e, "geometry"), g.kind)
    if g.kind == "mesh":
        shape.set("filename", mesh_of(g, file))
        shape.set("scale", row(g.size))
    elif g.kind == "box":
        shape.set("size", row(g.size))
    else:
        for name, x in zip(SHAPES[g.kind], g.size, strict=True):
            shape.set(name, row(x))
    if tag == "visual" and g.material is not None:
        material = etree.SubElement(e, "material", name=g.material.name)
        if g.material.color is not None:
            etree.SubElement(material, "color", rgba=row(g.material.color))
        if g.material.texture is not None:
            etree.SubElement(material, "texture", filename=seen_from(file, g.material.texture))


def joint_of(root: Any, joint: Joint, file: str) -> None:
    from lxml import etree

    if joint.kind not in KINDS:
        raise RobotFileError(f"joint '{joint.name}' is {joint.kind}, which URDF has not; expected one of {', '.join(KINDS)}", file)
    e = etree.SubElement(root, "joint", name=joint.name, type=joint.kind)
    origin_of(e, joint.placement)
    etree.SubElement(e, "parent", link=joint.parent)
    etree.SubElement(e, "child", link=joint.child)
    if joint.kind not in ("fixed", "floating"):
        etree.SubElement(e, "axis", xyz=row(joint.axis))
    limits = {n: getattr(joint.limits, n) for n in ("lower", "upper", *BOUNDS)}
    if joint.kind in ("revolute", "prismatic"):
        if np.isfinite([limits["lower"], limits["upper"]]).any() and not np.isfinite([limits["lower"], limits["upper"]]).all():
            raise RobotFileError(f"joint '{joint.name}' has one limit, which URDF has not; expected both or none", file)
    else:
        limits["lower"] = limits["upper"] = np.inf
    given = {n: row(x) for n, x in limits.items() if np.isfinite(x)}
    unbounded = joint.kind in ("revolute", "prismatic") and "lower" not in given
    if given and unbounded:
        raise RobotFileError(f"joint '{joint.name}' has a limit of speed, effort or the like and none of its range, which URDF has not; "
                             "expected it to be continuous, or both", file)  # fmt: skip
    if given:
        etree.SubElement(e, "limit", **given)
    if joint.damping or joint.friction:
        etree.SubElement(e, "dynamics", damping=row(joint.damping), friction=row(joint.friction))
    if joint.mimic is not None:
        etree.SubElement(e, "mimic", joint=joint.mimic.source, multiplier=row(joint.mimic.ratio), offset=row(joint.mimic.offset))


def origin_of(e: Any, T: Any) -> None:
    from lxml import etree

    etree.SubElement(e, "origin", xyz=row(T[:3, 3]), rpy=row(so3.to_rpy(T[:3, :3])))
