"""Geometry of contacts: convex shapes, how far apart they are, and where they touch."""

from engine.geometry.contact_points import FAR, Points
from engine.geometry.height_field import clearance
from engine.geometry.hulls import HullOfNumbers, hull_of, numbers_of
from engine.geometry.pairs import distance, points
from engine.geometry.separation import Separation
from engine.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, GeometryError, HeightField, Hull, Plane, Shape, Sphere

__all__ = [
    "FAR", "Box", "Capsule", "Cylinder", "Ellipsoid", "GeometryError", "HeightField", "Hull", "HullOfNumbers", "Plane", "Points",
    "Separation", "Shape", "Sphere", "clearance", "distance", "hull_of", "numbers_of", "points",
]  # fmt: skip
