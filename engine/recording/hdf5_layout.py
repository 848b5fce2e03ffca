"""HDF5 layout of a recording, written and read: a dataset per column, the checkpoint, and the header.

``/t``, ``/q``, … (records, ...); tables ``/NAME`` (rows, numbers) of as many rows at each record as there are, with a column ``/NAME.rows``
of how many there are by its end; ``/checkpoint/NAME``, ``/header/NAME`` (long texts, such as the model's), and the attributes ``format``,
``header`` (JSON), ``layout`` (JSON: the shapes) and ``complete``. Where no record has been committed, the attribute ``records`` of
``/checkpoint`` is −1. Texts are of fixed length, numbers lie in the file itself, and no link leads elsewhere: what is read asks for nothing
of HDF5 that another file, or memory beyond the file's own size, would have to do with.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.recording.journaled_file import StorageError
from engine.recording.own_data import ATTRIBUTE, SLASH, array_of, attribute, dataset, group_of, names_in, read_records, stored, text_of

Array = np.ndarray
Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

FORMAT, VERSION = "engine recording", 2
CHUNK = 1 << 20  # bytes of the records that make a chunk, all columns together, of a long recording
LEAST = 1 << 16  # of a short one
LONG = 1_000  # characters; a header's longer values are datasets of their own


@dataclass(frozen=True)
class Schema:
    """The shapes of what is recorded."""

    batch: Shape  # of the batch of rollouts, () for one
    columns: dict[str, Shape]  # of one record of one rollout, by name
    checkpoint: dict[str, Shape]  # of the arrays that a resumed run starts from, by name
    tables: dict[str, int]  # numbers in a row of those that have as many rows at each record as there are, by name

    @property
    def records(self) -> dict[str, Shape]:
        """Shapes of one record of the whole batch, which shares the time."""
        return {name: self.batch + shape if name != "t" else () for name, shape in self.columns.items()}

    @property
    def record_size(self) -> int:
        """Bytes of one record of all columns."""
        return sum(8 * math.prod(shape) for shape in self.records.values())

    def rows(self, size: int, records: int | None = None) -> int:
        """Return how many records make a chunk of at most so many bytes, one at least; if there will be so many, they fill their chunks."""
        most = max(1, size // self.record_size)
        return most if not records else max(-(-records // -(-records // most)), min(most, LEAST // self.record_size))


@dataclass(frozen=True)
class Contents:
    """Contents of a file, as HDF5's open datasets, checked."""

    layout: Schema
    header: dict[str, Any]
    length: int  # records
    last: int  # the record that the checkpoint belongs to, counted; −1 before the first
    complete: bool
    rows: int  # of a chunk
    columns: dict[str, Any]
    checkpoint: dict[str, Any]
    tables: dict[str, Any]


def counted(table: str) -> str:
    """Return the name of the column of how many rows of a table there are by the end of a record."""
    return f"{table}.rows"


def checked_schema(path: Path, batch: Any, columns: Any, checkpoint: Any, tables: Any) -> Schema:
    """Return the layout for a new file; refuse names and shapes that HDF5 or a recording cannot have."""
    widths = {n: s[0] for n, s in checked_shapes("tables", {n: (w,) for n, w in tables.items()}).items()}
    layout = Schema(checked_shape("batch", batch), checked_shapes("columns", columns), checked_shapes("checkpoint", checkpoint), widths)
    if widths and (layout.batch or {*widths} & {*layout.columns} or any(layout.columns.get(counted(n)) != () for n in widths)):
        raise StorageError(f"'{path}' has tables {list(widths)} in a batch {layout.batch}, beside {list(columns)}; expected one rollout, "
                           "and beside each a column NAME.rows with shape ()")  # fmt: skip
    if layout.columns.get("t") != ():
        raise StorageError(f"columns of '{path}' hold {list(columns)}; expected among them 't' with shape (), the time of a record")
    for name, shape in [*layout.records.items(), *layout.checkpoint.items()]:
        if 8 * math.prod(shape) >= 1 << 32:
            raise StorageError(f"a record of '{name}' in '{path}' has shape {shape}; expected less than 4 GiB")
    return layout


def checked_shapes(what: str, shapes: Any) -> dict[str, Shape]:
    """Return names and shapes of arrays; refuse what is none."""
    if not isinstance(shapes, Mapping):
        raise StorageError(f"{what} are {shapes!r:.200}; expected shapes by name")
    for name in shapes:
        if not isinstance(name, str) or not name or SLASH in name or "\0" in name or name[0] == "." or name in ("checkpoint", "header"):
            raise StorageError(f"a name in {what} is {name!r}; expected one such as 'q', without {SLASH}, not 'checkpoint' or 'header'")
    return {name: checked_shape(f"{what}['{name}']", shape) for name, shape in shapes.items()}


def checked_shape(what: str, shape: Any) -> Shape:
    """Return a tuple of ints; refuse what is no sequence of whole numbers from 0."""
    whole = isinstance(shape, (tuple, list)) and all(isinstance(d, (int, np.integer)) and not isinstance(d, bool) and d >= 0 for d in shape)
    if not whole or len(shape) > 30:
        raise StorageError(f"{what} is {shape!r:.200}; expected a shape such as (), (3,) or (4, 4)")
    return tuple(int(d) for d in shape)


