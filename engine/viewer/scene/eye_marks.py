"""Marks of sensors that cast rays: what they see as points, and the outline of a camera's field of view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.sensors import Eye
from engine.viewer.scene.quantities import Quantities
from engine.viewer.scene.sources import Source, States
from engine.viewer.scene.symbols import Symbols, chain, dot, placed

Array = np.ndarray
OUTLINE, RAY, NEAR, FAR = (1.0, 0.80, 0.20, 1.0), (1.0, 0.45, 0.15, 0.55), (1.0, 0.55, 0.10), (0.12, 0.35, 0.95)
#: rays of a sensor, up to which they are drawn as lines; points of one, at most; of the robot's size, a point's radius, and pixels' share
FEW, MOST_POINTS, POINT, PIXEL = 32, 6000, 0.004, 0.35


def show_eyes(symbols: Symbols, source: Source, known: Quantities, now: States, poses: Array, eyes: Sequence[Eye]) -> None:
    """Add what sensors on one robot see where it is now, cast anew, without errors."""
    for eye in eyes:
        T = poses[:, source.model.link_index(eye.link)] @ eye.placement
        readings = eye.look(source.model, now.q, source.ground).reshape(len(T), -1)
        for pose, far in zip(T, readings, strict=True):
            show_eye(symbols, eye, pose, far, POINT * known.whole)


def show_eye(symbols: Symbols, eye: Eye, T: Array, readings: Array, radius: float) -> None:
    """Add what one sensor at a pose T (4, 4) sees, its readings (n)."""
    met = np.flatnonzero(readings < eye.far)
    met = met[:: -(-len(met) // MOST_POINTS) or 1]
    ends = (eye.rays[met] * readings[met, None]) @ T[:3, :3].T + T[:3, 3]
    low, high = (float(x) for x in (readings[met].min(), readings[met].max())) if len(met) else (0.0, 1.0)
    share = (readings[met] - low) / max(high - low, 1e-9)
    colors = np.column_stack([(1.0 - share[:, None]) * NEAR + share[:, None] * FAR, np.ones(len(met))])
    radii = np.minimum(radius, PIXEL * eye.step * readings[met]) if eye.step else np.full(len(met), radius)
    symbols.place(dot(), placed(np.eye(3)[None], ends, [radii] * 3), colors)
    if len(readings) <= FEW:
        symbols.lines(np.stack([np.broadcast_to(T[:3, 3], ends.shape), ends], axis=1), RAY, 1.5)
    if len(outline := eye.outline):
        corners = (outline * high) @ T[:3, :3].T + T[:3, 3]
        symbols.lines(np.stack([np.broadcast_to(T[:3, 3], corners.shape), corners], axis=1), OUTLINE, 1.5)
        symbols.lines(chain(np.concatenate([corners, corners[:1]])), OUTLINE, 1.5)
