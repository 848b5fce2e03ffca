"""Saturation of stiff forces in a step: which of those that have limits of effort are at them.

A force that is stiff goes from one limit to the other in less than a step. Euler's implicit method finds where the step ends, and so which
of the limits a flight meets; where others were met at its beginning, the flight goes in parts (:mod:`engine.simulation.halving`), each of
which finds its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.components.component import AS_IT_IS
from engine.integrate import during
from engine.simulation.plant import Plant

Array = np.ndarray
#: passes in which limited forces find their modes
PASSES = 8


class EffortLimits:
    """The modes of a plant's limited forces (see :meth:`~engine.components.component.Context.bounded`).

    ``by`` has the functions :meth:`Plant.acceleration`, :meth:`Plant.beyond` and :meth:`Plant.excess`, or calls of them, and
    ``flown(y)``: q, v and the states that are flown of y = (q, v, z).
    """

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of the modes, if there are any."""
        return [(self.plant.bounds.n,)] * bool(self.plant.bounds.n)

    @property
    def at_an_instant(self) -> tuple[Array, ...]:
        """The modes of forces that are as they are."""
        return (np.full(self.plant.bounds.n, AS_IT_IS),) if self.plant.bounds.n else ()

    def met(self, by: Any, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array) -> tuple[Array, ...]:
        """Return which forces are at their limits during a step of h from t and x = (q, v, z), of states that are flown, under a force (nv)
        that lasts, if one may: those that are there at its end, by Euler's implicit method, which takes them so; none where these are not
        steep and all within their limits at its beginning, and where the velocity leads to in it."""
        plant = self.plant
        if plant.stiffness is None or not plant.bounds.n:
            return ()
        begun, over = during(t, 0.0, h), during(t, 1.0, h)

        def again(modes: Array) -> tuple[Array, Any]:
            system = plant.system(by, m, p, (modes,), lasting if plant.lasts else None)
            assert system.stiff is not None
            assert system.excess is not None
            end = system.space.plus(x, h * system.stiff(begun, x, h)(system.field(over, x), 0.0, system.excess(over, x)))
            found = by.beyond(over, *by.flown(end), m, p)
            return onward(modes, found), ops.largest(found - modes) < 0.5

        none = np.zeros(plant.bounds.n)
        if plant.stiffness.steep:
            return (ops.while_loop(again, none, PASSES)[0],)
        q, v, z = by.flown(x)
        start, ahead = by.beyond(begun, q, v, z, m, p), by.beyond(over, plant.model.manifold.plus(q, h * v), v, z, m, p)
        some = ops.largest(np.concatenate([start, ahead])) > 0.5
        return (ops.when(some, lambda: ops.while_loop(again, none, PASSES, ops.logical_not(some))[0], none),)    # known there, and traced

    def numbers(self, by: Any, t: Any, h: Any, x: Array, end: Array, m: Array, p: Array, modes: Array) -> Array:
        """Return what impulses meet of stiff forces with limits (11, velocities that these move), after a flight of h from t and x = (q, v,
        z), of states that are flown, to ``end``, in which they have some modes: see :class:`~engine.contact.limited_forces.ForceLimits`."""
        plant, n = self.plant, self.plant.bounds.n
        assert plant.stiffness is not None
        own, (q, v, z) = plant.stiffness.moving, by.flown(end)

        def force(mode: float) -> Array:
            s = plant.in_flight(during(t, 1.0, h), q, v, z, p, plant.bounds.split(np.full(n, mode)))
            return sum((e.force(s) for e in plant.effects(s, m).values()), np.zeros(len(v)))[own]

        def resists(modes: Array) -> Array:
            K, D, _ = by.slopes(t, x, m, p, (modes,))
            return np.diag(h * (D + h * K))[own]

        pairs = [(force(-k), force(k)) for k in (1.0, 2.0, 3.0)]
        ends = [end(*pair) for pair in pairs for end in (ops.minimum, ops.maximum)]
        others = resists(np.ones(n))
        line = resists(np.full(n, 2.0)) - others if plant.stiffness.steep else np.zeros(len(own))
        R, rho = resists(np.zeros(n)) - others, resists(modes) - others
        return np.array([v[own], force(0.0), *ends, line, R, rho])


def onward(modes: Array, found: Array) -> Array:
    """Return the modes of limited forces (see :meth:`Context.bounded`) to try after some of which the step ends where others are found: not
    those at once that are not next to them. Of a force that falls with the speed at the end, no two are then tried in turn for ever.

    >>> onward(np.array([0.0, 0.0, 1.0, 3.0, 2.0]), np.array([1.0, 3.0, -1.0, 0.0, 3.0]))
    array([1., 2., 0., 2., 3.])
    """
    leaves = ops.logical_and(ops.less(2.5, abs(modes)), ops.less(0.5, abs(found - modes)))
    skips = ops.logical_and(ops.less(abs(modes), 1.5), ops.less(2.5, abs(found)))
    line = ops.where(ops.less(ops.where(leaves, modes, found), 0.0), -2.0, 2.0)
    return ops.where(ops.logical_or(leaves, skips), line, ops.where(ops.less(modes * found, -0.5), 0.0, found))
