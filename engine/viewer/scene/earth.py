"""The Earth from outside: its land by corners of coasts, deserts, ice and lights of cities, as a map; and grain for it."""

from __future__ import annotations

import functools

import numpy as np

Array = np.ndarray
#: degrees east and north of coasts' corners, a land a line: rough, as the map's finer shape is noise
LAND = (
    "-17 15 -16 21 -10 29 -6 36 3 37 11 37 10 34 20 31 25 32 32 31 34 27 37 21 40 15 43 11 51 12 48 5 42 -1 39 -6 40 -14 35 -20 "
    "35 -24 32 -27 "
    "28 -33 20 -35 18 -33 15 -27 12 -17 13 -9 9 -1 9 4 4 6 -4 5 -8 4 -13 8",
    "49 -12 50 -16 47 -25 44 -24 44 -20 46 -16",
    "-9 37 -9 43 -2 43 -1 46 -4 48 2 51 8 54 8 57 10 57 10 54 14 54 19 54 21 57 24 59 29 60 22 60 22 63 25 65 21 65 17 61 18 60 "
    "16 57 13 55 "
    "11 59 7 58 5 61 12 66 18 70 26 71 32 70 41 67 35 64 44 66 46 68 54 68 60 69 68 69 70 73 80 73 95 76 105 77 113 74 130 71 140 "
    "72 152 71 "
    "160 70 170 70 180 69 180 65 177 62 170 60 163 58 162 56 157 51 156 57 163 62 155 59 143 59 135 54 141 53 140 48 135 43 130 42 127 39 "
    "129 36 126 34 126 38 121 39 118 39 122 37 119 35 122 31 121 28 117 23 110 21 108 21 106 19 109 13 107 10 105 9 102 12 100 13 99 9 "
    "103 1 100 5 98 9 98 15 94 16 92 22 88 22 86 20 82 16 80 13 80 10 77 8 75 12 73 17 72 21 70 21 67 25 61 25 57 27 54 27 50 30 48 30 "
    "50 26 51 25 56 26 60 22 55 17 45 13 43 13 42 17 39 21 35 28 34 31 36 36 30 36 27 37 26 40 29 41 35 42 41 41 37 45 39 47 35 46 33 44 "
    "31 46 28 44 28 41 26 41 23 40 23 37 21 37 19 41 14 45 12 45 13 43 18 40 16 38 15 40 12 42 10 44 7 44 3 43 0 40 0 38 -2 37 -5 36",
    "-5 50 1 51 2 53 -1 55 -2 57 -5 58 -5 55 -3 54 -5 52", "-10 52 -6 52 -6 54 -8 55 -10 54", "-24 65 -14 65 -18 63 -22 64 -20 66",
    "130 31 132 33 136 34 140 35 142 39 141 41 139 38 136 37 132 35 130 33", "140 42 143 42 145 43 142 45 141 43",
    "95 6 104 -2 106 -6 102 -4 98 2", "105 -6 114 -7 114 -9 106 -7", "109 1 117 7 119 5 117 1 116 -4 110 -3",
    "119 -5 120 0 125 1 121 -1 122 -5", "131 -1 138 -2 147 -6 151 -10 143 -9 138 -8 133 -4", "120 18 122 18 124 13 126 7 122 7 "
    "123 10 120 14",
    "80 9 82 7 80 6 79 7",
    "114 -22 122 -18 126 -14 130 -12 135 -12 136 -15 139 -17 142 -11 145 -15 149 -20 153 -25 153 -30 150 -37 146 -39 140 -38 138 -34 "
    "135 -35 131 -31 124 -33 118 -35 115 -34 116 -31 113 -26",
    "145 -41 148 -41 147 -43 145 -43", "173 -34 175 -37 178 -38 177 -39 175 -41 174 -39", "173 -41 174 -42 171 -44 169 -46 166 -46 170 -43",
    "-168 66 -156 71 -141 70 -128 70 -115 68 -108 68 -95 68 -93 72 -85 69 -82 67 -94 62 -94 59 -85 55 -82 52 -79 51 -79 54 -77 57 -78 62 "
    "-70 61 -65 59 -61 56 -56 52 -60 50 -66 50 -71 47 -64 49 -64 46 -60 47 -66 44 -70 43 -70 42 -74 40 -75 35 -81 31 -80 26 -81 25 -83 29 "
    "-89 29 -94 29 -97 27 -97 22 -95 18 -91 19 -90 21 -87 21 -88 16 -83 15 -83 10 -79 9 -77 8 -80 7 -85 10 -87 13 -94 16 -100 17 -105 20 "
    "-109 25 -113 31 -115 31 -109 23 -112 25 -115 28 -117 33 -120 34 -124 40 -124 47 -123 49 -128 51 -133 56 -139 60 -149 60 -153 58 "
    "-162 55 -157 59 -165 61 -161 64 -166 64",
    "-62 66 -68 63 -77 65 -73 68 -88 73 -80 74 -68 70", "-117 71 -105 69 -104 73 -115 73", "-90 76 -78 76 -62 82 -80 83 -92 81",
    "-59 48 -53 47 -55 51", "-85 22 -80 23 -74 20 -77 20", "-74 18 -73 20 -68 18",
    "-73 78 -60 82 -32 83 -18 80 -20 74 -25 70 -40 65 -43 60 -50 62 -54 67 -52 70 -58 75",
    "-77 8 -75 11 -72 12 -64 11 -60 8 -52 5 -50 0 -44 -2 -35 -5 -35 -9 -39 -13 -39 -18 -42 -23 -48 -25 -49 -28 -53 -34 -57 -34 -57 -38 "
    "-62 -39 -65 -42 -65 -45 -67 -46 -66 -48 -69 -51 -68 -53 -65 -55 -71 -54 -75 -50 -75 -46 -73 -40 -71 -30 -70 -18 -76 -14 -79 -7 "
    "-81 -4 -80 0 -77 4",
    "-180 -90 -180 -78 -160 -78 -150 -76 -135 -74 -110 -74 -100 -72 -75 -73 -67 -68 -57 -63 -62 -68 -62 -74 -50 -78 -35 -78 -25 -75 "
    "-10 -71 10 -70 35 -69 50 -67 58 -67 70 -69 80 -67 95 -66 115 -67 135 -66 150 -68 165 -71 167 -78 180 -78 180 -90",
    "52 71 57 71 68 77 58 75", "11 79 16 77 27 80", "-180 69 -170 66 -173 64 -180 65",
)  # fmt: skip
LAKES = ("47 45 53 46 53 41 54 37 50 37 49 41", "-92 47 -84 47 -88 46", "-88 45 -86 46 -86 42 -88 42", "32 0 34 0 34 -2 32 -2")
#: degrees east, north, and half widths of what is dry and of where many people live
DRY = ((5, 23, 26, 8), (24, 23, 12, 7), (47, 24, 9, 8), (60, 32, 12, 5), (65, 42, 12, 4), (103, 42, 12, 5), (83, 39, 8, 3),
       (132, -25, 13, 6), (-110, 33, 7, 6), (-69, -24, 2, 7), (20, -24, 5, 5), (-69, -44, 3, 6), (46, 6, 5, 5))  # fmt: skip
