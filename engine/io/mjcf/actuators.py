"""Reads MJCF's `<actuator>` elements, on joints, fixed tendons and sites, as actuators of the engine."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from engine.dynamics.crba import crba
from engine.io.errors import short
from engine.io.mjcf.bodies import Tree
from engine.io.mjcf.defaults import Defaults
from engine.io.mjcf.document import Node
from engine.io.mjcf.gains import RATIO, SHORTCUTS, UNKNOWN, general, padded
from engine.io.mjcf.joints import Turn, linear
from engine.io.mjcf.settings import Settings
from engine.io.mjcf.tendons import Tendons, joint_of
from engine.io.notes import Notes
from engine.model import Model, Part

Array = np.ndarray
TARGETS = ("joint", "jointinparent", "tendon", "site", "body", "slidersite", "cranksite")
DYNAMICS = {"none": "none", "integrator": "integrator", "filter": "filter", "filterexact": "filter"}


class Actuators:
    """Reads the actuators of a file; ``damping`` and ``armature`` are what they add to joints."""

    def __init__(self, tree: Tree, tendons: Tendons, settings: Settings, notes: Notes) -> None:
        self.tree, self.tendons, self.settings, self.notes = tree, tendons, settings, notes
        self.damping: dict[str, float] = {}
        self.armature: dict[str, float] = {}
        self.ratios: dict[str, float] = {}
        self.names: set[str] = set()
        self.order: list[str | None] = []

    def read(self, defaults: Defaults) -> list[Part]:
        """Return the actuators; those with a damping ratio lack it yet, see :meth:`damped`."""
        found: list[Part] = []
        clamped: dict[str, list[Part]] = {}
        for section in defaults.root.all("actuator"):
            for node in section.all(*SHORTCUTS):
                node = replace(node, attributes=general(node, defaults.attributes(node, "")))
                part = self.part(node)
                self.order.append(part.values["name"] if part else None)
                if part is not None:
                    found.append(part)
                    for joint in part.values.get("joints", {}):
                        if self.tree.turns[joint].effort:
                            clamped.setdefault(joint, []).append(part)
        for joint, parts in clamped.items():
            self.clamp(self.tree.turns[joint], parts)
        return [] if "actuation" in self.settings.off else found

    def part(self, node: Node) -> Part | None:
        """Return an actuator, or None where it is not read."""
        targets = [t for t in TARGETS if t in node.attributes]
        kinds = {n: node.text(n) or default for n, default in (("gaintype", "fixed"), ("biastype", "none"), ("dyntype", "none"))}
        odd = [f"{n} '{short(k)}'" for n, k in kinds.items() if k not in ("fixed", "affine", "none", *(DYNAMICS if n == "dyntype" else ()))]
        on = self.target(node, targets[0] if targets else "")
        unread = f"<{node.tag}>" if node.tag in UNKNOWN else odd[0] if odd else ""
        if unread or on is None:
            self.notes.warn(node, f"the actuator is left out: {unread or 'what it acts on'} is not read")
            return None
        gain = padded(node.text("gainprm"), 1.0) if kinds["gaintype"] == "affine" else [padded(node.text("gainprm"), 1.0)[0], 0.0, 0.0]
        bias = padded(node.text("biasprm"), 0.0) if kinds["biastype"] == "affine" else [0.0, 0.0, 0.0]
        joints = on.get("joints", {})
        if (gain[1] or bias[1]) and not all(np.ndim(g) == 0 for g in joints.values()):
            self.notes.warn(node, "the actuator is left out: a servo of a ball or free joint is not read")
            return None
        self.reflected(node, joints)
        name = self.name(node, targets[0])
        ratio = float(node.text(RATIO) or 0.0)
        if bias[2] > 0.0 and gain[0] == -bias[1]:                               # which MuJoCo takes for one, too
            ratio = bias[2]
        if ratio:
            self.ratios[name] = ratio
        auto, dynamics = self.settings.autolimits, DYNAMICS[kinds["dyntype"]]
        time = padded(node.text("dynprm"), 1.0)[0]
        if dynamics == "filter" and not time > 0.0:
            raise node.error(f"the time constant of its filter is {time:g} s; expected a time above zero")
        delayed = [n for n in ("delay", "actearly") if node.text(n) not in ("", "0", "false")]
        if delayed:
            self.notes.warn(node, f"{' and '.join(delayed)} {'is' if len(delayed) == 1 else 'are'} not read")
        commands = None if "clampctrl" in self.settings.off else node.limited("ctrllimited", "ctrlrange", auto)
        commands = self.inherited(node, joints, dynamics) or commands
        states = node.limited("actlimited", "actrange", auto) if dynamics != "none" else None
        if dynamics == "integrator" and node.number("inheritrange", 0.0) > 0.0:
            states, commands = commands, None
        values: dict[str, Any] = {
            "name": name, **on, "gain": tuple(gain), "bias": tuple(bias), "command_range": commands and tuple(commands),
            "force_range": tuple(r) if (r := node.limited("forcelimited", "forcerange", auto)) else None, "dynamics": dynamics,
            "time": time if dynamics == "filter" else 1.0, "state_range": states and tuple(states)}  # fmt: skip
        return Part("GeneralActuator", {n: x for n, x in values.items() if x is not None})

    def name(self, node: Node, target: str) -> str:
        """Return an actuator's name: its own, or that of its kind and of what it acts on."""
        name = node.text("name")
        if name in self.names:
            raise node.error("the name is taken by another actuator; expected unique names")
        name = name or f"{node.tag} of {node.text(target)}"
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    # ------------------------------------------------------------ what it acts on

    def target(self, node: Node, kind: str) -> dict[str, Any] | None:
        """Return what an actuator acts on, as arguments, or None where that is not read."""
        gear = node.numbers("gear", (1, 6), (1.0,))
        gear = gear + [0.0] * (6 - len(gear))
        if not kind:
            if node.tag in UNKNOWN:
                return None
            raise node.error(f"it acts on nothing; expected one of {', '.join(TARGETS[:4])}")
        if kind in ("joint", "jointinparent"):
            t = joint_of(node, self.tree.turns, kind)
            if t.single:
                return {"joints": {t.name: gear[0]}}
            if t.kind == "spherical" and kind == "joint":
                return {"joints": {t.name: tuple(gear[:3])}}
            if kind == "joint" and not any(gear[:3]):
                return {"joints": {t.name: (*gear[3:], 0.0, 0.0, 0.0)}}
            return None
        if kind == "tendon":
            tendon = self.tendons.of(node, node.required("tendon"))
            return None if tendon is None else {"joints": {j: gear[0] * c for j, c in tendon.joints.items()}}
        if kind == "site" and "refsite" not in node.attributes:
            site = node.required("site")
            if site not in self.tree.sites:
                raise node.error(f"the site '{short(site)}' is not there; expected one of the file's")
            return {"link": self.tree.sites[site], "wrench": (*gear[3:], *gear[:3])}
        return None

    def reflected(self, node: Node, joints: dict[str, Any]) -> None:
        """Take in what a rotor adds to its joint, n² times."""
        own = {"damping": linear(node, "damping", self.notes), "armature": node.number("armature", 0.0)}
        if not any(own.values()):
            return
        if len(joints) != 1 or any(np.ndim(g) for g in joints.values()):
            self.notes.warn(node, "damping and armature of an actuator on more than one coordinate are not read")
            return
        ((joint, gear),) = joints.items()
        for what, total in (("damping", self.damping), ("armature", self.armature)):
            total[joint] = total.get(joint, 0.0) + gear * gear * own[what]

    def inherited(self, node: Node, joints: dict[str, Any], dynamics: str) -> list[float] | None:
        """Return the range of commands that is a part of the joint's, or None."""
        if not (share := node.number("inheritrange", 0.0)) > 0.0:
            return None
        limits = [self.tree.turns[j].limits for j in joints]
        if len(limits) != 1 or not np.isfinite([limits[0].lower, limits[0].upper]).all():
            raise node.error("inheritrange is given, and what it acts on has no range; expected a joint with limits")
        middle, half = (limits[0].lower + limits[0].upper) / 2.0, (limits[0].upper - limits[0].lower) / 2.0
        return [middle - share * half, middle + share * half]

    def clamp(self, t: Turn, parts: list[Part]) -> None:
        """Hold the force of a joint's only actuator within what the joint takes."""
        assert t.effort is not None
        gear = parts[0].values["joints"][t.name]
        if len(parts) > 1 or len(parts[0].values["joints"]) > 1 or not gear:
            self.notes.warn(t.node, "actuatorfrcrange of a joint that several actuators, or a tendon's, act on is not held")
            return
        low, high = sorted(x / gear for x in t.effort)
        own = parts[0].values.get("force_range", (-np.inf, np.inf))
        assert isinstance(parts[0].values, dict)
        parts[0].values["force_range"] = (max(low, own[0]), min(high, own[1]))

    # ------------------------------------------------------------ damping ratios

    def damped(self, parts: list[Part], model: Model, q: Array) -> list[Part]:
        """Return the actuators with the damping that their damping ratios ζ stand for: d = 2 ζ √(k m), m = 1/(J M⁻¹ Jᵀ) at q."""
        if not self.ratios:
            return parts
        inverse = np.linalg.pinv(crba(model, q), hermitian=True)
        found = []
        for part in parts:
            if (ratio := self.ratios.get(part.values["name"])) is not None:
                J = np.zeros(model.nv)
                for joint, gear in part.values.get("joints", {}).items():
                    J[model.v_slice(joint)] = gear
                mass = 1.0 / max(float(J @ inverse @ J), 1e-15)
                b0, b1, _ = part.values["bias"]
                part = Part(part.kind, {**part.values, "bias": (b0, b1, -2.0 * ratio * sqrt(max(-b1, 0.0) * mass))})
            found.append(part)
        return found
