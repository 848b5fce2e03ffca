"""Recordings on disk: named columns in an HDF5 file, written while a simulation runs, whole again after a kill at any moment.

A :class:`Recorder` collects records and writes them some megabytes at a time; a :class:`Recording` reads them, also while they are written.
Nothing here knows physics.

**The file** is ordinary HDF5: ``/t``, ``/q``, … (records, ...), ``/checkpoint/NAME``, ``/header/NAME`` (long texts, such as the model's),
and the attributes ``format``, ``header`` (JSON), ``layout`` (JSON: the shapes) and ``complete``.

**A commit** moves the file from one state to the next, all at once. HDF5 writes through a file object of ours (:class:`_Store`): bytes that
the last state does not refer to are written straight away, behind its end; changes to bytes that it does refer to (indices, sizes, the
checkpoint, the last, partly filled chunk) are held back. A commit appends them to the file as a *journal* with a checksum, then carries
them out, then cuts the journal off. Killed before the journal is whole, the file is the old state with bytes behind its end that HDF5
ignores; killed later, it is the new state, which :class:`Recording` reads through the journal and :meth:`Recorder.resume` carries out.
A full disk ends in the old state in the same way. Plain ``h5py.File(path)`` opens a killed run too, unless the kill fell between the
journal's end and that of its commit (about a millisecond).

**Reading while writing** goes by a count of commits in the file's first bytes, the first that a commit changes: bytes count as read if
that number is still the same afterwards, and the reader begins again with the new state otherwise. Plain h5py knows nothing of this, and
is refused by a lock as long as a recorder has the file.

A power failure is another matter than a kill: nothing here waits for the disk (no fsync). POSIX only.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import signal
import struct
import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine.checks import EngineError

Array = np.ndarray
Shapes = Mapping[str, tuple[int, ...]]

FORMAT = "engine recording"
VERSION = 1
CHUNK = 1 << 20  # bytes of the records that make a chunk, all columns together
PIECE = 1 << 25  # bytes of a file that are read in one go
ATTRIBUTE = 60_000  # bytes; HDF5 allows an attribute 64 KiB
LONG = 1_000  # characters; a header's longer values are datasets of their own

BLOCK = struct.Struct("<16sQ")  # the first bytes of a file: a magic, how many commits there were
ENTRY = struct.Struct("<QQ")  # of a journal: where, how many bytes; they follow
TRAILER = struct.Struct("<16sQQI")  # of a journal, the last bytes of a file: a magic, where it begins, the file's size afterwards, CRC-32
USER_BLOCK = 512  # bytes before those of HDF5
MAGIC, JOURNAL, SIGNATURE = b"engine recording", b"engine's journal", b"\x89HDF\r\n\x1a\n"
HURRIED = "is written faster than it can be read; expected pauses between its commits"


class StorageError(EngineError):
    """A recording cannot be written or read; the text says which file, what is wrong with it and what was expected."""


# ---------------------------------------------------------------- the file under HDF5


class _Store:
    """A file for HDF5 to read and write, in which every byte of the last state stays until :meth:`commit` changes them all at once.

    A writer keeps errors of the disk in ``failure`` and does not raise them into HDF5, which could not be closed any more. A reader gets
    bytes of the state that :meth:`load` found, or OSError once a commit has changed it.
    """

    def __init__(self, fd: int, writable: bool) -> None:
        self.fd, self.writable, self.process = fd, writable, os.getpid()
        self.position = self.size = 0
        self.failure: OSError | None = None
        self.load()

    # ------------------------------------------------------------ what HDF5 calls

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.position = offset if whence == os.SEEK_SET else self.size + offset
        return self.position

    def tell(self) -> int:
        return self.position

    def read(self, n: int) -> bytes:
        buffer = bytearray(n)
        self.readinto(buffer)
        return bytes(buffer)

    def readinto(self, buffer: Any) -> int:
        into, begin = memoryview(buffer).cast("B"), self.position
        end = begin + len(into)
        data = os.pread(self.fd, len(into), begin)
        into[: len(data)] = data
        into[len(data) :] = bytes(len(into) - len(data))
        for (at, n), later in self.later.items():
            first, last = max(begin, at), min(end, at + n)
            if first < last:
                into[first - begin : last - begin] = later[first - at : last - at]
        if not self.writable and not self.unchanged():
            raise OSError("changed by a commit")
        self.position = end
        return len(into)

    def write(self, data: Any) -> int:
        view, begin = memoryview(data).cast("B"), self.position
        self.position += len(view)
        self.size = max(self.size, self.position)
        held = max(0, min(len(view), self.committed - begin))
        if held:
            self.later.pop((begin, held), None)  # the last that was written comes last, and counts where changes overlap
            self.later[begin, held] = bytes(view[:held])
        self._attempt(view[held:], begin + held)
        return len(view)

    def truncate(self, size: int) -> None:
        self.size = size

    def flush(self) -> None:
        """Nothing: what is written becomes a state in :meth:`commit`."""

    # ------------------------------------------------------------ states

    def load(self) -> None:
        """Take the file's present state: its count of commits, and a journal that was not or not wholly carried out."""
        self.commits = commits_of(self.fd)  # first: a commit after this is noticed
        self.later, size = journal_of(self.fd)
        if self.later:
            self.commits = max(self.commits, BLOCK.unpack(self.later[0, BLOCK.size])[1])
            if self.writable:
                self._carry_out(size)
        self.size = self.committed = os.fstat(self.fd).st_size

    def unchanged(self) -> bool:
        """Whether no commit has begun to change the file since :meth:`load`."""
        return commits_of(self.fd) <= self.commits

    def commit(self) -> None:
        """Make what was written the file's state. Raises OSError; the file then is in the last state, or in this one."""
        if self.failure is None and (self.later or self.size != self.committed):
            entries = {(0, BLOCK.size): BLOCK.pack(MAGIC, self.commits + 1), **self.later}
            begin = max(self.size, self.committed)
            text = b"".join(ENTRY.pack(*place) + data for place, data in entries.items())
            text += TRAILER.pack(JOURNAL, begin, self.size, zlib.crc32(text))
            self._attempt(None, begin)
            self._attempt(memoryview(text), begin)
            if self.failure is None:
                self.commits, self.later = self.commits + 1, entries
                self._carry_out(self.size)
        if self.failure is not None:
            raise self.failure

    def _carry_out(self, size: int) -> None:
        """Write what the journal holds, the count of commits first, and cut the journal off."""
        for (at, _), data in self.later.items():
            self._attempt(memoryview(data), at)
        self._attempt(None, size)
        if self.failure is None:
            self.later, self.committed = {}, size

    def abandon(self) -> None:
        """Go back to the last state: nothing is written any more, and what lies behind the end is cut off if there is no journal."""
        if not journal_of(self.fd)[0]:
            first, self.failure = self.failure, None
            self._attempt(None, self.committed)
            self.failure = first or self.failure
        self.failure = self.failure or OSError("given up")

    def _attempt(self, data: memoryview | None, at: int) -> None:
        """Write at a place, or end the file there; the first error is kept, and nothing is written after it."""
        if self.failure is not None or self.process != os.getpid():  # a fork's copy of this object writes nothing
            return
        try:
            if data is None:
                os.ftruncate(self.fd, at)
            while data:
                n = os.pwrite(self.fd, data, at)
                data, at = data[n:], at + n
        except OSError as error:
            self.failure = error


