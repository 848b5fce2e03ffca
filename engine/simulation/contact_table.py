"""``ContactTable``: the points of contact where they are many, as many at each record as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.model import StateError

Array = np.ndarray
#: what a point of contact is on disk: the numbers of both links among those named, place and normal, gap, force, slip, couple
COLUMNS = 16


@dataclass(frozen=True, repr=False)
class ContactTable:
    """Contact points of the steps that begin at the T records of a trajectory: one row for each of N points, record after record.

    Attributes
    ----------
    start : (T + 1), where the rows of each record begin
    record : (N), the number of the record
    a, b : (N), names of the links that touch; the ground is "world"
    position : (N, 3), m, midway between the surfaces, where the step's flight ends, in the world
    normal : (N, 3), out of a
    gap : (N), m, below zero where they overlap, at the end of the step
    force : (N, 3), N, on b, in world axes; what acts on a is its opposite
    slip : (N), how fast b slides on a after the step, m/s
    couple : (N, 3), N·m, of torsional and rolling friction on b, in world axes

    >>> table = ContactTable(np.array([0, 0, 1]), np.array([1]), np.array(["world"]), np.array(["box"]), np.zeros((1, 3)),
    ...                      np.array([[0.0, 0.0, 1.0]]), np.array([-1e-4]), np.array([[0.0, 0.0, 9.81]]), np.zeros(1), np.zeros((1, 3)))
    >>> len(table.at(0).gap), table.at(1).force
    (0, array([[0.  , 0.  , 9.81]]))
    """

    start: Array
    record: Array
    a: Array
    b: Array
    position: Array
    normal: Array
    gap: Array
    force: Array
    slip: Array
    couple: Array

    def at(self, k: int) -> ContactTable:
        """Return the points of record k."""
        n = len(self.start) - 1
        if not -n <= k < n:
            raise IndexError(f"record {k} of a table of contacts with {n}; expected one from {-n} to {n - 1}")
        k %= n
        return replace(self.of(np.array([k])), record=self.record[self.start[k] : self.start[k + 1]])

    def of(self, records: NDArray[np.int_]) -> ContactTable:
        """Return the points of these records, one after another, as the table of as many."""
        counts = np.diff(self.start)[records]
        start = np.cumsum([0, *counts])
        rows = np.repeat(self.start[records] - start[:-1], counts) + np.arange(start[-1])
        rest = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name not in ("start", "record")}
        return ContactTable(start, np.repeat(np.arange(len(records)), counts), **rest)

    def rows(self, names: Sequence[str]) -> list[Array]:
        """Return the points (n, 16) of each record, with the numbers of links among ``names``: what :func:`table_of` takes."""
        at = {name: float(k) for k, name in enumerate(names)}
        ends = (np.array([at[str(name)] for name in of]) for of in (self.a, self.b))
        points = np.column_stack([*ends, self.position, self.normal, self.gap, self.force, self.slip, self.couple])
        return np.split(points, self.start[1:-1])

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        n = len(self.start) - 1
        return f"<{len(self)} points of contact in {n} record{'' if n == 1 else 's'}>"


@dataclass(frozen=True)
class Touching:
    """Search for the points of contact of a trajectory, where somebody asks for them.

    Attributes
    ----------
    find : ``find(k, records)``, the table of records of these numbers, of rollout k among all
    rollouts, records : the numbers (...) and (T) of those that the trajectory has
    """

    find: Callable[[int, NDArray[np.int_]], ContactTable]
    rollouts: NDArray[np.int_]
    records: NDArray[np.int_]

    def __call__(self) -> ContactTable:
        if self.rollouts.ndim:
            raise StateError("points of contact are of one rollout; expected such as trajectory.rollout(0)('contacts')")
        return self.find(int(self.rollouts), self.records)

    def of(self, k: Any) -> Touching:
        """Return that of one rollout of a batch, or several."""
        return replace(self, rollouts=np.asarray(self.rollouts[k]))

    def part(self, part: Any) -> Touching:
        """Return that of a slice or a mask in time."""
        return replace(self, records=self.records[part])


def table_of(each: Sequence[Array], names: Sequence[str]) -> ContactTable:
    """Return the table of the points (n, 13 or 16) of each record: the numbers of both links' names, position and normal, gap, force, slip,
    and where there are some couples."""
    start, rows, links = np.cumsum([0, *map(len, each)]), np.concatenate([np.zeros((0, COLUMNS)), *map(add_couples, each)]), np.array(names)
    a, b = links[rows[:, :2].astype(int)].T
    record = np.repeat(np.arange(len(each)), np.diff(start))
    return ContactTable(start, record, a, b, rows[:, 2:5], rows[:, 5:8], rows[:, 8], rows[:, 9:12], rows[:, 12], rows[:, 13:])


def add_couples(points: Array) -> Array:
    """Return points (n, 16) with couples, where they have none with zeros."""
    return np.pad(points, ((0, 0), (0, COLUMNS - points.shape[1])))
