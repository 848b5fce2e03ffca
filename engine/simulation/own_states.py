"""Names of the states that are no component's: what a plant keeps from step to step besides q and v."""

from __future__ import annotations

from engine.components.layout import Layout

#: the states of floating trees: their momenta (trees, 9), and what the projection onto them has moved so far: the sum of the steps' errors
#: of momentum and the largest momentum, squared, angular and linear (trees, 4)
MOMENTUM, DEFECT = "momentum", "defect"
#: the generalized force (nv) of impulses that last from a step to the next: see :class:`~engine.simulation.impulses.Impulses`
LASTING = "lasting"
#: how pairs of shapes gave way since they stick (pairs, 7), or with couples (pairs, 10):
#: :func:`~engine.contact.point_law.sticking_after`; of tables (places, 8 or 11), with numbers of the pairs: see
#: :mod:`engine.contact.many.sticking`
STUCK = "stuck"
#: states that are no component's
OWN = MOMENTUM, DEFECT, LASTING, STUCK


def sticking_places(layout: Layout, states: Layout) -> slice:
    """Return where the sticking contacts' memory lies in a whole state, which has these ``states`` of a plant as its part "state"."""
    begin, own = layout.slices["state"].start, states.slices[STUCK]
    return slice(begin + own.start, begin + own.stop)
