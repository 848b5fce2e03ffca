"""A file whose bytes change from one state to the next all at once, whole again after a kill at any moment: HDF5 writes through it.

Bytes that the last state does not refer to are written straight away, behind its end; changes to bytes that it does refer to (indices,
sizes, the checkpoint, the last, partly filled chunk) are held back. A commit appends them to the file as a *journal* with a checksum, then
carries them out, then cuts the journal off. Killed before the journal is whole, the file is the old state with bytes behind its end that
HDF5 ignores; killed later, it is the new state, which a reader sees through the journal and the next writer carries out. A full disk ends
in the old state in the same way. Plain ``h5py.File(path)`` opens a killed run too, unless the kill fell between the journal's end and that
of its commit (about a millisecond).

Reading while writing goes by a count of commits in the file's first bytes, the first that a commit changes: bytes count as read if that
number is still the same afterwards, and the reader begins again with the new state otherwise. Plain h5py knows nothing of this, and is
refused by a lock as long as a writer has the file.

A power failure is another matter than a kill: nothing here waits for the disk (no fsync). POSIX only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.checks import EngineError

BLOCK = struct.Struct("<16sQ")  # the first bytes of a file: a magic, how many commits there were
ENTRY = struct.Struct("<QQ")  # of a journal: where, how many bytes; they follow
TRAILER = struct.Struct("<16sQQI")  # of a journal, the last bytes of a file: a magic, where it begins, the file's size afterwards, CRC-32
USER_BLOCK = 512  # bytes before those of HDF5
MAGIC, JOURNAL, SIGNATURE = b"engine recording", b"engine's journal", b"\x89HDF\r\n\x1a\n"
CACHE = 4 << 20  # bytes of chunks that HDF5 keeps for a column


class StorageError(EngineError):
    """A recording that cannot be written or read; the text says which file, what is wrong with it and what was expected."""


class Store:
    """A file for HDF5 to read and write, in which every byte of the last state stays until :meth:`commit` changes them all at once.

    A writer keeps errors of the disk in ``failure`` and does not raise them into HDF5, which could not be closed any more. A reader gets
    bytes of the state that :meth:`load` found, or OSError once a commit has changed it.

    Attributes
    ----------
    commits : how many made the last state
    committed, size : bytes of the last state, and of the next
    held : changes to bytes of the last state, by place and size, in the order in which they were written
    hdf5 : h5py's file in this one, or None
    """

    def __init__(self, path: Path, fd: int, writable: bool) -> None:
        self.path, self.fd, self.writable, self.process = path, fd, writable, os.getpid()
        self.position = self.size = 0
        self.failure: OSError | None = None
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
        into, begin = memoryview(buffer).cast("B"), self.position
        end = begin + len(into)
        data = os.pread(self.fd, len(into), begin)
        into[: len(data)] = data
        into[len(data) :] = bytes(len(into) - len(data))
        for (at, n), held in self.held.items():
            first, last = max(begin, at), min(end, at + n)
            if first < last:
                into[first - begin : last - begin] = held[first - at : last - at]
        if not self.writable and not self.unchanged():
            raise OSError("changed by a commit")
        self.position = end
        return len(into)

    def write(self, data: Any) -> int:
        view, begin = memoryview(data).cast("B"), self.position
        self.position += len(view)
        self.size = max(self.size, self.position)
        n = max(0, min(len(view), self.committed - begin))  # of them belong to the last state
        if n:
            self.held.pop((begin, n), None)  # the last that was written comes last, and counts where changes overlap
            self.held[begin, n] = bytes(view[:n])
        self._attempt(view[n:], begin + n)
        return len(view)

    def truncate(self, size: int) -> None:
        self.size = size

    def flush(self) -> None:
        """Do nothing: what is written becomes a state in :meth:`commit`."""

    # ------------------------------------------------------------ states

    def load(self) -> None:
        """Take the file's present state: its count of commits, and a journal that was not, or not wholly, carried out."""
        self.commits = commits_of(self.fd)  # first: a commit after this is noticed
        self.held, size = journal_of(self.fd)
        if self.held:
            self.commits = max(self.commits, BLOCK.unpack(self.held[0, BLOCK.size])[1])
            if self.writable:
                self._carry_out(size)
        self.size = self.committed = os.fstat(self.fd).st_size

    def unchanged(self) -> bool:
        """Return whether no commit has begun to change the file since :meth:`load`."""
        return commits_of(self.fd) <= self.commits

    def commit(self) -> None:
        """Make what was written the file's state; after an OSError the file is in the last state, or in this one."""
        if self.failure is None and (self.held or self.size != self.committed):
            entries = {(0, BLOCK.size): BLOCK.pack(MAGIC, self.commits + 1), **self.held}
            begin = max(self.size, self.committed)
            text = b"".join(ENTRY.pack(*place) + data for place, data in entries.items())
            text += TRAILER.pack(JOURNAL, begin, self.size, zlib.crc32(text))
            self._attempt(None, begin)
            self._attempt(memoryview(text), begin)
            if self.failure is None:
                self.commits, self.held = self.commits + 1, entries
                self._carry_out(self.size)
        if self.failure is not None:
            raise self.failure

    def _carry_out(self, size: int) -> None:
        """Write what the journal holds, the count of commits first, and cut the journal off."""
        for (at, _), data in self.held.items():
            self._attempt(memoryview(data), at)
        self._attempt(None, size)
        if self.failure is None:
            self.held, self.committed = {}, size

    def close(self) -> None:
        """Close the file; a writer's in its last state: what lies behind its end is cut off, if there is no journal."""
        if self.fd < 0:
            return
        if self.writable:
            if not journal_of(self.fd)[0]:
                self.failure = None
                self._attempt(None, self.committed)
            self.failure = OSError("closed")  # nothing is written any more
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            if self.hdf5 is not None:
                self.hdf5.close()
        os.close(self.fd)
        self.hdf5, self.fd = None, -1  # should HDF5 call once more

    @contextlib.contextmanager
    def closed_on_error(self, hint: str = "") -> Iterator[None]:
        """Close the file in its last state if anything goes wrong within: what HDF5 holds then must not become a state."""
        try:
            yield
        except BaseException as error:
            why = getattr(self.failure or error, "strerror", None)  # the disk's word, not HDF5's
            self.close()
            if isinstance(error, StorageError) or not isinstance(error, (OSError, RuntimeError, ValueError)):
                raise
            text = f"cannot be written ({why}); expected a disk with room" if why else f"is damaged ({error}); expected a whole file"
            raise StorageError(f"'{self.path}' {text}{hint}") from None

    def fetch(self, read: Callable[[Any], Any]) -> Any:
        """Return what ``read(hdf5)`` reads from one state of the file: it is called again until no commit came between."""
        import h5py

        if not self.commits and all(os.pread(self.fd, len(SIGNATURE), at) != SIGNATURE for at in (0, USER_BLOCK)):
            raise StorageError(f"'{self.path}' is not an HDF5 file; expected a recording")  # h5py would make an empty one of an empty file
        for _ in range(1000):
            try:
                if self.hdf5 is None:
                    self.hdf5 = h5py.File(self, "r+" if self.writable else "r", rdcc_nbytes=CACHE)
                return read(self.hdf5)
            except (OSError, RuntimeError, KeyError, ValueError) as error:
                if self.unchanged():
                    if isinstance(error, StorageError):
                        raise
                    raise StorageError(f"'{self.path}' is cut short or damaged ({error}); expected the file as it was recorded") from None
            if self.hdf5 is not None:
                self.hdf5.close()
            self.hdf5 = None
            self.load()
        raise StorageError(f"'{self.path}' is written faster than it can be read; expected pauses between its commits")

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
    """Return the count of commits in a file's first bytes; 0 for a file of something else."""
    head = os.pread(fd, BLOCK.size, 0)
    magic, count = BLOCK.unpack(head) if len(head) == BLOCK.size else (b"", 0)
    return count if magic == MAGIC else 0


