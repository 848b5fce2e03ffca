"""``engine simulate``: a robot from a file, and a recording of how it moves."""

import datetime
import os
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer

import engine
from engine.checks import nearest
from engine.cli.ending import Failure, note
from engine.cli.files import require_ending, require_new
from engine.cli.options import Floating, Gravity, Overwrite, Robot, Weightless, chosen_gravity, one_of, seconds
from engine.cli.recordings import note_described, read_table, record
from engine.dynamics import GRAVITY
from engine.identification.columns import motion_of
from engine.integrate import METHODS
from engine.simulation.wires import groundless

Array = np.ndarray
Integrator = Annotated[str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(METHODS)}; if not given cg4, or ros34pw2 where "
                        "joints are stiff.", callback=one_of(METHODS, "integrator "))]
Start = Annotated[str, typer.Option(metavar="WHERE", help="neutral (all zero), random (within the limits), or a file (CSV or recording); "
                                "if not given as the robot's file has it.")]
Velocity = Annotated[list[str] | None, typer.Option(metavar="WHAT", help="zero, random (standard normal), or NAME=VALUE (repeatable; the "
                     "rest is zero). If not given: the start file's; random for a random start; else zero.")]  # fmt: skip
Ideal = Annotated[bool, typer.Option("--ideal-joints", help="Without the damping, friction and limits of the robot's file.")]


def simulate(
    robot: Robot,
    duration: Annotated[float, typer.Option(metavar="S", help="How long, s.", callback=seconds)],
    out: Annotated[str, typer.Option(metavar="FILE", help="The recording to write (HDF5: .h5, .hdf5).")],
    floating: Floating = False,
    dt: Annotated[float | None, typer.Option(metavar="S", help="The step, s; if not given the file's, or 1e-3.", callback=seconds)] = None,
    integrator: Integrator = None,
    gravity: Gravity = None,
    zero_gravity: Weightless = False,
    record_every: Annotated[int, typer.Option(metavar="N", help="Keep every N-th state.", min=1)] = 1,
    start: Start = "",
    seed: Annotated[int | None, typer.Option(metavar="N", help="For what is random; 0 if none is given.", min=0)] = None,
    velocity: Velocity = None,
    ideal_joints: Ideal = False,
    overwrite: Overwrite = False,
) -> None:
    """Simulate a robot and record it.

    No motors act: it moves by gravity, by the velocities it begins with, and by the friction and the stops of its joints.

    Examples:
    engine simulate robot.urdf --floating --duration 10 --out run.h5
    engine simulate arm.urdf --duration 5 --out a.h5 --start random --seed 3
    engine simulate arm.urdf --duration 5 --out a.h5 --velocity elbow=0.5
    engine simulate arm.urdf --duration 5 --out a.h5 --start start.csv
    engine simulate arm.urdf --duration 5 --out a.h5 --dt 1e-4 --record-every 10

    start.csv has a line of names and a line of numbers: a column for each coordinate (shoulder, or q.shoulder), and for each velocity
    (v.shoulder) or for none. Of a longer file, or of a recording, the last line counts.

    Ctrl-C, or a kill, leaves a readable file; engine resume goes on with it, to the same bits.
    """
    if seed is not None and start != "random" and velocity != ["random"]:
        raise typer.BadParameter("--seed is given but nothing is random; expected --start random or --velocity random with it")
    g = chosen_gravity(gravity, zero_gravity)
    require_ending(out, ".h5", ".hdf5")
    require_new(out, overwrite and not os.path.isdir(out))
    model = engine.load(robot, floating_base=floating)
    note_described(model)
    q0, v0, said = first_state(model, start, seed or 0, velocity or [])
    says = model.described
    dt = (says.dt if says else None) or 1e-3 if dt is None else dt
    g = (says.gravity if says else None) or GRAVITY if g is None else g
    simulator = engine.Simulator(model, dt, integrator, g, joint_dynamics=not ideal_joints)
    if falling := groundless(simulator):
        note(f"'{falling[0]}' falls freely, as there are no contacts here; engine.Contacts(ground=engine.HalfSpace()), in Python, has "
             "a ground")  # fmt: skip
    notes = {"command": "engine simulate", "robot": os.path.abspath(robot), "start": said, "q0": q0.tolist(), "v0": v0.tolist(),
             "joint_dynamics": not ideal_joints, "begun": datetime.datetime.now(datetime.timezone.utc).isoformat()}  # fmt: skip
    record(simulator, out, lambda progress: simulator.run(
        q0, v0, duration, record_every, progress, out=out, overwrite=overwrite, notes=notes), notes)  # fmt: skip


def first_state(model: engine.Model, start: str, seed: int, velocity: Sequence[str]) -> tuple[Array, Array, str]:
    """Return q0 (nq), v0 (nv), and what they are in words."""
    rng = np.random.default_rng(seed)
    q, v, said = model.neutral(), np.zeros(model.nv), start or "neutral"
    if not start and model.described is not None:
        q, said = model.initial(), "as the file has it"
    elif start == "random":
        q, v = model.random(rng)
        said = f"random, seed {seed}"
    elif start not in ("", "neutral"):
        if not os.path.exists(start):
            raise Failure(f"--start {start} is no file, nor 'random' or 'neutral'{nearest(start, ['random', 'neutral'])}", 2)
        table, _ = read_table(start, None)
        found, _ = motion_of(model, {n: x[-1:] for n, x in table.items()}, start)
        q, v = model.normalized(found["q"][0]), found["v"][0] if "v" in found else v
        said = f"{'the last line of ' * (len(next(iter(table.values()))) > 1)}{start}"
    if velocity == ["random"] and start != "random":
        v = rng.standard_normal(model.nv)
    elif velocity and velocity != ["random"]:
        v = named_velocities(model, velocity if velocity != ["zero"] else [])
    return q, v, said + f"; velocity {', '.join(velocity)}" * bool(velocity)


def named_velocities(model: engine.Model, texts: Sequence[str]) -> Array:
    """Return v (nv) with the values that are given as NAME=VALUE; the rest is zero."""
    if "zero" in texts or "random" in texts:
        raise Failure(f"--velocity {' --velocity '.join(texts)}: expected zero, random, or NAME=VALUE as often as you like", 2)
    names, v = model.labels("v"), np.zeros(model.nv)
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise Failure(f"--velocity {text}: expected zero, random, or NAME=VALUE{nearest(text, ['zero', 'random'])}", 2)
        if name not in names:
            raise Failure(f"--velocity {text}: '{model.name}' has no velocity '{name}'{nearest(name, names)}; expected one of "
                          f"{', '.join(names)}", 2)  # fmt: skip
        try:
            v[names.index(name)] = float(value)
        except ValueError:
            raise Failure(f"--velocity {text}: '{value}' is no number", 2) from None
    return model.checked("v0", v)
