"""Sensors by name: what kind each is of, and what it is on. None of them is simulated."""

from __future__ import annotations

from engine.io.errors import short
from engine.io.mjcf.document import Node
from engine.io.notes import Notes

#: attributes that say what a sensor is on
ON = ("site", "joint", "tendon", "actuator", "body", "camera", "objname", "body1", "geom1", "geom")


def sensors(root: Node, notes: Notes) -> dict[str, tuple[str, str]]:
    """Return (kind, what it is on) of a file's sensors by name; those without are called after both."""
    found: dict[str, tuple[str, str]] = {}
    kinds: dict[str, list[Node]] = {}
    for section in root.all("sensor"):
        for node in section.children:
            on = next((node.text(what) for what in ON if what in node.attributes), "")
            name = node.text("name") or f"{node.tag} of {on}"
            if node.text("name") and name in found:
                raise node.error("the name is taken by another sensor; expected unique names")
            while name in found:
                name += "_"
            found[name] = node.tag, on
            kinds.setdefault(node.tag, []).append(node)
    for kind, nodes in kinds.items():
        notes.note(nodes[0], f"a sensor of the kind {short(kind)} is listed by its name, and not evaluated ({len(nodes)} in all)")
    return found
