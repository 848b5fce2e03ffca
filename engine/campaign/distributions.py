"""Distributions, as functions of uniform numbers: so that every design can draw from them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from engine.campaign.design import CampaignError
from engine.checks import EngineError, numbers, shown
from engine.spatial import quaternion

Array = np.ndarray
EXAMPLE = "a frozen distribution of scipy.stats, such as scipy.stats.norm(120, 10)"
#: where a distribution is looked at, to know it again
PROBES = np.linspace(0.03, 0.97, 17)


class Draw:
    """Values of one quantity.

    Attributes
    ----------
    size : uniform numbers that one value takes; 0 of a list of values
    shape : of one value
    words : what it is, for the manifest
    """

    size: int
    shape: tuple[int, ...]
    words: Any

    def values(self, u: Array) -> Array:
        """Return values (n, *shape) of uniform numbers (n, size)."""
        raise NotImplementedError


class Independent(Draw):
    """Entries that are independent, each by the quantile function of a distribution of scipy.stats."""

    def __init__(self, what: str, x: Any, shape: tuple[int, ...]) -> None:
        self.x, self.shape, self.size = x, shape, int(np.prod(shape))
        try:
            found = self.values(np.repeat(PROBES[:, None], self.size, axis=1))
        except (ValueError, TypeError) as error:
            raise CampaignError(f"{what} is {spell_out(x)}, which gives no values of shape {shape} ({error}); expected {EXAMPLE}") from None
        if not np.isfinite(found).all():
            raise CampaignError(f"{what} is {spell_out(x)}, whose quantiles are NaN or infinite; expected numbers that it can have")
        self.words = {"distribution": spell_out(x), "quantiles": hashlib.sha256(found.astype("<f8").tobytes()).hexdigest()[:16]}

    def values(self, u: Array) -> Array:
        quantile = getattr(self.x, "ppf", None) or self.x.icdf
        return np.array(np.broadcast_to(quantile(u.reshape(len(u), *self.shape)), (len(u), *self.shape)), dtype=float)


class NormalVector(Draw):
    """Vectors x = μ + L Φ⁻¹(u), L Lᵀ the covariance (which may be singular); of a matrix the entries row by row."""

    def __init__(self, what: str, x: Any, shape: tuple[int, ...]) -> None:
        self.mean, cov = np.atleast_1d(x.mean).astype(float), np.atleast_2d(x.cov).astype(float)
        if len(self.mean) != np.prod(shape):
            raise CampaignError(f"{what} is normal in {len(self.mean)} dimensions; expected {np.prod(shape):g}, for the shape {shape}")
        values, vectors = np.linalg.eigh(cov)
        dust = len(values) * np.finfo(float).eps * values[-1] if len(shape) == 2 else 0.0      # which would make matrices asymmetric
        self.L = vectors * np.sqrt(np.where(values > dust, values, 0.0))
        self.shape, self.size = shape, len(self.mean)
        self.words = {"distribution": "multivariate_normal", "mean": self.mean.tolist(), "covariance": cov.tolist()}

    def values(self, u: Array) -> Array:
        from scipy.special import ndtri

        x = np.repeat(self.mean[None], len(u), axis=0)
        for k in range(self.size):                                             # not L @ z: its rounding would depend on how many there are
            x += self.L[:, k] * ndtri(u[:, k, None])
        return x.reshape(len(u), *self.shape)


class UniformRotation(Draw):
    """Unit quaternions that are uniform on SO(3) (Shoemake, *Uniform random rotations*, Graphics Gems III, 1992)."""

    size, shape, words = 3, (4,), {"distribution": "uniform rotation"}

    def values(self, u: Array) -> Array:
        a, b = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
        s, c = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
        q = np.stack([b * np.cos(c), a * np.sin(s), a * np.cos(s), b * np.sin(c)], axis=1)
        return quaternion.normalize(q)


class Levels(Draw):
    """Values of a grid, one after the other."""

    size = 0

    def __init__(self, what: str, x: Any, shape: tuple[int, ...]) -> None:
        try:
            self.list = numbers(what, x, CampaignError)
        except EngineError as error:
            raise CampaignError(f"{str(error).split('; expected')[0]}; expected the values of a grid, such as [100.0, 120.0]") from None
        if len(shape) == 2 and self.list.shape[1:] == (np.prod(shape),):       # of a matrix the entries row by row
            self.list = self.list.reshape(-1, *shape)
        if self.list.ndim != len(shape) + 1 or self.list.shape[1:] != shape or not len(self.list):
            raise CampaignError(f"{what} has shape {self.list.shape}; expected the values of a grid, {('n', *shape)}".replace("'n'", "n"))
        self.shape, self.words = shape, {"values": self.list.tolist()}

    def values(self, u: Array) -> Array:
        """Return those of the numbers (n) ``u``."""
        return self.list[u]


def draw_of(what: str, x: Any, shape: tuple[int, ...], grid: bool, attitude: bool = False) -> Draw:
    """Return how a quantity of that shape is drawn; an attitude's shape is that of a rotation vector, unless it is uniform."""
    if grid:
        return Levels(what, x, shape)
    if attitude and isinstance(x, str):
        if x != "uniform":
            raise CampaignError(f"{what} is '{x}'; expected 'uniform', or rotation vectors: scipy.stats.multivariate_normal(…)")
        return UniformRotation()
    if isinstance(x, type) or (callable(x) and hasattr(x, "ppf")):
        raise CampaignError(f"{what} is {spell_out(x)} without its numbers; expected {EXAMPLE}")
    if hasattr(x, "ppf") or hasattr(x, "icdf"):
        return Independent(what, x, shape)
    if hasattr(x, "mean") and hasattr(x, "cov") and hasattr(x, "rvs") and not callable(x.mean):
        return NormalVector(what, x, shape)
    raise CampaignError(f"{what} is {shown(x)}; expected {EXAMPLE}" + (", or 'uniform'" if attitude else ""))


def spell_out(x: Any) -> str:
    """Return a distribution with its numbers, in words that are the same in every process."""
    kind = getattr(getattr(x, "dist", None), "name", None) or getattr(x, "name", None)
    if hasattr(x, "dist"):
        given = [*(shown(a) for a in x.args), *(f"{n}={shown(a)}" for n, a in x.kwds.items())]
        return f"{kind}({', '.join(given)})"
    return str(kind) if isinstance(kind, str) else type(x).__name__
