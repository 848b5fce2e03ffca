"""Named arrays side by side in one vector: the states, memories, parameters and records of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray


class Layout:
    """Slices of named arrays in a vector of n entries.

    >>> layout = Layout({"t": (), "x": (2,)})
    >>> layout.n, layout.split(np.arange(3.0))["x"]
    (3, array([1., 2.]))
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes, self.slices, self.n = dict(shapes), {}, 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            self.slices[name] = slice(self.n, self.n + size)
            self.n += size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and [*self.shapes.items()] == [*other.shapes.items()]

    __hash__ = None  # type: ignore[assignment]

    def split(self, x: Array) -> dict[str, Array]:
        """Return the arrays (..., *shape) of a vector (..., n)."""
        return {name: x[..., self.slices[name]].reshape(*x.shape[:-1], *shape) if shape else x[..., self.slices[name].start]
                for name, shape in self.shapes.items()}  # fmt: skip

    def join(self, arrays: Mapping[str, Any]) -> Array:
        """Return the vector (n) of arrays, traced or not."""
        return np.concatenate([np.zeros(0), *[np.asarray(arrays[name]).reshape(-1) for name in self.shapes]])

    def spread(self, arrays: Mapping[str, Any], batch: tuple[int, ...]) -> Array:
        """Return vectors (*batch, n) of arrays whose leading dimensions broadcast to a batch."""
        if not batch:
            return self.join(arrays)
        parts = [np.broadcast_to(arrays[name], (*batch, *shape)).reshape(*batch, -1) for name, shape in self.shapes.items()]
        return np.concatenate([np.zeros((*batch, 0)), *parts], axis=-1)
