"""The schema of MJCF, and what of it is read: whatever a file holds besides is said, and nothing is passed over in silence.

A row of :data:`ROWS` is a kind of element: what it may hold (``tag`` or ``tag=kind``; * for anything, which is not looked at), the
attributes that are read, or spoken of where they are, and those that make no difference to the motion.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from engine.checks import closest
from engine.io.errors import short
from engine.io.mjcf.document import Node
from engine.io.notes import Notes

PLACE = "pos quat axisangle euler xyaxes zaxis"
MARGINS = "solreflimit solimplimit solreffriction solimpfriction margin gap"
SOFT = f"solref solimp {MARGINS}"
DRIVE = ("name class gear ctrllimited ctrlrange forcelimited forcerange joint jointinparent tendon site refsite body slidersite cranksite "
         "cranklength damping armature delay actearly inheritrange actlimited actrange kp kv dampratio timeconst area diameter bias "
         "dyntype gaintype biastype dynprm gainprm biasprm")  # fmt: skip
DRIVE_LOOKS = "group user nsample interp lengthrange input actdim velrange ffrange"
BODY = "body geom site joint freejoint inertial camera light frame replicate plugin attach flexcomp composite"
JOINT = ("type pos axis range limited ref springref stiffness damping frictionloss armature springdamper springyield actuatorfrcrange "
         "actuatorfrclimited actuatorgravcomp")  # fmt: skip
GEOM = ("type size fromto mass density shellinertia group contype conaffinity condim priority friction solref solimp material rgba mesh "
        f"hfield {PLACE}")  # fmt: skip
GEOM_LOOKS = f"solmix user fluidcoef castshadow fitscale {MARGINS}"
TENDON = "stiffness damping frictionloss armature limited range springlength springyield actuatorfrcrange"
TENDON_LOOKS = f"group width material rgba user actuatorfrclimited {SOFT}"
SIMPLE = ("motor", "position", "velocity", "intvelocity", "damper", "cylinder", "general")
OTHERS = ("muscle", "adhesion", "dcmotor", "pid", "orientation", "plugin")


class Kind(NamedTuple):
    """A row: what an element may hold, by tag, and its attributes."""

    children: dict[str, str]
    read: frozenset[str]
    looks: frozenset[str]
    any: bool = False


def kind(children: str = "", read: str = "", looks: str = "") -> Kind:
    pairs = [c.partition("=") for c in children.split() if c != "*"]
    return Kind({tag: name or tag for tag, _, name in pairs}, frozenset(read.split()), frozenset(looks.split()), "*" in children.split())


#: sections and elements that are looks, or a program's own affair, with all that is in them
APART = ("visual", "statistic", "size", "custom", "texture", "skin", "camera", "light", "lengthrange", "layer")
#: elements that make the motion another, and are not read: why
MISSED = {
    "deformable": "soft bodies are not read", "flexcomp": "a soft body is not read", "composite": "a composite is not read",
    "attach": "another model is not read", "plugin": "a plugin is not read", "extension": "plugins are not read",
    "flex": "a soft body is not read", "model": "another model is not read", "flexvert": "soft bodies are not read",
    "flexstrain": "soft bodies are not read",
}  # fmt: skip
#: attributes that make the motion another where they have another value than this, and are not read: the value, and why
MOVES = {
    ("option", "actuatorgroupdisable"): ("", "actuators are not disabled"),
    ("geom", "adhesion"): ("0", "adhesion is not read"),
    ("mesh", "builtin"): ("", "a mesh that MuJoCo makes is not read"),
    ("option", "o_friction"): ("", "contacts are not overridden"),
    ("compiler", "alignfree"): ("false", "free bodies keep the frames that are written, which MuJoCo puts into their centres of mass"),
}  # fmt: skip
ROWS: dict[str, Kind] = {
    "mujoco": kind("compiler option default asset worldbody contact equality tendon actuator sensor keyframe visual statistic size custom "
                   "extension deformable", "model"),
    "compiler": kind("lengthrange", "angle eulerseq autolimits inertiafromgeom inertiagrouprange balanceinertia boundmass boundinertia "
                     "settotalmass coordinate meshdir texturedir assetdir strippath",
                     "fusestatic discardvisual usethread fitaabb conflict passthrough savecanonical savecompiled saveinertial"),
    "option": kind("flag", "gravity timestep density viscosity wind actuatorgroupdisable o_friction",
                   "integrator cone jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance "
                   "ccd_iterations ccd_tolerance mpr_iterations mpr_tolerance sdf_iterations sdf_initpoints impratio magnetic "
                   "o_margin o_solref o_solimp apirate sleep_tolerance collision"),
    "flag": kind("", "contact equality frictionloss limit spring damper gravity clampctrl actuation constraint filterparent passive",
                 "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase multiccd nativeccd override refsafe sensor "
                 "sleep speculative warmstart"),
    "default": kind(f"default mesh=mesh_default texture material joint=joint_default geom=geom_default site=site_default camera light pair "
                    f"equality=equality_default tendon=tendon_default {' '.join(SIMPLE + OTHERS)}", "class"),
    "asset": kind("mesh hfield texture material skin model"),
    "mesh": kind("plugin", "name class file scale inertia vertex face refpos refquat builtin",
                 "content_type normal texcoord smoothnormal maxhullvert material params"),
    "mesh_default": kind("", "scale inertia", "maxhullvert"),
    "hfield": kind("", "", "name file nrow ncol size elevation content_type"),
    "material": kind("layer", "name class rgba", "texture texrepeat texuniform emission specular shininess reflectance roughness metallic"),
    "worldbody": kind(BODY, "childclass", f"name user fuse sleep simple {PLACE}"),
    "body": kind(BODY, f"name childclass mocap gravcomp {PLACE}", "user fuse sleep simple"),
    "frame": kind(BODY, f"childclass {PLACE}", "name"),
    "replicate": kind(BODY, "count offset euler sep"),
    "inertial": kind("", f"mass diaginertia fullinertia {PLACE}"),
    "joint": kind("", f"name class {JOINT}", f"group user {SOFT}"),
    "joint_default": kind("", JOINT, f"group user {SOFT}"),
    "freejoint": kind("", "name align", "group user"),
    "geom": kind("plugin", f"name class fluidshape adhesion surfacevel {GEOM}", GEOM_LOOKS),
    "geom_default": kind("", f"fluidshape adhesion surfacevel {GEOM}", GEOM_LOOKS),
    "site": kind("", f"name class fromto {PLACE}", "type size group material rgba user mesh"),
    "site_default": kind("", f"fromto {PLACE}", "type size group material rgba user mesh"),
    "contact": kind("pair exclude"),
    "pair": kind("", "name class geom1 geom2 condim friction", f"adhesion {SOFT}"),
    "exclude": kind("", "body1 body2", "name"),
    "equality": kind("connect weld joint=equality_joint tendon=equality_tendon flex flexvert flexstrain"),
    "equality_default": kind("", "active", SOFT),
    "connect": kind("", "name class active body1 body2 site1 site2 anchor", SOFT),
    "weld": kind("", "name class active body1 body2 site1 site2 anchor relpose torquescale", SOFT),
    "equality_joint": kind("", "name class active joint1 joint2 polycoef", SOFT),
    "equality_tendon": kind("", "name class active tendon1 tendon2 polycoef", SOFT),
    "tendon": kind("fixed spatial"),
    "tendon_default": kind("", TENDON, TENDON_LOOKS),
    "fixed": kind("joint=tendon_joint", f"name class {TENDON}", TENDON_LOOKS),
    "tendon_joint": kind("", "joint coef"),
    "spatial": kind("site=path geom=path pulley=path", f"name class {TENDON}", TENDON_LOOKS),
    "path": kind("", "site geom sidesite divisor"),
    "actuator": kind(" ".join(SIMPLE + OTHERS)),
    **{tag: kind("", DRIVE, DRIVE_LOOKS) for tag in SIMPLE},
    **{tag: kind("*") for tag in (*OTHERS, *APART, *MISSED, "sensor")},
    "keyframe": kind("key"),
    "key": kind("", "name time qpos qvel ctrl act mpos mquat", "plastic"),
}  # fmt: skip


def examine(root: Node, notes: Notes) -> None:
    """Say what a file holds that is not known, not read, or makes no difference."""
    ignored: dict[str, tuple[Node, int]] = {}
    stack = [(root, "mujoco")]
    while stack:
        node, name = stack.pop()
        row, seen = ROWS[name], Counter(child.tag for child in node.children)
        if row.any:
            continue
        for tag in seen:
            child = next(c for c in node.children if c.tag == tag)
            if tag not in row.children:
                near = closest(tag, row.children, 0.8)
                meant = f"; did you mean <{near[0]}>?" if near else ""
                notes.warn(child, f"<{short(tag)}> in <{node.tag}> is not known and ignored{meant}")
            elif tag in MISSED and tag not in ("plugin", "flexcomp", "composite", "attach"):
                notes.warn(child, MISSED[tag])
            elif row.children[tag] in APART:
                count(ignored, f"<{tag}>", child, seen[tag])
        for attribute in node.attributes:
            value, why = MOVES.get((node.tag, attribute), ("", ""))
            if why and not same(node.attributes[attribute], value):
                notes.warn(node, f"{attribute} is '{short(node.attributes[attribute])}': {why}")
            elif attribute in row.looks:
                count(ignored, f"{attribute}=\"...\" of <{node.tag}>", node, 1)
            elif attribute not in row.read and not why:
                near = closest(attribute, row.read | row.looks, 0.8)
                meant = f"; did you mean {near[0]}?" if near else ""
                notes.warn(node, f"{short(attribute)}=\"...\" of <{node.tag}> is not known and ignored{meant}")
        stack += [(child, row.children[child.tag]) for child in reversed(node.children) if child.tag in row.children]
    for what, (node, times) in ignored.items():
        notes.note(node, f"{what} is ignored ({times} time{'s' * (times > 1)})")


def count(ignored: dict[str, tuple[Node, int]], what: str, node: Node, times: int) -> None:
    """Count what makes no difference, at its first element."""
    first, before = ignored.get(what, (node, 0))
    ignored[what] = first, before + times


def same(text: str, value: str) -> bool:
    """Return whether two texts are the same numbers, or the same words."""
    try:
        return [*map(float, text.split())] == [*map(float, value.split())]
    except ValueError:
        return text.strip() == value
