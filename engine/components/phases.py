"""Phases of a mission: named modes, each with a law of its own and a way out, as one law that remembers which it is in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, number, shown
from engine.components.component import SimulationError
from engine.components.law import Law

Array = np.ndarray
#: what a mode says of itself
OWN = "phase", "since"


class Phases(Law):
    """A law in phases: ``Phases({"approach": (fly, near), "hold": (stay, ready), "grasp": (close, None)})`` begins with the first.

    Parameters
    ----------
    phases : by name (law, exit). A law is a function, as of any other :class:`Law` by the names of its arguments; it may ask for ``since``,
        s since its phase began. An exit is a condition of the same kind, on which the next phase begins, or conditions by the phases that
        begin on them, of which the first counts; None: it is not left, but by a timeout or an abort
    timeout : by phase (seconds, the phase that begins then)
    abort : (condition, phase): from wherever it holds, that begins
    fade : s, in which commands pass from the law of the phase before to that of a new one, evenly; 0: at once
    period, delay, phase_of_ticks : as of a :class:`Law`
    name : of its signal

    Conditions are looked at first, so that a phase's law acts from the tick at which it begins; one phase ends at a tick. Laws return what
    a controller does: an array, which is "tau", or commands by name; what a phase does not command is zero. Its signal has these, the
    number of the ``phase``, and ``since``; :attr:`commands` is the controller that hands them on, and :meth:`named` says the phases' names.
    A run says when each was, ``run.phases()``; its plots and films show them.

    Raises
    ------
    SimulationError : a phase that has no way in, an exit to one that there is not, laws that say the same in other shapes

    Examples
    --------
    >>> mode = Phases({"go": (lambda v: -v, lambda since: since > 1.0), "rest": (lambda v: 0.0 * v, None)}, period=0.1)
    >>> mode.name, mode.named([0.0, 1.0])
    ('mode', ['go', 'rest'])
    """

    by_name = True

    def __init__(self, phases: Mapping[str, tuple[Callable[..., Any], Any]], timeout: Mapping[str, tuple[float, str]] | None = None,
                 abort: tuple[Callable[..., Any], str] | None = None, fade: float = 0.0, period: float | None = None, delay: float = 0.0,
                 phase_of_ticks: float = 0.0, name: str = "mode") -> None:  # fmt: skip
        mode = Mode(name, phases, timeout or {}, abort, number(f"{name}: fade", fade, "s from 0", least=0.0, error=SimulationError))
        super().__init__(mode, period=period, memory=[0.0, 0.0, 0.0, 0.0], delay=delay, phase=phase_of_ticks, name=name)

    @property
    def commands(self) -> Commands:
        """The controller that commands what the phases say."""
        return Commands(self.name)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:  # type: ignore[override]
        """The phases' names, which runs keep."""
        return {"phase": tuple(self.fn.names)}  # type: ignore[attr-defined]

    def named(self, numbers: Any) -> list[str]:
        """Return the names of phases by their numbers, such as those of a run, ``mode.named(run.signals["mode.phase"])``."""
        return [self.fn.names[round(float(x))] for x in np.ravel(numbers)]  # type: ignore[attr-defined]


