"""The run loop: a step repeated, compiled or plain, alone or in a batch, and its records collected. Robots and rigid bodies run on it."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.checks import EngineError
from engine.compiler import native_code
from engine.compiler.codegen.shelf import SHELF
from engine.compiler.gufunc import WORTH_THREADS
from engine.compiler.scan import look_at_many, rollout_ufunc
from engine.compiler.thread_pool import get_threads, spread
from engine.compiler.transforms.trace import Program, trace
from engine.components.component import AWAY, Interrupted, SimulationError
from engine.components.layout import Layout
from engine.model import StateError
from engine.simulation.rounding import require_usual

Array = np.ndarray
#: s: of the step by which a record's shapes are found on floats, wherever the example stands
SHORT = 1e-9
#: records before one that is not finite, from which steps are taken again to find out why
TRAIL = 8
#: s of machine code within one record, about, after which it is looked whether somebody has pressed Ctrl-C
HEARD = 0.2
#: steps of one record that are taken at once before it is known how long they take
UNKNOWN = 256.0
#: records of single rollouts, from which on code that looks at many of their states at once is worth its making
MANY = 1000
#: kernel(counts, t0, k, dt, p, x) -> records (..., len(counts), m), as the gufunc of engine.compiler.codegen.rollout
Kernel = Callable[..., Array]


class Diverged(Exception):
    """Raised at a record that is not finite, or noted, of one rollout of a batch.

    Attributes
    ----------
    data : the records (T, m) before it in its block, of a batch the last ones; bad : the record (m) itself; t : its time, s
    row : the rollout of a batch
    steps, dt, begin, p, x : so many steps of dt lead to it from the last good state x (n), with parameters p, at the time ``begin``
    """

    def __init__(self, data: Array, t: float, bad: Array, steps: int, dt: float, p: Array, x: Array, row: tuple[int, ...] = ()) -> None:
        super().__init__(f"not finite at t = {t:.6g} s")
        self.data, self.bad, self.t, self.row = data, bad, t, tuple(int(i) for i in row)
        self.steps, self.dt, self.begin, self.p, self.x = steps, dt, t - steps * dt, p, x


#: numbers of records that are looked at by the sum of their squares
FEW = 1000
#: rollouts of a batch that stopped being finite
Failures = dict[tuple[int, ...], Diverged]


class Process:
    """A step and an observation that can be run.

    Attributes
    ----------
    together : whether a batch is computed as a whole, rows that failed too
    seen_later : whether a state may be looked at whenever somebody asks, as machine code sees the same bits then; what is plain Python is
        asked at its time

    Parameters
    ----------
    step : ``step(t0, k, dt, p, x) -> x``, the state (n) after the k-th step from t0, and ``notes`` of the step, so many numbers
    observe : ``observe(t0, k, dt, p, x)``, a record {"t": …, "x": x, …} of arrays by name, of a state beside which are the notes of the
        step that begins there
    compiled : whether they run as machine code; plain functions run one rollout at a time
    example : parameters p and a state x, of the right sizes
    over : ``over(x)``, which of the states (..., n) stay as they are whatever is called next; none by default
    where : ``where(x)``, what errors on floats say of a state (n) besides the time
    away : ``away(x)``, which of the states (..., n) have run away though they are finite, and count as those that are not; none by default
    """

    together = False

    def __init__(self, step: Callable[..., Array], observe: Callable[..., dict[str, Any]], compiled: bool,
                 example: tuple[Array, Array], over: Callable[[Array], Array] | None = None,
                 where: Callable[[Array], str] = lambda x: "", away: Callable[[Array], Any] = lambda x: False,
                 notes: int = 0) -> None:  # fmt: skip
        self.step, self.observe, self.compiled, self.example = step, observe, compiled, example
        self.over, self.where = over or (lambda x: np.zeros(x.shape[:-1], dtype=bool)), where
        self.n, self.away, self.notes, self.seen_later = len(example[1]), away, notes, compiled
        self.most = UNKNOWN                                                    # steps that take HEARD, as far as it is known
        self.recorded = 0                                                      # states of one rollout that could be looked at together

    @functools.cached_property
    def programs(self) -> tuple[Program, Program]:
        """The traced step and observation."""
        return self.traced()

    def know(self, programs: tuple[Program, Program]) -> None:
        """Take these for the traced step and observation, which are known by what they were made of."""
        self.__dict__["programs"] = programs

    def traced(self, parts: bool = False) -> tuple[Program, Program]:
        """Return the traced step and observation, with functions for their ``parts`` or without."""
        shapes, x = [(), (), (), self.example[0].shape], (self.n,)
        return trace(self.step, [*shapes, x], parts=parts), trace(self.observe, [*shapes, (self.n + self.notes,)], named=True, parts=parts)

    @functools.cached_property
    def operations(self) -> int:
        """Number of operations of a step, about."""
        return self.programs[0].count()

    @property
    def keys(self) -> list[str]:
        """Keys of its programs."""
        return [f.key for f in self.programs]

    @functools.cached_property
    def record(self) -> Layout:
        """The layout of a record."""
        if self.compiled:
            seen = self.programs[1]
            return Layout(dict(zip(seen.names, seen.shapes_out, strict=True)))
        p, x = self.example
        return Layout({name: np.shape(a) for name, a in self.observe(0.0, 0.0, SHORT, p, np.append(x, np.zeros(self.notes))).items()})

    def kernel(self, batch: tuple[int, ...]) -> Kernel:
        """Return the function that runs a batch.

        A large batch is spread over the threads; a rollout is the same bits alone, in any batch and on any number of threads.
        """
        if not self.compiled:
            if batch:
                raise SimulationError(f"a batch {batch} with compiled=False; expected one rollout")
            return self._plain
        if not batch:
            return self._alone
        kernel = rollout_ufunc(*self.programs, native_code.width())
        rows = math.prod(batch)
        threads = min(get_threads(), rows // (4 * native_code.width()))
        if threads <= 1:
            return kernel

        def rows_at_once(counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            if rows * np.abs(counts).sum() * self.operations < WORTH_THREADS:
                return kernel(counts, t0, k, dt, p, x)
            p, x = (np.broadcast_to(a, (*batch, a.shape[-1])).reshape(rows, a.shape[-1]) for a in (p, x))
            ends = np.linspace(0, rows, threads + 1).astype(int)
            found = np.concatenate(spread(lambda a, b: kernel(counts, t0, k, dt, p[a:b], x[a:b]), ends[:-1], ends[1:]))
            return found.reshape(*batch, *found.shape[1:])

        return rows_at_once

    @functools.cached_property
    def _alone(self) -> Kernel:
        """The function that runs one rollout."""
        kernel: Kernel = rollout_ufunc(*self.programs, 1)
        return kernel

    def advance(self, counts: Array, t0: float, k: float, dt: float, p: Array, x: Array, failures: Failures | None = None,
                room: Array | None = None) -> Array:  # fmt: skip
        """Return records (..., T, m), each after so many more of the steps, in ``room`` if there is some and machine code makes them;
        :class:`Diverged` where one of a single rollout is not finite. Where all counts are negative, so many steps are taken, and records
        have x alone.

        In a batch a rollout that is not finite any more is NaN from there on, and noted among the ``failures``; nothing of it is computed
        in later calls, and all others are the same bits as without it. A SimulationError, or Interrupted, holds the records before it.
        """
        batch = x.shape[:-1]
        on = np.isfinite(x).all(axis=-1) if batch else np.True_
        ended: SimulationError | Interrupted | None = None
        all_of_it = not batch or on.all() or (self.together and on.any())
        own, given, room = (x, p, room) if all_of_it else (x[on], np.broadcast_to(p, (*batch, p.shape[-1]))[on], None)
        try:
            new = self._records(counts, t0, k, dt, given, own, room) if not batch or on.any() else np.zeros((0, len(counts), self.record.n))
            if not batch and self.modest(new):
                return new
            counts = np.abs(counts)
        except (SimulationError, Interrupted) as error:
            ended, new = error, np.concatenate([np.zeros((*own.shape[:-1], 0, self.record.n)), *error.records], axis=-2)
        if not all_of_it:
            some, new = new, np.full((*batch, new.shape[-2], self.record.n), np.nan)
            new[on], new[..., 0] = some, some[0, :, 0] if on.any() else t0 + (k + np.cumsum(counts)) * dt
        new[~on, ..., 1:] = np.nan
        good = self.good(new)
        for row in map(tuple, np.argwhere(~good.all(axis=-1) & on)):
            data, first = new[row], int(np.argmin(good[row]))
            last = data[first - 1, 1 : 1 + self.n] if first else x[row]
            before = data[max(first - TRAIL, 0) if batch else 0 : first].copy()
            stop = Diverged(before, t0 + (k + counts[: first + 1].sum()) * dt, data[first].copy(),
                            int(counts[first]), dt, np.broadcast_to(p, (*batch, p.shape[-1]))[row], last.copy(), row)  # fmt: skip
            if not batch:
                raise stop
            if failures is not None:
                failures[stop.row] = stop
        if not good.all():
            new[np.logical_or.accumulate(~good, axis=-1), 1:] = np.nan
        if ended is not None:
            ended.records = [new] if new.size else []
            raise ended
        return new

    def look(self, t: float, dt: float, p: Array, x: Array, failures: Failures | None = None) -> Array:
        """Return the one record (..., 1, m) of states x (..., n) at time t, without taking a step; dt is that of the step to come."""
        return self.advance(np.zeros(1), t, 0.0, dt, p, x, failures)

    def good(self, records: Array) -> Array:
        """Return which records (..., m) are of a motion that goes on: finite, and not run away."""
        return np.asarray(np.isfinite(records).all(axis=-1) & ~np.asarray(self.away(records[..., 1 : 1 + self.n])))

    def modest(self, records: Array) -> bool:
        """Return whether the records of one rollout are good as their numbers are small: of a step in a loop in Python no more is asked."""
        own = records.reshape(-1)
        if own.size > FEW:                                                     # BLAS would share it among threads, and wait for them
            return bool(np.minimum.reduce(own) > -AWAY and np.maximum.reduce(own) < AWAY)      # NaN is not
        return bool(own.size and np.vdot(own, own) < AWAY * AWAY)              # nor its square, or an overflow, which is silent

    def _records(self, counts: Array, t0: float, k: float, dt: float, p: Array, x: Array, room: Array | None = None) -> Array:
        """Return records (..., T, m), finite or not: machine code between records in pieces, between which Ctrl-C is heard."""
        if self.compiled and max(map(abs, map(counts.item, (0, len(counts) // 2, -1)))) > UNKNOWN and np.abs(counts).max() > self.most:
            return self._in_pieces(counts, t0, k, dt, p, x, room)
        kernel = self.kernel(x.shape[:-1])
        if kernel is vars(self).get("_alone") and len(counts) >= SHELF:
            self.recorded += len(counts)
            if self.recorded >= MANY:
                look_at_many(*self.programs)
        return run_silently(kernel, counts, t0, k, dt, p, x, room=room)

    def _in_pieces(self, counts: Array, t0: float, k: float, dt: float, p: Array, x: Array, room: Array | None) -> Array:
        """Run as compiled, each record by several calls, of which the last counts."""
        found = np.empty((*x.shape[:-1], len(counts), self.record.n)) if room is None else room
        kernel = self.kernel(x.shape[:-1])
        for j, count in enumerate(counts):
            left, sign = abs(float(count)), math.copysign(1.0, count)
            while True:
                now, begun = min(left, self.most), time.perf_counter()
                record = run_silently(kernel, np.array([sign * now]), t0, k, dt, p, x)
                took = max(time.perf_counter() - begun, 1e-9)
                if now >= min(self.most, UNKNOWN):
                    self.most = max(1.0, np.floor(now * np.clip(HEARD / took, 0.25, 16.0)))
                k, left, x = k + now, left - now, record[..., -1, 1 : 1 + self.n]
                if not left:
                    break
            found[..., j, :] = record[..., -1, :]
        return found

    def _plain(self, counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
        """Run on floats, one rollout; from a record that is not finite on, or where it is over, nothing more is computed."""
        records: list[Array] = []
        try:
            for count in counts:
                if records and (self.over(x) or not self.good(records[-1])):
                    records.append(records[-1])
                    continue
                for _ in range(int(count)):
                    x, k = self.step(t0, k, dt, p, x)[: self.n], k + 1.0
                records.append(self.record.join(self.record_of(t0, k, dt, p, x)))
        except Exception as error:
            if k == 0.0 and isinstance(error, StateError):                     # what is no system is known before anything could be lost
                raise
            what = str(error) if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"
            stop = SimulationError(f"{what}, in the step from t = {t0 + k * dt:.6g} s{self.where(x)}")
            stop.records = [np.array(records)] if records else []
            raise stop from error
        except KeyboardInterrupt as error:
            cut = Interrupted(f"interrupted in the step from t = {t0 + k * dt:.6g} s")
            cut.records = [np.array(records)] if records else []
            raise cut from error
        return np.array(records)

    def record_of(self, t0: Any, k: Any, dt: Any, p: Array, x: Array) -> dict[str, Any]:
        """Return the record of a state x (n) k steps of dt after t0, with the notes of the step from there; traced or not."""
        notes = self.step(t0, k, dt, p, x)[self.n :] if self.notes else np.zeros(0)
        return self.observe(t0, k, dt, p, np.append(x, notes))

    def blocks(self, p: Array, x: Array, dt: float, duration: float, record_every: int = 1, start: int = 0,
               failures: Failures | None = None, at_once: bool = False) -> Iterator[tuple[Array, int]]:  # fmt: skip
        """Yield records (..., T, m), a block at a time, and the number of steps done by its end, −1 after a step that is shorter than dt.
        Where all are wanted ``at_once``, blocks lie one after another in one array, as far as machine code makes them.

        Recorded are the state at first (unless ``start`` steps have been done already), after steps whose number is a multiple of
        ``record_every``, wherever the start, and in the end; a last, shorter step ends a duration that is no multiple of dt.
        Raises :class:`Diverged`, or notes it, as :meth:`advance`; a SimulationError says after how many ``steps`` its last record is.
        """
        require_usual()
        whole, shorter = steps_in(duration, dt)
        before = start // record_every + bool(start)  # records before these
        last = (whole - 1) // record_every if shorter else -(-whole // record_every)      # of those from which steps of dt go on

        def counts(i: int, j: int) -> Array:
            """Steps from the record before to each of the records i … j − 1; of a long run they are not all in memory."""
            numbers = np.arange(before + i - 1, before + j) * record_every
            numbers = np.minimum(np.maximum(numbers, start), whole)
            return (numbers[1:] - numbers[:-1]).astype(float)

        done, many = start, last + 1 - before if start < whole or not start else 0
        room = np.empty((*x.shape[:-1], many, self.record.n)) if at_once else None
        for i, j in pieces(many):
            part = counts(i, j)
            try:
                new = self.advance(part, 0.0, float(done), dt, p, x, failures, None if room is None else room[..., i:j, :])
            except (SimulationError, Interrupted) as error:
                if error.records:
                    error.steps = done + int(part[: error.records[0].shape[-2]].sum())
                raise
            done += int(part.sum())
            x = new[..., -1, 1 : 1 + self.n]
            yield new, done
        if shorter:
            if done < whole:
                x = self.advance(np.array([float(whole - done)]), 0.0, float(done), dt, p, x, failures)[..., -1, 1 : 1 + self.n]
            t, rest = whole * dt, duration - whole * dt
            if whole % record_every == 0 and (start < whole or not start):
                yield self.look(t, rest, p, x, failures), -1
            x = self.advance(np.ones(1), t, 0.0, rest, p, x, failures)[..., -1, 1 : 1 + self.n]
            yield self.look(duration, dt, p, x, failures), -1


def run_silently(kernel: Kernel, *given: Any, room: Array | None = None) -> Array:
    """Return records, in silence; NumPy is as loud afterwards as it was, also where Ctrl-C comes as its silence ends."""
    if isinstance(kernel, np.ufunc):                                           # whose machine code leaves no flags
        found: Array = kernel(*given, out=room)
        return found
    before = np.geterr()
    try:
        with np.errstate(all="ignore"):
            return kernel(*given)
    except KeyboardInterrupt:
        np.seterr(**before)
        raise


def collected(blocks: Iterator[tuple[Array, int]], advanced: Callable[[int], None]) -> Array:
    """Return all records (..., T, m) of a motion; a :class:`Diverged` then holds all before it, a SimulationError too (``records``)."""
    found: list[Array] = []
    try:
        for new, done in blocks:
            found.append(new)
            advanced(done)
    except Diverged as stop:
        stop.data = np.concatenate([*found, stop.data], axis=-2)
        raise
    except (SimulationError, Interrupted) as error:
        error.records = [*found, *error.records]
        raise
    return join_blocks(found)


def join_blocks(parts: list[Array]) -> Array:
    """Return arrays (..., T, m) one after another: the array that they are the parts of, or a copy."""
    whole = parts[0].base
    if whole is not None and all(part.base is whole for part in parts) and whole.shape[-2:-1] == (sum(part.shape[-2] for part in parts),):
        return whole
    return np.concatenate(parts, axis=-2)


def steps_in(duration: float, dt: float) -> tuple[int, bool]:
    """Return how many steps of dt a duration has, and whether a shorter one ends it."""
    steps = duration / dt
    whole = round(steps) if abs(steps - round(steps)) < 1e-6 and steps >= 0.5 else int(steps)
    return whole, steps > whole + 1e-6 or not whole


def times(data: Array) -> Array:
    """Return the times (T) of records (..., T, m), which a batch shares."""
    return data.reshape(-1, *data.shape[-2:])[0, :, 0] if data.size else np.zeros(0)


def pieces(records: int) -> Iterator[tuple[int, int]]:
    """Yield pieces i … j − 1 of so many records, of about a tenth of a second of work each, measured as they go."""
    start, length = 0, 16
    while start < records:
        begun = time.perf_counter()
        yield start, min(start + length, records)
        start += length
        length = max(1, min(100_000, int(length * np.clip(0.1 / max(time.perf_counter() - begun, 1e-6), 0.25, 64.0))))
