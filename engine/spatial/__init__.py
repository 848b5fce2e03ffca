"""Rotations, rigid motions, quaternions (plain and dual), attitude parametrisations, configuration manifolds and spatial inertias."""

from engine.spatial import dual_quaternion, inertia, manifold, quaternion, rotations, se3, so3
from engine.spatial.manifold import Manifold
from engine.spatial.rotations import ATTITUDES, Attitude

__all__ = ["ATTITUDES", "Attitude", "Manifold", "dual_quaternion", "inertia", "manifold", "quaternion", "rotations", "se3", "so3"]
