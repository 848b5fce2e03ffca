"""Halved flights: a step whose stiff forces bend within it, or come to their limits, is flown in two halves.

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
    Traced, the flight of a part is one function, and the parts are a loop.
    """

    def __init__(self, step: Any) -> None:
        plant = step.plant
        self.step, self.plant = step, plant
        self.nv, self.n = plant.model.nv, plant.model.nq + plant.model.nv + plant.flown
        self.shapes = [(), (), (self.n,), (plant.lasts,), (plant.memories.n,), (plant.given,)]

    def __call__(self, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array, modes: tuple[Array, ...]) -> Array:
        """Return x = (q, v, z), of states that are flown, after a flight of h under a force (nv) that lasts, if one may, in which limited
        forces are in some modes."""
        return np.asarray(self.whole(t, h, x, lasting, m, p, *modes))

    @functools.cached_property
    def whole(self) -> Callable[..., Array]:
        """The flight of a step."""
        return self.step.called(self.fly_whole, *self.shapes, *self.step.limits.shapes)

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

    def fly_whole(self, t: Any, h: Any, x: Array, lasting: Array, m: Array, p: Array, *modes: Array) -> Array:
        """:attr:`whole`, as it is written: in one part, or in halves, of which each may be halved again.

        Places and sizes of parts count in the smallest there may be. A part that ends where one twice its size does is followed by one of
        that size: by the largest that divides the place. Of the tries that are left a first half has half, so that no later part is flown
        as it comes; the others are kept for the second, by its size, beside those that the first leaves.
        """
        space = self.plant.system(self.step, m, p, modes).space
        sizes = 2.0 ** np.arange(DEEPEST)
        all_of_it = 2.0 * sizes[-1]

        def half(size: Any, tries: Any, kept: Array) -> tuple[Any, Any, Array]:
            return 0.5 * size, 0.5 * tries, ops.where(ops.equal(sizes, 0.5 * size), 0.5 * tries, kept)

        def part(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
            at = t + z["place"] / all_of_it * h, z["size"] / all_of_it * h, z["x"], lasting, m, p
            flown = self.flown(*at, *([self.modes(*at)] if modes else []))
            left, to = z["tries"] - 1.0, z["place"] + z["size"]
            again = ops.logical_and(flown[self.n] > 0.5, ops.logical_and(left > 0.5, z["size"] > 1.0))
            size = functools.reduce(lambda size, s: ops.where(ops.equal(ops.floor(to / s) * s, to), s, size), sizes)
            spared = left + sum(ops.where(ops.equal(sizes, size), z["kept"], 0.0))
            onward = space.normalized(flown[: self.n]), to, size, spared, z["kept"]
            halved = z["x"], z["place"], *half(z["size"], left, z["kept"])
            after = {name: ops.where(again, a, b) for name, a, b in zip(z, halved, onward, strict=True)}
            return after, after["place"] >= all_of_it

        def in_parts() -> Array:
            size, tries, kept = half(all_of_it, TRIES - 1.0, np.zeros(DEEPEST))
            begin = {"x": x, "place": 0.0, "size": size, "tries": tries, "kept": kept}
            return ops.while_loop(part, begin, 2 * TRIES)[0]["x"]

        flown = self.flown(t, h, x, lasting, m, p, *modes)
        return np.asarray(ops.when(flown[self.n] > 0.5, in_parts, flown[: self.n]))
