"""Classes of defaults: what an element has of its class, and of the classes that this one lies in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.checks import nearest
from engine.io.errors import short
from engine.io.mjcf.document import Node
from engine.io.mjcf.gains import GAINS, KIND, KNOWN, SHORTCUTS, general
from engine.io.mjcf.merging import over

MAIN = "main"
Attributes = dict[str, str]


class Defaults:
    """The classes of a file by name, each with the attributes of each tag; all actuators share those of "general"."""

    def __init__(self, root: Node) -> None:
        self.classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        self.drives: dict[str, list[list[Node]]] = {MAIN: []}
        self.main = MAIN
        for node in root.all("default"):
            self.main = node.text("class") or self.main
            self.read(node, self.main, self.classes.get(self.main, {}), self.drives.get(self.main, []))
        self.root = root

    def read(self, node: Node, name: str, start: dict[str, Attributes], above: list[list[Node]]) -> None:
        """Take in a class and those inside of it."""
        own = {tag: dict(attributes) for tag, attributes in start.items()}
        for child in node.children:
            if child.tag != "default" and child.tag not in SHORTCUTS:
                own[child.tag] = over(own.get(child.tag, {}), child.attributes)
        self.classes[name], self.drives[name] = own, [*above, [*node.all(*SHORTCUTS)]]
        for kind in KNOWN:
            self.drive(name, kind)                                              # which says what is wrong with it
        for child in node.all("default"):
            inner = child.required("class")
            if inner in self.classes:
                raise child.error(f"the class '{short(inner)}' is there twice; expected unique names")
            self.read(child, inner, self.classes[name], self.drives[name])

    def drive(self, name: str, kind: str) -> Attributes:
        """Return the attributes that a class has for a kind of actuator.

        What is written of one kind of actuator counts for all, but for its gains: those count for the same kind, and for general ones; and
        of several in a class those of the last.
        """
        written: Attributes = {}
        gains: Attributes = {}
        for level in self.drives[name]:
            for element in level:
                written = general(element, written)
            if level and (kind == "general" or written[KIND] in (kind, "general")):
                gains = {n: x for n, x in written.items() if n in GAINS}
        return {n: x for n, x in written.items() if n not in GAINS} | gains

    def attributes(self, node: Node, childclass: str, tag: str = "") -> Attributes:
        """Return the attributes that an element has of its class, its own or that of the bodies it lies in."""
        name = node.text("class") or childclass or self.main
        if name not in self.classes:
            raise node.error(f"the class '{short(name)}' is not there{nearest(name[:60], self.classes)}; expected one of the file's")
        return self.drive(name, node.tag) if node.tag in SHORTCUTS else self.classes[name].get(tag or node.tag, {})

    def merged(self, node: Node, childclass: str = "", tag: str = "") -> Node:
        """Return an element with what its class adds."""
        return replace(node, attributes=over(self.attributes(node, childclass, tag), node.attributes))

    def merged_all(self, section: str, tag: str) -> Iterator[Node]:
        """Yield all elements of a tag in a section of the file, complete."""
        for part in self.root.all(section):
            for node in part.all(tag):
                yield self.merged(node)
