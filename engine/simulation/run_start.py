"""Start of a run: whole states of all rows, and which of them have ended."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from engine import ops
from engine.compiler.gufunc import shaped
from engine.components.component import AWAY, Context, SimulationError
from engine.components.layout import Layout
from engine.simulation.events import Watch
from engine.simulation.independent_trees import IndependentTrees
from engine.simulation.plant import Plant
from engine.simulation.run_loop import Process
from engine.simulation.variable_mass import started

Array = np.ndarray
Value = TypeVar("Value")


class WholeStates:
    """Whole states x of a step: q, v, the states and memories of the components, and of the events.

    Attributes
    ----------
    layout : of x; places : of q and v in it
    dt : the step, s
    """

    plant: Plant
    dt: float
    watch: Watch
    compiled: bool
    layout: Layout
    places: slice

    @property
    def process(self) -> Process:
        """The process that a run repeats."""
        raise NotImplementedError

    def own(self, what: str, make: Callable[[], Value]) -> Value:
        """Return what is made of the plant, or was of the same one."""
        raise NotImplementedError

    def begins(self, t: Any, dt: Any, p: Array, x: Array) -> tuple[Any, Array, Array, Array]:
        """Return t, (q, v, z), memories and parameters at the beginning of a step of dt at t from x."""
        raise NotImplementedError

    def begun(self, q: Array, v: Array, batch: tuple[int, ...] = (), p: Array | None = None) -> Array:
        """Return x (*batch, n) of q and v, with states and memories as they are at first, with parameters p, by default the nominal."""
        return started(self.plant, self.layout, self.layout.spread({"q": q, "v": v, **self._first}, batch), p)

    @functools.cached_property
    def _first(self) -> dict[str, Array]:
        """The states and memories at first, before q, v and parameters have a part in them."""
        return {"state": self.plant.initial_states(), "memory": self.plant.initial_memories(), "events": np.zeros(self.watch.memory.n)}

    def prepare(self, p: Array, x: Array, t: float = 0.0) -> Array:
        """Return x (..., n) with what its q and v make, at a time t, of the momenta and of the event functions; constraints are closed."""
        x = self.closed(x, t, p)
        if not self.plant.conserved and not self.watch:
            return x
        if isinstance(self.process, IndependentTrees):
            return self.process.prepared(p, x, t)
        with np.errstate(all="ignore"):
            given = np.concatenate([np.full((*x.shape[:-1], 1), t), p, x], axis=-1)
            found = self._preparation(given) if self.compiled or given.ndim == 1 else np.array([self._preparation(row) for row in given])
        if not np.isfinite(found).all():
            raise SimulationError(f"an event function ({', '.join(self.watch.names)}) is NaN or infinite at t = {t:g} s; expected a number")
        return found

    def closed(self, x: Array, t: float = 0.0, p: Array | None = None) -> Array:
        """Return x (..., n) with q and v on the constraints, at a time t, with parameters p (..., np), by default the nominal; those that
        are not are put there on floats, equal ones once."""
        constraints, n = self.plant.constraints, self.layout.n
        if constraints is None:
            return x
        p = self.plant.parameters.join(self.plant.values) if p is None else p
        p = p if constraints.motions else p[..., :0]                           # what nothing asks for makes no rows another
        given = np.concatenate([x, np.full((*x.shape[:-1], 1), t), np.broadcast_to(p, (*x.shape[:-1], p.shape[-1]))], axis=-1)
        rows, back = np.unique(given.reshape(-1, given.shape[-1]), axis=0, return_inverse=True)
        for k in np.flatnonzero(self._open(rows) if self.compiled else [self._open(row) for row in rows]):
            rows[k, self.places] = np.concatenate(constraints.begun(*self._held(rows[k])))
        return rows[back.reshape(-1), :n].reshape(x.shape)

    def _held(self, given: Array) -> tuple[Context, dict[str, Array]]:
        """Return q, v at a time, and memories, of one row of :meth:`closed`."""
        n = self.layout.n
        a, p = self.layout.split(given[:n]), given[n + 1 :]
        p = p if len(p) == self.plant.parameters.n else self.plant.parameters.join(self.plant.values)
        return self.plant.context(given[n], a["q"], a["v"], a["state"], p), self.plant.memories.split(a["memory"])

    @functools.cached_property
    def _open(self) -> Callable[[Array], Any]:
        constraints = self.plant.constraints
        assert constraints is not None
        wide = self.layout.n + 1 + (self.plant.parameters.n if constraints.motions else 0)

        def is_open(given: Array) -> Any:
            return ops.where(constraints.open(*self._held(given)), 1.0, 0.0)

        return shaped(is_open, f"({wide})->()") if self.compiled else is_open

    @functools.cached_property
    def _preparation(self) -> Callable[[Array], Array]:
        begin = 1 + self.plant.parameters.n

        def prepared(given: Array) -> Array:
            return self.prepared(given[0], given[1:begin], given[begin:])

        if not self.compiled:
            return prepared
        return self.own("the beginning", lambda: shaped(prepared, f"({begin + self.layout.n})->({self.layout.n})"))

    def prepared(self, t: Any, p: Array, x: Array) -> Array:
        """:meth:`prepare` of one state x (n), traced or not, that is on the constraints."""
        a = self.layout.split(x)
        z = self.plant.with_momenta(a["q"], a["v"], a["state"], p)
        x = self.layout.join({**a, "state": z})
        if not self.watch:
            return x
        m = self.begins(t, self.dt, p, x)[2] if self.watch.hears else a["memory"]     # what is said from the first tick on
        e = self.watch.begun(self.plant.hearing(self.plant.context(t, a["q"], a["v"], z, p), m))
        return self.layout.join({**self.layout.split(x), "events": e})

    @functools.cached_property
    def times(self) -> list[int]:
        """Indices of x that are times, s, as of a start at 0: when laws tick first, and when thrusters may switch."""
        first, own = self.layout.slices["memory"].start, self.plant.memories.slices
        return [first + own[c.name].start + k for c in self.plant.acting if c.memory.size for k in c.times]

    def over(self, x: Array) -> Array:
        """Return which whole states (..., n) stay as they are: an event has stopped them."""
        return self.watched(x)["stopped"] > 0.0 if self.watch else np.zeros(x.shape[:-1], dtype=bool)

    def away(self, x: Array) -> Array:
        """Return which whole states (..., n) have run away: no motion is as large."""
        return np.asarray((np.abs(x[..., self.places]) > AWAY).any(axis=-1))

    def watched(self, x: Array) -> dict[str, Array]:
        """Return the events' memories in whole states (..., n)."""
        return self.watch.memory.split(x[..., self.layout.slices["events"]])
