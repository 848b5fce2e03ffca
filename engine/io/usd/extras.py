"""Physics of a USD stage besides its trees: gravity, drives, loops, collision groups and materials."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.io.errors import RobotFileError
from engine.io.notes import MOST_TOUCHING
from engine.io.usd.bodies import Body, material_of
from engine.io.usd.joints import Tie
from engine.io.usd.stage import Stage, value
from engine.model import Model, Part
from engine.model.file_extras import to_plain
from engine.spatial import se3

Array = np.ndarray
WORLD = "world"
#: m/s² where a scene has its own word for the Earth's
EARTH = 9.81
CLOSING = {"revolute": "Hinge", "prismatic": "Slider", "spherical": "Ball", "fixed": "Weld"}
#: s/m, of contacts that do not bounce
MOST_DISSIPATION = 100.0
#: how simulators switch off what touches within an articulation
SELF = ("physxArticulation:enabledSelfCollisions", "newton:selfCollisionEnabled")
Filter = Callable[[Any, Any], bool]


class Solid(NamedTuple):
    """A collider: its link's name, its body, the number of its tree, and whether it stands."""

    name: str
    body: Body
    tree: int
    stands: bool


def gravity_of(stage: Stage) -> tuple[float, float, float] | None:
    """Return the gravity of the first scene, m/s² in a world whose z points up, None where there is no scene."""
    scenes = [p for p in stage.prims() if p.IsA(stage.Physics.Scene)]
    for other in scenes[1:]:
        stage.leave("scenes but the first", other.GetPath())
    if not scenes:
        return None
    scene = stage.Physics.Scene(scenes[0])
    way = np.array(value(scene.GetGravityDirectionAttr(), (0.0, 0.0, 0.0)), dtype=float)
    most = float(value(scene.GetGravityMagnitudeAttr(), -np.inf))
    if np.isnan(most) or most == np.inf or not np.isfinite(way).all():
        raise RobotFileError(f"scene {scene.GetPath()} has gravity of {most:g} along {way.tolist()}; expected numbers, or a magnitude "
                             "below zero for the Earth's", stage.file)  # fmt: skip
    down = stage.upright @ way / np.linalg.norm(way) if way.any() else np.array([0.0, 0.0, -1.0])
    x, y, z = (down * (most * stage.length if most >= 0.0 else EARTH) + 0.0).tolist()
    return x, y, z


def drive_of(stage: Stage, tie: Tie, joint: str) -> Part | None:
    """Return a joint's drive as an actuator, whose command is how far beyond the file's target, position or, of one without stiffness,
    speed, it shall be; of one without both, its force. None where it has none."""
    names = [str(s).partition(":")[2] for s in tie.prim.GetAppliedSchemas() if str(s).startswith("PhysicsDriveAPI")]
    for other in [n for n in names if n != tie.drive]:
        stage.leave("drives of joints", f"{other} of {tie.prim.GetPath()}")
    if tie.drive not in names:
        return None
    api = stage.Physics.DriveAPI(tie.prim, tie.drive)
    if str(value(api.GetTypeAttr(), "force")) == "acceleration":
        stage.leave("drives by acceleration", tie.prim.GetPath())
        return None
    unit = np.pi / 180.0 if tie.kind == "revolute" else stage.length
    force = stage.mass * stage.length ** (2 if tie.kind == "revolute" else 1)
    k, d = (float(value(a, 0.0)) * force / unit for a in (api.GetStiffnessAttr(), api.GetDampingAttr()))
    q, v = (float(value(a, 0.0)) * unit for a in (api.GetTargetPositionAttr(), api.GetTargetVelocityAttr()))
    if min(k, d) < 0.0:
        what = f"the drive of {tie.prim.GetPath()} has a stiffness or damping below zero"
        raise RobotFileError(f"{what}; expected numbers from zero", stage.file)
    gain = k or d or 1.0
    most = tie.limits.effort
    values: dict[str, Any] = {"name": f"drive of {joint}", "joints": {joint: 1.0}, "gain": (gain, 0.0, 0.0),
                              "bias": (k * q + d * v, -k, -d)}  # fmt: skip
    return Part("GeneralActuator", values | ({"force_range": (-most, most)} if np.isfinite(most) else {}))


