"""Makers of signals: named laws, and the order in which they are asked by what they read of each other."""

from __future__ import annotations

import copy
import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import numbers, shown
from engine.components.component import RECORDED, Component, Context, Effect, SimulationError
from engine.components.law import OFFERED, Called, Law, Ticking
from engine.components.reading import Reading
from engine.model import Model

Array = np.ndarray
#: columns of records, which are no signal's
COLUMNS = ("x", "tau", "controller")
#: names that are no signal's
TAKEN = frozenset(("t", "q", "v", *OFFERED, *COLUMNS, *RECORDED))


class Maker(Ticking):
    """A law that makes a signal: what it says is read by its name, and recorded.

    A signal is a number or an array, or several by name (a dictionary, or a NamedTuple), of which each is a part "NAME.PART".

    Attributes
    ----------
    reads : names of the signals that it reads
    """

    def __init__(self, fn: Any, name: str, parameters: Mapping[str, Any], signals: Iterable[str]) -> None:
        self.called, self.name = Called(fn, parameters, [*signals], by_name=True), name
        self.state = self.called.law.state
        self.reads: Sequence[str] = self.called.reads
        if self.called.law.python:
            raise SimulationError(f"{self.called.name} makes a signal in plain Python; expected a law that compiles")

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        if self.called.law.initial is not None and not self.called.ticks:
            raise SimulationError(f"{self.called.name} has an initial value, and is asked at every stage; expected a period, a memory or a "
                                  "delay too")  # fmt: skip

    @property
    def units(self) -> Mapping[str, str]:  # type: ignore[override]
        """FMI's units of what it says, by parts, where its function has such."""
        return getattr(self.called.law.fn, "units", {})

    @property
    def mounted(self) -> tuple[str, str, Array] | None:
        """Kind of a sensor, the link that it is on, "" of none, and its pose (4, 4) there; None for a law."""
        return None

    @property
    def about(self) -> dict[str, Any]:
        """Further description of a sensor's numbers as plain data: numbers and texts, and lists of these."""
        return {}

    @property
    def remembers(self) -> bool:
        """True if the maker can be read before it is evaluated: it has an initial value, and remembers or delays what it says."""
        law = self.called.law
        return law.initial is not None and bool(law.memory.size or law.delay)

    def waits_for(self, other: Maker) -> bool:
        """Return whether it is asked after another, whose signal it reads: not where it is to read what was said before."""
        return other.name in self.reads and not (other.name in self.called.law.before and other.called.ticks)

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        result, rate, memory = self.called(s, state, memory, count)
        parts = self.parts(result)
        self.called.require_finite(s, parts)
        return {n: np.asarray(x)[()] for n, x in parts.items()}, rate, memory

    def parts(self, result: Any) -> dict[str, Any]:
        """Return the parts of what it says by name, "" where it has none."""
        if isinstance(result, tuple) and hasattr(result, "_asdict"):
            result = result._asdict()
        if not isinstance(result, Mapping):
            return {"": result}
        for n in result:
            if not isinstance(n, str) or not n.isidentifier():
                raise SimulationError(f"{self.called.name} says something by the name {shown(n)}; expected names that a program may have")
        if not result:
            raise SimulationError(f"{self.called.name} says nothing; expected a signal")
        return dict(result)

    def at_first(self) -> dict[str, Array]:
        if (initial := self.called.law.initial) is None:
            return {}
        first = {n: numbers(f"{self.called.name}: the initial value", x, SimulationError) for n, x in self.parts(initial).items()}
        if (own := {n: x.shape for n, x in first.items()}) != self.shapes:
            raise SimulationError(f"{self.called.name} begins with {told(own)}, and says {told(self.shapes)}; expected the same")
        return {f"now.{n}": x for n, x in first.items()}

    def first_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what is read of it before it has been asked, by parts."""
        return {n: np.shape(x) for n, x in self.parts(self.called.law.initial).items()}

    def speak(self, s: Context, state: Array, memory: Array) -> Any:
        """Put what holds now among the signals; return the rate of its own state."""
        parts, rate, _ = self.now(s, state, memory)
        s.signals[self.name] = parts
        return rate

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        return Effect(rate=self.speak(s, state, memory))

    def recorded(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is recorded of it, by the columns' names."""
        return {f"{self.name}.{n}" if n else self.name: x for n, x in parts.items()}


