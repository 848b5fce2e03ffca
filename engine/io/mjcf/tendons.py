"""Tendons: those that are fixed sums of joints' coordinates. Those that run through space are listed."""

from __future__ import annotations

from dataclasses import dataclass

from engine.io.errors import short
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.joints import Turn, linear
from engine.io.mjcf.settings import Settings
from engine.io.notes import Notes
from engine.model import Part

ACTS = ("stiffness", "damping", "frictionloss", "armature", "limited", "range", "actuatorfrcrange", "springlength")


@dataclass(frozen=True, eq=False)
class Tendon:
    """A tendon with the length Σ coefᵢ qᵢ."""

    node: Node
    name: str
    joints: dict[str, float]

    def at(self, rest: dict[str, float]) -> float:
        """Return its length at coordinates of its joints."""
        return sum(coef * rest[joint] for joint, coef in self.joints.items())


class Tendons:
    """The tendons of a file: those that are read by name, and the names of the others."""

    def __init__(self, defaults: Defaults, settings: Settings, turns: dict[str, Turn], notes: Notes) -> None:
        self.turns, self.settings, self.notes = turns, settings, notes
        self.fixed: dict[str, Tendon] = {}
        self.spatial: dict[str, Node] = {}
        for part in defaults.root.all("tendon"):
            for node in part.all("fixed", "spatial"):
                self.read(defaults.merged(node, tag="tendon"))

    def read(self, node: Node) -> None:
        """Take in a tendon."""
        name = node.text("name") or f"tendon in line {node.line}"
        if name in self.fixed or name in self.spatial:
            raise node.error("the name is taken by another tendon; expected unique names")
        if node.tag == "spatial":
            self.spatial[name] = node
            if any(what in node.attributes for what in ACTS):
                self.notes.warn(node, "a tendon through space is not read: neither its spring, damping and friction nor its limits act")
            return
        joints: dict[str, float] = {}
        for joint in node.all("joint"):
            on = joint_of(joint, self.turns, "joint")
            if not on.single:
                raise joint.error(f"joint '{on.name}' is no hinge or slide; expected one in a fixed tendon")
            joints[on.name] = joints.get(on.name, 0.0) + joint.number("coef")
        if not joints:
            raise node.error("it has no joints; expected some")
        self.fixed[name] = Tendon(node, name, joints)

    def of(self, node: Node, name: str) -> Tendon | None:
        """Return a tendon that an element names, or None where it is not read."""
        if name in self.fixed:
            return self.fixed[name]
        if name not in self.spatial:
            raise node.error(f"the tendon '{short(name)}' is not there; expected one of the file's")
        return None

    def forces(self) -> list[Part]:
        """Return the springs and dampers of tendons."""
        found = []
        for tendon in self.fixed.values():
            node, off = tendon.node, self.settings.off
            k = 0.0 if "spring" in off else linear(node, "stiffness", self.notes)
            d = 0.0 if "damper" in off else linear(node, "damping", self.notes)
            limited = "limit" not in off and node.limited("limited", "range", self.settings.autolimits)
            also = [n for n, there in (("frictionloss", node.number("frictionloss", 0.0) and "frictionloss" not in off),
                                       ("armature", node.number("armature", 0.0)), ("range", limited),
                                       ("springyield", node.number("springyield", 0.0)),
                                       ("actuatorfrcrange", "actuatorfrcrange" in node.attributes)) if there]  # fmt: skip
            if also:
                self.notes.warn(node, f"{', '.join(also)} of a tendon {'is' if len(also) == 1 else 'are'} not read")
            low, *high = node.numbers("springlength", (1, 2), (-1.0,))
            if k and high and high[0] != low:
                self.notes.warn(node, "a springlength with slack is not read: neither is its spring")
                k = 0.0
            if k or d:
                rest = {j: t.spring[1] if (t := self.turns[j]).spring else self.springref(t) for j in tendon.joints}
                length = tendon.at(rest) if low < 0.0 else low
                found.append(Part("GeneralActuator", {"name": f"spring of {tendon.name}", "joints": dict(tendon.joints),
                                                      "gain": (0.0, 0.0, 0.0), "bias": (k * length, -k, -d)}))  # fmt: skip
        return found

    def springref(self, t: Turn) -> float:
        """Return the coordinate at which springs are at rest."""
        return t.node.number("springref", 0.0) * (self.settings.radians if t.kind == "revolute" else 1.0)


def joint_of(node: Node, turns: dict[str, Turn], what: str) -> Turn:
    """Return the joint that an attribute names."""
    name = node.required(what)
    if name not in turns:
        raise node.error(f"the joint '{short(name)}' is not there; expected one of the file's")
    return turns[name]
