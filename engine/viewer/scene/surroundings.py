"""Surroundings from a picture of light all around: the light it gives to what is matt and to what shines, and what is seen behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.hdr import read_hdr
from engine.viewer.scene.light import DAY, Light, unit

Array = np.ndarray
#: columns of the picture behind, and of the finest that is mirrored; those that are mirrored more and more roughly, each half as wide
BEHIND, MIRRORED, LEVELS = 4096, 256, 5
#: times the mean, above which light is the key light's; cosine of how far about the brightest place
BRIGHT, ABOUT = 16.0, 0.87
#: what the light is scaled to: its mean over all directions
MEAN = 0.7
#: share of the light that the ground gives back, and of the sky's that is left under robots
ALBEDO, UNDER = 0.4, 0.25


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Light from all around. Its rows run from above to below, its columns to the right; in the middle is +x. Its mean is MEAN.

    Attributes
    ----------
    behind (h, w, 3) : what is seen
    mirrored : what a mirror shows of it (h, w, 3), then rougher ones: of roughness k / (LEVELS − 1)
    matt (3, 4, 4) : of red, green and blue the matrix M of the light that a matt surface gives back, nᵀ M n with n = (x, y, z, 1): the nine
        spherical harmonics up to the second order (Ramamoorthi and Hanrahan 2001)
    light : the key light, which is what is much brighter than the rest; what else a Light has is not there
    ground : the ground's colour, as it is shown; shares : how much darker it is without the key light, and without the sky's
    """

    behind: Array
    mirrored: tuple[Array, ...]
    matt: Array
    light: Light
    ground: tuple[float, float, float]
    shares: tuple[float, float]


