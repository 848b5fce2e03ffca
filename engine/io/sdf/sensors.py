"""Reads the sensors of an SDF's links and joints that the engine also has, as `Part` descriptions."""

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
from engine.model.file_extras import to_plain

#: type -> the class of :mod:`engine.sensors`
KINDS = {"imu": "IMU", "gps": "GPS", "navsat": "GPS", "contact": "Touch", "force_torque": "ForceTorque", "lidar": "Lidar", "ray": "Lidar",
         "gpu_lidar": "Lidar", "gpu_ray": "Lidar", "depth": "DepthCamera", "depth_camera": "DepthCamera"}  # fmt: skip
#: the axes of a camera in those of an SDF sensor, whose x axis points ahead and whose z axis points up
OPTICAL = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])


def sensors(links: Iterable[Frame], joints: Iterable[Hinged]) -> Iterator[Part]:
    """Yield the parts that stand for <sensor>s: of imu, gps (navsat), contact, lidar (ray) and depth_camera on links, force_torque on
    joints."""
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
            T = T @ OPTICAL if kind == "DepthCamera" else T
            if kind not in ("Touch", "ForceTorque") and (np.eye(4) != T).any():
                values["placement"] = to_plain(T)
            seen = lidar(node) if kind == "Lidar" else camera(node) if kind == "DepthCamera" else {}
            yield Part(kind, values | seen | errors(node, kind, 1.0 / rate if rate else 0.0))


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


def lidar(node: Node) -> dict[str, Any]:
    """Return the rays of a lidar, how far they reach, and their noise."""
    own = next((tag for tag in ("lidar", "ray") if node.first(tag) is not None), "lidar")
    scans = {}
    for what, axis in (("azimuths", "horizontal"), ("elevations", "vertical")):
        path = own, "scan", axis
        n = round(node.positive(*path, "samples", default=1.0) * node.positive(*path, "resolution", default=1.0))
        least, most = (node.number(*path, f"{end}_angle", default=0.0) for end in ("min", "max"))
        scans[what] = to_plain(np.linspace(least, most, max(n, 1)))
    least, most = node.number(own, "range", "min", default=0.0), node.number(own, "range", "max", default=np.inf)
    noise, bias = (node.number(own, "noise", what, default=0.0) for what in ("stddev", "mean"))
    return {**scans, **({"min_range": least} if least > 0.0 else {}), **({"max_range": most} if least < most < np.inf else {}),
            **({"noise": noise, "bias": bias} if noise or bias else {})}  # fmt: skip


def camera(node: Node) -> dict[str, Any]:
    """Return the picture of a depth camera, and between which depths it sees."""
    width, height = (round(node.positive("camera", "image", what, default=x)) for what, x in (("width", 320.0), ("height", 240.0)))
    across = node.positive("camera", "horizontal_fov", default=1.047)
    near, far = (node.positive("camera", "clip", what, default=x) for what, x in (("near", 0.1), ("far", 100.0)))
    fov = float(2.0 * np.arctan(np.tan(0.5 * across) * height / width))
    return {"width": width, "height": height, "fov": fov, "near": near, "far": far}
