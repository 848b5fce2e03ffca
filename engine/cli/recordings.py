"""Recordings on the command line: opening them (or a robot's file), taking a rollout, and running a simulation into one."""

import contextlib
import fcntl
import math
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.cli.ending import Failure, calm, note
from engine.identification.table import read_csv
from engine.recording import Recording
from engine.simulation.run_header import last_time

Array = np.ndarray
PLOTTED = 100_000         # records; of more, a picture shows every second, third, …


def is_recording(file: str) -> bool:
    """Return whether a file is an HDF5 recording, or is named as one."""
    return Path(file).suffix.lower() in (".h5", ".hdf5") or engine.recording.is_recording(file)


def one_rollout(file: str, rollout: int | None, start: int = 0, stop: int | None = None, step: int = 1) -> engine.Trajectory:
    """Return the trajectory of one rollout of a recording, or a part of it."""
    with Recording.open(file) as recording:
        batch, n = recording.batch, len(recording)
    count = int(np.prod(batch))
    if not n:
        raise Failure(f"'{file}' holds no records yet; expected at least one")
    if batch and rollout is None:
        raise Failure(f"'{file}' holds {count} rollouts; expected --rollout K, from 0 to {count - 1}")
    if rollout is not None and rollout >= count:
        held = f"{count} rollouts; expected one from 0 to {count - 1}" if batch else "a single one; expected no --rollout"
        raise Failure(f"--rollout {rollout}: '{file}' holds {held}")
    over = 1 if start else 0                          # a record before the part: whether the rollout had stopped by then
    trajectory = engine.load_trajectory(file, start - over * step, stop, step)
    return (trajectory.rollout(tuple(int(i) for i in np.unravel_index(rollout or 0, batch))) if batch else trajectory)[over:]


def read_table(file: str, rollout: int | None) -> tuple[dict[str, Array], tuple[float, ...] | None]:
    """Return columns (T) by name, of a CSV file or a recording; and a recording's gravity."""
    if is_recording(file):
        trajectory = one_rollout(file, rollout)
        return {"t": trajectory.t, **replace(trajectory, parameters={}).columns()}, trajectory.robot.gravity
    if rollout is not None:
        raise Failure(f"--rollout {rollout}: '{file}' is no recording; expected no --rollout", 2)
    return read_csv(file), None


def thinned(file: str, rollout: int | None, whole_batch: bool = False) -> tuple[engine.Trajectory, int]:
    """Return as many records of a recording as a picture takes, of one rollout or of a whole batch; and how many there are."""
    with Recording.open(file) as recording:
        n = len(recording)
    step = max(1, -(-n // PLOTTED))
    return engine.load_trajectory(file, step=step) if whole_batch and n and rollout is None else one_rollout(file, rollout, step=step), n


def shown(file: str, floating: bool, rollout: int | None, package_dirs: list[str] | None, up_axis: bool | None,
          follow: str | None = None) -> Any:  # fmt: skip
    """Return the model in a file, or a recording's trajectory, of all rollouts or of one; refuse to follow a link that is not there."""
    source: Any
    if is_recording(file):
        for name, given in (("--floating", floating), ("--package-dir", package_dirs), ("--up-axis", up_axis is not None)):
            if given:
                raise Failure(f"'{file}' is a recording, and holds its robot; expected no {name}", 2)
        source, _ = thinned(file, rollout, whole_batch=True)
    elif rollout is not None:
        raise Failure(f"'{file}' is no recording; expected no --rollout", 2)
    else:
        source = engine.load(file, floating_base=floating, package_dirs=package_dirs or (), up_axis=up_axis)
    if follow is not None:
        getattr(source, "model", source).link_index(follow)
    return source


def note_described(model: engine.Model) -> None:
    """Say what a robot's file describes besides links and joints, and does not act in a recording that the command line makes."""
    said = model.described
    idle = [n for n in ("constraints", "actuators", "forces", "contacts") if said is not None and getattr(said, n)]
    if idle:
        note(f"the {', '.join(idle)} that the file of '{model.name}' describes do not act here; engine.simulator_of(model), in Python, "
             "has them")  # fmt: skip


def steps_done(recording: Recording) -> int:
    """Return how many steps a run had done at its last record, −1 where it cannot go on from there."""
    steps = float(np.sum(recording.checkpoint().get("steps", 0.0)))
    return int(steps) if math.isfinite(steps) else -1


def interrupted(recording: Recording) -> bool:
    """Return whether a run can go on from its last record: it is not complete, did not diverge, and was not ended by an event."""
    h, checkpoint, last = recording.header, recording.checkpoint(), last_time(recording)
    if recording.complete or not (len(recording) and "dt" in h and "duration" in h and np.any(checkpoint.get("finished", 0.0))):
        return not recording.complete
    eps = 1e-6 * h["dt"]
    return last >= h["duration"] - eps or abs(last - steps_done(recording) * h["dt"]) <= eps


def goes_on(recording: Recording) -> str:
    """Return what goes on with a run: the command, or the program that began it where functions act that no file holds."""
    h = recording.header
    own = {*h.get("components", ())} - {"drive", "friction", "stops"} or h.get("event_names") or h.get("program") == "not compiled"
    return "Simulator.resume in the program that began it" if own else f"engine resume {shlex.quote(str(recording.path))}"


def being_written(path: Path) -> bool:
    """Return whether a recorder holds the file's lock."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
    return False


def record(simulator: engine.Simulator, out: str, run: Callable[[bool], Any], notes: Mapping[str, Any], begin: int = 0) -> None:
    """Run on from step ``begin``, and say what was recorded; Ctrl-C leaves a file to go on with.

    ``run`` is told whether to show progress; ``notes`` are entries of the file's header, by which it is known to be this run's.
    """
    began = time.perf_counter()
    try:
        run(sys.stdout.isatty())
    except KeyboardInterrupt:
        calm()
        text = "interrupted before anything was recorded"
        with contextlib.suppress(engine.StorageError), Recording.open(out) as recording:
            h, n = recording.header, len(recording)
            if all(h.get(name) == x for name, x in notes.items()):
                at = f"at t = {last_time(recording):g} s of {h['duration']:g} s" if n else "at the beginning"
                text = (f"interrupted {at}: '{out}' holds {n} record{'s' * (n != 1)} and is marked incomplete; "
                        f"go on with: engine resume {shlex.quote(out)}")  # fmt: skip
        raise Failure(text, 130) from None
    took = time.perf_counter() - began
    with Recording.open(out) as recording:
        if not len(recording):
            raise Failure(f"'{out}' holds no records, though the run has ended; expected at least one")
        first, last, each = recording.read("t", 0, 1)[0], last_time(recording), "".join(f" × {m}" for m in recording.batch)
        steps = math.ceil(last / simulator.dt - 1e-6) - begin
        print(f"{out}: {len(recording)}{each} records of '{simulator.model.name}', {first:g} … {last:g} s; "
              f"{steps} step{'s' * (steps != 1)} in {took:.2g} s")  # fmt: skip
