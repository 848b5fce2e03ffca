"""Programs that can be exported as code: compiled functions, and a simulator's step or controller."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import one_of, shown
from engine.code.exported import Exported, Value, require_name, results_of
from engine.code.functions import ExportError
from engine.code.memory import with_tables
from engine.compiled.parametrized import Parametrized
from engine.compiled.robot_function import ARGUMENTS, RobotFunction
from engine.compiler.graph.program import Program, is_table
from engine.compiler.gufunc import Gufunc
from engine.compiler.transforms.trace import trace
from engine.components.effect import observes
from engine.components.layout import Layout
from engine.components.makers import Maker
from engine.components.reading import shown as shown_parts
from engine.model import Model
from engine.simulation import CompiledSystem, Simulator
from engine.simulation.compiled_system import SystemFunction

PARTS = ("step", "controller", "loop")
#: those that are the whole
STEPS = {"step", "loop"}
#: points of contact of each shape, for which there is room as a rule
POINTS = 32
#: numbers of rows in samples
ROWS = (0, 1, 7, 8, 9, 20)
#: arguments of a control system's functions
OF_SYSTEMS = {"x": "state", "x0": "state", "u": "controls", "t": "time, s", "dt": "step, s", "delta": "error of a state"}


def exported(f: Any, name: str, part: str | Sequence[str] | None, q0: Any = None, v0: Any = None) -> Exported:
    """Return what is written of a function, or of a part of a simulator, which begins at q0, v0, under a name of C's."""
    name = require_name(name)
    if isinstance(f, Simulator):
        return of_simulator(f, name, parts_of(f, part), q0, v0)
    if q0 is not None or v0 is not None:
        raise ExportError(f"q0 and v0 are given beside {shown(f)}; expected them of a Simulator only")
    if part is not None:
        raise ExportError(f"part is {shown(part)} of {shown(f)}; expected one of a Simulator only")
    if isinstance(f, CompiledSystem):
        f = f.discrete_dynamics
    values = f.values if isinstance(f, Parametrized) else {}
    f = f.make(False) if isinstance(f, Parametrized) else f
    if not isinstance(f, Gufunc):
        what = f"the function {f.__name__}, which is not traced" if callable(f) and hasattr(f, "__name__") else shown(f)
        raise ExportError(f"export_code got {what}; expected a compiled function (engine.gufunc makes one), or a Simulator")
    return of_function(f, name, values)


# ---------------------------------------------------------------- functions


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a docstring before its sections, each as one line."""
    whole = re.split(r"\n\s*(?:Parameters|Leading dimensions|Notes|Examples|Raises)\b", text or "")[0]
    return [" ".join(part.split()) for part in whole.split("\n\n") if part.strip()]


def of_function(f: Gufunc, name: str, values: Mapping[str, Any]) -> Exported:
    """Export a compiled function; of a robot with parameters, their values are defaults."""
    model = f.model if isinstance(f, RobotFunction) else None
    texts = ARGUMENTS if model else OF_SYSTEMS if isinstance(f, SystemFunction) else {}
    given = [Value(n, s, re.sub(r" ?\(\.\.\.(, [\w −]+)*\)", "", texts.get(n, "")), coordinates(model, n, s)) if texts else Value(n, s)
             for n, s in zip(f.arguments, f.program.shapes_in, strict=True)]  # fmt: skip

    def draw(rng: np.random.Generator) -> list[Any]:
        q = model.random(rng)[0] if model else None
        x = f.state.random(rng) if isinstance(f, SystemFunction) else None
        known = {"q": q, "x": x, "x0": x, "t": 0.5, "dt": 0.01} if model or x is not None else {}
        known |= {n: y for n, y in values.items() if np.shape(y) == f.program.shapes_in[f.arguments.index(n)]}
        return [rng.standard_normal(s) if known.get(n) is None else known[n] for n, s in zip(f.arguments, shapes(f, rng), strict=True)]

    of = f" of '{model.name}'" if model else ""
    doc = paragraphs(f.__doc__) if f.__doc__ != Gufunc.__doc__ and "__doc__" in vars(f) else []
    return Exported(f.program, name, given, results_of(f.program), f.strict, [f"{f.name}{of}", *doc], draw)


def shapes(f: Gufunc, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """The shapes of a function's arguments, of tables with a number of rows at random: the same where the signature says so."""
    names = [text.split(",")[0].strip() for text in re.findall(r"\(([^()]*)\)", f.signature.split("->")[0])]
    tables = [n for n, s in zip(names, f.program.shapes_in, strict=True) if is_table(s)]
    rows = {n: int(rng.choice(ROWS)) for n in dict.fromkeys(tables)}
    return [(rows[n], *s[1:]) if is_table(s) else s for n, s in zip(names, f.program.shapes_in, strict=True)]


