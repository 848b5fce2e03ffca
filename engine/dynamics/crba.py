"""Composite-rigid-body algorithm: the joint-space inertia matrix M, and its factorisation and solve with a tree's sparsity.

Here only the order is turned, leaf to root; the elimination, which skips structural zeros, is :class:`engine.ops.linear.LDL`.
(Block-sparse systems of contact: :mod:`engine.ops.sparse`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.each_tree import blocks, each_tree
from engine.model import Model
from engine.spatial.se3 import wrench_to_parent

Array = np.ndarray


@each_tree(blocks)
def crba(model: Model, q: Array) -> Array:
    """Return the joint-space inertia M(q), symmetric (nv, nv): kinetic energy K = ½ vᵀ M v.

    The inertia of everything a joint carries, and the force its motion needs, carried to the root::

        Ic_i = G_i + Σ_children Ad(T_c)⁻ᵀ Ic_c Ad(T_c)⁻¹                          (1)
        F = Ic_i S_i,   M_ii = S_iᵀ F + diag(a_i)                                 (2)   a: the joints' armature
        F ← Ad(T_j)⁻ᵀ F,   M_ij = Fᵀ S_p(j)   for each ancestor p(j)               (3)

    Parameters
    ----------
    q : configuration (nq)

    Notes
    -----
    O(nv · depth); traceable; entries between branches are exactly zero. A mimic joint adds to the row and column of its source.

    References
    ----------
    Featherstone, *Rigid Body Dynamics Algorithms*, §6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> crba(arm.model(), np.zeros(1))
    array([[18.]])
    """
    q = model.checked("q", q)
    poses = [body.poses(q) for body in model.bodies]
    T = [T_PB for T_PB, _ in poses]
    S = [body.subspace(q) for body in model.bodies]
    Ic = composite(model, q, [body.inertia for body in model.bodies], [T_J for _, T_J in poses])    # (1)
    M: list[list[Any]] = [[0.0] * model.nv for _ in range(model.nv)]
    for k, a in enumerate(model.armature.tolist()):
        M[k][k] = a
    for i in reversed(range(len(model.bodies))):
        F = list((Ic[i] @ S[i]).T)
        j = i
        while j >= 0:
            rows, columns = model.bodies[i].v, model.bodies[j].v
            for a, Fa in enumerate(F, rows.start):
                for b, value in enumerate(S[j].T @ Fa, columns.start):                      # (2), (3)
                    if i == j and b > a:
                        continue
                    M[a][b] = M[a][b] + value
                    if i != j or a != b:
                        M[b][a] = M[b][a] + value
            F = [wrench_to_parent(T[j], Fa) for Fa in F]
            j = model.bodies[j].parent
    return np.array(M).reshape(model.nv, model.nv)


def composite(model: Model, q: Array, G: list[Any], T_J: list[Any] | None = None) -> list[Any]:
    """Return symmetric 6×6 matrices summed over all that a body carries, each in its body's frame: G_p ← G_p + Ad(T_i)⁻ᵀ G_i Ad(T_i)⁻¹,
    by the poses ``T_J`` of the bodies in their joints' frames, where these are known."""
    Gc = list(G)
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:  # nobody asks for the world's sum, the dearest of all
            T = body.joint_pose(q) if T_J is None else T_J[i]
            Gc[body.parent] = Gc[body.parent] + body.inertia_in_parent(T, Gc[i])
    return Gc


def solve_from_leaves(M: Array, b: Array) -> Array:
    """Return x of M x = b, (nv) or (nv, m): factored leaf to root, so that a tree's zeros do not fill in. Traceable.

    >>> solve_from_leaves(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    x: Array = ops.solve(M[::-1, ::-1], b[::-1])[::-1]
    return x
