"""Flights as tables: MATLAB's .mat and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import require_packages, warn
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


def matched(groups: Mapping[str, Mapping[str, str]]) -> dict[str, Array]:
    """Return for each group GROUP_names, a table (n, 2) of names in MATLAB and what is meant, of :func:`matlab_names`; a warning says
    which of MATLAB's do not show it: they are cut, or numbered as another has that name.

    >>> matched({"signals": {"wheels.torque": "wheels_torque"}})["signals_names"].tolist()
    [['wheels_torque', 'wheels.torque']]
    """
    pairs = [(own, name) for names in groups.values() for name, own in names.items()]
    lost = [f"'{own}' is '{name}'" for own, name in pairs if re.sub(r"[^A-Za-z0-9_]", "_", name) not in (own, own[1:])]
    if lost:
        warn(f"names are cut at {LETTERS} letters in a .mat, or numbered where two are alike: {', '.join(lost[:5])}"
             f"{', …' if len(lost) > 5 else ''}; {', '.join(f'{group}_names' for group in groups)} in it say all of them")  # fmt: skip
    return {f"{group}_names": np.array([(own, name) for name, own in names.items()], dtype=object).reshape(-1, 2)
            for group, names in groups.items()}  # fmt: skip


def write_mat(path: Path, arrays: Mapping[str, Array], groups: Mapping[str, Mapping[str, Array]], texts: Mapping[str, Any]) -> None:
    """Write arrays, structures of arrays, and texts, lists or tables of texts, as a .mat file of version 5. Beside each structure is a
    table GROUP_names of its names and what they are meant to be.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import scipy.io
    >>> from engine.logs import write_mat
    >>> path = Path(tempfile.mkdtemp()) / "run.mat"
    >>> write_mat(path, {"t": np.arange(3.0)}, {}, {"unit": "s"})
    >>> scipy.io.loadmat(path)["t"].tolist()
    [[0.0], [1.0], [2.0]]
    """
    from scipy.io import savemat

    names = {group: matlab_names(x) for group, x in groups.items() if x}
    inner = {group: {own: np.asarray(groups[group][n]) for n, own in each.items()} for group, each in names.items()}
    texts = {**texts, **matched(names)}
    for name, x in [*arrays.items(), *(pair for group in inner.values() for pair in group.items())]:
        if (size := np.asarray(x).nbytes) >= BYTES:
            raise StorageError(f"'{name}' has {size} bytes, and a .mat file of version 5 takes 2 GiB of each; expected fewer states, or "
                               ".h5, which MATLAB reads too")  # fmt: skip
    words = {n: np.array([*x], dtype=object) if isinstance(x, (list, tuple)) else x for n, x in texts.items()}
    with path.open("wb") as file:                                           # as it is called, whatever its ending
        savemat(file, {**arrays, **inner, **words}, long_field_names=True, do_compression=True, oned_as="column")


def write_parquet(path: Path, columns: Mapping[str, Array], notes: Mapping[str, str]) -> None:
    """Write columns (T) as a Parquet file, with notes beside them.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pyarrow.parquet
    >>> from engine.logs import write_parquet
    >>> path = Path(tempfile.mkdtemp()) / "run.parquet"
    >>> write_parquet(path, {"t": np.arange(3.0)}, {"unit": "s"})
    >>> pyarrow.parquet.read_table(path)["t"].to_pylist()
    [0.0, 1.0, 2.0]
    """
    require_packages("a .parquet file", "logs", "pyarrow", error=StorageError)
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({n: np.ascontiguousarray(x) for n, x in columns.items()})
    parquet.write_table(table.replace_schema_metadata({n: x.encode() for n, x in notes.items()}), path)
