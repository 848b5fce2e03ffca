"""Events: functions of time and state that are watched for zeros, and the zeros that were found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ops
from engine.checks import EngineError, number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """A function watched for zeros, which of them count, and what is done at one.

    Attributes
    ----------
    function : of the time and the state's parts, such as ``g(t, q, v)``; returns a number
    direction : > 0 counts only zeros where it rises, < 0 only where it falls, 0 all
    action : "stop" ends the motion there; None notes the zero and goes on; a callback ``action(t, q, v)`` returns None to go on, (q, v) to
        go on from there, or False to stop
    check : ``check(q0)`` refuses configurations from which no run can start; None where all will do

    A plain function will do as well: its attributes ``direction`` and ``callback``, as far as it has them, say the same; without a callback
    it stops a run at fixed steps, and an adaptive one where its attribute ``terminal`` is true.

    >>> falls = Event(lambda t, q, v: q[0], direction=-1)
    >>> falls.crosses(0.1, -0.1), falls.crosses(-0.1, 0.1)
    (np.True_, np.False_)
    """

    function: Callable[..., Any]
    direction: float = 0
    action: Any = "stop"
    check: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise EngineError(f"an event is {self.function!r}; expected a function of time and state")
        number(f"the direction of the event {self.name}", self.direction, "a number: above zero, below zero, or zero for both")
        if self.action is not None and self.action != "stop" and not callable(self.action):
            raise EngineError(f"the action of the event {self.name} is {self.action!r}; expected 'stop', None, or a callback (t, q, v)")

    @classmethod
    def of(cls, given: Any, stops: bool) -> Event:
        """Return an event of an Event, or of a function: one without a callback stops where it is terminal, and wherever ``stops``."""
        if isinstance(given, Event):
            return given
        action = getattr(given, "callback", None)
        if action is None and (stops or getattr(given, "terminal", False)):
            action = "stop"
        return cls(given, getattr(given, "direction", 0), action)

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def crosses(self, a: Any, b: Any) -> Any:
        """Return whether a value that goes from a to b passes a zero that counts. Traceable."""
        rises, falls = ops.logical_and(a < 0.0, b >= 0.0), ops.logical_and(a > 0.0, b <= 0.0)
        return rises if self.direction > 0 else falls if self.direction < 0 else ops.logical_or(rises, falls)


@dataclass(frozen=True)
class Crossing:
    """A zero of a watched function that was found.

    Attributes
    ----------
    function, name : the function's number among those that are watched, and its name
    t : time, s
    state : the state's parts there, such as (q, v)

    >>> import numpy as np
    >>> from engine.integrate import Crossing
    >>> Crossing(0, "lands", 0.45, (np.zeros(1), np.array([-4.4]))).v
    array([-4.4])
    """

    function: int
    name: str
    t: float
    state: tuple[Array, ...]

    @property
    def q(self) -> Array:
        """The configuration (nq)."""
        return self.state[0]

    @property
    def v(self) -> Array:
        """The velocity (nv)."""
        return self.state[1]


def crossings(names: Sequence[str], zeros: Array, t: Array, *state: Array) -> tuple[Crossing, ...]:
    """Return what was crossed at times t (T) and states (T, …), where the functions that are zero are marked (T, functions)."""
    return tuple(Crossing(int(i), names[i], float(t[k]), tuple(part[k] for part in state)) for k, i in np.argwhere(zeros))
