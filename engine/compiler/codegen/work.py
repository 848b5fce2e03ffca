"""Layout of a program's scratch memory, which its caller allocates, for machine code and for C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.compiler.codegen.lanes import Laned
from engine.compiler.codegen.schedule import angles, register_plan, returned
from engine.compiler.graph.program import Program


@dataclass
class Work:
    """Layout of a program's scratch memory.

    Attributes
    ----------
    place : node -> where its value stands; slot : of these, nodes that are stored there when they are made
    evictions : node -> those that leave the registers before it
    turned : inputs whose sine or cosine is made together, numbered; they lie from ``angles`` on, in as much ``room`` as their sines and
        their cosines, which follow
    arguments : where what is passed to functions begins, and lent : where their own work does; size : all of it
    """

    place: dict[int, int]
    slot: dict[int, int]
    evictions: dict[int, list[int]]
    turned: dict[int, int]
    angles: int
    room: int
    arguments: int
    lent: int
    size: int


def laid_out(made: Laned, functions: Sequence[Program], callees: Mapping[int, tuple[Any, int]], parts: list[range], registers: int,
             at_once: int, held: int = 0) -> Work:  # fmt: skip
    """Lay out the work of a program: results of calls first, then angles, so many turned ``at_once``, then slots, and what callees are
    given and take; before all that, the arena of its tables, or so much that is ``held`` from call to call. ``callees`` are those functions
    that are called, each with the size of its own work."""
    nodes = made.nodes
    place, first = returned(nodes, functions, held + int(any(functions[k].tabled for k in callees)))
    turned = angles(nodes, made.together)
    room = -(-len(turned) // at_once) * at_once
    for i, node in enumerate(nodes):
        if node[0] in ("sin", "cos") and node[1] in turned:
            place[i] = first + turned[node[1]] + room * (1 if node[0] == "sin" else 2)
    for i, node in enumerate(nodes):
        if node[0] == "pack" and [place.get(j) for j in node[1:]] == [k + place.get(node[1], -len(nodes)) for k in range(made.wide[i])]:
            place[i] = place[node[1]]
    slot, slots, evictions = register_plan(nodes, made.outputs, parts, place, registers, made.wide)
    begin = first + 3 * room
    slot = {i: begin + k for i, k in slot.items()}
    arguments = begin + slots
    lent = arguments + max((functions[k].n_in for k in callees), default=0)
    size = lent + max((work for _, work in callees.values()), default=0)
    return Work(place | slot, slot, evictions, turned, first, room, arguments, lent, size)
