"""Systems to integrate: a vector field on a manifold; a mechanical system, q (nq) with q̇ = q·v, v (nv) and first-order states z beside v;
and a single free body with its inertia and wrench."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.spatial.manifold import Manifold, product, vector

Array = np.ndarray
#: (t, x, s) -> (r, w) -> (1 − s J)⁻¹ (r + w ∂ξ/∂t); or (r, w, loads), see System.excess
Stiff = Callable[[Any, Array, Any], Callable[..., Array]]
#: how far inside a step its ends are, of the time: more than times that are written, or counted by steps, are rounded
INSIDE = 2.0**-50


def during(t: Any, c: float, h: Any) -> Any:
    """Return t + c h, at a step's ends just inside it: what jumps there has jumped since the beginning, and has not until the end.

    >>> [0.1 < during(0.1, c, 0.2) < 0.3 for c in (0.0, 0.5, 1.0)]
    [True, True, True]
    """
    time, inside = t + c * h, INSIDE * (abs(t) + h)
    return time + inside if c < 1e-12 else time - inside if c > 1.0 - 1e-12 else time


@dataclass(frozen=True)
class System:
    """ẋ = x·ξ(t, x) on a manifold.

    Attributes
    ----------
    space : where x (nx) lives
    field : ξ(t, x), the velocity (its dimension) in the point's own axes
    stiff : where some of the field is stiff: ``stiff(t, x, s)`` is a function of r and a number w, (1 − s J)⁻¹ (r + w ∂ξ/∂t), with the
        stiff part J of ∂ξ/∂x at (t, x), and of ∂ξ/∂t
    excess : stiff loads (t, x) that ξ lacks, as they are beyond what they may be at a step's end: what ``stiff`` gives takes them as its
        third argument, and they meet the inertia that J has

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, step
    >>> from engine.spatial.manifold import vector
    >>> decay = System(vector(1), lambda t, x: -x)
    >>> step(METHODS["rk4"], decay, 0.0, 0.1, np.ones(1)).round(6), np.exp(-0.1).round(6)
    (array([0.904838]), np.float64(0.904837))
    """

    space: Manifold
    field: Callable[[Any, Array], Array]
    notes: int = 0
    stiff: Stiff | None = None
    excess: Callable[[Any, Array], Array] | None = None


class Mechanical(System):
    """q̇ = q·v, ẇ = K(t, q, w): the state is x = (q, w), and the first nv entries of w are the velocity v.

    What follows v in w are first-order states z of their own (actuators, controllers, integrals), ż = f(t, q, v, z).

    Attributes
    ----------
    configuration : where q lives
    acceleration : K(t, q, w), (nv + states)
    states : number of entries of z
    notes : how many of its last entries are notes of a run, whose error is of no account

    >>> import numpy as np
    >>> from engine.integrate import METHODS, Mechanical, step
    >>> from engine.spatial.manifold import vector
    >>> swing = Mechanical(vector(1), lambda t, q, v: -q)
    >>> step(METHODS["rk4"], swing, 0.0, 0.1, np.array([1.0, 0.0])).round(6)  # cos 0.1, −sin 0.1
    array([ 0.995004, -0.099833])
    """

    def __init__(self, configuration: Manifold, acceleration: Callable[[Any, Array, Array], Array], states: int = 0,
                 notes: int = 0, stiff: Stiff | None = None, excess: Callable[[Any, Array], Array] | None = None) -> None:  # fmt: skip
        def field(t: Any, x: Array) -> Array:
            q, w = self.split(x)
            return np.concatenate([w[: configuration.nv], acceleration(t, q, w)])

        super().__init__(bundle(configuration, states), field)
        self.__dict__.update(configuration=configuration, acceleration=acceleration, states=states, notes=notes, stiff=stiff, excess=excess)

    configuration: Manifold
    acceleration: Callable[[Any, Array, Array], Array]
    states: int

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return q and w of x."""
        return x[: self.configuration.nq], x[self.configuration.nq :]

    def velocity(self, w: Array) -> Array:
        """Return v, the part of w that moves q."""
        return w[: self.configuration.nv]


class FreeBody(Mechanical):
    """A single rigid body, by what variational integrators are made of.

    Attributes
    ----------
    inertia : its constant G (6×6) about its frame's origin
    wrench : the wrench F(t, q, v) on it, [moment; force] in the body's frame (6), or None where there is none

    >>> import numpy as np
    >>> from engine.integrate import METHODS, FreeBody, step
    >>> from engine.spatial import inertia, manifold
    >>> ball = FreeBody(manifold.MOTION, lambda t, q, v: np.zeros(6), inertia.sphere(2.0, 0.1))
    >>> x = np.concatenate([manifold.MOTION.neutral(), [0, 0, 0, 3.0, 0, 0]])
    >>> step(METHODS["rkmk4"], ball, 0.0, 0.1, x)[4:7]
    array([0.3, 0. , 0. ])
    """

    def __init__(self, configuration: Manifold, acceleration: Callable[[Any, Array, Array], Array], inertia: Array,
                 wrench: Callable[[Any, Array, Array], Array] | None = None, stiff: Stiff | None = None,
                 excess: Callable[[Any, Array], Array] | None = None) -> None:  # fmt: skip
        super().__init__(configuration, acceleration, stiff=stiff, excess=excess)
        self.__dict__.update(inertia=inertia, wrench=wrench)

    inertia: Array
    wrench: Callable[[Any, Array, Array], Array] | None


@functools.lru_cache(maxsize=64)
def bundle(configuration: Manifold, states: int) -> Manifold:
    """Return the manifold of configurations, their velocities, and further states."""
    return product([configuration, vector(configuration.nv + states)])
