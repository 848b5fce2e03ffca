"""Robots in the Unified Robot Description Format: a strict reader that names file, line and link or joint of whatever is wrong.

The file is untrusted. It is read without document types, entities or network; it is bounded in size and depth; nothing malformed is
repaired. What does not touch the motion (a mesh that is not there, an unknown tag) does not stop a robot from loading;
:func:`engine.io.check` reports it. Mimic joints are read here, and tied to their sources by :mod:`engine.model.body`.

References: the URDF XML specification, wiki.ros.org/urdf/XML; REP 103 (fixed-axis roll, pitch, yaw).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import cos, hypot, isfinite, sin
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from engine.checks import nearest, truth, warn
from engine.io.errors import RobotFileError, RobotFileWarning, short
from engine.io.given import given
from engine.io.misread import of_angles, unknown_parts
from engine.io.paths import Finder
from engine.io.xml import require_outermost, root_of
from engine.model import Geometry, Joint, Limits, Link, Material, Mimic, Model, ModelError
from engine.spatial import inertia, quaternion

Array = np.ndarray
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: limits of any joint that moves: those on acceleration and the like since URDF 1.2
BOUNDS = ("velocity", "effort", "acceleration", "deceleration", "jerk")
SHAPES = ("box", "cylinder", "capsule", "sphere", "mesh")
XACRO = ("{http://www.ros.org/wiki/xacro}*", "{http://ros.org/wiki/xacro}*", "{http://wiki.ros.org/xacro}*")
EXPECTED = "a URDF file"
UNEXPANDED = "expected a URDF file, as xacro writes it: run xacro first"
ZERO = (0.0, 0.0, 0.0)
UNTURNED = np.eye(3)


def load_urdf(path: str | os.PathLike[str], floating_base: bool = False, package_dirs: Iterable[str | os.PathLike[str]] = (),
              up_axis: bool | None = None) -> Model:  # fmt: skip
    """Return the :class:`Model` of a URDF file.

    Parameters
    ----------
    path : the .urdf file; or its text itself, a str that begins with ``<``, which is read as if the file lay in the working folder
    floating_base : whether the root link moves freely in the world; else it is the world
    package_dirs : folders in which meshes are looked for, besides the file's own and its package: packages, or folders of packages
    up_axis : whether COLLADA meshes whose ``<up_axis>`` is Y_UP or X_UP are turned, each by its own, so that it points along z, as that
        format has it; Z_UP ones stay. By default the joints decide, as robots are written for either: meshes are turned where the joints
        of their links are much nearer to them then, and taken as they are written else, as RViz and MoveIt take them; with a
        warning when they are drawn, seen or touched, which True and False spare

    Raises
    ------
    RobotFileError : the file cannot be read, is no URDF, or describes no mechanism

    Warns
    -----
    RobotFileWarning : an inertia is no rigid body's (a negative principal moment, or one larger than the two others together). It is
        taken as it is written, for many public robots have some; :func:`engine.check` lists them. Or a damping, a friction or a limit of
        effort or velocity is below zero: the text says what follows. Or a tag or an attribute looks like a known one that is misspelt, or
        is there twice, or an angle is more than a turn

    Notes
    -----
    Children follow the order of the joints in the file, depth first. A revolute or prismatic joint without ``<limit>`` has infinite
    limits, one whose ``<limit>`` names no bounds has [0, 0], as specified. Numbers are taken as written: 1.57079632679 is no quarter turn.
    Meshes are found here but read only by :func:`engine.io.load_mesh`. Unphysical inertias load, negative masses do not.

    Examples
    --------
    >>> load_urdf('<robot name="stone"><link name="stone"/></robot>', floating_base=True)
    <model 'stone': 1 links, 1 joints, nq 7, nv 6>
    """
    floating_base = truth("floating_base", floating_base, RobotFileError)
    reader = Reader(path, package_dirs, up_axis)
    root = reader.root()
    reader.materials(root)
    with np.errstate(all="ignore"):     # absurd numbers overflow, and are refused by what they make
        links = [(e, reader.link(e)) for e in root.findall("link")]
        joints = [(e, reader.joint(e)) for e in root.findall("joint")]
        model = reader.model(root, links, joints, floating_base)
        wrong = inertia.unphysical(np.array([link.inertia for _, link in links]))
    below = [str(reader.error(at, text)) for e, joint in joints for at, text in below_zero(e, joint)]
    if below:
        others = f"; so {'are' if len(below) > 2 else 'is'} {len(below) - 1} more (engine.check tells of each)" if len(below) > 1 else ""
        warn(f"{below[0]}{others}", RobotFileWarning)
    doubts = [reader.error(at, text) for at, text in misread(reader, root)]
    if doubts:
        others = f"; {len(doubts) - 1} more such (engine.check tells of each)" if len(doubts) > 1 else ""
        warn(f"{doubts[0]}{others}", RobotFileWarning)
    odd = [link for (_, link), bad in zip(links, wrong, strict=True) if bad]
    if odd:
        others = f", nor that of {len(odd) - 1} other{'s' * (len(odd) > 2)} (engine.check tells of each)" if len(odd) > 1 else ""
        fault = f"link '{short(odd[0].name)}': {inertia.faults(odd[0].inertia)[0]}"
        warn(f"{reader.file}: {fault}; no rigid body has such an inertia{others}", RobotFileWarning)
    return model


def misread(reader: Reader, root: Any) -> Iterator[tuple[Any, str]]:
    """Yield elements that are not read as they are meant, and what is said of them."""
    angles = (said for e in root.iterchildren("link", "joint") for said in of_angles(reader, e))
    for severity, at, text in (*unknown_parts(root), *angles):
        if severity == "warning":
            yield at, text


class Reader:
    """Reads the elements of one file, or of its text; every complaint names the file, the line and the link or joint."""

    def __init__(self, path: str | os.PathLike[str], package_dirs: Iterable[str | os.PathLike[str]] = (),
                 up_axis: bool | None = None) -> None:  # fmt: skip
        self.given = given(path)
        self.file = self.given.file
        if isinstance(package_dirs, (str, os.PathLike)):
            package_dirs = [package_dirs]
        try:
            self.finder = Finder(self.file, package_dirs)
        except (TypeError, ValueError):
            raise RobotFileError(f"package_dirs is {short(repr(package_dirs))}; expected folders (str or pathlib.Path)") from None
        if up_axis not in (None, True, False):
            raise RobotFileError(f"up_axis is {short(repr(up_axis))}; expected True, False or None")
        self.up_axis = up_axis
        self.named: dict[str, Material] = {}

    # ------------------------------------------------------------ the file

    def error(self, element: Any, reason: str) -> RobotFileError:
        """Return the error that says where: the file, the element's line and the link, joint or material it is in."""
        return RobotFileError(reason, self.file, element.sourceline, place(element))

    def root(self) -> Any:
        """Return the <robot> element, its parts without a default namespace."""
        from lxml import etree

        data = self.given.read(EXPECTED)
        if not data.strip():
            raise RobotFileError("the file is empty; expected a <robot> element", self.file)
        root = root_of(data, self.file, "a complete robot file", self.given.encoding)
        if space := root.nsmap.get(None):
            for element in root.iter("{" + space + "}*"):
                element.tag = etree.QName(element).localname
        require_outermost("robot", root.tag, self.file, root.sourceline)
        if (macro := next(root.iter(*XACRO), None)) is not None:
            what = f"<xacro:{short(etree.QName(macro).localname)}> is a macro, which is not read; {UNEXPANDED}"
            raise RobotFileError(what, self.file, macro.sourceline)
        if b"${" in data:
            for value in root.xpath("(link|joint|material)/descendant-or-self::*/@*[contains(., '${')]"):
                raise self.error(value.getparent(), f"{value.attrname} is '{short(value)}', which xacro replaces; {UNEXPANDED}")
        return root

    # ------------------------------------------------------------ attributes

    def text(self, e: Any, name: str) -> str:
        value = e.get(name)
        if not value:
            raise self.error(e, f"<{e.tag}> has no {name}; expected {name}=\"...\"")
        return str(value)

    def numbers(self, e: Any, name: str, count: int, default: Sequence[float] | None = None) -> Sequence[float]:
        """Return the finite numbers of an attribute, written as C++ reads them: in ASCII, without underscores."""
        text = e.get(name)
        if text is None and default is not None:
            return default
        try:
            values = [*map(float, text.split())] if text and text.isascii() else ()
        except ValueError:
            values = ()
        if len(values) != count or not all(map(isfinite, values)) or "_" in text:
            said = f"has no {name}" if text is None else f"{name} is '{short(text if text.isascii() else ascii(text)[1:-1])}'"
            raise self.error(e, f"<{e.tag}> {said}; expected {'a finite number' if count == 1 else f'{count} finite numbers'}")
        return values

    def number(self, e: Any, name: str, default: float | None = None) -> float:
        return self.numbers(e, name, 1, None if default is None else (default,))[0]

    def part(self, e: Any, tag: str) -> Any:
        if (found := e.find(tag)) is None:
            raise self.error(e, f"<{e.tag}> has no <{tag}>; expected one")
        return found

    def origin(self, e: Any) -> tuple[Array, Sequence[float]]:
        """Return the rotation and position of the <origin> in an element."""
        if (o := e.find("origin")) is None:
            return UNTURNED, ZERO
        return self.turn(o), self.numbers(o, "xyz", 3, ZERO)

    def turn(self, o: Any) -> Array:
        """Return the rotation that an <origin> says, by angles or, since URDF 1.2, by a quaternion."""
        if "quat_xyzw" not in o.attrib:
            angles = self.numbers(o, "rpy", 3, ZERO)
            return rotation(*angles) if any(angles) else UNTURNED
        if "rpy" in o.attrib:
            raise self.error(o, "<origin> has rpy and quat_xyzw; expected one of them")
        x, y, z, w = self.numbers(o, "quat_xyzw", 4)
        if not abs(hypot(w, x, y, z) - 1.0) < 1e-2:
            raise self.error(o, f"quat_xyzw is '{short(o.get('quat_xyzw'))}'; expected a quaternion of length 1, the real part last")
        return np.asarray(quaternion.to_matrix(quaternion.normalize(np.array([w, x, y, z]))))

    def pose(self, e: Any) -> Array:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.origin(e)
        return T

    # ------------------------------------------------------------ links

    def link(self, e: Any) -> Link:
        name = self.text(e, "name")
        shapes = [tuple(self.geometry(g) for g in e.findall(tag)) for tag in ("visual", "collision")]
        return self.made(e, Link, name, self.inertia(e), *shapes)

    def inertia(self, link: Any) -> Array:
        """Return G about the link's origin; zero where no <inertial> is given."""
        body = self.body(link)
        return np.zeros((6, 6)) if body is None else inertia.from_mass(*body)

    def body(self, link: Any) -> tuple[float, Array, Array] | None:
        """Return the mass, centre of mass, and the tensor about it along the link's axes (the file gives it along the inertial's)."""
        if (e := link.find("inertial")) is None:
            return None
        mass = self.number(self.part(e, "mass"), "value")
        if mass < 0:
            raise self.error(e, f"mass is {mass:g} kg; expected zero or more")
        tensor = self.part(e, "inertia")
        xx, xy, xz, yy, yz, zz = (self.number(tensor, k) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R, center = self.origin(e)
        return mass, np.array(center), I if R is UNTURNED else inertia.rotated(R, I)

    def geometry(self, e: Any) -> Geometry:
        """Return the shape of a <visual> or <collision>."""
        shape = next((s for s in self.part(e, "geometry") if s.tag in SHAPES), None)
        if shape is None:
            raise self.error(e, f"the <geometry> of a <{e.tag}> holds none of the known shapes; expected one of {', '.join(SHAPES)}")
        mesh, uri, fault = None, "", ""
        if shape.tag == "mesh":
            size, uri = self.numbers(shape, "scale", 3, (1.0, 1.0, 1.0)), self.text(shape, "filename")
            mesh, fault, _ = self.finder.find(uri)
            fault = fault and str(self.error(shape, f"mesh '{short(uri)}' {fault}"))
        elif shape.tag == "box":
            size = self.numbers(shape, "size", 3)
        else:
            size = [self.number(shape, k) for k in (("radius",) if shape.tag == "sphere" else ("radius", "length"))]
        try:
            return Geometry(shape.tag, tuple(size), self.pose(e), mesh, self.material(e), e.get("name", ""), uri, fault,
                            up_axis=self.up_axis)  # fmt: skip
        except ModelError as problem:
            raise self.error(shape, str(problem)) from None

    # ------------------------------------------------------------ looks

    def materials(self, root: Any) -> None:
        """Collect what is defined: the robot's own materials first, then those in visuals, which others may name too."""
        for e in [*root.findall("material"), *root.iterfind("link/visual/material")]:
            if e.get("name") and len(e):
                self.named.setdefault(e.get("name"), self.look(e))

    def material(self, e: Any) -> Material | None:
        if (m := e.find("material")) is None:
            return None
        return self.look(m) if len(m) else self.named.get(m.get("name", ""), Material(m.get("name", "")))

    def look(self, e: Any) -> Material:
        color, texture = e.find("color"), e.find("texture")
        rgba: Any = tuple(self.numbers(color, "rgba", 4)) if color is not None else None
        if texture is None:
            return Material(e.get("name", ""), rgba)
        file = self.finder.find(texture.get("filename", ""))
        fault = str(self.error(texture, f"texture '{short(texture.get('filename', ''))}' {file.fault}")) if file.fault else ""
        return Material(e.get("name", ""), rgba, file.path, fault)

    # ------------------------------------------------------------ joints

    def joint(self, e: Any) -> Joint:
        name, kind = self.text(e, "name"), self.kind(e)
        parent, child = (self.end(e, which) for which in ("parent", "child"))
        damping, friction = self.losses(e)
        return self.made(e, Joint, name, kind, parent, child, placement=self.pose(e), axis=self.axis(e, kind), limits=self.limits(e, kind),
                         damping=damping, friction=friction, mimic=self.mimic(e))  # fmt: skip

    def kind(self, e: Any) -> str:
        if (kind := self.text(e, "type")) not in KINDS:
            raise self.error(e, f"type is '{short(kind)}'{nearest(kind[:60], KINDS)}; expected one of {', '.join(KINDS)}")
        return kind

    def end(self, e: Any, which: str) -> str:
        return self.text(self.part(e, which), "link")

    def losses(self, e: Any) -> list[float]:
        """Return the damping and the friction of a joint."""
        moves = e.find("dynamics")
        return [0.0, 0.0] if moves is None else [self.number(moves, k, 0.0) for k in ("damping", "friction")]

    def axis(self, e: Any, kind: str) -> Sequence[float]:
        """Return the unit axis; [1, 0, 0] where none is given."""
        a = e.find("axis")
        if a is None or kind in ("fixed", "floating"):
            return 1.0, 0.0, 0.0
        x, y, z = self.numbers(a, "xyz", 3)
        length = hypot(x, y, z)
        if length < 1e-9 or not isfinite(length):
            raise self.error(a, f"axis is '{short(a.get('xyz'))}'; expected a direction")
        return x / length, y / length, z / length

    def bounds(self, e: Any) -> dict[str, float]:
        """Return the limits of velocity and effort that are given."""
        limit = e.find("limit")
        return {k: self.number(limit, k) for k in BOUNDS if k in limit.attrib} if limit is not None else {}

    def limits(self, e: Any, kind: str) -> Limits:
        bounds, limit = self.bounds(e), e.find("limit")
        if limit is None:
            return Limits()
        if kind not in ("revolute", "prismatic"):
            return Limits(**bounds)
        lower, upper = (self.number(limit, k, 0.0) for k in ("lower", "upper"))
        if lower > upper:
            unit = "m" if kind == "prismatic" else "rad"
            raise self.error(limit, f"the lower limit {lower:g} {unit} exceeds the upper one, {upper:g} {unit}; expected a range")
        return Limits(lower, upper, **bounds)

    def mimic(self, e: Any) -> Mimic | None:
        if (m := e.find("mimic")) is None:
            return None
        return Mimic(self.text(m, "joint"), self.number(m, "multiplier", 1.0), self.number(m, "offset", 0.0))

    def parts(self, e: Any) -> list[Callable[[], Any]]:
        """Return what reads the parts of a link or joint, each by itself."""
        if e.tag == "link":
            shapes = [g for tag in ("visual", "collision") for g in e.findall(tag)]
            return [partial(self.text, e, "name"), partial(self.inertia, e), *(partial(self.geometry, g) for g in shapes)]
        kind = e.get("type")
        return [partial(self.text, e, "name"), partial(self.kind, e), partial(self.end, e, "parent"), partial(self.end, e, "child"),
                partial(self.losses, e), partial(self.pose, e), partial(self.axis, e, kind), partial(self.bounds, e),
                partial(self.limits, e, kind), partial(self.mimic, e)]  # fmt: skip

    # ------------------------------------------------------------ the tree

    def made(self, e: Any, kind: Any, *args: Any, **named: Any) -> Any:
        try:
            return kind(*args, **named)
        except ModelError as problem:
            raise RobotFileError(str(problem), self.file, e.sourceline) from None

    def model(self, root: Any, links: list[tuple[Any, Link]], joints: list[tuple[Any, Joint]], floating_base: bool = False) -> Model:
        """Return the links and joints as one tree."""
        for problem in self.clashes(links, joints):
            raise problem
        graph = nx.DiGraph(name=root.get("name") or ("" if self.given.text is not None else Path(self.file).stem))
        graph.add_nodes_from((link.name, {"link": link}) for _, link in links)
        graph.add_edges_from((j.parent, j.child, {"joint": j}) for _, j in joints)
        try:
            return Model.from_graph(graph, floating_base=floating_base)
        except ModelError as problem:
            raise RobotFileError(str(problem), self.file) from None

    def clashes(self, links: list[tuple[Any, Link]], joints: list[tuple[Any, Joint]]) -> Iterable[RobotFileError]:
        """Yield what keeps links and joints from being put together: names there twice or missing, links with two joints above."""
        seen: dict[tuple[str, str], int] = {}
        parts: list[tuple[Any, Any]] = [*links, *joints]
        for e, item in parts:
            if (e.tag, item.name) in seen:
                yield self.error(e, f"the name is taken by the {e.tag} in line {seen[e.tag, item.name]}; expected unique names")
            seen.setdefault((e.tag, item.name), e.sourceline)
        names, sources = ([name for tag, name in seen if tag == kind][:1000] for kind in ("link", "joint"))
        above: dict[str, Joint] = {}
        for e, joint in joints:
            for tag, end in (("parent", joint.parent), ("child", joint.child)):
                if ("link", end) not in seen:
                    meant = nearest(short(end), names)
                    yield self.error(e.find(tag), f"{tag} link '{short(end)}' is not there{meant}; expected a link of this file")
            if (other := above.setdefault(joint.child, joint)) is not joint:
                yield self.error(e, f"link '{joint.child}' hangs on joint '{other.name}' already; expected one joint above each link")
            source = joint.mimic.source if joint.mimic and joint.kind != "fixed" else None
            if source and ("joint", source) not in seen:
                meant = nearest(short(source), [name for name in sources if name != joint.name])
                yield self.error(e.find("mimic"), f"mimics '{short(source)}', which is not there{meant}; expected a joint of this file")


def below_zero(e: Any, joint: Joint) -> Iterator[tuple[Any, str]]:
    """Yield what of a moving joint is below zero and means nothing there: its element, and the value with what follows."""
    if joint.kind == "fixed":
        return
    for which, x, then in (("damping", joint.damping, "drives the joint by it"), ("friction", joint.friction, "refuses it")):
        if x < 0:
            yield e.find("dynamics"), f"{which} is {x:g}; expected zero or more (a Simulator {then}, or takes joint_dynamics=None)"
    for which in BOUNDS:
        if (x := getattr(joint.limits, which)) < 0:
            yield e.find("limit"), f"the {which} limit is {x:g}; expected a positive number (none is enforced)"


def place(element: Any) -> str:
    """Return "link 'x'" or "joint 'x'": the part of the robot that an element lies in, or ''."""
    while (parent := element.getparent()) is not None and parent.getparent() is not None:
        element = parent
    if element.getparent() is None:
        return ""
    return f"{element.tag} '{short(element.get('name') or '')}'"


def rotation(roll: float, pitch: float, yaw: float) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll).

    >>> rotation(0.0, 0.0, 1.57079632679).round(9)
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    (sr, cr), (sp, cp), (sy, cy) = ((sin(a), cos(a)) for a in (roll, pitch, yaw))
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]]) + 0.0  # fmt: skip