def commits_of(fd: int) -> int:
    """The count of commits in a file's first bytes; 0 for a file of something else."""
    head = os.pread(fd, BLOCK.size, 0)
    magic, count = BLOCK.unpack(head) if len(head) == BLOCK.size else (b"", 0)
    return count if magic == MAGIC else 0


def journal_of(fd: int) -> tuple[dict[tuple[int, int], bytes], int]:
    """The changes in a file's journal, by place and size, and the file's size after them; none if there is no whole journal."""
    end = os.fstat(fd).st_size
    tail = os.pread(fd, TRAILER.size, max(0, end - TRAILER.size))
    if len(tail) != TRAILER.size:
        return {}, end
    magic, begin, size, check = TRAILER.unpack(tail)
    if magic != JOURNAL or begin > end - TRAILER.size:
        return {}, end
    text = os.pread(fd, end - TRAILER.size - begin, begin)
    if len(text) != end - TRAILER.size - begin or zlib.crc32(text) != check:
        return {}, end
    entries, place = {}, 0
    while place < len(text):
        at, n = ENTRY.unpack_from(text, place)
        place += ENTRY.size + n
        entries[at, n] = text[place - n : place]
    return entries, size


# ---------------------------------------------------------------- writing


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end, so that it finds nothing half done; in the main thread, the only one that it reaches."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class Recorder:
    """Records named columns into a file while they are produced.

    Made by :meth:`create` or :meth:`resume`; a context manager: leaving it closes the file as complete, an exception as not complete, after
    writing what was collected. Killed (kill −9), it loses what was collected since the last commit, and no more.

    Attributes
    ----------
    path : of the file
    columns, checkpoint : shape of one record of one rollout, and of the arrays that a resumed run starts from, by name
    batch : shape of the batch of rollouts, () for one
    age : a commit is made by the first :meth:`append` that comes more than this after the last, s

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> with Recorder.create(path, {"t": (), "q": (2,)}, (), {"dt": 0.5}, {"x": (2,)}) as recorder:
    ...     recorder.append({"t": np.array([0.0, 0.5]), "q": np.array([[1, 2], [3, 4]])}, {"x": np.array([3.0, 4.0])})
    >>> recording = Recording.open(path)
    >>> recording
    <recording 'run.h5': 2 records of t, q; complete>
    >>> recording.read("q", start=1)
    array([[3., 4.]])
    >>> recording.checkpoint()
    {'x': array([3., 4.])}
    """

    age = 1.0

    def __init__(self, path: Path, store: _Store, file: Any, layout: dict[str, Any], buffer: int) -> None:
        """Use :meth:`create` or :meth:`resume`."""
        self.path, self._store, self._file = path, store, file
        self.batch, self.columns, self.checkpoint = layout["batch"], layout["columns"], layout["checkpoint"]
        self._shapes = {name: self.batch + shape if name != "t" else () for name, shape in self.columns.items()}
        self._datasets = {name: file[name] for name in self.columns}
        self._rows = file["t"].chunks[0]  # of a chunk; the buffers hold one, from the record _base on
        self._buffers = {name: np.empty((self._rows, *shape), "<f8") for name, shape in self._shapes.items()}
        self._every = max(1, buffer // record_size(self._shapes))  # records from a commit to the next
        self._committed = self._written = len(file["t"])  # records of the last state, and records that HDF5 has
        self._base, filled = self._written - self._written % self._rows, self._written % self._rows
        for name, dataset in self._datasets.items():
            self._buffers[name][:filled] = dataset[self._base :]
        self._now: tuple[int, dict[str, Array] | None] = filled, None  # records in the buffers, and a new checkpoint after them
        self._since = time.monotonic()
        closed_at_exit(self)

    def __repr__(self) -> str:
        return f"<recorder of '{self.path.name}': {len(self)} records of {', '.join(self.columns)}; {'open' if self._file else 'closed'}>"

    def __len__(self) -> int:
        """Records in the file and collected."""
        return self._base + self._now[0]

    @classmethod
    @uninterrupted()
    def create(cls, path: str | Path, columns: Shapes, batch: tuple[int, ...], header: Mapping[str, Any], checkpoint: Shapes,
               overwrite: bool = False, buffer: int = 16 << 20) -> Recorder:  # fmt: skip
        """A recorder of a new file; its folder is made where there is none.

        Parameters
        ----------
        columns : shape of one record of one rollout, by name; ``"t"`` must be there, with shape (), and is shared by the batch
        batch : shape of the batch of rollouts, () for one
        header : texts and whatever JSON can hold (and NumPy arrays, which become lists)
        checkpoint : shapes of the arrays that a resumed run starts from, by name
        overwrite : whether to replace a file at that path; the new one is put in its place once it is whole
        buffer : bytes of records from a commit to the next; a recorder takes about 1 MB of memory, or what one record of a batch takes

        Raises
        ------
        StorageError : the path exists, is being written, or cannot be written; a name, shape or header is not what it should be
        """
        import h5py

        path = Path(path)
        layout: dict[str, Any] = {"batch": checked_shape("batch", batch), "columns": checked_shapes("columns", columns),
                                  "checkpoint": checked_shapes("checkpoint", checkpoint)}  # fmt: skip
        buffer = checked_count("buffer", buffer)
        if layout["columns"].get("t") != ():
            raise StorageError(f"columns of '{path}' hold {list(columns)}; expected among them 't' with shape (), the time of a record")
        for name, shape in layout["columns"].items():
            if 8 * int(np.prod(layout["batch"] + shape)) >= 1 << 32:
                raise StorageError(f"a record of '{name}' in '{path}' has shape {layout['batch'] + shape}; expected less than 4 GiB")
        short, long = header_parts(header)
        new = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
        try:
            require_free(path, overwrite)
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                os.close(opened(path, os.O_RDWR))  # nobody is writing it
            fd = opened(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            why = "its folder is a file" if isinstance(error, (FileExistsError, NotADirectoryError)) else error.strerror
            raise StorageError(f"'{path}' cannot be created ({why}); expected a folder that can be written") from None
        store, file = _Store(fd, True), None
        try:
            file = h5py.File(store, "w", libver="earliest", userblock_size=USER_BLOCK, rdcc_nbytes=4 << 20)
            file.attrs.update({"format": f"{FORMAT} {VERSION}", "layout": json.dumps(layout), "header": short, "complete": False})
            write_layout(file, layout, min(CHUNK, buffer))
            for name, text, plain in long:
                file.create_dataset(f"header/{name}", data=text, dtype=h5py.string_dtype()).attrs["json"] = not plain
            file.flush()
            store.commit()
            put_in_place(new, path, overwrite)
            return cls(path, store, file, layout, buffer)
        except BaseException as error:
            why = reason(store, error)
            shut(store, file)
            new.unlink(missing_ok=True)
            if isinstance(error, FileExistsError):
                raise StorageError(f"'{path}' exists; expected a new path, or overwrite=True") from None
            if isinstance(error, (OSError, RuntimeError, ValueError)):
                raise StorageError(f"'{path}' cannot be written ({why}); expected a disk with room") from None
            raise

    @classmethod
    @uninterrupted()
    def resume(cls, path: str | Path, buffer: int = 16 << 20, header: Mapping[str, Any] | None = None) -> Recorder:
        """A recorder that goes on after the last record of a file, in place; whatever a kill left behind it is cut off.

        Where to go on from is ``Recording.open(path).checkpoint()``. The file is not complete until it is closed as such. Entries of
        ``header``, which must be short, replace those of the file's.

        Raises
        ------
        StorageError : there is no recording, it is damaged, being written, or cannot be written
        """
        path, buffer = Path(path), checked_count("buffer", buffer)
        fd = opened_recording(path, os.O_RDWR)
        store, file = opened_store(path, fd, True)
        try:
            layout, _ = checked_file(path, file)
            if file.userblock_size != USER_BLOCK or not store.commits or len({file[name].chunks[:1] for name in layout["columns"]}) > 1:
                raise StorageError(f"'{path}' was rewritten by another program; expected the file as it was recorded, to add to it")
            file.attrs.modify("complete", np.False_)
            file.attrs["header"], long = header_parts({**json.loads(file.attrs["header"]), **(header or {})})
            if long:
                raise StorageError(f"header['{long[0][0]}'] for '{path}' is long; expected a value of at most {LONG} characters of JSON")
            file.flush()
            store.commit()
            return cls(path, store, file, layout, buffer)
        except BaseException as error:
            what = f"{'cannot be written' if store.failure else 'is damaged'} ({reason(store, error)})"
            shut(store, file)
            if isinstance(error, (OSError, RuntimeError)):
                raise StorageError(f"'{path}' {what}; expected a whole file on a disk with room") from None
            raise

    @uninterrupted()
    def append(self, records: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> None:
        """Add a block of records, and where to go on from after it. Both are kept or lost together.

        Parameters
        ----------
        records : arrays (n, \\*batch, \\*shape) of every column, ``"t"`` (n); copied
        checkpoint : the arrays that a run resumed after these records starts from; copied

        Raises
        ------
        StorageError : a name or shape is not what was declared (nothing is added), or the disk is full (the recorder is closed then, and
            the file holds the records of the last commit)
        """
        if self._file is None:
            raise StorageError(f"'{self.path}' is closed; expected Recorder.resume to add to it")
        blocks = self._checked("records", records, {name: (None, *shape) for name, shape in self._shapes.items()})
        counts = {name: len(x) for name, x in blocks.items()}
        if len({*counts.values()}) > 1:
            raise StorageError(f"a block for '{self.path}' has numbers of records {counts}; expected the same for all columns")
        state = {name: x.copy() for name, x in self._checked("checkpoint", checkpoint, self.checkpoint).items()}
        n, filled = counts["t"], self._now[0]
        due = len(self) + n - self._committed >= self._every or time.monotonic() - self._since > self.age
        if filled + n < self._rows and not due:
            for name, x in blocks.items():
                self._buffers[name][filled : filled + n] = x
            self._now = filled + n, state
        else:
            with self._at_work():
                self._collect(blocks, state)
                if due:
                    self._commit()

    @uninterrupted()
    def flush(self) -> None:
        """Write what was collected."""
        if self._file is not None and self._now[1] is not None:
            with self._at_work():
                self._commit()

    @uninterrupted()
    def close(self, complete: bool) -> None:
        """Write what was collected, and whether the recording is complete; a recorder that is closed stays as it is."""
        if self._file is not None:
            with self._at_work():
                self._commit(complete)
                self._shut()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(complete=kind is None)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close(complete=False)

    # ------------------------------------------------------------ the rest

    def _checked(self, what: str, arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int | None, ...]]) -> dict[str, Array]:
        """Arrays of exactly those names and shapes, in that order."""
        if {*arrays} != {*shapes}:
            raise StorageError(f"{what} for '{self.path}' hold {sorted(arrays)}; expected {sorted(shapes)}")
        return {name: checked_array(f"{what}['{name}'] for '{self.path}'", arrays[name], shape) for name, shape in shapes.items()}

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """Whatever goes wrong within, what HDF5 holds then must not become a state: the file stays in the last one, and is closed."""
        try:
            yield
        except BaseException as error:
            why = reason(self._store, error)
            self._shut()
            self._base, self._now = self._committed, (0, None)
            if isinstance(error, (OSError, RuntimeError, ValueError)):
                raise StorageError(f"'{self.path}' cannot be written ({why}); expected a disk with room; what was committed before "
                                   "is kept, and Recorder.resume goes on after it") from None  # fmt: skip
            raise

    def _collect(self, blocks: Mapping[str, Array], state: dict[str, Array]) -> None:
        """Copy a block into the buffers, and give them to HDF5 whenever they are full."""
        done, n, filled = 0, len(blocks["t"]), self._now[0]
        while done < n:
            part = min(n - done, self._rows - filled)
            for name, x in blocks.items():
                self._buffers[name][filled : filled + part] = x[done : done + part]
            done, filled = done + part, filled + part
            if filled == self._rows:
                self._write(filled)
                self._base, filled = self._base + self._rows, 0
        self._now = filled, state

    def _write(self, filled: int) -> None:
        """Give the buffers to HDF5 as a chunk of every column; one that is not full will be written again."""
        self._written = self._base + filled
        for name, x in self._buffers.items():
            chunks = self._datasets[name].id
            chunks.set_extent((self._written, *x.shape[1:]))
            x[filled:] = 0.0
            if x.size:
                chunks.write_direct_chunk((self._base, *(0 for _ in x.shape[1:])), x)

    def _commit(self, complete: bool = False) -> None:
        """Make what was collected, with the checkpoint after it, the file's state."""
        filled, state = self._now
        if self._written < len(self):
            self._write(filled)
        if state is not None:
            group = self._file["checkpoint"]
            for name, x in state.items():
                group[name][...] = x
            group.attrs.modify("records", np.int64(self._written))
            self._now = filled, None
        if complete:
            self._file.attrs.modify("complete", np.True_)
        self._file.flush()
        self._store.commit()
        self._committed, self._since = self._written, time.monotonic()

    def _shut(self) -> None:
        shut(self._store, self._file)
        self._file, self._buffers = None, {}


def require_free(path: Path, overwrite: bool) -> None:
    """Refuse a path where a file is already, or a folder."""
    if path.exists() and not (overwrite and path.is_file()):
        raise StorageError(f"'{path}' exists; expected a new path{', or overwrite=True' if path.is_file() else ''}")


@contextlib.contextmanager
def aside(begin: Callable[[], Recorder]) -> Iterator[Callable[[Callable[[], tuple[Any, Any]]], None]]:
    """``add(block)`` for a thread that makes a recorder, and appends what ``block()`` returns, while this one goes on.

    Three pieces of work wait at most; ``add`` waits for the first of them then. However this ends, what was added is written and the
    recorder closed, as complete unless there was an error. The first error of the thread comes up in ``add``, or in the end.
    """
    pool = ThreadPoolExecutor(1)
    made = pool.submit(begin)
    waiting: deque[Future[Any]] = deque([made])

    def add(block: Callable[[], tuple[Any, Any]]) -> None:
        if len(waiting) == 3:
            waiting.popleft().result()
        waiting.append(pool.submit(append, waiting[-1], block))

    def append(before: Future[Any], block: Callable[[], tuple[Any, Any]]) -> None:
        before.result()  # after an error nothing more is written
        made.result().append(*block())

    complete = False
    try:
        yield add
        complete = True
    finally:
        with uninterrupted():
            pool.shutdown()
            if made.exception() is None:
                made.result().close(complete and waiting[-1].exception() is None)
        waiting[-1].result()


# ---------------------------------------------------------------- reading


class Recording:
    """A recording as it was when it was opened, whether complete, being written or left behind by a kill; open it again to see more.

    Attributes
    ----------
    path : of the file
    header : what :meth:`Recorder.create` was given, as JSON has it (tuples are lists)
    columns : shape of one record of one rollout, by name
    batch : shape of the batch of rollouts
    complete : whether the recorder was closed as complete
    """

    _file: Any
    _fd: Any

    def __init__(self, path: Path, fd: int) -> None:
        """Use :meth:`open`."""
        self.path, self._fd, self._file = path, fd, None

        def contents() -> tuple[Any, ...]:
            layout, header = checked_file(path, self._file)
            group = self._file["checkpoint"]
            state = {name: np.asarray(group[name][()]) for name in layout["checkpoint"]} if group.attrs["records"] >= 0 else {}
            return layout, header, state, len(self._file["t"]), bool(self._file.attrs["complete"])

        try:
            self._load()
            layout, self.header, self._checkpoint, self._length, self.complete = self._consistent(contents)
        except BaseException:
            self.close()
            raise
        self.columns: dict[str, tuple[int, ...]] = layout["columns"]
        self.batch: tuple[int, ...] = layout["batch"]
        closed_at_exit(self)

    def __repr__(self) -> str:
        state = "complete" if self.complete else "not complete"
        return f"<recording '{self.path.name}': {len(self)} records of {', '.join(self.columns)}; {state}>"

    def __len__(self) -> int:
        return self._length

    @classmethod
    def open(cls, path: str | Path) -> Recording:
        """Open a file to read.

        Raises
        ------
        StorageError : there is no file, it is not HDF5, not a recording, of another version, or damaged
        """
        path = Path(path)
        return cls(path, opened_recording(path, os.O_RDONLY))

    def read(self, name: str, start: int | None = 0, stop: int | None = None, step: int = 1) -> Array:
        """Records ``[start:stop:step]`` of a column (n, \\*batch, \\*shape), of ``"t"`` (n); no more than these are in memory.

        Raises
        ------
        StorageError : no such column, a step that is not positive, or a file that became unreadable
        """
        if self._file is None:
            raise StorageError(f"'{self.path}' is closed; expected Recording.open to read it again")
        if name not in self.columns:
            raise StorageError(f"'{self.path}' has no column '{name}'; expected one of {', '.join(self.columns)}")
        step = checked_count("step", step)
        rows = range(*slice(start, stop, step).indices(self._length))
        result = np.empty((len(rows), *(self.batch + self.columns[name] if name != "t" else ())))
        if not result.size:
            return result
        n = max(1, PIECE // (result[0].nbytes * step))
        for k in range(0, len(rows), n):
            part = rows[k : k + n]
            result[k : k + n] = self._consistent(lambda part=part: self._file[name][part.start : part[-1] + 1 : step])
        return result

    def checkpoint(self) -> dict[str, Array]:
        """The arrays that a run resumed after the last record starts from; empty before the first commit of records."""
        return {name: x.copy() for name, x in self._checkpoint.items()}

    def close(self) -> None:
        """Close the file; header, checkpoint and the rest stay."""
        if self._file is not None:
            self._file.close()
        if self._fd is not None:
            os.close(self._fd)
        self._file = self._fd = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _load(self) -> None:
        self._store, self._file = opened_store(self.path, self._fd, False)

    def _consistent(self, fetch: Any) -> Any:
        """What ``fetch()`` reads from one state of the file, again and again until no commit came between."""
        for _ in range(1000):
            try:
                return fetch()
            except (OSError, RuntimeError, KeyError, ValueError) as error:
                if self._store.unchanged():
                    if isinstance(error, StorageError):
                        raise
                    raise StorageError(f"'{self.path}' is damaged ({error}); expected the file as it was recorded") from None
            self._file.close()
            self._load()
        raise StorageError(f"'{self.path}' {HURRIED}")


# ---------------------------------------------------------------- files


_OPEN: weakref.WeakSet[Recorder | Recording] = weakref.WeakSet()


def closed_at_exit(file: Recorder | Recording) -> None:
    """See to it that Python closes a file that nobody else did: HDF5, which outlives Python, would call it when it is gone."""
    if not _OPEN:
        atexit.unregister(close_all)
        atexit.register(close_all)  # after h5py's own, hence before it
    _OPEN.add(file)


def close_all() -> None:
    """Close every file; a recorder's is not complete."""
    for file in list(_OPEN):
        with contextlib.suppress(Exception):
            file.close(False) if isinstance(file, Recorder) else file.close()


def opened(path: Path, flags: int) -> int:
    """A descriptor of a file; one that can write is locked until it is closed. Raises OSError, StorageError if somebody has it open."""
    import fcntl

    fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
    if flags & os.O_RDWR:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a kill ends it
        except BlockingIOError:
            os.close(fd)
            raise StorageError(f"'{path}' is open in another recorder or HDF5 program; expected nobody else to use it") from None
        except OSError:  # a file system without locks
            pass
    return fd


def opened_recording(path: Path, flags: int) -> int:
    """A descriptor of a file that there is."""
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"'{path}' is {'a folder' if path.is_dir() else 'not an ordinary file'}; expected a recording")
        return opened(path, flags)
    except FileNotFoundError:
        raise StorageError(f"there is no file '{path}'; expected a recording") from None
    except OSError as error:
        what = "read" if flags == os.O_RDONLY else "read and written"
        raise StorageError(f"'{path}' cannot be opened ({error.strerror}); expected a file that can be {what}") from None


def opened_store(path: Path, fd: int, writable: bool) -> tuple[_Store, Any]:
    """The HDF5 file in a file; a writable one's journal is carried out, and its descriptor closed if that fails."""
    import h5py

    text = HURRIED
    for _ in range(1000):
        store = _Store(fd, writable)
        try:
            if not store.commits and all(os.pread(fd, len(SIGNATURE), at) != SIGNATURE for at in (0, USER_BLOCK)):
                text = "is not an HDF5 file; expected a recording"  # h5py would make an empty one of an empty file
            elif store.failure is None:
                return store, h5py.File(store, "r+" if writable else "r", rdcc_nbytes=4 << 20)
            else:
                text = f"cannot be written ({store.failure.strerror}); expected a disk with room"
            break
        except (OSError, RuntimeError, ValueError) as error:
            if store.unchanged():
                text = f"is cut short or damaged ({error}); expected the file as it was recorded"
                break
    if writable:
        os.close(fd)
    raise StorageError(f"'{path}' {text}")


def checked_file(path: Path, file: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Layout and header of a recording, which must hold what they say."""
    name = file.attrs.get("format")
    if not isinstance(name, str) or not name.startswith(FORMAT):
        raise StorageError(f"'{path}' is an HDF5 file of something else; expected a recording, which has an attribute 'format'")
    if name != f"{FORMAT} {VERSION}":
        raise StorageError(f"'{path}' has the format '{name}'; expected '{FORMAT} {VERSION}', which this version of the engine reads")
    try:
        layout = json.loads(file.attrs["layout"])
        layout = {"batch": tuple(layout["batch"]), "columns": {k: tuple(s) for k, s in layout["columns"].items()},
                  "checkpoint": {k: tuple(s) for k, s in layout["checkpoint"].items()}}  # fmt: skip
        header = json.loads(file.attrs["header"])
        for key, data in file["header"].items():
            header[key] = json.loads(data.asstr()[()]) if data.attrs["json"] else data.asstr()[()]
        n, last, _ = len(file["t"]), int(file["checkpoint"].attrs["records"]), file.attrs["complete"]
        held = {k: file[k].shape for k in layout["columns"]}
        held |= {f"checkpoint/{k}": file["checkpoint"][k].shape for k in layout["checkpoint"]}
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"'{path}' is damaged ({error}); expected the file as it was recorded") from None
    expected = {k: (n, *layout["batch"], *s) if k != "t" else (n,) for k, s in layout["columns"].items()}
    expected |= {f"checkpoint/{k}": s for k, s in layout["checkpoint"].items()}
    if held != expected or last not in (-1, n):
        raise StorageError(f"'{path}' is damaged: its arrays are {held}, its checkpoint is of record {last}; expected {expected}")
    return layout, header


def record_size(shapes: Shapes) -> int:
    """Bytes of one record of all columns."""
    return sum(8 * int(np.prod(shape)) for shape in shapes.values())


def write_layout(file: Any, layout: dict[str, Any], chunk: int) -> None:
    """The empty datasets of a new file, whose chunks take that many bytes, all columns together, and hold one record or more."""
    shapes = {name: layout["batch"] + shape if name != "t" else () for name, shape in layout["columns"].items()}
    rows = max(1, chunk // record_size(shapes))
    for name, shape in shapes.items():
        most, chunks = (None, *(d or None for d in shape)), (rows, *(max(1, d) for d in shape))  # chunks have no sides of length 0
        file.create_dataset(name, (0, *shape), "<f8", maxshape=most, chunks=chunks)
    group = file.create_group("checkpoint")
    group.attrs["records"] = np.int64(-1)  # the record it belongs to, counted; −1 before the first
    for name, shape in layout["checkpoint"].items():
        group.create_dataset(name, data=np.zeros(shape), dtype="<f8")
    file.create_group("header")


def put_in_place(new: Path, path: Path, overwrite: bool) -> None:
    """Give a file its name; FileExistsError if another has taken it and must not be overwritten."""
    if not overwrite:
        try:
            os.link(new, path)
            new.unlink()
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
    new.replace(path)


def shut(store: _Store, file: Any) -> None:
    """Close a writer's file in its last state."""
    store.abandon()
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        if file is not None:
            file.close()
    os.close(store.fd)
    store.fd = -1  # should HDF5 call once more


def reason(store: _Store, error: BaseException) -> str:
    """The disk's word, or else HDF5's."""
    cause = store.failure or error
    return getattr(cause, "strerror", None) or str(cause)


# ---------------------------------------------------------------- checks


def header_parts(header: Mapping[str, Any]) -> tuple[str, list[tuple[str, str, bool]]]:
    """A header as JSON, and its long values (name, text, whether it is the text itself and not JSON)."""
    short, long = {}, []
    for key, value in header.items():
        try:
            text = json.dumps(value, default=lambda x: x.tolist())
        except (TypeError, ValueError, AttributeError):
            raise StorageError(f"header['{key}'] is {value!r:.200}; expected texts, numbers, lists and dictionaries") from None
        if not isinstance(key, str) or (len(text) > LONG and not key.isidentifier()):
            raise StorageError(f"a header's key is {key!r:.200}; expected a name such as 'model'")
        if len(text) > LONG:
            plain = isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)
            long.append((key, value if plain else text, plain))
        else:
            short[key] = json.loads(text)
    text = json.dumps(short)
    if len(text) > ATTRIBUTE:
        raise StorageError(f"the header's short values take {len(text)} characters of JSON; expected at most {ATTRIBUTE}")
    return text, long


def checked_shapes(what: str, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Names and shapes of arrays."""
    for name in shapes:
        if not isinstance(name, str) or not name or "/" in name or name[0] == "." or name in ("checkpoint", "header"):
            raise StorageError(f"a name in {what} is {name!r}; expected one such as 'q', without '/', and not 'checkpoint' or 'header'")
    return {name: checked_shape(f"{what}['{name}']", shape) for name, shape in shapes.items()}


def checked_shape(what: str, shape: Any) -> tuple[int, ...]:
    """A tuple of whole numbers from 0."""
    whole = isinstance(shape, (tuple, list)) and all(isinstance(d, (int, np.integer)) and not isinstance(d, bool) and d >= 0 for d in shape)
    if not whole:
        raise StorageError(f"{what} is {shape!r}; expected a shape such as (), (3,) or (4, 4)")
    return tuple(int(d) for d in shape)


def checked_count(what: str, count: Any) -> int:
    """A whole number from 1."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise StorageError(f"{what} is {count!r}; expected a whole number from 1")
    return int(count)


def checked_array(what: str, x: Any, shape: tuple[int | None, ...]) -> Array:
    """An array of float64 of that shape, None any length; NaN is as good as any number."""
    try:
        x = np.asarray(x)
    except ValueError:
        raise StorageError(f"{what} is no array; expected real numbers") from None
    if x.dtype != np.float64:
        if not np.can_cast(x.dtype, np.float64, "same_kind"):
            raise StorageError(f"{what} holds {x.dtype}; expected real numbers")
        x = x.astype(np.float64)
    if len(x.shape) != len(shape) or any(a != b for a, b in zip(x.shape, shape, strict=True) if b is not None):
        wanted = f"({', '.join('n' if d is None else str(d) for d in shape)}{',' if len(shape) == 1 else ''})"
        raise StorageError(f"{what} has shape {x.shape}; expected {wanted}")
    return x


__all__ = ["Recorder", "Recording", "StorageError"]
