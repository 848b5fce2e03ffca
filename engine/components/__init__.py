"""Components of a simulation: forces, actuators, controllers and users' functions; knows nothing of steps.

``component`` says what each of them is, ``law`` what a function is, ``layout`` where their numbers lie.
"""

from engine.components import actuators, component, controllers, forces
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.components.controller_examples import COMPONENTS, CONTROLLERS
from engine.components.flexible_joint import FlexibleJoint
from engine.components.general_actuator import GeneralActuator
from engine.components.law import Law
from engine.components.lugre import LuGre
from engine.components.phases import Phases
from engine.components.policy import policy
from engine.docstrings import add_examples

__all__ = ["Component", "Context", "Effect", "FlexibleJoint", "GeneralActuator", "Law", "LuGre", "Phases", "SimulationError",
           "SimulationWarning",
           "actuators", "controllers", "forces", "policy"]  # fmt: skip

add_examples(component, COMPONENTS)
add_examples(controllers, CONTROLLERS)
