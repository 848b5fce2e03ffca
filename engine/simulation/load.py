"""Trajectories out of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.recording import Recording, StorageError
from engine.simulation.contact_table import Touching, table_of
from engine.simulation.mounts import mounts_in
from engine.simulation.run_header import events_in, ground_in, names_in, outcome_in, robot_in
from engine.simulation.trajectory import Trajectory


def load_trajectory(path: str | Path, start: int = 0, stop: int | None = None, step: int = 1) -> Trajectory:
    """Return the trajectory in a file that ``Simulator.run(..., out=path)`` wrote, or a part of its records: ``start``, ``stop``, ``step``.

    Also while it is being written, and after the simulation was killed: then it ends where the file does.

    Raises
    ------
    StorageError : there is no such file, or it is no recording of a simulation, or damaged: among these records, or in what they mean

    >>> import engine, tempfile
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> path = engine.Simulator(arm).run(arm.neutral(), [0.0] * 7, 0.1, out=tempfile.mkdtemp() + "/arm.h5")
    >>> len(engine.load_trajectory(path)), len(engine.load_trajectory(path, start=50))
    (101, 51)
    """
    with Recording.open(path) as recording:
        model, gravity, parameters = robot_in(recording)
        read = {n: recording.read(n, start, stop, step) for n in recording.columns if n != "events"}
        events = events_in(recording, start, stop)
        stopped = recording.checkpoint().get("stopped") if recording.batch else None
        (reason, warnings), names, ground = outcome_in(recording), names_in(recording), ground_in(recording)
        sensors = mounts_in(recording, [link.name for link in model.links])
        held = tuple(recording.header.get("held", ()))
        table = touching_in(recording, start, stop, step)
        lead = len(recording.batch)
    t = read.pop("t")
    arrays = {n: np.moveaxis(x, 0, lead) for n, x in read.items()}
    q, v, tau, vdot = (arrays.pop(n) for n in ("q", "v", "tau", "vdot"))
    return Trajectory(model, gravity, t, q, v, tau, vdot, arrays, events, stopped, parameters, reason, warnings, names, ground, table,
                      sensors, held)


def touching_in(recording: Recording, start: int, stop: int | None, step: int) -> Touching | None:
    """Return what finds the points of contact in a file, of a part of its records, if it has some."""
    if "contacts" not in recording.tables:
        return None
    links, each = recording.header.get("contact_links"), recording.table("contacts", start, stop, step)
    numbers = np.concatenate([np.zeros((0, 2)), *(points[:, :2] for points in each)])
    if not isinstance(links, list) or not ((numbers >= 0) & (numbers < len(links)) & (numbers == np.floor(numbers))).all():
        raise StorageError(f"the points of contact in '{recording.path}' are of links that it does not name; expected the file as it was "
                           "recorded")  # fmt: skip
    table = table_of(each, [str(name) for name in links])
    return Touching(lambda k, records: table.of(records), np.array(0), np.arange(len(each)))