def journal_of(fd: int) -> tuple[dict[tuple[int, int], bytes], int]:
    """Return the changes in a file's journal, by place and size, and the file's size after them; none if no journal is whole."""
    end = os.fstat(fd).st_size
    tail = os.pread(fd, TRAILER.size, max(0, end - TRAILER.size))
    magic, begin, size, check = TRAILER.unpack(tail) if len(tail) == TRAILER.size else (b"", 0, 0, 0)
    length = end - TRAILER.size - begin
    text = os.pread(fd, length, begin) if magic == JOURNAL and length > 0 else b""
    if not text or len(text) != length or zlib.crc32(text) != check:
        return {}, end
    entries, place = {}, 0
    while place < len(text):
        at, n = ENTRY.unpack_from(text, place)
        place += ENTRY.size + n
        entries[at, n] = text[place - n : place]
    return entries, size


# ---------------------------------------------------------------- opening and closing


_OPEN: weakref.WeakSet[Any] = weakref.WeakSet()


def close_at_exit(file: Any) -> None:
    """Have Python close a recorder or recording that nobody else did: HDF5, which outlives Python, would call it when it is gone."""
    if not _OPEN:
        atexit.unregister(close_all)
        atexit.register(close_all)  # after h5py's own, hence before it
    _OPEN.add(file)


def close_all() -> None:
    """Close every file as if nobody held it any more."""
    for file in list(_OPEN):
        file.__del__()


def opened(path: Path, flags: int) -> int:
    """Return a descriptor of a file; one that can write is locked until it is closed. OSError, or StorageError if somebody writes it."""
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


def opened_recording(path: Path, writable: bool) -> Store:
    """Return the store of a file that there is; a writable one's journal is carried out."""
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"'{path}' is {'a folder' if path.is_dir() else 'not an ordinary file'}; expected a recording")
        return Store(path, opened(path, os.O_RDWR if writable else os.O_RDONLY), writable)
    except FileNotFoundError:
        raise StorageError(f"there is no file '{path}'; expected a recording") from None
    except OSError as error:
        what = "read and written" if writable else "read"
        raise StorageError(f"'{path}' cannot be opened ({error.strerror}); expected a file that can be {what}") from None


def put_in_place(new: Path, path: Path, overwrite: bool) -> None:
    """Give a new file its name; refuse one that another has taken, unless it may be overwritten."""
    if not overwrite:
        try:
            os.link(new, path)
            return
        except FileExistsError:
            raise StorageError(f"'{path}' exists; expected a new path, or overwrite=True") from None
        except OSError:  # a file system without links
            pass
    new.replace(path)
