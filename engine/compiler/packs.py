"""Equal parts of a program, such as a robot's legs: which of its nodes are one operation on several numbers, for the lanes of a vector.

A pack is a tuple of nodes, a lane each, that do the same to packs, to what all lanes share, to constants and to inputs; constants, inputs
and signs may differ, since a left leg is the right one's mirror image (superword-level parallelism, Larsen and Amarasinghe, 2000; packs are
found here from the whole graph, not from neighbours in memory). Inputs that look alike from where they are read begin
(:func:`equal_inputs`); packs grow from them towards the results (:meth:`Packs.up`) until parts differ. Results that look alike down to there
go on (:meth:`Packs.likely`), from above (:meth:`Packs.down`), where a part that differs costs itself alone.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine.compiler.operations import Node, operands

Pack = tuple[int, ...]
#: operations that are one instruction on a vector
PACKED = {"add", "sub", "mul", "fma", "div", "sqrt"}
#: of these, those whose first two operands may change places; of a difference they do so with its sign
SWAPPED = {"add", "sub", "mul", "fma"}
#: how far from the inputs colours look, and how deep from the results :meth:`Packs.likely` does
ROUNDS, DEPTH = 3, 4
#: what speaks against two inputs being equal, and what must speak for some that are; numbers of the longest argument that is looked at
DOUBT, SURE, LONGEST = 0.3, 2.0, 256


def kind(op: str) -> str:
    """The operation, signs apart."""
    return "add" if op == "sub" else op


def alike(op: str, columns: Sequence[Any]) -> tuple[Any, ...]:
    """What two nodes of an operation have in common if their operands have: in any order where that does not matter."""
    return (kind(op), *sorted(columns[:2]), *columns[2:]) if op in SWAPPED else (op, *columns)


class Packs:
    """A program's nodes, and those found to go together.

    Attributes
    ----------
    base, minus : of each node, what it is the negative of, or itself, and which of both
    reads, readers : of each node, its operands and who reads it, signs apart
    inputs : input's number -> those that are equal to it in other lanes, itself included
    pack : node -> the pack that it is in
    order : node of a pack -> its operands, so that those of all lanes match
    """

    def __init__(self, nodes: list[Node], lanes: int = 1) -> None:
        self.nodes, self.lanes = nodes, lanes
        self.base, self.minus = list(range(len(nodes))), [False] * len(nodes)
        self.reads: list[list[int]] = [[] for _ in nodes]
        self.readers: list[list[int]] = [[] for _ in nodes]
        for i, node in enumerate(nodes):
            if node[0] == "neg":
                self.base[i], self.minus[i] = self.base[node[1]], not self.minus[node[1]]
                continue
            self.reads[i] = [self.base[j] for j in operands(node)]
            for j in self.reads[i]:
                self.readers[j].append(i)
        self.inputs: dict[int, Pack] = {}
        self.pack: dict[int, Pack] = {}
        self.order: dict[int, list[int]] = {}

    def angle(self, i: int) -> int:
        """The input's number, of an input or its sine or cosine; else −1."""
        op, *args = self.nodes[i]
        if op in ("sin", "cos"):
            op, *args = self.nodes[args[0]]
        return args[0] if op == "input" else -1

    def found(self, i: int) -> tuple[Any, int]:
        """What a node is, the same in all lanes, and its lane; −1 if it is in none, and perhaps shared by all."""
        t = self.pack.get(i)
        if t:
            return ("pack", t[0]), t.index(i)
        op = self.nodes[i][0]
        k = self.angle(i)
        if k in self.inputs:
            return (op, self.inputs[k][0]), self.inputs[k].index(k)
        return ("const", 0) if op == "const" else ("node", i), -1

    def join(self, t: Pack) -> list[Pack]:
        """Make a pack; return the columns of its operands."""
        rows = [list(operands(self.nodes[i])) for i in t]
        if self.nodes[t[0]][0] in SWAPPED:
            for row in rows[1:]:
                if self.match(rows[0], row) < self.match(rows[0], [row[1], row[0]]):
                    row[0], row[1] = row[1], row[0]
        for i, row in zip(t, rows, strict=True):
            self.pack[i], self.order[i] = t, row
        return self.columns(t)

    def columns(self, t: Pack) -> list[Pack]:
        """Operands of a pack, those of all lanes together."""
        return list(zip(*(self.order[i] for i in t), strict=True))

    def match(self, a: Sequence[int], b: Sequence[int]) -> int:
        """How well the first two operands of two lanes match."""
        score = 0
        for i, j in zip(a[:2], b[:2], strict=True):
            i, j = self.base[i], self.base[j]
            t = self.pack.get(i)
            if i == j or (t and t == self.pack.get(j)):
                score += 8
            elif kind(self.nodes[i][0]) == kind(self.nodes[j][0]):
                score += 1 - 3 * ((i in self.pack) + (j in self.pack))
            else:
                score -= 2
        return score

    def up(self, apart: bool = False) -> None:
        """Pack nodes that do the same to packs and inputs, from these on; if ``apart``, only what depends on one lane's inputs alone."""
        sides = [0] * len(self.nodes)
        if apart:
            for i, node in enumerate(self.nodes):
                t = self.inputs.get(node[1]) if node[0] == "input" else None
                sides[i] = 1 << t.index(node[1]) if t else 0
                for j in self.reads[i]:
                    sides[i] |= sides[j]

        def look(i: int) -> tuple[Any, int]:
            if i in self.pack or self.nodes[i][0] not in PACKED:
                return None, -1
            operands = [self.found(j) for j in self.reads[i]]
            own = {lane for _, lane in operands if lane >= 0}
            lane = own.pop() if len(own) == 1 else -1
            return alike(self.nodes[i][0], [what for what, _ in operands]), -1 if apart and lane >= 0 and sides[i] != 1 << lane else lane

        waiting: dict[Any, list[list[int]]] = {}
        todo = list(range(len(self.nodes)))                                    # a heap
        while todo:
            i = heapq.heappop(todo)
            what, lane = look(i)
            if lane < 0:
                continue
            rows = waiting.setdefault(what, [[] for _ in range(self.lanes)])
            if i not in rows[lane]:
                rows[lane].append(i)
            for k, row in enumerate(rows):
                rows[k] = [j for j in row if look(j) == (what, k)]             # others are packed by now, or read what is
            if all(rows):
                t = tuple(row.pop(0) for row in rows)
                self.join(t)
                for j in t:
                    for reader in self.readers[j]:
                        heapq.heappush(todo, reader)

    def likely(self, outputs: Sequence[int]) -> list[Pack]:
        """Results that look alike down to packs and inputs, one of each lane."""

        def look(i: int, depth: int) -> Any:
            what, lane = self.found(i)
            if lane >= 0:
                own.add(lane)
            op = self.nodes[i][0]
            if what[0] != "node" or not self.reads[i]:
                return hash(what)
            return hash(alike(op, [look(j, depth - 1) for j in self.reads[i]]) if depth else kind(op))

        groups: dict[int, list[list[int]]] = {}
        for i in dict.fromkeys(self.base[i] for i in outputs):
            if i not in self.pack:
                own: set[int] = set()
                what = look(i, DEPTH)
                if len(own) == 1:
                    groups.setdefault(what, [[] for _ in range(self.lanes)])[own.pop()].append(i)
        return [t for rows in groups.values() for t in zip(*rows, strict=False)]

    def down(self, packs: Sequence[Pack]) -> None:
        """Pack these, and what they read, as far as it is the same operation."""
        todo = [(-max(t), t) for t in packs]
        heapq.heapify(todo)
        while todo:
            t = heapq.heappop(todo)[1]
            ops = {kind(self.nodes[i][0]) for i in t}
            if len(ops) > 1 or len(set(t)) < len(t) or any(i in self.pack for i in t):
                continue
            if ops == {"input"}:
                numbers = tuple(self.nodes[i][1] for i in t)
                if not any(k in self.inputs for k in numbers):
                    self.inputs |= dict.fromkeys(numbers, numbers)
            elif ops <= PACKED:
                for column in self.join(t):
                    below = tuple(self.base[i] for i in column)
                    heapq.heappush(todo, (-max(below), below))


