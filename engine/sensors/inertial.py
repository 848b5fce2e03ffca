"""Gyros, accelerometers, and both in one."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.components.component import Context, Effect
from engine.sensors.sensor import OF_VECTORS, Errors, Mounted, with_options
from engine.spatial import se3

Array = np.ndarray


class Inertial(Mounted):
    """A sensor of one vector (3) on a link, in its own axes, whose noise is a density: named after its ``kind``, unless told."""

    kind = ""

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 noise: Any = 0.0, bias: Any = 0.0, walk: Any = None, scale: Any = None, misalignment: Any = None, quantum: Any = None,
                 limit: Any = None, name: str = "", memory: Any = ()) -> None:  # fmt: skip
        name = name or self.kind
        own = Errors(name, 3, noise, bias, walk, scale, misalignment, quantum, limit, density=True)
        super().__init__(name, period, latency, phase, {"": own}, memory=memory)
        self.mount(link, placement)


class Gyro(Inertial):
    """A rate gyro on a link: its angular velocity (3), rad/s, in the sensor's axes.

    Parameters
    ----------
    link, placement : where it is: a place (3), m, or a pose (4, 4)
    period, latency, phase : s
    noise : σ_v, rad/s/√Hz (angle random walk); walk : σ_u, rad/s²/√Hz (rate random walk)
    bias, scale, misalignment, quantum, limit : see :class:`~engine.sensors.sensor.Errors`
    integrating : whether a sample is the mean of ω since the one before, ∫ω dt by the period, in the sensor's axes as they turn: what
        filters take it for, also where a body's rate changes from sample to sample. The first one is ω as it is then, and of no time: who
        adds them up begins after it

    Signal: ω (3), and "NAME.true"; with a walk "NAME.true.bias" (3), rad/s.

    >>> Gyro("base", noise=1e-4).parameters["gyro.noise"]
    array([0.0001, 0.0001, 0.0001])
    """

    kind = "gyro"
    measures = types.MappingProxyType({"": "rad/s"})

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 noise: Any = 0.0, bias: Any = 0.0, walk: Any = None, scale: Any = None, misalignment: Any = None, quantum: Any = None,
                 limit: Any = None, integrating: bool = False, name: str = "") -> None:  # fmt: skip
        super().__init__(link, placement, period, latency, phase, noise, bias, walk, scale, misalignment, quantum, limit, name,
                         memory=np.zeros(4 if integrating else 0))  # fmt: skip
        self.integrating, self.state = integrating, np.zeros(3 if integrating else 0)

    def true(self, s: Context) -> dict[str, Any]:
        return {"": self.twist(s)[:3]}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        self.speak(s, state, memory)
        return Effect(rate=self.twist(s)[:3] if self.integrating else None)

    def sampled(self, s: Context, state: Array, memory: Array) -> tuple[dict[str, Any], Array]:
        """The truth, and what is remembered: how far ∫ω dt was, and that there has been a sample."""
        if not self.integrating:
            return self.true(s), memory
        mean = (state - memory[:3]) / self.period
        return {"": ops.where(memory[3] > 0.5, mean, self.true(s)[""])}, np.append(state, 1.0)


class Accelerometer(Inertial):
    """An accelerometer on a link: what of its acceleration is no fall (3), m/s², in the sensor's axes: at rest on the ground −g::

        f = V̇_lin + ω × v + ω̇ × p + ω × (ω × p) − Rᵀ g(p)                                                                    (1)

    A sample is of the motion before what is commanded at it, with contacts and friction as forces over the step before; the first one, at
    t = 0, knows of no contact yet. Gravity is the world's, that of a CentralGravity, or beside a frame what it has at p and not at the
    origin.

    Parameters
    ----------
    noise : m/s²/√Hz; walk : m/s³/√Hz; else as :class:`Gyro`

    Signal: f (3), and "NAME.true".

    >>> Accelerometer("base", (0.1, 0, 0)).placement[:3, 3]
    array([0.1, 0. , 0. ])
    """

    kind = "accelerometer"
    measures = types.MappingProxyType({"": "m/s2"})

    @property
    def feels(self) -> Sequence[str]:
        return ("vdot",)

    def true(self, s: Context) -> dict[str, Any]:
        return {"": specific_force(self, s, s.vdot)}


class IMU(Mounted):
    """Gyro and accelerometer in one: ω and f of :class:`Gyro` and :class:`Accelerometer`, or what they add up to between samples.

    Parameters
    ----------
    rate, force : errors of ω and of f, as dictionaries: ``rate={"noise": 1e-4, "walk": 1e-6}``; parameters "NAME.rate.noise", …
    integrating : whether it reads ∫ω dt and ∫f dt (3) over the time since the sample before, in the sensor's axes as they turn, integrated
        with the robot's motion: in flight, so without contacts and friction by impulses; its quantum is of these, and what is rounded off
        goes to the next sample. The first one has none before it: it is zero

    Signal: ``rate`` and ``force``, or ``angle``, rad, and ``velocity``, m/s; and the truth, "NAME.true.rate", …, with a walk
    "NAME.true.rate.bias", ….

    >>> sorted(IMU("base", rate={"noise": 1e-4}).parameters)
    ['imu.force.bias', 'imu.force.noise', 'imu.rate.bias', 'imu.rate.noise']
    """

    of_parts = ("rate", "force")
    measures = types.MappingProxyType({"rate": "rad/s", "force": "m/s2", "angle": "rad", "velocity": "m/s"})

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 rate: Mapping[str, Any] | None = None, force: Mapping[str, Any] | None = None, integrating: bool = False,
                 name: str = "imu") -> None:  # fmt: skip
        own = {part: Errors(f"{name}.{part}", 3, density=True, carries=integrating, **with_options(f"{name}: {part}", given, OF_VECTORS))
               for part, given in (("rate", rate), ("force", force))}  # fmt: skip
        self.integrating = integrating
        super().__init__(name, period, latency, phase, own, memory=np.zeros(7 if integrating else 0))
        self.state = np.zeros(6 if integrating else 0)
        self.mount(link, placement)

    @property
    def feels(self) -> Sequence[str]:
        return () if self.integrating else ("vdot",)

    def true(self, s: Context) -> dict[str, Any]:
        return {"rate": self.twist(s)[:3], "force": specific_force(self, s, s.vdot)}

    def observe(self, s: Context, state: Array, memory: Array, vdot: Array) -> tuple[Any, Mapping[str, Any]]:
        return (np.concatenate([self.twist(s)[:3], specific_force(self, s, vdot)]) if self.integrating else None), {}

    def sampled(self, s: Context, state: Array, memory: Array) -> tuple[dict[str, Any], Array]:
        if not self.integrating:
            return self.true(s), memory
        mean = (state - memory[:6]) / self.period
        return {"rate": mean[:3], "force": mean[3:]}, np.append(state, 1.0)

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        parts, rate, after = super().said(s, state, memory, count)
        if not self.integrating:
            return parts, rate, after
        begun = memory[-1] > 0.5                                               # else it is over no time, in which no bias walks
        names = {"rate": "angle", "force": "velocity", "true.rate": "true.angle", "true.force": "true.velocity"}
        found = {new: ops.where(begun, self.period * parts[n], np.zeros(3)) for n, new in names.items()}
        walks = len(memory) - 7
        after = np.concatenate([ops.where(begun, after[:walks], memory[:walks]), after[walks:]])
        return {**found, **self.biases(s, after[:walks])}, rate, after


def specific_force(sensor: Mounted, s: Context, vdot: Array) -> Array:
    """Return what of a sensor's acceleration is no fall (3), in its axes, at accelerations v̇ (nv)."""
    A = dynamics.accelerations(s.model, s.q, s.v, vdot)[s.model.link_index(sensor.link)]
    A, V, T = se3.twist_to_child(sensor.placement, A), sensor.twist(s), sensor.pose(s)
    return np.asarray(A[3:] + ops.cross(V[:3], V[3:]) - T[:3, :3].T @ s.gravity_at(T[:3, 3]))                             # (1)
