"""Several laws as one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law

Array = np.ndarray


class Together:
    """The sum of laws: a :class:`~engine.contact.newton.Law`."""

    def __init__(self, laws: list[Law]) -> None:
        self.laws, self.slow = laws, min(law.slow for law in laws)

    @property
    def acts(self) -> Any:
        """Whether any of them does."""
        acts: Any = False
        for law in self.laws:
            acts = ops.logical_or(acts, law.acts)
        return acts

    @property
    def known(self) -> Array:
        """What each of them takes as known, together."""
        return np.concatenate([law.known for law in self.laws])

    def know(self, known: Array) -> None:
        """Let each take its own."""
        for law, own in zip(self.laws, np.split(known, np.cumsum([len(law.known) for law in self.laws])[:-1]), strict=True):
            law.know(own)

    def lagged(self, v: Array) -> tuple[Array, Any]:
        """Return what goes with v (nv) of that, and whether all agree."""
        known, agree = zip(*(law.lagged(v) for law in self.laws), strict=True)
        return np.concatenate(known), functools.reduce(ops.logical_and, agree)

    def acting(self, v: Array) -> list[tuple[float, str]]:
        """Return what acts at v (nv), of all of them."""
        return [found for law in self.laws for found in law.acting(v)]

    def impulse(self, v: Array) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        given = [law.impulse(v) for law in self.laws]
        return sum(g for g, _ in given), sum(G for _, G in given)  # type: ignore[return-value]
