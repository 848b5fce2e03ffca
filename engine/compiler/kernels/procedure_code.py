"""Procedures in LLVM IR: loops over numbers and arrays in memory, in a small part of Python.

What there is: ``for k in range(…)``, ``while``, ``if``, ``break``, ``continue``, ``return`` at the end, and what
:mod:`engine.compiler.kernels.procedure_values` says. A variable is of the kind that it is at first.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from engine.checks import EngineError
from engine.compiler.kernels import arena
from engine.compiler.kernels.arena import TableWriter
from engine.compiler.kernels.procedure_values import BEFORE, NOTHING, TYPES, Function, Number, Rows, Values


class Library:
    """Procedures in LLVM IR, each once for what it is given."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self.first: Sequence[str] = ["ptr %arena"] if checked else []
        self.functions: dict[tuple[Any, ...], Function] = {}

    def function(self, fn: Callable[..., Any], given: Sequence[Number | Rows]) -> Function:
        """Return a procedure that another calls with arguments such as these."""
        kinds = tuple(x.kind if isinstance(x, Number) else (x.kind, x.columns, x.own) for x in given)
        if (fn, kinds) not in self.functions:
            name = f"@called{len(self.functions)}"
            self.functions[fn, kinds] = Function(name, "")                     # which another of this name would take
            self.functions[fn, kinds] = Procedure(self, fn, inner=True).called(name, given)
        return self.functions[fn, kinds]


def parsed(fn: Callable[..., Any]) -> ast.FunctionDef:
    """Return the lines of a function."""
    found = None
    try:
        with contextlib.suppress(SyntaxError):                                 # a lambda within a line
            found = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    except (OSError, TypeError):
        raise EngineError(f"the lines of the procedure '{getattr(fn, '__name__', fn)}' are not to be found; expected a function that is "
                          "defined in a file, or a cell of a notebook") from None  # fmt: skip
    if not isinstance(found, ast.FunctionDef):
        raise EngineError(f"the procedure '{fn.__name__}' is no function of lines; expected def {fn.__name__}(…):")
    return found


