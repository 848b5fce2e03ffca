"""A process that records until it is killed, or that says how much memory it took: ``python -m tests.recording.writer_killed …``."""

import os
import resource
import sys

import numpy as np

from engine.recording import Recorder, Recording

COLUMNS = {"t": (), "q": (3,), "none": (0,), "pose": (2, 2)}
BATCH = (2,)
CHECKPOINT = {"count": (), "q": (2, 3)}
HEADER = {"dt": 0.5, "model": "<robot/>\n" * 200}


def truth(start: int, stop: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Records start … stop of a motion that every test knows, and the checkpoint after them."""
    k = np.arange(start, stop, dtype=float)
    q = k[:, None, None] + np.arange(6.0).reshape(2, 3) / 8
    q[k % 7 == 3, 0, 1] = np.nan
    pose = -k[:, None, None, None] * np.arange(1.0, 9.0).reshape(2, 2, 2)
    records = {"t": 0.5 * k, "q": q, "none": np.zeros((len(k), 2, 0)), "pose": pose}
    return records, {"count": np.array(float(stop)), "q": np.full((2, 3), stop / 8)}


def create(path, **options) -> Recorder:
    return Recorder.create(path, COLUMNS, BATCH, HEADER, CHECKPOINT, **options)


def record(recorder: Recorder, stop: int, block: int, seed: int = 0) -> None:
    """Go on until there are ``stop`` records, in blocks of random sizes up to ``block``."""
    rng = np.random.default_rng(seed)
    while len(recorder) < stop:
        recorder.append(*truth(len(recorder), min(stop, len(recorder) + int(rng.integers(1, block + 1)))))


def until_killed(path: str, buffer: str, block: str) -> None:
    recorder = create(path, buffer=int(buffer))
    recorder.age = 0.05
    print("recording", os.getpid(), flush=True)
    record(recorder, 10**7, int(block))


def runs() -> None:
    """For every line, 'path buffer block', a process that is killed; then its exit status."""
    for line in sys.stdin:
        if os.fork() == 0:
            until_killed(*line.split())
        print("ended", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)


def memory(path: str, records: str) -> None:
    """Print by how many MiB the process grew while it wrote, after a first tenth."""
    with create(path, buffer=1 << 20) as recorder:
        record(recorder, int(records) // 10, 1000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        record(recorder, int(records), 1000)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def left_open(path: str) -> None:
    """End without closing the recorder."""
    global recorder
    recorder = create(path)
    globals()["reader"] = Recording.open(path)
    record(recorder, 100, 10)


def forked(path: str) -> None:
    """A fork inherits a recorder, adds to its copy and ends as a program does; the recorder goes on."""
    with create(path, buffer=1000) as recorder:
        record(recorder, 500, 10)
        if os.fork() == 0:
            record(recorder, 2000, 10)
            recorder.close(complete=True)
            sys.exit()
        os.wait()
        assert len(Recording.open(path)) <= len(recorder)
        record(recorder, 1000, 10)


if __name__ == "__main__":
    {f.__name__: f for f in (until_killed, runs, memory, left_open, forked)}[sys.argv[1]](*sys.argv[2:])
