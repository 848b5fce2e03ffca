"""Sources of a robot's states: a model at rest, a recorded trajectory, a simulation that runs. Nothing else knows which of them it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine import dynamics
from engine.checks import warn
from engine.model import Model
from engine.model.parameters import is_number
from engine.simulation import Crossing, Live, Robot, Simulator, Trajectory, compile
from engine.simulation.parameters import moves_shapes
from engine.viewer.scene.errors import ViewerError, ViewerWarning

Array = np.ndarray
#: points of a path, and how many of them in a second of motion
POINTS, RATE = 4000, 120.0
#: links of a robot whose poses are quicker found by plain NumPy, one after another, than compiled
LONG = 150


@dataclass(frozen=True)
class States:
    """Configurations q (n, nq) and velocities v (n, nv); of a motion also its tau (n, nv) and signals (n, ...)."""

    q: Array
    v: Array
    tau: Array | None = None
    signals: dict[str, Array] = field(default_factory=dict)


class Source:
    """A source of a robot's states: the base of :class:`Still`, :class:`Played` and :class:`Running`.

    Attributes
    ----------
    model, gravity (3) : of the robot; robot : its compiled kinematics
    moves : whether its states change with time
    ground : pose (4, 4) of the ground that it has contacts with, whose z axis is the normal; None without one
    frame : the orbit whose ellipse carries the world's origin, of a simulation that is not run here; None without one
    """

    moves = True
    ground: Array | None = None
    frame: Any = None

    def __init__(self, model: Model, gravity: tuple[float, ...]) -> None:
        self.model, self.gravity, self.robot = model, gravity, compile(model, gravity)

    @property
    def span(self) -> tuple[float, float]:
        """First and last time, s."""
        return 0.0, 0.0

    @property
    def events(self) -> tuple[Crossing, ...]:
        """Events of the motion, where they are known."""
        return ()

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the entries of signals, as a trajectory's."""
        return {}

    @property
    def instances(self) -> int:
        """Number of robots it stands for."""
        return 1

    def state(self, t: float) -> tuple[Array, Array]:
        """Return configurations (instances, nq) and velocities (instances, nv) at a time, s; beyond the ends at the first or last time."""
        raise NotImplementedError

    def driven(self, t: float, most: int) -> States:
        """Return the states of the first instances, ``most`` of them, with what drives them where it is known."""
        raise NotImplementedError

    def now(self, t: float, instance: int) -> Trajectory:
        """Return the state of an instance at a time, s, as a trajectory of one state."""
        raise NotImplementedError

    def path(self, link: int, point: Array, since: float, most: int) -> tuple[Array, Array]:
        """Return times (K) and where a point (4) of a link is then (n, K, 3), m, for the first instances; at least since a time, s."""
        raise NotImplementedError

    def configurations(self, times: Array) -> Array:
        """Return configurations (instances, T, nq) at times (T), s."""
        return np.repeat(self.state(times[0])[0][:, None], len(times), axis=1)

    def poses(self, t: float) -> Array:
        """Return the poses of the links in the world (instances, nlinks, 4, 4) at a time, s."""
        return self.links(self.state(t)[0])

    def links(self, q: Array, first: int = 0) -> Array:
        """Return the poses of the links in the world (n, ..., nlinks, 4, 4) in configurations (n, ..., nq) of n instances, from one on."""
        if len(self.model.links) <= LONG:
            return self.robot.forward_kinematics(q)
        rows = [dynamics.forward_kinematics(self.model, row) for row in q.reshape(-1, self.model.nq)]
        return np.array(rows).reshape(*q.shape[:-1], -1, 4, 4)


