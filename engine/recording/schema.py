"""The schema of a recording's HDF5 file: a dataset per column, the checkpoint, and the header.

``/t``, ``/q``, … (records, ...), ``/checkpoint/NAME``, ``/header/NAME`` (long texts, such as the model's), and the attributes ``format``,
``header`` (JSON), ``layout`` (JSON: the shapes) and ``complete``. Where no record has been committed, the attribute ``records`` of
``/checkpoint`` is −1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.recording.store import StorageError

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

FORMAT, VERSION = "engine recording", 1
CHUNK = 1 << 20  # bytes of the records that make a chunk, all columns together
ATTRIBUTE = 60_000  # bytes; HDF5 allows an attribute 64 KiB
LONG = 1_000  # characters; a header's longer values are datasets of their own


@dataclass(frozen=True)
class Schema:
    """The shapes of what is recorded."""

    batch: Shape  # of the batch of rollouts, () for one
    columns: dict[str, Shape]  # of one record of one rollout, by name
    checkpoint: dict[str, Shape]  # of the arrays that a resumed run starts from, by name

    @property
    def records(self) -> dict[str, Shape]:
        """Shapes of one record of the whole batch, which shares the time."""
        return {name: self.batch + shape if name != "t" else () for name, shape in self.columns.items()}

    @property
    def record_size(self) -> int:
        """Bytes of one record of all columns."""
        return sum(8 * int(np.prod(shape)) for shape in self.records.values())


def checked_schema(path: Path, batch: Shape, columns: Shapes, checkpoint: Shapes) -> Schema:
    """Return the layout for a new file; refuse names and shapes that HDF5 or a recording cannot have."""
    layout = Schema(checked_shape("batch", batch), checked_shapes("columns", columns), checked_shapes("checkpoint", checkpoint))
    if layout.columns.get("t") != ():
        raise StorageError(f"columns of '{path}' hold {list(columns)}; expected among them 't' with shape (), the time of a record")
    for name, shape in layout.records.items():
        if 8 * int(np.prod(shape)) >= 1 << 32:
            raise StorageError(f"a record of '{name}' in '{path}' has shape {shape}; expected less than 4 GiB")
    return layout


def checked_shapes(what: str, shapes: Shapes) -> dict[str, Shape]:
    """Return names and shapes of arrays; refuse what is none."""
    for name in shapes:
        if not isinstance(name, str) or not name or "/" in name or name[0] == "." or name in ("checkpoint", "header"):
            raise StorageError(f"a name in {what} is {name!r}; expected one such as 'q', without '/', and not 'checkpoint' or 'header'")
    return {name: checked_shape(f"{what}['{name}']", shape) for name, shape in shapes.items()}


def checked_shape(what: str, shape: Any) -> Shape:
    """Return a tuple of ints; refuse what is no sequence of whole numbers from 0."""
    whole = isinstance(shape, (tuple, list)) and all(isinstance(d, (int, np.integer)) and not isinstance(d, bool) and d >= 0 for d in shape)
    if not whole:
        raise StorageError(f"{what} is {shape!r}; expected a shape such as (), (3,) or (4, 4)")
    return tuple(int(d) for d in shape)


def header_parts(header: Mapping[str, Any]) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return a header as JSON, and its long values: name, text, and whether it is JSON and not the value itself."""
    short, long = {}, []
    for key, value in header.items():
        try:
            text = json.dumps(value, default=lambda x: x.tolist())
        except (TypeError, ValueError, AttributeError):
            raise StorageError(f"header['{key}'] is {value!r:.200}; expected texts, numbers, lists and dictionaries") from None
        if not isinstance(key, str) or (len(text) > LONG and not key.isidentifier()):
            raise StorageError(f"a header's key is {key!r:.200}; expected a name such as 'model'")
        if len(text) > LONG:
            plain = isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)
            long.append((key, value if plain else text, not plain))
        else:
            short[key] = json.loads(text)
    text = json.dumps(short)
    if len(text) > ATTRIBUTE:
        raise StorageError(f"the header's short values take {len(text)} characters of JSON; expected at most {ATTRIBUTE}")
    return text, long


def write_schema(file: Any, layout: Schema, header: tuple[str, list[tuple[str, str, bool]]], buffer: int) -> None:
    """Write the header, and datasets without records, whose chunks hold one record or more and take a megabyte or the buffer together."""
    import h5py

    short, long = header
    file.attrs.update({"format": f"{FORMAT} {VERSION}", "layout": json.dumps(vars(layout)), "header": short, "complete": False})
    rows = max(1, min(CHUNK, buffer) // layout.record_size)
    for name, shape in layout.records.items():
        most, chunks = (None, *(d or None for d in shape)), (rows, *(max(1, d) for d in shape))  # chunks have no sides of length 0
        file.create_dataset(name, (0, *shape), "<f8", maxshape=most, chunks=chunks)
    group = file.create_group("checkpoint")
    group.attrs["records"] = np.int64(-1)  # the record it belongs to, counted; −1 before the first
    for name, shape in layout.checkpoint.items():
        group.create_dataset(name, data=np.zeros(shape), dtype="<f8")
    file.create_group("header")
    for name, text, is_json in long:
        file.create_dataset(f"header/{name}", data=text, dtype=h5py.string_dtype()).attrs["json"] = is_json


def read_schema(path: Path, file: Any) -> tuple[Schema, dict[str, Any]]:
    """Return layout and header of a recording, which must hold what they say."""
    name = file.attrs.get("format")
    if not isinstance(name, str) or not name.startswith(FORMAT):
        raise StorageError(f"'{path}' is an HDF5 file of something else; expected a recording, which has an attribute 'format'")
    if name != f"{FORMAT} {VERSION}":
        raise StorageError(f"'{path}' has the format '{name}'; expected '{FORMAT} {VERSION}', which this version of the engine reads")
    try:
        given = json.loads(file.attrs["layout"])
        columns, checkpoint = ({k: tuple(shape) for k, shape in given[part].items()} for part in ("columns", "checkpoint"))
        layout = Schema(tuple(given["batch"]), columns, checkpoint)
        header = json.loads(file.attrs["header"])
        for key, data in file["header"].items():
            header[key] = json.loads(data.asstr()[()]) if data.attrs["json"] else data.asstr()[()]
        n, last, _ = len(file["t"]), int(file["checkpoint"].attrs["records"]), file.attrs["complete"]
        expected = {k: (n, *shape) for k, shape in layout.records.items()}
        expected |= {f"checkpoint/{k}": shape for k, shape in checkpoint.items()}
        held = {k: file[k].shape for k in expected}
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"'{path}' is damaged ({error}); expected the file as it was recorded") from None
    if held != expected or last not in (-1, n):
        raise StorageError(f"'{path}' is damaged: its arrays are {held}, its checkpoint is of record {last}; expected {expected}")
    return layout, header
