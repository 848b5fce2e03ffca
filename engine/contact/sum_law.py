"""The sum of several impulse laws, as one law for the velocity solve."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.contact.newton import Law

Array = np.ndarray


class SumLaw:
    """The sum of several impulse laws: a :class:`~engine.contact.newton.Law`.

    >>> import numpy as np
    >>> from engine.contact import JointCoordinate, JointLaws, SumLaw
    >>> slide = JointCoordinate("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5, 0.5)  # friction of 3 N
    >>> law = JointLaws([slide], 1e-5, lambda c: 0.0, 0.0).step(0.1, np.ones(1), np.zeros(1), np.ones(1))
    >>> both = SumLaw([law, law])
    >>> both.impulse(np.ones(1), both.friction)[0].round(9)  # N·s: −2 · 3 N · 0.1 s
    array([-0.6])
    """

    def __init__(self, laws: list[Law]) -> None:
        self.laws, self.slow = laws, min(law.slow for law in laws)

    @property
    def acts(self) -> Any:
        """True if any of the laws acts."""
        acts: Any = False
        for law in self.laws:
            acts = ops.logical_or(acts, law.acts)
        return acts

    def pieces(self, v: Array) -> Array:
        """Return those of each, one after another."""
        return np.concatenate([law.pieces(v) for law in self.laws])

    def dry(self, v: Array, pieces: Array) -> tuple[Array, Array]:
        """Return the sums (nv) of theirs."""
        ends = np.cumsum([len(law.pieces(v)) for law in self.laws])[:-1]
        given = [law.dry(v, own) for law, own in zip(self.laws, np.split(pieces, ends), strict=True)]
        return sum(g for g, _ in given), sum(slope for _, slope in given)  # type: ignore[return-value]

    @property
    def friction(self) -> tuple[Any, ...]:
        """The friction of each."""
        return tuple(law.friction for law in self.laws)

    def lagged(self, v: Array, friction: Any, *falls: Any) -> tuple[Any, Any]:
        """Return the friction that goes with v (nv), and whether all agree."""
        found, agree = zip(*(law.lagged(v, own, *falls) for law, own in zip(self.laws, friction, strict=True)), strict=True)
        return found, functools.reduce(ops.logical_and, agree)

    def acting(self, v: Array, friction: Any) -> list[tuple[float, str]]:
        """Return the impulses that act at v (nv), of all the laws."""
        return [found for law, own in zip(self.laws, friction, strict=True) for found in law.acting(v, own)]

    def along(self, v: Array, d: Array, friction: Any) -> Callable[[Any], Array]:
        """Return the function of α that gives the sum of theirs (2)."""
        given = [law.along(v, d, own) for law, own in zip(self.laws, friction, strict=True)]  # type: ignore[attr-defined]
        return lambda a: np.asarray(sum(along(a) for along in given))

    @property
    def dual(self) -> tuple[Any, ...]:
        """The dual of each."""
        return tuple(law.dual for law in self.laws)  # type: ignore[attr-defined]

    def dual_after(self, v: Array, d: Array, friction: Any, dual: Any) -> tuple[Any, ...]:
        """Return the dual of each after a step d (nv) of Newton's method from v (nv)."""
        given = zip(self.laws, friction, dual, strict=True)
        return tuple(law.dual_after(v, d, own, y) for law, own, y in given)  # type: ignore[attr-defined]

    def impulse(self, v: Array, friction: Any, dual: Any = None) -> tuple[Array, Array]:
        """Return the sum over the laws of impulses γ = −∂ℓ/∂v (nv) and of G = ∂²ℓ/∂v² (nv, nv)."""
        laws = zip(self.laws, friction, [()] * len(self.laws) if dual is None else [(y,) for y in dual], strict=True)
        given = [law.impulse(v, own, *y) for law, own, y in laws]
        return sum(g for g, _ in given), sum(G for _, G in given)  # type: ignore[return-value]
