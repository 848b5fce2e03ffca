"""Forces, actuators and constraints as MJCF: springs, drag, motors and the tendons they pull at, equalities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.dynamics.kinematics import forward_kinematics
from engine.io.mjcf.bodies import WORLD
from engine.io.mjcf.masses import box_edges
from engine.io.mjcf.save.tree import SINGLE, Tree, carries, pose_attributes, section
from engine.io.written import row
from engine.model import Described, Model, Part
from engine.spatial import inertia, se3

Array = np.ndarray
SPRING_OF = "spring of "
EYE = np.eye(4)
#: of lengths and forces: what counts as the same; and of boxes, whose moments are those of a body to rounding, which roots make more of
SAME, ALIKE = 1e-12, 1e-9


def named_in(model: Model) -> set[str]:
    """Return the links that become bodies though they are frames alone: those that equalities and actuators of bodies name."""
    if (said := model.described) is None:
        return set()
    below = {joint.parent for joint in model.joints}
    kinds = {joint.child: joint.kind for joint in model.joints}
    frames = {link.name for link in model.links if kinds.get(link.name) == "fixed" and link.name not in below and not carries(link)}
    named = {part.values["link"] for part in said.actuators if part.values.get("link") not in (None, "", *frames)}
    for part in said.constraints:
        if part.kind in ("Ball", "Weld") and not (plainly(part.values) and {part.values["link_a"], part.values["link_b"]} <= frames):
            named |= {part.values["link_a"], part.values["link_b"]}
    return named


def plainly(values: Mapping[str, Any]) -> bool:
    """Return whether a ball or weld joins the links' own frames."""
    points = [values.get(which, (0.0, 0.0, 0.0)) for which in ("point_a", "point_b")]
    return not np.any(points) and np.array_equal(values.get("pose_ab", EYE), EYE)