def told(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return shapes by parts in words."""
    return ", ".join(f"{n} {shape}" if n else f"shape {shape}" for n, shape in shapes.items())


def makers_of(sensors: Sequence[Any], laws: Sequence[Any], parameters: Mapping[str, Any]) -> list[Maker]:
    """Return the makers of all signals, ordered by what they read.

    Raises
    ------
    SimulationError : what is no sensor or law, two of one name, a name that something else has, a signal that nobody makes, a circle
    """
    names = [name_of_signal(x, what) for what, group in (("a sensor", sensors), ("a law", laws)) for x in group]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise SimulationError(f"two signals are named '{name}'; expected one maker of each (give one name=…)")
        if name in (*RECORDED, *COLUMNS):
            raise SimulationError(f"a signal is named '{name}', by which simulations have what is their own (as {', '.join(COLUMNS)}, "
                                  f"{', '.join(sorted(RECORDED))}); expected another name")  # fmt: skip
        if name in ("t", "q", "v", *OFFERED):
            raise SimulationError(f"a signal is named '{name}', which functions have anyway, as they have t, q, v, {', '.join(OFFERED)}; "
                                  "expected another name")  # fmt: skip
        if name in parameters:
            raise SimulationError(f"a signal and a parameter are named '{name}'; expected another name for one of them")
    found = [copy.copy(x) if isinstance(x, Maker) else Maker(x, name, parameters, names)
             for name, x in zip(names, (*sensors, *laws), strict=True)]  # fmt: skip
    known = {c.name: c.called.law for c in found}
    for c in found:
        if (require := getattr(c.called.law.fn, "require_signals", None)) is not None:
            require(known)
        for n in parameters:
            if why := c.lacks(n):
                raise SimulationError(f"parameter '{n}': {why}")
        for n, x in getattr(c, "parameters", {}).items():
            if np.shape(parameters[n]) != x.shape:
                raise SimulationError(f"parameter '{n}' has shape {np.shape(parameters[n])}; expected {x.shape}, as {c.name} reads it")
    return ordered(found)


def name_of_signal(x: Any, what: str) -> str:
    """Return the name of a sensor's or law's signal; refuse what is none."""
    if isinstance(x, Maker) and what != "a law":
        if not getattr(x, "of_file", False) and not askable(x.name):
            raise SimulationError(f"{what} is named {shown(x.name)}, by which no function can ask for it; expected a name that an argument "
                                  "may have, such as name='wrist'")  # fmt: skip
        return x.name
    if isinstance(x, Maker):
        raise SimulationError(f"a law is {shown(x)}, a sensor; expected it among sensors=[…]")
    if (not callable(x) and not isinstance(x, Law)) or isinstance(x, (type, Component)):
        raise SimulationError(f"{what} is {shown(x)}; expected a function, a Law, or one of engine.sensors")
    name = str(getattr(x, "__name__", type(x).__name__))
    if not askable(name):
        raise SimulationError(f"{what} is named '{name}', by which no function can ask for it; expected a function with a name, or "
                              "engine.Law(…, name='…')")  # fmt: skip
    return name


def askable(name: Any) -> bool:
    """Return whether a name can be that of a function's argument.

    >>> askable("wrist"), askable("my wrist"), askable("a.b"), askable("lambda")
    (True, False, False, False)
    """
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def ordered(makers: Sequence[Maker]) -> list[Maker]:
    """Return makers so that each comes after those that it reads; in a circle, one that remembers is read before it is asked.

    Raises
    ------
    SimulationError : a circle in which nobody remembers
    """
    found: list[Maker] = []
    left = [*makers]

    def ready(c: Maker, sure: bool) -> bool:
        waits = [other for other in left if c.waits_for(other) and (other is not c or not other.remembers)]
        return not waits or (not sure and all(other.remembers for other in waits))

    while left:
        nxt = next((c for sure in (True, False) for c in left if ready(c, sure)), None)
        if nxt is None:
            way = " → ".join(f"'{name}'" for name in circle(left))
            raise SimulationError(f"{way}: these signals read each other at one tick; expected one of them with a memory or a delay, and "
                                  "initial=…, what is read of it at first")  # fmt: skip
        left.remove(nxt)
        found.append(nxt)
    return found


def circle(makers: Sequence[Maker]) -> list[str]:
    """Return the names of a circle among makers each of which waits for another, from one to itself; who waits comes after."""
    by_name = {c.name: c for c in makers}
    way, at = [], next(iter(by_name))
    while at not in way:
        way.append(at)
        waits = [n for n, other in by_name.items() if by_name[at].waits_for(other)]
        at = next((n for n in waits if not by_name[n].remembers), waits[0])
    return [at, *reversed(way[way.index(at) + 1 :]), at]


__all__ = ["Maker", "Reading", "makers_of", "ordered"]
