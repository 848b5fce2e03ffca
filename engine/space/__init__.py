"""Spacecraft: fields of gravity and orbits, time and axes, what acts on surfaces, propellant, and bodies that bend. Public names."""

from engine.components.component import SimulationError
from engine.space.elements import Elements
from engine.space.gravity import EARTH_J2, EARTH_MU, EARTH_RADIUS, GravityField, Harmonics, ThirdBody
from engine.space.kepler import Ellipse
from engine.space.orbit import ReferenceOrbit, clohessy_wiltshire, mean_motion

__all__ = ["EARTH_J2", "EARTH_MU", "EARTH_RADIUS", "Elements", "Ellipse", "GravityField", "Harmonics", "ReferenceOrbit",
           "SimulationError", "ThirdBody", "clohessy_wiltshire", "mean_motion"]  # fmt: skip
