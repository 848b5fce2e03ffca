"""LLVM IR of programs: scalar, or vectors of W lanes with one sample a lane.

A program becomes ``void @f(ptr in, ptr out, ptr work, i64 groups, i64 in.s, i64 out.s, i64 work.s)``. Memory is an array of lane vectors:
input k of all W samples stands at ``in + k``; those of the next group of W samples stand ``in.s`` bytes further, and so do outputs and
work. A long program is cut into segments, functions of a bounded number of nodes, so that LLVM's time grows linearly and code is fetched
once for several groups; a call ends a segment, and serves all groups too. A sample by itself is the only group. Values that cross a
border, the arguments and the results of calls live in ``work``, and so does what leaves the registers:
:mod:`engine.compiler.codegen.schedule` plans that, and LLVM follows. Sines and cosines of inputs, the joints' angles, are made first and
together. One sample's equal parts go in the lanes of vectors of their own, which stand in memory as numbers side by side
(:mod:`engine.compiler.codegen.lanes`). Only IEEE operations are emitted and none may be reordered, so lanes are independent bit for bit of
W, of the batch and of the threads. Multiply-adds are fused before, in the graph, by :func:`engine.compiler.codegen.schedule.fused`; no
lowering contracts a + b·c.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.compiler import debug, native_code
from engine.compiler.codegen import interrupt_checks
from engine.compiler.codegen.body import Body
from engine.compiler.codegen.counters import Counters
from engine.compiler.codegen.lanes import Laned, laned
from engine.compiler.codegen.schedule import blendable, fused, runs, segments, taken
from engine.compiler.codegen.short_loop import short_loop
from engine.compiler.codegen.work import laid_out
from engine.compiler.graph import exponentials, vecmath
from engine.compiler.graph.kernel import SIGNATURE, Kernel
from engine.compiler.graph.operations import CALLS, operands
from engine.compiler.graph.program import Program, live, size, truth_values
from engine.compiler.graph.vecmath import literal, splat, vector
from engine.compiler.kernels import arena
from engine.compiler.kernels.picks import Pick

#: nodes in one segment: what serves several groups should stay in the cache of decoded instructions (flat from 150 to 300)
SEGMENT = 250
#: nodes of a program that stands where it is called, at most
SHORT = 100
#: columns of a row of a table that is read there, at most
MANY = 16
#: zeros side by side among the outputs, such as between robots in a mass matrix, from which on they are one call, or LLVM would look at
#: their stores for a time that grows with the square of their number
ZEROS = 32
#: the same of numbers that stand side by side in memory, such as what a step passes on as it is
PASSED = 8
#: registers that are not planned with: what an operation overwrites must be copied first
SPARE = 1
#: parameters of a segment
INSIDE = ("ptr noalias readonly %in.0, ptr noalias %out.0, ptr noalias %work.0, i64 %groups, i64 %in.s, i64 %out.s, i64 %work.s, "
          "ptr noalias readonly %constants.m")  # fmt: skip
BASES = ("in", "out", "work")
#: a segment serves one group after another, and all of them before the next segment is fetched; where a group's memory begins is a whole
#: number, or LLVM would look at every address in the loop for what it has in common with others
FIRST = ["entry:", *(f"  %{p}.a = ptrtoint ptr %{p}.0 to i64" for p in BASES), "  br label %group", "group:",
         "  %g = phi i64 [0, %entry], [%g.n, %served]", *(f"  %{p}.i = phi i64 [%{p}.a, %entry], [%{p}.n, %served]" for p in BASES),
         "  %in = inttoptr i64 %in.i to ptr", "  %out = inttoptr i64 %out.i to ptr", "  %work.m = inttoptr i64 %work.i to ptr"]  # fmt: skip
NEXT = ["  br label %served", "served:", *(f"  %{p}.n = add i64 %{p}.i, %{p}.s" for p in BASES), "  %g.n = add i64 %g, 1",
        "  %more = icmp slt i64 %g.n, %groups", "  br i1 %more, label %group, label %end", "end:", "  ret void", "}"]  # fmt: skip
#: where each group is one sample, there is one: its memory begins where it is given
ALONE = INSIDE.replace("%in.0", "%in").replace("%out.0", "%out").replace("%work.0", "%work.m")


def middle(places: list[int], width: int) -> int:
    """Return the place that most of a segment's are near: within one byte's displacement, which AVX-512 counts in whole vectors."""
    near, places = 128 if width == 8 else 16 // width, sorted(places)
    first = max(range(len(places)), key=lambda i: bisect.bisect_left(places, places[i] + 2 * near) - i, default=-near)
    return places[first] + near if places else 0


class Module:
    """Writes the IR of programs for one width: functions are emitted once, in the order they are needed."""

    constants_are = "global"  # in memory that is written when the code is loaded: the numbers of another program

    def __init__(self, width: int, counters: Counters | None = None) -> None:
        self.width, self.counters = width, counters
        self.D, self.B = vector("double", width), vector("i1", width)
        self.text: list[str] = []
        self.declared: set[str] = set()
        self.apart: dict[str, str] = {}  # modules of their own, by the functions that they have
        self.constants: dict[tuple[str, ...], int] = {}  # as LLVM writes them -> where they stand in their table
        self.table: list[str] = []
        self.functions: dict[str, tuple[str, int]] = {}  # program key -> name, size of its work in vectors
        self.loops: dict[str, str] = {}  # the same of loops whose bodies stand within -> name
        self.unread: dict[str, int] = {}  # function of a branch that one sample takes -> how many of the first it is given it does not read
        self.held: dict[str, list[Held]] = {}  # function of a step that is repeated -> what it has in its work
        self.lent: Module | None = None  # of one sample's: functions on rows of tables, which stand in the lanes

    def rows(self, f: Program) -> Module:
        """The module of functions on rows of tables: one of vectors, or this one, where a function has tables of its own."""
        if f.single or (width := native_code.rows()) == 1:
            return self
        if self.lent is None:
            self.lent = Module(width)
            self.lent.constants_are = self.constants_are
        return self.lent

    def named(self, other: Module, name: str) -> str:
        """Return the name here of a function of another module."""
        return name if other is self else name.replace("@", "@rows.", 1)

    def counted(self, caller: str, called: Program, call: str) -> list[str]:
        """Return the line of a call, with its counters if there are any; ``caller`` is a program's key."""
        return [call] if self.counters is None else self.counters.around(caller, called.key, call)

    def once(self, name: str, text: str) -> str:
        """Add a declaration or definition that several functions share, if it is missing."""
        if name not in self.declared:
            self.declared.add(name)
            self.text.append(text)
        return name

    def bytes(self, n: int) -> int:
        """Size of n lane vectors."""
        return n * self.width * 8

    def registers(self) -> int:
        """Number of the processor's vector registers."""
        return native_code.registers()

    def most(self) -> int:
        """Number of lanes that one sample's equal parts are packed in."""
        return native_code.width() if self.width == 1 else 1

    def constant(self, *c: str) -> int:
        """Return the offset of constants that stand side by side in the module's table, where they are put if they are missing."""
        if c not in self.constants:
            self.constants[c] = len(self.table)
            self.table += c
        return self.constants[c]

    def sincos(self) -> str:
        self.once("@far", vecmath.FAR)
        self.once(f"@near{self.width}", vecmath.near(self.width))
        return self.once("@sincos", vecmath.sincos(self.width))

    def lanes(self, name: str) -> str:
        """Name of a function of :mod:`engine.compiler.graph.exponentials`."""
        return self.once(f"@{name}.lanes", getattr(exponentials, name)(self.width))

    def blend(self) -> str:
        """Name of the function that keeps a branch's arguments in lanes that do not take it."""
        return self.once("@blend", vecmath.blend(self.width))

    def stumpff(self) -> str:
        self.sincos()
        return self.once("@stumpff", vecmath.stumpff(self.width))

    def loop(self, program: Program, limit: int) -> str:
        """Name of the function that repeats a body, of n carried values whose last is the flag that ends the loop, up to a limit."""
        long = limit > interrupt_checks.PASSES
        if long:
            self.once("@look", interrupt_checks.look_in(self.constants_are))
        key, way_on = f"{program.key}{' long' * long}", "%on" if long else "%again"
        if self.is_short(program):
            if key not in self.loops:
                self.loops[key] = f"@loop{len(self.loops)}"
                self.text.append(short_loop(self, program, self.loops[key], long))
            return self.loops[key]
        body, n = self.functions[program.key][0], len(program.outputs)
        name, way = f"{body}.loop{'.long' * long}", interrupt_checks.next_pass("again") if long else "  br label %head"
        if program.takes:
            return arena.put_looping(self, name, body, program.made, interrupt_checks.next_pass("passed") if long else "")
        call = "\n".join(self.counted("", program, f"  call void {body}(ptr %in, ptr %out, ptr %work, i64 1, i64 0, i64 0, i64 0)"))
        D, one = self.D, splat("double", self.width, literal(1.0))
        bound = f"phi i64 [%limit, %entry], [%limit.next, {way_on}]" if long else "add i64 %limit, 0"
        return self.once(name, f"""define internal void {name}(ptr %in, ptr %out, ptr %work, i64 %limit) noinline nounwind {{
entry:
  %flag = getelementptr inbounds {D}, ptr %in, i64 {n - 1}
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, {way_on}]
  %limit.now = {bound}
  %done = load {D}, ptr %flag
  %left = fcmp une {D} %done, {one}
  %some = {vecmath.some(self.width, "%left")}
  %more = icmp slt i64 %i, %limit.now
  %go = and i1 %some, %more
  br i1 %go, label %again, label %end
again:
{call}
  call void @llvm.memcpy.p0.p0.i64(ptr %in, ptr %out, i64 {self.bytes(n)}, i1 false)
  %next = add i64 %i, 1
{way}
end:
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 {self.bytes(n)}, i1 false)
  ret void
}}""")

    @property
    def at_once(self) -> int:
        """Number of lane vectors of angles whose sines and cosines are computed together."""
        return 1 if self.width > 1 else 8

    def angles(self) -> str:
        """Name of the function that computes sines and cosines of angles in memory."""
        lanes = self.width * self.at_once
        self.once("@far", vecmath.FAR)
        self.once(f"@near{lanes}", vecmath.near(lanes))
        return self.once("@angles", vecmath.angles(lanes))

    def libm(self, name: str, arity: int) -> str:
        """Name of the function that is the C library's ``name`` on every lane."""
        self.once(f"@{name}", f"declare double @{name}({', '.join(['double'] * arity)})")
        return self.once(f"@lanes.{name}", vecmath.lanewise(name, arity, self.width)) if self.width > 1 else f"@{name}"

    def function(self, program: Program, branch: bool = False, short: bool = False, again: int | None = None) -> tuple[str, int]:
        """Return the name of a program's function, and the size of its work in lane vectors. It may be a ``branch`` that one sample takes,
        or ``short`` of its last result. A step whose outputs are the next call's inputs, from number ``again`` on, keeps some of them in
        its work all the time: see :func:`remembered`."""
        key = f"{program.key}{' taken' * branch}{' short' * short}{'' if again is None else ' again'}"
        if key not in self.functions and isinstance(program, Kernel):
            name = f"@f{len(self.functions)}"
            self.functions[key] = name, 0                                      # the name is taken
            self.functions[key] = name, program.emit(self, name) or 0
        elif key not in self.functions:
            with debug.stage("fusing"):
                nodes, outputs = taken(*fused(program)) if branch else fused(program)
            nodes, outputs = live(nodes, outputs[:-1]) if short else (nodes, outputs)
            with debug.stage("packing"):
                made = laned(nodes, outputs, [size(s) for s in program.shapes_in], self.most())
            called, there = {node[1] for node in nodes if node[0] in CALLS}, passed(made, program.functions)
            without = {made.nodes[i][1] for i in there}                        # functions whose last result nobody reads
            whole = {node[1] for node in nodes if node[0] in CALLS
                     and not (node[0] == "loop" and node[2] == 1 and (self.width == 1 or blendable(program.functions[node[1]])))}
            bodies = called - {node[1] for node in nodes if node[0] == "call" or (node[0] == "loop" and node[2] == 1)}
            callees = {k: ("", int(f.tabled)) if k in bodies and self.is_short(f) else self.function(f, k not in whole, k in without)
                       for k, f in enumerate(program.functions) if k in called}  # fmt: skip
            held = {} if again is None or program.tabled else remembered(made, there, program.functions, again)
            self.functions[key] = self._emit(program, made, callees, there, held)
            self.held |= {self.functions[key][0]: [*held.values()]} if again is not None else {}
            if branch:
                first = min((node[1] for node in nodes if node[0] == "input"), default=program.n_in)
                self.unread[self.functions[key][0]] = first
        return self.functions[key]

    def is_short(self, program: Program) -> bool:
        """Return whether a program of numbers is small enough to be inlined where it is called."""
        if isinstance(program, Kernel) or program.takes or self.counters is not None or program.n_in > SHORT:
            return False
        nodes, _ = fused(program)
        inside = [program.functions[node[1]] for node in nodes if node[0] in CALLS]
        return len(nodes) <= SHORT and all(isinstance(f, Pick) and f.m <= MANY for f in inside)

    def straight(self, program: Program, given: Sequence[str], caller: Module, going: bool = False) -> tuple[list[str], list[str]]:
        """Return the lines of a short program (:meth:`is_short`) inlined in a caller, where constants are at ``%constants``, and its
        results. If ``going``, it is the body of a loop that has not ended."""
        nodes, outputs = taken(*fused(program)) if going else fused(program)
        body = Body(self, Laned(nodes, outputs), {}, {}, truth_values(nodes))
        body.inline = True
        body.have = {i: given[node[1]] for i, node in enumerate(nodes) if node[0] == "input"}
        for i in range(len(nodes)):
            body.emit(i, program, {}, 0, 0)
        results = [body.result(i) for i in outputs]
        lines = "\n".join(body.lines).replace("load volatile", "load")
        names = {name for name in re.findall(r"@[\w.]+", lines) if not name.startswith("@llvm.")}
        of_c = {t.split("(")[0].split()[-1] for t in self.text if t.startswith("declare ")} if len(names) > 1 else set()
        for name in names - of_c:
            lines = re.sub(rf"{re.escape(name)}(?![\w.])", caller.named(self, name), lines)
        return lines.splitlines(), results

    def _emit(self, program: Program, made: Laned, callees, there: dict[int, int], held: Mapping[int, Held]) -> tuple[str, int]:
        nodes, outputs = made.nodes, made.outputs
        name, parts = f"@f{len(self.functions)}", segments(nodes, SEGMENT)
        with debug.stage("planning"):
            room = sum(h.size for h in held.values())
            plan = laid_out(made, program.functions, callees, parts, self.registers() - SPARE, self.at_once, room)
        slot, place, evictions, arguments, callee_work = plan.slot, plan.place, plan.evictions, plan.arguments, plan.lent
        left = {j: there[node[1]] + node[2] for j, node in enumerate(nodes) if node[0] == "get" and node[1] in there} | there
        home = dict(left)                                                      # the output that is there already
        for h in held.values():
            place.update({i: left.pop(i) - h.first + h.place for i, k in home.items() if h.first <= k < h.first + h.size})
            place.update({i: node[1] - h.given + h.place for i, node in enumerate(nodes)
                          if node[0] == "input" and h.given <= node[1] < h.given + h.size})  # fmt: skip
        place.update(left)
        writes: dict[int, list[int]] = {}
        for k, i in enumerate(outputs):
            if home.get(i) != k:
                writes.setdefault(i, []).append(k)
        truths = truth_values(nodes)
        bodies = []
        whole = Body(self, made, slot, place, truths, left, held)                  # what is done at once, at the end
        for k, n, stand in [*runs([None if i in slot or home.get(i) == k else whole.stands(i) for k, i in enumerate(outputs)])]:
            if stand is None or n < (ZEROS if stand[1] is None else PASSED):
                continue
            whole.moved("%out", k, stand, n)
            for i in dict.fromkeys(outputs[k : k + n]):
                writes[i] = [j for j in writes[i] if not k <= j < k + n]
        if turned := [*plan.turned]:
            body = Body(self, made, slot, place, truths, left, held)
            for k in range(plan.room):
                body.store(body.value(turned[min(k, len(turned) - 1)]), "%work", plan.angles + k)
            places = ", ".join(f"ptr {body.at('%work', plan.angles + k * plan.room)}" for k in range(3))
            body.lines.append(f"  call void {self.angles()}({places}, i64 {plan.room * self.width})")
            bodies.append((body, -1))
        for part in parts:
            body = Body(self, made, slot, place, truths, left, held)
            for i in part:
                for j in evictions.get(i, ()):
                    body.have.pop(j, None)
                body.emit(i, program, callees, arguments, callee_work)
                for k in writes.get(i, ()):
                    body.store(body.result(i), "%out", k)
            bodies.append((body, part[-1]))
        bodies += [(whole, -1)] if whole.lines else []
        text = [f"define internal void {name}({SIGNATURE}) nounwind {{"]
        for s, (body, last) in enumerate(bodies):
            near = {base: self.bytes(middle(places, self.width)) for base, places in body.used.items()}
            own = [f"  {base} = getelementptr i8, ptr {base}.m, i64 {-there}" for base, there in near.items()]
            given, first, end = (INSIDE, FIRST, NEXT) if self.width > 1 else (ALONE, ["entry:"], ["  ret void", "}"])
            lines = [f"void {name}.{s}({given}) noinline nounwind {{", *first, *own, *body.lines, *end]
            calls = any("@" in line and "@llvm." not in line for line in body.lines)
            self.text.append(f"define {'internal' if calls else 'hidden'} " + "\n".join(lines))
            text.append(f"  %near{s} = getelementptr i8, ptr %work, i64 {near['%work']}")
            constants = f"ptr getelementptr (i8, ptr @constants, i64 {near['%constants']})"
            text.append(f"  call void {name}.{s}({SIGNATURE.replace('%work,', f'%near{s},')}, {constants})")
            if last >= 0 and nodes[last][0] == "call":
                for p, k in (("from", arguments), ("to", place[last]), ("with", callee_work)):
                    text.append(f"  %{p}{s} = getelementptr i8, ptr %work, i64 {self.bytes(k)}")
                places = f"ptr %from{s}, ptr %to{s}, ptr %with{s}"
                call = f"  call void {callees[nodes[last][1]][0]}({places}, i64 %groups{', i64 %work.s' * 3})"
                text += self.counted(program.key, program.functions[nodes[last][1]], call)
        self.text.append("\n".join([*text, "  ret void", "}"]))
        return name, plan.size

    def __str__(self) -> str:
        rows = ", ".join(f"{self.D} {splat('double', self.width, c)}" for c in self.table)
        table = f"@constants = {self.constants_are} [{len(self.table)} x {self.D}] [{rows}]"
        apart = [f"\f{text}\f" for text in self.apart.values()]
        return "\n".join([*([] if self.counters is None else [str(self.counters)]), table, *self.text, *self.renamed(), *apart])

    def renamed(self) -> list[str]:
        """Return the text of the functions on rows, renamed to the names by which they are called here; functions of C keep theirs."""
        text = "" if self.lent is None else str(self.lent)
        declared, here = (declarations(t) for t in (text, "\n".join(self.text)))
        own = re.sub(r"@([\w.]+)", lambda m: m[0] if m[1] in declared or m[1].startswith("llvm.") else f"@rows.{m[1]}",
                     "\n".join(line for line in text.split("\n") if not line.startswith("declare ")))  # fmt: skip
        return [*(line for name, line in declared.items() if name not in here), own] if text else []


