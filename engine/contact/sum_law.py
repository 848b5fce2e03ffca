"""The sum of several impulse laws, as one law for the velocity solve."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law

Array = np.ndarray


class SumLaw:
    """The sum of several impulse laws: a :class:`~engine.contact.newton.Law`."""

    def __init__(self, laws: list[Law]) -> None:
        self.laws, self.slow = laws, min(law.slow for law in laws)

    @property
    def acts(self) -> Any:
        """Whether any of them does."""
        acts: Any = False
        for law in self.laws:
            acts = ops.logical_or(acts, law.acts)
        return acts

    def majorant(self, v: Array) -> Array | None:
        """Return the sum (nv) of theirs, or None where there is none."""
        found = [own for law in self.laws if (own := law.majorant(v)) is not None]
        return sum(found) if found else None  # type: ignore[return-value]

    @property
    def friction(self) -> tuple[Any, ...]:
        """The friction of each."""
        return tuple(law.friction for law in self.laws)

    def lagged(self, v: Array, friction: Any) -> tuple[Any, Any]:
        """Return the friction that goes with v (nv), and whether all agree."""
        found, agree = zip(*(law.lagged(v, own) for law, own in zip(self.laws, friction, strict=True)), strict=True)
        return found, functools.reduce(ops.logical_and, agree)

    def acting(self, v: Array, friction: Any) -> list[tuple[float, str]]:
        """Return what acts at v (nv), of all of them."""
        return [found for law, own in zip(self.laws, friction, strict=True) for found in law.acting(v, own)]

    def impulse(self, v: Array, friction: Any) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        given = [law.impulse(v, own) for law, own in zip(self.laws, friction, strict=True)]
        return sum(g for g, _ in given), sum(G for _, G in given)  # type: ignore[return-value]