def closed(stage: Stage, tie: Tie, names: Mapping[str, str], shifts: Mapping[str, Array]) -> Part:
    """Return the constraint that a joint is which closes a loop."""
    ends = [names.get(e, WORLD) for e in tie.ends]
    T_A, T_B = (shifts[e] @ T if e else T for e, T in zip(tie.ends, tie.frames, strict=True))
    kind = CLOSING[tie.kind]
    if np.isfinite([tie.limits.lower, tie.limits.upper]).any():
        stage.leave("limits of joints that close loops", tie.prim.GetPath())
    if any(str(s).startswith("PhysicsDriveAPI") for s in tie.prim.GetAppliedSchemas()):
        stage.leave("drives of joints that close loops", tie.prim.GetPath())
    values: dict[str, Any] = {"link_a": ends[0], "link_b": ends[1], "name": tie.name}
    if kind == "Weld":
        return Part(kind, values | {"pose_ab": to_plain(T_A @ se3.inv(T_B))})
    values |= {"point_a": to_plain(T_A[:3, 3]), "point_b": to_plain(T_B[:3, 3])}
    if kind == "Ball":
        return Part(kind, values)
    if kind == "Slider" and np.abs(T_A[:3, :3] @ T_B[:3, :3].T - np.eye(3)).max() > 1e-5:
        what = f"the prismatic joint {tie.prim.GetPath()} closes a loop between bodies that are turned to one another"
        raise RobotFileError(f"{what}; expected equal axes", stage.file)
    return Part(kind, values | {"axis_a": to_plain(T_A[:3, :3] @ tie.axis), "axis_b": to_plain(T_B[:3, :3] @ tie.axis)})


# ---------------------------------------------------------------- contacts


def contacts_of(stage: Stage, model: Model, solids: Sequence[Solid], ties: Sequence[Tie], ground: Any) -> Part | None:
    """Return what may touch: all but what stands among itself, joints tie, or the file filters; None where nothing may."""
    kept = [s for s in solids if s.body.collisions]
    carrier = {link.name: body for link, (body, _) in zip(model.links, model.carrier, strict=True)}
    joined = {frozenset(t.ends) for t in ties if not t.collide and all(t.ends)}
    apart = filters(stage)
    quiet = {s.tree for s in kept if not s.stands and not touches_itself(stage, s.body.prim)}
    pairs: list[tuple[str, str]] = []
    for a, b in itertools.combinations(kept, 2):
        if carrier[a.name] == carrier[b.name] or (a.tree == b.tree and a.tree in quiet) or frozenset((a.body.path, b.body.path)) in joined:
            continue
        pairs += named_pairs(model.link(a.name).shapes, model.link(b.name).shapes, a, b, apart)
        if len(pairs) > MOST_TOUCHING:
            stage.leave(f"which of more than {MOST_TOUCHING} pairs touch; expected contacts=Contacts(pairs=[...]) of those that matter",
                        "them all")  # fmt: skip
            return Part("Contacts", {"pairs": MOST_TOUCHING})
    values: dict[str, Any] = {"combine": "mean", "materials": {n: m for s in kept for n, m in rubs(stage, model.link(s.name).shapes, s)}}
    if ground is not None:
        R, p = (T := ground[1])[:3, :3], T[:3, 3]
        values["ground"] = Part("HalfSpace", {"normal": to_plain(R[:, 2]), "offset": float(R[:, 2] @ p), **of_surface(stage, ground[0])})
        for s in [s for s in kept if not s.stands]:
            shapes = [n for n, p in zip(model.link(s.name).shapes, s.body.touching, strict=True) if not apart(p, ground[0])]
            pairs += [(WORLD, s.name)] if len(shapes) == len(s.body.touching) else [(WORLD, n) for n in shapes]
    return Part("Contacts", {"pairs": tuple(pairs), **values}) if pairs else None


def named_pairs(one: Sequence[str], two: Sequence[str], a: Solid, b: Solid, apart: Filter) -> list[tuple[str, str]]:
    """Return the names of two links, or where some of their shapes are filtered, those of the others."""
    met = [(m, n) for m, p in zip(one, a.body.touching, strict=True) for n, q in zip(two, b.body.touching, strict=True) if not apart(p, q)]
    return [(a.name, b.name)] if len(met) == len(one) * len(two) else met


def rubs(stage: Stage, shapes: Sequence[str], s: Solid) -> Iterator[tuple[str, Part]]:
    """Yield the materials of a link's shapes that have one: by the link's name where all have the same."""
    found = {n: m["material"] for n, p in zip(shapes, s.body.touching, strict=True) if (m := of_surface(stage, p))}
    same = {(m.values["friction"], m.values["dissipation"]) for m in found.values()}
    yield from [(s.name, next(iter(found.values())))] if len(found) == len(shapes) and len(same) == 1 else found.items()


