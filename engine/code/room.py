"""Memory bound of a function's tables in C, as a linear function of their number of rows.

Of each table it is known that it has at most so many rows, or that these are as many as are given, or as the program makes them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.code.memory import DESCRIPTOR, with_tables
from engine.code.procedures import columns_of
from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.program import Program
from engine.compiler.kernels.procedure import Procedure
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.kernels.stacks import Concatenated, Constants, Cut, Part, Stack

#: how many rows a table has at most; OPEN: as many as are given, or made
Most = int
OPEN = -1


class Need(NamedTuple):
    """Doubles that are needed: so many in all, and so many for each row of the longest table that is given or made."""

    own: int = 0
    each: int = 0

    def with_table(self, rows: Most, columns: int) -> Need:
        """Add a table."""
        return Need(self.own + DESCRIPTOR + (0 if rows == OPEN else rows * columns), self.each + (columns if rows == OPEN else 0))

    def with_all(self, other: Need) -> Need:
        """Add another need."""
        return Need(self.own + other.own, self.each + other.each)


def needed(f: Program, given: Sequence[Most] | None = None) -> Need:
    """Return the memory that a function takes, for tables of at most so many rows as arguments."""
    return found(f, [OPEN] * len(f.given) if given is None else given)[0]


def found(f: Program, given: Sequence[Most]) -> tuple[Need, list[Most]]:
    """Return the memory that a function takes, and the most rows that its results have."""
    if not with_tables(f):
        return Need(), [OPEN] * len(f.outputs)
    return found_once(f, tuple(given))


@functools.cache
def found_once(f: Program, given: tuple[Most, ...]) -> tuple[Need, list[Most]]:
    """:func:`found`, kept: nested loops ask for it again and again."""
    if isinstance(f, Kernel):
        return of_kernel(f, given)
    need, rows, results = Need(), list[Most](), dict[int, list[Most]]()
    for i, (op, *args) in enumerate(f.nodes):
        rows.append(given[args[0]] if op == "input" else results[args[0]][args[1]] if op == "get" and args[0] in results else OPEN)
        if op == "call":
            more, results[i] = found(f.functions[args[0]], [rows[k] for k in args[1:]])
            need = need.with_all(more)
        elif op == "loop":
            more, results[i] = of_passes(f.functions[args[0]], [rows[k] for k in args[2:]], args[1])
            need = need.with_all(more)
    return need, [rows[i] for i in f.outputs]


def of_passes(f: Program, given: list[Most], passes: int) -> tuple[Need, list[Most]]:
    """Return the memory and rows of a loop: tables made in a pass, and those passed on, twice where they may lie among other rows."""
    n = len(f.outputs)
    while True:
        need, made = found(f, given)
        wider = [b if a == b else OPEN for a, b in zip(made, given, strict=False)] + given[n:]
        if wider == given:
            break
        given = wider
    for _ in range((passes > 1) * (1 + holds(f, (Cut, Part)))):
        for m, columns in zip(made, f.made, strict=True):
            need = need.with_table(m, columns) if columns else need
    return need, made


def of_kernel(f: Kernel, given: Sequence[Most]) -> tuple[Need, list[Most]]:
    """Return the memory and rows of a kernel."""
    need, one = Need(), Need(DESCRIPTOR)
    if isinstance(f, RowLoop):
        return of_rows(f, given)
    if isinstance(f, Stack):
        return need.with_table(f.n, f.m), [f.n]
    if isinstance(f, Constants):
        return one, [len(f.rows)]
    if isinstance(f, Concatenated):
        rows = OPEN if OPEN in given else sum(given)
        return need.with_table(rows, f.m), [rows]
    if isinstance(f, Part):
        return one, [given[1 + f.which]]
    if isinstance(f, Cut):
        return one, [OPEN if given[0] == OPEN else given[0] // f.n if f.joined else given[0] * f.n]
    if isinstance(f, Procedure):
        for columns in columns_of(f):
            need = need.with_table(OPEN, columns)
    return need, [OPEN] * len(f.outputs)


def of_rows(f: RowLoop, given: Sequence[Most]) -> tuple[Need, list[Most]]:
    """Return the memory and rows of a loop over rows: its sources have the same number, which may be known of one."""
    read = [given[k if s.index < 0 else len(f.sources) + s.index] for k, s in enumerate(f.sources)]
    n = min((m for m in read if m != OPEN), default=OPEN)
    need, _ = found(f.f, [OPEN] * f.place + [*given[f.first : f.first + f.outside]])
    targets, made = iter(given[f.first + f.outside :]), list[Most]()
    for s in f.sinks:
        m = next(targets) if s.adds else n
        need = need if s.how == "sum" else need.with_table(m, s.columns)
        made += [OPEN if s.how == "sum" else m] * len(s.shapes)
    return need, made


@functools.cache
def holds(f: Program, kinds: Any) -> bool:
    """Return whether a function, or one that it calls, is a kernel of these kinds."""
    return isinstance(f, kinds) or any(holds(g, kinds) for g in f.within)


def grows(f: Program) -> bool:
    """Return whether a function may make tables with more rows than the longest of those that it is given."""
    return holds(f, (Concatenated, Cut, Procedure))


def enough(f: Program, rows: int) -> int:
    """Return the doubles of memory that suffice where no table is given, and none of unknown length has more than so many rows."""
    own, each = needed(f)
    return own + DESCRIPTOR + each * rows
