"""Bodies that a camera stands within, whose inside is not drawn."""

from __future__ import annotations

import numpy as np

from engine.checks import warn
from engine.viewer.scene.drawing import Drawing, measure
from engine.viewer.scene.errors import ViewerWarning
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.surface import Surface

Array = np.ndarray
#: a direction that is no edge's and no face's
ALONG = np.array([0.42163, 0.30217, 0.85495])


def tell_within(scene: Scene, drawing: Drawing, eye: Array, t: float, told: set[str]) -> None:
    """Warn where a camera at a place (3), m, at a time, s, is within a closed surface of a link that is drawn, and not among those told."""
    names = [f"'{a.model.links[p.link].name}'" for a in scene.actors for _ in range(a.instances) for p in a.parts]
    found = {names[drawing.numbers[k] - 1] for k in np.flatnonzero(drawing.numbers > 0) if holds(drawing, int(k), eye)} - told
    told |= found
    if found:
        warn(f"the camera is within {', '.join(sorted(found))} at t = {t:g} s, of which it sees nothing, or a part; expected a "
             "place outside, or Shown(hidden=…) with those links", ViewerWarning)  # fmt: skip


def holds(drawing: Drawing, k: int, eye: Array) -> bool:
    """Return whether the k-th instance of a drawing is a closed surface with a point (3), m, inside."""
    surface, T = drawing.surfaces[drawing.which[k]], drawing.poses[k]
    if not surface.closed:
        return False
    place = np.linalg.solve(T[:3, :3], eye - T[:3, 3])
    low, high = measure(surface).box
    return bool((place > low).all() and (place < high).all()) and crossings(surface, place) % 2 == 1


def crossings(surface: Surface, place: Array) -> int:
    """Return how often a ray from a place (3) crosses a surface: of a closed one, an odd number from within (Möller and Trumbore 1997).

    >>> from engine.viewer.scene.surface import sphere
    >>> crossings(sphere()[0].surface, np.zeros(3)), crossings(sphere()[0].surface, np.array([0.0, 0.0, -2.0])) % 2
    (1, 0)
    """
    a, b, c = (surface.positions[surface.faces[:, i]].astype(float) for i in range(3))
    p = np.cross(ALONG, c - a)
    size = np.einsum("ij,ij->i", b - a, p)
    size = np.where(np.abs(size) < 1e-300, np.nan, size)
    u = np.einsum("ij,ij->i", place - a, p) / size
    q = np.cross(place - a, b - a)
    v = q @ ALONG / size
    far = np.einsum("ij,ij->i", c - a, q) / size
    return int(((u >= 0.0) & (v >= 0.0) & (u + v < 1.0) & (far > 0.0)).sum())
