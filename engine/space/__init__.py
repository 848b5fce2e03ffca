"""Spacecraft: fields of gravity and orbits, time and axes, what acts on surfaces, propellant, and bodies that bend. Public names."""

from engine.calls import check_calls
from engine.components.actuators import Thrusters
from engine.components.component import SimulationError
from engine.docstrings import add_examples
from engine.io.ccsds import read_aem, read_oem, write_aem, write_oem
from engine.space.atmosphere import Atmosphere, Drag
from engine.space.axes import lvlh, relative_state, rtn, turning
from engine.space.beams import BeamMode, add_chain, add_modes, beam_modes
from engine.space.control_moment_gyros import ControlMomentGyros
from engine.space.elements import Elements
from engine.space.ephemeris import ASTRONOMICAL_UNIT, MOON_MU, SUN_MU, SUN_RADIUS, Ephemeris, moon, sun
from engine.space.epoch import EARTH_RATE, Epoch
from engine.space.facets import Facets
from engine.space.flexible import FlexibleBody, Modes
from engine.space.gravity import EARTH_J2, EARTH_MU, EARTH_RADIUS, GravityField, Harmonics, ThirdBody
from engine.space.kepler import Ellipse
from engine.space.light import Eclipse, SolarPressure, lit
from engine.space.magnets import Dipole, Igrf, Magnetorquers
from engine.space.orbit import ReferenceOrbit, clohessy_wiltshire, mean_motion
from engine.space.plume import Plume
from engine.space.pointing import pointing
from engine.space.slosh import Slosh, SloshingTank, add_slosh, slosh_of
from engine.space.space_examples import OF_EPOCHS, OF_TANKS
from engine.space.tank import Tank

__all__ = [
    "ASTRONOMICAL_UNIT", "Atmosphere", "BeamMode", "ControlMomentGyros", "Dipole", "Drag", "EARTH_J2", "EARTH_MU", "EARTH_RADIUS",
    "EARTH_RATE", "Eclipse", "Elements", "Ellipse", "Ephemeris", "Epoch", "Facets", "FlexibleBody", "GravityField", "Harmonics", "Igrf",
    "MOON_MU", "Magnetorquers", "Modes", "Plume", "ReferenceOrbit", "SUN_MU", "SUN_RADIUS", "SimulationError", "Slosh", "SloshingTank",
    "SolarPressure", "Tank", "ThirdBody", "Thrusters", "add_chain", "add_modes", "add_slosh", "beam_modes", "clohessy_wiltshire", "lit",
    "lvlh", "mean_motion", "moon", "pointing", "read_aem", "read_oem", "relative_state", "rtn", "slosh_of", "sun", "turning",
    "write_aem", "write_oem",
]  # fmt: skip

add_examples(Epoch, OF_EPOCHS)
add_examples(Tank, OF_TANKS)
check_calls(__name__)