class Procedure(Values):
    """Writes one procedure: its lines one after another, its variables in memory, which LLVM puts into registers."""

    def __init__(self, library: Library, fn: Callable[..., Any], inner: bool) -> None:
        super().__init__(library, fn)
        self.tree, self.returns, self.inner = parsed(fn), "", inner
        self.loops: list[tuple[str, str]] = []                                 # labels to go on, and to end
        self.results: list[tuple[Rows, str]] | None = None                     # arrays that are returned, and of how many rows

    # ------------------------------------------------------------ the whole

    def write(self, given: Sequence[Number | Rows]) -> None:
        """Write the lines, of arguments that lie there."""
        for a, x in zip(self.tree.args.args, given, strict=True):
            self.assign(a.arg, x, a)
        self.block(self.tree.body)

    def whole_of(self, given: Sequence[Number | Rows]) -> list[tuple[Rows, str]]:
        """Write the lines of one that makes tables, and return these, and of how many rows."""
        self.write(given)
        if self.results is None:
            raise EngineError(f"{self.fn.__name__} returns no arrays; expected some that it has made")
        if any(x.kind != "number" or not x.own or any(x is y for y, _ in self.results[:k]) for k, (x, _) in enumerate(self.results)):
            raise EngineError(f"{self.fn.__name__} returns an array of whole numbers, one twice, or one that it was given; expected floats "
                              "that it has made")  # fmt: skip
        return self.results

    def called(self, name: str, given: Sequence[Number | Rows]) -> Function:
        """A function of the library's, of arguments such as these."""
        at = [f"%a{k}" for k in range(len(given))]
        self.write([Rows(x.kind, x.columns, a, f"{a}.n", x.own) if isinstance(x, Rows) else Number(x.kind, a)
                    for a, x in zip(at, given, strict=True)])  # fmt: skip
        if self.results is not None:
            raise EngineError(f"{self.fn.__name__} returns arrays to another procedure; expected a number, or nothing")
        returned = TYPES[self.returns] if self.returns else "void"
        if not self.ended:
            self.lines.append("  ret void")
        arguments = [*self.library.first, *(f"ptr noalias {a}, i64 {a}.n" if isinstance(x, Rows) else f"{TYPES[x.kind]} {a}"
                     for a, x in zip(at, given, strict=True))]  # fmt: skip
        text = "\n".join([f"define internal {returned} {name}({', '.join(arguments)}) nounwind {{", "entry:", *self.begin,
                          "  br label %lines", "lines:", *self.lines,
                          *self.outside(f"ret {returned}{f' {NOTHING[self.returns]}' if self.returns else ''}"), "}"])  # fmt: skip
        return Function(name, text, self.returns)

    def block(self, body: Sequence[ast.stmt]) -> None:
        for s in body:
            if not self.ended:
                getattr(self, f"do_{type(s).__name__}", self.unknown)(s)

    # ------------------------------------------------------------ statements

    def do_Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):                              # a docstring
            self.value(s.value)

    def do_Pass(self, s: ast.Pass) -> None:
        pass

    def do_Break(self, s: ast.Break) -> None:
        self.go(self.loops[-1][1])

    def do_Continue(self, s: ast.Continue) -> None:
        self.go(self.loops[-1][0])

    def do_Assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        if isinstance(target, ast.Tuple):
            assert isinstance(s.value, ast.Tuple)
            values = [self.value(x) for x in s.value.elts]
            for t, x in zip(target.elts, values, strict=True):
                self.store(t, x)
        else:
            self.store(target, self.value(s.value))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        self.store(s.target, self.arithmetic(s, type(s.op), self.number(s.target), self.number(s.value)))

    def store(self, target: ast.expr, x: Number | Rows) -> None:
        """Assign a value to a variable, or to an entry of an array."""
        if isinstance(target, ast.Name):
            return self.assign(target.id, x, target)
        if not isinstance(target, ast.Subscript) or isinstance(x, Rows):
            raise self.refuse(target, "is not what can be assigned")
        rows, place = self.entry(target)
        if not rows.own:
            raise self.refuse(target, "is the caller's, and is not to be changed")
        x = self.as_kind(x, rows.kind, target)
        self.lines.append(f"  store {TYPES[x.kind]} {x.name}, ptr {place}")

    def assign(self, name: str, x: Number | Rows, node: ast.AST) -> None:
        if isinstance(x, Rows):
            if name in self.names:
                raise self.refuse(node, "is an array made again")
            self.names[name] = x
            return
        known = self.names.get(name)
        if known is None and x.kind not in TYPES:
            raise self.refuse(node, "is what a procedure returns that returns nothing")
        if known is None:
            self.count += 1                                                    # a number, as Python's names may be none of LLVM's
            self.begin.append(f"  %x{self.count} = alloca {TYPES[x.kind]}")
            known = self.names[name] = Number(x.kind, f"%x{self.count}")
        if isinstance(known, Rows):
            raise self.refuse(node, "is an array")
        x = self.as_kind(x, known.kind, node)
        self.lines.append(f"  store {TYPES[x.kind]} {x.name}, ptr {known.name}")

    def do_If(self, s: ast.If) -> None:
        yes, no, end = self.label(), self.label(), self.label()
        self.condition(s.test, yes, no)
        ends = []
        for label, body in ((yes, s.body), (no, s.orelse)):
            self.at(label)
            self.block(body)
            ends.append(self.ended)
            self.go(end)
        if not all(ends):
            self.at(end)

    def do_While(self, s: ast.While) -> None:
        head, body, end = self.label(), self.label(), self.label()
        self.at(head)
        self.condition(s.test, body, end)
        self.at(body)
        self.loops.append((head, end))
        self.block(s.body)
        self.loops.pop()
        self.go(head)
        self.at(end)

    def do_For(self, s: ast.For) -> None:
        """for k in range(…), whose ends are found once."""
        call = s.iter
        ranged = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not ranged or not isinstance(call, ast.Call) or not isinstance(s.target, ast.Name):
            raise self.refuse(s.iter, "is not a range")
        given = [self.whole(x) for x in call.args]
        first, last = (Number("whole", "0"), given[0]) if len(given) == 1 else given[:2]
        step = given[2].name if len(given) == 3 else "1"
        if step not in ("1", "-1"):
            raise self.refuse(call, "goes neither by 1 nor by -1")
        self.count += 1
        k = f"%k{self.count}"
        self.begin.append(f"  {k} = alloca i64")
        self.lines.append(f"  store i64 {first.name}, ptr {k}")
        head, body, on, end = self.label(), self.label(), self.label(), self.label()
        self.at(head)
        now = self.put(f"load i64, ptr {k}")
        self.branch(Number("truth", self.put(f"icmp {'slt' if step == '1' else 'sgt'} i64 {now}, {last.name}")), body, end)
        self.at(body)
        self.assign(s.target.id, Number("whole", now), s.target)
        self.loops.append((on, end))
        self.block(s.body)
        self.loops.pop()
        self.at(on)
        after = self.put(f"add nsw i64 {self.put(f'load i64, ptr {k}')}, {step}")
        self.lines.append(f"  store i64 {after}, ptr {k}")
        self.go(head)
        self.at(end)

    def do_Return(self, s: ast.Return) -> None:
        values = s.value.elts if isinstance(s.value, ast.Tuple) else [] if s.value is None else [s.value]
        found = [self.result(x) for x in values]
        if len(found) == 1 and isinstance(found[0], Number):
            if self.returns and self.returns != found[0].kind:
                raise self.refuse(s, f"is not a {self.returns}")
            self.returns = found[0].kind
            self.lines.append(f"  ret {TYPES[self.returns]} {found[0].name}")
        elif found:
            if s is not self.tree.body[-1]:
                raise self.refuse(s, "returns arrays before the end")
            self.results = [x for x in found if isinstance(x, tuple)]
            self.go("end")
        else:
            self.lines.append("  ret void")
        self.ended = True

    def result(self, x: ast.expr) -> Number | tuple[Rows, str]:
        """A number, or an array and how many of its rows."""
        if isinstance(x, ast.Subscript) and isinstance(x.slice, ast.Slice) and x.slice.upper and not x.slice.lower:
            rows, n = self.rows(x.value), self.whole(x.slice.upper).name
            self.require(n, rows.count, "ule")
            return rows, n
        found = self.value(x)
        return (found, found.count) if isinstance(found, Rows) else found


