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

        depth = depths.max(axis=0)
        require_shallow(depth, self.sizes, name, where)
        warn_of_springs(depth, self.throws, name)
        ends = np.cumsum([pair.points for pair in self.contacts.pairs])
        deepest = np.maximum.reduceat(recesses(depths, self.throws), np.append(0, ends[:-1]), axis=1)
        return np.array([self.contacts.recessed(own) for own in deepest]).reshape(*rows, *self.contacts.held)

    @functools.cached_property
    def throws(self) -> Array:
        """Acceleration at each point (points) by its contact's spring, m/s² for each m of depth."""
        pairs = [pair for pair in self.contacts.pairs for _ in range(pair.points)]
        return np.array([pair.material.stiffness * pair.mobility for pair in pairs])


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
        raise ContactError(f"'{name(worst)}' overlap by {depth[worst]:.3g} m at the start{where(worst)}{more}; expected shapes that touch "
                           "at most, or pairs=[...] without these")  # fmt: skip


def recesses(depth: Array, throws: Array) -> Array:
    """Return the recesses (..., p), m, behind which points that begin so deep (..., p) part slowly: zero of those that springs, which give
    ``throws`` m/s² for each m (p), part slowly as they are.

    >>> recesses(np.array([0.01, 1e-5]), np.array([1e5, 1e5]))
    array([0.01, 0.  ])
    """
    return np.where(violence(depth, throws) > 1.0, depth, 0.0)


def violence(depth: Array, throws: Array) -> Array:
    """Return of points (..., p) that begin so deep how fast, or with how much acceleration, springs part the bodies, of what goes without
    a word: what rests at the depth δ is given δ √(k w)."""
    deep = np.maximum(depth, 0.0)
    return np.maximum(throws * deep / THROWN, np.sqrt(throws) * deep / FASTEST)


def warn_of_springs(depth: Array, throws: Array, name: Callable[[int], str], where: str = "") -> None:
    """Warn where points (p) begin so deep (p) that their springs, which give ``throws`` m/s² for each m (p), would part the bodies with
    over a hundred times their weight, or fast."""
    strength = violence(depth, throws)
    worst = int(np.argmax(strength))
    if strength[worst] > 1.0:
        speed, acceleration = np.sqrt(throws[worst]) * depth[worst], throws[worst] * depth[worst]
        warn(f"'{name(worst)}' overlap by {depth[worst]:.3g} m at the start{where}, from where springs would throw them apart at about "
             f"{speed:.2g} m/s, with {acceleration:.3g} m/s²; they part at {PARTING:g} m/s instead; expected shapes that touch at most",
             SimulationWarning)  # fmt: skip
