"""What is integrated: a field on a manifold, and a mechanical system, whose field has the form q̇ = q·v, v̇ = K(t, q, v)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.spatial.manifold import Manifold, product, vector

Array = np.ndarray


@dataclass(frozen=True)
class System:
    """ẋ = x·ξ(t, x) on a manifold.

    Attributes
    ----------
    space : where x (nx) lives
    field : ξ(t, x), the velocity (its dimension) in the point's own axes
    """

    space: Manifold
    field: Callable[[Any, Array], Array]


class Mechanical(System):
    """q̇ = q·v, v̇ = K(t, q, v), with the state x = (q, v).

    Attributes
    ----------
    configuration : where q lives; its velocities are v
    acceleration : K(t, q, v), (nv)
    inertia, wrench : of a single free body, its constant G (6×6) about its frame's origin and the wrench F(t, q, v) on it, [moment; force]
        in the body's frame, None where there is none: what variational integrators are made of
    """

    def __init__(self, configuration: Manifold, acceleration: Callable[[Any, Array, Array], Array], inertia: Array | None = None,
                 wrench: Callable[[Any, Array, Array], Array] | None = None) -> None:  # fmt: skip
        def field(t: Any, x: Array) -> Array:
            q, v = self.split(x)
            return np.concatenate([v, acceleration(t, q, v)])

        super().__init__(bundle(configuration), field)
        self.__dict__.update(configuration=configuration, acceleration=acceleration, inertia=inertia, wrench=wrench)

    configuration: Manifold
    acceleration: Callable[[Any, Array, Array], Array]
    inertia: Array | None
    wrench: Callable[[Any, Array, Array], Array] | None

    def split(self, x: Array) -> tuple[Array, Array]:
        """q and v of x."""
        return x[: self.configuration.nq], x[self.configuration.nq :]


@functools.lru_cache(maxsize=64)
def bundle(configuration: Manifold) -> Manifold:
    """Configurations and their velocities."""
    return product([configuration, vector(configuration.nv)])
