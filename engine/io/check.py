"""A report of what is wrong, or looks wrong, in a robot file: every finding at once, none of them an exception."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import hypot, pi, sqrt
from typing import Any

import networkx as nx
import numpy as np

from engine.dynamics.aba import aba
from engine.dynamics.rnea import rnea
from engine.io import mjcf, sdf, usd
from engine.io.dae import up_axis_of
from engine.io.errors import RobotFileError
from engine.io.load import EXPECTED, folders_of
from engine.io.mesh import file_of, load_mesh, tilted, untold
from engine.io.misread import WIDE, of_angles, unknown_parts
from engine.io.urdf import Reader, below_zero, place
from engine.io.usd.stage import START
from engine.io.xml import outermost
from engine.model import Geometry, Joint, Link, Model, StateError
from engine.spatial import inertia

Array = np.ndarray
SEVERITIES = ("error", "warning", "note")
MASSES = 1e-6, 1e5             # kg
GYRATION = 1e-5, 10.0          # m
FAR = 10.0                     # m
#: kg/m³: osmium, the densest element. Of a mass that is nowhere denser, a ball has the least largest moment of inertia
DENSEST = 22_590.0
#: the radius of gyration over the distance from the centre of mass to the farthest point of the link's shapes. It is at most 1 if the
#: shapes are the whole link; of the robots of MuJoCo Menagerie it is at most 4.9, where shapes leave parts out. Of 49 of these, three have
#: links beyond these bounds, with placeholders for inertias
REACHED = 0.02, 5.0
#: of what clashes, that many are told
MOST = 100
#: seeds of configurations to try besides the neutral one; an error that leaves half of a double's digits
OTHERS, HALF_OF_ALL_DIGITS = (0, 1), 1e-8
#: bodies of which forward dynamics in plain NumPy takes seconds
MOST_TRIED = 500
WEIGHTLESS = np.zeros(3)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong ('error'), looks wrong ('warning') or is worth knowing ('note').

    >>> str(Finding("warning", "link 'a'", "its mass is zero", 3))
    "warning  link 'a' (line 3): its mass is zero"
    """

    severity: str
    place: str
    message: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.severity:<8} {self.place}{f' (line {self.line})' if self.line else ''}: {self.message}"


@dataclass(frozen=True)
class Report:
    """The findings about one file, errors first.

    >>> Report("r.urdf", (Finding("note", "link 'a'", "it has no mass"),)).findings[0].severity
    'note'
    """

    file: str
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """True if no finding is an error."""
        return not any(f.severity == "error" for f in self.findings)

    def count(self, severity: str) -> str:
        """Return how many findings are of a severity, as "2 errors", or '' if none is."""
        n = sum(f.severity == severity for f in self.findings)
        return f"{n} {severity}{'s' * (n > 1)}" if n else ""

    def __str__(self) -> str:
        found = ", ".join(filter(None, map(self.count, SEVERITIES)))
        return "\n".join([f"{self.file}: {found or 'nothing wrong found'}", *(f"  {f}" for f in self.findings)])


def check(path: str | os.PathLike[str], package_dirs: Iterable[str | os.PathLike[str]] = (), meshes: bool = False,
          floating_base: bool = False) -> Report:  # fmt: skip
    """Return everything suspicious in a URDF, SDF, MJCF or USD file, or its text.

    An error is what stops it from loading or from moving, or a mesh outside of the robot's folders, which is never read.

    ``package_dirs`` are further folders for meshes; with ``meshes`` each of them is read, without they are only looked for. With
    ``floating_base`` the base shall move too. Whether it can move is tried: by forward dynamics of the neutral configuration and of two
    others. Raises RobotFileError for arguments of the wrong type, never for what the file holds.

    >>> print(check('<robot name="r"><link name="a"/><link name="a"/></robot>'))
    <string>: 1 error
      error    link 'a' (line 1): the name is taken by the link in line 1; expected unique names
    """
    reader = Reader(path, package_dirs, up_axis=False)
    if reader.given.text is None and os.path.splitext(reader.file)[1].lower() in usd.SUFFIXES:
        return of_nodes(reader.file, lambda: usd.read_stage(path, floating_base), START, "link", meshes)
    kind = ""
    with contextlib.suppress(RobotFileError):                                  # the reader says what is wrong
        kind = outermost(reader.given.read(EXPECTED), reader.given.encoding)
    if kind == "mujoco":
        return of_nodes(reader.file, lambda: mjcf.read(path, floating_base, folders_of(package_dirs)), mjcf.START, "body", meshes)
    if kind == "sdf":
        return of_nodes(reader.file, lambda: sdf.read(path, None, package_dirs), sdf.START, "link", meshes)
    try:
        root = reader.root()
    except RobotFileError as problem:
        return Report(reader.file, (finding_of(problem),))
    with np.errstate(all="ignore"):     # absurd numbers overflow
        findings = sorted(examine(reader, root, meshes, floating_base), key=lambda f: (SEVERITIES.index(f.severity), f.line))
    return Report(reader.file, tuple(dict.fromkeys(findings)))


