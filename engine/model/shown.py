"""Display of models and trajectories in notebooks: generic functions (``functools.singledispatch``) that the viewer fills."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: what loads a room that registers how things are shown; it is called when that is first asked for
SHOWN_BY: list[Callable[[], Any]] = []


def registered(of: Any, shown: Any) -> Any:
    """Return what is registered for an object's type once all that registers something is loaded; None where nothing is."""
    for load in SHOWN_BY:
        load()
    found = of.dispatch(type(shown))
    return None if found is of.dispatch(object) else found


@functools.singledispatch
def html(shown: Any) -> str | None:
    """Return HTML of an object for a notebook, or None where nobody has registered how it looks: the notebook then shows its repr."""
    found = registered(html, shown)
    return None if found is None else found(shown)


@functools.singledispatch
def figure(shown: Any, path: str | Path | None = None) -> Any:
    """Return a matplotlib figure of an object; with ``path`` it is written too."""
    if (found := registered(figure, shown)) is None:
        raise TypeError(f"nobody has registered how a {type(shown).__name__} is plotted")
    return found(shown, path)
