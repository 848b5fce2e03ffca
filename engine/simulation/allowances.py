"""Thresholds of plausibility warnings: how deep contacts may be, how thin shapes are, and how fast joints may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.contact import ContactLaws
from engine.contact.joint_laws import JointCoordinate
from engine.geometry import Plane
from engine.model import Model
from engine.simulation.passing_bodies import PassingBodies
from engine.simulation.unresolved_impacts import blows_of

Array = np.ndarray
#: of half the thickness of the thinner of two shapes: as deep as they may be in each other
DEEP = 0.2


class Depths(NamedTuple):
    """Depths and times of contact that a run is warned by: the points' names, and the depth, m, from which each is in doubt; thin shapes,
    by :func:`thinnest`, and how many times half their thickness a step may go; how long a blow at each point lasts whose surfaces lose next
    to nothing, s, infinite where they lose more; and free bodies that may pass through each other."""

    names: list[str]
    deepest: Array
    thin: dict[tuple[int, int], tuple[float, list[int]]]
    most: float
    blows: Array = np.zeros(0)
    free: PassingBodies | None = None


def depths_of(model: Model, contacts: ContactLaws | None, impacts: ContactLaws | None, free: PassingBodies | None) -> Depths:
    """Return what is known of contacts, those of ``free`` bodies too, or else of ideal ``impacts``, of which no depth is in doubt."""
    names, deepest = (contacts.names, DEEP * contacts.sizes) if contacts else ([], np.zeros(0))
    return Depths(names, deepest, thinnest(model, contacts or impacts), 1.0 if contacts else 2.0,   # springs turn about in the middle
                  blows_of(contacts) if contacts else np.zeros(0), free)  # fmt: skip


def thinnest(model: Model, laws: ContactLaws | None) -> dict[tuple[int, int], tuple[float, list[int]]]:
    """Return, by the roots of trees that may meet (−1: what does not float), half of how thick the thinnest is that what floats there may
    pass through, m, and which points those pairs have."""
    root = {i: tree[0] for tree in model.trees for i in tree if model.bodies[tree[0]].kind.floats}
    found: dict[tuple[int, int], tuple[float, list[int]]] = {}
    first = 0
    for pair in laws.pairs if laws else ():
        a, b = (root.get(s.body, -1) for s in (pair.a, pair.b))
        if a != b and {a, b} & {pair.a.body, pair.b.body} - {-1} and not isinstance(pair.a.shape, Plane):
            size, points = found.get((a, b), (np.inf, []))
            found[a, b] = min(size, pair.size), [*points, *range(first, first + pair.points)]
        first += pair.points
    return found


def speed_limits(coordinates: Sequence[JointCoordinate], nv: int) -> Array:
    """Return the speed limits (nv) that joints' laws hold, infinite where there is none."""
    found = np.full(nv, np.inf)
    for c in coordinates:
        found[c.j] = min(found[c.j], c.speed / abs(c.ratio))
    return found