class Still(Source):
    """A model at rest, in one configuration or several.

    Attributes
    ----------
    q : (instances, nq), by default as its file has it; it may be changed
    first : as it was
    free : whether hands may change it

    >>> import engine
    >>> arm = Still(engine.load(engine.example("seven_joint_arm")))
    >>> arm.instances, arm.moves, arm.span
    (1, False, (0.0, 0.0))
    """

    moves, free = False, True

    def __init__(self, model: Model, q: Any = None) -> None:
        super().__init__(model, (0.0, 0.0, 0.0))
        self.q = np.atleast_2d(model.normalized(model.initial() if q is None else q))
        self.first = self.q.copy()

    @property
    def instances(self) -> int:
        return len(self.q)

    def state(self, t: float) -> tuple[Array, Array]:
        return self.q, np.zeros((len(self.q), self.model.nv))

    def driven(self, t: float, most: int) -> States:
        q, v = self.state(t)
        return States(q[:most], v[:most])

    def now(self, t: float, instance: int) -> Trajectory:
        q, zero = self.q[instance : instance + 1], np.zeros((1, self.model.nv))
        return Trajectory(self.model, self.gravity, np.zeros(1), q, zero, zero, zero)

    def path(self, link: int, point: Array, since: float, most: int) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros((len(self.q[:most]), 0, 3))


