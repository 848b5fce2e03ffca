"""A picture of a campaign: every metric's histogram, and the metric over what is scattered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.checks import path_of, require_packages, writing
from engine.recording import StorageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray
#: of the metrics, and of the scattered numbers, as many are drawn
ROWS, COLUMNS = 4, 4
#: runs that are drawn, evenly chosen of more
DOTS = 20_000


def figure(drawn: Mapping[str, Array], metrics: Mapping[str, Array], said: Mapping[str, str], failed: Array,
           path: str | Path | None = None) -> Figure:  # fmt: skip
    """Return the figure of metrics (run) by name, over the numbers in what was drawn (run, …); ``said`` is above each histogram."""
    require_packages("a plot", "plots", "matplotlib", error=StorageError)
    import matplotlib.pyplot as plt

    numbers = {name + (f"[{i}]" if x.ndim > 1 else ""): x.reshape(len(x), -1)[:, i] for name, x in drawn.items()
               for i in range(int(np.prod(x.shape[1:])))}  # fmt: skip
    numbers = dict([*numbers.items()][:COLUMNS])
    shown = dict([*metrics.items()][:ROWS]) or {"failed": failed.astype(float)}
    some = slice(None, None, max(1, -(-len(failed) // DOTS)))
    size = 3.4 * (1 + len(numbers)), 2.9 * len(shown)
    picture, axes = plt.subplots(len(shown), 1 + len(numbers), figsize=size, squeeze=False, layout="constrained")
    for row, (name, y) in zip(axes, shown.items(), strict=True):
        row[0].hist(y[np.isfinite(y)], bins=60, color="tab:blue")
        row[0].set_title(f"{name}: {said.get(name, '')}".rstrip(": ").replace(", ", "\n", 1), fontsize="small", loc="left")
        for axis, (label, x) in zip(row[1:], numbers.items(), strict=True):
            axis.plot(x[some], y[some], ".", ms=2, alpha=0.5)
            bad = np.flatnonzero(failed)[:DOTS]
            axis.set(xlabel=label, ylabel=name)
            if len(bad):
                low = np.min(y[np.isfinite(y)], initial=np.inf)
                axis.plot(x[bad], np.full(len(bad), low if np.isfinite(low) else 0.0), "|", color="tab:red")
        for axis in row:
            axis.grid(alpha=0.3)
    picture.suptitle(f"{len(failed)} runs, {int(failed.sum())} failed" + " (red)" * bool(failed.any()))
    if path is not None:
        path = path_of(path, StorageError)
        with writing(path, StorageError):
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.savefig(path, dpi=110)
        plt.close(picture)                                                     # or the user's next plot would be drawn into it
    return picture
