"""Laws: users' functions as controllers or forces, with a continuous state, or sampled with a period, memory, delay and noise."""

from __future__ import annotations

import functools
import inspect
import math
import types
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import nearest, numbers, numeric, shown
from engine.compiler.transforms.trace import name_of, pure
from engine.components.clips import Unclipped
from engine.components.component import WILD, Component, Context, Effect, NotFinite, SimulationError, name_in_errors
from engine.components.layout import Layout
from engine.components.reading import apart, by_names, in_places, with_signals
from engine.components.reading import shown as shown_parts
from engine.model import Model
from engine.ops.structure import structure

Array = np.ndarray
#: what functions of the user's may ask for by parameter name, besides t, q, v and the simulation's parameters
OFFERED = ("model", "poses", "twists", "pose", "twist", "jacobian", "gravity", "armature", "states", "origin", "state", "memory",
           "noise", "vdot")
#: of a period: what is due so much later is due now
NOW = 1e-6
#: ticks that may be on their way
MOST_WAITING = 1000
#: parameters of a simulation in which something asks for noise
SEEDS = ("noise.seed", "noise.run")


class Law:
    """A control law or force with a continuous state of its own, or that is held between ticks.

    Parameters
    ----------
    fn : function of ``t, q, v`` and what else it asks for by name: ``poses``, ``twists`` (of all links), ``pose(link)``, ``twist(link)``,
        ``jacobian(link)``, ``model``, ``gravity``, ``states`` (the components' own, by name), ``origin`` (of a frame: place
        and velocity), ``state``, ``memory``, ``noise``, ``vdot`` (as it
        is before what is commanded at a tick), the signals of a simulation and its parameters
    state : initial value of its own continuous state (n); it then takes ``state`` and returns (result, rate of the state)
    period : s, dt or more; at t = 0, period, 2·period, …, at the beginning of the step that reaches it, its *result* is evaluated, and held
        in between. Its ``state`` is not: its rate is evaluated, and integrated continuously, at every stage of every step
    memory : initial value (m) of what it remembers from tick to tick; it then takes ``memory`` and returns (result, memory from now on).
        Without a period it ticks at every step
    delay : s: what it says at a tick acts so much later than that was due, at the first step that is not before; until the first has
        arrived, nothing does. Without a period its ticks are dt apart, also where events cut steps
    python : whether ``fn`` runs as plain Python between the steps of machine code, at its ticks (a ``period`` is needed): anything goes
        there, other libraries too. Of a batch it gets q (..., nq), v (..., nv) and parameters as arrays, and returns (..., nv), or commands
        (..., *shape) by name; a rollout that failed is shown at rest. Besides t, q, v it may ask for parameters, signals, ``model``,
        ``gravity``.
        For controllers only. What it remembers by itself is in no recording: a run that is resumed knows what it said last, and when it is
        asked next
    phase : s: it ticks at phase, phase + period, …
    initial : what it says, a number, an array or such by name, until its first tick has arrived (zeros otherwise); what reads a law
        that remembers, in a circle, reads this first. Of :class:`~engine.Simulator`'s ``laws`` only
    name : by which others read it, and it is recorded; the function's own by default
    stiff : whether a linearly implicit flight takes its derivatives by q, v and t along; None: where steps of dt do not resolve it, in
        some configurations or where it is steepest (:mod:`engine.simulation.stiffness`)

    With ``noise`` among its parameters it ticks too, and gets a function: ``noise(n)`` are n normal numbers of mean 0 and deviation 1,
    ``noise.uniform(n)`` uniform ones in [0, 1), new ones at each call and at each tick. They depend on the parameters "noise.seed" and
    "noise.run" of the simulation (both 0), on the law's name, on the tick's number, and on nothing else: a rollout has the same ones alone
    and in any batch.

    >>> integral = Law(lambda t, q, v, state: (-state, q), state=[0.0])
    >>> counts = Law(lambda t, q, v, memory: (0.0 * v, memory + 1.0), memory=[0.0], period=0.1)
    >>> measured = Law(lambda t, q, v, noise: -(q + 0.01 * noise(1)) - v, period=0.01, delay=0.02)
    """

    #: whether its function is given all that it asks for by name, t, q and v too
    by_name = False
    #: signals of one part, by name with their shapes, that it reads as they were before the tick at which it is asked
    before: Mapping[str, tuple[int, ...]] = types.MappingProxyType({})
    #: by parts of its signal that number something, such as phases, the names of what they number
    labels: Mapping[str, tuple[str, ...]] = types.MappingProxyType({})

    def __init__(self, fn: Callable[..., Any], state: Any = (), period: float | None = None, memory: Any = (), delay: float = 0.0,
                 python: bool = False, stiff: bool | None = None, phase: float = 0.0, initial: Any = None,
                 name: str = "") -> None:  # fmt: skip
        if not callable(fn):
            raise SimulationError(f"a Law got {fn!r}; expected a function of (t, q, v)")
        for what, x, least in (("period", period, False), ("delay", delay, True), ("phase", phase, True)):
            if x is not None and (not isinstance(x, (int, float, np.floating)) or not np.isfinite(x) or x < 0 or not (x or least)):
                raise SimulationError(f"{name or name_of(fn)}: the {what} is {x!r}; expected seconds "
                                      f"{'from 0' if least else 'greater than zero'}")  # fmt: skip
        self.fn, self.period, self.delay, self.python, self.stiff = fn, period, float(delay), python, stiff
        self.phase, self.initial, self.name = float(phase), initial, name
        if phase and period is None:
            raise SimulationError(f"{name or name_of(fn)} has a phase, and no period that it shifts; expected both")
        if stiff not in (None, True, False):
            raise SimulationError(f"{name_of(fn)}: stiff is {shown(stiff)}; expected True, False, or None: as its slopes ask for")
        self.state, self.memory = (numbers(f"{name_of(fn)}: the {what}", x, SimulationError).copy()
                                   for what, x in (("state", state), ("memory", memory)))  # fmt: skip
        for what, own in (("state", self.state), ("memory", self.memory)):
            if own.ndim != 1 or not np.isfinite(own).all():
                raise SimulationError(f"{name_of(fn)}: the {what} is {own.tolist()}; expected a vector of finite numbers")
        if self.state.size and (self.memory.size or delay):
            raise SimulationError(f"{name_of(fn)} has a continuous state, and a memory or delay; expected one of both")
        if stiff and (python or period is not None or self.memory.size or delay):
            raise SimulationError(f"{name_of(fn)} is to be implicit, and is held between its ticks; expected stiff=None, and a period that "
                                  "is short for what it steers")  # fmt: skip
        if python and (period is None or self.state.size or self.memory.size):
            raise SimulationError(f"{name_of(fn)} is plain Python: it is asked at ticks, and remembers by itself; expected a period, and "
                                  "neither a state nor a memory")  # fmt: skip

    @property
    def __name__(self) -> str:
        return self.name or name_of(self.fn)


