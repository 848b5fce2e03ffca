"""All contacts of a step of bodies with joints as one impulse law: points are rows, what they do to each body is added up, then along
the joints, as composite inertias are."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact import point_law
from engine.contact.many.pair_rows import (
    BEFORE,
    CENTERS,
    GAP,
    LINK_A,
    LINK_B,
    MATERIAL,
    NORMAL,
    PLACE,
    POINT,
    RADII,
    SHARE,
    SIZE,
    A,
    B,
)
from engine.contact.point_law import UPPER, velocity
from engine.contact.touching import AGREES
from engine.contact.world_axes import WorldAxes
from engine.dynamics.momentum_conservation import Tree
from engine.dynamics.kinematics import path
from engine.model import Model
from engine.spatial import inertia

Array = np.ndarray
#: columns of a row of the law: the bodies, the constants (9) and the row (11) of :mod:`engine.contact.point_law`
C, ROW = slice(2, 11), slice(11, 22)


class JointedTouching:
    """The impulse law γ(x) of points of contact (p, 29) in a step of h, of velocities x (nv) in ``axes``: a
    :class:`~engine.contact.newton.Law`, and the same as :class:`~engine.contact.touching.Touching`.

    Parameters
    ----------
    points : see :mod:`engine.contact.many.pair_rows`, seen from ``axes.about``
    names : of all points that there may be
    """

    def __init__(self, axes: WorldAxes, points: Any, names: list[str], h: Any, before: Array, free: Array, slow: float,
                 way: float) -> None:  # fmt: skip
        self.axes, self.found, self.names, self.h, self.slow, self.way = axes, points, names, h, slow, way
        self.a, self.b = (ops.rows(lambda p, k=k: p[k], points) for k in (A, B))

        def begin(p: Array, was: Array, flown: Array) -> tuple[Array, Array, Any]:
            k, d, s, mu, static, w = p[MATERIAL]
            c = ops.array([k, d, h, s, mu, static, w, slow, way])
            found = point_law.begun(c, p[None, PLACE], p[None, NORMAL], p[None, GAP], p[None, BEFORE], p[None, SHARE], was, flown)
            return np.concatenate([p[:2], c, found[:11]]), found[11:13], found[13]

        self.points, self.friction, acts = ops.rows(begin, points, *(self.relative(x) for x in (before, free)))
        self.acts = ops.total(ops.rows(lambda push: ops.where(push > 0.0, 1.0, 0.0), acts)) > 0.0
        #: whether any point is between two bodies that move
        self.crosses = ops.total(ops.rows(lambda a: ops.where(a < len(axes.poses) - 1.5, 1.0, 0.0), self.a)) > 0.0

    def relative(self, x: Array) -> Any:
        """Return the twists (p, 6) of the second bodies relative to the first at x (nv)."""
        V = np.array(self.axes.twists(x))
        return ops.rows(lambda a, b: b - a, ops.gather(V, self.a), ops.gather(V, self.b))

    def on_bodies(self, to_a: Any, to_b: Any, columns: int) -> Array:
        """Return the sums (n + 1, columns) of what points do to their bodies."""
        return ops.add_at(np.zeros((len(self.axes.poses), columns)), (self.a, self.b), (to_a, to_b))

    def impulse(self, x: Array, friction: Any) -> tuple[Array, Array]:
        """Return γ (nv) and G (nv, nv)."""

        def push(p: Array, f: Array, W: Array) -> tuple[Array, Array]:
            FK = point_law.wrench(p[C], p[None, ROW], f[None], W)
            return np.concatenate([-FK[:6], FK[6:]]), FK

        to_a, to_b = ops.rows(push, self.points, friction, self.relative(x))
        sums = self.on_bodies(to_a, to_b, 27)
        G = self.along_joints(sums[:, 6:])
        return self.axes.forces([*sums[:, :6]]), G - ops.when(self.crosses, lambda: self.crossed(to_b), np.zeros(G.shape))

    def along_joints(self, K: Array) -> Array:
        """Return Σ Jᵀ K J (nv, nv) of stiffnesses (n + 1, 21; upper triangles) of bodies: as composite inertias are added up."""
        model, whole = self.axes.model, [*K]
        G: Array = np.zeros((model.nv, model.nv), dtype=K.dtype)
        for i, body in reversed(list(enumerate(model.bodies))):
            for j, column in self.axes.columns[i]:
                push = symmetric(whole[i], 6) @ column                         # what holds a unit of this velocity back
                for k in path(model, i):
                    for m, other in self.axes.columns[k]:
                        G[j, m] = G[m, j] = other @ push
            whole[body.parent] = whole[body.parent] + whole[i]
        return G

    def crossed(self, pushes: Any) -> Array:
        """Return Σ (J_aᵀ K J_b + J_bᵀ K J_a) (nv, nv) of points."""
        nv, n = self.axes.model.nv, len(self.axes.poses)
        J: Array = np.zeros((n, 6, nv), dtype=np.result_type(*self.axes.poses))
        for i, body in enumerate(self.axes.model.bodies):
            J[i] = J[body.parent] if body.parent >= 0 else 0.0
            for j, column in self.axes.columns[i]:
                J[i, :, j] = J[i, :, j] + column
        upper, table = np.triu_indices(nv), J.reshape(n, 6 * nv)

        def one(FK: Array, J_a: Array, J_b: Array) -> Array:
            X = J_a.reshape(6, nv).T @ (symmetric(FK[6:], 6) @ J_b.reshape(6, nv))
            return (X + X.T)[upper]

        return symmetric(ops.total(ops.rows(one, pushes, ops.gather(table, self.a), ops.gather(table, self.b))), nv)

    def lagged(self, x: Array, friction: Any) -> tuple[Any, Any]:
        """Return the friction (p, 2) of all points that goes with the normal impulses at x (nv), and whether it is what was taken for it,
        about."""

        def one(p: Array, f: Array, W: Array) -> tuple[Array, Array]:
            rubs, slow, change, most = point_law.lagged(p[C], p[None, ROW], f[None], W)
            return ops.array([rubs, slow]), ops.array([change * change, most * most])

        found, both = ops.rows(one, self.points, friction, self.relative(x))
        changes, sizes = ops.total(both)
        return found, changes <= AGREES**2 * sizes

    def impulses(self, x: Array, friction: Any) -> tuple[Any, Array]:
        """Return the impulses (p, 3) of the points, on their second bodies, in world axes, and the generalized impulse (nv), on velocities
        of the model, of what lasts of them, at x (nv)."""

        def one(p: Array, f: Array, W: Array) -> tuple[Array, Array, Array]:
            found = point_law.impulses(p[C], p[None, ROW], f[None], W)
            return found[:3], -found[3:], found[3:]

        g, to_a, to_b = ops.rows(one, self.points, friction, self.relative(x))
        return g, self.axes.force_back(self.axes.forces([*self.on_bodies(to_a, to_b, 6)]))

    def noted(self, x: Array, impulses: Any, origins: Array) -> dict[str, Array]:
        """Return what is noted of the step at x (nv) after it: wrenches (n, 6) on links with these ``origins`` (n, 3), about them in world
        axes; how many points push; how far shapes lie in each other at most, of the thinner one; and the energy of springs."""
        n, h = len(origins), self.h

        def one(p: Array, row: Array, g: Array, W: Array) -> tuple[Array, Array, Array]:
            F, way = np.concatenate([ops.cross(p[PLACE], g), g]) / h, ops.where(ops.norm(g) > 0.0, 1.0, 0.0)
            gap = self.gap_after(p, row, W)
            begun, rate = p[None, GAP] - 0.5 * h * (p[BEFORE] + row[C.stop + 3]), p[None, BEFORE]
            energy = point_law.kept_energy(p[MATERIAL][0], p[MATERIAL][2] / p[MATERIAL][0], h, begun, rate, p[None, SHARE])
            return F, ops.array([way, energy]), way * ops.maximum(-gap, 0.0) / (2.0 * p[SIZE])

        F, sums, depth = ops.rows(one, self.found, self.points, impulses, self.relative(x))
        on = ops.add_at(np.zeros((n + 1, 6)), (self.found[:, LINK_A], self.found[:, LINK_B]), (ops.rows(lambda F: -F, F), F))
        turned = [np.concatenate([w[:3] - ops.cross(o - self.axes.about, w[3:]), w[3:]]) for w, o in zip(on, origins, strict=False)]
        count, energy = ops.total(sums)
        return {"wrench": np.array(turned), "count": count, "overlap": ops.largest(depth), "energy": energy}

    def gap_after(self, p: Array, row: Array, W: Array) -> Any:
        """Return the gap of a point at the end of the step, to which impulses lead from where flight ends."""
        un = p[NORMAL] @ velocity(W, p[PLACE])
        return p[GAP] + self.way * self.h * (un - row[C.stop + 3])

    def seen(self, x: Array, impulses: Any) -> Any:
        """Return the points that push (p, 13): both links, place and normal in the world, gap, force (3) on the second, and slip."""

        def one(p: Array, row: Array, g: Array, W: Array) -> tuple[Array, Any]:
            u, n = velocity(W, p[PLACE]), p[NORMAL]
            own = [p[LINK_A : LINK_B + 1], p[PLACE] + self.axes.about, n, [self.gap_after(p, row, W)], g / self.h, [ops.norm(u - (n @ u) * n)]]
            return np.concatenate(own), ops.norm(g) > 0.0

        return ops.chosen(*ops.rows(one, self.found, self.points, impulses, self.relative(x)))

    def forces(self, impulses: Any) -> Array:
        """Return the forces (points, 3) of all points that there may be."""
        return np.asarray(ops.add_at(np.zeros((len(self.names), 3)), self.found[:, POINT], impulses)) / self.h

    def acting(self, x: Array, friction: Any) -> list[tuple[float, str]]:
        """Return the impulses at x (nv) that are not zero, and the names of their points."""
        sizes = np.linalg.norm(self.impulses(x, friction)[0], axis=1)
        return [(float(size), f"the contact of {self.names[int(k)]}") for size, k in zip(sizes, self.found[:, POINT], strict=True) if size]

    def momentum_changes(self, model: Model, trees: tuple[Tree, ...], momenta: Array, free: Array, impulses: Any) -> Array:
        """:func:`engine.contact.momenta.momentum_changes`, of rows."""
        of, last = {i: k for k, tree in enumerate(trees) for i in tree}, len(trees)
        tree = np.array([float(of.get(i, last)) for i in range(len(model.bodies) + 1)])
        mass = [sum(inertia.mass(model.bodies[i].inertia) for i in tree) for tree in trees]
        P = np.array([*(np.append(p, m) for p, m in zip(momenta, mass, strict=True)), np.append(np.zeros(9), 1.0)])
        ago, c, V = self.way * self.h, self.axes.about, np.array(self.axes.twists(free))
        on = [ops.rows(lambda i: i, ops.gather(tree, k)) for k in (self.a, self.b)]

        def one(p: Array, g: Array, V_a: Array, V_b: Array, k_a: Any, k_b: Any, P_a: Array, P_b: Array) -> tuple[Array, Array]:
            u_a, u_b = (velocity(V, p[x]) for V, x in zip((V_a, V_b), CENTERS, strict=True))
            R_a, R_b = p[RADII]
            path = (R_b * u_a + R_a * u_b) / (R_a + R_b)
            l, apart = ops.cross(p[PLACE], g), ops.where(ops.equal(k_a, k_b), 0.0, 1.0)

            def change(P: Array, other: Any) -> Array:
                drift = ops.where(other < last - 0.5, ago * (P[3:6] / P[9] - path), 0.0)
                return apart * np.concatenate([l + ops.cross(c - P[6:9] + drift, g), g, ago / P[9] * g])

            return -change(P_a, k_b), change(P_b, k_a)

        tables = [ops.gather(V, self.a), ops.gather(V, self.b), *on, *(ops.gather(P, k) for k in on)]
        to_a, to_b = ops.rows(one, self.found, impulses, *tables)
        return np.asarray(ops.add_at(np.zeros((last + 1, 9)), tuple(on), (to_a, to_b)))[:last]


def symmetric(upper: Array, n: int) -> Array:
    """Return the symmetric matrix (n, n) of an upper triangle, row by row."""
    X: Array = np.zeros((n, n), dtype=upper.dtype)
    X[np.triu_indices(n)] = upper
    X.T[np.triu_indices(n)] = upper
    return X
