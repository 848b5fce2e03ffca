"""Diagnosis of a run that ended in NaN or infinity: which function of the user's returned it first, or that the motion diverged."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.integrate import SUBSTEPS, FreeBody, Method
from engine.rigid_body import BodyError, ControlSystem, RigidBody
from engine.simulation.component import WILD, NotFinite
from engine.simulation.run import Diverged, Process
from engine.simulation.step import Step

Array = np.ndarray
#: steps that are taken again at once
PIECE = 1000


def ended(step: Step, stop: Diverged) -> str:
    """Return what of a robot stopped being finite, when, and why."""
    model, q, v = step.plant.model, step.layout.slices["q"].stop, step.layout.slices["v"].stop
    column = stop.column - 1
    what = (f"the configuration of joint '{model.entries('q')[column]}'" if column < q else
            f"the velocity of joint '{model.entries('v')[column - q]}'" if column < v else "a state, a force or a signal")  # fmt: skip
    turns = [q + model.bodies[i].v.start for i in model.roots if model.bodies[i].kind.floats]
    plain = Process(step.plain.step, step.plain.observe, False, step.process.example)
    why = reason(step.process, plain, stop, step.method, tuple(slice(i, i + 3) for i in turns))
    return f"{what} is no longer finite at t = {stop.t:.6g} s (dt = {step.dt:g} s): {why}"


def reason(process: Process, plain: Process, stop: Diverged, method: Method, turns: tuple[slice, ...]) -> str:
    """Return why a run stopped being finite.

    Parameters
    ----------
    process, plain : what ran, and the same lines on floats, with functions of the user's that raise NotFinite
    turns : where in a state (n) angular velocities lie
    """
    y, blamed = blame(process, plain, stop)
    if blamed:
        return blamed + (f", in rollout {list(stop.row)}" if stop.row else "")
    if method.implicit:
        turn = max((float(np.linalg.norm(y[i])) for i in turns), default=0.0)
        cut = f", even cut into {SUBSTEPS}" if method.takes is FreeBody else ""
        return f"Newton's method did not converge in a step with h|ω| = {stop.dt * turn:.3g}{cut}; expected a smaller dt or gentler forces"
    return "the motion diverges; expected a smaller dt or gentler forces"


def blame(process: Process, plain: Process, stop: Diverged) -> tuple[Array, str]:
    """Take the steps since the last good record again, on floats; return the last good state (n), and what a function of the user's did."""
    p, last, t, dt, left = stop.p, stop.x, np.float64(stop.begin), stop.dt, stop.steps
    try:
        with np.errstate(all="ignore"):
            while process.compiled and left > 1:                               # as far as it goes well, a piece at a time
                again = process.kernel(())(np.ones(min(left - 1, PIECE)), t, 0.0, dt, p, last)
                good = int(np.append(np.isfinite(again).all(axis=1), False).argmin())
                if good:
                    t, last = again[good - 1, 0], again[good - 1, 1 : 1 + process.n]
                left -= good
                if good < len(again):
                    left = 1
            plain.observe(t, 0.0, dt, p, last)
            y = last
            for k in range(left):
                y = plain.step(t, float(k), dt, p, y)
                plain.observe(t, k + 1.0, dt, p, y)
                last = y if np.isfinite(y).all() else last
    except NotFinite as found:
        return last, "" if found.wild else found.text
    except BodyError as found:
        return last, str(found)
    except Exception:                                                          # NaN met on floats by a check, or by the user's code
        pass
    return last, ""


def watched(system: ControlSystem) -> ControlSystem:
    """Return a copy of a system whose functions of the user's raise NotFinite."""
    return changed(system, lambda name, fn: watch(f"{system.name}.{name}", fn))


def changed(system: ControlSystem, change: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> ControlSystem:
    """Return a copy of a system in which each function of the user's is ``change(name, function)``."""
    own = copy.copy(system)
    for name in ("forces", "moments", "wrench", "mass", "inertia") if isinstance(system, RigidBody) else ("dynamics",):
        fn = getattr(own, name, None)
        if callable(fn) and getattr(fn, "__func__", fn) is not getattr(RigidBody, name, None):
            setattr(own, name, change(name, fn))
    return own


def watch(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of (..., t) that raises NotFinite where it returns what is not finite, or a mass that is none."""

    @functools.wraps(fn)
    def watching(*given: Any, **named: Any) -> Any:
        result, args = fn(*given, **named), (*given, *named.values())
        wild = not all((np.abs(np.asarray(a, dtype=float)) <= WILD).all() for a in args)
        t = float(named.get("t", args[-1]))
        if not np.isfinite(np.asarray(result, dtype=float)).all():
            raise NotFinite(name, t, wild)
        if name.endswith(".mass") and np.asarray(result) <= 0.0:
            raise NotFinite(name, t, wild, f"{float(result):.6g} kg")
        return result

    return watching
