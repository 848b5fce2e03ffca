"""Recordings: what is written is read, also in the middle of writing, after a kill at any moment, and on a full disk."""

import errno
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest

from engine import interrupts
from engine.recording import Recorder, Recording, StorageError, checksums, journal, journaled_file, verify
from engine.recording import recording as reading
from engine.recording.checksums import FIRST
from tests.recording.damage import seal
from tests.recording.writer_killed import BATCH, CHECKPOINT, COLUMNS, HEADER, create, record, truth

TOP, ROOM, HOLDS = Path(__file__).parents[2], Path(journaled_file.__file__).parent, Path(interrupts.__file__)
RECORD = 8 * (1 + 2 * 3 + 2 * 4)  # bytes


def bits(arrays):
    return {name: (np.shape(x), np.asarray(x).tobytes()) for name, x in arrays.items()}


def assert_is_the_truth(recording, columns=COLUMNS):
    """All records, and the checkpoint after exactly these; returns how many."""
    records, checkpoint = truth(0, len(recording))
    assert bits({name: recording.read(name) for name in columns}) == bits({name: records[name] for name in columns})
    assert bits(recording.checkpoint()) == (bits(checkpoint) if recording.checkpoint() or len(recording) else {})
    return len(recording)


def holds(path):
    with Recording.open(path) as recording:
        return assert_is_the_truth(recording)


def contents(path):
    """Everything in a file, as bytes, as plain h5py sees it."""
    with h5py.File(path, "r") as file:
        found = {f"@{k}": str(v) for k, v in file.attrs.items()}
        file.visititems(lambda name, x: found.update({name: (x.shape, x[()].tobytes() if x.dtype != object else x[()])}
                                                     if isinstance(x, h5py.Dataset) else {name: dict(x.attrs)}))  # fmt: skip
    return found


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "tests.recording.writer_killed", *map(str, arguments)],
                          cwd=TOP, capture_output=True, text=True, timeout=100)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 13, 14, 15, 200])
@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_round_trip_at_chunk_borders(tmp_path, n, block):
    """Chunks and buffer hold 7 records; blocks are smaller, equal, larger."""
    path = tmp_path / "run.h5"
    with create(path, buffer=7 * RECORD) as recorder:
        record(recorder, n, block)
        assert len(recorder) == n
    with Recording.open(path) as recording:
        assert recording.complete and recording.header == HEADER and recording.batch == BATCH and recording.columns == COLUMNS
        assert assert_is_the_truth(recording) == n
    with h5py.File(path) as file:
        assert file["t"].chunks == (7,) and file["q"].chunks == (7, 2, 3)


def test_no_batch_and_the_default_buffer(tmp_path):
    path, rng = tmp_path / "folder" / "run.h5", np.random.default_rng(0)
    t, q = np.arange(70_000) * 1e-3, rng.standard_normal((70_000, 40))
    q[::1000] = np.nan
    with Recorder.create(path, {"t": (), "q": (40,)}, (), {}, {}) as recorder:
        for k in range(0, 70_000, 7_000):
            recorder.append({"q": q[k : k + 7_000], "t": t[k : k + 7_000]}, {})
    recording = Recording.open(str(path))
    assert recording.read("t").tobytes() == t.tobytes() and recording.read("q").tobytes() == q.tobytes()
    assert recording.header == {} and recording.batch == () and recording.checkpoint() == {}


@pytest.mark.parametrize(("start", "stop", "step"), [
    (0, None, 1), (5, 9, 1), (3, 100, 7), (-4, None, 1), (None, -95, 1), (90, 10, 1), (99, None, 5), (100, None, 1), (0, 1000, 100),
])  # fmt: skip
@pytest.mark.parametrize("piece", [1, 500, 1 << 25])
def test_slices(tmp_path, monkeypatch, start, stop, step, piece):
    monkeypatch.setattr(reading, "PIECE", piece)
    with create(tmp_path / "run.h5", buffer=7 * RECORD) as recorder:
        record(recorder, 100, 30)
    records, _ = truth(0, 100)
    recording = Recording.open(tmp_path / "run.h5")
    for name, x in records.items():
        assert bits({name: recording.read(name, start, stop, step)}) == bits({name: x[start:stop:step]})


def test_what_is_given_is_copied_and_converted(tmp_path):
    """The caller's arrays are its own: changed after append; of other types, orders and strides; lists."""
    path = tmp_path / "run.h5"
    with Recorder.create(path, {"t": (), "q": (2,)}, (), {}, {"x": (2,)}) as recorder:
        t, q, x = np.array([0, 1]), np.ones((2, 2), np.float32), np.array([5.0, 6.0])
        recorder.append({"t": t, "q": q}, {"x": x})
        t[:], q[:], x[:] = 9, 9, 9
        recorder.append({"t": [2, 3, 4], "q": np.arange(12.0).reshape(4, 3).T[:, ::2]}, {"x": [True, 7]})
        recorder.flush()
        assert Recording.open(path).checkpoint()["x"].tolist() == [1, 7]
        x[:] = 5, 6
        recorder.append({"t": t[:0], "q": q[:0]}, {"x": x})
        x[:] = 9
    recording = Recording.open(path)
    assert recording.read("t").tolist() == [0, 1, 2, 3, 4]
    assert recording.read("q").tolist() == [[1, 1], [1, 1], [0, 6], [1, 7], [2, 8]]
    assert recording.checkpoint()["x"].tolist() == [5, 6]
    recording.checkpoint()["x"][:] = 0
    assert recording.checkpoint()["x"].tolist() == [5, 6]


