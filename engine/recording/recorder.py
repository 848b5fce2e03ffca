"""Writing a recording to disk while a simulation runs: records are buffered, and committed some megabytes at a time.

Records are collected by :mod:`engine.simulation.run_loop`, and put into HDF5 by :mod:`engine.recording.hdf5_layout`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine.checks import beside, path_of, whole
from engine.interrupts import held
from engine.recording import hdf5_layout
from engine.recording.checksums import FIRST
from engine.recording.files import close_at_exit, opened, opened_recording, put_in_place
from engine.recording.hdf5_layout import CHUNK, Contents, Shape, Shapes, checked_schema, header_parts
from engine.recording.journaled_file import JournaledFile, StorageError
from engine.recording.own_data import attribute, read_records

Array = np.ndarray

#: how many times as much room as records take must be left on a disk: else they are committed at once, and little is lost where it ends
SCARCE = 8

KEPT = "; what was committed before is kept, and resume goes on after it"


class Recorder:
    """A writer of named columns into a file while they are produced.

    Made by :meth:`create` or :meth:`resume`; a context manager: leaving it closes the file as complete, an exception as not complete, after
    writing what was collected. Killed (kill −9), it loses what was collected since the last commit, and no more.

    Attributes
    ----------
    path : of the file
    columns, checkpoint : shape of one record of one rollout, and of the arrays that a resumed run starts from, by name
    tables : numbers in a row of what has as many rows at each record as there are, by name
    batch : shape of the batch of rollouts, () for one
    age : a commit is made by the first :meth:`append` that comes more than this after the last, s

    Examples
    --------
    >>> import tempfile
    >>> from engine.recording import Recording
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

    def __init__(self, store: JournaledFile, contents: Contents, buffer: int) -> None:
        """Use :meth:`create` or :meth:`resume`."""
        layout = contents.layout
        self.path, self._store, self._shapes, self._contents = store.path, store, layout.records, contents
        self.batch, self.columns, self.checkpoint, self.tables = layout.batch, layout.columns, layout.checkpoint, layout.tables
        self._rows = contents.rows  # of a chunk; the buffers hold one, from the record _base on
        self._buffers = {name: np.empty((self._rows, *shape), "<f8") for name, shape in self._shapes.items()}
        self._every = max(1, buffer // layout.record_size)  # records from a commit to the next
        self._committed = self._written = contents.length  # records of the last state, and records that HDF5 has
        self._base, filled = self._written - self._written % self._rows, self._written % self._rows
        for name, x in self._buffers.items() if filled else ():
            if x.size:
                x[:filled] = read_records(contents.columns[name], self._base)
        self._now: tuple[int, dict[str, Array] | None] = filled, None  # records in the buffers, and a new checkpoint after them
        self._added: dict[str, list[Array]] = {name: [] for name in self.tables}  # rows of tables since the last commit
        self._counts = {name: data.shape[0] for name, data in contents.tables.items()}
        self._since = time.monotonic()
        close_at_exit(self)

    def __repr__(self) -> str:
        state = "open" if self._store.hdf5 else "closed"
        return f"<recorder of '{self.path.name}': {len(self)} records of {', '.join(self.columns)}; {state}>"

    def __len__(self) -> int:
        """Return the number of records in the file and collected."""
        return self._base + self._now[0] if self._store.hdf5 else self._committed

    @classmethod
    @held()
    def create(cls, path: str | Path, columns: Shapes, batch: Shape, header: Mapping[str, Any], checkpoint: Shapes,
               overwrite: bool = False, buffer: int = 16 << 20, records: int | None = None,
               tables: Mapping[str, int] | None = None) -> Recorder:  # fmt: skip
        """Return a recorder of a new file; its folder is made where there is none.

        Parameters
        ----------
        columns : shape of one record of one rollout, by name; ``"t"`` must be there, with shape (), and is shared by the batch
        batch : shape of the batch of rollouts, () for one
        header : texts and whatever JSON can hold (and NumPy arrays, which become lists)
        checkpoint : shapes of the arrays that a resumed run starts from, by name
        overwrite : whether to replace a file at that path; the new one is put in its place once it is whole
        buffer : bytes of records from a commit to the next; a recorder takes about 1 MB of memory, or what one record of a batch takes
        records : about how many there will be, if that is known: a short recording is a small file then
        tables : numbers in a row of tables with as many rows at each record as there are, of one rollout; a column NAME.rows counts them

        Raises
        ------
        StorageError : the path exists, is being written, or cannot be written; a name, shape or header is not what it should be
        """
        import h5py

        path = path_of(path, StorageError)
        more = {hdf5_layout.counted(name): () for name in tables or {}}
        layout = checked_schema(path, batch, {**columns, **more}, checkpoint, tables or {})
        buffer = whole("buffer", buffer, "a whole number from 1", least=1, error=StorageError)
        parts = header_parts(header)
        new = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
        try:
            require_free(path, overwrite)
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                os.close(opened(path, os.O_RDWR))  # nobody is writing it
            fd = opened(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except (OSError, ValueError) as error:
            if isinstance(error, StorageError):
                raise
            file = isinstance(error, (FileExistsError, NotADirectoryError))
            why = "its folder is a file" if file else getattr(error, "strerror", error)
            raise StorageError(f"'{path}' cannot be created ({why}); expected a folder that can be written") from None
        store = JournaledFile(path, fd, True, new=True)
        try:
            with store.closed_on_error():
                store.hdf5 = h5py.File(store, "w", libver="earliest", userblock_size=FIRST, rdcc_nbytes=0)
                contents = hdf5_layout.write_schema(store.hdf5, layout, parts, layout.rows(min(CHUNK, buffer), records))
                store.hdf5.flush()
                store.commit()
                put_in_place(new, path, overwrite)
                return cls(store, contents, buffer)
        finally:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)

    @classmethod
    @held()
    def resume(cls, path: str | Path, buffer: int = 16 << 20, header: Mapping[str, Any] | None = None) -> Recorder:
        """Return a recorder that goes on after the last record of a file, in place; whatever a kill left behind it is cut off.

        Where to go on from is ``Recording.open(path).checkpoint()``. The file is not complete until it is closed as such. Entries of
        ``header`` replace those of the file's. Records before the last ones are not read: :func:`verify` does.

        Raises
        ------
        StorageError : there is no recording, it is damaged, being written, or cannot be written
        """
        path, buffer = path_of(path, StorageError), whole("buffer", buffer, "a whole number from 1", least=1, error=StorageError)
        store = opened_recording(path, True)
        with store.closed_on_error():
            contents = store.fetch(lambda file: hdf5_layout.read_schema(path, file, store.size))
            hdf5_layout.write_attribute(store.hdf5.id, "complete", np.False_)
            recorder = cls(store, contents, buffer)
            recorder._replace(header or {})
            store.hdf5.flush()
            store.commit()
            return recorder

    @held()
    def append(self, records: Mapping[str, Any], checkpoint: Mapping[str, Any],
               tables: Mapping[str, Sequence[Any]] | None = None) -> None:  # fmt: skip
        """Add a block of records, and where to go on from after it. Both are kept or lost together.

        Parameters
        ----------
        records : arrays (n, \\*batch, \\*shape) of every column, ``"t"`` (n); copied
        checkpoint : the arrays that a run resumed after these records starts from; copied
        tables : the rows (m, width) of every table at each of the n records

        Raises
        ------
        StorageError : a name or shape is not what was declared (nothing is added), or the disk is full (the recorder is closed then, and
            the file holds the records of the last commit)
        """
        if self._store.hdf5 is None:
            raise StorageError(f"'{self.path}' is closed; expected Recorder.resume to add to it")
        added = self._rows_of(tables or {})
        ends = {hdf5_layout.counted(n): self._counts[n] + np.cumsum([0, *map(len, each)])[1:] for n, each in added.items()}
        blocks = self._checked("records", {**records, **ends}, {name: (None, *shape) for name, shape in self._shapes.items()})
        counts = {name: len(x) for name, x in blocks.items()}
        if len({*counts.values()}) > 1:
            raise StorageError(f"a block for '{self.path}' has numbers of records {counts}; expected the same for all columns")
        state = {name: x.copy() for name, x in self._checked("checkpoint", checkpoint, self.checkpoint).items()}
        waiting = len(self) + counts["t"] - self._committed
        due = waiting >= self._every or time.monotonic() - self._since > self.age
        size = waiting * self._contents.layout.record_size + sum(x.nbytes for each in added.values() for x in each)
        scarce = SCARCE * size > self._store.room()
        with self._store.closed_on_error(KEPT):
            if scarce and self._now[1] is not None:                            # before this block, for which there may be no room
                self._commit()
            self._collect(blocks, state)
            for name, each in added.items():
                self._added[name] += each
                self._counts[name] += sum(map(len, each))
            if due or scarce:
                self._commit()

    @held()
    def note(self, header: Mapping[str, Any]) -> None:
        """Replace entries of the header, with the next commit."""
        if self._store.hdf5 is None:
            raise StorageError(f"'{self.path}' is closed; expected Recorder.resume to add to it")
        with self._store.closed_on_error(KEPT):
            self._replace(header)

    def _replace(self, header: Mapping[str, Any]) -> None:
        short = json.loads(attribute(self._store.hdf5.id, "header", "S"))
        hdf5_layout.write_header(self._store.hdf5, header_parts({**short, **header}))

    @held()
    def flush(self) -> None:
        """Write what was collected."""
        if self._store.hdf5 is not None and self._now[1] is not None:
            with self._store.closed_on_error(KEPT):
                self._commit()

    @held()
    def close(self, complete: bool) -> None:
        """Write what was collected, and whether the recording is complete; a recorder that is closed stays as it is."""
        if self._store.hdf5 is not None:
            with self._store.closed_on_error(KEPT):
                self._commit(complete)
                self._store.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(complete=kind is None)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close(complete=False)

    # ------------------------------------------------------------ the rest

    def _checked(self, what: str, arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int | None, ...]]) -> dict[str, Array]:
        """Return arrays of exactly those names and shapes, in that order."""
        if {*arrays} != {*shapes}:
            raise StorageError(f"{what} for '{self.path}' hold {sorted(arrays)}; expected {sorted(shapes)}")
        return {name: checked_array(f"{what}['{name}'] for '{self.path}'", arrays[name], shape) for name, shape in shapes.items()}

    def _rows_of(self, tables: Mapping[str, Sequence[Any]]) -> dict[str, list[Array]]:
        """Return the rows of tables at each record, checked."""
        if {*tables} != {*self.tables}:
            raise StorageError(f"tables for '{self.path}' are {sorted(tables)}; expected {sorted(self.tables)}")
        return {name: [checked_array(f"tables['{name}'] for '{self.path}'", rows, (None, self.tables[name])) for rows in each]
                for name, each in tables.items()}  # fmt: skip

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
        """Give HDF5 the records in the buffers that it does not have."""
        first, self._written = self._written, self._base + filled
        for name, x in self._buffers.items():
            hdf5_layout.write_records(self._contents.columns[name], self._rows, first, x[first - self._base : filled])

    def _commit(self, complete: bool = False) -> None:
        """Make what was collected, with the checkpoint after it, the file's state."""
        filled, state = self._now
        if self._written < len(self):
            self._write(filled)
        for name, each in self._added.items():
            hdf5_layout.add_rows(self._contents.tables[name], np.concatenate([np.zeros((0, self.tables[name])), *each]))
            each.clear()
        if state is not None:
            hdf5_layout.write_checkpoint(self._store.hdf5, self._contents, state, self._written)
            self._now = filled, None
        if complete:
            hdf5_layout.write_attribute(self._store.hdf5.id, "complete", np.True_)
        self._store.hdf5.flush()
        self._store.commit()
        self._committed, self._since = self._written, time.monotonic()
        self._store.require_named()


