"""The schema of SDF that is read: all else is said."""

from __future__ import annotations

from collections import Counter

from engine.checks import closest
from engine.io.errors import short
from engine.io.notes import Notes
from engine.io.sdf.document import Node

#: tag, or the tag it is in and its own: (the tags it may hold, its attributes)
READ = {tag: (tuple(tags.split()), tuple(attributes.split())) for tag, tags, attributes in (
    ("sdf", "world model", "version"),
    ("world", "model frame joint gravity physics", "name"),
    ("physics", "max_step_size", "name type default"),
    ("world/gravity", "", ""),
    ("model", "pose static self_collide link joint frame model", "name canonical_link placement_frame merge"),
    ("frame", "pose", "name attached_to"),
    ("pose", "", "relative_to rotation_format degrees"),
    ("link", "pose inertial collision visual self_collide gravity", "name"),
    ("inertial", "pose mass inertia density", "auto"),
    ("inertia", "ixx ixy ixz iyy iyz izz", ""),
    ("visual", "pose geometry material transparency", "name"),
    ("collision", "pose geometry surface density", "name"),
    ("surface", "friction", ""),
    ("surface/friction", "ode torsional", ""),
    ("torsional", "coefficient use_patch_radius patch_radius surface_radius", ""),
    ("ode", "mu mu2", ""),
    ("geometry", "box sphere cylinder capsule ellipsoid plane mesh empty", ""),
    ("box", "size", ""),
    ("sphere", "radius", ""),
    ("cylinder", "radius length", ""),
    ("capsule", "radius length", ""),
    ("ellipsoid", "radii", ""),
    ("plane", "normal size", ""),
    ("mesh", "uri scale", ""),
    ("material", "ambient diffuse pbr", ""),
    ("pbr", "metal specular", ""),
    ("metal", "albedo_map", ""),
    ("specular", "albedo_map", ""),
    ("joint", "pose parent child axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body", "name type"),
    ("axis", "xyz use_parent_model_frame limit dynamics mimic", ""),
    ("axis2", "xyz use_parent_model_frame limit dynamics mimic", ""),
    ("xyz", "", "expressed_in"),
    ("limit", "lower upper effort velocity", ""),
    ("dynamics", "damping friction spring_reference spring_stiffness", ""),
    ("mimic", "multiplier offset reference", "joint axis"),
)}  # fmt: skip
#: types of <sensor>s that are read, by what they are on
SENSORS = {"link": ("imu", "gps", "navsat", "contact", "lidar", "ray", "gpu_lidar", "gpu_ray", "depth", "depth_camera"),
           "joint": ("force_torque",)}  # fmt: skip
MANY = ("world", "model", "link", "joint", "frame", "visual", "collision", "physics")
#: what changes nothing where it says so: (the tags it is in, what it says)
NOTHING = {
    "enable_wind": ("world model link", "false 0"), "kinematic": ("link", "false 0"), "allow_auto_disable": ("model", "true 1"),
    "must_be_base_link": ("link", "false 0"), "cast_shadows": ("visual", "true 1"), "provide_feedback": ("physics", "false 0"),
}  # fmt: skip
#: what has to do with looks, sound, and the tools around a simulation, and nothing with the motion
LOOKS = frozenset((
    "light", "scene", "gui", "cast_shadows", "laser_retro", "visibility_flags", "meta", "sensor", "audio_sink", "audio_source", "projector",
    "specular", "emissive", "lighting", "script", "shader", "render_order", "double_sided", "normal_map", "roughness", "metalness",
    "roughness_map", "metalness_map", "emissive_map", "light_map", "spherical_coordinates", "magnetic_field", "visual", "material",
    "submesh",
))  # fmt: skip


def examine(root: Node, notes: Notes) -> None:
    """Note what lies in an element that is not read, a kind of it once."""
    ignored: Counter[str] = Counter()
    first: dict[str, Node] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        tags, attributes = known(node)
        there: Counter[str] = Counter()
        for child in node.children:
            there[child.tag] += 1
            if child.tag in tags:
                waiting.append(child)
                if there[child.tag] == 2 and child.tag not in MANY:
                    notes.warn(child, f"<{child.tag}> in <{node.tag}> is there several times; the first counts")
            elif not changes_nothing(node, child) and not measures(node, child):
                what = f"<{short(child.tag)}> in <{node.tag}>"
                if meant := closest(child.tag, tags, 0.8):
                    what += f", which is not known (did you mean <{meant[0]}>?),"
                ignored[what] += 1
                first.setdefault(what, child)
        for name in node.attributes:
            if name not in attributes and node.attributes[name] and "}" not in name:
                what = f"{short(name)}=\"...\" of <{node.tag}>"
                ignored[what] += 1
                first.setdefault(what, node)
    for what, count in ignored.items():
        node = first[what]
        (notes.note if node.tag in LOOKS else notes.warn)(node, f"{what} is not read ({count} time{'s' * (count > 1)})")


def measures(node: Node, child: Node) -> bool:
    """Return whether a <sensor> is one of those that are read."""
    return child.tag == "sensor" and child.attributes.get("type") in SENSORS.get(node.tag, ())


def known(node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tags that an element may hold, and its attributes; of what holds text, none."""
    above = node.parent.tag if node.parent is not None else ""
    return READ.get(f"{above}/{node.tag}") or READ.get(node.tag, ((), ()))


def changes_nothing(node: Node, child: Node) -> bool:
    """Return whether an element states the default."""
    within, said = NOTHING.get(child.tag, ("", ""))
    return node.tag in within.split() and child.words.lower() in said.split()
