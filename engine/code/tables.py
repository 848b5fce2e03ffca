"""C code for loops over a table's rows, and for the kernels that turn tables to numbers and back: plain ``for`` loops in the
compiled code's order."""

from __future__ import annotations

import re
from typing import Any

from engine.code import procedures
from engine.code.kernels import table
from engine.code.memory import DIFFERENT, PARAMETER, with_tables
from engine.compiler.graph.program import Program
from engine.compiler.kernels.picks import IDLE, Pick
from engine.compiler.kernels.procedure import Procedure
from engine.compiler.kernels.row_loop import RowLoop
from engine.compiler.kernels.row_sources_sinks import Sink
from engine.compiler.kernels.stacks import Concatenated, Constants, Cut, Part, Stack, Unstack
from engine.ops.tables import PARTS

#: doubles that a loop keeps on the stack; more than that lie in its work
LOCAL = 64


def function(name: str, work: int, lines: list[str]) -> str:
    """Return C of a function of numbers and tables at ``in``, with results at ``out``."""
    given = f"const double *restrict in, double *restrict out{', double *restrict work' if work else ''}, {PARAMETER}"
    return "\n".join([f"static void {name}({given})", "{", *(f"    {x}" for x in lines), "}"])


def constants(f: Constants, name: str) -> str:
    """A table of rows that are known."""
    return f"{table(f'{name}_rows', f.rows)}\n\n" + function(
        name, 0, ["(void)in;", f"out[0] = table_given(arena, {len(f.rows)}, {name}_rows);"])  # fmt: skip


def stack(f: Stack, name: str) -> str:
    """A table of numbers."""
    return function(name, 0, ["double *at;", f"out[0] = table_taken(arena, {f.n}, {f.m}, &at);", "if (arena->state)", "    return;",
                              f"for (int i = 0; i < {f.n * f.m}; ++i)", "    at[i] = in[i];"])  # fmt: skip


def unstack(f: Unstack, name: str) -> str:
    """The numbers of a table."""
    return function(name, 0, ["const struct table t = table_of(arena, in[0]);",
                              f"const size_t n = t.rows == {f.n} ? {f.n * f.m} : table_failed(arena, {DIFFERENT});",
                              "for (size_t i = 0; i < n; ++i)", "    out[i] = t.at[i];"])  # fmt: skip


def pick(f: Pick, name: str) -> str:
    """A row by its number; NaN where there is none, or nobody asks."""
    return function(name, 0, ["const struct table t = table_of(arena, in[0]);",
                              f"const int there = in[1] != {IDLE!r} && table_row(arena, in[1], t.rows);",
                              f"for (int c = 0; c < {f.m}; ++c)",
                              f"    out[c] = there ? t.at[{f.m} * (size_t)in[1] + (size_t)c] : NAN;"])  # fmt: skip


def concatenated(f: Concatenated, name: str) -> str:
    """The rows of some tables, one below the other."""
    each = [f"t{k}" for k in range(f.k)]
    lines = [*(f"const struct table {t} = table_of(arena, in[{k}]);" for k, t in enumerate(each)), "double *at;",
             f"out[0] = table_taken(arena, {' + '.join(f'{t}.rows' for t in each)}, {f.m}, &at);", "if (arena->state)", "    return;"]
    for t in each:
        lines += [f"for (size_t i = 0; i < {t}.rows * {f.m}; ++i)", f"    *at++ = {t}.at[i];"]
    return function(name, 0, lines)


def part(f: Part, name: str) -> str:
    """Some of the rows of a table, where they lie."""
    before = [f"table_of(arena, in[{1 + k}]).rows" for k in range(f.which)]
    first = " + ".join(before) or "0"
    return function(name, 0, [f"const size_t rows = table_of(arena, in[{1 + f.which}]).rows, first = {first};",
                              f"out[0] = table_given(arena, rows, table_of(arena, in[0]).at + {f.m} * first);"])


