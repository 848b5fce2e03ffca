"""Robots in Universal Scene Description, by its physics: rigid bodies, joints, masses and simple shapes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.io.usd.usd import load_usd, read_stage

#: of its files
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")

__all__ = ["SUFFIXES", "load_usd", "read_stage"]


def __getattr__(name: str) -> Any:
    """Return a name of the reader, which is loaded when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from engine.io.usd import usd

    return getattr(usd, name)
