"""What a simulation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.model import Model
from engine.simulation.robot import Robot, compile

Array = np.ndarray


@dataclass(frozen=True)
class Event:
    """A zero of an event function: its number and name, the time, and the state there."""

    function: int
    name: str
    t: float
    q: Array
    v: Array


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Recorded states of one rollout, or of a batch of them.

    Attributes
    ----------
    t : times (T), s
    q, v : configurations (..., T, nq) and velocities (..., T, nv)
    tau : the controller's and motors' forces at those states (..., T, nv), after their limits
    vdot : accelerations (..., T, nv)
    signals : by name, "component.signal" (..., T, *shape): powers, W, states, and what the actuators say
    events : where the run was stopped or interrupted
    stopped : of a batch with events, the time at which each rollout stopped, infinite where it did not
    """

    model: Model
    gravity: tuple[float, ...]
    t: Array
    q: Array
    v: Array
    tau: Array
    vdot: Array
    signals: dict[str, Array] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    stopped: Array | None = None

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s" if len(self) else "no time"
        batch = f", {self.q.shape[:-2]} rollouts" if self.q.ndim > 2 else ""
        return f"<trajectory of '{self.model.name}': {len(self)} states, {span}{batch}>"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def robot(self) -> Robot:
        return compile(self.model, self.gravity)

    def energy(self) -> tuple[Any, Any]:
        """Kinetic and potential energy (..., T), J."""
        return self.robot.energy(self.q, self.v)

    def momentum(self) -> Array:
        """Spatial momentum (..., T, 6) about the world's origin, world axes."""
        return self.robot.momentum(self.q, self.v)

    def poses(self) -> Array:
        """Poses of all links (..., T, nlinks, 4, 4)."""
        return self.robot.forward_kinematics(self.q)

    def save(self, path: str | Path) -> Path:
        """Write t, q, v, tau and the joints' names as a NumPy archive (``numpy.load`` reads it); returns its path."""
        path = Path(path).with_suffix(".npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, t=self.t, q=self.q, v=self.v, tau=self.tau, gravity=self.gravity, model=self.model.name,
                            q_joints=self.model.entries("q"), v_joints=self.model.entries("v"))  # fmt: skip
        return path
