"""Scheduling between tracing and LLVM IR: fuse multiply-adds, cut a long program into segments, plan registers."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from engine.compiler.graph.operations import CALLS, Node, operands, renumbered
from engine.compiler.graph.program import Program, live


def fused(program: Program) -> tuple[list[Node], list[int]]:
    """Nodes and outputs with ``x·y + z`` and ``z − x·y`` turned into ``fma``, wherever that adds no operation.

    A product is fused into the sums that read it if nothing else does, so that it disappears; of two, the one that is read less, then the
    later, in sums as in differences, so that what is the same but for signs stays the same. The choice is made here, in the graph, and not
    by the code generator: a sample's result is then the same bits in every lane of every loop.

    >>> from engine.compiler.transforms.trace import trace
    >>> [n[0] for n in fused(trace(lambda x, y: x @ y, [(2,), (2,)]))[0] if n[0] != "input"]
    ['mul', 'fma']
    """
    nodes, outputs = rootless(program.nodes, program.outputs)
    uses, sums = [0] * len(nodes), [0] * len(nodes)
    for i in outputs:
        uses[i] += 1
    for node in nodes:
        summed = node[0] in ("add", "sub") and node[1] != node[2]
        for i in operands(node):
            uses[i] += 1
            sums[i] += summed
    absorbed = {i for i, node in enumerate(nodes) if node[0] == "mul" and uses[i] == sums[i]}
    result: list[Node] = []
    new = [0] * len(nodes)

    def put(*node: Any) -> int:
        result.append(node)
        return len(result) - 1

    def product(i: int) -> tuple[int, int]:
        return new[nodes[i][1]], new[nodes[i][2]]

    for i, node in enumerate(nodes):
        op = node[0]
        if op in ("add", "sub") and node[1] != node[2]:
            a, b = node[1], node[2]
            if b in absorbed and not (a in absorbed and (uses[a], -a) < (uses[b], -b)):
                x, y = product(b)
                new[i] = put("fma", put("neg", x) if op == "sub" else x, y, new[a])
                continue
            if a in absorbed:
                x, y = product(a)
                new[i] = put("fma", x, y, put("neg", new[b]) if op == "sub" else new[b])
                continue
        new[i] = len(result)
        result.append(renumbered(node, new))
    return live(result, [new[i] for i in outputs])


def taken(nodes: list[Node], outputs: list[int]) -> tuple[list[Node], list[int]]:
    """Return a branch's body as it is where one sample alone takes it: its flag, the last result, is known, and selects between what it
    returns when done and when not are gone.

    >>> taken([("input", 0), ("input", 1), ("const", 0.0, "0.0"), ("eq", 1, 2), ("not", 3), ("neg", 0), ("select", 4, 0, 5)], [6, 6])
    ([('input', 0), ('neg', 0)], [1, 1])
    """
    done, known, new = ("input", len(outputs) - 1), dict[int, bool](), [*range(len(nodes))]
    for i, (op, *args) in enumerate(nodes):
        if op == "eq" and any(nodes[j] == done for j in args) and any(nodes[j][:2] == ("const", 0.0) for j in args):
            known[i] = True
        elif op == "not" and args[0] in known:
            known[i] = not known[args[0]]
        elif op == "select" and args[0] in known:
            new[i] = new[args[1 if known[args[0]] else 2]]
    return live([renumbered(node, new) for node in nodes], [new[i] for i in outputs])


def blendable(program: Program) -> bool:
    """Return whether a branch can be blended: its results selected, lane by lane, between what was computed and what was given. Its body
    must use the flag that says it is done in nothing but that select; a body that uses it elsewhere, as where rows are not there, masks its
    own effects."""
    nodes, outputs = program.nodes, program.outputs
    done, going, ended = {i for i, node in enumerate(nodes) if node == ("input", len(outputs) - 1)}, set[int](), set[int]()
    for i, node in enumerate(nodes):
        if node[0] == "eq" and not done.isdisjoint(node[1:]) and any(nodes[j][:2] == ("const", 0.0) for j in node[1:]):
            going.add(i)
        elif node[0] == "not" and node[1] in going:
            ended.add(i)
        elif node[0] == "select" and node[1] in ended and i in outputs:
            if any(nodes[node[2]] != ("input", k) for k, j in enumerate(outputs) if j == i) or (done | going | ended) & {*node[2:]}:
                return False
        elif not (done | going | ended).isdisjoint(operands(node)):
            return False
    return (done | going | ended).isdisjoint(outputs[:-1])


def rootless(nodes: list[Node], outputs: list[int]) -> tuple[list[Node], list[int]]:
    """Return nodes and outputs without roots, and without nodes that only their derivatives need."""
    if not any(node[0] == "root" for node in nodes):
        return nodes, outputs
    new = list(range(len(nodes)))
    for i, node in enumerate(nodes):
        if node[0] == "get" and nodes[node[1]][0] == "root":
            new[i] = new[operands(nodes[node[1]])[node[2]]]
    return live([renumbered(node, new) for node in nodes], [new[i] for i in outputs])


def segments(nodes: list[Node], limit: int) -> list[range]:
    """Return consecutive ranges of at most ``limit`` nodes each, about equally long between calls, each of which ends one."""
    ends = [i + 1 for i, node in enumerate(nodes) if node[0] == "call"]
    parts = []
    for start, end in itertools.pairwise([0, *ends, len(nodes)]):
        count = max(1, -(-(end - start) // limit))
        size = -(-(end - start) // count)
        parts += [range(k, min(k + size, end)) for k in range(start, end, max(size, 1))]
    return parts


#: below this many, sines and cosines are faster where they are used (measured: 9 joints 5–15 % slower together, 29 joints 15 % faster)
MANY_ANGLES = 16


def returned(nodes: list[Node], functions: Sequence[Program], size: int = 0) -> tuple[dict[int, int], int]:
    """Assign places in work, from ``size`` on, to the results of calls: return node -> place, of calls and of nodes that take one result,
    and the end."""
    place: dict[int, int] = {}
    for i, node in enumerate(nodes):
        if node[0] in CALLS:
            place[i], size = size, size + len(functions[node[1]].outputs)
        elif node[0] == "get":
            place[i] = place[node[1]] + node[2]
    return place, size


#: what stands side by side and is passed on together: fewer are not worth a call
TOGETHER = 4
#: in what memory a number stands, and where; of a constant which, and None
Stand = tuple[str, int | None]


def runs(places: Sequence[Stand | None]) -> Iterator[tuple[int, int, Stand | None]]:
    """Yield what is passed on together, as it follows one another in memory or is the same: the first's number, how many they are, and
    where the first stands; None of those that go one by one, since they stand nowhere (None in ``places``) or are too few.

    >>> list(runs([*[("work", k) for k in (7, 8, 9, 10)], ("in", 9), None, *[("0.0", None)] * 4]))
    [(0, 4, ('work', 7)), (4, 1, None), (5, 1, None), (6, 4, ('0.0', None))]
    """
    k = 0
    while k < len(places):
        n, first = 1, places[k]
        while first and k + n < len(places) and places[k + n] == (first[0], None if first[1] is None else first[1] + n):
            n += 1
        yield k, n, first if n >= TOGETHER else None
        k += n


def angles(nodes: list[Node], together: Iterable[Iterable[int]] = ()) -> dict[int, int]:
    """Return the inputs whose sine or cosine is wanted, numbered, those that go together side by side; none if they are too few to be worth
    computing in memory."""
    turned: dict[int, int] = {}
    for i in itertools.chain(*together):
        turned.setdefault(i, len(turned))
    for op, *args in nodes:
        if op in ("sin", "cos") and nodes[args[0]][0] == "input":
            turned.setdefault(args[0], len(turned))
    return turned if together or len(turned) >= MANY_ANGLES else {}


#: what stands in memory from the beginning
STANDING = ("const", "consts", "input")


def register_plan(nodes: list[Node], outputs: list[int], parts: list[range], placed: Container[int], registers: int,
              wide: Mapping[int, int] = MappingProxyType({})
              ) -> tuple[dict[int, int], int, dict[int, list[int]]]:  # fmt: skip
    """Plan the registers: return which values stand in memory (node -> slot), how many slots there are, and what leaves before each node.

    Of all that is in a register, what is read again last leaves first (Belady's rule: no other choice loads less often); nothing stays
    there beyond its segment. What is loaded again later gets a slot when it is made, until its last load; inputs, constants and what is
    ``placed`` stand in memory anyway. A ``neg`` is part of the operations that read it. What is ``wide`` takes as many slots side by side;
    a lane of what stands in memory is loaded alone.
    """
    final, source = set(outputs), list[int]()                                  # of a node without its signs
    for i, node in enumerate(nodes):
        source.append(source[node[1]] if node[0] == "neg" else i)

    def wanted(i: int) -> list[int]:
        if nodes[i][0] in ("neg", "get", *STANDING) or (i in placed and nodes[i][0] not in CALLS):
            return [source[i]] if i in final and nodes[i][0] != "const" else []
        return list(dict.fromkeys([source[j] for j in operands(nodes[i])]))

    wants = [wanted(i) for i in range(len(nodes))]
    readers: dict[int, list[int]] = {}
    for i in reversed(range(len(nodes))):
        for j in wants[i]:
            readers.setdefault(j, []).append(i)                                # the next one last
    evictions: dict[int, list[int]] = {}
    loaded: dict[int, int] = {}                                                # value -> where it is loaded last

    def next_reader(j: int) -> int:
        return readers[j][-1]

    for part in parts:
        held: set[int] = set()

        def make_room(before: int, needed: list[int]) -> None:
            while len(held) >= registers and not held.issubset(needed):
                held.remove(out := max(held.difference(needed), key=next_reader))
                evictions.setdefault(before, []).append(out)

        for i in part:
            for j in wants[i]:
                if j not in held:
                    if nodes[i][0] not in CALLS and nodes[i][0] != "lane":     # whose arguments pass on to memory, one by one
                        make_room(i, wants[i])
                        held.add(j)
                    if j != i and nodes[j][0] not in STANDING and j not in placed:
                        loaded[j] = i
            for j in wants[i]:
                readers[j].pop()
                if not readers[j] or readers[j][-1] not in part:
                    held.discard(j)
            if i in readers and readers[i] and readers[i][-1] in part and i not in placed and nodes[i][0] not in STANDING:
                make_room(i + 1, [])
                held.add(i)
    slot: dict[int, int] = {}
    free: dict[int, list[int]] = {}                                            # width -> slots
    ending: dict[int, list[int]] = {}
    total = 0
    for i in range(len(nodes)):
        if i in loaded:
            n = wide.get(i, 1)
            if not free.get(n):
                free[n] = [total]
                total += n
            slot[i] = free[n].pop()
            ending.setdefault(loaded[i], []).append(i)
        for j in ending.pop(i, []):
            free[wide.get(j, 1)].append(slot[j])
    return slot, total, evictions
