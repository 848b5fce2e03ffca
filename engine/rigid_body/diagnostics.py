"""What is looked at in a free body's motion: energy, momentum, how far a pose is from being one, and the paths of points.

All take batches: poses (..., 4, 4) and body twists (..., 6), such as a whole trajectory's.
"""

from __future__ import annotations

import numpy as np

from engine.spatial import se3

Array = np.ndarray


def kinetic_energy(G: Array, V: Array) -> Array:
    """½ Vᵀ G V, J (...).

    >>> kinetic_energy(np.diag([1.0, 1, 1, 2, 2, 2]), np.array([0, 0, 2.0, 3.0, 0, 0]))
    np.float64(11.0)
    """
    return 0.5 * np.vecdot(V, np.matvec(G, V))


def world_momentum(T: Array, G: Array, V: Array) -> Array:
    """Ad(T)⁻ᵀ G V, [angular about the world's origin; linear] in world axes (..., 6): constant where no force acts."""
    return se3.wrench_to_parent(T, np.matvec(G, V))


def determinant(T: Array) -> Array:
    """Return det R (...) of 4×4 matrices: 1 of a pose."""
    return np.linalg.det(T[..., :3, :3])


def distance_to_se3(T: Array) -> Array:
    """Frobenius distance of a 4×4 matrix from the nearest pose (...): of its upper left block from the nearest rotation, and of its last
    row from [0 0 0 1].

    >>> distance_to_se3(np.diag([2.0, 1.0, 1.0, 1.0]))
    np.float64(1.0)
    """
    U, s, Vt = np.linalg.svd(T[..., :3, :3])
    reflects = np.linalg.det(U @ Vt) < 0
    s = np.concatenate([s[..., :2], np.where(reflects, -1.0, 1.0)[..., None] * s[..., 2:]], axis=-1)
    last = T[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    return np.sqrt(((s - 1.0) ** 2).sum(axis=-1) + np.vecdot(last, last))


def point_paths(T: Array, points: Array) -> Array:
    """World positions (..., k, 3) of points (k, 3) that are fixed in the body, of poses (..., 4, 4): the traces they leave."""
    return np.asarray(points) @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
