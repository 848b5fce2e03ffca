"""Diagnosis of a run that ended in NaN or infinity: which function of the user's returned it first, or that the motion diverged."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.checks import EngineError, warn
from engine.components.component import AWAY, WILD, Beyond, NotClosed, NotFinite, SimulationError, SimulationWarning
from engine.components.law import Ticking
from engine.contact import Unsolved
from engine.integrate import ROS34PW2, SUBSTEPS, FreeBody, Method
from engine.integrate import step as one_step
from engine.ops.functions import at_most
from engine.rigid_body import BodyError, ControlSystem, RigidBody
from engine.simulation.culprit import ITS_STATE, Watched, weightless
from engine.simulation.run_loop import TRAIL, Diverged, Failures, Process
from engine.simulation.step import Step
from engine.simulation.stiffness import forces

Array = np.ndarray
#: steps that are taken again at once
PIECE = 1000
MOST, SMALLER = float(np.finfo(float).max), "a smaller dt or gentler forces"
BY_SLOPES = f"a smaller dt, gentler forces, or integrator='{ROS34PW2.name}', for stiff forces on all that moves"
#: functions of loops, rows and branches that are called on floats to find out why a run ended: in contacts two steps of twenty pairs
CALLS = 20_000
#: failures of a batch that are looked into
BLAMED = 10
#: joints that are named
NAMED = 3


def ended(step: Step, stop: Diverged, blamed: bool = True) -> str:
    """Return what of a robot stopped being finite, when, and, where somebody is to be blamed, why."""
    model = step.plant.model
    turns = [step.layout.slices["q"].stop + model.bodies[i].v.start for i in model.roots if model.bodies[i].kind.floats]
    plant = Watched(step.plant, stop.dt)
    watched = Step(plant, step.method, step.watch, step.dt, compiled=False)
    found = blame(step.process, watched.process, stop) if blamed else None
    if found and not found.text and not plant.found:                           # it was so before the last step, which is but the end of it
        with np.errstate(all="ignore"), contextlib.suppress(Exception), at_most(CALLS):
            for record in [*stop.data, *found.trail][-TRAIL:] if plant.acting else ():
                fly(watched, record[0], stop.dt, stop.p, record[1 : 1 + step.layout.n])
    if found and found.overrun and plant.found:                                # who has driven it there, and not what met that
        found = found._replace(text="")
    if found and (text := quietly(functools.partial(without_slopes, step, found.last, stop))):
        found = found._replace(text=text)
    under = f" under {plant.found}" if plant.found else ""
    if found and not found.text:
        last = [record[1 : 1 + step.layout.n] for record in [*stop.data, *found.trail][-TRAIL:]]
        states = [x[step.layout.slices["q"]] for x in [*last, stop.x, found.last]]
        light = quietly(lambda: weightless(step.plant.model_at(stop.p), states))
        under += f", as {light}" if light else ""
    wanted = BY_SLOPES if plant.found and ITS_STATE not in plant.found and explicit(step) else SMALLER
    wanted = f"a shorter period than {plant.period:g} s, or gentler gains" if plant.period else wanted
    return sentence(stop, step.dt, step.method, tuple(slice(i, i + 3) for i in turns), lambda x: lost(step, x), found, under, wanted)


def quietly(words: Callable[[], str]) -> str:
    """Return words; none where what they are about is no motion any more, and whoever looks at it fails."""
    with np.errstate(all="ignore"), contextlib.suppress(Exception):
        return words()
    return ""


def fly(step: Step, t: float, dt: float, p: Array, x: Array) -> None:
    """Fly a step of dt at t from a state x (n), without the impulses at its end, which are found long after who drives it has been seen."""
    step.require_one_program()
    now, y, m, p = step.begins(t, dt, p, x)
    method, system = step.system(m, p, step.modes(now, dt, y, m, p))
    one_step(method, system, now, dt, y)


def explicit(step: Step) -> bool:
    """Return whether some of what moves, all or what floats, is flown without the slopes of forces."""
    stiffness, floats = step.plant.stiffness, [b.v.start for b in step.plant.model.bodies if b.kind.floats]
    return step.method.name != ROS34PW2.name if stiffness is None else not np.isin(floats, stiffness.moving).all()


def without_slopes(step: Step, x: Array, stop: Diverged) -> str:
    """Return in words whose slopes, which a stiff flight takes, are no numbers at a state x (n) though its forces are; "" if nobody's."""
    plant, a, stiffness = step.plant, step.layout.split(x), step.plant.stiffness
    if stiffness is None:
        return ""
    moving, given = stiffness.moving, (a["q"], a["v"], a["state"][: plant.flown], a["memory"], stop.p)
    still, modes = np.zeros(2 * len(moving) + 1), plant.bounds.split(np.zeros(plant.bounds.n))

    def force(name: str, d: Array) -> Array:
        return forces(plant, [name], moving, np.float64(stop.begin), *given, d, modes)[name][moving]

    def finite(fn: Callable[[Array], Array]) -> bool:
        with np.errstate(all="ignore"), contextlib.suppress(NotFinite):
            return bool(np.isfinite(fn(still)).all())
        return False

    for c in (c for c in plant.components if c.name in stiffness.names):
        own = functools.partial(force, c.name)
        if finite(own) and not finite(functools.partial(ops.jacobian, own)):
            law = c if isinstance(c, Ticking) else plant.controller if c.command is not None else None
            at = ", ".join(f"{name} = {np.array2string(a[name], precision=6, threshold=20)}" for name in ("q", "v"))
            return (f"{c.name if law is None else law.called.name} has no slopes at {at}, which a flight that is implicit takes; expected "
                    "a law that is smooth around there, or Law(…, stiff=False)")  # fmt: skip
    return ""


