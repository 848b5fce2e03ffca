"""Profile of a simulator's step: the time of each part, counted over a run in machine code that is made for it.

The code that is counted has a function for each part, and a clock around each call; the code that runs computes the same without either.
Both are run in turn, and both times are told.
"""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.compiler.codegen.counters import CLOCK_AROUND, CLOCK_INSIDE, OUTSIDE, Count, Counted
from engine.compiler.debug import unique
from engine.compiler.graph.program import Program
from engine.compiler.scan import counted_rollout, rollout_ufunc
from engine.compiler.transforms.parts import Part
from engine.components.component import SimulationError
from engine.simulation.diagnosis import ended
from engine.simulation.meeting_trees import MeetingTrees
from engine.simulation.run_loop import Diverged, Process
from engine.simulation.step import Step

Array = np.ndarray
#: what of a step and of a record is in no other part
INTEGRATOR, RECORDING = "integrator", "recording"
#: s of steps that are run at once: so little that the processor seldom does something else meanwhile
PIECE = 3e-4
#: how often that is repeated, of which the shortest time of everything counts: all else that a processor does only makes it longer
AGAIN = 7
#: s of steps that are looked at, spread over the run
ENOUGH = 0.1
#: records, of one state, by which a record is timed
RECORDS = 9
#: what Newton's method for impulses is called in programs: one of its steps, and one more length that is tried along it
NEWTON, TRIED = "advance.onward", "advance.along"
#: the part in which lengths are tried, also the first, where contacts are rows
LENGTHS = "impulses: lengths"


@dataclass(frozen=True)
class Profile:
    """Time of a step by part, as :meth:`engine.Simulator.profile` returns it; ``print`` shows it as a table.

    The run is repeated in machine code that is made for it, with a clock at every part, and in turn in the code that simulators run, each a
    few times, of which the shortest counts. Events stop the run, and do not interrupt it otherwise.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> found = engine.Simulator(arm, dt=1e-3).profile(arm.neutral(), np.zeros(7), duration=0.1, record_every=100)
    >>> print(found)  # doctest: +ELLIPSIS
    'seven_joint_arm': 100 steps of 0.001 s, ... µs each; by part, in code that counts:
      ...
    >>> bool(0.0 < found.parts["forward dynamics"] < found.counted)
    True

    Attributes
    ----------
    model : the model's name; steps : of the run, so many of dt, s
    step : s that one takes as simulators run it, with its share of records
    counted : s that it takes in code that counts
    parts : s of ``counted`` by part, the longest first: every component and controller by its name; "kinematics", "forward dynamics", "mass
        matrix", "stiffness", "broad phase" and "narrow phase" of contacts, "impulses" of contacts, stops and friction (what their
        laws say, Newton's steps, lengths along them where contacts are rows, and the rest),
        "carried impulses", "correction", "projection", "events"; what of a step is in none of these is "integrator", of a record
        "recording". They add up to ``counted``
    functions : by the programs' names, how often a step calls them, and s that they and what they call take in it
    points : contacts that push, on average over the records; None where there are no contacts
    """

    model: str
    steps: int
    dt: float
    step: float
    counted: float
    parts: Mapping[str, float]
    functions: Mapping[str, tuple[float, float]]
    points: float | None

    @property
    def newton(self) -> float:
        """Iterations of Newton's method for impulses a step."""
        return self.functions.get(NEWTON, (0.0, 0.0))[0]

    @property
    def tried(self) -> float:
        """Lengths tried along them, besides the first, a step."""
        lengths = self.functions.get(LENGTHS, (self.newton, 0.0))[0]
        return self.functions.get(TRIED, (0.0, 0.0))[0] + lengths - self.newton

    def __str__(self) -> str:
        wide = max(map(len, self.parts))
        lines = [f"'{self.model}': {self.steps} steps of {self.dt:g} s, {1e6 * self.step:.2f} µs each; by part, in code that counts:"]
        lines += [f"  {name:{wide}}  {1e6 * x:9.2f} µs  {100.0 * x / self.counted:5.1f} %" for name, x in self.parts.items()]
        lines += [f"  {'sum':{wide}}  {1e6 * self.counted:9.2f} µs  100.0 %"]
        lines += [f"Newton's method: {self.newton:.2f} iterations a step, {self.tried:.2f} more lengths tried"] if self.newton else []
        lines += [f"contacts that push: {self.points:.2f} points"] if self.points is not None else []
        return "\n".join(lines)


