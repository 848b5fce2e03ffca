"""Hunt & Crossley's force of a spring that pushes and loses, f = k δ (1 + d δ̇)₊, as an impulse over a step."""

from __future__ import annotations

from typing import Any

from engine import ops


def weight(k: Any) -> Any:
    """Return σ = κ/(1 + κ): where between the middle of a step (0) and its end (1) a force of stiffness κ is evaluated."""
    return k / (1.0 + k)


def normal_impulse(k: Any, d: Any, h: Any, s: Any, gap: Any, before: Any, free: Any, u: Any) -> tuple[Any, Any]:
    """Return γ ≥ 0 and its slope −∂γ/∂u, of a contact that opens at a speed u after a step of h.

    Flight ends with the gap x̃ and its rate ũ (``free``), from u₀ (``before``). With a constant impulse the middle of the step is at
    x̃ − h ũ/2 + h (u − u₀)/8, and what a stiffer spring is to meet lies at x̃ − h (u₀ + ũ)/2 + h u; depth and rate are taken between the
    two by σ (``s``). In the middle is of second order; at the end, damped.

    Parameters
    ----------
    k : stiffness, N/m; d : dissipation, s/m; h : s
    s : σ of :func:`weight`, for κ = h² k w, where w is the velocity that a unit impulse leaves

    >>> [float(x) for x in normal_impulse(1000.0, 0.0, 0.001, 0.0, -0.01, 0.0, 0.0, 0.0)]
    [0.01, 0.000125]
    """
    share = 0.125 + 0.875 * s
    depth = -gap - h * (share * u - 0.5 * free - (0.125 * (1.0 - s) + 0.5 * s) * before)
    rate = -0.5 * ((1.0 - s) * before + (1.0 + s) * u)
    spring, loss = h * k * ops.maximum(depth, 0.0), ops.maximum(1.0 + d * rate, 0.0)
    slope = ops.where(depth > 0.0, h * k * h * share, 0.0) * loss + ops.where(loss > 0.0, spring * d * 0.5 * (1.0 + s), 0.0)
    return spring * loss, slope