def passed(made: Laned, functions: Sequence[Program]) -> dict[int, int]:
    """Return the branches whose results can be written straight to the outputs: node -> the first output. These results are outputs side by
    side, and nobody reads the flag that says whether the branch was taken; a state that a branch leaves as it is moves once."""
    nodes, outputs = made.nodes, made.outputs
    results: dict[int, dict[int, int]] = {}                                    # of loops, those that are read, by their numbers
    for i, node in enumerate(nodes):
        if node[0] == "get":
            results.setdefault(node[1], {})[node[2]] = i
    packed, found = {j for node in nodes if node[0] == "pack" for j in node[1:]}, dict[int, int]()
    for i, own in results.items():
        f = functions[nodes[i][1]]
        n, first = len(f.outputs) - 1, outputs.index(own[0]) if own.get(0) in outputs else len(outputs)
        once = nodes[i][0] == "loop" and nodes[i][2] == 1 and not f.tabled and len({j for j in nodes if j[:2] == nodes[i][:2]}) == 1
        if once and n not in own and packed.isdisjoint(own.values()) and outputs[first : first + n] == [own.get(k) for k in range(n)]:
            found[i] = first
    return found


class Held(NamedTuple):
    """A part of a step's state that stays in its work: inputs from ``given`` on, outputs from ``first`` on, so many, from ``place`` on."""

    given: int
    first: int
    size: int
    place: int