def checked_array(what: str, x: Any, shape: tuple[int | None, ...]) -> Array:
    """Return x as float64 of that shape, None any length; NaN is as good as any number."""
    try:
        x = np.asarray(x)
    except ValueError:
        raise StorageError(f"{what} is no array; expected real numbers") from None
    if not np.can_cast(x.dtype, np.float64, "same_kind"):
        raise StorageError(f"{what} holds {x.dtype}; expected real numbers")
    if x.ndim != len(shape) or any(n not in (m, None) for m, n in zip(x.shape, shape, strict=True)):
        raise StorageError(f"{what} has shape {x.shape}; expected {str(shape).replace('None', 'n')}")
    return x.astype(np.float64, copy=False)


def require_free(path: Path, overwrite: bool) -> None:
    """Refuse a path where a file is already, or a folder.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from engine.recording import require_free
    >>> require_free(Path(tempfile.mkdtemp()) / "run.h5", overwrite=False)  # nothing is there: fine
    """
    if os.path.exists(path) and not (overwrite and os.path.isfile(path)):
        raise StorageError(f"'{path}' exists; expected a new path{', or overwrite=True' if os.path.isfile(path) else ''}")


def saved(path: Path, columns: Shapes, batch: Shape, header: Mapping[str, Any], records: Mapping[str, Any],
          checkpoint: Mapping[str, Any], overwrite: bool = False,
          tables: Mapping[str, tuple[int, Sequence[Any]]] | None = None) -> Path:  # fmt: skip
    """Write a whole recording, as :meth:`Recorder.create` and :meth:`Recorder.append` have it, or leave what is there; return its path.
    Of ``tables`` there are the numbers in a row, and the rows at each record.

    Raises
    ------
    StorageError : the path exists, is being written, or cannot be written, or the disk is full

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from engine.recording import Recording, saved
    >>> path = saved(Path(tempfile.mkdtemp()) / "run.h5", {"t": ()}, (), {}, {"t": np.arange(3.0)}, {})
    >>> Recording.open(path).read("t")
    array([0., 1., 2.])
    """
    require_free(path, overwrite)
    if path.exists():
        os.close(opened(path, os.O_RDWR))                                      # nobody is writing it
    waiting, given = beside(path), tables or {}
    try:
        with Recorder.create(waiting, columns, batch, header, {n: np.shape(x) for n, x in checkpoint.items()},
                             records=len(records["t"]), tables={n: width for n, (width, _) in given.items()}) as recorder:  # fmt: skip
            recorder.append(records, checkpoint, {n: rows for n, (_, rows) in given.items()})
        put_in_place(waiting, path, overwrite)
    except StorageError as problem:
        raise StorageError(str(problem).replace(str(waiting), str(path)).removesuffix(KEPT)) from None
    finally:
        with contextlib.suppress(OSError):
            waiting.unlink(missing_ok=True)
    return path


