"""Compiled robots, simulation and what it records."""

from engine.recording import Recorder, Recording, StorageError
from engine.simulation import actuators, controllers, forces
from engine.simulation.component import Component, Effect, Law, SimulationError, Situation
from engine.simulation.live import Live, Trace
from engine.simulation.robot import Robot, compile
from engine.simulation.simulator import Simulator, State
from engine.simulation.solution import Solution, SolutionError
from engine.simulation.system import CompiledSystem, StateTrajectory
from engine.simulation.trajectory import Event, Trajectory, load_trajectory

__all__ = [
    "CompiledSystem", "Component", "Effect", "Event", "Law", "Live", "Recorder", "Recording", "Robot", "SimulationError",
    "Simulator", "Situation", "Solution", "SolutionError", "State", "StateTrajectory", "StorageError", "Trace", "Trajectory",
    "actuators", "compile", "controllers", "forces", "load_trajectory",
]  # fmt: skip
