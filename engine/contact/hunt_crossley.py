"""Hunt & Crossley's contact force, a nonlinear spring with damping f = k δ (1 + d δ̇)₊, as a normal impulse over a step."""

from __future__ import annotations

from typing import Any

from engine import ops

#: c of x⁺ = x̃ + c h (u − ũ): how far what an impulse changes of a speed moves it within the step, if it acts evenly; or at once, as the
#: flight beside it is one that Euler's implicit method would have
EVENLY, AT_ONCE = 0.5, 1.0


def weight(k: Any) -> Any:
    """Return σ = κ/(1 + κ): where between the middle of a step (0) and its end (1) a force of stiffness κ is evaluated."""
    return k / (1.0 + k)


def normal_impulse(k: Any, d: Any, h: Any, s: Any, way: Any, gap: Any, before: Any, free: Any, u: Any) -> tuple[Any, Any]:
    """Return γ ≥ 0 and its slope −∂γ/∂u, of a contact that opens at a speed u after a step of h.

    Flight ends with the gap x̃ and its rate ũ (``free``), from u₀ (``before``), and the step at x⁺ = x̃ + c h (u − ũ). Its middle is about
    at x⁺ − h u/2 + h (u − u₀)/8, and what a stiffer spring is to meet lies at x⁺ + (1 − c) h (u − u₀); depth and rate are taken between the
    two by σ (``s``). In the middle is of second order; at the end, damped. The depth is a mean over the step, :func:`mean_depth`, so that a
    step in which the contact is made or lost counts by its part in contact.

    Parameters
    ----------
    k : stiffness, N/m; d : dissipation, s/m; h : s
    s : σ of :func:`weight`, for κ = h² k w, where w is the velocity that a unit impulse leaves
    way : c, EVENLY or AT_ONCE

    >>> [float(x) for x in normal_impulse(1000.0, 0.0, 0.001, 0.0, EVENLY, -0.01, 0.0, 0.0, 0.0)]
    [0.01, 0.000125]
    """
    share = (way - 0.375) + (1.375 - way) * s
    depth = -gap - h * (share * u - way * free - (0.125 * (1.0 - s) + (1.0 - way) * s) * before)
    rate = -0.5 * ((1.0 - s) * before + (1.0 + s) * u)
    mean, part = mean_depth(depth, 0.25 * (1.0 - s) * h * abs(before + free))
    spring, loss = h * k * mean, ops.maximum(1.0 + d * rate, 0.0)
    slope = h * k * h * share * part * loss + ops.where(loss > 0.0, spring * d * 0.5 * (1.0 + s), 0.0)
    return spring * loss, slope


def lasts(h: Any, way: Any, gap: Any, free: Any, u: Any) -> Any:
    """Return whether a contact that opens at u after a step of h is not open a step later, if flight ended with a gap and its rate.

    Beside what is stiff (``way`` is AT_ONCE) speeds die out within a step, and the next flight closes what this one has closed.

    >>> [bool(lasts(0.001, way, -5e-4, -1.0, 0.2)) for way in (EVENLY, AT_ONCE)]
    [False, True]
    """
    rate = u + (2.0 * way - 1.0) * ops.minimum(free - u, 0.0)
    return gap + way * h * (u - free) + h * rate < 0.0


def mean_depth(x: Any, r: Any) -> tuple[Any, Any]:
    """Return the mean of max(y, 0) over y from x − r to x + r (r ≥ 0), and its slope in x: the part of that range above zero.

    >>> [tuple(float(y) for y in mean_depth(x, 2.0)) for x in (0.0, 3.0, -3.0)]
    [(0.5, 0.5), (3.0, 1.0), (0.0, 0.0)]
    """
    within = ops.minimum(ops.maximum(x + r, 0.0), 2.0 * r)                     # how much of the range is above zero
    part = ops.where(x > r, 1.0, within / ops.maximum(2.0 * r, 1e-300))
    return ops.where(x > r, x, 0.5 * within * part), part