def coordinates(model: Model | None, name: str, shape: tuple[int, ...]) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """The parts of an argument that is a configuration, or has an entry for each velocity."""
    if model is None or shape not in ((model.nq,), (model.nv,)) or name not in ("q", "v", "vdot", "tau"):
        return ()
    return ((0, "", model.labels("q" if name == "q" else "v")),)


# ---------------------------------------------------------------- simulators


def parts_of(simulator: Simulator, part: str | Sequence[str] | None) -> list[str]:
    """The names of what is written of a simulator."""
    names = ["step"] if part is None else [part] if isinstance(part, str) else [*part]
    known = [*PARTS, *simulator.stepper.signals]
    found = [one_of("part", n, known, ExportError) for n in names]
    if not found or (not STEPS.isdisjoint(found) and len(found) > 1):
        raise ExportError(f"part is {shown(part)}; expected 'step' or 'loop' alone, or one or more of "
                          f"{', '.join(n for n in known if n not in STEPS)}")  # fmt: skip
    return found


def of_simulator(simulator: Simulator, name: str, part: list[str], q0: Any, v0: Any) -> Exported:
    """Export a step of a simulator, or its controller and laws at the beginning of one."""
    require_exportable(simulator, part)
    if not STEPS.isdisjoint(part):
        return step_of(simulator, name, q0, v0)
    if q0 is not None or v0 is not None:
        raise ExportError(f"q0 and v0 are given beside part={shown(part)}; expected them of the step, or the loop")
    return chain_of(simulator, name, part)


def require_exportable(simulator: Simulator, part: Sequence[str]) -> None:
    """Refuse a simulator whose step, or laws, are no code: plain Python, no controller, events."""
    plant = simulator.plant
    if not simulator.compiled:
        raise ExportError(f"{simulator!r} runs as plain Python (compiled=False); expected one that is compiled")
    if plant.controller is not None and plant.controller.called.law.python:
        raise ExportError(f"the controller {plant.controller.called.name} runs as plain Python; expected one that is compiled")
    if "controller" in part and plant.controller is None:
        raise ExportError(f"the simulator of '{simulator.model.name}' has no controller; expected Simulator(…, controller=…)")
    if not STEPS.isdisjoint(part) and simulator.watch:
        raise ExportError(f"the simulator of '{simulator.model.name}' has events, which interrupt runs from outside; expected one without")
    simulator.stepper.require_unchanged()


def parts_of_layout(layout: Layout, begin: int = 0) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """Return the parts of a vector, by their layout."""
    return tuple((begin + where.start, n, ()) for n, where in layout.slices.items() if where.stop > where.start)


def parameters_of(simulator: Simulator) -> Value:
    """The parameters of a simulation."""
    return Value("p", (simulator.plant.parameters.n,), "parameters of the simulation", parts_of_layout(simulator.plant.parameters))


