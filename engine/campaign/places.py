"""Storage of files and objects, each whole or not at all: a directory of a disk, or a store of objects that has a URL (S3 and others).

Credentials, region and endpoint of a store are those of the environment, such as AWS_ACCESS_KEY_ID, AWS_REGION and AWS_ENDPOINT_URL.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from engine.campaign.design import CampaignError
from engine.checks import path_of, require_packages, writing
from engine.recording import StorageError

PARTIAL = ".partial"
SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "memory")
EXPECTED = "a bucket that is there, a server that answers, and credentials for it in the environment"
#: requests of a store that are under way at a time
REQUESTS = 16
#: how often a store is asked again, for how long, and how long an answer may take, s, which is a part of that, so that a request that
#: stalls is made again: of a store that has not answered yet, or not the last time; and of one that did, and is busy, or gets much
FIRST, LATER = (5, 10.0, 4.0), (50, 120.0, 40.0)


class Disk:
    """A directory, that need not be there yet."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.abspath(path_of(path, StorageError)))

    def put(self, name: str, data: bytes, sure: Callable[[], None] = lambda: None) -> None:
        """Write a file all at once: under a name of its own, then renamed; ``sure`` is called in between, and may raise."""
        path = self.path / name
        new = path.with_name(f".{path.name}-{os.urandom(6).hex()}{PARTIAL}")
        try:
            with writing(path, StorageError, begun=False):
                path.parent.mkdir(parents=True, exist_ok=True)
                new.write_bytes(data)
                sure()
                with contextlib.suppress(*([FileNotFoundError] if path.exists() else [])):       # another has put it there, and tidied up
                    new.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise

    def get(self, name: str) -> bytes:
        """Return a file's bytes; FileNotFoundError where it is not there."""
        path = self.path / name
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(path) from None
        except OSError as error:
            raise StorageError(f"'{path}' cannot be read ({error.strerror or error}); expected a file that can be") from None

    def listed(self) -> Iterator[tuple[str, int]]:
        """Yield the files there are, and how many bytes they have; none that is being written."""
        if self.path.is_file():
            yield self.path.name, self.path.stat().st_size
        for folder, _, names in os.walk(self.path):
            for name in names:
                if not name.endswith(PARTIAL):
                    with contextlib.suppress(FileNotFoundError):
                        path = Path(folder, name)
                        yield path.relative_to(self.path).as_posix(), path.stat().st_size

    def require_room(self, size: int) -> None:
        """Refuse a disk that has no room for so many bytes."""
        disk = next(p for p in (self.path, *self.path.parents) if p.exists())
        if size > (free := shutil.disk_usage(disk).free):
            raise CampaignError(f"the campaign takes {gib(size)} ({size} bytes), and the disk of '{self.path}' has {gib(free)} free "
                                f"({free} bytes); expected fewer runs, or that less of them is kept")  # fmt: skip

    def each(self, do: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return what is done with each."""
        return [do(x) for x in items]

    def tidy(self) -> None:
        """Delete what killed workers have begun to write: once all is there."""
        for path in self.path.rglob(f".*{PARTIAL}"):
            with contextlib.suppress(OSError):
                path.unlink()


class Objects:
    """The objects of a store whose keys begin alike, by a URL such as s3://bucket/name: a store puts each there whole."""

    def __init__(self, url: str) -> None:
        self.path = re.sub(r"(?<=[^:/])/+$", "", url)
        self.store = opened(self.path, FIRST)
        self.answered = False

    def put(self, name: str, data: bytes, sure: Callable[[], None] = lambda: None) -> None:
        """Put an object there; ``sure`` is not called, as asking the store takes as long as putting it there."""
        import obstore

        self._ask("written", name, lambda: obstore.put(self.store, name, data, use_multipart=False))

    def get(self, name: str) -> bytes:
        """Return an object's bytes; FileNotFoundError where it is not there."""
        import obstore

        return self._ask("read", name, lambda: obstore.get(self.store, name).bytes().to_bytes())

    def listed(self) -> Iterator[tuple[str, int]]:
        """Yield the objects there are, and how many bytes they have."""
        import obstore

        pages = obstore.list(self.store, chunk_size=1000)
        while page := self._ask("listed", "", lambda: next(pages, None)):
            yield from ((x["path"], x["size"]) for x in page)

    def require_room(self, size: int) -> None:
        """Refuse nothing: stores have room."""

    def each(self, do: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return what is done with each, several at a time: an answer takes its time on the way."""
        with ThreadPoolExecutor(REQUESTS) as pool:
            return list(pool.map(do, items))

    def tidy(self) -> None:
        """Delete nothing: what is not whole is not there."""

    def _ask(self, what: str, name: str, ask: Callable[[], Any]) -> Any:
        """Return the store's answer; FileNotFoundError where there is no such object, else StorageError."""
        import obstore.exceptions

        _, seconds, answer = LATER if self.answered else FIRST
        try:
            found = ask()
        except FileNotFoundError as error:
            if what == "read" and "NoSuchBucket" not in str(error):
                raise FileNotFoundError(self.path) from None
            problem = reason(error)
        except (obstore.exceptions.BaseError, OSError, ValueError) as error:
            problem = reason(error)
        else:
            if not self.answered:
                self.answered, self.store = True, opened(self.path, LATER)
            return found
        self.answered, self.store = False, opened(self.path, FIRST)
        if problem.endswith("does not answer"):
            problem += f" within {answer:g} s, asked again for up to {seconds:g} s"
        raise StorageError(f"'{self.path}{'/' * bool(name)}{name}' cannot be {what} ({problem}); expected {EXPECTED}")


def opened(url: str, patience: tuple[int, float, float]) -> Any:
    """Return a store, which is not asked anything yet; asked again so often and so long, with an answer that may take so long, s."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise StorageError(f"'{url}' is of no kind that is known; expected a path, or a URL with {'://, '.join(SCHEMES)}:// or file://")
    require_packages(f"'{url}'", "cloud", "obstore", error=StorageError)
    from obstore.store import from_url

    if started_in() != os.getpid():                                            # its threads do not come along
        raise StorageError(f"'{url}' was opened before this process was forked; expected processes that are spawned: "
                           "mp_context=multiprocessing.get_context('spawn')")  # fmt: skip
    if scheme == "memory":
        return in_memory(url)
    retries, seconds, answer = patience
    try:
        return from_url(url, client_options={"allow_http": True, "connect_timeout": "5s", "timeout": f"{answer:g}s"},
                        retry_config={"max_retries": retries, "retry_timeout": datetime.timedelta(seconds=seconds),
                                      "backoff": {"max_backoff": datetime.timedelta(seconds=2)}})  # fmt: skip
    except Exception as error:
        raise StorageError(f"'{url}' cannot be opened ({reason(error)}); expected {EXPECTED}") from None


@functools.cache
def started_in() -> int:
    """Return the process that opened the first store."""
    return os.getpid()


@functools.cache
def in_memory(url: str) -> Any:
    """Return a store in this process's memory, which is forgotten with it."""
    from obstore.store import MemoryStore

    return MemoryStore()


def reason(error: Exception) -> str:
    """Return what a store said, in short: of a server's answer its own words."""
    text = " ".join(str(error).split("Debug source")[0].split())
    if "169.254.169.254" in text:                                              # who asks there for a key has found none in the environment
        return "no credentials"
    if found := re.search(r"<Message>(.*?)</Message>", text):
        return found[1].rstrip(".")
    if "HTTP error" in text and (found := re.search(r"\b(https?://[^/\s]+)", text)):
        return f"{found[1]} does not answer"
    return re.sub(r"^Generic \w+ error: |.*status code: |:$", "", text)[:200]


def gib(size: int) -> str:
    """Return a number of bytes as text.

    >>> gib(3 << 29)
    '1.5 GiB'
    """
    return f"{size / 2**30:.3g} GiB"
