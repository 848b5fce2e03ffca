"""Overlaps at the start of runs: deep ones are refused, and those that springs would throw apart are warned of, and part slowly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.checks import warn
from engine.compiler.gufunc import shaped
from engine.components.component import SimulationWarning
from engine.components.layout import Layout
from engine.contact import ContactError, ContactLaws
from engine.contact.many import RowLaws
from engine.contact.point_law import PARTING
from engine.simulation.parameters import moves_shapes, of_model
from engine.simulation.run_loop import Diverged, Process

Array = np.ndarray
#: of half the thickness of the thinner of two shapes: as deep as they may lie in each other at the start
OVERLAP = 0.5
#: m/s² with which springs may move bodies apart at the start, and m/s to which they may, without a word
THROWN, FASTEST = 1000.0, 0.5
#: m/s², below which they hardly do either
HARMLESS = 200.0
#: s: a step in which nothing moves to speak of
INSTANT = 1e-6


class Overlaps:
    """Finds shapes that overlap at the start of runs, with parameters (n) of a ``layout``."""

    def __init__(self, contacts: ContactLaws, layout: Layout) -> None:
        self.contacts, self.sizes, self.layout = contacts, contacts.sizes, layout

    def gaps(self, q: Array, p: Array) -> Array:
        """Return the gaps (points) of a configuration (nq). Traceable."""
        values, contacts = self.layout.split(p), self.contacts
        placed = {name: x for name, x in of_model(values).items() if moves_shapes(name)}
        return (contacts.of(contacts.model.with_numbers(placed), {}) if placed else contacts).gaps(q)

    @functools.cached_property
    def compiled(self) -> Callable[[Array, Array], Array]:
        """The gaps (..., points) of configurations (..., nq)."""
        return shaped(self.gaps, f"({self.contacts.model.nq}),({self.layout.n})->({len(self.sizes)})")

    def seen_apart(self, process: Process, p: Array, x: Array) -> bool:
        """Return whether the step's own program, which needs no other, finds at states x (..., n) that no shapes lie deep in each other."""
        if not isinstance(self.contacts, RowLaws) or type(process) is not Process or not process.compiled:
            return False
        try:
            seen = process.record.split(process.look(0.0, INSTANT, p, x))
        except Diverged:
            return False
        overlap, throw = seen["contacts.overlap"], seen["contacts.throw"]
        slow = throw * overlap * (2.0 * self.sizes.max()) < FASTEST**2         # δ √(k w), as deep as the thickest may lie
        return bool((overlap < 0.5 * OVERLAP).all() and (throw < HARMLESS).all() and slow.all())

    def apart(self, q: Array, p: Array) -> Any:
        """Return whether no shapes lie deep in each other at q (nq), as :meth:`recessed` demands; traceable."""
        deep = ops.array(list(self.gaps(q, p) + OVERLAP * self.sizes))
        return functools.reduce(ops.minimum, deep) >= 0.0

    def recessed(self, q: Array, p: Array) -> Array:
        """Return the memory of sticking (..., *held) at a start from configurations (..., nq): pairs that springs would throw apart press
        behind recesses as deep as their shapes lie in each other, see :mod:`engine.contact.point_law`. What lies deeper in each other than
        a quarter of the thinner one is refused.

        Raises
        ------
        ContactError : names the deepest pair, with its depth
        """
        rows = np.broadcast_shapes(q.shape[:-1], p.shape[:-1])
        depths = -self.compiled(q, p).reshape(-1, len(self.sizes))

        def where(worst: int) -> str:
            row = np.unravel_index(depths[:, worst].argmax(), rows)
            return f" of rollout {[int(i) for i in row]}" if rows else ""

        def name(k: int) -> str:                                               # of thousands that there may be, when one is said
            return self.contacts.names[k]

        require_shallow(depths.max(axis=0), self.sizes, name, where)
        pairs = self.contacts.pairs
        first = np.cumsum([0, *(pair.points for pair in pairs[:-1])])
        throws = np.array([pair.material.stiffness * pair.mobility for pair in pairs])
        bodies = np.array([[pair.a.body, pair.b.body] for pair in pairs])
        behind = recesses(np.maximum.reduceat(depths, first, axis=1), throws, bodies, lambda k: pairs[k].name)
        return np.array([self.contacts.recessed(own) for own in behind]).reshape(*rows, *self.contacts.held)


def require_shallow(depth: Array, size: Array, name: Callable[[int], str], where: Callable[[int], str]) -> None:
    """Refuse points (p) that lie so deep in each other at the start, m, of shapes of half so much thickness, m.

    Raises
    ------
    ContactError : names the deepest, by its number, with its depth
    """
    worst = int(np.argmax(depth / size))
    if depth[worst] > OVERLAP * size[worst]:
        others = int((depth > OVERLAP * size).sum()) - 1
        more = f" ({others} other points too)" if others else ""
        raise ContactError(f"'{name(worst)}' overlap by {depth[worst]:.3g} m at the start{where(worst)}{more}, deeper than "
                           f"{OVERLAP * size[worst]:.3g} m, a quarter of the thinner one's thickness; expected shapes that touch at most, "
                           "or pairs=[...] without these")  # fmt: skip


def recesses(depth: Array, throws: Array, bodies: Array, name: Callable[[int], str], where: str = "") -> Array:
    """Return the recesses (r, p), m, behind which pairs that begin so deep (r, p) part slowly, in each of r starts: zero of those that
    springs, which give ``throws`` m/s² for each m (p), part slowly as they are, with all that push the same of their two ``bodies`` (p, 2),
    of which those that stand still are −1. Warn where some are not.

    >>> recesses(np.array([[0.01, 1e-5]]), np.array([1e3, 1e3]), np.array([[-1, 0], [-1, 1]]), str)
    array([[0., 0.]])
    """
    deep = np.maximum(depth, 0.0)
    acceleration, speed = together(throws * deep, bodies), np.sqrt(together(throws * deep**2, bodies))
    strength = np.where(deep > 0.0, np.maximum(acceleration / THROWN, speed / FASTEST), 0.0)
    worst = np.unravel_index(strength.argmax(), strength.shape)
    if strength[worst] > 1.0:
        warn(f"'{name(int(worst[1]))}' overlap by {depth[worst]:.3g} m at the start{where}, from where springs would throw them apart at "
             f"about {speed[worst]:.2g} m/s, with {acceleration[worst]:.3g} m/s²; they part at {PARTING:g} m/s instead; expected shapes "
             "that touch at most", SimulationWarning)  # fmt: skip
    return np.where(strength > 1.0, deep, 0.0)


def together(pushes: Array, bodies: Array) -> Array:
    """Return of pairs what pushes (..., p) all that push the same body add up to, the larger one of their two ``bodies`` (p, 2); those that
    stand still are −1.

    >>> together(np.array([1.0, 2.0, 4.0]), np.array([[-1, 0], [0, 1], [-1, 1]]))
    array([3., 6., 6.])
    """
    onto = np.zeros((bodies.max() + 2, *pushes.shape[:-1]))
    for side in bodies.T:
        np.add.at(onto, side, np.moveaxis(pushes, -1, 0))
    onto[-1] = 0.0
    return np.asarray(np.moveaxis(onto[bodies].max(axis=1), 0, -1))
