"""Robots from files: URDF, SDF and MJCF, the meshes they name, and a report of what is wrong in them."""

from typing import TYPE_CHECKING, Any

from engine.io.check import Finding, Report, check
from engine.io.decomposition import convex_parts
from engine.io.errors import RobotFileError, RobotFileWarning
from engine.io.load import load
from engine.io.mesh import load_mesh
from engine.io.save_urdf import save_urdf
from engine.io.text import model_from_text, model_hash, model_text, text_hash
from engine.io.urdf import load_urdf

if TYPE_CHECKING:
    from engine.io.mjcf.save import save_mjcf
    from engine.io.sdf import load_sdf

__all__ = ["Finding", "Report", "RobotFileError", "RobotFileWarning", "check", "convex_parts", "load", "load_mesh", "load_sdf",
           "load_urdf", "model_from_text", "model_hash", "model_text", "save_mjcf", "save_urdf", "text_hash"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a function whose format is loaded when it is first used."""
    if name == "load_sdf":
        from engine.io.sdf import load_sdf

        return load_sdf
    if name == "save_mjcf":
        from engine.io.mjcf.save import save_mjcf

        return save_mjcf
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
