"""Meshes that are not convex."""

import numpy as np
import trimesh
from trimesh import creation


def cup(radius=0.05, height=0.1, wall=0.005, bottom=0.005, sections=48):
    """A cup about z that stands on z = 0."""
    inner = radius - wall
    return creation.revolve(np.array([[0, 0], [radius, 0], [radius, height], [inner, height], [inner, bottom], [0, bottom]]),
                            sections=sections)  # fmt: skip


def l_shape():
    """Two bars of 0.05 m × 0.05 m, one of 0.2 m along x, one on its end of 0.15 m along z."""
    outline = np.array([[0, 0], [0.2, 0], [0.2, 0.05], [0.05, 0.05], [0.05, 0.2], [0, 0.2]])
    triangles = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    return creation.extrude_triangulation(outline, triangles, 0.05)


def torus(radius=0.1, tube=0.03):
    """A ring about z."""
    return creation.torus(radius, tube, 24, 12)


def written(mesh: trimesh.Trimesh, path):
    """The path of a mesh's file."""
    mesh.export(path)
    return path
