"""Identification: a robot's inertial and joint parameters, from its motion."""

from engine.calls import check_calls
from engine.docstrings import add_examples
from engine.identification.errors import IdentificationError, IdentificationWarning
from engine.identification.identify import base_parameters, identify
from engine.identification.result import Identification
from engine.identification.result_examples import EXAMPLES

__all__ = ["Identification", "IdentificationError", "IdentificationWarning", "base_parameters", "identify"]

add_examples(Identification, EXAMPLES)
check_calls(__name__)