def header_parts(header: Mapping[str, Any]) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return a header as JSON, and its long values: name, text, and whether it is JSON and not the value itself."""
    short, long, write = [], [], json.JSONEncoder(default=lambda x: x.tolist()).encode
    for key, value in header.items():
        plain = isinstance(value, str) and len(value) > LONG and not re.search("[\0\ud800-\udfff]", value)
        try:
            text = value if plain else write(value)
        except (TypeError, ValueError, AttributeError, RecursionError):
            raise StorageError(f"header['{key}'] is {value!r:.200}; expected texts, numbers, lists and dictionaries") from None
        if not isinstance(key, str) or (len(text) > LONG and not key.isidentifier()):
            raise StorageError(f"a header's key is {key!r:.200}; expected a name such as 'model'")
        if len(text) > LONG:
            long.append((key, text, not plain))
        else:
            short.append(f"{write(key)}: {text}")
    text = f"{{{', '.join(short)}}}"
    if len(text) > ATTRIBUTE:
        raise StorageError(f"the header's short values take {len(text)} characters of JSON; expected at most {ATTRIBUTE}")
    return text, long


# ---------------------------------------------------------------- writing


def write_schema(file: Any, layout: Schema, header: tuple[str, list[tuple[str, str, bool]]], rows: int) -> Contents:
    """Write the header, and datasets without records, whose chunks hold so many of them; return these, open."""
    from h5py import h5d, h5g, h5p, h5s, h5t

    write_attribute(file.id, "format", f"{FORMAT} {VERSION}".encode())
    write_attribute(file.id, "layout", json.dumps({n: x for n, x in vars(layout).items() if n != "tables" or x}).encode())
    write_attribute(file.id, "complete", np.False_)
    checkpoint = {}

    def growing(name: str, shape: Shape, many: int) -> Any:
        """A dataset of as many such arrays as are written, so many in a chunk."""
        kind = h5p.create(h5p.DATASET_CREATE)
        kind.set_chunk((many, *(max(1, d) for d in shape)))  # which have no sides of length 0
        kind.set_fill_time(h5d.FILL_TIME_NEVER)
        space = h5s.create_simple((0, *shape), (h5s.UNLIMITED, *(d or h5s.UNLIMITED for d in shape)))
        return h5d.create(file.id, stored(name), h5t.IEEE_F64LE, space, kind)

    columns = {name: growing(name, shape, rows) for name, shape in layout.records.items()}
    tables = {name: growing(name, (width,), max(1, LEAST // (8 * max(1, width)))) for name, width in layout.tables.items()}
    group = h5g.create(file.id, b"checkpoint")
    write_attribute(group, "records", np.int64(-1))  # the record it belongs to, counted; −1 before the first
    for name, shape in layout.checkpoint.items():
        checkpoint[name] = h5d.create(group, stored(name), h5t.IEEE_F64LE, space_of(shape))
        write_array(checkpoint[name], np.zeros(shape))
    h5g.create(file.id, b"header")
    write_header(file, header)
    return Contents(layout, {}, 0, -1, False, rows, columns, checkpoint, tables)


def write_header(file: Any, header: tuple[str, list[tuple[str, str, bool]]]) -> None:
    """Write a header's short values, and its long ones, in place of those of the same names."""
    from h5py import h5d, h5g, h5s

    short, long = header
    write_attribute(file.id, "header", short.encode())
    group = h5g.open(file.id, b"header")
    for name in {*json.loads(short), *(name for name, _, _ in long)} & {*names_in(group)}:
        group.unlink(name.encode())
    for name, value, is_json in long:
        data = np.array(value.encode())
        text = h5d.create(group, stored(name), text_type(data), space_of(()))
        text.write(h5s.ALL, h5s.ALL, data, text_type(data))
        write_attribute(text, "json", np.bool_(is_json))


def write_checkpoint(file: Any, contents: Contents, state: Mapping[str, Array], records: int) -> None:
    """Write the arrays that a run resumed after so many records starts from."""
    from h5py import h5g

    for name, x in state.items():
        write_array(contents.checkpoint[name], x)
    write_attribute(h5g.open(file.id, b"checkpoint"), "records", np.int64(records))


def write_records(data: Any, rows: int, at: int, x: Array) -> None:
    """Write records to a column from one on, which becomes as long as they reach; nothing else is written."""
    from h5py import h5s

    data.set_extent((at + len(x), *x.shape[1:]))
    if x.size and len(x) == rows:  # a chunk
        data.write_direct_chunk((at, *(0 for _ in x.shape[1:])), x)
    elif x.size:
        space = data.get_space()
        space.select_hyperslab((at, *(0 for _ in x.shape[1:])), x.shape)
        data.write(h5s.create_simple(x.shape), space, x)


