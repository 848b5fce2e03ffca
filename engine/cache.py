"""The disk cache, per user and machine, of what takes long to make: machine code, the convex parts of meshes, their stand-ins, and
what is drawn of their files.

A file holds a header line, the SHA-256 of the key and the object, then the object. The key names everything that the object depends on: of
machine code the program, how it is entered, the lane width, the processor and its features, LLVM, llvmlite, the texts of all modules that
make code, and their library of elementary functions; of parts see :mod:`engine.io.decomposition`, of the rest
:mod:`engine.viewer.scene.kept_arrays`. A file that is damaged, belongs to another key or to another user, is a link, or may be written by
others, itself or its folder, is ignored, never executed; so is one larger than all that is kept. Files of other names are left alone.

The key of machine code is put together in :class:`engine.compiler.native_code.Code` from :func:`engine.compiler.native_code.identity`,
that of traces by :func:`engine.compiler.trace_cache.key_of`.

Set ``ENGINE_CACHE`` to choose the folder, or to ``0`` to keep nothing. (``ENGINE_LANES`` is of :mod:`engine.compiler.native_code`.)
A cache that is wanted and cannot be used is no error: the first that is not kept is warned of, once for each reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.checks import EngineWarning, warn

HEADER = b"articulated-engine object 1\n"
KEEP = 512 * 2**20  # bytes: beyond this the files used longest ago go
TEMPORARY = "articulated-engine-"  # what names begin with while files are written
#: folder -> bytes that this process has stored there since it looked at them all
grown: dict[Path, int] = {}
#: why something was not kept in this process
missed: list[str] = []


class CacheWarning(EngineWarning):
    """Warning: a cache is wanted, and nothing is kept in it.

    >>> issubclass(CacheWarning, EngineWarning)
    True
    """


class Unusable(Exception):
    """Error: the cache cannot be used; its text says why, and what was expected."""


def folder() -> Path | None:
    """Return the user's cache folder, made if it is missing; None if it is switched off, or there is none to trust, which is warned of."""
    try:
        return chosen()
    except Unusable as error:
        miss(error)
        return None


def chosen() -> Path | None:
    """Return the user's cache folder, made if it is missing, or None if it is switched off.

    Raises
    ------
    Unusable : it cannot be made, or others may write to it
    """
    asked = os.environ.get("ENGINE_CACHE")
    if asked == "0":
        return None
    try:
        path = Path(asked).expanduser() if asked else usual()
    except RuntimeError as error:                                              # no home
        raise unusable(asked or "of this user", str(error)) from error
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = path.stat()
    except OSError as error:
        raise unusable(path, "it is no folder" if os.path.exists(path) else f"it cannot be made: {error.strerror}") from error
    if not is_private(status):
        raise unusable(path, f"others may write to it (chmod go-w '{path}')" if status.st_uid == os.getuid() else "it is another user's")
    return path


def unusable(where: Path | str, why: str) -> Unusable:
    """Return the error of a cache that cannot be used."""
    return Unusable(f"the cache {where} is not used, as {why}; expected a folder that you alone may write to (ENGINE_CACHE chooses it, or "
                    "0 for none): without one each process traces and compiles anew")  # fmt: skip


def unwritten(where: Path, error: OSError, how: str = "written") -> Unusable:
    """Return the error of a cache that cannot be written, or looked through."""
    return Unusable(f"the cache {where} cannot be {how}: {error.strerror}; expected room in a folder of your own (ENGINE_CACHE chooses "
                    "it, or 0 for none): what is not kept is traced and compiled anew by each process")  # fmt: skip


def miss(error: Unusable) -> None:
    """Note why something is not kept, and warn of it where it is the first time."""
    if (text := str(error)) not in missed:
        missed.append(text)
        warn(text, CacheWarning)


