"""Tables of numbers with named columns: comma-separated values."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.identification.errors import IdentificationError

Array = np.ndarray


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
        raise IdentificationError(f"'{file}'{wrong}; expected a CSV file, or a recording") from None
    except (UnicodeDecodeError, csv.Error):
        raise IdentificationError(f"'{file}' is no text of comma-separated values; expected a CSV file, or a recording") from None
    if not rows:
        held = "no numbers" if names else "nothing"
        raise IdentificationError(f"'{file}' holds {held}; expected a line of names, and lines of numbers below it")
    table = dict(zip(names, np.array(rows).T, strict=True))
    back = np.flatnonzero(np.diff(table.get("t", ())) <= 0)
    if back.size:
        before, now = table["t"][back[0] : back[0] + 2].tolist()
        raise IdentificationError(f"{lines[back[0] + 1]}: t is {now!r} after {before!r}; expected times that increase")
    return table


def column_names(file: str, fields: Sequence[str]) -> list[str]:
    """Return the names in a first line; refuse what is none, or is there twice."""
    names = [f.strip() for f in fields]
    names[0] = names[0].removeprefix("#").strip()
    if len(names) == 1 and any(c in names[0] for c in ";\t"):
        raise IdentificationError(f"'{file}' has no commas in its first line; expected comma-separated values")
    if None not in map(number_in, names):
        raise IdentificationError(f"'{file}' begins with numbers; expected a first line of names: t, and one for each coordinate")
    for name, count in Counter(names).items():
        if count > 1 or not name:
            several = f"{count} columns" if count > 1 else "a column"
            raise IdentificationError(f"'{file}' has {several} named '{name}'; expected names of their own")
    return names


def numbers_of(line: str, names: Sequence[str], fields: Sequence[str]) -> list[float]:
    """Return the finite numbers in a line, one for each name."""
    if len(fields) != len(names):
        raise IdentificationError(f"{line}: {len(fields)} field{'s' * (len(fields) > 1)}; expected {len(names)}, one for each name")
    row = [number_in(f) for f in fields]
    for name, field, x in zip(names, fields, row, strict=True):
        if x is None:
            raise IdentificationError(f"{line}: '{name}' is '{field.strip()[:40]}'; expected a number")
        if not math.isfinite(x):
            raise IdentificationError(f"{line}: '{name}' is {x}; expected a finite number")
    return row


def number_in(text: str) -> Any:
    """Return the number in a text, be it infinite or NaN, or None."""
    try:
        return float(text)
    except ValueError:
        return None
