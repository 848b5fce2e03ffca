"""A campaign's columns as an xarray Dataset that reads them when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.checks import require_packages
from engine.recording import StorageError

if TYPE_CHECKING:
    import xarray as xr

Array = np.ndarray


def dataset(columns: Mapping[str, Any], kept: Mapping[str, Any], numbers: Array, times: Array, attributes: Mapping[str, Any]) -> xr.Dataset:
    """Return a Dataset of columns (run, …) and of what was kept (run, t, …), where that is of other runs (run_kept, t, …).

    A column has ``numbers``, of its runs, ``shape``, ``dtype``, and ``read(rows, rest)``.
    """
    require_packages("a Dataset", "tables", "xarray", error=StorageError)
    import xarray as xr
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Lazy(BackendArray):
        """A column, as xarray asks for parts of it."""

        def __init__(self, column: Any) -> None:
            self.column, self.shape, self.dtype = column, column.shape, column.dtype

        def __getitem__(self, key: Any) -> Any:
            support = indexing.IndexingSupport.OUTER_1VECTOR
            return indexing.explicit_indexing_adapter(key, self.shape, support, self.part)

        def part(self, key: tuple[Any, ...]) -> Any:
            rows = np.atleast_1d(np.arange(self.shape[0])[key[0]])
            if isinstance(key[0], (int, np.integer)):
                rest = tuple(key[1:])
                return self.column.read(rows, ())[0][rest] if rest else self.column.read(rows)[0]
            return self.column.read(rows, tuple(key[1:]))

    def variable(column: Any, dims: list[str]) -> xr.Variable:
        return xr.Variable(dims, indexing.LazilyIndexedArray(Lazy(column)))

    data = {name: variable(c, ["run", *(f"{name}_{i}" for i in range(len(c.shape) - 1))]) for name, c in columns.items()}
    coordinates: dict[str, Any] = {"run": numbers}
    for name, c in kept.items():
        run = "run" if np.array_equal(c.numbers, numbers) else "run_kept"
        data[name] = variable(c, [run, "t", *(f"{name}_{i}" for i in range(len(c.shape) - 2))])
        coordinates |= {run: c.numbers, "t": times}
    return xr.Dataset(data, coordinates, dict(attributes))
