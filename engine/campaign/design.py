"""Designs: where in the unit cube each run is, by the seed and its number alone."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping

import numpy as np

from engine.checks import EngineError

Array = np.ndarray
DESIGNS = ("random", "sobol", "latin_hypercube", "grid")
#: a run's number is a parameter of its noise, exact as a float
RUNS = 2**53
#: points of a whole design stay so far from the cube's faces, where quantiles may be infinite
MARGIN = 2.0**-32


class CampaignError(EngineError):
    """A campaign that cannot be run as it was told; the text says what is wrong and what was expected.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> engine.Campaign(engine.Simulator(arm), arm.neutral(), [0.0] * 7, duration=1.0, runs=0)
    Traceback (most recent call last):
    ...
    engine.campaign.design.CampaignError: runs is 0; expected how many, a whole number from 1
    """


def uniforms(design: str, seed: int, runs: int, sizes: Mapping[str, int], first: int, count: int) -> dict[str, Array]:
    """Return the points (count, size) of runs first … first + count − 1, of each quantity by name, all within (0, 1).

    Of a "random" design a quantity's points are those of its name, whatever others there are; a whole design, "sobol" or "latin_hypercube",
    is one draw of all of its runs and quantities, in their order.

    >>> a = uniforms("random", 7, 100, {"mass": 1}, 0, 100)["mass"]
    >>> b = uniforms("random", 7, 100, {"gain": 2, "mass": 1}, 40, 1)["mass"]
    >>> bool(a[40] == b[0])
    True
    """
    if design == "random":
        return {name: philox(seed, name, first, count, size) for name, size in sizes.items()}
    points = whole_design(design, seed, runs, sum(sizes.values()))[first : first + count]
    ends = np.cumsum([*sizes.values()])
    return {name: points[:, end - size : end] for (name, size), end in zip(sizes.items(), ends, strict=True)}


def philox(seed: int, name: str, first: int, count: int, size: int) -> Array:
    """Return independent uniform numbers (count, size) of a name's stream, for runs from ``first`` on.

    Philox 4×64 (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, SC11) with the seed as key makes four words of each counter
    [run, block, name, name]: a run's words are its own, and those of consecutive runs come in one call.
    """
    digest = hashlib.sha256(name.encode()).digest()
    stream = [int.from_bytes(digest[k : k + 8], "little") for k in (0, 8)]
    key = np.array([seed & (2**64 - 1), seed >> 64], dtype=np.uint64)
    words = [np.random.Philox(counter=np.array([first, block, *stream], dtype=np.uint64), key=key).random_raw(4 * count).reshape(count, 4)
             for block in range(-(-size // 4))]  # fmt: skip
    return (np.concatenate(words, axis=1)[:, :size] >> np.uint64(12)) * 2.0**-52 + 2.0**-53


@functools.lru_cache(maxsize=2)
def whole_design(design: str, seed: int, runs: int, size: int) -> Array:
    """Return the points (runs, size) of a scrambled Sobol' sequence or a Latin hypercube (scipy.stats.qmc)."""
    from scipy.stats import qmc

    if design == "latin_hypercube":
        points = qmc.LatinHypercube(size, rng=seed).random(runs)
    else:
        points = qmc.Sobol(size, rng=seed).random_base2(math.ceil(math.log2(runs)))[:runs]    # a power of two: else it warns
    return np.clip(points, MARGIN, 1.0 - MARGIN)


def grid_indices(counts: tuple[int, ...], first: int, count: int) -> tuple[Array, ...]:
    """Return which of its values each quantity has, in the full product of so many of them; the last changes fastest.

    >>> [i.tolist() for i in grid_indices((2, 3), 0, 6)]
    [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    """
    return np.unravel_index(np.arange(first, first + count), counts)
