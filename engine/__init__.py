"""Articulated multibody physics: textbook equations in NumPy, compiled to SIMD machine code."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: public name -> the module it comes from; each is imported when it is first used
_PUBLIC = {
    "ops": "engine.ops", "spatial": "engine.spatial", "dynamics": "engine.dynamics", "compiler": "engine.compiler", "io": "engine.io",
    "Model": "engine.model", "Link": "engine.model", "Joint": "engine.model", "Limits": "engine.model", "Mimic": "engine.model",
    "Geometry": "engine.model", "Material": "engine.model", "Builder": "engine.model",
    "ModelError": "engine.model", "StateError": "engine.model",
    "load_urdf": "engine.io", "check": "engine.io", "load_mesh": "engine.io", "RobotFileError": "engine.io",
    "compile": "engine.simulation", "Robot": "engine.simulation", "Simulator": "engine.simulation", "Trajectory": "engine.simulation",
    "SimulationError": "engine.simulation",
    "gufunc": "engine.compiler.gufunc", "Gufunc": "engine.compiler.gufunc", "set_threads": "engine.compiler.gufunc",
    "get_threads": "engine.compiler.gufunc", "ArgumentError": "engine.compiler.gufunc", "TraceError": "engine.compiler.gufunc",
}  # fmt: skip
__all__ = [*_PUBLIC, "__version__"]

if TYPE_CHECKING:
    from engine import compiler, dynamics, io, ops, spatial
    from engine.compiler.gufunc import ArgumentError, Gufunc, TraceError, get_threads, gufunc, set_threads
    from engine.io import RobotFileError, check, load_mesh, load_urdf
    from engine.model import Builder, Geometry, Joint, Limits, Link, Material, Mimic, Model, ModelError, StateError
    from engine.simulation import Robot, SimulationError, Simulator, Trajectory, compile


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"engine has no '{name}'; it has {', '.join(_PUBLIC)}")
    module = importlib.import_module(_PUBLIC[name])
    value = module if _PUBLIC[name] == f"engine.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
