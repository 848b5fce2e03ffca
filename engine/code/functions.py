"""C of a program: a straight-line function for each of its functions, long ones in parts of bounded size.

Values that cross from part to part, what is passed to functions and what comes back lie in ``work``, which the caller lends; where, is
planned as the machine code's registers are (:mod:`engine.compiler.codegen.schedule`), with as many as one could wish for. Each multiply-add
that rounds once is the graph's own, and each statement rounds once, so that no compiler has a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.checks import EngineError
from engine.code.elementary import NEEDS
from engine.code.kernels import KINDS
from engine.code.memory import ARGUMENT, PARAMETER, with_tables
from engine.code.tables import TABLES, written
from engine.code.translate import Expressions, decimal
from engine.code.vectors import TYPE
from engine.compiler.codegen.lanes import Laned, laned
from engine.compiler.codegen.packs import ARITHMETIC
from engine.compiler.codegen.schedule import STANDING, Stand, fused, runs, segments
from engine.compiler.codegen.work import Work, laid_out
from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.operations import CALLS, OPERATIONS, Node, operands
from engine.compiler.graph.program import Program, size, truth_values

#: nodes in one function of C, lanes of vectors at most, and how many angles are turned at a time
SEGMENT, LANES, ANGLES = 400, 4, 8


class ExportError(EngineError):
    """Something cannot be written as code; the text says what, and what was expected.

    >>> import engine
    >>> engine.export_code(3, "x.c")
    Traceback (most recent call last):
    ...
    engine.code.functions.ExportError: export_code got 3; expected a compiled function (engine.gufunc makes one), or a Simulator
    """


class Writer:
    """Writes the functions of a program, in the order in which C wants them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.text: list[str] = []
        self.helpers: set[str] = set()
        self.known: dict[str, tuple[str, int]] = {}                            # program's key -> name, size of its work

    def function(self, program: Program) -> tuple[str, int]:
        """Return the name of a program's function, and the size of its work; it is written if it is new."""
        if program.key not in self.known:
            name = f"{self.prefix}_f{len(self.known)}"
            self.known[program.key] = name, 0
            if isinstance(program, TABLES):
                texts, work = written(program, name, self.called)
                self.known[program.key] = name, work
                self.put(texts)
            elif isinstance(program, Kernel):
                if type(program) not in KINDS:
                    raise ExportError(f"the operation '{program.name}' has no code in C; expected a kernel of engine.code.kernels")
                self.put(KINDS[type(program)](program, name))
            else:
                given = "const double *restrict in, double *restrict out"
                lines, work = self.body(program, name, given, "in, out", lambda k: f"in[{k}]", lambda k: f"out[{k}]")
                self.known[program.key] = name, work
                more, passed = passing(program, work)
                self.text.append("\n".join([f"static void {name}({given}{more})", "{",
                                            *unused(lines, ("in", "out", *passed)), *lines, "}"]))  # fmt: skip
        return self.known[program.key]

    def apart(self, program: Program) -> None:
        """Keep compilers from putting a loop's body into the loop: what is promised there of its pointers (``restrict``) gcc 12 takes for
        promised of all passes together, and reads what the pass before has overwritten."""
        begin = f"static void {self.known[program.key][0]}("
        self.text = [f"APART {t}" if t.startswith(begin) else t for t in self.text]

    def put(self, texts: Sequence[str]) -> None:
        """Add texts, each once, and take note of the engine's functions in them."""
        self.text += [t for t in texts if t not in self.text]
        self.helpers |= {name for t in texts for name in re.findall(r"\w+", t) if name in NEEDS}

    def called(self, program: Program) -> tuple[Callable[[str, str, str], str], int]:
        """Return a function that writes the C call of a program for given names of arguments, results and scratch memory, and the scratch
        size."""
        name, work = self.function(program)
        more = [", {}"] * bool(work) + [f", {ARGUMENT}"] * with_tables(program)
        return lambda given, to, lent: f"{name}({given}, {to}{''.join(more).format(lent)});", work

    def body(self, program: Program, name: str, given: str, passed: str, read: Any, write: Any) -> tuple[list[str], int]:
        """Return the statements of a program, and the size of its work.

        ``given`` are the parameters, ``passed`` the same as arguments, ``read`` and ``write`` how C has an input and a result by number.
        """
        made = laned(*fused(program), [size(s) for s in program.shapes_in], LANES, ARITHMETIC)
        nodes, outputs = made.nodes, made.outputs
        called = {node[1] for node in nodes if node[0] in CALLS}
        callees = {k: self.function(f) for k, f in enumerate(program.functions) if k in called}
        parts = segments(nodes, SEGMENT)
        plan = laid_out(made, program.functions, callees, parts, len(nodes) + 1, ANGLES)
        work = plan.size
        writes: dict[int, list[int]] = {}
        for k, i in enumerate(outputs):
            writes.setdefault(i, []).append(k)
        lines: list[str] = []
        more, own_names = passing(program, work)
        for s, part in enumerate(parts):
            body = Body(self, program, made, plan, read)
            if s == 0 and plan.turned:
                body.turn(plan)
            for i in part:
                body.emit(i)
                body.lines += [f"{write(k)} = {body.number(i)};" for k in writes.get(i, ())]
            own = indented(body.lines)
            if len(parts) == 1:
                return own, work
            names = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", passed)) + own_names
            self.text.append("\n".join([f"APART static void {name}_{s}({given}{more})", "{", *unused(own, names), *own, "}"]))
            lines.append(f"    {name}_{s}({', '.join([passed, *own_names])});")
        return lines, work


