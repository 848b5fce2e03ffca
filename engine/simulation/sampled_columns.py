"""Columns that stand still between ticks: samples, held commands, and what follows from nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.components.actuators import Motor
from engine.components.component import Component
from engine.components.law import OFFERED, Called, Ticking
from engine.components.makers import Maker

Array = NDArray[np.float64]
#: of a step between two records: what is nearer to the later one is at it
NOW = 1e-6
#: what counts, or is 1 or 0, of what is not held
COUNTS = (".saturated", ".count")


def held_of(makers: Iterable[Maker], said: Mapping[str, Mapping[str, Any]], components: Sequence[Component],
            controller: Ticking | None) -> tuple[str, ...]:  # fmt: skip
    """Return the columns of records that stand still between ticks, in the order of ``makers``, of the parts that they have ``said``; the
    joints' forces too, where all are commanded by a controller that ticks, to no motors."""
    names: list[str] = []
    found: list[str] = []
    for c in makers:
        if c.called.ticks or follows(c.called, names):
            names.append(c.name)
            found += c.recorded(said[c.name])
    commanded = controller is not None and controller.called.ticks and not any(isinstance(c, Motor) for c in components)
    return (*found, *(["tau"] if commanded else []))


def follows(called: Called, held: Collection[str]) -> bool:
    """Return whether what a law says changes only when signals do that are ``held``: it reads such, and nothing else that moves."""
    moves = {"t", "q", "v", *OFFERED} - {"model", "gravity", "armature"}
    return bool(called.reads) and {*called.reads} <= {*held} and not moves & {*inspect.signature(called.fn).parameters}


def stands(name: str, held: Collection[str], makers: Collection[str] = ()) -> bool:
    """Return whether a column holds its last record: it is among those that are ``held``, of one of some ``makers``, or counts.

    >>> stands("gyro.true", ["gyro"], ["gyro"]), stands("drive.saturated", []), stands("rate", ["gyro"])
    (True, True, False)
    """
    return name in held or name.partition(".")[0] in makers or name.endswith(COUNTS)


def interpolate_columns(x: Array, k: Any, s: Array, lead: int, still: bool) -> Array:
    """Return what columns x (..., T, *shape) are a part s (K) of the way from records k (K) to the next: evenly, or as the last one."""
    a, b = (x[(slice(None),) * lead + (i,)] for i in (k, k + 1))               # np.take would copy all of a view
    w = s.reshape(-1, *[1] * (x.ndim - lead - 1))
    return np.where(w >= 1.0 - NOW, b, a) if still else (1 - w) * a + w * b
