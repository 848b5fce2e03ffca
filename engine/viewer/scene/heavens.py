"""The heavens around a robot in an orbit: a catalogue of stars, the Earth's pattern and where it lies. Straight down is −z."""

from __future__ import annotations

import functools

import numpy as np

Array = np.ndarray
#: how far the limb of the Earth lies below the horizontal, rad: an orbit 1100 km high
DIP = 0.55
#: how far the air is seen beyond the limb, rad
AIR = 0.06
CORNERS = 24
STARS = 3600
#: texels along the side of the Earth's pattern, which covers all that is seen of it
PATTERN = 768


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


@functools.cache
def pattern(n: int) -> Array:
    """Return the Earth from above, (n, n, 4), uint8: the square root of its albedo, red, green, blue, and how much of it is water;
    periodic, and always the same: made once, to be read alone."""
    rng = np.random.default_rng(1968)
    f = np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)).astype(np.float32) * n
    f[0, 0] = np.inf

    def noise(steep: float, lowest: float) -> Array:
        """Return noise of mean 0 and variance 1 whose amplitude falls with the frequency f as f^−steep, from the lowest on."""
        phases = np.fft.rfft2(rng.standard_normal((n, n), np.float32))
        x = np.fft.irfft2(phases * np.maximum(f, lowest) ** -steep * (f > 0.6 * lowest), (n, n))
        return x / x.std()

    def step(x: Array, low: float, high: float) -> Array:
        """Return 0 below, 1 above, and a smooth step between."""
        x = np.clip((x - low) / (high - low), 0.0, 1.0)
        return x * x * (3.0 - 2.0 * x)

    def mixed(x: Array, a: Array, b: Array) -> Array:
        return a + x[..., None] * (b - a)

    weather, fine = noise(2.0, 3.0), noise(1.3, 10.0)
    # the wind, along the lines of equal pressure, draws the clouds out
    along = np.stack(np.gradient(noise(2.6, 5.0)))[::-1] * np.array([1.0, -1.0])[:, None, None] * n
    at = np.indices((n, n))
    streaks = sum(fine[tuple(np.round(at + k * along * n / 40000.0).astype(int) % n)] for k in (-1.0, -0.5, 0.0, 0.5, 1.0)) / 2.5
    cloud = 0.95 * step(0.8 * weather + 0.55 * streaks + 0.25 * fine, 0.15, 2.0)
    land = step(noise(1.9, 3.0), 0.38, 0.46)
    dry = step(noise(1.8, 6.0), -0.4, 1.4)
    water = np.array([0.010, 0.034, 0.080])
    soil = mixed(dry, np.array([0.050, 0.075, 0.040]), np.array([0.190, 0.150, 0.095]))
    albedo = mixed(cloud, mixed(land, water, soil), np.array([0.80, 0.82, 0.84]))
    made = np.round(255 * np.dstack([np.sqrt(albedo), (1.0 - land) * (1.0 - cloud)])).astype(np.uint8)
    made.flags.writeable = False
    return made
