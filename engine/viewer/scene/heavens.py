"""The heavens around a robot in space: a catalogue of stars, and how the Earth lies where nobody says: straight down is −z."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
#: how far the limb of the Earth lies below the horizontal, rad: an orbit 1100 km high
DIP = 0.55
#: how far the air is seen beyond the limb, rad
AIR = 0.06
STARS = 3600
#: texels along the side of what is finer than the map of the Earth
GRAIN = 512


def stars(n: int) -> tuple[Array, Array]:
    """Return unit vectors to n stars (n, 3) and their light (n, 3), linear red, green, blue: always the same.

    Two of five lie near a great circle, as in the Milky Way. A star is k times as bright as another where there are k^1.5 times as many
    as bright as that one.
    """
    rng = np.random.default_rng(1609)
    toward = rng.standard_normal((n, 3))
    toward[: 2 * n // 5, 2] *= 0.16
    toward /= np.linalg.norm(toward, axis=1)[:, None]
    pole, node = np.array([0.42, -0.58, 0.70]), np.array([0.81, 0.58, 0.0])
    z = pole / np.linalg.norm(pole)
    x = np.cross(node, z) / np.linalg.norm(np.cross(node, z))
    toward = toward @ np.stack([x, np.cross(z, x), z])
    bright = np.minimum(0.05 * (1.0 - rng.random(n)) ** (-1 / 1.5), 3.0)
    bright[: 2 * n // 5] *= 0.8
    warm = np.clip(0.5 + 0.25 * rng.standard_normal((n, 1)), 0.0, 1.0)
    tint = (1.0 - warm) * [0.72, 0.84, 1.0] + warm * [1.0, 0.88, 0.70]
    return toward, bright[:, None] * tint
