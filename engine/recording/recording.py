"""Reading a recording, also while it is written and after its writer was killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import listed, path_of, whole
from engine.recording.files import close_at_exit, opened_recording
from engine.recording.hdf5_layout import counted, read_schema
from engine.recording.journaled_file import JournaledFile, StorageError
from engine.recording.own_data import array_of, dataset, read_records

Array = np.ndarray

PIECE = 1 << 25  # bytes of a file that are read in one go


class Recording:
    """A recording as it was when it was opened, whether complete, being written or left behind by a kill; open it again to see more.

    All that it gives out has been compared with its checksums.

    Attributes
    ----------
    path : of the file
    header : what :meth:`Recorder.create` was given, as JSON has it (tuples are lists)
    columns : shape of one record of one rollout, by name
    tables : numbers in a row of what has as many rows at each record as there are, by name
    batch : shape of the batch of rollouts
    complete : whether the recorder was closed as complete

    >>> import tempfile
    >>> import engine
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
    >>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
    >>> path = engine.Simulator(builder.model(), dt=0.1).run([0.0], [0.0], 1.0, out=tempfile.mkdtemp() + "/run.h5")
    >>> with engine.recording.Recording.open(path) as recording:
    ...     print(recording.columns["q"], recording.complete, recording.read("v")[-1].round(6))  # m/s: −g · 1 s
    (1,) True [-9.81]
    """

    def __init__(self, store: JournaledFile) -> None:
        """Use :meth:`open`."""
        self.path, self._store = store.path, store

        def contents(file: Any) -> tuple[Any, ...]:
            found = read_schema(self.path, file, store.size)
            state = {name: array_of(x) for name, x in found.checkpoint.items()} if found.last >= 0 else {}
            return found.layout, found.header, state, found.length, found.complete, found.rows

        with store.closed_on_error():
            self._layout, self.header, self._checkpoint, self._length, self.complete, self._rows = store.fetch(contents)
        self.tables, self.batch = self._layout.tables, self._layout.batch
        self.columns = {name: shape for name, shape in self._layout.columns.items() if name not in map(counted, self.tables)}
        close_at_exit(self)

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
        return cls(opened_recording(path_of(path, StorageError), False))

    def read(self, name: str, start: int | None = 0, stop: int | None = None, step: int = 1) -> Array:
        """Return records ``[start:stop:step]`` of a column (n, \\*batch, \\*shape), of ``"t"`` (n); only these are in memory.

        Raises
        ------
        StorageError : no such column, a step that is not positive, or damage among these records, which is named
        """
        if self._store.hdf5 is None:
            raise StorageError(f"'{self.path}' is closed; expected Recording.open to read it again")
        if name not in self._layout.columns:
            raise StorageError(f"'{self.path}' has no column '{name}'; expected one of {', '.join(self.columns)}")
        step = whole("step", step, "a whole number from 1", least=1, error=StorageError)
        rows = range(*slice(start, stop, step).indices(self._length))
        result = np.empty((len(rows), *self._layout.records[name]))
        if not result.size:
            return result
        n = max(1, PIECE // (result[0].nbytes * step))
        for k in range(0, len(rows), n):
            part = rows[k : k + n]
            try:
                result[k : k + n] = self._part(name, part.start, part[-1] + 1, step)
            except StorageError as error:
                if error.damage is None:
                    raise
                begin, end = [*merged(self._unreadable(name, part.start, rows[-1] + 1)), (part.start, part[-1] + 1)][0]
                raise StorageError(f"'{self.path}' is damaged in records {begin} … {end - 1} of column '{name}' (bytes {error.damage[0]} … "
                                   f"{error.damage[1] - 1}); expected the file as it was recorded") from None  # fmt: skip
        return result

    def table(self, name: str, start: int | None = 0, stop: int | None = None, step: int = 1) -> list[Array]:
        """Return the rows (m, width) of a table at each of the records ``[start:stop:step]``.

        Raises
        ------
        StorageError : no such table, a step that is not positive, or damage in it, which is named

        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from engine.recording import Recorder, Recording
        >>> path = Path(tempfile.mkdtemp()) / "run.h5"
        >>> with Recorder.create(path, {"t": ()}, (), {}, {}, tables={"points": 2}) as recorder:
        ...     recorder.append({"t": np.arange(2.0)}, {}, {"points": [np.ones((1, 2)), np.ones((3, 2))]})
        >>> [rows.shape for rows in Recording.open(path).table("points")]
        [(1, 2), (3, 2)]
        """
        if name not in self.tables:
            expected = listed("one of", self.tables, "none, as it has no tables")
            raise StorageError(f"'{self.path}' has no table '{name}'; expected {expected}")
        records = range(*slice(start, stop, step).indices(self._length))
        ends = self.read(counted(name), 0, records[-1] + 1 if records else 0).astype(int)
        begins = np.concatenate([[0], ends])[:-1]
        if (ends < begins).any():
            raise StorageError(f"'{self.path}' is damaged: its table '{name}' has less rows from record to record; expected the file as it "
                               "was recorded")  # fmt: skip
        first = int(begins[records[0]]) if records else 0
        try:
            rows = self._part(name, first, int(ends[-1])) if records else np.zeros((0, self.tables[name]))
        except StorageError as error:
            if error.damage is None:
                raise
            raise StorageError(f"'{self.path}' is damaged in rows of the table '{name}' (bytes {error.damage[0]} … {error.damage[1] - 1}); "
                               "expected the file as it was recorded") from None  # fmt: skip
        return [rows[begins[k] - first : ends[k] - first] for k in records]

    def _part(self, name: str, start: int, stop: int, step: int = 1) -> Array:
        """Return records of a column, from one state of the file."""
        return self._store.fetch(lambda file: read_records(dataset(self.path, file.id, name), start, stop, step))

    def _unreadable(self, name: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield those among records start … stop − 1 of a column that are damaged, begin … end − 1, a chunk at a time."""
        for k in range(start - start % self._rows, stop, self._rows):
            begin, end = max(start, k), min(stop, k + self._rows)
            try:
                self._part(name, begin, end)
            except StorageError as error:
                if error.damage is None:
                    raise
                yield begin, end

    def checkpoint(self) -> dict[str, Array]:
        """Return the arrays that a run resumed after the last record starts from; none before the first commit of records."""
        return {name: x.copy() for name, x in self._checkpoint.items()}

    def damage(self) -> list[str]:
        """Read the whole file, and return where it is damaged, in words."""
        bytes_ = [f"bytes {begin} … {end - 1}" for begin, end in merged(self._store.damaged())]
        if not bytes_:
            return []
        found = [f"records {begin} … {end - 1} of column '{name}'" for name, shape in self._layout.records.items() if 0 not in shape
                 for begin, end in merged(self._unreadable(name, 0, self._length))]  # fmt: skip
        for name in self.tables:
            try:
                self.table(name)
            except StorageError:
                found.append(f"rows of the table '{name}'")
        return (found or ["no record"]) + bytes_

    def close(self) -> None:
        """Close the file; header, checkpoint and the rest stay."""
        self._store.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


