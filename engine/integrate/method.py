"""A method is its name, its order, a few flags and one step; registering it (in a file that ``engine.integrate`` imports) makes it
available by name, and enrols it in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, nearest
from engine.integrate.system import System

Array = np.ndarray
#: ``complete(t, h, x, after)`` -> the state that impulses leave, and what is noted of them
Complete = Callable[[Any, Any, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Method:
    """A one-step method.

    Attributes
    ----------
    order : the error after a fixed time is of the size h^order
    advance : ``advance(system, t, h, x)``, the state x⁺ after a step of h; traceable
    evaluations, exponentials : of the field, and of the configuration's exponential (or Cayley map), in a step; of implicit methods, in
        a pass of Newton's method
    takes : the kind of system that it steps: System (any), Mechanical (q̇ = q·v), or FreeBody (with its inertia and wrench)
    implicit : whether a step solves equations; where that fails the new state is NaN
    reversible : whether a step of −h undoes a step of h
    conserves : what a free rigid body keeps to rounding: "energy", "momentum" (in the world); others drift by the order
    stiff : whether it solves its stages with the stiff part that the system gives, once a step
    symplectic : whether the energy error stays bounded, without a trend
    embedded : ``embedded(system, t, h, x)``, the new state and an estimate of its error in the tangent space, where a method has one
    project : brings a new state back onto invariants (see :func:`conserving`); None for methods as they are registered
    complete : what acts by impulses after a step (see :func:`completed`); None for methods as they are registered

    >>> from engine.integrate import METHODS
    >>> METHODS["rk4"].order, METHODS["rk4"].evaluations, METHODS["implicit_midpoint"].implicit
    (4, 4, True)
    """

    name: str
    order: int
    advance: Callable[[Any, Any, Any, Array], Array]
    evaluations: int
    exponentials: int
    source: str
    takes: type[System] = System
    implicit: bool = False
    reversible: bool = False
    conserves: tuple[str, ...] = ()
    symplectic: bool = False
    stiff: bool = False
    embedded: Callable[[Any, Any, Any, Array], tuple[Array, Array]] | None = None
    project: Callable[[Array], Array] | None = None
    complete: Complete | None = None


METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Make a method available by its name, and return it."""
    METHODS[method.name] = method
    return method


def method_named(name: Any, error: type[EngineError] = EngineError) -> Method:
    """Return the method of that name.

    >>> from engine.integrate import method_named
    >>> method_named("rk4").order
    4
    """
    if not isinstance(name, str) or name not in METHODS:
        raise error(f"no integrator '{name}'{nearest(str(name), METHODS)}; expected one of {', '.join(METHODS)}")
    return METHODS[name]


def conserving(method: Method, project: Callable[[Array], Array]) -> Method:
    """Return the method with each new state projected onto invariants of the motion, whose values are states of their own.

    ``project(x)`` moves x (nx) to where its configuration and velocity have the invariants that its further states say.
    Reference: Hairer, Lubich & Wanner, *Geometric Numerical Integration*, §IV.4.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, conserving, settled_step
    >>> from engine.spatial.manifold import vector
    >>> turning = System(vector(2), lambda t, x: np.array([-x[1], x[0]]))
    >>> method = conserving(METHODS["rk4"], lambda x: x / np.linalg.norm(x))
    >>> float(np.linalg.norm(settled_step(method, turning, 0.0, 0.5, np.array([1.0, 0.0]))).round(12))
    1.0
    """
    return replace(method, project=project)


def completed(method: Method, complete: Complete) -> Method:
    """Return the method with impulses after each step: ``complete(t, h, x, after)`` of the states (nx) before a step of h and after it is
    the state that they leave, and what is noted of them.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, completed, settled_step
    >>> from engine.spatial.manifold import vector
    >>> floor = completed(METHODS["rk4"], lambda t, h, x, after: (np.maximum(after, 0.0), np.zeros(0)))
    >>> settled_step(floor, System(vector(1), lambda t, x: -np.ones(1)), 0.0, 0.5, np.array([0.2]))
    array([0.])
    """
    return replace(method, complete=complete)


