"""The LuGre friction model of drives: bristles that bend before they slip."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.checks import number
from engine.components.component import Component, Context, Effect, SimulationError
from engine.components.forces import one_coordinate, units_at
from engine.model import Model

Array = np.ndarray
#: a time before which no step has begun yet, s
NEVER = 1e300
#: below which (1 − e^−a)/a is a series
SMALL = 1e-2


class LuGre(Component):
    """Friction in a joint with one coordinate, such as a drive's rotor: τ = −(σ₀ z + σ₁ ż + σ₂ v), of a bristle that bends by z.

    With g(v) = F_c + (F_s − F_c) exp(−(v/v_s)²) the bristle follows ż = v − σ₀ |v| z/g(v), which at a speed that is held is exactly::

        z(h) = z∞ + (z − z∞) exp(−σ₀ |v| h/g(v)),   z∞ = g(v) sgn(v)/σ₀                                                      (1)

    so that no step is too long for it. Within a step of h it is (1) of the mean of the speeds at its beginning and then, which is of
    second order; below the break-away force the joint is a spring σ₀ and holds.

    Parameters
    ----------
    joint : its joint; of a :class:`FlexibleJoint` the rotor's, "motor of …"
    coulomb, static : F_c and F_s, N·m (N): what slipping takes, and breaking away; F_s is F_c by default
    stiffness : σ₀, N·m/rad; damping : σ₁, N·m·s/rad; viscous : σ₂, N·m·s/rad (N/m, N·s/m)
    stribeck : v_s, rad/s (m/s)

    Signals: ``force`` τ, ``bristle`` z, and ``energy``, σ₀ z²/2, J.

    Raises
    ------
    SimulationError : a number that is out of its range; F_s below F_c

    Reference: Canudas de Wit, Olsson, Åström & Lischinsky, *A new model for control of systems with friction*, IEEE TAC 40 (1995).

    >>> float(LuGre("elbow", coulomb=1.0, static=1.5, stiffness=1e5).slips_at(0.0))
    1.5
    """

    def __init__(self, joint: str, coulomb: float, static: float | None = None, stiffness: float = 1e5, damping: float = 0.0,
                 viscous: float = 0.0, stribeck: float = 1e-3, name: str = "") -> None:  # fmt: skip
        self.joint, self.name = joint, name or f"bristles of {joint}"
        self.coulomb, self.static = coulomb, coulomb if static is None else static
        self.stiffness, self.damping, self.viscous, self.stribeck = stiffness, damping, viscous, stribeck
        for what in ("coulomb", "static", "stiffness", "stribeck"):
            number(f"{self.name}: {what}", getattr(self, what), "a number above 0", above=0.0, error=SimulationError)
        for what in ("damping", "viscous"):
            number(f"{self.name}: {what}", getattr(self, what), "zero or more", least=0.0, error=SimulationError)
        if self.static < self.coulomb:
            raise SimulationError(f"{self.name}: static is {self.static:g}, and coulomb {self.coulomb:g}; expected no less than that")
        self.memory = np.array([0.0, NEVER, 0.0])                              # z, when, and the speed then

    def bind(self, model: Model, dt: float) -> None:
        _, self.j = one_coordinate(model, self.joint, self.name)
        self.units = dict(zip(("bristle", "force"), units_at(model, self.joint), strict=True))

    def slips_at(self, v: Any) -> Any:
        """Return g(v), the force at which it slips at a steady speed."""
        return self.coulomb + (self.static - self.coulomb) * ops.exp(-(v / self.stribeck) * (v / self.stribeck))

    def bent(self, memory: Array, t: Any, v: Any) -> Any:
        """Return z at t, s, when the speed is v (1)."""
        z, begun, before = memory
        mean, h = 0.5 * (before + v), ops.maximum(t - begun, 0.0)
        a = self.stiffness * abs(mean) * h / self.slips_at(mean)               # (1), z∞ a = v h: smooth where it stands
        left, small = ops.exp(-a), a < SMALL
        series = 1.0 - a / 2.0 * (1.0 - a / 3.0 * (1.0 - a / 4.0 * (1.0 - a / 5.0 * (1.0 - a / 6.0))))
        return z * left + mean * h * ops.where(small, series, (1.0 - left) / ops.where(small, 1.0, a))

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        v = s.v[self.j]
        return ops.array([self.bent(memory, s.t, v), s.t, v])

    def goes_on(self, s: Context, memory: Array) -> Array:
        return ops.array([self.bent(memory, s.t, s.v[self.j])])

    def recalled(self, s: Context, numbers: Array) -> Array:
        return ops.array([numbers[0], s.t, s.v[self.j]])

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        v = s.v[self.j]
        z = self.bent(memory, s.t, v)
        rate = v - self.stiffness * abs(v) * z / self.slips_at(v)
        tau: list[Any] = [0.0] * s.model.nv
        tau[self.j] = -(self.stiffness * z + self.damping * rate + self.viscous * v)
        return Effect(tau=ops.array(tau), signals={"force": tau[self.j], "bristle": z, "energy": 0.5 * self.stiffness * z * z})
