"""A compiled step repeated, with records: what every simulation runs on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.compiler import machine
from engine.compiler.gufunc import get_threads, pool, rollout_ufunc
from engine.compiler.trace import Program
from engine.simulation.component import SimulationError

Array = np.ndarray
#: kernel(counts, t0, k, dt, x) -> records (..., len(counts), m), as the gufunc of engine.compiler.rollout
Kernel = Callable[..., Array]


class Diverged(Exception):
    """A record that is not finite: ``data`` (..., T, m) are those before it in its block, ``t`` its time, ``column`` its bad entry."""

    def __init__(self, data: Array, t: float, column: int) -> None:
        super().__init__(f"not finite at t = {t:.6g} s")
        self.data, self.t, self.column = data, t, column


def kernel_of(step: Program, observe: Program, batch: tuple[int, ...]) -> Kernel:
    """Machine code for ``step(t0, k, dt, x) -> x`` and ``observe(t0, k, dt, x) -> record``; they may take x in parts.

    A large batch is spread over the threads; a rollout is the same bits alone, in any batch and on any number of threads.
    """
    kernel = rollout_ufunc(step, observe, machine.width() if batch else 1)
    rows = int(np.prod(batch))
    threads = min(get_threads(), rows // (4 * machine.width()))
    if threads <= 1:
        return kernel

    def spread(counts: Array, t0: float, k: float, dt: float, x: Array) -> Array:
        flat = x.reshape(rows, x.shape[-1])
        bounds = np.linspace(0, rows, threads + 1).astype(int)
        done = pool(threads, os.getpid()).map(lambda a, b: kernel(counts, t0, k, dt, flat[a:b]), bounds[:-1], bounds[1:])
        found = np.concatenate(list(done))
        return found.reshape(*batch, *found.shape[1:])

    return spread


def plain_kernel(step: Callable[..., Array], observe: Callable[..., Array]) -> Kernel:
    """The same, of functions on floats, for one rollout; from a record that is not finite on nothing more is computed."""

    def kernel(counts: Array, t0: float, k: float, dt: float, x: Array) -> Array:
        records: list[Array] = []
        try:
            for count in counts:
                if records and not np.isfinite(records[-1]).all():
                    records.append(records[-1])
                    continue
                for _ in range(int(count)):
                    x, k = step(t0, k, dt, x), k + 1.0
                records.append(observe(t0, k, dt, x))
        except SimulationError as error:
            error.records = records
            raise
        return np.array(records)

    return kernel


def blocks(kernel: Kernel, x: Array, dt: float, duration: float, record_every: int = 1, start: int = 0) -> Iterator[tuple[Array, int]]:
    """Records (..., T, m), a block at a time, and the number of steps done by its end, −1 after a step that is shorter than dt.

    They begin with the time, then the state (n). Recorded are the state at first (unless ``start`` steps have been done already), after
    steps whose number is a multiple of ``record_every``, wherever the start, and in the end; a last, shorter step ends a duration that is
    no multiple of dt. Raises :class:`Diverged`.
    """
    n = x.shape[-1]
    steps = duration / dt
    whole = round(steps) if abs(steps - round(steps)) < 1e-6 and steps >= 0.5 else int(steps)
    shorter = steps > whole + 1e-6 or not whole
    before = start // record_every + bool(start)  # records before these
    last = whole // record_every if shorter else -(-whole // record_every)

    def counts(i: int, j: int) -> Array:
        """Steps from the record before to each of the records i … j − 1; of a long run they are not all in memory."""
        numbers = np.clip(np.arange(before + i - 1, before + j) * record_every, start, whole)
        return np.diff(numbers).astype(float)

    def advance(counts: Array, t0: float, k: float, dt: float, x: Array) -> Array:
        with np.errstate(all="ignore"):
            new = kernel(counts, t0, k, dt, x)
        time_first = np.moveaxis(new, -2, 0)
        finite = np.isfinite(time_first).all(axis=tuple(range(1, time_first.ndim)))
        if not finite.all():
            bad = int(np.argmin(finite))
            column = int(np.argwhere(~np.isfinite(time_first[bad]))[0][-1])
            raise Diverged(np.moveaxis(time_first[:bad], 0, -2), t0 + (k + counts[: bad + 1].sum()) * dt, column)
        return new

    done = start
    for i, j in parts(last + 1 - before if start < whole or not start else 0):
        part = counts(i, j)
        new = advance(part, 0.0, float(done), dt, x)
        done += int(part.sum())
        x = new[..., -1, 1 : 1 + n]
        yield new, done
    if shorter:
        if done < whole:
            x = advance(np.array([float(whole - done)]), 0.0, float(done), dt, x)[..., -1, 1 : 1 + n]
        yield advance(np.ones(1), whole * dt, 0.0, duration - whole * dt, x), -1


def rollout(kernel: Kernel, x: Array, dt: float, duration: float, record_every: int = 1, progress: bool = False) -> Array:
    """All records (..., T, m) of a motion; a :class:`Diverged` holds all before it."""
    found: list[Array] = []
    try:
        with bar(round(duration / dt), progress) as advanced:
            for new, done in blocks(kernel, x, dt, duration, record_every):
                found.append(new)
                advanced(done)
    except Diverged as stop:
        stop.data = np.concatenate([*found, stop.data], axis=-2)
        raise
    return np.concatenate(found, axis=-2)


def parts(records: int) -> Iterator[tuple[int, int]]:
    """Pieces i … j − 1 of so many records, of about a tenth of a second of work each, measured as they go."""
    start, length = 0, 16
    while start < records:
        begun = time.perf_counter()
        yield start, min(start + length, records)
        start += length
        length = max(1, min(100_000, int(length * np.clip(0.1 / max(time.perf_counter() - begun, 1e-6), 0.25, 64.0))))


@contextlib.contextmanager
def bar(steps: int, shown: bool, start: int = 0) -> Iterator[Callable[[int], None]]:
    """A progress bar with the rate and the time left; gives the function to call with the number of steps done so far (−1 is passed over).

    Of the steps, ``start`` were done before.
    """
    if not shown:
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    count = TextColumn("{task.completed}/{task.total} steps, {task.fields[rate]:,.0f}/s")
    columns: tuple[Any, ...] = (TextColumn("simulating"), BarColumn(), count, TimeRemainingColumn())
    begun = time.perf_counter()
    with Progress(*columns) as shown_bar:
        task = shown_bar.add_task("", total=steps, completed=start, rate=0.0)

        def advanced(done: int) -> None:
            if done >= 0:
                shown_bar.update(task, completed=done, rate=(done - start) / max(time.perf_counter() - begun, 1e-9))

        yield advanced
