"""``ManyContacts``: all contacts of a model of free bodies, as tables."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from engine.contact import ContactMaterial, Placed
from engine.contact.many import Shapes, kinds_of, tables
from engine.model import Model

Array = np.ndarray


class ManyContacts:
    """Shapes that may touch, each with its surface, of bodies that nothing but contacts joins.

    Parameters
    ----------
    placed : the shapes, those that stand still on the body −1
    surfaces : of links by name
    other : of all other links
    stiction : the speed that counts as rest, m/s
    """

    def __init__(self, model: Model, placed: Sequence[Placed], surfaces: Mapping[str, ContactMaterial], other: ContactMaterial,
                 stiction: float) -> None:  # fmt: skip
        self.model, self.placed, self.stiction = model, list(placed), stiction
        self.materials = [surfaces.get(s.link, other) for s in placed]
        self.kinds = kinds_of(placed)
        self.shapes = tables(placed, self.materials, [self.mobility(s) for s in placed], ())

    @property
    def surfaces(self) -> set[str]:
        """The links whose surfaces may touch."""
        return {s.link for s in self.placed}

    def mobility(self, s: Placed) -> float:
        """Return the velocity that a unit impulse on a shape's centre leaves it with, a mean over directions."""
        if s.body < 0:
            return 0.0
        x, y, z = s.center
        J = np.hstack([-np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]), np.eye(3)])
        return float(np.trace(J @ np.linalg.pinv(self.model.bodies[s.body].inertia, hermitian=True) @ J.T)) / 3.0

    def in_order(self, bodies: Array) -> ManyContacts:
        """Return the same, of bodies (n) that are the rows of other tables."""
        row = {int(i): float(k) for k, i in enumerate(bodies)}
        outlines = self.shapes.outlines.copy()
        outlines[:, 0] = [row.get(int(i), -1.0) for i in outlines[:, 0]]
        found = ManyContacts.__new__(ManyContacts)
        found.__dict__.update(self.__dict__, shapes=self.shapes._replace(outlines=outlines))
        return found

    @functools.cached_property
    def flat(self) -> list[Array]:
        """The tables, one after another."""
        s = self.shapes
        return [s.outlines, *s.kinds, s.start, s.others, s.grounds]

    def of(self, flat: Sequence[Array]) -> Shapes:
        """Return such tables by their names."""
        outlines, *kinds, start, others, grounds = flat
        return Shapes(outlines, tuple(kinds), start, others, grounds)
