"""Several laws as one."""

from __future__ import annotations

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

    def lag(self, v: Array) -> bool:
        """Let each take what it knows beforehand from v (nv); return whether there is such a one."""
        return max(law.lag(v) for law in self.laws)        # each of them is asked

    def impulse(self, v: Array) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""
        given = [law.impulse(v) for law in self.laws]
        return sum(g for g, _ in given), sum(G for _, G in given)  # type: ignore[return-value]
