"""A flexible joint: a motor's rotor as a link of its own, coupled to the joint by a gear with a spring, backlash and friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.checks import number
from engine.components.actuators import Motor
from engine.components.component import Context, Effect, SimulationError
from engine.components.forces import one_coordinate, units_at
from engine.model import Joint, Link, Model

Array = np.ndarray


class FlexibleJoint(Motor):
    """A motor whose gear twists, plays and rubs: two masses at a joint.

    The rotor turns on the joint's parent, about the joint's axis, by q_m; the gear twists by δ = q_m/n − q_l, and the joint feels::

        τ = k dz(δ, b) + d δ̇,   dz(δ, b) = δ − min(max(δ, −b), b),   and the rotor −τ/n                                  (1)

    :meth:`on` gives a model its rotor, whose spin is part of the momentum (an armature's is not). It is an inertia about the axis and
    nothing else: its mass is the parent's, whose inertia is to be without the rotor's about the axis. The command is the joint torque
    wanted, as of a :class:`Motor`; the rotor gets 1/n of it.

    Parameters
    ----------
    joint : its joint, with one coordinate
    rotor : inertia of the rotor about the axis, kg·m²
    stiffness, damping : k, N·m/rad, and d, N·m·s/rad, at the joint
    gear : turns of the rotor per turn of the joint, n
    backlash : b, rad: half of the play
    friction : dry friction of the rotor's bearing, N·m at the joint
    effort : as of a Motor

    Signals: those of a Motor; ``deflection`` δ, ``spring`` τ, and ``energy``, k dz²/2, J.

    Reference: Spong, *Modeling and control of elastic joint robots*, ASME J. Dyn. Sys. 109 (1987), with the rotor's whole spin.

    Examples
    --------
    A link of 12 kg·m² and a rotor of 0.8 kg·m² behind a spring of 5000 N·m/rad swing against one another at √(k (1/0.8 + 1/12)):

    >>> import engine
    >>> arm = engine.Builder("arm")
    >>> _ = arm.add_link("base"), arm.add_link("link", engine.spatial.inertia.from_mass(1.0, np.zeros(3), 12.0 * np.eye(3)))
    >>> _ = arm.add_joint("elbow", "revolute", "base", "link")
    >>> drive = FlexibleJoint("elbow", rotor=0.8, stiffness=5000.0)
    >>> model = drive.on(arm.model())
    >>> [b.joint.name for b in model.bodies]
    ['elbow', 'motor of elbow']
    >>> K = np.array([[5000.0, -5000.0], [-5000.0, 5000.0]])
    >>> round(float(np.sqrt(np.linalg.eigvals(np.linalg.solve(engine.dynamics.crba(model, np.zeros(2)), K)).max())), 9)
    81.649658093
    """

    def __init__(self, joint: str, rotor: float, stiffness: float, gear: float = 1.0, damping: float = 0.0, backlash: float = 0.0,
                 friction: float = 0.0, effort: float | None = None, name: str = "") -> None:  # fmt: skip
        super().__init__(joint, gear, rotor, effort, name=name or f"drive of {joint}")
        self.stiffness, self.damping, self.backlash, self.friction = stiffness, damping, backlash, friction
        self.require_gear()
        for what in ("rotor", "stiffness"):
            number(f"{self.name}: {what}", getattr(self, what), "a number above 0", above=0.0, error=SimulationError)
        for what in ("damping", "backlash", "friction"):
            number(f"{self.name}: {what}", getattr(self, what), "zero or more", least=0.0, error=SimulationError)

    @property
    def turning(self) -> str:
        """The name of the rotor's joint."""
        return f"motor of {self.joint}"

    @property
    def armature(self) -> float:
        """Zero: the rotor's inertia is a link's."""
        return 0.0

    def on(self, model: Model) -> Model:
        """Return the model with the rotor as a link.

        Raises
        ------
        SimulationError : the joint has several coordinates, follows another, or has its rotor already
        """
        one_coordinate(model, self.joint, self.name)
        joint = model.joint(self.joint)
        if self.turning in {j.name for j in model.joints}:
            raise SimulationError(f"{self.name}: '{model.name}' has joint '{self.turning}' already; expected a model without")
        graph, rotor, axis = model.graph.copy(), f"rotor of {self.joint}", np.asarray(joint.axis)
        graph.add_node(rotor, link=Link(rotor, np.pad(self.rotor * np.outer(axis, axis), (0, 3))))
        graph.add_edge(joint.parent, rotor, joint=Joint(self.turning, "continuous", joint.parent, rotor, joint.placement, axis,
                                                        friction=self.friction / abs(self.gear)))  # fmt: skip
        return Model.from_graph(graph)

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        if self.turning not in {j.name for j in model.joints}:
            raise SimulationError(f"{self.name}: '{model.name}' has no rotor at joint '{self.joint}'; expected FlexibleJoint(…).on(model)")
        self.m, self.r = one_coordinate(model, self.turning, self.name)
        moves, force = units_at(model, self.joint)
        self.units = {**self.units, "deflection": moves, "spring": force}

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        effect = super().act(s, state, memory, command)
        delta, speed = s.q[self.m] / self.gear - s.q[self.i], s.v[self.r] / self.gear - s.v[self.j]
        twist = delta - ops.minimum(ops.maximum(delta, -self.backlash), self.backlash) if self.backlash else delta
        spring = self.stiffness * twist + self.damping * speed                                                      # (1)
        tau: list[Any] = [0.0] * s.model.nv
        tau[self.j], tau[self.r] = spring, (effect.signals["torque"] - spring) / self.gear
        effect.tau = ops.array(tau)
        effect.signals |= {"deflection": delta, "spring": spring, "energy": 0.5 * self.stiffness * twist * twist}
        return effect
