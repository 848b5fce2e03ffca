"""Vectorisation within one sample: packs of equal operations become vector nodes of a program, bit for bit as one by one.

Three operations pass between numbers and vectors: ``pack`` of numbers, ``lane k`` of a vector, and ``consts``, a vector of constants. Signs
that differ between lanes go into constants where there are any; a sum in one lane and a difference in another are ``fma`` with ±1, which
rounds once, as they do.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.compiler.codegen.packs import PACKED, Pack, Packs, found, kind
from engine.compiler.graph.operations import Node, operands, renumbered
from engine.compiler.graph.program import live

#: nodes of a program that is looked through: longer ones (derivatives of humanoids) tangle, and looking is a fifth of making them
LONGEST = 45_000
#: packs must save this part of all operations: else the program stays as it is
WORTH = 1 / 8
#: nodes that take no instruction
FREE = {"input", "const", "consts", "neg", "get"}
#: packs that may need each other before all are given up
TANGLES = 32


@dataclass
class Laned:
    """A program with packs: nodes, of which some are vectors, and outputs.

    Attributes
    ----------
    wide : node that is a vector -> its lanes
    together : inputs whose sines and cosines should stand side by side, nodes
    """

    nodes: list[Node]
    outputs: list[int]
    wide: dict[int, int] = field(default_factory=dict)
    together: list[Pack] = field(default_factory=list)


def laned(nodes: list[Node], outputs: list[int], sizes: Sequence[int], most: int, packed: Container[str] = frozenset(PACKED)) -> Laned:
    """Return the program with packs in vectors of up to ``most`` lanes, of operations that may be packed, if that takes fewer instructions;
    arguments have these sizes."""
    enough = count(nodes) * WORTH
    for packs in found(nodes, outputs, sizes, most, packed) if most > 1 and len(nodes) <= LONGEST else ():
        if len(packs.pack) * (1 - 1 / packs.lanes) <= enough:                  # all that packs may save
            continue
        writer = Writer(packs, ordered(packs))
        made, results = live(writer.nodes, [writer.number(i) for i in outputs])
        if count(made) < count(nodes) - enough:
            return Laned(made, results, vectors(made, packs.lanes), angles_together(made))
    return Laned(nodes, outputs)


def count(nodes: list[Node]) -> int:
    """Return the number of instructions, nearly: extracting a vector's first lane is free."""
    return len([node for node in nodes if node[0] not in FREE and (node[0] != "lane" or node[1])])


def ordered(packs: Packs) -> list[int | Pack]:
    """Return packs and other nodes, operands first. Packs that need each other are taken apart."""
    for _ in range(TANGLES):
        order, tangled = in_order(packs)
        if not tangled:
            return order
        for i in tangled:
            del packs.pack[i]
    packs.pack.clear()
    return in_order(packs)[0]


def in_order(packs: Packs) -> tuple[list[int | Pack], Pack]:
    """Return packs and other nodes, operands first, and a pack that needs itself, if there is one."""
    nodes, of = packs.nodes, packs.pack
    order: list[int | Pack] = []
    state: dict[int | Pack, int] = {}                                          # 1: begun, 2: made
    for i, node in enumerate(nodes):
        todo: list[tuple[int | Pack, bool]] = [] if node[0] == "neg" else [(of.get(i, i), False)]
        while todo:
            x, ready = todo.pop()
            if ready:
                state[x] = 2
                order.append(x)
            elif x not in state:
                state[x] = 1
                todo.append((x, True))
                below = [of.get(j, j) for k in (x if isinstance(x, tuple) else (x,)) for j in packs.reads[k]]
                if any(state.get(y) == 1 for y in below):
                    begun = [y for y, ready in todo if ready and isinstance(y, tuple)]
                    return [], begun[-1]
                todo += [(y, False) for y in reversed(below) if y not in state]
    return order, ()