def sentence(stop: Diverged, dt: float, method: Method, turns: tuple[slice, ...], what: Callable[[Array], str], found: Blame | None,
             under: str = "", wanted: str = SMALLER) -> str:  # fmt: skip
    """Return in words ``what`` of the first bad record (m) stopped being finite, when, and, where that was looked for and found, why: some
    function's result, or ``under`` whom the motion diverges, and what is ``wanted`` instead."""
    bad = found or Blame(stop.x, stop.bad, stop.t, stop.steps)
    why = f": {reason(found, stop, method, turns, under, wanted)}" if found else ""
    lost = "is no longer finite" if not np.isfinite(bad.bad).all() else f"is beyond {AWAY:g}"
    return f"{what(bad.bad)} {lost} {bad.when} (dt = {dt:g} s){why}"


def lost(step: Step, record: Array) -> str:
    """Return what is not finite in a record (m), in words."""
    model, found = step.plant.model, step.process.record.split(record)
    x = {n: found["x"][at] for n, at in step.layout.slices.items()}
    what = {"configuration": ("q", x["q"]), "velocity": ("v", x["v"]), "acceleration": ("v", found["vdot"])}
    for name, (which, values) in what.items():
        joints = dict.fromkeys(np.array(model.entries(which))[~(np.abs(values) <= (MOST if name == "acceleration" else AWAY))])
        if joints:
            first = ", ".join(f"'{joint}'" for joint in list(joints)[:NAMED]) + ", …" * (len(joints) > NAMED)
            return f"the {name} of " + (f"joint {first}" if len(joints) == 1 else f"{len(joints)} joints ({first})")
    if not (np.abs(found["x"][step.places]) <= WILD).all():                    # what follows from it overflows before it does itself
        return f"what follows from the motion of '{model.name}', which has run away,"
    states = [n for n, z in step.plant.states.split(x["state"]).items() if not np.isfinite(z).all()]
    signals = [n for n, y in found.items() if n != "x" and not np.isfinite(y).all()]
    return f"the state of '{states[0]}'" if states else f"'{signals[0]}'" if signals else "the memory of a law"


def failed(step: Step, failures: Failures, batch: tuple[int, ...]) -> Array | None:
    """Return why rollouts of a batch failed (batch), "" where they did not; None where none did."""
    return reasons(failures, batch, lambda stop, why: ended(step, stop, why))


def failed_as_a_whole(step: Step, failures: Failures, batch: tuple[int, ...], text: str) -> Array | str:
    """Return why a run ended: the text, or in a batch in which rollouts had failed before (batch), theirs, and the text for all others."""
    found = failed(step, failures, batch)
    return text if found is None else np.where(found == "", text, found)


def reasons(failures: Failures, batch: tuple[int, ...], text: Callable[[Diverged, bool], str]) -> Array | None:
    """Return the text of each failure (batch); who is to blame is found out for the first few only."""
    if not failures:
        return None
    found = np.full(batch, "", dtype=object)
    for k, (row, stop) in enumerate(sorted(failures.items(), key=lambda item: item[1].t)):
        found[row] = text(stop, k < BLAMED)
    return found


def warn_of(failures: Failures, found: Array | None, name: str) -> None:
    """Warn of rollouts that failed, if there are any."""
    if found is not None:
        first, others = min(failures.values(), key=lambda stop: stop.t), len(failures) < found.size
        warn(f"{len(failures)} of {found.size} rollouts of {name} failed{', the others go on' * others}; its failed and reason say which "
             f"and why. The first is {list(first.row)}: {found[first.row]}", SimulationWarning)  # fmt: skip