def of_nodes(file: str, read: Callable[[], tuple[Model, Any]], start: Any, what: str, meshes: bool) -> Report:
    """Return everything suspicious in an MJCF, SDF or USD file: the first error, or what is not read, and whether the robot can move."""
    try:
        model, notes = read()
    except RobotFileError as problem:
        return Report(file, (finding_of(problem), Finding("note", "robot", "reading ended at this error; there may be others")))
    found = [Finding(n.severity, n.node.place, n.message, n.node.line) for n in notes]
    for link in model.links:
        where = f"{what} '{link.name}'"
        found += [Finding("warning", where, fault) for fault in inertia.faults(link.inertia)]
        if inertia.mass(link.inertia) > 0:
            c, moments = inertia.center(link.inertia), inertia.principal_moments(link.inertia)
            found += [Finding("warning", where, text) for text in of_mass(inertia.mass(link.inertia), c, moments, link, meshes)]
        shapes = {id(g): g for g in (*link.visuals, *link.collisions) if g.kind == "mesh"}
        found += [Finding("warning", where, g.fault) for g in shapes.values() if g.fault]
        for g in (g for g in shapes.values() if meshes and not g.fault):
            try:
                load_mesh(g)
            except RobotFileError as problem:
                found.append(Finding("warning", where, f"mesh '{g.uri}': {problem.reason}"))
    if model.nv:
        with np.errstate(all="ignore"):
            found += of_motion(model, {}, start)
    return Report(file, tuple(dict.fromkeys(sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.line)))))


def examine(reader: Reader, root: Any, meshes: bool, floating_base: bool) -> Iterator[Finding]:
    """Yield all findings: each element by itself, then links and joints together, then the model they make."""
    for severity, at, text in unknown_parts(root):
        yield finding(severity, at, text) if at is not None else Finding(severity, "robot", text)
    broken = False
    try:
        reader.materials(root)
    except RobotFileError as problem:
        broken = True
        yield finding_of(problem)
    links: list[tuple[Any, Link]] = []
    joints: list[tuple[Any, Joint]] = []
    for e in [*root.findall("link"), *root.findall("joint")]:
        try:
            yield from (finding(*found) for found in of_angles(reader, e))
            if e.tag == "link":
                links.append((e, reader.link(e)))
                yield from [*of_inertial(reader, *links[-1], meshes), *of_shapes(reader, *links[-1], meshes), *of_materials(reader, e)]
            else:
                joints.append((e, reader.joint(e)))
                yield from of_joint(reader, *joints[-1])
        except RobotFileError as problem:
            broken = True
            yield from map(finding_of, [*every_error(reader, e), problem])
            if e.tag == "link" and e.get("name"):
                links.append((e, Link(e.get("name"))))      # for its joints to hang on
    clashes = [finding_of(problem) for problem in islice(reader.clashes(links, joints), MOST)]
    loose = [] if broken or clashes else list(of_trees(links, joints))
    yield from [*clashes, *loose]
    if not (broken or clashes or loose):
        try:
            yield from of_motion(reader.model(root, links, joints, floating_base), {j.name: e for e, j in joints}, root)
        except RobotFileError as problem:
            yield finding_of(problem)


def finding(severity: str, e: Any, message: str) -> Finding:
    if e in (mjcf.START, sdf.START, START):
        return Finding(severity, "robot", message)
    return Finding(severity, place(e) or "robot", message, e.sourceline)


def finding_of(problem: RobotFileError) -> Finding:
    return Finding("error", problem.place or "robot", problem.reason, problem.line)


# ---------------------------------------------------------------- the elements


