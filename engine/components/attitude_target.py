"""Attitude references: a fixed rotation, or a function of time whose angular velocity and acceleration are derived."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.checks import numbers, shown
from engine.compiler.gufunc import Gufunc, shaped
from engine.compiler.transforms import jacobians
from engine.compiler.transforms.trace import TraceError, pure
from engine.components.component import NotFinite, SimulationError
from engine.model import Model
from engine.spatial import quaternion

Array = np.ndarray
#: a target at t, q, v: its quaternion (4), and (ω, ω̇) in its own axes, or None where it does not turn
Target = Callable[..., tuple[Array, tuple[Array, Array] | None]]
#: what functions of the state take, and those of an orbit's place and velocity too
OF_STATE, OF_ORBIT = ["t", "q", "v"], ["t", "q", "v", "origin"]


def attitude_target(what: str, model: Model, target: Any) -> Target:
    """Return a target as a function of t, q, v, refused or NaN where it is none.

    It is a unit quaternion, or a function of t, or of t, q, v, that returns one, or (quaternion, ω, ω̇). Rates that are not given are
    derived, exactly; of a function of the state along the :func:`motion` in which nothing accelerates. A function of t, q, v and the
    ``origin`` of an orbit, (place, velocity), returns them.
    """
    text = f"{what}: target"
    if not callable(target):
        fixed = np.zeros(0) if isinstance(target, str) else numbers(text, target, SimulationError)
        if fixed.shape != (4,) or not quaternion.is_unit(fixed):
            raise SimulationError(f"{text} is {shown(target)}; expected a unit quaternion [qw, qx, qy, qz], a function of t, or "
                                  "what engine.space.pointing returns")  # fmt: skip
        fixed = quaternion.normalize(fixed)
        return lambda t, q, v: (fixed, None)
    of_state, of_orbit = takes_state(text, target), takes_origin(target)

    @functools.cache
    def derived() -> Gufunc:
        try:
            return with_rates(model, pure(target), of_state)
        except TraceError as error:
            raise SimulationError(f"{text}: its rates cannot be derived, as it cannot be traced: {error}; expected one that can, or "
                                  "one that returns (quaternion, ω, ω̇)") from error  # fmt: skip

    def wanted(t: Any, q: Array, v: Array, origin: Any = None) -> tuple[Array, tuple[Array, Array] | None]:
        state = (t, q, v, origin) if of_orbit else (t, q, v) if of_state else (t,)
        result = target(*state)
        if isinstance(result, tuple) and len(result) != 4:
            if (shapes := [np.shape(x) for x in result]) != [(4,), (3,), (3,)]:
                found = ", ".join(map(str, shapes))
                raise SimulationError(f"{text} returned shapes {found}; expected a quaternion, ω and ω̇: (4,), (3,), (3,)")
            q_d, w, wdot = map(np.asarray, result)
            return looked_at(text, t, q_d, w, wdot), (w, wdot)
        q_d = np.asarray(result)
        if q_d.shape != (4,):
            raise SimulationError(f"{text} returned shape {q_d.shape}; expected a unit quaternion (4), or (quaternion, ω, ω̇)")
        looked_at(text, t, q_d)
        if of_orbit:
            raise SimulationError(f"{text} is of an orbit and returns no rates; expected (quaternion, ω, ω̇), as of engine.space.pointing")
        if not any(map(np.any, jacobians.sparsity(derived().program)[1:])):     # a function that says the same at all times
            return looked_at(text, t, q_d), None
        with np.errstate(invalid="ignore"):
            traced, w, wdot = derived()(*((0.0, *state) if of_state else state))
        if ops.graph_of(traced) is None and not np.allclose(traced, q_d, rtol=0.0, atol=1e-9):
            raise SimulationError(f"{text} returned {shown(q_d)}, and {shown(traced)} when its rates were derived: it depends on more than "
                                  "its arguments; expected one that does not, or one that returns (quaternion, ω, ω̇)")  # fmt: skip
        return looked_at(text, t, q_d, w, wdot), (w, wdot)

    return wanted


def takes_state(text: str, target: Callable[..., Any]) -> bool:
    """Return whether a function takes t, q, v, and not t alone."""
    try:
        given = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):                                            # a builtin without a signature
        return False
    names = [p.name for p in given if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(names) > 1 and names not in (OF_STATE, OF_ORBIT):
        raise SimulationError(f"{text} takes ({', '.join(names)}); expected a function of t, of t, q, v, or of t, q, v, origin")
    return len(names) > 1


def takes_origin(target: Callable[..., Any]) -> bool:
    """Return whether a function also takes an orbit's position and velocity."""
    try:
        return [*inspect.signature(target).parameters] == OF_ORBIT
    except (TypeError, ValueError):
        return False


