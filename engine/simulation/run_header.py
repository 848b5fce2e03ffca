"""Metadata in a recording's header: the robot, the ground, the parameters, and its end and events; written, and checked when read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import path_of
from engine.integrate.event import Crossing, crossings
from engine.io import model_from_text, model_hash, model_text, text_hash
from engine.model import Model
from engine.recording import Recording, StorageError
from engine.simulation.mounts import Mount, as_data

Array = np.ndarray


def header_of(model: Model, gravity: tuple[float, ...], parameters: Mapping[str, Array],
              names: Mapping[str, Sequence[str]], ground: Array | None, sensors: Mapping[str, Mount],
              held: Sequence[str]) -> dict[str, Any]:  # fmt: skip
    """Return the part of a file's header that is of the robot, its ground, sensors and rollouts, with the ``names`` of signals' entries and
    the columns that are ``held`` between ticks."""
    return {"model": model_text(model), "model_name": model.name, "model_hash": model_hash(model), "gravity": list(gravity),
            "armature": model.armature.tolist(), "rollout_parameters": dict(parameters), "q_entries": list(model.labels("q")),
            "v_entries": list(model.labels("v")), **({"names": {n: list(x) for n, x in names.items()}} if names else {}),
            **({} if ground is None else {"ground": ground.tolist()}), **({"sensors": as_data(sensors)} if sensors else {}),
            **({"held": [*held]} if held else {})}  # fmt: skip


def outcome(reason: Array | str | None, warnings: Sequence[str], whole: str = "") -> dict[str, Any]:
    """Return the part of a file's header that is known in the end: why a run, or rollouts of a batch, failed, why a batch as a ``whole``
    did, and what was noted."""
    rows = reason if isinstance(reason, np.ndarray) else np.array("" if reason is None else reason, dtype=object)
    texts = {",".join(map(str, row)): str(text) for row, text in np.ndenumerate(rows) if text} | ({"": whole} if whole else {})
    return {**({"reasons": texts} if texts else {}), **({"warnings": list(warnings)} if warnings else {})}


def checked_path(path: str | Path) -> Path:
    """Return the path of a file to write; refuse one whose ending says that it holds something else than HDF5."""
    path = path_of(path, StorageError)
    if path.suffix.lower() not in ("", ".h5", ".hdf5"):
        raise StorageError(f"'{path}' ends in '{path.suffix}', and what is written is HDF5; expected .h5, .hdf5 or no ending, or of a "
                           "trajectory's save one of .mcap, .rosbag2, .mat, .parquet, .oem, .aem")
    return path


# ---------------------------------------------------------------- reading


def is_number(x: Any) -> bool:
    """Return whether x is a finite number."""
    return isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e300


def is_list(x: Any, of: Callable[[Any], bool]) -> bool:
    """Return whether x is a list of these."""
    return isinstance(x, list) and all(map(of, x))


def is_text(x: Any) -> bool:
    """Return whether x is a text."""
    return isinstance(x, str)


TEXT = is_text, "a text"
ABOVE_ZERO = (lambda x: is_number(x) and x > 0), "a number above zero"
TEXTS = (lambda x: is_list(x, is_text)), "a list of texts"
BY_NAME = (lambda x: isinstance(x, dict)), "values by name"
#: what an entry must be where there is one, and in words
ENTRIES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("model", "model_name", "model_hash", "conventions", "integrator", "program", "functions", "x0", "engine", "numpy",
                     "llvmlite", "python", "machine", "asked"), TEXT),
    "dt": ABOVE_ZERO, "duration": ABOVE_ZERO, "parameters": BY_NAME, "rollout_parameters": BY_NAME,
    **dict.fromkeys(("q_entries", "v_entries", "components", "constraints", "event_names", "held"), TEXTS),
    "gravity": (lambda x: is_list(x, is_number) and len(x) == 3, "three numbers, m/s²"),
    "armature": (lambda x: is_list(x, is_number), "a list of numbers"),
    "ground": (lambda x: is_list(x, lambda row: is_list(row, is_number)) and [*map(len, x)] == [4] * 4, "a pose, 4 × 4 numbers"),
    "record_every": (lambda x: is_number(x) and x == int(x) >= 1, "a whole number from 1"),
    "events": (lambda x: is_list(x, lambda e: isinstance(e, dict)), "a list of events"),
    "names": ((lambda x: isinstance(x, dict) and all(is_list(y, is_text) for y in x.values())), "texts by name"),
    "warnings": TEXTS, "reasons": ((lambda x: isinstance(x, dict) and is_list([*x.values()], is_text)), "texts by rollout"),
}  # fmt: skip


def header_in(recording: Recording) -> dict[str, Any]:
    """Return a recording's header; StorageError where an entry of a run's is not what it should be."""
    for name, (good, expected) in ENTRIES.items():
        if name in recording.header and not good(recording.header[name]):
            raise StorageError(f"header['{name}'] of '{recording.path}' is {recording.header[name]!r:.100}; expected {expected}")
    return recording.header


def robot_in(recording: Recording) -> tuple[Model, tuple[float, ...], dict[str, Array]]:
    """Return the model, the gravity and the parameters by name (\\*batch, \\*shape) of a recording of a simulation.

    Raises
    ------
    StorageError : it is of something else, its model is not the one whose hash it has, or its columns or parameters do not fit the model
    """
    header, path = header_in(recording), recording.path
    for name in ("model", "model_hash", "gravity", "armature", "rollout_parameters"):
        if name not in header:
            raise StorageError(f"'{path}' is a recording of something else, without '{name}' in its header; expected one of a simulation")
    try:
        same, model = text_hash(header["model"]) == header["model_hash"], model_from_text(header["model"])
    except Exception as error:  # whatever a text leads to that is no model's
        raise StorageError(f"the model in '{path}' cannot be read ({error}); expected the text of a model") from None
    if not same:
        raise StorageError(f"the model in '{path}' is not the one of header['model_hash']; expected the model that was recorded")
    for name, n in {"q": model.nq, "v": model.nv, "tau": model.nv, "vdot": model.nv}.items():
        if name not in recording.columns:
            raise StorageError(f"'{path}' has no column '{name}'; expected one of shape ({n},), for '{model.name}'")
        if recording.columns[name] != (n,):
            raise StorageError(f"column '{name}' of '{path}' has shape {recording.columns[name]}; expected ({n},), for '{model.name}'")
    armature = np.array(header["armature"], dtype=float)
    if armature.shape != (model.nv,):
        raise StorageError(f"header['armature'] of '{path}' has {len(armature)} entries; expected {model.nv}, for '{model.name}'")
    if armature.any():
        model = model.with_armature(armature - model.armature)
    return model, tuple(header["gravity"]), {n: parameter_in(recording, n, x) for n, x in header["rollout_parameters"].items()}


def too_short(recording: Recording, duration: float, option: str = "duration") -> str:
    """Return why a run cannot be resumed to last ``duration`` s, less than it has lasted or was to last; nothing where it can."""
    if duration < (last := last_time(recording)) - 1e-9 * recording.header["dt"]:
        return f"{option} is {duration:g} s, and '{recording.path}' holds {last:g} s already; expected a {option} from there on"
    if duration < (planned := recording.header["duration"]):
        return f"{option} is {duration:g} s, less than the {planned:g} s that '{recording.path}' was to last; expected at least that"
    return ""


def last_time(recording: Recording) -> float:
    """Return the time of the last record, s; 0 where there is none."""
    return float(recording.read("t", len(recording) - 1)[0]) if len(recording) else 0.0


def ended_how(recording: Recording, steps: int) -> str:
    """Return how a run ended that cannot be made longer, in words; it had done so many ``steps`` then, −1 where it was not on its grid."""
    h, last = recording.header, last_time(recording)
    if text := h.get("reasons", {}).get(""):
        return f"failed ({text})"
    zeros = recording.read("events", len(recording) - 1)[0] if len(recording) and "events" in recording.columns else ()
    if names := [name for name, zero in zip(h.get("event_names", ()), zeros, strict=False) if zero]:
        return f"ended at t = {last:g} s, at a zero of {' and of '.join(names)}"
    if steps >= 0:
        return f"ended between two records of every {h['record_every']} steps, and the records of a longer run would fall elsewhere"
    return f"ended with a step shorter than dt, at t = {last:g} s, and the steps of a longer run would fall elsewhere"


def parameter_in(recording: Recording, name: str, x: Any) -> Array:
    """Return the values of a parameter (\\*batch, \\*shape)."""
    try:
        values = np.array(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        values = np.full(0, math.nan)
    if values.shape[: len(recording.batch)] != recording.batch:
        raise StorageError(f"the parameter '{name}' in '{recording.path}' is {x!r:.100}; expected numbers for rollouts {recording.batch}")
    return values


def names_in(recording: Recording) -> dict[str, tuple[str, ...]]:
    """Return the names of signals' entries."""
    return {n: tuple(x) for n, x in header_in(recording).get("names", {}).items()}


