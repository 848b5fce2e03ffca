"""Body transforms and subspaces in one frame, stage by stage of a tree, as closed-form derivatives take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.model import Model
from engine.spatial.se3 import ad, twist_to_child, twist_to_parent

Array = np.ndarray


class Stage(NamedTuple):
    """A joint, or one of those that a joint is made of whose subspace turns in its body, as seen from its tree's frame.

    With V_P and A_P of what stands before it, V of what it moves::

        Ψ̇ = ad(V_P) S,   Ψ̈ = ad(A_P) S + ad(V_P) Ψ̇,   Ṡ = ad(V) S

    Attributes
    ----------
    body, rows : that it moves; where its velocities lie in v
    before : the stage before it, −1 for the world
    S, Psidot, Psiddot, Sdot : (6, n)
    """

    body: int
    before: int
    rows: range
    S: Array
    Psidot: Array
    Psiddot: Array
    Sdot: Array


class Swept(NamedTuple):
    """The stages of a model, in the order of its bodies, and its bodies as seen from their trees' frames: that of a root that floats, else
    the world's.

    Attributes
    ----------
    frames : T_WF of each body's frame F; T : T_FB; V, A : twists, and accelerations that begin with the world's; the world's come last
    """

    stages: list[Stage]
    frames: list[Any]
    T: list[Any]
    V: list[Any]
    A: list[Any]


def swept(model: Model, q: Array, v: Array, vdot: Array, world: Array) -> Swept:
    """Return the sweep from the roots on, of (nq), (nv), (nv), and the world's acceleration (6)."""
    n, stages = len(model.bodies), list[Stage]()
    frames: list[Any] = [None] * n + [np.eye(4)]
    T: list[Any] = [None] * n + [np.eye(4)]
    V: list[Any] = [None] * n + [np.zeros(6)]
    A: list[Any] = [None] * n + [world]
    last = [-1] * (n + 1)
    for i, body in enumerate(model.bodies):
        p, at = body.parent, body.pose(q)
        frames[i], T[i], V[i], A[i], last[i] = frames[p], T[p] @ at, V[p], A[p], last[p]
        if p < 0 and body.kind.floats:
            frames[i], T[i], A[i] = at, np.eye(4), twist_to_child(at, A[p])
        S = np.stack([twist_to_parent(T[i], s) for s in body.subspace(q).T], axis=1)
        for own in ([[k] for k in range(body.kind.nv)] if body.kind.subspace_rate else [list(range(body.kind.nv))]):
            rows = range(body.v.start + own[0], body.v.start + own[-1] + 1)
            s, x = S[:, own], S[:, own] @ v[rows.start : rows.stop]
            Psidot = ad(V[i]) @ s
            Psiddot = ad(A[i]) @ s + ad(V[i]) @ Psidot
            A[i] = A[i] + s @ vdot[rows.start : rows.stop] + ad(V[i]) @ x
            V[i] = V[i] + x
            stages.append(Stage(i, last[i], rows, s, Psidot, Psiddot, ad(V[i]) @ s if len(own) > 1 else Psidot))
            last[i] = len(stages) - 1
    return Swept(stages, frames, T, V, A)


def sum_over_subtrees(model: Model, x: list[Any]) -> list[Any]:
    """Return what is given for each body, and the world, summed over all that it carries."""
    total = list(x)
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:
            total[body.parent] = total[body.parent] + total[i]
    return total
