"""Levels of detail: decimated meshes, for where a surface is seen small and for its shadow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.scene.kept_arrays import kept
from engine.viewer.scene.lod_check import torn
from engine.viewer.scene.surface import Surface, boxed
from engine.viewer.scene.triangles import crossed, distinct, packed, smoothed, welded

Array = np.ndarray
#: how quickly edges are given up: 0 keeps the shape best, 10 is quickest; and in what share of what is seen the result may differ then,
#: of which maps of one surface by other points have a hundredth
GENTLE, HARSHER = 2.0, ((3.0, 0.07), (7.0, 0.02))
#: triangles that only what is seen very small is asked to do with
FEW = 100
#: how high the strips on a surface's edges are, of its size
STRIP = 0.05
#: how far edges may stray, of a surface's size, at how many of their places that is looked at
EDGE, PLACES = 0.03, 60


def simplified(points: Array, faces: Array, triangles: int) -> tuple[Array, Array]:
    """Return points and faces of about so many triangles.

    Where a surface ends, such as at another material, whose edge must stay beside its own, a strip upright on its edge is simplified with
    it: to move the edge aside is then as wrong as to move a crease. The strips are left out again.
    """
    own, count = strips(points, faces)
    share = 1.0 + count / len(faces) if count else 1.0
    p, f = hasty(*own, int(triangles * share))
    if not count:
        return p, f
    ends = np.zeros(len(p), bool)
    ends[rim(f)] = True                                         # the strips' outer edges
    kept = f[~ends[f].any(axis=1)]
    if len(kept) and (off := strays(points, faces, p, kept)) < EDGE:
        return p, kept
    plain = hasty(points, faces, triangles)
    return (p, kept) if len(kept) and off < strays(points, faces, *plain) else plain


def true_to_edges(points: Array, faces: Array, triangles: int) -> tuple[Array, Array]:
    """Return points and faces of about so many triangles, or of more where a surface's edges would stray from where they are."""
    p, f = points, faces
    for count in (triangles * k for k in (1, 3, 9)):
        if count >= len(faces):
            return points, faces
        p, f = simplified(points, faces, count)
        if strays(points, faces, p, f) < EDGE:
            break
    return p, f


def hasty(points: Array, faces: Array, triangles: int) -> tuple[Array, Array]:
    """Return points and faces of about so many triangles."""
    import fast_simplification

    p, f = fast_simplification.simplify(points, faces, target_count=triangles, agg=GENTLE)
    for way, share in HARSHER:                                        # it gave up before it was there; a harsh way may tear what is thin
        if len(f) < 1.5 * triangles:
            break
        fewer = fast_simplification.simplify(points, faces, target_count=triangles, agg=way)
        if torn(points, faces, *fewer) > share:
            break
        p, f = fewer
    return p, f


def strays(points: Array, faces: Array, p: Array, f: Array) -> float:
    """Return how far some places on a surface's edges are from those of its stand-in, at most, of its size."""
    seam, (ends, sides) = points[rim(faces)[:, 0]], (lambda e: (p[e[:, 0]], p[e[:, 1]] - p[e[:, 0]]))(rim(f))
    if not len(seam) or not len(ends):
        return 0.0 if not len(seam) else 1.0
    seam = seam[:: -(-len(seam) // PLACES)]
    along = np.einsum("kij,ij->ki", seam[:, None] - ends, sides) / np.maximum((sides * sides).sum(axis=1), 1e-30)
    off = ends + np.clip(along, 0.0, 1.0)[..., None] * sides - seam[:, None]
    return float(np.sqrt((off * off).sum(axis=-1).min(axis=1).max()) / np.ptp(points, axis=0).max())


def rim(faces: Array) -> Array:
    """Return the edges (n, 2) that only one face has."""
    half = edges(faces)
    key = half.min(axis=1).astype(np.int64) * (int(faces.max(initial=0)) + 1) + half.max(axis=1)
    _, at, often = np.unique(key, return_inverse=True, return_counts=True)
    return half[often[at] == 1]


def edges(faces: Array) -> Array:
    """Return the ends (3 m, 2) of the sides of faces (m, 3)."""
    return faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def strips(points: Array, faces: Array) -> tuple[tuple[Array, Array], int]:
    """Return points and faces with strips upright on the edges that only one face has, and how many faces these are."""
    (a, b), normals = (border := rim(faces)).T, np.zeros((0, 3))
    if not len(border):
        return (points, faces), 0
    keys = [x[:, 0].astype(np.int64) * len(points) + x[:, 1] for x in (edges(faces), border)]
    normals = np.repeat(crossed(points, faces), 3, axis=0)[np.isin(*keys)]
    up = np.zeros_like(points)
    for end in (a, b):
        np.add.at(up, end, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30))
    there = np.unique(np.concatenate([a, b]))
    height = STRIP * np.ptp(points, axis=0).max()
    raised = points[there] + height * up[there] / np.maximum(np.linalg.norm(up[there], axis=1, keepdims=True), 1e-30)
    above = np.zeros(len(points), np.int32)
    above[there] = len(points) + np.arange(len(there))
    wall = np.concatenate([np.column_stack([b, a, above[a]]), np.column_stack([b, above[a], above[b]])]).astype(np.int32)
    return (np.concatenate([points, raised]).astype(np.float32), np.concatenate([faces, wall])), len(wall)


def decimated(surface: Surface, triangles: int, edged: bool = False) -> Surface:
    """Return a surface of about so many triangles, by edges collapsed where that changes its shape least (quadric error metrics); of less
    than a box has, the box about it.

    With ``edged`` it takes more triangles where its edges, beside another material, would stray. Surfaces with a texture or
    colours of vertices are returned as they are or as a box, and so are those with no more triangles.
    """
    if triangles < 12:
        return boxed(surface)
    if surface.texture is not None or surface.colors is not None or len(surface.faces) <= triangles:
        return surface
    positions, normals, faces = coarser(surface.positions, surface.faces, triangles, edged)
    if not len(faces):                                          # many small parts, of which none can do with less
        return boxed(surface)
    return replace(surface, positions=positions, normals=normals, faces=faces, uv=None)


@kept
def coarser(positions: Array, faces: Array, triangles: int, edged: bool) -> tuple[Array, Array, Array]:
    """Return positions, normals and faces of about so many triangles; of none, where a few would be far too many."""
    place = welded(positions)
    points = np.zeros((int(place.max()) + 1, 3), np.float32)
    points[place] = positions
    whole = place[faces].astype(np.int32)
    p, f = true_to_edges(points, whole, triangles) if edged else hasty(points, whole, triangles)
    if len(f) > 3 * triangles and triangles <= FEW:
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), np.zeros((0, 3), np.uint32)
    normals = smoothed(p, f, f).reshape(-1, 3)
    first, vertex = distinct(f.reshape(-1).astype(np.int64), packed(normals, -1.0, 1e-3, 12))
    return p[f.reshape(-1)[first]].astype(np.float32), normals[first].astype(np.float32), vertex.reshape(-1, 3).astype(np.uint32)
