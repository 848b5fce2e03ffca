"""Search for packs: nodes in equal parts of a program, such as a robot's legs, that can be one vector operation.

A pack is a tuple of nodes, a lane each, that do the same to packs, to what all lanes share, to constants and to inputs; constants, inputs
and signs may differ, since a left leg is the right one's mirror image (superword-level parallelism, Larsen and Amarasinghe, 2000; packs are
found here from the whole graph, not from neighbours in memory). Inputs that look alike from where they are read are the beginning
(:mod:`engine.compiler.codegen.equal_inputs`); from them packs grow towards the results (:meth:`Packs.up`) until parts differ. They go on from results that look
alike down to there (:meth:`Packs.likely`) towards the inputs (:meth:`Packs.down`), where a part that differs costs itself alone.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.compiler.codegen.equal_inputs import LONGEST, SHORTEST, colours, equal_inputs, looks
from engine.compiler.graph.operations import Node, operands

Pack = tuple[int, ...]
#: operations that are an instruction on a vector, and those that are one or a few where truth values are vectors too
ARITHMETIC = {"add", "sub", "mul", "fma", "div", "sqrt"}
PACKED = ARITHMETIC | {"abs", "min", "max", "select", "lt", "le", "eq", "and", "or", "not"}
#: of these, those whose first two operands may change places; of a difference they do so with its sign
SWAPPED = {"add", "sub", "mul", "fma", "min", "max", "eq", "and", "or"}
#: how deep from the results :meth:`Packs.likely` looks
DEPTH = 4


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
    lanes : of a pack
    base, minus : of each node, what it is the negative of, or itself, and which of both
    reads, readers : of each node, its operands and who reads it, signs apart
    fits : of each node, whether it may be part of a pack: truth values that are known make no vector
    sides : of each node, the lanes whose inputs it depends on, a bit each
    form : of each node that depends on none of them, what it looks like, constants apart: as what all lanes share, but for its numbers
    leaf : input that is equal to others, its sine or cosine -> what it is, the same in all lanes, and its lane
    pack : node -> the pack that it is in
    order : node of a pack -> its operands, so that those of all lanes match
    """

    def __init__(self, nodes: list[Node], packed: Container[str] = frozenset(PACKED)) -> None:
        self.nodes, self.lanes = nodes, 0
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
        known = {i for i, node in enumerate(nodes) if node[0] == "const" and isinstance(node[1], bool)}
        self.fits = [node[0] in packed and known.isdisjoint(reads) for node, reads in zip(nodes, self.reads, strict=True)]
        self.leaf: dict[int, tuple[Any, int]] = {}
        self.pack: dict[int, Pack] = {}
        self.order: dict[int, list[int]] = {}

    def begin(self, lanes: int, equal: Iterable[Pack]) -> None:
        """Begin with so many lanes and these inputs, nodes."""
        self.lanes, self.leaf, self.pack, self.order = lanes, {}, {}, {}
        for t in equal:
            self.equate(t)
        self.sides = [0] * len(self.nodes)
        self.form: list[int | None] = [None] * len(self.nodes)
        for i, reads in enumerate(self.reads):
            self.sides[i] = 1 << self.leaf[i][1] if i in self.leaf else 0
            for j in reads:
                self.sides[i] |= self.sides[j]
            if not self.sides[i]:
                self.form[i] = hash(("const", 0) if self.nodes[i][0] == "const" else
                                    alike(self.nodes[i][0], [self.form[j] for j in reads]) if reads and self.fits[i] else i)

    def equate(self, t: Pack) -> None:
        """Take these inputs, nodes, for equal; and so their sines and cosines."""
        for lane, i in enumerate(t):
            self.leaf[i] = ("input", t[0]), lane
            self.leaf |= {j: ((self.nodes[j][0], t[0]), lane) for j in self.readers[i] if self.nodes[j][0] in ("sin", "cos")}

    def found(self, i: int) -> tuple[Any, int]:
        """What a node is, the same in all lanes, and its lane; −1 if it is in none, and perhaps shared by all."""
        if i in self.pack:
            t = self.pack[i]
            return ("pack", t[0]), t.index(i)
        if i in self.leaf:
            return self.leaf[i]
        return ("node", i) if self.form[i] is None else ("form", self.form[i]), -1

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
        def look(i: int) -> tuple[Any, int]:
            if i in self.pack or not self.fits[i]:
                return None, -1
            operands = [self.found(j) for j in self.reads[i]]
            own = {lane for _, lane in operands if lane >= 0}
            lane = own.pop() if len(own) == 1 else -1
            mixed = apart and lane >= 0 and self.sides[i] != 1 << lane
            return alike(self.nodes[i][0], [what for what, _ in operands]), -1 if mixed else lane

        waiting: dict[Any, list[list[int]]] = {}
        todo = sorted({j for i in (*self.leaf, *self.pack) for j in self.readers[i]})   # a heap
        while todo:
            i = heapq.heappop(todo)
            what, lane = look(i)
            if lane < 0:
                continue
            rows = waiting.setdefault(what, [[] for _ in range(self.lanes)])
            if i not in rows[lane]:
                rows[lane].append(i)
            for k, row in enumerate(rows if all(rows) else ()):
                rows[k] = [j for j in row if look(j) == (what, k)]             # others are packed by now, or read what is
            if all(rows):
                t = tuple(row.pop(0) for row in rows)
                own = [tuple(self.base[j] for j in column) for column in self.join(t)]
                self.down([x for x in own if len(set(x)) > 1 and all(self.form[j] is not None for j in x)])
                for j in t:
                    for reader in self.readers[j]:
                        heapq.heappush(todo, reader)

    def likely(self, outputs: Sequence[int]) -> list[Pack]:
        """Results that look alike down to packs and inputs, one of each lane."""

        @functools.cache
        def look(i: int, depth: int) -> tuple[int, frozenset[int]]:
            """What a node looks like, and the lanes of what it reads."""
            what, lane = self.found(i)
            own, op = frozenset({lane} - {-1}), self.nodes[i][0]
            if what[0] != "node" or not self.reads[i]:
                return hash(what), own
            if not depth:
                return hash(kind(op)), own
            below = [look(j, depth - 1) for j in self.reads[i]]
            return hash(alike(op, [h for h, _ in below])), own.union(*(lanes for _, lanes in below))

        groups: dict[int, list[list[int]]] = {}
        for i in dict.fromkeys(self.base[i] for i in outputs):
            if i not in self.pack:
                what, own = look(i, DEPTH)
                if len(own) == 1:
                    groups.setdefault(what, [[] for _ in range(self.lanes)])[min(own)].append(i)
        return [t for rows in groups.values() for t in zip(*rows, strict=False)]

    def down(self, packs: Sequence[Pack]) -> None:
        """Pack these, and what they read, as far as it is the same operation."""
        todo = [(-max(t), t) for t in packs]
        heapq.heapify(todo)
        while todo:
            t = heapq.heappop(todo)[1]
            ops = {kind(self.nodes[i][0]) for i in t}
            twice = len(set(t)) < len(t) and (len(set(t)) == 1 or any(self.form[i] is None for i in t))
            if len(ops) > 1 or twice or any(i in self.pack for i in t):
                continue
            if ops == {"input"}:
                if not any(i in self.leaf for i in t):
                    self.equate(t)
            elif all(self.fits[i] for i in t):
                for column in self.join(t):
                    below = tuple(self.base[i] for i in column)
                    heapq.heappush(todo, (-max(below), below))