def profiled(step: Step, p: Array, x: Array, duration: float, record_every: int) -> Profile:
    """Return where the time of steps goes in a run from x (n) with parameters p."""
    process, dt = step.process, step.dt
    if x.ndim != 1:
        raise SimulationError(f"a profile of a batch {x.shape[:-1]}; expected one rollout")
    if step.kinds and not isinstance(process, MeetingTrees):
        raise SimulationError("a profile of trees that nothing joins, which are batches of their kinds; expected a simulator of one")
    if type(process) not in (Process, MeetingTrees) or not process.compiled:
        raise SimulationError("a profile of what runs as plain Python; expected functions that are compiled")
    steps = max(1, round(duration / dt))
    counts = np.diff([0, 0, *range(record_every, steps, record_every), steps]).astype(float)
    try:
        data = process.advance(counts, 0.0, 0.0, dt, p, x)
    except Diverged as stop:
        raise SimulationError(ended(step, stop)) from None
    if isinstance(process, MeetingTrees):
        plain, programs = process.for_profile(False), process.for_profile(True)
    else:
        plain, programs = process.programs, in_parts(step)
    run = Measured(rollout_ufunc(*plain, 1), *counted_rollout(*programs), dt, p)
    run.along(x, int(counts.sum()), process.n)
    tick = run.tick / run.steps                                                # s, of a step
    found = {edge: count.more(run.records[edge], run.steps / record_every) for edge, count in run.found.items()}
    parts = {name: tick * ticks for name, ticks in sorted(by_part(programs, found, run.clock).items(), key=lambda item: -item[1])}
    names = {f.key: f.name for f in unique(programs)}
    functions: dict[str, tuple[float, float]] = {}
    for (caller, called), count in run.found.items():
        if called in names and caller:
            n, s = functions.get(names[called], (0.0, 0.0))
            functions[names[called]] = n + count.calls / run.steps, s + tick * count.ticks
    record = process.record.split(data)
    forces = record.get("contacts.force")
    points = None if forces is None else float((np.abs(forces).max(axis=-1) > 0.0).sum(axis=-1).mean())
    points = float(record["contacts.count"].mean()) if "contacts.count" in record else points
    return Profile(step.plant.model.name, int(counts.sum()), dt, run.seconds / run.steps + run.recording / record_every,
                   sum(parts.values()), types.MappingProxyType(parts), types.MappingProxyType(functions), points)  # fmt: skip


