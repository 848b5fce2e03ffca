"""Stand-ins with fewer triangles, for where a surface is seen small and for its shadow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.surface import Surface
from engine.viewer.triangles import distinct, packed, smoothed, welded

Array = np.ndarray
#: how quickly edges are given up: 0 keeps the shape best, 10 is quickest
AGGRESSION = 2.0


def decimated(surface: Surface, triangles: int) -> Surface:
    """A surface of about so many triangles, by edges collapsed where that changes its shape least (quadric error metrics).

    Surfaces with a texture or colours of vertices, and those with no more triangles, are returned as they are.
    """
    import fast_simplification

    if surface.texture is not None or surface.colors is not None or len(surface.faces) <= triangles:
        return surface
    place = welded(surface.positions)
    points = np.zeros((int(place.max()) + 1, 3), np.float32)
    points[place] = surface.positions
    faces = place[surface.faces].astype(np.int32)
    points, faces = fast_simplification.simplify(points, faces, target_count=triangles, agg=AGGRESSION)
    normals = smoothed(points, faces, faces).reshape(-1, 3)
    first, vertex = distinct(faces.reshape(-1).astype(np.int64), packed(normals, -1.0, 1e-3, 12))
    return replace(surface, positions=points[faces.reshape(-1)[first]].astype(np.float32), normals=normals[first].astype(np.float32),
                   faces=vertex.reshape(-1, 3).astype(np.uint32), uv=None)  # fmt: skip
