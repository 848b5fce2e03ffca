"""Constants apart from code: machine code reads them from a table, so that programs of another gain or mass share it.

What code may take as it stands, 0 and ±1, is none of these numbers, and they are told apart by their magnitudes: where two of one program
are equal, they have one place in its table, so another program has the same code only if its own are equal there.
"""

from __future__ import annotations

import hashlib
import marshal
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.graph.operations import COMMUTATIVE, Node, renumbered
from engine.compiler.graph.program import Program

Array = np.ndarray
#: magnitudes of constants that are part of the code
PLAIN = (0.0, 1.0)


class Numbered(NamedTuple):
    """Hash of programs with their constants left out; the constants' magnitudes, in the order of first use; and kernels' tables, by their
    names in machine code, in that order too."""

    key: str
    numbers: list[float]
    tables: dict[str, Array]


def is_number(x: Any) -> bool:
    """Return whether a constant is read from a table.

    >>> is_number(20.0), is_number(1.0), is_number(True)
    (True, False, False)
    """
    return type(x) is float and math.isfinite(x) and abs(x) not in PLAIN


def numbered(programs: Sequence[Program]) -> Numbered:
    """Return the hash of programs with their constants left out, and these."""
    met: dict[str, int] = {}                                                   # programs, by their keys
    numbers: dict[float, int] = {}
    tables: dict[str, Array] = {}
    whole = hashlib.sha256()

    def bare(node: Node) -> Node:
        if not is_number(node[1]):
            return node
        return "number", numbers.setdefault(abs(node[1]), len(numbers)), node[1] < 0.0, *node[2:]

    def visit(program: Program) -> int:
        if program.key not in met:
            called = [visit(f) for f in program.within]
            met[program.key] = len(met)
            tables.update(program.tables)
            nodes = [bare(node) if node[0] == "const" else node for node in program.nodes]
            whole.update(repr((program.frame, called)).encode())
            whole.update(marshal.dumps(nodes, 0))                              # in a tenth of repr's time: the same bytes for equal values
        return met[program.key]

    called = [*map(visit, programs)]
    whole.update(repr(called).encode())
    return Numbered(whole.hexdigest(), [*numbers], tables)


def outline(programs: Sequence[Program]) -> str:
    """Return the hash of what programs do, whatever their constants are, also where two of these are equal.

    Of 2·x + 3·y and 3·x + 3·y, whose codes differ, it is the same.
    """
    whole, met, waiting = hashlib.sha256(), set[str](), [*programs]
    while waiting:
        if (program := waiting.pop()).key not in met:
            met.add(program.key)
            waiting += program.within
            new, count = list[int](), 0
            for node in program.nodes:
                other = None if node[0] == "const" else renumbered(node, new)
                new.append(0 if other is None else (count := count + 1))
                if other is not None:
                    whole.update(repr((other[0], sorted(other[1:])) if other[0] in COMMUTATIVE else other).encode())
    return whole.hexdigest()


def places(table: Sequence[float], numbers: Sequence[float]) -> list[tuple[int, int]] | None:
    """Return, for each entry of a table, the index of its constant and its sign; −1 for one that is part of the code. None if another is in
    the table.

    >>> places([1.0, -3.0, 20.0], [20.0, 3.0])
    [(-1, 1), (1, -1), (0, 1)]
    >>> places([4.0], [2.0]) is None
    True
    """
    known = {x: k for k, x in enumerate(numbers)}
    found = [(known.get(abs(x), -1), -1 if x < 0.0 else 1) for x in table]
    return None if any(k < 0 and is_number(x) for (k, _), x in zip(found, table, strict=True)) else found