class Played(Source):
    """A recorded trajectory, of one rollout or of a batch, of which each rollout is an instance.

    Raises
    ------
    ViewerError : the trajectory has no states, or configurations that are not finite

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> run = engine.Simulator(arm, dt=0.01).run(np.zeros((3, arm.nq)), np.zeros((3, arm.nv)), 0.05)
    >>> Played(run).instances, Played(run).span
    (3, (0.0, 0.05))
    """

    def __init__(self, trajectory: Trajectory) -> None:
        lead = trajectory.q.shape[:-2]
        rows = {n: x.reshape(-1, *x.shape[len(lead) :]) for n, x in trajectory.parameters.items() if is_number(n)}
        same = {n: x[0] for n, x in rows.items() if (x == x[:1]).all()}
        super().__init__(trajectory.model.with_parameters(same) if same else trajectory.model, trajectory.gravity)
        self.trajectory, self.ground = trajectory, trajectory.ground
        self.placed = {n: x for n, x in rows.items() if n not in same and moves_shapes(n)}      # where instances are made otherwise
        # numbers in which rollouts differ that look alike
        self.varied = [n for n in rows if n not in same and not moves_shapes(n)]
        self._robots: dict[tuple[Any, ...], Robot] = {}
        self._state: tuple[float, tuple[Array, Array]] | None = None
        self._now: dict[int, tuple[float, Trajectory]] = {}
        self._rollouts: dict[int, Trajectory] = {}
        self._paths: dict[tuple[Any, ...], tuple[Array, Array]] = {}
        if not len(trajectory):
            raise ViewerError(f"the trajectory of '{self.model.name}' holds no states; expected at least one")
        bad: Any = ~np.isfinite(trajectory.q).all(axis=-1)
        if lead and bad.any() and not bad[..., 0].any():
            self.trajectory, bad = held(trajectory, bad), np.zeros(1, bool)
        if bad.any():
            t = trajectory.t[int(np.argwhere(bad)[0][-1])]
            raise ViewerError(f"the trajectory of '{self.model.name}' is not finite from t = {t:g} s; expected numbers, as before")

    def links(self, q: Array, first: int = 0) -> Array:
        if not self.placed:
            return super().links(q)
        ahead = (len(q), *[1] * (q.ndim - 2))
        if (first, ahead) not in self._robots:                                 # asked for in every picture
            own = {n: x[first : first + len(q)].reshape(*ahead, *x.shape[1:]) for n, x in self.placed.items()}
            self._robots[first, ahead] = compile(self.model, self.gravity, [*own]).at(own)
        return self._robots[first, ahead].forward_kinematics(q)

    @property
    def events(self) -> tuple[Crossing, ...]:
        return self.trajectory.events

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        return self.trajectory.names

    @property
    def span(self) -> tuple[float, float]:
        return float(self.trajectory.t[0]), float(self.trajectory.t[-1])

    @property
    def instances(self) -> int:
        return int(np.prod(self.trajectory.q.shape[:-2]))

    def rollout(self, instance: int) -> Trajectory:
        """Return the trajectory of an instance."""
        if instance not in self._rollouts:
            batch = self.trajectory.q.shape[:-2]
            self._rollouts[instance] = self.trajectory.rollout(np.unravel_index(instance, batch)) if batch else self.trajectory
        return self._rollouts[instance]

    def state(self, t: float) -> tuple[Array, Array]:
        if self._state is None or self._state[0] != t:                         # asked for several times in a picture
            whole = self.trajectory
            now = whole if len(whole) == 1 else whole.at([min(max(t, self.span[0]), self.span[1])])
            if not np.isfinite(now.q).all():
                self._check_rates()
            n, nq, nv = self.instances, self.model.nq, self.model.nv
            self._state = t, (now.q[..., -1, :].reshape(n, nq), now.v[..., -1, :].reshape(n, nv))
        return self._state[1]

    def driven(self, t: float, most: int) -> States:
        q, v = (x[:most] for x in self.state(t))
        k = int(np.clip(np.searchsorted(self.trajectory.t, t, side="right") - 1, 0, max(len(self.trajectory) - 2, 0)))
        near = self.trajectory[k : k + 2]
        w = float(np.clip((t - near.t[0]) / max(near.t[-1] - near.t[0], 1e-300), 0.0, 1.0))

        def between(x: Array) -> Array:
            x = x.reshape(len(q), len(near), *x.shape[1:])
            return (1.0 - w) * x[:, 0] + w * x[:, -1]

        both = gathered(near, most)
        assert both.tau is not None
        return States(q, v, between(both.tau), {n: between(x) for n, x in both.signals.items()})

    def now(self, t: float, instance: int) -> Trajectory:
        if instance not in self._now or self._now[instance][0] != t:           # asked for several times in a picture
            one = self.rollout(instance)
            if len(one) > 1:
                k = min(max(int(np.searchsorted(one.t, t, side="right")) - 1, 0), len(one) - 2)
                one = one[k : k + 2].at([min(max(t, one.t[0]), one.t[-1])])
            self._now[instance] = t, one
        return self._now[instance][1]

    def path(self, link: int, point: Array, since: float, most: int) -> tuple[Array, Array]:
        """Return the path over the whole motion, remembered."""
        key = (link, *point, most)
        if key not in self._paths:
            whole = self.trajectory
            count = int(min(RATE * (whole.t[-1] - whole.t[0]) + 2.0, POINTS))
            times = np.linspace(whole.t[0], whole.t[-1], count)
            found = []
            for k in range(min(self.instances, most)):
                one = self.rollout(k)
                q = one.at(np.clip(times, one.t[0], one.t[-1])).q if len(one) > 1 else np.repeat(one.q, count, axis=0)
                found.append(self.links(q[None], k)[0, :, link, :3] @ point)
            self._paths[key] = times, np.array(found)
        return self._paths[key]

    def configurations(self, times: Array) -> Array:
        """Return configurations (instances, T, nq) at times (T), s.

        Raises
        ------
        ViewerError : the trajectory holds rates that are not finite
        """
        self._check_rates()
        whole = self.trajectory
        q = np.repeat(whole.q, len(times), axis=-2) if len(whole) == 1 else whole.at(np.clip(times, *self.span)).q
        return q.reshape(-1, len(times), self.model.nq)

    def _check_rates(self) -> None:
        """Raise where the trajectory has rates that lead nowhere between its states."""
        for name in ("v", "vdot"):
            wrong = ~np.isfinite(getattr(self.trajectory, name)).all(axis=-1)
            if wrong.any():
                k = int(np.argwhere(wrong)[:, -1].min())
                raise ViewerError(f"the trajectory of '{self.model.name}' holds {name} that are not finite, first at t = "
                                  f"{self.trajectory.t[k]:g} s (state {k}); expected finite numbers, such as trajectory[:{k}]")  # fmt: skip


