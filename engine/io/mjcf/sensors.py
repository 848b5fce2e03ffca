"""Sensors by name: what kind each is of, and what it is on; and those that the engine has too, as parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

from engine.io.errors import short
from engine.io.mjcf.bodies import Tree
from engine.io.mjcf.document import Node
from engine.io.notes import Notes
from engine.model import Part
from engine.model.file_extras import to_plain

#: attributes that say what a sensor is on
ON = ("site", "joint", "tendon", "actuator", "body", "camera", "objname", "body1", "geom1", "geom")
Values = Mapping[str, Any]


class Read(NamedTuple):
    """The sensors of a file by name, and what of them :mod:`engine.sensors` has."""

    listed: dict[str, tuple[str, str]]
    parts: tuple[Part, ...]


def sensors(root: Node, tree: Tree, dt: float | None, notes: Notes) -> Read:
    """Return (kind, what it is on) of a file's sensors by name, those without called after both; and parts of those that can be made."""
    found: dict[str, tuple[str, str]] = {}
    kinds: dict[str, list[Node]] = {}
    parts: list[Part] = []
    for section in root.all("sensor"):
        for node in section.children:
            on = next((node.text(what) for what in ON if what in node.attributes), "")
            name = node.text("name") or f"{node.tag} of {on}"
            if node.text("name") and name in found:
                raise node.error("the name is taken by another sensor; expected unique names")
            while name in found:
                name += "_"
            found[name] = node.tag, on
            made = part_of(node, name, on, tree, dt)
            parts += [] if made is None else [made]
            if made is None:
                kinds.setdefault(node.tag, []).append(node)
    for kind, nodes in kinds.items():
        notes.note(nodes[0], f"a sensor of the kind {short(kind)} is listed by its name, and not evaluated ({len(nodes)} in all)")
    return Read(found, tuple(parts))


def part_of(node: Node, name: str, on: str, tree: Tree, dt: float | None) -> Part | None:
    """Return the part that stands for a sensor, if one does: its noise is a sample's, in steps of dt, its cutoff a limit."""
    if node.tag not in KINDS:
        return None
    kind, where, part, density = KINDS[node.tag]
    if (values := where(node, on, tree)) is None:
        return None
    noise, cutoff = node.number("noise", 0.0), node.number("cutoff", 0.0)
    errors: dict[str, Any] = {"noise": noise * sqrt(0.002 if dt is None else dt) if density else noise} if noise > 0.0 else {}
    if cutoff > 0.0 and node.tag not in ("framequat", "framepos"):
        errors["max_range" if node.tag == "rangefinder" else "limit"] = cutoff
    return Part(kind, {**values, "name": name, **({part: errors} if part and errors else {} if part else errors)})


def on_site(node: Node, on: str, tree: Tree) -> Values | None:
    """Return the link of a site."""
    return {"link": tree.sites[on]} if on in tree.sites else None


def on_body_of_site(node: Node, on: str, tree: Tree) -> Values | None:
    """Return the body that a site is on, and where."""
    own = next(((link, T) for at, link, T in tree.mounts if at.text("name") == on), None)
    return None if own is None or own[0] not in tree.above else {"link": own[0], "placement": to_plain(own[1])}


def on_body(node: Node, on: str, tree: Tree) -> Values | None:
    """Return the body that a site is on."""
    found = on_body_of_site(node, on, tree)
    return None if found is None else {"link": found["link"]}


def on_joint(node: Node, on: str, tree: Tree) -> Values | None:
    """Return a joint of one coordinate."""
    return {"joint": on} if on in tree.turns else None


def rate_of_joint(node: Node, on: str, tree: Tree) -> Values | None:
    """Return a joint of one coordinate, whose velocity is read."""
    return {"joint": on, "of": "velocity"} if on in tree.turns else None


def on_frame(node: Node, on: str, tree: Tree) -> Values | None:
    """Return the link of a site or a body whose place in the world is read."""
    if "reftype" in node.attributes or "refname" in node.attributes:
        return None
    link = tree.sites.get(on) if node.text("objtype") == "site" else on if on in tree.links and node.text("objtype") == "xbody" else None
    return None if link is None else {"link": link}


#: kind in MJCF -> the class of :mod:`engine.sensors`, where it is, the part that its noise is of, and whether that is a density
KINDS: dict[str, tuple[str, Callable[[Node, str, Tree], Values | None], str, bool]] = {
    "gyro": ("Gyro", on_site, "", True), "accelerometer": ("Accelerometer", on_site, "", True),
    "force": ("ForceTorque", on_body_of_site, "force", False), "torque": ("ForceTorque", on_body_of_site, "moment", False),
    "touch": ("Touch", on_body, "", False), "jointpos": ("Encoder", on_joint, "", False), "jointvel": ("Encoder", rate_of_joint, "", False),
    "jointactuatorfrc": ("JointTorque", on_joint, "", False), "framepos": ("GPS", on_frame, "position", False),
    "framequat": ("StarTracker", on_frame, "", False), "rangefinder": ("RangeFinder", on_body_of_site, "", False),
}  # fmt: skip