def test_plain_h5py_reads_it(tmp_path):
    with create(tmp_path / "run.h5") as recorder:
        record(recorder, 50, 9)
    with h5py.File(tmp_path / "run.h5", "r") as file:
        assert {*file} == {"t", "q", "none", "pose", "checkpoint", "header"}
        assert file.attrs["format"] == b"engine recording 2" and file.attrs["complete"]
        assert json.loads(file.attrs["header"]) == {"dt": 0.5}
        assert file["header/model"].asstr()[()] == HEADER["model"]
        records, checkpoint = truth(0, 50)
        assert bits({name: file[name][:] for name in COLUMNS}) == bits(records)
        assert bits({name: file["checkpoint"][name][()] for name in CHECKPOINT}) == bits(checkpoint)


def test_headers(tmp_path):
    header = {"n": 3, "none": None, "list": [1, {"a": [True]}], "text": "Ω\0\n", "long": "Ω" * 400_000, "zeros": "x\0" * 5000,
              "odd": "\ud800" * 5000, "q0": np.arange(30_000.0), "scalar": np.float32(0.5), "nothing": ""}  # fmt: skip
    with Recorder.create(tmp_path / "run.h5", {"t": ()}, (), header, {}):
        pass
    expected = header | {"q0": header["q0"].tolist(), "scalar": 0.5}
    assert Recording.open(tmp_path / "run.h5").header == expected


def test_resume_goes_on_bit_for_bit(tmp_path):
    """The finished file holds the same as one that was never interrupted; an exception and close(False) leave it to be resumed."""
    with create(tmp_path / "whole.h5", buffer=7 * RECORD) as recorder:
        record(recorder, 100, 9)
    with pytest.raises(ZeroDivisionError), create(tmp_path / "run.h5", buffer=7 * RECORD) as recorder:
        record(recorder, 24, 5)
        raise ZeroDivisionError
    with Recording.open(tmp_path / "run.h5") as recording:
        assert len(recording) == 24 and not recording.complete
    for stop in (24, 28, 31, 77, 100):
        recorder = Recorder.resume(tmp_path / "run.h5", buffer=20 * RECORD)
        assert recorder.columns == COLUMNS and recorder.checkpoint == CHECKPOINT and recorder.batch == BATCH
        assert not Recording.open(tmp_path / "run.h5").complete
        record(recorder, stop, 9, seed=stop)
        assert len(recorder) == stop
        recorder.close(complete=stop == 100)
        recorder.close(complete=False)  # does nothing
        assert holds(tmp_path / "run.h5") == stop
    assert contents(tmp_path / "run.h5") == contents(tmp_path / "whole.h5")
    Recorder.resume(tmp_path / "run.h5").close(complete=False)
    assert not Recording.open(tmp_path / "run.h5").complete and holds(tmp_path / "run.h5") == 100


def test_a_checkpoint_before_the_first_record(tmp_path):
    recorder = create(tmp_path / "run.h5")
    assert Recording.open(tmp_path / "run.h5").checkpoint() == {}
    recorder.append(*truth(0, 0))
    recorder.flush()
    recording = Recording.open(tmp_path / "run.h5")
    assert len(recording) == 0 and bits(recording.checkpoint()) == bits(truth(0, 0)[1])
    recorder.close(complete=False)


def test_buffered_until_full_flushed_or_old(tmp_path):
    path = tmp_path / "run.h5"
    with create(path, buffer=70 * RECORD) as recorder:
        recorder.age = 100.0
        record(recorder, 60, 1)
        assert holds(path) == 0
        recorder.flush()
        assert holds(path) == 60
        record(recorder, 129, 1)
        assert holds(path) == 60
        record(recorder, 130, 1)
        assert holds(path) == 130
        record(recorder, 135, 1)
        recorder.age = 0.01
        time.sleep(0.02)
        record(recorder, 136, 1)
        assert holds(path) == 136


def test_an_open_recording_is_a_snapshot(tmp_path):
    with create(tmp_path / "run.h5", buffer=7 * RECORD) as recorder:
        record(recorder, 33, 3)
        recorder.flush()
        recording = Recording.open(tmp_path / "run.h5")
        record(recorder, 1000, 3)
        assert assert_is_the_truth(recording) == 33
        assert len(Recording.open(tmp_path / "run.h5")) > 900
    with create(tmp_path / "run.h5", overwrite=True):
        assert holds(tmp_path / "run.h5") == 0
        assert assert_is_the_truth(recording) == 33


# ---------------------------------------------------------------- a kill, between any two writes and within each


