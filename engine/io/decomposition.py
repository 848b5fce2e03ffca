"""Meshes as a few convex parts, made by CoACD once and kept on disk (:mod:`engine.cache`).

CoACD 1.0.14 and V-HACD (vhacdx 0.1.1) were tried on 25 meshes, with at most 8 parts: 18 collision shapes of robots (hands, bases, shells),
a torus, a cup, a cup with holes, an L, a U, a box without a lid and an open bowl. Both gave the same bits when run again and with another
number of threads. V-HACD makes 8 parts of whatever there is, an L too, flat ones among them; CoACD makes 2 of the L and 3 of the U, to
0.1 % of their size. Of a torus V-HACD's parts fill 1.24 of the volume and reach 14 % of its size beyond it, CoACD's 7 fill 1.05 and reach
3 %; of robots' closed meshes, 9 % and 5 % (medians). V-HACD took 0.4 s to 10 s on two cores, CoACD 0.1 s to 10 s on closed meshes and 1 s
to 40 s on open ones: where holes are simple they are closed first, else CoACD takes voxels, and its parts reach about 0.6 % of the size
beyond the mesh. So closed surfaces that stand beside each other in one mesh are taken apart one by one, and points beyond a closed mesh are
put on it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine import cache
from engine.io.whole_trimesh import trimesh

if TYPE_CHECKING:
    from trimesh import Trimesh

Array = np.ndarray
#: of a mesh's size, the diagonal of its bounding box: how far its hull, or its parts, may reach beyond it, or leave of it out, and count as
#: it. The volume says less: a hollow shell fills a tenth of its hull, and touches as it does
CONVEX = 0.05
#: of it: how far a hull may reach beyond the mesh before it is taken apart: parts cost pairs of shapes, and links of arms, which reach 5 %
#: to 7 %, gain little by them; rings, hooks and cups reach 19 % and more
HULL = 0.1
#: of it: how far apart points are, at which is measured how far parts reach
SPACING = 0.05
#: for CoACD: a threshold of 0.1 is of half the longest side, about CONVEX; parts are few, as two links have as many pairs of shapes as the
#: product of theirs, but 8 leave cups, a hollow base and a wrist 5 % to 7 % of their size, and 12 no more than 4.5 %; a search of 100
#: iterations and 20 nodes takes up to twice as long, for parts that are no closer
OPTIONS: dict[str, Any] = {
    "threshold": 0.1, "max_convex_hull": 12, "decimate": True, "max_ch_vertex": 64, "mcts_iterations": 60, "mcts_nodes": 10,
    "resolution": 1000, "preprocess_resolution": 30, "seed": 0,
}  # fmt: skip
#: of its hull's volume: what a surface that was closed must enclose
HOLLOW = 1e-3
#: what the process runs
PROCESS = """
import json, sys, coacd, numpy
given, made, options = sys.argv[1:]
mesh = numpy.load(given)
coacd.set_log_level("error")
parts = coacd.run_coacd(coacd.Mesh(mesh["vertices"], mesh["faces"]), **json.loads(options))
numpy.savez(made, *[points for points, _ in parts])
"""
#: of what is kept: another where this file makes other parts of the same mesh
VERSION = 2
#: how many pairs of points and triangles are looked at at once
AT_ONCE = 2**20


class Parts(NamedTuple):
    """A mesh's convex parts: the points (n, 3), m, that each is the hull of; how far they reach beyond the mesh, and what of it sticks out
    of them at the most, both in m; and the mesh's size, m.
    """

    points: list[Array]
    beyond: float
    outside: float
    size: float

    @property
    def close(self) -> bool:
        """True if the convex parts match the mesh closely enough to stand for it."""
        return max(self.beyond, self.outside) <= CONVEX * self.size


def convex_parts(mesh: Trimesh) -> Parts:
    """Return a mesh's convex parts: all of it as one where its hull is not much more, or where CoACD is not installed, or fails.

    Of the same mesh they are the same bits in any process. What encloses no volume has none: expected is a mesh with a hull.

    >>> import trimesh
    >>> box = convex_parts(trimesh.creation.box())
    >>> len(box.points), box.beyond, box.close
    (1, 0.0, True)
    """
    v, f = np.array(mesh.vertices, dtype="<f8"), np.array(mesh.faces, dtype="<i8")
    content = hashlib.sha256(b"|".join([str(v.shape).encode(), v.tobytes(), f.tobytes()])).hexdigest()
    key = "|".join(["convex parts", str(VERSION), content, str((OPTIONS, HULL, SPACING)), library()])
    if (data := cache.load(key)) is not None:
        return unpack_parts(data)
    parts = measured(mesh, [v])
    if library() and parts.beyond > HULL * parts.size:
        if len(found := decomposed(mesh)) < 2:                                 # not kept: another time it may succeed
            return parts
        parts = measured(mesh, found)
    cache.store(key, pack_parts(parts))
    return parts


def library() -> str:
    """Return the name and version of the library that decomposes, or nothing where it is not installed."""
    try:
        return f"coacd {importlib.metadata.version('coacd')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def decomposed(mesh: Trimesh) -> list[Array]:
    """Return the points of a mesh's convex parts, of each of its closed surfaces: all of one that is about convex, else by CoACD; of the
    whole mesh, where that finds none."""
    closed, size = surfaces(mesh), extent(np.asarray(mesh.vertices))
    found = [p for one in closed for p in ([np.array(one.vertices)] if convex(one, size) else taken_apart(one))]
    most = OPTIONS["max_convex_hull"]
    return found if len(closed) > 1 and len(found) <= most else taken_apart(mesh)


def surfaces(mesh: Trimesh) -> list[Trimesh]:
    """Return the closed surfaces that a mesh consists of, without those of hollows in it: the mesh where they are more than there may be
    parts, or some are open.

    Two boxes that stand side by side:

    >>> from trimesh import creation, util
    >>> boxes = [creation.box(bounds=[[x, 0, 0], [x + 1, 1, 1]]) for x in (0, 1)]
    >>> len(surfaces(util.concatenate(boxes)))
    2
    """
    count = trimesh().graph.connected_components(mesh.face_adjacency, nodes=np.arange(len(mesh.faces)), min_len=1)
    if not 1 < len(count) <= 2 * OPTIONS["max_convex_hull"]:
        return [mesh]
    found: Any = mesh.submesh(count, append=False)
    solids = [one for one in found if one.volume > 0.0]
    return solids if all(one.is_watertight for one in found) and solids else [mesh]


def convex(mesh: Trimesh, size: float) -> bool:
    """Return whether a mesh's hull is not much more than it, of what has a ``size``, m."""
    return measured(mesh, [np.asarray(mesh.vertices)]).beyond <= HULL * size