def step_of(simulator: Simulator, name: str, q0: Any, v0: Any) -> Exported:
    """Export a step: the state after it, from that before."""
    plant, stepper, model = simulator.plant, simulator.stepper, simulator.model
    at, p, x0 = stepper.layout.slices, stepper.nominal(), first_of(simulator, q0, v0)
    state = [(at[n].start, n, model.labels(n)) for n in ("q", "v")]
    state += [*parts_of_layout(plant.states, at["state"].start), *parts_of_layout(plant.memories, at["memory"].start)]
    given = [Value("t0", (), bound=0.0), Value("k", (), f"number of the step, from 0: it begins at k {simulator.dt!r} s"),
             Value("dt", (), bound=simulator.dt), parameters_of(simulator),
             Value("x", (stepper.layout.n,), "state before the step: q in rad and m, v in rad/s and m/s, angular before linear, of a base "
                   "its quaternion first, scalar first; and what the simulation keeps", tuple(state))]  # fmt: skip
    summary = [f"step of {simulator!r}", f"x is the whole state; that of any q and v at first is simulator.start(q, v).origin.x, "
               f"and that {'at rest' if q0 is None and v0 is None else 'of q0 and v0'} is {name.upper()}_INITIAL_X, from which the "
               f"first samples of {name}_test.c go on; the others go on from another."]  # fmt: skip
    if p.size:
        summary.append("Nothing here checks the ranges of p; Simulator.run refuses what is out of them.")
    if asked := stepper.begins:
        own = ", ".join(c.name for c in asked)
        summary.append(f"States of {own} in x are at first those of q, v and p; after another p take simulator.start(q, v, parameters).")
    stays = with_tables(stepper.program) or plant.constraints is not None      # rows want room, and loops are closed

    def draw(rng: np.random.Generator) -> list[Any]:
        q, v = model.random(rng)
        return [0.0, float(rng.integers(0, 1000)), simulator.dt, p, stepper.at(x0[at["q"]] if stays else q, v, p)]

    def again(x: Any, y: Any) -> list[Any]:
        return [*x[:1], x[1] + 1.0, *x[2:4], y[0]]

    return Exported(stepper.program, name, given, [Value("x_next", (stepper.layout.n,), "state after it")], False, summary, draw,
                    [0.0, 0.0, simulator.dt, p, x0], again, {"x": x0, **({"p": p} if p.size else {})}, rows_of(model))  # fmt: skip


def first_of(simulator: Simulator, q0: Any, v0: Any) -> np.ndarray:
    """The state at q0 and v0, by default that of the model's file, at rest. Of bodies that meet by tables none that lie in each other, for
    which there would have to be memory."""
    stepper, model = simulator.stepper, simulator.model
    if q0 is None and v0 is None and not stepper.meeting:
        return stepper.at(model.initial(), np.zeros(model.nv), stepper.nominal())
    _, x = stepper.begin_at(q0, v0)
    if x.ndim != 1:
        raise ExportError(f"q0 and v0 are a batch {x.shape[:-1]}; expected one state of {model.nq} and {model.nv} numbers")
    return x


def rows_of(model: Model) -> int:
    """Return an upper bound, as a rule, of the rows of a step's tables: the model's points of contact."""
    return POINTS * sum(len(link.collisions) for link in model.links)


