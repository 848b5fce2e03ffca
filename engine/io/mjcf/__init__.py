"""MJCF, MuJoCo's format: a robot's tree, and what drives, holds and touches it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.io.mjcf.mjcf import START, load_mjcf, read

__all__ = ["START", "load_mjcf", "read"]


def __getattr__(name: str) -> Any:
    """Return a name of the reader, which is loaded when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from engine.io.mjcf import mjcf

    return getattr(mjcf, name)