@contextlib.contextmanager
def aside(begin: Callable[[], Recorder]) -> Iterator[Callable[[Callable[[Recorder], None]], None]]:
    """Record in a thread, while this one goes on: it makes the recorder by ``begin()``, and ``add(work)`` has it do ``work(recorder)``.

    It begins with the first block, so as not to be in the way of its computation. At most three pieces of work wait; then ``add`` waits
    for the first of them. However this ends, what was added is written and the recorder closed, as complete unless there was an error.
    The first error of the thread is raised by ``add``, or in the end.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from engine.recording import Recorder, Recording, aside
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> with aside(lambda: Recorder.create(path, {"t": ()}, (), {}, {})) as add:
    ...     add(lambda recorder: recorder.append({"t": np.arange(3.0)}, {}))
    >>> Recording.open(path).read("t")
    array([0., 1., 2.])
    """
    pool = ThreadPoolExecutor(1)
    made = functools.cache(lambda: pool.submit(begin))
    waiting: deque[Future[Any]] = deque()

    def add(work: Callable[[Recorder], None]) -> None:
        if not waiting:
            waiting.append(made())
        if len(waiting) == 3:
            waiting.popleft().result()
        waiting.append(pool.submit(after, waiting[-1], work))

    def after(before: Future[Any], work: Callable[[Recorder], None]) -> None:
        before.result()  # after an error nothing more is written
        work(made().result())

    complete = False
    try:
        yield add
        complete = True
    finally:
        with held():
            last = waiting[-1] if waiting else made()
            pool.shutdown()
            if made().exception() is None:
                made().result().close(complete and last.exception() is None)
        last.result()
