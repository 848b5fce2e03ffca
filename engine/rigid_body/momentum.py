"""The momentum of a rigid body as states beside its motion, which only loads change: what a step leaves otherwise is set right after it.

A body that spins fast in its own axes turns its velocity there by h|ω| in a step, which a method follows to its order only. In the world's
axes nothing turns: with the momentum [L; p] about the centre of mass c, moments m and forces f in the body's axes, and r to c there::

    L̇ = R (m − r × f),   ṗ = R f,   ċ = p/m                                           (1)

The projection is that of floating trees (:mod:`engine.dynamics.momentum_conservation`). Of a mass that varies p/m is what only loads
change; of an inertia that varies ω is what the method leaves. Added mass, and a centre that varies, have no such states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.dynamics.momentum_conservation import add_moved, root_twist
from engine.spatial import inertia, quaternion

Array = np.ndarray
#: entries of a motion (q, V); states beside it: the momentum [L; p; c] (9), and what the projection has moved (4)
PLAIN, STATES, NOTES = 13, 13, 4


class KeptMomentum(NamedTuple):
    """Momentum of a body as states of its own.

    Attributes
    ----------
    inertia : about the centre of mass in the body's axes (3×3); None where it varies
    centre : of mass, from the body's origin (3), m
    mass : kg; 1 where it varies: p is the velocity of the centre then
    """

    inertia: Array | None
    centre: Array
    mass: float

    @classmethod
    def of(cls, G: Array) -> KeptMomentum | None:
        """Return what is kept of a constant spatial inertia (6×6); None where it is no rigid body's."""
        if not inertia.is_rigid(G):
            return None
        return cls(inertia.recentered(G, np.zeros(3))[:3, :3], inertia.center(G), float(inertia.mass(G)))

    def begun(self, q: Array, V: Array) -> Array:
        """Return q, V and the states z (13) of a body at q = [quaternion, position] with the twist V (6)."""
        R, velocity = quaternion.to_matrix(q[:4]), V[3:] + ops.cross(V[:3], self.centre)
        L = np.zeros(3) if self.inertia is None else R @ (self.inertia @ V[:3])
        return np.concatenate([q, V, L, self.mass * (R @ velocity), q[4:] + R @ self.centre, np.zeros(NOTES)])

    def rate(self, q: Array, F: Array, mass: Any, z: Array) -> Array:
        """Return ż (13) under the wrench F (6) on a body of that mass, in its axes about its origin."""
        R = quaternion.to_matrix(q[:4])
        moment = np.zeros(3) if self.inertia is None else R @ (F[:3] - ops.cross(self.centre, F[3:]))      # (1)
        return np.concatenate([moment, self.mass / mass * (R @ F[3:]), z[3:6] / self.mass, np.zeros(NOTES)])

    def field(self, body: Any, controls: Callable[[Array, Any], Array]) -> Callable[[Any, Array, Array], Array]:
        """Return (V̇, ż) (19) of a body under controls u(x, t), as a function of the time, q and (V, z)."""

        def field(t: Any, q: Array, w: Array) -> Array:
            q, V = self.carried(q, w[:3], w[6:])                # loads see what is kept, however far the body turns in a step
            x = body.from_motion(q, V)
            u = controls(x, t)
            F, mass = body.returned("wrench", 6, x, u, t), body._value("mass", x, u, t) if callable(body.mass) else self.mass
            return np.concatenate([body._accelerated(x, u, t, F), self.rate(q, F, mass, w[6:])])

        return field

    def carried(self, q: Array, spin: Array, z: Array) -> tuple[Array, Array]:
        """Return q and V with the attitude of q and the angular velocity ``spin`` (3), of the body whose centre moves as z says."""
        R = quaternion.to_matrix(q[:4])
        velocity = R.T @ z[3:6] / self.mass - ops.cross(spin, self.centre)
        return np.concatenate([q[:4], z[6:9] - R @ self.centre]), np.concatenate([spin, velocity])

    def projected(self, x: Array) -> Array:
        """Return x = (q, V, z) with the place and the twist that z says."""
        q, V, z = np.split(x, [7, 13])
        R, spin = quaternion.to_matrix(q[:4]), V[:3]
        I, L = (np.eye(3), R @ spin) if self.inertia is None else (self.inertia, z[:3])
        V, moved = root_twist(R, V, (I, self.centre, self.mass, np.zeros(3), np.zeros(3), (0.0, 0.0)), np.concatenate([L, z[3:9]]))
        V = V if self.inertia is not None else np.concatenate([spin, V[3:]])
        return np.concatenate([q[:4], z[6:9] - R @ self.centre, V, z[:9], add_moved(z[9:], moved)])


def kept_by(body: Any) -> KeptMomentum | None:
    """Return what a :class:`~engine.rigid_body.body.RigidBody` keeps; None of added mass, and of a 6×6 inertia that varies."""
    rest = body.neutral(), np.zeros(body.controls), 0.0
    mass = 1.0 if callable(body.mass) else body.mass
    if callable(body.inertia):
        return None if np.shape(body.inertia(*rest)) == (6, 6) else KeptMomentum(None, np.zeros(3), mass)
    if callable(body.mass):
        return KeptMomentum(np.array(body.inertia, dtype=float), np.zeros(3), mass)
    return KeptMomentum.of(body.spatial_inertia(*rest))
