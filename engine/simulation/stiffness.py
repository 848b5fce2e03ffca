"""Stiffness and damping matrices of the forces in flight, K = −∂τ/∂q and D = −∂τ/∂v, for linearly implicit steps and for impulses.

With K = −∂τ/∂q and D = −∂τ/∂v of the forces of components (dampers, springs, servos, controllers, forces of the user's), differentiated at
the beginning of a step, the stiff part of the motion is::

    J = [[0, 1], [−M⁻¹ K, −M⁻¹ D]],   (1 − s J) (k_q, k_v) = (a, b)
    ⇔   (M + s D + s² K) (k_v − b) = −s (K (a + s b) + D b),   k_q = a + s k_v                              (1)

which a linearly implicit method solves at every stage (:mod:`engine.integrate.rosenbrock`). Where constraints hold, among the k_v with
J_c (k_v − b) = 0. What acts by impulses after the flight meets the same forces: M + h (D + h K) stands in place of M there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine import dynamics, ops
from engine.compiler.transforms.jacobians import sparsity
from engine.compiler.transforms.trace import calling, trace
from engine.components.layout import Layout
from engine.constraints import Schur
from engine.integrate import Stiff

Array = np.ndarray
NONE = np.zeros(0)


class Slopes(NamedTuple):
    """K and D (nv, nv), and ∂τ/∂t (nv)."""

    K: Array
    D: Array
    rate: Array


class Stiffness:
    """The derivatives of some components' forces.

    Beside constraints, and in what impulses meet, slopes that are not symmetric count by their diagonal, or, where they are at rest, by
    their symmetric part.

    Parameters
    ----------
    names : of the components
    moving : the velocities (a few of nv) by which, and whose forces, are differentiated
    symmetric : whether K and D are at rest; always : and in motion
    bends : whether their slopes are others elsewhere
    words : why they are stiff
    """

    def __init__(self, plant: Any, names: frozenset[str], moving: Array, symmetric: bool, always: bool, bends: bool,
                 words: str) -> None:  # fmt: skip
        self.plant, self.names, self.moving, self.words = plant, names, moving, words
        self.symmetric, self.always, self.bends = symmetric, always, bends
        self.there = np.ones((len(moving), 2 * len(moving) + 1), dtype=bool)   # where slopes are not zero by structure
        self.derivatives: Callable[..., Array] = self.differentiated
        self.inertia: Callable[..., Array] = self.joint_space_inertia
        self.begun: Callable[..., tuple[Array, ...]] = self.factored
        self.steep = any(c.steepness for c in plant.components if c.name in names)
        self.kinds = {type(c).__name__ for c in plant.components if c.name in names}
        steered = any(c.command is not None for c in plant.components if c.name in names)
        own = [c for c in plant.acting if c.bounds and (c.name in names or (steered and c is plant.controller))]
        self.bounds = Layout({c.name: (c.bounds,) for c in own})

    def compile(self) -> None:
        """Make functions in the machine code of the derivatives, of M, and of what a flight begins with; find where slopes are zero by
        structure."""
        plant, model, n = self.plant, self.plant.model, self.there.shape[1]
        shapes = [(), (model.nq,), (model.nv,), (plant.flown,), (plant.memories.n,), (plant.given,), (self.bounds.n,), ()]
        program = trace(self.differentiated, [*shapes[:-1], (n,)])
        (self.there,), self.derivatives = sparsity(program), calling(program, self.differentiated)
        self.inertia = calling(trace(self.joint_space_inertia, [shapes[1], shapes[5]]), self.joint_space_inertia)
        self.begun = calling(trace(self.factored, shapes), self.factored)

    def differentiated(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array, d: Array) -> Array:
        """Return ∂τ/∂(q, v, t) of the components' forces (a few, twice as many and 1), at d = 0."""

        def total(d: Array) -> Array:
            found = forces(self.plant, self.names, self.moving, t, q, v, z, m, p, d, self.bounds.split(modes))
            return sum(found.values(), np.zeros(len(v)))[self.moving]

        return ops.jacobian(total, d)

    def at(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array = NONE) -> Slopes:
        """Return the slopes at the beginning of a step, of limited forces with their modes (see :meth:`Context.bounded`)."""
        J, n, nv, own = self.derivatives(t, q, v, z, m, p, modes, np.zeros(self.there.shape[1])), len(self.moving), len(v), self.moving
        K, D, rate = np.zeros((nv, nv), dtype=J.dtype), np.zeros((nv, nv), dtype=J.dtype), np.zeros(nv, dtype=J.dtype)
        K[...], D[...], rate[...] = 0.0, 0.0, 0.0
        K[np.ix_(own, own)], D[np.ix_(own, own)], rate[own] = 0.0 - J[:, :n], 0.0 - J[:, n:-1], J[:, -1]
        return Slopes(K, D, rate)

    # ------------------------------------------------------------ in flight

    def joint_space_inertia(self, q: Array, p: Array) -> Array:
        """Return M (nv, nv)."""
        return dynamics.crba(self.plant.model_at(p), q)

    @property
    def factor(self) -> type[ops.LDL] | type[ops.LU]:
        """Factorization of M + s (D + s K): LDLᵀ beside constraints and where it is symmetric, else LU."""
        return ops.LDL if self.always or self.plant.constraints is not None else ops.LU

    def factored(self, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array, modes: Array, s: Any) -> tuple[Array, ...]:
        """Return K, D, ∂τ/∂t and M + s (D + s K) factored, numbered from the leaves on, where a tree's zeros stay."""
        (K, D, rate), M = self.at(t, q, v, z, m, p, modes), self.inertia(q, p)
        if self.factor is ops.LDL and not self.always:
            K, D = (0.5 * (X + X.T) if self.symmetric else own_part(X) for X in (K, D))
        A = M + s * (D + s * K)
        return K, D, rate, *self.factor(A[::-1, ::-1]).numbers

    def stiff(self, begun: Callable[[Any, Array, Any], tuple[Array, ...]], constraints: Callable[[Array], Array] | None,
              pushed: Callable[..., Array] | None) -> Stiff:  # fmt: skip
        """Return what a linearly implicit method asks of the system x = (q, v, z): ``begun(t, x, s)`` is :meth:`factored`, the Jacobian of
        what constraints hold, if there are any, and what of z is momentum that stiff forces change, if any is (:meth:`Plant.pushed`)."""
        nq, nv = self.plant.model.nq, self.plant.model.nv

        def stiff(t: Any, x: Array, s: Any) -> Callable[[Array, Any], Array]:
            K, D, rate, *numbers = begun(t, x, s)
            A = self.factor.of(*numbers)
            loops = Schur(A, constraints(x[:nq])) if isinstance(A, ops.LDL) and constraints is not None else None

            @ops.subroutine
            def changed(a: Array, b: Array, w: Any, *loads: Array) -> Array:
                f = sum(loads, w * rate - s * (K @ (a + s * b) + D @ b))
                return A.solve(f[::-1])[::-1] if loops is None else loops.accelerations(f, np.zeros(len(loops.J)))[0]  # (1)

            def solved(r: Array, w: Any, *loads: Array) -> Array:
                a, b, z = r[:nv], r[nv : 2 * nv], r[2 * nv :]
                k = b + changed(a, b, w, *loads)
                moves = a + s * k
                z = z if pushed is None or not len(z) else pushed(x[:nq], sum(loads, w * rate - s * (K @ moves + D @ k)), z, s)
                return np.concatenate([moves, k, z])

            return solved

        return stiff

    # ------------------------------------------------------------ after it

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Entries (i, j) of h (D + h K) that are not zero by structure, in the upper triangle, as impulses need them."""
        n, own = len(self.moving), self.moving.tolist()
        there = self.there[:, :n] | self.there[:, n:-1]
        there = there if self.symmetric else np.diag(np.diag(there))
        return [(own[a], own[b]) for a, b in np.argwhere(np.triu(there | there.T))]

    def resistance(self, h: Any, slopes: Slopes) -> Array:
        """Return the entries of h (D + h K); where that is not symmetric, of what each velocity resists to itself."""
        K, D = (slopes.K, slopes.D) if self.symmetric else (own_part(slopes.K), own_part(slopes.D))
        R = h * (D + h * K)
        return ops.array([0.5 * (R[i, j] + R[j, i]) for i, j in self.entries])

    def met(self, q: Array, p: Array, resistance: Array) -> Array:
        """Return M at q with the entries of h (D + h K): the inertia that impulses meet."""
        M = self.inertia(q, p)
        A = np.array(M, dtype=object if ops.graph_of(M, resistance) is not None else float)
        for (i, j), x in zip(self.entries, resistance, strict=True):
            A[i, j] = A[i, j] + x
            A[j, i] = A[i, j]
        return A


def own_part(X: Array) -> Array:
    """Return the diagonal of slopes, as far as it resists: what a problem that is convex takes of those that are not symmetric."""
    return np.diag(ops.array([ops.maximum(x, 0.0) if ops.is_nonzero(x) else 0.0 for x in np.diag(X)]))


def forces(plant: Any, names: Iterable[str], moving: Array, t: Any, q: Array, v: Array, z: Array, m: Array, p: Array,
           d: Array, modes: Mapping[str, Array]) -> dict[str, Array]:  # fmt: skip
    """Return the generalized forces (nv) of some components by name, at a state moved by d = (δq, δv, δt), of some velocities: wrenches
    with the links' Jacobians at the state itself, and of laws that are not to be implicit what they say there."""
    n, at, whole = len(moving), plant.in_flight(t, q, v, z, p, modes), np.zeros((2, len(v)), dtype=np.result_type(q, v, d))
    whole[...], whole[:, moving] = 0.0, d[:-1].reshape(2, n)
    effects = plant.effects(plant.in_flight(t + d[-1], plant.model.manifold.plus(q, whole[0]), v + whole[1], z, p, modes), m, at)
    return {name: e.force(at) for name, e in effects.items() if name in names}
