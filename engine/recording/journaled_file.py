"""Journalled bytes below HDF5: a file that goes from one state to the next at once, whole after a kill, and under checksums.

Bytes that the last state does not refer to are written straight away, behind its end; changes to bytes that it does refer to (indices,
sizes, the checkpoint, the last, partly filled chunk) are held back. A commit appends them to the file as a *journal* with a checksum, then
carries them out, then cuts the journal off. Killed before the journal is whole, the file is the old state with bytes behind its end that
nobody reads; killed later, it is the new state, which a reader sees through the journal and the next writer carries out. A full disk ends
in the old state in the same way. Plain ``h5py.File(path)`` opens a killed run too, unless the kill fell between the journal's end and that
of its commit (about a millisecond).

A state is: its *head*, the file's first 512 bytes, with a checksum; HDF5's bytes; and, behind these, the *table* of their checksums, a
CRC-32 for every block, with a checksum in the head. HDF5 is given no byte that is not as its checksum says, so that what is damaged is
found before HDF5 makes anything of it. A commit reads again the blocks that it changes part of: damage does not get a new checksum.

Reading while writing goes by the head, the first that a commit changes: bytes count as read if it is still the same afterwards, and the
reader begins again with the new state otherwise. Plain h5py knows nothing of this, and is refused by a lock as long as a writer has the
file.

A power failure is another matter than a kill: nothing here waits for the disk (no fsync), and what it lost is found by the checksums.
POSIX only.
"""

from __future__ import annotations

import contextlib
import math
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.recording.checksums import FIRST, PIECE, Checksums
from engine.recording.journal import MAGIC, OLD, Entries, Head, journal, journal_of

CACHE = 4 << 20  # bytes of chunks that HDF5 keeps for a column of a reader; a writer's go to the file at once
SIGNATURE = b"\x89HDF\r\n\x1a\n"


class StorageError(EngineError):
    """A recording that cannot be written or read; the text says which file, what is wrong with it and what was expected.

    ``damage`` is where its bytes are not as their checksum says, (begin, end), where that is what is wrong.

    >>> import engine
    >>> engine.load_trajectory("gone.h5")
    Traceback (most recent call last):
    ...
    engine.recording.journaled_file.StorageError: there is no file 'gone.h5'; expected a recording
    """

    damage: tuple[int, int] | None = None


