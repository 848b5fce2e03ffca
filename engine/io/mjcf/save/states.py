"""Keyframes and sensors as MJCF: states in MuJoCo's order, and names of what sensors are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.io.mjcf.save.tree import Tree, section
from engine.io.written import row
from engine.model import Described, Joint
from engine.spatial import quaternion

Array = np.ndarray
#: kinds of sensors, by the attribute that names what they are on
KINDS = {
    "site": "touch accelerometer velocimeter gyro force torque magnetometer rangefinder",
    "joint": "jointpos jointvel ballquat ballangvel jointlimitpos jointlimitvel jointlimitfrc jointactuatorfrc",
    "tendon": "tendonpos tendonvel tendonlimitpos tendonlimitvel tendonlimitfrc tendonactuatorfrc",
    "actuator": "actuatorpos actuatorvel actuatorfrc",
    "body": "subtreecom subtreelinvel subtreeangmom",
    "objname": "framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel framelinacc frameangacc",
    "": "clock e_potential e_kinetic",
}  # fmt: skip
ATTRIBUTES = {kind: attribute for attribute, kinds in KINDS.items() for kind in kinds.split()}


# ---------------------------------------------------------------- keyframes


def write_keyframes(root: Any, tree: Tree, said: Described, actuators: Sequence[str]) -> None:
    """Write the keyframes; ``actuators`` are the names of those that are written, in their order."""
    from lxml import etree

    for name, key in said.keyframes.items():
        states = [state_of(tree, j, key.q, key.v) for j in tree.order]
        rows = {"qpos": [x for q, _ in states for x in q], "qvel": [x for _, v in states for x in v],
                "ctrl": [key.commands.get(a, 0.0) for a in actuators] if key.commands else []}  # fmt: skip
        if missing := [a for a in key.commands if a not in actuators]:
            tree.lost.append(f"commands of keyframe '{name}' to {', '.join(missing)}")
        etree.SubElement(section(root, "keyframe"), "key", name=name, time=row(key.t), **{n: row(x) for n, x in rows.items() if x})


def state_of(tree: Tree, joint: Joint, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the numbers of a joint in MuJoCo's qpos and qvel: of one that floats, its pose and its origin's velocity in the world."""
    q, v = q[tree.model.q_slice(joint.name)], v[tree.model.v_slice(joint.name)]
    if joint.kind != "floating":
        return q, v
    R = joint.placement[:3, :3] @ quaternion.to_matrix(q[:4])
    turn = q[:4] if np.array_equal(joint.placement, np.eye(4)) else quaternion.from_matrix(R)
    p = joint.placement[:3, :3] @ q[4:] + joint.placement[:3, 3]
    return np.concatenate([p, turn]), np.concatenate([R @ v[3:], v[:3]])


# ---------------------------------------------------------------- sensors


def write_sensors(root: Any, tree: Tree, said: Described) -> None:
    """Write the sensors whose kind and whose place are known."""
    from lxml import etree

    there = places(root, tree)
    for name, (kind, on) in said.sensors.items():
        found = {what: {what: on} for what in there if on in there[what]} | ({"": {}} if not on else {})
        for what in ("geom", "body", "site"):                                   # of which is not said: a site rather than others
            found |= {"objname": {"objtype": what, "objname": on}} if on in there[what] else {}
        if ATTRIBUTES.get(kind) in found:
            etree.SubElement(section(root, "sensor"), kind, name=name, **found[ATTRIBUTES[kind]])
        else:
            tree.lost.append(f"the sensor '{name}' ({kind}{f' on {on}' if on else ''})")


def places(root: Any, tree: Tree) -> dict[str, set[str]]:
    """Return the names that sensors may be on, by kinds."""
    found = {what: {e.get("name") for e in root.find("worldbody").iter(what)} for what in ("site", "geom", "body")}
    acting = {what: {e.get("name") for e in root.iterfind(f"{what}/*")} for what in ("tendon", "actuator")}
    return {**found, **acting, "joint": {*tree.joints}}
