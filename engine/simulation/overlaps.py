"""Overlaps at the start of runs: deep ones are refused, and those that springs would throw apart are warned of."""

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
        return bool((seen["contacts.overlap"] < 0.5 * OVERLAP).all() and (seen["contacts.throw"] < HARMLESS).all())

    def apart(self, q: Array, p: Array) -> Any:
        """Return whether no shapes lie deep in each other at q (nq), as :meth:`require_apart` demands; traceable."""
        deep = ops.array(list(self.gaps(q, p) + OVERLAP * self.sizes))
        return functools.reduce(ops.minimum, deep) >= 0.0

    def require_apart(self, q: Array, p: Array) -> None:
        """Refuse configurations (..., nq) in which shapes lie deep in each other: by more than a quarter of the thinner one.

        Raises
        ------
        ContactError : names the deepest pair, with its depth
        """
        depths = -self.compiled(q, p).reshape(-1, len(self.sizes))
        rows = np.broadcast_shapes(q.shape[:-1], p.shape[:-1])

        def where(worst: int) -> str:
            row = np.unravel_index(depths[:, worst].argmax(), rows)
            return f" of rollout {[int(i) for i in row]}" if rows else ""

        def name(k: int) -> str:                                               # of thousands that there may be, when one is said
            return self.contacts.names[k]

        depth = depths.max(axis=0)
        require_shallow(depth, self.sizes, name, where)
        warn_of_springs(depth, self.throws, name)

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


def warn_of_springs(depth: Array, throws: Array, name: Callable[[int], str], where: str = "") -> None:
    """Warn where points (p) begin so deep (p) that their springs, which give ``throws`` m/s² for each m (p), part the bodies with over a
    hundred times their weight, or fast: what rests at the depth δ is given δ √(k w)."""
    deep = np.maximum(depth, 0.0)
    accelerations, speeds = throws * deep, np.sqrt(throws) * deep
    worst = int(np.argmax(np.maximum(accelerations / THROWN, speeds / FASTEST)))
    if accelerations[worst] > THROWN or speeds[worst] > FASTEST:
        warn(f"'{name(worst)}' overlap by {depth[worst]:.3g} m at the start{where}, and are thrown apart at about {speeds[worst]:.2g} m/s, "
             f"with {accelerations[worst]:.3g} m/s²; expected shapes that touch at most", SimulationWarning)  # fmt: skip
