"""LLVM IR of a program's nodes, whose values are in registers or in memory as the register plan says."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from engine.compiler.codegen.lanes import Laned
from engine.compiler.codegen.schedule import STANDING, Stand, runs
from engine.compiler.graph import vecmath
from engine.compiler.graph.lowering import VECTORS
from engine.compiler.graph.numbers import is_number
from engine.compiler.graph.operations import CALLS, OPERATIONS, operands
from engine.compiler.graph.program import Program
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels.picks import Inline


class Body:
    """Writes the instructions of one segment."""

    def __init__(self, module: Any, made: Laned, slot: dict[int, int], place: dict[int, int], truths: set[int],
                 left: Collection[int] = (), stay: Collection[int] = ()) -> None:  # fmt: skip
        self.left = left                                                       # nodes that stand among the outputs, not in work
        self.stay = stay                                                       # branches that leave what they are given where it is
        self.module, self.nodes, self.wide, self.slot, self.place, self.truths = module, made.nodes, made.wide, slot, place, truths
        self.width, self.D, self.B = module.width, module.D, module.B          # of the node that is being made
        self.lines: list[str] = []
        self.have: dict[int, str] = {}
        self.pairs: dict[tuple[str, int], str] = {}  # (function, operand) -> its two results
        self.count = 0
        self.inline, self.picked = False, dict[int, list[str]]()               # rows of tables are read here; nodes -> their columns
        self.used: dict[str, list[int]] = {"%work": [], "%constants": []}      # by what they are counted from, where values stand

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        """Result of a function of numbers."""
        return self.put(f"call {self.D} {function}({', '.join(f'{self.D} {x}' for x in arguments)})")

    def pair(self, function: str, i: int, x: str) -> str:
        """Both results of ``sincos`` or ``stumpff`` of x, the operand of node i."""
        key = function, self.nodes[i][1]
        if key not in self.pairs:
            name = self.module.sincos() if function == "sincos" else self.module.stumpff()
            self.pairs[key] = self.put(f"call {{{self.D}, {self.D}}} {name}({self.D} {x})")
        return self.pairs[key]

    def at(self, base: str, k: int) -> str:
        if base in self.used:
            self.used[base].append(k)
        return self.put(f"getelementptr inbounds {self.module.D}, ptr {base}, i64 {k}") if k else base

    def type(self, i: int, of: str = "double") -> str:
        """LLVM's type of a node: a double, or a vector of doubles or of i1."""
        return vector(of, self.wide.get(i, self.module.width))

    def load(self, base: str, k: int, i: int) -> str:
        """Load node i's value: volatile, or LLVM would keep what is to leave the registers, and find no room for it."""
        return self.put(f"load volatile {self.type(i)}, ptr {self.at(base, k)}{', align 8' if i in self.wide else ''}")

    def store(self, value: str, base: str, k: int, i: int = -1) -> None:
        """Store a value: volatile except for results, or LLVM would spend most of its time on merging stores."""
        how = "store" if base == "%out" else "store volatile"
        self.lines.append(f"  {how} {self.type(i)} {value}, ptr {self.at(base, k)}{', align 8' if i in self.wide else ''}")

    def value(self, i: int) -> str:
        """Operand of node i: its register, or a load."""
        if i in self.have:
            return self.have[i]
        op, *args = self.nodes[i]
        m = self.module
        if op == "get" and args[0] in self.picked:
            return self.picked[args[0]][args[1]]
        if op == "neg":  # made where it is read: most are part of a fused multiply-add
            return self.put(f"fneg {self.type(i)} {self.value(args[0])}")
        if op == "const" and i in self.truths:
            return splat("i1", m.width, str(int(args[0])))
        if op in ("const", "consts"):  # a load from a table takes no instruction of its own, unlike a constant in LLVM's hands
            value = self.load("%constants", m.constant(*map(literal, args[:1] if op == "const" else args)), i)
        elif op == "input" and i not in self.place:
            value = self.load("%in", args[0], i)
        else:
            value = self.load(self.base(i), self.place[i], i)
        if i in self.truths:
            value = self.truth(i, value)
        self.have[i] = value
        return value

    def truth(self, i: int, value: str) -> str:
        """Node i as i1, from a number if need be."""
        return self.put(f"fcmp une {self.type(i)} {value}, {splat('double', self.wide.get(i, self.module.width), literal(0.0))}")

    def number(self, i: int) -> str:
        """Node i as a number: true is 1, false 0."""
        value = self.value(i)
        return self.put(f"uitofp {self.type(i, 'i1')} {value} to {self.type(i)}") if i in self.truths else value

    def result(self, i: int) -> str:
        """Node i as a number that is to be stored: constants are immediates, of which LLVM merges equal stores."""
        op, x = self.nodes[i][:2]
        return splat("double", self.module.width, literal(x)) if op == "const" and not is_number(x) else self.number(i)

    def stands(self, i: int) -> Stand | None:
        """Return the place in memory of node i's number: a pointer's name and an offset, ("zero", None) for a constant zero, or None."""
        op, *args = self.nodes[i]
        if op == "const":
            return ("zero", None) if literal(args[0]) == literal(0.0) else None
        if op == "input" and i not in self.place:
            return None if i in self.truths else ("%in", args[0])
        if i in self.slot and i in self.have:                                  # whose place may be another's by now
            return None
        return (self.base(i), self.place[i]) if i in self.place else None

    def base(self, i: int) -> str:
        """Return the pointer to the memory in which a node that has a place is stored."""
        return "%out" if i in self.left else "%work"

    def pass_on(self, given: Sequence[int], first: int, base: str = "%work") -> None:
        """Write arguments of a call to work, or other memory, from ``first`` on: those that lie side by side are copied together."""
        for k, n, place in runs([self.stands(j) for j in given]):
            if place is None:
                for i in range(k, k + n):
                    self.store(self.number(given[i]), base, first + i)
                continue
            self.moved(base, first + k, place, n)

    def moved(self, base: str, k: int, stand: Stand, n: int) -> None:
        """Copy n numbers that lie side by side in memory, or are zero, to other memory, from k on."""
        to, size = self.at(base, k), self.module.bytes(n)
        if stand[1] is None:
            self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
        else:
            self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {self.at(stand[0], stand[1])}, i64 {size}, i1 false)")

    def branch(self, i: int, body: str, places: list[str], n: int, given: Sequence[int], arguments: int, unread: int | None,
               counted: Any) -> None:  # fmt: skip
        """Write a branch, node i, a loop of one pass at most, of n carried values. Where it is taken, its arguments are passed on, except
        those that its body does not read; else its first n arguments are the results. Lanes that do not take it while others do keep these
        too."""
        k, kept, stored = self.count, (dict(self.have), dict(self.pairs)), n - (i in self.left or i in self.stay)
        some_do = unread is not None and self.width > 1                        # else the body says what it keeps itself
        left = self.put(f"fcmp une {self.D} {self.number(given[n - 1])}, {splat('double', self.width, literal(1.0))}")
        self.lines += [f"  %some{k} = {vecmath.some(self.width, left)}", f"  br i1 %some{k}, label %take{k}, label %leave{k}", f"take{k}:"]
        if some_do:
            self.lines += [f"  %all{k} = {vecmath.every(self.width, left)}", f"  br i1 %all{k}, label %go{k}, label %keep{k}", f"keep{k}:"]
            self.pass_on(given[:stored], arguments)
            self.lines += [f"  br label %go{k}", f"go{k}:"]
            self.have, self.pairs = dict(kept[0]), dict(kept[1])
        self.pass_on(given[unread or 0 :], arguments + (unread or 0))
        self.lines += counted(f"  call void {body}({', '.join(places)}, i64 1, i64 0, i64 0, i64 0)")
        if some_do:
            self.lines += [f"  br i1 %all{k}, label %after{k}, label %blend{k}", f"blend{k}:"]
            self.lines.append(f"  call void {self.module.blend()}({places[1]}, {places[0]}, {self.B} {left}, i64 {stored})")
        self.lines += [f"  br label %after{k}", f"leave{k}:"]
        self.have, self.pairs = dict(kept[0]), dict(kept[1])                   # what was loaded within is not known after it
        if i not in self.stay:
            self.pass_on(given[:stored], self.place[i], self.base(i))
        self.lines += [f"  br label %after{k}", f"after{k}:"]
        self.have, self.pairs = kept

    def emit(self, i: int, program: Program, callees: dict[int, Any], arguments: int, callee_work: int) -> None:
        node = self.nodes[i]
        op = node[0]
        if op in CALLS and self.inline:
            self.picked[i] = Inline(self).columns(len(program.functions[node[1]].outputs), *map(self.value, operands(node)))
            return
        if op in CALLS:
            given, n = operands(node), len(program.functions[node[1]].outputs)
            once = op == "loop" and node[2] == 1
            if program.functions[node[1]].tabled:                              # it takes memory from where its caller does
                arena = self.put(f"load volatile i64, ptr {self.at('%work', 0)}")
                self.lines.append(f"  store volatile i64 {arena}, ptr {self.at('%work', callee_work)}")
            if not once:
                self.pass_on(given, arguments)
            if op == "loop":
                to = self.base(i), self.place[i]
                places = [f"ptr {self.at(*x)}" for x in (("%work", arguments), to, ("%work", callee_work))]
                counted = functools.partial(self.module.counted, program.key, program.functions[node[1]])
                if once:
                    body = callees[node[1]][0]
                    self.branch(i, body, places, n, given, arguments, self.module.unread.get(body), counted)
                else:
                    f = self.module.loop(program.functions[node[1]], node[2])
                    self.lines += counted(f"  call void {f}({', '.join(places)}, i64 {node[2]})")
            return
        if op in ("neg", *STANDING) or (op == "get" and self.inline) or (i in self.place and i not in self.slot):
            return
        if op == "lane" and node[2] in self.place and node[2] not in self.have:
            own = self.load("%work", self.place[node[2]] + node[1], i)
            self.have[i] = self.truth(i, own) if i in self.truths else own
        else:
            x = [self.value(j) for j in operands(node)]
            self.width, self.D, self.B = self.wide.get(i, self.module.width), self.type(i), self.type(i, "i1")
            self.have[i] = (OPERATIONS[op].lower or VECTORS[op])(self, i, *x)
            self.width, self.D, self.B = self.module.width, self.module.D, self.module.B
        if i in self.slot:
            self.store(self.number(i), "%work", self.slot[i], i)
