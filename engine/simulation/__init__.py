"""Simulation of a model: its equations of motion with all forces (plant), a step, runs, and trajectories. Public names of the package."""

from engine.compiled import Robot
from engine.components import (
    Component,
    Context,
    Effect,
    FlexibleJoint,
    GeneralActuator,
    Law,
    Phases,
    SimulationError,
    SimulationWarning,
    actuators,
    controllers,
    forces,
    policy,
)
from engine.docstrings import add_examples
from engine.integrate import Crossing, Event, Solution, SolutionError
from engine.simulation.body_examples import OF_BODIES, OF_STATES, OF_SYSTEMS
from engine.simulation.body_trajectory import BodyTrajectory, StateTrajectory
from engine.simulation.compile import compile
from engine.simulation.compiled_system import CompiledSystem
from engine.simulation.contact_examples import EXAMPLES as OF_CONTACTS
from engine.simulation.contact_table import ContactTable
from engine.simulation.contacts import Contacts, HalfSpace
from engine.simulation.from_file import contacts_of, simulator_of
from engine.simulation.impacts import impact
from engine.simulation.live import Live, Trace
from engine.simulation.live_examples import EXAMPLES as OF_LIVE
from engine.simulation.load import load_trajectory
from engine.simulation.profile import Profile
from engine.simulation.simulator import Simulator
from engine.simulation.simulator_examples import EXAMPLES as OF_SIMULATOR
from engine.simulation.state import State
from engine.simulation.stepper import Stepper
from engine.simulation.trajectory import Trajectory
from engine.simulation.trajectory_examples import EXAMPLES as OF_TRAJECTORY
from engine.simulation.warm import warm

__all__ = [
    "BodyTrajectory", "CompiledSystem", "Component", "ContactTable", "Contacts", "Context", "Crossing", "Effect", "Event", "FlexibleJoint",
    "GeneralActuator", "HalfSpace", "Law", "Live", "Phases", "Profile", "Robot", "SimulationError", "SimulationWarning", "Simulator",
    "Solution", "SolutionError", "State", "StateTrajectory", "Stepper", "Trace", "Trajectory", "actuators", "compile",
    "contacts_of", "controllers", "forces", "impact", "load_trajectory", "policy", "simulator_of", "warm",
]  # fmt: skip

add_examples(BodyTrajectory, OF_BODIES)
add_examples(CompiledSystem, OF_SYSTEMS)
add_examples(Contacts, OF_CONTACTS)
add_examples(Live, OF_LIVE)
add_examples(Simulator, OF_SIMULATOR)
add_examples(StateTrajectory, OF_STATES)
add_examples(Trajectory, OF_TRAJECTORY)
