"""Files that commands read and write: comma-separated values, and whatever takes its place only when it is whole."""

import contextlib
import csv
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

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
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def say_written(name: str, text: str) -> None:
    """Say what a file holds, unless it may be the very stream to say it on."""
    if os.path.isfile(name):
        print(f"{name}: {text}")


def write_columns(file: TextIO, columns: Mapping[str, Array], names: bool = True) -> None:
    """Write columns (T) of numbers, to their last bit; first a line of their names, unless it is there already."""
    writer = csv.writer(file)
    if names:
        writer.writerow(columns)
    writer.writerows([repr(float(x)) for x in row] for row in np.column_stack([*columns.values()]))


def read_csv(file: str) -> dict[str, Array]:
    """Return the columns (T) of a CSV file by name; whatever is wrong is told with its line."""
    rows: list[list[float]] = []
    lines: list[int] = []
    names: list[str] = []
    if os.path.isdir(file) or not os.path.exists(file):
        wrong = " is a folder" if os.path.isdir(file) else ": there is no such file"
        raise Failure(f"'{file}'{wrong}; expected a CSV file, or a recording")
    try:
        with open(file, newline="", encoding="utf-8-sig") as opened:
            reader = csv.reader(opened)
            for fields in reader:
                if any(f.strip() for f in fields) and not names:
                    names = column_names(file, fields)
                elif any(f.strip() for f in fields):
                    lines.append(reader.line_num)
                    rows.append(numbers_of(f"'{file}', line {reader.line_num}", names, fields))
    except (UnicodeDecodeError, csv.Error):
        raise Failure(f"'{file}' is no text of comma-separated values; expected a CSV file, or a recording") from None
    if not rows:
        raise Failure(f"'{file}' holds {'no numbers' if names else 'nothing'}; expected a line of names, and lines of numbers below it")
    table = dict(zip(names, np.array(rows).T, strict=True))
    for name, x in table.items():
        if not np.isfinite(x).all():
            k = int(np.argmin(np.isfinite(x)))
            raise Failure(f"'{file}', line {lines[k]}: '{name}' is {x[k]}; expected a finite number")
    if "t" in table and (np.diff(table["t"]) <= 0).any():
        k = int(np.argmax(np.diff(table["t"]) <= 0))
        before, now = table["t"][k : k + 2].tolist()
        raise Failure(f"'{file}', line {lines[k + 1]}: t is {now!r} after {before!r}; expected times that increase")
    return table


def column_names(file: str, fields: Sequence[str]) -> list[str]:
    """Return the names in a first line; refuse what is none, or is there twice."""
    names = [f.strip() for f in fields]
    names[0] = names[0].removeprefix("#").strip()
    if len(names) == 1 and any(c in names[0] for c in ";\t"):
        raise Failure(f"'{file}' has no commas in its first line; expected comma-separated values")
    if all(is_number(n) for n in names):
        raise Failure(f"'{file}' begins with numbers; expected a first line of names: t, and one for each coordinate")
    for name, count in Counter(names).items():
        if count > 1 or not name:
            raise Failure(f"'{file}' has {f'{count} columns' if count > 1 else 'a column'} named '{name}'; expected names of their own")
    return names


def numbers_of(line: str, names: Sequence[str], fields: Sequence[str]) -> list[float]:
    """Return the numbers in a line, one for each name."""
    if len(fields) != len(names):
        raise Failure(f"{line}: {len(fields)} field{'s' * (len(fields) > 1)}; expected {len(names)}, one for each name")
    try:
        return [float(f) for f in fields]
    except ValueError:
        name, bad = next((n, f) for n, f in zip(names, fields, strict=True) if not is_number(f))
        raise Failure(f"{line}: '{name}' is '{bad.strip()[:40]}'; expected a number") from None


def is_number(text: str) -> bool:
    """Whether a text is a number, be it infinite or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True