def trouble() -> str:
    """Return why nothing can be kept, found by trying; "" if it can, or is not to be."""
    try:
        if (where := chosen()) is not None:
            try:
                with tempfile.TemporaryFile(dir=where, prefix=TEMPORARY) as file:
                    file.write(HEADER)
            except OSError as error:
                raise unwritten(where, error) from error
            try:
                next(files(where), None)
            except OSError as error:
                raise unwritten(where, error, "looked through") from error
    except Unusable as error:
        return str(error)
    return ""


def is_private(status: os.stat_result) -> bool:
    """Return whether a file or folder is the user's, and nobody else may write to it."""
    return os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def usual() -> Path:
    """Return the system's folder for a user's caches."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "articulated-engine"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "articulated-engine"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "articulated-engine"


def digest(key: str, made: bytes) -> bytes:
    """Return the SHA-256 that a file of an object under a key is known by."""
    return hashlib.sha256(key.encode() + b"\0" + made).digest()


def name(key: str) -> str:
    """Return the name of the file of a key."""
    return hashlib.sha256(key.encode()).hexdigest() + ".o"


def load(key: str) -> bytes | None:
    """Return the object kept for a key, or None."""
    where = folder()
    if where is None:
        return None
    path = where / name(key)
    try:
        data = content(path)
    except OSError:
        return None
    start = len(HEADER) + 32
    if data[: len(HEADER)] != HEADER or data[len(HEADER) : start] != digest(key, data[start:]):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return data[start:]


def file(data: bytes, suffix: str) -> Path | None:
    """Return a file with these bytes, for who reads files alone, or None where none can be kept. It goes as the others do, those used
    longest ago first."""
    where = folder()
    if where is None:
        return None
    path = where / f"{hashlib.sha256(data).hexdigest()}{suffix}"
    with contextlib.suppress(OSError):
        if content(path) == data:
            os.utime(path)
            return path
    return path if put(where, path.name, data) else None


def content(path: Path) -> bytes:
    """Return what is in a file of the user's own; OSError for anything else, links and pipes included, and for more than is kept."""
    handle = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not is_private(status) or status.st_size > KEEP:
            raise OSError(f"{path} is not a file of the user's own that this cache keeps")
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def store(key: str, made: bytes) -> bool:
    """Keep an object for a key, and return whether it is kept; a disk that is full or read-only is no error."""
    where = folder()
    return where is not None and put(where, name(key), HEADER + digest(key, made) + made)


def put(where: Path, called: str, data: bytes) -> bool:
    """Write a file of the cache, whole or not at all, and return whether it is there; a disk that is full or read-only is warned of."""
    try:
        handle, temporary = tempfile.mkstemp(dir=where, prefix=TEMPORARY)  # what a crash leaves behind is pruned like the rest
        try:
            with os.fdopen(handle, "wb") as new:
                new.write(data)
            os.replace(temporary, where / called)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        with contextlib.suppress(OSError):                                     # another process has it there, and is reading
            if content(where / called) == data:
                return True
        miss(unwritten(where, error))
        return False
    grown[where] = grown.get(where, KEEP) + len(data)
    if grown[where] >= KEEP // 16:                                             # to look at all files takes longer than to write one
        with contextlib.suppress(OSError):
            prune(where)
        grown[where] = 0
    return True


def files(where: Path) -> Iterator[tuple[float, int, str]]:
    """Yield time of last use [s], size [bytes] and path of each file in a folder that others write to and prune meanwhile."""
    with os.scandir(where) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):                       # gone since the folder was read
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield status.st_mtime, status.st_size, entry.path


def prune(where: Path) -> None:
    """Remove files of the cache's own, those used longest ago first, until the rest is no more than ``KEEP``."""
    named = re.compile(rf"[0-9a-f]{{64}}\.(o|ply)|{TEMPORARY}\w+")
    ours = sorted(found for found in files(where) if named.fullmatch(os.path.basename(found[2])))
    excess = sum(size for _, size, _ in ours) - KEEP
    for _, size, path in ours:
        if excess <= 0:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        excess -= size
