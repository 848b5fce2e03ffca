"""Warn when an explicit method amplifies an undamped oscillation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.checks import warn
from engine.components.component import SimulationWarning
from engine.integrate import Mechanical, Method
from engine.model import Model
from engine.spatial.manifold import vector

Array = np.ndarray
#: of an amplitude in a step: by more it doubles in 20 000 steps
GROWS = 3.5e-5
#: of h |λ|: no method that is of order two or more makes slower swings grow so much
SLOW = 0.1


def warn_of_growing_swings(model: Model, method: Method, dt: float, moving: Array, systems: Sequence[Array]) -> None:
    """Warn of the swings of ẏ = A y with y = (x, ẋ), of the velocities ``moving``, that steps of dt make grow: in most configurations, of
    each of which there is an A, for laws are steep in postures that are singular."""
    found = []
    for A in systems:
        rates, shapes = np.linalg.eig(A)
        grows = [(growth(method, dt, x), k) for k, x in enumerate(rates) if x.imag * dt > SLOW and x.real <= 0.0]
        worst, at = max(grows, default=(0.0, 0))
        found.append((worst, float(abs(rates[at])), int(moving[np.abs(shapes[: len(moving), at]).argmax()])))
    worst, fast, at = sorted(found)[(len(found) - 1) // 2]
    if worst <= GROWS:
        return
    joint = model.labels("v")[at]
    known = "" if method.name == "rkmk4" else ", or integrator='rkmk4'"
    warn(f"'{model.name}' swings at {fast:.3g} rad/s at '{joint}', and steps of {dt:g} s by '{method.name}' make that grow, to twice as "
         f"much in {np.log(2.0) / np.log1p(worst) * dt:.2g} s; expected a dt of {0.3 / fast:.2g} s or less, more damping{known}",
         SimulationWarning)  # fmt: skip


def growth(method: Method, dt: float, rate: complex) -> float:
    """Return by how much of it a step of dt makes an oscillation grow that in truth is as exp(λ t).

    >>> from engine.integrate import method_named
    >>> growth(method_named("cg4"), 0.05, 10j) > 2e-4, growth(method_named("rkmk4"), 0.05, 10j) < 0.0
    (True, True)
    """
    spring, damper = abs(rate) ** 2, -2.0 * rate.real
    system = Mechanical(vector(1), lambda t, q, w: -spring * q - damper * w)
    with np.errstate(all="ignore"):
        step = np.stack([method.advance(system, 0.0, dt, y) for y in np.eye(2)], axis=1)
    return float(np.abs(np.linalg.eigvals(step)).max() - 1.0) if np.isfinite(step).all() else np.inf
