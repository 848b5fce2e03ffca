"""Processes that simulate onto disk, to be killed, or to say what memory it takes: ``python -m tests.recording.recording_killed …``."""

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import engine
from engine.recording import Recorder
from engine.simulation import run_loop
from tests.recording.test_recording import LONG, SPIN, busy, satellite


def runs() -> None:
    """For every line, a path, the number of a process that begins or resumes a run there; then its exit status."""
    simulator, Recorder.age, run_loop.pieces = busy(), 0.0, twenty
    simulator.run(satellite().neutral(), SPIN, 0.01)  # the machine code is there
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        process = os.fork()
        if process == 0:
            simulator.resume(path) if path.exists() else simulator.run(satellite().neutral(), SPIN, *LONG, out=path)
            os._exit(0)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)


def twenty(records: int) -> Iterator[tuple[int, int]]:
    """Small blocks of one size."""
    return ((i, min(i + 20, records)) for i in range(0, records, 20))


def memory(path: str, rollouts: str, steps: str, every: str) -> None:
    """Print the peak of the process's memory, MiB, after a batch of the free-flyer's motions onto disk, every few steps."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    run_loop.pieces = twenty  # not of a tenth of a second each
    scale = np.linspace(0.0, 0.1, int(rollouts))[:, None]
    engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0)).run(q, v * scale, int(steps) * 1e-3, int(every), out=path, overwrite=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    {f.__name__: f for f in (runs, memory)}[sys.argv[1]](*sys.argv[2:])