def looked_at(text: str, t: Any, q_d: Array, *rates: Array) -> Array:
    """Return a quaternion, NaN where it is no unit one; on floats that, and rates that are not finite, are an error."""
    unit = quaternion.is_unit(q_d)
    if ops.graph_of(unit) is None and not unit:
        raise NotFinite(text, float(t), wild=False, what="a quaternion that is no unit one")
    if ops.graph_of(*rates) is None and not np.isfinite(np.concatenate([np.zeros(0), *rates])).all():
        raise NotFinite(text, float(t), wild=False, what="a quaternion whose rates are not finite")
    return ops.where(unit, q_d, np.nan)


# ---------------------------------------------------------------- rates that are derived


def with_rates(model: Model, target: Callable[..., Any], of_state: bool) -> Gufunc:
    """Return t -> (q_d, ω, ω̇), of a function of the state (s, t, q, v) -> (q_d, ω, ω̇), to be called with s = 0."""
    if not of_state:
        return shaped(lambda t: turning(target, t), "()->(4),(3),(3)")

    def along(s: Any, t: Any, q: Array, v: Array) -> tuple[Array, Array, Array]:
        return turning(lambda s: target(t + s, *motion(model, q, v, s)), s)

    return shaped(along, f"(),(),({model.nq}),({model.nv})->(4),(3),(3)")


def turning(target: Callable[[Any], Any], s: Any) -> tuple[Array, Array, Array]:
    """Return q, and with ω = 2 (q* q̇)/|q|² its rates (ω, ω̇) in its own axes, of a quaternion that is a function of a traced s."""

    def place(x: Array) -> Array:
        return np.asarray(target(x[0]))

    def rate(x: Array) -> Array:
        return ops.jacobian(place, x)[:, 0]

    x = ops.array([s])
    q, qdot, qddot = place(x), rate(x), ops.jacobian(rate, x)[:, 0]
    back, n = quaternion.conjugate(q), q @ q
    w = 2.0 * quaternion.product(back, qdot)[1:] / n
    return q, w, 2.0 * quaternion.product(back, qddot)[1:] / n - 2.0 * (q @ qdot) / n * w


def motion(model: Model, q: Array, v: Array, s: Any) -> tuple[Array, Array]:
    """Return q and v after a time s in which nothing accelerates: joints keep their velocities, and free bodies fly straight and turn
    as they do.

    A line from a centre to a body turns, and its turning changes, as in the centre's own field: θ̇ = h/r², θ̈ = −2 h ṙ/r³, and both
    motions keep the angular momentum h.
    """
    linear = [unit == "m" for b in model.bodies if not b.mimics for unit in b.kind.units]
    shift, turn = np.where(linear, s * v, 0.0), np.where(linear, 0.0, s * v)
    after = v.copy()
    for b in (b for b in model.bodies if b.kind.floats):
        w, own = v[b.v][:3], v[b.v][3:]
        after[b.v] = np.concatenate([w, quaternion.rotate(quaternion.exp(-s * w), own)])
    plus = model.manifold.plus
    return plus(plus(q, shift), turn), after
