"""Reading a recording, also while it is written and after its writer was killed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import whole
from engine.recording.schema import read_schema
from engine.recording.store import StorageError, Store, close_at_exit, opened_recording

Array = np.ndarray

PIECE = 1 << 25  # bytes of a file that are read in one go


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

    def __init__(self, store: Store) -> None:
        """Use :meth:`open`."""
        self.path, self._store = store.path, store

        def contents(file: Any) -> tuple[Any, ...]:
            layout, header = read_schema(self.path, file)
            group = file["checkpoint"]
            state = {name: np.asarray(group[name][()]) for name in layout.checkpoint} if group.attrs["records"] >= 0 else {}
            return layout, header, state, len(file["t"]), bool(file.attrs["complete"])

        with store.closed_on_error():
            self._layout, self.header, self._checkpoint, self._length, self.complete = store.fetch(contents)
        self.columns, self.batch = self._layout.columns, self._layout.batch
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
        return cls(opened_recording(Path(path), False))

    def read(self, name: str, start: int | None = 0, stop: int | None = None, step: int = 1) -> Array:
        """Return records ``[start:stop:step]`` of a column (n, \\*batch, \\*shape), of ``"t"`` (n); only these are in memory.

        Raises
        ------
        StorageError : no such column, a step that is not positive, or a file that became unreadable
        """
        if self._store.hdf5 is None:
            raise StorageError(f"'{self.path}' is closed; expected Recording.open to read it again")
        if name not in self.columns:
            raise StorageError(f"'{self.path}' has no column '{name}'; expected one of {', '.join(self.columns)}")
        step = whole("step", step, "a whole number from 1", least=1, error=StorageError)
        rows = range(*slice(start, stop, step).indices(self._length))
        result = np.empty((len(rows), *self._layout.records[name]))
        if not result.size:
            return result
        n = max(1, PIECE // (result[0].nbytes * step))
        for k in range(0, len(rows), n):
            part = rows[k : k + n]
            result[k : k + n] = self._store.fetch(lambda file: file[name][part.start : part[-1] + 1 : step])
        return result

    def checkpoint(self) -> dict[str, Array]:
        """Return the arrays that a run resumed after the last record starts from; none before the first commit of records."""
        return {name: x.copy() for name, x in self._checkpoint.items()}

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
