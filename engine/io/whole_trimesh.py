"""The package trimesh, imported whole: it catches whatever comes while it tries what it can do without, and so would swallow Ctrl-C."""

from __future__ import annotations

import functools
from typing import Any

from engine.interrupts import held


@functools.cache
def trimesh() -> Any:
    """Return the package, with the parts of it that are used here."""
    with held():
        import trimesh
        import trimesh.convex
        import trimesh.creation
        import trimesh.triangles
        import trimesh.visual.material
    return trimesh
