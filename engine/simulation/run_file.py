"""Runs on disk: the header of a run's file, blocks written while the next ones are computed, and resuming after an interruption."""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import warn
from engine.components.component import Interrupted, SimulationError, SimulationWarning
from engine.progress import progress_bar
from engine.recording import Recorder, Recording, StorageError, aside, require_free
from engine.simulation.checks import checked_duration
from engine.simulation.contact_table import COLUMNS, add_couples
from engine.simulation.diagnosis import ended, failed, warn_of
from engine.simulation.event_runs import blocks
from engine.simulation.events import stop_times
from engine.simulation.mounts import mounts_of
from engine.simulation.own_states import DEFECT, OWN
from engine.simulation.run_header import checked_path, ended_how, header_in, header_of, outcome, parameter_in, robot_in, too_short
from engine.simulation.run_loop import Diverged, Failures, steps_in, times
from engine.simulation.run_warnings import RunWarnings
from engine.simulation.step import Step

Array = np.ndarray
#: what a file says of its numbers
CONVENTIONS = ("SI units and radians. Angular first: twists [omega; v], wrenches [moment; force], in the body's own frame. "
               "A floating joint has q = [qw qx qy qz, px py pz] (Hamilton, body to world) and v = [omega; v] of the body in its own axes. "
               "Coordinates follow the tree depth first; see q_entries and v_entries.")  # fmt: skip


def tables_of(step: Step, batch: tuple[int, ...]) -> dict[str, int]:
    """Return the numbers in a row of what is recorded with as many rows as there are, by name: the points of contact of one rollout."""
    return {"contacts": COLUMNS} if step.touches_by_rows and not batch else {}


def header(step: Step, p: Array, duration: float, record_every: int) -> dict[str, Any]:
    """Return what a file says of how its records came about."""
    plant, process = step.plant, step.process
    key = hashlib.sha256("".join(process.keys).encode()).hexdigest() if step.compiled else "not compiled"
    return {
        **versions(),
        **header_of(plant.model, plant.gravity, plant.parameters.split(p), plant.names, plant.ground,
                    mounts_of(plant.makers), step.held),
        "conventions": CONVENTIONS, "integrator": step.method.name, "dt": step.dt, "duration": duration, "record_every": record_every,
        "program": key, "functions": step.functions, "components": [c.name for c in plant.components], "event_names": step.watch.names,
        **({"constraints": [c.title for c in plant.constraints.loops.constraints]} if plant.constraints else {}),
        **({"asked": plant.controller.called.name} if plant.controller and plant.controller.called.law.python else {}),
        "parameters": {n: np.asarray(x).tolist() for n, x in plant.values.items()},
        **({"contact_links": step.touching_links} if step.touches_by_rows else {}),
    }  # fmt: skip


@functools.cache
def versions() -> dict[str, str]:
    """Return what the bits of a result may depend on."""
    return {"engine": version("articulated-engine"), "numpy": np.__version__, "llvmlite": version("llvmlite"),
            "python": platform.python_version(), "machine": platform.machine()}  # fmt: skip


def record(step: Step, path: Path, p: Array, x: Array, duration: float, record_every: int, progress: bool, overwrite: bool,
           notes: Mapping[str, Any]) -> Path:  # fmt: skip
    """Run from p and x into a new file, and return its path."""
    require_free(checked_path(path), overwrite)                               # said before anything is computed
    warn_of_the_end(path, duration, step.dt, record_every)
    batch, watch, layout = x.shape[:-1], step.watch, step.layout
    states = {f"{n}.state": s for n, s in step.plant.states.shapes.items() if n not in OWN}
    states |= {DEFECT: ()} if step.plant.conserved else {}
    signals = {n: s for n, s in step.process.record.shapes.items() if n not in ("t", "x")}
    zeros = {"events": (len(watch.events),)} if watch and not batch else {}
    columns = {"t": (), **{n: layout.shapes[n] for n in ("q", "v")}, **signals, **states, **zeros}
    checkpoint = {"x": (*batch, layout.n), "steps": (), "finished": ()} | ({"stopped": batch} if watch and batch else {})

    def begin() -> Recorder:
        first = {"x0": base64.b64encode(x.astype("<f8").tobytes()).decode()}   # for a run that is killed before its first block
        return Recorder.create(path, columns, batch, header(step, p, duration, record_every) | dict(notes) | first, checkpoint, overwrite,
                               records=math.ceil(duration / step.dt / record_every) + 1, tables=tables_of(step, batch))  # fmt: skip

    return write_run(step, path, begin, p, x, duration, record_every, 0, progress, {})


