"""Files of the command line: reading and writing comma-separated values, and atomic writes of anything."""

import contextlib
import csv
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.cli.ending import Failure

Array = np.ndarray


@contextlib.contextmanager
def written(name: str, source: str, overwrite: bool) -> Iterator[Path]:
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
    new = path.with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")
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


def say_written(name: str, text: str) -> None:
    """Say what a file holds, unless it may be the very stream to say it on."""
    if os.path.isfile(name):
        print(f"{name}: {text}")


def read_csv(file: str) -> dict[str, Array]:
    """Return the columns (T) of a CSV file by name; whatever is wrong is told with its line."""
    rows: list[list[float]] = []
    lines: list[str] = []
    names: list[str] = []
    try:
        with open(file, newline="", encoding="utf-8-sig") as opened:
            reader = csv.reader(opened)
            for fields in filter(lambda fields: any(map(str.strip, fields)), reader):
                if names:
                    lines.append(f"'{file}', line {reader.line_num}")
                    rows.append(numbers_of(lines[-1], names, fields))
                else:
                    names = column_names(file, fields)
    except (FileNotFoundError, IsADirectoryError) as problem:
        wrong = " is a folder" if isinstance(problem, IsADirectoryError) else ": there is no such file"
        raise Failure(f"'{file}'{wrong}; expected a CSV file, or a recording") from None
    except (UnicodeDecodeError, csv.Error):
        raise Failure(f"'{file}' is no text of comma-separated values; expected a CSV file, or a recording") from None
    if not rows:
        raise Failure(f"'{file}' holds {'no numbers' if names else 'nothing'}; expected a line of names, and lines of numbers below it")
    table = dict(zip(names, np.array(rows).T, strict=True))
    back = np.flatnonzero(np.diff(table.get("t", ())) <= 0)
    if back.size:
        before, now = table["t"][back[0] : back[0] + 2].tolist()
        raise Failure(f"{lines[back[0] + 1]}: t is {now!r} after {before!r}; expected times that increase")
    return table


def column_names(file: str, fields: Sequence[str]) -> list[str]:
    """Return the names in a first line; refuse what is none, or is there twice."""
    names = [f.strip() for f in fields]
    names[0] = names[0].removeprefix("#").strip()
    if len(names) == 1 and any(c in names[0] for c in ";\t"):
        raise Failure(f"'{file}' has no commas in its first line; expected comma-separated values")
    if None not in map(number_in, names):
        raise Failure(f"'{file}' begins with numbers; expected a first line of names: t, and one for each coordinate")
    for name, count in Counter(names).items():
        if count > 1 or not name:
            raise Failure(f"'{file}' has {f'{count} columns' if count > 1 else 'a column'} named '{name}'; expected names of their own")
    return names


def numbers_of(line: str, names: Sequence[str], fields: Sequence[str]) -> list[float]:
    """Return the finite numbers in a line, one for each name."""
    if len(fields) != len(names):
        raise Failure(f"{line}: {len(fields)} field{'s' * (len(fields) > 1)}; expected {len(names)}, one for each name")
    row = [number_in(f) for f in fields]
    for name, field, x in zip(names, fields, row, strict=True):
        if x is None:
            raise Failure(f"{line}: '{name}' is '{field.strip()[:40]}'; expected a number")
        if not math.isfinite(x):
            raise Failure(f"{line}: '{name}' is {x}; expected a finite number")
    return row


def number_in(text: str) -> Any:
    """Return the number in a text, be it infinite or NaN, or None."""
    try:
        return float(text)
    except ValueError:
        return None
