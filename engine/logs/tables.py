"""Flights as tables: MATLAB's .mat and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import require_packages
from engine.recording import StorageError

Array = np.ndarray
#: letters of a name in MATLAB, and bytes of a variable in a file of its version 5
LETTERS, BYTES = 63, 2**31


def matlab_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each name one that MATLAB takes, each once.

    >>> matlab_names(["wheels.torque", "1st", "wheels_torque"])
    {'wheels.torque': 'wheels_torque', '1st': 'x1st', 'wheels_torque': 'wheels_torque_2'}
    """
    found: dict[str, str] = {}
    for name in names:
        own = re.sub(r"[^A-Za-z0-9_]", "_", name)[:LETTERS] or "x"
        own = own if own[0].isalpha() else f"x{own}"[:LETTERS]
        base, k = own, 2
        while own in found.values():
            own, k = f"{base[: LETTERS - 4]}_{k}", k + 1
        found[name] = own
    return found


def write_mat(path: Path, arrays: Mapping[str, Array], groups: Mapping[str, Mapping[str, Array]], texts: Mapping[str, Any]) -> None:
    """Write arrays, structures of arrays, and texts or lists of texts, as a .mat file of version 5."""
    from scipy.io import savemat

    inner = {group: {own: np.asarray(x[n]) for n, own in matlab_names(x).items()} for group, x in groups.items() if x}
    for name, x in [*arrays.items(), *(pair for group in inner.values() for pair in group.items())]:
        if (size := np.asarray(x).nbytes) >= BYTES:
            raise StorageError(f"'{name}' has {size} bytes, and a .mat file of version 5 takes 2 GiB of each; expected fewer states, or "
                               ".h5, which MATLAB reads too")  # fmt: skip
    words = {n: np.array([*x], dtype=object) if isinstance(x, (list, tuple)) else x for n, x in texts.items()}
    with path.open("wb") as file:                                           # as it is called, whatever its ending
        savemat(file, {**arrays, **inner, **words}, long_field_names=True, do_compression=True, oned_as="column")


def write_parquet(path: Path, columns: Mapping[str, Array], notes: Mapping[str, str]) -> None:
    """Write columns (T) as a Parquet file, with notes beside them."""
    require_packages("a .parquet file", "logs", "pyarrow", error=StorageError)
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({n: np.ascontiguousarray(x) for n, x in columns.items()})
    parquet.write_table(table.replace_schema_metadata({n: x.encode() for n, x in notes.items()}), path)
