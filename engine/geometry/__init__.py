"""Geometry of contacts: convex shapes, how far apart they are, and where they touch."""

from engine.geometry.contact_points import FAR, Points
from engine.geometry.height_field import clearance, overlooked
from engine.geometry.hulls import HullOfNumbers, hull_of, numbers_of
from engine.geometry.measures import Kind, example, measured, measures
from engine.geometry.pairs import distance, points, touching_points
from engine.geometry.rays import ray, span
from engine.geometry.separation import Separation
from engine.geometry.shapes import GROUNDS, Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Hull, Plane, Shape, Sphere
from engine.geometry.triangles import Triangles, through, triangles_of

__all__ = [
    "Box", "Capsule", "Cylinder", "Ellipsoid", "FAR", "GROUNDS", "GeometryError", "HeightField", "Hull", "HullOfNumbers", "Kind", "Plane",
    "Points", "Separation", "Shape", "Sphere", "Triangles", "clearance", "distance", "example", "hull_of", "measured", "measures",
    "numbers_of", "overlooked", "points", "ray", "span", "through", "touching_points", "triangles_of",
]  # fmt: skip
