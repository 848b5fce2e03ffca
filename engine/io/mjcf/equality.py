"""Equalities: what MuJoCo pulls together softly, and what holds exactly here."""

from __future__ import annotations

import numpy as np

from engine.io.errors import short
from engine.io.mjcf.bodies import WORLD, Tree
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.orientation import read_quaternion
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.tendons import Tendons, joint_of
from engine.io.notes import Notes
from engine.model import Part
from engine.model.file_extras import to_plain
from engine.spatial import se3

Array = np.ndarray
KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain")


class Equalities:
    """Reads the equalities of a file."""

    def __init__(self, tree: Tree, tendons: Tendons, settings: Settings, notes: Notes) -> None:
        self.tree, self.tendons, self.settings, self.notes = tree, tendons, settings, notes

    def read(self, defaults: Defaults) -> tuple[Part, ...]:
        """Return what holds exactly."""
        if {"equality", "constraint"} & self.settings.off:
            return ()
        found: list[Part | None] = []
        for section in defaults.root.all("equality"):
            for node in section.all(*KINDS):
                node = defaults.merged(node, tag="equality")
                if not node.flag("active", True):
                    self.notes.warn(node, "it is not active at first, and is left out")
                elif node.tag in ("connect", "weld"):
                    found.append(self.bodies(node))
                elif node.tag == "joint":
                    found.append(self.joints(node))
                elif node.tag == "tendon":
                    found.append(self.lengths(node))
                else:
                    self.notes.warn(node, "it holds a soft body, which is not read")
        return tuple(p for p in found if p is not None)

    # ------------------------------------------------------------ bodies

    def bodies(self, node: Node) -> Part | None:
        """Return the ball or the weld of two bodies, or sites, that an element stands for."""
        by_sites = "site1" in node.attributes
        a, b = (self.end(node, f"{'site' if by_sites else 'body'}{k}", by_sites) for k in (1, 2))
        if a == b:
            raise node.error(f"both ends are '{a}'; expected two different ones")
        T_ab = se3.inv(self.tree.frames[a]) @ self.tree.frames[b]
        name = {"name": node.text("name")} if node.text("name") else {}
        if not {a, b} & self.tree.moving:
            self.notes.warn(node, "neither of its ends moves; it is left out")
            return None
        if node.tag == "connect":
            p = np.zeros(3) if by_sites else np.array(node.numbers("anchor", 3))
            q = np.zeros(3) if by_sites else (se3.inv(T_ab) @ np.append(p, 1.0))[:3]
            return Part("Ball", {"link_a": a, "link_b": b, "point_a": to_plain(p), "point_b": to_plain(q), **name})
        if by_sites:
            T_ab = np.eye(4)
        elif "relpose" in node.attributes:
            numbers = node.numbers("relpose", 7)
            if any(numbers[3:]):
                T_ab = se3.pose(read_quaternion(node, numbers[3:], "relpose"), np.array(numbers[:3]))
        if node.number("torquescale", 1.0) == 0.0:
            self.notes.warn(node, "a weld without torque (torquescale 0) is held as one with it")
        return Part("Weld", {"link_a": a, "link_b": b, "pose_ab": to_plain(T_ab), **name})

    def end(self, node: Node, what: str, site: bool) -> str:
        """Return the link of a body or site that an attribute names."""
        name = node.text(what) or ("" if site or what.endswith("1") else WORLD)
        links = self.tree.sites if site else {b: b for b in (*self.tree.above, WORLD)}
        if name not in links:
            raise node.error(f"{what} is '{short(name)}', which is not there; expected one of the file's")
        return links[name]

    # ------------------------------------------------------------ coordinates

    def joints(self, node: Node) -> Part | None:
        """Return the coupling of two joints."""
        a0, a1 = self.straight(node)
        first = joint_of(node, self.tree.turns, "joint1")
        if a0 is None or a1 is None:
            return None
        if "joint2" not in node.attributes:
            self.notes.warn(node, f"joint '{first.name}' is held where it is, which is not done; expected no joint in its place")
            return None
        second = joint_of(node, self.tree.turns, "joint2")
        if not (first.single and second.single):
            raise node.error("one of its joints is no hinge or slide; expected two of those")
        return self.coupling(node, first.name, second.name, a1, first.ref + a0 - a1 * second.ref)

    def lengths(self, node: Node) -> Part | None:
        """Return the coupling of joints that tendons of one joint each, or one of two, make of them."""
        a0, a1 = self.straight(node)
        names = [node.required("tendon1"), *([node.text("tendon2")] if "tendon2" in node.attributes else [])]
        tendons = [t for t in (self.tendons.of(node, name) for name in names) if t is not None]
        if len(tendons) < len(names) or a0 is None or a1 is None:
            self.notes.warn(node, "an equality of tendons through space is not read")
            return None
        ref = {name: t.ref for name, t in self.tree.turns.items()}
        sums = dict(tendons[0].joints)                                          # Σ c q = constant
        rest = a0 + tendons[0].at(ref)
        for other in tendons[1:]:
            rest -= a1 * other.at(ref)
            for joint, coef in other.joints.items():
                sums[joint] = sums.get(joint, 0.0) - a1 * coef
        return self.sum(node, {j: c for j, c in sums.items() if c}, rest)

    def sum(self, node: Node, sums: dict[str, float], rest: float) -> Part | None:
        """Return the coupling that Σ c q = rest is, where it has two terms."""
        if len(sums) != 2:
            self.notes.warn(node, f"it holds a sum of {len(sums)} joints' coordinates, which is not done; expected two")
            return None
        (one, c1), (two, c2) = sums.items()
        return self.coupling(node, one, two, -c2 / c1, rest / c1)

    def coupling(self, node: Node, one: str, two: str, ratio: float, offset: float) -> Part:
        name = {"name": node.text("name")} if node.text("name") else {}
        return Part("Coupling", {"joint1": one, "joint2": two, "ratio": ratio, "offset": offset, **name})

    def straight(self, node: Node) -> tuple[float | None, float | None]:
        """Return the first two coefficients of a polynomial that has no others."""
        a0, a1, *more = node.numbers("polycoef", (1, 5), (0.0, 1.0, 0.0, 0.0, 0.0)) + [0.0] * 2
        if any(more):
            self.notes.warn(node, f"polycoef is '{short(node.text('polycoef'))}', which is not linear; it is left out")
            return None, None
        return a0, a1
