"""A program in C: a function of straight lines for every function of it, long ones in parts of bounded size.

Values that cross from part to part, what is passed to functions and what comes back lie in ``work``, which the caller lends; where, is
planned as the machine code's registers are (:mod:`engine.compiler.schedule`), with as many as one could wish for. Each multiply-add that
rounds once is the graph's own, and each statement rounds once, so that no compiler has a choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.checks import EngineError
from engine.code.elementary import NEEDS
from engine.code.kernels import KINDS
from engine.code.translate import Expressions, decimal
from engine.compiler.kernels import Kernel
from engine.compiler.operations import CALLS, OPERATIONS, Node, operands
from engine.compiler.program import Program, truth_values
from engine.compiler.schedule import fused, residence, returned, segments

#: nodes in one function of C
SEGMENT = 400


class ExportError(EngineError):
    """Something cannot be written as code; the text says what, and what was expected."""


class Writer:
    """The functions of a program, in the order in which C wants them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.text: list[str] = []
        self.helpers: set[str] = set()
        self.known: dict[str, tuple[str, int]] = {}                            # program's key -> name, size of its work

    def function(self, program: Program) -> tuple[str, int]:
        """Name and size of work of the function of a program of another's, written if it is new."""
        if program.key not in self.known:
            name = f"{self.prefix}_f{len(self.known)}"
            if isinstance(program, Kernel):
                if type(program) not in KINDS:
                    raise ExportError(f"the operation '{program.name}' has no code in C; expected a kernel of engine.code.kernels")
                self.known[program.key] = name, 0
                self.text += [t for t in KINDS[type(program)](program, name) if t not in self.text]
            else:
                self.known[program.key] = name, 0
                given = "const double *restrict in, double *restrict out"
                lines, work = self.body(program, name, given, "in, out", lambda k: f"in[{k}]", lambda k: f"out[{k}]")
                self.known[program.key] = name, work
                self.text.append("\n".join([f"static void {name}({given}{', double *restrict work' if work else ''})", "{",
                                            *unused(lines, ("in", "out")), *lines, "}"]))  # fmt: skip
        return self.known[program.key]

    def body(self, program: Program, name: str, given: str, passed: str, read: Any, write: Any) -> tuple[list[str], int]:
        """Statements of a program, and the size of its work.

        ``given`` are the parameters, ``passed`` the same as arguments, ``read`` and ``write`` how C has an input and a result by number.
        """
        nodes, outputs = fused(program)
        called = {node[1] for node in nodes if node[0] in CALLS}
        callees = {k: self.function(f) for k, f in enumerate(program.functions) if k in called}
        parts = segments(nodes, SEGMENT)
        place, size = returned(nodes, program.functions)                       # node -> where in work it lies
        slot, slots, _ = residence(nodes, outputs, parts, place, len(nodes) + 1)
        place |= {i: size + k for i, k in slot.items()}
        arguments = size + slots
        lent = arguments + max((program.functions[k].n_in for k in callees), default=0)
        work = lent + max((w for _, w in callees.values()), default=0)
        writes: dict[int, list[int]] = {}
        for k, i in enumerate(outputs):
            writes.setdefault(i, []).append(k)
        lines: list[str] = []
        parameters = f"{given}{', double *restrict work' if work else ''}"
        for s, part in enumerate(parts):
            body = Body(self, program, nodes, slot, place, callees, arguments, lent, read)
            for i in part:
                body.emit(i)
                body.lines += [f"{write(k)} = {body.number(i)};" for k in writes.get(i, ())]
            own = indented(body.lines)
            if len(parts) == 1:
                return own, work
            names = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", passed)) + ["work"] * bool(work)
            self.text.append("\n".join([f"APART static void {name}_{s}({parameters})", "{", *unused(own, names), *own, "}"]))
            lines.append(f"    {name}_{s}({passed}{', work' if work else ''});")
        return lines, work


def unused(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """Statements that silence compilers on parameters that these lines do not read."""
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))
    return [f"    (void){name};" for name in names if name not in used]


def indented(lines: Sequence[str]) -> list[str]:
    """Statements within others."""
    return [f"    {line}" for line in lines]


