"""A step's flight in halves, where forces that are stiff bend within it, or come to their limits.

A linearly implicit method has the slopes of forces at its beginning. Those of what saturates, switches, or has a dead band are others a
moment later: then the method's own estimate of its error is large, and the flight goes in two halves, each of them likewise, until the
bend lies in a part so short that what is left of it is of no account. Forces whose limits are known (:mod:`.effort_limits`) are on one
side of a bend from a part's beginning to its end. Where nothing bends, steps have the method's order, and parts come only where one of
them would be wrong at sight.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.integrate import during

Array = np.ndarray
#: what a part's errors may be, of q (rad, m) and of v (rad/s, m/s): of forces that bend, and of those that do not
FINE, COARSE = (1e-6, 5e-4), (1e-3, np.inf)
#: times that a part is halved at most
DEEPEST = 15
#: parts that are flown in a step, about
TRIES = 256


class HalvedFlight:
    """The flight of a step's plant, in as many parts as it takes.

    ``step`` has the plant, the method, the limits, the functions that :class:`EffortLimits` asks for, and ``called(function, *shapes)``.
    Traced, each depth is a function in the machine code that calls the next one twice, and the flight of a part is one for all of them.
    """

    def __init__(self, step: Any) -> None:
        plant = step.plant
        self.step, self.plant = step, plant
        self.nv, self.n = plant.model.nv, plant.model.nq + plant.model.nv + plant.flown
        self.shapes = [(), (), (self.n,), (plant.lasts,), (plant.memories.n,), (plant.given,)]
        self.parts: dict[int, Callable[..., Array]] = {}

    def __call__(self, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array, modes: tuple[Array, ...]) -> Array:
        """Return x = (q, v, z), of states that are flown, after a flight of h under a force (nv) that lasts, if one may, in which limited
        forces are in some modes."""
        return self.within(DEEPEST)(t, h, x, lasting, m, p, *modes, float(TRIES))[: self.n]

    @functools.cached_property
    def modes(self) -> Callable[..., Array]:
        """The modes of limited forces in a part."""
        return self.step.called(lambda *given: self.step.limits.met(self.step, *given)[0], *self.shapes)

    @functools.cached_property
    def flown(self) -> Callable[..., Array]:
        """The flight of one part: x, and whether it is to be halved, 1 or 0."""
        return self.step.called(self.fly, *self.shapes, *self.step.limits.shapes)

    def fly(self, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array, *modes: Array) -> Array:
        """:attr:`flown`, as it is written."""
        step, method = self.step, self.step.method
        system = self.plant.system(step, m, p, modes, lasting if self.plant.lasts else None)
        assert method.embedded is not None
        y, error = method.embedded(system, t, h, x)
        e_q, e_v = ops.largest(error[: self.nv]), ops.largest(error[self.nv : 2 * self.nv])
        fine, slow = FINE if modes or self.plant.stiffness.bends else COARSE
        coarse = ops.logical_not(ops.logical_and(e_q <= fine, e_v <= slow))    # and where they are no numbers
        for mode in modes:                                                     # one at most
            changes = ops.largest(mode - step.beyond(during(t, 0.0, h), *step.flown(x), m, p)) > 0.5
            coarse = ops.logical_or(changes, coarse)
        return np.append(y, ops.where(coarse, 1.0, 0.0))

    def within(self, depth: int) -> Callable[..., Array]:
        """Return what flies a part that may be halved so many times, with so many tries: x, and the tries that are left. Of these a first
        half has half, so that no later part is flown as it comes."""
        if depth not in self.parts:
            fn = functools.partial(self.fly_within, depth)
            self.parts[depth] = self.step.called(fn, *self.shapes, *self.step.limits.shapes, ())
        return self.parts[depth]

    def fly_within(self, depth: int, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array, *given: Any) -> Array:
        """:meth:`within`, as it is written."""
        *modes, tries = given
        flown, left = self.flown(t, h, x, lasting, m, p, *modes), tries - 1.0
        whole = np.append(flown[: self.n], left)
        if not depth:
            return whole

        def halves() -> Array:
            y, rest = x, left
            for k in (0, 1):
                at = t + 0.5 * k * h, 0.5 * h, y, lasting, m, p
                own = [self.modes(*at)] if modes else []
                mine = rest * 0.5 if k == 0 else rest
                part = self.within(depth - 1)(*at, *own, mine)
                y, rest = self.plant.system(self.step, m, p, tuple(own)).space.normalized(part[: self.n]), rest - mine + part[self.n]
            return np.append(y, rest)

        return ops.when(ops.logical_and(flown[self.n] > 0.5, left > 0.5), halves, whole)
