"""Spacecraft: fields of gravity and orbits, time and axes, what acts on surfaces, propellant, and bodies that bend. Public names."""

from engine.components.actuators import Thrusters
from engine.components.component import SimulationError
from engine.space.axes import lvlh, relative_state, rtn, turning
from engine.space.ccsds import read_aem, read_oem, write_aem, write_oem
from engine.space.elements import Elements
from engine.space.ephemeris import ASTRONOMICAL_UNIT, MOON_MU, SUN_MU, SUN_RADIUS, Ephemeris, moon, sun
from engine.space.epoch import EARTH_RATE, Epoch
from engine.space.gravity import EARTH_J2, EARTH_MU, EARTH_RADIUS, GravityField, Harmonics, ThirdBody
from engine.space.kepler import Ellipse
from engine.space.orbit import ReferenceOrbit, clohessy_wiltshire, mean_motion
from engine.space.tank import Tank

__all__ = [
    "ASTRONOMICAL_UNIT", "EARTH_J2", "EARTH_MU", "EARTH_RADIUS", "EARTH_RATE", "Elements", "Ellipse", "Ephemeris", "Epoch",
    "GravityField", "Harmonics", "MOON_MU", "ReferenceOrbit", "SUN_MU", "SUN_RADIUS", "SimulationError", "Tank", "ThirdBody", "Thrusters",
    "clohessy_wiltshire", "lvlh", "mean_motion", "moon", "read_aem", "read_oem", "relative_state", "rtn", "sun", "turning", "write_aem",
    "write_oem",
]  # fmt: skip
