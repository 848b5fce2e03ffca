"""``engine convert``: a recording, or a campaign, as a file of other tools."""

from pathlib import Path
from typing import Annotated

import typer

import engine
from engine.cli.ending import Failure, refuse_unread
from engine.cli.files import require_ending, require_new, say_written
from engine.cli.options import Overwrite, Rollout
from engine.cli.recordings import one_rollout
from engine.recording import Recording
from engine.simulation.logged import ENDINGS, MESSAGES, failures

#: of what holds a whole batch, or a campaign's table
TABLES = (".mat", ".parquet")
Link = Annotated[str | None, typer.Option(metavar="LINK", help="Of .oem and .aem: whose orbit or attitude it is.")]
Epoch = Annotated[str | None, typer.Option(metavar="TIME", help="Of .oem and .aem: when it begins, UTC, such as 2026-11-27T12:00:00.")]
Center = Annotated[str | None, typer.Option(metavar="NAME", help="Of .oem and .aem: about what it flies, such as EARTH.")]
Prefix = Annotated[str, typer.Option(metavar="NAME/", help="Of .mcap and .rosbag2: of topics and frames, so that several robots differ.")]


def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording (HDF5), or a campaign's folder.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="A log of ROS 2 (.mcap, or a folder .rosbag2), MATLAB's .mat, .parquet, an "
                                         "orbit (.oem) or an attitude (.aem).")],
    rollout: Rollout = None,
    link: Link = None,
    epoch: Epoch = None,
    overwrite: Overwrite = False,
    prefix: Prefix = "",
    center: Center = None,
) -> None:
    """Write a recording as a log that other tools read, or a campaign's runs as a table.

    Examples:
    engine convert run.h5 run.mcap            for Foxglove, without ROS
    engine convert run.h5 run.rosbag2         ros2 bag play run.rosbag2
    engine convert run.h5 run.mat
    engine convert batch.h5 batch.mat         all rollouts
    engine convert batch.h5 third.mcap --rollout 2
    engine convert run.h5 hand.aem --link fore --epoch 2026-11-27T12:00:00

    Of a campaign's folder it is a row for each run, of a batch in .parquet one for each state of each rollout. Joints with one coordinate
    are in /joint_states, the poses of all links in /tf, the robot in /robot_description.
    """
    require_ending(out, *ENDINGS)
    require_new(out, overwrite)
    ending = Path(out).suffix.lower()
    if ending in MESSAGES and (link is None or epoch is None):
        raise Failure(f"'{out}' says when and of what it is; expected --link, one of the robot's, and --epoch 2026-11-27T12:00:00")
    if Path(file).is_dir():
        if ending not in TABLES:
            raise Failure(f"'{file}' is a folder, of a campaign whose runs make a table; expected {' or '.join(TABLES)}", 2)
        refuse_unread("is of recordings, and this is a campaign; expected it left out", rollout=rollout is not None, link=link is not None,
                      epoch=epoch is not None, prefix=bool(prefix), center=center is not None)  # fmt: skip
        runs = engine.load_campaign(file)
        runs.save(out, overwrite)
        return say_written(out, f"{len(runs)} runs")
    with Recording.open(file) as recording:
        whole = bool(recording.batch) and rollout is None and ending in TABLES
    trajectory = engine.load_trajectory(file) if whole else one_rollout(file, rollout)
    trajectory.save(out, overwrite, link, epoch, prefix, center)
    ended = f"; failed: {failures(trajectory)}" if trajectory.failed.any() else ""
    print(f"{out}: {len(trajectory)} states, {trajectory.t[0]:g} … {trajectory.t[-1]:g} s{ended}")