def ground_in(recording: Recording) -> Array | None:
    """Return the pose (4, 4) of the ground, if there was one."""
    found = header_in(recording).get("ground")
    return None if found is None else np.array(found, dtype=float)


def outcome_in(recording: Recording) -> tuple[Array | str | None, tuple[str, ...]]:
    """Return why a run or rollouts (\\*batch) failed, None where none did, and what was noted of it."""
    header, batch = header_in(recording), recording.batch
    texts, noted = header.get("reasons", {}), tuple(header.get("warnings", ()))
    if not texts:
        return None, noted
    found = np.full(batch, "", dtype=object)
    try:
        for row, text in sorted(texts.items()):                                # of the whole, "", first
            found[tuple(int(k) for k in row.split(",") if k)] = text
    except (ValueError, IndexError):
        raise StorageError(f"header['reasons'] of '{recording.path}' speaks of rollout '{row:.20}'; expected one of {batch}") from None
    return found if batch else str(found[()]), noted


def events_in(recording: Recording, start: int, stop: int | None) -> tuple[Crossing, ...]:
    """Return the events among records start … stop − 1 of a run, or all that a trajectory had when it was saved."""
    header = recording.header
    if "events" not in recording.columns:
        try:
            return tuple(Crossing(int(e["function"]), str(e["name"]), float(e["t"]), tuple(np.array(e[n], dtype=float) for n in "qv"))
                         for e in header.get("events", ()))  # fmt: skip
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StorageError(f"header['events'] of '{recording.path}' cannot be read ({error}); expected events with times and "
                               "states") from None  # fmt: skip
    names = header.get("event_names", ())
    if recording.columns["events"] != (len(names),):
        raise StorageError(f"'{recording.path}' has {recording.columns['events']} columns of events; expected one for each of {names}")
    zeros = recording.read("events", start, stop)
    rows = np.flatnonzero(zeros.any(axis=1))
    first = slice(start, stop).indices(len(recording))[0]
    t, q, v = (np.array([recording.read(n, first + k, first + k + 1)[0] for k in rows]) for n in ("t", "q", "v"))
    return crossings(names, zeros[rows], t, q, v)