class Body:
    """The statements of one part of a program."""

    width, D, B = 1, "double", "i1"                                            # for the table of operations: one number at a time

    def __init__(self, writer: Writer, program: Program, nodes: list[Node], slot: dict[int, int], place: dict[int, int],
                 callees: dict[int, tuple[str, int]], arguments: int, lent: int, read: Any) -> None:  # fmt: skip
        self.writer, self.program, self.nodes, self.slot, self.place, self.callees = writer, program, nodes, slot, place, callees
        self.arguments, self.lent, self.read = arguments, lent, read
        self.truths = truth_values(nodes)
        self.module = self                                                     # whose functions the table of operations asks for
        self.lines: list[str] = []
        self.have: dict[int, str] = {}                                         # node -> its value in C
        self.pairs: dict[tuple[str, int], str] = {}
        self.e = Expressions()

    # ------------------------------------------------------------ what the table of operations asks of a body

    def put(self, text: str) -> str:
        return self.e.put(text)

    def call(self, function: str, given: Sequence[str]) -> str:
        return self.put(f"call double {function}({', '.join(f'double {x}' for x in given)})")

    def libm(self, name: str, arity: int) -> str:
        return f"@{name}"

    def lanes(self, name: str) -> str:
        return f"@{name}.lanes"

    def pair(self, function: str, i: int, x: str) -> str:
        key = function, self.nodes[i][1]
        if key not in self.pairs:
            name = f"{'sc' if function == 'sincos' else 'st'}{key[1]}"
            self.helpers_of(f"{function}_of")
            self.lines.append(f"const pair {name} = {function}_of({self.e.of[x]});")
            self.pairs[key] = self.named(name)
        return self.pairs[key]

    # ------------------------------------------------------------ values

    def helpers_of(self, text: str) -> None:
        """Take note of the engine's functions in a text."""
        self.writer.helpers |= {name for name in re.findall(r"\w+", text) if name in NEEDS}

    def named(self, c: str) -> str:
        """A value of C, as the table of operations has it."""
        name = f"%{len(self.e.of)}"
        self.e.of[name] = c
        return name

    def value(self, i: int) -> str:
        """Node i in C."""
        if i in self.have:
            return self.have[i]
        op, *args = self.nodes[i]
        if op == "const":
            return str(int(args[0])) if i in self.truths else decimal(args[0])
        if op == "input":
            return self.read(args[0])
        if op == "neg":
            x = self.value(args[0])
            return f"-{x}" if re.fullmatch(r"[\w.\[\]]+", x) else f"-({x})"
        self.lines.append(f"const double t{i} = work[{self.place[i]}];")
        self.have[i] = f"t{i} != 0.0" if i in self.truths else f"t{i}"
        return self.have[i]

    def number(self, i: int) -> str:
        """Node i as a number: truth as 1 and 0."""
        value = self.value(i)
        if i not in self.truths:
            return value
        return {"0": "0.0", "1": "1.0"}.get(value, f"{value} ? 1.0 : 0.0")

    def emit(self, i: int) -> None:
        """Statements of node i."""
        op, *_ = node = self.nodes[i]
        if op in CALLS:
            self.emit_call(i, node)
        elif op not in ("const", "input", "neg") and (i not in self.place or i in self.slot):
            if op not in OPERATIONS or OPERATIONS[op].lower is None:
                raise ExportError(f"the operation '{op}' has no code in C; expected a program of the table of operations")
            x = [self.named(self.value(j)) for j in operands(node)]
            c = self.e.of[OPERATIONS[op].lower(self, i, *x)]
            self.helpers_of(c)
            self.lines.append(f"const {'int' if i in self.truths else 'double'} t{i} = {c};")
            self.have[i] = f"t{i}"
            if i in self.slot:
                self.lines.append(f"work[{self.place[i]}] = {self.number(i)};")

    def at(self, k: int) -> str:
        return f"work + {k}" if k else "work"

    def emit_call(self, i: int, node: Node) -> None:
        """A call, a loop, or a branch: what else it is given is passed on only where it is taken."""
        given, n, (name, work) = operands(node), len(self.program.functions[node[1]].outputs), self.callees[node[1]]
        own = isinstance(self.program.functions[node[1]], Kernel)
        a, to = self.arguments, self.place[i]
        called = f"{name}({self.at(a)}, {self.at(to)}{f', {self.at(self.lent)}' if work and not own else ''});"
        once = node[0] == "loop" and node[2] == 1
        for k, j in enumerate(given[:n] if once else given):
            self.lines.append(f"work[{a + k}] = {self.number(j)};")
        if node[0] != "loop":
            self.lines.append(called)
            return
        copied = [f"for (int i = 0; i < {n}; ++i)", f"    work[{to} + i] = work[{a} + i];"]
        if once:
            lines, kept = self.lines, (dict(self.have), dict(self.pairs))
            self.lines = []
            for k, j in enumerate(given[n:], n):
                number = self.number(j)
                self.lines.append(f"work[{a + k}] = {number};")
            inside, self.lines = [*self.lines, called], lines
            self.have, self.pairs = kept                                       # what was loaded within is not known after it
            self.lines += [f"if (work[{a + n - 1}] != 1.0) {{", *indented(inside), "} else {", *indented(copied), "}"]
            return
        back = [f"for (int i = 0; i < {n}; ++i)", f"    work[{a} + i] = work[{to} + i];"]
        self.lines += [f"for (int64_t turn = 0; turn < {node[2]} && work[{a + n - 1}] != 1.0; ++turn) {{", f"    {called}",
                       *indented(back), "}", *copied]  # fmt: skip
