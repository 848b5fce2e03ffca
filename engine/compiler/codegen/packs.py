"""Search for packs: nodes in equal parts of a program, such as a robot's legs, that can be one vector operation.

A pack is a tuple of nodes, a lane each, that do the same to packs, to what all lanes share, to constants and to inputs; constants, inputs
and signs may differ, since a left leg is the right one's mirror image (superword-level parallelism, Larsen and Amarasinghe, 2000; packs are
found here from the whole graph, not from neighbours in memory). Inputs that look alike from where they are read are the beginning
(:mod:`engine.compiler.codegen.equal_inputs`); from them packs grow towards the results (:meth:`Packs.up`) until parts differ. They go on
from results that look alike down to there (:meth:`Packs.likely`) towards the inputs (:meth:`Packs.down`), where a part that differs costs
itself alone.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import operator
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


class Packs:
    """Search state: a program's nodes, and the packs found.

    Attributes
    ----------
    lanes : of a pack
    kind : of each node, its operation, signs apart
    base, minus : of each node, what it is the negative of, or itself, and which of both
    reads, readers : of each node, its operands and who reads it, signs apart
    fits : of each node, whether it may be part of a pack: truth values that are known make no vector
    what, lane : of each node, a number that is the same for what is equal in all lanes, and its lane; −1 if it is in none, where what looks
        the same but for its constants is equal
    sides : of each node, the lanes whose inputs it depends on, a bit each
    leaves : inputs that are equal to others, their sines and cosines
    pack : node -> the pack that it is in
    order : node of a pack -> its operands, so that those of all lanes match
    """

    def __init__(self, nodes: list[Node], packed: Container[str] = frozenset(PACKED)) -> None:
        self.nodes, self.lanes, n = nodes, 0, len(nodes)
        self.kind = [kind(node[0]) for node in nodes]
        self.base, self.minus = list(range(n)), [False] * n
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

    def begin(self, lanes: int, equal: Iterable[Pack]) -> None:
        """Begin a search with so many lanes and these inputs, nodes."""
        n = len(self.nodes)
        self.lanes, self.what, self.lane, self.sides = lanes, list(range(n)), [-1] * n, [0] * n
        self.leaves, self.pack, self.order = set[int](), dict[int, Pack](), dict[int, list[int]]()
        self.names: dict[Any, int] = {}
        for t in equal:
            self.equate(t)
        for i, reads in enumerate(self.reads):
            side = 1 << self.lane[i] if i in self.leaves else 0
            for j in reads:
                side |= self.sides[j]
            self.sides[i] = side
            if self.kind[i] == "const":
                self.what[i] = self.named("const")
            elif not side and reads and self.fits[i]:
                self.what[i] = self.named(self.look(i))

    def named(self, what: Any) -> int:
        """Return the value number of something that is equal in all lanes, which is no node's."""
        return self.names.setdefault(what, len(self.nodes) + len(self.names))

    def alike(self, i: int, columns: list[int]) -> tuple[Any, ...]:
        """Return the key by which equal nodes are found (value numbering): the node's kind and its operands' value numbers, sorted where it
        commutes."""
        if self.nodes[i][0] in SWAPPED and columns[0] > columns[1]:
            columns[0], columns[1] = columns[1], columns[0]
        return (self.kind[i], *columns)

    def look(self, i: int) -> tuple[Any, ...]:
        """Return a node's value number, by those of its operands."""
        return self.alike(i, [self.what[j] for j in self.reads[i]])

    def equate(self, t: Pack) -> None:
        """Give these inputs, nodes, the same value number; and so their sines and cosines."""
        for lane, i in enumerate(t):
            for j in (i, *(j for j in self.readers[i] if self.kind[j] in ("sin", "cos"))):
                self.what[j], self.lane[j] = self.named((self.kind[j], t[0])), lane
                self.leaves.add(j)

    def join(self, t: Pack) -> list[Pack]:
        """Make a pack; return the columns of its operands."""
        rows = [list(operands(self.nodes[i])) for i in t]
        if self.nodes[t[0]][0] in SWAPPED:
            a, b = rows[0][:2]
            for row in rows[1:]:
                c, d = row[:2]
                if self.match(a, c) + self.match(b, d) < self.match(a, d) + self.match(b, c):
                    row[:2] = d, c
        what = self.named(("pack", t[0]))
        for lane, (i, row) in enumerate(zip(t, rows, strict=True)):
            self.pack[i], self.order[i], self.what[i], self.lane[i] = t, row, what, lane
        return self.columns(t)

    def columns(self, t: Pack) -> list[Pack]:
        """Return a pack's operands, each those of all lanes together."""
        return list(zip(*(self.order[i] for i in t), strict=True))

    def match(self, i: int, j: int) -> int:
        """Score how well two operands match as lanes of one pack, higher for better."""
        i, j = self.base[i], self.base[j]
        if i == j or (self.what[i] == self.what[j] and i in self.pack):
            return 8
        return 1 - 3 * ((i in self.pack) + (j in self.pack)) if self.kind[i] == self.kind[j] else -2

    def up(self, apart: bool = False) -> None:
        """Pack nodes with the same operation on packs and inputs, from these on towards the results; if ``apart``, only nodes that depend
        on one lane's inputs alone."""
        def lane_of(i: int) -> int:
            """The lane of a node that may be packed, −1 if it may not."""
            if i in self.pack or not self.fits[i]:
                return -1
            lane = -1
            for j in self.reads[i]:
                if (own := self.lane[j]) != lane and own >= 0:
                    if lane >= 0:
                        return -1
                    lane = own
            return -1 if apart and lane >= 0 and self.sides[i] != 1 << lane else lane

        waiting: dict[Any, list[list[int]]] = {}
        todo = sorted({j for i in (*self.leaves, *self.pack) for j in self.readers[i]})        # a heap
        there = set(todo)
        while todo:
            there.remove(i := heapq.heappop(todo))
            if (lane := lane_of(i)) < 0:
                continue
            what = self.look(i)
            rows = waiting.setdefault(what, [[] for _ in range(self.lanes)])
            if i not in rows[lane]:
                rows[lane].append(i)
            while all(rows):
                for k, row in enumerate(rows):                                 # others are packed by now, or read what is
                    rows[k] = [j for j in row if lane_of(j) == k and self.look(j) == what]
                if not all(rows):
                    break
                t = tuple(row.pop(0) for row in rows)
                own = [tuple(self.base[j] for j in column) for column in self.join(t)]
                self.down([x for x in own if len(set(x)) > 1 and not any(self.sides[j] for j in x)])
                new = {reader for j in t for reader in self.readers[j]} - there
                there |= new
                for reader in new:
                    heapq.heappush(todo, reader)

    def likely(self, outputs: Sequence[int]) -> list[Pack]:
        """Return results of equal expressions down to packs and inputs, one of each lane."""

        @functools.cache
        def look(i: int, depth: int) -> tuple[int, int]:
            """Return a number for a node's expression to a depth, and the lanes that it reads, as bits."""
            lane = self.lane[i]
            if lane >= 0 or self.what[i] != i or not self.reads[i]:
                return self.what[i], 1 << lane if lane >= 0 else 0
            if not depth:
                return self.named(self.kind[i]), 0
            below = [look(j, depth - 1) for j in self.reads[i]]
            return self.named(self.alike(i, [h for h, _ in below])), functools.reduce(operator.or_, (lanes for _, lanes in below))

        groups: dict[int, list[list[int]]] = {}
        for i in dict.fromkeys(self.base[i] for i in outputs):
            if i not in self.pack:
                what, own = look(i, DEPTH)
                if own.bit_count() == 1:
                    groups.setdefault(what, [[] for _ in range(self.lanes)])[own.bit_length() - 1].append(i)
        return [t for rows in groups.values() for t in zip(*rows, strict=False)]

    def down(self, packs: Sequence[Pack]) -> None:
        """Pack these nodes, and their operands, as far as the operations are the same."""
        todo = [(-max(t), t) for t in packs]
        heapq.heapify(todo)
        while todo:
            t = heapq.heappop(todo)[1]
            ops = {self.kind[i] for i in t}
            twice = len(set(t)) < len(t) and (len(set(t)) == 1 or any(self.sides[i] for i in t))
            if len(ops) > 1 or twice or any(i in self.pack for i in t):
                continue
            if ops == {"input"}:
                if self.leaves.isdisjoint(t):
                    self.equate(t)
            elif all(self.fits[i] for i in t):
                for column in self.join(t):
                    below = tuple(self.base[i] for i in column)
                    heapq.heappush(todo, (-max(below), below))


def found(nodes: list[Node], outputs: list[int], sizes: Sequence[int], most: int, packed: Container[str]) -> Iterator[Packs]:
    """Yield the packs of a program, arguments of these sizes, of operations that may be packed: of four lanes, then of two, where there may
    be some. Scalar arguments side by side, as called functions and loops have them, count as one."""
    sizes = [n for one, run in itertools.groupby(sizes, lambda n: n == 1) for n in ([len(list(run))] if one else run)]
    if not nodes or max(sizes, default=0) < SHORTEST:
        return
    packs = Packs(nodes, packed)
    colour = colours(packs.kind, packs.reads, packs.readers)
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
