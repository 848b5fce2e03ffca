"""Damaged and hostile recordings: what is read is the truth, or an error that names the damage; nothing outside of the file is touched."""

import os
import struct
import threading
import tracemalloc
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from engine.recording import Recorder, Recording, StorageError, Verdict, checksums, journal, verify
from engine.recording.checksums import FIRST
from tests.recording.damage import seal
from tests.recording.test_journaled_file import RECORD, assert_is_the_truth, bits, holds, one_sentence, tape, truth  # noqa: F401
from tests.recording.writer_killed import COLUMNS, HEADER, create, record

HELD = 100                                              # records of the small recording


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A small recording, in chunks of 7 records."""
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    with create(path, buffer=7 * RECORD) as recorder:
        record(recorder, HELD, 30)
    return path.read_bytes()


@pytest.fixture
def large(tmp_path) -> Path:
    """A recording of several chunks, each larger than a block of its checksums."""
    rng = np.random.default_rng(0)
    with Recorder.create(tmp_path / "large.h5", {"t": (), "q": (50,), "none": (0,)}, (), HEADER, {}, buffer=1 << 18) as recorder:
        recorder.append({"t": np.arange(6000.0), "q": rng.standard_normal((6000, 50)), "none": np.zeros((6000, 0))}, {})
    return tmp_path / "large.h5"


def place_of(path: Path, x: float) -> int:
    """Where a number lies in a file."""
    at = path.read_bytes().index(struct.pack("<d", x))
    assert path.read_bytes().count(struct.pack("<d", x)) == 1
    return at


def change(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


# ---------------------------------------------------------------- checksums


def test_every_byte_is_under_a_checksum_that_zlib_alone_can_check(whole):
    """The head, the blocks, and the table, by struct and zlib: the layout as it is written down."""
    magic, commits, size, shift, check = struct.unpack_from("<16sQQII", whole)
    assert magic == b"engine record 2\n" and commits > 2 and shift == 12
    assert zlib.crc32(whole[:508]) == struct.unpack_from("<I", whole, 508)[0]
    blocks = [whole[at : min(at + 4096, size)] for at in range(512, size, 4096)]
    table = struct.pack(f"<{len(blocks)}I", *map(zlib.crc32, blocks))
    assert whole[size:] == table and zlib.crc32(table) == check


@pytest.mark.parametrize("most", [1, 4, 1 << 16])
def test_blocks_become_larger_with_the_file(tmp_path, monkeypatch, most):
    """Their checksums are put together from those of the halves; every one is right at every commit, and tells a flipped bit."""
    monkeypatch.setattr(checksums, "MOST", most)
    path, rng = tmp_path / "run.h5", np.random.default_rng(1)
    with Recorder.create(path, {"t": (), "q": (5,)}, (), {}, {}, buffer=5000) as recorder:
        for k in range(40):
            recorder.append({"t": np.arange(k * 40.0, k * 40 + 40), "q": rng.standard_normal((40, 5))}, {})
            recorder.flush()
            if k % 5 == 0:
                assert verify(path).damage == ()
    head = journal.Head.of(path.read_bytes()[:FIRST])
    assert head.table <= 4 * most and (head.size - FIRST > most << 12) == (head.shift > 12)
    for at in rng.integers(FIRST, path.stat().st_size, 20):
        data = bytearray(path.read_bytes())
        data[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.h5").write_bytes(data)
        with pytest.raises(StorageError, match="is damaged in"), Recording.open(tmp_path / "bad.h5") as recording:
            recording.read("t"), recording.read("q")
            raise StorageError(f"is damaged in {recording.damage()[0]}")       # between the chunks, or beyond the last record


def readings(path: Path) -> str:
    """How reading all of a file ends: "truth" or "error"; other numbers are a failure."""
    try:
        with Recording.open(path) as recording:
            assert assert_is_the_truth(recording) == HELD and recording.header == HEADER and recording.complete
    except StorageError as error:
        assert "expected" in str(error) and "\n" not in str(error)
        return "error"
    return "truth"


@pytest.mark.parametrize("what", ["zeros", "ones", "cut"])
def test_every_sector_of_512_bytes_in_turn(tmp_path, whole, what):
    """What a power failure leaves: a sector that was never written, or a file that ends before it."""
    path, ends = tmp_path / "run.h5", []
    for at in range(0, len(whole), 512):
        n = len(whole[at : at + 512])
        sector = {"zeros": bytes(n), "ones": b"\xff" * n, "cut": b""}[what]
        path.write_bytes(whole[:at] + sector + (whole[at + n :] if sector else b""))
        ends.append(readings(path))
        assert ends[-1] == ("truth" if path.read_bytes() == whole else "error")
        assert what != "cut" or ends[-1] == "error"
    assert ends.count("error") > 40


def test_any_flipped_bit(tmp_path, whole):
    """Four hundred of them: of the head, of HDF5's structures, of numbers, of the checksums."""
    path, rng = tmp_path / "run.h5", np.random.default_rng(0)
    for at in [*range(0, 2000, 13), *rng.integers(0, len(whole), 206), *range(len(whole) - 40, len(whole))]:
        data = bytearray(whole)
        data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        assert readings(path) == "error"