def module_of(fn: Callable[..., Any], name: str, given: Sequence[int], checked: bool = False) -> tuple[str, list[int]]:
    """IR of a module with a procedure of tables and numbers, ``void name(ptr arena, ptr in, ptr out)``, and how many columns the tables
    that it returns have.

    ``given`` says of each input how many columns it has: −1 of a number, 0 of a table (n). In and out are tables' descriptors, and numbers.
    One that is ``checked`` looks whether entries are there.
    """
    w = TableWriter([])
    arguments: list[Number | Rows] = []
    for k, m in enumerate(given):
        if m < 0:
            arguments.append(Number("number", w.element("%in", k, "double")))
        else:
            descriptor = w.element("%in", k, "ptr")
            arguments.append(Rows("number", m, w.element(descriptor, 1, "ptr"), w.element(descriptor, 0), own=False))
    library = Library(checked)
    main = Procedure(library, fn, inner=False)
    main.count = w.count
    results = main.whole_of(arguments)
    lines = [*main.lines, "end:"]
    for k, (rows, n) in enumerate(results):
        memory = f"%end{k}"
        lines += [f"  {memory} = getelementptr i8, ptr {rows.at}, i64 -{BEFORE}", f"  store i64 {n}, ptr {memory}",
                  f"  {memory}.r = getelementptr i64, ptr {memory}, i64 1", f"  store ptr {rows.at}, ptr {memory}.r",
                  f"  {memory}.o = getelementptr ptr, ptr %out, i64 {k}", f"  store ptr {memory}, ptr {memory}.o"]  # fmt: skip
    lines += ["  ret void", *main.outside("br label %none"), "none:"]
    for k in range(len(results)):
        lines += [f"  %none{k} = getelementptr ptr, ptr %out, i64 {k}", f"  store ptr @table.none, ptr %none{k}"]
    text = "\n".join([f"define hidden void {name}(ptr %arena, ptr %in, ptr %out) nounwind {{", "entry:", *w.lines, *main.begin,
                      "  br label %lines", "lines:", *lines, "  ret void", "}"])  # fmt: skip
    memory_text = ["declare ptr @malloc(i64)", "declare void @free(ptr)", f"@arena.most = internal constant i64 {arena.MOST}", arena.TEXT]
    return "\n\n".join([*memory_text, *(f.text for f in library.functions.values()), text]), [rows.columns for rows, _ in results]
