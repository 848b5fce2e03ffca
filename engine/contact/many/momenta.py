"""Changes of free bodies' momenta by the impulses of their contacts, for ``conserve_momentum``: see :mod:`engine.contact.momenta`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.many.manifolds import BODY, ROUNDNESS, Manifolds, carried
from engine.contact.many.problem import MOVES, A, B, Problem, ends, of_pair
from engine.contact.momenta import change, place_velocity
from engine.contact.point_law import velocity, wrench_of

Array = np.ndarray


def momentum_changes(x: Problem, found: Manifolds, outlines: Any, kinematics: Any, momenta: Any, impulses: Any, ago: Any) -> Any:
    """Return what impulses (p, 3 or 6) on the points' second bodies change of the momenta (n, 9), which act ``ago`` before the flight's
    end.

    Parameters
    ----------
    kinematics : (n, 12), T_WB (3×4) where flight ends
    momenta : (n, 10), those of each body, and its mass
    """
    of = of_pair(x)
    acts = ops.rows(lambda p, g: np.concatenate([g[:3], wrench_of(p[17:20], g)[:3]]), x.points, impulses)
    total = ops.add_at(ops.rows(lambda p: np.zeros(6), x.pairs), of, acts)     # about the second body's origin
    shapes = [ops.gather(outlines, ops.rows(lambda p, k=k: p[k], found.pairs)) for k in (3, 4)]

    def one(p: Array, F: Array, V_a: Array, V_b: Array, T_a: Array, T_b: Array, P_a: Array, P_b: Array, s_a: Array,
            s_b: Array) -> tuple[Array, Array]:  # fmt: skip
        still = s_a[BODY] < 0.0
        V_a = ops.where(still, 0.0, V_a)
        u_a = velocity(V_a, carried(T_a, s_a) - T_a[[3, 7, 11]])
        u_b = velocity(V_b, carried(T_b, s_b) - T_b[[3, 7, 11]])
        path = place_velocity(s_a[ROUNDNESS], s_b[ROUNDNESS], u_a, u_b)

        def of_body(P: Array, drifts: Any) -> Array:
            drift = ops.where(drifts, ago * (P[3:6] / P[9] - path), 0.0)
            return change(P, P[9], F[:3], F[3:], T_b[[3, 7, 11]], drift, ago)

        return -p[MOVES] * of_body(P_a, True), of_body(P_b, p[MOVES] > 0.5)

    tables = [y for table in (x.free, kinematics, momenta) for y in ends(x.pairs, table)]
    to_a, to_b = ops.rows(one, x.pairs, total, *tables, *shapes)
    at = tuple(ops.rows(lambda p, k=k: p[k], x.pairs) for k in (A, B))
    return ops.add_at(ops.rows(lambda P: 0.0 * P[:9], momenta), at, (to_a, to_b))