@dataclass(frozen=True)
class Verdict:
    """Verdict of a check of a recording.

    Attributes
    ----------
    path : of the file
    records : that it holds
    complete : whether its recorder was closed as complete; a recording that is not can be gone on with by :meth:`Recorder.resume`
    damage : where it is damaged, in words; empty where every byte is as it was recorded

    >>> from pathlib import Path
    >>> from engine.recording import Verdict
    >>> Verdict(Path("run.h5"), records=11, complete=True).whole
    True
    """

    path: Path
    records: int
    complete: bool
    damage: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """True if the recording is complete, and every byte as it was recorded."""
        return self.complete and not self.damage

    def __str__(self) -> str:
        if self.damage:
            return f"'{self.path}' is damaged: {'; '.join(self.damage)}"
        state = "whole" if self.complete else "not complete, and whole as far as it goes"
        return f"'{self.path}' is {state}: {self.records} record{'s' * (self.records != 1)}, every byte as it was recorded"


def verify(path: str | Path) -> Verdict:
    """Return what a recording is worth: all of it is read, and compared with its checksums.

    Raises
    ------
    StorageError : there is no file, it is no recording, or it is damaged so that none of its records can be read

    Examples
    --------
    >>> import tempfile
    >>> from engine.recording import Recorder
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> with Recorder.create(path, {"t": ()}, (), {}, {}) as recorder:
    ...     recorder.append({"t": np.array([0.0, 0.5])}, {})
    >>> verify(path).whole
    True
    >>> data = bytearray(path.read_bytes())
    >>> data[600_000] ^= 1
    >>> _ = path.write_bytes(data)
    >>> verify(path).damage[0]
    "records 0 … 1 of column 't'"
    """
    with Recording.open(path) as recording:
        return Verdict(recording.path, len(recording), recording.complete, tuple(recording.damage()))


def merged(ranges: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges begin … end − 1 in order, neighbours as one.

    >>> merged(iter([(0, 2), (2, 5), (7, 8)]))
    [(0, 5), (7, 8)]
    """
    found: list[tuple[int, int]] = []
    for begin, end in ranges:
        found[-1:] = [(found[-1][0], end)] if found and found[-1][1] == begin else [*found[-1:], (begin, end)]
    return found