def passing(program: Program, work: int) -> tuple[str, list[str]]:
    """Return further parameters of a program's function, and their names: its work, and the memory of tables."""
    names = ["work"] * bool(work) + [ARGUMENT] * with_tables(program)
    return "".join(f", {PARAMETER if n == ARGUMENT else f'double *restrict {n}'}" for n in names), names


def unused(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return statements that silence compilers on parameters that these lines do not read."""
    used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))
    return [f"    (void){name};" for name in names if name not in used]


def indented(lines: Sequence[str]) -> list[str]:
    """Indent statements."""
    return [f"    {line}" for line in lines]


class Body:
    """Writes the statements of one part of a program."""

    width, D, B = 1, "double", "i1"                                            # for the table of operations: one number at a time

    def __init__(self, writer: Writer, program: Program, made: Laned, plan: Work, read: Any) -> None:
        self.writer, self.program, self.nodes, self.wide = writer, program, made.nodes, made.wide
        self.slot, self.place, self.arguments, self.lent = plan.slot, plan.place, plan.arguments, plan.lent
        self.read = read
        self.truths = truth_values(made.nodes)
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
        """Return a value of C, as the table of operations has it."""
        name = f"%{len(self.e.of)}"
        self.e.of[name] = c
        return name

    def value(self, i: int) -> str:
        """Return node i as a C expression."""
        if i in self.have:
            return self.have[i]
        op, *args = self.nodes[i]
        if op == "const":
            return str(int(args[0])) if i in self.truths else decimal(args[0])
        if op == "input":
            return self.read(args[0])
        if op == "consts":
            return self.vector("pack", i, map(decimal, args))
        if op == "neg":
            x, fused = self.value(args[0]), self.nodes[args[0]][0] == "fma"
            if i in self.wide:
                return self.vector("negated" if fused else "neg", i, [x])
            if fused:
                return f"negated({x})"
            return f"-{x}" if re.fullmatch(r"[\w.\[\]]+", x) else f"-({x})"
        if i in self.wide:
            self.have[i] = f"t{i}"
            self.lines.append(f"const {TYPE[self.wide[i]]} t{i} = {self.vector('load', i, [self.at(self.place[i])])};")
            return self.have[i]
        self.lines.append(f"const double t{i} = work[{self.place[i]}];")
        self.have[i] = f"t{i} != 0.0" if i in self.truths else f"t{i}"
        return self.have[i]

    def number(self, i: int) -> str:
        """Return node i as a number: true is 1, false 0."""
        value = self.value(i)
        if i not in self.truths:
            return value
        return {"0": "0.0", "1": "1.0"}.get(value, f"{value} ? 1.0 : 0.0")

    def emit(self, i: int) -> None:
        """Write the statements of node i."""
        op, *_ = node = self.nodes[i]
        if op in CALLS:
            self.emit_call(i, node)
        elif op in ("neg", *STANDING) or (i in self.place and i not in self.slot):
            return
        elif i in self.wide:
            self.lines.append(f"const {TYPE[self.wide[i]]} t{i} = {self.vector(op, i, [self.value(j) for j in operands(node)])};")
            self.have[i] = f"t{i}"
            if i in self.slot:
                self.lines.append(f"{self.vector('store', i, [self.at(self.place[i]), f't{i}'])};")
        elif op == "lane":
            self.emit_lane(i, *node[1:])
        else:
            if op not in OPERATIONS or OPERATIONS[op].lower is None:
                raise ExportError(f"the operation '{op}' has no code in C; expected a program of the table of operations")
            x = [self.named(self.value(j)) for j in operands(node)]
            c = self.e.of[OPERATIONS[op].lower(self, i, *x)]
            self.helpers_of(c)
            self.lines.append(f"const {'int' if i in self.truths else 'double'} t{i} = {c};")
            self.have[i] = f"t{i}"
            if i in self.slot:
                self.lines.append(f"work[{self.place[i]}] = {self.number(i)};")

    def emit_lane(self, i: int, k: int, j: int) -> None:
        """Write the statements of lane k of node j: a vector in memory has one lane loaded alone."""
        alone = j in self.place and j not in self.have
        c = f"work[{self.place[j] + k}]" if alone else self.vector("lane", j, [self.value(j), str(k)])
        self.lines.append(f"const double t{i} = {c};")
        self.have[i] = f"t{i}"
        if i in self.slot:
            self.lines.append(f"work[{self.place[i]}] = t{i};")

    def vector(self, op: str, i: int, given: Iterable[str]) -> str:
        """Return a call of an operation's function on vectors, with as many lanes as node i has."""
        name = f"{op}{self.wide[i]}"
        self.helpers_of(name)
        return f"{name}({', '.join(given)})"

    def turn(self, plan: Work) -> None:
        """Write statements that put angles, inputs, into work, and their sines and cosines behind them."""
        each, x, room = [self.value(i) for i in plan.turned], plan.angles, plan.room
        self.lines += [f"work[{x + k}] = {(each + each[-1:] * room)[k]};" for k in range(room)]
        self.helpers_of("angles_of")
        self.lines.append(f"angles_of({self.at(x)}, {self.at(x + room)}, {self.at(x + 2 * room)}, {room});")

    def at(self, k: int) -> str:
        return f"work + {k}" if k else "work"

    def stands(self, i: int) -> Stand | None:
        """Return the array in which node i's number stands, and its index there, if it does; of a constant its text."""
        if self.nodes[i][0] == "const":
            return self.number(i), None
        if self.nodes[i][0] == "input" and i not in self.truths:
            array = re.fullmatch(r"(\w+)\[(\d+)\]", self.read(self.nodes[i][1]))
            return (array[1], int(array[2])) if array else None
        if i in self.slot and i in self.have:                                  # whose place may be another's by now
            return None
        return ("work", self.place[i]) if i in self.place else None

    def pass_on(self, given: Sequence[int], first: int) -> None:
        """Write statements that put nodes' numbers into work, from ``first`` on: those that lie side by side in a loop."""
        for k, n, place in runs([self.stands(j) for j in given]):
            if place is None:
                for i in range(k, k + n):
                    number = self.number(given[i])                             # which may take statements of its own
                    self.lines.append(f"work[{first + i}] = {number};")
            else:
                whence = place[0] if place[1] is None else f"{place[0]}[{place[1]} + i]"
                self.lines += [f"for (int i = 0; i < {n}; ++i)", f"    work[{first + k} + i] = {whence};"]

    def emit_call(self, i: int, node: Node) -> None:
        """Write a call, a loop, or a branch, whose further arguments are passed on only where it is taken."""
        f = self.program.functions[node[1]]
        given, n, a, to = operands(node), len(f.outputs), self.arguments, self.place[i]
        called = self.writer.called(f)[0](self.at(a), self.at(to), self.at(self.lent))
        once = node[0] == "loop" and node[2] == 1
        self.pass_on(given[:n] if once else given, a)
        if node[0] != "loop":
            self.lines.append(called)
            return
        copied = [f"for (int i = 0; i < {n}; ++i)", f"    work[{to} + i] = work[{a} + i];"]
        if once:
            lines, kept = self.lines, (dict(self.have), dict(self.pairs))
            self.lines = []
            self.pass_on(given[n:], a + n)
            inside, self.lines = [*self.lines, called], lines
            self.have, self.pairs = kept                                       # what was loaded within is not known after it
            self.lines += [f"if (work[{a + n - 1}] != 1.0) {{", *indented(inside), "} else {", *indented(copied), "}"]
            return
        self.writer.apart(f)
        back = [f"for (int i = 0; i < {n}; ++i)", f"    work[{a} + i] = work[{to} + i];"]
        before, kept_tables, go = self.tables_of_passes(i, f) if with_tables(f) else ([], [], "")
        self.lines += [*before, f"for (int64_t turn = 0; turn < {node[2]} && work[{a + n - 1}] != 1.0{go}; ++turn) {{", f"    {called}",
                       *indented([*back, *kept_tables]), "}", *copied]  # fmt: skip

    def tables_of_passes(self, i: int, f: Program) -> tuple[list[str], list[str], str]:
        """Return statements before the passes of a loop and after each, which keep of a pass's tables only those that are passed on; and
        the loop's condition."""
        top, go = f"const size_t top{i} = arena->top;", " && !arena->state"
        if not any(f.made):
            return [top], [f"arena->top = top{i};"], go
        self.helpers_of("table_keep")
        columns = f"static const int columns{i}[] = {{{', '.join(map(str, f.made))}}};"
        return [top, columns], [f"table_keep(arena, top{i}, {self.at(self.arguments)}, columns{i}, {len(f.made)});"], go