class Acting:
    """Writes what acts in a model, and what holds; ``actuators`` are the names of those that are written."""

    def __init__(self, root: Any, tree: Tree, said: Described) -> None:
        self.root, self.tree, self.said = root, tree, said
        self.actuators: list[str] = []
        self.tendons: set[str] = set()
        self.rests: dict[str, float] = {}

    def write(self) -> None:
        """Write springs first, as the lengths at which tendons are at rest may be those of joints."""
        ways = {"JointSpring": self.spring, "GeneralActuator": self.tendon_spring, "PointForce": self.buoyancy, "BoxDrag": self.drag}
        forces = sorted(self.said.forces, key=lambda part: part.kind != "JointSpring")
        self.all("force", forces, ways)
        self.all("constraint", self.said.constraints, {"Ball": self.held, "Weld": self.held, "Coupling": self.coupling})
        self.all("actuator", self.said.actuators, {"GeneralActuator": self.actuator})

    def all(self, what: str, parts: Any, ways: Mapping[str, Any]) -> None:
        """Write parts, each in its kind's way, and say which cannot be."""
        for part in parts:
            if part.kind not in ways or not ways[part.kind](part):
                self.tree.lost.append(f"the {what} {part.kind}{titled(part)}")

    def single(self, joints: Any) -> bool:
        """Return whether joints are all written, and have one coordinate each."""
        return all(j in self.tree.joints and self.tree.model.joint(j).kind in SINGLE for j in joints)

    # ------------------------------------------------------------ forces

    def spring(self, part: Part) -> bool:
        """Write a spring of a joint."""
        values = part.values
        joint, stiffness, rest = values["joint"], float(values["stiffness"]), float(values.get("rest", 0.0))
        if not {*values} <= {"joint", "stiffness", "rest"} or not self.single([joint]) or joint in self.rests or not stiffness > 0.0:
            return False
        self.rests[joint] = rest
        self.tree.joints[joint].set("stiffness", row(stiffness))
        self.tree.joints[joint].set("springref", row(rest))
        return True

    def tendon_spring(self, part: Part) -> bool:
        """Write the spring and damper of a sum of joints' coordinates, f = k rest − k ℓ − d ℓ̇."""
        values = part.values
        joints, name = values.get("joints", {}), str(values.get("name", ""))
        force, k, d = values.get("bias", (0.0, 0.0, 0.0))
        k, d = 0.0 - k, 0.0 - d
        said = {*values} <= {"name", "joints", "gain", "bias"} and any((k, d))
        if not said or any(values.get("gain", (1.0,))) or min(k, d) < 0.0 or (force and not k) or not joints or not self.single(joints):
            return False
        attributes = {"stiffness": row(k), "damping": row(d)}
        rest = divided(force, k) if k else 0.0
        if k * sum(c * self.rests.get(j, 0.0) for j, c in joints.items()) != force:
            attributes |= {"springlength": row(abs(rest))}
            joints = {j: c if rest >= 0.0 else -c for j, c in joints.items()}   # a negative length stands for that of the joints' springs
        return bool(self.tendon(name.removeprefix(SPRING_OF), joints, attributes))

    def tendon(self, name: str, joints: Mapping[str, float], attributes: Mapping[str, str]) -> str:
        """Write a tendon of joints, and return its name."""
        from lxml import etree

        while name in self.tendons:
            name += "_"
        self.tendons.add(name)
        e = etree.SubElement(section(self.root, "tendon"), "fixed", name=name, **attributes)
        for joint, coef in joints.items():
            etree.SubElement(e, "joint", joint=joint, coef=row(coef))
        return name

    def buoyancy(self, part: Part) -> bool:
        """Write what holds a link against a share of its weight, at its centre of mass."""
        values, link = part.values, self.tree.links.get(part.values["link"])
        gravity, force = np.array(self.said.gravity or (0.0, 0.0, 0.0)), np.array(values.get("force", (0.0, 0.0, 0.0)))
        k = int(np.argmax(np.abs(gravity)))
        own = {*values} <= {"link", "force", "point", "name"}
        if not own or link is None or link.name not in self.tree.bodies or not link.mass * gravity[k]:
            return False
        share = -force[k] / (link.mass * gravity[k])
        share = next((s for s in near(share) if -s * link.mass * gravity[k] == force[k]), share)
        apart = np.abs(np.array(values.get("point", (0.0, 0.0, 0.0))) - inertia.center(link.inertia)).max()
        if apart > SAME or np.abs(-share * link.mass * gravity - force).max() > SAME * np.abs(force).max():
            return False
        body = self.tree.bodies[link.name]
        if not share or "gravcomp" in body.attrib:
            return False
        body.set("gravcomp", row(share))
        return True

    def drag(self, part: Part) -> bool:
        """Write the fluid that all bodies move in, where the boxes are those of their inertias; the tree has written along their axes."""
        values, option = part.values, self.root.find("option")
        if {*values} - {"boxes", "density", "viscosity", "wind"} or "density" in option.attrib:
            return False
        boxes = values["boxes"]
        carrier = {link.name: body for link, (body, _) in zip(self.tree.model.links, self.tree.model.carrier, strict=True)}
        if {*boxes} != {link.name for link in self.tree.model.links if link.mass and carrier[link.name] >= 0}:
            return False
        for name, (size, T) in boxes.items():
            G, (R, p) = self.tree.links[name].inertia, (np.array(T)[:3, :3], np.array(T)[:3, 3])
            I = R.T @ inertia.recentered(G, np.zeros(3))[:3, :3] @ R
            slant, apart = np.abs(I - np.diag(np.diag(I))).max(), np.abs(p - inertia.center(G)).max()
            if apart > SAME or slant > ALIKE * I.max() or np.abs(box_edges(G, R) - size).max() > ALIKE * max(size):
                return False
        for name in ("density", "viscosity", "wind"):
            option.set(name, row(values.get(name, (0.0, 0.0, 0.0) if name == "wind" else 0.0)))
        return True

    # ------------------------------------------------------------ actuators

    def actuator(self, part: Part) -> bool:
        """Write an actuator as a general one."""
        from lxml import etree

        values = part.values
        gain, bias = tuple(values.get("gain", (1.0, 0.0, 0.0))), tuple(values.get("bias", (0.0, 0.0, 0.0)))
        dynamics, name = values.get("dynamics", "none"), str(values.get("name", ""))
        ranges = {short: values.get(f"{long}_range") for short, long in (("ctrl", "command"), ("force", "force"), ("act", "state"))}
        servo = gain[0] == -bias[1] and bias[2] > 0.0                           # MuJoCo takes bias[2] for a damping ratio there
        empty = any(r is not None and not r[0] < r[1] for r in ranges.values())
        if not name or name in self.actuators or servo or empty or (ranges["act"] is not None and dynamics == "none"):
            return False
        if (on := self.target(name, values)) is None:
            return False
        e = etree.SubElement(section(self.root, "actuator"), "general", name=name, **on)
        e.set("gaintype", "affine" if any(gain[1:]) else "fixed"), e.set("gainprm", row(gain))
        e.set("biastype", "affine" if any(bias) else "none"), e.set("biasprm", row(bias))
        if dynamics != "none":
            e.set("dyntype", dynamics), e.set("dynprm", row(values.get("time", 1.0)))
        for what, span in ranges.items():
            if span is not None:
                e.set(f"{what}limited", "true"), e.set(f"{what}range", row(span))
        self.actuators.append(name)
        return True

    def target(self, name: str, values: Mapping[str, Any]) -> dict[str, str] | None:
        """Return what an actuator acts on, as attributes, or None where MJCF has it not: what pulls a free body along its own axes."""
        joints, link = values.get("joints") or {}, values.get("link")
        if link:
            wrench = values.get("wrench", (0.0,) * 6)
            site = self.site(link, EYE)
            return None if site is None else {"site": site, "gear": row((*wrench[3:], *wrench[:3]))}
        if len(joints) > 1:
            if not self.single(joints) or any(np.ndim(g) for g in joints.values()):
                return None
            return {"tendon": self.tendon(f"tendon of {name}", joints, {}), "gear": "1"}
        if not joints:
            return None
        ((joint, gear),) = joints.items()
        gears = np.ravel(gear)
        if joint not in self.tree.joints or (self.tree.model.joint(joint).kind == "floating" and gears[3:].any()):
            return None
        return {"joint": joint, "gear": row((0.0, 0.0, 0.0, *gears[:3]) if len(gears) == 6 else gears)}

    def site(self, link: str, T: Array) -> str | None:
        """Return the name of a site at the pose T (4, 4) in a link: its own, or a new one; None where the link is no body."""
        if link in self.tree.sites and np.array_equal(T, EYE):
            return str(self.tree.sites[link].get("name"))
        if (body := self.tree.bodies.get(link)) is None:
            return None
        at = pose_attributes(T)
        for site in body.findall("site"):
            if all(site.get(n) == x for n, x in at.items()):
                return str(site.get("name"))
        name = f"{link} site {len(body.findall('site'))}"
        self.tree.sites[name] = self.tree.site(body, name, T)
        return str(self.tree.sites[name].get("name"))

    # ------------------------------------------------------------ equalities

    def held(self, part: Part) -> bool:
        """Write a ball or weld: of two frames' sites, of two bodies where the poses that are written close it, or of new sites."""
        from lxml import etree

        values, tag = part.values, "connect" if part.kind == "Ball" else "weld"
        a, b = values["link_a"], values["link_b"]
        named = {"name": values["name"]} if values.get("name") else {}
        T_a, T_b = (se3.pose(np.eye(3), values.get(which, (0.0, 0.0, 0.0))) for which in ("point_a", "point_b"))
        T_a = np.array(values.get("pose_ab", T_a))
        if a in self.tree.bodies and b in self.tree.bodies and (tag == "weld" or self.closed(a, b, T_a, T_b)):
            numbers = [row(T_a[:3, 3]), pose_attributes(T_a)["quat"]]
            at = {"anchor": numbers[0]} if tag == "connect" else {"relpose": " ".join(numbers)}
            etree.SubElement(section(self.root, "equality"), tag, body1=a, body2=b, **at, **named)
            return True
        one, two = self.site(a, T_a), self.site(b, T_b)
        if one is None or two is None:
            return False
        etree.SubElement(section(self.root, "equality"), tag, site1=one, site2=two, **named)
        return True

    def closed(self, a: str, b: str, T_a: Array, T_b: Array) -> bool:
        """Return whether frames on two links have the same origin at the configuration that is written."""
        model = self.tree.model
        T = {WORLD: EYE, **dict(zip((link.name for link in model.links), forward_kinematics(model, self.tree.q), strict=True))}
        p, q = (T[a] @ T_a)[:3, 3], (T[b] @ T_b)[:3, 3]
        return bool(np.abs(p - q).max() <= SAME * max(1.0, np.abs(p).max()))

    def coupling(self, part: Part) -> bool:
        """Write a coupling, q₁ − ref₁ = a₀ + a₁ (q₂ − ref₂)."""
        from lxml import etree

        values = part.values
        one, two, ratio = values["joint1"], values["joint2"], float(values.get("ratio", 1.0))
        if not self.single((one, two)):
            return False
        ref1, ref2 = (self.tree.at(self.tree.model.joint(j)) for j in (one, two))
        named = {"name": values["name"]} if values.get("name") else {}
        rest = float(values.get("offset", 0.0)) - ref1 + ratio * ref2
        polynomial = row((rest, ratio, 0.0, 0.0, 0.0))
        etree.SubElement(section(self.root, "equality"), "joint", joint1=one, joint2=two, polycoef=polynomial, **named)
        return True


def titled(part: Part) -> str:
    """Return what a part is called after its kind: its name, or what it is on, if there is either."""
    values = part.values
    on = (values[n] for n in ("joint", "link", "link_a", "link_b", "joint1", "joint2") if n in values)
    name = values.get("name") or " and ".join(map(str, on))
    return f" '{name}'" if name else ""


def divided(x: float, k: float) -> float:
    """Return x/k, if there is one the number that times k is x to the bit."""
    return next((y for y in near(x / k) if k * y == x), x / k)


def near(x: float) -> tuple[float, float, float]:
    """Return a number and those next to it."""
    return x, float(np.nextafter(x, -np.inf)), float(np.nextafter(x, np.inf))