class JournaledFile:
    """A file for HDF5 to read and write, in which every byte of the last state stays until :meth:`commit` changes them all at once.

    A writer keeps errors of the disk in ``failure`` and does not raise them into HDF5, which could not be closed any more. A reader gets
    bytes of the state that :meth:`load` found, or OSError once a commit has changed it, and nobody gets bytes that are damaged.

    Attributes
    ----------
    new : whether the file is empty, and has no state yet
    head, end, sums : the last state's, its bytes, and the checksums of these
    size : of HDF5's bytes in the next state
    held : changes to bytes of the last state, by place and size, in the order in which they were written
    patches : a reader's: the last state's bytes that are still in the journal
    damage : where damaged bytes were to be read, (begin, end), or None
    hdf5 : h5py's file in this one, or None
    """

    def __init__(self, path: Path, fd: int, writable: bool, new: bool = False) -> None:
        self.path, self.fd, self.writable, self.new, self.process = path, fd, writable, new, os.getpid()
        self.position = self.size = 0
        self.held: Entries = {}
        self.patches: Entries = {}
        self.failure: OSError | None = None
        self.damage: tuple[int, int] | None = None
        self.hdf5: Any = None
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
        into = memoryview(buffer).cast("B")
        into[:] = self._next(self.position, self.position + len(into))
        if not self.writable and not self.unchanged():
            raise OSError("changed by a commit")
        self.position += len(into)
        return len(into)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._place(view, self.position)
        self.position += len(view)
        self.size = max(self.size, self.position)
        return len(view)

    def truncate(self, size: int) -> None:
        self.size = size

    def flush(self) -> None:
        """Do nothing: what is written becomes a state in :meth:`commit`."""

    # ------------------------------------------------------------ bytes

    def _next(self, begin: int, end: int) -> bytes | bytearray:
        """Return bytes of the next state: of the last one, checked, with what was written since; zeros behind the end."""
        last = min(end, self.size)
        if begin >= last:
            return bytes(end - begin)
        known = min(last, self.head.size)
        data = self._disk(begin, last) if begin >= known else self._state(begin, known)
        if begin < known < last:
            data = data + self._disk(known, last)
        if begin < self.end:
            data = overlaid(data, begin, self.held)
        return data if last == end else data.ljust(end - begin, b"\0")

    def _state(self, begin: int, end: int) -> bytes | bytearray:
        """Return bytes of the last state, checked; OSError where they are damaged, or changed by a commit."""
        if begin < FIRST:
            return self.first[begin:end] + (self._state(FIRST, end) if end > FIRST else b"")
        first, last = self.sums.around(begin, end)
        data = self._disk(first, last)
        if not self.forked and (wrong := self.sums.wrong(first, data)):
            if self.writable or self.unchanged():
                self.damage = self.damage or wrong
            raise OSError("damaged, or changed by a commit")
        return data[begin - first : end - first]

    def _disk(self, begin: int, end: int) -> bytes | bytearray:
        """Return bytes as they lie on the disk, or in a journal that a reader found; zeros behind the end."""
        data = os.pread(self.fd, end - begin, begin)
        while len(data) < end - begin and (more := os.pread(self.fd, end - begin - len(data), begin + len(data))):
            data += more  # no system gives more than 2 GiB at once
        return overlaid(data.ljust(end - begin, b"\0"), begin, self.patches)

    def _place(self, view: memoryview, at: int) -> None:
        """Write bytes of the next state: straight away where they are none of the last one's, and held back where they are."""
        n = max(0, min(len(view), self.end - at))
        if n:
            self.held.pop((at, n), None)  # the last that was written comes last, and counts where changes overlap
            self.held[at, n] = bytes(view[:n])
        self._attempt(view[n:], at + n)

    # ------------------------------------------------------------ states

    def load(self) -> None:
        """Take the file's present state, also where its journal was not, or not wholly, carried out.

        Raises
        ------
        StorageError : it is no recording, or its head or table is damaged
        OSError : the disk does not let a writer carry out the journal
        """
        before = None
        while not self._loaded():
            if self.seen == before:  # nobody is writing
                raise StorageError(f"'{self.path}' {strange(self.fd, self.seen)}; expected the file as it was recorded")
            before = self.seen
        if self.writable:
            self.held, self.patches = self.patches, {}
            self._carry_out()
            if self.failure is not None:
                raise self.failure

    def _loaded(self) -> bool:
        """Take the state that the file seems to have, and return whether its head and its table are whole."""
        self.held = {}
        self.seen = os.pread(self.fd, FIRST, 0)  # first: a commit after this is noticed
        self.patches = journal_of(self.fd)
        there = os.fstat(self.fd).st_size
        head = Head.of(self.patches.get((0, FIRST), self.seen)) if not self.new else Head()
        if head is None or there < head.end:
            return False
        self.head, self.first, self.end, self.size = head, head.packed(), head.end, head.size
        table = self._disk(head.size, head.end)
        self.sums = Checksums(head.size, head.shift, np.frombuffer(table, "<u4"))
        return zlib.crc32(table) == head.check

    @property
    def forked(self) -> bool:
        """True if this is a forked process's copy, which writes nothing."""
        return self.process != os.getpid()

    def unchanged(self) -> bool:
        """Return whether no commit has begun to change the file since :meth:`load`."""
        return os.pread(self.fd, FIRST, 0) in (self.seen, self.first)

    def room(self) -> float:
        """Return how many bytes there is room for on its disk; infinite where the system does not say."""
        if not hasattr(os, "fstatvfs"):
            return math.inf
        disk = os.fstatvfs(self.fd)
        return float(disk.f_bavail * disk.f_frsize)

    def commit(self) -> None:
        """Make what was written the file's state; after an OSError the file is in the last state, or in this one."""
        if self.failure is None and (self.held or self.size != self.head.size) and not self.forked:
            sums = self.sums.after(self.size, [(at, at + n) for at, n in self.held], self._next)
            table = sums.table.tobytes()
            head = Head(self.head.commits + 1, self.size, sums.shift, zlib.crc32(table))
            self._place(memoryview(table), self.size)
            entries = {(0, FIRST): head.packed(), **self.held}
            begin = max(head.end, self.end)
            self._attempt(None, begin)
            self._attempt(memoryview(journal(entries, begin, head.end)), begin)
            if self.failure is None:
                self.head, self.first, self.end, self.sums, self.held = head, entries[0, FIRST], head.end, sums, entries
                self._carry_out()
        if self.failure is not None:
            raise self.failure

    def _carry_out(self) -> None:
        """Write what the journal holds, the head first, and cut off what lies behind the state."""
        for (at, _), data in self.held.items():
            self._attempt(memoryview(data), at)
        self._attempt(None, self.end)
        if self.failure is None:
            self.held = {}

    def damaged(self) -> Iterator[tuple[int, int]]:
        """Yield where bytes are damaged, (begin, end), of the last state and of those that it becomes meanwhile; all of them are read."""
        begin = FIRST
        while begin < self.head.size:
            end = self.sums.around(begin, min(begin + PIECE, self.head.size))[1]
            self.damage = None
            try:
                self._state(begin, end)
                begin = end
            except OSError:
                if self.damage is None:
                    self.load()
                else:
                    yield self.damage
                    begin = self.damage[1]
        self.damage = None

    def require_named(self) -> None:
        """Refuse a file that its path does not lead to any more: what is written into it would be lost, or elsewhere."""
        own, there = os.fstat(self.fd), None
        with contextlib.suppress(OSError):
            there = os.stat(self.path)
        if there is None or (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
            happened = "replaced by another file" if there is not None else "moved" if own.st_nlink else "deleted"
            raise StorageError(f"'{self.path}' was {happened} while it was written; expected it to stay where it was")

    def close(self) -> None:
        """Close the file; a writer's in its last state: what lies behind its end is cut off, if there is no journal."""
        if self.fd < 0:
            return
        if self.writable:
            if not journal_of(self.fd):
                self.failure = None
                self._attempt(None, self.end)
            self.failure = OSError("closed")  # nothing is written any more
        with contextlib.suppress(Exception):
            if self.hdf5 is not None:
                self.hdf5.close()
        os.close(self.fd)
        self.hdf5, self.fd = None, -1  # should HDF5 call once more

    # ------------------------------------------------------------ HDF5

    @contextlib.contextmanager
    def closed_on_error(self, hint: str = "") -> Iterator[None]:
        """Close the file in its last state if anything goes wrong within: what HDF5 holds then must not become a state."""
        try:
            yield
        except BaseException as error:
            why = getattr(self.failure or error, "strerror", None)  # the disk's word, not HDF5's
            problem = self._problem(error)
            self.close()
            if isinstance(error, StorageError) or not isinstance(error, Exception) or isinstance(error, MemoryError):
                raise
            if why and problem.damage is None:
                problem = StorageError(f"'{self.path}' cannot be written ({why}); expected a disk with room")
            problem.args = (f"{problem}{hint}",)
            raise problem from None

    def _problem(self, error: BaseException) -> StorageError:
        """Return what is wrong with the file, of an error that HDF5 raised, or that reading what it gave did."""
        if self.damage is None:
            return StorageError(f"'{self.path}' is damaged ({type(error).__name__}: {error}); expected the file as it was recorded")
        begin, end = self.damage
        problem = StorageError(f"'{self.path}' is damaged in bytes {begin} … {end - 1}; expected the file as it was recorded")
        problem.damage = self.damage
        return problem

    def fetch(self, read: Callable[[Any], Any]) -> Any:
        """Return what ``read(hdf5)`` reads from one state of the file: it is called again until no commit came between."""
        import h5py

        for _ in range(1000):
            self.damage = None
            try:
                if self.hdf5 is None:
                    self.hdf5 = h5py.File(self, "r+" if self.writable else "r", rdcc_nbytes=0 if self.writable else CACHE)
                found = read(self.hdf5)
                if self.damage is None:  # HDF5 may pass over an error
                    return found
                raise OSError("damaged")
            except MemoryError:
                raise
            except Exception as error:  # whatever HDF5 and h5py raise at a file that is not theirs
                if self.writable or self.unchanged():
                    raise error if isinstance(error, StorageError) and self.damage is None else self._problem(error) from None
            if self.hdf5 is not None:
                self.hdf5.close()
            self.hdf5 = None
            self.load()
        raise StorageError(f"'{self.path}' is written faster than it can be read; expected pauses between its commits")

    def _attempt(self, data: memoryview | None, at: int) -> None:
        """Write at a place, or end the file there; the first error is kept, and nothing is written after it."""
        if self.failure is not None or self.forked:
            return
        try:
            if data is None:
                os.ftruncate(self.fd, at)
            while data:
                n = os.pwrite(self.fd, data, at)
                data, at = data[n:], at + n
        except OSError as error:
            self.failure = error


def overlaid(data: bytes | bytearray, begin: int, changes: Entries) -> bytes | bytearray:
    """Return bytes that lie at ``begin``, with changes carried out."""
    end = begin + len(data)
    for (at, n), new in changes.items():
        if at < end and at + n > begin:
            first, last = max(begin, at), min(end, at + n)
            data = data if isinstance(data, bytearray) else bytearray(data)
            data[first - begin : last - begin] = new[first - at : last - at]
    return data


def strange(fd: int, head: bytes) -> str:
    """Return what is wrong with a file that has no state."""
    there, state = os.fstat(fd).st_size, Head.of(head)
    if state is not None and there < state.end:
        return f"is cut short, or was changed by another program ({there} of {state.end} bytes)"
    if state is not None:
        return f"is damaged in bytes {state.size} … {state.end - 1}, its checksums"
    if head.startswith(OLD):
        return "is a recording of an older layout, without checksums (plain h5py reads it)"
    if head.startswith(SIGNATURE):
        return "is an HDF5 file of something else, or was rewritten by another program, and has no checksums (plain h5py reads it)"
    if head.startswith(MAGIC) or os.pread(fd, len(SIGNATURE), FIRST) == SIGNATURE:
        return f"is damaged in bytes 0 … {FIRST - 1}, or cut short"
    return "is not an HDF5 file"