class Running(Source):
    """A simulation that runs: its newest state, whatever time is asked for.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> with engine.simulation.Live(engine.Simulator(arm, dt=0.01), arm.neutral(), np.zeros(arm.nv), paused=True) as live:
    ...     Running(live).instances, Running(live).moves
    (1, True)
    """

    def __init__(self, live: Live) -> None:
        super().__init__(live.model, live.gravity)
        self.live, self.ground = live, live.ground

    @property
    def span(self) -> tuple[float, float]:
        """The time now, twice, s."""
        return float(self.live.state.t), float(self.live.state.t)

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        return self.live.simulator.plant.names

    def state(self, t: float) -> tuple[Array, Array]:
        now = self.live.state
        return now.q[None], now.v[None]

    def driven(self, t: float, most: int) -> States:
        now = self.live.state
        return States(now.q[None], now.v[None], now.tau[None], {n: np.asarray(x)[None] for n, x in now.signals.items()})

    def now(self, t: float, instance: int) -> Trajectory:
        return self.live.now

    def path(self, link: int, point: Array, since: float, most: int) -> tuple[Array, Array]:
        past = self.live.history
        past = past[past.t >= since]
        return past.t, (self.robot.forward_kinematics(past.q)[:, link, :3] @ point)[None]


def source_of(thing: Any, q: Any = None) -> Source:
    """Return the source that a model (in configurations q), a trajectory or a live simulation is; a source is one already.

    Raises
    ------
    ViewerError : it is none of these
    """
    if isinstance(thing, Source):
        return thing
    if isinstance(thing, Model):
        return Still(thing, q)
    if isinstance(thing, Trajectory):
        return Played(thing)
    if isinstance(thing, Live):
        return Running(thing)
    if isinstance(thing, Simulator):
        raise ViewerError(f"cannot show the Simulator of '{thing.model.name}' here; expected engine.Live(simulator, q0, v0), which runs it")
    raise ViewerError(f"cannot show a {type(thing).__name__}; expected a model, a trajectory, a live simulation, or a list of them")


def held(motion: Trajectory, bad: Array) -> Trajectory:
    """Return a batch whose rollouts stand still where their states (..., T) are bad, as they were last; a warning says so."""
    last = np.maximum.accumulate(np.where(bad, 0, np.arange(bad.shape[-1])), axis=-1)
    which = np.flatnonzero(bad.any(axis=-1).reshape(-1))
    first = float(motion.t[int(np.argwhere(bad)[:, -1].min())])
    numbers = ", ".join(map(str, which[:5])) + (", …" if len(which) > 5 else "")
    warn(f"{len(which)} of {bad[..., 0].size} rollouts of '{motion.model.name}' stopped being finite ({numbers}; the first at t = "
         f"{first:g} s): from there on they are drawn as they were last", ViewerWarning)  # fmt: skip

    def still(x: Array) -> Array:
        return np.where(bad[..., None], 0.0, x)

    return replace(motion, q=np.take_along_axis(motion.q, last[..., None], axis=-2), v=still(motion.v), tau=still(motion.tau),
                   vdot=still(motion.vdot))  # fmt: skip


def gathered(motion: Trajectory, most: int) -> States:
    """Return the states of the first rollouts, ``most`` of them, one after another."""
    lead = motion.q.ndim - 2

    def flat(x: Array) -> Array:
        rollouts = x.reshape(math.prod(x.shape[:lead]), *x.shape[lead:])[:most]        # without −1: nothing may be in a row
        return rollouts.reshape(rollouts.shape[0] * rollouts.shape[1], *rollouts.shape[2:])

    return States(flat(motion.q), flat(motion.v), flat(motion.tau), {n: flat(x) for n, x in motion.signals.items()})
