"""Pairs of shapes of one robot that overlap at rest: neighbours by design, left out of contact detection."""

from __future__ import annotations

import numpy as np

from engine.contact import Pair, Placed
from engine.dynamics.kinematics import body_poses
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, Hull, Sphere
from engine.geometry.separation import lattice
from engine.model import Model

Array = np.ndarray
#: directions all about in which shapes are looked at, and more about the best, by so many turns of half the width
DIRECTIONS, REFINED = 400, 12
#: m: as deep as shapes may overlap at rest without being left out
TOUCH = 1e-3


def overlapping(model: Model, pairs: list[Pair]) -> list[Pair]:
    """Return the pairs whose shapes lie in each other at rest, about: in the neutral configuration, moved into the joints' limits."""
    T_W = body_poses(model, model.within_limits(model.neutral()))
    known: dict[int, tuple[Array, float]] = {}

    def placed(s: Placed) -> tuple[Array, float]:
        if id(s) not in known:
            points, radius = outline(s)
            T = T_W[s.body] @ s.pose
            known[id(s)] = points @ T[:3, :3].T + T[:3, 3], radius
        return known[id(s)]

    return [pair for pair in pairs if depth(*placed(pair.a), *placed(pair.b)) > TOUCH]


def outline(s: Placed) -> tuple[Array, float]:
    """Return points (n, 3) whose convex hull, grown by a radius, is the shape, about where it is round."""
    shape = s.shape
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, Capsule):
        return np.array([[0.0, 0.0, z * shape.length / 2.0] for z in (-1.0, 1.0)]), shape.radius
    if isinstance(shape, Cylinder):
        a = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
        rim = shape.radius * np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1)
        return np.concatenate([rim + [0.0, 0.0, z * shape.length / 2.0] for z in (-1.0, 1.0)]), 0.0
    if isinstance(shape, Ellipsoid):
        return np.array(shape.radii) * even_directions(200), 0.0
    assert isinstance(shape, (Box, Hull))
    return np.array(shape.vertices), 0.0


def even_directions(n: int) -> Array:
    """Return unit vectors (n, 3) that lie evenly all about."""
    half = lattice(n // 2)
    return np.concatenate([half, -half])


def depth(a: Array, r_a: float, b: Array, r_b: float) -> float:
    """Return about how deep the hulls of points (n, 3), grown by radii, lie in each other: the least over directions."""
    towards = b.mean(axis=0) - a.mean(axis=0)
    directions, width = np.concatenate([even_directions(DIRECTIONS), towards[None] / max(np.linalg.norm(towards), 1e-12)]), 0.2
    best, least = directions[0], np.inf
    for _ in range(REFINED + 1):
        found = (a @ directions.T).max(axis=0) - (b @ directions.T).min(axis=0) + r_a + r_b
        k = int(found.argmin())
        if found[k] < least:
            best, least = directions[k], float(found[k])
        if least < 0.0:
            return least
        turned = best + width * even_directions(40)
        directions, width = turned / np.linalg.norm(turned, axis=1)[:, None], 0.6 * width
    return least