def warn_of_the_end(path: Path, duration: float, dt: float, record_every: int) -> None:
    """Warn of a run whose end lies between two of its records, from which it cannot go on."""
    steps, shorter = steps_in(duration, dt)
    if shorter or steps % record_every:
        warn(f"'{path}' will end between two of its records, {record_every * dt:.6g} s apart, and cannot be made longer then (resume); "
             "expected a duration of a multiple of that, where it is to be", SimulationWarning)  # fmt: skip


def resume(step: Step, path: Path, duration: float | None, progress: bool) -> Path:
    """Go on with a run in a file: to the bit as if it had not been interrupted."""
    with Recording.open(path) as recording:
        known, checkpoint, complete = header_in(recording), recording.checkpoint(), recording.complete
        robot_in(recording)
        require_same(step, path, known)
        if duration is not None and (text := too_short(recording, checked_duration(duration))):
            raise SimulationError(text)
        p = step.plant.parameters.spread(parameters_in(step, recording), recording.batch)
        steps, finished, x = progress_in(step, recording)
        how = ended_how(recording, steps)
    finished = finished or complete
    longer = duration is not None and checked_duration(duration) > known["duration"]
    if finished and not longer:
        Recorder.resume(path).close(True)
        return path
    wanted = checked_duration(duration if duration is not None else known["duration"], step.dt)
    if steps < 0 or (finished and steps % int(known["record_every"])):
        raise SimulationError(f"'{path}' {how}; expected a run that ended on its grid, or was interrupted")
    if steps * step.dt >= wanted - 1e-6 * step.dt and checkpoint:
        return path
    if checkpoint and step.notes and steps_in(wanted, step.dt) == (steps, True):
        raise SimulationError(f"'{path}' ends at t = {steps * step.dt:.6g} s with the forces of a step of {step.dt:g} s, not of one to "
                              f"{wanted:.9g} s; expected a duration of a step more")  # fmt: skip
    known = {**known, "duration": wanted, **({"reasons": reasons_of_rows(known["reasons"])} if "reasons" in known else {})}
    return write_run(step, path, lambda: Recorder.resume(path, header={n: known[n] for n in ("duration", "reasons") if n in known}), p, x,
                     wanted, int(known["record_every"]), steps, progress, known)  # fmt: skip


def reasons_of_rows(reasons: Mapping[str, str]) -> dict[str, str]:
    """Return those of the reasons that are of single rollouts of a batch: that of the whole is no longer true once it goes on."""
    return {row: text for row, text in reasons.items() if row}


def require_same(step: Step, path: Path, known: Mapping[str, Any]) -> None:
    """Refuse a simulator that does something else than the one that began a run, as far as the run's header tells."""
    for name in ("duration", "record_every"):
        if name not in known:
            raise SimulationError(f"'{path}' holds no '{name}' of a run; expected a recording of run(out=…)")
    nominal = step.plant.parameters.join(step.plant.values)
    own = header(step, nominal, known["duration"], int(known["record_every"]))
    plain = "laws with python=True, the actions of events" if step.compiled else "compiled=False"
    others = {"model_hash": "another model", "program": "other functions, forces or actuators",
              "functions": f"other functions in plain Python ({plain}): other code, constants, defaults, enclosed values or globals; or by "
                           f"another Python than {known.get('python')}"}  # fmt: skip
    for what in ("model_hash", "integrator", "dt", "gravity", "program", "functions"):
        if known.get(what) != own[what]:
            text = others.get(what, f"{what} {known.get(what)!r}, not {own[what]!r}")
            raise SimulationError(f"'{path}' was recorded with {text}; expected the simulator that began it")


def parameters_in(step: Step, recording: Recording) -> dict[str, Array]:
    """Return the values (\\*batch, \\*shape) of the parameters that a run was begun with."""
    given, shapes = recording.header.get("rollout_parameters", {}), step.plant.parameters.shapes
    if {*given} != {*shapes}:
        raise SimulationError(f"'{recording.path}' was recorded with parameters {sorted(given)}, not {sorted(shapes)}; expected the "
                              "simulator that began it")  # fmt: skip
    values = {n: parameter_in(recording, n, x) for n, x in given.items()}
    for n, x in values.items():
        if x.shape != (*recording.batch, *shapes[n]):
            raise StorageError(f"the parameter '{n}' in '{recording.path}' has shape {x.shape}; expected {(*recording.batch, *shapes[n])}")
    return values


