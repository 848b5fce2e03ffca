"""Files on the disk: opened and locked, given their names, and closed before Python ends."""

from __future__ import annotations

import atexit
import os
import stat
import weakref
from pathlib import Path
from typing import Any

from engine.checks import path_of
from engine.recording.journal import MAGIC, OLD
from engine.recording.journaled_file import SIGNATURE, JournaledFile, StorageError

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


def is_recording(path: str | Path) -> bool:
    """Return whether a file begins as a recording does, or HDF5.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from engine.recording import is_recording
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> path.write_text("hello"), is_recording(path)
    (5, False)
    """
    try:
        with open(opened(path_of(path, StorageError), os.O_RDONLY), "rb") as file:
            return file.read(len(MAGIC)).startswith((MAGIC, OLD, SIGNATURE))
    except (OSError, ValueError):
        return False


def opened(path: Path, flags: int) -> int:
    """Return a descriptor of an ordinary file; one that can write is locked until it is closed.

    Raises
    ------
    StorageError : it is none, or somebody writes it
    OSError : it cannot be opened
    """
    import fcntl

    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)  # does not wait for whoever is to write into a pipe
    try:
        if not stat.S_ISREG(mode := os.fstat(fd).st_mode):
            raise StorageError(f"'{path}' is {'a folder' if stat.S_ISDIR(mode) else 'not an ordinary file'}; expected a recording")
        if flags & os.O_RDWR:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a kill ends it
    except BlockingIOError:
        os.close(fd)
        raise StorageError(f"'{path}' is open in another recorder or HDF5 program; expected nobody else to use it") from None
    except StorageError:
        os.close(fd)
        raise
    except OSError:  # a file system without locks
        pass
    return fd


def opened_recording(path: Path, writable: bool) -> JournaledFile:
    """Return the store of a file that there is; a writable one's journal is carried out.

    Raises
    ------
    StorageError : there is none, it cannot be opened, or it is no whole recording
    """
    fd = -1
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"'{path}' is {'a folder' if path.is_dir() else 'not an ordinary file'}; expected a recording")
        fd = opened(path, os.O_RDWR if writable else os.O_RDONLY)
        return JournaledFile(path, fd, writable)
    except BaseException as error:
        if fd >= 0:
            os.close(fd)
        if isinstance(error, FileNotFoundError):
            raise StorageError(f"there is no file '{path}'; expected a recording") from None
        if isinstance(error, StorageError) or not isinstance(error, (OSError, ValueError)):
            raise
        why, what = getattr(error, "strerror", error), "read and written" if writable else "read"
        raise StorageError(f"'{path}' cannot be opened ({why}); expected a file that can be {what}") from None


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
