"""Prototype."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import Any

from engine.compiler.operations import Node, operands
from engine.compiler.program import live

LEAVES = {"const", "input"}
HINT: Any = None
STATS: dict = {}
ORDER: Any = min
SIGNED = {"add", "sub"}
OPS = {"add", "sub", "mul", "fma", "div", "sqrt"}


def kind(op: str) -> str:
    return "add" if op == "sub" else op


class Pairing:
    def __init__(self, nodes, outputs, inlanes):
        self.nodes, self.L = nodes, len(inlanes[0])
        self.pack: dict[int, tuple[int, ...]] = {}
        self.order: dict[int, list[int]] = {}
        self.lane = {k: (t[0], l) for t in inlanes for l, k in enumerate(t)}
        self.sine: set = set()
        n = len(nodes)
        self.base = list(range(n))
        self.flip = [0] * n
        self.mask = [0] * n
        self.h = [[0] * n for _ in range(4)]
        for i, node in enumerate(nodes):
            op = node[0]
            if op == "neg":
                self.base[i] = self.base[node[1]]
                self.flip[i] = 1 - self.flip[node[1]]
                continue
            if op == "input":
                self.mask[i] = 1 << self.lane.get(node[1], (node[1], 0))[0]
                for h in self.h:
                    h[i] = hash(self.lane.get(node[1], (node[1], 0))[0])
                continue
            if op == "const":
                for h in self.h:
                    h[i] = hash("c")
                continue
            b = [self.base[j] for j in operands(node)]
            for j in b:
                self.mask[i] |= self.mask[j]
            self.h[0][i] = hash(kind(op))
            for r in range(1, 4):
                hs = [self.h[r - 1][j] for j in b]
                if op in ("add", "sub", "mul"):
                    hs.sort()
                elif op == "fma":
                    hs = sorted(hs[:2]) + hs[2:]
                self.h[r][i] = hash((kind(op), *hs))

    def alike(self, x: int, y: int) -> float:
        x, y = self.base[x], self.base[y]
        if x == y:
            return 8
        if x in self.pack and self.pack[x] == self.pack.get(y):
            return 8
        ox, oy = kind(self.nodes[x][0]), kind(self.nodes[y][0])
        if ox != oy:
            return -2
        if ox == "const":
            return 3 if abs(self.nodes[x][1]) != abs(self.nodes[y][1]) else 4
        r = 1.0 - 3 * ((x in self.pack) + (y in self.pack))
        if self.mask[x] == self.mask[y]:
            r += 2
        for h in self.h[1:]:
            r += h[x] == h[y]
        return r

    def find(self, seeds):
        heap: list[Any] = []
        seen = set()

        def push(t):
            t = tuple(self.base[i] for i in t)
            if t not in seen:
                seen.add(t)
                heapq.heappush(heap, (-max(t), t))

        fail = STATS.setdefault("fail", Counter())
        for t in seeds:
            push(t)
        while heap:
            _, t = heapq.heappop(heap)
            if len(set(t)) < len(t):
                continue
            ops = {kind(self.nodes[i][0]) for i in t}
            if len(ops) > 1:
                fail[tuple(sorted(ops))] += 1
                continue
            op = ops.pop()
            if op in ("sin", "cos"):
                if all(self.nodes[self.nodes[i][1]][0] == "input" for i in t):
                    self.sine.add(t)
                continue
            if op not in OPS:
                continue
            if any(i in self.pack for i in t):
                fail["conflict"] += self.pack.get(t[0]) != t
                continue
            self.join(t, push)

    def join(self, t, push):
        for i in t:
            self.pack[i] = t
        cols = [list(operands(self.nodes[i])) for i in t]
        if self.nodes[t[0]][0] in ("add", "sub", "mul", "fma"):
            a = cols[0]
            for c in cols[1:]:
                if self.alike(a[0], c[1]) + self.alike(a[1], c[0]) > self.alike(a[0], c[0]) + self.alike(a[1], c[1]):
                    c[0], c[1] = c[1], c[0]
        for i, c in zip(t, cols):
            self.order[i] = c
        if push:
            for u in zip(*cols):
                push(u)

    def up(self):
        """Join what is left, from the leaves."""
        N, added = self.nodes, 0
        while True:
            table = [defaultdict(list) for _ in range(self.L)]
            for i, node in enumerate(N):
                if i in self.pack or node[0] not in OPS:
                    continue
                for lane in range(self.L):
                    ks, some = [], False
                    for j in operands(node):
                        b = self.base[j]
                        if N[b][0] == "const":
                            ks.append((0, 0))
                        elif N[b][0] == "input" and self.lane.get(N[b][1], (0, -1))[1] == lane:
                            ks.append((1, self.lane[N[b][1]][0]))
                            some = True
                        elif b in self.pack and self.pack[b][lane] == b:
                            ks.append((2, self.pack[b][0]))
                            some = True
                        else:
                            ks.append((3, b))
                    if some:
                        ks = sorted(ks[:2]) + ks[2:] if node[0] in ("add", "sub", "mul", "fma") else ks
                        table[lane][kind(node[0]), *ks].append(i)
            new = 0
            for key, first in table[0].items():
                for t in zip(first, *[table[l].get(key, []) for l in range(1, self.L)]):
                    if len(set(t)) == self.L and not any(i in self.pack for i in t):
                        self.join(t, None)
                        new += 1
            added += new
            if not new:
                return added

    def columns(self, t):
        return list(zip(*[self.order[i] for i in t]))

    def drop(self, t):
        for i in t:
            del self.pack[i]

    def prune(self, outputs):
        """Drop packs that cost more than they save, until none does."""
        N = self.nodes
        readers = defaultdict(list)
        for i, node in enumerate(N):
            if node[0] != "neg":
                for j in operands(node):
                    readers[self.base[j]].append(i)
        L = self.L
        dropped = 0
        changed = set(self.pack.values())
        while changed:
            again = set()
            for t in sorted(changed, reverse=True):
                if self.pack.get(t[0]) != t:
                    continue
                gain = L - 1.0
                # columns: gathers needed only by this pack
                cost = 0.0
                for u in self.columns(t):
                    b = tuple(self.base[i] for i in u)
                    if self.pack.get(b[0]) == b or len(set(b)) == 1 or all(N[i][0] == "const" for i in b) or b in self.sine:
                        if self.pack.get(b[0]) == b:     # if unpacked, its operands would be extracted
                            cost -= 0.0
                        continue
                    # who else needs this gather
                    others = {self.pack.get(i) for i in readers[b[0]]} - {None, t}
                    if not any(b in [tuple(self.base[i] for i in w) for w in self.columns(o)] for o in others):
                        cost += L - 1
                # extraction for scalar readers
                for l, i in enumerate(t):
                    rs = readers[i]
                    scalar = any(j not in self.pack for j in rs)
                    mixed = any(j in self.pack and t not in [tuple(self.base[x] for x in w) for w in self.columns(self.pack[j])] for j in rs)
                    if l and (scalar or mixed):
                        cost += 1
                # were it unpacked: extraction of operands, gathering for readers
                back = 0.0
                for u in self.columns(t):
                    b = tuple(self.base[i] for i in u)
                    if self.pack.get(b[0]) == b:
                        for l, i in enumerate(b):
                            if l and all(j in self.pack and b in [tuple(self.base[x] for x in w) for w in self.columns(self.pack[j])] and self.pack[j] != t or self.pack.get(j) == t for j in readers[i]):
                                back += 1
                if any(j in self.pack and t in [tuple(self.base[x] for x in w) for w in self.columns(self.pack[j])] for j in readers[t[0]]):
                    back += L - 1
                if gain - cost + back <= 0:
                    self.drop(t)
                    dropped += 1
                    for i in t:
                        for j in (*readers[i], *(self.base[x] for x in operands(N[i]))):
                            if j in self.pack:
                                again.add(self.pack[j])
            changed = again
        return dropped


class Laned:
    """The program with packs as single nodes."""

    def __init__(self, p: Pairing, outputs):
        self.p, self.L = p, p.L
        self.nodes: list[Node] = []
        self.memo: dict[Node, int] = {}
        self.wide: set[int] = set()
        self.scalar: dict[int, int] = {}
        self.vector: dict[tuple, int] = {}
        order = self.sorted()
        N = p.nodes
        for x in order:
            if isinstance(x, tuple):
                self.vector[x] = self.packed(x)
            else:
                node = N[x]
                if node[0] == "neg":
                    continue
                part = operands(node)
                self.scalar[x] = self.put(*_renum(node, [self.one(j) for j in part]))
        self.outputs = [self.one(i) for i in outputs]

    def sorted(self):
        """Packs and lone nodes in an order in which operands come first."""
        p = self.p
        while True:
            pack = p.pack
            of = lambda i: pack.get(i, i)
            n = len(p.nodes)
            need = {}
            for i, node in enumerate(p.nodes):
                if node[0] != "neg":
                    x = of(i)
                    if x not in need:
                        members = x if isinstance(x, tuple) else (x,)
                        need[x] = list(dict.fromkeys(of(p.base[j]) for m in members for j in operands(p.nodes[m])))
            key = (lambda x: ORDER(x) if isinstance(x, tuple) else x)
            order, state, cycle = [], {}, None
            for root in sorted(need, key=key):
                stack = [(root, 0)]
                while stack:
                    x, k = stack.pop()
                    if k == 0 and state.get(x):
                        if state[x] == 1:
                            cycle = [x, *[y for y, _ in stack]]
                            break
                        continue
                    state[x] = 1
                    if k == len(need[x]):
                        state[x] = 2
                        order.append(x)
                    else:
                        stack += [(x, k + 1), (need[x][k], 0)] if state.get(need[x][k]) != 2 else [(x, k + 1)]
                if cycle:
                    break
            if not cycle:
                return order
            STATS["cycles"] = STATS.get("cycles", 0) + 1
            inside = [y for y in cycle[1 : cycle.index(cycle[0], 1) + 1] if isinstance(y, tuple)] if cycle[0] in cycle[1:] else [y for y in cycle if isinstance(y, tuple)]
            p.drop(min(inside))

    def put(self, *node, wide=False):
        key = (*node, repr(node)) if node[0] in ("const", "consts") else node
        i = self.memo.get(key)
        if i is None:
            i = self.memo[key] = len(self.nodes)
            self.nodes.append(node)
            if wide:
                self.wide.add(i)
        return i

    def one(self, i):
        p = self.p
        if p.flip[i]:
            return self.put("neg", self.one(p.base[i]))
        i = p.base[i]
        if i in p.pack:
            t = p.pack[i]
            return self.put("lane", t.index(i), self.vector[t])
        return self.scalar[i]

    def signed(self, x, g):
        """x with the sign of each lane."""
        if not any(g):
            return x
        if all(g):
            return self.put("neg", x, wide=True)
        return self.put("mul", x, self.consts([-1.0 if s else 1.0 for s in g]), wide=True)

    def consts(self, c):
        return self.put("consts", *c, wide=True)

    def column(self, u):
        """(vector or None with constants, signs)"""
        p = self.p
        b = tuple(p.base[i] for i in u)
        g = [p.flip[i] for i in u]
        if all(p.nodes[i][0] == "const" for i in b):
            return [(-p.nodes[i][1] if s else p.nodes[i][1]) for i, s in zip(b, g)], [0] * len(g)
        if p.pack.get(b[0]) == b:
            return self.vector[b], g
        if len(set(g)) == 1 or len(set(b)) == 1:
            return self.put("pack", *[self.one(i) for i in b], wide=True), g
        return self.put("pack", *[self.one(i) for i in u], wide=True), [0] * len(g)

    def value(self, c, g):
        return self.consts([-x if s else x for x, s in zip(c, g)]) if isinstance(c, list) else self.signed(c, g)

    def packed(self, t):
        p = self.p
        op = kind(p.nodes[t[0]][0])
        cols = self.p.columns(t)
        made = [self.column(u) for u in cols]
        if op == "add":
            (x, gx), (y, gy) = made
            # the sign of the second operand of a difference
            for l, i in enumerate(t):
                if p.nodes[i][0] == "sub":
                    if tuple(p.order[i]) == tuple(operands(p.nodes[i])):
                        gy = [*gy[:l], 1 - gy[l], *gy[l + 1 :]]
                    else:
                        gx = [*gx[:l], 1 - gx[l], *gx[l + 1 :]]
            if isinstance(x, list):
                x, gx = self.value(x, gx), [0] * self.L
            if isinstance(y, list):
                y, gy = self.value(y, gy), [0] * self.L
            mx, my = len(set(gx)) > 1, len(set(gy)) > 1
            if mx and my:
                x, gx, mx = self.signed(x, gx), [0] * self.L, False
            if mx:
                x, gx, y, gy, mx, my = y, gy, x, gx, False, True
            if my:
                return self.put("fma", y, self.consts([-1.0 if s else 1.0 for s in gy]), self.signed(x, gx), wide=True)
            if gy[0] and gx[0]:
                return self.put("sub", self.signed(x, gx), y, wide=True)
            if gy[0]:
                return self.put("sub", x, y, wide=True)
            if gx[0]:
                return self.put("sub", y, x, wide=True)
            return self.put("add", x, y, wide=True)
        if op in ("mul", "fma"):
            (x, gx), (y, gy), *rest = made
            g = [a ^ b for a, b in zip(gx, gy)]
            if isinstance(x, list):
                x, y = y, x
            if isinstance(y, list):
                y, g = self.value(y, g), [0] * self.L
                if isinstance(x, list):
                    x = self.consts(x)
            x = self.signed(x, g)
            return self.put(op, x, y, *[self.value(*c) for c in rest], wide=True)
        return self.put(op, *[self.value(*c) for c in made], wide=True)


def _renum(node, new):
    from engine.compiler.operations import OPERANDS
    part = OPERANDS[node[0]]
    return (*node[: part.start], *new, *node[part.stop :])


def laned(nodes, outputs, inlanes, seeds):
    STATS.clear()
    p = Pairing(nodes, outputs, inlanes)
    p.find(seeds)
    STATS["down"] = len(set(p.pack.values()))
    STATS["up"] = p.up()
    STATS["dropped"] = p.prune(outputs)
    made = Laned(p, outputs)
    used, outs, wide = _live(made)
    n = sum(x[0] not in ("const", "input", "neg") for x in nodes)
    c = Counter(x[0] for x in used)
    STATS["ops"] = n, sum(x[0] not in ("const", "input", "neg", "consts") and not (x[0] == "lane" and x[1] == 0) for x in used)
    STATS["paired"] = len(p.pack) / n
    STATS["counts"] = dict(c)
    return used, outs, wide, [tuple(nodes[nodes[i][1]][1] for i in t) for t in p.sine]


def _live(made):
    new = [-1] * len(made.nodes)
    for i in made.outputs:
        new[i] = 0
    for i in reversed(range(len(made.nodes))):
        if not new[i]:
            for j in operands(made.nodes[i]):
                new[j] = 0
    kept, wide = [], set()
    for i, node in enumerate(made.nodes):
        if not new[i]:
            new[i] = len(kept)
            if i in made.wide:
                wide.add(len(kept))
            kept.append(_renum(node, [new[j] for j in operands(node)]))
    return kept, [new[i] for i in made.outputs], wide
