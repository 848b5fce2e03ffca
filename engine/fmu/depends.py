"""Dependencies of a program's outputs on inputs by a walk of its nodes: exact through calls, on all that a loop or a kernel is given."""

from __future__ import annotations

import functools
from typing import Any

from engine.compiler import Program
from engine.compiler.graph.operations import operands


def bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set.

    >>> bits(0b1010)
    [1, 3]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def through(mask: int, masks: list[int]) -> int:
    """Return what is read through what a mask says: the sum of those masks whose bits are set.

    >>> through(0b101, [0b1, 0b10, 0b100])
    5
    """
    return functools.reduce(int.__or__, (masks[k] for k in bits(mask)), 0)


def reached(program: Program, known: dict[str, list[int]] | None = None) -> list[int]:
    """Return for each output scalar of a program the input scalars that it reads, a bit each.

    >>> from engine.compiler import trace
    >>> import numpy as np
    >>> reached(trace(lambda x: np.array([x[0] * x[2], 1.0, x[1]]), [(3,)]))
    [5, 0, 2]
    """
    known = {} if known is None else known
    if program.key in known:
        return known[program.key]
    made: list[Any] = []                                                       # of a node a mask, of a call one for each result

    def whole(i: int) -> int:
        return made[i] if isinstance(made[i], int) else functools.reduce(int.__or__, made[i], 0)

    for node in program.nodes:
        if node[0] == "input":
            made.append(1 << node[1])
        elif node[0] == "get" and not isinstance(made[node[1]], int):
            made.append(made[node[1]][node[2]])
        elif node[0] == "call" and not (inner := program.functions[node[1]]).native:
            given = [whole(i) for i in operands(node)]
            made.append([through(mask, given) for mask in reached(inner, known)])
        else:
            made.append(functools.reduce(int.__or__, map(whole, operands(node)), 0))
    known[program.key] = [whole(i) for i in program.outputs]
    return known[program.key]