def found(nodes: list[Node], outputs: list[int], sizes: Sequence[int], most: int) -> Iterator[Packs]:
    """The packs of a program of arguments of these sizes: of four lanes, then of two, where there may be some."""
    looks = appearances(Packs(nodes), sizes)
    equal = {lanes: equal_inputs(looks, lanes) for lanes in (4, 2) if lanes <= most}
    for lanes, inputs in equal.items():
        if inputs and 2 * len(inputs) >= len(equal[2]):
            packs = Packs(nodes, lanes)
            packs.inputs = inputs
            packs.up(apart=True)
            packs.down(packs.likely(outputs))
            packs.up()
            if packs.pack:
                yield packs


#: the numbers of an argument, and of those that are read what they look like, round by round
Appearance = tuple[range, dict[int, list[int]]]


def appearances(packs: Packs, sizes: Sequence[int]) -> list[Appearance]:
    """What each argument's numbers look like from where they are read."""
    colour = colours(packs)
    node = {x[1]: i for i, x in enumerate(packs.nodes) if x[0] == "input"}
    arguments = [range(end - n, end) for n, end in zip(sizes, itertools.accumulate(sizes), strict=True) if n <= LONGEST]
    return [(a, {k: [colour(node[k], r) for r in range(ROUNDS + 1)] for k in a if k in node}) for a in arguments]


