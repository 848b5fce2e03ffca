"""Profiling transform: parts that ``ops.part`` names, which are otherwise inlined, become functions that can be timed.

Parts are what ``engine.ops.part`` has named while the program was traced. What they compute is the same; where one's value is another's
too, it is computed once, by whoever came first.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from typing import Any

from engine.compiler.graph.notes import notes_of
from engine.compiler.graph.operations import CALLS, Node, operands, renumbered
from engine.compiler.graph.program import Program, once, table_shape, truth_values


class Part(Program):
    """A named part of a program: parts that compute the same are still two."""

    @once
    def key(self) -> str:
        """SHA-256 of what it computes, and of its name."""
        own: str = Program.key.make(self)  # type: ignore[attr-defined]
        return hashlib.sha256(f"{self.name}|{own}".encode()).hexdigest()


def in_parts(program: Program, around: str = "") -> Program:
    """Return a program that computes the same, with a function for each part that was named but for the one ``around`` it."""
    made = Cut(program)
    for part, group in grouped(program.nodes, [note.part for note in notes_of(program.nodes)]):
        if part not in ("", around):
            made.call(part, group)
        else:
            made.keep(group)
    outputs = [made.new[i] for i in program.outputs]
    found = Program(made.nodes, outputs, program.shapes_in, program.shapes_out, made.functions, program.name)
    found.names, found.arguments, found.seconds = program.names, program.arguments, program.seconds
    return found


def body_in_parts(graph: Any, body: Program) -> Program:
    """Return the body of a loop, or of a function that is called, with functions for its parts where its graph is traced for a profile."""
    return in_parts(body, graph.nodes.part) if graph.parts else body


def grouped(nodes: list[Node], parts: list[str]) -> Iterator[tuple[str, list[int]]]:
    """Reorder nodes, which compute the same, so that as many of a part as can be are side by side: each part, again and again, and its
    nodes in order. Results of a call go with it; inputs and constants come first, and belong to no part."""
    parts = [*parts]
    for i, node in enumerate(nodes):
        if node[0] in ("input", "const"):
            parts[i] = ""
        elif node[0] == "get":
            parts[i] = parts[node[1]]
    readers: list[list[int]] = [[] for _ in nodes]
    missing = [len(set(operands(node))) for node in nodes]
    for i, node in enumerate(nodes):
        for j in {*operands(node)}:
            readers[j].append(i)
    ready: dict[str, list[int]] = {}
    for i in (i for i, n in enumerate(missing) if not n):
        heapq.heappush(ready.setdefault(parts[i], []), i)
    part = ""
    while ready:
        part = part if part in ready else min(ready, key=lambda p: ready[p][0])
        group: list[int] = []
        while ready.get(part):
            group.append(i := heapq.heappop(ready[part]))
            for j in readers[i]:
                missing[j] -= 1
                if not missing[j]:
                    heapq.heappush(ready.setdefault(parts[j], []), j)
        del ready[part]
        yield part, group


class Cut:
    """Builds a program in which some groups of nodes are calls."""

    def __init__(self, program: Program) -> None:
        self.program, self.truths = program, truth_values(program.nodes)
        self.nodes: list[Node] = []
        self.memo: dict[Node, int] = {}
        self.functions: list[Program] = []
        self.new: dict[int, int] = {}  # node of the program -> node here
        self.columns: list[int] = []  # of each node the columns of the table that it is a handle of; 0 of a number
        for node in program.nodes:
            self.columns.append(handled(program, node, self.columns))
        self.readers: dict[int, set[int]] = {}
        for i, node in enumerate(program.nodes):
            for j in operands(node):
                self.readers.setdefault(j, set()).add(i)

    def node(self, *node: object) -> int:
        """Add a node, unless it is there; return its number."""
        if node not in self.memo:
            self.memo[node] = len(self.nodes)
            self.nodes.append(node)
        return self.memo[node]

    def keep(self, group: list[int]) -> None:
        """Copy nodes."""
        for i in group:
            self.new[i] = self.node(*renumbered(placed(self.program.nodes[i], self.program, self.functions), self.new))

    def call(self, name: str, group: list[int]) -> None:
        """Replace nodes by a call of a function of their own."""
        inside, nodes, new = {*group}, list[Node](), dict[int, int]()
        functions, captured = list[Program](), list[int]()

        def put(*node: object) -> int:
            nodes.append(node)
            return len(nodes) - 1

        for j in dict.fromkeys(j for i in group for j in operands(self.program.nodes[i]) if j not in inside):
            if self.program.nodes[j][0] == "const":
                new[j] = put(*self.program.nodes[j])
                continue
            new[j] = put("input", len(captured))
            captured.append(j)
            if j in self.truths:
                new[j] = put("not", put("eq", new[j], put("const", 0.0, "0.0")))
        for i in group:
            new[i] = put(*renumbered(placed(self.program.nodes[i], self.program, functions), new))
        wanted = {*self.program.outputs}
        results = [i for i in group if self.program.nodes[i][0] not in CALLS and (i in wanted or self.readers.get(i, set()) - inside)]
        outputs = [put("select", new[i], put("const", 1.0), put("const", 0.0, "0.0")) if i in self.truths else new[i] for i in results]
        shapes_in, shapes_out = ([table_shape(self.columns[i]) for i in which] for which in (captured, results))
        part = Part(nodes, outputs, shapes_in, shapes_out, functions, name)
        given = [self.number(j) for j in captured]
        if part not in self.functions:
            self.functions.append(part)
        c = self.node("call", self.functions.index(part), *given)
        for k, i in enumerate(results):
            self.new[i] = self.node("get", c, k)
            if i in self.truths:
                self.new[i] = self.node("not", self.node("eq", self.new[i], self.node("const", 0.0, "0.0")))

    def number(self, j: int) -> int:
        """A node of the program as a number here."""
        if j not in self.truths:
            return self.new[j]
        return self.node("select", self.new[j], self.node("const", 1.0), self.node("const", 0.0, "0.0"))


def handled(program: Program, node: Node, columns: list[int]) -> int:
    """Return the columns of the table that a node is a handle of, given those of the nodes before; 0 for a number."""
    if node[0] == "input":
        return program.given[node[1]]
    if node[0] == "get":
        return program.functions[program.nodes[node[1]][1]].made[node[2]]
    return columns[node[2]] if node[0] == "select" else 0


def placed(node: Node, program: Program, functions: list[Program]) -> Node:
    """A node whose call, if it is one, names its function among others, where it is put if it is missing."""
    if node[0] not in CALLS:
        return node
    f = program.functions[node[1]]
    if f not in functions:
        functions.append(f)
    return (node[0], functions.index(f), *node[2:])
