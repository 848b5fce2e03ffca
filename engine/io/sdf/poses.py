"""A <pose>: where something is, and relative to what."""

from __future__ import annotations

from math import radians

import numpy as np

from engine.io.sdf.document import Node
from engine.io.urdf import rotation
from engine.spatial import quaternion, se3

Array = np.ndarray
FORMATS = ("euler_rpy", "quat_xyzw")


def pose_of(node: Node) -> tuple[Array, str]:
    """Return the pose in an element's <pose> (4, 4), the unit one where there is none, and the frame that it is relative to, or ''."""
    pose = node.first("pose")
    if pose is None:
        return np.eye(4), ""
    T = np.eye(4)
    if pose.words:
        if pose.choice("rotation_format", FORMATS, "euler_rpy") == "quat_xyzw":
            *p, x, y, z, w = pose.numbers(7)
            if abs(w * w + x * x + y * y + z * z - 1.0) > 0.02:
                raise pose.error(f"the quaternion of the <pose> '{pose.words[:60]}' is not of length 1; expected x y z qx qy qz qw")
            R = quaternion.to_matrix(quaternion.normalize(np.array([w, x, y, z])))
        else:
            *p, roll, pitch, yaw = pose.numbers(6)
            if pose.truth(pose.attributes.get("degrees", "false")):
                roll, pitch, yaw = radians(roll), radians(pitch), radians(yaw)
            R = rotation(roll, pitch, yaw) if any((roll, pitch, yaw)) else np.eye(3)
        T = se3.pose(R, np.array(p))
    return T, pose.attributes.get("relative_to", "") if pose.version >= (1, 7) else ""
