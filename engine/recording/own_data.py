"""Safe reading of HDF5: groups, datasets and attributes, opened only where they ask for nothing of another file.

Links that lead elsewhere, values that lie in other files, filters (which may come from plug-ins, and grow without bound) and texts of any
length are refused before anything is read: of recordings, and of all else that is read from HDF5.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from engine.recording.journaled_file import StorageError

Array = np.ndarray

SLASH = "∕"  # U+2215, which stands in the file for a slash in a name: "servicer/elbow"
ATTRIBUTE = 60_000  # bytes; HDF5 allows an attribute 64 KiB


def names_in(group: Any) -> list[str]:
    """Return the names in a group."""
    return [name.decode().replace(SLASH, "/") for name in group]


def stored(name: str) -> bytes:
    """Return a name as it stands in the file, where a slash would make groups."""
    return name.replace("/", SLASH).encode()


def dataset(path: Path, group: Any, name: str) -> Any:
    """Return an open dataset whose values lie in the file itself, as they are; refuse any other before it is read."""
    from h5py import h5d

    require_own(path, group, name)
    data = h5d.open(group, stored(name))
    kind = data.get_create_plist()
    if kind.get_layout() not in (h5d.CHUNKED, h5d.CONTIGUOUS, h5d.COMPACT) or kind.get_external_count() or kind.get_nfilters():
        raise StorageError(f"'{path}' holds '{name}' in other files, or filtered; expected numbers of its own, as they were recorded")
    return data


def group_of(path: Path, group: Any, name: str) -> Any:
    """Return an open group."""
    from h5py import h5g

    require_own(path, group, name)
    return h5g.open(group, name.encode())


def require_own(path: Path, group: Any, name: str) -> None:
    """Refuse a name that leads elsewhere: a soft link, or one into another file."""
    from h5py import h5l

    if group.links.get_info(stored(name)).type != h5l.TYPE_HARD:
        raise StorageError(f"'{path}' holds '{name}' as a link; expected data of its own, as they were recorded")


def attribute(at: Any, name: str, kind: str) -> Any:
    """Return an attribute that is one number or text of NumPy's ``kind``, of fixed size."""
    from h5py import h5a

    found = h5a.open(at, name.encode())
    x = np.empty((), found.dtype)
    if found.shape != () or x.dtype.kind != kind or x.itemsize > ATTRIBUTE:
        raise TypeError(f"the attribute '{name}' has shape {found.shape} of {x.dtype}")
    found.read(x)
    return x[()]


def text_of(at: Any, name: str) -> str:
    """Return an attribute that is a text."""
    return str(attribute(at, name, "S").decode())


def array_of(data: Any) -> Array:
    """Return all that a dataset holds."""
    from h5py import h5s

    x = np.empty(data.shape, data.dtype)
    if x.size:
        data.read(h5s.ALL, h5s.ALL, x)
    return x


def read_records(data: Any, start: int, stop: int | None = None, step: int = 1) -> Array:
    """Return records ``[start:stop:step]`` of a column."""
    import h5py

    return np.asarray(h5py.Dataset(data)[start:stop:step])