def equal_inputs(appearances: list[Appearance], lanes: int) -> dict[int, Pack]:
    """Inputs that are equal in blocks: in each argument, a run of numbers that look like those at a distance, and at its multiples.

    What a look says is −log of how many of an argument's numbers have it. The distance is the one that says most in all arguments together:
    a leg has as many positions as velocities.
    """
    count = [Counter((r, x) for look in looks.values() for r, x in enumerate(look)) for _, looks in appearances]
    result: dict[int, Pack] = {}

    def worth(t: Pack, looks: dict[int, list[int]], count: Counter[tuple[int, int]]) -> float | None:
        if any(k not in looks or k in result for k in t):
            return None
        r = max(r for r in range(ROUNDS + 1) if len({looks[k][r] for k in t}) == 1)
        return math.log(len(looks) / count[r, looks[t[0]][r]]) - DOUBT

    def best_run(a: int, distance: int) -> tuple[float, list[Pack]]:
        numbers, looks = appearances[a]
        packs = [tuple(range(k, k + distance * lanes, distance)) for k in numbers[: max(len(numbers) - distance * (lanes - 1), 0)]]
        each = [worth(t, looks, count[a]) for t in packs]
        best: tuple[float, list[Pack]] = (0.0, [])
        for first in range(len(packs)):
            total = 0.0
            for last, x in enumerate(each[first : first + distance], first):
                if x is None:
                    break
                total += x
                if total > best[0] and last > first:
                    best = total, packs[first : last + 1]
        return best

    enough, longest = SURE, max((len(numbers) for numbers, _ in appearances), default=0)
    while True:
        tried = [[best_run(a, distance) for a in range(len(appearances))] for distance in range(2, longest // lanes + 1)]
        runs = max(tried, key=lambda runs: sum(total for total, _ in runs), default=[])
        total = sum(total for total, _ in runs)
        if total < enough:
            return result
        enough = max(enough, total / 4)
        result |= {k: t for _, run in runs for t in run for k in t}


def colours(packs: Packs) -> Callable[[int, int], int]:
    """What a node looks like after some rounds: a number that is equal for nodes with equal neighbours."""
    names: dict[Any, int] = {}
    known: list[dict[int, int]] = [{} for _ in range(ROUNDS + 1)]

    def colour(i: int, rounds: int) -> int:
        if i not in known[rounds]:
            below: Any = kind(packs.nodes[i][0])
            if rounds:
                around = (sorted(colour(j, rounds - 1) for j in near[i]) for near in (packs.reads, packs.readers))
                below = colour(i, rounds - 1), *map(tuple, around)
            known[rounds][i] = names.setdefault(below, len(names))
        return known[rounds][i]

    return colour
