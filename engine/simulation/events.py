"""Events at fixed steps: where in a step a watched function is zero, and how a run goes on from there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import ops
from engine.components.component import Context, SimulationError
from engine.components.law import Called
from engine.components.layout import Layout
from engine.contact import ContactLaws
from engine.integrate import Event
from engine.model import Model, StateError

Array = np.ndarray


@dataclass(frozen=True)
class Barrier(Event):
    """A function that is nowhere to be zero or below: where it is, that counts, whatever it was before. Its action is given the Jacobian
    (n, nv) of constraints too.

    Attributes
    ----------
    laws : of what meets there, by an ideal impact
    """

    laws: ContactLaws | None = None

    def crosses(self, a: Any, b: Any) -> Any:
        """Return whether a value that goes from a to b has come to zero. Traceable."""
        return b <= 0.0


def memory_of(n: int) -> Layout:
    """Return the layout of what is remembered of so many events: see :class:`Watch`."""
    return Layout({"values": (n,), "stopped": (), "time": (), "zeros": (n,)} if n else {})


def stop_times(memory: Mapping[str, Array]) -> Array:
    """Return when each rollout stopped (...), infinite where it did not."""
    return np.where(memory["stopped"] > 0, memory["time"], np.inf)


class Watch:
    """The events of a simulator, and what it remembers of them from step to step: a part of the whole state.

    Memory: ``values`` of the functions at the last step, whether it ``stopped`` at a zero, at which ``time``, and the functions whose
    ``zeros`` those were.
    """

    def __init__(self, events: Iterable[Any], parameters: Mapping[str, Array], signals: Sequence[str] = ()) -> None:
        self.events: list[Event] = []
        if isinstance(events, Event) or not isinstance(events, Iterable):
            raise SimulationError(f"events is {events!r}; expected a list of functions of (t, q, v)")
        for e in events:
            if not isinstance(e, Event) and not callable(e):
                raise SimulationError(f"an event is {e!r}; expected a function of (t, q, v)")
            self.events.append(Event.of(e, stops=True))
        self.called = [Called(e.function, parameters, signals) for e in self.events]
        if held := [c.name for c in self.called if c.ticks or c.law.state.size]:
            raise SimulationError(f"the event function {held[0]} asks for noise or has a memory or state; expected a function of (t, q, v)")
        n, self.names = len(self.events), [c.name for c in self.called]
        self.memory = memory_of(n)

    def __bool__(self) -> bool:
        return bool(self.events)

    @property
    def hears(self) -> bool:
        """True if an event function reads a signal."""
        return any(c.reads for c in self.called)

    @property
    def rebounds(self) -> bool:
        """True if an event is an ideal impact, of :func:`engine.impact`."""
        return self.meeting is not None

    @property
    def meeting(self) -> ContactLaws | None:
        """The laws of what meets by ideal impacts, of the first event that is one."""
        return next((e.laws for e in self.events if isinstance(e, Barrier)), None)

    def values(self, s: Context) -> Array:
        """Return the functions' values. Traceable."""
        values = [c(s, np.zeros(0))[0] for c in self.called]
        for c, x in zip(self.called, values, strict=True):
            if x is None:
                raise SimulationError(f"the event function {c.name} returned None; expected a number")
            if isinstance(x, (bool, np.bool_)):
                raise SimulationError(f"the event function {c.name} returned a truth value; expected a number that changes its sign")
            if hasattr(x, "g") and x.i in x.g.truths:
                raise SimulationError(f"the event function {c.name} returned a condition; expected a number that passes zero, "
                                      "such as q[0] - 0.2 for q[0] < 0.2")  # fmt: skip
            c.require_finite(s, x)
            if np.shape(x) != ():
                raise SimulationError(f"the event function {c.name} returned shape {np.shape(x)}; expected a number")
        return ops.array(values)

    def begun(self, s: Context) -> Array:
        """Return the memory of a state at which nothing has stopped."""
        return self.memory.join({"values": self.values(s), "stopped": 0.0, "time": 0.0, "zeros": np.zeros(len(self.events))})

    def stop(self, after: Callable[[Any], tuple[Array, Array]], context: Callable[[Any, Array], Context], t: Any, h: Any, y: Array,
             to: Array, e: Array, notes: Array) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return the state at the first zero, if one is in the step from y to ``to``, the memory, and the notes of what of the step is
        taken. Traceable.

        From then on the state stays as it is.

        Parameters
        ----------
        after : the state after a part of the step, s, and its notes
        context : time and state at a time
        t, h : the step's beginning and length, s; e : the memory at its beginning
        """
        memory = self.memory.split(e)
        stopped = ops.logical_not(ops.equal(memory["stopped"], 0.0))

        def crossed(s: Any, y: Array) -> tuple[list[Any], Array]:
            now = self.values(context(t + s, y))
            return [event.crosses(a, b) for event, a, b in zip(self.events, memory["values"], now, strict=True)], now

        found, now = crossed(h, to)
        hit = ops.logical_and(either(found), ops.logical_not(stopped))

        def halve(bracket: Array) -> tuple[Array, Any]:
            low, high = bracket
            middle = 0.5 * (low + high)
            there = either(crossed(middle, after(middle)[0])[0])
            bracket = ops.array([ops.where(there, low, middle), ops.where(there, middle, high)])
            return bracket, bracket[1] - bracket[0] <= 1e-13 * h

        bracket, _ = ops.while_loop(halve, ops.array([0.0 * h, 1.0 * h]), 60, done=ops.logical_not(hit))
        at, noted = after(bracket[1])
        zeros = ops.array([ops.where(c, 1.0, 0.0) for c in crossed(bracket[1], at)[0]])
        return ops.where(stopped, y, ops.where(hit, at, to)), self.memory.join({
            "values": ops.where(ops.logical_or(stopped, hit), memory["values"], now),
            "stopped": ops.where(hit, 1.0, memory["stopped"]),
            "time": ops.where(hit, t + bracket[1], memory["time"]),
            "zeros": ops.where(hit, zeros, memory["zeros"]),
        }), ops.where(hit, noted, notes)  # fmt: skip

    def require_start(self, q: Array) -> None:
        """Refuse configurations (..., nq) that an event refuses."""
        for e in self.events:
            if e.check is not None:
                e.check(q)

    def require_stops(self, where: str) -> None:
        """Refuse events that go on, where every event stops."""
        for e in self.events:
            if e.action != "stop":
                if isinstance(e, Barrier):
                    raise SimulationError(f"an engine.impact interrupts a run, which {where} cannot; expected one state, or Contacts")
                text = f"the event function {e.name} is to go on after a zero, and {where} would stop"
                raise SimulationError(f"{text}; expected action='stop'")

    def act(self, model: Model, t: float, q: Array, v: Array, zeros: Array, held: Array) -> tuple[Array, Array] | None:
        """Do what the events whose zeros are marked want, and return the q and v to go on from; None where one of them stops the run.
        ``held`` is the Jacobian J (n, nv) of constraints, which pass blows on."""
        on = True
        for i in np.flatnonzero(zeros):
            action = self.events[i].action
            given, also = (q.copy(), v.copy()), (held,) if isinstance(self.events[i], Barrier) else ()
            try:
                answer = action(t, *given, *also) if callable(action) else False if action == "stop" else None
            except Exception as error:
                own = getattr(action, "__module__", "").startswith("engine.")
                text = f"the callback of {self.names[i]} raised {type(error).__name__} at t = {t:.6g} s: {error}"
                raise SimulationError(str(error) if own else text) from error
            if answer is None and not (np.array_equal(given[0], q) and np.array_equal(given[1], v)):
                raise SimulationError(f"the callback of {self.names[i]} changed its q or v and returned None; expected it to return (q, v)")
            if answer is False:
                on = False
            elif answer is not None:
                if not isinstance(answer, (tuple, list)) or len(answer) != 2:
                    raise SimulationError(f"the callback of {self.names[i]} returned {answer!r}; expected None, False or (q, v)")
                try:
                    q, v = model.normalized(answer[0]), model.checked("v", answer[1])
                except StateError as error:
                    raise SimulationError(f"the callback of {self.names[i]} returned no state at t = {t:.6g} s: {error}") from None
        return (q, v) if on else None


def either(conditions: list[Any]) -> Any:
    """Return whether one of several conditions holds. Traceable."""
    return functools.reduce(ops.logical_or, conditions)
