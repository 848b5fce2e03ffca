"""Compiled robots, simulation and what it records."""

from engine.simulation.robot import Robot, compile
from engine.simulation.simulator import SimulationError, Simulator
from engine.simulation.solution import Event, Solution, SolutionError
from engine.simulation.system import CompiledSystem, StateTrajectory
from engine.simulation.trajectory import Trajectory

__all__ = [
    "CompiledSystem", "Event", "Robot", "SimulationError", "Simulator", "Solution", "SolutionError",
    "StateTrajectory", "Trajectory", "compile",
]  # fmt: skip