def taken_apart(mesh: Trimesh) -> list[Array]:
    """Return the points of a mesh's convex parts, by CoACD; of the whole mesh, where that finds none.

    It runs in a process of its own: its bits then depend on nothing that ran before, and where it crashes, as it does on some torn meshes,
    nothing else does.
    """
    closed = mesh.copy()
    if not mesh.is_watertight:                                                 # one with holes takes ten times as long
        closed.fill_holes()
        with np.errstate(all="ignore"):                                        # loose triangles are closed by their backs
            sound = closed.is_volume and closed.volume > HOLLOW * closed.convex_hull.volume
        closed = closed if sound else mesh
    with tempfile.TemporaryDirectory(prefix=cache.TEMPORARY) as folder:
        given, made = os.path.join(folder, "mesh.npz"), os.path.join(folder, "parts.npz")
        np.savez(given, vertices=closed.vertices, faces=closed.faces)
        subprocess.run([sys.executable, "-c", PROCESS, given, made, json.dumps(OPTIONS)], capture_output=True, check=False)
        try:
            with np.load(made) as file:
                found = [file[f"arr_{k}"] for k in range(len(file.files))]
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):            # it crashed, even while it wrote
            found = []
    found = [p for p in found if solid(p)]
    return [put_back(p, closed) for p in found] or [np.asarray(mesh.vertices)]


