"""Evaluation order of components, and the signals and forces that each hears of those before it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import numeric, shown
from engine.compiler.transforms.trace import pure, trace
from engine.components.component import Component, Context, Effect, Felt, NotFelt, SimulationError, name_in_errors
from engine.components.controller import Controller
from engine.components.effect import effect, require_taken
from engine.components.law import Ticking
from engine.components.layout import Layout
from engine.components.makers import Maker, told
from engine.components.reading import apart
from engine.model import Model
from engine.simulation.variable_mass import add_flows

Array = np.ndarray


class Acting:
    """The components that act on a model, in the order of their evaluation: makers of signals, the controller, forces and actuators.

    Attributes
    ----------
    acting : all of them; makers : of signals, who come first
    said : the shapes of what makers say, by their names and parts
    states, memories, parameters : where their numbers lie; ``values`` are the parameters' nominal ones
    """

    model: Model
    acting: list[Component]
    makers: list[Maker]
    controller: Controller | None
    states: Layout
    memories: Layout
    parameters: Layout
    values: dict[str, Array]
    read: set[str]
    said: dict[str, dict[str, tuple[int, ...]]]

    def context(self, t: Any, q: Array, v: Array, z: Array, p: Array, modes: Mapping[str, Array] | None = None) -> Context:
        """Return time and state as components see them."""
        raise NotImplementedError

    def initial_states(self) -> Array:
        """Return z at first."""
        raise NotImplementedError

    def unclip(self) -> None:
        """Let laws that are flown have their clips as limits where a flight is implicit."""
        shapes: list[tuple[int, ...]] = [(), (self.model.nq,), (self.model.nv,), (self.states.n,), (self.parameters.n,)]
        for c in self.acting:
            if isinstance(c, Ticking) and c.clips:
                c.unclip(self.context, shapes, self.states, self.parameters)

    def hold(self, compiled: bool) -> None:
        """Make room for what laws say between their ticks, by the shapes of what they say: each is asked once, in their order."""
        known = self.said = {c.name: c.first_shapes() for c in self.makers if c.remembers}
        before = {n: shape for c in self.makers for n, shape in c.called.law.before.items()}
        known |= {n: {"": shape} for n, shape in before.items()}
        for c in self.acting:
            python = isinstance(c, Ticking) and c.called.law.python
            if isinstance(c, Ticking) and (c.called.ticks or isinstance(c, Maker)):
                shapes = c.takers if python and isinstance(c, Controller) else self._said(c, known, compiled)
                if isinstance(c, Maker):
                    if c.name in before and shapes != known[c.name]:
                        raise SimulationError(f"{c.called.name} says {told(shapes)}; expected {told(known[c.name])}, as it is read")
                    known[c.name] = shapes
                if c.called.ticks:
                    c.hold(shapes)
                self.read.update(c.called.extra if python else ())

    def _said(self, c: Ticking, known: Mapping[str, Mapping[str, tuple[int, ...]]], compiled: bool) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what a law says, by name, where those of the signals that it may read are ``known``, by name and part."""
        model, own, flat = self.model, c.called.law.memory, Layout({f"{n}.{part}": x for n, y in known.items() for part, x in y.items()})

        def said(t: Any, q: Array, v: Array, z: Array, p: Array, memory: Array, signals: Array, felt: Array) -> list[Any]:
            s, given = self.context(t, q, v, z, p), flat.split(signals)
            s.signals |= {n: {part: given[f"{n}.{part}"] for part in y} for n, y in known.items()}
            s.felt = self.felt(felt)
            found = c.said(s, s.states.get(c.name, c.state), memory, 0.0 * t)[0]
            names.extend(found)
            return [*found.values()]

        names: list[str] = []
        if compiled:
            shapes = [(), (model.nq,), (model.nv,), (self.states.n,), (self.parameters.n,), own.shape, (flat.n,), (self.feeling.n,)]
            program = trace(lambda *x: tuple(said(*x)), shapes)
            return dict(zip(names, program.shapes_out, strict=True))
        given = self.initial_states(), self.parameters.join(self.values), own, np.zeros(flat.n), np.zeros(self.feeling.n)
        return dict(zip(names, map(np.shape, said(0.0, model.neutral(), np.zeros(model.nv), *given)), strict=True))

    def effects(self, s: Context, m: Array, held: Context | None = None) -> dict[str, Effect]:
        """Return what the controller and every component do; laws that are not to be implicit at another state, where one is ``held``."""
        memories = self.memories.split(m)
        effects: dict[str, Effect] = {}
        commands: dict[str, Any] = {}
        self.hear(s, memories)
        if held is not None:
            held.signals = s.signals
        for c in self.acting:
            at = held if held is not None and isinstance(c, Ticking) and c.called.law.stiff is False else s
            with unfelt(at, c), ops.part(c.name, s.q, s.v):
                effects[c.name] = effect(c, at, s.states.get(c.name, c.state), memories.get(c.name, c.memory), c.given(commands))
            require_taken(c, {} if c is self.controller else effects[c.name].commands | effects[c.name].flows, self.acting)
            commands = add_flows(commands | effects[c.name].commands, effects[c.name].flows)
        return effects

    def hear(self, s: Context, memories: Mapping[str, Array], chain: Sequence[Component] | None = None) -> None:
        """Let those who are asked, or a ``chain`` of them, hear what has been said before by those who remember, or are read so, until
        these are asked themselves."""
        s.signals = {}
        before = {n for c in self.makers for n in c.called.law.before}
        for c in self.makers if chain is None else chain:
            if isinstance(c, Maker) and (c.remembers or (c.name in before and c.called.ticks)):
                c.speak(s, c.state, memories[c.name])
        s.before = dict(s.signals)

    def hearing(self, s: Context, m: Array) -> Context:
        """Return time and state with all signals, where memories m hold."""
        memories = self.memories.split(m)
        self.hear(s, memories)
        for c in self.makers:
            c.speak(s, s.states.get(c.name, c.state), memories.get(c.name, c.memory))
        return s

    @functools.cached_property
    def feeling(self) -> Layout:
        """Layout of the measurements at the beginning of a step that laws ask for: fields of :class:`~engine.components.component.Felt`."""
        asked = {n for c in self.acting if isinstance(c, Ticking) for n in c.feels}
        return Layout({n: np.shape(x) for n, x in self.numb._asdict().items() if n in asked})

    @property
    def numb(self) -> Felt:
        """Accelerations and forces of nothing: zeros."""
        return Felt(*np.zeros((2, self.model.nv)), *np.zeros((2, len(self.model.links), 6)))

    def felt(self, x: Array) -> Felt:
        """Return what is felt, by its numbers in :attr:`feeling`; zeros for what nobody asks for."""
        return self.numb._replace(**self.feeling.split(x))

    def feel(self, s: Context, memories: Mapping[str, Array], feel: Callable[[], Felt]) -> None:
        """Have what is felt at hand, if one who asks for it is due."""
        own = [c for c in self.acting if isinstance(c, Ticking) and c.feels]
        due = functools.reduce(ops.logical_or, [c.every or c.due(s.t, c.held.split(memories[c.name])) for c in own])
        s.felt = self.felt(ops.when(due, lambda: self.feeling.join(feel()._asdict()), np.zeros(self.feeling.n)))

    def update(self, s: Context, m: Array, dt: Any, feel: Callable[[], Felt] | None = None) -> Array:
        """Return the memories for the step of dt that begins now, where ``feel()`` is what is felt."""
        if not self.memories.n:
            return m
        memories = self.memories.split(m)
        commands: dict[str, Any] = {}
        self.hear(s, memories)
        if self.feeling.n and feel is not None:
            self.feel(s, memories, feel)
        for group in self.at_once:
            if len(group) > 1:
                memories |= self.ticked(s, memories, group)
            for c in group:
                if len(group) == 1 and c.memory.size:
                    memories[c.name] = self.updated(s, c, memories, c.given(commands), dt)
                if isinstance(c, Maker):
                    c.speak(s, s.states.get(c.name, c.state), memories.get(c.name, c.memory))
                elif c is self.controller:
                    commands = c.act(s, s.states.get(c.name, c.state), memories.get(c.name, c.memory), None).commands
        return self.memories.join(memories)

    def updated(self, s: Context, c: Component, memories: Mapping[str, Array], command: Any, dt: Any) -> Array:
        """Return the memory of one of those who act for the step of dt that begins now."""
        update = c.update if isinstance(c, Ticking) else pure(c.update)                  # a law's function is asked twice anyway
        with unfelt(s, c), name_in_errors(c.name, s.q.dtype == object), ops.part(c.name, s.q, s.v):
            found = update(s, s.states.get(c.name, c.state), memories[c.name], command, dt)
        if not numeric(np.asarray(found)):
            raise SimulationError(f"update of '{c.name}' returned {shown(found)}; expected numbers")
        if (shape := np.shape(found)) != c.memory.shape:
            raise SimulationError(f"update of '{c.name}' returned a memory of shape {shape}; expected {c.memory.shape}")
        return found

    @functools.cached_property
    def at_once(self) -> list[list[Component]]:
        """Groups of components in the order of evaluation: makers that tick at the same times are one branch of a step, so that common
        subexpressions are computed once."""
        found: list[list[Component]] = []
        for c in self.acting:
            group = self.joined(c, found) if isinstance(c, Maker) and c.called.ticks and not c.every else None
            if group is None:
                found.append([c])
            else:
                group.append(c)
        return found

    def joined(self, c: Maker, groups: list[list[Component]]) -> list[Component] | None:
        """Return the latest group that ticks at the same times as maker c, if no maker after it reads c or is read by c; else None."""
        for group in reversed(groups):
            if any(isinstance(d, Maker) and d.called.ticks and not d.every and (d.period, d.called.law.phase) ==
                   (c.period, c.called.law.phase) for d in group):  # fmt: skip
                return group
            if any(isinstance(d, Maker) and (d.name in c.reads or c.name in d.reads) for d in group):
                return None
        return None

    def ticked(self, s: Context, memories: Mapping[str, Array], group: Sequence[Any]) -> dict[str, Array]:
        """Return the memories of makers that tick at the same times, after that if it is now."""
        own = Layout({c.name: c.memory.shape for c in group})
        before = {c.name: c.arrived(s.t, memories[c.name]) for c in group}

        def ticked() -> Array:
            within, after = apart(s), dict(before)
            for c in group:
                state = s.states.get(c.name, c.state)
                with name_in_errors(c.name, s.q.dtype == object), ops.part(c.name, s.q, s.v):
                    after[c.name] = c.ticked(within, state, before[c.name])
                c.speak(within, state, after[c.name])
            return own.join(after)

        first = group[0]
        due = first.due(s.t, first.held.split(before[first.name]))
        return own.split(np.asarray(ops.when(due, ticked, own.join(before))))

    def loads(self, effects: Mapping[str, Effect]) -> tuple[Array, Array | None]:
        """Return the sum of the generalized forces (nv), and of the wrenches on the links (nlinks, 6) if there are any."""
        tau: Any = np.zeros(self.model.nv)
        wrenches: dict[str, Any] = {}
        for e in effects.values():
            if e.tau is not None:
                tau = tau + e.tau
            for link, F in e.wrenches.items():
                wrenches[link] = F if link not in wrenches else wrenches[link] + F
        if not wrenches:
            return tau, None
        return tau, np.array([wrenches.get(link.name, np.zeros(6)) for link in self.model.links])


@contextlib.contextmanager
def unfelt(s: Context, c: Component) -> Iterator[None]:
    """Refuse what is felt to a component that is no sensor or law, as nothing says what it asks for."""
    felt = s.felt
    if not isinstance(c, Ticking):
        s.felt = NotFelt(c.name)
    try:
        yield
    finally:
        s.felt = felt