def test_damage_is_named_and_the_rest_can_be_read(large):
    """By column and records; a slice that does not touch it is read, and so are other columns."""
    with Recording.open(large) as recording:
        q = recording.read("q")
    with h5py.File(large) as file:
        rows = file["q"].chunks[0]
    at = place_of(large, q[3 * rows + 5, 7])
    change(large, at, struct.pack("<d", 4.0))
    block = FIRST + ((at - FIRST) >> 12 << 12)
    where = f"records {3 * rows} … {4 * rows - 1} of column 'q'"
    with Recording.open(large) as recording:
        with pytest.raises(StorageError) as caught:
            recording.read("q")
        assert f"is damaged in {where} (bytes {block} … {block + 4095}); expected" in one_sentence(caught, large)
        with pytest.raises(StorageError, match=f"records {4 * rows - 2} … {4 * rows - 1} of column 'q'"):
            recording.read("q", 4 * rows - 2, 4 * rows + 2)
        assert (recording.read("q", 0, 3 * rows) == q[: 3 * rows]).all() and (recording.read("q", 4 * rows) == q[4 * rows :]).all()
        assert (recording.read("t") == np.arange(6000.0)).all()
    assert verify(large) == Verdict(large, 6000, True, (where, f"bytes {block} … {block + 4095}"))
    assert not verify(large).whole and str(verify(large)) == f"'{large}' is damaged: {where}; bytes {block} … {block + 4095}"


def test_much_damage_is_named_together(large):
    with h5py.File(large) as file:
        rows = file["q"].chunks[0]
    with Recording.open(large) as recording:
        first, last = (place_of(large, recording.read("q")[i, 0]) for i in (rows, 3 * rows - 1))
    change(large, first, bytes(last - first))
    found = verify(large).damage
    assert f"records {rows} … {3 * rows - 1} of column 'q'" in found and len(found) <= 4


def test_what_a_recording_is_worth(tmp_path):
    path = tmp_path / "run.h5"
    recorder = create(path, buffer=7 * RECORD)
    record(recorder, 50, 9)
    recorder.flush()
    assert verify(path) == Verdict(path, 50, False) and not verify(path).whole                 # while it is written
    recorder.close(complete=False)
    assert str(verify(path)) == f"'{path}' is not complete, and whole as far as it goes: 50 records, every byte as it was recorded"
    Recorder.resume(path).close(complete=True)
    assert verify(path).whole and str(verify(str(path))) == f"'{path}' is whole: 50 records, every byte as it was recorded"
    change(path, 3000, b"?")
    with pytest.raises(StorageError, match="is damaged in bytes 512 … 4607"):
        verify(path)


def test_what_follows_the_state_is_nobodys(tmp_path, whole):
    """Another program appends: the recording is what it was, and so it is once something was added to it."""
    path = tmp_path / "run.h5"
    path.write_bytes(whole + b"garbage" * 1000)
    assert readings(path) == "truth" and verify(path).whole
    with Recorder.resume(path, buffer=7 * RECORD) as recorder:
        record(recorder, HELD + 10, 3)
    assert holds(path) == HELD + 10 and b"garbage" not in path.read_bytes()


def test_a_commit_does_not_give_damage_a_new_checksum(large):
    """A resumed recorder changes bytes of a block that is damaged elsewhere: an error, and the damage is still to be seen."""
    with Recording.open(large) as recording:
        at = place_of(large, recording.read("q")[-1, 0])                       # beside records that will be added
    change(large, at, struct.pack("<d", 4.0))
    with pytest.raises(StorageError, match="is damaged in bytes") as caught, Recorder.resume(large) as recorder:
        recorder.append({"t": np.zeros(3), "q": np.zeros((3, 50)), "none": np.zeros((3, 0))}, {})
    one_sentence(caught, large)
    assert any("column 'q'" in part for part in verify(large).damage)


def test_damage_that_comes_while_it_is_written(tmp_path):
    """Another program cuts the file to nothing: the next commit says so, and does not end as if all were well."""
    path = tmp_path / "run.h5"
    recorder = create(path, buffer=7 * RECORD)
    record(recorder, 30, 9)
    os.truncate(path, 0)
    with pytest.raises(StorageError, match="is damaged in bytes"):
        record(recorder, 60, 9)
    with pytest.raises(StorageError):
        Recording.open(path)


