"""What the tests of rigid bodies share: bodies with loads of many kinds, states on and off their singular points, and one motion in
every choice of attitude parameters and velocity axes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import engine
from engine import LieState, ops
from engine.rigid_body import Dynamics, RigidBody, RigidBodyState
from engine.simulation import CompiledSystem
from engine.spatial import quaternion, rotations

ATTITUDES = ("quaternion", "mrp", "rodrigues", "rotation_vector")
FRAMES = ("world", "body")
CHOICES = [(attitude, frame) for attitude in ATTITUDES for frame in FRAMES]
INERTIA = np.array([[1.0, 0.1, -0.2], [0.1, 1.5, 0.3], [-0.2, 0.3, 2.0]])
#: a body with added mass and an offset centre: no two entries alike, none zero
A = np.random.default_rng(2).standard_normal((6, 6))
DENSE = A @ A.T / 6 + np.diag([1.0, 1.5, 2.0, 2.0, 2.5, 3.0])
#: a time, and controls, that are not special
T, U = 0.3, np.array([0.7, -0.4, 0.9, 0.2])


class Satellite(RigidBody):
    """RobotDynamics.jl's: forces and moments along the body's axes."""

    mass, inertia, controls = 2.0, np.diag([1.0, 2.0, 3.0]), 6

    def forces(self, x, u, t):
        return self.rotation(x) @ u[:3]

    def moments(self, x, u, t):
        return u[3:]


class Loaded(RigidBody):
    """A thruster, a spring to the world's origin, drag and moments that depend on everything."""

    mass, inertia, controls = 2.0, INERTIA, 4

    def forces(self, x, u, t):
        V = self.twist(x)
        return self.rotation(x) @ (u[:3] - 0.3 * V[3:]) - 0.5 * self.position(x) + ops.cos(3.0 * t) * np.array([0.0, 0.1, -1.0])

    def moments(self, x, u, t):
        return u[1:4] - 0.2 * self.angular_velocity(x) + ops.cross(np.array([0.1, 0.2, 0.3]), self.rotation(x)[2])


class Burning(Loaded):
    """Mass and inertia that depend on place, velocity, controls and time."""

    def mass(self, x, u, t):
        return 2.0 + 0.3 * ops.cos(self.position(x)[2] + t) + 0.1 * u[0]

    def inertia(self, x, u, t):
        return INERTIA * (1.0 + 0.1 * ops.sin(self.angular_velocity(x)[0]))


class Heavy(Loaded):
    """A 6×6 inertia, constant."""

    mass, inertia = None, DENSE


class Swelling(Loaded):
    """A 6×6 inertia that grows."""

    mass = None

    def inertia(self, x, u, t):
        return DENSE * (1.0 + 0.1 * ops.sin(t + self.position(x)[0]))


class Wrenched(Loaded):
    """The loads of Loaded, as one wrench in body axes."""

    forces, moments = RigidBody.forces, RigidBody.moments

    def wrench(self, x, u, t):
        return np.concatenate([Loaded.moments(self, x, u, t), self.rotation(x).T @ Loaded.forces(self, x, u, t)])


class WrenchedHeavy(Wrenched):
    mass, inertia = None, DENSE


BODIES: dict[str, type[RigidBody]] = {c.__name__: c for c in (Loaded, Burning, Heavy, Swelling, Wrenched, WrenchedHeavy)}


class Mixed(Dynamics):
    """Two rotations and two vectors that act on each other."""

    state, controls = LieState("quaternion", 3, "mrp", 2), 2

    def dynamics(self, x, u, t):
        q, v, p, z = (x[i] for i in self.state.x)
        R, S = quaternion.to_matrix(q), rotations.ATTITUDES["mrp"].to_matrix(p)               # of the rotations: parameters may jump
        w = np.array([u[0], v[0] * z[1], ops.sin(t)])
        return np.concatenate([v + S[0], ops.cross(w, v) - R[1], w - 0.3 * R[2], [z[1], -ops.sin(z[0]) + u[1] * S[2, 2]]])


@functools.cache
def compiled(kind: type[Any], attitude: str = "quaternion", frame: str = "world") -> CompiledSystem:
    """A body of that kind, compiled once."""
    return engine.compile(kind(attitude=attitude, velocity_frame=frame) if issubclass(kind, RigidBody) else kind())


def states(count: int, seed: int = 0) -> list[RigidBodyState]:
    """Random ones, 0.3 rad or more from half a turn, where parameters jump or end; small numbers, for derivatives by differences."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        s = RigidBodyState.random(rng)
        if abs(s.orientation[0]) > 0.15:
            found.append(RigidBodyState(s.position, s.orientation, 0.5 * s.linear_velocity, 0.5 * s.angular_velocity))
    return found


def parameters(attitude: str, R: Rotation) -> np.ndarray:
    """p of a rotation, by SciPy."""
    q = R.as_quat(canonical=True, scalar_first=True)
    return {"quaternion": lambda: q, "mrp": R.as_mrp, "rodrigues": lambda: q[1:] / q[0], "rotation_vector": R.as_rotvec}[attitude]()


def rotation(s: RigidBodyState) -> Rotation:
    return Rotation.from_quat(s.orientation, scalar_first=True)
