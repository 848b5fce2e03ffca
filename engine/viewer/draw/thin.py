"""Lines that are thinner than a pixel: drawn a pixel wide, and as much fainter, so that none breaks up into dashes or flickers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.viewer.scene.drawing import Drawing, measure

Array = np.ndarray
#: px that a line is drawn wide, at least; instances, above which nobody looks at single lines; how much longer than wide a line is
WIDE, MANY, LONG = 1.3, 5000, 8.0


def widened(drawing: Drawing, pixels: Array) -> Drawing:
    """Return the drawing with its sub-pixel lines widened: boxes and cylinders whose second longest side is less than a pixel and far
    less than the longest; ``pixels`` (n) are those to the metre at every instance."""
    if not 0 < len(drawing.which) <= MANY:
        return drawing
    boxes = np.array([measure(s).box for s in drawing.surfaces]).reshape(-1, 2, 3)
    plain = np.array([s.name in ("box", "cylinder", "capsule") for s in drawing.surfaces], bool)[drawing.which]
    if not plain.any():
        return drawing
    turned = drawing.poses[:, :3, :3]
    across = np.ptp(boxes, axis=1)[drawing.which] * np.linalg.norm(turned, axis=1) * pixels[:, None]
    sides = np.sort(across, axis=1)
    thin = np.flatnonzero(plain & (drawing.numbers > 0) & (sides[:, 1] < WIDE) & (sides[:, 2] > LONG * sides[:, 1]) & (sides[:, 2] > LONG))
    if not len(thin):
        return drawing
    grown = np.where(across[thin] <= sides[thin, 1:2], np.maximum(WIDE / np.maximum(across[thin], 1e-9), 1.0), 1.0)
    poses, colors = drawing.poses.copy(), drawing.colors.copy()
    middle = boxes.mean(axis=1)[drawing.which[thin]]
    poses[thin, :3, 3] += np.einsum("nij,nj->ni", turned[thin], middle * (1.0 - grown))
    poses[thin, :3, :3] *= grown[:, None]
    colors[thin, 3] *= np.clip(sides[thin, 1] / WIDE, 0.12, 1.0)
    return replace(drawing, poses=poses, colors=colors)