def of_inertial(reader: Reader, e: Any, link: Link, meshes: bool) -> Iterator[Finding]:
    """Yield findings about an inertia that no rigid body has, or none of a robot's."""
    body = reader.body(e)
    if body is None:
        return
    mass, center, tensor = body
    at = e.find("inertial")
    if mass == 0 and not tensor.any():
        yield finding("note", at, "the inertial has no mass")
        return
    moments = np.linalg.eigvalsh(tensor)
    if not mass or np.abs(moments).max() >= GYRATION[0] ** 2 * mass:
        yield from (finding("warning", at, fault) for fault in inertia.faults(inertia.from_mass(mass, np.zeros(3), tensor)))
    if mass:
        yield from (finding("warning", at, text) for text in of_mass(mass, center, moments, link, meshes))


def of_mass(mass: float, center: Array, moments: Array, link: Link, meshes: bool) -> Iterator[str]:
    """Yield what is implausible of a link's mass, kg, its centre of mass (3), m, and its principal moments of inertia (3), kg·m²."""
    k = sqrt(np.abs(moments).max() / mass)
    if not GYRATION[0] <= k <= GYRATION[1]:
        yield f"the radius of gyration is {k:.3g} m at a mass of {mass:g} kg; expected {GYRATION[0]:g} to {GYRATION[1]:g} m"
    elif (density := mass / (4 / 3 * pi * (sqrt(5 / 2) * k) ** 3)) > DENSEST:
        yield (f"the largest moment of inertia, {np.abs(moments).max():.3g} kg·m², is too small for a mass of {mass:g} kg: of a ball with "
               f"both the density is {density:.3g} kg/m³; expected at most {DENSEST:.0f} kg/m³, as of osmium")  # fmt: skip
    elif (reach := reach_of(link, center, meshes)) and not REACHED[0] <= k / reach <= REACHED[1]:
        yield (f"the radius of gyration is {k:.3g} m, {k / reach:.3g} times the distance from the centre of mass to the farthest point of "
               f"the shapes, {reach:.3g} m; expected {REACHED[0]:g} to {REACHED[1]:g} times")  # fmt: skip
    if not MASSES[0] <= mass <= MASSES[1]:
        yield f"mass is {mass:g} kg; expected {MASSES[0]:g} to {MASSES[1]:g} kg"
    if (far := hypot(*center)) > FAR:
        yield f"the centre of mass is {far:g} m from the link's origin; expected at most {FAR:g} m"


def reach_of(link: Link, center: Array, meshes: bool) -> float:
    """Return the distance from a link's centre of mass (3) to the farthest point of its shapes, m; 0 where not all are read."""
    shapes, reach = [*link.visuals, *link.collisions], 0.0
    if any(g.kind == "heightfield" or (g.kind == "mesh" and (not meshes or g.fault)) for g in shapes):
        return 0.0
    for g in shapes:
        try:
            reach = max(reach, farthest(g, g.placement[:3, :3].T @ (center - g.placement[:3, 3])))
        except RobotFileError:                                                  # said of the shape
            return 0.0
    return reach


def farthest(g: Geometry, c: Array) -> float:
    """Return the distance from a point c (3) in a shape's frame to the shape's farthest point, m; of an ellipsoid that of its largest ball.

    >>> farthest(Geometry("box", (2.0, 4.0, 4.0)), np.zeros(3)), farthest(Geometry("capsule", (1.0, 2.0)), np.array([0.0, 0.0, -3.0]))
    (3.0, 5.0)
    """
    if g.kind == "mesh":
        return float(np.linalg.norm(load_mesh(g).vertices - c, axis=1).max())
    x, y, z = np.abs(c).tolist()
    if g.kind == "box":
        return hypot(*(np.abs(c) + 0.5 * np.array(g.size)))
    if g.kind == "cylinder":
        return hypot(hypot(x, y) + g.size[0], z + 0.5 * g.size[1])
    if g.kind == "capsule":
        return hypot(x, y, z + 0.5 * g.size[1]) + g.size[0]
    return hypot(x, y, z) + max(g.size)


class AllErrors(Reader):
    """Reader that notes each error in an attribute and goes on with a stand-in."""

    def __init__(self, reader: Reader) -> None:
        vars(self).update(vars(reader))
        self.errors: list[RobotFileError] = []

    def text(self, e: Any, name: str) -> str:
        try:
            return super().text(e, name)
        except RobotFileError as problem:
            return self.noted(problem, "?")

    def numbers(self, e: Any, name: str, count: int, default: Sequence[float] | None = None) -> Sequence[float]:
        try:
            return super().numbers(e, name, count, default)
        except RobotFileError as problem:
            return self.noted(problem, (0.0,) * count)

    def noted(self, problem: RobotFileError, instead: Any) -> Any:
        if str(problem) not in map(str, self.errors):
            self.errors.append(problem)
        return instead


