"""A general affine actuator: f = gain(ℓ, ℓ̇)·u + bias(ℓ, ℓ̇), as MuJoCo's ``general``, on joints or on a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, number, numbers, warn
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.model import Model

Array = np.ndarray
DYNAMICS = ("none", "integrator", "filter")
NO_WRENCH = (0.0,) * 6


class GeneralActuator(Component):
    """An actuator with the force f = g(ℓ, ℓ̇) u + b(ℓ, ℓ̇), on joints or on a link; its command is u (a number).

    With the gears gᵢ its length and speed are ℓ = Σ gᵢ qᵢ and ℓ̇ = Σ gᵢ vᵢ, and joint i feels gᵢ f. A position servo has the gain
    (k, 0, 0) and the bias (0, −k, −d), a velocity servo (k, 0, 0) and (0, 0, −k), a damper that is commanded (0, 0, −d).

    Parameters
    ----------
    joints : gears by joints' names: a number, or one for each velocity of a joint with several, which has no length
    link, wrench : instead, a link and the wrench [m; f] (6) of f = 1 in its frame, about its origin; the length is zero
    gain, bias : (3): each x₀ + x₁ ℓ + x₂ ℓ̇
    command_range, force_range, state_range : least and largest u, f and a, or None
    dynamics : "none"; or what stands in place of u, a state a of its own: "integrator", ȧ = u, or "filter", ȧ = (u − a)/time
    time : s, of the filter

    Signals: ``force`` f, ``length`` ℓ.

    >>> GeneralActuator({"elbow": 2.0}, gain=(5.0, 0.0, 0.0), bias=(0.0, -5.0, -1.0)).name
    'actuator of elbow'
    """

    command = ()

    def __init__(self, joints: Mapping[str, Any] | None = None, link: str = "", wrench: Sequence[float] = NO_WRENCH,
                 gain: Sequence[float] = (1.0, 0.0, 0.0), bias: Sequence[float] = (0.0, 0.0, 0.0),
                 command_range: Sequence[float] | None = None, force_range: Sequence[float] | None = None, dynamics: str = "none",
                 time: float = 1.0, state_range: Sequence[float] | None = None, name: str = "") -> None:  # fmt: skip
        self.joints, self.link, self.dynamics, self.time = dict(joints or {}), link, dynamics, time
        self.name = name or f"actuator of {', '.join(self.joints) or link}"
        if bool(self.joints) == bool(link):
            raise SimulationError(f"{self.name}: joints are {joints!r} and link is {link!r}; expected one of them")
        self.wrench, self.gain, self.bias = self.row("wrench", wrench, 6), self.row("gain", gain, 3), self.row("bias", bias, 3)
        self.aims = bool(self.bias[1])                                         # a spring to where the command says
        self.command_range, self.force_range, self.state_range = (
            self.span(what, x) for what, x in (("command", command_range), ("force", force_range), ("state", state_range)))  # fmt: skip
        if dynamics not in DYNAMICS:
            raise SimulationError(f"{self.name}: dynamics is {dynamics!r}{nearest(str(dynamics), DYNAMICS)}; expected one of "
                                  f"{', '.join(DYNAMICS)}")  # fmt: skip
        number(f"{self.name}: time", time, "seconds above 0", above=0.0, error=SimulationError)
        self.state, self.bounds = np.zeros(0 if dynamics == "none" else 1), int(force_range is not None)
        most = np.inf if self.force_range is None else float(np.abs(self.force_range).max())
        self.efforts = {joint: most * float(np.abs(gear).max()) if np.any(gear) else 0.0 for joint, gear in self.joints.items()}

    def row(self, what: str, x: Any, n: int) -> Array:
        """Return n finite numbers."""
        a = numbers(f"{self.name}: {what}", x, SimulationError)
        if a.shape != (n,):
            raise SimulationError(f"{self.name}: {what} is {x!r}; expected {n} numbers")
        return a

    def span(self, what: str, x: Any) -> tuple[float, float] | None:
        """Return a range's ends, or None."""
        if x is None:
            return None
        low, high = self.row(f"{what}_range", x, 2)
        if not low <= high:
            raise SimulationError(f"{self.name}: {what}_range is {x!r}; expected the least number first")
        return float(low), float(high)

    def bind(self, model: Model, dt: float) -> None:
        self.arms, self.reach = np.zeros(model.nv), np.zeros(model.nq)
        if self.bias[2] > 0.0:
            warn(f"{self.name}: its bias is {self.bias[2]:g} times the speed, which drives what it acts on, and is integrated as it is; "
                 "expected zero or less (a servo's gains are kp = -bias[1], kv = -bias[2])", SimulationWarning)  # fmt: skip
        if self.link:
            model.link_index(self.link)
        for joint, gear in self.joints.items():
            q, v = model.q_slice(joint), model.v_slice(joint)
            n = v.stop - v.start
            if not n or model.joint(joint).mimic is not None:
                raise SimulationError(f"{self.name}: joint '{joint}' is fixed or follows another; expected one that moves by itself")
            self.arms[v] = self.row(f"the gear of '{joint}'", [gear] if np.ndim(gear) == 0 else gear, n)
            if model.joint(joint).type.adds:
                self.reach[q] = self.arms[v]
            elif self.gain[1] or self.bias[1]:
                raise SimulationError(f"{self.name}: joint '{joint}' is {model.joint(joint).kind}, which has no length; expected a gain "
                                      "and a bias without one")  # fmt: skip

    def activity(self, state: Array, command: Any) -> Any:
        """Return what the gain multiplies."""
        if self.dynamics != "none":
            return state[0]
        return clipped(0.0 if command is None else command, self.command_range)

    def rate(self, state: Array, command: Any) -> Array:
        """Return ȧ (1): nothing leads on beyond the range."""
        u: Any = clipped(0.0 if command is None else command, self.command_range)
        rate = u if self.dynamics == "integrator" else (u - state[0]) / self.time
        if self.state_range is not None:
            low, high = self.state_range
            rate = ops.where(ops.less_equal(high, state[0]), ops.minimum(rate, 0.0), rate)
            rate = ops.where(ops.less_equal(state[0], low), ops.maximum(rate, 0.0), rate)
        return ops.array([rate])

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        length: Any = 0.0 if self.link else self.reach @ s.q
        speed = self.wrench @ s.twist(self.link) if self.link else self.arms @ s.v
        gain, bias = (x[0] + x[1] * length + x[2] * speed for x in (self.gain, self.bias))
        force: Any = gain * self.activity(state, command) + bias
        beyond: Any = ()
        if self.force_range is not None:
            (force,), beyond = s.bounded(self.name, ops.array([force]), *np.array(self.force_range)[:, None])
        rate = self.rate(state, command) if self.state.size else None
        effect = Effect(signals={"force": force, "length": length}, rate=rate, beyond=beyond)
        if self.link:
            effect.wrenches = {self.link: self.wrench * force}
        else:
            effect.tau = self.arms * force
        return effect


def clipped(x: Any, span: tuple[float, float] | None) -> Any:
    """Return x within a range, if there is one."""
    return x if span is None else ops.minimum(ops.maximum(x, span[0]), span[1])