def surroundings(path: str | Path) -> Surroundings:
    """Return the surroundings that a Radiance picture of directions (twice as wide as high) shows; ViewerError where it cannot be read."""
    picture = read_hdr(path)
    h, w = picture.shape[:2]
    if w != 2 * h:
        raise ViewerError(f"'{path}' is {w}×{h} pixels; expected a picture of all directions, twice as wide as high")
    picture = picture * np.float32(MEAN / max(float(mean(smaller(picture, MIRRORED)).mean()), 1e-30))
    light = smaller(picture, MIRRORED)
    towards, share = directions(*light.shape[:2]), angles(*light.shape[:2])
    bright = light.mean(axis=-1)
    near = towards @ towards.reshape(-1, 3)[bright.argmax()] > ABOUT
    left = np.where(near[..., None], light * np.minimum(1.0, BRIGHT / np.maximum(bright, 1e-9))[..., None], light)
    taken = (light - left) * share[..., None]
    key = unit((taken.sum(axis=-1)[..., None] * towards).sum(axis=(0, 1)) + [1e-4, 1e-5, 1e-4])
    small = smaller(left, MIRRORED // 2)
    matt, key_color = harmonics(small), taken.sum(axis=(0, 1)) / np.pi
    above, direct = (np.array([0, 0, 1.0, 1.0]) @ matt @ [0, 0, 1.0, 1.0]).clip(0.0), key_color * max(key[2], 0.0)
    full, dark, under = (shown(ALBEDO * x) for x in (above + direct, above, UNDER * above + direct))
    whole = max(full.mean(), 1e-9)
    return Surroundings(
        smaller(picture, BEHIND),
        (left, *(rough(small, MIRRORED >> k, k / (LEVELS - 1)) for k in range(1, LEVELS))),
        matt,
        replace(DAY, key=key, key_color=tuple(key_color.tolist()), fill_color=(0.0, 0.0, 0.0)),
        tuple(full.tolist()),
        (1.0 - float(dark.mean() / whole), 1.0 - float(under.mean() / whole)),
    )


def shown(light: Array) -> Array:
    """Return light as it is shown: as the shader light.frag has it."""
    return np.sqrt(np.clip(light * (1.0 + 0.12 * light) / (1.0 + 0.62 * light), 0.0, 1.0))


def smaller(picture: Array, width: int) -> Array:
    """Return a picture twice as wide as high, of at most so many columns, as the means of what lies in each pixel."""
    w = min(width, 2 * (picture.shape[1] // 2))
    for axis, n in ((0, max(w // 2, 1)), (1, max(w, 1))):
        m = picture.shape[axis]
        whole = np.insert(np.cumsum(picture, axis=axis, dtype=float), 0, 0.0, axis=axis)
        ends = np.linspace(0, m, n + 1)
        at = np.minimum(ends.astype(int), m - 1)
        part = np.expand_dims(ends - at, tuple(k for k in range(3) if k != axis))
        sums = np.take(whole, at, axis=axis) * (1 - part) + np.take(whole, at + 1, axis=axis) * part
        picture = np.diff(sums, axis=axis) * (n / m)
    return picture.astype(np.float32)


def directions(h: int, w: int) -> Array:
    """Return the unit vectors (h, w, 3) to a picture's pixels."""
    down, turn = np.pi * (np.arange(h) + 0.5) / h, np.pi - 2 * np.pi * (np.arange(w) + 0.5) / w
    flat = np.sin(down)[:, None]
    return np.stack(np.broadcast_arrays(flat * np.cos(turn), flat * np.sin(turn), np.cos(down)[:, None]), axis=-1).astype(np.float32)


def angles(h: int, w: int) -> Array:
    """Return the solid angles (h, w) of a picture's pixels, 4π in all."""
    ends = np.cos(np.pi * np.arange(h + 1) / h)
    return np.broadcast_to((ends[:-1] - ends[1:])[:, None] * 2 * np.pi / w, (h, w))


def mean(picture: Array) -> Array:
    """Return the mean colour over all directions (3)."""
    return (picture * angles(*picture.shape[:2])[..., None]).sum(axis=(0, 1)) / (4 * np.pi)


def harmonics(picture: Array) -> Array:
    """Return the matrices (3, 4, 4) of :class:`Surroundings`."""
    x, y, z = np.moveaxis(directions(*picture.shape[:2]).astype(float), -1, 0)
    functions = [(1 / 2, np.zeros((4, 4)), np.ones_like(x), 1.0)]
    for k, n in enumerate((x, y, z)):
        M = np.zeros((4, 4))
        M[k, 3] = M[3, k] = 0.5
        functions.append((np.sqrt(3) / 2, M, n, 2 / 3))
    for k, m, n in ((0, 1, x * y), (1, 2, y * z), (0, 2, x * z)):
        M = np.zeros((4, 4))
        M[k, m] = M[m, k] = 0.5
        functions.append((np.sqrt(15) / 2, M, n, 1 / 4))
    functions.append((np.sqrt(5) / 4, np.diag([0, 0, 3.0, -1.0]), 3 * z * z - 1, 1 / 4))
    functions.append((np.sqrt(15) / 4, np.diag([1.0, -1.0, 0, 0]), x * x - y * y, 1 / 4))
    functions[0][1][3, 3] = 1.0
    share, matt = angles(*picture.shape[:2]), np.zeros((3, 4, 4))
    for norm, M, value, kept in functions:                      # normed by √π, which both the sum and the function divide by
        matt += (picture * (value * share)[..., None]).sum(axis=(0, 1))[:, None, None] * (kept * norm * norm / np.pi) * M
    return matt


def rough(picture: Array, width: int, roughness: float) -> Array:
    """Return what a surface of a roughness, seen from straight in front, mirrors of a picture (h, w, 3): a picture of so many columns."""
    towards, share = directions(*picture.shape[:2]).reshape(-1, 3), angles(*picture.shape[:2]).astype(np.float32).reshape(-1)
    light, a2 = picture.reshape(-1, 3), np.float32(max(roughness, 0.1) ** 4)
    out = np.empty((width // 2 * width, 3), np.float32)
    there = directions(width // 2, width).reshape(-1, 3)
    for k in range(0, len(out), 1024):
        cosine = there[k : k + 1024] @ towards.T
        q = 0.5 * (1.0 + cosine) * (a2 - 1.0) + 1.0
        weight = np.maximum(cosine, 0.0) / (q * q) * share
        out[k : k + 1024] = weight @ light / weight.sum(axis=1, keepdims=True)
    return out.reshape(width // 2, width, 3)
