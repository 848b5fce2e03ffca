"""The change of velocity coordinates for contacts: floating roots' twists in world axes about one common point."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.kinematics import path
from engine.model import Model
from engine.spatial import inertia, se3

Array = np.ndarray


class WorldAxes:
    """The change of coordinates x = S v in which a floating root's six are its twist in world axes about a point c, others as they are.

    A contact's stiffness is then added to the inertia of what floats as it stands.

    Parameters
    ----------
    poses : T_WB of all bodies at q (nq), the world's last
    about : c (3), in the world
    keep : velocities that stay as they are
    ways : of single bodies that float how far (3) their centres of mass went since impulses acted: their twists are those about c and so
        much farther, so that what acts on them at a place does so by the arm that it had then

    Attributes
    ----------
    poses : T_cB of all bodies, in axes of the world from c
    frames : the same of those that ``ways`` has from as much farther than c
    columns : for each body the velocities of its joint, with the twist (6) in world axes about c that a unit of each gives what it carries
    """

    def __init__(self, model: Model, q: Array, poses: list[Array], about: Array, keep: frozenset[int] = frozenset(),
                 ways: Mapping[int, Array] = MappingProxyType({})) -> None:  # fmt: skip
        self.model, self.about, self.ways, bodies = model, about, ways, model.bodies
        self.poses = [se3.pose(se3.rotation(T), se3.position(T) - about) for T in poses]
        self.frames = [se3.pose(se3.rotation(T), se3.position(T) - ways[i]) if i in ways else T for i, T in enumerate(self.poses)]
        self.roots = [i for i in model.roots if bodies[i].kind.floats and keep.isdisjoint(range(bodies[i].v.start, bodies[i].v.stop))]
        self.columns: list[list[tuple[int, Array]]] = []
        for i, body in enumerate(bodies):
            T, S = self.frames[i], body.subspace(q)
            J = np.eye(6) if i in self.roots else np.stack([se3.twist_to_parent(T, s) for s in S.T], axis=1)
            self.columns.append([(j, J[:, k]) for k, j in enumerate(range(body.v.start, body.v.stop))])

    def seen(self, v: Array) -> Array:
        """Return x = S v (nv)."""
        x = list(v)
        for i in self.roots:
            x[self.model.bodies[i].v] = se3.twist_to_parent(self.frames[i], v[self.model.bodies[i].v])
        return np.array(x)

    def back(self, x: Array) -> Array:
        """Return v = S⁻¹ x (nv)."""
        v = list(x)
        for i in self.roots:
            v[self.model.bodies[i].v] = se3.twist_to_child(self.frames[i], x[self.model.bodies[i].v])
        return np.array(v)

    def force(self, tau: Array) -> Array:
        """Return the generalized forces (nv) on x of those on v: S⁻ᵀ tau."""
        seen = list(tau)
        for i in self.roots:
            own = self.model.bodies[i].v
            seen[own] = se3.wrench_to_parent(self.frames[i], tau[own])
        return np.array(seen)

    def force_back(self, tau: Array) -> Array:
        """Return the generalized forces (nv) on v of those on x: Sᵀ tau."""
        back = list(tau)
        for i in self.roots:
            own = self.model.bodies[i].v
            back[own] = se3.wrench_to_parent(se3.inv(self.frames[i]), tau[own])
        return np.array(back)

    def inertia(self, M: Array) -> Array:
        """Return S⁻ᵀ M S⁻¹ (nv, nv)."""
        M = M.astype(np.result_type(M, *self.frames))            # traced, if a pose is
        for i in self.roots:
            T, own = self.frames[i], self.model.bodies[i].v
            M[own, own] = inertia.transformed(T, M[own, own])
            for j in range(len(M)):
                if not own.start <= j < own.stop and any(map(ops.is_nonzero, M[own, j])):
                    M[own, j] = M[j, own] = se3.wrench_to_parent(T, M[own, j])
        return M

    def twists(self, x: Array) -> list[Any]:
        """Return the twists (6) of all bodies in world axes about c, the world's last."""
        V: list[Any] = [np.zeros(6)] * (len(self.model.bodies) + 1)
        for i, body in enumerate(self.model.bodies):
            own = x[body.v] if i in self.roots else sum(column * x[j] for j, column in self.columns[i])
            V[i] = V[body.parent] + own
        return V

    def motions(self, V: list[Any]) -> list[Any]:
        """Return :meth:`twists` V (6) of all bodies about c itself, as bodies move now."""
        return [np.concatenate([V[i][:3], V[i][3:] - ops.cross(V[i][:3], self.ways[i])]) if i in self.ways else V[i] for i in range(len(V))]

    def between(self, a: int, b: int) -> list[tuple[float, int]]:
        """Return the bodies whose joints move b but not a (1), or a but not b (−1)."""
        above_a, above_b = path(self.model, a), path(self.model, b)
        return [(-1.0, i) for i in above_a if i not in above_b] + [(1.0, i) for i in above_b if i not in above_a]

    def relative(self, a: int, b: int) -> dict[int, Array]:
        """Return the columns of J (6, nv), the twist of a body b relative to a, by velocities that move one of them alone."""
        J: dict[int, Array] = {}
        for sign, i in self.between(a, b):
            for j, column in self.columns[i]:
                J[j] = J[j] + sign * column if j in J else sign * column
        return J

    def forces(self, F: list[Any]) -> Array:
        """Return the generalized forces (nv), in these coordinates, of wrenches (6) on bodies in world axes about c, the world's last."""
        F, tau = list(F), [0.0] * self.model.nv
        for i, body in reversed(list(enumerate(self.model.bodies))):
            for k, (j, column) in enumerate(self.columns[i]):
                tau[j] = tau[j] + (F[i][k] if i in self.roots else column @ F[i])
            F[body.parent] = F[body.parent] + F[i]
        return np.array(tau)