def progress_in(step: Step, recording: Recording) -> tuple[int, bool, Array]:
    """Return the steps that a run has done (−1: there is no going on), whether it had come to its end, and the state x to go on from."""
    path, checkpoint, shape = recording.path, recording.checkpoint(), (*recording.batch, step.layout.n)
    try:
        if not checkpoint:
            return 0, False, np.frombuffer(base64.b64decode(recording.header["x0"]), "<f8").astype(float).reshape(shape)
        steps, finished, x = float(checkpoint["steps"]), bool(checkpoint["finished"]), checkpoint["x"]
        good = x.shape == shape and steps == int(steps) >= -1
    except (KeyError, TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise SimulationError(f"'{path}' holds no state of this simulator to go on from; expected a recording of run(out=…)")
    return int(steps), finished, x


def write_run(step: Step, path: Path, begin: Callable[[], Recorder], p: Array, x: Array, duration: float, record_every: int, start: int,
              progress: bool, known: Mapping[str, Any]) -> Path:  # fmt: skip
    """Run into a file: a thread writes blocks while the next ones are computed. ``known`` is the file's header until now."""
    dt = step.dt

    def write(found: list[Array], steps: int, finished: bool) -> None:
        """Queue a block of records for the writing thread, with the checkpoint after so many steps (−1: the run cannot be resumed)."""
        if sum(new.shape[-2] for new in found):
            add(lambda recorder: recorder.append(*block(step, run_warnings, found, p, steps, finished, recorder.tables)))

    def end(why: Array | None, text: str = "") -> None:
        """Write why rows, or all of it, failed, if they did, and what was noted, to what is known of it from before."""
        add(lambda recorder: recorder.note(merged(known, outcome(why, run_warnings.texts, text))))

    failures: Failures = {}
    run_warnings = step.run_warnings(dt)
    with aside(begin) as add, progress_bar("simulating", "steps", round(duration / dt), progress, start) as advanced:
        held: list[Array] = []
        try:
            for new, done in blocks(step, p, x, dt, duration, record_every, start, failures):
                held.append(new)
                if done >= 0:
                    write(held, done, done * dt >= duration - 1e-6 * dt)
                    held = []
                advanced(done)
            write(held, -1, True)
            why = failed(step, failures, x.shape[:-1])
            end(why)
        except Diverged as stop:
            write([*held, stop.data], -1, True)
            text = ended(step, stop)
            end(None, text)
            raise SimulationError(f"{text} (recorded until then in '{path}')") from None
        except SimulationError as error:
            write([*held, *error.records], error.steps, error.steps < 0)       # on the grid it is gone on with like one that was killed
            end(failed(step, failures, x.shape[:-1]), str(error))
            raise SimulationError(f"{error} (recorded until then in '{path}')") from error
        except Interrupted as stop:
            if stop.steps >= 0:                                                # else it is gone on with from the block before
                write([*held, *stop.records], stop.steps, False)
            raise
    warn_of(failures, why, f"'{step.plant.model.name}'")
    run_warnings.warn()
    return path


def merged(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return an outcome's entries with those of the run until then."""
    return {n: [*known.get(n, ()), *x] if isinstance(x, list) else {**known.get(n, {}), **x} for n, x in new.items()}


def block(step: Step, run_warnings: RunWarnings, found: list[Array], p: Array, steps: int, finished: bool,
          wanted: Iterable[str]) -> tuple[dict[str, Array], dict[str, Any], dict[str, list[Array]]]:  # fmt: skip
    """Return the columns of records (..., T, m) of a run with parameters p, time first, what it goes on from, and the rows of the tables
    that are wanted; note what is doubtful about them."""
    records = np.concatenate(found, axis=-2) if len(found) > 1 else found[0]
    columns = step.columns(records)
    run_warnings.add(times(records), columns)
    columns = {n: np.moveaxis(a, records.ndim - 2, 0) for n, a in columns.items()}
    x = records[..., 1 : 1 + step.layout.n]
    checkpoint: dict[str, Any] = {"x": x[..., -1, :], "steps": float(steps), "finished": float(finished)}
    if step.watch and records.ndim == 2:
        columns["events"] = step.watched(x)["zeros"]
    elif step.watch:
        checkpoint["stopped"] = stop_times(step.watched(checkpoint["x"]))
    t = times(records)
    tables = {name: [*map(add_couples, step.touching_at(t, x, p))] for name in wanted}
    return {"t": t, **columns}, checkpoint, tables
