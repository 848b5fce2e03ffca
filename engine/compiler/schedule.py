"""Between tracing and lowering: choose fused multiply-adds, order the nodes, and cut a long program into segments."""

from __future__ import annotations

from collections import Counter

from engine.compiler.expr import Node
from engine.compiler.trace import Program, live, operands


def fused(program: Program) -> tuple[list[Node], list[int]]:
    """Nodes and outputs with ``x·y + z`` and ``z − x·y`` turned into ``fma``, wherever that does not add a multiplication.

    A product is fused into the sums that read it if nothing else does, so that it disappears. The choice is made here, in
    the graph, and not by the code generator: a sample's result is then the same bits in every lane of every loop.

    >>> from engine.compiler.trace import trace
    >>> [n[0] for n in fused(trace(lambda x, y: x @ y, [(2,), (2,)]))[0] if n[0] != "input"]
    ['mul', 'fma']
    """
    nodes, outputs = program.nodes, program.outputs
    uses: Counter[int] = Counter(outputs)
    sums: Counter[int] = Counter()
    for node in nodes:
        for i in operands(node):
            uses[i] += 1
            sums[i] += node[0] in ("add", "sub") and node[1] != node[2]
    absorbed = {i for i, node in enumerate(nodes) if node[0] == "mul" and uses[i] == sums[i]}
    result: list[Node] = []
    new: dict[int, int] = {}

    def put(node: Node) -> int:
        result.append(node)
        return len(result) - 1

    def product(i: int) -> tuple[int, int]:
        return new[nodes[i][1]], new[nodes[i][2]]

    for i, node in enumerate(nodes):
        op = node[0]
        if op in ("add", "sub") and node[1] != node[2]:
            a, b = node[1], node[2]
            if b in absorbed and not (a in absorbed and uses[a] < uses[b]):
                x, y = product(b)
                new[i] = put(("fma", put(("neg", x)) if op == "sub" else x, y, new[a]))
                continue
            if a in absorbed:
                x, y = product(a)
                new[i] = put(("fma", x, y, put(("neg", new[b])) if op == "sub" else new[b]))
                continue
        if op == "call":
            new[i] = put((op, node[1], *[new[j] for j in node[2:]]))
        elif op == "get":
            new[i] = put((op, new[node[1]], node[2]))
        else:
            new[i] = put((op, *[new[j] for j in operands(node)]) if operands(node) else node)
    return live(result, [new[i] for i in outputs])


def segments(nodes: list[Node], limit: int) -> list[range]:
    """Consecutive ranges of at most ``limit`` nodes each, about equally long."""
    count = max(1, -(-len(nodes) // limit))
    size = -(-len(nodes) // count)
    return [range(k, min(k + size, len(nodes))) for k in range(0, len(nodes), max(size, 1))]


def crossing(nodes: list[Node], parts: list[range]) -> tuple[dict[int, int], int]:
    """Slots for the values that one segment makes and a later one reads, and how many slots there are.

    A slot is used again once the last segment that reads it is past.
    """
    segment = {i: s for s, part in enumerate(parts) for i in part}
    last = dict(segment)
    for i, node in enumerate(nodes):
        for j in operands(node):
            last[j] = max(last[j], segment[i])
    slot: dict[int, int] = {}
    free: list[int] = []
    ending: dict[int, list[int]] = {}
    total = 0
    for s, part in enumerate(parts):
        free += [slot[i] for i in ending.pop(s - 1, [])]
        for i in part:
            if last[i] > s and nodes[i][0] not in ("const", "input", "call", "get"):
                if not free:
                    free.append(total)
                    total += 1
                slot[i] = free.pop()
                ending.setdefault(last[i], []).append(i)
    return slot, total
