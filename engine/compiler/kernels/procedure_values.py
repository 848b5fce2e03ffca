"""Values in procedures, in LLVM IR: numbers, arrays, and expressions as people write them.

What there is: + − * / // % (// and % of whole numbers from 0), & | ^ << >> of whole numbers, comparisons, ``and``, ``or``, ``not``,
``a if c else b``; ``int``, ``float``, ``abs``, ``len``, ``min`` and ``max`` of two, ``sqrt``, ``floor``, ``bit_count``, ``lowest_bit``;
arrays of zeros (``floats(n)``, ``floats(n, columns)``, ``ints(n)``); other procedures. Every operation rounds by itself, as Python's do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.checks import EngineError
from engine.compiler.graph.vecmath import literal
from engine.compiler.kernels.arena import MOST, NO_ROW, STATE

#: kinds of numbers, and their types in LLVM IR
TYPES = {"whole": "i64", "number": "double", "truth": "i1"}
#: what a procedure returns that ends before its end
NOTHING = {"whole": "0", "number": "0.0", "truth": "false"}
#: operations of whole numbers and of numbers
ARITHMETIC = {ast.Add: ("add", "fadd"), ast.Sub: ("sub", "fsub"), ast.Mult: ("mul", "fmul"), ast.Div: ("", "fdiv"),
              ast.FloorDiv: ("sdiv", ""), ast.Mod: ("srem", ""), ast.BitAnd: ("and", ""), ast.BitOr: ("or", ""), ast.BitXor: ("xor", ""),
              ast.LShift: ("shl", ""), ast.RShift: ("ashr", "")}  # fmt: skip
COMPARED = {ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"), ast.Gt: ("sgt", "ogt"), ast.GtE: ("sge", "oge"), ast.Eq: ("eq", "oeq"),
            ast.NotEq: ("ne", "une")}  # fmt: skip
#: of two numbers, whole or not; of these the first where they are equal or one is NaN, as Python's
OF_TWO = {"min": ("slt", "olt"), "max": ("sgt", "ogt")}
OF_ONE = {"sqrt": "llvm.sqrt.f64", "floor": "llvm.floor.f64", "abs": "llvm.fabs.f64"}
OF_BITS = {"bit_count": "llvm.ctpop.i64(i64 {})", "lowest_bit": "llvm.cttz.i64(i64 {}, i1 false)"}
#: what is said of any other line
UNKNOWN = ("is not what procedures have; expected numbers, comparisons, entries of arrays, floats, ints, len, int, float, abs, min, max, "
           "sqrt, floor, or a function of such lines")
#: bytes before an array's first entry, where a table's descriptor has room
BEFORE = 64


@dataclass(frozen=True)
class Number:
    """A number: its kind, and its name in LLVM IR."""

    kind: str
    name: str


@dataclass(frozen=True)
class Rows:
    """An array (n, columns), of one axis where columns are 0: of what kind, and the names of where its first entry is and of n."""

    kind: str
    columns: int
    at: str
    count: str
    own: bool = True  # whether it was made here, or in a procedure that calls this one


@dataclass
class Function:
    """A procedure that others call: its name and text in LLVM IR, and the kind of number that it returns, if it does."""

    name: str
    text: str
    returns: str = ""


class Functions(Protocol):
    """Procedures that others call; whether all look whether entries are there, and their first arguments, by which they say so."""

    checked: bool
    first: Sequence[str]

    def function(self, fn: Callable[..., Any], given: Sequence[Number | Rows]) -> Function:
        """Return a procedure for arguments such as these."""


class Values:
    """Writes expressions, one instruction after another; variables lie in memory, which LLVM puts into registers."""

    def __init__(self, library: Functions, fn: Callable[..., Any]) -> None:
        self.library, self.fn = library, fn
        self.lines: list[str] = []
        self.begin: list[str] = []                                             # of variables
        self.names: dict[str, Number | Rows] = {}                              # variables: of numbers, where they lie
        self.count, self.ended, self.inner = 0, False, False                   # inner: whether another procedure calls it

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"l{self.count}"

    def go(self, label: str) -> None:
        """Go on at a label, unless the block has ended."""
        if not self.ended:
            self.lines.append(f"  br label %{label}")
        self.ended = True

    def at(self, label: str) -> None:
        """Begin a block, where the one before leads if it has not ended."""
        self.go(label)
        self.lines.append(f"{label}:")
        self.ended = False

    def branch(self, c: Number, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {c.name}, label %{yes}, label %{no}")
        self.ended = True

    def refuse(self, node: ast.AST, what: str) -> EngineError:
        line = getattr(node, "lineno", 1) + self.fn.__code__.co_firstlineno - 1
        return EngineError(f"{self.fn.__code__.co_filename}:{line}: in the procedure '{self.fn.__name__}', `{ast.unparse(node)}` {what}")

    def unknown(self, s: ast.AST) -> Any:
        raise self.refuse(s, UNKNOWN)

    # ------------------------------------------------------------ values

    def value(self, e: ast.expr) -> Number | Rows:
        found: Number | Rows = getattr(self, f"of_{type(e).__name__}", self.unknown)(e)
        return found

    def number(self, e: ast.expr) -> Number:
        x = self.value(e)
        if isinstance(x, Rows):
            raise self.refuse(e, "is an array, not a number")
        return x

    def whole(self, e: ast.expr) -> Number:
        return self.as_kind(self.number(e), "whole", e)

    def rows(self, e: ast.expr) -> Rows:
        x = self.value(e)
        if not isinstance(x, Rows):
            raise self.refuse(e, "is a number, not an array")
        return x

    def as_kind(self, x: Number | Rows, kind: str, node: ast.AST) -> Number:
        """Return a number converted to a kind: integers become floats, not the other way."""
        if isinstance(x, Number) and x.kind == kind:
            return x
        if isinstance(x, Number) and (x.kind, kind) == ("whole", "number"):
            return Number(kind, self.put(f"sitofp i64 {x.name} to double"))
        raise self.refuse(node, f"is not a {kind}")

    def of_Constant(self, e: ast.Constant) -> Number:
        if isinstance(e.value, bool):
            return Number("truth", str(e.value).lower())
        if isinstance(e.value, int):
            return Number("whole", str(e.value))
        if isinstance(e.value, float):
            return Number("number", literal(e.value))
        raise self.refuse(e, "is not a number")

    def of_Name(self, e: ast.Name) -> Number | Rows:
        x = self.names.get(e.id)
        if x is None:                                                          # of the module
            known = self.fn.__globals__.get(e.id)
            if isinstance(known, (int, float)):
                return self.of_Constant(ast.copy_location(ast.Constant(known), e))
            raise self.refuse(e, "is not known")
        return x if isinstance(x, Rows) else Number(x.kind, self.put(f"load {TYPES[x.kind]}, ptr {x.name}"))

    def of_Subscript(self, e: ast.Subscript) -> Number:
        rows, place = self.entry(e)
        return Number(rows.kind, self.put(f"load {TYPES[rows.kind]}, ptr {place}"))

    def require(self, k: str, n: str, how: str = "ult") -> None:
        """Check that an index is from 0 below n, in a procedure that checks indices."""
        if self.library.checked:
            there = self.label()
            self.branch(Number("truth", self.put(f"icmp {how} i64 {k}, {n}")), there, "outside")
            self.at(there)

    def outside(self, end: str) -> list[str]:
        """Return the block for an index out of range: mark the arena's state as for a missing row, then ``end``."""
        if not self.library.checked:
            return []
        return ["outside:", f"  %state.p = getelementptr i64, ptr %arena, i64 {STATE}", "  %state = load i64, ptr %state.p",
                f"  %marked = or i64 %state, {NO_ROW}", "  store i64 %marked, ptr %state.p", f"  {end}"]  # fmt: skip

    def entry(self, e: ast.Subscript) -> tuple[Rows, str]:
        """An array, and where an entry of it lies."""
        rows = self.rows(e.value)
        index = [self.whole(x) for x in (e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice])]
        if len(index) != (2 if rows.columns else 1):
            raise self.refuse(e, f"has {len(index)} numbers")
        k = index[0].name
        for number, n in zip(index, (rows.count, str(rows.columns)), strict=False):
            self.require(number.name, n)
        if rows.columns:
            k = self.put(f"add nsw i64 {self.put(f'mul nsw i64 {k}, {rows.columns}')}, {index[1].name}")
        return rows, self.put(f"getelementptr inbounds {TYPES[rows.kind]}, ptr {rows.at}, i64 {k}")

    def of_UnaryOp(self, e: ast.UnaryOp) -> Number:
        x = self.number(e.operand)
        if isinstance(e.op, ast.Not) and x.kind == "truth":
            return Number("truth", self.put(f"xor i1 {x.name}, true"))
        if isinstance(e.op, ast.USub) and x.kind == "whole":
            return Number("whole", f"-{x.name}" if x.name.isdigit() else self.put(f"sub nsw i64 0, {x.name}"))
        if isinstance(e.op, ast.USub) and x.kind == "number":
            return Number("number", self.put(f"fneg double {x.name}"))
        raise self.refuse(e, UNKNOWN)

    def of_BinOp(self, e: ast.BinOp) -> Number:
        return self.arithmetic(e, type(e.op), self.number(e.left), self.number(e.right))

    def arithmetic(self, node: ast.AST, op: type[ast.operator], a: Number, b: Number) -> Number:
        of_wholes, of_numbers = ARITHMETIC.get(op, ("", ""))
        if a.kind == b.kind == "whole" and of_wholes:
            nsw = " nsw" if of_wholes in ("add", "sub", "mul") else ""
            return Number("whole", self.put(f"{of_wholes}{nsw} i64 {a.name}, {b.name}"))
        if of_numbers:
            a, b = self.as_kind(a, "number", node), self.as_kind(b, "number", node)
            return Number("number", self.put(f"{of_numbers} double {a.name}, {b.name}"))
        raise self.refuse(node, UNKNOWN)

    def alike(self, a: Number, b: Number, node: ast.AST) -> tuple[Number, Number]:
        return (a, b) if a.kind == b.kind else (self.as_kind(a, "number", node), self.as_kind(b, "number", node))

    def of_Compare(self, e: ast.Compare) -> Number:
        """a < b, or a < b < c."""
        terms = [self.number(x) for x in (e.left, *e.comparators)]
        found = ""
        for op, a, b in zip(e.ops, terms, terms[1:], strict=False):
            a, b = self.alike(a, b, e)
            how = COMPARED[type(op)][a.kind == "number"]
            one = self.put(f"{'f' if a.kind == 'number' else 'i'}cmp {how} {TYPES[a.kind]} {a.name}, {b.name}")
            found = self.put(f"and i1 {found}, {one}") if found else one
        return Number("truth", found)

    def condition(self, e: ast.expr, yes: str, no: str) -> None:
        """Jump to one of two labels by a condition; an operand that does not matter is not evaluated."""
        if isinstance(e, ast.BoolOp):
            for x in e.values[:-1]:
                after = self.label()
                self.condition(x, *((after, no) if isinstance(e.op, ast.And) else (yes, after)))
                self.at(after)
            return self.condition(e.values[-1], yes, no)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.condition(e.operand, no, yes)
        return self.branch(self.as_kind(self.number(e), "truth", e), yes, no)

    def of_BoolOp(self, e: ast.BoolOp) -> Number:
        return self.of_IfExp(ast.copy_location(ast.IfExp(e, ast.Constant(True), ast.Constant(False)), e))

    def of_IfExp(self, e: ast.IfExp) -> Number:
        yes, no, end = self.label(), self.label(), self.label()
        self.condition(e.test, yes, no)
        found: list[tuple[Number, int]] = []
        for label, x in ((yes, e.body), (no, e.orelse)):
            self.at(label)
            found.append((self.number(x), len(self.lines)))
            self.lines.append("")                                              # where one is made like the other
            self.go(end)
        kind = "number" if {a.kind for a, _ in found} == {"whole", "number"} else found[0][0].kind
        self.count += 1
        place = f"%c{self.count}"
        self.begin.append(f"  {place} = alloca {TYPES[kind]}")
        for (a, line), after in zip(found, (yes, no), strict=True):
            name, text = a.name, ""
            if a.kind != kind:
                name, text = f"{place}.{after}", f"  {place}.{after} = sitofp i64 {a.name} to double\n"
            self.lines[line] = f"{text}  store {TYPES[kind]} {name}, ptr {place}"
        self.at(end)
        return Number(kind, self.put(f"load {TYPES[kind]}, ptr {place}"))

    def of_Call(self, e: ast.Call) -> Number | Rows:
        name = e.func.attr if isinstance(e.func, ast.Attribute) else e.func.id if isinstance(e.func, ast.Name) else ""
        if name in ("floats", "ints"):
            return self.made("number" if name == "floats" else "whole", e)
        if name == "len":
            return Number("whole", self.rows(e.args[0]).count)
        if name == "int":
            x = self.number(e.args[0])
            return x if x.kind == "whole" else Number("whole", self.put(f"call i64 @llvm.fptosi.sat.i64.f64(double {x.name})"))
        if name == "float":
            return self.as_kind(self.number(e.args[0]), "number", e)
        if name in OF_TWO:
            a, b = self.alike(self.number(e.args[0]), self.number(e.args[1]), e)
            T, which = TYPES[a.kind], "f" if a.kind == "number" else "i"
            c = self.put(f"{which}cmp {OF_TWO[name][a.kind == 'number']} {T} {b.name}, {a.name}")
            return Number(a.kind, self.put(f"select i1 {c}, {T} {b.name}, {T} {a.name}"))
        if name in OF_ONE:
            x = self.number(e.args[0])
            if name == "abs" and x.kind == "whole":
                return Number("whole", self.put(f"call i64 @llvm.abs.i64(i64 {x.name}, i1 true)"))
            x = self.as_kind(x, "number", e)
            return Number("number", self.put(f"call double @{OF_ONE[name]}(double {x.name})"))
        if name in OF_BITS:
            return Number("whole", self.put(f"call i64 @{OF_BITS[name].format(self.whole(e.args[0]).name)}"))
        fn = self.fn.__globals__.get(name)
        if not callable(fn):
            raise self.refuse(e, UNKNOWN)
        given = [self.value(x) for x in e.args]
        f = self.library.function(fn, given)
        texts = [f"ptr {x.at}, i64 {x.count}" if isinstance(x, Rows) else f"{TYPES[x.kind]} {x.name}" for x in given]
        call = f"call {TYPES.get(f.returns, 'void')} {f.name}({', '.join([*self.library.first, *texts])})"
        found = Number(f.returns, self.put(call)) if f.returns else Number("none", "")
        if not f.returns:
            self.lines.append(f"  {call}")
        if self.library.checked:                                               # it may have ended before its end
            self.require(self.put(f"load i64, ptr {self.put(f'getelementptr i64, ptr %arena, i64 {STATE}')}"), str(NO_ROW))
        return found

    def made(self, kind: str, e: ast.Call) -> Rows:
        """Return a new array of zeros in the arena; without memory, the procedure ends."""
        n = self.whole(e.args[0]).name
        if self.inner:
            raise self.refuse(e, "is an array made in a procedure that another calls")
        columns = self.whole(e.args[1]).name if len(e.args) > 1 else "0"
        if not columns.isdigit():
            raise self.refuse(e, "has columns that are not known")
        return Rows(kind, int(columns), self.zeros(n, max(int(columns), 1)), n)

    def zeros(self, n: str, columns: int) -> str:
        """Allocate an array of zeros, and return its address; a negative size, or one over the limit, ends the procedure."""
        place = self.put(f"getelementptr i64, ptr %arena, i64 {STATE}")
        wrong = self.put(f"select i1 {self.put(f'icmp slt i64 {n}, 0')}, i64 {NO_ROW}, i64 0")
        before = self.put(f"load i64, ptr {place}")
        self.lines.append(f"  store i64 {self.put(f'or i64 {before}, {wrong}')}, ptr {place}")
        some = self.put(f"icmp ule i64 {n}, {MOST // (8 * columns)}")
        size = self.put(f"select i1 {some}, i64 {self.put(f'mul i64 {n}, {8 * columns}')}, i64 {MOST}")
        memory = self.put(f"call ptr @take(ptr %arena, i64 {self.put(f'add i64 {size}, {2 * BEFORE}')})")
        self.require_some(memory)
        at = self.put(f"getelementptr i8, ptr {memory}, i64 {BEFORE}")
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr align 64 {at}, i8 0, i64 {size}, i1 false)")
        return at

    def require_some(self, memory: str) -> None:
        """End the procedure where there is no memory."""
        good = self.label()
        self.branch(Number("truth", self.put(f"icmp ne ptr {memory}, null")), good, "none")
        self.at(good)