def cut(f: Cut, name: str) -> str:
    """Rows that are cut, or joined, where they lie."""
    return function(name, 0, ["const struct table t = table_of(arena, in[0]);",
                              f"out[0] = table_given(arena, t.rows {'/' if f.joined else '*'} {f.n}, t.at);"])  # fmt: skip


def moved(n: int, to: str, whence: str, how: str = "=") -> list[str]:
    """Return statements that copy n numbers that lie side by side, c of them first."""
    text = re.sub(r"\b0 \+ ", "", f"{to} {how} {whence};")
    if n == 1:
        return [re.sub(r"\b1 \* (?=\w)|\b\d \* c \+ | \+ (\d \* )?c(?=[])])", "", text).replace("[c]", "[0]")]
    return [f"for (int c = 0; c < {n}; ++c)", f"    {text}"]


class Loop:
    """Writes the statements of a loop over rows."""

    def __init__(self, loop: RowLoop, name: str, called: Any) -> None:
        """``called`` is what calls a function of a program, and how much work that needs."""
        self.loop, self.name = loop, name
        sizes = {"row": loop.f.n_in, "made": len(loop.f.outputs), "part": PARTS * sum(s.columns for s in loop.sinks if s.how == "sum")}
        call, lent = called(loop.f)
        own = sum(sizes.values())
        self.work = (own if own > LOCAL else 0) + lent
        self.lines, at = list[str](), 0
        for n, size in sizes.items():
            if size:
                self.lines.append(f"double *const {n} = work{f' + {at}' if at else ''};" if own > LOCAL else f"double {n}[{size}];")
            at += size if own > LOCAL else 0
        self.call = call("row", "made", f"work + {at}" if at else "work") if lent else call("row", "made", "")

    def text(self) -> str:
        """Return all statements."""
        loop = self.loop
        self.tables()
        self.write_before_loop()
        inside = self.read() + [self.call]
        if with_tables(loop.f):                                                # tables of a row are no more at the next
            self.lines.append("const size_t top = arena->top;")
            inside = ["arena->top = top;", *inside]
        k = part = 0
        for j, s in enumerate(loop.sinks):
            inside += self.sunk(s, j, k, part)
            k, part = k + s.results, part + (PARTS * s.columns if s.how == "sum" else 0)
        self.lines += ["for (size_t r = 0; r < n; ++r) {", *(f"    {x}" for x in inside), "}"]
        if with_tables(loop.f):
            self.lines.append("arena->top = top;")
        self.ended()
        return function(self.name, self.work, self.lines)

    def tables(self) -> None:
        """Write the tables that it is given, and the number of rows."""
        loop = self.loop
        self.lines += [f"const struct table x{k} = table_of(arena, in[{k}]);" for k in range(loop.first)]
        first = len(loop.sources)
        rows = [*(f"x{k}.rows" for k, s in enumerate(loop.sources) if s.how != "through"),
                *(f"x{first + k}.rows" for k in range(loop.indices))]  # fmt: skip
        same = " && ".join(f"{x} == {rows[0]}" for x in rows[1:])
        self.lines.append(f"const size_t n = {f'{same} ? {rows[0]} : table_failed(arena, {DIFFERENT})' if same else rows[0]};")

    def write_before_loop(self) -> None:
        """Write the code before the loop: the tables that it makes, its accumulators, and what all rows share."""
        loop, target, k = self.loop, self.loop.first + self.loop.outside, 0
        for j, s in enumerate(loop.sinks):
            if s.adds:
                self.lines.append(f"const struct table t{j} = table_of(arena, in[{target}]);")
                target += 1
            if s.how == "chosen":
                self.lines.append(f"size_t n{j} = 0;")
            if s.how != "sum":
                rows = f"t{j}.rows" if s.adds else "n"
                self.lines += [f"double *y{j};", f"out[{k}] = table_taken(arena, {rows}, {s.columns}, &y{j});"]
            k += len(s.shapes)
        if any(s.how != "sum" for s in loop.sinks):
            self.lines += ["if (arena->state)", "    return;"]
        for j, s in enumerate(loop.sinks):
            if s.adds:
                self.lines += [f"for (size_t i = 0; i < t{j}.rows * {s.columns}; ++i)", f"    y{j}[i] = t{j}.at[i];"]
        if parts := PARTS * sum(s.columns for s in loop.sinks if s.how == "sum"):
            self.lines += [f"for (int i = 0; i < {parts}; ++i)", "    part[i] = 0.0;"]
        if loop.outside:
            self.lines += moved(loop.outside, f"row[{loop.place} + c]", f"in[{loop.first} + c]")

    def read(self) -> list[str]:
        """Return the statements that read a row of each source."""
        loop, lines = self.loop, list[str]()
        first = len(loop.sources)
        for k in range(loop.indices):
            own = [f"!table_row(arena, x{first + k}.at[r], x{j}.rows)" for j, s in enumerate(loop.sources) if s.index == k]
            lines += [f"if ({' || '.join(own)})", "    break;", f"const size_t r{k} = (size_t)x{first + k}.at[r];"]
        for j, s in enumerate(loop.sources):
            if s.how == "numbers":
                lines.append(f"row[{s.place}] = (double)r;")
            else:
                r = "r" if s.how == "rows" else f"r{s.index}"
                lines += moved(s.columns, f"row[{s.place} + c]", f"x{j}.at[{s.columns} * {r} + c]")
        return lines

    def sunk(self, s: Sink, j: int, k: int, part: int) -> list[str]:
        """Return the code that puts a row's results, from number k on, in sink j."""
        m = s.columns
        if s.how == "rows":
            return moved(m, f"y{j}[{m} * r + c]", f"made[{k} + c]")
        if s.how == "sum":
            return moved(m, f"part[{part} + {PARTS} * c + r % {PARTS}]", f"made[{k} + c]", "+=")
        if s.how == "chosen":
            return [f"if (made[{k}] != 0.0) {{", *(f"    {x}" for x in moved(m, f"y{j}[{m} * n{j} + c]", f"made[{k + 1} + c]")),
                    f"    ++n{j};", "}"]  # fmt: skip
        if s.how == "tables":
            return [f"const struct table a{j} = table_of(arena, made[{k}]);",
                    f"const size_t m{j} = a{j}.rows == t{j}.rows ? t{j}.rows * {m} : table_failed(arena, {DIFFERENT});",
                    f"for (size_t i = 0; i < m{j}; ++i)", f"    y{j}[i] += a{j}.at[i];"]  # fmt: skip
        lines = []
        for place in range(k, k + s.several * (m + 1), m + 1):
            lines += [f"if (table_row(arena, made[{place}], t{j}.rows)) {{",
                      *(f"    {x}" for x in moved(m, f"y{j}[{m} * (size_t)made[{place}] + c]", f"made[{place + 1} + c]", "+=")),
                      "}"]  # fmt: skip
        return lines

    def ended(self) -> None:
        """Write the code after the loop: numbers of chosen rows, and sums of partial sums."""
        k = part = 0
        for j, s in enumerate(self.loop.sinks):
            if s.how == "chosen":
                self.lines.append(f"table_put(arena, (size_t)out[{k}], n{j}, y{j});")
            if s.how == "sum":
                self.lines += moved(s.columns, f"out[{k} + c]", f"table_sum(part + {part} + {PARTS} * c)")
                part += PARTS * s.columns
            k += len(s.shapes)


def written(f: Program, name: str, called: Any) -> tuple[list[str], int]:
    """Return C of a kernel that takes or makes tables, and the size of its work."""
    if isinstance(f, RowLoop):
        loop = Loop(f, name, called)
        return [loop.text()], loop.work
    if isinstance(f, Procedure):
        return procedures.written(f, name), 0
    return [KINDS[type(f)](f, name)], 0


KINDS: dict[type, Any] = {Constants: constants, Stack: stack, Unstack: unstack, Pick: pick, Concatenated: concatenated, Part: part,
                          Cut: cut}  # fmt: skip
#: kernels that are written here
TABLES = (RowLoop, Procedure, *KINDS)
