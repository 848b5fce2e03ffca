"""``engine torques``: inverse dynamics of a trajectory."""

from typing import Annotated

import typer

import engine
from engine.cli.ending import Failure, note
from engine.cli.files import require_ending, say_written, write_atomically
from engine.cli.options import Floating, Gravity, Overwrite, Robot, Rollout, Weightless, chosen_gravity, expect
from engine.cli.recordings import read_table
from engine.cli.tables import gravity_text, print_peaks
from engine.dynamics import GRAVITY
from engine.identification.columns import DEGREE, motion_of, rates
from engine.simulation.columns import write_columns

odd = expect(lambda n: n > DEGREE and n % 2, f"an odd number of rows from {DEGREE + 1}")
Smooth = Annotated[int, typer.Option(metavar="N", help="Differentiate quartics fitted to N rows each (odd); 5 goes through them, more "
                                     "smooths.", callback=odd)]  # fmt: skip


def torques(
    robot: Robot,
    trajectory: Annotated[str, typer.Argument(metavar="TRAJECTORY", help="A CSV file, or a recording (HDF5).")],
    out: Annotated[str | None, typer.Option(metavar="FILE", help="A CSV file (.csv) for the torques over time.")] = None,
    floating: Floating = False,
    gravity: Gravity = None,
    zero_gravity: Weightless = False,
    smooth: Smooth = DEGREE + 1,
    rollout: Rollout = None,
    overwrite: Overwrite = False,
) -> None:
    """Compute the joint torques that make a robot move along a trajectory.

    Inverse dynamics; with --floating the wrench on the base is among them.

    Examples:
    engine torques robot.urdf motion.csv
    engine torques robot.urdf motion.csv --out torques.csv
    engine torques robot.urdf measured.csv --smooth 21      noisy positions
    engine torques robot.urdf run.h5 --floating --out torques.csv

    motion.csv has a line of names: t, and a column for each coordinate (shoulder, or q.shoulder; a floating base has floating_base.qw …
    floating_base.z). Columns v.shoulder, … and vdot.shoulder, … are used if they are there; else q is differentiated on the manifold.
    Damping and friction are not part of the torques.
    """
    chosen = chosen_gravity(gravity, zero_gravity)
    if out is not None:
        require_ending(out, ".csv")
    model = engine.load(robot, floating_base=floating)
    table, recorded = read_table(trajectory, rollout)
    if "t" not in table:
        raise Failure(f"'{trajectory}' has no column 't'; expected the time, s, and one for each coordinate")
    t = table["t"]
    found, ignored = motion_of(model, table, trajectory)
    q = model.normalized(found["q"])
    v, vdot, how = rates(model, t, q, found, smooth, trajectory)
    if smooth != DEGREE + 1 and {"v", "vdot"} <= {*found}:
        note(f"--smooth {smooth} is not read: '{trajectory}' has columns v.… and vdot.…, and nothing is differentiated")
    g = chosen or recorded or GRAVITY
    tau = engine.compile(model, g).rnea(q, v, vdot)
    if out is not None:
        with write_atomically(out, trajectory, overwrite) as path, path.open("w", newline="") as file:
            write_columns(file, {"t": t, **{f"tau.{n}": x for n, x in zip(model.labels("v"), tau.T, strict=True)}})
    whose = " (the recording's)" if g is recorded else ""
    print(f"{model.name}: {len(t)} rows, {t[0]:g} … {t[-1]:g} s; gravity {gravity_text(g)}{whose}\n{how}")
    if ignored:
        print(f"columns not used: {', '.join(dict.fromkeys(n.partition('[')[0] for n in ignored))}")
    print_peaks(model, t, tau)
    if out is not None:
        say_written(out, f"{len(t)} rows")
