"""``engine resume``: go on with a run that was interrupted, or make it longer."""

import functools
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any

import typer

import engine
from engine.cli.ending import Failure, note
from engine.cli.options import Run, seconds
from engine.cli.recordings import goes_on, interrupted, record, steps_done
from engine.io import model_from_text
from engine.recording import Recording
from engine.simulation.run_header import ended_how, header_in, last_time, too_short

Whole = Annotated[float | None, typer.Option(metavar="S", help="How long in all, s; if not given, as the run was begun.", callback=seconds)]


def resume(recording: Run, duration: Whole = None) -> None:
    """Go on with a run that was interrupted, or make it longer.

    The result is the same, to the bit, as if it had never stopped.

    Examples:
    engine resume run.h5                 to the end that the run was to have
    engine resume run.h5 --duration 60   to 60 s, counted from its beginning

    The file holds the model, the integrator and the step, and so needs no other. A run with a controller, forces or actuators of its own
    goes on in Python, by Simulator.resume.
    """
    with Recording.open(recording) as opened:
        h, steps, last = header_in(opened), steps_done(opened), last_time(opened)
        if h.get("program") == "not compiled":
            raise Failure(f"'{recording}' was recorded with compiled=False; expected Simulator.resume in the program that began it")
        if any(x not in h for x in ("model", "integrator", "dt", "gravity", "duration", "record_every", "program")):
            raise Failure(f"'{recording}' holds states, but not how to simulate; expected a recording of engine simulate, or "
                          "Simulator.run(out=…)")  # fmt: skip
        wanted = float(h["duration"] if duration is None else duration)
        if opened.complete and (duration is None or last - 1e-9 * h["dt"] <= wanted <= last + 1e-6 * h["dt"]):
            if damage := opened.damage():
                raise Failure(f"'{recording}' is complete, but damaged in {'; '.join(damage)}; expected the file as it was recorded")
            longer = "; --duration makes it longer" if goes_on(opened).startswith("engine") else f"; {goes_on(opened)} makes it longer"
            print(f"{recording} is complete, 0 … {last:g} s{longer * (duration is None)}")
            return
        if text := objection(opened, recording, wanted, steps):
            raise Failure(text)
    warn_of_versions(h)
    mine = h.get("command") == "engine simulate"
    for joint_dynamics in [h["joint_dynamics"]] if mine else [True, False]:
        simulator = engine.Simulator(model_from_text(h["model"]), h["dt"], h["integrator"], h["gravity"], parameters=h.get("parameters"),
                                     joint_dynamics=joint_dynamics)  # fmt: skip
        try:
            return record(simulator, recording, functools.partial(simulator.resume, recording, wanted), {}, steps)
        except engine.SimulationError as error:
            if "was recorded with" not in str(error):
                raise
    by = f"by an engine ({h['engine']}) that computed otherwise than this one; expected the one that began it" if mine else (
         "with functions of its own (a controller, forces, actuators or events), which a file cannot hold; expected Simulator.resume in "
         "the program that began it")  # fmt: skip
    raise Failure(f"'{recording}' was recorded {by}")


def objection(recording: Recording, file: str, wanted: float, steps: int) -> str:
    """Return why a run cannot go on to a time, s, by the steps and records that it would have had; nothing where it can."""
    h, begun, last = recording.header, len(recording) > 0, last_time(recording)
    dt, every = float(h["dt"]), int(h["record_every"])
    if not recording.complete and not interrupted(recording):
        return f"'{file}' {ended_how(recording, steps)}; there is nothing to go on from"
    if text := too_short(recording, wanted, "--duration"):
        return text
    if begun and wanted > last + 1e-6 * dt and abs(last - steps * dt) > 1e-6 * dt:
        return f"'{file}' {ended_how(recording, -1)}; expected a run whose duration is a multiple of dt = {dt:g} s"
    if begun and recording.complete and steps % every:
        return f"'{file}' {ended_how(recording, steps)}; expected a run whose duration is a multiple of {dt * every:g} s"
    return ""


def warn_of_versions(header: Mapping[str, Any]) -> None:
    """Say what has changed since a run was begun and may change its bits."""
    now = {"engine": version("articulated-engine"), "llvmlite": version("llvmlite"), "machine": platform.machine()}
    changed = [f"{n} {header[n]} (now {x})" for n, x in now.items() if header.get(n, x) != x]
    if changed:
        note(f"recorded with {', '.join(changed)}; from here on the last bits may differ")
