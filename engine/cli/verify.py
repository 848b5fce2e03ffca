"""``engine verify``: checks that recordings are complete, and every byte as it was recorded."""

from typing import Annotated

import typer

import engine
from engine.cli.ending import Failure
from engine.cli.recordings import being_written, goes_on, interrupted, steps_done
from engine.recording import Recording
from engine.simulation.run_header import ended_how, last_time, robot_in

Runs = Annotated[list[str], typer.Argument(metavar="RUN", help="Recordings (HDF5).")]


def verify(recordings: Runs) -> None:
    """Say what recordings are worth: whole, interrupted, or damaged, and where.

    Every byte is read, and compared with its checksum.

    Examples:
    engine verify run.h5
    engine verify run.h5 batch.h5

    Exit code: 0 if each is whole and complete, else 1. An interrupted recording is whole as far as it goes, and engine resume goes on with
    it; of a damaged one, what is not damaged can still be read.
    """
    bad = [file for file in recordings if not print_state(file)]
    if bad:
        count = f"{len(bad)} of {len(recordings)} are" if len(recordings) > 1 else f"{bad[0]} is"
        raise Failure(f"{count} not whole; expected complete recordings, every byte as it was recorded")


def print_state(file: str) -> bool:
    """Print the state of a recording, and return whether it is whole."""
    try:
        with Recording.open(file) as recording:
            n, last, damage = len(recording), last_time(recording), recording.damage()
            if not damage and "model" in recording.header:
                robot_in(recording)
            text = f"{n} record{'s' * (n != 1)}{f', to t = {last:g} s' * (n > 0)}, every byte as it was recorded"
            if damage:
                text = f"damaged in {'; '.join(damage)}"
            elif recording.complete:
                text = f"whole: {text}"
            elif being_written(recording.path):
                text = f"being written, and whole until now: {text}"
            elif interrupted(recording):
                text = f"interrupted, and whole until then: {text}; {goes_on(recording)} goes on"
            else:
                text = f"not complete, as it {ended_how(recording, steps_done(recording))}; whole until then: {text}"
            print(f"{file}: {text}")
            return recording.complete and not damage
    except engine.EngineError as error:
        print(f"{file}: {error}")
        return False
