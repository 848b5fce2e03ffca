"""Compiled dynamics of a model: functions of its state, at its own numbers or at others; knows no simulation.

``robot`` (what ``engine.compile`` returns) holds functions of ``robot_function`` (of a model's state) on ``function`` (of any state), and
``parametrized`` ones, at other values of its numbers.
"""

from engine.compiled.robot import Robot
from engine.compiled.robot_examples import EXAMPLES
from engine.docstrings import add_examples

__all__ = ["Robot"]

add_examples(Robot, EXAMPLES)