def every_error(reader: Reader, e: Any) -> list[RobotFileError]:
    """Return all errors in a link or joint: its parts are read one by one. What a stand-in brings about is none."""
    all_errors = AllErrors(reader)
    for read in all_errors.parts(e):
        count = len(all_errors.errors)
        try:
            read()
        except RobotFileError as problem:
            if len(all_errors.errors) == count:
                all_errors.noted(problem, None)
    return all_errors.errors


def of_shapes(reader: Reader, e: Any, link: Link, meshes: bool) -> Iterator[Finding]:
    """Yield findings about shapes without extent; meshes that are not there, lie outside or cannot be read."""
    for at, g in zip([*e.findall("visual"), *e.findall("collision")], [*link.visuals, *link.collisions], strict=True):
        if 0 in g.size:
            size = " ".join(f"{x:g}" for x in g.size)
            yield finding("warning", at, f"the {g.kind} of a <{at.tag}> has the size {size}; expected positive numbers")
        if g.kind == "mesh":
            yield from of_mesh(reader, at.find("geometry/mesh"), g, meshes)


def of_mesh(reader: Reader, at: Any, g: Geometry, read: bool) -> Iterator[Finding]:
    found = reader.finder.find(g.uri)
    if found.fault:
        yield finding("error" if found.escapes else "warning", at, f"mesh '{g.uri}' {found.fault}")
    elif read:
        try:
            load_mesh(g)
            if tilted(replace(g, up_axis=None)):
                yield finding("note", at, f"mesh '{g.uri}': {untold(up_axis_of(file_of(g)))}")
        except RobotFileError as problem:
            yield finding("warning", at, f"mesh '{g.uri}': {problem.reason}")


def of_materials(reader: Reader, link: Any) -> Iterator[Finding]:
    """Yield findings about materials that are named but nowhere defined, colours out of range, textures that are not there."""
    for m in link.iterfind("visual/material"):
        if not len(m) and m.get("name", "") not in reader.named:
            yield finding("warning", m, f"material '{m.get('name', '')}' is not defined; expected its <color> or <texture> in the file")
        color, texture = m.find("color"), m.find("texture")
        if color is not None and not all(0 <= x <= 1 for x in reader.numbers(color, "rgba", 4)):
            yield finding("warning", color, f"colour is '{color.get('rgba')}'; expected numbers from 0 to 1")
        if texture is not None and texture.get("filename") and (fault := reader.finder.find(texture.get("filename")).fault):
            yield finding("warning", texture, f"texture '{texture.get('filename')}' {fault}")


def of_joint(reader: Reader, e: Any, joint: Joint) -> Iterator[Finding]:
    """Yield findings about limits that leave no room or none at all, axes of odd length, mimics that do nothing."""
    if joint.kind == "fixed":
        if joint.mimic:
            yield finding("note", e.find("mimic"), f"mimics '{joint.mimic.source}' but is fixed, so that the mimic does nothing")
        return
    axis, limit, own = e.find("axis"), e.find("limit"), joint.limits
    if axis is not None and joint.kind != "floating":
        length = hypot(*reader.numbers(axis, "xyz", 3))
        if abs(length - 1) > 1e-4:
            yield finding("warning", axis, f"axis '{axis.get('xyz')}' has the length {length:.6g}; expected 1 (the direction counts)")
    yield from (finding("warning", at, text) for at, text in below_zero(e, joint))
    bounded = joint.kind in ("revolute", "prismatic")
    if limit is None:
        if bounded:
            yield finding("warning", e, f"the {joint.kind} joint has no <limit>; it moves without bounds")
        return
    unit = "m" if joint.kind == "prismatic" else "rad"
    if bounded and own.lower == own.upper:
        yield finding("warning", limit, f"both limits are {own.lower:g} {unit}; expected a range, or a fixed joint")
    elif joint.kind == "revolute" and (width := own.upper - own.lower) > WIDE:
        yield finding("warning", limit, f"the range is {width:.6g} rad, over two turns; expected radians (degrees?), or 'continuous'")
    for name, value in (("velocity", own.velocity), ("effort", own.effort)):
        if value == 0:
            yield finding("warning", limit, f"the {name} limit is 0; expected a positive number")
        if name not in limit.attrib:
            yield finding("note", limit, f"there is no {name} limit; it is taken as infinite")