CITIES = ((-75, 41, 5, 3), (-84, 40, 6, 4), (-95, 32, 5, 3), (-119, 35, 3, 3), (-80, 27, 2, 2), (-99, 20, 3, 2), (3, 51, 6, 4),
          (10, 46, 5, 4),
          (15, 50, 7, 3), (-2, 53, 2, 3), (37, 56, 3, 2), (31, 30, 1, 2), (77, 27, 5, 4), (80, 15, 4, 5), (90, 24, 3, 2), (116, 36, 4, 5),
          (120, 31, 3, 3), (113, 23, 3, 2), (127, 37, 2, 1), (138, 36, 3, 2), (107, -7, 4, 1), (101, 14, 2, 2), (-46, -23, 3, 3),
          (-58, -35, 3, 2), (-38, -8, 2, 5), (28, -26, 2, 2), (4, 7, 3, 2), (51, 27, 3, 3), (150, -34, 2, 2), (145, -38, 2, 1))  # fmt: skip


def step(x: Array, low: float, high: float) -> Array:
    """Return 0 below, 1 above, and a smooth step between."""
    x = np.clip((x - low) / (high - low), 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


@functools.cache
def world_map(n: int = 720) -> Array:
    """Return the map (n/2, n, 4), uint8, from 180° west and the north pole: how much is land, how dry and icy, and how lit at night.

    >>> at = lambda east, north: world_map()[180 - 2 * north, 360 + 2 * east] > 127
    >>> [bool(at(*place)[0]) for place in ((20, 5), (-100, 40), (134, -25), (-30, 0), (-150, 20), (80, -30))]
    [True, True, True, False, False, False]
    """
    from PIL import Image, ImageDraw, ImageFilter

    def drawn(outlines: tuple[str, ...]) -> Array:
        image = Image.new("L", (n, n // 2))
        for outline in outlines:
            corners = (np.array(outline.split(), float).reshape(-1, 2) * [1, -1] + [180, 90]) * n / 360
            ImageDraw.Draw(image).polygon([tuple(c) for c in corners.tolist()], fill=255)
        return np.asarray(image.filter(ImageFilter.GaussianBlur(n / 400)), float) / 255

    north, east = (90 - (np.arange(n // 2) + 0.5) * 360 / n)[:, None], (np.arange(n) + 0.5) * 360 / n - 180

    def spots(listed: tuple[tuple[float, ...], ...]) -> Array:
        return np.sum([np.exp(-(((east - x) / a) ** 2 + ((north - y) / b) ** 2)) for x, y, a, b in listed], axis=0)

    land = drawn(LAND) - drawn(LAKES)
    greenland = step(north, 59, 63) * np.exp(-(((east + 41) / 20) ** 2)) * land
    ice = np.maximum(step(np.abs(north + 4), 66, 78) * np.where(north < 0, 1, 0.7), greenland)
    layers = land, np.minimum(spots(DRY), 1), ice * np.ones(n), np.minimum(spots(CITIES), 1) * land
    made = np.round(255 * np.clip(np.dstack(layers), 0, 1)).astype(np.uint8)
    made.flags.writeable = False
    return made


@functools.cache
def grain(n: int) -> Array:
    """Return what is finer than a map (n, n, 4), uint8: clouds, fine noise, noise that moves coasts, and how dry; periodic, and always the
    same: made once, to be read alone."""
    rng = np.random.default_rng(1968)
    f = np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)).astype(np.float32) * n
    f[0, 0] = np.inf

    def noise(steep: float, lowest: float) -> Array:
        """Return noise of mean 0 and variance 1 whose amplitude falls with the frequency f as f^−steep, from the lowest on."""
        phases = np.fft.rfft2(rng.standard_normal((n, n), np.float32))
        x = np.fft.irfft2(phases * np.maximum(f, lowest) ** -steep * (f > 0.6 * lowest), (n, n))
        return x / x.std()

    weather, fine = noise(2.0, 3.0), noise(1.3, 10.0)
    # the wind, along the lines of equal pressure, draws the clouds out
    along = np.stack(np.gradient(noise(2.6, 5.0)))[::-1] * np.array([1.0, -1.0])[:, None, None] * n
    at = np.indices((n, n))
    streaks = sum(fine[tuple(np.round(at + k * along * n / 40000.0).astype(int) % n)] for k in (-1.0, -0.5, 0.0, 0.5, 1.0)) / 2.5
    cloud = (0.8 * weather + 0.55 * streaks + 0.25 * fine) / 4.0 + 0.4
    layers = cloud, 0.5 + 0.18 * fine, 0.5 + 0.2 * noise(1.6, 6.0), 0.5 + 0.25 * noise(1.8, 6.0)
    made = np.round(255 * np.clip(np.dstack(layers), 0.0, 1.0)).astype(np.uint8)
    made.flags.writeable = False
    return made
