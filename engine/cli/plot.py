"""``engine plot``: a recording's figure."""

import os
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.ending import Failure
from engine.cli.files import say_written, write_atomically
from engine.cli.options import Overwrite, Rollout, Run
from engine.cli.recordings import thinned

Picture = Annotated[str | None, typer.Option(metavar="FILE", help="The picture's file; if not given, the recording's name with .png.")]


def plot(
    recording: Run,
    out: Picture = None,
    rollout: Rollout = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a recording.

    Joints, speeds, forces and powers; of a base that moves its attitude, and how well momentum is kept.

    Examples:
    engine plot run.h5                    writes run.png
    engine plot run.h5 --out motion.pdf   or .svg, …
    engine plot batch.h5 --rollout 3
    """
    os.environ.setdefault("MPLBACKEND", "Agg")        # no window, and no need of a screen
    picture = str(Path(recording).with_suffix(".png")) if out is None else out
    trajectory, n = thinned(recording, rollout)
    if not Path(picture).suffix:
        raise Failure(f"'{picture}' has no ending; expected one that says what to draw, such as .png, .pdf or .svg")
    try:
        with write_atomically(picture, recording, overwrite) as path:
            trajectory.plot(path)
    except ValueError as error:
        if "is not supported" not in str(error):
            raise
        raise Failure(f"'{picture}' cannot be drawn ({error})") from None
    say_written(picture, f"{len(trajectory)} of {n} records, {trajectory.t[0]:g} … {trajectory.t[-1]:g} s")
