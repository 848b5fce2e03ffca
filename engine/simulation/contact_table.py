"""``ContactTable``: the points of contact where they are many, as many at each record as there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, repr=False)
class ContactTable:
    """What pushes in the steps that begin at the T records of a trajectory: one row for each of N points, record after record.

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
        own = slice(int(self.start[k]), int(self.start[k + 1]))
        rest = (getattr(self, name)[own] for name in ("a", "b", "position", "normal", "gap", "force", "slip", "couple"))
        return ContactTable(np.array([0, own.stop - own.start]), self.record[own], *rest)

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        n = len(self.start) - 1
        return f"<{len(self)} points of contact in {n} record{'' if n == 1 else 's'}>"


def table_of(each: Sequence[Array], names: Sequence[str]) -> ContactTable:
    """Return the table of the points (n, 13 or 16) of each record: the numbers of both links' names, position and normal, gap, force, slip,
    and where there are some couples."""
    start, rows, links = np.cumsum([0, *map(len, each)]), np.concatenate(each), np.array(names)
    a, b = links[rows[:, :2].astype(int)].T
    record = np.repeat(np.arange(len(each)), np.diff(start))
    return ContactTable(start, record, a, b, rows[:, 2:5], rows[:, 5:8], rows[:, 8], rows[:, 9:12], rows[:, 12],
                        rows[:, 13:] if rows.shape[1] > 13 else np.zeros((len(rows), 3)))  # fmt: skip
