"""Control-moment gyros (reaction wheels: ``components.actuators``)."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown, warn
from engine.components.actuators import require_moving
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.model import Model
from engine.space.magnets import unit_rows

Array = np.ndarray
#: of moments by rates, relative to one gyro's: less is none
SINGULAR = 1e-3


class ControlMomentGyros(Component):
    """Single-gimbal control moment gyros on a link; the command is the moment wanted on the link (3), N·m, in its axes.

    A rotor's momentum H turns about its gimbal's axis g by δ, which is a state: h = H Σ (s cos δ + t sin δ), t = g × s, and the link feels
    −ḣ − ω × h. With A = ∂h/∂δ/H and m = √det A Aᵀ, gimbals are steered past singular postures by::

        δ̇ = Aᵀ (A Aᵀ + λ E)⁻¹ ḣ/H + ν (m² 1 − Aᵀ adj(A Aᵀ) A) ∂m²/∂δ,   λ = λ₀ exp(−κ m²)                                       (1)

    which makes a little less, or other, than is wanted where m is small. E is 1 but for ε sin(π t/2 + φ) beside its diagonal, so that
    gimbals leave a singular posture in which what is wanted lies where no rate makes a moment. The second term makes no moment: it leads
    where m is larger, of gyros more than three. The momentum of link and gyros together is constant; gimbals have
    no inertia of their own, and the link's is to be without the rotors'.

    Parameters
    ----------
    link : what they are fixed to
    gimbals, rotors : unit vectors g and, at δ = 0, s (n, 3), across one another, in the link's frame
    momentum : H of each, N·m·s
    rate : largest |δ̇|, rad/s: all are slowed alike, so that the moment keeps its direction
    initial : δ at first (n), rad
    damping : λ₀, and sharpness : κ
    dither : ε, below 1/2; 0: a singular posture may hold for ever
    null : ν, rad/s

    Signals: ``angles`` and ``rates`` (n), ``momentum`` (3) in the link's axes, ``torque`` (3), ``missed`` |wanted − torque|, N·m,
    ``manipulability`` m, and ``angular_momentum`` (3), in world axes.

    Warns
    -----
    SimulationWarning : they are singular in every posture, as two are, or in the one in which they begin

    Raises
    ------
    SimulationError : axes that are none, or not across one another

    References: Nakamura & Hanafusa, *Inverse kinematic solutions with singularity robustness*, ASME J. DSMC 108 (1986); Wie, Bailey &
    Heiberg, *Singularity robust steering logic for redundant single-gimbal control moment gyros*, J. Guidance 24 (2001).

    Examples
    --------
    >>> gyros = ControlMomentGyros.pyramid("base", momentum=1.0)
    >>> round(float(gyros.manipulability(np.zeros(4))), 12)
    1.088662107904
    """

    keeps = True
    units = types.MappingProxyType({**dict.fromkeys(("", "torque", "missed"), "N.m"), "angles": "rad", "rates": "rad/s",
                                    **dict.fromkeys(("momentum", "angular_momentum"), "N.m.s")})  # fmt: skip

    def __init__(self, link: str, gimbals: Any, rotors: Any, momentum: float, rate: float = np.inf, initial: Any = None,
                 damping: float = 0.01, sharpness: float = 10.0, dither: float = 0.1, null: float = 0.0,
                 name: str = "gyros") -> None:  # fmt: skip
        self.link, self.name = link, name
        self.gimbals, self.rotors = unit_rows(f"{name}: gimbals", gimbals), unit_rows(f"{name}: rotors", rotors)
        if self.gimbals.shape != self.rotors.shape or np.abs(np.sum(self.gimbals * self.rotors, axis=1)).max() > 1e-9:
            raise SimulationError(f"{name}: gimbals and rotors are not across one another; expected unit vectors (n, 3) that are")
        self.turned = np.cross(self.gimbals, self.rotors)
        self.momentum = number(f"{name}: momentum", momentum, "N·m·s above 0", above=0.0, error=SimulationError)
        self.rate = rate if rate == np.inf else number(f"{name}: rate", rate, "rad/s above 0", above=0.0, error=SimulationError)
        self.damping, self.sharpness, self.null = (
            number(f"{name}: {n}", x, "a number from 0", least=0.0, error=SimulationError)
            for n, x in (("damping", damping), ("sharpness", sharpness), ("null", null)))  # fmt: skip
        self.dither = number(f"{name}: dither", dither, "a number from 0, below 0.5", least=0.0, below=0.5, error=SimulationError)
        self.state = np.zeros(len(self.rotors)) if initial is None else numbers(f"{name}: initial", initial, SimulationError)
        if self.state.shape != (len(self.rotors),):
            raise SimulationError(f"{name}: initial has shape {self.state.shape}; expected ({len(self.rotors)},), an angle for each gyro")
        self.command = (3,)
        postures = [self.state, *np.random.default_rng(0).uniform(-np.pi, np.pi, (8, len(self.state)))]
        here, *others = (np.linalg.svd(self.jacobian(x))[:2] for x in postures)
        always = max(s[-1] if len(s) == 3 else 0.0 for _, s in others) < SINGULAR
        if always or here[1][-1] < SINGULAR:
            what, wanted = (("are singular in every posture", "gimbals that span three axes") if always else
                            ("begin in a singular posture", "another initial="))  # fmt: skip
            warn(f"{name}: {len(self.state)} gyros {what}: at first no rate of theirs makes a moment about "
                 f"{shown(here[0][:, -1].round(3).tolist())}; expected {wanted}", SimulationWarning)  # fmt: skip

    @classmethod
    def pyramid(cls, link: str, momentum: float, skew: float = math.acos(1.0 / math.sqrt(3.0)), **more: Any) -> ControlMomentGyros:
        """Return four whose gimbals lean outwards from z by a ``skew``, rad, towards x, y, −x and −y."""
        c, s = math.cos(skew), math.sin(skew)
        return cls(link, [[s, 0, c], [0, s, c], [-s, 0, c], [0, -s, c]], [[0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 0, 0]], momentum, **more)

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)

    def stored(self, state: Array) -> Array:
        """Return h (3), N·m·s, in the link's axes."""
        return self.momentum * (self.rotors.T @ ops.cos(state) + self.turned.T @ ops.sin(state))

    def jacobian(self, state: Array) -> Array:
        """Return A = ∂h/∂δ/H (3, n)."""
        return self.turned.T * ops.cos(state) - self.rotors.T * ops.sin(state)

    def manipulability(self, state: Array) -> Any:
        """Return m = √det A Aᵀ: zero where no gimbal's rate makes a moment in some direction."""
        A = self.jacobian(state)
        a, b, c = A @ A.T
        return ops.sqrt(ops.maximum(a @ ops.cross(b, c), 0.0))

    def steering(self, t: Any, A: Array, wanted: Any, state: Array) -> Array:
        """Return the gimbals' rates (n), rad/s, of (1)."""
        a, b, c = G = A @ A.T
        adjoint = np.stack([ops.cross(b, c), ops.cross(c, a), ops.cross(a, b)])
        m2 = ops.maximum(a @ adjoint[0], 0.0)
        x, y, z = (self.dither * ops.sin(0.5 * math.pi * t + phase) for phase in (0.0, 0.5 * math.pi, math.pi))
        E = ops.array([[1.0 + 0.0 * x, z, y], [z, 1.0 + 0.0 * x, x], [y, x, 1.0 + 0.0 * x]])
        rates = A.T @ ops.solve(G + self.damping * ops.exp(-self.sharpness * m2) * E, -wanted / self.momentum)
        if not self.null:
            return np.asarray(rates)
        h = self.rotors.T * ops.cos(state) + self.turned.T * ops.sin(state)    # ∂A/∂δ = −h, of each gyro by its own δ
        uphill = -2.0 * np.array([h[:, k] @ adjoint @ A[:, k] for k in range(len(state))])
        return np.asarray(rates + self.null * (m2 * uphill - A.T @ (adjoint @ (A @ uphill))))

    def holds(self, s: Context, state: Array) -> Array:
        """Return their angular momentum (3) together, in world axes."""
        return s.pose(self.link)[:3, :3] @ self.stored(state)

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        wanted = np.zeros(3) if command is None else command
        A, m = self.jacobian(state), self.manipulability(state)
        rates = self.steering(s.t, A, wanted, state)
        if np.isfinite(self.rate):
            rates = rates / ops.maximum(ops.largest(rates) / self.rate, 1.0)
        torque, h = -self.momentum * (A @ rates), self.stored(state)
        moment = np.concatenate([torque - ops.cross(s.twist(self.link)[:3], h), np.zeros(3)])
        return Effect(wrenches={self.link: moment}, inner={self.link: moment}, rate=rates,
                      signals={"angles": state, "rates": rates, "momentum": h, "torque": torque,
                               "missed": ops.norm(wanted - torque), "manipulability": m,
                               "angular_momentum": self.holds(s, state)})  # fmt: skip
