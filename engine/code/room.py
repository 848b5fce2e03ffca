"""How much memory of tables a function needs, by how many rows these have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.code.memory import DESCRIPTOR
from engine.code.procedures import columns_of
from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.operations import CALLS
from engine.compiler.graph.program import Program
from engine.compiler.kernels.procedure import Procedure
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.kernels.stacks import Concatenated, Constants, Cut, Part, Stack

#: doubles that are needed whatever is given, and for each row of the longest table; and rows of the longest that is known beforehand
Need = tuple[int, int, int]


def together(needs: Iterable[Need]) -> Need:
    """What is needed where nothing is free again meanwhile."""
    each = [*needs]
    return sum(a for a, _, _ in each), sum(b for _, b, _ in each), max((n for *_, n in each), default=0)


def tables(columns: Sequence[int]) -> Need:
    """What tables of these columns need."""
    return DESCRIPTOR * len(columns), sum(columns), 0


def needed(f: Program) -> Need:
    """Memory that a function takes, where no table has more rows than the longest of those that are given or known, or than is said."""
    if isinstance(f, RowLoop):
        return together([tables([s.columns for s in f.sinks if s.how != "sum"]), needed(f.f)])
    if isinstance(f, Stack):
        return *tables([f.m])[:2], f.n
    if isinstance(f, Constants):
        return DESCRIPTOR, 0, len(f.rows)
    if isinstance(f, Concatenated):
        return tables([f.m])
    if isinstance(f, Procedure):
        return tables(columns_of(f))
    if isinstance(f, Kernel):
        return (DESCRIPTOR if isinstance(f, (Cut, Part)) else 0), 0, 0
    calls = [(node, f.functions[node[1]]) for node in f.nodes if node[0] in CALLS]
    carried = [tables([m for m in g.made if m]) for node, g in calls if node[0] == "loop" and node[2] > 1]
    return together([*carried, *carried * holds(f, (Cut, Part)), *(needed(g) for _, g in calls)])


def holds(f: Program, kinds: Any) -> bool:
    """Whether a function is of some kinds of kernels, or one that it calls is."""
    return isinstance(f, kinds) or any(holds(g, kinds) for g in (*f.functions, *f.within))


def grows(f: Program) -> bool:
    """Whether tables may have more rows than all that are given or known."""
    return holds(f, (Concatenated, Cut, Procedure))


def enough(f: Program, rows: int) -> int:
    """Doubles of memory that are enough where no table is given, and none has more than so many rows, or than is known."""
    own, each, known = needed(f)
    return own + DESCRIPTOR + each * (max(rows, known) if grows(f) else known)
