"""``Live``: a simulator that runs in real time in a thread of its own, and can be steered and pulled at."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import dynamics, ops
from engine.checks import number, numbers
from engine.components.component import Component, Context, Effect, SimulationError
from engine.components.layout import Layout
from engine.model import Model
from engine.simulation.checks import checked_count
from engine.simulation.mounts import mounts_of
from engine.simulation.simulator import Simulator
from engine.simulation.state import State
from engine.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
#: seconds of wall time from one state that is handed over to the next
TICK = 1 / 120
#: the longest that one turn computes, s; what the machine is behind by more than that is skipped
LATE = 1 / 30
#: over how many seconds of wall time the rate is measured
WINDOW = 0.5
#: states of the recent trace: a minute of ticks
KEPT = 7200
#: of a pull, rad/s: the point and its effective mass are brought to the target like a critically damped oscillator of 2 Hz
BANDWIDTH = 4.0 * np.pi


class Trace:
    """The last states of a simulation, in bounded memory.

    Parameters
    ----------
    simulator : whose they are
    kept : how many, at most

    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
    >>> simulator = engine.Simulator(builder.model(), dt=0.1)
    >>> trace, state = engine.simulation.Trace(simulator, kept=2), simulator.start([0.0], [0.0])
    >>> for _ in range(3):
    ...     trace.append(state)
    ...     state = simulator.step(state)
    >>> len(trace), trace.trajectory().t.round(6)  # s: the first of three is gone
    (2, array([0.1, 0.2]))
    """

    def __init__(self, simulator: Simulator, kept: int = KEPT) -> None:
        self.model, self.gravity, self.ground = simulator.plant.model, simulator.gravity, simulator.plant.ground
        self.sensors, self.held = mounts_of(simulator.plant.makers), simulator._step.held
        self._rows: deque[Array] = deque(maxlen=checked_count(kept))
        self._columns = Layout({})
        self.appended = 0                                        # in all, those that are no longer kept too

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, state: State) -> None:
        """Add the state of a single rollout, later than all before it."""
        columns: dict[str, Any] = {"t": state.t, "q": state.q, "v": state.v, "tau": state.tau, "vdot": state.vdot, **state.signals}
        if not self._rows:
            self._columns = Layout({name: np.shape(x) for name, x in columns.items()})
        self._rows.append(self._columns.join(columns))
        self.appended += 1

    def trajectory(self, parameters: Mapping[str, Array] | None = None, last: int | None = None) -> Trajectory:
        """Return the kept records, as they are now, or the last so many of them; with the masses and the gravity among the parameters."""
        rows = self._rows.copy() if last is None else list(self._rows)[-last:]
        columns = self._columns.split(np.array(rows))
        t, q, v, tau, vdot = (columns.pop(name) for name in ("t", "q", "v", "tau", "vdot"))
        return Trajectory(self.model, self.gravity, t, q, v, tau, vdot, columns, parameters=dict(parameters or {}), ground=self.ground,
                          sensors=self.sensors, held=self.held)


class Pull(Component):
    """A spring and damper from a point fixed on a link to a point in the world: f = k (x_target − x) − d ẋ.

    All of it is parameters, so that it can take hold, move and let go without compiling anew: ``pull.link`` (nlinks), one for the link that
    is pulled and otherwise zero; ``pull.point`` (3) in the link's frame and ``pull.target`` (3) in the world, m; ``pull.stiffness``, N/m;
    ``pull.damping``, N·s/m.
    """

    name = "pull"
    units = types.MappingProxyType({"point": "m", "target": "m", "stiffness": "N/m", "damping": "N.s/m"})

    @staticmethod
    def released(model: Model) -> dict[str, Array]:
        """Parameters that pull nothing."""
        return {"pull.link": np.zeros(len(model.links)), "pull.point": np.zeros(3), "pull.target": np.zeros(3),
                "pull.stiffness": np.zeros(()), "pull.damping": np.zeros(())}  # fmt: skip

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        names = ("link", "point", "target", "stiffness", "damping")
        chosen, point, target, k, d = (s.parameters[f"pull.{n}"] for n in names)
        moving = [i for i, (body, _) in enumerate(s.model.carrier) if body >= 0]
        T: Any = sum(chosen[i] * s.poses[i] for i in moving)
        V: Any = sum(chosen[i] * s.twists[i] for i in moving)
        R, p = T[:3, :3], T[:3, 3]
        x = p + R @ point
        xdot = V[3:] + ops.cross(V[:3], point)  # in the link's axes
        f = R.T @ (k * (target - x)) - d * xdot
        F = np.concatenate([ops.cross(point, f), f])
        return Effect(wrenches={s.model.links[i].name: chosen[i] * F for i in moving})


class Live:
    """A simulator that runs in a thread of its own, ``speed`` times as fast as time passes.

    It is asked for states and told what to do from any other thread; nothing of this makes it wait, and it makes nobody wait. What it is
    told holds from the next tick on; a parameter by which a component begins, as "tank.fuel", from the next reset on. A machine that is
    too slow skips time: :attr:`rate` says how fast it goes. Event functions stop the motion where they stop a run. A turn that fails is
    taken again, step by step, to the last state before; a law in plain Python is asked again in it.

    >>> import engine
    >>> stone = engine.Builder("stone")
    >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    >>> simulator = Simulator(stone.model(floating_base=True))
    >>> with Live(simulator, [1.0, 0, 0, 0, 0, 0, 0], np.zeros(6)) as live:
    ...     live.pull("stone", point=(0, 0, 0), target=(0, 0, 1))

    Parameters
    ----------
    simulator : of single rollouts; it is compiled once more, with the force that pulls
    q0 (nq), v0 (nv) : the state at first, and after a reset
    speed : simulated seconds in a second, above zero; may be set
    parameters : values by name; those of the Simulator by default
    paused : whether it stands still at first

    Attributes
    ----------
    state : the newest :class:`State`
    history : the last minute, at most, as a :class:`Trajectory`; trace : its states, another :class:`Trace` after a reset
    parameters : values by name, as they were set last
    paused : whether it stands still
    rate : simulated seconds in a second of wall time, lately
    error : what ended it, in words, or None; a reset begins again
    """

    def __init__(self, simulator: Simulator, q0: Any, v0: Any, speed: float = 1.0, parameters: Any = None, paused: bool = False) -> None:
        if not isinstance(simulator, Simulator):
            raise SimulationError(f"Live got a {type(simulator).__name__}; expected a Simulator")
        for event in simulator.watch.events:
            if callable(event.action):
                raise SimulationError(f"the event function {event.name} has a callback, which only run(…) calls; expected one without")
        self.simulator = simulator.with_force(Pull(), Pull.released(simulator.model))
        self.model, self.gravity, self.ground = simulator.model, simulator.gravity, simulator.plant.ground
        self.speed = speed
        self._q0, self._v0 = self.model.checked("q0", q0), self.model.checked("v0", v0)
        self.parameters = {**self.simulator.parameters, **{n: self._checked(n, x) for n, x in (parameters or {}).items()}}
        self.state, self.trace = self._begun(self.parameters)
        self.paused, self.rate = paused, 0.0
        self.error: str | None = None
        self._held: tuple[str, tuple[float, ...]] | None = None
        self._grip = 0.0, 0.0
        self._launch()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        how = f"ended: {self.error}" if self.error else "paused" if self.paused else f"at {self.rate:.3g} of real time"
        return f"<live '{self.model.name}' at t = {self.state.t:g} s, {how}>"

    # ------------------------------------------------------------ what it is told

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = number("speed", speed, "simulated seconds in a second, above zero", above=0.0, error=SimulationError)

    @property
    def history(self) -> Trajectory:
        return self.trace.trajectory(self.parameters)

    @property
    def now(self) -> Trajectory:
        """The newest state, as a trajectory of one state."""
        return self.trace.trajectory(self.parameters, last=1)

    @property
    def closed(self) -> bool:
        """True if its thread was ended, by :meth:`close`."""
        return self._closing

    def pause(self) -> None:
        """Stand still, after the turn in hand."""
        self.paused = True
        self._tell(lambda: None)

    def resume(self) -> None:
        """Go on."""
        self.paused = False
        self._tell(lambda: None)

    def step(self, steps: int = 1) -> None:
        """Stand still, but for so many steps of the simulator."""
        self.paused = True
        self._tell(functools.partial(self._advance, checked_count(steps)))

    def reset(self) -> None:
        """Begin again from q0, v0 with the parameters as they are; nothing is pulled any more, and no error is left."""
        self.release()
        self._tell(functools.partial(self._restart, self.parameters))
        if not self._thread.is_alive():
            self._restart(self.parameters)
            self._launch()

    def set(self, name: str, value: Any) -> None:
        """Give a parameter another value, from the next tick on, or where a component begins by it from the next :meth:`reset` on.

        Raises
        ------
        SimulationError : there is no such parameter, the value is not of its shape or out of its range, or it is closed
        """
        if self.closed:
            raise SimulationError(f"parameter '{name}' is set after close(); expected a simulation that runs")
        self._set({name: self._checked(name, value)})

    def pull(self, link: str, point: Any, target: Any) -> None:
        """Pull a point of a link to a point in the world, firmly and without overshoot, until :meth:`release`.

        Parameters
        ----------
        point : in the link's frame, m (3); target : in the world, m (3)

        Raises
        ------
        ModelError : there is no such link
        SimulationError : it cannot move, or a point is no three numbers
        """
        where, to = self._checked("pull.point", point), self._checked("pull.target", target)
        chosen = np.zeros(len(self.model.links))
        chosen[self.model.link_index(link)] = 1.0
        if self._held != (link, (*where,)):  # as long as it holds, the spring is the same
            m = dynamics.effective_mass(self.simulator.plant.model, self.state.q, link, where)
            if not np.isfinite(m):
                raise SimulationError(f"link '{link}' does not move; expected one that can be pulled")
            w = min(BANDWIDTH, 0.1 / self.simulator.dt)
            self._held, self._grip = (link, (*where,)), (m * w * w, 2.0 * m * w)
        k, d = self._grip
        self._set({"pull.link": chosen, "pull.point": where, "pull.target": to, "pull.stiffness": np.array(k), "pull.damping": np.array(d)})

    def release(self) -> None:
        """Pull no more."""
        self._held = None
        self._set(Pull.released(self.model))

    def close(self) -> None:
        """End the thread; state and history stay."""
        self._closing = True
        self._tell(lambda: None)
        self._thread.join()

    # ------------------------------------------------------------ the thread

    def _checked(self, name: str, value: Any) -> Array:
        a = numbers(f"parameter '{name}'", value, SimulationError)
        self.simulator.values_of({name: a})
        if a.shape != (shape := np.shape(self.simulator.parameters[name])):
            raise SimulationError(f"parameter '{name}' has shape {a.shape}; expected {shape}")
        return a

    def _set(self, values: dict[str, Array]) -> None:
        self.parameters = {**self.parameters, **values}
        later = {n: x for n, x in values.items() if n not in self.simulator.stepper.firsts}
        self._tell(functools.partial(self._new.update, later))

    def _tell(self, order: Callable[[], Any]) -> None:
        if self.error is None:  # otherwise nobody listens
            self._orders.put(order)

    def _begun(self, parameters: Mapping[str, Array]) -> tuple[State, Trace]:
        state, trace = self.simulator.start(self._q0, self._v0, parameters), Trace(self.simulator)
        trace.append(state)
        return state, trace

    def _launch(self) -> None:
        self._orders: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self._new: dict[str, Array] = {}
        self._closing = False
        self._marks: deque[tuple[float, float]] = deque()
        self._thread = threading.Thread(target=self._run, name=f"live {self.model.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        dt, before, owed, cost = self.simulator.dt, time.perf_counter(), 0.0, 0.0
        try:
            while not self._closing:
                self._obey(before + TICK)
                now = time.perf_counter()
                elapsed, before = now - before, now
                if self.paused:
                    owed = self.rate = 0.0
                    self._marks.clear()
                    continue
                owed = min(owed + elapsed * self.speed, dt + LATE * self.speed)
                steps = min(int(owed / dt), max(1, int(LATE / cost)) if cost else 1)
                if steps:
                    self._advance(steps)
                    took = (time.perf_counter() - now) / steps
                    cost = took if not cost else 0.9 * cost + 0.1 * took
                owed -= steps * dt
                self._measure(now)
        except Exception as error:  # whatever a function of the user's raises: it is told, not thrown where nobody catches it
            self.error, self.rate = str(error) or type(error).__name__, 0.0

    def _obey(self, until: float) -> None:
        """Follow orders as they come until a time, or one of them where it stands still."""
        while not self._closing:
            left = None if self.paused else max(until - time.perf_counter(), 0.0)
            try:
                self._orders.get(timeout=left)()
            except Empty:
                return
            if self.paused:
                return

    def _advance(self, steps: int) -> None:
        new, before = dict(self._new), self.state
        try:
            self.state = self._stepped(steps, new)
        except SimulationError:
            with contextlib.suppress(SimulationError):           # again one by one, to the last state before
                for _ in range(steps - 1):
                    self.state = self._stepped(1, new)
            raise
        finally:
            if self.state is not before:
                self._new.clear()
                self.trace.append(self.state)

    def _stepped(self, steps: int, new: Mapping[str, Array]) -> State:
        """Return the state so many steps later, with what follows from it, which the trace takes."""
        state = self.simulator.step(self.state, steps, new)
        state.signals  # noqa: B018                              (made now: what is not finite ends the motion here)
        return state

    def _restart(self, parameters: Mapping[str, Array]) -> None:
        self.state, self.trace = self._begun(parameters)
        self.error = None
        self._new.clear()
        self._marks.clear()

    def _measure(self, now: float) -> None:
        """The rate, over the last turns."""
        self._marks.append((now, self.state.t))
        while now - self._marks[0][0] > WINDOW:
            self._marks.popleft()
        first, t = self._marks[0]
        if now > first:
            self.rate = (self.state.t - t) / (now - first)
