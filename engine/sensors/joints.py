"""Sensors at joints and contacts: encoders, torque sensors, force–torque sensors at wrists, feet."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import one_of, warn
from engine.components.component import Context, SimulationError, SimulationWarning
from engine.components.forces import one_coordinate
from engine.components.law import Noise
from engine.dynamics.link_loads import links_carried_by
from engine.model import Model
from engine.sensors.sensor import OF_SAMPLES, Errors, Mounted, Sensor, with_options
from engine.spatial import se3

Array = np.ndarray


class OfJoints(Sensor):
    """A sensor of one joint, whose signal is a number, or of several, whose signal is (n); of ``what``: position, velocity, or effort."""

    what = "effort"
    measures: Mapping[str, str] = types.MappingProxyType({})

    def of(self, joints: str | Sequence[str]) -> int | None:
        """Take note of the joints; return how many numbers are read, None for one."""
        self.joints, self.alone = [joints] if isinstance(joints, str) else [*joints], isinstance(joints, str)
        if not self.joints:
            raise SimulationError(f"{self.name}: joints are none; expected a name, or several")
        if twice := [joint for k, joint in enumerate(self.joints) if joint in self.joints[:k]]:
            raise SimulationError(f"{self.name}: joint '{twice[0]}' is there twice; expected each once")
        return None if self.alone else len(self.joints)

    def bind(self, model: Model, dt: float) -> None:
        self.places = [one_coordinate(model, joint, self.name) for joint in self.joints]
        moving = {model.joint(joint).type.units[0] for joint in self.joints}
        if len(moving) == 1:
            (u,) = moving
            self.measures = {"": {"position": u, "velocity": f"{u}/s"}.get(self.what, "N.m" if u == "rad" else "N")}
        super().bind(model, dt)

    @property
    def about(self) -> dict[str, Any]:
        return {"joints": [*self.joints], "of": self.what}

    def picked(self, x: Array, k: int) -> Any:
        """Return what of x (nq) or (nv), by ``k`` 0 or 1, belongs to the joints."""
        return x[self.places[0][k]] if self.alone else x[[place[k] for place in self.places]]


class Encoder(OfJoints):
    """Encoders of joints: their positions, rad or m, or velocities.

    Parameters
    ----------
    joints : a name, or several
    of : "position" or "velocity"
    quantum : of a step: what is read is ⌊q/quantum + ½⌋ quantum
    noise, bias, scale, limit : of a sample, see :class:`~engine.sensors.sensor.Errors`

    Signal: a number, or (n), and "NAME.true".

    >>> Encoder(["hip", "knee"], quantum=1e-3).errors[""].shape
    (2,)
    """

    def __init__(self, joints: str | Sequence[str], period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 of: str = "position", noise: Any = 0.0, bias: Any = 0.0, scale: Any = None, quantum: Any = None, limit: Any = None,
                 name: str = "encoder") -> None:  # fmt: skip
        self.name, self.what = name, one_of(f"{name}: of", of, ("position", "velocity"), SimulationError)
        own = Errors(name, self.of(joints), noise, bias, None, scale, None, quantum, limit)
        super().__init__(name, period, latency, phase, {"": own})

    def true(self, s: Context) -> dict[str, Any]:
        return {"": self.picked(s.q, 0) if self.what == "position" else self.picked(s.v, 1)}


class JointTorque(OfJoints):
    """Torque or force of actuators at joints, N·m or N, as it is before what is commanded at a sample.

    Parameters
    ----------
    joints : a name, or several; else as :class:`Encoder`

    Signal: a number, or (n), and "NAME.true".

    >>> JointTorque("hip", limit=50.0).errors[""].values["limit"]
    array(50.)
    """

    def __init__(self, joints: str | Sequence[str], period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 noise: Any = 0.0, bias: Any = 0.0, scale: Any = None, quantum: Any = None, limit: Any = None,
                 name: str = "torque") -> None:  # fmt: skip
        self.name = name
        own = Errors(name, self.of(joints), noise, bias, None, scale, None, quantum, limit)
        super().__init__(name, period, latency, phase, {"": own})

    @property
    def feels(self) -> Sequence[str]:
        return ("tau",)

    def true(self, s: Context) -> dict[str, Any]:
        assert s.felt is not None
        return {"": self.picked(s.felt.tau, 1)}


class OfWrenches(Mounted):
    """A sensor of a wrench on a link, ``force`` and ``moment`` (3) in its own axes: named after its ``kind``, unless told."""

    kind = ""
    of_parts = ("force", "moment")
    measures = types.MappingProxyType({"force": "N", "moment": "N.m"})

    def __init__(self, link: str, placement: Any = None, period: float | None = None, latency: float = 0.0, phase: float = 0.0,
                 force: Any = None, moment: Any = None, name: str = "") -> None:  # fmt: skip
        name = name or self.kind
        own = {part: Errors(f"{name}.{part}", 3, **with_options(f"{name}: {part}", given, OF_SAMPLES))
               for part, given in (("force", force), ("moment", moment))}  # fmt: skip
        super().__init__(name, period, latency, phase, own)
        self.mount(link, placement)

    def parts_of(self, F: Array) -> dict[str, Any]:
        """Return what is read of a wrench (6) on its link, in the link's frame."""
        F = se3.wrench_to_parent(se3.inv(self.placement), F)
        return {"force": F[3:], "moment": F[:3]}


