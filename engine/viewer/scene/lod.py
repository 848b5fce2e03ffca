"""Stand-ins with fewer triangles, for where a surface is seen small and for its shadow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.scene.surface import Surface, boxed
from engine.viewer.scene.triangles import area_of, distinct, packed, smoothed, welded

Array = np.ndarray
#: how quickly edges are given up: 0 keeps the shape best, 10 is quickest
GENTLE, HARSH = 2.0, 7.0
#: share of the area that is left of a surface that is not torn
KEPT = 0.8
#: triangles that only what is seen very small is asked to do with
FEW = 100


def decimated(surface: Surface, triangles: int) -> Surface:
    """Return a surface of about so many triangles, by edges collapsed where that changes its shape least (quadric error metrics); of less
    than a box has, the box about it.

    Surfaces with a texture or colours of vertices are returned as they are or as a box, and so are those with no more triangles.
    """
    import fast_simplification

    if triangles < 12:
        return boxed(surface)
    if surface.texture is not None or surface.colors is not None or len(surface.faces) <= triangles:
        return surface
    place = welded(surface.positions)
    points = np.zeros((int(place.max()) + 1, 3), np.float32)
    points[place] = surface.positions
    faces = place[surface.faces].astype(np.int32)
    p, f = fast_simplification.simplify(points, faces, target_count=triangles, agg=GENTLE)
    if len(f) >= 1.5 * triangles:                               # it gave up before it was there; the harsh way may tear what has many parts
        fewer = fast_simplification.simplify(p, f, target_count=triangles, agg=HARSH)
        if len(fewer[1]) < 1.5 * triangles and area_of(*fewer) > KEPT * area_of(p, f):
            p, f = fewer
    if len(f) > 3 * triangles and triangles <= FEW:             # many small parts, of which none can do with less
        return boxed(surface)
    normals = smoothed(p, f, f).reshape(-1, 3)
    first, vertex = distinct(f.reshape(-1).astype(np.int64), packed(normals, -1.0, 1e-3, 12))
    return replace(surface, positions=p[f.reshape(-1)[first]].astype(np.float32), normals=normals[first].astype(np.float32),
                   faces=vertex.reshape(-1, 3).astype(np.uint32), uv=None)  # fmt: skip
