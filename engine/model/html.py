"""HTML for notebooks: a generic function (``functools.singledispatch``) for which the viewer registers models and trajectories."""

from __future__ import annotations

import functools
from typing import Any


@functools.singledispatch
def html(shown: Any) -> str | None:
    """Return HTML of an object, or None where nobody has registered how it looks: a notebook then shows its repr."""
    return None
