"""Articulated multibody physics: textbook equations in NumPy, compiled to SIMD machine code."""

from engine import compiler, dynamics, integrate, io, model, ops, simulation, spatial
from engine.compiler.derivative import gradient, jacobian
from engine.compiler.gufunc import ArgumentError, Gufunc, get_threads, gufunc, set_threads
from engine.compiler.trace import TraceError
from engine.io import RobotFileError, check, load_mesh, load_urdf
from engine.model import Builder, Geometry, Joint, Limits, Link, Material, Mimic, Model, ModelError, StateError
from engine.simulation import Robot, SimulationError, Simulator, Trajectory, compile

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Builder", "Geometry", "Gufunc", "Joint", "Limits", "Link", "Material", "Mimic", "Model", "ModelError", "Robot",
    "RobotFileError", "SimulationError", "Simulator", "StateError", "TraceError", "Trajectory", "check", "compile", "compiler",
    "dynamics", "get_threads", "gradient", "gufunc", "integrate", "io", "jacobian", "load_mesh", "load_urdf", "model", "ops",
    "set_threads", "simulation", "spatial",
]  # fmt: skip