class Blame(NamedTuple):
    """Place where a run stopped being finite: the last good state (n), the first bad record (m), its time (s), and the steps since the
    record before; the text of what a function of the user's did, records (m) on the way there, and whether the text is of what met it last
    where it had run away."""

    last: Array
    bad: Array
    t: float
    steps: int = 1
    text: str = ""
    trail: tuple[Array, ...] = ()
    overrun: bool = False

    @property
    def when(self) -> str:
        """The time, in words."""
        return f"at t = {self.t:.6g} s" if self.steps <= 1 else f"by t = {self.t:.6g} s, {self.steps} steps after the record before"


def reason(found: Blame, stop: Diverged, method: Method, turns: tuple[slice, ...], under: str, wanted: str) -> str:
    """Return why a run stopped being finite; ``turns`` is where in a state (n) angular velocities lie."""
    if found.text:
        return found.text
    if method.implicit:
        turn = max((float(np.linalg.norm(found.last[i])) for i in turns), default=0.0)
        cut = f", even cut into {SUBSTEPS}" if method.takes is FreeBody else ""
        return f"Newton's method did not converge in a step with h|ω| = {stop.dt * turn:.3g}{cut}; expected a smaller dt or gentler forces"
    return f"the motion diverges{under}; expected {wanted}"


def blame(process: Process, plain: Process, stop: Diverged) -> Blame:
    """Take the steps since the last good record again, on floats, by functions of the user's that raise NotFinite."""
    trail: tuple[Array, ...]
    p, last, t, dt, left = stop.p, stop.x, np.float64(stop.begin), stop.dt, stop.steps
    one = () if process.together else (1,) * len(stop.row)                     # a batch of one, by the machine code of the batch
    bad, when, text, trail, overrun = stop.bad, stop.t, "", (), False
    try:
        with np.errstate(all="ignore"):
            while process.compiled and left > (not process.together):          # as far as it goes well, a piece at a time
                again = process.kernel(one)(np.ones(min(left, PIECE)), t, 0.0, dt, p, last.reshape(*one, -1)).reshape(-1, process.record.n)
                good = int(np.append(process.good(again), False).argmin())
                trail = (*trail, *again[:good])[-TRAIL:]
                if good:
                    t, last = again[good - 1, 0], again[good - 1, 1 : 1 + process.n]
                left -= good
                if good < len(again):
                    bad, left = again[good], 1
                    break
            y = last
            with at_most(CALLS):
                for k in range(left + 1):                                      # beside a record is what is noted of the step from there
                    when = float(t + min(k + 1, left) * dt)
                    to = plain.step(t, float(k), dt, p, y) if k < left or plain.notes else y
                    plain.observe(t, float(k), dt, p, np.append(y, to[plain.n :]))
                    y = to[: plain.n]
                    if k == left or not np.isfinite(y).all() or process.away(y):
                        break
                    last = y
    except NotFinite as found:
        text = "" if found.wild else found.text
    except (BodyError, NotClosed, Unsolved, Beyond) as found:
        text, overrun = str(found), isinstance(found, Unsolved) and found.overrun
    except SimulationError as found:
        text = str(found) if misses(found.__cause__) else ""                   # which machine code marks by NaN
    except Exception:                                                          # NaN met on floats by a check, or by the user's code
        pass
    return Blame(last, bad, when, 1, text, trail, overrun)


def misses(error: BaseException | None) -> bool:
    """Return whether an error is of a row number out of range, or of tables of different numbers of rows."""
    return isinstance(error, IndexError) or (isinstance(error, EngineError) and str(error).startswith("tables of "))


def watched(system: ControlSystem) -> ControlSystem:
    """Return a copy of a system whose functions of the user's raise NotFinite."""
    return changed(system, lambda name, fn: watch(f"{system.name}.{name}", fn))


def changed(system: ControlSystem, change: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> ControlSystem:
    """Return a copy of a system in which each function of the user's is ``change(name, function)``."""
    own = copy.copy(system)
    for name in ("forces", "moments", "wrench", "mass", "inertia") if isinstance(system, RigidBody) else ("dynamics",):
        fn = getattr(own, name, None)
        if callable(fn) and getattr(fn, "__func__", fn) is not getattr(RigidBody, name, None):
            setattr(own, name, change(name, fn))
    return own


def watch(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of (..., t) that raises NotFinite where it returns what is not finite, or a mass that is none."""

    @functools.wraps(fn)
    def watching(*given: Any, **named: Any) -> Any:
        result, args = fn(*given, **named), (*given, *named.values())
        wild = not all((np.abs(np.asarray(a, dtype=float)) <= WILD).all() for a in args)
        t = float(named.get("t", args[-1]))
        if not np.isfinite(np.asarray(result, dtype=float)).all():
            raise NotFinite(name, t, wild)
        if name.endswith(".mass") and np.asarray(result) <= 0.0:
            raise NotFinite(name, t, wild, f"{float(result):.6g} kg")
        return result

    return watching
