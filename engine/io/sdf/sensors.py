"""Sensors of links and joints that the engine has too, as parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from engine.io.sdf.document import Node
from engine.io.sdf.frames import Frame
from engine.io.sdf.joints import Hinged
from engine.io.sdf.poses import pose_of
from engine.io.sdf.schema import measures
from engine.model import Part
from engine.model.described import plain

#: type -> the class of :mod:`engine.sensors`
KINDS = {"imu": "IMU", "gps": "GPS", "navsat": "GPS", "contact": "Touch", "force_torque": "ForceTorque"}


def sensors(links: Iterable[Frame], joints: Iterable[Hinged]) -> Iterator[Part]:
    """Yield the parts that stand for <sensor>s: of imu, gps (navsat) and contact on links, force_torque on joints."""
    taken: set[str] = set()
    owners = [*((f.name, f.node) for f in links), *((j.child.name, j.frame.node) for j in joints)]
    for link, owner in owners:
        for node in owner.all("sensor"):
            T, relative = pose_of(node)
            if not measures(owner, node) or relative:
                continue
            kind = KINDS[node.attributes["type"]]
            name = node.attributes.get("name", kind.lower())
            name = name if name not in taken else f"{link}_{name}"
            taken.add(name)
            rate = node.positive("update_rate", default=0.0)
            values: dict[str, Any] = {"link": link, "name": name, **({"period": 1.0 / rate} if rate else {})}
            if kind not in ("Touch", "ForceTorque") and (np.eye(4) != T).any():
                values["placement"] = plain(T)
            yield Part(kind, values | errors(node, kind, 1.0 / rate if rate else 0.0))


def errors(node: Node, kind: str, period: float) -> dict[str, Any]:
    """Return the errors of a sensor's parts: deviations of a sample, of an IMU as densities at its period."""
    named = {"IMU": {"rate": ("imu", "angular_velocity"), "force": ("imu", "linear_acceleration")},
             "ForceTorque": {"force": ("force_torque", "force"), "moment": ("force_torque", "torque")}}  # fmt: skip
    found: dict[str, Any] = {}
    for part, path in named.get(kind, {}).items():
        each = [(node.number(*path, axis, "noise", "stddev", default=0.0), node.number(*path, axis, "noise", "bias_mean", default=0.0))
                for axis in "xyz"]  # fmt: skip
        scale = np.sqrt(period) if kind == "IMU" else 1.0
        own = {what: tuple(s * float(x[k]) for x in each) for k, (what, s) in enumerate((("noise", float(scale)), ("bias", 1.0)))}
        found |= {part: own} if any(any(x) for x in own.values()) else {}
    return found
