"""The programs of an FMU, of a simulator or its controller alone, and the vectors they step (its states and modes: ``c/core.c``).

The state after the k-th step from t0, the outputs at its beginning, and the state at the start are::

    x⁺ = step(t0, k, dt, p, x),   y = observe(t0, k, dt, p, x),   x₀ = prepare(t0, p, begin(p, x))            (1)

with parameters p, inputs among them; ``begin`` makes the states of components, ``prepare`` momenta. Of model exchange, with the
continuous states ξ = (q, v)::

    ξ̇ = field(t, p, ξ),   y = look(t, p, ξ)                                                                   (2)

and the derivatives of (ξ̇, y, ξ) along a direction (δp, δξ), or those of its product with weights, by p and ξ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine import ops
from engine.checks import Range, listed, nearest, shown
from engine.code import ExportError
from engine.code.sources import require_exportable
from engine.compiler import Program, calling, trace
from engine.compiler.transforms.jacobians import jacobian
from engine.components.forces import units_of_forces
from engine.components.layout import Layout
from engine.components.reading import shown as shown_parts
from engine.fmu.depends import reached
from engine.model import Model
from engine.simulation import Simulator
from engine.simulation.parameter_units import Units, units_given, units_of
from engine.simulation.plant import Plant

Array = np.ndarray
#: what a program's arguments are called
STEP, MOMENT, AT = ("t0", "k", "dt", "p", "x"), ("t", "p", "x"), ("q", "p")
ARGUMENTS = {"step": STEP, "observe": STEP, "prepare": MOMENT, "begin": ("p", "x"), "open": MOMENT, "apart": AT,
             "field": MOMENT, "look": MOMENT, "push": ("t", "e", "p", "x", "dp", "dx"), "pull": ("t", "px", "w")}  # fmt: skip


@dataclass
class FmuPrograms:
    """The programs of an FMU, and the vectors that they step.

    Attributes
    ----------
    parameters, p : what lies where in the parameters, and their values; ``inputs`` are the names of those that the importer steers
    x, start : the state at first, and how many numbers it begins with may be set before: q and v, or none
    outputs : shapes of what ``observe`` returns, side by side, by name
    times : which numbers of x are times, at first that of the start
    states : where in x there is what other masses change; moving : how many numbers of x must stay modest
    exchange : the number of continuous states, 0 of co-simulation alone
    period : s, between communication points, as a proposal
    notes : how many numbers ``step`` returns behind x⁺, and ``observe`` takes behind x: those of the step from there
    state_outputs : which of q and v are outputs
    signals : which inputs are signals that a controller reads
    units : FMI's units of what components say and are commanded, by name; given : of parameters
    unread : parameters that nothing here depends on
    ranges : of components' and signals' parameters, by name: None of those that are no numbers with a range each
    fixed : parameters that say how a component begins, and nothing after that
    words : what it is
    """

    model: Model
    dt: float
    programs: dict[str, Program]
    parameters: Layout
    p: Array
    x: Array
    inputs: tuple[str, ...]
    outputs: dict[str, tuple[int, ...]]
    words: str
    times: list[int] = field(default_factory=list)
    start: int = 0
    states: slice = field(default_factory=lambda: slice(0, 0))
    moving: int = 0
    exchange: int = 0
    period: float = 0.0
    notes: int = 0
    state_outputs: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    units: dict[str, Units] = field(default_factory=dict)
    given: dict[str, Units] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    ranges: dict[str, Range | None] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()

    @property
    def quaternions(self) -> list[int]:
        """Indices in q where quaternions begin."""
        return [where.start for own, where, _ in self.model.manifold.parts if own.attitude]


def require_names(what: str, names: Any, known: Sequence[str]) -> tuple[str, ...]:
    """Return names, each once, all of them known."""
    if isinstance(names, str) or not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(n, str) for n in names):
        raise ExportError(f"{what} is {shown(names)}; expected a list of names")
    expected = listed("some of", known, f"no {what}, as there are none")
    for n in names:
        if n not in known:
            raise ExportError(f"{what} has '{n}'{nearest(n, known)}; expected {expected}")
    if len({*names}) < len(names):
        raise ExportError(f"{what} is {shown(names)}; expected each name once")
    return tuple(names)


def handed_on(plant: Plant) -> dict[str, Units]:
    """Return the units of the parameters whose every number the controller commands as it is: those of what it commands."""
    if plant.controller is None:
        return {}
    model, name = plant.model, plant.controller.name

    def told(t: Any, q: Array, v: Array, p: Array) -> dict[str, Array]:
        s = plant.in_flight(t, q, v, np.zeros(plant.flown), p)
        return dict(plant.effects(s, np.zeros(plant.memories.n))[name].commands)

    program = trace(told, [(), (model.nq,), (model.nv,), (plant.parameters.n,)], named=True)
    known = {**units_of(plant), "tau": units_of_forces(model)}
    units = [u for n, shape in zip(program.names, program.shapes_out, strict=True) for u in each(known.get(n, ""), int(np.prod(shape)))]
    said: dict[int, set[str]] = {}
    for i, unit in zip(program.outputs, units, strict=True):
        op, *args = program.nodes[i]
        op, *args = program.nodes[args[1]] if op == "select" else (op, *args)   # of what is finite
        if op == "input":
            said.setdefault(args[0] - 1 - model.nq - model.nv, set()).add(unit)
    found = {n: tuple(unit for k in range(at.start, at.stop) for unit in said.get(k, {""})) for n, at in plant.parameters.slices.items()}
    return {n: unit for n, unit in found.items() if len(unit) == plant.parameters.slices[n].stop - plant.parameters.slices[n].start}


def each(unit: Units, n: int) -> list[str]:
    """Return the units of n numbers."""
    return [unit] * n if isinstance(unit, str) else [*unit]


# ---------------------------------------------------------------- a simulator


def of_simulator(simulator: Simulator, inputs: Sequence[str], outputs: Sequence[str] | None, poses: Sequence[str], q0: Any, v0: Any,
                 exchange: bool, adjoint: bool) -> FmuPrograms:  # fmt: skip
    """Return a simulator as what an FMU steps, from q0 and v0."""
    require_exportable(simulator, ["step"])
    s = simulator
    stepper, model, dt = s.stepper, s.model, s.dt
    step, record = stepper.programs
    p, x = stepper.begin_at(q0, v0)
    if x.ndim != 1:
        raise ExportError(f"q0 and v0 are a batch {x.shape[:-1]}; expected one state of {model.nq} and {model.nv} numbers")
    known = [n for n in record.names if n not in ("t", "x")]
    usual = ["q", "v", *(["tau"] if "tau" in known else [])]                   # which free bodies have not
    names = require_names("outputs", usual if outputs is None else outputs, ["q", "v", *known])
    links = require_names("poses", poses, [link.name for link in model.links])
    told = [n for n in names if n not in ("q", "v")]
    notes = sum(int(np.prod(shape)) for shape in step.shapes_out) - stepper.layout.n

    def placed(context: Any) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for link in links:
            T = context.pose(link)
            found |= {f"pose.{link}.position": T[:3, 3], f"pose.{link}.rotation": T[:3, :3]}
        return found

    def observe(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        found = dict(zip(record.names, calling(record)(t0, k, dt, p, x), strict=True)) if told else {}
        chosen = {n: found[n] for n in told}
        return chosen | placed(stepper.context(t0 + k * dt, p, x[: stepper.layout.n]))

    programs = {"step": step}
    if told or links:
        programs["observe"] = trace(observe, [(), (), (), p.shape, (len(x) + notes,)], named=True)
    free, moment = stepper.starts_anywhere, [(), p.shape, x.shape]
    if s.conserved:
        programs["prepare"] = trace(stepper.prepared, moment)
    if stepper.begins:
        programs["begin"] = trace(stepper.began, moment[1:])
    if stepper.moved:
        programs["open"] = trace(lambda t, p, x: np.array([ops.where(stepper.open(t, p, x), 1.0, 0.0)]), moment)
    if free and stepper.apart(model.initial(), p):
        programs["apart"] = trace(lambda q, p: np.array([ops.where(stepper.apart(q, p)[0], 1.0, 0.0)]), [(model.nq,), p.shape])
    if exchange:
        programs |= of_exchange(s, told, placed, p, x, adjoint)
    seen = programs.get("observe")
    n = model.nq + model.nv
    return FmuPrograms(
        model, dt, programs, stepper.parameters, p, x, require_names("inputs", inputs, [*stepper.parameters.shapes]),
        dict(zip(seen.names, seen.shapes_out, strict=True)) if seen else {}, repr(simulator), stepper.times, n if free else 0,
        stepper.layout.slices["state"], n, n * exchange, dt, notes, tuple(m for m in ("q", "v") if exchange or m in names),
        units=units_of(s.plant), given=handed_on(s.plant) | units_given(s.plant), ranges=stepper.ranges,
        fixed=stepper.firsts)  # fmt: skip


def reads(mask: int, where: slice) -> bool:
    """Return whether a mask has bits of these numbers."""
    return bool(mask >> where.start & ((1 << where.stop - where.start) - 1))


def of_exchange(s: Simulator, own: Sequence[str], placed: Callable[[Any], dict[str, Array]], p: Array, x: Array,
                adjoint: bool) -> dict[str, Program]:  # fmt: skip
    """Return the programs of model exchange: |q| stays what it is, as q̇ is that of the unit quaternion."""
    model, stepper, dt = s.model, s.stepper, s.dt
    nq, n, np_ = model.nq, model.nq + model.nv, len(p)

    def unit(xi: Array) -> Array:
        return np.concatenate([model.manifold.normalized(xi[:nq]), xi[nq:], x[n:]])

    def rates(t: Any, p: Array, xi: Array) -> Array:
        q, v = unit(xi)[:nq], xi[nq:]
        return np.concatenate([model.manifold.rate(q, v), stepper.acceleration(t, p, q, v)])

    def look(t: Any, p: Array, xi: Array) -> Array:
        whole = unit(xi)
        found = stepper.observe(t, 0.0, dt, p, whole) if own else {}
        seen = {n: found[n] for n in own} | placed(stepper.context(t, p, whole))
        return np.concatenate([np.zeros(0), *(np.ravel(y) for y in seen.values())])

    def both(t: Any, p: Array, xi: Array) -> Array:
        return np.concatenate([rates(t, p, xi), look(t, p, xi), xi])

    found = {"field": trace(rates, [(), (np_,), (n,)])}
    seen = trace(look, [(), (np_,), (n,)])
    if seen.outputs:                                                           # else q and v are all
        found["look"] = seen
    size = 2 * n + len(seen.outputs)
    along = trace(lambda t, e, p, xi, dp, dxi: both(t, p + e * dp, xi + e * dxi), [(), (), (np_,), (n,), (np_,), (n,)])
    found["push"] = jacobian(along, 1)
    if adjoint:
        found["pull"] = jacobian(trace(lambda t, px, w: w @ both(t, px[:np_], px[np_:]), [(), (np_ + n,), (size,)]), 1)
    return found


# ---------------------------------------------------------------- a controller alone


def of_controller(simulator: Simulator, inputs: Sequence[str], outputs: Sequence[str] | None) -> FmuPrograms:
    """Return a simulator's controller as what an FMU steps: q, v and the signals of sensors and other laws that it reads are inputs, its
    commands are outputs; it remembers what it does in a run."""
    require_exportable(simulator, ["controller"])
    plant, model, dt, stepper = simulator.plant, simulator.model, simulator.dt, simulator.stepper
    c = plant.controller
    assert c is not None
    if c.state.size:
        raise ExportError(f"{c.called.name} has a continuous state, which the plant's method integrates; expected a memory, or the whole "
                          "simulator")  # fmt: skip
    outside = {n: shown_parts(plant.said[n]) for n in c.called.reads}
    signals = Layout({f"{n}.{part}" if part else n: shape for n, parts in outside.items() for part, shape in parts.items()})
    given = Layout({**stepper.parameters.shapes, "q": (model.nq,), "v": (model.nv,), **signals.shapes})
    at = given.slices
    p = np.concatenate([stepper.nominal(), model.initial(), np.zeros(model.nv + signals.n)])

    def asked(t: Any, p: Array, memory: Array, z: Array) -> tuple[Array, Mapping[str, Any]]:
        s, heard = plant.context(t, p[at["q"]], p[at["v"]], z, p[: at["q"].start]), signals.split(p[at["v"].stop :])
        s.signals |= {n: {part: heard[f"{n}.{part}" if part else n] for part in parts} for n, parts in outside.items()}
        after = c.update(s, c.state, memory, None, dt)
        return after, c.act(s, c.state, after, None).commands

    def told(t0: Any, k: Any, dt: Any, p: Array, x: Array, z: Array) -> dict[str, Any]:
        return {**asked(t0 + k * dt, p, x, z)[1]}

    shapes, memory = [(), (), (), (given.n,)], c.memory
    whole = trace(told, [*shapes, memory.shape, (plant.states.n,)], named=True)
    first = 3 + given.n + memory.size
    if any(node[0] == "input" and node[1] >= first for node in whole.nodes):
        raise ExportError(f"{c.called.name} asks for states of components, which a controller alone has not; expected one of t, q, v and "
                          "signals")  # fmt: skip
    names = require_names("outputs", whole.names if outputs is None else outputs, whole.names)
    z = np.zeros(plant.states.n)

    def observe(t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        found = told(t0, k, dt, p, x, z)
        return {n: found[n] for n in names}

    programs = {"observe": trace(observe, [*shapes, memory.shape], named=True)}
    if memory.size:
        programs["step"] = trace(lambda t0, k, dt, p, x: asked(t0 + k * dt, p, x, z)[0], [*shapes, memory.shape])
    seen = programs["observe"]
    words = f"controller {c.called.name} of '{model.name}', asked at every {c.period!r} s"
    shapes_out = dict(zip(seen.names, seen.shapes_out, strict=True))
    read = functools.reduce(int.__or__, (mask >> 3 for program in programs.values() for mask in reached(program)), 0)
    unread = tuple(n for n in stepper.parameters.shapes if not reads(read, at[n]))
    steered = require_names("inputs", inputs, [*stepper.parameters.shapes])
    return FmuPrograms(model, dt, programs, given, p, memory, (*steered, "q", "v", *signals.shapes), shapes_out, words,
                       [*c.times] if memory.size else [], period=c.period, signals=(*signals.shapes,), units=units_of(plant),
                       given=handed_on(plant) | units_given(plant), unread=unread, ranges=stepper.ranges)  # fmt: skip