def chain_of(simulator: Simulator, name: str, names: Sequence[str]) -> Exported:
    """Return some of a simulator's laws, sensors and controller, at the beginning of a step, as one function: their commands, signals and
    memories, by the signals of components outside the chain. Arguments that none of them reads are left out."""
    plant, model, dt = simulator.plant, simulator.model, simulator.dt
    chain: list[Any] = [c for c in plant.acting if c.name in names]
    outside = {n: shown_parts(plant.said[n]) for c in chain for n in c.called.reads if n not in names}
    if feels := [c.name for c in chain if c.feels or observes(c)]:
        raise ExportError(f"'{feels[0]}' measures accelerations or forces, which the whole step makes; expected part='step', or parts that "
                          "are given its signal")  # fmt: skip
    signals = Layout({f"{n}.{part}" if part else n: shape for n, parts in outside.items() for part, shape in parts.items()})
    held = Layout({c.name: c.memory.shape for c in chain if c.memory.size})

    def chained(t: Any, q: Any, v: Any, p: Any, states: Any, memory: Any, *given: Any) -> dict[str, Any]:
        s, own = plant.context(t, q, v, states, p), held.split(memory)
        known = iter(given)
        outer = {n: {part: next(known) for part in parts} for n, parts in outside.items()}
        plant.hear(s, own, chain)
        s.signals |= outer
        found: dict[str, Any] = {}
        for c in chain:
            state = s.states.get(c.name, c.state)
            own[c.name] = c.update(s, state, own.get(c.name, c.memory), None, dt)
            effect = c.act(s, state, own[c.name], None)
            found |= c.recorded(s.signals[c.name]) if isinstance(c, Maker) else effect.commands
            found |= {"rate" if len(chain) == 1 else f"rate of {c.name}": effect.rate} if c.state.size else {}
        return found | ({"held_next": held.join(own)} if held.n else {})

    shapes = [(), (model.nq,), (model.nv,), (plant.parameters.n,), (plant.states.n,), (held.n,), *signals.shapes.values()]
    program = trace(chained, shapes, named=True)
    where = parts_of_layout(chain[0].held) if len(chain) == 1 and held.n else parts_of_layout(held)
    own = [Value("t", (), "time, s"), Value("q", (model.nq,), ARGUMENTS["q"].replace(" (..., nq)", ""), ((0, "", model.labels("q")),)),
           Value("v", (model.nv,), ARGUMENTS["v"].replace(" (..., nv)", ""), ((0, "", model.labels("v")),)), parameters_of(simulator),
           Value("states", (plant.states.n,), "states of the components", parts_of_layout(plant.states)),
           Value("held", (held.n,), "what it remembers, and what holds until it is asked again", where)]  # fmt: skip
    always = {"t", "held"} if any(c.called.named for c in chain) else {"t", "q", "v", "held"}        # a function of t, q, v has these
    own = [v if v.name in always or reads(program, own, k) else dataclasses.replace(v, bound=0.0) for k, v in enumerate(own)]
    given = [*own, *(Value(n, shape, f"what '{n.partition('.')[0]}' says") for n, shape in signals.shapes.items())]
    results = chain_results(plant.said, chain, program, where)
    first = plant.memories.split(plant.initial_memories())
    p, z, m = plant.parameters.join(plant.values), plant.initial_states(), held.join(first)

    def from_outside(rng: np.random.Generator) -> list[Any]:
        return [rng.standard_normal(shape) for shape in signals.shapes.values()]

    def draw(rng: np.random.Generator) -> list[Any]:
        return [0.1 * float(rng.integers(0, 100)), *model.random(rng), p, z, m, *from_outside(rng)]

    def again(x: Any, y: Any) -> list[Any]:
        """The next step, from another state: a memory goes on."""
        rng = np.random.default_rng(round(1e6 * x[0]) + 1)
        return [x[0] + dt, *model.random(rng), p, z, y[-1] if held.n else m, *from_outside(rng)]

    initial = ({"p": p} if any(v.name == "p" and v.passed for v in own) else {}) | ({"held": m} if held.n else {})
    title = f"controller {chain[0].called.name}" if names == ["controller"] else ", ".join(c.called.name for c in chain)
    summary = [f"{title} of '{model.name}', asked at the beginning of each step of {dt!r} s"]
    return Exported(program, name, given, results, False, summary, draw, [0.0, *draw(np.random.default_rng(1))[1:]],
                    again, initial)  # fmt: skip


def chain_results(shapes: Mapping[str, Any], chain: list[Any], program: Program,
                  held: tuple[tuple[int, str, tuple[str, ...]], ...]) -> list[Value]:  # fmt: skip
    """Return descriptions of a chain's results: commands, signals and memories, of these shapes, and rates of states."""
    said = {n for c in chain if isinstance(c, Maker) for n in c.recorded(shapes[c.name])}
    texts = {"tau": "generalized forces, N·m and N, as commanded: limits of effort are the plant's, and not applied",
             "rate": "rate of its own state, which whoever calls integrates",
             "held_next": "the same from now on, for the next step", **{n: f"what '{n.partition('.')[0]}' says" for n in said}}  # fmt: skip
    texts |= {f"rate of {c.name}": "rate of its state, which whoever calls integrates" for c in chain}
    return [dataclasses.replace(r, text=texts.get(r.name, f"command to '{r.name}', whose limits are its own, and not applied"),
                                parts=held if r.name == "held_next" else ()) for r in results_of(program)]  # fmt: skip


def reads(program: Program, given: list[Value], k: int) -> bool:
    """Return whether a program reads its argument k."""
    first = sum(v.size for v in given[:k])
    return any(node[0] == "input" and first <= node[1] < first + given[k].size for node in program.nodes)