class Writer:
    """Builds the nodes of a program with packs."""

    def __init__(self, packs: Packs, order: list[int | Pack]) -> None:
        self.packs, self.lanes = packs, packs.lanes
        self.nodes: list[Node] = []
        self.known: dict[Any, int] = {}
        self.made: dict[int | Pack, int] = {}
        for x in order:
            if isinstance(x, tuple):
                self.made[x] = self.packed(x)
            else:
                new = {j: self.number(j) for j in operands(packs.nodes[x])}
                self.made[x] = self.put(*renumbered(packs.nodes[x], new))

    def put(self, *node: Any) -> int:
        """Return a node's number, adding it if it is new; constants are told apart by their signs too."""
        key = repr(node) if node[0] in ("const", "consts") else node
        if key not in self.known:
            self.known[key] = len(self.nodes)
            self.nodes.append(node)
        return self.known[key]

    def number(self, i: int) -> int:
        """Return a node as a scalar."""
        j, t = self.packs.base[i], self.packs.pack.get(self.packs.base[i])
        x = self.put("lane", t.index(j), self.made[t]) if t else self.made[j]
        return self.put("neg", x) if self.packs.minus[i] else x

    def column(self, column: Pack) -> tuple[Any, list[bool]]:
        """Return one operand of a pack in all lanes, as a vector or a list of constants, and the lanes whose sign is to change."""
        base, minus = tuple(self.packs.base[i] for i in column), [self.packs.minus[i] for i in column]
        nodes = [self.packs.nodes[i] for i in base]
        if all(node[0] == "const" for node in nodes):
            return [node[1] for node in nodes], minus
        if self.packs.pack.get(base[0]) == base:
            return self.made[base], minus
        if len(set(minus)) == 1 or len(set(base)) == 1:
            return self.put("pack", *map(self.number, base)), minus
        return self.put("pack", *map(self.number, column)), [False] * self.lanes

    def signed(self, x: Any, minus: list[bool]) -> int:
        """Return an operand's vector with its lanes' signs applied."""
        if isinstance(x, list):
            return self.put("consts", *(-c if m else c for c, m in zip(x, minus, strict=True)))
        if len(set(minus)) == 1:
            return self.put("neg", x) if minus[0] else x
        return self.put("mul", x, self.signed([1.0] * self.lanes, minus))

    def packed(self, t: Pack) -> int:
        """Return a pack as a vector node."""
        op = kind(self.packs.nodes[t[0]][0])
        columns = [self.column(c) for c in self.packs.columns(t)]
        if op == "add":
            return self.sum(t, *columns)
        if op not in ("mul", "fma"):
            return self.put(op, *(self.signed(*c) for c in columns))
        (x, mx), (y, my), *rest = columns
        if isinstance(x, list):
            x, mx, y, my = y, my, x, mx
        minus = [a != b for a, b in zip(mx, my, strict=True)]
        factors = (x, self.signed(y, minus)) if isinstance(y, list) else (self.signed(x, minus), y)
        return self.put(op, *factors, *(self.signed(*c) for c in rest))

    def sum(self, t: Pack, first: tuple[Any, list[bool]], second: tuple[Any, list[bool]]) -> int:
        """Return a pack of sums and differences as a vector node."""
        (x, mx), (y, my) = ((c, list(minus)) for c, minus in (first, second))
        for lane, i in enumerate(t):
            if self.packs.nodes[i][0] == "sub":                                # whose operands may have changed places
                taken = my if self.packs.order[i] == list(operands(self.packs.nodes[i])) else mx
                taken[lane] = not taken[lane]
        if isinstance(x, list) or (len(set(mx)) > 1 and not isinstance(y, list)):
            x, mx, y, my = y, my, x, mx
        x = self.signed(x, mx) if len(set(mx)) > 1 else x
        minus = mx[0] and len(set(mx)) == 1                                    # of x, which is as it was
        if isinstance(y, list) or len(set(my)) == 1:
            subtracted = not isinstance(y, list) and my[0]
            y = self.signed(y, my) if isinstance(y, list) else y
            if minus:
                return self.put("sub", self.put("neg", y) if subtracted else y, x)
            return self.put("sub" if subtracted else "add", x, y)
        ones = self.signed([1.0] * self.lanes, my)
        return self.put("fma", y, ones, self.put("neg", x) if minus else x)


def vectors(nodes: Sequence[Node], lanes: int) -> dict[int, int]:
    """Return the nodes that are vectors, and their lanes."""
    wide: dict[int, int] = {}
    for i, node in enumerate(nodes):
        if node[0] in ("pack", "consts") or (node[0] in PACKED | {"neg"} and node[1] in wide):
            wide[i] = lanes
    return wide


def angles_together(nodes: Sequence[Node]) -> list[Pack]:
    """Return the inputs whose sines, or cosines, are packed."""
    found = []
    for node in nodes:
        of = [nodes[i] for i in node[1:]] if node[0] == "pack" else []
        if of and {x[0] for x in of} in ({"sin"}, {"cos"}) and all(nodes[x[1]][0] == "input" for x in of) and len(set(node[1:])) > 1:
            found.append(tuple(x[1] for x in of))
    return found
