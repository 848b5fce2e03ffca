"""Reference trajectories for controllers to follow, as functions of time.

A joint reference is a function ``t -> (q_d, v_d, a_d)``: configuration (nq), velocity and acceleration (nv). A link's reference is a
function ``t -> (T_d, V_d, A_d)``: pose (4×4), twist in the wanted link's frame and its rate (6). Both are traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown
from engine.components.component import SimulationError
from engine.components.picklable_closures import picklable
from engine.model import Model
from engine.spatial import se3

Array = np.ndarray
Reference = Callable[[Any], tuple[Any, Any, Any]]


def blend(t: Any, duration: float, start: float = 0.0) -> tuple[Any, Any, Any]:
    """s from 0 to 1 within ``duration`` from ``start`` on, with the least jerk, and its two rates: s = 10 x³ − 15 x⁴ + 6 x⁵.

    >>> [float(x) for x in blend(1.0, 2.0)]
    [0.5, 0.9375, 0.0]
    """
    x = ops.minimum(ops.maximum((t - start) / duration, 0.0), 1.0)
    s = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
    rate = 30.0 * x * x * (1.0 - x) * (1.0 - x) / duration
    return s, rate, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / duration**2


@picklable
def minimum_jerk(model: Model, start: Array, end: Array, duration: float) -> Reference:
    """Return a minimum-jerk reference from one configuration to another (nq) along the manifold, and then at rest.

    >>> import numpy as np
    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> reference = engine.simulation.controllers.minimum_jerk(arm, arm.neutral(), arm.neutral() + 0.4, 2.0)
    >>> q, v, a = reference(1.0)  # half the time, half the way; the speed is 15/8 of the mean one
    >>> print(q[0].round(9), v[0].round(9))
    0.2 0.375
    """
    require_model(model, "minimum_jerk")
    number("minimum_jerk: the duration", duration, "seconds greater than zero", above=0.0, error=SimulationError)
    q0, d = model.normalized(start), model.difference(start, end)

    def reference(t: Any) -> tuple[Any, Any, Any]:
        s, rate, change = blend(t, duration)
        return model.manifold.plus(q0, s * d), rate * d, change * d

    return reference


@picklable
def minimum_jerk_pose(start: Array, end: Array, duration: float) -> Reference:
    """Return a minimum-jerk reference from one pose to another (4×4) along a screw, and then at rest.

    >>> import numpy as np
    >>> import engine
    >>> there = engine.spatial.se3.pose(np.eye(3), np.array([2.0, 0, 0]))
    >>> pose, twist, rate = engine.simulation.controllers.minimum_jerk_pose(np.eye(4), there, 2.0)(1.0)
    >>> print(pose[0, 3].round(9), twist[3].round(9))  # m, m/s: half the way at 15/8 of the mean speed
    1.0 1.875
    """
    number("minimum_jerk_pose: the duration", duration, "seconds greater than zero", above=0.0, error=SimulationError)
    T0, T1 = (numbers(f"minimum_jerk_pose: {what}", T, SimulationError) for what, T in (("start", start), ("end", end)))
    for T in (T0, T1):
        if T.shape != (4, 4):
            raise SimulationError(f"minimum_jerk_pose: a pose has shape {T.shape}; expected (4, 4)")
    d = se3.log(se3.inv(T0) @ T1)

    def reference(t: Any) -> tuple[Any, Any, Any]:
        s, rate, change = blend(t, duration)
        return T0 @ se3.exp(s * d), rate * d, change * d

    return reference


def followed(what: str, reference: Reference, position: tuple[int, ...], velocity: tuple[int, ...]) -> Reference:
    """A reference whose results are looked at."""
    if not callable(reference):
        raise SimulationError(f"{what}: the reference is {reference!r}; expected a function of t, such as minimum_jerk makes")

    def looked_at(t: Any) -> tuple[Any, Any, Any]:
        result = reference(t)
        if not isinstance(result, tuple) or len(result) != 3:
            found = f"{len(result)} things" if isinstance(result, tuple) else type(result).__name__
            raise SimulationError(f"{what}: the reference returned {found}; expected three: where, its velocity and acceleration")
        shapes, wanted = [np.shape(x) for x in result], [position, velocity, velocity]
        if shapes != wanted:
            text = ", ".join(map(str, shapes)), ", ".join(map(str, wanted))
            raise SimulationError(f"{what}: the reference returned shapes {text[0]}; expected {text[1]}")
        return result

    return looked_at


def require_model(model: Any, what: str) -> None:
    """Refuse what is no model."""
    if not isinstance(model, Model):
        raise SimulationError(f"{what}: model is {shown(model)}; expected a Model (engine.load_urdf makes one from a file)")
