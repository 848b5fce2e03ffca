"""Reader of SDF, the format of Gazebo and Drake: models, worlds and frames; and loops, sensors and contacts beside the tree."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.io.sdf.sdf import START, load_sdf, read

__all__ = ["START", "load_sdf", "read"]


def __getattr__(name: str) -> Any:
    """Return a name of the reader, which is loaded when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from engine.io.sdf import sdf

    return getattr(sdf, name)