class Noise:
    """Random numbers of one tick of a law: new ones at each call."""

    def __init__(self, seed: Any, run: Any, stream: int, count: Any) -> None:
        self.seed, self.run, self.stream, self.count, self.calls = seed, run, stream, count, 0

    def __call__(self, n: int) -> Any:
        """n normal numbers of mean 0 and deviation 1."""
        return ops.normal(n, **self._next)

    def later(self, n: int) -> Callable[[], Any]:
        """A function that draws n normal numbers, those that a call would here, if it is called."""
        known = self._next
        return lambda: ops.normal(n, **known)

    def uniform(self, n: int, *others: Any) -> Any:
        """n uniform numbers in [0, 1)."""
        if others:
            raise SimulationError(f"uniform got {(n, *others)}; expected n alone, and low + (high - low) * uniform(n)")
        return ops.uniform(n, **self._next)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise SimulationError(f"random numbers have no '{name}'; expected noise(n), normal numbers, or noise.uniform(n), in [0, 1)")

    @property
    def _next(self) -> dict[str, Any]:
        self.calls += 1
        return {"seed": self.seed, "stream": self.stream, "call": self.calls - 1, "count": self.count, "run": self.run}


def asks_noise(fn: Any) -> bool:
    """Return whether a function of the user's has an argument ``noise``."""
    try:
        return "noise" in inspect.signature(fn.fn if isinstance(fn, Law) else fn).parameters
    except (TypeError, ValueError):
        return False