def put_back(points: Array, mesh: Trimesh) -> Array:
    """Return the points (n, 3) of a part of a mesh, those that are beyond it put on its surface; all as they are where that is open, as
    windings tell, or would leave a flat part."""
    triangles, size = np.asarray(mesh.triangles), extent(np.asarray(mesh.vertices))
    on = nearest(points, triangles)
    winds, away = np.abs(winding(points, triangles)), np.linalg.norm(on - points, axis=1) > 1e-6 * size
    moved = np.where((away & (winds < 0.5))[:, None], on, points)
    closed = np.abs(winds - np.round(winds))[away].max(initial=0.0) < 1e-3
    return moved if closed and solid(moved) else points


def extent(v: Array) -> float:
    """Return the size of points (n, 3): the diagonal of the box around them."""
    return float(np.linalg.norm(np.ptp(v, axis=0)))


def solid(points: Array) -> bool:
    """Return whether points (n, 3) enclose a volume."""
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return len(points) > 3 and bool(spread[2] > 1e-6 * spread[0])


# ---------------------------------------------------------------- how close they are


def measured(mesh: Trimesh, points: list[Array]) -> Parts:
    """Return parts with how far they reach beyond the mesh, and leave of it out."""
    v, triangles = np.asarray(mesh.vertices), np.asarray(mesh.triangles)
    size = extent(v)
    hulls = [trimesh().convex.convex_hull(p) for p in points]
    planes = [np.column_stack([h.face_normals, -np.einsum("ij,ij->i", h.face_normals, h.triangles[:, 0])]) for h in hulls]
    surface = []
    for k, hull in enumerate(hulls):
        x = spread(np.asarray(hull.triangles), SPACING * size)
        others = [p for m, p in enumerate(planes) if m != k]
        surface.append(x[depth(x, others) > -1e-9 * size] if others else x)
    x = np.concatenate(surface)
    sticks = float(max(depth(v, planes).max(), 0.0)) if len(points) > 1 else 0.0
    return Parts(points, farthest_outside(x, triangles, size), sticks, size)


def depth(x: Array, planes: list[Array]) -> Array:
    """Return how far points (n, 3) lie beyond the farthest of the planes (m, 4) of a convex part; of several, the least."""
    least = np.full(len(x), np.inf)
    for p in planes:
        step = max(1, AT_ONCE // len(p))
        far = [(y @ p[:, :3].T + p[:, 3]).max(axis=1) for y in (x[s : s + step] for s in range(0, len(x), step))]
        least = np.minimum(least, np.concatenate(far))
    return least


def spread(triangles: Array, spacing: float) -> Array:
    """Return points (n, 3) all over triangles (m, 3, 3), none of which is much farther from the next one than a spacing.

    They are the centres of the equal triangles that each is cut into, one of those that are closer.

    >>> spread(np.array([[[0, 0, 0], [3, 0, 0], [0, 3, 0.0]]]), 10.0)
    array([[1., 1., 0.]])
    """
    sides = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max(axis=1)
    cuts = np.maximum(1, np.ceil(sides / spacing)).astype(int)
    found = []
    for n in np.unique(cuts):
        i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n)))
        upright, turned = i + j < n, i + j < n - 1
        a = np.concatenate([np.stack([i, j], axis=1)[upright] + 1 / 3, np.stack([i, j], axis=1)[turned] + 2 / 3]) / n
        found.append((np.column_stack([1.0 - a.sum(axis=1), a]) @ triangles[cuts == n]).reshape(-1, 3))
    x = np.concatenate(found)
    _, first = np.unique(np.round(x / (0.5 * spacing)), axis=0, return_index=True)
    return x[np.sort(first)]


