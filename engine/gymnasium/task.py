"""A task: a simulator, its observation, reward, termination and reset, as two traced functions.

The step is the simulator's own. What looks at its end (:meth:`Task.look`) says what a policy is told, and begins new episodes: all rows
of a batch in one call of machine code, where a branch draws and prepares the states of those that begin, and nothing of the others.
"""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, nearest, number, numeric, shown, warn, whole
from engine.compiled.function import units
from engine.compiler.transforms.trace import Program, pure, trace
from engine.components.component import SimulationError, SimulationWarning
from engine.components.law import OFFERED, Called, Noise
from engine.components.layout import Layout
from engine.simulation import Simulator
from engine.simulation.parameters import Read
from engine.simulation.surroundings import Kept, surroundings

Array = np.ndarray
#: of the random numbers by which episodes begin, among those of all laws
STREAM = zlib.crc32(b"reset")
#: what is no number any more: NaN does not compare as less, and float32 does not hold more
HUGE = float(np.finfo(np.float32).max)
#: of "noise.run": episodes of a row, so far apart; rows are fewer
ROWS = 2.0**24
#: beginnings that are tried on numbers before anything is compiled; and how many one after another may be refused
TRIED, REFUSED = 8, 100


class EnvError(EngineError):
    """An environment was given, or asked for, something that it cannot do; the text says what was expected."""