class Commands:
    """A controller that hands on the commands among a signal's parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def __call__(self, **signals: Any) -> dict[str, Any]:
        return {n: x for n, x in signals[self.name].items() if n not in OWN}


class Mode:
    """One tick of :class:`Phases`, as a function of what its laws and conditions ask for."""

    def __init__(self, name: str, phases: Mapping[str, tuple[Callable[..., Any], Any]], timeout: Mapping[str, tuple[float, str]],
                 abort: tuple[Callable[..., Any], str] | None, fade: float) -> None:  # fmt: skip
        self.__name__, self.fade = name, fade
        if not isinstance(phases, Mapping) or not phases or not all(isinstance(n, str) for n in phases):
            raise SimulationError(f"{name}: phases are {shown(phases)}; expected (law, exit) by name")
        self.names, self.laws, self.exits = [*phases], [], []
        for k, (of, given) in enumerate(phases.items()):
            if not isinstance(given, (tuple, list)) or len(given) != 2 or not callable(given[0]):
                raise SimulationError(f"{name}: phase '{of}' is {shown(given)}; expected (law, exit), and None for one that is not left")
            law, leave = given
            ways = dict(leave) if isinstance(leave, Mapping) else {} if leave is None else self.following(k, of, leave)
            if wrong := next((n for n, fn in ways.items() if not callable(fn)), None):
                raise SimulationError(f"{name}: the exit of '{of}' to '{wrong}' is {shown(ways[wrong])}; expected a condition")
            self.laws.append(law)
            self.exits.append({self.place(n, f"the exit of '{of}'"): fn for n, fn in ways.items()})
        timed = isinstance(timeout, Mapping) and all(isinstance(x, (tuple, list)) and len(x) == 2 for x in timeout.values())
        if timeout and not timed:
            raise SimulationError(f"{name}: timeout is {shown(timeout)}; expected (seconds, phase) by phase")
        if abort is not None and not (isinstance(abort, (tuple, list)) and len(abort) == 2 and callable(abort[0])):
            raise SimulationError(f"{name}: abort is {shown(abort)}; expected (condition, phase)")
        self.timeouts = {self.place(of, "a timeout"): (number(f"{name}: the timeout of '{of}'", s, "s above 0", above=0.0,
                                                               error=SimulationError), self.place(to, f"the timeout of '{of}'"))
                         for of, (s, to) in timeout.items()}  # fmt: skip
        self.abort = None if abort is None else (abort[0], self.place(abort[1], "the abort"))
        self.require_ways()
        asked = [n for fn in self.functions for n in arguments(fn) if n != "since"]
        names = dict.fromkeys(["t", *asked, "memory"])
        self.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The laws and conditions."""
        return [*self.laws, *(fn for ways in self.exits for fn in ways.values()), *([] if self.abort is None else [self.abort[0]])]

    def following(self, k: int, of: str, leave: Any) -> dict[str, Callable[..., Any]]:
        """Return the way out of the k-th phase to the one after it."""
        if not callable(leave):
            raise SimulationError(f"{self.__name__}: the exit of '{of}' is {shown(leave)}; expected a condition, some by phase, or None")
        if k + 1 == len(self.names):
            raise SimulationError(f"{self.__name__}: the exit of '{of}', the last phase, leads nowhere; expected None, or some by phase")
        return {self.names[k + 1]: leave}

    def place(self, name: str, what: str) -> int:
        """Return the number of a phase."""
        if name not in self.names:
            raise SimulationError(f"{self.__name__}: {what} leads to '{name}'{nearest(str(name), self.names)}; expected one of "
                                  f"{', '.join(self.names)}")  # fmt: skip
        return self.names.index(name)

    def require_ways(self) -> None:
        """Refuse a phase that is never entered."""
        found, left = {0}, [0]
        while left:
            k = left.pop()
            more = {*self.exits[k], *(to for at, (_, to) in self.timeouts.items() if at == k)}
            more |= set() if self.abort is None else {self.abort[1]}
            left += more - found
            found |= more
        for k, name in enumerate(self.names):
            if k not in found:
                raise SimulationError(f"{self.__name__}: phase '{name}' has no way in; expected an exit, a timeout or an abort to it")

    def __call__(self, t: Any, memory: Array, **given: Any) -> tuple[dict[str, Any], Array]:
        now, entered, before, begun = memory
        entered = ops.where(begun > 0.5, entered, t)
        known = {**given, "t": t, "since": t - entered}
        to = self.next(now, known)
        moves = ops.logical_not(ops.equal(to, now))
        before, entered = ops.where(moves, now, before), ops.where(moves, t, entered)
        known["since"] = t - entered
        said = [self.parts(k, call_by_names(law, known)) for k, law in enumerate(self.laws)]
        shapes: dict[str, tuple[int, ...]] = {}
        for k, parts in enumerate(said):
            for n, x in parts.items():
                if shapes.setdefault(n, np.shape(x)) != np.shape(x):
                    raise SimulationError(f"{self.__name__}: phase '{self.names[k]}' says '{n}' of shape {np.shape(x)}; "
                                          f"expected {shapes[n]}, as another phase does")  # fmt: skip
        found = {n: self.chosen(to, n, said, shape) for n, shape in shapes.items()}
        if self.fade:
            w = ops.where(begun > 0.5, ops.minimum(known["since"] / self.fade, 1.0), 1.0)
            old = {n: self.chosen(before, n, said, shape) for n, shape in shapes.items()}
            found = {n: w * x + (1.0 - w) * old[n] for n, x in found.items()}
        return {**found, "phase": to, "since": known["since"]}, ops.array([to, entered, before, 1.0])

    def parts(self, k: int, said: Any) -> dict[str, Any]:
        """Return what the law of the k-th phase says, by name."""
        found = dict(said) if isinstance(said, Mapping) else {"tau": said}
        if taken := [n for n in OWN if n in found]:
            raise SimulationError(f"{self.__name__}: phase '{self.names[k]}' says '{taken[0]}', which the mode does; expected another name")
        return {n: np.asarray(x) for n, x in found.items()}

    def next(self, now: Any, known: Mapping[str, Any]) -> Any:
        """Return the phase that holds from now on: of an abort, else of a timeout, else of the first exit whose condition holds."""
        to = now
        for k, ways in enumerate(self.exits):
            here = ops.equal(now, float(k))
            way = now
            for target, fn in reversed(ways.items()):
                way = ops.where(truth(call_by_names(fn, known)), float(target), way)
            if k in self.timeouts:
                seconds, target = self.timeouts[k]
                way = ops.where(ops.less(seconds - 1e-9, known["since"]), float(target), way)
            to = ops.where(here, way, to)
        if self.abort is not None:
            fn, target = self.abort
            to = ops.where(truth(call_by_names(fn, known)), float(target), to)
        return to

    def chosen(self, phase: Any, name: str, said: list[dict[str, Any]], shape: tuple[int, ...]) -> Any:
        """Return what the phase of a number says by a name."""
        x: Any = np.zeros(shape)
        for k, parts in enumerate(said):
            if name in parts:
                x = ops.where(ops.equal(phase, float(k)), parts[name], x)
        return x


def arguments(fn: Callable[..., Any]) -> list[str]:
    """Return the names of a function's arguments."""
    return [p.name for p in inspect.signature(fn).parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def call_by_names(fn: Callable[..., Any], known: Mapping[str, Any]) -> Any:
    """Return what a function says of what it asks for by name."""
    return fn(**{n: known[n] for n in arguments(fn)})


def truth(x: Any) -> Any:
    """Return a condition, or whether a number is above a half."""
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    graph = ops.graph_of(x)
    return x if graph is not None and x.i in graph.truths else ops.less(0.5, x)

