"""``engine export``: a recording as CSV; a robot or a recording as a page, glTF, or a recording for rerun."""

import os
from pathlib import Path
from typing import Annotated

import typer

import engine
from engine.cli.ending import refuse_unread
from engine.cli.files import require_ending, say_written, write_atomically
from engine.cli.options import (
    Collision,
    Environment,
    Floating,
    Hidden,
    Overlays,
    Overwrite,
    Packages,
    Plots,
    Rate,
    Rollout,
    Signals,
    Trails,
    UpAxis,
    overlaid,
    plotted,
)
from engine.cli.recordings import one_rollout, shown
from engine.simulation.columns import write_columns
from engine.viewer.files.export import PAGE, WRITERS

PIECE = 10_000            # records that are in memory at a time


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording (HDF5); for what is looked at also a URDF file.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="A page (.html), glTF (.glb), a recording for rerun (.rrd), or a CSV file "
                                         "(.csv).")],
    rollout: Rollout = None,
    every: Annotated[int, typer.Option(metavar="N", help="CSV: write every N-th record.", min=1)] = 1,
    fps: Rate = 30.0,
    environment: Environment = None,
    collision: Collision = False,
    floating: Floating = False,
    show: Overlays = None,
    trail: Trails = None,
    hide: Hidden = None,
    signal: Signals = None,
    plots: Plots = "right",
    package_dir: Packages = None,
    up_axis: UpAxis = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a recording as comma-separated values, or as a page, glTF or a recording for rerun that plays.

    Examples:
    engine export run.h5 run.csv
    engine export run.h5 run.csv --every 10
    engine export batch.h5 third.csv --rollout 2
    engine export run.h5 run.html             plays in any browser
    engine export run.h5 run.html --show momentum --trail gripper
    engine export run.h5 run.html --signal q.shoulder,q.elbow --plots left
    engine export run.h5 run.glb --fps 60     for Blender, game engines
    engine export run.h5 run.rrd              for the viewer of rerun, with plots
    engine export robot.urdf robot.glb

    Columns of a CSV file are t, q.JOINT, v.JOINT, tau.JOINT, vdot.JOINT, signals and parameters; every number to its last bit. A page
    needs no server and no network.
    """
    require_ending(out, ".csv", *WRITERS)
    if Path(out).suffix.lower() in WRITERS:
        refuse_unread(f"is for a CSV file, and '{out}' is none; expected .csv, or the option left out", every=every != 1)
        if Path(out).suffix.lower() != PAGE:
            refuse_unread(f"is for a page, and '{out}' is none; expected {PAGE}, or the option left out", show=show, trail=trail, hide=hide,
                          signal=signal, plots=plots != "right")  # fmt: skip
        source = shown(file, floating, rollout, package_dir, up_axis)
        with write_atomically(out, file, overwrite) as path:
            engine.export(source, path, fps, environment, "collision" if collision else "visual",
                          shown=overlaid(show, trail, hide, None) if show or trail or hide else None,
                          signals=plotted(signal), plots=plots)  # fmt: skip
        return say_written(out, f"{os.path.getsize(out) / 1e6:.2g} MB")
    refuse_unread(f"is for what is looked at, and '{out}' is a CSV file; expected {', '.join(WRITERS)}, or the option left out",
                  fps=fps != 30, environment=environment, collision=collision, floating=floating, package_dir=package_dir,
                  up_axis=up_axis is not None, show=show, trail=trail, hide=hide, signal=signal, plots=plots != "right")  # fmt: skip
    count = start = 0
    with write_atomically(out, file, overwrite) as path, path.open("w", newline="") as opened:
        while start == count * every:                 # as long as pieces are whole
            part = one_rollout(file, rollout, start, start + PIECE * every, every)
            columns = {"t": part.t, **part.columns()}
            write_columns(opened, columns, names=not start)
            count, start = count + len(part), start + PIECE * every
    say_written(out, f"{count} rows of {len(columns)} columns")