def found(nodes: list[Node], outputs: list[int], sizes: Sequence[int], most: int, packed: Container[str]) -> Iterator[Packs]:
    """The packs of a program of arguments of these sizes, of operations that may be packed: of four lanes, then of two, where there may be
    some. Single numbers side by side, as functions that are called and loops get theirs, are looked at as one argument."""
    sizes = [n for one, run in itertools.groupby(sizes, lambda n: n == 1) for n in ([len(list(run))] if one else run)]
    if max(sizes, default=0) < SHORTEST:
        return
    packs = Packs(nodes, packed)
    colour = colours([kind(node[0]) for node in nodes], packs.reads, packs.readers)
    input = np.full(sum(sizes), -1)
    for i, node in enumerate(nodes):
        if node[0] == "input":
            input[node[1]] = i
    arguments = [looks(own, colour) for own in np.split(input, np.cumsum(sizes)[:-1]) if SHORTEST <= len(own) <= LONGEST]
    equal = {lanes: equal_inputs(arguments, lanes) for lanes in (4, 2) if lanes <= most}
    for lanes, inputs in equal.items():
        if inputs and lanes * len(inputs) >= len(equal[2]):
            packs.begin(lanes, inputs)
            packs.up(apart=True)
            packs.down(packs.likely(outputs))
            packs.up()
            if packs.pack:
                yield packs
