"""A compiled step repeated, with records: what every simulation runs on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np

from engine.compiler import machine
from engine.compiler.gufunc import rollout_ufunc
from engine.compiler.trace import Program

Array = np.ndarray


class Diverged(Exception):
    """A record that is not finite: ``data`` (..., T, m) are those before, ``t`` its time, ``column`` its first bad entry."""

    def __init__(self, data: Array, t: float, column: int) -> None:
        super().__init__(f"not finite at t = {t:.6g} s")
        self.data, self.t, self.column = data, t, column


def rollout(step: Program, observe: Program, x: Array, dt: float, duration: float, record_every: int = 1, progress: bool = False) -> Array:
    """Records (..., T, m) from the states x (..., n) on: at first, after every ``record_every`` steps, and in the end.

    ``step(t0, k, dt, x) -> x`` and ``observe(t0, k, dt, x) -> record``, which begins with the time, then the state; they may take x in
    parts. A last, shorter step ends a duration that is no multiple of dt. Raises :class:`Diverged`.
    """
    steps = duration / dt
    whole = round(steps) if abs(steps - round(steps)) < 1e-6 else int(steps)
    counts = [0] + [record_every] * (whole // record_every) + ([whole % record_every] if whole % record_every else [])
    kernel = rollout_ufunc(step, observe, 1 if x.ndim == 1 else machine.width())
    n = len(step.outputs)
    records: list[Array] = []

    def advance(counts: Array, t0: float, k: float, dt: float, x: Array) -> Array:
        """Append the records after the given numbers of steps; returns the last state."""
        with np.errstate(all="ignore"):
            new = kernel(counts, t0, k, dt, x)
        time_first = np.moveaxis(new, -2, 0)
        finite = np.isfinite(time_first).all(axis=tuple(range(1, time_first.ndim)))
        if not finite.all():
            bad = int(np.argmin(finite))
            records.append(time_first[:bad])
            column = int(np.argwhere(~np.isfinite(time_first[bad]))[0][-1])
            raise Diverged(np.moveaxis(np.concatenate(records), 0, -2), t0 + (k + counts[: bad + 1].sum()) * dt, column)
        records.append(time_first)
        return time_first[-1][..., 1 : 1 + n]

    with bar(whole, progress) as advanced:
        for part in parts(np.array(counts, dtype=float)):
            k = float(sum(counts[: sum(len(r) for r in records)]))
            x = advance(part, 0.0, k, dt, x)
            advanced(int(part.sum()))
        if steps > whole + 1e-6:
            advance(np.ones(1), whole * dt, 0.0, duration - whole * dt, x)
    return np.moveaxis(np.concatenate(records), 0, -2)


def parts(counts: Array) -> Iterator[Array]:
    """The counts in pieces of about a tenth of a second of work, measured as they go."""
    start, length = 0, 16
    while start < len(counts):
        begun = time.perf_counter()
        yield counts[start : start + length]
        start += length
        length = max(1, min(100_000, int(length * np.clip(0.1 / max(time.perf_counter() - begun, 1e-6), 0.25, 8.0))))


@contextlib.contextmanager
def bar(steps: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar with the rate and the time left; gives the function to call with the number of steps done."""
    if not shown:
        yield lambda n: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    count = TextColumn("{task.completed}/{task.total} steps, {task.fields[rate]:,.0f}/s")
    columns = (TextColumn("simulating"), BarColumn(), count, TimeRemainingColumn())
    begun = time.perf_counter()
    with Progress(*columns) as shown_bar:
        task = shown_bar.add_task("", total=steps, rate=0.0)

        def advanced(n: int) -> None:
            shown_bar.advance(task, n)
            shown_bar.update(task, rate=shown_bar.tasks[0].completed / max(time.perf_counter() - begun, 1e-9))

        yield advanced