class ForceTorque(OfWrenches):
    """A force–torque sensor between a link and what carries it: what that exerts on the link, by the motion of the link and of all that
    hangs on it, with contacts and what constraints between links exert, as welds and grips do, among the loads.

    A tool of 0.2 kg at rest, z up, reads a force of +1.962 N along z, in free fall 0; one that pushes with 10 N on a wall along x +10 N.

    Parameters
    ----------
    link : the link that is carried, by a joint or a weld; placement : of the sensor on it, whose axes and origin count
    force, moment : errors, as dictionaries: ``force={"noise": 0.1}``; parameters "NAME.force.noise", …

    A sample is as an :class:`Accelerometer`'s. Signal: ``force`` and ``moment`` (3), N and N·m, and the truth.

    >>> ForceTorque("hand", force={"noise": 0.1}).parameters["wrist.force.noise"]
    array([0.1, 0.1, 0.1])
    """

    kind = "wrist"

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        holds = next((joint for joint in model.joints if joint.child == self.link), None)
        if holds is not None and holds.type.floats and self.of_file:
            warn(f"{self.name}: nothing carries '{self.link}', which floats, and it reads zero", SimulationWarning)
        elif holds is None or holds.type.floats:
            floats = "" if holds is None else ", which floats"
            raise SimulationError(f"{self.name}: nothing carries '{self.link}'{floats}; expected a link with a joint or a weld to another")
        hang = [model.link(n) for n in links_carried_by(model, self.link)]
        if not any(link.inertia.any() or link.collisions for link in hang):
            warn(f"{self.name}: '{self.link}' and what hangs on it have neither mass nor shapes that touch, and it reads zero, but for "
                 "forces and constraints on them; expected a link that carries something, such as the tool's own", SimulationWarning)

    @property
    def feels(self) -> Sequence[str]:
        return "vdot", "loads"

    def true(self, s: Context) -> dict[str, Any]:
        assert s.felt is not None
        return self.parts_of(dynamics.transmitted_wrench(s.model, s.q, s.v, s.vdot, self.link, s.gravity, s.felt.loads))


class ContactForce(OfWrenches):
    """Wrench of contacts on a link: force and moment (3) in the sensor's axes, about its origin, over the step before a sample.

    Parameters
    ----------
    force, moment : errors, as dictionaries

    Signal: ``force`` and ``moment`` (3), N and N·m, and the truth; zero at t = 0, where no contact is known yet.

    >>> ContactForce("foot").feels
    ('contacts',)
    """

    kind = "contact"

    @property
    def feels(self) -> Sequence[str]:
        return ("contacts",)

    def true(self, s: Context) -> dict[str, Any]:
        assert s.felt is not None
        return self.parts_of(s.felt.contacts[s.model.link_index(self.link)])


class Touch(Mounted):
    """Magnitude of the contact force on a link, N: the length of the forces' sum, over the step before a sample.

    noise, bias, scale, quantum, limit : of a sample, N; what is below zero then is read as zero

    Signal: a number from 0 on, and "NAME.true"; a foot switch is ``touch > 5.0``.

    >>> Touch("foot", noise=0.5).parameters["touch.noise"]
    array(0.5)
    """

    measures = types.MappingProxyType({"": "N"})

    def __init__(self, link: str, period: float | None = None, latency: float = 0.0, phase: float = 0.0, noise: Any = 0.0,
                 bias: Any = 0.0, scale: Any = None, quantum: Any = None, limit: Any = None, name: str = "touch") -> None:  # fmt: skip
        super().__init__(name, period, latency, phase, {"": Errors(name, None, noise, bias, None, scale, None, quantum, limit)})
        self.mount(link, None)

    @property
    def feels(self) -> Sequence[str]:
        return ("contacts",)

    def true(self, s: Context) -> dict[str, Any]:
        assert s.felt is not None
        return {"": ops.norm(s.felt.contacts[s.model.link_index(self.link)][3:])}

    def read(self, s: Context, true: Mapping[str, Any], walked: Array, noise: Noise) -> tuple[dict[str, Any], Array]:
        found, walked = super().read(s, true, walked, noise)
        return {"": ops.maximum(found[""], 0.0)}, walked
