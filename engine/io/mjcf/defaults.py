"""Classes of defaults: what an element has of its class, and of the classes that this one lies in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.checks import nearest
from engine.io.errors import short
from engine.io.mjcf.document import Node
from engine.io.mjcf.gains import SHORTCUTS, general
from engine.io.mjcf.merging import over

MAIN = "main"
Attributes = dict[str, str]


class Defaults:
    """The classes of a file by name, each with the attributes of each tag; all actuators share those of "general"."""

    def __init__(self, root: Node) -> None:
        self.classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        self.main = MAIN
        for node in root.all("default"):
            self.main = node.text("class") or self.main
            self.read(node, self.main, self.classes.get(self.main, {}))
        self.root = root

    def read(self, node: Node, name: str, start: dict[str, Attributes]) -> None:
        """Take in a class and those inside of it."""
        own = {tag: dict(attributes) for tag, attributes in start.items()}
        for child in node.children:
            if child.tag in SHORTCUTS and child.tag != "plugin":
                own["general"] = general(child, own.get("general", {}))
            elif child.tag != "default":
                own[child.tag] = over(own.get(child.tag, {}), child.attributes)
        self.classes[name] = own
        for child in node.all("default"):
            inner = child.required("class")
            if inner in self.classes:
                raise child.error(f"the class '{short(inner)}' is there twice; expected unique names")
            self.read(child, inner, self.classes[name])

    def attributes(self, node: Node, childclass: str, tag: str = "") -> Attributes:
        """Return the attributes that an element has of its class, its own or that of the bodies it lies in."""
        name = node.text("class") or childclass or self.main
        if name not in self.classes:
            raise node.error(f"the class '{short(name)}' is not there{nearest(name[:60], self.classes)}; expected one of the file's")
        return self.classes[name].get(tag or node.tag, {})

    def merged(self, node: Node, childclass: str = "", tag: str = "") -> Node:
        """Return an element with what its class adds."""
        return replace(node, attributes=over(self.attributes(node, childclass, tag), node.attributes))

    def merged_all(self, section: str, tag: str) -> Iterator[Node]:
        """Yield all elements of a tag in a section of the file, complete."""
        for part in self.root.all(section):
            for node in part.all(tag):
                yield self.merged(node)
