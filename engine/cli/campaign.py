"""``engine campaign``: many runs of a robot with scatter, from a file, into a folder."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.campaign_file import campaign_in
from engine.cli.ending import Failure, note

File = Annotated[str, typer.Argument(metavar="FILE", help="What to run (TOML), see below.")]
Out = Annotated[str | None, typer.Option(metavar="FOLDER", help="Where to: a folder, or s3://bucket/name; if not given, FILE without "
                                         "its ending. What is there is gone on with.")]  # fmt: skip
Workers = Annotated[int, typer.Option(metavar="N", help="Processes; 1 is this one, on all its cores.", min=1)]


def campaign(file: File, out: Out = None, workers: Workers = 1) -> None:
    r"""Run a robot many times with scattered masses and beginnings, and say what came of it.

    Each run is the same bits on any number of workers, and when it is run again. What is there already is not run again: after Ctrl-C, or
    a kill, the same command goes on.

    Examples:
    engine campaign scatter.toml
    engine campaign scatter.toml --out out/scatter --workers 2

    scatter.toml says, for example: robot = "arm.urdf", duration = 5.0, runs = 1000, seed = 7, dt = 0.002, gravity = \[0, 0, 0]; and tables:

    \[q0] elbow = 0.3

    \[scatter] "mass.hand" = {norm = \[2.0, 0.1]}, "v0.elbow" = {uniform = {loc = -0.5, scale = 1.0}}

    \[metrics] swing = "max |v.elbow|", caught = "final q.elbow < 0.1", miss = "module:function" (found beside the file)

    Distributions are those of scipy.stats, with their numbers; attitudes of floating joints, "attitude.floating_base", also "uniform".
    Besides: floating = true, integrator, design = "sobol", "latin_hypercube" or "grid" (with lists of values to scatter), record_every,
    chunk, \[keep] columns = \["q"], rate = 10, runs = 20, and \[stop] caught = 0.01, how narrow a 95 % interval is enough.

    A folder has HDF5 files; one that ends in .zarr, and --out s3://bucket/scatter (gs, az; it takes the extra "cloud"), has Zarr 3.
    Credentials and AWS_ENDPOINT_URL are the environment's.

    In Python, engine.load_campaign opens the folder as one table, and shows every run in full.
    """
    folder = str(Path(file).with_suffix("")) if out is None else out
    if os.path.realpath(folder) == os.path.realpath(file):
        raise Failure(f"'{file}' has no ending, and is no folder; expected --out FOLDER")
    made, stop = campaign_in(file)
    pool: Any = contextlib.nullcontext()
    if workers > 1:
        pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    with pool as executor:
        try:
            runs = made.run(folder, executor, sys.stdout.isatty(), stop)
        except KeyboardInterrupt:
            note(f"what was done is in '{folder}'; the same command goes on")
            raise
    print(f"{folder}: {len(runs)} of {made.plan.runs} runs of '{made.plan.simulator.model.name}', {int(runs.failed.sum())} failed")
    for name, x in runs.estimates().items():
        print(f"  {name:<11} {x}")
