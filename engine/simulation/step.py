"""One step of a plant by a method, and what is observed of it: the two functions that a run repeats."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine import ops
from engine.compiler.debug import say
from engine.compiler.graph.program import COUNTED, Program
from engine.compiler.gufunc import shaped
from engine.compiler.trace_cache import Foreign, kept, kept_under, key_of
from engine.compiler.transforms.trace import TraceError, calling, trace
from engine.components.component import Context, Felt, SimulationError
from engine.components.law import Ticking
from engine.components.layout import Layout
from engine.contact.limited_forces import ForceLimits
from engine.contact.many import RowLaws
from engine.integrate import Mechanical, Method, carrying, completed, conserving, keeping, noted_step, settled
from engine.integrate import step as one_step
from engine.integrate.event import crossings
from engine.model.combine import WORLD
from engine.simulation.after_flight import AfterFlight, picklable_copy, without_acting
from engine.simulation.allowances import Depths, depths_of, speed_limits
from engine.simulation.contact_table import ContactTable, Touching, table_of
from engine.simulation.effort_limits import EffortLimits
from engine.simulation.events import Watch, stop_times
from engine.simulation.form import Form
from engine.simulation.halving import HalvedFlight
from engine.simulation.independent_trees import IndependentTrees, Kind
from engine.simulation.innovations import Known
from engine.simulation.many_contacts import ManyContacts
from engine.simulation.meeting_trees import MeetingTrees
from engine.simulation.mounts import mounts_of
from engine.simulation.own_states import STUCK
from engine.simulation.plant import STRUCK, Plant
from engine.simulation.python_controllers import with_python
from engine.simulation.rounding import found as unusual
from engine.simulation.run_loop import Process, times
from engine.simulation.run_start import WholeStates
from engine.simulation.run_warnings import RunWarnings
from engine.simulation.sampled_columns import held_of
from engine.simulation.stiffness import Slopes
from engine.simulation.surroundings import fingerprint
from engine.simulation.trajectory import Trajectory

Array = np.ndarray
Value = TypeVar("Value")


class Step(WholeStates):
    """Steps a plant: memories at the beginning of the step, the method, the momentum's projection, and where an event stops it.

    Parameters
    ----------
    dt : the step, s, of which errors on floats speak
    compiled : whether the functions are traced
    kinds : of trees that nothing joins, which are steps of their own: see :mod:`engine.simulation.independent_trees`
    meeting : contacts of those trees, as tables: see :mod:`engine.simulation.meeting_trees`
    parts : whether the parts of its programs are functions of their own, for a profile

    Attributes
    ----------
    layout : of the whole state x: q, v, the components' states and memories, and the events' memory
    functions : a fingerprint of what runs as plain Python: a law with python=True and the actions of events, or all functions uncompiled
    """

    def __init__(self, plant: Plant, method: Method, watch: Watch, dt: float, compiled: bool, kinds: Sequence[Kind] = (),
                 parts: bool = False, meeting: ManyContacts | None = None) -> None:  # fmt: skip
        self.plant, self.method, self.watch, self.dt, self.compiled = plant, method, watch, dt, compiled
        self.kinds, self.parts, self.meeting = kinds, parts, meeting
        model, states, memories = plant.model, plant.states.n, plant.memories.n
        self.layout = Layout({"q": (model.nq,), "v": (model.nv,), "state": (states,), "memory": (memories,), "events": (watch.memory.n,)})
        self.moving = slice(0, model.nq + model.nv + states)                   # of x: what the method steps
        self.places = slice(0, model.nq + model.nv)                            # of x: q and v
        self.impulsive, self.limits, self.halved = AfterFlight(plant), EffortLimits(plant), HalvedFlight(self)
        if compiled and plant.stiffness is not None:
            plant.stiffness.compile()
        all_plain = (plant.acting, watch.events, plant.parameters.shapes, len(plant.conserved))
        python = [] if plant.controller is None or not plant.controller.called.law.python else [plant.controller.called.law.fn]
        self.functions = fingerprint(*([*(e.action for e in watch.events), *python] if compiled else all_plain))

    # ------------------------------------------------------------ the plant's functions: traced, each is one in the machine code

    def called(self, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[..., Any]:
        """Return a function of the plant on arrays of some shapes, or a call of it."""
        return calling(trace(function, shapes, parts=self.parts), function) if self.compiled else function

    def called_after(self, name: str, *shapes: tuple[int, ...]) -> Callable[..., Any]:
        """Return :meth:`called` of what comes after flight. Where functions act in flight, it is traced of a plant without anything that
        acts, and kept; where it asks for what acts, it is traced of the whole."""
        whole = getattr(self.impulsive, name)
        if not self.compiled or self.parts or self.key:
            return self.called(whole, *shapes)
        bare = without_acting(self.plant)

        def made() -> tuple[Program, list[str]]:
            if bare.stiffness is not None and self.plant.stiffness is not None:
                bare.stiffness.inertia = self.plant.stiffness.inertia          # a call of M, which is the model's
            return trace(getattr(AfterFlight(bare), name), shapes), sorted(bare.read)

        try:
            program, read = kept(f"'{name}' of '{bare.model.name}'", (name, shapes, bare, unusual()), made)
        except (AttributeError, TraceError):
            return self.called(whole, *shapes)
        self.plant.read.update(read)
        return calling(program, whole)

    @property
    def flown_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of t, q, v, the states that are flown, m and p."""
        plant, model = self.plant, self.plant.model
        return [(), (model.nq,), (model.nv,), (plant.flown,), (plant.memories.n,), (plant.given,)]

    @property
    def resisted_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of m, p, and of what of stiff forces impulses meet, if anything is stiff."""
        plant = self.plant
        return [(plant.memories.n,), (plant.given,), *([(len(plant.stiffness.entries),)] if plant.stiffness else [])]

    @functools.cached_property
    def acceleration(self) -> Callable[..., Any]:
        """:meth:`Plant.acceleration`."""
        plant = self.plant
        given = [(plant.model.nv,)] * bool(plant.lasts) + [(plant.bounds.n,)] * bool(plant.bounds.n)
        return self.called(plant.acceleration, *self.flown_shapes, *given)

    @functools.cached_property
    def beyond(self) -> Callable[..., Any]:
        """:meth:`Plant.beyond`."""
        return self.called(self.plant.beyond, *self.flown_shapes)

    @functools.cached_property
    def excess(self) -> Callable[..., Any]:
        """:meth:`Plant.excess`."""
        return self.called(self.plant.excess, *self.flown_shapes, (self.plant.bounds.n,))

    @functools.cached_property
    def kept(self) -> Callable[..., Any]:
        """:meth:`Plant.kept`."""
        plant, model = self.plant, self.plant.model
        state = (model.nq,), (model.nv,), (plant.states.n,), (plant.memories.n,), (plant.given,)
        return self.called(plant.kept, *state, (len(plant.conserved), 9))

    @functools.cached_property
    def yielding(self) -> Callable[..., Any]:
        """:meth:`AfterFlight.yielding`."""
        return self.called_after("yielding", (self.plant.model.nq,), (self.plant.model.nv,), *self.resisted_shapes)

    @functools.cached_property
    def after(self) -> Callable[..., Any]:
        """:meth:`AfterFlight.after`."""
        state, plant = [(self.plant.model.nq,), (self.plant.model.nv,)], self.plant
        limits = [(len(ForceLimits._fields), len(plant.stiffness.moving))] if plant.stiffness is not None and plant.bounds.n else []
        places, wide = plant.states.shapes.get(STUCK, (0, 7))
        stuck = (COUNTED if isinstance(plant.contacts, RowLaws) else places, wide)
        return self.called_after("after", (), *state, *state, *[(len(plant.conserved), 9)] * 2, stuck, *self.resisted_shapes, *limits)

    @functools.cached_property
    def limited(self) -> Callable[..., Any]:
        """:meth:`EffortLimits.numbers`."""
        flown = (self.plant.model.nq + self.plant.model.nv + self.plant.flown,)
        return self.called(functools.partial(self.limits.numbers, self), (), (), flown, flown, *self.flown_shapes[-2:], *self.limits.shapes)

    @functools.cached_property
    def form(self) -> Form:
        """Layout of its records and states."""
        plant = self.plant
        return Form(plant.model.name, tuple(plant.model.labels("q")), self.process.record, self.layout, plant.states, plant.memories,
                    plant.parameters, tuple(self.watch.names), None if plant.frame is None else plant.frame.known)  # fmt: skip

    @functools.cached_property
    def depths(self) -> Depths:
        """Depths and times of contact by which every run is warned."""
        return depths_of(self.plant.model, self.plant.contacts, self.watch.meeting, self.meeting.passing if self.meeting else None)

    @functools.cached_property
    def speeds(self) -> NDArray[np.float64]:
        """The limits (nv) of joints' speeds that are held."""
        joints = self.plant.impulses.joints if self.plant.impulses else None
        return speed_limits(joints.coordinates if joints else (), self.plant.model.nv)

    @functools.cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the entries of signals, by signal."""
        return self.plant.names

    @functools.cached_property
    def held(self) -> tuple[str, ...]:
        """The columns that stand still between ticks."""
        return held_of(self.plant.makers, self.plant.said, self.plant.components, self.plant.controller)

    def run_warnings(self, dt: float) -> RunWarnings:
        """Return what notes what is wrong with a run in steps of dt."""
        plant, watch = self.plant, self.watch
        free = {} if self.meeting is not None or any(callable(e.action) for e in watch.events) else plant.free
        held = {c.called.name: c.period for c in plant.acting if isinstance(c, Ticking) and c.called.law.period is not None}
        stiff = None if plant.stiffness is None else (self.method.order, plant.conserved)
        laws = {c.name: c.called.law for c in plant.makers}
        filters = {c.name: Known(own, sum(x.phase + x.delay + (x.period or dt) for x in (c.called.law, *(laws[n] for n in c.reads))))
                   for c in plant.makers if (own := getattr(c.called.law.fn, "innovations", ()))}  # fmt: skip
        return RunWarnings(plant.model, plant.limited, dt, self.depths, free, held, stiff, filters, self.speeds)

    def context(self, t: Any, y: Array, p: Array, m: Array | None = None) -> Context:
        """Return time and state as components see them, of y = (q, v, z); with memories m, what has been said as well."""
        nq, nv = self.plant.model.nq, self.plant.model.nv
        s = self.plant.context(t, y[:nq], y[nq : nq + nv], y[nq + nv :], p)
        return s if m is None else self.plant.hearing(s, m)

    def modes(self, t: Any, h: Any, y: Array, m: Array, p: Array) -> tuple[Array, ...]:
        """Return which of the stiff forces that have limits are at these during a step of h from t and y = (q, v, z)."""
        x, lasting, _ = np.split(y, np.cumsum([len(y) - self.plant.lasts - self.plant.sticks, self.plant.lasts]))
        return self.limits.met(self, t, h, x, lasting, m, p)

    def system(self, m: Array, p: Array, modes: tuple[Array, ...], even: bool = True) -> tuple[Method, Mechanical]:
        """Return what is stepped, and the method that steps it, with memories m, parameters p, and the modes of limited forces; where steps
        are not ``even``, they choose their size, and so meet what bends, and springs of friction that last from one to the next do not."""
        plant, method = self.plant, self.method
        halved = self.halved if even and plant.stiffness is not None else None

        def flight(t: Any, h: Any, x: Array, lasting: Array) -> Array:
            if halved is not None:
                return halved(t, h, x, lasting, m, p, modes)
            return self.method.advance(plant.system(self, m, p, modes, lasting if plant.lasts else None), t, h, x)

        system = plant.system(self, m, p, modes, np.zeros(plant.lasts) if plant.lasts else None)
        if plant.lasts:
            method = carrying(method, plant.lasts, flight, self.impulsive.relieving(self, m, p, modes))
        elif halved is not None:
            method = dataclasses.replace(method, advance=lambda _, t, h, x: flight(t, h, x, np.zeros(0)))
        if plant.sticks:
            method = keeping(method, plant.sticks, system)
        if held := plant.lasts + plant.sticks:
            system = Mechanical(plant.model.manifold, system.acceleration, plant.states.n, system.notes + held)
        method = method if plant.impulses is None else completed(method, self.impulsive.completion(self, m, p, modes, even))
        method = conserving(method, plant.projection(self, m, p)) if plant.conserved or plant.constraints else method
        return method, system

    def resistance(self, t: Any, h: Any, y: Array, m: Array, p: Array, modes: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return what of the stiff forces impulses meet in a step of h from t and y = (q, v, z), if anything is stiff."""
        stiffness = self.plant.stiffness
        with ops.part("stiffness", y):
            return () if stiffness is None else (stiffness.resistance(h, self.slopes(t, y, m, p, modes)),)

    def slopes(self, t: Any, y: Array, m: Array, p: Array, modes: tuple[Array, ...]) -> Slopes:
        """Return the slopes of what is stiff at t and y = (q, v, z)."""
        assert self.plant.stiffness is not None
        return self.plant.stiffness.at(t, *self.flown(y), m, p, *modes)

    def factored(self, t: Any, x: Array, s: Any, m: Array, p: Array, modes: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return what a stiff flight begins with at t and x = (q, v, z): see :meth:`Stiffness.factored`."""
        assert self.plant.stiffness is not None
        with ops.part("stiffness", x):
            return self.plant.stiffness.begun(t, *self.flown(x), m, p, *(modes or (np.zeros(0),)), s)

    def flown(self, y: Array) -> tuple[Array, Array, Array]:
        """Return q, v and the states that are flown of y = (q, v, z)."""
        nq, nv = self.plant.model.nq, self.plant.model.nv
        return y[:nq], y[nq : nq + nv], y[nq + nv : nq + nv + self.plant.flown]

    def begins(self, t: Any, dt: Any, p: Array, x: Array) -> tuple[Any, Array, Array, Array]:
        """Return t, y = (q, v, z), memories and parameters at the beginning of a step of dt at t from x: grips that close change v."""
        y, m, nq = x[self.moving], x[self.layout.slices["memory"]], self.plant.model.nq
        p = self.plant.laden(p, y[self.places.stop :])
        s = self.context(t, y, p)
        now = self.plant.update(s, m, dt, functools.partial(self.feels, t, dt, p, y, m) if self.plant.feeling.n else None)
        return t, np.concatenate([y[:nq], self.plant.struck(s, m, now), y[nq + len(s.v) :]]), now, p

    @property
    def notes(self) -> int:
        """Number of scalars noted of a step's impulses for its record."""
        return 0 if self.plant.impulses is None else self.plant.impulses.notes.n

    def step(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Array:
        """Return x after the k-th step of dt, and what is noted of its impulses."""
        self.require_one_program()
        (t, y, m, p), e = self.begins(t0 + k * dt, dt, p, x), x[self.layout.slices["events"]]
        method, system = self.system(m, p, self.modes(t, dt, y, m, p))

        def after(h: Any) -> tuple[Array, Array]:
            return noted_step(method, system, t, h, y)

        to, notes = after(dt)
        if self.watch:
            with ops.part("events", y):
                to, e, notes = self.watch.stop(after, lambda t, y: self.context(t, y, p, m), t, dt, y, to, e, notes)
        return np.concatenate([to, self.plant.remembering(m, notes), e, notes])

    def observe(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        """Return a record: the time, x, and what the components say, by name; beside x are the notes of the step that begins there."""
        self.require_one_program()
        x, notes = x[: self.layout.n], x[self.layout.n :]
        t, y, m, p = self.begins(t0 + k * dt, dt, p, x)
        s = self.context(t, y, p)
        vdot, rubbed, push, forces = self.accelerated(s, dt, p, y, m, notes)
        return {"t": t, "x": x, **self.plant.observed(s, m, vdot, rubbed, push, forces)}

    def accelerated(self, s: Context, dt: Any, p: Array, y: Array, m: Array, notes: Array) -> tuple[Array, Any, Any, list[Array]]:
        """Return v̇ (nv) with what is noted of the impulses of a step of dt, what is recorded of them, what pushes besides at constraints,
        and their forces."""
        given = *((self.impulsive.recorded_force(s),) if self.plant.lasts else ()), *self.limits.at_an_instant
        flight, _, *forces = self.acceleration(s.t, s.q, s.v, self.flown(y)[2], m, p, *given)
        return *self.impulsive.resisted(self, s, dt, m, flight, notes, p), forces

    def feels(self, t: Any, dt: Any, p: Array, y: Array, m: Array) -> Felt:
        """Return what is felt at t and y = (q, v, z), of what memories m hold of the step of dt before."""
        s, struck = self.context(t, y, p), self.plant.memories.slices.get(STRUCK)
        vdot, _, push, forces = self.accelerated(s, dt, p, y, m, np.zeros(self.notes) if struck is None else m[struck])
        held: Any = 0.0
        if self.plant.constraints is not None and "loads" in self.plant.feeling.shapes:
            exact, memories = self.plant.constraints, self.plant.memories.split(m)
            held = exact.loops.wrenches(s.q, exact.forces(s, forces[0], push, memories)[0], memories)
        return self.plant.feels(s, m, vdot, held)

    def points(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> Any:
        """Return the points (p, 13 or 16) of contact that push in the k-th step of dt from x."""
        t, y, m, p = self.begins(t0 + k * dt, dt, p, x)
        modes = self.modes(t, dt, y, m, p)
        method, system = self.system(m, p, modes)
        flown = settled(method, system, one_step(method, system, t, dt, y))
        return self.impulsive.points(self, t, dt, y, flown, m, p, modes)

    def require_one_program(self) -> None:
        """Refuse what is asked of the step as one function of the whole state, where bodies meet by tables, as it knows no contacts."""
        if self.meeting is not None:
            raise SimulationError(f"the step of '{self.plant.model.name}', whose bodies meet by tables, is no program of its state, as "
                                  "derivatives and adaptive runs want it: linearize and solve have it of a hundred pairs at most; "
                                  "expected fewer bodies, or Contacts with pairs=[...] of what matters")  # fmt: skip

    @functools.cached_property
    def process(self) -> Process:
        """The step and the observation as what a run repeats."""
        model = self.plant.model
        example = self.plant.parameters.join(self.plant.values), self.begun(model.neutral(), np.zeros(model.nv))
        whole = Process(self.step, self.observe, self.compiled, example, self.over, self._where, self.away, self.notes)
        if self.meeting is not None:
            return MeetingTrees(whole, self.layout, self.plant, self.kinds, self.meeting)
        return IndependentTrees(whole, self.layout, self.plant, self.kinds) if self.kinds else with_python(whole, self.plant, self.layout)

    @property
    def programs(self) -> dict[str, Program]:
        """The compiled programs, by name."""
        if not self.compiled:
            raise SimulationError(f"the simulator of '{self.plant.model.name}' has no programs; expected one without compiled=False")
        each = {f" of {kind.trees.first.name}": kind.step.process for kind in self.kinds} or {"": self.process}
        return {f"{what}{of}": program for of, own in each.items() for what, program in zip(("step", "observe"), own.programs, strict=True)}

    def trace(self) -> None:
        """Trace the programs now, or find those of a step of the same plant."""
        if not self.compiled or self.kinds or self.meeting is not None:
            return

        def made() -> tuple[tuple[Program, Program], list[str]]:
            return self.process.traced(self.parts), sorted(self.plant.read)

        programs, read = self.own("the step", made)
        self.plant.read.update(read)
        self.process.know(programs)

    def own(self, what: str, make: Callable[[], Value]) -> Value:
        """Return what is made of the plant, or was of the same one, in which nothing is called that is not the engine's."""
        title = f"{what} of '{self.plant.model.name}'"
        return kept_under(title, f"{self.key}|{what}", make) if self.key else make()

    @functools.cached_property
    def key(self) -> str:
        """Key of the step's programs before they are traced; "" where functions are called, which may look at the world."""
        name = self.plant.model.name
        if self.parts or bool(self.watch) or any(isinstance(c, Ticking) for c in self.plant.acting):
            say(f"the step of '{name}': traced, as it calls functions, which may look at files, globals and clocks")
            return ""
        try:
            return key_of((picklable_copy(self.plant), self.method, self.watch, self.dt, unusual()))
        except Foreign as error:
            say(f"the step of '{name}': traced, as {error}")
            return ""

    @functools.cached_property
    def plain(self) -> Step:
        """The step on floats."""
        return Step(self.plant, self.method, self.watch, self.dt, compiled=False)

    def _where(self, x: Array) -> str:
        """Return the q and v of a state x (n), in words."""
        return "".join(f", {n} = {np.array2string(self.layout.split(x)[n], precision=6, threshold=20)}" for n in ("q", "v"))

    # ------------------------------------------------------------ whole states and records

    def trajectory(self, records: Array, p: Array) -> Trajectory:
        """Return records (..., T, m) of a run with parameters p as a trajectory."""
        plant, watch, columns = self.plant, self.watch, self.columns(records)
        q, v, tau, vdot = (columns.pop(n) for n in ("q", "v", "tau", "vdot"))
        t, run_warnings = times(records), self.run_warnings(self.dt)
        run_warnings.add(t, {"q": q, "v": v, "vdot": vdot, **columns})
        found = Trajectory(plant.model, plant.gravity, t, q, v, tau, vdot, columns, parameters=plant.parameters.split(p),
                           warnings=run_warnings.texts, names=self.names, ground=self.meeting.ground if self.meeting else plant.ground,
                           touching=self.touching(records, p), sensors=mounts_of(plant.makers), held=self.held)  # fmt: skip
        if not watch:
            return found
        memory = self.watched(records[..., 1 : 1 + self.process.n])
        if records.ndim > 2:
            return dataclasses.replace(found, stopped=stop_times(memory)[..., -1])
        return dataclasses.replace(found, events=crossings(watch.names, memory["zeros"], found.t, q, v))

    def touching(self, records: Array, p: Array) -> Touching | None:
        """Return what finds the points of contact of records (..., T, m), where there may be some."""
        if not self.touches_by_rows and self.plant.contacts is None:
            return None
        t, x, batch = times(records), records[..., 1 : 1 + self.process.n], records.shape[:-2]
        many = math.prod(batch)
        rows, own = x.reshape(many, *x.shape[-2:]), np.broadcast_to(p, (*batch, p.shape[-1])).reshape(many, p.shape[-1])

        def find(k: int, of: NDArray[np.int_]) -> ContactTable:
            return table_of(self.touching_at(t[of], rows[k][of], own[k]), self.touching_links)

        return Touching(find, np.arange(many).reshape(batch), np.arange(len(t)))

    @property
    def touches_by_rows(self) -> bool:
        """True if contacts are rows of tables."""
        return isinstance(self.process, MeetingTrees) or isinstance(self.plant.contacts, RowLaws)

    @property
    def touching_links(self) -> list[str]:
        """The names that the points of contacts have numbers of."""
        if isinstance(self.process, MeetingTrees):
            return [s.link for s in self.process.contacts.placed]
        return [*(link.name for link in self.plant.model.links), WORLD]

    def touching_at(self, t: Array, x: Array, p: Array) -> list[Array]:
        """Return the points of contact (n, 13 or 16) in the steps that begin at times (T) in states x (T, n)."""
        if isinstance(self.process, MeetingTrees):
            return self.process.points_of(t, x, p, self.dt)
        return [self.points_of(float(at), 0.0, self.dt, p, row) for at, row in zip(t, x, strict=True)]

    @functools.cached_property
    def points_of(self) -> Callable[..., Array]:
        """:meth:`points`."""
        wide = 16 if self.plant.contacts and self.plant.contacts.turns else 13
        return shaped(self.points, f"(),(),(),({self.plant.parameters.n}),({self.process.n})->(c,{wide})") if self.compiled else self.points

    def columns(self, records: Array) -> dict[str, Array]:
        """Return what records (..., T, m) hold besides the time, by name (..., T, *shape)."""
        return self.form.columns(records)
