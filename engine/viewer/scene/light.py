"""The light of each environment: for the window's renderer and for the page's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


def unit(x: Any) -> Array:
    """Return x / ‖x‖."""
    return np.asarray(x, float) / np.linalg.norm(x)


@dataclass(frozen=True)
class Light:
    """The light of an environment, linear colours: unit vectors to a key and a fill light, world axes; the sky's from above, the ground's
    from below; what is seen at the horizon and overhead."""

    key: Array
    key_color: tuple[float, float, float]
    fill: Array
    fill_color: tuple[float, float, float]
    sky_color: tuple[float, float, float]
    ground_color: tuple[float, float, float]
    horizon: tuple[float, float, float]
    zenith: tuple[float, float, float]


DAY = Light(unit([0.45, -0.6, 0.95]), (1.55, 1.48, 1.36), unit([-0.7, 0.6, 0.25]), (0.20, 0.24, 0.30),
            (0.62, 0.68, 0.78), (0.26, 0.24, 0.22), (0.78, 0.82, 0.86), (0.30, 0.42, 0.60))  # fmt: skip
SPACE = Light(unit([0.5, -0.65, 0.6]), (2.3, 2.25, 2.15), unit([-0.5, 0.5, -0.6]), (0.16, 0.20, 0.28),
              (0.14, 0.15, 0.18), (0.10, 0.14, 0.20), (0.004, 0.005, 0.009), (0.002, 0.003, 0.006))  # fmt: skip
PLAIN = Light(DAY.key, DAY.key_color, DAY.fill, DAY.fill_color, DAY.sky_color, (0.45, 0.45, 0.45), (0.93, 0.93, 0.93), (0.93, 0.93, 0.93))
STUDIO = Light(unit([0.5, -0.6, 0.9]), (1.9, 1.85, 1.75), unit([-0.7, 0.5, 0.35]), (0.35, 0.45, 0.62),
               (0.30, 0.33, 0.38), (0.06, 0.06, 0.07), (0.016, 0.018, 0.022), (0.004, 0.005, 0.007))  # fmt: skip
MARS = Light(DAY.key, (1.5, 1.32, 1.10), DAY.fill, (0.24, 0.18, 0.14), (0.55, 0.43, 0.33), (0.36, 0.20, 0.11),
             (0.72, 0.52, 0.36), (0.42, 0.28, 0.19))  # fmt: skip
MOON = Light(unit([0.7, -0.5, 0.45]), (2.2, 2.15, 2.05), DAY.fill, (0.05, 0.05, 0.06),
             (0.05, 0.05, 0.055), (0.16, 0.16, 0.16), (0.002, 0.002, 0.003), (0.002, 0.002, 0.003))  # fmt: skip
LIGHTS = {"ground": DAY, "space": SPACE, "plain": PLAIN, "studio": STUDIO, "mars": MARS, "moon": MOON}
#: the ground of those that have one, as it is shown under the open sky; and how much darker it is without the key light, and without the
#: sky's
GROUNDS = {"ground": (0.74, 0.75, 0.77), "studio": (0.22, 0.23, 0.26), "mars": (0.66, 0.42, 0.28), "moon": (0.47, 0.47, 0.48)}
SHARES = (0.36, 0.30)
DARK = ("space", "studio", "moon")