def remembered(made: Laned, there: Mapping[int, int], functions: Sequence[Program], again: int) -> dict[int, Held]:
    """Return the branches of :func:`passed` whose values can stay in the step's scratch memory. A step's outputs are the next one's inputs,
    from number ``again`` on; such a branch returns what it is given at the same place, and nobody reads it after the branch: it need not
    move where that is not taken."""
    nodes, found, room = made.nodes, dict[int, Held](), 0
    last = {j: i for i, node in enumerate(nodes) for j in operands(node)}
    for i, first in there.items():
        n = len(functions[nodes[i][1]].outputs) - 1
        given = operands(nodes[i])[:n]
        same = [nodes[j] for j in given] == [("input", again + first + k) for k in range(n)]
        if same and all(last[j] == i for j in given) and {*given}.isdisjoint(made.outputs):
            found[i] = Held(again + first, first, n, room)
            room += n
    return found


def declarations(text: str) -> dict[str, str]:
    """Return the lines of IR that declare functions, by their names."""
    return {line.split("@")[1].split("(")[0]: line for line in text.split("\n") if line.startswith("declare ")}


def put_finite(m: Module) -> None:
    """Add ``all_finite(x, n)``: x − x is +0, all of whose bits are zero, unless x is not finite; bits are joined, with no wait."""
    m.once("@all_finite", """define internal i1 @all_finite(ptr %x, i64 %n) {
entry:
  %blocks = and i64 %n, -8
  br label %head
head:
  %j = phi i64 [0, %entry], [%next, %body]
  %so.far = phi <8 x i64> [zeroinitializer, %entry], [%worse, %body]
  %more = icmp slt i64 %j, %blocks
  br i1 %more, label %body, label %reduce
body:
  %p = getelementptr double, ptr %x, i64 %j
  %v = load <8 x double>, ptr %p, align 8
  %zero = fsub <8 x double> %v, %v
  %bits = bitcast <8 x double> %zero to <8 x i64>
  %worse = or <8 x i64> %so.far, %bits
  %next = add i64 %j, 8
  br label %head
reduce:
  %joined = bitcast <8 x i64> %so.far to <8 x double>
  %nan = fcmp uno <8 x double> %joined, zeroinitializer
  %nans = bitcast <8 x i1> %nan to i8
  %first = icmp ne i8 %nans, 0
  br label %rest
rest:
  %k = phi i64 [%blocks, %reduce], [%knext, %one]
  %bad = phi i1 [%first, %reduce], [%badnext, %one]
  %left = icmp slt i64 %k, %n
  br i1 %left, label %one, label %done
one:
  %q = getelementptr double, ptr %x, i64 %k
  %y = load double, ptr %q, align 8
  %d = fsub double %y, %y
  %isnan = fcmp uno double %d, 0.0
  %badnext = or i1 %bad, %isnan
  %knext = add i64 %k, 1
  br label %rest
done:
  %good = xor i1 %bad, true
  ret i1 %good
}""")
