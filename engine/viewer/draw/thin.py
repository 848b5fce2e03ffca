"""Lines that are thinner than a pixel: drawn a pixel wide, and as much fainter, so that none breaks up into dashes or flickers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.scene.drawing import Drawing, measure

Array = np.ndarray
#: px that a line is drawn wide, at least; instances, above which nobody looks at single lines; how much longer than wide a line is
WIDE, MANY, LONG = 1.3, 5000, 8.0
#: of an edge's length: what is seen of it where it is as good as edge-on
EDGE_ON = 0.03


def widened(drawing: Drawing, pixels: Array, axes: Array) -> Drawing:
    """Return the drawing with its sub-pixel lines widened: boxes and cylinders that are seen less than a pixel wide, and far longer;
    ``pixels`` (n) are those to the metre at every instance, ``axes`` (3, 3) the camera's right, up and back as columns."""
    if not 0 < len(drawing.which) <= MANY:
        return drawing
    boxes = np.array([measure(s).box for s in drawing.surfaces]).reshape(-1, 2, 3)
    names = np.array([s.name for s in drawing.surfaces])[drawing.which]
    plain = np.flatnonzero(np.isin(names, ("box", "cylinder", "capsule")) & (drawing.numbers > 0))
    if not len(plain):
        return drawing
    which, turned = drawing.which[plain], drawing.poses[plain, :3, :3]
    edges = turned * np.ptp(boxes, axis=1)[which, None] * pixels[plain, None, None]
    across, flat = np.linalg.norm(edges, axis=1), names[plain] == "box"
    seen, wide = aslant(axes[:, :2].T @ edges)
    seen = np.where(flat[:, None], seen, across)                               # what is round is as wide from all sides
    sides = np.sort(across, axis=1)
    width, length = np.where(flat, wide.sum(axis=1), sides[:, 1]), np.where(flat, seen.max(axis=1), sides[:, 2])
    thin = np.flatnonzero((width < WIDE) & (length > LONG * width) & (length > LONG))
    if not len(thin):
        return drawing
    grown = np.where(across <= sides[:, 1:2], np.maximum(WIDE / np.maximum(across, 1e-9), 1.0), 1.0)
    broad = np.where(wide > EDGE_ON * across, across, 0.0) + 1e-3 * wide       # strips widen within what they lie on, and not out of it
    chosen = np.eye(3, dtype=bool)[broad.argmax(axis=1)]
    own = (WIDE - wide.sum(axis=1)[:, None] + wide) / np.maximum(wide, 1e-9)
    grown = np.where(flat[:, None], np.where(chosen, own, 1.0), grown)[thin]
    poses, colors = drawing.poses.copy(), drawing.colors.copy()
    middle, thin_ones = boxes.mean(axis=1)[which[thin]], plain[thin]
    poses[thin_ones, :3, 3] += np.einsum("nij,nj->ni", turned[thin], middle * (1.0 - grown))
    poses[thin_ones, :3, :3] *= grown[:, None]
    colors[thin_ones, 3] *= np.clip(width[thin] / WIDE, 0.12, 1.0)
    return replace(drawing, poses=poses, colors=colors)


def aslant(edges: Array) -> tuple[Array, Array]:
    """Return how long the edges of boxes are seen (n, 3), and by how much each makes its box wider than a line (n, 3), of the edges as
    columns (n, 2, 3) in the picture's plane.

    >>> seen, wide = aslant(np.array([[[9.0, 0.0, 0.0], [0.0, 0.5, 0.2]]]))
    >>> seen[0].tolist(), wide[0].tolist()
    ([9.0, 0.5, 0.2], [0.0, 0.5, 0.2])
    """
    seen = np.linalg.norm(edges, axis=1)
    along = np.take_along_axis(edges, seen.argmax(axis=1)[:, None, None], axis=2)[..., 0] / np.maximum(seen.max(axis=1), 1e-9)[:, None]
    return seen, np.abs(along[:, :1] * edges[:, 1] - along[:, 1:] * edges[:, 0])
