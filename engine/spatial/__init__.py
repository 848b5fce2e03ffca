"""Rotations, rigid motions, quaternions (plain and dual), attitude parametrisations and spatial inertias."""

from engine.spatial import dual_quaternion, inertia, quaternion, rotations, se3, so3

__all__ = ["dual_quaternion", "inertia", "quaternion", "rotations", "se3", "so3"]
