"""``Stepper``: a simulator's step as functions of a state vector and a parameter vector, for code that runs its own loop."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import ops
from engine.checks import Range, warn
from engine.compiler import Program, trace
from engine.components.component import Component, Context, SimulationError, SimulationWarning
from engine.components.law import Ticking, asks_noise
from engine.components.layout import Layout
from engine.contact import ContactError
from engine.simulation.meeting_trees import MeetingTrees
from engine.simulation.overlaps import Overlaps
from engine.simulation.own_states import OWN, sticking_places
from engine.simulation.parameters import possible
from engine.simulation.plant import Plant
from engine.simulation.python_controllers import PythonControllerRun
from engine.simulation.run_file import header
from engine.simulation.run_warnings import require_within
from engine.simulation.step import Step
from engine.simulation.surroundings import Kept
from engine.simulation.trajectory import Trajectory
from engine.simulation.variable_mass import beginning, beginning_by, initial_states

Array = np.ndarray


class Fields(NamedTuple):
    """A state x (..., n) by its parts: configuration, velocity, states and memories of the components, and the events' memory."""

    q: Array
    v: Array
    state: Array
    memory: Array
    events: Array


class Stepper:
    """Several steps of a simulator in one call: campaigns, environments, exported code and controllers step by it.

    Attributes
    ----------
    dt : the simulator's step, s
    layout : of a state x: the names of :class:`Fields`
    parameters : layout of the parameters p
    asked : whether a controller in plain Python is asked between steps, which :meth:`step` does not do
    signals : names of the sensors' and laws' signals
    meeting : whether free bodies meet by tables, which step as no batch does, and have no derivatives

    >>> import engine
    >>> stepper = engine.Simulator(engine.load(engine.example("seven_joint_arm")), dt=0.01).stepper
    >>> p, x = stepper.begin(np.zeros(7), np.zeros(7))
    >>> stepper.state(stepper.advance(p, x, steps=10)).v.shape
    (7,)
    """

    def __init__(self, step: Step, values_of: Callable[[Mapping[str, Any]], dict[str, Array]], kept: Kept,
                 overlaps: Overlaps | None) -> None:  # fmt: skip
        self._step, self._values_of, self._kept, self._overlaps = step, values_of, kept, overlaps
        self.dt, self.layout, self.parameters = step.dt, step.layout, step.plant.parameters
        self.meeting = isinstance(step.process, MeetingTrees)
        self.asked, self.signals = isinstance(step.process, PythonControllerRun), tuple(c.name for c in step.plant.makers)

    @property
    def record(self) -> Layout:
        """The layout of a record."""
        return self._step.process.record

    @property
    def programs(self) -> tuple[Program, Program]:
        """The step as a run repeats it, of (t0, k, dt, p, x), which ends with the notes of its impulses, and a record, of the same with the
        notes of the step from there behind x. Where bodies meet by tables there are no such notes."""
        process = self._step.process
        return process.whole_programs if isinstance(process, MeetingTrees) else process.programs

    @functools.cached_property
    def program(self) -> Program:
        """:meth:`step`, traced: of (t0, k, dt, p, x); where bodies meet by tables, with what these do."""
        if not self._step.notes or isinstance(self._step.process, MeetingTrees):
            return self.programs[0]
        return trace(self.step, [(), (), (), (self.parameters.n,), (self.layout.n,)])

    def compile(self, rows: int = 1) -> None:
        """Make the machine code of a run now, and of a batch from two ``rows`` on."""
        process = self._step.process
        for batch in ((), (rows,))[: 1 + (rows > 1)]:
            process.kernel(batch)

    def require_one_program(self) -> None:
        """Refuse what wants the step as one program, where bodies meet by tables."""
        self._step.require_one_program()

    def require_unchanged(self, patience: float = 0.0) -> None:
        """Refuse to go on where something has changed that machine code has as it was; looked for again after ``patience``, s."""
        self._kept.require_unchanged(patience)

    # ------------------------------------------------------------ states

    def begin_at(self, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
        """:meth:`begin`, by default where the model's file has it, at rest."""
        model = self._step.plant.model
        try:
            return self.begin(model.initial() if q0 is None else q0, np.zeros(model.nv) if v0 is None else v0)
        except ContactError as error:
            if q0 is not None:
                raise
            raise ContactError(f"{str(error).partition(';')[0]}, where the model's file has it; expected another state: q0=…") from None

    def begin(self, q0: ArrayLike, v0: ArrayLike, parameters: Mapping[str, Any] | None = None) -> tuple[Array, Array]:
        """Return the parameters p (..., np) and the state x (..., n) in which a run begins.

        Parameters
        ----------
        q0, v0 : (..., nq) and (..., nv), rad, m and per s; put on the constraints
        parameters : values (..., *shape) by name, the simulator's own where there is none

        Raises
        ------
        SimulationError, StateError, ContactError : what :meth:`engine.Simulator.run` refuses to begin with
        """
        self.require_unchanged()
        step = self._step
        model, nominal = step.plant.model, step.plant.values
        q0, v0 = model.normalized(q0), model.checked("v0", v0, batched=True)
        given = self._values_of(parameters) if parameters else {}
        values = nominal | given
        leads = {"q0": q0.shape[:-1], "v0": v0.shape[:-1], **{f"parameter '{n}'": x.shape[: x.ndim - np.ndim(nominal[n])]
                                                              for n, x in given.items()}}  # fmt: skip
        try:
            batch = q0.shape[:-1] if len({*leads.values()}) == 1 else np.broadcast_shapes(*leads.values())
        except ValueError:
            shapes = ", ".join(f"{name} {shape}" for name, shape in leads.items() if shape)
            raise SimulationError(f"the leading dimensions of {shapes} do not broadcast; expected equal ones, or 1") from None
        if not math.prod(batch):
            raise SimulationError(f"q0 and v0 have shapes {q0.shape} and {v0.shape}, a batch without rollouts; expected one at least")
        if math.prod(batch) > 1 and "noise.run" not in given:
            warn_of_one_noise(step.plant, values, math.prod(batch))
        step.watch.require_start(q0)
        if step.plant.frame is not None:
            floating = [model.bodies[i].q for i in model.roots if model.bodies[i].kind.floats]
            step.plant.frame.begins(0.0, np.stack([q0[..., q][..., 4:] for q in floating], axis=-2) if floating else np.zeros((0, 3)))
        if step.plant.limited:
            require_within(model, q0)
        p = self.parameters.spread(values, batch)
        x = step.prepare(p, step.begun(q0, v0, batch, p))
        if self._overlaps is not None and not self._overlaps.seen_apart(step.process, p, x):
            x[..., sticking_places(self.layout, step.plant.states)] = self._overlaps.recessed(q0, p).reshape(*batch, -1)
        if isinstance(step.process, MeetingTrees):
            x = step.process.apart(p, x, step.dt)
        return p, x

    def nominal(self) -> Array:
        """Return the parameters p (np) that the simulator was made with."""
        return self.parameters.join(self._step.plant.values)

    def at(self, q: Array, v: Array, p: Array) -> Array:
        """Return the state x (n) at q and v as a run begins, with nothing checked. Traceable where nothing is constrained."""
        if not np.result_type(q, v, p).hasobject:
            return self._step.prepare(p, self._step.begun(q, v, p=p))
        plant = self._step.plant
        own = {"state": initial_states(plant, q, v, plant.initial_states(), p), "memory": plant.initial_memories(),
               "events": np.zeros(self._step.watch.memory.n)}  # fmt: skip
        return self._step.prepared(0.0, p, self.layout.join({"q": q, "v": v, **own}))

    def prepared(self, t: Any, p: Array, x: Array) -> Array:
        """Return the state x (n), on the constraints, with the momenta that its q and v have at t. Traceable."""
        return self._step.prepared(t, p, x)

    @property
    def begins(self) -> list[Component]:
        """The components whose states at the start are what q, v or parameters say."""
        return beginning(self._step.plant)

    @functools.cached_property
    def firsts(self) -> tuple[str, ...]:
        """The parameters by which components begin, and nothing after that, as "tank.fuel"."""
        return beginning_by(self._step.plant)

    def require_later(self, parameters: Iterable[str]) -> None:
        """Refuse among parameters that are set while a run goes on one that says how it begins."""
        if late := next((n for n in parameters if n in self.firsts), None):
            raise SimulationError(f"parameter '{late}' says how a run begins, and nothing after that; expected it in "
                                  "start(…, parameters=…)")  # fmt: skip

    def began(self, p: Array, x: Array) -> Array:
        """Return x (n) with the states that components have at the start, of its q and v and of parameters p. Traceable."""
        a = self.layout.split(x)
        return self.layout.join({**a, "state": initial_states(self._step.plant, a["q"], a["v"], a["state"], p)})

    def open(self, t: Any, p: Array, x: Array) -> Any:
        """Return whether constraints are open at t in a state x (n), with parameters p. Traceable."""
        plant, a = self._step.plant, self.layout.split(x)
        s = plant.context(t, a["q"], a["v"], a["state"], p)
        return plant.constraints.open(s, plant.memories.split(a["memory"])) if plant.constraints else ops.less(t, t)

    @property
    def moved(self) -> bool:
        """True if there are constraints that move as times and parameters say."""
        return bool(self._step.plant.constraints and self._step.plant.constraints.motions)

    @property
    def ranges(self) -> dict[str, Range | None]:
        """Ranges of the numbers of components' and signals' parameters, by name; None where they are not given number by number."""
        plant, given = self._step.plant, self._step.plant.values
        return {n: c.range_of(n.removeprefix(f"{c.name}."), given)
                for c in (*plant.components, *plant.makers) for n in given if n.startswith(f"{c.name}.")}  # fmt: skip

    @property
    def starts_anywhere(self) -> bool:
        """True if a run may start at any q and v: there are no constraints to close."""
        return self._step.plant.constraints is None

    @property
    def times(self) -> list[int]:
        """Indices of x that are times, s: :attr:`~engine.simulation.run_start.WholeStates.times`."""
        return self._step.times

    def possible(self, drawn: Mapping[str, Any]) -> list[Any]:
        """Return whether values (*shape) of parameters, by name, are among those that runs take, about: truths. Traceable."""
        plant = self._step.plant
        own = [(c, f"{c.name}.") for c in (*plant.components, *plant.makers)]
        found = [c.possible(n.removeprefix(of), x) for n, x in drawn.items() for c, of in own if n.startswith(of)]
        return [*found, *(possible(n, x) for n, x in drawn.items())]

    def apart(self, q: Array, p: Array) -> list[Any]:
        """Return whether no shapes lie deep in each other at q (nq): one truth, none where nothing touches. Traceable."""
        return [] if self._overlaps is None else [self._overlaps.apart(q, p)]

    def state(self, x: Array) -> Fields:
        """Return the parts (..., size) of states x (..., n), traced or not."""
        return Fields(**self.layout.split(x))

    def context(self, t: Any, p: Array, x: Array) -> Context:
        """Return a state x (n) at t, with parameters p, as components see it, and what has been said then. Traceable."""
        if not self.signals:
            return self._step.context(t, x[self._step.moving], p)
        t, y, m, p = self._step.begins(t, self.dt, p, x)
        return self._step.context(t, y, p, m)

    # ------------------------------------------------------------ motion

    def step(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Array:
        """Return x (n) after the k-th step of dt from t0: traced, or on floats of a simulator that is not compiled."""
        return self._step.step(t0, k, dt, p, x)[: self.layout.n]

    def acceleration(self, t: Any, p: Array, q: Array, v: Array) -> Array:
        """Return v̇ (nv) at an instant, where x is q and v alone; traced, or on floats of a simulator that is not compiled.

        Raises
        ------
        SimulationError : there is more than a smooth field of q and v: contacts, stops, dry friction, memories, constraints, states of
            components, a frame
        """
        plant = self._step.plant
        found = {"constraints": plant.constraints, "contacts": plant.contacts or self.meeting,
                 "stops or dry friction, by impulses": plant.impulses,
                 "events": self._step.watch, "memories, or what is held between ticks": plant.memories.n, "a frame": plant.frame,
                 "states of components": set(plant.states.shapes) - {*OWN}}  # fmt: skip
        if (more := next((what for what, there in found.items() if there), None)) is not None:
            raise SimulationError(f"the simulator of '{plant.model.name}' has {more}; expected a smooth field of q and v alone")
        return self._step.acceleration(t, q, v, np.zeros(plant.flown), np.zeros(0), p, *self._step.limits.at_an_instant)[0]

    def observe(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        """Return the record of x (n) after k steps of dt from t0, by name; traced or not as :meth:`step`."""
        return self._step.process.record_of(t0, k, dt, p, x)

    def advance(self, p: Array, x: Array, steps: int = 1, k: int = 0) -> Array:
        """Return the states x (..., n) so many steps after the first k; NaN where one runs away."""
        process = self._step.process
        with np.errstate(all="ignore"):
            found = process.kernel(x.shape[:-1])(np.array([float(steps)]), 0.0, float(k), self.dt, p, x)[..., 0, :]
        return np.where(process.good(found)[..., None], found[..., 1 : 1 + process.n], np.nan)

    def seen(self, p: Array, x: Array) -> Trajectory:
        """Return a state x (n) at t = 0 as a trajectory of one record."""
        return self._step.trajectory(self._step.process.kernel(())(np.zeros(1), 0.0, 0.0, self.dt, p, x), p)

    def header(self, duration: float, record_every: int) -> dict[str, Any]:
        """Return what the files of such a run say of how its records came about."""
        return header(self._step, self.nominal(), duration, record_every)


def warn_of_one_noise(plant: Plant, values: Mapping[str, Any], rows: int) -> None:
    """Warn of a batch whose rollouts all have the same noise, where some is drawn with these values of parameters."""
    laws = [c.name for c in plant.acting if isinstance(c, Ticking) and asks_noise(c.called.law)]
    errors = [n for c in plant.makers for n in getattr(c, "parameters", {}) if n.endswith((".noise", ".walk")) and np.any(values[n])]
    if drawn := [*laws, *errors]:
        warn(f"'{plant.model.name}': all {rows} rollouts have the same noise, of '{drawn[0]}', as they have one number; expected "
             f"parameters={{'noise.run': np.arange({rows})}} for noise of their own, or 'noise.run': 0 for this", SimulationWarning)