class Task:
    """A simulator with functions that make an environment of it.

    The parameters are those of :class:`engine.gymnasium.VectorEnv`, and ``ends``: whether the states in which episodes end are kept,
    too, where others begin in the same step.

    Attributes
    ----------
    programs : the step, and what looks at its end
    own : the layout of P, what a row has besides its state: the simulator's parameters (the action among them), further numbers that are
        drawn for an episode, the seed, the row's number, the episode's number, whether a new one begins now, and how many could not
    row : the layout of a row: the state x, P, the number k of steps since the episode began, and what was found
    """

    def __init__(self, simulator: Simulator, observation: Any, reward: Any, terminated: Any, reset: Any, action_repeat: int,
                 horizon: float | None, max_episode_steps: int | None, autoreset: str, point: str | None,
                 ends: bool = False) -> None:  # fmt: skip
        self.simulator, self.autoreset, self.ends = fit(simulator), autoreset, ends and autoreset == "same_step"
        self.repeat = whole("action_repeat", action_repeat, "a whole number of steps from 1", least=1, error=EnvError)
        self.steps = self._counted(horizon, max_episode_steps)
        if reset is not None and not callable(reset):
            raise EnvError(f"reset is {shown(reset)}; expected a function of the random numbers, reset(random)")
        self._reset = pure(functools.partial(beginning, reset or (lambda random: at_rest(simulator))))
        drawn, self.read = self.drawn(0.0, 0.0, 0.0), set[str]() if point is None else {point}
        self.names = tuple(n for n in drawn if n not in ("q", "v", *simulator.parameters))      # further numbers of an episode
        self.drawn_names = tuple(n for n in drawn if n not in ("q", "v"))
        known = {**simulator.parameters, **{n: drawn[n] for n in self.names}}
        self.functions = {"observation": observation, "reward": reward, "terminated": terminated or never}
        self.functions = {name: asked(name, f, known, self.simulator.stepper.signals) for name, f in self.functions.items()}
        own = {"seed": (), "row": (), "episode": (), "begin": (), "skipped": ()}
        if taken := ({*own, "t", *OFFERED} & {*known}) - {*simulator.parameters}:
            raise EnvError(f"a parameter is named '{min(taken)}', which environments have anyway; expected another name")
        self.shape = self._tried(known)
        self.own = Layout({n: np.shape(x) for n, x in known.items()} | own)
        found: dict[str, tuple[int, ...]] = {"observation": self.shape, "reward": (), "terminated": (), "truncated": (), "diverged": ()}
        found |= {"final": self.shape} if autoreset == "same_step" else {}
        found |= {"end": (simulator.stepper.layout.n,)} if self.ends else {}
        self.state = Layout({"x": (simulator.stepper.layout.n,), "p": (self.own.n,), "k": ()})
        self.row = Layout({**self.state.shapes, **found})
        self.programs = self._traced()
        written = {**{name: f.law.fn for name, f in self.functions.items()}, **({"reset": reset} if reset else {})}
        self._kept = Kept(lambda: surroundings(written.items()), self._traced, self.programs,
                          "what reset draws, or a parameter, for what changes, or a new environment")  # fmt: skip

    def _counted(self, horizon: float | None, actions: int | None) -> float:
        """Return how many steps an episode has at most."""
        most = np.inf
        if actions is not None:
            most = self.repeat * whole("max_episode_steps", actions, "a whole number of actions from 1", least=1, error=EnvError)
        if horizon is None:
            return float(most)
        one = self.repeat * self.simulator.dt
        given = number("horizon", horizon, "seconds greater than zero", above=0.0, error=EnvError)
        if round(given / one) < 1 or abs(given / one - round(given / one)) > 1e-6:
            raise EnvError(f"horizon is {given:g} s; expected a multiple of the {one:g} s that an action lasts")
        return float(min(most, round(given / one) * self.repeat))

    # ------------------------------------------------------------ what is tried on numbers

    def drawn(self, seed: Any, row: Any, episode: Any) -> dict[str, Any]:
        """Return what an episode of a row begins with, by name, traced or not: q, v, and parameters."""
        result = self._reset(seed, row, episode)
        if isinstance(result, tuple) and len(result) == 2:
            result = dict(zip(("q", "v"), result, strict=True))
        if not isinstance(result, Mapping) or not {"q", "v"} <= {*result}:
            lacks = " or ".join(f"'{n}'" for n in ("q", "v") if n not in result) if isinstance(result, Mapping) else ""
            raise EnvError(f"reset returned {f'no {lacks}, in ' if lacks else ''}{shown(result)}; expected (q, v), or a dictionary of 'q', "
                           "'v' and parameters by name")  # fmt: skip
        found, model = {n: np.asarray(x) for n, x in result.items()}, self.simulator.model
        for name, shape in (("q", (model.nq,)), ("v", (model.nv,)), *((n, np.shape(x)) for n, x in self.simulator.parameters.items())):
            if name in found and found[name].shape != shape:
                raise EnvError(f"reset returned {name} of shape {found[name].shape}; expected {shape}")
        return found

    def _tried(self, known: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape of an observation, after some episodes began, and were looked at, on numbers."""
        shape: tuple[int, ...] | None = None
        for x, given in self._begun_on_numbers():
            for name, y in self._said(0.0, x, {**known, **given}).items():
                one = {"terminated": "one truth", "reward": "one finite number"}.get(name, "finite numbers")
                if not numeric(y) or not np.isfinite(y).all():
                    raise EnvError(f"{name} returned {shown(y[()])} at the beginning of an episode; expected {one}")
                if name != "observation" and y.shape != ():
                    raise EnvError(f"{name} returned shape {y.shape}; expected {one}")
                if name == "terminated" and y.dtype != bool:
                    raise EnvError(f"terminated returned {shown(y[()])}; expected one truth, such as q[0] > 1.0")
                if name == "observation":
                    if shape not in (None, y.shape) or not y.size:
                        before = "one or more numbers" if shape is None else f"{shape}, as before"
                        raise EnvError(f"observation returned shape {y.shape}; expected {before}")
                    shape = y.shape
        assert shape is not None
        if lost := [n for n in self.names if n not in self.read]:
            other = nearest(lost[0], [*self.simulator.parameters, *(f"mass.{link.name}" for link in self.simulator.model.links)])
            raise EnvError(f"reset returns '{lost[0]}', which nothing reads{other}; expected what a function asks for by its name, or a "
                           f"parameter of the simulator: {', '.join(self.simulator.parameters)}")  # fmt: skip
        return shape

    def _begun_on_numbers(self) -> Iterator[tuple[Array, dict[str, Any]]]:
        """Yield the states x (n) and what was drawn of the first episodes of row 0 that can begin, and warn of others."""
        refused = []
        for episode in range(TRIED):
            drawn = self.drawn(0.0, 0.0, float(episode))
            try:
                x = self._started(drawn)
            except EngineError as error:
                refused.append(str(error))
            else:
                yield x, {n: drawn[n] for n in self.drawn_names}
        if refused:
            text = f"{len(refused)} of {TRIED} episodes that reset drew cannot begin: {refused[0]}"
            if len(refused) == TRIED:
                raise EnvError(text)
            warn(f"{text}; such ones are left out", SimulationWarning)

    def _started(self, drawn: Mapping[str, Any]) -> Array:
        """Return the state x (n) in which a simulation begins with what was drawn; EngineError where it cannot."""
        if bad := [n for n, x in drawn.items() if not numeric(x) or not np.isfinite(x).all()]:
            raise SimulationError(f"reset returned {bad[0]} = {shown(drawn[bad[0]])}; expected finite numbers")
        own = {n: x for n, x in drawn.items() if n in self.simulator.parameters}
        return self.simulator.stepper.begin(drawn["q"], drawn["v"], own)[1]

    def why(self, seed: int, row: int, episode: int) -> str:
        """Return why an episode cannot begin, "" where it can."""
        try:
            self._started(self.drawn(float(seed), float(row), float(episode)))
        except EngineError as error:
            return str(error)
        return ""

    def _said(self, t: Any, x: Array, parameters: Mapping[str, Any]) -> dict[str, Array]:
        """Return what the user's functions say of a state x (n), by name."""
        stepper = self.simulator.stepper
        s = stepper.context(t, stepper.parameters.join(parameters), x)
        s.parameters = Read(parameters, self.read)
        return {name: np.asarray(f(s, np.zeros(0))[0]) for name, f in self.functions.items()}

    # ------------------------------------------------------------ what is traced

    def require_unchanged(self) -> None:
        """Refuse to go on where something that the functions read has changed; it is looked for ten times a second."""
        self.simulator.stepper.require_unchanged(0.1)
        self._kept.require_unchanged(0.1)

    def _traced(self) -> tuple[Program, Program]:
        """Return the step, and what looks at its end, as :func:`engine.compiler.scan.rollout_ufunc` takes them."""
        shapes = [(), (), (), (self.own.n,), (self.simulator.stepper.layout.n,)]
        return trace(self.step, shapes), trace(self.look, shapes, named=True)

    def step(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Array:
        """Return the state x (n) after a step of the simulator."""
        return self.simulator.stepper.step(t0, k, dt, p[: self.simulator.stepper.parameters.n], x)

    def look(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        """Return a row: what is found where an action ends, and where the row goes on; an episode may begin before and after."""
        begin = ops.less(0.5, self.own.split(p)["begin"])
        w = ops.when(begin, lambda: self.begun(p), np.concatenate([x, p, [k]]))
        seen = self.seen(dt, w, begin)
        done = ops.logical_or(ops.less(0.5, seen["terminated"]), ops.less(0.5, seen["truncated"]))
        final = {}
        if self.autoreset == "same_step":
            final = {"final": seen["observation"], **({"end": self.state.split(w)["x"]} if self.ends else {})}
            w = ops.when(done, lambda: self.begun(self.state.split(w)["p"]), w)
            seen["observation"] = ops.when(done, lambda: self.seen(dt, w, done)["observation"], seen["observation"])
        at = self.state.split(w)
        following = ops.where(done, 1.0, 0.0) if self.autoreset == "next_step" else 0.0
        own = {**self.own.split(at["p"]), "begin": following}
        return {"x": at["x"], "p": self.own.join(own), "k": at["k"], **seen, **final}

    def begun(self, p: Array) -> Array:
        """Return the state of a row (x, P, k) that begins its next episode that can begin; NaN where many one after another cannot."""
        nowhere = np.concatenate([np.zeros(self.simulator.stepper.layout.n), p, [0.0]])
        w, found = ops.while_loop(lambda w: self.attempt(self.state.split(w)["p"]), nowhere, REFUSED)
        at = self.state.split(w)
        return self.state.join({**at, "x": np.array([ops.where(found, y, np.nan) for y in at["x"]])})

    def attempt(self, p: Array) -> tuple[Array, Any]:
        """Return the state of a row (x, P, k) that begins its next episode, and whether it can."""
        own, stepper = self.own.split(p), self.simulator.stepper
        drawn = self.drawn(own["seed"], own["row"], own["episode"])
        own |= {"action": self.simulator.parameters["action"], **{n: drawn[n] for n in self.drawn_names}}
        if "noise.run" in self.simulator.parameters:
            own |= {"noise.seed": own["seed"], "noise.run": own["row"] + ROWS * own["episode"]}
        good = self.sound(drawn, self.own.join(own)[: stepper.parameters.n])
        p = self.own.join({**own, "episode": own["episode"] + 1.0, "begin": 0.0, "skipped": own["skipped"] + ops.where(good, 0.0, 1.0)})
        q = self.simulator.model.manifold.normalized(drawn["q"])
        return np.concatenate([stepper.at(q, drawn["v"], p[: stepper.parameters.n]), p, [0.0]]), good

    def sound(self, drawn: Mapping[str, Any], p: Array) -> Any:
        """Return whether an episode can begin with a draw, among the parameters p, by the checks of :meth:`Simulator.run`."""
        numbers = [x for a in drawn.values() for x in a.reshape(-1)]
        good = [finite(numbers), *self.simulator.stepper.possible(drawn)]
        good += units(self.simulator.model.manifold, drawn["q"])
        good += self.simulator.stepper.apart(drawn["q"], p)
        return functools.reduce(ops.logical_and, good)

    def seen(self, dt: Any, w: Array, begin: Any) -> dict[str, Any]:
        """Return what is said of a row (x, P, k); a row that ``begin`` s has no reward, and has not ended."""
        at = self.state.split(w)
        own, x = self.own.split(at["p"]), at["x"]
        said = self._said(at["k"] * dt, x, {n: own[n] for n in (*self.simulator.parameters, *self.names)})
        for name, shape in (("observation", self.shape), ("reward", ()), ("terminated", ())):
            if said[name].shape != shape:
                raise EnvError(f"{name} returned shape {said[name].shape} where it was compiled; expected {shape}, as on numbers")
        numbers = [*x, *said["observation"].reshape(-1), said["reward"][()]]
        going = finite(numbers)
        sound = ops.logical_and(going, ops.logical_not(begin))
        late = ops.logical_and(ops.less_equal(self.steps, at["k"]), sound)
        return {"observation": said["observation"],
                "reward": ops.where(sound, said["reward"][()], 0.0),
                "terminated": ops.where(ops.logical_and(said["terminated"][()], sound), 1.0, 0.0),
                "truncated": ops.where(ops.logical_or(late, ops.logical_not(going)), 1.0, 0.0),
                "diverged": ops.where(going, 0.0, 1.0)}  # fmt: skip


def finite(numbers: list[Any]) -> Any:
    """Return whether all numbers are finite in float32."""
    return functools.reduce(ops.logical_and, [ops.less(ops.absolute(x), HUGE) for x in numbers])


def fit(simulator: Any) -> Simulator:
    """Return a simulator of which an environment can be made."""
    if not isinstance(simulator, Simulator):
        raise EnvError(f"an environment got a {type(simulator).__name__}; expected a Simulator")
    for wrong, what in ((not simulator.compiled, "compiled=False"), (bool(simulator.watch), "events"),
                        (simulator.plant.constraints is not None, "constraints"),
                        (simulator.stepper.asked, "a controller in plain Python")):  # fmt: skip
        if wrong:
            raise EnvError(f"an environment got a simulator with {what}; expected one without")
    if "action" not in simulator.parameters:
        raise EnvError("the simulator has no parameter 'action'; expected one, which its controller asks for: "
                       "Simulator(…, controller=lambda t, q, v, action: …, parameters={'action': np.zeros(n)})")  # fmt: skip
    return simulator


def asked(name: str, f: Any, known: Mapping[str, Any], signals: Iterable[str] = ()) -> Called:
    """Return a function of (t, q, v) and what it asks for by name."""
    if not callable(f):
        raise EnvError(f"{name} is {shown(f)}; expected a function of (t, q, v)")
    called = Called(f, known, [*signals])
    if called.ticks:
        raise EnvError(f"{name} asks for noise; expected a function of what is now, and noise in what reset draws, or in a law")
    return called


def beginning(reset: Callable[[Any], Any], seed: Any, row: Any, episode: Any) -> Any:
    """Return what the user's function says, with random numbers of its own."""
    return reset(Noise(seed, row, STREAM, episode))


def at_rest(simulator: Simulator) -> tuple[Array, Array]:
    """The neutral configuration at rest."""
    return simulator.model.neutral(), np.zeros(simulator.model.nv)


def never(t: Any, q: Array, v: Array) -> Any:
    """Return false: no state ends an episode."""
    return operator.lt(t, -1.0)