# ---------------------------------------------------------------- journals


def a_journal(entries: list[tuple[int, int, bytes]], begin: int, end: int) -> bytes:
    text = b"".join(journal.ENTRY.pack(at, n) + data for at, n, data in entries)
    return text + journal.TRAILER.pack(journal.JOURNAL, begin, end, zlib.crc32(text))


@pytest.mark.parametrize("opener", [Recording.open, Recorder.resume, verify])
def test_a_journal_that_is_none(tmp_path, whole, opener):
    """With a right checksum and whatever in it: the state before it counts, and no descriptor with its lock is left behind."""
    n, head = len(whole), journal.Head.of(whole[:FIRST])
    for entries, end in [
        ([], n), ([(0, 1 << 60, b"")], n), ([(5, 3, b"abc")], n), ([(0, FIRST, bytes(FIRST))], n), ([(0, 3, b"ab")], n),
        ([(0, FIRST, head.packed())], 1 << 40), ([(0, FIRST, head._replace(size=1 << 40).packed())], head._replace(size=1 << 40).end),
        ([(0, FIRST, head.packed()), (n + 100, 4, b"abcd")], n), ([(0, FIRST, head._replace(shift=200).packed())], n),
    ]:  # fmt: skip
        path = tmp_path / "run.h5"
        path.unlink(missing_ok=True)
        path.write_bytes(whole + a_journal(entries, n, end))
        before = len(os.listdir("/proc/self/fd"))
        found = opener(path)
        if isinstance(found, (Recording, Recorder)):
            found.close(True) if isinstance(found, Recorder) else found.close()
        assert len(os.listdir("/proc/self/fd")) == before and holds(path) == HELD


