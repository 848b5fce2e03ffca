"""Changes of free bodies' momenta by the impulses of their contacts, for ``conserve_momentum``: see :mod:`engine.contact.momenta`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.contact.many.problem import MOVES, OFFSET, A, B, Problem, ends, of_pair
from engine.contact.momenta import change
from engine.contact.point_law import wrench_of

Array = np.ndarray


def momentum_changes(x: Problem, poses: Any, momenta: Any, impulses: Any, ago: Any) -> Any:
    """Return the changes of the momenta (n, 9) by impulses (p, 3 or 6) on the points' second bodies, which act ``ago`` before the flight's
    end.

    Parameters
    ----------
    poses : (n, 12), T_WB (3×4) where flight ends
    momenta : (n, 10), those of each body, and its mass
    """
    acts = ops.rows(lambda p, g: np.concatenate([g[:3], wrench_of(p[17:20], g)[:3]]), x.points, impulses)
    total = ops.add_at(ops.rows(lambda p: np.zeros(6), x.pairs), of_pair(x), acts)     # about the second body's origin

    def one(p: Array, F: Array, T_a: Array, T_b: Array, P_a: Array, P_b: Array) -> tuple[Array, Array]:
        to_a, to_b = (change(P, P[9], F[:3], F[3:], about, ago)
                      for P, about in ((P_a, T_a[[3, 7, 11]] + p[OFFSET]), (P_b, T_b[[3, 7, 11]])))  # fmt: skip
        return -p[MOVES] * to_a, to_b

    to_a, to_b = ops.rows(one, x.pairs, total, *(y for table in (poses, momenta) for y in ends(x.pairs, table)))
    at = tuple(ops.rows(lambda p, k=k: p[k], x.pairs) for k in (A, B))
    return ops.add_at(ops.rows(lambda P: 0.0 * P[:9], momenta), at, (to_a, to_b))
