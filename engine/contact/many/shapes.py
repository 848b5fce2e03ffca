"""The shapes of a model as tables, which say what a step asks of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine import geometry
from engine.contact.many.manifolds import Shapes
from engine.contact.material import ContactMaterial
from engine.contact.pairs import Placed, thickness
from engine.geometry import Shape

Array = np.ndarray
#: half sizes of what has no end, m
ENDLESS = 1e12


def kinds_of(placed: Sequence[Placed]) -> tuple[geometry.Kind, ...]:
    """Return the kinds of shapes that there are, what stands still without end first."""
    found = dict.fromkeys(geometry.measures(s.shape)[0] for s in placed)
    return tuple(sorted(found, key=lambda kind: (not is_ground(kind), str(kind))))


def is_ground(kind: geometry.Kind) -> bool:
    """Return whether shapes of a kind have no end."""
    return isinstance(kind, geometry.HeightField) or kind is geometry.Plane


def tables(placed: Sequence[Placed], surfaces: Sequence[ContactMaterial], mobilities: Sequence[float],
           apart: Iterable[tuple[int, int]]) -> Shapes:  # fmt: skip
    """Return the tables of shapes with their surfaces and mobilities, of which some pairs of numbers never touch."""
    kinds = kinds_of(placed)
    own: list[list[Array]] = [[] for _ in kinds]
    turns = any(surface.turns for surface in surfaces)
    outlines, grounds = [], []
    for k, (s, surface, w) in enumerate(zip(placed, surfaces, mobilities, strict=True)):
        kind, x = geometry.measures(s.shape)
        at = kinds.index(kind)
        pose = s.pose[:3].ravel()
        center, half, radius = outline(s.shape)
        numbers = [surface.stiffness, surface.dissipation, surface.friction, surface.static, w, size(s.shape)]
        numbers += surface.turning if turns else ()
        outlines.append(np.array([s.body, *pose, *center, *half, radius, at, len(own[at]), *numbers], dtype=float))
        own[at].append(np.concatenate([pose, s.center, x]))
        if isinstance(s.shape, geometry.GROUNDS):
            n = s.pose[:3, 2]
            grounds.append([*n, n @ s.pose[:3, 3] + s.shape.summit, k])
    others: list[list[int]] = [[] for _ in placed]
    for a, b in apart:
        others[a].append(b)
        others[b].append(a)
    start = np.cumsum([0, *map(len, others)]).astype(float)
    return Shapes(np.array(outlines), tuple(map(np.array, own)), start, np.array([float(b) for few in others for b in few]),
                  np.array(grounds).reshape(-1, 5))  # fmt: skip


def size(shape: Shape) -> float:
    """Return half of how thick a shape is, m, about."""
    return ENDLESS if isinstance(shape, geometry.GROUNDS) else thickness(shape) / 2.0


def rod(shape: Shape) -> tuple[Array, float]:
    """Return half of the axis (3) of balls along a segment about the middle of a shape's box that hold it, in its frame, and their radius.

    >>> rod(geometry.Cylinder(0.1, 2.0)), rod(geometry.Box((0.6, 2.0, 0.8)))
    ((array([0., 0., 1.]), 0.1), (array([0., 1., 0.]), 0.5))
    """
    _, half, radius = outline(shape)
    if isinstance(shape, (geometry.Capsule, geometry.Cylinder)):
        return np.array([0.0, 0.0, 0.5 * shape.length]), shape.radius
    if isinstance(shape, (geometry.Sphere, *geometry.GROUNDS)):
        return np.zeros(3), radius
    k = int(np.argmax(half))
    return half * (np.arange(3) == k), float(np.linalg.norm(np.delete(half, k)))


def outline(shape: Shape) -> tuple[Array, Array, float]:
    """Return centre (3) and half sizes (3) of a box around a shape in its frame, and the radius of a ball about that centre."""
    if isinstance(shape, geometry.GROUNDS):
        return np.zeros(3), np.full(3, ENDLESS), ENDLESS
    reach = np.array([[shape.support(sign * e)[k] for sign in (1.0, -1.0)] for k, e in enumerate(np.eye(3))])
    center, half = reach.mean(axis=1), 0.5 * (reach[:, 0] - reach[:, 1])
    away = float(np.linalg.norm(center - shape.center))
    return center, half, min(float(np.linalg.norm(half)), float(shape.bounding_radius) + away)


