"""Range sensors as ROS 2 messages: Range of one ray, LaserScan of a fan of equal angles, PointCloud2 of all others.

A reading of ``far``, which engines have where there is nothing, is +∞ there, by ROS's REP 117; a cloud's point has no numbers then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.logs.flight import Distances

Array = np.ndarray
RANGE, SCAN, CLOUD = "range", "scan", "points"
#: of Range: light, as other than sound; of a PointField: float32
INFRARED, FLOAT32 = 1, 7
#: rad, by which angles of a fan may differ from equal ones, which are floats there
EQUAL = 1e-6


def kind_of(x: Distances) -> str:
    """Return which message has these distances.

    >>> fan = np.linspace(-1.0, 1.0, 5)
    >>> kind_of(Distances("eye", np.ones((2, 1, 5)), 0.1, 9.0, fan, np.zeros(1))), kind_of(Distances("eye", np.ones((2, 1, 1)), 0.1, 9.0))
    ('scan', 'range')
    """
    if x.azimuths is None or x.elevations is None:
        return RANGE
    even = np.linspace(x.azimuths[0], x.azimuths[-1], len(x.azimuths))
    return SCAN if len(even) > 1 and x.elevations.tolist() == [0.0] and np.abs(x.azimuths - even).max() < EQUAL else CLOUD


def distances(x: Distances, k: Array) -> dict[str, Any]:
    """Return what messages say of states k (T), without their headers."""
    kind, read = kind_of(x), np.where(x.distance[k] >= x.far, np.inf, x.distance[k])
    if kind == RANGE:
        return {"radiation_type": INFRARED, "field_of_view": 0.0, "min_range": x.near, "max_range": x.far, "range": read[:, 0, 0]}
    if kind == CLOUD:
        return cloud(x, read)
    a = x.azimuths
    assert a is not None
    return {"angle_min": float(a[0]), "angle_max": float(a[-1]), "angle_increment": float((a[-1] - a[0]) / (len(a) - 1)),
            "time_increment": 0.0, "scan_time": 0.0, "range_min": x.near, "range_max": x.far, "ranges": read[:, 0],
            "intensities": []}  # fmt: skip


def cloud(x: Distances, read: Array) -> dict[str, Any]:
    """Return the points (T, m, n) that rays reach, in the axes of the frame."""
    assert x.azimuths is not None and x.elevations is not None
    a, e = x.azimuths[None], x.elevations[:, None]
    ahead, there = np.cos(e), np.isfinite(read)
    rays = np.stack(np.broadcast_arrays(ahead * np.cos(a), ahead * np.sin(a), np.sin(e)), axis=-1)
    points = np.where(there[..., None], np.where(there, read, 0.0)[..., None] * rays, np.nan).astype("<f4")
    many, rows, columns = read.shape
    fields = [{"name": n, "offset": 4 * c, "datatype": FLOAT32, "count": 1} for c, n in enumerate("xyz")]
    return {"height": rows, "width": columns, "fields": fields, "is_bigendian": False, "point_step": 12, "row_step": 12 * columns,
            "data": points.reshape(many, -1).view(np.uint8), "is_dense": there.all(axis=(1, 2))}  # fmt: skip
