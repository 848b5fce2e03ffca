"""A method is its name, its order, a few flags and one step; registering it makes it available by name, and enrols it in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.integrate.system import System

Array = np.ndarray


@dataclass(frozen=True)
class Method:
    """A one-step method.

    Attributes
    ----------
    order : the error after a fixed time is of the size h^order
    advance : ``advance(system, t, h, x)``, the state x⁺ after a step of h; traceable
    evaluations, exponentials : of the field, and of the configuration's exponential (or Cayley map), in a step; of implicit methods, in
        a pass of Newton's method
    takes : "field" (any system), "mechanical" (q̇ = q·v), or "free body" (a single rigid body, with its inertia and wrench)
    implicit : whether a step solves equations; where that fails the new state is NaN
    reversible : whether a step of −h undoes a step of h
    conserves : what a free rigid body keeps to rounding: "energy", "momentum" (in the world); others drift by the order
    symplectic : whether the energy error stays bounded, without a trend
    embedded : ``embedded(system, t, h, x)``, the new state and an estimate of its error in the tangent space, where a method has one
    """

    name: str
    order: int
    advance: Callable[[Any, Any, Any, Array], Array]
    evaluations: int
    exponentials: int
    source: str
    takes: str = "field"
    implicit: bool = False
    reversible: bool = False
    conserves: tuple[str, ...] = ()
    symplectic: bool = False
    embedded: Callable[[Any, Any, Any, Array], tuple[Array, Array]] | None = None


METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Make a method available by its name."""
    METHODS[method.name] = method
    return method


def step(method: Method, system: System, t: Any, h: Any, x: Array) -> Array:
    """The state after one step of size h from (t, x).

    >>> from engine.integrate import Mechanical
    >>> from engine.spatial.manifold import vector
    >>> swing = Mechanical(vector(1), lambda t, q, v: -q)
    >>> x = step(METHODS["cg4"], swing, 0.0, 0.1, np.array([1.0, 0.0]))
    >>> bool(abs(x[0] - np.cos(0.1)) < 1e-7)
    True
    """
    return method.advance(system, t, h, x)