def add_rows(data: Any, rows: Array) -> None:
    """Write rows (m, width) behind those that a table has."""
    from h5py import h5s

    at = data.shape[0]
    data.set_extent((at + len(rows), rows.shape[1]))
    if rows.size:
        space = data.get_space()
        space.select_hyperslab((at, 0), rows.shape)
        data.write(h5s.create_simple(rows.shape), space, np.ascontiguousarray(rows))


def write_array(data: Any, x: Array) -> None:
    """Write all that a dataset holds."""
    from h5py import h5s

    if x.size:
        data.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(x))


def write_attribute(at: Any, name: str, value: Any) -> None:
    """Write a number or a text (bytes) as an attribute of fixed size, in place of one that is there."""
    from h5py import h5a, h5t

    x, key = np.asarray(value), name.encode()
    kind = text_type(x) if x.dtype.kind == "S" else h5t.py_create(x.dtype, logical=True)
    if h5a.exists(at, key):
        there = h5a.open(at, key)
        if there.dtype == x.dtype:
            there.write(x, kind)
            return
        h5a.delete(at, key)
    h5a.create(at, key, kind, space_of(())).write(x, kind)


def text_type(x: Array) -> Any:
    """Return HDF5's type of a text of fixed length."""
    from h5py import h5t

    kind = h5t.C_S1.copy()
    kind.set_size(max(1, x.itemsize))
    kind.set_strpad(h5t.STR_NULLPAD)
    kind.set_cset(h5t.CSET_UTF8)
    return kind


def space_of(shape: Shape) -> Any:
    """Return HDF5's description of an array's shape."""
    from h5py import h5s

    return h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)


# ---------------------------------------------------------------- reading


def read_schema(path: Path, file: Any, size: int) -> Contents:
    """Return what a recording of so many bytes holds, which must be what it says, and nothing else."""
    top, wrong = file.id, f"'{path}' is damaged: "
    what = text_of(top, "format")
    if what != f"{FORMAT} {VERSION}":
        raise StorageError(f"'{path}' has the format '{what:.100}'; expected '{FORMAT} {VERSION}', which this version of the engine reads")
    given, header = json.loads(text_of(top, "layout")), json.loads(text_of(top, "header"))
    layout = checked_schema(path, given["batch"], given["columns"], given["checkpoint"], given.get("tables", {}))
    within = {name: group_of(path, top, name) for name in ("checkpoint", "header")}
    for key in names_in(within["header"]):
        data = dataset(path, within["header"], key)
        if data.dtype.kind != "S" or data.shape != () or data.dtype.itemsize > size:
            raise StorageError(f"{wrong}'{key}' of its header is no text; expected the file as it was recorded")
        text = bytes(array_of(data)[()]).decode()
        header[key] = json.loads(text) if attribute(data, "json", "b") else text
    columns = {name: dataset(path, top, name) for name in names_in(top) if name not in within}
    tables = {name: columns.pop(name) for name in layout.tables if name in columns}
    checkpoint = {name: dataset(path, within["checkpoint"], name) for name in names_in(within["checkpoint"])}
    n = columns["t"].shape[0] if "t" in columns else 0
    require_same(f"{wrong}column", {name: (n, *shape) for name, shape in layout.records.items()}, columns)
    require_same(f"{wrong}array of the checkpoint", layout.checkpoint, checkpoint)
    many = {name: int(read_records(columns[counted(name)], n - 1)[0]) if n else 0 for name in layout.tables}
    require_same(f"{wrong}table", {name: (many[name], width) for name, width in layout.tables.items()}, tables)
    last, rows = int(attribute(within["checkpoint"], "records", "i")), {data.get_create_plist().get_chunk()[0] for data in columns.values()}
    if last not in (-1, n):
        raise StorageError(f"{wrong}it holds {n} records, and a checkpoint of record {last}; expected the file as it was recorded")
    if len(rows) > 1 or max(rows) > layout.rows(CHUNK):
        raise StorageError(f"{wrong}its chunks hold {sorted(rows)} records; expected the file as it was recorded")
    beside = sum(8 * math.prod(shape) for shape in layout.checkpoint.values()) + sum(8 * many[n] * w for n, w in layout.tables.items())
    if n * layout.record_size + beside > size:
        raise StorageError(f"{wrong}{n} records of {layout.record_size} bytes in {size} bytes; expected the file as it was recorded")
    return Contents(layout, header, n, last, bool(attribute(top, "complete", "b")), max(rows), columns, checkpoint, tables)


def require_same(what: str, shapes: Shapes, data: Mapping[str, Any]) -> None:
    """Refuse arrays that are not of these names, shapes, and float64."""
    for name in {**shapes, **data}:
        if name not in data or name not in shapes:
            text = "is missing" if name in shapes else "is not in its layout"
            raise StorageError(f"{what} '{name}' {text}; expected the file as it was recorded")
        if data[name].shape != shapes[name] or data[name].dtype != np.dtype("<f8"):
            raise StorageError(f"{what} '{name}' has shape {data[name].shape} of {data[name].dtype}; expected {shapes[name]} of float64")
