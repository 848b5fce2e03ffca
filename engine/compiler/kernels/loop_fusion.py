"""Loop fusion: successive loops over rows become one, so that tables between them are not written to memory.

A loop goes into the one behind it if nothing else reads what it makes: its function becomes part of the other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.notes import carried
from engine.compiler.graph.operations import CALLS, Node, operands, renumbered
from engine.compiler.graph.program import Program, Shape, live
from engine.compiler.graph.rewrite import RULES, inlined
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.kernels.row_sources_sinks import Source


def fused_loops(nodes: list[Node], outputs: list[int], functions: list[Any]) -> tuple[list[Node], list[int], list[Any]]:
    """Return nodes, outputs and functions with loops fused; unneeded nodes are removed where there are some."""
    if not any(isinstance(f, RowLoop) for f in functions):
        return nodes, outputs, functions
    before = producers(nodes, outputs, functions)
    functions = [*functions]
    made: list[Node] = []
    new: list[int] = []
    for i, node in enumerate(nodes):
        node = renumbered(node, new)
        if i in before:
            loop, given = composed(made, functions, node, {new[a] for a in before[i]})
            if loop not in functions:
                functions.append(loop)
            node = ("call", functions.index(loop), *given)
        new.append(len(made))
        made.append(node)
    kept, wanted = live(carried(nodes, made, enumerate(new)), [new[i] for i in outputs])
    called = sorted({node[1] for node in kept if node[0] in CALLS})
    kept = carried(kept, [(n[0], called.index(n[1]), *n[2:]) if n[0] in CALLS else n for n in kept], enumerate(range(len(kept))))
    return kept, wanted, [functions[k] for k in called]


def producers(nodes: list[Node], outputs: list[int], functions: list[Any]) -> dict[int, set[int]]:
    """Return, for each loop, the loops to fuse into it: those whose tables it alone reads, and all of them row by row."""
    loops = {i: functions[node[1]] for i, node in enumerate(nodes) if node[0] == "call" and isinstance(functions[node[1]], RowLoop)}
    readers: dict[int, list[int]] = {a: [] for a in loops}                     # loop -> who reads its results, each time
    for i, node in enumerate(nodes):
        for j in operands(node) if node[0] != "get" else ():
            if nodes[j][0] == "get" and nodes[j][1] in loops:
                readers[nodes[j][1]].append(i)
    for j in outputs:
        if nodes[j][0] == "get" and nodes[j][1] in loops:
            readers[nodes[j][1]].append(-1)
    found: dict[int, set[int]] = {}
    for c, loop in loops.items():
        rows = [nodes[h][1] for h in direct(loop, nodes[c][2:]) if nodes[h][0] == "get" and nodes[h][1] in loops]
        alone = {a for a in rows if readers[a] == [c] * rows.count(a) and all(s.how == "rows" for s in loops[a].sinks)}
        found |= {c: alone} if alone else {}
    return found


def direct(loop: RowLoop, given: Sequence[int]) -> list[int]:
    """Return the arguments of a loop that are tables which it reads row by row."""
    return [x for s, x in zip(loop.sources, given, strict=False) if s.how == "rows"]


class Part(NamedTuple):
    """A loop and its arguments: for each of its sources, from outside, and tables that it adds to."""

    loop: RowLoop
    read: list[tuple[int, ...]]
    outside: Sequence[int]
    targets: Sequence[int]


def part(loop: RowLoop, given: Sequence[int]) -> Part:
    """Return a loop with its arguments."""
    index = given[len(loop.sources) : loop.first]
    read: list[tuple[int, ...]] = [(x, index[s.index]) if s.how == "through" else (x,) for s, x in zip(loop.sources, given, strict=False)]
    return Part(loop, read, given[loop.first : loop.first + loop.outside], given[loop.first + loop.outside :])


def composed(nodes: list[Node], functions: list[Any], call: Node, first: set[int]) -> tuple[RowLoop, list[int]]:
    """Return the loop of a call fused with those of the calls ``first``, whose rows it reads, and its arguments."""
    second = part(functions[call[1]], call[2:])
    parts = {a: part(functions[nodes[a][1]], nodes[a][2:]) for a in sorted(first)}
    sources: dict[tuple[str, tuple[int, ...]], Source] = {}                    # how what is read -> one that does
    outside: dict[int, Shape] = {}                                             # node -> its shape
    for p in (*parts.values(), second):
        for s, read in zip(p.loop.sources, p.read, strict=True):
            if p is not second or s.how != "rows" or nodes[read[0]][1] not in first or nodes[read[0]][0] != "get":
                sources[s.how, read] = s
        outside |= dict(zip(p.outside, p.loop.f.shapes_in[p.loop.place :], strict=True))
    places, n = {}, 0
    for key, s in sources.items():
        places[key], n = n, n + s.columns
    graph = Graph(RULES)
    x = [graph.input(k) for k in range(n + len(outside))]
    number = dict(zip(outside, x[n:], strict=True))
    results: dict[int, list[Any]] = {}                                         # first loop -> rows of its tables

    def values(p: Part) -> list[Any]:
        given: list[Any] = [None] * p.loop.f.n_in
        for s, read in zip(p.loop.sources, p.read, strict=True):
            if (s.how, read) in places:
                own: list[Expr] = x[places[s.how, read] : places[s.how, read] + s.columns]
            else:
                own = results[nodes[read[0]][1]][nodes[read[0]][2]]
            given[s.place : s.place + s.columns] = own
        given[p.loop.place :] = [number[i] for i in p.outside]
        return inlined(p.loop.f, graph, given)

    for a, p in parts.items():
        made = iter(values(p))
        results[a] = [[next(made) for _ in range(s.columns)] for s in p.loop.sinks]
    y = [graph.index(v) for v in values(second)]
    kept, wanted = live(graph.nodes, y)
    f = Program(kept, wanted, [*[()] * n, *outside.values()], [()] * len(y), graph.functions, second.loop.f.name)
    index = list(dict.fromkeys(i for _, (_, *through) in sources for i in through))
    own = [replace(s, place=places[how, read], index=index.index(read[1]) if how == "through" else -1)
           for (how, read), s in sources.items()]  # fmt: skip
    loop = RowLoop(f, own, len(outside), second.loop.sinks)
    loop.where = next((p.loop.where for p in (second, *parts.values()) if "through" in {s.how for s in p.loop.sources}), second.loop.where)
    return loop, [*(read[0] for _, read in sources), *index, *outside, *second.targets]
