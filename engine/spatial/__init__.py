"""Rotations, rigid motions, quaternions and spatial inertias."""

from engine.spatial import inertia, quaternion, se3, so3

__all__ = ["inertia", "quaternion", "se3", "so3"]
