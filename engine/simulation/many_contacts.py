"""``ManyContacts``: all contacts of a model of free bodies, as tables."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence

import numpy as np

from engine.contact import ContactMaterial, Placed
from engine.contact.many import Shapes, kinds_of, tables
from engine.contact.many.manifolds import MATERIAL, MOBILITY, SIZE
from engine.contact.many.sticking import EACH, in_places, number_of
from engine.contact.material import on_each_other
from engine.geometry import Plane
from engine.model import Model
from engine.simulation.overlaps import recesses, require_shallow
from engine.simulation.passing_bodies import PassingBodies, passing_bodies

Array = np.ndarray


class ManyContacts:
    """Shapes that may touch, each with its surface, of bodies that nothing but contacts joins.

    Parameters
    ----------
    placed : the shapes, those that stand still on the body −1
    surfaces : what each is made of
    stiction : the speed that counts as rest, m/s
    combine : how two frictions combine
    apart : the numbers of each two shapes that never touch
    """

    def __init__(self, model: Model, placed: Sequence[Placed], surfaces: Sequence[ContactMaterial], stiction: float,
                 combine: str, apart: Sequence[tuple[int, int]] = ()) -> None:  # fmt: skip
        self.model, self.placed, self.stiction, self.combine = model, list(placed), stiction, combine
        self.kinds, self.apart = kinds_of(placed), tuple(apart)
        #: how many pairs may touch
        self.many = pairs_of(placed) - len(apart)
        #: whether some surface has torsional or rolling friction
        self.turns = any(surface.turns for surface in surfaces)
        self.shapes = tables(placed, surfaces, [self.mobility(s) for s in placed], apart)

    @property
    def surfaces(self) -> set[str]:
        """The names of surfaces that may touch, of links and their shapes."""
        return {name for s in self.placed for name in s.surfaces}

    @property
    def turning(self) -> set[str]:
        """Names of surfaces that may meet one with torsional or rolling friction."""
        return self.surfaces if self.turns else set()

    @property
    def ground(self) -> Array | None:
        """The pose (4, 4) of the ground, whose z axis is its normal; None without one."""
        return next((s.pose for s in self.placed if isinstance(s.shape, Plane)), None)

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

    @functools.cached_property
    def passing(self) -> PassingBodies:
        """Bodies that may pass through each other, as known before a run."""
        return passing_bodies(self.model, self.placed, self.shapes.outlines, self.apart)

    def of(self, flat: Sequence[Array]) -> Shapes:
        """Return such tables by their names."""
        outlines, *kinds, start, others, grounds = flat
        return Shapes(outlines, tuple(kinds), start, others, grounds)

    def recessed(self, points: Array, depth: Array, where: str) -> Array:
        """Return the memory of sticking at a start in which points of pairs (p, 2) of shapes lie so deep (p) in each other, m: those that
        springs would throw apart, which is warned of, press behind recesses; what lies deeper is refused."""
        if not len(points):
            return np.zeros(self.held)

        def name(k: int) -> str:
            return ":".join(self.placed[int(shape)].link for shape in points[k])

        require_shallow(depth, self.sizes[points].min(axis=1), name, lambda _: where)
        one, other = (self.shapes.outlines[points[:, k]] for k in (0, 1))
        stiffness = on_each_other(one[:, MATERIAL].T, other[:, MATERIAL].T, self.combine)[0]
        throws = stiffness * (one[:, MOBILITY] + other[:, MOBILITY])
        own = number_of(one.T, other.T, np.vstack([np.zeros((3, len(points))), points.T]))
        numbers, first, of = np.unique(own, return_index=True, return_inverse=True)
        deepest = np.zeros(len(numbers))
        np.maximum.at(deepest, of, depth)
        bodies = np.stack([one[first, 0], other[first, 0]], axis=1).astype(int)
        behind = recesses(deepest[None], throws[first], bodies, lambda k: name(int(first[k])), where)
        return in_places(self.held, numbers, behind[0])

    def overlaps(self, points: Array) -> Array:
        """Return how far the shapes of points (p, 14) lie in each other, of the thickness of the thinner one."""
        return np.maximum(-points[:, 8], 0.0) / (2.0 * self.sizes[points[:, :2].astype(int)].min(axis=1))

    @property
    def sizes(self) -> Array:
        """Half of how thick each shape is, m, about; what has no end is no measure."""
        return np.asarray(self.shapes.outlines[:, SIZE])

    @property
    def held(self) -> tuple[int, int]:
        """The shape of what is kept of how pairs gave way since they stick: see :mod:`engine.contact.many.sticking`."""
        return EACH * len(self.placed), 11 if self.turns else 8


def pairs_of(placed: Sequence[Placed]) -> int:
    """Return how many pairs of shapes move against each other."""
    on = [s.body for s in placed]
    return len(on) * (len(on) - 1) // 2 - sum(n * (n - 1) // 2 for n in Counter(on).values())
