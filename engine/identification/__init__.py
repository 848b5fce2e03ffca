"""Identification: a robot's inertial and joint parameters, from its motion."""

from engine.identification.errors import IdentificationError, IdentificationWarning
from engine.identification.identify import base_parameters, identify
from engine.identification.result import Identification

__all__ = ["Identification", "IdentificationError", "IdentificationWarning", "base_parameters", "identify"]