class Tape:
    """What a process does to a file, write by write: ``after(k)`` is the file after k of them, half of the last torn off if asked for."""

    def __init__(self, monkeypatch, start=b""):
        self.start, self.done = start, []
        pwrite, ftruncate = os.pwrite, os.ftruncate

        def write(fd, data, at):
            self.done.append((at, bytes(data)))
            return pwrite(fd, data, at)

        def truncate(fd, size):
            self.done.append((size, None))
            return ftruncate(fd, size)

        monkeypatch.setattr(os, "pwrite", write)
        monkeypatch.setattr(os, "ftruncate", truncate)

    def after(self, path, k, torn=False):
        file = bytearray(self.start)
        for i, (at, data) in enumerate(self.done[:k]):
            if data is None:
                file = file[:at].ljust(at, b"\0")
            else:
                data = data[: len(data) // 2] if torn and i == k - 1 else data
                file = file.ljust(at, b"\0")
                file[at : at + len(data)] = data
        path.write_bytes(file)


def has_journal(path):
    with path.open("rb") as file:
        return bool(journal.journal_of(file.fileno()))


def end_of(path):
    """Where HDF5's superblock says the file ends."""
    return struct.unpack_from("<Q", path.read_bytes(), FIRST + 40)[0]


@pytest.fixture
def tape(tmp_path, monkeypatch):
    """A run of 60 records in chunks of 7, from its creation on, and how many writes that took."""
    with monkeypatch.context() as patch:
        tape = Tape(patch)
        with create(tmp_path / "whole.h5", buffer=7 * RECORD) as recorder:
            tape.created = len(tape.done)
            record(recorder, 60, 6)
    return tape


@pytest.mark.parametrize("seed", range(5))
def test_the_file_under_hdf5_against_plain_bytes(tmp_path, monkeypatch, seed):
    """Random writes that overlap, sizes and commits: what is read is what was written, the file is the last state, and so is a reader's.

    Its blocks become larger with it, up to 4 of them.
    """
    monkeypatch.setattr(checksums, "MOST", 4)
    rng, path = np.random.default_rng(seed), tmp_path / "file"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    file = journaled_file.JournaledFile(path, fd, True, new=True)
    model = state = bytes(2 * FIRST)
    file.write(model)
    file.commit()
    for _ in range(400):
        at, n = int(rng.integers(FIRST, len(model) + 1)), int(rng.integers(1, 60 if rng.random() < 0.9 else 20_000))
        data = rng.bytes(n)
        file.seek(at)
        assert file.write(data) == n and file.tell() == at + n
        model = model[:at] + data + model[at + n :]
        if rng.random() < 0.1:
            model = model[: max(2 * FIRST, len(model) - 30)]
            file.truncate(len(model))
        file.seek(0)
        assert file.read(len(model) + 7)[FIRST:] == model[FIRST:] + bytes(7)
        if rng.random() < 0.2:
            file.commit()
            state = model
            assert path.read_bytes()[FIRST : len(state)] == state[FIRST:] and not [*journaled_file.JournaledFile(path, fd, False).damaged()]
        reader = journaled_file.JournaledFile(path, fd, False)
        assert reader.size == len(state) and reader.read(len(state))[FIRST:] == state[FIRST:]
    assert file.head.commits > 50 and file.head.shift > checksums.SHIFT
    os.close(fd)


def test_killed_between_and_within_any_two_writes(tmp_path, tape):
    """Every such file is readable, never goes back, and can be finished; some needed the journal."""
    path, whole, seen, journals = tmp_path / "killed.h5", contents(tmp_path / "whole.h5"), 0, 0
    assert len(tape.done) > 150
    for k in range(tape.created, len(tape.done) + 1):
        for torn in (True, False):
            tape.after(path, k, torn)
            journals += has_journal(path)
            n = holds(path)
            assert n >= seen
            seen = n
        if k % 8 == 1 or has_journal(path):
            with Recorder.resume(path, buffer=7 * RECORD) as recorder:
                assert len(recorder) == n
                record(recorder, 60, 6, seed=k)
            assert contents(path) == whole
    assert seen == 60 and journals > 20


def test_a_journal_counts_only_if_its_checksum_is_right(tmp_path, tape):
    path, tried, length = tmp_path / "killed.h5", 0, 0
    for k in range(tape.created, len(tape.done)):
        tape.after(path, k)
        if has_journal(path) and holds(path) > length:  # whole, and not carried out yet
            file = bytearray(path.read_bytes())
            file[journal.TRAILER.unpack(file[-journal.TRAILER.size :])[1] + 40] ^= 1
            path.write_bytes(file)
            assert not has_journal(path) and holds(path) == length
            tried += 1
            tape.after(path, k)
            length = holds(path)
    assert tried > 3


def test_killed_while_resuming(tmp_path, tape, monkeypatch):
    """A kill at any write of a resumption, of a file that was killed before."""
    path, again, tried = tmp_path / "killed.h5", tmp_path / "again.h5", 0
    for k in range(tape.created, len(tape.done), 13):
        tape.after(path, k, torn=True)
        n = holds(path)
        with monkeypatch.context() as patch:
            second = Tape(patch, path.read_bytes())
            Recorder.resume(path).close(complete=False)
        for j in range(len(second.done) + 1):
            second.after(again, j, torn=j % 2 == 0)
            assert holds(again) == n
            tried += 1
    assert tried > 100


def test_plain_h5py_opens_what_a_kill_left(tmp_path, tape):
    """Everywhere but between a journal's end and that of its commit, it sees what a Recording sees."""
    path, opened = tmp_path / "killed.h5", 0
    for k in range(tape.created, len(tape.done) + 1):
        tape.after(path, k, torn=True)
        if not has_journal(path):
            with h5py.File(path, "r") as file, Recording.open(path) as recording:
                assert file["q"][:].tobytes() == recording.read("q").tobytes()
            opened += 1
    assert opened > 40


@pytest.mark.parametrize(("stride", "burst"), [(1, 1), (2, 1), (3, 1), (5, 1), (2, 2), (3, 4), (5, 3), (7, 5), (11, 8)])
def test_reading_between_any_two_writes(tmp_path, tape, monkeypatch, stride, burst):
    """The writer goes on by ``burst`` writes after every ``stride`` reads of a reader, so that commits fall within them."""
    path = tmp_path / "live.h5"
    tape.after(path, tape.created)
    writer, k, reads, reloads = os.open(path, os.O_RDWR), tape.created, 0, 0
    pread, load = os.pread, journaled_file.JournaledFile.load

    def read(fd, n, at):
        nonlocal k, reads
        reads += 1
        for place, data in tape.done[k : k + burst] if reads % stride == 0 else []:
            os.ftruncate(writer, place) if data is None else os.pwrite(writer, data, place)
            k += 1
        return pread(fd, n, at)

    def counted(store):
        nonlocal reloads
        reloads += 1
        load(store)

    monkeypatch.setattr(os, "pread", read)
    monkeypatch.setattr(journaled_file.JournaledFile, "load", counted)
    early, opens, seen = Recording.open(path), 1, 0
    while k < len(tape.done):
        with Recording.open(path) as recording:
            n = assert_is_the_truth(recording, ("t", "q"))
            assert n >= seen
            seen, opens = n, opens + 1
        assert assert_is_the_truth(early, ("pose",)) <= seen
    assert holds(path) == 60 and reloads > opens
    os.close(writer)


@pytest.fixture
def helper():
    """A process of the other file; arguments → it, with pipes. Killed in the end."""
    begun = []

    def begin(*arguments):
        begun.append(subprocess.Popen([sys.executable, "-m", "tests.recording.writer_killed", *map(str, arguments)], cwd=TOP, text=True,
                                      bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE))  # fmt: skip
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("moment", [2, 3])
@pytest.mark.parametrize("burst", [2, 4])
def test_a_burst_of_writes_while_a_file_is_opened(tmp_path, tape, monkeypatch, moment, burst):
    """The writer does as much as ends a journal and begins to carry it out just before the reader's second or third read."""
    path, pread = tmp_path / "live.h5", os.pread
    for k in range(tape.created, len(tape.done) - burst):
        tape.after(path, k)
        with path.open("r+b") as writer, monkeypatch.context() as patch:
            reads = 0

            def read(fd, n, at, k=k, writer=writer):
                nonlocal reads
                reads += 1
                for place, data in tape.done[k : k + burst] if reads == moment else []:
                    os.ftruncate(writer.fileno(), place) if data is None else os.pwrite(writer.fileno(), data, place)
                return pread(fd, n, at)

            patch.setattr(os, "pread", read)
            with Recording.open(path) as recording:
                assert_is_the_truth(recording, ("t", "pose"))


def test_killed_at_twelve_random_moments(tmp_path, helper):
    """kill −9, for real."""
    rng, within, runs = np.random.default_rng(), 0, helper("runs")
    for trial in range(12):
        path, buffer, block = tmp_path / f"{trial}.h5", int(10 ** rng.uniform(3, 6.5)), int(10 ** rng.uniform(0.5, 4))
        runs.stdin.write(f"{path} {buffer} {block}\n")
        word, process = runs.stdout.readline().split()
        assert word == "recording"
        time.sleep(rng.uniform(0, 0.15))
        os.kill(int(process), signal.SIGKILL)
        assert runs.stdout.readline() == f"ended {-signal.SIGKILL}\n"
        within += path.stat().st_size != end_of(path)
        with Recording.open(path) as recording:
            n = assert_is_the_truth(recording)
            assert not recording.complete
        with Recorder.resume(path, buffer=buffer) as recorder:
            record(recorder, n + 100, block)
        with create(tmp_path / "whole.h5", overwrite=True, buffer=buffer) as recorder:
            record(recorder, n + 100, 5000)
        assert contents(path) == contents(tmp_path / "whole.h5")
        path.unlink()
    assert within > 0


def test_reading_while_another_process_writes(tmp_path, helper):
    path = tmp_path / "run.h5"
    process = helper("until_killed", path, 20_000, 100)
    assert process.stdout.readline().startswith("recording")
    lengths, begun, early = [], time.monotonic(), Recording.open(path)
    while len({*lengths}) < 4 and time.monotonic() - begun < 60.0:
        with Recording.open(path) as recording:
            n = len(recording)
            first = max(0, n - 2000)
            records, checkpoint = truth(first, n)
            assert bits({name: recording.read(name, first) for name in COLUMNS}) == bits(records)
            assert n == 0 or bits(recording.checkpoint()) == bits(checkpoint)
            lengths.append(n)
        assert_is_the_truth(early)
    with pytest.raises(OSError, match="lock"):
        h5py.File(path, "r")
    with pytest.raises(StorageError, match="open in another recorder"):
        Recorder.resume(path)
    process.kill()
    process.wait()
    assert lengths == sorted(lengths) and len({*lengths}) == 4
    Recorder.resume(path).close(complete=False)  # a kill ends the lock


# ---------------------------------------------------------------- a full disk, an interruption, the end of Python


def test_a_disk_that_fills_at_any_write(tmp_path, tape, monkeypatch):
    """StorageError, and the records of the last commit or of the one that failed; with room again, it goes on."""
    writes = sum(data is not None for _, data in tape.done)
    for k in range(0, writes, 5):
        path, left = tmp_path / f"{k}.h5", k
        pwrite = os.pwrite

        def write(fd, data, at, pwrite=pwrite):
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return pwrite(fd, data[: 1 + len(data) // 2] if left == 0 else data, at)

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", write)
            with pytest.raises(StorageError, match="cannot be written") as caught, create(path, buffer=7 * RECORD) as recorder:
                record(recorder, 60, 6)
        assert "No space left on device" in str(caught.value) and "\n" not in str(caught.value) and str(path) in str(caught.value)
        if not path.exists():
            assert not [*tmp_path.glob(f"{k}.h5*")]
            continue
        assert recorder._store.hdf5 is None
        n = holds(path)
        with Recorder.resume(path, buffer=7 * RECORD) as recorder:
            assert len(recorder) == n
            record(recorder, 60, 6)
        assert holds(path) == 60


def test_a_limit_on_the_size_of_files(tmp_path):
    """The kernel's own refusal, in the middle of a write; the recorder is closed, and what it left behind the end is cut off."""
    path, before = tmp_path / "run.h5", resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder = create(path, buffer=100 * RECORD)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_001, before[1]))
        with pytest.raises(StorageError, match="File too large"):
            record(recorder, 10_000, 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(StorageError, match="is closed"):
        recorder.append(*truth(0, 1))
    n = holds(path)
    assert 1000 < n == len(recorder)
    assert path.stat().st_size == journal.Head.of(path.read_bytes()[:FIRST]).end
    with h5py.File(path) as file:
        assert len(file["q"]) == n
    with Recorder.resume(path) as recorder:
        record(recorder, 10_000, 50)
    assert holds(path) == 10_000


def test_ctrl_c_within_a_commit_waits_for_its_end(tmp_path, monkeypatch):
    pwrite, struck = os.pwrite, []

    def write(*arguments):
        if not struck:
            struck.append(signal.raise_signal(signal.SIGINT))
        return pwrite(*arguments)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with create(tmp_path / "run.h5", buffer=7 * RECORD) as recorder:
            record(recorder, 5, 5)
            monkeypatch.setattr(os, "pwrite", write)
            with pytest.raises(KeyboardInterrupt):
                recorder.append(*truth(5, 12))
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert struck and holds(tmp_path / "run.h5") == 12 == len(recorder)
            record(recorder, 20, 5)
    finally:
        signal.signal(signal.SIGINT, before)
    assert holds(tmp_path / "run.h5") == 20


def striking(strike):
    """A trace function that presses Ctrl-C at a line of the room, the ``strike``-th to be run, and how many were run (a list of one)."""
    lines = [0]

    def trace(frame, event, argument):
        if Path(frame.f_code.co_filename) != HOLDS and Path(frame.f_code.co_filename).parent != ROOM:
            return None
        lines[0] += event == "line"
        if event == "line" and lines[0] == strike:
            signal.raise_signal(signal.SIGINT)
        return trace

    return trace, lines


@pytest.mark.parametrize("stop", [5, 12])
def test_ctrl_c_at_any_line(tmp_path, stop):
    """Of an append that collects, and of one that commits: the block is there with its checkpoint, or neither."""
    before, traced, ends = signal.signal(signal.SIGINT, signal.default_int_handler), sys.gettrace(), []
    try:
        for strike in range(1, 3000, 1 if stop == 5 else 23):  # every line, or every 23rd
            trace, lines = striking(strike)
            with create(tmp_path / "run.h5", buffer=7 * RECORD, overwrite=True) as recorder:
                record(recorder, 3, 3)
                sys.settrace(trace)
                try:
                    recorder.append(*truth(3, stop))
                except KeyboardInterrupt:
                    pass
                finally:
                    sys.settrace(traced)
            ends.append(holds(tmp_path / "run.h5"))
            if lines[0] < strike:
                break
        else:
            pytest.fail("too many lines")
    finally:
        signal.signal(signal.SIGINT, before)
    assert {*ends} == {3, stop} and len(ends) > 20


@pytest.mark.parametrize("make", ["create", "resume"])
def test_ctrl_c_at_any_line_of_the_beginning(tmp_path, make):
    """The file is there, whole, and nobody has it open; nothing else is left behind."""
    before, traced = signal.signal(signal.SIGINT, signal.default_int_handler), sys.gettrace()
    try:
        for strike in range(1, 20_000, 61):
            trace, lines = striking(strike)
            path = tmp_path / f"{strike}.h5"
            if make == "resume":
                create(path).close(complete=True)
            sys.settrace(trace)
            try:
                recorder = create(path) if make == "create" else Recorder.resume(path)
            except KeyboardInterrupt:
                recorder = None
            finally:
                sys.settrace(traced)
            if lines[0] < strike:
                recorder.close(complete=False)
                break
            assert recorder is None and (not path.exists() or holds(path) == 0)
            if path.exists():
                Recorder.resume(path).close(complete=True)
        else:
            pytest.fail("too many lines")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [*tmp_path.glob("*.new")] and strike > 100


def test_what_a_resumed_header_says(tmp_path):
    create(tmp_path / "run.h5").close(complete=True)
    with Recorder.resume(tmp_path / "run.h5", header={"dt": 0.25, "seed": 3}) as recorder:
        record(recorder, 5, 5)
    assert Recording.open(tmp_path / "run.h5").header == {**HEADER, "dt": 0.25, "seed": 3}
    for seed in ([0] * 1000, "x" * 2000, 4, [1] * 1000):                       # long ones lie elsewhere
        with Recorder.resume(tmp_path / "run.h5", header={"seed": seed}):
            pass
        assert Recording.open(tmp_path / "run.h5").header == {**HEADER, "dt": 0.25, "seed": seed}
    with Recorder.resume(tmp_path / "run.h5") as recorder:
        recorder.note({"seed": 7, "result": ["good"] * 500})
        record(recorder, 10, 5)
    assert Recording.open(tmp_path / "run.h5").header == {**HEADER, "dt": 0.25, "seed": 7, "result": ["good"] * 500}
    with pytest.raises(StorageError, match="is closed"):
        recorder.note({"seed": 8})


def test_an_exception_within_a_commit_leaves_the_last_one(tmp_path):
    """Not of the disk: of memory, or raised by a signal; some columns have grown already."""
    with pytest.raises(MemoryError), create(tmp_path / "run.h5", buffer=7 * RECORD) as recorder:
        record(recorder, 14, 7)
        recorder.flush()

        class Full:
            def set_extent(self, shape):
                raise MemoryError

        recorder._contents.columns["pose"] = Full()
        recorder.append(*truth(14, 30))
    assert holds(tmp_path / "run.h5") == 14
    Recorder.resume(tmp_path / "run.h5").close(complete=True)


def test_left_open_until_python_ends(tmp_path):
    assert run("left_open", tmp_path / "run.h5") == ""
    assert holds(tmp_path / "run.h5") == 100
    assert not Recording.open(tmp_path / "run.h5").complete


def test_a_fork_does_not_touch_the_file(tmp_path):
    run("forked", tmp_path / "run.h5")
    assert holds(tmp_path / "run.h5") == 1000


def test_a_recorder_that_nobody_holds_is_closed(tmp_path):
    record(create(tmp_path / "run.h5"), 10, 3)
    assert holds(tmp_path / "run.h5") == 10
    Recorder.resume(tmp_path / "run.h5").close(complete=True)


# ---------------------------------------------------------------- memory


def test_memory_does_not_grow_with_the_run(tmp_path):
    """48 MB written by a process that grows by less than 8 MiB after the first tenth."""
    assert float(run("memory", tmp_path / "run.h5", 400_000)) < 8
    assert (tmp_path / "run.h5").stat().st_size > 45e6
    tracemalloc.start()
    try:
        recording = Recording.open(tmp_path / "run.h5")
        assert recording.read("q", 300_000, 300_100).tobytes() == truth(300_000, 300_100)[0]["q"].tobytes()
        assert recording.read("t", step=1000).tobytes() == truth(0, 400_000)[0]["t"][::1000].tobytes()
        tracemalloc.reset_peak()
        recording.read("pose", 10, 20)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- errors


def one_sentence(caught, path=None):
    text = str(caught.value)
    assert "expected" in text and "\n" not in text and not text.endswith(".") and (path is None or str(path) in text)
    return text


def other_format(path):
    with h5py.File(path, "r+") as file:
        file.attrs["format"] = np.bytes_("engine recording 3")


def hdf5_of_something_else(path):
    path.unlink()
    with h5py.File(path, "w") as file:
        file["q"] = np.zeros(3)


def edited(change):
    def edit(path):
        with h5py.File(path, "r+") as file:
            change(file)
        seal(path)
    return edit


@pytest.mark.parametrize(("damage", "text"), [
    (lambda path: path.unlink(), "there is no file"),
    (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    (lambda path: path.write_bytes(b""), "is not an HDF5 file"),
    (lambda path: path.write_text("<robot/>" * 1000), "is not an HDF5 file"),
    (lambda path: path.write_bytes(path.read_bytes()[:100]), "is damaged in bytes 0 … 511, or cut short"),
    (lambda path: path.write_bytes(path.read_bytes()[:600]), "is cut short"),
    (lambda path: path.write_bytes(path.read_bytes()[:5000]), "is cut short"),
    (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is cut short"),
    (lambda path: path.write_bytes(bytes(FIRST) + path.read_bytes()[FIRST:]), "is damaged in bytes 0 … 511"),
    (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"), "its checksums"),
    (lambda path: path.write_bytes(path.read_bytes()[:600] + b"?" + path.read_bytes()[601:]), "is damaged in bytes 512 … 4607"),
    (other_format, "its checksums"),
    (lambda path: (other_format(path), seal(path)), "has the format 'engine recording 3'"),
    (hdf5_of_something_else, "is an HDF5 file of something else"),
    (edited(lambda file: file["q"].resize(3, axis=0)), "is damaged: column 'q' has shape (3, 2, 3) of float64; expected (100, 2, 3)"),
    (edited(lambda file: file["checkpoint"].attrs.modify("records", 3)), "it holds 100 records, and a checkpoint of record 3"),
    (edited(lambda file: file.__delitem__("pose")), "is damaged: column 'pose' is missing"),
    (edited(lambda file: file.__setitem__("more", np.zeros(100))), "is damaged: column 'more' is not in its layout"),
    (edited(lambda file: file.__delitem__("checkpoint/q")), "is damaged: array of the checkpoint 'q' is missing"),
    (edited(lambda file: file.attrs.__delitem__("header")), "is damaged (KeyError"),
    (edited(lambda file: file.attrs.modify("layout", np.bytes_("{"))), "is damaged (JSONDecodeError"),
])  # fmt: skip
@pytest.mark.parametrize("opener", [Recording.open, Recorder.resume])
def test_files_that_cannot_be_opened(tmp_path, damage, text, opener):
    path = tmp_path / "run.h5"
    with create(path, buffer=7 * RECORD) as recorder:
        record(recorder, 100, 30)
    damage(path)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    with pytest.raises(StorageError) as caught:
        opener(path)
    assert text in one_sentence(caught, path)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_rewritten_by_another_program(tmp_path):
    """A copy has no checksums, and is refused; plain h5py still reads it. So is a file of the layout before there were any."""
    with create(tmp_path / "run.h5") as recorder:
        record(recorder, 100, 30)
    with h5py.File(tmp_path / "run.h5") as file, h5py.File(tmp_path / "small.h5", "w") as copy:
        copy.attrs.update(file.attrs)
        file.copy("checkpoint", copy)
        file.copy("header", copy)
        for name in COLUMNS:
            copy.create_dataset(name, data=file[name][:], **({"compression": "gzip"} if name != "none" else {}))
    old = tmp_path / "old.h5"
    old.write_bytes(struct.pack("<16sQ", b"engine recording", 3).ljust(FIRST, b"\0") + (tmp_path / "run.h5").read_bytes()[FIRST:])
    for opener in (Recording.open, Recorder.resume, verify):
        with pytest.raises(StorageError) as caught:
            opener(tmp_path / "small.h5")
        assert "rewritten by another program, and has no checksums" in one_sentence(caught, tmp_path / "small.h5")
        with pytest.raises(StorageError) as caught:
            opener(old)
        assert "is a recording of an older layout, without checksums" in one_sentence(caught, old)
    with h5py.File(old) as file:
        assert len(file["q"]) == 100


@pytest.mark.parametrize(("path", "text"), [
    ("there.h5", "exists; expected a new path, or overwrite=True"),
    (".", "exists; expected a new path"),
    ("there.h5/run.h5", "cannot be created (its folder is a file)"),
    ("/proc/nowhere/run.h5", "cannot be created (No such file or directory)"),
])  # fmt: skip
def test_paths_that_cannot_be_created(tmp_path, path, text):
    (tmp_path / "there.h5").write_text("mine")
    with pytest.raises(StorageError) as caught:
        create(tmp_path / path)
    assert text in one_sentence(caught, tmp_path / path)
    assert (tmp_path / "there.h5").read_text() == "mine" and len([*tmp_path.iterdir()]) == 1


@pytest.fixture
def refused(monkeypatch):
    """What may only be read, as it is to all but root, who runs tests too."""
    def open_(path, flags, mode=0o777):
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return whole(path, flags, mode)

    whole = os.open
    return lambda: monkeypatch.setattr(os, "open", open_)


def test_a_folder_that_cannot_be_written(tmp_path, refused):
    refused()
    with pytest.raises(StorageError) as caught:
        create(tmp_path / "run.h5")
    assert "Permission denied" in one_sentence(caught, tmp_path / "run.h5")


def test_a_file_that_cannot_be_written(tmp_path, refused):
    create(tmp_path / "run.h5").close(complete=True)
    refused()
    assert holds(tmp_path / "run.h5") == 0
    with pytest.raises(StorageError) as caught:
        Recorder.resume(tmp_path / "run.h5")
    assert "Permission denied" in one_sentence(caught, tmp_path / "run.h5")


@pytest.mark.parametrize("opener", [Recording.open, Recorder.resume, lambda path: create(path, overwrite=True)])
def test_what_is_no_ordinary_file_is_left_alone(tmp_path, opener):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(StorageError) as caught:
        opener(path)
    assert "not an ordinary file" in one_sentence(caught, path) or "exists; expected a new path" in str(caught.value)
    assert path.is_fifo()


def test_overwrite_replaces_when_whole_and_never_under_a_writer(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("mine")
    with create(path, overwrite=True) as recorder:
        record(recorder, 10, 3)
        with pytest.raises(StorageError) as caught:
            create(path, overwrite=True)
        assert "open in another recorder" in one_sentence(caught, path)
    assert holds(path) == 10 and [*tmp_path.iterdir()] == [path]


def test_a_path_taken_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    link = os.link

    def late(new, old):
        old.write_text("theirs")
        link(new, old)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(StorageError) as caught:
        create(path)
    assert "exists" in one_sentence(caught, path)
    assert path.read_text() == "theirs" and [*tmp_path.iterdir()] == [path]


def test_names_with_slashes(tmp_path):
    """As those of a robot among several have them; in the file, where a slash would make a group, they are one name."""
    path = tmp_path / "run.h5"
    with Recorder.create(path, {"t": (), "servicer/elbow.power": ()}, (), {}, {"servicer/wheels": (2,)}) as recorder:
        recorder.append({"t": [0.0], "servicer/elbow.power": [3.0]}, {"servicer/wheels": [1.0, 2.0]})
    with Recording.open(path) as recording:
        assert recording.read("servicer/elbow.power").tolist() == [3.0]
        assert recording.checkpoint()["servicer/wheels"].tolist() == [1.0, 2.0]
    with h5py.File(path) as file:
        assert file["servicer∕elbow.power"][:].tolist() == [3.0]


@pytest.mark.parametrize(("changes", "text"), [
    ({"columns": {"q": (3,)}}, "expected among them 't' with shape ()"),
    ({"columns": {"t": (1,)}}, "expected among them 't' with shape ()"),
    ({"columns": {"t": (), "a∕b": ()}}, "a name in columns is 'a∕b'; expected one such as 'q', without ∕"),
    ({"columns": {"t": (), "header": ()}}, "a name in columns is 'header'"),
    ({"columns": {"t": (), "q": 3}}, "columns['q'] is 3; expected a shape"),
    ({"columns": {"t": (), "q": (-1,)}}, "columns['q'] is (-1,)"),
    ({"columns": {"t": (), "q": (1 << 30,)}}, "expected less than 4 GiB"),
    ({"checkpoint": {"x∕y": ()}}, "a name in checkpoint is 'x∕y'"),
    ({"checkpoint": {"x": (1.5,)}}, "checkpoint['x'] is (1.5,)"),
    ({"batch": 3}, "batch is 3"),
    ({"batch": (True,)}, "batch is (True,)"),
    ({"buffer": 0}, "buffer is 0; expected a whole number from 1"),
    ({"header": {"f": print}}, "header['f'] is <built-in function print>"),
    ({"header": {3: "x"}}, "a header's key is 3"),
    ({"header": {"a/b": "x" * 2000}}, "a header's key is 'a/b'"),
    ({"header": {f"k{i}": "x" * 900 for i in range(100)}}, "characters of JSON; expected at most 60000"),
])  # fmt: skip
def test_layouts_that_are_refused(tmp_path, changes, text):
    given = {"columns": COLUMNS, "batch": BATCH, "header": HEADER, "checkpoint": CHECKPOINT} | changes
    with pytest.raises(StorageError) as caught:
        Recorder.create(tmp_path / "run.h5", **given)
    assert text in one_sentence(caught)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("records", "checkpoint", "text"), [
    ({"q": np.zeros((4, 2, 4))}, {}, "has shape (4, 2, 4); expected (n, 2, 3)"),
    ({"q": np.zeros((4, 3))}, {}, "has shape (4, 3); expected (n, 2, 3)"),
    ({"t": np.zeros((4, 1))}, {}, "has shape (4, 1); expected (n,)"),
    ({"t": np.zeros(5)}, {}, "has numbers of records {'t': 5, 'q': 4, 'none': 4, 'pose': 4}"),
    ({"none": np.zeros((4, 2, 1))}, {}, "has shape (4, 2, 1); expected (n, 2, 0)"),
    ({"extra": np.zeros(4)}, {}, "hold ['extra', 'none', 'pose', 'q', 't']; expected ['none', 'pose', 'q', 't']"),
    ({"t": np.zeros(4, complex)}, {}, "holds complex128; expected real numbers"),
    ({"t": ["a"] * 4}, {}, "expected real numbers"),
    ({"t": [[1], [1, 2]]}, {}, "is no array"),
    ({}, {"q": np.zeros(3)}, "checkpoint['q']"),
    ({}, {"x": np.zeros(3)}, "hold ['count', 'q', 'x']; expected ['count', 'q']"),
])  # fmt: skip
def test_blocks_that_are_refused(tmp_path, records, checkpoint, text):
    """And nothing of them is kept."""
    path = tmp_path / "run.h5"
    with create(path) as recorder:
        record(recorder, 10, 10)
        good, state = truth(10, 14)
        with pytest.raises(StorageError) as caught:
            recorder.append(good | records, state | checkpoint)
        assert text in one_sentence(caught, path)
        assert len(recorder) == 10
    assert holds(path) == 10


def test_reading_what_is_not_there(tmp_path):
    create(tmp_path / "run.h5").close(complete=True)
    recording = Recording.open(tmp_path / "run.h5")
    for arguments, text in [(("tau",), "has no column 'tau'; expected one of t, q, none, pose"), (("q", 0, None, 0), "step is 0"),
                            (("q", 0, None, -1), "step is -1"), (("q", 0, None, 1.5), "step is 1.5")]:  # fmt: skip
        with pytest.raises(StorageError) as caught:
            recording.read(*arguments)
        assert text in one_sentence(caught)
    recording.close()
    recording.close()
    with pytest.raises(StorageError, match="is closed"):
        recording.read("q")
    assert recording.header == HEADER


def test_a_writer_that_leaves_no_time_to_read(tmp_path, monkeypatch):
    create(tmp_path / "run.h5").close(complete=True)
    monkeypatch.setattr(journaled_file.JournaledFile, "unchanged", lambda self: False)
    with pytest.raises(StorageError) as caught:
        Recording.open(tmp_path / "run.h5")
    assert "written faster than it can be read" in one_sentence(caught)


def test_what_they_look_like(tmp_path):
    with create(tmp_path / "run.h5") as recorder:
        record(recorder, 3, 3)
        assert repr(recorder) == "<recorder of 'run.h5': 3 records of t, q, none, pose; open>"
    assert repr(recorder) == "<recorder of 'run.h5': 3 records of t, q, none, pose; closed>"
    assert repr(Recording.open(tmp_path / "run.h5")) == "<recording 'run.h5': 3 records of t, q, none, pose; complete>"
