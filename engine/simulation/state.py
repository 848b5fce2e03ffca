"""``State``: a simulation at one time, to go on from: t, q and v may be changed, what follows from them is read-only."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import shown
from engine.components.component import SimulationError
from engine.model import Model
from engine.simulation.columns import Signals
from engine.simulation.diagnosis import ended
from engine.simulation.events import memory_of, stop_times
from engine.simulation.form import Form
from engine.simulation.origins import at_time, carried_over
from engine.simulation.run_loop import Diverged
from engine.simulation.step import Step

Array = NDArray[np.float64]


class Origin:
    """Source of a state: time t (s) and the whole state x (..., n) with parameters (..., p), so many steps of dt (s) after
    the time ``begun``; ``form`` is the layout of its record. Where it has none yet, ``by``, the step that led there, makes one when it is
    asked for."""

    def __init__(self, form: Form, t: float, x: Array, parameters: Array, begun: float, steps: int, dt: float,
                 record: Array | None = None, by: Step | None = None) -> None:  # fmt: skip
        self.form, self.t, self.x, self.parameters, self.begun, self.steps, self.dt = form, t, x, parameters, begun, steps, dt
        self.by, self._record = by, record

    def __reduce__(self) -> Any:
        return Origin, (self.form, self.t, self.x, self.parameters, self.begun, self.steps, self.dt, self.record)

    @property
    def record(self) -> Array:
        """The record (..., m)."""
        if self._record is None:
            assert self.by is not None
            self._record = advanced(self.by, np.zeros(1), self.begun, self.steps, self.parameters, self.x)
        return self._record

    def counted(self, dt: float) -> tuple[float, int]:
        """Return the time from which steps of dt are counted, and how many have been taken since."""
        return (self.begun, self.steps) if dt == self.dt else (self.t, 0)


def advanced(step: Step, count: Array, begun: float, done: int, p: Array, x: Array) -> Array:
    """Return the record (..., m) after one ``count`` of steps, as :meth:`~engine.simulation.run_loop.Process.advance` takes it, so many
    steps after the time ``begun``; SimulationError where a single rollout is not finite any more."""
    try:
        return step.process.advance(count, begun, float(done), step.dt, p, x)[..., 0, :]
    except Diverged as stop:
        raise SimulationError(ended(step, stop)) from None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class State:
    """A robot at one time of a simulation, or a batch of them: what :meth:`Simulator.step` goes on from.

    t, q and v may be replaced (``dataclasses.replace``), q and v written into: a state is what it shows, and what follows is of that,
    though not of a state that was copied or pickled, nor where plain Python acts (SimulationError), before the next step. A rollout of a
    batch that failed begins anew where it is given q and v again, its wheels and controllers as they are at first. It is numbers: pickled
    or copied, it is gone on with by any simulator of the same robot, with components, parameters and events of the same names. Where all
    that acts is machine code, what follows from a state is computed when it is asked for first, with the parameters of its own step.

    Where t is replaced, laws tick and samples arrive as much later, or earlier.

    Attributes
    ----------
    t : s; q (..., nq); v (..., nv)
    stopped (...) : time at which an event stopped it, s, else infinite; failed (...) : whether it is not finite
    vdot (..., nv), tau (..., nv), signals (by name) : what follows, as in a :class:`Trajectory`; read-only. SimulationError where some of
        it is not finite

    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
    >>> state = engine.Simulator(builder.model(), dt=0.1).start([0.0], [2.0])
    >>> state.t, state.v, state.vdot.round(6)  # s, m/s, m/s²
    (0.0, array([2.]), array([-9.81]))
    """

    t: float
    q: Array
    v: Array
    origin: Origin

    @classmethod
    def after(cls, step: Step, count: int, begun: float, done: int, p: Array, x: Array) -> State:
        """Return the state so many steps after x (..., n), which is ``done`` steps after the time ``begun``."""
        later = count > 0 and step.process.seen_later
        record, done = advanced(step, np.array((-float(count) if later else float(count),)), begun, done, p, x), done + count
        nq, end, n = step.plant.model.nq, step.places.stop, step.layout.n
        x, t = record[..., 1 : 1 + n], begun + done * step.dt if later else record.item(0)
        q, v = x[..., :nq].copy(), x[..., nq:end].copy()
        return cls(t, q, v, Origin(step.form, t, x, p, begun, done, step.dt, None if later else record, step))

    @functools.cached_property
    def _found(self) -> dict[tuple[Any, ...], dict[str, Array]]:
        """Quantities that follow from the state, by name, for what it showed when they were asked for."""
        return {}

    @property
    def _shown(self) -> dict[str, Array]:
        """Quantities that follow from what the state shows, by name."""
        now = self.t, np.asarray(self.q).tobytes(), np.asarray(self.v).tobytes()
        if now not in self._found:
            columns = self.origin.form.columns(self.origin.record.copy() if self._unchanged else self._looked_at())
            for column in columns.values():
                if isinstance(column, np.ndarray):
                    column.flags.writeable = False
            self._found.clear()
            self._found[now] = columns
        return self._found[now]

    @property
    def _unchanged(self) -> bool:
        """True if t, q and v are those that it was made with."""
        origin, at = self.origin, self.origin.form.whole.slices
        own = ((np.asarray(y).tobytes(), origin.x[..., at[n]].tobytes()) for n, y in (("q", self.q), ("v", self.v)))
        return self.t == origin.t and all(y == found for y, found in own)

    def _looked_at(self) -> Array:
        """Return the record (..., m) of a state that was changed."""
        by, p = self.origin.by, self.origin.parameters
        if by is None or not by.process.seen_later:
            why = "it was copied or pickled before" if by is None else "what acts is plain Python, which is asked once at each time"
            raise SimulationError(f"t, q or v of the state at t = {self.t:g} s were changed, and what follows from them is not known, as "
                                  f"{why}; expected a step from it, or start(q, v)")  # fmt: skip
        x, begun, steps = self.resumed(by)
        return advanced(by, np.zeros(1), begun, steps, p, x).copy()

    @property
    def vdot(self) -> Array:
        """Accelerations (..., nv).

        >>> import engine
        >>> builder = engine.Builder()  # a stone of 1 kg that falls along z
        >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
        >>> engine.Simulator(builder.model(), dt=0.1).start([0.0], [0.0]).vdot.round(6)  # m/s²
        array([-9.81])
        """
        return self._shown["vdot"]

    @property
    def tau(self) -> Array:
        """The controller's and motors' forces (..., nv).

        >>> import numpy as np
        >>> import engine
        >>> builder = engine.Builder()  # a stone of 1 kg that falls along z
        >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
        >>> hover = lambda t, q, v: np.array([9.81])
        >>> engine.Simulator(builder.model(), dt=0.1, controller=hover).start([0.0], [0.0]).tau  # N
        array([9.81])
        """
        return self._shown["tau"]

    @property
    def signals(self) -> dict[str, Array]:
        """Signals of the components, by name.

        >>> import engine
        >>> builder = engine.Builder()  # a stone of 1 kg that falls along z
        >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
        >>> spring = engine.simulation.forces.JointSpring("fall", stiffness=8.0)
        >>> state = engine.Simulator(builder.model(), dt=0.1, forces=[spring]).start([0.5], [0.0])
        >>> {name: float(x) for name, x in state.signals.items() if "energy" in name}  # J: k x²/2
        {'spring of fall.energy': 1.0}
        """
        return Signals({n: x for n, x in self._shown.items() if n not in ("q", "v", "vdot", "tau")})

    @property
    def failed(self) -> NDArray[np.bool_]:
        """True if the state is not finite; of a batch, for each rollout (...).

        >>> import engine
        >>> builder = engine.Builder()  # a stone of 1 kg that falls along z
        >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
        >>> bool(engine.Simulator(builder.model(), dt=0.1).start([0.0], [0.0]).failed)
        False
        """
        found: Any = ~np.isfinite(self.q).all(axis=-1)
        return found

    @property
    def stopped(self) -> Array:
        """Time at which an event stopped it, s; infinite, which is true, where none did; of a batch, for each rollout (...). From there on
        q, v and what the components have stay as they are, while t goes on, until they are changed.

        >>> import engine
        >>> builder = engine.Builder()  # a stone of 1 kg that falls along z, from 2 m
        >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
        >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
        >>> simulator = engine.Simulator(builder.model(), dt=0.01, events=[lambda t, q, v: q[0]])
        >>> state = simulator.step(simulator.start([2.0], [0.0]), 100)
        >>> round(float(state.stopped), 6), round(state.t, 6)  # s: sqrt(2 · 2 / 9.81)
        (0.638551, 1.0)
        """
        form = self.origin.form
        x, at = self.origin.x, form.whole.slices
        if not form.events:
            return np.full(x.shape[:-1], np.inf)
        changed = differ(np.asarray(self.q), x[..., at["q"]]) | differ(np.asarray(self.v), x[..., at["v"]])
        changed = changed | (self.t != self.origin.t)
        return np.where(changed, np.inf, stop_times(memory_of(len(form.events)).split(x[..., at["events"]])))

    def __repr__(self) -> str:
        return f"<state at t = {self.t:g} s: q {self.q.shape}, v {self.v.shape}>"

    def resumed(self, by: Step) -> tuple[Array, float, int]:
        """Return the whole state x (..., n) from which a simulator's step goes on, the time and the number of steps it is counted from."""
        origin = self.origin
        form, x, p, (begun, steps) = origin.form, origin.x, origin.parameters, origin.counted(by.dt)
        if not isinstance(self.t, (float, int, np.floating, np.integer)) or not np.isfinite(self.t):
            raise SimulationError(f"the state's time is {self.t!r}; expected a finite number, s")
        if (form is by.form and x.ndim == 1 and self.t == origin.t             # nearly always: nothing has been written into
                and np.asarray(self.q).tobytes() + np.asarray(self.v).tobytes() == x[by.places].tobytes()):  # fmt: skip
            return x, begun, steps
        model, at, moved = by.plant.model, by.layout.slices, self.t != origin.t
        if form is not by.form and not form.fits(by.form):
            raise SimulationError(f"the state is of a simulator of {form}; expected one of {by.form}, as start gives it")
        x = x.copy()
        z = at["state"]
        if form.frame != by.form.frame:
            x[..., z] = carried_over(by.plant, x[..., z], form, origin.record)
        if form.events != by.form.events:                                      # others have seen nothing yet
            x = by.prepare(p, np.concatenate([x[..., : at["events"].start], np.zeros((*x.shape[:-1], by.watch.memory.n))], axis=-1), self.t)
        if self._unchanged:
            return x, begun, steps
        q, v = (shaped(model, n, y, x[..., at[n]].shape) for n, y in (("q", self.q), ("v", self.v)))
        rows = differ(q, x[..., at["q"]]) | differ(v, x[..., at["v"]])
        alive: Any = np.isfinite(x).all(axis=-1)
        rows = rows | (moved & alive)
        if not rows.any():
            return x, begun, steps
        q, v = model.normalized(q[rows]), model.checked("v", v[rows], batched=True)
        kept, x = np.concatenate([q, v, x[rows][:, at["v"].stop :]], axis=-1), x.copy()
        afresh = by.begun(q, v, (len(q),), p[rows])
        for states, since in ((kept, origin.t), (afresh, 0.0)):                # as if all of it had begun so much later
            states[:, by.times] += self.t - since
            if moved or states is afresh:
                states[:, z] = at_time(by.plant, states[:, z], np.full(len(q), self.t))
        x[rows] = by.prepare(p[rows], np.where(alive[rows][:, None], kept, afresh), float(self.t))
        return (x, float(self.t), 0) if moved else (x, begun, steps)


def differ(a: Array, b: Array) -> NDArray[np.bool_]:
    """Return in which rows (...) arrays (..., n) differ; NaN is as good as NaN."""
    found: Any = ~((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=-1)
    return found


def shaped(model: Model, name: str, y: Array, shape: tuple[int, ...]) -> Array:
    """Return q or v of a state as an array of floats of its shape."""
    a = np.asarray(y)
    if a.shape == shape and a.dtype == float:
        return a
    try:
        return np.broadcast_to(model.checked(name, a, batched=True), shape)
    except ValueError as error:
        if isinstance(error, SimulationError) or "broadcast" not in str(error):
            raise
        raise SimulationError(f"the state's {name} has shape {a.shape}; expected {shape}") from None


def require_state(state: Any) -> State:
    """Return a state, which must be one.

    >>> require_state(([0.0], [0.0]))
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: the state is ([0.0], [0.0]); expected a State, as start(q0, v0) and step(state) give it
    """
    if not isinstance(state, State):
        raise SimulationError(f"the state is {shown(state)}; expected a State, as start(q0, v0) and step(state) give it")
    return state