def test_a_damaged_journal_of_a_killed_run(tmp_path, tape):  # noqa: F811
    """Bits of a journal that was not, or half, carried out: the state before it or after it, or an error; never a mixture."""
    path, rng, ends = tmp_path / "run.h5", np.random.default_rng(0), {"truth": 0, "error": 0}
    for k in range(tape.created, len(tape.done) + 1):
        tape.after(path, k)
        with path.open("rb") as file:
            if not journal.journal_of(file.fileno()):
                continue
        data = bytearray(path.read_bytes())
        data[int(rng.integers(max(0, len(data) - 3000), len(data)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            with Recording.open(path) as recording:
                assert_is_the_truth(recording)
            ends["truth"] += 1
        except StorageError:
            ends["error"] += 1
    assert min(ends.values()) > 0


# ---------------------------------------------------------------- hostile


def outside(path: Path) -> list[tuple[str, int, int]]:
    """External storage on a pipe: whoever reads it waits for ever."""
    os.mkfifo(path.with_name("pipe"))
    return [(str(path.with_name("pipe")), 0, h5py.h5f.UNLIMITED)]


def virtual(path: Path, shape: tuple[int, ...]) -> h5py.VirtualLayout:
    with h5py.File(path.with_name("other.h5"), "w") as other:
        other["x"] = np.full(shape, 42.0)
    layout = h5py.VirtualLayout(shape, "<f8")
    layout[...] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", shape)
    return layout


def unlimited(path: Path) -> h5py.VirtualLayout:
    """A virtual dataset whose very shape is asked of other files."""
    with h5py.File(path.with_name("other.h5"), "w") as other:
        other.create_dataset("x", (HELD,), "<f8", maxshape=(None,))
    layout = h5py.VirtualLayout((HELD,), "<f8", maxshape=(None,))
    source = h5py.VirtualSource(str(path.with_name("other.h5")), "x", (HELD,), maxshape=(None,))
    layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
    return layout


def claims(file: h5py.File, n: int, rows: int) -> None:
    """Every column says that it has so many records, and has none."""
    for name in COLUMNS:
        shape = file[name].shape[1:]
        del file[name]
        file.create_dataset(name, (n, *shape), "<f8", maxshape=(None, *(d or None for d in shape)), chunks=(rows, *(d or 1 for d in shape)))
    file["checkpoint"].attrs["records"] = np.int64(n)


LAYOUT = np.bytes_('{"batch": [], "columns": {"t": [-1]}, "checkpoint": {}}')


@pytest.mark.parametrize(("change", "text"), [
    (lambda path, f: f.create_dataset("t", (HELD,), "<f8", external=outside(path)), "holds 't' in other files, or filtered"),
    (lambda path, f: f.create_virtual_dataset("t", virtual(path, (HELD,))), "holds 't' in other files, or filtered"),
    (lambda path, f: f.create_virtual_dataset("t", unlimited(path)), "holds 't' in other files, or filtered"),
    (lambda path, f: f.create_dataset("t", (HELD,), "<f8", chunks=(50,), compression="gzip"), "holds 't' in other files, or filtered"),
    (lambda path, f: f.__setitem__("t", h5py.ExternalLink(str(path), "/q")), "holds 't' as a link"),
    (lambda path, f: f.__setitem__("t", h5py.SoftLink("/q")), "holds 't' as a link"),
    (lambda path, f: f.__setitem__("t", h5py.SoftLink("/t")), "holds 't' as a link"),
    (lambda path, f: (f.move("header", "h"), f.__setitem__("header", h5py.ExternalLink(str(path), "/h"))), "holds 'header' as a link"),
    (lambda path, f: f.__setitem__("t", np.array(["1.5"] * HELD, "S8")), "column 't' has shape (100,) of |S8; expected (100,) of float64"),
    (lambda path, f: f.create_dataset("t", (HELD,), h5py.vlen_dtype(float)), "column 't' has shape (100,) of object"),
    (lambda path, f: f.create_group("t"), "is damaged ("),
    (lambda path, f: claims(f, 10**9, 7), "1000000000 records of 120 bytes in "),
    (lambda path, f: claims(f, 1 << 60, 7), "1152921504606846976 records of 120 bytes in "),
    (lambda path, f: claims(f, HELD, 100_000), "its chunks hold [100000] records"),
    (lambda path, f: f.attrs.__setitem__("header", "{}"), "is damaged (TypeError: the attribute 'header' has shape () of object"),
    (lambda path, f: f.attrs.__setitem__("header", np.bytes_("[" * 50_000)), "is damaged (RecursionError"),
    (lambda path, f: f.attrs.__setitem__("layout", LAYOUT), "columns['t'] is [-1]; expected a shape"),
    (lambda path, f: f.attrs.__setitem__("complete", np.array([True, False])), "the attribute 'complete' has shape (2,) of bool"),
    (lambda path, f: (f.__delitem__("header/model"), f.create_dataset("header/model", (), "S400000000")), "of its header is no text"),
])  # fmt: skip
@pytest.mark.parametrize("opener", [Recording.open, Recorder.resume, verify])
def test_hostile_contents_with_right_checksums(tmp_path, whole, change, text, opener):
    """Refused before anything outside is touched, and before memory is taken."""
    path = tmp_path / "run.h5"
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        if "'t'" in text or "is damaged (Key" in text or text == "is damaged (":
            del file["t"]
        change(path, file)
    seal(path)
    tracemalloc.start()
    try:
        with pytest.raises(StorageError) as caught:
            opener(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert text in one_sentence(caught)


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nor where it took the place of a file after somebody looked."""
    os.mkfifo(tmp_path / "run.h5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "is_file", lambda self: True)
        with pytest.raises(StorageError, match="is not an ordinary file"):
            Recording.open(tmp_path / "run.h5")


# ---------------------------------------------------------------- a file that goes away


def gone(path: Path, how: str) -> None:
    if how == "deleted":
        path.unlink()
    elif how == "moved":
        path.rename(path.with_name("moved.h5"))
    else:
        path.with_name("x").write_text("hello")
        path.with_name("x").replace(path)


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced by another file"])
@pytest.mark.parametrize("last", [False, True])
def test_a_file_that_goes_away_while_it_is_written(tmp_path, how, last):
    """The next commit says so, and so does the end; what was moved is whole where it is now."""
    path = tmp_path / "run.h5"
    recorder = create(path, buffer=7 * RECORD)
    record(recorder, 30, 5)
    gone(path, how)
    with pytest.raises(StorageError) as caught:
        recorder.close(complete=True) if last else record(recorder, 60, 5)
    assert f"was {how} while it was written; expected it to stay where it was" in one_sentence(caught, path)
    assert recorder._store.hdf5 is None
    if how == "moved":
        n = holds(path.with_name("moved.h5"))
        assert n >= 30 and Recording.open(path.with_name("moved.h5")).complete == last


def test_readers_of_a_file_that_is_damaged_under_them(large):
    """A recording that is open: damage that comes meanwhile is seen when it is read."""
    with Recording.open(large) as recording:
        q = recording.read("q")
        change(large, place_of(large, q[2000, 3]), b"?")
        with pytest.raises(StorageError, match="of column 'q'"):
            recording.read("q")
        assert (recording.read("t") == np.arange(6000.0)).all()


def test_threads_read_one_file(large):
    """Each with a recording of its own."""
    found = []

    def read():
        with Recording.open(large) as recording:
            found.append(recording.read("q", step=7))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(bits({"q": x}) == bits({"q": found[0]}) for x in found)