# ---------------------------------------------------------------- the mechanism


def of_trees(links: list[tuple[Any, Link]], joints: list[tuple[Any, Joint]]) -> Iterator[Finding]:
    """Yield findings about links that hang on no joint, apart from the largest tree."""
    graph = nx.DiGraph()
    graph.add_nodes_from(link.name for _, link in links)
    graph.add_edges_from((j.parent, j.child) for _, j in joints)
    sizes = {root: len(nx.descendants(graph, root)) for root, above in graph.in_degree() if not above}
    largest = max(sizes, key=sizes.__getitem__, default="")
    for e, link in links:
        if link.name in sizes and link.name != largest:
            yield finding("error", e, f"no joint connects the link to the tree of '{largest}'; expected one tree")


def of_motion(model: Model, elements: dict[str, Any], root: Any) -> Iterator[Finding]:
    """Yield findings about joints whose joint-space inertia is zero or negative, and about forward dynamics that has no answer."""
    inert = [not b.inertia.any() for b in model.bodies]
    leaf = [True] * len(inert)
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:
            inert[body.parent] &= inert[i]
            leaf[body.parent] = False
    busy = {b.v.start for b, idle in zip(model.bodies, inert, strict=True) if not idle}
    q, leading = model.neutral(), {b.v.start for b in model.bodies if b.mimics}
    found = []
    for i, body in enumerate(model.bodies):
        e, G, S = elements.get(body.joint.name, root), body.inertia, body.subspace(q)
        if body.v.start not in busy and not body.mimics:
            found.append(finding("error", e, "moves no mass: no link that follows has any, so that the joint-space inertia is singular"))
        elif leaf[i] and body.v.start not in leading and (np.abs(np.diag(S.T @ G @ S)) <= 1e-15 * np.abs(G).max()).any():
            lacking = f"moves {G[5, 5]:g} kg without inertia along its motion, so that the joint-space inertia is singular"
            found.append(finding("error", e, lacking))
        lowest = float(inertia.principal_moments(G)[0])
        if lowest < -1e-12 * np.abs(G).max():
            wrong = f"what it moves has together a negative moment of inertia, {lowest:.3g} kg·m²; expected positive"
            found.append(finding("warning", e, wrong))
    yield from found
    if all(f.severity != "error" for f in found):
        yield from of_dynamics(model, elements, root)


def of_dynamics(model: Model, elements: dict[str, Any], root: Any) -> Iterator[Finding]:
    """Yield findings about accelerations that cannot be had from forces, or not to half of a double's digits."""
    if len(model.bodies) > MOST_TRIED:
        yield finding("note", root, f"forward dynamics of {len(model.bodies)} bodies was not tried; it is of up to {MOST_TRIED}")
        return
    told: list[tuple[str, str, str]] = []
    for where, q in configurations(model):
        one, rest = np.ones(model.nv), np.zeros(model.nv)
        tau = rnea(model, q, rest, one, WEIGHTLESS)
        try:
            error = np.abs(aba(model, q, rest, tau, WEIGHTLESS) - one) if np.isfinite(tau).all() else tau
        except StateError as problem:
            told.append(("error", "", f"{where}, {problem}"))
            continue
        if not np.isfinite(error).all():
            told.append(("error", "", f"{where}, dynamics is not finite; expected numbers of ordinary size"))
        elif error.max(initial=0.0) > HALF_OF_ALL_DIGITS:
            worst = model.entries("v")[int(error.argmax())]
            told.append(("warning", worst, f"{where}, forward dynamics is right to {error.max():.1g} only, for the joint-space inertia is "
                                           f"nearly singular; expected inertia along every motion"))  # fmt: skip
    for severity, joint, text in told[:1]:
        everywhere = len(told) == 1 + len(OTHERS) or severity == "warning"
        yield finding(severity if everywhere else "warning", elements.get(joint, root), text)


def configurations(model: Model) -> Iterator[tuple[str, Any]]:
    """Yield configurations to try a model in, and where they are."""
    yield "at the neutral configuration", model.neutral()
    for seed in OTHERS:
        yield "at a random configuration", model.random(np.random.default_rng(seed))[0]