def farthest_outside(x: Array, triangles: Array, size: float) -> float:
    """Return the greatest distance from a surface of those of points (n, 3) that lie outside of it."""
    d = distances(x, triangles)
    order = np.argsort(-d)
    order = order[d[order] > 1e-9 * size]
    for s in range(0, len(order), 32):
        some = order[s : s + 32]
        out = np.abs(winding(x[some], triangles)) < 0.5
        if out.any():
            return float(d[some][out].max())
    return 0.0


def distances(x: Array, triangles: Array) -> Array:
    """Return the distances of points (n, 3) from the nearest of triangles (m, 3, 3)."""
    return np.asarray(np.linalg.norm(nearest(x, triangles) - x, axis=1))


def nearest(x: Array, triangles: Array) -> Array:
    """Return the points of triangles (m, 3, 3) that are nearest to points (n, 3).

    trimesh takes what is below 1e-8 for nothing, so all is seen about one in size:

    >>> triangle = 1e-4 * np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]])
    >>> nearest(1e-4 * np.array([[1, 1, 1.0]]), triangle)
    array([[5.e-05, 5.e-05, 0.e+00]])
    """
    unit = 2.0 ** np.round(np.log2(extent(triangles.reshape(-1, 3))))
    x, triangles = x / unit, triangles / unit
    center = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - center[:, None], axis=2).max(axis=1)
    found = np.empty((len(x), 3))
    step = max(1, AT_ONCE // len(triangles))
    for s in range(0, len(x), step):
        p = x[s : s + step]
        far = np.linalg.norm(p[:, None] - center, axis=2)
        i, j = np.nonzero(far - reach <= far.min(axis=1)[:, None])             # no other triangle can be nearer than a center is
        on = trimesh().triangles.closest_point(triangles[j], p[i])
        order = np.lexsort((np.linalg.norm(on - p[i], axis=1), i))
        found[s : s + step] = on[order[np.unique(i[order], return_index=True)[1]]]
    return unit * found


def winding(x: Array, triangles: Array) -> Array:
    """Return how often a surface winds about points (n, 3): 0 outside, ±1 inside, in between where it has holes (Jacobson et al., 2013).

    tan(Ω/2) = a · (b × c) / (|a||b||c| + a · b |c| + b · c |a| + c · a |b|) is the solid angle of a triangle, seen from a point.
    """
    total = np.zeros(len(x))
    step = max(1, AT_ONCE // len(triangles))
    for s in range(0, len(x), step):
        a, b, c = np.moveaxis(triangles - x[s : s + step, None, None], 2, 0)
        p, q, r = (np.linalg.norm(y, axis=2) for y in (a, b, c))
        ab, bc, ca = (np.einsum("...i,...i", y, z) for y, z in ((a, b), (b, c), (c, a)))
        volume = np.einsum("...i,...i", a, np.cross(b, c))
        total[s : s + step] = np.arctan2(volume, p * q * r + ab * r + bc * p + ca * q).sum(axis=1) / (2.0 * np.pi)
    return total


# ---------------------------------------------------------------- on disk


def pack_parts(parts: Parts) -> bytes:
    """Return parts as bytes: three lengths, the number of parts, that of each one's points, and the points."""
    numbers = [parts.beyond, parts.outside, parts.size, len(parts.points), *(len(p) for p in parts.points)]
    return np.concatenate([numbers, *(p.ravel() for p in parts.points)]).astype("<f8").tobytes()


def unpack_parts(data: bytes) -> Parts:
    """Return what :func:`pack_parts` made bytes of.

    >>> unpack_parts(pack_parts(Parts([np.eye(3), np.ones((2, 3))], 1.0, 2.0, 3.0))).points[1]
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    x = np.frombuffer(data, "<f8").astype(float)
    n = int(x[3])
    counts = x[4 : 4 + n].astype(int)
    points = np.split(x[4 + n :].reshape(-1, 3), np.cumsum(counts)[:-1])
    return Parts(points, *map(float, x[:3]))