def carrying(method: Method, n: int, flight: Callable[[Any, Any, Array, Array], Array],
             relieving: Callable[..., Callable[[Array, Array], Array]]) -> Method:  # fmt: skip
    """Return the method for states that end with a force (n) which lasts from step to step: flights take it along, and are freed of it.

    Parameters
    ----------
    flight : ``flight(t, h, x, force)``, the state without the force after a step by the method under it
    relieving : ``relieving(t, h, x)``, of such a state before a step of h from t, is the map of one after it with the force, and of that
    """

    def advance(_: System, t: Any, h: Any, x: Array) -> Array:
        force = x[-n:]
        lasts = ops.largest(force) > 0.0
        under = np.array([ops.where(lasts, f, 0.0) for f in force])             # where it is zero, nothing changes with it
        after, relieved = flight(t, h, x[:-n], under), relieving(t, h, x[:-n])
        return np.concatenate([ops.when(lasts, lambda: relieved(after, force), after), force])

    return replace(method, advance=advance)


def keeping(method: Method, n: int, flight: System) -> Method:
    """Return the method for states that end with numbers (n) which flights, of a system without them, leave as they are.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, keeping, settled_step
    >>> from engine.spatial.manifold import vector
    >>> grows = lambda t, x: np.ones(len(x))
    >>> method = keeping(METHODS["rk4"], 1, System(vector(1), grows))
    >>> settled_step(method, System(vector(2), grows), 0.0, 0.5, np.array([1.0, 7.0]))
    array([1.5, 7. ])
    """

    def advance(_: System, t: Any, h: Any, x: Array) -> Array:
        return np.concatenate([method.advance(flight, t, h, x[:-n]), x[-n:]])

    return replace(method, advance=advance)


def step(method: Method, system: System, t: Any, h: Any, x: Array) -> Array:
    """Return the state after one step of size h from (t, x), as the method gives it.

    >>> from engine.integrate import Mechanical
    >>> from engine.spatial.manifold import vector
    >>> swing = Mechanical(vector(1), lambda t, q, v: -q)
    >>> x = step(METHODS["cg4"], swing, 0.0, 0.1, np.array([1.0, 0.0]))
    >>> bool(abs(x[0] - np.cos(0.1)) < 1e-7)
    True
    """
    return method.advance(system, t, h, x)


def settled(method: Method, system: System, x: Array) -> Array:
    """Return a new state with unit quaternions, and on the invariants that the method conserves.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, Mechanical, settled
    >>> from engine.spatial import manifold
    >>> turning = Mechanical(manifold.ROTATION, lambda t, q, v: np.zeros(3))
    >>> settled(METHODS["cg4"], turning, np.array([2.0, 0, 0, 0, 1, 2, 3]))[:4]
    array([1., 0., 0., 0.])
    """
    x = system.space.normalized(x)
    return x if method.project is None else method.project(x)


def settled_step(method: Method, system: System, t: Any, h: Any, x: Array) -> Array:
    """Return the :func:`settled` state after one step of size h from (t, x), and after its impulses: what runs repeat.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, settled_step
    >>> from engine.spatial.manifold import vector
    >>> settled_step(METHODS["rk4"], System(vector(1), lambda t, x: 2.0 * np.ones(1)), 0.0, 0.5, np.zeros(1))
    array([1.])
    """
    return noted_step(method, system, t, h, x)[0]


def noted_step(method: Method, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Array]:
    """Return :func:`settled_step`, and what is noted of its impulses.

    >>> import numpy as np
    >>> from engine.integrate import METHODS, System, noted_step
    >>> from engine.spatial.manifold import vector
    >>> noted_step(METHODS["rk4"], System(vector(1), lambda t, x: 2.0 * np.ones(1)), 0.0, 0.5, np.zeros(1))
    (array([1.]), array([], dtype=float64))
    """
    after = settled(method, system, step(method, system, t, h, x))
    return (after, np.zeros(0)) if method.complete is None else method.complete(t, h, x, after)
