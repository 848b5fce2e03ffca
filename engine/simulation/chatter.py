"""Where joints chatter: their velocities change in a step by more than they are around then, in many records."""

from __future__ import annotations

import numpy as np

from engine.model import Model

Array = np.ndarray
#: in a share of so many records or more a joint's velocity changes in a step by more than it is around then; rad/s or m/s that is rest
FEW, SHARE, SLOW = 10, 0.4, 1e-3
#: rad in a step: a base that turns farther changes its velocity as much by turning
SPUN = 0.3


def chattering_joints(model: Model, dt: float, v: Array, vdot: Array) -> tuple[Array, Array, Array]:
    """Return which velocities (n) may chatter in records (..., T, nv) of steps of dt; where they do (..., T, n), and how fast they are
    around then, elsewhere zero."""
    most = (dt * np.abs(vdot) > SLOW).mean(axis=-2) > SHARE                     # what counts changes by more than rest
    joints = np.flatnonzero(most.reshape(-1, v.shape[-1]).any(axis=0)) if v.shape[-2] >= FEW else np.zeros(0, dtype=int)
    around = neighbourly(v[..., joints])
    turning = (dt * np.abs(vdot[..., joints]) > around) & (around > SLOW)
    for b in (model.bodies[i] for i in model.roots):
        own = (joints >= b.v.start) & (joints < b.v.stop)
        if b.kind.floats and own.any():                                        # which may turn far in a step: another doubt
            turning[..., own] &= dt * np.linalg.norm(v[..., b.v][..., :3], axis=-1, keepdims=True) < SPUN
    turning &= turning.mean(axis=-2, keepdims=True) > SHARE
    return joints, turning, np.where(turning, around, 0.0)


def neighbourly(v: Array) -> Array:
    """Return the root mean square of a velocity (..., T, nv) over three records in a row; at the ends over two.

    >>> neighbourly(np.array([[3.0], [4.0], [0.0]])).ravel().round(3)
    array([3.536, 2.887, 2.828])
    """
    zero, n = np.zeros_like(v[..., :1, :]), v.shape[-2]
    with np.errstate(over="ignore", invalid="ignore"):                         # of rollouts that are no numbers any more
        squares = np.concatenate([zero, v * v, zero], axis=-2)
        counts = np.minimum(np.minimum(np.arange(n) + 2, n + 1 - np.arange(n)), 3)[:, None]
        return np.sqrt(sum(squares[..., k : k + n, :] for k in range(3)) / counts)


def followed(v: Array, vdot: Array, where: Array, dt: float) -> str:
    """Return in words a step that follows v̇ = −λ v: 1/λ, of how records (T) change from one to the next, ``where`` (T − 1) they count;
    none that is not shorter than dt.

    >>> t = np.arange(5)
    >>> [followed((-1.5) ** t, -2000.0 * (-1.5) ** t, t[1:] > 0, dt) for dt in (1e-3, 1e-4)]
    [', to about 0.0005 s,', ',']
    """
    with np.errstate(all="ignore"):
        step = float(np.median(np.abs(np.diff(v))[where])) / float(np.median(np.abs(np.diff(vdot))[where]) or np.nan)
    return f", to about {step:.2g} s," if 0.0 < step < dt else ","
