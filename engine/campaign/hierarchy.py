"""A campaign as a hierarchy of Zarr, in a store of objects or in a directory: arrays along the runs, cut where the chunks are.

A worker puts whole objects there, which are of no other chunk: ``NAME/c/3`` of what is scattered, of metrics and of what is kept; and last,
``failed/chunk-000003.json``, what is said of the chunk, with the size of each object and the CRC-32 of its numbers, and the digest of the
campaign's manifest. Without it nothing of the chunk counts. The manifest is a text among the attributes. ``xarray.open_zarr`` opens it as
it stands: of runs that are not there numbers are NaN, and ``failed`` is true.
"""

from __future__ import annotations

import functools
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.campaign import zarr
from engine.campaign.manifest import manifest_of
from engine.campaign.places import Disk, Objects
from engine.campaign.storage import ANEW, DAMAGED, NUMBER, Storage, are_messages, inside, wrong_size
from engine.checks import shown
from engine.recording import StorageError

Array = np.ndarray
KIND = "campaign chunk"
#: what a beginning puts there before the group, without which nothing was begun
LEFT = re.compile(rf".+/{re.escape(zarr.META)}|(t|run_kept)/c/0")


class Hierarchy(Storage):
    """A campaign's hierarchy."""

    kind, sign, begins = "Zarr hierarchy", f"{zarr.META} that a campaign wrote", zarr.META
    marks = re.compile(rf"failed/chunk-({NUMBER})\.json")

    def __init__(self, place: Disk | Objects) -> None:
        self._marks: dict[int, dict[str, Any]] = {}
        super().__init__(place)
        if self.manifest:
            self._require_names()

    def _read(self) -> bytes | None:
        if (found := super()._read()) is None:
            next(self.place.listed(), None)                                    # a bucket that is missing is said to be
        return found

    def _manifest_in(self, data: bytes) -> dict[str, Any]:
        where = self.where(zarr.META)
        try:
            told = json.loads(data)["attributes"].get("campaign")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StorageError(f"'{where}' describes no group of Zarr, or is damaged; expected the text that the campaign wrote") from None
        return {} if told is None else manifest_of(told, where)

    def _begin(self, text: str) -> None:
        self.manifest = m = json.loads(text)
        said, columns = m["campaign"], self._columns
        self._require_names()
        arrays = {name: zarr.array(shape, rows, dtype, fill, dims) for name, (shape, rows, dtype, fill, dims) in columns.items()}
        parts = {f"{name}/{zarr.META}": zarr.text(x) for name, x in arrays.items()}
        for name, x in self._coordinates.items():
            _, rows, dtype, fill, _ = columns[name]
            parts[zarr.key(name, 0, 1)] = zarr.pack_rows(x, rows, dtype, fill)
        self.place.each(lambda name: self.place.put(name, parts[name]), parts)
        attributes = {"model": said["model_name"], "seed": said["seed"], "design": said["design"], "campaign": text}
        self.place.put(zarr.META, zarr.text(zarr.group(attributes, arrays)))

    def _require_names(self) -> None:
        m = self.manifest
        require_names([*m["drawn"], *m["metrics"], *m["campaign"]["keep"]["columns"], *self._coordinates, "failed", "run"])

    def _left(self, name: str) -> bool:
        return bool(LEFT.fullmatch(name))

    # ------------------------------------------------------------ arrays

    @functools.cached_property
    def _starts(self) -> Array:
        """Offset of each chunk's first run among the kept runs, and the total (chunks + 1)."""
        return np.searchsorted(self.kept, self.manifest["chunk"] * np.arange(self.chunks + 1))

    @functools.cached_property
    def _coordinates(self) -> dict[str, Array]:
        """Times of what is kept, and the numbers of its runs where it is not of all."""
        found = dict[str, Array]()
        if self.manifest["campaign"]["keep"]["columns"]:
            found["t"] = self.t
            if len(self.kept) < self.manifest["runs"]:
                found["run_kept"] = np.asarray(self.kept)
        return found

    @functools.cached_property
    def _columns(self) -> dict[str, tuple[tuple[int, ...], int, str, Any, list[str]]]:
        """Zarr arrays by name: shape, rows of an object, dtype, fill value, and names of the dimensions."""
        m, keep = self.manifest, self.manifest["campaign"]["keep"]
        runs, chunk = m["runs"], min(m["chunk"], m["runs"])
        run = {**m["drawn"], **{name: x["shape"] for name, x in m["metrics"].items()}}
        found: dict[str, Any] = {
            inside(name): ((runs, *shape), chunk, "<f8", "NaN", ["run", *(f"{name}_{i}" for i in range(len(shape)))])
            for name, shape in run.items()}  # fmt: skip
        found["failed"] = ((runs,), chunk, "|b1", True, ["run"])
        for name, x in self._coordinates.items():
            found[name] = ((len(x),), len(x), "<f8" if name == "t" else "<i8", "NaN" if name == "t" else -1, [name])
        if keep["columns"]:
            rows = math.gcd(*(int(x) for x in self._starts if 0 < x < len(self.kept))) or len(self.kept)   # no object is of two chunks
            along = "run_kept" if "run_kept" in self._coordinates else "run"
            for name, shape in keep["columns"].items():
                shape = (len(self.kept), len(self._coordinates["t"]), *shape)
                found[inside(name)] = (shape, rows, "<f8", "NaN", [along, "t", *(f"{name}_{i}" for i in range(len(shape) - 2))])
        return found

    def _objects(self, k: int, name: str, rows: slice = slice(None)) -> Iterator[tuple[str, slice]]:
        """Yield the objects in which some of a chunk's rows of an array are, and which of these rows are in each."""
        column = name.rpartition("/")[2]
        first, count = self.span(k)
        if name.startswith("kept/"):
            first, count = int(self._starts[k]), int(self._starts[k + 1] - self._starts[k])
        shape, size, *_ = self._columns[column]
        low, high, _ = rows.indices(count)
        for at in range((first + low) // size, -(-(first + high) // size) if high > low else 0):
            yield zarr.key(column, at, len(shape)), slice(max(low, at * size - first), min(high, (at + 1) * size - first))

    # ------------------------------------------------------------ chunks

    def _parts(self, k: int) -> set[str]:
        """Return the names of a chunk's objects."""
        return {of for name in (*self.shapes(k), "failed") for of, _ in self._objects(k, name)}

    def _write(self, k: int, arrays: Mapping[str, Array], said: Mapping[str, Any]) -> None:
        """Put a chunk's objects there, and then what is said of it."""
        first, count = self.span(k)
        self._marks.pop(k, None)
        failed = np.isin(np.arange(first, first + count), [int(i) for i in said["why"]])
        parts = dict[str, bytes]()
        for name, x in {**arrays, "failed": failed}.items():
            if name != "kept_runs":
                _, size, dtype, fill, _ = self._columns[name.rpartition("/")[2]]
                parts |= {of: zarr.pack_rows(x[rows], size, dtype, fill) for of, rows in self._objects(k, name)}
        self.place.each(lambda name: self.place.put(name, parts[name], self.require_own), parts)
        sums = {name: [len(data), zarr.checksum(data)] for name, data in parts.items()}
        mark = {"kind": KIND, "first": first, "count": count, "digest": self.digest, "objects": sums, "said": said}
        self.require_own()
        self.place.put(mark_name(k), zarr.text({**mark, "crc32": checksum(mark)}), self.require_own)

    def faults(self, thorough: bool = True) -> dict[int, str]:
        """Return of the chunks that are there what is wrong with them, "" where they are whole."""
        sizes = dict(self.place.listed())
        there = self.numbered(sizes)
        self._marks.clear()

        def fault(k: int) -> str:
            try:
                objects = self._mark(k)["objects"]
                for name, (size, _) in objects.items():
                    if wrong := wrong_size(sizes[name], size) if name in sizes else "is missing":
                        return f"'{self.where(name)}' {wrong}"
                for name in objects if thorough else ():
                    self._get(k, name)
            except StorageError as error:
                return str(error).removesuffix(f"; {ANEW}")
            return ""

        return dict(zip(there, self.place.each(fault, there), strict=True))

    def read(self, k: int, name: str, rows: slice = slice(None)) -> Array:
        """Return rows of one of a chunk's arrays."""
        shape, _, dtype, *_ = self._columns[name.rpartition("/")[2]]
        wanted = [*self._objects(k, name, rows)]
        parts = self.place.each(lambda x: self._get(k, x[0]), wanted)
        begun = [np.zeros((0, *shape[1:]), dtype)]
        return np.concatenate(begun + [x[self._within(k, name, at)] for x, (_, at) in zip(parts, wanted, strict=True)])

    def messages(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk's runs: "why" they failed, by number, and "notes"."""
        return self._mark(k)["said"]

    def _within(self, k: int, name: str, rows: slice) -> slice:
        """Return where in their object some of a chunk's rows are."""
        first = int(self._starts[k]) if name.startswith("kept/") else self.span(k)[0]
        low = (first + rows.start) % self._columns[name.rpartition("/")[2]][1]
        return slice(low, low + rows.stop - rows.start)

    def _get(self, k: int, name: str) -> Array:
        """Return all rows of one of a chunk's objects, as they were written."""
        mark, (shape, rows, dtype, *_) = self._mark(k), self._columns[name.partition("/")[0]]
        size, crc = mark["objects"][name]
        try:
            data = self.place.get(name)
        except FileNotFoundError:
            raise StorageError(f"'{self.where(name)}' is missing; {ANEW}") from None
        if wrong := wrong_size(len(data), size) or DAMAGED * (crc != (zarr.checksum(data) if "digest" in mark else zlib.crc32(data))):
            raise StorageError(f"'{self.where(name)}' {wrong}; {ANEW}")
        try:
            return zarr.unpack_rows(data, rows, dtype, shape[1:])
        except (ValueError, zlib.error):
            raise StorageError(f"'{self.where(name)}' {DAMAGED}; {ANEW}") from None

    def _mark(self, k: int) -> dict[str, Any]:
        """Return what is said of a chunk, and its checksums."""
        if k in self._marks:
            return self._marks[k]
        where = self.where(mark_name(k))
        try:
            data = self.place.get(mark_name(k))
        except FileNotFoundError:
            raise StorageError(f"'{where}' was there, and is not any more; {ANEW}") from None
        try:
            mark = json.loads(data)
            good = mark.pop("crc32") == checksum(mark) and mark["kind"] == KIND
            wrong = self.strange(k, mark)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            good = False
        if not good:
            raise StorageError(f"'{where}' says nothing of a chunk, or is damaged; {ANEW}")
        if wrong:
            raise StorageError(f"'{where}' {wrong}; {ANEW}")
        if not self._is_mark(k, mark):
            raise StorageError(f"'{where}' says something else than a campaign does of a chunk; {ANEW}")
        self._marks[k] = mark
        return mark

    def _is_mark(self, k: int, mark: Mapping[str, Any]) -> bool:
        """Return whether a mark speaks of a chunk's own objects, and of its runs, as it should."""
        sums = mark.get("objects")
        return (isinstance(sums, dict) and {*sums} == self._parts(k) and are_messages(mark.get("said"), *self.span(k))
                and all(isinstance(x, list) and [type(n) for n in x] == [int, int] for x in sums.values()))  # fmt: skip


def require_names(names: list[str]) -> None:
    """Refuse names that Zarr's arrays cannot have, or two of them."""
    for k, name in enumerate(names):
        if re.fullmatch(r"\.*|__.*|.*[\x00-\x1f].*", name, re.DOTALL) or name == zarr.META or len(name.encode()) > 200:
            raise StorageError(f"Zarr has no arrays of the name {shown(name)}; expected another name of it, or a folder of HDF5")
        if name in names[:k]:
            raise StorageError(f"two of what is scattered, measured, kept and said of runs are named '{name}', and Zarr has one; expected "
                               "another name of one of them, or a folder of HDF5")  # fmt: skip


def mark_name(k: int) -> str:
    """Return the name of what is said of a chunk: within an array, where readers of Zarr look for no other."""
    return f"failed/chunk-{k:06d}.json"


def checksum(mark: Mapping[str, Any]) -> int:
    """Return the CRC-32 of what is said of a chunk."""
    return zlib.crc32(json.dumps(mark, sort_keys=True).encode())