class Measured:
    """Steps of a run, timed piece by piece in the code that runs and in the code that counts.

    Attributes
    ----------
    steps : that were looked at, seconds that they took in the code that runs; recording : s of a record there
    found, records : what was counted in the steps, and in one record; tick : s of a tick
    clock : the ticks of the clock's two readings, and those of them that are between these
    """

    def __init__(self, plain: Callable[..., Array], counted: Callable[..., Array], counters: Counted, dt: float, p: Array) -> None:
        self.plain, self.counted, self.counters, self.dt, self.p = plain, counted, counters, dt, p
        self.steps, self.seconds, self.recording, self.pieces = 0, 0.0, 0.0, 0
        self.found = dict.fromkeys(counters.edges, Count(0, 0.0))
        self.records = dict(self.found)
        self.whole = [0.0, 0.0]                                                # s and ticks of all counted runs
        self.clock = np.inf, np.inf

    @property
    def tick(self) -> float:
        """The time of a tick, s."""
        return self.whole[0] / self.whole[1]

    def along(self, x: Array, steps: int, n: int) -> None:
        """Look at pieces of a run of so many steps from x (n)."""
        one = min(self.once(self.plain, [8.0], 0, x) for _ in range(AGAIN)) / 8.0
        each = max(1, min(steps, round(PIECE / one)))
        apart = max(1, round(steps * one / ENOUGH))                            # of so many pieces one is looked at
        for piece, k in enumerate(range(0, steps, each)):
            count = min(each, steps - k)
            with np.errstate(all="ignore"):
                to = self.plain(np.array([float(count)]), 0.0, float(k), self.dt, self.p, x)[0, 1 : 1 + n]
            if piece % apart == 0:
                self.look(x, to, k, count)
            x = to
        self.recording /= self.pieces
        self.records = {edge: Count(calls / self.pieces, ticks / self.pieces) for edge, (calls, ticks) in self.records.items()}

    def once(self, run: Callable[..., Array], counts: list[float], k: int, x: Array) -> float:
        """Return what a call takes, s."""
        given = np.array(counts), 0.0, float(k), self.dt, self.p, x
        with np.errstate(all="ignore"):
            begun = time.perf_counter()
            run(*given)
            return time.perf_counter() - begun

    def look(self, x: Array, to: Array, k: int, count: int) -> None:
        """Time a piece of so many steps after the k-th, from x to another state, and what a record adds to steps from there. Each run ends
        with a record, and with a step more if records are of such."""
        many = [1.0] * RECORDS
        runs = ([float(count)], k, x), ([0.0], k + count, to), (many, k + count, to), ([sum(many)], k + count, to)
        piece, end, each, last = (min(self.once(self.plain, *given) for _ in range(AGAIN)) for given in runs)
        counted = [self.count(*given) for given in runs]
        self.steps, self.pieces = self.steps + count, self.pieces + 1
        self.seconds, self.recording = self.seconds + piece - end, self.recording + (each - last) / (RECORDS - 1)
        for edge, found in self.found.items():
            in_piece, in_end, in_each, in_last = (run[edge] for run in counted)
            self.found[edge] = found.more(in_piece).more(in_end, -1.0)
            self.records[edge] = self.records[edge].more(in_each, 1.0 / (RECORDS - 1)).more(in_last, -1.0 / (RECORDS - 1))

    def count(self, counts: list[float], k: int, x: Array) -> dict[tuple[str, str], Count]:
        """Return what is counted in a call; the rest of it is as large as the clock's, as each call begins and ends once."""
        found: dict[tuple[str, str], Count] = {}
        for _ in range(AGAIN):
            self.counters.clear()
            took, now = self.once(self.counted, counts, k, x), self.counters.read()
            self.whole = [self.whole[0] + took, self.whole[1] + now["", OUTSIDE].ticks]
            inside, around = now["", CLOCK_INSIDE].ticks, now["", CLOCK_AROUND].ticks
            self.clock = min(self.clock, (around - inside, inside))
            found = {edge: min(now[edge], found.get(edge, now[edge])) for edge in now}             # as often called each time
        return found


def in_parts(step: Step) -> tuple[Program, Program]:
    """Return the programs of a step and of its observation with functions for their parts."""
    return Step(step.plant, step.method, step.watch, step.dt, True, parts=True).process.traced(parts=True)


def by_part(programs: tuple[Program, Program], found: Mapping[tuple[str, str], Count], clock: tuple[float, float]) -> dict[str, float]:
    """Return the ticks of every part, without those of the ``clock``: of both its readings, and those between. A function that is no part
    belongs to those that call it, each by its share of its time."""
    step, observe = programs
    calls = {edge: count for edge, count in found.items() if edge[0]}
    inside: dict[str, float] = {}
    for (_, called), count in calls.items():
        inside[called] = inside.get(called, 0.0) + count.ticks
    known = {f.key: {f.name: 1.0} for f in unique(programs) if isinstance(f, Part)}
    known |= {step.key: {INTEGRATOR: 1.0}, observe.key: {RECORDING: 1.0}}

    def shares(key: str) -> dict[str, float]:
        if key not in known:
            own: dict[str, float] = {}
            for (caller, called), count in calls.items():
                if called == key:
                    for part, share in shares(caller).items():
                        own[part] = own.get(part, 0.0) + share * count.ticks / max(inside[key], 1.0)
            known[key] = own
        return known[key]

    own = dict(inside)
    for (caller, called), (n, ticks) in found.items():
        if called in own:
            own[called] -= n * (clock[1] if caller else clock[0])              # without a caller it is a pass of a loop
        if caller in own:
            own[caller] -= ticks + n * (clock[0] - clock[1])
    parts: dict[str, float] = {}
    for key, ticks in own.items():
        for part, share in shares(key).items():
            parts[part] = parts.get(part, 0.0) + share * ticks
    return parts