def of_surface(stage: Stage, prim: Any) -> dict[str, Part]:
    """Return the material of a shape as an argument, or none."""
    if (material := material_of(stage, prim)) is None:
        return {}
    api = stage.Physics.MaterialAPI(material)
    slides, sticks, bounces = (float(value(a, 0.0)) for a in (api.GetDynamicFrictionAttr(), api.GetStaticFrictionAttr(),
                                                              api.GetRestitutionAttr()))  # fmt: skip
    if not 0.0 <= slides < np.inf:
        raise RobotFileError(f"material {material.GetPath()} has the friction {slides:g}; expected a number from zero", stage.file)
    if sticks != slides and api.GetStaticFrictionAttr().HasAuthoredValue():
        stage.leave("static friction that is another than that of sliding", material.GetPath())
    if not 0.0 <= bounces <= 1.0:
        raise RobotFileError(f"material {material.GetPath()} has the restitution {bounces:g}; expected a number from 0 to 1", stage.file)
    if bounces:
        stage.leave("restitution at other speeds of touch than 1 m/s", material.GetPath())
    return {"material": Part("ContactMaterial", {"friction": slides, "dissipation": dissipation(bounces)})}


def dissipation(restitution: float) -> float:
    """Return the dissipation d, s/m, of a contact that leaves with this part of 1 m/s::

        d − ln(1 + d) = −e d − ln(1 − e d)                                                                                    (1)

    Hunt and Crossley's law leaves no faster than 1/d from any touch: without restitution d is 100 s/m, for 1 cm/s.

    >>> [round(dissipation(e), 2) for e in (1.0, 0.937, 0.594, 0.197, 0.0)]
    [0.0, 0.1, 1.0, 5.0, 100.0]
    """
    e = max(restitution, 1.0 / MOST_DISSIPATION)
    least, most = 0.0, min(1.0 / e, MOST_DISSIPATION) * (1.0 - 1e-12)
    for _ in range(100):                                                       # (1) has one root beside zero, before 1/e
        d = 0.5 * (least + most)
        short = d - np.log1p(d) + e * d + np.log1p(-e * d) > 0.0 if 1.0 - e > 1e-3 else d < 1.5 * (1.0 - e)
        least, most = (d, most) if short else (least, d)
    return float(d) if restitution > 1.0 / MOST_DISSIPATION else MOST_DISSIPATION


def touches_itself(stage: Stage, prim: Any) -> bool:
    """Return whether bodies of the articulation that a prim is of may touch each other."""
    while prim:
        if prim.HasAPI(stage.Physics.ArticulationRootAPI):
            return all(bool(stage.added(prim, name, True)) for name in SELF)
        below = [p for p in prim.GetChildren() if p.HasAPI(stage.Physics.ArticulationRootAPI)]
        if below:
            return all(bool(stage.added(below[0], name, True)) for name in SELF)
        prim = prim.GetParent()
    return True


def filters(stage: Stage) -> Filter:
    """Return whether two shapes, by their prims, are kept apart: by pairs of what they are, or lie in, or by groups."""
    named: set[frozenset[str]] = set()
    for prim in stage.prims():
        if prim.HasAPI(stage.Physics.FilteredPairsAPI):
            own = str(prim.GetPath())
            named |= {frozenset((own, str(t))) for t in stage.Physics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()}
    groups = [p for p in stage.prims() if p.IsA(stage.Physics.CollisionGroup)]
    table = stage.Physics.CollisionGroup.ComputeCollisionGroupTable(stage.stage) if groups else None
    members = [(p.GetPath(), stage.Physics.CollisionGroup(p).GetCollidersCollectionAPI().ComputeMembershipQuery()) for p in groups]

    def apart(a: Any, b: Any) -> bool:
        if named and any(frozenset((x, y)) in named for x, y in itertools.product(above(a), above(b))):
            return True
        of_a, of_b = ([g for g, query in members if query.IsPathIncluded(p.GetPath())] for p in (a, b))
        return table is not None and any(not table.IsCollisionEnabled(x, y) for x, y in itertools.product(of_a, of_b))

    return apart


def above(prim: Any) -> Iterable[str]:
    """Yield the paths of a prim and of those above it."""
    while prim and not prim.IsPseudoRoot():
        yield str(prim.GetPath())
        prim = prim.GetParent()
