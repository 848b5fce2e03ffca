"""Reads MJCF's joints: a body may have several, each turning or moving it in its own frame about an anchor, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.io.misread import WIDE
from engine.io.mjcf.document import Node
from engine.io.mjcf.orientation import unit
from engine.io.mjcf.settings import Settings
from engine.io.notes import Notes
from engine.model import Limits
from engine.spatial import se3, so3

Array = np.ndarray
#: kinds of MJCF and ours
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating"}
UNTURNED = np.eye(4)


@dataclass(frozen=True, eq=False)
class Turn:
    """A joint as it is written, in our units.

    Attributes
    ----------
    kind : ours
    anchor : m, in the body's frame (3); axis : in the body's axes (3)
    ref : coordinate at which the body stands as it is written
    effort : least and largest force of all actuators together, or None
    spring : stiffness and rest, or None; auto : time constant and damping ratio of one that is worked out, or None
    """

    node: Node
    name: str
    kind: str
    anchor: Array
    axis: Array
    ref: float
    limits: Limits
    damping: float
    friction: float
    armature: float
    effort: tuple[float, float] | None
    spring: tuple[float, float] | None
    auto: tuple[float, float] | None

    @property
    def single(self) -> bool:
        """True if the joint has one coordinate."""
        return self.kind in ("revolute", "prismatic")

    @property
    def start(self) -> Array:
        """The pose (4, 4) of the joint at the coordinate zero, relative to that at ``ref``."""
        return motion(self.kind, self.axis, -self.ref)


def motion(kind: str, axis: Array, x: float) -> Array:
    """Return the pose (4, 4) of a hinge or slide at the coordinate x, relative to that at zero."""
    if not x:
        return UNTURNED
    if kind == "prismatic":
        return se3.pose(np.eye(3), x * axis)
    return np.asarray(se3.pose(so3.about(axis, x), np.zeros(3)))


def turn(node: Node, name: str, T: Array, settings: Settings, notes: Notes) -> Turn:
    """Return a <joint> or <freejoint> that stands in a frame of its body at the pose T (4, 4)."""
    kind = KINDS["free" if node.tag == "freejoint" else node.choice("type", KINDS, "hinge")]
    unit_of = settings.radians if kind in ("revolute", "spherical") else 1.0
    free = kind == "floating"
    anchor = np.zeros(3) if free else T[:3, :3] @ np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0))) + T[:3, 3]
    axis = np.array([0.0, 0.0, 1.0])
    if kind in ("revolute", "prismatic"):
        axis = T[:3, :3] @ unit(node, "axis", node.numbers("axis", 3, (0.0, 0.0, 1.0)))
    span = None if "limit" in settings.off or free else node.limited("limited", "range", settings.autolimits)
    if span and kind == "spherical":
        notes.warn(node, "the range of a ball joint is not held")
        span = None
    low, high = (x * unit_of for x in span) if span else (-np.inf, np.inf)
    if span and kind == "revolute":
        warn_of_units(node, span, unit_of, notes)
    effort = None
    if kind in ("revolute", "prismatic"):
        effort = node.limited("actuatorfrclimited", "actuatorfrcrange", settings.autolimits)
    if effort and node.flag("actuatorgravcomp"):
        notes.warn(node, "actuatorgravcomp: what holds against gravity is not bounded by actuatorfrcrange here")
    if node.tag == "freejoint" and node.choice("align", ("true", "false", "auto"), "auto") == "true":
        notes.warn(node, "align: the body keeps the frame that is written, which MuJoCo puts into its centre of mass")
    most = effort[1] if effort and effort[0] == -effort[1] else np.inf
    values = {n: node.number(n, 0.0) for n in ("ref", "springref", "springyield")}
    values |= {n: node.positive(n, 0.0) for n in ("frictionloss", "armature")}
    damping = linear(node, "damping", notes)
    stiffness = linear(node, "stiffness", notes)
    auto = node.numbers("springdamper", 2, (0.0, 0.0))
    if min(auto) < 0.0:
        raise node.error(f"springdamper is '{node.text('springdamper')}'; expected a time constant and a damping ratio, zero or more")
    works_out = kind in ("revolute", "prismatic") and min(auto) > 0.0
    if values["springyield"] and (stiffness or works_out):
        notes.warn(node, "springyield is not read: its spring never yields")
    if (stiffness or min(auto) > 0.0) and kind in ("spherical", "floating"):
        notes.warn(node, "the spring of a ball or free joint is not read")
    if free and values["armature"]:
        notes.warn(node, "the armature of a free joint acts along the body's own axes, in MuJoCo along the world's")
    off = settings.off
    ref = values["ref"] * unit_of if kind in ("revolute", "prismatic") else 0.0
    springs = kind in ("revolute", "prismatic") and "spring" not in off
    return Turn(
        node, name, kind, anchor, axis, ref, Limits(low, high, effort=most),
        0.0 if "damper" in off else damping, 0.0 if "frictionloss" in off else values["frictionloss"], values["armature"],
        None if effort is None else (effort[0], effort[1]),
        (stiffness, values["springref"] * unit_of) if springs and (stiffness or works_out) else None,
        (auto[0], auto[1]) if works_out else None,
    )  # fmt: skip


def warn_of_units(node: Node, span: list[float], unit_of: float, notes: Notes) -> None:
    """Warn of a hinge's range that looks like radians where degrees are read, or like degrees where radians are."""
    said = f"the range is {node.text('range')} {'rad' if unit_of == 1.0 else 'degrees'}"
    if unit_of == 1.0 and span[1] - span[0] > WIDE:
        notes.warn(node, f"{said}, over two turns; expected radians, as the compiler's angle is (degrees?)")
    elif unit_of != 1.0 and min(abs(abs(x) - k * np.pi) for x in span for k in (0.5, 1.0)) < 0.01:
        notes.warn(node, f"{said}, of which an end would be a round angle in radians; expected degrees, as the compiler's angle is")


def linear(node: Node, name: str, notes: Notes) -> float:
    """Return the first of the coefficients of a force that may be a polynomial."""
    first, *more = node.numbers(name, (1, 3), (0.0,))
    if any(more):
        notes.warn(node, f"{name} is '{node.text(name)}', a polynomial, of which the linear part counts")
    if first < 0.0:
        raise node.error(f"{name} is {first:g}; expected zero or more")
    return first


def checked_alone(turns: list[Turn], root: bool) -> None:
    """Refuse a free joint beside others, or on a body that lies in another."""
    for t in turns:
        if t.kind == "floating" and (len(turns) > 1 or not root):
            where = "beside another joint" if len(turns) > 1 else "in a body inside of another"
            raise t.node.error(f"a free joint {where}; expected it alone, on a body of the world")
