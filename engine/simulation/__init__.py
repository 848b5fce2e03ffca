"""Compiled robots, simulation and what it records."""

from engine.simulation import actuators, controllers, forces
from engine.simulation.component import Component, Effect, Law, SimulationError, Situation
from engine.simulation.inverse_kinematics import Reached, Target, inverse_kinematics
from engine.simulation.live import Live, Trace
from engine.simulation.robot import Robot, compile
from engine.simulation.simulator import Simulator, State
from engine.simulation.solution import Solution, SolutionError
from engine.simulation.storage import Recorder, Recording, StorageError
from engine.simulation.system import CompiledSystem, StateTrajectory
from engine.simulation.trajectory import Event, Trajectory, load_trajectory

__all__ = [
    "CompiledSystem", "Component", "Effect", "Event", "Law", "Live", "Reached", "Recorder", "Recording", "Robot", "SimulationError",
    "Simulator", "Situation", "Solution", "SolutionError", "State", "StateTrajectory", "StorageError", "Target", "Trace", "Trajectory",
    "actuators", "compile", "controllers", "forces", "inverse_kinematics", "load_trajectory",
]  # fmt: skip