class Called:
    """A user's function or :class:`Law` bound to a simulation: it gets the arguments that its parameters' names ask for.

    Parameters
    ----------
    signals : names of what others make, which it may ask for. A function that asks for one among its first three arguments gets all of
        them, t, q and v too, by their names, in any order, as one that is ``by_name`` does

    Attributes
    ----------
    reads : the signals that it asks for
    ticks : whether it is evaluated at ticks, and held in between; taken : the law's attributes, as they were
    """

    def __init__(self, fn: Any, parameters: Mapping[str, Any], signals: Collection[str] = (), by_name: bool = False) -> None:
        self.law = fn if isinstance(fn, Law) else Law(fn)
        self.name, self.stream, self.taken = self.law.__name__, 0, dict(vars(self.law))
        if isinstance(self.law.fn, type):
            raise SimulationError(f"{self.name} is a class; expected one of its instances, {self.name}(…)")
        own = noisy(self.law.fn) if asks_noise(self.law) else self.law.fn
        self.named = by_name or self.law.by_name or by_names(own, [*OFFERED, *parameters], signals)
        self.fn = pure(with_signals(own, self.named, self.name) if self.named or signals else own)
        if not self.named:
            in_places(self.name, self.fn, signals)
        self.extra = self._asked(parameters, signals)
        self.reads = [n for n in self.extra if n in signals]
        self.ticks = self.law.period is not None or bool(self.law.memory.size or self.law.delay or {"noise", "vdot"} & {*self.extra})
        if self.law.state.size and "noise" in self.extra:
            raise SimulationError(f"{self.name} has a continuous state, and asks for noise; expected one of both")
        if self.law.python and (beyond := [n for n in self.extra if n not in ("model", "gravity", *parameters, *signals)]):
            raise SimulationError(f"{self.name} is plain Python, and asks for '{beyond[0]}'; expected t, q, v, parameters, signals, model, "
                                  "gravity")  # fmt: skip

    def _asked(self, parameters: Mapping[str, Any], signals: Collection[str]) -> list[str]:
        """Return what it asks for besides t, q, v."""
        try:
            signature = inspect.signature(self.fn)
        except (TypeError, ValueError):  # a builtin without a signature
            return []
        known = [*OFFERED, *parameters, *signals]
        names = list(signature.parameters.values())
        positional = [p for p in names if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        starred = any(p.kind is p.VAR_POSITIONAL for p in names)
        short = len(positional) < 3 and not starred and not self.named
        beyond = [p for p in positional if p.name not in ("t", "q", "v")] if self.named or (short and signals) else positional[3:]
        extra = [p.name for p in beyond if p.default is p.empty or p.name in known]
        for name in extra:
            if name not in known:
                own = [n for n in known if "." not in n and (n != self.name or self.law.initial is not None)]    # which it may read itself
                raise SimulationError(f"{self.name} asks for '{name}'{nearest(name, own)}; expected some of {', '.join(own)}, a parameter")
        if short:
            raise SimulationError(f"{self.name} takes {signature}; expected a function of (t, q, v), or of names that it may ask for")
        for what in ("state", "memory"):
            if getattr(self.law, what).size and what not in extra:
                raise SimulationError(f"{self.name} has a {what} of its own and takes {signature}; expected a parameter named {what}")
            if what in extra and not getattr(self.law, what).size:
                raise SimulationError(f"{self.name} asks for a {what}, and has none; expected engine.Law({self.name}, {what}=[…])")
        return extra

    def __call__(self, s: Context, state: Array, memory: Any = None, count: Any = 0.0) -> tuple[Any, Any, Any]:
        """Return the result, the rate of its own state, and its memory from now on."""
        extra = {n: self._given(n, s, state, memory, count) for n in self.extra if n not in self.reads}
        for n in self.reads:
            heard = s.before if n in self.law.before and n in s.before else s.signals
            extra |= {f"{n}.{part}": x for part, x in shown_parts(heard[n]).items()}
        with name_in_errors(self.name, s.q.dtype == object):
            result = self.fn(s.t, s.q, s.v, **extra)
        if any(hasattr(x, "by_rows") and x.count is None for x in structure(result)[0]):
            raise SimulationError(f"{self.name} returned a table; expected arrays, as engine.ops.sized(table, n) makes them of tables")
        what = "state" if self.law.state.size else "memory" if self.law.memory.size else ""
        if not what:
            return result, None, memory
        shape = getattr(self.law, what).shape
        if not isinstance(result, tuple) or len(result) != 2 or np.shape(result[1]) != shape:
            expected = f"(result, rate of its state {shape})" if what == "state" else f"(result, its memory {shape})"
            second = f" with {np.shape(result[1])} second" if isinstance(result, tuple) and len(result) == 2 else ""
            raise SimulationError(f"{self.name} returned {type(result).__name__}{second}; expected {expected}")
        own = np.asarray(result[1])
        return (result[0], own, memory) if what == "state" else (result[0], None, own)

    def _given(self, name: str, s: Context, state: Array, memory: Any, count: Any) -> Any:
        """Return what it asks for by a name."""
        if name == "noise":
            return s.parameters["noise.seed"], s.parameters["noise.run"], self.stream, count
        if name in ("state", "memory"):
            return state if name == "state" else memory
        own = s.parameters[name] if name in s.parameters else getattr(s, name)
        return np.asarray(own) if name == "gravity" else own

    def require_made_for(self, model: Model, components: list[Component]) -> None:
        """Let a ready function refuse a model, or components, other than those that it was made for."""
        if (require := getattr(self.law.fn, "require_made_for", None)) is not None:
            require(model, components)

    def require_finite(self, s: Context, result: Any) -> None:
        """Refuse what is no number, and NaN and infinity where there are numbers; machine code shows them in the records."""
        for x in result.values() if isinstance(result, Mapping) else [result]:
            try:
                good = numeric(a := np.asarray(x))
            except ValueError:                                                 # ragged
                good = False
            if not good:
                raise SimulationError(f"{self.name} returned {shown(x)}; expected numbers")
            if np.isfinite(np.array([y for y in a.ravel().tolist() if isinstance(y, (int, float))], dtype=float)).all():
                continue
            if s.q.dtype == object:                                            # in every state that there is
                raise SimulationError(f"{self.name} returned {shown(x)}; expected finite numbers")
            raise NotFinite(self.name, float(s.t), wild=not (np.abs(np.append(s.q, s.v)) <= WILD).all())


def noisy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gets its noise made anew at each call, of seed, run, stream and count."""

    @functools.wraps(fn)
    def called(*args: Any, noise: tuple[Any, Any, int, Any], **named: Any) -> Any:
        return fn(*args, noise=Noise(*noise), **named)

    called.__signature__ = inspect.signature(fn)  # type: ignore[attr-defined]
    return called


class Ticking(Component):
    """A component that is a function of the user's: evaluated at every stage, or at ticks and held in between."""

    called: Called
    period: float
    unclipped: Unclipped | None = None

    def bind(self, model: Model, dt: float) -> None:
        law = self.called.law
        self.period, self.called.stream = law.period or dt, zlib.crc32(self.name.encode())
        if law.period is not None and law.period < dt * (1.0 - 1e-9):
            raise SimulationError(f"Law period {law.period:g} s of {self.called.name} is shorter than dt {dt:g} s; expected dt or more")
        self.every, self.waits = law.period is None and not law.delay, round(law.delay / self.period)
        self.between = abs(law.delay - self.waits * self.period) > NOW * self.period
        if self.between and law.python:
            raise SimulationError(f"{self.called.name}: a delay of {law.delay:g} s; expected a multiple of its period of {self.period:g} s")
        self.waits = math.ceil(law.delay / self.period) if self.between else self.waits
        if (require := getattr(law.fn, "require_step", None)) is not None:
            require(dt)
        self.hastes = self.between and law.delay < dt * (1.0 + 1e-6)            # a step that takes a sample may be late enough for it
        if self.waits > MOST_WAITING:
            raise SimulationError(f"{self.called.name}: a delay of {law.delay:g} s is {self.waits} of its periods, all of which are "
                                  f"remembered; expected {MOST_WAITING} at most")  # fmt: skip

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        """Return what the function says now, by name and checked, the rate of its own state, and its memory from now on."""
        raise NotImplementedError

    def hold(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Make room for what it says, of these shapes by name, between ticks."""
        law, self.shapes = self.called.law, dict(shapes)
        queue: dict[str, tuple[int, ...]] = {"due": (), "arrived": ()} if self.between else {}
        self.held = Layout({"tick": (), "count": (), "memory": law.memory.shape, **queue, **{f"now.{n}": s for n, s in shapes.items()},
                            **{f"later.{n}": (self.waits, *s) for n, s in shapes.items()}})  # fmt: skip
        first = {"memory": law.memory, "tick": law.phase, "due": law.phase + law.delay, **self.at_first()}
        self.times = tuple(self.held.slices[n].start for n in ("tick", "due") if n in self.held.shapes)
        self.memory = self.held.join({n: first.get(n, np.zeros(s)) for n, s in self.held.shapes.items()})

    def at_first(self) -> dict[str, Array]:
        """Return what is said until the first tick has arrived, where that is not zero, by "now.NAME"."""
        return {}

    @property
    def feels(self) -> Sequence[str]:
        """Measurements that the law asks for at the beginning of a step: fields of :class:`~engine.components.component.Felt`."""
        return ("vdot",) if "vdot" in self.called.extra else ()

    @property
    def flown(self) -> bool:
        """True if the law is evaluated at every stage of the method, and may be implicit."""
        return not self.called.ticks and self.called.law.stiff is not False

    @property
    def clips(self) -> bool:
        """True if the law's clips may be limits of a stiff force: it is flown, and reads no signals, which are no state."""
        return self.flown and not self.called.reads

    def unclip(self, at: Callable[..., Context], shapes: list[tuple[int, ...]], states: Layout, parameters: Layout) -> None:
        """Take the clips of what it says as limits of it where a flight is implicit: see :class:`~engine.components.clips.Unclipped`."""
        found = Unclipped(lambda s: self.said(s, s.states.get(self.name, self.state), None, 0.0)[:2], at, shapes, states, parameters)
        self.unclipped, self.bounds = found if len(found.own) else None, len(found.own)

    def now(self, s: Context, state: Array, memory: Array) -> tuple[dict[str, Any], Any, Any]:
        """Return what holds now, by name, the rate of its own state, and what of it is beyond its limits, where it is limited."""
        if not self.called.ticks:
            if self.unclipped is None or self.name not in s.modes:
                return *self.said(s, state, None, 0.0)[:2], ()
            if s.q.dtype != object:
                self.said(s, state, None, 0.0)                                 # what is no number is said of it
            return self.unclipped(s, functools.partial(s.bounded, self.name))
        held = self.held.split(memory)
        return {n: held[f"now.{n}"] for n in self.shapes}, self.said(s, state, None, 0.0)[1] if self.called.law.state.size else None, ()

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        if not self.called.ticks or self.called.law.python:
            return memory
        memory = self.arrived(s.t, memory)
        if self.every:
            return self.ticked(s, state, memory)
        return np.asarray(ops.when(self.due(s.t, self.held.split(memory)), lambda: self.ticked(apart(s), state, memory), memory))

    def arrived(self, t: Any, memory: Array) -> Array:
        """Return the memory at the beginning of a step, before a tick of it."""
        return self.delivered(t, memory) if self.between else memory

    def ticked(self, s: Context, state: Array, memory: Array) -> Array:
        """Return the memory after a tick."""
        held = self.held.split(memory)
        said, _, own = self.said(s, state, held["memory"], held["count"])
        after = {**held, "count": held["count"] + 1.0, "memory": own}
        for n, x in said.items():
            if self.between:                                                   # behind those that are on their way
                way = enumerate(held[f"later.{n}"])
                last = held["count"] - held["arrived"]
                after[f"later.{n}"] = np.array([ops.where(ops.equal(last, float(k)), x, y) for k, y in way])
            else:
                line = [*held[f"later.{n}"], x]
                after |= {f"now.{n}": line[0], f"later.{n}": np.array(line[1:]).reshape(self.waits, *np.shape(x))}
        return self.delivered(s.t, self.held.join(after)) if self.hastes else self.held.join(after)

    def due(self, t: Any, held: Mapping[str, Any]) -> Any:
        """Return whether it ticks at the step that begins at t. Traceable."""
        return t >= self.time(held, "tick", "count") - NOW * self.period

    def time(self, held: Mapping[str, Any], first: str, count: str) -> Any:
        """Return when it ticks next, or what is on its way arrives: counted from the first, so that no error adds up."""
        return held[first] + self.period * held[count]

    def delivered(self, t: Any, memory: Array) -> Array:
        """Return the memory after what has been on its way for its delay, which is no multiple of the period, has arrived."""
        held = self.held.split(memory)
        due = t >= self.time(held, "due", "arrived") - NOW * self.period
        comes = ops.logical_and(due, ops.less(held["arrived"], held["count"]))

        def arrived() -> Array:
            after = {**held, "arrived": held["arrived"] + 1.0}
            for n in self.shapes:
                line = held[f"later.{n}"]
                after |= {f"now.{n}": line[0], f"later.{n}": np.array([*line[1:], line[-1]])}
            return self.held.join(after)

        return np.asarray(ops.when(comes, arrived, memory))

    def told(self, memory: Array, said: Mapping[str, Array]) -> Array:
        """Return memories (..., m) after a tick at which it says this, by name (..., *shape); what it does not say is as it was."""
        held = self.held.split(memory)
        after = {"tick": held["tick"], "count": held["count"] + 1.0, "memory": held["memory"]}
        for n, shape in self.shapes.items():
            lead, place = memory.shape[:-1], memory.ndim - 1
            fresh = np.broadcast_to(said.get(n, held[f"now.{n}"]), (*lead, *shape))
            line = np.concatenate([held[f"later.{n}"], np.expand_dims(fresh, place)], axis=place)
            after |= {f"now.{n}": np.take(line, 0, axis=place), f"later.{n}": np.delete(line, 0, axis=place)}
        return self.held.spread(after, memory.shape[:-1])


class Force(Ticking):
    """A force of the user's: generalized forces (nv), wrenches (nlinks, 6), or wrenches by link {link: (6)}."""

    def __init__(self, fn: Any, name: str, parameters: Mapping[str, Any], signals: Collection[str] = ()) -> None:
        self.called, self.name = Called(fn, parameters, signals), name
        self.state = self.called.law.state

    def bind(self, model: Model, dt: float) -> None:
        super().bind(model, dt)
        self.called.require_made_for(model, [])
        if self.called.law.python:
            raise SimulationError(f"{self.called.name} is a force in plain Python; expected a controller, or a force that compiles")

    def said(self, s: Context, state: Array, memory: Any, count: Any) -> tuple[dict[str, Any], Any, Any]:
        """Generalized forces by "tau", or wrenches by "in LINK"."""
        result, rate, memory = self.called(s, state, memory, count)
        self.called.require_finite(s, result)
        model = s.model
        if isinstance(result, Mapping):
            wrenches = {}
            for link, F in result.items():
                model.link_index(link)
                wrenches[f"in {link}"] = np.asarray(F)
                if np.shape(F) != (6,):
                    raise SimulationError(f"{self.called.name} returned shape {np.shape(F)} for link '{link}'; expected (6,)")
            return wrenches, rate, memory
        f = np.asarray(result)
        if f.shape == (len(model.links), 6):
            return {f"in {link.name}": F for link, F in zip(model.links, f, strict=True)}, rate, memory
        if f.shape != (model.nv,):
            wanted = f"({model.nv},) or ({len(model.links)}, 6)"
            raise SimulationError(f"{self.called.name} returned shape {f.shape}; expected {wanted} for '{model.name}'")
        return {"tau": f}, rate, memory

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        said, rate, beyond = self.now(s, state, memory)
        return Effect(tau=said.pop("tau", None), wrenches={n.removeprefix("in "): F for n, F in said.items()}, rate=rate, beyond=beyond)
