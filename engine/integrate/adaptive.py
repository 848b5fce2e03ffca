"""Steps that choose their own size: an estimate of a step's error in the tangent space, and the next step it asks for.

A method with an embedded one compares the two. Any other takes a step h and two of h/2, whose difference is 2^p − 1 times the error of the
two; the error is taken off (local extrapolation), on the group. It is measured entry by entry in the tangent space at the new state,
against weights of 1 for angles, 1 + |p| for positions and 1 + |v| for vectors.

Reference: Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, §II.4; Söderlind, *Digital filters in adaptive
time-stepping*, ACM TOMS 29 (2003), for the PI controller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.integrate.method import Method
from engine.integrate.system import System
from engine.spatial.manifold import MOTION, Manifold

Array = np.ndarray


def attempt(method: Method, system: System, t: Any, h: Any, x: Array) -> tuple[Array, Any]:
    """The state after h, and its estimated error in units of the weights. Traceable."""
    space = system.space
    if method.embedded is not None:
        after, error = method.embedded(system, t, h, x)
    else:
        whole = method.advance(system, t, h, x)
        halves = method.advance(system, t + 0.5 * h, 0.5 * h, method.advance(system, t, 0.5 * h, x))
        error = space.minus(whole, halves) * (1.0 / (2**method.order - 1))
        after = space.plus(halves, error)
    after = space.normalized(after)
    return after, ops.largest(error / weights(space, after))


def weights(space: Manifold, x: Array) -> Array:
    """What an error of each velocity's entry is measured against (nv)."""
    parts: list[Any] = []
    for m, i, j in space.parts:
        if m is MOTION:
            far = 1.0 + ops.norm(x[i][4:])
            parts += [1.0, 1.0, 1.0, far, far, far]
        elif m.flat:
            parts += [1.0 + ops.absolute(y) for y in x[i]]
        else:
            parts += [1.0] * (j.stop - j.start)
    return np.array(parts)


def factor(order: int, error: float, before: float, tolerance: float) -> float:
    """Next step over this one, from the errors of this step and of the one before: the error per step is to be the tolerance."""
    now, then = max(error / tolerance, 1e-10), max(before / tolerance, 1e-10)
    return float(np.clip(0.9 * now ** (-0.7 / (order + 1)) * then ** (0.4 / (order + 1)), 0.2, 5.0))
