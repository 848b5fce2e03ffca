"""Files of the command line: atomic writes of anything."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from engine.checks import EngineError, beside
from engine.cli.ending import Failure


@contextlib.contextmanager
def write_atomically(name: str, source: str, overwrite: bool) -> Iterator[Path]:
    """Give a path to write to, which takes the named file's place once it is whole; the source is never replaced."""
    if os.path.isdir(name):
        raise Failure(f"'{name}' is a folder; expected a file to write")
    if os.path.exists(name) and not os.path.isfile(name):      # such as /dev/stdout
        yield Path(name)
        return
    if os.path.exists(name) and os.path.samefile(name, source):
        raise Failure(f"'{name}' is the file to read; expected another to write")
    if os.path.exists(name) and not overwrite:
        raise Failure(f"'{name}' exists; expected a new path, or --overwrite")
    path = Path(os.path.realpath(name))
    new = beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.touch()                                   # what cannot be written is known before the work begins
        yield new
        new.replace(path)
    except OSError as error:
        raise Failure(f"'{name}' cannot be written ({error.strerror or error})") from None
    except EngineError as error:
        raise Failure(str(error).replace(str(new), name), getattr(error, "code", 1)) from error
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def require_ending(name: str, *endings: str) -> None:
    """Refuse a file to write whose ending says that it should hold something else; a folder or a stream, such as /dev/stdout, has none."""
    ending = Path(name).suffix
    if ending.lower() not in endings and (os.path.isfile(name) or not os.path.exists(name)):
        has = f"ends in '{ending}'" if ending else "has no ending"
        raise Failure(f"'{name}' {has}; expected {', '.join(endings[:-1])}{' or ' * (len(endings) > 1)}{endings[-1]}")


def require_new(name: str, overwrite: bool) -> None:
    """Refuse a path to write to that is there, unless it is to be replaced."""
    if os.path.exists(name) and not overwrite:
        raise Failure(f"'{name}' exists; expected a new path{'' if os.path.isdir(name) else ', or --overwrite'}")


def say_written(name: str, text: str) -> None:
    """Say what a file holds, unless it may be the very stream to say it on."""
    if os.path.isfile(name):
        print(f"{name}: {text}")
