"""How models and trajectories are shown: generic functions (``functools.singledispatch``) for which the viewer registers them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any


@functools.singledispatch
def html(shown: Any) -> str | None:
    """Return HTML of an object for a notebook, or None where nobody has registered how it looks: the notebook then shows its repr."""
    return None


@functools.singledispatch
def figure(shown: Any, path: str | Path | None = None) -> Any:
    """Return a matplotlib figure of an object; with ``path`` it is written too."""
    raise TypeError(f"nobody has registered how a {type(shown).__name__} is plotted")
